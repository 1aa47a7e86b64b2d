"""Bounds on supersets of parent sets, against the enumeration of all supersets."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import GraphError, TooLargeError
from pgm.factors.variable import Variable
from pgm.learning import Constraints
from pgm.learning.exact.pruning import largest_useful_table, pruned_parent_sets
from pgm.learning.exact.superset_bounds import (
    FullTable,
    SupersetBound,
    first_occurrence_bounds,
    fixed_prior_bounds,
    penalty_bound,
)
from pgm.learning.scores.bayesian import BDJ, K2, BDeu, BDs
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import AIC, BIC, EBIC, LogLikelihood
from pgm.learning.scores.normalized_likelihood import FNML, QNML
from pgm.learning.scores.structure_priors import EdgePrior, FanInPrior
from pgm.learning.search.parent_sets import all_parent_sets, members
from tests.data.bundled import table

BOUNDED = [
    AIC(),
    BIC(),
    EBIC(0.2),
    BIC(structure_prior=EdgePrior(3.0)),
    BDeu(0.01),
    BDeu(1),
    BDeu(10, structure_prior=FanInPrior()),
    BDeu(1000),
    BDs(1),
    BDs(50),
    K2(),
    K2(structure_prior=EdgePrior(-1.0)),
    BDJ(),
]
UNBOUNDED = [LogLikelihood(), QNML(), FNML()]


@st.composite
def tables(draw, max_rows=30):
    """Small data with dependent columns, unused states, equal rows, and weights of all kinds."""
    cardinalities = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    n_rows = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = rng.integers(0, 3, n_rows)
    copied = rng.random((len(cardinalities), n_rows)) < draw(st.sampled_from([0.0, 0.7, 1.0]))
    columns = [
        np.where(same, first, rng.integers(0, 3, n_rows)) % states
        for same, states in zip(copied, cardinalities, strict=True)
    ]
    kind = draw(st.sampled_from(["none", "whole", "fractional"]))
    weights = {"none": None, "whole": rng.integers(0, 9, n_rows), "fractional": rng.random(n_rows) * 3}[kind]
    variables = [Variable(f"v{number}", range(states)) for number, states in enumerate(cardinalities)]
    return Dataset.from_codes(variables, columns, weights)


@settings(max_examples=120, deadline=None)
@given(tables(), st.sampled_from(BOUNDED))
def test_no_superset_scores_above_the_bound(data, measure):
    scores = FamilyScores(data, measure)
    n = len(data.names)
    for child in range(n):
        others = [other for other in range(n) if other != child]
        bound = SupersetBound(scores, child, others)
        for size in range(n):
            for parents in combinations(others, size):
                rest = [other for other in others if other not in parents]
                above = bound.of(list(parents))
                for extra in range(1, len(rest) + 1):
                    for more in combinations(rest, extra):
                        found = scores.family(child, [*parents, *more])
                        assert found <= above + 1e-9 * max(1.0, abs(above)), (child, parents, more)


@settings(max_examples=50, deadline=None)
@given(tables())
def test_the_ceiling_is_the_likelihood_given_everything(data):
    scores = FamilyScores(data, "loglik")
    for child in range(len(data.names)):
        others = [other for other in range(len(data.names)) if other != child]
        for candidates in (others, others[1:], []):
            found = FullTable(data, child, candidates).ceiling
            assert found == pytest.approx(scores.family(child, candidates), abs=1e-9)


def test_bounds_by_hand():
    assert penalty_bound(6, 3, price=0.5, least=4, ceiling=-7.0) == -7.0 - 0.5 * 2 * 6 * 4
    counts = np.array([[4, 0, 1], [0, 0, 0], [0, 0, 2], [1, 1, 1]])
    assert first_occurrence_bounds(counts) == pytest.approx(-math.log(3) * np.array([2, 0, 1, 3]))
    assert first_occurrence_bounds(counts / 4) == pytest.approx(-math.log(3) * np.array([1.25, 0, 0.5, 0.75]))
    # K2, two states: n rows of one state have probability n! / (n + 1)! = 1 / (n + 1)
    assert fixed_prior_bounds(np.array([[3, 1], [0, 2]]), 1.0) == pytest.approx(-np.log([4 * 2, 3]))


def test_conflicts_by_hand():
    """Rows that agree in everything but the child: two of one state and one of the other, and a single row."""
    data = Dataset({"a": [0, 0, 0, 1], "b": [0, 0, 0, 0], "child": [0, 0, 1, 1]})
    full = FullTable(data, 2, [0, 1])
    assert full.counts.tolist() == [[2, 1], [0, 1]]
    assert full.configurations([1]).tolist() == [0, 0]
    assert full.configurations([0, 1]).tolist() == [0, 1]
    # BDeu: the state seen after two rows has probability 1/2 a / (2 + a)
    assert full.split_costs(0.5) == pytest.approx([-math.log(0.5 / 2.5), 0])
    # K2: 1/2 2/3 1/4 instead of 1/2 2/3 and 1/2
    assert full.fixed_costs(1.0) == pytest.approx([math.log(2), 0])


@pytest.mark.parametrize("measure", [BDeu(1e-9), K2(), BDJ()], ids=repr)
def test_bounds_of_bayesian_scores_are_reached(measure):
    """A further parent that knows the child splits the rows as well as can be."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 50)
    b = rng.integers(0, 3, 50)
    variables = [Variable("a", range(2)), Variable("b", range(3)), Variable("copy", range(3))]
    scores = FamilyScores(Dataset.from_codes(variables, [a, b, b]), measure)
    bound = SupersetBound(scores, 1, [0, 2])
    assert bound.of([0]) == pytest.approx(scores.family(1, [0, 2]), abs=1e-6)


