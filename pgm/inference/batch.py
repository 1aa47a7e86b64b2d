"""Many rows at once: posteriors and likelihoods of whole tables, with any pattern of missing cells.

A plan does not depend on values, so one plan serves all rows in which the same variables are observed. Every table
that depends on what was observed gets a last axis of rows, a few hundred at a time, and the same program that answers
one question answers all of them: each NumPy call then does the work of hundreds.

Rows can differ in *which* cells they know. Two ways are open, and the cheaper is taken: group the rows by what they
know and slice the tables for each group; or, when there are too many groups, run all rows together and let a cell that
is only sometimes known enter as a likelihood vector, one-hot where it is known and all ones where it is not.

References
----------
The chain of ideas is Darwiche's differential approach (2003), with rows as one more axis of every contraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.inference.preparing import Model, Question
from pgm.inference.row_groups import Table, compiled, grouped
from pgm.inference.row_program import Codes, Rows
from pgm.progress import Progress

__all__ = ["Table", "completions", "likelihoods", "posteriors"]

Single: TypeAlias = Callable[[tuple[int, ...], dict[int, int]], dict[int, FloatArray] | None]
SingleLikelihood: TypeAlias = Callable[[dict[int, int]], float]
SingleCompletion: TypeAlias = Callable[[dict[int, int]], dict[int, int] | None]


class _Chunk(NamedTuple):
    """Some rows that run together."""

    rows: NDArray[np.intp]
    """Their numbers in the table."""
    place: Any
    """The same as an index, a slice if they follow one another."""
    columns: dict[int, Codes]
    """Their cells, the last row repeated up to the number that the program takes."""

    @property
    def size(self) -> int:
        """Number of rows, repetitions left out."""
        return len(self.rows)


def _chunks(table: Table, rows: NDArray[np.intp], size: int, bar: Progress) -> Iterator[_Chunk]:
    in_order = int(rows[-1] - rows[0]) == len(rows) - 1  # rows of a group are in increasing order
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        place = slice(int(chunk[0]), int(chunk[-1]) + 1) if in_order else chunk
        source: Any = place if len(chunk) == size else np.pad(chunk, (0, size - len(chunk)), mode="edge")
        yield _Chunk(chunk, place, {variable: column[source] for variable, column in table.columns.items()})
        bar.step(len(chunk))


def _known(model: Model, table: Table, row: int) -> dict[int, int]:
    """Return the known cells of one row."""
    cells = {variable: int(column[row]) for variable, column in table.columns.items()}
    return {variable: code for variable, code in cells.items() if code < model.cardinalities[variable]}


# ---------------------------------------------------------------------- answers


def posteriors(
    model: Model,
    table: Table,
    targets: Sequence[int],
    single: Single,
    *,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool = True,
) -> tuple[dict[int, FloatArray], list[int]]:
    """Return P(target | row) for each target and row, and the numbers of impossible rows.

    Parameters
    ----------
    model
        The numbered tables of a network.
    table
        The rows.
    targets
        Variable numbers.
    single
        Answers for one row: called with what is wanted and the known codes; None if the row is impossible.
    memory_budget
        Bytes that the tables for the rows that run together may take; the answer comes on top.
    progress
        Whether to show a progress bar if it lasts.
    """
    answer = {target: np.empty((table.n_rows, model.cardinalities[target])) for target in targets}
    impossible: list[int] = []
    with Progress("posteriors", total=table.n_rows, show=progress) as bar:
        for group in grouped(model, table, tuple(targets), memory_budget):
            free = tuple(t for t in targets if t not in group.observed and t not in model.constant)
            for target in set(targets).difference(free):
                codes = table.columns[target][group.rows] if target in group.observed else 0
                answer[target][group.rows] = np.arange(model.cardinalities[target]) == np.reshape(codes, (-1, 1))
            kind: Literal["sum", "marginals"] = "sum" if len(free) <= 1 else "marginals"
            question = Question(kind, free, group.observed, group.soft)
            run = compiled(model, question, len(group.rows), memory_budget)
            for chunk in _chunks(table, group.rows, run.n_rows, bar):
                found, doubtful = _block(run, free, chunk.columns)
                for target in free:
                    answer[target][chunk.place] = found[target].T[: chunk.size]
                for row in chunk.rows[doubtful[: chunk.size]].tolist():
                    exact = single(free, _known(model, table, row))
                    if exact is None:
                        impossible.append(row)
                    for target in free if exact is not None else ():
                        answer[target][row] = (exact or {})[target]
    return answer, sorted(impossible)


def _block(
    run: Rows, free: tuple[int, ...], columns: Mapping[int, Codes]
) -> tuple[dict[int, FloatArray], NDArray[np.bool_]]:
    """Return the posteriors of some rows, states by rows, and which rows need a closer look."""
    impossible = np.isneginf(run.log_constant(columns))
    if len(free) > 1:
        output, small = run.marginals(columns)
        return {target: output[slice(*run.program.places[target])] for target in free}, small | impossible
    values, small = run.values(columns)
    if not free:
        return {}, small | impossible
    total = values.sum(axis=0)
    normalised = np.divide(values, total, out=np.zeros(values.shape), where=total > 0)
    return {free[0]: normalised}, small | impossible


def likelihoods(
    model: Model,
    table: Table,
    single: SingleLikelihood,
    *,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool = True,
) -> FloatArray:
    """Return ln P(row) for each row, missing cells summed out; minus infinity for impossible rows."""
    answer = np.empty(table.n_rows)
    with Progress("likelihoods", total=table.n_rows, show=progress) as bar:
        for group in grouped(model, table, (), memory_budget):
            question = Question("sum", (), group.observed, group.soft)
            run = compiled(model, question, len(group.rows), memory_budget)
            for chunk in _chunks(table, group.rows, run.n_rows, bar):
                values, small = run.values(chunk.columns)
                constant = run.log_constant(chunk.columns)
                with np.errstate(divide="ignore"):
                    answer[chunk.place] = (np.log(values) + constant)[: chunk.size]
                for row in chunk.rows[(small & ~np.isneginf(constant))[: chunk.size]].tolist():
                    answer[row] = single(_known(model, table, row))
    return answer


def completions(
    model: Model,
    table: Table,
    single: SingleCompletion,
    *,
    memory_budget: int = MEMORY_BUDGET,
    progress: bool = True,
) -> tuple[dict[int, Codes], list[int]]:
    """Return the most probable joint completion of every row, a column for each variable, and the impossible rows."""
    answer = {
        v: np.zeros(table.n_rows, np.min_scalar_type(r))
        if r == 1 or v not in table.columns
        else table.columns[v].copy()
        for v, r in enumerate(model.cardinalities)
    }
    impossible: list[int] = []
    with Progress("completions", total=table.n_rows, show=progress) as bar:
        for group in grouped(model, table, (), memory_budget, by_pattern=True):
            hidden = [v for v in answer if v not in group.observed and v not in model.constant]
            run = compiled(model, Question("max", (), group.observed), len(group.rows), memory_budget)
            for chunk in _chunks(table, group.rows, run.n_rows, bar):
                codes, doubtful = run.best(chunk.columns)
                doubtful |= np.isneginf(run.log_constant(chunk.columns))
                for variable in hidden:
                    answer[variable][chunk.place] = codes[variable][: chunk.size]
                for row in chunk.rows[doubtful[: chunk.size]].tolist():
                    exact = single(_known(model, table, row))
                    if exact is None:
                        impossible.append(row)
                    for variable in hidden if exact is not None else ():
                        answer[variable][row] = (exact or {})[variable]
    return answer, sorted(impossible)
