"""Information scores: the maximised log-likelihood less a penalty for parameters.

With N rows, ``q`` parent configurations and ``r`` states of the child, ``k = q (r - 1)`` free parameters, and
``LL = sum n(j, s) ln(n(j, s) / n(j))`` over parent configurations j and states s of the child. Natural logarithms,
higher is better.

In its joint form, LL is a difference of two sums of n ln n. Each is about N ln N, and a sum in double precision is good
to some 1e-16 of it: LL has an absolute error of about 1e-10 at N = 20,000, 1e-8 at a million, and 1e-5 at a billion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.learning.scores.decomposable import QuotientScore, check_number
from pgm.learning.scores.tables import n_log_n

__all__ = ["AIC", "BIC", "EBIC", "LogLikelihood", "PenalizedLikelihood"]


class PenalizedLikelihood(QuotientScore):
    """Base of the scores LL less a penalty, which is the method `constant` of a subclass.

    Examples
    --------
    >>> class TwoPerParameter(PenalizedLikelihood):
    ...     name = "two"
    ...     def constant(self, n_cells, total):
    ...         return -2.0 * n_cells
    >>> round(float(TwoPerParameter().local(np.array([[5, 1], [2, 6]]))), 6)
    -11.202048
    """

    name: ClassVar[str] = "penalized likelihood"

    def cell(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        """Return n ln n of each count, with 0 ln 0 = 0."""
        return n_log_n(counts)


@dataclass(frozen=True, repr=False)
class LogLikelihood(PenalizedLikelihood):
    """The maximised log-likelihood LL, which never falls when edges are added.

    Examples
    --------
    >>> round(float(LogLikelihood().local(np.array([[5, 1], [2, 6]]))), 6)
    -7.202048
    """

    name: ClassVar[str] = "loglik"

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return 0."""
        return 0.0


@dataclass(frozen=True, repr=False)
class AIC(PenalizedLikelihood):
    """Akaike's information criterion on the log-likelihood scale, LL - k.

    References
    ----------
    Akaike (1974), *IEEE Transactions on Automatic Control* 19, 716-723.

    Examples
    --------
    >>> round(float(AIC().local(np.array([[5, 1], [2, 6]]))), 6)
    -9.202048
    """

    name: ClassVar[str] = "aic"

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return minus the number of cells."""
        return -float(n_cells)


@dataclass(frozen=True, repr=False)
class BIC(PenalizedLikelihood):
    """The Bayesian information criterion on the log-likelihood scale, LL - k/2 ln N.

    N is the sum of the counts; data without rows or weight score 0.

    References
    ----------
    Schwarz (1978), *Annals of Statistics* 6, 461-464.

    Examples
    --------
    >>> round(float(BIC().local(np.array([[5, 1], [2, 6]]))), 6)
    -9.841106
    """

    name: ClassVar[str] = "bic"

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return minus half the number of cells times ln N."""
        total = np.asarray(total)
        return -0.5 * n_cells * np.log(np.where(total > 0, total, 1.0))


@dataclass(frozen=True, repr=False)
class EBIC(BIC):
    """The extended BIC, BIC - 4 gamma p ln n for a family with p parents among n variables.

    The second penalty counts graphs and not parameters, for data with more variables than rows. It is a term for each
    edge that does not depend on the counts, so it is added along with the structure prior and not by `local`.

    Parameters
    ----------
    gamma
        Weight of the second penalty, from 0; 0 is BIC.
    structure_prior
        Prior of the graph; None for the uniform one.

    Raises
    ------
    TableError
        If ``gamma`` is no finite number from 0.

    Notes
    -----
    The factor is that of R's bnlearn. Foygel and Drton have 2 gamma p ln n on this scale: half the gamma.

    References
    ----------
    Chen and Chen (2008), *Biometrika* 95, 759-771. Foygel and Drton (2010), *Advances in Neural Information Processing
    Systems* 23.

    Examples
    --------
    >>> EBIC().log_prior(n_parents=1, n_variables=10).__round__(6)
    -4.60517
    """

    name: ClassVar[str] = "ebic"
    gamma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("gamma", self.gamma, zero=True)

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return the penalty of the edges, and what the structure prior adds."""
        edges = 4 * self.gamma * n_parents * math.log(n_variables)
        return super().log_prior(n_parents, n_variables) - edges
