"""Cuts: inequalities over families that every acyclic graph satisfies, and choices of families with cycles may not.

A cut lives on a few nodes, its *cluster*. What a family counts for in it depends only on the family's child, which must
be one of these nodes, and on which of the others are among its parents. All coefficients and bounds are small integers,
so that a cut is exact, and a sum of cuts with multipliers has no other rounding than that of the multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.family_columns import FamilyColumns

__all__ = ["ClusterCut", "Cut", "LocalCut", "NoGoodCut"]


@dataclass(frozen=True)
class ClusterCut:
    """At most ``len(nodes) - size`` nodes of a cluster have ``size`` or more parents in it.

    For, in an order of the graph, the first ``size`` nodes of the cluster have fewer before them. The case of size 1
    says that some node of every cluster has no parent in it, and these cuts alone rule out every cycle.

    References
    ----------
    Jaakkola, Sontag, Globerson and Meila (2010), *AISTATS* 9, 358-365 (size 1). Bartlett and Cussens (2017),
    *Artificial Intelligence* 244, 258-271.
    """

    nodes: tuple[int, ...]
    size: int = 1

    @property
    def bound(self) -> int:
        """The right-hand side."""
        return len(self.nodes) - self.size

    def coefficients(self, families: FamilyColumns) -> NDArray[np.float64]:
        """Return what each family counts."""
        inside = np.zeros(families.n_variables, bool)
        inside[list(self.nodes)] = True
        within = families.parents[:, list(self.nodes)].sum(axis=1)
        return np.asarray(inside[families.child] & (within >= self.size), float)


@dataclass(frozen=True)
class LocalCut:
    """A bound on the sum of values of the families of a few nodes, where only parents among these nodes matter.

    ``values`` holds, for each node, the value of each set of parents among ``nodes``, bit i of the position standing
    for node i.
    """

    nodes: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]
    bound: int

    def coefficients(self, families: FamilyColumns) -> NDArray[np.float64]:
        """Return what each family counts."""
        nodes = list(self.nodes)
        place = np.full(families.n_variables, len(nodes))
        place[nodes] = np.arange(len(nodes))
        within = families.parents[:, nodes] @ (1 << np.arange(len(nodes)))
        values = np.zeros((len(nodes) + 1, 1 << len(nodes)))  # the last row: children elsewhere
        values[:-1] = self.values
        return np.asarray(values[place[families.child], within])


@dataclass(frozen=True)
class NoGoodCut:
    """Excludes one graph, given by its families' columns: not all of them are chosen.

    It is no property of acyclic graphs, but of those that are still looked for once this one is known.
    """

    columns: tuple[int, ...]

    @property
    def bound(self) -> int:
        """The right-hand side."""
        return len(self.columns) - 1

    def coefficients(self, families: FamilyColumns) -> NDArray[np.float64]:
        """Return what each family counts."""
        counts = np.zeros(len(families.cost))
        counts[list(self.columns)] = 1.0
        return counts


Cut = ClusterCut | LocalCut | NoGoodCut
