"""Bernoulli and multinomial naive Bayes against loops over the formulas, scikit-learn, networks and EM in the open."""

from __future__ import annotations

import math
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import pgm
from pgm.classifiers.event_models import BernoulliNBClassifier, MultinomialNBClassifier
from pgm.errors import DataError, ImpossibleEvidenceError, MissingDataError, UnknownNameError, UnknownStateError

MODELS = [BernoulliNBClassifier, MultinomialNBClassifier]
PEERS = {BernoulliNBClassifier: BernoulliNB, MultinomialNBClassifier: MultinomialNB}

both = pytest.mark.parametrize("kind", MODELS)


def counts(rows=60, words=7, classes=3, seed=0):
    """Return counts that tell about their class, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    y[:classes] = range(classes)
    rates = rng.gamma(0.5, 1.0, (classes, words))
    return rng.poisson(rates[y]), y


def joint_by_loops(kind, X, y, asked, *, pseudocount=1.0, class_pseudocount=None, weight=None):
    """Return P(c, x) of some rows by the formulas of the textbook, cell by cell."""
    weight = [1] * len(y) if weight is None else weight
    prior = pseudocount if class_pseudocount is None else class_pseudocount
    classes, words = sorted(set(y)), range(len(X[0]))
    answers = []
    for row in asked:
        answers.append([])
        for c in classes:
            own = [(x, w) for x, label, w in zip(X, y, weight, strict=True) if label == c]
            n = sum(w for _, w in own)
            p = (n + prior) / (sum(weight) + prior * len(classes))
            if kind is BernoulliNBClassifier:
                for i in words:
                    present = (sum(w for x, w in own if x[i] > 0) + pseudocount) / (n + 2 * pseudocount)
                    p *= present if row[i] > 0 else 1 - present
            else:
                total = sum(w * x[i] for x, w in own for i in words)
                for i in words:
                    occurrences = sum(w * x[i] for x, w in own)
                    below = total + pseudocount * len(words)
                    p *= ((occurrences + pseudocount) / below if below else 1 / len(words)) ** row[i]
            answers[-1].append(p)
    return np.array(answers)


# ------------------------------------------------------------------ the formulas


@both
@given(data=st.data())
def test_formulas(kind, data):
    rows, words = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 4))
    cells = st.lists(st.lists(st.integers(0, 3), min_size=words, max_size=words), min_size=rows, max_size=rows)
    X, asked = data.draw(cells), data.draw(cells)
    y = [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=rows - 2, max_size=rows - 2))]
    options = {
        "pseudocount": data.draw(st.sampled_from([0, 0.3, 1])),
        "class_pseudocount": data.draw(st.sampled_from([None, 0, 2])),
    }
    weight = data.draw(st.lists(st.sampled_from([1, 2, 0.5]), min_size=rows, max_size=rows))
    expected = joint_by_loops(kind, X, y, asked, weight=weight, **options)
    model = kind(**options).fit(X, y, weight)
    for form in (np.array, sp.csr_array, sp.csc_matrix):
        logs = model.predict_joint_log_proba(form(asked))
        assert not np.isnan(logs).any()
        assert np.exp(logs) == pytest.approx(expected, rel=1e-10, abs=1e-300)
        if (expected.sum(axis=1) > 0).all():
            posterior = expected / expected.sum(axis=1, keepdims=True)
            assert model.predict_proba(form(asked)) == pytest.approx(posterior, rel=1e-10)
        else:
            for ask in (model.predict, model.predict_proba):
                with pytest.raises(ImpossibleEvidenceError, match=f"row {expected.sum(axis=1).argmin()} "):
                    ask(form(asked))


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pseudocount", [1, 0.3, 0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_equal_to_scikit_learn(kind, form, pseudocount, weighted):
    X, y = counts(rows=300, words=20)
    weight = np.random.default_rng(1).integers(1, 9, len(y)) / 4 if weighted else None
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = PEERS[kind](alpha=pseudocount).fit(X, y, sample_weight=weight)
        logs = theirs.predict_joint_log_proba(sp.csr_array(X))  # dense, it has NaN for 0 times minus infinity
        known = np.isfinite(logs).any(axis=1) & ~np.isnan(logs).any(axis=1)
        asked = X[known]
        proba, decided = theirs.predict_proba(sp.csr_array(asked)), theirs.predict(sp.csr_array(asked))
    assert known.all() if pseudocount else known.sum() > 50
    ours = kind(pseudocount=pseudocount, class_pseudocount=0).fit(form(X), y, sample_weight=weight)
    assert (ours.classes_ == theirs.classes_).all()
    for name in ("class_count_", "feature_count_", "class_log_prior_", "feature_log_prob_"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-10)
    assert ours.predict_joint_log_proba(form(asked)) == pytest.approx(logs[known], abs=1e-10)
    assert ours.predict_proba(form(asked)) == pytest.approx(proba, abs=1e-10)
    assert (ours.predict(form(asked)) == decided).all()


@both
def test_priors_equal_scikit_learn(kind):
    X, y = counts()
    given_priors = PEERS[kind](class_prior=[0.2, 0.5, 0.3]).fit(X, y)
    assert kind(priors=[0.2, 0.5, 0.3]).fit(X, y).predict_proba(X) == pytest.approx(
        given_priors.predict_proba(X), abs=1e-10
    )
    assert kind(priors={2: 0.3, 0: 0.2, 1: 0.5}).fit(X, y).class_log_prior_ == pytest.approx(np.log([0.2, 0.5, 0.3]))
    not_fitted = PEERS[kind](fit_prior=False).fit(X, y)
    uniform = kind(priors=[1 / 3] * 3).fit(X, y)
    assert uniform.class_log_prior_ == pytest.approx(not_fitted.class_log_prior_, abs=1e-10)
    assert uniform.predict_proba(X) == pytest.approx(not_fitted.predict_proba(X), abs=1e-10)


def test_fractions_and_thresholds_equal_scikit_learn():
    X, y = counts(rows=200, words=15)
    fractions = X / (1 + X.sum(axis=1, keepdims=True))
    ours = MultinomialNBClassifier(class_pseudocount=0).fit(sp.csr_array(fractions), y)
    theirs = MultinomialNB().fit(fractions, y)
    assert ours.predict_joint_log_proba(fractions) == pytest.approx(
        theirs.predict_joint_log_proba(fractions), abs=1e-10
    )
    shifted = X - 1.5
    for threshold, cells in ((1, X), (0.0, shifted), (-1.2, shifted)):
        ours = BernoulliNBClassifier(threshold=threshold, class_pseudocount=0).fit(cells, y)
        moved = cells - min(threshold, 0)  # theirs cannot be negative
        theirs = BernoulliNB(binarize=max(threshold, 0)).fit(moved, y)
        assert ours.predict_proba(cells) == pytest.approx(theirs.predict_proba(moved), abs=1e-10)
    assert BernoulliNBClassifier(threshold=1).fit(sp.csr_array(X), y).feature_count_ == pytest.approx(
        BernoulliNBClassifier(threshold=1).fit(X, y).feature_count_
    )


def test_weights_whose_sum_is_rounded_leave_no_trace_of_an_absence():
    X, y = np.ones((1000, 1), int), np.zeros(1000, int)
    weight = np.random.default_rng(2).random(1000)
    model = BernoulliNBClassifier(pseudocount=0).fit(X, y, weight)
    assert np.isneginf(model.predict_joint_log_proba([[0]])).all()


# ------------------------------------------------------------------ what counts may come in


def in_parts(X):
    """Return a COO matrix that stores every cell twice, as a half and the rest."""
    X = np.asarray(X, float)
    row, column = np.indices(X.shape).reshape(2, -1)
    halves = np.concatenate([X.ravel() // 2, X.ravel() - X.ravel() // 2])
    return sp.coo_array((halves, (np.tile(row, 2), np.tile(column, 2))), shape=X.shape)


def unsorted_parts(X):
    """Return a CSR matrix with cells in parts, explicit zeros among them."""
    coo = in_parts(X)
    order = np.argsort(coo.row, kind="stable")[::1]
    starts = np.searchsorted(coo.row[order], np.arange(coo.shape[0] + 1))
    return sp.csr_array((coo.data[order], coo.col[order], starts), shape=coo.shape)


FORMS = {
    "bytes": lambda X: X.astype(np.int8),
    "unsigned": lambda X: X.astype(np.uint16),
    "float32": lambda X: X.astype(np.float32),
    "by columns": lambda X: np.asfortranarray(X, float),
    "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_array(X)),
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{i}" for i in range(X.shape[1])]),
    "pyarrow": lambda X: pl.DataFrame(X, schema=[f"x{i}" for i in range(X.shape[1])]).to_arrow(),
    "dict": lambda X: {f"x{i}": column.tolist() for i, column in enumerate(X.T)},
    "Dataset": lambda X: pgm.Dataset(X, names=[f"x{i}" for i in range(X.shape[1])]),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "coo_matrix": sp.coo_matrix,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "sparse bytes": lambda X: sp.csr_array(X.astype(np.int8)),
    "cells in parts": in_parts,
    "unsorted parts": unsorted_parts,
}


@both
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_kind_of_table_is_the_same(kind, form):
    X, y = counts()
    expected = kind().fit(X.astype(float), y)
    model = kind().fit(form(X), y)
    assert model.feature_count_ == pytest.approx(expected.feature_count_, rel=1e-12)
    assert model.predict_joint_log_proba(form(X)) == pytest.approx(expected.predict_joint_log_proba(X), rel=1e-12)
    assert kind().leave_one_out(form(X), y) == pytest.approx(kind().leave_one_out(X, y), rel=1e-12)
    assert model.n_features_in_ == 7


def test_booleans_are_events():
    X, y = counts()
    expected = BernoulliNBClassifier().fit(X, y).predict_proba(X)
    for form in (np.asarray, sp.csr_array, pd.DataFrame):
        for threshold in (None, 0.0):
            model = BernoulliNBClassifier(threshold=threshold).fit(form(X > 0), y)
            assert (model.predict_proba(form(X > 0)) == expected).all()


@both
def test_what_is_given_is_not_changed(kind):
    X, y = counts()
    for form in (in_parts, unsorted_parts, sp.csr_array, sp.csc_array):
        given, same = form(X), form(X)
        kind().fit(given, y).predict(given)
        kind().leave_one_out(given, y)
        assert (given.data == same.data).all()
        assert given.nnz == same.nnz


@both
def test_sparse_matrices_are_not_made_dense_and_dense_ones_not_copied(kind):
    y = np.arange(20_000) % 2
    sparse = sp.random_array((20_000, 20_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    dense = np.random.default_rng(0).integers(0, 3, (20_000, 500))
    cells = {"sparse": (sparse, 100), "int64": (dense, 8), "float64": (dense.astype(float), 8)}
    for name, (X, limit) in cells.items():
        tracemalloc.start()
        kind().fit(X, y).predict_proba(X)
        kind().leave_one_out(X, y)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        assert peak < limit, name  # megabytes; dense it would be 3200, and a copy 80


# ------------------------------------------------------------------ leaving rows out, batches, weights


@both
@pytest.mark.parametrize("priors", [None, [0.1, 0.6, 0.3]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pseudocount", [1, 0.3, 1e-9])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_leaving_a_row_out_is_fitting_without_it(kind, form, pseudocount, weighted, priors):
    X, y = counts(rows=40)
    y[y == 2] = 1
    y[5] = 2  # the only row of its class
    weight = np.random.default_rng(3).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    model = kind(pseudocount=pseudocount, class_pseudocount=0.5, priors=priors)
    left_out = model.leave_one_out(form(X), y, weight)
    assert not hasattr(model, "classes_")
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        again = clone(model).partial_fit(X[rest], y[rest], [0, 1, 2], weight[rest])
        assert left_out[row] == pytest.approx(again.predict_proba(X[[row]])[0], abs=1e-9)


@both
def test_leaving_a_row_out_without_pseudocounts(kind):
    X = np.array([[2, 0, 1, 0], [1, 0, 1, 0], [0, 2, 2, 1], [0, 1, 1, 2], [2, 1, 0, 0], [1, 1, 0, 1], [1, 1, 0, 1]])
    y = np.array([0, 0, 1, 1, 0, 1, 1])
    if kind is BernoulliNBClassifier:
        X = X[:, :3]  # with the last word some row would have no class left
    expected = []
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        expected.append(kind(pseudocount=0).fit(X[rest], y[rest]).predict_proba(X[[row]])[0])
    assert 0 < np.count_nonzero(expected) < 2 * len(y)
    for form in (np.asarray, sp.csr_array, unsorted_parts):
        assert kind(pseudocount=0).leave_one_out(form(X), y) == pytest.approx(np.array(expected), abs=1e-12)
    with_new_word = np.column_stack([X, np.arange(len(y)) == 3])
    with pytest.raises(ImpossibleEvidenceError, match="row 3 "):
        kind(pseudocount=0).leave_one_out(with_new_word, y)


@both
def test_batches_are_one_fit(kind):
    X, y = counts(rows=90)
    weight = np.arange(90) % 4 / 2
    once = kind().fit(X, y, weight)
    model = kind()
    for start in range(0, 90, 25):
        part = slice(start, start + 25)
        form = sp.csr_array if start % 50 else np.asarray
        model.partial_fit(form(X[part]), y[part], classes=[0, 1, 2], sample_weight=weight[part])
    assert (model.feature_count_ == once.feature_count_).all()
    assert (model.predict_joint_log_proba(X) == once.predict_joint_log_proba(X)).all()
    again = model.fit(X[:30], y[:30])
    assert (again.feature_count_ == kind().fit(X[:30], y[:30]).feature_count_).all()


@both
def test_rows_of_weight_zero_are_absent(kind):
    X, y = counts()
    expected = kind().fit(X, y)
    more, labels = np.vstack([X, X[:2] + 1]), [*y.tolist(), 7, 1]
    model = kind().fit(more, labels, sample_weight=[1] * len(y) + [0, 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_joint_log_proba(X) == expected.predict_joint_log_proba(X)).all()


# ------------------------------------------------------------------ networks


@pytest.mark.parametrize("pseudocount", [1, 0.25])
def test_the_network_of_events_has_the_same_posteriors(pseudocount):
    X, y = counts(words=5)
    frame = pd.DataFrame(X > 0, columns=["class", "b", "c", "d", "e"])
    model = BernoulliNBClassifier(pseudocount=pseudocount).fit(frame, pd.Series(y))
    assert model.network_.names == ("class_", "class", "b", "c", "d", "e")
    assert model.network_ is model.network_
    for row, posterior in zip(frame.to_dict("records"), model.predict_proba(frame), strict=True):
        evidence = {name: int(value) for name, value in row.items()}
        assert model.network_.query("class_", evidence).values == pytest.approx(posterior, abs=1e-12)
    assert np.asarray(model.network_.query("class_").values) == pytest.approx(np.exp(model.class_log_prior_))


def test_the_network_of_words_is_one_draw():
    X, y = counts(words=4)
    frame = pd.DataFrame(X, columns=["spam", "ham", "eggs", "word"])
    model = MultinomialNBClassifier().fit(frame, pd.Series(y, name="word"))
    net = model.network_
    assert net.names == ("word_", "word")  # the class, whose own name is that of a feature, and one word of a text
    for word, name in enumerate(frame):
        posterior = model.predict_proba(pd.DataFrame(np.eye(4, dtype=int)[[word]], columns=frame.columns))[0]
        assert net.query("word_", {"word": name}).values == pytest.approx(posterior, abs=1e-12)
    prior, table = net.cpt("word_").values, net.cpt("word").values
    for row, posterior in zip(X[:20], model.predict_proba(frame[:20]), strict=True):
        product = [prior[c] * math.prod(table[c, w] for w in range(4) for _ in range(row[w])) for c in range(3)]
        assert posterior == pytest.approx(np.array(product) / sum(product), abs=1e-12)


def test_a_network_of_12345_features():
    X, y = counts(rows=30, words=12345, classes=2)
    model = BernoulliNBClassifier().fit(sp.csr_array(X), y)
    assert len(model.network_.names) == 12346
    evidence = {f"x{i}": int(X[4, i] > 0) for i in range(12345)}
    assert model.network_.query("class", evidence).values == pytest.approx(model.predict_proba(X[[4]])[0], abs=1e-9)


# ------------------------------------------------------------------ rows of unknown class


def half_known(seed=0, rows=80):
    """Return counts and classes, of which every third is missing."""
    X, y = counts(rows=rows, words=5, classes=2, seed=seed)
    return X, [None if row % 3 == 2 else int(label) for row, label in enumerate(y)]


@both
@pytest.mark.parametrize("pseudocount", [1, 0.5, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_em_never_lowers_its_objective(kind, pseudocount, weighted):
    weight = np.random.default_rng(4).random(80) + 0.1 if weighted else None
    for seed in range(5):
        X, y = half_known(seed)
        result = kind(pseudocount=pseudocount, em=True).fit(X, y, weight).em_result_
        assert result.converged
        assert (np.diff(result.objectives) > -1e-9).all()
        assert result.objectives[-1] > result.objectives[0]


@both
@pytest.mark.parametrize(("pseudocount", "class_pseudocount"), [(1, None), (0.5, 0), (0.5, 3)])
def test_em_ends_where_the_objective_is_highest(kind, pseudocount, class_pseudocount):
    X, y = half_known()
    options = {"pseudocount": pseudocount, "class_pseudocount": class_pseudocount}
    model = kind(em={"tol": 0}, **options).fit(X, y)
    prior = pseudocount if class_pseudocount is None else class_pseudocount

    def objective(classes, present, absent):
        """Return log-likelihood plus log prior, row by row."""
        total = pseudocount * (np.log(present).sum() + np.log(absent).sum()) + prior * np.log(classes).sum()
        for row, label in zip(X, y, strict=True):
            on = row > 0
            bernoulli = [math.prod(present[c][on]) * math.prod(absent[c][~on]) for c in (0, 1)]
            multinomial = [math.prod(present[c] ** row) for c in (0, 1)]
            each = classes * (bernoulli if kind is BernoulliNBClassifier else multinomial)
            total += np.log(each.sum() if label is None else each[label])
        return total

    def parts(logits):
        """Return probabilities from any numbers."""
        classes, rest = np.exp(logits[:2]) / np.exp(logits[:2]).sum(), np.exp(logits[2:]).reshape(2, 5)
        if kind is BernoulliNBClassifier:
            return classes, rest / (1 + rest), 1 / (1 + rest)
        return classes, rest / rest.sum(axis=1, keepdims=True), np.ones((2, 5))

    log_odds = model.feature_log_prob_
    if kind is BernoulliNBClassifier:
        log_odds = log_odds - np.log1p(-np.exp(log_odds))
    found = np.concatenate([model.class_log_prior_, log_odds.ravel()])
    assert objective(*parts(found)) == pytest.approx(model.em_result_.objectives[-1], abs=1e-9)
    for place in range(len(found)):
        step = np.eye(len(found))[place] * 1e-4
        slope = (objective(*parts(found + step)) - objective(*parts(found - step))) / 2e-4
        assert slope == pytest.approx(0, abs=1e-4)


def test_em_is_that_of_the_library():
    X, y = half_known()
    names = [f"x{i}" for i in range(5)]
    model = BernoulliNBClassifier(em={"tol": 1e-12}).fit(X, y)
    start = BernoulliNBClassifier().fit(
        [x for x, c in zip(X, y, strict=True) if c is not None], [c for c in y if c is not None]
    )
    table = {"class": y} | {name: (X[:, i] > 0).astype(int) for i, name in enumerate(names)}
    graph = pgm.DAG([("class", name) for name in names])
    expected = pgm.fit_em(graph, table, pseudocount=1, start=start.network_, tol=1e-12, progress=False).network
    for name in ("class", *names):
        assert model.network_.cpt(name).values == pytest.approx(expected.cpt(name).values, abs=1e-6)


@both
def test_em_with_all_classes_known_is_fit(kind):
    X, y = counts()
    model = kind(em=True).fit(X, y)
    assert not hasattr(model, "em_result_")
    assert (model.predict_proba(X) == kind().fit(X, y).predict_proba(X)).all()


@both
def test_em_is_the_same_in_every_form_and_starts_from_known_rows(kind):
    X, y = half_known()
    model = kind(em=True).fit(X, y)
    for form in (sp.csr_array, sp.csc_array, pd.DataFrame):
        again = kind(em=True).fit(form(X), y)
        assert again.feature_log_prob_ == pytest.approx(model.feature_log_prob_, abs=1e-9)
    as_floats = kind(em=True).fit(X, [math.nan if label is None else label for label in y])
    assert (as_floats.feature_log_prob_ == model.feature_log_prob_).all()
    texts = kind(em=True).fit(X, [None if label is None else "ab"[label] for label in y])
    assert texts.classes_.tolist() == ["a", "b"]
    assert (texts.feature_log_prob_ == model.feature_log_prob_).all()
    known = [row for row, label in enumerate(y) if label is not None]
    start = kind().fit(X[known], [y[row] for row in known])
    first = kind(em={"max_iter": 1}).fit(X, y)
    assert first.feature_log_prob_ == pytest.approx(start.feature_log_prob_, abs=1e-12)
    assert first.em_result_.converged is False
    assert len(first.em_result_.objectives) == 1


@both
def test_em_and_rows_of_weight_zero(kind):
    X, y = half_known()
    weight = np.arange(80) % 5 / 2
    kept = np.flatnonzero(weight)
    expected = kind(em=True).fit(X[kept], [y[row] for row in kept], weight[kept])
    model = kind(em=True).fit(X, y, weight)
    assert model.feature_log_prob_ == pytest.approx(expected.feature_log_prob_, abs=1e-8)
    fixed = kind(em=True, priors=[0.3, 0.7]).fit(X, y, weight)
    assert np.exp(fixed.class_log_prior_) == pytest.approx([0.3, 0.7])
    assert (np.diff(fixed.em_result_.objectives) > -1e-9).all()


@both
def test_em_forgets_earlier_runs_and_absent_rows_may_be_impossible(kind):
    X, y = counts(classes=2)
    X[5], X[:, 3] = 0, 0
    X[5, 3] = 1  # a word of no other row
    labels = [None if row % 5 == 0 else int(label) for row, label in enumerate(y)]
    weight = np.arange(len(y)) != 5
    model = kind(em=True, pseudocount=0).fit(X, labels, weight)
    kept = np.flatnonzero(weight)
    expected = kind(em=True, pseudocount=0).fit(X[kept], [labels[row] for row in kept])
    assert np.exp(model.feature_log_prob_) == pytest.approx(np.exp(expected.feature_log_prob_), abs=1e-8)
    assert np.isfinite(model.em_result_.objectives).all()
    assert not hasattr(model.fit(X, y), "em_result_")


@both
def test_em_names_what_is_wrong(kind):
    X, y = half_known()
    with pytest.raises(MissingDataError, match="row 2"):
        kind().fit(X, y)
    with pytest.raises(MissingDataError, match="row 2"):
        kind(em=True).leave_one_out(X, y)
    with pytest.raises(MissingDataError, match="all rows"):
        kind(em=True).fit(X, [None] * len(y))
    with pytest.raises(DataError, match="partial_fit with em=False"):
        kind(em=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match="'steps'"):
        kind(em={"steps": 3}).fit(X, y)
    with pytest.raises(DataError, match="max_iter"):
        kind(em={"max_iter": 0}).fit(X, y)
    with pytest.raises(DataError, match="em must be"):
        kind(em="yes").fit(X, y)
    new_word = np.column_stack([X, np.arange(80) == 5])
    with pytest.raises(ImpossibleEvidenceError, match="row 5 "):
        kind(em=True, pseudocount=0).fit(new_word, [None if row == 5 else row % 2 for row in range(80)])


# ------------------------------------------------------------------ errors


@both
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, sp.coo_matrix])
def test_cells_that_are_wrong_are_named(kind, form):
    X, y = counts()
    model = kind().fit(X, y)
    for value, error in ((math.nan, MissingDataError), (math.inf, DataError), (-math.inf, DataError)):
        wrong = X.astype(float)
        wrong[17, 3] = value
        for use in (lambda cells: kind().fit(cells, y), model.predict):
            with pytest.raises(error, match=r"column 'x3', row 17 \(counting from 0\)"):
                use(form(wrong))


def test_negative_counts_are_named():
    X, y = counts()
    X[17, 3] = -2
    for form in (np.asarray, sp.csr_array, sp.csc_array, lambda cells: pd.DataFrame(cells.astype(float))):
        with pytest.raises(DataError, match=r"column 'x3', row 17 \(counting from 0\) holds -2"):
            MultinomialNBClassifier().fit(form(X), y)
    with pytest.raises(DataError, match="'x3', row 17 "):
        MultinomialNBClassifier().fit(X.astype(">f8"), y)
    BernoulliNBClassifier().fit(X, y)
    parts = sp.csr_array(([3, -1, 1], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert MultinomialNBClassifier().fit(parts, [0, 1]).feature_count_.tolist() == [[2, 0], [0, 1]]


def test_features_that_must_be_events():
    X, y = np.array([[0, 1], [1, 0], [1, 1]]), [0, 1, 1]
    model = BernoulliNBClassifier(threshold=None).fit(X, y)
    for form in (np.asarray, sp.csr_array, sp.csc_array):
        for value in (2, 0.5, -1):
            wrong = X.astype(float)
            wrong[2, 1] = value
            with pytest.raises(DataError, match=rf"'x1', row 2 .* holds {value}.*threshold=None"):
                model.predict(form(wrong))
    assert model.predict(unsorted_parts(2 * X) / 2).tolist() == model.predict(X).tolist()  # halves of ones
    with pytest.raises(DataError, match="sparse"):
        BernoulliNBClassifier(threshold=-1).fit(sp.csr_array(X), y)
    for threshold in ("high", math.nan, True):
        with pytest.raises(DataError, match="threshold must be"):
            BernoulliNBClassifier(threshold=threshold).fit(X, y)


@both
def test_text_is_no_number(kind):
    X = pd.DataFrame({"a": [1, 0, 2], "b": [0, 1, 1]})
    y = [0, 1, 1]
    for frame in (X.assign(b=["0", "3", "1"]), pl.DataFrame({"a": [1, 0, 2], "b": ["0", "1", "1"]})):
        with pytest.raises(DataError, match=r"column 'b', row 0 .* holds '0'"):
            kind().fit(frame, y)
    with pytest.raises(DataError, match=r"column 'b', row 1 .* holds 'x'"):
        kind().fit({"a": [1, 0, 2], "b": [0, "x", 1]}, y)
    with pytest.raises(MissingDataError, match=r"column 'b', row 1 "):
        kind().fit({"a": [1, 0, 2], "b": [0, None, 1]}, y)
    with pytest.raises(MissingDataError, match=r"column 'b', row 2 "):
        kind().fit(X.assign(b=pd.array([0, 1, None], dtype="Int64")), y)
    with pytest.raises(DataError, match="must be numbers"):
        kind().fit(np.array([["a"], ["b"], ["c"]]), y)
    with pytest.raises(DataError, match="must be numbers"):
        kind().fit(np.array([["2020-01-01"]] * 3, dtype="datetime64[D]"), y)


@both
def test_other_errors(kind):
    X, y = counts()
    with pytest.raises(NotFittedError):
        kind().predict(X)
    with pytest.raises(DataError, match="weights are zero"):
        kind().fit(X, y, np.zeros(len(y)))
    with pytest.raises(DataError, match="weights are zero|cannot be left out"):
        kind().leave_one_out(X, y, [0] + [1] * (len(y) - 1))
    for options in ({"pseudocount": -1}, {"class_pseudocount": math.nan}, {"priors": [0.5, 0.6, 0.1]}):
        with pytest.raises(DataError, match=next(iter(options))):
            kind(**options).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        kind().fit(X, y[1:])
    with pytest.raises(DataError, match="59 weights"):
        kind().fit(X, y, np.ones(59))
    with pytest.raises(ValueError, match="classes must be passed"):
        kind().partial_fit(X, y)
    with pytest.raises(UnknownStateError, match="row 7 has the class .*9"):
        kind().partial_fit(X, [8, *y[1:7], 9, *y[8:]], classes=[0, 1, 2], sample_weight=[0] + [1] * (len(y) - 1))
    model = kind().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="cannot change"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="X has 6 features"):
        model.predict(X[:, :6])
    with pytest.raises(ValueError, match="X has 8 features"):
        model.predict(sp.csr_array((3, 8)))
    named = kind().fit({"a": [0, 1], "b": [1, 0]}, [0, 1])
    with pytest.raises(UnknownNameError, match="'b'"):
        named.predict({"a": [1]})


# ------------------------------------------------------------------ scikit-learn's tools

TEXTS = ["good fun", "good good film", "bad film", "bad and dull", "fun film", "dull dull plot"] * 3
MOODS = ["pos", "pos", "neg", "neg", "pos", "neg"] * 3


@both
@pytest.mark.filterwarnings(f"ignore::{SkipTestWarning.__module__}.{SkipTestWarning.__name__}")
def test_checks_of_scikit_learn(kind):
    results = check_estimator(kind(), on_fail="raise")
    assert len([result for result in results if result["status"] == "passed"]) > 55


@both
def test_pipelines_searches_clones_and_pickles(kind):
    pipe = make_pipeline(CountVectorizer(), kind()).fit(TEXTS, MOODS)
    assert pipe.predict(["a good film", "dull"]).tolist() == ["pos", "neg"]
    step = kind.__name__.lower()
    search = GridSearchCV(pipe, {f"{step}__pseudocount": [0.1, 1.0]}, cv=3).fit(TEXTS, MOODS)
    assert search.best_score_ == 1
    assert cross_val_score(make_pipeline(TfidfVectorizer(), kind()), TEXTS, MOODS, cv=3).mean() == 1
    fitted = pipe[-1]
    assert not hasattr(clone(fitted), "classes_")
    assert len(fitted.network_.names) > 1
    again = pickle.loads(pickle.dumps(pipe))
    assert (again.predict_proba(TEXTS) == pipe.predict_proba(TEXTS)).all()


@both
def test_names_of_features_are_remembered(kind):
    X = pd.DataFrame({"good": [1, 0, 2], "bad": [0, 1, 0]})
    model = kind().fit(X, ["pos", "neg", "pos"])
    assert model.feature_names_in_.tolist() == ["good", "bad"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["bad", "good"]])
    assert not hasattr(kind().fit(X.to_numpy(), [0, 1, 0]), "feature_names_in_")
    assert model.predict({"bad": [0], "good": [3]}).item() == "pos"


@both
def test_decisions(kind):
    X, y = counts()
    model = kind().fit(X, y)
    loss = {"wait": {0: 1, 1: 1, 2: 1}, "act": {0: 0, 1: 5, 2: 5}}
    risks = model.conditional_risk(X, loss)
    assert risks[:, 1] == pytest.approx(5 * (1 - model.predict_proba(X)[:, 0]))
    assert (model.predict(X, loss=loss) == np.array(["wait", "act"])[risks.argmin(axis=1)]).all()
