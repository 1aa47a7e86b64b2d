"""The E step for rows that leave parents of continuous leaves open: some at a time, numbers as reports.

What the numbers of a group of leaves (:mod:`pgm.learning.em.leaf_rows`) say is one more table over their parents, that
of a *report* which is always observed, with a state for each row; the E step for tables does the rest. The expected
count of the table is how likely each parent configuration is in each row.

A table holds densities divided by the largest of their row, down to e^-600. Where what is cut off matters, since other
cells speak against the nearest mean, the row is divided by the largest density of a configuration that the other cells
leave possible; and where that is not enough, it is asked about by itself, on logarithms
(:mod:`pgm.inference.densities`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Variable
from pgm.inference.densities import observed_leaves, out_of_range
from pgm.inference.evidence import Evidence
from pgm.inference.expected_counts import Expectation, ExpectedCounts
from pgm.inference.row_groups import Table
from pgm.learning.em.leaf_rows import LeafGroup, OpenRows
from pgm.learning.parameters.moments import Moments

__all__ = ["LeafBlock", "LeafRows"]

CUT = 600.0
"""Ratios of densities below e to the minus this are cut off."""

HARMLESS = 1e-30
"""What was cut off does not matter if it is no more likely than this in its row."""


class LeafRows(NamedTuple):
    """Rows with tables and leaves."""

    variables: tuple[Variable, ...]
    scopes: tuple[tuple[int, ...], ...]
    """Of the tables, as variable numbers."""
    table: Table
    weights: FloatArray
    groups: tuple[LeafGroup, ...]
    memory_budget: int

    def cells(self, row: int) -> dict[str, Any]:
        """Return what a row knows of the discrete variables."""
        codes = {number: int(column[row]) for number, column in self.table.columns.items()}
        known = {number: code for number, code in codes.items() if code < self.variables[number].cardinality}
        return {self.variables[number].name: self.variables[number].states[code] for number, code in known.items()}

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the discrete columns by name."""
        return {self.variables[number].name: column for number, column in self.table.columns.items()}

    def too_far(self, row: int, groups: Sequence[LeafGroup], gaussians: Sequence[ConditionalGaussian]) -> EvidenceError:
        """Return the error for a row whose density is beyond the range of floats."""
        numbers = {name: column for group in groups for name, column in zip(group.names, group.numbers, strict=True)}
        leaves = [gaussian for gaussian in gaussians if gaussian.name in numbers]
        return EvidenceError(f"row {row}: {out_of_range(leaves, numbers, self.columns(), row)}")


class LeafExpectation(NamedTuple):
    """What an E step finds in some rows."""

    tables: list[FloatArray]
    moments: dict[int, Moments]
    """Of the leaves, by number."""
    log_likelihood: float

    def plus(self, other: LeafExpectation) -> LeafExpectation:
        """Return what it finds in these and others."""
        moments = dict(self.moments)
        for leaf, found in other.moments.items():
            moments[leaf] = moments[leaf].plus(found) if leaf in moments else found
        tables = [one + two for one, two in zip(self.tables, other.tables, strict=True)]
        return LeafExpectation(tables, moments, self.log_likelihood + other.log_likelihood)


class _Report(Variable):
    """A variable with many states, whose labels are their codes: they need not be written down."""

    __slots__ = ()

    def __init__(self, name: str, cardinality: int) -> None:
        set_once = object.__setattr__
        set_once(self, "name", name)
        set_once(self, "states", range(cardinality))
        set_once(self, "_codes", {})
        set_once(self, "_hash", hash((name, cardinality)))

    def code(self, label: Any) -> int:
        """Return the label, which is the code."""
        return int(label)


class _Answer(NamedTuple):
    """What is found with certain reports."""

    expectation: Expectation
    """Of the tables."""
    shares: list[FloatArray]
    """How likely each configuration is in each row, for each group."""
    doubtful: NDArray[np.bool_]
    """The rows in which what was cut off matters."""


