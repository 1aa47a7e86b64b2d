"""What naive Bayes reads of continuous features: weight, mean and variance of each in each class.

Like counts they add up over batches, and a row is taken out of them, so learning in batches and leaving rows out are
exact here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from pgm.factors.gaussian import log_normal_density

__all__ = ["ClassMoments", "class_moments", "held_out_log_densities", "log_densities"]

FloatArray = NDArray[np.float64]

_LEAST_ROWS = 256
"""Rows worked on at a time, at least."""

_CELLS = 1 << 16
"""Numbers worked on at a time, few enough to stay in the cache."""


@dataclass(frozen=True)
class ClassMoments:
    """Weight, mean and sum of squared deviations of the known cells of each feature in each class.

    Examples
    --------
    >>> found = class_moments(np.array([[1.0], [3.0], [7.0]]), np.array([0, 0, 1]), 2)
    >>> found.means.tolist(), found.variances().tolist()
    ([[2.0], [7.0]], [[1.0], [0.0]])
    """

    weights: FloatArray
    """Weight of the known cells, shape (classes, features)."""
    means: FloatArray
    """Of the same shape; 0 without cells."""
    squares: FloatArray
    """Sum of weighted squared deviations from the mean, of the same shape."""

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of the rows of both (Chan, Golub and LeVeque 1983)."""
        weights = self.weights + other.weights
        share = np.divide(other.weights, weights, out=np.zeros_like(weights), where=weights > 0)
        apart = other.means - self.means
        squares = self.squares + other.squares + apart**2 * self.weights * share
        return ClassMoments(weights, self.means + apart * share, squares)

    def variances(self, floor: float | FloatArray = 0.0) -> FloatArray:
        """Return the variances by maximum likelihood, 0 without cells, plus ``floor``; shape (classes, features)."""
        return np.divide(self.squares, self.weights, out=np.zeros_like(self.squares), where=self.weights > 0) + floor

    def floor(self, share: float) -> FloatArray:
        """Return what to add to all variances, shape (rows, 1) for the moments of all rows in so many ways.

        It is a share of the largest variance of a feature; of 1, if no feature varies at all.
        """
        largest = self.variances().max(axis=1, keepdims=True)
        return share * np.where(largest > 0, largest, 1.0)

    def of_class(self, label: int) -> ClassMoments:
        """Return the moments of one class, shape (1, features)."""
        row = slice(label, label + 1)
        return ClassMoments(self.weights[row], self.means[row], self.squares[row])

    def of_all_rows(self) -> ClassMoments:
        """Return the moments of all classes together, shape (1, features)."""
        return reduce(add, map(self.of_class, range(len(self.weights))))

    def without(self, cells: FloatArray, weights: FloatArray) -> ClassMoments:
        """Return what the first row of moments becomes without each of some cells of it, one cell at a time.

        Parameters
        ----------
        cells
            Shape (rows, features), NaN where nothing is taken out.
        weights
            Weight of each cell, shape (rows, 1).
        """
        apart = np.where(np.isnan(cells), 0.0, cells - self.means)
        taken = np.where(np.isnan(cells), 0.0, weights)
        left = np.maximum(self.weights - taken, 0.0)
        left[left < 1e-12 * self.weights] = 0.0
        share = np.divide(taken, left, out=np.zeros_like(left), where=left > 0)
        squares = np.maximum(self.squares - taken * apart**2 * (1 + share), 0.0)
        return ClassMoments(left, self.means - apart * share, np.where(left > 0, squares, 0.0))

    def completed(self, whole: ClassMoments | None = None) -> ClassMoments:
        """Return moments in which those without a known cell of a feature are replaced by those of all rows."""
        empty = self.weights == 0
        if not empty.any():
            return self
        whole = whole or self.of_all_rows()
        return ClassMoments(
            np.where(empty, whole.weights, self.weights),
            np.where(empty, whole.means, self.means),
            np.where(empty, whole.squares, self.squares),
        )


