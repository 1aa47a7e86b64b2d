"""The neighbours of a graph: the moves that a greedy search chooses from, and what each gains.

A move adds, deletes or reverses one edge. Since a score is a sum over families, the gain of adding or deleting
``i -> j`` depends on the parents of j only: gains are kept in a matrix, and a move makes one or two of its columns out
of date. A column is one pass over the data, because the family's table extended by each other variable yields every
addition, and its sums every deletion.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TableError
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints
from pgm.learning.result import Move, MoveKind
from pgm.learning.scores.family_scores import FamilyScores

__all__ = ["Neighbourhood", "Step"]

_Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Edges as the positions of their parents and of their children."""

TOLERANCE = math.sqrt(np.finfo(float).eps)
"""A move must gain more than this, and more than this over an earlier move to be preferred to it."""

_PROMISED = 1e-6
"""Share of the score by which what a move gains may differ from what it was said to gain; scores may be 32-bit."""


class Step(NamedTuple):
    """A move, by positions of nodes."""

    kind: MoveKind
    parent: int
    child: int
    gain: float


class Neighbourhood:
    """The graph of a search, as matrices over pairs of nodes, and the moves from it.

    Parameters
    ----------
    constraints
        What is required and forbidden.
    start
        The first graph; it keeps to the constraints.
    scores
        The local scores of the data.
    """

    def __init__(self, constraints: Constraints, start: DAG, scores: FamilyScores) -> None:
        n_nodes = len(constraints.names)
        self.scores = scores
        self._names = constraints.names
        self._allowed = constraints.allowed
        self._limit = n_nodes if constraints.max_parents is None else constraints.max_parents
        self._required = np.zeros((n_nodes, n_nodes), bool)
        self._edges = np.zeros((n_nodes, n_nodes), bool)
        self._ancestors = np.eye(n_nodes, dtype=bool)  # row: a node; column: whether that node is above it, or itself
        self._delta = np.zeros((n_nodes, n_nodes))
        self._local = np.zeros(n_nodes)
        for parent, child in constraints.required:
            self._required[start.index(parent), start.index(child)] = True
        for parent, child in start.edges:
            self._insert(start.index(parent), start.index(child))
        for node in range(n_nodes):
            self._update(node)

    @property
    def score(self) -> float:
        """Score of the present graph."""
        return math.fsum(self._local)

    @property
    def tolerance(self) -> float:
        """Scores that differ by no more are equal; never below rounding."""
        return max(TOLERANCE, 16 * float(np.finfo(float).eps) * abs(self.score))

    def graph(self) -> DAG:
        """Return the present graph."""
        pairs = np.argwhere(self._edges.T)
        return DAG([(self._names[parent], self._names[child]) for child, parent in pairs], self._names)

    def best_step(self, baseline: float = 0.0, banned: Collection[tuple[MoveKind, int, int]] = ()) -> Step | None:
        """Return the best move that gains more than ``baseline``, or None; ties go to the first.

        Parameters
        ----------
        baseline
            0 asks for an improvement, minus infinity for the smallest loss.
        banned
            Moves (kind, parent, child) not to take.
        """
        tolerance = self.tolerance
        best: Step | None = None
        for kind, (parents, children) in self._legal_moves(baseline + tolerance):
            gains = self._delta[parents, children]
            if kind == "reverse":
                gains = gains + self._delta[children, parents]
            for other, parent, child in banned:
                if other == kind:
                    gains[(parents == parent) & (children == child)] = -math.inf
            position = _first_best(gains, tolerance, baseline if best is None else best.gain)
            if position is not None:
                best = Step(kind, int(parents[position]), int(children[position]), float(gains[position]))
        return best

    def legal_steps(self) -> list[Step]:
        """Return all legal moves, whatever they gain."""
        found = []
        for kind, (parents, children) in self._legal_moves(-math.inf):
            gains = self._delta[parents, children]
            if kind == "reverse":
                gains = gains + self._delta[children, parents]
            moves = zip(parents.tolist(), children.tolist(), gains.tolist(), strict=True)
            found += [Step(kind, parent, child, gain) for parent, child, gain in moves]
        return found

    def take(self, step: Step) -> Move:
        """Change the graph by one move, and bring the gains up to date; return the move in names.

        Raises
        ------
        TableError
            If the score does not change as the gain says; that of a random score does not, and the search would not
            end.
        """
        kind, parent, child, gain = step
        before, tolerance = self.score, self.tolerance
        if kind == "add":
            self._insert(parent, child)
        else:
            self._remove(parent, child)
        self._update(child)
        if kind == "reverse":
            self._insert(child, parent)
            self._update(parent)
        move = Move(kind, (self._names[parent], self._names[child]), gain, self.score)
        far = abs(move.score - before - gain) > _PROMISED * max(1.0, float(np.abs(self._local).sum()))
        if far or (gain > tolerance and move.score <= before):
            edge = f"{move.edge[0]} -> {move.edge[1]}"
            raise TableError(
                f"score {self.scores.measure.name!r}: to {kind} {edge} should change the total of {before:.10g} by "
                f"{gain:.4g}, but it becomes {move.score:.10g}; a score must be the same whenever it is given the same "
                f"counts, in whatever order the configurations of the parents come"
            )
        return move

    def key(self) -> int:
        """Return the graph as a number, bit ``parent * n + child`` set for every edge."""
        places = np.flatnonzero(self._edges).tolist()
        return sum(1 << place for place in places)

    # ------------------------------------------------------------------ legal moves

    def _legal_moves(self, least: float) -> Iterator[tuple[MoveKind, _Pairs]]:
        """Iterate over the kinds of move and the edges, in column order, to which each may be done.

        An edge may be added unless the child is an ancestor of the parent, and reversed unless another path joins its
        ends. Additions that gain no more than ``least`` are left out here: most, where a gain is wanted.
        """
        room = self._edges.sum(axis=0) < self._limit
        closes_cycle = self._ancestors
        legal = self._allowed & ~self._edges & ~closes_cycle & room
        parents, children = np.nonzero(legal & (self._delta > least))
        yield "add", (parents, children)
        parents, children = np.nonzero(self._edges & ~self._required)
        yield "delete", (parents, children)
        paths = self._edges[parents] & self._ancestors[children]  # by their first node after the parent
        chosen = (paths.sum(axis=1) == 1) & self._allowed[children, parents] & room[parents]
        yield "reverse", (parents[chosen], children[chosen])

    # ------------------------------------------------------------------ keeping the matrices up to date

    def _update(self, child: int) -> None:
        """Compute the column of gains of ``child`` for its present parents."""
        parents = tuple(np.flatnonzero(self._edges[:, child]).tolist())
        self._local[child], self._delta[:, child] = self.scores.neighbours(child, parents, len(parents) < self._limit)

    def _insert(self, parent: int, child: int) -> None:
        self._edges[parent, child] = True
        self._ancestors[self._ancestors[:, child]] |= self._ancestors[parent]

    def _remove(self, parent: int, child: int) -> None:
        """Remove an edge; the ancestors of all nodes below it must be found again, from above."""
        self._edges[parent, child] = False
        below = np.flatnonzero(self._ancestors[:, child])
        n_ancestors = self._ancestors[below].sum(axis=1)
        for node in below[np.argsort(n_ancestors, kind="stable")]:
            self._ancestors[node] = self._ancestors[self._edges[:, node]].any(axis=0)
            self._ancestors[node, node] = True


def _first_best(gains: NDArray[np.float64], tolerance: float, best: float) -> int | None:
    """Return the position of the gain that wins a scan from the left, or None if none beats ``best``.

    A gain must exceed the best one so far by more than ``tolerance``, so that ties go to the first.

    >>> _first_best(np.array([1.0, 3.0, 3.0 + 1e-12, 2.0]), 1e-8, 0.0)
    1
    """
    winner, start = None, 0
    while start < len(gains):
        better = gains[start:] > best + tolerance
        step = int(better.argmax())
        if not better[step]:
            break
        winner = start + step
        best = float(gains[winner])
        start = winner + 1
    return winner
