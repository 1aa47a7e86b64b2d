"""Planting holes: cells made missing on purpose, to try out methods for incomplete data.

Missing completely at random: every cell of a column with the same probability. Missing at random: with a probability
that depends on the state of another column, which itself has no holes (Little and Rubin 2002, *Statistical Analysis
with Missing Data*, section 1.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pgm.errors import EvidenceError, UnknownNameError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.variable import Label, Variable
from pgm.inference.drawing import Columns, row_blocks

__all__ = ["Hole", "Missing", "code_missing", "plant"]

Missing: TypeAlias = float | Mapping[str, float | Mapping[str, Mapping[Label, float]]]
"""A fraction for all columns, or by name a fraction or ``{deciding name: {label: fraction}}``."""


class Hole(NamedTuple):
    """Where cells of one column go missing."""

    variable: int
    code: int
    """The code of a missing cell."""
    decider: int | None
    """The variable on whose state the fraction depends."""
    fractions: FloatArray
    """One fraction, or one for each state of the decider."""


def code_missing(variables: Sequence[Variable], index: Mapping[str, int], missing: Missing) -> tuple[Hole, ...]:
    """Return the holes to plant, by variable number.

    Raises
    ------
    UnknownNameError, UnknownStateError
        For a name or a label that does not exist.
    EvidenceError
        For a fraction outside 0 to 1, or a deciding column that has holes itself.
    """
    given = missing if isinstance(missing, Mapping) else dict.fromkeys(index, missing)
    holes = []
    for name, fraction in given.items():
        if name not in index:
            raise UnknownNameError(f"no variable {name!r} to make missing; the variables are {listing(index)}")
        number, decider = index[name], None
        if isinstance(fraction, Mapping):
            decider, fractions = _by_state(name, fraction, variables, index, given)
        else:
            fractions = np.array([_fraction(fraction, f"the missing fraction of {name!r}")])
        holes.append(Hole(number, variables[number].cardinality, decider, fractions))
    return tuple(sorted(holes, key=lambda hole: hole.variable))


def _by_state(
    name: str,
    rule: Mapping[str, Mapping[Label, float]],
    variables: Sequence[Variable],
    index: Mapping[str, int],
    holes: Mapping[str, Any],
) -> tuple[int, FloatArray]:
    """Return the deciding variable, and the fraction for each of its states; states not named have 0."""
    if len(rule) != 1 or not all(isinstance(by_label, Mapping) for by_label in rule.values()):
        raise EvidenceError(f"where {name!r} is missing is {{deciding name: {{label: fraction}}}}, not {rule!r}")
    ((decider, by_label),) = rule.items()
    if decider not in index:
        raise UnknownNameError(f"no variable {decider!r} to decide on {name!r}; the variables are {listing(index)}")
    if decider in holes:
        raise EvidenceError(f"{decider!r} decides where {name!r} is missing, so it cannot have missing cells itself")
    variable = variables[index[decider]]
    fractions = np.zeros(variable.cardinality)
    for label, fraction in by_label.items():
        what = f"the missing fraction of {name!r} where {decider}={label!r}"
        fractions[variable.code(label)] = _fraction(fraction, what)
    return index[decider], fractions


def _fraction(number: object, what: str) -> float:
    if isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool) and 0 <= number <= 1:
        return float(number)
    raise EvidenceError(f"{what} is a number from 0 to 1, not {number!r}")


def plant(holes: Sequence[Hole], columns: Columns, n_rows: int, generator: np.random.Generator) -> None:
    """Make cells missing, in place; one uniform number for each row and column that may have holes."""
    for block in row_blocks(n_rows, len(holes)) if holes else ():
        uniforms = generator.random((block.stop - block.start, len(holes)))
        for place, hole in enumerate(holes):
            fractions = hole.fractions if hole.decider is None else hole.fractions[columns[hole.decider][block]]
            columns[hole.variable][block][uniforms[:, place] < fractions] = hole.code
