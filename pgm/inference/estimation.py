"""What all methods that estimate from random rows share: the question, checked once, and the answer put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TooLargeError
from pgm.factors.factor import FloatArray, Names
from pgm.factors.size import format_bytes
from pgm.factors.variable import Label
from pgm.inference.drawing import as_generator, joint_codes
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.exact import ExactInference, Likelihoods
from pgm.inference.options import check_budget, checked_count
from pgm.inference.sampled_posterior import SampledPosterior
from pgm.inference.sampling import relevant

__all__ = ["Request"]

Estimate: TypeAlias = tuple[FloatArray, FloatArray, float]
"""Probabilities, standard errors and effective sample size."""


class Request(NamedTuple):
    """What is to be drawn: so many rows given the evidence, of all variables or of what some targets need."""

    engine: ExactInference
    asked: tuple[int, ...] | None
    """The targets; None for rows of all variables."""
    known: Evidence
    n_rows: int
    generator: np.random.Generator
    memory_budget: int

    @classmethod
    def of(
        cls,
        engine: ExactInference,
        targets: Names | None,
        n: int,
        rng: np.random.Generator | int | None,
        evidence: Mapping[str, Label] | None,
        likelihoods: Likelihoods | None,
        memory_budget: int,
        *,
        least: int,
    ) -> Request:
        """Return the request, its parts checked.

        Parameters
        ----------
        engine
            The network.
        targets
            One name or several; None for rows of all variables.
        n, rng, evidence, likelihoods, memory_budget
            As in ``BayesianNetwork.estimate``.
        least
            The smallest number of rows that makes sense.
        """
        n_rows = checked_count(n, least=least)
        generator = as_generator(rng)
        check_budget(memory_budget)
        asked = None if targets is None else code_targets(engine.index, targets)
        known = engine.code(evidence, likelihoods)
        if asked is not None:
            engine.check_joint(asked, memory_budget)
        return cls(engine, asked, known, n_rows, generator, memory_budget)

    @property
    def needed(self) -> set[int]:
        """The variables to draw."""
        if self.asked is None:
            return set(range(len(self.engine.variables)))
        return relevant(self.engine, self.known, self.asked)

    def check_memory(self, variables: Set[int], bytes_beside: int) -> None:
        """Raise TooLargeError if the rows would exceed the memory budget.

        Parameters
        ----------
        variables
            Those of which each row has a cell.
        bytes_beside
            Bytes that a row takes beside its cells.
        """
        from pgm.data.columns import smallest_codes

        cells = sum(smallest_codes(self.engine.cardinalities[variable]).itemsize for variable in variables)
        size = self.n_rows * (cells + bytes_beside)
        if size > self.memory_budget:
            raise TooLargeError(
                f"{self.n_rows:,} rows of {len(variables)} variables, and what goes with them, take "
                f"{format_bytes(size)}; the memory budget is {format_bytes(self.memory_budget)}"
            )

    def posterior(
        self,
        columns: Mapping[int, NDArray[Any]],
        estimate: Callable[[NDArray[np.intp], int], Estimate],
        method: str,
        unseen: float | None = None,
    ) -> SampledPosterior:
        """Return what the rows say about the targets.

        Parameters
        ----------
        columns
            The rows, as codes.
        estimate
            Called with the joint state of each row and the number of joint states, of the targets that are drawn.
        method, unseen
            How the rows were drawn, and what they may have missed; see :class:`SampledPosterior`.
        """
        assert self.asked is not None
        certain = self.engine.with_constants(self.known).codes
        free = [target for target in self.asked if target not in certain]
        cardinalities = [self.engine.cardinalities[target] for target in free]
        states = joint_codes(columns, free, cardinalities, self.n_rows)
        scope = [self.engine.variables[target] for target in self.asked]
        position = tuple(certain.get(target, slice(None)) for target in self.asked)
        estimated = estimate(states, math.prod(cardinalities))
        return SampledPosterior.of(scope, position, estimated, self.n_rows, method, unseen)