def class_moments(
    numbers: FloatArray, labels: NDArray[np.intp], classes: int, weights: FloatArray | None = None
) -> ClassMoments:
    """Return the moments of rows.

    Parameters
    ----------
    numbers
        Shape (rows, features), NaN where a cell is missing.
    labels
        Code of the class of each row.
    classes
        Number of classes.
    weights
        Weight of each row.
    """
    found = _moments_of_block(numbers[:0], labels[:0], classes, None)
    step = max(_LEAST_ROWS, _CELLS // max(1, numbers.shape[1]))
    for start in range(0, len(numbers), step):
        some = slice(start, start + step)
        own = None if weights is None else weights[some]
        found += _moments_of_block(numbers[some], labels[some], classes, own)
    return found


def _moments_of_block(
    numbers: FloatArray, labels: NDArray[np.intp], classes: int, weights: FloatArray | None
) -> ClassMoments:
    shape = (classes, numbers.shape[1])
    total, means, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for label in range(classes):
        rows = labels == label
        if not rows.any():
            continue
        cells = numbers[rows]
        own = np.ones(len(cells)) if weights is None else weights[rows]
        holes = np.isnan(cells)
        if holes.any():
            known = own[:, None] * ~holes
            cells[holes] = 0.0
            total[label] = known.sum(axis=0)
            sums = (known * cells).sum(axis=0)
        else:
            known = own[:, None]
            total[label] = own.sum()
            sums = own @ cells
        means[label] = np.divide(sums, total[label], out=np.zeros_like(sums), where=total[label] > 0)
        cells -= means[label]
        if weights is None and not holes.any():
            squares[label] = np.einsum("ij,ij->j", cells, cells)
        else:
            squares[label] = np.einsum("ij,ij,ij->j", cells, cells, np.broadcast_to(known, cells.shape))
    return ClassMoments(total, means, squares)


def log_densities(numbers: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the sum over features of ln N(x; mean, variance) of every row in each class, shape (rows, classes).

    Missing cells are left out.

    >>> log_densities(np.array([[1.0, np.nan]]), np.zeros((2, 2)), np.ones((2, 2))).round(4).tolist()
    [[-1.4189, -1.4189]]
    """
    logs = np.empty((len(numbers), len(means)))
    constants = log_normal_density(0.0, np.zeros_like(means), variances)
    deviations = np.sqrt(variances)
    step = max(1, _CELLS // max(1, numbers.shape[1]))
    for start in range(0, len(numbers), step):
        rows = numbers[start : start + step]
        holes = np.isnan(rows)
        complete = not holes.any()
        for label in range(len(means)):
            scaled = rows - means[label]
            with np.errstate(over="ignore"):
                scaled /= deviations[label]
            if complete:
                constant = constants[label].sum()
            else:
                scaled[holes] = 0.0
                constant = ~holes @ constants[label]
            logs[start : start + step, label] = constant - 0.5 * np.einsum("ij,ij->i", scaled, scaled)
    return logs


def held_out_log_densities(
    moments: ClassMoments,
    numbers: FloatArray,
    labels: NDArray[np.intp],
    weights: FloatArray | None,
    variance_floor: float,
) -> FloatArray:
    """Return what `log_densities` would be for each row if the row itself had not been among those of the moments.

    Parameters
    ----------
    moments
        Of all rows, which are the following.
    numbers, labels, weights
        As in `class_moments`.
    variance_floor
        What is added to every variance, as a share of the largest of a feature over all other rows.
    """
    everything = moments.of_all_rows()
    logs = np.empty((len(numbers), len(moments.weights)))
    step = max(1, _CELLS // max(1, numbers.shape[1]))
    for start in range(0, len(numbers), step):
        some = slice(start, start + step)
        cells, own = numbers[some], np.ones((len(numbers[some]), 1)) if weights is None else weights[some, None]
        others = everything.without(cells, own)
        floor = others.floor(variance_floor)
        for label in range(logs.shape[1]):
            taken = np.where((labels[some] == label)[:, None], cells, np.nan)
            found = moments.of_class(label).without(taken, own).completed(others)
            densities = log_normal_density(cells, found.means, found.variances(floor))
            logs[some, label] = np.where(np.isnan(cells), 0.0, densities).sum(axis=1)
    return logs
