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

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.inference.contraction import TINY, Program, marginal_program, sum_program
from pgm.inference.kernels import MaxProduct
from pgm.inference.maximum import TIE
from pgm.inference.planning import make_plan
from pgm.inference.preparing import Model, Question
from pgm.progress import Progress

__all__ = ["Rows", "Table", "completions", "likelihoods", "posteriors"]

CHUNK_ROWS = 1024
"""Rows that run together: enough to make up for the cost of a call, few enough to keep small tables in the cache."""

CHUNK_BYTES = 64 * 2**20
"""The tables of a chunk take at most about this much; large networks run with fewer rows at a time."""

PLAN_NS, CALL_NS, CELL_NS = 150_000.0, 6_000.0, 1.2
"""Nanoseconds, measured: planning for each variable, one array operation, and one multiplication."""

Codes: TypeAlias = NDArray[Any]
Single: TypeAlias = Callable[[tuple[int, ...], dict[int, int]], dict[int, FloatArray] | None]
SingleLikelihood: TypeAlias = Callable[[dict[int, int]], float]
SingleCompletion: TypeAlias = Callable[[dict[int, int]], dict[int, int] | None]


class Table(NamedTuple):
    """Rows of coded cells, the columns by variable number; a missing cell has the variable's cardinality."""

    columns: Mapping[int, Codes]
    n_rows: int

    def take(self, rows: NDArray[np.intp] | slice) -> Table:
        """Return some of the rows."""
        columns = {variable: column[rows] for variable, column in self.columns.items()}
        return Table(columns, rows.stop - rows.start if isinstance(rows, slice) else len(rows))


class _Gather(NamedTuple):
    """How one table is cut at the observed cells of every row."""

    slot: int
    table: FloatArray
    """Unobserved axes, then all joint states of the observed variables on one axis."""
    variables: tuple[int, ...]
    radices: tuple[int, ...]

    def places(self, columns: Mapping[int, Codes]) -> NDArray[np.intp]:
        """Return the joint state of the observed variables in each row as one number."""
        place = columns[self.variables[0]].astype(np.intp)
        for variable, radix in zip(self.variables[1:], self.radices[1:], strict=True):
            place *= radix
            place += columns[variable]
        return place

    def rows(self, columns: Mapping[int, Codes]) -> FloatArray:
        """Return the table with the rows on its last axis."""
        return self.table.take(self.places(columns), axis=-1)


