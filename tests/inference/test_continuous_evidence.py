"""Networks with Gaussian leaves: against enumeration of the discrete states with SciPy's densities."""

from __future__ import annotations

import copy
import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TableError, UnknownNameError
from pgm.inference import hybrid_rows

A = pgm.Variable("a", ["no", "yes"])
B = pgm.Variable("b", [0, 1, 2])
C = pgm.Variable("c", ["x", "y"])


def network(seed: int = 0, spread: float = 1.0) -> pgm.BayesianNetwork:
    """Return a -> b -> c with leaves u | a, v | b, w | b, a (two parents), s | a, b in the other order, t alone."""
    rng = np.random.default_rng(seed)

    def leaf(name: str, parents: list[pgm.Variable]) -> pgm.ConditionalGaussian:
        shape = [parent.cardinality for parent in parents]
        return pgm.ConditionalGaussian(
            name, spread * rng.normal(size=shape), rng.uniform(0.2, 2.0, size=shape), parents
        )

    return pgm.BayesianNetwork(
        [
            leaf("t", []),
            pgm.CPT.random(A, rng=rng),
            leaf("u", [A]),
            pgm.CPT.random(B, [A], rng=rng),
            pgm.CPT.random(C, [B], rng=rng),
            leaf("v", [B]),
            leaf("w", [B, A]),
            leaf("s", [A, B]),
        ]
    )


LEAVES = ["t", "u", "v", "w", "s"]


def log_joint(net: pgm.BayesianNetwork, world: dict, numbers: dict) -> float:
    """Return ln of P(world) times the densities, factor by factor."""
    total = 0.0
    for cpt in net.cpts:
        p = cpt[tuple(world[name] for name in cpt.names)] if len(cpt.names) > 1 else cpt[world[cpt.names[0]]]
        total += math.log(p) if p > 0 else -math.inf
    for name, number in numbers.items():
        leaf = net.gaussians[name]
        place = tuple(parent.code(world[parent.name]) for parent in leaf.parents)
        total += stats.norm.logpdf(number, leaf.means[place], math.sqrt(leaf.variances[place]))
    return total


def enumerated(net: pgm.BayesianNetwork, evidence: dict) -> dict[tuple, float]:
    """Return ln P(world, evidence) for every world that agrees with the evidence."""
    numbers = {name: value for name, value in evidence.items() if name in net.gaussians}
    found = {}
    for labels in product(*(variable.states for variable in net.variables)):
        world = {variable.name: label for variable, label in zip(net.variables, labels, strict=True)}
        if all(world[name] == label for name, label in evidence.items() if name not in numbers):
            found[labels] = log_joint(net, world, numbers)
    return found


def log_total(worlds: dict[tuple, float]) -> float:
    return float(np.logaddexp.reduce(list(worlds.values())))


def marginal(net: pgm.BayesianNetwork, name: str, evidence: dict) -> list[float]:
    worlds = enumerated(net, evidence)
    place = [variable.name for variable in net.variables].index(name)
    total = log_total(worlds)
    return [
        sum(math.exp(log - total) for labels, log in worlds.items() if labels[place] == state)
        for state in net.variable(name).states
    ]


