"""Structural intervention distance, against interventional distributions computed from tables; edges compared."""

from __future__ import annotations

import random
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import GraphError, TooLargeError
from pgm.factors import CPT, Variable
from pgm.graph import DAG, PDAG, shd
from pgm.graph.distances import Comparison, compare, sid, sid_bounds
from pgm.network import BayesianNetwork
from tests.graph.strategies import dags


def random_dag(rng: random.Random, size: int, share: float) -> DAG:
    names = rng.sample("abcdefgh"[:size], size)
    edges = [pair for pair in combinations(names, 2) if rng.random() < share]
    return DAG(edges, nodes=rng.sample(names, size))


def random_tables(dag: DAG, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """For each node P(node | parents), an axis for every node of the graph in alphabetical order."""
    names = sorted(dag.nodes)
    tables = {}
    for node in names:
        shape = [2 if name == node or name in dag.parents(node) else 1 for name in names]
        values = rng.uniform(0.05, 0.95, shape)
        tables[node] = values / values.sum(axis=names.index(node), keepdims=True)
    return tables


def joint(tables: list[np.ndarray], size: int) -> np.ndarray:
    product = np.ones([2] * size)
    for table in tables:
        product = product * table
    return product


def wrong_effects(true: DAG, other: DAG, tables: dict[str, np.ndarray]) -> int:
    """Compare P(y | do(x)) by the truncated product with what adjusting for the other graph's parents gives."""
    names = sorted(true.nodes)
    observed = joint(list(tables.values()), len(names))
    wrong = 0
    for x, y in permutations(names, 2):
        axis = {name: place for place, name in enumerate(names)}
        rest = tuple(axis[name] for name in names if name not in (x, y))
        surgery = joint([table for node, table in tables.items() if node != x], len(names))
        effect = surgery.sum(axis=rest, keepdims=True)
        parents = other.parents(x)
        if y in parents:
            claimed = observed.sum(axis=tuple(axis[name] for name in names if name != y), keepdims=True)
        else:
            summed = tuple(axis[name] for name in names if name not in (x, y, *parents))
            family = observed.sum(axis=summed, keepdims=True)
            weights = family.sum(axis=(axis[x], axis[y]), keepdims=True)
            claimed = (family / family.sum(axis=axis[y], keepdims=True) * weights).sum(axis=rest, keepdims=True)
        wrong += not np.allclose(effect, np.broadcast_to(claimed, effect.shape), atol=1e-9)
    return wrong


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_distance_counts_the_effects_that_come_out_wrong(size: int) -> None:
    rng = random.Random(size)
    seen = set()
    for seed in range(60):
        true, other = random_dag(rng, size, rng.random()), random_dag(rng, size, rng.random())
        tables = random_tables(true, np.random.default_rng(seed))
        distance = sid(true, other)
        assert distance == wrong_effects(true, other, tables)
        seen.add(distance)
    assert len(seen) > size


def test_the_example_of_peters_and_buehlmann() -> None:
    """Figure 1: both graphs are one edge from the true one; an edge too many does no harm, a reversed one much."""
    edges = [("x1", "x2"), *[(x, y) for x in ("x1", "x2") for y in ("y1", "y2", "y3")]]
    true = DAG(edges)
    more, reversed_ = true.add_edges([("y1", "y2")]), true.reverse_edge("x1", "x2")
    assert (shd(true, more), shd(true, reversed_)) == (1, 1)
    assert (sid(true, more), sid(true, reversed_)) == (0, 8)


def test_the_empty_graph_takes_every_association_for_an_effect() -> None:
    chain = DAG.from_string("[a][b|a][c|b]")
    empty = DAG(nodes=["a", "b", "c"])
    assert sid(chain, empty) == 3  # that of b on a, of c on a and on b: none of them is one
    assert sid(empty, chain) == 0
    assert sid(chain, chain) == 0


@given(dags(min_nodes=6, max_nodes=6))
def test_an_order_that_holds_makes_no_mistakes(dag: DAG) -> None:
    complete = DAG(combinations(dag.topological_order, 2), nodes=dag.nodes[::-1])
    assert sid(dag, complete) == 0
    assert sid(dag, dag) == 0


@settings(max_examples=60)
@given(dags(min_nodes=5, max_nodes=5), dags(min_nodes=5, max_nodes=5))
def test_bounds_are_the_extremes_over_the_class(true: DAG, other: DAG) -> None:
    cpdag = other.cpdag()
    distances = [sid(true, member) for member in cpdag.members()]
    assert sid_bounds(true, cpdag) == (min(distances), max(distances))
    assert sid_bounds(true, PDAG.from_dag(other)) == (sid(true, other),) * 2
    assert sid_bounds(true, true.cpdag()).lower == 0


def test_bounds_with_background_knowledge() -> None:
    true = DAG.from_string("[a][b|a][c|b]")
    assert sid_bounds(true, true.cpdag()) == (0, 6)
    assert sid_bounds(true, PDAG([("a", "b"), ("b", "c")], [], nodes=["a", "b", "c"])) == (0, 0)


def test_a_class_too_large_for_bounds() -> None:
    complete = PDAG([], list(combinations("abcdef", 2)))
    true = DAG(combinations("abcdef", 2))
    assert sid_bounds(true, complete) == (0, 30)
    with pytest.raises(TooLargeError, match="edges among 'a', 'b', .* can be directed in more than 719 ways"):
        sid_bounds(true, complete, limit=719)
    assert sid_bounds(true, complete, limit=720).lower == 0


def test_what_cannot_be_compared() -> None:
    dag = DAG([("a", "b")])
    with pytest.raises(GraphError, match="expected a DAG or a network, not PDAG"):
        sid(dag, dag.cpdag())
    with pytest.raises(GraphError, match="expected a DAG or a network, not PDAG"):
        sid_bounds(dag.cpdag(), dag.cpdag())
    with pytest.raises(GraphError, match=r"expected a PDAG such as dag.cpdag\(\), not DAG; sid compares two DAGs"):
        sid_bounds(dag, dag)
    for ask in (sid, compare):
        with pytest.raises(GraphError, match="only the second has 'c'"):
            ask(dag, DAG([("a", "b"), ("b", "c")]))
    with pytest.raises(GraphError, match="cpdag=True compares their classes"):
        compare(dag, dag.cpdag())


def test_networks_and_deep_graphs() -> None:
    a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    net = BayesianNetwork([CPT.uniform(a), CPT.uniform(b, [a])])
    assert sid(net, net) == 0
    assert compare(net, net.dag).shd == 0
    names = [f"X{number}" for number in range(200)]
    chain = DAG(pairwise(names), nodes=names)
    assert sid(chain, DAG(nodes=names)) == 200 * 199 // 2
    assert sid_bounds(chain, chain.cpdag()).lower == 0


# ---------------------------------------------------------------------- edges


def test_edges_by_hand() -> None:
    true = DAG.from_string("[A][C][F][B|A][D|A:C][E|B:F]")
    found = DAG.from_string("[B][A|B][C][D|A][E|B:C][F]")
    result = compare(true, found)
    assert result == Comparison(
        correct=(("A", "D"), ("B", "E")),
        misdirected=(("B", "A"),),
        extra=(("C", "E"),),
        missing=(("C", "D"), ("F", "E")),
    )
    assert result.shd == shd(true, found) == 4
    assert (result.precision, result.recall, result.f1) == (2 / 4, 2 / 5, 4 / 9)
    assert (result.adjacency_precision, result.adjacency_recall, result.adjacency_f1) == (3 / 4, 3 / 5, 6 / 9)
    assert str(result).startswith("2 correct, 1 misdirected, 1 extra, 2 missing; SHD 4; precision 0.500, recall 0.400")


def test_nothing_found_and_nothing_to_find() -> None:
    empty, edge = DAG(nodes=["a", "b"]), DAG([("a", "b")])
    assert (compare(edge, empty).precision, compare(edge, empty).recall, compare(edge, empty).f1) == (1, 0, 0)
    assert (compare(empty, edge).precision, compare(empty, edge).recall, compare(empty, edge).f1) == (0, 1, 0)
    assert compare(empty, empty).f1 == compare(empty, empty).adjacency_f1 == 1


@given(dags(min_nodes=6, max_nodes=6), dags(min_nodes=6, max_nodes=6), st.booleans())
def test_comparison_agrees_with_the_distance_and_with_sets_of_edges(true: DAG, found: DAG, cpdag: bool) -> None:
    result = compare(true, found, cpdag=cpdag)
    assert result.shd == shd(true, found, cpdag=cpdag)
    n_found, n_true = len(found.edges), len(true.edges)
    n_correct = len(set(true.edges) & set(found.edges)) if not cpdag else len(result.correct)
    n_joined = len(set(map(frozenset, true.edges)) & set(map(frozenset, found.edges)))
    assert len(result.correct) == n_correct
    assert len(result.correct) + len(result.misdirected) == n_joined
    assert n_joined + len(result.extra) == n_found
    assert n_joined + len(result.missing) == n_true
    if n_correct:
        assert result.f1 == pytest.approx(2 / (1 / result.precision + 1 / result.recall))
        assert result.precision == n_correct / n_found
    mirrored = compare(found, true, cpdag=cpdag)
    assert (result.precision, result.adjacency_recall) == (mirrored.recall, mirrored.adjacency_precision)
