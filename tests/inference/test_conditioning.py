"""Cutset conditioning: the same answers as ever, within a memory budget that plain inference exceeds."""

from __future__ import annotations

import io
import math
import sys
import tracemalloc
from contextlib import contextmanager
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgm
from pgm import progress
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError, UnknownNameError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.inference import conditioning, cutset
from pgm.inference.contraction import Program
from pgm.inference.exact import ExactInference
from pgm.network import BayesianNetwork
from tests import oracles, strategies


@contextmanager
def watched():
    """Yield a list that gathers the peak bytes of every program that runs."""
    peaks = []

    def spy(method):
        def run(program, tables):
            peaks.append(program.peak_bytes)
            return method(program, tables)

        return run

    with (
        mock.patch.object(Program, "value", spy(Program.value)),
        mock.patch.object(Program, "marginals", spy(Program.marginals)),
    ):
        yield peaks


def grid(rows, columns, seed=0):
    """A grid of binary variables, each with the one above and the one to the left as parents."""
    rng = np.random.default_rng(seed)
    cells = {(i, j): Variable(f"x{i}_{j}", ["no", "yes"]) for i in range(rows) for j in range(columns)}
    tables = []
    for (i, j), child in cells.items():
        parents = [cells[place] for place in ((i - 1, j), (i, j - 1)) if place in cells]
        tables.append(CPT(child, rng.dirichlet([1, 1], size=[2] * len(parents)), parents))
    return BayesianNetwork(tables)


def engine_of(net):
    return ExactInference(net.cpts)


def same(found, expected):
    assert list(found) == list(expected)
    return max(np.abs(found[name].values - expected[name].values).max() for name in expected) < 1e-12


# ---------------------------------------------------------------------- against the enumerated joint

tiny_budgets = st.floats(0.2, 1.0)


def smaller(engine, targets, evidence, fraction):
    """Return a fraction of the memory that plain inference takes, for which there is a cutset."""
    observed = list(evidence)
    budget = max(8, int(engine.query_plan(targets, observed).memory * fraction))
    try:
        cutset.choose_cutset(engine, targets, observed, memory_budget=budget)
    except TooLargeError:
        assume(False)
    return budget


