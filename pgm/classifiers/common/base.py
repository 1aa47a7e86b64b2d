"""What all Bayes classifiers for tables share: scikit-learn's manners around counts and a network.

A subclass says which features depend on which (`_structure`). Here its tables are estimated, and
ln P(c, x) = ln P(c) + sum over i of ln P(xi | c, parents of xi) is added up by look-ups for all rows at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pgm.classifiers.common.continuous import (
    Categorical,
    check_discretizer,
    continuous_features,
    cut,
    fit_discretizer,
    numbers_of,
)
from pgm.classifiers.common.options import check_em, check_pseudocounts
from pgm.classifiers.common.posterior import BayesClassifier
from pgm.classifiers.common.reading import (
    Codes,
    TrainingRows,
    check_lengths,
    class_codes,
    class_labels,
    code_features,
    code_training_features,
    feature_columns,
    has_holes,
    row_weights,
    target_name,
)
from pgm.classifiers.counting.class_counts import ClassCounts, FloatArray, count_classes
from pgm.classifiers.counting.estimates import Family, joint_codes, logarithm, look_up, smoothed, subtracted
from pgm.classifiers.counting.leaving_out import INCOMPLETE, held_out, own_weights
from pgm.data import Dataset
from pgm.data.columns import continuous_column
from pgm.errors import DataError, MissingDataError, listing
from pgm.factors.cpt import CPT
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Variable
from pgm.learning.em import EMResult, fit_em
from pgm.network import BayesianNetwork

__all__ = ["CategoricalClassifier"]

_EM_OPTIONS = tuple(signature(fit_em).parameters)[2:]

_ROWS = 4096
"""Rows worked on at a time, few enough to stay in the cache."""


class CategoricalClassifier(BayesClassifier):
    """A Bayes classifier for categorical features, and for continuous ones that are cut into intervals."""

    pseudocount: float
    class_pseudocount: float | None
    states: Any
    categorical: Categorical = None
    discretizer: Any = None
    em: Any = False
    unseen: str

    _counts_pairs = True
    """Whether the structure needs counts of pairs of features."""

    target_: str
    feature_variables_: tuple[Variable, ...]
    """The features that have states, be they intervals."""
    continuous_features_: tuple[str, ...]
    discretizers_: dict[str, Any]
    """The fitted discretizer of each continuous feature, if they are cut into intervals."""
    counts_: ClassCounts
    _network: BayesianNetwork | None
    _families: list[Family]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the classifier itself, fitted.

        Parameters
        ----------
        X
            The features: a frame of pandas, polars or pyarrow, a dict of columns, a `Dataset`, or a 2-D array, whose
            columns are called x0, x1 and so on. Missing cells are left out of the counts they would belong to.
        y
            The class of each row; with ``em`` it may be missing (None or NaN).
        sample_weight
            Weight of each row. Rows of weight 0 are as good as absent.
        """
        self._check_parameters()
        for learned in ("counts_", "em_result_", "em_results_", "relevance_", "moments_", "discretizers_"):
            self.__dict__.pop(learned, None)
        self._learn(self._read(X, y, sample_weight, None))
        return self

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Return P(class | features) of every row, by a classifier fitted to all the other rows.

        Nothing is fitted again: the row is subtracted from the counts. The states, and the intervals of a discretizer,
        stay those of all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, which need not have been called; all weights must be positive.

        Returns
        -------
        ndarray
            Shape (rows, classes), classes in sorted order.
        """
        copy = clone(self)
        copy._check_parameters()
        rows = copy._read(X, y, sample_weight, None)
        if sample_weight is not None and len(rows.labels) != len(np.atleast_1d(y)):
            raise DataError("rows of weight 0 cannot be left out: they are in no count")
        copy._learn(rows)
        if hasattr(copy, "em_result_"):
            raise MissingDataError("leaving rows out of what EM has learned would take a run of EM for each row")
        logs: FloatArray = copy._normalized(copy._left_out(rows))
        return np.exp(logs)

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return ln P(class, features) of every row, shape (rows, classes); missing cells are summed out."""
        check_is_fitted(self, "counts_")
        columns = self._with_states(feature_columns(self, X, reset=False))
        return self._joint(code_features(columns, self.feature_variables_, self.unseen))

    @property
    def network_(self) -> BayesianNetwork:
        """The fitted network: the class, called ``target_``, and all features."""
        check_is_fitted(self, "counts_")
        if self._network is None:
            self._network = BayesianNetwork(self._distributions())
        return self._network

    def _distributions(self) -> list[CPT | ConditionalGaussian]:
        cpts: list[CPT | ConditionalGaussian] = [CPT(self._target, self._class_probabilities())]
        for child, parents, counts in self._families:
            above = [self._target, *(self.feature_variables_[parent] for parent in parents)]
            cpts.append(CPT(self.feature_variables_[child], self._conditional(child, counts), parents=above))
        return cpts

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
        check_pseudocounts(pseudocount=self.pseudocount, class_pseudocount=self._class_pseudocount)
        check_em(self.em, _EM_OPTIONS)
        if self.discretizer is not None:
            check_discretizer(self.discretizer)
        if self.states is not None and not isinstance(self.states, Mapping):
            raise DataError(f"states are declared as {{name: [labels in order]}}, not by {type(self.states).__name__}")
        if self.unseen not in ("error", "missing"):
            raise DataError(f"unseen must be 'error' or 'missing', not {self.unseen!r}")

    # ------------------------------------------------------------------ fitting

    def _read(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> TrainingRows:
        """Return coded rows; set what is known of the columns if these are the first rows."""
        first = not hasattr(self, "counts_")
        labels, known = class_labels(self, y, incomplete=bool(self.em))
        columns = feature_columns(self, X, reset=first)
        n_rows = len(labels) if known is None else len(known)
        check_lengths(columns, n_rows)
        weights = row_weights(sample_weight, n_rows)
        kept = None if weights is None or weights.all() else weights > 0
        if kept is not None:
            labels = labels[kept if known is None else kept[known]]
        if not len(labels):
            raise DataError("there is no row, or all weights are zero: there is nothing to learn from")
        if first:
            self.classes_ = np.unique(labels if classes is None else class_labels(self, classes)[0])
            self.target_ = target_name(y, columns)
            self._target = Variable(self.target_, self.classes_.tolist())
        in_class = class_codes(labels, self.classes_)
        if kept is not None and weights is not None:
            weights, known = weights[kept], None if known is None else known[kept]
        if known is not None:
            in_class, codes_of_known = np.full(len(known), len(self.classes_)), in_class
            in_class[known] = codes_of_known
        if first:
            self._read_continuous(columns, kept, in_class, weights)
            self.feature_variables_, codes = code_training_features(self._with_states(columns), self.states, kept)
        else:
            codes = code_features(self._with_states(columns), self.feature_variables_, "error", kept)
        return TrainingRows(codes, in_class, weights, self._numbers(columns, kept))

    def _numbers(self, columns: dict[str, Any], kept: NDArray[np.bool_] | None = None) -> FloatArray | None:
        """Return the continuous features that are not cut into intervals, shape (rows, features), if there are any."""
        if hasattr(self, "discretizers_") or not self.continuous_features_:
            return None
        return numbers_of(columns, self.continuous_features_, kept)

    def _read_continuous(
        self, columns: dict[str, Any], kept: NDArray[np.bool_] | None, labels: NDArray[np.intp], weights: Any
    ) -> None:
        """Set which columns are continuous, and fit their discretizers."""
        found = continuous_features(columns, self.categorical, self.states or ())
        self.continuous_features_ = found if self.discretizer is not None else self._without_intervals(columns, found)
        if self.discretizer is not None:
            self.discretizers_ = {}
            for name in found:
                numbers = continuous_column(name, columns[name])
                numbers = numbers if kept is None else numbers[kept]
                known = labels < len(self.classes_)
                own = None if weights is None else weights[known]
                self.discretizers_[name] = fit_discretizer(name, numbers[known], self.discretizer, labels[known], own)

    def _without_intervals(self, columns: dict[str, Any], found: tuple[str, ...]) -> tuple[str, ...]:
        """Return which columns are continuous where none are cut into intervals: none, for all must have states."""
        if self.categorical is not None and found:  # by type alone, whole numbers are states even if stored as floats
            raise DataError(
                f"{listing(found)}: not among the categorical features, so they must be cut into intervals by "
                "discretizer=, such as pgm.MDLPDiscretizer()"
            )
        return ()

    def _with_states(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the columns that have states, continuous ones cut into intervals."""
        continuous = set(self.continuous_features_)
        if not hasattr(self, "discretizers_"):
            return {name: column for name, column in columns.items() if name not in continuous}
        return {
            name: cut(name, continuous_column(name, column), self.discretizers_[name]) if name in continuous else column
            for name, column in columns.items()
        }

    def _learn(self, rows: TrainingRows) -> None:
        """Set the counts, then the structure and the tables that follow from them."""
        known = rows.labels < len(self.classes_)
        self._count(rows if known.all() else rows.part(known))
        if self.em and (not known.all() or has_holes(rows, self.feature_variables_)):
            self._complete(rows)

    def _count(self, rows: TrainingRows) -> None:
        """Add rows whose class is known to the counts, and set structure and tables."""
        codes, labels, weights, _ = rows
        counts = count_classes(
            self.feature_variables_, len(self.classes_), codes, labels, weights, pairs=self._counts_pairs
        )
        self.counts_ = self.counts_ + counts if hasattr(self, "counts_") else counts
        self.class_count_ = self.counts_.classes
        self._network = None
        self._build(codes, labels, weights)

    def _complete(self, rows: TrainingRows) -> None:
        """Learn the tables again by EM from all rows, also those with missing cells or of unknown class."""
        target, names = self.target_, [variable.name for variable in self.feature_variables_]
        pseudocounts = {target: self._class_pseudocount} | dict.fromkeys(names, self.pseudocount)
        self.em_result_ = self._fit_em(self.network_, rows, pseudocounts)
        self._network = self.em_result_.network
        cpts = [self._network.cpt(name).values for name in (target, *names)]
        self._log_classes = logarithm(cpts[0])
        self._tables = [look_up(logarithm(values), 0.0) for values in cpts[1:]]

    def _fit_em(self, network: BayesianNetwork, rows: TrainingRows, pseudocounts: dict[str, float]) -> EMResult:
        """Return the network with tables by EM, whose M step is the estimate of complete rows."""
        given = dict(self.em) if isinstance(self.em, Mapping) else {}
        options = self._em_options(pseudocounts) | given
        return fit_em(network, self._as_data(rows), **options)

    def _em_options(self, pseudocounts: dict[str, float]) -> dict[str, Any]:
        return {"progress": False, "tol": 1e-6, "pseudocount": pseudocounts}

    def _as_data(self, rows: TrainingRows) -> Dataset:
        """Return coded rows as a data set with the columns of the network."""
        return Dataset.from_codes((self._target, *self.feature_variables_), [rows.labels, *rows.codes], rows.weights)

    def _build(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        structure = self._structure(codes, labels, weights)
        self._families = [self._family(child, parents) for child, parents in enumerate(structure)]
        self._above = sorted({parent for parents in structure for parent in parents})
        self._log_classes = logarithm(self._class_probabilities())
        tables = [self._conditional(family.child, family.counts) for family in self._families]
        self._tables = [look_up(logarithm(table), 0.0) for table in tables]

    def _conditional(self, child: int, counts: FloatArray) -> FloatArray:
        """Return P(child | class, parents) as estimated from the counts of the family."""
        return smoothed(counts, self.pseudocount)

    # ------------------------------------------------------------------ predicting

    def _joint(self, codes: Codes) -> FloatArray:
        """Return ln P(c, x) of coded rows."""
        sizes, joint = self.counts_.cardinalities, np.tile(self._log_classes, (len(codes[0]), 1))
        for start in range(0, len(joint), _ROWS):
            some = slice(start, start + _ROWS)
            block, cells = joint[some], [column[some] for column in codes]
            for family, table in zip(self._families, self._tables, strict=True):
                block += table.take(joint_codes(cells, (*family.parents, family.child), sizes), axis=0)
        rows = self._incomplete(codes)
        if len(rows):
            joint[rows] = self._summed_out([column[rows] for column in codes])
        return joint

    def _incomplete(self, codes: Codes) -> NDArray[np.intp]:
        """Return the rows in which a parent is missing; a missing feature without children is a factor of 1."""
        if not self._above:
            return np.empty(0, np.intp)
        holes = np.zeros(len(codes[0]), bool)
        for feature in self._above:
            holes |= codes[feature] == self.counts_.cardinalities[feature]
        return np.flatnonzero(holes)

    def _summed_out(self, codes: Codes) -> FloatArray:
        """Return ln P(c, x) of coded rows with any missing cells, by the network."""
        columns = []
        for label in range(len(self.classes_)):
            rows = TrainingRows(codes, np.full(len(codes[0]), label), None, None)
            columns.append(self.network_.log_likelihood(self._as_data(rows), progress=False))
        return np.stack(columns, axis=1)

    def _left_out(self, rows: TrainingRows) -> FloatArray:
        """Return ln P(c, x) of each row, with the row itself taken out."""
        return self._held_out(rows.codes, rows.labels, rows.weights)

    def _held_out(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
        """Return ln P(c, x) of each coded row, with the row itself taken out of the counts."""
        if len(self._incomplete(codes)):
            raise MissingDataError(INCOMPLETE)
        own = own_weights(labels, len(self.classes_), weights)
        joint = self._held_out_class(own)
        for family in self._families:
            joint += self._held_out_conditional(family, codes, own)
        return joint

    def _held_out_conditional(self, family: Family, codes: Codes, own: FloatArray) -> FloatArray:
        return held_out(family, codes, self.counts_.cardinalities, own, self.pseudocount)

    def _held_out_class(self, own: FloatArray) -> FloatArray:
        return logarithm(smoothed(subtracted(self.counts_.classes, own), self._class_pseudocount))
