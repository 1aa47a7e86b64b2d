"""The most probable explanation on every bundled network, against our own other questions and pyAgrum's.

Observed are the first five leaves in declared order, each at its most probable prior state. `probability` prunes all
that is not above the evidence and so can be far smaller a task; `unpruned` is the same forward pass, with sums, over
all the tables that `mpe` has to join; `marginals` visits every variable, forward and backward. All plans are made
beforehand. pyAgrum makes its engine each time; its figure is the better one of 1 and 2 threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness import Peer, PeerError, check_agreement, interleave, option_parser, repetitions_within, set_up, timed
from inference import N_OBSERVED, TOO_LARGE_FOR_PEER, codes, leaf_evidence
from report import geometric_mean, ratio, seconds, table

import pgm
from pgm.inference.compiling import sum_program
from pgm.inference.exact import ExactInference
from pgm.inference.preparing import Question

BUDGET = 1.0
"""Seconds for the repetitions of one row."""
SLOW = 2.0
"""Seconds from which one repetition must do."""
HEADER = (
    "network", "mpe", "unpruned", "mpe / unpruned", "probability", "marginals", "mpe / marginals", "pyAgrum mpe",
    "ratio", "repetitions",
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
            self.name, seconds(mpe), seconds(times["unpruned"]), ratio(mpe, times["unpruned"]),
            seconds(times["probability"]), seconds(times["marginals"]), ratio(mpe, times["marginals"]),
            seconds(theirs), ratio(theirs, mpe), str(self.repetitions),
        ]  # fmt: skip


def main() -> None:
    """Measure and print."""
    options = option_parser(__doc__ or "", networks=pgm.networks.names()).parse_args()
    with set_up(options) as (peer, directory):
        rows = [
            measure(name, None if name in TOO_LARGE_FOR_PEER else peer, directory / f"{name}.bif")
            for name in options.networks
        ]
    print(f"The most probable explanation, {N_OBSERVED} leaves observed (goal: under twice `probability`; `unpruned`")
    print("computes the same probability from all the tables that an explanation has to join).\n")
    table(HEADER, [row.cells() for row in rows])
    summarize(rows)


def measure(name: str, peer: Peer | None, file: Path) -> Row:
    """Return the figures of one network."""
    net = pgm.networks.load(name)
    evidence = leaf_evidence(net, N_OBSERVED)
    questions: dict[str, Callable[[], object]] = {
        "mpe": lambda: net.mpe(evidence),
        "unpruned": unpruned_sum(net, evidence),
        "probability": lambda: net.probability(evidence),
        "marginals": lambda: net.marginals(evidence),
    }
    for question in questions.values():
        question()  # makes the plan
    runs: dict[str, Callable[[], float]] = {name: partial(timed, question) for name, question in questions.items()}
    cost = sum(run() for run in runs.values())
    refused = None
    if peer is not None:
        peer.give(net, file)
        explain = partial(peer.ask, "explain", evidence=codes(net, evidence))
        try:
            trials = {threads: explain(threads=threads) for threads in (1, 2)}
        except PeerError as error:
            refused = str(error)
        else:
            best = min(trials, key=lambda threads: float(trials[threads]["seconds"]))
            cost += trials[best]["seconds"]
            runs["pyAgrum"] = lambda: float(explain(threads=best)["seconds"])
            check_agreement(abs(trials[best]["log_probability"] - net.mpe(evidence).log_probability))
    repetitions = repetitions_within(BUDGET, cost, least=1 if cost > SLOW else 3)
    return Row(name, interleave(runs, repetitions), repetitions, refused)


def unpruned_sum(net: pgm.BayesianNetwork, evidence: Mapping[str, str]) -> Callable[[], object]:
    """Return what sums the tables that the explanation joins, by the same plan."""
    engine = ExactInference([net.cpt(name) for name in net.names])
    known = engine.with_constants(engine.code(evidence))
    seen = frozenset(engine.code(evidence).codes)
    prepared = engine.prepare(Question("max", (), seen))
    program = sum_program(prepared.program.plan)
    return lambda: program.value(prepared.sliced(known)[0])


def summarize(rows: list[Row]) -> None:
    """Print the means of the ratios, and where pyAgrum gave no answer."""
    for label, over, under in (
        ("mpe / unpruned", "mpe", "unpruned"),
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
