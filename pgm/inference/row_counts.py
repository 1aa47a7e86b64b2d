"""Expected counts by contraction: one forward and one backward pass over a few hundred rows at a time.

For rows whose hidden parts have too many joint states to write them all down. Every table that depends on what a row
knows gets a last axis of rows; a cell that only some rows know enters as a likelihood vector. Backward, the derivative
of ln P(row) by a table is formed, weighted, and added up over the rows in the same operation: times the table it is the
expected count of the table's family (Darwiche 2003; Koller and Friedman 2009, section 19.2.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.inference.contraction import TINY
from pgm.inference.hidden_parts import Layout
from pgm.inference.kernels import Axes, Kernel, SumProduct
from pgm.inference.planning import Plan, make_plan

__all__ = ["OPERATION_NS", "RowCounts"]

_CHUNK_ROWS = 1024
_CHUNK_BYTES = 64 * 2**20
"""Rows that run together, and about how much memory their tables may take."""

OPERATION_NS = 3.6
"""Nanoseconds for each multiplication of the forward pass, the backward pass included (measured)."""

_LARGEST = 1e140
"""Results beyond this, or below its inverse, are left to a method that does not overflow."""


class _Operation(NamedTuple):
    """``slots[out] = kernel(*slots[operands])``; what is ``done`` is not needed afterwards."""

    kernel: Kernel
    out: int
    operands: tuple[int, ...]


class _Cut(NamedTuple):
    """A table of which each row knows some variables."""

    table: int
    order: tuple[int, ...]
    """Its axes, the unknown first."""
    shape: tuple[int, ...]
    """Of the unknown axes."""
    places: NDArray[Any]
    """The joint state of the known ones in each row."""


class RowCounts:
    """Expected counts of rows that hide some variables throughout, and some variables in part.

    Parameters
    ----------
    layout
        The tables.
    columns
        Codes by variable, of different rows; a missing cell has the cardinality.
    weights
        One for each row.
    hidden, soft
        Variables that no row knows, and that some know; the others all do.
    memory_budget
        Bytes that the tables may take at once.

    Raises
    ------
    TooLargeError
        If one row alone would exceed the memory budget.
    """

    def __init__(
        self,
        layout: Layout,
        columns: Mapping[int, NDArray[Any]],
        weights: FloatArray,
        hidden: frozenset[int],
        soft: frozenset[int],
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self.open = open_ = hidden | soft
        """The variables that not every row knows."""
        self._layout = layout
        self._columns = columns
        self._weights = weights
        self.touched = tuple(t for t, scope in enumerate(layout.scopes) if not open_.isdisjoint(scope))
        """The tables that hold an unknown variable: those whose expected counts are found here."""
        self._soft = tuple(sorted(soft))
        self._cuts = {
            table: self._cut(table, open_) for table in self.touched if not open_.issuperset(layout.scopes[table])
        }
        rows = len(layout.cardinalities)
        scopes = [self._scope(table, open_, rows) for table in self.touched]
        scopes += [(variable, rows) for variable in self._soft]
        one = make_plan(scopes, (*layout.cardinalities, 1), rows=rows)
        needed = 16 * sum(one.cells(axes) for axes in one.axes)
        one.check_memory(memory_budget, "one row of the data", needed)
        limit = max(1, min(_CHUNK_BYTES, memory_budget) // needed)
        self._chunk = int(min(_CHUNK_ROWS, limit, 1 << max(4, (max(len(weights), 1) - 1).bit_length())))
        self.row_ns = one.operations * OPERATION_NS
        """About how many nanoseconds a row costs."""
        self._compile(one._replace(cardinalities=(*layout.cardinalities, self._chunk)))

    def _scope(self, table: int, open_: frozenset[int], rows: int) -> tuple[int, ...]:
        inner = tuple(variable for variable in self._layout.scopes[table] if variable in open_)
        return (*inner, rows) if table in self._cuts else inner

    def _cut(self, table: int, open_: frozenset[int]) -> _Cut:
        scope, cardinalities = self._layout.scopes[table], self._layout.cardinalities
        unknown = [axis for axis, variable in enumerate(scope) if variable in open_]
        known = [axis for axis, variable in enumerate(scope) if variable not in open_]
        states = int(np.prod([cardinalities[scope[axis]] for axis in known]))
        places = np.zeros(len(self._weights), np.min_scalar_type(states))
        for axis in known:
            places *= places.dtype.type(cardinalities[scope[axis]])
            places += self._columns[scope[axis]].astype(places.dtype)
        return _Cut(table, (*unknown, *known), tuple(cardinalities[scope[axis]] for axis in unknown), places)

    # ------------------------------------------------------------------ compiling

    def _compile(self, plan: Plan) -> None:
        self._plan = plan
        self._n_slots = len(plan.scopes)
        self._axes: dict[int, Axes] = dict(enumerate(plan.scopes))
        self._forward = []
        for node, step in enumerate(plan.steps, plan.n_tables):
            self._forward.append(self._operation(step.operands, plan.scopes[node], node))
        self._derivative: dict[int, int] = {root: self._new_slot(plan.scopes[root]) for root in plan.roots}
        self._backward = []
        for node in range(len(plan.scopes) - 1, plan.n_tables - 1, -1):
            operands = plan.steps[node - plan.n_tables].operands
            for operand in operands:
                if operand < len(self.touched) or operand >= plan.n_tables:
                    others = [self._derivative[node], *(other for other in operands if other != operand)]
                    self._derivative[operand] = self._new_slot(self._within(others, operand))
                    made = self._derivative[operand]
                    self._backward.append(self._operation(others, self._axes[made], made))

    def _new_slot(self, axes: Axes) -> int:
        self._axes[self._n_slots] = axes
        self._n_slots += 1
        return self._n_slots - 1

    def _operation(self, operands: Sequence[int], out: Axes, made: int) -> _Operation:
        scopes = tuple(self._axes[slot] for slot in operands)
        return _Operation(SumProduct.kernel(scopes, out, self._plan.cells, self._plan.rows), made, tuple(operands))

    def _within(self, slots: Sequence[int], node: int) -> Axes:
        """Return the axes of the derivative by a node: rows are added up if the node does not depend on them."""
        present = {axis for slot in slots for axis in self._axes[slot]}
        return tuple(axis for axis in self._plan.scopes[node] if axis in present)

    # ------------------------------------------------------------------ running

    def expect(self, values: Sequence[FloatArray]) -> tuple[dict[int, FloatArray], FloatArray]:
        """Return the expected counts of the touched tables, and ln P of each row as far as it depends on these.

        Rows whose value is too small or too large for the passes have NaN, and are not counted.
        """
        layout = self._layout
        cut = {
            table: values[table].transpose(part.order).reshape(*part.shape, -1) for table, part in self._cuts.items()
        }
        counts = {table: np.zeros(cut[table].shape if table in cut else values[table].shape) for table in self.touched}
        lookups = {
            v: np.hstack([np.eye(r), np.ones((r, 1))]) for v, r in enumerate(layout.cardinalities) if v in self._soft
        }
        logs = np.empty(len(self._weights))
        for start in range(0, len(logs), self._chunk):
            chunk = np.arange(start, start + self._chunk)
            real = len(logs) - start
            weights = np.where(chunk < len(logs), self._weights.take(chunk, mode="clip"), 0.0)
            places = {table: part.places.take(chunk, mode="clip") for table, part in self._cuts.items()}
            slots: list[Any] = [None] * self._n_slots
            for slot, table in enumerate(self.touched):
                slots[slot] = cut[table].take(places[table], axis=-1) if table in cut else values[table]
            for slot, variable in enumerate(self._soft, len(self.touched)):
                slots[slot] = lookups[variable].take(self._columns[variable].take(chunk, mode="clip"), axis=1)
            found = self._passes(slots, weights)
            logs[start : start + self._chunk] = found[:real]
            if np.isnan(found).all():
                continue
            for slot, table in enumerate(self.touched):
                derivative = slots[self._derivative[slot]]
                if table in cut:
                    _add_by_place(counts[table], self._spread(derivative, slot), places[table], min(real, self._chunk))
                else:
                    counts[table] += self._spread(derivative, slot)
        return {table: self._finished(table, counts[table], values[table]) for table in self.touched}, logs

    def _passes(self, slots: list[Any], weights: FloatArray) -> FloatArray:
        """Fill the slots; return ln P of each row, NaN where it is too small; if numbers overflow, NaN for all rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            for kernel, out, operands in self._forward:
                slots[out] = kernel(*[slots[operand] for operand in operands])
        parts = [np.broadcast_to(slots[root], self._chunk) for root in self._plan.roots]
        value = np.prod(parts, axis=0)
        logs = np.full(self._chunk, np.nan)
        if not np.isfinite(value).all():
            return logs
        fine = (value > TINY) & (value < _LARGEST)
        for root in self._plan.roots:
            share = np.divide(weights, slots[root], out=np.zeros(self._chunk), where=fine)
            slots[self._derivative[root]] = share if self._axes[root] else share.sum()
        for kernel, out, operands in self._backward:
            slots[out] = kernel(*[slots[operand] for operand in operands])
        np.log(value, out=logs, where=fine)
        return logs

    def _spread(self, derivative: FloatArray, slot: int) -> FloatArray:
        """Return a derivative with length 1 along the axes on which it does not depend."""
        axes = self._axes[self._derivative[slot]]
        return np.asarray(derivative)[tuple(slice(None) if axis in axes else None for axis in self._plan.scopes[slot])]

    def _finished(self, table: int, derivative: FloatArray, values: FloatArray) -> FloatArray:
        """Return the counts of a table from its derivative, the axes as the table has them."""
        part = self._cuts.get(table)
        if part is None:
            return derivative * values
        order = part.order
        shape = [values.shape[axis] for axis in order]
        return derivative.reshape(shape).transpose(np.argsort(order)) * values


def _add_by_place(counts: FloatArray, derivative: FloatArray, places: NDArray[Any], n_rows: int) -> None:
    """Add the derivative of each row, on the last axis, to the counts at the row's place; only the first are rows."""
    cells = counts.reshape(-1, counts.shape[-1])
    wide = np.broadcast_to(derivative, (*counts.shape[:-1], len(places))).reshape(len(cells), -1)
    if n_rows < len(cells):
        for number, place in enumerate(places[:n_rows].tolist()):
            cells[:, place] += wide[:, number]
        return
    for number, row in enumerate(wide):
        cells[number] += np.bincount(places, row, cells.shape[1])
