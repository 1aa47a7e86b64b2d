"""Support: which cells are missing, and what the rows that are left say about each table of a network.

Before parameters are trusted, two questions should be asked of incomplete data. Which cells are missing together
(`missing_patterns`)? And how many rows inform each table, down to its rows (`table_support`)?

A row of a table, the distribution of the child in one parent configuration, is *identified by the available cases* if
some row of the data shows that configuration with the child. Tables with a latent variable never are: EM may still find
values for them, from what the other variables have in common, but only up to the names of the latent states, and
another start may find others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, Dataset
from pgm.data.checks import check_discrete, chosen_columns, counted
from pgm.data.counts import OccupiedCells
from pgm.data.statistics import MissingRows, check_missing
from pgm.factors.factor import Names
from pgm.factors.variable import Label, Variable
from pgm.graph.dag import DAG, as_dag
from pgm.learning.parameters.counting import rows_to_count
from pgm.learning.parameters.sparse_families import Counts, count_families_sparsely
from pgm.network import BayesianNetwork

__all__ = ["FamilySupport", "MissingPattern", "MissingPatterns", "TableSupport", "missing_patterns", "table_support"]

_EXAMPLES = 8
"""Parent configurations without rows that are named."""

_LINES = 40
"""Lines of a printed table."""


# Which cells are missing.


@dataclass(frozen=True)
class MissingPattern:
    """The rows in which the same cells are missing."""

    missing: tuple[str, ...]
    """The columns that are missing, in column order; none in complete rows."""
    n_rows: int
    weight: float
    """Their weight; without row weights their number."""


@dataclass(frozen=True)
class MissingPatterns:
    """The distinct patterns of missing cells of a data set, the most frequent first; prints as a table."""

    patterns: tuple[MissingPattern, ...]
    n_rows: int

    @property
    def n_complete(self) -> int:
        """Number of rows without missing cells."""
        return sum(pattern.n_rows for pattern in self.patterns if not pattern.missing)

    def __len__(self) -> int:
        return len(self.patterns)

    def __iter__(self) -> Iterator[MissingPattern]:
        return iter(self.patterns)

    def __str__(self) -> str:
        rows = [
            (f"{pattern.n_rows}", f"{pattern.n_rows / self.n_rows:.1%}", ", ".join(pattern.missing) or "(none)")
            for pattern in self.patterns
        ]
        return _printed(("rows", "share", "missing"), rows, "rrl")


def missing_patterns(data: object, columns: Names | None = None) -> MissingPatterns:
    """Return which cells are missing together, and in how many rows.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of.
    columns
        The columns looked at. Default: all.

    Raises
    ------
    UnknownNameError
        If there is no such column.

    Notes
    -----
    O(rows * columns with holes).

    Examples
    --------
    >>> print(missing_patterns({"a": [0, 1, None, None], "b": [0, 1, 1, 0], "c": [None, 1, 0, 1]}))
    rows | share | missing
    -----+-------+--------
       2 | 50.0% | a
       1 | 25.0% | (none)
       1 | 25.0% | c
    """
    table = data if isinstance(data, Dataset) else Dataset(data, columns=columns)
    names = chosen_columns(columns, (*table.names, *table.continuous))
    holes = {name: hole for name in names if (hole := table.missing(name)) is not None}
    masks = np.stack([*holes.values(), np.zeros(table.n_rows, np.bool_)], axis=1)  # one more, for there may be none
    packed = np.packbits(masks, axis=1)
    distinct, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    rows = np.bincount(which.ravel(), minlength=len(distinct))
    weights = rows if table.weights is None else np.bincount(which.ravel(), table.weights, minlength=len(distinct))
    found = [
        MissingPattern(
            tuple(name for name, hole in zip(holes, masks[row], strict=False) if hole), int(n), float(weight)
        )
        for row, n, weight in zip(first, rows, weights, strict=True)
    ]
    place = {name: number for number, name in enumerate(names)}
    found.sort(key=lambda pattern: (-pattern.n_rows, [place[name] for name in pattern.missing]))
    return MissingPatterns(tuple(found), table.n_rows)


# What informs each table.


@dataclass(frozen=True)
class FamilySupport:
    """What the rows say about one table."""

    child: str
    parents: tuple[str, ...]
    latent: tuple[str, ...]
    """Members of the family that no row ever shows."""
    weight: float
    """Weight of the rows in which the whole family is known: the effective count of the table."""
    n_configurations: int | None
    """Parent configurations, the rows of the table; None if a latent parent has unknown states."""
    n_unseen: int | None
    """Configurations that no such row shows."""
    least: float
    """The smallest weight of a configuration that occurs; 0 if none does."""
    unseen: tuple[tuple[Label, ...], ...]
    """The first few configurations without rows, by the labels of the parents."""

    @property
    def is_identified(self) -> bool:
        """Whether every row of the table is informed by some row of the data."""
        return not self.latent and self.n_unseen == 0

    @property
    def verdict(self) -> str:
        """What is wrong with the table, in words."""
        if self.child in self.latent:
            return "latent child"
        if self.latent:
            return f"latent parent {', '.join(self.latent)}"
        if not self.n_unseen:
            return "identified"
        return f"{self.n_unseen} of {self.n_configurations} configurations without rows"


@dataclass(frozen=True)
class TableSupport:
    """What the rows say about each table of a network, in declared order; prints as a table."""

    families: tuple[FamilySupport, ...]
    total_weight: float
    """Weight of all rows, whether or not they were counted."""

    @property
    def not_identified(self) -> tuple[str, ...]:
        """Children whose tables are not identified by the available cases."""
        return tuple(family.child for family in self.families if not family.is_identified)

    def __len__(self) -> int:
        return len(self.families)

    def __iter__(self) -> Iterator[FamilySupport]:
        return iter(self.families)

    def __getitem__(self, child: str) -> FamilySupport:
        return next(family for family in self.families if family.child == child)

    def __str__(self) -> str:
        rows = []
        for family in self.families:
            title = f"{family.child} | {', '.join(family.parents)}" if family.parents else family.child
            share = family.weight / self.total_weight if self.total_weight else 0.0
            rows.append((title, f"{family.weight:g}", f"{share:.1%}", f"{family.least:g}", family.verdict))
        return _printed(("table", "rows", "share", "least", "verdict"), rows, "lrrrl")


def table_support(dag: DAG | BayesianNetwork, data: object, *, missing: MissingRows = "available") -> TableSupport:
    """Return how many rows inform each table of a network, and which of its rows none does.

    Parameters
    ----------
    dag
        The graph, or a network, which stands for its graph.
    data
        A `Dataset`, or anything one can be made of. Nodes that are no columns, and columns without any known cell, are
        latent.
    missing
        Which rows count: ``"available"``, for each family those in which it is known; ``"complete_rows"``, those in
        which all nodes but the latent ones are; ``"error"`` refuses missing cells.

    Raises
    ------
    GraphError
        If ``dag`` is neither.
    MissingDataError
        If cells are missing and ``missing`` is ``"error"``.
    DataError
        If a node is a continuous column, which has no table.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "yes", None], "wet": ["no", "yes", None, "yes"]}
    >>> print(table_support(DAG([("cloud", "rain"), ("rain", "wet")]), data))
    table        | rows | share | least | verdict
    -------------+------+-------+-------+-----------------------------------
    cloud        |    0 |  0.0% |     0 | latent child
    rain | cloud |    0 |  0.0% |     0 | latent parent cloud
    wet | rain   |    2 | 50.0% |     2 | 1 of 2 configurations without rows
    """
    check_missing(missing)
    graph = as_dag(dag)
    if isinstance(data, Dataset):
        check_discrete([name for name in graph.nodes if name in data.continuous], data.continuous)
    everything = data if isinstance(data, CountSource) else _read(graph, data)
    variables = {variable.name: variable for variable in everything.variables}
    latent = {node for node in graph.nodes if node not in variables or _never_known(everything, node)}
    seen = DAG(
        [(parent, child) for parent, child in graph.edges if not {parent, child} & latent],
        nodes=[node for node in graph.nodes if node not in latent],
    )
    known = [node for node in graph.nodes if not latent.intersection(graph.family(node))]
    families = [[variables[name] for name in graph.family(node)] for node in known]
    counts = count_families_sparsely(rows_to_count(seen, everything, missing), families) if families else []
    found = {family[-1].name: _support(family, table) for family, table in zip(families, counts, strict=True)}
    unknown = {node: _no_support(graph.family(node), latent, variables) for node in graph.nodes if node not in found}
    return TableSupport(tuple({**found, **unknown}[node] for node in graph.nodes), everything.total_weight)


def _read(dag: DAG, data: object) -> CountSource:
    """Return the columns of the data that are nodes."""
    table = Dataset(data)
    return table.select([node for node in dag.nodes if node in table.names])


def _never_known(source: CountSource, node: str) -> bool:
    hole = source.missing(node) if isinstance(source, Dataset) else None
    return hole is not None and bool(hole.all())


def _support(family: Sequence[Variable], counts: Counts) -> FamilySupport:
    shape = tuple(variable.cardinality for variable in family[:-1])
    n_configurations = math.prod(shape)
    seen, weights = _configurations(shape, counts)
    first = np.arange(min(n_configurations, len(seen) + _EXAMPLES))
    unseen = np.setdiff1d(first, seen)[:_EXAMPLES].tolist() if shape or not len(seen) else []
    *parents, child = family
    return FamilySupport(
        child=child.name,
        parents=tuple(variable.name for variable in parents),
        latent=(),
        weight=float(weights.sum()),
        n_configurations=n_configurations,
        n_unseen=n_configurations - len(seen),
        least=float(weights.min()) if len(weights) else 0.0,
        unseen=tuple(
            tuple(v.states[int(code)] for v, code in zip(parents, np.unravel_index(place, shape), strict=True))
            for place in unseen
        ),
    )


def _configurations(shape: tuple[int, ...], counts: Counts) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the parent configurations that occur, numbered in mixed radix, and their weights."""
    if not isinstance(counts, OccupiedCells):
        totals = counts.sum(axis=-1, dtype=np.float64).ravel()
        seen = np.flatnonzero(totals)
        return seen, totals[seen]
    numbers = np.ravel_multi_index(tuple(counts.states[:, :-1].T.astype(np.intp)), shape)
    seen, which = np.unique(numbers, return_inverse=True)
    return seen, np.bincount(which, counts.counts, minlength=len(seen)).astype(np.float64)


def _no_support(family: Sequence[str], latent: set[str], variables: dict[str, Variable]) -> FamilySupport:
    *parents, child = family
    states = [variables[name].cardinality for name in parents if name in variables]
    n_configurations = math.prod(states) if len(states) == len(parents) else None
    hidden = tuple(name for name in family if name in latent)
    return FamilySupport(child, tuple(parents), hidden, 0.0, n_configurations, n_configurations, 0.0, ())


def _printed(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return lines of text in columns, flushed left or right, cut after some."""
    shown = [heads, *rows[:_LINES]]
    widths = [max(len(row[column]) for row in shown) for column in range(len(heads))]
    lines = [
        " | ".join(
            text.rjust(width) if side == "r" else text.ljust(width)
            for text, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in shown
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    if len(rows) > _LINES:
        lines.append(f"... {counted(len(rows) - _LINES, 'more line')} ...")
    return "\n".join(lines)
