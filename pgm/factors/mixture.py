"""`GaussianMixture`: the distribution of a continuous leaf when its parents are not known for sure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import EvidenceError, TableError
from pgm.factors.cpt import EXACT, ROUNDING
from pgm.factors.factor import FloatArray, as_table
from pgm.factors.gaussian import ConditionalGaussian, as_numbers, log_normal_density
from pgm.factors.printing import format_table
from pgm.factors.size import check_size
from pgm.factors.variable import Variable

__all__ = ["GaussianMixture"]


class GaussianMixture:
    """p(x) = sum over joint states j of the parents of weight(j) N(x; mean(j), variance(j)).

    Parameters
    ----------
    name
        Name of the continuous variable.
    parents
        Its parents, in the order of the axes.
    weights
        P(parents | evidence), shape ``(*parent cardinalities)``, sums to one.
    means, variances
        As for :class:`~pgm.factors.gaussian.ConditionalGaussian`.

    Raises
    ------
    TableError
        For a wrong shape, a weight that is negative or not finite, weights that do not sum to one, a mean that is not
        finite, or a variance that is not above 0 and finite.

    Notes
    -----
    The logarithms of the weights are kept as well: a joint state that is as good as impossible can still be the only
    one whose Gaussian is anywhere near x.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> height = GaussianMixture("height", [sex], [0.5, 0.5], [166, 179], [36, 49])
    >>> print(height)
    height: mean 172.5, standard deviation 9.20598
    sex | weight  mean  variance
    ----+-----------------------
    f   |    0.5   166        36
    m   |    0.5   179        49
    """

    __slots__ = ("log_weights", "means", "name", "parents", "variances", "weights")

    name: str
    parents: tuple[Variable, ...]
    weights: FloatArray
    """Read-only, shape ``(*parent cardinalities)``."""
    log_weights: FloatArray
    """Their logarithms, also of those that floats round to zero."""
    means: FloatArray
    variances: FloatArray

    def __init__(
        self,
        name: str,
        parents: Iterable[Variable],
        weights: ArrayLike,
        means: ArrayLike,
        variances: ArrayLike,
    ) -> None:
        leaf = ConditionalGaussian(name, means, variances, parents)
        table = _checked_weights(leaf, weights)
        with np.errstate(divide="ignore"):
            self._set(leaf, table, np.log(table))

    @classmethod
    def _of(cls, leaf: ConditionalGaussian, weights: FloatArray, log_weights: FloatArray) -> GaussianMixture:
        """Return the density of a leaf, given P(parents | evidence) and its logarithm, which are known to be right."""
        mixture = cls.__new__(cls)
        mixture._set(leaf, weights, log_weights)
        return mixture

    def _set(self, leaf: ConditionalGaussian, weights: FloatArray, log_weights: FloatArray) -> None:
        set_once = object.__setattr__
        weights.setflags(write=False)
        log_weights.setflags(write=False)
        set_once(self, "name", leaf.name)
        set_once(self, "parents", leaf.parents)
        set_once(self, "weights", weights)
        set_once(self, "log_weights", log_weights)
        set_once(self, "means", leaf.means)
        set_once(self, "variances", leaf.variances)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a GaussianMixture is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a GaussianMixture is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        leaf = ConditionalGaussian(self.name, self.means, self.variances, self.parents)
        return type(self)._of, (leaf, np.asarray(self.weights), np.asarray(self.log_weights))

    @property
    def mean(self) -> float:
        """Expected value."""
        return float((self.weights * self.means).sum())

    @property
    def variance(self) -> float:
        """Variance: within the components, and between their means; infinite if it is beyond the range of floats."""
        try:
            return self.standard_deviation**2
        except OverflowError:
            return math.inf

    @property
    def standard_deviation(self) -> float:
        """Square root of the variance."""
        with np.errstate(over="ignore"):
            between = np.abs(self.means - self.mean)
        within = np.sqrt(self.variances)
        unit = float(np.maximum(between, within)[self.weights > 0].max())
        if math.isinf(unit):
            return math.inf
        squares = (between / unit) ** 2 + (within / unit) ** 2
        return unit * math.sqrt(float((self.weights * squares).sum()))

    def log_pdf(self, values: ArrayLike) -> FloatArray:
        """Return ln p(value) for each value, of the shape of ``values``.

        It does not underflow; minus infinity stands for what is beyond the range of floats even so.

        Raises
        ------
        EvidenceError
            For NaN, and for what is no number.
        """
        numbers = as_numbers(values, self.name)
        if np.isnan(numbers).any():
            raise EvidenceError(f"the density of {self.name!r} is asked for at numbers, and NaN is none")
        seen = self.log_weights > -math.inf
        column = (-1,) + (1,) * numbers.ndim
        means, variances = self.means[seen].reshape(column), self.variances[seen].reshape(column)
        logs = log_normal_density(numbers, means, variances) + self.log_weights[seen].reshape(column)
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def pdf(self, values: ArrayLike) -> FloatArray:
        """Return the density p(value) for each value, of the shape of ``values``. Raises as :meth:`log_pdf` does.

        Infinite where it is beyond the range of floats: of a variance near zero.
        """
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_pdf(values)))

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> FloatArray:
        """Return n independent draws; ``rng`` is a NumPy generator, which is advanced, or a seed.

        Raises
        ------
        EvidenceError
            If n is no whole number from 0, or ``rng`` neither of the two.
        TooLargeError
            If the draws would exceed the memory budget.
        """
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
            raise EvidenceError(f"the number of draws is a whole number from 0, not {n!r}")
        check_size([int(n)], f"the draws of {self.name!r}")
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise EvidenceError(
                f"rng is a numpy.random.Generator, a whole number from 0, or None, not {rng!r}"
            ) from None
        component = generator.choice(self.weights.size, size=n, p=self.weights.ravel() / self.weights.sum())
        deviations = np.sqrt(self.variances.ravel()[component])
        return np.asarray(generator.normal(self.means.ravel()[component], deviations))

    def __repr__(self) -> str:
        return f"<GaussianMixture of {self.name!r}: {self.weights.size} components, mean {self.mean:.6g}>"

    def __str__(self) -> str:
        numbers = np.stack([self.weights, self.means, self.variances], axis=-1)
        table = format_table(self.parents, numbers, ("weight", "mean", "variance"))
        return f"{self.name}: mean {self.mean:.6g}, standard deviation {self.standard_deviation:.6g}\n{table}"


def _checked_weights(leaf: ConditionalGaussian, weights: ArrayLike) -> FloatArray:
    table = as_table(weights, f"the weights of {leaf.name!r}")
    if table.shape != leaf.means.shape:
        axes = ", ".join(f"{v.name}={v.cardinality}" for v in leaf.parents) or "no parents"
        raise TableError(f"the weights of {leaf.name!r} must have shape {leaf.means.shape} ({axes}), not {table.shape}")
    if not (np.isfinite(table) & (table >= 0)).all():
        raise TableError(f"the weights of {leaf.name!r} must be finite and not negative, not {table.tolist()}")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if not abs(total - 1.0) <= ROUNDING:
        raise TableError(f"the weights of {leaf.name!r} sum to {total:.10g}, not 1")
    return table / total if abs(total - 1.0) > EXACT else table
