"""Naive Bayes for texts and other counts: which words occur (Bernoulli), or how often each does (multinomial)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgm.classifiers.common.count_matrix import CountMatrix, check_bits, check_numbers, feature_names, read_matrix
from pgm.classifiers.common.reading import unused_name
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import fraction, logarithm, smoothed, subtracted
from pgm.classifiers.event_base import EventModelClassifier, LinearLogs, Rows
from pgm.errors import DataError
from pgm.factors.cpt import CPT
from pgm.factors.variable import Variable

__all__ = ["BernoulliNBClassifier", "MultinomialNBClassifier"]


class BernoulliNBClassifier(EventModelClassifier):
    """Naive Bayes for features that are there or not: P(c, x) = P(c) times the product of P(xi | c), xi being 0 or 1.

    Of a text it sees which words occur in it, and which do not, but not how often.

    Parameters
    ----------
    pseudocount
        The l of P(xi = 1 | c) = (N(c, xi = 1) + l) / (N(c) + 2 l): 1 is Laplace's correction, 0 maximum likelihood.
    class_pseudocount
        The l of P(c) = (N(c) + l) / (N + l K) for K classes. Default: as ``pseudocount``. (scikit-learn's
        ``BernoulliNB`` does not smooth the class: there it is 0.)
    priors
        P(c) as given: by class label, or in the order of ``classes_``.
    threshold
        A feature is 1 where its number is above it. None: features are 0 and 1, or booleans, and nothing else.
    em
        Whether the class of some rows in `fit` may be missing, None or NaN; EM splits these among the classes. A dict
        has options: ``{"max_iter": 1000, "tol": 1e-10}``, meaning the same as in `pgm.fit_em`.
        The counts below are then expected ones.

    Attributes
    ----------
    classes_
        The class labels, sorted.
    class_count_, class_log_prior_
        N(c), and ln P(c).
    feature_count_, feature_log_prob_
        N(c, xi = 1), and ln P(xi = 1 | c), shape (classes, features).
    network_
        The fitted `BayesianNetwork`: the class, called ``target_``, and below it every feature, with states 0 and 1.
    em_result_
        How EM went, if the class of some rows was missing: the objective after every step, and whether it converged.

    Notes
    -----
    Fitting and predicting take O(nonzero cells * classes) for sparse matrices, which are never made dense.

    A row with ``pseudocount=0`` may be impossible in every class; it has no posterior, and `predict` says so.

    Where rows of unknown class are many and mislead, ``sample_weight`` can lower their weight.

    References
    ----------
    McCallum and Nigam (1998), "A comparison of event models for naive Bayes text classification". Manning, Raghavan
    and Schütze (2008), *Introduction to Information Retrieval*, section 13.3. Nigam, McCallum, Thrun and Mitchell
    (2000), *Machine Learning* 39, 103-134 (rows of unknown class).

    Examples
    --------
    >>> X = {"dull": [1, 1, 0, 0], "fun": [0, 0, 2, 1], "plot": [1, 0, 1, 0]}
    >>> model = BernoulliNBClassifier().fit(X, ["bad", "bad", "good", "good"])
    >>> model.predict({"dull": [0], "fun": [3], "plot": [1]}).item()
    'good'
    >>> round(model.network_.query("class", {"fun": 1, "plot": 1})["good"], 4)
    0.75
    """

    def __init__(
        self,
        *,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        priors: Any = None,
        threshold: float | None = 0.0,
        em: Any = False,
    ) -> None:
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.priors = priors
        self.threshold = threshold
        self.em = em

    def _check_parameters(self) -> None:
        super()._check_parameters()
        limit = self.threshold
        number = isinstance(limit, (int, float, np.number)) and not isinstance(limit, bool)
        if limit is not None and not (number and np.isfinite(limit)):
            raise DataError(f"threshold must be a finite number or None, not {limit!r}")

    def _matrix(self, X: Any, *, reset: bool) -> CountMatrix:
        cells = read_matrix(self, X, reset=reset)
        check_numbers(self, cells, negative=True)
        if self.threshold is not None:
            return CountMatrix.of_events(cells, self.threshold)
        check_bits(self, cells)
        return CountMatrix(cells)

    def _feature_logs(self) -> tuple[FloatArray, FloatArray]:
        self._log_absent = logarithm(self._probabilities(absent=True))
        return logarithm(self._probabilities(absent=False)), self._log_absent

    def _probabilities(self, *, absent: bool, without: float = 0.0) -> FloatArray:
        """Return P(xi = 0 | c) or P(xi = 1 | c), estimated without one row of the given weight that has that xi."""
        in_class, present = self.counts_.classes[:, None], self.counts_.events
        counts = subtracted(subtracted(in_class, present) if absent else present, without) + self.pseudocount
        total = subtracted(in_class, without) + 2 * self.pseudocount
        return fraction(counts, total, 0.5)

    def _log_prior_terms(self) -> FloatArray:
        return self.feature_log_prob_ + self._log_absent

    def _held_out(self, rows: Rows) -> FloatArray:
        logs = np.empty(len(rows.labels))
        weights = np.unique(rows.weights)
        for weight in weights:
            present, absent = (self._probabilities(absent=it, without=weight) for it in (False, True))
            here = np.flatnonzero(rows.weights == weight)
            matrix = rows.matrix if len(weights) == 1 else rows.matrix.take(here)
            found = LinearLogs.of(logarithm(present), logarithm(absent)).at(matrix)
            logs[here] = found[np.arange(len(here)), rows.labels[here]]
        return logs

    def _features_given(self, target: Variable) -> list[CPT]:
        tables = np.stack([self._probabilities(absent=True), self._probabilities(absent=False)], axis=-1)
        return [
            CPT(Variable(name, (0, 1)), tables[:, place], parents=[target])
            for place, name in enumerate(feature_names(self))
        ]


class MultinomialNBClassifier(EventModelClassifier):
    """Naive Bayes for counts: P(c, x) is proportional to P(c) times the product of P(w | c) to the power of x(w).

    A text is a bag of words, each drawn from P(w | c) by itself. What its length, and the order of its words, add to
    P(c, x) is the same for all classes, and left out.

    Parameters
    ----------
    pseudocount
        The l of P(w | c) = (count of w in c + l) / (count of all words in c + l V) for V words: 1 is Laplace's
        correction, 0 maximum likelihood.
    class_pseudocount
        The l of P(c) = (N(c) + l) / (N + l K) for K classes. Default: as ``pseudocount``. (scikit-learn's
        ``MultinomialNB`` does not smooth the class: there it is 0.)
    priors
        P(c) as given: by class label, or in the order of ``classes_``.
    em
        Whether the class of some rows in `fit` may be missing, None or NaN; EM splits these among the classes. A dict
        has options: ``{"max_iter": 1000, "tol": 1e-10}``, meaning the same as in `pgm.fit_em`.
        The counts below are then expected ones.

    Attributes
    ----------
    classes_
        The class labels, sorted.
    class_count_, class_log_prior_
        N(c), and ln P(c).
    feature_count_, feature_log_prob_
        Count of w in c, and ln P(w | c), shape (classes, words).
    network_
        The fitted `BayesianNetwork`: the class, called ``target_``, and below it one word, whose states are the names
        of the features. It describes a single draw; a text is several, independent of each other given the class.
    em_result_
        How EM went, if the class of some rows was missing: the objective after every step, and whether it converged.

    Notes
    -----
    Counts may have fractions, such as tf-idf. Fitting and predicting take O(nonzero cells * classes) for sparse
    matrices, which are never made dense.

    A row with ``pseudocount=0`` may be impossible in every class; it has no posterior, and `predict` says so.

    Where rows of unknown class are many and mislead, ``sample_weight`` can lower their weight.

    References
    ----------
    McCallum and Nigam (1998), "A comparison of event models for naive Bayes text classification". Manning, Raghavan
    and Schütze (2008), *Introduction to Information Retrieval*, section 13.2. Nigam, McCallum, Thrun and Mitchell
    (2000), *Machine Learning* 39, 103-134 (rows of unknown class).

    Examples
    --------
    >>> X = {"dull": [1, 1, 0, 0], "fun": [0, 0, 2, 1], "plot": [1, 0, 1, 0]}
    >>> model = MultinomialNBClassifier().fit(X, ["bad", "bad", "good", "good"])
    >>> model.predict_proba({"dull": [0], "fun": [3], "plot": [1]}).round(4).tolist()
    [[0.0281, 0.9719]]
    >>> round(model.network_.query("word", {"class": "good"})["fun"], 4)
    0.5714
    """

    def __init__(
        self,
        *,
        pseudocount: float = 1.0,
        class_pseudocount: float | None = None,
        priors: Any = None,
        em: Any = False,
    ) -> None:
        self.pseudocount = pseudocount
        self.class_pseudocount = class_pseudocount
        self.priors = priors
        self.em = em

    def _matrix(self, X: Any, *, reset: bool) -> CountMatrix:
        cells = read_matrix(self, X, reset=reset)
        check_numbers(self, cells, negative=False)
        return CountMatrix(cells)

    def _feature_logs(self) -> tuple[FloatArray, FloatArray]:
        logs = logarithm(smoothed(self.counts_.events, self.pseudocount))
        return logs, np.zeros_like(logs)

    def _held_out(self, rows: Rows) -> FloatArray:
        words, totals = self.counts_.events, self.counts_.events.sum(axis=1)
        logs = np.empty(len(rows.labels))
        for part, block in rows.matrix.sparse_blocks():
            labels, weights = rows.labels[part], rows.weights[part]
            row = np.repeat(np.arange(len(labels)), np.diff(block.indptr))
            count = block.data.astype(np.float64)
            length = np.bincount(row, count, minlength=len(labels))
            above = subtracted(words[labels[row], block.indices], weights[row] * count) + self.pseudocount
            below = subtracted(totals[labels], weights * length) + self.pseudocount * words.shape[1]
            word_logs = logarithm(fraction(above, below[row], 1 / words.shape[1]))
            terms = np.multiply(count, word_logs, out=np.zeros_like(count), where=count > 0)
            logs[part] = np.bincount(row, terms, minlength=len(labels))
        return logs

    def _features_given(self, target: Variable) -> list[CPT]:
        word = Variable(unused_name("word", [target.name]), feature_names(self))
        return [CPT(word, smoothed(self.counts_.events, self.pseudocount), parents=[target])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
