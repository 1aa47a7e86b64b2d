"""What missing cells leave of the data: patterns and support, against counting row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import MissingDataError, UnknownNameError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.learning.parameters import missing_patterns, sparse_families, table_support
from pgm.learning.parameters.support import MissingPattern

VARIABLES = [Variable("a", [0, 1]), Variable("b", ["x", "y", "z"]), Variable("c", [False, True])]
rows = st.lists(st.tuples(*(st.sampled_from([*v.states, None]) for v in VARIABLES)), min_size=1, max_size=25)


def dataset(drawn, weights=None):
    columns = {v.name: [row[i] for row in drawn] for i, v in enumerate(VARIABLES)}
    return Dataset(columns, variables=VARIABLES, weights=weights)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_patterns_row_by_row(drawn):
    found = missing_patterns(dataset(drawn))
    expected = Counter(tuple(name for name, cell in zip("abc", row, strict=True) if cell is None) for row in drawn)
    assert {pattern.missing: pattern.n_rows for pattern in found} == expected
    assert [pattern.n_rows for pattern in found] == sorted(expected.values(), reverse=True)
    assert found.n_complete == expected[()]
    assert len(found) == len(expected)


def test_patterns_of_some_columns_with_weights():
    data = Dataset({"a": [0, None, None], "b": [None, 1, 0], "c": [1, 1, None]}, weights=[1, 0.5, 2])
    assert missing_patterns(data, ["c", "a"]).patterns == (
        MissingPattern((), 1, 1.0), MissingPattern(("c", "a"), 1, 2.0), MissingPattern(("a",), 1, 0.5),
    )  # fmt: skip
    with pytest.raises(UnknownNameError, match="'d'"):
        missing_patterns(data, "d")
    frame = {"a": [1, None], "height": [1.5, None]}
    assert missing_patterns(frame, "a").n_complete == 1  # a column that is not asked for is not looked at


def test_patterns_print():
    codes = np.zeros((500, 7), int)
    codes[:127] = [[number >> i & 1 for i in range(7)] for number in range(1, 128)]
    data = Dataset.from_codes([Variable(f"v{i}", ["only"]) for i in range(7)], codes)
    text = str(missing_patterns(data)).splitlines()
    assert text[:3] == ["rows | share | missing", text[1], " 373 | 74.6% | (none)"]
    assert len(text) == 2 + 40 + 1
    assert text[-1] == "... 88 more lines ..."
    assert str(missing_patterns({"a": [1]})).splitlines()[-1] == "   1 | 100.0% | (none)"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("missing", ["available", "complete_rows"])
@settings(max_examples=40, deadline=None)
@given(drawn=rows)
def test_support_row_by_row(sparse, missing, drawn):
    dag = DAG([("a", "c"), ("b", "c")])
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(sparse_families, "_LARGE", 0)
            patch.setattr(sparse_families, "_CELLS_PER_ROW", 0)
        found = table_support(dag, dataset(drawn), missing=missing)
    if any(all(row[column] is None for row in drawn) for column in range(3)):
        return  # latent; see below
    complete = [row for row in drawn if None not in row]
    used = complete if missing == "complete_rows" else [row for row in drawn if None not in row]
    configurations = Counter(row[:2] for row in used)
    assert found["c"].weight == len(used)
    assert found["c"].n_configurations == 6
    assert found["c"].n_unseen == 6 - len(configurations)
    assert found["c"].least == min(configurations.values(), default=0)
    absent = [(a, b) for a in (0, 1) for b in "xyz" if (a, b) not in configurations]
    assert [*found["c"].unseen] == absent
    assert found["c"].is_identified == (not absent)
    of_a = [row for row in (complete if missing == "complete_rows" else drawn) if row[0] is not None]
    assert (found["a"].weight, found["a"].is_identified) == (len(of_a), bool(of_a))


def test_latent_variables():
    dag = DAG([("h", "a"), ("h", "b"), ("a", "b"), ("k", "c")])
    data = Dataset({"a": [0, 1], "b": [0, 1], "c": [1, 0], "k": [None, None]}, states={"k": ["u", "v", "w"]})
    for missing in ("available", "complete_rows"):
        found = table_support(dag, data, missing=missing)
        assert {family.child: family.latent for family in found} == {
            "h": ("h",), "a": ("h",), "b": ("h",), "k": ("k",), "c": ("k",),
        }  # fmt: skip
        assert found.not_identified == dag.nodes
        assert (found["c"].n_configurations, found["a"].n_configurations) == (3, None)
        assert found["h"].verdict == "latent child"
        assert found["b"].verdict == "latent parent h"
    with pytest.raises(MissingDataError):
        table_support(DAG([("a", "b")]), {"a": [0, None], "b": [0, 1]}, missing="error")
    with pytest.raises(UnknownNameError):
        table_support(dag, data, missing="drop")


def test_complete_data_are_identified():
    net = pgm.networks.load("asia")
    found = table_support(net, net.sample(5000, rng=0), missing="error")
    assert found.total_weight == found["lung"].weight == 5000
    assert found["lung"].is_identified
    assert "lung | smoke" in str(found)
    assert len(found) == 8


def test_families_too_large_to_write_down():
    variables = [Variable(f"x{i}", [0, 1]) for i in range(41)]
    data = Dataset.from_codes(variables, np.random.default_rng(0).integers(0, 2, (30, 41)))
    found = table_support(DAG([(f"x{i}", "x40") for i in range(40)]), data)["x40"]
    assert (found.n_configurations, found.n_unseen, found.weight, found.least) == (2**40, 2**40 - 30, 30, 1)
    assert len(found.unseen) == 8
