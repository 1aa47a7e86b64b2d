"""Families counted together, against one table at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset, together
from pgm.data.together import count_together
from pgm.errors import MissingDataError
from pgm.factors.variable import Variable
from pgm.learning.parameters import sparse_families


@st.composite
def questions(draw):
    cardinalities = draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    n_rows = draw(st.integers(0, 40))
    codes = [np.array(draw(st.lists(st.integers(0, c - 1), min_size=n_rows, max_size=n_rows)), int)
             for c in cardinalities]  # fmt: skip
    data = Dataset.from_codes([Variable(f"v{i}", range(c)) for i, c in enumerate(cardinalities)], codes)
    scopes = st.lists(st.sampled_from(data.variables), min_size=1, max_size=4, unique=True)
    return data, draw(st.lists(scopes, max_size=6))


@pytest.mark.parametrize("cells", [1, 20, 65_535])
@pytest.mark.parametrize("rows", [3, 1 << 17])
@settings(max_examples=50, deadline=None)
@given(question=questions())
def test_one_table_at_a_time(cells, rows, question):
    data, families = question
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_UNION_CELLS", cells)
        patch.setattr(together, "_ROWS", rows)
        found = count_together(data, families)
    names = [[variable.name for variable in family] for family in families]
    expected = data.count([(child, parents) for *parents, child in names])
    assert [table.dtype for table in found] == [np.int64] * len(families)
    assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("cardinality", [65_534, 65_535, 65_536, 65_537])
def test_states_at_the_edge_of_16_bits(cardinality):
    one, many = Variable("one", ["only"]), Variable("many", range(cardinality))
    codes = np.array([[0, cardinality - 1], [0, 0], [0, cardinality - 1]])
    (table,) = count_together(Dataset.from_codes([one, many], codes), [[one, many]])
    assert table.shape == (1, cardinality)
    assert (table[0, 0], table[0, -1], table.sum()) == (1, 2, 3)


def test_missing_cells_of_these_columns_only():
    data = Dataset({"a": [0, 1, None], "b": [0, 1, 1]})
    assert count_together(data, [[data.variable("b")]])[0].tolist() == [1, 2]
    with pytest.raises(MissingDataError, match=r"'a \(1 of 3\)'"):
        count_together(data, [[data.variable("b")], [data.variable("b"), data.variable("a")]])


def test_few_passes_for_a_known_network(monkeypatch):
    net = pgm.networks.load("alarm")
    data = net.sample(9000, rng=0)
    passes = []
    inner = together._count
    monkeypatch.setattr(together, "_count", lambda *args: passes.append(args[1]) or inner(*args))
    fitted = pgm.fit_parameters(net, data, pseudocount=1)
    assert len(passes) == 6
    monkeypatch.setattr(sparse_families, "_MANY_ROWS", 10_000)
    assert pgm.fit_parameters(net, data, pseudocount=1) == fitted
    assert len(passes) == 6
