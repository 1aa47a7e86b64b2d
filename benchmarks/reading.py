"""Reading each bundled network from a plain BIF file, against pyAgrum's loadBN.

Both read the same file, which we write with names and labels that pyAgrum accepts. A freshly written file is in the
system's cache, so no disk is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness import (
    Peer,
    connect,
    geometric_mean,
    interleave,
    introduce,
    megabytes,
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

import pgm

BUDGET = 6.0
"""Seconds for the repetitions of one network."""
NAMED_IN_GOAL = ("munin", "diabetes")


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--networks", nargs="+", default=list(pgm.networks.names()), metavar="NAME")
    options = parser.parse_args()
    ratios: dict[str, float] = {}
    rows = []
    with connect(peer_python(options.peers)) as peer, working_directory() as directory:
        introduce(peer)
        for name in options.networks:
            file = directory / f"{name}.bif"
            plain_copy(pgm.networks.load(name)).write(file)
            ours, theirs, repetitions = measure(file, peer)
            if theirs is not None:
                ratios[name] = theirs / ours
            size = megabytes(file.stat().st_size)
            rows.append((name, size, seconds(ours), seconds(theirs), ratio(theirs, ours), repetitions))
    table(("network", "file", "ours", "pyAgrum", "ratio", "repetitions"), rows)
    if ratios:
        worst = min(ratios, key=lambda name: ratios[name])
        mean = geometric_mean(ratios.values())
        print(f"geometric mean of pyAgrum / ours {mean:.2f}; worst: {worst} {ratios[worst]:.2f}")
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
