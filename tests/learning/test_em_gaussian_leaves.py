"""EM with Gaussian leaves: scikit-learn's mixture and K-means from the same start, and the properties of any EM."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, EvidenceError, GraphError, ImpossibleEvidenceError, TooLargeError
from pgm.learning.em import iteration, leaf_blocks
from pgm.learning.em.expected_leaves import ExpectedWithLeaves

K = pgm.Variable("k", [0, 1, 2])
MIXTURE = pgm.DAG([("k", "x"), ("k", "y")])


def points(n: int = 300, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    middle = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
    k = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return middle[k] + rng.normal(size=(n, 2)) * np.array([[1.0, 0.5], [0.7, 1.2], [0.4, 0.9]])[k]


def as_data(xy: np.ndarray, **options) -> Dataset:
    return Dataset({"x": xy[:, 0], "y": xy[:, 1]}, continuous=["x", "y"], **options)


def begin(means: np.ndarray, variance: float = 1.0) -> pgm.BayesianNetwork:
    leaves = [pgm.ConditionalGaussian(name, means[:, i], variance, [K]) for i, name in enumerate("xy")]
    return pgm.BayesianNetwork([pgm.CPT(K, [1 / 3] * 3), *leaves])


def centres(net: pgm.BayesianNetwork) -> np.ndarray:
    return np.stack([net.gaussians[name].means for name in "xy"], axis=1)


def test_scikit_learns_mixture_from_the_same_start():
    mixture = pytest.importorskip("sklearn.mixture")
    xy = points()
    start = xy[:3]
    peer = mixture.GaussianMixture(
        3,
        covariance_type="diag",
        reg_covar=0,
        tol=1e-12,
        max_iter=5000,
        weights_init=[1 / 3] * 3,
        means_init=start,
        precisions_init=np.ones((3, 2)),
    ).fit(xy)
    found = pgm.fit_em(MIXTURE, as_data(xy), latent={"k": K}, start=begin(start), starts=1, tol=1e-10, max_iter=5000)
    assert found.converged
    assert centres(found.network).ravel().tolist() == pytest.approx(peer.means_.ravel().tolist(), abs=1e-5)
    variances = np.stack([found.network.gaussians[name].variances for name in "xy"], axis=1)
    assert variances.ravel().tolist() == pytest.approx(peer.covariances_.ravel().tolist(), abs=1e-5)
    assert found.network.cpt("k").values.tolist() == pytest.approx(peer.weights_.tolist(), abs=1e-6)
    assert found.log_likelihood / len(xy) == pytest.approx(peer.score(xy), abs=1e-9)
    posterior = found.network.posterior(as_data(xy), "k")
    assert np.abs(posterior - peer.predict_proba(xy)).max() < 1e-4
    assert found.n_parameters == 2 + 6 + 6 and -2 * found.bic == pytest.approx(peer.bic(xy), rel=1e-9)
    one = pgm.fit_em(MIXTURE, as_data(xy), latent={"k": K}, start=begin(start), starts=1, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it has not converged
        step = mixture.GaussianMixture(
            3,
            covariance_type="diag",
            reg_covar=0,
            max_iter=1,
            weights_init=[1 / 3] * 3,
            means_init=start,
            precisions_init=np.ones((3, 2)),
        ).fit(xy)
    assert centres(one.network).ravel().tolist() == pytest.approx(step.means_.ravel().tolist(), rel=1e-10)


def test_k_means_is_the_hard_limit():
    cluster = pytest.importorskip("sklearn.cluster")
    for seed in range(3):
        xy = points(seed=seed)
        peer = cluster.KMeans(3, init=xy[:3], n_init=1, tol=0, algorithm="lloyd").fit(xy)
        found = pgm.fit_em(
            MIXTURE,
            as_data(xy),
            latent={"k": K},
            start=begin(xy[:3]),
            starts=1,
            hard=True,
            fixed=["k"],
            min_variance=1e3,
        )
        assert centres(found.network).ravel().tolist() == pytest.approx(
            peer.cluster_centers_.ravel().tolist(), rel=1e-9
        )
        assert set(found.network.gaussians["x"].variances.tolist()) == {1e3}
        assert found.network.predict(as_data(xy), "k") == peer.labels_.tolist()


def mixed(n: int, seed: int, holes: float, *, weighted: bool = False) -> Dataset:
    """Return rows of a -> b with the leaves x below a, b and y below b; cells are missing anywhere."""
    rng = np.random.default_rng(seed)
    a, b = pgm.Variable("a", [0, 1]), pgm.Variable("b", [0, 1, 2])
    net = pgm.BayesianNetwork(
        [
            pgm.CPT.random(a, rng=rng),
            pgm.CPT.random(b, [a], rng=rng),
            pgm.ConditionalGaussian("x", rng.normal(size=(2, 3)) * 3, rng.uniform(0.2, 2, size=(2, 3)), [a, b]),
            pgm.ConditionalGaussian("y", rng.normal(size=3) * 3, 1.0, [b]),
            pgm.ConditionalGaussian("z", 1.0, 2.0),
        ]
    )
    data = net.sample(n, rng=rng, missing=holes)
    if not weighted:
        return data
    codes = [data.codes("a"), data.codes("b")]
    numbers = {name: data.numbers(name) for name in data.continuous}
    return Dataset.from_codes(data.variables, codes, rng.integers(1, 4, n), numbers)


GRAPH = pgm.DAG([("a", "b"), ("a", "x"), ("b", "x"), ("b", "y")], nodes=["x", "a", "y", "b", "z"])


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgm.UnseenConfigurationWarning)
        return pgm.fit_em(*args, **options)


def test_complete_data_give_maximum_likelihood_at_once():
    data = mixed(400, 0, 0.0)
    found = quietly(GRAPH, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgm.UnseenConfigurationWarning)
        direct = pgm.fit_parameters(GRAPH, data)
    for name, leaf in direct.gaussians.items():
        seen = found.network.gaussians[name]
        assert seen.means.ravel().tolist() == pytest.approx(leaf.means.ravel().tolist(), rel=1e-9)
        assert seen.variances.ravel().tolist() == pytest.approx(leaf.variances.ravel().tolist(), rel=1e-9)
    assert found.network.cpt("b").allclose(direct.cpt("b"))
    assert found.log_likelihood == pytest.approx(float(direct.log_likelihood(data).sum()), rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.6), st.booleans(), st.booleans(), st.sampled_from([None, "squarem"]))
def test_the_log_likelihood_never_falls_and_is_that_of_the_network(seed, holes, weighted, hard, acceleration):
    data = mixed(60, seed, holes, weighted=weighted)
    options = {"hard": hard, "acceleration": acceleration}
    found = quietly(GRAPH, data, max_iter=15, min_variance=0.05, pseudocount=0.5, **options)
    assert min(np.diff(found.objectives), default=0) >= -1e-8 * abs(found.objectives[0])
    if not hard:
        weights = np.ones(60) if data.weights is None else data.weights
        assert found.log_likelihood == pytest.approx(float(weights @ found.network.log_likelihood(data)), rel=1e-9)
    assert found.network.names == GRAPH.nodes


def test_weights_are_repetitions():
    data = mixed(80, 3, 0.3, weighted=True)
    again = data.take(np.repeat(np.arange(80), data.weights.astype(int)))
    numbers = {name: again.numbers(name) for name in again.continuous}
    plain = Dataset.from_codes(again.variables, [again.codes("a"), again.codes("b")], None, numbers)
    one, two = quietly(GRAPH, data, max_iter=5, tol=0), quietly(GRAPH, plain, max_iter=5, tol=0)
    assert one.log_likelihood == pytest.approx(two.log_likelihood, rel=1e-9)


def test_a_mixture_is_found_from_random_starts_and_its_size_by_bic():
    data = as_data(points(600, seed=5))
    fits = {size: quietly(MIXTURE, data, latent={"k": size}, starts=5, rng=1, tol=1e-4) for size in (1, 2, 3, 4)}
    assert max(fits, key=lambda size: fits[size].bic) == 3
    found = centres(fits[3].network)
    order = np.argsort(found[:, 0] + 10 * found[:, 1])
    assert np.abs(found[order] - [[0, 0], [4, 1], [1, 5]]).max() < 0.3
    again = quietly(MIXTURE, data, latent={"k": 3}, starts=5, rng=1, tol=1e-4)
    assert again.network == fits[3].network
    same = (
        pgm.CPT.uniform(K),
        pgm.ConditionalGaussian("x", 0, 1, [K]).reorder(["k"]),
        pgm.ConditionalGaussian("y", 0, 1, [K]),
    )
    apart = pgm.fit_em(MIXTURE, data, latent={"k": K}, start=pgm.BayesianNetwork(same), starts=1)
    assert len(set(apart.network.gaussians["x"].means.round(3).tolist())) == 3


def overlapping(n: int, seed: int, unit: float = 1.0) -> Dataset:
    """Return two clouds whose middles are no further apart than two standard deviations."""
    rng = np.random.default_rng(seed)
    shift = rng.integers(0, 2, (n, 1)) * np.array([[2.0, 1.0]])
    return as_data((rng.normal(size=(n, 2)) * [1.0, 1.5] + shift) * unit)


TWO = pgm.Variable("k", ["one", "other"])


def far_apart(unit: float = 1.0) -> pgm.BayesianNetwork:
    leaves = [pgm.ConditionalGaussian(name, np.array([-1.0, 3.0]) * unit, unit**2, [TWO]) for name in "xy"]
    return pgm.BayesianNetwork([pgm.CPT(TWO, [0.5, 0.5]), *leaves])


@pytest.mark.parametrize("seed", range(3))
def test_squarem_needs_fewer_iterations_for_the_same_mixture(seed):
    options = {"latent": {"k": TWO}, "start": far_apart(), "starts": 1, "tol": 1e-9, "max_iter": 20_000}
    slow = pgm.fit_em(MIXTURE, overlapping(500, seed), **options)
    fast = pgm.fit_em(MIXTURE, overlapping(500, seed), acceleration="squarem", **options)
    assert slow.converged and fast.converged
    assert 2 * fast.iterations < slow.iterations
    assert fast.log_likelihood == pytest.approx(slow.log_likelihood, abs=1e-5)
    for name in "xy":
        one, two = slow.network.gaussians[name], fast.network.gaussians[name]
        assert two.means.tolist() == pytest.approx(one.means.tolist(), abs=2e-3)
        assert two.variances.tolist() == pytest.approx(one.variances.tolist(), abs=2e-3)
    for found in (slow, fast):
        assert min(np.diff(found.objectives)) >= -1e-14 * abs(found.objectives[-1])


def test_units_do_not_change_where_squarem_goes():
    options = {"latent": {"k": TWO}, "starts": 1, "tol": 1e-6, "acceleration": "squarem"}
    metres = pgm.fit_em(MIXTURE, overlapping(200, 5), start=far_apart(), **options)
    kilometres = pgm.fit_em(MIXTURE, overlapping(200, 5, 1e-3), start=far_apart(1e-3), **options)
    assert kilometres.iterations == metres.iterations
    means = 1e3 * kilometres.network.gaussians["x"].means
    assert means.tolist() == pytest.approx(metres.network.gaussians["x"].means.tolist(), rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 5.0), st.booleans())
def test_squarem_never_lets_a_mixture_fall(seed, floor, hard):
    data = overlapping(40, seed)
    options = {"starts": 2, "rng": seed, "max_iter": 40, "tol": None, "hard": hard, "min_variance": floor}
    found = quietly(MIXTURE, data, latent={"k": 2}, acceleration="squarem", pseudocount=0.1, **options)
    assert min(np.diff(found.objectives)) >= -1e-12 * abs(found.objectives[0])
    for leaf in found.network.gaussians.values():
        assert leaf.variances.min() >= floor
        numbers = data.numbers(leaf.name)
        assert numbers.min() <= leaf.means.min() and leaf.means.max() <= numbers.max()


def test_a_point_that_cannot_be_computed_with_is_not_gone_to(monkeypatch):
    options = {"latent": {"k": TWO}, "start": far_apart(), "starts": 1, "tol": None, "max_iter": 6}
    plain = pgm.fit_em(MIXTURE, overlapping(40, 0), **options)
    e_step, ahead, tried = ExpectedWithLeaves.of, [], []

    def astray(first, second, third):
        ahead.append(True)
        return third

    def of(step, values):
        if ahead:
            tried.append(ahead.pop())
            raise EvidenceError("row 0: the density is beyond the range of floats")
        return e_step(step, values)

    monkeypatch.setattr(iteration, "extrapolated", astray)
    monkeypatch.setattr(ExpectedWithLeaves, "of", of)
    found = pgm.fit_em(MIXTURE, overlapping(40, 0), acceleration="squarem", **options)
    assert tried
    assert found.network == plain.network


def test_networks_tell_which_columns_are_continuous():
    xy = points(100)
    found = pgm.fit_em(begin(xy[:3]), {"x": xy[:, 0], "y": xy[:, 1]}, start=begin(xy[:3]), starts=1, max_iter=2)
    other = pgm.fit_em(MIXTURE, as_data(xy), latent={"k": K}, start=begin(xy[:3]), starts=1, max_iter=2)
    assert found.network == other.network


def test_what_is_refused():
    xy = points(30)
    data = as_data(xy)
    for options in ({"fixed": ["x"]}, {"fixed": "x"}, {"shared": [["x", "y"]]}):
        with pytest.raises(DataError, match="is for tables: 'x' is continuous"):
            pgm.fit_em(MIXTURE, data, start=begin(xy[:3]), **options)
    with pytest.raises(TooLargeError, match=r"the densities of 'x', 'y' in one row by 900 parent conf.* 16 arrays"):
        pgm.fit_em(MIXTURE, data, latent={"k": 900}, memory_budget=300_000)
    with pytest.raises(GraphError, match="'x' is continuous, so it must be a leaf"):
        pgm.fit_em(pgm.DAG([("x", "k")]), data, latent={"k": 2})
    with pytest.raises(DataError, match="min_variance"):
        pgm.fit_em(MIXTURE, data, latent={"k": 2}, min_variance=0)
    with pytest.raises(DataError, match="no row knows the continuous leaf 'x'"):
        pgm.fit_em(MIXTURE, as_data(np.where([True, False], np.nan, xy)), latent={"k": 2}, min_variance=1)
    with pytest.raises(DataError, match="the given network needs a continuous leaf 'x' with the parents 'k'"):
        pgm.fit_em(MIXTURE, data, start=pgm.BayesianNetwork([pgm.CPT.uniform(K)]))


# ---------------------------------------------------------------------- rows that no floating-point number can hold

ONE = pgm.DAG([("k", "x")])
SHOWN = pgm.Variable("b", ["first", "second"])


def labelled(means: list[float], variance: float) -> pgm.BayesianNetwork:
    """Return a class that a column shows without error, and a leaf below it."""
    leaf = pgm.ConditionalGaussian("x", means, variance, [TWO])
    return pgm.BayesianNetwork([pgm.CPT(TWO, [0.5, 0.5]), pgm.CPT(SHOWN, np.eye(2), [TWO]), leaf])


@pytest.mark.parametrize("starts", [1, 10])
@pytest.mark.parametrize("hard", [False, True])
def test_numbers_far_from_the_only_mean_that_is_possible(starts, hard):
    """The second mean is less probable than the first by a factor of e^-1250, and no other is possible."""
    start = labelled([0.0, 5.0], 0.01)
    data = Dataset({"b": ["second", "first", "second"], "x": [0.0, 0.0, 5.0]}, continuous=["x"], variables=[SHOWN])
    found = pgm.fit_em(start, data, start=start, fixed=["b"], starts=starts, hard=hard)
    first = pgm.fit_em(start, data, start=start, fixed=["b"], starts=1, max_iter=1, hard=hard)
    by_hand = 3 * math.log(0.5) - 1.5 * math.log(2 * math.pi * 0.01) - 0.5 * 5.0**2 / 0.01
    assert first.log_likelihoods[0] == pytest.approx(by_hand, rel=1e-12)
    assert start.log_likelihood(data).sum() == pytest.approx(by_hand, rel=1e-12)
    assert found.network.gaussians["x"].means.tolist() == pytest.approx([0.0, 2.5])
    assert np.isfinite(found.start_objectives).all()


def test_many_such_rows_need_not_be_asked_about_one_by_one(monkeypatch):
    monkeypatch.delattr(leaf_blocks, "_single_row")
    start = labelled([0.0, 5.0], 1e-9)
    data = Dataset({"b": ["second"] * 500, "x": np.linspace(0, 1, 500)}, continuous=["x"], variables=[SHOWN])
    options = {"start": start, "fixed": ["b"], "starts": 1, "min_variance": 1e-9, "max_iter": 1}
    found = quietly(start, data, **options)
    far = ((5.0 - data.numbers("x")) ** 2).sum()
    by_hand = 500 * math.log(0.5) - 250 * math.log(2 * math.pi * 1e-9) - 0.5 * far / 1e-9
    assert found.log_likelihoods[0] == pytest.approx(by_hand, rel=1e-12)
    assert found.network.gaussians["x"].means[1] == pytest.approx(0.5)


def test_a_start_that_cannot_be_computed_with_has_failed():
    data = Dataset({"x": [1.0, 2.0, 8.0, 9.0]}, continuous=["x"])
    leaf = pgm.ConditionalGaussian("x", [1e200, -1e200], 1.0, [TWO])
    start = pgm.BayesianNetwork([pgm.CPT(TWO, [0.5, 0.5]), leaf])
    found = pgm.fit_em(ONE, data, start=start, starts=3)
    assert found.start_objectives[0] == -math.inf
    assert found.log_likelihood == max(found.start_objectives[1:])
    assert found.network.gaussians["x"].means.round(1).tolist() in ([1.5, 8.5], [8.5, 1.5])
    with pytest.raises(EvidenceError, match=r"row 0: the density at \{'x': 1.0\} is beyond the range of floats"):
        pgm.fit_em(ONE, data, start=start, starts=1)


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("weight", [0, 1])
def test_an_impossible_row_is_named_with_leaves_as_without(leaf, weight):
    sex, q = pgm.Variable("sex", ["f", "m"]), pgm.Variable("q", [0, 1])
    cpds = [pgm.CPT(sex, [1, 0]), pgm.CPT(q, np.eye(2), [sex])]
    net = pgm.BayesianNetwork([*cpds, *[pgm.ConditionalGaussian("x", [0, 1], 1, [sex])] * leaf])
    columns = {"sex": [None, "f", None], "q": [0, None, 1], "x": [1.0, 2.0, 3.0]}
    states = {"states": {"sex": ["f", "m"]}}
    data = Dataset({name: columns[name] for name in net.names}, weights=[weight, 1, 1], **states)
    with pytest.raises(ImpossibleEvidenceError, match=r"row 2 is impossible: .* in conflict: q=1"):
        pgm.fit_em(net, data, fixed=["q"], start=net)


def test_parent_configurations_without_rows_are_warned_of():
    columns = {"s": ["a", "b"], "u": ["p", "q"], "x": [1.0, 2.0]}
    data = Dataset(columns, continuous=["x"])
    graph = pgm.DAG([("s", "x"), ("u", "x")])
    message = r"no rows for 2 parent configurations, .*all rows for continuous leaves; of 'x \(2\)'"
    with pytest.warns(pgm.UnseenConfigurationWarning, match=message):
        found = pgm.fit_em(graph, data)
    with pytest.warns(pgm.UnseenConfigurationWarning, match=message):
        direct = pgm.fit_parameters(graph, data)
    assert found.network.gaussians["x"] == direct.gaussians["x"]
    assert found.network.gaussians["x"].means.tolist() == [[1.0, 1.5], [1.5, 2.0]]
    half = Dataset({**columns, "s": ["a", None]}, continuous=["x"], states={"s": ["a", "b"]})
    with pytest.warns(pgm.UnseenConfigurationWarning, match=r"of 'x \(1\)'"):
        pgm.fit_em(graph, half, max_iter=1, start="random")


@pytest.mark.parametrize("size", [1e155, -1e300])
def test_numbers_too_large_for_a_variance_are_refused_at_once(size):
    data = Dataset({"k": [0, 0, 1], "x": [1.0, 2.0, size]}, continuous=["x"])
    for fit in (pgm.fit_parameters, pgm.fit_em):
        for options in ({}, {"min_variance": 1.0}):
            with pytest.raises(DataError, match=r"the numbers of 'x' reach -?1e\+\d+: too large for a variance"):
                fit(ONE, data, **options)
    with pytest.raises(DataError, match="too large for a variance"):
        pgm.fit_em(ONE, data.select(["x"]), latent={"k": 2})
    unseen = Dataset({"k": [0, 0, 1, 1], "x": [1.0, 2.0, 5.0, size]}, continuous=["x"], weights=[1, 1, 1, 0])
    without = pgm.fit_parameters(ONE, unseen.take(slice(3))).gaussians["x"]
    assert pgm.fit_parameters(ONE, unseen).gaussians["x"] == pgm.fit_em(ONE, unseen).network.gaussians["x"] == without


@pytest.mark.parametrize("unit", [1e150, 1e-150])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_any_unit_gives_the_same_mixture_without_a_warning(unit, acceleration):
    x = overlapping(60, 1).numbers("x")
    options = {"latent": {"k": 2}, "rng": 3, "acceleration": acceleration, "starts": 2, "tol": 1e-9}
    plain = pgm.fit_em(ONE, Dataset({"x": x}, continuous=["x"]), parameter_tol=1e-12, **options)
    other = pgm.fit_em(ONE, Dataset({"x": unit * x}, continuous=["x"]), parameter_tol=1e-12 * unit, **options)
    means, variances = other.network.gaussians["x"].means / unit, other.network.gaussians["x"].variances / unit**2
    assert means.tolist() == pytest.approx(plain.network.gaussians["x"].means.tolist(), rel=1e-3)
    assert variances.tolist() == pytest.approx(plain.network.gaussians["x"].variances.tolist(), rel=1e-3)
