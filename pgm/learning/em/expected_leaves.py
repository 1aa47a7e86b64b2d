"""The E step for tables and continuous leaves, within a memory budget.

Where a row knows all parents of a leaf, its number joins the moments of that parent configuration, once and for all.
Rows that leave parents open go through :mod:`pgm.learning.em.leaf_blocks`, some at a time: those that leave the same
parents open stand together, so that few parents are axes in a block, and a block is as large as the memory budget
allows. If there is room the blocks are kept as they were prepared, otherwise each is prepared when its turn comes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data import Dataset
from pgm.data.checks import counted
from pgm.errors import ImpossibleEvidenceError, TooLargeError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian, log_normal_density
from pgm.factors.size import MEMORY_BUDGET, check_size, format_bytes
from pgm.factors.variable import Variable
from pgm.inference.expected_counts import Expectation, ExpectedCounts
from pgm.inference.hidden_parts import distinct_rows
from pgm.inference.row_groups import Table
from pgm.learning.em.incomplete import COPIES
from pgm.learning.em.leaf_blocks import LeafBlock, LeafExpectation, LeafRows
from pgm.learning.em.leaf_rows import LeafGroup, leaf_groups
from pgm.learning.em.leaves import Leaf
from pgm.learning.parameters.moments import Moments

__all__ = ["ExpectedWithLeaves"]

KEPT = 8
"""Arrays of the size of its densities that a block holds between two E steps; at work there are `COPIES`."""

MOST_ROWS = 1 << 16
"""Rows in one block: enough to make up for what a block costs."""

ROW_CELLS = 2
"""What a row takes besides its densities, in densities of each group."""

FEW_CELLS = 1 << 17
"""Densities of one block that are computed for all configurations of its rows, rather than having several blocks."""


class ExpectedWithLeaves:
    """The E step for tables and leaves.

    Parameters
    ----------
    variables, scopes
        The discrete variables, and the scope of each table by their numbers.
    data
        The rows.
    leaves
        The leaves.
    memory_budget
        Bytes that the tables of a contraction may take, and the densities of rows that leave parents of leaves open.

    Raises
    ------
    TooLargeError
        If the densities of a single row, or the means of the leaves, are too many; names the leaves.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        scopes: Sequence[tuple[int, ...]],
        data: Dataset,
        leaves: Sequence[Leaf],
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self._leaves = tuple(leaves)
        self._n_tables = len(scopes)
        most = memory_budget // (8 * COPIES)
        _check_leaves(self._leaves, memory_budget)
        place = {variable.name: number for number, variable in enumerate(variables)}
        codes = {name: data.codes(name) for name in data.names}
        groups = leaf_groups(
            [(leaf.name, leaf.parents) for leaf in leaves],
            {leaf.name: data.numbers(leaf.name) for leaf in leaves},
            codes,
        )
        table = Table({place[name]: column for name, column in codes.items()}, data.n_rows)
        weights = np.ones(data.n_rows) if data.weights is None else np.asarray(data.weights, np.float64)
        self._source = LeafRows(tuple(variables), tuple(scopes), table, weights, groups, memory_budget)

        seen = np.flatnonzero(weights > 0)
        is_open = [group.holes(seen).any(axis=0) & group.shows(seen) for group in groups]
        self._known = self._known_moments(groups, seen, is_open)
        some_open = np.logical_or.reduce(is_open) if is_open else np.zeros(len(seen), np.bool_)
        closed = seen[~some_open]
        self._closed = self._without_leaves(closed) if len(closed) else None
        self._pieces = list(_pieces(groups, seen[some_open], most)) if some_open.any() else []
        kept = KEPT * sum(piece.cells for piece in self._pieces)
        kept += COPIES * max((piece.cells for piece in self._pieces), default=0)
        self._blocks = (
            [LeafBlock(self._source, piece.rows) for piece in self._pieces] if 8 * kept <= memory_budget else None
        )

    def _known_moments(
        self, groups: Sequence[LeafGroup], rows: NDArray[np.intp], is_open: Sequence[NDArray[np.bool_]]
    ) -> list[Moments]:
        """Return the moments of each leaf in the rows that know all its parents."""
        found: dict[int, Moments] = {}
        for group, flags in zip(groups, is_open, strict=True):
            known = rows[group.shows(rows) & ~flags]
            found |= zip(group.leaves, group.known_moments(known, self._source.weights), strict=True)
        return [found[leaf] for leaf in range(len(self._leaves))]

    def _without_leaves(self, rows: NDArray[np.intp]) -> ExpectedCounts:
        """Return the E step of some rows, of which the leaves say nothing of what is open."""
        source = self._source
        return ExpectedCounts(
            source.variables,
            source.scopes,
            source.table.take(rows),
            source.weights[rows],
            memory_budget=source.memory_budget,
        )

    def of(self, values: Sequence[FloatArray]) -> Expectation:
        """Return expected counts, expected moments and the log-likelihood under tables and leaves.

        The expected moments of each leaf stand after the tables, as an array of its parent configurations by weight,
        mean and sum of squares.

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability zero.
        EvidenceError
            If the density of a row is beyond the range of floats; names the row.
        """
        return self._expectation(values, best=False)

    def of_best(self, values: Sequence[FloatArray]) -> Expectation:
        """Return the same for the most probable completion of each row."""
        return self._expectation(values, best=True)

    def _expectation(self, values: Sequence[FloatArray], *, best: bool) -> Expectation:
        tables, parameters = values[: self._n_tables], values[self._n_tables :]
        gaussians = [leaf.gaussian(array) for leaf, array in zip(self._leaves, parameters, strict=True)]
        found = self._from_known(tables, gaussians)
        try:
            if self._closed is not None:
                more = self._closed.of_best(tables) if best else self._closed.of(tables)
                found = found.plus(LeafExpectation(more.tables, {}, more.log_likelihood))
            for block in self._each_block():
                found = found.plus(block.expectation(tables, gaussians, best=best))
        except ImpossibleEvidenceError:
            self._without_leaves(np.arange(self._source.table.n_rows)).of(tables)  # raises, and knows which row it is
            raise
        moments = [found.moments[leaf].as_array() for leaf in range(len(self._leaves))]
        return Expectation([*found.tables, *moments], found.log_likelihood)

    def _each_block(self) -> Iterator[LeafBlock]:
        if self._blocks is not None:
            yield from self._blocks
        else:
            yield from (LeafBlock(self._source, piece.rows) for piece in self._pieces)

    def _from_known(self, tables: Sequence[FloatArray], gaussians: Sequence[ConditionalGaussian]) -> LeafExpectation:
        """Return what is known whatever the parameters, and its log density."""
        log_likelihood = 0.0
        for leaf, (moments, gaussian) in enumerate(zip(self._known, gaussians, strict=True)):
            found = moments.log_likelihood(gaussian.means, gaussian.variances)
            if found == -math.inf:
                raise self._too_far(leaf, gaussian, gaussians)
            log_likelihood += found
        zero = [np.zeros(table.shape) for table in tables]
        return LeafExpectation(zero, dict(enumerate(self._known)), log_likelihood)

    def _too_far(self, leaf: int, gaussian: ConditionalGaussian, gaussians: Sequence[ConditionalGaussian]) -> Exception:
        """Return the error for the row whose number is the least probable of a leaf, where its parents are known."""
        group = next(group for group in self._source.groups if leaf in group.leaves)
        column = group.numbers[group.leaves.index(leaf)]
        rows = np.flatnonzero((self._source.weights > 0) & ~np.isnan(column))
        rows = rows[~group.holes(rows).any(axis=0)]
        place = group.configurations(rows, range(len(group.parents)))
        logs = log_normal_density(column[rows], gaussian.means.ravel()[place], gaussian.variances.ravel()[place])
        return self._source.too_far(int(rows[logs.argmin()]), [group], gaussians)


