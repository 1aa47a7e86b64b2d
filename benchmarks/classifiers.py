"""Fitting and predicting with the classifiers, on random categories; scikit-learn's CategoricalNB in turn with ours."""

from __future__ import annotations

import numpy as np
from harness import interleave, introduce, option_parser, timed
from report import seconds, table
from sklearn.naive_bayes import CategoricalNB

from pgm import (
    A2DEClassifier,
    AODEClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SPODEClassifier,
    TANClassifier,
)

CLASSES, STATES = 4, 4


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=[])
    parser.add_argument("--rows", type=int, default=100_000, metavar="N")
    parser.add_argument("--features", type=int, default=36, metavar="N")
    options = parser.parse_args()
    introduce(None)
    X, y = draw(options.rows, options.features)
    models = [
        NaiveBayesClassifier(),
        CategoricalNB(),
        SPODEClassifier(),
        TANClassifier(),
        KDBClassifier(),
        AODEClassifier(),
        A2DEClassifier(),
    ]
    for model in models:
        model.fit(X, y)
    fits = {type(m).__name__: (lambda m=m: timed(lambda: m.fit(X, y))) for m in models}
    predictions = {type(m).__name__: (lambda m=m: timed(lambda: m.predict(X))) for m in models}
    fitted, predicted = interleave(fits, 3), interleave(predictions, 3)
    rows = [(name, seconds(fitted[name]), seconds(predicted[name] / options.rows)) for name in fits]
    table(("classifier", "fit", "predict, a row"), rows)


def draw(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random categories, three in ten of which tell about the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    telling = (rng.random((rows, features)) < 0.3) * y[:, None]
    return (rng.integers(0, STATES, (rows, features)) + telling) % STATES, y


if __name__ == "__main__":
    main()
