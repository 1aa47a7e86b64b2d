"""How often three values occur together in each class: what A2DE is made of.

A triple is counted where its first feature shows a value, as a pair of the two others. So a third of the pairs of pairs
is counted, and each triple is then written down three times, once for each pair that its super-parent may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import ClassCounts, FloatArray, occurring_levels, rows_with_class
from pgm.data import Dataset
from pgm.errors import TooLargeError
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Variable

__all__ = ["TripleCounts", "count_triples"]


@dataclass(frozen=True)
class TripleCounts:
    """The class by value by value by value table of a training set."""

    cardinalities: tuple[int, ...]
    """Number of states of each feature."""
    tables: tuple[FloatArray, ...]
    """For each feature i but the last N(c, xi, level, level), shape (classes, states, levels after i, levels).

    Levels are as in `ClassCounts`. They hold no counts for triples in which a feature stands twice.
    """

    def pair(self, first: int, second: int) -> FloatArray:
        """Return N(c, xi, xj, level) of features i < j, shape (classes, joint states of i and j, levels)."""
        start = sum(size + 1 for size in self.cardinalities[first + 1 : second])
        table = self.tables[first][:, :, start : start + self.cardinalities[second]]
        return table.reshape(len(table), -1, table.shape[-1])

    def __add__(self, other: TripleCounts) -> TripleCounts:
        tables = tuple(mine + its for mine, its in zip(self.tables, other.tables, strict=True))
        return TripleCounts(self.cardinalities, tables)


def count_triples(
    variables: Sequence[Variable],
    counts: ClassCounts,
    codes: Codes,
    labels: NDArray[np.intp],
    weights: FloatArray | None = None,
) -> TripleCounts:
    """Return the counts of all triples of values of coded rows.

    Parameters
    ----------
    variables
        The features.
    counts
        Any counts of these features and classes.
    codes, labels, weights
        The rows, as in `pgm.classifiers.counting.class_counts.count_classes`.

    Raises
    ------
    TooLargeError
        If the tables would exceed half of the memory budget.

    Notes
    -----
    Matrix products of O(rows * features * levels**2 / 3).

    Examples
    --------
    >>> from pgm.classifiers.counting.class_counts import count_classes
    >>> variables = [Variable(name, [0, 1]) for name in "xyz"]
    >>> rows = [np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 1, 1])], np.array([0, 0, 0])
    >>> counts = count_classes(variables, 1, *rows, pairs=True)
    >>> count_triples(variables, counts, *rows).pair(0, 1)[0, :, 6:8].tolist()  # by x and y, the states of z
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    """
    _check(counts)
    data = rows_with_class(variables, len(counts.classes), codes, labels, weights)
    return TripleCounts(counts.cardinalities, tuple(_tables(data, counts)))


def _tables(data: Dataset, counts: ClassCounts) -> list[FloatArray]:
    """Return N(c, xi, level, level) for each feature i but the last, of rows with the class in front."""
    sizes, starts, classes = counts.cardinalities, counts.starts, len(counts.classes)
    target, *names = data.names
    levels = occurring_levels(data, starts)
    tables: list[FloatArray] = []
    for i, size in enumerate(sizes[:-1]):
        table = np.zeros((classes, size, starts[-1] - starts[i + 1], starts[-1]))
        pairs = data.count_pairs([target, names[i]], first=i + 2)
        later = levels[levels >= starts[i + 1]]
        with_value = pairs.reshape(classes, -1, *pairs.shape[1:])[:, :size]
        table[..., (later - starts[i + 1])[:, None], later] = with_value
        for k, earlier in enumerate(tables):
            own = slice(starts[i] - starts[k + 1], starts[i] - starts[k + 1] + size)
            table[..., starts[k] : starts[k] + sizes[k]] = np.moveaxis(earlier[:, :, own, starts[i + 1] :], 1, -1)
        tables.append(table)
    return tables


def _check(counts: ClassCounts) -> None:
    """Raise if the tables would be too large."""
    sizes, starts, classes = counts.cardinalities, counts.starts, len(counts.classes)
    cells = classes * starts[-1] * sum(size * (starts[-1] - starts[i + 1]) for i, size in enumerate(sizes))
    what = f"the table of {classes} classes by all triples of the {sum(sizes)} values of {len(sizes)} features"
    try:
        check_size([cells], what, MEMORY_BUDGET // 2)
    except TooLargeError as error:
        raise TooLargeError(f"{error}: take fewer features, or AODE, which counts pairs") from None
