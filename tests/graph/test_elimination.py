"""Elimination orders: the graph games behind them, and published sizes."""

from __future__ import annotations

import math
from itertools import permutations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.graph.elimination import HEURISTICS, best_order, bits, eliminate, interaction_graph


@st.composite
def graphs(draw, max_size: int = 9):
    size = draw(st.integers(1, max_size))
    pairs = [(i, j) for i in range(size) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    cardinalities = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    return size, edges, cardinalities


def played(size, edges, cardinalities, order):
    """Play the elimination game on a networkx graph; return the summed clique sizes and the width."""
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(size))
    cost, width = 0, 0
    for vertex in order:
        around = list(graph[vertex])
        cost += cardinalities[vertex] * math.prod(cardinalities[other] for other in around)
        width = max(width, len(around))
        graph.add_edges_from((a, b) for a in around for b in around if a < b)
        graph.remove_node(vertex)
    return cost, width


@settings(deadline=None)
@given(graphs(), st.sampled_from(list(HEURISTICS)))
def test_cost_and_width_are_those_of_the_game(problem, heuristic):
    size, edges, cardinalities = problem
    found = eliminate(interaction_graph(edges, size), cardinalities, (1 << size) - 1, heuristic)
    assert sorted(found.order) == list(range(size))
    assert (found.cost, found.width) == played(size, edges, cardinalities, found.order)


@settings(deadline=None)
@given(graphs(), st.sampled_from(list(HEURISTICS)))
def test_each_choice_is_greedy(problem, heuristic):
    size, edges, cardinalities = problem
    order = eliminate(interaction_graph(edges, size), cardinalities, (1 << size) - 1, heuristic).order
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(size))

    def score(vertex):
        around = list(graph[vertex])
        missing = [(a, b) for a in around for b in around if a < b and not graph.has_edge(a, b)]
        if heuristic == "min-fill":
            return len(missing)
        if heuristic == "weighted min-fill":
            return sum(cardinalities[a] * cardinalities[b] for a, b in missing)
        return cardinalities[vertex] * math.prod(cardinalities[other] for other in around)

    for vertex in order:
        assert score(vertex) == min(map(score, graph))
        around = list(graph[vertex])
        graph.add_edges_from((a, b) for a in around for b in around if a < b)
        graph.remove_node(vertex)


@settings(deadline=None, max_examples=30)
@given(graphs(max_size=6))
def test_best_order_is_near_the_best_of_all_orders(problem):
    size, edges, cardinalities = problem
    found = best_order(interaction_graph(edges, size), cardinalities, (1 << size) - 1)
    best = min(played(size, edges, cardinalities, order)[0] for order in permutations(range(size)))
    assert best <= found.cost
    greedy = [eliminate(interaction_graph(edges, size), cardinalities, (1 << size) - 1, name) for name in HEURISTICS]
    assert found.cost == min(order.cost for order in greedy if found.width > 1 or order.heuristic == "min-fill")


def test_vertices_that_stay_are_not_eliminated():
    found = eliminate(interaction_graph([(0, 1), (1, 2), (2, 3)], 4), [2] * 4, 0b0110)
    assert sorted(found.order) == [1, 2]


def test_trees_have_width_one_and_grids_at_least_their_side():
    tree = interaction_graph([(i, (i - 1) // 2) for i in range(1, 200)], 200)
    assert best_order(tree, [2] * 200, (1 << 200) - 1).width == 1
    side = 6
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), ordering="sorted")
    assert best_order(interaction_graph(grid.edges, side**2), [2] * side**2, (1 << side**2) - 1).width >= side


def test_bits_of_a_large_set():
    members = [0, 3, 64, 1000]
    assert list(bits(sum(1 << member for member in members))) == members


PUBLISHED = {
    "asia": (2, 1.66), "sachs": (3, 2.43), "child": (3, 2.87), "insurance": (7, 4.76), "alarm": (4, 3.11),
    "hailfinder": (4, 4.07), "pathfinder": (6, 5.34), "mildew": (4, 6.73), "andes": (17, 5.97), "pigs": (10, 6.15),
    "munin1": (11, 8.65), "link": (15, 8.47), "diabetes": (5, 7.23), "munin2": (8, 6.75), "munin4": (8, 7.47),
    "munin": (8, 7.47),
}  # fmt: skip
"""Width, and log10 of the summed clique sizes that a greedy order is known to reach, by network."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_orders_are_as_small_as_published(name):
    import pgm

    net = pgm.networks.load(name)
    index = {variable: number for number, variable in enumerate(net.names)}
    families = [[index[v] for v in cpt.names] for cpt in net.cpts]
    cardinalities = [variable.cardinality for variable in net.variables]
    found = best_order(interaction_graph(families, len(net)), cardinalities, (1 << len(net)) - 1)
    width, log_cost = PUBLISHED[name]
    assert found.width <= width
    assert math.log10(found.cost) <= log_cost + 0.03
