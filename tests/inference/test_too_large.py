"""Questions that are too large: what the refusal says, that every choice it names works, and what budgets hold."""

from __future__ import annotations

import math
import re
import tracemalloc
from unittest import mock

import numpy as np
import pytest

import pgm
from pgm import CPT, BayesianNetwork, EvidenceError, ImpossibleEvidenceError, TooLargeError, Variable
from pgm.inference import conditioning, loopy
from pgm.progress import Progress
from tests.inference.test_exact import grid

EVIDENCE = {"HRBP": "HIGH", "BP": "LOW"}
SMALL = 2_000


@pytest.fixture(scope="module")
def alarm():
    return pgm.networks.load("alarm")


def refusal(ask, **options):
    with pytest.raises(TooLargeError) as caught:
        ask(**options)
    return str(caught.value)


# ---------------------------------------------------------------------- what the refusal says

CHOICES = ["approximate_marginals", "weighted_sample", "estimate", "gibbs_sample"]


@pytest.mark.parametrize(("ask", "exact"), [
    (lambda net: net.query("LVFAILURE", EVIDENCE, memory_budget=SMALL), "query_by_conditioning"),
    (lambda net: net.query(["LVFAILURE", "CO"], EVIDENCE, memory_budget=SMALL), "query_by_conditioning"),
    (lambda net: net.marginals(EVIDENCE, memory_budget=SMALL), "marginals_by_conditioning"),
    (lambda net: net.log_probability(EVIDENCE, memory_budget=SMALL), "log_probability_by_conditioning"),
    (lambda net: net.probability(EVIDENCE, memory_budget=SMALL), "log_probability_by_conditioning"),
])  # fmt: skip
def test_the_numbers_and_the_choices(alarm, ask, exact):
    text = refusal(lambda: ask(alarm))
    assert re.search(
        r"needs tables of [\d.]+ kB at once, the largest of \d+ cells; the memory budget is 2 kB; what", text
    )
    methods = re.findall(r"net\.(\w+)\(", text)
    assert methods == [exact, *CHOICES]
    assert all(callable(getattr(alarm, name)) for name in methods)
    assert text.count("what can be done") == text.count("memory_budget=") == 1


def test_no_choices_where_they_would_not_help(alarm):
    names = alarm.names[:20]
    for text in (
        refusal(lambda: alarm.query(names, memory_budget=SMALL)),  # the answer itself
        refusal(lambda: alarm.query_by_conditioning(names, memory_budget=SMALL)),
        refusal(lambda: alarm.query_by_conditioning("CO", EVIDENCE, memory_budget=SMALL, max_operations=10)),
        refusal(lambda: alarm.marginals_by_conditioning(memory_budget=1)),
        refusal(lambda: alarm.mpe(EVIDENCE, memory_budget=100)),
        refusal(lambda: alarm.families(EVIDENCE, memory_budget=100)),
        refusal(lambda: alarm.weighted_sample(10**12)),
    ):
        assert re.search(r"\d", text)
        assert "what can be done" not in text


@pytest.mark.parametrize("ask", [
    lambda net, **o: net.families(EVIDENCE, **o),
    lambda net, **o: net.sensitivity("CO", "LOW", EVIDENCE, **o),
    lambda net, **o: net.mutual_information("CO", EVIDENCE, **o),
    lambda net, **o: net.evidence_impact("CO", EVIDENCE, **o),
    lambda net, **o: net.conflict(EVIDENCE, **o),
    lambda net, **o: net.query("HISTORY", distributions={"HRBP": [0.2, 0.3, 0.5]}, **o),
    lambda net, **o: net.marginals(EVIDENCE, distributions={"CO": [0.2, 0.3, 0.5]}, **o),
])  # fmt: skip
def test_every_question_keeps_to_its_budget(alarm, ask):
    ask(alarm)
    assert "the memory budget is 500 bytes" in refusal(lambda: ask(alarm, memory_budget=500))
    with pytest.raises(EvidenceError, match="memory_budget is a positive number of bytes, not 0"):
        ask(alarm, memory_budget=0)


