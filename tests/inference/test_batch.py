"""Whole tables of rows against the same questions asked one by one, and against the enumerated joint."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import DataError, EvidenceError, ImpossibleEvidenceError, UnknownNameError
from pgm.factors import CPT, Variable
from pgm.inference import row_groups
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import chain, leak_network


@st.composite
def tables(draw):
    """A network and rows over some of its variables, with holes."""
    net = draw(strategies.networks(max_variables=5))
    names = draw(st.lists(st.sampled_from(net.names), min_size=1, unique=True))
    cells = [st.sampled_from([*range(net.variable(name).cardinality), None]) for name in names]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=12))
    frame = {
        name: [None if row[i] is None else net.variable(name).states[row[i]] for row in rows]
        for i, name in enumerate(names)
    }
    evidence = [
        {name: net.variable(name).states[code] for name, code in zip(names, row, strict=True) if code is not None}
        for row in rows
    ]
    return net, frame, evidence


@settings(max_examples=150, deadline=None)
@given(tables(), st.sampled_from([-1e12, 1e12]))
def test_rows_are_answered_like_single_questions(table, row_cost):
    """Both ways, grouped by pattern and all together, are forced through the cost of a row."""
    net, frame, evidence = table
    before = row_groups.PLAN_NS
    row_groups.PLAN_NS = row_cost
    try:
        found = net.posterior(frame, net.names, impossible="nan")
        log_likelihood = net.log_likelihood(frame)
        first = net.posterior(frame, net.names[0], impossible="nan")
    finally:
        row_groups.PLAN_NS = before
    for row, known in enumerate(evidence):
        p = oracles.probability(net, known)
        assert log_likelihood[row] == pytest.approx(math.log(p) if p else -math.inf, rel=1e-9, abs=1e-12)
        for name in net.names:
            if p == 0:
                assert np.isnan(found[name][row]).all()
            else:
                assert found[name][row] == pytest.approx(oracles.posterior(net, [name], known), abs=1e-12)
        assert first[row] == pytest.approx(found[net.names[0]][row], abs=1e-12, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(tables())
def test_imputation_is_the_most_probable_explanation_of_each_row(table):
    net, frame, evidence = table
    if any(oracles.probability(net, known) == 0 for known in evidence):
        for method in ("joint", "marginal"):
            with pytest.raises(ImpossibleEvidenceError, match="row"):
                net.impute(frame, method=method)
        return
    joint, marginal = net.impute(frame), net.impute(frame, method="marginal")
    assert joint.names == net.names
    assert not joint.has_missing
    filled, cells = joint.to_dict(), marginal.to_dict()
    for row, known in enumerate(evidence):
        best = {**known, **net.mpe(known).assignment}
        assert {name: filled[name][row] for name in net.names} == best
        for name, posterior in net.marginals(known).items():
            assert cells[name][row] == posterior.argmax()[name]


@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "pigs"])
def test_thousands_of_rows_with_holes(name):
    net = pgm.networks.load(name)
    rng = np.random.default_rng(0)
    best = net.mpe().assignment
    rows = []
    for _ in range(700):
        known = rng.random(len(net)) < 0.5
        rows.append([best[n] if k else None for n, k in zip(net.names, known, strict=True)])
    frame = pd.DataFrame(rows, columns=list(net.names))
    found = net.posterior(frame)
    log_likelihood = net.log_likelihood(frame)
    for row in range(0, 700, 100):
        evidence = {n: label for n, label in zip(net.names, rows[row], strict=True) if label is not None}
        assert log_likelihood[row] == pytest.approx(net.log_probability(evidence), rel=1e-9)
        for hidden, posterior in net.marginals(evidence).items():
            assert found[hidden][row] == pytest.approx(posterior.values, abs=1e-10)


def test_one_column_to_predict():
    net = pgm.networks.load("alarm")
    rng = np.random.default_rng(1)
    best = net.mpe().assignment
    frame = pd.DataFrame([best] * 1200)
    frame["HYPOVOLEMIA"] = None
    frame["CVP"] = rng.choice(["LOW", "NORMAL", "HIGH"], size=1200)
    found = net.posterior(frame, "HYPOVOLEMIA")
    labels = net.predict(frame, "HYPOVOLEMIA")
    for row in (0, 1, 600, 1199):
        evidence = {n: s for n, s in frame.iloc[row].items() if s is not None}
        expected = net.query("HYPOVOLEMIA", evidence)
        assert found[row] == pytest.approx(expected.values, abs=1e-12)
        assert labels[row] == expected.argmax()["HYPOVOLEMIA"]


def test_columns_go_by_name_and_labels_by_value():
    net = pgm.networks.load("asia")
    frame = pd.DataFrame({"unrelated": [1.5, 2.5], "xray": ["no", "yes"], "smoke": ["yes", None]})
    found = net.posterior(frame, "lung")
    assert found[0] == pytest.approx(net.query("lung", {"xray": "no", "smoke": "yes"}).values)
    assert found[1] == pytest.approx(net.query("lung", {"xray": "yes"}).values)
    assert set(net.posterior(frame)) == set(net.names) - {"xray"}
    as_codes = pgm.Dataset(frame[["xray"]], states={"xray": ["no", "yes"]})  # another order of states
    assert net.posterior(as_codes, "lung")[1] == pytest.approx(net.query("lung", {"xray": "yes"}).values)
    with pytest.raises(DataError, match="xray"):
        net.posterior({"xray": ["maybe"]}, "lung")
    with pytest.raises(DataError, match="no column of the data is a variable"):
        net.posterior({"other": [1]}, "lung")
    with pytest.raises(UnknownNameError, match="'tung'"):
        net.posterior(frame, "tung")
    with pytest.raises(EvidenceError, match="'raise' or 'nan'"):
        net.posterior(frame, "lung", impossible="ignore")
    assert net.posterior(frame.iloc[:0], "lung").shape == (0, 2)
    assert net.log_likelihood(frame.iloc[:0]).shape == (0,)


def test_impossible_rows_are_named_or_nan():
    net = leak_network()
    frame = {"Leak": ["no", "no", "yes"], "Burst": ["no", "no", None], "Wet": ["no", "yes", "no"]}
    with pytest.raises(ImpossibleEvidenceError, match=r"row 1: .*Leak='no', Burst='no', Wet='yes' \(2 such rows\)"):
        net.posterior(frame, "Bill")
    found = net.posterior(frame, "Bill", impossible="nan")
    assert found[0] == pytest.approx([0.7, 0.3])
    assert np.isnan(found[1:]).all()
    assert net.log_likelihood(frame)[1:].tolist() == [-math.inf, -math.inf]


def test_probability_of_partial_rows():
    """pomegranate issue 591: a row with unset cells had probability 1."""
    z, x, y = Variable("Z", [0, 1]), Variable("X", [0, 1]), Variable("Y", [0, 1, 2])
    net = BayesianNetwork([
        CPT(z, [0.5, 0.5]), CPT(x, [[0.9, 0.1], [0.2, 0.8]], [z]), CPT(y, [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]], [z]),
    ])  # fmt: skip
    frame = pd.DataFrame(
        [[None, 1, None], [None, 0, None], [None, 1, 2], [0, None, 2], [1, 1, 2], [None] * 3], columns=["Z", "X", "Y"]
    )
    expected = [0.45, 0.55, 0.285, 0.05, 0.28, 1.0]
    assert np.exp(net.log_likelihood(frame)) == pytest.approx(expected)
    assert np.exp(net.log_likelihood(frame[["Y", "Z", "X"]])) == pytest.approx(expected)


def test_rows_of_very_small_probability():
    net = chain(600)
    rows = pd.DataFrame([{name: number % 2 for number, name in enumerate(net.names)}] * 3)
    rows["X600"] = None
    rows.loc[1, "X300"] = None
    found = net.posterior(rows, "X600")
    assert found == pytest.approx(np.tile([0.9995, 0.0005], (3, 1)))
    assert net.log_likelihood(rows)[0] == pytest.approx(math.log(0.7) + 598 * math.log(0.0005), rel=1e-12)


def test_chunks_and_weights():
    net = pgm.networks.load("asia")
    frames = [pd.DataFrame({"xray": ["yes", "no"]}), pd.DataFrame({"smoke": ["no"]})]
    first, second = net.posterior_chunks(frames, "lung")
    assert first == pytest.approx(net.posterior(frames[0], "lung"))
    assert second[0] == pytest.approx(net.query("lung", {"smoke": "no"}).values)
    data = pgm.Dataset(frames[0], weights=[2.0, 0.5])
    assert net.impute(data).weights.tolist() == [2.0, 0.5]
    with pytest.raises(EvidenceError, match="'joint' or 'marginal'"):
        net.impute(data, method="mean")
