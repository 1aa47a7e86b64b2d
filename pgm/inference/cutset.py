"""Cutset conditioning: exact answers within a memory budget, paid for with time.

Where the tables of a question are too large, fix some of its variables, the *cutset* C, in each of their joint states
in turn. Every state is a question of its own with smaller tables, and the answers add up:

    P(targets, e) = sum over c of P(targets, e, c)        P(X | e) = sum over c of P(c | e) P(X | e, c)

The result is exact. The tables shrink by about the number of states of C, and the work grows by at most as much; it can
even fall, because with C fixed there are better elimination orders. One plan serves all states of C.

The cutset is chosen greedily. The clique that costs most must shrink, so the next variable is one of its members: that
after which instantiations times operations is least. How much each member saves is read off the present plan; for the
most promising ones new plans are made. Variables that later choices have made superfluous are dropped at the end.

References
----------
Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.4.2. Darwiche (2009), *Modeling and
Reasoning with Bayesian Networks*, chapter 8. Dechter (1999), "Bucket elimination: a unifying framework for reasoning".
Bidyuk and Dechter (2004), "On finding minimal w-cutset".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as joint_states
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError, listing
from pgm.factors.factor import MEMORY_BUDGET, Factor, FloatArray, Names, check_size, format_bytes, format_count
from pgm.factors.variable import Label
from pgm.inference.contraction import Program, marginal_program, sum_program
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.planning import Plan, make_plan
from pgm.inference.preparing import Model, Question
from pgm.progress import Progress

__all__ = ["MAX_OPERATIONS", "Cutset", "choose_cutset", "log_probability", "marginals", "posterior", "reduced"]

MAX_OPERATIONS = 10**11
"""Instantiations times operations that are taken on unless the caller allows more: some minutes to half an hour."""

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


# ---------------------------------------------------------------------- questions


def posterior(
    engine: ExactInference,
    targets: Names,
    evidence: Mapping[str, Label] | None = None,
    *,
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
    max_operations: float = MAX_OPERATIONS,
    progress: bool = True,
) -> Factor:
    """Return P(targets | evidence), computed within a memory budget by conditioning on a cutset.

    Parameters
    ----------
    engine
        The network.
    targets, evidence, likelihoods
        As in ``BayesianNetwork.query``.
    memory_budget
        Bytes that the tables of one instantiation may take at once; the answer itself comes on top.
    max_operations
        Most instantiations times operations to take on.
    progress
        Whether to show a progress bar if it lasts.

    Raises
    ------
    ImpossibleEvidenceError
        If P(evidence) = 0.
    TooLargeError
        If it would take more work than allowed, with both numbers; or if the answer exceeds the budget. Nothing is
        allocated.

    Notes
    -----
    A question that fits the budget is answered as ever, with the empty cutset. The choice is kept and used again for
    questions with the same targets and observed variables.

    Examples
    --------
    >>> import pgm
    >>> alarm = pgm.networks.load("alarm")
    >>> evidence = {"HRBP": "HIGH", "BP": "LOW"}
    >>> found = posterior(ExactInference(alarm.cpts), "LVFAILURE", evidence, memory_budget=2_000)
    >>> found.allclose(alarm.query("LVFAILURE", evidence))
    True
    """
    asked = code_targets(engine.index, targets)
    known = engine.code(evidence, likelihoods)
    check_size([engine.cardinalities[t] for t in asked], f"the joint of {len(asked)} variables", memory_budget)
    total, conditioned = _summed(engine, asked, known, _Limits(memory_budget, max_operations), progress)
    if total.log_scale == -math.inf:
        raise _impossible(engine, known, conditioned)
    scope = tuple(engine.variables[target] for target in asked)
    joint = np.zeros([variable.cardinality for variable in scope])
    fixed = {**engine.constant, **known.codes}
    joint[tuple(fixed.get(target, slice(None)) for target in asked)] = total.values / total.values.sum()
    return Factor._of(scope, joint)


def log_probability(
    engine: ExactInference,
    evidence: Mapping[str, Label] | None = None,
    *,
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
    max_operations: float = MAX_OPERATIONS,
    progress: bool = True,
) -> float:
    """Return ln P(evidence), minus infinity if it is impossible, computed within a memory budget.

    Parameters and errors as for :func:`posterior`.

    >>> import pgm
    >>> alarm = pgm.networks.load("alarm")
    >>> evidence = {"HRBP": "HIGH", "BP": "LOW"}
    >>> found = log_probability(ExactInference(alarm.cpts), evidence, memory_budget=2_000)
    >>> round(found - alarm.log_probability(evidence), 12)
    0.0
    """
    try:
        known = engine.code(evidence, likelihoods)
    except ImpossibleEvidenceError:  # a likelihood that rules out what is observed
        return -math.inf
    total, _ = _summed(engine, (), known, _Limits(memory_budget, max_operations), progress)
    return math.log(total.values) + total.log_scale + known.log_scale if total.values > 0 else -math.inf


def marginals(
    engine: ExactInference,
    evidence: Mapping[str, Label] | None = None,
    *,
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
    max_operations: float = MAX_OPERATIONS,
    progress: bool = True,
) -> dict[str, Factor]:
    """Return the posterior of every unobserved variable, in declared order, computed within a memory budget.

    Each instantiation gives all marginals by one forward and one backward pass; they are averaged with the weights
    P(c | evidence), and the weights themselves give the marginals of the cutset. Parameters and errors as for
    :func:`posterior`.

    >>> import pgm
    >>> alarm = pgm.networks.load("alarm")
    >>> found = marginals(ExactInference(alarm.cpts), {"HRBP": "HIGH"}, memory_budget=6_000)
    >>> all(factor.allclose(alarm.query(name, {"HRBP": "HIGH"})) for name, factor in found.items())
    True
    """
    known = engine.code(evidence, likelihoods)
    question = Question("marginals", (), frozenset(known.codes), frozenset(known.likelihoods))
    conditioned = _conditioned(engine, question, _Limits(memory_budget, max_operations))
    program, places = conditioned.program, dict(conditioned.program.places)
    size = 1 + sum(stop - start for start, stop in places.values())
    places = {variable: (start + 1, stop + 1) for variable, (start, stop) in places.items()}
    for variable in conditioned.variables:
        places[variable] = (size, size + engine.cardinalities[variable])
        size = places[variable][1]
    total = _LogSum((size,))
    for codes, tables, log_scale in conditioned.instantiations(engine, known, progress):
        output, log_value = program.marginals(tables)
        if log_value == -math.inf:
            continue
        row = np.zeros(size)  # one, the marginals, and the states of the cutset: all are weighted by P(e, c)
        row[0] = 1.0
        row[1 : output.size + 1] = output
        for variable, code in zip(conditioned.variables, codes, strict=True):
            row[places[variable][0] + code] = 1.0
        total.add((), row, log_scale + log_value)
    if total.log_scale == -math.inf:
        raise _impossible(engine, known, conditioned)
    hidden = [number for number in range(len(engine.variables)) if number not in known.codes]
    parts = {number: total.values[slice(*places[number])] if number in places else np.ones(1) for number in hidden}
    return {
        engine.variables[number].name: Factor._of((engine.variables[number],), part / part.sum())
        for number, part in parts.items()
    }


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
    memory_budget, max_operations
        As for :func:`posterior`.

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
    return _conditioned(engine, question, _Limits(memory_budget, max_operations)).cutset


def _summed(
    engine: ExactInference, asked: Sequence[int], known: Evidence, limits: _Limits, progress: bool
) -> tuple[_LogSum, _Conditioned]:
    """Return P(those asked that are free, evidence), up to what cannot change the posterior, and how it was found."""
    free = tuple(target for target in asked if target not in known.codes and target not in engine.constant)
    question = Question("sum", free, frozenset(known.codes), frozenset(known.likelihoods))
    conditioned = _conditioned(engine, question, limits)
    position = {variable: place for place, variable in enumerate(conditioned.variables)}
    total = _LogSum([engine.cardinalities[target] for target in free])
    for codes, tables, log_scale in conditioned.instantiations(engine, known, progress):
        place = tuple(codes[position[target]] if target in position else slice(None) for target in free)
        table, own_scale = conditioned.program.value(tables)
        total.add(place, table, log_scale + own_scale)
    return total, conditioned


def _impossible(engine: ExactInference, known: Evidence, conditioned: _Conditioned) -> ImpossibleEvidenceError:
    if not conditioned.variables:
        return engine.impossible(known)
    names = [engine.variables[number].name for number in sorted({*known.codes, *known.likelihoods})]
    return ImpossibleEvidenceError(
        f"the evidence has probability zero; the conflict is somewhere among {listing(names)}, and was not narrowed "
        "down because the question exceeds the memory budget"
    )


class _LogSum:
    """A sum of tables, each given with the logarithm of a scale: ``values * exp(log_scale)``; nothing underflows."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.values = np.zeros(shape)
        self.log_scale = -math.inf

    def add(self, place: tuple[Any, ...], table: Any, log_scale: float) -> None:
        peak = float(np.max(table))
        if not peak > 0:
            return
        log_peak = log_scale + math.log(peak)
        if log_peak > self.log_scale:
            self.values *= math.exp(self.log_scale - log_peak)
            self.log_scale = log_peak
        self.values[place] += table * (math.exp(log_peak - self.log_scale) / peak)


