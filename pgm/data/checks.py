"""Checks at the border: codes, weights, row numbers and names are looked at once, here, before anything uses them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data.columns import CodeArray, smallest_codes
from pgm.errors import DataError, MissingDataError, UnknownNameError, listing
from pgm.factors.factor import MEMORY_BUDGET, Names, as_names, check_size
from pgm.factors.variable import Variable

__all__ = [
    "check_complete",
    "check_known",
    "checked_codes",
    "checked_rows",
    "checked_variables",
    "checked_weights",
    "chosen_columns",
    "counted",
    "family_cells",
    "family_names",
    "in_order",
]

_Item = TypeVar("_Item")


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the singular or the plural.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def in_order(items: Iterable[_Item], what: str) -> Iterable[_Item]:
    """Return ``items`` as they are, unless they are a set, whose order differs from process to process.

    >>> in_order({"low", "high"}, "the states of 'dose'")
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: the states of 'dose' must be in order, in a list for example; a set has no order
    """
    if isinstance(items, (set, frozenset)):
        raise DataError(f"{what} must be in order, in a list for example; a set has no order")
    if not isinstance(items, Iterable):
        raise DataError(f"{what} must be a list, not {items!r}")
    return items


def check_known(names: Iterable[object], table: Iterable[str], what: str = "no column") -> None:
    """Raise `UnknownNameError`, listing the columns of the table, unless all names are among them."""
    columns = table if isinstance(table, dict) else dict.fromkeys(table)
    absent = [name for name in names if not isinstance(name, str) or name not in columns]
    if absent:
        raise UnknownNameError(f"{what} {listing(absent)}; the columns are {listing(columns)}")


def checked_variables(variables: object) -> list[Variable]:
    """Return one variable or several as a list; None is no variable, and a set is sorted.

    >>> checked_variables(Variable("x", [0, 1]))
    [Variable('x', [0, 1])]
    """
    if variables is None or isinstance(variables, Variable):
        return [] if variables is None else [variables]
    if not isinstance(variables, Iterable):
        raise DataError(f"variables must be a list of Variable objects, not {type(variables).__name__}")
    checked = sorted(variables, key=repr) if isinstance(variables, (set, frozenset)) else list(variables)
    for variable in checked:
        if not isinstance(variable, Variable):
            raise DataError(f"variables must be Variable objects, not {variable!r}")
    return checked


def chosen_columns(names: Names | None, table: Iterable[str]) -> tuple[str, ...]:
    """Return the columns asked for, in the order given; a set takes the order of the table, and None all columns.

    >>> chosen_columns({"c", "a"}, ["a", "b", "c"]), chosen_columns("b", ["a", "b"])
    (('a', 'c'), ('b',))
    """
    columns = tuple(table)
    if names is None:
        return columns
    if not isinstance(names, Iterable):
        raise DataError(f"columns are chosen by their names, not by {names!r}")
    if isinstance(names, (set, frozenset)):
        check_known(sorted(names, key=str), columns)
        return tuple(name for name in columns if name in names)
    wanted = (names,) if isinstance(names, str) else tuple(names)
    check_known(wanted, columns)
    if len(set(wanted)) < len(wanted):
        raise DataError(f"a column is chosen twice: {listing(wanted)}")
    return wanted


def check_complete(missing: dict[str, int], n_rows: int) -> None:
    """Raise `MissingDataError` if cells are missing, saying how many in which columns."""
    holes = {name: count for name, count in missing.items() if count}
    if holes:
        where = listing(f"{name} ({count} of {n_rows})" for name, count in holes.items())
        raise MissingDataError(
            f"{counted(sum(holes.values()), 'missing cell')}, in {where}; this method needs complete data: keep the "
            f"complete rows with Dataset.complete_rows(), or use a method that learns from incomplete data"
        )


def family_names(child: str, parents: Names, table: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a family, in the order of the axes of its table: the parents, then the child."""
    names = (*as_names(in_order(parents, f"the parents of {child!r}")), child)
    check_known(names, table)
    if len(set(names)) < len(names):
        raise DataError(f"the family of {child!r} has a variable twice: {listing(names)}")
    return names


