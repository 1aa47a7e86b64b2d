"""Reading comma-separated values with the standard library: a header line, then one observation per line."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.data.checks import check_known, counted
from pgm.data.columns import Factorised, code_column, column_of_numbers
from pgm.data.dataset import Dataset
from pgm.data.frames import States, declared_continuous, declared_variables
from pgm.errors import DataError, FormatError
from pgm.factors.factor import Names
from pgm.factors.variable import Label, Variable

if TYPE_CHECKING:
    import _csv

__all__ = ["read_csv"]

_GZIP = b"\x1f\x8b"
"""How a gzip file begins."""

_BLOCK = 1 << 16
"""Bytes that are read at a time; what is made of them should stay in the cache."""

_BYTE = 256
"""Number of codes of one byte."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_MEASURED = re.compile(r" *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *")
"""How a number may be written in a column that is known to hold numbers."""


def read_csv(
    path: str | PathLike[str],
    *,
    states: States | None = None,
    weights: str | ArrayLike | None = None,
    continuous: Names | None = (),
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
    continuous
        Columns of measurements, which have no states: decimal numbers such as ``7``, ``-0.5`` or ``1.5e-3``.
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
        If two declared states of a column are the same text, such as 1 and "1", or a cell of a continuous column is no
        number; and see `Dataset`.
    OSError
        If the file cannot be opened.

    Notes
    -----
    A column becomes integers if every cell is written as one, ``7`` but not ``07``; a column of decimal numbers is
    read as numbers, and then refused unless it is declared; all else is text, also TRUE and FALSE. Blank lines are
    skipped, unless there is only one column. The file is read once, in blocks: memory is a few bytes for each cell, and
    the distinct texts of each column. Costs a quarter of a microsecond for each cell.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "weather.csv"
    >>> _ = file.write_text("rain,dose\nno,1\nyes,NA\n")
    >>> read_csv(file)
    Dataset(2 rows, 2 variables)
      rain: 2 states 'no', 'yes'
      dose: 1 state 1; 1 missing
    >>> read_csv(file, continuous=["dose"]).numbers("dose")
    array([ 1., nan])
    """
    marks = _marks(missing)
    try:
        table = _Table(_text_blocks(Path(path)), delimiter)
        header = table.header
        declared = declared_variables(header, states, None)
        measured = declared_continuous(continuous, header, declared, weights)
        check_known([weights] if isinstance(weights, str) else [], header)
        columns = {name: _Column() for name in header}
        for block in table.blocks():
            for column, cells in zip(columns.values(), block, strict=True):
                column.append(cells)
    except FormatError as error:
        error.args = (f"{fspath(path)}: {error}",)
        raise
    if isinstance(weights, str):
        weights = column_of_numbers(weights, columns.pop(weights).factorised(marks, None))
    numbers = {name: columns.pop(name).numbers(name, marks) for name in header if name in measured}
    variables, codes = [], []
    for name in list(columns):
        known = declared.get(name)
        variable, column_codes = code_column(name, columns.pop(name).factorised(marks, known), known)
        variables.append(variable)
        codes.append(column_codes)
    return Dataset.from_codes(variables, codes, weights, numbers)


def _text_blocks(path: Path) -> Iterator[str]:
    """Iterate over the text of a file, many whole lines at a time; it is decompressed if it is gzip."""
    n_lines = 0
    with path.open("rb") as raw:
        packed = raw.peek(len(_GZIP)).startswith(_GZIP)
        file = gzip.GzipFile(fileobj=raw) if packed else raw
        while block := _whole_lines(file):
            try:
                yield (block if n_lines else block.removeprefix(codecs.BOM_UTF8)).decode()
            except UnicodeDecodeError as error:
                line = n_lines + error.object.count(b"\n", 0, error.start) + 1
                raise FormatError(f"byte 0x{error.object[error.start]:02x} is not UTF-8 text", line) from None
            n_lines += block.count(b"\n")


def _whole_lines(file: gzip.GzipFile | io.BufferedReader) -> bytes:
    """Return the next lines of a file, about `_BLOCK` bytes, or nothing at its end."""
    try:
        return file.read(_BLOCK) + file.readline()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"the gzip file is damaged: {error}") from None


class _Table:
    """A header and blocks of rows. Text without quotes is split at once, all else is left to the csv module."""

    def __init__(self, texts: Iterator[str], delimiter: str) -> None:
        self._texts = texts
        self._delimiter = delimiter
        self._n_lines = 0  # read so far, but for those of the present reader
        self._pending = io.StringIO("", newline="")  # text that was taken and not yet read
        self._pending_size = 0
        reader = self._reader()
        header = self._next_row(reader)
        self._n_lines = reader.line_num
        if not header:
            raise FormatError("there is no header line of column names", line=1)
        if "" in header:
            raise FormatError(f"column {header.index('') + 1} has no name", line=1)
        if len(set(header)) < len(header):
            repeated = next(name for name in header if header.count(name) > 1)
            raise DataError(f"the column name {repeated!r} occurs twice")
        self.header = header

    def blocks(self) -> Iterator[Sequence[Sequence[str]]]:
        """Iterate over the rows, many at a time, as columns of cells."""
        width = len(self.header)
        while text := self._pending.read() or next(self._texts, ""):
            cells = self._split(text)
            if cells is not None:
                self._n_lines += text.count("\n")
                yield [cells[position::width] for position in range(width)]
                continue
            self._take(text)
            rows = list(self._rows())
            if rows:
                yield list(zip(*rows, strict=True))

    def _split(self, text: str) -> list[str] | None:
        """Return the cells row by row, or None if there are quotes, or blank or ragged lines."""
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        if '"' in text or "\r" in text:
            return None
        text = text.removesuffix("\n")
        delimiters = set(map(str.count, text.split("\n"), repeat(self._delimiter)))
        if delimiters != {len(self.header) - 1}:
            return None
        return text.replace("\n", self._delimiter).split(self._delimiter)

    def _rows(self) -> Iterator[list[str]]:
        """Iterate over the pending rows; if a cell goes on in the next text, over those of that text too."""
        reader, width = self._reader(), len(self.header)
        while self._pending.tell() < self._pending_size:
            row = self._next_row(reader)
            if len(row) == width:
                yield row
            elif not row and width == 1:
                yield [""]
            elif row:
                line = self._n_lines + reader.line_num
                raise FormatError(f"{counted(len(row), 'cell')}, but the header has {width}", line=line)
        self._n_lines += reader.line_num

    def _reader(self) -> _csv.Reader:
        import csv

        try:
            return csv.reader(self._lines(), delimiter=self._delimiter, strict=True)
        except (TypeError, ValueError):
            raise DataError(f"a delimiter is one character, not {self._delimiter!r}") from None

    def _next_row(self, reader: _csv.Reader) -> list[str]:
        """Return the next row, empty if the line is or there is none."""
        import csv

        try:
            return next(reader, [])
        except csv.Error as error:
            raise FormatError(str(error), line=self._n_lines + reader.line_num) from None

    def _lines(self) -> Iterator[str]:
        """Iterate over the lines of the pending text, and of all further texts."""
        yield from iter(self._pending.readline, "")
        for text in self._texts:
            self._take(text)
            yield from iter(self._pending.readline, "")

    def _take(self, text: str) -> None:
        self._pending, self._pending_size = io.StringIO(text, newline=""), len(text)


def _marks(missing: object) -> frozenset[str]:
    """Return the texts that stand for a missing cell."""
    marks: list[str] = []
    for mark in missing if isinstance(missing, Iterable) and not isinstance(missing, str) else [missing]:
        if not isinstance(mark, str):
            raise DataError(f"missing cells are given as they are written, such as '-1', or [] for none, not {mark!r}")
        marks.append(mark)
    return frozenset(marks)


class _Column:
    """The cells of one column: small codes, and each text once."""

    def __init__(self) -> None:
        self._places: defaultdict[str, int] = defaultdict(count().__next__)
        self._first = bytearray()  # codes, as long as one byte holds them
        self._later: list[NDArray[np.uint32]] = []

    def append(self, cells: Sequence[str]) -> None:
        """Add cells at the end."""
        places = map(self._places.__getitem__, cells)
        if len(self._places) <= _BYTE:
            try:
                self._first += bytes(places)  # three times as fast as fromiter
                return
            except ValueError:  # a text too many
                places = map(self._places.__getitem__, cells)
        self._later.append(np.fromiter(places, np.uint32, len(cells)))

    def factorised(self, missing: frozenset[str], declared: Variable | None) -> Factorised:
        """Return the column; its labels are integers, other numbers, or text, whichever all cells allow."""
        by_text = {} if declared is None else _by_text(declared)
        missing -= by_text.keys()  # a declared label is a label
        texts = [text for text in self._places if text not in missing]
        labels: list[Label]
        if declared is not None:
            labels = [by_text.get(text, text) for text in texts]
        elif all(map(_WHOLE.fullmatch, texts)):
            labels = [int(text) for text in texts]
        elif all(map(_DECIMAL.fullmatch, texts)):
            labels = [float(text) for text in texts]
        else:
            labels = [*texts]
        number = count()
        positions = np.array([-1 if text in missing else next(number) for text in self._places], np.intp)
        return Factorised(labels, positions[self._codes()], declared=False)

    def numbers(self, name: str, missing: frozenset[str]) -> NDArray[np.float64]:
        """Return the column as numbers, NaN where a cell is missing; another cell that is no number is refused."""
        codes = self._codes()
        found = np.full(len(self._places), np.nan)
        for place, text in enumerate(self._places):
            if text in missing:
                continue
            if not _MEASURED.fullmatch(text):
                row = int(np.argmax(codes == place))
                raise DataError(f"column {name!r}, row {row} (counting from 0): {text!r} is no number")
            found[place] = float(text)
        by_row: NDArray[np.float64] = found[codes]
        return by_row

    def _codes(self) -> NDArray[Any]:
        return np.concatenate([np.frombuffer(self._first, np.uint8), *self._later])


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
