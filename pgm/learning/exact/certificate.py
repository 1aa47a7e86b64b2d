"""The certificate: a lower bound on the cost of every acyclic graph that does not trust a solver.

For any multipliers ``m >= 0`` of the cuts ``A x <= b``, and any acyclic graph x,

    cost . x  >=  cost . x + m . (A x - b)  >=  sum over children of min over families of (cost + m A)  -  m . b,

the Lagrangian bound. It holds whatever the multipliers are; the duals of the linear program are merely good ones. It is
computed here in double precision from costs, integer coefficients and multipliers alone, all terms of one sign are
summed apart, and what rounding may have added is taken off. So neither the tolerances of the solver nor its optimality
enter a proof.

References
----------
Fisher (1981), *Management Science* 27, 1-18. Neumaier and Shcherbina (2004), *Mathematical Programming* 99, 283-296
(safe bounds from approximate duals).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LagrangianBound", "SparseRows", "lagrangian_bound"]

_UNIT = 2.0**-52


class SparseRows(NamedTuple):
    """Rows of integer coefficients, one entry after the other."""

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    value: NDArray[np.float64]


class LagrangianBound(NamedTuple):
    """What some multipliers prove."""

    bound: float
    """No acyclic graph of the families costs less."""
    with_family: NDArray[np.float64]
    """For each family: no acyclic graph that has it costs less."""


def lagrangian_bound(
    cost: NDArray[np.float64],
    starts: NDArray[np.intp],
    rows: SparseRows,
    bounds: NDArray[np.float64],
    multipliers: NDArray[np.float64],
) -> LagrangianBound:
    """Return the bound that multipliers of the cuts prove.

    Parameters
    ----------
    cost
        Of each family, child by child, at least zero; infinite for families that are ruled out.
    starts
        Position of each child's first family.
    rows, bounds
        The cuts, with coefficients and bounds at least zero.
    multipliers
        Of the cuts; negative ones count as zero.

    Examples
    --------
    Two children, each better off with the other as its parent, and the cut that not both have one:

    >>> rows = SparseRows(np.array([0, 0]), np.array([0, 2]), np.array([1.0, 1.0]))
    >>> cost = np.array([0.0, 2.0, 0.0, 3.0])
    >>> round(lagrangian_bound(cost, np.array([0, 2]), rows, np.array([1.0]), np.array([2.0])).bound, 9)
    2.0
    """
    prices = np.maximum(multipliers, 0.0)
    priced = cost + np.bincount(rows.column, prices[rows.row] * rows.value, len(cost))
    smallest = np.minimum.reduceat(priced, starts)
    most, least = float(smallest.sum()), float(prices @ bounds)
    # each sum has at most one rounding error per term, and no term is negative
    rounding = 2 * _UNIT * (len(prices) + len(starts) + 4)
    bound = most - least - rounding * (most + least)
    smallest_of_child = np.repeat(smallest, np.diff(np.append(starts, len(cost))))
    excess = priced * (1 - rounding) - smallest_of_child * (1 + rounding)
    return LagrangianBound(bound, bound + np.maximum(excess, 0.0))
