"""EM: published numbers, closed forms, and what must hold whatever the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.factors import CPT, Variable
from pgm.graph.dag import DAG
from pgm.learning import UnseenConfigurationWarning, fit_parameters
from pgm.learning.em import fit_em
from pgm.network import BayesianNetwork
from pgm.networks import load
from tests import oracles, strategies
from tests.data.bundled import TRUE_GRAPHS, table


def repeated(columns, counts):
    """Return a data set of rows with a weight as their last number."""
    return Dataset(
        {name: [row[place] for row in counts] for place, name in enumerate(columns)},
        weights=[row[-1] for row in counts],
    )


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenConfigurationWarning)
        return fit_em(*args, **options)


def learning_test_with_holes():
    """Rows 1 to 100 without A, 101 to 200 without B, 1 to 200 without E: the example of bnlearn's documentation."""
    columns = table("learning.test").to_dict()
    columns["A"][:100] = [None] * 100
    columns["B"][100:200] = [None] * 100
    columns["E"][:200] = [None] * 200
    return Dataset(columns)


# ---------------------------------------------------------------------- published numbers


def uniform(net_or_dag, states):
    variables = {name: Variable(name, labels) for name, labels in states.items()}
    cpts = []
    for node in net_or_dag.nodes:
        parents = [variables[name] for name in net_or_dag.parents(node)]
        shape = [variable.cardinality for variable in (*parents, variables[node])]
        cpts.append(CPT(variables[node], np.full(shape, 1 / shape[-1]), parents))
    return BayesianNetwork(cpts)


@pytest.mark.parametrize("start", ["available cases", "random", "uniform", "complete rows"])
def test_bnlearn_example_from_every_start(start):
    data, dag = learning_test_with_holes(), DAG.from_string(TRUE_GRAPHS["learning.test"])
    if start == "uniform":
        start = uniform(dag, {variable.name: variable.states for variable in data.variables})
    if start == "complete rows":
        start = fit_parameters(dag, data.complete_rows())
    result = fit_em(dag, data, start=start)
    assert result.log_likelihood == pytest.approx(-23527.83432168, abs=5e-9)
    net = result.network
    np.testing.assert_allclose(net.cpt("A").values, [0.33473877, 0.33479304, 0.33046819], atol=5e-9)
    np.testing.assert_allclose(net.cpt("B").values[0], [0.85371647, 0.02396693, 0.12231660], atol=5e-8)
    np.testing.assert_allclose(net.cpt("E").values[0, 0], [0.80650836, 0.09498681, 0.09850484], atol=5e-8)
    assert result.converged
    assert result.iterations < 12


def test_libdai_one_step_from_uniform():
    """Twenty complete cases, pseudocount 1: likelihood -27.7259, then -23.4297; libDAI's own regression test."""
    data = repeated(["x0", "x1"], [(0, 1, 9), (0, 0, 1), (1, 1, 3), (1, 0, 7)])
    dag = DAG([("x0", "x1")])
    start = uniform(dag, {"x0": [0, 1], "x1": [0, 1]})
    result = fit_em(dag, data, pseudocount=1, start=start, fixed=["x0"], max_iter=1)
    assert result.log_likelihoods == pytest.approx((-27.7259, -23.4297), abs=5e-5)
    np.testing.assert_allclose(result.network.cpt("x1").values, [[1 / 6, 5 / 6], [2 / 3, 1 / 3]])


MISSING_CHILD = [(0, 0, 6), (0, 1, 2), (0, None, 4), (1, 0, 1), (1, 1, 5), (1, None, 2)]


