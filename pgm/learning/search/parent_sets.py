"""Candidate parent sets: for every node the families worth considering, best first.

Once an order of the nodes is known, each node takes the best of its parent sets that lie before it; so searches over
orders, and programs that prove an optimum, want a list of sets for every node. A set that scores no better than one of
its own subsets is never needed, because the subset fits wherever the set does (Cussens 2012; Teyssier and Koller 2005),
and few remain: of 288,859 families of ALARM with at most three parents 4,469 do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TooLargeError
from pgm.learning.constraints import Constraints
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.joint_scores import JointScores, is_joint, joint_scores

__all__ = ["Legal", "ParentSets", "all_parent_sets", "members"]

MAX_FAMILIES = 100_000_000
"""Families that are scored at most to list all of them."""


@dataclass(frozen=True)
class ParentSets:
    """Candidate parent sets of every node, best first.

    Examples
    --------
    >>> sets = ParentSets.from_scores(["a", "b"], [{0: -2.0, 0b10: -1.0}, {0: -3.0, 0b01: -3.5}])
    >>> sets.masks
    [[2, 0], [0]]
    """

    names: tuple[str, ...]
    masks: list[list[int]]
    """For each node its candidate sets, as integers with bit p set if node p is a parent."""
    scores: list[NDArray[np.float64]]
    """Their local scores, falling."""

    @classmethod
    def from_scores(cls, names: Sequence[str], scores: Sequence[dict[int, float]]) -> ParentSets:
        """Return the lists of the sets given for each node with their scores, without dominated ones."""
        kept = [_undominated(found) for found in scores]
        masks = [[mask for mask, _ in pairs] for pairs in kept]
        return cls(tuple(names), masks, [np.array([score for _, score in pairs]) for pairs in kept])

    def __len__(self) -> int:
        return sum(len(masks) for masks in self.masks)

    def shortened(self, total: int, pinned: Sequence[Collection[int]]) -> ParentSets:
        """Return the best sets of each node, an equal share of ``total`` if there are more.

        The last set of each node stays, and so do those that are pinned.

        >>> sets = ParentSets(("a", "b"), [[0b110, 0b10, 0], [0]], [np.array([-1.0, -2.0, -3.0]), np.array([-3.0])])
        >>> sets.shortened(2, [[], []]).masks
        [[6, 0], [0]]
        """
        if len(self) <= total:
            return self
        share = max(1, total // len(self.names))
        masks, scores = [], []
        for some, values, fixed in zip(self.masks, self.scores, pinned, strict=True):
            end = len(some) - 1
            kept = [place for place, mask in enumerate(some) if place < share or place == end or mask in fixed]
            masks.append([some[place] for place in kept])
            scores.append(values[kept])
        return ParentSets(self.names, masks, scores)

    def reordered(self, order: Sequence[int]) -> ParentSets:
        """Return the same sets with the nodes in another order.

        >>> sets = ParentSets(("a", "b"), [[0b10, 0], [0]], [np.array([-1.0, -2.0]), np.array([-3.0])])
        >>> sets.reordered([1, 0]).masks
        [[0], [1, 0]]
        """
        place = {node: 1 << position for position, node in enumerate(order)}
        masks = [[sum(place[parent] for parent in members(mask)) for mask in self.masks[node]] for node in order]
        return ParentSets(tuple(self.names[node] for node in order), masks, [self.scores[node] for node in order])


def members(mask: int) -> list[int]:
    """Return the elements of a set given as an integer.

    >>> members(0b10110)
    [1, 2, 4]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _undominated(scores: dict[int, float]) -> list[tuple[int, float]]:
    """Return the sets (mask, score) that score better than each of their subsets among those given, best first.

    Ties go to the smaller set, then to the smaller mask.

    >>> _undominated({0b00: 1.0, 0b01: 0.5, 0b10: 2.0, 0b11: 2.0})
    [(2, 2.0), (0, 1.0)]
    """
    return _best_first([(mask, score) for mask, score in scores.items() if not _is_dominated(mask, score, scores)])


def _is_dominated(mask: int, score: float, scores: dict[int, float]) -> bool:
    subset = mask
    while subset:
        subset = (subset - 1) & mask  # runs through all proper subsets, down to the empty one
        if scores.get(subset, -math.inf) >= score:
            return True
    return False


def all_parent_sets(scores: FamilyScores, constraints: Constraints, max_parents: int) -> ParentSets:
    """Return all parent sets of at most ``max_parents`` nodes that keep to the constraints and beat their subsets.

    Parameters
    ----------
    scores
        The local scores of the data.
    constraints
        What is required and forbidden; its ``max_parents`` counts as well.

    Raises
    ------
    TooLargeError
        If there are more than `MAX_FAMILIES` families.

    Notes
    -----
    For score-equivalent scores and up to three parents all joint tables are counted by matrix products; otherwise one
    pass over the rows for every family of one parent less.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> data = Dataset({"a": [0, 0, 0, 1, 1, 1] * 3, "b": [0, 0, 0, 1, 1, 1] * 3})
    >>> all_parent_sets(FamilyScores(data, "bic"), Constraints(["a", "b"]), 1).masks
    [[2, 0], [1, 0]]
    """
    n = len(scores.names)
    limits = (max_parents, constraints.max_parents, n - 1)
    limit = min(bound for bound in limits if bound is not None)
    families = n * sum(comb(n - 1, size) for size in range(limit + 1))
    if families > MAX_FAMILIES:
        raise TooLargeError(
            f"{n} variables have {families:,} families of at most {limit} parents; {MAX_FAMILIES:,} can be listed"
        )
    legal = Legal.of(constraints)
    if limit <= 3 and n > 3 and is_joint(scores.measure):
        found = list(_small_sets(scores, legal, limit))
    else:
        found = [_sets_by_size(scores, legal, node, limit) for node in range(n)]
    masks = [[mask for mask, _ in pairs] for pairs in found]
    return ParentSets(scores.names, masks, [np.array([score for _, score in pairs]) for pairs in found])


