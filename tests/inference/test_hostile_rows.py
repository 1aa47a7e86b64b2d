"""Whole tables in every odd shape: what is no table, odd labels, rows that are impossible, arrays of every kind."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pgm
from pgm import CPT, BayesianNetwork, DataError, Dataset, ImpossibleEvidenceError, Variable
from pgm.inference import row_groups
from tests.inference.test_exact import chain, leak_network

LABELS = [1, True, "1", 1.5, 0, False]
PRIOR = [0.1, 0.2, 0.3, 0.1, 0.1, 0.2]


def typed() -> BayesianNetwork:
    """Labels that Python takes for equal, of three types, and a variable of one state."""
    t, u, k = Variable("T", LABELS), Variable("U", ["a", "b"]), Variable("K", ["only"])
    rows = [[i / 10, 1 - i / 10] for i in range(1, 7)]
    return BayesianNetwork([CPT(t, PRIOR), CPT(u, rows, [t]), CPT(k, [[1.0], [1.0]], [u])])


ASK = {
    "posterior": lambda net, data: net.posterior(data),
    "log_likelihood": lambda net, data: net.log_likelihood(data),
    "impute": lambda net, data: net.impute(data),
    "predict": lambda net, data: net.predict(data, "T"),
    "posterior_chunks": lambda net, data: list(net.posterior_chunks([data])),
}


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize(
    "data",
    [
        {}, {"X": ["a"]}, pd.DataFrame(), pd.DataFrame(index=range(3)), None, 5, "U", [], [["a"]], np.array([["a"]]),
        {"U": "a"}, {"U": 5}, {"U": ["a"], "T": [1, 2]}, {1: ["a"]}, {"U": [["a"]]}, {"U": ["a", "c"]},
        {"U": [True]}, {"T": ["True"]}, {"T": [2]}, {"T": [1.25]}, {"K": ["other"]},
        pd.DataFrame([["a", "a"]], columns=["U", "U"]),
        pd.DataFrame([["a", 1]], columns=pd.MultiIndex.from_tuples([("U", 1), ("T", 1)])),
        Dataset({"U": ["c"]}, states={"U": ["a", "c"]}),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_table_of_the_network(data, ask):
    with pytest.raises(DataError):
        ASK[ask](typed(), data)


@pytest.mark.parametrize("data", [{"U": []}, pd.DataFrame({"U": []}), Dataset({"U": []}, states={"U": ["x"]})])
def test_no_rows(data):
    net = typed()
    assert {name: array.shape for name, array in net.posterior(data).items()} == {"T": (0, 6), "K": (0, 1)}
    assert net.posterior(data, "U").shape == (0, 2)
    assert net.log_likelihood(data).shape == (0,)
    assert net.predict(data, "T") == []
    assert net.impute(data).to_dict() == {"T": [], "U": [], "K": []}
    assert list(net.posterior_chunks([])) == []


@pytest.mark.parametrize("nothing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("rows", [1, 3, 1025])
def test_all_cells_missing(nothing, rows):
    net = typed()
    data = {"U": [nothing] * rows, "T": [nothing] * rows}
    assert net.posterior(data, "T") == pytest.approx(np.tile(PRIOR, (rows, 1)))
    assert net.log_likelihood(data).tolist() == pytest.approx([0.0] * rows, abs=1e-15)
    assert net.predict(data, "T") == ["1"] * rows


@pytest.mark.parametrize(
    "column",
    [
        LABELS,
        [np.int64(1), np.bool_(True), np.str_("1"), np.float64(1.5), np.uint8(0), np.bool_(False)],
        np.array(LABELS, dtype=object),
        pd.Series(LABELS, dtype=object),
        pd.Series(LABELS, dtype=object, index=[9] * 6),
    ],
    ids=["list", "NumPy scalars", "array", "series", "series with an index"],
)
def test_labels_keep_their_types_in_columns(column):
    """True, 1 and "1" are three states (pomegranate#362)."""
    net = typed()
    assert np.exp(net.log_likelihood({"T": column})) == pytest.approx(PRIOR)
    for code, row in enumerate(net.posterior({"T": column}, "U")):
        assert row[0] == pytest.approx((code + 1) / 10)


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 0]), np.array([1.0, 0.0]), np.array([1, 0], np.uint8), pd.array([1, 0], dtype="Int64"),
        pd.Series([1.0, 0.0]), pa.array([1, 0]), [1.0, 0.0],
    ],
    ids=lambda column: f"{type(column).__name__}-{getattr(column, 'dtype', '')}",
)  # fmt: skip
def test_integers_are_labels_and_never_positions(column):
    """A declared order that disagrees with the values, and integers stored as floats (pgmpy#1715, pgmpy#2386)."""
    x, y = Variable("x", [1, 0]), Variable("y", [2, 0, 1])
    net = BayesianNetwork([CPT(x, [0.9, 0.1]), CPT(y, [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], [x])])
    data = pa.table({"x": column}) if isinstance(column, pa.Array) else {"x": column}
    assert np.exp(net.log_likelihood(data)) == pytest.approx([0.9, 0.1])
    assert net.posterior(data, "y") == pytest.approx(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]))
    assert net.predict(data, "y") == [2, 1]
    assert net.impute(data).to_dict() == {"x": [1, 0], "y": [2, 1]}


