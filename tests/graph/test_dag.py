"""DAG: construction and its errors, neighbours, ancestry, new graphs, model strings, values among others."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import pairwise, permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgm.graph
from pgm.errors import FormatError, GraphError, UnknownNameError
from pgm.graph import DAG, UndirectedGraph
from tests.graph.strategies import dags

DIAMOND = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("A", "D")]
CHAIN = [f"X{i}" for i in range(1, 3001)]

# Names that break naive writers, after pydot#111 and networkx#5203.
HOSTILE = [
    "node",
    "graph",
    "SubGraph",
    "a:b",
    "x->y",
    'quo"te',
    "two\nlines",
    "back\\slash",
    "end\\",
    "naïve",
    "1.5",
    "-",
]


# ---------------------------------------------------------------------- construction


def test_nodes_are_declared_first_and_isolated_ones_kept() -> None:
    assert DAG([("b", "a"), ("a", "c")]).nodes == ("b", "a", "c")
    dag = DAG([("b", "a")], nodes=["z", "a", "b"])
    assert dag.nodes == ("z", "a", "b")
    assert dag.edges == (("b", "a"),)
    assert DAG(nodes="z").nodes == ("z",)
    assert len(DAG()) == 0


def test_a_repeated_edge_is_stored_once() -> None:
    dag = DAG([("A", "B"), ["A", "B"], ("A", "B")])  # type: ignore[list-item]
    assert dag.edges == (("A", "B"),)
    assert dag.parents("B") == ("A",)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("A", "A")], "the edge A -> A joins a node to itself"),
        ([("A", "B"), ("B", "A")], "cycle: A -> B -> A"),
        ([("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")], "cycle: A -> B -> C -> D -> A"),
        ([("A", "B"), ("C", "D"), ("B", "C"), ("D", "B")], "cycle: B -> C -> D -> B"),
    ],
)
def test_cycles_are_named_whole_and_end_with_the_edge_that_closes_them(
    edges: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(GraphError, match=f"{message}$"):
        DAG(edges)
    dag = DAG(edges[:-1], nodes=sorted({end for edge in edges for end in edge}))
    before = dag.edges
    with pytest.raises(GraphError, match=f"{message}$"):
        dag.add_edges(edges[-1:])
    assert dag.edges == before


def test_the_cycle_named_is_the_first_that_the_edges_close_and_the_shortest() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "d"), ("d", "a"), ("x", "y"), ("y", "x")]
    with pytest.raises(GraphError, match=r"cycle: a -> b -> d -> a$"):
        DAG(edges)


@pytest.mark.parametrize("order", list(permutations(DIAMOND)))
def test_acyclic_edges_are_accepted_in_any_order(order: tuple[tuple[str, str], ...]) -> None:
    dag = DAG()
    for edge in order:
        dag = DAG([*dag.edges, edge])
    assert dag == DAG(order) == DAG(DIAMOND)


@pytest.mark.parametrize(
    ("edges", "nodes", "message"),
    [
        ([("a", "")], None, "non-empty text, not ''"),
        ([("a", 1)], None, "non-empty text, not 1"),
        ([], ["a", None], "non-empty text, not None"),
        (["ab"], None, "an edge is a pair of node names, not 'ab'"),
        ([("a", "b", "c")], None, "an edge is a pair of node names, not"),
        ([{"a", "b"}], None, "an edge is a pair"),
        ("ab", None, "expected a list of edges, not 'ab'"),
        (3, None, "expected a list of edges, not 3"),
        ([], 3, "expected a node name or a list of node names, not 3"),
        ([], ["a", "b", "a"], "the node 'a' is declared twice"),
        ([("a", "b"), ("b", "typo")], ["a", "b"], "b -> typo names 'typo', but the declared nodes are 'a', 'b'"),
        ([("typo", "b")], ["a", "b"], "names 'typo'"),
    ],
)
def test_bad_input_names_the_offender(edges: object, nodes: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        DAG(edges, nodes)  # type: ignore[arg-type]


def test_nothing_can_be_set_or_deleted() -> None:
    dag = DAG([("a", "b")])
    for attribute in ("nodes", "edges", "other"):
        with pytest.raises(AttributeError, match="DAG is immutable"):
            setattr(dag, attribute, ())
        with pytest.raises(AttributeError, match="DAG is immutable"):
            delattr(dag, attribute)


# ---------------------------------------------------------------------- neighbours and ancestry


def test_parents_keep_the_order_of_their_edges() -> None:
    dag = DAG([("c", "x"), ("a", "x"), ("b", "x")], nodes=["a", "b", "c", "x"])
    assert dag.parents("x") == ("c", "a", "b")
    assert dag.family("x") == ("c", "a", "b", "x")
    assert dag.family("a") == ("a",)
    assert dag.parent_indices == ((), (), (), (2, 0, 1))
    assert dag.child_indices == ((3,), (3,), (3,), ())


def test_roots_and_leaves_are_in_declared_order() -> None:
    dag = DAG([("c", "x"), ("a", "y")], nodes=["y", "z", "c", "x", "a"])
    assert dag.roots == ("z", "c", "a")
    assert dag.leaves == ("y", "z", "x")


def test_unknown_names_are_errors_everywhere() -> None:
    dag = DAG([("a", "b")])
    for ask in (
        lambda: dag.parents("q"),
        lambda: dag.children("q"),
        lambda: dag.family("q"),
        lambda: dag.index("q"),
        lambda: dag.ancestors(["a", "q"]),
        lambda: dag.descendants("q"),
        lambda: dag.is_ancestor("a", "q"),
        lambda: dag.has_edge("a", "q"),
        lambda: dag.subgraph(["q"]),
        lambda: dag.remove_incoming("q"),
        lambda: dag.reverse_edge("a", "q"),
        lambda: dag.markov_blanket("q"),
    ):
        with pytest.raises(UnknownNameError, match="'q' is not a node; the nodes are 'a', 'b'"):
            ask()
    with pytest.raises(UnknownNameError, match=r"\['a'\] is not a node"):
        dag.parents(["a"])  # type: ignore[arg-type]


@given(dags())
def test_ancestry_agrees_with_networkx(dag: DAG) -> None:
    graph = dag.to_networkx()
    for node in dag:
        assert dag.ancestors(node) == tuple(other for other in dag if other in nx.ancestors(graph, node))
        assert dag.descendants(node) == tuple(other for other in dag if other in nx.descendants(graph, node))
        for other in dag:
            assert dag.is_ancestor(node, other) == (node in nx.ancestors(graph, other))
            assert dag.has_edge(node, other) == graph.has_edge(node, other)
            assert (other in dag.children(node)) == (node in dag.parents(other)) == graph.has_edge(node, other)


@given(dags(), st.data())
def test_ancestors_of_several_leave_all_of_them_out(dag: DAG, data: st.DataObject) -> None:
    start = data.draw(st.sets(st.sampled_from(dag.nodes), min_size=1))
    above = set().union(*(dag.ancestors(node) for node in start)) - start
    below = set().union(*(dag.descendants(node) for node in start)) - start
    assert dag.ancestors(start) == tuple(node for node in dag if node in above)
    assert dag.descendants(start) == tuple(node for node in dag if node in below)


@given(dags())
def test_topological_order_takes_the_first_declared_node_that_is_ready(dag: DAG) -> None:
    done: list[str] = []
    while len(done) < len(dag):  # the definition, spelled out
        ready = (node for node in dag if node not in done and set(dag.parents(node)) <= set(done))
        done.append(next(ready))
    assert dag.topological_order == tuple(done)
    assert list(dag.topological_order) == list(
        nx.lexicographical_topological_sort(dag.to_networkx(), key=dag.nodes.index)
    )


# ---------------------------------------------------------------------- new graphs


def test_builders_leave_the_old_graph_alone() -> None:
    dag = DAG([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "z"])
    assert dag.add_edges([("a", "c"), ("a", "b")]).edges == (("a", "b"), ("b", "c"), ("a", "c"))
    assert dag.remove_edges([("a", "b")]) == DAG([("b", "c")], nodes=["a", "b", "c", "z"])
    assert dag.reverse_edge("a", "b").edges == (("b", "a"), ("b", "c"))
    assert dag.remove_incoming(["b", "c"]) == DAG(nodes=["a", "b", "c", "z"])
    assert dag.remove_incoming("c").edges == (("a", "b"),)
    assert dag.subgraph(["c", "z", "b"]) == DAG([("b", "c")], nodes=["b", "c", "z"])
    assert dag.subgraph(["c", "z", "b"]).nodes == ("b", "c", "z")
    assert dag.edges == (("a", "b"), ("b", "c"))


def test_which_edges_of_a_triangle_can_be_reversed() -> None:
    triangle = DAG([("A", "B"), ("B", "C"), ("A", "C")])
    assert triangle.reverse_edge("A", "B") == DAG([("B", "A"), ("B", "C"), ("A", "C")])
    assert triangle.reverse_edge("B", "C") == DAG([("A", "B"), ("C", "B"), ("A", "C")])
    with pytest.raises(GraphError, match=r"cycle: A -> B -> C -> A$"):
        triangle.reverse_edge("A", "C")


def test_absent_edges_cannot_be_removed_or_reversed() -> None:
    dag = DAG([("a", "b")], nodes=["a", "b", "c"])
    with pytest.raises(GraphError, match=r"there is no edge a -> c$"):
        dag.remove_edges([("a", "b"), ("a", "c")])
    with pytest.raises(GraphError, match="there is no edge b -> a, only a -> b"):
        dag.reverse_edge("b", "a")
    with pytest.raises(GraphError, match="names 'new', but the declared nodes"):
        dag.add_edges([("a", "new")])


# ---------------------------------------------------------------------- conversion


def test_model_strings_as_bnlearn_writes_them() -> None:
    dag = DAG.from_string("[D|A:C][A][C] [B|A]\n")
    assert dag.nodes == ("D", "A", "C", "B")
    assert dag.parents("D") == ("A", "C")
    assert dag.to_string() == str(dag) == "[D|A:C][A][C][B|A]"
    assert DAG.from_string("") == DAG()
    assert DAG.from_string("[a b][-1.5][ä|a b:-1.5]").parents("ä") == ("a b", "-1.5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[A][B", r"position 3, not '\[B'"),
        ("[A]B[C]", r"position 3, not 'B\[C\]'"),
        ("A", "position 0, not 'A'"),
        ("[]", "position 0"),
        ("[A][B|A|A]", "position 3"),
        ("[A:B]", "position 0"),
        ("[A][B|]", "a parent of 'B' has no name, at position 6"),
        ("[A][B|A:]", "a parent of 'B' has no name"),
        ("[A][B|A:C]", "'B' has the parent 'C', but the nodes are 'A', 'B'"),
    ],
)
def test_broken_model_strings_name_the_place(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        DAG.from_string(text)


def test_model_strings_of_impossible_graphs() -> None:
    with pytest.raises(GraphError, match="cycle: B -> A -> B"):
        DAG.from_string("[A|B][B|A]")
    with pytest.raises(GraphError, match="'A' is declared twice"):
        DAG.from_string("[A][A]")
    for name in ("a:b", "a|b", "[a", "a]"):
        with pytest.raises(GraphError, match="cannot stand in a model string"):
            DAG(nodes=[name]).to_string()
        assert name in str(DAG(nodes=[name]))  # printing never fails


@given(dags())
def test_round_trips_keep_the_graph_and_its_order(dag: DAG) -> None:
    for again in (DAG.from_string(dag.to_string()), DAG.from_dot(dag.to_dot())):
        assert again == dag
        assert again.nodes == dag.nodes
        assert all(again.parents(node) == dag.parents(node) for node in dag)
    other = DAG.from_networkx(dag.to_networkx())
    assert (other, other.nodes) == (dag, dag.nodes)
    assert eval(repr(dag), {"DAG": DAG}).nodes == dag.nodes
    assert eval(repr(dag), {"DAG": DAG}).edges == dag.edges


def test_hostile_names_survive_dot_networkx_and_pickle() -> None:
    dag = DAG(pairwise(HOSTILE))
    for again in (DAG.from_dot(dag.to_dot()), DAG.from_networkx(dag.to_networkx()), pickle.loads(pickle.dumps(dag))):
        assert again == dag
        assert again.nodes == tuple(HOSTILE)
    assert all(name in str(dag) for name in HOSTILE)


def test_networkx_graphs_that_are_no_dags() -> None:
    assert DAG.from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b")])).edges == (("a", "b"),)
    with pytest.raises(GraphError, match="directed networkx graph"):
        DAG.from_networkx(nx.path_graph(["a", "b"]))
    with pytest.raises(GraphError, match="cycle"):
        DAG.from_networkx(nx.DiGraph([("a", "b"), ("b", "a")]))
    with pytest.raises(GraphError, match="non-empty text, not 0"):
        DAG.from_networkx(nx.DiGraph([(0, 1)]))


# ---------------------------------------------------------------------- values


@given(dags(), st.data())
def test_equality_and_hash_ignore_order(dag: DAG, data: st.DataObject) -> None:
    again = DAG(data.draw(st.permutations(dag.edges)), nodes=data.draw(st.permutations(dag.nodes)))
    assert again == dag
    assert hash(again) == hash(dag)
    assert dag != DAG(dag.edges, nodes=[*dag.nodes, "more"])
    if dag.edges:
        assert dag != dag.remove_edges(dag.edges[:1])
    assert dag != dag.edges


def test_container_manners() -> None:
    dag = DAG([("a", "b")], nodes=["b", "a"])
    assert list(dag) == ["b", "a"]
    assert "a" in dag
    assert "q" not in dag
    assert ["a"] not in dag
    assert (dag.index("a"), dag.indices(["a", "b", "a"]), dag.indices("b")) == (1, (1, 0), (0,))
    assert repr(DAG([("a", "b")])) == "DAG([('a', 'b')])"
    assert repr(dag) == "DAG([('a', 'b')], nodes=['b', 'a'])"
    assert repr(DAG(pairwise(CHAIN))) == "<DAG with 3000 nodes and 2999 edges>"


def test_undirected_graphs() -> None:
    graph = UndirectedGraph([("c", "a"), ("a", "b"), ("a", "c")], nodes=["a", "b", "c", "z"])
    assert graph.edges == (("a", "b"), ("a", "c"))
    assert (len(graph), list(graph)) == (2, [("a", "b"), ("a", "c")])
    assert ("c", "a") in graph
    assert ["a", "c"] in graph
    assert ("b", "c") not in graph
    assert ("a", "q") not in graph
    assert "ab" not in graph
    assert graph.neighbors("a") == ("b", "c")
    assert graph.neighbors("z") == ()
    again = UndirectedGraph([("a", "c"), ("b", "a")], nodes=["z", "c", "b", "a"])
    assert again == graph
    assert hash(again) == hash(graph)
    assert graph != UndirectedGraph(graph.edges)
    assert pickle.loads(pickle.dumps(graph)) == copy.deepcopy(graph) == graph
    assert set(graph.to_networkx().nodes) == set("abcz")
    assert str(graph) == "a - b\na - c\nz"
    with pytest.raises(GraphError, match="joins a node to itself"):
        UndirectedGraph([("a", "a")])
    with pytest.raises(AttributeError, match="UndirectedGraph is immutable"):
        graph.edges = ()


def test_a_chain_of_3000_nodes_needs_no_recursion() -> None:
    dag = DAG(list(pairwise(CHAIN))[::-1], nodes=CHAIN)
    assert dag.topological_order == tuple(CHAIN)
    assert len(dag.ancestors("X3000")) == len(dag.descendants("X1")) == 2999
    assert dag.is_ancestor("X1", "X3000")
    for again in (
        pickle.loads(pickle.dumps(dag)),
        copy.copy(dag),
        copy.deepcopy(dag),
        DAG.from_string(dag.to_string()),
    ):
        assert again == dag
        assert again.nodes == dag.nodes
    assert copy.deepcopy({"graph": dag})["graph"] is dag
    with pytest.raises(GraphError, match=r"cycle: X1 -> X2 -> X3 .* -> X3000 -> X1$"):
        dag.add_edges([("X3000", "X1")])


SCRIPT = """
from pgm.graph import DAG, PDAG, UndirectedGraph
names = {f"n{i}" for i in range(12)}
edges = {(f"n{i}", f"n{j}") for i in range(12) for j in range(i + 1, 12) if j == i + 1 or (i + 2 * j) % 5 == 0}
dag = DAG(edges, nodes=names)
print(dag.nodes, dag.edges, DAG(edges).nodes, dag.topological_order)
print(dag.ancestors({"n9", "n11"}), dag.descendants({"n0", "n1"}), dag.subgraph(names - {"n3"}).nodes)
print(dag.d_connected({"n1", "n2"}, {"n5", "n7", "n9"}), dag.minimal_d_separator({"n0"}, {"n1"}))
print(dag.explain_separation({"n1", "n4"}, {"n10"}, {"n5", "n7"}, max_trails=9))
print(dag.cpdag(), list(dag.moral_graph()), dag.v_structures(), UndirectedGraph(edges).nodes)
strip = {(f"n{j}", f"n{i}") for i in range(12) for j in (i + 1, i + 2) if j < 12}
print(PDAG(set(), strip, names).consistent_extension().edges, PDAG(set(), strip).members()[:9])
try:
    DAG(edges | {("n11", "n0"), ("n8", "n2")})
except ValueError as error:
    print(error)
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    outputs = set()
    for seed in ("0", "1", "77"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert "cycle" in outputs.pop()


def test_importing_the_graphs_loads_nothing_heavy() -> None:
    code = "import sys, pgm.graph; print(*{'networkx', 'scipy', 'pandas', 'pydot', 'sklearn'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_public_names_are_reachable() -> None:
    assert {"DAG", "PDAG", "UndirectedGraph", "Separation", "Trail", "Triple", "shd", "is_equivalent"} == set(
        pgm.graph.__all__
    )
    assert all(hasattr(pgm.graph, name) for name in pgm.graph.__all__)
