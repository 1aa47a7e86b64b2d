"""`PDAG`: a graph with directed and undirected edges, such as the CPDAG that stands for an equivalence class of DAGs.

An undirected edge means "one way or the other". `pgm.graph.orientation` finds a DAG that a PDAG stands for, and
`pgm.graph.members` all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pgm.errors import GraphError
from pgm.graph import members, orientation
from pgm.graph.base import Edge, Graph, Names, declared, read_edges, topological

if TYPE_CHECKING:
    import networkx
    import numpy as np

    from pgm.graph.dag import DAG

__all__ = ["PDAG"]


class PDAG(Graph):
    """An immutable partially directed acyclic graph.

    Parameters
    ----------
    directed
        Pairs (parent, child) of node names.
    undirected
        Pairs of node names, in either orientation.
    nodes
        All nodes in the order wanted; without it, the nodes in order of appearance, directed edges first.

    Attributes
    ----------
    nodes : tuple of str
        The nodes in declared order.
    directed, undirected : tuple of pairs of str
        The edges, sorted in declared order; the first node of an undirected edge is the one declared first.

    Raises
    ------
    GraphError
        If the directed edges form a cycle, a pair of nodes has more than one edge, or names are wrong as for a `DAG`.

    Examples
    --------
    >>> pdag = PDAG([("a", "b")], [("c", "b")], nodes=["a", "b", "c"])
    >>> pdag.directed, pdag.undirected
    ((('a', 'b'),), (('b', 'c'),))
    >>> pdag.is_cpdag(), pdag.consistent_extension().edges
    (False, (('a', 'b'), ('b', 'c')))
    """

    __slots__ = ("_hash", "directed", "undirected")

    directed: tuple[Edge, ...]
    undirected: tuple[Edge, ...]
    _hash: int

    def __init__(
        self, directed: Iterable[Edge] = (), undirected: Iterable[Edge] = (), nodes: Names | None = None
    ) -> None:
        arrows, lines = read_edges(directed), read_edges(undirected)
        positions = declared(nodes, [*arrows, *lines])
        names = tuple(positions)
        coded = sorted((positions[parent], positions[child]) for parent, child in arrows)
        topological(len(names), coded, names)  # raises if there is a cycle
        loose = {(min(pair), max(pair)) for pair in ((positions[u], positions[v]) for u, v in lines)}
        for parent, child in coded:
            if (min(parent, child), max(parent, child)) in loose:
                raise GraphError(f"{names[parent]} and {names[child]} are joined by a directed and an undirected edge")
        self._set(
            nodes=names,
            directed=tuple((names[parent], names[child]) for parent, child in coded),
            undirected=tuple((names[low], names[high]) for low, high in sorted(loose)),
            _positions=positions,
            _hash=hash((frozenset(names), frozenset(arrows), frozenset(map(frozenset, lines)))),
        )

    @classmethod
    def from_dag(cls, dag: DAG) -> PDAG:
        """Return the DAG as a PDAG without undirected edges; the graph of its class is `DAG.cpdag`."""
        return cls(dag.edges, (), dag.nodes)

    def is_cpdag(self) -> bool:
        """Return whether this is the graph of an equivalence class, with all compelled edges directed and no others.

        >>> PDAG([], [("a", "b")]).is_cpdag(), PDAG([("a", "b")], []).is_cpdag()
        (True, False)
        """
        try:
            return self.consistent_extension().cpdag() == self
        except GraphError:
            return False

    def meek_closure(self) -> PDAG:
        """Return the PDAG with every forced direction filled in; see `orientation.meek_closure`."""
        return orientation.meek_closure(self)

    def consistent_extension(self) -> DAG:
        """Return a DAG that this graph stands for; see `orientation.consistent_extension`."""
        return orientation.consistent_extension(self)

    def members(self, *, limit: int = 1000) -> tuple[DAG, ...]:
        """Return all DAGs that this graph stands for; see `pgm.graph.members.members`."""
        return members.members(self, limit=limit)

    def iter_members(self) -> Iterator[DAG]:
        """Iterate over the DAGs that this graph stands for, each made when asked for; see `members.iter_members`."""
        return members.iter_members(self)

    def count_members(self, *, limit: int = 1000) -> int:
        """Return how many DAGs this graph stands for, of a CPDAG the size of its class; see `members.count_members`."""
        return members.count_members(self, limit=limit)

    def sample_member(self, rng: np.random.Generator | int, *, limit: int = 1000) -> DAG:
        """Return one of these DAGs, each with the same probability; see `members.sample_member`."""
        return members.sample_member(self, rng, limit=limit)

    def to_networkx(self) -> networkx.DiGraph:
        """Return a `networkx.DiGraph` in which an undirected edge is a pair of opposite edges."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.directed)
        for u, v in self.undirected:
            graph.add_edges_from([(u, v), (v, u)])
        return graph

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        return (
            set(self.nodes) == set(other.nodes)
            and set(self.directed) == set(other.directed)
            and set(map(frozenset, self.undirected)) == set(map(frozenset, other.undirected))
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[PDAG], tuple[tuple[Edge, ...], tuple[Edge, ...], tuple[str, ...]]]:
        return PDAG, (self.directed, self.undirected, self.nodes)

    def __repr__(self) -> str:
        arrows, lines = len(self.directed), len(self.undirected)
        return f"<PDAG with {len(self.nodes)} nodes, {arrows} directed and {lines} undirected edges>"

    def __str__(self) -> str:
        ends = {end for edge in self.directed + self.undirected for end in edge}
        arrows = [f"{parent} -> {child}" for parent, child in self.directed]
        lines = [f"{u} - {v}" for u, v in self.undirected]
        return "\n".join(arrows + lines + [node for node in self.nodes if node not in ends])
