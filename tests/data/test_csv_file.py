"""Reading CSV files."""

from __future__ import annotations

import gzip

import pytest

from pgm.data import read_csv
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
    (gzip.compress(LATIN), "line 3: byte 0xe9 is not UTF-8 text"),
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