def family_cells(family: Sequence[Variable], *, levels: int | None = None, budget: int = MEMORY_BUDGET) -> int:
    """Return the number of cells in the table of a family, the child last, or raise if there are too many.

    Parameters
    ----------
    family
        The parents, then the child.
    levels
        Length of one more axis, of the states by which the table is extended.
    budget
        Bytes that the table may take.

    Raises
    ------
    TooLargeError
        Beyond the budget, and beyond the number of axes an array can have; names the child.
    """
    what = f"the counts of {family[-1].name!r} and its {counted(len(family) - 1, 'parent')}"
    shape = [variable.cardinality for variable in family]
    if levels is not None:
        shape, what = [*shape, levels], f"{what}, extended by each other variable,"
    check_size(shape, what, budget)
    return math.prod(shape)


def checked_codes(variables: Sequence[Variable], codes: NDArray[Any] | Sequence[NDArray[Any]]) -> tuple[CodeArray, ...]:
    """Return a column of codes for each variable, read-only, of the smallest dtype; what may still change is copied.

    Raises
    ------
    DataError
        For variables of the same name, for another number of columns or columns of several lengths, and for codes that
        are no integers from 0 to the cardinality.
    """
    names = [variable.name for variable in checked_variables(variables)]
    if not variables or len(set(names)) < len(names):
        raise DataError(f"a data set needs variables with different names, not {listing(names)}")
    columns = [np.asarray(column) for column in (codes.T if isinstance(codes, np.ndarray) else codes)]
    lengths = [column.size for column in columns if column.ndim == 1]
    if len(lengths) != len(columns) or len(columns) != len(variables) or len(set(lengths)) > 1:
        raise DataError(f"{len(variables)} variables need as many columns of codes, of one length; not {lengths}")
    return tuple(_checked_column(variable, column) for variable, column in zip(variables, columns, strict=True))


def _checked_column(variable: Variable, codes: NDArray[Any]) -> CodeArray:
    integers = codes.dtype.kind in "iu"
    if not integers or codes.min(initial=0) < 0 or codes.max(initial=0) > variable.cardinality:
        raise DataError(f"codes of {variable.name!r} must be integers from 0 to {variable.cardinality}")
    small = np.asarray(codes, smallest_codes(variable.cardinality), order="C")
    if small is codes and codes.flags.writeable:
        small = small.copy()
    small.setflags(write=False)
    return small


def checked_weights(weights: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return row weights as a read-only array of their own.

    Raises
    ------
    DataError
        For a wrong number of weights, for weights that are negative, infinite, NaN or no numbers, and for a sum that is
        infinite.
    """
    try:
        numbers = np.array(weights, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("weights must be one number for each row") from None
    if numbers.shape != (n_rows,):
        given = counted(numbers.size, "weight")
        raise DataError(f"{given} of shape {numbers.shape} for {counted(n_rows, 'row')}")
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if len(bad):
        row = bad[0]
        raise DataError(f"weights must be finite and not negative; row {row} (counting from 0) has {numbers[row]}")
    with np.errstate(over="ignore"):
        if not np.isfinite(numbers.sum()):
            raise DataError(f"the weights add up to infinity; the largest is {numbers.max()}")
    numbers.setflags(write=False)
    return numbers


def checked_rows(rows: slice | ArrayLike, n_rows: int) -> slice | NDArray[Any]:
    """Return what selects rows of a column: a slice, row numbers, or one boolean for each row.

    Raises
    ------
    DataError
        For a row that does not exist, booleans for more or fewer rows than there are, and anything else.

    Examples
    --------
    >>> checked_rows([0, 7], n_rows=3)
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: there is no row 7; there are 3 rows, counted from 0
    """
    try:
        if isinstance(rows, slice):
            rows.indices(n_rows)  # complains of what is no whole number
            return rows
        chosen = np.asarray(rows)
    except (TypeError, ValueError):
        raise DataError(f"rows are a slice, row numbers or one boolean for each row, not {rows!r}") from None
    if chosen.shape == (0,) and chosen.dtype.kind == "f":  # an empty list
        return chosen.astype(np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
        found = f"an array of {chosen.dtype}, shape {chosen.shape}"
        raise DataError(f"rows are a slice, row numbers or one boolean for each row, not {found}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n_rows:
            raise DataError(f"{counted(len(chosen), 'boolean')} for {counted(n_rows, 'row')}: give one for each")
        return chosen
    outside = np.flatnonzero((chosen < -n_rows) | (chosen >= n_rows))
    if len(outside):
        there = "is" if n_rows == 1 else "are"
        raise DataError(f"there is no row {chosen[outside[0]]}; there {there} {counted(n_rows, 'row')}, counted from 0")
    return chosen
