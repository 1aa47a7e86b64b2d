"""Data sets: what becomes a state, what is missing, and what is refused."""

from __future__ import annotations

import copy
import datetime
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgm.data import CountSource, Dataset, count_source
from pgm.errors import DataError, MissingDataError, TableError, UnknownNameError
from pgm.factors.variable import Variable

# ---------------------------------------------------------------- the same column in every encoding

INTEGERS_WITH_HOLES = {
    "lists": lambda x: {"x": x},
    "tuples": lambda x: {"x": tuple(x)},
    "object array": lambda x: {"x": np.array(x, dtype=object)},
    "float array": lambda x: {"x": np.array(x, dtype=float)},
    "masked array": lambda x: {"x": np.ma.array([0 if v is None else v for v in x], mask=[v is None for v in x])},
    "pandas float64": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="float64")}),
    "pandas Int64": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="Int64")}),
    "pandas object": lambda x: pd.DataFrame({"x": pd.Series(x, dtype=object)}),
    "pandas category": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="float64").astype("category")}),
    "pandas arrow": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="int64[pyarrow]")}),
    "polars": lambda x: pl.DataFrame({"x": x}),
    "polars float with NaN": lambda x: pl.DataFrame({"x": [float("nan") if v is None else v for v in x]}, strict=False),
    "polars lazy": lambda x: pl.LazyFrame({"x": x}),
    "arrow": lambda x: pa.table({"x": x}),
    "series": lambda x: {"x": pd.Series(x, dtype="Int64")},
    "polars series": lambda x: {"x": pl.Series(x)},
    "arrow array": lambda x: {"x": pa.array(x)},
    "arrow chunks": lambda x: {"x": pa.chunked_array([x[:3], x[3:]])},
    "data set": lambda x: Dataset({"x": x}),
}


@pytest.mark.parametrize("encode", INTEGERS_WITH_HOLES.values(), ids=INTEGERS_WITH_HOLES)
def test_a_hole_leaves_integers_integers(encode):  # pgmpy#2386
    data = Dataset(encode([0, 0, 1, 1, None, 1, 0, None]))
    assert data.variables == (Variable("x", [0, 1]),)
    assert [type(state) for state in data.variable("x").states] == [int, int]
    assert data.codes("x").tolist() == [0, 0, 1, 1, 2, 1, 0, 2]
    assert data.missing("x").tolist() == [False, False, False, False, True, False, False, True]
    assert data.n_missing == {"x": 2}
    assert data.to_dict() == {"x": [0, 0, 1, 1, None, 1, 0, None]}


LARGE_INTEGERS = {
    "masked array": lambda x: np.ma.array([v or 0 for v in x], mask=[v is None for v in x]),
    "pandas array": lambda x: pd.array(x, dtype="Int64"),
    "pandas index": lambda x: pd.Index(pd.array(x, dtype="Int64")),
    "pandas arrow array": lambda x: pd.array(x, dtype="int64[pyarrow]"),
    "polars series": pl.Series,
    "polars 128 bits": lambda x: pl.Series(x, dtype=pl.Int128),
    "arrow array": pa.array,
    "arrow chunks": lambda x: pa.chunked_array([x[:1], x[1:]]),
    "arrow dictionary": lambda x: pa.array(x).dictionary_encode(),
}


@pytest.mark.parametrize("encode", LARGE_INTEGERS.values(), ids=LARGE_INTEGERS)
def test_integers_that_floats_cannot_hold(encode):
    values = [2**53 + 1, None, 2**53, 1]
    data = Dataset({"x": encode(values)})
    assert data.to_dict() == {"x": values}
    assert data.variable("x").states == (1, 2**53, 2**53 + 1)


@pytest.mark.parametrize("values", [[2, None, 60_000, 1], [1.0, 0.0, 1.0, None]])
def test_half_precision(values):
    column = np.array(values, np.float16)
    for encoded in (column, pd.Series(column), pa.array(column)):
        assert Dataset({"x": encoded}).to_dict() == {"x": values}


def test_what_a_mask_hides_is_no_label():
    assert Dataset({"x": np.ma.array([0.5, 1.0, np.nan], mask=[1, 0, 0])}).to_dict() == {"x": [None, 1, None]}
    assert Dataset({"x": np.ma.array(["a", "b"], mask=[1, 0])}).variable("x").states == ("b",)
    day = datetime.datetime(2020, 1, 1)
    dates = np.ma.array(np.array([day, day], "M8[D]"), mask=[1, 0])
    assert Dataset({"x": dates}, states={"x": [day]}).to_dict() == {"x": [None, day]}
    table = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert Dataset(table, names=["a", "b"]).to_dict() == {"a": [1, 3], "b": [None, 4]}


