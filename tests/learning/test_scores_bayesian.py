"""Bayesian and normalised scores from first principles: probabilities that sum to 1, sums over all data, algebra."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import TableError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning.scores import normalized_likelihood as nml
from pgm.learning.scores.decomposable import JointScore
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import (
    AIC,
    BDJ,
    BIC,
    EBIC,
    FNML,
    K2,
    QNML,
    BDeu,
    BDs,
    FunctionScore,
    LogLikelihood,
    family_values,
    get_score,
    score,
)
from pgm.learning.scores.structure_priors import EdgePrior, FanInPrior
from pgm.learning.scores.tables import _BLOCK, CountFunction, log_rising, n_log_n
from tests.data.bundled import table

EQUIVALENT = [LogLikelihood(), AIC(), BIC(), EBIC(), BDeu(), BDeu(10), QNML()]
PRICED = [BIC(structure_prior=EdgePrior(-1.5)), BDeu(structure_prior=FanInPrior())]
OTHERS = [BDs(), BDJ(), K2(), FNML()]


def counts_of(child, parents, r=2, q=2):
    counts = np.zeros((q, r), np.int64)
    np.add.at(counts, (list(parents), list(child)), 1)
    return counts


@pytest.mark.parametrize("measure", [K2(), BDJ(), BDeu(1), BDeu(7), BDs(3), FNML()])
@pytest.mark.parametrize("parents", [(0, 0, 0, 0), (0, 1, 1, 0), (1, 1, 1, 0)])
def test_probabilities_of_all_columns_sum_to_one(measure, parents):
    """Each of these is the logarithm of a distribution over the child's column, given those of the parents."""
    for r in (2, 3):
        columns = product(range(r), repeat=len(parents))
        total = math.fsum(math.exp(measure.local(counts_of(child, parents, r))) for child in columns)
        assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("measure", [K2(), BDJ(), BDeu(5)])
def test_a_probability_is_a_product_of_predictions(measure):
    """Row after row, (n(j, s) + a) / (n(j) + r a)."""
    rng = np.random.default_rng(0)
    parents, child = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    a = {"k2": 1.0, "bdj": 0.5}.get(measure.name, 5 / 12)
    seen, logarithm = np.zeros((3, 4)), 0.0
    for j, s in zip(parents, child, strict=True):
        logarithm += math.log((seen[j, s] + a) / (seen[j].sum() + 4 * a))
        seen[j, s] += 1
    assert measure.local(seen.astype(int)) == pytest.approx(logarithm, abs=1e-11)
    assert measure.local(seen) == pytest.approx(logarithm, abs=1e-11)


def test_the_sparse_score_is_bdeu_where_every_configuration_occurs():
    counts = np.random.default_rng(1).integers(1, 9, (6, 5, 3))
    assert BDs(4).local(counts) == pytest.approx(BDeu(4).local(counts), abs=1e-12)
    counts[2, 3:] = 0
    expected = BDeu(4).local(counts[2, :3])
    assert BDs(4).local(counts)[2] == pytest.approx(expected, abs=1e-12)
    assert abs(BDeu(4).local(counts)[2] - expected) > 0.1


# ------------------------------------------------------------------ regrets


def exact_regret(n, k):
    """By enumeration of all tables of counts."""
    if k == 1 or n == 0:
        return Fraction(1)
    total = Fraction(0)
    for first in range(n + 1):
        shares = Fraction(first, n) ** first * Fraction(n - first, n) ** (n - first)
        total += math.comb(n, first) * shares * exact_regret(n - first, k - 1)
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_regrets_by_enumeration(k):
    found = nml.log_regret(np.arange(9), k)
    assert found == pytest.approx([math.log(exact_regret(n, k)) for n in range(9)], abs=1e-13)


def test_ways_to_a_regret_agree():
    for n, k in product((3, 999, 1000, 20_000, 300_000), (2, 5, 64, 65, 1000)):
        assert nml._by_recurrence(np.array([float(n)]), k)[0] == pytest.approx(nml._by_sum(n, k), abs=1e-9)
    for n, k in product((1000, 100_000), (65_537, 1_000_000)):
        assert nml._approximate(n, k) == pytest.approx(nml._by_sum(n, k), abs=3e-6)


def test_regrets_beyond_the_sum(monkeypatch):
    exact = nml.log_regret(np.array([5000, 40, 5000]), 200)
    monkeypatch.setattr(nml, "_MANY_ROWS", 100)
    assert nml.log_regret(np.array([5000, 40, 5000]), 200) == pytest.approx(exact, abs=1e-9)
    monkeypatch.setattr(nml, "_MANY_STATES", 100)
    assert nml.log_regret(np.array([5000, 40, 5000]), 200) == pytest.approx(exact, abs=2e-3)


