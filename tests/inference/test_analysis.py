"""Families, sensitivities, information, impact and conflict against the enumerated joint; Jeffrey's rule."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError
from pgm.factors import CPT, Variable
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import chain, leak_network


@settings(max_examples=120, deadline=None)
@given(strategies.questions())
def test_families_are_enumerated_joints(question):
    net, _, evidence = question
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.families(evidence)
        return
    for name, family in net.families(evidence).items():
        assert family.names == net.cpt(name).names
        assert family.values.ravel() == pytest.approx(oracles.posterior(net, family.names, evidence), abs=1e-12)


def moved(net, child, place, step):
    """Return the network with one parameter moved and the rest of its row scaled in proportion."""
    cpt = net.cpt(child)
    values = cpt.values.copy()
    row, code = place[:-1], place[-1]
    old = values[place]
    new = old + step
    rest = np.delete(np.arange(cpt.child.cardinality), code)
    values[(*row, rest)] *= (1 - new) / (1 - old)
    values[place] = new
    tables = [CPT(cpt.child, values, cpt.parents) if other.child == cpt.child else other for other in net.cpts]
    return BayesianNetwork(tables)


@settings(max_examples=60, deadline=None)
@given(strategies.questions(zeros=False), st.data())
def test_sensitivities_are_the_slopes_of_the_posterior(question, data):
    net, targets, evidence = question
    target = targets[0]
    if target in evidence:
        with pytest.raises(EvidenceError, match="is observed"):
            net.sensitivity(target, evidence[target], evidence)
        return
    state = data.draw(st.sampled_from(net.variable(target).states))
    found = net.sensitivity(target, state, evidence)
    code = net.variable(target).code(state)
    assert found.posterior == pytest.approx(oracles.posterior(net, [target], evidence)[code])
    child = data.draw(st.sampled_from(net.names))
    values = net.cpt(child).values
    place = tuple(data.draw(st.integers(0, size - 1)) for size in values.shape)
    if values.shape[-1] == 1:
        assert found.derivatives[child][place] == pytest.approx(0, abs=1e-12)
        return
    step = 1e-6
    up = oracles.posterior(moved(net, child, place, step), [target], evidence)[code]
    down = oracles.posterior(moved(net, child, place, -step), [target], evidence)[code]
    assert found.derivatives[child][place] == pytest.approx((up - down) / (2 * step), abs=1e-6, rel=1e-5)


def test_a_tornado_gives_the_posterior_at_both_ends():
    net = pgm.networks.load("asia")
    evidence = {"xray": "yes", "dysp": "no"}
    for entry in net.sensitivity("lung", "yes", evidence).tornado(spread=0.3, top=8):
        cpt = net.cpt(entry.variable)
        place = tuple(v.code(s) for v, s in zip(cpt.variables, [*entry.parents.values(), entry.state], strict=True))
        ends = [-0.3 * entry.value, min(0.3 * entry.value, 1 - entry.value)]
        at_ends = [moved(net, entry.variable, place, step).query("lung", evidence)["yes"] for step in ends]
        assert (entry.low, entry.high) == pytest.approx((min(at_ends), max(at_ends)), rel=1e-9)
    with pytest.raises(EvidenceError, match="spread"):
        net.sensitivity("lung", "yes").tornado(spread=2)


@settings(max_examples=60, deadline=None)
@given(strategies.questions())
def test_information_by_definition(question):
    net, targets, evidence = question
    target = targets[0]
    if target in evidence or oracles.probability(net, evidence) == 0:
        return
    found = net.mutual_information(target, evidence)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert set(found) == set(net.names) - {target, *evidence}
    for name, information in found.items():
        joint = np.reshape(oracles.posterior(net, [target, name], evidence), (net.variable(target).cardinality, -1))
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        some = joint > 0
        assert information == pytest.approx((joint[some] * np.log(joint[some] / independent[some])).sum(), abs=1e-9)


def test_impact_and_conflict():
    net = pgm.networks.load("asia")
    evidence = {"xray": "yes", "smoke": "no"}
    impact = net.evidence_impact("lung", evidence)
    assert set(impact) == {"xray", "smoke"}
    assert next(iter(impact.values())).divergence >= list(impact.values())[1].divergence
    assert impact["xray"].without.allclose(net.query("lung", {"smoke": "no"}))
    p, q = net.query("lung", evidence).values, net.query("lung", {"smoke": "no"}).values
    assert impact["xray"].divergence == pytest.approx((p * np.log(p / q)).sum())
    expected = math.log(net.probability({"xray": "yes"}) * net.probability({"smoke": "no"}) / net.probability(evidence))
    assert net.conflict(evidence) == pytest.approx(expected)
    assert net.conflict(evidence) > 0 > net.conflict({"xray": "yes", "smoke": "yes"})
    assert net.conflict({"xray": "yes"}) == pytest.approx(0, abs=1e-12)
    with pytest.raises(EvidenceError, match="is observed"):
        net.evidence_impact("xray", evidence)
    with pytest.raises(EvidenceError, match="is observed"):
        net.mutual_information("xray", evidence)


def test_a_likelihood_of_what_is_observed_is_a_piece_of_evidence():
    net, report = pgm.networks.load("asia"), {"xray": {"yes": 0.99, "no": 0.01}}
    no = net.probability({"xray": "no"})
    heard = 0.99 * (1 - no) + 0.01 * no
    assert net.conflict({"xray": "no"}, likelihoods=report) == pytest.approx(math.log(no * heard / (no * 0.01)))
    assert net.conflict({"xray": "no"}, likelihoods={"xray": [990, 10]}) == pytest.approx(math.log(heard / 0.01))
    both = {"xray": [0.99, 0.01], "dysp": [0.5, 0.1]}
    expected = math.log(no * heard * net.probability(likelihoods={"dysp": [0.5, 0.1]}))
    expected -= net.log_probability({"xray": "no"}, likelihoods=both)
    assert net.conflict({"xray": "no"}, likelihoods=both) == pytest.approx(expected)
    impact = net.evidence_impact("lung", {"xray": "no"}, likelihoods=report)
    assert list(impact) == ["xray", "the likelihood of xray"]
    assert impact["xray"].without.allclose(net.query("lung", likelihoods=report))
    assert impact["the likelihood of xray"].without.allclose(net.query("lung", {"xray": "no"}))
    assert impact["the likelihood of xray"].divergence == 0


def test_a_likelihood_of_a_variable_of_one_state_is_a_piece_that_says_nothing():
    only, x = Variable("only", ["it"]), Variable("x", [0, 1])
    net = BayesianNetwork([CPT(only, [1.0]), CPT(x, [[0.3, 0.7]], [only])])
    soft = {"only": [0.2], "x": [0.5, 0.1]}
    impact = net.evidence_impact("x", likelihoods=soft)
    assert list(impact) == ["x", "only"]
    assert impact["only"].divergence == 0
    assert net.conflict(likelihoods=soft) == pytest.approx(0, abs=1e-12)


def test_a_probability_beyond_floats_is_no_overflow():
    net = pgm.networks.load("asia")
    large = {"xray": [1e300] * 2, "dysp": [1e300] * 2}
    with pytest.raises(EvidenceError, match=r"range of floats: exp\(1381.5.*; ask for log_probability"):
        net.probability(likelihoods=large)
    assert net.log_probability(likelihoods=large) == pytest.approx(600 * math.log(10))


def test_results_cannot_be_changed():
    net = pgm.networks.load("asia")
    found = net.sensitivity("lung", "yes", {"xray": "yes"})
    explanation, loopy = net.mpe(), net.approximate_marginals(progress=False)
    for mapping in (found.derivatives, found.tornado()[0].parents, explanation.assignment, loopy.marginals):
        with pytest.raises(TypeError, match="item assignment"):
            mapping["lung"] = "yes"
    with pytest.raises(ValueError, match="read-only"):
        found.derivatives["lung"][0, 0] = 1
    assert pickle.loads(pickle.dumps(explanation)) == copy.deepcopy(explanation) == explanation
    assert pickle.loads(pickle.dumps(found)).tornado() == found.tornado()
    assert copy.deepcopy(loopy).marginals == loopy.marginals


def test_a_tornado_stays_within_probabilities():
    """Where the posterior reaches one, rounding would carry it beyond."""
    net = pgm.networks.load("asia")
    for target, state, evidence in [("asia", "no", {"lung": "no"}), ("either", "yes", {"xray": "yes"})]:
        rows = net.sensitivity(target, state, evidence).tornado(1.0, 100)
        assert rows
        assert all(0 <= row.low <= row.high <= 1 for row in rows)


def test_jeffreys_rule_is_not_likelihood_evidence():
    """Two meanings of soft evidence with two names (pgmpy issue 2748): the same numbers give different answers."""
    fault, alarm = Variable("Fault", ["no", "yes"]), Variable("Alarm", ["quiet", "rings"])
    net = BayesianNetwork([CPT(fault, [0.95, 0.05]), CPT(alarm, [[0.9, 0.1], [0.2, 0.8]], [fault])])
    believed = net.query("Fault", distributions={"Alarm": [0.25, 0.75]})
    assert believed["yes"] == pytest.approx(0.2251123956326269)
    assert net.query("Alarm", distributions={"Alarm": {"rings": 0.75, "quiet": 0.25}})["rings"] == pytest.approx(0.75)
    assert net.query("Fault", likelihoods={"Alarm": [0.25, 0.75]})["yes"] != pytest.approx(believed["yes"], abs=0.01)
    assert net.query("Fault", distributions={"Alarm": [0.0, 1.0]}).allclose(net.query("Fault", {"Alarm": "rings"}))
    assert net.query("Fault")["yes"] == pytest.approx(0.05)


@settings(max_examples=60, deadline=None)
@given(strategies.networks(max_variables=4, zeros=False), st.data())
def test_one_distribution_mixes_the_posteriors(net, data):
    """Jeffrey: P(t) = sum over s of q(s) P(t | s)."""
    name = data.draw(st.sampled_from(net.names))
    states = net.variable(name).states
    q = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(states), max_size=len(states))), dtype=float)
    if q.sum() == 0:
        return
    q /= q.sum()
    for target, factor in net.marginals(distributions={name: q}).items():
        expected = np.zeros(factor.shape)
        for weight, state in zip(q, states, strict=True):
            expected += weight * np.array(oracles.posterior(net, [target], {name: state}))
        assert factor.values == pytest.approx(expected, abs=1e-9)


def test_several_distributions_are_met_together():
    net = pgm.networks.load("asia")
    wanted = {"smoke": [0.2, 0.8], "xray": [0.9, 0.1], "bronc": [0.5, 0.5]}
    found = net.marginals({"asia": "no"}, distributions=wanted)
    for name, distribution in wanted.items():
        assert found[name].values == pytest.approx(distribution, abs=1e-10)
    with pytest.raises(EvidenceError, match="sums to 0.9"):
        net.query("lung", distributions={"smoke": [0.2, 0.7]})
    with pytest.raises(EvidenceError, match="is observed"):
        net.query("lung", {"smoke": "yes"}, distributions={"smoke": [0.2, 0.8]})
    with pytest.raises(ImpossibleEvidenceError, match="'either' cannot get probability"):
        net.query("lung", {"tub": "yes"}, distributions={"either": [0.5, 0.5]})


def fitted(joint, wanted, rounds):
    """Return a joint table after iterative proportional fitting, the plain way."""
    for _ in range(rounds):
        for axis, distribution in enumerate(wanted):
            others = tuple(other for other in range(joint.ndim) if other != axis)
            current = joint.sum(axis=others, keepdims=True)
            shape = [-1 if other == axis else 1 for other in range(joint.ndim)]
            ratio = np.divide(distribution.reshape(shape), current, out=np.zeros_like(current), where=current > 0)
            joint = joint * ratio
    return joint


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-6, 1e-10])
def test_distributions_of_variables_that_nearly_decide_each_other(epsilon):
    """Two odds ratios decide: P(0, 0) P(1, 1) / P(0, 1) P(1, 0) stays, and the marginals are as wanted."""
    s, u = Variable("s", [0, 1]), Variable("u", [0, 1])
    net = BayesianNetwork([CPT(s, [0.5, 0.5]), CPT(u, [[1 - epsilon, epsilon], [epsilon, 1 - epsilon]], [s])])
    found = net.query(["s", "u"], distributions={"s": [0.3, 0.7], "u": [0.3, 0.7]}).values
    assert found.sum(axis=0) == pytest.approx([0.3, 0.7], abs=1e-11)
    assert found.sum(axis=1) == pytest.approx([0.3, 0.7], abs=1e-11)
    odds = ((1 - epsilon) / epsilon) ** 2
    assert found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0]) == pytest.approx(odds, rel=1e-4)
    if epsilon == 1e-3:
        assert found == pytest.approx(np.array([[0.29954, 0.00046], [0.00046, 0.69954]]), abs=5e-6)


def feasible(joint, wanted):
    """Return whether a distribution over the possible states has some marginals, by linear programming."""
    from scipy.optimize import linprog

    cells = np.argwhere(joint > 0)
    sums = [(cells[:, axis] == code, p) for axis, vector in enumerate(wanted) for code, p in enumerate(vector)]
    rows, right = [np.asarray(row, float) for row, _ in sums], [p for _, p in sums]
    return linprog(np.zeros(len(cells)), A_eq=rows, b_eq=right, bounds=(0, None)).status == 0


def test_distributions_that_can_be_had_together_are_and_others_are_refused():
    rng = np.random.default_rng(1)
    outcomes = {True: 0, False: 0}
    for _ in range(100):
        variables = [Variable(f"V{i}", list(range(rng.integers(2, 4)))) for i in range(4)]
        cpts = []
        for i, child in enumerate(variables):
            parents = [variables[j] for j in sorted(rng.choice(i, size=min(i, int(rng.integers(3))), replace=False))]
            shape = [*[parent.cardinality for parent in parents], child.cardinality]
            table = rng.dirichlet(np.full(child.cardinality, 0.5), size=int(np.prod(shape[:-1], dtype=int)))
            table[rng.random(table.shape) < 0.25] = 0
            table[table.sum(axis=1) == 0] = 1
            cpts.append(CPT(child, (table / table.sum(axis=1, keepdims=True)).reshape(shape), parents))
        net = BayesianNetwork(cpts)
        names = [f"V{i}" for i in sorted(rng.choice(4, int(rng.integers(2, 4)), replace=False))]
        joint = net.query(names).values
        wanted = [rng.dirichlet(np.ones(size)) for size in joint.shape]
        if any((net.query(name).values[vector > 0] == 0).any() for name, vector in zip(names, wanted, strict=True)):
            continue
        possible = feasible(joint, wanted)
        outcomes[possible] += 1
        distributions = dict(zip(names, wanted, strict=True))
        if not possible:
            with pytest.raises(EvidenceError, match="no distribution over the possible states gives all of 'V"):
                net.query(names, distributions=distributions)
            continue
        found = net.query(names, distributions=distributions).values
        assert found == pytest.approx(fitted(joint, wanted, 1000), abs=1e-4)
    assert min(outcomes.values()) >= 5


@pytest.mark.parametrize("tub", [0.495, 0.5, 0.499999])
def test_distributions_at_the_edge_of_what_can_be_had(tub):
    """Who has tuberculosis has either: P(tub) may be all of P(either), where only infinite weights would do."""
    wanted = {"tub": [tub, 1 - tub], "either": [0.5, 0.5]}
    found = pgm.networks.load("asia").query(["tub", "either"], distributions=wanted).values
    assert found == pytest.approx(np.array([[tub, 0], [0.5 - tub, 0.5]]), abs=1e-11)


@pytest.mark.parametrize("tub", [0.500001, 0.5001, 0.6, 0.9, 1.0])
def test_distributions_that_cannot_be_had_together(tub):
    with pytest.raises(EvidenceError, match="no distribution over the possible states gives all of 'tub', 'either'"):
        pgm.networks.load("asia").marginals(distributions={"tub": [tub, 1 - tub], "either": [0.5, 0.5]})


def test_many_distributions_in_a_large_network():
    rng = np.random.default_rng(4)
    net = pgm.networks.load("alarm")
    names = rng.choice(net.names, 8, replace=False)
    wanted = {name: rng.dirichlet(np.ones(net.variable(name).cardinality)) for name in names}
    found = net.marginals(distributions=wanted)
    for name, vector in wanted.items():
        assert found[name].values == pytest.approx(vector, abs=1e-11)


def test_tiny_probabilities_have_families_too():
    net = chain(2000)
    evidence = {name: number % 2 for number, name in enumerate(net.names) if number not in (5, 6)}
    family = net.families(evidence)["X7"]
    assert family.values.sum() == pytest.approx(1)
    assert net.families(evidence)["X6"].marginalize("X5").allclose(net.query("X6", evidence))


def test_an_impossible_state_has_no_sensitivity():
    net = leak_network()
    with pytest.raises(EvidenceError, match="probability zero"):
        net.sensitivity("Wet", "no", {"Burst": "yes"})
