"""Ties among the most probable explanations, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import pgm.inference.kernels
import pgm.inference.ties
from pgm.factors import CPT, Variable
from pgm.inference.kernels import MaxProduct
from pgm.inference.maximum import Maximizer
from pgm.network import BayesianNetwork
from tests.inference.test_maximum import ranked

LIMITS = [
    pytest.param({}, id="lists"),
    pytest.param({"MOST_NUMBERS": 40}, id="few lists"),
    pytest.param({"MOST_NUMBERS": 0}, id="no lists"),
    pytest.param({"BLOCK_CELLS": 1}, id="small blocks"),
]


@pytest.fixture(params=LIMITS)
def _limits(request, monkeypatch):
    for name, value in request.param.items():
        monkeypatch.setattr(pgm.inference.ties, name, value)


def random_problem(rng, entries):
    """Return scopes, cardinalities and tables with entries drawn from a few values, so that many products tie."""
    n = int(rng.integers(2, 9))
    cardinalities = [int(c) for c in rng.integers(2, 4, size=n)]
    scopes = []
    for variable in range(n):
        others = rng.choice(n, size=int(rng.integers(0, min(3, n))), replace=False)
        scopes.append(tuple(int(v) for v in rng.permutation(sorted({variable, *map(int, others)}))))
    tables = [rng.choice(entries, size=[cardinalities[v] for v in scope]) for scope in scopes]
    return scopes, cardinalities, tables


def enumerated(scopes, cardinalities, exponents):
    """Return the joint states by the sum of their exponents, the best first, ties in order; -1 stands for zero."""
    found = []
    for state in product(*map(range, cardinalities)):
        parts = [int(table[tuple(state[v] for v in scope)]) for scope, table in zip(scopes, exponents, strict=True)]
        if min(parts) >= 0:
            found.append((-sum(parts), state))
    return [state for _, state in sorted(found)]


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize("base", [2.0, 1e60], ids=["plain", "tiny"])
@pytest.mark.parametrize("exponents", [[0], [-1, 0], [-1, 0, 0, 1], [0, 1, 2, 3]], ids=str)
def test_first_of_the_best(base, exponents):
    """Entries are zero or powers; powers of 1e60 multiply to numbers that only logarithms can hold."""
    rng = np.random.default_rng(len(exponents))
    for _ in range(40):
        scopes, cardinalities, drawn = random_problem(rng, exponents)
        tables = [np.where(table < 0, 0.0, base ** (table.astype(float) - 3.0)) for table in drawn]
        order = enumerated(scopes, cardinalities, drawn)
        best = Maximizer(scopes, cardinalities).best(tables)
        assert best == (dict(enumerate(order[0])) if order else None)


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize("base", [2.0, 1e60], ids=["plain", "tiny"])
def test_the_k_best_of_many_ties(base):
    """They come in groups of equal probability, each in order, and the last group is cut off in order as well."""
    rng = np.random.default_rng(3)
    for _ in range(15):
        scopes, cardinalities, drawn = random_problem(rng, [-1, 0, 1])
        tables = [np.where(table < 0, 0.0, base ** (table.astype(float) - 2.0)) for table in drawn]
        order = enumerated(scopes, cardinalities, drawn)
        if len(order) > 60:
            continue
        maximizer = Maximizer(scopes, cardinalities)
        for k in {1, 2, 3, 5, len(order), len(order) + 3} - {0}:
            assert [tuple(codes.values()) for codes in maximizer.k_best(tables, k)] == order[:k]


def coins(n):
    return BayesianNetwork([CPT(Variable(f"C{i}", [0, 1]), [0.5, 0.5]) for i in range(n)])


def test_the_first_of_very_many_equally_probable_ones():
    """Fair coins: all 2**n joint states tie, and the k best are the first in declared order."""
    found = [tuple(e.assignment.values()) for e in coins(3).best_explanations(3)]
    assert found == [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    found = [tuple(e.assignment.values())[-3:] for e in coins(40).best_explanations(6)]
    assert found == list(product([0, 1], repeat=3))[:6]


def test_only_rounding_makes_a_tie():
    """A difference of 4e-10 is one; of 1e-13, the size of rounding, is none."""
    a = Variable("A", [0, 1])
    near = BayesianNetwork([CPT(a, [0.5 - 1e-10, 0.5 + 1e-10])])
    assert near.mpe().assignment["A"] == near.map("A").assignment["A"] == near.query("A").argmax()["A"] == 1
    assert [e.assignment["A"] for e in near.best_explanations(2)] == [1, 0]
    hole = {"B": ["x"], "A": [None]}
    with_column = BayesianNetwork([CPT(a, [0.5 - 1e-10, 0.5 + 1e-10]), CPT(Variable("B", ["x", "y"]), [0.5, 0.5])])
    for method in ("joint", "marginal"):
        assert with_column.impute(hole, method=method).to_dict()["A"] == [1]
    assert with_column.predict(hole, "A") == [1]
    equal = BayesianNetwork([CPT(a, [0.5 - 1e-13, 0.5 + 1e-13]), CPT(Variable("B", ["x", "y"]), [0.5, 0.5])])
    assert equal.mpe().assignment["A"] == equal.predict(hole, "A")[0] == 0
    for method in ("joint", "marginal"):
        assert equal.impute(hole, method=method).to_dict()["A"] == [0]
    assert [e.assignment["A"] for e in equal.best_explanations(4)] == [0, 0, 1, 1]


def random_table(rng, states, rows):
    """Return a table whose rows are uniform, deterministic, or taken from two that recur."""
    kind = rng.integers(3)
    if kind == 0:
        return np.full((rows, states), 1 / states)
    if kind == 1:
        return np.eye(states)[rng.integers(states, size=rows)]
    return rng.dirichlet(np.ones(states), size=2)[rng.integers(2, size=rows)]


@pytest.mark.usefixtures("_limits")
def test_networks_with_uniform_deterministic_and_repeated_rows():
    rng = np.random.default_rng(11)
    for _ in range(25):
        variables = [Variable(f"V{i}", list(range(rng.integers(2, 4)))) for i in range(6)]
        cpts = []
        for i, child in enumerate(variables):
            parents = [variables[j] for j in sorted(rng.choice(i, size=min(i, int(rng.integers(3))), replace=False))]
            shape = [parent.cardinality for parent in parents]
            table = random_table(rng, child.cardinality, int(np.prod(shape, dtype=int)))
            cpts.append(CPT(child, table.reshape(*shape, -1), parents))
        net = BayesianNetwork([cpts[i] for i in rng.permutation(6)])
        for evidence in ({}, {"V5": net.mpe().assignment["V5"]}):
            hidden = [name for name in net.names if name not in evidence]
            assert dict(net.mpe(evidence).assignment) == ranked(net, hidden, evidence)[0][2]
            asked = hidden[::2]
            assert dict(net.map(asked, evidence).assignment) == ranked(net, asked, evidence)[0][2]


def test_more_ties_than_can_be_listed():
    """A clique of 2**20 joint states that all tie, and a last variable that forbids the first one."""
    n = 20
    tables = [np.ones([2] * 10), np.ones([2] * 10), np.ones([2] * 11), np.asarray([0.0, 1.0])]
    scopes = [tuple(range(10)), tuple(range(10, 20)), (0, *range(10, 20)), (19,)]
    scopes.append(tuple(range(5, 15)))
    tables.append(np.ones([2] * 10))
    best = Maximizer(scopes, [2] * n).best(tables)
    assert best == {**dict.fromkeys(range(n), 0), 19: 1}


@pytest.mark.parametrize("limits", [{}, {"FEW_CELLS": 64, "PART_CELLS": 40}, {"FEW_CELLS": 64, "PART_CELLS": 7}])
def test_max_kernels(limits, monkeypatch):
    """Any two scopes and any result, against the product formed at once."""
    for name, value in limits.items():
        monkeypatch.setattr(pgm.inference.kernels, name, value)
    rng = np.random.default_rng(5)
    cards = [2, 3, 1, 5, 4, 7]
    for _ in range(150):
        axes = [tuple(int(a) for a in rng.permutation(6)[: rng.integers(1, 6)]) for _ in range(2)]
        joint = sorted({*axes[0], *axes[1]})
        out = tuple(int(a) for a in rng.permutation(joint)[: rng.integers(0, len(joint) + 1)])
        tables = [rng.random([cards[a] for a in scope]) for scope in axes]
        kernel = MaxProduct.kernel(tuple(axes), out, lambda v: int(np.prod([cards[a] for a in v], dtype=int)), None)
        whole = np.einsum(tables[0], axes[0], tables[1], axes[1], [*out, *(a for a in joint if a not in out)])
        expected = whole.max(axis=tuple(range(len(out), len(joint)))) if len(out) < len(joint) else whole
        np.testing.assert_array_equal(kernel(*tables), expected)
