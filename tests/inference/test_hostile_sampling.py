"""Samplers asked for nonsense, for very much, by many threads; what a seed does; copies of what they return."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

import pgm
from pgm import CPT, BayesianNetwork, TooLargeError, UnknownNameError, UnknownStateError, Variable
from pgm.errors import EvidenceError
from tests.inference.test_hostile_rows import typed

SAMPLERS = {
    "sample": lambda net, n, rng=0, **options: net.sample(n, rng, **options),
    "weighted_sample": lambda net, n, rng=0, **options: net.weighted_sample(n, rng, **options).data,
    "gibbs_sample": lambda net, n, rng=0, **options: net.gibbs_sample(n, rng, **options).data,
    "estimate": lambda net, n, rng=0, **options: net.estimate("U", n, rng, **options),
}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("n", [-1, 1.0, np.float64(3), True, "3", None, math.nan, np.array(3), [3], Fraction(3)])
def test_what_is_no_number_of_rows(sampler, n):
    with pytest.raises(EvidenceError, match="the number of rows is a whole number from [01], not"):
        SAMPLERS[sampler](typed(), n)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("n", [10**13, 2**63, 10**30])
def test_too_many_rows_are_refused_before_anything_is_allocated(sampler, n):
    with pytest.raises(TooLargeError, match=f"{n:,} rows of . variables"):
        SAMPLERS[sampler](typed(), n)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("budget", [None, 0, -1, "4 GB", math.nan])
def test_what_is_no_memory_budget(sampler, budget):
    with pytest.raises(EvidenceError, match="memory_budget is a positive number of bytes, not"):
        SAMPLERS[sampler](typed(), 3, memory_budget=budget)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "rng",
    [-1, 1.0, True, "7", [1, 2], np.random, np.random.PCG64(0), np.random.SeedSequence(1), np.array(1)],
    ids=lambda rng: type(rng).__name__,
)
def test_what_is_no_source_of_random_numbers(sampler, rng):
    with pytest.raises(EvidenceError, match=r"rng is a numpy\.random\.Generator, a whole number from 0 as a seed"):
        SAMPLERS[sampler](typed(), 3, rng)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_numpy_integers_are_numbers_of_rows_and_seeds(sampler):
    net = typed()
    first, second = (SAMPLERS[sampler](net, n, rng) for n, rng in ((5, 7), (np.uint8(5), np.int64(7))))
    assert repr(first) == repr(second)
    SAMPLERS[sampler](net, 5, 2**80)


def test_labels_of_all_types_are_drawn_as_they_are():
    data = typed().sample(3000, 1)
    drawn = data.to_dict()["T"]
    counts = [
        sum(type(label) is type(state) and label == state for label in drawn) for state in data.variable("T").states
    ]
    error = [5 * math.sqrt(3000 * p * (1 - p)) for p in (0.1, 0.2, 0.3, 0.1, 0.1, 0.2)]
    assert sum(counts) == 3000
    for count, p, allowed in zip(counts, (0.1, 0.2, 0.3, 0.1, 0.1, 0.2), error, strict=True):
        assert abs(count - 3000 * p) < allowed


def test_evidence_true_is_not_one_when_drawing():
    net = typed()
    for label in (1, True, "1", 0, False):
        for sampler in ("sample", "weighted_sample", "gibbs_sample"):
            drawn = SAMPLERS[sampler](net, 4, evidence={"T": label}).to_dict()["T"]
            assert [(type(x), x) for x in drawn] == [(type(label), label)] * 4
    holes = net.sample(400, 0, missing={"U": {"T": {True: 1.0}}})
    gone = [type(t) is bool and t for t in holes.to_dict()["T"]]
    assert holes.missing("U").tolist() == gone
    assert 0 < sum(gone) < 400


@pytest.mark.parametrize(
    ("missing", "error"),
    [
        (None, None), ({}, None), (0, None), (np.float32(0.5), None), ({"K": 1}, None),
        ({"U": {"K": {"only": 1}}}, None),
        ([0.5], EvidenceError), (np.array([0.5]), EvidenceError), (Fraction(1, 2), EvidenceError),
        ({1: 0.5}, UnknownNameError), ({("U",): 1}, UnknownNameError), ({"U": None}, EvidenceError),
        ({"U": {}}, EvidenceError), ({"U": {None: {1: 1}}}, UnknownNameError),
        ({"U": {"T": {2: 1}}}, UnknownStateError),
        ({"U": {"T": {(): 1}}}, UnknownStateError), ({"U": {"T": {1: math.nan}}}, EvidenceError),
    ],
    ids=repr,
)  # fmt: skip
def test_what_goes_missing(missing, error):
    if error is None:
        assert typed().sample(20, 0, missing=missing).n_rows == 20
    else:
        with pytest.raises(error):
            typed().sample(20, 0, missing=missing)


def noisy_or(n: int) -> BayesianNetwork:
    causes = [Variable(f"c{i}", ["off", "on"]) for i in range(n)]
    effect = Variable("effect", ["off", "on"])
    table = CPT.noisy_or(effect, "on", {cause: {"on": 0.3} for cause in causes}, leak=0.01)
    return BayesianNetwork([*(CPT(cause, [0.9, 0.1]) for cause in causes), table])


def test_a_noisy_or_of_forty_causes_is_refused_and_one_of_sixteen_is_drawn():
    with pytest.raises(TooLargeError, match="40 parents"):
        noisy_or(40)
    net = noisy_or(16)
    quiet = 0.99 * 0.97**16
    expected = 0.1 * (1 - 0.99 * 0.97**15 * 0.7) / (1 - quiet)
    assert net.query("c3", {"effect": "on"})["on"] == pytest.approx(expected)
    data = net.sample(4000, 0, evidence={"effect": "on"})
    assert abs(data.codes("c3").mean() - expected) < 5 * math.sqrt(expected * (1 - expected) / 4000)
    assert math.exp(net.weighted_sample(4000, 0, evidence={"effect": "on"}).log_probability) == pytest.approx(
        1 - quiet, abs=0.02
    )


def test_sixty_three_parents_of_one_state():
    """As many axes as an array can have; all joint states of the parents are one."""
    ones = [Variable(f"k{i}", ["only"]) for i in range(63)]
    child = Variable("child", ["a", "b"])
    table = np.reshape([0.25, 0.75], [1] * 63 + [2])
    net = BayesianNetwork([*(CPT(one, [1.0]) for one in ones), CPT(child, table, ones)])
    for sampler in ("sample", "weighted_sample", "gibbs_sample"):
        assert SAMPLERS[sampler](net, 400).codes("child").mean() == pytest.approx(0.75, abs=0.11)
    assert net.posterior({"k0": ["only", None]}, "child").tolist() == [[0.25, 0.75]] * 2
    assert net.sample(5, 0, evidence={"child": "b"}).codes("child").tolist() == [1] * 5


# ---------------------------------------------------------------------- threads and copies

EVIDENCE = {"HRBP": "HIGH", "CVP": "LOW"}


def jobs(net: BayesianNetwork) -> list:
    """Questions of every kind as functions without arguments, the same ones for any copy of the network."""
    data = pgm.networks.load("alarm").sample(400, 0, missing=0.4)
    parts = [data.take(slice(start, start + 100)) for start in range(0, 400, 100)]
    target = "LVFAILURE"
    work = [
        lambda: net.sample(300, 1, evidence=EVIDENCE).to_dict(),
        lambda: net.sample(300, 2, missing=0.3).to_dict(),
        lambda: net.weighted_sample(300, 3, evidence=EVIDENCE).log_probability,
        lambda: str(net.estimate(target, 300, 4, evidence=EVIDENCE)),
        lambda: {name: family.to_dict() for name, family in net.families(EVIDENCE).items()},
        lambda: net.query_by_conditioning(target, EVIDENCE, memory_budget=2000).to_dict(),
        lambda: {name: f.to_dict() for name, f in net.approximate_marginals(EVIDENCE).marginals.items()},
        lambda: net.mutual_information(target, EVIDENCE),
        lambda: net.sensitivity(target, "TRUE", EVIDENCE).posterior,
        lambda: net.conflict(EVIDENCE),
        lambda: net.query(target, do={"CVP": "LOW"}).to_dict(),
        lambda: net.query(target, distributions={"CVP": [0.2, 0.3, 0.5]}).to_dict(),
        lambda: [dict(e.assignment) for e in net.best_explanations(3, EVIDENCE)],
    ]
    for part in parts:
        work += [
            lambda part=part: {name: array.tobytes() for name, array in net.posterior(part).items()},
            lambda part=part: net.log_likelihood(part).tobytes(),
            lambda part=part: net.impute(part.take(slice(0, 10))).to_dict(),
        ]
    return work


def test_many_threads_ask_one_network_everything():
    expected = [job() for job in jobs(pgm.networks.load("alarm"))]
    net, interval = pgm.networks.load("alarm"), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda job: job(), jobs(net) * 2))
    finally:
        sys.setswitchinterval(interval)
    assert found == expected * 2
    for twin in (pickle.loads(pickle.dumps(net)), copy.copy(net), copy.deepcopy(net)):  # after all that use
        assert twin == net
        assert [job() for job in jobs(twin)[:5]] == expected[:5]
    assert len(pickle.dumps(net)) == len(pickle.dumps(pgm.networks.load("alarm")))  # no plan goes along


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_results_can_be_copied_and_sent_to_other_processes(again):
    net = pgm.networks.load("asia")
    for result in (
        net.query("lung", {"xray": "yes"}),
        net.mpe({"xray": "yes"}),
        net.best_explanations(2),
        net.approximate_marginals({"xray": "yes"}),
        net.estimate("lung", 50, 0),
        net.weighted_sample(5, 0),
        net.plan("lung"),
        net.evidence_impact("lung", {"xray": "yes"}),
        net.sensitivity("lung", "yes").tornado(),
    ):
        assert again(result) == result
    chains = net.gibbs_sample(5, 0)
    assert again(chains).data == chains.data
    assert again(chains).chain.tolist() == chains.chain.tolist()
