"""Branch and bound over the presence of edges: the best bound first, until no better graph can be left.

A node of the search tree is a set of families still allowed. Its bound comes from the linear relaxation, which cuts
tighten round by round; families that the bound rules out are dropped, and so are those that would close a cycle with
the edges that are certain by now. What is left is split at an edge: present, or absent. All decisions rest on the
bounds of `pgm.learning.exact.certificate`, and all limits are counts, so that a search can be repeated.

References
----------
Bartlett and Cussens (2017), *Artificial Intelligence* 244, 258-271. Achterberg, Koch and Martin (2005), *Operations
Research Letters* 33, 42-54 (strong branching).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.cuts import NoGoodCut
from pgm.learning.exact.family_columns import FamilyColumns
from pgm.learning.exact.incumbents import Columns, Incumbents, closure
from pgm.learning.exact.relaxation import Relaxation, Solution
from pgm.learning.exact.separation import edge_weights, violated_cuts

__all__ = ["RESOLUTION", "BranchAndBound", "Round", "propagate"]

RESOLUTION = 1e-6
"""Costs that differ by less are taken as equal, so long as their numbers are of a size that tells them apart."""

_FEW = 5
"""Cuts in a round that are too few to go on as before."""
_SHRINK = 0.7
"""Columns of the linear program are deleted when less than this part of them is left."""
_CANDIDATES = 20
"""Edges that are tried at both values before branching on one."""


class _Patience(NamedTuple):
    """How long a node of the tree is worked on before it is split."""

    first_effort: int
    last_effort: int
    rounds: int
    """Rounds in a row that may gain little before more effort is made."""
    little: float
    """What part of the gap is little."""


_AT_ROOT = _Patience(0, 3, 4, 0.02)
_BELOW = _Patience(1, 2, 3, 0.03)


class Round(NamedTuple):
    """The state after a round of cuts."""

    n_nodes: int
    n_cuts: int
    n_families: int
    best: float
    """Cost of the best graph known."""
    bound: float
    """No graph costs less."""


@dataclass(order=True)
class _Node:
    bound: float
    number: int
    allowed: NDArray[np.bool_] = field(compare=False)


class BranchAndBound:
    """The search tree for given families and known graphs.

    Parameters
    ----------
    families
        The columns.
    incumbents
        The best graphs, at least one; better ones are added.
    report
        Called after every round.
    """

    def __init__(
        self, families: FamilyColumns, incumbents: Incumbents, report: Callable[[Round], object] = lambda _: None
    ) -> None:
        self.n_nodes = 0
        """Nodes of the tree worked on."""
        self._families = families
        self._incumbents = incumbents
        self._report = report
        self._relaxation = Relaxation(families, incumbents.cost)
        largest = float(np.abs(families.score).max()) * families.n_variables
        self._resolution = RESOLUTION + 64 * np.finfo(float).eps * largest
        self._alive = np.ones(len(families.cost), bool)  # not ruled out anywhere in the tree
        self._excluded: set[Columns] = set()
        self._open: list[_Node] = [_Node(0.0, 0, self._alive.copy())]
        self._current: _Node | None = None
        self._closed = math.inf
        self._numbers = 1

    @property
    def bound(self) -> float:
        """No graph costs less, apart from those among the incumbents."""
        nodes = [*self._open[:1], *([] if self._current is None else [self._current])]
        return min([self._closed, *(node.bound for node in nodes)])

    @property
    def is_done(self) -> bool:
        """Whether no better graph is left."""
        return self.bound >= self._threshold or (not self._open and self._current is None)

    @property
    def _threshold(self) -> float:
        """The bound from which a node is of no interest."""
        return self._incumbents.cutoff - self._resolution

    def run(self, max_nodes: int | None = None) -> None:
        """Work until the best graphs are proved to be the best, or so many nodes have been worked on.

        When interrupted, bounds and best graphs hold what was proved and found.
        """
        while self._open and not self.is_done and (max_nodes is None or self.n_nodes < max_nodes):
            self._current = self._open[0]  # first noted, then taken: an interrupt loses no node
            heapq.heappop(self._open)
            self.n_nodes += 1
            self._work_on(self._current)
            self._current = None

    # ------------------------------------------------------------------ one node

    def _work_on(self, node: _Node) -> None:
        """Tighten the bound of a node until it can be closed, or cuts stop helping; then split it."""
        patience = _AT_ROOT if self.n_nodes == 1 else _BELOW
        effort, idle = patience.first_effort, 0
        while True:
            before = node.bound
            solution = self._bounded(node)
            if solution is None:
                return
            edges = edge_weights(self._families, solution.weights)
            self._incumbents.round(solution.weights, edges)
            new_graphs = self._exclude_known()
            if node.bound >= self._threshold:
                self._close(node.bound)
                return
            gained = node.bound - before
            if gained > self._resolution:
                self._relaxation.drop_slack()
            cuts = violated_cuts(self._families, solution.weights, node.allowed, effort)
            self._tell()
            idle = idle + 1 if gained < patience.little * (self._incumbents.cutoff - node.bound) else 0
            if not new_graphs and (idle >= patience.rounds or len(cuts) < _FEW):
                effort, idle = effort + 1, 0
                if effort > patience.last_effort:
                    break
            self._relaxation.add(cuts)
        self._split(node, edges)

    def _bounded(self, node: _Node) -> Solution | None:
        """Solve the relaxation at a node and rule families out; None if the node is closed by that."""
        node.allowed &= self._alive
        if not propagate(self._families, node.allowed):
            return None
        if node.allowed.sum() == self._families.n_variables:
            self._close_leaf(tuple(np.flatnonzero(node.allowed).tolist()))
            return None
        solution = self._relaxation.solve(node.allowed)
        node.bound = max(node.bound, solution.proof.bound)
        if node.bound >= self._threshold:
            self._close(node.bound)
            return None
        node.allowed &= solution.proof.with_family <= self._incumbents.cutoff + self._resolution
        if self.n_nodes == 1:
            self._alive &= node.allowed
            if self._alive.sum() < _SHRINK * self._relaxation.n_columns:
                self._relaxation.keep(self._alive)
        return solution

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)

    def _close_leaf(self, columns: Columns) -> None:
        """Close a node that holds a single graph."""
        self._incumbents.offer(columns)
        self._exclude_known()
        if columns not in self._excluded and not self._incumbents.holds(columns):
            self._close(math.fsum(self._families.cost[list(columns)]))

    def _exclude_known(self) -> bool:
        """Where several graphs are wanted, exclude those that are known from the relaxation; return whether any is new.

        With one, the cutoff excludes it.
        """
        new = [columns for _, columns in self._incumbents.graphs if columns not in self._excluded]
        if self._incumbents.wanted == 1 or not new:
            return False
        self._excluded.update(new)
        self._relaxation.add([NoGoodCut(columns) for columns in new])
        return True

    def _tell(self) -> None:
        families = int(self._alive.sum())
        self._report(Round(self.n_nodes, self._relaxation.n_cuts, families, self._incumbents.cost, self.bound))

    # ------------------------------------------------------------------ branching

    def _split(self, node: _Node, edges: NDArray[np.float64]) -> None:
        """Put the two halves of a node, with an edge and without it, among the open nodes.

        Of the most fractional edges the one is taken whose halves have the best bounds.
        """
        fractional = np.minimum(edges, 1 - edges)
        undecided = _undecided(self._families, node.allowed)
        most = np.argsort(np.where(undecided, -fractional, np.inf), axis=None, kind="stable")[:_CANDIDATES]
        best: tuple[float, list[_Node]] = (-math.inf, [])
        for place in most.tolist():
            parent, child = divmod(place, len(edges))
            if not undecided[parent, child] or (fractional[parent, child] < RESOLUTION and best[1]):
                continue
            halves = [self._half(node, parent, child, present) for present in (True, False)]
            gains = sorted(min(half.bound, self._incumbents.cutoff) - node.bound for half in halves)
            merit = max(gains[0], RESOLUTION) * max(gains[1], RESOLUTION)
            if merit > best[0]:
                best = merit, halves
            if all(half.bound >= self._threshold for half in halves):
                break
        for half in best[1]:
            if half.bound >= self._threshold:
                self._close(half.bound)
            else:
                heapq.heappush(self._open, half)

    def _half(self, node: _Node, parent: int, child: int, present: bool) -> _Node:
        """Return the part of a node with an edge, or without it; its bound is infinite if there is none."""
        families = self._families
        allowed = node.allowed & ~((families.child == child) & (families.parents[:, parent] != present))
        self._numbers += 1
        if not propagate(families, allowed):
            return _Node(math.inf, self._numbers, allowed)
        proof = self._relaxation.solve(allowed).proof
        allowed &= proof.with_family <= self._incumbents.cutoff + self._resolution
        return _Node(max(node.bound, proof.bound), self._numbers, allowed)


def propagate(families: FamilyColumns, allowed: NDArray[np.bool_]) -> bool:
    """Rule out families that close a cycle with edges that are certain, in place; return whether a graph may be left.

    An edge is certain if all families still allowed to its child have it.
    """
    starts = families.starts
    while np.logical_or.reduceat(allowed, starts).all():
        certain = np.logical_and.reduceat(families.parents | ~allowed[:, None], starts).T
        below = closure(certain)
        if below.diagonal().any():
            return False
        closing = allowed & (families.parents & below[families.child]).any(axis=1)
        if not closing.any():
            return True
        allowed &= ~closing
    return False


def _undecided(families: FamilyColumns, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which edges some allowed families have and others lack, shape (parents, children)."""
    starts = families.starts
    some = np.logical_or.reduceat(families.parents & allowed[:, None], starts)
    every = np.logical_and.reduceat(families.parents | ~allowed[:, None], starts)
    return (some & ~every).T
