"""`ConditionalGaussian` and `GaussianMixture`: against SciPy, and what they refuse."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from pgm.errors import EvidenceError, TableError, TooLargeError, UnknownNameError, UnknownStateError
from pgm.factors import ConditionalGaussian, GaussianMixture, Variable

SEX = Variable("sex", ["f", "m"])
AGE = Variable("age", [0, 1, 2])


def test_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    leaf = ConditionalGaussian("x", rng.normal(size=(2, 3)), rng.uniform(0.1, 5, size=(2, 3)), [SEX, AGE])
    values = rng.normal(size=(4, 5))
    found = leaf.log_density(values)
    assert found.shape == (2, 3, 4, 5)
    for i in range(2):
        for j in range(3):
            expected = stats.norm.logpdf(values, leaf.means[i, j], np.sqrt(leaf.variances[i, j]))
            assert found[i, j].tolist() == [pytest.approx(row, rel=1e-13) for row in expected.tolist()]
    assert np.isnan(leaf.log_density(np.nan)).all() and leaf.log_density(0.0).shape == (2, 3)


def test_numbers_by_label_and_one_for_all():
    labelled = ConditionalGaussian(
        "x", {("f", 1): 2, ("f", 0): 1, ("f", 2): 3, ("m", 0): 4, ("m", 1): 5, ("m", 2): 6}, 0.5, [SEX, AGE]
    )
    assert labelled.means.tolist() == [[1, 2, 3], [4, 5, 6]] and labelled.variances.tolist() == [[0.5] * 3] * 2
    assert ConditionalGaussian("x", {"m": 1, "f": 0}, {("f",): 2, "m": 3}, SEX).variances.tolist() == [2, 3]
    pair = Variable("pair", [("a", 1), ("b", 2)])
    assert ConditionalGaussian("x", {("b", 2): 1, ("a", 1): 0}, 1, [pair]).means.tolist() == [0, 1]
    assert ConditionalGaussian("x", {(): 3}, 1).means.tolist() == 3
    assert labelled.n_parameters == 12
    assert labelled.reorder(["age", "sex"]).means.tolist() == labelled.means.T.tolist()


def test_it_is_a_value():
    leaf = ConditionalGaussian("x", [0.0, 1.0], [1.0, 2.0], [SEX])
    assert pickle.loads(pickle.dumps(leaf)) == leaf and hash(leaf) == hash(pickle.loads(pickle.dumps(leaf)))
    assert leaf != ConditionalGaussian("x", [0.0, 1.0], [1.0, 2.5], [SEX]) and leaf != "x"
    with pytest.raises(AttributeError):
        leaf.means = 0
    with pytest.raises(AttributeError):
        del leaf.means
    with pytest.raises(ValueError, match="read-only"):
        leaf.means[0] = 1
    given = np.array([0.0, 1.0])
    kept = ConditionalGaussian("x", given, 1.0, [SEX])
    given[0] = 9
    assert kept.means[0] == 0
    assert repr(leaf) == "<ConditionalGaussian p(x | sex): 2 means and variances>"
    assert str(ConditionalGaussian("x", 1, 2)).splitlines()[0] == "p(x) = N(mean, variance)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 0, 1), "non-empty text"),
        ((3, 0, 1), "non-empty text, not 3"),
        (("x", 0, 0), "the variance of 'x' must be above 0 and finite, not 0"),
        (("x", [0, 1], [1, -1], [SEX]), "the variance of 'x' where sex='m' must be above 0"),
        (("x", [0, np.nan], 1, [SEX]), "the mean of 'x' where sex='m' must be finite, not nan"),
        (("x", [0, np.inf], 1, [SEX]), "the mean of 'x' where sex='m' must be finite, not inf"),
        (("x", [0, 1], [1, np.inf], [SEX]), "must be above 0 and finite, not inf"),
        (("x", [0, 1], [1, np.nan], [SEX]), "must be above 0 and finite, not nan"),
        (("x", [0, 1, 2], 1, [SEX]), r"the means of 'x' must have shape \(2,\) \(sex=2\), not \(3,\)"),
        (("x", [0, 1], 1), r"must have shape \(\) \(no parents\)"),
        (("x", "zero", 1), "the means of 'x'"),
        (("x", {"f": 0}, 1, [SEX]), r"'x' has no mean for \('m',\)"),
        (("x", {"f": 0, ("f",): 1, "m": 0}, 1, [SEX]), "has the mean for .* twice"),
        (("x", {"f": 0, "m": 0}, 1, [SEX, AGE]), "named by labels of 'sex', 'age', not 'f'"),
        (("x", {"f": "tall", "m": 0}, 1, [SEX]), "the mean of 'x' for"),
        (("x", [0, 0], 1, {SEX}), "a set has none"),
        (("x", [0, 0], 1, ["sex"]), "Variable objects, not 'sex'"),
        (("x", np.zeros((2, 2)), 1, [SEX, SEX]), "a variable twice"),
        (("sex", [0, 0], 1, [SEX]), "a variable twice"),
        (("x", 0, 1, [ConditionalGaussian("y", 0, 1)]), "'y' is continuous and cannot be a parent, here of 'x'"),
        (("x", 0, 1, ConditionalGaussian("y", 0, 1)), "'y' is continuous and cannot be a parent"),
        (("x", {"f": [1, 2], "m": 1}, 1, [SEX]), r"the mean of 'x' for \('f',\) is one number, not \[1, 2\]"),
        (("x", 0, 1, None), "the parents of 'x' are a list of Variable objects, not None"),
        (("x", 0, 1, 5), "the parents of 'x' are a list of Variable objects, not 5"),
        (("x", 0, 1, "sex"), "the parents of 'x' are Variable objects, not 'sex'"),
        (("x", np.longdouble("1e400"), 1), "the mean of 'x' must be finite, not inf"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(TableError, match=message):
        ConditionalGaussian(*arguments)


def test_unknown_labels_and_orders():
    with pytest.raises(UnknownStateError, match="'sex' has no state 'x'"):
        ConditionalGaussian("x", {"x": 0, "m": 1}, 1, [SEX])
    leaf = ConditionalGaussian("x", [0, 0], 1, [SEX])
    with pytest.raises(TableError, match="must name each once"):
        leaf.reorder(["age"])
    with pytest.raises(UnknownNameError, match="expected a name, or a list of names, not None"):
        leaf.reorder(None)
    assert leaf.reorder("sex") == leaf


@pytest.mark.parametrize("values", ["a", ["1", "2"], [1, "b"], 1j, [[1], [2, 3]], {"x": 1}])
def test_densities_of_what_is_no_number(values):
    mixture = GaussianMixture("x", [SEX], [0.5, 0.5], [0, 1], 1)
    for ask in [ConditionalGaussian("x", 0, 1).log_density, mixture.pdf, mixture.log_pdf]:
        with pytest.raises(EvidenceError, match="the density of 'x' is asked for at numbers, not"):
            ask(values)


def test_densities_at_the_edges_of_floats():
    mixture = GaussianMixture("x", [SEX], [0.25, 0.75], [0, 1], [1, 4])
    values = [math.inf, -math.inf, 1e300, np.longdouble("1e400"), 0]
    assert mixture.pdf(values).tolist() == pytest.approx(
        [0, 0, 0, 0, 0.25 * stats.norm.pdf(0) + 0.75 * stats.norm.pdf(0, 1, 2)]
    )
    assert mixture.log_pdf(values[:4]).tolist() == [-math.inf] * 4
    with pytest.raises(EvidenceError, match="asked for at numbers, and NaN is none"):
        mixture.pdf([0.0, math.nan])
    narrow = GaussianMixture("x", [], 1.0, 0.0, 5e-324)
    assert narrow.pdf(0.0) == pytest.approx(1 / math.sqrt(2 * math.pi) / math.sqrt(5e-324))


@pytest.mark.parametrize(
    ("weights", "means", "variances", "message"),
    [
        ([-1, 2], [0, 1], 1, "the weights of 'x' must be finite and not negative"),
        ([np.nan, 1], [0, 1], 1, "the weights of 'x' must be finite and not negative"),
        ([5, 5], [0, 1], 1, "the weights of 'x' sum to 10, not 1"),
        ([0, 0], [0, 1], 1, "the weights of 'x' sum to 0, not 1"),
        ([1e308, 1e308], [0, 1], 1, "the weights of 'x' sum to inf, not 1"),
        ([0.5, 0.5], [0, 1, 2], 1, r"the means of 'x' must have shape \(2,\)"),
        ([0.2, 0.3, 0.5], [0, 1], 1, r"the weights of 'x' must have shape \(2,\) \(sex=2\), not \(3,\)"),
        ([0.5, 0.5], [np.nan, 1], 1, "the mean of 'x' where sex='f' must be finite"),
        ([0.5, 0.5], [0, 1], [-1, 1], "the variance of 'x' where sex='f' must be above 0"),
        ("a", [0, 1], 1, "the weights of 'x'"),
    ],
)
def test_mixtures_that_are_refused(weights, means, variances, message):
    with pytest.raises(TableError, match=message):
        GaussianMixture("x", [SEX], weights, means, variances)


def test_mixtures_and_their_draws():
    mixture = GaussianMixture("x", SEX, [0.5 + 1e-8, 0.5], {"f": 0, "m": 1}, 2)
    assert mixture.weights.sum() == pytest.approx(1, abs=1e-15) and mixture.variances.tolist() == [2, 2]
    for n in [-1, 2.5, "3", None, True]:
        with pytest.raises(EvidenceError, match="the number of draws is a whole number from 0, not"):
            mixture.sample(n)
    with pytest.raises(TooLargeError, match="the draws of 'x'"):
        mixture.sample(10**400)
    with pytest.raises(EvidenceError, match="rng is a numpy.random.Generator"):
        mixture.sample(2, rng="a")
    with pytest.raises(AttributeError, match="immutable"):
        mixture.weights = None
    twin = pickle.loads(pickle.dumps(mixture))
    assert str(twin) == str(mixture) and twin.log_weights.tolist() == mixture.log_weights.tolist()
    assert copy.deepcopy(mixture).sample(5, rng=0).tolist() == mixture.sample(5, rng=0).tolist()


@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e15, 1e150])
def test_moments_at_any_scale(scale):
    mixture = GaussianMixture(
        "x", [SEX], [0.25, 0.75], [-scale, 3 * scale], [scale**2 or 5e-324, 1.0 if scale < 1 else scale]
    )
    between = 0.25 * 0.75 * (4 * scale) ** 2
    within = 0.25 * mixture.variances[0] + 0.75 * mixture.variances[1]
    assert mixture.mean == pytest.approx(2 * scale)
    assert mixture.variance == pytest.approx(between + within)
    assert mixture.standard_deviation == pytest.approx(math.sqrt(between + within))


def test_moments_beyond_the_range_of_floats():
    mixture = GaussianMixture("x", [SEX], [0.5, 0.5], [-1e200, 1e200], 1)
    assert mixture.variance == math.inf and mixture.standard_deviation == pytest.approx(1e200)
    assert "standard deviation 1e+200" in str(mixture)
    assert GaussianMixture("x", [SEX], [0.5, 0.5], [-1.7e308, 1.7e308], 1).standard_deviation == pytest.approx(1.7e308)


def test_mixtures_far_out_and_of_zero_weights():
    mixture = GaussianMixture("x", (SEX,), np.array([1.0, 0.0]), np.array([0.0, 5.0]), np.array([1.0, 1.0]))
    assert float(mixture.log_pdf(100.0)) == pytest.approx(stats.norm.logpdf(100.0))
    assert float(mixture.pdf(100.0)) == 0 and mixture.mean == 0 and mixture.variance == 1
    assert mixture.sample(3, rng=1).tolist() == mixture.sample(3, rng=1).tolist()
    assert mixture.sample(0, rng=1).shape == (0,)
    with pytest.raises(ValueError, match="read-only"):
        mixture.weights[0] = 0
