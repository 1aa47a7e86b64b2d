"""Many small tables at once: counted and estimated side by side as one by one, by plain loops."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset, count_source
from pgm.data.source import CountsOnly
from pgm.errors import MissingDataError, TableError
from pgm.factors import Variable
from pgm.graph.dag import DAG
from pgm.learning import fit_parameters
from pgm.learning.parameters import estimation, few_rows
from pgm.learning.parameters.estimation import TableEstimator, estimate_table, estimate_tables
from pgm.learning.parameters.few_rows import count_at_once
from pgm.networks import load


@st.composite
def rows_and_families(draw):
    variables = [Variable(f"x{i}", range(draw(st.integers(1, 5)))) for i in range(draw(st.integers(1, 5)))]
    n_rows = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = [rng.integers(0, variable.cardinality, n_rows) for variable in variables]
    kind = draw(st.sampled_from(["none", "whole", "fractional"]))
    weights = {"none": None, "whole": rng.integers(0, 4, n_rows), "fractional": rng.random(n_rows)}[kind]
    scopes = st.lists(st.sampled_from(variables), min_size=1, max_size=4, unique_by=lambda variable: variable.name)
    return Dataset.from_codes(variables, codes, weights), draw(st.lists(scopes, min_size=1, max_size=8))


def by_loops(data, family):
    table = np.zeros([variable.cardinality for variable in family])
    for row in range(data.n_rows):
        place = tuple(data.codes(variable.name)[row] for variable in family)
        table[place] += 1 if data.weights is None else data.weights[row]
    return table


@settings(max_examples=60, deadline=None)
@given(rows_and_families(), st.sampled_from([1, 20, 1 << 18]))
def test_families_are_counted_as_by_loops(case, block):
    data, families = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "_BLOCK", block)
        found = count_at_once(data, families)
    for family, table in zip(families, found, strict=True):
        expected = by_loops(data, family)
        assert table.shape == expected.shape
        assert table.ravel().tolist() == pytest.approx(expected.ravel().tolist(), rel=1e-14)
        whole = data.weights is None or bool(np.all(data.weights == np.trunc(data.weights)))
        assert table.dtype == (np.int64 if whole else np.float64)
        assert not whole or np.array_equal(table, expected)


def test_rows_with_holes_are_refused():
    data = Dataset({"a": [0, None, 1], "b": [0, 1, 1]})
    with pytest.raises(MissingDataError, match=r"a \(1 of 3\)"):
        count_at_once(data, [list(data.variables)])
    assert count_at_once(data, [[data.variable("b")]])[0].tolist() == [1, 2]


@st.composite
def counted_families(draw):
    families, counts, priors = [], [], []
    for number in range(draw(st.integers(0, 7))):
        shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        families.append([Variable(f"v{number}.{axis}", range(size)) for axis, size in enumerate(shape)])
        size = math.prod(shape)
        cells = draw(st.lists(st.sampled_from([0, 0, 1, 2, 0.5, 7]), min_size=size, max_size=size))
        counts.append(np.reshape(cells, shape))
        alone = st.sampled_from([0.0, 1.0, 0.25])
        prior = draw(st.one_of(alone, st.just(None)))
        priors.append(np.linspace(0, 2, size).reshape(shape) if prior is None else prior)
    return families, counts, priors


def by_fractions(counts, prior):
    """Return a table of exact fractions, and its unseen rows."""
    values, unseen = np.empty(counts.shape, object), 0
    prior = np.broadcast_to(prior, counts.shape)
    for above in itertools.product(*map(range, counts.shape[:-1])):
        row = [Fraction(float(n)) + Fraction(float(a)) for n, a in zip(counts[above], prior[above], strict=True)]
        total = sum(row)
        unseen += total == 0
        values[above] = [number / total if total else Fraction(1, len(row)) for number in row]
    return values.astype(np.float64), unseen


@settings(max_examples=80, deadline=None)
@given(counted_families(), st.sampled_from([1, 6, 1 << 14]), st.sampled_from([1, 10, 1 << 18]))
def test_tables_are_estimated_as_by_fractions(case, small, block):
    families, counts, priors = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimation, "_SMALL", small)
        patch.setattr(estimation, "_BLOCK", block)
        found = estimate_tables(families, counts, priors)
    assert len(found.values) == len(found.n_unseen) == len(families)
    for values, n_unseen, table, prior in zip(*found, counts, priors, strict=True):
        expected, unseen = by_fractions(table, prior)
        assert values.shape == table.shape
        assert n_unseen == unseen
        assert values.ravel().tolist() == pytest.approx(expected.ravel().tolist(), rel=1e-15)
    before = [table.copy() for table in counts]
    TableEstimator(families, priors).tables(counts)
    assert all(np.array_equal(one, two) for one, two in zip(before, counts, strict=True))


@pytest.mark.parametrize("small", [1, 1 << 14])
def test_modes_and_their_absence_are_those_of_single_tables(small, monkeypatch):
    monkeypatch.setattr(estimation, "_SMALL", small)
    x, y = Variable("x", ["no", "yes"]), Variable("y", [1, 2, 3])
    counts = [np.array([3, 1]), np.array([[1, 0, 2], [4, 4, 4]]), np.array([0, 0])]
    families = [[x], [x, y], [x]]
    modes = estimate_tables(families, counts, [1.0, 1.5, 1.0], "mode")
    for values, n_unseen, family, table, prior in zip(*modes, families, counts, [1.0, 1.5, 1.0], strict=True):
        alone = estimate_table(family, table, prior, "mode")
        assert np.array_equal(values, alone.values)
        assert n_unseen == alone.n_unseen
    with pytest.raises(
        TableError, match=r"no mode at P\(y=2 \| x='no'\): counts and Dirichlet counts together are 0.5"
    ):
        estimate_tables(families, counts, [1.0, 0.5, 1.0], "mode")


def test_a_network_of_a_thousand_tables_is_fitted_as_one_by_one():
    net = load("munin")
    data = net.sample(40, rng=1)
    at_once = fit_parameters(net.dag, data, pseudocount=1)
    for source in (CountsOnly(data), count_source(data)):
        other = fit_parameters(net.dag, source, pseudocount=1)
        assert all(np.array_equal(cpt.values, other.cpt(cpt.child.name).values) for cpt in at_once.cpts)
    parents = DAG.parents(net.dag, "L_MED_ALLCV_EW")
    name = "L_MED_ALLCV_EW"
    expected = by_loops(data, [*(net.variable(parent) for parent in parents), net.variable(name)]) + 1
    expected /= expected.sum(axis=-1, keepdims=True)
    assert np.array_equal(at_once.cpt(name).values, expected)
    assert not at_once.cpt(name).values.flags.writeable
