"""Tabu search: go on from a local optimum by the smallest loss, never back to a graph just visited."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from pgm.data import count_source
from pgm.errors import GraphError
from pgm.graph.base import Edge, Names
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints, checked_limit
from pgm.learning.result import Move, MoveKind, SearchResult
from pgm.learning.scores.family_scores import FamilyScores
from pgm.learning.scores.scoring import AnyScore
from pgm.learning.search.neighbourhood import Neighbourhood
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["tabu_search"]


def tabu_search(
    data: object,
    score: AnyScore = "bic",
    *,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    start: DAG | BayesianNetwork | None = None,
    tabu: int = 10,
    max_losses: int | None = None,
    max_iter: int | None = None,
    progress: bool = True,
) -> SearchResult:
    """Return the best graph on a walk that takes the best move at every step, also if it loses.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        A name such as ``"bic"`` (see `pgm.learning.scores.scoring`), or a score object.
    required, forbidden, tiers, max_parents, start
        As in `hill_climb`.
    tabu
        How many of the last graphs may not be visited again.
    max_losses
        How many moves that gain nothing to take before the walk ends; counting begins anew whenever the walk climbs
        above the best graph so far, and not for scores that only rounding tells apart. Default: ``tabu``.
    max_iter
        Largest number of moves.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Returns
    -------
    SearchResult
        Its trace holds the moves that led to the best graph; what was tried after it is left out.

    Raises
    ------
    GraphError, UnknownNameError, MissingDataError, TableError, TooLargeError
        As `hill_climb`.

    Notes
    -----
    Deterministic, with the rules of R's bnlearn: the same graphs in the same order. Of graphs that score the same the
    first one is kept. The order of the columns, by which ties are broken, may decide the result.

    References
    ----------
    Glover (1989), *ORSA Journal on Computing* 1, 190-206. Scutari (2010), *Journal of Statistical Software* 35(3).

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0] * 6
    >>> result = tabu_search({"a": a, "b": b, "c": [0] * 24 + [1] * 24})
    >>> result.dag.edges, round(result.score, 3)
    ((('a', 'b'),), -101.277)
    """
    scores = FamilyScores(count_source(data), score)
    constraints = Constraints(scores.names, required, forbidden, tiers, max_parents)
    length = checked_limit("tabu", tabu)
    if not length:
        raise GraphError(f"tabu must be a whole number from 1, not {tabu!r}")
    patience = length if max_losses is None else checked_limit("max_losses", max_losses)
    max_iter = checked_limit("max_iter", max_iter)
    state = Neighbourhood(constraints, constraints.starting_graph(start), scores)
    best, best_score, best_moves = state.graph(), state.score, 0
    visited: deque[int] = deque(maxlen=length)
    trace: list[Move] = []
    losses = 0
    with Progress("tabu search", total=max_iter, show=progress) as bar:
        while max_iter is None or len(trace) < max_iter:
            key = state.key()
            visited.append(key)
            banned = list(_leading_back(key, visited, len(scores.names)))
            if state.score > best_score + state.tolerance:  # an equivalent graph is no better one
                best, best_score, best_moves = state.graph(), state.score, len(trace)
            step = state.best_step(0.0, banned)
            if step is None:
                if losses >= (patience or 0):
                    break
                losses += 1
                step = state.best_step(-float("inf"), banned)
                if step is None:
                    break
            elif state.score >= best_score - state.tolerance:  # and this step climbs above it
                losses = 0
            trace.append(state.take(step))
            bar.step(score=f"{best_score:.3f}")
        if state.score > best_score + state.tolerance:
            best, best_score, best_moves = state.graph(), state.score, len(trace)
    kept = tuple(trace[:best_moves])
    return SearchResult(best, best_score, scores.measure.name, kept, scores.n_scores, method=f"tabu search ({length})")


def _leading_back(key: int, visited: Iterable[int], n: int) -> Iterator[tuple[MoveKind, int, int]]:
    """Iterate over the moves (kind, parent, child) from a graph that lead to one visited.

    >>> list(_leading_back(0b0010, [0b0000, 0b0100, 0b0010], 2))  # a -> b; from no edge, from b -> a
    [('delete', 0, 1), ('reverse', 0, 1)]
    """
    for other in visited:
        changed = key ^ other
        if changed.bit_count() == 1:
            parent, child = divmod(changed.bit_length() - 1, n)
            yield ("delete" if key & changed else "add"), parent, child
        elif changed.bit_count() == 2 and (key & changed).bit_count() == 1:
            parent, child = divmod((key & changed).bit_length() - 1, n)
            if other & changed == 1 << (child * n + parent):
                yield "reverse", parent, child