@pytest.mark.parametrize("plan_cost", [-1e12, 1e12], ids=["grouped by pattern", "with likelihood vectors"])
@pytest.mark.parametrize("targets", [["Bill"], ["Wet"], ["Leak", "Burst", "Wet", "Bill"], None])
def test_impossible_rows_among_good_ones(targets, plan_cost, monkeypatch):
    """Whatever is asked for, observed or not, and even if nothing is: such a row is found, and the others are right."""
    monkeypatch.setattr(row_groups, "PLAN_NS", plan_cost)
    net = leak_network()
    frame = {
        "Leak": ["no", "no", "yes", None, "no"], "Burst": ["no", "no", None, None, "no"],
        "Wet": ["no", "yes", "no", None, "yes"], "Bill": ["low", "low", None, None, None],
    }  # fmt: skip
    with pytest.raises(ImpossibleEvidenceError, match=r"row 1: .*Leak='no', Burst='no', Wet='yes' \(3 such rows\)"):
        net.posterior(frame, targets)
    found = net.posterior(frame, targets, impossible="nan")
    for name, array in found.items():
        assert np.isnan(array).any(axis=1).tolist() == [False, True, True, False, True]
        assert array[3] == pytest.approx(net.query(name).values)
        assert array[0].tolist() == pytest.approx([1.0, 0.0])
    good = net.posterior({name: [column[0], column[3]] for name, column in frame.items()}, targets)
    assert all(found[name][[0, 3]] == pytest.approx(array) for name, array in good.items())
    assert np.isneginf(net.log_likelihood(frame)).tolist() == [False, True, True, False, True]


def test_a_full_table_has_no_hidden_cell_and_can_be_impossible():
    net = leak_network()
    full = {"Leak": ["no", "no"], "Burst": ["no", "no"], "Wet": ["no", "yes"], "Bill": ["low", "low"]}
    assert net.posterior(full, impossible="nan") == {}
    for ask in (net.posterior, net.impute, lambda data: net.predict(data, "Bill")):
        with pytest.raises(ImpossibleEvidenceError, match="row 1"):
            ask(full)
    weightless = Dataset(full, weights=[1.0, 0.0])  # a row of no weight is a row
    with pytest.raises(ImpossibleEvidenceError, match="row 1"):
        net.posterior(weightless, "Bill")


def test_arrays_of_every_layout_give_the_same_answers_and_stay_as_they_are():
    net = leak_network()
    cells = np.array([["no", "yes"], ["yes", "no"], ["no", "no"], ["yes", "yes"]], dtype=object)
    expected = net.posterior({"Leak": cells[:, 0].tolist(), "Burst": cells[:, 1].tolist()}, "Bill")
    fortran, wide = np.asfortranarray(cells), np.repeat(cells, 2, axis=1)[:, ::2]
    frozen = cells.copy()
    frozen.flags.writeable = False
    for array in (cells, fortran, wide, frozen):
        for data in (
            {"Leak": array[:, 0], "Burst": array[:, 1]},
            Dataset(array, names=["Leak", "Burst"]),
            pd.DataFrame(array, columns=["Leak", "Burst"], index=[7, 7, 7, 7]),
            pd.DataFrame(array, columns=["Leak", "Burst"]).iloc[:, ::-1],
            pl.DataFrame({"Burst": array[:, 1].tolist(), "Leak": array[:, 0].tolist()}),
            pa.table({"Leak": pa.array(array[:, 0].tolist()).dictionary_encode(), "Burst": array[:, 1].tolist()}),
        ):
            found = net.posterior(data, "Bill")
            assert found.tolist() == expected.tolist()
        backwards = net.posterior({"Leak": array[::-1, 0], "Burst": array[::-1, 1]}, "Bill")
        assert backwards.tolist() == expected[::-1].tolist()
    assert found.flags.writeable
    assert found.flags.c_contiguous
    found[:] = 0.0  # the caller's own: the next answer does not change
    assert net.posterior({"Leak": ["no"], "Burst": ["yes"]}, "Bill")[0].tolist() == expected[0].tolist()


def test_columns_beside_the_network_are_not_looked_at():
    net = typed()
    frame = {"U": ["a"], "notes": [object()], "lists": [[1, 2]], "numbers": [0.5]}
    alone = net.posterior({"U": ["a"]}, "T")
    assert net.posterior(frame, "T") == pytest.approx(alone)
    arrow = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["U", "x", "x"])
    tables = [
        {"U": ["a"], 0: [1], None: [2], "": [3], "ragged": [1, 2, 3], "scalar": 5, ("a", 1): None},
        pd.DataFrame([["a", 1, 2, 3, 4]], columns=["U", 0, None, "twice", "twice"]),
        arrow,
        pl.DataFrame({"U": ["a"], "x": [[1, 2]]}),
    ]
    for table in tables:
        assert net.posterior(table, "T").tolist() == alone.tolist()
        assert net.impute(table).to_dict()["U"] == ["a"]
        assert net.log_likelihood(table).tolist() == net.log_likelihood({"U": ["a"]}).tolist()
        assert [found.tolist() for found in net.posterior_chunks([table], "T")] == [alone.tolist()]


