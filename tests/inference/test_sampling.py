"""Rows drawn from a network, against the enumerated joint and against exact marginals."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError, UnknownNameError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.inference import drawing
from pgm.inference.exact import ExactInference
from pgm.inference.sampling import ancestral_draws, posterior_draws, relevant, sample
from pgm.inference.weighting import likelihood_weighting
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import chain, grid, leak_network


def engine(net):
    return ExactInference(net.cpts)


def typed(labels):
    """Labels that tell True from 1."""
    return tuple((isinstance(label, bool), label) for label in labels)


def worlds(net, evidence, likelihoods=None):
    """Return the joint states that are possible given the evidence, with their posterior probabilities."""
    found = {}
    for world, prior in oracles.assignments(net):
        if oracles.agrees(world, evidence):
            weights = (vector[net.variable(name).code(world[name])] for name, vector in (likelihoods or {}).items())
            found[typed(world.values())] = prior * math.prod(weights)
    found = {world: p for world, p in found.items() if p > 0}
    total = math.fsum(found.values())
    return {world: p / total for world, p in found.items()}


def rows_of(data):
    columns = data.to_dict()
    return [typed(row) for row in zip(*columns.values(), strict=True)]


def assert_drawn_from(data, expected):
    """Every row is possible, and every joint state is as frequent as it should be, to five standard errors."""
    rows = rows_of(data)
    assert set(rows) <= set(expected)
    for world, p in expected.items():
        error = math.sqrt(p * (1 - p) / len(rows)) + 1 / len(rows)
        assert rows.count(world) / len(rows) == pytest.approx(p, abs=5 * error)


@st.composite
def likelihoods_on(draw, net):
    names = draw(st.lists(st.sampled_from(net.names), max_size=2, unique=True))
    numbers = st.sampled_from([0.0, 0.2, 1.0, 3.0])
    vectors = {
        name: draw(st.lists(numbers, min_size=net.variable(name).cardinality, max_size=net.variable(name).cardinality))
        for name in names
    }
    return {name: vector for name, vector in vectors.items() if max(vector) > 0}


# ---------------------------------------------------------------------- exactness


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_probability_of_drawing_a_row_is_its_posterior(data):
    """Exactly, without drawing anything: the product of what each draw gives to the states of a row."""
    net = data.draw(strategies.networks())
    evidence = data.draw(strategies.evidence_on(net))
    likelihoods = data.draw(likelihoods_on(net))
    exact = engine(net)
    expected = worlds(net, evidence, likelihoods) if net.probability(evidence) else {}
    assume(expected)
    known = exact.code(evidence, likelihoods)
    draws = posterior_draws(exact, known, 0, 2**30)
    rest = set(range(len(net))) - relevant(exact, known)
    draws += ancestral_draws(exact, rest, 0)
    names = [net.variable(name) for name in net.names]
    codes = np.array([[v.code(label) for v, (_, label) in zip(names, world, strict=True)] for world in expected])
    columns = dict(enumerate(codes.T))
    probability = np.ones(len(expected))
    decided = set(known.codes) | set(exact.constant)
    for draw in draws:
        assert decided.issuperset(draw.given) and decided.isdisjoint(draw.variables)
        decided.update(draw.variables)
        weights = draw.weights(columns, len(expected))
        shape = [exact.cardinalities[v] for v in draw.variables]
        state = np.ravel_multi_index([columns[v] for v in draw.variables], shape)
        probability *= weights[np.arange(len(expected)), state] / weights.sum(axis=1)
    assert decided == set(range(len(net)))
    assert probability == pytest.approx(list(expected.values()), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_every_row_is_possible_and_agrees_with_the_evidence(data, seed):
    net = data.draw(strategies.networks())
    evidence = data.draw(strategies.evidence_on(net))
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError, match="conflict"):
            sample(engine(net), 5, seed, evidence=evidence)
        return
    drawn = sample(engine(net), 50, seed, evidence=evidence)
    assert drawn.variables == net.variables
    assert set(rows_of(drawn)) <= set(worlds(net, evidence))
    few = sample(engine(net), 3, seed, evidence=evidence)
    assert rows_of(few) == rows_of(drawn)[:3]  # and these are drawn row by row, not from tables made beforehand


@pytest.mark.parametrize("evidence", [{}, {"dysp": "yes"}, {"xray": "yes", "asia": "yes"}, {"either": "no"}])
def test_joint_states_are_as_frequent_as_the_enumerated_posterior(evidence):
    net = pgm.networks.load("asia")
    assert_drawn_from(sample(engine(net), 20_000, 1, evidence=evidence), worlds(net, evidence))


def test_likelihoods_weigh_as_an_unreliable_report_would():
    net = pgm.networks.load("asia")
    likelihoods = {"smoke": [0.8, 0.1], "xray": {"yes": 0.5, "no": 0.05}, "dysp": [0.0, 2.0]}
    drawn = sample(engine(net), 20_000, 2, evidence={"bronc": "yes"}, likelihoods=likelihoods)
    vectors = {"smoke": [0.8, 0.1], "xray": [0.5, 0.05], "dysp": [0.0, 2.0]}
    assert_drawn_from(drawn, worlds(net, {"bronc": "yes"}, vectors))


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("alarm", {}),
        ("alarm", {"HRBP": "HIGH", "CVP": "LOW", "PAP": "HIGH", "BP": "LOW"}),
        ("hailfinder", {"MountainFcst": "SIG", "Dewpoints": "LowMtsHighPl"}),
        ("child", {"LowerBodyO2": "<5", "XrayReport": "Oligaemic"}),
    ],
)
def test_marginals_and_pairs_of_real_networks(name, evidence):
    net = pgm.networks.load(name)
    n_rows = 40_000
    data = sample(engine(net), n_rows, 5, evidence=evidence)
    for target, factor in net.marginals(evidence).items():
        found = np.bincount(data.codes(target), minlength=factor.values.size) / n_rows
        error = np.sqrt(factor.values * (1 - factor.values) / n_rows) + 1 / n_rows
        assert (np.abs(found - factor.values) <= 5 * error).all(), target
        assert (found[factor.values == 0] == 0).all()
    for parent, child in net.dag.edges[:25]:
        expected = net.query([parent, child], evidence).values
        joint = data.codes(parent) * np.intp(expected.shape[1]) + data.codes(child)
        found = np.bincount(joint, minlength=expected.size).reshape(expected.shape) / n_rows
        assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / n_rows) + 5 / n_rows).all()


def test_rows_do_not_depend_on_each_other():
    net = pgm.networks.load("asia")
    smoke = sample(engine(net), 20_000, 8, evidence={"dysp": "yes"}).codes("smoke").astype(float)
    assert abs(np.corrcoef(smoke[1:], smoke[:-1])[0, 1]) < 5 / math.sqrt(20_000)


# ---------------------------------------------------------------------- evidence that is hard


def test_impossible_evidence_and_unknown_labels_raise_at_once():
    """Rejection sampling would look for such a row for ever (bnlearn#127)."""
    net = engine(leak_network())
    start = time.perf_counter()
    with pytest.raises(ImpossibleEvidenceError, match="conflict: Leak='no', Burst='no', Wet='yes'"):
        sample(net, 100, 0, evidence={"Wet": "yes", "Leak": "no", "Burst": "no"})
    with pytest.raises(ImpossibleEvidenceError):
        sample(net, 0, 0, evidence={"Wet": "yes", "Leak": "no", "Burst": "no"})
    with pytest.raises(ImpossibleEvidenceError, match="likelihood"):
        sample(net, 1, 0, evidence={"Wet": "yes"}, likelihoods={"Wet": [1.0, 0.0]})
    with pytest.raises(UnknownStateError, match="'no', 'yes'"):
        sample(net, 100, 0, evidence={"Wet": "maybe"})
    with pytest.raises(UnknownNameError, match="'Leak'"):
        sample(net, 100, 0, evidence={"Dry": "yes"})
    assert time.perf_counter() - start < 1


def test_rare_evidence_costs_no_more_than_other_evidence():
    no_yes = ["no", "yes"]
    a, b = Variable("A", no_yes), Variable("B", no_yes)
    net = BayesianNetwork([CPT(a, [0.999999, 0.000001]), CPT(b, [[0.5, 0.5], [0.1, 0.9]], [a])])
    start = time.perf_counter()
    data = sample(engine(net), 2000, 4, evidence={"A": "yes"})
    assert data.codes("A").all()
    assert data.codes("B").mean() == pytest.approx(0.9, abs=0.035)
    causes = sample(engine(net), 2000, 4, evidence={"B": "yes"}, likelihoods={"A": [1e-9, 1.0]})
    p = 1e-6 * 0.9 / (1e-6 * 0.9 + 0.999999 * 0.5 * 1e-9)
    assert causes.codes("A").mean() == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 2000))
    assert time.perf_counter() - start < 1


