"""Bayesian scores: the probability of the data given the graph, its parameters integrated out.

If the distribution of a child given each parent configuration j has a Dirichlet prior with the parameter a for each of
its r states, then

    ln P(child's column | parents' columns) = sum over j of [ ln gamma(r a) - ln gamma(r a + n(j))
                                               + sum over states s of ( ln gamma(a + n(j, s)) - ln gamma(a) ) ].

The scores differ in the parameter a, where q is the number of parent configurations:

=======  ==============================  ==============================================================
name     a                               equivalent graphs
=======  ==============================  ==============================================================
`BDeu`   equivalent_sample_size / (q r)  score the same
`BDs`    equivalent_sample_size / (q' r) differ, with q' the number of parent configurations that occur
`BDJ`    1/2                             differ
`K2`     1                               differ
=======  ==============================  ==============================================================

A parent configuration without rows adds 0. All are exact for whole and for fractional counts.

References
----------
Heckerman, Geiger and Chickering (1995), *Machine Learning* 20, 197-243. Koller and Friedman (2009), *Probabilistic
Graphical Models*, section 18.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.learning.scores.decomposable import DecomposableScore, QuotientScore, check_number
from pgm.learning.scores.tables import log_rising

__all__ = ["BDJ", "K2", "BDeu", "BDs"]


@dataclass(frozen=True, repr=False)
class BDeu(QuotientScore):
    """The Bayesian Dirichlet score with a uniform joint prior, worth ``equivalent_sample_size`` rows.

    The prior of every family comes from the same imaginary rows, evenly spread over all joint states; so equivalent
    graphs score the same.

    Parameters
    ----------
    equivalent_sample_size
        Weight of the prior, in rows; larger ones favour more edges.
    structure_prior
        Prior of the graph; None for the uniform one.

    Raises
    ------
    TableError
        If ``equivalent_sample_size`` is no finite number above 0.

    References
    ----------
    Buntine (1991), *Uncertainty in Artificial Intelligence*, 52-60. Heckerman, Geiger and Chickering (1995).

    Examples
    --------
    >>> round(float(BDeu(1).local(np.array([[5, 1], [2, 6]]))), 6)
    -10.41161
    """

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("equivalent_sample_size", self.equivalent_sample_size)

    @property
    def name(self) -> str:
        """What the score is called in results."""
        return _named("bdeu", self.equivalent_sample_size)

    def cell(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        """Return ln gamma(a + n) - ln gamma(a) for each count n, where a = equivalent_sample_size / n_cells."""
        return log_rising(counts, self.equivalent_sample_size / n_cells)

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return 0: the joint function of no variables, of one cell with all rows, is right as it is."""
        return 0.0


@dataclass(frozen=True, repr=False)
class BDs(DecomposableScore):
    """The Bayesian Dirichlet sparse score: BDeu with its prior spread over the parent configurations that occur.

    Where few of them do, BDeu gives most of its prior to the others, and the family in effect a weaker prior.

    Parameters
    ----------
    equivalent_sample_size
        Weight of the prior, in rows.
    structure_prior
        Prior of the graph; None for the uniform one.

    Raises
    ------
    TableError
        If ``equivalent_sample_size`` is no finite number above 0.

    References
    ----------
    Scutari (2016), *Proceedings of Machine Learning Research* 52, 438-448.

    Examples
    --------
    >>> counts = np.array([[5, 1], [2, 6], [0, 0]])
    >>> bool(np.isclose(BDs(1).local(counts), BDeu(1).local(counts[:2])))
    True
    """

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("equivalent_sample_size", self.equivalent_sample_size)

    @property
    def name(self) -> str:
        """What the score is called in results."""
        return _named("bds", self.equivalent_sample_size)

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithm of the probability of the child's column, without the structure prior."""
        totals = counts.sum(axis=-1)
        n_seen = np.count_nonzero(totals, axis=-1, keepdims=True)
        share = self.equivalent_sample_size / np.maximum(n_seen, 1)
        values: NDArray[np.float64] = _rises(counts, share[..., None] / counts.shape[-1]).sum(axis=(-2, -1))
        values -= _rises(totals, share).sum(axis=-1)
        return values


def _rises(counts: NDArray[Any], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln gamma(start + n) - ln gamma(start), without tables: there are too many starts to keep one for each."""
    from scipy.special import gammaln

    values: NDArray[np.float64] = counts + start
    gammaln(values, out=values)
    values -= gammaln(start)
    return values


@dataclass(frozen=True, repr=False)
class K2(DecomposableScore):
    """The score of Cooper and Herskovits: all distributions of a child are equally likely, a = 1.

    References
    ----------
    Cooper and Herskovits (1992), *Machine Learning* 9, 309-347.

    Examples
    --------
    >>> bool(np.isclose(K2().local(np.array([[2, 1]])), np.log(2 * 1 / (2 * 3 * 4))))
    True
    """

    name: ClassVar[str] = "k2"

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithm of the probability of the child's column, without the structure prior."""
        return _dirichlet(counts, counts.sum(axis=-1), 1.0)


@dataclass(frozen=True, repr=False)
class BDJ(DecomposableScore):
    """The Bayesian Dirichlet score with the prior of Jeffreys, a = 1/2.

    References
    ----------
    Suzuki (2017), *Behaviormetrika* 44, 97-116.

    Examples
    --------
    >>> bool(np.isclose(BDJ().local(np.array([[1, 1]])), np.log(0.5 * 0.5 / 2)))
    True
    """

    name: ClassVar[str] = "bdj"

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithm of the probability of the child's column, without the structure prior."""
        return _dirichlet(counts, counts.sum(axis=-1), 0.5)


def _dirichlet(counts: NDArray[Any], totals: NDArray[Any], a: float) -> NDArray[np.float64]:
    """Return the Dirichlet-multinomial probability of each family, for the same a in all cells."""
    value: NDArray[np.float64] = log_rising(counts, a).sum(axis=(-2, -1))
    value -= log_rising(totals, a * counts.shape[-1]).sum(axis=-1)
    return value


def _named(name: str, equivalent_sample_size: float) -> str:
    return name if equivalent_sample_size == 1 else f"{name}({equivalent_sample_size:g})"
