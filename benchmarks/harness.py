"""What all benchmarks share: a process with the peer library, repetitions in turn, medians.

Times of one machine vary from minute to minute, so a number means little alone. Ours and the peer's are measured in
turn (A B A B ...) within one run, and what is compared are the medians.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import pgm

__all__ = [
    "AGREEMENT",
    "Peer",
    "PeerError",
    "check_agreement",
    "connect",
    "interleave",
    "introduce",
    "option_parser",
    "peer_python",
    "plain_copy",
    "repetitions_within",
    "set_up",
    "timed",
    "working_directory",
]

HERE = Path(__file__).parent

AGREEMENT = 1e-5
"""Largest difference of two answers that agree: pyAgrum's BIF reader keeps single precision."""


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

    def give(self, net: pgm.BayesianNetwork, file: Path, *readers: str) -> None:
        """Write the plain copy of a network to a file and let the peer read it, with pyAgrum unless said otherwise."""
        plain_copy(net).write(file)
        for reader in readers or ("read",):
            self.ask(reader, path=str(file))

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


def check_agreement(difference: float) -> None:
    """Print a warning if our answers and the peer's are that far apart, unless that is its reader's precision."""
    if not difference <= AGREEMENT:
        print(f"WARNING: the answers differ by {difference}")


# The command line.


def option_parser(description: str, networks: Iterable[str] | None = None) -> argparse.ArgumentParser:
    """Return a parser that knows where the peers are, and which networks are measured unless said otherwise."""
    parser = argparse.ArgumentParser(description=description.partition("\n\n")[0])
    parser.add_argument(
        "--peers",
        metavar="PATH",
        default=os.environ.get("PGM_PEERS"),
        help="environment with the peer libraries, or its Python (default: $PGM_PEERS, else .peers if it exists)",
    )
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)  # see memory.py
    if networks is not None:
        parser.add_argument("--networks", nargs="+", default=list(networks), metavar="NAME")
    return parser


@contextmanager
def set_up(options: argparse.Namespace) -> Iterator[tuple[Peer | None, Path]]:
    """Give the peer and a directory for files, once it is printed on what the numbers are measured."""
    with connect(peer_python(options.peers)) as peer, working_directory() as directory:
        introduce(peer)
        yield peer, directory


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
