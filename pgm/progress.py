"""A progress bar for work that lasts: nothing at all for two seconds, nothing ever where nobody looks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

DELAY = 2.0
"""Seconds of work before a bar appears."""


class Progress:
    """Counts steps, and shows them with tqdm once the work has lasted two seconds.

    Parameters
    ----------
    description
        What is being done.
    total
        Number of steps, if known.
    show
        False never shows anything; True shows a bar on a terminal and in a notebook.

    Examples
    --------
    >>> with Progress("counting", total=3) as progress:
    ...     for _ in range(3):
    ...         progress.step()
    """

    def __init__(self, description: str, total: int | None = None, show: bool = True) -> None:
        self._options = {"desc": description, "total": total, "leave": False}
        self._shows = show and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._begin = time.monotonic()
        self._steps = 0
        self._bar: Any = None

    def step(self, steps: int = 1, **numbers: object) -> None:
        """Count some steps; ``numbers`` are shown behind the bar."""
        self._steps += steps
        if not self._shows:
            return
        if self._bar is None:
            if time.monotonic() - self._begin < DELAY:
                return
            from tqdm.auto import tqdm

            self._bar = tqdm(initial=self._steps - steps, **self._options)
        self._bar.set_postfix(numbers, refresh=False)
        self._bar.update(steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
