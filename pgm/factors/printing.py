"""Tables as text for a terminal: labels in columns, one line a joint state, long tables cut in the middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pgm.factors.variable import Variable

__all__ = ["format_table"]

MAX_LINES = 40
MAX_COLUMNS = 12


def format_number(number: float) -> str:
    """Return a number with six significant digits and no padding.

    >>> format_number(0.25), format_number(1.0), format_number(1 / 3), format_number(1e-9)
    ('0.25', '1', '0.333333', '1e-09')
    """
    return f"{number:.6g}"


def format_table(
    variables: Sequence[Variable], values: NDArray[np.float64], column: str | Sequence[str] | Variable
) -> str:
    """Return a table as text.

    Parameters
    ----------
    variables
        Scope of the rows: one column of labels for each.
    values
        Shape ``(*cardinalities of variables)``, or with one more axis, last, if ``column`` is a variable or a list.
    column
        Heading of the one column of numbers, a list of headings, or the variable whose states are the columns.
    """
    if isinstance(column, Variable):
        heads, cut = _fit([str(state) for state in column.states])
        body = values.reshape(-1, column.cardinality)
        body_rows = [[*map(format_number, row[: len(heads) - cut]), *["..."] * cut] for row in _ends(body)]
    else:
        heads = [column] if isinstance(column, str) else list(column)
        body = values.reshape(-1, len(heads))
        body_rows = [list(map(format_number, row)) for row in _ends(body)]
    labels = [
        [str(v.states[code]) for v, code in zip(variables, position, strict=True)]
        for position in _positions(variables, len(body))
    ]
    left = _columns([[v.name for v in variables], *labels], str.ljust)
    right = _columns([heads, *body_rows], str.rjust)
    lines = [f"{a} | {b}" if variables else b for a, b in zip(left, right, strict=True)]
    rule = "-" * (len(left[0]) + 1) + "+" + "-" * (len(right[0]) + 1) if variables else "-" * len(right[0])
    lines.insert(1, rule)
    if len(body) > MAX_LINES:
        lines.insert(2 + MAX_LINES // 2, f"... {len(body) - MAX_LINES} more lines ...")
    if isinstance(column, Variable) and variables:
        lines.insert(0, f"P({column.name} | {', '.join(v.name for v in variables)})")
    elif isinstance(column, Variable):
        lines.insert(0, f"P({column.name})")
    return "\n".join(line.rstrip() for line in lines)


def _fit(heads: list[str]) -> tuple[list[str], int]:
    if len(heads) <= MAX_COLUMNS:
        return heads, 0
    return [*heads[: MAX_COLUMNS - 1], f"... {len(heads) - MAX_COLUMNS + 1} more"], 1


def _shown(rows: int) -> Iterator[int]:
    half = MAX_LINES // 2
    for row in range(rows):
        if rows <= MAX_LINES or row < half or row >= rows - half:
            yield row


def _ends(body: NDArray[np.float64]) -> list[list[float]]:
    return [body[row].tolist() for row in _shown(len(body))]


def _positions(variables: Sequence[Variable], rows: int) -> list[tuple[int, ...]]:
    shape = tuple(v.cardinality for v in variables)
    return [tuple(map(int, np.unravel_index(row, shape))) if shape else () for row in _shown(rows)]


def _columns(cells: list[list[str]], justify: object) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(justify(cell, width) for cell, width in zip(row, widths, strict=True)) for row in cells]  # type: ignore[operator]
