"""Completed data: what a search for structure counts when cells are missing.

Under a network, a row that leaves cells open stands for all its completions, each with its posterior probability as
weight. If these are not too many they are written down, as a `Dataset` with weights, and any search counts it as fast
as complete data. If they are too many, `ExpectedFamilies` finds the expected counts of each family that is asked for by
inference: exact as well, and slower.

Continuous leaves take part in the posterior, and their columns go along as they are: numbers that are missing stay
missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, Dataset
from pgm.data.counts import CountTable, Family
from pgm.data.source import CountsOnly
from pgm.errors import DataError, TooLargeError
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import log_normal_density
from pgm.factors.size import MEMORY_BUDGET, check_size, format_count
from pgm.factors.variable import Variable
from pgm.inference.expected_counts import ExpectedCounts
from pgm.inference.hidden_parts import distinct_rows
from pgm.inference.row_groups import Table
from pgm.learning.em.incomplete import IncompleteData
from pgm.network import BayesianNetwork

__all__ = ["Completion", "ExpectedFamilies", "completed"]

Completion: TypeAlias = Literal["expected", "most probable"]
"""Whether rows stand for all their completions, or for the best."""

MOST_CELLS = 1 << 26
"""Completions are written down if they have at most so many cells (64 MiB)."""


def completed(
    problem: IncompleteData,
    net: BayesianNetwork,
    completion: Completion = "expected",
    *,
    most_cells: int = MOST_CELLS,
    memory_budget: int = MEMORY_BUDGET,
) -> CountSource:
    """Return the data with every row completed as the network expects it.

    Parameters
    ----------
    problem
        The rows.
    net
        A network on all their variables.
    completion
        ``"expected"``: all completions by their probability. ``"most probable"``: the best one of each row.
    most_cells
        How large the completions may be to be written down.
    memory_budget
        Bytes that the tables of inference may take.

    Raises
    ------
    ImpossibleEvidenceError
        If a row has probability zero.
    DataError
        If there is no such completion.
    TooLargeError
        For too many completions of rows with continuous cells, which have to be written down.
    """
    data = problem.data
    numbers = {name: data.numbers(name) for name in problem.leaves}
    if completion == "most probable":
        if data.weights is not None and not data.weights.all():
            data = data.take(data.weights > 0)
            numbers = {name: data.numbers(name) for name in problem.leaves}
        full = net.impute(data, memory_budget=memory_budget, progress=False)
        return Dataset.from_codes(
            problem.variables, [full.codes(node) for node in problem.dag.nodes], data.weights, numbers
        )
    if completion != "expected":
        raise DataError(f"completion must be 'expected' or 'most probable', not {completion!r}")
    rows = _distinct(problem)
    sizes = np.ones(len(rows.weights))
    for variable, column in zip(problem.variables, rows.codes, strict=True):
        sizes *= np.where(column == variable.cardinality, variable.cardinality, 1)
    n_columns = len(rows.codes) + len(rows.numbers)
    if sizes.sum() * n_columns <= most_cells:
        return _enumerated(problem, net, rows, sizes.astype(np.intp))
    if not problem.leaves:
        return CountsOnly(ExpectedFamilies(problem, net, memory_budget=memory_budget))
    raise TooLargeError(
        f"the rows have {format_count(int(sizes.sum()))} completions of {n_columns} columns; with continuous columns "
        f"they are written down, {format_count(most_cells)} cells at most: use completion='most probable'"
    )


class _Rows(NamedTuple):
    """Rows with holes, equal ones once where there are no continuous cells."""

    codes: list[NDArray[Any]]
    """Of each variable; the cardinality where a cell is missing."""
    numbers: list[FloatArray]
    """Of each leaf; NaN where a cell is missing."""
    weights: FloatArray


def _distinct(problem: IncompleteData) -> _Rows:
    """Return the rows that have a weight."""
    columns, data = _columns(problem), problem.data
    first, kind = distinct_rows(columns)
    if problem.leaves:
        first = kind = np.arange(data.n_rows)
    weights = np.bincount(kind, data.weights, len(first)).astype(np.float64)
    seen = first[weights > 0]
    numbers = [data.numbers(name)[seen] for name in problem.leaves]
    return _Rows([column[seen] for column in columns], numbers, weights[weights > 0])


def _columns(problem: IncompleteData) -> list[NDArray[Any]]:
    """Return the codes of every variable; those of a variable without a column are all missing."""
    data, names = problem.data, set(problem.data.names)
    return [
        data.codes(variable.name)
        if variable.name in names
        else np.full(data.n_rows, variable.cardinality, np.min_scalar_type(variable.cardinality))
        for variable in problem.variables
    ]


def _enumerated(problem: IncompleteData, net: BayesianNetwork, rows: _Rows, sizes: NDArray[np.intp]) -> Dataset:
    """Return all completions of some rows, so many of each, with their shares of the row's weight."""
    starts = np.cumsum(sizes) - sizes
    left = np.arange(sizes.sum()) - np.repeat(starts, sizes)
    full = []
    for variable, column in zip(problem.variables, rows.codes, strict=True):
        codes = np.repeat(column, sizes)
        hidden = codes == variable.cardinality
        codes[hidden] = left[hidden] % variable.cardinality
        left[hidden] //= variable.cardinality
        full.append(codes)
    numbers = {name: np.repeat(column, sizes) for name, column in zip(problem.leaves, rows.numbers, strict=True)}
    logs = _log_probabilities(problem, net, full, numbers)
    peak = np.maximum.reduceat(logs, starts)
    if np.isneginf(peak).any():
        ExpectedFamilies(problem, net).count([(problem.variables[0].name, ())])  # raises, and names the row
    shares = np.exp(logs - np.repeat(peak, sizes))
    shares *= np.repeat(rows.weights / np.add.reduceat(shares, starts), sizes)
    kept = shares > 0
    numbers = {name: column[kept] for name, column in numbers.items()}
    return Dataset.from_codes(problem.variables, [column[kept] for column in full], shares[kept], numbers)


