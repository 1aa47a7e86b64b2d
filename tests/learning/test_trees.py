"""Trees, against bnlearn's results, networkx, and all forests on four nodes."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import score
from pgm.learning.independence.mutual_information import mutual_information_matrix
from pgm.learning.trees import chow_liu, maximum_spanning_tree, tree_augmented
from tests.data.bundled import table


def edge_set(text):
    return {frozenset(pair.split("-")) for pair in text.split()}


def pairs_of(dag):
    return {frozenset(edge) for edge in dag.edges}


# ---------------------------------------------------------------- published results


@pytest.mark.parametrize(("name", "edges"), [
    ("learning.test", "A-B A-D B-E C-D E-F"),
    ("asia", "A-T S-L S-B T-E L-E B-D E-X"),
])  # fmt: skip
def test_chow_liu_of_bnlearn(name, edges):
    assert pairs_of(chow_liu(table(name))) == edge_set(edges)


@pytest.mark.parametrize(("name", "target", "graph"), [
    ("learning.test", "A", "[A][B|A][E|A:B][C|A:E][F|A:E][D|A:C]"),
    ("learning.test", "B", "[B][A|B][D|B:A][C|B:D][E|B:C][F|B:E]"),
    ("learning.test", "F", "[F][A|F][B|F:A][D|F:A][C|F:D][E|F:B]"),
    ("asia", "D", "[D][A|D][X|D:A][E|D:X][T|D:E][L|D:E][S|D:L][B|D:S]"),
])  # fmt: skip
def test_tree_bayes_of_bnlearn(name, target, graph):
    assert tree_augmented(table(name), target) == DAG.from_string(graph)


def test_hill_climbing_with_one_parent_finds_the_bic_forest():
    """bnlearn's hc(maxp = 1) reaches the same totals; a forest is the best graph of that kind."""
    for name, total in (("learning.test", -24922.522070), ("asia", -11347.006775)):
        assert score(chow_liu(table(name), score="bic"), table(name), "bic") == pytest.approx(total, abs=1e-6)


# ---------------------------------------------------------------- known reports


EXCLUSIVE = [("P", True, 4), ("P", False, 4), ("Q", True, 3), ("Q", False, 3), ("R", True, 2), ("R", False, 2),
             ("-", True, 1), ("-", False, 1)]  # fmt: skip


def exclusive_columns(order="PQRI"):
    rows = [(who, flag) for who, flag, n in EXCLUSIVE for _ in range(n)]
    columns = {name: [who == name for who, _ in rows] for name in "PQR"} | {"I": [flag for _, flag in rows]}
    return {name: columns[name] for name in order}


@pytest.mark.parametrize("root", "PQRI")
def test_columns_that_never_occur_together(root):
    """pomegranate#708: exclusive columns depend on each other; a column without information hangs at the first."""
    dag = chow_liu(exclusive_columns(), root=root)
    assert pairs_of(dag) == edge_set("P-Q P-R P-I")
    assert dag.roots == (root,)
    assert all(len(dag.parents(node)) == 1 for node in dag.nodes if node != root)
    forest = chow_liu(exclusive_columns(), root=root, score="aic")
    assert pairs_of(forest) == edge_set("P-Q P-R")


def test_the_tree_does_not_depend_on_the_order_of_columns():
    for order in permutations("PQRI"):
        tree = pairs_of(chow_liu(exclusive_columns(order)))
        assert {edge for edge in tree if "I" not in edge} == edge_set("P-Q P-R")


TAN_ROWS = [
    (0, 0, 0, 7, "pos", 5), (1, 1, 0, 7, "pos", 4), (1, 1, 1, 7, "pos", 1), (0, 1, 1, 7, "pos", 2),
    (1, 1, 0, 7, "neg", 1), (1, 1, 1, 7, "neg", 3), (0, 1, 1, 7, "neg", 1), (0, 0, 1, 7, "neg", 1),
    (1, 0, 1, 7, "neg", 6),
]  # fmt: skip


