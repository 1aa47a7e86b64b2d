"""`Dataset`: columns of small unsigned codes with declared states, continuous columns, holes and row weights.

A data set comes from whatever the user has (pandas, polars, pyarrow, lists, arrays) and is coded once, at this
border; everything behind it works on codes. It is immutable, so whoever holds one may share it and may remember
what was counted.

Two rules are worth knowing. *States*: without a declaration the states of a column are the values that occur, in the
order False, True, then numbers, then text by code point; a pandas categorical or a polars Enum declares its
categories, used or not. *Missing cells* (None, NaN, NA, NaT, null) are holes, never a state.

Columns declared as continuous are kept as they are, in double precision and without states. They stand behind the
others, and whatever counts refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data import checks, frames
from pgm.data.columns import CodeArray, Factorised, code_column, column_of_numbers, continuous_column
from pgm.data.counting import Counting
from pgm.data.counts import FamilyCounter
from pgm.errors import DataError
from pgm.factors.factor import Names
from pgm.factors.variable import Variable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Dataset"]


class Dataset(Counting):
    """A table of observations: rows times variables, discrete ones and continuous ones.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, a dict of columns, a 2-D array with ``names``, or another `Dataset`.
    states
        Labels of some columns, in the order wanted; they may go beyond the data. A set has no order and is refused.
    weights
        One non-negative number for each row, or the name of the column that holds them.
    names
        Column names of a 2-D array.
    variables
        Variables that declare the states of the columns of their names, as an alternative to ``states``.
    columns
        The columns to read, in this order (a set: in that of the data); the others are not looked at. Default: all.
    continuous
        Columns of measurements, which have no states; None is none.

    Raises
    ------
    DataError
        For columns of different lengths, repeated names, no columns, a value outside the declared states, a column
        that looks continuous without being declared so, a continuous one with what is no finite number, or bad weights.
    UnknownNameError
        If ``states``, ``variables``, ``columns``, ``continuous`` or ``weights`` name a column that does not exist.

    Notes
    -----
    Costs one hash or look-up per cell, and one byte per cell in memory. A number column without fractions has
    integer labels, also where a hole made it a column of floats; numbers with fractions must be cut into intervals
    first, have their states declared, or be declared as continuous.

    Rows go by position: the index of a pandas series, as a column or as ``weights``, is not looked at.

    Data sets are values: equal if they have equal variables in the same order, the same cells and the same weights.

    Examples
    --------
    >>> data = Dataset({"rain": ["no", "yes", None], "dose": [1, 0, 1]}, states={"rain": ["yes", "no"]})
    >>> data
    Dataset(3 rows, 2 variables)
      rain: 2 states 'yes', 'no'; 1 missing
      dose: 2 states 0, 1
    >>> data.codes("rain"), data.missing("rain")
    (array([1, 0, 2], dtype=uint8), array([False, False,  True]))
    """

    __slots__ = (
        "_codes",
        "_counter",
        "_index",
        "_missing",
        "_numbers",
        "level_offsets",
        "n_rows",
        "variables",
        "weights",
    )

    variables: tuple[Variable, ...]
    n_rows: int
    weights: NDArray[np.float64] | None
    """Weight of each row, or None where every row counts once."""
    level_offsets: tuple[int, ...]
    """Where the states of each variable begin when those of all variables stand side by side; then their number."""
    _codes: tuple[CodeArray, ...]
    _missing: tuple[NDArray[np.bool_] | None, ...]
    _numbers: dict[str, NDArray[np.float64]]
    _index: dict[str, int]
    _counter: FamilyCounter | None

    def __init__(
        self,
        data: object,
        *,
        states: frames.States | None = None,
        weights: str | ArrayLike | None = None,
        names: Sequence[str] | None = None,
        variables: Iterable[Variable] | None = None,
        columns: Names | None = None,
        continuous: Names | None = (),
    ) -> None:
        table: dict[str, Any]
        kept: tuple[str, ...] = ()
        if isinstance(data, Dataset) and names is None:
            table = dict(zip(data.names, map(Factorised.of_codes, data.variables, data._codes), strict=True))
            table |= data._numbers
            kept = data.continuous
            weights = data.weights if weights is None else weights
        else:
            table = frames.read_columns(data, names)
        declared = frames.declared_variables(table, states, variables)
        measured = {
            name: None
            for given in (kept, continuous)
            for name in frames.declared_continuous(given, table, declared, weights)
        }
        if isinstance(weights, str):
            checks.check_known([weights], table)
            weights = column_of_numbers(weights, table.pop(weights))
        chosen = checks.chosen_columns(columns, table)
        if not chosen:
            raise DataError("a data set needs at least one column")
        coded = [code_column(name, table[name], declared.get(name)) for name in chosen if name not in measured]
        numbers = {name: continuous_column(name, table[name]) for name in chosen if name in measured}
        self._fill([variable for variable, _ in coded], [codes for _, codes in coded], weights, numbers)

    @classmethod
    def from_codes(
        cls,
        variables: Iterable[Variable],
        codes: NDArray[Any] | Sequence[NDArray[Any]],
        weights: ArrayLike | None = None,
        continuous: Mapping[str, ArrayLike] | None = None,
    ) -> Dataset:
        """Return the data set with these codes, without looking at any label.

        Parameters
        ----------
        variables
            The variables, with different names.
        codes
            An array (rows, variables), or one array of codes for each variable: positions of states in declared
            order, the cardinality for a missing cell. They are copied unless nobody else can write to them.
        weights
            One non-negative number for each row.
        continuous
            The continuous columns by name, NaN where a cell is missing.

        Examples
        --------
        >>> x = Variable("x", ["no", "yes"])
        >>> Dataset.from_codes([x], np.array([[1], [0], [2]])).to_dict()
        {'x': ['yes', 'no', None]}
        """
        dataset = cls.__new__(cls)
        numbers = {name: continuous_column(name, np.array(column)) for name, column in (continuous or {}).items()}
        dataset._fill(tuple(checks.in_order(variables, "the variables")), codes, weights, numbers)
        return dataset

    def _fill(
        self,
        variables: Sequence[Variable],
        codes: NDArray[Any] | Sequence[NDArray[Any]],
        weights: ArrayLike | None,
        numbers: dict[str, NDArray[np.float64]],
    ) -> None:
        """Set the attributes, once."""
        columns = checks.checked_codes(variables, codes)
        n_rows = checks.common_length({v.name: c for v, c in zip(variables, columns, strict=True)}, numbers)
        holes = [column == variable.cardinality for variable, column in zip(variables, columns, strict=True)]
        for hole in holes:
            hole.setflags(write=False)
        set_once = super().__setattr__
        set_once("variables", tuple(variables))
        set_once("n_rows", n_rows)
        set_once("weights", None if weights is None else checks.checked_weights(weights, n_rows))
        set_once("_codes", columns)
        set_once("_missing", tuple(hole if hole.any() else None for hole in holes))
        set_once("_index", {variable.name: position for position, variable in enumerate(variables)})
        set_once("level_offsets", (0, *accumulate(variable.cardinality for variable in variables)))
        set_once("_numbers", numbers)
        set_once("_counter", None)

    # ------------------------------------------------------------------ what is in it

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the discrete variables, in column order."""
        return tuple(self._index)

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of the continuous columns, in their order."""
        return tuple(self._numbers)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of all columns, the discrete ones first."""
        return (*self._index, *self._numbers)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a continuous column, read-only, NaN where the cell is missing.

        Raises
        ------
        UnknownNameError
            If there is no such continuous column.

        Examples
        --------
        >>> Dataset({"height": [1.62, None]}, continuous=["height"]).numbers("height")
        array([1.62,  nan])
        """
        checks.check_known([name], self._numbers, "no continuous column")
        return self._numbers[name]

    def variable(self, name: str) -> Variable:
        """Return the variable called ``name``."""
        return self.variables[self._position(name)]

    @property
    def total_weight(self) -> float:
        """Sum of the row weights, the N of every score; without weights the number of rows."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def codes(self, name: str) -> CodeArray:
        """Return the codes of a column, read-only: positions of states, the cardinality where the cell is missing."""
        return self._codes[self._position(name)]

    def missing(self, name: str) -> NDArray[np.bool_] | None:
        """Return which cells of a column are missing, or None if none are."""
        if name in self.continuous:
            hole: NDArray[np.bool_] = np.isnan(self._numbers[name])
            return hole if hole.any() else None
        return self._missing[self._position(name)]

    @property
    def n_missing(self) -> dict[str, int]:
        """Number of missing cells of each variable."""
        holes = {
            name: 0 if hole is None else int(np.count_nonzero(hole))
            for name, hole in zip(self.names, self._missing, strict=True)
        }
        return holes | {name: int(np.isnan(column).sum()) for name, column in self._numbers.items()}

    @property
    def has_missing(self) -> bool:
        """Whether any cell is missing."""
        return any(hole is not None for hole in self._holes)

    @property
    def _holes(self) -> list[NDArray[np.bool_] | None]:
        """Which cells are missing, of each column; None where none are."""
        unknown = [np.isnan(column) for column in self._numbers.values()]
        return [*self._missing, *(hole if hole.any() else None for hole in unknown)]

    def require_complete(self, names: Names | None = None) -> None:
        """Raise if cells of these columns (default: of any column) are missing.

        Raises
        ------
        MissingDataError
            Says how many cells are missing in which columns.
        """
        counts = self.n_missing
        checks.check_complete({name: counts[name] for name in checks.chosen_columns(names, self._columns)}, self.n_rows)

    # ------------------------------------------------------------------ parts

    def select(self, names: Names) -> Dataset:
        """Return the data set with these columns only, in this order; a set of names keeps their present order."""
        wanted = checks.chosen_columns(names, self._columns)
        chosen = [self._index[name] for name in wanted if name in self._index]
        return Dataset.from_codes(
            [self.variables[position] for position in chosen],
            [self._codes[position] for position in chosen],
            self.weights,
            {name: self._numbers[name] for name in wanted if name in self._numbers},
        )

    def take(self, rows: slice | ArrayLike) -> Dataset:
        """Return the data set with these rows: a slice, row numbers, or one boolean for each row.

        Raises
        ------
        DataError
            For a row that does not exist, another number of booleans than rows, and what is none of the three.

        Examples
        --------
        >>> Dataset({"x": ["a", "b", "c"]}).take([2, 0]).to_dict()
        {'x': ['c', 'a']}
        """
        index = checks.checked_rows(rows, self.n_rows)
        weights = None if self.weights is None else self.weights[index]
        numbers = {name: column[index] for name, column in self._numbers.items()}
        return Dataset.from_codes(self.variables, [column[index] for column in self._codes], weights, numbers)

    def head(self, n: int = 5) -> Dataset:
        """Return the first ``n`` rows."""
        return self.take(slice(0, n))

    def complete_rows(self) -> Dataset:
        """Return the rows in which no cell is missing.

        >>> Dataset({"x": [1, None, 0], "y": ["a", "b", "a"]}).complete_rows().to_dict()
        {'x': [1, 0], 'y': ['a', 'a']}
        """
        holes = [hole for hole in self._holes if hole is not None]
        return self.take(~np.logical_or.reduce(holes)) if holes else self

    def chunks(self, size: int) -> Iterator[Dataset]:
        """Iterate over consecutive rows, at most ``size`` of them at a time."""
        if not isinstance(size, int) or size < 1:
            raise DataError(f"a chunk has at least one row, not {size!r}")
        for start in range(0, self.n_rows, size):
            yield self.take(slice(start, start + size))

    def __len__(self) -> int:
        return self.n_rows

    # ------------------------------------------------------------------ conversion (pgm.data.frames)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return labels and numbers as ``{name: list}``, None where a cell is missing, without the row weights."""
        return frames.to_dict(self.variables, self._codes, self._numbers)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame of categoricals whose categories are the states; the row weights are not in it."""
        return frames.to_pandas(self.variables, self._codes, self._numbers)

    def to_polars(self) -> pl.DataFrame:
        """Return a polars frame, an Enum where the states are text; the row weights are not in it."""
        return frames.to_polars(self.variables, self._codes, self._numbers)

    def to_arrow(self) -> pa.Table:
        """Return a pyarrow table of ordered dictionaries of the states; the row weights are not in it."""
        return frames.to_arrow(self.variables, self._codes, self._numbers)

    # ------------------------------------------------------------------ an immutable value

    def _position(self, name: str) -> int:
        checks.check_discrete([name], self._numbers)
        checks.check_known([name], self._index)
        return self._index[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        same_weights = self.weights is other.weights or (
            self.weights is not None and other.weights is not None and np.array_equal(self.weights, other.weights)
        )
        same_numbers = self.continuous == other.continuous and all(
            np.array_equal(column, other._numbers[name], equal_nan=True) for name, column in self._numbers.items()
        )
        same_codes = self.variables == other.variables and all(map(np.array_equal, self._codes, other._codes))
        return same_weights and same_codes and same_numbers

    def __hash__(self) -> int:
        return hash((self.variables, self.n_rows))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a Dataset is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a Dataset is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset.from_codes, (self.variables, self._codes, self.weights, self._numbers)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else f", total weight {self.total_weight:g}"
        size = f"{checks.counted(self.n_rows, 'row')}, {checks.counted(len(self._columns), 'variable')}"
        lines = [f"Dataset({size}{weighted})", *frames.describe(self.variables, self.n_missing, self._numbers)]
        return "\n  ".join(lines)
