"""Edge strengths: how much each edge of a graph matters to its data.

Take an edge out and leave the rest of the graph alone: the score changes by the difference of two local scores, those
of the child without and with the parent. A large loss means that the data insist on the edge; a gain, that the graph
is better off without it. A test of independence of the two ends, given the other parents, asks the same in another way.

Neither says whether the edge would be found again in other data; that is what `pgm.learning.validation.bootstrap`
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pgm.data import count_source
from pgm.errors import TableError, UnknownNameError, listing
from pgm.graph.base import Edge
from pgm.graph.dag import DAG, as_dag
from pgm.learning.independence.tests import independence_test
from pgm.learning.scores.scoring import AnyScore, bound_score, family_values, local_scores, prior_of, scored_source
from pgm.network import BayesianNetwork

__all__ = ["EdgeStrength", "EdgeStrengths", "edge_strengths"]

_SHOWN = 50
"""Edges that a printed result lists."""


class EdgeStrength(NamedTuple):
    """How much one edge matters."""

    parent: str
    child: str
    value: float
    """Change of the score when the edge is taken out, negative if the edge helps; or the p-value of the test."""


@dataclass(frozen=True, repr=False)
class EdgeStrengths:
    """How much each edge of a graph matters; printing it shows a table.

    ``strengths["a", "b"]`` is the value of the edge a -> b.
    """

    edges: tuple[EdgeStrength, ...]
    """The edges, those that matter most first; of equal ones the first declared."""
    measure: str
    """Name of the score or of the test."""
    is_p_value: bool
    """Whether the values are p-values, and not changes of a score."""

    def __getitem__(self, edge: Edge) -> float:
        for parent, child, value in self.edges:
            if (parent, child) == edge:
                return value
        edges = listing(f"{parent} -> {child}" for parent, child, _ in self.edges)
        raise UnknownNameError(f"no edge {edge!r}; the edges are {edges}")

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        kind = "p-values" if self.is_p_value else "changes of score"
        return f"<EdgeStrengths: {kind} ({self.measure}) of {len(self.edges)} edges>"

    def __str__(self) -> str:
        head = f"p-value ({self.measure})" if self.is_p_value else f"change of {self.measure} without the edge"
        texts = [f"{edge.parent} -> {edge.child}" for edge in self.edges[:_SHOWN]]
        values = [f"{edge.value:.4g}" if self.is_p_value else f"{edge.value:+.4f}" for edge in self.edges[:_SHOWN]]
        left, right = max(map(len, ["edge", *texts])), max(map(len, values), default=0)
        lines = [f"{'edge':{left}}  {head}"]
        lines += [f"{text:{left}}  {value:>{right}}" for text, value in zip(texts, values, strict=True)]
        if len(self.edges) > _SHOWN:
            lines.append(f"... {len(self.edges) - _SHOWN} more edges")
        return "\n".join(lines)


def edge_strengths(
    dag: DAG | BayesianNetwork, data: object, score: AnyScore | None = None, *, method: str | None = None
) -> EdgeStrengths:
    """Return how much each edge matters: the change of the score without it, or the p-value of a test.

    Parameters
    ----------
    dag
        The graph, or what has one, such as a network or the result of a search. Its nodes must be columns of the data;
        further columns are ignored.
    data
        A `Dataset`, or anything one can be made of.
    score
        A name or a score object; by default ``"bic"``. The value of an edge is the score of the graph without it less
        the score of the graph: *negative if the edge helps*, as in bnlearn's ``arc.strength``.
    method
        Name of a test, such as ``"g2"``, in place of a score; see `pgm.learning.independence_test`. The value is the
        p-value of the independence of parent and child, given the child's other parents: *small if the edge helps*.
        Permutations are drawn with seed 0.

    Raises
    ------
    TableError
        For both a score and a method.
    GraphError, UnknownNameError, MissingDataError, TooLargeError
        As `pgm.learning.local_scores` and `pgm.learning.independence_test`.

    Notes
    -----
    One pass over the distinct rows for each node and each edge. P-values of edges found by a search on the same data
    are too small: the search picked the edges for their fit.

    References
    ----------
    Scutari (2010), *Journal of Statistical Software* 35(3), section 4.

    Examples
    --------
    >>> data = {"rain": [0] * 20 + [1] * 20, "wet": [0] * 18 + [1] * 20 + [0] * 2, "moon": [0, 1] * 20}
    >>> print(edge_strengths(DAG([("rain", "wet"), ("moon", "wet")]), data))
    edge         change of bic without the edge
    rain -> wet  -11.0337
    moon -> wet   +3.6889
    """
    if score is not None and method is not None:
        raise TableError(f"give a score or the method of a test, not both: {score!r} and {method!r}")
    graph = as_dag(dag)
    if method is None:
        measure, values = _score_changes(graph, data, "bic" if score is None else score)
    else:
        measure, values = method, _p_values(graph, data, method)
    edges = [EdgeStrength(*edge, value) for edge, value in zip(_by_child(graph), values, strict=True)]
    return EdgeStrengths(tuple(sorted(edges, key=lambda edge: edge.value)), measure, method is not None)


def _by_child(dag: DAG) -> list[Edge]:
    return [(parent, child) for child in dag.nodes for parent in dag.parents(child)]


def _others(dag: DAG, edge: Edge) -> list[str]:
    """Return the child's other parents."""
    return [parent for parent in dag.parents(edge[1]) if parent != edge[0]]


def _score_changes(dag: DAG, data: object, score: AnyScore) -> tuple[str, list[float]]:
    """Return the name of the score, and what each edge's removal adds to it."""
    present = local_scores(dag, data, score)
    source = scored_source(score, count_source(data, dag.nodes))
    measure = bound_score(score, source, len(dag.nodes))
    changes = []
    for parent, child in _by_child(dag):
        others = _others(dag, (parent, child))
        (table,) = source.count([(child, others)])
        without = float(family_values(measure, table.reshape(-1, table.shape[-1])))
        changes.append(without + prior_of(measure, len(others), len(dag.nodes)) - present[child])
    return measure.name, changes


def _p_values(dag: DAG, data: object, method: str) -> list[float]:
    source = count_source(data, dag.nodes)
    return [
        independence_test(source, parent, child, _others(dag, (parent, child)), method=method, rng=0).p_value
        for parent, child in _by_child(dag)
    ]
