"""scikit-learn's manners: its own checks, and the tools that classifiers are used with."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import check_estimator

from pgm import AODEClassifier, MDLPDiscretizer, NaiveBayesClassifier, SPODEClassifier, TANClassifier
from tests.classifiers.tables import car

MODELS = [NaiveBayesClassifier(), SPODEClassifier(), TANClassifier(), AODEClassifier()]
WITH_INTERVALS = [NaiveBayesClassifier(discretizer=MDLPDiscretizer()), TANClassifier(discretizer=MDLPDiscretizer())]

_REASON = "its features are numbers with fractions, which are no categories without a discretizer"
CONTINUOUS = {
    "check_positive_only_tag_during_fit": _REASON,
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_classifiers_one_label_sample_weights": _REASON,
}


@pytest.mark.parametrize("model", MODELS + WITH_INTERVALS, ids=repr)
@pytest.mark.filterwarnings(f"ignore::{SkipTestWarning.__module__}.{SkipTestWarning.__name__}")
def test_checks_of_scikit_learn(model):
    numbers = isinstance(model, NaiveBayesClassifier) or model.get_params().get("discretizer") is not None
    results = check_estimator(model, expected_failed_checks={} if numbers else CONTINUOUS, on_fail="raise")
    passed = [result for result in results if result["status"] == "passed"]
    assert len(passed) > 40


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_cloned_pickled_and_searched(model):
    X, y = car()
    frame = pd.DataFrame(X).astype(str).astype("category")
    with pytest.raises(NotFittedError):
        clone(model).predict(frame)
    fitted = clone(model).fit(frame, y)
    assert not hasattr(clone(fitted), "classes_")
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(frame) == fitted.predict_proba(frame)).all()
    search = GridSearchCV(model, {"pseudocount": [0.1, 1.0]}, cv=3).fit(frame.iloc[::4], y[::4])
    assert search.best_params_["pseudocount"] in (0.1, 1.0)


def test_a_pipeline_cuts_numbers_into_intervals():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3)) + 2 * y[:, None]
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = make_pipeline(bins, TANClassifier(states={f"x{i}": range(4) for i in range(3)}))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85


def mixed_frame():
    """Return a frame with a number, a category and a class that they tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    color = np.where(rng.random(200) < 0.2 + 0.6 * y, "red", "blue")
    return pd.DataFrame({"length": rng.normal(size=200) + 2 * y, "color": color}), np.where(y == 1, "yes", "no")


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_columns_transformed_before(output):
    X, y = mixed_frame()
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    columns = ColumnTransformer([("bins", bins, ["length"])], remainder="passthrough").set_output(transform=output)
    model = make_pipeline(columns, NaiveBayesClassifier(categorical="all")).fit(X, y)
    assert model.score(X, y) > 0.85
    assert len(model[-1].network_.variables) == 3
    names = {"default": "x0", "pandas": "bins__length", "polars": "bins__length"}
    assert model[-1].network_.variable(names[output]).states == (0, 1, 2, 3)


def test_output_is_an_array_whatever_is_set():
    X, y = mixed_frame()
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(NaiveBayesClassifier().fit(X, y).predict_proba(X), np.ndarray)
        cut = MDLPDiscretizer().fit(X[["length"]], y).transform(X[["length"]])
    assert list(cut.columns) == ["length"]


def test_parameters_of_the_discretizer_are_searched():
    X, y = mixed_frame()
    model = TANClassifier(discretizer=KBinsDiscretizer(encode="ordinal", strategy="uniform"))
    search = GridSearchCV(model, {"discretizer__n_bins": [2, 5], "em": [False, True]}, cv=3).fit(X, y)
    assert search.best_params_["discretizer__n_bins"] in (2, 5)
    chosen = search.best_estimator_
    assert len(chosen.network_.variable("length").states) == search.best_params_["discretizer__n_bins"]
    left_out = chosen.leave_one_out(X, y)
    assert left_out.shape == (200, 2)


def test_calibrated_and_voted():
    X, y = mixed_frame()
    calibrated = CalibratedClassifierCV(NaiveBayesClassifier(), cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.85
    voted = VotingClassifier([("a", NaiveBayesClassifier()), ("b", NaiveBayesClassifier(pseudocount=5))], voting="soft")
    assert voted.fit(X, y).score(X, y) > 0.85


def test_weights_are_routed():
    X, y = mixed_frame()
    weights = np.random.default_rng(0).integers(0, 3, 200)
    with sklearn.config_context(enable_metadata_routing=True):
        model = NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"pseudocount": [1.0]}, cv=3).fit(X, y, sample_weight=weights)
    expected = NaiveBayesClassifier().fit(X, y, weights)
    assert search.best_estimator_.predict_proba(X) == pytest.approx(expected.predict_proba(X))
