"""Plans: in which steps to multiply tables and sum variables out, decided from scopes and cardinalities alone.

Variable elimination (Koller and Friedman 2009, section 9.3) takes the variables in some order, multiplies the tables
that contain the next one and sums it out. A :class:`Plan` writes that down as steps over numbered nodes: the first
nodes are the given tables, each step makes one more. A step joins few tables and sums, in the same operation, every
variable that no other table contains, so the table over the whole clique is never built. The steps form a forest
whose roots hold the answer; :mod:`pgm.inference.contraction` runs it forward for sums and backward for derivatives.

A plan depends on which variables are observed, never on what was observed, so it can be kept and used again.

Tables that sum to one. A table that is still a conditional distribution of variables whose own descendants hold no
evidence becomes all ones when they are summed out (barren variables). The plan knows such nodes (*unit*): they
cost nothing forward, yet keep their place in the forest, so that the backward pass finds their marginals.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pgm.errors import TooLargeError
from pgm.factors.size import format_bytes, format_cells
from pgm.graph.elimination import best_order, interaction_graph

__all__ = ["Plan", "Step", "make_plan"]

FUSED_CELLS = 512
"""Tables whose joint scope has at most so many cells are joined in one step rather than in pairs."""

FUSED_TABLES = 4
"""At most so many tables are joined in one step."""

PAIRWISE_TABLES = 24
"""Up to so many tables the cheapest pair is looked for among all pairs; beyond, the two smallest are joined."""


class Step(NamedTuple):
    """Multiply the operands and sum out what no other table contains."""

    operands: tuple[int, ...]
    """Nodes multiplied."""
    scope: tuple[int, ...]
    """Variables of the result."""
    summed: tuple[int, ...]
    """Variables summed out."""


class Plan(NamedTuple):
    """The steps that contract given tables; nodes are the tables, then the steps in order."""

    cardinalities: tuple[int, ...]
    """Number of states by variable."""
    scopes: tuple[tuple[int, ...], ...]
    """Scope of every node."""
    axes: tuple[tuple[int, ...], ...]
    """The part of each node's scope on which its values depend; empty for a unit node."""
    units: tuple[bool, ...]
    """Which nodes are known to be all ones."""
    n_tables: int
    """Number of given tables."""
    steps: tuple[Step, ...]
    """The contraction."""
    roots: tuple[int, ...]
    """Nodes that no step takes; their scopes lie within ``kept``."""
    kept: tuple[int, ...]
    """Variables not summed out."""
    order: tuple[int, ...]
    """The elimination order."""
    heuristic: str
    """The rule that found the order."""
    rows: int | None = None
    """The variable that numbers the rows of a batch; always on the last axis."""

    def cells(self, variables: Iterable[int]) -> int:
        """Return the number of cells of a table over the variables."""
        return math.prod(self.cardinalities[variable] for variable in variables)

    def joint_scope(self, step: Step) -> tuple[int, ...]:
        """Return the scope of the clique of a step: its result's variables and those it sums out."""
        return (*step.scope, *step.summed)

    @property
    def largest_stored(self) -> int:
        """Cells of the largest table of any node."""
        return max((self.cells(axes) for axes in self.axes), default=1)

    @property
    def largest_table(self) -> int:
        """Cells of the largest table that is stored, the joint of the kept variables among them."""
        return max(self.cells(self.kept), self.largest_stored)

    def check_memory(self, budget: int, what: str, needed: int | None = None) -> None:
        """Raise if the tables would take more bytes than the budget.

        Parameters
        ----------
        budget
            Bytes allowed.
        what
            The question, for the message.
        needed
            Bytes needed at once, where that is known better than from the largest table alone.

        Raises
        ------
        TooLargeError
            With the numbers.
        """
        size = self.largest_table * 8 if needed is None else needed
        if size > budget:
            largest, limit = format_cells(self.largest_table), format_bytes(budget)
            raise TooLargeError(
                f"{what} needs tables of {format_bytes(size)} at once, the largest of {largest}; "
                f"the memory budget is {limit}"
            )

    @property
    def operations(self) -> int:
        """Multiplications of the forward pass."""
        total = 0
        for node, step in enumerate(self.steps, start=self.n_tables):
            real = [operand for operand in step.operands if not self.units[operand]]
            joint = {variable for operand in real for variable in self.axes[operand]}
            total += 0 if self.units[node] else self.cells(joint) * max(1, len(real) - 1)
        return total


