"""Learning from rows whose class, or some of whose cells, are unknown: EM."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pgm import (
    A2DEClassifier,
    AODEClassifier,
    KDBClassifier,
    MDLPDiscretizer,
    NaiveBayesClassifier,
    SPODEClassifier,
    TANClassifier,
)
from pgm.errors import DataError, MissingDataError

MODELS = [NaiveBayesClassifier(), SPODEClassifier(super_parent="a"), TANClassifier(), KDBClassifier()]


def rows(n=300, seed=0):
    """Return three categories that depend on the class and on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = (rng.random(n) < 0.2 + 0.6 * y).astype(int) + (rng.random(n) < 0.3)
    b = np.where(rng.random(n) < 0.6, a, rng.integers(0, 3, n))
    c = (rng.random(n) < 0.8 - 0.5 * y).astype(int)
    return {"a": a, "b": b, "c": c}, y


def hidden(y, share=0.7, seed=1):
    """Return classes of which a share is unknown."""
    unknown = np.random.default_rng(seed).random(len(y)) < share
    return [None if hole else int(label) for hole, label in zip(unknown, y, strict=True)]


def test_naive_bayes_by_hand():
    """EM written out: the posterior of unlabelled rows, then Laplace's estimates of what is expected."""
    X, y = rows()
    labels = hidden(y)
    model = NaiveBayesClassifier(em={"tol": 1e-12, "max_iter": 5000}).fit(X, labels)
    responsibility = np.array([[0.5, 0.5] if label is None else np.eye(2)[label] for label in labels])
    table = np.stack(list(X.values()), axis=1)
    for _ in range(5000):
        prior = (responsibility.sum(axis=0) + 1) / (len(y) + 2)
        joint = np.tile(prior, (len(y), 1))
        for column in table.T:
            states = column.max() + 1
            counts = np.stack([np.bincount(column, weights, states) for weights in responsibility.T])
            joint *= ((counts + 1) / (counts.sum(axis=1, keepdims=True) + states)).T[column]
        posterior = joint / joint.sum(axis=1, keepdims=True)
        known = np.array([label is not None for label in labels])
        responsibility = np.where(known[:, None], responsibility, posterior)
    assert model.predict_proba(X) == pytest.approx(posterior, abs=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_it_learns_from_rows_without_class_and_the_objective_never_falls(model):
    X, y = rows(2000)
    labels = hidden(y, 0.97)
    found = model.__class__(**model.get_params() | {"em": True}).fit(X, labels)
    assert found.em_result_.converged
    assert min(np.diff(found.em_result_.objectives)) >= -1e-9
    expected = found.network_.posterior(X, "class")
    assert found.predict_proba(X) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_without_class_bring_the_estimates_nearer(model):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = {name: (rng.random(2000) < 0.25 + 0.5 * y).astype(int) for name in "abcdefgh"}
    labels = hidden(y, 0.98)
    known = [row for row, label in enumerate(labels) if label is not None]

    def apart(found):
        return abs(found.predict_proba(X) - NaiveBayesClassifier().fit(X, y).predict_proba(X)).mean()

    few = type(model)(**model.get_params()).fit({name: column[known] for name, column in X.items()}, y[known])
    assert apart(type(model)(**model.get_params() | {"em": True}).fit(X, labels)) < 0.7 * apart(few)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_complete_rows_need_no_em(model):
    X, y = rows()
    with_em = type(model)(**model.get_params() | {"em": True}).fit(X, y)
    assert not hasattr(with_em, "em_result_")
    assert (with_em.predict_proba(X) == type(model)(**model.get_params()).fit(X, y).predict_proba(X)).all()


def test_missing_cells_are_expected_instead_of_left_out():
    X, y = rows()
    holes = {name: [None if row % 4 == place else int(cell) for row, cell in enumerate(column)]
             for place, (name, column) in enumerate(X.items())}  # fmt: skip
    model = TANClassifier(em=True).fit(holes, y)
    assert (
        model.em_result_.log_likelihood
        > TANClassifier().fit(holes, y).network_.log_likelihood({**holes, "class": y}).sum()
    )
    with pytest.raises(MissingDataError, match="a run of EM for each row"):
        model.leave_one_out(holes, y)


def test_continuous_features_given_priors_and_intervals():
    rng = np.random.default_rng(0)
    X, y = rows(600)
    X["x"] = rng.normal(size=600) + 2.5 * y
    labels = hidden(y, 0.9)
    model = NaiveBayesClassifier(em=True, priors=[0.3, 0.7]).fit(X, labels)
    assert model.network_.cpt("class").values.tolist() == [0.3, 0.7]
    assert model.predict_proba(X) == pytest.approx(model.network_.posterior(X, "class"), abs=1e-12)
    assert sorted(model.network_.gaussians["x"].means.round(0).tolist()) == [0, 2]
    assert TANClassifier(em=True, discretizer=MDLPDiscretizer()).fit(X, labels).score(X, y) > 0.85


@pytest.mark.parametrize("kind", ["floats", "text", "pandas"])
def test_what_stands_for_an_unknown_class(kind):
    X, y = rows()
    labels = hidden(y)
    expected = NaiveBayesClassifier(em=True).fit(X, labels)
    given = {
        "floats": np.array([np.nan if label is None else label for label in labels]),
        "text": [None if label is None else str(label) for label in labels],
        "pandas": pd.Series(labels, dtype="Int64"),
    }[kind]
    model = NaiveBayesClassifier(em=True).fit(X, given)
    assert [int(label) for label in model.classes_] == [0, 1]
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()


def test_weights_count():
    X, y = rows(60)
    labels = hidden(y)
    weights = np.random.default_rng(2).integers(0, 3, 60)
    weighted = NaiveBayesClassifier(em=True).fit(X, labels, weights)
    repeated = NaiveBayesClassifier(em=True).fit(
        {name: np.repeat(column, weights) for name, column in X.items()}, np.repeat(np.array(labels, object), weights)
    )
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-6)


