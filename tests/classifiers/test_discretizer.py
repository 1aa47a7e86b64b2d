"""Cutting numbers into intervals: Fayyad and Irani's method, and discretizers inside the classifiers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from pgm import AODEClassifier, MDLPDiscretizer, NaiveBayesClassifier, SPODEClassifier, TANClassifier
from pgm.errors import DataError, MissingDataError

# Cuts of weka.filters.supervised.attribute.Discretize, Weka 3.6.14
IRIS = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
WINE = [
    [12.185, 12.78],
    [1.42, 2.235],
    [2.03],
    [17.9],
    [88.5],
    [1.84, 2.335],
    [0.975, 1.575, 2.31],
    [0.395],
    [1.27],
    [3.46, 7.55],
    [0.785, 0.975, 1.295],
    [2.115, 2.475],
    [468, 755, 987.5],
]


@pytest.mark.parametrize(("load", "cuts"), [(load_iris, IRIS), (load_wine, WINE)], ids=["iris", "wine"])
def test_cuts_of_weka(load, cuts):
    X, y = load(return_X_y=True)
    found = MDLPDiscretizer().fit(X, y)
    for edges, expected in zip(found.bin_edges_, cuts, strict=True):
        assert edges[1:-1] == pytest.approx(expected)
    assert found.n_bins_.tolist() == [len(expected) + 1 for expected in cuts]


def test_checks_of_scikit_learn():
    results = check_estimator(MDLPDiscretizer(), on_skip=None, on_fail="raise")
    assert sum(result["status"] == "passed" for result in results) > 40


def bits(counts):
    shares = [count / sum(counts) for count in counts if count]
    return -sum(share * np.log2(share) for share in shares)


def cuts_by_hand(rows):
    """Return the cuts of sorted (value, class) rows, by the paper's recursion."""
    classes = sorted({label for _, label in rows})

    def entropy(part):
        return bits([sum(label == other for _, label in part) for other in classes])

    best = None
    for place in range(1, len(rows)):
        if rows[place - 1][0] < rows[place][0]:
            parts = rows[:place], rows[place:]
            mixed = sum(len(part) * entropy(part) for part in parts) / len(rows)
            if best is None or mixed < best[0] - 1e-12:
                best = mixed, parts
    if best is None:
        return []
    k, k1, k2 = (len({label for _, label in part}) for part in (rows, *best[1]))
    delta = np.log2(3**k - 2) - (k * entropy(rows) - k1 * entropy(best[1][0]) - k2 * entropy(best[1][1]))
    if entropy(rows) - best[0] <= (np.log2(len(rows) - 1) + delta) / len(rows):
        return []
    middle = (best[1][0][-1][0] + best[1][1][0][0]) / 2
    return [*cuts_by_hand(best[1][0]), middle, *cuts_by_hand(best[1][1])]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=2, max_size=60))
def test_the_recursion_of_the_paper(rows):
    values, labels = zip(*sorted(rows), strict=True)
    labels = [label + (value > 6) for value, label in zip(values, labels, strict=True)]
    found = MDLPDiscretizer().fit(np.array(values, float)[:, None], labels)
    assert found.bin_edges_[0][1:-1].tolist() == cuts_by_hand(list(zip(values, labels, strict=True)))


def test_weights_stand_for_rows_and_holes_stay_holes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + y[:, None]
    weights = rng.integers(0, 4, 200)
    weighted = MDLPDiscretizer().fit(X, y, sample_weight=weights)
    repeated = MDLPDiscretizer().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for one, other in zip(weighted.bin_edges_, repeated.bin_edges_, strict=True):
        assert one == pytest.approx(other)
    cells = weighted.transform([[np.nan, 100.0], [-100.0, np.nan]])
    assert np.isnan(cells[[0, 1], [0, 1]]).all()
    assert cells[1, 0] == 0
    assert cells[0, 1] == weighted.n_bins_[1] - 1


