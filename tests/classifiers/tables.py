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
