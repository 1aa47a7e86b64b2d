"""The linear relaxation: families with weights between 0 and 1 that add up to 1 for each child and satisfy the cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.certificate import LagrangianBound, SparseRows, lagrangian_bound
from pgm.learning.exact.cuts import Cut
from pgm.learning.exact.family_columns import FamilyColumns
from pgm.learning.exact.linear_program import LinearProgram

__all__ = ["Relaxation", "Solution"]

_PENALTY = 100.0
"""Cost of a column that stands for no family, as a multiple of that of a known graph."""


class Solution(NamedTuple):
    """An optimal solution of the relaxation, and what its duals prove."""

    weights: NDArray[np.float64]
    """Of every family."""
    proof: LagrangianBound
    """Lower bounds on costs."""


class Relaxation:
    """The relaxation with the cuts found so far, solved again for other sets of allowed families.

    Parameters
    ----------
    families
        All columns.
    scale
        The cost of a known graph.

    Notes
    -----
    Each child also has a column that no cut counts, at a cost far above ``scale``, so that every program has a
    solution, and with it duals to prove a bound from, even if no graph is left.
    """

    def __init__(self, families: FamilyColumns, scale: float) -> None:
        self.families = families
        self.n_cuts = 0
        """Cuts in the program."""
        self._size = families.n_variables
        self._columns = np.arange(len(families.cost))  # the families that the program has columns for
        penalty = np.full(self._size, _PENALTY * (scale + 1.0))
        costs = np.concatenate([penalty, families.cost])
        self._program = LinearProgram(costs, np.ones(len(costs)))
        choice = np.zeros((self._size, len(costs)))
        choice[:, : self._size] = np.eye(self._size)
        choice[families.child, self._size + self._columns] = 1.0
        self._program.add_rows(choice, np.ones(self._size), np.ones(self._size))
        self._rows: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []
        self._bounds: list[float] = []
        self._slack = np.empty(0, bool)

    @property
    def n_columns(self) -> int:
        """Families in the program."""
        return len(self._columns)

    def add(self, cuts: Sequence[Cut]) -> None:
        """Add cuts."""
        if not cuts:
            return
        rows = np.array([cut.coefficients(self.families) for cut in cuts])
        bounds = np.array([float(cut.bound) for cut in cuts])
        for row, bound in zip(rows, bounds, strict=True):
            columns = np.flatnonzero(row)
            self._rows.append((columns, row[columns]))
            self._bounds.append(float(bound))
        padded = np.concatenate([np.zeros((len(cuts), self._size)), rows[:, self._columns]], axis=1)
        self._program.add_rows(padded, np.full(len(cuts), -np.inf), bounds)
        self._slack = np.concatenate([self._slack, np.zeros(len(cuts), bool)])
        self.n_cuts = len(self._rows)

    def drop_slack(self) -> None:
        """Drop the cuts that had no price in the last solution; they come back if they are violated again."""
        if self._slack.any():
            keep = ~self._slack
            self._program.keep_rows(np.concatenate([np.ones(self._size, bool), keep]))
            self._rows = [row for row, kept in zip(self._rows, keep, strict=True) if kept]
            self._bounds = [bound for bound, kept in zip(self._bounds, keep, strict=True) if kept]
            self._slack = np.zeros(len(self._rows), bool)
            self.n_cuts = len(self._rows)

    def keep(self, families: NDArray[np.bool_]) -> None:
        """Drop the columns of families that are ruled out for good."""
        kept = families[self._columns]
        self._program.keep_columns(np.concatenate([np.ones(self._size, bool), kept]))
        self._columns = self._columns[kept]

    def solve(self, allowed: NDArray[np.bool_]) -> Solution:
        """Return the solution with the ``allowed`` families alone.

        If the solver fails, the cheapest families of all and what no cut at all proves: a bound is lost, not the proof.
        """
        limits = np.concatenate([np.ones(self._size), allowed[self._columns].astype(float)])
        self._program.set_limits(limits)
        found = self._program.solve()
        weights = np.zeros(len(self.families.cost))
        if found is None:
            weights[self.families.starts] = 1.0
            return Solution(weights, self._proof(np.zeros(self.n_cuts), allowed))
        weights[self._columns] = np.clip(found.primal[self._size :], 0.0, 1.0)
        prices = found.duals[self._size :]
        self._slack = prices < 1e-9
        return Solution(weights, self._proof(prices, allowed))

    def _proof(self, prices: NDArray[np.float64], allowed: NDArray[np.bool_]) -> LagrangianBound:
        """Return the Lagrangian bound over all allowed families."""
        used = [(number, self._rows[number]) for number in np.flatnonzero(prices > 0)]
        rows = SparseRows(
            np.repeat(np.array([number for number, _ in used], np.intp), [len(columns) for _, (columns, _) in used]),
            np.concatenate([np.empty(0, np.intp), *(columns for _, (columns, _) in used)]),
            np.concatenate([np.empty(0), *(values for _, (_, values) in used)]),
        )
        cost = np.where(allowed, self.families.cost, np.inf)
        return lagrangian_bound(cost, self.families.starts, rows, np.array(self._bounds), prices)
