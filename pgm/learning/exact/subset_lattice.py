"""Dynamic programming over the subsets of a few nodes: the best acyclic graph when families have values.

Every acyclic graph has an order, and in an order each node takes the best family among the nodes before it. With W the
set of nodes already placed, ``before(W)`` is the most that the nodes of W can be worth, ``after(W)`` the most that the
others can be worth once W is placed, and ``before(all)`` the value of the best graph. Sets are bit masks; arrays have
leading axes for many problems at once.

References
----------
Silander and Myllymaki (2006), *UAI* 22, 445-452.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["SubsetLattice", "subset_lattice"]


class SubsetLattice:
    """The subsets of ``n_nodes`` nodes; get one from `subset_lattice`."""

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        subsets = np.arange(1 << n_nodes)
        self.holds = (subsets[None, :] >> np.arange(n_nodes)[:, None] & 1).astype(bool)
        """Whether a node is in a subset, shape (nodes, subsets)."""
        sizes = self.holds.sum(axis=0)
        self._layers = []
        for size in range(1, n_nodes + 1):
            layer = np.flatnonzero(sizes == size)
            members = np.array([np.flatnonzero(self.holds[:, subset]) for subset in layer])
            self._layers.append((layer, members, layer[:, None] ^ (1 << members)))

    def best_subset(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest value of each set's subsets, along the last axis."""
        best = values.copy()
        for node in range(self.n_nodes):
            halves = best.reshape(*best.shape[:-1], -1, 2, 1 << node)
            np.maximum(halves[..., 1, :], halves[..., 0, :], out=halves[..., 1, :])
        return best

    def best_superset(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest value of each set's supersets, along the last axis."""
        best = values.copy()
        for node in range(self.n_nodes):
            halves = best.reshape(*best.shape[:-1], -1, 2, 1 << node)
            np.maximum(halves[..., 0, :], halves[..., 1, :], out=halves[..., 0, :])
        return best

    def before(self, best: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return before(W), shape (..., subsets), from `best_subset` values, shape (..., nodes, subsets)."""
        value = np.zeros((*best.shape[:-2], best.shape[-1]))
        for layer, members, rest in self._layers:
            value[..., layer] = (value[..., rest] + best[..., members, rest]).max(axis=-1)
        return value

    def after(self, best: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return after(W), shape (..., subsets), from `best_subset` values, shape (..., nodes, subsets)."""
        value = np.zeros((*best.shape[:-2], best.shape[-1]))
        everything = best.shape[-1] - 1
        for layer, members, rest in self._layers:  # of the nodes that are still to be placed
            placed = everything ^ layer
            value[..., placed] = (value[..., everything ^ rest] + best[..., members, placed[:, None]]).max(axis=-1)
        return value

    def last_node(
        self,
        best: NDArray[np.float64],
        before: NDArray[np.float64],
        problem: NDArray[np.intp],
        subset: NDArray[np.intp],
    ) -> NDArray[np.intp]:
        """Return the node that comes last in the best order of each subset, each of one problem."""
        nodes = np.arange(self.n_nodes)
        rest = subset[:, None] & ~(1 << nodes)
        value = before[problem[:, None], rest] + best[problem[:, None], nodes, rest]
        value[(subset[:, None] >> nodes & 1) == 0] = -np.inf
        return np.asarray(value.argmax(axis=1))


@cache
def subset_lattice(n_nodes: int) -> SubsetLattice:
    """Return the lattice of so many nodes; it is made once."""
    return SubsetLattice(n_nodes)
