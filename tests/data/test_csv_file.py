"""Reading CSV files."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import tracemalloc

import pytest

from pgm.data import Dataset, csv_file, read_csv
from pgm.errors import DataError, FormatError, UnknownNameError
from tests.data.bundled import table


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_columns_get_their_types(write, name):
    text = (
        '\ufeffwhole,text,code,logical,hole\r\n2,"a, b",07,TRUE,0\r\n10,c,7,FALSE,\r\n-1,"say ""x""",7,TRUE,1\r\n\r\n'
    )
    data = read_csv(write(text, name))
    assert data.to_dict() == {
        "whole": [2, 10, -1],
        "text": ["a, b", "c", 'say "x"'],
        "code": ["07", "7", "7"],
        "logical": ["TRUE", "FALSE", "TRUE"],
        "hole": [0, None, 1],
    }
    assert data.variable("whole").states == (-1, 2, 10)


def test_missing_cells_are_a_choice(write):
    path = write("x,y\nNA,?\nNone,b\nNaN,\n")
    assert read_csv(path).to_dict() == {"x": [None, "None", None], "y": ["?", "b", None]}
    assert read_csv(path, missing=["?"]).to_dict() == {"x": ["NA", "None", "NaN"], "y": [None, "b", ""]}


def test_one_column_may_have_blank_cells(write):
    assert read_csv(write("x\n1\n\n0\n")).to_dict() == {"x": [1, None, 0]}


def test_numbers(write):
    assert read_csv(write("x\n1.0\n0.0\nNA\n")).to_dict() == {"x": [1, 0, None]}
    assert read_csv(write("x\n99999999999999999999\n1\n")).variable("x").states == (1, 99999999999999999999)
    with pytest.raises(DataError, match=r"'x' .*continuous"):
        read_csv(write("x\n1.5\n-2e-3\n"))


def test_columns_of_measurements(write):
    path = write('s,x,y,w\na,1.5,3,1\nb,,4,2\na," 2.5e0 ",NA,1\nb,-.5,+07.,0\na,0,1E-3,1\n')
    data = read_csv(path, continuous=["y", "x"], weights="w")
    assert data.names == ("s",) and data.continuous == ("x", "y")
    assert data.numbers("x").tolist() == pytest.approx([1.5, math.nan, 2.5, -0.5, 0.0], nan_ok=True)
    assert data.numbers("y").tolist() == pytest.approx([3.0, 4.0, math.nan, 7.0, 0.001], nan_ok=True)
    assert data.weights.tolist() == [1, 2, 1, 0, 1]
    columns = {"s": list("ababa"), "x": [1.5, None, 2.5, -0.5, 0], "y": [3, 4, None, 7, 0.001]}
    assert data == Dataset(columns, continuous=["x", "y"], weights=[1, 2, 1, 0, 1])
    assert read_csv(write("x\n1.5\n-9\n"), continuous="x", missing="-9").to_dict() == {"x": [1.5, None]}
    assert read_csv(write("x,s\n"), continuous="x", states={"s": ["a"]}).n_rows == 0
    assert read_csv(write("x\n1\n2\n"), continuous=None).names == ("x",)
    many = [i / 7 for i in range(2000)]  # more texts than one byte tells apart
    assert read_csv(write("x\n" + "\n".join(map(repr, many)) + "\n"), continuous="x").numbers("x").tolist() == many


@pytest.mark.parametrize("cell", ["abc", "inf", "nan", "1_000", "0x10", "True", "1.5.2", "--1", "1e", "", "١"])
def test_cells_that_are_no_measurements(write, cell):
    path = write(f"s,x\na,1\nb,{cell}\nc,{cell}\n")
    with pytest.raises(DataError, match=rf"column 'x', row 1 \(counting from 0\): '{re.escape(cell)}' is no number"):
        read_csv(path, continuous=["x"], missing="NA")


def test_declarations_of_measurements_that_are_refused(write):
    path = write("s,x\na,1e400\nb,2\n")
    with pytest.raises(DataError, match="column 'x', row 0 .*inf is not finite"):
        read_csv(path, continuous=["x"])
    with pytest.raises(UnknownNameError, match="declared as continuous, but there is no column 'z'"):
        read_csv(path, continuous=["z"])
    with pytest.raises(DataError, match="'x' cannot be continuous and have states"):
        read_csv(path, continuous=["x"], states={"x": [1, 2]})
    with pytest.raises(DataError, match="'x' cannot be continuous and the weights"):
        read_csv(path, continuous=["x"], weights="x")
    with pytest.raises(DataError, match="continuous columns are declared by their names, not by 3"):
        read_csv(path, continuous=3)


