"""One question for one variable of a small network, with three leaves observed, against pyAgrum and pgmpy.

The leaves are the first three in declared order (asia has two) at their most probable prior states; the target is the
first root that has one of them below it. Our plan is made beforehand. pyAgrum makes its engine for one target each
time, and in the column "kept" keeps it while only the values of the evidence change; each figure is the better one of 1
and 2 threads. pgmpy's engine is made beforehand, which is outside its time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness import Peer, check_agreement, interleave, option_parser, set_up, timed
from inference import Evidence, codes, leaf_evidence
from report import ratio, seconds, show_ratios, table

import pgm

NETWORKS = ("asia", "alarm", "insurance", "hailfinder")
N_OBSERVED = 3
AT_ONCE = 20
"""Questions in a row for one measurement, so that both sides are warm; the mean counts. pgmpy is asked one."""
HEADER = ("network", "target", "ours", "pyAgrum", "ratio", "kept", "ratio", "pgmpy", "ratio", "difference")


class Row(NamedTuple):
    """The figures of one network."""

    name: str
    target: str
    times: dict[str, float]
    difference: float | None

    def against(self, peer: str) -> str:
        """Return how many times as long a peer takes."""
        return ratio(self.times.get(peer), self.times["ours"])

    def cells(self) -> list[str]:
        """Return the row as printed."""
        peers = [
            text
            for peer in ("pyAgrum", "kept", "pgmpy")
            for text in (seconds(self.times.get(peer)), self.against(peer))
        ]
        difference = "-" if self.difference is None else f"{self.difference:.0e}"
        return [self.name, self.target, seconds(self.times["ours"]), *peers, difference]


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=NETWORKS)
    parser.add_argument("--repetitions", type=int, default=51, help=f"each of {AT_ONCE} questions, of pgmpy one")
    options = parser.parse_args()
    with set_up(options) as (peer, directory):
        rows = [measure(name, peer, directory / f"{name}.bif", options.repetitions) for name in options.networks]
    print("One target, three leaves observed (goals: 3 times as fast as pyAgrum, 20 times as pgmpy);")
    print(f"repetitions, in turn: {options.repetitions}, each the mean of {AT_ONCE} questions (pgmpy: one).\n")
    table(HEADER, [row.cells() for row in rows])
    summarize(rows)


def measure(name: str, peer: Peer | None, file: Path, repetitions: int) -> Row:
    """Return the figures of one network."""
    net = pgm.networks.load(name)
    evidence = leaf_evidence(net, N_OBSERVED)
    above = net.dag.ancestors(list(evidence))
    target = next(root for root in net.dag.roots if root in above)
    answer = net.query(target, evidence).values

    def several() -> None:
        for _ in range(AT_ONCE):
            net.query(target, evidence)

    runs: dict[str, Callable[[], float]] = {"ours": lambda: timed(several) / AT_ONCE}
    if peer is None:
        return Row(name, target, interleave(runs, repetitions), None)
    peer.give(net, file, "read", "read_with_pgmpy")
    asked, coded = f"x{net.names.index(target)}", codes(net, evidence)
    query = partial(peer.ask, "query", target=asked, evidence=coded, times=AT_ONCE)
    theirs = peer.ask("query_with_pgmpy", target=asked, evidence=coded)["values"]
    query(threads=1)
    difference = max(float(abs(answer - other).max()) for other in (theirs, peer.ask("posterior", target=asked)))
    check_agreement(difference)
    for threads in (1, 2):
        runs[f"pyAgrum {threads}"] = partial(query, threads=threads)
        others = other_values(net, evidence)
        if others:
            again = partial(peer.ask, "query_again", target=asked, evidences=[others, coded], times=AT_ONCE)
            runs[f"kept {threads}"] = again  # the engine of the run before
    runs["pgmpy"] = lambda: float(peer.ask("query_with_pgmpy", target=asked, evidence=coded)["seconds"])
    medians = interleave(runs, repetitions)
    times = {"ours": medians["ours"], "pgmpy": medians["pgmpy"]}
    for kind in ("pyAgrum", "kept"):
        trials = [medians[run] for run in medians if run.startswith(kind)]
        if trials:
            times[kind] = min(trials)
    return Row(name, target, times, difference)


def other_values(net: pgm.BayesianNetwork, evidence: Evidence) -> dict[str, int]:
    """Return coded evidence on the same leaves with other states, or nothing if those are impossible."""
    other = leaf_evidence(net, len(evidence), rank=1)
    return codes(net, other) if net.log_probability(other) > -math.inf else {}


def summarize(rows: list[Row]) -> None:
    """Print the mean and the worst of the ratios."""
    for peer in ("pyAgrum", "kept", "pgmpy"):
        ratios = {row.name: row.times[peer] / row.times["ours"] for row in rows if peer in row.times}
        show_ratios(f"{peer} / ours", ratios)


if __name__ == "__main__":
    main()
