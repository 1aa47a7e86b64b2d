"""Exact inference against the enumerated joint."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    TableError,
    TooLargeError,
    UnknownNameError,
    UnknownStateError,
)
from pgm.factors import CPT, Variable
from pgm.network import BayesianNetwork
from tests import oracles, strategies


@settings(max_examples=200, deadline=None)
@given(strategies.questions())
def test_query_is_the_enumerated_posterior(question):
    net, targets, evidence = question
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.query(targets, evidence)
        return
    answer = net.query(targets, evidence)
    assert answer.names == tuple(targets)
    assert answer.values.ravel() == pytest.approx(oracles.posterior(net, targets, evidence), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(strategies.questions())
def test_marginals_are_the_enumerated_posteriors(question):
    net, _, evidence = question
    if oracles.probability(net, evidence) == 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.marginals(evidence)
        return
    answer = net.marginals(evidence)
    assert list(answer) == [name for name in net.names if name not in evidence]
    for name, factor in answer.items():
        assert factor.values == pytest.approx(oracles.posterior(net, [name], evidence), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(strategies.questions())
def test_probability_of_evidence_is_the_enumerated_sum(question):
    net, _, evidence = question
    expected = oracles.probability(net, evidence)
    assert net.probability(evidence) == pytest.approx(expected, rel=1e-12)
    expected_log = math.log(expected) if expected else -math.inf
    assert net.log_probability(evidence) == pytest.approx(expected_log, rel=1e-12, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(strategies.questions())
def test_impossible_evidence_names_a_smallest_conflict(question):
    net, targets, evidence = question
    if oracles.probability(net, evidence) > 0:
        return
    with pytest.raises(ImpossibleEvidenceError) as caught:
        net.query(targets, evidence)
    named = {name: label for name, label in evidence.items() if f"{name}={label!r}" in str(caught.value)}
    assert oracles.probability(net, named) == 0
    for name in named:
        assert oracles.probability(net, {n: s for n, s in named.items() if n != name}) > 0


@settings(max_examples=100, deadline=None)
@given(strategies.questions(), st.randoms(use_true_random=False))
def test_every_elimination_order_gives_the_same_answer(question, random):
    net, targets, evidence = question
    if oracles.probability(net, evidence) == 0:
        return
    order = list(net.names)
    random.shuffle(order)
    assert net.query(targets, evidence, order=order).allclose(net.query(targets, evidence))
    marginals = net.marginals(evidence)
    for name, factor in net.marginals(evidence, order=order).items():
        assert factor.allclose(marginals[name])


def leak_network(dry: float = 0.0) -> BayesianNetwork:
    """Wet follows from Leak or Burst; the bill depends on Wet and Burst only (pgmpy issue 1595)."""
    leak, burst, wet = (Variable(name, ["no", "yes"]) for name in ("Leak", "Burst", "Wet"))
    bill = Variable("Bill", ["low", "high"])
    return BayesianNetwork(
        [
            CPT(leak, [0.9, 0.1]),
            CPT(burst, [0.8, 0.2]),
            CPT(wet, [[[1.0, dry], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], [leak, burst]),
            CPT(bill, [[[0.7, 0.3], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]], [wet, burst]),
        ]
    )


def test_contradiction_that_pruning_would_hide_is_reported():
    evidence = {"Wet": "yes", "Leak": "no", "Burst": "no"}
    net = leak_network()
    with pytest.raises(ImpossibleEvidenceError, match="Leak='no', Burst='no', Wet='yes'"):
        net.query("Bill", evidence)
    with pytest.raises(ImpossibleEvidenceError, match="conflict: Burst='yes', Wet='no'$"):
        net.query("Leak", {"Wet": "no", "Burst": "yes"})
    assert net.probability(evidence) == 0.0
    assert net.log_probability(evidence) == -math.inf


def test_evidence_of_probability_1e_200_is_ordinary_evidence():
    net = leak_network(dry=1e-200)
    evidence = {"Wet": "yes", "Leak": "no", "Burst": "no"}
    assert net.probability(evidence) == pytest.approx(7.2e-201, rel=1e-9)
    assert net.query("Bill", evidence).values == pytest.approx([0.2, 0.8])
    assert net.marginals(evidence)["Bill"].values == pytest.approx([0.2, 0.8])


def chain(n: int) -> BayesianNetwork:
    variables = [Variable(f"X{i}", [0, 1]) for i in range(1, n + 1)]
    tables = [CPT(variables[0], [0.7, 0.3])]
    tables += [CPT(b, [[0.9995, 0.0005], [0.0005, 0.9995]], [a]) for a, b in pairwise(variables)]
    return BayesianNetwork(tables)


def test_chain_of_3000_variables():
    net = chain(3000)
    end = 0.5 + 0.5 * 0.999**2999
    assert net.query("X3000", {"X1": 1})[1] == pytest.approx(end, abs=1e-9)
    assert net.query("X3000")[1] == pytest.approx(0.3 * end + 0.7 * (1 - end), abs=1e-9)
    assert net.query("X1", {"X3000": 1})[1] == pytest.approx(0.32132456818145516, abs=1e-9)
    zeros = dict.fromkeys(net.names, 0)
    assert net.log_probability(zeros) == pytest.approx(math.log(0.7) + 2999 * math.log(0.9995), abs=1e-6)
    alternating = {name: number % 2 for number, name in enumerate(net.names)}
    assert net.log_probability(alternating) == pytest.approx(math.log(0.7) + 2999 * math.log(0.0005), rel=1e-12)
    marginals = net.marginals({"X1": 1})
    assert marginals["X3000"][1] == pytest.approx(end, abs=1e-9)


def test_underflow_in_the_middle_of_a_query():
    """Half the chain observed in alternation has probability 1e-4950; the rest still has exact posteriors."""
    net = chain(3000)
    evidence = {name: number % 2 for number, name in enumerate(net.names) if number < 2998}
    expected = np.linalg.matrix_power([[0.9995, 0.0005], [0.0005, 0.9995]], 2)[1]
    assert net.query("X3000", evidence).values == pytest.approx(expected, abs=1e-12)
    assert net.marginals(evidence)["X3000"].values == pytest.approx(expected, abs=1e-12)


def test_a_joint_that_vanishes_although_every_table_is_scaled():
    """The only possible joint state takes the small entry of each table: 1e-200 * 1e-200."""
    a, b, e = Variable("A", [0, 1]), Variable("B", [0, 1]), Variable("E", [0, 1])
    net = BayesianNetwork(
        [
            CPT(a, [1.0, 1e-200]),
            CPT(b, [1.0, 1e-200]),
            CPT(e, [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], [a, b]),
        ]
    )
    assert net.log_probability({"E": 1}) == pytest.approx(-400 * math.log(10), rel=1e-12)
    assert net.query("A", {"E": 1}).values.tolist() == [0.0, 1.0]
    assert net.marginals({"E": 1})["B"].values.tolist() == [0.0, 1.0]


def test_a_parent_of_4000_children():
    root = Variable("root", ["a", "b"])
    children = [Variable(f"c{i}", ["no", "yes"]) for i in range(4000)]
    tables = [CPT(root, [0.5, 0.5]), *(CPT(c, [[0.9, 0.1], [0.8, 0.2]], [root]) for c in children)]
    net = BayesianNetwork(tables)
    evidence = {f"c{i}": "yes" for i in range(2000)}
    assert net.query("root", evidence)["b"] == pytest.approx(1.0)
    marginals = net.marginals({f"c{i}": "yes" for i in range(3)})
    b = 0.2**3 / (0.2**3 + 0.1**3)
    assert marginals["c3999"]["yes"] == pytest.approx(b * 0.2 + (1 - b) * 0.1)
    assert net.log_probability(evidence) == pytest.approx(math.log(0.5) + 2000 * math.log(0.2), rel=1e-12)


def test_targets_that_are_observed_have_all_their_mass_there():
    a, b = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"])
    net = BayesianNetwork([CPT(a, [0.3, 0.7]), CPT(b, [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], [a])])
    joint = net.query(["A", "B"], {"B": "b1"})
    assert joint.values == pytest.approx(np.array([[0, 0.15 / 0.22, 0], [0, 0.07 / 0.22, 0]]))
    assert net.query("A", {"A": "a0"}).to_dict() == {"a0": 1.0, "a1": 0.0}
    assert net.query(["B", "A"], {"A": "a0", "B": "b2"})["b2", "a0"] == 1.0


def test_wrong_questions_are_errors_that_name_the_offender():
    net = chain(3)
    with pytest.raises(EvidenceError, match="twice: 'X1', 'X1'"):
        net.query(["X1", "X1"])
    with pytest.raises(EvidenceError, match="at least one"):
        net.query([])
    with pytest.raises(UnknownNameError, match="no variable 'Y'; the variables are 'X1', 'X2', 'X3'"):
        net.query("Y")
    with pytest.raises(UnknownNameError, match="no variable 'Y'"):
        net.query("X1", {"Y": 0})
    with pytest.raises(UnknownStateError, match="'X2' has no state 'one'; its states are 0, 1"):
        net.query("X1", {"X2": "one"})
    with pytest.raises(EvidenceError, match="mapping"):
        net.query("X1", [("X2", 1)])
    for nothing in ([], 0, ""):
        with pytest.raises(EvidenceError, match="mapping"):
            net.query("X1", nothing)
    for targets in (None, 42, {"X1", "X2"}):
        with pytest.raises(EvidenceError, match="targets are one name or a list of names"):
            net.query(targets)
    with pytest.raises(UnknownNameError):
        net.query([["X1"]])


def test_integer_labels_are_labels_not_positions():
    dose, cured = Variable("Dose", [1, 2, 3]), Variable("Cured", [1, 0])
    net = BayesianNetwork([CPT(dose, [0.5, 0.3, 0.2]), CPT(cured, [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]], [dose])])
    assert net.query("Cured", {"Dose": 1}).to_dict() == pytest.approx({1: 0.1, 0: 0.9})
    assert net.query("Cured", {"Dose": np.int64(2)}).to_dict() == pytest.approx({1: 0.6, 0: 0.4})
    expected = {1: 0.45 / 0.61, 2: 0.12 / 0.61, 3: 0.04 / 0.61}
    assert net.query("Dose", {"Cured": np.uint8(0)}).to_dict() == pytest.approx(expected)
    for label in (0, "low", "1", True):
        with pytest.raises(UnknownStateError, match="1, 2, 3"):
            net.query("Cured", {"Dose": label})


def test_axes_of_a_joint_follow_the_question():
    a, b, c = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]), Variable("C", ["c0", "c1"])
    net = BayesianNetwork([
        CPT(a, {"c0": [0.9, 0.1], "c1": [0.4, 0.6]}, [c]),
        CPT(b, {
            ("a0", "c0"): [0.2, 0.3, 0.5], ("a1", "c0"): [0.1, 0.1, 0.8],
            ("a0", "c1"): [0.6, 0.3, 0.1], ("a1", "c1"): [0.25, 0.25, 0.5],
        }, [a, c]),
        CPT(c, [0.35, 0.65]),
    ])  # fmt: skip
    joint = net.query(["C", "A", "B"])
    assert joint.values.shape == (2, 2, 3)
    assert joint["c0", "a1", "b2"] == pytest.approx(0.028)
    assert joint["c1", "a0", "b0"] == pytest.approx(0.156)
    other = net.query(["B", "C", "A"])
    assert other["b2", "c0", "a1"] == pytest.approx(0.028)
    assert other.allclose(joint)


def test_evidence_in_another_component_counts_only_in_its_probability():
    a, b = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1"])
    u, v, w = Variable("U", ["u0", "u1", "u2"]), Variable("V", ["v0", "v1"]), Variable("W", ["w0", "w1"])
    net = BayesianNetwork([
        CPT(a, [0.25, 0.75]), CPT(b, [[0.6, 0.4], [0.1, 0.9]], [a]),
        CPT(u, [0.2, 0.3, 0.5]), CPT(v, [[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]], [u]), CPT(w, [0.01, 0.99]),
    ])  # fmt: skip
    evidence = {"V": "v1", "W": "w0"}
    joint = net.query(["A", "U"], evidence)
    assert joint["a1", "u2"] == pytest.approx(0.546875)
    assert net.probability(evidence) == pytest.approx(0.0048)
    assert net.query("A", {"V": "v1"}).values == pytest.approx([0.25, 0.75])


def test_variables_of_one_state():
    k, x, end = Variable("K", ["only"]), Variable("X", ["x0", "x1"]), Variable("L", ["one"])
    net = BayesianNetwork([CPT(k, [1.0]), CPT(x, [[0.3, 0.7]], [k]), CPT(end, [[1.0], [1.0]], [x])])
    assert net.query("X", {"L": "one", "K": "only"}).values == pytest.approx([0.3, 0.7])
    assert net.query("K").to_dict() == {"only": 1.0}
    assert net.query(["K", "X", "L"]).values.shape == (1, 2, 1)
    assert {name: f.values.tolist() for name, f in net.marginals().items()} == {"K": [1.0], "X": [0.3, 0.7], "L": [1.0]}
    with pytest.raises(UnknownStateError, match="only"):
        net.query("X", {"K": "other"})


def grid(side: int) -> BayesianNetwork:
    cells = {(i, j): Variable(f"g{i}_{j}", [0, 1]) for i in range(side) for j in range(side)}
    return BayesianNetwork([
        CPT.random(cells[i, j], [cells[p] for p in ((i - 1, j), (i, j - 1)) if p in cells], rng=i * side + j)
        for i, j in cells
    ])  # fmt: skip


def test_too_large_is_refused_with_numbers_before_anything_is_allocated():
    net = grid(40)
    corner = {"g39_39": 1}
    with pytest.raises(TooLargeError, match=r"largest of [\d,]+ cells; the memory budget is 4.29 GB"):
        net.marginals(corner)
    small = grid(8)
    with pytest.raises(TooLargeError, match="the memory budget is 1 kB"):
        small.marginals({"g7_7": 1}, memory_budget=1000)
    with pytest.raises(TooLargeError):
        small.query("g0_0", {"g7_7": 1}, memory_budget=1000)
    with pytest.raises(TooLargeError):
        small.probability({"g7_7": 1}, memory_budget=1000)
    assert small.query("g0_0", {"g7_7": 1}).values.sum() == pytest.approx(1)
    with pytest.raises(TooLargeError, match="60 variables"):
        chain(60).query([f"X{i}" for i in range(1, 61)])
    with pytest.raises(TooLargeError, match="60 variables"):
        chain(60).query(chain(60).names, dict.fromkeys(chain(60).names, 0))
    with pytest.raises(TooLargeError, match="70 axes"):
        chain(70).query(chain(70).names, dict.fromkeys(chain(70).names, 0))


def test_order_of_the_question_and_of_the_tables_do_not_matter():
    d, i, g = Variable("D", ["easy", "hard"]), Variable("I", ["low", "high"]), Variable("G", ["A", "B", "C"])
    table = np.array([[[0.3, 0.4, 0.3], [0.9, 0.08, 0.02]], [[0.05, 0.25, 0.7], [0.5, 0.3, 0.2]]])
    roots = [CPT(d, [0.6, 0.4]), CPT(i, [0.7, 0.3])]
    for net in (
        BayesianNetwork([*roots, CPT(g, table, [d, i])]),
        BayesianNetwork([CPT(g, table.transpose(1, 0, 2), [i, d]), *reversed(roots)]),
    ):
        assert net.query("D", {"G": "C"})["easy"] == pytest.approx(0.3707093821510298)
        assert net.query("I", {"G": "A"})["low"] == pytest.approx(0.3867403314917128)
        assert net.cpt("G")[{"D": "easy", "I": "high", "G": "A"}] == 0.9


def test_plan_prints_its_steps_and_touches_no_number():
    net = chain(6)
    plan = net.plan("X6", observed="X1")
    assert plan.targets == ("X6",)
    assert plan.observed == ("X1",)
    assert set(plan.order) == {"X2", "X3", "X4", "X5"}
    assert plan.largest_table == 4
    assert "sum over X2" in str(plan)
    given = net.plan("X6", order=["X5", "X4", "X3", "X2", "X1"])
    assert given.heuristic == "given"
    assert given.order == ("X5", "X4", "X3", "X2", "X1")
    with pytest.raises(EvidenceError, match="leaves out 'X2', 'X3'"):
        net.query("X6", order=["X1", "X4", "X5"])
    with pytest.raises(EvidenceError, match="each variable once"):
        net.query("X2", order=["X1", "X1"])


@settings(max_examples=100, deadline=None)
@given(strategies.questions(), st.data())
def test_likelihoods_are_an_extra_child_observed(question, data):
    """A likelihood on X is the same as observing a binary child of X whose table is the likelihood."""
    net, targets, evidence = question
    name = data.draw(st.sampled_from(net.names))
    states = net.variable(name).states
    vector = data.draw(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=len(states), max_size=len(states)))
    report = Variable("a report", [False, True])
    spied = BayesianNetwork([*net.cpts, CPT(report, [[1 - x, x] for x in vector], [net.variable(name)])])
    seen = {**evidence, "a report": True}
    if oracles.probability(spied, seen) == 0:
        with pytest.raises((ImpossibleEvidenceError, EvidenceError)):
            net.query(targets, evidence, likelihoods={name: vector})
        return
    answer = net.query(targets, evidence, likelihoods={name: vector})
    assert answer.values.ravel() == pytest.approx(oracles.posterior(spied, targets, seen), abs=1e-12)
    for other, factor in net.marginals(evidence, likelihoods={name: vector}).items():
        assert factor.values == pytest.approx(oracles.posterior(spied, [other], seen), abs=1e-12)


def test_likelihood_evidence_leaves_no_trace():
    """pgmpy issue 2748: a query with virtual evidence changed the answers of later ones."""
    fault, alarm = Variable("Fault", ["no", "yes"]), Variable("Alarm", ["quiet", "rings"])
    light = Variable("Light", ["dark", "lit"])
    net = BayesianNetwork(
        [CPT(fault, [0.95, 0.05]), CPT(alarm, [[0.9, 0.1], [0.2, 0.8]], [fault]), CPT(light, [0.5, 0.5])]
    )
    before = net.query("Fault")
    soft = net.query("Fault", likelihoods={"Alarm": {"quiet": 0.2, "rings": 0.6}})
    assert soft["yes"] == pytest.approx(0.10236220472440948)
    assert net.query("Fault", likelihoods={"Alarm": [1.0, 3.0]}).allclose(soft)
    assert net.query("Alarm", likelihoods={"Alarm": [0.2, 0.6]})["rings"] == pytest.approx(0.3188976377952756)
    assert net.query("Fault", likelihoods={"Light": [0.1, 0.9]}).allclose(before)
    assert net.query("Fault") == before
    both = net.query("Fault", {"Alarm": "rings"}, likelihoods={"Alarm": [0.2, 0.6]})
    assert both["yes"] == pytest.approx(0.29629629629629634)
    for wrong in ([0.0, 0.0], [-1.0, 1.0], [1.0], [float("nan"), 1.0], {"quiet": 1.0}, "high"):
        with pytest.raises(EvidenceError, match="likelihood of 'Alarm'"):
            net.query("Fault", likelihoods={"Alarm": wrong})
    with pytest.raises(ImpossibleEvidenceError, match="likelihood is zero"):
        net.query("Fault", {"Alarm": "rings"}, likelihoods={"Alarm": [1.0, 0.0]})


def test_probability_of_evidence_with_likelihoods():
    net = leak_network()
    report = {"Wet": [0.1, 0.9]}
    expected = 0.1 * net.probability({"Wet": "no"}) + 0.9 * net.probability({"Wet": "yes"})
    assert net.probability(likelihoods=report) == pytest.approx(expected)
    seen = 0.9 * net.probability({"Wet": "yes", "Bill": "high"})
    assert net.probability({"Wet": "yes", "Bill": "high"}, likelihoods=report) == pytest.approx(seen)
    assert net.probability({"Wet": "yes"}, likelihoods={"Wet": [1.0, 0.0]}) == 0.0
    assert net.mpe(likelihoods=report).log_joint == pytest.approx(math.log(0.9 * 0.2 * 0.9 * 0.9))


def test_equality_ignores_the_order_of_nodes_and_parents():
    net = leak_network()
    wet = net.cpt("Wet")
    swapped = CPT(wet.child, wet.values.transpose(1, 0, 2), [wet.parents[1], wet.parents[0]])
    other = BayesianNetwork([swapped, net.cpt("Bill"), net.cpt("Burst"), net.cpt("Leak")])
    assert other == net
    assert hash(other) == hash(net)
    assert leak_network(dry=1e-9) != net
    with pytest.raises(TableError, match="a list of CPT objects, in declared order, not a CPT"):
        BayesianNetwork(net.cpt("Leak"))


def two_leaves(root: Variable, name: str, probabilities: list[float]) -> CPT:
    return CPT(Variable(name, ["n", "y"]), [[1 - p, p] for p in probabilities], [root])


def test_a_step_that_underflows_only_partly():
    """The two states of X have posterior 0.562 and 0.438, each as a product of two numbers near 1e-162."""
    x, y, z = (Variable(name, ["n", "y"]) for name in "XYZ")
    same = [[1, 0], [0, 1]]
    net = BayesianNetwork([
        CPT(x, [0.5, 0.5]), CPT(y, same, [x]), CPT(z, same, [x]),
        two_leaves(y, "a1", [0.5, 0.75e-162]), two_leaves(y, "a2", [0.5, 0.75e-162]),
        two_leaves(z, "b1", [0.85e-162, 0.5]), two_leaves(z, "b2", [0.85e-162, 0.5]),
    ])  # fmt: skip
    evidence = dict.fromkeys(["a1", "a2", "b1", "b2"], "y")
    exact = np.array([0.85**2, 0.75**2]) / (0.85**2 + 0.75**2)
    assert net.query("X", evidence).values == pytest.approx(exact, rel=1e-9)
    assert net.marginals(evidence)["X"].values == pytest.approx(exact, rel=1e-9)
    expected = math.log(0.5 * 0.25) + 2 * math.log(1e-162) + math.log(0.85**2 + 0.75**2)
    assert net.log_probability(evidence) == pytest.approx(expected, rel=1e-12)
    assert net.mpe(evidence).assignment["X"] == "n"


@pytest.mark.parametrize("n", [70, 1700, 4000])
def test_a_thousand_words_that_only_the_rare_class_explains(n):
    """P(evidence) is far below the range of any floating-point number, and the likely class is ruled out."""
    spam = Variable("X", ["spam", "ham"])
    tables = [CPT(spam, [0.5, 0.5]), two_leaves(spam, "f", [0.0, 0.5])]
    tables += [two_leaves(spam, f"w{i}", [0.9, 1e-5]) for i in range(n)]
    net = BayesianNetwork(tables)
    evidence = {"f": "y", **{f"w{i}": "y" for i in range(n)}}
    expected = 2 * math.log(0.5) + n * math.log(1e-5)
    assert net.log_probability(evidence) == pytest.approx(expected, rel=1e-12)
    assert net.query("X", evidence).values.tolist() == [0.0, 1.0]
    del evidence["w0"]
    assert net.marginals(evidence)["w0"].values == pytest.approx([1 - 1e-5, 1e-5])
    assert net.mpe(evidence).assignment == {"X": "ham", "w0": "n"}


def test_a_large_conflict_is_reported_without_a_long_search():
    """o(i) = o(i-1) or c(i), all c observed to be off and the last o on: all 300 observations are the conflict."""
    n, off_on = 300, ["off", "on"]
    causes = [Variable(f"c{i}", off_on) for i in range(n)]
    tables, last = [CPT(cause, [0.5, 0.5]) for cause in causes], causes[0]
    for i in range(1, n):
        gate = Variable(f"o{i}", off_on)
        tables.append(CPT.deterministic(gate, [last, causes[i]], lambda a, b: "on" if "on" in (a, b) else "off"))
        last = gate
    net = BayesianNetwork(tables)
    evidence = {cause.name: "off" for cause in causes} | {last.name: "on"}
    with pytest.raises(ImpossibleEvidenceError, match="among others that may not matter: .*c0='off'.*o299='on'"):
        net.query("o150", evidence)


def test_a_plan_too_large_to_run_can_still_be_looked_at():
    plan = grid(20).plan(["g0_0", "g19_19"], observed=["g5_5"])
    assert plan.memory > 0
    assert "multiplications" in str(plan)
    huge = grid(45).plan()
    assert huge.memory > 4 * 2**30
    assert "cells" in str(huge)


def test_wrong_options_are_refused():
    net = chain(3)
    for budget in (None, 0, -1, float("nan"), "1 GB"):
        with pytest.raises(EvidenceError, match="memory_budget is a positive number"):
            net.query("X1", memory_budget=budget)
    for order in (5, "X1", [["X1"]]):
        with pytest.raises(EvidenceError, match="an order is a list of names"):
            net.query("X1", order=order)
    assert ["X1"] not in net
    with pytest.raises(TableError, match="not a int"):
        BayesianNetwork(5)