def test_the_first_row_that_is_wrong_is_named():
    """Which label is looked at first, as a sorted list of labels has it, does not matter."""
    net = BayesianNetwork([CPT(Variable("i", [0, 1]), [0.5, 0.5]), CPT(Variable("U", ["a", "b"]), [0.5, 0.5])])
    for column in ([True, False], [1, "x", "a", 0.5], ["z", "y"], [None, 5, 0, 4]):
        row = next(r for r, label in enumerate(column) if label is not None and not (type(label) is int and label < 2))
        with pytest.raises(DataError, match=f"column 'i', row {row} .*no state {column[row]!r}"):
            net.posterior({"i": column}, "U")
    for frame in (pd.DataFrame({"i": [True, False]}), pl.DataFrame({"i": [True, False]})):
        with pytest.raises(DataError, match="row 0 .*no state True"):
            net.posterior(frame, "U")


def test_a_declared_order_other_than_the_networks():
    net = pgm.networks.load("asia")
    data = Dataset({"smoke": ["yes", "no"]}, states={"smoke": ["maybe", "no", "yes"]})
    assert net.posterior(data, "lung") == pytest.approx(np.array([[0.1, 0.9], [0.01, 0.99]]))
    only = Dataset({"smoke": ["no", "no"]})
    assert net.posterior(only, "lung") == pytest.approx(np.array([[0.01, 0.99]] * 2))


def test_chunks_of_any_size_add_up():
    net = pgm.networks.load("asia")
    data = net.sample(60, 0, missing=0.4)
    whole = net.posterior(data, net.names)
    for size in (1, 7, 60, 1000):
        parts = [data.take(slice(start, min(start + size, 60))) for start in range(0, 60, size)]
        chunks = list(net.posterior_chunks([data.take(slice(0, 0)), *parts], net.names))
        for name in net.names:
            assert np.concatenate([chunk[name] for chunk in chunks]) == pytest.approx(whole[name], abs=1e-12)


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1023, 1024, 1025, 2049])
def test_numbers_of_rows_around_those_that_run_together(rows):
    net = pgm.networks.load("cancer")
    data = net.sample(rows, rows, missing=0.4)
    found, cells = net.posterior(data, net.names), data.to_dict()
    log_likelihoods = net.log_likelihood(data)
    for row in {0, rows // 2, rows - 1}:
        evidence = {name: column[row] for name, column in cells.items() if column[row] is not None}
        assert log_likelihoods[row] == pytest.approx(net.log_probability(evidence), abs=1e-12)
        for name in net.names:
            assert found[name][row] == pytest.approx(net.query(name, evidence).values, abs=1e-12)


def test_rows_of_a_deep_network():
    net = chain(3000)
    found = net.posterior({"X1": [1, 0, None], "X3000": [None, 1, 0]}, ["X2", "X3000"])
    assert found["X3000"][0] == pytest.approx(net.query("X3000", {"X1": 1}).values, abs=1e-12)
    assert found["X2"][1] == pytest.approx(net.query("X2", {"X1": 0, "X3000": 1}).values, abs=1e-12)
    full = {name: [number % 2, 0] for number, name in enumerate(net.names)}
    expected = [math.log(0.7) + 2999 * math.log(0.0005), math.log(0.7) + 2999 * math.log(0.9995)]
    assert net.log_likelihood(full) == pytest.approx(expected, rel=1e-12)
    marginal = net.impute({"X1": [1]}, method="marginal").to_dict()
    assert {marginal[name][0] for name in net.names} == {1}


def test_a_wide_family_with_holes():
    """The table of a noisy-or of twelve causes is cut at another set of observed causes in every row."""
    causes = [Variable(f"c{i}", ["off", "on"]) for i in range(12)]
    effect = Variable("effect", ["off", "on"])
    table = CPT.noisy_or(effect, "on", {cause: {"on": 0.3} for cause in causes}, leak=0.01)
    net = BayesianNetwork([*(CPT(cause, [0.9, 0.1]) for cause in causes), table])
    data = net.sample(40, 0, missing=0.5)
    found, cells = net.posterior(data), data.to_dict()
    for row in range(0, 40, 9):
        evidence = {name: column[row] for name, column in cells.items() if column[row] is not None}
        on = [cause.name for cause in causes if evidence.get(cause.name) == "on"]
        unknown = sum(cause.name not in evidence for cause in causes)
        if "effect" not in evidence:  # the unknown causes each fail with probability 0.9 + 0.1 * 0.7
            quiet = 0.99 * 0.7 ** len(on) * 0.97**unknown
            assert found["effect"][row] == pytest.approx([quiet, 1 - quiet])
