"""Checks at the border: codes, weights, row numbers and names are looked at once, here, before anything uses them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data.columns import CodeArray, column_of_numbers, is_column, smallest_codes
from pgm.errors import DataError, MissingDataError, TooLargeError, UnknownNameError, listing
from pgm.factors.factor import Names, as_names
from pgm.factors.size import MEMORY_BUDGET, check_size
from pgm.factors.variable import Variable

__all__ = [
    "check_complete",
    "check_discrete",
    "check_known",
    "checked_codes",
    "checked_families",
    "checked_rows",
    "checked_variables",
    "checked_weights",
    "chosen_columns",
    "common_length",
    "counted",
    "family_cells",
    "family_names",
    "identifiers_among",
    "in_order",
]

_Item = TypeVar("_Item")

_MANY_STATES = 100
"""A variable with more states than this, most of them in one row only, is hardly one."""

_SHOWN = 3
"""Such variables that a message describes."""


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


def check_discrete(names: Iterable[object], continuous: Iterable[str]) -> None:
    """Raise `DataError` if some of the names are those of continuous columns, which have no states to count.

    >>> check_discrete(["sex", "height"], ["height"])
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: 'height' is continuous and has no states to count: cut it into intervals, or leave it out
    """
    columns = tuple(continuous)
    found = [name for name in names if name in columns]
    if found:
        are = "is continuous and has" if len(found) == 1 else "are continuous and have"
        it = "it" if len(found) == 1 else "them"
        raise DataError(f"{listing(found)} {are} no states to count: cut {it} into intervals, or leave {it} out")


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
            f"complete rows with Dataset.complete_rows(), or fill the holes first"
        )


def family_names(child: str, parents: Names, table: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a family, in the order of the axes of its table: the parents, then the child."""
    names = (*as_names(in_order(parents, f"the parents of {child!r}")), child)
    check_known(names, table)
    if len(set(names)) < len(names):
        raise DataError(f"the family of {child!r} has a variable twice: {listing(names)}")
    return names


