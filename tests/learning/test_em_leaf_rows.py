"""The E step with Gaussian leaves: all joint states of every row written down and added up, on logarithms."""

from __future__ import annotations

import itertools
import math
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pgm
from pgm.data import Dataset
from pgm.errors import EvidenceError, ImpossibleEvidenceError, TooLargeError
from pgm.inference import expected_counts
from pgm.learning.em import expected_leaves, leaf_blocks
from pgm.learning.em.expected_leaves import ExpectedWithLeaves
from pgm.learning.em.leaves import leaves_of

A, B, C = (pgm.Variable(name, states) for name, states in (("a", [0, 1]), ("b", ["p", "q", "r"]), ("c", [0, 1])))
ABOVE = {"x": [A, B], "y": [B], "u": [B, A], "v": [A], "z": []}


def network(seed: int, distance: float = 3.0, zeros: float = 0.0) -> pgm.BayesianNetwork:
    """Return a -> b -> c with leaves below, their means so many standard deviations apart, and some entries zero."""
    rng = np.random.default_rng(seed)

    def table(*shape: int) -> np.ndarray:
        entries = rng.random(shape) * (rng.random(shape) >= zeros)
        entries[..., 0] += entries.sum(axis=-1) == 0
        return entries / entries.sum(axis=-1, keepdims=True)

    shapes = {name: [variable.cardinality for variable in above] for name, above in ABOVE.items()}
    leaves = [
        pgm.ConditionalGaussian(
            name, rng.normal(size=shapes[name]) * distance, rng.uniform(0.2, 2.0, shapes[name]), above
        )
        for name, above in ABOVE.items()
    ]
    return pgm.BayesianNetwork(
        [pgm.CPT(A, table(2)), pgm.CPT(B, table(2, 3), [A]), pgm.CPT(C, table(3, 2), [B]), *leaves]
    )


def log_density(value: float, mean: float, variance: float) -> float:
    return -0.5 * (math.log(2 * math.pi * variance) + (value - mean) ** 2 / variance)


def enumerated(net: pgm.BayesianNetwork, data: Dataset, best: bool):
    """Return expected counts, {leaf: {configuration: [(weight, number)]}} and the log-likelihood."""
    counts = [np.zeros(cpt.values.shape) for cpt in net.cpts]
    seen = {name: {} for name in ABOVE}
    columns, total = data.to_dict(), 0.0
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    for row in np.flatnonzero(weights > 0).tolist():
        logs = {}
        for codes in itertools.product(*(range(v.cardinality) for v in net.variables)):
            state = dict(zip("abc", codes, strict=True))
            labels = {v.name: v.states[state[v.name]] for v in net.variables}
            shown = {name: columns[name][row] for name in "abc" if name in columns}
            if any(label is not None and label != labels[name] for name, label in shown.items()):
                continue
            entries = [float(cpt.values[tuple(state[name] for name in cpt.names)]) for cpt in net.cpts]
            if 0.0 in entries:
                continue
            logs[codes] = sum(map(math.log, entries))
            for name, above in ABOVE.items():
                place, number = tuple(state[v.name] for v in above), columns[name][row]
                if number is not None:
                    leaf = net.gaussians[name]
                    logs[codes] += log_density(number, leaf.means[place], leaf.variances[place])
        if not logs:
            return None
        if best:
            chosen = max(logs, key=logs.__getitem__)
            logs = {chosen: logs[chosen]}
        peak = max(logs.values())
        likelihood = peak + math.log(math.fsum(math.exp(log - peak) for log in logs.values()))
        total += weights[row] * likelihood
        for codes, log in logs.items():
            share = weights[row] * math.exp(log - likelihood)
            state = dict(zip("abc", codes, strict=True))
            for count, cpt in zip(counts, net.cpts, strict=True):
                count[tuple(state[name] for name in cpt.names)] += share
            for name, above in ABOVE.items():
                if columns[name][row] is not None:
                    place = tuple(state[v.name] for v in above)
                    seen[name].setdefault(place, []).append((share, columns[name][row]))
    return counts, seen, total


def e_step(net: pgm.BayesianNetwork, data: Dataset, best: bool, memory_budget: int = 2**30):
    leaves = leaves_of(data, list(ABOVE.values()), list(ABOVE), 0.01)
    scopes = [tuple("abc".index(name) for name in cpt.names) for cpt in net.cpts]
    step = ExpectedWithLeaves(net.variables, scopes, data, leaves, memory_budget)
    values = [cpt.values for cpt in net.cpts]
    values += [np.stack([net.gaussians[name].means, net.gaussians[name].variances], axis=-1) for name in ABOVE]
    return step, (step.of_best if best else step.of)(values)