EVIDENCE = [
    {"u": 0.3},
    {"t": 1.0},
    {"v": -1.0, "u": 2.0},
    {"w": 0.5, "s": -0.7, "t": 0.1},
    {"c": "y", "w": 1.5},
    {"a": "yes", "b": 2, "w": 0.1, "u": 0.0},
    {"a": "no", "s": 3.0, "c": "x"},
]


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_answers(seed, evidence):
    net = network(seed)
    worlds = enumerated(net, evidence)
    assert net.log_probability(evidence) == pytest.approx(log_total(worlds), rel=1e-12)
    assert net.probability(evidence) == pytest.approx(math.exp(log_total(worlds)), rel=1e-10)
    found = net.marginals(evidence)
    assert list(found) == [variable.name for variable in net.variables if variable.name not in evidence]
    for name, factor in found.items():
        assert factor.values.tolist() == pytest.approx(marginal(net, name, evidence), abs=1e-12)
        assert net.query(name, evidence).allclose(factor)
        assert net.query_by_conditioning(name, evidence).allclose(factor)
        assert net.approximate_marginals(evidence, tol=1e-13, max_iter=5000).marginals[name].values.sum() == (
            pytest.approx(1)
        )
    assert net.log_probability_by_conditioning(evidence) == pytest.approx(log_total(worlds), rel=1e-12)
    hidden = [variable.name for variable in net.variables if variable.name not in evidence]
    if hidden:
        best = max(worlds, key=worlds.get)
        explanation = net.mpe(evidence)
        labels = dict(zip([variable.name for variable in net.variables], best, strict=True))
        assert dict(explanation.assignment) == {name: labels[name] for name in hidden}
        assert explanation.log_joint == pytest.approx(worlds[best], rel=1e-12)
        assert explanation.log_probability == pytest.approx(worlds[best] - log_total(worlds), abs=1e-12)
        target = hidden[0]
        expected = marginal(net, target, evidence)
        chosen = net.map(target, evidence)
        assert chosen.assignment[target] == net.variable(target).states[int(np.argmax(expected))]
        assert chosen.probability == pytest.approx(max(expected))
        ranked = net.best_explanations(3, evidence)
        assert [e.log_joint for e in ranked] == pytest.approx(sorted(worlds.values(), reverse=True)[: len(ranked)])


def test_loopy_propagation_is_exact_on_a_tree():
    net = network()
    evidence = {"u": 0.4, "v": -1.2}
    found = net.approximate_marginals(evidence, tol=1e-14)
    for name, factor in net.marginals(evidence).items():
        assert found.marginals[name].allclose(factor, atol=1e-9)


def test_joint_queries_likelihoods_and_soft_evidence():
    net = network(3)
    evidence = {"w": 0.4}
    worlds = enumerated(net, evidence)
    total = log_total(worlds)
    joint = net.query(["c", "a"], evidence)
    for c, a in product(C.states, A.states):
        expected = sum(math.exp(log - total) for labels, log in worlds.items() if (labels[2], labels[0]) == (c, a))
        assert joint[c, a] == pytest.approx(expected, abs=1e-12)
    weighed = {labels: log + math.log([0.2, 0.9][C.code(labels[2])]) for labels, log in worlds.items()}
    likelihoods = {"c": [0.2, 0.9]}
    assert net.log_probability(evidence, likelihoods=likelihoods) == pytest.approx(log_total(weighed), rel=1e-12)
    soft = net.query("b", evidence, distributions={"a": [0.3, 0.7]})
    mixed = 0.3 * net.query("b", {**evidence, "a": "no"}).values + 0.7 * net.query("b", {**evidence, "a": "yes"}).values
    assert soft.values.tolist() == pytest.approx(mixed.tolist(), abs=1e-9)


def test_families_and_mutual_information():
    net, evidence = network(4), {"v": 0.3, "s": 1.0}
    families = net.families(evidence)
    assert list(families) == ["a", "b", "c"]
    assert families["b"].allclose(net.query(["a", "b"], evidence))
    joint = net.query(["a", "c"], evidence).values
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert net.mutual_information("a", evidence)["c"] == pytest.approx(float((joint * np.log(joint / outer)).sum()))


def test_interventions_keep_the_leaves():
    net = network(5)
    done = net.do({"b": 1})
    assert done.gaussians == net.gaussians and done.names == net.names
    evidence = {"w": 0.2}
    assert net.query("a", evidence, do={"b": 1}).allclose(done.query("a", evidence))
    with pytest.raises(EvidenceError, match="'w' is continuous"):
        net.do({"w": 1.0})


# ---------------------------------------------------------------------- mixtures


