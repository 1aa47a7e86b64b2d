"""Tables of two variables in strata, and what they say about dependence.

To ask whether x and y are independent given others, rows are sorted into *strata*, one for each joint state of the
others, and every stratum has its table of x by y. If x and y are independent within strata, a cell is expected to hold

    E(x, y, stratum) = N(x, stratum) N(y, stratum) / N(stratum),

and statistics measure how far the counts N(x, y, stratum) are from that.

One x is often compared with many y, so the tables of several y may stand side by side on the last axis, and every
statistic then has one value for each y.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["TABLE_COPIES", "StratifiedTables", "chi_square_tail", "random_tables", "shrunken"]

TABLE_COPIES = 6
"""Arrays of the size of the counts that exist at once while a statistic is computed."""


class StratifiedTables:
    """Counts of one variable x and of one or several variables y in strata.

    Parameters
    ----------
    counts
        N(stratum, x, y), shape ``(..., strata, states of x, levels)``; leading axes are separate tables. Levels are the
        states of all y side by side.
    starts
        The level at which each y begins; by default there is one y.

    Examples
    --------
    >>> tables = StratifiedTables(np.array([[[10, 20], [30, 60]]]))
    >>> tables.g_square(), tables.chi_square(), tables.degrees_of_freedom()
    (array([0.]), array([0.]), array([1]))
    """

    def __init__(self, counts: NDArray[np.int64] | NDArray[np.float64], starts: Sequence[int] = (0,)) -> None:
        self.counts = counts.astype(np.float64)
        self._starts = list(starts)
        first = slice(0, starts[1] if len(starts) > 1 else None)
        self.x_counts = self.counts[..., first].sum(axis=-1)
        """N(stratum, x)."""
        self.y_counts = self.counts.sum(axis=-2)
        """N(stratum, y), all y side by side."""
        self.totals = self.x_counts.sum(axis=-1)
        """N(stratum)."""

    def expected(self) -> NDArray[np.float64]:
        """Return the counts expected under independence, of the shape of the counts; 0 in empty strata."""
        share = np.divide(self.x_counts, self.totals[..., None], out=np.zeros_like(self.x_counts), where=self._seen())
        expected: NDArray[np.float64] = share[..., :, None] * self.y_counts[..., None, :]
        return expected

    def g_square(self) -> NDArray[np.float64]:
        """Return the likelihood-ratio statistic G2 = 2 sum N ln(N / E) for each y, shape ``(..., y)``.

        It is 2 N I(x; y | strata), the mutual information being in nats, and exactly 0 if all counts are as expected:
        products of counts below 2**53 are exact.
        """
        ratio = self.counts * self.totals[..., None, None]
        margins = self.x_counts[..., :, None] * self.y_counts[..., None, :]
        occupied = self.counts > 0
        np.divide(ratio, margins, out=ratio, where=occupied)
        np.log(ratio, out=ratio, where=occupied)
        ratio *= self.counts
        return np.maximum(2.0 * self._over_cells(ratio), 0.0)

    def chi_square(self) -> NDArray[np.float64]:
        """Return Pearson's statistic, the sum of (N - E)**2 / E, for each y, shape ``(..., y)``."""
        totals = self.totals[..., None, None]
        margins = self.x_counts[..., :, None] * self.y_counts[..., None, :]
        surplus = self.counts * totals
        surplus -= margins  # (N - E) N(stratum), exact for whole counts
        surplus *= surplus
        margins *= totals
        np.divide(surplus, margins, out=surplus, where=margins > 0)  # elsewhere the surplus is 0
        return self._over_cells(surplus)

    def degrees_of_freedom(self, adjusted: bool = False) -> NDArray[np.int64]:
        """Return the degrees of freedom of both statistics for each y, shape ``(..., y)``.

        Parameters
        ----------
        adjusted
            Count in each stratum only the states of x and of y that occur there; otherwise, in every stratum, all that
            are declared.
        """
        if adjusted:
            x_states = np.count_nonzero(self.x_counts, axis=-1)[..., None]
            y_states = np.add.reduceat((self.y_counts > 0).astype(np.int64), self._starts, axis=-1)
            adjusted_degrees: NDArray[np.int64] = (np.maximum(x_states - 1, 0) * np.maximum(y_states - 1, 0)).sum(-2)
            return adjusted_degrees
        strata, x_cardinality, levels = self.counts.shape[-3:]
        y_cardinalities = np.diff(self._starts, append=levels)
        degrees: NDArray[np.int64] = strata * (x_cardinality - 1) * (y_cardinalities - 1)
        return np.broadcast_to(degrees, (*self.counts.shape[:-3], len(degrees)))

    def _seen(self) -> NDArray[np.bool_]:
        seen: NDArray[np.bool_] = self.totals[..., None] > 0
        return seen

    def _over_cells(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums over the strata and the cells of each y."""
        sums: NDArray[np.float64] = np.add.reduceat(numbers.sum(axis=(-3, -2)), self._starts, axis=-1)
        return sums


def chi_square_tail(statistics: NDArray[np.float64], degrees_of_freedom: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P(chi-square >= statistic), elementwise; 1 without degrees of freedom, where nothing can be refuted.

    Examples
    --------
    >>> chi_square_tail(np.array([3.841459, 0.0]), np.array([1, 0])).round(4)
    array([0.05, 1.  ])
    """
    from scipy.special import chdtrc

    tail: NDArray[np.float64] = chdtrc(np.maximum(degrees_of_freedom, 1), statistics)
    return np.where(degrees_of_freedom > 0, tail, 1.0)


def shrunken(counts: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts drawn towards equal cells as far as the sample is small: the James-Stein estimate times N.

    Parameters
    ----------
    counts
        A table of any shape.

    Notes
    -----
    With p the relative frequencies and u = 1 / number of cells, the estimate is w u + (1 - w) p, where
    w = (1 - sum p**2) / ((N - 1) sum (u - p)**2), cut to [0, 1], minimises the estimated squared error.

    References
    ----------
    Hausser and Strimmer (2009), *Journal of Machine Learning Research* 10, 1469-1484, section 2.

    Examples
    --------
    >>> shrunken(np.array([[8, 2], [2, 8]])).round(3)
    array([[6.842, 3.158],
           [3.158, 6.842]])
    """
    total = float(counts.sum())
    if total <= 1:
        return np.full(counts.shape, total / counts.size)
    frequencies = counts / total
    uniform = 1 / counts.size
    spread = float(((uniform - frequencies) ** 2).sum())
    excess = 1 - float((frequencies**2).sum())
    weight = min(excess / ((total - 1) * spread), 1.0) if spread > 0 else 1.0
    return total * (weight * uniform + (1 - weight) * frequencies)


def random_tables(
    x_counts: NDArray[np.int64], y_counts: NDArray[np.int64], number: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return tables as they come about when the values of y change places at random within each stratum.

    Parameters
    ----------
    x_counts, y_counts
        N(stratum, x) and N(stratum, y), which every table keeps.
    number
        How many tables to draw.

    Returns
    -------
    ndarray
        Shape ``(number, strata, states of x, states of y)``.

    Notes
    -----
    The rows themselves are not needed: how many of the rows with one state of x get a certain state of y has a
    hypergeometric distribution, given the cells drawn before. So the cost is that of a draw for every cell, however
    many rows there are.

    References
    ----------
    Patefield (1981), Algorithm AS 159, *Applied Statistics* 30(1), 91-97.

    Examples
    --------
    >>> random_tables(np.array([[2, 3]]), np.array([[5, 0]]), 1, np.random.default_rng(0))[0]
    array([[[2, 0],
            [3, 0]]])
    """
    strata, x_states = x_counts.shape
    y_states = y_counts.shape[1]
    tables = np.zeros((number, strata, x_states, y_states), np.int64)
    left = np.broadcast_to(y_counts, (number, strata, y_states)).copy()  # values of y not yet given out
    for x in range(x_states - 1):
        wanting = np.broadcast_to(x_counts[:, x], (number, strata)).copy()
        others = left.sum(axis=-1)
        for y in range(y_states - 1):
            others -= left[..., y]
            tables[..., x, y] = generator.hypergeometric(left[..., y], others, wanting)
            wanting -= tables[..., x, y]
        tables[..., x, -1] = wanting
        left -= tables[..., x, :]
    tables[..., -1, :] = left
    return tables
