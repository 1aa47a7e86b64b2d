"""Skeletons, V-structures, CPDAGs, Meek's rules, extensions, members, SHD: against enumeration of all small graphs."""

from __future__ import annotations

import copy
import pickle
import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise, product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import GraphError, UnknownNameError
from pgm.factors import CPT, Variable
from pgm.graph import DAG, PDAG, UndirectedGraph, is_equivalent, shd
from pgm.graph.dag import as_dag
from pgm.network import BayesianNetwork
from tests.graph.strategies import dags

NODES = list("abcd")
PAIRS = list(combinations(NODES, 2))


# ---------------------------------------------------------------------- the definitions, spelled out


def is_acyclic(edges: frozenset[tuple[str, str]]) -> bool:
    left = set(NODES)
    while left:
        roots = {node for node in left if not any(v == node and u in left for u, v in edges)}
        if not roots:
            return False
        left -= roots
    return True


def colliders(
    directed: frozenset[tuple[str, str]], undirected: frozenset[tuple[str, str]] = frozenset()
) -> frozenset[object]:
    joined = {frozenset(edge) for edge in directed | undirected}
    return frozenset(
        (frozenset((u, w)), v)
        for (u, v), (w, x) in combinations(directed, 2)
        if v == x and frozenset((u, w)) not in joined
    )


def all_dags() -> Iterator[frozenset[tuple[str, str]]]:
    for marks in product("-><", repeat=len(PAIRS)):
        edges = frozenset(
            (u, v) if mark == ">" else (v, u) for (u, v), mark in zip(PAIRS, marks, strict=True) if mark != "-"
        )
        if is_acyclic(edges):
            yield edges


def classes() -> list[list[frozenset[tuple[str, str]]]]:
    """All DAGs over four nodes, grouped by skeleton and V-structures."""
    groups = defaultdict(list)
    for edges in all_dags():
        groups[frozenset(map(frozenset, edges)), colliders(edges)].append(edges)
    return list(groups.values())


CLASSES = classes()


def agreed(members: list[frozenset[tuple[str, str]]]) -> PDAG:
    """The graph whose edges are directed exactly where all members agree."""
    common = frozenset.intersection(*members)
    return PDAG(common, [edge for edge in members[0] if edge not in common], nodes=NODES)


def test_there_are_as_many_dags_and_classes_as_published() -> None:
    assert sum(map(len, CLASSES)) == 543  # Robinson 1977
    assert len(CLASSES) == 185  # Gillispie and Perlman 2001


def test_every_cpdag_of_four_nodes() -> None:
    for members in CLASSES:
        expected = agreed(members)
        for edges in members:
            assert DAG(edges, nodes=NODES).cpdag() == expected
        assert expected.is_cpdag()
        assert expected.count_members() == len(members)
        assert set(expected.members()) == {DAG(edges, nodes=NODES) for edges in members}


def test_equivalence_of_all_pairs_in_and_between_classes() -> None:
    rng = random.Random(0)
    for members in CLASSES:
        dag = DAG(members[0], nodes=NODES)
        assert all(is_equivalent(dag, DAG(edges, nodes=NODES[::-1])) for edges in members)
        other = rng.choice(CLASSES)
        assert is_equivalent(dag, DAG(other[0], nodes=NODES)) == (other is members)


def all_pdags() -> Iterator[tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]]:
    for marks in product("-><=", repeat=len(PAIRS)):
        marked = list(zip(PAIRS, marks, strict=True))
        directed = frozenset((u, v) if mark == ">" else (v, u) for (u, v), mark in marked if mark in "<>")
        if is_acyclic(directed):
            yield directed, frozenset(pair for pair, mark in marked if mark == "=")


def extensions(
    directed: frozenset[tuple[str, str]], undirected: frozenset[tuple[str, str]]
) -> list[frozenset[tuple[str, str]]]:
    """All ways to direct the undirected edges that make neither a cycle nor a new V-structure."""
    wanted = colliders(directed, undirected)
    ways = product(*(((u, v), (v, u)) for u, v in undirected))
    filled = (directed | frozenset(way) for way in ways)
    return [edges for edges in filled if is_acyclic(edges) and colliders(edges) == wanted]


