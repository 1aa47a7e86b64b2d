"""EM at its limits: large tables, many states, little memory, and nothing to learn from."""

from __future__ import annotations

import time
import tracemalloc
from itertools import product

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.data.counts import FamilyCounter
from pgm.errors import DataError, TooLargeError
from pgm.factors import CPT, Variable
from pgm.graph.dag import DAG
from pgm.inference import hidden_parts
from pgm.inference.hidden_parts import complete_cases
from pgm.learning import fit_parameters
from pgm.learning.em import fit_em, structural_em
from pgm.learning.em.incomplete import incomplete_data
from pgm.network import BayesianNetwork


def many_parents(k, n_rows=60, holes=()):
    """Return a child of k binary parents, and rows."""
    rng = np.random.default_rng(k)
    names = [*(f"P{number}" for number in range(k)), "Y"]
    columns = {name: rng.integers(0, 2, n_rows).tolist() for name in names}
    for row, name in enumerate(holes):
        columns[name][row] = None
    variables = [Variable(name, [0, 1]) for name in names]
    return DAG([(name, "Y") for name in names[:-1]]), Dataset(columns, variables=variables)


# ---------------------------------------------------------------------- counting families that are known whole


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limit", [0, 1 << 16])
def test_complete_cases(limit, weighted, monkeypatch):
    monkeypatch.setattr(hidden_parts, "_MARKED_CELLS", limit)
    rng = np.random.default_rng(3)
    cardinalities = [2, 3, 1, 4]
    columns = [rng.integers(0, r + 1, 200).astype(np.uint8) for r in cardinalities]
    weights = rng.choice([0.0, 0.5, 2.0], 200) if weighted else None
    counter = FamilyCounter(columns, [r + 1 for r in cardinalities], weights)
    for scope in ([0], [3, 1], [2, 0, 1], [0, 1, 2, 3]):
        expected = dict.fromkeys(product(*(range(cardinalities[v]) for v in scope)), 0.0)
        for row in range(200):
            cell = tuple(int(columns[v][row]) for v in scope)
            if cell in expected:
                expected[cell] += 1.0 if weights is None else weights[row]
        found = complete_cases(counter, scope)
        assert found.shape == tuple(cardinalities[v] for v in scope)
        assert found.ravel().tolist() == list(expected.values())