def checked_families(families: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return families as a list of pairs.

    >>> checked_families("ab")
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: families are a list of pairs (child, parents), not 'ab'
    """
    if isinstance(families, (str, Mapping)):
        raise DataError(f"families are a list of pairs (child, parents), not {families!r}")
    pairs = list(in_order(families, "the families"))
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != len(("child", "parents")):
            raise DataError(f"a family is a pair (child, parents), not {pair!r}; families are a list of such pairs")
    return pairs


def family_cells(
    family: Sequence[Variable],
    n_rows: int,
    *,
    extended_by: Sequence[Variable] = (),
    copies: int = 0,
    budget: int = MEMORY_BUDGET,
) -> int:
    """Return the number of cells in the table of a family, the child last, or raise if there are too many.

    Parameters
    ----------
    family
        The parents, then the child.
    n_rows
        Number of rows that will be counted.
    extended_by
        Variables by whose states, side by side, the table is extended along one more axis.
    copies
        How many tables, each extended by one variable, are worked on besides.
    budget
        Bytes that the table may take.

    Raises
    ------
    TooLargeError
        Beyond the budget, and beyond the number of axes an array can have; names the child, and columns that have about
        as many states as rows.
    """
    what = f"the counts of {family[-1].name!r} and its {counted(len(family) - 1, 'parent')}"
    shape = [variable.cardinality for variable in family]
    if extended_by:
        states = [variable.cardinality for variable in extended_by]
        shape, what = [*shape, sum(states) + copies * max(states)], f"{what}, extended by each other variable"
        what = f"{what} and worked on," if copies else f"{what},"
    try:
        check_size(shape, what, budget)
    except TooLargeError as error:
        raise TooLargeError(f"{error}{identifiers_among([*family, *extended_by], n_rows)}") from None
    return math.prod(shape)


def identifiers_among(variables: Sequence[Variable], n_rows: int) -> str:
    """Return a hint at the columns that tell rows apart, which goes on a message; empty if there are none.

    >>> identifiers_among([Variable("sex", ["f", "m"]), Variable("id", range(1500))], 2000)
    "; 'id' has 1,500 states in 2,000 rows and looks like an identifier: leave such columns out"
    """
    found = {
        variable.name: f"{variable.name!r} has {variable.cardinality:,} states in {n_rows:,} rows"
        for variable in variables
        if _MANY_STATES < variable.cardinality <= n_rows < 2 * variable.cardinality
    }
    if not found:
        return ""
    looks = "looks like an identifier" if len(found) == 1 else "look like identifiers"
    return f"; {', '.join([*found.values()][:_SHOWN])} and {looks}: leave such columns out"


def checked_codes(variables: Sequence[Variable], codes: NDArray[Any] | Sequence[NDArray[Any]]) -> tuple[CodeArray, ...]:
    """Return a column of codes for each variable, read-only, of the smallest dtype; what may still change is copied.

    Raises
    ------
    DataError
        For variables of the same name, for another number of columns or columns of several lengths, and for codes that
        are no integers from 0 to the cardinality.
    """
    names = [variable.name for variable in checked_variables(variables)]
    if len(set(names)) < len(names):
        raise DataError(f"a data set needs variables with different names, not {listing(names)}")
    if isinstance(codes, np.ndarray) and codes.ndim != len(("rows", "columns")):
        raise DataError(f"an array of codes has two axes, rows and variables; this one has shape {codes.shape}")
    if isinstance(codes, (str, bytes, dict)) or not isinstance(codes, Iterable):
        raise DataError(f"codes are an array (rows, variables) or one column for each variable, not {codes!r}")
    columns = list(codes.T if isinstance(codes, np.ndarray) else codes)
    if len(columns) != len(variables):
        n_columns = counted(len(columns), "column")
        raise DataError(f"{counted(len(variables), 'variable')} need as many columns of codes, not {n_columns}")
    checked = tuple(_checked_column(variable, column) for variable, column in zip(variables, columns, strict=True))
    for variable, column in zip(variables, checked, strict=True):
        if len(column) != len(checked[0]):
            rows = counted(len(column), "row")
            raise DataError(f"codes of {variable.name!r}: {rows}, but {names[0]!r} has {len(checked[0])}")
    return checked


def _checked_column(variable: Variable, column: object) -> CodeArray:
    try:
        codes = np.asarray(column)
    except ValueError:  # lists of several lengths
        raise DataError(f"codes of {variable.name!r} must be one column of integers") from None
    if codes.ndim != 1:
        raise DataError(f"codes of {variable.name!r} must be one column, not an array of shape {codes.shape}")
    if isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column):
        raise DataError(f"codes of {variable.name!r} are masked; the code of a missing cell is {variable.cardinality}")
    integers = codes.dtype.kind in "iu" or len(codes) == 0
    if not integers or codes.min(initial=0) < 0 or codes.max(initial=0) > variable.cardinality:
        raise DataError(f"codes of {variable.name!r} must be integers from 0 to {variable.cardinality}")
    small = np.asarray(codes, smallest_codes(variable.cardinality), order="C")
    if small is codes and (codes.flags.writeable or not codes.flags.owndata):  # its owner may still write
        small = small.copy()
    small.setflags(write=False)
    return small


def common_length(codes: Mapping[str, NDArray[Any]], numbers: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of rows of all columns, coded and continuous ones.

    Raises
    ------
    DataError
        If there are no columns, a name stands for two, or they have different lengths.

    Examples
    --------
    >>> common_length({"sex": np.array([0, 1])}, {"height": np.array([1.6, 1.8])})
    2
    """
    columns = {**codes, **numbers}
    if not columns or len(columns) < len(codes) + len(numbers):
        raise DataError(f"a data set needs variables with different names, not {listing([*codes, *numbers])}")
    first, *others = columns
    for name in others:
        if len(columns[name]) != len(columns[first]):
            raise DataError(
                f"column {name!r} has {counted(len(columns[name]), 'row')}, but {first!r} has {len(columns[first])}"
            )
    return len(columns[first])


def checked_weights(weights: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return row weights as a read-only array of their own.

    Raises
    ------
    DataError
        For a wrong number of weights, for weights that are negative, infinite, NaN or no numbers, and for a sum that is
        infinite.
    """
    numbers = _as_numbers(weights)
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


def _as_numbers(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights as an array of their own; what is no array of numbers is read like any column."""
    try:
        array: Any = np.asarray(weights) if isinstance(weights, (list, tuple)) else weights
    except ValueError:  # lists of several lengths
        raise DataError("weights must be one number for each row") from None
    if isinstance(array, np.ndarray) and array.dtype.kind in "biuf" and not np.ma.is_masked(array):
        with np.errstate(over="ignore"):
            return np.array(array, np.float64)
    if not is_column(array):
        raise DataError(f"weights must be one number for each row, not {weights!r}")
    try:
        return column_of_numbers("weights", array)
    except DataError as error:
        raise DataError(f"weights must be one number for each row: {error}") from None


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
    if chosen.ndim == 0:
        raise DataError(f"rows are a slice, row numbers or one boolean for each row, not {rows!r}")
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