@pytest.mark.parametrize("measure", UNBOUNDED, ids=repr)
def test_scores_without_a_bound(measure):
    scores = FamilyScores(table("lizards"), measure)
    assert SupersetBound(scores, 0, [1, 2]).of([1]) == math.inf
    assert largest_useful_table(scores, Constraints(scores.names)) == math.inf


# The parent sets that are left.


def listed(sets):
    pairs = zip(sets.masks, sets.scores, strict=True)
    return [dict(zip(masks, scores.tolist(), strict=True)) for masks, scores in pairs]


def agree(found, expected):
    """Compare lists of parent sets; sets that only rounding makes better than a subset may be in one of them."""
    for some, others in zip(listed(found), listed(expected), strict=True):
        for ours, theirs in ((some, others), (others, some)):
            for mask, score in ours.items():
                if mask in theirs:
                    assert score == pytest.approx(theirs[mask], abs=1e-8)
                else:
                    below = [value for other, value in ours.items() if other & ~mask == 0 and other != mask]
                    assert max(below) == pytest.approx(score, abs=1e-8)


@settings(max_examples=80, deadline=None)
@given(tables(), st.sampled_from([*BOUNDED, *UNBOUNDED]))
def test_no_parent_set_is_lost(data, measure):
    scores = FamilyScores(data, measure)
    constraints = Constraints(data.names)
    agree(pruned_parent_sets(scores, constraints), all_parent_sets(FamilyScores(data, measure), constraints, 9))


CONSTRAINTS = [
    {"required": [("D", "A"), ("E", "A"), ("X", "S")]},
    {"forbidden": [("L", "E"), ("T", "E"), ("E", "X")]},
    {"tiers": [["A", "S"], ["T", "L", "B"], ["E"]]},
    {"max_parents": 2},
    {"required": [("S", "D")], "tiers": [["S"], ["D", "X"]], "max_parents": 3},
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("measure", [AIC(), BDeu(1)], ids=repr)
def test_no_parent_set_is_lost_under_constraints(constraints, measure):
    data = table("asia").head(400)
    known = Constraints(data.names, **constraints)
    found = pruned_parent_sets(FamilyScores(data, measure), known)
    agree(found, all_parent_sets(FamilyScores(data, measure), known, len(data.names)))
    assert found.names == data.names
    for child, masks in enumerate(found.masks):
        for mask in masks:
            assert all(known.allowed[parent, child] for parent in members(mask))
        assert found.scores[child].tolist() == sorted(found.scores[child], reverse=True)


@pytest.mark.parametrize(("measure", "share"), [("bic", 0.15), ("aic", 0.6), (BDeu(1), 0.65), (K2(), 0.6)])
def test_most_families_are_not_scored(measure, share):
    data = table("insurance").head(100)
    data = data.select(data.names[:9])
    scores = FamilyScores(data, measure)
    pruned_parent_sets(scores, Constraints(data.names))
    assert scores.n_scores < share * 9 * 2**8


def test_the_limit_on_parents_is_the_smaller_one():
    data = table("asia").head(300)
    for limit, other in ((1, None), (None, 1), (1, 3), (3, 1)):
        sets = pruned_parent_sets(FamilyScores(data, "aic"), Constraints(data.names, max_parents=limit), other)
        assert max(mask.bit_count() for masks in sets.masks for mask in masks) == 1


def test_too_many_families_are_refused():
    scores = FamilyScores(table("asia"), "loglik")
    with pytest.raises(TooLargeError, match=r"parent sets of 'A': 35 of 3 parents would be scored after 29 smaller"):
        pruned_parent_sets(scores, Constraints(scores.names), max_families=100)
    assert scores.n_scores == 29
    with pytest.raises(TooLargeError, match="parent sets of .*, but only 44 may be"):
        pruned_parent_sets(scores, Constraints(scores.names), max_families=300)


def test_more_required_parents_than_allowed():
    scores = FamilyScores(table("asia"), "bic")
    constraints = Constraints(scores.names, required=[("A", "S"), ("T", "S")])
    with pytest.raises(GraphError, match="'S' has 2 required parents, but max_parents is 1"):
        pruned_parent_sets(scores, constraints, 1)


@settings(max_examples=50, deadline=None)
@given(tables(), st.sampled_from([AIC(), BIC(), EBIC(), BIC(structure_prior=EdgePrior(5.0))]), st.booleans())
def test_families_with_larger_tables_are_useless(data, measure, with_required):
    scores = FamilyScores(data, measure)
    constraints = Constraints(data.names, required=[(data.names[0], data.names[1])] if with_required else [])
    largest = largest_useful_table(scores, constraints)
    sizes = [variable.cardinality for variable in data.variables]
    for child, masks in enumerate(all_parent_sets(scores, constraints, 9).masks):
        best = {mask: scores.family(child, members(mask)) for mask in masks}
        smallest = min(masks, key=int.bit_count)
        for mask, score in best.items():
            if sizes[child] * math.prod(sizes[parent] for parent in members(mask)) > largest:
                assert score <= best[smallest] + 1e-9
