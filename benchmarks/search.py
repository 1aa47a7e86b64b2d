"""Greedy structure search (hill climbing, BIC) on rows sampled from ALARM, against pyAgrum's greedy hill climbing.

The searches start from data in memory: ours from a `Dataset`, pyAgrum's from a `BNLearner` that has read the same rows
from a CSV file with the same declared states. What comes before is timed apart. Both graphs are scored by us. pyAgrum
learns the graph only (`learnDAG`); its `learnBN` also fits tables, and fails on parent states that never occur.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import (
    Peer,
    connect,
    interleave,
    introduce,
    option_parser,
    peer_python,
    plain_copy,
    timed,
    working_directory,
)
from memory import answered_as_child, in_child, measured_alone
from numpy.typing import NDArray
from report import megabytes, ratio, seconds, table

import pgm

NETWORK = "alarm"
MANY_ROWS = 300_000
"""From here on the peer searches once, in minutes."""
PUBLISHED_BNLEARN = {1_000_000: 50.0}
"""Seconds that R's bnlearn is reported to take for a million rows: from the literature, on another machine."""

Codes = NDArray[np.uint8]


class Files(NamedTuple):
    """The same rows as codes, shape (variables, rows), and as CSV; and the network they come from."""

    codes: Path
    csv: Path
    bif: Path


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="of pyAgrum")
    parser.add_argument("--repetitions", type=int, default=0, help="default: 7, 3 or 1, by the number of rows")
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    parser.add_argument("--no-csv", action="store_true", help="leave out our own reading of the CSV file")
    options = parser.parse_args()
    if answered_as_child(options, lambda task, *paths: CHILD_TASKS[task](Files(*map(Path, paths)))):
        return
    net = plain_copy(pgm.networks.load(NETWORK))
    python = peer_python(options.peers)
    with connect(python) as peer:
        introduce(peer)
    for n_rows in options.rows:
        with working_directory() as directory:
            files = write_rows(net, n_rows, options.seed, directory)
            repetitions = options.repetitions or (7 if n_rows < 50_000 else 3 if n_rows < MANY_ROWS else 1)
            print(f"{n_rows:,} rows of {NETWORK}; repetitions, in turn: {repetitions}.\n")
            with connect(python) as peer:
                compare(net, files, peer, options.threads, repetitions)
            show_memory(files, with_csv=not options.no_csv)
            if n_rows in PUBLISHED_BNLEARN:
                published = seconds(PUBLISHED_BNLEARN[n_rows])
                print(f"R's bnlearn, from the literature, another machine, not measured here: {published}\n")


# The rows.


def sample(net: pgm.BayesianNetwork, n_rows: int, rng: np.random.Generator) -> Codes:
    """Return rows drawn from a network, parents first: codes of shape (variables, rows)."""
    columns: dict[str, Codes] = {}
    for name in net.dag.topological_order:
        cpt = net.cpt(name)
        configuration = np.zeros(n_rows, np.intp)
        for parent in cpt.parents:
            configuration = configuration * parent.cardinality + columns[parent.name]
        cumulative = cpt.values.reshape(-1, cpt.child.cardinality).cumsum(axis=1)[:, :-1]
        draws = rng.random(n_rows)
        columns[name] = (draws[:, None] > cumulative[configuration]).sum(axis=1, dtype=np.uint8)
    return np.stack([columns[name] for name in net.names])


def write_rows(net: pgm.BayesianNetwork, n_rows: int, seed: int, directory: Path) -> Files:
    """Return the files of a sample."""
    files = Files(directory / "codes.npy", directory / "rows.csv", directory / "network.bif")
    codes = sample(net, n_rows, np.random.default_rng(seed))
    np.save(files.codes, codes)
    net.write(files.bif)
    cells = np.empty((n_rows, len(net), len(b"s0,")), np.uint8)  # every cell is one letter, one digit, one comma
    cells[:, :, 0] = ord("s")
    cells[:, :, 1] = codes.T + ord("0")
    cells[:, :, 2] = ord(",")
    cells[:, -1, 2] = ord("\n")
    with files.csv.open("wb") as file:
        file.write(",".join(net.names).encode() + b"\n")
        file.write(cells.tobytes())
    return files