def _log_probabilities(
    problem: IncompleteData, net: BayesianNetwork, codes: Sequence[NDArray[Any]], numbers: Mapping[str, FloatArray]
) -> FloatArray:
    """Return ln P(row) of rows whose discrete cells are all known; numbers that are missing are left out."""
    place = {variable.name: number for number, variable in enumerate(problem.variables)}
    logs = np.zeros(len(codes[0]))
    for cpt in net.cpts:
        with np.errstate(divide="ignore"):
            logs += np.log(cpt.values)[tuple(codes[place[name]] for name in cpt.names)]
    for name, column in numbers.items():
        leaf = net.gaussians[name]
        states = tuple(codes[place[parent.name]] for parent in leaf.parents)
        logs += np.where(np.isnan(column), 0.0, log_normal_density(column, leaf.means[states], leaf.variances[states]))
    return logs


class ExpectedFamilies:
    """Expected counts of any families under a network, by inference: the least that learning needs of data.

    Parameters
    ----------
    problem
        The rows.
    net
        The network.
    memory_budget
        Bytes that the tables of inference may take.

    Notes
    -----
    For each family an E step with one more table, of ones, over the family: its expected count is that of the family.
    Each is prepared anew, some microseconds a row.
    """

    def __init__(self, problem: IncompleteData, net: BayesianNetwork, *, memory_budget: int = MEMORY_BUDGET) -> None:
        self.variables: tuple[Variable, ...] = problem.variables
        self.n_rows = problem.data.n_rows
        self.total_weight = problem.data.total_weight
        self._data = problem.data
        self._number = {variable.name: place for place, variable in enumerate(problem.variables)}
        self._scopes = [tuple(self._number[name] for name in net.cpt(v.name).names) for v in problem.variables]
        self._values = [net.cpt(variable.name).values for variable in problem.variables]
        self._table = Table({self._number[name]: self._data.codes(name) for name in self._data.names}, self.n_rows)
        self._memory_budget = memory_budget
        self._found: dict[tuple[int, ...], FloatArray] = {}

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return the expected counts of each family (child, parents), axes parents, then the child."""
        tables: list[CountTable] = []
        for child, parents in families:
            scope = tuple(self._number[name] for name in (*parents, child))
            order = tuple(sorted(scope))
            if order not in self._found:
                self._found[order] = self._expected(order)
            tables.append(self._found[order].transpose([order.index(variable) for variable in scope]))
        return tables

    def _expected(self, scope: tuple[int, ...]) -> FloatArray:
        shape = [self.variables[variable].cardinality for variable in scope]
        check_size(shape, f"the counts of {len(scope)} variables", self._memory_budget)
        step = ExpectedCounts(
            self.variables,
            [*self._scopes, scope],
            self._table,
            self._data.weights,
            memory_budget=self._memory_budget,
        )
        return step.of([*self._values, np.ones(shape)]).tables[-1]
