"""Elimination orders: in which order to sum variables out so that the tables on the way stay small.

Eliminating a variable from an undirected graph joins its neighbours to one another and removes it; the variable and
its neighbours are a clique, and the table over that clique is what the elimination costs. The best order is NP-hard
to find, so greedy rules choose the next variable by what it does to the graph:

- *min-fill* adds the fewest edges,
- *weighted min-fill* weighs each added edge by the product of the two cardinalities,
- *min-weight* makes the smallest clique table.

None of them wins everywhere, so :func:`best_order` runs all and keeps the order of smallest total cost.

Vertices are small integers and neighbourhoods are bit sets held in Python integers: a union, an intersection or
a difference of neighbourhoods is one operation, whatever their size.

References
----------
Koller and Friedman (2009), section 9.4.3. Kjaerulff (1990), "Triangulation of graphs - algorithms giving small
total state space".
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["HEURISTICS", "EliminationOrder", "best_order", "bits", "eliminate", "interaction_graph"]


class EliminationOrder(NamedTuple):
    """An order and what it costs."""

    order: tuple[int, ...]
    """The vertices, first eliminated first."""
    cost: float
    """Sum of the sizes of the clique tables, in cells."""
    width: int
    """Size of the largest clique minus one: an upper bound of the treewidth."""
    heuristic: str
    """The rule that found it."""


def bits(mask: int) -> Iterator[int]:
    """Yield the members of a bit set in increasing order.

    >>> list(bits(0b10110))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def interaction_graph(scopes: Iterable[Iterable[int]], size: int) -> list[int]:
    """Return the neighbourhoods, as bit sets, of the graph in which the variables of each scope are a clique.

    For the families of a DAG this is its moral graph.

    >>> interaction_graph([(0, 1), (1, 2)], 3)
    [2, 5, 2]
    """
    neighbours = [0] * size
    for scope in scopes:
        members = 0
        for vertex in scope:
            members |= 1 << vertex
        for vertex in scope:
            neighbours[vertex] |= members
    return [mask & ~(1 << vertex) for vertex, mask in enumerate(neighbours)]


class _Graph:
    """The graph that is left during an elimination, with what the greedy rules ask of it."""

    def __init__(self, neighbours: Sequence[int], cardinalities: Sequence[int]) -> None:
        self.neighbours = list(neighbours)
        self.cardinalities = cardinalities
        alike: dict[int, int] = {}
        for vertex, cardinality in enumerate(cardinalities):
            alike[cardinality] = alike.get(cardinality, 0) | 1 << vertex
        self.alike = sorted(alike.items())  # vertices of the same cardinality, as bit sets

    def weight(self, vertex: int) -> int:
        """Cells of the clique table that eliminating the vertex makes."""
        size = self.cardinalities[vertex]
        around = self.neighbours[vertex]
        for cardinality, members in self.alike:
            count = (around & members).bit_count()
            if count:
                size *= cardinality**count
        return size

    def fill(self, vertex: int) -> int:
        """Edges that eliminating the vertex adds."""
        around = self.neighbours[vertex]
        neighbours = self.neighbours
        missing = -around.bit_count()  # each neighbour lacks an edge to itself
        rest = around
        while rest:
            low = rest & -rest
            missing += (around & ~neighbours[low.bit_length() - 1]).bit_count()
            rest ^= low
        return missing // 2

    def weighted_fill(self, vertex: int) -> int:
        """Sum over the added edges of the product of the cardinalities of their ends."""
        around = self.neighbours[vertex]
        total = 0
        rest = around
        while rest:
            low = rest & -rest
            rest ^= low
            end = low.bit_length() - 1
            missing = around & ~self.neighbours[end] & ~low
            if missing:
                total += self.cardinalities[end] * self.weight_of(missing)
        return total // 2

    def weight_of(self, members: int) -> int:
        """Sum of the cardinalities of a set of vertices."""
        return sum(cardinality * (members & alike).bit_count() for cardinality, alike in self.alike)

    def is_simplicial(self, vertex: int) -> bool:
        """Return whether the neighbours are joined already, so that eliminating the vertex adds no edge."""
        closed = self.neighbours[vertex] | 1 << vertex
        rest = self.neighbours[vertex]
        while rest:
            low = rest & -rest
            if closed & ~self.neighbours[low.bit_length() - 1] & ~low:
                return False
            rest ^= low
        return True

    def detach(self, vertex: int) -> None:
        """Remove a vertex whose elimination adds no edge."""
        gone = ~(1 << vertex)
        for end in bits(self.neighbours[vertex]):
            self.neighbours[end] &= gone
        self.neighbours[vertex] = 0

    def remove(self, vertex: int) -> int:
        """Eliminate the vertex; return all vertices whose fill this may have changed."""
        around = self.neighbours[vertex]
        changed = around
        gone = ~(1 << vertex)
        neighbours = self.neighbours
        for end in bits(around):
            own = 1 << end
            added = around & ~neighbours[end] & ~own
            for other in bits(added & ~(own - 1)):  # each added edge once
                changed |= neighbours[end] & neighbours[other]
        for end in bits(around):
            neighbours[end] = (neighbours[end] | around) & gone & ~(1 << end)
        neighbours[vertex] = 0
        return changed & gone


