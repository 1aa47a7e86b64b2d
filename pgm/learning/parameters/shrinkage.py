"""Shrinkage: parent configurations with few rows borrow strength from the others.

Every row of a table is thought to be drawn from one Dirichlet distribution, whose mean m is near the child's marginal
and whose weight s says how alike the rows are: with a large s they are all the marginal, with a small one they have
nothing to do with each other. Given the counts n(j, s), the weight is chosen under which they are most probable,

    sum over j of  ln G(s) - ln G(s + n(j)) + sum over states k of  ln G(s m(k) + n(j, k)) - ln G(s m(k)),

G being the gamma function, and s m(k) are then the Dirichlet counts of every configuration (empirical Bayes). As a
function of s this has one maximum (Levin and Reeds 1977), which a search by golden section finds.

References
----------
MacKay and Peto (1995), *Natural Language Engineering* 1, 289-308. Azzimonti, Corani and Zaffalon (2019), *Computational
Statistics and Data Analysis* 137, 67-91, who integrate over m where we take the marginal. Levin and Reeds (1977),
*Annals of Statistics* 5, 79-87.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray

__all__ = ["hierarchical_pseudocounts"]

_SMALLEST, _LARGEST = 1e-4, 1e6
"""Weights beyond which the rows of a table might as well be independent, or equal."""

_PRECISION = 1e-3
"""Of the logarithm of the weight; the estimates hardly move with it."""


def hierarchical_pseudocounts(counts: NDArray[Any]) -> FloatArray:
    """Return the Dirichlet counts of a family under which its own counts are most probable.

    Parameters
    ----------
    counts
        N(parents, child), the child last.

    Returns
    -------
    ndarray
        The same for every parent configuration, in the shape of ``counts`` (read-only). Their mean is the child's
        marginal with one imaginary row spread evenly over its states, so that none is 0.

    Notes
    -----
    About 25 evaluations of the log-gamma function for each different row of counts.

    Examples
    --------
    >>> alike = hierarchical_pseudocounts(np.array([[30, 10], [3, 1], [30, 10]]))
    >>> apart = hierarchical_pseudocounts(np.array([[40, 0], [0, 4], [0, 40]]))
    >>> bool(alike.sum(axis=-1)[0] > 1000), bool(apart.sum(axis=-1)[0] < 1)
    (True, True)
    """
    r = counts.shape[-1]
    rows = counts.reshape(-1, r)
    mean = (rows.sum(axis=0) + 1.0 / r) / (rows.sum() + 1.0)
    seen, repeats = np.unique(rows[rows.any(axis=1)], axis=0, return_counts=True)
    weight = _most_probable_weight(seen.astype(np.float64), repeats, mean) if len(seen) else 1.0
    return np.broadcast_to(weight * mean, counts.shape)


def _most_probable_weight(rows: FloatArray, repeats: NDArray[np.intp], mean: FloatArray) -> float:
    from scipy.special import gammaln

    totals = rows.sum(axis=1)

    def log_probability(log_weight: float) -> float:
        weight = math.exp(log_weight)
        start = weight * mean
        terms = gammaln(start + rows).sum(axis=1) - gammaln(start).sum() + gammaln(weight) - gammaln(weight + totals)
        return float(repeats @ terms)

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = log_probability(left), log_probability(right)
    while high - low > _PRECISION:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = log_probability(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = log_probability(right)
    return math.exp((low + high) / 2.0)