def test_a_conflict_that_cannot_be_narrowed_down_is_still_a_conflict():
    """All is observed, so the question is small; but a part of the evidence leaves 2**10 causes open."""
    causes = [Variable(f"c{i}", [0, 1]) for i in range(10)]
    table = np.full([2] * 10 + [2], 0.5)
    table[(0,) * 10] = [1.0, 0.0]
    net = BayesianNetwork([CPT(Variable("seen", [0, 1]), table, causes), *(CPT(cause, [0.5, 0.5]) for cause in causes)])
    evidence = {"seen": 1, **{cause.name: 0 for cause in causes}}
    with pytest.raises(ImpossibleEvidenceError, match="in conflict: seen=1, c0=0, .* c9=0$"):
        net.query("c0", evidence)
    with pytest.raises(ImpossibleEvidenceError, match="among others that may not matter: seen=1, c0=0, .* c9=0$"):
        net.query("c0", evidence, memory_budget=200)


# ---------------------------------------------------------------------- conditioning


def test_conditioning_gives_what_exact_inference_gives(alarm):
    likelihoods = {"CVP": [0.1, 0.7, 0.2]}
    options = {"likelihoods": likelihoods, "memory_budget": 6_000}
    with pytest.raises(TooLargeError):
        alarm.marginals(EVIDENCE, **options)
    exact = alarm.marginals(EVIDENCE, likelihoods=likelihoods)
    found = alarm.marginals_by_conditioning(EVIDENCE, **options)
    assert list(found) == list(exact)
    assert all(found[name].allclose(exact[name]) for name in exact)
    assert alarm.query_by_conditioning("CO", EVIDENCE, **options).allclose(exact["CO"])
    log_p = alarm.log_probability_by_conditioning(EVIDENCE, likelihoods=likelihoods, memory_budget=SMALL)
    assert log_p == pytest.approx(alarm.log_probability(EVIDENCE, likelihoods=likelihoods), abs=1e-12)


@pytest.mark.parametrize("ask", [
    lambda net, **o: net.query_by_conditioning("CO", EVIDENCE, **o),
    lambda net, **o: net.marginals_by_conditioning(EVIDENCE, **o),
    lambda net, **o: net.log_probability_by_conditioning(EVIDENCE, **o),
])  # fmt: skip
def test_the_options_of_conditioning(alarm, ask):
    assert "the limit is 1,000 operations in all" in refusal(
        lambda: ask(alarm, memory_budget=6_000, max_operations=1e3)
    )
    with pytest.raises(EvidenceError, match="max_operations is a positive number of operations, not -1"):
        ask(alarm, max_operations=-1)
    for wanted in (True, False):
        with mock.patch.object(conditioning, "Progress", wraps=Progress) as bar:
            ask(alarm, progress=wanted)
        assert bar.call_args.kwargs["show"] is wanted


# ---------------------------------------------------------------------- loopy belief propagation


def test_the_options_of_belief_propagation(alarm):
    usual = alarm.approximate_marginals(EVIDENCE)
    assert usual.converged
    assert usual.residual <= 1e-9
    early = alarm.approximate_marginals(EVIDENCE, max_iter=3)
    assert (early.iterations, early.converged) == (3, False)
    assert early.residual > usual.residual
    rough = alarm.approximate_marginals(EVIDENCE, tol=1e-2)
    assert rough.converged
    assert rough.iterations < usual.iterations
    slow = alarm.approximate_marginals(EVIDENCE, damping=0.8)
    assert slow.iterations > usual.iterations
    assert slow.marginals["CO"].values == pytest.approx(usual.marginals["CO"].values, abs=1e-6)
    with mock.patch.object(loopy, "Progress", wraps=Progress) as bar:
        alarm.approximate_marginals(EVIDENCE, progress=False)
    assert bar.call_args.kwargs["show"] is False
    for option, value in (("damping", 1), ("tol", 0), ("max_iter", 0.5)):
        with pytest.raises(EvidenceError, match=f"{option} is .*, not {value}"):
            alarm.approximate_marginals(EVIDENCE, **{option: value})


