"""Fitting and predicting with the four kinds of naive Bayes; scikit-learn's in turn with ours.

Random categories and bell curves; counts, as a random dense table of whole numbers and of floats, and the words of 5536
sentences of film reviews, sparse: as ``CountVectorizer.fit_transform`` leaves them, and in order within each row, as
after ``transform``. Ours also leaves each row out in turn, which scikit-learn cannot.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
from harness import interleave, introduce, option_parser, repetitions_within, timed
from report import ratio, seconds, table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from pgm import BernoulliNBClassifier, MultinomialNBClassifier, NaiveBayesClassifier

CLASSES = 4
TEXTS = Path(__file__).parent.parent / "examples" / "data" / "sentiment.tsv.gz"
TRAINING = 5536
BUDGET = 2.0
"""Seconds that the repetitions of one measurement may take, roughly."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=[])
    parser.add_argument("--rows", type=int, default=100_000, metavar="N")
    parser.add_argument("--features", type=int, default=50, metavar="N")
    options = parser.parse_args()
    introduce(None)
    whole, y = draw(options.rows, options.features)
    sparse, liked = read()
    size = f"{whole.shape[0]:,} x {whole.shape[1]}"
    counted = [(BernoulliNBClassifier(), BernoulliNB()), (MultinomialNBClassifier(), MultinomialNB())]
    bell = whole + np.random.default_rng(1).normal(size=whole.shape)
    tables = [
        (f"categories, {size}", np.minimum(whole, 3), y, [(NaiveBayesClassifier(), CategoricalNB())]),
        (f"numbers, {size}", bell, y, [(NaiveBayesClassifier(), GaussianNB())]),
        (f"counts, dense, whole numbers, {size}", whole, y, counted),
        (f"counts, dense, floats, {size}", whole.astype(float), y, counted),
        (f"counts, sparse, {sparse.shape[0]:,} x {sparse.shape[1]:,}, {sparse.nnz:,} cells", sparse, liked, counted),
        ("the same in order", sparse.sorted_indices(), liked, counted),
    ]
    for title, X, labels, models in tables:
        print(title + "\n")
        measured = [line for ours, theirs in models for line in compare(ours, theirs, X, labels)]
        table(("", "", "pgm", "scikit-learn", "theirs / ours"), measured)


def compare(ours: Any, theirs: Any, X: Any, y: np.ndarray) -> list[tuple[str, ...]]:
    """Return the lines of the table for one model."""
    name = type(theirs).__name__
    lines = []
    for what in ("fit", "predict", "predict_proba"):
        arguments = (X, y) if what == "fit" else (X,)
        runs = {
            library: (
                lambda model=model, what=what, arguments=arguments: timed(lambda: getattr(model, what)(*arguments))
            )
            for library, model in (("pgm", ours), ("scikit-learn", theirs))
        }
        cost = sum(run() for run in runs.values())  # the first call, which is not counted
        times = interleave(runs, repetitions_within(BUDGET, cost))
        lines.append(
            (name, what, *(seconds(time) for time in times.values()), ratio(times["scikit-learn"], times["pgm"]))
        )
    spent = interleave({"pgm": lambda: timed(lambda: ours.leave_one_out(X, y))}, 3)["pgm"]
    return [*lines, (name, "leave one out", seconds(spent), "-", "-")]


def draw(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random counts, whose rates differ from class to class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    rates = rng.gamma(2.0, 0.5, (CLASSES, features))
    return rng.poisson(rates[y]), y


def read() -> tuple[Any, np.ndarray]:
    """Return how often each word occurs in each text, and the classes of the texts."""
    with gzip.open(TEXTS, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:TRAINING]
    return CountVectorizer().fit_transform([row["text"] for row in rows]), np.array(
        [int(row["target"]) for row in rows]
    )


if __name__ == "__main__":
    main()
