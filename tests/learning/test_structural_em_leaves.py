"""Structural EM with continuous leaves: completed rows against enumeration, and graphs that are known to come out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import DataError, GraphError, TooLargeError
from pgm.learning import AIC, BIC, EBIC, LogLikelihood
from pgm.learning.em.completed import completed
from pgm.learning.em.incomplete import incomplete_data
from pgm.learning.em.leaf_families import LeafScores, best_parents

A, B, C = (pgm.Variable(name, states) for name, states in (("a", [0, 1]), ("b", [0, 1, 2]), ("c", ["n", "y"])))
LEAVES = ["x", "y", "z"]


def network(seed: int = 0) -> pgm.BayesianNetwork:
    """Return a -> b and c by itself, with x below b and c, y below a, and z below nothing."""
    rng = np.random.default_rng(seed)
    return pgm.BayesianNetwork(
        [
            pgm.CPT(A, [0.4, 0.6]),
            pgm.CPT(B, [[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]], [A]),
            pgm.CPT(C, [0.5, 0.5]),
            pgm.ConditionalGaussian("x", [[0, 3], [2, 6], [5, -2]], rng.uniform(0.5, 1.5, (3, 2)), [B, C]),
            pgm.ConditionalGaussian("y", [0.0, 1.5], 1.0, [A]),
            pgm.ConditionalGaussian("z", 0.0, 1.0),
        ]
    )


def density(value: float, mean: float, variance: float) -> float:
    return math.exp(-((value - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def completions(net: pgm.BayesianNetwork, row: dict) -> dict[tuple, float]:
    """Return the posterior of every joint state of a, b, c in one row, by multiplying what the network holds."""
    joint = {}
    for a, b, c in itertools.product(range(2), range(3), range(2)):
        labels = {"a": A.states[a], "b": B.states[b], "c": C.states[c]}
        fits = all(row[name] is None or row[name] == label for name, label in labels.items())
        p = net.cpt("a").values[a] * net.cpt("b").values[a, b] * net.cpt("c").values[c] * fits
        for leaf, place in (("x", (b, c)), ("y", (a,)), ("z", ())):
            if row[leaf] is not None:
                gaussian = net.gaussians[leaf]
                p *= density(row[leaf], gaussian.means[place], gaussian.variances[place])
        joint[a, b, c] = p
    total = sum(joint.values())
    return {states: p / total for states, p in joint.items()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 0.8]), st.booleans(), st.sets(st.sampled_from("abc")))
def test_expected_moments_are_the_enumerated_ones(seed, holes, weighted, parents):
    net = network(seed)
    data = net.sample(12, rng=seed, missing=holes)
    weights = np.random.default_rng(seed).integers(0, 3, 12) + 0.5 if weighted else np.ones(12)
    if weighted:
        numbers = {name: data.numbers(name) for name in LEAVES}
        data = Dataset.from_codes(data.variables, [data.codes(name) for name in data.names], weights, numbers)
    rows = completed(incomplete_data(pgm.DAG([("a", "b")], ["a", "b", "c"]), data, leaves=LEAVES), net)
    assert rows.total_weight == pytest.approx(weights.sum())

    names = [name for name in "abc" if name in parents]
    moments: dict[tuple, np.ndarray] = {}
    columns = data.to_dict()
    for place in range(12):
        row = {name: column[place] for name, column in columns.items()}
        if row["x"] is None:
            continue
        for states, p in completions(net, row).items():
            key = tuple(state for name, state in zip("abc", states, strict=True) if name in parents)
            x = row["x"]
            moments[key] = moments.get(key, np.zeros(3)) + weights[place] * p * np.array([1.0, x, x * x])
    if not moments:
        return
    seen = ~np.isnan(rows.numbers("x"))
    for key, expected in moments.items():
        mask = seen.copy()
        for name, state in zip(names, key, strict=True):
            mask &= rows.codes(name) == state
        own, x = rows.weights[mask], rows.numbers("x")[mask]
        assert [own.sum(), own @ x, own @ x**2] == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-12)

    floor, total = 0.01, weights.sum()
    likelihood = 0.0
    for n, first, second in moments.values():
        if n > 1e-12:
            spread = max(second / n - (first / n) ** 2, 0.0)
            variance = max(spread, floor)
            likelihood += -0.5 * n * (math.log(2 * math.pi * variance) + spread / variance)
    k = 2 * math.prod(v.cardinality for v in (A, B, C) if v.name in parents)
    ebic = 4 * 0.5 * len(parents) * math.log(6)
    penalties = {LogLikelihood(): 0.0, AIC(): k, BIC(): k / 2 * math.log(total)}
    for score, penalty in {**penalties, EBIC(): k / 2 * math.log(total) + ebic}.items():
        found = LeafScores(rows, "x", score, 6, floor).of(names)
        assert found == pytest.approx(likelihood - penalty, rel=1e-6, abs=1e-6)


TRUE = pgm.DAG([("a", "b"), ("b", "x"), ("c", "x"), ("a", "y")], ["a", "b", "c", "x", "y", "z"])


@pytest.mark.parametrize("completion", ["expected", "most probable"])
@pytest.mark.parametrize("holes", [0.0, 0.2, 0.4])
def test_the_true_graph_comes_out(holes, completion):
    found = pgm.structural_em(network().sample(1000, rng=3, missing=holes), completion=completion)
    assert found.converged
    assert found.dag == TRUE
    assert found.network.dag == TRUE
    assert set(found.network.gaussians) == set(LEAVES)
    assert found.network.gaussians["y"].means.tolist() == pytest.approx([0.0, 1.5], abs=0.3)


def test_complete_data_give_the_search_and_the_best_leaves():
    data = network().sample(400, rng=5)
    found = pgm.structural_em(data)
    assert found.dag.subgraph(["a", "b", "c"]) == pgm.hill_climb(data.select(["a", "b", "c"])).dag
    assert found.score == pytest.approx(pgm.score(found.dag, data, "bic"))
    for leaf in LEAVES:  # with so few variables every parent set can be tried
        scores = {}
        for size in range(4):
            for parents in itertools.combinations("abc", size):
                graph = pgm.DAG([(parent, leaf) for parent in parents], ["a", "b", "c", leaf])
                scores[parents] = pgm.score(graph, data.select(["a", "b", "c", leaf]), "bic")
        assert max(scores, key=scores.__getitem__) == found.dag.parents(leaf)


def n_parameters(dag: pgm.DAG) -> int:
    sizes = {"a": 2, "b": 3, "c": 2}
    rows = {node: math.prod(sizes[parent] for parent in dag.parents(node)) for node in dag.nodes}
    return sum(n * (sizes[node] - 1 if node in sizes else 2) for node, n in rows.items())


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.5]))
def test_the_penalised_likelihood_never_falls(seed, holes):
    data = network(seed).sample(80, rng=seed, missing=holes)
    found = pgm.structural_em(data, em_options={"pseudocount": 1e-4, "min_variance": 0.05, "tol": 1e-8})
    graphs = [pgm.DAG([], TRUE.nodes), *(step.dag for step in found.trace)]
    penalised = [
        step.log_likelihood - 0.5 * n_parameters(graph) * math.log(80)
        for step, graph in zip(found.trace, graphs, strict=False)
    ]
    assert np.diff(penalised).min(initial=0.0) >= -0.05  # the tables have a small prior
    assert all(step.gain > 0 for step in found.trace[:-1])


def test_a_latent_class_gets_its_leaves():
    rng = np.random.default_rng(2)
    k = rng.integers(0, 2, 600)
    data = Dataset(
        {"u": 4.0 * k + rng.normal(size=600), "v": -3.0 * k + rng.normal(size=600), "w": rng.normal(size=600)},
        continuous=["u", "v", "w"],
    )
    found = pgm.structural_em(data, latent={"k": 2}, em_options={"starts": 5}, rng=1)
    assert found.dag.edges == (("k", "u"), ("k", "v"))
    assert found.dag.nodes == ("u", "v", "w", "k")
    truth = np.array([found.network.predict(data, "k")]).ravel()
    assert max((truth == k).mean(), (truth != k).mean()) > 0.97


def test_constraints_concern_leaves_as_well():
    data = network().sample(500, rng=7, missing=0.1)
    found = pgm.structural_em(data, required=iter([("c", "z")]), forbidden=[("a", "y")], max_parents=1)
    assert found.dag.has_edge("c", "z")
    assert not found.dag.has_edge("a", "y")
    assert max(len(found.dag.parents(node)) for node in found.dag.nodes) == 1
    tiers = pgm.structural_em(data, tiers=[["x"], ["a", "b", "c"]])
    assert tiers.dag.parents("x") == ()
    assert tiers.dag.parents("y") == ("a",)


def test_a_network_to_start_from_says_which_columns_are_continuous():
    net = network()
    data = net.sample(300, rng=9, missing=0.1)
    columns = data.to_dict()
    found = pgm.structural_em(columns, start=net)
    assert found.dag == pgm.structural_em(data, start=net).dag == TRUE
    assert len(found.trace) == 1


def test_parents_of_a_leaf_are_added_and_left_out():
    data = network().sample(800, rng=1)
    scores = LeafScores(data, "x", BIC(), 6, 1e-3)
    assert best_parents(scores, [], ["a", "b", "c"]) == ("b", "c")
    assert best_parents(scores, ["a", "b", "c"], ["c", "b", "a"]) == ("c", "b")
    assert best_parents(scores, ["a"], ["a", "b", "c"], required=["a"], max_parents=2) == ("a", "c")
    assert best_parents(scores, [], ["a"], max_parents=0) == ()


def test_what_is_refused():
    data = network().sample(50, rng=0, missing=0.3)
    with pytest.raises(DataError, match=r"'x', 'y', 'z' are continuous, and score 'bdeu' only for counts"):
        pgm.structural_em(data, "bdeu")
    with pytest.raises(GraphError, match="'x' is continuous, so it must be a leaf: x -> a cannot be required"):
        pgm.structural_em(data, required=[("x", "a")])
    with pytest.raises(GraphError, match="'x' is continuous, so it must be a leaf, but it is a parent of 'a'"):
        pgm.structural_em(data, start=pgm.DAG([("x", "a")]))
    with pytest.raises(DataError, match="their parents discrete: there are none"):
        pgm.structural_em(data.select(LEAVES))
    problem = incomplete_data(pgm.DAG([], ["a", "b", "c"]), data, leaves=LEAVES)
    with pytest.raises(TooLargeError, match=r"completions of 6 columns; .* 100 cells at most: .*'most probable'"):
        completed(problem, network(), most_cells=100)
