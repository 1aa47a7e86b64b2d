"""SPODE and TAN against published numbers, brute formulas and each other."""

from __future__ import annotations

import numpy as np
import pytest

from pgm import DAG, AODEClassifier, NaiveBayesClassifier, SPODEClassifier, TANClassifier, tree_augmented
from pgm.errors import DataError, UnknownNameError
from tests.classifiers.tables import ASKED, LIMITS, car, repeated
from tests.data.bundled import table


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        ("F", [0.5535307517084282, 0.5294117647058824]),
        ("G", [0.6774193548387096, 0.7407407407407407]),
        ("H", [0.6, 0.8]),
    ],
)
def test_spode(parent, expected):
    model = SPODEClassifier(super_parent=parent).fit(*LIMITS)
    assert model.predict_proba(ASKED)[:, 0] == pytest.approx(expected, abs=1e-12)


def test_one_feature_makes_all_the_same():
    X, y = LIMITS
    X = {"F": X["F"]}
    expected = NaiveBayesClassifier().fit(X, y).predict_proba(X)
    for model in (SPODEClassifier(), TANClassifier(), AODEClassifier(), AODEClassifier(joint=False)):
        assert model.fit(X, y).predict_proba(X) == pytest.approx(expected, abs=1e-12)


def test_tan_likelihood_and_posterior_are_those_of_bnclassify():
    X, y = car()
    model = TANClassifier(penalty="aic", pseudocount=0.01).fit(X, y)
    assert {frozenset(edge) for edge in model.tree_} == {
        frozenset(edge) for edge in [("buying", "maint"), ("persons", "safety"), ("lug_boot", "safety")]
    }
    joint = model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert joint.sum() == pytest.approx(-13280.3862, abs=1e-4)
    assert model.network_.n_parameters == 131
    assert model.predict_proba(X)[0] == pytest.approx([3.963694e-09, 5.682130e-09, 1, 4.269700e-09], rel=1e-6)


@pytest.mark.parametrize(
    ("penalty", "edges", "accuracy"), [(None, 5, 0.946181), ("aic", 3, 0.942130), ("bic", 0, 0.870949)]
)
def test_tan_on_car(penalty, edges, accuracy):
    X, y = car()
    model = TANClassifier(penalty=penalty).fit(X, y)
    assert len(model.tree_) == edges
    assert model.score(X, y) == pytest.approx(accuracy, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("learning.test", "A", "[A][B|A][E|A:B][C|A:E][F|A:E][D|A:C]"),
        ("learning.test", "B", "[B][A|B][D|B:A][C|B:D][E|B:C][F|B:E]"),
        ("learning.test", "F", "[F][A|F][B|F:A][D|F:A][C|F:D][E|F:B]"),
        ("asia", "D", "[D][A|D][X|D:A][E|D:X][T|D:E][L|D:E][S|D:L][B|D:S]"),
    ],
)
def test_tan_structures_of_bnlearn(name, target, expected):
    columns = table(name).to_dict()
    y = columns.pop(target)
    model = TANClassifier().fit(columns, np.array(y))
    tree = {(u.replace("class", target) if u == "class" else u, v) for u, v in model.network_.dag.edges}
    assert tree == set(DAG.from_string(expected).edges)


@pytest.mark.parametrize("score", [None, "aic", "bic"])
def test_tan_is_the_library_s_tree(score):
    data = table("alarm").head(3000)
    columns = data.to_dict()
    y = columns.pop("HRBP")
    model = TANClassifier(penalty=score).fit(columns, y)
    edges = {tuple("HRBP" if end == "class" else end for end in edge) for edge in model.network_.dag.edges}
    assert edges == set(tree_augmented(data, "HRBP", score=score).edges)


ROOTED = repeated(
    ["F1", "F2", "F3", "Flat"],
    [
        (0, 0, 0, 7, "pos", 5),
        (1, 1, 0, 7, "pos", 4),
        (1, 1, 1, 7, "pos", 1),
        (0, 1, 1, 7, "pos", 2),
        (1, 1, 0, 7, "neg", 1),
        (1, 1, 1, 7, "neg", 3),
        (0, 1, 1, 7, "neg", 1),
        (0, 0, 1, 7, "neg", 1),
        (1, 0, 1, 7, "neg", 6),
    ],
)


