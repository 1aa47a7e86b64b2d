"""Inversion: which state a uniform number leads to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import EvidenceError
from pgm.inference import drawing
from pgm.inference.drawing import Draw, as_generator, joint_codes, row_blocks, thresholds

LARGEST = 1 - 2.0**-53
"""The largest number that a generator gives."""


@st.composite
def weights(draw):
    """Rows of weights, with zeros and of very different sizes; each row has one that is positive."""
    n_states = draw(st.integers(1, 40))
    numbers = st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1.0, 1e-200, 0.1, 1 / 3]))
    rows = draw(st.lists(st.lists(numbers, min_size=n_states, max_size=n_states), min_size=1, max_size=4))
    table = np.array(rows)
    table[table.sum(axis=1) == 0, draw(st.integers(0, n_states - 1))] = 1.0
    return table


def drawn(table, row, uniforms):
    uniforms = np.asarray(uniforms)
    columns = {0: np.full(len(uniforms), row), 1: np.empty(len(uniforms), np.uint16)}
    Draw([1], [0], [((0, 1), table)], table.shape, n_rows=10**9).into(columns, uniforms)
    return columns[1]


@settings(max_examples=80, deadline=None)
@given(weights())
def test_each_state_has_an_interval_as_long_as_its_probability(table):
    cumulative = thresholds(table)
    for row, numbers in enumerate(table):
        edges = np.concatenate([[0.0], cumulative[row]])
        lengths = np.diff(edges)[: len(numbers)]
        assert lengths == pytest.approx(numbers / numbers.sum(), abs=1e-13)
        starts = edges[: len(numbers)][lengths > 0]
        assert drawn(table, row, starts).tolist() == np.flatnonzero(lengths > 0).tolist()


@settings(max_examples=80, deadline=None)
@given(weights(), st.lists(st.floats(0, LARGEST), max_size=20))
def test_a_state_of_probability_zero_is_never_drawn(table, uniforms):
    for row, numbers in enumerate(table):
        edges = thresholds(table)[row]
        around = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
        around = around[(around >= 0) & (around <= LARGEST)]
        assert (numbers[drawn(table, row, [*uniforms, *around, 0.0, LARGEST])] > 0).all()


def test_probabilities_that_do_not_quite_add_up_lead_nowhere_else():
    tenths = np.array([[0.1] * 10 + [0.0]])  # adds up to 0.9999999999999999
    assert drawn(tenths, 0, [LARGEST])[0] == 9
    certain = np.array([[0.0, 0.0, 1.0, 0.0]])
    assert drawn(certain, 0, [0.0, 0.5, LARGEST]).tolist() == [2, 2, 2]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_product_of_tables_is_drawn_from_alike_beforehand_and_row_by_row(data):
    """Two variables drawn together given two, from up to four tables over some of them."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cardinalities = [2, 3, 4, 2]
    scopes = data.draw(st.lists(st.lists(st.sampled_from(range(4)), min_size=1, unique=True), max_size=3))
    factors = []
    for scope in [[0, 1], *scopes]:
        table = rng.random([cardinalities[v] for v in scope]) * (rng.random([cardinalities[v] for v in scope]) > 0.2)
        factors.append((scope, table))
    given_codes = {2: np.repeat(np.arange(4), 2), 3: np.tile(np.arange(2), 4)}
    expected = np.ones((2, 3, 4, 2))
    for scope, table in factors:
        letters = "".join("abcd"[v] for v in scope)
        expected = expected * np.einsum(f"{letters},abcd->abcd", table, np.ones((2, 3, 4, 2)))
    expected = expected.transpose(2, 3, 0, 1).reshape(8, 6)
    possible = expected.sum(axis=1) > 0
    by_row = Draw([0, 1], [2, 3], factors, cardinalities, n_rows=0)
    found = by_row.weights(given_codes, 8)
    shares = found[possible] / found[possible].sum(axis=1, keepdims=True)
    assert shares == pytest.approx(expected[possible] / expected[possible].sum(axis=1, keepdims=True), abs=1e-13)
    with np.errstate(divide="ignore"):
        logs = [(scope, np.log(table) - 900) for scope, table in factors]
    of_logs = Draw([0, 1], [2, 3], logs, cardinalities, n_rows=0, logarithms=True).weights(given_codes, 8)[possible]
    assert of_logs / of_logs.sum(axis=1, keepdims=True) == pytest.approx(shares, abs=1e-12)
    uniforms = rng.random(8)[possible]
    results = []
    for draw in (by_row, Draw([0, 1], [2, 3], factors, cardinalities, n_rows=8)):
        columns = {v: codes[possible] for v, codes in given_codes.items()}
        columns |= {0: np.zeros(len(uniforms), np.uint8), 1: np.zeros(len(uniforms), np.uint8)}
        draw.into(columns, uniforms)
        results.append(columns[0] * 3 + columns[1])
    assert results[0].tolist() == results[1].tolist()
    assert (expected[possible][np.arange(len(uniforms)), results[0]] > 0).all()


def test_products_too_small_for_floating_point_numbers_are_drawn_by_their_ratios():
    tiny = np.array([1e-200, 3e-200])
    draw = Draw([0], [], [([0], tiny), ([0], tiny), ([0], tiny)], [2], n_rows=1)
    columns = {0: np.zeros(3, np.uint8)}
    draw.into(columns, np.array([0.0, 1 / 28 - 1e-9, 1 / 28 + 1e-9]))
    assert columns[0].tolist() == [0, 0, 1]


def test_joint_codes_count_with_the_last_variable_fastest():
    shape = (3, 2, 300)
    columns = dict(enumerate(np.indices(shape).reshape(3, -1).astype(np.uint16)))
    assert joint_codes(columns, [0, 1, 2], shape, 1800).tolist() == list(range(1800))
    assert joint_codes({}, [], [], 3).tolist() == [0, 0, 0]


def test_blocks_cover_all_rows_and_respect_memory(monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK_CELLS", 1000)
    for n_rows, cells in ((0, 1), (1, 1), (17, 100), (20_000, 1), (3, 10**9)):
        blocks = list(row_blocks(n_rows, cells))
        assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(n_rows))
        assert all(block.stop - block.start <= max(1, 1000 // cells) for block in blocks)


@pytest.mark.parametrize("rng", [1.0, "1", -1, True, np.random, np.random.RandomState(0), [1]])
def test_what_is_no_generator_and_no_seed_is_refused(rng):
    with pytest.raises(EvidenceError, match=r"rng is a numpy.random.Generator, a whole number"):
        as_generator(rng)


def test_a_generator_is_used_itself_and_a_seed_makes_one():
    generator = np.random.default_rng(3)
    assert as_generator(generator) is generator
    assert as_generator(np.int64(5)).random() == as_generator(5).random()
    assert as_generator(None).random() != as_generator(None).random()
