"""Gaussian leaves learned from data: against NumPy, group by group, and SciPy's densities."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError

A, B = pgm.Variable("a", ["no", "yes"]), pgm.Variable("b", [0, 1, 2])
DAG = pgm.DAG([("a", "b"), ("b", "x"), ("a", "x")], nodes=["x", "a", "b", "y"])


def rows(n: int, seed: int = 0, holes: float = 0.0, weighted: bool = False) -> Dataset:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = 2.0 * a - b + rng.normal(size=n) * (1 + b)
    y = 1e6 + rng.normal(size=n)
    numbers = {"x": np.where(rng.random(n) < holes, np.nan, x), "y": np.where(rng.random(n) < holes, np.nan, y)}
    codes = [np.where(rng.random(n) < holes, 2, a), np.where(rng.random(n) < holes, 3, b)]
    return Dataset.from_codes([A, B], codes, rng.integers(0, 4, n) if weighted else None, numbers)


def groups(data: Dataset, keep: np.ndarray):
    """Yield the place, the numbers and the weights of every configuration of x's parents (b, a)."""
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    for b in range(3):
        for a in range(2):
            chosen = keep & (data.codes("a") == a) & (data.codes("b") == b)
            yield (b, a), data.numbers("x")[chosen], weights[chosen]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", ["error", "available", "complete_rows"])
def test_maximum_likelihood(missing, weighted):
    data = rows(500, holes=0.0 if missing == "error" else 0.2, weighted=weighted)
    net = pgm.fit_parameters(DAG, data, missing=missing)
    assert net.names == DAG.nodes and net.dag == DAG
    keep = np.isfinite(data.numbers("x"))
    if missing == "complete_rows":
        keep &= np.isfinite(data.numbers("y"))
    leaf = net.gaussians["x"]
    assert [parent.name for parent in leaf.parents] == list(DAG.parents("x"))
    turned = leaf.reorder(["b", "a"])
    for place, values, weights in groups(data, keep):
        assert turned.means[place] == pytest.approx(np.average(values, weights=weights), rel=1e-12)
        variance = np.average((values - turned.means[place]) ** 2, weights=weights)
        assert turned.variances[place] == pytest.approx(variance, rel=1e-12)
    discrete = data.select(["a", "b"])
    if missing == "complete_rows":
        complete = data.complete_rows().select(["a", "b"])
        assert net.cpt("b") == pgm.fit_parameters(pgm.DAG([("a", "b")]), complete).cpt("b")
    else:
        assert net.cpt("b") == pgm.fit_parameters(pgm.DAG([("a", "b")]), discrete, missing=missing).cpt("b")
    # far from zero nothing is lost
    y = data.numbers("y")
    if missing == "error" and not weighted:
        assert float(net.gaussians["y"].variances) == pytest.approx(float(np.var(y)), rel=1e-9)


def test_weights_are_repetitions():
    data = rows(200, weighted=True)
    repeated = data.take(np.repeat(np.arange(200), data.weights.astype(int)))
    plain = Dataset.from_codes(
        repeated.variables,
        [repeated.codes("a"), repeated.codes("b")],
        None,
        {name: repeated.numbers(name) for name in repeated.continuous},
    )
    one, two = pgm.fit_parameters(DAG, data), pgm.fit_parameters(DAG, plain)
    for name in ["x", "y"]:
        assert one.gaussians[name].means.ravel().tolist() == pytest.approx(two.gaussians[name].means.ravel().tolist())
        assert one.gaussians[name].variances.ravel().tolist() == pytest.approx(
            two.gaussians[name].variances.ravel().tolist(), rel=1e-9
        )


def test_configurations_of_one_row_or_none():
    columns = {"a": ["no", "no", "yes"], "x": [1.0, 3.0, 10.0]}
    dag = pgm.DAG([("a", "x")])
    states = {"a": ["no", "yes", "maybe"]}
    data = Dataset(columns, states=states, continuous=["x"])
    message = r"no rows for 1 parent configuration, .*all rows for continuous leaves; of 'x \(1\)'"
    with pytest.warns(pgm.UnseenConfigurationWarning, match=message):
        net = pgm.fit_parameters(dag, data)
    leaf, variance = net.gaussians["x"], float(np.var([1, 3, 10]))
    assert leaf.means.tolist() == pytest.approx([2, 10, 14 / 3])
    assert leaf.variances.tolist() == pytest.approx([1, variance * 1e-6, variance])
    with pytest.warns(pgm.UnseenConfigurationWarning):
        floored = pgm.fit_parameters(dag, data, min_variance=2.0, pseudocount=1)
    assert floored.gaussians["x"].variances.tolist() == pytest.approx([2, 2, variance])
    constant = Dataset({"a": ["no", "no"], "x": [5.0, 5.0]}, continuous=["x"])
    with pytest.raises(DataError, match="all known numbers of 'x' are equal: say min_variance="):
        pgm.fit_parameters(dag, constant)
    assert pgm.fit_parameters(dag, constant, min_variance=0.5).gaussians["x"].variances.tolist() == [0.5]
    for wrong in [0, -1, math.nan, math.inf, "small", True]:
        with pytest.raises(DataError, match="min_variance must be a finite number above 0"):
            pgm.fit_parameters(dag, constant, min_variance=wrong)


