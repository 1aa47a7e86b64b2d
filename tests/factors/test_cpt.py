"""Conditional probability tables: the ways to build one, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pgm.errors import PgmError, TableError, TooLargeError, UnknownStateError
from pgm.factors import CPT, Factor, Variable

A, B, C = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]), Variable("C", ["c0", "c1"])
GOOD = [[[0.5, 0.5], [0.1, 0.9], [0.6, 0.4]], [[0.2, 0.8], [0.3, 0.7], [1, 0]]]


def changed(row: list[float], a: int = 0, b: int = 0) -> list[list[list[float]]]:
    table = [[list(cell) for cell in line] for line in GOOD]
    table[a][b] = row
    return table


@pytest.mark.parametrize("values", [GOOD, changed([0.5, 0.5000000001]), np.array(GOOD, dtype=np.float32)])
def test_right_tables_are_taken(values):
    cpt = CPT(C, values, [A, B])
    assert cpt.values.sum(axis=-1) == pytest.approx(np.ones((2, 3)), abs=1e-15)
    assert cpt["a1", "b2", "c0"] == 1.0
    assert cpt.child == C
    assert cpt.parents == (A, B)
    assert cpt.n_parameters == 6


@pytest.mark.parametrize(
    ("values", "parents", "message"),
    [
        (changed([-0.5, 1.5], 0, 2), [A, B], "A='a0', B='b2' of P(C | ...) has a negative number: -0.5, 1.5"),
        (changed([float("nan")] * 2, 0, 2), [A, B], "A='a0', B='b2' of P(C | ...) contains NaN"),
        ([[0.5, 0.5], [0.1, 0.9]], [A, B], "P(C | A, B) must have shape (2, 3, 2) (A=2, B=3, C=2), not (2, 2)"),
        (np.array(GOOD).transpose(1, 0, 2), [A, B], "must have shape (2, 3, 2)"),
        (changed([0.5, 0.4]), [A, B], "A='a0', B='b0' of P(C | ...) sums to 0.9, not 1: 0.5, 0.4"),
        (changed([0, 0]), [A, B], "A='a0', B='b0' of P(C | ...) sums to 0, not 1"),
        (changed([float("inf"), -float("inf")]), [A, B], "contains an infinite number"),
        (changed([1e308, 1e308]), [A, B], "not 1"),
        (changed([float("inf"), 0]), [A, B], "contains an infinite number"),
        ([0.3, 0.3], [], "P(C) sums to 0.6, not 1"),
        ([["x", "y"]], [], "is not made of numbers"),
        (GOOD, [A, A], "a variable twice"),
        ([[1, 0], [0, 1]], [C], "a variable twice"),
        (GOOD, ["A", "B"], "Variable objects"),
    ],
)
def test_wrong_tables_name_the_child_and_the_row(values, parents, message):
    with pytest.raises(TableError) as caught:
        CPT(C, values, parents)
    assert message in str(caught.value)


def test_what_has_no_order_or_other_labels_is_refused():
    import pandas as pd

    with pytest.raises(TableError, match="a set has none"):
        CPT(C, GOOD, {A, B})
    with pytest.raises(TableError, match="pandas Series"):
        CPT(C, pd.Series([0.2, 0.8], index=["c1", "c0"]))
    with pytest.raises(TableError, match="pandas DataFrame"):
        CPT(C, pd.DataFrame({"c1": [0.5, 0.5], "c0": [0.5, 0.5]}), [A])
    assert CPT(C, pd.Series([0.2, 0.8], index=["c1", "c0"]).to_dict())["c1"] == 0.2


def test_rows_by_label_land_where_their_labels_say():
    rows = {
        ("a1", "b2"): {"c0": 1.0},
        ("a0", "b1"): [0.1, 0.9],
        ("a0", "b0"): (0.5, 0.5),
        ("a1", "b1"): {"c1": 0.7, "c0": 0.3},
        ("a0", "b2"): np.array([0.6, 0.4]),
        ("a1", "b0"): [0.2, 0.8],
    }
    assert np.array_equal(CPT(C, rows, [A, B]).values, np.array(GOOD, dtype=float))
    assert CPT(C, {"c1": 0.25, "c0": 0.75}).values.tolist() == [0.75, 0.25]
    pairs = Variable("P", [("x", 1), ("y", 2)])
    assert CPT(C, {("x", 1): [1, 0], ("y", 2): [0, 1]}, [pairs])[("y", 2), "c1"] == 1.0


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"a0": [0.5, 0.5]}, TableError, "has no row for ('a1',)"),
        ({"a0": [0.5, 0.5], "a2": [0.5, 0.5]}, UnknownStateError, "'A' has no state 'a2'"),
        ({"a0": [0.5, 0.5], "a1": {"c9": 1.0}}, UnknownStateError, "'C' has no state 'c9'"),
        ({"a0": [0.5, 0.5], "a1": [1.0]}, TableError, "the row ('a1',) of 'C' must have 2 numbers"),
        ({"a0": [0.5, 0.5], "a1": {"c0": 0.4}}, TableError, "A='a1' of P(C | ...) sums to 0.4"),
        ({"a0": [0.5, 0.5], "a1": ["x", "y"]}, TableError, "not made of numbers"),
        ({"a0": [0.5, 0.5], "a1": [float("nan"), 1]}, TableError, "contains NaN"),
        ({("a0", "b0"): [0.5, 0.5]}, TableError, "named by labels of 'A'"),
        ({"a0": [0.5, 0.5], ("a0",): [0.1, 0.9], "a1": [0.5, 0.5]}, TableError, "has the row ('a0',) twice"),
    ],
)
def test_wrong_rows_name_the_row(rows, error, message):
    with pytest.raises(error) as caught:
        CPT(C, rows, [A])
    assert message in str(caught.value)


def test_the_callers_array_is_neither_changed_nor_shared():
    values = np.array([0.5, 0.5000000001])
    before = values.copy()
    cpt = CPT(C, values)
    values[:] = 7.0
    assert cpt.values == pytest.approx([0.5, 0.5])
    assert before.tolist() == [0.5, 0.5000000001]
    with pytest.raises(ValueError, match="read-only"):
        cpt.values[0] = 0.0


def test_builders():
    either = CPT.deterministic(C, [A, B], lambda a, b: "c1" if a == "a1" or b == "b2" else "c0")
    assert either["a0", "b1", "c0"] == either["a0", "b2", "c1"] == 1.0
    graded = CPT.from_function(C, [B], lambda b: {"c0": 0.1 * (1 + int(b[1])), "c1": 1 - 0.1 * (1 + int(b[1]))})
    assert graded["b2", "c0"] == pytest.approx(0.3)
    assert CPT.from_function(C, [], lambda: [0.2, 0.8])["c1"] == 0.8
    assert CPT.uniform(B, A) == CPT.uniform(B, [A])
    assert CPT.uniform(B, [A]).values == pytest.approx(np.full((2, 3), 1 / 3))
    with pytest.raises(UnknownStateError, match="'C' has no state 'c7'"):
        CPT.deterministic(C, [A], lambda a: "c7")


def test_noisy_or_is_one_minus_the_product_of_failures():
    cpt = CPT.noisy_or(C, "c0", {A: {"a1": 0.4}, B: {"b1": 0.5, "b2": 0.9}}, leak=0.1)
    for a, fail_a in (("a0", 1.0), ("a1", 0.6)):
        for b, fail_b in (("b0", 1.0), ("b1", 0.5), ("b2", 0.1)):
            assert cpt[a, b, "c1"] == pytest.approx(0.9 * fail_a * fail_b)
    with pytest.raises(TableError, match="two states; 'B' has 3"):
        CPT.noisy_or(B, "b0", {A: {"a1": 0.4}})
    with pytest.raises(TableError, match="strength of A='a1' must be between 0 and 1, not 1.5"):
        CPT.noisy_or(C, "c0", {A: {"a1": 1.5}})


def test_random_tables_repeat_with_their_seed():
    one, two = CPT.random(C, [A, B], rng=7), CPT.random(C, [A, B], rng=7)
    assert one == two
    rng = np.random.default_rng(7)
    assert CPT.random(C, [A, B], rng=rng) == one
    assert CPT.random(C, [A, B], rng=rng) != one
    sharp = CPT.random(B, [Variable("many", range(1000))], rng=0, concentration=0.05)
    assert sharp.values.max(axis=1).mean() > 0.9
    with pytest.raises(TableError, match="concentration"):
        CPT.random(C, rng=0, concentration=0)


def test_a_table_of_2_to_the_41_cells_is_refused_before_it_is_allocated():
    parents = [Variable(f"P{i}", [0, 1]) for i in range(1, 41)]
    child = Variable("Y", [0, 1])
    for build in (
        lambda: CPT(child, {}, parents),
        lambda: CPT.uniform(child, parents),
        lambda: CPT.random(child, parents, rng=0),
        lambda: CPT.noisy_or(child, 1, {parent: {1: 0.5} for parent in parents}),
        lambda: CPT.deterministic(child, parents, lambda *labels: labels[0]),
    ):
        with pytest.raises(TooLargeError, match=r"P\(Y \| 40 parents\) would have 2,199,023,255,552 cells"):
            build()
    with pytest.raises(PgmError):
        CPT(child, {}, [Variable(f"P{i}", ["only"]) for i in range(64)])


def test_a_cpt_is_a_factor():
    prior, cpt = CPT(A, [0.3, 0.7]), CPT(C, [[0.9, 0.1], [0.2, 0.8]], [A])
    joint = prior * cpt
    assert type(joint) is Factor
    assert joint.marginalize("A").values == pytest.approx([0.3 * 0.9 + 0.7 * 0.2, 0.3 * 0.1 + 0.7 * 0.8])
    restored = pickle.loads(pickle.dumps(cpt))
    assert type(restored) is CPT
    assert restored == cpt
    assert not restored.values.flags.writeable


def test_tables_print_with_their_labels():
    assert str(CPT(C, [[0.9, 0.1], [0.25, 0.75]], [A])).splitlines() == [
        "P(C | A)", "A  |   c0    c1", "---+-----------", "a0 |  0.9   0.1", "a1 | 0.25  0.75",
    ]  # fmt: skip
    assert str(CPT(C, [0.9, 0.1])).splitlines() == ["P(C)", " c0   c1", "--------", "0.9  0.1"]
    wide = Variable("W", range(30))
    assert "... 19 more" in str(CPT.uniform(wide))


@pytest.mark.parametrize("parents", [None, 5, 2.5])
def test_parents_that_are_no_list(parents):
    with pytest.raises(TableError, match=f"the parents of 'x' are a list of Variable objects, not {parents}"):
        CPT(Variable("x", [0, 1]), [0.5, 0.5], parents)
    with pytest.raises(TableError, match=f"a factor's variables are a list of Variable objects, not {parents}"):
        Factor(parents, [0.5, 0.5])
