"""Separation of cluster cuts: clusters grown greedily from every node and every fractional edge, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.cuts import ClusterCut
from pgm.learning.exact.family_columns import FamilyColumns

__all__ = ["cluster_cuts"]

SIZES = (1, 2, 3)
"""How many parents within the cluster count."""
_LARGEST = 16
"""Nodes of a cluster at most."""
_STARTS = 400
"""Edges from which clusters are grown at most."""


def cluster_cuts(
    families: FamilyColumns, weights: NDArray[np.float64], edges: NDArray[np.float64], at_least: float, at_most: int
) -> list[ClusterCut]:
    """Return violated cluster cuts, those violated most first.

    Parameters
    ----------
    families, weights
        The families with positive weight in the fractional solution.
    edges
        Weight of each edge, shape (parents, children).
    at_least
        Violation from which a cut is returned.
    at_most
        Number of cuts of each size.
    """
    starts = _starting_clusters(edges)
    cuts: list[ClusterCut] = []
    for size in SIZES:
        clusters, violations = _grow(families, weights, starts, size)
        chosen = np.flatnonzero(violations > at_least)
        chosen = chosen[np.argsort(-violations[chosen], kind="stable")]
        found = dict.fromkeys(tuple(np.flatnonzero(clusters[start]).tolist()) for start in chosen)
        cuts.extend(ClusterCut(nodes, size) for nodes in list(found)[:at_most])
    return cuts


def _starting_clusters(edges: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return every node, and the ends of edges with positive weight, shape (clusters, nodes)."""
    n_nodes = len(edges)
    both = np.triu(edges + edges.T)
    first, second = np.nonzero(both > 0)
    order = np.argsort(-both[first, second], kind="stable")[:_STARTS]
    pairs = np.zeros((len(order), n_nodes), bool)
    pairs[np.arange(len(order)), first[order]] = True
    pairs[np.arange(len(order)), second[order]] = True
    return np.concatenate([np.eye(n_nodes, dtype=bool), pairs])


def _grow(
    families: FamilyColumns, weights: NDArray[np.float64], starts: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return for each start the most violated cluster on the way, and its violation.

    At each step the node is added that raises the left-hand side most: families of the cluster to which it is the last
    parent missing, and its own families with enough parents in the cluster.
    """
    n_nodes, everyone = families.n_variables, np.arange(len(starts))
    above = _padded_parents(families)
    inside, best = starts.copy(), starts.copy()
    violations = np.full(len(starts), -np.inf)
    within = np.append(starts, np.zeros((len(starts), 1), bool), axis=1)[:, above].sum(axis=-1)
    for _ in range(min(_LARGEST, n_nodes)):
        own = inside[:, families.child]
        n_inside = inside.sum(axis=1)
        cluster, family = np.nonzero(within >= size)
        mine = own[cluster, family]
        violation = np.bincount(cluster[mine], weights[family[mine]], len(starts)) - (n_inside - size)
        better = (violation > violations) & (n_inside > size)
        violations[better], best[better] = violation[better], inside[better]
        gain = np.bincount(cluster * n_nodes + families.child[family], weights[family], len(starts) * n_nodes)
        gain = gain.reshape(len(starts), n_nodes).astype(float)  # whole numbers if empty
        cluster, family = np.nonzero((within == size - 1) & own)
        place = cluster[:, None] * (n_nodes + 1) + above[family]
        share = np.broadcast_to(weights[family][:, None], place.shape)
        last = np.bincount(place.ravel(), share.ravel(), len(starts) * (n_nodes + 1))
        gain += last.reshape(len(starts), n_nodes + 1)[:, :-1]
        gain[inside] = -np.inf
        added = gain.argmax(axis=1)
        grows = ~inside[everyone, added]  # unless all nodes are in
        inside[everyone, added] = True
        within += families.parents.T[added] & grows[:, None]
    return best, violations


def _padded_parents(families: FamilyColumns) -> NDArray[np.intp]:
    """Return the parents of each family, filled up with the number of nodes, shape (families, parents)."""
    most = int(families.parents.sum(axis=1).max(initial=0))
    order = np.argsort(~families.parents, axis=1, kind="stable")[:, :most]
    return np.where(np.take_along_axis(families.parents, order, axis=1), order, families.n_variables)
