"""Naive Bayes with continuous features, alone and beside categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from pgm import Dataset, NaiveBayesClassifier
from pgm.classifiers.counting.class_moments import class_moments
from pgm.errors import DataError, UnknownNameError


def mixed(rows=200, seed=0):
    """Return a number, a boolean, a text and a count, and classes that they depend on."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    X = {
        "length": rng.normal(size=rows) * (1 + y) + y,
        "wet": rng.random(rows) < 0.2 + 0.3 * y,
        "color": np.where(rng.random(rows) < 0.3, "red", np.where(y > 0, "green", "blue")),
        "weight": rng.normal(size=rows) + 50,
        "legs": rng.integers(0, 3, rows) + y,
    }
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn(weighted):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 5, len(y)).astype(float) if weighted else None
    floor = 1e-9 if not weighted else 1e-300  # with weights, scikit-learn's floor does not know them
    ours = NaiveBayesClassifier(class_pseudocount=0, variance_floor=floor).fit(X, y, weight)
    theirs = GaussianNB(var_smoothing=0.0 if weighted else 1e-9).fit(X, y, weight)
    assert ours.predict_joint_log_proba(X) == pytest.approx(theirs.predict_joint_log_proba(X), abs=1e-10, rel=1e-12)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-10)


def test_mixed_columns_are_scikit_learn_s_two_halves():
    X, y = mixed()
    ours = NaiveBayesClassifier(class_pseudocount=0).fit(X, y)
    assert ours.continuous_features_ == ("length", "weight")
    numbers = np.stack([X["length"], X["weight"]], axis=1)
    codes = np.stack([X["wet"], pd.factorize(X["color"], sort=True)[0], X["legs"]], axis=1).astype(int)
    gaussian, categorical = GaussianNB().fit(numbers, y), CategoricalNB().fit(codes, y)
    joint = gaussian.predict_joint_log_proba(numbers) + categorical.predict_joint_log_proba(codes)
    joint -= np.log(np.bincount(y) / len(y))
    assert ours.predict_joint_log_proba(X) == pytest.approx(joint, abs=1e-10)


def as_dataset(X):
    return Dataset(X, continuous=["length", "weight"])


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, as_dataset])
def test_posteriors_are_the_network_s_own(frame):
    X, y = mixed()
    X = {name: list(column) for name, column in X.items()}
    for place, column in enumerate(X.values()):
        column[place::7] = [None] * len(column[place::7])
    X["legs"] = [None if cell is None else int(cell) for cell in X["legs"]]
    table = frame(X) if frame is not pd.DataFrame else pd.DataFrame(X).astype({"legs": "Int64"})
    model = NaiveBayesClassifier().fit(table, y)
    assert set(model.network_.gaussians) == {"length", "weight"}
    expected = model.network_.posterior(X, "class")
    assert model.predict_proba(table) == pytest.approx(expected, abs=1e-12)


def test_a_cell_by_hand():
    model = NaiveBayesClassifier(pseudocount=1, variance_floor=1e-12).fit({"x": [1.0, 3.0, 10.0, 14.0]}, list("aabb"))
    densities = np.array([norm(2, 1).pdf(5), norm(12, 2).pdf(5)])
    assert np.exp(model.predict_joint_log_proba({"x": [5.0]})[0]) == pytest.approx(densities / 2, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_is_fitting_without_it(weighted):
    X, y = mixed(40)
    X["length"][::6] = np.nan
    weight = np.random.default_rng(1).random(40) + 0.5 if weighted else None
    model = NaiveBayesClassifier(states={"legs": range(5), "color": ["blue", "green", "red"]})
    left_out = model.leave_one_out(X, y, weight)
    for row in range(40):
        others = np.arange(40) != row
        rest = {name: column[others] for name, column in X.items()}
        again = model.fit(rest, y[others], None if weight is None else weight[others])
        found = again.predict_proba({name: column[[row]] for name, column in X.items()})[0]
        assert left_out[row] == pytest.approx(found, abs=1e-9)


def test_leaving_out_the_only_row_of_a_class():
    X, y = {"x": [1.0, 2.0, 3.0, 9.0]}, ["a", "a", "a", "b"]
    model = NaiveBayesClassifier(pseudocount=1)
    rest = model.fit({"x": [1.0, 2.0, 3.0]}, ["a", "a", "a"])
    assert rest.classes_.tolist() == ["a"]
    left_out = model.leave_one_out(X, y)[3]
    # class b has no row any more: the density is that of all rows, and so that of a
    assert left_out == pytest.approx([4 / 5, 1 / 5])


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(float, (12, 2), elements=st.floats(-1e3, 1e3)),
    hnp.arrays(np.intp, 12, elements=st.integers(0, 2)),
    st.integers(1, 11),
)
def test_moments_add_up(numbers, labels, place):
    whole = class_moments(numbers, labels, 3)
    parts = class_moments(numbers[:place], labels[:place], 3) + class_moments(numbers[place:], labels[place:], 3)
    assert parts.weights.tolist() == whole.weights.tolist()
    assert parts.means == pytest.approx(whole.means, abs=1e-9)
    assert parts.squares == pytest.approx(whole.squares, abs=1e-6)


