"""What a network is made of: its variables, tables and graph, checked against each other once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, TypeAlias, TypeVar, cast

from pgm.errors import EvidenceError, GraphError, TableError, UnknownNameError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import Factor
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label, Variable
from pgm.graph.dag import DAG
from pgm.inference.exact import ExactInference, Likelihoods

__all__ = ["CPD", "Core", "listed"]

CPD: TypeAlias = CPT | ConditionalGaussian
"""A conditional distribution: the table of a discrete variable, or a Gaussian leaf."""


_Given = TypeVar("_Given")


class Core:
    """One CPT or Gaussian leaf for each variable and the DAG that their parents draw: the parts of a Bayesian network.

    :class:`~pgm.network.BayesianNetwork` documents parameters and errors.
    """

    __slots__ = ("_cpts", "_engine", "_index", "_leaves", "dag")

    dag: DAG
    _cpts: tuple[CPT, ...]
    _leaves: Mapping[str, ConditionalGaussian]
    _index: dict[str, int]
    """Number of each discrete variable."""
    _engine: ExactInference

    def __init__(self, cpts: Iterable[CPD], dag: DAG | None = None) -> None:
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
        ordered = [tables[name] for name in drawn.nodes]
        leaves = {cpd.name: cpd for cpd in ordered if isinstance(cpd, ConditionalGaussian)}
        set_once(self, "_cpts", tuple(cpd for cpd in ordered if isinstance(cpd, CPT)))
        set_once(self, "_leaves", MappingProxyType(leaves))
        set_once(self, "_index", {cpt.child.name: number for number, cpt in enumerate(self._cpts)})
        set_once(self, "_engine", ExactInference(self._cpts))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a BayesianNetwork is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cpds,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # ------------------------------------------------------------------ looking

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The discrete variables, in declared order."""
        return self._engine.variables

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables, in declared order."""
        return self.dag.nodes

    @property
    def cpts(self) -> tuple[CPT, ...]:
        """The tables of the discrete variables, in declared order of their children."""
        return self._cpts

    @property
    def gaussians(self) -> Mapping[str, ConditionalGaussian]:
        """The continuous leaves by name, in declared order; read-only."""
        return self._leaves

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The tables and the continuous leaves, in declared order."""
        return tuple(self._leaves[name] if name in self._leaves else self.cpt(name) for name in self.names)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all tables and leaves."""
        return sum(cpd.n_parameters for cpd in self.cpds)

    def variable(self, name: str) -> Variable:
        """Return the discrete variable of that name."""
        return self.cpt(name).child

    def cpt(self, name: str) -> CPT:
        """Return the table P(name | its parents)."""
        try:
            return self._cpts[self._index[name]]
        except (KeyError, TypeError):
            if isinstance(name, str) and name in self._leaves:
                raise UnknownNameError(f"{name!r} is continuous and has no table; see gaussians[{name!r}]") from None
            raise UnknownNameError(f"no variable {name!r}; the variables are {listing(self.names)}") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._index or name in self._leaves)

    def __len__(self) -> int:
        return len(self.dag.nodes)

    def __eq__(self, other: object) -> bool:
        """Return whether the other network has the same variables and tables; order does not matter."""
        if not isinstance(other, Core):
            return NotImplemented
        if self.dag != other.dag or self._leaves.keys() != other._leaves.keys():
            return False
        leaves = [(leaf, other._leaves[name]) for name, leaf in self._leaves.items()]
        if not all(leaf == twin.reorder([parent.name for parent in leaf.parents]) for leaf, twin in leaves):
            return False
        return all(_same(cpt, other.cpt(cpt.child.name)) for cpt in self._cpts)

    def __hash__(self) -> int:
        return hash(frozenset(self.variables))

    def __repr__(self) -> str:
        arcs = len(self.dag.edges)
        kinds = f" ({len(self._leaves)} continuous)" if self._leaves else ""
        return f"<BayesianNetwork: {len(self)} variables{kinds}, {arcs} edges, {self.n_parameters} free parameters>"

    # ------------------------------------------------------------------ continuous evidence

    def _asked(
        self,
        evidence: Mapping[str, Label] | None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> tuple[ExactInference, Mapping[str, Label] | None]:
        """Return the engine that answers a question, and the evidence to ask it with.

        Parameters
        ----------
        evidence
            As the user gave it: labels, and numbers of continuous leaves. The engine knows the numbers.
        likelihoods
            Likelihood evidence.
        memory_budget
            Bytes that finding out whether densities differ too much may take.

        Raises
        ------
        EvidenceError
            For the likelihood of a leaf, and for the evidence of a leaf that is no finite number.
        """
        if not self._leaves:
            return self._engine, evidence
        self._discrete(likelihoods)
        if not isinstance(evidence, Mapping):
            return self._engine, evidence
        self._check_known(evidence)
        if not self._continuous_among(evidence):
            return self._engine, evidence
        from pgm.inference.densities import observed_leaves, observed_numbers

        numbers = observed_numbers(self._leaves, evidence)
        known = {name: label for name, label in evidence.items() if name not in numbers}
        leaves = self._leaves.values()
        return observed_leaves(self._cpts, leaves, numbers, known, likelihoods, memory_budget), known

    def _asked_of_tables(
        self,
        evidence: Mapping[str, Label] | None,
        *,
        likelihoods: Likelihoods | None = None,
        memory_budget: int = MEMORY_BUDGET,
    ) -> tuple[ExactInference, Mapping[str, Label] | None]:
        """Return what :meth:`_asked` does, for a method that knows only numbers that floats can hold.

        Raises
        ------
        EvidenceError
            If the answer depends on others.
        """
        engine, known = self._asked(evidence, likelihoods=likelihoods, memory_budget=memory_budget)
        if engine is not self._engine:
            from pgm.inference.densities import ObservedLeaves

            assert isinstance(engine, ObservedLeaves)
            engine.check_tables()
        return engine, known

    def _discrete(self, given: _Given) -> _Given:
        """Return one name or several, or a mapping by name, unchanged, if all are those of discrete variables.

        An iterator becomes a tuple. Without leaves nothing is looked at: the engine will.

        Raises
        ------
        EvidenceError
            If one of them is a leaf.
        UnknownNameError
            If there is no such variable.
        """
        if not self._leaves:
            return given
        given = listed(given)
        found = self._continuous_among(given)
        if found:
            are = "is" if len(found) == 1 else "are"
            raise EvidenceError(f"{listing(found)} {are} continuous; this is for discrete variables only")
        self._check_known(given)
        return given

    def _continuous_among(self, given: object) -> list[str]:
        """Return which of some names, or of the keys of a mapping, are those of leaves."""
        return [name for name in _names_of(given) if name in self._leaves] if self._leaves else []

    def _check_known(self, given: object) -> None:
        """Raise UnknownNameError for a name of which there is no variable, discrete or continuous."""
        for name in _names_of(given):
            if name not in self:
                raise UnknownNameError(f"no variable {name!r}; the variables are {listing(self.names)}")


def listed(given: _Given) -> _Given:
    """Return an iterator as a tuple, and all else unchanged: names that are looked at twice must not be used up.

    >>> listed(iter(["a", "b"])), listed("a")
    (('a', 'b'), 'a')
    """
    return cast("_Given", tuple(given)) if isinstance(given, Iterator) else given


def _names_of(given: object) -> list[str]:
    """Return the texts among one name or several, or the keys of a mapping; of what is neither, nothing."""
    if isinstance(given, str):
        return [given]
    try:
        return [name for name in given if isinstance(name, str)]  # type: ignore[attr-defined]
    except TypeError:
        return []


def _by_child(cpts: Iterable[CPD]) -> dict[str, CPD]:
    tables: dict[str, CPD] = {}
    if isinstance(cpts, (CPT, set, frozenset)) or not isinstance(cpts, Iterable):
        raise TableError(f"a network is built of a list of CPT objects, in declared order, not a {type(cpts).__name__}")
    for cpt in cpts:
        if not isinstance(cpt, (CPT, ConditionalGaussian)):
            raise TableError(f"a network is built of CPT objects, not {cpt!r}")
        name = cpt.child.name if isinstance(cpt, CPT) else cpt.name
        if name in tables:
            raise TableError(f"{name!r} has two tables")
        tables[name] = cpt
    if not any(isinstance(cpt, CPT) for cpt in tables.values()):
        raise TableError("a network needs at least one table")
    return tables


def _same(cpt: CPT, other: CPT) -> bool:
    return cpt == other or (cpt.names != other.names and Factor.__eq__(cpt, other.reorder(cpt.names)))


def _drawn(tables: Mapping[str, CPD], order: Sequence[str]) -> DAG:
    return DAG([(parent.name, name) for name in order for parent in tables[name].parents], nodes=order)


def _check_variables(tables: Mapping[str, CPD]) -> None:
    for name, cpt in tables.items():
        for parent in cpt.parents:
            own = tables.get(parent.name)
            if own is None:
                raise TableError(f"{parent.name!r}, a parent of {name!r}, has no table")
            if isinstance(own, ConditionalGaussian):
                raise TableError(f"{parent.name!r} is continuous, so it must be a leaf, but it is a parent of {name!r}")
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
