"""Understanding an answer: what it depends on, and what to observe next.

- *Families.* The joint posterior of every variable and its parents, all from one backward pass.
- *Sensitivity.* A posterior is a ratio of two linear functions of any one parameter (Castillo, Gutierrez and Hadi
  1997), whose coefficients are derivatives that two backward passes give for all parameters at once.
- *Information.* How much observing each variable would tell about a target, from one pass for each state of the target.
- *Impact* and *conflict* of evidence.

References
----------
Darwiche (2009), *Modeling and Reasoning with Bayesian Networks*, chapters 12 and 16. Jensen and Nielsen (2007),
*Bayesian Networks and Decision Graphs*, section 5.2 (conflict).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from pgm.errors import EvidenceError, listing
from pgm.factors.factor import Factor, FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label, Variable
from pgm.inference.evidence import Evidence, code_targets, relative
from pgm.inference.exact import ExactInference
from pgm.inference.options import checked_count, checked_number
from pgm.inference.preparing import Question
from pgm.inference.records import Record

__all__ = [
    "Impact",
    "ParameterRange",
    "Sensitivity",
    "conflict",
    "derivatives",
    "evidence_impact",
    "families",
    "mutual_information",
    "sensitivity",
]


def derivatives(
    engine: ExactInference, known: Evidence, memory_budget: int = MEMORY_BUDGET
) -> tuple[list[FloatArray], float]:
    """Return d ln P(e) / d entry for every entry of every table, each of the shape of its table, and ln P(e).

    Entries that contradict the evidence have derivative 0: they do not occur in P(e). Impossible evidence has none.
    """
    question = Question("derivatives", (), frozenset(known.codes), frozenset(known.likelihoods))
    prepared = engine.prepare(question, memory_budget)
    tables, constant = prepared.sliced(engine.with_constants(known))
    if constant == -math.inf:
        return [], -math.inf
    found, log_value = prepared.program.derivatives(tables)
    if log_value == -math.inf:
        return [], -math.inf
    codes = {**engine.constant, **known.codes}
    whole = [np.zeros(values.shape) for values in engine.values]
    for number, derivative in zip(prepared.numbers, found, strict=False):
        place = tuple(codes.get(variable, slice(None)) for variable in engine.scopes[number])
        whole[number][place] = derivative
    for number in set(range(len(engine.values))).difference(prepared.numbers):
        place = tuple(codes[variable] for variable in engine.scopes[number])
        whole[number][place] = 1.0 / engine.values[number][place]
    return whole, log_value + constant + known.log_scale


def families(engine: ExactInference, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> dict[str, Factor]:
    """Return P(parents, child | evidence) for every variable, in declared order."""
    found, log_value = derivatives(engine, known, memory_budget)
    if log_value == -math.inf:
        raise engine.impossible(known, memory_budget)
    answer = {}
    for values, derivative, scope in zip(engine.values, found, engine.scopes, strict=True):
        variables = tuple(engine.variables[number] for number in scope)
        answer[variables[-1].name] = Factor._of(variables, values * derivative)
    return answer


@dataclass(frozen=True, slots=True)
class ParameterRange(Record):
    """How far a posterior moves when one parameter does."""

    variable: str
    """The child of the table."""
    parents: Mapping[str, Label]
    """The row of the table."""
    state: Label
    """The child's state: the parameter is P(state | parents)."""
    value: float
    """The parameter as it is."""
    low: float
    """The smallest posterior over the range of the parameter."""
    high: float
    """The largest."""


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity(Record):
    """How the posterior of one state depends on every parameter of a network.

    When a parameter moves, the other parameters of its row move in proportion, so that the row still sums to one.
    """

    target: str
    state: Label
    posterior: float
    """P(target = state | evidence)."""
    derivatives: Mapping[str, FloatArray] = field(repr=False)
    """By child: d posterior / d parameter, of the shape of its table."""
    _linear: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]] = field(repr=False)
    """By child: the table, and the derivatives of P(target = state, e) / P(e) and of P(e) / P(e)."""
    _scopes: Mapping[str, tuple[Variable, ...]] = field(repr=False)
    """By child: the variables of its table, in the order of the axes."""

    def tornado(self, spread: float = 0.1, top: int = 10) -> tuple[ParameterRange, ...]:
        """Return the parameters that move the posterior most, widest range first.

        Parameters
        ----------
        spread
            By which part of itself each parameter varies: p over p (1 - spread) to p (1 + spread), within 0 and 1. So
            0.1 moves 0.5 by 0.05, and 0.001 by 0.0001.
        top
            How many to return.
        """
        spread = checked_number(spread, "spread", "a number above 0, at most 1", math.nextafter(0, 1), 1)
        top = checked_count(top, "top")
        ranges = []
        for child, (values, joint, evidence) in self._linear.items():
            free = (values > 0) & (values < 1)
            ends = []
            for end in (values * (1 - spread), np.minimum(values * (1 + spread), 1.0)):
                step = end - values
                below = 1 + evidence * step
                ends.append(
                    np.divide(self.posterior + joint * step, below, out=np.full(values.shape, np.nan), where=below > 0)
                )
            low, high = np.fmin(*ends).clip(0, 1), np.fmax(*ends).clip(0, 1)
            for place in zip(*np.nonzero(free & (high > low)), strict=True):
                ranges.append((float(high[place] - low[place]), child, place, float(low[place]), float(high[place])))
        ranges.sort(key=lambda item: (-item[0], item[1], item[2]))
        return tuple(self._named(child, place, low, high) for _, child, place, low, high in ranges[:top])

    def _named(self, child: str, place: tuple[int, ...], low: float, high: float) -> ParameterRange:
        scope, (values, _, _) = self._scopes[child], self._linear[child]
        labels = [variable.states[code] for variable, code in zip(scope, place, strict=True)]
        parents = {variable.name: label for variable, label in zip(scope[:-1], labels[:-1], strict=True)}
        return ParameterRange(child, parents, labels[-1], float(values[place]), low, high)