def test_regrets_of_fractional_rows_lie_between():
    for k in (2, 100):
        whole = nml.log_regret(np.array([7, 8]), k)
        assert nml.log_regret(np.array([7.25]), k)[0] == pytest.approx(0.75 * whole[0] + 0.25 * whole[1])


# ------------------------------------------------------------------ tables


def test_tables_agree_with_the_functions_they_hold():
    counts = np.array([[0, 1, 2, 700], [3, 255, 256, 5000]])
    by_hand = [[n * math.log(n) if n else 0.0 for n in row] for row in counts.tolist()]
    for kind in (np.int64, np.float64, np.float32):
        assert n_log_n(counts.astype(kind)) == pytest.approx(np.array(by_hand), rel=1e-15)
    for start in (1e-6, 0.3, 1.0, 17.0):
        expected = [[math.lgamma(n + start) - math.lgamma(start) for n in row] for row in counts.tolist()]
        for _ in range(3):
            assert log_rising(counts, start) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-12)
    assert n_log_n(np.array([0.5, 0.0])).tolist() == [0.5 * math.log(0.5), 0.0]


def test_a_table_grows_but_not_beyond_its_limit():
    asked = []

    def function(counts):
        asked.append(counts.size)
        return counts + 0.5

    shifted = CountFunction(function, limit=1024)
    few, more, many = np.array([3, 200]), np.array([3, 400]), np.arange(1100)
    for counts in (few, more, more, many, many):
        assert shifted(counts).tolist() == (counts + 0.5).tolist()
    assert asked == [256, 256, 512, 76, 76]


def test_blocks_of_counts():
    counts = np.random.default_rng(0).integers(0, 50, (300, 40, 3))
    assert counts.size > 2 * _BLOCK
    expected = np.where(counts > 0, counts * np.log(np.maximum(counts, 1)), 0.0)
    for table_of_counts, values in ((counts, expected), (counts.transpose(2, 0, 1), expected.transpose(2, 0, 1))):
        assert n_log_n(table_of_counts) == pytest.approx(values, rel=1e-15)
        assert n_log_n(table_of_counts / 3) == pytest.approx((values - table_of_counts * math.log(3)) / 3, abs=1e-12)


@pytest.mark.parametrize(("total", "digits"), [(20_000, 1e-9), (10**6, 1e-7), (10**9, 1e-4)])
def test_digits_of_the_joint_form(total, digits):
    """Against quotients inside the logarithm, which lose none."""
    shares = np.random.default_rng(5).dirichlet(np.full(4, 0.5), 60)
    counts = (shares * total / 60).astype(np.int64)
    quotients = counts / counts.sum(axis=1, keepdims=True)
    exact = math.fsum((counts * np.log(np.where(counts > 0, quotients, 1.0))).ravel())
    assert LogLikelihood().local(counts) == pytest.approx(exact, rel=0, abs=digits)


# ------------------------------------------------------------------ equivalence


@st.composite
def data_sets(draw):
    cardinalities = [draw(st.integers(1, 3)) for _ in range(3)]
    rows = draw(st.lists(st.tuples(*(st.integers(0, r - 1) for r in cardinalities)), min_size=1, max_size=25))
    columns = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    weights = draw(st.sampled_from([None, 2.0, 0.75]))
    states = {name: range(r) for name, r in zip("abc", cardinalities, strict=True)}
    return Dataset(columns, states=states, weights=None if weights is None else [weights] * len(rows))


