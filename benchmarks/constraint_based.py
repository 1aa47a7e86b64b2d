"""The PC algorithm on rows sampled from ALARM, against the PC of pyAgrum and of pgmpy; and our MMHC.

All learn from the same rows, already in memory, with the same level and the same largest number of variables given;
but pgmpy, which takes minutes, with a smaller one and once, so that its time is a lower bound.
SHD counts the pairs of nodes in which a learned graph differs from the class of the true one. Besides the time on the
clock the time of the processors is shown, since on a busy machine threads that wait for each other take many times as
long.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from harness import HERE, option_parser, peer_python, set_up
from report import ratio, seconds, table

import pgm
from pgm.graph.equivalence import shd
from pgm.graph.pdag import PDAG
from pgm.learning.independence.mmhc import mmhc
from pgm.learning.independence.pc import pc

NETWORK = "alarm"


class Run(NamedTuple):
    """One search."""

    seconds: float
    processor: float
    graph: PDAG


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--rows", type=int, default=20_000, metavar="N")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--max-condition", type=int, default=3, metavar="N", help="variables given at most (default 3)")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    parser.add_argument(
        "--pgmpy-condition", type=int, default=1, metavar="N",
        help="variables given at most in pgmpy, which takes minutes (default 1); below 0 it is left out",
    )  # fmt: skip
    options = parser.parse_args()
    net = pgm.networks.load(NETWORK)
    data = net.sample(options.rows, rng=options.seed)
    with set_up(options) as (peer, directory):
        path = directory / "rows.csv"
        data.to_pandas().to_csv(path, index=False)
        limits = {"alpha": options.alpha, "max_condition": options.max_condition}
        runs: dict[str, Callable[[], Run]] = {
            "pgm, G2 adjusted": lambda: ours(data, "g2-adjusted", **limits),
            "pgm, G2": lambda: ours(data, "g2", **limits),
            "pgm, MMHC (BIC)": lambda: hybrid(data, **limits),
        }
        python = peer_python(options.peers) if peer is not None else None
        if python is not None:
            for threads in (1, 2):
                runs[f"pyAgrum, threads: {threads}"] = lambda threads=threads: theirs(
                    python, "pyagrum", path, threads, **limits
                )
        found: dict[str, list[Run]] = {name: [] for name in runs}
        for _ in range(options.repetitions):
            for name, run in runs.items():
                found[name].append(run())
        show(found, net.dag, options.rows)
        if python is not None and options.pgmpy_condition >= 0:
            run = theirs(python, "pgmpy", path, 1, options.alpha, options.pgmpy_condition)
            limit = options.pgmpy_condition
            print(
                f"pgmpy, variables given at most {limit}: {seconds(run.seconds)}, {seconds(run.processor)} of processor"
            )


def ours(data: pgm.Dataset, method: str, alpha: float, max_condition: int) -> Run:
    """Return our search, on a data set that remembers nothing."""
    fresh = pgm.Dataset.from_codes(data.variables, [data.codes(name) for name in data.names])
    start, work = time.perf_counter(), time.process_time()
    graph = pc(fresh, alpha=alpha, method=method, max_condition=max_condition, progress=False).cpdag
    return Run(time.perf_counter() - start, time.process_time() - work, graph)


def hybrid(data: pgm.Dataset, alpha: float, max_condition: int) -> Run:
    """Return our max-min hill climbing, on a data set that remembers nothing."""
    fresh = pgm.Dataset.from_codes(data.variables, [data.codes(name) for name in data.names])
    start, work = time.perf_counter(), time.process_time()
    dag = mmhc(fresh, alpha=alpha, max_condition=max_condition, progress=False).dag
    return Run(time.perf_counter() - start, time.process_time() - work, dag.cpdag())


def theirs(python: Path, library: str, path: Path, threads: int, alpha: float, max_condition: int) -> Run:
    """Return a search of a peer, in a process of its own that times itself."""
    command = [str(python), str(HERE / "pc_peer.py"), library, str(path), str(alpha), str(max_condition), str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    names = pgm.networks.load(NETWORK).names
    directed = [(u, v) for u, v in answer["directed"]]
    return Run(answer["seconds"], answer["processor"], as_graph(directed, answer["undirected"], names))


def as_graph(directed: list[tuple[str, str]], undirected: list[list[str]], names: tuple[str, ...]) -> PDAG:
    """Return a learned graph; edges in both directions are undirected, and where arrows form a cycle they are lines.

    A peer's graph need not be that of a class.
    """
    lines = {frozenset(edge) for edge in undirected}
    lines |= {frozenset(edge) for edge in directed if edge[::-1] in directed}
    arrows: list[tuple[str, str]] = []
    for edge in sorted(directed):
        if frozenset(edge) in lines:
            continue
        try:
            PDAG([*arrows, edge], [], names)
        except pgm.GraphError:
            lines.add(frozenset(edge))
        else:
            arrows.append(edge)
    return PDAG(arrows, sorted(tuple(sorted(line)) for line in lines), names)


def show(found: dict[str, list[Run]], truth: pgm.DAG, n_rows: int) -> None:
    """Print the medians."""
    base = statistics.median(run.seconds for run in found["pgm, G2 adjusted"])
    rows = []
    for name, runs in found.items():
        clock = statistics.median(run.seconds for run in runs)
        processor = statistics.median(run.processor for run in runs)
        graph = runs[0].graph
        n_edges = len(graph.directed) + len(graph.undirected)
        fastest = seconds(min(run.seconds for run in runs))
        rows.append(
            (name, seconds(clock), fastest, seconds(processor), ratio(clock, base), n_edges, shd(graph, truth.cpdag()),
             len(runs))
        )  # fmt: skip
    print(f"{n_rows:,} rows of {NETWORK}, which has {len(truth.edges)} edges; medians.\n")
    table(("", "time", "fastest", "processor time", "ratio", "edges", "SHD", "repetitions"), rows)


if __name__ == "__main__":
    main()
