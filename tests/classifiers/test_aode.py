"""AODE against published numbers, its own networks and the formulas row by row."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from pgm import AODEClassifier, NaiveBayesClassifier
from pgm.data import Dataset
from pgm.errors import DataError
from tests.classifiers.brute_force import Formulas
from tests.classifiers.tables import ASKED, LIMITS, car


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [0.612502814619846, 0.7122896481387047]),
        (5, [0.612502814619846, 0.7709090909090909]),
        (7, [0.6774193548387096, 0.5555555555555556]),
        (30, [0.6, 0.5555555555555556]),
    ],
)
def test_aode_averages_frequent_super_parents(limit, expected, joint):
    model = AODEClassifier(min_rows=limit, joint=joint).fit(*LIMITS)
    assert model.predict_proba(ASKED)[:, 0] == pytest.approx(expected, abs=1e-12)


def test_aode_of_factors_on_car():
    X, y = car()
    model = AODEClassifier(joint=False).fit(X, y)
    row = model.predict_proba(X)[11]
    assert row == pytest.approx([0.20206947, 0.00287279, 0.79343437, 0.00162337], abs=5e-9)
    assert model.score(X, y) == pytest.approx(0.938657, abs=1e-6)
    left_out = model.classes_[model.leave_one_out(X, y).argmax(axis=1)]
    assert np.mean(left_out == y) == pytest.approx(0.917824, abs=1e-6)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("weights", [None, "information"])
def test_aode_is_the_mean_of_its_networks(joint, weights):
    X, y = car()
    model = AODEClassifier(joint=joint, min_rows=0, weights=weights).fit(X, y)
    X = {name: [None if number % 7 == place else v for number, v in enumerate(X[name])] for place, name in enumerate(X)}
    rows = Dataset({"class": y, **X}, variables=model.networks_[0].variables)
    known = np.array([[value is not None for value in column] for column in X.values()])
    weigh = np.array(list(model.super_parents_.values()))[:, None] * known
    joints = np.array([np.exp(net.log_likelihood(rows, progress=False)) for net in model.networks_])
    ours = model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert np.exp(ours) == pytest.approx((joints * weigh).sum(axis=0) / weigh.sum(axis=0), rel=1e-9)


@pytest.mark.parametrize("copies", [1, 40])
def test_aode_with_500_features_does_not_underflow(copies):  # many rows are looked up by packed features
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (40, 500)), rng.integers(0, 2, 40)
    model = AODEClassifier().fit(X, y)
    logs = model.predict_joint_log_proba(np.tile(X, (copies, 1)))
    assert np.isfinite(logs).all()
    assert logs.max() < -200
    counts = model.counts_
    level = np.array(counts.starts[:-1]) + X[0]
    expected = []
    for c in range(2):
        pairs = counts.pairs[c][np.ix_(level, level)]
        alone = np.diagonal(pairs)
        logs_c = np.log((pairs + 1) / (alone[:, None] + 2))
        np.fill_diagonal(logs_c, np.log((alone + 1) / (40 + 2 * 2)))
        expected.append(np.logaddexp.reduce(logs_c.sum(axis=1)) - np.log(500))
    assert logs[0] == pytest.approx(expected, rel=1e-12)
    assert logs[-40] == pytest.approx(expected, rel=1e-12)


def test_many_rows_are_each_row_alone():  # packed features, several blocks of rows, holes in some
    rng = np.random.default_rng(4)
    X = {f"f{size}": rng.integers(0, size, 20_000) for size in (2, 3, 1, 4, 30, 300, 2, 5)}
    y = (X["f2"] + X["f4"] + rng.integers(0, 2, 20_000)) % 3
    model = AODEClassifier(min_rows=60).fit(X, y)
    asked = {name: np.where(rng.random(20_000) < 0.1, None, column.astype(object)) for name, column in X.items()}
    logs = model.predict_joint_log_proba(asked)
    for row in (0, 1, 8191, 8192, 19_999):
        alone = model.predict_joint_log_proba({name: column[[row]] for name, column in asked.items()})
        assert logs[row] == pytest.approx(alone[0], rel=1e-12)


# Rows with holes, and features of which values imply others.


def rows_with_holes(rows, seed, holes=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    columns = {
        "a": (y + rng.integers(0, 2, rows)) % 3,
        "b": rng.integers(0, 4, rows),
        "c": (2 * y + rng.integers(0, 4, rows)) % 4,
        "same": np.zeros(rows, int),
    }
    columns["d"] = columns["b"] // 2  # b implies d
    columns["e"] = np.where(columns["d"] == 1, 2, rng.integers(0, 2, rows))  # d = 1 and e = 2 imply each other
    X = {
        name: [None if rng.random() < holes and name in "ac" else int(v) for v in column]
        for name, column in columns.items()
    }
    return X, y.tolist()


def some_rows(X):
    for number in range(0, len(X["a"]), 7):
        yield number, {name: column[number] for name, column in X.items()}


def information(formulas, name):
    """Return I(x; c) by its definition, as entropy less conditional entropy, over the rows in which x is known."""
    total = formulas.count({}, known=[name])
    plogp = 0.0
    for c in formulas.classes:
        share = formulas.count({}, c, known=[name]) / total
        plogp -= share * log(share)
        for value in formulas.states[name]:
            both, alone = formulas.count({name: value}, c), formulas.count({name: value})
            plogp += both / total * log(both / alone) if both else 0.0
    return max(plogp * total / formulas.count({}), 0.0)


@pytest.mark.parametrize("min_rows", [0, 1, 25])
@pytest.mark.parametrize("weights", [None, "information"])
def test_formulas(min_rows, weights):
    X, y = rows_with_holes(90, seed=1)
    model = AODEClassifier(min_rows=min_rows, weights=weights).fit(X, y)
    formulas = Formulas(X, y)
    weigh = {name: information(formulas, name) if weights else 1.0 for name in X}
    assert model.super_parents_ == pytest.approx({name: w for name, w in weigh.items() if w > 1e-12}, abs=1e-12)
    logs = model.predict_joint_log_proba(X)
    for number, row in some_rows(X):
        expected = formulas.average(1, row, min_rows, model.super_parents_ | {"same": weigh["same"]})
        assert np.exp(logs[number]) == pytest.approx(expected or formulas.naive_bayes(row), rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("selection", [None, "subsumption"])
def test_leaving_a_row_out_is_the_formula_without_it(weighted, selection):
    X, y = rows_with_holes(70, seed=2)
    weight = np.random.default_rng(0).integers(1, 3, 70) if weighted else None
    formulas = Formulas(X, y, 0.5, weight)
    least = formulas.count({"b": X["b"][7]})  # just enough before row 7 is left out
    model = AODEClassifier(min_rows=least, selection=selection, subsumption_rows=least, pseudocount=0.5)
    left_out = model.leave_one_out(X, y, weight)
    for number, row in some_rows(X):
        rest = formulas.without(number)
        some = kept(rest, row, least) if selection else row
        expected = np.array(rest.average(1, some, least) or rest.naive_bayes(some))
        assert left_out[number] == pytest.approx(expected / expected.sum(), rel=1e-10)


def kept(formulas, row, least):
    """Return a row without the cells that another cell implies."""
    result = dict(row)
    order = list(row)
    for general in order:
        for special in order:
            if general == special or row[general] is None or row[special] is None:
                continue
            rows = formulas.count({special: row[special]})
            implied = rows == formulas.count({special: row[special], general: row[general]})
            equal = rows == formulas.count({general: row[general]})
            if implied and rows >= least and not (equal and order.index(general) < order.index(special)):
                result[general] = None
    return result


@pytest.mark.parametrize("weights", [None, "information"])
@pytest.mark.parametrize("least", [1, 20, 24, 60])
def test_subsumption(least, weights):
    X, y = rows_with_holes(90, seed=5)
    model = AODEClassifier(selection="subsumption", subsumption_rows=least, weights=weights).fit(X, y)
    formulas = Formulas(X, y)
    weigh = dict.fromkeys(X, 0.0) | model.super_parents_
    logs, dropped = model.predict_joint_log_proba(X), 0
    for number, row in some_rows(X):
        some = kept(formulas, row, least)
        dropped += some != row
        expected = formulas.average(1, some, 1, weigh)
        assert np.exp(logs[number]) == pytest.approx(expected or formulas.naive_bayes(some), rel=1e-10)
    assert dropped or least == 60


def test_a_missing_cell_implies_nothing():
    X = {"x": [0, 1] * 20 + [None] * 40, "z": [0] * 40 + [1] * 40}  # z = 1 wherever x is missing
    y = [0, 1, 1, 0, 1] * 16
    model = AODEClassifier(selection="subsumption", subsumption_rows=1).fit(X, y)
    row, formulas = {"x": None, "z": 1}, Formulas(X, y)
    joint = model.predict_joint_log_proba({name: [value] for name, value in row.items()})[0]
    assert np.exp(joint) == pytest.approx(formulas.average(1, row))
    joint = model.predict_joint_log_proba({"x": [1], "z": [0]})[0]
    assert np.exp(joint) == pytest.approx(formulas.average(1, {"x": 1, "z": None}))


def test_a_repeated_feature_is_subsumed():
    X, y = rows_with_holes(90, seed=6, holes=0)
    once = {name: X[name] for name in "abc"}
    twice = once | {"again": X["b"]}
    options = {"selection": "subsumption", "subsumption_rows": 1}
    expected = AODEClassifier(**options).fit(once, y).predict_proba(once)
    assert AODEClassifier(**options).fit(twice, y).predict_proba(twice) == pytest.approx(expected, abs=1e-12)
    assert AODEClassifier().fit(twice, y).predict_proba(twice) != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("weights", [None, "information"])
@pytest.mark.parametrize("weighted", [False, True])
def test_selection_by_leaving_rows_out(weights, weighted):
    X, y = rows_with_holes(60, seed=8)
    weight = np.random.default_rng(1).integers(1, 4, 60).tolist() if weighted else None
    formulas = Formulas(X, y, 1.0, weight)
    told = {name: information(formulas, name) for name in X}
    ranked = sorted(X, key=lambda name: -round(told[name], 10))
    right = {}
    for m in range(1, len(X) + 1):
        weigh = {name: (told[name] if weights else 1.0) if name in ranked[:m] else 0.0 for name in X}
        right[m] = 0.0
        for number in range(60):
            rest, row = formulas.without(number), {name: column[number] for name, column in X.items()}
            joint = rest.average(1, row, 5, weigh) or rest.naive_bayes(row)
            right[m] += formulas.weights[number] * (formulas.classes[int(np.argmax(joint))] == y[number])
    best = max(right, key=right.get)  # the first of equal ones
    assert right[best] > min(right.values())
    model = AODEClassifier(selection="leave_one_out", weights=weights, min_rows=5).fit(X, y, weight)
    assert set(model.super_parents_) == {name for name in ranked[:best] if not weights or told[name] > 1e-12}
    weigh = dict.fromkeys(X, 0.0) | model.super_parents_
    logs = model.predict_joint_log_proba(X)
    for number, row in some_rows(X):
        expected = formulas.average(1, row, 5, weigh)
        assert np.exp(logs[number]) == pytest.approx(expected or formulas.naive_bayes(row), rel=1e-10)


def test_without_information_naive_bayes_decides():
    X, y = {"x": [0, 1, 0, 1], "z": [0, 0, 0, 0]}, [0, 0, 1, 1]
    model = AODEClassifier(weights="information").fit(X, y)
    assert model.super_parents_ == {}
    assert model.networks_ == ()
    expected = NaiveBayesClassifier().fit(X, y).predict_joint_log_proba(X)
    assert model.predict_joint_log_proba(X) == pytest.approx(expected, abs=1e-12)


def test_batches_are_one_fit():
    X, y = car()
    for options in ({}, {"weights": "information"}, {"selection": "subsumption"}):
        once = AODEClassifier(**options).fit(X, y)
        states = {variable.name: variable.states for variable in once.feature_variables_}
        model = AODEClassifier(states=states, **options)
        for start in range(0, 1728, 500):
            batch = {name: column[start : start + 500] for name, column in X.items()}
            model.partial_fit(batch, y[start : start + 500], classes=sorted(set(y)))
        assert (model.predict_proba(X) == once.predict_proba(X)).all()


def test_numbers_are_cut_into_intervals():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3)) + 2 * y[:, None]
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = AODEClassifier(discretizer=bins).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model.feature_variables_[0].states) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_rows": -1}, "min_rows"),
        ({"subsumption_rows": 0}, "subsumption_rows"),
        ({"weights": "gain"}, "weights must be None or 'information', not 'gain'"),
        ({"selection": "forward"}, "selection must be None, 'subsumption' or 'leave_one_out', not 'forward'"),
    ],
)
def test_errors_name_what_is_wrong(options, message):
    with pytest.raises(DataError, match=message):
        AODEClassifier(**options).fit(*LIMITS)


def test_selection_by_leaving_rows_out_needs_all_rows():
    with pytest.raises(DataError, match="use fit"):
        AODEClassifier(selection="leave_one_out").partial_fit(*LIMITS, classes=["p", "q"])
