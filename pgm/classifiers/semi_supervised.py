"""Learning from rows of which only some have a known class.

The class of the others is a missing cell, so this is EM: with the tables found so far the E step splits each such row
among the classes by P(class | row), and the M step counts all rows again. It starts from the rows whose class is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import log_sum_exp
from pgm.learning.em.iteration import Criteria

__all__ = ["Ascent", "climb"]


class Ascent(NamedTuple):
    """How EM went."""

    objectives: list[float]
    """Log-likelihood plus log prior, after every M step."""
    converged: bool
    """Whether it ended because the objective hardly rose."""

    def __repr__(self) -> str:
        start, end = self.objectives[0], self.objectives[-1]
        how = "converged" if self.converged else "not converged"
        return f"EM: objective {end:.4f}, {end - start:.4f} above the start, {len(self.objectives)} steps, {how}"


def climb(
    maximize: Callable[[FloatArray], FloatArray],
    log_prior: Callable[[], float],
    known: FloatArray,
    unknown: NDArray[np.intp],
    weights: FloatArray,
    criteria: Criteria,
) -> Ascent:
    """Return how EM went; the tables are left where ``maximize`` has put them last.

    Parameters
    ----------
    maximize
        The M step: makes tables from what each row adds to each class, shape (rows, classes), and returns ln P(c, x) of
        all rows under them.
    log_prior
        Logarithm of the prior density of these tables, up to a constant.
    known
        What the rows of known class add to it, shape (rows, classes).
    unknown
        Rows whose class is not known. They must be possible in some class, which ``maximize`` checks.
    weights
        Weight of these rows.
    criteria
        When to stop.

    Notes
    -----
    No step lowers the objective: the weighted sum of ln P(c, x) over the rows of known class and of ln P(x) over the
    others, plus the log prior. The first M step sees the rows of known class only.

    References
    ----------
    Nigam, McCallum, Thrun and Mitchell (2000), *Machine Learning* 39, 103-134.
    """
    owners = np.nonzero(known)
    members = known.copy()
    objectives: list[float] = []
    while True:
        joint = maximize(members)
        evidence = log_sum_exp(joint[unknown], axis=1)
        objectives.append(float(known[owners] @ joint[owners] + weights @ evidence + log_prior()))
        if len(objectives) > 1 and criteria.met(objectives[-1] - objectives[-2], np.inf, np.inf):
            return Ascent(objectives, True)
        if len(objectives) >= criteria.max_iter:
            return Ascent(objectives, False)
        members[unknown] = np.exp(joint[unknown] - evidence[:, None]) * weights[:, None]