def test_a_state_of_probability_1e_200_is_found_if_nothing_else_explains():
    net = leak_network()
    wet = net.cpt("Wet")
    table = wet.values.copy()
    table[0, 0] = [1.0, 1e-200]
    net = BayesianNetwork([CPT(wet.child, table, wet.parents) if cpt is wet else cpt for cpt in net.cpts])
    data = sample(engine(net), 4000, 4, evidence={"Wet": "yes", "Leak": "no", "Burst": "no"})
    assert data.codes("Bill").mean() == pytest.approx(0.8, abs=5 * math.sqrt(0.16 / 4000))


def test_evidence_below_the_range_of_floating_point_numbers():
    """400 observations of probability about 1e-3 each: P(evidence) is near 1e-1200, the posterior is ordinary."""
    cause = Variable("cause", ["a", "b"])
    children = [Variable(f"x{i}", [0, 1]) for i in range(400)]
    ratio = 3.0 ** (1 / 400)
    table = [[1 - 1e-3, 1e-3], [1 - 1e-3 * ratio, 1e-3 * ratio]]
    net = BayesianNetwork([CPT(cause, [0.5, 0.5]), *(CPT(child, table, [cause]) for child in children)])
    data = sample(engine(net), 4000, 4, evidence={child.name: 1 for child in children})
    assert data.codes("cause").mean() == pytest.approx(0.75, abs=5 * math.sqrt(0.1875 / 4000))


