"""`DAG`: a directed acyclic graph of names, the structure of a Bayesian network.

An edge ``u -> v`` says that ``u`` is a parent of ``v``. A node with its parents is a *family*, and a Bayesian network
is a DAG with one probability table for every family. What the graph says about independence is in
`pgm.graph.separation` and `pgm.graph.trails`; which graphs say the same is in `pgm.graph.equivalence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pgm.errors import GraphError
from pgm.graph import equivalence, model_string, separation, trails
from pgm.graph.base import Edge, Graph, Names, declared, reachable, read_edges, topological

if TYPE_CHECKING:
    import networkx

    from pgm.graph.pdag import PDAG
    from pgm.graph.undirected import UndirectedGraph

__all__ = ["DAG", "as_dag"]

LONGEST_REPR = 30
"""How many nodes and edges together are written out by `repr`."""


class DAG(Graph):
    """An immutable directed acyclic graph.

    Parameters
    ----------
    edges
        Pairs (parent, child) of node names. A repeated edge is stored once.
    nodes
        All nodes in the order wanted, isolated ones included; without it, the nodes in order of appearance in the
        edges. Answers with several nodes list them in this order.

    Attributes
    ----------
    nodes : tuple of str
        The nodes in declared order.
    edges : tuple of pairs of str
        The edges in the order given.
    parent_indices, child_indices : tuple of tuples of int
        For the node at each position, the positions of its parents and of its children.

    Raises
    ------
    GraphError
        For a cycle, which the message spells out; for a repeated node; for an edge that names an undeclared node.

    Notes
    -----
    Two DAGs are equal when they have the same nodes and the same edges, in whatever order.

    Examples
    --------
    >>> dag = DAG([("rain", "wet"), ("sprinkler", "wet")], nodes=["rain", "sprinkler", "wet", "moon"])
    >>> dag.parents("wet"), dag.children("rain"), dag.roots
    (('rain', 'sprinkler'), ('wet',), ('rain', 'sprinkler', 'moon'))
    >>> DAG([("a", "b"), ("b", "c"), ("c", "a")])
    Traceback (most recent call last):
    ...
    pgm.errors.GraphError: the edges form a cycle: a -> b -> c -> a
    """

    __slots__ = ("_hash", "_order", "child_indices", "edges", "parent_indices")

    edges: tuple[Edge, ...]
    parent_indices: tuple[tuple[int, ...], ...]
    child_indices: tuple[tuple[int, ...], ...]
    _order: tuple[int, ...]
    _hash: int

    def __init__(self, edges: Iterable[Edge] = (), nodes: Names | None = None) -> None:
        pairs = read_edges(edges)
        positions = declared(nodes, pairs)
        names = tuple(positions)
        codes = [(positions[parent], positions[child]) for parent, child in pairs]
        order = topological(len(names), codes, names)
        parents: list[list[int]] = [[] for _ in names]
        children: list[list[int]] = [[] for _ in names]
        for parent, child in codes:
            parents[child].append(parent)
            children[parent].append(child)
        self._set(
            nodes=names,
            edges=tuple(pairs),
            parent_indices=tuple(map(tuple, parents)),
            child_indices=tuple(map(tuple, children)),
            _positions=positions,
            _order=order,
            _hash=hash((frozenset(names), frozenset(pairs))),
        )

    # ------------------------------------------------------------------ neighbours

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the parents of ``node`` in the order in which their edges were given."""
        return tuple(self.nodes[parent] for parent in self.parent_indices[self.index(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """Return the children of ``node`` in the order in which their edges were given."""
        return tuple(self.nodes[child] for child in self.child_indices[self.index(node)])

    def family(self, node: str) -> tuple[str, ...]:
        """Return the parents of ``node`` and then ``node`` itself: the axes of its probability table."""
        return (*self.parents(node), node)

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes without parents, in declared order."""
        return tuple(node for node, parents in zip(self.nodes, self.parent_indices, strict=True) if not parents)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The nodes without children, in declared order."""
        return tuple(node for node, children in zip(self.nodes, self.child_indices, strict=True) if not children)

    def has_edge(self, parent: str, child: str) -> bool:
        """Return whether there is an edge ``parent -> child``."""
        return self.index(parent) in self.parent_indices[self.index(child)]

    # ------------------------------------------------------------------ ancestry

    def ancestors(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes from which a directed path leads to one of ``nodes``, without ``nodes`` themselves.

        >>> DAG([("a", "b"), ("b", "c")]).ancestors("c")
        ('a', 'b')
        """
        start = self.indices(nodes)
        return self._names(reachable(start, self.parent_indices) - set(start))

    def descendants(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes to which a directed path leads from one of ``nodes``, without ``nodes`` themselves.

        >>> DAG([("a", "b"), ("b", "c"), ("d", "c")]).descendants(["a", "d"])
        ('b', 'c')
        """
        start = self.indices(nodes)
        return self._names(reachable(start, self.child_indices) - set(start))

    def is_ancestor(self, node: str, other: str) -> bool:
        """Return whether a directed path leads from ``node`` to ``other``; no node is its own ancestor."""
        above, below = self.index(node), self.index(other)
        return above != below and above in reachable([below], self.parent_indices)

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The nodes, parents before children; where several could come next, the first declared one does.

        >>> DAG([("c", "a")], nodes=["a", "b", "c"]).topological_order
        ('b', 'c', 'a')
        """
        return tuple(self.nodes[position] for position in self._order)

    # ------------------------------------------------------------------ new graphs

    def subgraph(self, nodes: Names) -> DAG:
        """Return the DAG on ``nodes``, in declared order, with all edges between them."""
        kept = self._names(self.indices(nodes))
        inside = set(kept)
        return DAG([(u, v) for u, v in self.edges if u in inside and v in inside], kept)

    def add_edges(self, edges: Iterable[Edge]) -> DAG:
        """Return the DAG with more edges between its nodes; an edge that is there already changes nothing.

        Raises
        ------
        GraphError
            If the new edges close a cycle or name an unknown node.
        """
        return DAG([*self.edges, *read_edges(edges)], self.nodes)

    def remove_edges(self, edges: Iterable[Edge]) -> DAG:
        """Return the DAG without ``edges``; all nodes stay.

        Raises
        ------
        GraphError
            If one of the edges is not there.
        """
        removed = read_edges(edges)
        for parent, child in removed:
            self._check_edge(parent, child)
        gone = set(removed)
        return DAG([edge for edge in self.edges if edge not in gone], self.nodes)

    def reverse_edge(self, parent: str, child: str) -> DAG:
        """Return the DAG with ``child -> parent`` in place of ``parent -> child``.

        Raises
        ------
        GraphError
            If there is no such edge, or the reversed edge closes a cycle.

        Examples
        --------
        >>> DAG([("a", "b"), ("b", "c")]).reverse_edge("b", "c").edges
        (('a', 'b'), ('c', 'b'))
        """
        self._check_edge(parent, child)
        return DAG([edge if edge != (parent, child) else (child, parent) for edge in self.edges], self.nodes)

    def remove_incoming(self, nodes: Names) -> DAG:
        """Return the DAG without the edges into ``nodes``: the surgery of an intervention do(nodes).

        >>> DAG([("rain", "sprinkler"), ("sprinkler", "wet")]).remove_incoming("sprinkler").edges
        (('sprinkler', 'wet'),)
        """
        cut = {self.nodes[position] for position in self.indices(nodes)}
        return DAG([edge for edge in self.edges if edge[1] not in cut], self.nodes)

    def _check_edge(self, parent: str, child: str) -> None:
        if not self.has_edge(parent, child):
            reverse = f", only {child} -> {parent}" if self.has_edge(child, parent) else ""
            raise GraphError(f"there is no edge {parent} -> {child}{reverse}")

    # ------------------------------------------------------------------ independence (pgm.graph.separation, .trails)

    def is_d_separated(self, x: Names, y: Names, given: Names = ()) -> bool:
        """Return whether ``given`` blocks every trail between ``x`` and ``y``; see `separation.is_d_separated`."""
        return separation.is_d_separated(self, x, y, given)

    def d_connected(self, x: Names, given: Names = ()) -> tuple[str, ...]:
        """Return the nodes that an active trail joins to ``x``; see `separation.d_connected`."""
        return separation.d_connected(self, x, given)

    def explain_separation(self, x: Names, y: Names, given: Names = (), *, max_trails: int = 50) -> trails.Separation:
        """Return the trails between ``x`` and ``y`` and why they are active or not; see `trails.explain_separation`."""
        return trails.explain_separation(self, x, y, given, max_trails=max_trails)

    def markov_blanket(self, nodes: Names) -> tuple[str, ...]:
        """Return the parents, children and children's other parents of a node; see `separation.markov_blanket`."""
        return separation.markov_blanket(self, nodes)

    def minimal_d_separator(
        self, x: Names, y: Names, *, included: Names = (), restricted: Names | None = None
    ) -> tuple[str, ...] | None:
        """Return a smallest-by-inclusion set that separates, or None; see `separation.minimal_d_separator`."""
        return separation.minimal_d_separator(self, x, y, included=included, restricted=restricted)

    # ------------------------------------------------------------------ equivalence (pgm.graph.equivalence)

    def skeleton(self) -> UndirectedGraph:
        """Return the graph with the directions of the edges dropped."""
        return equivalence.skeleton(self)

    def moral_graph(self) -> UndirectedGraph:
        """Return the skeleton with all parents of a common child joined; see `equivalence.moral_graph`."""
        return equivalence.moral_graph(self)

    def v_structures(self) -> tuple[tuple[str, str, str], ...]:
        """Return the triples ``left -> middle <- right`` with no edge left to right; see `equivalence.v_structures`."""
        return equivalence.v_structures(self)

    def cpdag(self) -> PDAG:
        """Return the graph of the equivalence class: compelled edges directed, others not; see `equivalence.cpdag`."""
        return equivalence.cpdag(self)

    def equivalence_class_size(self) -> int:
        """Return how many DAGs promise the same independences, this one included; see `members.count_members`.

        >>> DAG([("a", "b"), ("b", "c")]).equivalence_class_size()
        3
        """
        return self.cpdag().count_members()

    # ------------------------------------------------------------------ conversion

    @classmethod
    def from_string(cls, text: str) -> DAG:
        """Return the DAG that a model string such as ``[A][C][B|A][D|A:C]`` describes; see `model_string.parse`."""
        nodes, edges = model_string.parse(text)
        return cls(edges, nodes)

    def to_string(self) -> str:
        """Return the model string, one ``[node|parent:parent]`` after the other; see `model_string.compose`."""
        return model_string.compose(self)

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph) -> DAG:
        """Return the DAG with the nodes and edges of a directed `networkx` graph; attributes are not kept.

        Raises
        ------
        GraphError
            If the graph is undirected or cyclic, or a node is not text.
        """
        if not graph.is_directed():
            raise GraphError("a DAG needs a directed networkx graph (DiGraph), not an undirected one")
        return cls([(edge[0], edge[1]) for edge in graph.edges], graph.nodes)

    def to_networkx(self) -> networkx.DiGraph:
        """Return the same graph as a `networkx.DiGraph`, nodes in declared order."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    @classmethod
    def from_dot(cls, text: str) -> DAG:
        """Return the DAG that a digraph in the DOT language describes."""
        from pgm.io import dot

        return dot.read_dag(text)

    def to_dot(self, **options: Any) -> str:
        """Return the graph in the DOT language of Graphviz; see `pgm.io.dot.to_dot` for the options."""
        from pgm.io import dot

        return dot.to_dot(self, **options)

    # ------------------------------------------------------------------ a value among others

    def __contains__(self, node: object) -> bool:
        return isinstance(node, str) and node in self._positions

    def __iter__(self) -> Iterator[str]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, DAG):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and set(self.edges) == set(other.edges)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[DAG], tuple[tuple[Edge, ...], tuple[str, ...]]]:
        return DAG, (self.edges, self.nodes)

    def __repr__(self) -> str:
        if len(self.nodes) + len(self.edges) > LONGEST_REPR:
            return f"<DAG with {len(self.nodes)} nodes and {len(self.edges)} edges>"
        appearing = tuple(declared(None, self.edges))
        return f"DAG({list(self.edges)}" + (f", nodes={list(self.nodes)})" if self.nodes != appearing else ")")

    def __str__(self) -> str:
        return model_string.text_of(self)


def as_dag(graph: object) -> DAG:
    """Return a DAG as it is, or the ``dag`` of what has one, such as a network or the result of a search.

    Raises
    ------
    GraphError
        For anything else; says how to build a DAG.

    Examples
    --------
    >>> as_dag("[a][b|a]")
    Traceback (most recent call last):
    ...
    pgm.errors.GraphError: expected a DAG or a network, not str: DAG([...]) or DAG.from_string("[a][b|a]") make a DAG
    """
    dag = graph if isinstance(graph, DAG) else getattr(graph, "dag", None)
    if not isinstance(dag, DAG):
        hint = 'DAG([...]) or DAG.from_string("[a][b|a]") make a DAG'
        raise GraphError(f"expected a DAG or a network, not {type(graph).__name__}: {hint}")
    return dag
