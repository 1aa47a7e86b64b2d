"""Supervised discretisation by minimum description length: Fayyad and Irani's method."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

__all__ = ["MDLPDiscretizer"]

FloatArray = NDArray[np.float64]


class MDLPDiscretizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Cuts continuous features into the intervals that tell most about the class, as many as a code for it pays for.

    A column is cut in two where the entropy of the class, weighed over both parts, is least; and each part again, as
    long as the gain in information is more than the description of the cut takes.

    Attributes
    ----------
    bin_edges_
        For each feature its least number, the cuts, and its largest number.
    n_bins_
        Number of intervals of each feature, 1 for one that tells nothing about the class.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    A cut lies in the middle between two neighbouring numbers. The gain of a cut of N rows into two parts is worth it if

        N Gain > log2(N - 1) + log2(3**k - 2) - k H + k1 H1 + k2 H2,

    where k, k1 and k2 count the classes in all rows and in the parts, and H, H1 and H2 are entropies in bits. With
    weights, N is the sum of weights. Missing cells (NaN) are left out in fitting and stay NaN. O(rows log rows) for
    each feature and cut.

    References
    ----------
    Fayyad and Irani (1993), "Multi-interval discretization of continuous-valued attributes for classification
    learning", IJCAI 13, 1022-1027.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [7.0, 2.0], [8.0, 3.0], [9.0, 6.0]])
    >>> found = MDLPDiscretizer().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> [edges.tolist() for edges in found.bin_edges_], found.transform([[4.0, 9.0], [6.0, 0.0]]).tolist()
    ([[1.0, 5.0, 9.0], [1.0, 6.0]], [[0.0, 0.0], [1.0, 0.0]])
    """

    n_bins_: NDArray[np.intp]
    bin_edges_: list[FloatArray]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the discretizer itself, with the cuts of each feature.

        Parameters
        ----------
        X
            Numbers, shape (rows, features); NaN is a missing cell.
        y
            The class of each row.
        sample_weight
            Weight of each row. Rows of weight 0 are as good as absent.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        classes, labels = np.unique(y, return_inverse=True)
        self.bin_edges_ = [_edges(column, labels, weights, len(classes)) for column in X.T]
        self.n_bins_ = np.array([len(edges) - 1 for edges in self.bin_edges_])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the number of the interval of each cell, from 0, NaN where the cell is missing."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        cells = np.empty(X.shape)
        for place, edges in enumerate(self.bin_edges_):
            column = X[:, place]
            cells[:, place] = np.where(np.isnan(column), np.nan, np.searchsorted(edges[1:-1], column, side="right"))
        return cells

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: those of the input."""
        check_is_fitted(self)
        if input_features is not None:
            return np.asarray(input_features, dtype=object)
        numbered = [f"x{place}" for place in range(self.n_features_in_)]
        return np.asarray(getattr(self, "feature_names_in_", numbered), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _edges(column: FloatArray, labels: NDArray[np.intp], weights: FloatArray, classes: int) -> FloatArray:
    """Return the least number of a column, its cuts and its largest number."""
    known = ~np.isnan(column) & (weights > 0)
    values, positions = np.unique(column[known], return_inverse=True)
    if not len(values):
        return np.array([-np.inf, np.inf])
    table = np.bincount(positions * classes + labels[known], weights[known], len(values) * classes)
    below = np.concatenate([np.zeros((1, classes)), table.reshape(-1, classes).cumsum(axis=0)])
    cuts = []
    waiting = [(0, len(values))]
    while waiting:
        first, last = waiting.pop()
        place = _best_cut(below, first, last)
        if place is not None:
            middle = values[place - 1] / 2 + values[place] / 2
            cuts.append(middle if middle > values[place - 1] else values[place])  # of neighbouring floats
            waiting += [(first, place), (place, last)]
    return np.array([values[0], *sorted(cuts), values[-1]])


def _best_cut(below: FloatArray, first: int, last: int) -> int | None:
    """Return before which value to cut the values from ``first`` to ``last``, or None if no cut is worth it.

    Parameters
    ----------
    below
        Weight of each class in all rows with a smaller value, shape (values + 1, classes).
    first, last
        The values in question, without the last.
    """
    if last - first <= 1:
        return None
    whole = below[last] - below[first]
    left = below[first + 1 : last] - below[first]
    right = whole - left
    total = whole.sum()
    costs = _bits(left) + _bits(right)
    best = int(costs.argmin())
    gain = float(_bits(whole)) - float(costs[best])
    parts = [whole, left[best], right[best]]
    k, k1, k2 = (int((part > 1e-12 * total).sum()) for part in parts)
    h, h1, h2 = (float(_bits(part)) / part.sum() for part in parts)
    price = np.log2(max(total - 1, 1.0)) + np.log2(3.0**k - 2) - k * h + k1 * h1 + k2 * h2
    return first + 1 + best if gain > price else None


def _bits(counts: FloatArray) -> FloatArray:
    """Return N H in bits of counts along the last axis.

    >>> _bits(np.array([[2.0, 2.0], [4.0, 0.0]])).tolist()
    [4.0, 0.0]
    """
    totals = counts.sum(axis=-1)
    return np.asarray((xlogy(totals, totals) - xlogy(counts, counts).sum(axis=-1)) / np.log(2))
