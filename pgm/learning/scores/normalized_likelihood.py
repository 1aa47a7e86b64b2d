"""Normalised maximum likelihood: the log-likelihood less what any data could gain by fitting.

The regret of a variable with K states in n rows is ln C(n, K), where C sums the maximised likelihood over all columns
that could have been:

    C(n, K) = sum over n1 + ... + nK = n of n! / (n1! ... nK!) (n1/n)^n1 ... (nK/n)^nK.

It has no parameters to choose. `FNML` takes the regret of each parent configuration; `QNML` takes the regrets of the
parents and child and of the parents, each as one variable with many states, which makes it equal for equivalent graphs.

Regrets are exact. Up to 64 states: C(n, 1) = 1, C(n, 2) = 1 + Q(n) with Ramanujan's Q-function, and
C(n, K + 2) = C(n, K + 1) + n/K C(n, K). With more states: the sum of Mononen and Myllymaki up to 4 million rows, and
the recurrence beyond. Only for more than 65,536 states in more than 4 million rows is it the approximation of
Szpankowski and Weinberger, whose error is about 1 / (6 K).

References
----------
Kontkanen and Myllymaki (2007), *Information Processing Letters* 103, 227-233. Silander, Roos, Kontkanen and Myllymaki
(2008), *Probabilistic Graphical Models (PGM)*, 257-264. Silander, Leppa-aho, Jaasaari and Roos (2018), *Proceedings of
Machine Learning Research* 84, 948-957. Mononen and Myllymaki (2008), *Information Theory and its Applications
(ISITA)*. Szpankowski and Weinberger (2012), *IEEE Transactions on Information Theory* 58,
4094-4104. Flajolet, Grabner, Kirschenhofer and Prodinger (1995), *Journal of Computational and Applied Mathematics* 58,
103-116.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.learning.scores.decomposable import DecomposableScore, QuotientScore
from pgm.learning.scores.tables import CountFunction, n_log_n

__all__ = ["FNML", "QNML", "log_regret"]

_Floats = NDArray[np.float64]

_FEW_STATES = 64
"""Up to here the recurrence is used, for all numbers of rows at once; it takes a step for each state."""

_MANY_STATES = 1 << 16
"""Up to here it is used where the sum would be too long."""

_MANY_ROWS = 1 << 22
"""Up to here the sum is used; it takes a step for each row, or fewer."""

_TABLE = 1 << 16
"""Numbers of rows whose regrets are kept for a given number of states."""

_BLOCK = 1 << 16
"""Terms of the sum that exist at once."""

_NEGLIGIBLE = 45.0
"""A term whose logarithm is this much below another's does not change their sum."""

_LARGE = 1000
"""From here on, five terms of the asymptotic series of C(n, 2) are exact to 1e-13."""


@dataclass(frozen=True, repr=False)
class FNML(DecomposableScore):
    """The factorised normalised maximum likelihood: LL less the regret of each parent configuration.

    References
    ----------
    Silander, Roos, Kontkanen and Myllymaki (2008), *Probabilistic Graphical Models (PGM)*, 257-264.

    Examples
    --------
    >>> bool(np.isclose(FNML().local(np.array([[1, 1]])), np.log(0.25 / 2.5)))
    True
    """

    name: ClassVar[str] = "fnml"

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return LL less the regrets, without the structure prior."""
        totals = counts.sum(axis=-1)
        value: NDArray[np.float64] = n_log_n(counts).sum(axis=(-2, -1))
        value -= (n_log_n(totals) + _regrets(counts.shape[-1])(totals)).sum(axis=-1)
        return value


@dataclass(frozen=True, repr=False)
class QNML(QuotientScore):
    """The quotient normalised maximum likelihood: that of the family over that of the parents.

    References
    ----------
    Silander, Leppa-aho, Jaasaari and Roos (2018), *Proceedings of Machine Learning Research* 84, 948-957.

    Examples
    --------
    >>> bool(np.isclose(QNML().local(np.array([[1, 1]])), np.log(0.25 / 2.5)))
    True
    """

    name: ClassVar[str] = "qnml"

    def cell(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        """Return n ln n of each count, with 0 ln 0 = 0."""
        return n_log_n(counts)

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return minus the regret of ``n_cells`` states in ``total`` rows."""
        totals = np.asarray(total, np.float64)
        first = float(totals.flat[0]) if totals.size else 0.0
        if np.all(totals == first):  # families of the same complete data
            return -_regret(first, n_cells)
        return -np.array([_regret(rows, n_cells) for rows in totals.flat]).reshape(totals.shape)


