"""Interventions against the truncated factorisation, enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, UnknownNameError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.inference.intervention import do
from pgm.inference.sampling import sample
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import leak_network
from tests.inference.test_sampling import engine, typed


def truncated(net, assignments):
    """Yield every joint state that has the states set, with the product of the tables of all other variables."""
    tables = {cpt.child.name: (cpt.names, dict(oracles.rows(cpt))) for cpt in net.cpts}
    for world, _ in oracles.assignments(net):
        if oracles.agrees(world, assignments):
            others = [table for name, table in tables.items() if name not in assignments]
            yield world, math.prod(rows[typed(world[name] for name in names)] for names, rows in others)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_answers_are_those_of_the_truncated_factorisation(data):
    """Evidence is on any variables: causes, effects and colliders, and those that are set."""
    net, targets, evidence = data.draw(strategies.questions())
    assignments = data.draw(strategies.evidence_on(net))
    sums = {}
    for world, p in truncated(net, assignments):
        if oracles.agrees(world, evidence):
            key = typed(world[name] for name in targets)
            sums[key] = sums.get(key, 0.0) + p
    total = math.fsum(sums.values())
    if total == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.query(targets, evidence, do=assignments)
        return
    answer = net.query(targets, evidence, do=assignments)
    assert answer.names == tuple(targets)
    for labels, p in oracles.rows(answer):
        assert p == pytest.approx(sums.get(labels, 0.0) / total, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_only_the_tables_of_what_is_set_are_replaced(data):
    net = data.draw(strategies.networks())
    assignments = data.draw(strategies.evidence_on(net))
    mutilated = BayesianNetwork(do(net.cpts, assignments))
    assert mutilated.variables == net.variables
    assert set(mutilated.dag.edges) == {(u, v) for u, v in net.dag.edges if v not in assignments}
    for before, after in zip(net.cpts, mutilated.cpts, strict=True):
        if before.child.name not in assignments:
            assert after is before
        else:
            assert after[assignments[before.child.name]] == 1.0
            assert after.values.sum() == 1.0
    assert BayesianNetwork(do(net.cpts, {})) == net


def kidney_stones():
    """Charig et al. (1986): which treatment is better? Larger stones get treatment A more often, and heal less."""
    size, treatment = Variable("size", ["small", "large"]), Variable("treatment", ["A", "B"])
    healed = Variable("healed", ["no", "yes"])
    cured = [[[6 / 87, 81 / 87], [36 / 270, 234 / 270]], [[71 / 263, 192 / 263], [25 / 80, 55 / 80]]]
    return BayesianNetwork(
        [
            CPT(size, [357 / 700, 343 / 700]),
            CPT(treatment, [[87 / 357, 270 / 357], [263 / 343, 80 / 343]], [size]),
            CPT(healed, cured, [size, treatment]),
        ]
    )


def test_setting_is_not_seeing():
    """Simpson's paradox: B looks better among those treated so, yet A is better."""
    net = kidney_stones()
    seen = [net.query("healed", {"treatment": label})["yes"] for label in "AB"]
    assert seen == pytest.approx([273 / 350, 289 / 350])
    set_to = [net.query("healed", do={"treatment": label})["yes"] for label in "AB"]
    small, large = 357 / 700, 343 / 700
    assert set_to == pytest.approx([small * 81 / 87 + large * 192 / 263, small * 234 / 270 + large * 55 / 80])
    assert set_to == pytest.approx([0.8325, 0.7789], abs=5e-5)


def test_setting_an_effect_says_nothing_about_its_causes():
    net = pgm.networks.load("asia")
    for name in ("smoke", "bronc", "either"):
        found = net.query(name, do={"dysp": "yes"})
        assert found.values == pytest.approx(net.query(name).values)
    found = net.query("lung", {"xray": "yes"}, do={"dysp": "yes"}, likelihoods={"smoke": [3, 1]})
    assert found.values == pytest.approx(net.query("lung", {"xray": "yes"}, likelihoods={"smoke": [3, 1]}).values)


def test_what_is_set_can_be_drawn_from():
    net = BayesianNetwork(do(kidney_stones().cpts, {"treatment": "A"}))
    data = sample(engine(net), 20_000, 3, evidence={"healed": "yes"})
    assert not data.codes("treatment").any()
    expected = net.query("size", {"healed": "yes"})["large"]
    assert np.mean(data.codes("size")) == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))


def test_what_makes_no_sense_is_refused():
    net = leak_network()
    cpts = net.cpts
    with pytest.raises(ImpossibleEvidenceError, match="conflict: Wet='no'"):
        net.query("Bill", {"Wet": "no"}, do={"Wet": "yes"})
    with pytest.raises(UnknownNameError, match="'Leak'"):
        do(cpts, {"Rain": "yes"})
    with pytest.raises(UnknownStateError, match="'no', 'yes'"):
        do(cpts, {"Wet": "maybe"})
    with pytest.raises(EvidenceError, match="mapping"):
        do(cpts, ["Wet"])
