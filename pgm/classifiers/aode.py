"""AODE: the average of all super-parent classifiers, instead of choosing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pgm.classifiers.averaging.log_mean import LeftOut, PackedRows, SuperParent, log_mean
from pgm.classifiers.averaging.super_parents import (
    equal_weights,
    first_of_largest,
    log_product,
    reaches,
    rows_right,
    under_features,
    without_implied,
)
from pgm.classifiers.common.base import CategoricalClassifier
from pgm.classifiers.common.batches import LearnsInBatches
from pgm.classifiers.common.continuous import Categorical
from pgm.classifiers.common.options import is_number
from pgm.classifiers.common.reading import Codes, States, TrainingRows
from pgm.classifiers.common.tags import categorical_tags
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import fraction, log_joint, smoothed
from pgm.classifiers.counting.information import information_with_class, ranks
from pgm.errors import DataError
from pgm.factors.cpt import CPT
from pgm.learning.em import EMResult
from pgm.network import BayesianNetwork

__all__ = ["AODEClassifier"]


class AODEClassifier(LearnsInBatches, CategoricalClassifier):
    """The averaged one-dependence estimator: the mean of P(c, x) over all features as super-parents.

    Parameters
    ----------
    min_rows
        A feature is a super-parent for a row only if its value there occurs in at least so many training rows. Default:
        1, as in Weka and in the later papers; the first paper took 30.
    joint
        How a super-parent's own probability is estimated. True: P(c, xi) = (N(c, xi) + l) / (N + l K Ni), as in the
        textbook and in Weka. False: P(c) P(xi | c), each with pseudocounts, as a network of these two has it.
    weights
        None: all super-parents weigh the same. "information": each weighs its mutual information with the class, so one
        that tells nothing about it is no super-parent (WAODE).
    selection
        None: all features take part. "subsumption": a cell that another cell of the same row implies is left out, as
        parent and as child (AODEsr): xi implies xj if all training rows with xi have xj, at least
        ``subsumption_rows`` of them; of two that imply each other the first stays. "leave_one_out": features are ranked
        by their mutual information with the class, and the first m of them are super-parents, with the m of the largest
        leave-one-out accuracy, the smallest of equal ones. All features stay children.
    subsumption_rows
        How many rows make an implication.
    pseudocount, class_pseudocount, states, unseen
        As in `NaiveBayesClassifier`; P(xj | c, xi) = (N(c, xi, xj) + l) / (N(c, xi) + l Nj). ``class_pseudocount`` is
        used where P(c) is.
    categorical, discretizer, em
        As in `NaiveBayesClassifier`; but without a discretizer all features must be categories. EM runs once for each
        super-parent; what is weighed or selected is so by the rows of known class.

    Attributes
    ----------
    super_parents_
        The features that can be super-parents, by name, and what each weighs.
    networks_
        The networks that are averaged, one for each super-parent.
    em_results_
        What `pgm.fit_em` returned for each super-parent, by name, if there was something to complete.
    network_
        The naive Bayes network, which decides rows for which no feature can be a super-parent.
    classes_, class_count_
        As in `NaiveBayesClassifier`.

    Notes
    -----
    One pass over the rows fills the class x value x value table, with which everything is known. Prediction adds up
    logarithms, O(classes * features**2) a row, so that hundreds of features do not underflow. Joint probabilities are
    averaged, not posteriors. A missing feature is no super-parent, and otherwise summed out exactly.

    Options may be combined. Weights and selections stay those of all rows in `leave_one_out`, except that an
    implication then needs its rows without the one left out.

    References
    ----------
    Webb, Boughton and Wang (2005), *Machine Learning* 58, 5-24. Zhou (2016), *Machine Learning*, section 7.4. Weights:
    Jiang and Zhang (2006), *PRICAI*, LNCS 4099, 970-974. Subsumption: Zheng and Webb (2006), *ICML*, 1113-1120.
    Selection of super-parents: Yang et al. (2007), *IEEE TKDE* 19, 1652-1665; by rank and in one pass: Chen et al.
    (2017), *IEEE TKDE* 29, 172-185.

    Examples
    --------
    >>> X = {"a": [0, 0, 1, 1] * 3, "b": [0, 1, 0, 1] * 3, "c": [1, 1, 0, 1] * 3}
    >>> model = AODEClassifier().fit(X, [0, 1, 1, 0] * 3)
    >>> model.predict_proba({"a": [0], "b": [1], "c": [1]}).round(3)
    array([[0.283, 0.717]])
    >>> AODEClassifier(selection="leave_one_out").fit(X, [0, 1, 1, 0] * 3).super_parents_
    {'a': 1.0, 'c': 1.0}
    """

    em_results_: dict[str, EMResult]

    def __init__(
        self,
        *,
        min_rows: float = 1,
        joint: bool = True,
        weights: str | None = None,
        selection: str | None = None,
        subsumption_rows: float = 100,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        states: States | None = None,
        categorical: Categorical = None,
        discretizer: Any = None,
        em: bool | Mapping[str, Any] = False,
        unseen: str = "error",
    ) -> None:
        self.min_rows = min_rows
        self.joint = joint
        self.weights = weights
        self.selection = selection
        self.subsumption_rows = subsumption_rows
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.states = states
        self.categorical = categorical
        self.discretizer = discretizer
        self.em = em
        self.unseen = unseen

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Return the classifier itself, having learned from more rows; see `NaiveBayesClassifier.partial_fit`.

        Raises
        ------
        DataError
            If super-parents are selected by leave-one-out, which needs all rows at once.
        """
        if self.selection == "leave_one_out":
            raise DataError("selection='leave_one_out' needs all rows at once: use fit")
        return super().partial_fit(X, y, classes, sample_weight)

    @property
    def super_parents_(self) -> dict[str, float]:
        """The features that can be super-parents, by name, and what each weighs."""
        check_is_fitted(self, "counts_")
        chosen = np.flatnonzero(self._weights).tolist()
        return {self.feature_variables_[parent].name: float(self._weights[parent]) for parent in chosen}

    @property
    def networks_(self) -> tuple[BayesianNetwork, ...]:
        """The networks that are averaged, one for each super-parent, made on every call."""
        check_is_fitted(self, "counts_")
        return tuple(self._network_under(parent) for parent in np.flatnonzero(self._weights).tolist())

    # ------------------------------------------------------------------ fitting

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, least in (("min_rows", 0), ("subsumption_rows", 1)):
            value = getattr(self, name)
            if not is_number(value) or not least <= value < np.inf:
                raise DataError(f"{name} must be a number of at least {least}, not {value!r}")
        if not isinstance(self.joint, (bool, np.bool_)):
            raise DataError(f"joint must be True or False, not {self.joint!r}")
        if self.weights not in (None, "information"):
            raise DataError(f"weights must be None or 'information', not {self.weights!r}")
        if self.selection not in (None, "subsumption", "leave_one_out"):
            raise DataError(f"selection must be None, 'subsumption' or 'leave_one_out', not {self.selection!r}")

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        return [()] * len(self.feature_variables_)

    def _build(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        super()._build(codes, labels, weights)
        information = information_with_class(self.counts_)
        self._weights = np.ones(len(information)) if self.weights is None else information
        if self.selection == "leave_one_out":
            place = ranks(information)
            self._weights[place >= self._most_accurate(place, codes, labels, weights)] = 0.0

    def _most_accurate(
        self, place: NDArray[np.intp], codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None
    ) -> int:
        """Return how many super-parents, in order of rank, are the most accurate when each row is left out."""
        ranked = np.argsort(place).tolist()
        right = np.zeros(len(ranked))
        for rows, out in equal_weights(labels, weights):
            some = [column[rows] for column in codes]
            parents = self._super_parents(some, out, ranked)
            packed = PackedRows(some, self.counts_.cardinalities)
            right += rows_right(packed, parents, len(ranked), self._naive(some, out), out)
        return first_of_largest(right) + 1

    def _complete(self, rows: TrainingRows) -> None:
        """Run EM for naive Bayes and for each super-parent, whose expected counts become its part of the table."""
        super()._complete(rows)
        assert self.counts_.pairs is not None
        names = [variable.name for variable in self.feature_variables_]
        pairs, singles = np.zeros_like(self.counts_.pairs), np.zeros_like(self.counts_.singles)
        self.em_results_ = {}
        for parent, name in enumerate(names):
            size = self.counts_.cardinalities[parent]
            pseudocounts = dict.fromkeys(names, self.pseudocount)
            pseudocounts[self.target_] = self.pseudocount * size if self.joint else self._class_pseudocount
            found = self._fit_em(self._network_under(parent), rows, pseudocounts)
            expected = found.network.expected_counts(self._as_data(rows))
            own = slice(self.counts_.starts[parent], self.counts_.starts[parent] + size)
            singles[:, own] = expected.table(name, [self.target_])
            for child, start in enumerate(self.counts_.starts[:-1]):
                states = slice(start, start + self.counts_.cardinalities[child])
                if child == parent:
                    pairs[:, own, own] = singles[:, own, None] * np.eye(size)
                else:
                    pairs[:, own, states] = expected.table(names[child], [self.target_, name])
            self.em_results_[name] = found
        self.counts_ = replace(self.counts_, singles=singles, pairs=pairs)

    # ------------------------------------------------------------------ tables

    def _super_parents(
        self, codes: Codes, out: LeftOut | None, order: list[int] | None = None
    ) -> Iterator[SuperParent]:
        """Yield all features as super-parents of some rows."""
        chosen = np.flatnonzero(self._weights).tolist() if order is None else order
        for parent, values, own, logs in under_features(
            self.counts_, codes, chosen, self._log_own, self.pseudocount, out
        ):
            rows = self.counts_.family(parent).sum(axis=0) - (0.0 if out is None else out.weight)
            weights = np.where(reaches(rows, self.min_rows), self._weights[parent], 0.0)
            yield SuperParent(values, weights, own, logs)

    def _log_own(self, parent: int, without: float | None = None) -> FloatArray:
        """Return ln P(c, xi) of a super-parent, shape (cardinality, classes)."""
        counts = self.counts_.family(parent)
        if self.joint:
            return log_joint(counts, self.pseudocount, without)
        # EM completes all rows, for each super-parent by itself; counting leaves out those in which it is missing
        classes = counts.sum(axis=1) if hasattr(self, "em_results_") else self.counts_.classes
        return log_product(counts, classes, self.pseudocount, self._class_pseudocount, without)

    def _network_under(self, parent: int) -> BayesianNetwork:
        variables, own = self.feature_variables_, np.exp(self._log_own(parent)).T
        in_class = own.sum(axis=1)
        given_class = fraction(own, in_class[:, None], 1 / own.shape[1])
        cpts = [CPT(self._target, in_class), CPT(variables[parent], given_class, parents=[self._target])]
        for child, variable in enumerate(variables):
            if child != parent:
                values = smoothed(self.counts_.family(child, (parent,)), self.pseudocount)
                cpts.append(CPT(variable, values, parents=[self._target, variables[parent]]))
        return BayesianNetwork(cpts)

    # ------------------------------------------------------------------ predicting

    def _joint(self, codes: Codes) -> FloatArray:
        return self._mean(codes, None)

    def _held_out(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
        joint = np.empty((len(labels), len(self.classes_)))
        for rows, out in equal_weights(labels, weights):
            joint[rows] = self._mean([column[rows] for column in codes], out)
        return joint

    def _mean(self, codes: Codes, out: LeftOut | None) -> FloatArray:
        """Return ln P(c, x) of each row, by naive Bayes where there is nothing to average."""
        if self.selection == "subsumption":
            codes = without_implied(codes, self.counts_, self.subsumption_rows, out)
        rows = PackedRows(codes, self.counts_.cardinalities)
        mean, weights = log_mean(rows, self._super_parents(codes, out), len(self.classes_), out)
        alone = np.flatnonzero(weights == 0)
        if len(alone):
            mean[alone] = self._naive([column[alone] for column in codes], None if out is None else out.part(alone))
        return mean

    def _naive(self, codes: Codes, out: LeftOut | None) -> FloatArray:
        """Return ln P(c, x) by naive Bayes."""
        if out is None:
            return super()._joint(codes)
        return super()._held_out(codes, out.labels, np.full(len(out.labels), out.weight))

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())
