"""Accuracy, log loss and time of the classifiers by cross-validation, scikit-learn's naive Bayes beside ours.

The tables are those in ``tests/data/tables`` that have a class, and four of scikit-learn's. Folds are stratified and
seeded, and the same for all classifiers. All states of a category are declared, so that a value may be missing in the
training rows; cuts are found in the training rows alone. Cells that are missing stay so; scikit-learn's naive Bayes
takes them for one more category. Probabilities below 2e-16 count as that in the log loss, as in scikit-learn's.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from harness import introduce
from numpy.typing import NDArray
from report import seconds, table
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from pgm import (
    A2DEClassifier,
    AODEClassifier,
    Dataset,
    KDBClassifier,
    MDLPDiscretizer,
    NaiveBayesClassifier,
    SPODEClassifier,
    TANClassifier,
    read_csv,
)
from pgm.errors import TooLargeError

TABLES = Path(__file__).parent.parent / "tests" / "data" / "tables"


class Source(NamedTuple):
    """Where a table is, and what is in it."""

    file: str
    target: str
    """Name of the class."""
    numbers: Sequence[str] = ()
    """Names of the features that are measurements; the others are categories."""


LETTER = "x.box y.box width high onpix x.bar y.bar x2bar y2bar xybar x2ybr xy2br x.ege xegvy y.ege yegvx"

BUNDLED = {
    "Zoo": Source("Zoo", "type"),
    "voting": Source("voting", "Class"),
    "BreastCancer": Source("BreastCancer", "Class"),
    "car": Source("car", "class"),
    "DNA": Source("DNA", "Class"),
    "letters as categories": Source("LetterRecognition", "lettr"),
    "letters as numbers": Source("LetterRecognition", "lettr", LETTER.split()),
    "Glass": Source("Glass", "Type", ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]),
    "Ionosphere": Source("Ionosphere", "Class", [f"V{number}" for number in range(3, 35)]),
}

OF_SCIKIT_LEARN = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}


class Task(NamedTuple):
    """A table whose class is to be predicted."""

    name: str
    data: Dataset
    """The features, numbers being continuous."""
    classes: NDArray[Any]
    """The class of each row."""


class Result(NamedTuple):
    """What came out: means over the folds, and the median time."""

    accuracy: float
    log_loss: float
    """In nats."""
    time: float
    """Seconds that one fold takes, fitting and predicting."""


Results: TypeAlias = dict[str, dict[str, Result | None]]
"""By table and classifier; None where the tables of the classifier would be too large."""


# The tables.


def tasks(chosen: Sequence[str]) -> Iterator[Task]:
    """Iterate over some of the tables."""
    for name, source in BUNDLED.items():
        if name in chosen:
            yield bundled(name, source)
    for name, load in OF_SCIKIT_LEARN.items():
        if name in chosen:
            X, y = load(return_X_y=True)
            names = [f"x{number}" for number in range(X.shape[1])]
            yield Task(name, Dataset(X, names=names, continuous=names), y)


def bundled(name: str, source: Source) -> Task:
    """Return a bundled table."""
    data = read_csv(TABLES / f"{source.file}.csv.gz", continuous=source.numbers)
    features = [feature for feature in (*data.names, *data.continuous) if feature != source.target]
    return Task(name, data.select(features), np.array(data.to_dict()[source.target]))


# The classifiers.


class ScikitLearnNB:
    """scikit-learn's naive Bayes: `CategoricalNB` of the categories times `GaussianNB` of the numbers.

    Parameters
    ----------
    incomplete
        The categories that have missing cells, which then are one category more.
    """

    def __init__(self, incomplete: Iterable[str] = ()) -> None:
        self.incomplete = frozenset(incomplete)

    def fit(self, data: Dataset, y: NDArray[Any]) -> ScikitLearnNB:
        """Return the classifier itself, fitted."""
        self._parts: list[Any] = []
        if data.variables:
            sizes = [variable.cardinality + (variable.name in self.incomplete) for variable in data.variables]
            self._parts.append(CategoricalNB(min_categories=sizes).fit(self._codes(data), y))
        if data.continuous:
            self._parts.append(GaussianNB().fit(self._numbers(data), y))
        self.classes_, counts = np.unique(y, return_counts=True)
        self._log_prior = np.log(counts / len(y))
        return self

    def predict_log_proba(self, data: Dataset) -> NDArray[np.float64]:
        """Return ln P(class | features) of every row."""
        joint = self._log_prior * (1 - len(self._parts))  # each part has P(class) in it
        for part in self._parts:
            X = self._codes(data) if isinstance(part, CategoricalNB) else self._numbers(data)
            joint = joint + part.predict_joint_log_proba(X)
        return np.asarray(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))

    @staticmethod
    def _codes(data: Dataset) -> NDArray[np.intp]:
        return np.stack([data.codes(variable.name) for variable in data.variables], axis=1).astype(np.intp)

    @staticmethod
    def _numbers(data: Dataset) -> NDArray[np.float64]:
        return np.stack([data.numbers(name) for name in data.continuous], axis=1)


def classifiers() -> dict[str, Callable[[Task], Any]]:
    """Return what makes each classifier for a table."""
    cuts = MDLPDiscretizer()
    return {
        "NB, scikit-learn": lambda task: ScikitLearnNB(name for name, holes in task.data.n_missing.items() if holes),
        "NB": lambda task: NaiveBayesClassifier(),
        "NB, MDLP": lambda task: NaiveBayesClassifier(discretizer=cuts),
        "SPODE": lambda task: SPODEClassifier(discretizer=cuts),
        "TAN, BIC": lambda task: TANClassifier(discretizer=cuts, penalty="bic"),
        "TAN": lambda task: TANClassifier(discretizer=cuts),
        "KDB, k=2": lambda task: KDBClassifier(discretizer=cuts, k=2),
        "AODE": lambda task: AODEClassifier(discretizer=cuts),
        "A2DE": lambda task: A2DEClassifier(discretizer=cuts),
    }


# The measurement.


def main() -> None:
    """Measure and print."""
    every = [*BUNDLED, *OF_SCIKIT_LEARN]
    makers = classifiers()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--tables", nargs="+", default=every, choices=every, metavar="NAME")
    parser.add_argument("--classifiers", nargs="+", default=list(makers), choices=list(makers), metavar="NAME")
    parser.add_argument("--folds", type=int, default=10, metavar="N")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="how often rows are dealt to folds anew")
    options = parser.parse_args()
    introduce(None)
    results: Results = {}
    for task in tasks(options.tables):
        print(task.name, "...", file=sys.stderr, flush=True)
        describe(task)
        folds = list(deal(task.classes, options.folds, options.repeats))
        results[task.name] = {name: evaluate(makers[name], task, folds) for name in options.classifiers}
    print()
    show(results, options.classifiers)


def deal(y: NDArray[Any], folds: int, repeats: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Iterate over the rows to learn from and those to predict."""
    for seed in range(repeats):
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a class with fewer rows than there are folds
            yield from splitter.split(np.empty(len(y)), y)


