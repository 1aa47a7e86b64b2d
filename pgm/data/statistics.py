"""Sufficient statistics: all that the tables of a network depend on, the counts of its families.

Two tables of rows with equal sufficient statistics give the same network, whatever else is in them. And the statistics
of rows one below the other are the sums of their statistics. So rows may be counted where they are, partition by
partition or day by day, and only counts are kept, sent and added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pgm.data.checks import counted
from pgm.data.counts import CountTable
from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.factor import Factor
from pgm.factors.size import format_count
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG

__all__ = ["MissingRows", "SufficientStatistics", "check_missing"]

_ROUNDING = 1e-12
"""Share of the total weight by which a difference of fractional counts may fall below 0."""

MissingRows: TypeAlias = Literal["error", "available", "complete_rows"]
"""What is done with rows that have missing cells: refuse them; count each family on the rows in which the whole family
is known; or count only the rows in which all nodes are known."""


def check_missing(missing: object) -> None:
    """Raise unless it is a way to treat rows with missing cells.

    Raises
    ------
    UnknownNameError
        Lists the ways.

    Examples
    --------
    >>> check_missing("drop")
    Traceback (most recent call last):
    ...
    pgm.errors.UnknownNameError: no way 'drop' to treat missing cells; there are 'error', 'available', 'complete_rows'
    """
    if not isinstance(missing, str) or missing not in get_args(MissingRows):
        ways = listing(get_args(MissingRows))
        raise UnknownNameError(f"no way {missing!r} to treat missing cells; there are {ways}")


class SufficientStatistics:
    """The counts of every family of a graph: an immutable value that can be added, subtracted and kept.

    `pgm.learning.parameters.sufficient_statistics` counts them, `fit_parameters` takes them in place of data, and
    `pgm.io.counts` reads and writes them.

    Parameters
    ----------
    dag
        The graph.
    variables
        A variable for each node, in the order of ``dag.nodes``.
    tables
        For each node N(parents, node), shape ``(*parent cardinalities, cardinality)``, whole or fractional. They are
        copied, unless they are read-only.
    n_rows
        How many rows there were, counted or not.
    total_weight
        Their weight. Default: their number.
    missing
        What was done with rows that have missing cells.

    Raises
    ------
    DataError
        If the parts do not belong together, or a count is negative or not finite.

    Examples
    --------
    >>> x = Variable("x", ["no", "yes"])
    >>> monday = SufficientStatistics(DAG(nodes=["x"]), [x], [np.array([3, 1])], 4)
    >>> (monday + monday).counts("x")
    <Factor over 'x': 'no' 6, 'yes' 2>
    >>> monday + monday - monday == monday
    True
    """

    __slots__ = ("_index", "dag", "missing", "n_rows", "tables", "total_weight", "variables")

    dag: DAG
    variables: tuple[Variable, ...]
    tables: tuple[CountTable, ...]
    """N(parents, node) for each node in declared order, read-only."""
    n_rows: int
    """Rows that there were, counted or not."""
    total_weight: float
    """The weight of these rows."""
    missing: MissingRows
    _index: dict[str, int]

    def __init__(
        self,
        dag: DAG,
        variables: Sequence[Variable],
        tables: Sequence[NDArray[Any]],
        n_rows: int,
        total_weight: float | None = None,
        missing: MissingRows = "error",
    ) -> None:
        check_missing(missing)
        if tuple(variable.name for variable in variables) != dag.nodes or len(tables) != len(dag.nodes):
            names = listing(variable.name for variable in variables)
            message = f"the nodes are {listing(dag.nodes)}; the variables are {names}, with {len(tables)} tables"
            raise DataError(message)
        set_once = super().__setattr__
        set_once("dag", dag)
        set_once("variables", tuple(variables))
        set_once("_index", {name: number for number, name in enumerate(dag.nodes)})
        set_once("tables", tuple(self._checked(*pair) for pair in zip(dag.nodes, tables, strict=True)))
        set_once("n_rows", n_rows)
        set_once("total_weight", float(n_rows if total_weight is None else total_weight))
        set_once("missing", missing)

    def _checked(self, node: str, table: NDArray[Any]) -> CountTable:
        shape = tuple(variable.cardinality for variable in self.family(node))
        if table.shape != shape:
            raise DataError(f"the counts of {node!r} must have shape {shape}, not {table.shape}")
        if not (np.isfinite(table).all() and table.min(initial=0) >= 0):
            raise DataError(f"the counts of {node!r} must be finite numbers from 0; the least is {table.min():g}")
        kind: Any = np.int64 if table.dtype.kind in "iu" else np.float64
        own: CountTable = table.astype(kind, copy=table.flags.writeable)
        own.setflags(write=False)
        return own

    # ------------------------------------------------------------------ looking

    def variable(self, name: str) -> Variable:
        """Return the variable of a node."""
        if name not in self._index:
            raise UnknownNameError(f"no counts of {name!r}; the nodes are {listing(self._index)}")
        return self.variables[self._index[name]]

    def family(self, node: str) -> tuple[Variable, ...]:
        """Return the parents of a node, then the node itself."""
        self.variable(node)
        return tuple(self.variable(name) for name in self.dag.family(node))

    def counts(self, node: str) -> Factor:
        """Return N(parents, node) as a table by label."""
        return Factor(self.family(node), self.tables[self._index[node]])

    def table(self, node: str, parents: Sequence[str]) -> CountTable:
        """Return N(parents, node) with the parents in another order.

        Raises
        ------
        DataError
            If these are not the parents with which the node was counted.
        """
        names = [variable.name for variable in self.family(node)]
        if sorted(names[:-1]) != sorted(parents):
            given = f"{listing(names[:-1])}, not {listing(parents)}"
            raise DataError(f"{node!r} was counted with the parents {given}: count the rows again")
        table: CountTable = self.tables[self._index[node]].transpose([names.index(name) for name in (*parents, node)])
        return table

    def weight_used(self, node: str) -> float:
        """Return the weight of the rows counted for a node: less than `total_weight` if cells were missing."""
        return float(self.tables[self._index[node]].sum())

    # ------------------------------------------------------------------ adding up

    def __add__(self, other: object) -> SufficientStatistics:
        """Return the statistics of both sets of rows together.

        Raises
        ------
        DataError
            If they are of different graphs, states, or ways to treat missing cells.
        """
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        missing = self._common(other)
        tables = [mine + theirs for mine, theirs in zip(self.tables, other._aligned(self), strict=True)]
        weight = self.total_weight + other.total_weight
        return SufficientStatistics(self.dag, self.variables, tables, self.n_rows + other.n_rows, weight, missing)

    def __radd__(self, other: object) -> SufficientStatistics:
        """Return self, where `sum` begins with 0."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __sub__(self, other: object) -> SufficientStatistics:
        """Return the statistics without rows that are in them.

        Exact for whole counts; of fractional ones rounding may be left.

        Raises
        ------
        DataError
            As for a sum, and if the rows cannot have been among those counted.
        """
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        missing = self._common(other)
        tables = [mine - theirs for mine, theirs in zip(self.tables, other._aligned(self), strict=True)]
        for node, table in zip(self.dag.nodes, tables, strict=True):
            if table.min(initial=0) < -_ROUNDING * self.total_weight or self.n_rows < other.n_rows:
                raise DataError(f"these rows are not all among those counted: {node!r} would have {table.min():g} left")
            np.maximum(table, 0, out=table)
        weight = self.total_weight - other.total_weight
        return SufficientStatistics(self.dag, self.variables, tables, self.n_rows - other.n_rows, weight, missing)

    def _common(self, other: Self) -> MissingRows:
        """Return how missing cells were treated in both, where complete rows agree with any way."""
        ways = {self.missing, other.missing} - {"error"}
        if len(ways) > 1:
            raise DataError(f"missing cells were treated in two ways, {self.missing!r} and {other.missing!r}")
        if set(self.dag.nodes) != set(other.dag.nodes):
            different = sorted(set(self.dag.nodes) ^ set(other.dag.nodes))
            raise DataError(f"the counts are of different graphs: {listing(different)} is a node of one only")
        for variable in self.variables:
            theirs = other.variable(variable.name)
            if variable != theirs:
                both = f"{listing(variable.states)} and {listing(theirs.states)}"
                raise DataError(f"{variable.name!r} has the states {both}: declare the states before counting")
        return self.missing if self.missing != "error" else other.missing

    def _aligned(self, other: Self) -> list[CountTable]:
        """Return the tables in the order of the nodes and parents of other statistics."""
        return [self.table(node, other.dag.parents(node)) for node in other.dag.nodes]

    # ------------------------------------------------------------------ an immutable value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        mine = (self.dag.nodes, self.variables, self.n_rows, self.total_weight, self.missing)
        theirs = (other.dag.nodes, other.variables, other.n_rows, other.total_weight, other.missing)
        families = all(self.dag.parents(node) == other.dag.parents(node) for node in self.dag.nodes if mine == theirs)
        return mine == theirs and families and all(map(np.array_equal, self.tables, other.tables))

    def __hash__(self) -> int:
        return hash((self.variables, self.n_rows, self.total_weight))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("SufficientStatistics are immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("SufficientStatistics are immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.dag, self.variables, self.tables, self.n_rows, self.total_weight, self.missing)
        return SufficientStatistics, parts

    def __repr__(self) -> str:
        cells = format_count(sum(math.prod(table.shape) for table in self.tables))
        size = f"{counted(len(self.tables), 'table')}, {cells} cells"
        return f"<SufficientStatistics: {size}, of {counted(self.n_rows, 'row')}>"
