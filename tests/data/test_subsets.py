"""Joint tables of pairs by matrix products, against counting row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pgm.data import Dataset, subsets
from pgm.errors import MissingDataError, TooLargeError, UnknownNameError


def tally(data, names):
    """Total weight by joint label, counted in plain Python."""
    columns = data.to_dict()
    weights = [1.0] * data.n_rows if data.weights is None else data.weights.tolist()
    found = Counter()
    for *labels, weight in zip(*(columns[name] for name in names), weights, strict=True):
        found[tuple(labels)] += weight
    return found


def make(rng, n_rows=200, weights=None):
    cardinalities = {"a": 2, "b": 3, "c": 4, "d": 2}
    columns = {name: rng.integers(0, size, n_rows).tolist() for name, size in cardinalities.items()}
    states = {name: list(range(size)) for name, size in cardinalities.items()}
    return Dataset(columns, states=states, weights=weights)


@pytest.mark.parametrize("weights", [None, "whole", "fractional", "huge"])
@pytest.mark.parametrize("scope", [[], ["b"], ["b", "a"]])
@pytest.mark.parametrize(
    ("rows", "kept", "at_once"), [(1 << 16, 1 << 15, 1 << 13), (37, 1 << 15, 8), (37, 36, 8), (90, 1, 90)]
)
def test_counts_of_all_pairs(weights, scope, rows, kept, at_once, monkeypatch):
    for name, size in (("_ROWS", rows), ("_KEPT", kept), ("_AT_ONCE", at_once)):
        monkeypatch.setattr(subsets, name, size)
    rng = np.random.default_rng(0)
    kinds = {"whole": rng.integers(0, 4, 200), "fractional": rng.random(200), "huge": rng.integers(0, 1 << 30, 200)}
    data = make(rng, weights=kinds.get(weights))
    for first in (0, 2):
        counts = data.count_pairs(scope, first)
        names = list(data.names)
        offset = data.level_offsets[first]
        for u in names[first:]:
            for v in names[first:]:
                if u == v or {u, v} & set(scope):
                    continue
                expected = tally(data, [*scope, u, v])
                shape = [data.variable(name).cardinality for name in scope]
                for labels in np.ndindex(*shape, data.variable(u).cardinality, data.variable(v).cardinality):
                    state = int(np.ravel_multi_index(labels[:-2], shape)) if scope else 0
                    row = data.level_offsets[names.index(u)] - offset + labels[-2]
                    column = data.level_offsets[names.index(v)] - offset + labels[-1]
                    assert counts[state, row, column] == pytest.approx(expected[labels], rel=1e-12)


def test_no_rows():
    data = make(np.random.default_rng(0), n_rows=0)
    assert not data.count_pairs(["a"], 1).any()


def test_bad_questions():
    data = Dataset({"a": [0, 1, None], "b": [0, 1, 1]})
    with pytest.raises(MissingDataError, match="1 of 3"):
        data.count_pairs([])
    with pytest.raises(UnknownNameError, match="'z'"):
        data.count_pairs(["z"])


def test_tables_of_pairs_too_large_are_refused_with_a_hint():
    n_rows = 30_000
    data = Dataset({"id": list(range(n_rows)), "x": [0, 1] * (n_rows // 2)})
    with pytest.raises(TooLargeError, match=r"'x' with all pairs .* 'id' has 30,000 states .* identifier"):
        data.count_pairs(["x"])
