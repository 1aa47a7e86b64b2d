"""Most probable explanations against the enumerated joint."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError
from pgm.factors import CPT, Variable
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import chain, grid, leak_network


def ranked(net, targets, evidence):
    """Return the joint states of the targets with positive probability, best first, ties in declared order."""
    order = [name for name in net.names if name in targets]
    sums = {}
    for world, p in oracles.assignments(net):
        if p > 0 and oracles.agrees(world, evidence):
            key = tuple(net.variable(name).code(world[name]) for name in order)
            sums[key] = sums.get(key, 0.0) + p
    total = math.fsum(sums.values())
    found = []
    for key, p in sums.items():
        labels = {name: net.variable(name).states[code] for name, code in zip(order, key, strict=True)}
        found.append((p / total, key, labels))
    best = max(p for p, _, _ in found)
    return sorted(found, key=lambda item: (-round(item[0] / best, 9), item[1]))


def same(explanation, labels):
    return {n: (type(s) is bool, s) for n, s in explanation.assignment.items()} == {
        n: (type(s) is bool, s) for n, s in labels.items()
    }


@settings(max_examples=200, deadline=None)
@given(strategies.questions())
def test_mpe_is_the_first_largest_entry_of_the_joint(question):
    net, _, evidence = question
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.mpe(evidence)
        return
    targets = [name for name in net.names if name not in evidence]
    p, _, labels = ranked(net, targets, evidence)[0]
    found = net.mpe(evidence)
    assert same(found, labels)
    assert found.log_probability == pytest.approx(math.log(p), abs=1e-9)
    assert found.log_joint == pytest.approx(math.log(p * oracles.probability(net, evidence)), abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(strategies.questions())
def test_map_is_the_first_largest_entry_of_the_marginal(question):
    net, targets, evidence = question
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.map(targets, evidence)
        return
    p, _, labels = ranked(net, targets, evidence)[0]
    found = net.map(targets, evidence)
    assert list(found.assignment) == targets
    assert same(found, labels)
    assert found.log_probability == pytest.approx(math.log(p), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(strategies.questions(), st.integers(1, 12))
def test_the_k_best_are_those_of_the_joint(question, k):
    net, targets, evidence = question
    if oracles.probability(net, evidence) == 0:
        return
    for asked in (None, targets):
        names = [name for name in net.names if name not in evidence] if asked is None else asked
        expected = ranked(net, names, evidence)
        found = net.best_explanations(k, evidence, targets=asked)
        assert len(found) == min(k, len(expected))
        assert len({tuple(map(str, e.assignment.values())) for e in found}) <= len(found)
        for explanation, (p, _, _) in zip(found, expected, strict=False):
            assert explanation.log_probability == pytest.approx(math.log(p), abs=1e-9)
            assert net.log_probability({**evidence, **explanation.assignment}) == pytest.approx(explanation.log_joint)


def tied_network():
    """A and B are fair and equal to each other, C differs from B or not with equal probability, D is a fair coin."""
    a, b, c, d = (Variable(name, ["no", "yes"]) for name in "ABCD")
    return BayesianNetwork(
        [
            CPT(d, [0.5, 0.5]),
            CPT(b, [0.5, 0.5]),
            CPT(a, [[1.0, 0.0], [0.0, 1.0]], [b]),
            CPT(c, [[0.5, 0.5], [0.5, 0.5]], [b]),
        ]
    )


def test_ties_go_to_the_first_in_declared_order():
    net = tied_network()
    assert dict(net.mpe().assignment) == {"D": "no", "B": "no", "A": "no", "C": "no"}
    assert dict(net.mpe({"A": "yes"}).assignment) == {"D": "no", "B": "yes", "C": "no"}
    assert dict(net.map(["C", "A"]).assignment) == {"C": "no", "A": "no"}
    assert len(net.best_explanations(100)) == 8


def test_a_tie_that_only_the_first_variable_decides():
    """X xor Y = 1 is certain: (0, 1) and (1, 0) tie, and (0, 1) comes first whatever is eliminated first."""
    x, y, z = (Variable(name, [0, 1]) for name in "XYZ")
    tables = [CPT(x, [0.5, 0.5]), CPT(y, [0.5, 0.5]), CPT.deterministic(z, [x, y], lambda a, b: a ^ b)]
    for order in (tables, tables[::-1], [tables[1], tables[0], tables[2]]):
        net = BayesianNetwork(order)
        found = net.mpe({"Z": 1}).assignment
        first, second = [name for name in net.names if name != "Z"]
        assert (found[first], found[second]) == (0, 1)


def test_the_joint_maximum_is_not_the_marginal_modes():
    """pgmpy issue 1397: the mode of each variable on its own is another answer to another question."""
    a, b, c = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]), Variable("C", ["c0", "c1"])
    net = BayesianNetwork(
        [
            CPT(a, [0.4, 0.6]),
            CPT(b, [[1.0, 0.0, 0.0], [0.30, 0.36, 0.34]], [a]),
            CPT(c, [[0.55, 0.45], [0.10, 0.90], [0.35, 0.65]], [b]),
        ]
    )
    for targets, evidence, best, p in [
        (["A", "B", "C"], {}, ["a0", "b0", "c0"], 0.22),
        (["A"], {}, ["a1"], 0.6),
        (["A", "B"], {}, ["a0", "b0"], 0.4),
        (["A", "B"], {"C": "c1"}, ["a1", "b1"], 0.3306122448979591),
        (["B", "C"], {"A": "a1"}, ["b1", "c1"], 0.324),
    ]:
        found = net.map(targets, evidence)
        assert list(found.assignment.values()) == best
        assert math.exp(found.log_probability) == pytest.approx(p)
    assert list(net.mpe().assignment.values()) == ["a0", "b0", "c0"]


def test_deep_and_tiny():
    net = chain(3000)
    found = net.mpe({"X1": 1})
    assert set(found.assignment.values()) == {1}
    assert found.log_probability == pytest.approx(2999 * math.log(0.9995))
    evidence = {name: number % 2 for number, name in enumerate(net.names) if number != 1500}
    assert net.mpe(evidence).log_joint == pytest.approx(
        math.log(0.7) + 2997 * math.log(0.0005) + 2 * math.log(0.9995), rel=1e-9
    )


def test_impossible_too_large_and_wrong():
    net = leak_network()
    with pytest.raises(ImpossibleEvidenceError, match="conflict: Burst='yes', Wet='no'"):
        net.mpe({"Wet": "no", "Burst": "yes"})
    with pytest.raises(ImpossibleEvidenceError, match="Leak='no', Burst='no', Wet='yes'"):
        net.map("Bill", {"Wet": "yes", "Leak": "no", "Burst": "no"})
    with pytest.raises(EvidenceError, match="k is a whole number from 1, not 0"):
        net.best_explanations(0)
    with pytest.raises(TooLargeError):
        grid(40).mpe()
    assert dict(net.mpe({"Leak": "no", "Burst": "no", "Wet": "no", "Bill": "low"}).assignment) == {}


@pytest.mark.parametrize("name", pgm.networks.names())
def test_every_bundled_network(name):
    """Changing any one variable of the explanation never makes it more probable, and its probability is the joint's."""
    net = pgm.networks.load(name)
    prior = net.marginals()
    leaves = [n for n in net.names if not net.dag.children(n)][:5]
    for evidence in ({}, {n: prior[n].argmax()[n] for n in leaves}):
        found = net.mpe(evidence)
        world = {**evidence, **found.assignment}
        assert net.log_probability(world) == pytest.approx(found.log_joint, rel=1e-9, abs=1e-9)
        for changed in list(found.assignment)[:: max(1, len(net) // 8)]:
            for label in net.variable(changed).states:
                assert net.log_probability({**world, changed: label}) <= found.log_joint + 1e-9
