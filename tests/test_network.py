"""The network as a value: construction, copies, pickles, threads."""

from __future__ import annotations

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pgm
from pgm import CPT, DAG, BayesianNetwork, GraphError, TableError, UnknownNameError, Variable

A, B = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1"])
PRIOR, CONDITIONAL = CPT(A, [0.3, 0.7]), CPT(B, [[0.9, 0.1], [0.2, 0.8]], [A])


def test_tables_draw_the_graph_in_the_order_given():
    net = BayesianNetwork([CONDITIONAL, PRIOR])
    assert net.names == ("B", "A")
    assert net.dag == DAG([("A", "B")])
    assert net.variable("A") is A
    assert net.cpt("B") is CONDITIONAL
    assert (len(net), net.n_parameters) == (2, 3)
    assert "A" in net
    assert "C" not in net
    with pytest.raises(UnknownNameError, match="no variable 'C'; the variables are 'B', 'A'"):
        net.cpt("C")


def test_a_dag_gives_the_declared_order_and_is_compared():
    net = BayesianNetwork([CONDITIONAL, PRIOR], dag=DAG([("A", "B")]))
    assert net.names == ("A", "B")
    restored = pickle.loads(pickle.dumps(net))
    assert (restored.names, restored.dag.edges) == (net.names, net.dag.edges)
    with pytest.raises(GraphError, match="the table of 'A' lacks its parent 'B'"):
        BayesianNetwork([CONDITIONAL, PRIOR], dag=DAG([("B", "A")]))
    with pytest.raises(GraphError, match="no table for 'C'"):
        BayesianNetwork([CONDITIONAL, PRIOR], dag=DAG([("A", "B")], nodes=["A", "B", "C"]))
    with pytest.raises(GraphError, match="must be a DAG"):
        BayesianNetwork([PRIOR], dag="[A]")


@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        ([CONDITIONAL], TableError, "'A', a parent of 'B', has no table"),
        ([PRIOR, PRIOR], TableError, "'A' has two tables"),
        ([], TableError, "at least one table"),
        ([PRIOR, "B"], TableError, "CPT objects, not 'B'"),
        (
            [CPT(Variable("A", ["x", "y"]), [0.5, 0.5]), CONDITIONAL],
            TableError,
            "'A' has the states 'x', 'y', but as a",
        ),
        ([CPT(A, [[0.5, 0.5]] * 2, [B]), CONDITIONAL], GraphError, "A -> B -> A|B -> A -> B"),
    ],
)
def test_tables_that_make_no_network(tables, error, message):
    with pytest.raises(error, match=message):
        BayesianNetwork(tables)


def typed_network() -> BayesianNetwork:
    dose, cured = Variable("Dose", [0, 1, 2]), Variable("Cured", [False, True])
    return BayesianNetwork([CPT(dose, [0.5, 0.3, 0.2]), CPT(cured, [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], [dose])])


