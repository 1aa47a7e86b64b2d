"""EM: what its options mean, and the errors they end in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pgm.data import Dataset
from pgm.errors import DataError, ImpossibleEvidenceError, TableError, UnknownNameError
from pgm.factors import CPT, Variable
from pgm.graph.dag import DAG
from pgm.learning import UnseenConfigurationWarning
from pgm.learning.em import fit_em
from pgm.learning.em.acceleration import as_tables, extrapolated
from pgm.network import BayesianNetwork
from pgm.networks import load

CHAIN = DAG([("a", "b"), ("b", "c")])
ROWS = {
    "a": [0, 0, 1, 1, None, 0, 1, 0],
    "b": [0, None, 1, None, 1, 0, 0, 1],
    "c": [0, 1, None, 1, 1, 0, 1, 0],
}


def network(a=(0.5, 0.5), b=((0.5, 0.5), (0.5, 0.5)), c=((0.5, 0.5), (0.5, 0.5)), states=(0, 1)):
    one, two, three = (Variable(name, states) for name in "abc")
    return BayesianNetwork([CPT(one, a), CPT(two, b, [one]), CPT(three, c, [two])])


# ---------------------------------------------------------------------- stopping


def test_criteria():
    by_objective = fit_em(CHAIN, ROWS, tol=1e-3)
    assert by_objective.stopped_by == "objective"
    assert by_objective.log_likelihoods[-1] - by_objective.log_likelihoods[-2] < 1e-3
    assert all(np.diff(by_objective.log_likelihoods[:-1]) >= 1e-3)

    by_parameters = fit_em(CHAIN, ROWS, tol=None, parameter_tol=1e-3)
    assert by_parameters.stopped_by == "parameters"
    before = fit_em(CHAIN, ROWS, tol=None, max_iter=by_parameters.iterations - 1).network
    sooner = fit_em(CHAIN, ROWS, tol=None, max_iter=by_parameters.iterations - 2).network
    assert norm(by_parameters.network, before) < 1e-3 <= norm(before, sooner)

    by_q = fit_em(CHAIN, ROWS, tol=None, q_tol=1e-3)
    assert by_q.stopped_by == "Q"
    assert by_q.converged

    never = fit_em(CHAIN, ROWS, tol=None, max_iter=3)
    assert (never.iterations, never.converged, never.stopped_by) == (3, False, "max_iter")


def norm(net, other):
    squares = [((cpt.values - other.cpt(cpt.child.name).values) ** 2).sum() for cpt in net.cpts]
    return np.sqrt(sum(squares))


def test_q_is_the_expected_log_likelihood_of_the_completed_rows():
    """For one hidden cell: Q = sum over its states of the posterior times the joint log-probability."""
    data = {"a": [0, 1, 1], "b": [0, 1, None]}
    a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    start = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [[0.5, 0.5], [0.2, 0.8]], [a])])
    result = fit_em(DAG([("a", "b")]), data, start=start, max_iter=1)
    net = result.network
    np.testing.assert_allclose(net.cpt("b").values, [[1, 0], [0.1, 0.9]])
    expected = np.log(1 / 3) + 2 * np.log(2 / 3) + np.log(0.9) + 0.2 * np.log(0.1) + 0.8 * np.log(0.9)
    assert result.q_values == pytest.approx([expected])


# ---------------------------------------------------------------------- starts, fixed and shared tables


def test_fixed_tables_stay_as_they_are():
    net = network(b=((0.9, 0.1), (0.3, 0.7)))
    result = fit_em(net, ROWS, fixed=["b"])
    assert result.network.cpt("b") == net.cpt("b")
    assert result.network.cpt("a") != net.cpt("a")
    assert result.n_parameters == 3
    again = fit_em(CHAIN, ROWS, start=net, fixed="b")
    assert again.network.cpt("b") == net.cpt("b")
    np.testing.assert_allclose(again.network.cpt("c").values, result.network.cpt("c").values, atol=1e-4)


def test_fixed_tables_of_another_order_of_parents():
    x, y, z = Variable("x", [0, 1]), Variable("y", ["p", "q", "r"]), Variable("z", [0, 1])
    table = np.random.default_rng(0).random((3, 2, 2)) + 0.1
    table /= table.sum(axis=-1, keepdims=True)
    net = BayesianNetwork([CPT(x, [0.5, 0.5]), CPT(y, [0.2, 0.3, 0.5]), CPT(z, table, [y, x])])
    data = {"x": [0, 1, None, 1], "y": ["p", "q", "r", None], "z": [0, None, 1, 1]}
    found = fit_em(DAG([("x", "z"), ("y", "z")]), data, start=net, fixed=["z"]).network.cpt("z")
    assert found.reorder(["y", "x", "z"]).values.tolist() == table.tolist()


def test_shared_tables_are_estimated_from_all_their_counts():
    data = {"x": [0, 0, 1, None], "y": [1, 1, 0, 1]}
    result = fit_em(DAG([], ["x", "y"]), data, shared=[["x", "y"]])
    np.testing.assert_allclose(result.network.cpt("x").values, [3 / 7, 4 / 7], atol=1e-5)
    assert (result.network.cpt("x").values == result.network.cpt("y").values).all()
    prior = fit_em(DAG([], ["x", "y"]), data, shared=[["x", "y"]], pseudocount=1)
    np.testing.assert_allclose(prior.network.cpt("x").values, [4 / 9, 5 / 9], atol=1e-5)


def test_shared_tables_need_the_same_labels_in_the_same_order():
    """By position, heads of one coin would be tails of the other: 8 of each instead of 16 heads."""
    data = {"x": ["heads"] * 8, "y": ["heads"] * 8}
    orders = {"x": ["heads", "tails"], "y": ["tails", "heads"]}
    with pytest.raises(DataError, match=r"'x' has the states 'heads', 'tails', 'y' 'tails', 'heads'.*same order"):
        fit_em(DAG([], ["x", "y"]), Dataset(data, states=orders), shared=[["x", "y"]])
    with pytest.raises(DataError, match="'y' 'tail', 'heads'"):
        fit_em(DAG([], ["x", "y"]), Dataset(data, states={**orders, "y": ["tail", "heads"]}), shared=[["x", "y"]])
    with pytest.raises(DataError, match="cannot share"):
        fit_em(DAG([], ["x", "y"]), Dataset({"x": [0, 1], "y": [False, True]}), shared=[["x", "y"]])
    steps = DAG([("a", "b"), ("b", "c")])
    states = {"a": [0, 1], "b": [0, 1], "c": [1, 0]}
    with pytest.raises(DataError, match="'b' has the states 0, 1, 'c' 1, 0"):
        fit_em(steps, Dataset(ROWS, states=states), shared=[["b", "c"]])
    alike = Dataset(data, states={**orders, "y": ["heads", "tails"]})
    same = fit_em(DAG([], ["x", "y"]), alike, shared=[["x", "y"]])
    assert same.network.cpt("y").values.tolist() == [1, 0]


def test_further_starts_are_random_and_the_best_is_kept():
    asia = load("asia")
    data = asia.sample(60, rng=0, missing=0.6)
    options = {"starts": 4, "pseudocount": 0.01, "max_iter": 20}
    result = fit_em(asia, data, rng=1, **options)
    assert len(set(np.round(result.start_objectives, 6))) > 1
    assert max(result.start_objectives) == result.objectives[-1]
    assert fit_em(asia, data, rng=1, **options).network == result.network
    assert fit_em(asia, data, rng=np.random.default_rng(1), **options).network == result.network
    assert fit_em(asia, data, rng=2, **options).start_objectives != result.start_objectives
    assert fit_em(asia, data, rng=2, start="random", **options).start_objectives[0] != result.start_objectives[0]


def test_states_of_the_network_decide():
    frame = pd.DataFrame({"a": ["yes", None], "b": ["no", "yes"], "c": ["no", None]})
    result = fit_em(network(states=("yes", "no")), frame, pseudocount=1)
    assert result.network.variable("a").states == ("yes", "no")
    np.testing.assert_allclose(result.network.cpt("a").values.sum(), 1)
    with pytest.raises(DataError, match="maybe"):
        fit_em(network(states=("yes", "no")), frame.replace("no", "maybe"))


def test_a_network_tells_the_states_of_latent_variables():
    net = network(a=(0.6, 0.4), b=((0.9, 0.1), (0.3, 0.7)))
    result = fit_em(net, {"a": ROWS["a"], "c": [0, 1, 1, 1, 0, 1, 0, 0]}, start=net, starts=1)
    assert result.network.names == ("a", "b", "c")


def test_parent_configurations_without_rows_are_uniform_and_warned_of():
    data = Dataset({"a": [0, 0, 1], "b": [0, 1, None]}, states={"a": [0, 1, 2]})
    with pytest.warns(UnseenConfigurationWarning, match=r"no rows for 1 parent configuration.*'b \(1\)'"):
        result = fit_em(DAG([("a", "b")]), data)
    assert result.network.cpt("b").values[2].tolist() == [0.5, 0.5]
    fit_em(DAG([("a", "b")]), data, pseudocount=1)  # a warning would be an error here


def test_what_is_printed():
    result = fit_em(CHAIN, ROWS, starts=2)
    assert "log-likelihood" in repr(result)
    assert "best of 2 starts" in repr(result)
    assert "hardly rose" in str(result)
    assert "max_iter was reached" in str(fit_em(CHAIN, ROWS, max_iter=1, tol=None))
    assert str(fit_em(CHAIN, ROWS, hard=True)).startswith("hard EM")
    assert str(fit_em(CHAIN, ROWS, acceleration="squarem")).startswith("EM with SQUAREM")


def test_what_is_printed_with_a_prior_is_what_rises():
    start = fit_em(CHAIN, ROWS).network
    start = network(*(0.98 * start.cpt(name).values + 0.01 for name in "abc"))
    result = fit_em(CHAIN, ROWS, start=start, pseudocount=50)
    fallen = result.log_likelihoods[-1] - result.log_likelihoods[0]
    assert fallen < 0 < result.objectives[-1] - result.objectives[0]
    line = str(result).splitlines()[1]
    risen = result.objectives[-1] - result.objectives[0]
    prior = f"with the log prior {result.objectives[-1]:.4f}, {risen:.4f} above the start"
    assert line == f"log-likelihood {result.log_likelihood:.4f}; {prior}"
    plain = fit_em(CHAIN, ROWS)
    gain = plain.log_likelihoods[-1] - plain.log_likelihoods[0]
    assert str(plain).splitlines()[1] == f"log-likelihood {plain.log_likelihood:.4f}, {gain:.4f} above the start"


def test_extrapolation_stays_among_probabilities():
    steps = [[np.array([p, 1 - p])] for p in (0.5, 0.2, 0.05)]
    assert min(extrapolated(*steps)[0]) < 0
    (table,) = as_tables(extrapolated(*steps), steps[2])
    assert table.min() > 0
    assert table.sum() == pytest.approx(1)
    (still,) = extrapolated(steps[2], steps[2], steps[2])
    assert still.tolist() == steps[2][0].tolist()


# ---------------------------------------------------------------------- errors


def test_a_node_without_a_column_needs_states():
    rows = {"a": [0, 1], "c": [1, 0]}
    with pytest.raises(UnknownNameError, match=r"no column for 'b'; the columns are 'a', 'c'.*latent=\{'b'"):
        fit_em(CHAIN, rows)
    with pytest.raises(UnknownNameError, match="latent 'd' is no node of the graph"):
        fit_em(CHAIN, ROWS, latent={"d": 2})
    with pytest.raises(DataError, match="no node of the graph is a column"):
        fit_em(CHAIN, {"x": [1]}, latent=dict.fromkeys("abc", 2))
    with pytest.raises(DataError, match="at least one state"):
        fit_em(CHAIN, rows, latent={"b": 0})
    with pytest.raises(DataError, match="latent is"):
        fit_em(CHAIN, rows, latent=["b"])


@pytest.mark.parametrize(("options", "message"), [
    ({"tol": -1}, "tol must be a number from 0"),
    ({"parameter_tol": "small"}, "parameter_tol"),
    ({"q_tol": float("nan")}, "q_tol"),
    ({"max_iter": 0}, "max_iter must be a whole number from 1"),
    ({"starts": 0}, "starts must be a whole number from 1"),
    ({"start": "zeros"}, "start must be 'available cases'"),
    ({"acceleration": "aitken"}, "acceleration must be 'squarem'"),
    ({"fixed": ["a"]}, "where are the tables"),
    ({"shared": [["a", "b"]]}, "cannot share a table"),
    ({"shared": [["b", "c"], ["c"]]}, "two groups"),
    ({"shared": ["bc"]}, "list of groups"),
])  # fmt: skip
def test_options_out_of_range(options, message):
    with pytest.raises(DataError, match=message):
        fit_em(CHAIN, ROWS, **options)


def test_names_that_are_no_nodes():
    with pytest.raises(UnknownNameError, match="fixed names no node 'x'"):
        fit_em(network(), ROWS, fixed=["x"])
    with pytest.raises(UnknownNameError, match="shared names no node 'x'"):
        fit_em(CHAIN, ROWS, shared=[["b", "x"]])
    with pytest.raises(DataError, match="all tables are fixed"):
        fit_em(network(), ROWS, fixed=["a", "b", "c"])
    with pytest.raises(DataError, match="fixed only if all of its group are"):
        fit_em(network(), ROWS, fixed="b", shared=[["b", "c"]])


def test_networks_that_do_not_fit():
    other = BayesianNetwork([CPT(Variable(name, [0, 1]), [0.5, 0.5]) for name in "abc"])
    with pytest.raises(DataError, match="the parents of 'b'"):
        fit_em(CHAIN, ROWS, start=other)
    with pytest.raises(DataError, match="'a' has the states"):
        fit_em(network(), ROWS, start=network(states=(1, 0)))


def test_there_must_be_rows():
    with pytest.raises(DataError, match="nothing to learn from"):
        fit_em(CHAIN, Dataset(ROWS, weights=[0] * 8))
    with pytest.raises(TableError):
        fit_em(CHAIN, ROWS, pseudocount=-1)
    with pytest.raises(TableError, match="depends on the counts"):
        fit_em(CHAIN, ROWS, prior="hierarchical")


def test_an_impossible_row_is_named():
    start = network(b=((1.0, 0.0), (0.0, 1.0)), c=((1.0, 0.0), (0.0, 1.0)))
    with pytest.raises(ImpossibleEvidenceError, match=r"row 2 is impossible.*a=0, c=1"):
        fit_em(CHAIN, {"a": [0, 1, 0], "b": [0, None, None], "c": [0, 1, 1]}, start=start)
