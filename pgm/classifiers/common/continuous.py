"""Columns of measurements among the features: which they are, their numbers, and how they are cut into intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pgm.data.columns import Factorised, continuous_column, factorise
from pgm.errors import DataError, MissingDataError, UnknownNameError, listing

__all__ = [
    "Categorical",
    "check_discretizer",
    "continuous_features",
    "cut",
    "fit_discretizer",
    "interval_labels",
    "numbers_of",
]

FloatArray = NDArray[np.float64]

_MOST = 1 << 31
"""Interval numbers are below this."""

_LARGEST = 1e150
"""Numbers beyond have no square."""

_ROWS = 1024
"""Rows that are copied at a time."""

Categorical: TypeAlias = str | Iterable[str] | None
"""Names of the categorical features, "all" for all of them, or None: those that do not hold floats."""


def continuous_features(
    columns: Mapping[str, Any], categorical: Categorical, declared: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names of the continuous columns, in their order.

    Parameters
    ----------
    columns
        The features.
    categorical
        Names of those that are categories, or "all". None: by type, where floats are continuous and text, booleans,
        whole numbers and categoricals are not.
    declared
        Names of columns whose states are declared, which makes them categorical.

    Raises
    ------
    UnknownNameError
        For a name without a column.

    Examples
    --------
    >>> continuous_features({"age": [31.5, None], "sex": ["f", "m"], "children": [0, 2]}, None)
    ('age',)
    """
    if categorical is None:
        chosen = [name for name, column in columns.items() if _holds_floats(name, column)]
    elif isinstance(categorical, str):
        if categorical != "all":
            raise DataError(f"categorical must be None, 'all' or a list of names, not {categorical!r}")
        chosen = []
    else:
        if not isinstance(categorical, Iterable):
            raise DataError(f"categorical must be None, 'all' or a list of names, not {categorical!r}")
        named = dict.fromkeys(categorical)
        unknown = [name for name in named if name not in columns]
        if unknown:
            raise UnknownNameError(f"categorical names {listing(unknown)}; the features are {listing(columns)}")
        chosen = [name for name in columns if name not in named]
    known = set(declared)
    return tuple(name for name in chosen if name not in known)


def _holds_floats(name: str, column: Any) -> bool:
    if isinstance(column, Factorised):
        return False
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is not None and kind != "O":
        return bool(kind == "f")
    if kind is None and not isinstance(column, (list, tuple, range)):
        import narwhals as nw

        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):  # factorising would make whole numbers of its floats
            return bool(series.dtype.is_float())
    labels: Sequence[object] = factorise(name, column).labels
    numbers = all(isinstance(label, Real) and not isinstance(label, bool) for label in labels)
    return numbers and any(isinstance(label, (float, np.floating)) for label in labels)


def numbers_of(columns: Mapping[str, Any], names: Sequence[str], kept: NDArray[np.bool_] | None = None) -> FloatArray:
    """Return continuous columns as an array of shape (rows, columns), NaN where a cell is missing; perhaps not a copy.

    Raises
    ------
    DataError
        If a cell holds no number, or an infinite one; names column and row.

    Examples
    --------
    >>> numbers_of({"age": [31.5, None], "sex": ["f", "m"]}, ["age"])
    array([[31.5],
           [ nan]])
    """
    array = getattr(columns, "array", None)
    if array is not None and array.dtype == np.float64 and len(names) == len(columns):
        numbers: FloatArray = array
    else:
        plain = [_as_numbers(name, columns[name]) for name in names]
        numbers = np.empty((len(plain[0]), len(names)))
        for start in range(0, len(numbers), _ROWS):  # columns may stand side by side: this reads them once
            some = slice(start, start + _ROWS)
            for place, column in enumerate(plain):
                numbers[some, place] = column[some]
    numbers = numbers if kept is None else numbers[kept]
    beyond = np.flatnonzero(((numbers > _LARGEST) | (numbers < -_LARGEST)).any(axis=0))
    if len(beyond):
        name = names[beyond[0]]
        continuous_column(name, columns[name])  # raises for infinite ones, and names the row
        raise DataError(f"column {name!r} holds numbers beyond {_LARGEST:g}, whose variance is too large: scale them")
    return numbers