@settings(max_examples=150, deadline=None)
@given(strategies.questions(), tiny_budgets)
def test_posterior_is_the_enumerated_one(question, fraction):
    net, targets, evidence = question
    engine = engine_of(net)
    budget = smaller(engine, targets, evidence, fraction)
    assume(math.prod(net.variable(name).cardinality for name in targets) * 8 <= budget)
    with watched() as peaks:
        if oracles.probability(net, evidence) == 0:
            with pytest.raises(ImpossibleEvidenceError):
                conditioning.posterior(engine, targets, evidence, memory_budget=budget)
            return
        found = conditioning.posterior(engine, targets, evidence, memory_budget=budget)
    assert max(peaks) <= budget
    assert found.names == tuple(targets)
    assert found.values.ravel() == pytest.approx(oracles.posterior(net, targets, evidence), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(strategies.questions(), tiny_budgets)
def test_marginals_are_the_enumerated_ones(question, fraction):
    net, _, evidence = question
    engine = engine_of(net)
    budget = smaller(engine, None, evidence, fraction)
    with watched() as peaks:
        if oracles.probability(net, evidence) == 0:
            with pytest.raises(ImpossibleEvidenceError):
                conditioning.marginals(engine, evidence, memory_budget=budget)
            return
        found = conditioning.marginals(engine, evidence, memory_budget=budget)
    assert max(peaks) <= budget
    assert list(found) == [name for name in net.names if name not in evidence]
    for name, factor in found.items():
        assert factor.values == pytest.approx(oracles.posterior(net, [name], evidence), abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(strategies.questions(), tiny_budgets)
def test_probability_is_the_enumerated_sum(question, fraction):
    net, _, evidence = question
    engine = engine_of(net)
    budget = int(engine.query_plan(None, list(evidence)).memory * fraction) + 8
    try:
        found = conditioning.log_probability(engine, evidence, memory_budget=budget)
    except TooLargeError:
        assume(False)
    expected = oracles.probability(net, evidence)
    assert found == pytest.approx(math.log(expected) if expected else -math.inf, rel=1e-12, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(strategies.questions(), st.data())
def test_likelihoods_weigh_states_whether_or_not_these_are_in_the_cutset(question, data):
    net, _, evidence = question
    soft = data.draw(st.sampled_from(net.names))
    vector = data.draw(st.lists(st.sampled_from([0.0, 0.3, 2.0]), min_size=4, max_size=4))
    likelihoods = {soft: vector[: net.variable(soft).cardinality]}
    assume(max(likelihoods[soft]) > 0)
    engine = engine_of(net)
    budget = smaller(engine, None, evidence, 0.6) + 8 * len(likelihoods[soft])
    kwargs = {"likelihoods": likelihoods, "memory_budget": budget}
    try:
        expected = net.marginals(evidence, likelihoods=likelihoods)
    except ImpossibleEvidenceError:
        assert conditioning.log_probability(engine, evidence, **kwargs) == -math.inf
        return
    try:
        found = conditioning.marginals(engine, evidence, **kwargs)
        log_p = conditioning.log_probability(engine, evidence, **kwargs)
    except TooLargeError:
        assume(False)
    assert same(found, expected) if expected else found == {}
    assert log_p == pytest.approx(net.log_probability(evidence, likelihoods=likelihoods), abs=1e-12)


# ---------------------------------------------------------------------- networks

BUNDLED = {"alarm": 6_000, "insurance": 60_000, "child": 4_000, "hailfinder": 35_000, "andes": 80_000, "mildew": 2**21}
"""Budgets well below what all marginals given a few leaves take."""


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_networks_within_a_small_budget(name):
    net, budget = pgm.networks.load(name), BUNDLED[name]
    engine = engine_of(net)
    prior = net.marginals()
    leaves = [leaf for leaf in net.names if not net.dag.children(leaf)][:3]
    evidence = {leaf: prior[leaf].argmax()[leaf] for leaf in leaves}
    with pytest.raises(TooLargeError):
        net.marginals(evidence, memory_budget=budget)
    assert cutset.choose_cutset(engine, observed=leaves, memory_budget=budget).variables
    with watched() as peaks:
        found = conditioning.marginals(engine, evidence, memory_budget=budget)
        assert len(peaks) > 1
        log_p = conditioning.log_probability(engine, evidence, memory_budget=budget)
        hidden = [other for other in net.names if other not in evidence][::9][:2]
        joint = conditioning.posterior(engine, hidden, evidence, memory_budget=budget)
    assert max(peaks) <= budget
    assert same(found, net.marginals(evidence))
    assert log_p == pytest.approx(net.log_probability(evidence), abs=1e-10)
    assert joint.allclose(net.query(hidden, evidence))


def test_a_grid_that_exceeds_one_megabyte():
    net = grid(14, 14)
    engine, budget = engine_of(net), 2**20
    evidence = {"x13_13": "yes", "x3_4": "no", "x9_2": "yes"}
    with pytest.raises(TooLargeError):
        net.marginals(evidence, memory_budget=budget)
    with pytest.raises(TooLargeError):
        net.query("x7_7", evidence, memory_budget=budget)
    chosen = cutset.choose_cutset(engine, observed=evidence, memory_budget=budget)
    cutset.choose_cutset(engine, "x7_7", evidence, memory_budget=budget)
    tracemalloc.start()
    found = conditioning.marginals(engine, evidence, memory_budget=budget)
    answer = conditioning.posterior(engine, "x7_7", evidence, memory_budget=budget)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget + 200_000  # the answers and Python's own
    assert chosen.instantiations <= 16
    expected = net.marginals(evidence)
    assert same(found, expected)
    assert answer.allclose(expected["x7_7"])


def test_targets_of_a_large_joint_are_fixed_first():
    net = grid(3, 3)
    targets = ["x0_0", "x2_2", "x1_1", "x0_2", "x2_0", "x1_2", "x2_1"]
    expected = net.query(targets)
    budget = 2**7 * 8 + 8  # the joint itself and nothing else
    chosen = cutset.choose_cutset(engine_of(net), targets, memory_budget=budget)
    assert set(chosen.variables) & set(targets)
    found = conditioning.posterior(engine_of(net), targets, memory_budget=budget)
    assert found.names == tuple(targets)
    assert found.allclose(expected)


def test_no_product_underflows():
    """600 reports of 0.001 or less on three linked causes: P(e) is about 1e-1800."""
    causes = [Variable(f"c{i}", ["no", "yes"]) for i in range(3)]
    weights = [0.3, 0.6, 0.5]
    tables = [CPT(cause, [1 - p, p]) for cause, p in zip(causes, weights, strict=True)]
    evidence = {}
    for i, parents in enumerate([*combinations(causes, 2)] * 200):
        report = Variable(f"r{i}", [False, True])
        rows = [[1e-3, 1e-5], [2e-4, 1e-3 - 1e-7 * i]]
        tables.append(CPT(report, [[[1 - p, p] for p in row] for row in rows], list(parents)))
        evidence[report.name] = True
    net = BayesianNetwork(tables)
    logs = {}
    for codes in np.ndindex(2, 2, 2):
        world = {cause.name: cause.states[code] for cause, code in zip(causes, codes, strict=True)}
        rows = [{**world, **evidence}] * len(net)
        logs[codes] = math.fsum(
            math.log(cpt[tuple(row[name] for name in cpt.names)]) if cpt.parents else math.log(cpt[row[cpt.child.name]])
            for cpt, row in zip(net.cpts, rows, strict=True)
        )
    top = max(logs.values())
    expected = top + math.log(math.fsum(math.exp(log - top) for log in logs.values()))
    assert expected < -3000
    budget = 600 * 2 * 8 + 100
    engine = engine_of(net)
    assert cutset.choose_cutset(engine, "c0", list(evidence), memory_budget=budget).variables
    assert conditioning.log_probability(engine, evidence, memory_budget=budget) == pytest.approx(expected, rel=1e-12)
    first = math.fsum(math.exp(log - expected) for codes, log in logs.items() if codes[0] == 1)
    assert conditioning.posterior(engine, "c0", evidence, memory_budget=budget)["yes"] == pytest.approx(first, abs=1e-9)
    assert conditioning.marginals(engine, evidence, memory_budget=budget)["c0"]["yes"] == pytest.approx(first, abs=1e-9)


# ---------------------------------------------------------------------- choosing


def test_without_need_nothing_is_fixed():
    chosen = cutset.choose_cutset(engine_of(pgm.networks.load("asia")), "lung", ["xray"])
    assert chosen.variables == ()
    assert chosen.instantiations == 1
    assert chosen.work == chosen.operations
    assert str(chosen).startswith("cutset -: 1 instantiations")


def test_the_obvious_cutset_is_found():
    """Every clique holds the hub and five of a long row."""
    hub = Variable("hub", ["a", "b"])
    row = [Variable(f"l{i}", ["a", "b"]) for i in range(16)]
    rng = np.random.default_rng(3)
    tables = [CPT(hub, [0.4, 0.6])]
    for i, link in enumerate(row):
        parents = [*row[max(0, i - 4) : i], hub]
        tables.append(CPT(link, rng.dirichlet([1, 1], size=[2] * len(parents)), parents))
    net = BayesianNetwork(tables[::-1])
    memory = net.plan(None, ["l15"]).memory
    chosen = cutset.choose_cutset(engine_of(net), observed="l15", memory_budget=int(memory * 0.7))
    assert chosen.variables == ("hub",)


def test_the_choice_is_the_same_each_time_and_made_once():
    net, observed = grid(9, 9), ["x8_8", "x2_3"]
    chosen = cutset.choose_cutset(engine_of(net), observed=observed, memory_budget=30_000)
    engine = engine_of(net)
    assert cutset.choose_cutset(engine, observed=observed, memory_budget=30_000) == chosen
    assert len(chosen.variables) > 1
    with mock.patch.object(cutset, "make_plan", side_effect=AssertionError("planned again")):
        conditioning.marginals(engine, dict.fromkeys(observed, "no"), memory_budget=30_000)
        conditioning.marginals(engine, dict.fromkeys(observed, "yes"), memory_budget=30_000)
        with pytest.raises(AssertionError, match="planned again"):
            conditioning.marginals(engine, {"x8_8": "yes"}, memory_budget=30_000)


def test_no_variable_of_the_cutset_is_superfluous():
    net = grid(8, 8)
    engine, budget = engine_of(net), 15_000
    chosen = cutset.choose_cutset(engine, observed="x7_7", memory_budget=budget)
    for spared in chosen.variables:
        rest = [name for name in chosen.variables if name != spared]
        plan = net.plan(None, ["x7_7", *rest])
        work = 2 ** len(rest) * sum(step.cells for step in plan.steps)
        full = net.plan(None, ["x7_7", *chosen.variables])
        assert plan.memory > budget or work > 2 ** len(chosen.variables) * sum(step.cells for step in full.steps)


# ---------------------------------------------------------------------- refusals


def test_too_much_work_is_refused_with_both_numbers():
    net = grid(10, 10)
    engine = engine_of(net)
    chosen = cutset.choose_cutset(engine, observed="x9_9", memory_budget=40_000)
    numbers = f"{chosen.instantiations:,} instantiations of {chosen.operations:,} operations"
    with pytest.raises(TooLargeError, match=f"{numbers} each; the limit is {chosen.work - 1:,} operations"):
        conditioning.marginals(engine, {"x9_9": "no"}, memory_budget=40_000, max_operations=chosen.work - 1)
    cutset.choose_cutset(engine, observed="x9_9", memory_budget=40_000, max_operations=chosen.work)


def test_a_hopeless_question_is_refused_early():
    """All pairs of 60 causes share an effect: 2**60 cells, whatever is fixed."""
    causes = [Variable(f"c{i}", [0, 1]) for i in range(60)]
    tables = [CPT(cause, [0.5, 0.5]) for cause in causes]
    table = [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.6, 0.4]]]
    for i, pair in enumerate(combinations(causes, 2)):
        tables.append(CPT(Variable(f"e{i}", [0, 1]), table, list(pair)))
    net = BayesianNetwork(tables)
    evidence = {name: 1 for name in net.names if name.startswith("e")}
    with (
        mock.patch.object(cutset, "make_plan", wraps=cutset.make_plan) as plans,
        pytest.raises(TooLargeError, match="operations in all"),
    ):
        conditioning.posterior(engine_of(net), "c0", evidence)
    assert plans.call_count <= 2


def test_a_budget_below_any_table_is_refused():
    engine = engine_of(pgm.networks.load("asia"))
    with pytest.raises(TooLargeError, match="4 bytes is too small even with every variable fixed"):
        conditioning.marginals(engine, memory_budget=4, max_operations=math.inf)
    with pytest.raises(TooLargeError, match="joint of 4 variables would have 16 cells"):
        conditioning.posterior(engine, ["asia", "tub", "lung", "smoke"], memory_budget=100)
    with pytest.raises(TooLargeError, match="1 bytes is too small even with every variable fixed"):
        conditioning.posterior(engine, "lung", memory_budget=1)
    exact = pgm.networks.load("asia").query("lung", {"xray": "yes"})  # 16 bytes, which come on top
    assert conditioning.posterior(engine, "lung", {"xray": "yes"}, memory_budget=8).allclose(exact)


@pytest.mark.parametrize("limits", [
    {"memory_budget": 0}, {"memory_budget": "1 MB"}, {"max_operations": -1}, {"max_operations": None},
])  # fmt: skip
def test_limits_are_checked(limits):
    engine = engine_of(pgm.networks.load("asia"))
    for ask in (conditioning.marginals, conditioning.log_probability, cutset.choose_cutset):
        with pytest.raises(EvidenceError, match=next(iter(limits))):
            ask(engine, **limits)


def test_names_and_labels_are_checked():
    engine = engine_of(pgm.networks.load("asia"))
    with pytest.raises(UnknownNameError, match="'lungs'"):
        conditioning.posterior(engine, "lungs")
    with pytest.raises(UnknownStateError, match="'maybe'"):
        conditioning.marginals(engine, {"lung": "maybe"})
    with pytest.raises(EvidenceError, match="no target"):
        conditioning.posterior(engine, [])


# ---------------------------------------------------------------------- impossible evidence, progress


def contradiction():
    """Three switches on a ring, each differing from the next: impossible, and each two are possible."""
    switches = [Variable(f"s{i}", [0, 1]) for i in range(3)]
    differ = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    pairs = list(combinations(switches, 2))
    tables = [CPT(switch, [0.5, 0.5]) for switch in switches]
    tables += [CPT(Variable(f"d{i}", [False, True]), differ, list(pair)) for i, pair in enumerate(pairs)]
    return BayesianNetwork(tables), {f"d{i}": True for i in range(3)}


def test_impossible_evidence_is_noticed():
    net, evidence = contradiction()
    engine = engine_of(net)
    budget = 100
    assert cutset.choose_cutset(engine, observed=evidence, memory_budget=budget).variables
    with pytest.raises(ImpossibleEvidenceError, match="among others that may not matter: d0=True, d1=True, d2=True"):
        conditioning.marginals(engine, evidence, memory_budget=budget)
    with pytest.raises(ImpossibleEvidenceError, match="among others that may not matter: d0=True, d1=True, d2=True"):
        conditioning.posterior(engine, "s0", evidence, memory_budget=budget)
    assert conditioning.log_probability(engine, evidence, memory_budget=budget) == -math.inf
    with pytest.raises(ImpossibleEvidenceError, match="conflict: d0=True, d1=True, d2=True"):
        conditioning.posterior(engine, "s0", evidence)  # fits: the conflict is looked for
    ruled_out = {"likelihoods": {"d0": [1, 0]}, "memory_budget": budget}
    assert conditioning.log_probability(engine, evidence, **ruled_out) == -math.inf


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.filterwarnings("ignore:IProgress")
@pytest.mark.parametrize(("stream", "wanted", "shown"), [
    (Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False),
])  # fmt: skip
def test_a_progress_bar_on_a_terminal_only(monkeypatch, stream, wanted, shown):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(progress, "DELAY", 0.0)
    engine = engine_of(pgm.networks.load("alarm"))
    conditioning.marginals(engine, memory_budget=6_000, progress=wanted)
    assert ("conditioning" in sys.stderr.getvalue()) == shown
