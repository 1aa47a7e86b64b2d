"""Candidate parent sets that grow around the best graph found so far.

Listing all sets of three parents takes seconds, and of four minutes; nearly all of them are useless. So a search starts
with all sets of one and two parents and those of three that contain a good pair, and after a search every set near the
incumbent graph is added: its families with one parent more, one parent exchanged, or an edge turned round. When nothing
new beats its subsets the lists have grown as far as the search can tell (Scanagatta, Corani, de Campos and Zaffalon
2015 explore parent sets likewise, best first).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pgm.learning.constraints import Constraints
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.joint_scores import is_joint, joint_scores
from pgm.learning.search.parent_sets import Legal, ParentSets, members

__all__ = ["Candidates"]

GOOD_PAIRS = 4
"""Pairs of parents of each node to which every third parent is tried at the start; fewer of more than 150 nodes."""

GOOD_PARENTS = 12
"""Single parents of each node to which every second one is tried, where not all pairs are."""

MOST_VARIABLES = 256
"""Up to so many variables all pairs of parents are scored at the start."""

MOST_LEVELS = 2000
"""Up to so many states of all variables together joint scores are used."""

MOST_JOINT_CELLS = 1 << 24
"""Up to so many cells of one variable with all pairs of variables all pairs of parents are scored at the start."""

MOST_SETS = 20_000
"""Lists longer than this in all lose their last sets, of each node those beyond an equal share."""

MOST_CELLS = 1 << 22
"""Families whose table, extended by all variables, has more cells are not tried."""

GAIN = 1e-9
"""A set must beat its subsets by more than this."""


class Candidates:
    """Growing lists of candidate parent sets.

    Parameters
    ----------
    scores
        The local scores of the data.
    constraints
        What is required and forbidden, and the largest number of parents.
    """

    def __init__(self, scores: FamilyScores, constraints: Constraints) -> None:
        self._scores = scores
        self._legal = Legal.of(constraints)
        self._n = n = len(scores.names)
        self._limit = n - 1 if constraints.max_parents is None else min(constraints.max_parents, n - 1)
        self._levels = sum(variable.cardinality for variable in scores.variables)
        joint = is_joint(scores.measure) and self._levels <= MOST_LEVELS
        self._joint = joint_scores(scores) if joint else None
        self._known: list[dict[int, float]] = [{} for _ in range(n)]
        self._pinned: list[set[int]] = [set() for _ in range(n)]
        self._tried: set[tuple[int, ...]] = set()
        self._n_scores = 0
        self._profiles: list[tuple[float, float]] = []
        for node in range(n):
            self._add(node, self._legal.required[node])

    def sets(self) -> ParentSets:
        """Return the present lists, without dominated sets."""
        sets = ParentSets.from_scores(self._scores.names, self._known).shortened(MOST_SETS, self._pinned)
        self._known = [
            dict(zip(masks, scores.tolist(), strict=True))
            for masks, scores in zip(sets.masks, sets.scores, strict=True)
        ]
        return sets

    def canonical_order(self) -> list[int]:
        """Return the nodes in an order that depends on the data and not on the columns: by their own scores.

        Nodes that look alike up to nine digits stay in column order.
        """
        profiles = [tuple(float(f"{number:.9g}") for number in profile) for profile in self._profiles]
        return sorted(range(self._n), key=profiles.__getitem__)

    @property
    def n_scores(self) -> int:
        """Number of local scores derived from joint scores so far."""
        return self._n_scores

    def include(self, sets: ParentSets) -> None:
        """Add lists made elsewhere."""
        for node, (masks, scores) in enumerate(zip(sets.masks, sets.scores, strict=True)):
            self._known[node].update(zip(masks, scores.tolist(), strict=True))

    # ------------------------------------------------------------------ growing

    def begin(self, start: Sequence[Sequence[int]] | None = None) -> None:
        """Add the sets of one and two parents, those of three that contain a good pair, and those of a graph."""
        for node, parents in enumerate(start or ()):
            self._add(node, sum(1 << parent for parent in parents))
        self.pin(start or ())
        widest = max(variable.cardinality for variable in self._scores.variables)
        cells = widest * self._levels**2
        everything = self._joint is not None and self._n <= MOST_VARIABLES and cells <= MOST_JOINT_CELLS
        number = max(2, min(GOOD_PAIRS, 150 * GOOD_PAIRS // self._n))
        good: list[tuple[int, tuple[int, ...]]] = []
        for node in range(self._n):
            single = self._offer(node, ())
            self._profiles.append((self._scored(node, ()), float(np.sort(single[single > -np.inf]).sum())))
            if self._limit >= 2:
                pairs = self._all_pairs(node, single) if everything else self._some_pairs(node, single)
                good += [(node, pair) for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:number]]
        for node, pair in good:
            self._explore(node, pair)

    def _all_pairs(self, node: int, single: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
        """Offer all pairs of parents of a node; return the best ones with their scores."""
        assert self._joint is not None
        others = np.array(self._others(node), np.intp)
        if len(others) < 2:
            return {}
        first, second = (others[places] for places in np.triu_indices(len(others), 1))
        score = self._joint.triples()[node, first, second] - self._joint.pairs[first, second] + self._prior(2)
        self._n_scores += len(score)
        below = np.maximum(np.maximum(single[first], single[second]), self._scored(node, ()))
        needed = self._legal.required[node]
        for place in np.flatnonzero(score > below + GAIN).tolist():
            mask = 1 << int(first[place]) | 1 << int(second[place])
            if needed & ~mask == 0:
                self._add(node, mask, float(score[place]))
        return {(int(first[place]), int(second[place])): score[place] for place in _largest(score, GOOD_PAIRS)}

    def _some_pairs(self, node: int, single: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
        """Offer the pairs of parents with one that is good by itself; return the best ones with their scores."""
        pairs: dict[tuple[int, ...], float] = {}
        allowed = self._legal.allowed[:, node]
        for first in _largest(np.where(allowed, single, -np.inf), GOOD_PARENTS):
            if self._cells((node, first)) > MOST_CELLS:
                continue
            both = np.where(allowed, self._offer(node, (first,)), -np.inf)
            for second in _largest(both, GOOD_PAIRS):
                pairs[min(first, second), max(first, second)] = float(both[second])
        return pairs

    def pin(self, graph: Sequence[Sequence[int]]) -> None:
        """Keep the parent sets of a graph in the lists, however long they get."""
        for node, parents in enumerate(graph):
            self._pinned[node].add(sum(1 << parent for parent in parents))

    def grow(self, graph: Sequence[Sequence[int]]) -> int:
        """Add the sets near a graph, given as the parents of each node; return how many promise something."""
        self.pin(graph)
        before = sum(map(len, self._known))
        for node, parents in enumerate(graph):
            self._explore(node, tuple(parents))
            for rest in combinations(parents, len(parents) - 1) if parents else ():
                self._explore(node, rest)
        return sum(map(len, self._known)) - before

    def _explore(self, node: int, parents: tuple[int, ...]) -> None:
        """Offer the parents of a node with every further one, and their other arrangements if they cost nothing."""
        scope = tuple(sorted((*parents, node)))
        key = scope if self._joint is not None else (*scope, -1, node)
        if key in self._tried or self._cells(scope) > MOST_CELLS:
            return
        self._tried.add(key)
        if self._joint is None:
            self._offer(node, parents)
            return
        for child in scope:
            self._offer(child, tuple(other for other in scope if other != child))
        self._offer_to_all(scope)

    def _cells(self, scope: Iterable[int]) -> int:
        return math.prod(self._scores.variables[node].cardinality for node in scope) * self._levels

    # ------------------------------------------------------------------ offering sets

    def _others(self, node: int) -> list[int]:
        return np.flatnonzero(self._legal.allowed[:, node]).tolist()

    def _add(self, node: int, mask: int, score: float | None = None) -> None:
        if mask not in self._known[node]:
            self._known[node][mask] = self._scores.family(node, members(mask)) if score is None else score

    def _offer(self, node: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
        """Add the sets of the parents and one more that beat their largest subsets; return the scores of all."""
        with_one = self._with_one(node, parents)
        if len(parents) >= self._limit or not self._legal.allowed[list(parents), node].all():
            return with_one
        below = np.full(self._n, self._scored(node, parents))
        for rest in combinations(parents, len(parents) - 1) if parents and self._joint is not None else ():
            np.maximum(below, self._with_one(node, rest), out=below)
        chosen = np.flatnonzero((with_one > below + GAIN) & self._legal.allowed[:, node])
        base, needed = sum(1 << parent for parent in parents), self._legal.required[node]
        for further, score in zip(chosen.tolist(), with_one[chosen].tolist(), strict=True):
            if needed & ~(base | 1 << further) == 0:
                self._add(node, base | 1 << further, score)
        return with_one

    def _offer_to_all(self, parents: tuple[int, ...]) -> None:
        """Add a set of parents to every node for which it beats its largest subsets."""
        assert self._joint is not None
        if len(parents) > self._limit:
            return
        score = self._joint.extended(parents) - self._joint.of(parents) + self._prior(len(parents))
        below = np.full(self._n, -np.inf)
        for rest in combinations(parents, len(parents) - 1):
            fewer = self._joint.extended(rest) - self._joint.of(rest) + self._prior(len(rest))
            np.maximum(below, fewer, out=below)
        mask = sum(1 << parent for parent in parents)
        legal = self._legal.allowed[list(parents)].all(axis=0)
        for node in np.flatnonzero((score > below + GAIN) & legal).tolist():
            if self._legal.required[node] & ~mask == 0:
                self._add(node, mask, float(score[node]))

    def _with_one(self, node: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the score of a node given the parents and each further one; minus infinity for those in the family."""
        if self._joint is None:
            current, gains = self._scores.neighbours(node, tuple(sorted(parents)), True)
            score = current + gains
        else:
            score = self._joint.extended((*parents, node)) - self._joint.extended(parents)
            score += self._prior(len(parents) + 1)
            self._n_scores += self._n - len(parents) - 1
        score[[*parents, node]] = -np.inf
        return score

    def _scored(self, node: int, parents: tuple[int, ...]) -> float:
        if self._joint is None:
            return self._scores.neighbours(node, tuple(sorted(parents)), True)[0]
        return self._joint.of((*parents, node)) - self._joint.of(parents) + self._prior(len(parents))

    def _prior(self, n_parents: int) -> float:
        return self._scores.log_prior(n_parents)


def _largest(values: NDArray[np.float64], number: int) -> list[int]:
    """Return the places of the largest values, the first of equal ones first; minus infinity is none.

    >>> _largest(np.array([1.0, 3.0, -np.inf, 3.0]), 3)
    [1, 3, 0]
    """
    places = np.argsort(-values, kind="stable")[:number]
    return [int(place) for place in places if values[place] > -np.inf]