def test_deep_networks_need_no_recursion():
    net = chain(3000)
    data = sample(engine(net), 2000, 4, evidence={"X3000": 1})
    assert data.codes("X3000").all()
    expected = net.query("X1", {"X3000": 1})[1]
    assert data.codes("X1").mean() == pytest.approx(expected, abs=5 * math.sqrt(expected / 2000))
    changes = np.mean([(data.codes(f"X{i}") != data.codes(f"X{i + 1}")).mean() for i in range(1, 3000)])
    assert changes < 0.001


def test_variables_of_one_state_take_part():
    one, x, y = Variable("K", ["only"]), Variable("X", ["x0", "x1"]), Variable("Y", [0, 1])
    net = BayesianNetwork([CPT(y, [[0.9, 0.1], [0.3, 0.7]], [x]), CPT(one, [[1.0], [1.0]], [x]), CPT(x, [0.25, 0.75])])
    for evidence in ({}, {"K": "only"}, {"Y": 1}):
        assert_drawn_from(sample(engine(net), 5000, 6, evidence=evidence), worlds(net, evidence))


def test_too_large_for_exact_sampling_says_what_else_there_is():
    net = grid(20)
    observed = {net.names[-1]: net.variables[-1].states[0]}
    with pytest.raises(TooLargeError, match=r"memory budget is .*likelihood weighting"):
        sample(engine(net), 1, 0, evidence=observed, memory_budget=2**20)
    assert sample(engine(net), 10, 0).n_rows == 10
    with pytest.raises(TooLargeError, match="1,000,000,000,000 rows of 400 variables take"):
        sample(engine(net), 10**12, 0)