class _Forest:
    """The nodes made so far and, for every variable, those that still contain it."""

    def __init__(self, scopes: Sequence[tuple[int, ...]], heads: Sequence[int | None], plan_for: _Problem) -> None:
        self.problem = plan_for
        self.scopes = list(scopes)
        self.axes = list(scopes)
        self.units = [False] * len(scopes)
        self.heads: list[frozenset[int] | None] = [None if head is None else frozenset((head,)) for head in heads]
        self.steps: list[Step] = []
        self.buckets: list[dict[int, None]] = [{} for _ in plan_for.cardinalities]  # a dict keeps insertion order
        for node, scope in enumerate(scopes):
            for variable in scope:
                self.buckets[variable][node] = None

    def size(self, variables: Iterable[int]) -> int:
        cardinalities = self.problem.cardinalities
        return math.prod([cardinalities[variable] for variable in variables])

    def join(self, operands: Sequence[int]) -> int:
        """Add the step that joins the operands; return its node."""
        scope: dict[int, None] = {}
        axes: set[int] = set()
        heads: frozenset[int] | None = frozenset()
        for operand in operands:
            scope.update(dict.fromkeys(self.scopes[operand]))
            axes.update(self.axes[operand])
            own = self.heads[operand]
            heads = None if heads is None or own is None else heads | own
            for variable in self.scopes[operand]:
                del self.buckets[variable][operand]
        summed = tuple(v for v in scope if not self.buckets[v] and v not in self.problem.kept)
        left = tuple(sorted((v for v in scope if v not in summed), key=self.problem.layout))
        node = len(self.scopes)
        unit = heads is not None and heads.isdisjoint(left)
        self.steps.append(Step(tuple(operands), left, summed))
        self.scopes.append(left)
        self.axes.append(() if unit else tuple(v for v in left if v in axes))
        self.units.append(unit)
        self.heads.append(heads)
        for variable in left:
            self.buckets[variable][node] = None
        return node

    def join_all(self, nodes: list[int]) -> None:
        """Join the nodes of a bucket, in one step if the tables are small, else by the cheapest pairs first."""
        joint = {variable for node in nodes for variable in self.scopes[node]}
        if len(nodes) <= FUSED_TABLES and self.size(joint) <= FUSED_CELLS:
            self.join(nodes)
        elif len(nodes) > PAIRWISE_TABLES:
            self._join_smallest(nodes)
        else:
            self._join_cheapest(nodes)

    def _join_cheapest(self, nodes: list[int]) -> None:
        left = list(nodes)
        costs = {(a, b): self._cost(a, b) for i, a in enumerate(left) for b in left[i + 1 :]}
        while len(left) > 1:
            pair = min(costs, key=lambda key: (costs[key], key)) if len(left) > 2 else (left[0], left[1])
            node = self.join(pair)
            left = [other for other in left if other not in pair]
            costs = {key: cost for key, cost in costs.items() if key[0] not in pair and key[1] not in pair}
            costs.update({(other, node): self._cost(other, node) for other in left})
            left.append(node)

    def _cost(self, a: int, b: int) -> int:
        return self.size(set(self.scopes[a]).union(self.scopes[b]))

    def _join_smallest(self, nodes: list[int]) -> None:
        heap = [(self.size(self.scopes[node]), node) for node in nodes]
        heapq.heapify(heap)
        while len(heap) > 1:
            _, a = heapq.heappop(heap)
            _, b = heapq.heappop(heap)
            node = self.join((a, b))
            heapq.heappush(heap, (self.size(self.scopes[node]), node))


class _Problem(NamedTuple):
    cardinalities: tuple[int, ...]
    kept: frozenset[int]
    rank: dict[int, int]
    rows: int | None

    def layout(self, variable: int) -> int:
        """Sort axes so that what is eliminated first comes last, what is kept comes first, and rows after all."""
        return 1 if variable == self.rows else -self.rank.get(variable, len(self.cardinalities))


def make_plan(
    scopes: Sequence[tuple[int, ...]],
    cardinalities: Sequence[int],
    kept: Sequence[int] = (),
    heads: Sequence[int | None] | None = None,
    order: Sequence[int] | None = None,
    rows: int | None = None,
) -> Plan:
    """Return the plan that multiplies tables and sums out all variables but those kept.

    Parameters
    ----------
    scopes
        The variables, as numbers, of each table.
    cardinalities
        Number of states by variable.
    kept
        Variables that are not summed out.
    heads
        For each table the variable of which it is a conditional distribution, or None if it is not one (any more).
    order
        An elimination order to use instead of the best one found. It must hold every variable to sum out; others in it
        do not matter.
    rows
        A variable that numbers the rows of a batch: it is kept, always on the last axis, and no part of the graph.

    Examples
    --------
    >>> plan = make_plan([(0,), (0, 1), (1, 2)], [2, 2, 2], kept=[2])
    >>> [(step.operands, step.scope) for step in plan.steps]
    [((0, 1), (1,)), ((2, 3), (2,))]
    """
    keep = frozenset(kept) if rows is None else frozenset((*kept, rows))
    present = 0
    for scope in scopes:
        for variable in scope:
            present |= 1 << variable
    for variable in keep:
        present &= ~(1 << variable)
    if order is None:
        shapes = scopes if rows is None else [[v for v in scope if v != rows] for scope in scopes]
        neighbours = interaction_graph(shapes, len(cardinalities))
        found = best_order(neighbours, cardinalities, present)
        order, heuristic = found.order, found.heuristic
    else:
        order = [variable for variable in order if present >> variable & 1]
        heuristic = "given"
    rank = {variable: position for position, variable in enumerate(order)}
    problem = _Problem(tuple(cardinalities), keep, rank, rows)
    forest = _Forest(scopes, heads if heads is not None else [None] * len(scopes), problem)
    for variable in order:
        nodes = list(forest.buckets[variable])
        if len(nodes) == 1:
            forest.join(nodes)
        elif nodes:
            forest.join_all(nodes)
    taken = {operand for step in forest.steps for operand in step.operands}
    roots = tuple(node for node in range(len(forest.scopes)) if node not in taken)
    return Plan(
        problem.cardinalities,
        tuple(forest.scopes),
        tuple(forest.axes),
        tuple(forest.units),
        len(scopes),
        tuple(forest.steps),
        roots,
        tuple(kept),
        tuple(order),
        heuristic,
        rows,
    )
