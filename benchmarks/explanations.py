"""The most probable explanation on every bundled network, against our own other questions and pyAgrum's.

Observed are the first five leaves in declared order, each at its most probable prior state. `probability` prunes all
that is not above the evidence and so can be far smaller a task; `marginals` visits every variable, as `mpe` must. All
plans are made beforehand. pyAgrum makes its engine each time; its figure is the better one of 1 and 2 threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness import (
    Peer,
    PeerError,
    connect,
    geometric_mean,
    interleave,
    introduce,
    option_parser,
    peer_python,
    plain_copy,
    ratio,
    repetitions_within,
    seconds,
    table,
    timed,
    working_directory,
)
from inference import AGREEMENT, N_OBSERVED, TOO_LARGE_FOR_PEER, codes, leaf_evidence

import pgm

BUDGET = 1.0
"""Seconds for the repetitions of one row."""
SLOW = 2.0
"""Seconds from which one repetition must do."""
HEADER = (
    "network", "mpe", "probability", "mpe / probability", "marginals", "mpe / marginals", "pyAgrum mpe", "ratio",
    "repetitions",
)  # fmt: skip


class Row(NamedTuple):
    """The figures of one network."""

    name: str
    times: dict[str, float]
    repetitions: int
    refused: str | None
    """What pyAgrum said, where it gave no answer."""

    def cells(self) -> list[str]:
        """Return the row as printed."""
        times = self.times
        mpe, theirs = times["mpe"], times.get("pyAgrum")
        return [
            self.name, seconds(mpe), seconds(times["probability"]), ratio(mpe, times["probability"]),
            seconds(times["marginals"]), ratio(mpe, times["marginals"]), seconds(theirs), ratio(theirs, mpe),
            str(self.repetitions),
        ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--networks", nargs="+", default=list(pgm.networks.names()), metavar="NAME")
    options = parser.parse_args()
    with connect(peer_python(options.peers)) as peer, working_directory() as directory:
        introduce(peer)
        rows = [
            measure(name, None if name in TOO_LARGE_FOR_PEER else peer, directory / f"{name}.bif")
            for name in options.networks
        ]
    print(f"The most probable explanation, {N_OBSERVED} leaves observed (goal: under twice `probability`).\n")
    table(HEADER, [row.cells() for row in rows])
    summarize(rows)


def measure(name: str, peer: Peer | None, file: Path) -> Row:
    """Return the figures of one network."""
    net = pgm.networks.load(name)
    evidence = leaf_evidence(net, N_OBSERVED)
    questions: dict[str, Callable[[], object]] = {
        "mpe": lambda: net.mpe(evidence),
        "probability": lambda: net.probability(evidence),
        "marginals": lambda: net.marginals(evidence),
    }
    for question in questions.values():
        question()  # makes the plan
    runs: dict[str, Callable[[], float]] = {name: partial(timed, question) for name, question in questions.items()}
    cost = sum(run() for run in runs.values())
    refused = None
    if peer is not None:
        plain_copy(net).write(file)
        peer.ask("read", path=str(file))
        explain = partial(peer.ask, "explain", evidence=codes(net, evidence))
        try:
            trials = {threads: explain(threads=threads) for threads in (1, 2)}
        except PeerError as error:
            refused = str(error)
        else:
            best = min(trials, key=lambda threads: float(trials[threads]["seconds"]))
            cost += trials[best]["seconds"]
            runs["pyAgrum"] = lambda: float(explain(threads=best)["seconds"])
            if abs(trials[best]["log_probability"] - net.mpe(evidence).log_probability) > AGREEMENT:
                print(f"WARNING: the explanations of {name} are not equally probable")
    repetitions = repetitions_within(BUDGET, cost, least=1 if cost > SLOW else 3)
    return Row(name, interleave(runs, repetitions), repetitions, refused)


def summarize(rows: list[Row]) -> None:
    """Print the means of the ratios, and where pyAgrum gave no answer."""
    for label, over, under in (
        ("mpe / probability", "mpe", "probability"),
        ("mpe / marginals", "mpe", "marginals"),
        ("pyAgrum / ours", "pyAgrum", "mpe"),
    ):
        ratios = [row.times[over] / row.times[under] for row in rows if over in row.times]
        if ratios:
            low, high, mean = min(ratios), max(ratios), geometric_mean(ratios)
            print(f"{label}: geometric mean {mean:.1f} over {len(ratios)}, from {low:.2f} to {high:.1f}")
    for reason in sorted({row.refused for row in rows if row.refused}):
        names = ", ".join(row.name for row in rows if row.refused == reason)
        print(f"pyAgrum gives no explanation of {names}: {reason}")


if __name__ == "__main__":
    main()
