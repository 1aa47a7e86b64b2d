"""Dynamic programming over subsets, against published optima and the enumeration of all graphs."""

from __future__ import annotations

import math
import tracemalloc
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import GraphError, TableError, TooLargeError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning import Constraints
from pgm.learning.exact import all_subsets
from pgm.learning.exact.all_subsets import all_local_scores, subset_scores
from pgm.learning.exact.dynamic_programming import best_dag, check_n_variables, mask_at, place_of, scatter
from pgm.learning.scores.bayesian import BDJ, K2, BDeu, BDs
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import AIC, BIC, EBIC, LogLikelihood
from pgm.learning.scores.normalized_likelihood import QNML
from pgm.learning.scores.scoring import score
from pgm.learning.scores.structure_priors import EdgePrior, FanInPrior
from pgm.learning.search.parent_sets import ParentSets, members
from tests.data.bundled import table

OPTIMA = [
    ("learning.test", "bic", None, -24006.73423249817),
    ("learning.test", "bic", 2, -24006.73423249817),
    ("learning.test", "bic", 1, -24922.522070108647),
    ("learning.test", "aic", None, -23873.131772),
    ("learning.test", BDeu(1), None, -24028.0947783535),
    ("learning.test", BDeu(1), 3, -24028.0947783535),
    ("learning.test", BDeu(1), 1, -24933.77702265212),
    ("learning.test", BDeu(10), None, -23967.649625),
    ("learning.test", K2(), None, -23957.675838),
    ("asia", "bic", None, -11107.293309),
    ("asia", "aic", None, -11047.753206),
    ("asia", BDeu(1), None, -11095.788513),
    ("asia", BDeu(10), None, -11132.146560),
    ("asia", K2(), None, -11106.628136),
    ("lizards", "bic", None, -817.247197),
    ("lizards", BDeu(1), None, -818.873181),
    ("lizards", K2(), None, -814.933790),
    ("asia_10000", BDeu(1), None, -22466.396546),
    ("asia_10000", "bic", None, -22481.351914),
]
"""Optima that GOBNILP or another implementation of dynamic programming found."""


def solve(data, measure, constraints=None):
    """Return the optimal graph, after checking that it has the score that is claimed."""
    constraints = constraints or Constraints(data.names)
    scores = FamilyScores(data, measure)
    best = best_dag(all_local_scores(scores, constraints))
    dag = graph(best.parents, data.names)
    constraints.check(dag)
    assert score(dag, data, measure) == pytest.approx(best.score, abs=1e-8)
    return dag, best.score


def graph(parents, names):
    edges = [(names[parent], names[child]) for child, mask in enumerate(parents) for parent in members(mask)]
    return DAG(edges, names)


@pytest.mark.parametrize(("name", "measure", "max_parents", "optimum"), OPTIMA)
def test_published_optima(name, measure, max_parents, optimum):
    data = table(name)
    _, found = solve(data, measure, Constraints(data.names, max_parents=max_parents))
    assert found == pytest.approx(optimum, abs=1e-6)


# Against all graphs.


@cache
def all_graphs(n):
    """Return the place of every node's parent set in every DAG, shape (DAGs, n): sinks are taken off one by one."""
    places = np.array(list(product(range(1 << n - 1), repeat=n)), np.uint8)
    masks = np.stack([[mask_at(place, child) for place in range(1 << n - 1)] for child in range(n)])
    parents = masks[np.arange(n), places]
    left = np.full(len(places), (1 << n) - 1)
    for _ in range(n):
        for node in range(n):
            has_no_parents = parents[:, node] & left == 0
            left[has_no_parents] &= ~(1 << node)
    return places[left == 0]


def test_number_of_graphs():
    assert [len(all_graphs(n)) for n in range(1, 6)] == [1, 3, 25, 543, 29281]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["any", "coarse", "with holes"])
def test_against_all_graphs(n, kind):
    graphs = all_graphs(n)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        local = rng.normal(size=(n, 1 << n - 1)) * 100
        if kind == "coarse":  # many ties
            local = np.round(local / 100)
        if kind == "with holes":
            local[rng.random(local.shape) < 0.6] = -np.inf
            local[0, 0] = local[-1, 0] = 0.0
        best = local[np.arange(n), graphs].sum(axis=1).max()
        if best == -np.inf:
            with pytest.raises(GraphError, match="every DAG has a family that is not allowed"):
                best_dag(local)
            continue
        before = local.copy()
        found = best_dag(local)
        assert (local == before).all()
        assert found.score == pytest.approx(best, abs=1e-9)
        places = [place_of(mask, child) for child, mask in enumerate(found.parents)]
        assert local[np.arange(n), places].sum() == pytest.approx(best, abs=1e-9)
        assert (graphs == places).all(axis=1).any(), "not a DAG"
        assert best_dag(local.copy(), overwrite=True) == found