class Legal(NamedTuple):
    """Which parents each node may and must have."""

    allowed: NDArray[np.bool_]
    """Shape (nodes, nodes), from the row's node to the column's."""
    required: list[int]
    """For each node the set it must have."""

    @classmethod
    def of(cls, constraints: Constraints) -> Legal:
        """Return what the constraints say about single nodes."""
        place = {name: number for number, name in enumerate(constraints.names)}
        required = [0] * len(place)
        for parent, child in constraints.required:
            required[place[child]] |= 1 << place[parent]
        return cls(constraints.allowed, required)


def _sets_by_size(scores: FamilyScores, legal: Legal, node: int, limit: int) -> list[tuple[int, float]]:
    """Return the kept sets of one node, each counted by itself."""
    needed = legal.required[node]
    others = np.flatnonzero(legal.allowed[:, node]).tolist()
    best: dict[int, float] = {}  # by set: the best score of the set and its legal subsets
    kept: list[tuple[int, float]] = []
    for size in range(limit + 1):
        for parents in combinations(others, size):
            mask = sum(1 << parent for parent in parents)
            below = max((best[mask ^ (1 << parent)] for parent in parents), default=-math.inf)
            score = scores.family(node, parents) if needed & ~mask == 0 else -math.inf
            if score > below:
                kept.append((mask, score))
            best[mask] = max(score, below)
    return _best_first(kept)


def _best_first(sets: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(sets, key=lambda pair: (-pair[1], pair[0].bit_count(), pair[0]))


def _small_sets(scores: FamilyScores, legal: Legal, limit: int) -> Iterator[list[tuple[int, float]]]:
    """Iterate over the kept sets of each node, of at most three parents, from the joint scores of all small sets."""
    joint = joint_scores(scores)
    triples = joint.triples() if limit >= 2 else np.empty((0, 0, 0))
    quadruples = _ranked_quadruples(joint) if limit == 3 else np.empty(0)
    for node in range(len(scores.names)):
        others = np.flatnonzero(legal.allowed[:, node])
        places = [_subsets(len(others), size) for size in range(limit + 1)]
        sets = [others[place] for place in places]
        found = [joint.singles[[node]] - joint.empty]
        if limit >= 1:
            found.append(joint.pairs[node, sets[1][:, 0]] - joint.singles[sets[1][:, 0]])
        if limit >= 2:
            a, b = sets[2].T
            found.append(triples[node, a, b] - joint.pairs[a, b])
        if limit >= 3:
            a, b, c = sets[3].T
            found.append(quadruples[_rank(node, a, b, c)] - triples[a, b, c])
        needed = members(legal.required[node])
        for size, of_size in enumerate(sets):
            found[size] += scores.log_prior(size)
            for parent in needed:
                found[size][~(of_size == parent).any(axis=1)] = -math.inf
        kept = _beating_subsets(found, places, len(others))
        pairs = [
            (sum(1 << parent for parent in parents), score)
            for size, chosen in enumerate(kept)
            for parents, score in zip(sets[size][chosen].tolist(), found[size][chosen].tolist(), strict=True)
        ]
        yield _best_first(pairs)


@lru_cache(maxsize=64)
def _subsets(n: int, size: int) -> NDArray[np.intp]:
    """Return all subsets of so many of the numbers below n, shape (subsets, size), each rising.

    >>> _subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    count = comb(n, size)
    flat = np.fromiter(chain.from_iterable(combinations(range(n), size)), np.intp, count * size)
    return flat.reshape(count, size)


def _beating_subsets(
    scores: Sequence[NDArray[np.float64]], sets: Sequence[NDArray[np.intp]], n: int
) -> list[NDArray[np.bool_]]:
    """Return for the sets of each size which of them score better than all their subsets.

    ``sets[k]`` holds all sets of k of n elements, and ``scores[k]`` their scores.
    """
    best = np.array(scores[0][0])  # of a set and its subsets, as an array with an axis for each element
    kept = [scores[0] > -math.inf]
    for size in range(1, len(scores)):
        some = sets[size]
        below = np.full(len(some), -math.inf)
        for left_out in range(size):
            rest = np.delete(some, left_out, axis=1)
            np.maximum(below, best[tuple(rest.T)], out=below)
        kept.append(scores[size] > below)
        if size + 1 < len(scores):
            best = np.full((n,) * size, -math.inf)
            best[tuple(some.T)] = np.maximum(below, scores[size])
    return kept


def _rank(*elements: NDArray[np.intp] | int) -> NDArray[np.intp]:
    """Return the number of each set of four in colexicographic order; elements in any order.

    >>> _rank(np.array([0, 4]), 1, 2, 3)
    array([0, 4])
    """
    a, b, c, d = np.sort(np.stack(np.broadcast_arrays(*elements)), axis=0)
    return np.asarray(a + b * (b - 1) // 2 + c * (c - 1) * (c - 2) // 6 + d * (d - 1) * (d - 2) * (d - 3) // 24)


def _ranked_quadruples(joint: JointScores) -> NDArray[np.float64]:
    """Return the joint scores of all sets of four by their `_rank`."""
    ranked = np.empty(comb(len(joint.names), 4))
    for a, b, block in joint.quadruples():
        c, d = np.triu_indices(len(block), 1)
        ranked[_rank(a, b, c + b + 1, d + b + 1)] = block[c, d]
    return ranked
