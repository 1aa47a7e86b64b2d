"""Preparing a question: from names and evidence to a program ready to run, kept for the next question of its kind.

What has to be computed depends on which variables are asked for, observed, or weighted by likelihoods, and not on any
value. So a :class:`Question` holds just that; it is the key under which the prepared program is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np

from pgm.errors import EvidenceError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.inference.compiling import derivative_program, marginal_program, sum_program
from pgm.inference.contraction import Program
from pgm.inference.evidence import Evidence, ancestral, connected
from pgm.inference.maximum import MarginalMaximizer, Maximizer
from pgm.inference.options import check_budget
from pgm.inference.planning import Plan, make_plan
from pgm.inference.underflow import as_logarithms

__all__ = ["MAX_OPERATIONS", "Model", "Prepared", "Question"]

PLANS_KEPT = 512
"""How many prepared questions are kept; the oldest goes first."""

MAX_OPERATIONS = 10**11
"""Multiplications that a method which trades time for memory takes on unless the caller allows more: some minutes to
half an hour."""


class Question(NamedTuple):
    """What is asked, without any value."""

    kind: Literal["sum", "marginals", "derivatives", "max", "map"]
    """Sum out all but the targets; all marginals; the derivatives by all tables; the best joint state of all; or of the
    targets, the rest summed out."""
    targets: tuple[int, ...]
    observed: frozenset[int]
    soft: frozenset[int] = frozenset()
    """Variables that carry a likelihood vector."""
    order: tuple[str, ...] | None = None
    """An elimination order to use instead of the best one found."""


class Slice(NamedTuple):
    """How to cut the observed variables out of one table."""

    slot: int
    values: FloatArray
    template: tuple[Any, ...]
    observed: tuple[tuple[int, int], ...]
    """Pairs (axis, variable)."""

    def cut(self, table: FloatArray, codes: Mapping[int, int]) -> FloatArray:
        """Return the table, or another of its shape, at the states observed."""
        position = list(self.template)
        for axis, variable in self.observed:
            position[axis] = codes[variable]
        return np.asarray(table[tuple(position)])


class Number(NamedTuple):
    """A table that is a single number once its variables are observed."""

    table: int
    """Which table of the model."""
    values: FloatArray
    variables: tuple[int, ...]

    def at(self, codes: Mapping[int, int]) -> tuple[int, ...]:
        """Return the place of the number."""
        return tuple([codes[variable] for variable in self.variables])


class Prepared(NamedTuple):
    """A question ready to be answered for any values of the observed variables."""

    program: Program
    tables: tuple[Any, ...]
    """One for each table of the plan; None where it must be sliced first."""
    slices: tuple[Slice, ...]
    constants: tuple[Number, ...]
    soft: tuple[int, ...]
    """Variables whose likelihood vectors are the last tables of the plan."""
    numbers: tuple[int, ...]
    """Which table of the model each table of the plan was cut from, likelihoods left out."""
    maximizer: Maximizer | MarginalMaximizer | None = None
    """For questions about the best joint state."""

    def sliced(self, evidence: Evidence) -> tuple[list[FloatArray], float]:
        """Return the tables that agree with the evidence, and the log of the product of those that are numbers."""
        codes = evidence.codes
        tables = list(self.tables)
        for slot, values, template, observed in self.slices:
            position = list(template)
            for axis, variable in observed:
                position[axis] = codes[variable]
            tables[slot] = values[tuple(position)]
        for variable in self.soft:
            tables.append(evidence.likelihoods[variable])
        constant = 0.0
        for _, values, variables in self.constants:
            number = float(values[tuple([codes[variable] for variable in variables])])
            if number == 0:
                return tables, -math.inf
            constant += math.log(number)
        return tables, constant

    def log_sliced(self, evidence: Evidence, logs: Mapping[int, FloatArray]) -> tuple[list[FloatArray], float]:
        """Return the logarithms of what :meth:`sliced` returns.

        Parameters
        ----------
        evidence
            The states observed.
        logs
            Logarithms of some tables of the model, in place of what the tables hold. They have observed variables.
        """
        tables, constant = self.sliced(evidence)
        found = as_logarithms(tables)
        for piece in self.slices:
            table = self.numbers[piece.slot]
            if table in logs:
                found[piece.slot] = piece.cut(logs[table], evidence.codes)
        for single in self.constants:
            if single.table in logs and constant > -math.inf:
                place = single.at(evidence.codes)
                constant += float(logs[single.table][place]) - math.log(single.values[place])
        return found, constant


class _Layout(NamedTuple):
    """The plan of a question and where its tables come from; see :class:`Prepared`."""

    plan: Plan
    tables: tuple[Any, ...]
    slices: tuple[Slice, ...]
    constants: tuple[Number, ...]
    soft: tuple[int, ...]
    numbers: tuple[int, ...]


class Model:
    """The tables of one network, numbered, with the programs prepared so far.

    Parameters
    ----------
    cpts
        One for each variable, in declared order; every parent has one, too.

    Notes
    -----
    Variables of one state carry no information: they are treated as observed throughout (``constant``).
    """

    def __init__(self, cpts: Sequence[CPT]) -> None:
        self.variables: tuple[Variable, ...] = tuple(cpt.child for cpt in cpts)
        self.index = {variable.name: number for number, variable in enumerate(self.variables)}
        self.cardinalities = tuple(variable.cardinality for variable in self.variables)
        self.scopes = tuple(tuple(self.index[name] for name in cpt.names) for cpt in cpts)
        self.parents = tuple(scope[:-1] for scope in self.scopes)
        self.values = tuple(cpt.values for cpt in cpts)
        self.positive = tuple(bool(values.all()) for values in self.values)
        self.entries: tuple[tuple[Callable[[Any], float], Callable[[Mapping[int, int]], Any]], ...] = tuple(
            (values.item, itemgetter(*scope)) for values, scope in zip(self.values, self.scopes, strict=True)
        )
        """For every table what gives its entries, and what picks the place of one from the states of all variables."""
        self.constant = {number: 0 for number, states in enumerate(self.cardinalities) if states == 1}
        self._kept: dict[Hashable, Any] = {}
        self._lock = Lock()

    def prepare(self, question: Question, memory_budget: int = MEMORY_BUDGET) -> Prepared:
        """Return the program for a question, made now or earlier.

        Raises
        ------
        TooLargeError
            If its tables would exceed the memory budget.
        EvidenceError
            If a given order leaves out a variable.
        """
        check_budget(memory_budget)
        prepared: Prepared = self.kept(question, lambda: self.build(question, memory_budget))
        if prepared.program.peak_bytes > memory_budget:
            self._refuse(question, prepared, memory_budget)
        return prepared

    def _refuse(self, question: Question, prepared: Prepared, memory_budget: int) -> None:
        """Raise TooLargeError if the program would exceed the budget."""
        program = prepared.program
        program.plan.check_memory(memory_budget, self._what(question), program.peak_bytes)

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made for a key before, or make it now and keep it; the oldest of many goes."""
        found = self._kept.get(key)
        if found is None:
            found = make()
            with self._lock:
                while len(self._kept) >= PLANS_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = found
        return found

    def _what(self, question: Question) -> str:
        """Return the question in words."""
        if question.kind in ("marginals", "derivatives"):
            return "the table of all marginals"
        if question.kind in ("max", "map"):
            return "the most probable explanation"
        if not question.targets:
            return "the probability of the evidence"
        if len(question.targets) == 1:
            return f"the posterior of {self.variables[question.targets[0]].name!r}"
        return f"the joint of {len(question.targets)} variables"

    def relevant_tables(self, question: Question) -> Sequence[int]:
        """Return the tables that can matter for a question, by number, in increasing order."""
        if question.kind in ("marginals", "derivatives", "max"):
            return range(len(self.variables))
        tables = ancestral(self.parents, [*question.targets, *question.observed, *question.soft])
        if not question.targets:
            return tables
        known = {*question.observed, *self.constant}
        scopes = {table: [v for v in self.scopes[table] if v not in known] for table in tables}
        near = connected(scopes, question.targets)
        far = [table for table in tables if table not in near]
        if question.soft.isdisjoint(far) and all(self.positive[table] for table in far):
            return [table for table in tables if table in near]  # the rest cannot make the evidence impossible
        return tables

    def reduced(
        self, tables: Iterable[int], codes: Mapping[int, int]
    ) -> Iterator[tuple[int, tuple[int, ...], FloatArray]]:
        """Yield some tables with the observed variables sliced out: number, scope that is left, values.

        >>> import pgm
        >>> model = Model(pgm.networks.load("asia").cpts)
        >>> [(scope, values.tolist()) for _, scope, values in model.reduced([1], {0: 1})]
        [((1,), [0.01, 0.99])]
        """
        for table in tables:
            scope = self.scopes[table]
            position = tuple([codes.get(variable, slice(None)) for variable in scope])
            yield table, tuple([v for v in scope if v not in codes]), np.asarray(self.values[table][position])

    def plan(self, question: Question) -> Plan:
        """Return the plan for a question, however large its tables."""
        return self._lay_out(question).plan

    def build(self, question: Question, memory_budget: int = MEMORY_BUDGET) -> Prepared:
        """Return the program for a question, made now and not kept. Raises as :meth:`prepare` does."""
        layout = self._lay_out(question)
        layout.plan.check_memory(memory_budget, self._what(question), layout.plan.largest_stored * 8)
        prepared = self._compiled(question, layout, memory_budget)
        self._refuse(question, prepared, memory_budget)
        return prepared

    def _compiled(self, question: Question, layout: _Layout, memory_budget: int) -> Prepared:
        plan, what = layout.plan, self._what(question)
        parts = layout.tables, layout.slices, layout.constants, layout.soft, layout.numbers
        if question.kind == "derivatives":
            return Prepared(derivative_program(plan), *parts)
        if question.kind == "max":
            maximizer = Maximizer(plan.scopes[: plan.n_tables], self.cardinalities, plan)
            return Prepared(maximizer.program, *parts, maximizer)
        if question.kind == "map":
            marginal = MarginalMaximizer.compile(plan)
            marginal.maximizer.plan.check_memory(memory_budget, what)
            return Prepared(marginal.sums, *parts, marginal)
        if question.kind == "marginals":
            hidden = [v for v in range(len(self.variables)) if v not in question.observed and v not in self.constant]
            return Prepared(marginal_program(plan, hidden), *parts)
        plan.check_memory(memory_budget, what)
        return Prepared(sum_program(plan), *parts)

    def _lay_out(self, question: Question) -> _Layout:
        known = {*question.observed, *self.constant}
        scopes: list[tuple[int, ...]] = []
        heads: list[int | None] = []
        numbers: list[int] = []
        ready: list[FloatArray | None] = []
        slices: list[Slice] = []
        constants: list[Number] = []
        for table in self.relevant_tables(question):
            scope, values = self.scopes[table], self.values[table]
            observed = tuple((axis, variable) for axis, variable in enumerate(scope) if variable in known)
            if len(observed) == len(scope):
                constants.append(Number(table, values, scope))
                continue
            if observed:
                template = tuple(None if variable in known else slice(None) for variable in scope)
                slices.append(Slice(len(scopes), values, template, observed))
            numbers.append(table)
            ready.append(None if observed else values)
            scopes.append(tuple(variable for variable in scope if variable not in known))
            heads.append(None if table in known or question.kind == "max" else table)
        soft = tuple(sorted(question.soft - known))
        scopes += [(variable,) for variable in soft]
        heads += [None] * len(soft)
        order = None if question.order is None else self._numbered(question.order, scopes, question.targets)
        plan = make_plan(scopes, self.cardinalities, question.targets, heads, order)
        return _Layout(plan, tuple(ready), tuple(slices), tuple(constants), soft, tuple(numbers))

    def _numbered(self, order: Sequence[str], scopes: Iterable[Sequence[int]], kept: Sequence[int]) -> list[int]:
        given = [self.index[name] for name in order if name in self.index]
        absent = {variable for scope in scopes for variable in scope} - {*given, *kept}
        if absent:
            raise EvidenceError(f"the order leaves out {listing(self.variables[v].name for v in sorted(absent))}")
        if len(set(given)) != len(order):
            raise EvidenceError(f"an order names each variable once, not {listing(order)}")
        return given
