"""Constraints are checked before any search."""

from __future__ import annotations

import numpy as np
import pytest

from pgm.errors import GraphError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import Constraints


@pytest.mark.parametrize(("constraints", "error", "fault"), [
    ({"required": [("A", "B")], "forbidden": [("A", "B")]}, GraphError, "A -> B is both required and forbidden"),
    ({"required": [("A", "B"), ("B", "A")]}, GraphError, "A -> B -> A"),
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
    ({"required": [("a", "b")]}, [("b", "a")], GraphError, "cycle"),
    ({}, [("a", "z")], UnknownNameError, "'z'.*'a', 'b', 'c'"),
])  # fmt: skip
def test_starting_graphs_that_break_a_constraint(constraints, start, error, fault):
    with pytest.raises(error, match=fault):
        Constraints(list("abc"), **constraints).starting_graph(DAG(start))


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
