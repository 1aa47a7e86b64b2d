"""Greedy structure search: from a starting graph, take the best move until no move gains.

The search is deterministic: ties go to the move that comes first in column order, additions before deletions before
reversals, which is also the rule of R's bnlearn. So the direction of an edge that the data cannot tell may depend on
the order of the columns, but on nothing else. What a move gains is computed in `pgm.learning.search.neighbourhood`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pgm.data import count_source
from pgm.errors import GraphError
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_generator, checked_limit
from pgm.learning.result import Move, SearchResult
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import AnyScore
from pgm.learning.search.neighbourhood import Neighbourhood
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["hill_climb"]


def hill_climb(
    data: object,
    score: AnyScore = "bic",
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    max_iter: int | None = None,
    restarts: int = 0,
    perturbation: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool = True,
) -> SearchResult:
    """Return a graph that no single addition, deletion or reversal of an edge improves.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name such as ``"bic"`` (see `pgm.learning.scores.scoring`), or a score object.
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
        Largest number of moves of a climb; the result may then not be a local optimum.
    restarts
        How many times to start again from the best graph so far, changed at random.
    perturbation
        How many random moves make that change; default: three quarters of the number of nodes, at least three.
    rng
        Seed or generator for them. Without restarts nothing is random.
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
    DataError
        If ``rng`` is neither a seed nor a generator.
    TableError
        If a score of one's own is not finite, or not the same whenever it is given the same counts.
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
    scores = FamilyScores(count_source(data), score)
    constraints = Constraints(scores.names, required, forbidden, tiers, max_parents)
    max_iter = checked_limit("max_iter", max_iter)
    checked_restarts = checked_limit("restarts", restarts)
    moves = checked_limit("perturbation", perturbation)
    if checked_restarts is None or moves == 0:
        raise GraphError(
            f"restarts must be a number from 0 and perturbation one from 1, not {restarts!r} and {perturbation!r}"
        )
    generator = checked_generator(rng)
    with Progress("hill climbing", total=max_iter, show=progress) as bar:
        best = _climb(Neighbourhood(constraints, constraints.starting_graph(start), scores), max_iter, bar)
        for _ in range(checked_restarts):
            state = Neighbourhood(constraints, best.dag, scores)
            shaken = _shake(state, moves or max(3, 3 * len(scores.names) // 4), generator)
            found = _climb(state, max_iter, bar)
            if found.score > best.score + state.tolerance:
                best = SearchResult(found.dag, found.score, found.score_name, (*best.trace, *shaken, *found.trace), 0)
    method = "hill climbing" if not checked_restarts else f"hill climbing ({checked_restarts} restarts)"
    return SearchResult(best.dag, best.score, best.score_name, best.trace, scores.n_scores, method=method)


def _climb(state: Neighbourhood, max_iter: int | None, bar: Progress) -> SearchResult:
    """Return the graph after the best move at every step, until none gains."""
    trace: list[Move] = []
    while max_iter is None or len(trace) < max_iter:
        step = state.best_step()
        if step is None:
            break
        trace.append(state.take(step))
        bar.step(score=f"{state.score:.3f}")
    return SearchResult(state.graph(), state.score, state.scores.measure.name, tuple(trace), state.scores.n_scores)


def _shake(state: Neighbourhood, number: int, rng: np.random.Generator) -> list[Move]:
    """Take random legal moves; return them."""
    taken = []
    for _ in range(number):
        steps = state.legal_steps()
        if not steps:
            break
        taken.append(state.take(steps[int(rng.integers(len(steps)))]))
    return taken
