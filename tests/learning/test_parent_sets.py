"""Joint scores and candidate parent sets, against scoring every family by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import TooLargeError
from pgm.learning import Constraints
from pgm.learning.scores.bayesian import K2, BDeu
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import AIC, BIC
from pgm.learning.scores.joint_scores import JointScores, is_joint
from pgm.learning.scores.normalized_likelihood import QNML
from pgm.learning.scores.structure_priors import EdgePrior
from pgm.learning.search import parent_sets
from pgm.learning.search.parent_sets import ParentSets, all_parent_sets, members
from tests.data.bundled import table


def random_data(seed, n_rows=120, n_columns=6, weights=None):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n_rows)
    columns = {"v0": first.tolist()}
    for number in range(1, n_columns):
        noise = rng.integers(0, 2 + number % 3, n_rows)
        columns[f"v{number}"] = np.where(rng.random(n_rows) < 0.5, first % (2 + number % 3), noise).tolist()
    return Dataset(columns, weights=weights)


SCORES = [BIC(), AIC(), BDeu(1), BDeu(10), QNML(), BDeu(3, structure_prior=EdgePrior(-0.5))]


@pytest.mark.parametrize("measure", SCORES, ids=repr)
@pytest.mark.parametrize("weights", [None, "fractional", "heavy"])
def test_local_scores_are_differences_of_joint_scores(measure, weights):
    rng = np.random.default_rng(5)
    kinds = {"fractional": rng.random(120) * 3, "heavy": rng.integers(1, 5000, 120)}
    data = random_data(1, weights=kinds.get(weights))
    scores = FamilyScores(data, measure)
    joint = JointScores(data, scores.measure)
    triples = joint.triples()
    ranked = parent_sets._ranked_quadruples(joint)
    for child in range(6):
        others = [node for node in range(6) if node != child]
        for size in range(4):
            for parents in combinations(others, size):
                expected = scores.family(child, parents) - scores.log_prior(size)
                found = joint.of((*parents, child)) - joint.of(parents)
                assert found == pytest.approx(expected, abs=1e-7)
                if size == 2:
                    assert triples[(child, *parents)] - joint.pairs[parents] == pytest.approx(expected, abs=1e-7)
                if size == 3:
                    four = ranked[parent_sets._rank(child, *(np.array(p) for p in parents))]
                    assert four - triples[parents] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("measure", "limit"), [(m, limit) for m in (BIC(), BDeu(1), K2()) for limit in (0, 1, 2, 3, 5)]
)
@pytest.mark.parametrize("constrained", [False, True])
def test_kept_are_those_that_beat_all_their_subsets(measure, limit, constrained):
    data = random_data(2)
    given = {"required": [("v1", "v2")], "forbidden": [("v0", "v3"), ("v4", "v3")]} if constrained else {}
    if constrained and limit == 0:
        return
    scores = FamilyScores(data, measure)
    constraints = Constraints(scores.names, **given, max_parents=limit)
    found = all_parent_sets(scores, constraints, 5)
    for child, name in enumerate(scores.names):
        legal = {}
        for size in range(limit + 1):
            for parents in combinations(range(6), size):
                names = [scores.names[parent] for parent in parents]
                fine = all(constraints.allows(parent, name) for parent in names) and child not in parents
                if fine and all(parent in names for parent, to in constraints.required if to == name):
                    legal[frozenset(parents)] = scores.family(child, parents)
        best = {some: max(value for other, value in legal.items() if other <= some) for some in legal}
        kept = {some for some, value in legal.items() if all(value > best[other] for other in legal if other < some)}
        assert {frozenset(members(mask)) for mask in found.masks[child]} == kept
        expected = [legal[frozenset(members(mask))] for mask in found.masks[child]]
        assert found.scores[child] == pytest.approx(expected, abs=1e-8)
        assert (np.diff(found.scores[child]) <= 0).all()


def test_numbers_of_kept_sets_of_insurance():
    """Counted independently: 79,704 families of at most three parents, of which so many are worth keeping."""
    scores = FamilyScores(table("insurance"), "bic")
    found = all_parent_sets(scores, Constraints(scores.names), 3)
    sizes = [mask.bit_count() for masks in found.masks for mask in masks]
    assert [sizes.count(size) for size in range(4)] == [27, 458, 2103, 2029]
    assert max(map(len, found.masks)) == 452


def test_too_many_families():
    data = Dataset({f"v{number}": [0, 1] for number in range(60)})
    scores = FamilyScores(data, "bic")
    with pytest.raises(TooLargeError, match=r"60 variables have .* families of at most 8 parents"):
        all_parent_sets(scores, Constraints(scores.names), 8)


def test_reordering_keeps_families():
    sets = ParentSets.from_scores(["a", "b", "c"], [{0: -3.0, 0b110: -1.0}, {0: -2.0, 0b100: -1.5}, {0: -1.0}])
    again = sets.reordered([2, 0, 1])
    assert again.names == ("c", "a", "b")
    assert again.masks == [[0], [0b101, 0], [0b001, 0]]
    assert again.reordered([1, 2, 0]).masks == sets.masks


def test_which_scores_are_joint():
    assert is_joint(BIC())
    assert not is_joint(K2())
