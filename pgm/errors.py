"""The errors pgm raises. Each is a `PgmError` and also the builtin error a Python user would expect.

Every message names the offender and what was allowed; :func:`listing` keeps such lists readable.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "DataError",
    "EvidenceError",
    "FormatError",
    "GraphError",
    "ImpossibleEvidenceError",
    "MissingDataError",
    "PgmError",
    "TableError",
    "TooLargeError",
    "UnknownNameError",
    "UnknownStateError",
]


class PgmError(Exception):
    """Base class of every error raised on purpose by pgm."""

    def __str__(self) -> str:  # KeyError would print the repr of its message
        return str(self.args[0]) if self.args else ""


class GraphError(PgmError, ValueError):
    """A graph that is not a DAG, or a question that makes no sense for it."""


class TableError(PgmError, ValueError):
    """A probability table whose shape or numbers are wrong."""


class EvidenceError(PgmError, ValueError):
    """Targets and evidence that contradict each other or repeat a variable."""


class DataError(PgmError, ValueError):
    """A data set that cannot be read as columns of discrete states."""


class MissingDataError(DataError):
    """Missing cells where a method needs complete data."""


class ImpossibleEvidenceError(PgmError, ValueError):
    """Evidence of probability zero, so that no posterior exists."""


class UnknownNameError(PgmError, KeyError):
    """A variable name that the object does not have."""


class UnknownStateError(PgmError, KeyError):
    """A state label that the variable does not have."""


class TooLargeError(PgmError, MemoryError):
    """An answer whose tables would not fit the memory budget; raised before anything is allocated."""


class FormatError(PgmError, ValueError):
    """A file that breaks the rules of its format.

    Parameters
    ----------
    message
        What is wrong.
    line
        Number of the line at fault, counted from 1, where it is known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


def listing(items: Iterable[object], limit: int = 12) -> str:
    """Return ``items`` as text for an error message, cut after ``limit`` of them.

    >>> listing(["a", "b"])
    "'a', 'b'"
    >>> listing(range(20), limit=3)
    '0, 1, 2, ... (20 in all)'
    """
    shown = [repr(item) for item in items]
    if len(shown) <= limit:
        return ", ".join(shown) or "nothing"
    return ", ".join(shown[:limit]) + f", ... ({len(shown)} in all)"
