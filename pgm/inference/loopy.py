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

References
----------
Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, chapter 4. Kschischang, Frey and Loeliger (2001),
"Factor graphs and the sum-product algorithm". Koller and Friedman (2009), section 11.3. Murphy, Weiss and Jordan
(1999), "Loopy belief propagation for approximate inference: an empirical study".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, ImpossibleEvidenceError, listing
from pgm.factors.factor import Factor, FloatArray
from pgm.factors.variable import Label
from pgm.inference.cutset import reduced
from pgm.inference.evidence import Evidence
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.progress import Progress

__all__ = ["LoopyResult", "belief_propagation"]

LEAST = -1e9
"""Logarithms of positive numbers stop here: messages that never settle would grow out of all bounds. No forest of less
than a million tables comes near."""


@dataclass(frozen=True, slots=True)
class LoopyResult:
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
    messages are from standing still, not how far the marginals are from the truth: no bound of that is known."""
    exact: bool
    """Whether the factor graph is a forest, so that the marginals and ln P(evidence) are exact."""

    def __str__(self) -> str:
        kind = "exact: the factor graph is a forest" if self.exact else "an approximation of unknown error"
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{len(self.marginals)} marginals by loopy belief propagation, {kind}; {state} after {self.iterations} "
            f"rounds, residual {self.residual:.3g}; ln P(evidence) is about {self.log_probability_estimate:.6g}"
        )


def belief_propagation(
    engine: ExactInference,
    evidence: Mapping[str, Label] | None = None,
    *,
    likelihoods: Likelihoods | None = None,
    damping: float = 0.3,
    tol: float = 1e-9,
    max_iter: int = 1000,
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
    >>> round(asia.query("lung", {"xray": "yes", "dysp": "yes"})["yes"], 2)
    0.62
    """
    _check(damping, tol, max_iter)
    known = engine.code(evidence, likelihoods)
    graph = _FactorGraph.of(engine, known)
    messages, outcome = _propagate(graph, damping, tol, max_iter, progress)
    beliefs, estimate = graph.beliefs(messages)
    answer: dict[str, Factor] = {}
    for number, variable in enumerate(engine.variables):
        if number in graph.places:
            answer[variable.name] = Factor._of((variable,), beliefs[slice(*graph.places[number])])
        elif number in engine.constant and number not in known.codes:
            answer[variable.name] = Factor._of((variable,), np.ones(1))
    return LoopyResult(answer, estimate + known.log_scale, *outcome, exact=graph.depth is not None)


def _check(damping: float, tol: float, max_iter: int) -> None:
    if not (isinstance(damping, (int, float)) and 0 <= damping < 1):
        raise EvidenceError(f"damping is a number from 0 to below 1, not {damping!r}")
    if not (isinstance(tol, (int, float)) and tol > 0):
        raise EvidenceError(f"tol is a positive number, not {tol!r}")
    if not (isinstance(max_iter, int) and max_iter >= 1):
        raise EvidenceError(f"max_iter is a whole number of rounds, at least 1, not {max_iter!r}")


class _Outcome(NamedTuple):
    converged: bool
    iterations: int
    residual: float


def _propagate(
    graph: _FactorGraph, damping: float, tol: float, max_iter: int, progress: bool
) -> tuple[FloatArray, _Outcome]:
    """Return the messages to the variables when they have settled or the rounds are used up."""
    messages = graph.uniform()
    rounds = max_iter if graph.depth is None else graph.depth + 1  # the last round of a forest changes nothing
    residual, done = 0.0, 0
    with Progress("belief propagation", total=None if graph.depth is None else rounds, show=progress) as bar:
        while done < rounds:
            fresh = graph.round(messages)
            residual = float(np.max(np.abs(np.exp(fresh) - np.exp(messages)), initial=0.0))
            if damping and graph.depth is None:
                fresh, _ = graph.normalize((1 - damping) * fresh + damping * messages)
            messages = fresh
            done += 1
            bar.step(residual=f"{residual:.2g}")
            if graph.depth is None and residual <= tol:
                break
    return messages, _Outcome(graph.depth is not None or residual <= tol, done, residual)


# ---------------------------------------------------------------------- the factor graph


class _Segments(NamedTuple):
    """Consecutive stretches of a flat array: one for each message, or for each variable."""

    starts: NDArray[np.intp]
    owner: NDArray[np.intp]
    """The stretch of every entry."""
    variables: tuple[int, ...]
    """The variable of every stretch."""

    @classmethod
    def of(cls, variables: Sequence[int], cardinalities: Sequence[int]) -> _Segments:
        lengths = np.array([cardinalities[variable] for variable in variables], dtype=np.intp)
        starts = np.cumsum(lengths) - lengths
        return cls(starts, np.repeat(np.arange(len(lengths)), lengths), tuple(variables))