# ---------------------------------------------------------------------- instantiations

Place: TypeAlias = tuple[int | None, ...]
"""For every axis of a table its variable's position in the cutset, or None if it is not in it."""


def reduced(
    model: Model, tables: Sequence[int], codes: Mapping[int, int]
) -> Iterator[tuple[int, tuple[int, ...], FloatArray]]:
    """Yield some tables of a network with the observed variables sliced out: number, scope left, values.

    >>> import pgm
    >>> model = Model(pgm.networks.load("asia").cpts)
    >>> [(scope, values.tolist()) for _, scope, values in reduced(model, [1], {0: 1})]
    [((1,), [0.01, 0.99])]
    """
    for table in tables:
        scope = model.scopes[table]
        position = tuple(codes.get(variable, slice(None)) for variable in scope)
        yield table, tuple(v for v in scope if v not in codes), np.asarray(model.values[table][position])


class _Problem(NamedTuple):
    """The tables of a question after slicing, as scopes."""

    question: Question
    numbers: tuple[int, ...]
    soft: tuple[int, ...]
    """Variables whose likelihood vectors follow the tables."""
    scopes: tuple[tuple[int, ...], ...]
    heads: tuple[int | None, ...]
    """For each table the unobserved variable of which it is a conditional distribution, or None."""
    cardinalities: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, question: Question) -> _Problem:
        known = {**dict.fromkeys(question.observed, 0), **model.constant}
        numbers = tuple(model._needed(question, set(known)))
        soft = tuple(sorted(question.soft - known.keys()))
        scopes = [tuple(v for v in model.scopes[table] if v not in known) for table in numbers]
        scopes += [(variable,) for variable in soft]
        heads = (*(None if table in known else table for table in numbers), *(None for _ in soft))
        return cls(question, numbers, soft, tuple(scopes), heads, model.cardinalities)

    def tables(self, engine: ExactInference, known: Evidence) -> list[FloatArray]:
        """Return the tables that agree with the evidence."""
        codes = engine.with_constants(known).codes
        tables = [values for _, _, values in reduced(engine, self.numbers, codes)]
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


