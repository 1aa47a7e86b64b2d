"""Continuous columns of a `Dataset`: read from anywhere, kept by everything, counted by nothing."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, MissingDataError, UnknownNameError

COLUMNS = {"sex": ["f", "m", None, "m"], "height": [1.62, None, 1.75, 1.8], "n": [1, 2, 3, 4]}


def hybrid() -> Dataset:
    return Dataset(COLUMNS, continuous=["height", "n"])


def test_what_is_in_it():
    data = hybrid()
    assert data.names == ("sex",) and data.continuous == ("height", "n") and data.n_rows == 4
    assert data.numbers("height").dtype == np.float64
    assert data.numbers("height").tolist() == pytest.approx([1.62, math.nan, 1.75, 1.8], nan_ok=True)
    assert data.numbers("n").tolist() == [1, 2, 3, 4]
    assert data.n_missing == {"sex": 1, "height": 1, "n": 0} and data.has_missing
    assert repr(data).splitlines() == [
        "Dataset(4 rows, 3 variables)",
        "  sex: 2 states 'f', 'm'; 1 missing",
        "  height: continuous, 1.62 to 1.8; 1 missing",
        "  n: continuous, 1 to 4",
    ]
    with pytest.raises(ValueError, match="read-only"):
        data.numbers("n")[0] = 0
    with pytest.raises(UnknownNameError, match="no continuous column 'sex'; the columns are 'height', 'n'"):
        data.numbers("sex")


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dict", "dataset"])
def test_it_comes_from_anywhere_and_goes_back(library):
    data = hybrid()
    if library == "dataset":
        frame = data
    elif library == "dict":
        frame = data.to_dict()
        assert frame["height"] == [1.62, None, 1.75, 1.8]
    else:
        pytest.importorskip({"arrow": "pyarrow"}.get(library, library))
        frame = getattr(data, f"to_{library}")()
    assert Dataset(frame, continuous=["height", "n"]) == data
    if library == "dataset":
        assert Dataset(frame) == data


def test_arrays_masks_and_other_numbers():
    masked = np.ma.array([1.5, 2.5], mask=[False, True])
    assert Dataset({"x": masked}, continuous="x").n_missing == {"x": 1}
    array = np.array([[0, 1.5], [1, 2.5]])
    assert Dataset(array, names=["a", "x"], continuous=["x"]).numbers("x").tolist() == [1.5, 2.5]
    given = np.array([1.5, 2.5])
    kept = Dataset({"x": given}, continuous=["x"])
    given[0] = 9
    assert kept.numbers("x")[0] == 1.5
    pandas = pytest.importorskip("pandas")
    nullable = pandas.DataFrame({"x": pandas.array([1, None, 3], dtype="Int64")})
    assert Dataset(nullable, continuous=["x"]).numbers("x").tolist() == pytest.approx([1, math.nan, 3], nan_ok=True)
    coded = Dataset({"x": [3, 1, 3]})
    assert Dataset(coded, continuous=["x"]).numbers("x").tolist() == [3, 1, 3]


def test_parts_keep_them():
    data = Dataset({**COLUMNS, "w": [1, 2, 3, 4]}, continuous=["height", "n"], weights="w")
    assert data.take([3, 0]).to_dict() == {"sex": ["m", "f"], "height": [1.8, 1.62], "n": [4, 1]}
    assert data.select(["n"]).to_dict() == {"n": [1, 2, 3, 4]} and data.select(["n"]).n_rows == 4
    assert data.select({"n", "sex"}).continuous == ("n",)
    assert data.head(2).n_rows == 2 and len(data.select("height").take([])) == 0
    assert data.complete_rows().to_dict() == {"sex": ["f", "m"], "height": [1.62, 1.8], "n": [1, 4]}
    assert data.complete_rows().weights.tolist() == [1, 4]
    assert [part.numbers("n").tolist() for part in data.chunks(3)] == [[1, 2, 3], [4]]
    assert pickle.loads(pickle.dumps(data)) == data == copy.deepcopy(data) and hash(data) == hash(copy.copy(data))
    assert data != Dataset({**COLUMNS, "w": [1, 2, 3, 4]}, continuous=["height"], weights="w")
    assert hybrid() != Dataset({**COLUMNS, "n": [1, 2, 3, 5]}, continuous=["height", "n"])
    with pytest.raises(MissingDataError, match=r"height \(1 of 4\)"):
        data.require_complete("height")
    data.require_complete(["n"])


def test_counting_refuses_them_by_name():
    data = hybrid()
    for count in [
        lambda: data.count([("height", ["sex"])]),
        lambda: data.count([("sex", ["height"])]),
        lambda: data.count_occupied(["sex", "height"]),
        lambda: data.count_extensions("sex"),
        data.count_pairs,
        lambda: data.codes("height"),
        lambda: pgm.table_support(pgm.DAG([("sex", "height")]), data),
        lambda: pgm.exact_search(data),
        lambda: pgm.tree_augmented(data, "sex"),
        lambda: pgm.bootstrap(data),
        lambda: data.variable("height"),
        lambda: pgm.hill_climb(data),
        lambda: pgm.learn_structure(data),
        lambda: pgm.pc(data),
        lambda: pgm.chow_liu(data),
        lambda: pgm.mutual_information(data, "sex", "height"),
        lambda: pgm.independence_test(data, "sex", "height"),
    ]:
        with pytest.raises(DataError, match="'height'.* continuous"):
            count()
    assert data.missing("height").tolist() == [False, True, False, False] and data.missing("n") is None
    patterns = {pattern.missing: pattern.n_rows for pattern in pgm.missing_patterns(data).patterns}
    assert patterns == {(): 2, ("sex",): 1, ("height",): 1}
    complete = data.complete_rows()
    assert complete.count([("sex", [])])[0].tolist() == [1, 1]
    assert pgm.hill_climb(complete.select("sex")).dag.nodes == ("sex",)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, math.inf], "column 'x', row 1 .counting from 0.: inf is not finite"),
        (np.array([-math.inf, 1.0]), "row 0 .counting from 0.: -inf is not finite"),
        (np.array(["1", "1e400"], np.longdouble), "row 1 .counting from 0.: inf is not finite"),
        (["a", "b"], "must hold numbers, not 'a', 'b'"),
        ([True, False], "holds booleans"),
        (np.array([True, False]), "holds booleans"),
        ([10**400, 1], "beyond the range of floats"),
        ([[1.0], [2.0]], "not hashable"),
    ],
)
def test_columns_that_are_no_measurements(column, message):
    with pytest.raises(DataError, match=message):
        Dataset({"x": column}, continuous=["x"])


@pytest.mark.parametrize("name", ["z", ["height"], 3, None])
def test_columns_that_do_not_exist(name):
    data = hybrid()
    for ask in [data.variable, data.codes, data.missing]:
        with pytest.raises(UnknownNameError, match="no column .*; the columns are 'sex'"):
            ask(name)


def test_declarations_that_are_refused():
    with pytest.raises(UnknownNameError, match="declared as continuous, but there is no column 'z'"):
        Dataset(COLUMNS, continuous=["z"])
    with pytest.raises(DataError, match="'n' cannot be continuous and have states"):
        Dataset(COLUMNS, continuous=["n"], states={"n": [1, 2, 3, 4]})
    with pytest.raises(DataError, match=r"looks continuous.*continuous=\['height'\]"):
        Dataset(COLUMNS)
    for given in [3, True, 2.5]:
        with pytest.raises(DataError, match=f"continuous columns are declared by their names, not by {given!r}"):
            Dataset(COLUMNS, continuous=given)
    with pytest.raises(DataError, match="'n' cannot be continuous and the weights: declare one or the other"):
        Dataset(COLUMNS, continuous=["height", "n"], weights="n")
    with pytest.raises(DataError, match="'height' cannot be continuous and have states"):
        Dataset(hybrid(), states={"height": [1.62, 1.75, 1.8]})
    assert Dataset({"x": [1, 2]}, continuous=None) == Dataset({"x": [1, 2]})
    assert Dataset(hybrid(), continuous=None) == hybrid()
    sex = pgm.Variable("sex", ["f", "m"])
    with pytest.raises(DataError, match="has 1 row, but 'sex' has 2"):
        Dataset.from_codes([sex], [np.array([0, 1])], continuous={"x": [1.0]})
    with pytest.raises(DataError, match="different names"):
        Dataset.from_codes([sex], [np.array([0, 1])], continuous={"sex": [1.0, 2.0]})
    with pytest.raises(DataError, match="different names"):
        Dataset.from_codes([], [])
    assert Dataset.from_codes([], [], continuous={"x": [1.0, 2.0]}).n_rows == 2