@pytest.mark.parametrize("root", [None, "F1"])
def test_tan_with_a_constant_feature(root):  # pgmpy#3298
    model = TANClassifier(root=root).fit(*ROOTED)
    assert {("F1", "F2"), ("F2", "F3")} < set(model.tree_)
    asked = {"F1": [0, 1, 1], "F2": [0, 0, 0], "F3": [0, 0, 1], "Flat": [7, 7, 7]}
    expected = [0.035175879396984924, 0.492494452421355, 0.9789828749351323]
    assert model.predict_proba(asked)[:, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [NaiveBayesClassifier(), SPODEClassifier(super_parent="doors"), TANClassifier(), TANClassifier(penalty="aic")],
)
def test_posteriors_are_the_network_s_own(model):
    X, y = car()
    model.fit(X, y)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 1728, 60)
    some = {n: [c[r] if rng.random() < 0.6 else None for r in rows] for n, c in X.items()}
    for place, posterior in enumerate(model.predict_proba(some)):
        evidence = {name: column[place] for name, column in some.items() if column[place] is not None}
        assert posterior == pytest.approx(model.network_.query("class", evidence).values, abs=1e-12)


@pytest.mark.parametrize("model", [SPODEClassifier(super_parent="b"), TANClassifier(), AODEClassifier(min_rows=9)])
def test_leaving_a_row_out_is_fitting_without_it(model):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 60)
    X = {"a": (y + rng.integers(0, 3, 60)) % 3, "b": rng.integers(0, 3, 60), "d": rng.integers(0, 2, 60)}
    X["c"] = (X["b"] + rng.integers(0, 2, 60)) % 3
    weight = rng.integers(1, 4, 60)
    left_out = model.leave_one_out(X, y, weight)
    states = {name: sorted(set(column.tolist())) for name, column in X.items()}
    tree = getattr(model.fit(X, y, weight), "tree_", None)
    compared = 0
    for row in range(60):
        rest = np.delete(np.arange(60), row)
        model.set_params(states=states).fit({n: c[rest] for n, c in X.items()}, y[rest], weight[rest])
        if getattr(model, "tree_", None) == tree:
            one = {n: c[[row]] for n, c in X.items()}
            assert model.predict_proba(one)[0] == pytest.approx(left_out[row], abs=1e-12)
            compared += 1
    assert compared > 30


def test_batches_are_one_fit():
    X, y = car()
    once = TANClassifier().fit(X, y)
    model = TANClassifier(states={variable.name: variable.states for variable in once.feature_variables_})
    for start in range(0, 1728, 500):
        batch = {name: column[start : start + 500] for name, column in X.items()}
        model.partial_fit(batch, y[start : start + 500], classes=sorted(set(y)))
    assert (model.predict_proba(X) == once.predict_proba(X)).all()


def test_spode_chooses_the_most_accurate_super_parent():
    X, y = car()
    model = SPODEClassifier().fit(X, y)
    rates = {}
    for name in X:
        left_out = SPODEClassifier(super_parent=name).leave_one_out(X, y)
        rates[name] = np.mean(model.classes_[left_out.argmax(axis=1)] == y)
    assert model.super_parent_ == max(rates, key=rates.get)


def test_errors_name_what_is_wrong():
    X, y = LIMITS
    with pytest.raises(UnknownNameError, match="'Z'; the features are 'F', 'G', 'H'"):
        SPODEClassifier(super_parent="Z").fit(X, y)
    with pytest.raises(UnknownNameError, match="root is 'class'"):
        TANClassifier(root="class").fit(X, y)
    with pytest.raises(DataError, match="penalty"):
        TANClassifier(penalty="mdl").fit(X, y)
    with pytest.raises(DataError, match="name one"):
        SPODEClassifier().fit({"a": [0, None, 1], "b": [None, 1, None]}, [0, 1, 1])
