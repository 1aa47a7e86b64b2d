"""Compiling: from a plan to a program, forward for sums and backward for derivatives.

Forward, every step of the plan becomes one array operation, which multiplies the step's operands and sums.

Backward, the derivative of the result by every node is formed from the roots down (reverse differentiation; Darwiche
2003, "A differential approach to inference in Bayesian networks"). If a step made C = sum A * B, then the derivative
by A is the derivative by C, times B, summed over what A does not contain. Only those derivatives are compiled from
which something is read.

Everything is decided here, from scopes and cardinalities alone: kernels, what is read from where, which tables can be
released when, and how much memory that takes. Running the program is left to :mod:`pgm.inference.contraction`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.contraction import Operation, Program, Read, Seed
from pgm.inference.kernels import Axes, Kernel, Semiring, SumProduct, is_einsum
from pgm.inference.planning import FUSED_CELLS, Plan, Step

__all__ = ["derivative_program", "indicator", "marginal_program", "sum_program"]

LARGE_CELLS = 4096
"""Tables of more cells than this are released as soon as nothing needs them any more."""


# ---------------------------------------------------------------------- programs


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

    Examples
    --------
    >>> from pgm.inference.planning import make_plan
    >>> plan = make_plan([(0,), (0, 1)], [2, 2], kept=[1])
    >>> sum_program(plan).value([np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]])]).table.tolist()
    [0.5, 0.5]
    """
    compiler = _Compiler(plan, semiring)
    roots = compiler.forward()
    if plan.kept and not keep_nodes:
        roots = [compiler.final(roots)]
    twin = partial(sum_program, plan, semiring.of_logarithms or semiring, keep_nodes=keep_nodes)
    return compiler.program(roots, twin, keep=compiler.slot_of if keep_nodes else ())


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
    roots = compiler.forward()
    twin = partial(marginal_program, plan, wanted, semiring.of_logarithms or semiring)
    return compiler.program(roots, twin, _BackwardPass(compiler, wanted=frozenset(wanted)))


def derivative_program(plan: Plan, semiring: Semiring = SumProduct) -> Program:
    """Return the program that computes the derivatives by all tables, for :meth:`Program.derivatives`."""
    compiler = _Compiler(plan, semiring)
    roots = compiler.forward()
    twin = partial(derivative_program, plan, semiring.of_logarithms or semiring)
    return compiler.program(roots, twin, _BackwardPass(compiler, by_tables=True))


# ---------------------------------------------------------------------- the forward pass


class _Compiler:
    """Collects the operations of a program. Slots are numbered as the plan's nodes, then as they are needed."""

    def __init__(self, plan: Plan, semiring: Semiring) -> None:
        self.plan = plan
        self.semiring = semiring
        self.n_slots = len(plan.scopes)
        self.operations: list[tuple[Kernel, int, tuple[int, ...]]] = []
        self.axes: dict[int, Axes] = dict(enumerate(plan.axes))
        self.slot_of = list(range(len(plan.scopes)))  # a step that changes nothing has its operand's slot

    def new_slot(self, axes: Axes) -> int:
        """Return the number of a slot not used so far, for a table with these axes."""
        self.axes[self.n_slots] = axes
        self.n_slots += 1
        return self.n_slots - 1

    def product(self, slots: Sequence[int], out: Axes) -> int:
        """Return the slot of the product of some slots, summed to the axes ``out``."""
        operands = tuple(self.axes[slot] for slot in slots)
        if len(slots) == 1 and operands[0] == out:
            return slots[0]
        made = self.new_slot(out)
        kernel = self.semiring.kernel(operands, out, self.plan.cells, self.plan.rows)
        self.operations.append((kernel, made, tuple(slots)))
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

    def forward(self) -> list[int]:
        """Compile the forward pass; return the slots of the roots that are not units."""
        for node, step in enumerate(self.plan.steps, start=self.plan.n_tables):
            if not self.plan.units[node]:
                self.slot_of[node] = self.product(self.real(step.operands), self.plan.axes[node])
        return self.real(self.plan.roots)

    def final(self, roots: list[int]) -> int:
        """Return the slot of the product of the roots, with the kept variables in the order asked for."""
        kept = self.plan.kept if self.plan.rows is None else (*self.plan.kept, self.plan.rows)
        while len(roots) > 2:
            roots = [*roots[2:], self.product(roots[:2], self.within(roots[:2], kept))]
        return self.product(roots, self.within(roots, kept))

    def program(
        self,
        roots: list[int],
        twin: Callable[[], Program],
        backward: _BackwardPass | None = None,
        keep: Collection[int] = (),
    ) -> Program:
        """Return the program of all operations compiled so far.

        Parameters
        ----------
        roots
            Slots whose product is the value.
        twin
            Compiles the same program on logarithms.
        backward
            What was compiled after the forward pass.
        keep
            Slots that must not be released, besides those from which something is read.
        """
        derivatives = backward.by_tables if backward else []
        reads = backward.reads if backward else []
        operations, peak = self._with_releases({*keep, *roots, *derivatives, *(read.slot for read in reads)})
        first = backward.first if backward else len(operations)
        return Program(
            self.plan,
            self.semiring.total,
            twin,
            n_slots=self.n_slots,
            slot_of=self.slot_of,
            roots=roots,
            forward=operations[:first],
            seeds=backward.seeds if backward else [],
            backward=operations[first:],
            reads=reads,
            places=backward.places if backward else {},
            derivatives=[(slot, self.axes[slot]) for slot in derivatives],
            peak_bytes=peak * 8,
        )

    def _with_releases(self, keep: set[int]) -> tuple[list[Operation], int]:
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


