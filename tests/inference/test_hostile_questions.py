"""Every way to ask, put to the same hard tests: impossible evidence, wrong labels, targets observed, traces left."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgm
from pgm import CPT, BayesianNetwork, ImpossibleEvidenceError, UnknownNameError, UnknownStateError, Variable
from pgm.errors import EvidenceError
from tests.inference.test_exact import chain, leak_network

Ask = Callable[..., Any]

ASK: dict[str, Ask] = {
    "query": lambda net, target, **known: net.query(target, **known),
    "joint query": lambda net, target, **known: net.query(dict.fromkeys((target, *net.names)), **known),
    "query after do": lambda net, target, **known: net.query(target, do={}, **known),
    "marginals": lambda net, target, **known: net.marginals(**known),
    "mpe": lambda net, target, **known: net.mpe(**known),
    "map": lambda net, target, **known: net.map(target, **known),
    "best_explanations": lambda net, target, **known: net.best_explanations(3, **known),
    "query_by_conditioning": lambda net, target, **known: net.query_by_conditioning(target, **known),
    "approximate_marginals": lambda net, target, **known: net.approximate_marginals(**known),
    "families": lambda net, target, **known: net.families(**known),
    "sensitivity": lambda net, target, **known: net.sensitivity(target, net.variable(target).states[0], **known),
    "mutual_information": lambda net, target, **known: net.mutual_information(target, **known),
    "evidence_impact": lambda net, target, **known: net.evidence_impact(target, **known),
    "conflict": lambda net, target, **known: net.conflict(**known),
    "sample": lambda net, target, **known: net.sample(5, 0, **known),
    "sample of no rows": lambda net, target, **known: net.sample(0, 0, **known),
    "weighted_sample": lambda net, target, **known: net.weighted_sample(5, 0, **known),
    "estimate": lambda net, target, **known: net.estimate(target, 5, 0, **known),
    "gibbs_sample": lambda net, target, **known: net.gibbs_sample(5, 0, zeros="allow", **known),
    "posterior": lambda net, target, evidence, **_: net.posterior(_row(evidence), target),
    "predict": lambda net, target, evidence, **_: net.predict(_row(evidence), target),
    "impute": lambda net, target, evidence, **_: net.impute(_row(evidence)),
}
SOFT = [name for name in ASK if name not in ("posterior", "predict", "impute")]
"""Those that take likelihoods."""


def _row(evidence: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [label] for name, label in evidence.items()}


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize(
    ("target", "evidence"),
    [
        ("Bill", {"Wet": "yes", "Leak": "no", "Burst": "no"}),  # pruning would hide it
        ("Leak", {"Wet": "no", "Burst": "yes"}),
        ("Burst", {"Wet": "no", "Leak": "yes", "Bill": "low"}),
    ],
)
def test_impossible_evidence_is_an_error_everywhere(ask, target, evidence):
    """Neither NaN nor a warning, nor an endless search (pgmpy#1595, pgmpy#1519, bnlearn#127)."""
    with pytest.raises(ImpossibleEvidenceError):
        ASK[ask](leak_network(), target, evidence=evidence)


@pytest.mark.parametrize("ask", SOFT)
def test_impossible_likelihoods_are_an_error_everywhere(ask):
    net = leak_network()
    for evidence, likelihoods in (
        ({"Wet": "yes"}, {"Wet": [1.0, 0.0]}),
        ({"Wet": "no"}, {"Burst": [0.0, 1.0]}),
        ({"Leak": "no", "Burst": "no"}, {"Wet": [0.0, 0.3], "Bill": [1.0, 2.0]}),
    ):
        with pytest.raises(ImpossibleEvidenceError):
            ASK[ask](net, "Bill", evidence=evidence, likelihoods=likelihoods)
        assert net.log_probability(evidence, likelihoods=likelihoods) == -math.inf


@pytest.mark.parametrize("ask", SOFT)
def test_what_does_not_exist_is_an_error_everywhere(ask):
    net = leak_network()
    for evidence in ({"Wet": "maybe"}, {"Wet": True}, {"Wet": None}, {"Wet": float("nan")}, {"Wet": ["yes"]}):
        with pytest.raises(UnknownStateError, match="'no', 'yes'"):
            ASK[ask](net, "Bill", evidence=evidence)
    for evidence in ({"wet": "yes"}, {1: "yes"}, {None: "yes"}, {("Wet",): "yes"}):
        with pytest.raises(UnknownNameError, match="'Leak', 'Burst', 'Wet', 'Bill'"):
            ASK[ask](net, "Bill", evidence=evidence)
    for evidence in ([("Wet", "yes")], "Wet", 1, {"Wet"}):
        with pytest.raises(EvidenceError, match="mapping"):
            ASK[ask](net, "Bill", evidence=evidence)
    for likelihoods in ({"Wet": [0.0, 0.0]}, {"Wet": [1.0]}, {"Wet": [math.nan, 1]}, {"Wet": [-1, 2]}, {"Wet": "no"}):
        with pytest.raises(EvidenceError, match="the likelihood of 'Wet'"):
            ASK[ask](net, "Bill", evidence={}, likelihoods=likelihoods)


def digest(answer: Any) -> str:
    with np.printoptions(threshold=10**6, floatmode="unique"):
        return repr(answer.to_dict() if hasattr(answer, "to_dict") else answer)


def test_no_question_leaves_a_trace():
    """Every soft question in between, and every plain answer is what it was, to the last bit (pgmpy#2748)."""
    net, fresh = pgm.networks.load("cancer"), pgm.networks.load("cancer")
    evidence = {"Xray": "positive"}
    likelihoods = {"Cancer": np.array([0.2, 0.6]), "Xray": np.array([0.5, 0.1]), "Smoker": np.array([1.0, 3.0])}
    kept = {name: vector.copy() for name, vector in likelihoods.items()}
    plain = {name: digest(ask(fresh, "Pollution", evidence=evidence)) for name, ask in ASK.items()}
    for ask in ASK.values():
        ask(net, "Pollution", evidence=evidence, likelihoods=likelihoods)
    net.query("Pollution", distributions={"Cancer": [0.5, 0.5], "Smoker": [0.1, 0.9]})
    net.query("Pollution", evidence, do={"Cancer": "True"})
    with pytest.raises(EvidenceError):
        net.query("Pollution", likelihoods={"Cancer": [0.0, 0.0]})
    assert {name: digest(ask(net, "Pollution", evidence=evidence)) for name, ask in ASK.items()} == plain
    assert net == fresh
    assert evidence == {"Xray": "positive"}
    assert all((likelihoods[name] == vector).all() for name, vector in kept.items())


def test_the_scale_of_a_likelihood_counts_in_probabilities_alone():
    net = pgm.networks.load("cancer")
    for scale in (1e-300, 1e-9, 7.0, 1e300):
        for ask in ("query", "query_by_conditioning", "sample", "gibbs_sample"):
            first = ASK[ask](net, "Smoker", evidence={}, likelihoods={"Xray": [1.0, 4.0]})
            other = ASK[ask](net, "Smoker", evidence={}, likelihoods={"Xray": [scale, 4 * scale]})
            if ask.startswith("query"):
                assert other.values == pytest.approx(first.values, rel=1e-12)
            else:
                assert digest(other) == digest(first)
        log_p = [net.log_probability(likelihoods={"Xray": vector}) for vector in ([1.0, 4.0], [scale, 4 * scale])]
        assert log_p[1] - log_p[0] == pytest.approx(math.log(scale), abs=1e-12 * abs(math.log(scale)))


def test_targets_that_are_observed_are_certain_everywhere():
    """One rule for all questions (pgmpy#1197, pgmpy#2048)."""
    a, b = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"])
    net = BayesianNetwork([CPT(a, [0.3, 0.7]), CPT(b, [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], [a])])
    seen = {"B": "b1"}
    certain, a_posterior = [0.0, 1.0, 0.0], [15 / 22, 7 / 22]
    for joint in (
        net.query(["A", "B"], seen),
        net.query_by_conditioning(["A", "B"], seen),
        net.estimate(["A", "B"], 50_000, 0, evidence=seen).posterior,
    ):
        assert joint.marginalize("A").values == pytest.approx(certain)
        assert joint.marginalize("B").values == pytest.approx(a_posterior, abs=0.012)
    assert net.posterior({"B": ["b1"]}, "B").tolist() == [certain]
    assert net.predict({"B": ["b1"]}, "B") == ["b1"]
    assert net.map(["A", "B"], seen).assignment == {"A": "a0", "B": "b1"}
    assert net.map("B", seen).assignment == {"B": "b1"}
    assert net.mpe(seen).assignment == {"A": "a0"}
    assert net.families(seen)["B"].marginalize("A").values == pytest.approx(certain)
    for ask in (net.query, net.map, net.query_by_conditioning, lambda names: net.estimate(names, 5, 0)):
        with pytest.raises(EvidenceError, match="twice"):
            ask(["A", "A"])
        with pytest.raises(EvidenceError, match="no target"):
            ask([])
        with pytest.raises(UnknownNameError, match="'A', 'B'"):
            ask(["A", "C"])


def test_one_state_as_target_and_as_evidence():
    """Nothing to learn about it, nothing from it, and never 0/0 (pgmpy#936)."""
    k, x, end = Variable("K", ["only"]), Variable("X", ["x0", "x1"]), Variable("L", ["one"])
    net = BayesianNetwork([CPT(k, [1.0]), CPT(x, [[0.3, 0.7]], [k]), CPT(end, [[1.0], [1.0]], [x])])
    for evidence in ({}, {"K": "only"}, {"K": "only", "L": "one"}):
        assert net.mpe(evidence).assignment["X"] == "x1"
        assert net.map("K", evidence).assignment == {"K": "only"}
        assert net.families(evidence)["L"].values.tolist() == pytest.approx(np.array([[0.3], [0.7]]))
        assert net.posterior(_row(evidence) or {"X": [None]}, "K").tolist() == [[1.0]]
        assert net.sample(3, 0, evidence=evidence).to_dict()["K"] == ["only"] * 3
        assert net.estimate("K", 10, 0, evidence=evidence).posterior.values.tolist() == [1.0]
        assert net.conflict(evidence) == pytest.approx(0.0, abs=1e-15)
        assert set(net.approximate_marginals(evidence).marginals) == {"K", "X", "L"} - set(evidence)
        assert net.query("K", evidence, likelihoods={"K": [0.4]}).values.tolist() == [1.0]
        assert net.probability(evidence, likelihoods={"K": [0.4]}) == pytest.approx(0.4)
    assert net.mutual_information("X") == {"K": 0.0, "L": 0.0}
    assert net.mutual_information("K") == {"X": 0.0, "L": 0.0}
    assert net.sensitivity("K", "only").posterior == 1.0
    assert net.do({"K": "only"}).query("X").values == pytest.approx([0.3, 0.7])
    with pytest.raises(UnknownStateError, match="'only'"):
        net.do({"K": "other"})


def test_every_question_about_a_deep_network():
    """No recursion, no underflow (pgmpy#1110); its end is observed, its ends agree."""
    net = chain(1100)
    evidence = {"X1100": 1}
    expected = net.query("X1", evidence)
    assert net.marginals(evidence)["X1"].allclose(expected)
    assert net.families(evidence)["X2"].marginalize("X2").allclose(expected)
    assert net.query_by_conditioning("X1", evidence).allclose(expected)
    assert net.approximate_marginals(evidence).marginals["X1"].allclose(expected)
    assert net.sensitivity("X1", 1, evidence).posterior == pytest.approx(expected[1])
    assert next(iter(net.mutual_information("X1", evidence))) == "X2"
    assert list(net.evidence_impact("X1", evidence)) == ["X1100"]
    assert net.conflict({"X1100": 1, "X1": 1}) < 0 < net.conflict({"X1100": 1, "X1": 0})
    assert net.do({"X500": 1}).query("X1", evidence)[1] == pytest.approx(0.3)
    assert set(net.mpe(evidence).assignment.values()) == {1}
    found = net.estimate("X1", 2000, 0, evidence=evidence)
    assert abs(found.posterior[1] - expected[1]) < 5 * found.standard_error[1]


def test_settings_of_belief_propagation_may_be_numpy_numbers():
    net = pgm.networks.load("asia")
    found = net.approximate_marginals({"dysp": "yes"}, max_iter=np.int64(3), tol=np.float64(1e-9))
    assert (found.iterations, found.converged) == (3, False)
    for wrong in ({"max_iter": True}, {"max_iter": np.float64(3)}, {"tol": math.inf}, {"tol": None}):
        with pytest.raises(EvidenceError, match=next(iter(wrong))):
            net.approximate_marginals(**wrong)
