"""What users hand to a classifier, as codes: features, classes and weights, checked once at the border."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from pgm.data import Dataset
from pgm.data.checks import checked_weights
from pgm.data.columns import CodeArray, Factorised, code_column, factorise
from pgm.data.frames import read_columns
from pgm.errors import DataError, MissingDataError, UnknownNameError, UnknownStateError, listing
from pgm.factors.variable import Label, Variable, is_missing

__all__ = [
    "Codes",
    "States",
    "TrainingRows",
    "check_lengths",
    "class_codes",
    "class_labels",
    "code_features",
    "code_training_features",
    "feature_columns",
    "has_holes",
    "row_weights",
    "target_name",
    "unused_name",
]

_COPIED = 1 << 28
"""Arrays of at most so many bytes are copied, so that columns are read without gaps: three times as fast."""

_ROWS = 1024
"""Rows that are copied at a time."""

Codes: TypeAlias = Sequence[CodeArray]
"""One array of codes for each feature; the cardinality stands for a missing cell."""

States: TypeAlias = Mapping[str, Sequence[Label]]
"""Declared states of some features, by name."""


class TrainingRows(NamedTuple):
    """Coded rows to learn from."""

    codes: Codes
    """Of the features that have states."""
    labels: NDArray[np.intp]
    """Code of the class of each row; the number of classes where it is missing."""
    weights: NDArray[np.float64] | None
    """Weight of each row; None where every row counts once."""
    numbers: NDArray[np.float64] | None
    """Continuous features that are not cut into intervals, shape (rows, features), NaN where a cell is missing."""

    def part(self, rows: NDArray[Any]) -> TrainingRows:
        """Return some of the rows."""
        return TrainingRows(
            [column[rows] for column in self.codes],
            self.labels[rows],
            None if self.weights is None else self.weights[rows],
            None if self.numbers is None else self.numbers[rows],
        )


def check_lengths(columns: Mapping[str, Any], rows: int) -> None:
    """Raise `ValueError`, as scikit-learn does, if columns have not as many rows as there are classes."""
    for name, column in columns.items():
        size = len(column.positions) if isinstance(column, Factorised) else len(column)
        if size != rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {size} rows (column {name!r}), y has {rows}"
            )


def has_holes(rows: TrainingRows, variables: Sequence[Variable]) -> bool:
    """Return whether a cell of a feature is missing."""
    holes = any((codes == variable.cardinality).any() for variable, codes in zip(variables, rows.codes, strict=True))
    return holes or (rows.numbers is not None and bool(np.isnan(rows.numbers).any()))


def feature_columns(estimator: Any, X: Any, *, reset: bool) -> dict[str, Any]:
    """Return the columns of ``X`` by name, with scikit-learn's checks of their number and names.

    Parameters
    ----------
    estimator
        Remembers names and number of the features in ``fit`` and is compared with afterwards.
    X
        A frame of pandas, polars or pyarrow, a dict of columns, a `Dataset`, or whatever makes a 2-D array, whose
        columns are called x0, x1 and so on.
    reset
        Whether this is ``fit``.
    """
    if isinstance(X, (Dataset, Mapping)) and not issparse(X):  # some sparse matrices are dicts
        return _named(estimator, X, reset)
    if isinstance(X, np.ma.MaskedArray):
        holes, X = np.ma.getmaskarray(X), np.ma.getdata(X).astype(np.float64 if X.dtype.kind == "f" else object)
        X[holes] = np.nan if X.dtype.kind == "f" else None
    elif isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":  # NumPy turns numbers and holes into text
        X = np.array(X, dtype=object)
    if (not hasattr(X, "__dataframe__") and not hasattr(X, "__arrow_c_stream__")) or getattr(X, "ndim", 2) != 2:
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if isinstance(X, np.ndarray):
        return ArrayColumns(X)
    if hasattr(X, "iloc") and not all(isinstance(name, str) for name in X.columns):  # pandas with numbered columns
        return {f"x{number}": X.iloc[:, number] for number in range(X.shape[1])}
    columns = read_columns(X)
    if not columns:
        raise DataError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return columns


class ArrayColumns(dict[str, Any]):
    """The columns of an array, by the names x0, x1 and so on."""

    def __init__(self, array: NDArray[Any]) -> None:
        super().__init__((f"x{number}", column) for number, column in enumerate(_columns(array)))
        self.array = array
        """All of them as they came, shape (rows, columns)."""


def _columns(X: NDArray[Any]) -> NDArray[Any]:
    """Return the columns of an array as rows, without gaps in memory if these are whole numbers, which are counted."""
    if X.dtype.kind not in "biu" or X.nbytes > _COPIED or X.T.flags.c_contiguous:
        return X.T
    columns = np.empty(X.shape[::-1], X.dtype)
    for start in range(0, len(X), _ROWS):
        columns[:, start : start + _ROWS] = X[start : start + _ROWS].T
    return columns


def _named(estimator: Any, X: Dataset | Mapping[str, Any], reset: bool) -> dict[str, Any]:
    if isinstance(X, Dataset):
        columns: dict[str, Any] = {
            variable.name: Factorised.of_codes(variable, X.codes(variable.name)) for variable in X.variables
        }
        columns |= {name: X.numbers(name) for name in X.continuous}
    else:
        columns = read_columns(X)
    names = list(columns)
    if not names:
        raise DataError("a classifier needs at least one feature")
    if reset:
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.array(names, dtype=object)
        return columns
    known = [str(name) for name in estimator.feature_names_in_]
    absent = [name for name in known if name not in columns]
    if absent:
        raise UnknownNameError(f"no column {listing(absent)}; the features were {listing(known)}")
    if len(names) > len(known):
        raise UnknownNameError(f"unknown columns {listing([name for name in names if name not in known])}")
    return {name: columns[name] for name in known}


def code_training_features(
    columns: Mapping[str, Any], states: States | None, kept: NDArray[np.bool_] | None
) -> tuple[tuple[Variable, ...], list[CodeArray]]:
    """Return the features as variables, and the codes of the rows that are ``kept`` (None: all).

    Rows that are not kept lend no state to a feature: they are as good as absent.
    """
    declared = {name: Variable(name, labels) for name, labels in (states or {}).items()}
    unknown = [name for name in declared if name not in columns]
    if unknown:
        raise UnknownNameError(f"states are declared for {listing(unknown)}; the features are {listing(columns)}")
    factorised = {name: _part(_factorised(name, column), kept) for name, column in columns.items()}
    for name, column in factorised.items():
        if name not in declared and not column.declared:
            _check_no_fractions(name, column.labels)
    coded = [code_column(name, column, declared.get(name)) for name, column in factorised.items()]
    return tuple(variable for variable, _ in coded), [codes for _, codes in coded]


def _check_no_fractions(name: str, labels: Sequence[Label]) -> None:
    for label in labels:
        if isinstance(label, (float, np.floating)) and label % 1 != 0:
            raise DataError(
                f"column {name!r} holds {label} and looks continuous: cut it into intervals by "
                "discretizer=pgm.MDLPDiscretizer() or scikit-learn's KBinsDiscretizer(encode='ordinal'), declare its "
                "states, or leave it out of categorical="
            )


def code_features(
    columns: Mapping[str, Any], variables: Sequence[Variable], unseen: str, kept: NDArray[np.bool_] | None = None
) -> list[CodeArray]:
    """Return the codes of columns whose variables are known.

    Raises
    ------
    DataError
        For a value that its variable does not have, unless ``unseen`` is "missing".
    """
    codes = []
    for variable, (name, column) in zip(variables, columns.items(), strict=True):
        factorised = _part(_factorised(name, column), kept)
        if unseen == "missing":
            factorised = _seen(factorised, variable)
        codes.append(code_column(name, factorised, variable)[1])
    return codes


def _factorised(name: str, column: Any) -> Factorised:
    return column if isinstance(column, Factorised) else factorise(name, column)


def _part(column: Factorised, kept: NDArray[np.bool_] | None) -> Factorised:
    """Return some rows of a column; labels that no longer occur are left out unless they are declared."""
    if kept is None:
        return column
    positions = column.positions[kept]
    if column.declared:
        return Factorised(column.labels, positions, declared=True)
    occurring = np.unique(positions[positions >= 0])
    places = np.full(len(column.labels) + 1, -1, np.intp)  # the last stands for a hole
    places[occurring] = np.arange(len(occurring))
    return Factorised([column.labels[position] for position in occurring], places[positions], declared=False)


def _seen(column: Factorised, variable: Variable) -> Factorised:
    """Return a column in which values that the variable does not have are missing."""
    places = np.array([place if label in variable else -1 for place, label in enumerate(column.labels)] + [-1], np.intp)
    return Factorised(column.labels, places[column.positions], declared=column.declared)


def class_labels(estimator: Any, y: Any, *, incomplete: bool = False) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the classes of the rows whose class is known, and which rows these are (None: all).

    Parameters
    ----------
    estimator
        For messages.
    y
        The class of each row.
    incomplete
        Whether the class may be missing (None or NaN).

    Raises
    ------
    MissingDataError
        If a class is missing although it must not, or all are.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        y = y.tolist()  # None where the label is masked
    if isinstance(y, (list, tuple)) and len({type(label) for label in y}) > 1:
        y = np.array([*y, ()], object)[:-1]  # the last keeps NumPy from turning all labels into text
    labels: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    known = None
    if incomplete and labels.dtype.kind in "fO":
        known = np.array([not is_missing(label) for label in labels.tolist()], bool)
        if not known.any():
            raise MissingDataError("the class is missing in all rows: some must tell which classes there are")
        whole = labels.dtype.kind == "f" and not (labels[known] % 1).any()  # a hole has made floats of numbers
        labels = labels[known].astype(int) if whole else labels[known]
    if labels.dtype.kind == "O":
        holes = np.flatnonzero([is_missing(label) for label in labels])
        if len(holes):
            hint = " (em=True learns from such rows)" if "em" in estimator.get_params(deep=False) else ""
            raise MissingDataError(f"Input y contains NaN or None: the class of row {holes[0]} is missing{hint}")
        labels = _of_one_kind(labels)
    else:
        labels = check_array(labels, ensure_2d=False, dtype=None, ensure_min_samples=0, input_name="y")
    check_classification_targets(labels)
    return labels, None if known is None or known.all() else known


def _of_one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels that are objects as an array of their kind: text, booleans or numbers."""
    kinds = {
        "text" if isinstance(label, str) else "booleans" if isinstance(label, (bool, np.bool_)) else
        "numbers" if isinstance(label, Real) else "others"
        for label in labels.tolist()
    }  # fmt: skip
    if len(kinds) > 1:
        raise DataError(f"the classes are {' and '.join(sorted(kinds))} at once: they must be of one kind")
    return np.array(labels.tolist()) if kinds & {"booleans", "numbers"} else labels


def class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the sorted ``classes``."""
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    wrong = np.flatnonzero(classes[codes] != labels)
    if len(wrong):
        (label, *_) = labels[wrong].tolist()
        raise UnknownStateError(f"row {wrong[0]} has the class {label!r}; the classes are {listing(classes.tolist())}")
    return codes


def row_weights(sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    """Return the weight of each row, or None where every row counts once."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, np.float64)
    return checked_weights(np.full(rows, weights) if weights.ndim == 0 else weights, rows)


def target_name(y: Any, features: Container[str]) -> str:
    """Return the name of the class in the network: that of ``y`` if it has one, else "class"; no feature has it."""
    name = getattr(y, "name", None)
    return unused_name(name if isinstance(name, str) and name else "class", features)


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken, with underscores at the end if need be.

    >>> unused_name("class", ["age", "class"])
    'class_'
    """
    while name in taken:
        name += "_"
    return name
