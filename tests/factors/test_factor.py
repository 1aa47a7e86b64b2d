"""The algebra of factors, against plain loops over labels."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import TableError, TooLargeError, UnknownNameError, UnknownStateError
from pgm.factors import Factor, Variable
from pgm.factors.variable import is_missing

A = Variable("A", ["a0", "a1"])
B = Variable("B", [1, 2, 3])
C = Variable("C", [False, True])
POOL = [A, B, C, Variable("D", ["only"])]


@st.composite
def factors(draw):
    scope = draw(st.lists(st.sampled_from(POOL), max_size=3, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return Factor(scope, rng.integers(0, 4, [v.cardinality for v in scope]).astype(float))


def at(factor, world):
    return factor[{name: world[name] for name in factor.names}] if factor.names else float(factor.values)


def worlds(*scopes):
    variables = list(dict.fromkeys(v for scope in scopes for v in scope))
    for labels in product(*(v.states for v in variables)):
        yield {v.name: label for v, label in zip(variables, labels, strict=True)}


@settings(deadline=None)
@given(factors(), factors(), factors())
def test_product_is_pointwise_commutative_and_associative(f, g, h):
    fg = f * g
    for world in worlds(f.variables, g.variables):
        assert at(fg, world) == at(f, world) * at(g, world)
    assert fg.allclose(g * f)
    assert (fg * h).allclose(f * (g * h))
    assert (f * 2.0).allclose(2.0 * f)


@settings(deadline=None)
@given(factors(), st.data())
def test_sum_maximum_and_reduction_are_pointwise(f, data):
    names = data.draw(st.lists(st.sampled_from(f.names), unique=True)) if f.names else []
    gone = [v for v in f.variables if v.name in names]
    summed, best = f.marginalize(names), f.maximize(names)
    for world in worlds(summed.variables):
        values = [at(f, {**world, **inner}) for inner in worlds(gone)]
        assert at(summed, world) == sum(values)
        assert at(best, world) == max(values)
    evidence = {v.name: v.states[-1] for v in gone}
    reduced = f.reduce(evidence)
    for world in worlds(reduced.variables):
        assert at(reduced, world) == at(f, {**world, **evidence})


@settings(deadline=None)
@given(factors(), factors())
def test_sums_distribute_over_products(f, g):
    own = [name for name in f.names if name not in g.names]
    assert (f * g).marginalize(own).allclose(f.marginalize(own) * g)


@settings(deadline=None)
@given(factors(), factors())
def test_division_undoes_multiplication_where_it_can(f, g):
    positive = Factor(g.variables, g.values + 1)
    assert (f * positive / positive).allclose(f * Factor(g.variables, np.ones(g.shape)))


def test_zero_over_zero_is_zero_and_one_over_zero_an_error():
    zero = Factor([A], [0.0, 2.0])
    assert (zero / zero).values.tolist() == [0.0, 1.0]
    with pytest.raises(TableError, match="divided by 0"):
        Factor([A], [1.0, 2.0]) / zero


def test_labels_keep_their_type():
    f = Factor([Variable("X", [1, True, "1", 2.5])], [1.0, 2.0, 3.0, 4.0])
    assert [f[1], f[True], f["1"], f[2.5], f[1.0], f[np.int64(1)], f[np.bool_(True)]] == [1, 2, 3, 4, 1, 1, 2]
    with pytest.raises(UnknownStateError, match="'X' has no state False; its states are 1, True, '1', 2.5"):
        f[False]


def test_access_by_label():
    f = Factor([A, B], np.arange(6.0).reshape(2, 3))
    assert f["a1", 2] == 4.0
    assert f[{"B": 2, "A": "a1"}] == 4.0
    assert f.to_dict()["a0", 3] == 2.0
    assert f.marginalize("A").to_dict() == {1: 3.0, 2: 5.0, 3: 7.0}
    assert f.argmax() == {"A": "a1", "B": 3}
    with pytest.raises(TableError, match="takes 2 labels"):
        f["a1"]
    with pytest.raises(TableError, match="no state given for 'B'"):
        f[{"A": "a1"}]
    with pytest.raises(UnknownNameError, match="no variable 'Z' in a table over 'A', 'B'"):
        f[{"A": "a1", "B": 1, "Z": 0}]
    with pytest.raises(UnknownNameError):
        f.marginalize("Z")
    pair = Variable("P", [("x", 1), ("y", 2)])
    assert Factor([pair], [0.25, 0.75])["y", 2] == 0.75


def test_a_dict_that_would_lose_a_state_is_refused():
    both = Factor([Variable("X", [1, True, 0])], [0.2, 0.5, 0.3])
    with pytest.raises(TableError, match="cannot tell apart the states of 'X'"):
        both.to_dict()
    assert both.to_frame()["value"].tolist() == [0.2, 0.5, 0.3]


def test_infinite_numbers_are_refused():
    with pytest.raises(TableError, match="infinite"):
        Factor([A], [float("inf"), 1.0])


def test_frame_has_a_row_for_each_joint_state():
    frame = Factor([A, C], [[1.0, 2.0], [3.0, 4.0]]).to_frame()
    assert frame.to_dict("list") == {
        "A": ["a0", "a0", "a1", "a1"], "C": [False, True, False, True], "value": [1.0, 2.0, 3.0, 4.0],
    }  # fmt: skip
    assert list(Factor([Variable("value", [0, 1])], [1.0, 2.0]).to_frame()) == ["value", "value_"]


def test_factors_are_immutable_values():
    given_array = np.array([1.0, 2.0])
    f = Factor([A], given_array)
    given_array[0] = 9.0
    assert f.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        f.values[0] = 3.0
    with pytest.raises(AttributeError, match="immutable"):
        f.values = given_array
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        f.nothing  # noqa: B018
    for twin in (copy.copy(f), copy.deepcopy(f), *(pickle.loads(pickle.dumps(f, p)) for p in range(6))):
        assert twin == f
        assert hash(twin) == hash(f)
        assert not twin.values.flags.writeable
    assert f.normalize() != f


@pytest.mark.parametrize(
    ("values", "message"),
    [([1.0], "shape"), ([1.0, float("nan")], "NaN"), (["x", "y"], "numbers"), ([[1.0], [1.0, 2.0]], "numbers")],
)
def test_wrong_tables_are_refused(values, message):
    with pytest.raises(TableError, match=message):
        Factor([A], values)
    with pytest.raises(TableError, match="all different"):
        Factor([A, A], np.ones((2, 2)))


def test_factors_that_disagree_about_states_do_not_mix():
    other = Variable("A", ["a1", "a0"])
    with pytest.raises(TableError, match="disagree about the states of 'A'"):
        Factor([A], [1.0, 2.0]) * Factor([other], [1.0, 2.0])
    with pytest.raises(TableError, match="sums to 0"):
        Factor([A], [0.0, 0.0]).normalize()


def test_long_tables_are_cut_in_the_middle():
    wide = Variable("W", range(100))
    lines = str(Factor([wide], np.arange(100.0))).splitlines()
    assert "... 60 more lines ..." in lines
    assert lines[-1].split() == ["99", "|", "99"]
    assert len(lines) == 43


def test_reorder_moves_axes():
    f = Factor([A, B], np.arange(6.0).reshape(2, 3))
    assert f.reorder(["B", "A"])[2, "a1"] == 4.0
    with pytest.raises(TableError, match="must name each once"):
        f.reorder(["B"])


@pytest.mark.parametrize(
    ("name", "states", "message"),
    [
        ("", ["a"], "non-empty"), (3, ["a"], "non-empty"), ("X", [], "at least one"), ("X", "ab", "list of labels"),
        ("X", ["a", "a"], "twice"), ("X", [1, 1.0], "twice"), ("X", [None, 1], "missing"),
        ("X", [float("nan")], "missing"), ("X", [[1]], "hashable"), ("X", 3, "list of labels"),
        ("X", {"a", "b"}, "a set has none"),
    ],
)  # fmt: skip
def test_wrong_variables_are_refused(name, states, message):
    with pytest.raises(TableError, match=message):
        Variable(name, states)


def test_variables_are_values():
    assert Variable("X", [1, 2]) == Variable("X", [1, 2])
    assert Variable("X", [1, 2]) != Variable("X", [2, 1])
    assert Variable("X", [1]) != Variable("X", [True])
    assert Variable("X", [1]) != Variable("Y", [1])
    x = Variable("X", [np.int64(1), np.str_("a"), np.bool_(True)])
    assert [type(state) for state in x.states] == [int, str, bool]
    assert 1 in x
    assert "b" not in x
    assert [] not in x
    with pytest.raises(AttributeError, match="immutable"):
        x.name = "Y"
    assert pickle.loads(pickle.dumps(x)) == x
    assert copy.deepcopy(x) is x


def test_what_counts_as_missing():
    import pandas as pd

    assert all(map(is_missing, [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D")]))
    assert not any(map(is_missing, ["", "NA", 0, False, (), np.datetime64("2020-01-01")]))


def test_a_factor_is_no_sequence_and_no_container():
    f = Factor([A], [0.5, 0.5])
    for wrong in (lambda: list(f), lambda: "a0" in f):
        with pytest.raises(TypeError):
            wrong()


def test_arithmetic_with_numbers():
    f = Factor([A], [0.5, 2.0])
    assert (f / 2).values.tolist() == [0.25, 1.0]
    for wrong in (lambda: f * "a", lambda: f / None, lambda: f * True):
        with pytest.raises(TableError, match="by a factor or a number"):
            wrong()
    with pytest.raises(TableError, match="divided by 0"):
        f / 0
    assert hash(Factor([A], [0.0, 1.0])) == hash(Factor([A], [-0.0, 1.0]))
    with pytest.raises(TableError, match="Variable objects"):
        Factor(["A"], [1.0, 2.0])
    with pytest.raises(TableError, match="a set has none"):
        Factor({A, B}, np.ones((2, 3)))
    for wrong in (["0.5", "0.5"], np.ma.masked_array([0.5, 0.5], [True, False]), [None, 1.0], [10**400, 1]):
        with pytest.raises(TableError):
            Factor([A], wrong)


def test_a_product_too_large_is_refused_before_it_is_allocated():
    product = Factor([Variable("v0", range(2))], [1.0, 1.0])
    with pytest.raises(TooLargeError, match="the product would have 1,073,741,824 cells"):
        for i in range(1, 40):
            product = product * Factor(
                [Variable(f"v{i}", range(2 if i < 10 else 2**20))], np.ones(2 if i < 10 else 2**20)
            )


def test_dates_stay_dates():
    day = Variable("day", np.array(["2020-01-01", "2020-01-02"], "M8[ns]"))
    assert day.code(np.datetime64("2020-01-02", "ns")) == 1
    assert not isinstance(day.states[0], int)