@pytest.mark.parametrize("start", ["default", "uniform", "lopsided"])
def test_a_missing_child_has_a_closed_form(start):  # pgmpy#2386
    dag = DAG([("X", "Y")])
    x, y = Variable("X", [0, 1]), Variable("Y", [0, 1])
    starts = {
        "default": "available cases",
        "uniform": uniform(dag, {"X": [0, 1], "Y": [0, 1]}),
        "lopsided": BayesianNetwork([CPT(x, [0.1, 0.9]), CPT(y, [[0.5, 0.5], [0.99, 0.01]], [x])]),
    }
    result = fit_em(dag, repeated(["X", "Y"], MISSING_CHILD), start=starts[start])
    np.testing.assert_allclose(result.network.cpt("X").values, [0.6, 0.4], atol=1e-6)
    np.testing.assert_allclose(result.network.cpt("Y").values, [[0.75, 0.25], [1 / 6, 5 / 6]], atol=1e-6)
    assert result.log_likelihood == pytest.approx(-20.662281750333424, abs=1e-9)
    reverse = fit_em(DAG([("Y", "X")]), repeated(["X", "Y"], MISSING_CHILD))
    assert reverse.log_likelihood == pytest.approx(-20.662281750333424, abs=1e-6)


def test_holes_in_a_chain():  # pgmpy#696
    counts = [(0, 0, 0, 4), (0, 1, 1, 2), (1, 1, 1, 5), (1, 0, 0, 1), (0, None, 0, 3), (1, None, 1, 2), (None, 1, 1, 2),
              (0, 1, None, 1)]  # fmt: skip
    result = fit_em(DAG([("A", "B"), ("B", "C")]), repeated("ABC", counts))
    net = result.network
    np.testing.assert_allclose(net.cpt("A").values, [0.53, 0.47], atol=1e-5)
    np.testing.assert_allclose(net.cpt("B").values, [[0.660377358, 0.339622642], [0.106382979, 0.893617021]], atol=1e-5)
    np.testing.assert_allclose(net.cpt("C").values, np.eye(2), atol=1e-5)
    assert result.log_likelihood == pytest.approx(-22.583037650785705, abs=1e-6)


# ---------------------------------------------------------------------- latent variables


LATENT_CLASS = {"000": 3048, "001": 1512, "010": 812, "011": 828, "100": 432, "101": 1008, "110": 308, "111": 2052}
MEASURED_BY_THREE = DAG([("H", "X1"), ("H", "X2"), ("H", "X3")])


def latent_class_rows():
    return repeated(["X1", "X2", "X3"], [(*map(int, cells), count) for cells, count in LATENT_CLASS.items()])


@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_a_latent_class_model_is_recovered_up_to_renaming(acceleration):  # pgmpy#1542
    result = fit_em(MEASURED_BY_THREE, latent_class_rows(), latent={"H": 2}, acceleration=acceleration, rng=5)
    net = result.network
    order = np.argsort(net.cpt("X1").values[:, 1])
    np.testing.assert_allclose(net.cpt("H").values[order], [0.6, 0.4], atol=1e-3)
    for name, expected in {"X1": [0.1, 0.8], "X2": [0.2, 0.7], "X3": [0.3, 0.9]}.items():
        np.testing.assert_allclose(net.cpt(name).values[order, 1], expected, atol=1e-3)
    assert result.log_likelihood == pytest.approx(-18571.43725269702, abs=1e-3)
    assert len(result.start_objectives) == 10
    assert max(result.start_objectives) == result.objectives[-1]
    again = fit_em(MEASURED_BY_THREE, latent_class_rows(), latent={"H": 2}, acceleration=acceleration, rng=5)
    assert again.network == net  # and so are the names of the states


def test_a_start_that_does_not_tell_latent_states_apart_is_disturbed():
    states = {"H": ["a", "b"], "X1": [0, 1], "X2": [0, 1], "X3": [0, 1]}
    start = uniform(MEASURED_BY_THREE, states)
    result = fit_em(MEASURED_BY_THREE, latent_class_rows(), start=start, starts=1)
    assert result.network.variable("H").states == ("a", "b")
    assert result.log_likelihood == pytest.approx(-18571.437, abs=0.05)  # stuck it would be at -20270.2


