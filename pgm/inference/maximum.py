"""Most probable explanations: the plan of a sum, run with maxima, and traced back.

A forward pass with maxima in place of sums gives the largest probability of any joint state; going back through the
steps, each summed-out variable takes the state that attained the maximum, its neighbours being decided already (Koller
and Friedman 2009, section 13.2). The backward pass with maxima gives *max-marginals*: for every state of every
variable, the largest probability of a joint state that has it. They tell whether the best is the only one, which
of several comes first, and where the second best differs, so that the k best are found one after another by splitting
the space (Nilsson 1998, "An efficient algorithm for finding the M most probable configurations").
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.contraction import Program, marginal_program, sum_program
from pgm.inference.kernels import Kernel, MaxProduct, SumProduct, add_logarithms
from pgm.inference.planning import Plan, make_plan

__all__ = ["MarginalMaximizer", "Maximizer"]

TINY = 1e-250
"""Products below this are compared by their logarithms."""

TIE = 1e-9
"""Two probabilities are taken as equal if their ratio is this close to one."""

PREFERENCE = 1e-12
"""The smallest step by which an earlier state is preferred: well above rounding, well below a tie."""

Codes = dict[int, int]


class _Decision(NamedTuple):
    """How one step is traced back: cut the operands at what is decided, multiply, take the first largest."""

    variables: tuple[int, ...]
    shape: tuple[int, ...]
    operands: tuple[tuple[int, tuple[int | None, ...]], ...]
    """For each operand its node and, by axis, the decided variable to cut at, or None to keep the axis."""
    product: Kernel
    add: Kernel
    """The product on logarithms."""


class Maximizer:
    """The compiled search for the largest entry of a product of tables.

    Parameters
    ----------
    scopes
        Variables of each table, as numbers.
    cardinalities
        Number of states by variable.
    plan
        A plan for these scopes; made if not given.
    """

    def __init__(
        self, scopes: Sequence[tuple[int, ...]], cardinalities: Sequence[int], plan: Plan | None = None
    ) -> None:
        self.scopes = tuple(scopes)
        self.variables = tuple(sorted({variable for scope in scopes for variable in scope}))
        self.plan = plan or make_plan(scopes, cardinalities)
        self.program: Program = sum_program(self.plan, MaxProduct, keep_nodes=True)
        self._cardinalities = tuple(cardinalities)
        self._decisions = tuple(self._decision(step) for step in reversed(self.plan.steps) if step.summed)
        self._marginals: Program | None = None

    def _decision(self, step: Any) -> _Decision:
        axes = [self.plan.axes[operand] for operand in step.operands]
        kept = tuple(tuple(axis for axis in scope if axis in step.summed) for scope in axes)
        operands = tuple(
            (operand, tuple(None if axis in step.summed else axis for axis in scope))
            for operand, scope in zip(step.operands, axes, strict=True)
        )
        shape = tuple(self._cardinalities[variable] for variable in step.summed)
        product = SumProduct.kernel(kept, step.summed, self.plan.cells, None)
        return _Decision(step.summed, shape, operands, product, add_logarithms(kept, step.summed))

    # ------------------------------------------------------------------ the best

    def best(self, tables: Sequence[FloatArray]) -> Codes | None:
        """Return the most probable joint state, or None if all have probability zero.

        Of several equally probable ones it is the first: the first variable has its first state possible, and so on.
        """
        if not self.variables:
            return {}
        nodes, logarithms = self.program.nodes(tables)
        zero = -math.inf if logarithms else 0.0
        if any(np.max(nodes[root]) == zero for root in self.plan.roots):
            return None
        codes, tied = self._trace(nodes, logarithms)
        return self._first(tables, self._free()) if tied else codes

    def _trace(self, nodes: Sequence[FloatArray], logarithms: bool) -> tuple[Codes, bool]:
        codes: Codes = {}
        tied = False
        for variables, shape, operands, product, add in self._decisions:
            cuts = [
                nodes[node][tuple([slice(None) if axis is None else codes[axis] for axis in axes])]
                for node, axes in operands
            ]
            values = (add if logarithms else product)(*cuts).ravel().tolist()  # few: plain numbers are fastest
            top = max(values)
            if not logarithms and top < TINY:  # too small to compare
                with np.errstate(divide="ignore"):
                    exact = add(*map(np.log, cuts)).ravel()
                values, top = np.exp(exact - exact.max()).tolist(), 1.0
            place = values.index(top)
            if not tied:
                least = top - TIE if logarithms else top * (1 - TIE)
                tied = sum(value >= least for value in values) > 1
            if len(variables) == 1:
                codes[variables[0]] = place
                continue
            for variable, code in zip(variables, np.unravel_index(place, shape), strict=True):
                codes[variable] = int(code)
        return codes, tied

    # ------------------------------------------------------------------ max-marginals

    def _free(self) -> dict[int, FloatArray]:
        return {variable: np.ones(self._cardinalities[variable]) for variable in self.variables}

    def max_marginals(
        self, tables: Sequence[FloatArray], allowed: Mapping[int, FloatArray]
    ) -> dict[int, FloatArray] | None:
        """Return for each variable the best probability by state, over the best of all; None if that is zero.

        Parameters
        ----------
        tables
            The tables of the product.
        allowed
            A vector of ones and zeros for each variable; zeros forbid states.
        """
        if self._marginals is None:
            scopes = [*self.scopes, *((variable,) for variable in self.variables)]
            plan = make_plan(scopes, self._cardinalities, order=self.plan.order)
            self._marginals = marginal_program(plan, self.variables, MaxProduct)
        return _by_variable(self._marginals, [*tables, *(allowed[variable] for variable in self.variables)])

    def _first(self, tables: Sequence[FloatArray], allowed: Mapping[int, FloatArray]) -> Codes | None:
        """Return the first of the most probable joint states, or None if that probability is zero.

        What all of them agree on is decided. Of the others, the first ones in each part that shares no table with the
        rest get weights that prefer early states by less than a tie is wide, the first variable most; these decide
        them. Then the same for the smaller problem that is left.
        """
        marginals = self.max_marginals(tables, allowed)
        codes: Codes = {}
        preferred: dict[int, FloatArray] = {}
        scopes, left = list(self.scopes), list(tables)
        scopes += [(variable,) for variable in self.variables]
        left += [allowed[variable] for variable in self.variables]
        while marginals is not None:
            for variable, marginal in marginals.items():
                if variable in preferred or np.count_nonzero(marginal >= marginal.max() * (1 - 3 * TIE)) == 1:
                    codes[variable] = int(marginal.argmax())
            undecided = [variable for variable in marginals if variable not in codes]
            if not undecided:
                return codes
            scopes, left = _cut(scopes, left, codes)
            preferred = _preferences(undecided, scopes, self._cardinalities)
            problem = [*scopes, *((variable,) for variable in preferred)]
            program = marginal_program(make_plan(problem, self._cardinalities), undecided, MaxProduct)
            marginals = _by_variable(program, [*left, *preferred.values()])
        return None

    # ------------------------------------------------------------------ the k best

    def best_first(self, tables: Sequence[FloatArray]) -> Iterator[Codes]:
        """Yield all joint states of positive probability, the most probable first.

        Notes
        -----
        Two passes of max-marginals for each state after the first. The space is split where the next best of a part
        differs from its best: one half keeps the best, the other has the next.
        """
        order = count()
        queue: list[tuple[float, int, float, Codes, dict[int, FloatArray], int]] = []

        def enqueue(best: Codes, allowed: dict[int, FloatArray], log_best: float) -> None:
            """Queue a part of the space by its second best, which differs from its best in the variable found here."""
            marginals = self.max_marginals(tables, allowed)
            ratio, differing = 0.0, -1
            for variable, marginal in (marginals or {}).items():
                others = np.delete(marginal, best[variable]) / marginal[best[variable]]
                if others.max(initial=0.0) > ratio:
                    ratio, differing = float(others.max()), variable
            if ratio > 0:
                log_second = log_best + math.log(ratio)
                heapq.heappush(queue, (-log_second, next(order), log_best, best, allowed, differing))

        free = self._free()
        first = self._first(tables, free) if self.variables else self.best(tables)
        if first is None:
            return
        yield first
        enqueue(first, free, 0.0)
        while queue:
            negative, _, log_best, best, allowed, variable = heapq.heappop(queue)
            same, other = dict(allowed), dict(allowed)
            same[variable] = np.zeros_like(allowed[variable])
            same[variable][best[variable]] = 1.0
            other[variable] = allowed[variable] - same[variable]
            found = self._first(tables, other)
            if found is None:
                continue
            yield found
            enqueue(found, other, -negative)
            enqueue(best, same, log_best)


def _by_variable(program: Program, tables: Sequence[FloatArray]) -> dict[int, FloatArray] | None:
    """Return the marginals of a program in increasing order of variables, or None if the value is zero."""
    output, _ = program.marginals(tables)
    return {v: output[slice(*program.places[v])] for v in sorted(program.places)} if output.size else None


def _cut(
    scopes: Sequence[tuple[int, ...]], tables: Sequence[FloatArray], codes: Mapping[int, int]
) -> tuple[list[tuple[int, ...]], list[FloatArray]]:
    """Return the tables at the states decided, without those that are single numbers then."""
    kept = []
    for scope, table in zip(scopes, tables, strict=True):
        rest = tuple(variable for variable in scope if variable not in codes)
        if rest:
            kept.append((rest, table[tuple([codes.get(variable, slice(None)) for variable in scope])]))
    return [scope for scope, _ in kept], [table for _, table in kept]


def _preferences(
    variables: Sequence[int], scopes: Sequence[tuple[int, ...]], cardinalities: Sequence[int]
) -> dict[int, FloatArray]:
    """Return weights for the first variables of each connected part, which put their joint states in order.

    An earlier variable's smallest step outweighs all steps of the later ones, and all together stay below a tie.
    """
    weights: dict[int, FloatArray] = {}
    for part in _parts(variables, scopes):
        chosen: list[int] = []
        size = 1
        for variable in part:
            size *= cardinalities[variable]
            if chosen and size * PREFERENCE > TIE:
                break
            chosen.append(variable)
        step = PREFERENCE
        for variable in reversed(chosen):
            weights[variable] = np.exp(-step * np.arange(cardinalities[variable]))
            step *= cardinalities[variable]
    return weights


def _parts(variables: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return the sets of variables that are connected by scopes, each in increasing order."""
    root = {variable: variable for variable in variables}

    def find(variable: int) -> int:
        while root[variable] != variable:
            root[variable] = root[root[variable]]
            variable = root[variable]
        return variable

    for scope in scopes:
        inside = [find(variable) for variable in scope if variable in root]
        for variable in inside:
            root[variable] = min(inside)
    parts: dict[int, list[int]] = {}
    for variable in sorted(variables):
        parts.setdefault(find(variable), []).append(variable)
    return list(parts.values())


class MarginalMaximizer(NamedTuple):
    """Marginal MAP: sum out what is not asked for, then maximise what is (constrained elimination)."""

    sums: Program
    """Leaves tables over the targets only."""
    maximizer: Maximizer

    @classmethod
    def compile(cls, plan: Plan) -> MarginalMaximizer:
        """Return the program for a plan that keeps the targets."""
        sums = sum_program(plan, keep_nodes=True)
        scopes = [plan.axes[root] for root in plan.roots if plan.axes[root]]
        return cls(sums, Maximizer(scopes, plan.cardinalities))

    def tables(self, tables: Sequence[FloatArray]) -> list[FloatArray] | None:
        """Return the tables over the targets, or None if everything has probability zero."""
        nodes, logarithms = self.sums.nodes(tables)
        roots = self.sums.plan.roots
        zero = -math.inf if logarithms else 0.0
        if any(np.max(nodes[root]) == zero for root in roots):
            return None
        found = [nodes[root] for root in roots if self.sums.plan.axes[root]]
        return [np.exp(table - table.max()) for table in found] if logarithms else found
