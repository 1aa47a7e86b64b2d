"""The members of a class: listed, counted by Clique-Picking, and drawn; against enumeration and closed formulas."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import combinations, islice, pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import GraphError, TooLargeError
from pgm.graph import DAG, PDAG
from tests.graph.strategies import dags


def random_chordal(rng: random.Random, size: int) -> list[tuple[str, str]]:
    """A connected chordal graph: each node joined to a clique of earlier ones."""
    graph = nx.Graph()
    graph.add_node(0)
    for node in range(1, size):
        clique = rng.choice([sorted(some) for some in nx.find_cliques(graph)])
        chosen = rng.sample(clique, rng.randint(1, len(clique)))
        graph.add_edges_from((node, other) for other in chosen)
    assert nx.is_chordal(graph)
    names = [f"n{number}" for number in rng.sample(range(size), size)]
    return [(names[u], names[v]) for u, v in graph.edges]


def count_by_definition(edges: list[tuple[str, str]]) -> int:
    """Direct every edge both ways; networkx looks for cycles and V-structures."""
    total = 0
    for way in product(*(((u, v), (v, u)) for u, v in edges)):
        graph = nx.DiGraph(way)
        total += nx.is_directed_acyclic_graph(graph) and not any(nx.dag.v_structures(graph))
    return total


@pytest.mark.parametrize("seed", range(40))
def test_sizes_of_small_chordal_graphs_by_definition(seed: int) -> None:
    rng = random.Random(seed)
    edges = random_chordal(rng, rng.randint(2, 6))
    if len(edges) <= 10:
        assert PDAG([], edges).count_members() == count_by_definition(edges)
    assert PDAG([], edges).count_members() == sum(1 for _ in PDAG([], edges).iter_members())


@pytest.mark.parametrize("seed", range(12))
def test_sizes_of_larger_chordal_graphs_by_listing(seed: int) -> None:
    rng = random.Random(seed)
    graph = PDAG([], random_chordal(rng, 10))
    number = graph.count_members()
    listed = list(islice(graph.iter_members(), 3000))
    assert len(set(listed)) == len(listed) == min(number, 3000)


@pytest.mark.parametrize("size", [4, 5, 8, 30])
def test_closed_formulas(size: int) -> None:
    """He, Jia and Yu 2015, theorem 5, for connected graphs by their number of edges."""
    names = [f"n{number}" for number in range(size)]
    path, complete = list(pairwise(names)), list(combinations(names, 2))
    assert PDAG([], path, names).count_members() == size
    assert PDAG([], [(names[0], name) for name in names[1:]], names).count_members() == size
    assert PDAG([], [*path, (names[0], names[2])], names).count_members() == 2 * size
    assert PDAG([], complete, names).count_members() == math.factorial(size)
    one_less = 2 * math.factorial(size - 1) - math.factorial(size - 2)
    assert PDAG([], complete[1:], names).count_members() == one_less
    two_less = (size**2 - size - 4) * math.factorial(size - 3)
    assert PDAG([], complete[2:], names).count_members() == two_less


def test_parts_multiply_and_directed_edges_between_them_do_not_matter() -> None:
    pairs = PDAG([], [(f"a{i}", f"b{i}") for i in range(200)])
    assert pairs.count_members() == 2**200
    with pytest.raises(TooLargeError, match=f"stands for {2**200} DAGs, more than the limit of 1000"):
        pairs.members()
    assert len(list(islice(pairs.iter_members(), 5))) == 5
    dag = DAG.from_string("[a][b|a][x][c|b:x][d|c][e|c:d]")
    assert dag.equivalence_class_size() == 2 * 2 == len(dag.cpdag().members())


def test_more_members_than_asked_for() -> None:
    complete = PDAG([], list(combinations("abcdefg", 2)))
    assert complete.count_members(limit=1) == 5040
    with pytest.raises(TooLargeError, match="the graph stands for 5040 DAGs, more than the limit of 1000"):
        complete.members()
    assert len(PDAG([], list(combinations("abcde", 2))).members(limit=120)) == 120
    known = PDAG([("a", "b")], [pair for pair in combinations("abcdefg", 2) if pair != ("a", "b")])
    assert known.count_members(limit=2520) == 2520
    for ask in (known.count_members, known.members, lambda: known.sample_member(0)):
        with pytest.raises(TooLargeError, match=r"edges among 'a', 'b', .* can be directed in more than 1000 ways"):
            ask()


def test_members_come_in_a_fixed_order() -> None:
    cpdag = DAG([("a", "b"), ("b", "c")]).cpdag()
    assert [str(dag) for dag in cpdag.members()] == ["[a][b|a][c|b]", "[a|b][b][c|b]", "[a|b][b|c][c]"]
    assert tuple(cpdag.iter_members()) == cpdag.members()


def test_a_graph_without_members() -> None:
    square = PDAG([], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    for ask in (square.members, square.iter_members, square.count_members, lambda: square.sample_member(0)):
        with pytest.raises(GraphError, match="no DAG extends this graph"):
            ask()
    assert PDAG(nodes=["a", "b"]).members() == (DAG(nodes=["a", "b"]),)
    assert PDAG(nodes=["a", "b"]).sample_member(1) == DAG(nodes=["a", "b"])


@settings(max_examples=40)
@given(dags(max_nodes=6), st.data())
def test_members_that_agree_with_background_knowledge(dag: DAG, data: st.DataObject) -> None:
    cpdag = dag.cpdag()
    loose = [edge for edge in dag.edges if edge not in cpdag.directed]
    known = data.draw(st.lists(st.sampled_from(loose), unique=True)) if loose else []
    graph = PDAG([*cpdag.directed, *known], [edge for edge in loose if edge not in known], nodes=dag.nodes)
    expected = {member for member in cpdag.iter_members() if all(member.has_edge(u, v) for u, v in known)}
    assert graph.count_members() == len(expected)
    assert set(graph.members()) == expected
    assert graph.sample_member(0) in expected
    assert dag.equivalence_class_size() == sum(1 for _ in cpdag.iter_members())


@pytest.mark.parametrize(
    "graph",
    [
        PDAG([], [("a", "b"), ("b", "c"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]),
        PDAG([], [("a", "b"), ("b", "c"), ("c", "d"), ("b", "e")], nodes=["e", "d", "c", "b", "a", "z"]),
        PDAG([("a", "b")], [("b", "c"), ("a", "c"), ("x", "y")]),
    ],
    ids=["clique_picking", "tree", "background"],
)
def test_each_member_is_drawn_equally_often(graph: PDAG) -> None:
    rng = np.random.default_rng(12)
    members = graph.members()
    drawn = Counter(graph.sample_member(rng) for _ in range(150 * len(members)))
    assert set(drawn) == set(members)
    chi2 = sum((drawn[member] - 150) ** 2 / 150 for member in members)
    freedom = len(members) - 1
    assert chi2 < freedom + 4 * math.sqrt(2 * freedom)


def test_the_same_seed_draws_the_same_member_of_a_large_class() -> None:
    names = [f"n{number}" for number in range(30)]
    band = PDAG([], [(names[i], names[j]) for i, j in combinations(range(30), 2) if j - i <= 5], names)
    member = band.sample_member(3)
    assert member == band.sample_member(3)
    assert member != band.sample_member(4)
    assert member.cpdag() == band


def test_deep_classes_need_no_recursion() -> None:
    chain = PDAG([], list(pairwise(f"X{i}" for i in range(3000))))
    assert chain.count_members() == 3000
    assert chain.sample_member(0).cpdag() == chain
    nested = PDAG([], [(f"n{i}", f"n{j}") for i, j in combinations(range(120), 2) if j - i <= 40 or i < 30])
    assert nested.sample_member(0).cpdag() == nested
