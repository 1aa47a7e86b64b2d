"""What naive Bayes for texts and other counts shares, whether it counts which words occur or how often each does.

Both models of a text give ln P(x | c) that is linear in x. So fitting is one matrix product, the rows of each class
added up, and predicting another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pgm.classifiers.common.batches import LearnsInBatches
from pgm.classifiers.common.count_matrix import CountMatrix, feature_names
from pgm.classifiers.common.options import check_em, check_pseudocounts, given_priors
from pgm.classifiers.common.reading import class_codes, class_labels, row_weights, target_name, unused_name
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import logarithm, smoothed, subtracted
from pgm.classifiers.counting.leaving_out import own_weights
from pgm.classifiers.semi_supervised import Ascent, climb
from pgm.errors import DataError, listing
from pgm.factors.cpt import CPT
from pgm.factors.variable import Variable
from pgm.learning.em.iteration import Criteria
from pgm.network import BayesianNetwork

__all__ = ["EventCounts", "EventModelClassifier", "LinearLogs", "Rows"]


class Rows(NamedTuple):
    """Rows to learn from."""

    matrix: CountMatrix
    labels: NDArray[np.intp]
    """Code of the class of each row; 0 where it is not known."""
    weights: FloatArray
    """Weight of each row; 0 means absent."""
    known: NDArray[np.bool_]
    """Which rows have a known class."""


class EventCounts(NamedTuple):
    """What is counted in rows."""

    classes: FloatArray
    """Weight of the rows of each class, N(c)."""
    events: FloatArray
    """Weighted sum of each feature in each class, shape (classes, features)."""


class LinearLogs(NamedTuple):
    """ln P(x | c) = constant(c) + sum over i of slope(i, c) x(i), unless x has what never occurs in c."""

    constant: FloatArray
    slope: FloatArray
    """Shape (features, classes)."""
    never: FloatArray | None
    """1 where a feature cannot be present in a class, -1 where it cannot be absent; None if there is no such case."""
    always: FloatArray
    """How many features cannot be absent, for each class."""

    @classmethod
    def of(cls, present: FloatArray, absent: FloatArray) -> LinearLogs:
        """Return the sum of x present + (1 - x) absent, in which 0 times minus infinity is 0.

        Parameters
        ----------
        present, absent
            Logarithms, shape (classes, features).
        """
        if np.isfinite(present).all() and np.isfinite(absent).all():
            return cls(absent.sum(axis=1), np.ascontiguousarray((present - absent).T), None, np.zeros(len(present)))
        no_presence, no_absence = np.isneginf(present), np.isneginf(absent)
        present, absent = np.where(no_presence, 0.0, present), np.where(no_absence, 0.0, absent)
        never = np.ascontiguousarray((no_presence.astype(np.float64) - no_absence).T)
        slope = np.ascontiguousarray((present - absent).T)
        return cls(absent.sum(axis=1), slope, never, no_absence.sum(axis=1).astype(np.float64))

    def at(self, rows: CountMatrix) -> FloatArray:
        """Return ln P(x | c), shape (rows, classes)."""
        if self.never is None:
            logs = rows.times(self.slope)
            logs += self.constant
            return logs
        width = len(self.constant)
        both = rows.times(np.hstack([self.slope, self.never]))
        logs = both[:, :width] + self.constant
        logs[both[:, width:] + self.always > 0] = -np.inf
        return logs


class EventModelClassifier(LearnsInBatches):
    """Naive Bayes whose ln P(x | c) is linear in counts x."""

    pseudocount: float
    class_pseudocount: float | None
    priors: Any
    em: Any

    counts_: EventCounts
    class_log_prior_: FloatArray
    feature_log_prob_: FloatArray
    em_result_: Ascent
    _class_name: str
    _likelihood: LinearLogs
    _network: BayesianNetwork | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the classifier itself, fitted.

        Parameters
        ----------
        X
            Counts: a sparse matrix of scipy, a 2-D array, a frame of pandas, polars or pyarrow, a dict of columns, or a
            `Dataset`.
        y
            The class of each row; with ``em`` it may be missing (None or NaN).
        sample_weight
            Weight of each row. Rows of weight 0 are as good as absent.

        Raises
        ------
        DataError
            For cells that are no numbers, or not of the kind that the model counts; names column and row.
        MissingDataError
            If a cell is missing, or a class that must be known.
        """
        self._check_parameters()
        for learned in ("counts_", "em_result_"):
            self.__dict__.pop(learned, None)
        rows = self._read(X, y, sample_weight, None)
        self._learn(rows)
        if not rows.known.all():
            self._complete(rows)
        return self

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Return P(class | features) of every row, by a classifier fitted to all the other rows.

        Nothing is fitted again: the row is subtracted from the counts.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, which need not have been called; all classes must be known, and all weights positive.

        Returns
        -------
        ndarray
            Shape (rows, classes), classes in sorted order.

        Notes
        -----
        O(nonzero cells * classes); the Bernoulli model takes as long again for every further distinct weight.
        """
        copy = clone(self).set_params(em=False)
        copy._check_parameters()
        rows = copy._read(X, y, sample_weight, None)
        if not rows.weights.all():
            raise DataError("rows of weight 0 cannot be left out: they are in no count")
        copy._learn(rows)
        joint = copy._likelihood.at(rows.matrix)
        joint[np.arange(len(joint)), rows.labels] = copy._held_out(rows)
        return np.asarray(np.exp(copy._normalized(joint + copy._held_out_class(rows))))

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return ln P(class, features) of every row, shape (rows, classes)."""
        check_is_fitted(self, "counts_")
        return self._joint(self._matrix(X, reset=False))

    @property
    def target_(self) -> str:
        """Name of the class in the network: that of ``y`` if it has one, else "class"; no feature is called so."""
        return unused_name(self._class_name, set(feature_names(self)))

    @property
    def class_count_(self) -> FloatArray:
        """Number of training rows (their weight) of each class."""
        return np.asarray(self.counts_.classes)

    @property
    def feature_count_(self) -> FloatArray:
        """Weighted sum of each feature in each class, shape (classes, features)."""
        return self.counts_.events

    @property
    def network_(self) -> BayesianNetwork:
        """The fitted network, made when it is first asked for."""
        check_is_fitted(self, "counts_")
        if self._network is None:
            target = Variable(self.target_, self.classes_.tolist())
            self._network = BayesianNetwork([CPT(target, self._class_probabilities()), *self._features_given(target)])
        return self._network

    # ------------------------------------------------------------------ for subclasses

    def _matrix(self, X: Any, *, reset: bool) -> CountMatrix:
        """Return the rows that are counted, checked."""
        raise NotImplementedError

    def _feature_logs(self) -> tuple[FloatArray, FloatArray]:
        """Return ln P of a feature's presence and of its absence, shape (classes, features) each."""
        raise NotImplementedError

    def _features_given(self, target: Variable) -> list[CPT]:
        """Return the tables of the network below the class."""
        raise NotImplementedError

    def _held_out(self, rows: Rows) -> FloatArray:
        """Return ln P(x | c) of each row for its own class, without what the row itself adds."""
        raise NotImplementedError

    def _log_prior_terms(self) -> FloatArray:
        """Return the logarithms of probabilities that the Dirichlet prior of a feature raises to the pseudocount."""
        return self.feature_log_prob_

    def _check_parameters(self) -> None:
        check_pseudocounts(pseudocount=self.pseudocount, class_pseudocount=self._class_pseudocount)
        check_em(self.em, ("max_iter", "tol"))
        self._criteria()

    # ------------------------------------------------------------------ estimating

    def _read(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Rows:
        """Return checked rows; set what is known of classes and features if these are the first."""
        first = not hasattr(self, "counts_")
        matrix = self._matrix(X, reset=first)
        found, which = class_labels(self, y, incomplete=bool(self.em))
        known = np.ones(len(found), bool) if which is None else which
        check_consistent_length(matrix.cells, known)
        weights = row_weights(sample_weight, len(known))
        weights = np.ones(len(known)) if weights is None else weights
        present = weights[known] > 0
        if not present.any():
            raise DataError("there is no row, or all weights are zero: there is nothing to learn from")
        if first:
            self.classes_ = np.unique(found[present] if classes is None else class_labels(self, classes)[0])
            self._class_name = target_name(y, ())
        labels = np.zeros(len(known), np.intp)
        labels[known] = class_codes(np.where(present, found, self.classes_[0]), self.classes_)
        return Rows(matrix, labels, weights, known)

    def _learn(self, rows: Rows) -> None:
        """Add rows of known class to the counts."""
        counts = self._count(rows.matrix, own_weights(rows.labels, len(self.classes_), rows.weights * rows.known))
        if hasattr(self, "counts_"):
            counts = EventCounts(self.counts_.classes + counts.classes, self.counts_.events + counts.events)
        self._estimate(counts)

    def _count(self, matrix: CountMatrix, members: FloatArray) -> EventCounts:
        """Return the counts of rows, given what each adds to each class, shape (rows, classes)."""
        return EventCounts(members.sum(axis=0), matrix.sums(members))

    def _estimate(self, counts: EventCounts) -> None:
        """Set the counts, and what follows from them."""
        self.counts_ = counts
        self.class_log_prior_ = logarithm(self._class_probabilities())
        self.feature_log_prob_, absent = self._feature_logs()
        self._likelihood = LinearLogs.of(self.feature_log_prob_, absent)
        self._network = None

    @property
    def _class_pseudocount(self) -> float:
        return self.pseudocount if self.class_pseudocount is None else self.class_pseudocount

    def _class_probabilities(self) -> FloatArray:
        if self.priors is not None:
            return given_priors(self.priors, self.classes_)
        return smoothed(self.counts_.classes, self._class_pseudocount)

    def _held_out_class(self, rows: Rows) -> FloatArray:
        """Return ln P(c) without each row."""
        if self.priors is not None:
            return self.class_log_prior_
        rest = subtracted(self.counts_.classes, own_weights(rows.labels, len(self.classes_), rows.weights))
        return logarithm(smoothed(rest, self._class_pseudocount))

    def _joint(self, matrix: CountMatrix) -> FloatArray:
        constant = self._likelihood.constant + self.class_log_prior_
        return self._likelihood._replace(constant=constant).at(matrix)

    # ------------------------------------------------------------------ rows of unknown class

    def _complete(self, rows: Rows) -> None:
        """Let rows of unknown class have their part in the counts, by EM."""
        joint = self._joint(rows.matrix)
        joint[rows.weights == 0] = 0.0  # absent rows may be impossible
        self._normalized(joint)  # raises if another one is; EM makes none impossible that is not
        unknown = np.flatnonzero(~rows.known & (rows.weights > 0))
        known = own_weights(rows.labels, len(self.classes_), rows.weights * rows.known)

        def maximize(members: FloatArray) -> FloatArray:
            self._estimate(self._count(rows.matrix, members))
            return self._joint(rows.matrix)

        weights = rows.weights[unknown]
        self.em_result_ = climb(maximize, self._log_prior, known, unknown, weights, self._criteria())

    def _criteria(self) -> Criteria:
        options = dict(self.em) if isinstance(self.em, Mapping) else {}
        wrong = [name for name in options if name not in ("max_iter", "tol")]
        if wrong:
            raise DataError(f"unknown options of em: {listing(wrong)}; there are 'max_iter' and 'tol'")
        return Criteria(**options)

    def _log_prior(self) -> float:
        """Return the logarithm of the Dirichlet density of which the estimates are the mode, up to a constant."""
        total = self.pseudocount * self._log_prior_terms().sum() if self.pseudocount else 0.0
        if self.priors is None and self._class_pseudocount:
            total += self._class_pseudocount * self.class_log_prior_.sum()
        return float(total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # on measurements, which are no counts
        return tags
