"""Where EM starts with Gaussian leaves: at rows that are distinct, distant and known."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pgm
from pgm.data import Dataset
from pgm.learning.em import leaf_starts
from pgm.learning.em.leaf_starts import LeafStarts, distant_rows
from pgm.learning.em.leaves import leaves_of

ONE = pgm.DAG([("k", "x")])
SIX = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2]


def mixture(x, size: int = 2, weights=None, **options) -> pgm.EMResult:
    data = Dataset({"x": x}, continuous=["x"], weights=weights)
    return pgm.fit_em(ONE, data, latent={"k": size}, **options)


def apart(x, cut: float, floor: float = 0.0) -> float:
    """Return the log-likelihood of two Gaussians, each of the numbers on one side, by hand."""
    known = np.array([number for number in x if number is not None])
    total = 0.0
    for part in (known[known < cut], known[known >= cut]):
        variance = max(part.var(), floor)
        total += len(part) * math.log(len(part) / len(known))
        total -= 0.5 * len(part) * (math.log(2 * math.pi * variance) + part.var() / variance)
    return total


# ---------------------------------------------------------------------- rows without a weight


@pytest.mark.parametrize("rng", range(3))
@pytest.mark.parametrize("start", ["available cases", "random"])
def test_rows_without_a_weight_are_as_if_they_were_not_there(rng, start):
    without = mixture(SIX, rng=rng, start=start)
    with_them = mixture([100.0, *SIX, *[1e9] * 20], weights=[0, *[1] * 6, *[0] * 20], rng=rng, start=start)
    assert with_them.network == without.network
    assert with_them.log_likelihoods == pytest.approx(without.log_likelihoods, rel=1e-12)
    assert without.log_likelihood == pytest.approx(apart(SIX, 2.5), abs=1e-6)


def test_so_they_are_with_observed_parents_and_holes():
    rng = np.random.default_rng(0)
    a, x, y = rng.integers(0, 3, 60), rng.normal(size=60), rng.normal(size=60)
    x[:20], y[10:30] = np.nan, np.nan
    weights = rng.integers(0, 2, 60) * rng.uniform(0.5, 2.0, 60)
    data = Dataset.from_codes([pgm.Variable("a", [0, 1])], [a % 3], weights, {"x": x, "y": y})
    graph = pgm.DAG([("k", "x"), ("a", "x"), ("k", "y"), ("k", "a")], nodes=["k", "a", "x", "y"])
    options = {"latent": {"k": 3}, "starts": 2, "max_iter": 20, "tol": None, "acceleration": "squarem"}
    kept = data.take(weights > 0)
    found, other = pgm.fit_em(graph, data, **options), pgm.fit_em(graph, kept, **options)
    assert found.objectives == pytest.approx(other.objectives, rel=1e-9)
    assert found.start_objectives == pytest.approx(other.start_objectives, rel=1e-9)


# ---------------------------------------------------------------------- no start is dead


@pytest.mark.parametrize("rng", range(4))
@pytest.mark.parametrize(
    ("x", "cut"),
    [
        ([None] * 97 + [0.0, 0.1, 0.2, 10.0, 10.1, 10.2], 5.0),
        ([0.0] * 990 + [5.0] * 10, 2.5),
        ([*np.random.default_rng(0).normal(size=100), 1e12], 1e6),
        ([1e9, 1e9 + 1, 1e9 + 100, 1e9 + 101, None], 1e9 + 50),
    ],
)
def test_every_start_tells_the_two_clusters_apart(x, cut, rng):
    found = mixture(x, rng=rng)
    known = np.array([number for number in x if number is not None])
    optimum = apart(x, cut, 1e-6 * known.var())
    assert found.start_objectives == pytest.approx([optimum] * 10, abs=1e-6 * abs(optimum))
    means = sorted(found.network.gaussians["x"].means.tolist())
    assert means == pytest.approx([known[known < cut].mean(), known[known >= cut].mean()], abs=1e-6 * known.std())


def test_the_best_start_is_as_good_as_scikit_learns():
    sklearn_mixture = pytest.importorskip("sklearn.mixture")
    for seed in range(2):
        rng = np.random.default_rng(seed)
        middle = np.array([[0, 0], [4, 1], [1, 5], [8, 8]])
        xy = middle[rng.choice(4, 300, p=[0.85, 0.05, 0.05, 0.05])] + 0.5 * rng.normal(size=(300, 2))
        peer = sklearn_mixture.GaussianMixture(4, covariance_type="diag", n_init=5, random_state=0, tol=1e-8)
        data = Dataset({"x": xy[:, 0], "y": xy[:, 1]}, continuous=["x", "y"])
        graph = pgm.DAG([("k", "x"), ("k", "y")])
        found = pgm.fit_em(graph, data, latent={"k": 4}, rng=seed, tol=1e-6, acceleration="squarem")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of its starts do not converge
            assert found.log_likelihood > 300 * peer.fit(xy).score(xy) - 0.1


@pytest.mark.parametrize("rng", range(3))
def test_leaves_with_holes_are_drawn_by_what_rows_know_in_common(rng):
    """Three clusters in five columns, of which a row knows two."""
    generator = np.random.default_rng(rng)
    k = generator.integers(0, 3, 400)
    values = 6.0 * np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [2, -1, 2, -1, 2]])[k] + generator.normal(size=(400, 5))
    order = generator.random((400, 5)).argsort(axis=1)
    values[order >= 2] = np.nan
    data = Dataset(
        {f"x{place}": column for place, column in enumerate(values.T)}, continuous=[f"x{i}" for i in range(5)]
    )
    found = pgm.fit_em(pgm.DAG([("k", name) for name in data.continuous]), data, latent={"k": 3}, rng=rng, tol=1e-4)
    guessed = np.array(found.network.predict(data, "k"))
    table = np.array([[(guessed[k == true] == label).sum() for label in range(3)] for true in range(3)])
    assert table.max(axis=1).sum() > 0.97 * 400
    assert len(set(table.argmax(axis=1).tolist())) == 3


@pytest.mark.parametrize("rng", range(3))
def test_hidden_states_are_told_apart_within_observed_ones(rng):
    """Sex moves the mean by 100, the latent class by 6: the class must not stand for the sex."""
    generator = np.random.default_rng(rng)
    sex, k = generator.integers(0, 2, 300), generator.integers(0, 2, 300)
    columns = {"sex": sex.tolist(), "x": 100.0 * sex + 6.0 * k + generator.normal(size=300)}
    graph = pgm.DAG([("sex", "x"), ("k", "x")])
    found = pgm.fit_em(graph, Dataset(columns, continuous=["x"]), latent={"k": 2}, starts=1, rng=rng)
    means = np.sort(found.network.gaussians["x"].reorder(["sex", "k"]).means, axis=1)
    np.testing.assert_allclose(means, [[0, 6], [100, 106]], atol=0.5)


def test_parents_never_known_together_with_the_leaf_are_told_apart():
    columns = {"k": [0, 1, None, None, None, None], "x": [None, None, 0.0, 0.1, 5.0, 5.1]}
    data = Dataset(columns, continuous=["x"])
    found = pgm.fit_em(ONE, data, starts=1)
    assert sorted(found.network.gaussians["x"].means.tolist()) == pytest.approx([0.05, 5.05])


# ---------------------------------------------------------------------- the draw


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.sampled_from([0.0, 1, 5, np.nan])),
    st.integers(1, 5),
    st.integers(0, 100),
)
def test_rows_are_distinct_as_long_as_there_are_distinct_ones(points, size, seed):
    points[np.isnan(points).all(axis=1), 0] = 2.0
    weights = np.random.default_rng(seed).integers(0, 3, len(points)).astype(float)
    weights[0] = 1.0
    found = distant_rows(points, weights, size, np.random.default_rng(seed))
    assert not np.isnan(found).any()
    assert found.tolist() == distant_rows(points, weights, size, np.random.default_rng(seed)).tolist()
    for column, drawn in zip(points.T, found.T, strict=True):
        assert set(drawn.tolist()) <= {0.0, *column[~np.isnan(column)].tolist()}
    if not np.isnan(points).any():
        distinct = {tuple(row) for row in points[weights > 0].tolist()}
        drawn = [tuple(row) for row in found.tolist()]
        assert set(drawn) <= distinct
        assert len(set(drawn)) == min(size, len(distinct))


def test_distant_rows_are_drawn_by_squared_distance():
    points = np.array([[0.0], [1.0], [3.0]])
    draws = [distant_rows(points, np.ones(3), 2, np.random.default_rng(s)) for s in range(4000)]
    second = [float(pair[1, 0]) for pair in draws if pair[0, 0] == 0.0]
    assert np.mean(np.array(second) == 3.0) == pytest.approx(0.9, abs=0.03)  # 9 to 1


def test_of_many_rows_some_are_looked_at(monkeypatch):
    monkeypatch.setattr(leaf_starts, "MOST_DIFFERENCES", 1)
    monkeypatch.setattr(leaf_starts, "FEWEST_ROWS", 50)
    x = np.r_[np.random.default_rng(0).normal(size=200), np.random.default_rng(1).normal(9, 1, size=200)]
    assert sorted(mixture(x, starts=1).network.gaussians["x"].means.round().tolist()) == [0.0, 9.0]


# ---------------------------------------------------------------------- given networks

K = pgm.Variable("k", [0, 1, 2])
B = pgm.Variable("b", [0, 1])
SHOWING = pgm.DAG([("k", "b"), ("k", "x"), ("k", "y")])


def begin(b, x, y) -> pgm.BayesianNetwork:
    leaves = [pgm.ConditionalGaussian(name, means, 1.0, [K]) for name, means in (("x", x), ("y", y))]
    return pgm.BayesianNetwork([pgm.CPT(K, [0.2, 0.3, 0.5]), pgm.CPT(B, b, [K]), *leaves])


def rows(offset: float = 0.0) -> Dataset:
    rng = np.random.default_rng(0)
    numbers = {"x": offset + rng.normal(size=20), "y": rng.normal(size=20)}
    return Dataset({"b": rng.integers(0, 2, 20).tolist(), **numbers}, continuous=["x", "y"])


SAME, UNLIKE = [[0.5, 0.5]] * 3, [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("b", "x", "y"), [(SAME, [0, 1, 2], [0, 0, 0]), (UNLIKE, [1, 1, 1], [0, 0, 0]), (SAME, [0, 1, 1], [2, 1, 2])]
)
def test_a_network_that_tells_states_apart_somewhere_is_used_as_it_is(b, x, y):
    start = begin(b, x, y)
    found = pgm.fit_em(SHOWING, rows(), latent={"k": K}, start=start, starts=1, max_iter=1)
    assert found.log_likelihoods[0] == pytest.approx(float(start.log_likelihood(rows()).sum()), rel=1e-12)


def test_so_is_one_whose_means_are_close_beside_their_size():
    start = begin(SAME, [1e9, 1e9 + 0.5, 1e9 + 1], [0, 0, 0])
    found = pgm.fit_em(SHOWING, rows(1e9), latent={"k": K}, start=start, starts=1, max_iter=1)
    assert found.log_likelihoods[0] == pytest.approx(float(start.log_likelihood(rows(1e9)).sum()), rel=1e-12)


def test_only_states_that_are_alike_are_drawn():
    data, parents = rows(), [[K]] * 2
    starts = LeafStarts(
        data, leaves_of(data, parents, ["x", "y"], None), frozenset("k"), begin(SAME, [0, 3, 3], [1] * 3)
    )
    x, y = starts.draw(np.random.default_rng(0), 0, {"k": np.array([False, True, True])})
    assert (x[0].tolist(), y[0].tolist()) == ([0.0, 1.0], [1.0, 1.0])
    assert len({tuple(row) for row in x.tolist()}) == 3
    found = pgm.fit_em(SHOWING, data, latent={"k": K}, start=begin(SAME, [0, 3, 3], [1, 1, 1]), starts=1, max_iter=50)
    assert len(set(found.network.gaussians["x"].means.round(6).tolist())) == 3
