"""Likelihood weighting: rows drawn as if nothing were observed but for the observed states themselves, and weighted.

The observed variables are set to their states; the others are drawn in topological order, each given its parents. The
weight of a row is the probability of the observed states given their parents in that row (Fung and Chang 1990; Shachter
and Peot 1990; Koller and Friedman 2009, section 12.3). No table is larger than those of the network, so it always
runs; but the more improbable the evidence, the fewer rows carry nearly all the weight. Sampling from the posterior
(:mod:`pgm.inference.sampling`) is exact and preferable wherever it is not too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError, TooLargeError
from pgm.factors.factor import MEMORY_BUDGET, FloatArray, Names, check_size
from pgm.factors.variable import Label
from pgm.inference.drawing import as_generator, draw_rows, joint_codes
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.sampled_posterior import SampledPosterior, effective_sample_size, estimate_by_weights
from pgm.inference.sampling import (
    ancestral_draws,
    checked_count,
    data_set,
    empty_columns,
    posterior_draws,
    relevant,
)

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset

__all__ = ["WeightedSample", "likelihood_weighting", "weighted_columns", "weighted_posterior"]


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
    n_rows = checked_count(n, least=1)
    generator = as_generator(rng)
    known = engine.code(evidence, likelihoods)
    everything = set(range(len(engine.variables)))
    columns, logs = weighted_columns(engine, known, everything, n_rows, generator, memory_budget)
    weights, log_mean = _normalized(engine, known, logs)
    size = effective_sample_size(weights)
    return WeightedSample(data_set(engine, columns, weights), log_mean + known.log_scale, size)


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
    n_rows = checked_count(n, least=1)
    generator = as_generator(rng)
    asked = code_targets(engine.index, targets)
    known = engine.code(evidence, likelihoods)
    check_size([engine.cardinalities[t] for t in asked], f"the joint of {len(asked)} variables", memory_budget)
    needed = relevant(engine, known, asked)
    columns, logs = weighted_columns(engine, known, needed, n_rows, generator, memory_budget)
    weights, _ = _normalized(engine, known, logs)
    free, position = split_targets(engine, known, asked)
    cardinalities = [engine.cardinalities[target] for target in free]
    states = joint_codes(columns, free, cardinalities, n_rows)
    estimate = estimate_by_weights(states, math.prod(cardinalities), weights)
    scope = [engine.variables[target] for target in asked]
    return SampledPosterior.of(scope, position, estimate, n_rows, "likelihood weighting")


def split_targets(
    engine: ExactInference, known: Evidence, asked: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int | slice, ...]]:
    """Return the targets that are drawn; and for each target its state where it is known, else a slice."""
    certain = {**engine.constant, **known.codes}
    free = tuple(target for target in asked if target not in certain)
    return free, tuple(certain.get(target, slice(None)) for target in asked)


def weighted_columns(
    engine: ExactInference,
    known: Evidence,
    needed: Set[int],
    n_rows: int,
    generator: np.random.Generator,
    memory_budget: int,
) -> tuple[dict[int, NDArray[Any]], FloatArray]:
    """Return columns of the needed variables, which include all their ancestors, and the logarithm of each weight."""
    columns = empty_columns(engine, needed, known, n_rows, memory_budget)
    draw_rows(ancestral_draws(engine, needed - known.codes.keys(), n_rows), columns, n_rows, generator)
    logs = np.zeros(n_rows)
    with np.errstate(divide="ignore"):
        for variable, code in sorted(known.codes.items()):
            row_weights = np.log(engine.values[variable][..., code])
            logs += row_weights[tuple([columns[parent] for parent in engine.parents[variable]])]
        for variable, vector in sorted(known.likelihoods.items()):
            logs += np.log(vector)[columns[variable]]
    return columns, logs


def _normalized(engine: ExactInference, known: Evidence, logs: FloatArray) -> tuple[FloatArray, float]:
    """Return weights of mean one, and the log of the mean that they had.

    Raises
    ------
    ImpossibleEvidenceError, EvidenceError
        If all weights are zero: the evidence is impossible, or no row that agrees with it was found.
    """
    peak = float(logs.max())
    if peak == -math.inf:
        raise_for_no_row(engine, known, len(logs))
    weights = np.exp(logs - peak)
    mean = float(weights.mean())
    return weights / mean, math.log(mean) + peak


def raise_for_no_row(engine: ExactInference, known: Evidence, n_rows: int) -> None:
    """Raise because no row agrees with the evidence; with the conflict, if it is impossible and that can be told."""
    with suppress(TooLargeError):
        posterior_draws(engine, known, 0, MEMORY_BUDGET)
    raise EvidenceError(
        f"none of {n_rows:,} rows drawn agrees with the evidence, which is impossible or too improbable for likelihood "
        f"weighting; sampling from the exact posterior does not depend on that"
    )