class _Rule(NamedTuple):
    """What a greedy rule minimises, and by how much that falls when a simplicial neighbour goes."""

    score: Callable[[_Graph, int], int]
    lost: Callable[[_Graph, int, int], int]
    """Called with the graph, the vertex that goes, and the neighbours of the other that are not joined to it."""


HEURISTICS = {
    "min-fill": _Rule(_Graph.fill, lambda graph, vertex, strangers: strangers.bit_count()),
    "weighted min-fill": _Rule(
        _Graph.weighted_fill,
        lambda graph, vertex, strangers: graph.cardinalities[vertex] * graph.weight_of(strangers),
    ),
    "min-weight": _Rule(lambda graph, vertex: 0, lambda graph, vertex, strangers: 0),
}
"""The greedy rules by name. Every rule breaks its ties by the size of the clique; min-weight does nothing else."""


def eliminate(
    neighbours: Sequence[int], cardinalities: Sequence[int], vertices: int, heuristic: str = "min-fill"
) -> EliminationOrder:
    """Return the greedy order that a heuristic finds for some of the vertices.

    Parameters
    ----------
    neighbours
        Neighbourhoods as bit sets, as :func:`interaction_graph` makes them.
    cardinalities
        Number of states of each vertex.
    vertices
        Bit set of the vertices to eliminate; the others stay.
    heuristic
        A name in :data:`HEURISTICS`. Ties go to the smaller clique, then to the smaller vertex.

    Notes
    -----
    A heap holds the scores; a vertex is scored again only when an elimination changed its neighbourhood. A vertex whose
    neighbours are joined already adds no edge, so the scores of its neighbours fall by a known amount.

    Examples
    --------
    >>> chain = interaction_graph([(0, 1), (1, 2), (2, 3)], 4)
    >>> eliminate(chain, [2, 2, 2, 2], 0b1111).order
    (0, 1, 2, 3)
    """
    graph = _Graph(neighbours, cardinalities)
    score_of, lost = HEURISTICS[heuristic]
    scores = {vertex: (score_of(graph, vertex), graph.weight(vertex)) for vertex in bits(vertices)}
    heap = [(score, vertex) for vertex, score in scores.items()]
    heapq.heapify(heap)
    order: list[int] = []
    cost, width = 0, 0
    while heap:
        score, vertex = heapq.heappop(heap)
        if scores.get(vertex) != score:
            continue  # an older score of a vertex scored again or gone
        del scores[vertex]
        order.append(vertex)
        cost += score[1]
        around = graph.neighbours[vertex]
        width = max(width, around.bit_count())
        if graph.is_simplicial(vertex):
            closed, shrink = around | 1 << vertex, cardinalities[vertex]
            graph.detach(vertex)
            updated = {
                other: (
                    scores[other][0] - lost(graph, vertex, graph.neighbours[other] & ~closed),
                    scores[other][1] // shrink,
                )
                for other in bits(around & vertices)
            }
        else:
            changed = graph.remove(vertex)
            updated = {other: (score_of(graph, other), graph.weight(other)) for other in bits(changed & vertices)}
        for other, fresh in updated.items():
            if fresh != scores[other]:
                scores[other] = fresh
                heapq.heappush(heap, (fresh, other))
    return EliminationOrder(tuple(order), float(cost) if cost < 1e300 else math.inf, width, heuristic)


def best_order(neighbours: Sequence[int], cardinalities: Sequence[int], vertices: int) -> EliminationOrder:
    """Return the order of smallest total cost among those that all heuristics find.

    A graph that min-fill eliminates without adding an edge worth mentioning is not searched further.

    >>> best_order(interaction_graph([(0, 1, 2), (2, 3)], 4), [2, 2, 2, 2], 0b1111).width
    2
    """
    first = eliminate(neighbours, cardinalities, vertices, "min-fill")
    if first.width <= 1:
        return first  # a forest: nothing to improve
    others = (eliminate(neighbours, cardinalities, vertices, name) for name in list(HEURISTICS)[1:])
    return min([first, *others], key=lambda found: found.cost)
