"""Numbers too small for floating point: scaling while products are safe, and the error that says they are not.

A product of many probabilities soon leaves the range of floating-point numbers. Dividing every table by its maximum,
and adding up the logarithms of what was taken out, keeps the largest entries at one. What that cannot save are tables
whose own entries are so unequal that the product of two small ones vanishes although it matters later on; such a
product is refused beforehand, and the computation is left to logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pgm.factors.factor import FloatArray

__all__ = ["UnderflowError", "as_logarithms", "exponential", "may_underflow", "rescale", "safely"]

SMALLEST = 1e-290
"""Products of scaled tables whose smallest positive entries multiply to less than this are left to logarithms."""


class UnderflowError(ArithmeticError):
    """A product may have left the range of floating-point numbers."""


def safely(kernel: Callable[..., Any], tables: tuple[Any, ...]) -> Any:
    """Return what an operation makes of tables scaled to a maximum of one.

    Raises
    ------
    UnderflowError
        If the product of their smallest positive entries could be lost.
    """
    if len(tables) > 1 and may_underflow(tables):
        raise UnderflowError
    return kernel(*tables)


def may_underflow(tables: Sequence[Any]) -> bool:
    """Return whether the product of the smallest positive entries of some tables could be lost.

    >>> may_underflow([np.array([0.0, 1.0]), np.array([1e-200, 1.0])]), may_underflow([np.array([1e-200, 1.0])] * 2)
    (False, True)
    """
    return math.prod(map(_least, tables)) < SMALLEST


def _least(table: Any) -> float:
    return float(np.min(table, initial=1.0, where=np.asarray(table) > 0))


def rescale(table: Any, log_scale: float) -> tuple[Any, float]:
    """Return the table divided by its maximum, and the log of the scale taken out so far.

    >>> rescale(np.array([0.25, 0.5]), 0.0)
    (array([0.5, 1. ]), -0.6931471805599453)
    """
    peak = float(np.max(table))
    if peak > 0:
        return table / peak, log_scale + math.log(peak)
    return table, log_scale


def as_logarithms(tables: Sequence[Any]) -> list[FloatArray]:
    """Return the logarithms of tables; that of zero is minus infinity.

    >>> [table.tolist() for table in as_logarithms([np.array([0.0, 1.0])])]
    [[-inf, 0.0]]
    """
    with np.errstate(divide="ignore"):
        return [np.log(table) for table in tables]


def exponential(logs: FloatArray) -> tuple[FloatArray, float]:
    """Return a table given as logarithms, its maximum taken out, and the logarithm of that.

    >>> exponential(np.array([-1000.0, -np.inf]))
    (array([1., 0.]), -1000.0)
    """
    peak = float(logs.max())
    return (np.zeros(logs.shape), 0.0) if peak == -math.inf else (np.exp(logs - peak), peak)