def test_errors():
    X, y = rows()
    with pytest.raises(MissingDataError, match=r"the class of row 0 is missing \(em=True"):
        NaiveBayesClassifier().fit(X, [None, *y[1:]])
    with pytest.raises(MissingDataError, match="missing in all rows"):
        NaiveBayesClassifier(em=True).fit(X, [None] * len(y))
    with pytest.raises(DataError, match="em must be True, False or a dict of options"):
        NaiveBayesClassifier(em="yes").fit(X, y)
    with pytest.raises(DataError, match="unknown options of em: 'accelerate'; there are .*'acceleration'"):
        NaiveBayesClassifier(em={"accelerate": True}).fit(X, [None, *y[1:]])
    with pytest.raises(MissingDataError, match="row 0 is missing$"):
        A2DEClassifier().fit(X, [None, *y[1:]])
    with pytest.raises(ValueError, match=r"X has 300 rows \(column 'a'\), y has 299"):
        NaiveBayesClassifier().fit(X, y[1:])
    with pytest.raises(DataError, match="all rows at once"):
        NaiveBayesClassifier(em=True).partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("joint", [True, False])
def test_aode_is_the_mean_of_spodes_by_em(joint):
    X, y = rows()
    X = {name: [None if row % 9 == place else int(cell) for row, cell in enumerate(column)]
         for place, (name, column) in enumerate(X.items())}  # fmt: skip
    labels = hidden(y)
    em = {"tol": 1e-11, "max_iter": 10_000}
    model = AODEClassifier(joint=joint, em=em).fit(X, labels)
    assert set(model.em_results_) == {"a", "b", "c"}
    asked = {"a": [0, 1, 2], "b": [2, 1, 0], "c": [0, 1, 1]}
    total = np.zeros((3, 2))
    for name, network in zip("abc", model.networks_, strict=True):
        if not joint:  # then each network is the one that a SPODE classifier learns from the same rows
            alone = SPODEClassifier(super_parent=name, em=em).fit(X, labels).network_
            for child in ("class", *"abc"):
                parents = alone.cpt(child).names
                expected = alone.cpt(child).values
                assert network.cpt(child).names == parents
                assert network.cpt(child).values == pytest.approx(expected, abs=1e-5)
        rows_of = [{**{key: column[row] for key, column in asked.items()}, "class": label}
                   for row in range(3) for label in (0, 1)]  # fmt: skip
        total += np.array([network.probability(row) for row in rows_of]).reshape(3, 2) / 3
    assert np.exp(model.predict_joint_log_proba(asked)) == pytest.approx(total, rel=1e-9)