def test_declared_states_are_found_by_their_text(write):
    path = write("dose,wet,n\n0.5,True,3\n2,False,0.25\n", "t.csv")
    data = read_csv(path, states={"dose": [2, 0.5, 1], "wet": [True, False]}, weights="n")
    assert [data.codes(name).tolist() for name in data.names] == [[1, 0], [0, 1]]
    assert data.weights.tolist() == [3, 0.25]
    with pytest.raises(DataError, match=r"'dose', row 1.*'2'"):
        read_csv(path, states={"dose": [0.5, 1]})


def test_a_declared_label_is_never_missing(write):
    path = write("a,b\nNA,NA\nyes,x\n,y\n")
    data = read_csv(path, states={"a": ["NA", "yes"]})
    assert data.to_dict() == {"a": ["NA", "yes", None], "b": [None, "x", "y"]}
    assert read_csv(path, states={"a": ["yes", "", "NA"]}).to_dict()["a"] == ["NA", "yes", ""]


@pytest.mark.parametrize("states", [[1, "1"], ["0", 1, 0], [True, "True"], ["0.5", 0.5]])
def test_declared_labels_of_the_same_text_are_ambiguous(write, states):
    with pytest.raises(DataError, match=r"declared states .* and .* of 'a' are the same text"):
        read_csv(write("a\n1\n"), states={"a": states})


def test_states_have_an_order(write):
    with pytest.raises(DataError, match=r"states of 'a' must be in order"):
        read_csv(write("a\n1\n"), states={"a": {1, 2}})


def test_a_single_mark_is_a_list_of_marks(write):
    path = write("a\nN\nA\nNA\n")
    assert read_csv(path, missing="NA") == read_csv(path, missing={"NA"})
    assert read_csv(path, missing="NA").to_dict() == {"a": ["N", "A", None]}
    assert read_csv(path, missing=[]).to_dict() == {"a": ["N", "A", "NA"]}


@pytest.mark.parametrize("missing", [None, -1, ["", -1], [["NA"]]])
def test_missing_cells_are_given_as_text(write, missing):
    with pytest.raises(DataError, match="as they are written"):
        read_csv(write("a\n-1\n"), missing=missing)


@pytest.mark.parametrize("delimiter", ["", ";;", "\n\n", 3])
def test_bad_delimiters(write, delimiter):
    with pytest.raises(DataError, match="a delimiter is one character"):
        read_csv(write("a;b\n1;2\n"), delimiter=delimiter)


def test_gzip_is_known_by_its_content(write, tmp_path):
    write("a\n1\n", "packed.gz").rename(tmp_path / "packed.csv")
    assert read_csv(str(tmp_path / "packed.csv")) == read_csv(write("a\n1\n")) == read_csv(write("a\n1\n", "t.csv.gz"))
    (tmp_path / "plain.csv.gz").write_text("a\n1\n")
    assert read_csv(tmp_path / "plain.csv.gz") == read_csv(write("a\n1\n"))


LATIN = "a,b\n1,2\n3,caf\xe9\n".encode("latin-1")
PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 1000, mtime=0)


