"""How wrong is a graph? By what it says about interventions (SID), and by its edges, in detail.

The structural Hamming distance (`pgm.graph.equivalence.shd`) counts edges. What a wrong edge costs depends on where it
is: the *structural intervention distance* counts the pairs (x, y) for which the graph leads to a wrong effect of
setting x on y. A graph says how to compute such an effect from observations: adjust for the parents of x,

    P(y | do(x)) = sum over the states of the parents of P(y | x, parents) P(parents),

or, if y is itself a parent of x, there is none. That is right whenever the parents in the graph happen to be a valid
adjustment set in the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pgm.errors import GraphError, TooLargeError, listing
from pgm.graph.base import Edge, reachable
from pgm.graph.equivalence import check_same_nodes, comparable, marks
from pgm.graph.members import directed_parts
from pgm.graph.orientation import Ends
from pgm.graph.pdag import PDAG

if TYPE_CHECKING:
    from pgm.graph.dag import DAG
    from pgm.network import BayesianNetwork

__all__ = ["Comparison", "SIDBounds", "compare", "sid", "sid_bounds"]


class SIDBounds(NamedTuple):
    """The least and the greatest structural intervention distance of the DAGs that a graph stands for."""

    lower: int
    upper: int


def sid(true: DAG | BayesianNetwork, other: DAG | BayesianNetwork) -> int:
    """Return the structural intervention distance: the number of pairs (x, y) whose effect ``other`` gets wrong.

    It lies between 0 and n (n - 1), is not symmetric, and is 0 for a graph that has edges too many but none missing or
    reversed: that adjusts for more than is needed.

    Parameters
    ----------
    true
        The graph by which interventions really work; a network stands for its DAG.
    other
        The graph that is judged, over the same nodes.

    Raises
    ------
    GraphError
        If the graphs have different nodes, or what is given is no DAG; for a PDAG see `sid_bounds`.

    Notes
    -----
    O(n (n + E)): one search of the true graph from each node.

    References
    ----------
    Peters and Buehlmann, Structural intervention distance for evaluating causal graphs, Neural Computation 27, 2015.
    Shpitser, VanderWeele and Robins, On the validity of covariate adjustment, UAI 2010.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> true = DAG([("a", "b"), ("b", "c")])
    >>> sid(true, DAG([("a", "b"), ("b", "c"), ("a", "c")])), sid(true, DAG([("c", "b"), ("b", "a")]))
    (0, 6)
    """
    from pgm.graph.dag import as_dag

    truth, judged = as_dag(true), as_dag(other)
    check_same_nodes(truth, judged)
    n_errors = _error_counter(truth)
    total = 0
    for node in judged.nodes:
        total += n_errors(truth.index(node), frozenset(truth.indices(judged.parents(node))))
    return total


def sid_bounds(true: DAG | BayesianNetwork, other: PDAG, *, limit: int = 10_000) -> SIDBounds:
    """Return the least and greatest structural intervention distance of the DAGs that a graph stands for.

    Parameters
    ----------
    true
        The graph by which interventions really work.
    other
        The graph that is judged: a CPDAG, perhaps with background knowledge; of a DAG see ``dag.cpdag()``.
    limit
        How many ways to direct one connected undirected part are gone through at most.

    Raises
    ------
    GraphError
        If the graphs have different nodes, ``other`` is no PDAG, or no DAG extends it.
    TooLargeError
        If one part can be directed in more than ``limit`` ways.

    Notes
    -----
    Exact. How wrong a node is depends on its parents alone, and parts of the graph are directed independently, so the
    extremes of the parts add up.

    References
    ----------
    Peters and Buehlmann, Neural Computation 27, 2015, section 2.4.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> true = DAG([("a", "b"), ("b", "c")])
    >>> sid_bounds(true, true.cpdag())
    SIDBounds(lower=0, upper=6)
    """
    from pgm.graph.dag import as_dag

    truth = as_dag(true)
    if not isinstance(other, PDAG):
        raise GraphError(f"expected a PDAG such as dag.cpdag(), not {type(other).__name__}; sid compares two DAGs")
    check_same_nodes(truth, other)
    n_errors = _error_counter(truth)
    place = truth.indices(other.nodes)
    ends, parts = directed_parts(other)

    def errors_of(node: int, parents: Iterable[int]) -> int:
        return n_errors(place[node], frozenset(place[parent] for parent in parents))

    undirected = {node for part in parts for node in part}
    settled = sum(errors_of(node, ends.parents[node]) for node in range(len(place)) if node not in undirected)
    lower = upper = settled
    for part in parts:
        totals = _totals(other, ends, part, errors_of, limit)
        lower, upper = lower + min(totals), upper + max(totals)
    return SIDBounds(lower, upper)


def _totals(
    pdag: PDAG, ends: Ends, part: list[int], errors_of: Callable[[int, Iterable[int]], int], limit: int
) -> list[int]:
    """Return the errors at the nodes of a part for every way to direct it."""
    totals: list[int] = []
    for way in ends.restricted(part).all_directions():
        if len(totals) == limit:
            where = listing(pdag.nodes[node] for node in part)
            raise TooLargeError(f"the edges among {where} can be directed in more than {limit} ways")
        parents = {node: set(ends.parents[node]) for node in part}
        for parent, child in way:
            parents[child].add(parent)
        totals.append(sum(errors_of(node, some) for node, some in parents.items()))
    return totals


# ---------------------------------------------------------------------- valid adjustment


def _error_counter(dag: DAG) -> Callable[[int, frozenset[int]], int]:
    """Return `_n_errors` for one true graph, with a memory."""
    return cache(lambda node, parents: _n_errors(dag, node, parents))


def _n_errors(dag: DAG, node: int, parents: frozenset[int]) -> int:
    """Return for how many others adjusting for ``parents`` gives a wrong effect of ``node``.

    For one of the parents the answer is "no effect", wrong if it is a descendant. For another node, adjustment is valid
    if no parent descends from a node on a directed path to it, itself included, and the parents block all other paths.
    """
    below = reachable([node], dag.child_indices) - {node}
    spoilt = reachable(below & reachable(parents, dag.parent_indices), dag.child_indices)
    confounded = _reached_by_other_paths(dag, node, parents)
    return len(parents & below) + len((spoilt | confounded) - parents - {node})


def _reached_by_other_paths(dag: DAG, node: int, given: frozenset[int]) -> set[int]:
    """Return the nodes to which an active trail that is no directed path leads from ``node``.

    States of the search are (where, whether the last edge pointed there, whether the trail is directed so far). A trail
    may pass a node twice: where a collider has a descendant in ``given``, down to it and back. If it comes there along
    a directed path, nodes beyond are reached that no path need reach; but those are spoilt anyhow.
    """
    waiting = [(child, True, True) for child in dag.child_indices[node]]
    waiting += [(parent, False, False) for parent in dag.parent_indices[node]]
    seen = set(waiting)
    while waiting:
        here, from_parent, directed = waiting.pop()
        steps: list[tuple[int, bool, bool]] = []
        if here not in given:
            steps += [(child, True, directed) for child in dag.child_indices[here]]
        if (here in given) == from_parent:
            steps += [(parent, False, False) for parent in dag.parent_indices[here]]
        fresh = [step for step in steps if step[0] != node and step not in seen]
        seen.update(fresh)
        waiting += fresh
    return {here for here, _, directed in seen if not directed}


# ---------------------------------------------------------------------- edges


class Comparison(NamedTuple):
    """How the edges of a graph compare with those of the true one; printing it shows the numbers.

    Edges are listed as the judged graph has them, the missing ones as the true graph has them.
    """

    correct: tuple[Edge, ...]
    """Edges that both have, with the same direction or both without."""
    misdirected: tuple[Edge, ...]
    """Edges between nodes that the true graph joins otherwise: reversed, or directed in only one of the two."""
    extra: tuple[Edge, ...]
    """Edges between nodes that the true graph does not join."""
    missing: tuple[Edge, ...]
    """Edges of the true graph between nodes that the judged one does not join."""

    @property
    def shd(self) -> int:
        """The structural Hamming distance."""
        return len(self.misdirected) + len(self.extra) + len(self.missing)

    @property
    def precision(self) -> float:
        """Share of the edges that are correct; 1 if there are none, since none is wrong."""
        return _share(len(self.correct), len(self.misdirected) + len(self.extra))

    @property
    def recall(self) -> float:
        """Share of the true edges that are correct in the graph; 1 if there are none, since none is missing."""
        return _share(len(self.correct), len(self.misdirected) + len(self.missing))

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(2 * len(self.correct), 2 * len(self.misdirected) + len(self.extra) + len(self.missing))

    @property
    def adjacency_precision(self) -> float:
        """Share of the edges whose ends the true graph joins, whatever the direction."""
        return _share(len(self.correct) + len(self.misdirected), len(self.extra))

    @property
    def adjacency_recall(self) -> float:
        """Share of the true edges whose ends the graph joins, whatever the direction."""
        return _share(len(self.correct) + len(self.misdirected), len(self.missing))

    @property
    def adjacency_f1(self) -> float:
        """Harmonic mean of both."""
        return _share(2 * (len(self.correct) + len(self.misdirected)), len(self.extra) + len(self.missing))

    def __str__(self) -> str:
        numbers = ", ".join(f"{len(edges)} {kind}" for kind, edges in self._asdict().items())
        directed = f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}"
        joined = f"{self.adjacency_precision:.3f}, {self.adjacency_recall:.3f}, {self.adjacency_f1:.3f}"
        return f"{numbers}; SHD {self.shd}; {directed}; without directions {joined}"


def compare(
    true: DAG | PDAG | BayesianNetwork, other: DAG | PDAG | BayesianNetwork, *, cpdag: bool = False
) -> Comparison:
    """Return which edges of a graph are right, wrong or missing, with precision and recall.

    Parameters
    ----------
    true
        The true graph.
    other
        The graph that is judged, over the same nodes; both are DAGs, or both PDAGs.
    cpdag
        Whether to compare equivalence classes, as in `shd`.

    Raises
    ------
    GraphError
        As `shd`.

    Examples
    --------
    >>> from pgm.graph import DAG
    >>> found = compare(DAG.from_string("[a][b|a][c|b][d]"), DAG.from_string("[b][a|b][c|b][d|c]"))
    >>> found.misdirected, found.extra, found.f1
    ((('b', 'a'),), (('c', 'd'),), 0.4)
    >>> print(found)
    1 correct, 1 misdirected, 1 extra, 0 missing; SHD 2; precision 0.333, recall 0.500, F1 0.400;
    without directions 0.667, 1.000, 0.800
    """
    truth, judged = comparable(true, other, cpdag=cpdag)
    wanted, given = marks(truth), marks(judged)
    joined = [edge for edge in _edges(judged) if frozenset(edge) in wanted]
    right = {pair for pair, mark in given.items() if wanted.get(pair) == mark}
    return Comparison(
        correct=tuple(edge for edge in joined if frozenset(edge) in right),
        misdirected=tuple(edge for edge in joined if frozenset(edge) not in right),
        extra=tuple(edge for edge in _edges(judged) if frozenset(edge) not in wanted),
        missing=tuple(edge for edge in _edges(truth) if frozenset(edge) not in given),
    )


def _edges(graph: DAG | PDAG) -> tuple[Edge, ...]:
    return (*graph.directed, *graph.undirected) if isinstance(graph, PDAG) else graph.edges


def _share(right: int, wrong: int) -> float:
    return right / (right + wrong) if right or wrong else 1.0
