"""`exact_search`: the best graph, with a proof that there is no better one.

Up to some twenty variables the proof is dynamic programming over subsets (`pgm.learning.exact.dynamic_programming`).
Beyond, it is an integer program over families: `pgm.learning.search.orderings` finds a graph, usually the best one at
once, cuts push the bound of the linear relaxation towards it, and branch and bound closes what gap is left. The modules
of `pgm.learning.exact` read in this order: ``family_columns``, ``cuts``, ``certificate``, ``linear_program``,
``relaxation``, ``cluster_cuts``, ``subset_lattice``, ``local_cuts``, ``separation``, ``incumbents``,
``branch_and_bound``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgm.data import count_source
from pgm.errors import GraphError
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_limit
from pgm.learning.exact.all_subsets import all_local_scores
from pgm.learning.exact.branch_and_bound import BranchAndBound, Round
from pgm.learning.exact.dynamic_programming import best_dag, scatter
from pgm.learning.exact.family_columns import family_columns
from pgm.learning.exact.incumbents import Incumbents
from pgm.learning.exact.near_best_sets import near_best_sets
from pgm.learning.exact.pruning import pruned_parent_sets
from pgm.learning.result import SearchResult, Stage
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import AnyScore
from pgm.learning.search.orderings import OrderClimber
from pgm.learning.search.parent_sets import ParentSets, all_parent_sets, members
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["ExactResult", "exact_search"]

DYNAMIC_PROGRAMMING = 20
"""Variables up to which dynamic programming is used."""

MAX_FAMILIES = 500_000
"""Families that are counted at most, one by one, where three parents are not the limit; some 20 a millisecond."""

_SMALL_SETS = 3
"""Parents up to which all families are counted at once."""

_PATIENCE = 60
"""Perturbations without gain after which the search for a first graph ends."""


@dataclass(frozen=True, repr=False)
class ExactResult(SearchResult):
    """The best graph found, and what is proved about all others."""

    bound: float = field(kw_only=True)
    """No graph that keeps to the constraints scores more."""
    proven: bool = field(kw_only=True)
    """Whether ``best`` is proved to hold the best graphs: no other is better by more than a millionth."""
    best: tuple[tuple[DAG, float], ...] = field(kw_only=True)
    """The best graphs with their scores, as many as were asked for if there are so many."""

    @property
    def gap(self) -> float:
        """How much better than ``score`` the best graph may still be: ``bound - score``."""
        return self.bound - self.score

    def __repr__(self) -> str:
        graph = f"{len(self.dag.nodes)} nodes, {len(self.dag.edges)} edges"
        known = "proved best" if self.proven else f"at most {self.gap:.4f} below the best"
        return f"<ExactResult: {self.score_name} {self.score:.4f}, {known}, {graph}, {self.method}>"


def exact_search(
    data: object,
    score: AnyScore = "bic",
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    k_best: int = 1,
    max_nodes: int | None = None,
    progress: bool = True,
) -> ExactResult:
    """Return the best graph of all, with a proof that no graph is better; or the best one known, and a bound.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name, or a score object.
    required, forbidden, tiers
        What is known about the edges, see `Constraints`. The best graph is the best of those that keep to it.
    max_parents
        Largest number of parents of a node; required edges count. With None all numbers are considered; that takes a
        score whose penalties rule large families out (BIC on not too many rows), or up to 20 variables.
    start
        A graph to search from; it helps if it is good. Without, the order search finds one. Dynamic programming, for up
        to 20 variables, has no use for it but checks it.
    k_best
        How many graphs are wanted, the best ones in order. Markov-equivalent graphs count apart, since they are
        different graphs.
    max_nodes
        Nodes of the search tree after which to stop, proved or not; the first is as much work as many others.
    progress
        Whether to show a progress bar with bound and gap if it lasts over two seconds on a terminal.

    Returns
    -------
    ExactResult
        When stopped by ``max_nodes`` or an interrupt from the keyboard (after the counting), the best graph found so
        far, with ``proven`` False and the bound proved so far.

    Raises
    ------
    GraphError
        For constraints that cannot hold together, and a starting graph that breaks one; names the edges.
    UnknownNameError
        For an unknown score, and names that are no columns.
    MissingDataError
        If cells are missing.
    TooLargeError
        If there are too many families; ``max_parents`` makes them fewer.

    Notes
    -----
    Up to 20 variables O(n^2 2^n), a second for 20, plus the counting. Beyond, no bound on the time is known: 27 to 56
    variables with at most three parents take seconds to a minute, but data can be made on which any method fails. The
    same call does the same work each time. Bounds are computed apart from the linear program solver, so its tolerances
    do not matter; graphs whose scores differ by less than a millionth count as equal. With the optional package
    ``highspy`` or SciPy's own copy of it each linear program starts where the last ended.

    References
    ----------
    Silander and Myllymaki (2006), *UAI* 22, 445-452. Jaakkola, Sontag, Globerson and Meila (2010), *AISTATS* 9,
    358-365. Bartlett and Cussens (2017), *Artificial Intelligence* 244, 258-271.

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> data = {"a": a, "b": [0, 0, 1, 1] * 12, "c": [0, 0, 1, 1, 1, 1, 0, 0] * 6}
    >>> result = exact_search(data)  # c is the exclusive or of a and b, which single edges do not show
    >>> result.dag.edges, result.proven, round(result.score, 3)
    ((('b', 'a'), ('c', 'a')), True, -78.156)
    """
    source = count_source(data)
    constraints = Constraints([variable.name for variable in source.variables], required, forbidden, tiers, max_parents)
    begin = constraints.starting_graph(start)
    if isinstance(k_best, bool) or not isinstance(k_best, (int, np.integer)) or k_best < 1:
        raise GraphError(f"k_best must be a whole number from 1, not {k_best!r}")
    wanted = int(k_best)
    max_nodes = checked_limit("max_nodes", max_nodes)
    scores = FamilyScores(source, score)
    if wanted == 1 and len(constraints.names) <= DYNAMIC_PROGRAMMING:
        return _by_dynamic_programming(scores, constraints, progress)
    with Progress("exact search", show=progress) as bar:
        sets = _parent_sets(scores, constraints, wanted)
        program = _Program(scores, sets, begin, wanted, bar)
        return program.result(max_nodes, constraints if wanted == 1 else None)


def _parent_sets(scores: FamilyScores, constraints: Constraints, wanted: int) -> ParentSets:
    """Return all parent sets that the best graphs may have."""
    if wanted > 1:
        return near_best_sets(scores, constraints, wanted)
    if constraints.max_parents is not None and constraints.max_parents <= _SMALL_SETS:
        return all_parent_sets(scores, constraints, constraints.max_parents)
    return pruned_parent_sets(scores, constraints, max_families=MAX_FAMILIES)


def _by_dynamic_programming(scores: FamilyScores, constraints: Constraints, progress: bool) -> ExactResult:
    """Return the best graph by dynamic programming."""
    if constraints.max_parents is not None and constraints.max_parents <= _SMALL_SETS:
        sets = all_parent_sets(scores, constraints, constraints.max_parents)
        local = scatter(sets.masks, sets.scores)
    else:
        local = all_local_scores(scores, constraints, progress=progress)
    n_families = int(np.isfinite(local).sum())
    parents = [members(mask) for mask in best_dag(local, overwrite=True).parents]
    dag, total = _graph(scores, parents, constraints)
    trace = (Stage(f"dynamic programming over {n_families} families", total),)
    return ExactResult(
        dag, total, scores.measure.name, trace, scores.n_scores, method="dynamic programming", bound=total, proven=True,
        best=((dag, total),),
    )  # fmt: skip


def _graph(
    scores: FamilyScores, parents: Sequence[Sequence[int]], constraints: Constraints | None = None
) -> tuple[DAG, float]:
    """Return a graph and its score, added up afresh; with constraints, the equivalent one in column order."""
    names = scores.names
    dag = DAG([(names[parent], names[child]) for child, some in enumerate(parents) for parent in some], names)
    if constraints is not None and scores.measure.is_score_equivalent:
        dag = constraints.in_column_order(dag)
    place = {name: number for number, name in enumerate(names)}
    families = [(number, [place[parent] for parent in dag.parents(name)]) for name, number in place.items()]
    return dag, math.fsum(scores.families(families).tolist())


class _Program:
    """The search by branch and bound, from a first graph to the result."""

    def __init__(self, scores: FamilyScores, sets: ParentSets, begin: DAG, wanted: int, bar: Progress) -> None:
        self._scores, self._bar = scores, bar
        self._families = family_columns(sets.masks, sets.scores)
        largest = float(np.abs(self._families.score).max())
        self._rounding = float(np.finfo(float).eps) * largest * len(sets.names)  # of costs, which are differences
        climber = OrderClimber(sets, np.random.default_rng(0))  # the same each time
        self._incumbents = Incumbents(sets, self._families, wanted, climber)
        place = {name: number for number, name in enumerate(sets.names)}
        self._incumbents.climb([[place[parent] for parent in begin.parents(node)] for node in sets.names], _PATIENCE)
        self._incumbents.add_neighbours()
        self._trace = [Stage(f"order search over {len(sets)} families", self._score(self._incumbents.cost))]

    def result(self, max_nodes: int | None, constraints: Constraints | None) -> ExactResult:
        """Return what is proved after so many nodes, or when interrupted; with constraints, edges in column order."""
        search = BranchAndBound(self._families, self._incumbents, self._tell)
        try:
            search.run(max_nodes)
            proven = search.is_done
        except KeyboardInterrupt:
            proven = False
        best = []
        for _, columns in self._incumbents.graphs:
            parents = [np.flatnonzero(self._families.parents[column]).tolist() for column in columns]
            best.append(_graph(self._scores, parents, constraints))
        dag, score = best[0]
        return ExactResult(
            dag,
            score,
            self._scores.measure.name,
            tuple(self._trace),
            self._scores.n_scores,
            method=f"branch and bound ({search.n_nodes} nodes)",
            bound=max(score, self._score(search.bound) + self._rounding),
            proven=proven,
            best=tuple(best),
        )

    def _score(self, cost: float) -> float:
        """Return the score that belongs to a cost."""
        return self._families.best - cost

    def _tell(self, state: Round) -> None:
        best, bound = self._score(state.best), self._score(state.bound)
        self._bar.step(best=f"{best:.3f}", bound=f"{bound:.3f}", gap=f"{bound - best:.4f}")
        work = f"node {state.n_nodes}: {state.n_cuts} cuts, {state.n_families} families, bound {bound:.4f}"
        self._trace.append(Stage(work, best))