@pytest.mark.filterwarnings("ignore:no rows for")
def test_many_parents_take_the_memory_of_their_table():
    """Seventeen binary parents: 2^18 cells of 8 bytes, not 3^18."""
    dag, data = many_parents(17, holes=["P3", "Y", *(f"P{number}" for number in range(17))])
    tracemalloc.start()
    result = fit_em(dag, data, max_iter=3, tol=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 8 * 2**18 + 2**20
    assert result.iterations == 3


@pytest.mark.filterwarnings("ignore:no rows for")
def test_many_parents_of_complete_rows_are_fitted_as_by_counting():
    dag, data = many_parents(14)
    exact = fit_parameters(dag, data)
    found = fit_em(dag, data).network
    assert all(np.allclose(found.cpt(cpt.child.name).values, cpt.values, atol=1e-12) for cpt in exact.cpts)


@pytest.mark.parametrize("k", [27, 40, 70])
def test_tables_that_are_too_large_are_refused_before_anything_is_counted(k):
    dag, data = many_parents(k, holes=["Y"])
    tracemalloc.start()
    for learn in (lambda: fit_em(dag, data), lambda: structural_em(data, start=dag)):
        with pytest.raises(TooLargeError, match=rf"'Y' and its {k} parents"):
            learn()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_the_memory_budget_is_that_of_all_tables():
    dag, data = many_parents(10, holes=["Y"])
    with pytest.raises(TooLargeError, match=r"2,048 cells.*EM works on 16 tables.*memory_budget is 50 kB"):
        fit_em(dag, data, memory_budget=50_000)
    apart = DAG([(f"P{number}", f"P{number + 1}") for number in range(9)], nodes=data.names)
    with pytest.raises(TooLargeError, match="tables of 11 nodes"):
        fit_em(apart, data, memory_budget=16 * 8 * 20)
    assert fit_em(apart, data, memory_budget=16 * 8 * 60, pseudocount=1).converged


# ---------------------------------------------------------------------- latent variables of many states

MEASURED = DAG([("H", "x"), ("H", "y")])
ROWS = {"x": [0, 1, 1, 0, 1], "y": [0, 1, 0, 1, 1]}


@pytest.mark.parametrize(("states", "options"), [
    (10**9, {}), (10**30, {}), (5 * 10**6, {"memory_budget": 10**6}), (2, {"memory_budget": 10}),
    (10**6, {}), (range(10**9), {}), (1001, {}), (range(2), {"memory_budget": 10}),
])  # fmt: skip
def test_too_many_latent_states_are_refused_at_once(states, options):
    before = time.perf_counter()
    with pytest.raises(TooLargeError, match="latent 'H' with"):
        fit_em(MEASURED, ROWS, latent={"H": states}, **options)
    with pytest.raises(TooLargeError, match="latent 'H' with"):
        structural_em(ROWS, latent={"H": states}, **options)
    assert time.perf_counter() - before < 1


def test_a_latent_variable_may_have_as_many_states_as_rows_or_labels_of_a_column():
    fit_em(MEASURED, ROWS, latent={"H": 1000}, starts=1, max_iter=1)
    weighted = Dataset(ROWS, weights=[500] * 5)
    fit_em(MEASURED, weighted, latent={"H": 2500}, starts=1, max_iter=1)
    with pytest.raises(TooLargeError, match=r"latent 'H' with 2,501 states: 2500 rows .*; the limit is 2,500"):
        fit_em(MEASURED, weighted, latent={"H": 2501}, starts=1, max_iter=1)
    shown = {**ROWS, "H": [0, None, 4999, None, None]}
    assert fit_em(MEASURED, shown, latent={"H": range(5000)}, max_iter=1).network.variable("H").cardinality == 5000
    with pytest.raises(TooLargeError, match="latent 'H' with 5,000 states"):
        fit_em(MEASURED, ROWS, latent={"H": Variable("H", range(5000))})


@pytest.mark.parametrize("budget", [-1, 0, "much", True, None])
def test_a_memory_budget_is_a_positive_number(budget):
    with pytest.raises(DataError, match="memory_budget is a positive number"):
        fit_em(MEASURED, ROWS, latent={"H": 2}, memory_budget=budget)
    with pytest.raises(DataError, match="memory_budget is a positive number"):
        structural_em(ROWS, memory_budget=budget)


def test_numbers_of_numpy_are_numbers():
    counts = {"max_iter": np.int64(5), "starts": np.int16(3)}
    result = fit_em(MEASURED, ROWS, latent={"H": np.int64(2)}, **counts)
    again = fit_em(MEASURED, ROWS, latent={"H": 2}, max_iter=5, starts=3)
    assert result.network == again.network
    assert result.network.variable("H").states == (0, 1)
    assert len(structural_em(ROWS, latent={"H": np.uint8(2)}, max_iter=np.int64(1)).trace) == 1
    for bad in (np.int64(0), np.bool_(True), 2.0):
        with pytest.raises(DataError, match="whole number from 1"):
            fit_em(MEASURED, ROWS, latent={"H": 2}, starts=bad)


# ---------------------------------------------------------------------- nothing known


def test_rows_that_know_nothing_are_refused():
    empty = Dataset({"x": [None, None], "y": [None, None]}, states={"x": [0, 1], "y": [0, 1]})
    with pytest.raises(DataError, match="all cells of 'x', 'y' are missing"):
        fit_em(MEASURED, empty, latent={"H": 2})
    weighted = Dataset({"x": [0, None], "y": [None, None]}, states={"x": [0, 1], "y": [0, 1]}, weights=[0, 1])
    with pytest.raises(DataError, match="all cells"):
        fit_em(MEASURED, weighted, latent={"H": 2})


def test_a_column_that_shows_nothing_is_latent():
    shown = Dataset({"H": [None] * 5, **ROWS}, states={"H": [0, 1]})
    problem = incomplete_data(MEASURED, shown)
    assert problem.hidden == ("H",)
    result = fit_em(MEASURED, shown)
    assert len(result.start_objectives) == 10
    assert result.network == fit_em(MEASURED, ROWS, latent={"H": 2}).network
    ignored = Dataset({"H": [None] * 5 + [1], "x": [*ROWS["x"], 0], "y": [*ROWS["y"], 0]}, weights=[1] * 5 + [0])
    assert incomplete_data(MEASURED, ignored, {"H": 2}).hidden == ("H",)


# ---------------------------------------------------------------------- starts that are given

CLASSES = DAG([("H", f"X{number}") for number in range(4)])


def three_classes():
    """Return a network with three well separated classes, and rows of it without the class."""
    top = Variable("H", ["a", "b", "c"])
    ones = np.array([[0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.1], [0.1, 0.1, 0.1, 0.9]])
    children = [
        CPT(Variable(f"X{number}", [0, 1]), np.stack([1 - ones[:, number], ones[:, number]], axis=1), [top])
        for number in range(4)
    ]
    net = BayesianNetwork([CPT(top, [0.4, 0.3, 0.3]), *children])
    return net, net.sample(3000, rng=1).select([f"X{number}" for number in range(4)])


def with_classes(net, tables, prior=(0.4, 0.3, 0.3)):
    top = net.variable("H")
    made = [CPT(net.variable(f"X{number}"), table, [top]) for number, table in enumerate(tables)]
    return BayesianNetwork([CPT(top, prior), *made])


def test_two_of_three_states_alike_do_not_stay_so():
    net, data = three_classes()
    tables = [net.cpt(f"X{number}").values.copy() for number in range(4)]
    for table in tables:
        table[1] = table[0]
    start = with_classes(net, tables, prior=(0.25, 0.25, 0.5))  # halves round alike: nothing else tells them apart
    result = fit_em(net, data, start=start, starts=1)
    true = fit_em(net, data, start=net, starts=1)
    assert result.log_likelihood == pytest.approx(true.log_likelihood, abs=0.5)
    found = result.network.cpt("X1").values
    assert abs(found[0, 0] - found[1, 0]) > 0.3


def test_a_start_that_tells_states_apart_is_used_as_it_is():
    net, data = three_classes()
    tables = [np.full((3, 2), 0.5) for _ in range(4)]
    tables[2] = np.array([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])  # one child is enough
    for start in (net, with_classes(net, tables)):
        results = [fit_em(net, data, start=start, starts=1, max_iter=1, rng=rng) for rng in (0, 1)]
        assert results[0].log_likelihoods[0] == pytest.approx(start.log_likelihood(data).sum(), abs=1e-8)
        assert results[0].network == results[1].network


@pytest.mark.filterwarnings("ignore:no rows for")
def test_only_the_states_that_are_alike_are_disturbed():
    net, data = three_classes()
    tables = [net.cpt(f"X{number}").values.copy() for number in range(4)]
    for table in tables:
        table[1] = table[0]
    start = with_classes(net, tables, prior=(0.0, 0.0, 1.0))  # only the third state, which nothing disturbs, matters
    result = fit_em(net, data, start=start, starts=1, max_iter=1)
    assert result.log_likelihoods[0] == pytest.approx(start.log_likelihood(data).sum(), abs=1e-8)


def test_a_latent_variable_of_one_state_is_not_disturbed():
    top, x, y = Variable("H", ["only"]), Variable("x", [0, 1]), Variable("y", [0, 1])
    start = BayesianNetwork([CPT(top, [1.0]), CPT(x, [[0.2, 0.8]], [top]), CPT(y, [[0.7, 0.3]], [top])])
    result = fit_em(MEASURED, ROWS, latent={"H": ["only"]}, start=start, starts=1, max_iter=1)
    # x is 1 in three rows of five, y too
    expected = 2 * np.log(0.2) + 3 * np.log(0.8) + 2 * np.log(0.7) + 3 * np.log(0.3)
    assert result.log_likelihoods[0] == pytest.approx(expected, abs=1e-12)


def test_states_told_apart_by_a_parent_or_a_fixed_table_are_told_apart():
    cause, top, x = Variable("C", [0, 1]), Variable("H", [0, 1]), Variable("x", [0, 1])
    alike = np.array([[0.3, 0.7], [0.3, 0.7]])
    start = BayesianNetwork([CPT(cause, [0.5, 0.5]), CPT(top, [[0.9, 0.1], [0.2, 0.8]], [cause]), CPT(x, alike, [top])])
    data = {"C": [0, 0, 1, 1, 1, 0], "x": [0, 1, 1, 1, 0, 0]}
    result = fit_em(start.dag, data, start=start, starts=1, max_iter=1)
    assert result.log_likelihoods[0] == pytest.approx(6 * np.log(0.5) + 3 * np.log(0.3) + 3 * np.log(0.7), abs=1e-12)
    y = Variable("y", [0, 1])
    fixed = BayesianNetwork([CPT(top, [0.5, 0.5]), CPT(x, [[0.9, 0.1], [0.2, 0.8]], [top]), CPT(y, alike, [top])])
    kept = fit_em(fixed, ROWS, start=fixed, starts=1, fixed=["x"], max_iter=1)
    columns = {name: ROWS[name] for name in ("x", "y")}
    assert kept.log_likelihoods[0] == pytest.approx(fixed.log_likelihood(Dataset(columns)).sum(), abs=1e-12)


# ---------------------------------------------------------------------- stopping


@pytest.mark.parametrize("criterion", ["tol", "parameter_tol", "q_tol"])
def test_a_tolerance_of_zero_stops_where_nothing_moves(criterion):
    options = {"tol": None, criterion: 0}
    result = fit_em(DAG([("x", "y")]), ROWS, max_iter=50, **options)
    assert result.converged
    assert result.iterations <= 3


def test_the_objective_falls_by_rounding_only():
    """Weights of ten million rows: a step may lose some 1e-16 of an objective of a billion."""
    rng = np.random.default_rng(0)
    columns = {name: [label if rng.random() > 0.3 else None for label in rng.integers(0, 2, 40)] for name in "abc"}
    data = Dataset(columns, weights=rng.uniform(1e6, 5e7, 40))
    result = fit_em(DAG([("a", "b"), ("b", "c")]), data, pseudocount=1, max_iter=200, tol=None)
    assert abs(result.objectives[-1]) > 1e8
    assert np.diff(result.objectives).min() >= -1e-14 * abs(result.objectives[-1])