def _as_numbers(name: str, column: Any) -> NDArray[Any]:
    """Return a column as an array of numbers, without a copy where it is one; infinite ones are not looked for."""
    if type(column) is np.ndarray and column.dtype.kind in "iuf":
        return column
    return continuous_column(name, column)


# ------------------------------------------------------------------ intervals


def fit_discretizer(
    name: str, numbers: FloatArray, discretizer: Any, labels: NDArray[np.intp], weights: FloatArray | None
) -> Any:
    """Return a copy of a scikit-learn transformer fitted to the known cells of one column.

    Parameters
    ----------
    name
        Name of the column, for messages.
    numbers
        The column, NaN where a cell is missing.
    discretizer
        What turns a column of numbers into one of whole numbers, as `KBinsDiscretizer` does with
        ``encode="ordinal"``.
    labels
        The class of each row.
    weights
        Weight of each row, for a discretizer whose ``fit`` takes weights.

    Raises
    ------
    MissingDataError
        If no cell is known.
    DataError
        If the discretizer is no transformer, or returns anything but one column.
    """
    known = ~np.isnan(numbers)
    if not known.any():
        raise MissingDataError(f"column {name!r} has no value in any row: there is nothing to cut into intervals")
    fitted = clone(discretizer)
    weighted = weights is not None and has_fit_parameter(fitted, "sample_weight")
    if weighted and weights is not None and getattr(fitted, "strategy", None) != "uniform":  # equal widths need none
        fitted.fit(numbers[known, None], labels[known], sample_weight=weights[known])
    else:
        fitted.fit(numbers[known, None], labels[known])
    return fitted


def check_discretizer(discretizer: Any) -> None:
    """Raise `DataError` for what is no transformer of scikit-learn."""
    if isinstance(discretizer, type) or not hasattr(discretizer, "fit") or not hasattr(discretizer, "transform"):
        raise DataError(f"discretizer must be a transformer of scikit-learn, not {discretizer!r}")


def cut(name: str, numbers: FloatArray, discretizer: Any) -> Factorised:
    """Return the interval of each number of a column, by a fitted discretizer.

    Intervals have the labels of `interval_labels` if the discretizer has ``bin_edges_``, else they are the numbers that
    it returns.

    Raises
    ------
    DataError
        If the discretizer does not return one whole number for each row.
    """
    known = ~np.isnan(numbers)
    edges = getattr(discretizer, "bin_edges_", None)
    positions = np.full(len(numbers), -1, np.intp)
    if known.any():
        bins = discretizer.transform(numbers[known, None])
        if getattr(bins, "shape", None) != (int(known.sum()), 1):
            raise DataError(
                f"the discretizer turns the column {name!r} into {getattr(bins, 'shape', type(bins).__name__)}: "
                "it must return one whole number for each row, as KBinsDiscretizer does with encode='ordinal'"
            )
        try:
            intervals = np.asarray(bins, np.float64)[:, 0]
        except (TypeError, ValueError):
            raise DataError(f"the discretizer turns the column {name!r} into no numbers, but {bins!r}") from None
        most = _MOST if edges is None else len(edges[0]) - 1
        with np.errstate(invalid="ignore"):
            broken = intervals[~((intervals % 1 == 0) & (intervals >= 0) & (intervals < most))]
        if len(broken):
            raise DataError(
                f"the discretizer turns a number of the column {name!r} into {broken[0]}: it must number intervals "
                "from 0, as KBinsDiscretizer does with encode='ordinal'"
            )
        positions[known] = intervals.astype(np.intp)
    if edges is not None:
        return Factorised(interval_labels(edges[0]), positions, declared=True)
    found, places = np.unique(positions[known], return_inverse=True)
    positions[known] = places
    return Factorised(found.tolist(), positions, declared=False)


def interval_labels(edges: Sequence[float]) -> list[str]:
    """Return a label for each interval between edges; the outer ones reach to infinity.

    >>> interval_labels([4.3, 5.5, 6.25, 7.9]), interval_labels([0.0, 1.0])
    (['< 5.5', '5.5 to 6.25', '>= 6.25'], ['any'])
    """
    inner = [float(edge) for edge in edges[1:-1]]
    if not inner:
        return ["any"]
    digits = next(digits for digits in range(6, 18) if len({f"{edge:.{digits}g}" for edge in inner}) == len(inner))
    texts = [f"{edge:.{digits}g}" for edge in inner]
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *between, f">= {texts[-1]}"]
