"""From a column of values to labels and codes, whatever library the column comes from.

Every column is first *factorised*: its distinct labels, and for each row the position of its label among them, -1
where the cell is missing. Then the labels are matched with declared states, or sorted into states when none are
declared. Only the distinct labels are ever touched one by one, so the cost per row is that of a hash or a look-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import count
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pgm.errors import DataError, UnknownStateError, listing
from pgm.factors.variable import Label, Variable, is_missing

if TYPE_CHECKING:
    import narwhals as nw

__all__ = [
    "CodeArray",
    "Factorised",
    "code_column",
    "column_of_numbers",
    "continuous_column",
    "factorise",
    "is_column",
    "smallest_codes",
]

CodeArray: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Codes of one column: uint8, uint16 or uint32; the cardinality itself stands for a missing cell."""

_EXACT = 2.0**53
"""Below this, floats tell all whole numbers apart."""

_SPAN = 1 << 16
"""Integers within such a range are coded by a look-up table instead of sorting."""


class Factorised(NamedTuple):
    """A column as distinct labels and, for every row, the position of its label among them (-1: missing)."""

    labels: Sequence[Label]
    positions: NDArray[np.signedinteger[Any]]
    declared: bool
    """Whether the labels are all states in their declared order, as in a pandas categorical or a polars Enum."""

    @classmethod
    def of_codes(cls, variable: Variable, codes: CodeArray) -> Factorised:
        """Return a coded column, in which the cardinality stands for a missing cell."""
        positions = codes.astype(np.intp)
        positions[codes == variable.cardinality] = -1
        return cls(variable.states, positions, declared=True)


def smallest_codes(cardinality: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest dtype that holds the codes 0 .. cardinality - 1 and the cardinality, the code of a hole.

    >>> smallest_codes(255), smallest_codes(256)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(cardinality)


def is_column(values: object) -> TypeGuard[Sequence[Any]]:
    """Return whether ``values`` can be one column: a list, tuple, range, 1-D array or a series of some dataframe.

    >>> is_column([1, 2]), is_column("ab"), is_column(3)
    (True, False, False)
    """
    if isinstance(values, (str, bytes, dict, set, frozenset)):
        return False
    return hasattr(values, "__len__") and hasattr(values, "__iter__") and getattr(values, "ndim", 1) == 1


def code_column(name: str, column: object, variable: Variable | None) -> tuple[Variable, CodeArray]:
    """Return the variable and the codes of a column; missing cells are coded as the cardinality.

    Parameters
    ----------
    name
        Name of the column, for the variable and for messages.
    column
        The values: a list, tuple, array, or a series of pandas, polars, pyarrow; or a `Factorised` column.
    variable
        The declared states; without it the states are the labels that occur, sorted.

    Raises
    ------
    DataError
        For a label outside the declared states, for labels that cannot become states by themselves (numbers with a
        fraction, dates, objects without an order), and for a column without any label.

    Examples
    --------
    >>> code_column("dose", [2.0, None, 1.0], None)
    (Variable('dose', [1, 2]), array([1, 2, 0], dtype=uint8))
    """
    labels, positions, declared = column if isinstance(column, Factorised) else factorise(name, column)
    if variable is None:
        if not labels:
            raise DataError(f"column {name!r} has no value in any row: declare its states")
        variable = Variable(name, map(_whole, labels) if declared else _sorted_states(name, labels))
    codes = np.empty(len(labels) + 1, smallest_codes(variable.cardinality))
    codes[-1] = variable.cardinality  # position -1 is the last entry of this look-up table
    unknown: dict[int, UnknownStateError] = {}
    for position, label in enumerate(labels):
        try:
            codes[position] = variable.code(label)
        except UnknownStateError as error:
            unknown[position] = error
    wrong = np.isin(positions, list(unknown)) if unknown else np.zeros(1, bool)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"column {name!r}, row {row} (counting from 0): {unknown[int(positions[row])]}")
    column_codes = codes[positions]
    column_codes.setflags(write=False)  # nobody else has it, so it need not be copied
    return variable, column_codes


def column_of_numbers(name: str, column: object) -> NDArray[np.float64]:
    """Return a column of row weights as an array, NaN where a cell is missing.

    Raises
    ------
    DataError
        If a cell holds no number.

    Examples
    --------
    >>> column_of_numbers("weight", [1, 0.5, 1])
    array([1. , 0.5, 1. ])
    """
    labels, positions, _ = column if isinstance(column, Factorised) else factorise(name, column)
    if not all(isinstance(label, (Real, Decimal)) for label in labels):
        raise DataError(f"the column {name!r} must hold numbers, not {listing(labels, limit=4)}")
    try:
        numbers = np.array([*map(float, labels), np.nan], np.float64)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        raise DataError(f"the column {name!r} holds a number beyond the range of floats") from None
    by_row: NDArray[np.float64] = numbers[positions]
    return by_row


