"""Bayesian and information scores: published totals of true graphs and of greedy searches, and worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pgm
from pgm.data import Dataset
from pgm.graph.dag import DAG
from pgm.learning.scores.normalized_likelihood import log_regret
from pgm.learning.scores.scoring import BDJ, BDeu, LogLikelihood, local_scores, score
from tests.data.bundled import TRUE_GRAPHS, table

TRUE = {
    "learning.test": (-24028.0948, -23967.6496, -23958.6953),
    "asia": (-11095.8242, -11142.0144, -11110.1517),
    "insurance": (-263970.8008, -263371.2790, -264700.2123),
    "alarm": (-218063.0356, -217749.6825, -217980.9078),
    "hailfinder": (-994514.9220, -990686.5199, -988845.4154),
}
"""What R's bnlearn gives for the true graphs: BDeu with sample sizes 1 and 10, and K2."""


@pytest.mark.parametrize("name", TRUE)
def test_bayesian_scores_of_the_true_graphs(name):
    dag, data = DAG.from_string(TRUE_GRAPHS[name]), table(name)
    found = [score(dag, data, measure) for measure in ("bdeu", BDeu(10), "k2")]
    assert found == pytest.approx(TRUE[name], abs=6e-5)


CLIMBS = [
    ("learning.test", "aic", -23873.131772, 5),
    ("learning.test", "loglik", -23606.161817, 15),
    ("learning.test", "bdeu", -24028.094778, 5),
    ("learning.test", BDeu(5), -23979.809567, 5),
    ("learning.test", BDeu(20), -23965.192234, 5),
    ("learning.test", "k2", -23957.675838, 5),
    ("asia", "aic", -11048.103509, 11),
    ("asia", "bdeu", -11095.788513, 7),
    ("asia", BDeu(5), -11109.241258, 12),
    ("asia", BDeu(20), -11177.163685, 14),
    ("asia", "k2", -11111.017087, None),
    ("insurance", "bdeu", -264021.820341, 50),
    ("insurance", BDeu(10), -263565.902735, 57),
    ("alarm", "aic", -216846.388513, 72),
    ("alarm", "bdeu", -218700.186025, 56),
    ("alarm", BDeu(10), -217915.096872, 61),
]
"""Totals and numbers of edges of bnlearn's hc()."""


@pytest.mark.parametrize(("name", "measure", "total", "n_edges"), CLIMBS)
def test_published_hill_climbs(name, measure, total, n_edges):
    data = table(name)
    result = pgm.hill_climb(data, measure, progress=False)
    assert result.score == pytest.approx(total, abs=1e-6)
    assert n_edges is None or len(result.dag.edges) == n_edges
    assert score(result.dag, data, measure) == pytest.approx(result.score, abs=1e-7)


def approximate_regret(n, k):
    """What bnlearn takes for more than 1000 rows: the smaller of two approximations, for large n and for large k."""
    half, density = k / 2, k / n
    ratio = math.exp(math.lgamma(half) - math.lgamma(half - 0.5))
    by_rows = (half - 0.5) * math.log(n / 2) + 0.5 * math.log(math.pi) - math.lgamma(half) + 0.5
    by_rows += (3 + k * (k - 2) * (2 * k + 1)) / (36 * n) - (math.sqrt(0.5) - ratio * k / 3 / math.sqrt(n)) ** 2
    c = (1 + math.sqrt(1 + 4 / density)) / 2
    by_states = n * (math.log(density) + (density + 2) * math.log(c) - 1 / c) - math.log(c + 2 / density) / 2
    return min(by_rows, by_states)


def regret(n, k):
    if n <= 1000 or k == 1:
        return log_regret(np.array([n]), k)[0]
    return approximate_regret(n, k)


def bnlearn_fnml(counts):
    return LogLikelihood().local(counts) - sum(regret(n, counts.shape[1]) for n in counts.sum(axis=1).tolist())


