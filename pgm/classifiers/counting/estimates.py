"""Probabilities out of counts, by the formulas of the textbook, with all rows or with each row left out of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import FloatArray

__all__ = [
    "Family",
    "fraction",
    "joint_codes",
    "log_conditionals",
    "log_joint",
    "log_sum_exp",
    "logarithm",
    "look_up",
    "smoothed",
    "subtracted",
]


_ROUNDING = 1e-12
"""What a difference of sums may keep of them for no other reason than rounding."""


class Family(NamedTuple):
    """A feature, its parents among the features, and how often their values occur in each class."""

    child: int
    parents: tuple[int, ...]
    counts: FloatArray
    """N(c, parents, child), shape (classes, *parent cardinalities, child cardinality)."""


def smoothed(counts: FloatArray, pseudocount: float) -> FloatArray:
    """Return (N + l) / (sum of N + l r) along the last axis of r states, for a pseudocount of l.

    Without counts and pseudocounts nothing is known, and all states are equally probable.

    >>> smoothed(np.array([[2.0, 1.0], [0.0, 0.0]]), 0), smoothed(np.array([2.0, 1.0]), 1)
    (array([[0.66666667, 0.33333333],
           [0.5       , 0.5       ]]), array([0.6, 0.4]))
    """
    weighed = counts + pseudocount
    totals = weighed.sum(axis=-1, keepdims=True)
    return fraction(weighed, totals, 1 / counts.shape[-1])


def logarithm(probabilities: FloatArray) -> FloatArray:
    """Return natural logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def log_sum_exp(logs: FloatArray, axis: int) -> FloatArray:
    """Return ln(sum of exp) along an axis, minus infinity where all are.

    >>> log_sum_exp(np.log([[0.25, 0.5], [0.0625, 0.125]]), axis=1).round(4)
    array([-0.2877, -1.674 ])
    """
    top = logs.max(axis=axis, keepdims=True)
    top[np.isneginf(top)] = 0.0
    shares = logs - top
    np.exp(shares, out=shares)
    return np.asarray(logarithm(shares.sum(axis=axis)) + top.squeeze(axis))


def joint_codes(codes: Codes, scope: Sequence[int], cardinalities: Sequence[int]) -> NDArray[np.intp]:
    """Return the joint code of some features in each row, the last running fastest; holes are states too."""
    joint = np.zeros(len(codes[0]), np.intp)
    for feature in scope:
        joint *= cardinalities[feature] + 1
        joint += codes[feature]
    return joint


def look_up(table: FloatArray, fill: float) -> FloatArray:
    """Return a table (classes, *states) as one that is indexed by joint codes, shape (joint codes, classes).

    Parameters
    ----------
    table
        One entry for each class and joint state.
    fill
        Entry where a cell is missing.
    """
    padded = np.full((table.shape[0], *(size + 1 for size in table.shape[1:])), fill)
    padded[(slice(None), *(slice(0, size) for size in table.shape[1:]))] = table
    return np.ascontiguousarray(padded.reshape(len(table), -1).T)


def log_conditionals(
    counts: FloatArray, cardinalities: Sequence[int], pseudocount: float, without: float | None = None
) -> FloatArray:
    """Return ln P(level | c, value) of all features side by side, shape (values, levels, classes).

    Parameters
    ----------
    counts
        N(c, value, level), shape (classes, values, levels), levels as in `pgm.classifiers.counting.class_counts`.
    cardinalities
        Number of states of each feature.
    pseudocount
        The l of (N + l) / (sum of N + l r), the sum being over the r states of a feature.
    without
        The weight of a row. If given, there are twice as many classes: the second half without that row.

    Returns
    -------
    ndarray
        0 for the level of a missing cell, which is a factor of 1.

    >>> counts = np.array([[[2.0, 1.0, 7.0]]])  # one class, one value, a feature of two states and its missing cells
    >>> np.exp(log_conditionals(counts, [2], 1.0, without=1.0)).round(4)
    array([[[0.6 , 0.5 ],
            [0.4 , 0.25],
            [1.  , 1.  ]]])
    """
    sizes = np.array(cardinalities)
    holes = np.cumsum(sizes + 1) - 1
    feature = np.repeat(np.arange(len(sizes)), sizes + 1)
    cells = counts.transpose(1, 2, 0).copy()
    cells[:, holes] = 0.0
    totals = np.add.reduceat(cells, holes - sizes, axis=1)
    if without is not None:
        cells = np.concatenate([cells, subtracted(cells, without)], axis=2)
        totals = np.concatenate([totals, subtracted(totals, without)], axis=2)
    cells += pseudocount
    totals += pseudocount * sizes[:, None]
    probabilities = fraction(cells, totals[:, feature], (1 / sizes)[feature][:, None])
    probabilities[:, holes] = 1.0
    return logarithm(probabilities)


def log_joint(counts: FloatArray, pseudocount: float, without: float | None = None) -> FloatArray:
    """Return ln P(c, value) = ln((N(c, value) + l) / (N + l cells)), shape (values, classes).

    Parameters
    ----------
    counts
        N(c, value), shape (classes, values).
    pseudocount
        The l.
    without
        The weight of a row. If given, there are twice as many classes: without a row of another class (and this value),
        then without a row of that class.

    >>> np.exp(log_joint(np.array([[2.0, 1.0], [0.0, 3.0]]), 1.0, without=1.0)).round(3)
    array([[0.333, 0.111, 0.222, 0.111],
           [0.222, 0.444, 0.111, 0.333]])
    """
    total = counts.sum()
    cells = counts.T
    if without is not None:
        cells = np.concatenate([cells, subtracted(cells, without)], axis=1)
        total = max(total - without, 0.0)
    return logarithm(fraction(cells + pseudocount, np.asarray(total + pseudocount * counts.size), 1 / counts.size))


def fraction(above: FloatArray, below: FloatArray, otherwise: ArrayLike) -> FloatArray:
    """Return above / below, and something else where ``below`` is not positive."""
    quotient = np.empty(np.broadcast_shapes(above.shape, below.shape))
    quotient[...] = otherwise
    return np.divide(above, below, out=quotient, where=below > 0)


def subtracted(total: Any, part: Any) -> FloatArray:
    """Return ``total - part`` of sums that contain their part, where what is only rounding is 0.

    >>> subtracted(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5]))
    array([0. , 0.5])
    """
    rest = np.asarray(total - part, np.float64)
    rest[rest <= _ROUNDING * total] = 0.0
    return rest
