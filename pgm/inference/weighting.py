"""Likelihood weighting: rows drawn as if nothing were observed but for the observed states themselves, and weighted.

The observed variables are set to their states; the others are drawn in topological order, each given its parents. The
weight of a row is the probability of the observed states given their parents in that row (Fung and Chang 1990; Shachter
and Peot 1990; Koller and Friedman 2009, section 12.3). No table is larger than those of the network, so it always
runs; but the more improbable the evidence, the fewer rows carry nearly all the weight. Sampling from the posterior
(:mod:`pgm.inference.sampling`) is exact and preferable wherever it is not too large.
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
from pgm.inference.sampled_posterior import SampledPosterior, effective_sample_size, estimate_by_weights
from pgm.inference.sampling import ancestral_draws, data_set, empty_columns, posterior_draws

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["WeightedSample", "likelihood_weighting", "raise_for_no_row", "weighted_columns", "weighted_posterior"]

WEIGHT_BYTES = 40
"""Bytes that a row takes beside its cells while its weight is made: five numbers."""


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
    size = effective_sample_size(weights)
    return WeightedSample(data_set(engine, columns, weights), log_mean + request.known.log_scale, size)


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
    weights, _ = _normalized(request, logs)
    return request.posterior(
        columns, lambda states, n_states: estimate_by_weights(states, n_states, weights), "likelihood weighting"
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


def raise_for_no_row(request: Request) -> NoReturn:
    """Raise because no row agrees with the evidence; with the conflict, if it is impossible and that can be told."""
    with suppress(TooLargeError):
        posterior_draws(request.engine, request.known, 0, request.memory_budget)
    raise EvidenceError(
        f"none of {request.n_rows:,} rows drawn agrees with the evidence, which is impossible or too improbable for "
        f"likelihood weighting; sampling from the exact posterior does not depend on that"
    )