# ---------------------------------------------------------------------- numbers of rows, and of seeds


def test_no_rows_is_a_data_set_with_all_columns():
    net = leak_network()
    for evidence in ({}, {"Wet": "yes"}):
        data = sample(engine(net), 0, 0, evidence=evidence)
        assert data.to_dict() == {name: [] for name in net.names}
        assert data.variables == net.variables


@pytest.mark.parametrize("n", [-1, 1.0, "3", None, True])
def test_what_is_no_number_of_rows_is_refused(n):
    with pytest.raises(EvidenceError, match=r"number of rows is a whole number from 0, not"):
        sample(engine(leak_network()), n, 0)


def axis_order_network():
    """The network of pgmpy#945: its parents come after their children in declared order."""
    a, b, c = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]), Variable("C", ["c0", "c1"])
    table = [[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [[0.1, 0.1, 0.8], [0.25, 0.25, 0.5]]]
    return BayesianNetwork([CPT(a, [[0.9, 0.1], [0.4, 0.6]], [c]), CPT(b, table, [a, c]), CPT(c, [0.35, 0.65])])


PROGRAM = """
import random
import zlib
import numpy as np
before = np.random.get_state()[1].tolist(), random.getstate()
import pgm
from pgm.inference.exact import ExactInference
from pgm.inference.gibbs import gibbs
from pgm.inference.sampling import sample
from pgm.inference.weighting import likelihood_weighting
engine = ExactInference(pgm.networks.load("cancer").cpts)
evidence = {"Xray": "positive", "Dyspnoea": "True"}
found = [sample(engine, 1000, 7), sample(engine, 1000, 7, evidence=evidence, missing=0.2)]
found += [likelihood_weighting(engine, 1000, 7, evidence=evidence).data, gibbs(engine, 1000, 7, evidence=evidence).data]
for data in found:
    print(zlib.crc32(repr(data.to_dict()).encode()), data.weights is None or zlib.crc32(data.weights.tobytes()))
assert before == (np.random.get_state()[1].tolist(), random.getstate())
"""


def test_the_same_seed_gives_the_same_rows_in_every_process():
    results = []
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", PROGRAM]
        results.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=False))
    assert results[0].returncode == 0, results[0].stderr
    assert results[0].stdout == results[1].stdout


def test_seeds_generators_and_the_global_state():
    net = engine(axis_order_network())
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    first = sample(net, 1000, 7)
    assert first == sample(net, 1000, 7) == sample(net, 1000, np.random.default_rng(7))
    assert first != sample(net, 1000, 8)
    assert sample(net, 1000) != sample(net, 1000)
    generator = np.random.default_rng(7)
    assert sample(net, 600, generator) == first.take(slice(0, 600))
    assert sample(net, 400, generator) == first.take(slice(600, 1000))
    assert before == (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002
    expected = {"A": [0.575, 0.425], "B": [0.32, 0.2735, 0.4065], "C": [0.35, 0.65]}
    for name, probabilities in expected.items():
        assert np.bincount(first.codes(name)) / 1000 == pytest.approx(probabilities, abs=0.08)


@pytest.mark.parametrize("evidence", [{}, {"HRBP": "HIGH"}])
def test_rows_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch, evidence):
    net = engine(pgm.networks.load("alarm"))
    whole = sample(net, 300, 7, evidence=evidence, missing={"CVP": 0.5})
    monkeypatch.setattr(drawing, "BLOCK_ROWS", 7)
    assert sample(net, 300, 7, evidence=evidence, missing={"CVP": 0.5}) == whole


