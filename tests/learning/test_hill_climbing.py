"""Hill climbing, against the totals that R's bnlearn prints and against all graphs on three nodes."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset, count_source
from pgm.errors import GraphError, MissingDataError, TooLargeError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import Constraints, SearchResult, fit_parameters, hill_climb, score
from pgm.learning.scores import family_scores
from pgm.learning.scores.scoring import SCORING_COPIES
from pgm.learning.search.neighbourhood import Neighbourhood, Step
from pgm.learning.search.order_search import order_search
from tests.data.bundled import TRUE_GRAPHS, table

PUBLISHED = [
    ("learning.test", "bic", {}, -24006.734232, 5),
    ("learning.test", "aic", {}, -23873.131772, 5),
    ("learning.test", "loglik", {}, -23606.161817, 15),
    ("learning.test", "bic", {"max_parents": 1}, -24922.522070, 5),
    ("learning.test", "bic", {"required": [("A", "F")]}, -24014.601014, 6),
    ("learning.test", "bic", {"forbidden": [("A", "B"), ("C", "D")]}, -24023.114080, 6),
    ("asia", "bic", {}, -11107.293309, 7),
    ("asia", "aic", {}, -11048.103509, 11),
    ("asia", "bic", {"max_parents": 1}, -11347.006775, 6),
    ("lizards", "bic", {}, -817.247197, 2),
    ("insurance", "bic", {}, -266113.028473, 50),
    ("insurance", "aic", {}, -262169.854835, 57),
    ("alarm", "bic", {}, -220761.687713, 53),
    ("alarm", "aic", {}, -216846.388513, 72),
    ("hailfinder", "bic", {}, -990474.753096, 64),
]
"""Data, score, constraints; total and number of edges that bnlearn's hc() finds."""


@pytest.mark.parametrize(("name", "measure", "constraints", "total", "n_edges"), PUBLISHED)
def test_published_results(name, measure, constraints, total, n_edges):
    result = hill_climb(table(name), measure, **constraints)
    assert result.score == pytest.approx(total, abs=1e-6)
    assert len(result.dag.edges) == n_edges
    assert result.score == pytest.approx(score(result.dag, table(name), measure), abs=1e-7)


@pytest.mark.parametrize(("name", "constraints", "graph"), [
    ("learning.test", {}, TRUE_GRAPHS["learning.test"]),
    ("learning.test", {"forbidden": [("A", "B"), ("C", "D")]}, "[B][F][A|B][E|B:F][D|A][C|A:D]"),
    ("asia", {}, "[A][S][T][L|S][B|S][E|T:L][X|E][D|B:E]"),
    ("lizards", {}, "[Species][Diameter|Species][Height|Species]"),
])  # fmt: skip
def test_published_graphs(name, constraints, graph):
    assert hill_climb(table(name), **constraints).dag == DAG.from_string(graph)


# ---------------------------------------------------------------- three variables, all 25 graphs

COUNTS = {
    (0, 0, 0): 28, (0, 0, 1): 7, (0, 1, 0): 3, (0, 1, 1): 10,
    (1, 0, 0): 9, (1, 0, 1): 3, (1, 1, 0): 10, (1, 1, 1): 30,
}  # fmt: skip
BEST = -190.72743749193745


def three_columns(order="ABC", rename=None, shuffle=None):
    rows = [row for row, number in COUNTS.items() for _ in range(number)]
    if shuffle is not None:
        np.random.default_rng(shuffle).shuffle(rows)
    columns = dict(zip("ABC", zip(*rows, strict=True), strict=True))
    return {(rename or {}).get(name, name): list(columns[name]) for name in order}


def all_graphs(names):
    """Return every DAG on three names."""
    found = []
    for choice in product([None, 0, 1], repeat=3):
        edges = [
            pair if way == 0 else pair[::-1]
            for pair, way in zip(combinations(names, 2), choice, strict=True)
            if way is not None
        ]
        if all(set(edges) != {(a, b), (b, c), (c, a)} for a, b, c in permutations(names)):
            found.append(DAG(edges, nodes=list(names)))
    assert len(found) == 25
    return found


