"""A program for many rows: the tables of a network, cut at the observed cells of a few hundred rows at a time.

Every table that depends on what was observed gets a last axis of rows, and the same program that answers one question
answers all of them: each NumPy call then does the work of hundreds. A cell that is known only in some rows enters as a
likelihood vector, one-hot where it is known and all ones where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.inference.compiling import marginal_program, sum_program
from pgm.inference.contraction import TINY, Program
from pgm.inference.kernels import MaxProduct
from pgm.inference.planning import make_plan
from pgm.inference.preparing import Model, Question
from pgm.inference.ties import TIE

__all__ = ["ONE_ROW", "Codes", "Rows"]

ONE_ROW = "one row of the table"

Codes: TypeAlias = NDArray[Any]


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
    memory_budget
        Bytes that a table may take for a single row.

    Raises
    ------
    TooLargeError
        If a table would exceed that; how many rows fit at once is another question.
    """

    def __init__(self, model: Model, question: Question, n_rows: int, memory_budget: int = MEMORY_BUDGET) -> None:
        self.n_rows = n_rows
        axis = len(model.cardinalities)
        known = {*question.observed, *model.constant}
        self._cardinalities = (*model.cardinalities, n_rows)
        scopes: list[tuple[int, ...]] = []
        heads: list[int | None] = []
        self._static: list[FloatArray | None] = []
        self._gathers: list[_Gather] = []
        self._constants: list[_Gather] = []
        for table in model.relevant_tables(question):
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
        largest = max((plan.cells(v for v in axes if v != axis) for axes in plan.axes), default=1)
        plan.check_memory(memory_budget, ONE_ROW, largest * 8)
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
        table = self.program.row_values(self.tables(columns), self.n_rows)
        total = table.reshape(-1, self.n_rows).max(axis=0)
        return table, total < TINY

    def marginals(self, columns: Mapping[int, Codes]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the posteriors, levels by rows, and which rows are too improbable to be trusted."""
        output, values = self.program.row_marginals(self.tables(columns), self.n_rows)
        return output, values < TINY

    def best(self, columns: Mapping[int, Codes]) -> tuple[dict[int, NDArray[np.intp]], NDArray[np.bool_]]:
        """Return the most probable joint state of what is not observed, and which rows need a closer look.

        Those are rows of very small or no probability, and rows with several most probable states.
        """
        plan = self.program.plan
        nodes, values = self.program.row_nodes(self.tables(columns), self.n_rows)
        doubtful = values < TINY
        codes: dict[int, NDArray[np.intp]] = {}
        everyone = np.arange(self.n_rows)
        for step in reversed(plan.steps):
            if not step.summed:
                continue
            product: Any = 1.0
            for operand in step.operands:
                product = product * self._cut(nodes[operand], plan.axes[operand], step.summed, codes)
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