CLASSES = [
    [[("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], [("c", "b"), ("b", "a")]],
    [[("a", "b"), ("a", "c"), ("b", "c")], [("c", "b"), ("c", "a"), ("b", "a")], [("b", "c"), ("b", "a"), ("c", "a")]],
]


@settings(max_examples=40, deadline=None)
@given(data_sets())
def test_equivalent_graphs_score_the_same(data):
    for measure in (*EQUIVALENT, *PRICED):
        assert measure.is_score_equivalent
        for graphs in CLASSES:
            scores = [score(DAG(edges, nodes=list("abc")), data, measure) for edges in graphs]
            assert scores == pytest.approx([scores[0]] * len(scores), abs=1e-8)


@pytest.mark.parametrize("measure", OTHERS)
def test_scores_that_tell_equivalent_graphs_apart_say_so(measure):
    assert not measure.is_score_equivalent
    data = Dataset({"a": [0, 0, 0, 1, 1, 2], "b": [0, 0, 1, 1, 1, 1], "c": [0, 1, 0, 1, 0, 0]}, states={"c": range(4)})
    chains = [
        score(DAG(edges, nodes=list("abc")), data, measure) for edges in ([("a", "b"), ("b", "c")], CLASSES[0][1])
    ]
    forks = [score(DAG(edges, nodes=list("abc")), data, measure) for edges in ([("a", "b"), ("a", "c")], CLASSES[0][2])]
    whole = [score(DAG(edges, nodes=list("abc")), data, measure) for edges in CLASSES[1]]
    assert max(np.ptp(chains), np.ptp(forks[:1]), np.ptp(whole)) > 1e-3


@settings(max_examples=30, deadline=None)
@given(data_sets(), st.sampled_from(EQUIVALENT))
def test_local_scores_are_differences_of_joint_scores(data, measure):
    assert isinstance(measure, JointScore)

    def joint(names):
        (counts,) = data.count([(names[0], names[1:])]) if names else [np.array(data.total_weight)]
        cells = measure.cell(counts.reshape(-1), counts.size).sum()
        return float(cells + measure.constant(counts.size, data.total_weight))

    for parents in ([], ["b"], ["b", "c"]):
        (counts,) = data.count([("a", parents)])
        local = float(measure.local(counts.reshape(-1, counts.shape[-1])))
        assert local == pytest.approx(joint(["a", *parents]) - joint(parents), abs=1e-9)
    assert measure.cell(np.zeros(3, np.int64), 12).tolist() == [0.0] * 3


def test_the_joint_score_of_nothing_is_that_of_one_cell():
    """For Bayesian scores and QNML joint scores are log-probabilities of columns: of none, 1."""
    for measure in (BDeu(3), QNML()):
        columns = product(range(3), repeat=4)
        total = 0.0
        empty = float(measure.cell(np.array([4]), 1)[0] + measure.constant(1, 4))
        for column in columns:
            counts = np.bincount(column, minlength=3)
            total += math.exp(float(measure.cell(counts, 3).sum() + measure.constant(3, 4)) - empty)
        assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("measure", OTHERS)
def test_scores_without_a_joint_form(measure):
    assert not isinstance(measure, JointScore)


# ------------------------------------------------------------------ structure priors


def test_an_edge_prior_adds_its_odds_for_every_edge():
    data = table("learning.test")
    dag = DAG([("A", "B"), ("A", "D"), ("C", "D")], nodes=data.names)
    for name in (BIC, BDeu, K2, FNML):
        plain, priced = score(dag, data, name()), score(dag, data, name(structure_prior=EdgePrior(-2.5)))
        assert priced == pytest.approx(plain - 7.5, abs=1e-9)


def test_the_fan_in_prior_counts_sets_of_parents():
    prior = FanInPrior()
    for k in range(5):
        assert prior.log_prior(k, 5) == pytest.approx(-math.log(math.comb(4, k)))


def test_ebic_by_formula():
    data = table("asia")
    dag = DAG([("S", "B"), ("S", "L")], nodes=data.names)
    assert score(dag, data, "ebic") == pytest.approx(score(dag, data) - 2 * 2 * math.log(8), abs=1e-9)
    assert score(dag, data, EBIC(gamma=0)) == score(dag, data)


@pytest.mark.parametrize("prior", [EdgePrior(-3.0), EdgePrior(0.7), FanInPrior()])
@pytest.mark.parametrize("max_parents", [None, 2])
def test_searches_honour_the_prior(prior, max_parents):
    data = table("asia")
    measure = BDeu(5, structure_prior=prior)
    result = pgm.hill_climb(data, measure, max_parents=max_parents, progress=False)
    assert result.score == pytest.approx(score(result.dag, data, measure), abs=1e-8)
    assert result.dag.edges != pgm.hill_climb(data, BDeu(5), max_parents=max_parents, progress=False).dag.edges


def test_all_others_as_parents():
    """The fan-in prior has nothing to say of one parent more."""
    data = {"a": [0, 1, 0, 1, 1], "b": [0, 1, 1, 0, 1]}
    scores = FamilyScores(Dataset(data), BDeu(structure_prior=FanInPrior()))
    current, gains = scores.neighbours(0, (1,), grow=True)
    assert current == pytest.approx(scores.family(0, [1]))
    assert gains[1] == pytest.approx(scores.family(0, []) - current)


# ------------------------------------------------------------------ one's own scores


def minus_cells(counts):
    return -counts.size


def test_a_function_is_a_score():
    data = table("asia")
    dag = DAG([("S", "B")], nodes=data.names)
    assert score(dag, data, minus_cells) == -18
    assert get_score(minus_cells).name == "minus_cells"
    assert pgm.hill_climb(data, minus_cells, progress=False).dag.edges == ()
    likelihood = FunctionScore(lambda counts: LogLikelihood().local(counts) - 30)
    assert score(dag, data, likelihood) == pytest.approx(score(dag, data, "loglik") - 240)


class Misshapen:
    name = "misshapen"
    is_score_equivalent = False

    def local(self, counts):
        return np.zeros(3)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda counts: math.nan, r"'<lambda>' is nan for a table of shape \(\d, 2\); local scores must be finite"),
        (lambda counts: -math.inf, r"is -inf"),
        (lambda counts: counts.sum(axis=0), r"'<lambda>' must return a number, not array"),
        (lambda counts: None, r"must return a number, not None"),
        (Misshapen(), r"'misshapen' returns an array of shape \(3,\) for tables of shape \(.*2\), not \("),
    ],
)
def test_scores_of_ones_own_are_checked(own, message):
    data = {"a": [0, 1, 1], "b": [0, 0, 1]}
    for learn in (lambda: score(DAG(nodes=["a", "b"]), data, own), lambda: pgm.hill_climb(data, own)):
        with pytest.raises(TableError, match=message):
            learn()


