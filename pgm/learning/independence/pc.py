"""The PC algorithm: from answers about independence to the graph of an equivalence class.

Nodes that no set of others separates are adjacent; a node between two that are not is a collider if it is in none of
the sets that separate the two; Meek's rules direct what follows. If every answer is right, the result is the class of
the true graph. It is named after Peter Spirtes and Clark Glymour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pgm.errors import UnknownNameError, listing
from pgm.graph.base import Edge, Names
from pgm.graph.pdag import PDAG
from pgm.graph.undirected import UndirectedGraph
from pgm.learning.constraints import Constraints, checked_limit
from pgm.learning.independence.colliders import Verdict, colliders_of, direct_skeleton, drop_cycles, unshielded_triples
from pgm.learning.independence.oracles import as_oracle
from pgm.learning.independence.skeletons import SkeletonSearch
from pgm.learning.independence.tests import checked_alpha
from pgm.progress import Progress

__all__ = ["ColliderConflict", "PCResult", "pc"]

_RULES = ("majority", "conservative")


class ColliderConflict(NamedTuple):
    """An unshielded triple that the graph shows otherwise than the tests say, because they contradict each other."""

    triple: tuple[str, str, str]
    """The middle node and its two neighbours, which are not adjacent, on either side of it."""
    tested: str
    """What the separating sets say: "collider" or "no collider"."""

    def __str__(self) -> str:
        left, middle, right = self.triple
        shown = "none" if self.tested == "collider" else "one"
        return f"{left} - {middle} - {right}: the tests say {self.tested}, the graph shows {shown}"


@dataclass(frozen=True, repr=False)
class PCResult:
    """What the PC algorithm found; printing it shows the graph and where the tests contradict each other."""

    cpdag: PDAG
    """The graph of the class: undirected edges may go either way. It always stands for at least one DAG."""
    skeleton: UndirectedGraph
    """Its edges without directions."""
    separating_sets: Mapping[Edge, tuple[str, ...]]
    """For each pair that a test separated, in declared order, the set with the largest p-value."""
    conflicts: tuple[ColliderConflict, ...]
    """Triples about which the tests contradict each other."""
    ambiguous: tuple[tuple[str, str, str], ...]
    """Triples about which the separating sets do not decide; the graph shows a collider only where it must."""
    dropped: tuple[Edge, ...]
    """Edges of the skeleton left out because, directed as the constraints demand, they would close a cycle."""
    n_tests: int
    """Number of tests made."""

    def separating_set(self, x: str, y: str) -> tuple[str, ...] | None:
        """Return what separates two nodes, or None if no test did."""
        first, second = sorted((x, y), key=self.cpdag.index)
        return self.separating_sets.get((first, second))

    def __repr__(self) -> str:
        graph = repr(self.cpdag)[1:-1]
        doubts = f"{len(self.conflicts)} conflicts, {len(self.ambiguous)} ambiguous triples"
        return f"<PCResult: {graph}, {self.n_tests} tests, {doubts}>"

    def __str__(self) -> str:
        conflicts = [f"conflict: {conflict}" for conflict in self.conflicts]
        ambiguous = [f"ambiguous: {' - '.join(triple)}" for triple in self.ambiguous]
        dropped = [f"dropped: {parent} -> {child}" for parent, child in self.dropped]
        return "\n".join([repr(self)[1:-1], str(self.cpdag), *conflicts, *ambiguous, *dropped])


def pc(
    data: object,
    *,
    alpha: float = 0.05,
    method: str = "g2-adjusted",
    max_condition: int | None = None,
    colliders: Literal["majority", "conservative"] = "majority",
    required: Iterable[Edge] = (),
    forbidden: Iterable[Edge] = (),
    tiers: Sequence[Names] | None = None,
    names: Names | None = None,
    progress: bool = True,
) -> PCResult:
    """Return the equivalence class of graphs whose d-separations agree with tests of independence.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of, every column being a node. Or who answers instead of data: a `DAG`
        or a network, by d-separation, or a function of x, y and a tuple of the others that is true if x and y are
        independent given those. The order of columns or nodes does not matter.
    alpha
        A p-value above it means independence. A smaller one means fewer edges.
    method
        ``"g2"``, ``"g2-adjusted"``, ``"chi2"`` or ``"chi2-adjusted"``; see `independence_test`. Tables of several
        variables are sparse, and the adjusted methods do not take cells that cannot occur for missing evidence.
    max_condition
        Largest number of variables given in a test; default: no limit.
    colliders
        When the middle of an unshielded triple is a collider: ``"majority"``, if it is in less than half of the sets
        that separate the ends; ``"conservative"``, if it is in none, and no collider only if it is in all.
    required, forbidden
        Edges (parent, child) that the graph must have, and must not have. Required edges are not tested.
    tiers
        Lists of names in order of time: no edge leads from a later list to an earlier one. Variables in no list are
        free.
    names
        The variables, if ``data`` is a function.
    progress
        Whether to show a progress bar if the search lasts over two seconds on a terminal.

    Raises
    ------
    UnknownNameError
        For an unknown method or collider rule, and for names that are no columns.
    GraphError
        For constraints that cannot hold together.
    DataError
        If ``alpha`` does not lie between 0 and 1, and for a column that tells most rows apart, such as an identifier.
    MissingDataError
        If cells are missing.
    TooLargeError
        If the table of a test would exceed the memory budget: set ``max_condition``.

    Notes
    -----
    Every test of a node and a set with all its neighbours takes one pass over the distinct rows. The number of tests is
    exponential in the number of neighbours.

    The skeleton is that of PC-stable, and colliders are decided by all separating sets among the neighbours, so one
    wrong answer does less harm than in the original algorithm, and no result depends on the order of the columns. If
    the tests contradict each other the nearest valid class is returned, and `PCResult.conflicts` says where.

    With constraints, only nodes that may be parents are given in tests, and the result is the class restricted to the
    DAGs that keep to them: it may have more directed edges than a CPDAG.

    References
    ----------
    Spirtes, Glymour and Scheines (2000), *Causation, Prediction, and Search*, section 5.4.2. Colombo and Maathuis
    (2014), *Journal of Machine Learning Research* 15, 3741-3782. Ramsey, Spirtes and Zhang (2006), UAI. Meek (1995),
    UAI.

    Examples
    --------
    With a graph in place of data, PC finds what could be known from endless data:

    >>> from pgm.graph import DAG
    >>> result = pc(DAG([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery"), ("season", "rain")]))
    >>> print(result.cpdag)
    rain -> wet
    wet -> slippery
    sprinkler -> wet
    rain - season
    >>> result.separating_set("rain", "slippery")
    ('wet',)
    """
    if colliders not in _RULES:
        raise UnknownNameError(f"no rule for colliders is called {colliders!r}; there are {listing(_RULES)}")
    oracle = as_oracle(data, method, names)
    constraints = Constraints(oracle.names, required, forbidden, tiers)
    with Progress("PC", show=progress) as bar:
        search = SkeletonSearch(
            oracle, checked_alpha(alpha), checked_limit("max_condition", max_condition), constraints, bar.step
        )
        search.run()
        dropped = _drop_cycles(search)
        verdicts = _verdicts(search)
    return _result(search, constraints, verdicts, colliders == "conservative", dropped, oracle.n_tests)


def _drop_cycles(search: SkeletonSearch) -> list[tuple[int, int]]:
    """Leave out edges with one possible direction that would close a cycle, the least sure ones; return them."""
    one_way = [
        (u, v)
        for u, near in enumerate(search.neighbours)
        for v in near
        if not search.may_point[v, u] and (u, v) not in search.required
    ]
    one_way.sort(key=lambda edge: (search.largest_p[min(edge), max(edge)], edge))
    dropped = drop_cycles(len(search.names), sorted(search.required), one_way)[1]
    for u, v in dropped:
        search.neighbours[u].remove(v)
        search.neighbours[v].remove(u)
    return dropped


def _verdicts(search: SkeletonSearch) -> list[Verdict]:
    """Return for each unshielded triple how many separating sets hold its middle node, and how many do not."""
    triples = unshielded_triples(search.neighbours)
    separators = search.all_separators(dict.fromkeys((left, right) for left, _, right in triples))
    verdicts = []
    for left, middle, right in triples:
        sets = separators[left, right]
        n_with = sum(middle in separator.given for separator in sets)
        verdicts.append(Verdict((left, middle, right), len(sets) - n_with, n_with))
    return verdicts


def _result(
    search: SkeletonSearch,
    constraints: Constraints,
    verdicts: list[Verdict],
    unanimous: bool,
    dropped: list[tuple[int, int]],
    n_tests: int,
) -> PCResult:
    """Return the graph that the verdicts lead to, under names."""
    names, size = search.names, len(search.names)
    known = {
        (u, v) for u, near in enumerate(search.neighbours) for v in near if not search.may_point[v, u]
    } | search.required
    edges = direct_skeleton(search.neighbours, sorted(known), verdicts, unanimous)
    shown = colliders_of(size, edges)
    arrows = known | {(end, middle) for left, middle, right in shown for end in (left, right)}
    loose = [(u, v) for u, v in edges if (u, v) not in arrows]
    graph = PDAG(_named(arrows, names), _named(loose, names), constraints.names).meek_closure()
    kinds = {verdict.triple: verdict.kind(unanimous) for verdict in verdicts}
    opposite = {True: "no collider", False: "collider"}
    conflicts = [triple for triple, kind in kinds.items() if kind == opposite[triple in shown]]
    separating_sets: dict[Edge, tuple[str, ...]] = {}
    for u, v in search.separators:
        first, second = sorted((names[u], names[v]), key=graph.index)
        best = search.best_separator(u, v)
        separating_sets[first, second] = () if best is None else tuple(names[z] for z in best.given)
    return PCResult(
        cpdag=graph,
        skeleton=UndirectedGraph([*graph.directed, *graph.undirected], graph.nodes),
        separating_sets=dict(sorted(separating_sets.items(), key=lambda item: tuple(map(graph.index, item[0])))),
        conflicts=tuple(ColliderConflict(_triple(triple, names), kinds[triple]) for triple in conflicts),
        ambiguous=tuple(_triple(triple, names) for triple, kind in kinds.items() if kind == "ambiguous"),
        dropped=tuple(_named(dropped, names)),
        n_tests=n_tests,
    )


def _named(pairs: Iterable[tuple[int, int]], names: Sequence[str]) -> list[Edge]:
    return [(names[u], names[v]) for u, v in sorted(pairs)]


def _triple(triple: tuple[int, int, int], names: Sequence[str]) -> tuple[str, str, str]:
    left, middle, right = triple
    return names[left], names[middle], names[right]
