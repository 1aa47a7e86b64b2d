"""What features tell about the class and, given the class, about each other; out of counts alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from pgm.classifiers.counting.class_counts import ClassCounts, FloatArray

__all__ = ["information_of_pairs", "information_with_class", "ranks"]

_GRID = 1e-12
"""Numbers that differ by less than this share of the largest count as equal: rounding must not decide."""


def information_with_class(counts: ClassCounts) -> FloatArray:
    """Return I(xi; c) of each feature in nats; a missing cell tells nothing.

    >>> from pgm.factors.variable import Variable
    >>> from pgm.classifiers.counting.class_counts import count_classes
    >>> x, y = Variable("x", [0, 1]), Variable("y", [0, 1])
    >>> codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    >>> information_with_class(count_classes([x, y], 2, codes, np.array([0, 0, 1, 1]), pairs=False)).round(4)
    array([0.6931, 0.    ])
    """
    gains = np.empty(len(counts.cardinalities))
    for feature in range(len(gains)):
        table = counts.family(feature)
        independent = table.sum(axis=0) * table.sum(axis=1, keepdims=True)
        gains[feature] = _gains(table, table.sum(), independent).sum()
    return np.maximum(gains, 0.0) / counts.total


def information_of_pairs(counts: ClassCounts) -> FloatArray:
    """Return I(xi; xj | c) of all pairs of features in nats, a symmetric matrix with zeros on its diagonal.

    In rows in which one of them is missing they tell nothing about each other.

    Notes
    -----
    O(classes * levels**2), for one feature and all others at a time.

    >>> from pgm.factors.variable import Variable
    >>> from pgm.classifiers.counting.class_counts import count_classes
    >>> x, y = Variable("x", [0, 1]), Variable("y", [0, 1])
    >>> rows = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])], np.zeros(4, int)
    >>> information_of_pairs(count_classes([x, y], 1, *rows, pairs=True)).round(4)
    array([[0.    , 0.6931],
           [0.6931, 0.    ]])
    """
    assert counts.pairs is not None
    sizes, starts = np.array(counts.cardinalities), np.array(counts.starts[:-1])
    feature = np.repeat(np.arange(len(sizes)), sizes + 1)
    gains = np.zeros((len(sizes), len(sizes)))
    for one, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        table = counts.pairs[:, start : start + size].copy()
        table[:, :, starts + sizes] = 0.0
        by_value = np.add.reduceat(table, starts, axis=2)
        by_level = table.sum(axis=1, keepdims=True)
        totals = by_value.sum(axis=1, keepdims=True)
        told = _gains(table, totals[:, :, feature], by_value[:, :, feature] * by_level)
        gains[one] = np.add.reduceat(told.sum(axis=(0, 1)), starts)
    np.fill_diagonal(gains, 0.0)
    upper = np.triu(np.maximum(gains, 0.0), 1)  # one of the two sums for both, so that rounding makes no difference
    return (upper + upper.T) / counts.total


def _gains(cells: FloatArray, totals: FloatArray, independent: FloatArray) -> FloatArray:
    """Return N ln(N total / independent) of each cell."""
    ratio = np.divide(cells * totals, independent, out=np.ones_like(cells), where=cells > 0)
    return np.asarray(xlogy(cells, ratio))


def ranks(numbers: FloatArray) -> NDArray[np.intp]:
    """Return numbers as ranks, 0 for the largest, equal ones in their order.

    >>> ranks(np.array([0.1, 0.3, 0.1 + 1e-16, 0.2]))
    array([2, 0, 3, 1])
    """
    unit = _GRID * float(np.abs(numbers).max(initial=0.0))
    rounded = np.rint(numbers / unit) if unit > 0 else np.zeros(len(numbers))
    place = np.empty(len(numbers), np.intp)
    place[np.argsort(-rounded, kind="stable")] = np.arange(len(numbers))
    return place
