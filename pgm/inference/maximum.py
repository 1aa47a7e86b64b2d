"""Most probable explanations: the plan of a sum, run with maxima, and traced back.

A forward pass with maxima in place of sums gives the largest probability of any joint state, and going back through the
steps the joint state itself (:mod:`pgm.inference.traceback`). The backward pass with maxima gives *max-marginals*: for
every state of every variable, the largest probability of a joint state that has it. They tell where the second best
differs, so that the k best are found one after another by splitting the space (Nilsson 1998, "An efficient algorithm
for finding the M most probable configurations"). Equally probable ones come in declared order; where there are more of
them than are wanted, max-marginals tell which states of the first variable lead to one, then of the second, and so on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import NamedTuple, TypeAlias

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.compiling import marginal_program, sum_program
from pgm.inference.contraction import Program
from pgm.inference.kernels import MaxProduct
from pgm.inference.planning import Plan, make_plan
from pgm.inference.ties import TIE, TooManyTiesError
from pgm.inference.traceback import decisions, trace_any, trace_first

__all__ = ["MarginalMaximizer", "Maximizer"]

PREFERENCE = 1e-13
"""The smallest step by which an earlier state is preferred: well above rounding, well below a tie."""

TIED = 2 * TIE
"""Logarithms of two ratios this close count as equal: each may be off by a tie."""

Codes: TypeAlias = dict[int, int]


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
        self._decisions = decisions(self.plan)
        self._marginals: Program | None = None
        self._holders: dict[int, tuple[int, int]] = {}
        for table, scope in enumerate(self.scopes):
            for axis, variable in enumerate(scope):
                self._holders.setdefault(variable, (table, axis))

    # ------------------------------------------------------------------ the best

    def best(self, tables: Sequence[FloatArray]) -> Codes | None:
        """Return the most probable joint state, or None if all have probability zero.

        Of several equally probable ones it is the first: the first variable has its first state possible, and so on.

        Notes
        -----
        One forward pass, and little more unless very many joint states are equally probable.
        """
        passed = self._forward(tables)
        if passed is None:
            return None
        try:
            codes = trace_first(self._decisions, *passed, self._cardinalities)
        except TooManyTiesError:
            return self._first_of_very_many(tables)
        return {variable: codes[variable] for variable in self.variables}

    def _forward(self, tables: Sequence[FloatArray]) -> tuple[list[FloatArray], bool] | None:
        """Return the table of every node, and whether they are logarithms; None if all is zero."""
        nodes, logarithms = self.program.nodes(tables)
        zero = -math.inf if logarithms else 0.0
        return None if any(np.max(nodes[root]) == zero for root in self.plan.roots) else (nodes, logarithms)

    def _first_of_very_many(self, tables: Sequence[FloatArray]) -> Codes | None:
        """Return the first of the best joint states where there are too many to be listed.

        In each pass the first variables not yet decided get weights that prefer early states by less than a tie is
        wide, the first variable most. That decides them, and leaves fewer ties.
        """
        codes: Codes = {}
        while len(codes) < len(self.variables):
            weights = _preferences(self.variables[len(codes) :], self._cardinalities)
            passed = self._forward(self._weighted(tables, weights))
            if passed is None:
                return None
            found = trace_any(self._decisions, *passed, self._cardinalities)
            decided = {variable: int(found[variable]) for variable in sorted(weights)}
            codes.update(decided)
            tables = self._weighted(tables, {v: self._only(v, code) for v, code in decided.items()})
            passed = self._forward(tables)
            if passed is None:
                return None
            try:
                found = trace_first(self._decisions, *passed, self._cardinalities)
            except TooManyTiesError:
                continue
            return {variable: found[variable] for variable in self.variables}
        return codes

    def _weighted(self, tables: Sequence[FloatArray], weights: Mapping[int, FloatArray]) -> list[FloatArray]:
        """Return the tables with the weights of some variables' states multiplied in."""
        weighted = list(tables)
        for variable, vector in weights.items():
            table, axis = self._holders[variable]
            after = len(self.scopes[table]) - axis - 1
            weighted[table] = weighted[table] * vector.reshape(-1, *[1] * after)
        return weighted

    def _only(self, variable: int, code: int) -> FloatArray:
        """Return the vector that allows one state of a variable."""
        vector = np.zeros(self._cardinalities[variable])
        vector[code] = 1.0
        return vector

    # ------------------------------------------------------------------ max-marginals

    def max_marginals(
        self, tables: Sequence[FloatArray], allowed: Mapping[int, FloatArray]
    ) -> dict[int, FloatArray] | None:
        """Return for each variable the best probability by state, over the best of all; None if that is zero.

        Parameters
        ----------
        tables
            The tables of the product.
        allowed
            Vectors of ones and zeros for some variables; zeros forbid states.
        """
        if self._marginals is None:
            self._marginals = marginal_program(self.plan, self.variables, MaxProduct)
        return _by_variable(self._marginals, self._weighted(tables, allowed))

    # ------------------------------------------------------------------ the k best

    def k_best(self, tables: Sequence[FloatArray], k: int) -> list[Codes]:
        """Return the k best joint states of positive probability, fewer if there are fewer, equal ones in order.

        In order is what has the earlier state of the first variable in which they differ.
        """
        if k == 1:
            best = self.best(tables)
            return [] if best is None else [best]
        groups: list[list[Codes]] = []
        highest = log_next = -math.inf
        for log_ratio, following, codes in islice(self.best_first(tables), k):
            if not groups or log_ratio < highest - TIED:
                groups.append([])
                highest = log_ratio
            groups[-1].append(codes)
            log_next = following
        if groups and log_next >= highest - TIED and log_next > -math.inf:  # more of the last group than fit
            better = {self._in_order(codes) for group in groups[:-1] for codes in group}
            tied = (codes for codes in self.in_order(tables, highest - TIED) if self._in_order(codes) not in better)
            groups[-1] = list(islice(tied, k - len(better)))
        return [codes for group in groups for codes in sorted(group, key=self._in_order)]

    def _in_order(self, codes: Codes) -> tuple[int, ...]:
        return tuple([codes[variable] for variable in self.variables])

    def in_order(self, tables: Sequence[FloatArray], least: float) -> Iterator[Codes]:
        """Yield in order all joint states that are probable enough.

        Parameters
        ----------
        tables
            The tables of the product.
        least
            Logarithm of their smallest ratio to the best.

        Notes
        -----
        A pass of max-marginals for each variable of which more than one state is possible, given those before it.
        """
        parts: list[tuple[Codes, float]] = [({}, 0.0)]
        while parts:
            fixed, log_best = parts.pop()
            marginals = self.max_marginals(tables, {v: self._only(v, code) for v, code in fixed.items()})
            if marginals is None:
                continue
            with np.errstate(divide="ignore"):
                ratios = {variable: log_best + np.log(marginal) for variable, marginal in marginals.items()}
            choices = {v: np.flatnonzero(logs >= min(least, logs.max())).tolist() for v, logs in ratios.items()}
            open_ = next((variable for variable, codes in choices.items() if len(codes) > 1), None)
            if open_ is None:
                yield {variable: codes[0] for variable, codes in choices.items()}
                continue
            parts += [({**fixed, open_: code}, float(ratios[open_][code])) for code in reversed(choices[open_])]

    def best_first(self, tables: Sequence[FloatArray]) -> Iterator[tuple[float, float, Codes]]:
        """Yield all joint states of positive probability, the most probable first.

        Before each stand the logarithms of its ratio to the best, and of that of the next one.

        Notes
        -----
        Two passes of max-marginals and one for the state itself for each after the first. The space is split where
        the next best of a part differs from its best: one half keeps the best, the other has the next.
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

        first = self.best(tables)
        if first is None:
            return
        enqueue(first, {}, 0.0)
        yield 0.0, -queue[0][0] if queue else -math.inf, first
        while queue:
            negative, _, log_best, best, allowed, variable = heapq.heappop(queue)
            only = self._only(variable, best[variable])
            same = {**allowed, variable: only}
            other = {**allowed, variable: allowed.get(variable, 1.0) - only}
            found = self.best(self._weighted(tables, other))
            if found is None:
                continue
            enqueue(found, other, -negative)
            enqueue(best, same, log_best)
            yield -negative, -queue[0][0] if queue else -math.inf, found


def _by_variable(program: Program, tables: Sequence[FloatArray]) -> dict[int, FloatArray] | None:
    """Return the marginals of a program in increasing order of variables, or None if the value is zero."""
    output, _ = program.marginals(tables)
    return {v: output[slice(*program.places[v])] for v in sorted(program.places)} if output.size else None


def _preferences(variables: Sequence[int], cardinalities: Sequence[int]) -> dict[int, FloatArray]:
    """Return weights for the first of the variables, which put their joint states in order.

    An earlier variable's smallest step outweighs all steps of the later ones, and all together stay below a tie.
    """
    chosen: list[int] = []
    size = 1
    for variable in variables:
        size *= cardinalities[variable]
        if chosen and size * PREFERENCE > TIE:
            break
        chosen.append(variable)
    weights: dict[int, FloatArray] = {}
    step = PREFERENCE
    for variable in reversed(chosen):
        weights[variable] = np.exp(-step * np.arange(cardinalities[variable]))
        step *= cardinalities[variable]
    return weights


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