def test_a_continuous_target_is_a_mixture():
    net, evidence = network(6), {"c": "y", "u": 0.5}
    mixture = net.query("w", evidence)
    assert mixture.weights.tolist() == net.query(["b", "a"], evidence).values.tolist()
    base = net.log_probability(evidence)
    for x in [-2.0, 0.0, 1.3]:
        assert float(mixture.log_pdf(x)) == pytest.approx(net.log_probability({**evidence, "w": x}) - base, abs=1e-10)
        assert float(mixture.pdf(x)) == pytest.approx(math.exp(float(mixture.log_pdf(x))))
    assert integrate.quad(mixture.pdf, -30, 30, limit=200)[0] == pytest.approx(1, abs=1e-8)
    mean = integrate.quad(lambda x: x * mixture.pdf(x), -30, 30, limit=200)[0]
    assert mixture.mean == pytest.approx(mean, abs=1e-8)
    variance = integrate.quad(lambda x: (x - mean) ** 2 * mixture.pdf(x), -30, 30, limit=200)[0]
    assert mixture.variance == pytest.approx(variance, abs=1e-7)
    drawn = mixture.sample(100_000, rng=1)
    assert drawn.mean() == pytest.approx(mean, abs=0.02) and drawn.var() == pytest.approx(variance, rel=0.03)
    assert mixture.pdf(np.zeros((2, 3))).shape == (2, 3)
    assert "w: mean" in str(mixture) and "GaussianMixture of 'w'" in repr(mixture)


def test_a_mixture_with_observed_parents_or_without_any():
    net = network(7)
    observed = net.query("u", {"a": "yes"})
    assert observed.weights.tolist() == [0.0, 1.0]
    assert observed.mean == pytest.approx(net.gaussians["u"].means[1])
    assert float(observed.pdf(0.1)) == pytest.approx(stats.norm.pdf(0.1, observed.mean, math.sqrt(observed.variance)))
    alone = net.query(["t"], {"c": "x", "v": 1.0})
    assert alone.mean == pytest.approx(float(net.gaussians["t"].means)) and float(alone.weights) == pytest.approx(1)


def test_questions_that_are_refused():
    net = network()
    with pytest.raises(EvidenceError, match="'u' is continuous"):
        net.query(["a", "u"])
    with pytest.raises(EvidenceError, match="'u' is continuous and observed"):
        net.query("u", {"u": 1.0})
    for number in [math.nan, math.inf, "1.0", None, True, [1.0]]:
        with pytest.raises(EvidenceError, match="'u' is continuous: its evidence is a finite number"):
            net.query("a", {"u": number})
    with pytest.raises(EvidenceError, match="beyond the range of floats"):
        net.query("a", {"u": 1e300})
    for ask in [
        lambda: net.query("a", likelihoods={"u": [0.5]}),
        lambda: net.query("a", distributions={"u": [0.5]}),
        lambda: net.map(["u"]),
        lambda: net.sensitivity("a", "yes", {"u": 1.0}),
        lambda: net.evidence_impact("a", {"u": 1.0}),
        lambda: net.conflict({"u": 1.0}),
        lambda: net.mutual_information("u"),
        lambda: net.posterior({"a": ["no"]}, "u"),
        lambda: net.predict({"a": ["no"]}, ["b", "u"]),
        lambda: net.estimate("u", 10, rng=0),
    ]:
        with pytest.raises(EvidenceError, match="'u' is continuous"):
            ask()
    with pytest.raises(UnknownNameError, match="'u' is continuous and has no table"):
        net.cpt("u")
    with pytest.raises(UnknownNameError, match="no variable 'nothing'"):
        net.query("nothing", {"u": 1.0})


