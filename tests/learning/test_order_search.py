"""Searching over orders, against all orders, all graphs and proven optima."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import GraphError, MissingDataError
from pgm.graph.dag import DAG
from pgm.learning import Constraints, fit_parameters, hill_climb, score
from pgm.learning.scores.bayesian import K2, BDeu
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.search.learn_structure import learn_structure
from pgm.learning.search.order_search import order_search
from pgm.learning.search.orderings import OrderClimber, _inserted
from pgm.learning.search.parent_sets import ParentSets, all_parent_sets, members
from tests.data.bundled import table
from tests.learning.test_parent_sets import random_data

OPTIMA = {"insurance": -264708.85975077713, "alarm": -218632.31567964845, "hailfinder": -990162.8050400699}
"""Proven with at most three parents (pygobnilp's notebook)."""


def random_sets(rng, n):
    scores = []
    for node in range(n):
        others = [other for other in range(n) if other != node]
        found = {0: -float(rng.random())}
        for _ in range(12):
            some = rng.choice(others, rng.integers(1, min(4, n)), replace=False)
            found[sum(1 << int(parent) for parent in some)] = float(rng.random() * 3)
        scores.append(found)
    return ParentSets.from_scores([f"v{node}" for node in range(n)], scores)


def value(sets, order):
    """The best score of an order, by looking at every set."""
    total, before = 0.0, 0
    for node in order:
        total += next(s for m, s in zip(sets.masks[node], sets.scores[node], strict=True) if not m & ~before)
        before |= 1 << int(node)
    return total


@pytest.mark.parametrize("seed", range(8))
def test_every_insertion_gains_what_is_claimed(seed):
    rng = np.random.default_rng(seed)
    sets = random_sets(rng, 7)
    climber = OrderClimber(sets, rng)
    order = rng.permutation(7)
    assert climber.evaluate(order).score == pytest.approx(value(sets, order))
    gains = climber._gains(order)
    for place in range(7):
        for target in range(7):
            gain = value(sets, _inserted(order, place, target)) - value(sets, order)
            assert gains[target, place] == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_best_of_all_orders_is_found(seed):
    rng = np.random.default_rng(seed)
    sets = random_sets(rng, 6)
    best = max(value(sets, order) for order in permutations(range(6)))
    climber = OrderClimber(sets, rng)
    found = climber.improve(climber.climb(np.arange(6)), 100)
    assert found.score == pytest.approx(best)
    assert found.score == pytest.approx(value(sets, found.order))
    assert climber._gains(found.order).max() <= 1e-8


@pytest.mark.parametrize("name", ["insurance", "alarm"])
def test_proven_optima_are_reached(name):
    result = order_search(table(name))
    assert result.score >= OPTIMA[name] - 1e-6
    assert result.score == pytest.approx(score(result.dag, table(name)), abs=1e-6)


def test_hailfinder_comes_close():
    result = learn_structure(table("hailfinder"))
    assert result.score >= OPTIMA["hailfinder"] * 1.0005
    assert result.method.startswith("order search")


@pytest.mark.parametrize("measure", ["bic", BDeu(10), K2()], ids=repr)
@pytest.mark.parametrize("constraints", [
    {},
    {"max_parents": 1},
    {"required": [("v1", "v2"), ("v4", "v2")], "forbidden": [("v0", "v3")]},
    {"tiers": [["v3", "v5"], ["v0", "v1"]], "max_parents": 2},
])  # fmt: skip
def test_no_order_is_better_with_all_sets(measure, constraints):
    data = random_data(3)
    result = order_search(data, measure, **constraints)
    scores = FamilyScores(data, measure)
    rules = Constraints(scores.names, **constraints)
    rules.check(result.dag)
    sets = all_parent_sets(scores, rules, 5)
    best = -math.inf
    for order in permutations(range(6)):
        total, before = 0.0, 0
        for node in order:
            fitting = (s for m, s in zip(sets.masks[node], sets.scores[node], strict=True) if not m & ~before)
            total += next(fitting, -math.inf)
            before |= 1 << node
        best = max(best, total)
    assert result.score == pytest.approx(best, abs=1e-7)
    assert result.score == pytest.approx(score(result.dag, data, measure), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_order_and_names_of_columns_do_not_matter(seed):
    data = table("insurance").head(2000)
    rng = np.random.default_rng(seed)
    names = rng.permutation(data.names).tolist()
    renamed = dict(zip(names, rng.permutation([f"x{i}" for i in range(len(names))]).tolist(), strict=True))
    columns = data.to_dict()
    shuffled = Dataset({renamed[name]: columns[name] for name in names})
    one, other = order_search(data), order_search(shuffled)
    assert one.score == pytest.approx(other.score, abs=1e-6)


def test_never_worse_than_the_start():
    data = table("asia")
    start = hill_climb(data, "aic").dag
    for measure in ("aic", "k2"):
        assert order_search(data, measure, start=start).score >= score(start, data, measure) - 1e-9
    network = fit_parameters(start, data, pseudocount=1)
    assert order_search(data, "aic", start=network).score >= score(start, data, "aic") - 1e-9


def test_repeatable():
    data = table("learning.test")
    assert order_search(data, starts=3) == order_search(data, starts=3)
    assert order_search(data, rng=7).score == order_search(data, rng=np.random.default_rng(7)).score


@pytest.mark.parametrize(("effort", "method"), [("low", "hill climbing"), ("normal", "dynamic"), ("high", "dynamic")])
def test_effort(effort, method):
    result = learn_structure(table("learning.test"), effort=effort)
    assert result.method.startswith(method)
    assert result.score == pytest.approx(-24006.73423249817, abs=1e-7)


def test_more_effort_lists_more():
    data = table("insurance").head(3000)
    normal, high = learn_structure(data), learn_structure(data, effort="high")
    assert high.score >= normal.score - 1e-6
    assert high.n_scores > normal.n_scores


@pytest.mark.parametrize(("options", "fault"), [
    ({"starts": 0}, "starts must be a whole number from 1"),
    ({"patience": None}, "patience must be a whole number from 1"),
    ({"patience": 1.5}, "patience must be a whole number"),
    ({"list_all": 4}, "list_all must be 2 or 3, not 4"),
    ({"required": [("A", "B")], "forbidden": [("A", "B")]}, "both required and forbidden"),
])  # fmt: skip
def test_bad_options(options, fault):
    with pytest.raises(GraphError, match=fault):
        order_search(table("learning.test"), **options)


def test_bad_questions():
    with pytest.raises(GraphError, match="'low', 'normal' or 'high', not 'extreme'"):
        learn_structure(table("learning.test"), effort="extreme")
    with pytest.raises(MissingDataError):
        order_search({"a": [0, None, 1], "b": [1, 1, 0]})


@pytest.mark.parametrize("columns", [{"a": [0, 1]}, {"a": [0, 0], "b": [1, 1]}, {"a": [], "b": []}])
def test_little_to_learn_from(columns):
    states = {name: [0, 1] for name in columns}
    result = order_search(Dataset(columns, states=states))
    assert result.dag == DAG([], list(columns))
    assert learn_structure(Dataset(columns, states=states)).dag.edges == ()


def test_a_child_of_four():
    """The sum of four coins has four parents, none of them of use alone against three."""
    rng = np.random.default_rng(0)
    coins = rng.integers(0, 2, (4, 3000))
    data = Dataset({**{f"c{i}": coin.tolist() for i, coin in enumerate(coins)}, "sum": coins.sum(axis=0).tolist()})
    parents = order_search(data, tiers=[[f"c{i}" for i in range(4)], ["sum"]]).dag.parents("sum")
    assert len(parents) == 4
    assert members(0b1111) == [0, 1, 2, 3]


def test_columns_of_very_many_states():
    """Identifiers and codes of hundreds of states neither fill the memory nor get parents."""
    rng = np.random.default_rng(0)
    known = table("asia").head(1000).to_dict()
    data = Dataset({**known, "id": list(range(1000)), "code": rng.integers(0, 150, 1000).tolist()})
    result = order_search(data)
    assert result.dag.parents("id") == ()
    assert result.score == pytest.approx(score(result.dag, data), abs=1e-7)
    assert result.score >= hill_climb(data).score - 1e-7
