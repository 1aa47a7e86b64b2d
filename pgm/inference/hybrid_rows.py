"""Many rows with continuous cells: `pgm.inference.batch`, some thousands of rows at a time.

In these rows the numbers of the leaves become the states of reports (:mod:`pgm.inference.densities`), one for each row,
and the batched engine does the rest. Rows too improbable for it are asked about one by one, as ever. A row whose
density is beyond the range of floats, even on logarithms, has no answer; where impossible rows are listed, so is it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pgm.errors import EvidenceError
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.inference import batch
from pgm.inference.batch import Table
from pgm.inference.densities import ObservedLeaves, measured, observed_leaves
from pgm.inference.evidence import Evidence
from pgm.inference.row_program import Codes
from pgm.progress import Progress

__all__ = ["HybridTable", "completions", "likelihoods", "posteriors"]

ROWS = 4096
"""Rows at a time: enough to make up for a plan."""

REPORT_CELLS = 1 << 21
"""The tables of their reports have at most about so many cells each; leaves of many parents run with fewer rows."""


class HybridTable(NamedTuple):
    """Rows of a network with Gaussian leaves."""

    cpts: Sequence[CPT]
    leaves: Sequence[ConditionalGaussian]
    discrete: Table
    numbers: Mapping[str, FloatArray]
    """Columns of the leaves."""

    def engine(self, row: int, memory_budget: int) -> ObservedLeaves:
        """Return the engine of one row.

        Raises
        ------
        EvidenceError
            If its density is beyond the range of floats; names the row.
        """
        cells = {number: int(column[row]) for number, column in self.discrete.columns.items()}
        children = {number: self.cpts[number].child for number in cells}
        known = {
            child.name: child.states[cells[number]]
            for number, child in children.items()
            if cells[number] < child.cardinality
        }
        numbers = {name: column[row : row + 1] for name, column in self.numbers.items()}
        try:
            return observed_leaves(self.cpts, self.leaves, numbers, known, memory_budget=memory_budget)
        except EvidenceError as error:
            raise EvidenceError(f"row {row}: {error}") from None


class _Part(NamedTuple):
    """Some consecutive rows, and the engine that knows their numbers."""

    rows: slice
    source: HybridTable
    engine: ObservedLeaves
    table: Table
    log_scale: FloatArray
    beyond: frozenset[int]
    """The rows whose density is beyond the range of floats."""

    def single(self, codes: Mapping[int, int], memory_budget: int) -> tuple[ObservedLeaves, dict[int, int]]:
        """Return the engine of one row, given its codes, and these with its own reports.

        Raises
        ------
        EvidenceError
            If its density is beyond the range of floats; names the row.
        """
        if not self.engine.reports:
            return self.engine, {**codes}
        engine = self.source.engine(self.rows.start + codes[self.engine.reports[0]], memory_budget)
        known = {number: code for number, code in codes.items() if number < len(self.source.cpts)}
        return engine, {**known, **dict.fromkeys(engine.reports, 0)}

    def unanswered(self, impossible: Sequence[int]) -> list[int]:
        """Return the rows of the source that have no answer, given those of the part that are impossible."""
        return sorted(self.rows.start + row for row in self.beyond.union(impossible))


def _parts(table: HybridTable, what: str, progress: bool) -> Iterator[_Part]:
    n_rows = table.discrete.n_rows
    names = {number: cpt.child.name for number, cpt in enumerate(table.cpts)}
    with Progress(what, total=n_rows, show=progress) as bar:
        states = max((math.prod(leaf.means.shape) for leaf in table.leaves), default=1)
        step = max(1, min(ROWS, REPORT_CELLS // states))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            size = rows.stop - start
            discrete = table.discrete.take(rows)
            numbers = {name: column[rows] for name, column in table.numbers.items()}
            columns = {names[number]: column for number, column in discrete.columns.items()}
            found, beyond = measured(table.leaves, numbers, columns, size)
            engine = ObservedLeaves.of_rows(table.cpts, found)
            everything = {**discrete.columns, **dict.fromkeys(engine.reports, np.arange(size))}
            scale = np.sum([density.log_scale for density in found], axis=0) if found else np.zeros(size)
            yield _Part(rows, table, engine, Table(everything, size), scale, frozenset(np.flatnonzero(beyond).tolist()))
            bar.step(size)


def posteriors(
    table: HybridTable, targets: Sequence[int], *, memory_budget: int, progress: bool
) -> tuple[dict[int, FloatArray], list[int]]:
    """Return P(target | row) for each target and row, and the numbers of the rows that have no answer."""
    answer = {t: np.empty((table.discrete.n_rows, table.cpts[t].child.cardinality)) for t in targets}
    impossible: list[int] = []
    for part in _parts(table, "posteriors", progress):
        single = _posteriors_of_one(part, memory_budget)
        found, zero = batch.posteriors(
            part.engine, part.table, targets, single, memory_budget=memory_budget, progress=False
        )
        for target in targets:
            answer[target][part.rows] = found[target]
        impossible += part.unanswered(zero)
    return answer, impossible


def _posteriors_of_one(part: _Part, memory_budget: int) -> batch.Single:
    def single(targets: tuple[int, ...], codes: dict[int, int]) -> dict[int, FloatArray] | None:
        try:
            engine, known = part.single(codes, memory_budget)
        except EvidenceError:  # whoever reports the row finds the reason again
            return None
        return engine.row_posteriors(targets, known, memory_budget)

    return single


def likelihoods(table: HybridTable, *, memory_budget: int, progress: bool) -> FloatArray:
    """Return the log density of each row, missing cells integrated out; minus infinity for impossible rows.

    Raises
    ------
    EvidenceError
        For a row whose density is beyond the range of floats.
    """
    answer = np.empty(table.discrete.n_rows)
    for part in _parts(table, "likelihoods", progress):
        for row in sorted(part.beyond):
            table.engine(part.rows.start + row, memory_budget)  # raises
        single = _likelihood_of_one(part, memory_budget)
        found = batch.likelihoods(part.engine, part.table, single, memory_budget=memory_budget, progress=False)
        answer[part.rows] = found + part.log_scale
    return answer


def _likelihood_of_one(part: _Part, memory_budget: int) -> batch.SingleLikelihood:
    def single(codes: dict[int, int]) -> float:
        engine, known = part.single(codes, memory_budget)
        reports = part.engine.reports
        apart = engine.log_scale - float(part.log_scale[codes[reports[0]]]) if reports else 0.0
        return engine.coded_log_probability(Evidence(known, {}, 0.0), memory_budget) + apart

    return single


def completions(table: HybridTable, *, memory_budget: int, progress: bool) -> tuple[dict[int, Codes], list[int]]:
    """Return the most probable joint completion of the discrete cells of every row, and the rows that have none."""
    columns: list[dict[int, Codes]] = []
    impossible: list[int] = []
    for part in _parts(table, "completions", progress):
        single = _completion_of_one(part, memory_budget)
        found, zero = batch.completions(part.engine, part.table, single, memory_budget=memory_budget, progress=False)
        columns.append(found)
        impossible += part.unanswered(zero)
    numbers = range(len(table.cpts))
    if not columns:
        return {number: np.zeros(0, np.uint8) for number in numbers}, []
    return {number: np.concatenate([found[number] for found in columns]) for number in numbers}, impossible


def _completion_of_one(part: _Part, memory_budget: int) -> batch.SingleCompletion:
    def single(codes: dict[int, int]) -> dict[int, int] | None:
        try:
            engine, known = part.single(codes, memory_budget)
        except EvidenceError:
            return None
        return engine.row_completion(known, memory_budget)

    return single