def continuous_column(name: str, column: object) -> NDArray[np.float64]:
    """Return a column of measurements as a read-only array of its own, NaN where a cell is missing.

    Raises
    ------
    DataError
        If a cell holds no number, or an infinite one.

    Examples
    --------
    >>> continuous_column("height", [1.62, None, 2])
    array([1.62,  nan, 2.  ])
    """
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # of longer floats; it is reported below
            numbers = np.ma.filled(np.ma.array(column, np.float64, copy=True), np.nan)
    else:
        if not isinstance(column, Factorised):
            column = factorise(name, column)
        if any(isinstance(label, bool) for label in column.labels):
            raise DataError(f"the column {name!r} holds booleans and is no continuous one")
        numbers = column_of_numbers(name, column)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise DataError(f"column {name!r}, row {infinite[0]} (counting from 0): {numbers[infinite[0]]} is not finite")
    numbers.setflags(write=False)
    return numbers


def _sorted_states(name: str, labels: Iterable[Any]) -> list[Label]:
    """Return distinct labels in the order False, True, numbers, text."""
    distinct = dict.fromkeys((isinstance(label, bool), _whole(label)) for label in labels)
    booleans: list[bool] = []
    numbers: list[Any] = []
    texts: list[str] = []
    for _, label in distinct:
        if isinstance(label, bool):
            booleans.append(label)
        elif isinstance(label, Real):
            numbers.append(label)
        elif isinstance(label, str):
            texts.append(label)
        else:
            raise DataError(
                f"column {name!r} holds {label!r}, a {type(label).__name__}; only booleans, whole numbers and text "
                f"become states by themselves: declare the states of {name!r}, or turn it into a categorical"
            )
    fractions = [number for number in numbers if not isinstance(number, int)]
    if fractions:
        raise DataError(
            f"column {name!r} holds {fractions[0]!r} and looks continuous ({len(numbers)} distinct numbers from "
            f"{min(numbers)} to {max(numbers)}): cut it into intervals first, declare its states, or declare it as "
            f"continuous=[{name!r}]"
        )
    return [*sorted(booleans), *sorted(numbers), *sorted(texts)]


def _whole(label: Any) -> Any:
    """Return a number without a fraction as an int if it is exact, anything else unchanged."""
    if not isinstance(label, (float, Fraction)):
        return label
    return int(label) if label % 1 == 0 and -_EXACT < label < _EXACT else label


# Factorising: one way for Python objects, one for numbers, and the fast ways of each dataframe library for text.