@pytest.mark.parametrize("order", ["".join(order) for order in permutations("ABC")])
@pytest.mark.parametrize("rename", [None, {"A": "é", "B": "Ж", "C": "漢"}, {"A": "z", "B": "a", "C": "m"}])
@pytest.mark.parametrize("shuffle", [None, 0])
def test_the_class_does_not_depend_on_order_and_names(order, rename, shuffle):  # erdogant/bnlearn#46
    result = hill_climb(three_columns(order, rename, shuffle))
    a, b, c = ((rename or {}).get(name, name) for name in "ABC")
    assert result.score == pytest.approx(BEST, abs=1e-9)
    assert {frozenset(edge) for edge in result.dag.edges} == {frozenset((a, b)), frozenset((b, c))}
    assert not {(a, b), (c, b)} <= set(result.dag.edges), "no collider"


def test_ties_go_to_the_first_columns():
    assert hill_climb(three_columns("ABC")).dag.edges == (("A", "B"), ("B", "C"))
    assert hill_climb(three_columns("CAB")).dag == hill_climb(three_columns("CAB", shuffle=1)).dag


def test_the_result_does_not_depend_on_the_hash_seed():
    code = (
        "from tests.learning.test_hill_climbing import three_columns, hill_climb\n"
        "result = hill_climb(three_columns('BCA', {'A': 'x'}), forbidden={('x', 'B'), ('C', 'B')})\n"
        "print(result.dag.edges, repr(result.score), result.trace)"
    )
    outputs = set()
    for seed in range(5):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        outputs.add(run.stdout)
    assert len(outputs) == 1


