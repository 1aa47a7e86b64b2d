"""Most probable explanations: the plan of a sum, run with maxima, and traced back.

A forward pass with maxima in place of sums gives the largest probability of any joint state, and going back through the
steps the joint state itself (:mod:`pgm.inference.traceback`). The backward pass with maxima gives *max-marginals*: for
every state of every variable, the largest probability of a joint state that has it. They tell where the second best
differs, and so lead to the k best (:mod:`pgm.inference.ranking`).

All this works on tables and on their logarithms. Numbers are faster; logarithms tell explanations from impossible ones
that are less probable than the best by a factor beyond the range of floating-point numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from pgm.factors.factor import FloatArray
from pgm.inference.compiling import marginal_program, sum_program
from pgm.inference.contraction import TINY, Program
from pgm.inference.kernels import MaxProduct
from pgm.inference.planning import Plan, make_plan
from pgm.inference.ranking import Ranking
from pgm.inference.ties import TIE, TooManyTiesError
from pgm.inference.traceback import decisions, trace_any, trace_first
from pgm.inference.underflow import as_logarithms, may_underflow

__all__ = ["MarginalMaximizer", "Maximizer"]

PREFERENCE = 1e-13
"""The smallest step by which an earlier state is preferred: well above rounding, well below a tie."""

LOG_TINY = math.log(TINY)
"""Explanations that are less probable than the best by more than this are sought again on logarithms."""

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

    def best(self, tables: Sequence[FloatArray], *, logarithms: bool = False) -> Codes | None:
        """Return the most probable joint state, or None if all have probability zero.

        Of several equally probable ones it is the first: the first variable has its first state possible, and so on.

        Parameters
        ----------
        tables
            The tables of the product.
        logarithms
            Whether they are given as logarithms.

        Notes
        -----
        One forward pass, and little more unless very many joint states are equally probable.
        """
        passed = self._forward(tables, logarithms)
        if passed is None:
            return None
        try:
            codes = trace_first(self._decisions, *passed, self._cardinalities)
        except TooManyTiesError:
            return self._first_of_very_many(tables, logarithms)
        return {variable: codes[variable] for variable in self.variables}

    def _forward(self, tables: Sequence[FloatArray], logarithms: bool) -> tuple[list[FloatArray], bool] | None:
        """Return the table of every node, and whether they are logarithms; None if all is zero."""
        if logarithms:
            nodes = self.program.log_nodes(tables)
        else:
            nodes, logarithms = self.program.nodes(tables)
        zero = -math.inf if logarithms else 0.0
        return None if any(np.max(nodes[root]) == zero for root in self.plan.roots) else (nodes, logarithms)

    def _first_of_very_many(self, tables: Sequence[FloatArray], logarithms: bool) -> Codes | None:
        """Return the first of the best joint states where there are too many to be listed.

        In each pass the first variables not yet decided get weights that prefer early states by less than a tie is
        wide, the first variable most. That decides them, and leaves fewer ties.
        """
        codes: Codes = {}
        while len(codes) < len(self.variables):
            weights = _preferences(self.variables[len(codes) :], self._cardinalities)
            passed = self._forward(self.weighted(tables, weights, logarithms), logarithms)
            if passed is None:
                return None
            found = trace_any(self._decisions, *passed, self._cardinalities)
            decided = {variable: int(found[variable]) for variable in sorted(weights)}
            codes.update(decided)
            tables = self.weighted(tables, {v: self.only(v, code) for v, code in decided.items()}, logarithms)
            passed = self._forward(tables, logarithms)
            if passed is None:
                return None
            try:
                found = trace_first(self._decisions, *passed, self._cardinalities)
            except TooManyTiesError:
                continue
            return {variable: found[variable] for variable in self.variables}
        return codes

    def weighted(
        self, tables: Sequence[FloatArray], weights: Mapping[int, FloatArray], logarithms: bool
    ) -> list[FloatArray]:
        """Return the tables, or their logarithms, with the weights of some variables' states multiplied in."""
        weighted = list(tables)
        for variable, vector in weights.items():
            table, axis = self._holders[variable]
            shape = (-1, *[1] * (len(self.scopes[table]) - axis - 1))
            if logarithms:
                weighted[table] = weighted[table] + as_logarithms([vector])[0].reshape(shape)
            else:
                weighted[table] = weighted[table] * vector.reshape(shape)
        return weighted

    def only(self, variable: int, code: int) -> FloatArray:
        """Return the vector that allows one state of a variable."""
        vector = np.zeros(self._cardinalities[variable])
        vector[code] = 1.0
        return vector

    # ------------------------------------------------------------------ max-marginals, and the k best

    def log_max_marginals(
        self, tables: Sequence[FloatArray], allowed: Mapping[int, FloatArray], *, logarithms: bool = False
    ) -> dict[int, FloatArray] | None:
        """Return for each variable ln of the best probability by state, over the best of all; None if that is zero.

        Parameters
        ----------
        tables
            The tables of the product.
        allowed
            Vectors of ones and zeros for some variables; zeros forbid states.
        logarithms
            Whether the tables are given as logarithms. Only then are very small ratios told from zero.
        """
        if self._marginals is None:
            self._marginals = marginal_program(self.plan, self.variables, MaxProduct)
        program, weighted = self._marginals, self.weighted(tables, allowed, logarithms)
        if logarithms:
            output, log_value = program.log_marginals(weighted)
        else:
            output, log_value = program.marginals(weighted)
            (output,) = as_logarithms([output])
        if log_value == -math.inf:
            return None
        found = {variable: output[slice(*program.places[variable])] for variable in sorted(program.places)}
        return {variable: logs - logs.max() for variable, logs in found.items()}

    def k_best(self, tables: Sequence[FloatArray], k: int, *, logarithms: bool = False) -> list[Codes]:
        """Return the k best joint states of positive probability, fewer if there are fewer, equal ones in order.

        In order is what has the earlier state of the first variable in which they differ. Parameters as for
        :meth:`best`.
        """
        if k == 1:
            best = self.best(tables, logarithms=logarithms)
            return [] if best is None else [best]
        found, log_least = Ranking(self, tables, logarithms).first(k)
        is_sure = len(found) == k and log_least >= LOG_TINY
        if logarithms or is_sure or not may_underflow(tables):
            return found
        return Ranking(self, as_logarithms(tables), True).first(k)[0]


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

    def k_best(self, tables: Sequence[FloatArray], k: int, *, logarithms: bool = False) -> list[Codes]:
        """Return the k best joint states of the targets; none if everything has probability zero.

        Parameters and order as for :meth:`Maximizer.k_best`.
        """
        if not logarithms:
            found = self._k_best_of_numbers(tables, k)
            if found is not None:
                return found
            tables = as_logarithms(tables)
        roots = self._roots(self.sums.log_nodes(tables))
        if any(np.max(root) == -math.inf for root in roots):
            return []
        return self.maximizer.k_best([root for root in roots if root.ndim], k, logarithms=True)

    def _k_best_of_numbers(self, tables: Sequence[FloatArray], k: int) -> list[Codes] | None:
        """Return the same without logarithms, or None if some of them might be too improbable for that."""
        nodes, logarithms = self.sums.nodes(tables)
        if logarithms:
            return None
        roots = self._roots(nodes)
        if any(np.max(root) == 0 for root in roots):
            return []
        summed = [root for root in roots if root.ndim]
        found = self.maximizer.k_best(summed, k)
        if len(found) == k:
            places = [tuple(found[-1][variable] for variable in scope) for scope in self.maximizer.scopes]
            ratios = [float(root[place] / root.max()) for root, place in zip(summed, places, strict=True)]
            if math.prod(ratios) >= TINY:
                return found
        return None if may_underflow(tables) else found

    def _roots(self, nodes: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.asarray(nodes[root]) for root in self.sums.plan.roots]
