"""Expected family counts against the enumerated joint, on every route that rows can take."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import ImpossibleEvidenceError, TooLargeError
from pgm.factors import CPT, Variable
from pgm.inference import expected_counts, row_counts
from pgm.inference.expected_counts import ExpectedCounts
from pgm.inference.hidden_parts import Layout, Patterns
from pgm.inference.row_groups import Table
from pgm.network import BayesianNetwork
from pgm.networks import load
from tests import oracles, strategies

ROUTES = {
    "written down": {},
    "contracted together": {"_FEW_FACTORS": -1, "_CHEAP_FACTORS": -1, "_FACTOR_NS": 1e12, "_OWN_PROGRAM_ROWS": 10**9},
    "contracted by pattern": {"_FEW_FACTORS": -1, "_CHEAP_FACTORS": -1, "_FACTOR_NS": 1e12, "_OWN_PROGRAM_ROWS": 1},
    "large parts contracted": {"_FEW_FACTORS": -1, "_PART_NS": 80.0, "_CELL_NS": 0.0, "_CHEAP_FACTORS": 10**12},
    "little memory": {"_FEW_FACTORS": -1, "_MOST_FACTORS": 40, "_LEAST_LIMIT": 4, "_CHEAP_FACTORS": 10**12},
}


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    for name, value in ROUTES[request.param].items():
        monkeypatch.setattr(expected_counts, name, value)
    return request.param


def prepared(net, data, **options):
    number = {name: place for place, name in enumerate(net.names)}
    scopes = [tuple(number[name] for name in cpt.names) for cpt in net.cpts]
    table = Table({number[name]: data.codes(name) for name in data.names}, data.n_rows)
    return ExpectedCounts(net.variables, scopes, table, data.weights, **options)


def values(net):
    return [cpt.values for cpt in net.cpts]


def enumerated(net, data, best=False):
    """Add up over all whole assignments; for ``best`` only that of the largest probability of each row."""
    worlds = list(oracles.assignments(net))
    counts = [np.zeros(cpt.values.shape) for cpt in net.cpts]
    columns = data.to_dict()
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    total = 0.0
    for row, weight in enumerate(weights):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        matching = [(world, p) for world, p in worlds if oracles.agrees(world, evidence)]
        if best:
            matching = [max(matching, key=lambda item: item[1])]
        probability = math.fsum(p for _, p in matching)
        total += weight * math.log(probability)
        for world, p in matching:
            for table, cpt in zip(counts, net.cpts, strict=True):
                place = tuple(net.variable(name).code(world[name]) for name in cpt.names)
                table[place] += weight * p / probability
    return counts, total


@st.composite
def networks_and_rows(draw):
    net = draw(strategies.networks(max_variables=5))
    missing = draw(st.sampled_from([0.2, 0.5, 0.8]))
    data = net.sample(draw(st.integers(1, 12)), rng=draw(st.integers(0, 1000)), missing=missing)
    if draw(st.booleans()):
        weights = draw(st.lists(st.sampled_from([0.25, 1, 2, 3.5]), min_size=data.n_rows, max_size=data.n_rows))
        data = Dataset(data, weights=weights)
    hidden = draw(st.sets(st.sampled_from(net.names), max_size=len(net.names) - 1))
    return net, data.select([name for name in data.names if name not in hidden])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(networks_and_rows())
def test_counts_and_likelihood_are_those_of_the_enumerated_joint(route, case):
    net, data = case
    expected, total = enumerated(net, data)
    found = prepared(net, data).of(values(net))
    assert found.log_likelihood == pytest.approx(total, abs=1e-9)
    for table, other in zip(found.tables, expected, strict=True):
        np.testing.assert_allclose(table, other, rtol=0, atol=1e-9)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(networks_and_rows())
def test_the_best_completion_of_each_row(route, case):
    net, data = case
    _, total = enumerated(net, data, best=True)
    found = prepared(net, data).of_best(values(net))
    assert found.log_likelihood == pytest.approx(total, abs=1e-9)  # the completion itself may be one of several
    weight = data.total_weight
    for table in found.tables:
        assert table.sum() == pytest.approx(weight)


def test_other_parameters_for_the_same_rows(route):
    asia = load("asia")
    data = asia.sample(60, rng=3, missing=0.4)
    step = prepared(asia, data)
    rng = np.random.default_rng(0)
    for _ in range(3):
        tables = [rng.random(cpt.values.shape) for cpt in asia.cpts]
        tables = [table / table.sum(axis=-1, keepdims=True) for table in tables]
        net = BayesianNetwork([CPT(c.child, t, c.parents) for c, t in zip(asia.cpts, tables, strict=True)])
        expected, total = enumerated(net, data)
        found = step.of(tables)
        assert found.log_likelihood == pytest.approx(total)
        for table, other in zip(found.tables, expected, strict=True):
            np.testing.assert_allclose(table, other, atol=1e-9)


def test_complete_rows_are_just_counted():
    asia = load("asia")
    data = asia.sample(500, rng=0)
    found = prepared(asia, data).of(values(asia))
    for table, cpt in zip(found.tables, asia.cpts, strict=True):
        (count,) = data.count([(cpt.child.name, [parent.name for parent in cpt.parents])])
        assert table.tolist() == count.tolist()
    assert found.log_likelihood == pytest.approx(asia.log_likelihood(data).sum())


@pytest.mark.parametrize("missing", [0.1, 0.5])
def test_alarm_against_single_rows(missing):
    """By the engine for one question at a time, which is another program."""
    alarm = load("alarm")
    data = alarm.sample(40, rng=1, missing=missing)
    found = prepared(alarm, data).of(values(alarm))
    columns = data.to_dict()
    expected = [np.zeros(cpt.values.shape) for cpt in alarm.cpts]
    for row in range(data.n_rows):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        for number, factor in enumerate(alarm.families(evidence).values()):
            expected[number] += factor.values
    for table, other in zip(found.tables, expected, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-9)
    assert found.log_likelihood == pytest.approx(alarm.log_likelihood(data).sum())


def test_many_rows_run_in_several_chunks(monkeypatch):
    for name, value in ROUTES["contracted together"].items():
        monkeypatch.setattr(expected_counts, name, value)
    asia = load("asia")
    data = asia.sample(500, rng=5, missing=0.5)
    whole = prepared(asia, data).of(values(asia))
    monkeypatch.setattr(row_counts, "_CHUNK_ROWS", 32)
    parts = prepared(asia, data).of(values(asia))
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
    for table, other in zip(parts.tables, whole.tables, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-9)


def star(n_children, probability=0.5):
    """A hidden variable with many children, so that a row's probability is that small to the n-th power."""
    top = Variable("top", [0, 1])
    names = [f"x{number}" for number in range(n_children)]
    table = [[1 - probability, probability], [1 - probability / 2, probability / 2]]
    return BayesianNetwork([CPT(top, [0.5, 0.5]), *(CPT(Variable(name, [0, 1]), table, [top]) for name in names)])