# ---------------------------------------------------------------------- random rows


def both_or_none():
    """Two causes that, given the evidence, are both on or both off: one at a time they cannot change."""
    a, b, same = (Variable(name, [0, 1]) for name in ("a", "b", "same"))
    table = [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
    return BayesianNetwork([CPT(a, [0.5, 0.5]), CPT(b, [0.5, 0.5]), CPT(same, table, [a, b])])


def test_chains_start_where_they_are_told():
    net = both_or_none()
    options = {"rng": 0, "evidence": {"same": 1}, "zeros": "allow", "burn_in": 0}
    free = net.gibbs_sample(400, chains=200, **options).data.to_dict()
    assert set(free["a"]) == {0, 1}
    for initial in ({"a": 1, "b": 1}, {"a": 1}, {"b": 1}):  # what is not told follows from what is
        rows = net.gibbs_sample(400, chains=200, initial=initial, **options).data.to_dict()
        assert set(rows["a"]) == set(rows["b"]) == {1}
    with pytest.raises(EvidenceError, match="cannot start in the initial state: .* a=0, b=1, same=1"):
        net.gibbs_sample(10, initial={"a": 0, "b": 1}, **options)
    with pytest.raises(EvidenceError, match="'same' in initial: the variables that the chains change are 'a', 'b'"):
        net.gibbs_sample(10, initial={"same": 1}, **options)
    with pytest.raises(pgm.UnknownStateError, match="'a' has no state 2"):
        net.gibbs_sample(10, initial={"a": 2}, **options)
    with pytest.raises(EvidenceError, match="zero in the tables of 'same'"):
        net.gibbs_sample(10, evidence={"same": 1})


def test_the_schedule_of_the_chains():
    cancer = pgm.networks.load("cancer")
    evidence = {"Xray": "positive"}
    found = cancer.gibbs_sample(60, 3, evidence=evidence, chains=7, burn_in=2, thinning=3)
    assert found.chain.tolist() == [row % 7 for row in range(60)]
    assert found.data != cancer.gibbs_sample(60, 3, evidence=evidence, chains=7, burn_in=3, thinning=3).data
    assert found.data != cancer.gibbs_sample(60, 3, evidence=evidence, chains=7, burn_in=2, thinning=1).data


@pytest.mark.parametrize("targets", ["Cancer", ["Smoker", "Pollution"], ["Xray", "Cancer"]])
def test_both_methods_are_as_close_as_they_say(targets):
    cancer = pgm.networks.load("cancer")
    evidence = {"Xray": "positive"}
    exact = cancer.query(targets, evidence)
    for options in ({}, {"method": "weighting"}, {"method": "gibbs"}, {"method": "gibbs", "chains": 20, "thinning": 2}):
        found = cancer.estimate(targets, 10_000, 1, evidence=evidence, **options)
        assert (np.abs(found.posterior.values - exact.values) <= 5 * found.standard_error.values).all()
        assert found.method == ("Gibbs sampling" if "gibbs" in options.values() else "likelihood weighting")


def test_options_that_a_method_does_not_have_are_refused():
    cancer = pgm.networks.load("cancer")
    with pytest.raises(EvidenceError, match="for method='gibbs' only, .*: chains=, initial=$"):
        cancer.estimate("Cancer", 10, chains=5, initial={"Smoker": "True"})
    with pytest.raises(EvidenceError, match="method is 'weighting' or 'gibbs', not 'exact'"):
        cancer.estimate("Cancer", 10, method="exact")
    with pytest.raises(EvidenceError, match="from 2, not 1"):
        cancer.estimate("Cancer", 10, method="gibbs", chains=1)


ROWS = {
    "weighted": lambda net, n, **o: net.weighted_sample(n, 0, evidence={"Xray": "positive"}, **o),
    "estimate": lambda net, n, **o: net.estimate("Cancer", n, 0, evidence={"Xray": "positive"}, **o),
    "estimate by chains": lambda net, n, **o: net.estimate(
        "Cancer", n, 0, evidence={"Xray": "positive"}, method="gibbs", burn_in=1, chains=2000, **o
    ),
    "gibbs": lambda net, n, **o: net.gibbs_sample(n, 0, evidence={"Xray": "positive"}, burn_in=1, chains=2000, **o),
}


@pytest.mark.parametrize("ask", ROWS.values(), ids=ROWS)
def test_rows_keep_to_the_memory_budget(ask):
    cancer = pgm.networks.load("cancer")
    tracemalloc.start()
    text = refusal(lambda: ask(cancer, 10**11))
    refused = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert re.match(
        r"100,000,000,000 rows of [45] variables, and what goes with them, take [\d.]+ TB; the memory", text
    )
    assert refused < 2**24
    n = 400_000
    text = refusal(lambda: ask(cancer, n, memory_budget=100_000))
    claimed = float(re.search(r"take ([\d.]+) MB; the memory budget is 100 kB", text)[1]) * 1e6
    tracemalloc.start()
    ask(cancer, n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert claimed / 2 < peak < claimed + 2**21  # blocks of a fixed size come on top


def test_what_is_too_large_for_exact_answers_is_answered_all_the_same():
    net = grid(10)
    observed = {"g9_9": 0, "g9_8": 1}
    target = "g8_8"
    exact = net.query(target, observed).values
    budget = 2**13
    assert "what can be done" in refusal(lambda: net.query(target, observed, memory_budget=budget))
    assert net.query_by_conditioning(target, observed, memory_budget=budget).values == pytest.approx(exact, abs=1e-10)
    assert net.approximate_marginals(observed).marginals[target].values == pytest.approx(exact, abs=0.05)
    for method in ("weighting", "gibbs"):
        found = net.estimate(target, 2000, 1, evidence=observed, method=method, burn_in=100)
        assert (np.abs(found.posterior.values - exact) <= 5 * found.standard_error.values).all()
    rows = net.weighted_sample(2000, 1, evidence=observed)
    assert rows.log_probability == pytest.approx(net.log_probability(observed), abs=0.2)
    assert math.isfinite(rows.effective_sample_size)


# ---------------------------------------------------------------------- many rows

TABLE = {
    "posterior": lambda net, data, **o: net.posterior(data, list(net.names), **o),
    "posterior of one": lambda net, data, **o: net.posterior(data, net.names[0], **o),
    "chunks": lambda net, data, **o: next(net.posterior_chunks([data], **o)),
    "predict": lambda net, data, **o: net.predict(data, net.names[0], **o),
    "log_likelihood": lambda net, data, **o: net.log_likelihood(data, **o),
    "impute": lambda net, data, **o: net.impute(data, **o),
    "impute each": lambda net, data, **o: net.impute(data, method="marginal", **o),
}


@pytest.mark.parametrize("ask", TABLE.values(), ids=TABLE)
def test_tables_of_rows_keep_to_the_memory_budget(ask):
    net = grid(36)
    text = refusal(lambda: ask(net, {"g35_35": [1]}))
    assert "one row of the table needs tables of" in text or "one step would join tables" in text
    alarm = pgm.networks.load("alarm")
    data = alarm.sample(20, rng=0, missing=0.3)
    assert "one row of the table needs tables of" in refusal(lambda: ask(alarm, data, memory_budget=1000))
    usual, tight = ask(alarm, data), ask(alarm, data, memory_budget=60_000)  # a few rows at a time
    if isinstance(usual, dict):
        assert all(tight[name] == pytest.approx(usual[name], abs=1e-9) for name in usual)
    elif isinstance(usual, np.ndarray):
        assert tight == pytest.approx(usual, abs=1e-9)
    else:
        assert tight == usual
    with pytest.raises(EvidenceError, match="memory_budget is a positive number of bytes, not None"):
        ask(alarm, data, memory_budget=None)
