"""The examples run as they are, and print what their texts say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

# What is published, or follows from what is, and must be in the output
PRINTED = {
    "compare_classifiers": ["car: 0.856481 naive Bayes, 0.917824 AODE", "iris: 0.9533 naive Bayes"],
    "computer_shop": ["[0.1, 0.044444]", "decision: no", "0.021429"],
    "gaussian_mixture": [],
    "iris": ["1.0000 of 30 right", "pgm:          1.0000", "< 2.45  2.45 to 4.75  >= 4.75"],
    "latent_class": ["BIC chooses 2"],
    "quickstart": ["[A][S][T][L|S][B|S][E|T:L][X|E][D|B:E]"],
    "sentiment": ["multinomial                      0.783959538", "12345 words"],
    "two_coins": ["P(coin A | tosses): [0.45, 0.8, 0.73, 0.35, 0.65]", "A 0.80, B 0.52"],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(EXAMPLES.parent)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    for expected in PRINTED[name]:
        assert expected in printed