TEXTS = {
    "lists": lambda x: {"x": x},
    "numpy text": lambda x: {"x": np.array(["" if v is None else v for v in x])},
    "pandas str": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="str")}),
    "pandas string": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="string")}),
    "pandas object": lambda x: pd.DataFrame({"x": pd.Series(x, dtype=object)}),
    "polars": lambda x: pl.DataFrame({"x": x}),
    "polars categorical": lambda x: pl.DataFrame({"x": pl.Series(x, dtype=pl.Categorical)}),
    "arrow": lambda x: pa.table({"x": x}),
    "arrow large": lambda x: pa.table({"x": pa.array(x, pa.large_string())}),
    "arrow dictionary": lambda x: pa.table({"x": pa.array(x).dictionary_encode()}),
}


@pytest.mark.parametrize("encode", TEXTS.values(), ids=TEXTS)
def test_text_is_sorted_by_code_point_and_keeps_its_holes(encode):
    values = ["b", "a", "ß", None, "Z", "b"] if encode is not TEXTS["numpy text"] else ["b", "a", "ß", "é", "Z", "b"]
    data = Dataset(encode(values))
    assert data.variable("x").states == tuple(sorted({value for value in values if value is not None}))
    assert data.to_dict()["x"] == values
    assert all(type(state) is str for state in data.variable("x").states)


BOOLEANS = {
    "lists": lambda x: {"x": x},
    "numpy": lambda x: {"x": np.array(x)},
    "numpy objects": lambda x: {"x": np.array([np.bool_(v) for v in x], dtype=object)},
    "pandas bool": lambda x: pd.DataFrame({"x": x}),
    "pandas boolean": lambda x: pd.DataFrame({"x": pd.Series(x, dtype="boolean")}),
    "polars": lambda x: pl.DataFrame({"x": x}),
    "arrow": lambda x: pa.table({"x": x}),
}


@pytest.mark.parametrize("encode", BOOLEANS.values(), ids=BOOLEANS)
def test_booleans_stay_booleans_and_only_those_seen_are_states(encode):
    data = Dataset(encode([True, True, False]))
    assert data.variable("x").states == (False, True)
    assert all(type(state) is bool for state in data.variable("x").states)
    assert Dataset(encode([True, True])).variable("x").states == (True,)


def test_missing_booleans():
    for column in (
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([True, None, False]),
        [True, None, False],
    ):
        assert Dataset({"x": column}).to_dict() == {"x": [True, None, False]}


def test_every_kind_of_missing_value():
    values = [
        "a",
        None,
        float("nan"),
        np.nan,
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "D"),
        "nan",
        "None",
        "",
    ]
    data = Dataset({"x": values})
    assert data.variable("x").states == ("", "None", "a", "nan")
    assert data.n_missing["x"] == 7


# ---------------------------------------------------------------- declared states


CATEGORICALS = {
    "pandas": lambda values, states: pd.DataFrame({"x": pd.Categorical(values, categories=states)}),
    "pandas ordered": lambda values, states: pd.DataFrame(
        {"x": pd.Categorical(values, categories=states, ordered=True)}
    ),
    "polars": lambda values, states: pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(states))}),
    "arrow": lambda values, states: pa.table(
        {"x": pa.DictionaryArray.from_arrays(pa.array([states.index(v) for v in values]), states, ordered=True)}
    ),
    "states": lambda values, states: Dataset({"x": values}, states={"x": states}),
    "variables": lambda values, states: Dataset({"x": values}, variables=[Variable("x", states)]),
}


BARE_CATEGORICALS = {
    "pandas": lambda values, states: pd.Categorical(values, categories=states),
    "pandas index": lambda values, states: pd.CategoricalIndex(values, categories=states),
    "polars": lambda values, states: pl.Series(values, dtype=pl.Enum(states)),
    "arrow": lambda values, states: pa.DictionaryArray.from_arrays(
        pa.array([states.index(v) for v in values]), states, ordered=True
    ),
    "arrow chunks": lambda values, states: pa.chunked_array([BARE_CATEGORICALS["arrow"](values, states)]),
}
CATEGORICALS |= {
    f"bare {name}": lambda values, states, encode=encode: {"x": encode(values, states)}
    for name, encode in BARE_CATEGORICALS.items()
}


@pytest.mark.parametrize("encode", CATEGORICALS.values(), ids=CATEGORICALS)
def test_declared_states_keep_their_order_and_need_not_occur(encode):  # causalnex#15
    states = ["hi", "lo", "mid", "never"]
    data = Dataset(encode(["lo", "mid", "hi", "lo"], states))
    assert data.variable("x").states == tuple(states)
    assert data.codes("x").tolist() == [1, 2, 0, 1]


def test_states_declared_for_a_categorical_replace_its_categories():
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b"], categories=["b", "unused", "a"])})
    assert Dataset(frame, states={"x": ["a", "b", "c"]}).codes("x").tolist() == [0, 1]


