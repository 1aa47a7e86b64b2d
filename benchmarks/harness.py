"""What all benchmarks share: a process with the peer library, repetitions in turn, medians, memory, tables.

Times of one machine vary from minute to minute, so a number means little alone. Ours and the peer's are measured in
turn (A B A B ...) within one run, and what is compared are the medians.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import pgm

__all__ = [
    "Peer",
    "PeerError",
    "connect",
    "geometric_mean",
    "in_child",
    "interleave",
    "introduce",
    "megabytes",
    "option_parser",
    "peak_memory",
    "peer_python",
    "plain_copy",
    "ratio",
    "repetitions_within",
    "seconds",
    "table",
    "timed",
    "working_directory",
]

HERE = Path(__file__).parent


# The peer.


class PeerError(Exception):
    """The peer library could not do what was asked; the message is its own."""


class Peer:
    """A process of the peer's Python, which does and times on request what `peer_worker.py` knows.

    Parameters
    ----------
    python
        The Python that has the peer libraries.
    """

    def __init__(self, python: Path) -> None:
        command = [str(python), str(HERE / "peer_worker.py")]
        # PYTHONPATH is ours, not the peer's
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, command: str, **arguments: Any) -> Any:
        """Return the answer to one command."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([command, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"the peer ended with code {self._process.wait()} during {command!r}")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply["answer"]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def connect(python: Path | None) -> Iterator[Peer | None]:
    """Give the peer for a while, or None if there is no such Python."""
    peer = None if python is None else Peer(python)
    try:
        yield peer
    finally:
        if peer is not None:
            peer.close()


# The command line.


def option_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser that knows where the peers are."""
    parser = argparse.ArgumentParser(description=description.partition("\n\n")[0])
    parser.add_argument(
        "--peers",
        metavar="PATH",
        default=os.environ.get("PGM_PEERS"),
        help="environment with the peer libraries, or its Python (default: $PGM_PEERS, else .peers if it exists)",
    )
    return parser


def peer_python(given: str | None) -> Path | None:
    """Return the peer's Python, or None after saying that there is none."""
    path = Path(given) if given else HERE.parent / ".peers"
    python = path / "bin" / "python" if path.is_dir() else path
    if python.exists():
        return python
    if given:
        sys.exit(f"no Python at {python}")
    print("No environment with the peer libraries (see benchmarks/README.md): ours alone.\n")
    return None


def introduce(peer: Peer | None) -> None:
    """Print on what the numbers were measured."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    blas = os.environ.get("OPENBLAS_NUM_THREADS", "default")
    print(
        f"pgm {pgm.__version__}, Python {platform.python_version()}, NumPy {np.__version__} (BLAS threads: {blas}), "
        f"{os.cpu_count()} cores, load {load} before the run"
    )
    if peer is not None:
        versions = peer.ask("versions")
        print("peers: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    print()


# Time.


def timed(function: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleave(runs: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, float]:
    """Return the median of each run, measured in turn; a run returns its own seconds."""
    gc.collect()
    measured: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            measured[name].append(run())
    return {name: statistics.median(times) for name, times in measured.items()}


def repetitions_within(budget: float, cost: float, least: int = 3, most: int = 201) -> int:
    """Return how many repetitions of ``cost`` seconds fit into ``budget`` seconds, an odd number."""
    fitting = int(budget / max(cost, 1e-6))
    return min(max(fitting, least), most) | 1


# Memory.


def peak_memory() -> int:
    """Return the most bytes this process has held.

    Linux starts ``ru_maxrss`` of a new process at what its parent held, so there the process's own mark is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource  # not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_child(script: str, task: str, *arguments: object) -> dict[str, Any]:
    """Return what ``script --child task arguments`` prints last, as JSON, from a process of its own."""
    command = [sys.executable, script, "--child", task, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


# Networks that every reader accepts.


def plain_copy(net: pgm.BayesianNetwork) -> pgm.BayesianNetwork:
    """Return the same network with the names x0, x1, ... and the states s0, s1, ...

    pyAgrum's BIF reader does not take labels such as ``<5``, which bundled networks have.
    """
    plain = {
        variable.name: pgm.Variable(f"x{number}", [f"s{code}" for code in range(variable.cardinality)])
        for number, variable in enumerate(net.variables)
    }
    return pgm.BayesianNetwork(
        [
            pgm.CPT(plain[cpt.child.name], cpt.values, parents=[plain[parent.name] for parent in cpt.parents])
            for cpt in net.cpts
        ]
    )


@contextmanager
def working_directory() -> Iterator[Path]:
    """Give a directory for the files of a run, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="pgm-benchmark-") as directory:
        yield Path(directory)


# Printing.


def seconds(time: float | None) -> str:
    """Return a time with three digits and its unit."""
    if time is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time >= size:
            return f"{_three_digits(time / size)} {unit}"
    return f"{_three_digits(time / 1e-6)} us"


def ratio(theirs: float | None, ours: float) -> str:
    """Return how many times as long theirs takes."""
    return "-" if theirs is None else _three_digits(theirs / ours)


def megabytes(size: float | None) -> str:
    """Return a number of bytes in MB."""
    if size is None:
        return "-"
    return f"{size / 1e6:,.{0 if size > 1e7 else 2}f} MB"


def _three_digits(number: float) -> str:
    decimals = 2 - math.floor(math.log10(number)) if number > 0 else 2
    return f"{number:,.{max(0, decimals)}f}"


def geometric_mean(numbers: Iterable[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(numbers)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, the first column to the left and the others to the right; it is Markdown as well."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    lines = [list(header), ["-" * (width - 1) + (":" if place else "-") for place, width in enumerate(widths)], *cells]
    for line in lines:
        padded = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print(f"| {' | '.join(padded)} |")
    print(flush=True)
