"""Reading each bundled network from a plain BIF file, against pyAgrum's loadBN.

Both read the same file, which we write with names and labels that pyAgrum accepts. A freshly written file is in the
system's cache, so no disk is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness import Peer, interleave, option_parser, plain_copy, repetitions_within, set_up, timed
from report import megabytes, ratio, seconds, show_ratios, table

import pgm

BUDGET = 6.0
"""Seconds for the repetitions of one network."""
NAMED_IN_GOAL = ("munin", "diabetes")


def main() -> None:
    """Measure and print."""
    options = option_parser(__doc__ or "", networks=pgm.networks.names()).parse_args()
    ratios: dict[str, float] = {}
    rows = []
    with set_up(options) as (peer, directory):
        for name in options.networks:
            file = directory / f"{name}.bif"
            plain_copy(pgm.networks.load(name)).write(file)
            ours, theirs, repetitions = measure(file, peer)
            if theirs is not None:
                ratios[name] = theirs / ours
            size = megabytes(file.stat().st_size)
            rows.append((name, size, seconds(ours), seconds(theirs), ratio(theirs, ours), repetitions))
    table(("network", "file", "ours", "pyAgrum", "ratio", "repetitions"), rows)
    show_ratios("pyAgrum / ours", ratios)
    if ratios:
        named = ", ".join(f"{name} {ratios[name]:.2f}" for name in NAMED_IN_GOAL if name in ratios)
        print(f"goal: above 1 for {' and '.join(NAMED_IN_GOAL)}; measured: {named}")


def measure(file: Path, peer: Peer | None) -> tuple[float, float | None, int]:
    """Return our median, the peer's, and the number of repetitions."""
    runs: dict[str, Callable[[], float]] = {"ours": lambda: timed(lambda: pgm.read(file))}
    if peer is not None:
        runs["theirs"] = lambda: float(peer.ask("read", path=str(file)))
    cost = sum(run() for run in runs.values())
    repetitions = repetitions_within(BUDGET, cost, most=51)
    medians = interleave(runs, repetitions)
    return medians["ours"], medians.get("theirs"), repetitions


if __name__ == "__main__":
    main()
