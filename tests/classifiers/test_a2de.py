"""A2DE against the formula row by row, the mean of its networks, and itself in another order."""

from __future__ import annotations

import numpy as np
import pytest

from pgm import AODEClassifier, NaiveBayesClassifier
from pgm.classifiers.a2de import A2DEClassifier
from pgm.data import Dataset
from pgm.errors import TooLargeError
from tests.classifiers.brute_force import Formulas
from tests.classifiers.tables import LIMITS, car


def rows_with_holes(rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    columns = {
        "a": (y + rng.integers(0, 2, rows)) % 3,
        "b": rng.integers(0, 4, rows),
        "c": (2 * y + rng.integers(0, 4, rows)) % 4,
        "d": rng.integers(0, 2, rows),
        "flat": np.zeros(rows, int),
    }
    return {name: [None if rng.random() < 0.15 else int(v) for v in column] for name, column in columns.items()}, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("min_rows", [0, 1, 8, 30, 90])
def test_formula(min_rows, weighted):
    X, y = rows_with_holes(120, seed=1)
    weight = np.random.default_rng(0).random(120) + 0.5 if weighted else None
    model = A2DEClassifier(min_rows=min_rows, pseudocount=0.5).fit(X, y, weight)
    formulas, logs, ways = Formulas(X, y, 0.5, weight), model.predict_joint_log_proba(X), set()
    for number in range(0, 120, 5):
        row = {name: column[number] for name, column in X.items()}
        averages = {n: formulas.average(n, row, min_rows) for n in (2, 1)} | {0: formulas.naive_bayes(row)}
        way = next(n for n, joint in averages.items() if joint is not None)
        assert np.exp(logs[number]) == pytest.approx(averages[way], rel=1e-10)
        ways.add(way)
    assert ways == {0: {2}, 1: {2}, 8: {2}, 30: {2, 1}, 90: {1, 0}}[min_rows] or weighted


def test_few_rows_fall_back():
    X, y = LIMITS
    row = {"F": [2], "G": [0], "H": [1]}  # F = 2 and G = 0 do not occur together
    formulas = Formulas(X, y)
    for limit in (1, 2, 5, 30):
        one = {name: column[0] for name, column in row.items()}
        expected = formulas.average(2, one, limit) or formulas.average(1, one, limit) or formulas.naive_bayes(one)
        logs = A2DEClassifier(min_rows=limit).fit(X, y).predict_joint_log_proba(row)[0]
        assert np.exp(logs) == pytest.approx(expected, rel=1e-12)
    assert np.exp(logs) == pytest.approx(formulas.naive_bayes(one), rel=1e-12)


def test_a2de_is_the_mean_of_its_networks():
    X, y = car()
    model = A2DEClassifier(min_rows=0).fit(X, y)
    X = {name: [None if number % 7 == place else v for number, v in enumerate(X[name])] for place, name in enumerate(X)}
    rows = Dataset({"class": y, **X}, variables=model.networks_[0].variables)
    known = {name: np.array([value is not None for value in column]) for name, column in X.items()}
    weigh = np.array([known[u] & known[v] for u, v in model.super_parents_])
    joints = np.array([np.exp(net.log_likelihood(rows, progress=False)) for net in model.networks_])
    ours = model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert len(joints) == 15
    assert np.exp(ours) == pytest.approx((joints * weigh).sum(axis=0) / weigh.sum(axis=0), rel=1e-9)


def test_the_order_of_columns_does_not_matter():
    X, y = car()
    expected = A2DEClassifier().fit(X, y).predict_proba(X)
    turned = {name: X[name] for name in reversed(X)}
    assert A2DEClassifier().fit(turned, y).predict_proba(turned) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_is_the_formula_without_it(weighted):
    X, y = rows_with_holes(60, seed=2)
    weight = np.random.default_rng(0).integers(1, 3, 60) if weighted else None
    for min_rows in (2, 12, 40):
        left_out = A2DEClassifier(min_rows=min_rows).leave_one_out(X, y, weight)
        formulas = Formulas(X, y, 1.0, weight)
        for number in range(0, 60, 6):
            rest, row = formulas.without(number), {name: column[number] for name, column in X.items()}
            joint = rest.average(2, row, min_rows) or rest.average(1, row, min_rows) or rest.naive_bayes(row)
            assert left_out[number] == pytest.approx(np.array(joint) / sum(joint), rel=1e-10)


def test_one_feature_and_two():
    X, y = LIMITS
    one, two = {"F": X["F"]}, {"F": X["F"], "G": X["G"]}
    expected = NaiveBayesClassifier().fit(one, y).predict_proba(one)
    assert A2DEClassifier().fit(one, y).predict_proba(one) == pytest.approx(expected, abs=1e-12)
    rows = np.array(Formulas(two, y).average(2, {"F": 0, "G": 1}))
    assert A2DEClassifier().fit(two, y).predict_proba({"F": [0], "G": [1]})[0] == pytest.approx(rows / rows.sum())


def test_dependences_on_two_features_at_once_are_seen():  # y is the parity of three
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (2000, 4))
    y = X[:, :3].sum(axis=1) % 2
    assert AODEClassifier().fit(X, y).score(X, y) < 0.6
    assert A2DEClassifier().fit(X, y).score(X, y) == 1


def test_batches_are_one_fit():
    X, y = car()
    once = A2DEClassifier().fit(X, y)
    model = A2DEClassifier(states={variable.name: variable.states for variable in once.feature_variables_})
    for start in range(0, 1728, 500):
        batch = {name: column[start : start + 500] for name, column in X.items()}
        model.partial_fit(batch, y[start : start + 500], classes=sorted(set(y)))
    assert (model.predict_proba(X) == once.predict_proba(X)).all()


def test_tables_too_large_are_refused_with_their_size():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 12, (200, 60)), rng.integers(0, 3, 200)
    message = r"3 classes by all triples of the 720 values of 60 features would have .* cells \(.* GB\); the limit is"
    with pytest.raises(TooLargeError, match=message):
        A2DEClassifier().fit(X, y)
    with pytest.raises(TooLargeError, match="take fewer features, or AODE"):
        A2DEClassifier().fit(X, y)