def test_a_network_says_which_columns_are_continuous():
    net = pgm.BayesianNetwork(
        [pgm.CPT.uniform(A), pgm.ConditionalGaussian("x", 0, 1, [pgm.Variable("a", ["no", "yes"])])]
    )
    columns = {"a": ["no", "yes", "no", "yes"], "x": [1, 2, 3, 6], "other": [0.5, 1.5, 2.5, 3.5]}
    for data in [columns, Dataset({k: columns[k] for k in "ax"})]:
        fitted = pgm.fit_parameters(net, data)
        assert fitted.gaussians["x"].means.tolist() == [2, 4] and fitted.gaussians["x"].variances.tolist() == [1, 4]
        assert pgm.score(net, data) < 0
    counted = pgm.sufficient_statistics(pgm.DAG(nodes=["a"]), columns)
    with pytest.raises(DataError, match="'x' need rows"):
        pgm.fit_parameters(net, counted)


def test_what_is_refused():
    data = rows(50)
    with pytest.raises(GraphError, match="'x' is continuous, so it must be a leaf, but it is a parent of 'b'"):
        pgm.fit_parameters(pgm.DAG([("x", "b")]), data)
    with pytest.raises(GraphError, match="'x' is continuous, so it must be a leaf, but it is a parent of 'y'"):
        pgm.score(pgm.DAG([("x", "y")], nodes=["a", "x", "y"]), data)
    codes = [data.codes("a"), data.codes("b")]
    torn = Dataset.from_codes([A, B], codes, None, {"x": [np.nan, *range(49)], "y": np.arange(50.0)})
    for refuse in [pgm.fit_parameters, pgm.score]:
        with pytest.raises(MissingDataError, match=r"1 missing cell, in 'x \(1 of 50\)'"):
            refuse(DAG, torn)
    holes = Dataset.from_codes([A, B], [np.array([0, 1]), np.array([0, 1])], None, {"x": [np.nan] * 2, "y": [1.0, 2.0]})
    with pytest.raises(MissingDataError, match="no row knows 'x' and its parents"):
        pgm.fit_parameters(DAG, holes, missing="available", pseudocount=1)
    with pytest.raises(DataError, match="'x' is continuous"):
        pgm.sufficient_statistics(DAG, data.select(["a", "b", "x"]))


# ---------------------------------------------------------------------- scores


def test_scores_are_those_of_the_fitted_network():
    data = rows(300)
    net = pgm.fit_parameters(DAG, data)
    likelihood = float(net.log_likelihood(data).sum())
    assert pgm.score(DAG, data, "loglik") == pytest.approx(likelihood, rel=1e-12)
    assert pgm.score(DAG, data, "aic") == pytest.approx(likelihood - net.n_parameters, rel=1e-12)
    assert pgm.score(DAG, data, "bic") == pytest.approx(likelihood - net.n_parameters / 2 * math.log(300), rel=1e-12)
    local = pgm.learning.local_scores(DAG, data)
    assert list(local) == list(DAG.nodes)
    by_hand = 0.0
    for _, values, _ in groups(data, np.ones(300, bool)):
        by_hand += stats.norm.logpdf(values, values.mean(), values.std()).sum() - math.log(300)
    assert local["x"] == pytest.approx(by_hand, rel=1e-12)
    ebic = pgm.score(DAG, data, "ebic")
    assert ebic == pytest.approx(pgm.score(DAG, data, "bic") - 2 * math.log(4) * len(DAG.edges), rel=1e-12)
    for name in ["bdeu", "k2", "fnml"]:
        with pytest.raises(DataError, match=f"'x' is continuous, and score '{name}' only for counts"):
            pgm.score(DAG, data, name)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 60))
def test_no_other_means_and_variances_fit_better(seed, n):
    data = rows(n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgm.UnseenConfigurationWarning)
        net = pgm.fit_parameters(DAG, data, min_variance=1e-3)
    rng = np.random.default_rng(seed)
    best = net.log_likelihood(data).sum()
    for _ in range(5):
        moved = [
            pgm.ConditionalGaussian(
                cpd.name,
                cpd.means + rng.normal(size=cpd.means.shape) * 0.1,
                np.maximum(cpd.variances * rng.uniform(0.5, 2, size=cpd.means.shape), 1e-3),
                cpd.parents,
            )
            if isinstance(cpd, pgm.ConditionalGaussian)
            else cpd
            for cpd in net.cpds
        ]
        assert pgm.BayesianNetwork(moved).log_likelihood(data).sum() <= best + 1e-9 * abs(best)
