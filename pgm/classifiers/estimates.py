"""Probabilities out of counts, by the formulas of the textbook, with all rows or with each row left out of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.class_counts import FloatArray
from pgm.classifiers.reading import Codes

__all__ = ["Family", "joint_codes", "log_sum_exp", "logarithm", "look_up", "smoothed"]


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
    uniform = np.full_like(weighed, 1 / counts.shape[-1])
    return np.asarray(np.divide(weighed, totals, out=uniform, where=totals > 0))


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
    return np.asarray(logarithm(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis))


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