def test_declared_labels_are_matched_by_value_and_type():
    declared = {"x": [3, 1, 2, 4]}
    for column in ([1, 3.0, np.int8(2)], np.array([1.0, 3.0, 2.0]), pd.Series([1, 3, 2], dtype="uint16")):
        assert Dataset({"x": column}, states=declared).codes("x").tolist() == [1, 0, 2]
    assert Dataset({"x": [1, True, "1", True]}, states={"x": ["1", True, 1]}).codes("x").tolist() == [2, 1, 0, 1]


@pytest.mark.parametrize(("value", "shown"), [("x", "'x'"), (1.5, "1.5"), (True, "True"), ("3", "'3'"), (7, "7")])
def test_a_value_outside_the_states_names_column_value_and_row(value, shown):
    with pytest.raises(DataError, match=rf"'S', row 2 .*{shown}.*3, 1, 2"):
        Dataset({"S": [3, 1, value, value]}, states={"S": [3, 1, 2]})


def test_declarations_of_unknown_or_contradicting_columns():
    with pytest.raises(UnknownNameError, match=r"'z'.*'x', 'y'"):
        Dataset({"x": [1], "y": [2]}, states={"z": [1]})
    with pytest.raises(UnknownNameError, match=r"'z'"):
        Dataset({"x": [1]}, variables=[Variable("z", [1])])
    with pytest.raises(DataError, match=r"'x' are declared twice"):
        Dataset({"x": [1]}, states={"x": [1, 2]}, variables=[Variable("x", [2, 1])])
    with pytest.raises(TableError, match=r"twice"):
        Dataset({"x": [1]}, states={"x": [1, 1]})


def test_a_declaration_that_no_column_bears_names_every_one():
    frame = pd.DataFrame({"x": [0], "y": [1]})
    known = [Variable(name, [0, 1]) for name in "vxwy"]
    with pytest.raises(UnknownNameError, match=r"states are declared, but there is no column 'v', 'w'.* 'x', 'y'"):
        Dataset(frame, variables=known)


@pytest.mark.parametrize("declaration", [
    {"variables": ["x"]}, {"variables": 3}, {"variables": {"x"}}, {"states": ["x"]}, {"states": [("x", [0, 1])]},
])  # fmt: skip
def test_what_is_no_declaration(declaration):
    with pytest.raises(DataError, match=f"^{next(iter(declaration))} "):
        Dataset({"x": [0, 1]}, **declaration)


def test_a_single_variable_is_a_list_of_variables():
    assert Dataset({"x": [0]}, variables=Variable("x", [1, 0])).codes("x").tolist() == [1]


# ---------------------------------------------------------------- sets, whose order differs between processes

NAMES = ["delta", "alpha", "echo", "bravo", "charlie"]


@pytest.mark.parametrize("ask", [
    lambda s: Dataset({"x": ["alpha"]}, states={"x": s}),
    lambda s: Dataset({"x": ["alpha"]}, states={"x": frozenset(s)}),
    lambda s: Dataset(np.zeros((2, 5), int), names=s),
    lambda s: Dataset.from_codes({Variable(name, [0, 1]) for name in s}, np.zeros((2, 5), int)),
    lambda s: Dataset({name: [0] for name in [*s, "y"]}).count([("y", s)]),
    lambda s: Dataset({name: [0] for name in [*s, "y"]}).count({(name, ()) for name in s}),
    lambda s: Dataset({name: [0] for name in [*s, "y"]}).count_extensions("y", s),
])  # fmt: skip
def test_sets_are_refused_where_order_has_meaning(ask):
    with pytest.raises(DataError, match="in order.* a set has no order"):
        ask(set(NAMES))


def test_sets_of_columns_keep_the_order_of_the_data():
    data = Dataset({name: [0, 1] for name in NAMES})
    wanted = {"bravo", "delta", "echo"}
    assert Dataset({name: [0, 1] for name in NAMES}, columns=wanted).names == ("delta", "echo", "bravo")
    assert data.select(wanted) == data.select(frozenset(wanted)) == data.select(["delta", "echo", "bravo"])
    assert Dataset(data, variables={data.variable(name) for name in NAMES}) == data
    with pytest.raises(UnknownNameError, match="no column 'x', 'y'; the columns are 'delta'"):
        data.select({"y", "bravo", "x"})


# ---------------------------------------------------------------- labels of mixed and odd types


def test_labels_that_differ_stay_different():
    data = Dataset({"x": [1, True, "1", 0, False, "0", 1.0, np.int64(1)]})
    states = data.variable("x").states
    assert [(type(state), state) for state in states] == [
        (bool, False), (bool, True), (int, 0), (int, 1), (str, "0"), (str, "1")
    ]  # fmt: skip
    assert data.codes("x").tolist() == [3, 1, 5, 2, 0, 4, 3, 3]