def test_ties_go_to_the_first_sink_and_to_few_parents():
    assert best_dag(np.zeros((4, 8))).parents == (0, 0, 0, 0)
    # a -> b and b -> a score the same: the first variable is the sink
    assert best_dag(np.array([[0.0, 1.0], [0.0, 1.0]])).parents == (0b10, 0)
    # one parent is enough, and the smallest mask is taken
    local = np.full((3, 4), -10.0)
    local[:, 0] = 0.0
    local[0, [0b01, 0b10, 0b11]] = 5.0
    assert best_dag(local).parents == (0b010, 0, 0)


def test_column_order_does_not_matter():
    data = table("asia").head(1000)
    backwards = data.select(data.names[::-1])
    for measure in (BIC(), BDeu(5), K2()):
        assert solve(data, measure)[1] == pytest.approx(solve(backwards, measure)[1], abs=1e-8)


@pytest.mark.parametrize(
    "local",
    [
        np.zeros((2, 4)),
        np.zeros((3, 2)),
        np.array([[0.0, math.nan], [0.0, 0.0]]),
        np.array([[0.0, math.inf], [0.0, 0]]),
    ],
)
def test_bad_scores_are_refused(local):
    with pytest.raises(TableError):
        best_dag(local)


def test_too_many_variables_are_refused_before_anything_is_allocated():
    with pytest.raises(TooLargeError, match=r"over 26 variables needs .* GB; the limit of 4.29 GB allows 24"):
        check_n_variables(26)
    with pytest.raises(TooLargeError, match="over 40 variables"):
        scatter([[0]] * 40, [np.zeros(1)] * 40)
    with pytest.raises(TooLargeError, match="the limit of 800 bytes allows 3"):
        check_n_variables(4, budget=800)
    check_n_variables(20, budget=2**28)
    data = Dataset({f"v{number}": [0, 1] for number in range(40)})
    with pytest.raises(TooLargeError, match="over 40 variables"):
        all_local_scores(FamilyScores(data, "bic"), Constraints(data.names))


@given(st.integers(1, 40), st.data())
def test_places_and_masks(n, draw):
    child = draw.draw(st.integers(0, n - 1))
    place = draw.draw(st.integers(0, (1 << n - 1) - 1))
    mask = mask_at(place, child)
    assert not mask >> child & 1
    assert mask < 1 << n
    assert place_of(mask, child) == place
    assert place_of(mask | 1 << child, child) == place


def test_lists_of_parent_sets():
    data = table("asia")
    scores = FamilyScores(data, "bic")
    local = all_local_scores(scores, Constraints(data.names))
    listed = [{mask_at(place, child): value for place, value in enumerate(row)} for child, row in enumerate(local)]
    sets = ParentSets.from_scores(data.names, listed)
    dense = scatter(sets.masks, sets.scores)
    assert np.isinf(dense).sum() > dense.size / 2
    assert best_dag(dense) == best_dag(local)


# Scores of all subsets.


@st.composite
def tables(draw):
    """Small data of all kinds: constant columns, unused states, equal rows, weights whole, fractional and 0."""
    cardinalities = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    n_rows = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = [rng.integers(0, max(1, states - draw(st.integers(0, 1))), n_rows) for states in cardinalities]
    kind = draw(st.sampled_from(["none", "whole", "fractional"]))
    weights = {"none": None, "whole": rng.integers(0, 9, n_rows), "fractional": rng.random(n_rows) * 5}[kind]
    variables = [Variable(f"v{number}", range(states)) for number, states in enumerate(cardinalities)]
    return Dataset.from_codes(variables, columns, weights)


MEASURES = [LogLikelihood(), AIC(), BIC(), EBIC(1.0), BDeu(0.5), BDeu(20), QNML()]


@settings(max_examples=80, deadline=None)
@given(
    tables(), st.sampled_from(MEASURES), st.sampled_from([1, 30, 1 << 16]), st.sampled_from([1, 40, 1 << 22]), st.data()
)
def test_scores_of_all_subsets(data, measure, block, tabulated, draw):
    n = len(data.names)
    largest = draw.draw(st.integers(0, n))
    wanted = np.bitwise_count(np.arange(1 << n)) <= largest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_subsets, "_BLOCK", block)
        patch.setattr(all_subsets, "_TABLE", tabulated)
        found = subset_scores(data, measure, wanted)
    for mask in range(1 << n):
        *parents, child = [data.names[variable] for variable in members(mask)] or [None]
        counts = np.array([data.total_weight]) if child is None else data.count([(child, parents)])[0]
        expected = measure.cell(counts, counts.size).sum() + measure.constant(counts.size, data.total_weight)
        if wanted[mask]:
            assert found[mask] == pytest.approx(float(expected), rel=1e-12, abs=1e-9)
        else:
            assert np.isnan(found[mask])


