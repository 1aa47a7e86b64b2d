"""Estimates under every prior and every way to treat missing cells, against counting rows by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, MissingDataError, TableError, TooLargeError, UnknownNameError, UnknownStateError
from pgm.factors.cpt import CPT
from pgm.factors.factor import Factor
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning import UnseenConfigurationWarning, fit_parameters
from pgm.learning.parameters import (
    EquivalentSampleSize,
    HierarchicalPrior,
    Pseudocount,
    TableEstimator,
    dirichlet_prior,
    estimate_table,
    fitting,
    log_prior,
    sparse_families,
    sufficient_statistics,
)
from pgm.learning.parameters.shrinkage import hierarchical_pseudocounts

quiet = pytest.mark.filterwarnings("ignore::pgm.learning.UnseenConfigurationWarning")

STATES = {"a": [0, 1], "b": ["x", "y", "z"], "c": [False, True]}
CHAIN = DAG([("a", "b"), ("a", "c"), ("b", "c")])


def by_hand(rows, child, parents, prior=lambda *labels: Fraction(0), shift=0):
    """The table of one family as ``{labels: probability}``, in exact arithmetic; uniform where nothing is known."""
    found = {}
    for above in itertools.product(*(STATES[name] for name in parents)):
        cells = []
        for state in STATES[child]:
            n = sum(w for row, w in rows if all(row[p] == v for p, v in zip(parents, above, strict=True))
                    and row[child] == state and type(row[child]) is type(state))  # fmt: skip
            cells.append(Fraction(n) + Fraction(prior(*above, state)) - shift)
        total = sum(cells)
        for state, cell in zip(STATES[child], cells, strict=True):
            found[*above, state] = float(cell / total) if total else 1 / len(cells)
    return found


def agree(net, rows, dag=CHAIN, **options):
    for node in dag.nodes:
        expected = by_hand(rows, node, dag.parents(node), **options)
        cpt = net.cpt(node)
        for labels, value in expected.items():
            assert cpt[labels if len(labels) > 1 else labels[0]] == pytest.approx(value, abs=1e-12)


cells = st.fixed_dictionaries({name: st.sampled_from([*labels, None]) for name, labels in STATES.items()})
tables = st.lists(st.tuples(cells, st.integers(0, 3)), max_size=12)


def dataset(rows, names="abc"):
    columns = {name: [row[name] for row, _ in rows] for name in names}
    return Dataset(columns, states=STATES, weights=[float(weight) for _, weight in rows])


@quiet
@settings(max_examples=60, deadline=None)
@given(rows=tables, tenths=st.integers(0, 20))
def test_complete_and_available_rows_by_hand(rows, tenths):
    data, a = dataset(rows), Fraction(tenths, 10)
    complete = [(row, weight) for row, weight in rows if None not in row.values()]
    agree(fit_parameters(CHAIN, data, pseudocount=a, missing="complete_rows"), complete, prior=lambda *_: a)
    net = fit_parameters(CHAIN, data, pseudocount=a, missing="available")
    for node in CHAIN.nodes:  # None equals no state, so a row counts where its family is known
        family = CHAIN.family(node)
        known = [(row, weight) for row, weight in rows if None not in [row[name] for name in family]]
        expected = by_hand(known, node, CHAIN.parents(node), prior=lambda *_: a)
        assert net.cpt(node).values.ravel().tolist() == pytest.approx([*expected.values()], abs=1e-12)


MISSING = [
    (0, 0, 0, 4), (0, 1, 1, 2), (1, 1, 1, 5), (1, 0, 0, 1),
    (0, None, 0, 3), (1, None, 1, 2), (None, 1, 1, 2), (0, 1, None, 1),
]  # fmt: skip


@pytest.mark.parametrize(("missing", "of_a", "of_b", "used"), [
    ("complete_rows", [1 / 2, 1 / 2], [[2 / 3, 1 / 3], [1 / 6, 5 / 6]], [12, 12, 12]),
    ("available", [10 / 18, 8 / 18], [[4 / 7, 3 / 7], [1 / 6, 5 / 6]], [18, 13, 14]),
])  # fmt: skip
def test_which_rows_count(missing, of_a, of_b, used):  # pgmpy#696
    repeated = [row[:3] for row in MISSING for _ in range(row[3])]
    data = {name: [row[i] for row in repeated] for i, name in enumerate("ABC")}
    dag = DAG([("A", "B"), ("B", "C")])
    with pytest.raises(MissingDataError, match=r"'A \(2 of 20\)', 'B \(5 of 20\)', 'C \(1 of 20\)'"):
        fit_parameters(dag, data)
    net = fit_parameters(dag, data, missing=missing)
    assert np.allclose(net.cpt("A").values, of_a, rtol=0, atol=1e-12)
    assert np.allclose(net.cpt("B").values, of_b, rtol=0, atol=1e-12)
    assert net.cpt("C").values.tolist() == [[1, 0], [0, 1]]
    statistics = sufficient_statistics(dag, data, missing=missing)
    assert [statistics.weight_used(node) for node in "ABC"] == used
    assert (statistics.n_rows, statistics.missing) == (20, missing)
    assert fit_parameters(dag, statistics) == net


def test_a_column_that_is_no_node_may_have_holes():
    data = {"a": [0, 1, 1], "b": [0, 0, 1], "other": [None, None, None]}
    dag = DAG([("a", "b")])
    expected = fit_parameters(dag, {"a": [0, 1, 1], "b": [0, 0, 1]})
    assert fit_parameters(dag, data, missing="complete_rows") == expected
    assert fit_parameters(dag, data, missing="available") == expected


COUNTS = [({"a": 0, "b": "x", "c": True}, 3), ({"a": 1, "b": "z", "c": False}, 2), ({"a": 1, "b": "z", "c": True}, 1)]


@quiet
def test_pseudocounts_by_label():
    data = dataset(COUNTS)
    given_b = {0: {"z": 2, "x": 1}, 1: [0.5, 0, 0]}
    as_factor = Factor([Variable("b", ["z", "y", "x"]), Variable("a", [1, 0])], [[0, 2], [0, 0], [0.5, 1]])
    array = np.array([[1, 0, 2], [0.5, 0, 0]])
    nets = [
        fit_parameters(CHAIN, data, pseudocount={"b": given, "a": 1, "c": {(1, "z"): {True: 4}}})
        for given in (given_b, as_factor, array)
    ]
    assert nets[0] == nets[1] == nets[2]
    prior = {(0, "x"): 1, (0, "z"): 2, (1, "x"): Fraction(1, 2)}
    expected = by_hand(COUNTS, "b", ["a"], prior=lambda *cell: prior.get(cell, 0))
    assert nets[0].cpt("b").values.ravel().tolist() == pytest.approx([*expected.values()])
    assert nets[0].cpt("a").values.tolist() == [0.5, 0.5]
    assert nets[0].cpt("c")[{"a": 1, "b": "z", "c": True}] == 5 / 7


@pytest.mark.parametrize(("wrong", "error", "match"), [
    ({"d": 1}, UnknownNameError, r"pseudocounts for 'd'; the nodes are 'a', 'b', 'c'"),
    ({"b": -1}, TableError, r"pseudocounts of 'b' must be finite numbers from 0, not -1"),
    ({"b": math.nan}, TableError, r"'b' must be finite"),
    ({"b": {2: {"x": 1}}}, UnknownStateError, r"'a' has no state 2"),
    ({"b": {0: {"w": 1}}}, UnknownStateError, r"'b' has no state 'w'"),
    ({"b": {(0, 1): {"x": 1}}}, TableError, r"named by labels of 'a'"),
    ({"b": {0: [1, 2]}}, TableError, r"a row has 3 numbers"),
    ({"b": {0: {"x": "1"}}}, TableError, r"must be numbers, not '1'"),
    ({"b": [[1, 2, 3]]}, TableError, r"shape \(2, 3\)"),
    ({"b": Factor([Variable("a", [0, 1])], [1, 1])}, TableError, r"over 'a', but the family is 'a', 'b'"),
    ({"a": Factor([Variable("a", [0, 2])], [1, 1])}, TableError, r"'a' has the states 0, 1, but .* 0, 2"),
])  # fmt: skip
def test_pseudocounts_that_do_not_fit(wrong, error, match, monkeypatch):
    data = dataset(COUNTS)
    monkeypatch.setattr(Dataset, "count", None)  # before anything is counted
    with pytest.raises(error, match=match):
        fit_parameters(CHAIN, data, pseudocount=wrong)


def prior_network():
    a, b = Variable("a", [1, 0]), Variable("b", ["z", "x", "y"])
    other = Variable("other", ["u", "v"])
    return pgm.BayesianNetwork(
        [CPT(b, [0.5, 0.2, 0.3]), CPT(a, [[0.1, 0.9], [0.4, 0.6], [0.7, 0.3]], [b]), CPT(other, [[1, 0], [0, 1]], [a])]
    )


def test_a_prior_network_is_a_sample_of_its_joint():
    """Other edges, other orders of states, a variable too few and one too many."""
    joint = {("z", 1): 0.05, ("z", 0): 0.45, ("x", 1): 0.08, ("x", 0): 0.12, ("y", 1): 0.21, ("y", 0): 0.09}
    net = fit_parameters(CHAIN, dataset(COUNTS), prior=prior_network(), prior_weight=10)
    of_a = 10 * sum(value for (_, a), value in joint.items() if a == 0)
    assert net.cpt("a")[0] == pytest.approx((3 + of_a) / 16)
    expected = by_hand(COUNTS, "b", ["a"], prior=lambda a, b: Fraction(10 * joint[b, a]))
    assert net.cpt("b").values.ravel().tolist() == pytest.approx([*expected.values()])
    expected = by_hand(COUNTS, "c", CHAIN.parents("c"), prior=lambda *cell: Fraction(
        5 * joint[cell[CHAIN.parents("c").index("b")], cell[CHAIN.parents("c").index("a")]]))  # fmt: skip
    assert net.cpt("c").values.ravel().tolist() == pytest.approx([*expected.values()])


def test_a_uniform_prior_network_is_an_equivalent_sample_size():
    uniform = pgm.BayesianNetwork([CPT.uniform(Variable(name, STATES[name])) for name in "abc"])
    expected = fit_parameters(CHAIN, dataset(COUNTS), equivalent_sample_size=7)
    empty = pgm.BayesianNetwork([CPT.uniform(Variable("elsewhere", [0]))])
    for prior in (uniform, empty):
        net = fit_parameters(CHAIN, dataset(COUNTS), prior=prior, prior_weight=7)
        for node in "abc":
            assert np.allclose(net.cpt(node).values, expected.cpt(node).values, rtol=0, atol=1e-14)


def test_a_heavy_prior_network_is_returned():
    net = pgm.networks.load("asia")
    data = net.sample(50, rng=1)
    fitted = fit_parameters(net, data, prior=net, prior_weight=1e9)
    for cpt in net.cpts:
        assert np.allclose(fitted.cpt(cpt.child.name).values, cpt.values, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("options", "error", "match"), [
    ({"prior": prior_network()}, TableError, "needs prior_weight"),
    ({"prior": prior_network(), "prior_weight": -1}, TableError, "prior_weight must be a finite number from 0"),
    ({"prior_weight": 1}, TableError, "prior_weight is the weight of a prior network"),
    ({"prior": "hierarchical", "prior_weight": 1}, TableError, "prior_weight is the weight of a prior network"),
    ({"prior": "jeffreys"}, UnknownNameError, "no prior 'jeffreys'; there is 'hierarchical'"),
    ({"prior": {"a": 1}}, TableError, "counts by label are pseudocount="),
    ({"prior": "hierarchical", "pseudocount": 1}, TableError, "pseudocount or prior, not both"),
    ({"prior": "hierarchical", "equivalent_sample_size": 1}, TableError, "equivalent_sample_size or prior, not both"),
    ({"pseudocount": {"a": 1}, "equivalent_sample_size": 1}, TableError, "pseudocount or equivalent"),
    ({"estimate": "median"}, UnknownNameError, "'mean', 'mode'"),
    ({"estimate": None}, UnknownNameError, "'mean', 'mode'"),
    ({"missing": "drop"}, UnknownNameError, "'error', 'available', 'complete_rows'"),
    ({"prior": pgm.BayesianNetwork([CPT.uniform(Variable("b", ["x", "y"]))]), "prior_weight": 1}, TableError,
     r"'b' has the states 'x', 'y', 'z', but in the prior network 'x', 'y'"),
    ({"prior": pgm.BayesianNetwork([CPT.uniform(Variable("c", [0, 1]))]), "prior_weight": 1}, TableError,
     r"'c' has the states False, True, but in the prior network 0, 1"),
])  # fmt: skip
def test_options_that_do_not_fit(options, error, match):
    with pytest.raises(error, match=match):
        fit_parameters(CHAIN, dataset(COUNTS), **options)


# The mode.


@quiet
@settings(max_examples=40, deadline=None)
@given(rows=tables, tenths=st.integers(10, 30))
def test_the_mode_by_hand(rows, tenths):
    a = Fraction(tenths, 10)
    complete = [(row, weight) for row, weight in rows if None not in row.values()]
    net = fit_parameters(CHAIN, dataset(rows), pseudocount=a, estimate="mode", missing="complete_rows")
    for node in CHAIN.nodes:
        expected = by_hand(complete, node, CHAIN.parents(node), prior=lambda *_: a - 1)
        assert net.cpt(node).values.ravel().tolist() == pytest.approx([*expected.values()], abs=1e-9)


def test_the_mode_of_a_flat_prior_is_maximum_likelihood():
    with pytest.warns(UnseenConfigurationWarning) as caught:
        mode = fit_parameters(CHAIN, dataset(COUNTS), pseudocount=1, estimate="mode")
        plain = fit_parameters(CHAIN, dataset(COUNTS))
    assert mode == plain
    assert str(caught[0].message) == str(caught[1].message)


@pytest.mark.parametrize(("options", "cell", "together"), [
    ({}, r"P\(b='y' \| a=0\)", "0"),
    ({"pseudocount": 0.5}, r"P\(b='y' \| a=0\)", "0.5"),
    ({"equivalent_sample_size": 3}, r"P\(b='y' \| a=0\)", "0.5"),
    ({"pseudocount": {"a": 1, "b": {0: [1, 1, 1], 1: [0.25, 1, 1]}}}, r"P\(b='x' \| a=1\)", "0.25"),
])  # fmt: skip
def test_no_mode_within(options, cell, together):
    with pytest.raises(TableError, match=rf"no mode at {cell}: .* together are {together}, and a mode needs 1"):
        fit_parameters(DAG([("a", "b")]), dataset(COUNTS), estimate="mode", **options)


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.floats(0, 20), min_size=3, max_size=3),
    prior=st.lists(st.floats(0.1, 5), min_size=3, max_size=3),
    other=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
)
@pytest.mark.parametrize("estimate", ["mean", "mode"])
def test_the_estimate_maximises_the_penalised_likelihood(estimate, counts, prior, other):
    x = Variable("x", range(3))
    n, a = np.array(counts), np.array(prior) + (1 if estimate == "mode" else 0)
    best = estimate_table([x], n, a, estimate).values
    other = np.array(other) / sum(other)

    def objective(table):
        return float(n @ np.log(table)) + log_prior(table, a, estimate)

    assert objective(best) >= objective(other) - 1e-9


def test_the_prior_density_of_tables():
    x, y = Variable("x", [0, 1]), Variable("y", [0, 1, 2])
    estimator = Pseudocount(2).estimator([[x], [x, y]])
    tables = [np.array([0.3, 0.7]), np.array([[0.2, 0.3, 0.5], [1 / 3] * 3])]
    expected = 2 * sum(math.log(p) for table in tables for p in table.ravel())
    assert estimator.log_prior(tables) == pytest.approx(expected)
    assert Pseudocount(0).estimator([[x]]).log_prior([np.array([1.0, 0.0])]) == 0.0
    assert Pseudocount(1).estimator([[x]]).log_prior([np.array([1.0, 0.0])]) == -math.inf
    uneven = TableEstimator([[x]], [np.array([0.0, 3.0])])
    assert uneven.log_prior([np.array([0.0, 1.0])]) == 0.0
    mode = EquivalentSampleSize(6).estimator([[x, y]], "mode")
    assert mode.log_prior([tables[1]]) == 0.0
    assert [cpt.child for cpt in estimator.cpts([np.array([1, 2]), np.ones((2, 3))])] == [x, y]


def test_scipy_knows_the_same_density():
    from scipy.stats import dirichlet

    a, first, second = np.array([1.5, 2, 4]), np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    difference = log_prior(first, a, "mode") - log_prior(second, a, "mode")
    assert difference == pytest.approx(dirichlet(a).logpdf(first) - dirichlet(a).logpdf(second))


# Shrinkage.


def evidence(counts, weight):
    """The log-probability of the counts, row by row, up to a constant."""
    r = counts.shape[-1]
    mean = (counts.sum(axis=0) + 1 / r) / (counts.sum() + 1)
    return sum(
        math.lgamma(weight)
        - math.lgamma(weight + row.sum())
        + sum(math.lgamma(weight * m + n) - math.lgamma(weight * m) for m, n in zip(mean, row, strict=True))
        for row in counts
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_weight_of_the_hierarchical_prior_is_the_most_probable(rows):
    counts = np.array(rows)
    weight = float(hierarchical_pseudocounts(counts).sum(axis=-1)[0])
    best = evidence(counts, weight)
    assert all(evidence(counts, 10**power) <= best + 1e-4 for power in np.arange(-4, 6.01, 0.25))


def test_shrinkage_helps_small_samples():
    """Nearer to the truth than maximum likelihood and Laplace's rule, in expectation over 30 samples."""
    rng = np.random.default_rng(5)
    x, y = Variable("x", range(40)), Variable("y", range(4))
    truth = rng.dirichlet([4, 3, 2, 1], 40)
    net = pgm.BayesianNetwork([CPT.uniform(x), CPT(y, truth, [x])])
    dag, errors = net.dag, np.zeros(3)
    for seed in range(30):
        counts = sufficient_statistics(dag, net.sample(200, rng=seed))
        for place, options in enumerate(({"prior": "hierarchical"}, {"pseudocount": 1}, {"pseudocount": 1e-9})):
            errors[place] += np.square(fit_parameters(dag, counts, **options).cpt("y").values - truth).sum()
    assert errors[0] < 0.8 * errors[1] < 0.8 * errors[2]


