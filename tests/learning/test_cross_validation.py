"""Cross-validation: against leaving out one row at a time by hand, and against folds spelled out in rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import fit_parameters, hill_climb
from pgm.learning.independence.pc import pc
from pgm.learning.trees import tree_augmented
from pgm.learning.validation.cross_validation import ImpossibleRowsWarning, cross_validate, deal
from tests.data.bundled import table

ROWS = [("n", 0, "u"), ("n", 0, "u"), ("n", 1, "v"), ("y", 1, "v"), ("y", 1, "u"), ("y", 1, "v"), ("n", 0, "v"),
        ("y", 0, "v"), ("y", 1, "v"), ("n", 0, "u"), ("n", 2, "u")]  # fmt: skip
COLUMNS = dict(zip("abc", map(list, zip(*ROWS, strict=True)), strict=True))
STATES = {"a": ["n", "y"], "b": [0, 1, 2], "c": ["u", "v"]}
FORK = DAG.from_string("[a][b|a][c|a]")


def by_hand(rows, pseudocount):
    """P(a, b, c) = P(a) P(b | a) P(c | a) from counts alone."""
    n_a, n_ab, n_ac = (Counter(key) for key in zip(*((a, (a, b), (a, c)) for a, b, c in rows), strict=True))

    def probability(a, b, c):
        first = (n_a[a] + pseudocount) / (len(rows) + 2 * pseudocount)
        second = (n_ab[a, b] + pseudocount) / (n_a[a] + 3 * pseudocount)
        return first * second * (n_ac[a, c] + pseudocount) / (n_a[a] + 2 * pseudocount)

    return probability


def without(number):
    return ROWS[:number] + ROWS[number + 1 :]


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize("pseudocount", [1, 0.25])
def test_leaving_one_out(pseudocount):
    expected = [math.log(by_hand(without(number), pseudocount)(*row)) for number, row in enumerate(ROWS)]
    result = cross_validate(COLUMNS, FORK, folds=len(ROWS), pseudocount=pseudocount)
    assert [fold.n_rows for fold in result.folds] == [1] * len(ROWS)
    assert sorted(fold.log_likelihood for fold in result.folds) == pytest.approx(sorted(expected), rel=1e-12)
    assert result.total_log_likelihood == pytest.approx(sum(expected), rel=1e-12)
    assert result.log_likelihood.mean == pytest.approx(np.mean(expected), rel=1e-12)
    spread = np.std(expected, ddof=1) / math.sqrt(len(ROWS))
    assert result.log_likelihood.standard_error == pytest.approx(spread, rel=1e-12)
    assert result.error_rate is None
    if pseudocount == 1:
        assert cross_validate(COLUMNS, FORK, folds=len(ROWS)) == result


def test_predicting_leaving_one_out():
    logarithms, errors = [], 0
    for number, (a, b, c) in enumerate(ROWS):
        probability = by_hand(without(number), 1)
        joint = {state: probability(state, b, c) for state in STATES["a"]}
        logarithms.append(math.log(joint[a] / sum(joint.values())))
        errors += max(joint, key=joint.__getitem__) != a
    assert 0 < errors < len(ROWS) / 2
    result = cross_validate(COLUMNS, FORK, folds=len(ROWS), loss=("prediction", "a"))
    assert result.error_rate.mean == pytest.approx(errors / len(ROWS))
    assert result.total_log_likelihood == pytest.approx(sum(logarithms), rel=1e-12)
    wrong = np.array([1] * errors + [0] * (len(ROWS) - errors))
    assert result.error_rate.standard_error == pytest.approx(wrong.std(ddof=1) / math.sqrt(len(ROWS)))


@pytest.mark.parametrize("options", [{}, {"stratify": "B"}, {"equivalent_sample_size": 2.0}, {"repeats": 2}])
def test_folds_spelled_out_in_rows(options):
    data = table("asia").head(400)
    result = cross_validate(data, hill_climb, folds=4, rng=8, score="aic", **options)
    states, counts = data.count_occupied(sorted(data.names))
    rng, prior = np.random.default_rng(8), options.get("equivalent_sample_size")
    strata = states[:, sorted(data.names).index("B")] if "stratify" in options else None
    means = []
    for repeat in range(options.get("repeats", 1)):
        for number, held_out in enumerate(deal(counts, 4, rng, strata)):
            train, test = (
                Dataset.from_codes(
                    [data.variable(name) for name in sorted(data.names)], np.repeat(states, some, axis=0)
                ).select(data.names)
                for some in (counts - held_out, held_out)
            )
            dag = hill_climb(train, "aic").dag
            net = fit_parameters(dag, train, pseudocount=0 if prior else 1, equivalent_sample_size=prior)
            rows = [dict(zip(test.names, row, strict=True)) for row in zip(*test.to_dict().values(), strict=True)]
            fold = result.folds[4 * repeat + number]
            assert fold[:4] == (repeat, number, dag, 100)
            assert fold.log_likelihood == pytest.approx(sum(net.log_probability(row) for row in rows), rel=1e-9)
            means.append(fold.log_likelihood / 100)
    assert result.log_likelihood.mean == pytest.approx(np.mean(means), rel=1e-12)
    spread = np.reshape(means, (-1, 4)).var(axis=1, ddof=1).mean()
    assert result.log_likelihood.standard_error == pytest.approx(math.sqrt(spread / 4), rel=1e-9)


# ---------------------------------------------------------------- dealing


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_every_row_is_held_out_once(folds):
    counts = np.array([5, 1, 9, 4, 2])
    dealt = deal(counts, folds, np.random.default_rng(0))
    assert dealt.min() >= 0
    assert dealt.sum(axis=0).tolist() == counts.tolist()
    assert np.ptp(dealt.sum(axis=1)) <= 1
    assert dealt.tolist() != deal(counts, folds, np.random.default_rng(1)).tolist()


def test_strata_are_spread_evenly():
    counts, strata = np.array([5, 6, 9, 4, 2]), np.array([1, 0, 1, 0, 2])
    dealt = deal(counts, 4, np.random.default_rng(0), strata)
    assert dealt.sum(axis=0).tolist() == counts.tolist()
    assert np.ptp(dealt.sum(axis=1)) <= 1
    for stratum in range(3):
        assert np.ptp(dealt[:, strata == stratum].sum(axis=1)) <= 1


def test_each_row_is_as_likely_in_each_fold():
    counts = np.array([3, 1])
    lonely = [deal(counts, 2, np.random.default_rng(seed))[0, 1] for seed in range(400)]
    assert np.mean(lonely) == pytest.approx(0.5, abs=0.1)


def test_the_order_of_rows_and_columns_does_not_matter():
    data = Dataset(COLUMNS, states=STATES)
    turned = data.take(np.arange(data.n_rows)[::-1]).select(["c", "b", "a"])
    assert cross_validate(turned, FORK, folds=3) == cross_validate(data, FORK, folds=3)
    assert cross_validate(data, FORK, folds=3) != cross_validate(data, FORK, folds=3, rng=1)


def test_weights_count_as_rows():
    states, counts = Dataset(COLUMNS).count_occupied(["a", "b", "c"])
    weighted = Dataset.from_codes(Dataset(COLUMNS).variables, states, counts)
    assert cross_validate(weighted, FORK, folds=3) == cross_validate(COLUMNS, FORK, folds=3)
    with pytest.raises(DataError, match="fractions"):
        cross_validate(Dataset.from_codes(weighted.variables, states, counts / 2), FORK, folds=3)


# ---------------------------------------------------------------- impossible rows


def test_impossible_rows_are_counted():
    possible = [by_hand(without(number), 0)(*row) for number, row in enumerate(ROWS)]
    assert possible.count(0) == 4  # a and b, or a and c, are together in no other row
    with pytest.warns(ImpossibleRowsWarning, match="4 of 11 rows held out have probability zero, in folds"):
        result = cross_validate(COLUMNS, FORK, folds=len(ROWS), pseudocount=0)
    assert result.impossible == 4
    assert result.log_likelihood == (-math.inf, math.inf)
    assert result.total_log_likelihood == -math.inf
    bad = [fold for fold in result.folds if fold.impossible]
    assert [(fold.log_likelihood, fold.log_likelihood_per_row) for fold in bad] == [(0, -math.inf)] * 4
    rest = sum(math.log(p) for p in possible if p)
    assert math.fsum(fold.log_likelihood for fold in result.folds) == pytest.approx(rest)
    assert f"impossible: 4 of 11 rows; the others {rest / 7:.6g}" in str(result)


def test_predictions_from_impossible_evidence_are_wrong():
    undefined = zero = errors = 0
    for number, (a, b, c) in enumerate(ROWS):
        joint = {state: by_hand(without(number), 0)(a, b, state) for state in STATES["c"]}
        undefined += sum(joint.values()) == 0
        zero += joint[c] == 0
        errors += sum(joint.values()) == 0 or max(joint, key=joint.__getitem__) != c
    assert (undefined, zero, errors) == (3, 4, 5)
    with pytest.warns(ImpossibleRowsWarning):
        result = cross_validate(COLUMNS, FORK, folds=len(ROWS), pseudocount=0, loss=("prediction", "c"))
    assert result.impossible == zero
    assert result.error_rate.mean == pytest.approx(errors / len(ROWS))
    assert result.log_likelihood.mean == -math.inf


# ---------------------------------------------------------------- the rest


def test_more_edges_do_not_help_by_themselves():
    data = table("learning.test").head(1000)
    true = cross_validate(data, DAG.from_string("[A][C][F][B|A][D|A:C][E|B:F]"), folds=5)
    complete = cross_validate(data, hill_climb, folds=5, score="loglik")
    empty = cross_validate(data, DAG(nodes=data.names), folds=5)
    assert all(len(fold.dag.edges) == 15 for fold in complete.folds)
    means = [[fold.log_likelihood_per_row for fold in result.folds] for result in (true, complete, empty)]
    assert all(best > max(others) for best, *others in zip(*means, strict=True))


def test_searches_that_return_other_things():
    data = table("asia").head(500)
    result = cross_validate(data, pc, folds=2)
    assert all(isinstance(fold.dag, DAG) for fold in result.folds)
    tan = cross_validate(data, tree_augmented, folds=2, loss=("prediction", "D"), target="D")
    assert all(fold.dag.children("D") == tuple(sorted(set("ASTLBEX"), key=data.names.index)) for fold in tan.folds)
    assert tan.error_rate.mean < 0.3


def test_only_the_nodes_of_a_given_graph_matter():
    data = {**COLUMNS, "other": [None] * len(ROWS)}
    expected = cross_validate({name: COLUMNS[name] for name in "ab"}, DAG([("a", "b")]), folds=3)
    assert cross_validate(data, DAG([("a", "b")]), folds=3) == expected
    net = fit_parameters(DAG([("a", "b")]), COLUMNS)
    assert cross_validate(Dataset(COLUMNS), net, folds=3) == expected


def test_printing():
    text = str(cross_validate(COLUMNS, FORK, folds=5, loss=("prediction", "a"), repeats=2))
    lines = text.splitlines()
    assert lines[0].startswith("CrossValidation: 5 folds x 2 repeats, 11 rows, log-likelihood of a -0.")
    assert lines[3].split() == ["fold", "rows", "edges", "per", "row", "error", "rate"]
    assert [line.split()[0] for line in lines[4:]] == [f"{repeat}.{fold}" for repeat in (1, 2) for fold in range(1, 6)]
    assert "... 2 more" in str(cross_validate(COLUMNS, FORK, folds=11, repeats=2))


def test_errors():
    for wrong in (1, 2.0, True):
        with pytest.raises(DataError, match="folds must be a whole number from 2"):
            cross_validate(COLUMNS, FORK, folds=wrong)
    with pytest.raises(DataError, match="12 folds need as many rows; there are 11"):
        cross_validate(COLUMNS, FORK, folds=12)
    with pytest.raises(DataError, match="repeats"):
        cross_validate(COLUMNS, FORK, folds=2, repeats=0)
    for loss in ("likelihood", ("prediction",), ("predict", "a"), None):
        with pytest.raises(DataError, match="loss must be"):
            cross_validate(COLUMNS, FORK, folds=2, loss=loss)
    with pytest.raises(UnknownNameError, match="'d' to predict"):
        cross_validate(COLUMNS, FORK, folds=2, loss=("prediction", "d"))
    with pytest.raises(UnknownNameError, match="'d' to stratify"):
        cross_validate(COLUMNS, FORK, folds=2, stratify="d")
    with pytest.raises(DataError, match="only column"):
        cross_validate({"a": [0, 1]}, hill_climb, folds=2, loss=("prediction", "a"))
    with pytest.raises(GraphError, match="'score'"):
        cross_validate(COLUMNS, FORK, folds=2, score="bic")
    with pytest.raises(GraphError, match="not str"):
        cross_validate(COLUMNS, lambda data: "a graph", folds=2)
    with pytest.raises(GraphError, match="not str"):
        cross_validate(COLUMNS, "[a][b|a]", folds=2)
    with pytest.raises(MissingDataError):
        cross_validate({"a": [0, None, 1]}, hill_climb, folds=2)
