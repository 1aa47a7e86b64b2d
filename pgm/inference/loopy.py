"""Loopy belief propagation: approximate marginals of networks whose exact tables would be too large.

Belief propagation passes messages along the edges of the *factor graph*: one node for each unobserved variable, one for
each table, and an edge where a table contains a variable. With x_a the variables of table a,

    variable to table:  m_ia(x_i) = product over the other tables b of x_i of m_bi(x_i)
    table to variable:  m_ai(x_i) = sum over the other variables of a of f_a(x_a) times the product of their m_ja(x_j)

and the belief of a variable is the product of all messages to it. On a forest this is exact after as many rounds as the
longest path needs. With loops, evidence is counted again each time it comes round: the messages need not settle, and
where they do, the beliefs are a stationary point of the Bethe free energy and only close to the posterior, as a rule
(Yedidia, Freeman and Weiss 2005). What is observed is sliced out of the tables first, which opens loops.

All messages of a round are computed at once from those of the round before (the *synchronous* or flooding schedule).
Residual schedules need fewer messages, but choose them one by one; here all tables of one shape make their messages in
a few array operations, which is faster by more than that. Messages are kept as logarithms: a message may be
extremely small without becoming zero, and what is zero is impossible.

*How far off?* No bound is known that is of use, but the loops can be asked. Fix one variable in each of its states in
turn: that opens the loops through it, and P(state, evidence), by the Bethe estimates of these runs, says with which
weights to average their marginals. How far this moves a marginal shows what those loops do to it. A few variables are
fixed in this way, each by itself, such that the later ones lie on loops that the earlier ones leave. It is an estimate,
not a bound: what loops through none of them do to a marginal remains unseen, and the result says where such loops are.

References
----------
Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, chapter 4. Kschischang, Frey and Loeliger (2001),
"Factor graphs and the sum-product algorithm". Koller and Friedman (2009), section 11.3. Murphy, Weiss and Jordan
(1999), "Loopy belief propagation for approximate inference: an empirical study". Eaton and Ghahramani (2009), "Choosing
a variable to clamp".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pgm.errors import ImpossibleEvidenceError
from pgm.factors.factor import Factor, FloatArray
from pgm.factors.variable import Label
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.factor_graph import FactorGraph, strip_leaves
from pgm.inference.options import checked_count, checked_number
from pgm.inference.records import Record
from pgm.progress import Progress

__all__ = ["LoopyResult", "belief_propagation"]

ROUGH = 1e-5
"""Change of a message at which the runs for the error estimate end: its first digits matter."""


@dataclass(frozen=True, slots=True)
class LoopyResult(Record):
    """Marginals by loopy belief propagation: an approximation, unless ``exact``."""

    marginals: Mapping[str, Factor]
    """``{name: P(name | evidence)}``, approximately, of every unobserved variable in declared order."""
    log_probability_estimate: float
    """Bethe estimate of ln P(evidence): neither an upper nor a lower bound, and worth nothing unless converged."""
    converged: bool
    """Whether no message changed by more than the tolerance in the last round."""
    iterations: int
    """Rounds."""
    residual: float
    """Largest change of a message (as a distribution) in the last round, damping left aside. It says how far the
    messages are from standing still, not how far the marginals are from the truth."""
    exact: bool
    """Whether the factor graph is a forest, so that the marginals and ln P(evidence) are exact."""
    error_estimates: Mapping[str, float] | None = None
    """``{name: about how far its marginal may be off}`` in any state, most doubtful first; zeros on forests, None if
    not wanted. No bounds: the true error is usually of this size, and can be larger."""
    log_probability_error_estimate: float | None = None
    """The same for ln P(evidence)."""
    error_variables: tuple[str, ...] = ()
    """The variables that were fixed, one at a time, to estimate the errors."""
    unseen: tuple[str, ...] = ()
    """The variables on loops through none of these: here the estimates see least."""

    @property
    def largest_error_estimate(self) -> float | None:
        """The largest of the estimated errors of all marginals, None if they were not wanted."""
        return None if self.error_estimates is None else max(self.error_estimates.values(), default=0.0)

    def __str__(self) -> str:
        kind = "exact: the factor graph is a forest" if self.exact else f"an approximation {self._doubt()}"
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{len(self.marginals)} marginals by loopy belief propagation, {kind}; {state} after {self.iterations} "
            f"rounds, residual {self.residual:.3g}; ln P(evidence) is about {self.log_probability_estimate:.6g}"
        )

    def _doubt(self) -> str:
        if not self.error_estimates:
            return "of unknown error"
        name, error = next(iter(self.error_estimates.items()))
        unseen = f", loops of {len(self.unseen)} variables not looked at" if self.unseen else ""
        return f"with errors of about {error:.2g} ({name!r}) and less{unseen}"


def belief_propagation(
    engine: ExactInference,
    evidence: Mapping[str, Label] | None = None,
    *,
    likelihoods: Likelihoods | None = None,
    damping: float = 0.3,
    tol: float = 1e-9,
    max_iter: int = 1000,
    error_variables: int = 6,
    progress: bool = True,
) -> LoopyResult:
    """Return approximate posterior marginals of every unobserved variable, by loopy belief propagation.

    Parameters
    ----------
    engine
        The network.
    evidence, likelihoods
        As in ``BayesianNetwork.query``.
    damping
        From 0 to below 1: the weight of the old message in each new one, on logarithms. It keeps messages from
        oscillating and costs some more rounds. Forests need none and get none.
    tol
        Largest change of any message, as a distribution, at which the messages count as converged.
    max_iter
        Most rounds. A forest takes as many as its longest path needs, whatever this says.
    error_variables
        How many variables to fix, each by itself, to estimate the errors; 0 for no estimate. More of them see more
        loops and take more time: a run for each state.
    progress
        Whether to show a progress bar if it lasts.

    Raises
    ------
    ImpossibleEvidenceError
        If a message vanishes: then P(evidence) = 0, to be sure. The converse does not hold: with loops, belief
        propagation can fail to notice that the evidence is impossible.
    EvidenceError
        If ``damping``, ``tol`` or ``max_iter`` is out of range.

    Notes
    -----
    A round costs, for every table, its size times the square of its number of unobserved variables; memory is a copy of
    all tables. Deterministic. Not converging is not an error: look at ``converged``.

    Examples
    --------
    >>> import pgm
    >>> asia = pgm.networks.load("asia")
    >>> found = belief_propagation(ExactInference(asia.cpts), {"xray": "yes", "dysp": "yes"})
    >>> found.exact, found.converged, round(found.marginals["lung"]["yes"], 2)
    (False, True, 0.61)
    >>> round(found.error_estimates["lung"], 2)
    0.01
    >>> round(asia.query("lung", {"xray": "yes", "dysp": "yes"})["yes"], 2)
    0.62
    """
    schedule = _Schedule(damping, tol, max_iter).checked()
    most = checked_count(error_variables, "error_variables")
    known = engine.code(evidence, likelihoods)
    graph = FactorGraph.of(engine, known)
    with Progress("belief propagation", total=None if graph.depth is None else graph.depth + 1, show=progress) as bar:
        messages, outcome = _propagate(graph, graph.uniform(), schedule, bar)
    beliefs, estimate = graph.beliefs(messages)
    answer: dict[str, Factor] = {}
    for number, variable in enumerate(engine.variables):
        if number in graph.places:
            answer[variable.name] = Factor._of((variable,), beliefs[slice(*graph.places[number])])
        elif number in engine.constant and number not in known.codes:
            answer[variable.name] = Factor._of((variable,), np.ones(1))
    found = LoopyResult(answer, estimate + known.log_scale, *outcome, exact=graph.depth is not None)
    if not most:
        return found
    return _with_errors(found, _Settled(graph, messages, beliefs, estimate), schedule, most, progress)


class _Schedule(NamedTuple):
    damping: float
    tol: float
    max_iter: int

    def checked(self) -> _Schedule:
        """Return the same, or raise if a number is out of range."""
        return _Schedule(
            checked_number(self.damping, "damping", "a number from 0 to below 1", 0, math.nextafter(1, 0)),
            checked_number(self.tol, "tol", "a positive number", math.nextafter(0, 1), math.nextafter(math.inf, 0)),
            checked_count(self.max_iter, "max_iter", least=1),
        )


class _Outcome(NamedTuple):
    converged: bool
    iterations: int
    residual: float


def _propagate(
    graph: FactorGraph, messages: FloatArray, schedule: _Schedule, bar: Progress
) -> tuple[FloatArray, _Outcome]:
    """Return the messages to the variables when they have settled or the rounds are used up."""
    forest = graph.depth is not None
    rounds = schedule.max_iter if graph.depth is None else graph.depth + 1  # the last round of a forest changes nothing
    residual, done = 0.0, 0
    while done < rounds:
        fresh = graph.round(messages)
        residual = float(np.max(np.abs(np.exp(fresh) - np.exp(messages)), initial=0.0))
        if schedule.damping and not forest:
            fresh, _ = graph.normalize((1 - schedule.damping) * fresh + schedule.damping * messages)
        messages = fresh
        done += 1
        bar.step(residual=f"{residual:.2g}")
        if not forest and residual <= schedule.tol:
            break
    return messages, _Outcome(forest or residual <= schedule.tol, done, residual)


# ---------------------------------------------------------------------- the error estimate


class _Settled(NamedTuple):
    """A graph and where its messages have settled."""

    graph: FactorGraph
    messages: FloatArray
    beliefs: FloatArray
    estimate: float
    """Of ln P(evidence), up to what all share."""


def _with_errors(found: LoopyResult, settled: _Settled, schedule: _Schedule, most: int, progress: bool) -> LoopyResult:
    """Return the result with the changes that fixing some variables makes, as estimates of its errors."""
    graph, variables = settled.graph, settled.graph.engine.variables
    change, log_change = np.zeros(len(settled.beliefs)), 0.0
    chosen, unseen = _most_doubtful(graph, settled.beliefs, most)
    rough = schedule._replace(tol=max(schedule.tol, ROUGH))
    with Progress("error estimate", total=None, show=progress) as bar:
        for variable in chosen:
            moved, log_moved = _change(settled, variable, rough, bar)
            change, log_change = np.maximum(change, moved), max(log_change, log_moved)
    errors = dict.fromkeys(found.marginals, 0.0)
    for number, place in graph.places.items():
        errors[variables[number].name] = float(change[slice(*place)].max())
    return replace(
        found,
        error_estimates=dict(sorted(errors.items(), key=lambda item: -item[1])),
        log_probability_error_estimate=log_change,
        error_variables=tuple([variables[number].name for number in chosen]),
        unseen=tuple([variables[number].name for number in unseen]),
    )


def _most_doubtful(graph: FactorGraph, beliefs: FloatArray, most: int) -> tuple[list[int], list[int]]:
    """Return the variables to fix, and those on loops through none of them.

    Fixed is where many loops meet and the state is open; each on loops through none of those before.
    """
    chosen: list[int] = []
    while True:
        _, loops = strip_leaves([variable for variable in graph.places if variable not in chosen], graph.scopes)
        doubts = {v: (tables - 1) * _entropy(beliefs[slice(*graph.places[v])]) for v, tables in loops.items()}
        best = max(doubts, key=lambda variable: (doubts[variable], -variable), default=None)
        if best is None or not doubts[best] > 0 or len(chosen) == most:
            return chosen, sorted(variable for variable, doubt in doubts.items() if doubt > 0)
        chosen.append(best)


def _entropy(distribution: FloatArray) -> float:
    positive = distribution[distribution > 0]
    return float(-(positive * np.log(positive)).sum())


def _change(settled: _Settled, variable: int, schedule: _Schedule, bar: Progress) -> tuple[FloatArray, float]:
    """Return how far beliefs and ln P(evidence) move if they are averaged over the states of one variable."""
    graph, beliefs = settled.graph, settled.beliefs
    start, stop = graph.places[variable]
    runs: list[tuple[float, FloatArray]] = []
    for code in np.flatnonzero(beliefs[start:stop]).tolist():
        cut = graph.given(variable, code)
        try:
            messages, _ = _propagate(cut, settled.messages, schedule, bar)
            found, estimate = cut.beliefs(messages)
        except ImpossibleEvidenceError:
            continue
        runs.append((estimate, found))
    if not runs:  # no state is possible: nothing can be relied on
        return np.ones(len(beliefs)), math.inf
    peak = max(estimate for estimate, _ in runs)
    weights = np.array([math.exp(estimate - peak) for estimate, _ in runs])
    averaged = weights @ np.stack([found for _, found in runs]) / weights.sum()
    return np.abs(averaged - beliefs), abs(peak + math.log(weights.sum()) - settled.estimate)