def tan_data(names=("F1", "F2", "F3", "Flat", "Class")):
    rows = [row for *row, n in TAN_ROWS for _ in range(n)]
    columns = dict(zip(("F1", "F2", "F3", "Flat", "Class"), zip(*rows, strict=True), strict=True))
    return {name: list(columns[name]) for name in names}


def test_the_class_is_never_the_root_and_a_constant_hangs_anywhere():
    """pgmpy#3298: an automatic root picked the class, and few features failed."""
    weights = mutual_information_matrix(tan_data(), "Class")
    assert weights[0, 1] == pytest.approx(0.16651417635364002, abs=1e-12)
    assert weights[0, 2] == pytest.approx(0.01038852334989187, abs=1e-12)
    assert weights[1, 2] == pytest.approx(0.12115352839605772, abs=1e-12)
    assert weights[3].tolist() == [0.0] * 5
    dag = tree_augmented(tan_data(), "Class")
    assert dag == DAG.from_string("[Class][F1|Class][F2|Class:F1][F3|Class:F2][Flat|Class:F1]")
    rooted = tree_augmented(tan_data(), "Class", root="F3")
    assert pairs_of(rooted) == pairs_of(dag)
    assert rooted.parents("F3") == ("Class",)


def test_few_features():
    assert tree_augmented(tan_data(["F1", "Class"]), "Class").edges == (("Class", "F1"),)
    assert tree_augmented(tan_data(["Class"]), "Class").edges == ()
    two = tree_augmented(tan_data(["F1", "F2", "Class"]), "Class")
    assert two == DAG.from_string("[Class][F1|Class][F2|Class:F1]")


def test_a_score_leaves_out_what_gains_nothing():
    """bnclassify on the car data: AIC weight of an edge is N times the information less the parameters added."""
    data = tan_data()
    dag = tree_augmented(data, "Class", score="bic")
    assert dag == DAG.from_string("[Class][F1|Class][F2|Class:F1][F3|Class][Flat|Class]")
    gains = 24 * mutual_information_matrix(data, "Class") - 2 * math.log(24) / 2
    assert gains[0, 1] > 0 > gains[1, 2]


# ---------------------------------------------------------------- the best of all


def random_table(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, n_rows)
    return {name: ((base + rng.integers(0, 2 + k, n_rows)) % 3).tolist() for k, name in enumerate("abcd")}


def all_forests(names):
    for chosen in product([False, True], repeat=6):
        edges = [edge for edge, there in zip(combinations(names, 2), chosen, strict=True) if there]
        graph = networkx.Graph(edges)
        graph.add_nodes_from(names)
        if networkx.is_forest(graph):
            yield DAG([edge for tree in networkx.connected_components(graph)
                       for edge in networkx.bfs_edges(graph, min(tree))], names)  # fmt: skip


@pytest.mark.parametrize("measure", ["loglik", "aic", "bic"])
@pytest.mark.parametrize("seed", range(3))
def test_no_forest_scores_better(seed, measure):
    data = Dataset(random_table(seed))
    best = max(score(dag, data, measure) for dag in all_forests(list("abcd")))
    assert score(chow_liu(data, score=measure), data, measure) == pytest.approx(best, abs=1e-9)


def test_likelihood_of_a_tree_is_the_sum_of_its_information():
    data = table("learning.test")
    names = list(data.names)
    matrix = mutual_information_matrix(data)
    tree = chow_liu(data)
    total = sum(matrix[names.index(u), names.index(v)] for u, v in tree.edges)
    gain = score(tree, data, "loglik") - score(DAG([], names), data, "loglik")
    assert gain == pytest.approx(5000 * total, rel=1e-10)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000), st.integers(1, 6))
