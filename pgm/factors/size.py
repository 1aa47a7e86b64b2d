"""How large a table may be, and sizes written for people.

A table grows exponentially with its scope, so its size is known, and compared with what memory allows, before it is
allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pgm.errors import TooLargeError

__all__ = ["MAX_AXES", "MEMORY_BUDGET", "check_size", "format_bytes", "format_cells", "format_count"]

MAX_AXES = 64
"""NumPy's limit."""

MEMORY_BUDGET = 4 * 2**30
"""Bytes that one table, or the tables of one query, may take unless the caller says otherwise."""


def check_size(shape: Iterable[int], what: str, budget: int = MEMORY_BUDGET) -> None:
    """Raise before a table of that shape is allocated, if it would exceed ``budget`` bytes.

    Raises
    ------
    TooLargeError
        Says what the table is, its number of cells or axes, and the limit.

    Examples
    --------
    >>> check_size([2] * 41, "P(Y | 40 parents)")
    Traceback (most recent call last):
    ...
    pgm.errors.TooLargeError: P(Y | 40 parents) would have 2,199,023,255,552 cells (17.6 TB); the limit is 4.29 GB
    """
    sizes = tuple(shape)
    cells = math.prod(sizes)
    if len(sizes) > MAX_AXES:
        raise TooLargeError(f"{what} would have {len(sizes)} axes; an array can have {MAX_AXES}")
    if cells * 8 > budget:
        limit = format_bytes(budget)
        size = format_bytes(cells * 8)
        raise TooLargeError(f"{what} would have {format_cells(cells)} ({size}); the limit is {limit}")


def format_count(number: int) -> str:
    """Return a whole number for people, rounded if it is astronomical.

    >>> format_count(12_345), format_count(3**100)
    ('12,345', '5e+47')
    """
    if number < 10**15:
        return f"{number:,}"
    return f"{float(number):.0e}" if number < 10**300 else "over 1e300"


def format_cells(cells: int) -> str:
    """Return a number of cells for people.

    >>> format_cells(4096)
    '4,096 cells'
    """
    return f"{format_count(cells)} cells"


def format_bytes(size: int) -> str:
    """Return a number of bytes for people.

    >>> format_bytes(17_592_186_044_416), format_bytes(800)
    ('17.6 TB', '800 bytes')
    """
    if size >= 10**30:
        return "over a million YB"
    for power, unit in ((24, "YB"), (21, "ZB"), (18, "EB"), (15, "PB"), (12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size >= 10**power:
            return f"{size / 10**power:.3g} {unit}"
    return f"{size} bytes"
