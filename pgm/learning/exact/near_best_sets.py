"""Parent sets for a search for several best graphs: those that only few of their own subsets match."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from pgm.errors import TooLargeError
from pgm.learning.constraints import Constraints
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.search.parent_sets import ParentSets

__all__ = ["MAX_FAMILIES", "near_best_sets"]

MAX_FAMILIES = 500_000
"""Families that are scored at most."""


def near_best_sets(scores: FamilyScores, constraints: Constraints, k: int) -> ParentSets:
    """Return all parent sets that a search for the ``k`` best graphs may need.

    Parameters
    ----------
    scores
        The local scores of the data.
    constraints
        What is required and forbidden, and the largest number of parents.
    k
        How many graphs are wanted.

    Raises
    ------
    TooLargeError
        If there are more than `MAX_FAMILIES` families.

    Notes
    -----
    A set is left out if ``k`` of its subsets that may be chosen score at least as well: put in its place in any graph,
    they give ``k`` graphs that are no worse. Every family is counted by itself.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> scores = FamilyScores(Dataset({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}), "bic")
    >>> [near_best_sets(scores, Constraints(["a", "b"]), k).masks for k in (1, 2)]
    [[[0], [0]], [[0, 2], [0, 1]]]
    """
    n = len(scores.names)
    limit = min(n - 1, n if constraints.max_parents is None else constraints.max_parents)
    n_families = n * sum(comb(n - 1, size) for size in range(limit + 1))
    if n_families > MAX_FAMILIES:
        raise TooLargeError(
            f"{n} variables have {n_families:,} families of at most {limit} parents; a search for several best graphs "
            f"can score {MAX_FAMILIES:,}, so set max_parents lower"
        )
    place = {name: number for number, name in enumerate(scores.names)}
    found = [_of_child(scores, constraints, child, limit, k, place) for child in range(n)]
    masks = [[mask for mask, _ in pairs] for pairs in found]
    return ParentSets(scores.names, masks, [np.array([score for _, score in pairs]) for pairs in found])


def _of_child(
    scores: FamilyScores, constraints: Constraints, child: int, limit: int, k: int, place: dict[str, int]
) -> list[tuple[int, float]]:
    """Return the sets of one child with their scores, best first."""
    needed = [place[parent] for parent, other in constraints.required if place[other] == child]
    others = [int(other) for other in np.flatnonzero(constraints.allowed[:, child]) if other not in needed]
    added = [some for size in range(limit - len(needed) + 1) for some in combinations(others, size)]
    values = scores.families([(child, (*needed, *some)) for some in added]).tolist()
    base = sum(1 << parent for parent in needed)
    score_of = {base | sum(1 << parent for parent in some): value for some, value in zip(added, values, strict=True)}
    kept = [(mask, score) for mask, score in score_of.items() if _matches(mask, base, score, score_of, k) < k]
    return sorted(kept, key=lambda pair: (-pair[1], pair[0].bit_count(), pair[0]))


def _matches(mask: int, base: int, score: float, score_of: dict[int, float], k: int) -> int:
    """Return how many proper subsets with all of ``base`` score as well, counted up to ``k``."""
    free = mask & ~base
    subset, found = free, 0
    while subset and found < k:
        subset = (subset - 1) & free
        found += score_of[base | subset] >= score
    return found
