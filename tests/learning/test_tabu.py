"""Tabu search and restarts, against the totals that R's bnlearn prints and against all graphs of four nodes."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from pgm.errors import GraphError, MissingDataError
from pgm.graph.dag import DAG
from pgm.learning import Constraints, hill_climb, score
from pgm.learning.scores.bayesian import BDeu
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.search.neighbourhood import Neighbourhood
from pgm.learning.search.tabu import _leading_back, tabu_search
from tests.data.bundled import table
from tests.learning.test_parent_sets import random_data


@pytest.mark.parametrize(("name", "options", "total", "n_edges"), [
    ("insurance", {}, -265500.923940, None),
    ("alarm", {}, -220727.331509, 51),
    ("alarm", {"tabu": 30}, -220180.912544, 50),
    ("alarm", {"score": "bdeu"}, -218512.265817, None),
    ("hailfinder", {}, -990474.753096, 64),
])  # fmt: skip
def test_published_results(name, options, total, n_edges):
    result = tabu_search(table(name), **options)
    assert result.score == pytest.approx(total, abs=1e-6)
    assert n_edges is None or len(result.dag.edges) == n_edges
    fresh = score(result.dag, table(name), options.get("score", "bic"))
    assert result.score == pytest.approx(fresh, abs=1e-6)


def replay(names, trace):
    edges = set()
    for move in trace:
        parent, child = move.edge
        if move.kind != "add":
            edges.remove((parent, child))
        if move.kind != "delete":
            edges.add((parent, child) if move.kind == "add" else (child, parent))
    return DAG(edges, names)


@pytest.mark.parametrize("seed", range(4))
def test_the_trace_leads_to_the_best_graph(seed):
    data = random_data(seed)
    result = tabu_search(data, "aic", tabu=5)
    assert set(replay(data.names, result.trace).edges) == set(result.dag.edges)
    scores = [score(DAG(nodes=data.names), data, "aic"), *(move.score for move in result.trace)]
    assert result.score == pytest.approx(max(scores), abs=1e-9)
    gains = [move.delta for move in result.trace]
    assert np.diff(scores) == pytest.approx(gains, abs=1e-7)


def all_graphs(names):
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    for order in permutations(names):
        place = {name: number for number, name in enumerate(order)}
        directed = [(a, b) if place[a] < place[b] else (b, a) for a, b in pairs]
        for chosen in product([False, True], repeat=len(pairs)):
            yield DAG([edge for edge, keep in zip(directed, chosen, strict=True) if keep], names)


def test_no_graph_is_visited_again_soon():
    data = random_data(0, n_columns=4)
    constraints = Constraints(data.names)
    state = Neighbourhood(constraints, constraints.starting_graph(None), FamilyScores(data, "bic"))
    seen = []
    for _ in range(40):
        key = state.key()
        assert key not in seen[-9:]
        seen.append(key)
        step = state.best_step(-np.inf, list(_leading_back(key, seen[-10:], 4)))
        assert step is not None
        state.take(step)
    assert len(set(seen)) > 10


@pytest.mark.parametrize("seed", range(3))
def test_best_of_all_graphs_of_four_nodes(seed):
    data = random_data(seed, n_columns=4)
    best = max(score(graph, data, BDeu(5)) for graph in set(all_graphs(data.names)))
    assert tabu_search(data, BDeu(5), tabu=20).score == pytest.approx(best, abs=1e-8)
    assert hill_climb(data, BDeu(5), restarts=10).score == pytest.approx(best, abs=1e-8)


def test_constraints_hold_all_the_way():
    data = random_data(1)
    given = {"required": [("v1", "v2")], "forbidden": [("v0", "v3")], "tiers": [["v4"], ["v0"]], "max_parents": 2}
    for result in (tabu_search(data, "aic", **given), hill_climb(data, "aic", **given, restarts=5)):
        Constraints(data.names, **given).check(result.dag)


def test_restarts_never_lose_and_repeat_themselves():
    data = table("insurance").head(3000)
    plain, again = hill_climb(data), hill_climb(data, restarts=8)
    assert again.score > plain.score
    assert again == hill_climb(data, restarts=8)
    assert again.score == pytest.approx(score(again.dag, data), abs=1e-6)
    assert set(replay(data.names, again.trace).edges) == set(again.dag.edges)


@pytest.mark.parametrize(("search", "options", "fault"), [
    (tabu_search, {"tabu": 0}, "tabu must be a whole number from 1, not 0"),
    (tabu_search, {"tabu": None}, "tabu must be a whole number from 1, not None"),
    (tabu_search, {"max_losses": -1}, "max_losses must be a whole number from 0"),
    (hill_climb, {"restarts": None}, "restarts must be a number from 0"),
    (hill_climb, {"restarts": 2.5}, "restarts must be a whole number"),
    (hill_climb, {"restarts": 1, "perturbation": 0}, "perturbation one from 1"),
])  # fmt: skip
def test_bad_options(search, options, fault):
    with pytest.raises(GraphError, match=fault):
        search(table("learning.test"), **options)


def test_incomplete_data():
    with pytest.raises(MissingDataError):
        tabu_search({"a": [0, None, 1], "b": [1, 1, 0]})


def test_one_node_and_no_moves():
    assert tabu_search({"a": [0, 1]}).dag.nodes == ("a",)
    assert tabu_search(random_data(0), max_iter=0).trace == ()
    assert hill_climb({"a": [0, 1]}, restarts=3).dag.nodes == ("a",)