def test_mixed_columns_after_a_long_uniform_beginning():
    values = [*(["1"] * 500), 1, True]
    for column in (values, pd.Series(values, dtype=object)):
        data = Dataset({"x": column})
        assert data.variable("x").states == (True, 1, "1")
        assert data.codes("x")[-3:].tolist() == [2, 1, 0]


def test_booleans_integers_and_text_side_by_side():  # pomegranate#362
    frame = pd.DataFrame({"Wet": [True, False], "Grade": [2, 1], "Street": ["A", "B"]})
    data = Dataset(frame)
    assert [variable.states for variable in data.variables] == [(False, True), (1, 2), ("A", "B")]
    assert data.variable("Wet").code(frame["Wet"].iloc[0]) == 1
    assert data.variable("Wet").code(np.bool_(False)) == 0
    assert "True" not in data.variable("Wet")


def test_row_order_does_not_change_the_states():
    values = ["b", 2, True, "a", 10, 9, False]
    assert Dataset({"x": values}).variables == Dataset({"x": values[::-1]}).variables


@pytest.mark.parametrize(
    "values", [[0.5, 1.0, 2.0], np.array([0.5, np.nan]), [1, "a", 0.25], [1.0, np.inf], [1e300], [Fraction(1, 2)]]
)
def test_numbers_with_fractions_must_be_declared(values):
    with pytest.raises(DataError, match=r"'dose' .*continuous"):
        Dataset({"dose": values})


def test_declared_fractions_are_labels_like_others():
    assert Dataset({"dose": [0.5, 2, 0.5]}, states={"dose": [0.5, 1, 2]}).codes("dose").tolist() == [0, 2, 0]


@pytest.mark.parametrize("column", [
    np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    pl.Series([datetime.date(2020, 1, 1), None]),
    [(1, 2), (3, 4)],
    [frozenset("a"), frozenset("b")],
])  # fmt: skip
def test_labels_without_an_order_of_their_own_must_be_declared(column):
    with pytest.raises(DataError, match=r"declare the states of 'when'"):
        Dataset({"when": column})


def test_dates_can_be_declared():
    days = [datetime.datetime(2020, 1, day) for day in (2, 1)]
    for column in (days, np.array(days, dtype="datetime64[ns]"), pd.Series(days), pl.Series(days)):
        assert Dataset({"day": column}, states={"day": days}).codes("day").tolist() == [0, 1]


def test_intervals_of_pandas_cut_are_states():
    frame = pd.DataFrame({"x": pd.cut([1.0, 5.5, 2.5], [0, 2, 4, 6])})
    data = Dataset(frame)
    assert data.codes("x").tolist() == [0, 2, 1]
    assert data.variable("x").states[1] == pd.Interval(2, 4)
    assert Dataset(data.to_pandas()).variables == data.variables


def test_unhashable_labels():
    with pytest.raises(DataError, match=r"'x' .*not hashable"):
        Dataset({"x": [[1], [2]]})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "int32"])
def test_extreme_integers(dtype):
    info = np.iinfo(dtype)
    values = np.array([info.max, info.min, info.max - 1, info.min + 1], dtype)
    data = Dataset({"x": values})
    assert data.variable("x").states == tuple(sorted(map(int, values)))
    assert data.to_dict()["x"] == values.tolist()


def test_many_states_take_wider_codes():
    for n_states, dtype in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        data = Dataset({"x": np.arange(n_states) * 1000, "y": [None, *map(str, range(n_states - 1))]})
        assert data.codes("x").dtype == dtype
        assert data.codes("x").tolist() == list(range(n_states))
        assert data.codes("y")[0] == n_states - 1


# ---------------------------------------------------------------- shapes and names


def test_arrays_need_names():
    array = np.array([[0, 1], [1, 1], [1, 0]])
    assert Dataset(array, names=["a", "b"]).to_dict() == {"a": [0, 1, 1], "b": [1, 1, 0]}
    objects = np.array([["x", 1], ["y", 2]], dtype=object)
    assert [v.states for v in Dataset(objects, names=["a", "b"]).variables] == [("x", "y"), (1, 2)]
    for names, fault in (
        (None, r"no column names: wrap it, pgm.Dataset\(array, names="),
        (["a"], "1 name for an array of 2 columns"),
        (["a", "a"], "'a' occurs twice"),
    ):
        with pytest.raises(DataError, match=fault):
            Dataset(array, names=names)
    with pytest.raises(DataError, match=r"two axes"):
        Dataset(np.zeros(3), names=["a"])
    for table in ({"a": [1]}, Dataset({"a": [1]})):
        with pytest.raises(DataError, match=r"names are for a 2-D array"):
            Dataset(table, names=["a"])
    with pytest.raises(DataError, match=r"chosen by their names, not by 3"):
        Dataset({"a": [1]}, columns=3)


