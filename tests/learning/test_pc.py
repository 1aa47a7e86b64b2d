"""The PC algorithm, with graphs as oracles, with tests that contradict each other, and with data."""

from __future__ import annotations

import pickle
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.graph.equivalence import shd
from pgm.graph.pdag import PDAG
from pgm.learning.independence.colliders import Verdict, colliders_of, direct_skeleton, unshielded_triples
from pgm.learning.independence.pc import pc
from pgm.network import BayesianNetwork
from pgm.networks import load
from tests.data.bundled import TRUE_GRAPHS, table


@st.composite
def dags(draw, max_nodes=7):
    names = draw(st.permutations([f"v{place}" for place in range(draw(st.integers(1, max_nodes)))]))
    pairs = list(combinations(names, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []
    return DAG(chosen, draw(st.permutations(names)))


@st.composite
def constraints_of(draw, dag):
    """Constraints that the graph keeps to."""
    required = draw(st.lists(st.sampled_from(dag.edges), unique=True, max_size=2)) if dag.edges else []
    absent = [(u, v) for u, v in permutations(dag.nodes, 2) if not dag.has_edge(u, v)]
    forbidden = draw(st.lists(st.sampled_from(absent), unique=True, max_size=4)) if absent else []
    order = dag.topological_order
    cut = draw(st.integers(0, len(order)))
    tiers = draw(st.sampled_from([None, [order[:cut], order[cut:]]]))
    return {"required": required, "forbidden": forbidden, "tiers": tiers}


def directions(graph):
    return set(graph.directed), {frozenset(edge) for edge in graph.undirected}


def restricted_class(dag, required, forbidden, tiers):
    """Return the class of the graph restricted to the DAGs that keep to the constraints, by enumeration."""
    later = {name: number for number, tier in enumerate(tiers or ()) for name in tier}

    def keeps(member):
        backwards = any(later.get(u, 0) > later.get(v, 0) for u, v in member.edges)
        return not backwards and not set(forbidden) & set(member.edges) and set(required) <= set(member.edges)

    kept = [set(member.edges) for member in dag.cpdag().members(limit=20_000) if keeps(member)]
    always = set.intersection(*kept)
    sometimes = {frozenset(edge) for edge in set.union(*kept) - always}
    return always, sometimes


# ---------------------------------------------------------------- with a graph in place of data


@settings(max_examples=150, deadline=None)
@given(dags(), st.sampled_from(["majority", "conservative"]))
def test_a_graph_leads_to_its_class(dag, rule):
    result = pc(dag, colliders=rule)
    assert result.cpdag == dag.cpdag()
    assert result.skeleton == dag.skeleton()
    assert result.conflicts == result.ambiguous == result.dropped == ()
    assert set(result.separating_sets) == set(combinations(dag.nodes, 2)) - {
        edge if dag.index(edge[0]) < dag.index(edge[1]) else edge[::-1] for edge in dag.edges
    }
    for (x, y), given_ in result.separating_sets.items():
        assert dag.is_d_separated(x, y, given_)
        assert result.separating_set(y, x) == given_


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_constraints_restrict_the_class(data):
    dag = data.draw(dags(max_nodes=6))
    known = data.draw(constraints_of(dag))
    result = pc(dag, **known)
    assert directions(result.cpdag) == restricted_class(dag, **known)


@pytest.mark.parametrize("name", ["asia", "alarm", "insurance"])
def test_known_networks_from_their_own_separations(name):
    dag = DAG.from_string(TRUE_GRAPHS[name])
    result = pc(dag)
    assert result.cpdag == dag.cpdag()
    assert result.n_tests > 0


def test_functions_and_networks_are_oracles_too():
    dag = DAG([("a", "c"), ("b", "c"), ("c", "d")])
    asked = []

    def judge(x, y, given):
        asked.append((x, y, given))
        return dag.is_d_separated(x, y, given)

    by_function = pc(judge, names=["d", "c", "b", "a"])
    assert by_function.cpdag == dag.cpdag()
    assert by_function.n_tests == len(asked)
    assert len({(frozenset((x, y)), frozenset(given)) for x, y, given in asked}) == len(asked)  # none asked twice
    net = load("asia")
    assert isinstance(net, BayesianNetwork)
    assert pc(net).cpdag == net.dag.cpdag()


def test_a_limit_on_what_is_given():
    dag = DAG([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])  # a and d need both b and c
    assert len(pc(dag, max_condition=1).skeleton) == 5
    assert pc(dag, max_condition=2).cpdag == dag.cpdag()
    assert len(pc(dag, max_condition=0).skeleton) == 6


def test_a_long_chain_needs_no_recursion():
    size = 3000
    neighbours = [{place - 1, place + 1} & set(range(size)) for place in range(size)]
    verdicts = [Verdict(triple, 0, 1) for triple in unshielded_triples(neighbours)]
    edges = direct_skeleton(neighbours, [], verdicts, False)
    assert edges == [(place, place + 1) for place in range(size - 1)]


# ---------------------------------------------------------------- answers that contradict each other


def confused(seed):
    """Return a function that answers at random, but the same each time, whatever the order of what is given."""

    def judge(x, y, given):
        key = "|".join([*sorted((x, y)), *sorted(given)])
        digest = sum(ord(letter) * (place + 7) ** 3 for place, letter in enumerate(key)) * (seed + 11)
        return digest % 97 < 30 + 10 * len(given)

    return judge


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.sampled_from(["majority", "conservative"]), st.data())
def test_any_answers_give_a_class(seed, size, rule, data):
    names = [f"v{place}" for place in range(size)]
    result = pc(confused(seed), names=names, colliders=rule)
    assert result.cpdag.is_cpdag()
    assert set(map(frozenset, result.skeleton)) == {
        frozenset(edge) for edge in (*result.cpdag.directed, *result.cpdag.undirected)
    }
    shuffled = pc(confused(seed), names=data.draw(st.permutations(names)), colliders=rule)
    assert shuffled.cpdag == result.cpdag
    assert shuffled.conflicts == result.conflicts
    assert shuffled.ambiguous == result.ambiguous
    assert shuffled.n_tests == result.n_tests
    for conflict in result.conflicts:
        left, middle, right = conflict.triple
        has_collider = {(left, middle), (right, middle)} <= set(result.cpdag.directed)
        assert has_collider == (conflict.tested == "no collider")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.data())
