"""The best graphs known so far, and how a fractional solution leads to better ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.family_columns import FamilyColumns
from pgm.learning.search.orderings import OrderClimber, Ordering
from pgm.learning.search.parent_sets import ParentSets

__all__ = ["Incumbents", "closure", "is_acyclic"]

Columns = tuple[int, ...]
"""A graph as the column of each child's family."""


class Incumbents:
    """The best graphs among all that have been offered.

    Parameters
    ----------
    sets
        The candidate parent sets.
    families
        The same as columns.
    wanted
        How many graphs are kept.
    climber
        The search over orders that improves what is found.
    """

    def __init__(self, sets: ParentSets, families: FamilyColumns, wanted: int, climber: OrderClimber) -> None:
        self.wanted = wanted
        self._families = families
        self.graphs: list[tuple[float, Columns]] = []
        """Cost and columns of the graphs, the best first."""
        self._climber = climber
        self._column = [
            {mask: int(first) + place for place, mask in enumerate(masks)}
            for first, masks in zip(families.starts, sets.masks, strict=True)
        ]

    @property
    def cost(self) -> float:
        """Cost of the best graph."""
        return self.graphs[0][0] if self.graphs else math.inf

    @property
    def cutoff(self) -> float:
        """What a graph must cost less than to matter: the cost of the last one wanted, infinite while some lack."""
        return self.graphs[-1][0] if len(self.graphs) == self.wanted else math.inf

    def offer(self, columns: Columns) -> bool:
        """Take an acyclic graph if it is one of the best; return whether it is new among them."""
        cost = math.fsum(self._families.cost[list(columns)])
        entry = (cost, columns)
        if cost >= self.cutoff or entry in self.graphs:
            return False
        self.graphs = sorted([*self.graphs, entry])[: self.wanted]
        return True

    def holds(self, columns: Columns) -> bool:
        """Return whether a graph is one of the best."""
        return any(columns == known for _, known in self.graphs)

    def climb(self, parents: Sequence[Sequence[int]], patience: int = 0) -> None:
        """Search from an order that fits an acyclic graph, and take what is found."""
        ordering = self._climber.climb(self._climber.random_topological_order(parents))
        self._offer_ordering(self._climber.improve(ordering, patience) if patience else ordering)

    def round(self, weights: NDArray[np.float64], edges: NDArray[np.float64]) -> None:
        """Look for better graphs near a fractional solution: its heaviest families, and the order it suggests."""
        columns = np.lexsort((-weights, self._families.child))[self._families.starts]
        if is_acyclic(self._families.parents[columns]):
            self.offer(tuple(columns.tolist()))
        order = _suggested_order(edges)
        if math.isfinite(self._climber.evaluate(order).score):  # else a node misses a parent that it must have
            self._offer_ordering(self._climber.climb(order))

    def add_neighbours(self) -> None:
        """Offer the graphs that differ from the best one in a single family, so that there are enough to begin with."""
        if self.wanted == 1:
            return
        columns = np.array(self.graphs[0][1])
        above = self._families.parents[columns]
        descendants = closure(above.T)  # from each node to those below it
        fits = ~np.asarray((self._families.parents & descendants[self._families.child]).any(axis=1))
        present = self._families.cost[columns]
        loss = np.asarray(np.where(fits, self._families.cost - present[self._families.child], np.inf))
        for column in np.argsort(loss, kind="stable")[: self.wanted + len(columns)]:
            if fits[column]:
                changed = columns.copy()
                changed[self._families.child[column]] = column
                self.offer(tuple(changed.tolist()))

    def _offer_ordering(self, ordering: Ordering) -> None:
        parents = self._climber.parents(ordering)
        masks = [sum(1 << parent for parent in some) for some in parents]
        self.offer(tuple(column[mask] for column, mask in zip(self._column, masks, strict=True)))


def _suggested_order(edges: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return an order that most edge weights follow: again and again the node with the least weight still above it."""
    incoming = edges.sum(axis=0)
    order = []
    for _ in range(len(edges)):
        node = int(incoming.argmin())
        order.append(node)
        incoming = incoming - edges[node]
        incoming[order] = np.inf
    return np.array(order)


def closure(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return between which nodes there is a path, from the row's node to the column's.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    reach = edges
    while True:
        longer = reach | (reach @ reach)
        if (longer == reach).all():
            return reach
        reach = longer


def is_acyclic(parents: NDArray[np.bool_]) -> bool:
    """Return whether nodes with these parents, one row each, form an acyclic graph."""
    return not closure(parents).diagonal().any()