@pytest.mark.parametrize(("data", "fault"), [
    ({}, "at least one column"),
    (pd.DataFrame(), "at least one column"),
    ({"a": [1, 2], "b": [1]}, "'b' has 1 row, but 'a' has 2"),
    ({"a": "text"}, "'a' must be a list"),
    ({"a": 3}, "'a' must be a list"),
    ({"a": {1, 2}}, "'a' must be a list"),
    ({"a": np.zeros((2, 2))}, "'a' must be a list"),
    ({0: [1]}, "text, not 0"),
    (pd.DataFrame({0: [1]}), "text, not 0"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' occurs twice"),
    (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "'a' occurs twice"),
    ([[1, 2], [3, 4]], "not list"),
    (pd.Series([1, 2]), "not Series"),
    (None, "not NoneType"),
    ({"a": []}, "'a' has no value"),
    ({"a": [None, None]}, "'a' has no value"),
    ({"a": pd.Categorical([None, None])}, "'a' has no value"),
    ({"a": pl.Series([None, None], dtype=pl.Enum([]))}, "'a' has no value"),
    ({"a": pa.table({"x": [1]})}, "'a' must be a list"),
])  # fmt: skip
def test_what_is_no_table(data, fault):
    with pytest.raises(DataError, match=fault):
        Dataset(data)


def test_no_rows_with_declared_states():
    data = Dataset({"x": []}, states={"x": ["a", "b"]})
    assert (len(data), data.total_weight, data.count([("x", [])])[0].tolist()) == (0, 0.0, [0, 0])


def test_columns_that_are_not_asked_for_are_not_looked_at():
    frame = pd.DataFrame({"y": [1, 0], "x": ["a", "b"], "height": [1.83, 1.72]})
    assert Dataset(frame, columns=["x", "y"]).names == ("x", "y")
    assert count_source(frame, ["y"]).variables == (Variable("y", [0, 1]),)
    with pytest.raises(UnknownNameError, match=r"'z'.*'y', 'x', 'height'"):
        Dataset(frame, columns=["z"])


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("convert", [
    list, tuple, np.array, np.ma.array, np.float16, pd.Series, pd.array, pl.Series, pa.array,
    lambda x: pa.chunked_array([x[:1], x[1:]]), lambda x: [Fraction(weight) for weight in x],
])  # fmt: skip
def test_weights_of_any_kind(convert):
    data = Dataset({"x": ["a", "b", "c"]}, weights=convert([0.5, 2.0, 0.0]))
    assert data.weights.tolist() == [0.5, 2.0, 0.0]
    assert data.total_weight == 2.5
    assert data.variable("x").states == ("a", "b", "c")


def test_weights_by_column_name():
    for frame in ({"x": [1, 2], "n": [3, 0.5]}, pd.DataFrame({"x": [1, 2], "n": [3, 0.5]})):
        data = Dataset(frame, weights="n")
        assert (data.names, data.weights.tolist()) == (("x",), [3.0, 0.5])
    with pytest.raises(UnknownNameError, match=r"'m'.*'x'"):
        Dataset({"x": [1]}, weights="m")


@pytest.mark.parametrize(("weights", "fault"), [
    ([1.0, -0.5], "row 1 .*-0.5"),
    ([np.nan, 1.0], "row 0 .*nan"),
    ([np.inf, 1.0], "row 0 .*inf"),
    ([1.0], "for 2 rows"),
    ([[1.0, 2.0]], "for 2 rows"),
    (["a", "b"], "one number for each row"),
    (1.0, "one number for each row, not 1.0"),
    (["1", "2"], "must hold numbers, not '1', '2'"),
    (np.array([1j, 1]), "must hold numbers, not 1j"),
    (np.array(["2020", "2021"], "M8[Y]"), "must hold numbers, not datetime"),
    (np.ma.array([1.0, 2.0], mask=[0, 1]), "row 1 .*nan"),
    (pa.array([None, 2]), "row 0 .*nan"),
    ([[1.0], [1.0, 2.0]], "one number for each row"),
    ([1e308, 1e308], "add up to infinity"),
    ([10**400, 1], "one number for each row"),
    ({1.0, 2.0}, "one number for each row"),
])  # fmt: skip
def test_bad_weights(weights, fault):
    with pytest.raises(DataError, match=fault):
        Dataset({"x": [0, 1]}, weights=weights)


@pytest.mark.parametrize("convert", [list, lambda x: pl.Series(x, dtype=pl.Int128)])
def test_weights_beyond_64_bits(convert):
    assert Dataset({"x": [0, 1]}, weights=convert([2**100, 1])).weights.tolist() == [2.0**100, 1.0]
    assert Dataset({"x": [0, 1], "n": convert([2**100, 1])}, weights="n").weights.tolist() == [2.0**100, 1.0]


def test_bad_columns_of_weights():
    with pytest.raises(DataError, match=r"'n' holds a number beyond the range of floats"):
        Dataset({"x": [1, 2], "n": [1, 10**400]}, weights="n")
    with pytest.raises(DataError, match=r"'n' must hold numbers, not 'many'"):
        Dataset({"x": [1], "n": ["many"]}, weights="n")
    with pytest.raises(DataError, match=r"row 1"):
        Dataset({"x": [1, 2], "n": [1, None]}, weights="n")


# ---------------------------------------------------------------- an immutable value


def test_nothing_can_be_changed():
    codes = np.array([[0], [1]], np.uint8)
    weights = np.array([1.0, 2.0])
    data = Dataset.from_codes([Variable("x", ["a", "b", "c"])], codes, weights)
    codes[0] = weights[0] = 1
    assert (data.codes("x").tolist(), data.weights.tolist()) == ([0, 1], [1.0, 2.0])
    for array in (
        data.codes("x"),
        data.weights,
        Dataset({"x": [0, None]}).missing("x"),
        Dataset({"x": [0]}).codes("x"),
    ):
        with pytest.raises(ValueError, match=r"read-only"):
            array[0] = 0
    with pytest.raises(AttributeError, match=r"immutable"):
        data.n_rows = 3
    with pytest.raises(AttributeError, match=r"immutable"):
        del data.weights


def test_a_view_that_cannot_be_written_is_copied():
    codes, weights = np.array([0, 1, 0], np.uint8), np.ones(3)
    views = codes.view(), weights.view()
    for view in views:
        view.setflags(write=False)
    data = Dataset.from_codes([Variable("x", [0, 1])], [views[0]], views[1])
    codes[0] = weights[0] = 7
    assert (data.codes("x").tolist(), data.weights.tolist()) == ([0, 1, 0], [1, 1, 1])
    assert data.select("x").codes("x") is data.codes("x"), "what nobody can write to is shared"


def test_copies_and_pickles():
    data = Dataset({"x": ["a", None, "b"]}, states={"x": ["b", "a", "c"]}, weights=[1, 2, 3])
    data.count_extensions("x") if not data.has_missing else None
    for other in (pickle.loads(pickle.dumps(data)), copy.copy(data), copy.deepcopy(data), Dataset(data)):
        assert other.variables == data.variables
        assert other.codes("x").tolist() == data.codes("x").tolist()
        assert other.weights.tolist() == [1, 2, 3]
        assert not other.codes("x").flags.writeable


def test_a_data_set_can_be_declared_anew():
    data = Dataset({"x": ["a", None, "b"]}, weights=[1, 2, 3])
    again = Dataset(data, states={"x": ["c", "b", "a"]})
    assert (again.to_dict(), again.codes("x").tolist()) == (data.to_dict(), [2, 3, 1])
    assert Dataset(data, weights=[1, 1, 1]).total_weight == 3


def test_equal_data_sets_have_the_same_variables_cells_and_weights():
    columns = {"x": ["a", None, "b"], "y": [1, 0, 1]}
    data = Dataset(columns)
    same = [Dataset(pd.DataFrame(columns)), Dataset(columns, states={"x": ["a", "b"]}), Dataset(data).take([0, 1, 2])]
    assert all(other == data and hash(other) == hash(data) for other in same)
    assert len({data, *same}) == 1
    different = [
        Dataset(columns, states={"x": ["b", "a"]}),
        Dataset(columns, weights=[1, 1, 2]),
        data.select(["y", "x"]),
        data.head(2),
        Dataset({"x": ["a", "b", "b"], "y": [1, 0, 1]}),
        Dataset({"x": ["a", None, "b"], "z": [1, 0, 1]}),
        columns,
    ]
    assert not any(other == data for other in different)
    assert Dataset(columns, weights=[1, 1, 2]) == Dataset(columns, weights=np.array([1.0, 1.0, 2.0]))
    assert Dataset(columns, weights=[1, 1, 2]) != Dataset(columns, weights=[2, 1, 1])
    assert pickle.loads(pickle.dumps(different[1])) == different[1]


@pytest.mark.parametrize(("codes", "fault"), [
    (np.array([[3]]), "from 0 to 2"),
    (np.array([[-1]]), "from 0 to 2"),
    (np.array([[0.0]]), "integers"),
    (np.array([[0, 1]]), "as many columns"),
    ([[0], [1]], "as many columns"),
    ([[[0]]], r"'x' must be one column, not an array of shape \(1, 1\)"),
    ([0], r"'x' must be one column, not an array of shape \(\)"),
    ([[0, [1]]], "'x' must be one column of integers"),
    ([["a"]], "integers"),
    ([np.ma.array([0, 1], mask=[0, 1])], "'x' are masked; the code of a missing cell is 2"),
    (np.zeros((1, 1, 1), int), r"two axes.* shape \(1, 1, 1\)"),
    (3, "one column for each variable, not 3"),
    ({"x": [0]}, "one column for each variable"),
])  # fmt: skip
def test_bad_codes(codes, fault):
    with pytest.raises(DataError, match=fault):
        Dataset.from_codes([Variable("x", ["a", "b"])], codes)


def test_columns_of_codes_have_one_length():
    with pytest.raises(DataError, match="codes of 'y': 1 row, but 'x' has 2"):
        Dataset.from_codes([Variable("x", [0, 1]), Variable("y", [0])], [[0, 1], [0]])


def test_codes_in_lists():
    data = Dataset.from_codes([Variable("x", ["a", "b"]), Variable("y", [0])], [[1, 2, 0], [0, 0, 1]])
    assert data.to_dict() == {"x": ["b", None, "a"], "y": [0, 0, None]}
    with pytest.raises(DataError, match="Variable objects, not 'x'"):
        Dataset.from_codes(["x"], [[0]])


def test_codes_of_variables_that_clash():
    x = Variable("x", [0, 1])
    for variables in ([], [x, x]):
        with pytest.raises(DataError, match=r"different names"):
            Dataset.from_codes(variables, [np.array([0]) for _ in variables])


# ---------------------------------------------------------------- parts and conversions


def example() -> Dataset:
    columns = {"t": ["b", "a", None, "b"], "n": [2, None, 1, 1], "b": [True, False, True, None]}
    return Dataset(columns, states={"t": ["b", "c", "a"]})


def test_parts():
    data = example()
    assert data.select(["n", "t"]).to_dict() == {"n": [2, None, 1, 1], "t": ["b", "a", None, "b"]}
    assert data.select("n").names == ("n",)
    assert data.take([3, 0]).to_dict()["t"] == ["b", "b"]
    assert data.take([True, False, False, True]).to_dict()["n"] == [2, 1]
    assert len(data.take([])) == 0
    assert data.head(2).to_dict() == data.take(slice(0, 2)).to_dict()
    assert data.complete_rows().to_dict() == {"t": ["b"], "n": [2], "b": [True]}
    assert data.complete_rows().variables == data.variables
    assert [len(chunk) for chunk in data.chunks(3)] == [3, 1]
    with pytest.raises(UnknownNameError, match=r"'z'.*'t', 'n', 'b'"):
        data.select(["t", "z"])
    for size in (0, -1, 1.5, "2"):
        with pytest.raises(DataError, match=r"at least one row"):
            next(data.chunks(size))
    with pytest.raises(DataError, match="chosen twice: 't', 't'"):
        data.select(["t", "t"])


@pytest.mark.parametrize(("rows", "fault"), [
    ([7], "no row 7; there are 4 rows"),
    ([0, 4, 9], "no row 4;"),
    ([-5], "no row -5;"),
    (np.array([2**63], np.uint64), "no row 9223372036854775808;"),
    ([True, False], "2 booleans for 4 rows"),
    (np.ones(5, bool), "5 booleans for 4 rows"),
    (np.array([], bool), "0 booleans for 4 rows"),
    ([0.0, 2.0], "float64"),
    ([[0, 1]], r"shape \(1, 2\)"),
    ([[0], [1, 2]], r"not \[\[0\], \[1, 2\]\]"),
    (2, "for each row, not 2"),
    (["b"], "row numbers or one boolean for each row"),
    (None, "row numbers"),
    ({1, 2}, "row numbers"),
    (slice("a", None), "row numbers"),
    (slice(0, 1.5), "row numbers"),
])  # fmt: skip
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4]])
def test_rows_that_do_not_exist(rows, fault, weights):
    with pytest.raises(DataError, match=fault):
        Dataset(example(), weights=weights).take(rows)


