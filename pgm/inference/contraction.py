"""Contraction: run a compiled plan over arrays, forward for sums and backward for derivatives.

The forward pass multiplies and sums as the plan says. It is a multilinear function of the tables, so it can be
differentiated step by step in reverse (Darwiche 2003, "A differential approach to inference in Bayesian networks"). A
node times its derivative, over the result, is the joint posterior of the node's variables, so one forward and one
backward pass give every marginal and every family at once.

A :class:`Program` is a plan turned into a list of array operations, each with its kernel chosen beforehand (see
:mod:`pgm.inference.compiling`); running it is a loop without decisions. Programs are immutable and share nothing
between runs, so many threads may run one at once.

Underflow. The passes run unscaled first. If the result is so small that digits may have been lost they run again with
every table divided by its maximum; and if even then a product might leave the range of floating-point numbers, once
more on logarithms. What is zero then is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.kernels import Axes, Kernel
from pgm.inference.planning import Plan
from pgm.inference.underflow import UnderflowError, as_logarithms, exponential, rescale, safely

__all__ = ["Operation", "Program", "Read", "Result", "Seed"]

TINY = 1e-140
"""Results below this are computed again with scaling."""

ONE = np.asarray(1.0)


class Result(NamedTuple):
    """The value of a contraction as ``table * exp(log_scale)``."""

    table: Any
    log_scale: float


class Operation(NamedTuple):
    """One array operation: ``slots[out] = kernel(*fetch(slots))``."""

    kernel: Kernel
    out: int
    fetch: Callable[[list[Any]], tuple[Any, ...]]
    dead: tuple[int, ...]
    """Slots that no later operation reads, cleared to save memory where that is worth the time."""


class Seed(NamedTuple):
    """Where the backward pass starts: at the derivative by a root of the plan."""

    slot: int
    root: int | None
    """The root's own slot, or None if the root is a unit."""


class Read(NamedTuple):
    """Marginals that are ready: in a slot, either as they are or to be summed by an indicator matrix."""

    slot: int
    matrix: FloatArray | None
    start: int
    stop: int