class LeafBlock:
    """The E step for some rows, in each of which the parents of a leaf are open.

    Parameters
    ----------
    source
        All rows.
    rows
        Which of them.
    """

    def __init__(self, source: LeafRows, rows: NDArray[np.intp]) -> None:
        self._source, self._rows = source, rows
        self._weights = source.weights[rows]
        shown = [OpenRows(group, rows) for group in source.groups]
        self._shown = [part for part in shown if len(part.members)]
        taken = {variable.name for variable in source.variables}
        table = source.table.take(rows)
        variables, scopes, columns = list(source.variables), list(source.scopes), dict(table.columns)
        place = {variable.name: number for number, variable in enumerate(source.variables)}
        for part in self._shown:
            size = len(part.members)
            report = np.full(len(rows), size, np.min_scalar_type(size + 2))
            report[part.members] = np.arange(size)
            columns[len(variables)] = report
            scopes.append((*(place[parent.name] for parent in part.parents), len(variables)))
            variables.append(_Report(_free_name(part, taken), size + 2))
        self._inner = ExpectedCounts(
            variables, scopes, Table(columns, len(rows)), self._weights, memory_budget=source.memory_budget
        )

    def expectation(
        self, tables: Sequence[FloatArray], gaussians: Sequence[ConditionalGaussian], *, best: bool
    ) -> LeafExpectation:
        """Return what an E step finds in these rows; ``best``: for the most probable completion of each.

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability zero.
        EvidenceError
            If its density is beyond the range of floats.
        """
        logs = [part.log_densities(gaussians) for part in self._shown]
        possible = [part.possible for part in self._shown]
        for part, log, allowed in zip(self._shown, logs, possible, strict=True):
            beyond = ~np.isfinite(_peaks(log, allowed))
            if beyond.any():
                row = int(self._rows[part.members[beyond.argmax()]])
                raise self._source.too_far(row, [part.group], gaussians)
        answer = self._answer(tables, logs, possible, best=best)
        if answer.doubtful.any():
            answer = self._answer(tables, logs, self._possible(tables, logs), best=best)
        if answer.doubtful.any():
            return self._apart(answer.doubtful, tables, gaussians, best=best)
        moments: dict[int, Moments] = {}
        for part, shares in zip(self._shown, answer.shares, strict=True):
            moments.update(part.moments(shares))
        return LeafExpectation(answer.expectation.tables, moments, answer.expectation.log_likelihood)

    def _answer(
        self,
        tables: Sequence[FloatArray],
        logs: Sequence[FloatArray],
        possible: Sequence[NDArray[np.bool_]],
        *,
        best: bool,
    ) -> _Answer:
        """Return what the E step for tables finds, densities divided by the largest that is possible in each row."""
        step = self._inner.of_best if best else self._inner.of
        peaks = [_peaks(log, allowed) for log, allowed in zip(logs, possible, strict=True)]
        ratios = [np.where(allowed, log - peak, 0.0) for log, peak, allowed in zip(logs, peaks, possible, strict=True)]
        found = step([*tables, *self._reports([np.exp(np.maximum(ratio, -CUT)) for ratio in ratios])])
        log_likelihood = found.log_likelihood
        doubtful = np.zeros(len(self._rows), np.bool_)
        shares = []
        for part, ratio, peak, table in zip(self._shown, ratios, peaks, found.tables[len(tables) :], strict=True):
            share = table.reshape(part.n_open, -1)[:, : len(part.members)]
            weights = self._weights[part.members]
            log_likelihood += float(weights @ peak) + float(self._weights.sum()) * math.log(len(part.members) + 2)
            doubtful[part.members] |= ((ratio < -CUT) & (share > HARMLESS * weights)).any(axis=0)
            shares.append(share)
        return _Answer(Expectation(found.tables[: len(tables)], log_likelihood), shares, doubtful)

    def _reports(self, values: Sequence[FloatArray | float]) -> list[FloatArray]:
        """Return the tables of reports: a state for each row, one that says nothing, and one for the rest.

        They are probabilities, if all numbers are from 0 to 1; the scale of each is the number of its states.
        """
        made = []
        for part, value in zip(self._shown, values, strict=True):
            size = len(part.members)
            table = np.empty((part.n_open, size + 2))
            table[:, :size] = value
            table[:, size] = 1.0
            table[:, :-1] /= size + 2
            table[:, -1] = 1.0 - table[:, :-1].sum(axis=1)
            made.append(table.reshape([*(parent.cardinality for parent in part.parents), size + 2]))
        return made

    def _possible(self, tables: Sequence[FloatArray], logs: Sequence[FloatArray]) -> list[NDArray[np.bool_]]:
        """Return which configurations the other cells of each row leave possible."""
        without = self._inner.of([*tables, *self._reports([1.0] * len(self._shown))]).tables[len(tables) :]
        found = []
        for part, table, log in zip(self._shown, without, logs, strict=True):
            share = table.reshape(part.n_open, -1)[:, : len(part.members)]
            possible = part.possible & (share > 0)
            computable = np.isfinite(_peaks(log, possible))
            found.append(np.where(computable, possible, part.possible))
        return found

    def _apart(
        self,
        doubtful: NDArray[np.bool_],
        tables: Sequence[FloatArray],
        gaussians: Sequence[ConditionalGaussian],
        *,
        best: bool,
    ) -> LeafExpectation:
        """Return what is found if some rows are asked about one by one."""
        found = LeafExpectation([np.zeros(table.shape) for table in tables], {}, 0.0)
        if not doubtful.all():
            found = LeafBlock(self._source, self._rows[~doubtful]).expectation(tables, gaussians, best=best)
        for row in self._rows[doubtful].tolist():
            found = found.plus(_single_row(self._source, row, tables, gaussians, best=best))
        return found


