"""Incomplete data for a graph: which columns there are, what they know, and which states the hidden ones have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pgm.data import CountSource, Dataset
from pgm.data.checks import counted, family_cells
from pgm.data.frames import read_columns
from pgm.errors import DataError, EvidenceError, TooLargeError, UnknownNameError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET, check_size, format_bytes, format_count
from pgm.factors.variable import Label, Variable
from pgm.graph.dag import DAG
from pgm.inference.expected_counts import ExpectedCounts
from pgm.inference.options import check_budget
from pgm.inference.row_groups import Table
from pgm.network import BayesianNetwork

__all__ = [
    "COPIES",
    "IncompleteData",
    "Latent",
    "check_latent_sizes",
    "checked_budget",
    "incomplete_data",
    "latent_variables",
    "whole_number",
]

Latent: TypeAlias = Mapping[str, Sequence[Label] | int | Variable]
"""The states of variables that the data hide: labels, or how many."""

COPIES = 16
"""Arrays of the size of all tables together that a run of EM holds at once: tables, counts and vectors of both."""

_LABEL_BYTES = 200
"""About what the label of a state takes."""

_FEW_STATES = 1000
"""So many states a latent variable may have, however few the rows are."""


class IncompleteData(NamedTuple):
    """Rows that do not know everything, with a variable for every node of a graph."""

    dag: DAG
    variables: tuple[Variable, ...]
    """In the order of the graph's nodes."""
    data: Dataset
    """The columns that are nodes, and the continuous leaves."""
    leaves: tuple[str, ...] = ()
    """Continuous leaves, which are not among the nodes of ``dag``."""

    @property
    def families(self) -> list[list[Variable]]:
        """The parents and then the node itself, for each node."""
        by_name = {variable.name: variable for variable in self.variables}
        return [[by_name[name] for name in self.dag.family(node)] for node in self.dag.nodes]

    @property
    def scopes(self) -> list[tuple[int, ...]]:
        """The same as numbers of variables."""
        number = {name: place for place, name in enumerate(self.dag.nodes)}
        return [tuple(number[name] for name in self.dag.family(node)) for node in self.dag.nodes]

    @property
    def hidden(self) -> tuple[str, ...]:
        """Nodes of which no row knows anything; rows of weight 0 do not matter."""
        data = self.data
        counts = slice(None) if data.weights is None else data.weights > 0
        holes = {name: data.missing(name) for name in data.names}
        known = {name for name, hole in holes.items() if hole is None or not hole[counts].all()}
        return tuple(name for name in self.dag.nodes if name not in known)

    def check_tables(self, memory_budget: int = MEMORY_BUDGET, copies: int = 0) -> None:
        """Raise before anything is counted if there is no room for the tables and the work on them.

        Parameters
        ----------
        memory_budget
            Bytes that they may take.
        copies
            Arrays of the size of a table that are needed besides.

        Raises
        ------
        TooLargeError
            Names the child with a table that is too large alone.
        """
        copies += COPIES
        budget, n_rows = int(memory_budget / copies), self.data.n_rows
        try:
            cells = [family_cells(family, n_rows, budget=budget) for family in self.families]
            check_size([sum(cells)], f"the tables of {counted(len(self.families), 'node')}", budget)
        except TooLargeError as error:
            whole = f"EM works on {copies} tables of that size, and memory_budget is {format_bytes(int(memory_budget))}"
            raise TooLargeError(f"{error}; {whole}") from None

    def expected_counts(self, memory_budget: int = MEMORY_BUDGET) -> ExpectedCounts:
        """Return the E step."""
        number = {name: place for place, name in enumerate(self.dag.nodes)}
        table = Table({number[name]: self.data.codes(name) for name in self.data.names}, self.data.n_rows)
        return ExpectedCounts(self.variables, self.scopes, table, self.data.weights, memory_budget=memory_budget)

    def tables_of(self, net: BayesianNetwork, nodes: Iterable[str]) -> dict[str, FloatArray]:
        """Return the tables that a network has for some nodes, axes as the families here.

        Raises
        ------
        DataError
            If the network has another family, or other states.
        """
        found = {}
        families = dict(zip(self.dag.nodes, self.families, strict=True))
        for node in nodes:
            cpt, family = net.cpt(node), families[node]
            if sorted(cpt.names) != sorted(variable.name for variable in family):
                given, wanted = listing(cpt.names[:-1]), listing(variable.name for variable in family[:-1])
                raise DataError(f"in the given network the parents of {node!r} are {given}; in the graph {wanted}")
            for variable in family:
                own = net.variable(variable.name)
                if own != variable:
                    states, other = listing(variable.states), listing(own.states)
                    raise DataError(f"{variable.name!r} has the states {states}, but in the given network {other}")
            order = [cpt.names.index(variable.name) for variable in family]
            found[node] = np.ascontiguousarray(cpt.values.transpose(order))
        return found


def whole_number(given: object, what: str) -> int:
    """Return a whole number from 1.

    Raises
    ------
    DataError
        For anything else.

    Examples
    --------
    >>> whole_number(np.int64(3), "starts")
    3
    """
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise DataError(f"{what} must be a whole number from 1, not {given!r}")
    return int(given)


def checked_budget(memory_budget: int) -> int:
    """Return a number of bytes.

    Raises
    ------
    DataError
        If it is no positive number.
    """
    try:
        check_budget(memory_budget)
    except EvidenceError as error:  # nobody who learns has given evidence
        raise DataError(str(error)) from None
    return memory_budget


