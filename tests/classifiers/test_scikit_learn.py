"""scikit-learn's manners: its own checks, and the tools that classifiers are used with."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import check_estimator

from pgm import AODEClassifier, NaiveBayesClassifier, SPODEClassifier, TANClassifier
from tests.classifiers.tables import car

MODELS = [NaiveBayesClassifier(), SPODEClassifier(), TANClassifier(), AODEClassifier()]

_REASON = "its features are numbers with fractions, which are no categories"
CONTINUOUS = {
    "check_positive_only_tag_during_fit": _REASON,
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_classifiers_one_label_sample_weights": _REASON,
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings(f"ignore::{SkipTestWarning.__module__}.{SkipTestWarning.__name__}")
def test_checks_of_scikit_learn(model):
    results = check_estimator(model, expected_failed_checks=CONTINUOUS, on_fail="raise")
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
