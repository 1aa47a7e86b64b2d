"""The example with sentences of film reviews gives the published accuracies."""

from __future__ import annotations

import re

import numpy as np
import pytest

from examples import sentiment

PUBLISHED = {
    "multinomial": 0.7839595375722543,
    "scikit-learn's multinomial": 0.7839595375722543,
    "Bernoulli": 0.7832369942196532,
    "scikit-learn's Bernoulli": 0.7832369942196532,
    "Gaussian": 0.666907514450867,
    "scikit-learn's Gaussian": 0.666907514450867,
    "multinomial, trained on 0 and 1": 0.7854046242774566,
}


def test_the_texts_are_those_of_the_published_results():
    texts, y = sentiment.read()
    assert len(texts) == 6920
    assert np.bincount(y[: sentiment.TRAINING]).tolist() == [2640, 2896]


def test_the_example_prints_the_published_accuracies(capsys):
    sentiment.main()
    printed = capsys.readouterr().out
    found = dict(re.findall(r"^(\S.*?) +(0\.\d{9})$", printed, re.MULTILINE))
    assert {name: float(number) for name, number in found.items()} == pytest.approx(PUBLISHED, abs=1e-9)
    assert "12345 words" in printed
    alone, together = (float(number) for number in re.findall(r": (0\.\d{3})\b", printed))
    assert together > alone + 0.03
    assert re.search("^liked: .*powerful", printed, re.MULTILINE)
