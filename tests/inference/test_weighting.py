"""Likelihood weighting against the enumerated joint, and whether its standard errors are true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
import pgm.inference.weighting
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError, UnknownNameError
from pgm.factors import CPT, Variable
from pgm.inference.sampled_posterior import effective_sample_size, estimate_by_chains, estimate_by_weights
from pgm.inference.weighting import likelihood_weighting, weighted_posterior
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import grid, leak_network
from tests.inference.test_sampling import engine, rows_of, typed, worlds


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(0, 2**32))
def test_weights_are_the_probability_of_the_evidence_given_its_parents(data, seed):
    net = data.draw(strategies.networks())
    evidence = data.draw(strategies.evidence_on(net))
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            likelihood_weighting(engine(net), 5, seed, evidence=evidence)
        return
    try:
        found = likelihood_weighting(engine(net), 40, seed, evidence=evidence)
    except EvidenceError as error:
        assert "none of 40 rows" in str(error)
        return
    tables = {name: dict(oracles.rows(net.cpt(name))) for name in evidence}
    expected = []
    for row in rows_of(found.data):
        world = dict(zip(net.names, row, strict=True))
        assert all(world[name] == typed([label])[0] for name, label in evidence.items())
        labels = {name: tuple(world[n] for n in net.cpt(name).names) for name in evidence}
        expected.append(math.prod(table[labels[name]] for name, table in tables.items()))
    mean = sum(expected) / len(expected)
    assert found.data.weights == pytest.approx(np.array(expected) / mean, rel=1e-9)
    assert found.log_probability == pytest.approx(math.log(mean), abs=1e-9)
    assert found.effective_sample_size == pytest.approx(sum(expected) ** 2 / sum(w * w for w in expected))


def test_weighted_rows_represent_the_posterior():
    net = pgm.networks.load("asia")
    evidence, likelihoods = {"dysp": "yes", "xray": "yes"}, {"smoke": [0.2, 1.0]}
    found = likelihood_weighting(engine(net), 50_000, 3, evidence=evidence, likelihoods=likelihoods)
    exact = net.log_probability(evidence, likelihoods=likelihoods)
    relative = math.sqrt(1 / found.effective_sample_size - 1 / 50_000)
    assert found.log_probability == pytest.approx(exact, abs=5 * relative)
    assert found.data.total_weight == pytest.approx(50_000)
    assert effective_sample_size(found.data.weights) == pytest.approx(found.effective_sample_size)
    frequency = dict.fromkeys(worlds(net, evidence, likelihoods), 0.0)
    for row, weight in zip(rows_of(found.data), found.data.weights / 50_000, strict=True):
        if weight > 0:  # rows of weight zero are impossible; they are kept
            frequency[row] += weight
    for row, p in worlds(net, evidence, likelihoods).items():
        assert frequency[row] == pytest.approx(p, abs=5 * math.sqrt(p / found.effective_sample_size) + 1e-3)


@pytest.mark.parametrize("targets", ["lung", ["lung", "smoke"], ["smoke", "xray", "lung"]])
def test_posteriors_are_as_close_as_they_say(targets):
    net = pgm.networks.load("asia")
    evidence = {"xray": "yes", "dysp": "yes"}
    found = weighted_posterior(engine(net), targets, 20_000, 1, evidence=evidence)
    exact = net.query(targets, evidence)
    assert found.posterior.names == exact.names == found.standard_error.names
    assert found.posterior.values.sum() == pytest.approx(1)
    assert (np.abs(found.posterior.values - exact.values) <= 5 * found.standard_error.values).all()
    assert (found.standard_error.values[exact.values == 0] == 0).all()  # xray is observed
    assert found.standard_error.values.max() < 0.02
    assert 500 < found.effective_sample_size < 20_000
    assert found.n_rows == 20_000
    text = str(found)
    assert text.startswith("approximate, by likelihood weighting: 20,000 rows, worth ")
    assert "standard error" in text and "lung" in text


def test_standard_errors_are_true():
    """Over 300 runs the squared deviations in units of the standard error have a mean near one."""
    net = engine(pgm.networks.load("cancer"))
    evidence = {"Dyspnoea": "True"}
    exact = pgm.networks.load("cancer").query("Pollution", evidence).values
    squares = []
    for seed in range(300):
        found = weighted_posterior(net, "Pollution", 1000, seed, evidence=evidence)
        squares.append(((found.posterior.values - exact) / found.standard_error.values)[0] ** 2)
    assert np.mean(squares) == pytest.approx(1, abs=5 * math.sqrt(2 / 300))


def test_errors_of_equal_weights_are_those_of_a_proportion():
    states = np.repeat([0, 1, 2], [10, 30, 60])
    p, errors, size = estimate_by_weights(states, 4, np.ones(100))
    assert p == pytest.approx([0.1, 0.3, 0.6, 0.0])
    assert errors == pytest.approx([math.sqrt(x * (1 - x) / 100) for x in p])
    assert size == pytest.approx(100)


def test_errors_of_chains_come_from_their_differences():
    states = np.array([0, 1, 0, 1, 0, 1, 0, 1])  # two chains that never move
    p, errors, size = estimate_by_chains(states, 2, np.tile([0, 1], 4))
    assert p.tolist() == [0.5, 0.5]
    means = np.array([1.0, 0.0])
    assert errors == pytest.approx([means.std(ddof=1) / math.sqrt(2)] * 2)
    assert size == pytest.approx(1)
    _, errors, size = estimate_by_chains(np.zeros(6, int), 1, np.tile([0, 1], 3))
    assert (errors.tolist(), size) == ([0.0], 6.0)


def test_a_state_never_drawn_is_not_called_impossible():
    net = BayesianNetwork([CPT(Variable("x", [0, 1]), [1 - 1e-9, 1e-9])])
    found = weighted_posterior(engine(net), "x", 1000, 1)
    assert found.posterior[1] == 0
    assert found.standard_error[1] == pytest.approx(1e-3)


def test_observed_targets_and_variables_of_one_state_are_certain():
    k, x = Variable("k", ["only"]), Variable("x", [0, 1])
    net = engine(BayesianNetwork([CPT(k, [1.0]), CPT(x, [[0.5, 0.5]], [k])]))
    found = weighted_posterior(net, ["k", "x"], 100, 1, evidence={"x": 1})
    assert found.posterior.values.tolist() == [[0.0, 1.0]]
    asia = pgm.networks.load("asia")  # weights that are not all equal, whose sums are rounded
    for method in ("weighting", "gibbs"):
        options = {"method": method, "zeros": "allow"} if method == "gibbs" else {}
        seen = asia.estimate("dysp", 1001, 1, evidence={"dysp": "yes", "xray": "yes"}, **options)
        assert seen.posterior.values.tolist() == [1.0, 0.0]
        assert seen.standard_error.values.tolist() == [0.0, 0.0]
    assert not found.standard_error.values.any()


def rare_cause(signs=3):
    """A cause of probability 1e-6 that makes each of some signs 999 times as probable as it is without it."""
    cause = Variable("cause", ["no", "yes"])
    cpts = [CPT(cause, [1 - 1e-6, 1e-6])]
    for number in range(signs):
        cpts.append(CPT(Variable(f"sign{number}", ["yes", "no"]), [[1e-3, 1 - 1e-3], [1 - 1e-3, 1e-3]], [cause]))
    return BayesianNetwork(cpts)


def test_heavy_rows_that_were_never_drawn_are_reckoned_with():
    """20,000 rows without the cause agree perfectly, and are wrong: P(cause | signs) is 0.999."""
    net, signs = rare_cause(), dict.fromkeys(["sign0", "sign1", "sign2"], "yes")
    exact = net.query("cause", signs)
    assert exact["yes"] == pytest.approx(0.999, abs=1e-4)
    found = net.estimate("cause", 20_000, 0, evidence=signs)
    assert found.posterior["yes"] == 0
    assert found.effective_sample_size == pytest.approx(20_000)
    ratio = 3 / 20_000 * 0.999**3 / 1e-9  # of what they could weigh to what was drawn
    assert found.unseen == pytest.approx(ratio / (1 + ratio))
    assert (np.abs(found.posterior.values - exact.values) <= 2 * found.standard_error.values + 1e-4).all()
    assert str(found).startswith(
        "approximate, by likelihood weighting: 20,000 rows, and up to 100.0% of the posterior in heavier ones, none of"
    )
    assert net.weighted_sample(20_000, 0, evidence=signs).unseen == found.unseen
    assert found.standard_error.values.max() == pytest.approx(0.5, abs=1e-3)
    soft = net.estimate("cause", 20_000, 0, likelihoods={sign: [999.0, 1.0] for sign in signs})
    assert soft.unseen > 0.5


def test_nothing_heavier_is_unseen_if_the_heaviest_row_was_drawn():
    asia = pgm.networks.load("asia")
    for evidence in ({}, {"asia": "no"}, {"xray": "yes", "dysp": "yes"}):
        assert asia.estimate("lung", 20_000, 1, evidence=evidence).unseen == 0
    assert asia.estimate("lung", 100, 1, evidence={"dysp": "yes"}, likelihoods={"tub": [1, 0.1]}).unseen > 0.01
    assert pgm.networks.load("cancer").estimate("Cancer", 100, 1, method="gibbs").unseen is None


def test_what_is_unseen_is_bounded_without_large_tables(monkeypatch):
    """The product of the largest entries is a bound as well, if a worse one."""
    asia, evidence = pgm.networks.load("asia"), {"xray": "yes", "dysp": "yes"}
    heaviest = max(
        asia.cpt("xray")[e, "yes"] * asia.cpt("dysp")[b, e, "yes"] for e in ("yes", "no") for b in ("yes", "no")
    )
    sample = asia.weighted_sample(5, 3, evidence=evidence)
    ratio = 3 / 5 * heaviest / math.exp(sample.log_probability)
    assert sample.unseen in (0, pytest.approx(ratio / (1 + ratio)))
    monkeypatch.setattr(pgm.inference.weighting, "BOUND_BYTES", 1)
    assert asia.weighted_sample(5, 3, evidence=evidence).unseen >= sample.unseen


def test_evidence_that_is_impossible_or_never_met():
    net = leak_network()
    with pytest.raises(ImpossibleEvidenceError, match="conflict: Leak='no', Burst='no', Wet='yes'"):
        weighted_posterior(engine(net), "Bill", 100, evidence={"Wet": "yes", "Leak": "no", "Burst": "no"})
    rare, sign = Variable("rare", ["no", "yes"]), Variable("sign", ["no", "yes"])
    net = BayesianNetwork([CPT(rare, [1 - 1e-9, 1e-9]), CPT(sign, [[1.0, 0.0], [0.0, 1.0]], [rare])])
    with pytest.raises(EvidenceError, match="none of 100 rows drawn agrees with the evidence.*too improbable"):
        likelihood_weighting(engine(net), 100, 0, evidence={"sign": "yes"})


def test_networks_too_large_for_exact_answers_are_no_obstacle():
    net = grid(20)
    observed = dict.fromkeys(net.names[-5:], 0)
    with pytest.raises(TooLargeError):
        net.query(net.names[0], observed, memory_budget=2**20)
    found = weighted_posterior(engine(net), net.names[-40], 2000, 1, evidence=observed)
    assert found.posterior.values.sum() == pytest.approx(1)


def test_what_makes_no_sense_is_refused():
    net = engine(leak_network())
    with pytest.raises(EvidenceError, match="from 1, not 0"):
        likelihood_weighting(net, 0)
    with pytest.raises(UnknownNameError):
        weighted_posterior(net, "Rain", 10)
    with pytest.raises(EvidenceError, match="no target"):
        weighted_posterior(net, [], 10)
    with pytest.raises(TooLargeError, match="the joint of 2 variables"):
        weighted_posterior(net, ["Leak", "Wet"], 10, memory_budget=16)
