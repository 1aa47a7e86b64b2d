"""Greedy equivalence search: from class to class of DAGs that data cannot tell apart.

A search over DAGs spends its moves on directions that no data can decide, and gets stuck where the next good edge asks
for another member of the class. Greedy equivalence search takes the class as its state: it inserts the best edge into
whichever member it helps most, until none gains, then deletes, then turns (`pgm.learning.search.class_operators`). With
endless data from a network whose independences are those of its graph, inserting and deleting end at the class of that
graph; with the data there are, the end is a class that no insertion, deletion or turn in any member improves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import NamedTuple

import numpy as np

from pgm.data import count_source
from pgm.errors import GraphError, TableError
from pgm.graph.base import Edge, Names
from pgm.graph.clique_picking import bits
from pgm.graph.dag import DAG
from pgm.graph.pdag import PDAG
from pgm.learning.constraints import Constraints
from pgm.learning.result import Move, MoveKind, SearchResult
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import AnyScore, get_score
from pgm.learning.search.class_operators import EquivalenceClass, Operator, deletes, inserts, turns
from pgm.learning.search.neighbourhood import TOLERANCE
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["GESResult", "ges"]

_MANY = 3
"""So many families of one child with one parent more are cheaper to score in one pass over all variables."""


@dataclass(frozen=True, repr=False)
class GESResult(SearchResult):
    """The class that greedy equivalence search found, and one of its DAGs."""

    cpdag: PDAG = field(kw_only=True)
    """The graph of the class: undirected edges may go either way. With constraints, the DAGs of the class that keep to
    them, so that more edges may be directed."""


def ges(
    data: object,
    score: AnyScore = "bic",
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    turning: bool = True,
    progress: bool = True,
) -> GESResult:
    """Return a class of equivalent graphs that no added, deleted or turned edge in any of its members improves.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name such as ``"bic"``, or a score object; it must be the same for all graphs of a class.
    required, forbidden, tiers
        As in `hill_climb`. Each class on the way has a member that keeps to them, and the graph returned is one. They
        may stop the search early: it does not pass through classes without such a member.
    max_parents
        Largest number of parents of a node; all members of a class have the same largest number.
    start
        Where to start: a graph or a network, which stands for its class; default: the graph without edges.
    turning
        Whether to turn edges as well. Without it, and from no edges, the search is Chickering's, but it inserts and
        deletes again as long as that gains.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Returns
    -------
    GESResult
        Its ``cpdag`` is the class, its ``dag`` a member. A move in its trace may be one of another member.

    Raises
    ------
    GraphError
        For a score that tells equivalent graphs apart; for constraints that cannot hold together, and a starting graph
        that breaks one.
    UnknownNameError
        For an unknown score, and names that are no columns.
    MissingDataError
        If cells are missing.
    TableError
        If the search goes round in circles, because a score of one's own differs between equivalent graphs after all.
    TooLargeError
        If the table of a family and the work on it would exceed the memory budget: set ``max_parents``.

    Notes
    -----
    Deterministic. Which class is found does not depend on the order or names of the columns, unless different steps
    gain exactly the same by coincidence, as with equal columns; then the one first in column order is taken. Steps that
    gain the same whatever the data lead to the same class.

    One pass over the distinct rows for every node, and few for every step. Only the steps near a changed edge are
    scored again. The number of steps is exponential in the size of the cliques of reversible edges.

    References
    ----------
    Chickering (2002), *Journal of Machine Learning Research* 3, 507-554. Hauser and Buehlmann (2012), *Journal of
    Machine Learning Research* 13, 2409-2464.

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0] * 6
    >>> result = ges({"a": a, "b": b, "c": [0] * 24 + [1] * 24})
    >>> print(result.cpdag, round(result.score, 3))
    a - b
    c -101.277
    """
    if not get_score(score).is_score_equivalent:
        name = get_score(score).name
        raise GraphError(
            f"score {name!r} may differ between equivalent graphs, so that a class has none; 'loglik', 'aic', 'bic', "
            "'ebic', 'bdeu' and 'qnml' do not (a score object says so by is_score_equivalent)"
        )
    scores = FamilyScores(count_source(data), score)
    constraints = Constraints(scores.names, required, forbidden, tiers, max_parents)
    first = constraints.starting_graph(start)
    kinds: tuple[MoveKind, ...] = ("add", "delete", "reverse") if turning else ("add", "delete")
    with Progress("greedy equivalence search", show=progress) as bar:
        search = _Search(scores, constraints, first, bar)
        search.run(kinds)
    return search.result()


class _Step(NamedTuple):
    """An operator with what it gains, as it is compared with others."""

    rank: float
    """Minus the gain to nine digits: equal gains are computed in different ways."""
    operator: Operator
    gain: float


class _Search:
    """The present class and the steps from it; nodes are numbered as columns."""

    def __init__(self, scores: FamilyScores, constraints: Constraints, start: DAG, bar: Progress) -> None:
        self._scores = scores
        self._constraints = constraints
        self._bar = bar
        self._trace: list[Move] = []
        self._names = scores.names
        self._limit = len(self._names) if constraints.max_parents is None else constraints.max_parents
        self._required = {(start.index(parent), start.index(child)) for parent, child in constraints.required}
        self._may = constraints.allowed.copy()
        for parent, child in self._required:
            self._may[child, parent] = False
        self._is_free = int(self._may.sum()) == len(self._names) * (len(self._names) - 1)
        self._graph = EquivalenceClass(start.cpdag())
        self._visited = {hash(self._graph.cpdag)}
        self._score = self._total(start)
        self._tolerance = max(TOLERANCE, 16 * float(np.finfo(float).eps) * abs(self._score))  # never below rounding

    def run(self, kinds: Sequence[MoveKind]) -> None:
        """Take the best steps of each kind in turn, until none of any kind gains."""
        n_moves = -1
        while n_moves < len(self._trace):
            n_moves = len(self._trace)
            for kind in kinds:
                self._climb(kind)

    def _climb(self, kind: MoveKind) -> None:
        """Take the best step of one kind, again and again; only lists of steps that a step changes are made anew."""
        steps: list[list[_Step]] = [self._steps(kind, child) for child in range(len(self._names))]
        while True:
            taken = self._take_best(steps)
            if taken is None:
                return
            before, self._graph = self._graph, taken
            for child in _affected(before, taken, kind):
                steps[child] = self._steps(kind, child)

    def _take_best(self, steps: Sequence[list[_Step]]) -> EquivalenceClass | None:
        """Return the class to which the best valid step leads, or None if there is none."""
        for _, operator, gain in merge(*steps):
            if not self._graph.is_valid(operator) or self._makes_forbidden_collider(operator):
                continue
            after = self._graph.after(operator).cpdag()
            if self._is_free or self._extension(after) is not None:
                edge = (self._names[operator.parent], self._names[operator.child])
                self._score += gain
                self._trace.append(
                    Move(operator.kind, edge[::-1] if operator.kind == "reverse" else edge, gain, self._score)
                )
                self._bar.step(score=f"{self._score:.3f}")
                self._check_new(after)
                return EquivalenceClass(after)
        return None

    def _check_new(self, after: PDAG) -> None:
        """Raise if the search comes back to a class, which no steps that all gain can do, and would never end."""
        key = hash(after)
        if key in self._visited:
            raise TableError(
                f"score {self._scores.measure.name!r} is not equal for equivalent graphs, though it says so, or not "
                "the same whenever it is given the same counts: the search came back to a class by steps that all gain"
            )
        self._visited.add(key)

    # ------------------------------------------------------------------ what steps gain

    def _steps(self, kind: MoveKind, child: int) -> list[_Step]:
        """Return the steps of one kind at one child that gain, best first."""
        if kind == "add":
            gains = self._insert_gains(child)
        elif kind == "delete":
            gains = self._delete_gains(child)
        else:
            gains = self._turn_gains(child)
        least = self._tolerance
        return sorted(_Step(-float(f"{gain:.9g}"), operator, gain) for operator, gain in gains if gain > least)

    def _insert_gains(self, child: int) -> Iterator[tuple[Operator, float]]:
        by_base: dict[int, list[Operator]] = {}
        for operator in filter(self._is_possible, inserts(self._graph, child, self._limit)):
            by_base.setdefault(self._graph.parents[child] | operator.clique, []).append(operator)
        for base, operators in by_base.items():
            if len(operators) >= _MANY:
                gains = self._scores.neighbours(child, tuple(bits(base)), True)[1]
                for operator in operators:
                    yield operator, float(gains[operator.parent])
            else:
                for operator in operators:
                    yield operator, self._difference(child, base, 1 << operator.parent)

    def _delete_gains(self, child: int) -> Iterator[tuple[Operator, float]]:
        for operator in filter(self._is_possible, deletes(self._graph, child)):
            parent = 1 << operator.parent
            base = (self._graph.parents[child] | operator.clique) & ~parent
            yield operator, -self._difference(child, base, parent)

    def _turn_gains(self, child: int) -> Iterator[tuple[Operator, float]]:
        graph = self._graph
        for operator in filter(self._is_possible, turns(graph, child, self._limit)):
            parent = operator.parent
            above = graph.parents[parent] & ~(1 << child)
            if graph.neighbors[child] >> parent & 1:
                above |= operator.clique & graph.adjacent[parent]
            added = self._difference(child, graph.parents[child] | operator.clique, 1 << parent)
            yield operator, added - self._difference(parent, above, 1 << child)

    def _difference(self, child: int, base: int, more: int) -> float:
        """Return what the local score of a child gains by more parents."""
        with_more, without = self._scores.families([(child, tuple(bits(base | more))), (child, tuple(bits(base)))])
        return float(with_more - without)

    def _total(self, dag: DAG) -> float:
        """Return the score of a graph that has the columns as nodes, in their order."""
        return math.fsum(self._scores.families(list(enumerate(dag.parent_indices))))

    # ------------------------------------------------------------------ constraints

    def _is_possible(self, operator: Operator) -> bool:
        """Return whether the constraints leave room for the edge to be there, or to be away."""
        edge = operator.parent, operator.child
        if operator.kind == "delete":
            return edge not in self._required and edge[::-1] not in self._required
        return bool(self._may[edge] or self._may[edge[::-1]])

    def _makes_forbidden_collider(self, operator: Operator) -> bool:
        """Return whether a step compels an edge that the constraints forbid, seen without computing the class."""
        _, parent, child, clique = operator
        if self._is_free:
            return False
        others = (self._graph.parents[child] | clique) & ~self._graph.adjacent[parent] & ~(1 << parent)
        return any(not self._may[end, child] for end in (*bits(others), *([parent] if others else [])))

    def _extension(self, cpdag: PDAG) -> PDAG | None:
        """Return a class with its edges directed as the constraints demand, or None if no member keeps to them."""
        known = [edge for edge in cpdag.undirected if not self._may[cpdag.indices(edge[::-1])]]
        known += [edge[::-1] for edge in cpdag.undirected if not self._may[cpdag.indices(edge)]]
        directed = [*cpdag.directed, *known]
        if not all(self._may[cpdag.indices(edge)] for edge in directed):
            return None
        loose = [edge for edge in cpdag.undirected if edge not in known and edge[::-1] not in known]
        try:
            extended = PDAG(directed, loose, cpdag.nodes)
            member = extended.consistent_extension()
        except GraphError:
            return None
        return extended if member.cpdag() == cpdag else None  # else what is demanded makes a V-structure

    # ------------------------------------------------------------------ the result

    def result(self) -> GESResult:
        """Return the class and a member that keeps to the constraints."""
        extended = self._extension(self._graph.cpdag)
        assert extended is not None, "every class on the way keeps to the constraints"
        cpdag = extended.meek_closure()
        dag = cpdag.consistent_extension()
        return GESResult(
            dag,
            self._total(dag),
            self._scores.measure.name,
            tuple(self._trace),
            self._scores.n_scores,
            method="greedy equivalence search",
            cpdag=cpdag,
        )


def _affected(before: EquivalenceClass, after: EquivalenceClass, kind: MoveKind) -> list[int]:
    """Return the children whose steps, or what these gain, differ between two classes.

    An operator at y sees the edges of y, those between neighbours of y and any node, and if it turns an edge all edges
    at the other end.
    """
    nodes = range(len(after.parents))
    sides = [(graph.parents, graph.neighbors, graph.children) for graph in (before, after)]
    changed = sum(1 << node for node in nodes if any(old[node] != new[node] for old, new in zip(*sides, strict=True)))
    joined = sum(1 << node for node in nodes if before.adjacent[node] != after.adjacent[node])
    seen = after.adjacent if kind == "reverse" else after.neighbors
    reason = changed if kind == "reverse" else joined
    return [node for node in nodes if changed >> node & 1 or seen[node] & reason]