TASKS = {
    "forbidden": ({"forbidden": [("A", "B"), ("C", "B")]}, BEST),
    "required": ({"required": [("C", "A")]}, -195.25769868369434),
    "required and found anyway": ({"required": [("A", "B")]}, BEST),
    "forbidden both ways": ({"forbidden": [("A", "B"), ("B", "A")]}, -199.75559077670835),
    "one parent": ({"max_parents": 1, "required": [("C", "A")]}, -199.75559077670835),
    "everything forbidden": ({"forbidden": list(permutations("ABC", 2))}, -214.59177994414677),
    "tiers": ({"tiers": [["C"], ["B"], ["A"]]}, BEST),
    "no parents": ({"max_parents": 0}, -214.59177994414677),
    "required against the order": ({"required": [("C", "B")]}, BEST),
    "required and its reverse forbidden": ({"required": [("C", "A")], "forbidden": [("A", "C")]}, -195.25769868369434),
    "required twice": ({"required": [("C", "A"), ("C", "A")], "max_parents": 1}, -199.75559077670835),
    "required, forbidden, one parent": (
        {"required": [("A", "C")], "forbidden": [("C", "B")], "max_parents": 1}, -202.209363871898
    ),
    "a variable in no tier": ({"tiers": [["C"], ["A"]], "forbidden": [("C", "B")]}, BEST),
    "a path backwards through a variable in no tier": (
        {"tiers": [["A"], ["C"]], "forbidden": [("A", "B"), ("B", "C")], "required": [("C", "B"), ("B", "A")]}, BEST
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "best"), TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("order", ["".join(order) for order in permutations("ABC")])
def test_constraints_hold_and_the_best_allowed_graph_is_found(constraints, best, order):  # pgmpy#1237
    data = three_columns(order)
    result = hill_climb(data, **constraints)
    edges, limit = set(result.dag.edges), constraints.get("max_parents", 3)
    required, forbidden = set(constraints.get("required", ())), set(constraints.get("forbidden", ()))
    for earlier, later in combinations(constraints.get("tiers", ()), 2):
        forbidden |= set(product(later, earlier))
    assert required <= edges
    assert not forbidden & edges
    assert all(len(result.dag.parents(node)) <= limit for node in result.dag.nodes)
    allowed = [
        graph for graph in all_graphs("ABC")
        if required <= set(graph.edges) and not forbidden & set(graph.edges)
        and all(len(graph.parents(node)) <= limit for node in graph.nodes)
    ]  # fmt: skip
    assert max(score(graph, data) for graph in allowed) == pytest.approx(best, abs=1e-9)
    assert result.score == pytest.approx(best, abs=1e-9)


def test_requiring_an_edge_that_is_found_anyway_changes_nothing_else():
    free, bound = hill_climb(three_columns()), hill_climb(three_columns(), required=[("A", "B")])
    assert free.dag == bound.dag
    assert not hill_climb(table("asia"), required=[("S", "B")]).dag.has_edge("B", "S")


@pytest.mark.parametrize(("constraints", "error", "fault"), [
    ({"required": [("A", "B")], "forbidden": [("A", "B")]}, GraphError, "A -> B"),
    ({"required": [("A", "B"), ("B", "C"), ("C", "A")]}, GraphError, "A -> B -> C -> A"),
    ({"required": [("A", "Z")]}, UnknownNameError, "'Z'"),
    ({"required": [("A", "C"), ("B", "C")], "max_parents": 1}, GraphError, "'C' has 2 parents"),
    ({"forbidden": [("B", "C")], "start": DAG([("B", "C")])}, GraphError, "start.*the edge B -> C is forbidden"),
    ({"start": DAG([("A", "Z")])}, UnknownNameError, "'Z'"),
    ({"start": DAG([("A", "C"), ("B", "C")]), "max_parents": 1}, GraphError, "start.*'C' has 2 parents, 'A', 'B'"),
    ({"start": DAG([("A", "C")]), "required": [("C", "A")]}, GraphError, "start.*required.*cycle: A -> C -> A"),
    ({"start": "[A][B|A]"}, GraphError, "not str: DAG"),
    ({"max_iter": -1}, GraphError, "max_iter must be a whole number from 0, or None, not -1"),
    ({"max_iter": "3"}, GraphError, "max_iter .*'3'"),
    ({"max_iter": True}, GraphError, "max_iter .*True"),
])  # fmt: skip
def test_contradictions_are_refused_before_searching(monkeypatch, constraints, error, fault):  # pgmpy#1348
    monkeypatch.setattr(Dataset, "count_extensions", None)
    with pytest.raises(error, match=fault):
        hill_climb(three_columns(), **constraints)


def test_bad_data_and_scores():
    with pytest.raises(MissingDataError, match=r"'x \(1 of 2\)'"):
        hill_climb({"x": [0, None], "y": [1, 0]})
    with pytest.raises(UnknownNameError, match="'bdex'"):
        hill_climb(three_columns(), "bdex")


def test_tables_that_grow_too_large_name_the_node():
    columns = {name: [0, 0, 1, 1, 0] for name in "abcd"}
    data = Dataset(columns, states={name: range(700) for name in columns})
    with pytest.raises(TooLargeError, match=r"'[ab]' and its 1 parent, extended.* and worked on.*2,401,000,000 cells"):
        hill_climb(data, "loglik")
    assert len(hill_climb(data, "loglik", max_parents=1).dag.edges) == 3


# ---------------------------------------------------------------- starting elsewhere, stopping early


def test_starting_from_a_graph():
    start = DAG([("C", "A")], nodes=["A", "C", "B"])
    result = hill_climb(three_columns(), start=start)
    assert result.score == pytest.approx(BEST, abs=1e-9)
    assert result.trace[0].score - result.trace[0].delta == pytest.approx(score(start, three_columns()), abs=1e-9)
    assert hill_climb(three_columns(), start=result.dag).trace == ()
    net = fit_parameters(start, three_columns())
    assert hill_climb(three_columns(), start=net) == hill_climb(three_columns(), start=start)
    assert hill_climb(three_columns(), start=DAG([("C", "A")])).dag == result.dag, "B is added"


@pytest.mark.parametrize("seed", range(4))
def test_climbing_back_from_a_random_graph_deletes_and_reverses(seed):
    data = table("asia")
    rng = np.random.default_rng(seed)
    order = rng.permutation(data.names).tolist()
    start = DAG([edge for edge in combinations(order, 2) if rng.random() < 0.4], nodes=data.names)
    result = hill_climb(data, start=start, max_parents=6)
    assert {"delete"} <= {move.kind for move in result.trace}
    check_trace(data, start, result)
    check_local_optimum(data, result)


def test_stopping_early():
    result = hill_climb(table("asia"), max_iter=3)
    assert len(result.trace) == len(result.dag.edges) == 3
    assert result.trace == hill_climb(table("asia")).trace[:3]
    assert hill_climb(table("asia"), max_iter=0).dag.edges == ()


def check_trace(data, start, result):
    """Repeat the moves with the graph's own operations, and score every graph afresh."""
    graph = start
    for move in result.trace:
        before, graph = graph, after_move(graph, move.kind, *move.edge)
        assert move.score == pytest.approx(score(graph, data), abs=1e-7)
        assert move.delta == pytest.approx(score(graph, data) - score(before, data), abs=1e-7)
    assert graph == result.dag


def after_move(graph, kind, parent, child):
    if kind == "add":
        return graph.add_edges([(parent, child)])
    return graph.remove_edges([(parent, child)]) if kind == "delete" else graph.reverse_edge(parent, child)


def neighbours(dag):
    """Return every DAG that one move makes."""
    for edge in dag.edges:
        yield dag.remove_edges([edge])
        try:
            yield dag.reverse_edge(*edge)
        except GraphError:
            continue
    for parent, child in permutations(dag.nodes, 2):
        if not dag.has_edge(parent, child) and not dag.has_edge(child, parent) and not dag.is_ancestor(child, parent):
            yield dag.add_edges([(parent, child)])


def check_local_optimum(data, result, measure="bic"):
    assert all(score(graph, data, measure) <= result.score + 1e-6 for graph in neighbours(result.dag))


class NoGains:
    """Scores of nothing, so that only the legality of moves counts."""

    n_scores = 0

    def neighbours(self, child, parents, grow):
        return 0.0, np.zeros(6)


@pytest.mark.parametrize("seed", range(6))
def test_exactly_the_legal_moves_are_considered(seed):
    """A random walk among graphs on six nodes; every neighbour is built to see whether it is a DAG."""
    rng = np.random.default_rng(seed)
    names = list("fbdace")
    required, forbidden, tiers = [("f", "c")], {("a", "b"), ("d", "f"), ("e", "c")}, [["b", "c"], ["d"]]
    constraints = Constraints(names, required, forbidden, tiers, max_parents=3)
    forbidden |= {("d", "b"), ("d", "c")}
    state = Neighbourhood(constraints, DAG(required, nodes=names), NoGains())
    graph = state.graph()
    for _ in range(60):
        moves = [
            (kind, int(parent), int(child))
            for kind, (parents, children) in state._legal_moves(least=-1.0)
            for parent, child in zip(parents, children, strict=True)
        ]
        found = [after_move(graph, kind, names[parent], names[child]) for kind, parent, child in moves]
        expected = {
            neighbour
            for neighbour in neighbours(graph)
            if neighbour.has_edge("f", "c")
            and not forbidden & set(neighbour.edges)
            and all(len(neighbour.parents(name)) <= 3 for name in names)
        }
        assert len(found) == len(expected)
        assert set(found) == expected
        choice = int(rng.integers(len(moves)))
        state.take(Step(*moves[choice], 0.0))
        graph = found[choice]
        assert state.graph() == graph


@pytest.mark.parametrize("name", ["learning.test", "asia", "lizards"])
@pytest.mark.parametrize("measure", ["bic", "aic"])
def test_no_single_move_improves_the_result(name, measure):
    result = hill_climb(table(name), measure)
    check_local_optimum(table(name), result, measure)
    if measure == "bic":
        check_trace(table(name), DAG(nodes=table(name).names), result)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_data(draws):
    """Dependent columns with few rows, of which many graphs tie."""
    n_rows, n_columns = draws.draw(st.integers(1, 30)), draws.draw(st.integers(1, 4))
    rng = np.random.default_rng(draws.draw(st.integers(0, 1000)))
    columns = [rng.integers(0, 2, n_rows)]
    for _ in range(n_columns - 1):
        columns.append(np.where(rng.random(n_rows) < 0.7, columns[-1], rng.integers(0, 3, n_rows)))
    data = Dataset({f"x{i}": column for i, column in enumerate(columns)})
    measure = draws.draw(st.sampled_from(["bic", "aic", "loglik"]))
    result = hill_climb(data, measure)
    assert result.score == pytest.approx(score(result.dag, data, measure), abs=1e-9)
    check_local_optimum(data, result, measure)
    assert all(later.score > earlier.score for earlier, later in pairwise(result.trace))


def test_weights_are_repeated_rows():
    rows = list(COUNTS)
    weighted = Dataset(dict(zip("ABC", zip(*rows, strict=True), strict=True)), weights=list(COUNTS.values()))
    assert hill_climb(weighted) == hill_climb(three_columns())
    halves = Dataset(weighted, weights=weighted.weights / 2)
    doubled = Dataset({name: column * 2 for name, column in three_columns().items()}, weights=[0.25] * 200)
    assert hill_climb(halves).score == pytest.approx(hill_climb(doubled).score, abs=1e-9)


def test_scoring_in_pieces_changes_nothing(monkeypatch):
    expected = hill_climb(table("insurance"))
    monkeypatch.setattr(family_scores, "_BLOCK", 500)
    assert hill_climb(table("insurance")) == expected


def test_very_many_constant_columns():
    data = {**{f"K{i}": ["only"] * 100 for i in range(70)}, **three_columns()}
    result = hill_climb(data)
    assert result.score == pytest.approx(BEST, abs=1e-9)
    required = [(f"K{i}", "A") for i in range(64)]
    with pytest.raises(TooLargeError, match=r"'A' and its 64 parents, extended .*66 axes"):
        hill_climb(data, required=required)


def test_constant_columns_stay_alone():
    data = {**three_columns(), "K": ["only"] * 100}
    result = hill_climb(data, "loglik")
    assert not [edge for edge in result.dag.edges if "K" in edge]
    assert hill_climb({"K": ["only"]}).dag == DAG(nodes=["K"])


class Partitions:
    """Rows that live in several places: each place counts, and the counts are added up."""

    def __init__(self, parts):
        self.parts = parts
        self.variables = parts[0].variables
        self.n_rows = sum(part.n_rows for part in parts)

    def count(self, families):
        return [sum(tables) for tables in zip(*(part.count(families) for part in self.parts), strict=True)]


def test_learning_asks_for_nothing_but_counts():
    parts = Partitions(list(table("asia").chunks(1700)))
    assert hill_climb(parts) == hill_climb(table("asia"))
    result = hill_climb(parts, max_parents=1)
    assert score(result.dag, parts) == pytest.approx(-11347.006775, abs=1e-6)
    assert order_search(parts).score == pytest.approx(-11107.293309, abs=1e-6)


@pytest.mark.parametrize("scope", [[], ["T"], ["T", "D"]])
def test_answers_put_together_from_counts(scope):
    data = table("asia")
    source = count_source(Partitions(list(data.chunks(1700))))
    assert (source.count_pairs(scope, 2) == data.count_pairs(scope, 2)).all()
    assert source.total_weight == data.total_weight
    if scope:
        assert (source.count_extensions(scope[-1], scope[:-1]) == data.count_extensions(scope[-1], scope[:-1])).all()
        for found, expected in zip(source.count_occupied(scope), data.count_occupied(scope), strict=True):
            assert (found == expected).all()


# ---------------------------------------------------------------- the record


def test_the_record_prints():
    result = hill_climb(table("asia"))
    assert isinstance(result, SearchResult)
    assert repr(result) == (
        "<SearchResult: bic -11107.2933, 8 nodes, 7 edges, hill climbing, "
        f"{len(result.trace)} moves, {result.n_scores} local scores>"
    )
    assert str(result).splitlines()[1].split()[:4] == [
        "add",
        *result.trace[0].edge[:1],
        "->",
        *result.trace[0].edge[1:],
    ]
    assert str(hill_climb(table("alarm"))).splitlines()[-1] == "  ... 36 more moves"
    assert math.isclose(result.trace[-1].score, result.score)
    assert result.n_scores >= 8 * 8
    with pytest.raises(AttributeError):
        result.score = 0.0


def test_columns_that_tell_rows_apart_are_refused_before_counting():
    """The extended table alone, 15,000 times 30,000 counts, would fit; the work on its half would not."""
    numbers = np.arange(15_000)
    with pytest.raises(
        TooLargeError, match=r"'id' and its 0 parents.* 'id' has 15,000 states in 15,000 rows, 'serial'"
    ):
        hill_climb({"id": numbers, "serial": numbers[::-1]})


def test_the_size_check_counts_what_is_needed():
    numbers = np.arange(1500)
    data = Dataset({"id": numbers, "serial": numbers[::-1]})
    tracemalloc.start()
    hill_climb(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    table = 8 * 1500**2
    assert 4 * table < peak < (2 + SCORING_COPIES) * table + 2**26
