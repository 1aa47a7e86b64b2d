"""Probabilities that differ by more than floats can hold: against sums of logarithms over the enumerated joint."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, UnknownNameError
from tests.inference.test_continuous_evidence import enumerated, log_total, marginal

A, B, C = (pgm.Variable(name, [0, 1]) for name in "abc")


def leaf(name: str, means: object, variances: object = 1.0, parents: tuple = (A,)) -> pgm.ConditionalGaussian:
    return pgm.ConditionalGaussian(name, means, variances, parents)


def steep_network(seed: int, zeros: bool = False) -> pgm.BayesianNetwork:
    """Return four variables whose probabilities are powers of ten down to 1e-180, some of them zero if wanted."""
    rng = np.random.default_rng(seed)
    variables = [pgm.Variable(f"v{i}", list("xyz")[: rng.integers(2, 4)]) for i in range(4)]
    cpts = []
    for place, child in enumerate(variables):
        parents = [parent for parent in variables[:place] if rng.random() < 0.6]
        shape = [variable.cardinality for variable in (*parents, child)]
        table = 10.0 ** -rng.uniform(0, 180, shape)
        table[..., 1:][rng.random(table[..., 1:].shape) < (0.3 if zeros else 0)] = 0.0
        cpts.append(pgm.CPT(child, table / table.sum(axis=-1, keepdims=True), parents))
    return pgm.BayesianNetwork(cpts)


def ranked(net: pgm.BayesianNetwork, evidence: dict, targets: list[str]) -> list[tuple[float, tuple]]:
    """Return ln P(targets, evidence) and the labels, best first, equal ones in declared order."""
    names = [variable.name for variable in net.variables]
    sums: dict[tuple, list[float]] = {}
    for labels, log in enumerated(net, evidence).items():
        if log > -math.inf:
            world = dict(zip(names, labels, strict=True))
            sums.setdefault(tuple(world[name] for name in targets), []).append(log)
    found = [(float(np.logaddexp.reduce(logs)), labels) for labels, logs in sums.items()]
    states = [net.variable(name).states for name in targets]
    codes = {labels: [known.index(s) for known, s in zip(states, labels, strict=True)] for _, labels in found}
    return sorted(found, key=lambda item: (-round(item[0], 7), codes[item[1]]))


# ---------------------------------------------------------------------- rows whose target is known


def test_a_target_that_is_known_in_the_row_asked_singly():
    """Both rows are too improbable for the batch, and one of them knows a target."""
    seen = [pgm.Variable(f"b{i}", [0, 1]) for i in (0, 1)]
    tables = [pgm.CPT(v, [[1, 1e-200]] * 2, parents=[A]) for v in seen]
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), *tables, pgm.CPT(C, [0.25, 0.75])])
    rows = {"a": [0, None], "b0": [1, 1], "b1": [1, 1]}
    found = net.posterior(rows)
    assert sorted(found) == ["a", "c"]
    assert found["a"].tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert found["c"].tolist() == [[0.25, 0.75]] * 2
    assert net.posterior(rows, ["a", "b0", "c"])["b0"].tolist() == [[0.0, 1.0]] * 2
    assert net.impute(rows, method="marginal").to_dict() == {"a": [0, 0], "b0": [1, 1], "b1": [1, 1], "c": [1, 1]}
    assert net.predict(rows, ["a", "c"]) == {"a": [0, 0], "c": [1, 1]}


def test_a_target_that_is_known_beside_leaves():
    x = leaf("x", [[0, 50], [100, 0]], 1, (A, C))
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), pgm.CPT(C, [1.0, 0.0]), x])
    rows = {"x": [0.0, 0.0, None], "a": [1, None, 1]}
    found = net.posterior(rows, ["a", "c"])
    assert found["a"].tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert found["c"].tolist() == [[1.0, 0.0]] * 3
    assert net.impute(rows, method="marginal").to_dict() == {"a": [1, 0, 1], "c": [0, 0, 0], "x": [0.0, 0.0, 100.0]}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_rows_of_steep_networks(seed):
    net = steep_network(seed, zeros=bool(seed % 2))
    rng = np.random.default_rng(seed)
    columns = {
        v.name: [None if rng.random() < 0.4 else v.states[rng.integers(v.cardinality)] for _ in range(5)]
        for v in net.variables
    }
    found = net.posterior(columns, list(net.names), impossible="nan")
    likelihoods = net.log_likelihood(columns)
    for row in range(5):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        total = log_total(enumerated(net, evidence))
        assert likelihoods[row] == pytest.approx(total, rel=1e-10, abs=1e-10)
        for name in net.names:
            expected = marginal(net, name, evidence) if total > -math.inf else [math.nan] * len(found[name][row])
            assert found[name][row].tolist() == pytest.approx(expected, abs=1e-10, nan_ok=True)


# ---------------------------------------------------------------------- explanations


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_best_explanations_are_all_there(seed, k):
    net = steep_network(seed, zeros=bool(seed % 2))
    rng = np.random.default_rng(seed)
    evidence = {"v3": net.variable("v3").states[0]} if seed % 3 else {}
    hidden = [name for name in net.names if name not in evidence]
    some = [name for name in hidden if rng.random() < 0.6] or hidden
    for targets in (None, some):
        expected = ranked(net, evidence, targets or hidden)
        found = net.best_explanations(k, evidence, targets=targets)
        assert len(found) == min(k, len(expected))
        assert [e.log_joint for e in found] == pytest.approx([log for log, _ in expected[:k]], rel=1e-10, abs=1e-9)
        assert [tuple(e.assignment.values()) for e in found] == [labels for _, labels in expected[:k]]
        first = net.mpe(evidence) if targets is None else net.map(targets, evidence)
        assert first.log_joint == pytest.approx(expected[0][0], rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("x", [10.0, 700.0, 760.0, 1e4, 1e5, 1e6])
def test_explanations_under_continuous_evidence(x):
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), pgm.CPT(B, [0.2, 0.8]), leaf("x", [0, 1])])
    for targets in (None, ["b", "a"], ["a"]):
        expected = ranked(net, {"x": x}, targets or ["a", "b"])
        found = net.best_explanations(9, {"x": x}, targets=targets)
        assert [tuple(e.assignment.values()) for e in found] == [labels for _, labels in expected]
        assert [e.log_joint for e in found] == pytest.approx([log for log, _ in expected], rel=1e-14)
    rank = net.best_explanations(3, {"x": x}, targets=["a"])
    assert rank[1].log_probability == pytest.approx(0.5 - x - max(0.0, math.log1p(math.exp(0.5 - x))), rel=1e-6)


def test_equal_explanations_come_in_order_however_improbable_they_are():
    """Two coins decide nothing; eight explanations are equal, and all are e^-99999.5 of the best eight."""
    coins = [pgm.Variable(f"c{i}", ["h", "t"]) for i in range(3)]
    net = pgm.BayesianNetwork([*(pgm.CPT.uniform(coin) for coin in coins), pgm.CPT.uniform(A), leaf("x", [0, 1])])
    found = net.best_explanations(13, {"x": 1e5})
    order = ["".join(flips) for flips in product("ht", repeat=3)]
    assert ["".join(e.assignment[c.name] for c in coins) for e in found] == (order + order)[:13]
    assert [e.assignment["a"] for e in found] == [1] * 8 + [0] * 5


def test_a_marginal_map_whose_parts_contradict_each_other():
    """Each of two leaves rules the state out that the other wants: the sums over b and c hold zeros only in part."""
    far = 60.0
    tables = [pgm.CPT(A, [0.5, 0.5]), pgm.CPT(B, [[1, 0], [0, 1]], [A]), pgm.CPT(C, [[1, 0], [0, 1]], [A])]
    net = pgm.BayesianNetwork([*tables, leaf("x", [0, far], parents=(B,)), leaf("y", [0, far], parents=(C,))])
    evidence = {"x": 0.0, "y": far - 0.01}
    expected = ranked(net, evidence, ["a"])
    assert [e.log_joint for e in net.best_explanations(5, evidence, targets="a")] == pytest.approx(
        [log for log, _ in expected]
    )
    assert net.map("a", evidence).assignment["a"] == expected[0][1][0]


# ---------------------------------------------------------------------- densities of a target


@pytest.mark.parametrize("x", [3.0, 7.0, 8.0, 9.0, 800.0, 1e5])
def test_a_density_far_from_what_is_probable(x):
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("x", [0, 1], 0.01), leaf("y", [0, 1e3])])
    density = net.query("y", {"x": x})
    ratio = (1 - 2 * x) / 0.02  # ln p(x | a=0) - ln p(x | a=1), without the loss of digits in a difference of both
    weights = np.array([ratio, 0.0]) - np.logaddexp(ratio, 0.0)
    for y in [0.0, 1.0, 400.0, 1e3]:
        expected = float(np.logaddexp(*(weights + stats.norm.logpdf(y, [0, 1e3]))))
        assert float(density.log_pdf(y)) == pytest.approx(expected, rel=1e-9)
        if x < 1e4:
            found = net.log_probability({"x": x, "y": y}) - net.log_probability({"x": x})
            assert found == pytest.approx(expected, rel=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_densities_of_steep_networks(seed):
    rng = np.random.default_rng(seed)
    discrete = steep_network(seed, zeros=bool(seed % 2))
    parents = [variable for variable in discrete.variables if rng.random() < 0.5]
    shape = [parent.cardinality for parent in parents]
    target = pgm.ConditionalGaussian("y", rng.normal(0, 100, shape), rng.uniform(0.5, 2, shape), parents)
    net = pgm.BayesianNetwork([*discrete.cpts, target])
    evidence = {"v3": net.variable("v3").states[0]}
    density, base = net.query("y", evidence), log_total(enumerated(net, evidence))
    for y in [-100.0, 0.0, 100.0]:
        expected = log_total(enumerated(net, {**evidence, "y": y})) - base
        assert float(density.log_pdf(y)) == pytest.approx(expected, rel=1e-9)


# ---------------------------------------------------------------------- contradictions beyond e^-60000


def contradiction(distance: float) -> tuple[pgm.BayesianNetwork, dict]:
    """Return a and b, equal for sure, with a leaf each; the leaves show different states."""
    tables = [pgm.CPT(A, [0.5, 0.5]), pgm.CPT(B, [[1, 0], [0, 1]], [A]), pgm.CPT(C, [[0.9, 0.1], [0.3, 0.7]], [A])]
    leaves = [leaf("x", [0, distance]), leaf("y", [0, distance], parents=(B,))]
    return pgm.BayesianNetwork([*tables, *leaves]), {"x": 0.0, "y": distance + 0.3 / distance}


@pytest.mark.parametrize("distance", [300.0, 400.0, 1e3, 1e4])
def test_contradictions_are_answered_on_logarithms(distance):
    net, evidence = contradiction(distance)
    total = log_total(enumerated(net, evidence))
    assert net.log_probability(evidence) == pytest.approx(total, rel=1e-12)
    for name in "abc":
        expected = marginal(net, name, evidence)
        assert net.query(name, evidence).values.tolist() == pytest.approx(expected, abs=1e-6)
        assert net.marginals(evidence)[name].values.tolist() == pytest.approx(expected, abs=1e-6)
        rows = {name: [number, None] for name, number in evidence.items()}
        assert net.posterior(rows, name)[0].tolist() == pytest.approx(expected, abs=1e-6)
        assert net.log_likelihood(rows).tolist() == pytest.approx([total, 0.0], rel=1e-12, abs=1e-12)
    best = ranked(net, evidence, ["a", "b", "c"])
    assert [e.log_joint for e in net.best_explanations(9, evidence)] == pytest.approx([log for log, _ in best])
    assert tuple(net.mpe(evidence).assignment.values()) == best[0][1]
    assert net.impute({**{n: [v] for n, v in evidence.items()}}).to_dict()["c"] == [best[0][1][2]]
    soft = net.query("c", evidence, distributions={"a": [0.25, 0.75]}).values
    assert soft.tolist() == pytest.approx([0.25 * 0.9 + 0.75 * 0.3, 0.25 * 0.1 + 0.75 * 0.7], abs=1e-6)
    drawn = net.sample(4000, rng=0, evidence=evidence)
    assert np.array_equal(drawn.codes("a"), drawn.codes("b"))
    assert drawn.codes("a").mean() == pytest.approx(marginal(net, "a", evidence)[1], abs=0.04)


def test_methods_that_know_only_tables_refuse_such_contradictions():
    net, evidence = contradiction(1e3)
    for ask in [
        lambda: net.families(evidence),
        lambda: net.weighted_sample(10, rng=0, evidence=evidence),
        lambda: net.gibbs_sample(10, rng=0, evidence=evidence, zeros="allow"),
        lambda: net.estimate("a", 10, rng=0, evidence=evidence),
        lambda: net.query_by_conditioning("a", evidence),
        lambda: net.marginals_by_conditioning(evidence),
        lambda: net.log_probability_by_conditioning(evidence),
        lambda: net.approximate_marginals(evidence),
    ]:
        with pytest.raises(EvidenceError, match="too improbable for this method"):
            ask()
    # far out, but not contradicted: nothing that was cut off matters
    far = {"x": 1e6}
    assert net.families(far)["c"].allclose(net.query(["a", "c"], far))
    assert net.query_by_conditioning("a", far).values.tolist() == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("distance", [1e5, 1e150])
def test_what_even_logarithms_do_not_tell_is_refused(distance):
    net, evidence = contradiction(distance)
    evidence = {"x": 0.0, "y": distance}
    for ask in [lambda: net.query("c", evidence), lambda: net.log_probability(evidence), lambda: net.mpe(evidence)]:
        with pytest.raises(EvidenceError, match="is too improbable to be computed with, given the other evidence"):
            ask()
    rows = {"x": [0.0, 0.0], "y": [None, distance]}
    with pytest.raises(EvidenceError, match=r"^row 1: {'x': 0.0, 'y': .*} is too improbable to be computed with"):
        net.posterior(rows, "c")
    with pytest.raises(EvidenceError, match="^row 1: "):
        net.log_likelihood(rows)
    found = net.posterior(rows, "c", impossible="nan")
    assert found[0].tolist() == pytest.approx([0.9, 0.1]) and np.isnan(found[1]).all()
    # where the discrete evidence is impossible by itself, that is the reason
    with pytest.raises(ImpossibleEvidenceError, match="in conflict: a=0, b=1$"):
        net.query("c", {**evidence, "a": 0, "b": 1})


# ---------------------------------------------------------------------- beyond the range of floats


def test_ratios_that_are_infinite():
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("x", [0, 0], [1e-10, 1e4]), leaf("y", [0, 1])])
    assert net.query("a", {"x": 1e150}).values.tolist() == [0.0, 1.0]
    assert net.posterior({"x": [1e150]}, "a").tolist() == [[0.0, 1.0]]
    assert net.log_probability({"x": 1e150}) == pytest.approx(math.log(0.5) + stats.norm.logpdf(1e150, 0, 100))
    assert [dict(e.assignment) for e in net.best_explanations(5, {"x": 1e150})] == [{"a": 1}]
    assert float(net.query("y", {"x": 1e150}).log_pdf(0.0)) == pytest.approx(stats.norm.logpdf(0, 1))
    smallest = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("x", {0: 0, 1: 1}, 5e-324)])
    expected = math.log(0.5) - 0.5 * math.log(2 * math.pi) - 0.5 * math.log(5e-324)
    assert smallest.log_probability({"x": 0.0}) == pytest.approx(expected)
    assert smallest.query("a", {"x": 1}).values.tolist() == [0.0, 1.0]
    with pytest.raises(EvidenceError, match="the density at {'x': 0.5} is beyond the range of floats"):
        smallest.query("a", {"x": 0.5})


def test_numbers_that_no_float_can_hold():
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("x", [0, 1])])
    for number in [10**400, -(10**400), np.longdouble("1e400")]:
        if not np.isfinite(np.float64(1)) or number == np.inf:
            continue  # where long doubles are no longer than others
        with pytest.raises(EvidenceError, match="'x' is continuous, and its evidence is a number beyond the range"):
            net.query("a", {"x": number})
    with pytest.raises(EvidenceError, match="memory_budget is a positive number of bytes"):
        net.query("a", memory_budget=10**400)


def test_rows_whose_density_is_beyond_the_range_of_floats_are_named():
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("x", [0, 1]), leaf("t", 0, 1, ()), leaf("y", [0, 1])])
    message = r"^row 10: the density at {'x': 1e\+300} is beyond the range of floats"
    rows = {"x": [0.5] * 10 + [1e300, 0.5, 1e300], "t": [None] * 11 + [1.0, 2.0], "a": [None] * 12 + [0]}
    for ask in [
        lambda: net.posterior(rows, "a"),
        lambda: net.log_likelihood(rows),
        lambda: net.predict(rows, "a"),
        lambda: net.impute(rows),
        lambda: net.impute(rows, method="marginal"),
        lambda: list(net.posterior_chunks([rows], "a")),
    ]:
        with pytest.raises(EvidenceError, match=message):
            ask()
    found = net.posterior(rows, "a", impossible="nan")
    assert np.isnan(found[[10, 12]]).all()
    assert found[[*range(10), 11]].tolist() == [[0.5, 0.5]] * 11
    with pytest.raises(EvidenceError, match=r"^row 5000: the density at {'t': 1e\+300}"):
        net.log_likelihood({"t": [0.0] * 5000 + [1e300]})
    only = net.posterior({"t": [1e300, 0.0]}, "a", impossible="nan")
    assert np.isnan(only[0]).all() and only[1].tolist() == [0.5, 0.5]
    # each density by itself is a float, and their product is none
    both = {f"x{i}": [0.0, 1e154] for i in range(4)}
    many = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), *(leaf(name, 0, 0.6, ()) for name in both)])
    with pytest.raises(EvidenceError, match="^row 1: the density at {'x0': 1e.154, .*'x3': 1e.154} is beyond"):
        many.log_likelihood(both)
    with pytest.raises(EvidenceError, match="^the density at {'x0': "):
        many.log_probability({name: column[1] for name, column in both.items()})


def test_impossible_rows_beside_those_beyond_floats():
    net = pgm.BayesianNetwork([pgm.CPT(A, [1.0, 0.0]), pgm.CPT(B, [0.5, 0.5]), leaf("x", [0, 1])])
    rows = {"x": [0.0, 0.0, 1e300], "a": [0, 1, None]}
    with pytest.raises(ImpossibleEvidenceError, match="^row 1: the evidence has probability zero; in conflict: a=1"):
        net.posterior(rows, "b")
    assert np.isnan(net.posterior(rows, "b", impossible="nan")).all(axis=1).tolist() == [False, True, True]


# ---------------------------------------------------------------------- reports are nobody's business


def test_reports_have_no_names():
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), leaf("height", [0, 1])])
    report = "the numbers of height"
    for ask in [
        lambda name: net.query(name, {"height": 0.0}),
        lambda name: net.map(name, {"height": 0.0}),
        lambda name: net.query("a", {"height": 0.0, name: 0}),
        lambda name: net.query("a", {"height": 0.0}, likelihoods={name: [1, 1]}),
        lambda name: net.query("a", {"height": 0.0}, distributions={name: [0.5, 0.5]}),
        lambda name: net.best_explanations(2, {"height": 0.0}, targets=[name]),
        lambda name: net.estimate(name, 5, rng=0, evidence={"height": 0.0}),
        lambda name: net.query_by_conditioning(name, {"height": 0.0}),
        lambda name: net.mutual_information(name, {"height": 0.0}),
        lambda name: net.sensitivity(name, 0),
        lambda name: net.posterior({"height": [0.0]}, name),
        lambda name: net.plan(name, ["height"]),
        lambda name: net.plan("a", [name]),
        lambda name: net.do({name: 0}),
    ]:
        for name in [report, "foo"]:
            with pytest.raises(UnknownNameError, match=f"no variable '{name}'; the variables are 'a', 'height'$"):
                ask(name)
    plan = net.plan("a", ["height"])
    assert plan.observed == ("height",) and report not in str(plan)
    assert report not in net.families({"height": 0.0}) and report not in net.mutual_information("a", {"height": 0.0})


def test_iterators_of_names():
    net = pgm.BayesianNetwork([pgm.CPT(A, [0.5, 0.5]), pgm.CPT(B, [0.5, 0.5]), leaf("height", [0, 1])])
    for ask in [
        net.map,
        lambda names: net.best_explanations(2, targets=names),
        lambda names: net.posterior({"a": [0]}, names),
        net.plan,
        lambda names: net.estimate(names, 5, rng=0),
    ]:
        with pytest.raises(EvidenceError, match="'height' is continuous"):
            ask(iter(["height"]))
    assert sorted(net.map(iter(["a", "b"])).assignment) == ["a", "b"]
    assert net.query(iter(["a", "b"]), {"height": 0.0}).names == ("a", "b")
    assert net.query(iter(["height"])).name == "height"
    assert list(net.posterior({"height": [0.0]}, iter(["a"]))) == ["a"]
    with pytest.raises(UnknownNameError, match="expected a name, or a list of names, not 3"):
        net.plan("a", 3)
