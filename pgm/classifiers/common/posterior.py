"""What every Bayes classifier can do that knows ln P(class, features): posteriors, decisions and their risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import log_sum_exp
from pgm.classifiers.decision import bayes_decision, conditional_risk
from pgm.errors import ImpossibleEvidenceError

__all__ = ["BayesClassifier"]


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
        joint = self.predict_joint_log_proba(X)  # in the order of P(class | features)
        best = joint.argmax(axis=1)
        if np.isneginf(joint[np.arange(len(best)), best]).any():
            self._normalized(joint)  # raises, and names the row
        return np.asarray(self.classes_[best])

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
        relative = joint - joint.max(axis=1, keepdims=True)  # first: huge logarithms have no digits left for the rest
        return np.asarray(relative - log_sum_exp(relative, axis=1)[:, None])

    # ------------------------------------------------------------------ for subclasses

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _read(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Any:
        """Return rows as `_learn` takes them; set what is known of the columns if these are the first."""
        raise NotImplementedError

    def _learn(self, rows: Any) -> None:
        """Add rows to what is known."""
        raise NotImplementedError