def _check_leaves(leaves: Sequence[Leaf], memory_budget: int) -> None:
    """Raise unless there is room for the means and variances of the leaves."""
    cells = sum(math.prod(parent.cardinality for parent in leaf.parents) for leaf in leaves)
    what = f"the means of {listing(leaf.name for leaf in leaves)}"
    _check_room(cells, what, memory_budget)


def _check_room(cells: int, what: str, memory_budget: int) -> None:
    try:
        check_size([cells], what, memory_budget // COPIES)
    except TooLargeError as error:
        whole = f"EM works on {COPIES} arrays of that size, and memory_budget is {format_bytes(memory_budget)}"
        raise TooLargeError(f"{error}; {whole}") from None


class _Piece(NamedTuple):
    """Rows of one block."""

    rows: NDArray[np.intp]
    cells: int
    """How many densities they have, and what takes as much: `ROW_CELLS`, and reports have two states besides."""


class _Pattern(NamedTuple):
    """Rows with the same holes among the parents of leaves."""

    rows: NDArray[np.intp]
    open: tuple[frozenset[int], ...]
    """The open parents of each group."""


def _pieces(groups: Sequence[LeafGroup], rows: NDArray[np.intp], most: int) -> Iterator[_Piece]:
    """Yield rows that make one block: with similar holes, and with no more densities than there is room for.

    Raises
    ------
    TooLargeError
        If there is no room for a single row.
    """
    collected: list[_Pattern] = []
    apart = 0
    for pattern in _patterns(groups, rows):
        apart += _cells(groups, [pattern])
        joint = _cells(groups, [*collected, pattern])
        if collected and joint > min(most, max(FEW_CELLS, 2 * apart)):
            yield from _cut(groups, collected, most)
            collected, apart = [], _cells(groups, [pattern])
        collected.append(pattern)
    yield from _cut(groups, collected, most)


def _patterns(groups: Sequence[LeafGroup], rows: NDArray[np.intp]) -> Iterator[_Pattern]:
    """Yield the rows by their holes, those with few configurations first."""
    flags = [group.holes(rows) & group.shows(rows) for group in groups]
    first, kind = distinct_rows(list(np.packbits(np.concatenate(flags), axis=0)))
    by_kind = np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1])
    found = [
        _Pattern(rows[members], tuple(frozenset(np.flatnonzero(flag[:, place]).tolist()) for flag in flags))
        for place, members in zip(first.tolist(), by_kind, strict=True)
    ]
    yield from sorted(found, key=lambda pattern: _configurations(groups, pattern.open))


