"""Cutset conditioning: exact answers within a memory budget, paid for with time.

Every joint state c of a cutset C (:mod:`pgm.inference.cutset`) is a question of its own with smaller tables, and the
answers add up:

    P(targets, e) = sum over c of P(targets, e, c)        P(X | e) = sum over c of P(c | e) P(X | e, c)

The result is exact. One plan serves all states of C.

References
----------
Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.4.2. Darwiche (2009), *Modeling and
Reasoning with Bayesian Networks*, chapter 8. Dechter (1999), "Bucket elimination: a unifying framework for reasoning".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product as joint_states
from typing import Any, TypeAlias

import numpy as np

from pgm.errors import ImpossibleEvidenceError
from pgm.factors.factor import Factor, FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.cutset import Conditioned, Limits, conditioned
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.options import check_budget
from pgm.inference.preparing import MAX_OPERATIONS, Question
from pgm.progress import Progress

__all__ = ["log_probability", "marginals", "posterior"]


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
        Bytes that the tables of one instantiation may take at once; the answer itself comes on top. A joint of
        several targets may not be larger than that either.
    max_operations
        Most instantiations times operations to take on.
    progress
        Whether to show a progress bar if it lasts.

    Raises
    ------
    ImpossibleEvidenceError
        If P(evidence) = 0.
    TooLargeError
        If it would take more work than allowed, with both numbers; or if a joint exceeds the budget. Nothing is
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
    check_budget(memory_budget)
    if len(asked) > 1:
        engine.check_joint(asked, memory_budget)
    total = _summed(engine, asked, known, Limits(memory_budget, max_operations), progress)
    if total.log_scale == -math.inf:
        raise engine.impossible(known, memory_budget)
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
    total = _summed(engine, (), known, Limits(memory_budget, max_operations), progress)
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
    plan = conditioned(engine, question, Limits(memory_budget, max_operations))
    program, places = plan.program, dict(plan.program.places)
    size = 1 + sum(stop - start for start, stop in places.values())
    places = {variable: (start + 1, stop + 1) for variable, (start, stop) in places.items()}
    for variable in plan.variables:
        places[variable] = (size, size + engine.cardinalities[variable])
        size = places[variable][1]
    total = _LogSum((size,))
    for codes, tables, log_scale in _instantiations(plan, engine, known, progress):
        output, log_value = program.marginals(tables)
        if log_value == -math.inf:
            continue
        row = np.zeros(size)  # one, the marginals, and the states of the cutset: all are weighted by P(e, c)
        row[0] = 1.0
        row[1 : output.size + 1] = output
        for variable, code in zip(plan.variables, codes, strict=True):
            row[places[variable][0] + code] = 1.0
        total.add((), row, log_scale + log_value)
    if total.log_scale == -math.inf:
        raise engine.impossible(known, memory_budget)
    hidden = [number for number in range(len(engine.variables)) if number not in known.codes]
    parts = {number: total.values[slice(*places[number])] if number in places else np.ones(1) for number in hidden}
    return {
        engine.variables[number].name: Factor._of((engine.variables[number],), part / part.sum())
        for number, part in parts.items()
    }


def _summed(engine: ExactInference, asked: Sequence[int], known: Evidence, limits: Limits, progress: bool) -> _LogSum:
    """Return P(those asked that are free, evidence), up to what cannot change the posterior."""
    free = tuple(target for target in asked if target not in known.codes and target not in engine.constant)
    question = Question("sum", free, frozenset(known.codes), frozenset(known.likelihoods))
    plan = conditioned(engine, question, limits)
    position = {variable: place for place, variable in enumerate(plan.variables)}
    total = _LogSum([engine.cardinalities[target] for target in free])
    for codes, tables, log_scale in _instantiations(plan, engine, known, progress):
        place = tuple(codes[position[target]] if target in position else slice(None) for target in free)
        table, own_scale = plan.program.value(tables)
        total.add(place, table, log_scale + own_scale)
    return total


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


def _instantiations(
    plan: Conditioned, engine: ExactInference, known: Evidence, progress: bool
) -> Iterator[tuple[tuple[int, ...], list[FloatArray], float]]:
    """Yield the states of the cutset that may be possible, each with the tables of the plan and a log scale."""
    ready, cuts, numbers = _cut(plan, plan.problem.tables(engine, known))
    ranges = [range(plan.problem.cardinalities[variable]) for variable in plan.variables]
    with Progress("conditioning", total=plan.cutset.instantiations, show=progress) as bar:
        for codes in joint_states(*ranges):
            bar.step()
            entries = [float(values[_at(place, codes)]) for values, place in numbers]
            if 0.0 in entries:
                continue
            for slot, values, place in cuts:
                ready[slot] = values[_at(place, codes)]
            yield codes, ready, sum(map(math.log, entries))


def _cut(
    plan: Conditioned, tables: Sequence[FloatArray]
) -> tuple[list[FloatArray], list[tuple[int, FloatArray, Place]], list[tuple[FloatArray, Place]]]:
    """Return the tables of the plan, which of them to slice for each state, and those of which numbers are left."""
    position = {variable: place for place, variable in enumerate(plan.variables)}
    ready: list[FloatArray] = []
    cuts: list[tuple[int, FloatArray, Place]] = []
    numbers: list[tuple[FloatArray, Place]] = []
    for scope, values in zip(plan.problem.scopes, tables, strict=True):
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
