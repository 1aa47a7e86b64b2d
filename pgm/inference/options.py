"""Options of a question, checked once at the border: budgets, counts and numbers within a range.

Every check takes what the caller gave, accepts NumPy's numbers as well as Python's, and refuses what only happens to
behave like a number: True is no count, and NaN is no fraction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pgm.errors import EvidenceError

__all__ = ["check_budget", "checked_count", "checked_number"]


def checked_count(given: Any, what: str = "the number of rows", least: int = 0) -> int:
    """Return a whole number of rows, or of something else.

    Raises
    ------
    EvidenceError
        If it is not a whole number, or too small.

    Examples
    --------
    >>> checked_count(np.int64(3))
    3
    >>> checked_count("3", "k", least=1)
    Traceback (most recent call last):
    ...
    pgm.errors.EvidenceError: k is a whole number from 1, not '3'
    """
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < least:
        raise EvidenceError(f"{what} is a whole number from {least}, not {given!r}")
    return int(given)


def checked_number(given: Any, what: str, allowed: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a number from ``low`` to ``high``.

    Parameters
    ----------
    given
        What the caller gave.
    what
        Its name.
    allowed
        The range in words.
    low, high
        The range; both ends belong to it.

    Raises
    ------
    EvidenceError
        If it is no number, or out of range.

    Examples
    --------
    >>> checked_number(2, "damping", "a number from 0 to 1", 0, 1)
    Traceback (most recent call last):
    ...
    pgm.errors.EvidenceError: damping is a number from 0 to 1, not 2
    """
    is_number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    try:
        if is_number and low <= given <= high:
            return float(given)
    except OverflowError:  # a whole number beyond the range of floats
        pass
    raise EvidenceError(f"{what} is {allowed}, not {given!r}")


def check_budget(memory_budget: Any) -> None:
    """Raise EvidenceError unless a memory budget is a positive number of bytes."""
    checked_number(memory_budget, "memory_budget", "a positive number of bytes", math.nextafter(0, 1))
