"""Soft evidence by Jeffrey's rule: the posteriors that some variables shall have, whatever the network says.

For one variable X with the new distribution q, P'(y) = sum over x of q(x) P(y | x): the network is asked as before
given each state of X, and only the weights of the states are new. As a likelihood of X that is q(x) / P(x). For several
variables, of all distributions with these marginals the one closest to the network's is wanted. It multiplies P by one
weight for each state of these variables, and the logarithms w of the weights minimise a convex function,

    F(w) = ln sum over x of P(x) exp(w1(x1) + w2(x2) + ...) - (q1 . w1 + q2 . w2 + ...),

whose gradient is how far the marginals are off. First each variable in turn gets its distribution, which upsets the
others a little less each time (*iterative proportional fitting*). That is slow where the variables nearly decide each
other; then Newton's method goes on, with the second derivatives from the pairs of marginals.

Not everything can be had. If no possible joint state x has w(x) >= q . w, no distribution over the possible states has
the marginals q, whose mean of w would be q . w. Where there is no answer w soon becomes such a proof.

References
----------
Jeffrey (1965), *The Logic of Decision*. Csiszar (1975), "I-divergence geometry of probability distributions and
minimization problems". Chan and Darwiche (2005), "On the revision of probabilistic beliefs using uncertain evidence".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError, listing
from pgm.factors.cpt import ROUNDING
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.inference.evidence import Evidence, by_label, numbered
from pgm.inference.maximum import Maximizer
from pgm.inference.preparing import Question

if TYPE_CHECKING:
    from pgm.inference.exact import ExactInference

__all__ = ["with_distributions"]

FITTING_ROUNDS, NEWTON_STEPS = 30, 200
"""Rounds of iterative proportional fitting, and steps of Newton's method after them."""

FITTED, NEARLY_FITTED = 1e-12, 1e-9
"""The largest deviation with which it is done, and the largest that is accepted if no step makes it smaller."""

LARGEST_WEIGHT, LONGEST_STEP = 600.0, 10.0
"""Logarithms of weights are kept this close to the largest, and change by this much at most in one step."""

SURELY_BELOW = 1e-9
"""By how much w(x) < q . w must hold to be a proof, relative to the range of w."""

Weights: TypeAlias = dict[int, FloatArray]
"""Logarithms of the weights of the states of each variable; minus infinity where a state shall be impossible."""


def with_distributions(
    engine: ExactInference, known: Evidence, distributions: Mapping[str, Any], memory_budget: int = MEMORY_BUDGET
) -> Evidence:
    """Return evidence extended by the likelihoods that give some variables the distributions wanted.

    Parameters
    ----------
    engine
        The network.
    known
        What else is known.
    distributions
        ``{name: distribution}``, each in declared order or by label.
    memory_budget
        As in ``BayesianNetwork.query``.

    Raises
    ------
    EvidenceError
        For what is no distribution, a variable that is observed, or distributions that cannot be had together.
    ImpossibleEvidenceError
        If a state shall get probability that has none.

    Notes
    -----
    A round takes all marginals once for each of the variables, a step of Newton's method once for each of their states.
    """
    if not isinstance(distributions, Mapping):
        raise EvidenceError(f"distributions is a mapping from variable names to vectors, not {distributions!r}")
    wanted: dict[int, FloatArray] = {}
    for name, given in distributions.items():
        number = numbered(engine.index, name)
        wanted[number] = _distribution(engine.variables[number], given)
        if number in known.codes:
            raise EvidenceError(f"{name!r} is observed and cannot get another distribution")
    wanted = {number: vector for number, vector in wanted.items() if number not in engine.constant}
    if not wanted:
        return known
    return _Fit(engine, known, wanted, memory_budget).evidence()


def _distribution(variable: Variable, given: Any) -> FloatArray:
    vector = by_label(variable, given, "the distribution")
    if abs(vector.sum() - 1.0) > ROUNDING:
        raise EvidenceError(f"the distribution of {variable.name!r} sums to {vector.sum():.10g}, not 1")
    return np.asarray(vector / vector.sum())


