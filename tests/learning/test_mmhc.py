"""Max-min parents and children, and the search among them."""

from __future__ import annotations

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import hill_climb, score
from pgm.learning.independence.mmhc import mmhc, mmpc
from tests.data.bundled import TRUE_GRAPHS, table


def true_graph(name):
    return DAG.from_string(TRUE_GRAPHS[name])


def test_learning_test_is_found_as_it_is():
    truth = true_graph("learning.test")
    assert mmpc(table("learning.test")) == truth.skeleton()
    result = mmhc(table("learning.test"))
    assert result.dag.cpdag() == truth.cpdag()
    assert result.score == pytest.approx(-24006.734232, abs=1e-6)


def test_alarm_has_no_false_neighbours():
    found = mmpc(table("alarm"), alpha=0.01)
    truth = true_graph("alarm").skeleton()
    assert all(edge in truth for edge in found)
    assert len(found) >= 40  # of 46


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_the_search_keeps_to_the_candidates_and_scores_what_it_says(name):
    data = table(name)
    joined = mmpc(data, alpha=0.01)
    result = mmhc(data, "aic", alpha=0.01, max_parents=2)
    assert all(edge in joined for edge in result.dag.edges)
    assert max(len(result.dag.parents(node)) for node in result.dag.nodes) <= 2
    assert result.score == pytest.approx(score(result.dag, data, "aic"), abs=1e-6)
    assert result.score <= hill_climb(data, "aic").score + 1e-6


def test_the_order_of_columns_and_the_names_of_states_do_not_matter():
    data = table("asia")
    found = mmpc(data)
    assert mmpc(data.select(["X", "D", "A", "S", "T", "L", "B", "E"])) == found
    renamed = {name: [f"{label}!" for label in column] for name, column in data.to_dict().items()}
    assert mmpc(renamed) == found


def test_candidates_must_be_mutual_and_false_ones_go():
    """A chain: the ends depend on each other, but not given the middle."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, 4000)
    y = x ^ (rng.random(4000) < 0.1)
    z = y ^ (rng.random(4000) < 0.1)
    assert mmpc({"z": z, "x": x, "y": y}).edges == (("z", "y"), ("x", "y"))


def test_constraints():
    data = table("learning.test")
    skeleton = mmpc(data, required=[("A", "F")], forbidden=[("A", "B"), ("B", "A"), ("E", "F")])
    assert ("A", "F") in skeleton
    assert ("A", "B") not in skeleton
    assert ("E", "F") in skeleton  # one direction is left
    result = mmhc(data, required=[("A", "F")], forbidden=[("A", "B"), ("B", "A")], tiers=[["E"], ["F"]])
    assert result.dag.has_edge("A", "F")
    assert not result.dag.has_edge("A", "B")
    assert not result.dag.has_edge("F", "E")
    with pytest.raises(GraphError, match="both required and forbidden"):
        mmhc(data, required=[("A", "B")], forbidden=[("A", "B")])


def test_no_limit_finds_no_more_edges():
    data = table("learning.test")
    assert set(mmpc(data, max_condition=None)) <= set(mmpc(data, max_condition=0))
    assert len(mmpc(data, max_condition=0)) > len(mmpc(data, max_condition=1))


def test_errors_and_small_data():
    with pytest.raises(UnknownNameError, match="'g2-permutation'"):
        mmhc(table("lizards"), method="g2-permutation")
    with pytest.raises(DataError, match="alpha"):
        mmpc(table("lizards"), alpha=1.0)
    with pytest.raises(MissingDataError):
        mmhc({"a": [0, None], "b": [0, 1]})
    with pytest.raises(DataError, match="'id' has 300 states in 300 rows and looks like an identifier"):
        mmhc({"a": [0, 1] * 150, "id": range(300)})
    assert mmpc({"a": [0, 1]}).edges == ()
    empty = Dataset({"a": [], "b": []}, states={"a": [0, 1], "b": [0, 1]})
    assert mmpc(empty).edges == ()
