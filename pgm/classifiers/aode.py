"""AODE: the average of all super-parent classifiers, instead of choosing one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pgm.classifiers.base import CategoricalClassifier, held_out, own_weights
from pgm.classifiers.class_counts import FloatArray
from pgm.classifiers.estimates import Family, joint_codes, logarithm, look_up, smoothed
from pgm.classifiers.naive_bayes import learn_more
from pgm.classifiers.reading import Codes, States
from pgm.classifiers.tags import categorical_tags
from pgm.errors import DataError
from pgm.factors.cpt import CPT
from pgm.network import BayesianNetwork

__all__ = ["AODEClassifier"]

_PACKED = 256
"""Features are looked up together while they have at most this many joint states."""

_ROWS = 2048
"""Rows worked on at a time, few enough to stay in the cache."""


class AODEClassifier(CategoricalClassifier):
    """The averaged one-dependence estimator: the mean of P(c, x) over all features as super-parents.

    Parameters
    ----------
    min_rows
        A feature is a super-parent for a row only if its value there occurs in at least so many training rows. Default:
        1, as in Weka and in the later papers; the first paper took 30.
    joint
        How a super-parent's own probability is estimated. True: P(c, xi) = (N(c, xi) + l) / (N + l K Ni), as in the
        textbook. False: P(c) P(xi | c), each with pseudocounts, as in Weka.
    pseudocount, class_pseudocount, states, unseen
        As in `NaiveBayesClassifier`; P(xj | c, xi) = (N(c, xi, xj) + l) / (N(c, xi) + l Nj). ``class_pseudocount`` is
        used where P(c) is.

    Attributes
    ----------
    networks_
        The networks that are averaged, one for each feature as super-parent.
    network_
        The naive Bayes network, which decides rows for which no feature can be a super-parent.
    classes_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    One pass over the rows fills the class x value x value table, with which everything is known. Prediction adds up
    logarithms, O(classes * features**2) a row, so that hundreds of features do not underflow. Joint probabilities are
    averaged, not posteriors. A missing feature is no super-parent, and otherwise summed out exactly.

    References
    ----------
    Webb, Boughton and Wang (2005), *Machine Learning* 58, 5-24. Zhou (2016), *Machine Learning*, section 7.4.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = AODEClassifier().fit(X, [0, 1, 1, 0] * 3)
    >>> model.predict_proba({"a": [0], "b": [1], "c": [1]}).round(3)
    array([[0.283, 0.717]])
    """

    def __init__(
        self,
        *,
        min_rows: float = 1,
        joint: bool = True,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        unseen: str = "error",
    ) -> None:
        self.min_rows = min_rows
        self.joint = joint
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.unseen = unseen

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Return the classifier itself, having learned from more rows; see `NaiveBayesClassifier.partial_fit`."""
        learn_more(self, X, y, classes, sample_weight)
        return self

    @property
    def networks_(self) -> tuple[BayesianNetwork, ...]:
        """The networks that are averaged, one for each feature as super-parent, made on every call."""
        check_is_fitted(self, "counts_")
        return tuple(self._network_under(parent) for parent in range(len(self.feature_variables_)))

    # ------------------------------------------------------------------ tables

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        if isinstance(self.min_rows, bool) or not 0 <= self.min_rows < np.inf:
            raise DataError(f"min_rows must be a number of at least 0, not {self.min_rows!r}")
        return [()] * len(self.feature_variables_)

    def _own(self, parent: int) -> FloatArray:
        """Return P(c, xi) of a super-parent, shape (classes, cardinality)."""
        counts = self.counts_.family(parent)
        if self.joint:
            return smoothed(counts.ravel(), self.pseudocount).reshape(counts.shape)
        return self._class_probabilities()[:, None] * smoothed(counts, self.pseudocount)

    def _network_under(self, parent: int) -> BayesianNetwork:
        variables, own = self.feature_variables_, self._own(parent)
        in_class = own.sum(axis=1)
        uniform = np.full_like(own, 1 / own.shape[1])
        given_class = np.divide(own, in_class[:, None], out=uniform, where=in_class[:, None] > 0)
        cpts = [CPT(self._target, in_class), CPT(variables[parent], given_class, parents=[self._target])]
        for child, variable in enumerate(variables):
            if child != parent:
                values = smoothed(self.counts_.family(child, (parent,)), self.pseudocount)
                cpts.append(CPT(variable, values, parents=[self._target, variables[parent]]))
        return BayesianNetwork(cpts)

    # ------------------------------------------------------------------ predicting

    def _joint(self, codes: Codes) -> FloatArray:
        sizes, rows = self.counts_.cardinalities, len(codes[0])
        groups = _packs(sizes)
        packed = [joint_codes(codes, group, sizes) for group in groups]
        spread = [np.prod([sizes[feature] + 1 for feature in group], dtype=int) for group in groups]
        total = np.full((rows, len(self.classes_)), -np.inf)
        members = np.zeros(rows)
        for parent in range(len(sizes)):
            frequent = self._frequent(parent, codes)
            if not frequent.any():
                continue
            own = look_up(logarithm(self._own(parent)), 0.0)
            tables = [self._packed_table(parent, group) for group in groups]
            for start in range(0, rows, _ROWS):
                some = slice(start, start + _ROWS)
                value = codes[parent][some].astype(np.intp)
                logs = own[value]
                for states, size, table in zip(packed, spread, tables, strict=True):
                    logs += table.take(value * size + states[some], axis=0)
                logs[~frequent[some]] = -np.inf
                total[some] = np.logaddexp(total[some], logs)
            members += frequent
        return self._averaged(total, members, super()._joint(codes))

    def _packed_table(self, parent: int, group: list[int]) -> FloatArray:
        """Return the sum of ln P(xj | c, xi) over a group of features, shape (levels of i * joint codes, classes)."""
        sizes = self.counts_.cardinalities
        table = np.zeros((sizes[parent] + 1, 1, len(self.classes_)))
        for child in group:
            logs = np.zeros((sizes[parent] + 1, sizes[child] + 1, len(self.classes_)))
            if child != parent:
                counts = self.counts_.family(child, (parent,))
                logs = look_up(logarithm(smoothed(counts, self.pseudocount)), 0.0).reshape(logs.shape)
            table = (table[:, :, None] + logs[:, None]).reshape(len(table), -1, len(self.classes_))
        return table.reshape(-1, len(self.classes_))

    def _frequent(self, parent: int, codes: Codes, less: FloatArray | float = 0.0) -> NDArray[np.bool_]:
        """Return in which rows a feature may be super-parent."""
        counts = np.append(self.counts_.family(parent).sum(axis=0), -np.inf)
        return np.asarray((counts[codes[parent]] - less >= self.min_rows) & (codes[parent] < len(counts) - 1))

    def _averaged(self, total: FloatArray, members: FloatArray, naive: FloatArray) -> FloatArray:
        """Return the logarithm of the mean, and naive Bayes where there is nothing to average."""
        mean = total - np.log(np.maximum(members, 1.0))[:, None]
        return np.where(members[:, None] > 0, mean, naive)

    def _held_out(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
        own = own_weights(labels, len(self.classes_), weights)
        sizes = self.counts_.cardinalities
        total, members = np.full_like(own, -np.inf), np.zeros(len(own))
        for parent in range(len(sizes)):
            logs = self._held_out_own(parent, codes, own)
            known = codes[parent] < sizes[parent]
            for child in (child for child in range(len(sizes)) if child != parent):
                logs += held_out(self._family(child, (parent,)), codes, sizes, own, self.pseudocount)
            frequent = self._frequent(parent, codes, own.sum(axis=1)) & known
            logs[~frequent] = -np.inf
            total = np.logaddexp(total, logs)
            members += frequent
        return self._averaged(total, members, super()._held_out(codes, labels, weights))

    def _held_out_own(self, parent: int, codes: Codes, own: FloatArray) -> FloatArray:
        counts, sizes = self.counts_.family(parent), self.counts_.cardinalities
        if not self.joint:
            alone = held_out(Family(parent, (), counts), codes, sizes, own, self.pseudocount)
            return self._held_out_class(own) + alone
        cells = np.maximum(look_up(counts, 0.0)[codes[parent]] - own, 0.0) + self.pseudocount
        rows = np.maximum(counts.sum() - own.sum(axis=1, keepdims=True), 0.0) + self.pseudocount * counts.size
        return logarithm(np.divide(cells, rows, out=np.full_like(cells, 1 / counts.size), where=rows > 0))

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())


def _packs(sizes: tuple[int, ...]) -> list[list[int]]:
    """Return the features in groups, to be looked up together.

    >>> _packs((3, 3, 15, 15, 3))
    [[0, 1, 2], [3, 4]]
    """
    groups: list[list[int]] = []
    cells = _PACKED
    for feature, size in enumerate(sizes):
        cells *= size + 1
        if cells > _PACKED or not groups:
            groups.append([])
            cells = size + 1
        groups[-1].append(feature)
    return groups
