"""A2DE: AODE with pairs of features as super-parents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgm.classifiers.aode import AODEClassifier
from pgm.classifiers.averaging.log_mean import LeftOut, PackedRows, SuperParent, log_mean
from pgm.classifiers.averaging.super_parents import reaches
from pgm.classifiers.common.continuous import Categorical
from pgm.classifiers.common.reading import Codes, States, TrainingRows
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import fraction, log_conditionals, log_joint, smoothed
from pgm.classifiers.counting.triple_counts import TripleCounts, count_triples
from pgm.factors.cpt import CPT
from pgm.network import BayesianNetwork

__all__ = ["A2DEClassifier"]

_CELLS = 64
"""Packed features have at most so many joint states; see `PackedRows`."""


class A2DEClassifier(AODEClassifier):
    """The averaged two-dependence estimator: the mean of P(c, x) over all pairs of features as super-parents.

    P(c, x) under the pair i < j is P(c, xi, xj) times the product of P(xk | c, xi, xj) over all other features.

    Parameters
    ----------
    min_rows
        A pair is a super-parent for a row only if its values there occur together in at least so many training rows. A
        row without such a pair is decided by AODE with the same limit, and then by naive Bayes.
    pseudocount, class_pseudocount, states, unseen
        As in `AODEClassifier`: P(c, xi, xj) = (N(c, xi, xj) + l) / (N + l K Ni Nj), P(xk | c, xi, xj) =
        (N(c, xi, xj, xk) + l) / (N(c, xi, xj) + l Nk). ``class_pseudocount`` serves naive Bayes only.
    categorical, discretizer
        As in `NaiveBayesClassifier`; but without a discretizer all features must be categories.

    Attributes
    ----------
    super_parents_
        The pairs of features, by name, each with the weight 1.
    networks_
        The networks that are averaged, one for each pair.
    network_
        The naive Bayes network, which decides rows without any super-parent.
    classes_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    Fitting counts all triples of values in each class, matrix products of O(rows * features * levels**2 / 3), into
    tables of classes * levels**3 / 2 numbers; they are refused if they exceed half of the memory budget. Prediction is
    O(classes * features**3 / 2) a row. A missing feature is in no super-parent, and otherwise summed out exactly.

    References
    ----------
    Webb, Boughton, Zheng, Ting and Salem (2012), "Learning by extrapolation from marginal to full-multivariate
    probability distributions", *Machine Learning* 86, 233-272.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = A2DEClassifier().fit(X, [0, 1, 1, 0] * 3)
    >>> model.predict_proba({"a": [0], "b": [1], "c": [1]}).round(3)
    array([[0.179, 0.821]])
    """

    em = False
    joint = True
    weights = None
    selection = None
    subsumption_rows = 1

    triples_: TripleCounts

    def __init__(
        self,
        *,
        min_rows: float = 1,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        categorical: Categorical = None,
        discretizer: Any = None,
        unseen: str = "error",
    ) -> None:
        self.min_rows = min_rows
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.categorical = categorical
        self.discretizer = discretizer
        self.unseen = unseen

    @property
    def super_parents_(self) -> dict[Any, float]:
        """The pairs of features, by name, each with the weight 1."""
        check_is_fitted(self, "counts_")
        return dict.fromkeys(combinations([variable.name for variable in self.feature_variables_], 2), 1.0)

    @property
    def networks_(self) -> tuple[BayesianNetwork, ...]:
        """The networks that are averaged, one for each pair of features, made on every call."""
        check_is_fitted(self, "counts_")
        pairs = combinations(range(len(self.feature_variables_)), 2)
        return tuple(self._network_under_pair(first, second) for first, second in pairs)

    def _count(self, rows: TrainingRows) -> None:
        again = hasattr(self, "counts_")
        super()._count(rows)
        codes, labels, weights, _ = rows
        triples = count_triples(self.feature_variables_, self.counts_, codes, labels, weights)
        self.triples_ = self.triples_ + triples if again else triples

    def _mean(self, codes: Codes, out: LeftOut | None) -> FloatArray:
        rows = PackedRows(codes, self.counts_.cardinalities, _CELLS)
        mean, weights = log_mean(rows, self._pairs(codes, out), len(self.classes_), out)
        alone = np.flatnonzero(weights == 0)
        if len(alone):
            some = [column[alone] for column in codes]
            mean[alone] = super()._mean(some, None if out is None else out.part(alone))
        return mean

    def _pairs(self, codes: Codes, out: LeftOut | None) -> Iterator[SuperParent]:
        """Yield all pairs of features as super-parents of some rows."""
        without = None if out is None else out.weight
        starts, sizes = self.counts_.starts, self.counts_.cardinalities
        for first, second in combinations(range(len(sizes)), 2):
            counts = self.counts_.family(second, (first,)).reshape(len(self.classes_), -1)
            logs = log_conditionals(self.triples_.pair(first, second), sizes, self.pseudocount, without)
            for feature in (first, second):
                logs[:, starts[feature] : starts[feature + 1]] = 0.0
            values = np.asarray(codes[first], np.intp) * sizes[second] + codes[second]
            values[(codes[first] == sizes[first]) | (codes[second] == sizes[second])] = counts.shape[1]
            rows = counts.sum(axis=0) - (without or 0.0)
            own = log_joint(counts, self.pseudocount, without)
            yield SuperParent(values, reaches(rows, self.min_rows).astype(np.float64), own, logs)

    def _network_under_pair(self, first: int, second: int) -> BayesianNetwork:
        variables, counts = self.feature_variables_, self.counts_.family(second, (first,))
        own = np.exp(log_joint(counts.reshape(len(counts), -1), self.pseudocount)).T.reshape(counts.shape)
        triples = self.triples_.pair(first, second).reshape(*counts.shape, -1)
        in_class, with_first = own.sum(axis=(1, 2)), own.sum(axis=2)
        above = [self._target, variables[first], variables[second]]
        cpts = [
            CPT(self._target, in_class),
            CPT(variables[first], fraction(with_first, in_class[:, None], 1 / counts.shape[1]), parents=above[:1]),
            CPT(variables[second], fraction(own, with_first[..., None], 1 / counts.shape[2]), parents=above[:2]),
        ]
        for child, variable in enumerate(variables):
            if child not in (first, second):
                start = self.counts_.starts[child]
                values = smoothed(triples[..., start : start + variable.cardinality], self.pseudocount)
                cpts.append(CPT(variable, values, parents=above))
        return BayesianNetwork(cpts)
