"""KDB against Sahami's algorithm written down once more, its network's own answers and the classifiers it contains."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest

from pgm import NaiveBayesClassifier, TANClassifier
from pgm.classifiers.kdb import KDBClassifier
from pgm.classifiers.mdlp import MDLPDiscretizer
from pgm.errors import DataError, MissingDataError, TooLargeError
from tests.classifiers.tables import LIMITS, car
from tests.data.bundled import table


def nats(x, y, z):
    """Return I(x; y | z) of three columns by its definition."""
    xyz, xz, yz, alone = (Counter(zip(*columns, strict=True)) for columns in ((x, y, z), (x, z), (y, z), (z,)))
    return sum(n / len(x) * log(n * alone[c,] / (xz[a, c] * yz[b, c])) for (a, b, c), n in xyz.items())


def sahami(X, y, k):
    """Return the parents of each feature: steps 1 to 5 of the paper's algorithm."""
    relevance = {name: nats(column, y, [0] * len(y)) for name, column in X.items()}
    used, parents = [], {}
    while len(used) < len(X):
        chosen = max((name for name in X if name not in used), key=lambda name: round(relevance[name], 11))
        told = {name: round(nats(X[chosen], X[name], y), 11) for name in X if name in used}
        parents[chosen] = tuple(sorted(told, key=lambda name: -told[name])[:k])
        used.append(chosen)
    return parents


def columns_of(name, target, rows):
    X = table(name).head(rows).to_dict()
    return X, X.pop(target)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 50])
@pytest.mark.parametrize(("name", "target"), [("car", "class"), ("learning.test", "A"), ("asia", "D")])
def test_structures_are_those_of_the_paper(name, target, k):
    X, y = columns_of(name, target, 1200)
    assert KDBClassifier(k=k).fit(X, y).parents_ == sahami(X, y, k)
    assert list(KDBClassifier(k=k).fit(X, y).parents_) == list(sahami(X, y, k))


def test_ties_are_taken_in_column_order():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    X = {"flat": np.zeros(50, int), "a": x, "b": 1 - x, "c": x}
    model = KDBClassifier(k=1).fit(X, y)
    assert model.parents_ == {"a": (), "b": ("a",), "c": ("a",), "flat": ("a",)}
    X = {name: X[name] for name in ("c", "flat", "b", "a")}
    assert KDBClassifier(k=2).fit(X, y).parents_ == {"c": (), "b": ("c",), "a": ("c", "b"), "flat": ("c", "b")}


def test_ties_of_parents_are_taken_in_column_order_too():
    y = np.arange(60) % 2
    X = {"weak": np.where(np.arange(60) < 25, y, 0), "flat": np.zeros(60, int), "strong": y}
    assert KDBClassifier(k=1).fit(X, y).parents_ == {"strong": (), "weak": ("strong",), "flat": ("weak",)}


def test_rounding_decides_no_ties():
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 7, 500), rng.integers(0, 3, 500)
    X = {f"x{number}": rng.permutation(7)[x] for number in range(40)}  # the same feature under other labels
    model = KDBClassifier(k=1).fit(X, y)
    assert list(model.parents_) == list(X)
    assert set(model.parents_.values()) == {(), ("x0",)}


def test_without_parents_it_is_naive_bayes():
    X, y = car()
    X["doors"] = [None if number % 5 == 0 else v for number, v in enumerate(X["doors"])]
    expected = NaiveBayesClassifier(pseudocount=0.5).fit(X, y)
    model = KDBClassifier(k=0, pseudocount=0.5).fit(X, y)
    assert (model.predict_joint_log_proba(X) == expected.predict_joint_log_proba(X)).all()
    assert model.leave_one_out(X, y) == pytest.approx(expected.leave_one_out(X, y), abs=1e-12)
    assert model.network_ == expected.network_


def test_two_features_are_a_tree():
    X, y = car()
    X = {name: X[name] for name in ("persons", "safety")}
    assert KDBClassifier(k=1).fit(X, y).predict_proba(X) == pytest.approx(
        TANClassifier(root="safety").fit(X, y).predict_proba(X), abs=1e-12
    )


