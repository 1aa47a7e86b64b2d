"""Decisions: from P(class | x) and the losses of wrong ones to what should be done, and to what cannot be avoided.

Deciding d where c is true costs L(d, c). The *conditional risk* R(d | x) is the expected loss, the sum over c of
L(d, c) P(c | x); *Bayes' rule* is to decide for the smallest. Its expected loss over all x, the *Bayes risk*, is the
least that any classifier can reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.errors import DataError, EvidenceError, UnknownStateError, listing
from pgm.factors.factor import Factor, Names, as_names
from pgm.factors.variable import Label
from pgm.network import BayesianNetwork

__all__ = ["bayes_decision", "bayes_risk", "conditional_risk"]

_TIE = 1e-12
"""Risks that differ by less than this share of the largest loss are equal, and the first decision is taken."""


def bayes_decision(posterior: Any, loss: Any = None, *, states: Sequence[Label] | None = None) -> Any:
    """Return the decision with the smallest conditional risk.

    Parameters
    ----------
    posterior
        P(class | x): a `Factor` of the class alone, ``{label: probability}``, or an array with classes on the last
        axis, one or many.
    loss
        L(decided, true): ``{decided: {true: loss}}``, where a loss that is not named is 0, or a matrix with a row for
        each class decided and a column for each true one. Default: 1 for each wrong class.
    states
        Labels of the classes of an array. Default: their positions.

    Returns
    -------
    label, or ndarray of labels
        One for each posterior. Of equal risks the first decision is taken.

    Raises
    ------
    UnknownStateError
        If the loss names a class that the posterior does not have.
    DataError
        If the posterior is no distribution, or the loss has another shape or is not finite.

    References
    ----------
    Duda, Hart and Stork (2001), *Pattern Classification*, section 2.2. Koller and Friedman (2009), section 22.1.

    Examples
    --------
    >>> bayes_decision({"healthy": 0.9, "ill": 0.1})
    'healthy'
    >>> bayes_decision({"healthy": 0.9, "ill": 0.1}, {"healthy": {"ill": 50}, "ill": {"healthy": 1}})
    'ill'
    """
    values, labels = _posterior(posterior, states)
    decisions, matrix = _losses(loss, labels)
    best = _least(values @ matrix.T, matrix)
    if values.ndim == 1:
        return decisions[int(best)]
    return _labelled(decisions)[best]


def conditional_risk(posterior: Any, loss: Any = None, *, states: Sequence[Label] | None = None) -> NDArray[np.float64]:
    """Return R(d | x) = sum over c of L(d, c) P(c | x) for each decision, on the last axis.

    Parameters, errors and defaults as in `bayes_decision`.

    Examples
    --------
    >>> conditional_risk([0.9, 0.1], [[0, 50], [1, 0]])
    array([5. , 0.9])
    """
    values, labels = _posterior(posterior, states)
    _, matrix = _losses(loss, labels)
    risks: NDArray[np.float64] = values @ matrix.T
    return risks


def bayes_risk(net: BayesianNetwork, target: str, features: Names, loss: Any = None) -> float:
    """Return the least expected loss with which ``target`` can be decided on, once ``features`` are known.

    No classifier trained on data of this network can do better, on average.

    Parameters
    ----------
    net
        The true network.
    target
        The class.
    features
        What is known when deciding; none is allowed.
    loss
        As in `bayes_decision`. Default: 1 for each wrong class, so the risk is the probability of an error.

    Raises
    ------
    UnknownNameError
        For unknown variables.
    EvidenceError
        If the target is one of the features.
    TooLargeError
        If the joint table of target and features exceeds the memory budget.

    Notes
    -----
    Sum over x of the minimum over d of sum over c of L(d, c) P(c, x). Costs the joint table of target and features.

    Examples
    --------
    >>> import pgm
    >>> round(bayes_risk(pgm.networks.load("asia"), "lung", ["smoke", "xray"]), 6)
    0.032852
    """
    names = as_names(features)
    if target in names:
        raise EvidenceError(f"{target!r} is what is decided on; it cannot be a feature as well")
    joint = net.query([target, *names]).reorder([*names, target])
    values = np.asarray(joint.values).reshape(-1, net.variable(target).cardinality)
    _, matrix = _losses(loss, net.variable(target).states)
    return float((values @ matrix.T).min(axis=1).sum())


def _posterior(posterior: Any, states: Sequence[Label] | None) -> tuple[NDArray[np.float64], tuple[Label, ...]]:
    if isinstance(posterior, Factor):
        if len(posterior.variables) != 1:
            raise DataError(f"a decision is about one variable, and the factor is over {listing(posterior.names)}")
        values, labels = np.asarray(posterior.values), posterior.variables[0].states
    elif isinstance(posterior, Mapping):
        values, labels = np.array(list(posterior.values()), np.float64), tuple(posterior)
    else:
        if states is None and hasattr(posterior, "columns"):
            states = [str(name) if isinstance(name, np.str_) else name for name in posterior.columns]
        elif states is None and hasattr(posterior, "to_dict"):
            return _posterior(posterior.to_dict(), states)
        values = _numbers(posterior, "a posterior")
        if values.ndim == 0:
            raise DataError("a posterior must have one probability for each class")
        labels = tuple(range(values.shape[-1]) if states is None else states)
    if len(labels) != values.shape[-1]:
        raise DataError(f"{values.shape[-1]} probabilities for {len(labels)} classes")
    if not (values >= 0).all() or not np.allclose(values.sum(axis=-1), 1, rtol=0, atol=1e-6):
        raise DataError("a posterior must be of numbers of at least 0 with sum 1")
    return values, labels


def _losses(loss: Any, labels: Sequence[Label]) -> tuple[list[Label], NDArray[np.float64]]:
    """Return the decisions and the matrix (decisions, classes)."""
    if loss is None:
        return list(labels), 1.0 - np.eye(len(labels))
    if hasattr(loss, "columns") or hasattr(loss, "schema"):
        if not hasattr(loss, "loc"):
            raise DataError("a loss in a table needs labelled rows: a pandas frame, or {decided: {true: loss}}")
        loss = loss.to_dict(orient="index")
    if isinstance(loss, Mapping):
        decisions, matrix = list(loss), np.zeros((len(loss), len(labels)))
        places = {label: place for place, label in enumerate(labels)}
        for row, (decision, costs) in enumerate(loss.items()):
            if not isinstance(costs, Mapping):
                raise DataError(f"the loss of {decision!r} must be {{true class: number}}, not {costs!r}")
            for label, cost in costs.items():
                if label not in places:
                    raise UnknownStateError(f"the loss of {decision!r} names {label!r}; classes are {listing(labels)}")
                matrix[row, places[label]] = _numbers(cost, f"the loss of {decision!r} for {label!r}")
    else:
        decisions, matrix = list(labels), _numbers(loss, "a loss")
        if matrix.shape != (len(labels), len(labels)):
            raise DataError(
                f"a loss matrix for {len(labels)} classes has the shape {(len(labels), len(labels))}, "
                f"not {matrix.shape}; other decisions than classes are given by label"
            )
    if not decisions or not np.isfinite(matrix).all():
        raise DataError("a loss needs at least one decision, and finite numbers")
    return decisions, matrix


def _numbers(given: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{what} must be of numbers, not {given!r}") from None


def _least(risks: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    least = risks.min(axis=-1, keepdims=True)
    return np.asarray((risks <= least + _TIE * np.abs(matrix).max()).argmax(axis=-1))


def _labelled(labels: list[Label]) -> NDArray[Any]:
    """Return labels as an array: of their own type if they share one, else of objects."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], (str, int, float, bool)):
        return np.array(labels)
    array = np.empty(len(labels), object)
    array[:] = labels
    return array