class _Group(NamedTuple):
    """All tables of one shape: their logarithms, stacked along the last axis, where array operations are fastest."""

    tables: FloatArray
    places: tuple[slice, ...]
    """For every axis where its messages stand, table after table."""

    def along(self, axis: int, messages: FloatArray) -> FloatArray:
        """Return a view of the messages along one axis, shape (states, tables)."""
        return messages[self.places[axis]].reshape(self.tables.shape[-1], -1).T

    def toward(self, axis: int, messages: FloatArray) -> FloatArray:
        """Return the messages along one axis, given those from the variables, as logarithms; shape (states, tables)."""
        joint = self.tables
        for other in range(len(self.places)):
            if other != axis:
                after = (1,) * (len(self.places) - 1 - other)
                joint = joint + self.along(other, messages).reshape(joint.shape[other], *after, -1)
        return _log_sum(joint, tuple(other for other in range(len(self.places)) if other != axis))


def _log_sum(logs: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    peak = logs.max(axis=axes, keepdims=True)
    peak[np.isneginf(peak)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - peak).sum(axis=axes)) + peak.squeeze(axes))


class _FactorGraph(NamedTuple):
    """The tables that agree with the evidence, and where messages and beliefs stand in flat arrays of logarithms.

    Messages stand group after group, within a group axis after axis, within an axis table after table, so that each
    axis of a group is one stretch. Beliefs stand variable after variable.
    """

    engine: ExactInference
    known: Evidence
    groups: tuple[_Group, ...]
    messages: _Segments
    variables: _Segments
    single: FloatArray
    """ln of the product of all tables over a single variable, laid out as the beliefs."""
    state: NDArray[np.intp]
    """For every entry of a message the belief it belongs to."""
    places: dict[int, tuple[int, int]]
    """Where the belief of a variable stands."""
    constant: float
    """ln of the product of all tables over no variable."""
    depth: int | None
    """Rounds after which all messages are final, if the graph is a forest; None if it has loops."""

    @classmethod
    def of(cls, engine: ExactInference, known: Evidence) -> _FactorGraph:
        codes = engine.with_constants(known).codes
        hidden = [number for number in range(len(engine.variables)) if number not in codes]
        ends = np.cumsum([0, *(engine.cardinalities[number] for number in hidden)]).tolist()
        places = {number: (ends[i], ends[i + 1]) for i, number in enumerate(hidden)}
        single, constant = np.zeros(ends[-1]), 0.0
        alike: dict[tuple[int, ...], list[tuple[tuple[int, ...], FloatArray]]] = {}
        for table, scope, values in reduced(engine, range(len(engine.variables)), codes):
            if not scope and values == 0:
                raise _impossible(engine, known, f"the table of {engine.variables[table].name!r} is zero there")
            with np.errstate(divide="ignore"):
                logs = np.log(values)
            if not scope:
                constant += float(logs)
            elif len(scope) == 1:
                single[slice(*places[scope[0]])] += logs
            else:
                alike.setdefault(values.shape, []).append((scope, logs))
        for number, vector in known.likelihoods.items():
            with np.errstate(divide="ignore"):
                single[slice(*places[number])] += np.log(vector)
        groups, owners = _grouped(alike.values())
        segments = _Segments.of(owners, engine.cardinalities)
        beliefs = _Segments.of(hidden, engine.cardinalities)
        offset = np.array([places[variable][0] for variable in owners], dtype=np.intp) - segments.starts
        state = np.arange(segments.owner.size) + offset[segments.owner]
        depth = _depth(hidden, [scope for members in alike.values() for scope, _ in members])
        return cls(engine, known, groups, segments, beliefs, single, state, places, constant, depth)

    def uniform(self) -> FloatArray:
        """Return the messages of the start."""
        return self.normalize(np.zeros(self.state.size))[0]

    def round(self, messages: FloatArray) -> FloatArray:
        """Return the messages to the variables after one more round."""
        _, outgoing = self._from_variables(messages)
        fresh = np.empty_like(messages)
        for group in self.groups:
            for axis in range(len(group.places)):
                group.along(axis, fresh)[...] = group.toward(axis, outgoing)
        return self.normalize(fresh)[0]

    def beliefs(self, messages: FloatArray) -> tuple[FloatArray, float]:
        """Return the beliefs of all variables, and the Bethe estimate of the log of the sum over all joint states.

        That is the sum of ln Z_a over tables and ln Z_i over variables minus ln Z_ia over edges, with
        Z_a = sum of f_a times its messages, Z_i = sum of the messages to i, and Z_ia = sum of m_ia m_ai.
        """
        together, outgoing = self._from_variables(messages)
        outgoing, _ = self.normalize(outgoing)
        beliefs, by_variable = self.normalize(together, self.variables)
        _, by_edge = self.normalize(outgoing + messages)
        estimate = self.constant + float(by_variable.sum() - by_edge.sum())
        for group in self.groups:
            estimate += float(_log_sum(group.toward(0, outgoing) + group.along(0, outgoing), (0,)).sum())
        return np.exp(beliefs), estimate

    def _from_variables(self, messages: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the product of all messages to each variable, and the messages from the variables, not normalised.

        Each leaves out the message it answers. Zeros are counted, for their logarithm cannot be subtracted again.
        """
        zero = np.isneginf(messages)
        finite = np.where(zero, 0.0, messages)
        size = self.single.size
        total = self.single + np.bincount(self.state, finite, size)
        zeros = np.bincount(self.state, zero, size)
        outgoing = total[self.state] - finite
        outgoing[zeros[self.state] > zero] = -math.inf
        total[zeros > 0] = -math.inf
        self._peaks(total, self.variables)  # messages that contradict each other are noticed here
        return total, outgoing

    def normalize(self, logs: FloatArray, segments: _Segments | None = None) -> tuple[FloatArray, FloatArray]:
        """Return distributions, as logarithms, and the logs of what they were divided by; messages unless said."""
        segments = segments or self.messages
        peaks = self._peaks(logs, segments)
        shifted = logs - peaks[segments.owner]
        shifted[(shifted < LEAST) & (shifted > -math.inf)] = LEAST
        sums = np.log(np.add.reduceat(np.exp(shifted), segments.starts))
        return shifted - sums[segments.owner], peaks + sums

    def _peaks(self, logs: FloatArray, segments: _Segments) -> FloatArray:
        """Return the largest number of each segment.

        Raises
        ------
        ImpossibleEvidenceError
            If one is zero throughout.
        """
        peaks: FloatArray = np.maximum.reduceat(logs, segments.starts)
        if peaks.min(initial=0.0) == -math.inf:
            name = self.engine.variables[segments.variables[int(peaks.argmin())]].name
            raise _impossible(self.engine, self.known, f"it leaves no state of {name!r}")
        return peaks


def _impossible(engine: ExactInference, known: Evidence, why: str) -> ImpossibleEvidenceError:
    names = [engine.variables[number].name for number in sorted({*known.codes, *known.likelihoods})]
    return ImpossibleEvidenceError(f"the evidence on {listing(names)} has probability zero: {why}")


def _grouped(
    alike: Iterable[list[tuple[tuple[int, ...], FloatArray]]],
) -> tuple[tuple[_Group, ...], list[int]]:
    """Return the groups of tables of one shape, and the variable of every message in its order."""
    groups: list[_Group] = []
    owners: list[int] = []
    start = 0
    for members in alike:
        tables = np.stack([logs for _, logs in members], axis=-1)
        places: list[slice] = []
        for axis, states in enumerate(tables.shape[:-1]):
            places.append(slice(start, start + len(members) * states))
            owners += [scope[axis] for scope, _ in members]
            start = places[-1].stop
        groups.append(_Group(tables, tuple(places)))
    return tuple(groups), owners


def _depth(variables: Sequence[int], scopes: Sequence[Sequence[int]]) -> int | None:
    """Return in how many rounds all messages are final, or None if the factor graph has a loop.

    Leaves are stripped off layer by layer. Only a forest vanishes altogether, and half the nodes of its longest path,
    the tables, cannot be more than its layers.

    >>> _depth([0, 1, 2], [(0, 1), (1, 2)]), _depth([0, 1, 2], [(0, 1), (1, 2), (0, 2)])
    (3, None)
    """
    around: dict[int, list[int]] = {variable: [] for variable in variables}
    for table, scope in enumerate(scopes):
        around[-1 - table] = list(scope)
        for variable in scope:
            around[variable].append(-1 - table)
    degree = {node: len(neighbours) for node, neighbours in around.items()}
    layer = [node for node, count in degree.items() if count <= 1]
    layers, left = 0, len(around)
    while layer:
        layers, left = layers + 1, left - len(layer)
        fresh = []
        for node in layer:
            for other in around[node]:
                degree[other] -= 1
                if degree[other] == 1:
                    fresh.append(other)
        layer = fresh
    return None if left else layers
