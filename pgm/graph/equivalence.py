"""Equivalence of DAGs: which graphs promise the same independences, and how far two graphs differ.

Different DAGs can promise exactly the same independences; no data can tell them apart. They do if and only if they
have the same *skeleton* (the edges without their directions) and the same *V-structures* (Verma and Pearl). All such
DAGs form an equivalence class. Its picture is the CPDAG: the edges on whose direction all members agree (*compelled*
edges) are directed, the others (*reversible* edges) are not.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from pgm.errors import GraphError, listing
from pgm.graph.base import Edge, Graph
from pgm.graph.pdag import PDAG
from pgm.graph.undirected import UndirectedGraph

if TYPE_CHECKING:
    from pgm.graph.dag import DAG
    from pgm.network import BayesianNetwork

__all__ = [
    "check_same_nodes",
    "comparable",
    "cpdag",
    "is_equivalent",
    "marks",
    "moral_graph",
    "shd",
    "skeleton",
    "v_structures",
]


def skeleton(dag: DAG) -> UndirectedGraph:
    """Return the graph with the directions of the edges dropped.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> list(skeleton(DAG([("b", "a"), ("a", "c")], nodes=["a", "b", "c"])))
    [('a', 'b'), ('a', 'c')]
    """
    return UndirectedGraph(dag.edges, dag.nodes)


def moral_graph(dag: DAG) -> UndirectedGraph:
    """Return the skeleton with all parents of a common child joined: every family becomes a clique.

    Separation in the moral graph implies d-separation in the DAG.

    References
    ----------
    Lauritzen and Spiegelhalter, J. R. Statist. Soc. B 50, 1988; Koller and Friedman, 2009, section 4.5.1.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> list(moral_graph(DAG([("rain", "wet"), ("sprinkler", "wet")], nodes=["rain", "sprinkler", "wet"])))
    [('rain', 'sprinkler'), ('rain', 'wet'), ('sprinkler', 'wet')]
    """
    marriages = [(dag.nodes[u], dag.nodes[v]) for parents in dag.parent_indices for u, v in combinations(parents, 2)]
    return UndirectedGraph([*dag.edges, *marriages], dag.nodes)


def v_structures(dag: DAG) -> tuple[tuple[str, str, str], ...]:
    """Return the triples (left, middle, right) with ``left -> middle <- right`` whose ends share no edge.

    They are sorted in declared order, and ``left`` is declared before ``right``.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> v_structures(DAG([("a", "c"), ("b", "c"), ("c", "d")]))
    (('a', 'c', 'b'),)
    """
    parents = [set(some) for some in dag.parent_indices]
    found = [
        (left, middle, right)
        for middle, some in enumerate(dag.parent_indices)
        for left, right in combinations(sorted(some), 2)
        if left not in parents[right] and right not in parents[left]
    ]
    return tuple((dag.nodes[left], dag.nodes[middle], dag.nodes[right]) for left, middle, right in sorted(found))


def cpdag(dag: DAG) -> PDAG:
    """Return the graph of the DAG's equivalence class: compelled edges directed, reversible edges undirected.

    Notes
    -----
    Nodes are visited in topological order. At each, the edge from its last parent decides: a compelled edge into that
    parent from a node that is no parent here, or a parent here that is not adjacent to it, compels all edges into the
    node; otherwise just the parents whose edges into the last parent are compelled have compelled edges here. The cost
    is O(V + E), set operations not counted.

    References
    ----------
    Chickering, A transformational characterization of equivalent Bayesian network structures, UAI 1995.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> print(cpdag(DAG([("a", "c"), ("b", "c"), ("d", "e")])))
    a -> c
    b -> c
    d - e
    """
    parents = [set(some) for some in dag.parent_indices]
    order = dag.indices(dag.topological_order)
    rank = {node: place for place, node in enumerate(order)}
    compelled: list[set[int]] = [set() for _ in order]
    for node in order:
        compelled[node] = parents[node]
        if parents[node]:
            last = max(parents[node], key=rank.__getitem__)
            if compelled[last] <= parents[node] <= parents[last] | {last}:
                compelled[node] = compelled[last]
    directed: list[Edge] = []
    undirected: list[Edge] = []
    for node, some in enumerate(dag.parent_indices):
        for parent in some:
            (directed if parent in compelled[node] else undirected).append((dag.nodes[parent], dag.nodes[node]))
    return PDAG(directed, undirected, dag.nodes)


def is_equivalent(left: DAG | BayesianNetwork, right: DAG | BayesianNetwork) -> bool:
    """Return whether two DAGs over the same nodes promise the same independences; a network stands for its DAG.

    Raises
    ------
    GraphError
        If the graphs have different nodes, or what is given is no graph.

    References
    ----------
    Verma and Pearl, Equivalence and synthesis of causal models, UAI 1990.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> chain, fork = DAG.from_string("[a][b|a][c|b]"), DAG.from_string("[b][a|b][c|b]")
    >>> is_equivalent(chain, fork), is_equivalent(chain, DAG.from_string("[a][c][b|a:c]"))
    (True, False)
    """
    from pgm.graph.dag import as_dag

    one, other = as_dag(left), as_dag(right)
    check_same_nodes(one, other)
    return skeleton(one) == skeleton(other) and _unordered(v_structures(one)) == _unordered(v_structures(other))


def shd(left: DAG | PDAG | BayesianNetwork, right: DAG | PDAG | BayesianNetwork, *, cpdag: bool = False) -> int:
    """Return the structural Hamming distance: the number of pairs of nodes that the two graphs join differently.

    A pair of nodes can be joined in four ways: not at all, by an undirected edge, or by an edge one way or the other.
    Each pair that differs counts 1, so a reversed edge counts once.

    Parameters
    ----------
    left, right
        Two DAGs or two PDAGs over the same nodes, whose order plays no part; a network stands for its DAG.
    cpdag
        Whether to compare equivalence classes: each DAG is replaced by its CPDAG. Then one graph may be a DAG and the
        other a PDAG, which is taken as it is.

    Raises
    ------
    GraphError
        If the graphs have different nodes, what is given is no graph, or a DAG is compared with a PDAG and ``cpdag`` is
        False.

    References
    ----------
    Tsamardinos, Brown and Aliferis, The max-min hill-climbing Bayesian network structure learning algorithm,
    Machine Learning 65, 2006. Their distance is the one with ``cpdag=True``.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> left, right = DAG([("a", "b"), ("b", "c")]), DAG([("c", "b"), ("b", "a")])
    >>> shd(left, right), shd(left, right, cpdag=True)
    (2, 0)
    """
    one, other = map(marks, comparable(left, right, cpdag=cpdag))
    return sum(one.get(pair) != other.get(pair) for pair in one.keys() | other.keys())


def comparable(
    left: DAG | PDAG | BayesianNetwork, right: DAG | PDAG | BayesianNetwork, *, cpdag: bool = False
) -> tuple[DAG | PDAG, DAG | PDAG]:
    """Return two graphs as they are to be compared edge by edge; see `shd` for the rules and errors.

    >>> from pgm.graph import DAG
    >>> comparable(DAG([("a", "b")]), DAG([("b", "a")]), cpdag=True)[0].undirected
    (('a', 'b'),)
    """
    from pgm.graph.dag import as_dag

    one, other = (graph if isinstance(graph, PDAG) else as_dag(graph) for graph in (left, right))
    check_same_nodes(one, other)
    if cpdag:
        one = one if isinstance(one, PDAG) else one.cpdag()
        other = other if isinstance(other, PDAG) else other.cpdag()
        return one, other
    if isinstance(one, PDAG) != isinstance(other, PDAG):
        raise GraphError("a DAG and a PDAG cannot be compared edge by edge; cpdag=True compares their classes")
    return one, other


def marks(graph: DAG | PDAG) -> dict[frozenset[str], tuple[str, ...]]:
    """Return, for every joined pair of nodes, its edge as (parent, child), or an empty tuple if it is undirected.

    >>> marks(PDAG([], [("a", "b")]))[frozenset("ab")]
    ()
    """
    if not isinstance(graph, PDAG):
        return {frozenset(edge): edge for edge in graph.edges}
    found: dict[frozenset[str], tuple[str, ...]] = {frozenset(edge): edge for edge in graph.directed}
    found.update((frozenset(edge), ()) for edge in graph.undirected)
    return found


def _unordered(triples: tuple[tuple[str, str, str], ...]) -> set[tuple[str, frozenset[str]]]:
    return {(middle, frozenset((left, right))) for left, middle, right in triples}


def check_same_nodes(left: Graph, right: Graph) -> None:
    """Raise `GraphError` unless two graphs have the same nodes; names those that only one has."""
    lefts, rights = set(left.nodes), set(right.nodes)
    only_left = [node for node in left.nodes if node not in rights]
    only_right = [node for node in right.nodes if node not in lefts]
    if only_left or only_right:
        raise GraphError(
            "the graphs have different nodes: "
            f"only the first has {listing(only_left)}; only the second has {listing(only_right)}"
        )
