"""What a score is: a sum over families of a function of their counts.

Every score here is *decomposable*: the score of a DAG is the sum of the local scores of its families, and a local score
is a function of one contingency table N(parents, child), plus the structure prior's term for the family.

Most are also differences of a function of a *joint* table, one that knows neither parents nor child:

    local(child | parents) = joint({child} + parents) - joint(parents),
    joint(S) = sum over the cells of N(S) of cell(count; number of cells) + constant(number of cells, N).

Such a score is equal for equivalent DAGs, whatever the function; and a search may compute joint(S) once for every set
of variables instead of a local score for every family, which are several times as many.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.errors import TableError
from pgm.learning.scores.structure_priors import StructurePrior

__all__ = ["DecomposableScore", "JointScore", "QuotientScore", "Score", "check_number"]


@runtime_checkable
class Score(Protocol):
    """What a structure search needs of a score; any object of this shape will do.

    A score may also have these methods:

    ``bind(n_variables, total_weight)``
        Returns the score to use for data with so many variables and rows.
    ``log_prior(n_parents, n_variables)``
        Returns what is added to the local score of a family with so many parents, apart from its counts.
    ``cell``, ``constant``
        The score as a difference of functions of joint tables; see `JointScore`.
    """

    @property
    def name(self) -> str:
        """What the score is called in results."""

    @property
    def is_score_equivalent(self) -> bool:
        """Whether Markov-equivalent DAGs always score the same."""

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of families from their counts.

        Parameters
        ----------
        counts
            Shape ``(..., q, r)``: parent configurations, then states of the child; leading axes are separate families.

        Returns
        -------
        ndarray
            Shape ``(...)``, finite.
        """


@runtime_checkable
class JointScore(Score, Protocol):
    """A score whose local scores are differences of a function of joint tables."""

    def cell(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        """Return what each cell of a joint table of ``n_cells`` cells contributes, elementwise; 0 for a count of 0."""

    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return what a joint table adds to the sum over its cells, given the sum of its counts."""


@dataclass(frozen=True, repr=False)
class DecomposableScore(ABC):
    """Base of the scores of this library: their structure prior, and how they print.

    Parameters
    ----------
    structure_prior
        Prior of the graph; None for the uniform one. See `pgm.learning.scores.structure_priors`.

    Raises
    ------
    TableError
        If it is no structure prior.
    """

    structure_prior: StructurePrior | None = field(default=None, kw_only=True)
    is_score_equivalent: ClassVar[bool] = False
    """Whether Markov-equivalent DAGs always score the same; no structure prior changes that."""

    def __post_init__(self) -> None:
        prior = self.structure_prior
        if prior is not None and (isinstance(prior, type) or not isinstance(prior, StructurePrior)):
            raise TableError(f"structure_prior must be an EdgePrior, a FanInPrior or the like, not {prior!r}")

    def log_prior(self, n_parents: int, n_variables: int) -> float:
        """Return what the structure prior adds to the local score of a family."""
        return 0.0 if self.structure_prior is None else self.structure_prior.log_prior(n_parents, n_variables)

    @abstractmethod
    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of families from their counts, without the structure prior; see `Score`."""

    def __repr__(self) -> str:
        changed = {item.name: getattr(self, item.name) for item in fields(self)}
        shown = [f"{item.name}={changed[item.name]!r}" for item in fields(self) if changed[item.name] != item.default]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class QuotientScore(DecomposableScore):
    """Base of the scores that are the logarithm of a quotient of two functions of joint tables."""

    is_score_equivalent: ClassVar[bool] = True

    @abstractmethod
    def cell(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        """Return what each cell of a joint table contributes; see `JointScore`."""

    @abstractmethod
    def constant(self, n_cells: int, total: ArrayLike) -> Any:
        """Return what a joint table adds to the sum over its cells; see `JointScore`."""

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return joint(child, parents) - joint(parents), without the structure prior."""
        q, r = counts.shape[-2:]
        totals = counts.sum(axis=-1)
        size = totals.sum(axis=-1)
        value: NDArray[np.float64] = self.cell(counts, q * r).sum(axis=(-2, -1))
        value -= self.cell(totals, q).sum(axis=-1)
        value += self.constant(q * r, size) - self.constant(q, size)
        return value


def check_number(name: str, value: object, *, zero: bool = False) -> None:
    """Raise unless a parameter of a score is a finite number above 0, or from 0 on if ``zero`` is allowed.

    Raises
    ------
    TableError
        Names the parameter.

    Examples
    --------
    >>> check_number("equivalent_sample_size", -1)
    Traceback (most recent call last):
    ...
    pgm.errors.TableError: equivalent_sample_size must be a finite number above 0, not -1
    """
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not (0 < number < math.inf or (zero and number == 0)):
        raise TableError(f"{name} must be a finite number {'from' if zero else 'above'} 0, not {value!r}")