def test_impossible_discrete_evidence_is_named_without_the_numbers():
    a, b = pgm.Variable("a", ["no", "yes"]), pgm.Variable("b", ["no", "yes"])
    net = pgm.BayesianNetwork(
        [pgm.CPT(a, [0.5, 0.5]), pgm.CPT(b, np.eye(2), [a]), pgm.ConditionalGaussian("x", [0.0, 1.0], 1.0, [a])]
    )
    evidence = {"a": "no", "x": 0.0, "b": "yes"}
    for ask in [lambda: net.query("a", evidence), lambda: net.query("x", {"a": "no", "b": "yes"})]:
        with pytest.raises(ImpossibleEvidenceError, match=r"in conflict: a='no', b='yes'$"):
            ask()
    assert net.log_probability(evidence) == -math.inf
    rows = {"a": ["no", "no"], "b": ["no", "yes"], "x": [0.0, 0.0]}
    assert net.log_likelihood(rows).tolist() == pytest.approx([math.log(0.5) + stats.norm.logpdf(0), -math.inf])
    with pytest.raises(ImpossibleEvidenceError, match="row 1: .*a='no', b='yes'"):
        net.posterior(rows, "a")


# ---------------------------------------------------------------------- numbers far apart


def mixture_of(distance: float, n_leaves: int = 1, prior: float = 0.5) -> pgm.BayesianNetwork:
    k = pgm.Variable("k", [0, 1])
    leaves = [pgm.ConditionalGaussian(f"x{i}", [0.0, distance], 1.0, [k]) for i in range(n_leaves)]
    return pgm.BayesianNetwork([pgm.CPT(k, [1 - prior, prior]), *leaves])


@pytest.mark.parametrize("distance", [1.0, 30.0, 60.0, 300.0, 1e4, 1e7])
def test_densities_beyond_the_range_of_floats(distance):
    net = mixture_of(distance)
    for x in [0.0, distance, distance / 2, distance * 2]:
        logs = [math.log(0.5) + stats.norm.logpdf(x, mean) for mean in (0.0, distance)]
        assert net.log_probability({"x0": x}) == pytest.approx(float(np.logaddexp.reduce(logs)), rel=1e-12)
        ratio = (x - distance) ** 2 - x**2  # exact where both logarithms are huge
        posterior = stats.logistic.cdf(np.array([ratio, -ratio]) / 2)
        assert net.query("k", {"x0": x}).values.tolist() == pytest.approx(posterior.tolist(), abs=1e-9)
        # the state that the number speaks against is the one observed
        assert net.log_probability({"x0": x, "k": 1}) == pytest.approx(logs[1], rel=1e-12)
        rows = {"x0": [x, x], "k": [1, None]}
        assert net.log_likelihood(rows).tolist() == pytest.approx(
            [logs[1], float(np.logaddexp.reduce(logs))], rel=1e-12
        )


@pytest.mark.parametrize("distance", [40.0, 300.0])
def test_leaves_that_contradict_each_other(distance):
    """Through different parents that are equal for sure: each leaf rules the other's state out, up to e^-45000."""
    a, b = pgm.Variable("a", [0, 1]), pgm.Variable("b", [0, 1])
    net = pgm.BayesianNetwork(
        [
            pgm.CPT(a, [0.5, 0.5]),
            pgm.CPT(b, np.eye(2), [a]),
            pgm.ConditionalGaussian("x", [0.0, distance], 1.0, [a]),
            pgm.ConditionalGaussian("y", [0.0, distance], 1.0, [b]),
        ]
    )
    evidence = {"x": 0.0, "y": distance + 1 / distance}
    logs = enumerated(net, evidence)
    worlds = [logs[0, 0], logs[1, 1]]
    total = float(np.logaddexp.reduce(worlds))
    assert net.log_probability(evidence) == pytest.approx(total, rel=1e-10)
    expected = np.exp(np.array(worlds) - total).tolist()
    assert net.query("a", evidence).values.tolist() == pytest.approx(expected, abs=1e-7)
    assert net.marginals(evidence)["b"].values.tolist() == pytest.approx(expected, abs=1e-7)
    assert net.mpe(evidence).assignment["a"] == int(np.argmax(expected))
    rows = {name: [number] for name, number in evidence.items()}
    assert net.log_likelihood(rows).tolist() == pytest.approx([total], rel=1e-10)
    assert net.posterior(rows, "a")[0].tolist() == pytest.approx(expected, abs=1e-7)
    drawn = net.sample(200, rng=0, evidence=evidence)
    assert np.array_equal(drawn.codes("a"), drawn.codes("b"))