def latent_variables(latent: Latent | None, memory_budget: int = MEMORY_BUDGET) -> dict[str, Variable]:
    """Return the variables that were declared by labels or by how many states they have.

    Raises
    ------
    DataError
        For what is neither.
    TooLargeError
        For so many states that their labels alone would exceed the memory budget.

    Examples
    --------
    >>> latent_variables({"H": 2, "kind": ["a", "b"]})
    {'H': Variable('H', [0, 1]), 'kind': Variable('kind', ['a', 'b'])}
    """
    if latent is not None and not isinstance(latent, Mapping):
        raise DataError(f"latent is {{name: states}}, such as {{'H': ['a', 'b']}}, not {latent!r}")
    made = {}
    for name, states in (latent or {}).items():
        if isinstance(states, Variable):
            if states.name != name:
                raise DataError(f"latent {name!r} is given a variable called {states.name!r}")
            made[name] = states
            continue
        number = _n_states(name, states)
        if number is not None and number > 1 and number * _LABEL_BYTES > memory_budget:
            size, limit = format_bytes(number * _LABEL_BYTES), format_bytes(int(memory_budget))
            message = f"latent {name!r} with {format_count(number)} states: their labels alone would take {size}"
            raise TooLargeError(f"{message}; the limit is {limit}")
        made[name] = Variable(name, range(int(states)) if isinstance(states, (int, np.integer)) else states)
    return made


def _n_states(name: str, states: object) -> int | None:
    """Return the number of states of a variable as it was declared; None for what cannot be counted."""
    if isinstance(states, (int, np.integer)):
        if isinstance(states, bool) or states < 1:
            raise DataError(f"latent {name!r} needs at least one state, not {states!r}")
        return int(states)
    return len(states) if isinstance(states, Sized) else None


def check_latent_sizes(latent: Latent | None, data: object) -> None:
    """Raise at once, before labels are made, if a latent variable has more states than rows could tell apart.

    Parameters
    ----------
    latent
        As declared. A variable with a column is not meant: the labels of its states say which they are.
    data
        The rows.

    Raises
    ------
    TooLargeError
        Says how many states and rows there are.

    Examples
    --------
    >>> check_latent_sizes({"H": 10**6}, {"x": [0, 1]})
    Traceback (most recent call last):
    ...
    pgm.errors.TooLargeError: latent 'H' with 1,000,000 states: 2 rows cannot tell so many apart; the limit is 1,000
    """
    if not isinstance(latent, Mapping) or (isinstance(data, CountSource) and not isinstance(data, Dataset)):
        return  # refused elsewhere
    if isinstance(data, Dataset):
        columns: Iterable[str] = data.names
        n_rows = max(data.n_rows, int(data.total_weight))
    else:
        table: Mapping[str, Any] = read_columns(data)
        columns, n_rows = table, max((len(column) for column in table.values()), default=0)
    for name, states in latent.items():
        number = states.cardinality if isinstance(states, Variable) else _n_states(name, states)
        limit = max(n_rows, _FEW_STATES)
        if name not in columns and number is not None and number > limit:
            message = f"latent {name!r} with {format_count(number)} states: {counted(n_rows, 'row')} cannot tell"
            raise TooLargeError(f"{message} so many apart; the limit is {limit:,}")


def incomplete_data(
    dag: DAG,
    data: object,
    latent: Latent | None = None,
    nets: Sequence[BayesianNetwork] = (),
    memory_budget: int = MEMORY_BUDGET,
    leaves: Sequence[str] = (),
) -> IncompleteData:
    """Return the rows for the nodes of a graph.

    Parameters
    ----------
    dag
        The graph.
    data
        A `Dataset`, or anything one can be made of. Columns that are no nodes are ignored.
    latent
        States of nodes without a column, or with one that does not show them all.
    nets
        Networks whose variables give the states of all their nodes.
    memory_budget
        Bytes; a latent variable may not have more states than fit.
    leaves
        Continuous columns to keep.

    Raises
    ------
    UnknownNameError
        If a node has neither a column nor states, or a latent name is no node.
    DataError
        If the data are no rows, or have none; or two networks disagree about states.
    TooLargeError
        For a latent variable of too many states.
    """
    declared = latent_variables(latent, memory_budget)
    _check_known(declared, dag.nodes)
    for net in nets:
        for variable in net.variables:
            if variable.name in dag and declared.setdefault(variable.name, variable) != variable:
                states, other = listing(declared[variable.name].states), listing(variable.states)
                raise DataError(f"{variable.name!r} has the states {states} here and {other} there")
    if isinstance(data, CountSource) and not isinstance(data, Dataset):
        raise DataError(f"EM needs rows, a Dataset or a frame, not a {type(data).__name__}")
    columns: Sequence[str] = data.names if isinstance(data, Dataset) else tuple(read_columns(data))
    shown = [name for name in dag.nodes if name in columns]
    absent = [name for name in dag.nodes if name not in columns and name not in declared]
    if absent:
        hint = f"a node that is never observed needs states: latent={{{absent[0]!r}: ['a', 'b']}}"
        raise UnknownNameError(f"no column for {listing(absent)}; the columns are {listing(columns)}; {hint}")
    if not shown and not leaves:
        raise DataError(f"no node of the graph is a column of the data; the columns are {listing(columns)}")
    coded = Dataset(data, columns=[*shown, *leaves], variables=[declared[name] for name in shown if name in declared])
    if not coded.total_weight > 0:
        raise DataError("there is nothing to learn from: the data have no rows, or none with a weight")
    own: dict[str, Any] = {variable.name: variable for variable in coded.variables}
    return IncompleteData(dag, tuple(own.get(name) or declared[name] for name in dag.nodes), coded, tuple(leaves))


def _check_known(names: Iterable[str], nodes: Sequence[str]) -> None:
    for name in names:
        if name not in nodes:
            raise UnknownNameError(f"latent {name!r} is no node of the graph; the nodes are {listing(nodes)}")