def test_rows_are_counted_from_the_end_too():
    data = example()
    assert data.take([-1, -4]) == data.take([3, 0]) == data.take(np.array([3, 0], np.uint8))
    assert len(data.take(np.array([], np.int8))) == len(data.take(slice(9, None))) == 0


def test_weights_follow_their_rows():
    data = Dataset({"x": [0, 1, None]}, weights=[1, 2, 3])
    assert data.take([2, 0]).weights.tolist() == [3, 1]
    assert data.select("x").weights.tolist() == [1, 2, 3]
    assert data.complete_rows().total_weight == 3
    assert [chunk.total_weight for chunk in data.chunks(2)] == [3, 3]


@pytest.mark.parametrize("convert", [Dataset.to_pandas, Dataset.to_polars, Dataset.to_arrow, Dataset.to_dict])
def test_conversions_return_every_label_and_hole(convert):
    data = example()
    back = Dataset(convert(data))
    assert back.to_dict() == data.to_dict()
    if convert is not Dataset.to_dict:
        assert back.variable("t") == data.variable("t"), "the unused state must survive"


def test_conversions_have_the_natural_types():
    data = example().complete_rows()
    assert data.to_pandas()["t"].cat.categories.tolist() == ["b", "c", "a"]
    assert data.to_polars().schema == {"t": pl.Enum(["b", "c", "a"]), "n": pl.Int64, "b": pl.Boolean}
    assert data.to_arrow()["t"].type.value_type == pa.string()