def test_what_cannot_be_computed_is_refused_and_not_guessed():
    a, b = pgm.Variable("a", [0, 1]), pgm.Variable("b", [0, 1])
    far = 1e5
    net = pgm.BayesianNetwork(
        [
            pgm.CPT(a, [0.5, 0.5]),
            pgm.CPT(b, np.eye(2), [a]),
            pgm.ConditionalGaussian("x", [0.0, far], 1.0, [a]),
            pgm.ConditionalGaussian("y", [0.0, far], 1.0, [b]),
        ]
    )
    with pytest.raises(EvidenceError, match="too improbable to be computed with"):
        net.query("a", {"x": 0.0, "y": far})
    with pytest.raises(EvidenceError, match="too improbable to be computed with"):
        net.posterior({"x": [0.0], "y": [far]}, "a")
    assert net.query("a", {"x": 0.0}).values.tolist() == [1.0, 0.0]


def test_many_leaves_of_one_parent_do_not_underflow():
    net = mixture_of(2.0, n_leaves=2000)
    rng = np.random.default_rng(0)
    numbers = {f"x{i}": float(x) for i, x in enumerate(rng.normal(1.0, 1.0, size=2000))}
    logs = [math.log(0.5) + sum(stats.norm.logpdf(list(numbers.values()), mean)) for mean in (0.0, 2.0)]
    assert net.log_probability(numbers) == pytest.approx(float(np.logaddexp.reduce(logs)), rel=1e-12)
    rows = {name: [number] * 3 for name, number in numbers.items()}
    assert net.log_likelihood(rows).tolist() == pytest.approx([float(np.logaddexp.reduce(logs))] * 3, rel=1e-12)


# ---------------------------------------------------------------------- many rows


def rows_with_holes(net, n, seed, hole=0.4):
    rng = np.random.default_rng(seed)
    return net.sample(n, rng=rng, missing=hole)


@pytest.mark.parametrize("step", [4096, 7])
def test_rows_against_single_questions(monkeypatch, step):
    monkeypatch.setattr(hybrid_rows, "ROWS", step)
    net = network(8)
    data = rows_with_holes(net, 60, seed=1)
    likelihoods = net.log_likelihood(data)
    posteriors = net.posterior(data, ["a", "b", "c"])
    alone = net.posterior(data, "b")
    filled = net.impute(data)
    columns = data.to_dict()
    for row in range(data.n_rows):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        assert likelihoods[row] == pytest.approx(log_total(enumerated(net, evidence)), rel=1e-10, abs=1e-12)
        for name in ["a", "b", "c"]:
            assert posteriors[name][row].tolist() == pytest.approx(marginal(net, name, evidence), abs=1e-12)
        assert alone[row].tolist() == pytest.approx(marginal(net, "b", evidence), abs=1e-12)
        complete = {name: column[row] for name, column in filled.to_dict().items()}
        hidden = [name for name in ["a", "b", "c"] if name not in evidence]
        if hidden:
            assert dict(net.mpe(evidence).assignment) == {name: complete[name] for name in hidden}
        for name in LEAVES:
            leaf = net.gaussians[name]
            place = tuple(parent.code(complete[parent.name]) for parent in leaf.parents)
            assert complete[name] == pytest.approx(evidence.get(name, float(leaf.means[place])))