def test_a_bound_score_of_ones_own():
    class Bound:
        name, is_score_equivalent = "bound", True

        def __init__(self, value=0.0):
            self.value = value

        def bind(self, n_variables, total_weight):
            return Bound(100 * n_variables + total_weight)

        def local(self, counts):
            return np.full(counts.shape[:-2], self.value)

    data = {"a": [0, 1, 1], "b": [0, 0, 1], "ignored": [0, 1, 0]}
    assert score(DAG(nodes=["a", "b"]), data, Bound()) == 2 * 203
    assert family_values(Bound(), np.ones((4, 2, 2))).tolist() == [0.0] * 4


# ------------------------------------------------------------------ what is refused, and how scores print


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, "10", None, True])
def test_wrong_sample_sizes(wrong):
    for kind in (BDeu, BDs):
        with pytest.raises(TableError, match=r"equivalent_sample_size must be a finite number above 0, not"):
            kind(wrong)


def test_wrong_parameters():
    with pytest.raises(TableError, match="gamma must be a finite number from 0, not -0.5"):
        EBIC(-0.5)
    with pytest.raises(TableError, match="log_odds must be a finite number, not nan"):
        EdgePrior(math.nan)
    for prior in (-1.0, "marginal", EdgePrior):
        with pytest.raises(TableError, match="structure_prior must be an EdgePrior, a FanInPrior or the like, not"):
            K2(structure_prior=prior)
    for nothing in ("bde", K2, 5, None):
        with pytest.raises(UnknownNameError, match="no score"):
            get_score(nothing)


def test_scores_print_what_was_chosen():
    assert repr(BDeu()) == "BDeu()"
    assert repr(BDeu(10, structure_prior=EdgePrior(-1.0))) == (
        "BDeu(structure_prior=EdgePrior(log_odds=-1.0), equivalent_sample_size=10)"
    )
    names = [get_score(name).name for name in ("bdeu", "bds", "bdj", "k2", "fnml", "qnml", "ebic")]
    assert names == ["bdeu", "bds", "bdj", "k2", "fnml", "qnml", "ebic"]
    assert (BDeu(10).name, BDs(0.5).name) == ("bdeu(10)", "bds(0.5)")
    assert BDeu(10) == BDeu(10.0) != BDeu(5)


@settings(max_examples=30, deadline=None)
@given(data_sets(), st.sampled_from([*EQUIVALENT, *OTHERS]))
def test_many_families_at_once(data, measure):
    assume(data.n_rows > 1)
    (counts,) = data.count([("c", ["a", "b"])])
    stacked = np.stack([counts.reshape(-1, counts.shape[-1]), 3 * counts.reshape(-1, counts.shape[-1])])
    together = measure.local(stacked)
    assert together == pytest.approx([float(measure.local(part)) for part in stacked], abs=1e-10)


@pytest.mark.parametrize("size", [1e-100, 1.0, 9e4, 1e5, 1e10, 1e16, 1e300])
def test_any_equivalent_sample_size_keeps_its_digits(size):
    """Against ln((a + i) / (b + i)) term by term; far beyond any use the score is that of equal probabilities."""
    counts = np.array([[7, 2, 0], [0, 40, 5]])
    expected = 0.0
    for row in counts:
        ups = [math.log1p(6 * i / size) for n in row for i in range(n)]
        downs = [math.log1p(2 * i / size) for i in range(row.sum())]
        expected += math.fsum(ups) - math.fsum(downs) - row.sum() * math.log(3)
    assert float(BDeu(size).local(counts)) == pytest.approx(expected, rel=1e-9)