@lru_cache(maxsize=64)
def _regrets(n_states: int) -> CountFunction:
    """Return the regrets of a variable with so many states as a function of the number of rows."""
    return CountFunction(partial(log_regret, n_states=n_states), _TABLE)


@lru_cache(maxsize=1 << 16)
def _regret(n_rows: float, n_states: int) -> float:
    """Return one regret."""
    return float(log_regret(np.array([n_rows]), n_states)[0])


def log_regret(totals: NDArray[Any], n_states: int) -> _Floats:
    """Return ln C(n, n_states) for each number of rows n.

    Parameters
    ----------
    totals
        Numbers of rows. Those that are not whole, as row weights may make them, lie on the straight line between the
        two whole numbers beside them.
    n_states
        Number of states, from 1.

    Notes
    -----
    O(n_states) up to 64 states, O(n) for each n with more. The absolute error is below 1e-9, and below 1e-5 where the
    approximation is used: measured against each other, see the tests.

    Examples
    --------
    >>> np.exp(log_regret(np.array([0, 1, 2]), 3)).round(9)
    array([1. , 3. , 4.5])
    """
    lower = np.floor(totals).astype(np.float64)
    share = totals - lower
    distinct, places = np.unique(lower, return_inverse=True)
    regrets: _Floats = _whole(distinct, n_states)[places].reshape(lower.shape)
    if share.any():
        regrets = (1 - share) * regrets + share * log_regret(lower + 1, n_states)
    return regrets


def _whole(n: _Floats, n_states: int) -> _Floats:
    if n_states <= _FEW_STATES:
        return _by_recurrence(n, n_states)
    return np.array([_one(rows, n_states) for rows in n])


def _one(n: float, n_states: int) -> float:
    """Return one regret, for many states."""
    if n <= _MANY_ROWS:
        return _by_sum(n, n_states)
    if n_states <= _MANY_STATES:
        return float(_by_recurrence(np.array([n]), n_states)[0])
    return _approximate(n, n_states)


def _by_recurrence(n: _Floats, n_states: int) -> _Floats:
    """Return the regrets by way of the ratios C(n, K + 1) / C(n, K), which do not overflow."""
    logarithm = np.zeros_like(n)
    ratio = _two_states(n)
    for states in range(1, n_states):
        logarithm += np.log(ratio)
        ratio = 1.0 + n / (states * ratio)
    return logarithm


def _two_states(n: _Floats) -> _Floats:
    """Return C(n, 2) = 1 + Q(n), where Q(n) = 1 + (n-1)/n + (n-1)(n-2)/n^2 + ... and Q(0) = 0."""
    large = np.maximum(n, 1.0)
    root = np.sqrt(math.pi / (2 * large))
    values: _Floats = large * root + 2 / 3 + root / 12 - 4 / (135 * large)
    values += root / (288 * large) + 8 / (2835 * large**2)
    small = n < _LARGE
    values[small] = _two_states_in_few_rows()[n[small].astype(np.intp)]
    return values


@lru_cache(maxsize=1)
def _two_states_in_few_rows() -> _Floats:
    n = np.arange(_LARGE, dtype=np.float64)
    term = (n > 0).astype(np.float64)
    total = 1.0 + term
    for step in range(1, _LARGE):
        term *= np.maximum(n - step, 0.0) / np.maximum(n, 1.0)
        total += term
    return total


def _by_sum(n: float, n_states: int) -> float:
    """Return ln of the sum over b of n (n-1) ... (n-b+1) (K-1) K ... (K+b-2) / (n^b b!), a block of terms at a time."""
    total, last = 0.0, 0.0  # logarithms of the sum so far, and of the last term
    for start in range(1, int(n) + 1, _BLOCK):
        b = np.arange(start, min(start + _BLOCK, int(n) + 1), dtype=np.float64)
        terms = last + np.cumsum(np.log((n - b + 1) / n * ((n_states - 2 + b) / b)))
        largest = max(total, float(terms.max()))
        total = largest + math.log(math.exp(total - largest) + float(np.exp(terms - largest).sum()))
        rising, last = terms[-1] > last, float(terms[-1])
        if not rising and last < total - _NEGLIGIBLE:
            break
    return total


def _approximate(n: float, n_states: int) -> float:
    """Return the approximation of Szpankowski and Weinberger, good for all numbers of rows and states."""
    density = n_states / n
    c = 0.5 + 0.5 * math.sqrt(1 + 4 / density)
    return n * (math.log(density) + (density + 2) * math.log(c) - 1 / c) - 0.5 * math.log(c + 2 / density)
