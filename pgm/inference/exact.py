"""Exact inference on one network: posteriors, all marginals, the probability of evidence.

Each answer is a contraction of the conditional probability tables (Koller and Friedman 2009, chapter 9): slice what
is observed out of the tables, leave out what cannot matter, and let :mod:`pgm.inference.contraction` run the plan.
Plans depend on which variables are observed and asked for, not on their values, so they are kept for the next question
of the kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pgm.errors import EvidenceError, ImpossibleEvidenceError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import MEMORY_BUDGET, Factor, FloatArray, Names
from pgm.factors.variable import Label, Variable
from pgm.inference.contraction import Program, Result, marginal_program, sum_program
from pgm.inference.evidence import ancestral, code_evidence, code_targets, connected
from pgm.inference.planning import Plan, make_plan
from pgm.inference.query_plan import QueryPlan

__all__ = ["ExactInference"]

PLANS_KEPT = 512
"""How many prepared questions are kept; the oldest goes first."""

Codes = Mapping[int, int]


class Slice(NamedTuple):
    """How to cut the observed variables out of one table."""

    slot: int
    values: FloatArray
    template: tuple[Any, ...]
    observed: tuple[tuple[int, int], ...]
    """Pairs (axis, variable)."""


class Prepared(NamedTuple):
    """A question ready to be answered for any values of the observed variables."""

    program: Program
    tables: tuple[Any, ...]
    """One for each table of the plan; None where it must be sliced first."""
    slices: tuple[Slice, ...]
    constants: tuple[tuple[FloatArray, tuple[int, ...]], ...]
    """Tables that are single numbers once their variables are observed."""

    def sliced(self, codes: Codes) -> tuple[list[FloatArray], float]:
        """Return the tables that agree with the evidence, and the log of the product of those that are numbers."""
        tables = list(self.tables)
        for slot, values, template, observed in self.slices:
            position = list(template)
            for axis, variable in observed:
                position[axis] = codes[variable]
            tables[slot] = values[tuple(position)]
        constant = 0.0
        for values, variables in self.constants:
            number = float(values[tuple([codes[variable] for variable in variables])])
            if number == 0:
                return tables, -math.inf
            constant += math.log(number)
        return tables, constant


class ExactInference:
    """The tables of one network, numbered, with the plans made so far.

    Parameters
    ----------
    cpts
        One for each variable, in declared order; every parent has one, too.

    Notes
    -----
    Variables of one state carry no information and are treated as observed throughout.
    """

    def __init__(self, cpts: Sequence[CPT]) -> None:
        self.variables: tuple[Variable, ...] = tuple(cpt.child for cpt in cpts)
        self.index = {variable.name: number for number, variable in enumerate(self.variables)}
        self.cardinalities = tuple(variable.cardinality for variable in self.variables)
        self.scopes = tuple(tuple(self.index[name] for name in cpt.names) for cpt in cpts)
        self.parents = tuple(scope[:-1] for scope in self.scopes)
        self.values = tuple(cpt.values for cpt in cpts)
        self.positive = tuple(bool(values.all()) for values in self.values)
        self.constant = {number: 0 for number, states in enumerate(self.cardinalities) if states == 1}
        self._prepared: dict[Any, Prepared] = {}
        self._lock = Lock()

    # ------------------------------------------------------------------ questions

    def posterior(
        self,
        targets: Names,
        evidence: Mapping[str, Label] | None = None,
        *,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Factor:
        """Return P(targets | evidence), its axes in the order asked. See ``BayesianNetwork.query``."""
        asked = code_targets(self.index, targets)
        codes = code_evidence(self.variables, self.index, evidence)
        free = tuple(target for target in asked if target not in codes and target not in self.constant)
        prepared = self._prepare_sum(free, codes, order, memory_budget)
        table = self._value(prepared, codes).table
        total = table.sum() if free else table
        if not total > 0:
            raise self._impossible(codes)
        scope = tuple(self.variables[target] for target in asked)
        if len(free) == len(asked):
            return Factor._of(scope, table / total)
        return Factor._of(scope, self._spread(asked, codes, table / total))

    def _spread(self, asked: tuple[int, ...], codes: Codes, table: FloatArray) -> FloatArray:
        """Return the joint in which observed targets have all their mass on the state observed."""
        joint = np.zeros([self.cardinalities[target] for target in asked])
        position = tuple(codes.get(target, self.constant.get(target, slice(None))) for target in asked)
        joint[position] = table
        return joint

    def marginals(
        self,
        evidence: Mapping[str, Label] | None = None,
        *,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> dict[str, Factor]:
        """Return the posterior marginal of every unobserved variable. See ``BayesianNetwork.marginals``."""
        codes = code_evidence(self.variables, self.index, evidence)
        prepared = self._prepare_marginals(codes, order, memory_budget)
        tables, constant = prepared.sliced({**self.constant, **codes} if self.constant else codes)
        output, log_scale = prepared.program.marginals(tables)
        if constant + log_scale == -math.inf:
            raise self._impossible(codes)
        output.flags.writeable = False
        places, variables = prepared.program.places, self.variables
        answer = {}
        for number, variable in enumerate(variables):
            if number in places:
                start, stop = places[number]
                answer[variable.name] = Factor._of((variable,), output[start:stop])
            elif number not in codes:
                answer[variable.name] = Factor._of((variable,), np.ones(1))
        return answer

    def log_probability(
        self, evidence: Mapping[str, Label] | None = None, *, memory_budget: int = MEMORY_BUDGET
    ) -> float:
        """Return ln P(evidence), minus infinity if it is impossible. See ``BayesianNetwork.log_probability``."""
        return self._log_probability(code_evidence(self.variables, self.index, evidence), memory_budget)

    def _log_probability(self, codes: Codes, memory_budget: int = MEMORY_BUDGET) -> float:
        prepared = self._prepare_sum((), codes, None, memory_budget)
        table, log_scale = self._value(prepared, codes)
        return math.log(table) + log_scale if table > 0 else -math.inf

    def query_plan(
        self, targets: Names | None, observed: Names = (), *, order: Sequence[str] | None = None
    ) -> QueryPlan:
        """Return the plan of a question without touching any number. See ``BayesianNetwork.plan``."""
        codes = dict.fromkeys(code_targets(self.index, observed), 0) if observed else {}
        if targets is None:
            prepared = self._prepare_marginals(codes, order)
        else:
            asked = code_targets(self.index, targets)
            free = tuple(target for target in asked if target not in codes and target not in self.constant)
            prepared = self._prepare_sum(free, codes, order)
        return QueryPlan.of(prepared.program, self.variables, tuple(sorted(codes)))

    # ------------------------------------------------------------------ preparing

    def _value(self, prepared: Prepared, codes: Codes) -> Result:
        tables, constant = prepared.sliced({**self.constant, **codes} if self.constant else codes)
        if constant == -math.inf:
            return Result(np.asarray(0.0), 0.0)
        table, log_scale = prepared.program.value(tables)
        return Result(table, log_scale + constant)

    def _prepare_sum(
        self,
        targets: tuple[int, ...],
        observed: Codes,
        order: Sequence[str] | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Prepared:
        what = f"the joint of {len(targets)} variables" if targets else "the probability of the evidence"
        if len(targets) == 1:
            what = f"the posterior of {self.variables[targets[0]].name!r}"

        def build() -> Prepared:
            known = {*observed, *self.constant}
            tables = ancestral(self.parents, [*targets, *observed])
            scopes = {table: [v for v in self.scopes[table] if v not in known] for table in tables}
            if targets:
                near = connected(scopes, targets)
                if all(self.positive[table] for table in tables if table not in near):
                    tables = [table for table in tables if table in near]  # the rest cannot be impossible

            def program(plan: Plan) -> Program:
                plan.check_memory(memory_budget, what)
                return sum_program(plan)

            return self._compile(tables, known, order, program, kept=targets)

        return self._prepare((targets, frozenset(observed), order and tuple(order)), build, memory_budget, what)

    def _prepare_marginals(
        self, observed: Codes, order: Sequence[str] | None = None, memory_budget: int = MEMORY_BUDGET
    ) -> Prepared:
        what = "the table of all marginals"

        def build() -> Prepared:
            known = {*observed, *self.constant}
            tables = range(len(self.variables))

            def program(plan: Plan) -> Program:
                plan.check_memory(memory_budget, what)
                return marginal_program(plan, [number for number in tables if number not in known])

            return self._compile(tables, known, order, program)

        return self._prepare((None, frozenset(observed), order and tuple(order)), build, memory_budget, what)

    def _prepare(self, key: Any, build: Callable[[], Prepared], memory_budget: int, what: str) -> Prepared:
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = build()
            with self._lock:
                while len(self._prepared) >= PLANS_KEPT:
                    del self._prepared[next(iter(self._prepared))]
                self._prepared[key] = prepared
        program = prepared.program
        if program.peak_bytes > memory_budget:
            program.plan.check_memory(memory_budget, what, program.peak_bytes)
        return prepared

    def _check_order(self, order: Sequence[str], scopes: Iterable[Sequence[int]], kept: Sequence[int]) -> list[int]:
        given = [self.index[name] for name in order if name in self.index]
        absent = {variable for scope in scopes for variable in scope} - {*given, *kept}
        if absent:
            raise EvidenceError(f"the order leaves out {listing(self.variables[v].name for v in sorted(absent))}")
        if len(set(given)) != len(order):
            raise EvidenceError(f"an order names each variable once, not {listing(order)}")
        return given

    def _compile(
        self,
        tables: Iterable[int],
        known: set[int],
        order: Sequence[str] | None,
        program: Callable[[Plan], Program],
        kept: tuple[int, ...] = (),
    ) -> Prepared:
        scopes: list[tuple[int, ...]] = []
        heads: list[int | None] = []
        ready: list[FloatArray | None] = []
        slices: list[Slice] = []
        constants: list[tuple[FloatArray, tuple[int, ...]]] = []
        for table in tables:
            scope, values = self.scopes[table], self.values[table]
            observed = tuple((axis, variable) for axis, variable in enumerate(scope) if variable in known)
            if len(observed) == len(scope):
                constants.append((values, scope))
                continue
            if observed:
                template = tuple(None if variable in known else slice(None) for variable in scope)
                slices.append(Slice(len(scopes), values, template, observed))
            ready.append(None if observed else values)
            scopes.append(tuple(variable for variable in scope if variable not in known))
            heads.append(None if table in known else table)
        given = None if order is None else self._check_order(order, scopes, kept)
        plan = make_plan(scopes, self.cardinalities, kept, heads, given)
        return Prepared(program(plan), tuple(ready), tuple(slices), tuple(constants))

    # ------------------------------------------------------------------ impossible evidence

    def _impossible(self, codes: Codes) -> ImpossibleEvidenceError:
        """Return the error that names a smallest part of the evidence that cannot happen."""
        conflict = self._conflict(list(codes.items()))
        named = ", ".join(f"{self.variables[n].name}={self.variables[n].states[code]!r}" for n, code in conflict)
        return ImpossibleEvidenceError(f"the evidence has probability zero; in conflict: {named}")

    def _conflict(self, items: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return a subset of the evidence that is impossible while each proper subset of it is possible.

        The last item of the shortest impossible prefix belongs to the conflict; move it to the front and repeat.
        """
        core: list[tuple[int, int]] = []
        while not self._is_impossible(core):
            low, high = 0, len(items)  # core + items[:low] is possible, core + items[:high] is not
            while high - low > 1:
                middle = (low + high) // 2
                if self._is_impossible([*core, *items[:middle]]):
                    high = middle
                else:
                    low = middle
            core.append(items[high - 1])
            items = items[: high - 1]
        return sorted(core)

    def _is_impossible(self, items: list[tuple[int, int]]) -> bool:
        return self._log_probability(dict(items)) == -math.inf
