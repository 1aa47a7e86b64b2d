"""The best DAG by dynamic programming over subsets of the variables.

Every DAG has a sink, a node without children; without it a DAG on the others is left. So the best DAG on a set W is the
best choice of a sink y in W, of its best parents within W - y, and of the best DAG on W - y. Two sweeps find it:

1. for every child, the best score of any parent set inside each set of other variables, by passing maxima from each
   set to the sets of one element more (the zeta transform over subsets, with a maximum for the sum);
2. for every set of variables, in order of size, the best DAG on it.

What was chosen is found again on the way back, since the best parent set inside W is a smallest subset of W with that
best score. So one array of all local scores, n 2^(n-1) numbers, is nearly all the memory there is.

Local scores are in an array of shape (n, 2^(n-1)). Row y holds the families of child y, and the place of a parent set
is its bit mask without the bit of y itself; `place_of` and `mask_at` convert.

Ties: of DAGs that score the same to the last bit, the sink is the variable that comes first, and its parents are the
fewest possible, then those of the smallest bit mask.

References
----------
Silander and Myllymaki (2006), A simple approach for finding the globally optimal Bayesian network structure, *UAI*.
Koivisto and Sood (2004), *Journal of Machine Learning Research* 5, 549-573. Ott, Imoto and Miyano (2004), *Pacific
Symposium on Biocomputing*. Singh and Moore (2005), Carnegie Mellon University, CALD-05-106.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import GraphError, TableError, TooLargeError
from pgm.factors.size import MEMORY_BUDGET, format_bytes

__all__ = ["BestDAG", "best_dag", "check_n_variables", "mask_at", "place_of", "scatter"]

MAX_VARIABLES = 30
"""No budget is enough for more."""


class BestDAG(NamedTuple):
    """A DAG that no other beats."""

    score: float
    """The sum of its local scores."""
    parents: tuple[int, ...]
    """The parent set of each node, as an integer with bit p set if node p is a parent."""


def place_of(mask: int, child: int) -> int:
    """Return the place of a parent set among the families of ``child``: its bits without that of the child.

    >>> place_of(0b1010, child=2)
    6
    """
    below = (1 << child) - 1
    return mask & below | (mask >> 1) & ~below


def mask_at(place: int, child: int) -> int:
    """Return the parent set at a place among the families of ``child``.

    >>> bin(mask_at(6, child=2))
    '0b1010'
    """
    below = (1 << child) - 1
    return place & below | (place & ~below) << 1


def check_n_variables(n_variables: int, budget: int = MEMORY_BUDGET) -> None:
    """Raise unless all families of so many variables fit into ``budget`` bytes, before anything is allocated.

    Raises
    ------
    TooLargeError
        Says how much memory would be needed, and how many variables the budget allows.

    Examples
    --------
    >>> check_n_variables(30)
    Traceback (most recent call last):
    ...
    pgm.errors.TooLargeError: dynamic programming over 30 variables needs 135 GB; the limit of 4.29 GB allows 24
    """
    if _bytes_needed(n_variables) > budget:
        fitting = max((n for n in range(MAX_VARIABLES) if _bytes_needed(n) <= budget), default=0)
        raise TooLargeError(
            f"dynamic programming over {n_variables} variables needs {format_bytes(_bytes_needed(n_variables))}; "
            f"the limit of {format_bytes(budget)} allows {fitting}"
        )


def _bytes_needed(n_variables: int) -> int:
    """Return the bytes at the worst moment: local scores, and six numbers for every subset."""
    return (n_variables * 8 << max(n_variables - 1, 0)) + (6 * 8 << n_variables)


def scatter(
    masks: Sequence[Sequence[int]], scores: Sequence[NDArray[np.float64]], budget: int = MEMORY_BUDGET
) -> NDArray[np.float64]:
    """Return lists of parent sets and their scores as an array of the local scores of all families.

    Parameters
    ----------
    masks, scores
        For each child its parent sets as integers, and their local scores, as in `ParentSets`.

    Returns
    -------
    ndarray
        Shape (n, 2^(n-1)); -inf for families that are not listed.

    Raises
    ------
    TooLargeError
        If the array and the work on it would exceed ``budget`` bytes.

    Examples
    --------
    >>> scatter([[0, 0b10], [0]], [np.array([-2.0, -1.0]), np.array([-3.0])])
    array([[ -2.,  -1.],
           [ -3., -inf]])
    """
    n = len(masks)
    check_n_variables(n, budget)
    local = np.full((n, 1 << max(n - 1, 0)), -np.inf)
    for child, (some, found) in enumerate(zip(masks, scores, strict=True)):
        local[child, [place_of(mask, child) for mask in some]] = found
    return local


def best_dag(local: NDArray[np.float64], *, overwrite: bool = False) -> BestDAG:
    """Return a DAG with the largest sum of local scores.

    Parameters
    ----------
    local
        The local scores of all families, shape (n, 2^(n-1)); -inf for families that are not allowed.
    overwrite
        Work in ``local`` itself, whose contents are lost, instead of in a copy.

    Raises
    ------
    TableError
        If the shape is another, or if a score is NaN or +inf.
    GraphError
        If every DAG has a family that is not allowed.

    Notes
    -----
    O(n^2 2^n) in time, in whole arrays: 0.6 seconds for 20 variables. Memory for a few numbers for every subset
    beside the scores.

    Examples
    --------
    >>> best_dag(np.array([[-2.0, -1.0], [-3.0, -2.5]]))
    BestDAG(score=-4.0, parents=(2, 0))
    """
    n = _checked_scores(local)
    best = local if overwrite else local.copy()
    for child in range(n):
        _pass_maxima_on(best[child])
    scores, sinks = _best_by_subset(best)
    total = float(scores[-1])
    if total == -np.inf:
        raise GraphError("every DAG has a family that is not allowed")
    places = np.arange(best.shape[1])
    sizes = np.bitwise_count(places)
    parents = [0] * n
    left = (1 << n) - 1
    while left:
        sink = int(sinks[left])
        left ^= 1 << sink
        parents[sink] = _smallest_best(best[sink], place_of(left, sink), places, sizes, sink)
    return BestDAG(total, tuple(parents))


def _checked_scores(local: NDArray[np.float64]) -> int:
    n = len(local)
    if local.shape != (n, 1 << max(n - 1, 0)):
        raise TableError(f"{n} variables have {1 << max(n - 1, 0)} families each, not an array of shape {local.shape}")
    if not np.all(local < np.inf):
        raise TableError("local scores must be numbers or -inf")
    return n


def _pass_maxima_on(best: NDArray[np.float64]) -> None:
    """Replace the score of every set by the largest score of any of its subsets.

    >>> scores = np.array([0.0, 2.0, 1.0, -1.0])
    >>> _pass_maxima_on(scores)
    >>> scores
    array([0., 2., 1., 2.])
    """
    step = 1
    while step < len(best):
        pairs = best.reshape(-1, 2, step)
        np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
        step *= 2


def _best_by_subset(best: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the score of the best DAG on every set of variables, and its first sink."""
    n = len(best)
    scores = np.full(1 << n, -np.inf)
    scores[0] = 0.0
    sinks = np.zeros(1 << n, np.uint8)
    sets = np.arange(1 << n, dtype=np.int32)
    by_size = np.argsort(np.bitwise_count(sets), kind="stable")
    bounds = np.cumsum(np.bincount(np.bitwise_count(sets)))
    del sets
    for first, last in pairwise(bounds.tolist()):
        layer = by_size[first:last]
        found, chosen = np.full(len(layer), -np.inf), np.zeros(len(layer), np.uint8)
        for sink in range(n):
            inside = np.flatnonzero(layer >> sink & 1)
            rest = layer[inside] ^ (1 << sink)
            below = (1 << sink) - 1
            with_sink = scores[rest] + best[sink, rest & below | (rest >> 1) & ~below]
            better = with_sink > found[inside]
            found[inside[better]] = with_sink[better]
            chosen[inside[better]] = sink
        scores[layer], sinks[layer] = found, chosen
    return scores, sinks


def _smallest_best(
    best: NDArray[np.float64], inside: int, places: NDArray[np.intp], sizes: NDArray[np.uint8], child: int
) -> int:
    """Return the smallest subset of ``inside`` with the best score, which is its own and not that of a subset."""
    equal = np.flatnonzero((best == best[inside]) & (places & ~inside == 0))
    smallest = equal[np.argmin(sizes[equal])]
    return mask_at(int(smallest), child)