def _configurations(groups: Sequence[LeafGroup], open_: Sequence[frozenset[int]]) -> int:
    """Return how many configurations the open parents of all groups have."""
    chosen = zip(groups, open_, strict=True)
    return sum(group.size(sorted(axes)) for group, axes in chosen if axes)


def _width(groups: Sequence[LeafGroup], open_: Sequence[frozenset[int]]) -> int:
    """Return how many densities a row takes."""
    return _configurations(groups, open_) + ROW_CELLS * sum(bool(axes) for axes in open_)


def _joined(patterns: Sequence[_Pattern]) -> list[frozenset[int]]:
    return [frozenset().union(*axes) for axes in zip(*(pattern.open for pattern in patterns), strict=True)]


def _cells(groups: Sequence[LeafGroup], patterns: Sequence[_Pattern]) -> int:
    n_rows = sum(len(pattern.rows) for pattern in patterns)
    return _width(groups, _joined(patterns)) * (n_rows + 2)


def _cut(groups: Sequence[LeafGroup], patterns: Sequence[_Pattern], most: int) -> Iterator[_Piece]:
    """Yield the rows of some patterns, in as many parts as there must be."""
    rows = np.sort(np.concatenate([pattern.rows for pattern in patterns]))
    open_ = _joined(patterns)
    width = _width(groups, open_)
    if 3 * width > most:
        names = [name for group, axes in zip(groups, open_, strict=True) for name in group.names if axes]
        number = counted(_configurations(groups, open_), "parent configuration")
        _check_room(3 * width, f"the densities of {listing(names)} in one row by {number}", most * 8 * COPIES)
    limit = min(MOST_ROWS, most // width - 2)
    for part in np.array_split(rows, -(-len(rows) // limit)):
        yield _Piece(part, width * (len(part) + 2))