def test_rows_too_improbable_for_floating_point(route):
    net = star(60, 1e-9)  # P(all ones) = 0.5 (1e-540 + 1e-558)
    data = Dataset({f"x{number}": [1, 1, 0] for number in range(60)}, states={f"x{n}": [0, 1] for n in range(60)})
    found = prepared(net, data).of(values(net))
    one, none = 60 * math.log(1e-9), 60 * math.log1p(-1e-9)
    other, few = 60 * math.log(0.5e-9), 60 * math.log1p(-0.5e-9)
    expected = 2 * np.logaddexp(one, other) + np.logaddexp(none, few) + 3 * math.log(0.5)
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    share = 1 / (1 + math.exp(other - one))
    np.testing.assert_allclose(found.tables[0], [2 * share + 0.5, 2 * (1 - share) + 0.5], atol=1e-6)


def test_improbable_rows_with_another_hidden_part(route):
    """What else a row hides takes no part in it, but is there when the row is asked about by itself."""
    net = star(60, 1e-9)
    y, z = Variable("y", [0, 1]), Variable("z", [0, 1])
    more = [CPT(y, [0.25, 0.75]), CPT(z, [[1.0, 0.0], [0.5, 0.5]], [y])]
    data = {**{f"x{number}": [1] for number in range(60)}, "z": [1]}
    found = prepared(BayesianNetwork([*net.cpts, *more]), Dataset(data, states={name: [0, 1] for name in data})).of(
        [*values(net), *(cpt.values for cpt in more)]
    )
    expected = np.logaddexp(60 * math.log(1e-9), 60 * math.log(0.5e-9)) + math.log(0.5 * 0.75 * 0.5)
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found.tables[-2], [0, 1])
    np.testing.assert_allclose(found.tables[0], [1, 0], atol=1e-6)


