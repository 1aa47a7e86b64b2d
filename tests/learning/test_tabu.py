"""Tabu search and restarts, against the totals that R's bnlearn prints and against all graphs of four nodes."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, TableError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning import Constraints, hill_climb, score
from pgm.learning.scores.bayesian import BDeu
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import BIC
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


def with_states_in_another_order(data, rng):
    variables, columns = [], []
    for variable in data.variables:
        place = rng.permutation(variable.cardinality)
        variables.append(Variable(variable.name, [variable.states[old] for old in np.argsort(place)]))
        columns.append(place[data.codes(variable.name)])
    return Dataset.from_codes(variables, columns)


@pytest.mark.parametrize("name", ["insurance", "hailfinder", "alarm"])
def test_rounding_does_not_choose_among_equivalent_graphs(name):
    """The order of the states changes that of the terms of a sum, and so its last digits, and nothing else."""
    rng = np.random.default_rng(0)
    everything = table(name)
    for _ in range(5):
        rows = rng.choice(everything.n_rows, 1000, replace=False)
        data = Dataset.from_codes(everything.variables, [everything.codes(column)[rows] for column in everything.names])
        result = tabu_search(data)
        other = tabu_search(with_states_in_another_order(data, rng))
        assert other.dag == result.dag
        assert [move[:2] for move in other.trace] == [move[:2] for move in result.trace]


class Noisy:
    """A score that is never twice the same."""

    name = "noisy"
    is_score_equivalent = True

    def __init__(self, scale):
        self.rng = np.random.default_rng(0)
        self.scale = scale

    def local(self, counts):
        return BIC().local(counts) + self.rng.normal(0, self.scale, counts.shape[:-2])


@pytest.mark.parametrize("scale", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("options", [{}, {"restarts": 2}, {"max_parents": 2}], ids=str)
def test_a_random_score_is_refused(scale, options):
    fault = r"'noisy': to (add|reverse|delete) \w+ -> \w+ should change the total .* is given the same counts"
    with pytest.raises(TableError, match=fault):
        hill_climb(random_data(0), Noisy(scale), **options)
    with pytest.raises(TableError, match=fault):
        tabu_search(random_data(0), Noisy(scale))


def test_noise_below_what_is_noticed_ends_too():
    for scale in (1e-9, 1e-6, 1e-5):
        for search in (hill_climb, tabu_search):
            try:
                assert search(random_data(0), Noisy(scale)).score == pytest.approx(search(random_data(0)).score, abs=1)
            except TableError as error:
                assert "should change the total" in str(error)  # either is right


def test_scores_of_32_bits_will_do():
    class Single(BIC):
        def local(self, counts):
            return super().local(counts).astype(np.float32)

    for seed in range(5):
        data = random_data(seed)
        assert hill_climb(data, Single()).score == pytest.approx(hill_climb(data).score, abs=1)


@pytest.mark.parametrize("rng", ["abc", -1, 1.5, True, np.random.RandomState(0)], ids=lambda it: type(it).__name__)
def test_what_is_no_source_of_randomness(rng):
    with pytest.raises(DataError, match=r"rng is a numpy.random.Generator, a whole number from 0 as a seed"):
        hill_climb(random_data(0), restarts=2, rng=rng)


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
