"""Look-up tables: functions of whole counts, each value computed once.

Scores are sums of n ln n and of log-gamma over the cells of thousands of contingency tables, and counts are whole
numbers, the same few over and over. A look-up takes 1.3 nanoseconds, a log-gamma 8 to 50. Fractional counts, which row
weights make, and counts beyond the end of a table are computed afresh.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["CountFunction", "log_rising", "n_log_n"]

_Floats: TypeAlias = NDArray[np.float64]

_LARGE_TABLE = 1 << 20
"""Largest number of entries of a table of which there is only one."""

_SMALL_TABLE = 1 << 16
"""Largest number of entries of a table of which there are many; the few larger counts are computed afresh."""

_TABLES = 128
"""How many are many: tables kept, in 64 megabytes at most."""

_BLOCK = 1 << 14
"""Counts looked at at a time."""

_FIRST = 256
"""Entries to begin with."""


class CountFunction:
    """A function of counts that remembers its values at whole numbers.

    Parameters
    ----------
    function
        Takes an array of floats not below 0, elementwise.
    limit
        Largest number of values to remember: those at 0, 1, ..., limit - 1.

    Examples
    --------
    >>> CountFunction(np.sqrt, limit=10)(np.array([4, 400]))
    array([ 2., 20.])
    """

    def __init__(self, function: Callable[[_Floats], _Floats], limit: int) -> None:
        self._function = function
        self._limit = limit
        self._values = function(np.arange(min(_FIRST, limit), dtype=np.float64))

    def __call__(self, counts: NDArray[Any]) -> _Floats:
        """Return the function of each count."""
        if counts.size <= _BLOCK:
            return self._of_few(counts)
        values = np.empty(counts.shape)
        numbers, results = counts.reshape(-1), values.reshape(-1)
        for start in range(0, len(numbers), _BLOCK):
            block = slice(start, start + _BLOCK)
            results[block] = self._of_few(numbers[block])
        return values

    def _of_few(self, counts: NDArray[Any]) -> _Floats:
        """Return the function of so few counts that copies of them do not matter."""
        if counts.dtype.kind == "f":
            whole = counts.astype(np.int64)
            if not np.array_equal(whole, counts):
                return self._function(counts.astype(np.float64, copy=False))
            counts = whole
        try:
            return self._values.take(counts)
        except IndexError:
            return self._beyond(counts)

    def _beyond(self, counts: NDArray[Any]) -> _Floats:
        """Return the function of counts of which some are not in the table, which grows if it may."""
        size = min(1 << int(counts.max()).bit_length(), self._limit)
        values = self._values
        if size > len(values):
            more = self._function(np.arange(len(values), size, dtype=np.float64))
            values = self._values = np.concatenate([values, more])  # whole and new: other threads may be reading
        result = values.take(counts, mode="clip")
        large = counts >= len(values)
        if large.any():
            result[large] = self._function(counts[large].astype(np.float64))
        return result


def _n_log_n(counts: _Floats) -> _Floats:
    logarithms = np.log(np.where(counts > 0, counts, 1.0))
    logarithms *= counts
    return logarithms


n_log_n = CountFunction(_n_log_n, _LARGE_TABLE)
"""n ln n of each count, with 0 ln 0 = 0."""


def log_rising(counts: NDArray[Any], start: float) -> _Floats:
    """Return ln (start (start + 1) ... (start + n - 1)) = ln gamma(start + n) - ln gamma(start) for each count n.

    Parameters
    ----------
    counts
        Numbers from 0, not necessarily whole.
    start
        A number above 0.

    Examples
    --------
    >>> np.exp(log_rising(np.array([0, 1, 3]), 2.0)).round(9)
    array([ 1.,  2., 24.])
    """
    return _rising(start)(counts)


_STIRLING = 1e5
"""From here on Stirling's series is exact to the last digit of what is wanted."""


@lru_cache(maxsize=_TABLES)
def _rising(start: float) -> CountFunction:
    from scipy.special import gammaln

    origin = math.lgamma(start)

    def function(counts: _Floats) -> _Floats:
        values: _Floats
        if start < _STIRLING:
            values = gammaln(counts + start) - origin
        else:  # a difference of two large numbers would lose all digits: Stirling's series, term by term
            values = counts * math.log(start) - counts + (counts + (start - 0.5)) * np.log1p(counts / start)
            values += (1 / (counts + start) - 1 / start) / 12
        values[counts == 0] = 0.0
        return values

    return CountFunction(function, _SMALL_TABLE)