def test_impossible_rows_are_named(route):
    a, b, c = (Variable(name, ["no", "yes"]) for name in "abc")
    same = [[1.0, 0.0], [0.0, 1.0]]
    net = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, same, [a]), CPT(c, same, [b])])
    states = {name: ["no", "yes"] for name in "abc"}
    hidden = Dataset({"a": ["no", "no", None], "b": ["no", None, None], "c": ["no", "yes", "no"]}, states=states)
    with pytest.raises(ImpossibleEvidenceError, match=r"row 1 is impossible.*a='no', c='yes'"):
        prepared(net, hidden).of(values(net))
    with pytest.raises(ImpossibleEvidenceError, match="row 1"):
        prepared(net, hidden).of_best(values(net))
    known = Dataset({"a": ["no", "no", "no"], "b": ["no", "no", "yes"], "c": ["no", None, None]}, states=states)
    with pytest.raises(ImpossibleEvidenceError, match=r"row 2 is impossible.*a='no', b='yes'"):
        prepared(net, known).of(values(net))
    unseen = Dataset(hidden, weights=[1, 0, 1])
    assert prepared(net, unseen).of(values(net)).log_likelihood == pytest.approx(2 * math.log(0.5))


def test_no_rows_and_constants():
    one, x = Variable("one", ["only"]), Variable("x", [0, 1])
    net = BayesianNetwork([CPT(one, [1.0]), CPT(x, [[0.25, 0.75]], [one])])
    data = Dataset({"x": [0, 1, None]})
    found = prepared(net, data).of(values(net))
    assert found.tables[0].tolist() == [3.0]
    np.testing.assert_allclose(found.tables[1], [[1.25, 1.75]])
    none = prepared(net, data.take([])).of(values(net))
    assert none.log_likelihood == 0.0
    assert [table.sum() for table in none.tables] == [0.0, 0.0]


def test_parts_are_the_components_of_what_is_hidden():
    """A chain a -> b -> c -> d with c known falls into a-b and d."""
    layout = Layout.of([2, 3, 2, 2], [(0,), (0, 1), (1, 2), (2, 3)])
    columns = {number: np.array([code]) for number, code in enumerate([2, 3, 0, 2])}
    patterns = Patterns(layout, columns, 1)
    assert patterns.parts[:, 0].tolist() == [0, 0, 4, 3]
    assert patterns.of_table[:, 0].tolist() == [0, 0, 0, 3]
    assert patterns.cost.tolist() == [3 * 6 + 2]


def test_long_hidden_chains():
    """A thousand hidden variables in a row are one part, found and summed out without recursion."""
    n = 1000
    chain = [Variable(f"v{number}", [0, 1]) for number in range(n)]
    tables = [CPT(chain[0], [0.5, 0.5])]
    tables += [CPT(child, [[0.9, 0.1], [0.2, 0.8]], [parent]) for parent, child in pairwise(chain)]
    net = BayesianNetwork(tables)
    data = Dataset({"v0": [0, 1, 1], f"v{n - 1}": [0, 0, 1]})
    found = prepared(net, data).of(values(net))
    power = np.linalg.matrix_power(np.array([[0.9, 0.1], [0.2, 0.8]]), n - 1)
    assert found.log_likelihood == pytest.approx(math.log(0.5**3 * power[0, 0] * power[1, 0] * power[1, 1]))
    np.testing.assert_allclose([table.sum() for table in found.tables], 3.0)


def test_memory_budget_is_kept(monkeypatch):
    for name, value in ROUTES["contracted together"].items():
        monkeypatch.setattr(expected_counts, name, value)
    asia = load("asia")
    data = asia.sample(20, rng=0, missing=0.5)
    with pytest.raises(TooLargeError, match="one row of the data"):
        prepared(asia, data, memory_budget=64)
