"""`QueryPlan`: what a question will cost, as a record that prints as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgm.factors.size import format_bytes, format_cells, format_count
from pgm.factors.variable import Variable

if TYPE_CHECKING:
    from pgm.inference.planning import Plan

__all__ = ["PlannedStep", "QueryPlan"]

STEPS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step: tables joined, variables summed out, the table that comes out."""

    tables: tuple[tuple[str, ...], ...]
    """Scopes of the tables multiplied."""
    summed: tuple[str, ...]
    """Variables summed out."""
    scope: tuple[str, ...]
    """Variables of the result."""
    cells: int
    """Cells of the clique of the step, which is never stored as a table."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a question would be answered and what that would cost; no probability is touched.

    Printing it shows the steps.
    """

    targets: tuple[str, ...]
    """Variables asked for; empty for the probability of the evidence or for all marginals."""
    observed: tuple[str, ...]
    """Variables observed."""
    order: tuple[str, ...]
    """Elimination order; variables that cannot matter are not in it."""
    heuristic: str
    """The greedy rule that found the order."""
    steps: tuple[PlannedStep, ...]
    """The steps, first to last."""
    largest_table: int
    """Cells of the largest table stored."""
    operations: int
    """Multiplications of the forward pass."""
    memory: int
    """Upper bound of the bytes that the tables take at once."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        memory: int | None,
        variables: Sequence[Variable],
        targets: Sequence[int],
        observed: Sequence[int],
    ) -> QueryPlan:
        """Return the record of a plan; without a better bound of its memory, all its tables are added up."""
        if memory is None:
            memory = 8 * sum(plan.cells(axes) for axes in (*plan.axes, plan.kept))

        def names(numbers: Sequence[int]) -> tuple[str, ...]:
            return tuple(variables[number].name for number in numbers)

        steps = tuple(
            PlannedStep(
                tuple(names(plan.scopes[operand]) for operand in step.operands),
                names(step.summed),
                names(step.scope),
                plan.cells((*step.scope, *step.summed)),
            )
            for step in plan.steps
        )
        return cls(
            names(targets), names(observed), names(plan.order), plan.heuristic, steps,
            plan.largest_table, plan.operations, memory,
        )  # fmt: skip

    def __str__(self) -> str:
        asked = ", ".join(self.targets) or "-"
        head = [
            f"targets {asked}; observed {', '.join(self.observed) or '-'}",
            f"{len(self.order)} variables to sum out, order by {self.heuristic}; largest table "
            f"{format_cells(self.largest_table)}, {format_count(self.operations)} multiplications, "
            f"{format_bytes(self.memory)}",
        ]
        lines = []
        for number, step in enumerate(self.steps[:STEPS_SHOWN], start=1):
            joined = " * ".join(f"[{', '.join(scope)}]" for scope in step.tables)
            sums = f" sum over {', '.join(step.summed)}" if step.summed else ""
            lines.append(f"{number:4}. {joined}{sums} -> [{', '.join(step.scope)}]  {format_cells(step.cells)}")
        if len(self.steps) > STEPS_SHOWN:
            lines.append(f"      ... {len(self.steps) - STEPS_SHOWN} more steps")
        return "\n".join([*head, *lines])
