"""`GaussianMixture`: the distribution of a continuous leaf when its parents are not known for sure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import log_normal_density
from pgm.factors.printing import format_table
from pgm.factors.variable import Variable

__all__ = ["GaussianMixture"]


@dataclass(frozen=True, eq=False, repr=False)
class GaussianMixture:
    """p(x) = sum over joint states j of the parents of weight(j) N(x; mean(j), variance(j)).

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> height = GaussianMixture("height", [sex], np.array([0.5, 0.5]), np.array([166, 179]), np.array([36, 49]))
    >>> print(height)
    height: mean 172.5, standard deviation 9.20598
    sex | weight  mean  variance
    ----+-----------------------
    f   |    0.5   166        36
    m   |    0.5   179        49
    """

    name: str
    parents: tuple[Variable, ...]
    weights: FloatArray
    """P(parents | evidence), shape ``(*parent cardinalities)``, sums to one."""
    means: FloatArray
    variances: FloatArray

    def __post_init__(self) -> None:
        for name in ("weights", "means", "variances"):
            array = np.array(getattr(self, name), np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "parents", tuple(self.parents))

    @property
    def mean(self) -> float:
        """Expected value."""
        return float((self.weights * self.means).sum())

    @property
    def variance(self) -> float:
        """Variance: within the components, and between their means."""
        within = (self.weights * self.variances).sum()
        return float(within + (self.weights * (self.means - self.mean) ** 2).sum())

    def log_pdf(self, values: ArrayLike) -> FloatArray:
        """Return ln p(value) for each value, of the shape of ``values``; it does not underflow."""
        numbers = np.asarray(values, np.float64)
        seen = self.weights > 0
        column = (-1,) + (1,) * numbers.ndim
        means, variances = self.means[seen].reshape(column), self.variances[seen].reshape(column)
        logs = log_normal_density(numbers, means, variances) + np.log(self.weights[seen]).reshape(column)
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def pdf(self, values: ArrayLike) -> FloatArray:
        """Return the density p(value) for each value, of the shape of ``values``."""
        return np.asarray(np.exp(self.log_pdf(values)))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> FloatArray:
        """Return n independent draws; ``rng`` is a NumPy generator, which is advanced, or a seed."""
        generator = np.random.default_rng(rng)
        component = generator.choice(self.weights.size, size=n, p=self.weights.ravel() / self.weights.sum())
        deviations = np.sqrt(self.variances.ravel()[component])
        return np.asarray(generator.normal(self.means.ravel()[component], deviations))

    def __repr__(self) -> str:
        return f"<GaussianMixture of {self.name!r}: {self.weights.size} components, mean {self.mean:.6g}>"

    def __str__(self) -> str:
        numbers = np.stack([self.weights, self.means, self.variances], axis=-1)
        table = format_table(self.parents, numbers, ("weight", "mean", "variance"))
        return f"{self.name}: mean {self.mean:.6g}, standard deviation {math.sqrt(self.variance):.6g}\n{table}"