def test_the_hierarchical_prior_is_made_of_counts():
    with pytest.raises(TableError, match="depends on the counts"):
        HierarchicalPrior().estimator([[Variable("x", [0, 1])]])
    with pytest.raises(TableError, match="made of its counts"):
        HierarchicalPrior().pseudocounts([Variable("x", [0, 1])])
    assert dirichlet_prior(prior="hierarchical") == HierarchicalPrior() == dirichlet_prior(prior=HierarchicalPrior())


# Families with many parents.


@quiet
@pytest.mark.parametrize("options", [
    {}, {"pseudocount": 0.3}, {"equivalent_sample_size": 5}, {"pseudocount": {"y": {(1,) * 8: {1: 7}}}},
    {"missing": "available"}, {"prior": prior_network(), "prior_weight": 3},
])  # fmt: skip
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, 60)])
def test_sparse_counting_changes_nothing(options, weights, monkeypatch):
    names = [f"p{i}" for i in range(8)]
    codes = np.random.default_rng(2).integers(0, 2, (60, 9))
    if "missing" in options:
        codes[::7, 3] = codes[::5, 8] = 2
    data = Dataset.from_codes([Variable(name, [0, 1]) for name in (*names, "y")], codes, weights)
    dag = DAG([(name, "y") for name in names])
    dense = fit_parameters(dag, data, **options)
    monkeypatch.setattr(sparse_families, "_LARGE", 4)
    monkeypatch.setattr(sparse_families, "_CELLS_PER_ROW", 1)
    calls = []
    inner = fitting.estimate_occupied
    monkeypatch.setattr(fitting, "estimate_occupied", lambda *args: calls.append(1) or inner(*args))
    assert fit_parameters(dag, data, **options) == dense
    assert len(calls) == 1


