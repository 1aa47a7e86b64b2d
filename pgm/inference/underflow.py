"""Numbers too small for floating point: scaling while products are safe, and the error that says they are not.

A product of many probabilities soon leaves the range of floating-point numbers. Dividing every table by its maximum,
and adding up the logarithms of what was taken out, keeps the largest entries at one. What that cannot save are tables
whose own entries are so unequal that the product of two small ones vanishes although it matters later on; such a
product is refused beforehand, and the computation is left to logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pgm.factors.factor import FloatArray

__all__ = ["UnderflowError", "exponential", "rescale", "safely"]

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
    if len(tables) > 1 and math.prod(map(_least, tables)) < SMALLEST:
        raise UnderflowError
    return kernel(*tables)


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


def exponential(logs: FloatArray) -> tuple[FloatArray, float]:
    """Return a table given as logarithms, its maximum taken out, and the logarithm of that.

    >>> exponential(np.array([-1000.0, -np.inf]))
    (array([1., 0.]), -1000.0)
    """
    peak = float(logs.max())
    return (np.zeros(logs.shape), 0.0) if peak == -math.inf else (np.exp(logs - peak), peak)
