"""Averages over super-parents against sums written out, far below the smallest number there is."""

from __future__ import annotations

import numpy as np
import pytest

from pgm.classifiers.averaging.log_mean import LeftOut, PackedRows, SuperParent, log_mean
from pgm.classifiers.counting.estimates import log_conditionals, log_joint

SIZES = [2, 3, 1, 30, 300, 2]
STARTS = np.cumsum([0, *(size + 1 for size in SIZES)])


def drawn(rows, seed, scale):
    """Return codes with holes, and super-parents with random weights and logarithms, some of them minus infinity."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, size + (size > 1), rows) for size in SIZES]
    parents = []
    for size in (4, 1, 7):
        logs = -scale * rng.random((size, STARTS[-1], 3))
        own = np.where(rng.random((size, 3)) < 0.2, -np.inf, -scale * rng.random((size, 3)))
        weights = np.where(rng.random(size) < 0.3, 0.0, rng.random(size))
        parents.append(SuperParent(rng.integers(0, size + 1, rows), weights, own, logs))
    return codes, parents


@pytest.mark.parametrize("rows", [0, 1, 30, 700, 9000])
@pytest.mark.parametrize("scale", [1.0, 5000.0])
def test_log_mean(rows, scale):
    codes, parents = drawn(rows, 1, scale)
    mean, weights = log_mean(PackedRows(codes, SIZES), parents, 3, None)
    levels = STARTS[:-1] + np.stack(codes, axis=1)
    terms, weighs = np.full((3, rows, 3), -np.inf), np.zeros((3, rows))
    for place, (values, weight, own, logs) in enumerate(parents):
        for row in np.flatnonzero(values < len(weight)):
            value = values[row]
            weighs[place, row] = weight[value]
            if weight[value]:
                terms[place, row] = np.log(weight[value]) + own[value] + logs[value, levels[row]].sum(axis=0)
    assert weights == pytest.approx(weighs.sum(axis=0))
    some = weights > 0
    expected = np.logaddexp.reduce(terms[:, some], axis=0) - np.log(weights[some])[:, None]
    assert mean[some] == pytest.approx(expected, rel=1e-12)
    assert np.isneginf(mean[~some]).all()
    assert scale == 1 or expected.max(initial=-np.inf) < -1000


def test_rows_left_out_look_up_their_own_class_elsewhere():
    codes, parents = drawn(500, 2, 3.0)
    labels = np.random.default_rng(0).integers(0, 3, 500)
    others = drawn(500, 3, 3.0)[1]
    both = [
        SuperParent(
            one.values,
            one.weights,
            np.concatenate([one.own, other.own], axis=1),
            np.concatenate([one.logs, other.logs], axis=2),
        )
        for one, other in zip(parents, others, strict=True)
    ]
    swapped = [
        SuperParent(one.values, one.weights, two.own, two.logs) for one, two in zip(parents, others, strict=True)
    ]
    rows = PackedRows(codes, SIZES)
    mean, _ = log_mean(rows, both, 3, LeftOut(labels, 1.0))
    as_they_are, own = log_mean(rows, parents, 3, None)[0], log_mean(rows, swapped, 3, None)[0]
    for label in range(3):
        mine = labels == label
        assert (mean[mine, label] == own[mine, label]).all()
        assert (mean[~mine, label] == as_they_are[~mine, label]).all()


def test_estimates_without_counts_are_uniform():
    counts = np.zeros((2, 1, 4))  # a feature of three states, one class with a row, the other empty
    counts[0, 0] = [1, 0, 0, 5]
    logs = np.exp(log_conditionals(counts, [3], 0.0, without=1.0))[0]
    assert logs[:, 0].tolist() == [1, 0, 0, 1]
    assert logs[:3, 1:].ravel() == pytest.approx([1 / 3] * 9)
    assert np.exp(log_joint(np.array([[1.0], [0.0]]), 0.0, without=1.0))[0] == pytest.approx([0.5] * 4)
