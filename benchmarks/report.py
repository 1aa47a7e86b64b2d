"""How the figures of a benchmark are written and printed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["geometric_mean", "megabytes", "ratio", "seconds", "show_ratios", "table"]


def seconds(time: float | None) -> str:
    """Return a time with three digits and its unit."""
    if time is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time >= size:
            return f"{_three_digits(time / size)} {unit}"
    return f"{_three_digits(time / 1e-6)} us"


def ratio(theirs: float | None, ours: float) -> str:
    """Return how many times as long theirs takes."""
    return "-" if theirs is None else _three_digits(theirs / ours)


def megabytes(size: float | None) -> str:
    """Return a number of bytes in MB."""
    if size is None:
        return "-"
    return f"{size / 1e6:,.{0 if size > 1e7 else 2}f} MB"


def _three_digits(number: float) -> str:
    decimals = 2 - math.floor(math.log10(number)) if number > 0 else 2
    return f"{number:,.{max(0, decimals)}f}"


def geometric_mean(numbers: Iterable[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(numbers)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, the first column to the left and the others to the right; it is Markdown as well."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    lines = [list(header), ["-" * (width - 1) + (":" if place else "-") for place, width in enumerate(widths)], *cells]
    for line in lines:
        padded = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print(f"| {' | '.join(padded)} |")
    print(flush=True)


def show_ratios(what: str, ratios: Mapping[str, float]) -> None:
    """Print the geometric mean and the worst of the ratios by network, if there are any."""
    if ratios:
        worst = min(ratios, key=lambda name: ratios[name])
        mean = geometric_mean(ratios.values())
        print(f"{what}: geometric mean {_three_digits(mean)} over {len(ratios)}, worst {worst} {ratios[worst]:.2f}")
