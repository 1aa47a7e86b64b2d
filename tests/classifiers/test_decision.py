"""Decisions and risks against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import pgm
from pgm import NaiveBayesClassifier, bayes_decision, bayes_risk
from pgm.classifiers.decision import conditional_risk
from pgm.errors import DataError, EvidenceError, UnknownStateError

LOSS = {"treat": {"no": 1}, "wait": {"yes": 20}, "ask": {"yes": 2, "no": 0.5}}


def test_decisions_by_label_and_by_matrix():
    net = pgm.networks.load("asia")
    posterior = net.query("lung", {"smoke": "yes"})
    assert bayes_decision(posterior) == "no"
    assert bayes_decision(posterior, {"yes": {"no": 1}, "no": {"yes": 50}}) == "yes"
    assert bayes_decision(posterior, [[0, 1], [50, 0]]) == "yes"
    assert bayes_decision(posterior, LOSS) == "ask"
    assert bayes_decision([[0.9, 0.1], [0.2, 0.8]], states=["a", "b"]).tolist() == ["a", "b"]
    assert bayes_decision([0.5, 0.5]) == 0
    assert conditional_risk({"yes": 0.25, "no": 0.75}, LOSS) == pytest.approx([0.75, 5, 0.875])


@pytest.mark.parametrize("loss", [None, LOSS, [[0, 3], [1, 0]]])
def test_bayes_risk_is_the_risk_of_the_best_decisions(loss):
    net = pgm.networks.load("asia")
    features = ["smoke", "xray", "dysp"]
    risk = 0.0
    for values in product(*(net.variable(name).states for name in features)):
        evidence = dict(zip(features, values, strict=True))
        posterior = net.query("lung", evidence)
        risk += net.probability(evidence) * conditional_risk(posterior, loss).min()
    assert bayes_risk(net, "lung", features, loss) == pytest.approx(risk, abs=1e-12)
    assert bayes_risk(net, "lung", [], loss) >= risk


def test_a_classifier_decides_by_its_loss():
    X, y = {"x": [0, 0, 0, 1, 1, 1]}, ["a", "a", "b", "b", "b", "a"]
    model = NaiveBayesClassifier().fit(X, y)
    assert model.predict({"x": [0, 1]}).tolist() == ["a", "b"]
    assert model.predict({"x": [0, 1]}, loss={"a": {"b": 9}, "b": {"a": 1}}).tolist() == ["b", "b"]
    expected = model.predict_proba(X) @ np.array([[0, 1], [9, 0]])
    assert model.conditional_risk(X, {"a": {"b": 9}, "b": {"a": 1}}) == pytest.approx(expected)


def test_errors_name_what_is_wrong():
    with pytest.raises(UnknownStateError, match="'ill'"):
        bayes_decision({"yes": 0.5, "no": 0.5}, {"yes": {"ill": 1}})
    with pytest.raises(DataError, match=r"\(2, 2\)"):
        bayes_decision([0.5, 0.5], [[0, 1, 2], [1, 0, 2]])
    with pytest.raises(DataError, match="sum 1"):
        bayes_decision([0.5, 0.6])
    with pytest.raises(DataError, match="finite"):
        bayes_decision([0.5, 0.5], [[0, np.nan], [1, 0]])
    net = pgm.networks.load("asia")
    with pytest.raises(EvidenceError, match="'lung'"):
        bayes_risk(net, "lung", ["lung"])
