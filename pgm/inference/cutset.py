"""The cutset of a question: which variables to fix so that what is left fits a memory budget.

Where the tables of a question are too large, fix some of its variables, the *cutset*, in each of their joint states in
turn (:mod:`pgm.inference.conditioning`). The tables shrink by about the number of those states, and the work grows by
at most as much; it can even fall, because with the cutset fixed there are better elimination orders.

The cutset is chosen greedily. The clique that costs most must shrink, so the next variable is one of its members: that
after which instantiations times operations is least. How much each member saves is read off the present plan; for the
most promising ones new plans are made. Variables that later choices have made superfluous are dropped at the end.

References
----------
Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.4.2. Bidyuk and Dechter (2004), "On finding
minimal w-cutset".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pgm.errors import TooLargeError
from pgm.factors.factor import FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET, format_bytes, format_count
from pgm.inference.compiling import marginal_program, sum_program
from pgm.inference.contraction import Program
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference
from pgm.inference.options import check_budget, checked_number
from pgm.inference.planning import Plan, make_plan
from pgm.inference.preparing import MAX_OPERATIONS, Model, Question

__all__ = ["Conditioned", "Cutset", "Limits", "Problem", "choose_cutset", "conditioned"]

STEP_COST = 2000
"""What a step costs at least, in multiplications: the time that Python takes to start it."""

PASSES = {"sum": 1, "marginals": 3}
"""How often each clique is gone through: marginals need a backward pass towards two operands as well."""

LOOKAHEAD = 4
"""For so many candidates the plan with the candidate fixed is made before the next cutset variable is chosen."""

HOPELESS = 100
"""A search whose work exceeds the limit so many times is given up: fixing more variables rarely saves work."""


@dataclass(frozen=True, slots=True)
class Cutset:
    """Variables to fix so that a question fits a memory budget, and what that will cost."""

    variables: tuple[str, ...]
    """The cutset, in the order chosen; empty if the question fits without."""
    instantiations: int
    """Joint states of the cutset, each of which is a question of its own."""
    operations: int
    """Estimated multiplications of each of them."""
    memory: int
    """Upper bound of the bytes that the tables of one take at once."""

    @property
    def work(self) -> int:
        """Instantiations times operations."""
        return self.instantiations * self.operations

    def __str__(self) -> str:
        return (
            f"cutset {', '.join(self.variables) or '-'}: {format_count(self.instantiations)} instantiations of "
            f"{format_count(self.operations)} operations, {format_bytes(self.memory)}"
        )


def choose_cutset(
    engine: ExactInference,
    targets: Names | None = None,
    observed: Names = (),
    *,
    memory_budget: int = MEMORY_BUDGET,
    max_operations: float = MAX_OPERATIONS,
) -> Cutset:
    """Return the cutset with which a question will be answered, and what that costs; no probability is touched.

    Parameters
    ----------
    engine
        The network.
    targets
        One name or several; None for all marginals.
    observed
        Names that will be observed; their values do not matter.
    memory_budget
        Bytes that the tables of one instantiation may take at once.
    max_operations
        Most instantiations times operations to take on.

    Raises
    ------
    TooLargeError
        If it would take more work than allowed, with both numbers.

    Notes
    -----
    Deterministic. Each variable of the cutset costs up to ``LOOKAHEAD`` plans, and one more to see whether it is
    superfluous.

    Examples
    --------
    >>> import pgm
    >>> insurance = ExactInference(pgm.networks.load("insurance").cpts)
    >>> print(choose_cutset(insurance, observed="MedCost", memory_budget=100_000))
    cutset VehicleYear: 2 instantiations of 187,200 operations, 40.7 kB
    """
    seen = frozenset(code_targets(engine.index, observed)) if observed else frozenset()
    asked = code_targets(engine.index, targets) if targets is not None else ()
    free = tuple(target for target in asked if target not in seen and target not in engine.constant)
    question = Question("marginals" if targets is None else "sum", free, seen)
    return conditioned(engine, question, Limits(memory_budget, max_operations)).cutset


class Problem(NamedTuple):
    """The tables of a question after slicing, as scopes."""

    question: Question
    numbers: tuple[int, ...]
    """The tables."""
    soft: tuple[int, ...]
    """Variables whose likelihood vectors follow the tables."""
    scopes: tuple[tuple[int, ...], ...]
    heads: tuple[int | None, ...]
    """For each table the unobserved variable of which it is a conditional distribution, or None."""
    cardinalities: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, question: Question) -> Problem:
        """Return the tables that can matter for a question."""
        known = {*question.observed, *model.constant}
        numbers = tuple(model.relevant_tables(question))
        soft = tuple(sorted(question.soft - known))
        scopes = [tuple(v for v in model.scopes[table] if v not in known) for table in numbers]
        scopes += [(variable,) for variable in soft]
        heads = (*(None if table in known else table for table in numbers), *(None for _ in soft))
        return cls(question, numbers, soft, tuple(scopes), heads, model.cardinalities)

    def tables(self, engine: ExactInference, known: Evidence) -> list[FloatArray]:
        """Return the tables that agree with the evidence."""
        codes = engine.with_constants(known).codes
        tables = [values for _, _, values in engine.reduced(self.numbers, codes)]
        return [*tables, *(known.likelihoods[variable] for variable in self.soft)]

    def plan(self, cutset: Sequence[int]) -> Plan:
        """Return the plan for any state of the cutset."""
        left = [tuple(v for v in scope if v not in cutset) for scope in self.scopes]
        heads = [None if head in cutset else head for head in self.heads]
        real = [table for table, scope in enumerate(left) if scope]
        kept = [target for target in self.question.targets if target not in cutset]
        return make_plan([left[t] for t in real], self.cardinalities, kept, [heads[t] for t in real])

    def program(self, plan: Plan, memory_budget: float) -> Program | None:
        """Return the program of a plan, or None if its tables exceed the budget."""
        if plan.largest_table * 8 > memory_budget:
            return None
        hidden = sorted({variable for scope in plan.scopes for variable in scope})
        try:
            program = sum_program(plan) if self.question.kind == "sum" else marginal_program(plan, hidden)
        except TooLargeError:  # more axes than a step can have
            return None
        return program if program.peak_bytes <= memory_budget else None


class Conditioned(NamedTuple):
    """A question ready to be answered for all states of its cutset."""

    problem: Problem
    variables: tuple[int, ...]
    """The cutset."""
    program: Program
    """What answers the question for one state of the cutset."""
    cutset: Cutset


# ---------------------------------------------------------------------- choosing the cutset


class Limits(NamedTuple):
    """What one question may take."""

    memory_budget: float
    """Bytes that the tables of one instantiation may take at once."""
    max_operations: float
    """Instantiations times operations."""

    def check(self) -> None:
        """Raise EvidenceError unless both are positive numbers."""
        check_budget(self.memory_budget)
        checked_number(self.max_operations, "max_operations", "a positive number of operations", math.nextafter(0, 1))


def conditioned(engine: ExactInference, question: Question, limits: Limits) -> Conditioned:
    """Return the question with its cutset, chosen now or earlier."""
    limits.check()
    return engine.kept(("cutset", question, limits), lambda: _search(engine, question, limits))  # type: ignore[no-any-return]


def _search(engine: ExactInference, question: Question, limits: Limits) -> Conditioned:
    problem = Problem.of(engine, question)
    chosen: list[int] = []
    plan = problem.plan(chosen)
    program = problem.program(plan, limits.memory_budget)
    while program is None:
        _check_work(problem, chosen, plan, limits, HOPELESS)
        variable, plan = _next(problem, chosen, plan, limits)
        chosen.append(variable)
        program = problem.program(plan, limits.memory_budget)
    for variable in chosen[:-1]:  # without the last it did not fit
        rest = [other for other in chosen if other != variable]
        shorter = problem.plan(rest)
        found = problem.program(shorter, limits.memory_budget)
        if found is not None and _cells(rest, shorter) <= _cells(chosen, plan):
            chosen, plan, program = rest, shorter, found
    _check_work(problem, chosen, plan, limits)
    names = tuple(engine.variables[variable].name for variable in chosen)
    cutset = Cutset(names, plan.cells(chosen), _operations(problem, plan), program.peak_bytes)
    return Conditioned(problem, tuple(chosen), program, cutset)


def _next(problem: Problem, chosen: Sequence[int], plan: Plan, limits: Limits) -> tuple[int, Plan]:
    """Return the variable to fix next, and the plan with it."""
    cliques = _cliques(plan)
    _, largest = max(cliques, key=lambda clique: clique[0])
    if not largest:
        limit = format_bytes(int(limits.memory_budget))
        raise TooLargeError(f"the memory budget of {limit} is too small even with every variable fixed")
    total = sum(cells for cells, _ in cliques)
    saved = dict.fromkeys(sorted(largest), 0)
    for cells, clique in cliques:
        for variable in saved.keys() & set(clique):
            saved[variable] += cells
    states = problem.cardinalities

    def estimate(variable: int) -> int:  # of the work, by the present plan
        return (total - saved[variable]) * states[variable] + saved[variable]

    candidates = sorted(saved, key=lambda variable: (estimate(variable), variable))[:LOOKAHEAD]
    plans = {variable: problem.plan([*chosen, variable]) for variable in candidates}
    best = min(candidates, key=lambda variable: (_cells([*chosen, variable], plans[variable]), variable))
    return best, plans[best]


def _cliques(plan: Plan) -> list[tuple[int, tuple[int, ...]]]:
    """Return size and variables of the clique of every step, and of the answer."""
    scopes = [*(plan.joint_scope(step) for step in plan.steps), plan.kept]
    return [(plan.cells(scope), scope) for scope in scopes]


def _cells(cutset: Sequence[int], plan: Plan) -> int:
    """Return the cells of all cliques in all instantiations."""
    return plan.cells(cutset) * sum(cells for cells, _ in _cliques(plan))


def _operations(problem: Problem, plan: Plan) -> int:
    return PASSES[problem.question.kind] * sum(max(cells, STEP_COST) for cells, _ in _cliques(plan))


def _check_work(problem: Problem, chosen: Sequence[int], plan: Plan, limits: Limits, tolerance: int = 1) -> None:
    """Raise if the work exceeds the limit, or a multiple of it."""
    count, operations = plan.cells(chosen), _operations(problem, plan)
    if count * operations > limits.max_operations * tolerance:
        raise TooLargeError(
            f"to stay within {format_bytes(int(limits.memory_budget))} would take, with {len(chosen)} variables fixed, "
            f"{format_count(count)} instantiations of {format_count(operations)} operations each; the limit is "
            f"{format_count(int(limits.max_operations))} operations in all"
        )