def test_squarem_needs_fewer_iterations_for_the_same_optimum():
    asia = load("asia")
    data = asia.sample(400, rng=7, missing=0.5)
    plain = quietly(asia, data, pseudocount=0.1)
    fast = quietly(asia, data, pseudocount=0.1, acceleration="squarem")
    assert fast.objectives[-1] == pytest.approx(plain.objectives[-1], abs=1e-4)
    assert fast.iterations < 0.6 * plain.iterations
    assert np.diff(fast.objectives).min() >= -1e-9


def test_number_of_latent_states_by_bic():
    bic = {k: fit_em(MEASURED_BY_THREE, latent_class_rows(), latent={"H": k}, starts=3).bic for k in (1, 2)}
    assert bic[2] > bic[1]
    one = fit_em(MEASURED_BY_THREE, latent_class_rows(), latent={"H": 1})
    assert one.log_likelihood == pytest.approx(-20270.19552031764)
    assert one.n_parameters == 3
    assert one.bic == pytest.approx(one.log_likelihood - 1.5 * np.log(10000))
    assert one.aic == pytest.approx(one.log_likelihood - 3)


def test_partly_labelled_classes_keep_their_names():
    """A column that shows the class in a few rows: its states mean what these rows say."""
    rows = [(*map(int, cells), None, count) for cells, count in LATENT_CLASS.items()]
    rows += [(0, 0, 0, "low", 30), (1, 1, 1, "high", 30), (1, 1, 0, "high", 30)]
    data = repeated(["X1", "X2", "X3", "H"], rows)
    net = fit_em(MEASURED_BY_THREE, data, latent={"H": ["high", "low"]}).network
    assert net.cpt("X1").values[0, 1] > 0.6 > net.cpt("X1").values[1, 1]


TOSSES = ["HTTTHHTHTH", "HHHHTHHHHH", "HTHHHHHTHH", "HTHTTTHHTT", "THHHTHHHTH"]


def two_coins():
    """Five times one of two coins is taken, unseen, and tossed ten times (Do and Batzoglou 2008)."""
    coin, sides = Variable("coin", ["A", "B"]), ["H", "T"]
    names = [f"toss {number}" for number in range(1, 11)]
    start = [CPT(Variable(name, sides), [[0.6, 0.4], [0.5, 0.5]], [coin]) for name in names]
    net = BayesianNetwork([CPT(coin, [0.5, 0.5]), *start])
    return net, names, {name: [row[place] for row in TOSSES] for place, name in enumerate(names)}


def test_two_coins():
    net, names, data = two_coins()
    options = {"start": net, "starts": 1, "fixed": "coin", "shared": [names]}
    one = fit_em(net, data, max_iter=1, **options)
    assert one.network.cpt("toss 7").values[:, 0].round(2).tolist() == [0.71, 0.58]
    ten = fit_em(net, data, max_iter=10, tol=None, **options)
    assert ten.network.cpt("toss 3").values[:, 0].round(2).tolist() == [0.80, 0.52]
    assert (ten.iterations, ten.converged, ten.stopped_by) == (10, False, "max_iter")
    assert ten.n_parameters == 2
    assert ten.network.cpt("coin").values.tolist() == [0.5, 0.5]
    assert all((ten.network.cpt(name).values == ten.network.cpt("toss 1").values).all() for name in names)
    hard = fit_em(net, data, hard=True, **options)  # runs 1 and 4 are coin B's: 9 of 20; A has 24 of 30
    np.testing.assert_allclose(hard.network.cpt("toss 1").values[:, 0], [0.8, 0.45])


# ---------------------------------------------------------------------- what always holds