ODD_STATES = {
    "one and true": [1, True, 0],
    "number and text": [1, "a"],
    "boolean and text": [True, "a"],
    "float and boolean": [0.0, False],
    "number and its text": ["1", 1, 2],
    "large and fractional": [2**53 + 1, 0.5],
    "larger than 64 bits": [2**70, 1],
    "signed and unsigned": [-1, 2**63],
    "small and fractional": [1, 2.5],
    "fraction": [Fraction(1, 3), 1],
    "tuples": [(1, 2), (3, 4)],
    "bytes and text": [b"a", "a"],
    "half a surrogate pair": ["a", "\ud800"],
    "dates": [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)],
    "intervals": [pd.Interval(0, 1), pd.Interval(1, 2)],
}


@pytest.mark.parametrize("states", ODD_STATES.values(), ids=ODD_STATES)
@pytest.mark.parametrize("convert", [Dataset.to_pandas, Dataset.to_polars, Dataset.to_arrow, Dataset.to_dict])
def test_frames_keep_every_label_or_refuse_to_hold_it(states, convert):
    data = Dataset({"x": [states[1], None, states[0]], "y": [0, 1, 0]}, states={"x": states})
    try:
        frame = convert(data)
    except DataError as error:
        assert convert in (Dataset.to_polars, Dataset.to_arrow), "pandas and lists can hold anything"
        assert "cannot hold the states of 'x'" in str(error)
    else:
        assert Dataset(frame, variables=data.variables) == data