def _covaried(values: FloatArray, derivative: FloatArray) -> FloatArray:
    """Return the derivative along a row that keeps its sum: the others shrink in proportion.

    Where the parameter is 1 the others are all 0 and share equally.
    """
    size = values.shape[-1]
    if size == 1:
        return np.zeros(values.shape)  # a row of one number cannot move
    weighted = (values * derivative).sum(axis=-1, keepdims=True) - values * derivative
    rest = 1.0 - values
    equal = (derivative.sum(axis=-1, keepdims=True) - derivative) / (size - 1)
    others = np.divide(weighted, rest, out=equal, where=rest > 1e-12)
    return np.asarray(derivative - others)


def sensitivity(
    engine: ExactInference, target: Names, state: Label, known: Evidence, memory_budget: int = MEMORY_BUDGET
) -> Sensitivity:
    """Return how P(target = state | evidence) depends on every parameter."""
    number, asked = _only_target(engine, target)
    code = engine.variables[number].code(state)
    if number in known.codes:
        raise EvidenceError(f"{asked!r} is observed; its posterior depends on no parameter")
    below, log_evidence = derivatives(engine, known, memory_budget)
    if log_evidence == -math.inf:
        raise engine.impossible(known, memory_budget)
    likelihoods = {n: vector for n, vector in known.likelihoods.items() if n != number}
    shift = math.log(known.likelihoods[number][code]) if number in known.likelihoods else 0.0
    joint = Evidence({**known.codes, number: code}, likelihoods, known.log_scale)
    above, log_joint = derivatives(engine, joint, memory_budget)
    if log_joint == -math.inf:
        raise EvidenceError(f"{asked}={state!r} has probability zero given the evidence")
    posterior = math.exp(log_joint + shift - log_evidence)
    found, linear = {}, {}
    for n, values in enumerate(engine.values):
        numerator = _covaried(values, posterior * above[n])
        denominator = _covaried(values, below[n])
        name = engine.variables[n].name
        found[name] = numerator - posterior * denominator
        linear[name] = values, numerator, denominator
        for array in (found[name], numerator, denominator):
            array.setflags(write=False)
    scopes = [tuple([engine.variables[v] for v in scope]) for scope in engine.scopes]
    return Sensitivity(asked, state, posterior, found, linear, {scope[-1].name: scope for scope in scopes})


def _only_target(engine: ExactInference, target: Names) -> tuple[int, str]:
    """Return the number and name of the target of a question that is about a single one."""
    numbers = code_targets(engine.index, target)
    if len(numbers) > 1:
        names = listing(engine.variables[number].name for number in numbers)
        raise EvidenceError(f"this is asked about one target at a time, not {names}")
    return numbers[0], engine.variables[numbers[0]].name


