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


@pytest.mark.parametrize(("text", "fault"), [
    ("", "line 1: .*no header"),
    ("a,b\n1,2\n1,2,3\n", "line 3: 3 cells, but the header has 2"),
    ("a,b\n1\n", "line 2: 1 cells"),
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
