"""Matrices of counts, dense or sparse: read and checked once, and multiplied as they are.

A text has few of all the words there are, so a sparse matrix is never made dense. A dense one is taken a few rows at a
time: they stay in the cache while they are compared with a threshold, converted to float64 and multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_array, validate_data

from pgm.classifiers.common.reading import feature_columns
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.data import Dataset
from pgm.errors import DataError, MissingDataError
from pgm.factors.variable import is_missing

__all__ = ["CountMatrix", "check_bits", "check_numbers", "feature_names", "read_matrix"]

_BLOCK = 1 << 16
"""Cells that are taken at once: half a megabyte."""


class CountMatrix(NamedTuple):
    """Rows of counts; with a threshold rows of events, 1 where a cell is above it and 0 elsewhere.

    Examples
    --------
    >>> rows = CountMatrix(np.array([[2, 0, 1], [0, 0, 3]]), threshold=0.0)
    >>> rows.sums(np.eye(2)), rows.times(np.array([[1.0], [10.0], [100.0]]))
    (array([[1., 0., 1.],
           [0., 0., 1.]]), array([[101.],
           [100.]]))
    """

    cells: Any
    """A 2-D array, or a sparse matrix in CSR or CSC form."""
    threshold: float | None = None

    @classmethod
    def of_events(cls, cells: Any, threshold: float) -> CountMatrix:
        """Return the events that cells are above a threshold.

        Raises
        ------
        DataError
            If the threshold is negative and the matrix sparse: every cell that is not stored would be an event.
        """
        if not issparse(cells):
            return cls(cells, threshold)
        if threshold < 0:
            raise DataError(f"threshold={threshold}: a sparse matrix has cells of 0, which must not be above it")
        cells = _in_order(cells)
        above = (cells.data > threshold).astype(np.float64)
        return cls(type(cells)((above, cells.indices, cells.indptr), shape=cells.shape))

    def sums(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sums of the rows, shape (k, features), for weights of shape (rows, k)."""
        if issparse(self.cells):
            return np.asarray((self.cells.T @ weights).T)
        total = np.zeros((weights.shape[1], self.cells.shape[1]))
        for rows, block in self._blocks():
            total += weights[rows].T @ block
        return total

    def times(self, table: FloatArray) -> FloatArray:
        """Return the matrix product with a table of shape (features, k), shape (rows, k)."""
        if issparse(self.cells):
            return np.asarray(self.cells @ table)
        product = np.empty((self.cells.shape[0], table.shape[1]))
        for rows, block in self._blocks():
            np.matmul(block, table, out=product[rows])
        return product

    def take(self, rows: NDArray[np.intp]) -> CountMatrix:
        """Return some of the rows."""
        return CountMatrix(self.cells[rows], self.threshold)

    def sparse_blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows, some at a time, as sparse matrices in CSR form."""
        if issparse(self.cells):
            yield slice(None), _in_order(self.cells).tocsr()
        else:
            for rows, block in self._blocks():
                yield rows, csr_array(block)

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield all rows, some at a time, as numbers."""
        size = max(1, _BLOCK // self.cells.shape[1])
        for start in range(0, self.cells.shape[0], size):
            block = self.cells[start : start + size]
            events = block if self.threshold is None else block > self.threshold
            yield slice(start, start + size), events.astype(np.float64, copy=False)


# ------------------------------------------------------------------ reading


def read_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as a 2-D array of numbers or as a sparse matrix in CSR or CSC form, without a copy where it is one.

    Parameters
    ----------
    estimator
        Remembers names and number of the features in ``fit`` and is compared with afterwards.
    X
        A sparse matrix, a frame of pandas, polars or pyarrow, a dict of columns, a `Dataset`, or whatever makes a 2-D
        array.
    reset
        Whether this is ``fit``.

    Raises
    ------
    DataError
        If a cell holds no number; names column and row.
    """
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        raise MissingDataError("a masked cell is missing, but counts must all be known")
    if isinstance(X, (Dataset, Mapping)) and not issparse(X):  # some sparse matrices are dicts
        columns = feature_columns(estimator, X.to_dict() if isinstance(X, Dataset) else X, reset=reset)
        arrays = [np.asarray(column, getattr(column, "dtype", object)) for column in columns.values()]
        cells = np.stack(arrays, axis=1, dtype=None if all(a.dtype.kind in "biuf" for a in arrays) else object)
        X = check_array(cells, dtype=None, ensure_all_finite=False, estimator=estimator)
    else:
        X = validate_data(estimator, X, reset=reset, accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False)
    return X if X.dtype.kind in "biuf" else _numbers(estimator, X)


def _numbers(estimator: Any, X: Any) -> FloatArray:
    """Return an array of objects as one of floats; text is refused even if it spells a number."""
    if X.dtype.kind != "O" or issparse(X):
        raise DataError(f"features must be numbers, not of type {X.dtype}: {np.asarray(X[:1, :1]).ravel().tolist()}")
    for is_wrong in (lambda cell: isinstance(cell, (str, bytes)), is_missing):
        _refuse(estimator, X, np.frompyfunc(is_wrong, 1, 1), "a number is needed")
    return np.asarray(X.astype(np.float64))


def _in_order(cells: Any) -> Any:
    """Return a sparse matrix in which every cell is stored at most once, in order; an array as it is."""
    if not issparse(cells) or cells.has_canonical_format:
        return cells
    cells = cells.tocsc() if cells.format == "csr" else cells.tocsr()  # orders in linear time
    cells.sum_duplicates()
    return cells


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features, x0, x1 and so on if they came without."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{number}" for number in range(estimator.n_features_in_)] if names is None else [str(n) for n in names]


# ------------------------------------------------------------------ checking


def check_numbers(estimator: Any, cells: Any, *, negative: bool) -> None:
    """Raise an error that names column and row if a cell is missing, infinite, or negative where it must not be."""
    values = cells.data if issparse(cells) else cells
    whole = values.dtype.kind in "biu"
    if (whole and negative) or _are_counts(values):
        return
    if not whole:
        _refuse(estimator, cells, lambda values: ~np.isfinite(values), "a finite number is needed")
    if not negative:
        _refuse(estimator, cells, lambda values: values < 0, "counts must be at least 0. Negative values in data")


def _are_counts(values: NDArray[Any]) -> bool:
    """Return whether all numbers are finite and at least 0, as far as a single look can tell.

    The bits of numbers from 0 on, read as unsigned, have the same order; those of NaN and of negative ones are above.
    """
    kind, size = values.dtype.kind, values.itemsize
    if kind in "bu" or not values.size:
        return True
    if not values.dtype.isnative or size > np.dtype(np.uint64).itemsize:
        return False
    least_wrong = np.array(np.inf, values.dtype) if kind == "f" else np.array(np.iinfo(values.dtype).min, values.dtype)
    return bool(values.view(f"u{size}").max() < least_wrong.view(f"u{size}"))


def check_bits(estimator: Any, cells: Any) -> None:
    """Raise an error that names column and row if a cell is neither 0 nor 1."""
    if cells.dtype.kind != "b":
        _refuse(
            estimator,
            cells,
            lambda values: (values != 0) & (values != 1),
            "with threshold=None features must be 0 or 1",
        )


def _refuse(estimator: Any, cells: Any, is_wrong: Callable[[Any], Any], why: str) -> None:
    """Raise an error for the first cell that is wrong, if there is one."""
    cells = _in_order(cells)
    wrong = np.asarray(is_wrong(cells.data if issparse(cells) else cells), bool)
    if not wrong.any():
        return
    if issparse(cells):
        stored = cells.tocoo()
        place = wrong.argmax()
        row, column, value = int(stored.row[place]), int(stored.col[place]), stored.data[place]
    else:
        row, column = divmod(int(wrong.argmax()), cells.shape[1])
        value = cells[row, column]
    where = f"column {feature_names(estimator)[column]!r}, row {row} (counting from 0)"
    if is_missing(value):
        raise MissingDataError(f"{where}: the cell is missing (NaN or None); {why}")
    raise DataError(f"{where} holds {value.item() if isinstance(value, np.generic) else value!r}; {why}")