def mutual_information(
    engine: ExactInference, target: Names, known: Evidence, memory_budget: int = MEMORY_BUDGET
) -> dict[str, float]:
    """Return I(target; X | evidence) in nats for every other unobserved X, largest first.

    It says how much observing X is expected to tell about the target: what to observe next.
    """
    number, asked = _only_target(engine, target)
    if number in known.codes:
        raise EvidenceError(f"{asked!r} is observed; nothing more can be learned about it")
    prior = engine.coded_marginals(known, memory_budget=memory_budget)
    information = dict.fromkeys((name for name in prior if name != asked), 0.0)
    for code, weight in enumerate(prior[asked]):
        if weight == 0:
            continue
        likelihoods = {n: vector for n, vector in known.likelihoods.items() if n != number}
        observed = Evidence({**known.codes, number: code}, likelihoods, 0.0)
        given = engine.coded_marginals(observed, memory_budget=memory_budget)
        for name in information:
            p, q = given[name], prior[name]
            some = p > 0
            information[name] += float(weight * (p[some] * np.log(p[some] / q[some])).sum())
    ordered = sorted(information, key=lambda name: (-information[name], engine.index[name]))
    return {name: max(0.0, information[name]) for name in ordered}


@dataclass(frozen=True, slots=True)
class Impact:
    """What one observation, or one likelihood, does to a posterior."""

    without: Factor
    """The posterior of the target without this observation."""
    divergence: float
    """Kullback-Leibler divergence of the posterior from the one without, in nats."""


def evidence_impact(
    engine: ExactInference, target: Names, known: Evidence, memory_budget: int = MEMORY_BUDGET
) -> dict[str, Impact]:
    """Return for each observation and likelihood the posterior without it, largest divergence first."""
    number, asked = _only_target(engine, target)
    if number in known.codes:
        raise EvidenceError(f"{asked!r} is observed; its posterior does not depend on other evidence")
    full = engine.coded_marginals(known, memory_budget=memory_budget)[asked]
    found: list[tuple[float, int, str, Impact]] = []
    for observed, name, rest in _one_less(engine, known):
        without = engine.coded_marginals(rest, memory_budget=memory_budget)[asked]
        some = full > 0
        divergence = max(0.0, float((full[some] * np.log(full[some] / without[some])).sum()))
        impact = Impact(Factor._of((engine.variables[number],), without.copy()), divergence)
        found.append((-divergence, observed, name, impact))
    return {name: impact for _, _, name, impact in sorted(found, key=lambda item: item[:3])}


def _one_less(engine: ExactInference, known: Evidence) -> Iterator[tuple[int, str, Evidence]]:
    """Yield each piece of evidence, its variable and what to call it, with all the others."""
    overruled = dict(known.overruled)
    for observed in known.codes:
        codes = {n: code for n, code in known.codes.items() if n != observed}
        likelihoods = dict(known.likelihoods)
        if observed in overruled:
            likelihoods[observed] = relative(engine.variables[observed], overruled[observed])
        yield observed, engine.variables[observed].name, Evidence(codes, likelihoods, 0.0)
    for observed in known.likelihoods:
        likelihoods = {n: vector for n, vector in known.likelihoods.items() if n != observed}
        yield observed, engine.variables[observed].name, Evidence(known.codes, likelihoods, 0.0)
    for observed in overruled:
        name = engine.variables[observed].name
        yield observed, f"the likelihood of {name}" if observed in known.codes else name, known


def conflict(engine: ExactInference, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> float:
    """Return Jensen's conflict measure, ln of the product of P(e_i) over P(e)."""
    together = engine.coded_log_probability(known, memory_budget)
    if together == -math.inf:
        raise engine.impossible(known, memory_budget)
    alone = [Evidence({n: code}, {}, 0.0) for n, code in known.codes.items()]
    alone += [Evidence({}, {n: vector}, 0.0) for n, vector in known.likelihoods.items()]
    said = 0.0  # of the states observed, by the likelihoods that are overruled
    for n, given in known.overruled:
        vector = given / given.max()
        alone.append(Evidence({}, {n: vector}, 0.0))
        said += math.log(given[known.codes.get(n, 0)]) - math.log(given.max())
    apart = sum(engine.coded_log_probability(single, memory_budget) for single in alone)
    return apart - (together - known.log_scale + said)
