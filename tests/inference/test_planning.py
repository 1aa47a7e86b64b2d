"""Plans and the arrays they run on, against one einsum over everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.inference import kernels
from pgm.inference.compiling import marginal_program, sum_program
from pgm.inference.kernels import MaxProduct, SumProduct, contract_pair, subscripts
from pgm.inference.planning import make_plan
from pgm.inference.underflow import as_logarithms


@st.composite
def problems(draw):
    size = draw(st.integers(1, 7))
    cardinalities = draw(st.lists(st.integers(2, 4), min_size=size, max_size=size))
    scopes = draw(
        st.lists(
            st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=8
        )
    )
    present = sorted({v for scope in scopes for v in scope})
    kept = draw(st.lists(st.sampled_from(present), max_size=3, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    tables = [rng.random([cardinalities[v] for v in scope]) for scope in scopes]
    return cardinalities, scopes, tables, kept


def at_once(scopes, tables, out):
    arguments = [part for scope, table in zip(scopes, tables, strict=True) for part in (table, list(scope))]
    return np.einsum(*arguments, list(out))


@settings(max_examples=200, deadline=None)
@given(problems())
def test_sums_are_those_of_one_einsum(problem):
    cardinalities, scopes, tables, kept = problem
    program = sum_program(make_plan(scopes, cardinalities, kept))
    table, log_scale = program.value(tables)
    assert np.asarray(table) * math.exp(log_scale) == pytest.approx(at_once(scopes, tables, kept), rel=1e-10)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_marginals_are_those_of_one_einsum(problem):
    cardinalities, scopes, tables, _ = problem
    present = sorted({v for scope in scopes for v in scope})
    program = marginal_program(make_plan(scopes, cardinalities), present)
    output, log_value = program.marginals(tables)
    total = at_once(scopes, tables, [])
    assert log_value == pytest.approx(math.log(total))
    for variable in present:
        start, stop = program.places[variable]
        assert output[start:stop] == pytest.approx(at_once(scopes, tables, [variable]) / total)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(-300, -150))
def test_scaling_takes_over_where_numbers_underflow(problem, exponent):
    cardinalities, scopes, tables, kept = problem
    small = [table * 10.0**exponent for table in tables]
    shift = exponent * len(tables) * math.log(10)
    table, log_scale = sum_program(make_plan(scopes, cardinalities, kept)).value(small)
    expected = np.log(at_once(scopes, tables, kept)) + shift
    assert np.log(table) + log_scale == pytest.approx(expected, rel=1e-9)
    present = sorted({v for scope in scopes for v in scope})
    plain = marginal_program(make_plan(scopes, cardinalities), present).marginals(tables)
    scaled = marginal_program(make_plan(scopes, cardinalities), present).marginals(small)
    assert scaled.table == pytest.approx(plain.table)
    assert scaled.log_scale == pytest.approx(plain.log_scale + shift, rel=1e-9)


def scope_kinds(draw_from: dict[str, int]):
    return st.fixed_dictionaries({kind: st.integers(0, most) for kind, most in draw_from.items()})


@settings(max_examples=150, deadline=None)
@given(
    scope_kinds({"batch": 2, "inner": 2, "rows": 2, "columns": 2, "alone": 1}), st.randoms(use_true_random=False),
    st.sampled_from([1, 10**9]),
)  # fmt: skip
def test_both_kernels_of_a_pair_agree_with_einsum(counts, random, threshold):
    axes, of = 0, {}
    for kind, count in counts.items():
        of[kind] = list(range(axes, axes + count))
        axes += count
    left, right = (
        of["batch"] + of["inner"] + of["rows"] + of["alone"], of["batch"] + of["inner"] + of["columns"],
    )  # fmt: skip
    out = of["batch"] + of["rows"] + of["columns"]
    for scope in (left, right, out):
        random.shuffle(scope)
    cardinalities = [2 + axis % 3 for axis in range(axes)]
    rng = np.random.default_rng(0)
    x, y = (rng.random([cardinalities[a] for a in scope]) for scope in (left, right))
    before = kernels.MATRIX_WORK, kernels.BLAS_WORK
    kernels.MATRIX_WORK = threshold
    kernels.BLAS_WORK = 30  # several blocks
    try:
        kernel = contract_pair(tuple(left), tuple(right), tuple(out), lambda s: math.prod(cardinalities[a] for a in s))
    finally:
        kernels.MATRIX_WORK, kernels.BLAS_WORK = before
    expected = np.einsum(subscripts((tuple(left), tuple(right)), tuple(out)), x, y)
    assert np.asarray(kernel(x, y)) == pytest.approx(expected)


def test_the_table_of_the_clique_is_never_stored():
    """Two tables over ten binary variables each, sharing nine: the clique has 2**11 cells, no stored table has."""
    plan = make_plan([tuple(range(10)), tuple(range(1, 11))], [2] * 11, kept=[0, 10])
    assert plan.largest_table == 2**10


def test_barren_tables_cost_nothing_forward():
    plan = make_plan([(0,), (0, 1), (1, 2), (0, 3)], [2] * 4, heads=[0, 1, 2, 3])
    assert plan.operations == 0
    assert all(plan.units[root] for root in plan.roots)
    program = marginal_program(plan, [0, 1, 2, 3])
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([1, 1], size=shape) for shape in ((), 2, 2, 2)]
    output, log_value = program.marginals(tables)
    assert log_value == 0.0
    start, stop = program.places[2]
    assert output[start:stop] == pytest.approx(tables[0] @ tables[1] @ tables[2])


def test_many_tables_over_one_variable_are_joined_without_looking_at_all_pairs():
    n = 3000
    plan = make_plan([(0,)] * n, [2])
    table, log_scale = sum_program(plan).value([np.array([0.5, 0.25])] * n)
    assert math.log(table) + log_scale == pytest.approx(n * math.log(0.5))


@settings(max_examples=100, deadline=None)
@given(problems(), st.sampled_from([4, 1 << 18]))
def test_all_semirings_agree_with_the_whole_product(problem, block):
    """Maxima, and sums and maxima of logarithms, in one block and in many."""
    cardinalities, scopes, tables, kept = problem
    joint = sorted({v for scope in scopes for v in scope})
    product = at_once(scopes, tables, joint)
    gone = tuple(axis for axis, variable in enumerate(joint) if variable not in kept)
    order = [sorted(kept).index(variable) for variable in kept]
    best = product.max(axis=gone).transpose(order)
    total = product.sum(axis=gone).transpose(order)
    before = kernels.BLOCK_CELLS
    kernels.BLOCK_CELLS = block
    try:
        plan = make_plan(scopes, cardinalities, kept)
        found = sum_program(plan, MaxProduct).value(tables)
        logs = {
            semiring.name: _exponential_of(sum_program(plan, semiring.of_logarithms), tables)
            for semiring in (SumProduct, MaxProduct)
        }
    finally:
        kernels.BLOCK_CELLS = before
    assert np.asarray(found.table) * math.exp(found.log_scale) == pytest.approx(best)
    assert logs["max-product"] == pytest.approx(best)
    assert logs["sum-product"] == pytest.approx(total)


def _exponential_of(program, tables):
    slots = program._plain_forward(as_logarithms(tables))
    return np.exp(np.asarray(sum(slots[root] for root in program._roots)))
