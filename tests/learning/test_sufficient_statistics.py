"""Counts as values: adding parts is counting the whole, and files give back every bit."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.data.statistics import SufficientStatistics
from pgm.errors import DataError, FormatError, MissingDataError, TableError, UnknownNameError
from pgm.factors.variable import Variable
from pgm.graph.dag import DAG
from pgm.io.counts import counts_from_string, counts_to_string, read_counts, write_counts
from pgm.learning import fit_parameters
from pgm.learning.parameters import sufficient_statistics, update_statistics
from tests.data.bundled import TRUE_GRAPHS, table

VARIABLES = [Variable("a", [0, 1]), Variable("b", ["x", "y", "z"]), Variable("c", [False, True])]
DAG_ABC = DAG([("b", "c"), ("a", "c"), ("a", "b")], nodes=["a", "b", "c"])


@st.composite
def datasets(draw, holes=False, max_rows=30):
    n = draw(st.integers(0, max_rows))
    columns = [draw(st.lists(st.integers(0, v.cardinality - 1 + holes), min_size=n, max_size=n)) for v in VARIABLES]
    weights = draw(st.none() | st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return Dataset.from_codes(VARIABLES, [np.array(column, int) for column in columns], weights)


def test_files_of_counts_are_found_in_pgm_io():
    code = (
        "import sys, pgm; pgm.io.read; assert 'pgm.io.counts' not in sys.modules; "
        "assert {'read_counts', 'write_counts'} <= set(dir(pgm.io)); "
        "assert pgm.io.write_counts is sys.modules['pgm.io.counts'].write_counts; assert pgm.io.read_counts"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match=r"module 'pgm\.io' has no attribute 'counts_of'"):
        pgm.io.counts_of  # noqa: B018


@pytest.mark.parametrize("missing", ["error", "available", "complete_rows"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_parts_add_up_to_the_whole(missing, data):
    rows = data.draw(datasets(holes=missing != "error"))
    size = data.draw(st.integers(1, 10))
    whole = sufficient_statistics(DAG_ABC, rows, missing=missing)
    parts = [sufficient_statistics(DAG_ABC, part, missing=missing) for part in rows.chunks(size)]
    empty = sufficient_statistics(DAG_ABC, rows.take([]), missing=missing)
    assert sum(parts, start=empty) == whole
    if parts:
        assert sum(parts) == sum(reversed(parts)) == whole
        updated = parts[0]
        for part in list(rows.chunks(size))[1:]:
            updated = update_statistics(updated, part)
        assert updated == whole
        assert whole - parts[0] == sum(parts[1:], start=empty)
    assert counts_from_string(counts_to_string(whole)) == whole
    fitted = fit_parameters(DAG_ABC, whole, pseudocount=1, missing=missing)
    assert fitted == fit_parameters(DAG_ABC, rows, pseudocount=1, missing=missing)


def test_an_updated_network_is_the_network_of_all_rows():
    dag, data = DAG.from_string(TRUE_GRAPHS["alarm"]), table("alarm")
    counts = sufficient_statistics(dag, data.take(slice(0, 15_000)))
    counts = update_statistics(counts, data.take(slice(15_000, None)).to_dict())
    for prior in ({"pseudocount": 1}, {"equivalent_sample_size": 10}, {"prior": "hierarchical"}):
        assert fit_parameters(dag, counts, **prior) == fit_parameters(dag, data, **prior)


def test_fractional_weights_add_up():
    rows = Dataset.from_codes(VARIABLES, np.random.default_rng(0).integers(0, 2, (50, 3)), np.linspace(0.1, 3, 50))
    whole = sufficient_statistics(DAG_ABC, rows)
    total = sum(sufficient_statistics(DAG_ABC, part) for part in rows.chunks(7))
    for node in "abc":
        assert np.allclose(total.counts(node).values, whole.counts(node).values, rtol=1e-14)
    assert total.total_weight == pytest.approx(whole.total_weight)
    assert counts_from_string(counts_to_string(total)) == total
    for part in reversed(list(rows.chunks(7))):
        total = total - sufficient_statistics(DAG_ABC, part)
    assert max(float(table.max()) for table in total.tables) < 1e-12


def test_counts_by_label():
    counts = sufficient_statistics(DAG([("a", "b")]), {"a": [0, 0, 1], "b": ["x", "y", "y"]})
    assert counts.counts("b")[0, "x"] == counts.counts("b")[1, "y"] == 1
    assert counts.counts("b")[1, "x"] == 0
    assert counts.counts("a").to_dict() == {0: 2, 1: 1}
    assert repr(counts) == "<SufficientStatistics: 2 tables, 6 cells, of 3 rows>"
    with pytest.raises(UnknownNameError, match="no counts of 'c'; the nodes are 'a', 'b'"):
        counts.counts("c")


def test_a_value():
    counts = sufficient_statistics(DAG_ABC, Dataset.from_codes(VARIABLES, np.zeros((4, 3), int)))
    assert pickle.loads(pickle.dumps(counts)) == copy.deepcopy(counts) == counts
    assert hash(counts) == hash(copy.copy(counts))
    assert counts != counts + counts
    assert counts != 1
    with pytest.raises(AttributeError, match="immutable"):
        counts.n_rows = 1
    with pytest.raises(ValueError, match="read-only"):
        counts.tables[0][0] = 7
    with pytest.raises(TypeError):
        counts + 1


def test_another_order_of_nodes_and_parents():
    rows = Dataset.from_codes(VARIABLES, np.random.default_rng(1).integers(0, 2, (40, 3)))
    turned = DAG([("a", "b"), ("a", "c"), ("b", "c")], nodes=["c", "b", "a"])
    assert turned.parents("c") != DAG_ABC.parents("c")
    mine, theirs = sufficient_statistics(DAG_ABC, rows), sufficient_statistics(turned, rows)
    assert mine + theirs == mine + mine
    assert fit_parameters(turned, mine, pseudocount=1) == fit_parameters(turned, rows, pseudocount=1)
    assert fit_parameters(turned, mine, pseudocount=1).cpt("c").names == (*turned.parents("c"), "c")


def test_what_cannot_be_added():
    ab, rows = DAG([("a", "b")]), {"a": [0, 1], "b": [0, 1]}
    counts = sufficient_statistics(ab, rows)
    with pytest.raises(DataError, match=r"'b' has the states 0, 1 and 0, 1, 2: declare the states"):
        counts + sufficient_statistics(ab, {"a": [0, 1, 1], "b": [0, 1, 2]})
    with pytest.raises(DataError, match=r"'c' is a node of one only"):
        counts + sufficient_statistics(DAG([("a", "b"), ("b", "c")]), {**rows, "c": [0, 1]})
    with pytest.raises(DataError, match=r"'a' was counted with the parents 'b', not nothing"):
        counts + sufficient_statistics(DAG([("b", "a")]), rows)
    with pytest.raises(DataError, match=r"not all among those counted: 'a' would have -1 left"):
        counts - (counts + counts)
    with pytest.raises(DataError, match=r"two ways, 'available' and 'complete_rows'"):
        _ = sufficient_statistics(ab, rows, missing="available") + sufficient_statistics(
            ab, rows, missing="complete_rows"
        )
    both = counts + sufficient_statistics(ab, {"a": [0, 1, None], "b": [0, 1, 1]}, missing="available")
    assert (both.missing, both.n_rows, both.weight_used("b")) == ("available", 5, 4)


def test_what_cannot_be_updated_or_fitted():
    counts = sufficient_statistics(DAG([("a", "b")]), {"a": [0, 1], "b": [0, 1]})
    with pytest.raises(DataError, match="'b' has no state 2"):
        update_statistics(counts, {"a": [0], "b": [2]})
    with pytest.raises(UnknownNameError, match="'b'"):
        update_statistics(counts, {"a": [0]})
    with pytest.raises(MissingDataError):
        update_statistics(counts, {"a": [None], "b": [0]})
    with pytest.raises(DataError, match="not BayesianNetwork"):
        update_statistics(pgm.networks.load("asia"), {"a": [0]})
    with pytest.raises(UnknownNameError, match="'c'"):
        fit_parameters(DAG([("a", "c")]), counts)
    with pytest.raises(DataError, match="count the rows again"):
        fit_parameters(DAG([("b", "a")]), counts)
    with pytest.raises(DataError, match="missing='error', not 'available'"):
        fit_parameters(DAG([("a", "b")]), counts, missing="available")
    with pytest.raises(TableError, match="pseudocount"):
        fit_parameters(DAG([("a", "b")]), counts, pseudocount=-1)


X = Variable("x", [0, 1])


@pytest.mark.parametrize(("variables", "tables", "match"), [
    ([X], [], "with 0 tables"),
    ([], [np.ones(2)], "the nodes are 'x'"),
    ([Variable("y", [0, 1])], [np.ones(2)], "'x'; the variables are 'y'"),
    ([X], [np.ones(3)], r"shape \(2,\), not \(3,\)"),
    ([X], [np.array([1, -1])], "the least is -1"),
    ([X], [np.array([1, np.nan])], "finite numbers from 0"),
])  # fmt: skip
def test_parts_that_do_not_belong_together(variables, tables, match):
    with pytest.raises(DataError, match=match):
        SufficientStatistics(DAG(nodes="x"), variables, tables, 2)


# Files.


def test_labels_keep_their_types_and_names_may_be_hostile(tmp_path):
    states = ["\ud800", "1", 1, True, 1.5, 'quo"te\n', "é"]
    x, y = Variable("x {}", states), Variable("ß\t", [0, 1])
    data = Dataset.from_codes([x, y], np.array([[i % 7, i % 2] for i in range(9)]))
    counts = sufficient_statistics(DAG([("ß\t", "x {}")]), data)
    for name in ("counts.json", "counts.json.gz"):
        write_counts(counts, tmp_path / name)
        found = read_counts(tmp_path / name)
        assert found == counts
        assert [type(label) for label in found.variable("x {}").states] == [type(label) for label in states]
    assert (tmp_path / "counts.json.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_labels_that_cannot_be_kept():
    with pytest.raises(FormatError, match=r"label \(1, 2\) of 'x'"):
        counts_to_string(SufficientStatistics(DAG(nodes="x"), [Variable("x", [(1, 2)])], [np.ones(1)], 1))


GOOD = json.loads(counts_to_string(sufficient_statistics(DAG([("a", "b")]), {"a": [0, 1], "b": [0, 1]})))


def changed(path, value):
    content = copy.deepcopy(GOOD)
    *inside, last = path
    place = content
    for key in inside:
        place = place[key]
    place[last] = value
    return json.dumps(content)


@pytest.mark.parametrize(("text", "match"), [
    ("[]", "these are no counts"),
    ("{", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ('{"format": 1, "format": 2}', "a key twice"),
    (changed(["format"], "pgm-network"), "these are no counts"),
    (changed(["version"], 2), "version 2"),
    (changed(["extra"], 2), "must have the keys"),
    (changed(["rows"], -1), "whole number from 0"),
    (changed(["rows"], True), "whole number from 0"),
    (changed(["weight"], "2"), "weight must be a number"),
    (changed(["weight"], float("nan")), "NaN is not a number"),
    (changed(["missing"], "drop"), "no way 'drop'"),
    (changed(["variables"], {}), "must be a list"),
    (changed(["variables", 0], 1), "variable 1 must be an object"),
    (changed(["variables", 0, "name"], 1), "name of variable 1"),
    (changed(["variables", 0, "name"], "b"), "declared twice"),
    (changed(["variables", 0, "states"], [0, None]), "states of 'a' must be a list of"),
    (changed(["variables", 0, "states"], [0, 0]), "'a'"),
    (changed(["variables", 0, "parents"], ["b"]), "cycle"),
    (changed(["variables", 0, "parents"], ["c"]), "'c', a parent of 'a'"),
    (changed(["variables", 1, "parents"], ["a", "a"]), "."),
    (changed(["variables", 0, "cells"], [0, 2]), "different numbers from 0 to 1"),
    (changed(["variables", 0, "cells"], [0, 0]), "different numbers"),
    (changed(["variables", 0, "cells"], [0, True]), "cells of 'a' must be a list of int"),
    (changed(["variables", 0, "counts"], [1]), "are 2, but there are 1"),
    (changed(["variables", 0, "counts"], [1, -1]), "finite numbers from 0"),
    (changed(["variables", 0, "counts"], [1, 10**30]), "too large"),
    (changed(["variables", 0, "counts"], [1, 10**400]).replace("1" + "0" * 400, "1e400"), "finite numbers"),
])  # fmt: skip
def test_files_that_break_the_rules(text, match, tmp_path):
    with pytest.raises(FormatError, match=match):
        counts_from_string(text)
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(FormatError, match="bad.json: "):
        read_counts(tmp_path / "bad.json")