def test_neighbouring_floats_are_told_apart():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    X = np.array([[low]] * 20 + [[high]] * 20)
    found = MDLPDiscretizer().fit(X, [0] * 20 + [1] * 20)
    assert found.transform([[low], [high]]).ravel().tolist() == [0, 1]


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier, SPODEClassifier, TANClassifier, AODEClassifier], ids=lambda kind: kind.__name__
)
def test_a_discretizer_inside_is_one_outside(model):
    X, y = load_iris(return_X_y=True)
    inside = model(discretizer=MDLPDiscretizer()).fit(X, y)
    cells = MDLPDiscretizer().fit(X, y).transform(X).astype(int)
    outside = model(states={f"x{place}": range(3) for place in range(4)}).fit(cells, y)
    assert inside.predict_proba(X) == pytest.approx(outside.predict_proba(cells), abs=1e-12)
    assert inside.network_.variable("x2").states == ("< 2.45", "2.45 to 4.75", ">= 4.75")
    assert inside.score(X, y) > 0.93


def test_mixed_columns_missing_cells_and_numbers_out_of_range():
    X = {
        "length": [1.5, 2.5, None, 4.5, 5.5, 6.5] * 5,
        "color": ["r", "g", "r", "g", "r", "g"] * 5,
        "count": [1, 2, 3, 1, 2, 3] * 5,
    }
    y = ["a", "a", "a", "b", "b", "b"] * 5
    for table in (X, pl.DataFrame(X)):
        model = TANClassifier(discretizer=MDLPDiscretizer()).fit(table, y)
        assert model.continuous_features_ == ("length",)
        assert model.network_.variable("length").states == ("< 3.5", ">= 3.5")
        assert model.network_.variable("count").states == (1, 2, 3)
        ask = {"length": [-1e9, 1e9, None], "color": ["r", "r", "g"], "count": [1, 1, 3]}
        assert model.predict(ask).tolist()[:2] == ["a", "b"]
        cut = {"length": ["< 3.5", ">= 3.5", None], "color": ask["color"], "count": ask["count"]}
        assert model.predict_proba(ask) == pytest.approx(model.network_.posterior(cut, "class"), abs=1e-12)
    every = TANClassifier(discretizer=MDLPDiscretizer(), categorical=["color"]).fit(X, y)
    assert every.continuous_features_ == ("length", "count")


def test_an_empty_interval_is_a_state():
    X = np.array([[0.0], [0.1], [9.9], [10.0]])
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = NaiveBayesClassifier(discretizer=bins).fit(X, [0, 0, 1, 1])
    assert model.predict_proba([[5.0]]) == pytest.approx(np.array([[0.5, 0.5]]))
    assert model.network_.variable("x0").states == ("< 2.5", "2.5 to 5", "5 to 7.5", ">= 7.5")


def test_errors_name_the_column_and_what_is_allowed():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match=r"'x0' holds 4.3 and looks continuous.*MDLPDiscretizer"):
        TANClassifier().fit(X, y)
    with pytest.raises(DataError, match="'x1'.*must be cut into intervals"):
        AODEClassifier(categorical=["x0"]).fit(X.astype(int), y)
    with pytest.raises(DataError, match="one whole number for each row"):
        TANClassifier(discretizer=OneHotEncoder()).fit(X, y)
    with pytest.raises(DataError, match="of the column 'x0' into -0.9.*must number intervals from 0"):
        TANClassifier(discretizer=StandardScaler()).fit(X, y)
    with pytest.raises(DataError, match="'x1' holds 2.2.*leave it out of categorical="):
        NaiveBayesClassifier(categorical=["x1"]).fit(X, y)
    with pytest.raises(DataError, match="must be a transformer of scikit-learn, not 'mdlp'"):
        TANClassifier(discretizer="mdlp").fit(X, y)
    with pytest.raises(MissingDataError, match="'x' has no value"):
        TANClassifier(discretizer=MDLPDiscretizer()).fit({"x": np.full(3, np.nan)}, [0, 1, 1])
