"""Loopy belief propagation: exact on forests, and elsewhere what the textbook's message passing gives."""

from __future__ import annotations

import dataclasses
import io
import math
import random
import sys
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgm
from pgm import progress
from pgm.errors import EvidenceError, ImpossibleEvidenceError, UnknownNameError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.inference.exact import ExactInference
from pgm.inference.loopy import belief_propagation
from pgm.network import BayesianNetwork
from tests import oracles, strategies


def propagate(net, evidence=None, **kwargs):
    return belief_propagation(ExactInference(net.cpts), evidence, **kwargs)


def largest_error(result, expected):
    assert list(result.marginals) == list(expected)
    return max((np.abs(result.marginals[name].values - expected[name].values).max() for name in expected), default=0.0)


def random_net(rng, edges, states=2, concentration=1.0):
    """A network over the nodes that the edges name, with random positive tables."""
    names = sorted({name for edge in edges for name in edge})
    variables = {name: Variable(name, range(states)) for name in names}
    tables = []
    for name in names:
        parents = [variables[u] for u, v in edges if v == name]
        rows = rng.dirichlet([concentration] * states, size=[states] * len(parents))
        tables.append(CPT(variables[name], rows, parents))
    return BayesianNetwork(tables)


def grid(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    cells = {(i, j): Variable(f"x{i}_{j}", ["no", "yes"]) for i in range(rows) for j in range(columns)}
    tables = []
    for (i, j), child in cells.items():
        parents = [cells[place] for place in ((i - 1, j), (i, j - 1)) if place in cells]
        tables.append(CPT(child, rng.dirichlet([1, 1], size=[2] * len(parents)), parents))
    return BayesianNetwork(tables)


# ---------------------------------------------------------------------- forests


@st.composite
def polytrees(draw, max_variables=7):
    """Networks whose undirected graph is a forest, zeros in their tables, with evidence."""
    size = draw(st.integers(1, max_variables))
    variables = [draw(strategies.variables(f"v{i}", max_states=3)) for i in range(size)]
    parents = {i: [] for i in range(size)}
    for node in range(1, size):
        other = draw(st.integers(-1, node - 1))
        if other >= 0:
            child, parent = draw(st.permutations([node, other]))
            if len(parents[child]) < 3:
                parents[child].append(parent)
    tables = [draw(strategies.cpts(variables[i], [variables[p] for p in parents[i]])) for i in range(size)]
    net = BayesianNetwork(draw(st.permutations(tables)))
    return net, draw(strategies.evidence_on(net, max_size=3))


@settings(max_examples=250, deadline=None)
@given(polytrees(), st.sampled_from([0.0, 0.3]))
def test_on_polytrees_everything_is_exact(question, damping):
    net, evidence = question
    probability = oracles.probability(net, evidence)
    if probability == 0:
        with pytest.raises(ImpossibleEvidenceError):
            propagate(net, evidence)
        return
    result = propagate(net, evidence, damping=damping)
    assert result.exact
    assert result.converged
    assert result.residual < 1e-12
    assert result.log_probability_estimate == pytest.approx(math.log(probability), abs=1e-9)
    assert list(result.marginals) == [name for name in net.names if name not in evidence]
    for name, factor in result.marginals.items():
        assert factor.values == pytest.approx(oracles.posterior(net, [name], evidence), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(polytrees(), st.data())
def test_likelihoods_are_tables_of_their_own(question, data):
    net, evidence = question
    soft = data.draw(st.sampled_from(net.names))
    vector = data.draw(st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=3, max_size=3))
    likelihoods = {soft: vector[: net.variable(soft).cardinality]}
    assume(max(likelihoods[soft]) > 0)
    try:
        expected = net.marginals(evidence, likelihoods=likelihoods)
    except ImpossibleEvidenceError:
        with pytest.raises(ImpossibleEvidenceError):
            propagate(net, evidence, likelihoods=likelihoods)
        return
    result = propagate(net, evidence, likelihoods=likelihoods)
    assert largest_error(result, expected) < 1e-9
    log_p = net.log_probability(evidence, likelihoods=likelihoods)
    assert result.log_probability_estimate == pytest.approx(log_p, abs=1e-9)


def test_a_chain_of_1500_takes_as_many_rounds_as_it_needs():
    links = [Variable(f"l{i}", ["a", "b"]) for i in range(1500)]
    copy = [[1 - 1e-5, 1e-5], [1e-5, 1 - 1e-5]]
    tables = [CPT(links[0], [0.5, 0.5]), *(CPT(links[i], copy, [links[i - 1]]) for i in range(1, 1500))]
    result = propagate(BayesianNetwork(tables), {"l1499": "b"}, max_iter=1)
    # a symmetric chain forgets as (1 - 2e-5)^n
    assert result.marginals["l0"]["b"] == pytest.approx(0.5 + 0.5 * (1 - 2e-5) ** 1499, abs=1e-9)
    assert result.log_probability_estimate == pytest.approx(math.log(0.5), abs=1e-9)
    assert result.exact
    assert 1499 <= result.iterations <= 1505


def test_evidence_opens_loops():
    net = pgm.networks.load("asia")
    assert not propagate(net).exact
    result = propagate(net, {"smoke": "yes", "xray": "yes"})
    assert result.exact
    assert largest_error(result, net.marginals({"smoke": "yes", "xray": "yes"})) < 1e-12


def test_messages_far_below_the_smallest_float():
    """2000 reports of one cause, each 1000 times likelier if it is absent, outweighed by 2001 to the contrary."""
    cause = Variable("cause", ["no", "yes"])
    tables = [CPT(cause, [0.5, 0.5])]
    tables += [CPT(Variable(f"r{i}", [0, 1]), [[0.999, 0.001], [0.000001, 0.999999]], [cause]) for i in range(4001)]
    likelihoods = {f"r{i}": [1, 1e-9] if i < 2000 else [1e-9, 1] for i in range(4001)}
    result = propagate(BayesianNetwork(tables), likelihoods=likelihoods)
    on, off = [0.999 + 1e-12, 0.000001 + 0.999999e-9], [0.999e-9 + 0.001, 1e-15 + 0.999999]
    ratio = 2000 * math.log(on[1] / on[0]) + 2001 * math.log(off[1] / off[0])
    assert ratio < -10
    assert result.marginals["cause"]["yes"] == pytest.approx(math.exp(ratio) / (1 + math.exp(ratio)), rel=1e-6)


# ---------------------------------------------------------------------- loops: a second implementation


class Textbook:
    """Sum-product by dictionaries of plain probabilities: one message at a time, without any array."""

    def __init__(self, net, evidence):
        self.states = {name: net.variable(name).states for name in net.names if name not in evidence}
        self.tables = []
        for cpt in net.cpts:
            scope = [name for name in cpt.names if name not in evidence]
            rows = {}
            for labels in product(*(self.states[name] for name in scope)):
                world = {**evidence, **dict(zip(scope, labels, strict=True))}
                rows[labels] = float(cpt.values[tuple(v.code(world[v.name]) for v in cpt.variables)])
            self.tables.append((scope, rows))
        edges = [(a, name) for a, (scope, _) in enumerate(self.tables) for name in scope]
        self.down = {(a, name): dict.fromkeys(self.states[name], 1.0) for a, name in edges}  # table to variable
        for a, (scope, rows) in enumerate(self.tables):
            if len(scope) == 1:  # what does not wait for any message is there from the start
                self.down[a, scope[0]] = scaled({labels[0]: p for labels, p in rows.items()})

    def up(self, a, name):
        """The message from a variable to a table."""
        others = [m for (b, other), m in self.down.items() if other == name and b != a]
        return scaled({s: math.prod(m[s] for m in others) for s in self.states[name]})

    def round(self):
        ups = {edge: self.up(*edge) for edge in self.down}
        fresh = {}
        for a, name in self.down:
            scope, rows = self.tables[a]
            sums = dict.fromkeys(self.states[name], 0.0)
            for labels, p in rows.items():
                weight = math.prod(ups[a, n][s] for n, s in zip(scope, labels, strict=True) if n != name)
                sums[labels[scope.index(name)]] += p * weight
            fresh[a, name] = scaled(sums)
        self.down = fresh

    def belief(self, name):
        incoming = [m for (_, other), m in self.down.items() if other == name]
        return scaled({s: math.prod(m[s] for m in incoming) for s in self.states[name]})

    def bethe(self):
        """Expected log of the tables plus the Bethe entropy, from the beliefs of tables and variables."""
        total = 0.0
        for a, (scope, rows) in enumerate(self.tables):
            ups = [self.up(a, name) for name in scope]
            joint = scaled({ls: p * math.prod(u[s] for u, s in zip(ups, ls, strict=True)) for ls, p in rows.items()})
            total += sum(b * (math.log(rows[labels]) - math.log(b)) for labels, b in joint.items() if b > 0)
        for name in self.states:
            degree = sum(1 for _, other in self.down if other == name)
            total += (degree - 1) * sum(b * math.log(b) for b in self.belief(name).values() if b > 0)
        return total


def scaled(weights):
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


LOOPS = [
    [("a", "c"), ("b", "c"), ("a", "d"), ("b", "d")],
    [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")],
    [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "e"), ("d", "e")],
]


@pytest.mark.parametrize("edges", LOOPS)
@pytest.mark.parametrize("states", [2, 3])
def test_round_by_round_the_messages_are_those_of_the_textbook(edges, states):
    for seed in range(4):
        net = random_net(np.random.default_rng(seed), edges, states)
        evidence = {"d": seed % states}
        textbook = Textbook(net, evidence)
        for rounds in range(1, 8):
            textbook.round()
            result = propagate(net, evidence, damping=0.0, max_iter=rounds, tol=1e-300)
            assert result.iterations == rounds or result.residual == 0
            assert not result.exact
            for name, factor in result.marginals.items():
                assert factor.values == pytest.approx(list(textbook.belief(name).values()), abs=1e-12)


@pytest.mark.parametrize("edges", LOOPS)
def test_the_estimate_is_the_bethe_free_energy(edges):
    for seed in range(6):
        net = random_net(np.random.default_rng(seed), edges, 3)
        evidence = {"d": 1} if seed % 2 else {}
        textbook = Textbook(net, evidence)
        for _ in range(200):
            textbook.round()
        result = propagate(net, evidence, tol=1e-13)
        assert result.converged
        assert result.log_probability_estimate == pytest.approx(textbook.bethe(), abs=1e-9)
        if not evidence:  # tables that sum to one give the estimate 1 without evidence, loops or not
            assert result.log_probability_estimate == pytest.approx(0, abs=1e-9)


def tangle(size, doubt, seed=0, differ=(True, False)):
    """A network in which each two of some switches are observed to agree or to differ, with some doubt."""
    rng = random.Random(seed)
    switches = [Variable(f"s{i}", [0, 1]) for i in range(size)]
    tables = [CPT(switch, [0.45, 0.55]) for switch in switches]
    for i, j in combinations(range(size), 2):
        p = 1 - doubt if rng.choice(differ) else doubt
        rows = [[[p, 1 - p], [1 - p, p]], [[1 - p, p], [p, 1 - p]]]
        tables.append(CPT(Variable(f"e{i}{j}", [0, 1]), rows, [switches[i], switches[j]]))
    net = BayesianNetwork(tables)
    return net, {name: 1 for name in net.names if name.startswith("e")}


def test_damping_changes_the_way_and_not_the_end():
    net = grid(5, 5)
    evidence = {"x4_4": "yes", "x1_3": "no"}
    plain = propagate(net, evidence, damping=0.0, tol=1e-12)
    damped = propagate(net, evidence, damping=0.6, tol=1e-12)
    assert plain.converged
    assert damped.converged
    assert damped.iterations > plain.iterations
    assert largest_error(plain, damped.marginals) < 1e-9
    once, held_back = (propagate(net, evidence, damping=d, max_iter=1) for d in (0.0, 0.9))
    assert held_back.residual == once.residual > 0.1  # damping must not pass for convergence


def test_damping_settles_what_oscillates():
    net, evidence = tangle(6, doubt=0.2, seed=5)
    plain = propagate(net, evidence, damping=0.0)
    assert not plain.converged
    assert plain.iterations == 1000
    assert plain.residual > 0.1
    assert "NOT converged" in str(plain)
    damped = propagate(net, evidence, damping=0.7)
    assert damped.converged
    assert damped.residual <= 1e-9
    assert largest_error(damped, net.marginals(evidence)) < largest_error(plain, net.marginals(evidence))


def test_messages_that_grow_without_end_stay_finite():
    """Four switches all of which must differ: each round doubles the messages and turns them round."""
    net, evidence = tangle(4, doubt=0.0, differ=[True])
    result = propagate(net, evidence, damping=0.0, max_iter=3000)
    assert not result.converged
    assert math.isfinite(result.log_probability_estimate)
    assert all(factor.values.sum() == pytest.approx(1) for factor in result.marginals.values())


# ---------------------------------------------------------------------- zeros


@settings(max_examples=200, deadline=None)
@given(strategies.questions())
def test_zeros_give_no_nan_and_are_never_wrong(question):
    net, _, evidence = question
    probability = oracles.probability(net, evidence)
    try:
        result = propagate(net, evidence, max_iter=60)
    except ImpossibleEvidenceError:
        assert probability == 0
        return
    assert math.isfinite(result.log_probability_estimate)
    for name, factor in result.marginals.items():
        assert factor.values.sum() == pytest.approx(1, abs=1e-12)
        assert (factor.values >= 0).all()
        if probability > 0:
            exact = np.array(oracles.posterior(net, [name], evidence))
            assert (factor.values[exact > 0] > 0).all()
            if result.exact:
                assert factor.values == pytest.approx(exact, abs=1e-9)


def test_impossible_evidence_is_noticed_where_a_message_vanishes():
    net = pgm.networks.load("asia")
    with pytest.raises(ImpossibleEvidenceError, match="'tub', 'either' has probability zero: it leaves no state of 'l"):
        propagate(net, {"tub": "yes", "either": "no"})
    everything = dict.fromkeys(net.names, "yes") | {"either": "no"}
    with pytest.raises(ImpossibleEvidenceError, match="the table of 'either' is zero"):
        propagate(net, everything)


def test_a_contradiction_around_a_loop_may_go_unnoticed():
    """Three switches, each observed to differ from the next: every two of them can."""
    net, evidence = tangle(3, doubt=0.0, differ=[True])
    with pytest.raises(ImpossibleEvidenceError):
        net.marginals(evidence)
    result = propagate(net, evidence, damping=0.5, max_iter=20)
    assert not result.exact
    assert all(0 < p < 1 for factor in result.marginals.values() for p in factor.values)


# ---------------------------------------------------------------------- networks

MEASURED = {"alarm": (0.33, 0.03), "insurance": (0.08, 0.02), "hailfinder": (0.03, 0.004), "andes": (0.11, 0.006)}
"""Bounds of the largest and of the mean error of a marginal, given a fifth of the variables."""


def drawn_evidence(net, count, seed):
    """Some variables at the states of one row drawn from the network."""
    rng = random.Random(seed)
    world = {}
    for name in net.dag.topological_order:
        cpt = net.cpt(name)
        row = cpt.values[tuple(parent.code(world[parent.name]) for parent in cpt.parents)]
        world[name] = rng.choices(cpt.child.states, row.tolist())[0]
    return {name: world[name] for name in rng.sample(net.names, count)}


@pytest.mark.parametrize("name", MEASURED)
def test_errors_on_bundled_networks(name):
    net = pgm.networks.load(name)
    for seed in (0, 1):
        evidence = drawn_evidence(net, len(net) // 5, seed)
        expected = net.marginals(evidence)
        result = propagate(net, evidence)
        errors = [np.abs(result.marginals[other].values - expected[other].values).max() for other in expected]
        assert result.converged
        assert not result.exact
        assert 1e-6 < max(errors) < MEASURED[name][0]
        assert np.mean(errors) < MEASURED[name][1]
        assert result.log_probability_estimate == pytest.approx(net.log_probability(evidence), abs=0.1)


def test_a_grid_of_2500_variables():
    """Exact tables would take 2**50 cells. Far from the corner, a smaller grid with the same tables knows better."""
    net = grid(50, 50)
    evidence = {f"x{i}_{j}": "yes" if i * j % 2 else "no" for i in range(0, 50, 7) for j in range(0, 50, 6)}
    result = propagate(net, evidence)
    assert result.converged
    assert len(result.marginals) == 2500 - len(evidence)
    corner = BayesianNetwork([net.cpt(f"x{i}_{j}") for i in range(12) for j in range(12)])
    inside = {name: label for name, label in evidence.items() if name in corner}
    expected = corner.marginals(inside)
    for i in range(7):  # what is beyond weighs little here
        for j in range(7):
            if (name := f"x{i}_{j}") in expected:
                assert result.marginals[name].values == pytest.approx(expected[name].values, abs=0.04)


def test_the_order_of_declaration_does_not_matter():
    net = pgm.networks.load("insurance")
    turned = BayesianNetwork(net.cpts[::-1])
    evidence = {"PropCost": "Thousand", "Age": "Adult"}
    one, two = propagate(net, evidence), propagate(turned, evidence)
    assert list(two.marginals) == list(one.marginals)[::-1]
    assert all(two.marginals[name].allclose(one.marginals[name], rtol=1e-7) for name in one.marginals)
    again = propagate(net, evidence)
    assert all(np.array_equal(again.marginals[n].values, one.marginals[n].values) for n in one.marginals)


# ---------------------------------------------------------------------- the record, the border


def test_nothing_left_to_infer():
    rain = Variable("rain", ["no", "yes"])
    sure = Variable("sure", ["only"])
    net = BayesianNetwork([CPT(rain, [0.8, 0.2]), CPT(sure, [[1.0], [1.0]], [rain])])
    result = propagate(net, {"rain": "yes"})
    assert result.marginals["sure"].to_dict() == {"only": 1.0}
    assert result.log_probability_estimate == pytest.approx(math.log(0.2))
    assert result.exact
    full = propagate(net, {"rain": "yes", "sure": "only"})
    assert full.marginals == {}
    assert full.residual == 0


def test_the_record_says_what_it_is():
    net = pgm.networks.load("asia")
    loopy, exact = propagate(net), propagate(net, {"smoke": "yes"})
    assert "approximation with errors of about 0.0033 ('dysp') and less; converged after" in str(loopy)
    assert "exact: the factor graph is a forest" in str(exact)
    with pytest.raises(dataclasses.FrozenInstanceError):
        loopy.converged = False
    assert not loopy.marginals["lung"].values.flags.writeable


@pytest.mark.parametrize("wrong", [
    {"damping": 1.0}, {"damping": -0.1}, {"damping": "some"}, {"tol": 0.0}, {"tol": math.nan}, {"max_iter": 0},
    {"max_iter": 10.5},
])  # fmt: skip
def test_settings_are_checked(wrong):
    with pytest.raises(EvidenceError, match=next(iter(wrong))):
        propagate(pgm.networks.load("asia"), **wrong)


def test_names_and_labels_are_checked():
    net = pgm.networks.load("asia")
    with pytest.raises(UnknownNameError, match="'lungs'"):
        propagate(net, {"lungs": "yes"})
    with pytest.raises(UnknownStateError, match="'maybe'"):
        propagate(net, {"lung": "maybe"})
    with pytest.raises(ImpossibleEvidenceError, match="likelihood is zero"):
        propagate(net, {"lung": "yes"}, likelihoods={"lung": [0, 1]})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.filterwarnings("ignore:IProgress")
def test_a_progress_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "DELAY", 0.0)
    net = pgm.networks.load("asia")
    propagate(net, progress=False)
    assert sys.stderr.getvalue() == ""
    propagate(net)
    assert "belief propagation" in sys.stderr.getvalue()


# ---------------------------------------------------------------------- the error estimate


def test_forests_have_no_error():
    net = pgm.networks.load("cancer")
    found = propagate(net, {"Xray": "positive"})
    assert found.exact
    assert found.error_estimates == dict.fromkeys(found.marginals, 0.0)
    assert (found.log_probability_error_estimate, found.largest_error_estimate, found.error_variables) == (0.0, 0.0, ())


def test_the_error_estimate_can_be_left_out():
    net = pgm.networks.load("asia")
    full, plain = propagate(net), propagate(net, error_variables=0)
    assert (plain.error_estimates, plain.largest_error_estimate, plain.error_variables) == (None, None, ())
    assert plain.marginals == full.marginals
    assert "of unknown error" in str(plain)
    assert "with errors of about 0.0" in str(full)
    assert list(full.error_estimates.values()) == sorted(full.error_estimates.values(), reverse=True)
    assert set(full.error_estimates) == set(full.marginals)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("evidence", [{}, {"d": 1}])
def test_on_a_single_loop_the_estimate_is_the_error(seed, evidence):
    """To fix a variable of the only loop leaves a forest, on which the average over its states is exact."""
    net = random_net(np.random.default_rng(seed), [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")], 3, 0.4)
    found = propagate(net, evidence)
    if found.exact:
        return
    for name, factor in found.marginals.items():
        error = np.abs(factor.values - oracles.posterior(net, [name], evidence)).max()
        assert found.error_estimates[name] == pytest.approx(error, abs=1e-3)
    log_p = math.log(oracles.probability(net, evidence))
    assert found.log_probability_error_estimate == pytest.approx(abs(found.log_probability_estimate - log_p), abs=1e-3)


def test_the_estimate_is_usually_of_the_size_of_the_error():
    """Against enumeration, on random networks with many loops and extreme tables; ranks and sizes of the largest."""
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(9)]
    estimated, true = [], []
    for _ in range(40):
        edges = [(names[j], names[i]) for i in range(1, 9) for j in rng.permutation(i)[:2]]
        net = random_net(rng, edges, 2, 0.3)
        row = net.sample(1, rng).to_dict()
        evidence = {name: row[name][0] for name in names[-3:]}
        found = propagate(net, evidence, max_iter=300)
        if found.exact:
            continue
        estimated.append(found.largest_error_estimate)
        true.append(largest_error(found, net.marginals(evidence)))
    estimated, true = np.array(estimated), np.array(true)
    assert len(true) >= 30
    ranks = [np.argsort(np.argsort(values)) for values in (estimated, true)]
    assert np.corrcoef(*ranks)[0, 1] > 0.85
    ratio = estimated[true > 0.01] / true[true > 0.01]
    assert len(ratio) >= 12
    assert 0.9 < np.median(ratio) < 1.15
    assert np.mean((ratio > 0.5) & (ratio < 2.0)) > 0.8


def test_loops_that_are_not_looked_at_are_named():
    """Two loops apart from each other: one variable sees one of them."""
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "f"), ("e", "g"), ("f", "h"), ("g", "h")]
    net = random_net(np.random.default_rng(1), edges, 2, 0.4)
    evidence = {"d": 0, "h": 1}
    one, two = (propagate(net, evidence, error_variables=number) for number in (1, 2))
    assert len(one.error_variables) == 1
    assert set(one.unseen) in ({"a", "b", "c"}, {"e", "f", "g"})
    assert f"loops of {len(one.unseen)} variables not looked at" in str(one)
    assert (len(two.error_variables), two.unseen) == (2, ())
    errors = {
        name: np.abs(two.marginals[name].values - oracles.posterior(net, [name], evidence)).max() for name in "abcefg"
    }
    for name, error in errors.items():
        assert two.error_estimates[name] == pytest.approx(error, abs=1e-3)
    for wrong in (-1, True, 1.5, None):
        with pytest.raises(EvidenceError, match="error_variables is a whole number from 0"):
            propagate(net, error_variables=wrong)


