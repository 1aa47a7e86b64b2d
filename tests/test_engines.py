"""All bundled networks: what exact inference must agree on with itself, and posteriors that others have published.

The table of all engines against the enumerated joint is in ``test_conformance.py``.
"""

from __future__ import annotations

import math
import random

import pytest

import pgm
from pgm import CPT, BayesianNetwork, ImpossibleEvidenceError, Variable

LARGE = {"munin1", "link", "munin", "munin2", "munin4", "diabetes"}
NETWORKS = pgm.networks.names()


def leaf_evidence(net: BayesianNetwork, marginals, count: int = 5):
    """The first leaves in declared order, each at its most probable prior state."""
    leaves = [name for name in net.names if not net.dag.children(name)][:count]
    return {name: marginals[name].argmax()[name] for name in leaves}


@pytest.mark.parametrize("name", NETWORKS)
def test_marginals_sum_to_one_and_agree_with_queries_and_a_second_order(name):
    net = pgm.networks.load(name)
    prior = net.marginals()
    assert list(prior) == list(net.names)
    for evidence in ({}, leaf_evidence(net, prior)):
        marginals = net.marginals(evidence)
        assert all(factor.values.sum() == pytest.approx(1, abs=1e-10) for factor in marginals.values())
        assert all((factor.values >= 0).all() for factor in marginals.values())
        others = list(marginals)
        random.Random(0).shuffle(others)
        for target in others[:5]:
            assert net.query(target, evidence).allclose(marginals[target], rtol=1e-8, atol=1e-10)
        # the chain rule: P(e) as a product of conditionals, each from its own plan
        log_p, seen = 0.0, {}
        for observed, label in evidence.items():
            log_p += math.log(net.query(observed, seen)[label])
            seen[observed] = label
        assert net.log_probability(evidence) == pytest.approx(log_p, abs=1e-8)
        # another order: the reverse of a greedy one is legal but different
        if name not in LARGE:
            order = sorted(net.names, key=lambda n: (len(net.dag.markov_blanket(n)), n))
            try:
                again = net.marginals(evidence, order=order)
            except pgm.TooLargeError:
                continue
            assert all(again[n].allclose(marginals[n], rtol=1e-8, atol=1e-10) for n in marginals)