def test_rows_of_numbers_only_and_of_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    net = network(9)
    columns = {"u": [0.1, math.nan, -2.0], "w": [1.0, 2.0, math.nan], "other": ["?", "!", "?"]}
    expected = [
        log_total(enumerated(net, {k: v[i] for k, v in columns.items() if k != "other" and v[i] == v[i]}))
        for i in range(3)
    ]
    for data in [
        columns,
        pandas.DataFrame(columns),
        polars.DataFrame(columns),
        pgm.Dataset({k: columns[k] for k in "uw"}, continuous=["u", "w"]),
    ]:
        assert net.log_likelihood(data).tolist() == pytest.approx(expected, rel=1e-12)
        assert net.predict(data, "a") == [A.states[int(np.argmax(p))] for p in net.posterior(data, "a")]
        assert sorted(net.posterior(data)) == ["a", "b", "c"]
    whole = {"u": [1, 2, 1]}  # whole numbers are numbers, too
    assert net.log_likelihood(whole)[1] == pytest.approx(net.log_probability({"u": 2}))
    assert net.log_likelihood(pgm.Dataset(whole))[1] == pytest.approx(net.log_probability({"u": 2.0}))
    assert list(net.posterior_chunks([whole, whole], "a"))[1].shape == (3, 2)
    assert net.log_likelihood({"u": []}).shape == (0,)
    assert net.impute({"u": np.zeros(0)}).n_rows == 0
    marginal_fill = net.impute({"u": [0.5]}, method="marginal")
    assert marginal_fill.n_rows == 1 and marginal_fill.continuous == tuple(LEAVES)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 30.0))
def test_rows_agree_with_single_questions_however_far_apart(seed, spread):
    net = network(seed, spread)
    data = rows_with_holes(net, 8, seed)
    found = net.log_likelihood(data)
    for row, p in enumerate(net.posterior(data, "b").tolist()):
        evidence = {name: column[row] for name, column in data.to_dict().items() if column[row] is not None}
        assert found[row] == pytest.approx(net.log_probability(evidence), rel=1e-9, abs=1e-9)
        assert p == pytest.approx(net.query("b", evidence).values.tolist(), abs=1e-9)


# ---------------------------------------------------------------------- sampling


def test_samples_have_the_right_distribution():
    net = network(10)
    data = net.sample(40_000, rng=0)
    assert data.names == ("a", "b", "c") and data.continuous == tuple(LEAVES)
    for name in LEAVES:
        leaf = net.gaussians[name]
        for place in product(*(range(parent.cardinality) for parent in leaf.parents)):
            chosen = np.ones(data.n_rows, bool)
            for parent, code in zip(leaf.parents, place, strict=True):
                chosen &= data.codes(parent.name) == code
            drawn = data.numbers(name)[chosen]
            if len(drawn) > 50:
                cdf = stats.norm(leaf.means[place], math.sqrt(leaf.variances[place])).cdf
                assert stats.kstest(drawn, cdf).pvalue > 1e-5
    again = net.sample(40_000, rng=0)
    assert again == data


def test_samples_given_numbers():
    net, evidence = network(11), {"v": 0.5, "c": "x"}
    exact = net.marginals(evidence)
    data = net.sample(40_000, rng=1, evidence=evidence)
    assert (data.numbers("v") == 0.5).all() and set(data.to_dict()["c"]) == {"x"}
    weighted = net.weighted_sample(40_000, rng=2, evidence=evidence)
    chains = net.gibbs_sample(40_000, rng=3, evidence=evidence)
    assert weighted.log_probability == pytest.approx(net.log_probability(evidence), abs=0.05)
    for name, factor in exact.items():
        cardinality = net.variable(name).cardinality
        for rows in [data, weighted.data, chains.data]:
            shares = np.bincount(rows.codes(name), rows.weights, cardinality)
            assert (shares / shares.sum()).tolist() == pytest.approx(factor.values.tolist(), abs=0.02)
    for rows in [data, weighted.data, chains.data]:
        assert rows.continuous == tuple(LEAVES) and rows.names == ("a", "b", "c")
        mean = np.average(rows.numbers("w"), weights=rows.weights)
        assert mean == pytest.approx(net.query("w", evidence).mean, abs=0.05)
    found = net.estimate("a", 20_000, rng=4, evidence=evidence)
    assert abs(found.posterior["yes"] - exact["a"]["yes"]) < 5 * found.standard_error["yes"]