def test_with_all_parents_the_joint_is_that_of_the_rows():
    X, y = columns_of("learning.test", "A", 3000)
    model = KDBClassifier(k=10, pseudocount=0).fit(X, y)
    rows = list(zip(*X.values(), y, strict=True))
    seen = Counter(rows)
    own = np.searchsorted(model.classes_, y)
    joint = np.exp(model.predict_joint_log_proba(X))[np.arange(len(y)), own]
    assert joint == pytest.approx([seen[row] / len(rows) for row in rows], rel=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_posteriors_are_the_network_s_own(k):
    X, y = car()
    model = KDBClassifier(k=k).fit(X, y)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 1728, 60)
    some = {n: [c[r] if rng.random() < 0.6 else None for r in rows] for n, c in X.items()}
    for place, posterior in enumerate(model.predict_proba(some)):
        evidence = {name: column[place] for name, column in some.items() if column[place] is not None}
        assert posterior == pytest.approx(model.network_.query("class", evidence).values, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_made_of_the_rows_in_which_a_family_is_known(weighted):
    X, y = car()
    rng = np.random.default_rng(2)
    X = {name: [v if rng.random() < 0.8 else None for v in column] for name, column in X.items()}
    weight = rng.integers(1, 4, 1728) if weighted else np.ones(1728)
    model = KDBClassifier(k=2).fit(X, y, weight if weighted else None)
    for name, parents in model.parents_.items():
        cpt = model.network_.cpt(name)
        assert cpt.names == ("class", *parents, name)
        rows = zip(y, *(X[parent] for parent in parents), X[name], weight, strict=True)
        counts = np.ones([variable.cardinality for variable in cpt.variables])
        for *values, w in rows:
            if None not in values:
                cell = [variable.states.index(v) for variable, v in zip(cpt.variables, values, strict=True)]
                counts[tuple(cell)] += w
        assert cpt.values == pytest.approx(counts / counts.sum(axis=-1, keepdims=True), abs=1e-12)


def test_leaving_a_row_out_is_fitting_its_structure_without_it():
    X, y = car()
    kept = np.arange(0, 1728, 12)
    X, y = {name: np.array(column)[kept] for name, column in X.items()}, np.array(y)[kept]
    weight = np.random.default_rng(3).integers(1, 3, len(y))
    left_out = KDBClassifier(k=2).leave_one_out(X, y, weight)
    model = KDBClassifier(k=2).fit(X, y, weight)
    states = {variable.name: variable.states for variable in model.feature_variables_}
    compared = 0
    for row in range(0, len(y), 9):
        rest = np.delete(np.arange(len(y)), row)
        other = KDBClassifier(k=2, states=states).fit({n: c[rest] for n, c in X.items()}, y[rest], weight[rest])
        if other.parents_ == model.parents_:
            one = {n: c[[row]] for n, c in X.items()}
            assert other.predict_proba(one)[0] == pytest.approx(left_out[row], abs=1e-12)
            compared += 1
    assert compared > 5


def test_leaving_out_rows_with_holes_is_refused():
    X, y = car()
    with pytest.raises(MissingDataError, match="complete"):
        KDBClassifier().leave_one_out(X | {"safety": [None, *X["safety"][1:]]}, y)


def test_more_dependences_fit_better():
    X, y = car()
    accuracies = [KDBClassifier(k=k).fit(X, y).score(X, y) for k in range(5)]
    assert accuracies == sorted(accuracies)
    assert accuracies[0] == pytest.approx(0.870949, abs=1e-6)
    assert accuracies[-1] > 0.97


def test_intervals_and_em():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400).astype(object)
    X = {"x": rng.normal(size=400) + 2 * y, "z": rng.normal(size=400) - y, "w": rng.integers(0, 3, 400)}
    labels = np.where(rng.random(400) < 0.3, None, y)
    model = KDBClassifier(k=1, em=True, discretizer=MDLPDiscretizer()).fit(X, labels)
    assert np.mean(model.predict(X) == y.astype(int)) > 0.8
    known = labels != None  # noqa: E711
    alone = KDBClassifier(k=1, discretizer=MDLPDiscretizer()).fit({n: c[known] for n, c in X.items()}, y[known])
    assert model.parents_ == alone.parents_
    assert model.network_ != alone.network_


def test_errors_name_what_is_wrong():
    for k in (-1, 1.5, True):
        with pytest.raises(DataError, match="k must be a whole number of at least 0"):
            KDBClassifier(k=k).fit(*LIMITS)
    assert not hasattr(KDBClassifier(), "partial_fit")
    rng = np.random.default_rng(5)
    with pytest.raises(TooLargeError, match=r"counts of 'x\d' and its 6 parents"):
        KDBClassifier(k=5).fit(rng.integers(0, 60, (500, 8)), rng.integers(0, 2, 500))