PUBLISHED = {
    "asia": ({"xray": "no", "dysp": "no"}, -0.6454824968, {"smoke": [0.38760317, 0.61239683]}),
    "sachs": (
        {"Akt": "LOW", "Jnk": "LOW", "P38": "LOW", "PIP2": "LOW"}, -1.4406891302,
        {"PKC": [0.43457704, 0.55699573, 0.00842723]},
    ),
    "insurance": (
        {"GoodStudent": "False", "PropCost": "Thousand", "OtherCar": "True", "MedCost": "Thousand",
         "ILiCost": "Thousand"}, -0.9833678732, {"Age": [0.13841793, 0.64022198, 0.22136009]},
    ),
    "alarm": (
        {"HISTORY": "FALSE", "CVP": "NORMAL", "PCWP": "NORMAL", "HRBP": "HIGH", "HREKG": "HIGH"}, -0.8634508186,
        {"HYPOVOLEMIA": [0.02747862, 1 - 0.02747862], "LVFAILURE": [0.0001281, 1 - 0.0001281]},
    ),
    "hailfinder": (
        {"R5Fcst": "SIG", "Dewpoints": "LowMtsHighPl", "LowLLapse": "Steep", "MeanRH": "Average", "MidLLapse": "Steep"},
        -5.3986622078, {"SubjVertMo": [0.14960769, 0.15000973, 0.50039028, 0.1999923]},
    ),
    "andes": (
        {"SNode_14": "true", "SNode_18": "true", "SNode_19": "true", "SNode_24": "false", "TRY13": "false"},
        -0.9921452928, {"GOAL_2": [0.02, 0.98]},
    ),
    "pigs": (
        {"p48124091": "1", "p392115290": "1", "p392150190": "1", "p48109691": "1", "p48109791": "1"},
        -3.2425923515, {},
    ),
}  # fmt: skip
"""ln P(evidence) and posteriors computed with pyAgrum 3.3.1 (LazyPropagation).

Its BIF reader keeps probabilities in single precision (0.01 becomes 0.009999999776), so its digits hold to 1e-6 only.
"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_evidence_on_five_leaves_as_another_engine_sees_it(name):
    evidence, log_p, posteriors = PUBLISHED[name]
    net = pgm.networks.load(name)
    assert leaf_evidence(net, net.marginals()) == evidence
    assert net.log_probability(evidence) == pytest.approx(log_p, abs=2e-6)
    marginals = net.marginals(evidence)
    for target, values in posteriors.items():
        assert net.query(target, evidence).values == pytest.approx(values, abs=1e-6)
        assert marginals[target].values == pytest.approx(values, abs=1e-6)


def test_chest_clinic_as_printed_by_grain():
    """Lauritzen and Spiegelhalter (1988); numbers of the gRain vignette."""
    net = pgm.networks.load("asia")
    prior = net.marginals()
    assert [round(prior[name]["yes"], 4) for name in ("tub", "lung", "bronc")] == [0.0104, 0.055, 0.45]
    evidence = {"asia": "yes", "dysp": "yes"}
    assert net.probability(evidence) == pytest.approx(0.004501, abs=5e-7)
    expected = {"tub": 0.08775, "lung": 0.09953, "bronc": 0.81140, "either": 0.18230, "smoke": 0.62592, "xray": 0.21954}
    marginals = net.marginals(evidence)
    assert {name: round(marginals[name]["yes"], 5) for name in expected} == expected
    joint = net.query(["bronc", "lung", "tub"])  # the last varies fastest, as in the printed table
    printed = [0.0003276, 0.0311724, 0.0043524, 0.4141476, 0.0002444, 0.0232556, 0.0054756, 0.5210244]
    assert joint.values.ravel() == pytest.approx(printed, abs=5e-8)
    smoker = net.marginals({"smoke": "yes"})
    assert (smoker["lung"]["yes"], smoker["bronc"]["yes"]) == pytest.approx((0.1, 0.6))
    with pytest.raises(ImpossibleEvidenceError, match="conflict: tub='yes', either='no'"):
        net.query("smoke", {"either": "no", "tub": "yes"})


def test_asia_to_the_last_digit():
    """P(xray=no, dysp=no) added up in exact fractions is 0.5244094644."""
    net = pgm.networks.load("asia")
    assert net.probability({"xray": "no", "dysp": "no"}) == pytest.approx(0.5244094644, abs=1e-15)


def test_sprinkler_as_in_the_libdai_example():
    no_yes = [0, 1]
    cloudy, sprinkler, rain, wet = (Variable(name, no_yes) for name in ("C", "S", "R", "W"))
    net = BayesianNetwork(
        [
            CPT(cloudy, [0.5, 0.5]),
            CPT(sprinkler, [[0.5, 0.5], [0.9, 0.1]], [cloudy]),
            CPT(rain, [[0.8, 0.2], [0.2, 0.8]], [cloudy]),
            CPT(wet, [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]], [sprinkler, rain]),
        ]
    )
    assert net.probability({"W": 1}) == pytest.approx(0.6471)
    assert net.query("S", {"W": 1})[1] == pytest.approx(0.4298, abs=5e-5)
    assert net.query("R", {"W": 1})[1] == pytest.approx(0.7079, abs=5e-5)


def test_explaining_away():
    """Seeing rain lowers the belief that the sprinkler was on, once the grass is known to be wet."""
    net = pgm.networks.load("earthquake")
    alone = net.query("Burglary", {"Alarm": "True"})["True"]
    explained = net.query("Burglary", {"Alarm": "True", "Earthquake": "True"})["True"]
    assert net.query("Burglary")["True"] < explained < alone
