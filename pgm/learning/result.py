"""`SearchResult`: what a structure search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from pgm.graph.base import Edge
from pgm.graph.dag import DAG

__all__ = ["Move", "MoveKind", "SearchResult", "Stage"]

MoveKind: TypeAlias = Literal["add", "delete", "reverse"]

_SHOWN = 20
"""Moves that a printed result lists."""


class Move(NamedTuple):
    """One step of a search from a graph to a neighbour."""

    kind: MoveKind
    edge: Edge
    """The edge (parent, child) as it was before the move, or as it was added."""
    delta: float
    """Gain in score."""
    score: float
    """Score of the graph after the move."""

    def __str__(self) -> str:
        return f"{self.kind:8}{self.edge[0]} -> {self.edge[1]}   {self.delta:+.4f}   {self.score:.4f}"


class Stage(NamedTuple):
    """One part of a search that is more than single moves."""

    description: str
    """What was done."""
    score: float
    """Score of the best graph after it."""

    def __str__(self) -> str:
        return f"{self.description}   {self.score:.4f}"


@dataclass(frozen=True, repr=False)
class SearchResult:
    """The graph that a structure search found.

    Printing it shows the summary and the moves; its fields hold everything.
    """

    dag: DAG
    """The best graph found."""
    score: float
    """Its score; higher is better."""
    score_name: str
    """Which score that is."""
    trace: tuple[Move | Stage, ...]
    """The moves, or the stages, from the starting graph to this one."""
    n_scores: int
    """Work done: number of local scores computed."""
    method: str = field(default="hill climbing", kw_only=True)
    """How the graph was found."""

    def __repr__(self) -> str:
        graph = f"{len(self.dag.nodes)} nodes, {len(self.dag.edges)} edges"
        work = f"{len(self.trace)} {self._steps()}, {self.n_scores} local scores"
        return f"<{type(self).__name__}: {self.score_name} {self.score:.4f}, {graph}, {self.method}, {work}>"

    def _steps(self) -> str:
        return "stages" if any(isinstance(step, Stage) for step in self.trace) else "moves"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], *(f"  {step}" for step in self.trace[:_SHOWN])]
        if len(self.trace) > _SHOWN:
            lines.append(f"  ... {len(self.trace) - _SHOWN} more {self._steps()}")
        return "\n".join(lines)
