"""The first half of the PC algorithm: which nodes are adjacent, and what separates the others.

Two nodes of a DAG are adjacent if and only if no set of other nodes separates them; and if any set does, the parents of
one of them do. So it is enough to look for separating sets among the neighbours of either, the small ones first.

This is the *stable* search of Colombo and Maathuis: the neighbours are those at the beginning of a level, and every
candidate of a level is tested. A test that errs can then no longer change which later tests are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from pgm.learning.constraints import Constraints
from pgm.learning.independence.oracles import IndependenceOracle

__all__ = ["Separator", "SkeletonSearch"]

_Pair: TypeAlias = tuple[int, int]


class Separator(NamedTuple):
    """A set that separates two nodes, by the oracle's word."""

    p_value: float
    given: tuple[int, ...]


class SkeletonSearch:
    """Finds the skeleton, and later all the sets that separate two nodes.

    Nodes are numbers here, in the order of their names and not of the columns; so that where the first of several is
    taken, it is the same one for any order of the columns.

    Parameters
    ----------
    oracle
        Who answers.
    alpha
        A p-value above it means independence.
    max_condition
        Largest number of nodes that are given, or None for no limit.
    constraints
        Required edges are never tested, and pairs that may have no edge never joined.
    on_test
        Called after each batch of tests.
    """

    def __init__(
        self,
        oracle: IndependenceOracle,
        alpha: float,
        max_condition: int | None,
        constraints: Constraints,
        on_test: Callable[[], object],
    ) -> None:
        self.names = sorted(oracle.names)
        n_nodes = len(self.names)
        places = [constraints.names.index(name) for name in self.names]
        self.may_point = constraints.allowed[np.ix_(places, places)]
        """Which edges may occur, from the row's node to the column's."""
        self.required = {(self.names.index(u), self.names.index(v)) for u, v in constraints.required}
        joined = self.may_point | self.may_point.T
        self.neighbours = [set(np.flatnonzero(joined[node]).tolist()) for node in range(n_nodes)]
        self.separators: dict[_Pair, list[Separator]] = {}
        """For each pair that a test separated, smaller node first, the separating sets found on that level."""
        self.largest_p = np.zeros((n_nodes, n_nodes))
        """The largest p-value of each pair so far: the smaller, the surer the edge."""
        self.depth = 0
        """Number of nodes given on the last level that had tests."""
        self._oracle = oracle
        self._alpha = alpha
        self._limit = max(n_nodes - 2, 0) if max_condition is None else max_condition
        self._on_test = on_test
        self._fixed = self.required | {(v, u) for u, v in self.required}

    def run(self) -> None:
        """Find the skeleton."""
        for size in range(self._limit + 1):
            for node, given, others in self._questions(size):
                self._ask(node, given, others, self.separators)
                self.depth = size
            if self.depth < size:
                return
            for u, v in self.separators:
                self.neighbours[u].discard(v)
                self.neighbours[v].discard(u)

    def all_separators(self, pairs: Iterable[_Pair]) -> dict[_Pair, list[Separator]]:
        """Return for each pair the sets of neighbours of either that separate the two, and the one that did first.

        The search stopped at the first level that separated a pair; larger sets are tested here, up to the size that
        the search reached. Pairs have the smaller node first.
        """
        found: dict[_Pair, list[Separator]] = {}
        questions: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for u, v in pairs:
            first = self.best_separator(u, v)
            pools = {u: self._pool(u), v: self._pool(v)}
            near = [sep for sep in self.separators.get((u, v), []) if any(map(set(sep.given).issubset, pools.values()))]
            found[u, v] = sorted({*near, *([first] if first else [])})
            smallest = len(first.given) + 1 if first else 0
            for given in _subsets(pools[u], smallest, self.depth):
                questions.setdefault((u, given), []).append(v)
            for given in _subsets(pools[v], smallest, self.depth):
                if not set(given).issubset(pools[u]):
                    questions.setdefault((v, given), []).append(u)
        for (node, given), others in questions.items():
            self._ask(node, given, others, found)
        return found

    def best_separator(self, u: int, v: int) -> Separator | None:
        """Return the separating set with the largest p-value of those found first, or None if there was no test."""
        found = self.separators.get((min(u, v), max(u, v)), [])
        return max(found, key=lambda sep: (sep.p_value, [-node for node in sep.given]), default=None)

    def _questions(self, size: int) -> Iterator[tuple[int, tuple[int, ...], list[int]]]:
        """Yield the tests of a level: a node, the nodes given, and the neighbours to test the node with."""
        pools = [set(self._pool(node)) for node in range(len(self.names))]
        for node, pool in enumerate(pools):
            open_pairs = [other for other in sorted(self.neighbours[node]) if (node, other) not in self._fixed]
            for given in combinations(sorted(pool), size):
                others = [
                    other
                    for other in open_pairs
                    if other not in given and (node < other or not pools[other].issuperset(given))
                ]
                if others:
                    yield node, given, others

    def _pool(self, node: int) -> list[int]:
        """Return the neighbours that may be parents of ``node``: only these are needed to separate it."""
        return [near for near in sorted(self.neighbours[node]) if self.may_point[near, node]]

    def _ask(self, node: int, given: tuple[int, ...], others: list[int], found: dict[_Pair, list[Separator]]) -> None:
        names = self.names
        p_values = self._oracle.p_values(names[node], tuple(names[z] for z in given), [names[y] for y in others])
        for other, p_value in zip(others, p_values.tolist(), strict=True):
            pair = min(node, other), max(node, other)
            self.largest_p[pair] = max(self.largest_p[pair], p_value)
            if p_value > self._alpha:
                found.setdefault(pair, []).append(Separator(p_value, given))
        self._on_test()


def _subsets(pool: Sequence[int], smallest: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of these sizes, the small ones first.

    >>> list(_subsets([4, 7], 1, 2))
    [(4,), (7,), (4, 7)]
    """
    for size in range(smallest, largest + 1):
        yield from combinations(pool, size)
