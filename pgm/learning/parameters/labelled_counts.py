"""Labelled counts: Dirichlet counts of one family as users write them, turned into an array by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from pgm.errors import TableError, listing
from pgm.factors.factor import Factor, FloatArray, as_table
from pgm.factors.size import check_size
from pgm.factors.variable import Variable

__all__ = ["counts_by_label", "in_order_of"]


def counts_by_label(family: Sequence[Variable], given: Any) -> FloatArray:
    """Return counts of a family as an array of the shape of its table.

    Parameters
    ----------
    family
        The parents, then the child.
    given
        One number; rows by label; a `Factor` over the family; or an array. See
        `pgm.learning.parameters.dirichlet_priors.PseudocountTables`.

    Raises
    ------
    TableError
        For counts that are negative or not finite, a wrong shape, or another scope.
    UnknownStateError
        For a label that a variable does not have.

    Examples
    --------
    >>> a, b = Variable("a", [0, 1]), Variable("b", ["x", "y", "z"])
    >>> counts_by_label([a, b], {1: {"z": 4}})
    array([[0., 0., 0.],
           [0., 0., 4.]])
    """
    shape = tuple(variable.cardinality for variable in family)
    what = f"the pseudocounts of {family[-1].name!r}"
    if isinstance(given, Factor):
        if set(given.names) != {variable.name for variable in family}:
            names = listing(variable.name for variable in family)
            raise TableError(f"{what} are a table over {listing(given.names)}, but the family is {names}")
        table = in_order_of(family, given)
    elif isinstance(given, Mapping):
        check_size(shape, what)
        table = _rows(family, given, what)
    elif isinstance(given, Real):
        table = np.full(shape, float(given))
    else:
        table = as_table(given, what)
        if table.shape != shape:
            raise TableError(f"{what} must have shape {shape}, parents first and the child last, not {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        bad = table[~(np.isfinite(table) & (table >= 0))][0]
        raise TableError(f"{what} must be finite numbers from 0, not {bad:g}")
    return table


def in_order_of(family: Sequence[Variable], factor: Factor) -> FloatArray:
    """Return the values of a factor with axes and states in the order of a family; absent variables have length 1.

    Raises
    ------
    TableError
        If a variable has other states in the factor.

    Examples
    --------
    >>> a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    >>> in_order_of([a, b], Factor([Variable("b", [1, 0])], [0.9, 0.1]))
    array([[0.1, 0.9]])
    """
    present = [variable for variable in family if variable.name in factor.names]
    values = factor.values.transpose([factor.names.index(variable.name) for variable in present])
    for axis, variable in enumerate(present):
        other = factor.variable(variable.name)
        if other.cardinality != variable.cardinality or any(label not in other for label in variable.states):
            states = f"{listing(variable.states)}, but in the table given {listing(other.states)}"
            raise TableError(f"{variable.name!r} has the states {states}")
        if other != variable:
            values = values.take([other.code(label) for label in variable.states], axis=axis)
    shape = [variable.cardinality if variable in present else 1 for variable in family]
    return np.array(values, np.float64).reshape(shape)


def _rows(family: Sequence[Variable], rows: Mapping[Any, Any], what: str) -> FloatArray:
    *parents, child = family
    table = np.zeros([variable.cardinality for variable in family])
    if not parents:
        table[:] = _row(child, rows, what)
        return table
    for key, row in rows.items():
        labels = key if isinstance(key, tuple) and not (len(parents) == 1 and key in parents[0]) else (key,)
        if len(labels) != len(parents):
            expected = listing(parent.name for parent in parents)
            raise TableError(f"{what} are rows named by labels of {expected}, not {key!r}")
        position = tuple(parent.code(label) for parent, label in zip(parents, labels, strict=True))
        table[position] = _row(child, row, what)
    return table


def _row(child: Variable, row: Any, what: str) -> FloatArray:
    if isinstance(row, Mapping):
        numbers = np.zeros(child.cardinality)
        for label, number in row.items():
            code = child.code(label)
            if isinstance(number, bool) or not isinstance(number, Real):
                raise TableError(f"{what} must be numbers, not {number!r}")
            numbers[code] = float(number)
        return numbers
    numbers = as_table(row, what)
    if numbers.ndim and numbers.shape != (child.cardinality,):
        raise TableError(f"{what}: a row has {child.cardinality} numbers, not {row!r}")
    return numbers
