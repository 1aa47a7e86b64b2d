"""EM with Gaussian leaves: a latent class with Gaussian leaves is a Gaussian mixture, and its hard limit is K-means.

A leaf is to EM one more array of parameters, its means and variances side by side on a last axis. The E step
(:mod:`pgm.learning.em.expected_leaves`) finds how likely each parent configuration is in each row, the
*responsibilities*, and weights the rows with them. The M step makes means and variances of the moments:

    mean(j) = sum over rows of r(j) x / sum of r(j),    variance(j) = sum of r(j) (x - mean(j))^2 / sum of r(j).

Rows that do not know x say nothing about it. No variance is taken to be less than a floor, which keeps the likelihood
finite. With one so large that all variances are equal to it, equally probable classes, and the most probable
completion of each row instead of all (hard EM), the two steps are those of K-means.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 19.2.2. Bishop (2006), *Pattern Recognition and
Machine Learning*, section 9.3.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgm.data import Dataset
from pgm.errors import DataError
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Variable
from pgm.learning.em.acceleration import SHRINK
from pgm.learning.em.maximization import Maximization, Tables
from pgm.learning.parameters.gaussians import all_together, gaussian_of, smallest_variance
from pgm.learning.parameters.moments import Moments

__all__ = ["Leaf", "MaximizationWithLeaves", "leaves_of"]


class Leaf(NamedTuple):
    """A leaf, and what is known of all its numbers together."""

    name: str
    parents: tuple[Variable, ...]
    floor: float
    """The least variance."""
    middle: float
    """The mean of all numbers."""
    variance: float
    """Their variance."""
    limits: tuple[float, float]
    """The least and the largest of them."""

    @property
    def scale(self) -> float:
        """The unit of its means: the standard deviation of all numbers, 1 if they are all equal."""
        return math.sqrt(self.variance) or 1.0

    def gaussian(self, parameters: FloatArray) -> ConditionalGaussian:
        """Return the distribution that an array of parameters stands for."""
        return ConditionalGaussian(self.name, parameters[..., 0], parameters[..., 1], self.parents)


def leaves_of(
    data: Dataset, families: Sequence[Sequence[Variable]], names: Sequence[str], min_variance: float | None
) -> list[Leaf]:
    """Return the leaves, with the least variance of each.

    Parameters
    ----------
    data
        The rows; those of weight 0 do not matter.
    families
        The parents of each leaf.
    names
        The leaves.
    min_variance
        As in `fit_parameters`.

    Raises
    ------
    DataError
        For a column that shows nothing, or whose numbers are too large for a variance; and as `fit_parameters`.
    """
    found = []
    for name, parents in zip(names, families, strict=True):
        weights = np.ones(data.n_rows) if data.weights is None else data.weights
        known = ~np.isnan(data.numbers(name)) & (weights > 0)
        if not known.any():
            raise DataError(f"no row knows the continuous leaf {name!r}, or none with a weight")
        numbers, weights = data.numbers(name)[known], weights[known]
        floor = smallest_variance(name, numbers, weights, min_variance)
        moments = all_together(numbers, weights)
        middle, variance = float(moments.means[0]), float(moments.squares[0] / moments.weights[0])
        found.append(Leaf(name, tuple(parents), floor, middle, variance, (float(numbers.min()), float(numbers.max()))))
    return found


class MaximizationWithLeaves:
    """The M step for tables and leaves.

    Parameters
    ----------
    inner
        The M step for the tables.
    n_tables
        Their number.
    leaves
        The leaves.
    """

    def __init__(self, inner: Maximization, n_tables: int, leaves: Sequence[Leaf]) -> None:
        self._inner = inner
        self._n_tables = n_tables
        self._leaves = tuple(leaves)

    def tables(self, counts: Sequence[FloatArray]) -> Tables:
        """Return the tables, and the parameters of each leaf; those of all rows where its moments have no weight."""
        made = self._inner.tables(counts[: self._n_tables])
        for leaf, array in zip(self._leaves, counts[self._n_tables :], strict=True):
            means, variances = gaussian_of(Moments.of_array(array), leaf.middle, leaf.variance, leaf.floor)
            made.append(np.stack([means, variances], axis=-1))
        return made

    def log_prior(self, tables: Sequence[FloatArray]) -> float:
        """Return the log density of the tables under their prior; leaves have none."""
        return self._inner.log_prior(tables[: self._n_tables])

    def chosen(self, tables: Sequence[FloatArray]) -> Tables:
        """Return what is learned."""
        return [*self._inner.chosen(tables[: self._n_tables]), *tables[self._n_tables :]]

    def coordinates(self, tables: Sequence[FloatArray]) -> Tables:
        """Return what is learned in the coordinates of extrapolations.

        These are tables as they are, means in standard deviations of their column, and logarithms of variances.
        """
        made = self._inner.coordinates(tables[: self._n_tables])
        for leaf, parameters in zip(self._leaves, tables[self._n_tables :], strict=True):
            means, variances = parameters[..., 0], parameters[..., 1]
            made.append(np.stack([means / leaf.scale, np.log(variances)], axis=-1))
        return made

    def from_coordinates(self, points: Sequence[FloatArray], near: Sequence[FloatArray]) -> Tables:
        """Return all tables and leaves for an extrapolated point, not too far from those nearby.

        Means stay within the numbers of their column, and variances within some factor, and above their floor.
        """
        n_learned = len(points) - len(self._leaves)
        made = self._inner.from_coordinates(points[:n_learned], near[: self._n_tables])
        for leaf, point, parameters in zip(self._leaves, points[n_learned:], near[self._n_tables :], strict=True):
            means = np.clip(point[..., 0] * leaf.scale, *leaf.limits)
            logs, furthest = np.log(parameters[..., 1]), -np.log(SHRINK)
            variances = np.exp(np.clip(point[..., 1], logs - furthest, logs + furthest))
            made.append(np.stack([means, np.maximum(variances, leaf.floor)], axis=-1))
        return made

    def expected_log_likelihood(self, tables: Sequence[FloatArray], counts: Sequence[FloatArray]) -> float:
        """Return the expected log-likelihood of completed rows."""
        total = self._inner.expected_log_likelihood(tables[: self._n_tables], counts[: self._n_tables])
        for array, parameters in zip(counts[self._n_tables :], tables[self._n_tables :], strict=True):
            total += Moments.of_array(array).log_likelihood(parameters[..., 0], parameters[..., 1])
        return total
