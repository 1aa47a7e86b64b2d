"""Tables of other libraries: any of them into named columns, and coded columns back into them, or into text.

pandas, polars and pyarrow are never imported unless one of their tables is asked for or given; what is given is read
through narwhals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pgm.data.columns import CodeArray, is_column
from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.variable import Label, Variable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = [
    "States",
    "check_known",
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


def _read_array(array: np.ndarray[Any, Any], names: Sequence[str] | None) -> dict[str, object]:
    if array.ndim != len(("rows", "columns")) or array.dtype.names is not None:
        raise DataError(f"an array of data has two axes, rows and columns; this one has shape {array.shape}")
    if names is None:
        raise DataError("an array has no column names: give names=[...]")
    wanted = [names] if isinstance(names, str) else list(names)
    if len(wanted) != array.shape[1]:
        raise DataError(f"{len(wanted)} names for an array of {array.shape[1]} columns: {listing(wanted)}")
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
            f"data must be a pandas, polars or pyarrow frame, a dict of columns, a 2-D array with names, "
            f"or a Dataset, not {type(data).__name__}"
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
            raise DataError(f"column {name!r} has {length} rows, but {first!r} has {lengths[first]}")
    return columns


def declared_variables(
    table: Iterable[str], states: States | None, variables: Iterable[Variable] | None
) -> dict[str, Variable]:
    """Return the variables that ``states`` and ``variables`` declare, by name.

    Raises
    ------
    UnknownNameError
        If one of them is no column of the table.
    DataError
        If a column is declared twice, and differently.
    """
    declared: dict[str, Variable] = {}
    for variable in [*(Variable(name, labels) for name, labels in (states or {}).items()), *(variables or ())]:
        if declared.setdefault(variable.name, variable) != variable:
            raise DataError(f"the states of {variable.name!r} are declared twice, and differently")
    check_known(declared, table)
    return declared


def check_known(names: Iterable[str], table: Iterable[str]) -> None:
    """Raise `UnknownNameError`, listing the columns of the table, unless all names are among them."""
    columns = table if isinstance(table, dict) else dict.fromkeys(table)
    for name in names:
        if not isinstance(name, str) or name not in columns:
            raise UnknownNameError(f"no column {name!r}; the columns are {listing(columns)}")


# From codes to frames.


def to_dict(variables: Sequence[Variable], codes: Sequence[CodeArray]) -> dict[str, list[Any]]:
    """Return the labels of coded columns as lists, None where a cell is missing."""
    columns: dict[str, list[Any]] = {}
    for variable, column in zip(variables, codes, strict=True):
        labels = np.empty(variable.cardinality + 1, object)
        for code, label in enumerate(variable.states):  # one by one: labels may be tuples
            labels[code] = label
        columns[variable.name] = labels[column].tolist()
    return columns


def to_pandas(variables: Sequence[Variable], codes: Sequence[CodeArray]) -> pd.DataFrame:
    """Return coded columns as pandas categoricals whose categories are the states."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for variable, column in zip(variables, codes, strict=True):
        signed = column.astype(np.int64)
        signed[column == variable.cardinality] = -1
        columns[variable.name] = pd.Categorical.from_codes(signed, pd.Index(variable.states, tupleize_cols=False))
    return pd.DataFrame(columns)


def to_polars(variables: Sequence[Variable], codes: Sequence[CodeArray]) -> pl.DataFrame:
    """Return coded columns as a polars frame: an Enum where all states are text, the values themselves elsewhere."""
    import polars as pl

    columns = to_dict(variables, codes)
    series = []
    for variable in variables:
        text = all(isinstance(state, str) for state in variable.states)
        dtype = pl.Enum(map(str, variable.states)) if text else None
        series.append(pl.Series(variable.name, columns[variable.name], dtype))
    return pl.DataFrame(series)


def to_arrow(variables: Sequence[Variable], codes: Sequence[CodeArray]) -> pa.Table:
    """Return coded columns as a pyarrow table of ordered dictionaries whose values are the states."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for variable, column in zip(variables, codes, strict=True):
        indices = pa.array(column.astype(np.int32), mask=column == variable.cardinality)
        try:
            states = pa.array(variable.states)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise DataError(f"the states of {variable.name!r} are of several types; Arrow needs one") from None
        columns[variable.name] = pa.DictionaryArray.from_arrays(indices, states, ordered=True)
    return pa.table(columns)


def describe(variables: Sequence[Variable], missing: Mapping[str, int]) -> list[str]:
    """Return one line of text for each of the first variables: its states, and its missing cells if there are any.

    >>> describe([Variable("x", ["a", "b"])], {"x": 3})
    ["x: 2 states 'a', 'b'; 3 missing"]
    """
    lines = []
    for variable in variables[:_SHOWN]:
        states = f"{variable.cardinality} state{'' if variable.cardinality == 1 else 's'}"
        holes = f"; {missing[variable.name]} missing" if missing[variable.name] else ""
        lines.append(f"{variable.name}: {states} {listing(variable.states, limit=6)}{holes}")
    if len(variables) > _SHOWN:
        lines.append(f"... {len(variables) - _SHOWN} more")
    return lines
