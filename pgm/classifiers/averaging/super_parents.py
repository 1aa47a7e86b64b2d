"""Features as super-parents: what rows look up, how many are the most accurate, and which cells others imply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.averaging.log_mean import LeftOut, PackedRows, SuperParent, of_own_class
from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import ClassCounts, FloatArray
from pgm.classifiers.counting.estimates import log_conditionals, log_joint

__all__ = [
    "equal_weights",
    "first_of_largest",
    "log_product",
    "reaches",
    "rows_right",
    "under_features",
    "without_implied",
]

_EQUAL = 1e-9
"""Sums of fractional weights that differ by less than this share are equal."""


class UnderFeature(NamedTuple):
    """What rows look up with a feature as super-parent; see `SuperParent`."""

    feature: int
    values: NDArray[np.intp]
    own: FloatArray
    logs: FloatArray


def under_features(
    counts: ClassCounts,
    codes: Codes,
    features: Iterable[int],
    log_own: Callable[[int, float | None], FloatArray],
    pseudocount: float,
    out: LeftOut | None,
) -> Iterator[UnderFeature]:
    """Yield for one feature after the other what rows look up with it as super-parent.

    Parameters
    ----------
    counts, codes
        Of the training rows; of the rows that look up.
    features
        The super-parents.
    log_own
        ln P(c, xi) of a feature, without a row of the given weight, shape (cardinality, classes).
    pseudocount
        The l of P(xj | c, xi) = (N(c, xi, xj) + l) / (N(c, xi) + l Nj).
    out
        The same rows, if they are left out of the counts.
    """
    without = None if out is None else out.weight
    starts, sizes = counts.starts, counts.cardinalities
    assert counts.pairs is not None
    for feature in features:
        own = slice(starts[feature], starts[feature] + sizes[feature])
        logs = log_conditionals(counts.pairs[:, own], sizes, pseudocount, without)
        logs[:, own] = 0.0
        yield UnderFeature(feature, np.asarray(codes[feature], np.intp), log_own(feature, without), logs)


def log_product(
    counts: FloatArray, classes: FloatArray, pseudocount: float, class_pseudocount: float, without: float | None
) -> FloatArray:
    """Return ln P(c) P(x | c) of a feature, each estimated by itself, shape (cardinality, classes).

    Parameters
    ----------
    counts, classes
        N(c, x), shape (classes, cardinality), and N(c).
    pseudocount, class_pseudocount
        Of P(x | c) and of P(c).
    without
        As in `log_joint`.
    """
    one_value = np.pad(counts, ((0, 0), (0, 1)))[:, None]
    given_class = log_conditionals(one_value, counts.shape[1:], pseudocount, without)
    return given_class[0, :-1] + log_joint(classes[:, None], class_pseudocount, without)


def reaches(rows: FloatArray, least: float) -> NDArray[np.bool_]:
    """Return which sums of weights are at least so large, but for rounding.

    >>> reaches(np.array([sum([0.1] * 10), 0.9]), 1)
    array([ True, False])
    """
    return np.asarray(rows >= least * (1 - _EQUAL))


def first_of_largest(sums: FloatArray) -> int:
    """Return the place of the first sum of weights that is the largest, but for rounding."""
    return int(reaches(sums, float(sums.max())).argmax())


def equal_weights(labels: NDArray[np.intp], weights: FloatArray | None) -> Iterator[tuple[NDArray[np.intp], LeftOut]]:
    """Yield groups of rows of the same weight."""
    if weights is None:
        weights = np.ones(len(labels))
    different, group = np.unique(weights, return_inverse=True)
    for number, weight in enumerate(different.tolist()):
        rows = np.flatnonzero(group == number)
        yield rows, LeftOut(labels[rows], weight)


def rows_right(
    rows: PackedRows, ranked: Iterable[SuperParent], number: int, naive: FloatArray, out: LeftOut
) -> FloatArray:
    """Return the weight of the rows that are classified rightly by the first m super-parents, for m from 1 on.

    Parameters
    ----------
    rows
        The rows.
    ranked
        The super-parents, in order of rank, for rows that are left out.
    number
        How many there are.
    naive
        ln P(c, x) of each row by naive Bayes, which decides where no super-parent is frequent.
    out
        The same rows.
    """
    right = np.zeros(number)
    total, weights = np.full(naive.shape, -np.inf), np.zeros(rows.n_rows)
    naively = naive.argmax(axis=1) == out.labels
    for first, some, both, weighs in rows.blocks(ranked):
        logs = np.concatenate([total[some][None], of_own_class(both, out.labels[some])])
        sums = np.logaddexp.accumulate(logs, axis=0)[1:]
        averaged = weights[some] + weighs.cumsum(axis=0)
        correct = np.where(averaged > 0, sums.argmax(axis=2) == out.labels[some], naively[some])
        right[first : first + len(correct)] += out.weight * correct.sum(axis=1)
        total[some], weights[some] = sums[-1], averaged[-1]
    return right


def without_implied(codes: Codes, counts: ClassCounts, least: float, out: LeftOut | None = None) -> Codes:
    """Return codes in which cells that another cell of the row implies are missing.

    A value xj is implied by xi if all rows with xi have xj, at least ``least`` of them. Of values that imply each other
    the first stays.
    """
    assert counts.pairs is not None
    together = counts.pairs.sum(axis=0)
    alone = np.diagonal(together)
    enough = reaches(alone - (0.0 if out is None else out.weight), least)
    implies = enough[:, None] & (together >= alone[:, None] * (1 - _EQUAL))
    sizes, starts = counts.cardinalities, counts.starts
    for first, size in zip(starts, sizes, strict=False):
        implies[first : first + size + 1, first : first + size + 1] = False
        implies[first + size] = implies[:, first + size] = False
    implies &= ~(np.triu(implies).T)  # of two that imply each other, the first one's implication stays
    kept = [column.copy() for column in codes]
    for child, state in ((child, state) for child, size in enumerate(sizes) for state in range(size)):
        column = implies[:, starts[child] + state]
        if column.any():
            rows = np.flatnonzero(codes[child] == state)
            gone = np.zeros(len(rows), bool)
            for parent, size in enumerate(sizes):
                gone |= column[starts[parent] : starts[parent] + size + 1][codes[parent][rows]]
            kept[child][rows[gone]] = sizes[child]
    return kept
