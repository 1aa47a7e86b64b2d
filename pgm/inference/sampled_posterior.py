"""`SampledPosterior`: a posterior estimated from random rows, with how far it may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import Factor, FloatArray
from pgm.factors.printing import format_table
from pgm.factors.variable import Variable

__all__ = ["SampledPosterior", "effective_sample_size", "estimate_by_chains", "estimate_by_weights"]

_COLUMNS = Variable("estimate", ["value", "standard error"])


@dataclass(frozen=True, slots=True)
class SampledPosterior:
    """An approximate posterior: what was drawn, how often, and the standard error of that.

    The true probability lies within two standard errors about 95 times in 100, if the effective sample size is not
    small (a few hundred, say).
    """

    posterior: Factor
    """The estimate of P(targets | evidence), axes in the order asked."""
    standard_error: Factor
    """Standard error of each entry; at least one over the effective sample size, since a state that was never drawn may
    still be possible, and two of them cover what rows that are ``unseen`` could change. Zero only where the evidence
    itself decides."""
    effective_sample_size: float
    """As many independent rows from the posterior would be worth as much."""
    n_rows: int
    """Rows drawn."""
    method: str
    """How they were drawn."""
    unseen: float | None = None
    """For likelihood weighting: at most this share of the posterior is in rows heavier than any that was drawn, with a
    confidence of 95 %; 0 if no row can be heavier. The effective sample size does not know of them. None if it cannot
    be told, as for Gibbs sampling."""

    def __str__(self) -> str:
        numbers = np.stack([self.posterior.values, self.standard_error.values], axis=-1)
        worth = f"worth {self.effective_sample_size:,.0f} independent ones"
        if self.unseen and self.unseen >= self.standard_error.values.max() > 0:
            worth = f"and up to {self.unseen:.1%} of the posterior in heavier ones, none of which was drawn"
        title = f"approximate, by {self.method}: {self.n_rows:,} rows, {worth}"
        table = format_table(self.posterior.variables, numbers, _COLUMNS).partition("\n")[2]
        return f"{title}\n{table}"

    @classmethod
    def of(
        cls,
        scope: Sequence[Variable],
        position: tuple[int | slice, ...],
        estimate: tuple[FloatArray, FloatArray, float],
        n_rows: int,
        method: str,
        unseen: float | None = None,
    ) -> SampledPosterior:
        """Return the record of an estimate over the targets that were not observed.

        Parameters
        ----------
        scope
            The targets.
        position
            For each target the state observed, or a slice if it was drawn.
        estimate
            Probabilities, standard errors and effective sample size, over the joint states of the targets drawn.
        n_rows, method, unseen
            As the fields.
        """
        probabilities, errors, size = estimate
        moved = (unseen or 0.0) * np.maximum(probabilities, 1 - probabilities)
        wide = np.maximum(np.hypot(errors, moved / 2), 1.0 / size) if len(errors) > 1 else np.zeros(1)
        tables = []
        for numbers in (probabilities, wide):
            table = np.zeros([variable.cardinality for variable in scope])
            table[position] = numbers.reshape(table[position].shape)
            tables.append(Factor(scope, table))
        return cls(tables[0], tables[1], size, n_rows, method, unseen)


def effective_sample_size(weights: FloatArray) -> float:
    """Return how many equally weighted rows the rows are worth: (sum of weights)**2 / sum of squared weights.

    References
    ----------
    Kish (1965), *Survey Sampling*; Liu (2001), *Monte Carlo Strategies in Scientific Computing*, section 2.5.3.

    Examples
    --------
    >>> effective_sample_size(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    return float(weights.sum() ** 2 / np.square(weights).sum())


def estimate_by_weights(
    states: NDArray[np.intp], n_states: int, weights: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the probability of each state, its standard error, and the effective sample size of independent rows.

    Parameters
    ----------
    states
        The state of each row.
    n_states
        How many states there are.
    weights
        The weight of each row; their sum must be positive.

    Notes
    -----
    The estimate is a ratio of sums, so its error is that of a ratio, to first order: the root of the sum of
    (weight * (1 or 0 - probability))**2 over the sum of weights.
    """
    total = weights.sum()
    squares = np.square(weights)
    sums = np.bincount(states, weights, n_states)
    probabilities = sums / sums.sum()  # not the total, which may be rounded another way: one state alone has 1
    own = np.bincount(states, squares, n_states)
    variances = own * (1 - probabilities) ** 2 + (squares.sum() - own).clip(0) * probabilities**2
    return probabilities, np.sqrt(variances) / total, effective_sample_size(weights)


def estimate_by_chains(
    states: NDArray[np.intp], n_states: int, chains: NDArray[Any]
) -> tuple[FloatArray, FloatArray, float]:
    """Return the probability of each state, its standard error, and the effective sample size of rows from chains.

    Parameters
    ----------
    states
        The state of each row.
    n_states
        How many states there are.
    chains
        The chain of each row, numbered from 0; at least two.

    Notes
    -----
    Rows of one chain depend on each other, chains do not: the error is read from how much the chains differ.
    """
    n_chains = int(chains.max()) + 1
    counts = np.bincount(chains * n_states + states, minlength=n_chains * n_states).reshape(n_chains, n_states)
    probabilities = counts.sum(axis=0) / len(states)
    deviations = counts - counts.sum(axis=1, keepdims=True) * probabilities
    variances = np.square(deviations).sum(axis=0) * n_chains / (n_chains - 1) / len(states) ** 2
    spread = float(variances.sum())
    independent = float((probabilities * (1 - probabilities)).sum())
    size = min(len(states), independent / spread) if spread > 0 else len(states)
    return probabilities, np.sqrt(variances), float(size)
