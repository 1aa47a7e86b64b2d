"""Input that is unusual, or wrong: never a silent NaN, a guess, or an error from inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from pgm import (
    A2DEClassifier,
    AODEClassifier,
    BernoulliNBClassifier,
    KDBClassifier,
    MDLPDiscretizer,
    MultinomialNBClassifier,
    NaiveBayesClassifier,
    SPODEClassifier,
    TANClassifier,
    bayes_decision,
)
from pgm.errors import DataError, ImpossibleEvidenceError, MissingDataError

MODELS = [
    NaiveBayesClassifier(),
    SPODEClassifier(),
    TANClassifier(),
    KDBClassifier(k=1),
    KDBClassifier(),
    AODEClassifier(),
    A2DEClassifier(),
]
nan = float("nan")


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_fractional_weights_leave_no_rounding_in_empty_cells(model):
    """Weights of tenths are the same as ten times as many rows of weight one, zeros of pseudocount 0 included."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y, tenths = rng.integers(0, 3, (20, 5)), rng.integers(0, 2, 20), rng.integers(1, 10, 20)
        for pseudocount in (0.0, 1.0):
            fractional = clone(model).set_params(pseudocount=pseudocount / 10).fit(X, y, tenths / 10)
            whole = clone(model).set_params(pseudocount=pseudocount).fit(X, y, tenths)
            if hasattr(model, "min_rows"):
                fractional.set_params(min_rows=0.1)
            expected = whole.predict_proba(X)
            assert not np.isnan(expected).any()
            assert fractional.predict_proba(X) == pytest.approx(expected, abs=1e-9)


def test_random_weights_make_trees():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y, weights = rng.integers(0, 3, (20, 5)), rng.integers(0, 2, 20), rng.random(20)
        assert len(TANClassifier().fit(X, y, weights).tree_) == 4
        try:
            left_out = AODEClassifier(pseudocount=0).leave_one_out(X, y, weights)
        except ImpossibleEvidenceError:
            continue
        assert not np.isnan(left_out).any()


def test_holes_and_kinds_of_labels_in_lists():
    X = {"a": [0, 1, 0]}
    for model in (NaiveBayesClassifier(), BernoulliNBClassifier()):
        with pytest.raises(MissingDataError, match="row 2 is missing"):
            model.fit(X, ["x", "y", nan])
        assert model.set_params(em=True).fit(X, ["x", "y", nan]).classes_.tolist() == ["x", "y"]
        for labels in ([1, "x", 1], np.array([1, "x", 1], object), [True, "x", True], [True, 2, True]):
            with pytest.raises(DataError, match="they must be of one kind"):
                clone(model).fit(X, labels)
    assert NaiveBayesClassifier().fit(X, [1, 2.0, 1]).classes_.tolist() == [1, 2]


def test_nested_lists_keep_holes_and_numbers():
    model = NaiveBayesClassifier().fit([["a", nan], ["b", "c"], ["b", "d"]], [0, 1, 1])
    assert model.network_.variable("x1").states == ("c", "d")
    model = NaiveBayesClassifier().fit([[1, "a"], [2, "b"]], [0, 1])
    assert model.network_.variable("x0").states == (1, 2)


def test_masked_classes_are_missing():
    y = np.ma.masked_array(["p", "q", "q"], [False, False, True])
    model = NaiveBayesClassifier(em=True).fit({"a": [0, 1, 0]}, y)
    assert model.em_result_.total_weight == 3
    with pytest.raises(MissingDataError, match="row 2 is missing"):
        NaiveBayesClassifier().fit({"a": [0, 1, 0]}, y)


def test_masked_cells_are_missing():
    model = NaiveBayesClassifier().fit([[0], [0], [1], [1]], list("ppqq"))
    assert model.predict_proba(np.ma.masked_array([[1]], [[True]])).tolist() == [[0.5, 0.5]]
    numbers = NaiveBayesClassifier().fit(np.ma.masked_array([[0.5], [1.5], [9.0]], [[0], [0], [1]]), [0, 0, 1])
    assert numbers.network_.gaussians["x0"].means.tolist() == [1.0, 1.0]
    for kind in (BernoulliNBClassifier, MultinomialNBClassifier):
        with pytest.raises(MissingDataError, match="masked"):
            kind().fit(np.ma.masked_array([[1], [0]], [[True], [False]]), [0, 1])


def test_tables_and_series_go_by_their_labels():
    model = NaiveBayesClassifier().fit({"a": [0, 0, 1, 1]}, list("ppqq"))
    loss = pd.DataFrame([[0, 9], [1, 0]], index=["q", "p"], columns=["q", "p"])
    by_label = {"q": {"p": 9}, "p": {"q": 1}}
    X = {"a": [0, 1]}
    assert model.predict(X, loss=loss).tolist() == model.predict(X, loss=by_label).tolist()
    assert model.conditional_risk(X, loss).tolist() == model.conditional_risk(X, by_label).tolist()
    with pytest.raises(DataError, match="needs labelled rows"):
        model.predict(X, loss=pl.DataFrame({"p": [0, 1], "q": [9, 0]}))
    assert bayes_decision(pd.Series({"ill": 0.3, "well": 0.7})) == "well"
    assert bayes_decision(pd.DataFrame({"ill": [0.3, 0.6], "well": [0.7, 0.4]})).tolist() == ["well", "ill"]
    given = NaiveBayesClassifier(priors=pd.Series({"q": 0.9, "p": 0.1})).fit({"a": [0, 0, 1, 1]}, list("ppqq"))
    assert given.network_.cpt("class").values.tolist() == [0.1, 0.9]


