"""Naive Bayes: given the class, features tell nothing about each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from pgm.classifiers.common.base import CategoricalClassifier
from pgm.classifiers.common.batches import LearnsInBatches
from pgm.classifiers.common.continuous import Categorical
from pgm.classifiers.common.options import given_priors, is_number
from pgm.classifiers.common.reading import Codes, States, TrainingRows, code_features, feature_columns
from pgm.classifiers.common.tags import categorical_tags
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.class_moments import ClassMoments, class_moments, held_out_log_densities, log_densities
from pgm.classifiers.counting.estimates import Family
from pgm.classifiers.counting.relevance import (
    averaged_table,
    check_relevance_prior,
    held_out_averaged,
    relevance_log_odds,
)
from pgm.data import Dataset
from pgm.errors import DataError
from pgm.factors.cpt import CPT
from pgm.factors.gaussian import ConditionalGaussian

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(LearnsInBatches, CategoricalClassifier):
    """The naive Bayes classifier: P(c, x) = P(c) times the product of P(xi | c), features being categories or numbers.

    Numbers have a Gaussian density in each class, and both kinds may stand side by side.

    Parameters
    ----------
    pseudocount
        The l of P(xi | c) = (N(c, xi) + l) / (N(c) + l Ni), where Ni is the number of states of xi: 1 is Laplace's
        correction, 0 maximum likelihood.
    class_pseudocount
        The l of P(c) = (N(c) + l) / (N + l K) for K classes. Default: as ``pseudocount``. (scikit-learn's naive Bayes
        does not smooth the class: there it is 0.)
    relevance_prior
        The probability, before any row is seen, that a feature depends on the class: the tables then are averaged over
        whether it does (model averaging, MANB). Default: all features depend on the class. Continuous ones always do,
        unless they are cut into intervals.
    priors
        P(c) as given: by class label, or in the order of ``classes_``.
    states
        The states of some features, by name: ``{"income": ["low", "high"]}``; arrays have features x0, x1 and so on.
        Default: what occurs in the training rows.
    categorical
        Names of the features that are categories, all others being numbers; or "all". Default: by type, where floats
        are numbers, and text, booleans, whole numbers and categoricals are categories.
    variance_floor
        What is added to every variance, as a share of the largest variance of a feature over all rows, so that a
        feature that is constant in a class does not decide alone. (scikit-learn's ``var_smoothing``.)
    discretizer
        Cuts continuous features into intervals, which then are categories: `MDLPDiscretizer`, or scikit-learn's
        ``KBinsDiscretizer(encode="ordinal")``. Default: they are Gaussian.
    em
        Whether to learn by EM from rows with missing cells and from rows whose class is not known (semi-supervised);
        a dict has options for `pgm.fit_em`. Default: the former are left out of the counts, the latter an error.
    unseen
        What to do with a value at prediction that its feature does not have: "error", or "missing", which takes the
        cell for missing.

    Attributes
    ----------
    classes_
        The class labels, sorted.
    network_
        The fitted `BayesianNetwork`.
    class_count_
        Number of training rows (their weight) of each class.
    continuous_features_
        Names of the features that are numbers.
    relevance_
        P(feature depends on the class | rows) of each feature that has states, by name, with ``relevance_prior``.
    em_result_
        What `pgm.fit_em` returned, if there was something to complete.
    moments_
        Their weight, mean and sum of squared deviations in each class, if they are Gaussian.

    Notes
    -----
    Fitting is one pass over the rows. A missing cell at prediction leaves its factor out, which is exact; in fitting it
    is left out of the counts of its feature, so then N(c) above counts the rows of c in which xi is known. A class in
    which a Gaussian feature is never known has its mean and variance over all rows.

    References
    ----------
    Zhou (2016), *Machine Learning* (in Chinese), section 7.3. Koller and Friedman (2009), section 3.1.3. Dash and
    Cooper (2002), "Exact model averaging with naive Bayesian classifiers".

    Examples
    --------
    >>> X = {"age": ["old", "mid", "mid", "mid", "old"], "gamer": ["yes", "no", "yes", "no", "yes"]}
    >>> model = NaiveBayesClassifier().fit(X, ["buys", "not", "not", "buys", "buys"])
    >>> model.predict({"age": ["old", None], "gamer": ["yes", "no"]})
    array(['buys', 'buys'], dtype='<U4')
    >>> round(model.network_.query("class", {"age": "old"})["buys"], 4)
    0.7619
    """

    _counts_pairs = False

    moments_: ClassMoments
    _gaussians: tuple[FloatArray, FloatArray]
    """Mean and variance of each continuous feature in each class, shape (classes, features)."""

    def __init__(
        self,
        *,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        relevance_prior: float | None = None,
        priors: Any = None,
        states: States | None = None,
        categorical: Categorical = None,
        variance_floor: float = 1e-9,
        discretizer: Any = None,
        em: bool | Mapping[str, Any] = False,
        unseen: str = "error",
    ) -> None:
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.relevance_prior = relevance_prior
        self.priors = priors
        self.states = states
        self.categorical = categorical
        self.variance_floor = variance_floor
        self.discretizer = discretizer
        self.em = em
        self.unseen = unseen

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return ln p(class, features) of every row, shape (rows, classes); missing cells are summed out."""
        check_is_fitted(self, "counts_")
        columns = feature_columns(self, X, reset=False)
        codes = code_features(self._with_states(columns), self.feature_variables_, self.unseen)
        numbers = self._numbers(columns)
        if numbers is None:
            return self._joint(codes)
        joint = log_densities(numbers, *self._gaussians)
        return joint + (self._joint(codes) if codes else self._log_classes)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.relevance_prior is not None:
            check_relevance_prior(self.relevance_prior, self.pseudocount, em=bool(self.em))
        floor = self.variance_floor
        if not is_number(floor) or not 0 < floor < np.inf:
            raise DataError(f"variance_floor must be a number above 0, not {floor!r}")

    def _without_intervals(self, columns: dict[str, Any], found: tuple[str, ...]) -> tuple[str, ...]:
        return found

    def _count(self, rows: TrainingRows) -> None:
        again = hasattr(self, "counts_")
        super()._count(rows)
        if rows.numbers is not None:
            moments = class_moments(rows.numbers, rows.labels, len(self.classes_), rows.weights)
            self.moments_ = self.moments_ + moments if again else moments
            whole = self.moments_.of_all_rows()
            completed, floor = self.moments_.completed(whole), whole.floor(self.variance_floor)
            self._warn_of_small_units(whole.variances()[0], floor.item())
            self._gaussians = completed.means, completed.variances(floor)

    def _warn_of_small_units(self, variances: FloatArray, floor: float) -> None:
        for name, variance in zip(self.continuous_features_, variances.tolist(), strict=True):
            if 0 < variance < floor:
                warnings.warn(
                    f"{name!r} varies less (variance {variance:.3g}) than what is added to it, {floor:.3g}, so it "
                    "hardly counts: choose another unit for it, or a smaller variance_floor",
                    stacklevel=5,
                )

    def _build(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        if self.relevance_prior is not None:
            tables = [self.counts_.family(child) for child in range(len(self.feature_variables_))]
            self._log_odds = [relevance_log_odds(counts, self.pseudocount, self.relevance_prior) for counts in tables]
            names = [variable.name for variable in self.feature_variables_]
            self.relevance_ = dict(zip(names, expit(self._log_odds).tolist(), strict=True))
        super()._build(codes, labels, weights)

    def _conditional(self, child: int, counts: FloatArray) -> FloatArray:
        if self.relevance_prior is None:
            return super()._conditional(child, counts)
        return averaged_table(counts, self.pseudocount, self._log_odds[child])

    def _held_out_conditional(self, family: Family, codes: Codes, own: FloatArray) -> FloatArray:
        if self.relevance_prior is None:
            return super()._held_out_conditional(family, codes, own)
        return held_out_averaged(family, codes[family.child], own, self.pseudocount, self._log_odds[family.child])

    def _complete(self, rows: TrainingRows) -> None:
        super()._complete(rows)
        if rows.numbers is not None:
            leaves = [self.network_.gaussians[name] for name in self.continuous_features_]
            means, variances = [leaf.means for leaf in leaves], [leaf.variances for leaf in leaves]
            self._gaussians = np.stack(means, axis=1), np.stack(variances, axis=1)

    def _em_options(self, pseudocounts: dict[str, float]) -> dict[str, Any]:
        options = super()._em_options(pseudocounts)
        if self.priors is not None:
            options["fixed"] = [self.target_]
            options["pseudocount"] = {name: count for name, count in pseudocounts.items() if name != self.target_}
        if hasattr(self, "moments_"):
            options["min_variance"] = self.moments_.of_all_rows().floor(self.variance_floor).item()
        return options

    def _as_data(self, rows: TrainingRows) -> Dataset:
        if rows.numbers is None:
            return super()._as_data(rows)
        numbers = dict(zip(self.continuous_features_, rows.numbers.T, strict=True))
        variables = (self._target, *self.feature_variables_)
        return Dataset.from_codes(variables, [rows.labels, *rows.codes], rows.weights, numbers)

    def _distributions(self) -> list[CPT | ConditionalGaussian]:
        cpds = super()._distributions()
        if hasattr(self, "moments_"):
            means, variances = self._gaussians
            for place, name in enumerate(self.continuous_features_):
                cpds.append(ConditionalGaussian(name, means[:, place], variances[:, place], parents=[self._target]))
        return cpds

    def _left_out(self, rows: TrainingRows) -> FloatArray:
        if rows.numbers is None:
            return super()._left_out(rows)
        joint = held_out_log_densities(self.moments_, rows.numbers, rows.labels, rows.weights, self.variance_floor)
        return joint + super()._left_out(rows)

    def _structure(self, codes: Codes, labels: NDArray[np.intp], weights: FloatArray | None) -> list[tuple[int, ...]]:
        return [()] * len(self.feature_variables_)

    def _class_probabilities(self) -> FloatArray:
        if self.priors is None:
            return super()._class_probabilities()
        return given_priors(self.priors, self.classes_)

    def _held_out_class(self, own: FloatArray) -> FloatArray:
        if self.priors is None:
            return super()._held_out_class(own)
        return np.tile(self._log_classes, (len(own), 1))

    def __sklearn_tags__(self) -> Any:
        return categorical_tags(super().__sklearn_tags__())
