"""`BayesianNetwork.expected_counts`: against enumeration, and as the two steps of EM."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.data.statistics import SufficientStatistics
from pgm.errors import EvidenceError, ImpossibleEvidenceError
from pgm.factors import CPT, ConditionalGaussian, Variable
from pgm.learning import fit_em, fit_parameters, sufficient_statistics
from pgm.network import BayesianNetwork
from pgm.networks import load
from tests import oracles, strategies


@st.composite
def networks_and_rows(draw):
    net = draw(strategies.networks(max_variables=4))
    n_rows = draw(st.integers(1, 8))
    data = net.sample(n_rows, rng=draw(st.integers(0, 1000)), missing=draw(st.sampled_from([0.0, 0.3, 0.8])))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 2, 3]), min_size=n_rows, max_size=n_rows))
    data = Dataset(data, weights=weights)
    shown = draw(st.sets(st.sampled_from(net.names), min_size=1))
    return net, data.select([name for name in net.names if name in shown])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks_and_rows())
def test_counts_are_sums_of_enumerated_posteriors(case):
    net, data = case
    found = net.expected_counts(data)
    assert isinstance(found, SufficientStatistics)
    columns, weights = data.to_dict(), np.ones(data.n_rows) if data.weights is None else data.weights
    assert found.total_weight == pytest.approx(weights.sum())
    for cpt in net.cpts:
        expected = np.zeros(cpt.values.shape)
        for row, weight in enumerate(weights):
            evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
            expected += weight * np.reshape(oracles.posterior(net, cpt.names, evidence), expected.shape)
        assert found.table(cpt.child.name, cpt.names[:-1]).ravel().tolist() == pytest.approx(
            expected.ravel().tolist(), abs=1e-9
        )


def test_parts_add_up_and_the_next_step_is_that_of_em():
    asia = load("asia")
    data = asia.sample(200, rng=0, missing=0.3)
    whole = asia.expected_counts(data)
    parts = sum(asia.expected_counts(data.take(slice(start, start + 80))) for start in (0, 80, 160))
    assert parts.n_rows == 200
    for one, two in zip(whole.tables, parts.tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-10)
    stepped = fit_parameters(asia.dag, whole, pseudocount=0.5)
    by_em = fit_em(asia, data, start=asia, max_iter=1, pseudocount=0.5).network
    for cpt in by_em.cpts:
        np.testing.assert_allclose(cpt.values, stepped.cpt(cpt.child.name).values, atol=1e-12)


def test_complete_rows_are_counted():
    asia = load("asia")
    data = asia.sample(100, rng=1)
    found, counted = asia.expected_counts(data), sufficient_statistics(asia, data)
    for one, two in zip(found.tables, counted.tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    assert (found + counted).n_rows == 200


def test_what_is_refused():
    a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
    net = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [[1, 0], [0, 1]], [a]), ConditionalGaussian("x", 0.0, 1.0, [a])])
    with pytest.raises(ImpossibleEvidenceError, match="row"):
        net.expected_counts({"a": [0, 0], "b": [0, 1]})
    with pytest.raises(EvidenceError, match="'x': a continuous column has no counts"):
        net.expected_counts({"a": [0], "x": [0.5]})
    assert net.expected_counts({"b": [0, 1, 1]}).counts("a").values.tolist() == [1.0, 2.0]
