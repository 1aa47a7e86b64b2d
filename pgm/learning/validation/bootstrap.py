"""The bootstrap: how often would an edge be found again in other data.

Draw as many rows as there are from the data, with replacement; search for a graph again; repeat. The share of such
*replicates* in which two nodes are joined estimates how far the data support the edge, its *strength*; the share of
those in which it leads one way is its *direction*.

Two artefacts are kept out of the directions. A score that cannot tell equivalent graphs apart says nothing on
reversible edges, so graphs are compared as equivalence classes: a reversible edge counts half each way. And searches
break ties by the order of the columns, so every replicate has its columns in another random order.

The *averaged network* keeps the edges found more often than a threshold that the strengths themselves suggest. Scutari
and Nagarajan compare their cumulative distribution F with that of a clear-cut case, in which a share t of all pairs has
strength 0 and the others 1: a step function, F(x) = t from 0 to 1. The threshold is the t-quantile of the strengths for
the t with the smallest L1 distance, the integral of abs(F(x) - t) over x from 0 to 1. That integral is smallest if t is
a median of F(x) for uniform x, and since F never falls, the median is F(1/2): so the threshold is the largest strength
that is at most 1/2, and *the rule keeps exactly the pairs joined in more than half of the replicates*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.errors import GraphError
from pgm.graph.base import Edge, reachable
from pgm.graph.dag import DAG
from pgm.graph.pdag import PDAG
from pgm.learning.constraints import Constraints, checked_generator
from pgm.learning.scores.scoring import get_score
from pgm.learning.search.learn_structure import learn_structure
from pgm.learning.validation.resampling import (
    DistinctRows,
    Search,
    checked_search,
    learned_graph,
    quiet,
    whole_number,
)
from pgm.progress import Progress

__all__ = ["AveragedNetwork", "BootstrapResult", "EdgeConfidence", "bootstrap"]

_SHOWN = 50
"""Edges that a printed result lists."""


class EdgeConfidence(NamedTuple):
    """How often one edge was found."""

    parent: str
    child: str
    strength: float
    """Share of the replicates in which the two nodes are joined, whatever the direction."""
    direction: float
    """Of those, the share in which the edge leads from parent to child; undirected edges count half. At least 1/2."""


@dataclass(frozen=True, repr=False)
class AveragedNetwork:
    """The edges found often enough, each in the direction found more often."""

    graph: PDAG
    """The edges; those found equally often both ways are undirected."""
    dag: DAG
    """The same with all edges directed: without new V-structures if possible, else along the order of the nodes."""
    threshold: float
    """Edges of greater strength are in the graph."""
    dropped: tuple[EdgeConfidence, ...]
    """Edges strong enough that would have closed a cycle of stronger ones."""

    def __repr__(self) -> str:
        edges = f"{len(self.graph.directed)} directed and {len(self.graph.undirected)} undirected edges"
        return f"<AveragedNetwork: {len(self.graph.nodes)} nodes, {edges}, threshold {self.threshold:g}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], str(self.graph)]
        lines += [f"dropped, since it closes a cycle: {edge.parent} -> {edge.child}" for edge in self.dropped]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class BootstrapResult:
    """The graphs of all replicates and what they agree on; printing it shows a table of the edges."""

    names: tuple[str, ...]
    """The nodes, in the order of the columns."""
    size: int
    """Rows of a replicate."""
    graphs: tuple[PDAG, ...]
    """The graph of each replicate, with which any other feature can be counted."""

    @cached_property
    def strength(self) -> NDArray[np.float64]:
        """Share of the replicates in which two nodes are joined, shape (nodes, nodes), symmetric."""
        return _read_only((self._halves + self._halves.T) / (2 * len(self.graphs)))

    @cached_property
    def direction(self) -> NDArray[np.float64]:
        """Of the replicates that join two nodes, the share with an edge from row to column; 0 for a pair never joined.

        Undirected edges count half, so that ``direction + direction.T`` is 1 for pairs joined at least once.
        """
        return _read_only(self._halves / np.maximum(self._halves + self._halves.T, 1))

    @cached_property
    def edges(self) -> tuple[EdgeConfidence, ...]:
        """Every edge found at least once, in its more frequent direction, the strongest first.

        Of equally strong edges the one with the clearer direction comes first, then the alphabet decides. An edge found
        equally often both ways leads from the node declared first.
        """
        found = []
        for first, second in np.argwhere(np.triu(self.strength > 0)).tolist():
            ends = (second, first) if self._halves[second, first] > self._halves[first, second] else (first, second)
            parent, child = (self.names[end] for end in ends)
            found.append(EdgeConfidence(parent, child, float(self.strength[ends]), float(self.direction[ends])))
        return tuple(sorted(found, key=lambda edge: (-edge.strength, -edge.direction, edge.parent, edge.child)))

    @cached_property
    def threshold(self) -> float:
        """The threshold that the strengths suggest: the largest strength up to 1/2."""
        return max((edge.strength for edge in self.edges if edge.strength <= 0.5), default=0.0)

    def averaged_network(self, threshold: float | None = None) -> AveragedNetwork:
        """Return the network of the edges whose strength exceeds a threshold.

        Parameters
        ----------
        threshold
            From 0 to below 1; by default :attr:`threshold`.

        Raises
        ------
        GraphError
            For another threshold.

        Notes
        -----
        Edges enter by their strength. One that would close a cycle of edges that are in already is the weakest of that
        cycle and is dropped; the result lists such edges. An edge found equally often both ways stays undirected in
        ``graph`` and gets a direction in ``dag``. A node may have more parents here than in any single replicate.
        """
        limit = self.threshold if threshold is None else _checked_threshold(threshold)
        children: list[list[int]] = [[] for _ in self.names]
        place = {name: number for number, name in enumerate(self.names)}
        directed, undirected, dropped = [], [], []
        for edge in self.edges:
            parent, child = place[edge.parent], place[edge.child]
            if edge.strength <= limit:
                break
            if self._halves[parent, child] == self._halves[child, parent]:
                undirected.append((edge.parent, edge.child))
            elif parent in reachable([child], children):
                dropped.append(edge)
            else:
                children[parent].append(child)
                directed.append((edge.parent, edge.child))
        graph = PDAG(directed, undirected, self.names)
        return AveragedNetwork(graph, _directed(graph), limit, tuple(dropped))

    @cached_property
    def _halves(self) -> NDArray[np.int64]:
        """Twice the number of replicates with an edge from row to column, undirected ones counted half."""
        place = {name: number for number, name in enumerate(self.names)}
        halves = np.zeros((len(self.names), len(self.names)), np.int64)
        for graph in self.graphs:
            for parent, child in graph.directed:
                halves[place[parent], place[child]] += 2
            for left, right in graph.undirected:
                halves[place[left], place[right]] += 1
                halves[place[right], place[left]] += 1
        return halves

    def __repr__(self) -> str:
        work = f"{len(self.graphs)} replicates of {self.size} rows"
        return f"<BootstrapResult: {work}, {len(self.names)} nodes, {len(self.edges)} edges found>"

    def __str__(self) -> str:
        shown = self.edges[:_SHOWN]
        texts = [f"{edge.parent} {'--' if edge.direction == 0.5 else '->'} {edge.child}" for edge in shown]
        width = max(map(len, ["edge", *texts]))
        lines = [repr(self)[1:-1], f"  {'edge':{width}}  strength  direction"]
        for text, edge in zip(texts, shown, strict=True):
            lines.append(f"  {text:{width}}  {edge.strength:8.3f}  {edge.direction:9.3f}")
        if len(self.edges) > _SHOWN:
            lines.append(f"  ... {len(self.edges) - _SHOWN} more edges")
        return "\n".join([*lines, f"  averaged network: strength above {self.threshold:g}"])


def bootstrap(
    data: object,
    search: Search = learn_structure,
    *,
    replicates: int = 200,
    size: int | None = None,
    rng: np.random.Generator | int | None = 0,
    permute_columns: bool = True,
    cpdag: bool | None = None,
    progress: bool = True,
    **options: Any,
) -> BootstrapResult:
    """Return how often each edge is found again when the rows are drawn anew.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of, without missing cells.
    search
        Takes data and ``options``, and returns a graph or a result that has one: `learn_structure`, `hill_climb`, `pc`,
        `chow_liu`, or a function of your own.
    replicates
        How many times to draw and to search. The first ones do not depend on how many there are.
    size
        Rows of a replicate; by default as many as the data have.
    rng
        A seed, or a NumPy generator, which is advanced.
    permute_columns
        Whether each replicate has its columns in another random order, so that ties are broken another way each time.
        Then the result does not depend on the order of the columns of the data.
    cpdag
        Whether graphs are compared as equivalence classes, in which reversible edges are undirected and count half each
        way. By default, unless ``score`` is one that tells equivalent graphs apart. Edges whose reverse the options
        ``required``, ``forbidden`` or ``tiers`` rule out are not reversible, nor are those that follow from them.
    progress
        Whether to show a progress bar if it lasts over two seconds on a terminal.
    **options
        Passed on to the search, such as ``score="bdeu"``, ``max_parents=3`` or ``forbidden=[...]``.

    Raises
    ------
    DataError
        For numbers out of range, an ``rng`` that is neither a seed nor a generator, data without rows, and fractional
        weights unless ``size`` is given.
    GraphError
        If ``search`` is no function, or returns no graph.
    MissingDataError
        If cells are missing.

    Notes
    -----
    A replicate is the distinct rows of the data with random weights, drawn from a multinomial distribution, so no rows
    are copied. The time is that of the searches.

    References
    ----------
    Friedman, Goldszmidt and Wyner (1999), Data analysis with Bayesian networks: a bootstrap approach, *UAI*. Scutari
    and Nagarajan (2013), Identifying significant edges in graphical models of molecular networks, *Artificial
    Intelligence in Medicine* 57, 207-217.

    Examples
    --------
    >>> data = {"rain": [0] * 20 + [1] * 20, "wet": [0] * 18 + [1] * 20 + [0] * 2, "moon": [0, 1] * 20}
    >>> result = bootstrap(data, replicates=50, rng=1)
    >>> print(result)
    BootstrapResult: 50 replicates of 40 rows, 3 nodes, 3 edges found
      edge          strength  direction
      rain -> wet      1.000      0.510
      moon -> wet      0.100      0.600
      rain -- moon     0.080      0.500
      averaged network: strength above 0.1
    """
    search = checked_search(search)
    rows = DistinctRows.of(data)
    n_rows = int(rows.whole_counts().sum()) if size is None else whole_number("size", size, least=1)
    shares = rows.counts / rows.counts.sum()
    seeds = checked_generator(rng).integers(2**63, size=whole_number("replicates", replicates, least=1))
    constraints, options = _constraints(rows.names, quiet(search, options))
    as_class = _tells_no_directions(options.get("score")) if cpdag is None else cpdag
    graphs = []
    with Progress("bootstrap", total=len(seeds), show=progress) as bar:
        for seed in seeds:
            generator = np.random.default_rng(seed)
            weights = generator.multinomial(n_rows, shares)
            order = generator.permutation(len(rows.names)) if permute_columns else None
            names = rows.names if order is None else [rows.canonical[number] for number in order]
            graph = learned_graph(search(rows.weighted(weights, names), **options), rows.names)
            graph = _as_pdag(graph, constraints if as_class else None)
            graphs.append(PDAG(graph.directed, graph.undirected, rows.names))
            bar.step()
    return BootstrapResult(rows.names, n_rows, tuple(graphs))


def _constraints(names: Sequence[str], options: dict[str, Any]) -> tuple[Constraints, dict[str, Any]]:
    """Return the constraints among the options, checked, and the options, with no iterator among these."""
    known = {key: tuple(options[key]) for key in ("required", "forbidden") if options.get(key) is not None}
    constraints = Constraints(names, known.get("required", ()), known.get("forbidden", ()), options.get("tiers"))
    return constraints, {**options, **known}


def _tells_no_directions(score: Any) -> bool:
    """Return whether equivalent graphs score the same; searches without a score take BIC, or tests."""
    return score is None or get_score(score).is_score_equivalent


def _as_pdag(graph: DAG | PDAG, constraints: Constraints | None) -> PDAG:
    """Return a graph as a PDAG; with constraints, a DAG becomes that of its class, restricted by them."""
    if isinstance(graph, PDAG):
        return graph
    if constraints is None:
        return PDAG.from_dag(graph)
    equivalence_class = graph.cpdag()
    reversible = {frozenset(edge) for edge in equivalence_class.undirected}
    fixed = {
        frozenset(edge): edge
        for edge in graph.edges
        if frozenset(edge) in reversible and (edge in constraints.required or not constraints.allows(edge[1], edge[0]))
    }
    if not fixed:
        return equivalence_class
    free = [edge for edge in equivalence_class.undirected if frozenset(edge) not in fixed]
    return PDAG([*equivalence_class.directed, *fixed.values()], free, graph.nodes).meek_closure()


def _directed(graph: PDAG) -> DAG:
    """Return the graph with all edges directed, never closing a cycle."""
    try:
        return graph.consistent_extension()
    except GraphError:
        order = DAG(graph.directed, graph.nodes).topological_order
        rank = {name: number for number, name in enumerate(order)}
        downwards: list[Edge] = [(u, v) if rank[u] < rank[v] else (v, u) for u, v in graph.undirected]
        return DAG([*graph.directed, *downwards], graph.nodes)


def _checked_threshold(threshold: object) -> float:
    number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if not number or not 0 <= threshold < 1:  # type: ignore[operator]
        raise GraphError(f"threshold must be a number from 0 to below 1, which strengths exceed, not {threshold!r}")
    return float(threshold)  # type: ignore[arg-type]


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
