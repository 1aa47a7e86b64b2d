"""Structure priors: what is believed about the graph before data are seen, as a term of each family.

A prior P(graph) that is a product over families adds its logarithm to each local score, so that every search which
works on local scores honours it. All scores take one as ``structure_prior=``; without one every graph is equally
likely. Priors are given up to a constant factor, which no comparison of graphs depends on.

======================  =================================================
prior                   ln P of a family with p of n - 1 possible parents
======================  =================================================
none                    0
`EdgePrior` (log_odds)  p log_odds
`FanInPrior`            -ln binomial(n - 1, p)
======================  =================================================

A term that depends on the number of parents alone is equal for equivalent graphs in sum. For these are joined by
reversals of edges x -> y whose ends have the same other parents (Chickering 1995), and a reversal only swaps the two
numbers of parents. So a structure prior of this kind makes no difference to whether a score is score-equivalent.

References
----------
Chickering (1995), *Uncertainty in Artificial Intelligence*, 87-98. Friedman and Koller (2003), *Machine Learning* 50,
95-125. Koivisto and Sood (2004), *Journal of Machine Learning Research* 5, 549-573. Scutari (2013), *Bayesian Analysis*
8, 505-532.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

from pgm.errors import TableError

__all__ = ["EdgePrior", "FanInPrior", "StructurePrior"]


@runtime_checkable
class StructurePrior(Protocol):
    """What a score needs of a structure prior; any object of this shape will do."""

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return the log-probability of a family with ``n_parents`` parents, up to a constant that all graphs share."""


@dataclass(frozen=True)
class EdgePrior:
    """Every edge multiplies the probability of a graph by the same odds.

    Parameters
    ----------
    log_odds
        Natural logarithm of the odds, added to the score for every edge; negative for sparse graphs. Log odds of
        ``ln(b / (1 - b))`` are the variable selection prior, in which every edge is there with probability b; ``-ln 2``
        are the marginal uniform prior, in which two variables are as likely to be joined as not.

    Raises
    ------
    TableError
        If it is no finite number.

    Examples
    --------
    >>> EdgePrior(-2.0).log_prior(n_parents=3, n_variables=10)
    -6.0
    """

    log_odds: float

    def __post_init__(self) -> None:
        odds: object = self.log_odds
        if isinstance(odds, bool) or not isinstance(odds, Real) or not math.isfinite(odds):
            raise TableError(f"log_odds must be a finite number, not {odds!r}")

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return ``n_parents * log_odds``."""
        return float(n_parents * self.log_odds)


@dataclass(frozen=True)
class FanInPrior:
    """All numbers of parents are equally likely, and given their number, all sets of parents.

    This is the prior of Friedman and Koller and of Koivisto and Sood; it makes up for there being many more sets of
    three parents than of one.

    Examples
    --------
    >>> round(FanInPrior().log_prior(n_parents=2, n_variables=5), 6) == round(-math.log(6), 6)
    True
    """

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return ``-ln binomial(n_variables - 1, n_parents)``."""
        return -math.log(math.comb(n_variables - 1, n_parents))
