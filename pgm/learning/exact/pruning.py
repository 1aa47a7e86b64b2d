"""Which parent sets can never be in an optimal graph.

A parent set is not needed if one of its subsets scores as well, because the subset fits into every graph that the set
fits into. To say so of all supersets of a set at once, without counting them, takes an upper bound on what any of them
can score (`pgm.learning.exact.superset_bounds`); if the bound is no better than the set or a subset of it, the search
for parent sets ends there. So all sets that can matter are found without a limit on their size.
"""

from __future__ import annotations

import math

import numpy as np

from pgm.errors import GraphError, TooLargeError
from pgm.learning.constraints import Constraints
from pgm.learning.exact.superset_bounds import FullTable, SupersetBound, parameter_price
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.search.parent_sets import ParentSets, members

__all__ = ["MAX_FAMILIES", "largest_useful_table", "pruned_parent_sets"]

MAX_FAMILIES = 2_000_000
"""Families that are scored at most, unless the caller says otherwise."""

UNFAIR = 4
"""A child may have so many times its share of the families, so that too many are refused at the first child."""

_ROUNDING = 1e-9
"""How much of a bound, relatively, may be lost to rounding."""


def largest_useful_table(scores: FamilyScores, constraints: Constraints) -> float:
    """Return the largest number of cells that the table of a family in an optimal graph may have; often infinity.

    A family that pays more for its parameters than it could gain over the child's required parents alone is in none.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> scores = FamilyScores(Dataset({"a": [0, 0, 1, 1] * 50, "b": [0, 0, 1, 0] * 50}), "bic")
    >>> largest_useful_table(scores, Constraints(["a", "b"])).__round__(1)
    34.6
    """
    price = parameter_price(scores.measure, scores.source.total_weight)
    if not price:
        return math.inf
    largest = 0.0
    for child, (needed, candidates) in enumerate(_candidates(constraints)):
        r = scores.variables[child].cardinality
        largest = max(largest, r * math.prod(scores.variables[parent].cardinality for parent in needed))
        most = len(needed) + len(candidates)
        prior = max(scores.log_prior(size) for size in range(len(needed), most + 1))
        if r == 1:  # parents cost nothing, and gain what the prior pays for them
            if prior > scores.log_prior(len(needed)):
                return math.inf
            continue
        ceiling = FullTable(scores.source, child, [*needed, *candidates]).ceiling
        gain = ceiling + prior - scores.family(child, needed)
        largest = max(largest, gain / (price * (r - 1)) * r * (1 + _ROUNDING))
    return largest


def _candidates(constraints: Constraints) -> list[tuple[list[int], list[int]]]:
    """Return for each node its required parents, and the others that it may have."""
    place = {name: number for number, name in enumerate(constraints.names)}
    needed: list[list[int]] = [[] for _ in place]
    for parent, child in constraints.required:
        needed[place[child]].append(place[parent])
    allowed = [np.flatnonzero(constraints.allowed[:, child]).tolist() for child in range(len(place))]
    return [
        (sorted(some), [parent for parent in may if parent not in some])
        for some, may in zip(needed, allowed, strict=True)
    ]


def pruned_parent_sets(
    scores: FamilyScores,
    constraints: Constraints,
    max_parents: int | None = None,
    max_families: int = MAX_FAMILIES,
) -> ParentSets:
    """Return all parent sets that an optimal graph may need, of any size unless that is limited.

    Parameters
    ----------
    scores
        The local scores of the data.
    constraints
        What is required and forbidden; its ``max_parents`` counts as well.
    max_parents
        Largest number of parents, or None for no limit.
    max_families
        How many families may be scored.

    Raises
    ------
    TooLargeError
        If more families than that would have to be scored; says how many, of which child.
    GraphError
        If a node has more required parents than it may have.

    Notes
    -----
    Breadth first: sets of one parent more, of which every subset is still open. A set is closed when the bound of its
    supersets is no better than the set or a subset of it. Scores without a bound (see `SupersetBound`) close nothing.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> data = Dataset({"a": [0, 0, 0, 1, 1, 1] * 3, "b": [0, 0, 0, 1, 1, 1] * 3})
    >>> pruned_parent_sets(FamilyScores(data, "bic"), Constraints(["a", "b"])).masks
    [[2, 0], [1, 0]]
    """
    limits = [limit for limit in (max_parents, constraints.max_parents) if limit is not None]
    limit = min([*limits, len(scores.names) - 1])
    found: list[list[tuple[int, float]]] = []
    left = max_families
    share = UNFAIR * max_families // len(scores.names)
    for child, (needed, candidates) in enumerate(_candidates(constraints)):
        if len(needed) > limit:
            raise GraphError(f"{scores.names[child]!r} has {len(needed)} required parents, but max_parents is {limit}")
        kept, scored = _sets_of(scores, child, needed, candidates, limit, min(left, share))
        left -= scored
        found.append(sorted(kept, key=lambda pair: (-pair[1], pair[0].bit_count(), pair[0])))
    masks = [[mask for mask, _ in pairs] for pairs in found]
    return ParentSets(scores.names, masks, [np.array([score for _, score in pairs]) for pairs in found])


def _sets_of(
    scores: FamilyScores, child: int, needed: list[int], candidates: list[int], limit: int, left: int
) -> tuple[list[tuple[int, float]], int]:
    """Return the sets (mask, score) of one child that beat their subsets, and how many sets were scored."""
    base = sum(1 << parent for parent in needed)
    bound = SupersetBound(scores, child, [*needed, *candidates])
    kept: list[tuple[int, float]] = []
    level: dict[int, float] = {0: -math.inf}  # sets of further parents, with the best score of their proper subsets
    scored = 0
    for size in range(len(needed), limit + 1):
        if scored + len(level) > left:
            raise TooLargeError(
                f"parent sets of {scores.names[child]!r}: {len(level):,} of {size} parents would be scored after "
                f"{scored:,} smaller ones, but only {left:,} may be; with max_parents there are fewer"
            )
        scored += len(level)
        sets = [members(base | more) for more in level]
        found = scores.families([(child, parents) for parents in sets])
        best = np.maximum(found, list(level.values()))
        kept += [
            (base | more, float(score))
            for (more, below), score in zip(level.items(), found, strict=True)
            if score > below
        ]
        if size == limit:
            break
        is_open: dict[int, float] = {}
        for more, parents, value in zip(level, sets, best.tolist(), strict=True):
            highest = bound.of(parents)
            if highest + _ROUNDING * abs(highest) > value:
                is_open[more] = value
        level = _one_more(is_open, candidates)
        if not level:
            break
    return kept, scored


def _one_more(is_open: dict[int, float], candidates: list[int]) -> dict[int, float]:
    """Return the sets of one element more whose subsets are all open, with the best score of these."""
    level: dict[int, float] = {}
    for some, value in is_open.items():
        for candidate in candidates:
            bit = 1 << candidate
            if bit <= some:  # each set is made from the one without its largest element
                continue
            best = value
            for element in members(some):
                below = is_open.get(some ^ (1 << element) | bit)
                if below is None:
                    break
                best = max(best, below)
            else:
                level[some | bit] = best
    return level