def test_sparse_counting_warns_alike(monkeypatch):
    data, dag = dataset(COUNTS), CHAIN
    with pytest.warns(UnseenConfigurationWarning) as dense:
        fit_parameters(dag, data)
    monkeypatch.setattr(sparse_families, "_LARGE", 0)
    monkeypatch.setattr(sparse_families, "_CELLS_PER_ROW", 0)
    with pytest.warns(UnseenConfigurationWarning) as sparse:
        fit_parameters(dag, data)
    assert str(dense[0].message) == str(sparse[0].message)
    with pytest.warns(UnseenConfigurationWarning, match="9 parent configurations"):
        fit_parameters(dag, data.take([]))


def test_forty_parents_refuse_and_twenty_answer():  # pgmpy#1776
    names = [f"P{j}" for j in range(1, 41)]
    numbers = [row * 2654435761 % 2**40 for row in range(60)]
    columns = {name: [number >> j & 1 for number in numbers] for j, name in enumerate(names)}
    columns["Y"] = columns["P1"]
    data = Dataset(columns, states={name: [0, 1] for name in columns})
    with pytest.raises(TooLargeError, match=r"'Y'.*2,199,023,255,552 cells"):
        fit_parameters(DAG([(name, "Y") for name in names]), data, pseudocount=1, missing="complete_rows")
    few = names[:18]
    cpt = fit_parameters(DAG([(name, "Y") for name in few]), data, pseudocount=1).cpt("Y")
    rows = {tuple(columns[name][row] for name in few) for row in range(60)}
    assert len(rows) == 60
    for row in rows:
        assert cpt[(*row, row[0])] == pytest.approx(2 / 3)
    assert np.count_nonzero(cpt.values != 0.5) == 120


def test_missing_cells_of_what_is_no_data_set():
    class Counts:
        variables, n_rows = (Variable("x", [0, 1]),), 3

        def count(self, families):
            return [np.array([1, 2]) for _ in families]

    assert fit_parameters(DAG(nodes="x"), Counts()).cpt("x").values.tolist() == [1 / 3, 2 / 3]
    with pytest.raises(DataError, match="needs a Dataset, not Counts"):
        fit_parameters(DAG(nodes="x"), Counts(), missing="available")
