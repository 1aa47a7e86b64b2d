"""Resampling: data sets made of the same distinct rows with other weights.

Bootstrap replicates, and the parts of a cross-validation, hold rows of the data again and again, or leave them out.
They need no copies of rows: the distinct rows stay, and a new weight of each says how often it occurs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data import CountTable, Dataset, count_source
from pgm.errors import DataError, GraphError, listing
from pgm.factors.variable import Variable
from pgm.graph.base import Names, names_of
from pgm.graph.dag import DAG, as_dag
from pgm.graph.pdag import PDAG

__all__ = ["DistinctRows", "Search", "checked_search", "learned_graph", "quiet", "whole_number"]

Search: TypeAlias = Callable[..., object]
"""Takes data and options; returns a `DAG`, a `PDAG`, or what has one as its field ``dag`` or ``cpdag``."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of complete data, and how often each occurs.

    Their order depends neither on the order of the rows nor on that of the columns.

    Examples
    --------
    >>> rows = DistinctRows.of({"y": ["b", "a", "a"], "x": [0, 1, 1]})
    >>> rows.counts, rows.weighted([1, 3]).count([("x", ["y"])])
    (array([1, 2]), [array([[0, 3],
           [1, 0]])])
    """

    names: tuple[str, ...]
    """The columns in the order of the data."""
    counts: CountTable
    """Total weight of each distinct row, shape (distinct rows,)."""
    _variables: dict[str, Variable]
    _codes: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, data: object, columns: Names | None = None) -> DistinctRows:
        """Return the distinct rows of some columns (default: all).

        Raises
        ------
        MissingDataError
            If cells are missing.
        DataError
            If there are no rows, or all have weight 0.
        """
        source = count_source(data, columns)
        wanted = None if columns is None else set(names_of(columns))
        variables = {item.name: item for item in source.variables if wanted is None or item.name in wanted}
        canonical = sorted(variables)
        states, counts = source.count_occupied(canonical)
        if not len(counts):
            raise DataError("there are no rows to draw from")
        return cls(tuple(variables), counts, variables, dict(zip(canonical, states.T, strict=True)))

    @property
    def canonical(self) -> tuple[str, ...]:
        """The columns in alphabetical order."""
        return tuple(self._codes)

    def whole_counts(self) -> NDArray[np.int64]:
        """Return how often each row occurs, as whole numbers.

        Raises
        ------
        DataError
            If rows have fractional weights.
        """
        whole = self.counts.astype(np.int64)
        if not np.array_equal(whole, self.counts):
            raise DataError("the weights of the rows are fractions, which do not say how many rows there are")
        return whole

    def codes(self, name: str) -> NDArray[Any]:
        """Return the codes of a column."""
        return self._codes[name]

    def weighted(self, weights: ArrayLike, names: Sequence[str] | None = None) -> Dataset:
        """Return the rows with these weights, those of weight 0 left out; ``names`` orders the columns."""
        order = self.names if names is None else names
        numbers = np.asarray(weights)
        kept = np.flatnonzero(numbers)
        columns = [self._codes[name][kept] for name in order]
        return Dataset.from_codes([self._variables[name] for name in order], columns, numbers[kept])


def checked_search(search: object) -> Search:
    """Return a search that can be called.

    Raises
    ------
    GraphError
        For anything that is no function, such as the name of one.

    Examples
    --------
    >>> checked_search("hc")
    Traceback (most recent call last):
    ...
    pgm.errors.GraphError: search must be a function, such as pgm.learn_structure, pgm.hill_climb, pgm.tabu_search, \
pgm.pc, pgm.chow_liu or one of your own, not 'hc'
    """
    if not callable(search):
        known = "pgm.learn_structure, pgm.hill_climb, pgm.tabu_search, pgm.pc, pgm.chow_liu or one of your own"
        raise GraphError(f"search must be a function, such as {known}, not {search!r}")
    return search


def learned_graph(found: object, names: Sequence[str]) -> DAG | PDAG:
    """Return the graph in what a search has returned, given the names of the columns.

    Raises
    ------
    GraphError
        If there is none, or if it has nodes that are no columns.

    Examples
    --------
    >>> learned_graph(PDAG([], [("a", "b")]), ["a", "b", "c"]).undirected
    (('a', 'b'),)
    """
    within = found if isinstance(found, PDAG) else getattr(found, "cpdag", None)
    graph = within if isinstance(within, PDAG) else as_dag(found)
    unknown = sorted(set(graph.nodes).difference(names))
    if unknown:
        raise GraphError(f"the search returned a graph with {listing(unknown)}; the columns are {listing(names)}")
    return graph


def quiet(search: Search, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for calling a search many times: without a progress bar of its own, if it has one.

    >>> quiet(lambda data, progress=True: data, {}), quiet(lambda data: data, {})
    ({'progress': False}, {})
    """
    try:
        has_bar = "progress" in inspect.signature(search).parameters
    except (TypeError, ValueError):  # some callables written in C do not tell
        has_bar = False
    return {"progress": False, **options} if has_bar else dict(options)


def whole_number(name: str, number: object, least: int) -> int:
    """Return a whole number from ``least`` on as an int.

    Raises
    ------
    DataError
        For anything else.

    Examples
    --------
    >>> whole_number("folds", 1, least=2)
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: folds must be a whole number from 2, not 1
    """
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise DataError(f"{name} must be a whole number from {least}, not {number!r}")
    return int(number)
