"""Which features take part in AODE: the most accurate number of super-parents, and cells that others imply."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pgm.classifiers.averaging import LeftOut, PackedRows, SuperParent, of_own_class
from pgm.classifiers.class_counts import ClassCounts, FloatArray
from pgm.classifiers.reading import Codes

__all__ = ["rows_right", "without_implied"]

_EQUAL = 1e-9
"""Sums of fractional weights that differ by less than this share are equal."""


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
    enough = alone - (0.0 if out is None else out.weight) >= least
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
