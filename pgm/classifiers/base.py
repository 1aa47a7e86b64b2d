"""What all Bayes classifiers for categorical features share: scikit-learn's manners around counts and a network.

A subclass says which features depend on which (`_structure`). Here its tables are estimated, and
ln P(c, x) = ln P(c) + sum over i of ln P(xi | c, parents of xi) is added up by look-ups for all rows at once.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from pgm.classifiers.class_counts import ClassCounts, FloatArray, count_classes
from pgm.classifiers.decision import bayes_decision, conditional_risk
from pgm.classifiers.estimates import Family, joint_codes, log_sum_exp, logarithm, look_up, smoothed
from pgm.classifiers.reading import (
    Codes,
    class_codes,
    class_labels,
    code_features,
    code_training_features,
    feature_columns,
    row_weights,
)
from pgm.data import Dataset
from pgm.errors import DataError, ImpossibleEvidenceError, MissingDataError
from pgm.factors.cpt import CPT
from pgm.factors.variable import Variable
from pgm.network import BayesianNetwork

__all__ = ["BayesClassifier", "CategoricalClassifier"]


class BayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows ln P(class, features): all that follows from that."""

    classes_: NDArray[Any]

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return ln P(class, features) of every row, shape (rows, classes); missing cells are summed out."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return ln P(class | features) of every row, shape (rows, classes).

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability 0 in every class, which only happens without pseudocounts.
        """
        return self._normalized(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(class | features) of every row, shape (rows, classes), classes as in ``classes_``.

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability 0 in every class, which only happens without pseudocounts.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any, loss: Any = None) -> NDArray[Any]:
        """Return the most probable class of every row, or with a loss the decision with the least risk.

        Parameters
        ----------
        X
            The rows.
        loss
            What deciding costs: see `pgm.bayes_decision`. Default: 1 for each wrong class.
        """
        if loss is not None:
            return np.asarray(bayes_decision(self.predict_proba(X), loss, states=self.classes_.tolist()))
        logs = self.predict_log_proba(X)
        return np.asarray(self.classes_[logs.argmax(axis=1)])

    def conditional_risk(self, X: Any, loss: Any) -> FloatArray:
        """Return R(d | x), the expected loss of each decision in each row, shape (rows, decisions)."""
        return conditional_risk(self.predict_proba(X), loss, states=self.classes_.tolist())

    def _normalized(self, joint: FloatArray) -> FloatArray:
        evidence = log_sum_exp(joint, axis=1)
        impossible = np.flatnonzero(np.isneginf(evidence))
        if len(impossible):
            raise ImpossibleEvidenceError(
                f"row {impossible[0]} (counting from 0; {len(impossible)} in all) has probability 0 in every class, "
                "so it has no posterior: fit with a pseudocount"
            )
        return joint - evidence[:, None]


class CategoricalClassifier(BayesClassifier):
    """A Bayes classifier for categorical features."""

    pseudocount: float
    class_pseudocount: float | None
    states: Any
    unseen: str

    _counts_pairs = True
    """Whether the structure needs counts of pairs of features."""

    target_: str
    feature_variables_: tuple[Variable, ...]
    counts_: ClassCounts
    _network: BayesianNetwork | None
    _families: list[Family]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the classifier itself, fitted.

        Parameters
        ----------
        X
            Categorical features: a frame of pandas, polars or pyarrow, a dict of columns, a `Dataset`, or a 2-D array,
            whose columns are called x0, x1 and so on. Missing cells are left out of the counts they would belong to.
        y
            The class of each row.
        sample_weight
            Weight of each row. Rows of weight 0 are as good as absent.
        """
        self._check_parameters()
        self.__dict__.pop("counts_", None)
        self._learn(*self._read(X, y, sample_weight, None))
        return self

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Return P(class | features) of every row, by a classifier fitted to all the other rows.

        Nothing is fitted again: the row is subtracted from the counts. The states stay those of all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, which need not have been called; all weights must be positive.

        Returns
        -------
        ndarray
            Shape (rows, classes), classes in sorted order.
        """
        copy = type(self)(**self.get_params())
        copy._check_parameters()
        codes, labels, weights = copy._read(X, y, sample_weight, None)
        if sample_weight is not None and len(labels) != len(np.atleast_1d(y)):
            raise DataError("rows of weight 0 cannot be left out: they are in no count")
        copy._learn(codes, labels, weights)
        return np.exp(copy._normalized(copy._held_out(codes, labels, weights)))

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return ln P(class, features) of every row, shape (rows, classes); missing cells are summed out."""
        check_is_fitted(self, "counts_")
        return self._joint(code_features(feature_columns(self, X, reset=False), self.feature_variables_, self.unseen))

    @property
    def network_(self) -> BayesianNetwork:
        """The fitted network: the class, called ``target_``, and all features."""
        check_is_fitted(self, "counts_")
        if self._network is None:
            names = {variable.name: variable for variable in (self._target, *self.feature_variables_)}
            cpts = [CPT(self._target, self._class_probabilities())]
            for child, parents, counts in self._families:
                above = [self._target, *(self.feature_variables_[parent] for parent in parents)]
                variable = names[self.feature_variables_[child].name]
                cpts.append(CPT(variable, smoothed(counts, self.pseudocount), parents=above))
            self._network = BayesianNetwork(cpts)
        return self._network

    # ------------------------------------------------------------------ for subclasses

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        """Return the parents of each feature among the features."""
        raise NotImplementedError

    def _family(self, child: int, parents: tuple[int, ...]) -> Family:
        return Family(child, parents, self.counts_.family(child, parents))

    def _class_probabilities(self) -> FloatArray:
        return smoothed(self.counts_.classes, self._class_pseudocount)

    @property
    def _class_pseudocount(self) -> float:
        return self.pseudocount if self.class_pseudocount is None else self.class_pseudocount

    def _check_parameters(self) -> None:
        given: dict[str, Any] = {"pseudocount": self.pseudocount, "class_pseudocount": self._class_pseudocount}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
                raise DataError(f"{name} must be a number of at least 0, not {value!r}")
        if self.unseen not in ("error", "missing"):
            raise DataError(f"unseen must be 'error' or 'missing', not {self.unseen!r}")

    # ------------------------------------------------------------------ fitting

    def _read(
        self, X: Any, y: Any, sample_weight: Any, classes: Any
    ) -> tuple[list[Any], NDArray[np.intp], FloatArray | None]:
        """Return the codes of features and classes and the weights of the rows; set what is known of the columns."""
        first = not hasattr(self, "counts_")
        labels = class_labels(self, y)
        columns = feature_columns(self, X, reset=first)
        check_consistent_length(labels, *([X] if hasattr(X, "shape") else []))
        weights = row_weights(sample_weight, len(labels))
        kept = None if weights is None or weights.all() else weights > 0
        if kept is not None and weights is not None:
            labels, weights = labels[kept], weights[kept]
        if not len(labels):
            raise DataError("there is no row, or all weights are zero: there is nothing to learn from")
        if first:
            self.classes_ = np.unique(labels if classes is None else class_labels(self, classes))
            self.feature_variables_, codes = code_training_features(columns, self.states, kept)
            self.target_ = _target_name(y, columns)
            self._target = Variable(self.target_, self.classes_.tolist())
        else:
            codes = code_features(columns, self.feature_variables_, "error", kept)
        return codes, class_codes(labels, self.classes_), weights

    def _learn(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        """Set the counts, then the structure and the tables that follow from them."""
        counts = count_classes(
            self.feature_variables_, len(self.classes_), codes, labels, weights, pairs=self._counts_pairs
        )
        self.counts_ = self.counts_ + counts if hasattr(self, "counts_") else counts
        self.class_count_ = self.counts_.classes
        self._network = None
        self._build(codes, labels, weights)

    def _build(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        structure = self._structure(codes, labels, weights)
        self._families = [self._family(child, parents) for child, parents in enumerate(structure)]
        self._above = sorted({parent for parents in structure for parent in parents})
        self._log_classes = logarithm(self._class_probabilities())
        self._tables = [look_up(logarithm(smoothed(family.counts, self.pseudocount)), 0.0) for family in self._families]

    # ------------------------------------------------------------------ predicting

    def _joint(self, codes: Codes) -> FloatArray:
        """Return ln P(c, x) of coded rows."""
        joint = np.tile(self._log_classes, (len(codes[0]), 1))
        for family, table in zip(self._families, self._tables, strict=True):
            joint += table[joint_codes(codes, (*family.parents, family.child), self.counts_.cardinalities)]
        rows = self._incomplete(codes)
        if len(rows):
            joint[rows] = self._summed_out([column[rows] for column in codes])
        return joint

    def _incomplete(self, codes: Codes) -> NDArray[np.intp]:
        """Return the rows in which a parent is missing; a missing feature without children is a factor of 1."""
        holes = np.zeros(len(codes[0]), bool)
        for feature in self._above:
            holes |= codes[feature] == self.counts_.cardinalities[feature]
        return np.flatnonzero(holes)

    def _summed_out(self, codes: Codes) -> FloatArray:
        """Return ln P(c, x) of coded rows with any missing cells, by the network."""
        columns = []
        for label in range(len(self.classes_)):
            rows = Dataset.from_codes((self._target, *self.feature_variables_), [np.full(len(codes[0]), label), *codes])
            columns.append(self.network_.log_likelihood(rows, progress=False))
        return np.stack(columns, axis=1)

    def _held_out(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
        """Return ln P(c, x) of each coded row, with the row itself taken out of the counts."""
        if len(self._incomplete(codes)):
            raise MissingDataError("leaving rows out needs complete features wherever another feature depends on them")
        own = own_weights(labels, len(self.classes_), weights)
        joint = self._held_out_class(own)
        for family in self._families:
            joint += held_out(family, codes, self.counts_.cardinalities, own, self.pseudocount)
        return joint

    def _held_out_class(self, own: FloatArray) -> FloatArray:
        return logarithm(smoothed(np.maximum(self.counts_.classes - own, 0.0), self._class_pseudocount))


def own_weights(labels: NDArray[np.intp], classes: int, weights: FloatArray | None) -> FloatArray:
    """Return what each row adds to counts in each class, shape (rows, classes)."""
    own = np.zeros((len(labels), classes))
    own[np.arange(len(labels)), labels] = 1.0 if weights is None else weights
    return own


def held_out(
    family: Family, codes: Codes, cardinalities: tuple[int, ...], own: FloatArray, pseudocount: float
) -> FloatArray:
    """Return ln P(child | c, parents) in each row, without what the row itself adds; 0 where the child is missing."""
    child, parents, counts = family
    states = counts.shape[-1]
    cells = look_up(counts, 0.0)[joint_codes(codes, (*parents, child), cardinalities)] - own
    totals = look_up(counts.sum(axis=-1), 0.0)[joint_codes(codes, parents, cardinalities)] - own
    above = np.maximum(cells, 0.0) + pseudocount
    below = np.maximum(totals, 0.0) + pseudocount * states
    logs = logarithm(np.divide(above, below, out=np.full_like(above, 1 / states), where=below > 0))
    logs[codes[child] == states] = 0.0
    return logs


def _target_name(y: Any, features: Any) -> str:
    """Return the name of the class in the network: that of ``y`` if it has one, else "class"."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "class"
    while name in features:
        name += "_"
    return name