def test_numbers_too_large_for_a_variance():
    with pytest.raises(DataError, match=r"column 'a' holds numbers beyond 1e\+150"):
        NaiveBayesClassifier().leave_one_out({"a": [1e200, -1e200, 2.5, 3.0]}, list("pqpq"))
    model = NaiveBayesClassifier().fit({"a": [1.0, 2.0, 3.0, 4.0]}, list("ppqq"))
    with pytest.raises(DataError, match="column 'a' holds numbers beyond"):
        model.predict({"a": [1e308]})


class Odd:
    """A discretizer that returns what it is told to."""

    def __init__(self, value=0, edges=None):
        self.value = value
        self.edges = edges

    def __repr__(self):
        return f"Odd({self.value!r}, {self.edges})"

    def get_params(self, deep=True):
        return {"value": self.value, "edges": self.edges}

    def fit(self, X, y=None):
        if self.edges is not None:
            self.bin_edges_ = [np.array(self.edges)]
        return self

    def transform(self, X):
        return np.full((len(X), 1), self.value, object if isinstance(self.value, str) else float)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (Odd(0.5), "into 0.5: it must number intervals"),
        (Odd(nan), "into nan"),
        (Odd(np.inf), "into inf"),
        (Odd(1e30), r"into 1e\+30"),
        (Odd(-1), "into -1"),
        (Odd(2, [0, 1, 2]), "into 2.0"),
        (Odd("low"), "into no numbers"),
        (MDLPDiscretizer, "must be a transformer of scikit-learn"),
        ("mdlp", "must be a transformer of scikit-learn"),
    ],
    ids=repr,
)
def test_discretizers_that_number_no_intervals(odd, message):
    with pytest.raises(DataError, match=message):
        TANClassifier(discretizer=odd).fit({"a": [1.5, 2.5, 3.5], "b": [0, 1, 0]}, [0, 1, 0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NaiveBayesClassifier(states="x"), "states are declared as"),
        (NaiveBayesClassifier(categorical=5), "categorical must be"),
        (NaiveBayesClassifier(priors="ab"), "priors must be 2 numbers"),
        (NaiveBayesClassifier(pseudocount=10**400), "pseudocount must be a number of at least 0"),
        (NaiveBayesClassifier(pseudocount=nan), "pseudocount must be a number of at least 0"),
        (NaiveBayesClassifier(em={"foo": 1}), "unknown options of em: 'foo'"),
        (AODEClassifier(min_rows="x"), "min_rows must be a number of at least 0"),
        (A2DEClassifier(min_rows=None), "min_rows must be a number of at least 0"),
        (AODEClassifier(joint="x"), "joint must be True or False"),
    ],
    ids=repr,
)
def test_options_are_checked_even_where_they_would_not_matter(model, message):
    with pytest.raises(DataError, match=message):
        model.fit({"a": [0, 1, 0, 1]}, [0, 1, 0, 1])


@pytest.mark.parametrize("loss", [{"p": 5}, {"p": [0, 1]}, {"p": {"q": "x"}}, "ab"])
def test_losses_that_are_no_numbers(loss):
    with pytest.raises(DataError, match="must be"):
        bayes_decision({"p": 0.5, "q": 0.5}, loss)


def test_ten_tenths_of_a_row_are_a_row():
    X, y, weights = [[0]] * 10 + [[1]] * 10, [0, 1] * 10, [0.1] * 10 + [1.0] * 10
    least = AODEClassifier(min_rows=1).fit(X, y, weights).predict_proba([[0]])
    assert (least == AODEClassifier(min_rows=0.99).fit(X, y, weights).predict_proba([[0]])).all()


def test_what_was_fitted_stays_when_parameters_change():
    X, y = {"a": [1.5, 2.5, 3.5, 4.5] * 5}, [0, 0, 1, 1] * 5
    model = TANClassifier(discretizer=MDLPDiscretizer()).fit(X, y)
    before = model.predict_proba(X)
    assert (model.set_params(discretizer=None).predict_proba(X) == before).all()
    naive = NaiveBayesClassifier(discretizer=MDLPDiscretizer()).fit(X, y).set_params(discretizer=None)
    assert len(naive.network_.variables) == 2
    model = NaiveBayesClassifier(relevance_prior=0.5).fit({"a": [0, 1, 0, 1]}, [0, 1, 0, 1])
    assert not hasattr(model.set_params(relevance_prior=None).fit({"a": [0, 1, 0, 1]}, [0, 1, 0, 1]), "relevance_")
