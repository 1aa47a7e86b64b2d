"""Constraints are checked before any search."""

from __future__ import annotations

import numpy as np
import pytest

from pgm.errors import GraphError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import Constraints, fit_parameters


@pytest.mark.parametrize(("constraints", "error", "fault"), [
    ({"required": [("A", "B")], "forbidden": [("A", "B")]}, GraphError, "A -> B is both required and forbidden"),
    ({"required": [("A", "B"), ("B", "A")]}, GraphError, "the required edges: .* A -> B -> A"),
    ({"required": [("A", "C"), ("A", "C"), ("B", "C")], "max_parents": 1}, GraphError, "'C' has 2 parents"),
    ({"required": [("A", "B")], "max_parents": 0}, GraphError, "'B' has 1 parent, 'A', but max_parents is 0"),
    ({"required": [("A", "B"), ("B", "C"), ("C", "A")]}, GraphError, "A -> B -> C -> A"),
    ({"required": [("A", "A")]}, GraphError, "A -> A"),
    ({"forbidden": [("A", "A")]}, GraphError, "A -> A"),
    ({"required": [("A", "Z")]}, UnknownNameError, r"A -> Z: no variable 'Z', only 'A', 'B', 'C'"),
    ({"forbidden": [("Z", "A")]}, UnknownNameError, "'Z'"),
    ({"required": [("A", "C"), ("B", "C")], "max_parents": 1}, GraphError, "'C' has 2 parents, 'A', 'B'.*is 1"),
    ({"required": [("B", "A")], "tiers": [["A"], ["B"]]}, GraphError, "B -> A leads from a later tier"),
    ({"tiers": [["A"], ["B", "A"]]}, GraphError, "'A' is in two tiers"),
    ({"tiers": [["A", "A"]]}, GraphError, "'A' is in two tiers, or twice in one"),
    ({"tiers": [["Z"]]}, UnknownNameError, "'Z'.*'A', 'B', 'C'"),
    ({"tiers": "ABC"}, GraphError, "list of lists"),
    ({"tiers": {"A": 1, "B": 0}}, GraphError, "list of lists"),
    ({"tiers": {("A",), ("B",)}}, GraphError, "list of lists.* in order"),
    ({"tiers": [[["A"]]]}, UnknownNameError, r"\['A'\]"),
    ({"tiers": [1]}, GraphError, "not 1"),
    ({"required": ["AB"]}, GraphError, "'AB'"),
    ({"max_parents": -1}, GraphError, "-1"),
    ({"max_parents": 1.5}, GraphError, "1.5"),
    ({"max_parents": True}, GraphError, "True"),
])  # fmt: skip
def test_constraints_that_cannot_hold(constraints, error, fault):  # pgmpy#1348
    with pytest.raises(error, match=fault):
        Constraints(list("ABC"), **constraints)


def test_allowed_edges():
    constraints = Constraints(["a", "b", "c", "d"], forbidden=[("a", "b")], tiers=["a", ["b", "c"]])
    expected = np.array([
        [0, 0, 1, 1],  # a -> b is forbidden
        [0, 0, 1, 1],  # b and c may not cause a
        [0, 1, 0, 1],
        [1, 1, 1, 0],  # d is in no tier
    ], bool)  # fmt: skip
    assert (constraints.allowed == expected).all()
    assert constraints.allows("d", "a")
    assert not constraints.allows("b", "a")
    with pytest.raises(ValueError, match="read-only"):
        constraints.allowed[0, 0] = True


def test_nodes_in_no_tier_are_free():
    constraints = Constraints(["a", "b", "c", "free"], tiers=[["a"], ["b", "c"]])
    assert all(constraints.allows(*edge) for name in "abc" for edge in ((name, "free"), ("free", name)))
    constraints.check(DAG([("b", "free"), ("free", "a")], nodes=["a", "b", "c", "free"]))
    assert Constraints(list("ab"), tiers=[]).allowed.tolist() == Constraints(list("ab"), tiers=None).allowed.tolist()


def test_repeated_edges_count_once():
    constraints = Constraints(list("abc"), [("a", "b"), ("a", "b")], [["b", "c"], ("b", "c")], max_parents=1)
    assert constraints == Constraints(list("abc"), [("a", "b")], [("b", "c")], max_parents=1)
    assert constraints.starting_graph(DAG([("a", "b")])).edges == (("a", "b"),)


def test_the_order_of_sets_has_no_meaning():
    edges = [("a", "b"), ("c", "d"), ("d", "b"), ("c", "a")]
    names = list("abcd")
    constraints = Constraints(names, set(edges), {edge[::-1] for edge in edges}, tiers=[{"c", "d"}, {"b", "a"}])
    assert constraints.required == tuple(sorted(edges))
    assert constraints.tiers == (("c", "d"), ("a", "b"))


def test_unknown_names():
    constraints = Constraints(list("ab"))
    with pytest.raises(UnknownNameError, match="'z'.*'a', 'b'"):
        constraints.allows("a", "z")
    with pytest.raises(UnknownNameError, match="'z'.*'a', 'b'"):
        constraints.check(DAG([("a", "z")]))


def test_required_edges_join_the_starting_graph():
    constraints = Constraints(list("abc"), required=[("a", "b")])
    assert constraints.starting_graph(None) == DAG([("a", "b")], nodes=list("abc"))
    assert constraints.starting_graph(DAG([("b", "c")])) == DAG([("a", "b"), ("b", "c")], nodes=list("abc"))
    assert constraints.starting_graph(None).nodes == ("a", "b", "c")


@pytest.mark.parametrize(("constraints", "start", "error", "fault"), [
    ({"forbidden": [("b", "c")]}, [("b", "c")], GraphError, "starting graph: the edge b -> c is forbidden"),
    ({"tiers": [["a"], ["b"]]}, [("b", "a")], GraphError, "b -> a leads from a later tier"),
    ({"max_parents": 1}, [("a", "c"), ("b", "c")], GraphError, "'c' has 2 parents"),
    ({"max_parents": 1, "required": [("a", "c")]}, [("b", "c")], GraphError, "'c' has 2 parents"),
    ({"required": [("a", "b")]}, [("b", "a")], GraphError,
     "starting graph with the required edges: .*cycle: b -> a -> b"),
    ({}, [("a", "z")], UnknownNameError, "'z'.*'a', 'b', 'c'"),
])  # fmt: skip
def test_starting_graphs_that_break_a_constraint(constraints, start, error, fault):
    with pytest.raises(error, match=fault):
        Constraints(list("abc"), **constraints).starting_graph(DAG(start))


def test_a_network_is_a_starting_graph():
    data = {"a": [0, 1], "b": [0, 1], "c": [1, 0]}
    dag = DAG([("a", "b")])
    assert Constraints(list("abc")).starting_graph(fit_parameters(dag, data)) == DAG(dag.edges, nodes=list("abc"))
    with pytest.raises(GraphError, match="not list: DAG"):
        Constraints(list("abc")).starting_graph([("a", "b")])


def test_checking_a_graph():
    constraints = Constraints(list("abc"), required=[("a", "b")])
    constraints.check(DAG([("a", "b"), ("b", "c")], nodes=list("abc")))
    with pytest.raises(GraphError, match="the graph lacks the required edge a -> b"):
        constraints.check(DAG(nodes=list("abc")))


def test_constraints_are_values():
    assert Constraints(list("ab"), forbidden=[("a", "b")]) == Constraints(["a", "b"], forbidden=[["a", "b"]])
    assert Constraints(list("ab")) != Constraints(list("ab"), max_parents=1)
    with pytest.raises(AttributeError):
        Constraints(list("ab")).max_parents = 2
