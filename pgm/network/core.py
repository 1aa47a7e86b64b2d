"""What a network is made of: its variables, tables and graph, checked against each other once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from pgm.errors import GraphError, TableError, UnknownNameError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import Factor
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.inference.exact import ExactInference

__all__ = ["Core"]


class Core:
    """One CPT for each variable and the DAG that their parents draw: the parts of a Bayesian network.

    :class:`~pgm.network.BayesianNetwork` documents parameters and errors.
    """

    __slots__ = ("_cpts", "_engine", "_index", "dag")

    dag: DAG
    _cpts: tuple[CPT, ...]
    _index: dict[str, int]
    _engine: ExactInference

    def __init__(self, cpts: Iterable[CPT], dag: DAG | None = None) -> None:
        tables = _by_child(cpts)
        _check_variables(tables)
        drawn = _drawn(tables, list(tables))
        if dag is not None:
            if not isinstance(dag, DAG):
                raise GraphError(f"dag must be a DAG, not {dag!r}")
            if drawn != dag:
                raise GraphError(_difference(drawn, dag))
            drawn = _drawn(tables, dag.nodes)
        set_once = object.__setattr__
        set_once(self, "dag", drawn)
        set_once(self, "_cpts", tuple(tables[name] for name in drawn.nodes))
        set_once(self, "_index", {name: number for number, name in enumerate(drawn.nodes)})
        set_once(self, "_engine", ExactInference(self._cpts))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._cpts,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # ------------------------------------------------------------------ looking

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in declared order."""
        return self._engine.variables

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in declared order."""
        return self.dag.nodes

    @property
    def cpts(self) -> tuple[CPT, ...]:
        """The tables, in declared order of their children."""
        return self._cpts

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all tables."""
        return sum(cpt.n_parameters for cpt in self._cpts)

    def variable(self, name: str) -> Variable:
        """Return the variable of that name."""
        return self.cpt(name).child

    def cpt(self, name: str) -> CPT:
        """Return the table P(name | its parents)."""
        try:
            return self._cpts[self._index[name]]
        except (KeyError, TypeError):
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(self.names)}") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __len__(self) -> int:
        return len(self._cpts)

    def __eq__(self, other: object) -> bool:
        """Return whether the other network has the same variables and tables; order does not matter."""
        if not isinstance(other, Core):
            return NotImplemented
        return self.dag == other.dag and all(_same(cpt, other.cpt(cpt.child.name)) for cpt in self._cpts)

    def __hash__(self) -> int:
        return hash(frozenset(self.variables))

    def __repr__(self) -> str:
        arcs = len(self.dag.edges)
        return f"<BayesianNetwork: {len(self)} variables, {arcs} edges, {self.n_parameters} free parameters>"


def _by_child(cpts: Iterable[CPT]) -> dict[str, CPT]:
    tables: dict[str, CPT] = {}
    if isinstance(cpts, (CPT, set, frozenset)) or not isinstance(cpts, Iterable):
        raise TableError(f"a network is built of a list of CPT objects, in declared order, not a {type(cpts).__name__}")
    for cpt in cpts:
        if not isinstance(cpt, CPT):
            raise TableError(f"a network is built of CPT objects, not {cpt!r}")
        if cpt.child.name in tables:
            raise TableError(f"{cpt.child.name!r} has two tables")
        tables[cpt.child.name] = cpt
    if not tables:
        raise TableError("a network needs at least one table")
    return tables


def _same(cpt: CPT, other: CPT) -> bool:
    return cpt == other or (cpt.names != other.names and Factor.__eq__(cpt, other.reorder(cpt.names)))


def _drawn(tables: Mapping[str, CPT], order: Sequence[str]) -> DAG:
    return DAG([(parent.name, name) for name in order for parent in tables[name].parents], nodes=order)


def _check_variables(tables: Mapping[str, CPT]) -> None:
    for name, cpt in tables.items():
        for parent in cpt.parents:
            own = tables.get(parent.name)
            if own is None:
                raise TableError(f"{parent.name!r}, a parent of {name!r}, has no table")
            if own.child != parent:
                states, other = listing(own.child.states), listing(parent.states)
                raise TableError(f"{parent.name!r} has the states {states}, but as a parent of {name!r} {other}")


def _difference(drawn: DAG, dag: DAG) -> str:
    if set(drawn.nodes) != set(dag.nodes):
        without, extra = sorted(set(dag.nodes) - set(drawn.nodes)), sorted(set(drawn.nodes) - set(dag.nodes))
        if without:
            return f"no table for {listing(without)}"
        return f"tables for {listing(extra)}, which the graph does not have"
    absent = [edge for edge in dag.edges if not drawn.has_edge(*edge)]
    if absent:
        return f"the table of {absent[0][1]!r} lacks its parent {absent[0][0]!r}"
    extra_edges = [edge for edge in drawn.edges if not dag.has_edge(*edge)]
    return f"the table of {extra_edges[0][1]!r} has a parent {extra_edges[0][0]!r} that the graph does not give it"