def evaluate(
    make: Callable[[Task], Any], task: Task, folds: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> Result | None:
    """Return what came out of all folds, or None if the tables of the classifier would be too large."""
    found = []
    for training, test in folds:
        begin = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # pixels that are always 0 have no variance
                model = make(task).fit(task.data.take(training), task.classes[training])
                logs = model.predict_log_proba(task.data.take(test))
        except TooLargeError:
            return None
        spent = perf_counter() - begin
        truth = np.searchsorted(model.classes_, task.classes[test])
        right = logs.argmax(axis=1) == truth
        lost = -np.maximum(logs[np.arange(len(test)), truth], np.log(np.finfo(float).eps))
        found.append((right.mean(), lost.mean(), spent))
    accuracies, losses, times = np.array(found).T
    return Result(float(accuracies.mean()), float(losses.mean()), float(np.median(times)))


# What is printed.


def describe(task: Task) -> None:
    """Print the size of a table."""
    features, numbers = len(task.data.variables) + len(task.data.continuous), len(task.data.continuous)
    holes = sum(task.data.n_missing.values())
    print(
        f"{task.name}: {len(task.classes):,} rows, {features} features ({numbers} of them numbers), "
        f"{len(np.unique(task.classes))} classes, {holes:,} cells missing",
        flush=True,
    )


def show(results: Results, names: Sequence[str]) -> None:
    """Print a table for each measure, with means and mean ranks over the tables on which all classifiers can be."""
    complete = {title: found for title, found in results.items() if None not in found.values()}
    kinds: Mapping[str, tuple[Callable[[Result], float], str, int]] = {
        "Accuracy, percent": (lambda result: 100 * result.accuracy, "{:.2f}", -1),
        "Log loss, nats a row": (lambda result: result.log_loss, "{:.4f}", 1),
    }
    for title, (measure, form, sign) in kinds.items():
        lines = [
            (name, *("-" if result is None else form.format(measure(result)) for result in found.values()))
            for name, found in results.items()
        ]
        if complete:
            values = np.array([[measure(result) for result in found.values() if result] for found in complete.values()])
            ranks = rankdata(sign * values.round(9), axis=1)
            lines.append((f"mean of {len(complete)}", *(form.format(mean) for mean in values.mean(axis=0))))
            lines.append(("mean rank", *(f"{rank:.2f}" for rank in ranks.mean(axis=0))))
        table((title, *names), lines)
    times = [(name, *(seconds(result and result.time) for result in found.values())) for name, found in results.items()]
    table(("Time of a fold", *names), times)


if __name__ == "__main__":
    main()
