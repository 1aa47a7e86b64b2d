"""The second half of the PC algorithm: a skeleton and what the tests say about its triples become a graph.

Three nodes ``x - z - y`` of a skeleton, x and y not adjacent, are an *unshielded triple*. In the true graph it is a
collider ``x -> z <- y`` if z is in none of the sets that separate x and y, and no collider if z is in all of them.

Tests err, so verdicts may contradict each other: two colliders may want the same edge in opposite directions, and a
circle of four nodes has no DAG without any collider. What is returned is a DAG in any case. Colliders are entered
surest first and left out where they contradict what is there. Then nodes are taken away from the end, each time one to
which all its edges can point without a new collider; if there is none, the one with the fewest new ones. Where the
verdicts are those of some DAG, that is a DAG of its class (Dor and Tarsi's algorithm).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

from pgm.graph.base import reachable

__all__ = ["Verdict", "colliders_of", "direct_skeleton", "drop_cycles", "unshielded_triples"]

_Pair = tuple[int, int]
Triple = tuple[int, int, int]
"""Left, middle and right node; left is the smaller number."""


class Verdict(NamedTuple):
    """What the tests say about an unshielded triple."""

    triple: Triple
    n_without: int
    """Number of separating sets that do not hold the middle node: they speak for a collider."""
    n_with: int
    """Number of separating sets that do."""

    def kind(self, unanimous: bool) -> str:
        """Return "collider", "no collider" or "ambiguous", by the majority of the sets or only if they all agree.

        >>> Verdict((0, 1, 2), n_without=3, n_with=1).kind(False), Verdict((0, 1, 2), 3, 1).kind(True)
        ('collider', 'ambiguous')
        """
        if self.n_with == self.n_without or (unanimous and self.n_with and self.n_without):
            return "ambiguous"
        return "collider" if self.n_without > self.n_with else "no collider"


def unshielded_triples(neighbours: Sequence[set[int]]) -> list[Triple]:
    """Return all triples (left, middle, right) of a skeleton whose ends are not adjacent.

    Examples
    --------
    >>> unshielded_triples([{1}, {0, 2}, {1}])
    [(0, 1, 2)]
    """
    return sorted(
        (left, middle, right)
        for middle, near in enumerate(neighbours)
        for left, right in combinations(sorted(near), 2)
        if right not in neighbours[left]
    )


def colliders_of(size: int, edges: Iterable[_Pair]) -> set[Triple]:
    """Return the V-structures of a DAG, given by its edges.

    Examples
    --------
    >>> colliders_of(3, [(0, 1), (2, 1)])
    {(0, 1, 2)}
    """
    parents: list[set[int]] = [set() for _ in range(size)]
    for parent, child in edges:
        parents[child].add(parent)
    return {
        (left, child, right)
        for child in range(size)
        for left, right in combinations(sorted(parents[child]), 2)
        if left not in parents[right] and right not in parents[left]
    }


def drop_cycles(size: int, fixed: Sequence[_Pair], others: Sequence[_Pair]) -> tuple[list[_Pair], list[_Pair]]:
    """Return the directed edges that can be kept together, and those of ``others`` that would close a cycle.

    Parameters
    ----------
    size
        Number of nodes.
    fixed
        Edges that must stay; they have no cycle.
    others
        More edges, the most important first.

    Examples
    --------
    >>> drop_cycles(3, [(0, 1)], [(1, 2), (2, 0)])
    ([(0, 1), (1, 2)], [(2, 0)])
    """
    children: list[set[int]] = [set() for _ in range(size)]
    kept, dropped = [], []
    for parent, child in (*fixed, *others):
        if parent in reachable([child], children):
            dropped.append((parent, child))
        else:
            children[parent].add(child)
            kept.append((parent, child))
    return kept, dropped


def direct_skeleton(
    neighbours: Sequence[set[int]], fixed: Iterable[_Pair], verdicts: Iterable[Verdict], unanimous: bool
) -> list[_Pair]:
    """Return the edges of a DAG with this skeleton and, as far as can be, with the colliders of the verdicts.

    Parameters
    ----------
    neighbours
        The skeleton.
    fixed
        Edges whose direction is known; they have no cycle.
    verdicts
        What the tests say about the unshielded triples.
    unanimous
        Whether all separating sets must agree on a triple; otherwise the majority decides.

    Notes
    -----
    O(nodes * degree**3) plus a search for a cycle for every collider. Ties go by the numbers of the nodes.

    Examples
    --------
    >>> direct_skeleton([{1}, {0, 2}, {1, 3}, {2}], [], [Verdict((0, 1, 2), 1, 0), Verdict((1, 2, 3), 0, 1)], False)
    [(0, 1), (2, 1), (2, 3)]
    """
    graph = _Mixed(neighbours)
    for parent, child in fixed:
        graph.direct(parent, child)
    found = [verdict for verdict in verdicts if verdict.kind(unanimous) == "collider"]
    for verdict in sorted(found, key=lambda verdict: (verdict.n_with, -verdict.n_without, verdict.triple)):
        left, middle, right = verdict.triple
        graph.add_collider(left, middle, right)
    open_triples = {verdict.triple for verdict in verdicts if verdict.kind(unanimous) == "ambiguous"}
    return graph.extended(open_triples)


class _Mixed:
    """A graph some of whose edges have a direction; the directed ones never form a cycle."""

    def __init__(self, neighbours: Sequence[set[int]]) -> None:
        self._adjacent = [set(near) for near in neighbours]
        self._undirected = [set(near) for near in neighbours]
        self._children: list[set[int]] = [set() for _ in neighbours]
        self._edges: list[_Pair] = []

    def direct(self, parent: int, child: int) -> None:
        """Give an undirected edge its direction; one that has this direction stays as it is."""
        if child in self._undirected[parent]:
            self._undirected[parent].remove(child)
            self._undirected[child].remove(parent)
            self._children[parent].add(child)
            self._edges.append((parent, child))

    def add_collider(self, left: int, middle: int, right: int) -> None:
        """Direct two edges to ``middle``, unless one has the other direction or a cycle would arise."""
        below = reachable([middle], self._children)
        if left not in below and right not in below:
            self.direct(left, middle)
            self.direct(right, middle)

    def extended(self, open_triples: set[Triple]) -> list[_Pair]:
        """Return the edges of a DAG that keeps the directed edges and has few other colliders, best none.

        Colliders at ``open_triples`` are preferred to others.
        """
        present = set(range(len(self._adjacent)))
        costs = {node: self._cost(node, open_triples) for node in present}
        waiting = [(costs[node], -node) for node in present if not self._children[node]]
        heapify(waiting)
        while present:
            cost, place = heappop(waiting)
            last = -place
            if last not in present or cost != costs[last]:
                continue  # an old entry
            around = sorted(self._adjacent[last])
            for node in around:
                self.direct(node, last)
            present.remove(last)
            for node in around:
                self._adjacent[node].remove(last)
                self._children[node].remove(last)
            for node in around:
                costs[node] = self._cost(node, open_triples)
                if not self._children[node]:
                    heappush(waiting, (costs[node], -node))
        return sorted(self._edges)

    def _cost(self, node: int, open_triples: set[Triple]) -> _Pair:
        """Return how many new colliders arise if all edges of ``node`` point to it: not open ones, and all."""
        loose = self._undirected[node]
        new = [
            (left, node, right)
            for left, right in combinations(sorted(self._adjacent[node]), 2)
            if (left in loose or right in loose) and right not in self._adjacent[left]
        ]
        return sum(triple not in open_triples for triple in new), len(new)
