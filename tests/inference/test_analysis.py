"""Families, sensitivities, information, impact and conflict against the enumerated joint; Jeffrey's rule."""

from __future__ import annotations

import math

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
