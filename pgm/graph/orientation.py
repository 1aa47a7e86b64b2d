"""Giving undirected edges a direction: Meek's rules and consistent extensions.

The DAGs that a PDAG stands for, its *consistent extensions*, keep its directed edges and direct the others without
making a cycle or a new V-structure. For the CPDAG of a class they are the members of the class, which `members` lists,
counts and draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from pgm.errors import GraphError, listing

if TYPE_CHECKING:
    from pgm.graph.dag import DAG
    from pgm.graph.pdag import PDAG

__all__ = ["Ends", "Pair", "consistent_extension", "meek_closure", "named"]

Pair: TypeAlias = tuple[int, int]
"""The positions of two nodes; of a directed edge the parent comes first."""

_Sets: TypeAlias = dict[int, set[int]]


def meek_closure(pdag: PDAG) -> PDAG:
    """Return the PDAG with every undirected edge directed whose direction Meek's rules R1 to R4 force.

    ====  =====================================================  ============================================
    rule  if there are                                           then ``a - b`` becomes ``a -> b``, since else
    ====  =====================================================  ============================================
    R1    ``c -> a`` and c, b not adjacent                       ``c -> a <- b`` would be a new V-structure
    R2    ``a -> c -> b``                                        there would be a cycle
    R3    ``a - c -> b`` and ``a - d -> b``, c, d not adjacent   a cycle or a new V-structure at a
    R4    ``a - c -> d -> b``, c, b not adjacent, a, d adjacent  a cycle or a new V-structure at a
    ====  =====================================================  ============================================

    Raises
    ------
    GraphError
        If the rules force an edge both ways or force a cycle: then the graph has no consistent extension.

    Notes
    -----
    If the graph has a consistent extension, the rules find all forced directions (Meek's theorem 4).

    References
    ----------
    Meek, Causal inference and causal explanation with background knowledge, UAI 1995.

    Examples
    --------
    >>> from pgm.graph import PDAG
    >>> print(meek_closure(PDAG([("a", "c"), ("b", "c")], [("c", "d")])))
    a -> c
    c -> d
    b -> c
    """
    from pgm.graph.pdag import PDAG

    ends = Ends.closed(pdag)
    return PDAG(named(pdag, ends.directed()), named(pdag, ends.undirected()), pdag.nodes)


def consistent_extension(pdag: PDAG) -> DAG:
    """Return a DAG that keeps the directed edges, directs the others, and adds neither a cycle nor a V-structure.

    Of several, the one returned tends to direct edges from nodes declared early to nodes declared late.

    Raises
    ------
    GraphError
        If there is no such DAG.

    Notes
    -----
    Takes away, again and again, a node that can come last: one without outgoing edges whose undirected neighbours are
    each adjacent to all its other neighbours.

    References
    ----------
    Dor and Tarsi, A simple algorithm to construct a consistent extension of a partially oriented graph, UCLA technical
    report R-185, 1992.

    Examples
    --------
    >>> from pgm.graph import PDAG
    >>> consistent_extension(PDAG([], [("a", "b"), ("b", "c")])).edges
    (('a', 'b'), ('b', 'c'))
    """
    from pgm.graph.dag import DAG

    ends = Ends.of(pdag)
    directed = ends.directed()
    present = set(range(len(pdag.nodes)))
    candidates = [-node for node in present]  # a heap in which the node declared last comes first
    heapify(candidates)
    while candidates:
        node = -heappop(candidates)
        if node in present and ends.can_be_last(node):
            directed.extend((neighbor, node) for neighbor in ends.neighbors[node])
            present.remove(node)
            for other in ends.remove(node):  # what kept these from coming last may be gone
                heappush(candidates, -other)
    if present:
        stuck = listing(pdag.nodes[node] for node in sorted(present))
        raise GraphError(f"no DAG extends this graph without a cycle or a new V-structure among {stuck}")
    return DAG(named(pdag, directed), pdag.nodes)


def named(pdag: PDAG, pairs: Iterable[Pair]) -> list[tuple[str, str]]:
    """Return the pairs of positions as pairs of names, sorted by position."""
    return [(pdag.nodes[u], pdag.nodes[v]) for u, v in sorted(pairs)]


class Ends:
    """A graph some of whose edges still lack a direction: the parents, children and neighbours of its nodes."""

    def __init__(self, parents: _Sets, children: _Sets, neighbors: _Sets) -> None:
        self.parents = parents
        self.children = children
        self.neighbors = neighbors

    @classmethod
    def of(cls, pdag: PDAG) -> Ends:
        """Return the edges of ``pdag`` as they are."""
        nodes = range(len(pdag.nodes))
        ends = cls({node: set() for node in nodes}, {node: set() for node in nodes}, {node: set() for node in nodes})
        for parent, child in pdag.directed:
            ends.parents[pdag.index(child)].add(pdag.index(parent))
            ends.children[pdag.index(parent)].add(pdag.index(child))
        for u, v in pdag.undirected:
            ends.neighbors[pdag.index(u)].add(pdag.index(v))
            ends.neighbors[pdag.index(v)].add(pdag.index(u))
        return ends

    @classmethod
    def closed(cls, pdag: PDAG) -> Ends:
        """Return the edges of ``pdag`` with every forced direction filled in."""
        ends = cls.of(pdag)
        conflict = ends.close(ends.undirected())
        if conflict is not None:
            u, v = (pdag.nodes[node] for node in conflict)
            raise GraphError(f"no DAG extends this graph: its other edges force {u} -> {v} and also {v} -> {u}")
        return ends

    def restricted(self, part: Iterable[int]) -> Ends:
        """Return a copy with the edges at the nodes of ``part`` only."""
        return Ends(
            {node: set(self.parents[node]) for node in part},
            {node: set(self.children[node]) for node in part},
            {node: set(self.neighbors[node]) for node in part},
        )

    def directed(self) -> list[Pair]:
        """Return the directed edges, sorted."""
        return sorted((parent, child) for child, some in self.parents.items() for parent in some)

    def undirected(self) -> list[Pair]:
        """Return the undirected edges, smaller end first, sorted."""
        return sorted((u, v) for u, some in self.neighbors.items() for v in some if u < v)

    def adjacent(self, node: int) -> set[int]:
        """Return all nodes that share an edge with ``node``."""
        return self.parents[node] | self.children[node] | self.neighbors[node]

    def close(self, pending: list[Pair]) -> Pair | None:
        """Apply Meek's rules to the ``pending`` edges and all that follow; return an edge forced both ways, if any."""
        while pending:
            u, v = pending.pop()
            if v not in self.neighbors[u]:
                continue
            forward, backward = self.is_forced(u, v), self.is_forced(v, u)
            if forward and backward:
                return u, v
            if forward or backward:
                pending.extend(self.direct(u, v) if forward else self.direct(v, u))
        return None

    def is_forced(self, a: int, b: int) -> bool:
        """Return whether one of Meek's rules turns ``a - b`` into ``a -> b``."""
        near_b = self.adjacent(b)
        if not self.parents[a] <= near_b or not self.children[a].isdisjoint(self.parents[b]):
            return True  # R1, R2
        between = self.neighbors[a] & self.parents[b]
        if any(d not in self.adjacent(c) for c, d in combinations(between, 2)):
            return True  # R3
        near_a = self.adjacent(a)
        outside = self.neighbors[a] - near_b - {b}
        return any(not self.children[c].isdisjoint(self.parents[b] & near_a) for c in outside)  # R4

    def direct(self, parent: int, child: int) -> list[Pair]:
        """Turn ``parent - child`` into ``parent -> child``; return the undirected edges that this may force."""
        self.neighbors[parent].remove(child)
        self.neighbors[child].remove(parent)
        self.children[parent].add(child)
        self.parents[child].add(parent)
        below = [node for node in self.children[child] if node in self.neighbors]
        return [(node, other) for node in (parent, child, *below) for other in self.neighbors[node]]

    def all_directions(self) -> Iterator[list[Pair]]:
        """Yield every way to direct all undirected edges; the rules must have been applied before."""
        edges = self.undirected()
        waiting = [self]
        while waiting:
            ends = waiting.pop()
            left = ends.undirected()
            if not left:
                yield [(u, v) if v in ends.children[u] else (v, u) for u, v in edges]
                continue
            u, v = left[0]
            for parent, child in ((v, u), (u, v)):
                branch = ends.restricted(ends.neighbors)
                branch.close(branch.direct(parent, child))
                waiting.append(branch)

    def can_be_last(self, node: int) -> bool:
        """Return whether all edges of ``node`` can point to it without a new V-structure."""
        around = self.adjacent(node)
        return not self.children[node] and all(around <= self.adjacent(u) | {u} for u in self.neighbors[node])

    def remove(self, node: int) -> list[int]:
        """Take ``node`` out; return the nodes that were adjacent to it."""
        around = sorted(self.adjacent(node))
        for other in around:
            for sets in (self.parents, self.children, self.neighbors):
                sets[other].discard(node)
        return around
