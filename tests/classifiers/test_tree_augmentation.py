"""The trees of tree-augmented naive Bayes when rows are left out."""

from __future__ import annotations

import numpy as np
import pytest

from pgm import TANClassifier
from pgm.classifiers import tree_augmentation
from pgm.learning.trees import maximum_spanning_tree


@pytest.mark.parametrize("penalty", [None, "aic", "bic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_makes_the_tree_anew(penalty, weighted):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 25)
    X = rng.integers(0, 3, (25, 5))
    X[:, 1] = (X[:, 0] + rng.integers(0, 2, 25) * (rng.random(25) < 0.4)) % 3
    weights = rng.integers(1, 4, 25) if weighted else np.ones(25)
    model = TANClassifier(penalty=penalty, states={f"x{place}": range(3) for place in range(5)})
    left_out, trees = model.leave_one_out(X, y, weights), set()
    for row in range(25):
        others = np.arange(25) != row
        again = model.fit(X[others], y[others], weights[others])
        trees.add(again.tree_)
        assert left_out[row] == pytest.approx(again.predict_proba(X[[row]])[0], abs=1e-12)
    assert len(trees) > 1 or penalty


def test_trees_of_many_rows_at_once_are_those_of_kruskal():
    rng = np.random.default_rng(0)
    for size in range(2, 8):
        gains = rng.integers(-2, 4, (40, size * (size - 1) // 2)).astype(float)  # many ties
        for only_positive in (False, True):
            chosen = tree_augmentation._spanning_trees(gains, only_positive=only_positive)
            for row, edges in zip(gains, chosen, strict=True):
                matrix = np.zeros((size, size))
                matrix[np.triu_indices(size, 1)] = row
                expected = maximum_spanning_tree(matrix + matrix.T, only_positive=only_positive)
                ends = np.stack(np.triu_indices(size, 1), axis=1)[edges]
                assert tuple(map(tuple, ends.tolist())) == expected