PRIORS = [None, EdgePrior(-2.0), EdgePrior(1.0), FanInPrior()]


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([AIC, BIC, EBIC, BDeu, LogLikelihood, QNML, K2, BDJ, BDs]), st.sampled_from(PRIORS))
def test_local_scores_of_all_families(data, kind, prior):
    """Each is what the family scores by itself, or is left out because a family with fewer parents is as good."""
    scores = FamilyScores(data, kind(structure_prior=prior))
    local = all_local_scores(scores, Constraints(data.names))
    for child, row in enumerate(local):
        masks = [mask_at(place, child) for place in range(len(row))]
        alone = scores.families([(child, members(mask)) for mask in masks])
        assert np.isfinite(row[0])
        for place, mask in enumerate(masks):
            if row[place] == -np.inf:
                below = [
                    alone[other] for other, smaller in enumerate(masks) if smaller & ~mask == 0 and smaller != mask
                ]
                assert max(below) >= alone[place] - 1e-9
            else:
                assert row[place] == pytest.approx(alone[place], rel=1e-10, abs=1e-8)


def test_families_with_useless_penalties_are_not_counted():
    data = table("insurance").head(500).select(table("insurance").names[:10])
    local = all_local_scores(FamilyScores(data, "bic"), Constraints(data.names))
    assert np.isfinite(local).mean() < 0.5


def test_astronomical_tables():
    """Twelve variables of 90 states have more joint states than 64 bits can tell."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 90, (12, 40))
    codes[1] = codes[0]
    data = Dataset.from_codes([Variable(f"v{number}", range(90)) for number in range(12)], list(codes))
    for measure in (BDeu(1), LogLikelihood()):
        scores = FamilyScores(data, measure)
        local = all_local_scores(scores, Constraints(data.names))
        assert not np.isnan(local).any()
        assert local[1, 1] == pytest.approx(scores.family(1, [0]), abs=1e-8)
    everything = subset_scores(data, BDeu(1), np.ones(1 << 12, bool))
    cells = float(90**12)  # every row is alone in it: ln(1 / cells) for each of them
    assert everything[-1] == pytest.approx(-40 * math.log(cells), rel=1e-12)


def test_memory_where_every_row_is_alone_at_once():
    rng = np.random.default_rng(2)
    columns = [np.arange(60), *rng.integers(0, 2, (15, 60))]
    variables = [Variable("id", range(60)), *(Variable(f"v{number}", range(2)) for number in range(15))]
    data = Dataset.from_codes(variables, columns, rng.integers(1, 1000, 60))
    data.count_occupied(data.names)
    BDeu(1).cell(np.array([1]), 2)  # imports what it needs
    tracemalloc.start()
    found = subset_scores(data, BDeu(1), np.ones(1 << 16, bool))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 45e6, "60 rows times 32,768 subsets at once take more"
    weights = data.count([("id", [])])[0]
    assert found[-1] == pytest.approx(float(BDeu(1).cell(weights, 60 * 2**15).sum()), rel=1e-12)


# Constraints.


CONSTRAINTS = [
    {"required": [("v0", "v1"), ("v3", "v1")]},
    {"forbidden": [("v0", "v1"), ("v1", "v0"), ("v2", "v3")]},
    {"tiers": [["v3"], ["v1", "v0"]]},
    {"max_parents": 1},
    {"max_parents": 0},
    {"required": [("v2", "v0")], "forbidden": [("v1", "v0")], "tiers": [["v2"], ["v0", "v3"]], "max_parents": 2},
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
@pytest.mark.parametrize(
    "measure", [AIC(), BIC(), BDeu(10), BDeu(2, structure_prior=FanInPrior()), K2(), BDs()], ids=repr
)
def test_constraints(constraints, measure):
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 3, (4, 60))
    columns[1] = (columns[0] + columns[3] * (rng.random(60) < 0.7)) % 3
    columns[2] = np.where(rng.random(60) < 0.6, columns[1], columns[2])
    data = Dataset({f"v{number}": column for number, column in enumerate(columns)})
    known = Constraints(data.names, **constraints)
    best = max(
        score(dag, data, measure)
        for dag in (graph(list(map(mask_at, places, range(4))), data.names) for places in all_graphs(4).tolist())
        if keeps_to(dag, known)
    )
    _, found = solve(data, measure, known)
    assert found == pytest.approx(best, abs=1e-8)


def keeps_to(dag, constraints):
    try:
        constraints.check(dag)
    except GraphError:
        return False
    return True
