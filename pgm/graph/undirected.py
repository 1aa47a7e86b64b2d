"""`UndirectedGraph`: pairs of named nodes without a direction, such as a skeleton or a moral graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pgm.graph.base import Edge, Graph, Names, declared, read_edges

if TYPE_CHECKING:
    import networkx

__all__ = ["UndirectedGraph"]


class UndirectedGraph(Graph):
    """An immutable undirected graph; a collection of its edges.

    Parameters
    ----------
    edges
        Pairs of node names, in either orientation. A repeated edge is stored once.
    nodes
        All nodes in the order wanted; without it, the nodes in order of appearance in the edges.

    Raises
    ------
    GraphError
        For an edge from a node to itself, a repeated node, or an edge that names an undeclared node.

    Examples
    --------
    >>> graph = UndirectedGraph([("wet", "rain"), ("rain", "sun")], nodes=["sun", "rain", "wet"])
    >>> graph.edges, graph.neighbors("rain")
    ((('sun', 'rain'), ('rain', 'wet')), ('sun', 'wet'))
    >>> ("wet", "rain") in graph, len(graph)
    (True, 2)
    """

    __slots__ = ("_hash", "_neighbors", "edges")

    edges: tuple[Edge, ...]
    _neighbors: tuple[tuple[int, ...], ...]
    _hash: int

    def __init__(self, edges: Iterable[Edge] = (), nodes: Names | None = None) -> None:
        pairs = read_edges(edges)
        positions = declared(nodes, pairs)
        names = tuple(positions)
        codes = {tuple(sorted((positions[u], positions[v]))) for u, v in pairs}
        neighbors: list[list[int]] = [[] for _ in names]
        for low, high in sorted(codes):
            neighbors[low].append(high)
            neighbors[high].append(low)
        self._set(
            nodes=names,
            edges=tuple((names[low], names[high]) for low, high in sorted(codes)),
            _positions=positions,
            _neighbors=tuple(map(tuple, neighbors)),
            _hash=hash((frozenset(names), frozenset(map(frozenset, pairs)))),
        )

    def neighbors(self, node: str) -> tuple[str, ...]:
        """Return the nodes that share an edge with ``node``, in declared order."""
        return self._names(self._neighbors[self.index(node)])

    def to_networkx(self) -> networkx.Graph:
        """Return the same graph as a `networkx.Graph`."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def __contains__(self, edge: object) -> bool:
        """Return whether the pair ``edge`` is an edge, in either orientation."""
        match edge:
            case [str(u), str(v)] if u in self._positions and v in self._positions:
                return self._positions[v] in self._neighbors[self._positions[u]]
        return False

    def __iter__(self) -> Iterator[Edge]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UndirectedGraph):
            return NotImplemented
        same_nodes = set(self.nodes) == set(other.nodes)
        return same_nodes and set(map(frozenset, self.edges)) == set(map(frozenset, other.edges))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[UndirectedGraph], tuple[tuple[Edge, ...], tuple[str, ...]]]:
        return UndirectedGraph, (self.edges, self.nodes)

    def __repr__(self) -> str:
        return f"<UndirectedGraph with {len(self.nodes)} nodes and {len(self.edges)} edges>"

    def __str__(self) -> str:
        ends = {end for edge in self.edges for end in edge}
        lines = [f"{u} - {v}" for u, v in self.edges]
        return "\n".join(lines + [node for node in self.nodes if node not in ends])
