"""Counting the families of a network, each in the way that suits it; and sparse ones, which rows can hardly fill.

With twenty parents a table has millions of cells, and a thousand rows show a thousand of them at most. Such a family is
counted by its occupied cells, and all rows of its table that no data speak about are written at once: they are what the
prior says. The result is the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pgm.data import CountSource, CountTable, Dataset
from pgm.data.counts import OccupiedCells
from pgm.data.source import CountsOnly
from pgm.data.together import count_together
from pgm.factors.variable import Variable
from pgm.learning.parameters.estimation import EstimatedTable, Pseudocounts, estimate_table
from pgm.learning.parameters.few_rows import MOST_CELLS, count_at_once

__all__ = ["Counts", "count_families_sparsely", "estimate_occupied"]

Counts: TypeAlias = CountTable | OccupiedCells
"""N(parents, child) of a family: a table, or its occupied cells."""

_Way: TypeAlias = Callable[[Any, Sequence[Sequence[Variable]]], Sequence[Counts]]
"""What counts some families of a source."""

_MANY_ROWS = 8192
"""Beyond, the rows of a family cost more than the work on its table, and few passes over all rows cost least."""

_LARGE = 1 << 16
"""Smaller tables are not worth the trouble."""

_CELLS_PER_ROW = 8
"""A table is sparse if it has more cells than this for each row."""


def count_families_sparsely(source: CountSource, families: Sequence[Sequence[Variable]]) -> list[Counts]:
    """Return the counts of each family, by occupied cells where most cells must be empty.

    Parameters
    ----------
    source
        The data.
    families
        For each family the parents, then the child.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> variables = [Variable(f"x{i}", [0, 1]) for i in range(20)]
    >>> data = Dataset.from_codes(variables, np.zeros((3, 20), int))
    >>> few, many = count_families_sparsely(data, [variables[:1], variables])
    >>> few, many.counts
    (array([3, 0]), array([3]))
    """
    limit = max(_LARGE, _CELLS_PER_ROW * source.n_rows)
    can_list = not isinstance(source, CountsOnly)
    has_many_rows = source.n_rows > _MANY_ROWS
    ways: dict[_Way, list[int]] = {}
    for place, family in enumerate(families):
        size = math.prod([variable.cardinality for variable in family])
        if can_list and len(family) > 1 and size > limit:
            way: _Way = _occupied
        elif isinstance(source, Dataset) and has_many_rows and source.weights is None:
            way = count_together
        elif isinstance(source, Dataset) and not has_many_rows and size <= MOST_CELLS:
            way = count_at_once
        else:
            way = _one_by_one
        ways.setdefault(way, []).append(place)
    found: dict[int, Counts] = {}
    for way, places in ways.items():
        found.update(zip(places, way(source, [families[place] for place in places]), strict=True))
    return [found[place] for place in range(len(families))]


def _occupied(source: CountSource, families: Sequence[Sequence[Variable]]) -> Sequence[Counts]:
    return [source.count_occupied([variable.name for variable in family]) for family in families]


def _one_by_one(source: CountSource, families: Sequence[Sequence[Variable]]) -> Sequence[Counts]:
    return source.count([(child.name, [parent.name for parent in above]) for *above, child in families])


def estimate_occupied(
    family: Sequence[Variable], cells: OccupiedCells, pseudocounts: Pseudocounts = 0.0
) -> EstimatedTable:
    """Return the table of a family, the mean of the posterior, from its occupied cells.

    Parameters
    ----------
    family
        The parents, then the child.
    cells
        The cells with counts.
    pseudocounts
        Dirichlet counts.

    Notes
    -----
    O(cells of the table) to write it, O(occupied cells) to work it out.

    Examples
    --------
    >>> a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    >>> estimate_occupied([a, b], OccupiedCells(np.array([[0, 1]], np.uint8), np.array([3])))
    EstimatedTable(values=array([[0. , 1. ],
           [0.5, 0.5]]), n_unseen=1)
    """
    shape = [variable.cardinality for variable in family]
    if isinstance(pseudocounts, float):  # one row stands for all
        row = estimate_table(family, np.zeros(shape[-1]), pseudocounts)
        values, n_unseen = np.broadcast_to(row.values, shape).copy(), row.n_unseen * math.prod(shape[:-1])
    else:
        values, n_unseen = estimate_table(family, np.broadcast_to(0.0, shape), pseudocounts)
    if not len(cells.counts):
        return EstimatedTable(values, n_unseen)
    parents = np.ravel_multi_index(tuple(cells.states[:, :-1].T.astype(np.intp)), tuple(shape[:-1]))
    seen, block_rows = np.unique(parents, return_inverse=True)
    block = np.zeros((len(seen), shape[-1]), cells.counts.dtype)
    block[block_rows, cells.states[:, -1]] = cells.counts
    rows = values.reshape(-1, shape[-1])
    prior = pseudocounts if isinstance(pseudocounts, float) else pseudocounts.reshape(rows.shape)[seen]
    rows_with_prior = np.sum(np.broadcast_to(prior, block.shape), axis=-1) > 0
    rows[seen] = estimate_table(family, block, prior).values
    return EstimatedTable(values, n_unseen - int(np.count_nonzero(~rows_with_prior)))
