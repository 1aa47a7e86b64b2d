"""Tables of other libraries: any of them into named columns, and coded columns back into them, or into text.

pandas, polars and pyarrow are never imported unless one of their tables is asked for or given; what is given is read
through narwhals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data.checks import check_known, checked_variables, counted, in_order
from pgm.data.columns import CodeArray, is_column
from pgm.errors import DataError, TableError, listing
from pgm.factors.factor import Names, as_names
from pgm.factors.variable import Label, Variable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = [
    "States",
    "chosen_columns",
    "declared_continuous",
    "declared_variables",
    "describe",
    "read_columns",
    "to_arrow",
    "to_dict",
    "to_pandas",
    "to_polars",
]

_SHOWN = 12
"""Variables that a description lists."""

States: TypeAlias = Mapping[str, Iterable[Label]]
"""Labels of some columns, in the order wanted."""

Numbers: TypeAlias = Mapping[str, NDArray[np.float64]]
"""Continuous columns by name, NaN where a cell is missing."""


def read_columns(data: object, names: Sequence[str] | None = None) -> dict[str, object]:
    """Return the columns of a table by name, as they are.

    Parameters
    ----------
    data
        A frame of pandas, polars or pyarrow, a mapping of columns, or a 2-D array.
    names
        Column names of a 2-D array, and of nothing else.

    Raises
    ------
    DataError
        For what is no table, for repeated or non-text names, and for columns of different lengths.

    Examples
    --------
    >>> read_columns(np.array([[1, 2], [3, 4]]), names=["a", "b"])
    {'a': array([1, 3]), 'b': array([2, 4])}
    """
    if isinstance(data, np.ndarray):
        return _read_array(data, names)
    if names is not None:
        raise DataError(f"names are for a 2-D array; a {type(data).__name__} has column names of its own")
    if isinstance(data, Mapping):
        columns = dict(data)
        _check_names(list(columns))
        return _same_lengths(columns)
    return _read_frame(data)


def chosen_columns(data: object, wanted: Callable[[object], bool]) -> object:
    """Return a table without the columns that are not wanted, whatever they hold and are called.

    A table of another kind than a mapping, or a frame of pandas or pyarrow, is returned as it is: it has only names
    that are distinct texts, and columns of one length.

    Examples
    --------
    >>> chosen_columns({"a": [1, 2], 0: "no column"}, lambda name: name == "a")
    {'a': [1, 2]}
    """
    if isinstance(data, Mapping):
        return {name: column for name, column in data.items() if wanted(name)}
    frame: Any = data
    library, kind = type(data).__module__.partition(".")[0], type(data).__name__
    if (library, kind) == ("pandas", "DataFrame"):
        return frame.loc[:, [wanted(name) for name in frame.columns]]
    if (library, kind) == ("pyarrow", "Table"):
        return frame.select([place for place, name in enumerate(frame.column_names) if wanted(name)])
    return data


def _read_array(array: np.ndarray[Any, Any], names: Sequence[str] | None) -> dict[str, object]:
    if array.ndim != len(("rows", "columns")) or array.dtype.names is not None:
        raise DataError(f"an array of data has two axes, rows and columns; this one has shape {array.shape}")
    if names is None:
        raise DataError("an array has no column names: wrap it, pgm.Dataset(array, names=[...])")
    wanted = [names] if isinstance(names, str) else list(in_order(names, "the names of columns"))
    if len(wanted) != array.shape[1]:
        n_names, n_columns = counted(len(wanted), "name"), counted(array.shape[1], "column")
        raise DataError(f"{n_names} for an array of {n_columns}: {listing(wanted)}")
    _check_names(wanted)
    return {name: array[:, position] for position, name in enumerate(wanted)}


def _read_frame(data: object) -> dict[str, object]:
    import narwhals as nw

    if type(data).__name__ in ("DataFrame", "Table"):  # pandas and pyarrow allow any names; narwhals would object later
        _check_names(list(getattr(data, "column_names", getattr(data, "columns", ()))))
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"data must be a pandas, polars or pyarrow frame, a dict of columns, a Dataset, or a 2-D array as "
            f"pgm.Dataset(array, names=[...]), not {type(data).__name__}"
        )
    return {name: frame.get_column(name).to_native() for name in frame.columns}


def _check_names(names: Sequence[object]) -> None:
    seen: set[object] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise DataError(f"column names must be non-empty text, not {name!r}: rename the columns")
        if name in seen:
            raise DataError(f"the column name {name!r} occurs twice")
        seen.add(name)


def _same_lengths(columns: dict[str, object]) -> dict[str, object]:
    lengths = {}
    for name, column in columns.items():
        if not is_column(column):
            raise DataError(f"column {name!r} must be a list or a 1-D array, not {type(column).__name__}")
        lengths[name] = len(column)
    first = next(iter(lengths), "")
    for name, length in lengths.items():
        if length != lengths[first]:
            raise DataError(f"column {name!r} has {counted(length, 'row')}, but {first!r} has {lengths[first]}")
    return columns


def declared_variables(
    table: Iterable[str], states: States | None, variables: Iterable[Variable] | None
) -> dict[str, Variable]:
    """Return the variables that ``states`` and ``variables`` declare, by name.

    Raises
    ------
    UnknownNameError
        If some of them are no columns of the table; names all of these.
    DataError
        If a column is declared twice, and differently, if its states are a set, or what is given is no declaration.
    """
    declared: dict[str, Variable] = {}
    for variable in [*_variables_of(states), *checked_variables(variables)]:
        if declared.setdefault(variable.name, variable) != variable:
            raise DataError(f"the states of {variable.name!r} are declared twice, and differently")
    check_known(declared, table, "states are declared, but there is no column")
    return declared


def _variables_of(states: object) -> list[Variable]:
    if states is None:
        return []
    if not isinstance(states, Mapping):
        raise DataError(f"states are declared as {{name: [labels in order]}}, not by {type(states).__name__}")
    return [Variable(name, in_order(labels, f"the states of {name!r}")) for name, labels in states.items()]


def declared_continuous(
    continuous: Names | None, table: Iterable[str], declared: Iterable[str], weights: object
) -> dict[str, None]:
    """Return the names of the columns declared as continuous, in order.

    Parameters
    ----------
    continuous
        One name or several; None for none.
    table
        The columns there are.
    declared
        Those whose states are declared.
    weights
        The name of the column of weights, if it is one.

    Raises
    ------
    DataError
        For what are no names, and for a column that is to be something else as well.
    UnknownNameError
        For a name that is no column.

    Examples
    --------
    >>> list(declared_continuous("height", ["sex", "height"], ["sex"], None))
    ['height']
    """
    if continuous is None:
        return {}
    if not isinstance(continuous, Iterable):
        raise DataError(f"continuous columns are declared by their names, not by {continuous!r}")
    names = as_names(continuous)
    check_known(names, table, "declared as continuous, but there is no column")
    if isinstance(weights, str) and weights in names:
        raise DataError(f"{weights!r} cannot be continuous and the weights: declare one or the other")
    columns = frozenset(declared)
    both = [name for name in names if name in columns]
    if both:
        raise DataError(f"{listing(both)} cannot be continuous and have states: declare one or the other")
    return dict.fromkeys(names)


# From codes to frames, continuous columns last. A column that cannot hold the states as they are would change labels,
# so it is refused.


def to_dict(variables: Sequence[Variable], codes: Sequence[CodeArray], numbers: Numbers) -> dict[str, list[Any]]:
    """Return the labels of coded columns, and numbers, as lists; None where a cell is missing."""
    labels = {
        variable.name: _labels(variable)[column].tolist() for variable, column in zip(variables, codes, strict=True)
    }
    return labels | {
        name: np.where(np.isnan(column), None, column).tolist()  # type: ignore[call-overload]
        for name, column in numbers.items()
    }


def to_pandas(variables: Sequence[Variable], codes: Sequence[CodeArray], numbers: Numbers) -> pd.DataFrame:
    """Return coded columns as pandas categoricals whose categories are the states, or as objects.

    Objects are for states that an index of pandas takes for equal (1 and True), or would change.
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    for variable, column in zip(variables, codes, strict=True):
        try:
            categories = pd.Index(variable.states, tupleize_cols=False)
        except ValueError:  # text that is not Unicode
            categories = None
        if categories is None or not categories.is_unique or not _is_kept(variable, categories.tolist()):
            columns[variable.name] = pd.Series(_labels(variable)[column], dtype=object)
            continue
        signed = column.astype(np.int64)
        signed[column == variable.cardinality] = -1
        columns[variable.name] = pd.Categorical.from_codes(signed, categories)
    columns.update({name: column.copy() for name, column in numbers.items()})
    return pd.DataFrame(columns)


