"""Counting all families of a network at once, where rows are few and tables many.

For a thousand rows and a thousand small tables, the work on each table matters more than its rows. So families with the
same number of parents are counted together: their joint states are numbered on, those of the second family after those
of the first, in matrices of families times rows; and one pass over such a matrix fills all of their tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountTable, Dataset
from pgm.factors.variable import Variable

__all__ = ["MOST_CELLS", "count_at_once"]

MOST_CELLS = (1 << 16) - 1
"""Largest table, so that joint states and cardinalities have 16 bits."""

_BLOCK = 1 << 18
"""Families times rows that are looked at together."""


def count_at_once(data: Dataset, families: Sequence[Sequence[Variable]]) -> list[CountTable]:
    """Return the table N(parents, child) of each family.

    Parameters
    ----------
    data
        The rows.
    families
        For each family its variables, in the order of the axes. No table may have more than `MOST_CELLS` cells.

    Raises
    ------
    MissingDataError
        If a variable of a family has missing cells.

    Notes
    -----
    O(rows * variables of all families + cells). The arrays may share memory.

    Examples
    --------
    >>> data = Dataset({"x": [0, 0, 1], "y": ["a", "b", "b"]})
    >>> count_at_once(data, [[data.variable("y")], list(data.variables)])
    [array([1, 2]), array([[1, 1],
           [0, 1]])]
    """
    variables = {variable.name: variable for family in families for variable in family}
    data.require_complete(list(variables))
    position = {name: place for place, name in enumerate(variables)}
    columns = [np.empty(0, np.uint16), *(data.codes(name) for name in variables)]
    codes = np.concatenate(columns, dtype=np.uint16).reshape(len(variables), -1)
    cardinalities = np.array([variable.cardinality for variable in variables.values()], np.intp)
    groups: dict[int, list[int]] = {}
    for place, family in enumerate(families):
        groups.setdefault(len(family), []).append(place)
    tables: list[CountTable] = [np.empty(0, np.int64)] * len(families)
    step = max(1, _BLOCK // max(1, data.n_rows))
    for members in groups.values():
        for start in range(0, len(members), step):
            block = members[start : start + step]
            scopes = np.array([[position[variable.name] for variable in families[place]] for place in block])
            counted = _count(codes, scopes, cardinalities[scopes], data.weights)
            for place, table in zip(block, counted, strict=True):
                tables[place] = table
    return tables


def _count(
    codes: NDArray[np.uint16], scopes: NDArray[np.intp], shapes: NDArray[np.intp], weights: NDArray[np.float64] | None
) -> list[CountTable]:
    """Return the tables of families of the same number of variables, shape (families, variables), in one pass."""
    states = codes[scopes[:, 0]]
    for columns, cardinalities in zip(scopes.T[1:], shapes.T[1:].astype(np.uint16), strict=True):
        states *= cardinalities[:, None]
        states += codes[columns]
    ends = np.cumsum(shapes.prod(axis=1))
    starts = np.concatenate([[0], ends[:-1]])
    numbers = (states + starts[:, None]).ravel()
    cells: Any
    if weights is None:
        cells = np.bincount(numbers, minlength=int(ends[-1]))
    else:
        cells = np.bincount(numbers, np.tile(weights, len(scopes)), minlength=int(ends[-1]))
        if np.all(weights == np.trunc(weights)) and weights.sum() < 2.0**53:
            cells = cells.astype(np.int64)
    places = zip(starts.tolist(), ends.tolist(), shapes.tolist(), strict=True)
    return [cells[start:end].reshape(shape) for start, end, shape in places]
