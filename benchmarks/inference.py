"""All posterior marginals of each bundled network, against pyAgrum's LazyPropagation.

Twice: without evidence, and with the first five leaves in declared order at their most probable prior states. Our plan
is made beforehand, as it is for every question after the first of its kind; what the first one takes is a column of its
own. pyAgrum's time includes making its engine, except in the column "kept", where the engine is kept and only the
values of the evidence change. Each pyAgrum figure is the better one of 1 and 2 threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harness import Peer, check_agreement, interleave, option_parser, repetitions_within, set_up, timed
from memory import answered_as_child, in_child, measured_alone, peak_memory
from report import megabytes, ratio, seconds, show_ratios, table

import pgm
from pgm.factors.variable import Label

N_OBSERVED = 5
BUDGET = 2.0
"""Seconds for the repetitions of one row."""
SLOW = 20.0
"""Seconds from which one repetition, with one thread, must do."""
TOO_LARGE_FOR_PEER = {"munin1": "34 to 80 s a run, 3 GB", "link": "more than 23 GB of memory"}
LARGE = ("munin1", "link")
"""Networks whose memory is shown."""

Evidence = dict[str, Label]


class Row(NamedTuple):
    """One network, with or without evidence."""

    name: str
    n_variables: int
    first: float
    ours: float
    theirs: float | None
    kept: float | None
    threads: int | None
    repetitions: int
    difference: float | None

    def cells(self) -> list[str]:
        """Return the row as printed."""
        difference = "-" if self.difference is None else f"{self.difference:.0e}"
        return [
            self.name, str(self.n_variables), seconds(self.first), seconds(self.ours), seconds(self.theirs),
            ratio(self.theirs, self.ours), seconds(self.kept), str(self.threads or "-"), str(self.repetitions),
            difference,
        ]  # fmt: skip


HEADER = (
    "network", "variables", "first", "ours", "pyAgrum", "ratio", "kept", "threads", "repetitions", "difference"
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=pgm.networks.names())
    parser.add_argument("--munin1", action="store_true", help="let pyAgrum answer munin1 as well (minutes)")
    options = parser.parse_args()
    if answered_as_child(options, measure_alone):
        return
    skipped = [name for name in TOO_LARGE_FOR_PEER if not (options.munin1 and name == "munin1")]
    with set_up(options) as (peer, directory):
        for observed in (0, N_OBSERVED):
            print(f"All marginals, {observed or 'no'} variables observed.\n")
            rows = [
                measure(name, observed, None if name in skipped else peer, directory / f"{name}.bif")
                for name in options.networks
            ]
            table(HEADER, [row.cells() for row in rows])
            summarize(rows)
        if peer is not None:
            print("Not asked of pyAgrum: " + "; ".join(f"{name} ({TOO_LARGE_FOR_PEER[name]})" for name in skipped))
            print(f"Peak memory of pyAgrum's process: {megabytes(peer.ask('memory'))}")
    show_large([name for name in LARGE if name in options.networks])


def leaf_evidence(net: pgm.BayesianNetwork, n_observed: int, rank: int = 0) -> Evidence:
    """Return the first leaves in declared order, each at its most probable prior state, or the one ``rank`` below."""
    prior = net.marginals()
    evidence: Evidence = {}
    for name in net.dag.leaves[:n_observed]:
        order = (-prior[name].values).argsort(kind="stable")
        evidence[name] = net.variable(name).states[int(order[min(rank, len(order) - 1)])]
    return evidence


def measure(name: str, n_observed: int, peer: Peer | None, file: Path) -> Row:
    """Return the figures of one network."""
    net = pgm.networks.load(name)
    evidence = leaf_evidence(net, n_observed)
    first = interleave({"first": lambda: first_question(net, evidence)}, 3)["first"]
    net.marginals(evidence)
    runs: dict[str, Callable[[], float]] = {"ours": lambda: timed(lambda: net.marginals(evidence))}
    cost = runs["ours"]()
    threads = difference = None
    if peer is not None:
        peer.give(net, file)
        coded = codes(net, evidence)
        threads, theirs_once = better_threads(peer, coded)
        difference = largest_difference(net, evidence, peer)
        cost += theirs_once
        runs["theirs"] = lambda: float(peer.ask("marginals", evidence=coded, threads=threads))
        other = leaf_evidence(net, n_observed, rank=1)
        if other and net.log_probability(other) > -math.inf:
            changed = codes(net, other)
            runs["kept"] = lambda: float(peer.ask("again", evidence=changed))  # the engine of the run before
    repetitions = repetitions_within(BUDGET, cost, least=1 if cost > SLOW else 3)
    medians = interleave(runs, repetitions)
    theirs, kept = medians.get("theirs"), medians.get("kept")
    return Row(name, len(net), first, medians["ours"], theirs, kept, threads, repetitions, difference)


def better_threads(peer: Peer, evidence: dict[str, int]) -> tuple[int, float]:
    """Return the number of threads with which the peer is faster, and its time."""
    trials: dict[int, float] = {}
    for threads in (1, 2):
        trials[threads] = peer.ask("marginals", evidence=evidence, threads=threads)
        if trials[threads] > SLOW:
            break
        trials[threads] = min(trials[threads], peer.ask("marginals", evidence=evidence, threads=threads))
    best = min(trials, key=lambda threads: trials[threads])
    return best, trials[best]


def first_question(net: pgm.BayesianNetwork, evidence: Evidence) -> float:
    """Return the time of the first question to a network, which includes its plan."""
    fresh = pgm.BayesianNetwork(net.cpts)
    return timed(lambda: fresh.marginals(evidence))


def codes(net: pgm.BayesianNetwork, evidence: Evidence) -> dict[str, int]:
    """Return evidence in the names of the plain copy."""
    return {f"x{net.names.index(name)}": net.variable(name).code(state) for name, state in evidence.items()}


def largest_difference(net: pgm.BayesianNetwork, evidence: Evidence, peer: Peer) -> float:
    """Return the largest difference between our posteriors and those of the peer's engine."""
    theirs = peer.ask("answers")
    difference = 0.0
    for name, factor in net.marginals(evidence).items():
        other = theirs[f"x{net.names.index(name)}"]
        difference = max(difference, float(abs(factor.values - other).max()))
    check_agreement(difference)
    return difference


