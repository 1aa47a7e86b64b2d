"""Which cuts to look for: clusters first, and programs on more and larger sets of nodes as they stop helping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.cluster_cuts import cluster_cuts
from pgm.learning.exact.cuts import Cut
from pgm.learning.exact.family_columns import FamilyColumns
from pgm.learning.exact.local_cuts import local_cuts

__all__ = ["EFFORTS", "edge_weights", "violated_cuts"]

EFFORTS: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((4, 48), (5, 48), (6, 48)),
    ((5, 96), (6, 96), (7, 48)),
    ((6, 96), (7, 96), (8, 24)),
)
"""For each effort, how many sets of how many nodes; a set of seven or eight costs 5 to 20 times one of five."""

_ENOUGH = 40
"""Cluster cuts that are worth a round of their own."""

_WEIGHT = 1e-7
"""Weight from which a family counts as used."""

_VIOLATION = 0.02
"""Violation, for a bound of 1, from which a cut is worth having."""


def edge_weights(families: FamilyColumns, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of each edge, shape (parents, children)."""
    edges = np.zeros((families.n_variables, families.n_variables))
    np.add.at(edges, families.child, families.parents * weights[:, None])
    return edges.T


def violated_cuts(
    families: FamilyColumns, weights: NDArray[np.float64], allowed: NDArray[np.bool_], effort: int
) -> list[Cut]:
    """Return cuts that a fractional solution violates.

    Parameters
    ----------
    families, weights
        The solution.
    allowed
        The families that matter.
    effort
        How hard to look, a position in `EFFORTS`.
    """
    positive = np.flatnonzero(weights > _WEIGHT)
    used, their_weights = families.keep(positive), weights[positive]
    edges = edge_weights(used, their_weights)
    cuts: list[Cut] = list(cluster_cuts(used, their_weights, edges, 2 * _VIOLATION, 60))
    if len(cuts) >= _ENOUGH and effort < 2:
        return cuts
    possible = families.keep(allowed)
    for size, at_most in EFFORTS[effort]:
        clusters = _fractional_clusters(edges, size, at_most)
        if len(clusters):
            cuts.extend(local_cuts(used, their_weights, clusters, _VIOLATION, possible))
    return cuts


def _fractional_clusters(edges: NDArray[np.float64], size: int, at_most: int) -> NDArray[np.intp]:
    """Return sets of nodes grown from triples along the edges that are most fractional, shape (sets, size)."""
    if len(edges) < size:
        return np.empty((0, size), np.intp)
    fractional = np.minimum(edges, 1 - edges)
    tie = fractional + fractional.T + 0.01 * (edges + edges.T)
    starts = _connected_triples(tie, 4 * at_most)
    inside = np.zeros((len(starts), len(edges)), bool)
    np.put_along_axis(inside, starts, True, axis=1)
    for _ in range(size - 3):
        pull = np.einsum("sv,vw->sw", inside, tie)  # no threads, so ties are always broken alike
        pull[inside] = -1.0
        inside[np.arange(len(starts)), pull.argmax(axis=1)] = True
    found = dict.fromkeys(tuple(np.flatnonzero(some).tolist()) for some in inside)
    return np.array(list(found)[:at_most], np.intp).reshape(-1, size)


def _connected_triples(tie: NDArray[np.float64], at_most: int) -> NDArray[np.intp]:
    """Return triples of nodes that are tied together, those tied most first."""
    first, second = np.nonzero(np.triu(tie) > 0.02)
    order = np.argsort(-tie[first, second], kind="stable")[:at_most]
    first, second = first[order], second[order]
    pull = tie[first] + tie[second]
    everyone = np.arange(len(first))
    pull[everyone, first] = pull[everyone, second] = -1.0
    third = np.argsort(-pull, axis=1, kind="stable")[:, :3]
    pulled = np.take_along_axis(pull, third, axis=1)
    strength = np.where(pulled < 0, -np.inf, tie[first, second][:, None] + pulled)
    best = np.argsort(-strength, axis=None, kind="stable")[: min(at_most, int(np.isfinite(strength).sum()))]
    pair, place = np.divmod(best, third.shape[1])
    return np.column_stack([first[pair], second[pair], third[pair, place]])
