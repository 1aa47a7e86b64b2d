"""Greedy structure search: from a starting graph, take the best move until no move gains.

A move adds, deletes or reverses one edge. Since a score is a sum over families, the gain of adding or deleting
``i -> j`` depends on the parents of j only: gains are kept in a matrix, and a move makes one or two of its columns out
of date. A column is one pass over the data, because the family's table extended by each other variable yields every
addition, and its sums every deletion.

The search is deterministic: ties go to the move that comes first in column order, additions before deletions before
reversals, which is also the rule of R's bnlearn. So the direction of an edge that the data cannot tell may depend on
the order of the columns, but on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data import count_source
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_limit
from pgm.learning.family_scores import FamilyScores
from pgm.learning.result import Move, MoveKind, SearchResult
from pgm.learning.scores import Score, get_score
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["hill_climb"]

_Pairs: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Edges as the positions of their parents and of their children."""

TOLERANCE = math.sqrt(np.finfo(float).eps)
"""A move must gain more than this, and more than this over an earlier move to be preferred to it."""


def hill_climb(
    data: object,
    score: str | Score = "bic",
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    max_iter: int | None = None,
    progress: bool = True,
) -> SearchResult:
    """Return a graph that no single addition, deletion or reversal of an edge improves.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        ``"bic"``, ``"aic"``, ``"loglik"``, or a score object.
    required, forbidden
        Edges (parent, child) that the graph must have, and must not have. A required edge is never deleted or reversed;
        forbidding an edge does not forbid its reverse.
    tiers
        Lists of names in order of time: no edge leads from a later list to an earlier one. Variables in no list are
        free: they may have edges from and to all others.
    max_parents
        Largest number of parents of a node; required edges count.
    start
        Where to start: a graph or a network on some or all of the columns; default: the graph without edges. Required
        edges are added to it. It must keep to the constraints; an edge too many is an error and not dropped.
    max_iter
        Largest number of moves; the result may then not be a local optimum.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Raises
    ------
    GraphError
        For constraints that cannot hold together, and a starting graph that breaks one; names the edges.
    UnknownNameError
        For an unknown score, and names that are no columns.
    MissingDataError
        If cells are missing.
    TooLargeError
        If the table of a family, extended by every variable, and the work on it would exceed the memory budget: set
        ``max_parents``, and leave out columns that tell rows apart.

    Notes
    -----
    One pass over the distinct rows for every node, and one or two for every move. Data whose every single move is a tie
    (exclusive-or) give no edges.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, section 18.4.3. Heckerman, Geiger and Chickering
    (1995), *Machine Learning* 20, 197-243. Scutari (2010), *Journal of Statistical Software* 35(3).

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0] * 6
    >>> result = hill_climb({"a": a, "b": b, "c": [0] * 24 + [1] * 24})
    >>> result.dag.edges, round(result.score, 3)
    ((('a', 'b'),), -101.277)
    """
    source = count_source(data)
    names = [variable.name for variable in source.variables]
    constraints = Constraints(names, required, forbidden, tiers, max_parents)
    max_iter = checked_limit("max_iter", max_iter)
    state = _State(constraints, constraints.starting_graph(start), FamilyScores(source, score))
    trace: list[Move] = []
    with Progress("hill climbing", total=max_iter, show=progress) as bar:
        while max_iter is None or len(trace) < max_iter:
            move = state.best_move()
            if move is None:
                break
            kind, parent, child, delta = move
            state.apply(kind, parent, child)
            trace.append(Move(kind, (names[parent], names[child]), delta, state.score))
            bar.step(score=f"{state.score:.3f}")
    return SearchResult(state.graph(), state.score, get_score(score).name, tuple(trace), state.scores.n_scores)


class _State:
    """The graph of the search, as matrices over pairs of nodes."""

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

    def graph(self) -> DAG:
        """Return the present graph."""
        pairs = np.argwhere(self._edges.T)
        return DAG([(self._names[parent], self._names[child]) for child, parent in pairs], self._names)

    def best_move(self) -> tuple[MoveKind, int, int, float] | None:
        """Return the move (kind, parent, child, gain) to take, or None if none gains."""
        tolerance = max(TOLERANCE, 16 * np.finfo(float).eps * abs(self.score))  # never below rounding
        best: tuple[MoveKind, int, int, float] | None = None
        for kind, (parents, children) in self._legal_moves(tolerance):
            gains = self._delta[parents, children]
            if kind == "reverse":
                gains = gains + self._delta[children, parents]
            position = _first_best(gains, tolerance, 0.0 if best is None else best[3])
            if position is not None:
                best = kind, int(parents[position]), int(children[position]), float(gains[position])
        return best

    def apply(self, kind: MoveKind, parent: int, child: int) -> None:
        """Change the graph by one move, and bring the gains up to date."""
        if kind == "add":
            self._insert(parent, child)
        else:
            self._remove(parent, child)
        self._update(child)
        if kind == "reverse":
            self._insert(child, parent)
            self._update(parent)

    # ------------------------------------------------------------------ legal moves

    def _legal_moves(self, tolerance: float) -> Iterator[tuple[MoveKind, _Pairs]]:
        """Iterate over the kinds of move and the edges, in column order, to which each may be done.

        An edge may be added unless the child is an ancestor of the parent, and reversed unless another path joins its
        ends. Additions that gain nothing, which are most, are left out here.
        """
        room = self._edges.sum(axis=0) < self._limit
        closes_cycle = self._ancestors
        legal = self._allowed & ~self._edges & ~closes_cycle & room
        parents, children = np.nonzero(legal & (self._delta > tolerance))
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
        better = gains[start:] - best > tolerance
        step = int(better.argmax())
        if not better[step]:
            break
        winner = start + step
        best = float(gains[winner])
        start = winner + 1
    return winner
