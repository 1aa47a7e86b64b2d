"""Learning in batches: counts add up, so batch after batch makes exactly the classifier of one fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pgm.classifiers.common.posterior import BayesClassifier
from pgm.errors import DataError, listing

__all__ = ["LearnsInBatches"]


class LearnsInBatches(BayesClassifier):
    """A classifier all of whose knowledge is counts (and moments) of the rows seen so far."""

    em: Any

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Return the classifier itself, having learned from more rows; batches add up to exactly one fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Without ``states`` (or categories of a frame), a feature has the states of the first batch.
        classes
            All classes; needed in the first call.

        Raises
        ------
        DataError
            With ``em``, which needs all rows at once; or if other classes are given than before.
        """
        self._check_parameters()
        if self.em:
            raise DataError("EM needs all rows at once: partial_fit with em=False, or fit")
        if hasattr(self, "counts_"):
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                known = listing(self.classes_.tolist())
                raise DataError(f"classes were {known} before, and cannot change to {classes!r}")
        elif classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        self._learn(self._read(X, y, sample_weight, classes))
        return self
