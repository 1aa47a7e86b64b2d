"""Which rows run together: all at once, or those that know the same cells.

A plan depends on which variables are observed, so rows that know the same cells share one. If there are many different
patterns, planning for each costs more than running all rows through one plan in which cells that are known only in some
rows are likelihood vectors. What is estimated to cost less is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TooLargeError
from pgm.inference.options import check_budget
from pgm.inference.preparing import Model, Question
from pgm.inference.row_program import ONE_ROW, Codes, Rows

__all__ = ["Group", "Table", "compiled", "grouped"]

CHUNK_ROWS = 1024
"""Rows that run together: enough to make up for the cost of a call, few enough to keep small tables in the cache."""

CHUNK_BYTES = 64 * 2**20
"""The tables of a chunk take at most about this much; large networks run with fewer rows at a time."""

PLAN_NS, CALL_NS, CELL_NS = 150_000.0, 6_000.0, 1.2
"""Nanoseconds, measured: planning for each variable, one array operation, and one multiplication."""


class Table(NamedTuple):
    """Rows of coded cells, the columns by variable number; a missing cell has the variable's cardinality."""

    columns: Mapping[int, Codes]
    n_rows: int

    def take(self, rows: NDArray[np.intp] | slice) -> Table:
        """Return some of the rows."""
        columns = {variable: column[rows] for variable, column in self.columns.items()}
        return Table(columns, rows.stop - rows.start if isinstance(rows, slice) else len(rows))


class Group(NamedTuple):
    """Rows that run through one program."""

    rows: NDArray[np.intp]
    observed: frozenset[int]
    soft: frozenset[int]


def grouped(
    model: Model, table: Table, targets: tuple[int, ...], memory_budget: int, *, by_pattern: bool = False
) -> list[Group]:
    """Return the rows grouped by what they know, or all together if that costs less and is not ruled out."""
    if not table.n_rows:
        return []
    known = {v: column < model.cardinalities[v] for v, column in table.columns.items() if v not in model.constant}
    always = frozenset(variable for variable, flags in known.items() if flags.all())
    partly = sorted(variable for variable, flags in known.items() if variable not in always and flags.any())
    everything = np.arange(table.n_rows)
    if not partly:
        return [Group(everything, always, frozenset())]
    flags = np.stack([known[variable] for variable in partly], axis=1)
    patterns, which = np.unique(np.packbits(flags, axis=1), axis=0, return_inverse=True)
    together = Question("marginals", targets, always, frozenset(partly))
    if not by_pattern and len(patterns) * len(model.variables) * (PLAN_NS + 3 * CALL_NS) > table.n_rows * _row_ns(
        model, together, memory_budget
    ):
        return [Group(everything, always, frozenset(partly))]
    order = np.argsort(which.ravel(), kind="stable")
    starts = np.searchsorted(which.ravel()[order], np.arange(len(patterns) + 1))
    groups = []
    for start, stop in pairwise(starts):
        rows = order[start:stop]
        seen = {variable for variable, flag in zip(partly, flags[rows[0]], strict=True) if flag}
        groups.append(Group(rows, always | seen, frozenset()))
    return groups


def _row_ns(model: Model, question: Question, memory_budget: int) -> float:
    """Return about how many nanoseconds one row costs when all rows run together; infinity if it does not fit."""
    try:
        plan = compiled(model, question, CHUNK_ROWS, memory_budget).program.plan
    except TooLargeError:
        return math.inf
    return 3 * (plan.operations * CELL_NS + len(plan.steps) * CALL_NS) / plan.cardinalities[-1]


def compiled(model: Model, question: Question, n_rows: int, memory_budget: int) -> Rows:
    """Return the program for some rows, with as many of them at a time as memory allows.

    Raises
    ------
    TooLargeError
        If one row alone would exceed the memory budget.
    """
    check_budget(memory_budget)
    most = min(CHUNK_ROWS, 1 << max(4, math.ceil(math.log2(max(n_rows, 1)))))
    limit = min(CHUNK_BYTES, memory_budget)

    def make() -> Rows:
        size = most
        rows = Rows(model, question, size, memory_budget)
        while rows.program.peak_bytes > limit and size > 1:
            size = max(1, int(size * limit / rows.program.peak_bytes))
            rows = Rows(model, question, size, memory_budget)
        return rows

    found: Rows = model.kept((question, most, limit), make)
    found.program.plan.check_memory(memory_budget, ONE_ROW, found.program.peak_bytes)
    return found