def test_the_order_of_the_evidence_does_not_matter():
    net = engine(pgm.networks.load("asia"))
    evidence = {"dysp": "yes", "xray": "no", "asia": "yes"}
    backwards = dict(reversed(evidence.items()))
    assert sample(net, 200, 1, evidence=evidence) == sample(net, 200, 1, evidence=backwards)
    alarm = pgm.networks.load("alarm")
    row = sample(engine(alarm), 1, 2).to_dict()
    evidence = {name: row[name][0] for name in alarm.dag.leaves}
    binary = [name for name in alarm.names if name not in evidence and alarm.variable(name).cardinality == 2]
    likelihoods = {name: [0.3 + place / 7, 0.7] for place, name in enumerate(binary)}
    first = likelihood_weighting(engine(alarm), 200, 1, evidence=evidence, likelihoods=likelihoods)
    backwards, turned = dict(reversed(evidence.items())), dict(reversed(likelihoods.items()))
    assert len(evidence) > 5 and len(likelihoods) > 3
    second = likelihood_weighting(engine(alarm), 200, 1, evidence=backwards, likelihoods=turned)
    assert first.data == second.data  # weights to the last bit


# ---------------------------------------------------------------------- missing cells


def test_cells_go_missing_completely_at_random():
    net = engine(pgm.networks.load("asia"))
    whole = sample(net, 20_000, 3)
    data = sample(net, 20_000, 3, missing=0.2)
    holes = np.stack([data.missing(name) for name in data.names])
    error = math.sqrt(0.16 / 20_000)
    assert holes.mean(axis=1) == pytest.approx(0.2, abs=5 * error)
    assert np.abs(np.corrcoef(holes) - np.eye(8)).max() < 5 / math.sqrt(20_000)
    for name, hole in zip(data.names, holes, strict=True):
        assert (data.codes(name)[~hole] == whole.codes(name)[~hole]).all()  # what is left is what would have been there


def test_fractions_by_column():
    data = sample(engine(pgm.networks.load("asia")), 5000, 3, missing={"lung": 0.5, "xray": 1, "smoke": 0.0})
    counts = data.n_missing
    assert counts.pop("lung") == pytest.approx(2500, abs=5 * math.sqrt(1250))
    assert counts.pop("xray") == 5000
    assert not any(counts.values())


def test_cells_go_missing_depending_on_a_column_that_stays():
    net = engine(pgm.networks.load("asia"))
    whole = sample(net, 20_000, 3)
    data = sample(net, 20_000, 3, missing={"lung": {"smoke": {"yes": 0.6}}, "dysp": 0.1})
    smoker = whole.codes("smoke") == 0
    hole = data.missing("lung")
    assert not hole[~smoker].any()
    assert hole[smoker].mean() == pytest.approx(0.6, abs=5 * math.sqrt(0.24 / smoker.sum()))
    assert data.missing("smoke") is None


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        (1.5, EvidenceError, "from 0 to 1, not 1.5"),
        (-0.1, EvidenceError, "from 0 to 1"),
        (math.nan, EvidenceError, "from 0 to 1"),
        (True, EvidenceError, "from 0 to 1"),
        ("all", EvidenceError, "from 0 to 1"),
        ({"lung": 2}, EvidenceError, "'lung'"),
        ({"heart": 0.1}, UnknownNameError, "'heart'.*'asia'"),
        ({"lung": {"heart": {"yes": 0.1}}}, UnknownNameError, "'heart'"),
        ({"lung": {"smoke": {"often": 0.1}}}, UnknownStateError, "'often'"),
        ({"lung": {"smoke": {"yes": 7}}}, EvidenceError, "smoke='yes'"),
        ({"lung": {"smoke": 0.5}}, EvidenceError, "deciding name"),
        ({"lung": {"smoke": {"yes": 0.1}, "asia": {"yes": 0.1}}}, EvidenceError, "deciding name"),
        ({"lung": {"lung": {"yes": 0.1}}}, EvidenceError, "cannot have missing cells"),
        ({"lung": {"smoke": {"yes": 0.1}}, "smoke": 0.1}, EvidenceError, "cannot have missing cells"),
    ],
)
def test_senseless_wishes_for_missing_cells_are_refused(missing, error, message):
    with pytest.raises(error, match=message):
        sample(engine(pgm.networks.load("asia")), 10, 0, missing=missing)