def test_any_answers_with_constraints_give_a_graph_that_keeps_to_them(seed, data):
    dag = data.draw(dags(max_nodes=6))
    known = data.draw(constraints_of(dag))
    result = pc(confused(seed), names=dag.nodes, **known)
    extension = result.cpdag.consistent_extension()
    assert set(known["required"]) <= set(result.cpdag.directed)
    assert not set(known["forbidden"]) & set(extension.edges)
    later = {name: number for number, tier in enumerate(known["tiers"] or ()) for name in tier}
    assert all(later.get(u, 0) <= later.get(v, 0) for u, v in (*extension.edges, *result.cpdag.directed))
    assert result.cpdag.meek_closure() == result.cpdag


def answers(independent):
    """Return an oracle by a table {pair: [sets]}."""
    return lambda x, y, given: frozenset(given) in map(frozenset, independent.get(frozenset((x, y)), []))


def test_two_colliders_that_want_one_edge_both_ways():
    """x -> y from x - y - w and y -> x from z - x - y: z - x - y - w with both inner nodes colliders."""
    independent = {
        frozenset("zy"): [""], frozenset("xw"): [""], frozenset("zw"): ["", "x", "y", "xy"],
    }  # fmt: skip
    result = pc(answers(independent), names=list("wxyz"))
    assert [conflict.tested for conflict in result.conflicts] == ["collider"]
    assert result.cpdag.is_cpdag()
    assert "the tests say collider, the graph shows none" in str(result)


def test_a_circle_without_colliders_gets_the_fewest():
    """No DAG on a chordless circle is without a collider."""
    independent = {frozenset("ac"): ["bd"], frozenset("bd"): ["ac"]}
    result = pc(answers(independent), names=list("abcd"))
    assert len(result.skeleton) == 4
    assert [conflict.tested for conflict in result.conflicts] == ["no collider"]
    assert len(result.cpdag.consistent_extension().v_structures()) == 1
    assert "the tests say no collider, the graph shows one" in str(result.conflicts[0])


def test_majority_and_unanimity():
    """Of the sets that separate the ends, two do not hold the middle node, and one does."""
    verdict = Verdict((0, 1, 2), n_without=2, n_with=1)
    assert (verdict.kind(unanimous=False), verdict.kind(unanimous=True)) == ("collider", "ambiguous")
    assert Verdict((0, 1, 2), 1, 2).kind(unanimous=False) == "no collider"
    assert Verdict((0, 1, 2), 1, 1).kind(unanimous=False) == "ambiguous"
    assert Verdict((0, 1, 2), 0, 0).kind(unanimous=True) == "ambiguous"
    independent = {frozenset("ac"): ["d", "e", "b"]}
    by_majority = pc(answers(independent), names=list("abcde"))
    unanimous = pc(answers(independent), names=list("abcde"), colliders="conservative")
    assert {("a", "b"), ("c", "b")} <= set(by_majority.cpdag.directed)
    assert ("a", "b", "c") in unanimous.ambiguous


