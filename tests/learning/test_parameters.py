"""Fitted tables, against counts by hand and published tables."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pgm.data import Dataset
from pgm.errors import MissingDataError, TableError, TooLargeError, UnknownNameError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning import UnseenConfigurationWarning, fit_parameters
from tests.data.bundled import TRUE_GRAPHS, table


def rows(columns, counts):
    """Repeat every row as often as its last number says."""
    repeated = [row[:-1] for row in counts for _ in range(row[-1])]
    return {name: [row[i] for row in repeated] for i, name in enumerate(columns)}


def same(found, expected):
    assert (
        np.asarray(found).tolist() == pytest.approx(np.asarray(expected).tolist(), abs=1e-12)
        if np.ndim(expected) == 1
        else np.allclose(found, expected, rtol=0, atol=1e-12)
    )


THIRD = 1 / 3
S_AND_T = rows("ST", [(1, "lo", 4), (1, "mid", 1), (2, "hi", 3), (2, "lo", 1), (3, "mid", 2)])
STATES = {"S": [3, 1, 2, 4], "T": ["hi", "lo", "mid"]}


@pytest.mark.parametrize("declare", ["states", "categories"])
def test_declared_states_beyond_the_data(declare):  # causalnex#15
    if declare == "states":
        data = Dataset(S_AND_T, states=STATES)
    else:
        data = pd.DataFrame({name: pd.Categorical(column, categories=STATES[name]) for name, column in S_AND_T.items()})
    dag = DAG([("S", "T")])
    net = fit_parameters(dag, data, pseudocount=1)
    assert net.variable("S").states == (3, 1, 2, 4)
    same(net.cpt("S").values, [0.2, 0.4, THIRD, 1 / 15])
    same(net.cpt("T").values, [[0.2, 0.2, 0.6], [0.125, 0.625, 0.25], [4 / 7, 2 / 7, 1 / 7], [THIRD] * 3])
    with pytest.warns(UnseenConfigurationWarning, match=r"1 parent configuration,.*'T \(1\)'"):
        net = fit_parameters(dag, data)
    same(net.cpt("S").values, [2 / 11, 5 / 11, 4 / 11, 0])
    same(net.cpt("T").values, [[0, 0, 1], [0, 0.8, 0.2], [0.75, 0.25, 0], [THIRD] * 3])


ABC = Dataset(
    rows("ABC", [(0, 0, 0, 3), (0, 0, 1, 1), (0, 1, 1, 2), (1, 0, 2, 4)]),
    states={"A": [0, 1], "B": [0, 1], "C": [0, 1, 2]},
)
COLLIDER = DAG([("A", "C"), ("B", "C")])


@pytest.mark.parametrize(("prior", "expected"), [
    ({}, [[[0.75, 0.25, 0], [0, 1, 0]], [[0, 0, 1], [THIRD] * 3]]),
    ({"pseudocount": 1}, [[[4 / 7, 2 / 7, 1 / 7], [0.2, 0.6, 0.2]], [[1 / 7, 1 / 7, 5 / 7], [THIRD] * 3]]),
    ({"equivalent_sample_size": 6},
     [[[7 / 11, 3 / 11, 1 / 11], [1 / 7, 5 / 7, 1 / 7]], [[1 / 11, 1 / 11, 9 / 11], [THIRD] * 3]]),
])  # fmt: skip
def test_parent_configurations_without_rows_are_uniform(prior, expected):  # pgmpy#579
    if prior:
        found = fit_parameters(COLLIDER, ABC, **prior)  # a warning would be an error here
    else:
        with pytest.warns(UnseenConfigurationWarning):
            found = fit_parameters(COLLIDER, ABC)
    same(found.cpt("C").values, expected)


def test_one_warning_names_all_children():
    data = Dataset({"a": [0], "b": [1], "c": [0]}, states={name: [0, 1] for name in "abc"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_parameters(DAG([("a", "b"), ("a", "c"), ("b", "c")]), data)
    assert len(caught) == 1
    assert "4 parent configurations" in str(caught[0].message)
    assert "'b (1)', 'c (3)'" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_nullable_integers_name_the_same_states():  # pgmpy#2386
    x, y = [0, 0, 1, 1, None, 1, 0, None], [0, 1, 1, 1, 1, None, 0, None]
    encodings = [
        pd.DataFrame({"X": pd.Series(x, dtype=dtype), "Y": pd.Series(y, dtype=dtype)})
        for dtype in ("float64", "Int64", object)
    ]
    dag = DAG([("X", "Y")])
    for data in [*encodings, {"X": x, "Y": y}]:
        with pytest.raises(MissingDataError, match=r"4 missing cells, in 'X \(2 of 8\)', 'Y \(2 of 8\)'") as caught:
            fit_parameters(dag, data)
        assert all(way in str(caught.value) for way in ("missing='available'", "missing='complete_rows'", "fit_em"))
        net = fit_parameters(dag, Dataset(data).complete_rows())
        assert (net.variable("X").states, net.variable("Y").states) == ((0, 1), (0, 1))
        same(net.cpt("X").values, [0.6, 0.4])
        same(net.cpt("Y").values, [[2 / 3, 1 / 3], [0, 1]])


def test_booleans_integers_and_text_in_one_network():  # pomegranate#362
    frame = pd.DataFrame({
        "Wet": [True, True, False, False, True, False, False, True],
        "Grade": [2, 1, 2, 0, 2, 1, 0, 2],
        "Street": ["A", "A", "B", "B", "B", "A", "A", "A"],
    })  # fmt: skip
    net = fit_parameters(DAG([("Wet", "Grade"), ("Street", "Grade")]), frame, pseudocount=1)
    assert [net.variable(name).states for name in frame] == [(False, True), (0, 1, 2), ("A", "B")]
    for wet in (True, np.bool_(True), frame["Wet"].iloc[0]):
        same(net.query("Grade", {"Wet": wet, "Street": "A"}).values, [1 / 6, 1 / 3, 1 / 2])
    same(net.query("Grade", {"Wet": False, "Street": "B"}).values, [0.4, 0.2, 0.4])


WEIGHTED = {"A": ["x", "x", "y", "y", "z"], "B": ["no", "yes", "yes", "no", "yes"]}


@pytest.mark.parametrize(("weights", "pseudocount", "of_a", "of_yes"), [
    ([3, 1, 2, 2, 0], 0, [0.5, 0.5, 0], [0.25, 0.5, 0.5]),
    ([3, 1, 2, 2, 0], 1, [5 / 11, 5 / 11, 1 / 11], [1 / 3, 0.5, 0.5]),
    ([0.5, 0.25, 1.5, 0.75, 1.0], 0, [0.1875, 0.5625, 0.25], [1 / 3, 2 / 3, 1]),
    ([0.5, 0.25, 1.5, 0.75, 1.0], 1, [0.25, 13 / 28, 2 / 7], [5 / 11, 10 / 17, 2 / 3]),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::pgm.learning.UnseenConfigurationWarning")
def test_row_weights(weights, pseudocount, of_a, of_yes):  # pgmpy#1655
    for given in (weights, np.array(weights), pd.Series(weights)):
        net = fit_parameters(DAG([("A", "B")]), Dataset(WEIGHTED, weights=given), pseudocount=pseudocount)
        same(net.cpt("A").values, of_a)
        same(net.cpt("B").values[:, 1], of_yes)


def test_very_many_parents_are_refused_at_once():  # pgmpy#1776
    names = [f"P{j}" for j in range(1, 41)]
    numbers = [row * 2654435761 % 2**40 for row in range(60)]
    data = {name: [number >> j & 1 for number in numbers] for j, name in enumerate(names)}
    data["Y"] = data["P1"]
    binary = Dataset(data, states={name: [0, 1] for name in data})
    with pytest.raises(TooLargeError, match=r"'Y'.*2,199,023,255,552 cells"):
        fit_parameters(DAG([(name, "Y") for name in names]), binary, pseudocount=1)


def test_published_tables():
    net = fit_parameters(DAG.from_string(TRUE_GRAPHS["learning.test"]), table("learning.test"))
    same(net.cpt("A").values, [0.3336, 0.334, 0.3324])
    same(net.cpt("B").values[0], [0.8561151079136691, 0.025179856115107913, 0.11870503597122302])
    same(net.query("D").values, [0.35276417006174765, 0.3145074662566139, 0.3327283636816382])
    posterior = net.query("E", {"A": "b", "F": "a"})
    same(posterior.values, [0.44364176554970475, 0.1212897360933167, 0.43506849835697864])


def test_published_queries_of_a_fitted_network():
    dag = DAG.from_string(TRUE_GRAPHS["asia"])
    net = fit_parameters(dag, table("asia"))
    published = [
        ("D", {"S": "yes"}, 0.6206460976744785),
        ("D", {"X": "yes", "A": "yes"}, 0.7082994384252483),
        ("T", {"X": "yes", "D": "yes", "S": "no"}, 0.22300172881561675),
        ("L", {"X": "no"}, 0.00040266385896260947),
        ("X", {}, 0.11400849910921723),
        ("D", {}, 0.46901665077221016),
    ]
    for target, evidence, value in published:
        assert net.query(target, evidence)["yes"] == pytest.approx(value, abs=1e-10)


def test_axes_follow_the_parents_of_the_graph():
    data = Dataset({"a": [0, 1, 1], "b": [0, 0, 1], "c": [1, 0, 1]})
    ab = fit_parameters(DAG([("a", "c"), ("b", "c")]), data, pseudocount=1).cpt("c")
    ba = fit_parameters(DAG([("b", "c"), ("a", "c")]), data, pseudocount=1).cpt("c")
    assert (ab.names, ba.names) == (("a", "b", "c"), ("b", "a", "c"))
    assert (ab.values == ba.values.transpose(1, 0, 2)).all()


def test_no_rows_with_a_prior_are_uniform():
    data = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": ["x", "y", "z"]})
    net = fit_parameters(DAG([("a", "b")]), data, pseudocount=0.5)
    same(net.cpt("a").values, [0.5, 0.5])
    same(net.cpt("b").values, [[THIRD] * 3] * 2)
    assert net.variables == (Variable("a", [0, 1]), Variable("b", ["x", "y", "z"]))


def test_other_columns_are_ignored_but_nodes_must_be_columns():
    frame = {"a": [0, 1], "b": [1, 1], "height": [1.7, 1.8], "hole": [None, 0]}
    assert fit_parameters(DAG([("a", "b")]), frame, pseudocount=1).names == ("a", "b")
    with pytest.raises(UnknownNameError, match=r"'c'.*'a', 'b'"):
        fit_parameters(DAG([("a", "c")]), frame)


@pytest.mark.parametrize("one", [1, 1.0, np.float32(1), np.int8(1), Fraction(1)])
def test_priors_of_any_kind_of_number(one):
    same(fit_parameters(COLLIDER, ABC, pseudocount=one).cpt("A").values, [7 / 12, 5 / 12])
    same(fit_parameters(COLLIDER, ABC, equivalent_sample_size=2 * one).cpt("A").values, [7 / 12, 5 / 12])


def test_only_the_graph_of_a_network_is_used():
    net = fit_parameters(COLLIDER, ABC, pseudocount=5)
    assert fit_parameters(net, ABC, pseudocount=1) == fit_parameters(COLLIDER, ABC, pseudocount=1)


def test_counts_are_left_alone():
    """A source of counts may keep what it hands out."""
    kept = [array.astype(float) for array in ABC.count([("A", []), ("C", ["A", "B"]), ("B", [])])]
    before = [array.copy() for array in kept]

    class Keeper:
        variables, n_rows, total_weight = ABC.variables, ABC.n_rows, ABC.total_weight
        count_extensions = chunks = Dataset.count_extensions

        def count(self, families):
            assert [child for child, _ in families] == ["A", "C", "B"]
            return kept

    for _ in range(2):
        assert fit_parameters(COLLIDER, Keeper(), pseudocount=1) == fit_parameters(COLLIDER, ABC, pseudocount=1)
        assert len(kept) == len(before)
        assert all(map(np.array_equal, kept, before))


@pytest.mark.parametrize("prior", [
    {"pseudocount": -1}, {"pseudocount": float("nan")}, {"pseudocount": float("inf")},
    {"equivalent_sample_size": -1}, {"equivalent_sample_size": float("nan")},
    {"equivalent_sample_size": "1"}, {"equivalent_sample_size": True}, {"equivalent_sample_size": [1]},
    {"pseudocount": "1"}, {"pseudocount": None}, {"pseudocount": True}, {"pseudocount": np.bool_(True)},
    {"pseudocount": [1, 1]}, {"pseudocount": 1j}, {"pseudocount": np.float64("nan")},
    {"pseudocount": 1, "equivalent_sample_size": 1},
])  # fmt: skip
def test_bad_priors(prior):
    with pytest.raises(TableError, match=next(iter(prior))):
        fit_parameters(COLLIDER, ABC, **prior)
