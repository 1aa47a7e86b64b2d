"""Upper bounds on what any superset of a parent set can score, without counting the supersets.

Let P be a parent set of a child with r states, and n(j, s) the number of rows with parent configuration j and state s
of the child. A superset of P splits the rows of each configuration into parts. However far that goes, rows that agree
in *all* candidates stay together: call such a group of rows a *full* configuration.

*Likelihood.* Splitting never lowers the log-likelihood, so that of the full configurations, the *ceiling*, bounds that
of all sets. Bayesian scores are logarithms of expected likelihoods, and so no larger either.

*Penalties.* A superset has at least ``least`` times as many parent configurations as P, where ``least`` is the smallest
number of states of a variable to be added, and pays for their parameters. With ``price`` the penalty of a parameter,
ln(N) / 2 for BIC and 1 for AIC (Suzuki 1996; de Campos and Ji 2011):

    score(superset) <= ceiling - price * (r - 1) * q * least.

*First occurrences.* A part of the rows adds ln E[product over s of t(s)^n(s)] to a Bayesian score, where t is a random
distribution with a symmetric Dirichlet prior. The components of t are negatively associated, so the expectation of the
product is at most the product of the E[t(s)^n(s)]; and two parts with m and n rows of one state have
E[t^m] E[t^n] <= E[t^(m+n)], for both factors grow with t. So the rows of j give at most the sum over s of
ln E[t(s)^n(j, s)], however they are split. For a fixed Dirichlet parameter a (K2, BDJ) that is a number. In BDeu and
BDs a superset may have another parameter, but E[t^n] <= E[t] = 1/r for n >= 1, and E[t^n] <= (1/r)^n for n <= 1, where
t^n is concave in t: at most -ln r for every state that occurs in j (for configurations, not states: Cussens 2012).

*Conflicts.* Where a full configuration shows several states, some part holds them all. Take its rows first, then the
others of that part: in BDeu and BDs, with a total parameter of at most A, a new state after m rows has probability
(1/r) a / (m + a) for some a <= A, which is ln(A / (m + A)) less than was granted. For a fixed parameter a, what was
granted too much is ln of the rising factorials of r a: R(sum of n) - sum of R(n), which grows with every n, and so is
at least that of the full configuration. Only the worst conflict of each j is charged, as several may be in one part.
(Correia, Cussens and de Campos 2020 have bounds in this spirit.)

References
----------
Suzuki (1996), *International Conference on Machine Learning*, 462-470. De Campos and Ji (2011), *Journal of Machine
Learning Research* 12, 663-689. Cussens (2012), An upper bound for BDeu local scores, *ECAI workshop on algorithmic
issues for inference in graphical models*. Correia, Cussens and de Campos (2020), On pruning for score-based Bayesian
network structure learning, *AISTATS*. Joag-Dev and Proschan (1983), *Annals of Statistics* 11, 286-295.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource
from pgm.learning.scores.bayesian import BDJ, K2, BDeu, BDs
from pgm.learning.scores.decomposable import Score
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import AIC, BIC
from pgm.learning.scores.tables import log_rising, n_log_n

__all__ = [
    "FullTable",
    "SupersetBound",
    "first_occurrence_bounds",
    "fixed_prior_bounds",
    "parameter_price",
    "penalty_bound",
]

Floats = NDArray[np.float64]

_LARGEST = 1 << 62
"""Joint states that are numbered without ranking those that occur."""


def penalty_bound(q: int, r: int, price: float, least: int = 2, ceiling: float = 0.0) -> float:
    """Return what a score with a price for every parameter is at most for a proper superset of a parent set.

    Parameters
    ----------
    q, r
        Number of configurations of the parent set, and of states of the child.
    price
        What a parameter costs: ln(N) / 2 in BIC, 1 in AIC.
    least
        Number of states of the smallest variable that a superset adds.
    ceiling
        Log-likelihood of the child given all variables that may be its parents.

    Examples
    --------
    >>> penalty_bound(4, 3, price=1.0)
    -16.0
    """
    return ceiling - price * (r - 1) * q * least


def first_occurrence_bounds(counts: NDArray[Any]) -> Floats:
    """Return what each parent configuration adds to BDeu and BDs at most, however a superset splits it.

    Parameters
    ----------
    counts
        N(parents, child), shape (q, r).

    Examples
    --------
    >>> (first_occurrence_bounds(np.array([[7, 0], [3, 1]])) / np.log(2)).round(9)
    array([-1., -2.])
    """
    bounds: Floats = -math.log(counts.shape[-1]) * np.minimum(counts, 1).sum(axis=-1)
    return bounds


def fixed_prior_bounds(counts: NDArray[Any], a: float) -> Floats:
    """Return what each parent configuration adds to a Dirichlet score at most, however a superset splits it.

    Parameters
    ----------
    counts
        N(parents, child), shape (q, r).
    a
        The parameter of every cell: 1 for K2, 1/2 for BDJ.

    Examples
    --------
    >>> np.exp(fixed_prior_bounds(np.array([[2, 1]]), 1.0)).round(9)  # 1/2 2/3, and 1/2
    array([0.16666667])
    """
    bounds: Floats = (log_rising(counts, a) - log_rising(counts, a * counts.shape[-1])).sum(axis=-1)
    return bounds


class FullTable:
    """The full configurations of all candidates that occur, with the counts of the child in each.

    Parameters
    ----------
    source
        Where counts come from.
    child
        The child, by number.
    candidates
        Numbers of all variables that may be its parents.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> data = Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]})
    >>> FullTable(data, 1, [0]).ceiling.__round__(4)
    -1.3863
    """

    def __init__(self, source: CountSource, child: int, candidates: Sequence[int]) -> None:
        names = [source.variables[variable].name for variable in (*candidates, child)]
        self.states = source.variables[child].cardinality
        cells = source.count_occupied(names)  # in lexicographic order, the child's state last
        above = cells.states[:, :-1]
        new = np.concatenate([[True], (above[1:] != above[:-1]).any(axis=1)])[: len(above)]
        self.whole = cells.counts.dtype.kind == "i"
        shape = int(new.sum()), self.states
        self.counts = np.zeros(shape, cells.counts.dtype)
        """Shape (full configurations, states of the child)."""
        self.counts[np.cumsum(new) - 1, cells.states[:, -1]] = cells.counts
        self._columns = dict(zip(candidates, above[new].T.astype(np.intp), strict=True))
        totals = self.counts.sum(axis=1)
        self.log_likelihoods = np.minimum(n_log_n(self.counts).sum(axis=1) - n_log_n(totals), 0.0)
        """The largest log-likelihood of each full configuration."""
        self._descending = -np.sort(-self.counts, axis=1)

    @property
    def ceiling(self) -> float:
        """Log-likelihood of the child given all candidates, which no set of them exceeds."""
        return float(self.log_likelihoods.sum())

    def configurations(self, parents: Sequence[int]) -> NDArray[np.intp]:
        """Return for each full configuration which configuration of some candidates it belongs to, from 0."""
        places = np.zeros(len(self.counts), np.intp)
        size = 1
        for parent in parents:
            radix = int(self._columns[parent].max(initial=0)) + 1
            if size * radix > _LARGEST:
                places = np.unique(places, return_inverse=True)[1]
                size = len(places)
            places = places * radix + self._columns[parent]
            size *= radix
        return np.unique(places, return_inverse=True)[1]

    def split_costs(self, most: float) -> Floats:
        """Return what the conflict in each full configuration costs in BDeu and BDs; ``most`` is the largest a."""
        if not self.whole:
            return np.zeros(len(self.counts))
        later = self._descending[:, 1:]
        before = np.cumsum(self._descending, axis=1)[:, :-1]
        costs: Floats = np.where(later > 0, np.log1p(before / most), 0.0).sum(axis=1)
        return costs

    def fixed_costs(self, a: float) -> Floats:
        """Return what the conflict in each full configuration costs in a score with a fixed parameter a."""
        start = a * self.states
        costs: Floats = log_rising(self.counts.sum(axis=1), start) - log_rising(self.counts, start).sum(axis=1)
        return costs


class SupersetBound:
    """Upper bounds on what any proper superset of a parent set scores, for one child of one data set.

    For a score without a bound they are infinite: the log-likelihood, fNML, qNML, and scores of the user's own.

    Parameters
    ----------
    scores
        The local scores of the data.
    child
        The child, by number.
    candidates
        Numbers of all variables that may be its parents.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> scores = FamilyScores(Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0], "c": [0, 1, 0, 1]}), "aic")
    >>> SupersetBound(scores, 1, [0, 2]).of([0])
    -4.0
    """

    def __init__(self, scores: FamilyScores, child: int, candidates: Sequence[int]) -> None:
        self._measure = scores.measure
        self._price = parameter_price(scores.measure, scores.source.total_weight)
        self._candidates = candidates
        self._cardinalities = [variable.cardinality for variable in scores.variables]
        self._r = self._cardinalities[child]
        sizes = range(len(candidates) + 1)
        priors = [scores.log_prior(size) for size in sizes]
        self._best_priors = [max(priors[size + 1 :], default=-math.inf) for size in sizes]  # of more parents
        if self._price is not None or isinstance(self._measure, (BDeu, BDs, K2, BDJ)):
            self._table = FullTable(scores.source, child, candidates)
            self._split_costs = lru_cache(maxsize=8)(self._table.split_costs)
            self._fixed_costs = lru_cache(maxsize=1)(self._table.fixed_costs)

    def of(self, parents: Sequence[int]) -> float:
        """Return an upper bound on the local scores of all proper supersets of ``parents`` within the candidates.

        Notes
        -----
        O(distinct rows * parents) for a Bayesian score, O(parents) for AIC and BIC.
        """
        prior = self._best_priors[len(parents)]
        q = math.prod(self._cardinalities[parent] for parent in parents)
        least = min((self._cardinalities[other] for other in self._candidates if other not in parents), default=1)
        if self._price is not None:
            return penalty_bound(q, self._r, self._price, least, self._table.ceiling) + prior
        if isinstance(self._measure, (BDeu, BDs, K2, BDJ)):
            return self._bayesian(self._measure, parents, q * least) + prior
        return math.inf

    def _bayesian(self, measure: BDeu | BDs | K2 | BDJ, parents: Sequence[int], least_q: int) -> float:
        table = self._table
        places = table.configurations(parents)
        n_seen = int(places.max(initial=-1)) + 1
        counts = np.zeros((n_seen, self._r), table.counts.dtype)
        np.add.at(counts, places, table.counts)
        if isinstance(measure, (BDeu, BDs)):
            most = measure.equivalent_sample_size / (least_q if isinstance(measure, BDeu) else max(n_seen, 1))
            bounds, costs = first_occurrence_bounds(counts), self._split_costs(most)
        else:
            a = 1.0 if isinstance(measure, K2) else 0.5
            bounds, costs = fixed_prior_bounds(counts, a), self._fixed_costs(a)
        worst = np.zeros(n_seen)
        np.maximum.at(worst, places, costs)
        return float(np.minimum(bounds - worst, np.bincount(places, table.log_likelihoods, n_seen)).sum())


def parameter_price(measure: Score, total_weight: float) -> float | None:
    """Return what a score takes off for every parameter, or None if it has no such price.

    >>> parameter_price(AIC(), 100.0), parameter_price(K2(), 100.0)
    (1.0, None)
    """
    if isinstance(measure, BIC):
        return 0.5 * math.log(total_weight) if total_weight >= 1 else None
    return 1.0 if isinstance(measure, AIC) else None