def test_batches_are_one_fit():
    X, y = mixed()
    states = {"legs": range(5), "color": ["blue", "green", "red"], "wet": [False, True]}
    model, one = NaiveBayesClassifier(states=states), NaiveBayesClassifier(states=states).fit(X, y)
    for rows in np.array_split(np.arange(200), [3, 50, 51]):
        model.partial_fit({name: column[rows] for name, column in X.items()}, y[rows], classes=[0, 1, 2])
    assert model.predict_joint_log_proba(X) == pytest.approx(one.predict_joint_log_proba(X), abs=1e-9)


def test_a_feature_that_is_constant_in_a_class():  # scikit-learn#24732
    X = np.array([[1.0, 100.0], [1.0, 120.0], [1.0, 140.0], [0.9, 200.0], [1.1, 240.0], [1.3, 220.0]])
    model = NaiveBayesClassifier().fit(X, list("pppqqq"))
    joint = model.predict_joint_log_proba([[1.0, 180.0], [1.001, 120.0], [1.2, 130.0]])
    odds = [1.0242956595352064, 23.339841671608507, -7209.141367185594]
    assert joint[:, 0] - joint[:, 1] == pytest.approx(odds, rel=1e-6)
    assert model.network_.gaussians["x0"].variances[0] == pytest.approx(2.7666666666666667e-06)
    constant = NaiveBayesClassifier().fit([[5.0]] * 4, list("ppqq"))
    assert constant.predict_proba([[5.0], [7.0]]) == pytest.approx(np.full((2, 2), 0.5))


def test_type_or_name_says_what_is_continuous():
    X, y = load_iris(return_X_y=True)
    whole = np.rint(X * 10).astype(int)
    numbers = NaiveBayesClassifier(categorical=[], class_pseudocount=0).fit(whole, y)
    assert numbers.predict_proba(whole) == pytest.approx(GaussianNB().fit(whole, y).predict_proba(whole), abs=1e-10)
    assert NaiveBayesClassifier().fit(whole, y).continuous_features_ == ()
    assert NaiveBayesClassifier(categorical="all").fit(np.rint(X), y).continuous_features_ == ()
    some = NaiveBayesClassifier(categorical=["x1"]).fit(np.rint(X), y)
    assert some.continuous_features_ == ("x0", "x2", "x3")
    declared = NaiveBayesClassifier(states={"x1": [2, 3, 4]}).fit(np.rint(X), y)
    assert declared.continuous_features_ == ("x0", "x2", "x3")


@pytest.mark.parametrize(
    "table", [dict, pd.DataFrame, lambda X: pd.DataFrame(X).astype("Float64"), pl.DataFrame, pa.table], ids=range(5)
)
def test_floats_without_fractions_are_continuous_in_every_kind_of_table(table):
    model = NaiveBayesClassifier().fit(table({"a": [1.0, 2.0, None, 4.0]}), list("ppqq"))
    assert model.continuous_features_ == ("a",)


def test_a_small_unit_beside_a_large_one_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1e-7, 1e7]
    with pytest.warns(UserWarning, match="'x0' varies less.*variance_floor"):
        NaiveBayesClassifier().fit(X, [0, 1] * 10)


def test_errors():
    X, y = mixed()
    with pytest.raises(DataError, match="variance_floor must be a number above 0, not 0"):
        NaiveBayesClassifier(variance_floor=0).fit(X, y)
    with pytest.raises(UnknownNameError, match="categorical names 'colour'"):
        NaiveBayesClassifier(categorical=["colour"]).fit(X, y)
    with pytest.raises(DataError, match="categorical must be None, 'all' or a list of names, not 'color'"):
        NaiveBayesClassifier(categorical="color").fit(X, y)
    with pytest.raises(DataError, match="'color' must hold numbers"):
        NaiveBayesClassifier(categorical=["wet"]).fit(X, y)
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(DataError, match="'length', row 1.*not finite"):
        model.predict({name: [column[0], np.inf if name == "length" else column[1]] for name, column in X.items()})


@pytest.mark.parametrize("number", [0.0, 1e3, 1e4, 1e8])
def test_posteriors_far_from_all_means_sum_to_one(number):
    model = NaiveBayesClassifier().fit({"H": [5.0] * 4}, list("ppqq"))
    assert model.predict_proba({"H": [number]}) == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-12)