def _peaks(logs: FloatArray, possible: NDArray[np.bool_]) -> FloatArray:
    """Return the largest log density of each row."""
    found: FloatArray = np.where(possible, logs, -np.inf).max(axis=0)
    return found


def _free_name(part: OpenRows, taken: set[str]) -> str:
    """Return a name for a report that no variable has."""
    name = f"the numbers of {', '.join(part.group.names)}"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _single_row(
    source: LeafRows,
    row: int,
    tables: Sequence[FloatArray],
    gaussians: Sequence[ConditionalGaussian],
    *,
    best: bool,
) -> LeafExpectation:
    """Return what is found in one row, on logarithms where it must be."""
    here = np.array([row])
    groups = [group for group in source.groups if group.holes(here).any() and group.shows(here).any()]
    scopes = [[source.variables[number] for number in scope] for scope in source.scopes]
    cpts = [CPT(scope[-1], table, scope[:-1]) for scope, table in zip(scopes, tables, strict=True)]
    numbers = {name: column[here] for group in groups for name, column in zip(group.names, group.numbers, strict=True)}
    known, budget = source.cells(row), source.memory_budget
    leaves = [gaussian for gaussian in gaussians if gaussian.name in numbers]
    try:
        engine = observed_leaves(cpts, leaves, numbers, known, memory_budget=budget)
    except EvidenceError as error:
        raise EvidenceError(f"row {row}: {error}") from None
    weight, cells = float(source.weights[row]), known
    if best:
        codes = engine.coded(known)
        codes = {**(engine.row_completion(codes, budget) or {}), **codes}
        cells = {v.name: v.states[codes.get(place, 0)] for place, v in enumerate(source.variables)}
    log_likelihood = weight * engine.coded_log_probability(Evidence(engine.coded(cells), {}, engine.log_scale), budget)
    posteriors = [[variable.name for variable in scope] for scope in scopes]
    counts = [weight * engine.posterior(names, cells, memory_budget=budget).values for names in posteriors]
    moments = {}
    for group in groups:
        names = [parent.name for parent in group.parents]
        share = weight * engine.posterior(names, cells, memory_budget=budget).values
        for leaf, column in zip(group.leaves, group.numbers, strict=True):
            if not np.isnan(column[row]):
                found = Moments.shared(column[here], share.reshape(-1, 1))
                moments[leaf] = found.arranged(group.shape, tuple(range(len(group.shape))))
    return LeafExpectation(counts, moments, log_likelihood)
