"""`Explanation`: a joint state with its probability, as a record that prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pgm.factors.variable import Label
from pgm.inference.records import Record

__all__ = ["Explanation"]


@dataclass(frozen=True, slots=True)
class Explanation(Record):
    """A joint state that explains the evidence, and how probable it is."""

    assignment: Mapping[str, Label]
    """``{name: state}`` of the variables explained, in declared order or the order asked."""
    log_probability: float
    """ln P(assignment | evidence)."""
    log_joint: float
    """ln P(assignment, evidence)."""

    @property
    def probability(self) -> float:
        """P(assignment | evidence); 0.0 where only the logarithm can still be told."""
        return math.exp(self.log_probability)

    def __str__(self) -> str:
        states = ", ".join(f"{name}={label}" for name, label in self.assignment.items())
        return f"{states or 'nothing left to explain'}  (log-probability {self.log_probability:.6g})"