def test_every_partially_directed_graph_of_four_nodes() -> None:
    """Extensions exist where they should, Meek's rules find exactly what all share, members are complete."""
    whole_classes = {frozenset(members) for members in CLASSES}
    without = 0
    for directed, undirected in all_pdags():
        pdag = PDAG(directed, undirected, nodes=NODES)
        expected = extensions(directed, undirected)
        if not expected:
            without += 1
            with pytest.raises(GraphError, match="no DAG extends this graph"):
                pdag.consistent_extension()
            assert not pdag.is_cpdag()
            continue
        assert frozenset(pdag.consistent_extension().edges) in expected
        assert pdag.meek_closure() == agreed(expected)
        assert {frozenset(dag.edges) for dag in pdag.members()} == set(expected)
        assert pdag.count_members() == len(expected)
        assert pdag.is_cpdag() == (frozenset(expected) in whole_classes and agreed(expected) == pdag)
    assert without > 100


@given(dags(max_nodes=8))
def test_a_cpdag_is_what_meeks_rules_make_of_skeleton_and_v_structures(dag: DAG) -> None:
    """Two algorithms that share nothing: Chickering's labelling, and orienting the V-structures and closing."""
    arrows = {(end, middle) for left, middle, right in dag.v_structures() for end in (left, right)}
    lines = [edge for edge in dag.edges if edge not in arrows]
    pattern = PDAG(arrows, lines, nodes=dag.nodes)
    assert pattern.meek_closure() == dag.cpdag()
    assert is_equivalent(dag.cpdag().consistent_extension(), dag)
    assert dag.cpdag().is_cpdag()


@settings(max_examples=40)
@given(dags(min_nodes=5, max_nodes=5))
def test_classes_of_five_nodes_by_directing_the_skeleton_in_every_way(dag: DAG) -> None:
    """networkx is the referee for cycles and V-structures."""
    wanted = {(frozenset((left, right)), middle) for left, middle, right in nx.dag.v_structures(dag.to_networkx())}
    expected = []
    for edges in product(*(((u, v), (v, u)) for u, v in dag.edges)):
        graph = nx.DiGraph(edges)
        if nx.is_directed_acyclic_graph(graph):
            found = {(frozenset((left, right)), middle) for left, middle, right in nx.dag.v_structures(graph)}
            if found == wanted:
                expected.append(frozenset(edges))
    members, cpdag = dag.cpdag().members(), dag.cpdag()
    assert len(members) == len(expected) == cpdag.count_members()
    assert {frozenset(member.edges) for member in members} == set(expected)
    assert all(member.nodes == dag.nodes for member in members)
    assert set(cpdag.directed) == set(frozenset.intersection(*expected))
    assert len(cpdag.directed) + len(cpdag.undirected) == len(dag.edges)


# ---------------------------------------------------------------------- small graphs by hand

# After the changelog of bnlearn (4.4 and 4.9) and caugi#162: compelled edges missed or invented.
BY_HAND = {
    "ACBCCD": ("AC BC CD", "", 1, "ACB"),
    "ACBCAB": ("", "AB AC BC", 6, ""),
    "ABBCCD": ("", "AB BC CD", 4, ""),
    "ACBCADBDCD": ("AC AD BC BD", "CD", 2, "ACB ADB"),
    "ABCBADBDCDBEDE": ("AB AD BE CB CD DE", "BD", 2, "ABC ADC"),
    "ABACBDCDAD": ("AD BD CD", "AB AC", 3, "BDC"),
}


@pytest.mark.parametrize("edges", BY_HAND)
def test_compelled_edges(edges: str) -> None:
    directed, undirected, size, triples = BY_HAND[edges]
    pairs = [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]
    for order in (pairs, pairs[::-1]):
        dag = DAG(order, nodes=sorted(set(edges)))
        cpdag = dag.cpdag()
        assert cpdag.directed == tuple(tuple(edge) for edge in directed.split())
        assert cpdag.undirected == tuple(tuple(edge) for edge in undirected.split())
        assert cpdag.count_members() == len(cpdag.members()) == size
        assert dag.v_structures() == tuple(tuple(triple) for triple in triples.split())


def test_a_graph_that_is_not_of_any_class() -> None:
    assert not PDAG([("A", "B")], [("A", "C")]).is_cpdag()


def test_the_class_of_the_learning_test_network() -> None:
    """A-B is reversible, all other edges compelled, as bnlearn reports; the moral graph has seven edges."""
    dag = DAG.from_string("[A][C][F][B|A][D|A:C][E|B:F]")
    assert str(dag.cpdag()) == "A -> D\nC -> D\nF -> E\nB -> E\nA - B"
    assert len(dag.moral_graph()) == 7
    other = DAG.from_string("[A][B|A][C][D|A][E|B][F]")
    assert (shd(dag, other), shd(dag, other, cpdag=True), shd(dag, DAG(nodes=dag.nodes), cpdag=True)) == (2, 4, 5)


# ---------------------------------------------------------------------- skeleton and moral graph


