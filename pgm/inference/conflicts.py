"""Impossible evidence: which few pieces of it cannot be true together.

The last piece of the shortest impossible beginning of the evidence belongs to a conflict. It is moved to the front, and
what follows is searched in the same way, until the pieces at the front are impossible by themselves. Then each of them
is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from pgm.errors import ImpossibleEvidenceError, TooLargeError
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.inference.evidence import Evidence

if TYPE_CHECKING:
    from pgm.inference.exact import ExactInference

__all__ = ["impossible"]

TRIALS = 100
"""How many parts of impossible evidence are tried in search of a small conflict."""

Piece: TypeAlias = tuple[int, int | FloatArray]
"""A variable, and its state or its likelihood."""


def impossible(engine: ExactInference, known: Evidence, memory_budget: int = MEMORY_BUDGET) -> ImpossibleEvidenceError:
    """Return the error that names a smallest part of the evidence that cannot happen.

    Where that cannot be found out within the memory budget, or not soon, a larger part is named.
    """
    pieces: list[Piece] = [*known.codes.items(), *known.likelihoods.items()]
    try:
        conflict, smallest = _conflict(engine, pieces, memory_budget)
    except TooLargeError:
        conflict, smallest = pieces, False
    named = ", ".join(
        f"{engine.variables[number].name}={engine.variables[number].states[what]!r}"
        if isinstance(what, int)
        else f"the likelihood of {engine.variables[number].name}"
        for number, what in sorted(conflict, key=lambda piece: piece[0])
        if number not in engine.reports
    )
    among = "in conflict" if smallest else "in conflict, among others that may not matter"
    return ImpossibleEvidenceError(f"the evidence has probability zero; {among}: {named}")


def _conflict(engine: ExactInference, pieces: Sequence[Piece], memory_budget: int) -> tuple[list[Piece], bool]:
    """Return a part of the evidence that is impossible, and whether each part of that is possible.

    Large conflicts cost many trials; after ``TRIALS`` what is left is returned as it is.
    """
    core: list[Piece] = []
    trials = 0
    while not _is_impossible(engine, core, memory_budget):
        low, high = 0, len(pieces)  # core + pieces[:low] is possible, core + pieces[:high] is not
        while high - low > 1:
            trials += 1
            if trials > TRIALS:
                return [*core, *pieces[:high]], False
            middle = (low + high) // 2
            if _is_impossible(engine, [*core, *pieces[:middle]], memory_budget):
                high = middle
            else:
                low = middle
        core.append(pieces[high - 1])
        pieces = pieces[: high - 1]
    return core, True


def _is_impossible(engine: ExactInference, pieces: Sequence[Piece], memory_budget: int) -> bool:
    codes = {number: what for number, what in pieces if isinstance(what, int)}
    vectors = {number: what for number, what in pieces if not isinstance(what, int)}
    return engine.is_impossible(Evidence(codes, vectors, 0.0), memory_budget)
