"""Tests of independence, against bnlearn's printed numbers, scipy, and enumeration in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import DataError, MissingDataError, TooLargeError, UnknownNameError
from pgm.learning.independence.contingency import StratifiedTables, chi_square_tail, random_tables, shrunken
from pgm.learning.independence.mutual_information import mutual_information, mutual_information_matrix
from pgm.learning.independence.tests import METHODS, independence_test
from tests.data.bundled import table


def rows_of(counts):
    """Return a dict of columns x, y, z with counts[z][x][y] rows of each kind."""
    rows = [
        (z, x, y)
        for z, stratum in enumerate(counts)
        for x, line in enumerate(stratum)
        for y, n in enumerate(line)
        for _ in range(n)
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate("zxy")}


def dataset_of(counts):
    counts = np.asarray(counts)
    states = dict(zip("zxy", map(range, counts.shape), strict=True))
    return Dataset(rows_of(counts.tolist()), states=states)


@st.composite
def stratified_counts(draw, largest=12):
    shape = draw(st.tuples(st.integers(1, 3), st.integers(2, 3), st.integers(2, 4)))
    cells = draw(st.lists(st.integers(0, largest), min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.array(cells).reshape(shape)


# ---------------------------------------------------------------- published numbers


@pytest.mark.parametrize(("x", "y", "z", "statistic", "p_value"), [
    ("Height", "Diameter", "Species", 2.0256, 0.3632),
    ("Species", "Diameter", "Height", 14.0241, 0.000901),
])  # fmt: skip
def test_what_bnlearn_prints_for_lizards(x, y, z, statistic, p_value):
    """www.bnlearn.com/examples/ci.test/: ci.test(..., data = lizards, test = "mi")."""
    test = independence_test(table("lizards"), x, y, z)
    assert test.statistic == pytest.approx(statistic, abs=5e-5)
    assert test.degrees_of_freedom == 2
    assert test.p_value == pytest.approx(p_value, abs=5e-5)
    assert test.mutual_information == pytest.approx(statistic / (2 * 409), abs=1e-7)


# ---------------------------------------------------------------- scipy as referee


@settings(max_examples=60, deadline=None)
@given(stratified_counts())
def test_statistics_are_the_sums_of_scipys_over_strata(counts):
    chi2, g2, degrees = 0.0, 0.0, 0
    for stratum in counts:
        kept = stratum[stratum.sum(axis=1) > 0][:, stratum.sum(axis=0) > 0]
        if min(kept.shape) < 2:
            continue
        pearson = scipy.stats.chi2_contingency(kept, correction=False)
        chi2 += pearson.statistic
        degrees += pearson.dof
        g2 += scipy.stats.chi2_contingency(kept, correction=False, lambda_="log-likelihood").statistic
    data = dataset_of(counts)
    for method, statistic in (("chi2-adjusted", chi2), ("g2-adjusted", g2)):
        test = independence_test(data, "x", "y", "z", method=method)
        assert test.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
        assert test.degrees_of_freedom == degrees
        expected = scipy.stats.chi2.sf(statistic, degrees) if degrees else 1.0
        assert test.p_value == pytest.approx(expected, rel=1e-6, abs=1e-300)
    strata, x_states, y_states = counts.shape
    full = independence_test(data, "x", "y", "z", method="g2")
    assert full.degrees_of_freedom == strata * (x_states - 1) * (y_states - 1)
    assert full.p_value == pytest.approx(scipy.stats.chi2.sf(g2, full.degrees_of_freedom), rel=1e-6)


def test_tail_is_scipys():
    statistics = np.array([0.0, 1e-3, 3.84, 50.0, 700.0, 5000.0])
    for degrees in (1, 2, 7, 400):
        expected = scipy.stats.chi2.sf(statistics, degrees)
        np.testing.assert_allclose(chi_square_tail(statistics, np.full(6, degrees)), expected, rtol=1e-9)


def test_tables_side_by_side_are_those_alone():
    rng = np.random.default_rng(3)
    alone = [rng.integers(0, 9, (2, 3, states)) for states in (2, 4, 3)]
    for part in alone:  # all y are of the same rows
        part[:, :, -1] += 40 - part.sum(axis=2)
    together = StratifiedTables(np.concatenate(alone, axis=2), [0, 2, 6])
    for place, counts in enumerate(alone):
        single = StratifiedTables(counts)
        assert together.g_square()[place] == pytest.approx(single.g_square()[0], rel=1e-12)
        assert together.chi_square()[place] == pytest.approx(single.chi_square()[0], rel=1e-12)
        for adjusted in (False, True):
            assert together.degrees_of_freedom(adjusted)[place] == single.degrees_of_freedom(adjusted)[0]


def test_cramers_v_is_scipys():
    counts = np.array([[12, 5, 9], [3, 14, 8]])
    test = independence_test(dataset_of([counts]), "x", "y")
    assert test.cramers_v == pytest.approx(scipy.stats.contingency.association(counts, method="cramer"))


def test_cramers_v_is_one_where_one_decides_the_other():
    counts = [[[10, 0, 0], [0, 20, 0]], [[0, 0, 5], [5, 0, 0]]]
    assert independence_test(dataset_of(counts), "x", "y", "z").cramers_v == pytest.approx(1.0)


# ---------------------------------------------------------------- enumeration


def information_by_hand(data, x, y, given=()):
    rows = list(zip(*(data[name] for name in (*given, x, y)), strict=True))
    joint = Counter(rows)
    with_x, with_y, alone = Counter(), Counter(), Counter()
    for (*z, a, b), n in joint.items():
        with_x[(*z, a)] += n
        with_y[(*z, b)] += n
        alone[tuple(z)] += n
    terms = (n * math.log(n * alone[tuple(z)] / (with_x[(*z, a)] * with_y[(*z, b)])) for (*z, a, b), n in joint.items())
    return math.fsum(terms) / len(rows)


def random_columns(seed, n_rows=80, names="abcd"):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, n_rows)
    return {name: ((base * (rng.random(n_rows) < 0.6)) + rng.integers(0, 2, n_rows)).tolist() for name in names}


@pytest.mark.parametrize("given", [(), ("c",), ("c", "d")])
def test_mutual_information_by_hand(given):
    data = random_columns(1)
    by_hand = information_by_hand(data, "a", "b", given)
    assert mutual_information(data, "a", "b", given) == pytest.approx(by_hand, rel=1e-12)
    test = independence_test(data, "a", "b", given, method="mi")
    assert test.statistic == test.mutual_information == pytest.approx(by_hand, rel=1e-12)
    assert test.p_value == independence_test(data, "a", "b", given, method="g2").p_value


@pytest.mark.parametrize("given", [(), ("c",), ("d", "a")])
def test_matrix_holds_all_pairs(given):
    data = random_columns(2)
    matrix = mutual_information_matrix(data, given)
    assert np.array_equal(matrix, matrix.T)
    for row, x in enumerate("abcd"):
        for column, y in enumerate("abcd"):
            if x in given or y in given:
                assert matrix[row, column] == 0.0
            elif x != y:
                assert matrix[row, column] == pytest.approx(information_by_hand(data, x, y, given), rel=1e-12)
            else:
                doubled = {**data, "copy": data[x]}
                assert matrix[row, column] == pytest.approx(information_by_hand(doubled, x, "copy", given), rel=1e-12)


def test_never_both_is_dependence_and_nothing_in_common_is_exactly_zero():
    """Columns that never occur together depend on each other (pomegranate#708)."""
    counts = [("P", True, 4), ("P", False, 4), ("Q", True, 3), ("Q", False, 3), ("R", True, 2), ("R", False, 2),
              ("-", True, 1), ("-", False, 1)]  # fmt: skip
    rows = [(who, flag) for who, flag, n in counts for _ in range(n)]
    data = {name: [who == name for who, _ in rows] for name in "PQR"} | {"I": [flag for _, flag in rows]}
    matrix = mutual_information_matrix(data)
    assert matrix[0, 1] == pytest.approx(0.19497599371892632, abs=1e-12)
    assert matrix[0, 2] == pytest.approx(0.11849392256130023, abs=1e-12)
    assert matrix[1, 2] == pytest.approx(0.08161371152850785, abs=1e-12)
    assert matrix[3, :3].tolist() == [0.0, 0.0, 0.0]


def test_large_tables_of_independent_counts_give_exactly_zero():
    counts = np.outer([123457, 234561, 3], [7919, 104729]).reshape(1, 3, 2)
    tables = StratifiedTables(counts)
    assert tables.g_square()[0] == tables.chi_square()[0] == 0.0


def test_shrinkage_by_hand():
    counts = np.array([[[9, 1], [2, 7]], [[4, 4], [0, 3]]])
    total, cells = counts.sum(), counts.ravel().tolist()
    frequencies = [n / total for n in cells]
    numerator = 1 - sum(p * p for p in frequencies)
    weight = numerator / ((total - 1) * sum((1 / 8 - p) ** 2 for p in frequencies))
    drawn = [weight / 8 + (1 - weight) * p for p in frequencies]
    assert shrunken(counts).ravel().tolist() == pytest.approx([total * p for p in drawn])
    p = np.array(drawn).reshape(2, 2, 2)
    ratio = p * p.sum((1, 2), keepdims=True) / (p.sum(2, keepdims=True) * p.sum(1, keepdims=True))
    test = independence_test(dataset_of(counts), "x", "y", "z", method="mi-shrinkage")
    assert test.statistic == pytest.approx(float((p * np.log(ratio)).sum()))
    assert test.p_value == pytest.approx(scipy.stats.chi2.sf(2 * total * test.statistic, 2))
    assert test.statistic < test.mutual_information
    assert shrunken(np.array([1, 0])).tolist() == [0.5, 0.5]


# ---------------------------------------------------------------- permutations


def test_random_tables_occur_as_often_as_among_all_permutations():
    x, y = [0, 0, 1, 1, 1, 2], [0, 1, 1, 2, 2, 2]
    exact = Counter(tuple(sorted(zip(x, order, strict=True))) for order in permutations(y))
    drawn = random_tables(np.array([[2, 3, 1]]), np.array([[1, 2, 3]]), 20_000, np.random.default_rng(5))
    found = Counter(
        tuple((a, b) for a in range(3) for b in range(3) for _ in range(cells[a][b])) for cells in drawn[:, 0].tolist()
    )
    assert set(found) == set(exact)
    expected = np.array([exact[key] * 20_000 / 720 for key in exact])
    observed = np.array([found[key] for key in exact])
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-4


def test_random_tables_keep_the_margins_of_every_stratum():
    counts = np.random.default_rng(0).integers(0, 30, (4, 3, 5))
    counts[2] = 0
    drawn = random_tables(counts.sum(2), counts.sum(1), 200, np.random.default_rng(1))
    assert (drawn >= 0).all()
    assert (drawn.sum(axis=3) == counts.sum(axis=2)).all()
    assert (drawn.sum(axis=2) == counts.sum(axis=1)).all()
    assert len(np.unique(drawn.reshape(200, -1), axis=0)) > 190


@pytest.mark.parametrize("method", ["g2-permutation", "chi2-permutation"])
def test_permutation_p_value_of_a_small_table_is_the_exact_one(method):
    counts = np.array([[[7, 2], [3, 8]]])
    statistic = StatisticOf(method)
    weights = {cell: scipy.stats.hypergeom.pmf(cell, 20, 10, 9) for cell in range(10)}
    observed = statistic(counts[0])
    exact = sum(
        p for cell, p in weights.items() if statistic([[cell, 9 - cell], [10 - cell, 1 + cell]]) >= observed - 1e-9
    )
    test = independence_test(dataset_of(counts), "x", "y", method=method, permutations=20_000, rng=2)
    assert test.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert test.degrees_of_freedom is None
    assert test.permutations == 20_000


class StatisticOf:
    def __init__(self, method):
        self.kind = method.partition("-")[0]

    def __call__(self, counts):
        counts = np.array(counts, float)
        expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        if self.kind == "chi2":
            return ((counts - expected) ** 2 / expected).sum()
        return 2 * sum(n * math.log(n / e) for n, e in zip(counts.flat, expected.flat, strict=True) if n)


def test_permutation_stays_within_strata():
    """Strongly dependent together, independent in each stratum."""
    counts = [[[160, 40], [40, 10]], [[10, 40], [40, 160]]]
    data = dataset_of(counts)
    assert independence_test(data, "x", "y", method="g2-permutation", rng=0, permutations=99).p_value == 0.01
    assert independence_test(data, "x", "y", "z", method="g2-permutation", rng=0).p_value == 1.0


def test_permutation_is_repeatable_and_leaves_global_state_alone():
    data = dataset_of([[[7, 4], [5, 8]]])
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = independence_test(data, "x", "y", method="chi2-permutation", rng=7)
    assert first == independence_test(data, "x", "y", method="chi2-permutation", rng=np.random.default_rng(7))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize("method", ["g2-adjusted", "chi2", "g2-permutation"])
def test_true_independence_is_refuted_about_as_often_as_alpha_says(method):
    rng = np.random.default_rng(11)
    refuted = 0
    for _ in range(300):
        z = rng.integers(0, 2, 300)
        data = {"z": z, "x": (rng.random(300) < 0.3 + 0.4 * z).astype(int), "y": (rng.random(300) < 0.7 - 0.4 * z) * 1}
        refuted += not independence_test(data, "x", "y", "z", method=method, permutations=199, rng=rng).is_independent()
    assert 4 <= refuted <= 30  # of 300 at 0.05: 15 expected


# ---------------------------------------------------------------- weights, odd data


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_counts_as_so_many_rows(method):
    counts = [[[4, 9], [7, 3]], [[5, 1], [2, 8]]]
    cells = [(z, x, y, counts[z][x][y]) for z in range(2) for x in range(2) for y in range(2)]
    columns = {name: [cell[place] for cell in cells] for place, name in enumerate("zxy")}
    weighted = Dataset(columns, weights=[n for *_, n in cells])
    assert independence_test(weighted, "x", "y", "z", method=method, rng=0) == independence_test(
        dataset_of(counts), "x", "y", "z", method=method, rng=0
    )


def test_weights_that_are_no_numbers_of_rows():
    data = Dataset({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}, weights=[1.5, 0.5, 0.5, 1.5])
    once = Dataset(data, weights=[3.0, 1.0, 1.0, 3.0])
    assert independence_test(data, "x", "y").statistic == pytest.approx(independence_test(once, "x", "y").statistic / 2)
    with pytest.raises(DataError, match="weights must be whole numbers"):
        independence_test(data, "x", "y", method="g2-permutation")


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_cannot_depend(method):
    constant = Dataset({"x": [0, 0, 0], "y": [0, 1, 1]})
    empty = Dataset({"x": [], "y": []}, states={"x": [0, 1], "y": [0, 1]})
    for data in (constant, empty):
        test = independence_test(data, "x", "y", method=method, rng=0, permutations=50)
        assert (test.statistic, test.p_value, test.mutual_information, test.cramers_v) == (0.0, 1.0, 0.0, 0.0)
    assert mutual_information_matrix(empty).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert mutual_information(empty, "x", "y") == 0.0


def test_warns_of_small_expected_counts():
    assert independence_test(dataset_of([[[20, 20], [20, 20]]]), "x", "y").warning is None
    sparse = independence_test(dataset_of([[[9, 1], [1, 0]]]), "x", "y")
    assert "3 of 4 expected counts are below 5, the smallest is 0.091" in sparse.warning
    assert "warning: 3 of 4" in str(sparse)
    structural = [[[20, 20, 0], [20, 20, 0]]]
    assert independence_test(dataset_of(structural), "x", "y").warning is None
    assert independence_test(dataset_of([[[9, 1], [1, 0]]]), "x", "y", method="g2-permutation", rng=0).warning is None
    assert (
        "no rows" in independence_test(Dataset({"x": [], "y": []}, states={"x": [0, 1], "y": [0, 1]}), "x", "y").warning
    )


def test_printing():
    test = independence_test(table("lizards"), "Height", "Diameter", "Species")
    assert repr(test) == "<IndependenceTest (g2): Height, Diameter | Species, p = 0.3632>"
    lines = str(test).splitlines()
    assert lines[0] == "test of Height and Diameter given Species"
    assert lines[1] == "  G2 = 2.026, 2 degrees of freedom, p = 0.3632"
    assert lines[3] == "  sample: 409 in 2 strata"


def test_the_level_is_the_callers():
    test = independence_test(table("lizards"), "Species", "Diameter", "Height")
    assert not test.is_independent()
    assert test.is_independent(0.0005)
    with pytest.raises(DataError, match="lies between 0 and 1"):
        test.is_independent(5)


def test_errors():
    data = Dataset({"x": [0, 1, None], "y": [0, 1, 1], "z": [1, 1, 0]})
    with pytest.raises(MissingDataError, match="x"):
        independence_test(data, "x", "y")
    assert independence_test(data, "y", "z").sample_size == 3  # the hole is elsewhere
    with pytest.raises(UnknownNameError, match="'w'"):
        independence_test(data, "y", "z", "w")
    with pytest.raises(DataError, match="twice"):
        independence_test(data, "y", "y")
    with pytest.raises(DataError, match="twice"):
        independence_test(data, "y", "z", ["y"])
    with pytest.raises(UnknownNameError, match="'pearson'; there are 'g2'"):
        independence_test(data, "y", "z", method="pearson")
    with pytest.raises(DataError, match="permutations must be"):
        independence_test(data, "y", "z", method="g2-permutation", permutations=0)
    with pytest.raises(DataError, match="rng"):
        independence_test(data, "y", "z", method="g2-permutation", rng="seed")
    with pytest.raises(UnknownNameError, match="'w'"):
        mutual_information_matrix({"y": [0, 1]}, "w")
    with pytest.raises(DataError, match="twice"):
        mutual_information_matrix({"y": [0, 1]}, ["y", "y"])


def test_too_large_before_anything_is_allocated():
    rng = np.random.default_rng(0)
    many = {f"v{place}": rng.integers(0, 50, 200) for place in range(7)}
    for work in (independence_test, mutual_information):
        with pytest.raises(TooLargeError):
            work(many, "v0", "v1", [f"v{place}" for place in range(2, 7)])
    with pytest.raises(TooLargeError):
        mutual_information_matrix(many, ["v2", "v3", "v4", "v5", "v6"])
