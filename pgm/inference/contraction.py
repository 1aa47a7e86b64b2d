"""Contraction: run a plan over arrays, forward for sums and backward for derivatives.

The forward pass multiplies and sums as the plan says. It is a multilinear function of the tables, so it can be
differentiated step by step in reverse (Darwiche 2003, "A differential approach to inference in Bayesian networks"):
if a step made C = sum A * B, then the derivative of the result by A is the derivative by C, times B, summed over what
A does not contain. A node times its derivative, over the result, is the joint posterior of the node's variables, so
one forward and one backward pass give every marginal and every family at once.

A :class:`Program` is a plan turned into a list of array operations, each with its kernel chosen beforehand; running it
is a loop without decisions. Programs are immutable and share nothing between runs, so many threads may run one at once.

Underflow. The passes run unscaled first. If the result is so small that digits may have been lost they run again with
every table divided by its maximum; and if even then a product might leave the range of floating-point numbers, once
more on logarithms. What is zero then is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.inference.kernels import Axes, Kernel, Semiring, SumProduct, is_einsum
from pgm.inference.planning import FUSED_CELLS, Plan

__all__ = ["Program", "Result", "derivative_program", "marginal_program", "sum_program"]

TINY = 1e-140
"""Results below this are computed again with scaling."""

SMALLEST = 1e-290
"""Products of scaled tables whose smallest positive entries multiply to less than this are left to logarithms."""

LARGE_CELLS = 4096
"""Tables of more cells than this are released as soon as nothing needs them any more."""


class Result(NamedTuple):
    """The value of a contraction as ``table * exp(log_scale)``."""

    table: Any
    log_scale: float


@lru_cache(maxsize=4096)
def indicator(shape: tuple[int, ...], axes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the 0/1 matrix that sums a flattened table to the marginals of some axes, side by side.

    >>> indicator((2, 2), (0,)).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    positions = np.indices(shape).reshape(len(shape), -1)
    blocks = [positions[axis][:, None] == np.arange(shape[axis]) for axis in axes]
    matrix = np.concatenate(blocks, axis=1).astype(np.float64)
    matrix.flags.writeable = False
    return matrix


def _fetcher(slots: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    if len(slots) == 1:
        (only,) = slots
        return lambda values: (values[only],)
    return itemgetter(*slots)


# ---------------------------------------------------------------------- programs


class Operation(NamedTuple):
    """One array operation: ``slots[out] = kernel(*fetch(slots))``."""

    kernel: Kernel
    out: int
    fetch: Callable[[list[Any]], tuple[Any, ...]]
    dead: tuple[int, ...]
    """Slots that no later operation reads, cleared to save memory where that is worth the time."""


class Read(NamedTuple):
    """Marginals that are ready: in a slot, either as they are or to be summed by an indicator matrix."""

    slot: int
    matrix: FloatArray | None
    start: int
    stop: int


class Program:
    """A compiled contraction, made by :func:`sum_program` or :func:`marginal_program`.

    Attributes
    ----------
    plan
        The plan it was compiled from.
    peak_bytes
        Upper bound of the memory that its tables take at once.
    places
        For a program of marginals: where in the output each variable stands, as (start, stop).
    """

    __slots__ = (
        "_backward",
        "_forward",
        "_n_slots",
        "_reads",
        "_recompile",
        "_roots",
        "_seeds",
        "_slot_of",
        "_table_axes",
        "_tables",
        "_total",
        "_twin",
        "peak_bytes",
        "places",
        "plan",
    )

    def __init__(
        self,
        compiler: _Compiler,
        roots: list[int],
        recompile: Callable[[], Program],
        backward: _Backward | None = None,
        *,
        keep_nodes: bool = False,
    ) -> None:
        self.plan = compiler.plan
        self._total = compiler.semiring.total
        self._recompile = recompile
        self._twin: Program | None = None
        self._slot_of = compiler.slot_of
        self.places = backward.places if backward else {}
        self._roots = roots
        self._seeds = backward.seeds if backward else []
        self._reads = backward.reads if backward else []
        self._tables = backward.tables if backward else []
        self._table_axes = [compiler.axes[slot] for slot in self._tables]
        keep = {*roots, *(read.slot for read in self._reads), *self._tables}
        if keep_nodes:
            keep.update(compiler.slot_of)
        operations, peak = compiler.finish(keep)
        split = backward.first if backward else len(operations)
        self._forward, self._backward = operations[:split], operations[split:]
        self._n_slots = compiler.n_slots
        self.peak_bytes = peak * 8

    def value(self, tables: Sequence[FloatArray]) -> Result:
        """Return the contraction of the tables: the forward pass.

        The result's axes are the kept variables, in the order in which the plan was asked to keep them.
        """
        slots = self._plain_forward(tables)
        table: Any = 1.0
        for root in self._roots:
            table = table * slots[root]
        if np.max(table) >= TINY:
            return Result(table, 0.0)
        try:
            slots, log_scale = self._scaled_forward(tables)
            table = np.ones(())
            for root in self._roots:
                table, log_scale = _rescale(_product_of(table, slots[root]), log_scale)
            return Result(table, log_scale)
        except _UnderflowError:
            twin = self._on_logarithms
            slots = twin._log_forward(tables)
            return _exponential(np.asarray(sum(slots[root] for root in twin._roots)))

    def nodes(self, tables: Sequence[FloatArray]) -> tuple[list[Any], bool]:
        """Return the table of every node of the plan after a forward pass, and whether they are logarithms.

        If they are not, each is divided by a number of its own.
        """
        slots = self._plain_forward(tables)
        if any(np.max(slots[root]) < TINY for root in self._roots):
            try:
                slots, _ = self._scaled_forward(tables)
            except _UnderflowError:
                twin = self._on_logarithms
                slots = twin._log_forward(tables)
                return [slots[slot] for slot in twin._slot_of], True
        return [slots[slot] for slot in self._slot_of], False

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
            except _UnderflowError:
                return self._rearranged(self._on_logarithms._log_marginals(tables))
        self._seed(slots)
        _run(self._backward, slots)
        return Result(self._output(slots), math.log(value))

    def derivatives(self, tables: Sequence[FloatArray]) -> tuple[list[FloatArray], float]:
        """Return the derivative of ln f by every entry of every table, f being the contraction, and ln f.

        Each has the axes of its table; times the table it is the joint posterior of the table's variables. If f is zero
        there are none: the list is empty and the logarithm minus infinity. For programs of
        :func:`derivative_program`.
        """
        slots = self._plain_forward(tables)
        value = math.prod(float(slots[root]) for root in self._roots)
        program: Program = self
        if value < TINY:
            program = self._on_logarithms
            slots = program._log_forward(tables)
            logs = [float(slots[root]) for root in program._roots]
            if -math.inf in logs:
                return [], -math.inf
            for slot, root in program._seeds:
                slots[slot] = np.zeros(()) if root is None else np.asarray(-slots[root])
            _run(program._backward, slots)
            found, log_value = [np.exp(slots[slot]) for slot in program._tables], sum(logs)
        else:
            self._seed(slots)
            _run(self._backward, slots)
            found, log_value = [slots[slot] for slot in self._tables], math.log(value)
        spread = [
            np.broadcast_to(_widened(derivative, axes, self.plan.axes[table]), np.shape(tables[table]))
            for table, (derivative, axes) in enumerate(zip(found, program._table_axes, strict=True))
        ]
        return spread, log_value

    def _plain_forward(self, tables: Sequence[FloatArray]) -> list[Any]:
        slots: list[Any] = [*tables, *[None] * (self._n_slots - len(tables))]
        _run(self._forward, slots)
        return slots

    # ------------------------------------------------------------------ very small numbers

    def _scaled_forward(self, tables: Sequence[FloatArray]) -> tuple[list[Any], float]:
        """Return the slots, each divided by its maximum, and the log of the scale taken out.

        Raises
        ------
        _UnderflowError
            If a product could leave the range of floating-point numbers all the same.
        """
        slots: list[Any] = [None] * self._n_slots
        log_scale = 0.0
        for slot, table in enumerate(tables):
            slots[slot], log_scale = _rescale(table, log_scale)
        for kernel, out, fetch, dead in self._forward:
            slots[out], log_scale = _rescale(_safely(kernel, fetch(slots)), log_scale)
            for slot in dead:
                slots[slot] = None
        return slots, log_scale

    def _scaled_marginals(self, tables: Sequence[FloatArray]) -> Result:
        slots, log_scale = self._scaled_forward(tables)
        if not all(slots[root] > 0 for root in self._roots):
            return Result(np.empty(0), -math.inf)
        log_scale += sum(math.log(slots[root]) for root in self._roots)
        self._seed(slots)
        for kernel, out, fetch, dead in self._backward:
            slots[out], _ = _rescale(_safely(kernel, fetch(slots)), 0.0)
            for slot in dead:
                slots[slot] = None
        output = self._output(slots)
        for start, stop in self.places.values():
            output[start:stop] /= self._total(output[start:stop])
        return Result(output, log_scale)

    @property
    def _on_logarithms(self) -> Program:
        """The same program on logarithms, compiled when first needed."""
        if self._twin is None:
            self._twin = self._recompile()
        return self._twin

    def _log_forward(self, tables: Sequence[FloatArray]) -> list[Any]:
        with np.errstate(divide="ignore"):
            return self._plain_forward([np.log(table) for table in tables])

    def _log_marginals(self, tables: Sequence[FloatArray]) -> Result:
        slots = self._log_forward(tables)
        values = [float(slots[root]) for root in self._roots]
        if -math.inf in values:
            return Result(np.empty(0), -math.inf)
        for slot, root in self._seeds:
            slots[slot] = np.zeros(()) if root is None else np.asarray(-slots[root])
        _run(self._backward, slots)
        output = self._output(slots)
        for start, stop in self.places.values():
            part = _exponential(output[start:stop]).table
            output[start:stop] = part / self._total(part)
        return Result(output, sum(values))

    def _rearranged(self, result: Result) -> Result:
        """Return the twin's marginals in the places of this program."""
        if not result.table.size:
            return result
        output = np.empty_like(result.table)
        for variable, place in self._on_logarithms.places.items():
            output[slice(*self.places[variable])] = result.table[slice(*place)]
        return Result(output, result.log_scale)

    def _seed(self, slots: list[Any]) -> None:
        """Set the derivatives by the roots so that every belief comes out normalised."""
        for slot, root in self._seeds:
            slots[slot] = _ONE if root is None else np.asarray(1.0 / slots[root])

    def _output(self, slots: list[Any]) -> FloatArray:
        output = np.empty(self._reads[-1].stop if self._reads else 0)
        for slot, matrix, start, stop in self._reads:
            if matrix is None:
                output[start:stop] = slots[slot]
            else:
                output[start:stop] = slots[slot].ravel() @ matrix
        return output


