"""The joint table without its empty cells, against a Counter over the rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import CountSource, Dataset
from pgm.errors import DataError, MissingDataError, UnknownNameError
from pgm.factors.variable import Variable


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_a_counter(draw):
    n_rows = draw.draw(st.integers(0, 30))
    row = st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(0, 1))
    rows = draw.draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    weight = draw.draw(st.sampled_from([None, st.integers(0, 3), st.floats(0, 10, allow_subnormal=False)]))
    weights = None if weight is None else draw.draw(st.lists(weight, min_size=n_rows, max_size=n_rows))
    variables = [Variable("a", range(3)), Variable("b", range(401)), Variable("c", range(2))]
    columns = [np.array([row[place] for row in rows], np.intp) for place in range(3)]
    data = Dataset.from_codes(variables, columns, weights)
    assert isinstance(data, CountSource)
    order = draw.draw(st.permutations(range(3)))[: draw.draw(st.integers(1, 3))]
    expected: Counter[tuple[int, ...]] = Counter()
    for row, times in zip(rows, [1] * n_rows if weights is None else weights, strict=True):
        expected[tuple(row[place] for place in order)] += times
    expected = +expected  # without zeros
    states, counts = data.count_occupied(["abc"[place] for place in order])
    assert list(map(tuple, states.tolist())) == sorted(expected)
    assert counts.tolist() == pytest.approx([expected[state] for state in sorted(expected)], rel=1e-12)
    assert counts.dtype == (np.float64 if any(isinstance(total, float) for total in weights or ()) else np.int64) or (
        counts.dtype == np.int64 and all(float(total).is_integer() for total in weights)
    )


def test_a_table_larger_than_any_memory():
    data = Dataset.from_codes([Variable(f"v{number}", range(200)) for number in range(60)], np.full((5, 60), 199))
    states, counts = data.count_occupied(data.names)
    assert states.tolist() == [[199] * 60]
    assert counts.tolist() == [5]


def test_bad_questions():
    data = Dataset({"x": [0, 1, None], "y": [0, 1, 1]})
    assert data.count_occupied("y").counts.tolist() == [1, 2]
    with pytest.raises(MissingDataError, match=r"'x \(1 of 3\)'"):
        data.count_occupied(["y", "x"])
    with pytest.raises(UnknownNameError, match="'z'"):
        data.count_occupied(["z"])
    with pytest.raises(DataError, match="no columns"):
        data.count_occupied([])
