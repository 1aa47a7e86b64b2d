"""Structural EM: what is known to come out, and the counts of completed data against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgm.data import Dataset, count_source
from pgm.errors import DataError, GraphError, ImpossibleEvidenceError, UnknownNameError
from pgm.factors import CPT, Variable
from pgm.graph.dag import DAG
from pgm.inference import expected_counts
from pgm.learning import BDeu, fit_parameters, hill_climb, score
from pgm.learning.em import fit_em, structural_em
from pgm.learning.em.completed import ExpectedFamilies, completed
from pgm.learning.em.incomplete import incomplete_data
from pgm.network import BayesianNetwork
from pgm.networks import load
from tests import oracles, strategies
from tests.data.bundled import TRUE_GRAPHS, table
from tests.learning.test_em import learning_test_with_holes

TRUE = DAG.from_string(TRUE_GRAPHS["learning.test"])


def with_holes(data, fraction, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        name: [label if hole >= fraction else None for label, hole in zip(column, rng.random(len(column)), strict=True)]
        for name, column in data.to_dict().items()
    }
    return Dataset(columns, variables=data.variables)


@pytest.mark.parametrize(
    "search", ["hill_climb", "tabu_search", "order_search", "exact_search", "ges", "learn_structure", hill_climb]
)
def test_every_search_finds_the_true_class_from_bnlearns_example(search):
    result = structural_em(learning_test_with_holes(), search=search)
    assert result.dag.cpdag() == TRUE.cpdag()
    assert result.converged
    assert result.em.log_likelihood == pytest.approx(-23527.83432168, abs=1e-6)
    assert result.network.dag == result.dag


@pytest.mark.parametrize("completion", ["expected", "most probable"])
def test_a_tenth_of_all_cells_missing(completion):
    data = with_holes(table("learning.test"), 0.1)
    assert structural_em(data, completion=completion).dag.cpdag() == TRUE.cpdag()


def test_a_latent_variable_gets_its_edges_back():
    """A of learning.test never observed, two of its edges required: at least as good as what bnlearn ends with."""
    names = [name for name in table("learning.test").names if name != "A"]
    data = table("learning.test").select(names)
    result = structural_em(data, latent={"A": ["a", "b", "c"]}, required=[("A", "B"), ("A", "D")])
    theirs = DAG.from_string("[A][F][B|A][C|A][D|A:C][E|B:F]")
    fitted = fit_em(theirs, data, latent={"A": ["a", "b", "c"]}, starts=3, acceleration="squarem")
    assert fitted.bic == pytest.approx(-21246.3644, abs=1e-3)
    assert result.em.bic >= fitted.bic - 1e-3
    assert {("A", "B"), ("A", "D")} <= set(result.dag.edges)
    assert result.network.variable("A").states == ("a", "b", "c")


def test_complete_data_give_what_the_search_gives():
    data = table("learning.test")
    result = structural_em(data)
    assert result.dag == hill_climb(data).dag
    assert result.score == pytest.approx(hill_climb(data).score)
    exact = fit_parameters(result.dag, data)
    for cpt in exact.cpts:
        np.testing.assert_allclose(result.network.cpt(cpt.child.name).values, cpt.values, atol=1e-12)


def test_the_penalised_likelihood_never_falls():
    asia = load("asia")
    data = asia.sample(300, rng=4, missing=0.3)
    result = structural_em(data, em_options={"pseudocount": 0.01})
    penalised = [
        step.log_likelihood - 0.5 * parameters(before, data) * np.log(300)
        for step, before in zip(result.trace, [DAG([], data.names), *(s.dag for s in result.trace)], strict=False)
    ]
    assert len(penalised) > 1
    assert np.diff(penalised).min() >= -1e-3  # the tables have a small prior
    assert all(step.gain > 0 for step in result.trace[:-1])
    assert result.trace[-1].gain <= 1e-6
    assert "gain" in str(result)
    assert "converged" in repr(result)


def parameters(dag, data):
    sizes = {variable.name: variable.cardinality for variable in data.variables}
    return sum((sizes[node] - 1) * int(np.prod([sizes[parent] for parent in dag.parents(node)])) for node in dag.nodes)


def test_constraints_are_kept():
    data = learning_test_with_holes()
    result = structural_em(data, required=[("F", "A")], forbidden=[("A", "B"), ("B", "A")], max_parents=2)
    assert result.dag.has_edge("F", "A")
    assert not {("A", "B"), ("B", "A")} & set(result.dag.edges)
    assert max(len(result.dag.parents(node)) for node in result.dag.nodes) <= 2
    tiers = structural_em(data, tiers=[["E"], ["A", "B", "C", "D", "F"]])
    assert not tiers.dag.parents("E")
    with pytest.raises(GraphError, match="both required and forbidden"):
        structural_em(data, required=[("A", "B")], forbidden=[("A", "B")])


def test_start_and_scores():
    data = learning_test_with_holes()
    for start in (TRUE, fit_parameters(TRUE, data.complete_rows())):
        result = structural_em(data, BDeu(10), start=start)
        assert result.dag.cpdag() == TRUE.cpdag()
        assert len(result.trace) == 1
    stopped = structural_em(data, max_iter=1)
    assert not stopped.converged
    assert "not converged" in repr(stopped)


def test_the_graph_of_the_last_search_is_returned():
    data = {
        "a": [0, 0, 1, 1, None, 1, 0] * 10,
        "b": [0, 0, 1, 1, 0, None, 1] * 10,
        "c": [0, 1, 0, 1, 0, 1, 0] * 10,
    }
    whole = structural_em(data)
    assert whole.converged
    for number, step in enumerate(whole.trace[:-1], start=1):
        stopped = structural_em(data, max_iter=number)
        assert not stopped.converged
        assert len(stopped.trace) == number
        assert stopped.dag == stopped.network.dag == step.dag
        assert stopped.em.log_likelihood == pytest.approx(whole.trace[number].log_likelihood)
        problem = incomplete_data(stopped.dag, data)
        assert stopped.score == pytest.approx(score(stopped.dag, completed(problem, stopped.network)))
    last = structural_em(data, max_iter=len(whole.trace))
    assert last.converged
    assert (last.dag, last.score) == (whole.dag, whole.score)


@st.composite
def completed_cases(draw):
    net = draw(strategies.networks(max_variables=4))
    data = net.sample(
        draw(st.integers(1, 10)), rng=draw(st.integers(0, 1000)), missing=draw(st.sampled_from([0.3, 0.8]))
    )
    if draw(st.booleans()):
        data = Dataset(
            data, weights=draw(st.lists(st.sampled_from([0, 0.5, 2]), min_size=len(data), max_size=len(data)))
        )
    scope = draw(st.lists(st.sampled_from(net.names), min_size=1, max_size=3, unique=True))
    return net, data, scope


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(completed_cases())
def test_expected_counts_of_any_family(case):
    net, data, scope = case
    if not data.total_weight:
        return
    expected = np.zeros([net.variable(name).cardinality for name in scope])
    columns = data.to_dict()
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    for row, weight in enumerate(weights):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        expected += weight * np.reshape(oracles.posterior(net, scope, evidence), expected.shape)
    problem = incomplete_data(net.dag, data, nets=[net])
    for source in (
        completed(problem, net),
        completed(problem, net, most_cells=0),
        count_source(ExpectedFamilies(problem, net)),
    ):
        (found,) = source.count([(scope[-1], scope[:-1])])
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert source.total_weight == pytest.approx(data.total_weight)


def test_both_kinds_of_completed_data_score_and_search_alike():
    data = with_holes(table("learning.test").head(400), 0.2)
    net = fit_em(TRUE, data, pseudocount=1).network
    problem = incomplete_data(TRUE, data)
    written, asked = completed(problem, net), completed(problem, net, most_cells=0)
    assert isinstance(written, Dataset)
    assert not isinstance(asked, Dataset)
    assert score(TRUE, asked) == pytest.approx(score(TRUE, written))
    first, second = hill_climb(written), hill_climb(asked)
    assert first.dag == second.dag
    assert first.score == pytest.approx(second.score)


def test_impossible_rows_are_refused():
    a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    net = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [[1, 0], [0, 1]], [a])])
    problem = incomplete_data(net.dag, {"a": [0, 0, None], "b": [0, 1, 1]}, nets=[net])
    for options in ({}, {"most_cells": 0}, {"completion": "most probable"}):
        with pytest.raises(ImpossibleEvidenceError, match="row"):
            completed(problem, net, **options).count([("b", ["a"])])


@pytest.mark.parametrize("contracted", [False, True])
def test_expected_families_of_rows_too_improbable_for_floating_point(contracted, monkeypatch):
    """Sixty children of one hidden variable, each in a state of probability 1e-9: exact all the same."""
    if contracted:
        for name, value in {"_FEW_FACTORS": -1, "_CHEAP_FACTORS": -1, "_FACTOR_NS": 1e12}.items():
            monkeypatch.setattr(expected_counts, name, value)
    top = Variable("top", [0, 1])
    names = [f"x{number}" for number in range(60)]
    table_of_child = [[1 - 1e-9, 1e-9], [1 - 1e-9, 1e-9]]
    children = [CPT(Variable(name, [0, 1]), table_of_child, [top]) for name in names]
    net = BayesianNetwork([CPT(top, [0.25, 0.75]), *children])
    columns = {name: [1, 0] for name in names[1:]}
    problem = incomplete_data(net.dag, Dataset(columns, states={name: [0, 1] for name in columns}), nets=[net])
    (found,) = ExpectedFamilies(problem, net).count([("top", ["x0", "x1"])])
    one = np.outer([1 - 1e-9, 1e-9], [0.25, 0.75])
    np.testing.assert_allclose(found[:, 0], one, atol=1e-12)
    np.testing.assert_allclose(found[:, 1], one, atol=1e-12)


def test_errors():
    data = learning_test_with_holes()
    with pytest.raises(UnknownNameError, match="no search 'climb'"):
        structural_em(data, search="climb")
    with pytest.raises(UnknownNameError, match="search is a name or a function"):
        structural_em(data, search=3)
    with pytest.raises(UnknownNameError, match="no score"):
        structural_em(data, "bicc")
    with pytest.raises(DataError, match="max_iter"):
        structural_em(data, max_iter=0)
    with pytest.raises(DataError, match="completion must be"):
        structural_em(data, completion="sampled")
    with pytest.raises(DataError, match=r"a search must return a result whose \.dag is a DAG .*, not None"):
        structural_em(data, search=lambda *args, **options: None)
    for name in ("fixed", "shared"):
        with pytest.raises(DataError, match=f"em_options cannot have '{name}'"):
            structural_em(data, em_options={name: ["A"]})
    with pytest.raises(DataError, match="give latent= to structural_em itself"):
        structural_em(data, em_options={"latent": {"H": 2}})
