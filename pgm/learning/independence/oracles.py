"""Independence oracles: whoever answers "are x and y independent given these?", be it data, a graph, or a function.

Constraint-based learning asks nothing else. Given data the answers are p-values of tests, right most of the time; given
a graph they are d-separations, always right, which shows what an algorithm would find with endless data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, count_source
from pgm.data.checks import family_cells, identifiers_among
from pgm.errors import DataError
from pgm.factors.size import MEMORY_BUDGET
from pgm.graph.base import Names, names_of
from pgm.graph.dag import DAG, as_dag
from pgm.learning.independence.contingency import TABLE_COPIES, StratifiedTables, chi_square_tail
from pgm.learning.independence.tests import METHODS, get_method
from pgm.network import BayesianNetwork

__all__ = ["CHI_SQUARE_METHODS", "DataOracle", "FunctionOracle", "GraphOracle", "IndependenceOracle", "as_oracle"]

CHI_SQUARE_METHODS = {
    name: method for name, method in METHODS.items() if not (method.permutes or method.shrinks or name == "mi")
}
"""The tests that are a chi-square approximation of plain counts, so that one pass serves many."""

_SMALL = 1 << 20
"""A table up to this many cells needs no look at the memory budget."""

Judgement: TypeAlias = Callable[[str, str, tuple[str, ...]], object]
"""A function of x, y and the others given that is true if x and y are independent."""


class IndependenceOracle(Protocol):
    """Whoever answers questions of independence."""

    names: tuple[str, ...]
    """The variables, in declared order."""
    n_tests: int
    """How many questions were answered so far."""

    def p_values(self, x: str, given: tuple[str, ...], others: Sequence[str]) -> NDArray[np.float64]:
        """Return for each y of ``others`` the p-value of "x and y are independent given ``given``"."""


class DataOracle:
    """Answers from data, by tests on contingency tables.

    Parameters
    ----------
    source
        Where counts come from.
    method
        The test: ``"g2"``, ``"g2-adjusted"``, ``"chi2"`` or ``"chi2-adjusted"``; see `independence_test`.

    Raises
    ------
    UnknownNameError
        If there is no such method, or it is not one of these.
    DataError
        For columns that tell most rows apart: no test can say anything about them, and the tables are huge.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> oracle = DataOracle(Dataset({"x": [0, 0, 1, 1] * 5, "y": [0, 0, 1, 1] * 5, "z": [0, 1, 0, 1] * 5}), "g2")
    >>> oracle.p_values("x", (), ["y", "z"]).round(3)
    array([0., 1.])
    """

    def __init__(self, source: CountSource, method: str) -> None:
        self.names = tuple(variable.name for variable in source.variables)
        self.n_tests = 0
        self.method = get_method(method, CHI_SQUARE_METHODS)
        hint = identifiers_among(source.variables, max(source.n_rows, int(source.total_weight)))
        if hint:
            raise DataError(f"tests of independence need states that occur repeatedly{hint}")
        self.source = source
        self._variables = {variable.name: variable for variable in source.variables}
        self._always_fits = _SMALL // sum(variable.cardinality for variable in source.variables)
        ends = np.cumsum([variable.cardinality for variable in source.variables])
        self._levels = {
            variable.name: np.arange(end - variable.cardinality, end)
            for variable, end in zip(source.variables, ends.tolist(), strict=True)
        }

    def p_values(self, x: str, given: tuple[str, ...], others: Sequence[str]) -> NDArray[np.float64]:
        """Return for each y of ``others`` the p-value of "x and y are independent given ``given``"."""
        return self.associations(x, given, others)[0]

    def associations(
        self, x: str, given: tuple[str, ...], others: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the p-value and the statistic of the test of x with each y of ``others``.

        Raises
        ------
        TooLargeError
            If the tables would exceed the memory budget.

        Notes
        -----
        One pass over the distinct rows for all y together.
        """
        self.n_tests += len(others)
        if math.prod(len(self._levels[name]) for name in (*given, x)) > self._always_fits:
            family = [self._variables[name] for name in (*given, x)]
            budget = MEMORY_BUDGET // TABLE_COPIES
            family_cells(family, self.source.n_rows, extended_by=self.source.variables, budget=budget)
        levels = [self._levels[name] for name in others]
        counts = self.source.count_extensions(x, given)[..., np.concatenate(levels)]
        starts = np.cumsum([0, *map(len, levels[:-1])]).tolist()
        tables = StratifiedTables(counts.reshape(-1, *counts.shape[-2:]), starts)
        statistics = tables.g_square() if self.method.uses_g_square else tables.chi_square()
        return chi_square_tail(statistics, tables.degrees_of_freedom(self.method.adjusted)), statistics


class GraphOracle:
    """Answers by d-separation in a graph: p-value 1 if separated, 0 if not.

    Examples
    --------
    >>> oracle = GraphOracle(DAG([("cause", "x"), ("cause", "y")]))
    >>> oracle.p_values("x", (), ["y"]), oracle.p_values("x", ("cause",), ["y"])
    (array([0.]), array([1.]))
    """

    def __init__(self, graph: DAG | BayesianNetwork) -> None:
        self._dag = as_dag(graph)
        self.names = self._dag.nodes
        self.n_tests = 0

    def p_values(self, x: str, given: tuple[str, ...], others: Sequence[str]) -> NDArray[np.float64]:
        """Return for each y of ``others`` whether ``given`` d-separates it from x, as 1 or 0."""
        self.n_tests += len(others)
        connected = set(self._dag.d_connected(x, given))
        return np.array([0.0 if name in connected else 1.0 for name in others])


class FunctionOracle:
    """Answers by a function of x, y and the tuple of the others given.

    Examples
    --------
    >>> oracle = FunctionOracle(lambda x, y, given: "cause" in given, ["cause", "x", "y"])
    >>> oracle.p_values("x", ("cause",), ["y"])
    array([1.])
    """

    def __init__(self, is_independent: Judgement, names: Names) -> None:
        self._is_independent = is_independent
        self.names = names_of(names)
        self.n_tests = 0

    def p_values(self, x: str, given: tuple[str, ...], others: Sequence[str]) -> NDArray[np.float64]:
        """Return for each y of ``others`` what the function says, as 1 or 0."""
        self.n_tests += len(others)
        return np.array([1.0 if self._is_independent(x, name, given) else 0.0 for name in others])


def as_oracle(data: object, method: str, names: Names | None = None) -> IndependenceOracle:
    """Return what answers: a graph or a network by d-separation, a function by itself, all else as data.

    Parameters
    ----------
    data
        A `DAG`, a `BayesianNetwork`, a function, or data.
    method
        The test, for data.
    names
        The variables, which a function needs and nothing else may have.

    Raises
    ------
    DataError
        If a function comes without names, or something else with them.

    Examples
    --------
    >>> as_oracle(DAG([("a", "b")]), "g2").names
    ('a', 'b')
    """
    if callable(data):
        if names is None:
            raise DataError("an oracle that is a function needs the names of the variables")
        return FunctionOracle(data, names)
    if names is not None:
        raise DataError("names are given for an oracle that is a function; data and graphs have their own")
    if isinstance(data, (DAG, BayesianNetwork)):
        return GraphOracle(data)
    return DataOracle(count_source(data), method)