def factorise(name: str, column: object) -> Factorised:
    """Return the distinct labels of a column and the position of each row's label, -1 where it is missing.

    >>> factorise("x", ["b", None, "a", "b"]).positions
    array([ 0, -1,  1,  0])
    """
    if not is_column(column):
        raise DataError(f"column {name!r} must be a list or a 1-D array, not {type(column).__name__}")
    values: Any = column
    if isinstance(values, np.ndarray):
        return _factorise_array(name, values)
    if not isinstance(values, (list, tuple, range)):
        import narwhals as nw

        series = nw.from_native(_as_series(values), series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _factorise_series(name, series)
        values = np.asarray(values) if hasattr(values, "__array__") else list(values)
        return factorise(name, values)
    return _factorise_objects(name, values)


def _as_series(values: Any) -> Any:
    """Return a bare array of pandas or pyarrow, whose conversion to NumPy may lose something, as a series."""
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd

        bare = isinstance(values, (pd.Index, pd.api.extensions.ExtensionArray))
        return pd.Series(values) if bare and not isinstance(values, pd.MultiIndex) else values
    if library == "pyarrow":
        import pyarrow as pa

        return pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    return values


def _factorise_objects(name: str, values: Sequence[Any]) -> Factorised:
    """Factorise Python objects by hashing."""
    try:
        labels, positions = _number(values)
        if not all(isinstance(label, str) or is_missing(label) for label in labels):
            keys, positions = _number(list(zip(map(type, values), values, strict=True)))  # 1, 1.0 and True are equal
            labels = [_plain(label) for _, label in keys]
    except TypeError:
        raise DataError(f"column {name!r} holds values that are not hashable and cannot be labels") from None
    return _without_missing(labels, positions)


def _number(values: Sequence[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct values in order of appearance, and for each value its place among them."""
    places: defaultdict[Any, int] = defaultdict(count().__next__)
    positions = np.fromiter(map(places.__getitem__, values), np.intp, len(values))
    return list(places), positions


def _plain(label: Any) -> Any:
    """Return a NumPy scalar as the Python value it stands for, except dates, which is_missing understands."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def _without_missing(labels: Sequence[Any], positions: NDArray[np.signedinteger[Any]]) -> Factorised:
    """Drop labels that stand for "not observed" and set their rows to -1."""
    present = np.array([not is_missing(label) for label in labels], bool)
    if present.all():
        return Factorised(labels, positions, declared=False)
    renumbered = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    kept = [label for label, keep in zip(labels, present, strict=True) if keep]
    return Factorised(kept, renumbered[positions], declared=False)


def _factorise_array(name: str, values: NDArray[Any]) -> Factorised:
    """Factorise a NumPy array by its kind."""
    kind = values.dtype.kind
    if kind in "biuf":
        masked = isinstance(values, np.ma.MaskedArray)
        return _factorise_numbers(np.asarray(values), np.ma.getmaskarray(values) if masked else None)
    if kind in "mM":
        return _factorise_objects(name, values.astype(f"{kind}8[us]").tolist())
    return _factorise_objects(name, values.tolist())


def _factorise_numbers(values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Factorised:
    """Factorise booleans, integers or floats; NaN is missing, and floats without fractions are integers."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # 2**53 is beyond its range
    if values.dtype.kind == "f":
        unknown = np.isnan(values)
        missing = unknown if missing is None else missing | unknown
    holes = missing is not None and bool(missing.any())
    present = values[~missing] if holes and missing is not None else values
    if values.dtype.kind == "f" and np.all(np.abs(present) < _EXACT) and np.all(present == np.trunc(present)):
        present = present.astype(np.int64)
    labels, codes = _distinct_numbers(present)
    if not holes or missing is None:
        return Factorised(labels, codes, declared=False)
    positions = np.full(len(values), -1, np.intp)
    positions[~missing] = codes
    return Factorised(labels, positions, declared=False)


def _distinct_numbers(present: NDArray[Any]) -> tuple[list[Label], NDArray[np.intp]]:
    """Return the distinct numbers in increasing order and the position of each value among them."""
    if present.dtype.kind == "b":
        labels, codes = _distinct_numbers(present.view(np.uint8))
        return [bool(label) for label in labels], codes
    if present.dtype.kind in "iu" and len(present):
        low, high = int(present.min()), int(present.max())
        if high - low < _SPAN:
            unsigned = present.dtype.kind == "u"
            offsets = present - present.dtype.type(low) if unsigned else present.astype(np.int64) - low
            offsets = offsets.astype(np.intp, copy=False)
            occurs = np.bincount(offsets, minlength=high - low + 1) > 0
            return [low + offset for offset in np.flatnonzero(occurs).tolist()], (np.cumsum(occurs) - 1)[offsets]
    distinct = np.unique(present)
    return distinct.tolist(), np.searchsorted(distinct, present).astype(np.intp, copy=False)


def _factorise_series(name: str, series: nw.Series[Any]) -> Factorised:
    """Factorise a series of pandas, polars or pyarrow by its data type."""
    import narwhals as nw

    dtype, implementation, native = series.dtype, series.implementation, series.to_native()
    if implementation.is_pandas_like() and native.dtype == object:
        return _factorise_objects(name, native.tolist())
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        if implementation.is_pandas_like():
            return _factorise_pandas(native)
        if implementation.is_polars():
            return _factorise_polars(native)
        if implementation.is_pyarrow():
            return _factorise_pyarrow(native)
    if dtype in (nw.Int128, nw.UInt128):  # NumPy has none
        return _factorise_objects(name, series.to_list())
    if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
        missing = series.is_null().to_numpy().astype(bool)
        filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
        values = filled.to_numpy()
        if values.dtype.kind in "biuf":
            return _factorise_numbers(values, missing)
    return _factorise_objects(name, series.to_list())


def _factorise_pandas(series: Any) -> Factorised:
    """Factorise text with pandas' own hash table; a categorical declares its categories, used or not."""
    if hasattr(series, "cat"):
        return Factorised(series.cat.categories.tolist(), series.cat.codes.to_numpy(), declared=True)
    positions, labels = series.factorize()
    return Factorised(labels.tolist(), np.asarray(positions), declared=False)


def _factorise_polars(series: Any) -> Factorised:
    """Factorise text by a cast to an Enum; an Enum column declares its categories."""
    import polars as pl

    declared = isinstance(series.dtype, pl.Enum)
    if not declared:
        text = series.cast(pl.String)
        series = text.cast(pl.Enum(text.drop_nulls().unique().sort()))
    positions = series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return Factorised(series.dtype.categories.to_list(), positions, declared)


def _factorise_pyarrow(array: Any) -> Factorised:
    """Factorise text by Arrow's dictionary encoding; a dictionary marked as ordered declares its categories."""
    import pyarrow as pa

    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    declared = pa.types.is_dictionary(array.type) and array.type.ordered
    if not declared:
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        array = plain.dictionary_encode()  # only the values that occur
    positions = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Factorised(array.dictionary.to_pylist(), positions, declared)
