"""`Constraints`: which edges a structure search must, may and must not use; checked before any search begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgm.data.checks import counted
from pgm.errors import DataError, EvidenceError, GraphError, UnknownNameError, listing
from pgm.graph.base import Edge, Names, names_of, read_edges
from pgm.graph.dag import DAG, as_dag
from pgm.inference.drawing import as_generator
from pgm.network import BayesianNetwork

__all__ = ["Constraints", "checked_generator", "checked_limit"]


@dataclass(frozen=True)
class Constraints:
    """What is known about the edges of a graph before searching for it.

    Parameters
    ----------
    names
        The nodes.
    required
        Edges that every graph must have, so that none has their reverse.
    forbidden
        Edges that no graph may have; the reverse of a forbidden edge is not forbidden.
    tiers
        Lists of names in order of time: no edge leads from a later list to an earlier one. Nodes in no list are free:
        they may have edges from and to all others, so that a path through one may lead from a later list to an earlier
        one.
    max_parents
        Largest number of parents of a node, required ones included, or None for no limit.

    Raises
    ------
    UnknownNameError
        For a name that is not among ``names``.
    GraphError
        For constraints that cannot hold together; names the edges or nodes at fault.

    Examples
    --------
    >>> Constraints(["a", "b", "c"], tiers=[["a"], ["b", "c"]]).allows("b", "a")
    False
    >>> Constraints(["a", "b"], required=[("a", "b")], forbidden=[("a", "b")])
    Traceback (most recent call last):
    ...
    pgm.errors.GraphError: the edge a -> b is both required and forbidden
    """

    names: tuple[str, ...]
    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    max_parents: int | None = None
    _index: dict[str, int] = field(init=False, repr=False, compare=False)
    _allowed: NDArray[np.bool_] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        names: Names,
        required: Iterable[Edge] = (),
        forbidden: Iterable[Edge] = (),
        tiers: Sequence[Names] | None = None,
        max_parents: int | None = None,
    ) -> None:
        set_once = super().__setattr__
        set_once("names", names_of(names))
        set_once("_index", {name: position for position, name in enumerate(self.names)})
        set_once("required", self._known_edges(required, "required"))
        set_once("forbidden", self._known_edges(forbidden, "forbidden"))
        set_once("tiers", self._checked_tiers(tiers))
        set_once("max_parents", checked_limit("max_parents", max_parents))
        set_once("_allowed", self._allowed_matrix())
        self._checked_graph(self.required, "the required edges")

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which edges may occur, read-only, shape (nodes, nodes), from the row's node to the column's."""
        return self._allowed

    def allows(self, parent: str, child: str) -> bool:
        """Return whether the edge ``parent -> child`` may occur."""
        self._check_names((parent, child))
        return bool(self._allowed[self._index[parent], self._index[child]])

    def starting_graph(self, start: DAG | BayesianNetwork | None) -> DAG:
        """Return ``start`` (default: no edges) with the required edges added, on all nodes in their order.

        Raises
        ------
        UnknownNameError
            If ``start`` has a node that does not exist.
        GraphError
            If it is no graph, if it breaks a constraint, or if the required edges close a cycle in it; names the edge.
        """
        if start is None:
            return self._checked_graph(self.required, "the required edges")
        dag = as_dag(start)
        self._check_names(dag.nodes)
        what = "the starting graph with the required edges" if self.required else "the starting graph"
        return self._checked_graph([*dag.edges, *self.required], what)

    def _checked_graph(self, edges: Iterable[Edge], what: str) -> DAG:
        try:
            graph = DAG(edges, self.names)
        except GraphError as error:
            raise GraphError(f"{what}: {error}") from None
        self.check(graph, what)
        return graph

    def check(self, graph: DAG | BayesianNetwork, what: str = "the graph") -> None:
        """Raise `GraphError` unless ``graph`` keeps to the constraints; ``what`` names it in the message."""
        dag = as_dag(graph)
        self._check_names(dag.nodes)
        for parent, child in dag.edges:
            if not self.allows(parent, child):
                raise GraphError(f"{what}: {self._why_not(parent, child)}")
        for parent, child in self.required:
            if not dag.has_edge(parent, child):
                raise GraphError(f"{what} lacks the required edge {parent} -> {child}")
        for node in dag.nodes:
            parents = dag.parents(node)
            if self.max_parents is not None and len(parents) > self.max_parents:
                found = f"{node!r} has {counted(len(parents), 'parent')}, {listing(parents)}"
                raise GraphError(f"{what}: {found}, but max_parents is {self.max_parents}")

    def in_column_order(self, dag: DAG) -> DAG:
        """Return the equivalent graph whose edges follow the order of the names where they can.

        If that one breaks a constraint, the graph itself is returned.

        >>> print(Constraints(["a", "b"]).in_column_order(DAG([("b", "a")], ["a", "b"])))
        [a][b|a]
        """
        other = dag.cpdag().consistent_extension()
        try:
            self.check(other)
        except GraphError:
            return dag
        return other

    # ------------------------------------------------------------------ validation

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if not isinstance(name, str) or name not in self._index:
                raise UnknownNameError(f"no variable {name!r}; the variables are {listing(self.names)}")

    def _known_edges(self, edges: Iterable[Edge], what: str) -> tuple[Edge, ...]:
        pairs = read_edges(edges)
        for edge in pairs:
            for name in edge:
                if name not in self._index:
                    known = listing(self.names)
                    raise UnknownNameError(f"{what} edge {edge[0]} -> {edge[1]}: no variable {name!r}, only {known}")
        return tuple(pairs)

    def _checked_tiers(self, tiers: Sequence[Names] | None) -> tuple[tuple[str, ...], ...]:
        if tiers is not None and (isinstance(tiers, str) or not isinstance(tiers, Sequence)):
            raise GraphError(f"tiers must be a list of lists of names, in order of time, not {tiers!r}")
        checked = tuple(names_of(tier) for tier in tiers or ())
        seen: set[str] = set()
        for tier in checked:
            self._check_names(tier)
            for name in tier:
                if name in seen:
                    raise GraphError(f"{name!r} is in two tiers, or twice in one")
                seen.add(name)
        return checked

    def _allowed_matrix(self) -> NDArray[np.bool_]:
        n_nodes = len(self.names)
        allowed = ~np.eye(n_nodes, dtype=bool)
        tier_of = np.full(n_nodes, -1)
        for number, tier in enumerate(self.tiers):
            tier_of[[self._index[name] for name in tier]] = number
        backwards = (tier_of[:, None] > tier_of[None, :]) & (tier_of[None, :] >= 0)
        allowed &= ~backwards
        for parent, child in self.forbidden:
            allowed[self._index[parent], self._index[child]] = False
        allowed.setflags(write=False)
        return allowed

    def _why_not(self, parent: str, child: str) -> str:
        """Return why the edge is not allowed."""
        edge = f"the edge {parent} -> {child}"
        if (parent, child) not in self.forbidden:
            return f"{edge} leads from a later tier to an earlier one"
        if (parent, child) in self.required:
            return f"{edge} is both required and forbidden"
        return f"{edge} is forbidden"


def checked_limit(name: str, limit: int | None) -> int | None:
    """Return an upper limit as an int, or None for no limit.

    Raises
    ------
    GraphError
        If it is not a whole number from 0.

    Examples
    --------
    >>> checked_limit("max_parents", 2.5)
    Traceback (most recent call last):
    ...
    pgm.errors.GraphError: max_parents must be a whole number from 0, or None, not 2.5
    """
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)) or limit < 0:
        raise GraphError(f"{name} must be a whole number from 0, or None, not {limit!r}")
    return int(limit)


def checked_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator itself, or a new one: from a seed, or from fresh entropy for None.

    Raises
    ------
    DataError
        For anything else.

    Examples
    --------
    >>> checked_generator(-1)
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: rng is a numpy.random.Generator, a whole number from 0 as a seed, or None, not -1
    """
    try:
        return as_generator(rng)
    except EvidenceError as error:  # nobody who learns has given evidence
        raise DataError(str(error)) from None