def load_columns(files: Files) -> tuple[dict[str, Codes], dict[str, range]]:
    """Return the rows as a user has them in arrays: a dict of integer columns, and the states of each."""
    net = pgm.read(files.bif)
    columns = dict(zip(net.names, np.load(files.codes), strict=True))
    return columns, {variable.name: range(variable.cardinality) for variable in net.variables}


# Time.


def compare(net: pgm.BayesianNetwork, files: Files, peer: Peer | None, threads: list[int], repetitions: int) -> None:
    """Print the times and scores of both searches."""
    columns, states = load_columns(files)
    data = pgm.Dataset(columns, states=states)
    pgm.hill_climb(data.head(100))  # imports what it needs
    found: dict[str, list[tuple[str, str]]] = {}
    reading: dict[str, list[float]] = {"ours": []}

    def ours() -> float:
        start = time.perf_counter()
        fresh = pgm.Dataset(columns, states=states)  # anew: a data set remembers what it has counted
        reading["ours"].append(time.perf_counter() - start)
        return timed(lambda: found.update(ours=list(pgm.hill_climb(fresh, "bic").dag.edges)))

    runs: dict[str, Callable[[], float]] = {"ours": ours}
    for count in threads if peer is not None else ():
        runs[f"pyAgrum, threads: {count}"] = peer_run(peer, files, count, found, reading)
    medians = interleave(runs, repetitions)
    rows = []
    for name, median in medians.items():
        dag = pgm.DAG(found[name], nodes=net.names)
        value = pgm.score(dag, data, "bic")
        before = float(np.median(reading[name]))
        compared = "-" if name == "ours" else ratio(median, medians["ours"])
        rows.append((name, seconds(before), seconds(median), compared, len(dag.edges), f"{value:,.2f}"))
    table(("", "data to memory", "search", "ratio", "edges", "BIC"), rows)
    if peer is not None:
        best = min(median for name, median in medians.items() if name != "ours")
        memory = megabytes(peer.ask("memory"))
        print(f"pyAgrum at its better / ours: {ratio(best, medians['ours'])}; peak memory of its process: {memory}\n")


def peer_run(
    peer: Peer | None,
    files: Files,
    threads: int,
    found: dict[str, list[tuple[str, str]]],
    reading: dict[str, list[float]],
) -> Callable[[], float]:
    """Return a search of the peer, which notes what it found and how long it read."""
    name = f"pyAgrum, threads: {threads}"
    reading[name] = []

    def run() -> float:
        assert peer is not None
        reading[name].append(peer.ask("read_data", csv=str(files.csv), bif=str(files.bif), threads=threads))
        answer = peer.ask("hill_climb")
        found[name] = [(parent, child) for parent, child in answer["edges"]]
        return float(answer["seconds"])

    return run


# Memory.


def search_alone(files: Files) -> dict[str, Any]:
    """Return time and memory of the search in a process that does nothing else."""
    columns, states = load_columns(files)
    data = pgm.Dataset(columns, states=states)
    return {"what": "arrays, Dataset, hill_climb", **measured_alone(lambda: pgm.hill_climb(data, "bic"))}


def read_alone(files: Files) -> dict[str, Any]:
    """Return time and memory of our reading of the CSV file."""
    return {"what": "read_csv", **measured_alone(lambda: pgm.read_csv(files.csv))}


def read_with_pandas(files: Files) -> dict[str, Any]:
    """Return time and memory of reading the CSV file with pandas, as categories, and making a data set of it."""
    import pandas as pd

    found = measured_alone(lambda: pgm.Dataset(pd.read_csv(files.csv, dtype="category")))
    return {"what": "pandas.read_csv, Dataset", **found}


CHILD_TASKS: dict[str, Callable[[Files], dict[str, Any]]] = {
    "search": search_alone,
    "read": read_alone,
    "pandas": read_with_pandas,
}


def show_memory(files: Files, with_csv: bool) -> None:
    """Print our peak memory, each task in a process of its own."""
    tasks = ["search", "read"] if with_csv else ["search"]
    if with_csv and find_spec("pandas") is not None:
        tasks.append("pandas")
    measured = [in_child(__file__, task, *files) for task in tasks]
    table(
        ("ours, in a fresh process", "time", "peak memory of the process", "before"),
        [
            (found["what"], seconds(found["seconds"]), megabytes(found["peak"]), megabytes(found["before"]))
            for found in measured
        ],
    )


if __name__ == "__main__":
    main()