class Program:
    """A compiled contraction, made by the functions of :mod:`pgm.inference.compiling`.

    A run works on a list of slots: first the given tables, then what the operations make of them.

    Parameters
    ----------
    plan
        The plan it was compiled from.
    total
        What remains of a table when everything is summed out.
    twin
        Compiles the same program on logarithms.
    n_slots
        Number of slots.
    slot_of
        The slot of every node of the plan.
    roots
        Slots whose product is the value of the contraction.
    forward, backward
        The operations of both passes.
    seeds
        Where the backward pass starts.
    reads, places
        The marginals, in the order of the output; and where in it each variable stands, as (start, stop).
    derivatives
        Slot and axes of the derivative by each table, where these are wanted.
    peak_bytes
        Upper bound of the memory that its tables take at once.
    """

    __slots__ = (
        "_backward",
        "_derivatives",
        "_forward",
        "_make_twin",
        "_n_slots",
        "_reads",
        "_roots",
        "_seeds",
        "_slot_of",
        "_total",
        "_twin",
        "peak_bytes",
        "places",
        "plan",
    )

    def __init__(
        self,
        plan: Plan,
        total: Callable[[FloatArray], float],
        twin: Callable[[], Program],
        *,
        n_slots: int,
        slot_of: list[int],
        roots: list[int],
        forward: list[Operation],
        seeds: list[Seed],
        backward: list[Operation],
        reads: list[Read],
        places: dict[int, tuple[int, int]],
        derivatives: list[tuple[int, Axes]],
        peak_bytes: int,
    ) -> None:
        self.plan = plan
        self.places = places
        self.peak_bytes = peak_bytes
        self._total = total
        self._make_twin = twin
        self._twin: Program | None = None
        self._n_slots = n_slots
        self._slot_of = slot_of
        self._roots = roots
        self._forward = forward
        self._seeds = seeds
        self._backward = backward
        self._reads = reads
        self._derivatives = derivatives

    # ------------------------------------------------------------------ the forward pass

    def value(self, tables: Sequence[FloatArray]) -> Result:
        """Return the contraction of the tables: the forward pass.

        The result's axes are the kept variables, in the order in which the plan was asked to keep them.
        """
        slots = self._plain_forward(tables)
        table: Any = ONE
        for root in self._roots:
            table = table * slots[root]
        if table.max() >= TINY:
            return Result(table, 0.0)
        try:
            return self._scaled_value(tables)
        except UnderflowError:
            return Result(*exponential(self.log_value(as_logarithms(tables))))

    def nodes(self, tables: Sequence[FloatArray]) -> tuple[list[Any], bool]:
        """Return the table of every node of the plan after a forward pass, and whether they are logarithms.

        If they are not, each is divided by a number of its own.
        """
        slots = self._plain_forward(tables)
        if any(np.max(slots[root]) < TINY for root in self._roots):
            try:
                slots, _ = self._scaled_forward(tables)
            except UnderflowError:
                return self.log_nodes(as_logarithms(tables)), True
        return [slots[slot] for slot in self._slot_of], False

    def _plain_forward(self, tables: Sequence[FloatArray]) -> list[Any]:
        slots: list[Any] = [*tables, *[None] * (self._n_slots - len(tables))]
        _run(self._forward, slots)
        return slots

    # ------------------------------------------------------------------ the backward pass

    def marginals(self, tables: Sequence[FloatArray]) -> Result:
        """Return the posterior marginals side by side (see ``places``), and the log of the contraction's value.

        If the value is zero there are no marginals: the table is empty and the logarithm is minus infinity.
        """
        slots = self._plain_forward(tables)
        value = 1.0
        for root in self._roots:
            value *= float(slots[root])
        if value < TINY:
            try:
                return self._scaled_marginals(tables)
            except UnderflowError:
                return self.exponentials(self.log_marginals(as_logarithms(tables)))
        self._seed(slots)
        _run(self._backward, slots)
        return Result(self._output(slots), math.log(value))

    def derivatives(self, tables: Sequence[FloatArray]) -> tuple[list[FloatArray], float]:
        """Return the derivative of ln f by every entry of every table, f being the contraction, and ln f.

        Each has the axes of its table; times the table it is the joint posterior of the table's variables. If f is zero
        there are none: the list is empty and the logarithm minus infinity. For programs of
        :func:`~pgm.inference.compiling.derivative_program`.
        """
        slots = self._plain_forward(tables)
        value = math.prod(float(slots[root]) for root in self._roots)
        if value >= TINY:
            self._seed(slots)
            _run(self._backward, slots)
            log_value = math.log(value)
            found = [(slots[slot], axes) for slot, axes in self._derivatives]
        else:
            twin = self._on_logarithms
            slots, log_value = twin._log_passes(as_logarithms(tables))
            if log_value == -math.inf:
                return [], -math.inf
            found = [(np.exp(slots[slot]), axes) for slot, axes in twin._derivatives]
        spread = [
            np.broadcast_to(_widened(derivative, axes, scope), np.shape(table))
            for (derivative, axes), scope, table in zip(found, self.plan.axes[: len(found)], tables, strict=True)
        ]
        return spread, log_value

    def _seed(self, slots: list[Any]) -> None:
        """Set the derivatives by the roots so that every belief comes out normalised."""
        for slot, root in self._seeds:
            slots[slot] = ONE if root is None else np.asarray(1.0 / slots[root])

    def _output(self, slots: list[Any]) -> FloatArray:
        output = np.empty(self._reads[-1].stop if self._reads else 0)
        for slot, matrix, start, stop in self._reads:
            if matrix is None:
                output[start:stop] = slots[slot]
            else:
                output[start:stop] = slots[slot].ravel() @ matrix
        return output

    # ------------------------------------------------------------------ many rows at once
    #
    # Tables that depend on the row have the rows on their last axis. Nothing is scaled: rows whose value is very small
    # are to be asked about one by one.

    def row_values(self, tables: Sequence[FloatArray], n_rows: int) -> FloatArray:
        """Return the contraction for every row: the kept variables, then the rows."""
        return self._by_row(self._plain_forward(tables), n_rows)

    def row_nodes(self, tables: Sequence[FloatArray], n_rows: int) -> tuple[list[Any], FloatArray]:
        """Return the table of every node of the plan after a forward pass, and the contraction for every row."""
        slots = self._plain_forward(tables)
        return [slots[slot] for slot in self._slot_of], self._by_row(slots, n_rows)

    def row_marginals(self, tables: Sequence[FloatArray], n_rows: int) -> tuple[FloatArray, FloatArray]:
        """Return the marginals, side by side as :meth:`marginals` gives them, by rows, and the contraction by row."""
        slots = self._plain_forward(tables)
        values = self._by_row(slots, n_rows)
        for seed, root in self._seeds:
            whole = np.asarray(1.0 if root is None else slots[root])
            slots[seed] = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole >= TINY)
        _run(self._backward, slots)
        output = np.empty((self._reads[-1].stop if self._reads else 0, n_rows))
        for slot, matrix, start, stop in self._reads:
            table = slots[slot]
            if matrix is not None:
                table = matrix.T @ table.reshape(len(matrix), -1)
            output[start:stop] = table if table.ndim == 2 else table[:, None]
        return output, values

    def _by_row(self, slots: Sequence[Any], n_rows: int) -> FloatArray:
        """Return the product of the roots; one that does not depend on the row is the same for all."""
        kept = len(self.plan.kept)
        product = np.ones(n_rows)
        for root in self._roots:
            part = np.asarray(slots[root])
            product = product * (part if part.ndim > kept else part[..., None])
        return product

    # ------------------------------------------------------------------ small numbers: scaling

    def _scaled_forward(self, tables: Sequence[FloatArray]) -> tuple[list[Any], float]:
        """Return the slots, each divided by its maximum, and the log of the scale taken out.

        Raises
        ------
        UnderflowError
            If a product could leave the range of floating-point numbers all the same.
        """
        slots: list[Any] = [None] * self._n_slots
        log_scale = 0.0
        for slot, table in enumerate(tables):
            slots[slot], log_scale = rescale(table, log_scale)
        return slots, _run_scaled(self._forward, slots, log_scale)

    def _scaled_value(self, tables: Sequence[FloatArray]) -> Result:
        slots, log_scale = self._scaled_forward(tables)
        table: Any = np.ones(())
        for root in self._roots:
            table, log_scale = rescale(safely(np.multiply, (table, slots[root])), log_scale)
        return Result(table, log_scale)

    def _scaled_marginals(self, tables: Sequence[FloatArray]) -> Result:
        slots, log_scale = self._scaled_forward(tables)
        if not all(slots[root] > 0 for root in self._roots):
            return Result(np.empty(0), -math.inf)
        log_scale += sum(math.log(slots[root]) for root in self._roots)
        self._seed(slots)
        _run_scaled(self._backward, slots)
        output = self._output(slots)
        for start, stop in self.places.values():
            output[start:stop] /= self._total(output[start:stop])
        return Result(output, log_scale)

    # ------------------------------------------------------------------ very small numbers: logarithms

    def log_value(self, logs: Sequence[FloatArray]) -> FloatArray:
        """Return the logarithm of :meth:`value` for tables given as logarithms; nothing underflows."""
        twin = self._on_logarithms
        slots = twin._plain_forward(logs)
        return np.asarray(sum(slots[root] for root in twin._roots))

    def log_nodes(self, logs: Sequence[FloatArray]) -> list[Any]:
        """Return the logarithms of :meth:`nodes` for tables given as logarithms."""
        twin = self._on_logarithms
        slots = twin._plain_forward(logs)
        return [slots[slot] for slot in twin._slot_of]

    def log_marginals(self, logs: Sequence[FloatArray]) -> Result:
        """Return the logarithms of :meth:`marginals` for tables given as logarithms, and of the value."""
        twin = self._on_logarithms
        slots, log_value = twin._log_passes(logs)
        if log_value == -math.inf:
            return Result(np.empty(0), -math.inf)
        found = twin._output(slots)
        output = np.empty_like(found)
        for variable, place in twin.places.items():
            output[slice(*self.places[variable])] = found[slice(*place)]
        return Result(output, log_value)

    def exponentials(self, marginals: Result) -> Result:
        """Return the marginals whose logarithms are given."""
        if not marginals.table.size:
            return marginals
        output = np.empty_like(marginals.table)
        for start, stop in self.places.values():
            part, _ = exponential(marginals.table[start:stop])
            output[start:stop] = part / self._total(part)
        return Result(output, marginals.log_scale)

    @property
    def _on_logarithms(self) -> Program:
        """The same program on logarithms, compiled when first needed."""
        if self._twin is None:
            self._twin = self._make_twin()
        return self._twin

    def _log_passes(self, logs: Sequence[FloatArray]) -> tuple[list[Any], float]:
        """Return the slots after both passes and the log of the value; if that is minus infinity, after the first."""
        slots = self._plain_forward(logs)
        log_value = sum(float(slots[root]) for root in self._roots)
        if log_value != -math.inf:
            for slot, root in self._seeds:
                slots[slot] = np.zeros(()) if root is None else np.asarray(-slots[root])
            _run(self._backward, slots)
        return slots, log_value


# ---------------------------------------------------------------------- running


def _run(operations: Iterable[Operation], slots: list[Any]) -> None:
    for kernel, out, fetch, dead in operations:
        slots[out] = kernel(*fetch(slots))
        for slot in dead:
            slots[slot] = None


def _run_scaled(operations: Iterable[Operation], slots: list[Any], log_scale: float = 0.0) -> float:
    """Run operations with every result divided by its maximum; return the log of the scale taken out so far."""
    for kernel, out, fetch, dead in operations:
        slots[out], log_scale = rescale(safely(kernel, fetch(slots)), log_scale)
        for slot in dead:
            slots[slot] = None
    return log_scale


def _widened(table: FloatArray, axes: Axes, scope: Axes) -> FloatArray:
    """Return a table over some axes of a scope with its axes in the scope's order, and length 1 for the others."""
    order = [axes.index(axis) for axis in scope if axis in axes]
    return np.asarray(table).transpose(order)[tuple(slice(None) if axis in axes else None for axis in scope)]
