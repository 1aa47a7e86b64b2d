"""Max-min hill climbing: tests say which nodes may be joined, and a greedy search says how.

For every node the *max-min* heuristic collects candidates for its parents and children: the next one taken is the node
that stays most dependent on it whatever is given of those already taken. Hill climbing then only looks at edges between
nodes that are candidates of each other, which saves most of its work on many variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations

from pgm.data import CountSource, count_source
from pgm.graph.base import Edge, Names
from pgm.graph.undirected import UndirectedGraph
from pgm.learning.constraints import Constraints, checked_limit
from pgm.learning.independence.oracles import DataOracle
from pgm.learning.independence.tests import checked_alpha
from pgm.learning.result import SearchResult
from pgm.learning.scores.scoring import AnyScore
from pgm.learning.search.hill_climbing import hill_climb
from pgm.progress import Progress

__all__ = ["mmhc", "mmpc"]

_MAX_CONDITION = 3
"""Variables given in a test at most, unless the caller says otherwise."""


def mmhc(
    data: object,
    score: AnyScore = "bic",
    *,
    alpha: float = 0.05,
    method: str = "g2-adjusted",
    max_condition: int | None = _MAX_CONDITION,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    max_parents: int | None = None,
    progress: bool = True,
) -> SearchResult:
    """Return the graph that hill climbing finds among edges that tests of independence leave possible.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node.
    score
        What hill climbing maximises; see `hill_climb`.
    alpha, method, max_condition
        The tests; see `mmpc`.
    required, forbidden, tiers, max_parents
        What is known about the edges; see `hill_climb`. Required edges need no test.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError
        For an unknown score or method, and names that are no columns.
    GraphError
        For constraints that cannot hold together.
    DataError
        If ``alpha`` does not lie between 0 and 1, and for a column that tells most rows apart, such as an identifier.
    MissingDataError
        If cells are missing.
    TooLargeError
        If a table would exceed the memory budget.

    References
    ----------
    Tsamardinos, Brown and Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm,
    *Machine Learning* 65(1), 31-78.

    Examples
    --------
    >>> a = [0, 0, 0, 0, 1, 1, 1, 1] * 6
    >>> b = [0, 0, 0, 1, 1, 1, 1, 0] * 6
    >>> mmhc({"a": a, "b": b, "c": [0] * 24 + [1] * 24}).dag.edges
    (('a', 'b'),)
    """
    source = count_source(data)
    required, forbidden = tuple(required), tuple(forbidden)
    joined = mmpc(
        source,
        alpha=alpha,
        method=method,
        max_condition=max_condition,
        required=required,
        forbidden=forbidden,
        tiers=tiers,
        progress=progress,
    )
    apart = [pair for pair in combinations(joined.nodes, 2) if pair not in joined]
    impossible = chain.from_iterable(((u, v), (v, u)) for u, v in apart)
    return hill_climb(
        source,
        score,
        required=required,
        forbidden=[*forbidden, *impossible],
        tiers=tiers,
        max_parents=max_parents,
        progress=progress,
    )


def mmpc(
    data: object,
    *,
    alpha: float = 0.05,
    method: str = "g2-adjusted",
    max_condition: int | None = _MAX_CONDITION,
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    progress: bool = True,
) -> UndirectedGraph:
    """Return the skeleton in which every node is joined to its likely parents and children.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; every column is a node. The order of columns does not matter.
    alpha
        A p-value above it means independence.
    method
        ``"g2"``, ``"g2-adjusted"``, ``"chi2"`` or ``"chi2-adjusted"``; see `independence_test`.
    max_condition
        Largest number of variables given in a test, or None for no limit.
    required, forbidden, tiers
        What is known about the edges: the ends of required edges are joined, pairs that may have no edge are not.
    progress
        Whether to show a progress bar if the work lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError, GraphError, DataError, MissingDataError, TooLargeError
        As `mmhc`.

    Notes
    -----
    A test of a node and a set with all other nodes takes one pass over the distinct rows. Two nodes are joined if each
    is a candidate of the other. Where the original method does not test tables with few rows a cell, and so bounds what
    is given, ``max_condition`` does.

    References
    ----------
    Tsamardinos, Brown and Aliferis (2006), *Machine Learning* 65(1), 31-78, section 4.

    Examples
    --------
    >>> chain = {"x": [0, 1] * 32, "y": [0, 1, 0, 1, 0, 1, 1, 0] * 8, "z": [0, 1, 0, 1, 0, 1, 1, 0] * 6 + [1, 0] * 8}
    >>> mmpc(chain).edges
    (('x', 'y'), ('y', 'z'))
    """
    source = count_source(data)
    names = [variable.name for variable in source.variables]
    constraints = Constraints(names, required, forbidden, tiers)
    search = _MaxMin(source, method, checked_alpha(alpha), checked_limit("max_condition", max_condition), constraints)
    with Progress("max-min parents and children", total=len(names), show=progress) as bar:
        candidates = {}
        for name in names:
            candidates[name] = search.candidates(name)
            bar.step()
    pairs = combinations(names, 2)
    return UndirectedGraph([(u, v) for u, v in pairs if v in candidates[u] and u in candidates[v]], names)


class _MaxMin:
    """Finds the candidates for the parents and children of one node at a time."""

    def __init__(
        self, source: CountSource, method: str, alpha: float, max_condition: int | None, constraints: Constraints
    ) -> None:
        self._oracle = DataOracle(source, method)
        self._alpha = alpha
        self._limit = len(constraints.names) if max_condition is None else max_condition
        joined = constraints.allowed | constraints.allowed.T
        in_order = sorted(constraints.names)  # ties must not go by the order of the columns
        self._possible = {
            name: [other for other in in_order if joined[row, constraints.names.index(other)]]
            for row, name in enumerate(constraints.names)
        }
        self._required = {frozenset(edge) for edge in constraints.required}

    def candidates(self, node: str) -> list[str]:
        """Return the candidates for the parents and children of ``node``, in the order in which they were taken."""
        return self._shrunk(node, self._grown(node))

    def _grown(self, node: str) -> list[str]:
        """Return candidates, each the most dependent one at its time; false ones may be among them."""
        taken = [other for other in self._possible[node] if frozenset((node, other)) in self._required]
        weakest = {other: (-1.0, 0.0) for other in self._possible[node] if other not in taken}
        self._weaken(node, weakest, _subsets(taken, self._limit))
        while weakest:
            strongest = min(weakest, key=lambda other: weakest[other])
            del weakest[strongest]
            new_sets = [(*given, strongest) for given in _subsets(taken, self._limit - 1)]
            taken.append(strongest)
            self._weaken(node, weakest, new_sets)
        return taken

    def _weaken(self, node: str, weakest: dict[str, tuple[float, float]], sets: Iterable[tuple[str, ...]]) -> None:
        """Note how dependent ``node`` and each other stay given these sets: the largest p-value and its statistic.

        Who becomes independent is dropped for good.
        """
        for given in sets:
            others = list(weakest)
            if not others:
                return
            for other, p_value, statistic in zip(others, *self._oracle.associations(node, given, others), strict=True):
                if p_value > self._alpha:
                    del weakest[other]
                else:
                    weakest[other] = max(weakest[other], (float(p_value), -float(statistic)))

    def _shrunk(self, node: str, taken: list[str]) -> list[str]:
        """Return the candidates that no set of the others separates from ``node``."""
        kept = list(taken)
        for other in taken:
            if frozenset((node, other)) in self._required:
                continue
            rest = [name for name in kept if name != other]
            if any(
                self._oracle.p_values(node, given, [other])[0] > self._alpha for given in _subsets(rest, self._limit)
            ):
                kept = rest
        return kept


def _subsets(names: Sequence[str], largest: int) -> list[tuple[str, ...]]:
    """Return the subsets of at most so many names, the small ones first.

    >>> _subsets(["a", "b"], 1)
    [(), ('a',), ('b',)]
    """
    return [given for size in range(min(largest, len(names)) + 1) for given in combinations(names, size)]