def test_which_labels_are_refused():
    refusing = {
        convert: {name for name, states in ODD_STATES.items() if refuses(convert, states)}
        for convert in (Dataset.to_polars, Dataset.to_arrow)
    }
    common = {"one and true", "number and text", "boolean and text", "float and boolean", "number and its text",
              "large and fractional", "fraction", "tuples", "bytes and text", "half a surrogate pair"}  # fmt: skip
    assert refusing[Dataset.to_polars] == common
    assert refusing[Dataset.to_arrow] == common | {"larger than 64 bits", "signed and unsigned", "intervals"}


def refuses(convert, states):
    try:
        convert(Dataset({"x": states}, states={"x": states}))
    except DataError:
        return True
    return False


def test_what_pandas_takes_for_equal_becomes_a_column_of_objects():
    frame = Dataset({"x": [1, True, None, 0], "y": [1, 0, 1, 0]}).to_pandas()
    assert frame["x"].dtype == object
    assert [type(cell) for cell in frame["x"]] == [int, bool, type(None), int]
    assert frame["y"].cat.categories.tolist() == [0, 1]


def test_a_column_of_holes_has_the_type_of_its_states():
    data = Dataset({"x": [None, None]}, states={"x": [0, 1]})
    assert data.to_polars().schema == {"x": pl.Int64}
    assert (
        data.to_polars()["x"].to_list()
        == data.to_pandas()["x"].astype(object).where(lambda x: x.notna(), None).tolist()
    )


def test_missing_cells_are_reported_by_column():
    data = example()
    assert data.n_missing == {"t": 1, "n": 1, "b": 1}
    assert data.has_missing
    assert data.missing("t").tolist() == [False, False, True, False]
    assert data.complete_rows().missing("t") is None
    with pytest.raises(MissingDataError, match=r"2 missing cells, in 't \(1 of 4\)', 'b \(1 of 4\)'; .*complete_rows"):
        data.require_complete(["t", "b"])


def test_repr_summarises_the_columns():
    text = repr(Dataset({"x": ["a", None], **{f"y{i}": [0, 1] for i in range(20)}}, weights=[1, 1.5]))
    assert text.splitlines()[:2] == ["Dataset(2 rows, 21 variables, total weight 2.5)", "  x: 1 state 'a'; 1 missing"]
    assert text.splitlines()[-1] == "  ... 9 more"
    assert repr(Dataset({"x": ["a"]})) == "Dataset(1 row, 1 variable)\n  x: 1 state 'a'"


def test_a_data_set_is_a_source_of_counts():
    data = example()
    assert isinstance(data, CountSource)
    assert count_source(data, ["t"]) is data
    with pytest.raises(UnknownNameError, match=r"'z'"):
        count_source(data, ["z"])


@pytest.mark.parametrize("ask", [Dataset.variable, Dataset.codes, Dataset.missing])
def test_unknown_names_list_the_columns(ask):
    with pytest.raises(UnknownNameError, match=r"'T'.*'t', 'n', 'b'"):
        ask(example(), "T")
