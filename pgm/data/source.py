"""`CountSource`: the seam between learning and data.

Learning asks data for counts and nothing else. So data may live anywhere, as long as something answers these few
questions; a `Dataset` does for data in memory. Whatever has ``variables``, ``n_rows`` and ``count`` will do: the other
answers are put together from counts, less fast (`CountsOnly`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pgm.data.checks import check_discrete, chosen_columns
from pgm.data.counts import CountTable, Family, OccupiedCells
from pgm.data.dataset import Dataset
from pgm.factors.factor import Names, as_names
from pgm.factors.variable import Variable

__all__ = ["CountSource", "Countable", "CountsOnly", "count_source"]


@runtime_checkable
class CountSource(Protocol):
    """What learning may ask of data: all of `pgm.learning` goes through these names.

    `Dataset` is the implementation for data in memory. Counts are additive over rows, so a frame that lives in
    partitions can implement the same names by adding up the counts of its partitions.
    """

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in column order."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def total_weight(self) -> float:
        """Sum of the row weights, the sample size N of every score."""

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return N(parents, child) of each family, shape ``(*parent cardinalities, child cardinality)``."""

    def count_extensions(self, child: str, parents: Sequence[str]) -> CountTable:
        """Return N(parents, child, v) for every variable v, side by side on the last axis."""

    def count_occupied(self, names: Sequence[str]) -> OccupiedCells:
        """Return the joint table of some variables without its empty cells: the distinct rows and their weights."""

    def count_pairs(self, scope: Sequence[str], first: int) -> NDArray[np.floating[Any]]:
        """Return N(scope, u, v) for all pairs of the variables from column ``first`` on; see `Dataset.count_pairs`."""

    def chunks(self, size: int) -> Iterator[Self]:
        """Iterate over consecutive rows, ``size`` at a time."""


@runtime_checkable
class Countable(Protocol):
    """The least that data must be able to do to be learned from."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in column order."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return N(parents, child) of each family, shape ``(*parent cardinalities, child cardinality)``."""


class CountsOnly:
    """A `CountSource` out of data that can count single families.

    Parameters
    ----------
    data
        The data. Its own ``chunks`` and ``total_weight`` are used if it has them.
    """

    def __init__(self, data: Countable) -> None:
        self._data = data
        self._names = [variable.name for variable in data.variables]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in column order."""
        return tuple(self._data.variables)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._data.n_rows

    @property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        given = getattr(self._data, "total_weight", None)
        return float(self.count([(self._names[0], ())])[0].sum() if given is None else given)

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return the table of each family."""
        return list(self._data.count(families))

    def count_extensions(self, child: str, parents: Sequence[str]) -> CountTable:
        """Return the tables of a family extended by each variable, side by side."""
        inside = [*parents, child]
        (table,) = self.count([(child, parents)])
        others = iter(self.count([(name, inside) for name in self._names if name not in inside]))
        tables = [_by_own_state(table, inside.index(name)) if name in inside else next(others) for name in self._names]
        extended: Any = np.concatenate(tables, axis=-1)
        return extended  # type: ignore[no-any-return]

    def count_occupied(self, names: Sequence[str]) -> OccupiedCells:
        """Return the joint table of some variables without its empty cells."""
        (table,) = self.count([(names[-1], names[:-1])])
        states = np.argwhere(table)
        return OccupiedCells(states.astype(np.uint64), table[tuple(states.T)])

    def count_pairs(self, scope: Sequence[str], first: int) -> NDArray[np.floating[Any]]:
        """Return the tables of some variables extended by each pair."""
        inside = list(scope)
        before = sum(variable.cardinality for variable in self.variables[:first])
        tables = []
        for name in self._names[first:]:
            if name in inside:
                extended = self.count_extensions(inside[-1], inside[:-1])
                table = np.moveaxis(_by_own_state(np.moveaxis(extended, -1, 0), 1 + inside.index(name)), 0, -1)
            else:
                table = self.count_extensions(name, inside)
            tables.append(table.reshape(-1, *table.shape[-2:])[..., before:])
        return np.concatenate(tables, axis=1).astype(np.float64)

    def chunks(self, size: int) -> Iterator[Any]:
        """Iterate over consecutive rows, if the data can."""
        chunks: Iterator[Any] = self._data.chunks(size)  # type: ignore[attr-defined]
        return chunks


def _by_own_state(table: CountTable, axis: int) -> CountTable:
    """Return a table with the variable of an axis once more on the last axis: zero off its own state.

    >>> _by_own_state(np.array([3, 5]), 0).tolist()
    [[3, 0], [0, 5]]
    """
    states = table.shape[axis]
    shape = [1] * (table.ndim + 1)
    shape[axis] = shape[-1] = states
    result: Any = table[..., None] * np.eye(states, dtype=table.dtype).reshape(shape)
    return result  # type: ignore[no-any-return]


def count_source(data: object, columns: Names | None = None) -> CountSource:
    """Return what learning reads from: ``data`` itself if it can count, else a `Dataset` of it.

    Parameters
    ----------
    data
        Whatever the user has.
    columns
        The columns that will be needed; others of a frame are then not even looked at. Default: all.

    Raises
    ------
    UnknownNameError
        If one of ``columns`` does not exist.
    DataError
        If one of them is continuous; names it.
    """
    if isinstance(data, Dataset):
        check_discrete(data.continuous if columns is None else as_names(columns), data.continuous)
    if not isinstance(data, Countable):
        return Dataset(data, columns=columns)
    source: CountSource = data if isinstance(data, CountSource) else CountsOnly(data)
    chosen_columns(columns, [variable.name for variable in source.variables])
    return source