def test_alarm_is_warned_of():
    """One marginal of ALARM is off by 0.23; the estimate names it."""
    net, evidence = pgm.networks.load("alarm"), {"HRBP": "HIGH", "BP": "LOW"}
    found, exact = net.approximate_marginals(evidence), net.marginals(evidence)
    errors = {name: np.abs(found.marginals[name].values - exact[name].values).max() for name in exact}
    assert next(iter(found.error_estimates)) == max(errors, key=errors.get) == "EXPCO2"
    assert errors["EXPCO2"] > 0.2
    assert found.error_estimates["EXPCO2"] == pytest.approx(errors["EXPCO2"], rel=0.05)


def test_a_contradiction_that_goes_unnoticed_is_doubtful():
    """Where fixing the variable in any of its states shows that the evidence is impossible, nothing can be trusted."""
    a, b, c = (Variable(name, [0, 1]) for name in "abc")
    equal, seen = [[1.0, 0.0], [0.0, 1.0]], Variable("seen", [0, 1])
    differ = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    net = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, equal, [a]), CPT(c, equal, [b]), CPT(seen, differ, [c, a])])
    with pytest.raises(ImpossibleEvidenceError):
        net.query("a", {"seen": 1})
    found = propagate(net, {"seen": 1})
    assert set(found.error_estimates.values()) == {1.0}
    assert found.log_probability_error_estimate == math.inf