_ONE = np.asarray(1.0)


def _widened(table: FloatArray, axes: Axes, scope: Axes) -> FloatArray:
    """Return a table over some axes of a scope with its axes in the scope's order, and length 1 for the others."""
    order = [axes.index(axis) for axis in scope if axis in axes]
    return np.asarray(table).transpose(order)[tuple(slice(None) if axis in axes else None for axis in scope)]


def _run(operations: list[Operation], slots: list[Any]) -> None:
    for kernel, out, fetch, dead in operations:
        slots[out] = kernel(*fetch(slots))
        for slot in dead:
            slots[slot] = None


class _UnderflowError(ArithmeticError):
    """A product may have left the range of floating-point numbers."""


def _safely(kernel: Kernel, tables: tuple[Any, ...]) -> Any:
    """Return the kernel's result, if the product of the smallest positive entries cannot underflow."""
    if len(tables) > 1 and math.prod(map(_least, tables)) < SMALLEST:
        raise _UnderflowError
    return kernel(*tables)


def _least(table: Any) -> float:
    return float(np.min(table, initial=1.0, where=np.asarray(table) > 0))


def _product_of(left: Any, right: Any) -> Any:
    return _safely(np.multiply, (left, right))


def _rescale(table: Any, log_scale: float) -> tuple[Any, float]:
    """Return the table divided by its maximum, and the log of the scale taken out so far."""
    peak = float(np.max(table))
    if peak > 0:
        return table / peak, log_scale + math.log(peak)
    return table, log_scale


