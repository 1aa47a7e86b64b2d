"""Better graphs for completed rows: the search of structural EM.

The searches of this library are for discrete variables. Continuous leaves have no children, so the parents of each are
sought apart (`pgm.learning.em.leaf_families`), and both parts make one graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeAlias

from pgm.data import CountSource, Dataset
from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.cpt import CPT
from pgm.graph.dag import DAG
from pgm.learning.constraints import Constraints
from pgm.learning.em.incomplete import IncompleteData
from pgm.learning.em.leaf_families import LeafScores, best_parents
from pgm.learning.parameters.estimation import estimate_table
from pgm.learning.scores.decomposable import Score
from pgm.learning.scores.information import PenalizedLikelihood
from pgm.learning.scores.scoring import score as score_of
from pgm.network import BayesianNetwork
from pgm.network.core import CPD

__all__ = ["GAIN", "CompletedRows", "Found", "GraphSearch", "Search", "counted_network", "named_search", "without"]

SEARCHES = {
    "exact_search": "pgm.learning.exact.exact_search",
    "ges": "pgm.learning.search.ges",
    "hill_climb": "pgm.learning.search.hill_climbing",
    "learn_structure": "pgm.learning.search.learn_structure",
    "order_search": "pgm.learning.search.order_search",
    "tabu_search": "pgm.learning.search.tabu",
}
"""Where the searches live that can be called by name."""

GAIN = 1e-6
"""A graph that scores better by no more than this is no better."""


class Found(Protocol):
    """What a search must return."""

    @property
    def dag(self) -> DAG:
        """The graph found."""


Search: TypeAlias = str | Callable[..., Found]
"""A search by name, or a function called as ``search(data, score, required=..., forbidden=..., ...)``."""


class CompletedRows(NamedTuple):
    """Completed rows, as the two parts of a graph read them."""

    tables: CountSource
    """The discrete columns."""
    leaves: dict[str, LeafScores]
    """The scores of each continuous one."""


class GraphSearch:
    """Finds better graphs for completed rows: one search for all discrete variables, and one for each leaf.

    Parameters
    ----------
    search, score
        What the discrete variables are searched with, and how graphs are measured.
    constraints
        Those of the whole graph.
    floors
        The least variance of each leaf.
    options
        Further options of the search.
    memory_budget
        Bytes that the means of a leaf and the work on them may take.
    """

    def __init__(
        self,
        search: Callable[..., Found],
        score: Score,
        constraints: Constraints,
        floors: Mapping[str, float],
        options: Mapping[str, Any],
        memory_budget: int,
    ) -> None:
        self._search, self._score, self._constraints = search, score, constraints
        self._floors, self._memory_budget = floors, memory_budget
        self._discrete = [name for name in constraints.names if name not in floors]
        inside = set(self._discrete)
        self._options = {
            "required": [edge for edge in constraints.required if inside.issuperset(edge)],
            "forbidden": [edge for edge in constraints.forbidden if inside.issuperset(edge)],
            "tiers": [[name for name in tier if name in inside] for tier in constraints.tiers] or None,
            "max_parents": constraints.max_parents,
            **options,
        }

    def rows(self, source: CountSource) -> CompletedRows:
        """Return completed rows, ready to be counted."""
        if not self._floors:
            return CompletedRows(source, {})
        assert isinstance(source, Dataset) and isinstance(self._score, PenalizedLikelihood)
        n_variables = len(self._constraints.names)
        leaves = {
            name: LeafScores(source, name, self._score, n_variables, floor, self._memory_budget)
            for name, floor in self._floors.items()
        }
        return CompletedRows(source.select(self._discrete), leaves)

    def better(self, dag: DAG, rows: CompletedRows) -> DAG:
        """Return the graph that the searches find, from another one."""
        result = self._search(rows.tables, self._score, start=without(self._floors, dag), **self._options)
        edges = list(_graph_of(result, self._discrete).edges)
        constraints = self._constraints
        for leaf, scores in rows.leaves.items():
            allowed = [name for name in self._discrete if constraints.allows(name, leaf)]
            required = [parent for parent, child in constraints.required if child == leaf]
            parents = best_parents(scores, dag.parents(leaf), allowed, required, constraints.max_parents, GAIN)
            edges += [(parent, leaf) for parent in parents]
        return DAG(edges, constraints.names)

    def score(self, dag: DAG, rows: CompletedRows) -> float:
        """Return the score of a graph."""
        leaves = [scores.of(dag.parents(leaf)) for leaf, scores in rows.leaves.items()]
        return math.fsum([score_of(without(self._floors, dag), rows.tables, self._score), *leaves])


def counted_network(dag: DAG, problem: IncompleteData, rows: CompletedRows, smoothing: float) -> BayesianNetwork:
    """Return the network on a graph with the tables, means and variances that the completed rows suggest."""
    nodes = problem.dag.nodes
    tables = rows.tables.count([(node, problem.dag.parents(node)) for node in nodes])
    made: dict[str, CPD] = {
        child.name: CPT(child, estimate_table([*above, child], counts, smoothing / child.cardinality).values, above)
        for (*above, child), counts in zip(problem.families, tables, strict=True)
    }
    made |= {leaf: scores.gaussian(dag.parents(leaf)) for leaf, scores in rows.leaves.items()}
    return BayesianNetwork((made[node] for node in dag.nodes), dag)


def named_search(search: Search) -> Callable[..., Found]:
    """Return a search given by name, or as it is.

    Raises
    ------
    UnknownNameError
        If there is none; lists the names.

    Examples
    --------
    >>> named_search("ges").__name__
    'ges'
    """
    if not isinstance(search, str):
        if not callable(search):
            raise UnknownNameError(f"search is a name or a function, not {search!r}; names are {listing(SEARCHES)}")
        return search
    if search not in SEARCHES:
        raise UnknownNameError(f"no search {search!r}; there are {listing(SEARCHES)}, and functions")
    found: Callable[..., Found] = getattr(import_module(SEARCHES[search]), search)
    return found


def _graph_of(result: object, names: Sequence[str]) -> DAG:
    """Return the graph that a search found, its nodes in the order of the data."""
    found = getattr(result, "dag", None)
    if not isinstance(found, DAG) or set(found.nodes) != set(names):
        raise DataError(f"a search must return a result whose .dag is a DAG on {listing(names)}, not {result!r}")
    return DAG(found.edges, names)


def without(leaves: Iterable[str], dag: DAG) -> DAG:
    """Return the discrete part of a graph."""
    left_out = set(leaves)
    return dag.subgraph([node for node in dag.nodes if node not in left_out]) if left_out else dag