def test_one_way_edges_that_would_close_a_cycle_are_dropped():
    forbidden = [("b", "a"), ("c", "b"), ("a", "c")]
    result = pc(answers({}), names=list("abc"), forbidden=forbidden)
    assert len(result.dropped) == 1
    assert len(result.skeleton) == 2
    assert not set(forbidden) & set(result.cpdag.directed)
    assert f"dropped: {result.dropped[0][0]} -> {result.dropped[0][1]}" in str(result)


def test_colliders_by_definition():
    assert colliders_of(4, [(0, 2), (1, 2), (0, 1), (3, 2)]) == {(0, 2, 3), (1, 2, 3)}


# ---------------------------------------------------------------- with data


def test_learning_test_is_found_as_it_is():
    """The graph that bnlearn's gs() and iamb() find as well (Scutari 2010, section 4)."""
    truth = DAG.from_string(TRUE_GRAPHS["learning.test"]).cpdag()
    for method in ("g2", "g2-adjusted", "chi2", "chi2-adjusted"):
        assert pc(table("learning.test"), method=method).cpdag == truth


def test_alarm_comes_close():
    truth = DAG.from_string(TRUE_GRAPHS["alarm"])
    result = pc(table("alarm"), alpha=0.01)
    assert shd(result.cpdag, truth.cpdag()) <= 3
    assert all(edge in truth.skeleton() for edge in result.skeleton)
    assert result.cpdag.is_cpdag()


def test_the_order_of_columns_and_the_names_of_states_do_not_matter():
    data = table("asia").head(1500)
    result = pc(data)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(list(data.names)).tolist()
        other = pc(data.select(order))
        assert other.cpdag == result.cpdag
        assert other.conflicts == result.conflicts
        assert other.n_tests == result.n_tests
        assert other.cpdag.nodes == tuple(order)
    renamed = {name: [f"{label}!" for label in column] for name, column in data.to_dict().items()}
    assert pc(renamed).cpdag == result.cpdag


def test_weights_are_rows():
    data = table("learning.test").head(800)
    rows, counts = np.unique(np.stack([data.codes(name) for name in data.names], axis=1), axis=0, return_counts=True)
    assert pc(Dataset.from_codes(data.variables, rows, counts)) == pc(data)


def test_constraints_on_data():
    data = table("learning.test")
    result = pc(data, required=[("B", "A")], forbidden=[("A", "D"), ("D", "A")])
    assert ("B", "A") in result.cpdag.directed
    assert ("A", "D") not in result.skeleton
    with pytest.raises(GraphError, match="both required and forbidden"):
        pc(data, required=[("A", "B")], forbidden=[("A", "B")])


def test_results_print_and_travel():
    result = pc(table("learning.test"))
    assert repr(result) == (
        f"<PCResult: PDAG with 6 nodes, 4 directed and 1 undirected edges, {result.n_tests} tests, 0 conflicts, "
        "0 ambiguous triples>"
    )
    assert "A - B" in str(result).splitlines()
    assert result.separating_set("A", "B") is None
    assert result.separating_set("C", "A") == ()
    assert pickle.loads(pickle.dumps(result)) == result


def test_small_data_and_errors():
    assert pc({"a": [0, 1]}).cpdag == PDAG([], [], ["a"])
    empty = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": [0, 1]})
    assert pc(empty).cpdag == PDAG([], [], ["a", "b"])
    with pytest.raises(MissingDataError):
        pc({"a": [0, None], "b": [0, 1]})
    with pytest.raises(UnknownNameError, match="'fair'; there are 'majority', 'conservative'"):
        pc(table("lizards"), colliders="fair")
    with pytest.raises(UnknownNameError, match="no test is called 'mi'"):
        pc(table("lizards"), method="mi")
    with pytest.raises(DataError, match="alpha"):
        pc(table("lizards"), alpha=0)
    with pytest.raises(DataError, match="'id' has 300 states in 300 rows and looks like an identifier"):
        pc({"a": [0, 1] * 150, "id": range(300)})
    codes = {"a": [0, 1] * 300, "code": [*range(300)] * 2}  # every state twice
    assert pc(codes, method="g2").cpdag.nodes == ("a", "code")
    weighted = Dataset({"a": [0, 1] * 150, "code": range(300)}, weights=[10] * 300)  # the same in distinct rows
    assert pc(weighted, method="g2").cpdag.nodes == ("a", "code")
    with pytest.raises(GraphError, match="max_condition"):
        pc(table("lizards"), max_condition=-1)
    with pytest.raises(DataError, match="needs the names"):
        pc(lambda x, y, given: True)
    with pytest.raises(DataError, match="have their own"):
        pc(table("lizards"), names=["a"])
    with pytest.raises(UnknownNameError, match="'z'"):
        pc(DAG([("a", "b")]), required=[("a", "z")])
