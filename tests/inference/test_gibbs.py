"""Gibbs sampling against the enumerated joint."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pgm
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError
from pgm.factors import CPT, Variable
from pgm.inference.gibbs import Schedule, _blanket_draws, _cut_tables, gibbs, gibbs_posterior
from pgm.inference.sampling import relevant
from pgm.network import BayesianNetwork
from tests import oracles, strategies
from tests.inference.test_exact import leak_network
from tests.inference.test_sampling import engine, rows_of, worlds


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_each_variable_is_drawn_given_all_others(data):
    """P(variable | rest of a possible world) by enumeration, for every hidden ancestor of the evidence."""
    net = data.draw(strategies.networks(max_variables=5))
    evidence = data.draw(strategies.evidence_on(net))
    assume(evidence and oracles.probability(net, evidence) > 0)
    exact = engine(net)
    known = exact.code(evidence)
    ancestors = relevant(exact, known)
    hidden = sorted(ancestors - known.codes.keys() - exact.constant.keys())
    tables = _cut_tables(exact, known, ancestors)
    beforehand = _blanket_draws(hidden, tables, exact.cardinalities, 10**6)
    by_row = _blanket_draws(hidden, tables, exact.cardinalities, 0)
    world = data.draw(st.sampled_from(sorted(worlds(net, evidence), key=repr)))
    labels = dict(zip(net.names, (label for _, label in world), strict=True))
    columns = {v: np.array([net.variables[v].code(labels[net.names[v]])]) for v in range(len(net))}
    for v, tabulated, direct in zip(hidden, beforehand, by_row, strict=True):
        rest = {net.names[other]: labels[net.names[other]] for other in ancestors if other != v}
        expected = oracles.posterior(net, [net.names[v]], rest)
        weights = direct.weights(columns, 1)[0]
        assert weights / weights.sum() == pytest.approx(expected, abs=1e-12)
        target = {**columns, v: np.zeros(1, np.uint8)}
        for uniform in (0.0, 0.3123, 0.9876):
            tabulated.into(target, np.array([uniform]))
            state = int(target[v][0])
            assert sum(expected[:state]) - 1e-12 <= uniform <= sum(expected[: state + 1]) + 1e-12
            assert expected[state] > 0


def test_joint_states_settle_down_to_the_posterior():
    net = pgm.networks.load("cancer")
    evidence, likelihoods = {"Xray": "positive"}, {"Dyspnoea": [3.0, 1.0]}
    drawn = gibbs(engine(net), 40_000, 5, evidence=evidence, likelihoods=likelihoods, schedule=Schedule(chains=400))
    rows = rows_of(drawn.data)
    expected = worlds(net, evidence, likelihoods)
    assert set(rows) <= set(expected)
    for world, p in expected.items():
        by_chain = np.bincount(drawn.chain, [row == world for row in rows]) / 100
        error = by_chain.std(ddof=1) / 20 + 1 / len(rows)
        assert by_chain.mean() == pytest.approx(p, abs=5 * error)
    assert np.bincount(drawn.chain).tolist() == [100] * 400


@pytest.mark.parametrize("targets", ["Pollution", ["Smoker", "Cancer"], ["Cancer", "Xray"]])
def test_posteriors_are_as_close_as_they_say(targets):
    net = pgm.networks.load("cancer")
    evidence = {"Xray": "positive", "Dyspnoea": "True"}
    found = gibbs_posterior(engine(net), targets, 40_000, 1, evidence=evidence)
    exact = net.query(targets, evidence)
    assert found.posterior.names == exact.names
    assert found.posterior.values.sum() == pytest.approx(1)
    assert (np.abs(found.posterior.values - exact.values) <= 5 * found.standard_error.values).all()
    assert (found.standard_error.values[exact.values == 0] == 0).all()
    assert found.standard_error.values.max() < 0.01
    assert 1000 < found.effective_sample_size <= 40_000
    assert str(found).startswith("approximate, by Gibbs sampling: 40,000 rows")


def test_standard_errors_are_true():
    net = pgm.networks.load("cancer")
    evidence = {"Dyspnoea": "True"}
    exact = net.query("Cancer", evidence).values
    few = Schedule(chains=50, burn_in=20)
    runs = [gibbs_posterior(engine(net), "Cancer", 1000, seed, evidence=evidence, schedule=few) for seed in range(100)]
    squares = [((run.posterior.values - exact) / run.standard_error.values)[0] ** 2 for run in runs]
    assert np.mean(squares) == pytest.approx(1, abs=5 * math.sqrt(2 / 100))


def either_both_or_none():
    """Two causes that, given the evidence, are both on or both off: one at a time they cannot change."""
    a, b, same = (Variable(name, [0, 1]) for name in ("a", "b", "same"))
    table = [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
    return BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [0.5, 0.5]), CPT(same, table, [a, b])])


def test_zeros_that_may_trap_a_chain_are_refused():
    net = either_both_or_none()
    with pytest.raises(EvidenceError, match=r"zero in the tables of 'same'.*zeros='allow'"):
        gibbs(engine(net), 100, 0, evidence={"same": 1})
    trapped = gibbs(engine(net), 1000, 0, evidence={"same": 1}, schedule=Schedule(chains=2, zeros="allow"))
    for number in range(2):
        assert len(set(trapped.data.codes("a")[trapped.chain == number].tolist())) == 1  # never moves
    assert (trapped.data.codes("a") == trapped.data.codes("b")).all()
    with pytest.raises(EvidenceError, match="zero in the tables of 'a'"):  # a likelihood may hold zeros, too
        gibbs(engine(net), 100, 0, likelihoods={"a": [0.0, 1.0]})


def test_chains_start_in_proportion_to_the_posterior():
    """Chains that cannot move at all show where they started."""
    a, b, same = (Variable(name, [0, 1]) for name in ("a", "b", "same"))
    table = [[[0.7, 0.3], [1.0, 0.0]], [[1.0, 0.0], [0.1, 0.9]]]
    net = BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [0.5, 0.5]), CPT(same, table, [a, b])])
    schedule = Schedule(chains=2000, burn_in=0, zeros="allow")
    drawn = gibbs(engine(net), 2000, 1, evidence={"same": 1}, schedule=schedule).data
    assert drawn.codes("a").mean() == pytest.approx(0.75, abs=5 * math.sqrt(0.1875 / 2000))
    assert (drawn.codes("a") == drawn.codes("b")).all()


def test_zeros_that_take_no_part_do_not_matter():
    asia = pgm.networks.load("asia")  # "either" is a function of its parents
    drawn = gibbs(engine(asia), 5000, 0, evidence={"lung": "yes"})
    p = asia.query("smoke", {"lung": "yes"})["yes"]
    assert (drawn.data.codes("smoke") == 0).mean() == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 2500))
    assert set(drawn.data.to_dict()["either"]) == {"yes"}


def test_without_evidence_rows_are_independent():
    net = pgm.networks.load("asia")
    drawn = gibbs(engine(net), 10_000, 0)
    assert set(rows_of(drawn.data)) <= set(worlds(net, {}))
    assert (drawn.data.codes("smoke") == 0).mean() == pytest.approx(0.5, abs=5 * math.sqrt(0.25 / 10_000))


@pytest.mark.parametrize(
    ("n", "chains", "burn_in", "thinning"), [(0, 5, 3, 1), (3, 5, 0, 1), (23, 5, 2, 3), (20, 5, 1, 2)]
)
def test_rows_are_kept_as_the_schedule_says(n, chains, burn_in, thinning):
    net = engine(pgm.networks.load("cancer"))
    evidence = {"Xray": "positive"}
    drawn = gibbs(net, n, 9, evidence=evidence, schedule=Schedule(chains, burn_in, thinning))
    assert drawn.data.n_rows == n
    assert drawn.chain.tolist() == [row % chains for row in range(n)]
    assert drawn.data == gibbs(net, n, 9, evidence=evidence, schedule=Schedule(chains, burn_in, thinning)).data
    every = gibbs(net, 5 * 40, 9, evidence=evidence, schedule=Schedule(chains, 0, 1)).data
    if n >= chains:
        names = ["Pollution", "Smoker", "Cancer"]  # the ancestors of the evidence
        sweeps = [burn_in + thinning * (k + 1) - 1 for k in range(-(-n // chains))]
        expected = np.concatenate([np.arange(sweep * chains, (sweep + 1) * chains) for sweep in sweeps])[:n]
        assert drawn.data.select(names) == every.select(names).take(expected)


def test_evidence_that_is_impossible_or_never_met():
    net = engine(leak_network())
    allow = Schedule(zeros="allow")
    for schedule in (Schedule(), allow):
        with pytest.raises(ImpossibleEvidenceError, match="conflict: Leak='no', Burst='no', Wet='yes'"):
            gibbs(net, 10, evidence={"Wet": "yes", "Leak": "no", "Burst": "no"}, schedule=schedule)
    rare, sign = Variable("rare", ["no", "yes"]), Variable("sign", ["no", "yes"])
    hidden = BayesianNetwork([CPT(rare, [1 - 1e-9, 1e-9]), CPT(sign, [[1.0, 0.0], [0.0, 1.0]], [rare])])
    with pytest.raises(EvidenceError, match="none of .* rows drawn agrees"):
        gibbs(engine(hidden), 10, 0, evidence={"sign": "yes"}, schedule=allow)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (Schedule(chains=0), "chains is a whole number from 1, not 0"),
        (Schedule(burn_in=-1), "before the first row is a whole number from 0"),
        (Schedule(thinning=0.5), "between rows is a whole number from 1"),
        (Schedule(zeros="ignore"), "zeros is 'raise' or 'allow', not 'ignore'"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(schedule, message):
    net = engine(pgm.networks.load("cancer"))
    with pytest.raises(EvidenceError, match=message):
        gibbs(net, 10, schedule=schedule)
    with pytest.raises(EvidenceError, match="chains, which show the error by how they differ, .* from 2"):
        gibbs_posterior(net, "Xray", 10, schedule=Schedule(chains=1))


def test_the_answer_must_fit_the_memory_budget_for_every_chain():
    net = engine(leak_network())
    with pytest.raises(TooLargeError, match="the joint of 2 variables, for each chain, would have 400 cells"):
        gibbs_posterior(net, ["Leak", "Wet"], 10, memory_budget=1000)
