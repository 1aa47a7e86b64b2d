"""Reading comma-separated values with the standard library: a header line, then one observation per line."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from pgm.data.checks import check_known, counted
from pgm.data.columns import Factorised, code_column, column_of_numbers
from pgm.data.dataset import Dataset
from pgm.data.frames import States, declared_variables
from pgm.errors import DataError, FormatError
from pgm.factors.variable import Label, Variable

__all__ = ["read_csv"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def read_csv(
    path: str | PathLike[str],
    *,
    states: States | None = None,
    weights: str | ArrayLike | None = None,
    missing: str | Iterable[str] = ("", "NA", "NaN"),
    delimiter: str = ",",
) -> Dataset:
    r"""Return the data set in a CSV file.

    Parameters
    ----------
    path
        The file: UTF-8 text, or such text compressed by gzip, which is recognised by its content.
    states
        Labels of some columns, in the order wanted; a cell is the label of the same text.
    weights
        One number for each row, or the name of the column that holds them.
    missing
        Cells that stand for "not observed", unless they are declared states of their column.
    delimiter
        What separates the cells, one character.

    Raises
    ------
    FormatError
        If the file is not UTF-8 text or a damaged gzip file, if there is no header, a column without a name, or a line
        with more or fewer cells than the header; the message has file and line.
    DataError
        If two declared states of a column are the same text, such as 1 and "1"; and see `Dataset`.
    OSError
        If the file cannot be opened.

    Notes
    -----
    A column becomes integers if every cell is written as one, ``7`` but not ``07``; a column of decimal numbers is
    read as numbers, and then treated like any other; all else is text, also TRUE and FALSE. Blank lines are skipped,
    unless there is only one column. Costs about a microsecond for each cell.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "weather.csv"
    >>> _ = file.write_text("rain,dose\nno,1\nyes,NA\n")
    >>> read_csv(file)
    Dataset(2 rows, 2 variables)
      rain: 2 states 'no', 'yes'
      dose: 1 state 1; 1 missing
    """
    try:
        header, columns = _table(_text(Path(path)), delimiter)
    except FormatError as error:
        error.args = (f"{fspath(path)}: {error}",)
        raise
    declared = declared_variables(header, states, None)
    check_known([weights] if isinstance(weights, str) else [], header)
    marks = _marks(missing)
    factorised = {
        name: _factorise(column, marks, declared.get(name)) for name, column in zip(header, columns, strict=True)
    }
    if len(factorised) < len(header):
        repeated = next(name for name in header if header.count(name) > 1)
        raise DataError(f"the column name {repeated!r} occurs twice")
    if isinstance(weights, str):
        weights = column_of_numbers(weights, factorised.pop(weights))
    coded = [code_column(name, column, declared.get(name)) for name, column in factorised.items()]
    return Dataset.from_codes([variable for variable, _ in coded], [codes for _, codes in coded], weights)


def _text(path: Path) -> str:
    """Return the text of a file, decompressed if it is gzip."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"the gzip file is damaged: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"byte 0x{data[error.start]:02x} is not UTF-8 text", line) from None


def _table(text: str, delimiter: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the header and the columns of cells."""
    import csv

    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except (TypeError, ValueError):
        raise DataError(f"a delimiter is one character, not {delimiter!r}") from None
    try:
        header = next(reader, None)
        if not header:
            raise FormatError("there is no header line of column names", line=1)
        if "" in header:
            raise FormatError(f"column {header.index('') + 1} has no name", line=1)
        return header, list(zip(*_rows(reader, len(header)), strict=True)) or [()] * len(header)
    except csv.Error as error:
        raise FormatError(str(error), line=reader.line_num) from None


def _marks(missing: object) -> frozenset[str]:
    """Return the texts that stand for a missing cell."""
    marks: list[str] = []
    for mark in missing if isinstance(missing, Iterable) and not isinstance(missing, str) else [missing]:
        if not isinstance(mark, str):
            raise DataError(f"missing cells are given as they are written, such as '-1', or [] for none, not {mark!r}")
        marks.append(mark)
    return frozenset(marks)


def _rows(reader: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Iterate over the rows, each of them with ``width`` cells."""
    for row in reader:
        if len(row) == width:
            yield row
        elif not row and width == 1:
            yield [""]
        elif row:
            line = reader.line_num  # type: ignore[attr-defined]
            raise FormatError(f"{counted(len(row), 'cell')}, but the header has {width}", line=line)


def _factorise(cells: tuple[str, ...], missing: frozenset[str], declared: Variable | None) -> Factorised:
    """Return one column factorised; its labels are integers, other numbers, or text, whichever all cells allow."""
    by_text = {} if declared is None else _by_text(declared)
    missing -= by_text.keys()  # a declared label is a label
    texts = [cell for cell in dict.fromkeys(cells) if cell not in missing]
    labels: list[Label]
    if declared is not None:
        labels = [by_text.get(text, text) for text in texts]
    elif all(map(_WHOLE.fullmatch, texts)):
        labels = [int(text) for text in texts]
    elif all(map(_DECIMAL.fullmatch, texts)):
        labels = [float(text) for text in texts]
    else:
        labels = [*texts]
    position = {text: number for number, text in enumerate(texts)} | dict.fromkeys(missing, -1)
    return Factorised(labels, np.fromiter(map(position.__getitem__, cells), np.intp, len(cells)), declared=False)


def _by_text(declared: Variable) -> dict[str, Label]:
    """Return the states by the text that stands for them in a file."""
    by_text: dict[str, Label] = {}
    for state in declared.states:
        text = str(state)
        if text in by_text:
            raise DataError(
                f"the declared states {by_text[text]!r} and {state!r} of {declared.name!r} are the same text in a CSV "
                f"file, {text!r}"
            )
        by_text[text] = state
    return by_text
