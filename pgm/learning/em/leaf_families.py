"""The parents of continuous leaves in structural EM: what completed rows say about them.

A leaf has no children. So whatever its parents are, they close no cycle, and those of each leaf are sought by
themselves: one is added or left out at a time, as long as the score of the family rises.

The score is that of `pgm.score`: the log-likelihood of the means and variances of maximum likelihood, less the penalty
for two parameters in each parent configuration. All that it depends on are weight, sum and sum of squares of the
numbers in each configuration, and these are expected ones: a row that does not know the parents is there with all its
completions, each weighted by its posterior probability. Rows that do not know the number itself are not there, for to
them the leaf, without children, makes no difference.

References
----------
Friedman (1998), *Proc. 14th Conf. on Uncertainty in Artificial Intelligence*, 129-138.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pgm.data import Dataset
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.learning.parameters.gaussians import EstimatedGaussian, estimate_gaussian
from pgm.learning.scores.information import PenalizedLikelihood
from pgm.learning.scores.scoring import prior_of

__all__ = ["LeafScores", "best_parents"]

_COPIES = 8
"""Arrays of the size of its means that exist at once while a leaf is estimated."""


class LeafScores:
    """Scores of the families that one leaf may have, each computed once.

    Parameters
    ----------
    rows
        Completed rows: all discrete cells known, each row weighted.
    leaf
        Its name.
    score
        Which penalised likelihood.
    n_variables
        Number of nodes of the graph.
    min_variance
        The least variance of the leaf.
    memory_budget
        Bytes that the means and variances of a family, and the work on them, may take.

    Examples
    --------
    >>> from pgm.learning.scores import AIC
    >>> rows = Dataset({"sex": ["f", "f", "m", "m"], "x": [1.0, 3.0, 6.0, 8.0]}, continuous=["x"])
    >>> scores = LeafScores(rows, "x", AIC(), 2, 1e-6)
    >>> round(scores.of([]), 4), round(scores.of(["sex"]), 4)
    (-11.6378, -9.6758)
    """

    def __init__(
        self,
        rows: Dataset,
        leaf: str,
        score: PenalizedLikelihood,
        n_variables: int,
        min_variance: float,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        known = ~np.isnan(rows.numbers(leaf))
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        self.leaf = leaf
        self._total = rows.total_weight
        self._rows, self._weights = rows.take(known), weights[known]
        self._score, self._n_variables = score, n_variables
        self._min_variance, self._memory_budget = min_variance, memory_budget
        self._found: dict[tuple[str, ...], float] = {}

    def of(self, parents: Sequence[str]) -> float:
        """Return the score of the family with these parents."""
        key = tuple(sorted(parents))
        if key not in self._found:
            found = self._estimated(key)
            penalty = self._score.constant(found.leaf.n_parameters, self._total) - self._score.constant(0, self._total)
            prior = prior_of(self._score, len(key), self._n_variables)
            self._found[key] = found.log_likelihood + float(penalty) + prior
        return self._found[key]

    def gaussian(self, parents: Sequence[str]) -> ConditionalGaussian:
        """Return the means and variances of maximum likelihood by these parents."""
        return self._estimated(parents).leaf

    def _estimated(self, parents: Sequence[str]) -> EstimatedGaussian:
        above = [self._rows.variable(name) for name in parents]
        shape = [variable.cardinality for variable in above]
        check_size(shape, f"the means of {self.leaf!r} by {len(above)} parents", self._memory_budget // _COPIES)
        codes = [self._rows.codes(name) for name in parents]
        values = self._rows.numbers(self.leaf)
        return estimate_gaussian(self.leaf, above, codes, values, self._weights, self._min_variance)


def best_parents(
    scores: LeafScores,
    start: Iterable[str],
    allowed: Sequence[str],
    required: Iterable[str] = (),
    max_parents: int | None = None,
    tolerance: float = 1e-6,
) -> tuple[str, ...]:
    """Return parents of a leaf that no single addition or deletion improves.

    Parameters
    ----------
    scores
        The scores of its families.
    start
        The parents to begin with.
    allowed
        Who may be a parent, in the order in which ties are settled.
    required
        Who must be one.
    max_parents
        How many there may be; None for any number.
    tolerance
        A change must gain more than this.

    Examples
    --------
    >>> from pgm.learning.scores import BIC
    >>> columns = {"a": [0, 1] * 8, "b": [0, 0, 1, 1] * 4, "x": [0.1, 2.0, 0.0, 2.1] * 4}
    >>> scores = LeafScores(Dataset(columns, continuous=["x"]), "x", BIC(), 3, 0.01)
    >>> best_parents(scores, [], ["a", "b"])
    ('a',)
    """
    must = set(required)
    parents = [name for name in allowed if name in set(start) | must]
    limit = len(allowed) if max_parents is None else max_parents
    while True:
        more = [[*parents, name] for name in allowed if name not in parents and len(parents) < limit]
        fewer = [[other for other in parents if other != name] for name in parents if name not in must]
        best, reached = parents, scores.of(parents) + tolerance
        for changed in (*more, *fewer):
            if scores.of(changed) > reached:
                best, reached = changed, scores.of(changed)
        if best is parents:
            return tuple(name for name in allowed if name in parents)
        parents = best