class _Conditioned(NamedTuple):
    """A question ready to be answered for all states of its cutset."""

    problem: _Problem
    variables: tuple[int, ...]
    program: Program
    cutset: Cutset

    def instantiations(
        self, engine: ExactInference, known: Evidence, progress: bool
    ) -> Iterator[tuple[tuple[int, ...], list[FloatArray], float]]:
        """Yield the states of the cutset that may be possible, each with the tables of the plan and a log scale."""
        ready, cuts, numbers = self._cut(self.problem.tables(engine, known))
        ranges = [range(self.problem.cardinalities[variable]) for variable in self.variables]
        with Progress("conditioning", total=self.cutset.instantiations, show=progress) as bar:
            for codes in joint_states(*ranges):
                bar.step()
                entries = [float(values[_at(place, codes)]) for values, place in numbers]
                if 0.0 in entries:
                    continue
                for slot, values, place in cuts:
                    ready[slot] = values[_at(place, codes)]
                yield codes, ready, sum(map(math.log, entries))

    def _cut(
        self, tables: Sequence[FloatArray]
    ) -> tuple[list[FloatArray], list[tuple[int, FloatArray, Place]], list[tuple[FloatArray, Place]]]:
        """Return the tables of the plan, which of them to slice for each state, and those of which numbers are left."""
        position = {variable: place for place, variable in enumerate(self.variables)}
        ready: list[FloatArray] = []
        cuts: list[tuple[int, FloatArray, Place]] = []
        numbers: list[tuple[FloatArray, Place]] = []
        for scope, values in zip(self.problem.scopes, tables, strict=True):
            place = tuple(position.get(variable) for variable in scope)
            if None not in place:
                numbers.append((values, place))
                continue
            if any(variable in position for variable in scope):
                cuts.append((len(ready), values, place))
            ready.append(values)
        return ready, cuts, numbers


def _at(place: Place, codes: Sequence[int]) -> tuple[int | slice, ...]:
    return tuple([slice(None) if position is None else codes[position] for position in place])


# ---------------------------------------------------------------------- choosing the cutset


class _Limits(NamedTuple):
    memory_budget: float
    max_operations: float

    def check(self) -> None:
        for name, limit, unit in zip(self._fields, self, ("bytes", "operations"), strict=True):
            if not (isinstance(limit, (int, float)) and limit > 0):
                raise EvidenceError(f"{name} is a positive number of {unit}, not {limit!r}")


def _conditioned(engine: ExactInference, question: Question, limits: _Limits) -> _Conditioned:
    """Return the question with its cutset, chosen now or earlier."""
    limits.check()
    return engine.kept(("cutset", question, limits), lambda: _search(engine, question, limits))  # type: ignore[no-any-return]


def _search(engine: ExactInference, question: Question, limits: _Limits) -> _Conditioned:
    problem = _Problem.of(engine, question)
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
    return _Conditioned(problem, tuple(chosen), program, cutset)


def _next(problem: _Problem, chosen: Sequence[int], plan: Plan, limits: _Limits) -> tuple[int, Plan]:
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


def _operations(problem: _Problem, plan: Plan) -> int:
    return PASSES[problem.question.kind] * sum(max(cells, STEP_COST) for cells, _ in _cliques(plan))


def _check_work(problem: _Problem, chosen: Sequence[int], plan: Plan, limits: _Limits, tolerance: int = 1) -> None:
    """Raise if the work exceeds the limit, or a multiple of it."""
    count, operations = plan.cells(chosen), _operations(problem, plan)
    if count * operations > limits.max_operations * tolerance:
        raise TooLargeError(
            f"to stay within {format_bytes(int(limits.memory_budget))} would take, with {len(chosen)} variables fixed, "
            f"{format_count(count)} instantiations of {format_count(operations)} operations each; the limit is "
            f"{format_count(int(limits.max_operations))} operations in all"
        )