@pytest.mark.parametrize("asked_before", [False, True])
def test_copies_and_pickles_answer_exactly_alike(asked_before):
    net = typed_network()
    if asked_before:
        net.query("Dose", {"Cured": True})
    copies = [copy.copy(net), copy.deepcopy(net)]
    copies += [pickle.loads(pickle.dumps(net, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for twin in copies:
        assert twin == net
        answer = twin.query("Dose", {"Cured": True})
        assert answer == net.query("Dose", {"Cured": True})
        assert answer.to_dict() == pytest.approx({0: 5 / 39, 1: 18 / 39, 2: 16 / 39})
        assert [type(state) for state in twin.variable("Cured").states] == [bool, bool]
        with pytest.raises(ValueError, match="read-only"):
            twin.cpt("Dose").values[0] = 1.0
    with pytest.raises(AttributeError, match="immutable"):
        net.dag = None


def test_many_threads_one_network():
    net = pgm.networks.load("alarm")
    choice = random.Random(0)
    best = [net.mpe({name: choice.choice(net.variable(name).states)}).assignment for name in net.names[:4]]
    questions = []
    for _ in range(200):
        names = choice.sample(net.names, 6)
        world = choice.choice(best)
        target, observed = names[0], [name for name in names[1:] if name in world]
        questions.append((target, {name: world[name] for name in observed}))

    def answer(question):
        target, evidence = question
        return (
            net.query(target, evidence).values.tobytes(),
            net.marginals(evidence)[target].values.tobytes(),
            tuple(net.mpe(evidence).assignment.items()),
            net.log_probability(evidence),
        )

    fresh = pgm.networks.load("alarm")
    net, serial = fresh, [answer(question) for question in questions]
    net = pgm.networks.load("alarm")  # nothing prepared yet: the threads race for the plans as well
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, questions)) == serial


def test_an_array_handed_in_or_out_is_not_shared():
    values = np.array([0.3, 0.7])
    net = BayesianNetwork([CPT(A, values)])
    values[0] = 1.0
    assert net.query("A")["a0"] == 0.3
    answer = net.query("A")
    with pytest.raises(ValueError, match="read-only"):
        answer.values[0] = 9.0
    for factor in net.marginals().values():
        with pytest.raises(ValueError, match="read-only"):
            factor.values[0] = 9.0


def test_interventions_and_samples_through_the_network():
    net = pgm.networks.load("asia")
    assert net.query("dysp", {"smoke": "yes"}, do={"bronc": "no"}).allclose(
        net.do({"bronc": "no"}).query("dysp", {"smoke": "yes"})
    )
    assert net.query("smoke", do={"bronc": "yes"}).allclose(net.query("smoke"))
    rows = net.sample(2000, rng=1, evidence={"dysp": "yes"})
    exact = net.query("bronc", {"dysp": "yes"})["yes"]
    assert np.mean([label == "yes" for label in rows.to_dict()["bronc"]]) == pytest.approx(exact, abs=0.05)
    assert net.sample(2000, rng=1, evidence={"dysp": "yes"}) == rows
    assert net.estimate("bronc", 4000, rng=1, evidence={"dysp": "yes"}).posterior["yes"] == pytest.approx(
        exact, abs=0.05
    )
    assert len(net.weighted_sample(10, rng=0).data) == len(net.sample(10, rng=0)) == 10
    with pytest.raises(pgm.ImpossibleEvidenceError, match="either"):
        net.sample(5, evidence={"either": "no", "tub": "yes"})


def test_the_choices_when_exact_is_too_large():
    net = pgm.networks.load("alarm")
    evidence = {"HRBP": "HIGH", "BP": "LOW"}
    exact = net.query("LVFAILURE", evidence)
    with pytest.raises(pgm.TooLargeError):
        net.query("LVFAILURE", evidence, memory_budget=2_000)
    assert net.query_by_conditioning("LVFAILURE", evidence, memory_budget=2_000).allclose(exact)
    approximate = net.approximate_marginals(evidence)
    assert not approximate.exact
    assert approximate.marginals["LVFAILURE"].values == pytest.approx(exact.values, abs=0.05)


def test_the_class_is_found_where_it_always_was():
    """It is put together of several modules; its public home, and what pickles refer to, is one."""
    net = BayesianNetwork([PRIOR, CONDITIONAL])
    assert BayesianNetwork is pgm.network.BayesianNetwork
    assert BayesianNetwork.__module__ == "pgm.network"
    assert b"pgm.network\x94" in pickle.dumps(net, protocol=4)
    assert not hasattr(net, "__dict__")
    with pytest.raises(AttributeError, match="a BayesianNetwork is immutable"):
        net.name = "net"
    for made in (net.do({"A": "a1"}), copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert type(made) is BayesianNetwork


def test_every_kind_of_question_is_a_module_of_one_line_calls():
    kinds = [base.__module__ for base in BayesianNetwork.__mro__[1:-1]]
    assert kinds == [
        f"pgm.network.{name}" for name in ("asking", "too_large", "understanding", "rows", "sampling", "core")
    ]
    public = [{name for name in vars(base) if not name.startswith("_")} for base in BayesianNetwork.__mro__[:-1]]
    assert sum(map(len, public)) == len(set().union(*public))  # no kind hides a question of another
