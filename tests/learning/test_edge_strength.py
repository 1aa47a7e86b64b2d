"""Edge strengths: against the values that R's bnlearn prints, and against whole scores and tests."""

from __future__ import annotations

import pytest

from pgm.data import Dataset
from pgm.errors import GraphError, MissingDataError, TableError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import fit_parameters, hill_climb, score
from pgm.learning.independence.tests import independence_test
from pgm.learning.scores.scoring import BIC, EBIC, NodeAverage
from pgm.learning.scores.structure_priors import EdgePrior
from pgm.learning.validation.edge_strength import edge_strengths
from tests.data.bundled import TRUE_GRAPHS, table

LEARNING_TEST = DAG.from_string(TRUE_GRAPHS["learning.test"])

PUBLISHED = [
    ("A", "D", -1938.9499),
    ("A", "B", -1153.8796),
    ("C", "D", -823.7605),
    ("B", "E", -720.8266),
    ("F", "E", -549.2300),
]
"""arc.strength(hc(learning.test), learning.test, criterion = "bic")."""


def test_published_values():
    found = edge_strengths(LEARNING_TEST, table("learning.test"))
    assert [edge[:2] for edge in found.edges] == [edge[:2] for edge in PUBLISHED]
    for parent, child, value in PUBLISHED:
        assert found[parent, child] == pytest.approx(value, abs=5e-5)


def test_an_edge_too_weak_is_positive():
    graph = DAG.from_string(TRUE_GRAPHS["asia"])
    found = edge_strengths(graph, table("asia"))
    assert found.edges[-1][:2] == ("A", "T")
    assert found["A", "T"] == pytest.approx(2.45, abs=0.005)  # bnlearn's value
    assert all(edge.value < 0 for edge in found.edges[:-1])


@pytest.mark.parametrize("measure", ["aic", "bic", "k2", "qnml", EBIC(), BIC(structure_prior=EdgePrior(-2.5))])
def test_each_is_a_difference_of_two_scores_of_whole_graphs(measure):
    data = table("asia").select(["S", "L", "B", "D", "E", "A"])  # A is no node
    graph = DAG.from_string("[S][L|S][B|S:L][D|B:E:L][E|L]")
    found = edge_strengths(graph, data, measure)
    assert len(found) == len(graph.edges)
    for edge in graph.edges:
        without = score(graph.remove_edges([edge]), data, measure)
        assert found[edge] == pytest.approx(without - score(graph, data, measure), abs=1e-8)


def test_available_cases():
    data = Dataset({"a": [0, 1, 0, 1, None, 1, 0, 0], "b": [0, 1, 0, 1, 1, None, 0, 1], "c": [0, 0, 1, 1, 1, 0, 1, 0]})
    graph, measure = DAG.from_string("[a][b|a:c][c]"), NodeAverage()
    found = edge_strengths(graph, data, measure)
    for edge in graph.edges:
        without = score(graph.remove_edges([edge]), data, measure)
        assert found[edge] == pytest.approx(without - score(graph, data, measure), abs=1e-9)
    with pytest.raises(MissingDataError):
        edge_strengths(graph, data)


@pytest.mark.parametrize("method", ["g2", "chi2-adjusted"])
def test_p_values(method):
    data = table("asia").head(300)
    graph = DAG.from_string("[S][L|S][B|S][D|B:E:X][E|L][X]")
    found = edge_strengths(graph, data, method=method)
    assert found.is_p_value
    values = [edge.value for edge in found.edges]
    assert values == sorted(values)
    assert found["X", "D"] == independence_test(data, "D", "X", ["B", "E"], method=method).p_value
    assert found["S", "B"] == independence_test(data, "S", "B", method=method).p_value


def test_permutations_are_repeatable():
    data, graph = table("lizards"), DAG.from_string("[Species][Height|Species][Diameter]")
    first, second = (edge_strengths(graph, data, method="g2-permutation") for _ in range(2))
    assert first == second


def test_what_has_a_graph_is_a_graph():
    data = table("lizards")
    result = hill_climb(data)
    expected = edge_strengths(result.dag, data)
    assert edge_strengths(result, data) == expected == edge_strengths(fit_parameters(result.dag, data), data)


def test_printing():
    data, graph = table("learning.test"), LEARNING_TEST
    assert str(edge_strengths(graph, data)) == (
        "edge    change of bic without the edge\n"
        "A -> D  -1938.9499\nA -> B  -1153.8796\nC -> D   -823.7605\nB -> E   -720.8266\nF -> E   -549.2300"
    )
    assert repr(edge_strengths(graph, data, method="g2")) == "<EdgeStrengths: p-values (g2) of 5 edges>"
    assert str(edge_strengths(DAG(nodes=["A"]), data)) == "edge  change of bic without the edge"


def test_errors():
    data = table("learning.test")
    with pytest.raises(TableError, match="'aic' and 'g2'"):
        edge_strengths(LEARNING_TEST, data, "aic", method="g2")
    with pytest.raises(UnknownNameError, match="no edge.*B -> E"):
        edge_strengths(LEARNING_TEST, data)["B", "A"]
    with pytest.raises(UnknownNameError, match="'G'"):
        edge_strengths(DAG([("A", "G")]), data)
    with pytest.raises(GraphError):
        edge_strengths("[A][B|A]", data)