def _exponential(logs: FloatArray) -> Result:
    """Return a table given as logarithms, its maximum taken out."""
    peak = float(logs.max())
    return Result(np.zeros(logs.shape), 0.0) if peak == -math.inf else Result(np.exp(logs - peak), peak)


def sum_program(plan: Plan, semiring: Semiring = SumProduct, *, keep_nodes: bool = False) -> Program:
    """Return the program that sums over all variables that the plan does not keep.

    Parameters
    ----------
    plan
        The steps.
    semiring
        What "sum" means.
    keep_nodes
        Keep the table of every node instead of releasing it as soon as possible, for :meth:`Program.nodes`.
    """
    compiler = _Compiler(plan, semiring)
    compiler.forward()
    roots = compiler.real(plan.roots)
    if plan.kept and not keep_nodes:
        roots = [compiler.final(roots)]
    twin = partial(sum_program, plan, semiring.of_logarithms or semiring, keep_nodes=keep_nodes)
    return Program(compiler, roots, twin, keep_nodes=keep_nodes)


def marginal_program(plan: Plan, wanted: Sequence[int], semiring: Semiring = SumProduct) -> Program:
    """Return the program that computes the posterior marginals of the wanted variables.

    With :data:`~pgm.inference.kernels.MaxProduct`, max-marginals: for each state the largest probability of any joint
    state that has it, relative to the largest of all.

    Notes
    -----
    Where the clique of the step that sums a variable out is small, the clique's belief is formed and all marginals
    wanted of it are read off by one matrix product. Where it is large, a variable is read from the smallest node whose
    derivative is computed anyway.
    """
    compiler = _Compiler(plan, semiring)
    compiler.forward()
    roots = compiler.real(plan.roots)
    twin = partial(marginal_program, plan, wanted, semiring.of_logarithms or semiring)
    return Program(compiler, roots, twin, _Backward(compiler, frozenset(wanted)))


