"""Weight, mean and sum of squares, group by group: all that a Gaussian leaf needs to know of its rows.

The sum of squares is taken about the mean of the group, in a second pass over the rows, so that nothing is lost to
numbers that are large beside their spread. Moments of different rows are added by

    squares = squares(1) + squares(2) + (mean(2) - mean(1))^2 n(1) n(2) / (n(1) + n(2)).

References
----------
Chan, Golub and LeVeque (1983), *The American Statistician* 37, 242-247.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import DataError
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import LOG_2_PI

__all__ = ["Moments", "check_range"]


class Moments(NamedTuple):
    """Weight, mean and sum of squares about the mean, of each group of numbers; mean 0 where there is no weight."""

    weights: FloatArray
    means: FloatArray
    squares: FloatArray

    @classmethod
    def grouped(cls, values: FloatArray, weights: FloatArray, place: NDArray[Any], size: int) -> Moments:
        """Return the moments of numbers each of which is in one group.

        Parameters
        ----------
        values, weights
            The numbers, and what each counts.
        place
            The group of each.
        size
            How many groups there are.

        Examples
        --------
        >>> Moments.grouped(np.array([1.0, 3.0, 9.0]), np.ones(3), np.array([0, 0, 2]), 3).squares.tolist()
        [2.0, 0.0, 0.0]
        """
        total = np.bincount(place, weights, size).astype(np.float64)
        means = np.bincount(place, weights * values, size) / np.where(total > 0, total, 1.0)
        squares = np.bincount(place, weights * (values - means[place]) ** 2, size).astype(np.float64)
        return cls(total, means, squares)

    @classmethod
    def shared(cls, values: FloatArray, shares: FloatArray) -> Moments:
        """Return the moments of numbers that are in every group, with a weight for each, shape (groups, numbers).

        >>> Moments.shared(np.array([1.0, 3.0]), np.array([[1.0, 1.0], [0.0, 0.5]])).means.tolist()
        [2.0, 3.0]
        """
        total = shares.sum(axis=1)
        means = shares @ values / np.where(total > 0, total, 1.0)
        deviations = values - means[:, None]
        deviations *= deviations
        return cls(total, means, np.einsum("ij,ij->i", shares, deviations))

    @classmethod
    def of_array(cls, array: FloatArray) -> Moments:
        """Return what :meth:`as_array` made an array of."""
        return cls(array[..., 0], array[..., 1], array[..., 2])

    def as_array(self) -> FloatArray:
        """Return the three side by side on a last axis."""
        return np.stack(self, axis=-1)

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both together.

        >>> one = Moments.grouped(np.array([1.0]), np.ones(1), np.zeros(1, int), 1)
        >>> other = Moments.grouped(np.array([2.0, 6.0]), np.ones(2), np.zeros(2, int), 1)
        >>> [float(moment[0]) for moment in one.plus(other)]
        [3.0, 3.0, 14.0]
        """
        total = self.weights + other.weights
        share = other.weights / np.where(total > 0, total, 1.0)
        distance = np.where((self.weights > 0) & (other.weights > 0), other.means - self.means, 0.0)
        means = np.where(self.weights > 0, self.means, other.means) + distance * share
        return Moments(total, means, self.squares + other.squares + distance**2 * self.weights * share)

    def arranged(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> Moments:
        """Return the groups as an array of some shape, its axes in another order."""
        return Moments(*(moment.reshape(shape).transpose(axes) for moment in self))

    def log_likelihood(self, means: FloatArray, variances: FloatArray) -> float:
        """Return the log density of all numbers under Gaussians, minus infinity if it is beyond the range of floats.

        >>> found = Moments.grouped(np.array([1.0, 3.0]), np.ones(2), np.zeros(2, int), 1)
        >>> round(found.log_likelihood(np.array([2.0]), np.array([1.0])), 4)
        -2.8379
        """
        seen = self.weights > 0
        weights, variance = self.weights[seen], np.broadcast_to(variances, self.weights.shape)[seen]
        deviations = np.sqrt(variance)
        with np.errstate(over="ignore"):
            squares = self.squares[seen] / variance
            squares = squares + weights * ((self.means - means)[seen] / deviations) ** 2
            return float(-0.5 * (weights * LOG_2_PI + squares).sum() - weights @ np.log(deviations))


def check_range(name: str, values: FloatArray, weights: FloatArray) -> None:
    """Raise unless a variance of some numbers is within the range of floats, however they are grouped.

    Raises
    ------
    DataError
        Names the column and its largest number.

    Examples
    --------
    >>> check_range("x", np.array([1.0, -1e200]), np.ones(2))
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: the numbers of 'x' reach -1e+200: too large for a variance, use a larger unit
    """
    with np.errstate(over="ignore"):
        total = max(float(weights.sum()), 1.0)
    limit = math.sqrt(float(np.finfo(np.float64).max) / total) / 4
    furthest = values[np.abs(values).argmax()] if len(values) else 0.0
    if not abs(furthest) <= limit:
        raise DataError(f"the numbers of {name!r} reach {furthest:g}: too large for a variance, use a larger unit")
