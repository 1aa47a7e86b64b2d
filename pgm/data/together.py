"""Counting many families together: a network has as many tables as nodes, and they share variables.

A search comes back to the same rows thousands of times, and `pgm.data.counts` makes that fast by collapsing equal rows
first. Whoever wants the tables of one graph, once, is better served by few passes over the rows as they are. Families
that overlap are counted as one table of up to 65,535 cells, over all of their variables, and each family is a sum over
that table. Joint states then fit into 16 bits, which are fast to compute. The 37 families of ALARM take 6 passes, and a
million rows 40 to 65 ms instead of 200.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.data.dataset import Dataset
from pgm.factors.variable import Variable

__all__ = ["count_together"]

_UNION_CELLS = (1 << 16) - 1
"""Largest table that several families share, so that its joint states and cardinalities have 16 bits."""

_ROWS = 1 << 17
"""Rows that are looked at in a piece: their joint states stay in the cache."""


def count_together(data: Dataset, families: Sequence[Sequence[Variable]]) -> list[NDArray[np.int64]]:
    """Return the table N(parents, child) of each family; row weights are not looked at.

    Parameters
    ----------
    data
        The rows.
    families
        For each family its variables, in the order of the axes.

    Raises
    ------
    MissingDataError
        If a variable of a family has missing cells.

    Notes
    -----
    O(rows * variables in all unions), and O(65,535) for each family. The arrays may share memory.

    Examples
    --------
    >>> data = Dataset({"x": [0, 0, 1], "y": ["a", "b", "b"]})
    >>> count_together(data, [[data.variable("y")], list(data.variables)])
    [array([1, 2]), array([[1, 1],
           [0, 1]])]
    """
    scopes = [tuple(variable.name for variable in family) for family in families]
    data.require_complete(list(dict.fromkeys(name for scope in scopes for name in scope)))
    cardinalities = {variable.name: variable.cardinality for family in families for variable in family}
    tables: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(scopes)
    for union, members in _unions(scopes, cardinalities):
        joint = _count(data, union, [cardinalities[name] for name in union])
        for place in members:
            tables[place] = _margin(joint, union, scopes[place])
    return tables


def _unions(
    scopes: Sequence[tuple[str, ...]], cardinalities: dict[str, int]
) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield sets of variables, each with the families that it holds; large families choose first.

    >>> list(_unions([("a",), ("a", "b"), ("c",)], {"a": 2, "b": 2, "c": 100_000}))
    [(('c',), [2]), (('a', 'b'), [1, 0])]
    """
    sizes = [math.prod(cardinalities[name] for name in scope) for scope in scopes]
    unions: list[dict[str, None]] = []
    cells: list[int] = []
    members: list[list[int]] = []
    holding: dict[str, list[int]] = {name: [] for name in cardinalities}
    for place in sorted(range(len(scopes)), key=lambda place: -sizes[place]):
        scope = scopes[place]
        near = sorted({number for name in scope for number in holding[name]})
        growth = {n: math.prod(cardinalities[name] for name in scope if name not in unions[n]) for n in near}
        fitting = [number for number in near if cells[number] * growth[number] <= _UNION_CELLS]
        best = min(fitting, key=growth.__getitem__, default=len(unions))
        if not fitting:
            unions.append({})
            cells.append(1)
            members.append([])
            growth[best] = sizes[place]
        for name in scope:
            if name not in unions[best]:
                unions[best][name] = None
                holding[name].append(best)
        cells[best] *= growth[best]
        members[best].append(place)
    for union, inside in zip(unions, members, strict=True):
        yield tuple(union), inside


def _count(data: Dataset, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the table of some variables, in one pass."""
    cells = math.prod(shape)
    kind: Any = np.uint16 if cells <= _UNION_CELLS else np.intp
    columns = [data.codes(name) for name in names]
    table = np.zeros(cells, np.int64)
    for start in range(0, data.n_rows, _ROWS):
        states: NDArray[Any] = columns[0][start : start + _ROWS].astype(kind)
        for column, cardinality in zip(columns[1:], shape[1:], strict=True):
            states *= kind(cardinality)
            states += column[start : start + _ROWS]
        table += np.bincount(states, minlength=cells)
    return table.reshape(shape)


def _margin(joint: NDArray[np.int64], names: Sequence[str], scope: Sequence[str]) -> NDArray[np.int64]:
    """Return the table of some of the variables, in the order of ``scope``."""
    if joint.ndim > len(scope):
        joint = joint.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in scope))
    kept = [name for name in names if name in scope]
    return joint.transpose([kept.index(name) for name in scope])