def summarize(rows: list[Row]) -> None:
    """Print the mean and the worst of the ratios."""
    kept = {row.name: row.kept / row.ours for row in rows if row.kept}
    show_ratios("pyAgrum / ours", {row.name: row.theirs / row.ours for row in rows if row.theirs})
    show_ratios("pyAgrum with its engine kept / ours", kept)
    print()


# Memory.


def measure_alone(name: str, n_observed: str) -> dict[str, float]:
    """Return time and memory of one network in a process that does nothing else."""
    net = pgm.networks.load(name)
    evidence = leaf_evidence(net, int(n_observed)) if int(n_observed) else {}
    found = measured_alone(lambda: net.marginals(evidence))
    found["again"] = min(timed(lambda: net.marginals(evidence)) for _ in range(3))
    return {**found, "peak": peak_memory()}


def show_large(names: list[str]) -> None:
    """Print time and peak memory of the networks that are hard, each in a process of its own."""
    rows = []
    for name in names:
        for n_observed in (0, N_OBSERVED):
            found = in_child(__file__, name, n_observed)
            times, memory = (found["seconds"], found["again"]), (found["peak"], found["before"])
            rows.append((name, n_observed, *map(seconds, times), *map(megabytes, memory)))
    if rows:
        print("\nThe large ones, each in a fresh process (goal: 5 s and 3 GB).\n")
        table(("network", "observed", "first question", "next", "peak memory of the process", "before it"), rows)


if __name__ == "__main__":
    main()
