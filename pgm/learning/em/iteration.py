"""One run of EM: from starting tables uphill until a criterion stops it.

With the expected counts n of the tables theta(i), the E step knows ln P(data | theta(i)); the M step finds theta(i+1),
which maximises Q(theta, theta(i)), the sum of n ln theta, plus the log prior. The textbook stops where theta(i+1) is
close to theta(i), or Q(theta(i+1), theta(i)) to Q(theta(i), theta(i)); here also where the objective, the
log-likelihood plus the log prior, has hardly risen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal, NamedTuple, TypeAlias

from pgm.errors import DataError, EvidenceError, ImpossibleEvidenceError
from pgm.factors.factor import FloatArray
from pgm.inference.expected_counts import Expectation, ExpectedCounts
from pgm.learning.em.acceleration import distance, extrapolated
from pgm.learning.em.expected_leaves import ExpectedWithLeaves
from pgm.learning.em.incomplete import whole_number
from pgm.learning.em.leaves import MaximizationWithLeaves
from pgm.learning.em.maximization import Maximization, Tables
from pgm.progress import Progress

__all__ = ["Criteria", "Criterion", "Run", "climb"]

EStep: TypeAlias = ExpectedCounts | ExpectedWithLeaves
MStep: TypeAlias = Maximization | MaximizationWithLeaves

Criterion: TypeAlias = Literal["objective", "parameters", "Q", "max_iter"]
"""What stopped a run."""


@dataclass(frozen=True)
class Criteria:
    """When a run stops: the first of these that is met.

    Parameters
    ----------
    tol
        Stop when a step raises the objective by no more, in natural log units for all rows together.
    parameter_tol
        Stop when the Euclidean norm of the change in all tables is no more.
    q_tol
        Stop when Q rises by no more.
    max_iter
        Most M steps.

    Raises
    ------
    DataError
        For what is no number from 0, or for no number of iterations.
    """

    tol: float | None = 1e-10
    parameter_tol: float | None = None
    q_tol: float | None = None
    max_iter: int = 1000

    def __post_init__(self) -> None:
        for name in ("tol", "parameter_tol", "q_tol"):
            value = getattr(self, name)
            number = isinstance(value, Real) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= float(value) < math.inf):
                raise DataError(f"{name} must be a number from 0, or None, not {value!r}")
        whole_number(self.max_iter, "max_iter")

    def met(self, gain: float, step: float, q_gain: float) -> Criterion | None:
        """Return which criterion a step of EM meets, or None.

        >>> Criteria(tol=1e-6).met(gain=1e-9, step=0.1, q_gain=0.1)
        'objective'
        """
        if self.tol is not None and gain <= self.tol:
            return "objective"
        if self.parameter_tol is not None and step <= self.parameter_tol:
            return "parameters"
        if self.q_tol is not None and q_gain <= self.q_tol:
            return "Q"
        return None


class _Point(NamedTuple):
    """Tables and what the E step says of them."""

    tables: Tables
    expectation: Expectation
    log_prior: float

    @property
    def objective(self) -> float:
        """What is maximised."""
        return self.expectation.log_likelihood + self.log_prior


@dataclass
class Run:
    """A run of EM and its history."""

    tables: Tables
    counts: Sequence[FloatArray]
    """The expected counts of the last tables."""
    log_likelihoods: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    q_values: list[float] = field(default_factory=list)
    stopped_by: Criterion = "max_iter"

    @property
    def objective(self) -> float:
        """Where it ended."""
        return self.objectives[-1]


class _Climber:
    """The two steps, and the history."""

    def __init__(self, e_step: EStep, m_step: MStep, criteria: Criteria, hard: bool, bar: Progress):
        self._expect = e_step.of_best if hard else e_step.of
        self._m_step = m_step
        self._criteria = criteria
        self._bar = bar
        self.run = Run([], [])

    def look_at(self, tables: Tables) -> _Point:
        """Return a point, without going there."""
        return _Point(tables, self._expect(tables), self._m_step.log_prior(tables))

    def q(self, tables: Tables, log_prior: float, point: _Point) -> float:
        """Return Q(theta, theta of a point), theta being some tables."""
        return self._m_step.expected_log_likelihood(tables, point.expectation.tables) + log_prior

    def go_to(self, point: _Point) -> None:
        """Write a point down as the next of the run."""
        self.run.tables, self.run.counts = point.tables, point.expectation.tables
        self.run.log_likelihoods.append(point.expectation.log_likelihood)
        self.run.objectives.append(point.objective)
        self._bar.step(objective=f"{point.objective:.4f}")

    def maximised(self, point: _Point) -> _Point:
        """Return the point that the M step finds from another."""
        found = self.look_at(self._m_step.tables(point.expectation.tables))
        self.run.q_values.append(self.q(found.tables, found.log_prior, point))
        return found

    def step(self, point: _Point) -> tuple[_Point, Criterion | None]:
        """Take one step of EM; return where it leads, and which criterion that meets."""
        found = self.maximised(point)
        self.go_to(found)
        size = q_gain = math.inf  # worked out only if they are looked at
        if self._criteria.parameter_tol is not None:
            size = distance(self._m_step.chosen(found.tables), self._m_step.chosen(point.tables))
        if self._criteria.q_tol is not None:
            q_gain = self.run.q_values[-1] - self.q(point.tables, point.log_prior, point)
        return found, self._criteria.met(found.objective - point.objective, size, q_gain)

    @property
    def is_over(self) -> bool:
        """Whether there are no more M steps."""
        return len(self.run.q_values) >= self._criteria.max_iter

    def jump(self, first: _Point, second: _Point) -> _Point:
        """Go where two steps of EM point to if that is no worse than the first of them, else take the second."""
        third = self._m_step.tables(second.expectation.tables)
        points = [self._m_step.coordinates(tables) for tables in (first.tables, second.tables, third)]
        found = self._looked_at(self._m_step.from_coordinates(extrapolated(*points), third))
        if found is not None and found.objective >= second.objective:
            prior = self._m_step.log_prior(third)
            self.run.q_values.append(self.q(third, prior, second))
        else:
            found = self.maximised(second)
        self.go_to(found)
        return found

    def _looked_at(self, tables: Tables) -> _Point | None:
        """Return a point, or None where rows are too improbable to be computed with, as they may be in the distance."""
        try:
            return self.look_at(tables)
        except (EvidenceError, ImpossibleEvidenceError):
            return None


def climb(
    e_step: EStep,
    m_step: MStep,
    start: Tables,
    criteria: Criteria,
    bar: Progress,
    *,
    hard: bool = False,
    accelerate: bool = False,
) -> Run:
    """Return the run of EM from some tables.

    Parameters
    ----------
    e_step, m_step
        The two steps.
    start
        Where to start.
    criteria
        When to stop; they look at steps of EM only, not at extrapolations.
    bar
        Is told every step.
    hard
        Count the most probable completion of each row instead of expected counts. The log-likelihoods are then those of
        the completed rows.
    accelerate
        Extrapolate after every two steps (SQUAREM).

    Raises
    ------
    ImpossibleEvidenceError
        If a row has probability zero under the starting tables.
    """
    climber = _Climber(e_step, m_step, criteria, hard, bar)
    point = climber.look_at(start)
    climber.go_to(point)
    while not climber.is_over:
        before = point
        point, met = climber.step(before)
        if met is not None:
            climber.run.stopped_by = met
            break
        if accelerate and not climber.is_over:
            point = climber.jump(before, point)
    return climber.run