def test_spanning_trees_are_those_of_networkx(size, seed, values):
    half = np.random.default_rng(seed).integers(-values, values + 1, (size, size)) / 7
    weights = np.triu(half, 1) + np.triu(half, 1).T
    graph = networkx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from((u, v, weights[u, v]) for u, v in combinations(range(size), 2))
    pairs = maximum_spanning_tree(weights)
    assert len(pairs) == size - 1
    assert networkx.is_connected(networkx.Graph([*pairs, (0, 0)]))
    best = networkx.maximum_spanning_tree(graph).size("weight")
    assert sum(weights[pair] for pair in pairs) == pytest.approx(best)
    forest = maximum_spanning_tree(weights, only_positive=True)
    positive = graph.edge_subgraph([edge for edge in graph.edges if weights[edge] > 0])
    assert sum(weights[pair] for pair in forest) == pytest.approx(
        networkx.maximum_spanning_tree(positive).size("weight")
    )
    assert all(weights[pair] > 0 for pair in forest)


def test_rounding_does_not_decide_ties():
    noise = np.triu(np.random.default_rng(0).normal(0, 1e-15, (6, 6)), 1)
    assert maximum_spanning_tree(np.ones((6, 6)) + noise + noise.T) == tuple((0, v) for v in range(1, 6))
    tiny = np.triu(np.full((3, 3), 1e-18), 1)
    tiny[0, 1] = 1.0
    assert maximum_spanning_tree(tiny + tiny.T, only_positive=True) == ((0, 1),)


def test_a_long_chain_needs_no_recursion():
    size = 1500
    weights = np.zeros((size, size))
    steps = np.arange(size - 1)
    weights[steps, steps + 1] = weights[steps + 1, steps] = 1.0
    assert len(maximum_spanning_tree(weights, only_positive=True)) == size - 1


# ---------------------------------------------------------------- constraints and errors


def test_required_and_forbidden_pairs():
    data = table("learning.test")
    dag = chow_liu(data, required=[("F", "A")], forbidden=[("B", "A")])
    assert frozenset("AF") in pairs_of(dag)
    assert frozenset("AB") not in pairs_of(dag)
    assert len(dag.edges) == 5
    alone = [("C", other) for other in "ABDEF"]
    assert len(chow_liu(data, forbidden=alone).edges) == 4
    with pytest.raises(GraphError, match="nodes A and B must be joined and must not be"):
        chow_liu(data, required=[("A", "B")], forbidden=[("B", "A")])
    with pytest.raises(GraphError, match="cycle through the nodes A and C"):
        chow_liu(data, required=[("A", "B"), ("B", "C"), ("C", "A")])
    with pytest.raises(GraphError, match="cycle through the nodes 0 and 2"):
        maximum_spanning_tree(np.ones((3, 3)), required=[(0, 1), (1, 2), (2, 0)])
    with pytest.raises(UnknownNameError, match="'Z'"):
        chow_liu(data, required=[("A", "Z")])


def test_errors():
    data = {"a": [0, 1], "b": [0, 1]}
    with pytest.raises(UnknownNameError, match="'c'"):
        chow_liu(data, root="c")
    with pytest.raises(UnknownNameError, match="'c'"):
        tree_augmented(data, "c")
    with pytest.raises(GraphError, match="must be one of them"):
        tree_augmented(data, "a", root="a")
    with pytest.raises(MissingDataError):
        chow_liu({"a": [0, None], "b": [0, 1]})
    with pytest.raises(DataError, match="equal for equivalent graphs, and lopsided is not"):
        chow_liu(data, score=Lopsided())
    for weights in ([[0, 1], [2, 0]], [0, 1], [[0, np.nan], [np.nan, 0]]):
        with pytest.raises(GraphError, match="symmetric matrix"):
            maximum_spanning_tree(weights)


class Lopsided:
    name = "lopsided"
    is_score_equivalent = False

    def local(self, counts):
        return counts[..., 0].sum(axis=-1) * 1.0


def test_one_column_and_no_rows():
    assert chow_liu({"a": [0, 1]}) == DAG([], ["a"])
    empty = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": [0, 1]})
    assert chow_liu(empty).edges == (("a", "b"),)
