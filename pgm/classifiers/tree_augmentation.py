"""Which features a tree-augmented naive Bayes classifier joins: gains of edges, and trees when rows are left out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import ClassCounts, FloatArray
from pgm.classifiers.counting.estimates import joint_codes, look_up
from pgm.classifiers.counting.information import information_of_pairs
from pgm.errors import DataError
from pgm.learning.trees import maximum_spanning_tree

__all__ = ["Pairs", "best_forest", "directed_away", "edge_gains", "forests_without_each_row"]

Pairs = tuple[tuple[int, int], ...]

_KEYS = 1 << 22
"""Edges, of all rows together, that are compared at a time."""


def best_forest(counts: ClassCounts, penalty: str | None) -> Pairs:
    """Return the tree of the largest sum of gains, or with a penalty the forest."""
    return maximum_spanning_tree(edge_gains(counts, penalty), only_positive=penalty is not None)


def edge_gains(counts: ClassCounts, penalty: str | None) -> FloatArray:
    """Return N I(xi; xj | c) for all pairs of features, less what a score takes for the parameters of an edge.

    Parameters
    ----------
    counts
        Counts of all pairs.
    penalty
        None, "aic" (1 for a parameter) or "bic" (ln(N) / 2).

    Raises
    ------
    DataError
        For another penalty.
    """
    return information_of_pairs(counts) * counts.total - _price(penalty, np.array(counts.total)) * _parameters(counts)


def _price(penalty: str | None, total: FloatArray) -> FloatArray:
    if penalty not in (None, "aic", "bic"):
        raise DataError(f"penalty must be None, 'aic' or 'bic', not {penalty!r}")
    return {None: np.zeros_like(total), "aic": np.ones_like(total), "bic": np.log(np.maximum(total, 1.0)) / 2}[penalty]


def _parameters(counts: ClassCounts) -> FloatArray:
    """Return how many parameters an edge adds, for all pairs of features."""
    free = np.array(counts.cardinalities, np.float64) - 1
    return np.outer(free, free) * len(counts.classes)


def directed_away(root: int, size: int, pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the parent of each feature in a forest directed away from ``root``, in other trees from the smallest.

    >>> directed_away(1, 4, [(0, 1), (0, 2)])
    {0: 1, 2: 0}
    """
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for u, v in pairs:
        neighbours[u].append(v)
        neighbours[v].append(u)
    above: dict[int, int] = {}
    seen: set[int] = set()
    for start in (root, *range(size)):
        waiting = deque([] if start in seen else [start])
        seen.add(start)
        while waiting:
            node = waiting.popleft()
            for other in neighbours[node]:
                if other not in seen:
                    seen.add(other)
                    above[other] = node
                    waiting.append(other)
    return above


# ------------------------------------------------------------------ leaving rows out


def forests_without_each_row(
    counts: ClassCounts, codes: Codes, own: FloatArray, penalty: str | None
) -> Iterator[tuple[NDArray[np.intp], Pairs]]:
    """Yield groups of rows and the forest that all the other rows give, the same for each row of a group.

    Parameters
    ----------
    counts
        Counts of all rows.
    codes
        Codes of the rows.
    own
        What each row adds to the counts of each class, shape (rows, classes).
    penalty
        As in `edge_gains`.

    Notes
    -----
    O(rows * features**2). Without a row only one cell of each table is less, and of its margins. Prim's algorithm then
    grows the trees of many rows at once.
    """
    size = len(codes)
    if size == 1:
        yield np.arange(len(own)), ()
        return
    gains = edge_gains(counts, None)
    step = max(1, _KEYS // size**2)
    for start in range(0, len(own), step):
        some = slice(start, start + step)
        left = _gains_without(gains, counts, [column[some] for column in codes], own[some], penalty)
        groups: dict[bytes, list[int]] = {}
        trees = _spanning_trees(left, only_positive=penalty is not None)
        for row, tree in enumerate(trees):
            groups.setdefault(tree.tobytes(), []).append(row)
        for rows in groups.values():
            chosen = np.flatnonzero(trees[rows[0]])
            pairs = tuple(zip(*(ends[chosen].tolist() for ends in np.triu_indices(size, 1)), strict=True))
            yield start + np.array(rows), pairs


def _gains_without(
    gains: FloatArray, counts: ClassCounts, codes: Codes, own: FloatArray, penalty: str | None
) -> FloatArray:
    """Return the gain of each edge u < v without each row, shape (rows, edges)."""
    sizes, size = counts.cardinalities, len(codes)
    label, weight = own.argmax(axis=1), own.sum(axis=1)
    ends = np.triu_indices(size, 1)
    left = np.empty((len(own), len(ends[0])))
    price = _price(penalty, counts.total - weight)
    for edge, (u, v) in enumerate(zip(*(side.tolist() for side in ends), strict=True)):
        table = counts.family(v, (u,))
        lost = np.zeros(len(own))
        parts: list[tuple[float, FloatArray, tuple[int, ...]]] = [
            (1.0, table, (u, v)),
            (-1.0, table.sum(axis=2), (u,)),
            (-1.0, table.sum(axis=1), (v,)),
            (1.0, table.sum(axis=(1, 2)), ()),
        ]
        for sign, part, scope in parts:
            cells = look_up(part, 0.0)[joint_codes(codes, scope, sizes), label]
            less = np.maximum(cells - weight, 0.0)
            lost += sign * (xlogy(cells, cells) - xlogy(less, less))
        lost[(codes[u] == sizes[u]) | (codes[v] == sizes[v])] = 0.0  # the row is in no cell of this table
        left[:, edge] = gains[u, v] - lost
    return left - price[:, None] * _parameters(counts)[ends]


def _spanning_trees(gains: FloatArray, *, only_positive: bool) -> NDArray[np.bool_]:
    """Return which edges u < v form the spanning tree with the largest sum of gains, for each row.

    Ties are the same as in `maximum_spanning_tree`.
    """
    rows, edges = gains.shape
    size = int(np.ceil(np.sqrt(2 * edges)))
    unit = 1e-12 * np.abs(gains).max(axis=1, keepdims=True)
    ranks = np.rint(np.divide(gains, unit, out=np.zeros_like(gains), where=unit > 0)).astype(np.int64)
    keys = ranks * edges + np.arange(edges)[::-1]  # no two are equal, so there is one best tree
    number = np.zeros((size, size), np.intp)
    number[np.triu_indices(size, 1)] = np.arange(edges)
    number += number.T
    chosen = np.zeros((rows, edges), bool)
    every = np.arange(rows)
    inside = np.zeros((rows, size), bool)
    inside[:, 0] = True
    edge = np.tile(number[0], (rows, 1))  # the best edge so far to each node outside
    for _ in range(size - 1):
        best = np.where(inside, np.iinfo(np.int64).min, np.take_along_axis(keys, edge, axis=1))
        node = best.argmax(axis=1)
        chosen[every, edge[every, node]] = True
        inside[every, node] = True
        onward = number[node]
        better = np.take_along_axis(keys, onward, axis=1) > np.take_along_axis(keys, edge, axis=1)
        edge = np.where(better, onward, edge)
    return chosen & (ranks > 0) if only_positive else chosen
