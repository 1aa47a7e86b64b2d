"""From what a file says to a network: the checks that every format shares.

A format's reader collects its variables and :class:`Table` records, each with the line it came from;
:func:`assemble` sees that together they describe one Bayesian network. Files are written by people and by tools that
round, so rows may be off from one by a little; anything else is an error that names the variable and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, cast

import numpy as np

from pgm.errors import FormatError, TableError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.variable import Label, Variable
from pgm.network import BayesianNetwork
from pgm.network.core import CPD

__all__ = ["ROUNDING", "Table", "assemble", "checked_rows", "declared", "text_labels"]

ROUNDING = 1.000001e-3
"""How far the sum of a row in a file may be from one: three printed decimals, and a hair for the addition."""

EXACT = 1e-12
"""Rows this close to one are taken as they are."""

PORTION = 2**16
"""How many numbers are checked at a time, so that a check never needs the memory of another table."""


class Table(NamedTuple):
    """What a file says of P(child | parents)."""

    parents: tuple[Variable, ...]
    values: FloatArray
    """Shape ``(*parent cardinalities, child cardinality)``, rows as :func:`checked_rows` leaves them, not shared."""
    line: int | None


def declared(name: str, labels: Iterable[Label], line: int | None) -> Variable:
    """Return the variable that a file declares.

    Raises
    ------
    FormatError
        For an empty name, no states, or a label twice.
    """
    try:
        return Variable(name, labels)
    except TableError as error:
        raise FormatError(str(error), line) from None


def checked_rows(
    child: Variable, parents: Sequence[Variable], rows: FloatArray, line_of: Callable[[int], int | None]
) -> FloatArray:
    """Return the rows of a table themselves, rounding divided out in place.

    Parameters
    ----------
    child, parents
        The variables of the table.
    rows
        Shape ``(joint states of the parents, states of the child)``, the last parent varying fastest.
    line_of
        Returns the line that a row came from.

    Raises
    ------
    FormatError
        For NaN, a negative number, or a row off from one by more than :data:`ROUNDING`.
    """
    step = max(1, PORTION // rows.shape[1])
    for start in range(0, len(rows), step):
        portion = rows[start : start + step]
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are reported below
            sums = portion.sum(axis=1)
            error = np.abs(sums - 1.0)
        good = (error <= ROUNDING) & (portion >= 0).all(axis=1)  # False for NaN
        if not good.all():
            worst = start + int(np.flatnonzero(~good)[0])
            line = line_of(worst)
            raise FormatError(_fault(child, parents, worst, rows[worst]), line)
        rounded = error > EXACT
        if rounded.any():
            portion[rounded] /= sums[rounded, None]
    return rows


def row_name(child: Variable, parents: Sequence[Variable], row: int) -> str:
    """Return a row's name for an error message, from its position with the last parent varying fastest.

    >>> rain = Variable("rain", ["no", "yes"])
    >>> row_name(Variable("wet", ["no", "yes"]), [rain], 1)
    "the row rain='yes' of 'wet'"
    """
    if not parents:
        return f"the table of {child.name!r}"
    labels = []
    for parent in reversed(parents):
        row, code = divmod(row, parent.cardinality)
        labels.append(f"{parent.name}={parent.states[code]!r}")
    return f"the row {', '.join(reversed(labels))} of {child.name!r}"


def _fault(child: Variable, parents: Sequence[Variable], row: int, numbers: FloatArray) -> str:
    name = row_name(child, parents, row)
    if np.isnan(numbers).any():
        return f"{name} contains NaN"
    if (numbers < 0).any():
        return f"{name} has a negative number: {numbers.min():.10g}"
    return f"{name} sums to {sum(numbers.tolist()):.10g}, not 1"


def assemble(
    variables: Mapping[Variable, int | None],
    tables: Mapping[Variable, Table],
    leaves: Mapping[str, ConditionalGaussian] | None = None,
    order: Sequence[str] | None = None,
) -> BayesianNetwork:
    """Return the network of these variables, in their order, and tables.

    Parameters
    ----------
    variables
        Each variable and the line that declares it.
    tables
        Each child and its table.
    leaves
        The continuous variables by name, whose parents are among the others.
    order
        The names of all variables, in declared order; needed where there are leaves.

    Raises
    ------
    FormatError
        If a variable has no table or the tables form a directed cycle.
    """
    if not variables:
        raise FormatError("the file declares no variable")
    for variable, line in variables.items():
        if variable not in tables:
            raise FormatError(f"{variable.name!r} has no probability table", line)
    _check_acyclic(tables)
    cpds: dict[str, CPD] = {variable.name: _cpt(variable, tables[variable]) for variable in variables}
    cpds.update(leaves or {})
    return BayesianNetwork(cpds[name] for name in order or cpds)


def _cpt(child: Variable, table: Table) -> CPT:
    """Return a table as a CPT that keeps its array: the constructor of `CPT` would check and copy it once more."""
    return cast("CPT", CPT._of((*table.parents, child), table.values))


def _check_acyclic(tables: Mapping[Variable, Table]) -> None:
    """Raise if the tables form a directed cycle, with the line of one of them."""
    try:
        TopologicalSorter({child: table.parents for child, table in tables.items()}).prepare()
    except CycleError as error:
        cycle: list[Variable] = error.args[1]
        names = " -> ".join(variable.name for variable in cycle)
        raise FormatError(f"the tables form a directed cycle: {names}", tables[cycle[0]].line) from None


def text_labels(variable: Variable) -> list[str]:
    """Return the labels of a variable as a text format writes them.

    Raises
    ------
    FormatError
        If two labels, such as ``1`` and ``"1"``, would be the same text.
    """
    texts = [str(label) for label in variable.states]
    if len(set(texts)) == len(texts):
        return texts
    twins = [label for label, text in zip(variable.states, texts, strict=True) if texts.count(text) > 1]
    raise FormatError(f"{variable.name!r} has labels that a text file cannot tell apart: {listing(twins)}")
