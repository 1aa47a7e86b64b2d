"""Model averaging for naive Bayes, over whether features depend on the class at all.

Over all 2**n naive Bayes networks in which each of n features has an edge from the class or has none, the average of
P(c, x) is a single naive Bayes network, whose tables mix those with and without the edge.

References
----------
Dash and Cooper (2002), "Exact model averaging with naive Bayesian classifiers", ICML 19. Wei, Visweswaran and Cooper
(2011), *Journal of the American Medical Informatics Association* 18(4), 370-375.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import Family, logarithm, look_up, smoothed, subtracted
from pgm.errors import DataError

__all__ = ["averaged_table", "check_relevance_prior", "held_out_averaged", "relevance_log_odds"]


def check_relevance_prior(prior: object, pseudocount: float, *, em: bool) -> None:
    """Raise `DataError` for a prior that is no probability strictly between 0 and 1, or goes with what cannot be."""
    if isinstance(prior, bool) or not isinstance(prior, (int, float, np.number)) or not 0 < prior < 1:
        raise DataError(f"relevance_prior must be a number between 0 and 1, neither included, not {prior!r}")
    if pseudocount == 0:
        raise DataError("relevance_prior needs a pseudocount above 0: without one no table has a marginal likelihood")
    if em:
        raise DataError("relevance_prior needs counts of complete rows: em=False")


def relevance_log_odds(counts: FloatArray, pseudocount: float, prior: float) -> float:
    """Return ln of P(edge | data) / P(no edge | data) for a feature and the class.

    Parameters
    ----------
    counts
        N(c, x), shape (classes, states).
    pseudocount
        Dirichlet parameter of every cell, above 0.
    prior
        P(edge), between 0 and 1.

    Examples
    --------
    >>> round(relevance_log_odds(np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0, 0.5), 4)  # (1/2 * 1/2) / (1/2 * 1/3)
    0.4055
    """
    with_edge = _log_marginal_likelihood(counts, pseudocount)
    without = _log_marginal_likelihood(counts.sum(axis=0, keepdims=True), pseudocount)
    return with_edge - without + float(np.log(prior) - np.log1p(-prior))


def _log_marginal_likelihood(counts: FloatArray, pseudocount: float) -> float:
    """Return ln of the Dirichlet-multinomial probability of the rows behind ``counts``, summed over classes."""
    states = counts.shape[-1]
    totals = gammaln(states * pseudocount) - gammaln(states * pseudocount + counts.sum(axis=-1))
    return float(totals.sum() + (gammaln(counts + pseudocount) - gammaln(pseudocount)).sum())


def averaged_table(counts: FloatArray, pseudocount: float, log_odds: float) -> FloatArray:
    """Return P(x | c) averaged over whether x depends on c, shape (classes, states).

    >>> averaged_table(np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0, np.log(0.6 / 0.4)).round(4).tolist()
    [[0.6, 0.4], [0.4, 0.6]]
    """
    relevance = expit(log_odds)
    return np.asarray(
        relevance * smoothed(counts, pseudocount) + (1 - relevance) * smoothed(counts.sum(axis=0), pseudocount)
    )


def held_out_averaged(
    family: Family, codes: NDArray[np.unsignedinteger], own: FloatArray, pseudocount: float, log_odds: float
) -> FloatArray:
    """Return ln of `averaged_table` at each row, without what the row itself adds; 0 where the feature is missing.

    Parameters
    ----------
    family
        The feature and its counts.
    codes
        Code of the feature in each row.
    own
        What each row adds to the counts of each class, shape (rows, classes).
    pseudocount
        As in `relevance_log_odds`.
    log_odds
        Of all rows.
    """
    counts = family.counts
    states = counts.shape[-1]
    missing = codes == states
    # ln Gamma(n + l) - ln Gamma(n + l - w) for the cells and totals that a row is in: what it adds to the likelihoods
    own_class = own.sum(axis=1)
    label = own.argmax(axis=1)
    cells, everything = look_up(counts, 0.0)[codes], look_up(counts.sum(axis=0, keepdims=True), 0.0)[codes, 0]
    in_class = counts.sum(axis=1)

    def added(count: FloatArray, base: float) -> FloatArray:
        return np.asarray(gammaln(count + base) - gammaln(subtracted(count, own_class) + base))

    in_cell = cells[np.arange(len(codes)), label]
    with_edge = added(in_cell, pseudocount) - added(in_class[label], states * pseudocount)
    without = added(everything, pseudocount) - added(np.full(len(codes), in_class.sum()), states * pseudocount)
    relevance = expit(log_odds - np.where(missing, 0.0, with_edge - without))[:, None]
    dependent = (subtracted(cells, own) + pseudocount) / (subtracted(in_class, own) + pseudocount * states)
    independent = subtracted(everything, own_class) + pseudocount
    independent /= subtracted(in_class.sum(), own_class) + pseudocount * states
    logs = logarithm(relevance * dependent + (1 - relevance) * independent[:, None])
    logs[missing] = 0.0
    return logs