def test_moral_edges_are_not_repeated() -> None:
    dag = DAG([("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("A", "D")])
    assert dag.moral_graph().edges == (("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("B", "D"), ("C", "D"))
    assert dag.skeleton() == UndirectedGraph(dag.edges)


@given(dags(max_nodes=8))
def test_moral_graph_skeleton_and_v_structures_agree_with_networkx(dag: DAG) -> None:
    graph = dag.to_networkx()
    moral = nx.moral_graph(graph)
    assert dag.moral_graph() == UndirectedGraph(moral.edges, nodes=moral.nodes)
    assert dag.moral_graph().nodes == dag.nodes
    assert dag.skeleton() == UndirectedGraph(graph.to_undirected().edges, nodes=graph.nodes)
    for node in dag:
        assert set(dag.moral_graph().neighbors(node)) == set(moral[node])
    expected = {(frozenset((left, right)), middle) for left, middle, right in nx.dag.v_structures(graph)}
    found = dag.v_structures()
    assert {(frozenset((left, right)), middle) for left, middle, right in found} == expected
    assert len(found) == len(expected)
    assert all(dag.index(left) < dag.index(right) for left, _, right in found)
    assert list(found) == sorted(found, key=dag.indices)


# ---------------------------------------------------------------------- distance


# After causal-learn#110 and caugi#173: undirected edges ignored, node order counted.
@pytest.mark.parametrize(
    ("left", "right", "between_dags", "between_classes"),
    [
        ("[A][B][C|A:B]", "[C][A|C][B|C]", 2, 2),
        ("[A][B|A][C|B]", "[C][B|C][A|B]", 2, 0),
        ("[A][B|A][C|B][D|C]", "[A][C][B|A][D|C:B]", 2, 3),
        ("[A][B|A][C]", "[A][B][C]", 1, 1),
        ("[A][D][B|A][C|A:D]", "[D][C|D:A][B|A][A]", 0, 0),
    ],
)
def test_distances_by_hand(left: str, right: str, between_dags: int, between_classes: int) -> None:
    one, other = DAG.from_string(left), DAG.from_string(right)
    assert shd(one, other) == shd(other, one) == between_dags
    assert shd(one, other, cpdag=True) == shd(other, one, cpdag=True) == between_classes
    assert shd(one.cpdag(), other.cpdag()) == between_classes
    assert shd(one, other.cpdag(), cpdag=True) == between_classes
    assert shd(PDAG.from_dag(one), PDAG.from_dag(other)) == between_dags


@given(dags(min_nodes=6, max_nodes=6), dags(min_nodes=6, max_nodes=6))
def test_distance_counts_the_pairs_that_differ(left: DAG, right: DAG) -> None:
    one, other = left.to_networkx(), right.to_networkx()
    for graphs, distance in (
        ((one, other), shd(left, right)),
        ((left.cpdag().to_networkx(), right.cpdag().to_networkx()), shd(left, right, cpdag=True)),
    ):
        marks = [
            [(graph.has_edge(u, v), graph.has_edge(v, u)) for u, v in combinations("abcdef", 2)] for graph in graphs
        ]
        assert distance == sum(mark != mark_other for mark, mark_other in zip(*marks, strict=True))
    assert (shd(left, right, cpdag=True) == 0) == is_equivalent(left, right)


def test_distance_errors_name_the_difference() -> None:
    left, right = DAG([("a", "b")], nodes=["a", "b", "x"]), DAG([("a", "b")], nodes=["b", "a", "y", "z"])
    for ask in (shd, is_equivalent):
        with pytest.raises(GraphError, match="only the first has 'x'; only the second has 'y', 'z'"):
            ask(left, right)
    with pytest.raises(GraphError, match="a DAG and a PDAG cannot be compared edge by edge; cpdag=True"):
        shd(left, left.cpdag())


# ---------------------------------------------------------------------- PDAG


def test_pdags_are_values() -> None:
    pdag = PDAG([("b", "a")], [("c", "b"), ("b", "c")], nodes=["a", "b", "c", "z"])
    assert (pdag.directed, pdag.undirected) == ((("b", "a"),), (("b", "c"),))
    again = PDAG([("b", "a")], [("b", "c")], nodes=["z", "c", "b", "a"])
    assert again == pdag
    assert hash(again) == hash(pdag)
    assert pdag != PDAG([("b", "a")], [("b", "c")])
    assert pdag != PDAG([("b", "a"), ("b", "c")], nodes=pdag.nodes)
    assert pickle.loads(pickle.dumps(pdag)) == copy.deepcopy(pdag) == copy.copy(pdag) == pdag
    assert repr(pdag) == "<PDAG with 4 nodes, 1 directed and 1 undirected edges>"
    assert str(pdag) == "b -> a\nb - c\nz"
    assert set(pdag.to_networkx().edges) == {("b", "a"), ("b", "c"), ("c", "b")}
    with pytest.raises(AttributeError, match="PDAG is immutable"):
        pdag.directed = ()
    with pytest.raises(UnknownNameError, match="'q' is not a node"):
        pdag.index("q")


@pytest.mark.parametrize(
    ("directed", "undirected", "nodes", "message"),
    [
        (["ab", "bc", "ca"], [], None, "cycle: a -> b -> c -> a"),
        (["ab", "ba"], [], None, "cycle: a -> b -> a"),
        (["ab"], ["ba"], None, "a and b are joined by a directed and an undirected edge"),
        ([], ["aa"], None, "joins a node to itself"),
        ([], ["ab"], ["a"], "names 'b', but the declared nodes are 'a'"),
    ],
)
def test_impossible_pdags(directed: list[str], undirected: list[str], nodes: list[str] | None, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        PDAG([(edge[0], edge[1]) for edge in directed], [(edge[0], edge[1]) for edge in undirected], nodes)


def test_graphs_without_extension_are_named() -> None:
    square = PDAG([], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    for ask in (square.consistent_extension, square.members, square.count_members):
        with pytest.raises(
            GraphError, match="no DAG extends this graph without a cycle or a new V-structure among 'a', 'b'"
        ):
            ask()
    both_ways = PDAG([("a", "b"), ("d", "c")], [("b", "c")])
    with pytest.raises(GraphError, match=r"its other edges force .* and also"):
        both_ways.meek_closure()


def test_large_networks() -> None:
    rng = random.Random(7)
    names = [f"n{i}" for i in range(1000)]
    dag = DAG([(names[i], names[j]) for i, j in (sorted(rng.sample(range(1000), 2)) for _ in range(2000))], nodes=names)
    cpdag = dag.cpdag()
    assert is_equivalent(cpdag.consistent_extension(), dag)
    assert cpdag.meek_closure() == cpdag
    chain = DAG(pairwise([f"X{i}" for i in range(3000)]))
    assert chain.cpdag().directed == ()
    assert chain.cpdag().consistent_extension() == chain
    known = PDAG([("X2999", "X2998")], chain.edges[:-1], nodes=chain.nodes)
    assert known.meek_closure().undirected == ()


@given(dags(max_nodes=6), st.data())
def test_background_knowledge_closes_to_what_the_members_share(dag: DAG, data: st.DataObject) -> None:
    cpdag = dag.cpdag()
    loose = [edge for edge in dag.edges if edge not in cpdag.directed]
    known = data.draw(st.lists(st.sampled_from(loose), unique=True)) if loose else []
    rest = [edge for edge in loose if edge not in known]
    closed = PDAG([*cpdag.directed, *known], rest, nodes=dag.nodes).meek_closure()
    agreeing = [member for member in cpdag.members() if all(member.has_edge(u, v) for u, v in known)]
    for u, v in dag.edges:
        forward = sum(member.has_edge(u, v) for member in agreeing)
        assert ((u, v) in closed.directed) == (forward == len(agreeing))
        assert ((v, u) in closed.directed) == (forward == 0)


def test_a_network_stands_for_its_dag_in_comparisons() -> None:
    dag = DAG([("a", "b"), ("b", "c")])
    a, b, c = (Variable(name, [0, 1]) for name in "abc")
    net = BayesianNetwork([CPT.uniform(a), CPT.uniform(b, [a]), CPT.uniform(c, [b])])
    assert as_dag(net) is net.dag
    assert as_dag(dag) is dag
    assert shd(net, dag) == shd(dag.cpdag(), net, cpdag=True) == 0
    assert shd(net, DAG([("b", "a"), ("b", "c")])) == 1
    assert is_equivalent(net, DAG([("b", "a"), ("b", "c")]))
    assert not is_equivalent(DAG([("a", "b"), ("c", "b")]), net)


@pytest.mark.parametrize("other", ["[a][b|a]", [("a", "b")], None, nx.DiGraph([("a", "b")])])
@pytest.mark.parametrize("compare", [shd, is_equivalent])
def test_what_is_no_graph_cannot_be_compared(compare, other) -> None:
    for pair in ((DAG([("a", "b")]), other), (other, DAG([("a", "b")]))):
        with pytest.raises(GraphError, match=rf"not {type(other).__name__}: DAG.* or DAG.from_string"):
            compare(*pair)