def to_polars(variables: Sequence[Variable], codes: Sequence[CodeArray], numbers: Numbers) -> pl.DataFrame:
    """Return coded columns as a polars frame: an Enum where all states are text, the values themselves elsewhere.

    Raises
    ------
    DataError
        For states that one polars type cannot hold as they are, such as 1 and True, or 1 and "1".
    """
    import polars as pl

    series = []
    for variable, column in zip(variables, codes, strict=True):
        text = all(isinstance(state, str) for state in variable.states)
        try:
            dtype = pl.Enum(map(str, variable.states)) if text else None
            labels = pl.Series(variable.name, [*variable.states, None], dtype, strict=False)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise _cannot_hold("polars", variable) from None
        if not _is_kept(variable, labels[:-1].to_list()):
            raise _cannot_hold("polars", variable)
        series.append(labels.gather(column))
    series += [pl.Series(name, column).fill_nan(None) for name, column in numbers.items()]
    return pl.DataFrame(series)


def to_arrow(variables: Sequence[Variable], codes: Sequence[CodeArray], numbers: Numbers) -> pa.Table:
    """Return coded columns as a pyarrow table of ordered dictionaries whose values are the states.

    Raises
    ------
    DataError
        For states that one Arrow type cannot hold as they are, such as 1 and True, or 1 and "1".
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for variable, column in zip(variables, codes, strict=True):
        try:
            states = pa.array(variable.states)
        except (TypeError, ValueError, OverflowError, pa.ArrowException):
            raise _cannot_hold("Arrow", variable) from None
        if not _is_kept(variable, states.to_pylist()):
            raise _cannot_hold("Arrow", variable)
        indices = pa.array(column.astype(np.int32), mask=column == variable.cardinality)
        columns[variable.name] = pa.DictionaryArray.from_arrays(indices, states, ordered=True)
    columns.update({name: pa.array(column, mask=np.isnan(column)) for name, column in numbers.items()})
    return pa.table(columns)


def _labels(variable: Variable) -> np.ndarray[Any, Any]:
    """Return the states as an array of objects, with None at the code of a missing cell."""
    labels = np.empty(variable.cardinality + 1, object)
    for code, label in enumerate(variable.states):  # one by one: labels may be tuples
        labels[code] = label
    return labels


def _is_kept(variable: Variable, states: Sequence[Any]) -> bool:
    """Return whether the states that another library gives back are those of the variable."""
    try:
        return Variable(variable.name, states) == variable
    except TableError:  # two states became one, or one became a list
        return False


def _cannot_hold(library: str, variable: Variable) -> DataError:
    states = listing(variable.states, limit=6)
    return DataError(f"{library} cannot hold the states of {variable.name!r} in one column as they are: {states}")


def describe(variables: Sequence[Variable], missing: Mapping[str, int], numbers: Numbers) -> list[str]:
    """Return one line of text for each of the first columns: its states or range, and how many cells are missing.

    >>> describe([Variable("x", ["a", "b"])], {"x": 3, "y": 0}, {"y": np.array([1.5, 2.0])})
    ["x: 2 states 'a', 'b'; 3 missing", 'y: continuous, 1.5 to 2']
    """
    ranges = {variable.name: _states(variable) for variable in variables}
    ranges |= {name: _range(column) for name, column in numbers.items()}
    lines = []
    for name in [*ranges][:_SHOWN]:
        holes = f"; {missing[name]} missing" if missing[name] else ""
        lines.append(f"{name}: {ranges[name]}{holes}")
    if len(ranges) > _SHOWN:
        lines.append(f"... {len(ranges) - _SHOWN} more")
    return lines


def _states(variable: Variable) -> str:
    return f"{counted(variable.cardinality, 'state')} {listing(variable.states, limit=6)}"


def _range(column: NDArray[np.float64]) -> str:
    known = column[~np.isnan(column)]
    return f"continuous, {known.min():.6g} to {known.max():.6g}" if len(known) else "continuous"