def _fetcher(slots: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Return what takes the tables of some slots, as a tuple."""
    if len(slots) == 1:
        (only,) = slots
        return lambda values: (values[only],)
    return itemgetter(*slots)


# ---------------------------------------------------------------------- the backward pass


class _BackwardPass:
    """Compiles the derivatives that are needed, and the marginals read from them.

    Parameters
    ----------
    compiler
        Has compiled the forward pass.
    wanted
        Variables whose marginals are read.
    by_tables
        Whether the derivatives by all tables are wanted.
    """

    def __init__(self, compiler: _Compiler, *, wanted: frozenset[int] = frozenset(), by_tables: bool = False) -> None:
        plan = compiler.plan
        self.compiler = compiler
        self.plan = plan
        self.first = len(compiler.operations)
        self.seeds: list[Seed] = []
        self.reads: list[Read] = []
        self.places: dict[int, tuple[int, int]] = {}
        self.taker = {operand: node for node, step in enumerate(plan.steps, plan.n_tables) for operand in step.operands}
        self.derivative: dict[int, int] = {}  # slot of the derivative by a node
        tables = range(plan.n_tables) if by_tables else range(0)
        cliques, single = self._readings(wanted)
        needed = self._with_takers([*cliques, *single, *tables])
        self._seed_roots()
        for node in sorted(needed, reverse=True):
            self._read(single.get(node, []), [self.derivative[node], *compiler.real([node])])
            if node >= plan.n_tables:
                step = plan.steps[node - plan.n_tables]
                self._read(cliques.get(node, []), [self.derivative[node], *compiler.real(step.operands)])
                self._differentiate(node, step, needed)
        self.by_tables = [self.derivative[table] for table in tables]

    def _seed_roots(self) -> None:
        for root in self.plan.roots:
            slot = self.compiler.new_slot(self.plan.axes[root])
            self.derivative[root] = slot
            self.seeds.append(Seed(slot, None if self.plan.units[root] else self.compiler.slot_of[root]))

    def _differentiate(self, node: int, step: Step, needed: set[int]) -> None:
        """Compile the derivatives by those operands of a step that are needed."""
        for operand in step.operands:
            if operand in needed:
                others = self.compiler.real([other for other in step.operands if other != operand])
                slots = [self.derivative[node], *others]
                axes = self.compiler.within(slots, self.plan.scopes[operand])
                self.derivative[operand] = self.compiler.product(slots, axes)

    def _with_takers(self, nodes: Sequence[int]) -> set[int]:
        """Return the nodes and all on their way to a root: derivatives by these are needed for theirs."""
        needed: set[int] = set()
        for node in nodes:
            current: int | None = node
            while current is not None and current not in needed:
                needed.add(current)
                current = self.taker.get(current)
        return needed

    def _readings(self, wanted: frozenset[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Return which variables are read from the clique of which step, and which from which single node."""
        plan = self.plan
        cliques: dict[int, list[int]] = {}
        topmost: dict[int, int] = {}
        for node, step in enumerate(plan.steps, start=plan.n_tables):
            variables = [variable for variable in step.summed if variable in wanted]
            if variables and plan.cells(plan.joint_scope(step)) <= FUSED_CELLS:
                cliques[node] = variables
                continue
            for variable in variables:
                holders = [operand for operand in step.operands if variable in plan.scopes[operand]]
                topmost[variable] = min(holders, key=lambda operand: plan.cells(plan.scopes[operand]))
        single: dict[int, list[int]] = {}
        computed = self._with_takers([*cliques, *topmost.values()])
        for node in sorted(computed, key=lambda node: (plan.cells(plan.scopes[node]), node)):
            for variable in [variable for variable in plan.scopes[node] if variable in topmost]:
                single.setdefault(node, []).append(variable)
                del topmost[variable]
        return cliques, single

    def _read(self, variables: list[int], slots: list[int]) -> None:
        """Compile the reading of marginals from the belief that is the product of some slots."""
        if not variables:
            return
        plan, compiler = self.plan, self.compiler
        start = stop = self.reads[-1].stop if self.reads else 0
        for variable in variables:
            self.places[variable] = (stop, stop + plan.cardinalities[variable])
            stop = self.places[variable][1]
        axes = tuple(variables)
        if plan.cells(axes) <= FUSED_CELLS and compiler.semiring is SumProduct:
            slot = compiler.product(slots, compiler.within(slots, axes))
            shape = tuple(plan.cardinalities[axis] for axis in axes)
            matrix = indicator(shape) if len(axes) > 1 else None
            self.reads.append(Read(slot, matrix, start, stop))
            return
        for variable in variables:
            slot = compiler.product(slots, compiler.within(slots, (variable,)))
            self.reads.append(Read(slot, None, *self.places[variable]))


@lru_cache(maxsize=4096)
def indicator(shape: tuple[int, ...]) -> FloatArray:
    """Return the 0/1 matrix that sums a flattened table to the marginals of its axes, side by side.

    >>> (np.array([0.5, 0.25, 0.0, 0.25]) @ indicator((2, 2))).tolist()
    [0.75, 0.25, 0.5, 0.5]
    """
    states = np.indices(shape).reshape(len(shape), -1)
    blocks = [states[axis][:, None] == np.arange(length) for axis, length in enumerate(shape)]
    matrix = np.concatenate(blocks, axis=1).astype(np.float64)
    matrix.flags.writeable = False
    return matrix