def bnlearn_qnml(counts):
    n = int(counts.sum())
    return LogLikelihood().local(counts) - regret(n, counts.size) + regret(n, len(counts))


def bnlearn_bdj(counts):
    """Normalise a variable without parents as if it had a prior of 1 for each state, where it has 1/2."""
    value = float(BDJ().local(counts))
    if len(counts) == 1:
        n, r = int(counts.sum()), counts.shape[1]
        value += math.lgamma(r) - math.lgamma(r + n) - math.lgamma(r / 2) + math.lgamma(r / 2 + n)
    return value


OWN = [  # the score, its published total and number of edges, how that was computed, and how far ours may be from it
    ("fnml", -23968.112690, 5, bnlearn_fnml, 1e-4),
    ("qnml", -23964.143162, 5, bnlearn_qnml, 2e-4),
    ("bdj", -23986.967296, 7, bnlearn_bdj, None),
]


@pytest.mark.parametrize(("name", "total", "n_edges", "like_bnlearn", "tolerance"), OWN)
def test_where_published_totals_differ_and_why(name, total, n_edges, like_bnlearn, tolerance):
    """Regrets are exact here, and approximate there; and a probability here sums to 1, see test_scores_bayesian."""
    data = table("learning.test")
    theirs = pgm.hill_climb(data, like_bnlearn, progress=False)
    assert (theirs.score, len(theirs.dag.edges)) == (pytest.approx(total, abs=1e-6), n_edges)
    ours = pgm.hill_climb(data, name, progress=False)
    if tolerance is not None:
        assert ours.score == pytest.approx(total, abs=tolerance)
    assert len(ours.dag.edges) == 5


def test_scores_that_are_not_equivalent_choose_a_direction():
    for measure in ("k2", "fnml"):
        edges = pgm.hill_climb(table("learning.test"), measure, progress=False).dag.edges
        assert ("B", "A") in edges


def with_counts(names, cells, states):
    *columns, weights = zip(*cells, strict=True)
    return Dataset(dict(zip(names, columns, strict=True)), states=states, weights=weights)


EMPTY_CELLS = with_counts(
    "ABC",
    [(0, 0, 0, 5), (0, 0, 1, 1), (0, 1, 1, 3), (1, 0, 0, 2), (1, 2, 1, 4)],
    {"A": [0, 1], "B": [0, 1, 2], "C": [0, 1]},
)
"""Twelve cells of which seven have no rows, and two of the six configurations of A and B."""

FULL = [("A", "B"), ("A", "C"), ("B", "C")]

BY_FORMULA = [  # the edges, BDeu with sample sizes 1 and 10, K2
    (FULL, -34.14279010281107, -33.082599009074265, -33.60120028984777),
    ([("B", "A"), ("B", "C"), ("A", "C")], -34.14279010281107, -33.082599009074265, -33.59468560882657),
    ([("A", "B"), ("B", "C")], -33.442207283227575, -33.178863219725855, -33.04158450191235),
    ([], -42.0561280497892, -38.10864916846542, -40.07038732351481),
]


@pytest.mark.parametrize(("edges", "bdeu_1", "bdeu_10", "k2"), BY_FORMULA)
def test_bayesian_scores_with_empty_cells(edges, bdeu_1, bdeu_10, k2):  # cmu-phil/tetrad#921
    dag = DAG(edges, nodes=list("ABC"))
    found = [score(dag, EMPTY_CELLS, measure) for measure in (BDeu(1), BDeu(10), "k2")]
    assert found == pytest.approx([bdeu_1, bdeu_10, k2], abs=1e-9)


def test_local_bayesian_scores_with_empty_cells():
    dag = DAG(FULL, nodes=list("ABC"))
    found = [local_scores(dag, EMPTY_CELLS, measure)["C"] for measure in (BDeu(1), BDeu(10), "k2")]
    assert found == pytest.approx([-7.387356336841447, -7.676776672713359, -7.832014180505469], abs=1e-9)
