"""Small tables for the tests of the classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.data.bundled import table

CAR = ["buying", "maint", "doors", "persons", "lug_boot", "safety"]


def car() -> tuple[dict[str, Any], list[str]]:
    """Return features and classes of the car table."""
    columns = table("car").to_dict()
    classes = columns.pop("class")
    return columns, classes


def repeated(names: Sequence[str], counts: Sequence[Sequence[Any]]) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return features and classes of rows that are given with their number: (*values, class, number)."""
    rows = [row[:-1] for row in counts for _ in range(row[-1])]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(names, columns[:-1], strict=True)), columns[-1]


LIMITS = repeated(
    ["F", "G", "H"],
    [
        (0, 0, 0, "p", 3),
        (0, 1, 1, "p", 2),
        (1, 0, 1, "p", 1),
        (1, 1, 0, "q", 3),
        (0, 1, 1, "q", 1),
        (1, 0, 1, "q", 1),
        (2, 1, 1, "q", 1),
    ],
)
"""Few rows, so that it matters how often a value must occur to be a super-parent."""

ASKED = {"F": [0, 2], "G": [1, 0], "H": [1, 0]}
"""Rows to classify by them."""
