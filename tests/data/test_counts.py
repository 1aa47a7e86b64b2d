"""Counting, against a Counter over the rows."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset, counts
from pgm.data.counts import FamilyCounter
from pgm.errors import DataError, MissingDataError, TooLargeError, UnknownNameError
from pgm.factors.variable import Variable
from tests.data.bundled import table


@st.composite
def tables(draw):
    """Cardinalities, rows of codes with many repetitions, and weights of every kind."""
    cardinalities = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    n_rows = draw(st.integers(0, 40))
    row = st.tuples(*(st.integers(0, cardinality - 1) for cardinality in cardinalities))
    rows = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    rows = draw(st.permutations(rows * draw(st.integers(1, 3))))
    weight = draw(st.sampled_from([None, st.integers(0, 3), st.floats(0, 10, allow_subnormal=False)]))
    weights = None if weight is None else draw(st.lists(weight, min_size=len(rows), max_size=len(rows)))
    return cardinalities, rows, weights


def naive(rows, weights, scope, cardinalities):
    """Count one joint state after the other."""
    totals = defaultdict(float)
    for row, weight in zip(rows, [1] * len(rows) if weights is None else weights, strict=True):
        totals[tuple(row[variable] for variable in scope)] += weight
    shape = [cardinalities[variable] for variable in scope]
    return np.array([totals[state] for state in np.ndindex(*shape)]).reshape(shape)


def columns(cardinalities, rows):
    return [np.array([row[i] for row in rows], np.uint8) for i in range(len(cardinalities))]


def agree(found, expected, weights):
    exact = weights is None or all(float(weight).is_integer() for weight in weights)
    assert found.dtype == (np.int64 if exact else np.float64)
    assert (found == expected).all() if exact else np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert (found[expected == 0] == 0).all(), "what never occurs must not become a tiny number"


@settings(max_examples=150, deadline=None)
@given(tables(), st.data())
def test_counts_of_any_scope(example, data):
    cardinalities, rows, weights = example
    scope = data.draw(st.permutations(range(len(cardinalities))))[: data.draw(st.integers(0, len(cardinalities)))]
    counter = FamilyCounter(
        columns(cardinalities, rows), cardinalities, None if weights is None else np.array(weights, float)
    )
    agree(counter.count(scope), naive(rows, weights, scope, cardinalities), weights)


@settings(max_examples=150, deadline=None)
@given(tables(), st.lists(st.data(), min_size=4, max_size=4))
def test_extensions_in_any_order_of_asking(example, draws):
    cardinalities, rows, weights = example
    counter = FamilyCounter(
        columns(cardinalities, rows), cardinalities, None if weights is None else np.array(weights, float)
    )
    offsets = [0, *accumulate(cardinalities)]
    for data in draws:  # what was remembered before is used for the next
        scope = data.draw(st.permutations(range(len(cardinalities))))[: data.draw(st.integers(1, len(cardinalities)))]
        extended = counter.extend(scope)
        for variable, (start, stop) in enumerate(pairwise(offsets)):
            if variable not in scope:
                expected = naive(rows, weights, [*scope, variable], cardinalities)
                agree(extended[..., start:stop], expected, weights)
            agree(extended[..., start:stop].sum(axis=-1), naive(rows, weights, scope, cardinalities), weights)


@pytest.mark.parametrize("radix", [1, 2, 7, 64, 5000])
def test_every_packing_counts_the_same(monkeypatch, radix):
    data = table("insurance")
    codes = [data.codes(name) for name in data.names]
    cardinalities = [variable.cardinality for variable in data.variables]
    expected = FamilyCounter(codes, cardinalities)._cross((3, 8))
    monkeypatch.setattr(counts, "_RADICES", (radix,))
    assert (FamilyCounter(codes, cardinalities)._cross((3, 8)) == expected).all()


def test_subtraction_counts_the_same(monkeypatch):
    data = table("alarm")
    codes = [data.codes(name) for name in data.names]
    cardinalities = [variable.cardinality for variable in data.variables]
    scopes = [(16,), (16, 17), (16, 17, 24), (2, 17, 24), (17, 24), (2, 16, 17, 24)]
    subtracting = FamilyCounter(codes, cardinalities)
    found = [subtracting.extend(scope) for scope in scopes]
    monkeypatch.setattr(counts, "_FEW", -1.0)
    plain = FamilyCounter(codes, cardinalities)
    for scope, extended in zip(scopes, found, strict=True):
        assert (extended == plain.extend(scope)).all()
        assert (extended[..., :3].sum(axis=-1) == plain.count(scope)).all()


def test_fractional_weights_are_never_subtracted():
    """0.3 + 0.2 + 0.1 and 0.1 + 0.2 + 0.3 differ, so that a difference would leave a trace of rows there are not."""
    d, c, a = [2, 1, 0, *range(3, 20)], [1, 1, 1, *[0] * 17], [1, 2, 3, *[0] * 17]
    codes = [np.array(column, np.uint8) for column in (d, c, a)]
    counter = FamilyCounter(codes, [20, 2, 4], np.array([0.1, 0.2, 0.3, *[0.5] * 17]))
    counter.extend([1])
    assert counter.extend([1, 2])[1, 0, :20].tolist() == [0.0] * 20
    assert counter.extend([1, 2])[1, 0, 20:].tolist() == [0.0] * 6


def test_forgetting_changes_nothing(monkeypatch):
    monkeypatch.setattr(counts, "_REMEMBERED_CELLS", 100)
    data = table("asia")
    first = data.count_extensions("D", ["B", "E"])
    again = Dataset(data)
    again.count_extensions("B")
    again.count_extensions("E", ["B"])
    assert (again.count_extensions("D", ["B", "E"]) == first).all()
    assert again._counts()._remembered_cells <= 100


def test_equal_rows_are_collapsed_and_different_ones_are_left_alone():
    rng = np.random.default_rng(0)
    few = [rng.integers(0, 2, 30_000).astype(np.uint8) for _ in range(6)]
    many = [rng.integers(0, 200, 30_000).astype(np.uint8) for _ in range(6)]
    assert FamilyCounter(few, [2] * 6)._n_rows == 64
    assert FamilyCounter(many, [200] * 6)._n_rows == 30_000
    assert FamilyCounter(few, [2] * 6).count(range(6)).sum() == 30_000


def test_rows_of_many_columns_are_told_apart():
    """Mixed-radix numbers of 100 columns exceed 64 bits; every row still differs from every other in one column."""
    rows = np.tile(np.eye(100, dtype=np.uint8) * 255, (3, 1))
    counter = FamilyCounter(list(rows.T.copy()), [256] * 100)
    assert counter._n_rows == 100
    assert counter.count([7]).tolist() == [297, *[0] * 254, 3]
    assert counter.count([7, 8])[255, 0] == 3


def test_weights_give_the_counts_of_repeated_rows():
    values = {"a": ["x", "x", "y", "y", "z"], "b": ["no", "yes", "yes", "no", "yes"]}
    repeated = {
        name: [v for v, n in zip(column, [3, 1, 2, 2, 0], strict=True) for _ in range(n)]
        for name, column in values.items()
    }
    weighted = Dataset(values, weights=[3, 1, 2, 2, 0])
    plain = Dataset(repeated, variables=weighted.variables)
    for ask in (lambda d: d.count([("b", ["a"])])[0], lambda d: d.count_extensions("a")):
        assert ask(weighted).tolist() == ask(plain).tolist()
        assert ask(weighted).dtype == np.int64


def test_counts_of_a_published_table():
    data = table("learning.test")
    counted = Counter(zip(*(data.to_dict()[name] for name in "ACD"), strict=True))
    (found,) = data.count([("D", ["A", "C"])])
    for state, number in np.ndenumerate(found):
        labels = tuple(data.variable(name).states[code] for name, code in zip("ACD", state, strict=True))
        assert counted[labels] == number


def test_a_single_name_is_a_list_of_parents():
    data = Dataset({"ab": [0, 1], "a": [0, 0], "b": [1, 1]})
    assert data.count([("a", "ab")])[0].shape == (2, 1)
    assert data.count_extensions("a", "ab").shape == (2, 1, 4)


def test_answers_cannot_be_spoiled():
    data = table("asia")
    extended = data.count_extensions("D", ["B"])
    with pytest.raises(ValueError, match=r"read-only"):
        extended[0] = 0


def test_bad_families():
    data = Dataset({"a": [0, 1], "b": [1, 0], "c": [None, 0]})
    with pytest.raises(UnknownNameError, match=r"'z'.*'a', 'b', 'c'"):
        data.count([("a", ["z"])])
    with pytest.raises(DataError, match=r"'a' has a variable twice"):
        data.count([("a", ["a"])])
    with pytest.raises(DataError, match=r"the parents of 'a' must be a list, not 3"):
        data.count([("a", 3)])
    with pytest.raises(MissingDataError, match=r"1 missing cell, in 'c \(1 of 2\)'"):
        data.count([("a", ["b"]), ("a", ["c"])])
    with pytest.raises(MissingDataError, match=r"'c \(1 of 2\)'"):
        data.count_extensions("a")
    assert data.count([("a", ["b"])])[0].tolist() == [[0, 1], [1, 0]], "holes elsewhere do not matter"


@pytest.mark.parametrize("families", ["ab", ["ab"], [("a",)], ("a", ["b"]), [3], {"a": ["b"]}, 3])
def test_what_is_no_list_of_families(families):
    with pytest.raises(DataError, match=r"^(a family is a pair|families are a list|the families must be)"):
        Dataset({"a": [0, 1], "b": [1, 0]}).count(families)


def test_threads_may_count_at_once(monkeypatch):
    """Under a limit so low that tables are forgotten all the time."""
    monkeypatch.setattr(counts, "_REMEMBERED_CELLS", 20_000)
    data = table("alarm").head(2000)
    names = data.names
    questions = [(names[i], names[i + 1 : i + 1 + i % 3]) for i in range(30)]
    expected = [Dataset(data).count_extensions(*question) for question in questions]
    shared = Dataset(data)

    def ask(first):
        order = questions[first:] + questions[:first]
        answers = [shared.count_extensions(*question) for question in order]
        return answers[len(questions) - first :] + answers[: len(questions) - first]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(ask, range(0, 30, 5)))
    finally:
        sys.setswitchinterval(before)
    assert all(np.array_equal(a, b) for answers in found for a, b in zip(expected, answers, strict=True))
    counter = shared._counts()
    assert counter._remembered_cells == sum(known.size for known in counter._remembered.values()) <= 20_000


def test_large_tables_become_integers_in_pieces(monkeypatch):
    data = table("insurance")
    families = [("Age", ["SocioEcon", "GoodStudent"]), ("Theft", ["CarValue"])]
    expected = data.count(families), data.count_extensions("Age", ["SocioEcon"])
    monkeypatch.setattr(counts, "_BLOCK", 7)
    again = Dataset(data)
    found = again.count(families), again.count_extensions("Age", ["SocioEcon"])
    assert all(map(np.array_equal, found[0], expected[0]))
    assert np.array_equal(found[1], expected[1])
    assert {array.dtype for array in (*found[0], found[1])} == {np.dtype(np.int64)}


@pytest.mark.parametrize("weights", [None, np.full(500, 0.5)])
def test_counting_takes_little_more_memory_than_the_table(weights):
    names = [f"x{i}" for i in range(19)]
    codes = np.random.default_rng(0).integers(0, 2, (500, 19)).astype(np.uint8)
    data = Dataset.from_codes([Variable(name, [0, 1]) for name in names], codes, weights)
    data.count([("x0", ["x1"])])
    tracemalloc.start()
    (found,) = data.count([("x0", names[1:])])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * found.nbytes


def test_many_variables_of_one_state():
    """An array has at most 64 axes, and no table needs more than one for each variable of the family."""
    names = [f"K{i}" for i in range(70)]
    columns = {name: np.zeros(3, int) for name in names}
    data = Dataset.from_codes(
        [*(Variable(name, ["only"]) for name in names), Variable("x", [0, 1])],
        [*columns.values(), np.array([0, 1, 1])],
    )
    assert data.count_extensions("x").tolist() == [[1] * 71 + [0], [2] * 70 + [0, 2]]
    assert data.count([("x", names[:63])])[0].ravel().tolist() == [1, 2]
    assert data.count_extensions("x", names[:62]).size == 2 * 72
    with pytest.raises(TooLargeError, match=r"'x' and its 70 parents would have 71 axes"):
        data.count([("x", names)])
    with pytest.raises(TooLargeError, match=r"'x' and its 63 parents, extended.* 65 axes"):
        data.count_extensions("x", names[:63])


def test_tables_that_are_too_large_together():
    data = Dataset.from_codes([Variable(name, range(16_384)) for name in "ab"], np.zeros((3, 2), int))
    with pytest.raises(TooLargeError, match=r"3 tables of counts together would have 805,306,368 cells"):
        data.count([("a", ["b"])] * 3)


def test_columns_that_tell_rows_apart_are_named():
    numbers = np.arange(30_000)
    data = Dataset({"id": numbers, "x": numbers % 2, "serial": numbers[::-1]})
    with pytest.raises(TooLargeError, match=r"; 'id' has 30,000 states in 30,000 rows and looks like an identifier"):
        Dataset(data, columns=["id", "x"]).count_extensions("id")
    with pytest.raises(TooLargeError, match=r"'id' has .*, 'serial' has .* and look like identifiers"):
        data.count([("serial", ["id"])])


def test_tables_that_are_too_large_are_refused_before_counting():
    names = [f"P{i}" for i in range(1, 41)]
    data = Dataset.from_codes([Variable(name, [0, 1]) for name in ["Y", *names]], np.zeros((3, 41), int))
    with pytest.raises(TooLargeError, match=r"'Y' and its 40 parents.*2,199,023,255,552 cells"):
        data.count([("Y", names)])
    with pytest.raises(TooLargeError, match=r"'Y' and its 28 parents, extended"):
        data.count_extensions("Y", names[:28])