class Rows:
    """The program for all rows in which some variables are observed, and some sometimes.

    Parameters
    ----------
    model
        The numbered tables of a network.
    question
        Targets, what is observed in every row, and, as ``soft``, what is observed in some.
    n_rows
        How many rows run together.
    """

    def __init__(self, model: Model, question: Question, n_rows: int) -> None:
        self.n_rows = n_rows
        axis = len(model.cardinalities)
        known = {*question.observed, *model.constant}
        self._cardinalities = (*model.cardinalities, n_rows)
        scopes: list[tuple[int, ...]] = []
        heads: list[int | None] = []
        self._static: list[FloatArray | None] = []
        self._gathers: list[_Gather] = []
        self._constants: list[_Gather] = []
        for table in model._needed(question, known):
            scope, values = model.scopes[table], model.values[table]
            seen = [place for place, variable in enumerate(scope) if variable in known]
            rest = [place for place, variable in enumerate(scope) if variable not in known]
            varying = [place for place in seen if scope[place] in question.observed]
            if seen:
                shape = [model.cardinalities[scope[place]] for place in rest]
                cut = np.ascontiguousarray(values.transpose([*rest, *seen]).reshape(*shape, -1))
                variables = tuple(scope[place] for place in varying)
                gather = _Gather(len(scopes), cut, variables, tuple(model.cardinalities[v] for v in variables))
                if not rest:
                    if variables:
                        self._constants.append(gather)
                    continue
                if variables:
                    self._gathers.append(gather)
                self._static.append(None if variables else cut[..., 0])
            else:
                self._static.append(values)
            inner = tuple(scope[place] for place in rest)
            scopes.append((*inner, axis) if varying else inner)
            heads.append(None if table in known or question.kind == "max" else table)
        self.soft = tuple(sorted(question.soft - known))
        scopes += [(variable, axis) for variable in self.soft]
        heads += [None] * len(self.soft)
        kept = question.targets if question.kind == "sum" else ()
        plan = make_plan(scopes, self._cardinalities, kept, heads, rows=axis)
        if question.kind == "max":
            self.program: Program = sum_program(plan, MaxProduct, keep_nodes=True)
        elif question.kind == "sum":
            self.program = sum_program(plan)
        else:
            self.program = marginal_program(plan, question.targets)

    # ------------------------------------------------------------------ running

    def tables(self, columns: Mapping[int, Codes]) -> list[FloatArray]:
        """Return the tables of the plan for rows of coded cells."""
        tables: list[Any] = list(self._static)
        for gather in self._gathers:
            tables[gather.slot] = gather.rows(columns)
        for variable in self.soft:
            states = self._cardinalities[variable]
            codes = columns[variable]
            tables.append(((codes == np.arange(states)[:, None]) | (codes == states)).astype(np.float64))
        return tables

    def log_constant(self, columns: Mapping[int, Codes]) -> FloatArray:
        """Return the log of the product of all tables that are one number in each row."""
        total = np.zeros(self.n_rows)
        with np.errstate(divide="ignore"):
            for gather in self._constants:
                total += np.log(gather.table).take(gather.places(columns))
        return total

    def values(self, columns: Mapping[int, Codes]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return P(target, evidence) with rows last, and which rows are too improbable to be trusted."""
        slots = self.program._plain_forward(self.tables(columns))
        kept = len(self.program.plan.kept)
        table: Any = np.ones(self.n_rows)
        for root in self.program._roots:
            part = np.asarray(slots[root])
            table = table * (part if part.ndim > kept else part[..., None])
        total = table.reshape(-1, self.n_rows).max(axis=0)
        return table, total < TINY

    def marginals(self, columns: Mapping[int, Codes]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the posteriors, levels by rows, and which rows are too improbable to be trusted."""
        program = self.program
        slots = program._plain_forward(self.tables(columns))
        value = np.ones(self.n_rows)
        for root in program._roots:
            value = value * slots[root]
        small = value < TINY
        for seed, source in program._seeds:
            whole = np.asarray(1.0 if source is None else slots[source])
            slots[seed] = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
        for kernel, out, fetch, dead in program._backward:
            slots[out] = kernel(*fetch(slots))
            for slot in dead:
                slots[slot] = None
        output = np.empty((program._reads[-1].stop if program._reads else 0, self.n_rows))
        for slot, matrix, start, stop in program._reads:
            table = slots[slot]
            if matrix is not None:
                table = matrix.T @ table.reshape(len(matrix), -1)
            output[start:stop] = table if table.ndim == 2 else table[:, None]
        return output, small

    def best(self, columns: Mapping[int, Codes]) -> tuple[dict[int, NDArray[np.intp]], NDArray[np.bool_]]:
        """Return the most probable joint state of what is not observed, and which rows need a closer look.

        Those are rows of very small or no probability, and rows with several most probable states.
        """
        program, plan = self.program, self.program.plan
        slots = program._plain_forward(self.tables(columns))
        value: Any = np.ones(self.n_rows)
        for root in program._roots:
            value = value * slots[root]
        doubtful = value < TINY
        codes: dict[int, NDArray[np.intp]] = {}
        everyone = np.arange(self.n_rows)
        for step in reversed(plan.steps):
            if not step.summed:
                continue
            product: Any = 1.0
            for operand in step.operands:
                product = product * self._cut(slots[program._slot_of[operand]], plan.axes[operand], step.summed, codes)
            product = np.broadcast_to(product, (self.n_rows, *product.shape[1:]))
            flat = product.reshape(self.n_rows, -1)
            place = flat.argmax(axis=1)
            top = flat[everyone, place]
            doubtful |= (flat >= (top * (1 - TIE))[:, None]).sum(axis=1) > 1
            shape = tuple(plan.cardinalities[axis] for axis in step.summed)
            for variable, found in zip(step.summed, np.unravel_index(place, shape), strict=True):
                codes[variable] = found
        return codes, doubtful

    def _cut(
        self, table: FloatArray, axes: tuple[int, ...], summed: tuple[int, ...], codes: Mapping[int, NDArray[np.intp]]
    ) -> FloatArray:
        """Return a table at each row's decided states: rows, or one for all, by the variables of ``summed``."""
        decided = [axis for axis in axes if axis in codes]
        batched = axes[-1] == self.program.plan.rows
        free = [axis for axis in summed if axis in axes]
        order = [axes.index(axis) for axis in (*decided, *axes[-1:] * batched, *free)]
        places = [codes[axis] for axis in decided] + [np.arange(self.n_rows)] * batched
        found = table.transpose(order)[tuple(places)]
        rows = self.n_rows if places else 1
        return found.reshape(rows, *(self._cardinalities[axis] if axis in free else 1 for axis in summed))


# ---------------------------------------------------------------------- grouping rows


class _Group(NamedTuple):
    """Rows that run through one program."""

    rows: NDArray[np.intp]
    observed: frozenset[int]
    soft: frozenset[int]


def _groups(model: Model, table: Table, targets: tuple[int, ...], *, by_pattern: bool = False) -> list[_Group]:
    """Return the rows grouped by what they know, or all together if that costs less and is not ruled out."""
    if not table.n_rows:
        return []
    known = {v: column < model.cardinalities[v] for v, column in table.columns.items() if v not in model.constant}
    always = frozenset(variable for variable, flags in known.items() if flags.all())
    partly = sorted(variable for variable, flags in known.items() if variable not in always and flags.any())
    everything = np.arange(table.n_rows)
    if not partly:
        return [_Group(everything, always, frozenset())]
    flags = np.stack([known[variable] for variable in partly], axis=1)
    patterns, which = np.unique(np.packbits(flags, axis=1), axis=0, return_inverse=True)
    together = Question("marginals", targets, always, frozenset(partly))
    if not by_pattern and len(patterns) * len(model.variables) * (PLAN_NS + 3 * CALL_NS) > table.n_rows * _row_ns(
        model, together
    ):
        return [_Group(everything, always, frozenset(partly))]
    order = np.argsort(which.ravel(), kind="stable")
    starts = np.searchsorted(which.ravel()[order], np.arange(len(patterns) + 1))
    groups = []
    for start, stop in pairwise(starts):
        rows = order[start:stop]
        seen = {variable for variable, flag in zip(partly, flags[rows[0]], strict=True) if flag}
        groups.append(_Group(rows, always | seen, frozenset()))
    return groups


def _row_ns(model: Model, question: Question) -> float:
    """Return about how many nanoseconds one row costs when all rows run together."""
    plan = _compiled(model, question, CHUNK_ROWS).program.plan
    return 3 * (plan.operations * CELL_NS + len(plan.steps) * CALL_NS) / plan.cardinalities[-1]


def _compiled(model: Model, question: Question, n_rows: int) -> Rows:
    """Return the program for some rows, with as many of them at a time as memory allows."""
    most = min(CHUNK_ROWS, 1 << max(4, math.ceil(math.log2(max(n_rows, 1)))))

    def make() -> Rows:
        size = most
        rows = Rows(model, question, size)
        while rows.program.peak_bytes > CHUNK_BYTES and size > 1:
            size = max(1, size * CHUNK_BYTES // rows.program.peak_bytes)
            rows = Rows(model, question, size)
        return rows

    found: Rows = model.kept((question, most), make)
    return found


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
    model: Model, table: Table, targets: Sequence[int], single: Single, *, progress: bool = True
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
    progress
        Whether to show a progress bar if it lasts.
    """
    answer = {target: np.empty((table.n_rows, model.cardinalities[target])) for target in targets}
    impossible: list[int] = []
    with Progress("posteriors", total=table.n_rows, show=progress) as bar:
        for group in _groups(model, table, tuple(targets)):
            free = tuple(t for t in targets if t not in group.observed and t not in model.constant)
            for target in set(targets).difference(free):
                codes = table.columns[target][group.rows] if target in group.observed else 0
                answer[target][group.rows] = np.arange(model.cardinalities[target]) == np.reshape(codes, (-1, 1))
            kind: Literal["sum", "marginals"] = "sum" if len(free) <= 1 else "marginals"
            run = _compiled(model, Question(kind, free, group.observed, group.soft), len(group.rows))
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


def likelihoods(model: Model, table: Table, single: SingleLikelihood, *, progress: bool = True) -> FloatArray:
    """Return ln P(row) for each row, missing cells summed out; minus infinity for impossible rows."""
    answer = np.empty(table.n_rows)
    with Progress("likelihoods", total=table.n_rows, show=progress) as bar:
        for group in _groups(model, table, ()):
            run = _compiled(model, Question("sum", (), group.observed, group.soft), len(group.rows))
            for chunk in _chunks(table, group.rows, run.n_rows, bar):
                values, small = run.values(chunk.columns)
                constant = run.log_constant(chunk.columns)
                with np.errstate(divide="ignore"):
                    answer[chunk.place] = (np.log(values) + constant)[: chunk.size]
                for row in chunk.rows[(small & ~np.isneginf(constant))[: chunk.size]].tolist():
                    answer[row] = single(_known(model, table, row))
    return answer


def completions(
    model: Model, table: Table, single: SingleCompletion, *, progress: bool = True
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
        for group in _groups(model, table, (), by_pattern=True):
            hidden = [v for v in answer if v not in group.observed and v not in model.constant]
            run = _compiled(model, Question("max", (), group.observed), len(group.rows))
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
