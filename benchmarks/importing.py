"""What importing costs: whole processes, `import pgm` against `import numpy`, and the peer libraries to compare."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from harness import connect, interleave, introduce, option_parser, peer_python, timed
from report import seconds, table

GOAL = 2.0
"""Largest ratio of `import pgm` to `import numpy`."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--repetitions", type=int, default=21)
    options = parser.parse_args()
    peers = peer_python(options.peers)
    with connect(peers) as peer:
        introduce(peer)
    measure("Our environment", Path(sys.executable), ("pass", "import numpy", "import pgm"), options.repetitions)
    if peers is not None:
        measure("The peers' environment", peers, ("pass", "import numpy", "import pyagrum"), options.repetitions)
        measure("The peers' environment", peers, ("import numpy", "import pgmpy"), max(3, options.repetitions // 5 | 1))


def measure(whose: str, python: Path, statements: tuple[str, ...], repetitions: int) -> None:
    """Print the medians of processes that do nothing but one statement."""
    runs = {statement: partial(run, python, statement) for statement in statements}
    for start in runs.values():
        start()  # the files are cached, and compiled, from here on
    medians = interleave(runs, repetitions)
    numpy = medians["import numpy"]
    print(f"{whose}: medians of {repetitions} processes each, in turn.\n")
    table(
        ("process", "median", "ratio to numpy"),
        [(f"`{name}`", seconds(median), f"{median / numpy:.2f}") for name, median in medians.items()],
    )
    if "import pgm" in medians:
        print(f"import pgm / import numpy: {medians['import pgm'] / numpy:.2f}; goal: at most {GOAL:.0f}\n")


def run(python: Path, statement: str) -> float:
    """Return the seconds of a process from start to end."""
    return timed(lambda: subprocess.run([python, "-c", statement], check=True, capture_output=True))


if __name__ == "__main__":
    main()
