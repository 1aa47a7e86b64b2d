"""The mean of P(c, x) over many super-parents, for many rows at once: the work of AODE and A2DE.

A super-parent is a feature, or a pair of features, on which all others depend. For each super-parent and each row the
logarithms ln P(xj | c, value of the super-parent) of all features j are added up: a product of the row's one-hot matrix
with a table of logarithms. Three measures make it fast; all are exact.

*Packed features.* Several features are looked up at once by their joint state, a *cell*. The one-hot matrix is then a
product of two sparse ones, rows x cells and cells x levels, and the second is multiplied with the table once.

*Sparse products.* SciPy's product of a sparse matrix with a dense one adds up rows of the dense one: look-up and
addition without an array in between.

*Logarithms of sums* are taken once over several super-parents, a block of rows at a time.

Rows can be left out of the counts. That changes probabilities only in the row's own class (and totals), so then every
table has two halves: the classes as they are for rows of another class, and the same for rows of that class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import joint_codes, log_sum_exp, logarithm

__all__ = ["Block", "LeftOut", "PackedRows", "SuperParent", "log_mean", "of_own_class"]

_ROWS_PER_CELL = 16
"""A larger cell is worth its table from this many rows on."""

_ROWS = 1 << 13
"""Rows worked on at a time."""

_TABLES = 1 << 21
"""Super-parents whose tables have more entries than this in all are looked up before the next is made."""

_TOGETHER = 12
"""Super-parents whose tables exist at once, at most."""


class LeftOut(NamedTuple):
    """Rows that are taken out of the counts, each for itself."""

    labels: NDArray[np.intp]
    """Code of the class of each row."""
    weight: float
    """Weight of each row."""

    def part(self, rows: NDArray[np.intp]) -> LeftOut:
        """Return some of the rows."""
        return LeftOut(self.labels[rows], self.weight)


class SuperParent(NamedTuple):
    """What one super-parent contributes; classes are there twice where rows are left out."""

    values: NDArray[np.intp]
    """Its value in each row; the number of values stands for a missing one, where it is no super-parent."""
    weights: FloatArray
    """What each value weighs in the average, shape (values,): 0 where it is no super-parent."""
    own: FloatArray
    """ln P(c, value), shape (values, classes)."""
    logs: FloatArray
    """ln P(level | c, value), shape (values, levels, classes); 0 for what does not count."""


class Block(NamedTuple):
    """ln w P(c, x) of some rows under some super-parents."""

    first: int
    """Number of the first of these super-parents."""
    rows: slice
    logs: FloatArray
    """Shape (super-parents, rows, classes)."""
    weights: FloatArray
    """The weights w, shape (super-parents, rows)."""


class PackedRows:
    """Coded rows, ready to be looked up.

    Parameters
    ----------
    codes
        Codes of each feature, the cardinality where a cell is missing.
    cardinalities
        Number of states of each feature.
    cells
        Features are packed while they have at most this many joint states. Fewer are better where super-parents have
        many values, since their tables have an entry for each cell and value and should stay in the cache.

    Examples
    --------
    >>> rows = PackedRows([np.array([0, 1, 1]), np.array([0, 0, 2])], [2, 2])
    >>> given_first = np.log([[[1], [1], [1], [0.8], [0.2], [1]], [[1], [1], [1], [0.3], [0.7], [1]]])
    >>> first = SuperParent(np.array([0, 1, 1]), np.ones(2), np.log([[0.4], [0.6]]), given_first)
    >>> (block,) = rows.blocks([first])
    >>> np.exp(block.logs).round(4).ravel(), block.weights
    (array([0.32, 0.18, 0.6 ]), array([[1., 1., 1.]]))
    """

    def __init__(self, codes: Codes, cardinalities: Sequence[int], cells: int = 256) -> None:
        self.n_rows = len(codes[0])
        sizes = [size + bool((column == size).any()) for size, column in zip(cardinalities, codes, strict=True)]
        starts = np.cumsum([0, *(size + 1 for size in cardinalities)])
        groups = _packs(sizes, min(cells, self.n_rows // _ROWS_PER_CELL))
        self._cells = np.empty((self.n_rows, len(groups)), np.int32)
        members, stop = [], 0
        for place, group in enumerate(groups):
            shape = [sizes[feature] for feature in group]
            self._cells[:, place] = joint_codes(codes, group, [size - 1 for size in sizes])
            self._cells[:, place] += stop
            states = np.indices(shape).reshape(len(group), -1)
            members.append((states + starts[group][:, None]).T)
            stop += states.shape[1]
        ends = np.cumsum([0, *(part.shape[1] for part in members for _ in part)])
        levels = np.concatenate([part.ravel() for part in members])
        self._members = csr_array((np.ones(len(levels)), levels, ends), shape=(stop, starts[-1]))
        """Which levels a cell stands for, zeros and ones of shape (cells, levels)."""
        self._of_first = slice(0, cardinalities[0] + 1)
        """The levels of the first feature, of which every row has one."""
        self._one_hot = csr_array((0, 0))
        """The matrix that the last rows were looked up with."""

    def blocks(self, super_parents: Iterable[SuperParent]) -> Iterator[Block]:
        """Iterate over super-parents, several at a time, and for these over the rows.

        Notes
        -----
        O(rows * features * classes) for each super-parent, and as many logarithms as its table has entries.
        """
        together: list[SuperParent] = []
        first = entries = 0
        for parent in super_parents:
            together.append(parent)
            entries += parent.own.size * (self._members.shape[0] + 1)
            if len(together) == _TOGETHER or entries > _TABLES:
                yield from self._looked_up(first, together)
                first, entries, together = first + len(together), 0, []
        if together:
            yield from self._looked_up(first, together)

    def _looked_up(self, first: int, parents: list[SuperParent]) -> Iterator[Block]:
        classes = parents[0].own.shape[1]
        tables = [self._table(parent) for parent in parents]
        weights = [np.append(parent.weights, 0.0) for parent in parents]
        for start in range(0, self.n_rows, _ROWS):
            rows = slice(start, min(start + _ROWS, self.n_rows))
            logs = np.empty((len(parents), rows.stop - start, classes))
            weighs = np.empty(logs.shape[:2])
            for place, parent in enumerate(parents):
                values = parent.values[rows]
                logs[place] = self._sums(tables[place], rows, values, len(parent.weights))
                weights[place].take(values, out=weighs[place])
            yield Block(first, rows, logs, weighs)

    def _table(self, parent: SuperParent) -> FloatArray:
        """Return the table that rows look up, sums of logarithms by cell and value."""
        _, levels, classes = parent.logs.shape
        by_level = parent.logs.transpose(1, 0, 2).copy()
        by_level[self._of_first] += parent.own + logarithm(parent.weights)[:, None]
        table: FloatArray = self._members @ by_level.reshape(levels, -1)
        return table.reshape(-1, classes)

    def _sums(self, table: FloatArray, rows: slice, values: NDArray[np.intp], size: int) -> FloatArray:
        """Return the sum of the entries of a table that each row looks up, shape (rows, classes)."""
        cells = self._cells[rows]
        shape = len(cells), len(table)
        if self._one_hot.shape != shape:  # else only its columns are new
            ends = np.arange(0, cells.size + 1, cells.shape[1], dtype=np.int32)
            self._one_hot = csr_array((np.ones(cells.size), np.zeros(cells.size, np.int32), ends), shape=shape)
        columns = self._one_hot.indices.reshape(cells.shape)
        np.multiply(cells, np.int32(size), out=columns)
        columns += np.minimum(values, size - 1).astype(np.int32)[:, None]
        sums: FloatArray = self._one_hot @ table
        sums[values == size] = -np.inf
        return sums


def log_mean(
    rows: PackedRows, super_parents: Iterable[SuperParent], classes: int, out: LeftOut | None
) -> tuple[FloatArray, FloatArray]:
    """Return ln of the weighted mean of P(c, x) over all super-parents, and the sum of their weights.

    Parameters
    ----------
    rows
        The rows.
    super_parents
        What is averaged.
    classes
        Number of classes.
    out
        The same rows, if they are left out of the counts.

    Returns
    -------
    (logs, weights)
        Shapes (rows, classes) and (rows,); minus infinity where there is nothing to average, which has the weight 0.
    """
    total = np.full((rows.n_rows, classes if out is None else 2 * classes), -np.inf)
    weights = np.zeros(rows.n_rows)
    for _, some, logs, weighs in rows.blocks(super_parents):
        total[some] = np.logaddexp(total[some], log_sum_exp(logs, axis=0))
        weights[some] += weighs.sum(axis=0)
    if out is not None:
        total = of_own_class(total, out.labels)
    return total - np.log(np.where(weights > 0, weights, 1.0))[:, None], weights


def of_own_class(both: FloatArray, labels: NDArray[np.intp]) -> FloatArray:
    """Return from both halves of the classes, on the last axis, what holds for rows of the given classes.

    >>> of_own_class(np.array([[1, 2, 10, 20], [1, 2, 10, 20]]), np.array([0, 1]))
    array([[10,  2],
           [ 1, 20]])
    """
    classes = both.shape[-1] // 2
    chosen = both[..., :classes].copy()
    rows = np.arange(len(labels))
    chosen[..., rows, labels] = both[..., rows, classes + labels]
    return chosen


def _packs(sizes: Sequence[int], limit: int) -> list[list[int]]:
    """Return the features in groups of at most ``limit`` joint states where possible.

    >>> _packs([3, 3, 15, 15, 3], 256)
    [[0, 1, 2], [3, 4]]
    """
    groups: list[list[int]] = []
    cells = limit
    for feature, size in enumerate(sizes):
        cells *= size
        if cells > limit or not groups:
            groups.append([])
            cells = size
        groups[-1].append(feature)
    return groups
