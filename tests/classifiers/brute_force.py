"""The formulas of averaged dependence estimators, row by row and cell by cell, without arrays and logarithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

Row = Mapping[str, Any]


class Formulas:
    """P(c, x) as averages of products of relative frequencies of training rows.

    Parameters
    ----------
    columns
        Training columns; None is a missing cell.
    labels
        The class of each row.
    pseudocount
        The l of all estimates.
    weights
        Weight of each row.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        labels: Sequence[Any],
        pseudocount: float = 1.0,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.names = list(columns)
        self.rows: list[dict[str, Any]] = [
            dict(zip(self.names, values, strict=True)) for values in zip(*columns.values(), strict=True)
        ]
        self.labels = list(labels)
        self.classes = sorted(set(labels))
        self.states = {name: {v for v in column if v is not None} for name, column in columns.items()}
        self.l = pseudocount
        self.weights = [1.0] * len(self.labels) if weights is None else list(weights)

    def without(self, row: int) -> Formulas:
        """Return the same without one training row; states and classes stay."""
        rest = [number for number in range(len(self.rows)) if number != row]
        other = Formulas({name: [] for name in self.names}, [], self.l)
        other.rows = [self.rows[number] for number in rest]
        other.labels = [self.labels[number] for number in rest]
        other.weights = [self.weights[number] for number in rest]
        other.classes, other.states = self.classes, self.states
        return other

    def count(self, values: Row, c: Any = None, known: Sequence[str] = ()) -> float:
        """Return the weight of rows (of class c) with these values in which other features are known."""
        return sum(
            weight
            for row, label, weight in zip(self.rows, self.labels, self.weights, strict=True)
            if (c is None or label == c)
            and all(row[name] == value for name, value in values.items())
            and all(row[name] is not None for name in known)
        )

    def joint(self, parents: Sequence[str], row: Row, c: Any) -> float:
        """Return P(c, parents) times the product of P(xk | c, parents) over the other features that are known."""
        above = {name: row[name] for name in parents}
        cells = len(self.classes) * prod(len(self.states[name]) for name in parents)
        result = (self.count(above, c) + self.l) / (self.count({}, known=parents) + self.l * cells)
        for child in self.names:
            if child not in parents and row[child] is not None:
                below = self.count(above, c, known=[child]) + self.l * len(self.states[child])
                result *= (self.count({**above, child: row[child]}, c) + self.l) / below
        return result

    def naive_bayes(self, row: Row) -> list[float]:
        """Return P(c, x) by naive Bayes."""
        return [self.joint([], row, c) for c in self.classes]

    def average(
        self, n: int, row: Row, min_rows: float = 1, weights: Mapping[str, float] | None = None
    ) -> list[float] | None:
        """Return the mean of P(c, x) over all sets of n features as parents; None if there is none to average."""
        weigh = dict.fromkeys(self.names, 1.0) if weights is None else weights
        sets = [
            parents
            for parents in combinations([name for name in self.names if row[name] is not None and weigh[name]], n)
            if self.count({name: row[name] for name in parents}) >= min_rows
        ]
        if not sets:
            return None
        shares = [prod(weigh[name] for name in parents) for parents in sets]
        return [
            sum(share * self.joint(parents, row, c) for share, parents in zip(shares, sets, strict=True)) / sum(shares)
            for c in self.classes
        ]