@st.composite
def incomplete_rows(draw):
    net = draw(strategies.networks(max_variables=5))
    data = net.sample(
        draw(st.integers(1, 40)), rng=draw(st.integers(0, 1000)), missing=draw(st.sampled_from([0.2, 0.6]))
    )
    hidden = draw(st.sets(st.sampled_from(net.names), max_size=max(0, min(2, len(net.names) - 1))))
    data = data.select([name for name in data.names if name not in hidden])
    assume(any(count < data.n_rows for count in data.n_missing.values()))  # rows that know nothing are refused
    return net, data


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(incomplete_rows(), st.sampled_from([0.0, 0.5]), st.sampled_from([None, "squarem"]), st.booleans())
def test_the_objective_never_falls(case, pseudocount, acceleration, hard):
    net, data = case
    options = {"pseudocount": pseudocount, "acceleration": acceleration, "hard": hard}
    result = quietly(net, data, starts=2, max_iter=30, tol=None, **options)
    assert np.diff(result.objectives).min(initial=0.0) >= -1e-9
    assert np.diff(result.log_likelihoods).min(initial=0.0) >= -1e-9 or pseudocount
    assert len(result.log_likelihoods) == len(result.objectives)
    assert len(result.q_values) == result.iterations
    if acceleration is None:
        assert len(result.objectives) == result.iterations + 1


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(incomplete_rows())
def test_the_log_likelihood_is_that_of_the_network(case):
    net, data = case
    result = quietly(net, data, starts=1, max_iter=5)
    columns = data.to_dict()
    total = 0.0
    for row in range(data.n_rows):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        total += np.log(oracles.probability(result.network, evidence))
    assert result.log_likelihood == pytest.approx(total, abs=1e-8)
    assert result.log_likelihood == pytest.approx(result.network.log_likelihood(data).sum(), abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(strategies.networks(max_variables=5), st.integers(0, 1000), st.sampled_from([0.0, 1.0]))
def test_complete_data_give_maximum_likelihood_at_once(net, seed, pseudocount):
    data = net.sample(30, rng=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenConfigurationWarning)
        exact = fit_parameters(net, data, pseudocount=pseudocount)
        result = fit_em(net, data, pseudocount=pseudocount)
    for cpt in exact.cpts:
        np.testing.assert_allclose(result.network.cpt(cpt.child.name).values, cpt.values, atol=1e-12)
    assert result.iterations <= 2


def test_priors_are_those_of_fit_parameters():
    data = table("learning.test").head(300)
    dag = DAG.from_string(TRUE_GRAPHS["learning.test"])
    prior = fit_parameters(dag, table("learning.test"), pseudocount=1)
    for options in (
        {"equivalent_sample_size": 10},
        {"prior": prior, "prior_weight": 20},
        {"pseudocount": {"A": {"a": 1, "b": 2, "c": 3}}},
        {"pseudocount": 2, "estimate": "mode"},
    ):
        exact, found = quietly_fit(dag, data, options), quietly(dag, data, **options)
        for cpt in exact.cpts:
            np.testing.assert_allclose(found.network.cpt(cpt.child.name).values, cpt.values, atol=1e-12)


def quietly_fit(dag, data, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenConfigurationWarning)
        return fit_parameters(dag, data, **options)


def test_weights_are_repetitions():
    asia = load("asia")
    data = asia.sample(50, rng=2, missing=0.3)
    counts = np.random.default_rng(0).integers(0, 4, 50)
    weighted = quietly(asia, Dataset(data, weights=counts))
    repeated_rows = quietly(asia, data.take(np.repeat(np.arange(50), counts)))
    assert weighted.log_likelihood == pytest.approx(repeated_rows.log_likelihood)
    for cpt in repeated_rows.network.cpts:
        np.testing.assert_allclose(weighted.network.cpt(cpt.child.name).values, cpt.values, atol=1e-9)


def test_order_of_columns_and_rows_does_not_matter():
    dag, data = DAG.from_string(TRUE_GRAPHS["learning.test"]), learning_test_with_holes()
    first = fit_em(dag, data).network
    shuffled = data.select(["F", "E", "D", "C", "B", "A"]).take(np.random.default_rng(0).permutation(data.n_rows))
    other = fit_em(dag, shuffled).network
    for cpt in first.cpts:
        np.testing.assert_allclose(other.cpt(cpt.child.name).values, cpt.values, atol=1e-9)
