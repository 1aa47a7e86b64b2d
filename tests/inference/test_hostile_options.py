"""What callers hand in by mistake, and what they may well hand in: options, targets and records under hostile use."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pgm
from pgm import CPT, BayesianNetwork, Variable
from pgm.errors import DataError, EvidenceError, ImpossibleEvidenceError, UnknownNameError
from pgm.inference import row_groups
from pgm.inference.exact import ExactInference
from pgm.inference.maximum import Maximizer
from pgm.inference.options import check_budget, checked_count, checked_number
from tests.inference.test_exact import leak_network


@pytest.fixture(scope="module")
def asia():
    return pgm.networks.load("asia")


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize("budget", [10**6, np.int64(10**6), np.float64(1e6), math.inf, np.uint32(10**6)])
def test_budgets_may_be_any_positive_number(asia, budget):
    assert asia.query("lung", memory_budget=budget) == asia.query("lung")
    assert asia.query_by_conditioning("lung", memory_budget=budget).allclose(asia.query("lung"))
    assert asia.posterior({"xray": ["yes"]}, "lung", memory_budget=budget).shape == (1, 2)


@pytest.mark.parametrize("budget", [True, 0, -1, math.nan, None, "1GB", np.bool_(True), [1]])
def test_budgets_that_are_none(asia, budget):
    for ask in (asia.query, asia.query_by_conditioning, lambda name, **o: asia.posterior({"xray": ["yes"]}, name, **o)):
        with pytest.raises(EvidenceError, match="memory_budget is a positive number of bytes"):
            ask("lung", memory_budget=budget)
    with pytest.raises(EvidenceError):
        check_budget(budget)


@pytest.mark.parametrize("k", ["2", None, 2.5, math.nan, True, 0, -3, [2]])
def test_how_many_explanations(asia, k):
    with pytest.raises(EvidenceError, match="k is a whole number from 1, not "):
        asia.best_explanations(k)


def test_more_explanations_than_there_can_be(asia):
    observed = dict.fromkeys(["tub", "smoke", "lung", "bronc", "either", "xray"], "no")
    assert len(asia.best_explanations(10**400, observed)) == 4


def test_an_estimate_without_a_target(asia):
    with pytest.raises(EvidenceError, match="no target: name at least one variable"):
        asia.estimate(None, 10, rng=0)


def test_counts_and_numbers_in_range():
    assert checked_count(np.uint8(3)) == 3
    assert checked_number(np.float32(0.5), "x", "a number", 0, 1) == 0.5
    for wrong in (np.bool_(True), "1", None, math.nan, 1 + 0j, np.array(1.0)):
        with pytest.raises(EvidenceError, match="x is a number from 0 to 1, not"):
            checked_number(wrong, "x", "a number from 0 to 1", 0, 1)
    with pytest.raises(EvidenceError, match="x is any number, not 1000"):
        checked_number(10**400, "x", "any number")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spread": None}, "spread is a number above 0, at most 1, not None"), ({"spread": "x"}, "spread"),
        ({"spread": math.nan}, "spread"), ({"spread": 0}, "spread"), ({"spread": True}, "spread"),
        ({"top": 1.5}, "top is a whole number from 0, not 1.5"), ({"top": -1}, "top"), ({"top": None}, "top"),
    ],
)  # fmt: skip
def test_tornado_options(asia, options, message):
    with pytest.raises(EvidenceError, match=message):
        asia.sensitivity("lung", "yes").tornado(**options)


# ---------------------------------------------------------------------- evidence


@pytest.mark.parametrize("wrong", [[], [("lung", [0.5, 0.5])], 5, "lung", {"lung"}])
def test_distributions_are_a_mapping(asia, wrong):
    with pytest.raises(EvidenceError, match="distributions is a mapping from variable names to vectors, not"):
        asia.query("smoke", distributions=wrong)
    with pytest.raises(EvidenceError, match="distributions"):
        asia.marginals(distributions=wrong)
    with pytest.raises(UnknownNameError, match="'tung'"):
        asia.query("smoke", distributions={"tung": [0.5, 0.5]})
    assert asia.query("smoke", distributions={}) == asia.query("smoke")


@pytest.mark.parametrize("ask", ["query", "log_probability", "marginals", "mpe", "sample", "approximate_marginals"])
def test_very_unequal_likelihoods_never_vanish_silently(ask):
    """1e-320 over 1e308 is no floating-point number, and as 0 it would rule the state out."""
    a, b = Variable("A", ["low", "high"]), Variable("B", [0, 1])
    net = BayesianNetwork([CPT(a, [1.0, 0.0]), CPT(b, [[0.5, 0.5], [0.1, 0.9]], [a])])
    first = {"query": ("B",), "sample": (5, 0)}.get(ask, ())
    for vector in ([1e-320, 1e308], [5e-324, 1.0], [1e-300, 1e10]):
        with pytest.raises(EvidenceError, match=r"likelihood of 'A' has entries more than 1e307 times .* make them 0"):
            getattr(net, ask)(*first, likelihoods={"A": vector})
    with pytest.raises(ImpossibleEvidenceError):  # said to be impossible
        net.query("B", likelihoods={"A": [0.0, 1e308]})
    found = net.query("B", likelihoods={"A": [1e-300, 1e5]})
    assert found.values == pytest.approx([0.5, 0.5])
    assert net.log_probability(likelihoods={"A": [1e-300, 1e5]}) == pytest.approx(-300 * math.log(10))
    assert net.log_probability({"A": "low"}, likelihoods={"A": [1e-320, 1e308]}) == pytest.approx(math.log(1e-320))


def test_initial_states_are_called_so(asia):
    with pytest.raises(EvidenceError, match="^initial is a mapping from variable names to states, not 5"):
        asia.gibbs_sample(5, evidence={"xray": "yes"}, zeros="allow", initial=5)
    with pytest.raises(EvidenceError, match="for method='gibbs' only, since weighting has no chains: initial="):
        asia.estimate("lung", 5, initial={"smoke": "yes"})


# ---------------------------------------------------------------------- targets


def test_one_target_at_a_time(asia):
    evidence = {"xray": "yes"}
    assert asia.mutual_information(["lung"], evidence) == asia.mutual_information("lung", evidence)
    assert asia.evidence_impact(["lung"], evidence) == asia.evidence_impact("lung", evidence)
    assert asia.sensitivity(["lung"], "yes", evidence).tornado() == asia.sensitivity("lung", "yes", evidence).tornado()
    for ask in (
        asia.mutual_information, asia.evidence_impact, lambda names, known: asia.sensitivity(names, "yes", known),
    ):  # fmt: skip
        with pytest.raises(EvidenceError, match="about one target at a time, not 'lung', 'tub'"):
            ask(["lung", "tub"], evidence)
        with pytest.raises(EvidenceError, match="no target"):
            ask([], evidence)
        with pytest.raises(EvidenceError, match="'xray' is observed"):
            ask(["xray"], evidence)


def test_predictions_of_several_variables(asia):
    data = {"xray": ["yes", "no"], "smoke": ["yes", None], "dysp": [None, "yes"]}
    several = asia.predict(data, ["bronc", "smoke"])
    assert list(several) == ["bronc", "smoke"]
    assert several == {name: asia.predict(data, name) for name in ("bronc", "smoke")}
    everything = asia.predict(data)
    assert set(everything) == set(asia.names) - {"xray"}
    assert everything["smoke"][0] == "yes"
    assert everything["dysp"][1] == "yes"
    assert asia.predict(data, (name for name in ["lung"])) == {"lung": asia.predict(data, "lung")}
    assert asia.predict({"xray": []}, ["lung"]) == {"lung": []}
    with pytest.raises(UnknownNameError, match="'tung'"):
        asia.predict(data, ["lung", "tung"])


def test_impact_of_every_piece_of_evidence(asia):
    evidence, likelihoods = {"xray": "yes", "asia": "yes"}, {"dysp": [0.9, 0.2], "lung": [0.5, 1.0]}
    found = asia.evidence_impact("lung", evidence, likelihoods=likelihoods)
    assert set(found) == {"xray", "asia", "dysp", "lung"}
    divergences = [impact.divergence for impact in found.values()]
    assert divergences == sorted(divergences, reverse=True)
    posterior = asia.query("lung", evidence, likelihoods=likelihoods).values
    for name, impact in found.items():
        rest = {other: state for other, state in evidence.items() if other != name}
        soft = {other: vector for other, vector in likelihoods.items() if other != name}
        without = asia.query("lung", rest, likelihoods=soft)
        assert impact.without.allclose(without)
        assert impact.divergence == pytest.approx((posterior * np.log(posterior / without.values)).sum())
    assert list(asia.evidence_impact("lung", likelihoods={"dysp": [0.9, 0.2]})) == ["dysp"]
    assert asia.evidence_impact("lung") == {}


# ---------------------------------------------------------------------- chunks


@pytest.mark.parametrize(
    "chunks",
    [5, None, "xray", {"xray": ["yes"]}, pd.DataFrame({"xray": ["yes"]}), pa.table({"xray": ["yes"]})],
    ids=lambda chunks: type(chunks).__name__,
)
def test_chunks_are_several_tables(asia, chunks):
    with pytest.raises(DataError, match="chunks is an iterable of tables, such as a list of frames, not a"):
        asia.posterior_chunks(chunks, "lung")
    with pytest.raises(DataError, match=r"not a Dataset; for a single table there is posterior\(\)"):
        asia.posterior_chunks(pgm.Dataset({"xray": ["yes"]}), "lung")


def test_options_of_chunks_are_checked_before_the_first(asia):
    untouched = iter([{"xray": ["yes"]}])
    with pytest.raises(EvidenceError, match="'raise' or 'nan', not 'x'"):
        asia.posterior_chunks(untouched, "lung", impossible="x")
    with pytest.raises(UnknownNameError, match="'tung'"):
        asia.posterior_chunks(untouched, "tung")
    with pytest.raises(UnknownNameError, match="'tung'"):
        asia.posterior_chunks(untouched, ["lung", "tung"])
    with pytest.raises(EvidenceError, match="memory_budget"):
        asia.posterior_chunks(untouched, "lung", memory_budget=0)
    assert len(list(untouched)) == 1


def test_targets_of_chunks_may_come_from_a_generator(asia):
    chunks = [{"xray": ["yes"]}, {"xray": ["no"]}, pd.DataFrame({"smoke": ["no"]})]
    found = list(asia.posterior_chunks(iter(chunks), (name for name in ("lung", "tub"))))
    assert [list(answer) for answer in found] == [["lung", "tub"]] * 3
    for answer, chunk in zip(found, chunks, strict=True):
        assert answer["lung"] == pytest.approx(asia.posterior(chunk, "lung"), rel=1e-12)
    everything = list(asia.posterior_chunks(chunks))
    assert set(everything[2]) == set(asia.names) - {"smoke"}
    reader = pa.RecordBatchReader.from_batches(pa.schema([("xray", pa.string())]), pa.table(chunks[0]).to_batches())
    assert len(list(asia.posterior_chunks((pa.table([batch["xray"]], ["xray"]) for batch in reader), "lung"))) == 1


# ---------------------------------------------------------------------- results


def test_results_compare_without_complaint(asia):
    known = {"xray": "yes"}

    def records():
        return [
            asia.gibbs_sample(20, 0, evidence=known, zeros="allow"), asia.weighted_sample(20, 0, evidence=known),
            asia.estimate("lung", 20, 0, evidence=known), asia.approximate_marginals(known),
            asia.evidence_impact("lung", known)["xray"], asia.mpe(known), asia.plan("lung"),
        ]  # fmt: skip

    for one, other in zip(records(), records(), strict=True):
        assert (one == other) is True
        assert (one != other) is False
        assert (one == 5) is False
    assert records()[0] != asia.gibbs_sample(20, 1, evidence=known, zeros="allow")
    assert records()[0] != asia.gibbs_sample(20, 0, evidence=known, zeros="allow", chains=2)
    assert len({hash(record) for record in (records()[0], records()[0])}) == 1


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_sensitivities_can_be_copied_and_kept(asia, again):
    found = asia.sensitivity("lung", "yes", {"xray": "yes"})
    twin = again(found)
    assert twin.tornado(0.2, 5) == found.tornado(0.2, 5)
    assert all((twin.derivatives[name] == array).all() for name, array in found.derivatives.items())
    assert (found == found) is True
    assert (found == twin) is False
    assert len({found, found}) == 1


# ---------------------------------------------------------------------- work that is done once


def test_the_best_explanations_search_the_best_once(asia, monkeypatch):
    calls = []
    best = Maximizer.best
    monkeypatch.setattr(Maximizer, "best", lambda *given, **options: calls.append(1) or best(*given, **options))
    first, second, third = asia.best_explanations(3, {"xray": "yes"})
    assert len(calls) == 3
    assert first == asia.mpe({"xray": "yes"})
    assert len(calls) == 4
    assert first.log_joint >= second.log_joint >= third.log_joint
    with pytest.raises(ImpossibleEvidenceError):
        leak_network().best_explanations(3, {"Wet": "no", "Burst": "yes"})


def test_the_joint_probability_of_an_explanation_is_the_product_of_its_entries():
    net = pgm.networks.load("alarm")
    likelihoods = {"CVP": [0.2, 0.5, 3.0]}
    found = net.mpe({"BP": "LOW"}, likelihoods=likelihoods)
    world = {**found.assignment, "BP": "LOW"}
    entries = [cpt[{name: world[name] for name in cpt.names}] for cpt in net.cpts]
    entries.append(likelihoods["CVP"][net.variable("CVP").code(world["CVP"])])
    assert found.log_joint == pytest.approx(math.fsum(map(math.log, entries)), rel=1e-13)
    assert found.log_joint == pytest.approx(net.log_probability(world, likelihoods=likelihoods), rel=1e-12)


def test_rows_are_grouped_or_run_together_as_the_cost_says(monkeypatch):
    engine = ExactInference(pgm.networks.load("asia").cpts)
    column = np.array([0, 2, 1, 2], dtype=np.uint8)  # 2 is missing
    table = row_groups.Table({0: column, 1: column[::-1]}, 4)
    monkeypatch.setattr(row_groups, "PLAN_NS", -1e12)
    groups = row_groups.grouped(engine, table, (2,), 2**30)
    assert [sorted(group.observed) for group in groups] == [[1], [0]]
    assert sorted(row for group in groups for row in group.rows.tolist()) == [0, 1, 2, 3]
    monkeypatch.setattr(row_groups, "PLAN_NS", 1e12)
    (together,) = row_groups.grouped(engine, table, (2,), 2**30)
    assert (sorted(together.soft), sorted(together.observed)) == ([0, 1], [])


def test_a_plan_names_the_targets_that_are_observed(asia):
    plan = asia.plan("lung", observed="lung")
    assert plan.targets == ("lung",)
    assert str(plan).startswith("targets lung; observed lung\n")
    assert asia.plan(["xray", "lung"], observed=["lung"]).targets == ("xray", "lung")
    assert asia.plan(observed="lung").targets == ()
