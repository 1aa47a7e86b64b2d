"""Insert, Delete and Turn, against every changed edge of every member of small classes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import pytest

from pgm.errors import GraphError
from pgm.graph import DAG, PDAG
from pgm.learning.search.class_operators import EquivalenceClass, Operator, deletes, inserts, turns

NAMES = list("abcd")


def all_classes_of_four_nodes() -> list[PDAG]:
    found: dict[PDAG, None] = {}
    pairs = list(combinations(NAMES, 2))
    for marks in product((-1, 0, 1), repeat=len(pairs)):
        edges = [pair[::mark] for pair, mark in zip(pairs, marks, strict=True) if mark]
        try:
            found[DAG(edges, NAMES).cpdag()] = None
        except GraphError:
            continue
    return list(found)


def random_classes(size: int, number: int) -> Iterator[PDAG]:
    rng = random.Random(size)
    names = [f"n{place}" for place in range(size)]
    for _ in range(number):
        share = rng.random()
        edges = [pair for pair in combinations(rng.sample(names, size), 2) if rng.random() < share]
        cpdag = DAG(edges, names).cpdag()
        if cpdag.count_members() <= 60:
            yield cpdag


def by_definition(cpdag: PDAG) -> dict[str, set[tuple[PDAG, str, str]]]:
    """Change one edge of a member in every way: the classes that are reached, and by which edge."""
    reached: dict[str, set[tuple[PDAG, str, str]]] = {"add": set(), "delete": set(), "reverse": set()}
    for member in cpdag.iter_members():
        for x, y in product(member.nodes, repeat=2):
            try:
                if member.has_edge(x, y):
                    reached["delete"].add((member.remove_edges([(x, y)]).cpdag(), x, y))
                elif member.has_edge(y, x):
                    after = member.reverse_edge(y, x).cpdag()
                    if after != cpdag:
                        reached["reverse"].add((after, x, y))
                elif x != y:
                    reached["add"].add((member.add_edges([(x, y)]).cpdag(), x, y))
            except GraphError:  # a cycle
                continue
    return reached


def by_operators(cpdag: PDAG, largest: int) -> dict[str, list[tuple[PDAG, str, str]]]:
    graph, names = EquivalenceClass(cpdag), cpdag.nodes
    reached: dict[str, list[tuple[PDAG, str, str]]] = {"add": [], "delete": [], "reverse": []}
    for child in range(len(names)):
        for step in (*inserts(graph, child, largest), *deletes(graph, child), *turns(graph, child, largest)):
            if graph.is_valid(step):
                reached[step.kind].append((graph.after(step).cpdag(), names[step.parent], names[step.child]))
    return reached


def test_operators_reach_what_changed_members_reach_in_all_classes_of_four_nodes() -> None:
    classes = all_classes_of_four_nodes()
    assert len(classes) == 185  # Gillispie and Perlman 2001
    for cpdag in classes:
        expected, found = by_definition(cpdag), by_operators(cpdag, 3)
        for kind, reached in expected.items():
            assert set(found[kind]) == reached, (kind, str(cpdag))
            assert len(found[kind]) == len(reached), f"two operators for one step: {kind} {cpdag}"


@pytest.mark.parametrize(("size", "number"), [(5, 50), (6, 15)])
def test_operators_in_random_classes(size: int, number: int) -> None:
    for cpdag in random_classes(size, number):
        expected, found = by_definition(cpdag), by_operators(cpdag, size - 1)
        assert {kind: set(reached) for kind, reached in found.items()} == expected


@pytest.mark.parametrize("largest", [1, 2])
def test_operators_within_a_largest_number_of_parents(largest: int) -> None:
    """All members of a class have the same largest family, so that one of them tells."""

    def widest(graph: DAG) -> int:
        return max(map(len, graph.parent_indices))

    for cpdag in random_classes(5, 40):
        assert len({widest(member) for member in cpdag.iter_members()}) == 1
        if widest(cpdag.consistent_extension()) > largest:
            continue
        expected, found = by_definition(cpdag), by_operators(cpdag, largest)
        for kind, reached in expected.items():
            within = {step for step in reached if widest(step[0].consistent_extension()) <= largest}
            assert set(found[kind]) == within


@pytest.mark.parametrize("seed", range(5))
def test_families_that_an_operator_says_it_changes(seed: int) -> None:
    """The child's parents in the member are its own and the clique, and so is what the step leads to."""
    graph = EquivalenceClass(next(random_classes(6, 20 + seed)))
    names = graph.cpdag.nodes

    def parents(dag: DAG, node: int) -> int:
        return sum(1 << dag.index(parent) for parent in dag.parents(names[node]))

    for child in range(len(names)):
        for step in inserts(graph, child, 5):
            if graph.is_valid(step):
                after = graph.after(step)
                assert parents(after, child) == graph.parents[child] | step.clique | 1 << step.parent
        for step in deletes(graph, child):
            assert parents(graph.after(step), child) == (graph.parents[child] | step.clique) & ~(1 << step.parent)
        for step in turns(graph, child, 5):
            if graph.is_valid(step):
                after = graph.after(step)
                assert parents(after, child) == graph.parents[child] | step.clique | 1 << step.parent


def test_by_hand() -> None:
    """a - b - c: c joins a in three ways; as a collider it is not, since b - c already leads there."""
    graph = EquivalenceClass(PDAG([], [("a", "b"), ("b", "c")]))
    steps = list(inserts(graph, 2, 2))
    assert steps == [Operator("add", 0, 2, 0b010)]  # b is adjacent to both, and so among the parents
    assert list(inserts(graph, 2, 1)) == []
    assert str(graph.after(steps[0]).cpdag()) == "a - b\na - c\nb - c"
    assert list(turns(graph, 1, 2)) == [Operator("reverse", 0, 1, 0b100), Operator("reverse", 2, 1, 0b001)]
    assert str(graph.after(Operator("reverse", 0, 1, 0b100)).cpdag()) == "a -> b\nc -> b"
    collider = EquivalenceClass(PDAG([("a", "b"), ("c", "b")]))
    assert list(turns(collider, 0, 2)) == [Operator("reverse", 1, 0, 0)]
    assert str(collider.after(Operator("reverse", 1, 0, 0)).cpdag()) == "a - b\nb - c"
