"""Scoring incomplete data: against counting row by row, and against the criteria where nothing is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pgm
from pgm.data import CountSource, Dataset
from pgm.errors import DataError, MissingDataError, TableError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning.scores.available_cases import AvailableCases, NodeAverage
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.information import PenalizedLikelihood
from pgm.learning.scores.scoring import BIC, EBIC, local_scores, score
from pgm.learning.scores.structure_priors import EdgePrior
from tests.data.bundled import TRUE_GRAPHS, table


def with_holes(data, share, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([data.codes(name).astype(int) for name in data.names], axis=1)
    for column, variable in enumerate(data.variables):
        codes[rng.random(len(codes)) < share, column] = variable.cardinality
    return Dataset.from_codes(data.variables, codes, data.weights)


@pytest.fixture(scope="module")
def holes():
    return with_holes(table("asia").head(400).select(["A", "S", "L", "B", "D"]), 0.2)


def by_rows(data, child, parents, criterion="bic"):
    """The node average of one family, from the rows themselves."""
    columns, family = data.to_dict(), [*parents, child]
    rows = [row for row in zip(*(columns[name] for name in family), strict=True) if None not in row]
    n, total = len(rows), data.n_rows
    loglik = math.fsum(math.log(rows.count(row) / sum(other[:-1] == row[:-1] for other in rows)) for row in rows)
    q = math.prod(data.variable(name).cardinality for name in parents)
    k = q * (data.variable(child).cardinality - 1)
    penalty = {"bic": k / 2 * math.log(total), "aic": k, "loglik": 0}[criterion]
    return total / n * loglik - penalty


@pytest.mark.parametrize("criterion", ["bic", "aic", "loglik"])
def test_scores_row_by_row(holes, criterion):
    dag = DAG([("S", "L"), ("S", "B"), ("L", "D"), ("B", "D")], nodes=holes.names)
    found = local_scores(dag, holes, NodeAverage(criterion))
    expected = {node: by_rows(holes, node, dag.parents(node), criterion) for node in dag.nodes}
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("limit", [True, False])
def test_neighbours_are_families(holes, limit):
    scores = FamilyScores(holes, NodeAverage())
    parents = (0, 1)
    current, gains = scores.neighbours(4, parents, grow=limit)
    assert current == pytest.approx(by_rows(holes, "D", ["A", "S"]), abs=1e-9)
    for other, name in enumerate("ASLB"):
        smaller = ["S"] if name == "A" else ["A"]
        changed = smaller if name in "AS" else ["A", "S", name]
        expected = by_rows(holes, "D", changed) - current if name in "AS" or limit else 0.0
        assert gains[other] == pytest.approx(expected, abs=1e-9)


def test_complete_data_score_as_ever():
    data = table("learning.test")
    dag = DAG.from_string(TRUE_GRAPHS["learning.test"])
    for criterion in ("bic", "aic", "loglik", "ebic"):
        assert score(dag, data, NodeAverage(criterion)) == pytest.approx(score(dag, data, criterion), abs=1e-8)
    found = pgm.hill_climb(data, NodeAverage(), progress=False)
    assert found.dag.edges == pgm.hill_climb(data, "bic", progress=False).dag.edges


def test_a_search_over_incomplete_data():
    data = with_holes(table("learning.test"), 0.05)
    with pytest.raises(MissingDataError):
        pgm.hill_climb(data, "bic")
    result = pgm.hill_climb(data, NodeAverage("bic"), progress=False)
    assert result.score == pytest.approx(score(result.dag, data, NodeAverage("bic")), abs=1e-8)
    assert result.score_name == "node-average bic"
    true = {frozenset(edge) for edge in DAG.from_string(TRUE_GRAPHS["learning.test"]).edges}
    assert true <= {frozenset(edge) for edge in result.dag.edges}


def test_a_penalty_of_ones_own(holes):
    class ThreePerParameter(PenalizedLikelihood):
        name = "three"

        def constant(self, n_cells, total):
            return -3.0 * n_cells

    dag = DAG([("S", "D")], nodes=holes.names)
    found = local_scores(dag, holes, NodeAverage(ThreePerParameter()))["D"]
    assert found == pytest.approx(by_rows(holes, "D", ["S"], "loglik") - 3 * 2, abs=1e-9)


def test_tables_hold_the_rows_that_are_known(holes):
    cases = AvailableCases(holes)
    assert isinstance(cases, CountSource)
    for family in (("L", []), ("D", ["B", "S"])):
        child, parents = family
        known = holes.select([*parents, child]).complete_rows()
        assert np.array_equal(cases.count([family])[0], known.count([family])[0])
    extended = cases.count_extensions("D", ["B"])
    pairs = cases.count_pairs(["B"], 1)
    offsets = holes.level_offsets
    for position, name in enumerate("ASL"):
        levels = slice(offsets[position], offsets[position + 1])
        (expected,) = holes.select(["B", "D", name]).complete_rows().count([(name, ["B", "D"])])
        assert np.array_equal(extended[..., levels], expected)
        if name != "A":
            rows = slice(levels.start - offsets[1], levels.stop - offsets[1])
            columns = slice(offsets[4] - offsets[1], offsets[5] - offsets[1])
            assert np.array_equal(pairs[:, columns, rows], expected)
    occupied = cases.count_occupied(["S", "B"])
    known = holes.select(["S", "B"]).complete_rows().count_occupied(["S", "B"])
    assert np.array_equal(occupied.states, known.states)
    assert np.array_equal(occupied.counts, known.counts)
    assert [part.n_rows for part in cases.chunks(150)] == [150, 150, 100]
    total = sum(part.count([("D", ["B"])])[0] for part in cases.chunks(150))
    assert np.array_equal(total, cases.count([("D", ["B"])])[0])


def test_weights_count():
    data = Dataset({"a": [0, 1, None], "b": [0, None, 1]}, weights=[2.5, 1, 0.5])
    assert AvailableCases(data).count([("a", []), ("b", ["a"])])[0].tolist() == [2.5, 1.0]
    expected = 4 / 3.5 * (2.5 * math.log(2.5 / 3.5) + math.log(1 / 3.5))
    assert local_scores(DAG(nodes=["a"]), data, NodeAverage("loglik"))["a"] == pytest.approx(expected)


def test_a_family_without_complete_rows_is_never_preferred():
    data = Dataset({"a": [0, 1, None, None] * 5, "b": [None, None, 0, 1] * 5, "c": [0, 1, 0, 1] * 5})
    found = local_scores(DAG([("a", "b")]), data, NodeAverage("loglik"))
    assert found["b"] == pytest.approx(-20 * math.log(2))
    dag = pgm.hill_climb(data, NodeAverage("aic"), progress=False).dag
    assert not {("a", "b"), ("b", "a")} & set(dag.edges)


def test_priors_of_the_criterion():
    data = table("asia")
    dag = DAG([("S", "B")], nodes=data.names)
    priced = NodeAverage(BIC(structure_prior=EdgePrior(-4.0)))
    assert score(dag, data, priced) == pytest.approx(score(dag, data) - 4, abs=1e-9)
    assert score(dag, data, NodeAverage(EBIC(1))) == pytest.approx(score(dag, data, EBIC(1)), abs=1e-9)


def test_what_is_refused():
    for wrong in ("bdeu", BIC, None):
        with pytest.raises(UnknownNameError, match=r"no criterion .* 'aic', 'bic', 'ebic'"):
            NodeAverage(wrong)
    for wrong in (-1, float("nan"), float("inf"), "x", True):
        with pytest.raises(TableError, match="total_weight must be a finite number from 0"):
            NodeAverage("bic", total_weight=wrong)
    ones = np.ones((2, 2))
    assert NodeAverage(total_weight=np.int64(6)).local(ones) == NodeAverage("bic", 6.0).local(ones)
    no_rows = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": [0, 1]})
    assert score(DAG([("a", "b")]), no_rows, NodeAverage()) == 0
    with pytest.raises(TableError, match="needs the number of rows"):
        NodeAverage().local(np.ones((2, 2)))
    with pytest.raises(DataError, match="available cases need a Dataset, not str"):
        AvailableCases("data")