@pytest.mark.parametrize(("content", "fault"), [
    (LATIN, "line 3: byte 0xe9 is not UTF-8 text"),
    (gzip.compress(LATIN, mtime=0), "line 3: byte 0xe9 is not UTF-8 text"),
    ("a,b\n1,2\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8 text"),
    (PACKED[:-20], "the gzip file is damaged"),
    (PACKED[:5], "the gzip file is damaged"),
    (PACKED[:-8] + b"12345678", "the gzip file is damaged"),
    (PACKED[:20] + b"garbage" + PACKED[27:], "the gzip file is damaged"),
    (PACKED + b"garbage", "the gzip file is damaged"),
])  # fmt: skip
def test_files_that_are_no_text_are_named(tmp_path, content, fault):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"data.csv: {fault}"):
        read_csv(path)


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_csv(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(("text", "fault"), [
    ("", "table.csv: line 1: .*no header"),
    ("a,b\n1,2\n1,2,3\n", "line 3: 3 cells, but the header has 2"),
    ("a,b\n1\n", "line 2: 1 cell, but the header has 2"),
    ('a,b\n1,"2\n', "line 2"),
])  # fmt: skip
def test_broken_files_name_the_line(write, text, fault):
    with pytest.raises(FormatError, match=fault):
        read_csv(write(text))


def test_bad_names(write):
    with pytest.raises(DataError, match=r"'a' occurs twice"):
        read_csv(write("a,b,a\n1,2,3\n"))
    with pytest.raises(UnknownNameError, match=r"'c'.*'a', 'b'"):
        read_csv(write("a,b\n1,2\n"), states={"c": [1]})
    with pytest.raises(UnknownNameError, match=r"'n'"):
        read_csv(write("a,b\n1,2\n"), weights="n")
    with pytest.raises(FormatError, match=r"line 1: column 2"):
        read_csv(write("a,\n1,2\n"))


def test_no_rows(write):
    assert len(read_csv(write("a,b\n"), states={"a": [0], "b": ["x"]})) == 0


def test_the_bundled_tables():
    shapes = {"learning.test": (5000, 6), "lizards": (409, 3), "insurance": (20_000, 27), "hailfinder": (20_000, 56)}
    for name, shape in shapes.items():
        data = table(name)
        assert (len(data), len(data.variables)) == shape
        assert not data.has_missing, "None is a state in these tables"
    assert table("insurance").variable("Accident").states == ("Mild", "Moderate", "None", "Severe")


# ---------------------------------------------------------------- reading in blocks

HARD = {
    "plain": "x,y\n" + "1,b\n0,c\n" * 9,
    "carriage returns": "x,y\r\n" + "1,b\r\n0,c\r\n" * 9,
    "old line ends": "x,y\r" + "1,b\r0,c\r" * 9,
    "no last line end": "x,y\n" + "1,b\n" * 9 + "0,c",
    "blank lines": "x,y\n\n" + "1,b\n\n\n0,c\n" * 9 + "\n\n",
    "quotes": 'x,y\n1,b\n1,b\n1,b\n"1","b"\n0,"c, d"\n1,"say ""x"""\n' + "1,b\n" * 9,
    "line breaks in cells": 'x,y\n1,b\n0,"\n\n,\nlonger than one block\n"\n1,c\n' * 9,
    "line breaks in names": '"x\n","\ny"\n' + "1,b\n0,c\n" * 9,
    "quotes within": 'x,y\n1,b"b\n0,c\n' * 9,
    "one column": "x\n" + "1\n\n0\n" * 9 + "\n",
    "long lines": "x,y\n" + f"1,{'b' * 99}\n0,c\n" * 9,
    "two bytes": "\ufeffx,y\n" + "1,é\n0,ß\n" * 9,
    "only a header": "x,y",
}


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 18])
@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_blocks_of_any_size_give_the_same_cells(write, monkeypatch, text, size):
    """Every cell, against the csv module on the whole text."""
    monkeypatch.setattr(csv_file, "_BLOCK", size)
    header, *rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    rows = [row or [""] for row in rows if row or len(header) == 1]
    expected = {name: [row[position] for row in rows] for position, name in enumerate(header)}
    known = {name: [*dict.fromkeys(column), "unseen"] for name, column in expected.items()}
    assert read_csv(write(text), states=known).to_dict() == expected
    assert read_csv(write(text, "t.csv.gz"), states=known).to_dict() == expected


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 18])
@pytest.mark.parametrize(("text", "fault"), [
    ("a,b\n" + "1,2\n" * 20 + "1,2,3\n", "line 22: 3 cells"),
    ("a,b\r\n" + "1,2\r\n" * 20 + "1\r\n", "line 22: 1 cell,"),
    ('a,b\n1,"\n\n\n"\n\n1,2\n1,2\n1\n', "line 9: 1 cell,"),
    ('a,b\n1,2\n1,"2"\n1,"2"3\n', "line 4: .*expected after"),
    ("a,b\n1,2\n" * 9 + '1,"2\n' + "1,2\n" * 9, "line 28: unexpected end of data"),
])  # fmt: skip
def test_lines_at_fault_are_counted_across_blocks(write, monkeypatch, text, fault, size):
    monkeypatch.setattr(csv_file, "_BLOCK", size)
    with pytest.raises(FormatError, match=f"table.csv: {fault}"):
        read_csv(write(text))


def test_bytes_at_fault_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "_BLOCK", 7)
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 20 + LATIN)
    with pytest.raises(FormatError, match="line 24: byte 0xe9"):
        read_csv(path)


def test_columns_of_many_texts(write, monkeypatch):
    monkeypatch.setattr(csv_file, "_BLOCK", 1000)
    numbers = [*range(200), *range(150, 400), *range(300, -1, -1)]
    data = read_csv(write("x,y\n" + "".join(f"{n},t{n % 300}\n" for n in numbers)))
    assert data.to_dict() == {"x": numbers, "y": [f"t{n % 300}" for n in numbers]}


@pytest.mark.parametrize("cell", ["b", '"b"'])
def test_reading_takes_little_memory(write, cell):
    """20 columns of 20,000 rows are 0.4 MB of codes; as text they would be over 3 MB in pointers alone."""
    path = write(",".join(f"x{i}" for i in range(20)) + "\n" + (",".join([cell] * 20) + "\n") * 20_000)
    tracemalloc.start()
    data = read_csv(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data) == 20_000
    assert peak < 10 * 2**20
