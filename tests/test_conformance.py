"""The conformance table: every engine x every kind of network x every kind of evidence, against the enumerated joint.

The oracle multiplies all tables into one array and weighs it: with 0 and 1 for what is observed, with the vector of a
likelihood, with what fits a distribution wanted; a variable that is set loses its table. What an engine says is then a
sum over that array, or its largest entry. Exact engines must agree to rounding, samplers within five standard errors.

The same questions are asked once more of a *twin*, in which each variable has one more child, observed in a state of
probability about 1e-200: no product of its tables fits a floating-point number, but its posteriors are ordinary.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm
from pgm import CPT, BayesianNetwork, ImpossibleEvidenceError, TooLargeError, Variable
from pgm.errors import EvidenceError
from pgm.inference import row_groups
from tests import oracles, strategies

ROWS = 4000
SCALE = 1e-200


# ---------------------------------------------------------------------- networks


def binary(*names: str) -> list[Variable]:
    return [Variable(name, ["no", "yes"]) for name in names]


def gates() -> BayesianNetwork:
    """Three coins, their exclusive or, a conjunction and a copy: all but the coins is deterministic."""
    a, b, c, odd, both, copy = binary("a", "b", "c", "odd", "both", "copy")
    yes_no = {True: "yes", False: "no"}
    return BayesianNetwork([
        CPT.deterministic(copy, [odd], lambda x: x),
        CPT.deterministic(odd, [a, b], lambda x, y: yes_no[x != y]),
        CPT.deterministic(both, [odd, c], lambda x, y: yes_no[x == y == "yes"]),
        CPT(a, [0.3, 0.7]), CPT(b, [0.6, 0.4]), CPT(c, [0.9, 0.1]),
    ])  # fmt: skip


def zeros() -> BayesianNetwork:
    """A loop of random tables, a third of whose entries are zero; integers, booleans and text as labels."""
    a, b = Variable("a", [2, 1, 0]), Variable("b", [True, False])
    c, d = Variable("c", ["1", 1, True]), Variable("d", [0, "0"])
    rng, tables = np.random.default_rng(5), []
    for child, parents in ((a, []), (b, [a]), (c, [a]), (d, [b, c])):
        table = rng.random([v.cardinality for v in (*parents, child)]) * (
            rng.random([v.cardinality for v in (*parents, child)]) > 0.35
        )
        table[table.sum(axis=-1) == 0] = 1.0
        tables.append(CPT(child, table / table.sum(axis=-1, keepdims=True), parents))
    return BayesianNetwork(tables)


def single_states() -> BayesianNetwork:
    """Variables of one state as root, in the middle, as leaf, alone, and as a second parent."""
    root, middle, leaf, alone = (Variable(name, [f"only {name}"]) for name in ("root", "middle", "leaf", "alone"))
    x, y, z = Variable("x", [0, 1, 2]), *binary("y", "z")
    return BayesianNetwork([
        CPT(root, [1.0]), CPT(x, [[0.2, 0.5, 0.3]], [root]), CPT(middle, [[1.0]] * 3, [x]),
        CPT(y, [[[0.1, 0.9], [0.6, 0.4], [0.5, 0.5]]], [middle, x]), CPT(leaf, [[1.0]] * 2, [y]),
        CPT(alone, [1.0]), CPT(z, [[[0.3, 0.7]], [[0.8, 0.2]]], [y, root]),
    ])  # fmt: skip


def parts() -> BayesianNetwork:
    """A chain, a common cause with two effects, and a variable on its own."""
    a, b, c, u, v, w, lonely = binary("a", "b", "c", "u", "v", "w", "lonely")
    return BayesianNetwork([
        CPT(v, [[0.7, 0.3], [0.2, 0.8]], [u]), CPT(a, [0.4, 0.6]), CPT(b, [[0.9, 0.1], [0.5, 0.5]], [a]),
        CPT(lonely, [0.01, 0.99]), CPT(u, [0.25, 0.75]), CPT(c, [[0.3, 0.7], [0.6, 0.4]], [b]),
        CPT(w, [[0.1, 0.9], [0.9, 0.1]], [u]),
    ])  # fmt: skip


def wide() -> BayesianNetwork:
    """Eight causes of one effect, which has two effects itself."""
    causes = [Variable(f"c{i}", range(2 + (i == 3))) for i in range(8)]
    effect, *more = Variable("effect", ["low", "mid", "high"]), *binary("first", "second")
    tables = [CPT.random(cause, rng=i) for i, cause in enumerate(causes)]
    tables += [CPT.random(effect, causes, rng=8), *(CPT.random(leaf, [effect], rng=9) for leaf in more)]
    return BayesianNetwork(tables)


def noisy() -> BayesianNetwork:
    """Two findings of five diseases by noisy-or without leak: no disease, no finding."""
    diseases, findings = binary(*(f"d{i}" for i in range(5))), binary("cough", "fever")
    tables = [CPT(disease, [0.9 - i / 20, 0.1 + i / 20]) for i, disease in enumerate(diseases)]
    tables += [CPT.noisy_or(findings[0], "yes", {d: {"yes": 0.7} for d in diseases[:4]})]
    tables += [CPT.noisy_or(findings[1], "yes", {d: {"yes": 0.4} for d in diseases[1:]})]
    return BayesianNetwork(tables)


HAND_MADE: dict[str, Callable[[], BayesianNetwork]] = {
    "gates": gates, "zeros": zeros, "single states": single_states, "parts": parts, "wide": wide, "noisy": noisy,
}  # fmt: skip
NETWORKS = ["asia", "cancer", "earthquake", "survey", "sachs", *HAND_MADE]


@cache
def network(name: str) -> BayesianNetwork:
    return HAND_MADE[name]() if name in HAND_MADE else pgm.networks.load(name)


# ---------------------------------------------------------------------- evidence


@dataclass(frozen=True)
class Known:
    """What is known of a network, in all the ways there are."""

    evidence: dict[str, Any] = field(default_factory=dict)
    likelihoods: dict[str, Sequence[float]] = field(default_factory=dict)
    distributions: dict[str, Sequence[float]] = field(default_factory=dict)
    do: dict[str, Any] = field(default_factory=dict)


KINDS = [
    "nothing", "a root", "the leaves", "all but one", "everything", "impossible", "ruled out by its likelihood",
    "likelihoods", "likelihoods and evidence", "a distribution", "distributions and evidence", "do", "do and evidence",
]  # fmt: skip


def known(net: BayesianNetwork, kind: str, seed: int = 0) -> Known | None:
    """Return an example of a kind of evidence: states of a world drawn at random, so that it is possible.

    None if the network has none: without zeros nothing is impossible, alone a variable has no others.
    """
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    table = joint(net)
    code = np.unravel_index(rng.choice(table.size, p=table.ravel() / table.sum()), table.shape)
    world = {variable.name: variable.states[c] for variable, c in zip(net.variables, code, strict=True)}
    vectors = {v.name: rng.uniform(0.1, 1.0, v.cardinality) for v in net.variables}
    likelihoods = {name: vectors[name] for name in net.names[::2]}
    first, middle, last = net.names[0], net.names[len(net) // 2], net.names[-1]

    def states(names: Sequence[str]) -> dict[str, Any]:
        return {name: world[name] for name in names}

    def distribution(name: str) -> Any:
        possible = vectors[name] * (axes_kept(net, table, [name]) > 0)
        return possible / possible.sum()

    if kind == "impossible":
        places = np.argwhere(table == 0)
        if not len(places):
            return None
        place = places[rng.integers(len(places))]
        return Known({v.name: v.states[c] for v, c in zip(net.variables, place, strict=True)})
    if kind == "ruled out by its likelihood":
        zero_one = [float(state != world[last]) for state in net.variable(last).states]
        return Known(states([last]), {last: zero_one}) if any(zero_one) else None
    if kind == "distributions and evidence" and len({first, middle, last}) < 3:
        return None
    return {
        "nothing": Known,
        "a root": lambda: Known(states(net.dag.roots[:1])),
        "the leaves": lambda: Known(states(net.dag.leaves)),
        "all but one": lambda: Known(states([name for name in net.names if name != middle])),
        "everything": lambda: Known(world),
        "likelihoods": lambda: Known({}, likelihoods),
        "likelihoods and evidence": lambda: Known(states(net.dag.leaves[:2]), likelihoods),
        "a distribution": lambda: Known({}, {}, {middle: distribution(middle)}),
        "distributions and evidence": lambda: compatible(net, states([first]), [middle, last], distribution),
        "do": lambda: Known(do=states([middle])),
        "do and evidence": lambda: Known(states([last]), {}, {}, states([middle])),
    }[kind]()


def compatible(net: BayesianNetwork, evidence: dict[str, Any], names: list[str], distribution: Any) -> Known:
    """Return evidence and distributions of some variables; none where zeros could keep these from being met."""
    rest = axes_kept(net, weighed(net, Known(evidence)), names)
    return Known(evidence, {}, {name: distribution(name) for name in (names if rest.all() else [])})


@cache
def case(name: str, kind: str) -> Known:
    """Return a kind of evidence on a network of the table."""
    found = known(network(name), kind)
    if found is None:
        pytest.skip(f"{name} has no such evidence")
    return found


# ---------------------------------------------------------------------- the oracle


def joint(net: BayesianNetwork, do: dict[str, Any] | None = None) -> Any:
    """Return the product of all tables, an axis for each variable in declared order."""
    table = np.ones([variable.cardinality for variable in net.variables])
    for cpt in net.cpts:
        name = cpt.child.name
        if do and name in do:
            table = table * along(net, name, indicator(net, name, do[name]))
        else:
            axes = [net.names.index(n) for n in cpt.names]
            shape = [size if axis in axes else 1 for axis, size in enumerate(table.shape)]
            table = table * cpt.values.transpose(np.argsort(axes)).reshape(shape)
    return table


def along(net: BayesianNetwork, name: str, vector: Any) -> Any:
    return np.reshape(vector, [-1 if other == name else 1 for other in net.names])


def indicator(net: BayesianNetwork, name: str, label: Any) -> Any:
    return [float(type(state) is type(label) and state == label) for state in net.variable(name).states]


def weighed(net: BayesianNetwork, what: Known) -> Any:
    """Return P(x, what is known) for every joint state x."""
    table = joint(net, what.do)
    for name, label in what.evidence.items():
        table = table * along(net, name, indicator(net, name, label))
    for name, vector in what.likelihoods.items():
        table = table * along(net, name, vector)
    if what.distributions:
        table = table / table.sum()
        for _ in range(500):  # iterative proportional fitting
            off = 0.0
            for name, wanted in what.distributions.items():
                now = axes_kept(net, table, [name])
                off = max(off, np.abs(now - wanted).max())
                table = table * along(net, name, np.divide(wanted, now, out=np.zeros(len(now)), where=now > 0))
            if off < 1e-13:
                break
    return table


def axes_kept(net: BayesianNetwork, table: Any, names: Sequence[str]) -> Any:
    """Return the table summed to some of its axes, in the order given."""
    axes = [net.names.index(name) for name in names]
    rest = tuple(axis for axis in range(len(net)) if axis not in axes)
    return table.sum(axis=rest).transpose(np.argsort(np.argsort(axes)))


def posteriors(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    """Return the posterior of each unobserved variable, or raise ZeroDivisionError."""
    table = weighed(net, what)
    if table.sum() == 0:
        raise ZeroDivisionError
    hidden = [name for name in net.names if name not in what.evidence]
    return {name: axes_kept(net, table, [name]) / table.sum() for name in hidden}


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in ("sachs", "wide")])
def test_the_oracle_is_the_enumerated_joint(name):
    net = network(name)
    assert joint(net).ravel() == pytest.approx([p for _, p in oracles.assignments(net)], rel=1e-12, abs=0)


# ---------------------------------------------------------------------- the engines

Engine = Callable[[BayesianNetwork, Known], dict[str, Any]]
"""Returns the posterior of each unobserved variable, or of some."""


def by_queries(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    hidden = [name for name in net.names if name not in what.evidence] or net.names[:1]
    soft = {"likelihoods": what.likelihoods or None, "distributions": what.distributions or None}
    return {name: net.query(name, what.evidence, do=what.do or None, **soft).values for name in hidden}


def by_joint_query(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    names = [net.names[-1], net.names[0]]
    found = net.do(what.do).query(names[: len(set(names))], what.evidence, likelihoods=what.likelihoods)
    return {name: found.marginalize(set(found.names) - {name}).values for name in found.names}


def by_marginals(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    found = net.do(what.do).marginals(
        what.evidence, likelihoods=what.likelihoods, distributions=what.distributions or None
    )
    return {name: factor.values for name, factor in found.items()}


def by_families(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    found = net.do(what.do).families(what.evidence, likelihoods=what.likelihoods)
    return {name: family.values.sum(axis=tuple(range(family.values.ndim - 1))) for name, family in found.items()}


def by_sensitivity(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    """The posterior of the first hidden variable, state by state; an impossible state has no sensitivity."""
    mutilated, hidden = net.do(what.do), [name for name in net.names if name not in what.evidence]
    if not hidden:
        return {}
    found = np.zeros(net.variable(hidden[0]).cardinality)
    for code, state in enumerate(net.variable(hidden[0]).states):
        try:
            answer = mutilated.sensitivity(hidden[0], state, what.evidence, likelihoods=what.likelihoods)
        except EvidenceError as error:
            assert "has probability zero given the evidence" in str(error)
        else:
            found[code] = answer.posterior
    return {hidden[0]: found}


def by_conditioning(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    mutilated, name, soft = net.do(what.do), net.names[-1], {"likelihoods": what.likelihoods}
    return {name: scrimping(mutilated.query_by_conditioning, name, what.evidence, **soft).values}


def by_conditioned_marginals(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    found = scrimping(net.do(what.do).marginals_by_conditioning, what.evidence, likelihoods=what.likelihoods)
    return {name: factor.values for name, factor in found.items()}


def scrimping(ask: Callable[..., Any], *question: Any, **soft: Any) -> Any:
    """Return an answer found in the least memory that will do, but for a factor of two, and with little work."""
    for budget in (64 << power for power in range(12)):
        with suppress(TooLargeError):
            return ask(*question, memory_budget=budget, max_operations=1e6, **soft)
    raise AssertionError("no table is as large as that")


def by_belief_propagation(net: BayesianNetwork, what: Known) -> dict[str, Any]:
    found = net.do(what.do).approximate_marginals(what.evidence, likelihoods=what.likelihoods)
    return {name: factor.values for name, factor in found.marginals.items()} if found.exact else {}


EXACT: dict[str, Engine] = {
    "query": by_queries, "joint query": by_joint_query, "marginals": by_marginals, "families": by_families,
    "sensitivity": by_sensitivity, "conditioning": by_conditioning,
    "conditioned marginals": by_conditioned_marginals, "belief propagation": by_belief_propagation,
}  # fmt: skip
WITH_DISTRIBUTIONS = {"query", "marginals"}


def check_exact(net: BayesianNetwork, what: Known, engine: str) -> None:
    try:
        expected = posteriors(net, what)
    except ZeroDivisionError:
        try:
            found = EXACT[engine](net, what)
        except ImpossibleEvidenceError:
            return
        assert not found, "impossible evidence was not noticed"
        assert engine in ("belief propagation", "sensitivity")  # inexact, or nothing to ask for
        return
    for name, values in EXACT[engine](net, what).items():
        if name in expected:
            assert values == pytest.approx(expected[name], rel=1e-8, abs=1e-11), name


@pytest.mark.parametrize("engine", EXACT)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_exact_engines(name, kind, engine):
    what = case(name, kind)
    if what.distributions and engine not in WITH_DISTRIBUTIONS:
        return
    check_exact(network(name), what, engine)


@settings(max_examples=60, deadline=None)
@given(strategies.networks(max_variables=5), st.sampled_from(KINDS), st.integers(0, 99))
def test_exact_engines_on_networks_made_at_random(net, kind, seed):
    what = known(net, kind, seed)
    if what is None:
        return
    for engine in EXACT:
        if not what.distributions or engine in WITH_DISTRIBUTIONS:
            check_exact(net, what, engine)
    check_probability_and_maximum(net, what)


def check_probability_and_maximum(net: BayesianNetwork, what: Known) -> None:
    if what.distributions:
        return
    mutilated, table, soft = net.do(what.do), weighed(net, what), {"likelihoods": what.likelihoods}
    total = table.sum()
    found = mutilated.log_probability(what.evidence, **soft)
    assert found == pytest.approx(math.log(total) if total else -math.inf, rel=1e-9, abs=1e-12)
    if not total:
        for ask in (mutilated.mpe, lambda *args, **kw: mutilated.map(net.names[0], *args, **kw)):
            with pytest.raises(ImpossibleEvidenceError):
                ask(what.evidence, **soft)
        return
    best = mutilated.best_explanations(3, what.evidence, **soft)
    largest = np.sort(table[table > 0])[::-1][:3]
    assert [math.exp(explanation.log_joint) for explanation in best] == pytest.approx(list(largest), rel=1e-9)
    for explanation, p in zip(best, largest, strict=True):
        world = {**what.evidence, **explanation.assignment}
        assert table[tuple(v.code(world[v.name]) for v in net.variables)] == pytest.approx(p, rel=1e-9)
        assert explanation.log_probability == pytest.approx(math.log(p / total), rel=1e-9, abs=1e-12)
    assert mutilated.mpe(what.evidence, **soft) == best[0]
    targets = [net.names[-1], net.names[0]][: len(net)]
    margin = axes_kept(net, table, targets)
    chosen = mutilated.map(targets, what.evidence, **soft)
    place = tuple(net.variable(name).code(chosen.assignment[name]) for name in targets)
    assert margin[place] == pytest.approx(margin.max(), rel=1e-9)
    assert chosen.log_probability == pytest.approx(math.log(margin.max() / total), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_probability_and_most_probable_states(name, kind):
    check_probability_and_maximum(network(name), case(name, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_families_are_joint_posteriors(name, kind):
    net, what = network(name), case(name, kind)
    table = weighed(net, what)
    if what.distributions or table.sum() == 0:
        return
    for family in net.do(what.do).families(what.evidence, likelihoods=what.likelihoods).values():
        assert family.values == pytest.approx(axes_kept(net, table, family.names) / table.sum(), rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("plan_cost", [-1e12, 1e12], ids=["grouped by pattern", "with likelihood vectors"])
@pytest.mark.parametrize("name", NETWORKS)
def test_many_rows(name, plan_cost, monkeypatch):
    """Every kind of hard evidence, five times, as rows of one table."""
    monkeypatch.setattr(row_groups, "PLAN_NS", plan_cost)
    net = network(name)
    cases = [known(net, kind, seed) for kind in KINDS for seed in range(5)]
    rows = [case.evidence for case in cases if case is not None and case == Known(case.evidence)]
    table = {name: [row.get(name) for row in rows] for name in net.names}
    found, log_likelihoods = net.posterior(table, net.names, impossible="nan"), net.log_likelihood(table)
    possible = [number for number, row in enumerate(rows) if weighed(net, Known(row)).sum() > 0]
    completed = net.impute({name: [column[number] for number in possible] for name, column in table.items()}).to_dict()
    for number, row in enumerate(rows):
        weights = weighed(net, Known(row))
        if number not in possible:
            assert log_likelihoods[number] == -math.inf
            assert all(np.isnan(array[number]).all() for array in found.values())
            continue
        assert log_likelihoods[number] == pytest.approx(math.log(weights.sum()), rel=1e-9, abs=1e-12)
        for variable, array in found.items():
            assert array[number] == pytest.approx(axes_kept(net, weights, [variable]) / weights.sum(), abs=1e-11)
        world = {variable: cells[possible.index(number)] for variable, cells in completed.items()}
        place = tuple(variable.code(world[variable.name]) for variable in net.variables)
        assert weights[place] == pytest.approx(weights.max(), rel=1e-9)


# ---------------------------------------------------------------------- samplers


class Drawn(NamedTuple):
    """Rows, their weights, and how many independent rows they are worth."""

    data: Any
    weights: Any
    worth: float


def drawn_exactly(net: BayesianNetwork, what: Known) -> Drawn:
    data = net.do(what.do).sample(ROWS, 1, evidence=what.evidence, likelihoods=what.likelihoods)
    return Drawn(data, np.ones(ROWS), ROWS)


def drawn_with_weights(net: BayesianNetwork, what: Known) -> Drawn:
    found = net.do(what.do).weighted_sample(ROWS, 2, evidence=what.evidence, likelihoods=what.likelihoods)
    return Drawn(found.data, found.data.weights, found.effective_sample_size)


def drawn_by_chains(net: BayesianNetwork, what: Known) -> Drawn:
    """A hundred chains: the number of independent rows is read off how much the means of the chains differ."""
    found = net.do(what.do).gibbs_sample(ROWS, 3, evidence=what.evidence, likelihoods=what.likelihoods)
    worth = float(ROWS)
    for variable in found.data.variables:
        for code in range(variable.cardinality):
            hits = found.data.codes(variable.name) == code
            means = np.bincount(found.chain, hits) / np.bincount(found.chain)
            if 0 < hits.mean() < 1:
                worth = min(worth, hits.mean() * (1 - hits.mean()) * len(means) / means.var(ddof=1))
    return Drawn(found.data, np.ones(ROWS), worth)


SAMPLERS: dict[str, Callable[[BayesianNetwork, Known], Drawn]] = {
    "backward sampling": drawn_exactly, "likelihood weighting": drawn_with_weights, "Gibbs": drawn_by_chains,
}  # fmt: skip


def refused(net: BayesianNetwork, what: Known, sampler: str, error: Exception) -> bool:
    """Return whether a sampler may say no: Gibbs to zeros, weighting if it met no row that agrees."""
    if isinstance(error, ImpossibleEvidenceError):
        return weighed(net, what).sum() == 0
    zero = any(not cpt.values.all() for cpt in net.do(what.do).cpts)
    return sampler == "Gibbs" and zero and "probabilities of zero" in str(error)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_samplers(name, kind, sampler):
    net, what = network(name), case(name, kind)
    if what.distributions:
        return
    try:
        found = SAMPLERS[sampler](net, what)
    except (EvidenceError, ImpossibleEvidenceError) as error:
        assert refused(net, what, sampler, error)
        return
    assert found.data.names == net.names
    check_frequencies(found, posteriors(net, what))
    for name, label in what.evidence.items():
        assert (found.data.codes(name) == net.variable(name).code(label)).all()


def check_frequencies(found: Drawn, expected: dict[str, Any]) -> None:
    """Five standard errors; for probabilities too small for that, five rows."""
    assert found.worth > 40
    for name, p in expected.items():
        frequencies = np.bincount(found.data.codes(name), found.weights, minlength=len(p)) / found.weights.sum()
        allowed = 5 * np.sqrt((p * (1 - p)).clip(0) / found.worth) + 5 / found.worth
        assert (np.abs(frequencies - p) <= allowed).all(), name
        assert not frequencies[p == 0].any()


# ---------------------------------------------------------------------- the twin in which everything underflows


def twin(net: BayesianNetwork, vectors: dict[str, Any]) -> tuple[BayesianNetwork, dict[str, Any]]:
    """Return the network with a child of each variable that speaks for a state x with SCALE * vector[x], observed."""
    reports = [
        CPT(Variable(f"report on {v.name}", [True, False]), [[SCALE * p, 1 - SCALE * p] for p in vectors[v.name]], [v])
        for v in net.variables
    ]
    return BayesianNetwork([*net.cpts, *reports]), {cpt.child.name: True for cpt in reports}


@pytest.mark.parametrize("kind", ["nothing", "a root", "the leaves", "all but one", "everything", "impossible", "do"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "sachs"])
def test_the_twin(name, kind):
    net, what = network(name), case(name, kind)
    rng = np.random.default_rng(7)
    vectors = {v.name: rng.uniform(0.1, 1.0, v.cardinality) for v in net.variables}
    tiny, reports = twin(net, vectors)
    asked = Known({**what.evidence, **reports}, do=what.do)
    if kind == "impossible":
        assert tiny.log_probability(asked.evidence) == -math.inf
        for engine in ("query", "marginals", "families", "conditioning"):
            with pytest.raises(ImpossibleEvidenceError):
                EXACT[engine](tiny, asked)
        return
    weights = weighed(net, replace(what, likelihoods=vectors))
    total = weights.sum()
    expected = {name: axes_kept(net, weights, [name]) / total for name in net.names}
    mutilated, shift = tiny.do(what.do), len(net) * math.log(SCALE)
    assert mutilated.probability(asked.evidence) == 0.0
    assert mutilated.log_probability(asked.evidence) == pytest.approx(math.log(total) + shift, rel=1e-12)
    for engine, ask in EXACT.items():
        for variable, values in ask(tiny, asked).items():
            if variable in expected:
                assert values == pytest.approx(expected[variable], rel=1e-8, abs=1e-11), (engine, variable)
    best = mutilated.mpe(asked.evidence)
    assert best.log_joint == pytest.approx(math.log(weights.max()) + shift, rel=1e-12)
    rows = {variable: [label] * 3 for variable, label in asked.evidence.items()}
    assert mutilated.log_likelihood(rows)[2] == pytest.approx(math.log(total) + shift, rel=1e-12)
    for variable, array in mutilated.posterior(rows, net.names).items():
        assert array[1] == pytest.approx(expected[variable], rel=1e-8, abs=1e-11)
    check_frequencies(drawn_exactly(tiny, asked), expected)
