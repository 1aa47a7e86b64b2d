"""Checks of options that several classifiers share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.counting.class_counts import FloatArray
from pgm.errors import DataError, listing

__all__ = ["check_em", "check_pseudocounts", "given_priors", "is_number"]


def is_number(value: object) -> bool:
    """Return whether an option is a number, and not a boolean or NaN.

    >>> is_number(0.5), is_number(True), is_number("1"), is_number(float("nan"))
    (True, False, False, False)
    """
    if not isinstance(value, (int, float, np.number)) or isinstance(value, (bool, np.complexfloating)):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number beyond floats
        return False


def check_pseudocounts(**given: Any) -> None:
    """Raise `DataError` for a pseudocount that is no finite number from 0; names the option."""
    for name, value in given.items():
        if not is_number(value) or not 0 <= value < np.inf:
            raise DataError(f"{name} must be a number of at least 0, not {value!r}")


def check_em(em: object, allowed: Sequence[str]) -> None:
    """Raise `DataError` for what does not say whether, and how, to use EM."""
    if not isinstance(em, (bool, np.bool_, Mapping)):
        raise DataError(f"em must be True, False or a dict of options, not {em!r}")
    unknown = [name for name in em if name not in allowed] if isinstance(em, Mapping) else []
    if unknown:
        raise DataError(f"unknown options of em: {listing(unknown)}; there are {listing(allowed, limit=99)}")


def given_priors(priors: Any, classes: NDArray[Any]) -> FloatArray:
    """Return priors given by label or in order, checked.

    >>> given_priors({"no": 0.75, "yes": 0.25}, np.array(["no", "yes"]))
    array([0.75, 0.25])
    """
    labels = classes.tolist()
    if hasattr(priors, "to_dict"):  # a series goes by its labels
        priors = priors.to_dict()
    if isinstance(priors, Mapping):
        if set(priors) != set(labels):
            raise DataError(f"priors are given for {listing(priors)}; the classes are {listing(labels)}")
        priors = [priors[label] for label in labels]
    try:
        values = np.asarray(priors, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"priors must be {len(labels)} numbers, not {priors!r}") from None
    if values.shape != (len(labels),) or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
        raise DataError(f"priors must be {len(labels)} numbers of at least 0 with sum 1, not {priors!r}")
    return np.asarray(values / values.sum())