def rows(net: pgm.BayesianNetwork, seed: int, *, holes: float, weighted: bool, hidden: set[str]) -> Dataset:
    data = net.sample(14, rng=seed, missing=holes)
    rng = np.random.default_rng(seed)
    numbers = {name: np.r_[0.5, data.numbers(name)[1:]] for name in ABOVE}  # one is known of each
    shown = [variable for variable in net.variables if variable.name not in hidden]
    weights = rng.integers(0, 3, 14) + (np.arange(14) == 0) if weighted else None
    return Dataset.from_codes(shown, [data.codes(variable.name) for variable in shown], weights, numbers)


def check(
    net: pgm.BayesianNetwork, data: Dataset, best: bool, exact: float = 1e-9, **options
) -> ExpectedWithLeaves | None:
    expected = enumerated(net, data, best)
    if expected is None:
        with pytest.raises(ImpossibleEvidenceError, match=r"row \d+ is impossible"):
            e_step(net, data, best, **options)
        return None
    step, found = e_step(net, data, best, **options)
    counts, seen, total = expected
    assert found.log_likelihood == pytest.approx(total, rel=1e-9, abs=1e-9)
    for table, other in zip(found.tables, counts, strict=False):
        np.testing.assert_allclose(table, other, atol=exact)
    for moments, (name, above) in zip(found.tables[3:], ABOVE.items(), strict=True):
        for place in itertools.product(*(range(v.cardinality) for v in above)):
            pairs = seen[name].get(place, [])
            weight = sum(share for share, _ in pairs)
            assert moments[place][0] == pytest.approx(weight, abs=exact)
            if weight > 1000 * exact:
                mean = sum(share * number for share, number in pairs) / weight
                assert moments[place][1] == pytest.approx(mean, rel=1e-6, abs=1e-6)
                squares = sum(share * (number - mean) ** 2 for share, number in pairs)
                assert moments[place][2] == pytest.approx(squares, rel=1e-6, abs=1e-6)
    return step


SOME = st.sets(st.sampled_from("abc"), max_size=2)
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 0.6]), st.booleans(), st.booleans(), SOME)
def test_expected_counts_and_moments_are_the_enumerated_ones(seed, holes, weighted, best, hidden):
    net = network(seed)
    check(net, rows(net, seed, holes=holes, weighted=weighted, hidden=hidden), best)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, 10**6), st.sampled_from([1, 10**3, 10**6]), st.sampled_from([1, 3, 10**6]), st.booleans())
def test_so_they_are_in_many_blocks(monkeypatch, seed, few, most, best):
    monkeypatch.setattr(expected_leaves, "FEW_CELLS", few)
    monkeypatch.setattr(expected_leaves, "MOST_ROWS", most)
    net = network(seed)
    check(net, rows(net, seed, holes=0.4, weighted=True, hidden={"c"}), best)


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, 10**6), st.booleans())
def test_so_they_are_where_blocks_are_prepared_anew(monkeypatch, seed, best):
    monkeypatch.setattr(expected_leaves, "KEPT", 10**9)
    net = network(seed)
    step = check(net, rows(net, seed, holes=0.4, weighted=False, hidden={"a"}), best, memory_budget=16_000)
    assert step is not None and step._blocks is None


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, 10**6), st.booleans())
def test_so_they_are_where_rows_are_contracted(monkeypatch, seed, best):
    for name, value in {"_FEW_FACTORS": -1, "_CHEAP_FACTORS": -1, "_FACTOR_NS": 1e12}.items():
        monkeypatch.setattr(expected_counts, name, value)
    net = network(seed)
    check(net, rows(net, seed, holes=0.5, weighted=True, hidden={"b"}), best)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, 10**6), st.sampled_from([50.0, 300.0, 1e3]), st.sampled_from([0.0, 0.4]), st.booleans())
def test_rows_far_from_every_mean_that_is_possible(seed, distance, zeros, best):
    """Cells of another network speak against the nearest means, by more than floating-point numbers hold."""
    net, other = network(seed, distance, zeros), network(seed + 1, distance)
    data = rows(other, seed, holes=0.4, weighted=True, hidden={"c"} if seed % 2 else set())
    check(net, data, best, exact=1e-6)  # logarithms as large as 1e8 have eight digits after the point


