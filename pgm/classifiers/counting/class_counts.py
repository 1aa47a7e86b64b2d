"""What Bayes classifiers read of data: how often classes, values, and pairs of values occur together.

N(c), N(c, xi) and N(c, xi, xj) for all features come from a single pass. They add up over batches, and a row is taken
out of them by subtraction; so learning in batches and leaving rows out are exact.

Values of all features stand side by side, *levels*: feature i has the levels from ``starts[i]`` on, one for each state
and one more for a missing cell. So every row has exactly one level of each feature, whatever is missing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.common.reading import Codes
from pgm.data import Dataset
from pgm.errors import DataError
from pgm.factors.variable import Variable

__all__ = ["ClassCounts", "FloatArray", "count_classes", "level_starts", "occurring_levels", "rows_with_class"]

FloatArray = NDArray[np.float64]

_HOLE = ("missing cell",)
"""Label of the state that stands for a missing cell while counting."""


@dataclass(frozen=True)
class ClassCounts:
    """The class by value by value table of a training set.

    Examples
    --------
    >>> x, y = Variable("x", ["a", "b"]), Variable("y", ["u", "v"])
    >>> counts = count_classes([x, y], 2, [np.array([0, 0, 1]), np.array([0, 1, 1])], np.array([0, 0, 1]), pairs=True)
    >>> counts.classes.tolist(), counts.family(1, (0,))[0].tolist()
    ([2.0, 1.0], [[1.0, 1.0], [0.0, 0.0]])
    """

    cardinalities: tuple[int, ...]
    """Number of states of each feature."""
    classes: FloatArray
    """N(c), shape (classes,)."""
    singles: FloatArray
    """N(c, level), shape (classes, levels)."""
    pairs: FloatArray | None
    """N(c, level, level), shape (classes, levels, levels); None if only single features were counted."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first level of each feature, then the number of levels."""
        return level_starts(self.cardinalities)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.classes.sum())

    def family(self, child: int, parents: Sequence[int] = ()) -> FloatArray:
        """Return N(c, parent, child) without missing cells, shape (classes, *parent cardinality, child cardinality)."""
        states = self._states(child)
        if not parents:
            return self.singles[:, states]
        (parent,) = parents
        assert self.pairs is not None
        return self.pairs[:, self._states(parent), states]

    def __add__(self, other: ClassCounts) -> ClassCounts:
        pairs = None if self.pairs is None or other.pairs is None else self.pairs + other.pairs
        return replace(self, classes=self.classes + other.classes, singles=self.singles + other.singles, pairs=pairs)

    def without(self, levels: NDArray[np.intp], label: int, weight: float = 1.0) -> ClassCounts:
        """Return the counts without one row, given by its level of each feature and its class."""
        classes, singles = self.classes.copy(), self.singles.copy()
        classes[label] -= weight
        singles[label, levels] -= weight
        pairs = self.pairs
        if pairs is not None:
            pairs = pairs.copy()
            pairs[label, levels[:, None], levels] -= weight
        return replace(self, classes=classes, singles=singles, pairs=pairs)

    def _states(self, feature: int) -> slice:
        return slice(self.starts[feature], self.starts[feature] + self.cardinalities[feature])


def rows_with_class(
    variables: Sequence[Variable],
    classes: int,
    codes: Codes,
    labels: NDArray[np.intp],
    weights: FloatArray | None = None,
) -> Dataset:
    """Return a data set with the class as its first column.

    Missing cells are one more state of a feature, if it has any.
    """
    target = Variable("class " + " ".join(variable.name for variable in variables), range(classes))
    features = [
        Variable(variable.name, (*variable.states, _HOLE)) if (column == variable.cardinality).any() else variable
        for variable, column in zip(variables, codes, strict=True)
    ]
    return Dataset.from_codes([target, *features], [labels, *codes], weights)


def level_starts(cardinalities: Sequence[int]) -> tuple[int, ...]:
    """Return the first level of each feature, then the number of levels.

    >>> level_starts([2, 3])
    (0, 3, 7)
    """
    return (0, *accumulate(cardinality + 1 for cardinality in cardinalities))


def occurring_levels(data: Dataset, starts: Sequence[int]) -> NDArray[np.intp]:
    """Return which levels the states of the features are in a data set with the class as its first column.

    >>> codes = [np.array([0, 1]), np.array([2, 0])]  # the second feature has a hole
    >>> data = rows_with_class([Variable("x", [0, 1]), Variable("y", [0, 1])], 1, codes, np.array([0, 0]))
    >>> occurring_levels(data, (0, 3, 6))
    array([0, 1, 3, 4, 5])
    """
    levels = np.arange(starts[-1])
    stops = [start + variable.cardinality for start, variable in zip(starts, data.variables[1:], strict=False)]
    return levels[np.repeat(stops, np.diff(starts)) > levels]


def count_classes(
    variables: Sequence[Variable],
    classes: int,
    codes: Codes,
    labels: NDArray[np.intp],
    weights: FloatArray | None = None,
    *,
    pairs: bool,
) -> ClassCounts:
    """Return the counts of coded rows.

    Parameters
    ----------
    variables
        The features.
    classes
        Number of classes.
    codes
        Codes of each feature, the cardinality where a cell is missing.
    labels
        Code of the class of each row.
    weights
        Weight of each row.
    pairs
        Whether pairs of features are counted too.

    Raises
    ------
    DataError
        If there is no row.
    TooLargeError
        If the tables would exceed the memory budget.

    Notes
    -----
    Matrix products of O(rows * levels**2) with pairs, O(rows * features) without.
    """
    data = rows_with_class(variables, classes, codes, labels, weights)
    if data.n_rows == 0:
        raise DataError("there is no row: there is nothing to learn from")
    cardinalities = tuple(variable.cardinality for variable in variables)
    (in_class,) = data.count([(data.names[0], ())])
    starts = level_starts(cardinalities)
    levels = occurring_levels(data, starts)
    singles = np.zeros((classes, starts[-1]))
    if not pairs:
        singles[:, levels] = data.count_extensions(data.names[0])[:, classes:]
        return ClassCounts(cardinalities, in_class.astype(np.float64), singles, None)
    table = np.zeros((classes, starts[-1], starts[-1]))
    table[:, levels[:, None], levels] = data.count_pairs([data.names[0]], first=1)
    singles[:] = np.diagonal(table, axis1=1, axis2=2)
    return ClassCounts(cardinalities, in_class.astype(np.float64), singles, table)
