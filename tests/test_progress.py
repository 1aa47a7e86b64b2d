"""A progress bar shows itself late, on a terminal, or never."""

from __future__ import annotations

import io
import sys

import pytest

from pgm import progress
from pgm.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(show=True):
    with Progress("counting", total=3, show=show) as bar:
        for step in range(3):
            bar.step(score=step)


@pytest.mark.parametrize(("stream", "delay", "show"), [
    (io.StringIO, 0.0, True), (Terminal, 60.0, True), (Terminal, 0.0, False),
])  # fmt: skip
def test_nothing_is_printed(monkeypatch, stream, delay, show):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(progress, "DELAY", delay)
    work(show)
    assert sys.stderr.getvalue() == ""


@pytest.mark.filterwarnings("ignore:IProgress")
def test_long_work_on_a_terminal_shows_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "DELAY", 0.0)
    work()
    assert "counting" in sys.stderr.getvalue()