@pytest.mark.parametrize("best", [False, True])
def test_rows_that_need_logarithms(monkeypatch, best):
    """Two leaves each of which speaks for a parent's state that the other parent's rules out."""
    asked = []
    single = leaf_blocks._single_row

    def counted(source, row, *args, **options):
        asked.append(row)
        return single(source, row, *args, **options)

    monkeypatch.setattr(leaf_blocks, "_single_row", counted)
    shapes = {name: [variable.cardinality for variable in above] for name, above in ABOVE.items()}
    means = {name: np.zeros(shape) for name, shape in shapes.items()}
    means["v"][1], means["y"][1:] = 100.0, 100.0
    leaves = [pgm.ConditionalGaussian(name, means[name], 1.0, above) for name, above in ABOVE.items()]
    net = pgm.BayesianNetwork(
        [
            pgm.CPT(A, [0.5, 0.5]),
            pgm.CPT(B, [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], [A]),
            pgm.CPT(C, [[0.5, 0.5]] * 3, [B]),
            *leaves,
        ]
    )
    numbers = {name: np.array([0.0, 1.0, 0.0]) for name in ABOVE}
    numbers["v"], numbers["y"] = np.array([0.0, 0.0, 0.0]), np.array([0.0, 99.0, 1.0])  # only the second fits
    data = Dataset.from_codes([C], [np.array([0, 1, 2])], np.array([1.0, 2.0, 0.5]), numbers)
    check(net, data, best)
    assert sorted(set(asked)) == [0, 2]


def test_numbers_beyond_the_range_of_floats_are_named():
    net = network(0)
    far = {"v": pgm.ConditionalGaussian("v", [1e200, 1e200], 1.0, [A])}
    net = pgm.BayesianNetwork([far.get(cpd.name, cpd) if hasattr(cpd, "means") else cpd for cpd in net.cpds])
    numbers = {name: np.array([np.nan, 1.0, 2.0]) for name in ABOVE}
    for a, row in ((np.array([0, 0, 1]), 1), (np.array([0, 2, 2]), 1), (np.array([2, 2, 0]), 2)):
        weights = np.array([1.0, 1.0 if row == 1 else 0.0, 1.0])
        data = Dataset.from_codes([A], [a], weights, numbers)
        with pytest.raises(EvidenceError, match=rf"row {row}: the density at \{{'v': {float(row)}\}} is beyond"):
            e_step(net, data, best=False)


# ---------------------------------------------------------------------- memory


def many_parents(n_rows: int, missing: float) -> tuple[pgm.BayesianNetwork, Dataset]:
    parents = [pgm.Variable(f"p{number}", [0, 1]) for number in range(10)]
    means = np.arange(1024.0).reshape([2] * 10)
    net = pgm.BayesianNetwork([*map(pgm.CPT.uniform, parents), pgm.ConditionalGaussian("x", means, 1.0, parents)])
    return net, net.sample(n_rows, rng=0, missing=missing)


def quietly(fit, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pgm.UnseenConfigurationWarning)
        return fit(*args, **options)


@pytest.mark.parametrize(("missing", "budget"), [(0.0, 1_000_000), (0.2, 4_000_000)])
def test_memory_is_that_of_the_budget(missing, budget):
    """One density for every row and configuration would take 41 MB, and the work on them ten times that."""
    net, data = many_parents(5000, missing)
    tracemalloc.start()
    found = quietly(pgm.fit_em, net, data, max_iter=2, tol=None, memory_budget=budget, start=net)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget + 1_500_000
    whole = quietly(pgm.fit_em, net, data, max_iter=2, tol=None, start=net)
    assert found.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    assert found.network.gaussians["x"].means.ravel() == pytest.approx(whole.network.gaussians["x"].means.ravel())
    if not missing:
        direct = quietly(pgm.fit_parameters, net.dag, data)
        assert found.network.gaussians["x"].means.ravel() == pytest.approx(direct.gaussians["x"].means.ravel())
        assert found.log_likelihood == pytest.approx(float(direct.log_likelihood(data).sum()), rel=1e-12)


def test_what_there_is_no_room_for_is_refused():
    net, data = many_parents(20, 0.5)
    hidden = data.select(["x"])
    states = {f"p{number}": 2 for number in range(10)}
    with pytest.raises(TooLargeError, match=r"'x' in one row by 1024 parent configurations .*16 arrays.*300 kB"):
        pgm.fit_em(net.dag, hidden, latent=states, memory_budget=300_000)
    with pytest.raises(TooLargeError, match=r"the means of 'x' would have 1,024 cells .*memory_budget is 100 kB"):
        pgm.fit_em(net.dag, data, memory_budget=100_000)
