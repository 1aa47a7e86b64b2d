"""Naive Bayes against formulas, published numbers, scikit-learn and the network's own queries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import CategoricalNB

import pgm
from pgm import NaiveBayesClassifier
from pgm.errors import DataError, ImpossibleEvidenceError, MissingDataError, UnknownNameError, UnknownStateError
from tests.classifiers.tables import car, repeated

LEAVES = repeated(
    ["Leaf", "Stem"],
    [
        ("oval", "green", "p", 4),
        ("oval", "red", "p", 2),
        ("thin", "red", "q", 2),
        ("oval", "red", "q", 1),
        ("thin", "green", "q", 1),
    ],
)


def log_likelihood(model, X, y):
    return model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()


def test_car_likelihoods_are_those_of_bnclassify():
    X, y = car()
    model = NaiveBayesClassifier(pseudocount=0).fit(X, y)
    assert log_likelihood(model, X, y) == pytest.approx(-13503.6883427047687, abs=1e-8)
    assert model.network_.n_parameters == 63
    alone = {"buying": X["buying"]}
    model = NaiveBayesClassifier(pseudocount=0).fit(alone, y)
    assert log_likelihood(model, alone, y) == pytest.approx(-3724.18038821656273, abs=1e-8)
    assert model.network_.n_parameters == 15


def test_car_accuracies():
    X, y = car()
    model = NaiveBayesClassifier().fit(X, y)
    assert model.score(X, y) == pytest.approx(0.870949, abs=1e-6)
    left_out = model.classes_[model.leave_one_out(X, y).argmax(axis=1)]
    assert np.mean(left_out == y) == pytest.approx(0.856481, abs=1e-6)


def test_leaving_a_row_out_is_fitting_without_it():
    X, y = car()
    kept = np.arange(0, 1728, 9)
    X, y = {name: np.array(column)[kept] for name, column in X.items()}, np.array(y)[kept]
    states = {name: sorted(set(column)) for name, column in X.items()}
    left_out = NaiveBayesClassifier().leave_one_out(X, y)
    for row in (0, 17, 99):
        rest = np.delete(np.arange(len(y)), row)
        model = NaiveBayesClassifier(states=states).fit({n: c[rest] for n, c in X.items()}, y[rest])
        assert model.predict_proba({n: c[[row]] for n, c in X.items()})[0] == pytest.approx(left_out[row], abs=1e-12)


@pytest.mark.parametrize("pseudocount", [1e-9, 0.5, 1.0, 3.0])
def test_equal_to_scikit_learn(pseudocount):
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 4, (400, 7)), rng.integers(0, 3, 400)
    X[:, 0] = (X[:, 0] + y) % 4
    weight = rng.random(400)
    theirs = CategoricalNB(alpha=pseudocount).fit(X, y, sample_weight=weight)
    ours = NaiveBayesClassifier(pseudocount=pseudocount, class_pseudocount=0).fit(X, y, sample_weight=weight)
    assert ours.predict_joint_log_proba(X) == pytest.approx(theirs.predict_joint_log_proba(X), abs=1e-10)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-10)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_the_network_gives_the_same_posteriors():
    X, y = LEAVES
    model = NaiveBayesClassifier().fit(X, y)
    rows = [{"Leaf": "thin", "Stem": "red"}, {"Stem": "green"}, {}]
    frame = {name: [row.get(name) for row in rows] for name in X}
    for row, posterior in zip(rows, model.predict_proba(frame), strict=True):
        assert posterior == pytest.approx(model.network_.query("class", row).values, abs=1e-12)


def test_unseen_category_is_an_error_or_missing():  # scikit-learn#16028
    X, y = LEAVES
    rows = {"Leaf": ["lobed", "lobed", "thin", None], "Stem": ["green", "blue", "red", "green"]}
    model = NaiveBayesClassifier(class_pseudocount=0).fit(X, y)
    with pytest.raises(DataError, match=r"'Leaf', row 0.*'lobed'.*'oval', 'thin'"):
        model.predict(rows)
    left_out = model.set_params(unseen="missing").predict_proba(rows)[:, 0]
    assert left_out == pytest.approx([0.7377049180327869, 0.6, 0.13659359190556492, 0.7377049180327869], abs=1e-12)


def test_without_pseudocounts():  # scikit-learn#5814
    X, y = repeated(["U", "V"], [(0, 0, "p", 3), (0, 1, "p", 1), (1, 1, "q", 2), (2, 1, "q", 2)])
    model = NaiveBayesClassifier(pseudocount=0).fit(X, y)
    assert model.predict_proba({"U": [0, 2, 0], "V": [1, 1, 0]}).tolist() == [[1, 0], [0, 1], [1, 0]]
    with pytest.raises(ImpossibleEvidenceError, match="row 1 .*probability 0 in every class"):
        model.predict({"U": [0, 1], "V": [1, 0]})
    assert np.isneginf(model.predict_joint_log_proba({"U": [1], "V": [0]})).all()


BATCHES = [
    ({"X": [0, 1, 0], "Y": [1, 0, 0]}, ["c0", "c1", "c0"]),
    ({"X": [1], "Y": [1]}, ["c2"]),
    ({"X": [1, 1, 1], "Y": [1, 0, 1]}, ["c2", "c1", "c1"]),
]


def test_batches_are_one_fit():  # scikit-learn#13232
    rows = {"X": [1, 0], "Y": [1, 0]}
    states = {"X": [0, 1], "Y": [0, 1]}
    model = NaiveBayesClassifier(class_pseudocount=0, states=states)
    model.partial_fit(*BATCHES[0], classes=["c0", "c1", "c2"])
    assert model.predict_proba(rows)[0] == pytest.approx([0.5294117647058824, 0.4705882352941177, 0], abs=1e-12)
    for batch in BATCHES[1:]:
        model.partial_fit(*batch)
    expected = [0.1070663811563169, 0.41113490364025695, 0.4817987152034261]
    assert model.predict_proba(rows)[0] == pytest.approx(expected, abs=1e-12)
    whole = {name: [value for X, _ in BATCHES for value in X[name]] for name in "XY"}
    classes = [label for _, y in BATCHES for label in y]
    once = NaiveBayesClassifier(class_pseudocount=0).fit(whole, classes)
    assert once.network_ == model.network_
    given = NaiveBayesClassifier(priors={"c2": 0.5, "c0": 0.2, "c1": 0.3}).fit(whole, classes)
    expected = [0.062150403977625855, 0.23865755127408328, 0.6911992047442982]
    assert given.predict_proba(rows)[0][:2] == pytest.approx(expected[:2], abs=1e-12)
    with pytest.raises(UnknownStateError, match="'c9'"):
        model.partial_fit({"X": [0], "Y": [0]}, ["c9"])
    with pytest.raises(DataError, match="'X', row 0"):
        model.partial_fit({"X": [2], "Y": [0]}, ["c1"])


def test_the_computer_shop():
    table = [("old", "high", "yes", "buys"), ("mid", "low", "no", "not"), ("mid", "high", "yes", "not")]
    table += [("mid", "low", "no", "buys"), ("old", "mid", "yes", "buys")]
    X, y = repeated(["age", "income", "gamer"], [(*row, 1) for row in table])
    customers = {"age": ["mid", "old"], "income": ["high", "high"], "gamer": ["yes", "yes"]}
    likely = np.exp(NaiveBayesClassifier(pseudocount=0).fit(X, y).predict_joint_log_proba(customers))
    assert likely[0] == pytest.approx([2 / 45, 1 / 10], abs=1e-15)
    corrected = np.exp(NaiveBayesClassifier().fit(X, y).predict_joint_log_proba(customers))
    assert corrected[1, 1] == pytest.approx(3 / 140, abs=1e-15)


def test_missing_cells_in_training_are_left_out_of_their_counts():
    X = {"a": ["u", None, "v", "u"], "b": ["s", "s", None, "t"]}
    model = NaiveBayesClassifier(pseudocount=0).fit(X, ["p", "p", "q", "q"])
    assert model.network_.cpt("a").values.tolist() == [[1, 0], [0.5, 0.5]]
    assert model.network_.cpt("b").values.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pgm.Dataset, lambda X: pl.DataFrame(X).to_arrow()])
def test_every_kind_of_table_is_the_same(frame):
    X, y = LEAVES
    model = NaiveBayesClassifier().fit(frame(X), y)
    assert model.feature_names_in_.tolist() == ["Leaf", "Stem"]
    assert model.n_features_in_ == 2
    expected = NaiveBayesClassifier().fit(X, y).predict_proba(X)
    assert (model.predict_proba(frame(X)) == expected).all()
    array = np.array([X["Leaf"], X["Stem"]], dtype=object).T
    assert (NaiveBayesClassifier().fit(array, y).predict_proba(array) == expected).all()


def test_rows_of_weight_zero_are_absent():
    X, y = LEAVES
    more = {"Leaf": [*X["Leaf"], "lobed"], "Stem": [*X["Stem"], "red"]}
    model = NaiveBayesClassifier().fit(more, [*y, "z"], sample_weight=[1] * len(y) + [0])
    assert model.network_ == NaiveBayesClassifier().fit(X, y).network_


def test_the_class_has_a_name_of_its_own():
    model = NaiveBayesClassifier().fit({"class": [0, 1]}, [0, 1])
    assert model.network_.names == ("class_", "class")
    frame = pd.DataFrame({"x": [0, 1]})
    assert NaiveBayesClassifier().fit(frame, pd.Series([0, 1], name="ill")).target_ == "ill"


def test_errors_name_what_is_wrong():
    X, y = LEAVES
    model = NaiveBayesClassifier()
    with pytest.raises(MissingDataError, match="row 0"):
        model.fit(X, [None, *y[1:]])
    with pytest.raises(UnknownNameError, match="'Root'"):
        NaiveBayesClassifier(states={"Root": [1]}).fit(X, y)
    with pytest.raises(DataError, match="pseudocount"):
        NaiveBayesClassifier(pseudocount=-1).fit(X, y)
    with pytest.raises(DataError, match="unseen"):
        NaiveBayesClassifier(unseen="ignore").fit(X, y)
    with pytest.raises(DataError, match="priors"):
        NaiveBayesClassifier(priors=[0.5, 0.6]).fit(X, y)
    with pytest.raises(DataError, match="weights are zero"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    model.fit(X, y)
    with pytest.raises(UnknownNameError, match="'Stem'"):
        model.predict({"Leaf": ["oval"]})