def test_holes_in_samples():
    net = network(12)
    data = net.sample(4000, rng=0, missing=0.25)
    assert all(800 < count < 1200 for count in data.n_missing.values())
    partly = net.sample(4000, rng=0, missing={"u": 0.5, "v": {"c": {"x": 1.0}}})
    assert partly.n_missing["w"] == 0 and 1800 < partly.n_missing["u"] < 2200
    assert np.array_equal(np.isnan(partly.numbers("v")), partly.codes("c") == C.code("x"))
    with pytest.raises(EvidenceError, match="'u' is continuous and cannot decide"):
        net.sample(5, rng=0, missing={"a": {"u": {1.0: 0.5}}})
    with pytest.raises(UnknownNameError, match="no variable 'z'"):
        net.sample(5, rng=0, missing={"z": 0.5})
    assert net.sample(0, rng=0).n_rows == 0


# ---------------------------------------------------------------------- the network as a value


def test_the_network_knows_its_leaves():
    net = network(13)
    assert net.names == ("t", "a", "u", "b", "c", "v", "w", "s") == net.dag.nodes
    assert [variable.name for variable in net.variables] == ["a", "b", "c"]
    assert len(net) == 8 and "w" in net and "nothing" not in net
    assert ("b", "w") in net.dag.edges and net.dag.parents("w") == ("b", "a")
    assert net.n_parameters == sum(cpt.n_parameters for cpt in net.cpts) + 2 * (1 + 2 + 3 + 6 + 6)
    assert "8 variables (5 continuous)" in repr(net)
    assert pickle.loads(pickle.dumps(net)) == net and copy.deepcopy(net) is net
    assert pgm.BayesianNetwork(reversed(net.cpds)) == net and hash(net) == hash(pickle.loads(pickle.dumps(net)))
    turned = [cpd.reorder(["a", "b"]) if cpd is net.gaussians["w"] else cpd for cpd in net.cpds]
    assert pgm.BayesianNetwork(turned) == net
    other = [pgm.ConditionalGaussian("t", 9.0, 1.0) if cpd is net.gaussians["t"] else cpd for cpd in net.cpds]
    assert pgm.BayesianNetwork(other) != net
    with pytest.raises(TypeError):
        net.gaussians["t"] = None
    assert pgm.BayesianNetwork(net.cpds, dag=pgm.DAG(net.dag.edges, nodes=reversed(net.names))) == net
    assert str(net.plan("a", ["u", "c"])) and str(net.plan(None, ["w"])) and str(net.plan("a"))


def test_networks_that_are_refused():
    x = pgm.ConditionalGaussian("x", 0.0, 1.0)
    as_parent = pgm.Variable("x", [0, 1])
    with pytest.raises(TableError, match="'x' is continuous, so it must be a leaf, but it is a parent of 'a'"):
        pgm.BayesianNetwork([x, pgm.CPT.uniform(A, [as_parent])])
    with pytest.raises(TableError, match="'x' is continuous, so it must be a leaf, but it is a parent of 'y'"):
        pgm.BayesianNetwork([pgm.CPT.uniform(A), x, pgm.ConditionalGaussian("y", [0.0, 0.0], 1.0, [as_parent])])
    with pytest.raises(TableError, match="'a', a parent of 'y', has no table"):
        pgm.BayesianNetwork([pgm.CPT.uniform(B), pgm.ConditionalGaussian("y", 0.0, 1.0, [A])])
    with pytest.raises(TableError, match="'x' has two tables"):
        pgm.BayesianNetwork([pgm.CPT.uniform(A), x, x])
    with pytest.raises(TableError, match="at least one table"):
        pgm.BayesianNetwork([x])
    with pytest.raises(TableError, match="'a' has the states"):
        pgm.BayesianNetwork([pgm.CPT.uniform(A), pgm.ConditionalGaussian("y", 0.0, 1.0, [pgm.Variable("a", [1, 2])])])
