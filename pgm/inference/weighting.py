"""Likelihood weighting: rows drawn as if nothing were observed but for the observed states themselves, and weighted.

The observed variables are set to their states; the others are drawn in topological order, each given its parents. The
weight of a row is the probability of the observed states given their parents in that row (Fung and Chang 1990; Shachter
and Peot 1990; Koller and Friedman 2009, section 12.3). No table is larger than those of the network, so it always
runs; but the more improbable the evidence, the fewer rows carry nearly all the weight. Sampling from the posterior
(:mod:`pgm.inference.sampling`) is exact and preferable wherever it is not too large.

Rows that were drawn say nothing about rows that were not. Where heavy rows are rare, none may be drawn; the others then
look alike, their effective sample size is large, and all the same they represent almost nothing. So the largest weight
that any row can have is worked out as well. If no row as heavy was drawn, heavier ones have a probability of at most
3/n, with a confidence of 95 % (the *rule of three*), and what they could weigh is reported.

References
----------
Hanley and Lippman-Hand (1983), "If nothing goes wrong, is everything all right? Interpreting zero numerators".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, TooLargeError
from pgm.factors.factor import FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label
from pgm.inference.drawing import draw_rows
from pgm.inference.estimation import Request
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.maximum import Maximizer
from pgm.inference.planning import make_plan
from pgm.inference.sampled_posterior import SampledPosterior, effective_sample_size, estimate_by_weights
from pgm.inference.sampling import ancestral_draws, data_set, empty_columns, posterior_draws

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["WeightedSample", "likelihood_weighting", "raise_for_no_row", "weighted_columns", "weighted_posterior"]

WEIGHT_BYTES = 40
"""Bytes that a row takes beside its cells while its weight is made: five numbers."""

RULE_OF_THREE = 3.0
"""What none of n rows shows has a probability of at most this over n, with a confidence of 95 %."""

SAME_WEIGHT = 1e-9
"""Logarithms of weights this close are those of the same weight."""

BOUND_BYTES = 1 << 24
"""Bytes that the largest weight may take to find; a bound that takes none is used instead."""


@dataclass(frozen=True, slots=True)
class WeightedSample:
    """Rows that agree with the evidence, weighted so that together they represent the posterior."""

    data: Dataset
    """The rows; their weights have mean one. The log-likelihood of weighted data counts their total weight, not their
    effective sample size."""
    log_probability: float
    """Estimate of ln P(evidence): the log of the mean weight before that was made one."""
    effective_sample_size: float
    """As many independent rows from the posterior would be worth as much."""
    unseen: float = 0.0
    """At most this share of the posterior is in rows heavier than any that was drawn, with a confidence of 95 %; 0 if
    no row can be heavier. Where it is large, neither the rows nor ``log_probability`` can be relied on."""


def likelihood_weighting(
    engine: ExactInference,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Label] | None = None,
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
) -> WeightedSample:
    """Return n weighted rows that agree with the evidence. See ``BayesianNetwork.weighted_sample``."""
    request = Request.of(engine, None, n, rng, evidence, likelihoods, memory_budget, least=1)
    columns, logs = weighted_columns(request)
    weights, log_mean = _normalized(request, logs)
    size, unseen = effective_sample_size(weights), _unseen(request, float(logs.max()), log_mean)
    return WeightedSample(data_set(engine, columns, weights), log_mean + request.known.log_scale, size, unseen)


def weighted_posterior(
    engine: ExactInference,
    targets: Names,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Label] | None = None,
    likelihoods: Likelihoods | None = None,
    memory_budget: int = MEMORY_BUDGET,
) -> SampledPosterior:
    """Return P(targets | evidence) as n weighted rows estimate it. See ``BayesianNetwork.estimate``."""
    request = Request.of(engine, targets, n, rng, evidence, likelihoods, memory_budget, least=1)
    columns, logs = weighted_columns(request)
    weights, log_mean = _normalized(request, logs)
    return request.posterior(
        columns,
        lambda states, n_states: estimate_by_weights(states, n_states, weights),
        "likelihood weighting",
        _unseen(request, float(logs.max()), log_mean),
    )


def weighted_columns(request: Request) -> tuple[dict[int, NDArray[Any]], FloatArray]:
    """Return columns of the variables that the request needs, and the logarithm of the weight of each row."""
    engine, known, n_rows = request.engine, request.known, request.n_rows
    needed = request.needed
    request.check_memory(needed, WEIGHT_BYTES)
    columns = empty_columns(engine, needed, known, n_rows, request.memory_budget)
    draw_rows(ancestral_draws(engine, needed - known.codes.keys(), n_rows), columns, n_rows, request.generator)
    logs = np.zeros(n_rows)
    with np.errstate(divide="ignore"):
        for variable, code in sorted(known.codes.items()):
            row_weights = np.log(engine.values[variable][..., code])
            logs += row_weights[tuple([columns[parent] for parent in engine.parents[variable]])]
        for variable, vector in sorted(known.likelihoods.items()):
            logs += np.log(vector)[columns[variable]]
    return columns, logs


def _normalized(request: Request, logs: FloatArray) -> tuple[FloatArray, float]:
    """Return weights of mean one, and the log of the mean that they had.

    Raises
    ------
    ImpossibleEvidenceError, EvidenceError
        If all weights are zero: the evidence is impossible, or no row that agrees with it was found.
    """
    peak = float(logs.max())
    if peak == -math.inf:
        raise_for_no_row(request)
    weights = np.exp(logs - peak)
    mean = float(weights.mean())
    return weights / mean, math.log(mean) + peak


def _unseen(request: Request, heaviest: float, log_mean: float) -> float:
    """Return the share of the posterior that rows heavier than any drawn may hold.

    Parameters
    ----------
    request
        What was drawn.
    heaviest, log_mean
        Logarithms of the largest weight drawn, and of the mean weight.
    """
    bound = _largest_log_weight(request)
    if bound <= heaviest + SAME_WEIGHT:
        return 0.0
    return 1.0 / (1.0 + math.exp(log_mean - bound) * request.n_rows / RULE_OF_THREE)


def _largest_log_weight(request: Request) -> float:
    """Return the logarithm of the largest weight of any row, or of a bound if that would take large tables."""
    engine, known = request.engine, request.known
    tables = [(scope, values) for _, scope, values in engine.reduced(sorted(known.codes), known.codes)]
    tables += [((variable,), vector) for variable, vector in sorted(known.likelihoods.items())]
    bound = sum(math.log(values.max()) for _, values in tables)
    open_ = [(scope, values / values.max()) for scope, values in tables if scope]
    plan = make_plan([scope for scope, _ in open_], engine.cardinalities)
    try:
        plan.check_memory(min(request.memory_budget, BOUND_BYTES), "the largest weight")
    except TooLargeError:
        return bound
    maximizer = Maximizer(plan.scopes[: plan.n_tables], engine.cardinalities, plan)
    best = maximizer.best([values for _, values in open_])
    if best is None:
        return -math.inf
    return bound + sum(math.log(values[tuple([best[variable] for variable in scope])]) for scope, values in open_)


def raise_for_no_row(request: Request) -> NoReturn:
    """Raise because no row agrees with the evidence; with the conflict, if it is impossible and that can be told."""
    with suppress(TooLargeError):
        posterior_draws(request.engine, request.known, 0, request.memory_budget)
    raise EvidenceError(
        f"none of {request.n_rows:,} rows drawn agrees with the evidence, which is impossible or too improbable for "
        f"likelihood weighting; sampling from the exact posterior does not depend on that"
    )