def derivative_program(plan: Plan, semiring: Semiring = SumProduct) -> Program:
    """Return the program that computes the derivatives by all tables, for :meth:`Program.derivatives`."""
    compiler = _Compiler(plan, semiring)
    compiler.forward()
    roots = compiler.real(plan.roots)
    twin = partial(derivative_program, plan, semiring.of_logarithms or semiring)
    return Program(compiler, roots, twin, _Backward(compiler, frozenset(), by_tables=True))


class _Compiler:
    """Turns a plan into operations. Slots are numbered as the plan's nodes, then as they are needed."""

    def __init__(self, plan: Plan, semiring: Semiring) -> None:
        self.plan = plan
        self.semiring = semiring
        self.n_slots = len(plan.scopes)
        self.operations: list[tuple[Kernel, int, tuple[int, ...]]] = []
        self.axes: dict[int, Axes] = dict(enumerate(plan.axes))
        self.slot_of = list(range(len(plan.scopes)))  # a step that changes nothing has its operand's slot

    def new_slot(self, axes: Axes) -> int:
        self.axes[self.n_slots] = axes
        self.n_slots += 1
        return self.n_slots - 1

    def product(self, slots: Sequence[int], out: Axes) -> int:
        """Return the slot of the product of some slots, summed to the axes ``out``."""
        operands = tuple(self.axes[slot] for slot in slots)
        if len(slots) == 1 and operands[0] == out:
            return slots[0]
        made = self.new_slot(out)
        self.operations.append(
            (self.semiring.kernel(operands, out, self.plan.cells, self.plan.rows), made, tuple(slots))
        )
        return made

    def real(self, nodes: Sequence[int]) -> list[int]:
        """Return the slots of the nodes that are not units."""
        return [self.slot_of[node] for node in nodes if not self.plan.units[node]]

    def within(self, slots: Sequence[int], scope: Axes) -> Axes:
        """Return those variables of a scope, and the rows, on which the slots depend."""
        joint = {axis for slot in slots for axis in self.axes[slot]}
        rows = self.plan.rows
        inside = tuple(variable for variable in scope if variable in joint and variable != rows)
        return (*inside, rows) if rows is not None and rows in joint else inside

    def forward(self) -> None:
        """Compile the forward pass."""
        for node, step in enumerate(self.plan.steps, start=self.plan.n_tables):
            if not self.plan.units[node]:
                self.slot_of[node] = self.product(self.real(step.operands), self.plan.axes[node])

    def final(self, roots: list[int]) -> int:
        """Return the slot of the product of the roots, with the kept variables in the order asked for."""
        kept = self.plan.kept if self.plan.rows is None else (*self.plan.kept, self.plan.rows)
        while len(roots) > 2:
            roots = [*roots[2:], self.product(roots[:2], self.within(roots[:2], kept))]
        return self.product(roots, self.within(roots, kept))

    def finish(self, keep: set[int]) -> tuple[list[Operation], int]:
        """Return the operations, each with what it may release, and the peak number of stored cells."""
        last = {slot: position for position, (_, _, slots) in enumerate(self.operations) for slot in slots}
        size = {slot: self.plan.cells(axes) for slot, axes in self.axes.items()}
        live = peak = sum(size[table] for table in range(self.plan.n_tables))
        done: list[Operation] = []
        for position, (kernel, out, slots) in enumerate(self.operations):
            live += size[out]
            # kernels other than einsum may copy their operands, and the result, into another order of axes
            copies = 0 if is_einsum(kernel) else size[out] + sum(size[slot] for slot in slots)
            peak = max(peak, live + copies)
            dead = tuple({s for s in slots if last[s] == position and s not in keep and s >= self.plan.n_tables})
            released = sum(size[slot] for slot in dead)
            live -= released
            done.append(Operation(kernel, out, _fetcher(slots), dead if released > LARGE_CELLS else ()))
        return done, peak