class _Fit(NamedTuple):
    """The search for weights that give some variables the distributions wanted."""

    engine: ExactInference
    known: Evidence
    wanted: Mapping[int, FloatArray]
    memory_budget: int

    def evidence(self) -> Evidence:
        """Return the evidence with the weights found, as likelihoods."""
        weights: Weights = {}
        current = self.marginals(weights)
        for number, vector in self.wanted.items():
            if ((current[number] == 0) & (vector > 0)).any():
                name = self.engine.variables[number].name
                raise ImpossibleEvidenceError(f"{name!r} cannot get probability where it has none: {vector.tolist()}")
        with np.errstate(divide="ignore"):
            weights = {number: np.where(vector > 0, 0.0, -math.inf) for number, vector in self.wanted.items()}
        if len(self.wanted) > 1:
            weights = self.refined(self.proportional(weights))
        else:
            self.adjust(weights, current, *self.wanted)
        return self.weighted(weights)

    def proportional(self, weights: Weights) -> Weights:
        """Return weights after some rounds of iterative proportional fitting."""
        for _ in range(FITTING_ROUNDS):
            worst = 0.0
            for number in self.wanted:
                current = self.possible_marginals(weights)
                worst = max(worst, float(np.abs(current[number] - self.wanted[number]).max()))
                self.adjust(weights, current, number)
            if worst < FITTED:
                break
        return weights

    def adjust(self, weights: Weights, current: Mapping[int, FloatArray], number: int) -> None:
        """Give one variable its distribution."""
        some = self.wanted[number] > 0
        weights[number] = weights[number].copy()
        weights[number][some] += np.log(self.wanted[number][some] / current[number][some])
        weights[number] = _limited(weights[number])

    def refined(self, weights: Weights) -> Weights:
        """Return weights that give all variables their distributions, by Newton's method.

        Raises
        ------
        EvidenceError
            If there are none, or none are found.
        """
        current = self.possible_marginals(weights)
        value = self.objective(weights)
        for _ in range(NEWTON_STEPS):
            if self.deviation(current) < FITTED:
                return weights
            step = self.newton_step(weights, current)
            if self.is_impossible(weights) or self.is_impossible(step):
                raise self.impossible()
            stepped = self.lower(weights, step, value)
            if stepped is None:
                break
            weights, value = stepped
            current = self.possible_marginals(weights)
        if self.deviation(current) < NEARLY_FITTED:
            return weights
        raise EvidenceError(
            f"the distributions of {self.names()} were not met: they are still off by {self.deviation(current):.2g}, "
            f"and it could not be told whether they can be had together"
        )

    def lower(self, weights: Weights, step: Weights, value: float) -> tuple[Weights, float] | None:
        """Return weights further along the step with a lower value of F, and that; None if rounding hides any."""
        size = 1.0
        rounding = 1e-13 * (1 + abs(value))
        while size > ROUNDING:
            tried = {number: _limited(weights[number] + size * step[number]) for number in weights}
            found = self.objective(tried)
            if found <= value + rounding:
                return tried, found
            size /= 2
        return None

    def newton_step(self, weights: Weights, current: Mapping[int, FloatArray]) -> Weights:
        """Return the step to where F would be least if it were quadratic, shortened if it is very long."""
        places = [(n, code) for n, vector in self.wanted.items() for code in np.flatnonzero(vector > 0).tolist()]
        now = np.concatenate([current[n][self.wanted[n] > 0] for n in self.wanted])
        gradient = np.concatenate([(current[n] - vector)[vector > 0] for n, vector in self.wanted.items()])
        curvature = np.zeros((len(places), len(places)))
        for row, (number, code) in enumerate(places):
            only = np.full(len(weights[number]), -math.inf)
            only[code] = 0.0
            given = self.marginals({**weights, number: only})
            joint = np.concatenate([given[n][self.wanted[n] > 0] for n in self.wanted])
            curvature[row] = now[row] * (joint - now)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        flat = values <= np.finfo(np.float64).eps * values.max()  # weights of a whole variable change nothing
        slopes = vectors.T @ -gradient
        step = vectors @ np.where(flat, 0.0, slopes / np.where(flat, 1.0, values))
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), LONGEST_STEP))
        moves: Weights = {number: np.where(logs > -math.inf, 0.0, logs) for number, logs in weights.items()}
        for (number, code), move in zip(places, step.tolist(), strict=True):
            moves[number][code] = move
        return moves

    # ------------------------------------------------------------------ asking the network

    def weighted(self, weights: Weights) -> Evidence:
        """Return the evidence with weights as likelihoods."""
        vectors = {}
        for number, logs in weights.items():
            vector = np.exp(logs - logs.max()) * self.known.likelihoods.get(number, 1.0)
            vectors[number] = vector / vector.max()
        return self.known._replace(likelihoods={**self.known.likelihoods, **vectors})

    def marginals(self, weights: Weights) -> dict[int, FloatArray]:
        """Return the posteriors of the variables under some weights."""
        found = self.engine.coded_marginals(self.weighted(weights), None, self.memory_budget)
        return {number: found[self.engine.variables[number].name] for number in self.wanted}

    def possible_marginals(self, weights: Weights) -> dict[int, FloatArray]:
        """Return the same, or raise because what is wanted cannot be had."""
        try:
            current = self.marginals(weights)
        except ImpossibleEvidenceError:
            raise self.impossible() from None
        if any(((current[n] == 0) & (weights[n] > -math.inf)).any() for n in weights):
            raise self.impossible()
        return current

    def objective(self, weights: Weights) -> float:
        """Return F, up to a constant."""
        shift = 0.0
        for number, logs in weights.items():
            vector = np.exp(logs - logs.max()) * self.known.likelihoods.get(number, 1.0)
            shift += float(logs.max()) + math.log(vector.max()) - self.mean(number, logs)
        return self.engine.coded_log_probability(self.weighted(weights), self.memory_budget) + shift

    def mean(self, number: int, logs: FloatArray) -> float:
        """Return the mean of the log weights of a variable under the distribution wanted."""
        some = self.wanted[number] > 0
        return float(self.wanted[number][some] @ logs[some])

    def deviation(self, current: Mapping[int, FloatArray]) -> float:
        """Return how far the marginals are off."""
        return max(float(np.abs(current[number] - vector).max()) for number, vector in self.wanted.items())

    # ------------------------------------------------------------------ what cannot be had

    def is_impossible(self, weights: Weights) -> bool:
        """Return whether the weights prove that the distributions cannot be had together."""
        spread = max(float(np.ptp(logs[logs > -math.inf])) for logs in weights.values())
        if not spread > 0:
            return False
        scaled = {number: logs / spread for number, logs in weights.items()}
        known = self.weighted(scaled)
        question = Question("max", (), frozenset(known.codes), frozenset(known.likelihoods))
        try:
            prepared = self.engine.prepare(question, self.memory_budget)
        except TooLargeError:
            return False
        tables, _ = prepared.sliced(self.engine.with_constants(known))
        tables = [np.asarray(table > 0, dtype=np.float64) for table in tables]
        for slot, number in enumerate(prepared.soft, start=len(prepared.numbers)):
            if number in scaled:
                tables[slot] = tables[slot] * np.exp(scaled[number] - scaled[number].max())
        assert isinstance(prepared.maximizer, Maximizer)
        best = prepared.maximizer.best(tables)
        if best is None:
            return True
        highest = sum(float(logs[best[number]]) for number, logs in scaled.items())
        return highest < sum(self.mean(number, logs) for number, logs in scaled.items()) - SURELY_BELOW

    def impossible(self) -> EvidenceError:
        """Return the error for distributions that cannot be had together."""
        return EvidenceError(
            f"no distribution over the possible states gives all of {self.names()} what they should have"
        )

    def names(self) -> str:
        """Return the names of the variables, for messages."""
        return listing(self.engine.variables[number].name for number in self.wanted)


def _limited(logs: FloatArray) -> FloatArray:
    """Return log weights with none so small that it could not be told from zero."""
    return np.where(logs > -math.inf, np.maximum(logs, logs.max() - LARGEST_WEIGHT), logs)
