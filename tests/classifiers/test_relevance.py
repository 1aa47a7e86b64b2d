"""Naive Bayes averaged over which features depend on the class."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln

from pgm import NaiveBayesClassifier
from pgm.errors import DataError
from tests.classifiers.tables import car

# The R package bnclassify and the Java program of Wei, Visweswaran and Cooper, on the car table
RELEVANCE = {"buying": 1, "maint": 1, "doors": 0.000026294701543, "persons": 1, "lug_boot": 1, "safety": 1}
ROWS = {12: 0.301507, 1646: 0.307484, 1728: 0.209418}


def test_published_numbers():
    X, y = car()
    model = NaiveBayesClassifier(relevance_prior=0.5).fit(X, y)
    assert model.relevance_ == pytest.approx(RELEVANCE, abs=1e-9)
    acc = model.classes_.tolist().index("acc")
    for row, expected in ROWS.items():
        assert model.predict_proba(X)[row - 1, acc] == pytest.approx(expected, abs=5e-7)
    assert NaiveBayesClassifier(relevance_prior=0.1).fit(X, y).relevance_["doors"] == pytest.approx(2.921702e-06)
    sceptical = NaiveBayesClassifier(relevance_prior=1e-5).fit(X, y)
    assert sceptical.relevance_["doors"] == pytest.approx(2.62957e-10, rel=1e-5)
    assert sceptical.relevance_["lug_boot"] == pytest.approx(0.999981436585993, abs=1e-12)


def test_it_is_the_average_over_all_sets_of_edges():
    """The sum over 2**3 networks of P(network | rows) P(c, x | network, rows), with features of two states."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    X = (rng.random((30, 3)) < 0.3 + 0.4 * y[:, None] * [1, 0.3, 0]).astype(int)
    model = NaiveBayesClassifier(relevance_prior=0.3, pseudocount=0.5, states={f"x{i}": [0, 1] for i in range(3)})
    asked = np.array(list(product([0, 1], repeat=3)))
    average, total = np.zeros((8, 2)), 0.0
    for edges in product([False, True], repeat=3):
        weight, joint = 1.0, np.tile((np.bincount(y) + 0.5) / 31, (8, 1))
        for column, edge in enumerate(edges):
            weight *= 0.3 if edge else 0.7
            groups = [y == 0, y == 1] if edge else [y >= 0]
            ones = np.array([X[rows, column].sum() for rows in groups])
            sizes = np.array([rows.sum() for rows in groups])
            weight *= np.exp(sum(betaln(ones + 0.5, sizes - ones + 0.5) - betaln(0.5, 0.5)))
            rate = np.broadcast_to((ones + 0.5) / (sizes + 1), 2)
            joint *= np.where(asked[:, [column]] == 1, rate, 1 - rate)
        average, total = average + weight * joint, total + weight
    found = model.fit(X, y)
    assert np.exp(found.predict_joint_log_proba(asked)) == pytest.approx(average / total, rel=1e-9)
    assert found.predict_proba(asked) == pytest.approx(
        found.network_.posterior({f"x{place}": asked[:, place] for place in range(3)}, "class"), abs=1e-12
    )


def test_leaving_a_row_out_is_fitting_without_it():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 25)
    X = rng.integers(0, 3, (25, 3)).astype(object)
    X[::5, 1] = None
    weights = rng.random(25) + 0.5
    model = NaiveBayesClassifier(relevance_prior=0.4, states={f"x{place}": [0, 1, 2] for place in range(3)})
    left_out = model.leave_one_out(X, y, weights)
    for row in range(25):
        others = np.arange(25) != row
        again = model.fit(X[others], y[others], weights[others])
        assert left_out[row] == pytest.approx(again.predict_proba(X[[row]])[0], abs=1e-9)


def test_errors():
    X, y = car()
    for wrong in (0, 1, -0.5, "half", True):
        with pytest.raises(DataError, match="relevance_prior must be a number between 0 and 1"):
            NaiveBayesClassifier(relevance_prior=wrong).fit(X, y)
    with pytest.raises(DataError, match="pseudocount above 0"):
        NaiveBayesClassifier(relevance_prior=0.5, pseudocount=0).fit(X, y)
    with pytest.raises(DataError, match="em=False"):
        NaiveBayesClassifier(relevance_prior=0.5, em=True).fit(X, y)