class _Backward:
    """Compiles the backward pass: the derivatives that are needed, and the marginals read from them."""

    def __init__(self, compiler: _Compiler, wanted: frozenset[int], *, by_tables: bool = False) -> None:
        self.compiler = compiler
        self.plan = compiler.plan
        self.first = len(compiler.operations)
        self.places: dict[int, tuple[int, int]] = {}
        self.reads: list[Read] = []
        self.seeds: list[tuple[int, int | None]] = []
        derivative: dict[int, int] = {}
        for root in self.plan.roots:
            derivative[root] = compiler.new_slot(self.plan.axes[root])
            self.seeds.append((derivative[root], None if self.plan.units[root] else compiler.slot_of[root]))
        cliques, single = self._readings(wanted)
        tables = range(self.plan.n_tables) if by_tables else ()
        needed = self._ancestors([*cliques, *single, *tables])
        for node in sorted(needed, reverse=True):
            self._read(single.get(node, []), [derivative[node], *compiler.real([node])])
            if node < self.plan.n_tables:
                continue
            step = self.plan.steps[node - self.plan.n_tables]
            self._read(cliques.get(node, []), [derivative[node], *compiler.real(step.operands)])
            for operand in step.operands:
                if operand in needed:
                    others = compiler.real([other for other in step.operands if other != operand])
                    slots = [derivative[node], *others]
                    scope = self.plan.scopes[operand]
                    derivative[operand] = compiler.product(slots, compiler.within(slots, scope))
        self.tables = [derivative[table] for table in tables]

    def _ancestors(self, nodes: Sequence[int]) -> set[int]:
        above: dict[int, int] = {}
        for node, step in enumerate(self.plan.steps, start=self.plan.n_tables):
            above.update(dict.fromkeys(step.operands, node))
        needed: set[int] = set()
        for node in nodes:
            current: int | None = node
            while current is not None and current not in needed:
                needed.add(current)
                current = above.get(current)
        return needed

    def _readings(self, wanted: frozenset[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Return which variables are read from the clique of which step, and which from which single node."""
        plan = self.plan
        cliques: dict[int, list[int]] = {}
        topmost: dict[int, int] = {}
        for node, step in enumerate(plan.steps, start=plan.n_tables):
            variables = [variable for variable in step.summed if variable in wanted]
            if variables and plan.cells((*step.scope, *step.summed)) <= FUSED_CELLS:
                cliques[node] = variables
                continue
            for variable in variables:
                holders = [operand for operand in step.operands if variable in plan.scopes[operand]]
                topmost[variable] = min(holders, key=lambda operand: plan.cells(plan.scopes[operand]))
        single: dict[int, list[int]] = {}
        nodes = sorted(self._ancestors([*cliques, *topmost.values()]), key=lambda n: (plan.cells(plan.scopes[n]), n))
        for node in nodes:
            for variable in [variable for variable in plan.scopes[node] if variable in topmost]:
                single.setdefault(node, []).append(variable)
                del topmost[variable]
        return cliques, single

    def _read(self, variables: list[int], slots: list[int]) -> None:
        if not variables:
            return
        plan = self.plan
        axes = tuple(variables)
        start = self.reads[-1].stop if self.reads else 0
        at = start
        for variable in variables:
            self.places[variable] = (at, at + plan.cardinalities[variable])
            at = self.places[variable][1]
        if plan.cells(axes) <= FUSED_CELLS and self.compiler.semiring is SumProduct:
            slot = self.compiler.product(slots, self.compiler.within(slots, axes))
            shape = tuple(plan.cardinalities[axis] for axis in axes)
            matrix = indicator(shape, tuple(range(len(axes)))) if len(axes) > 1 else None
            self.reads.append(Read(slot, matrix, start, at))
            return
        for variable in variables:
            slot = self.compiler.product(slots, self.compiler.within(slots, (variable,)))
            self.reads.append(Read(slot, None, *self.places[variable]))
