"""Steps from one equivalence class of DAGs to a neighbouring one: Insert, Delete and Turn.

A class is neighbouring if adding, deleting or turning one edge of *some* member leads into it. Members may be many, but
they need not be gone through: what a step gains and leads to depends only on which neighbours of the edge's child y,
the nodes joined to it by an undirected edge, are its parents in the member. That is a clique C among them. So a step is
an `Operator` (kind, x, y, C), and theorems say from the graph of the class when there is such a member:

========  =======================  =============================================================================
kind      for x and y              there is a member with parents pa(y) + C of y (and x, where joined) if
========  =======================  =============================================================================
Insert    not adjacent             C is a clique, holds all of N, and meets every semi-directed path from y to x
Delete    x -> y or x - y          C is a clique within N
Turn      y -> x                   as for Insert, but paths may also meet neighbours of x, and may be y -> x itself
Turn      y - x                    C is a clique, not within N, and C & N separates C - N from N - C around y
========  =======================  =============================================================================

where N are the neighbours of y that are adjacent to x. Sets of nodes are integers: bit v is set if node v is in it.

References
----------
Chickering (2002), *Journal of Machine Learning Research* 3, 507-554, theorems 15 and 17. Hauser and Buehlmann (2012),
*Journal of Machine Learning Research* 13, 2409-2464, propositions 31 and 34.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pgm.graph.base import Edge
from pgm.graph.clique_picking import bits
from pgm.graph.dag import DAG
from pgm.graph.pdag import PDAG
from pgm.learning.result import MoveKind

__all__ = ["EquivalenceClass", "Operator", "deletes", "inserts", "turns"]


class Operator(NamedTuple):
    """A step: in a member in which ``clique`` are the parents of the child among its neighbours, change one edge."""

    kind: MoveKind
    parent: int
    """The node x whose edge to the child is added, deleted, or there after turning it."""
    child: int
    clique: int


class EquivalenceClass:
    """The graph of an equivalence class, as sets of nodes.

    Parameters
    ----------
    cpdag
        The graph; nodes are numbered in its declared order.

    Attributes
    ----------
    parents, children, neighbors, adjacent
        For each node, the set of nodes joined to it by an edge of that kind.
    """

    def __init__(self, cpdag: PDAG) -> None:
        self.cpdag = cpdag
        size = len(cpdag.nodes)
        self.parents, self.children, self.neighbors = [0] * size, [0] * size, [0] * size
        for u, v in (cpdag.indices(edge) for edge in cpdag.directed):
            self.parents[v] |= 1 << u
            self.children[u] |= 1 << v
        for u, v in (cpdag.indices(edge) for edge in cpdag.undirected):
            self.neighbors[u] |= 1 << v
            self.neighbors[v] |= 1 << u
        self.adjacent = [
            above | below | beside
            for above, below, beside in zip(self.parents, self.children, self.neighbors, strict=True)
        ]

    def is_clique(self, nodes: int) -> bool:
        """Return whether all nodes of a set are adjacent to each other."""
        return all(not nodes & ~self.adjacent[node] & ~(1 << node) for node in bits(nodes))

    def cliques(self, nodes: int, largest: int) -> Iterator[int]:
        """Iterate over all cliques within a set, the empty one included, of at most ``largest`` nodes."""
        waiting = [(0, nodes)]
        while waiting:
            clique, rest = waiting.pop()
            yield clique
            if clique.bit_count() < largest:
                for node in bits(rest):
                    rest ^= 1 << node
                    waiting.append((clique | 1 << node, rest & self.adjacent[node]))

    def leads(self, start: int, end: int, avoiding: int, *, beyond_edge: bool = False) -> bool:
        """Return whether a path without a backward edge leads from one node to another and avoids a set of nodes.

        ``beyond_edge`` leaves out the edge between the two.
        """
        seen = border = 1 << start
        while border:
            near = 0
            for node in bits(border):
                near |= self.children[node] | self.neighbors[node]
                if beyond_edge and node == start:
                    near &= ~(1 << end)
            border = near & ~seen & ~avoiding
            seen |= border
            if border >> end & 1:
                return True
        return False

    def is_valid(self, step: Operator) -> bool:
        """Return whether an operator leads to a class, of those that `inserts`, `deletes` and `turns` list."""
        _, x, y, clique = step
        if step.kind == "add":
            return not self.leads(y, x, clique)
        if step.kind == "reverse" and self.children[y] >> x & 1:
            return not self.leads(y, x, clique | self.neighbors[x], beyond_edge=True)
        return True

    def after(self, step: Operator) -> DAG:
        """Return a DAG of the class to which a valid operator leads.

        Raises
        ------
        GraphError
            If the operator is not valid.
        """
        _, x, y, clique = step
        into = {y: clique}
        if step.kind == "delete":
            into[y] |= 1 << x & self.neighbors[y]
        elif step.kind == "reverse":
            into[x] = (clique | 1 << y) & self.neighbors[y] & self.neighbors[x] if self.neighbors[y] >> x & 1 else 0
            into[x] |= 1 << y & self.neighbors[x]
        member = self._member(into)
        names = self.cpdag.nodes
        edge = (names[x], names[y])
        if step.kind == "add":
            return member.add_edges([edge])
        return member.remove_edges([edge]) if step.kind == "delete" else member.reverse_edge(names[y], names[x])

    def _member(self, into: dict[int, int]) -> DAG:
        """Return a member in which just the given neighbours of some nodes are parents of these."""
        arrows: dict[Edge, None] = {}
        names = self.cpdag.nodes
        for node, above in into.items():
            for other in bits(self.neighbors[node]):
                edge = (names[other], names[node])
                arrows[edge if above >> other & 1 else edge[::-1]] = None
        loose = [edge for edge in self.cpdag.undirected if edge not in arrows and edge[::-1] not in arrows]
        return PDAG([*self.cpdag.directed, *arrows], loose, names).consistent_extension()


def inserts(graph: EquivalenceClass, child: int, largest: int) -> Iterator[Operator]:
    """Iterate over the Insert operators into ``child`` that leave it at most ``largest`` parents.

    Whether a path from the child to the new parent makes one invalid is left to `EquivalenceClass.is_valid`.
    """
    room = largest - 1 - graph.parents[child].bit_count()
    beside = graph.neighbors[child]
    others = ((1 << len(graph.parents)) - 1) & ~graph.adjacent[child] & ~(1 << child)
    for parent in bits(others):
        shared = beside & graph.adjacent[parent]
        if shared.bit_count() > room or not graph.is_clique(shared):
            continue
        common = beside & ~shared
        for node in bits(shared):
            common &= graph.adjacent[node]
        for more in graph.cliques(common, room - shared.bit_count()):
            yield Operator("add", parent, child, shared | more)


def deletes(graph: EquivalenceClass, child: int) -> Iterator[Operator]:
    """Iterate over the Delete operators of edges into or beside ``child``."""
    for parent in bits(graph.parents[child] | graph.neighbors[child]):
        shared = graph.neighbors[child] & graph.adjacent[parent]
        for clique in graph.cliques(shared, shared.bit_count()):
            yield Operator("delete", parent, child, clique)


def turns(graph: EquivalenceClass, child: int, largest: int) -> Iterator[Operator]:
    """Iterate over the Turn operators after which an edge points to ``child``, with at most ``largest`` parents.

    Whether a path makes one invalid is left to `EquivalenceClass.is_valid`.
    """
    room = largest - 1 - graph.parents[child].bit_count()
    beside = graph.neighbors[child]
    for parent in bits(graph.children[child]):
        shared = beside & graph.adjacent[parent]
        if shared.bit_count() > room or not graph.is_clique(shared):
            continue
        common = beside & ~shared
        for node in bits(shared):
            common &= graph.adjacent[node]
        for more in graph.cliques(common, room - shared.bit_count()):
            yield Operator("reverse", parent, child, shared | more)
    for parent in bits(beside):
        shared = beside & graph.adjacent[parent]
        for clique in graph.cliques(beside & ~(1 << parent), room):
            if clique & ~shared and _separates(graph, clique & shared, clique & ~shared, shared & ~clique, beside):
                yield Operator("reverse", parent, child, clique)


def _separates(graph: EquivalenceClass, between: int, left: int, right: int, within: int) -> bool:
    """Return whether all paths within a set of nodes from ``left`` to ``right`` meet ``between``."""
    border = seen = left
    while border:
        near = 0
        for node in bits(border):
            near |= graph.adjacent[node]
        border = near & within & ~between & ~seen
        seen |= border
    return not seen & right
