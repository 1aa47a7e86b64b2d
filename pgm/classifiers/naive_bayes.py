"""Naive Bayes: given the class, features tell nothing about each other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.base import CategoricalClassifier
from pgm.classifiers.class_counts import FloatArray
from pgm.classifiers.reading import Codes, States
from pgm.classifiers.tags import categorical_tags
from pgm.errors import DataError, listing

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(CategoricalClassifier):
    """The naive Bayes classifier for categorical features: P(c, x) = P(c) times the product of P(xi | c).

    Parameters
    ----------
    pseudocount
        The l of P(xi | c) = (N(c, xi) + l) / (N(c) + l Ni), where Ni is the number of states of xi: 1 is Laplace's
        correction, 0 maximum likelihood.
    class_pseudocount
        The l of P(c) = (N(c) + l) / (N + l K) for K classes. Default: as ``pseudocount``. (scikit-learn's naive Bayes
        does not smooth the class: there it is 0.)
    priors
        P(c) as given: by class label, or in the order of ``classes_``.
    states
        The states of some features, by name: ``{"income": ["low", "high"]}``; arrays have features x0, x1 and so on.
        Default: what occurs in the training rows.
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

    Notes
    -----
    Fitting is one pass over the rows. A missing cell at prediction leaves its factor out, which is exact; in fitting it
    is left out of the counts of its feature, so then N(c) above counts the rows of c in which xi is known.

    References
    ----------
    Zhou (2016), *Machine Learning* (in Chinese), section 7.3. Koller and Friedman (2009), section 3.1.3.

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

    def __init__(
        self,
        *,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        priors: Any = None,
        states: States | None = None,
        unseen: str = "error",
    ) -> None:
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.priors = priors
        self.states = states
        self.unseen = unseen

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Return the classifier itself, having learned from more rows; batches add up to exactly one fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Without ``states`` (or categories of a frame), a feature has the states of the first batch.
        classes
            All classes; needed in the first call.
        """
        learn_more(self, X, y, classes, sample_weight)
        return self

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


def learn_more(model: CategoricalClassifier, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Add one more batch to what ``model`` has learned."""
    model._check_parameters()
    if hasattr(model, "counts_"):
        if classes is not None and not np.array_equal(np.unique(classes), model.classes_):
            raise DataError(f"classes were {listing(model.classes_.tolist())} before, and cannot change to {classes!r}")
    elif classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    model._learn(*model._read(X, y, sample_weight, classes))


def given_priors(priors: Any, classes: NDArray[Any]) -> FloatArray:
    """Return priors given by label or in order, checked."""
    labels = classes.tolist()
    if isinstance(priors, dict):
        if set(priors) != set(labels):
            raise DataError(f"priors are given for {listing(priors)}; the classes are {listing(labels)}")
        priors = [priors[label] for label in labels]
    values = np.asarray(priors, np.float64)
    if values.shape != (len(labels),) or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
        raise DataError(f"priors must be {len(labels)} numbers of at least 0 with sum 1, not {priors!r}")
    return np.asarray(values / values.sum())
