"""The tables of a given graph, from rows sampled from a network, with Laplace's rule: ours, pyAgrum's and pgmpy's.

All start from data in memory: ours from a `Dataset` that has counted nothing yet, so that collapsing equal rows is in
every time; pyAgrum from its learner, with one and with two threads; pgmpy from a frame of categoricals. For ours and
pyAgrum's there is also the time with reading the rows from a CSV file. The tables of all are compared, value by value.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from harness import Peer, PeerError, check_agreement, interleave, option_parser, plain_copy, set_up, timed
from report import ratio, seconds, table

import pgm

GOAL = 10
"""How many times as fast we want to be as the fastest peer."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--jobs", nargs="+", default=["alarm:1000000", "munin:1000"], metavar="NETWORK:ROWS")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--pgmpy-repetitions", type=int, default=1, help="it takes long; 0 leaves it out")
    options = parser.parse_args()
    with set_up(options) as (peer, directory):
        rows = []
        for job in options.jobs:
            name, _, n_rows = job.partition(":")
            rows += compare(name, int(n_rows), peer, directory, options.repetitions, options.pgmpy_repetitions)
    table(("network", "rows", "library", "time", "theirs / ours", "with reading", "theirs / ours"), rows)
    print(f"goal: {GOAL} times as fast as the fastest peer")


def compare(
    name: str, n_rows: int, peer: Peer | None, directory: Path, repetitions: int, pgmpy_repetitions: int
) -> list[tuple[object, ...]]:
    """Return a line for each library."""
    net = plain_copy(pgm.networks.load(name))
    data = net.sample(n_rows, rng=20240611)
    fitted = pgm.fit_parameters(net, data, pseudocount=1)
    runs: dict[str, Callable[[], float]] = {"pgm": lambda: ours(net, data)}
    csv, bif = directory / "rows.csv", directory / "net.bif"
    data.to_pandas().to_csv(csv, index=False)
    reading = {"pgm": [timed(lambda: pgm.read_csv(csv, states=states_of(net)))]}
    if peer is not None:
        net.write(bif)
        for threads in (1, 2):
            title = f"pyAgrum, threads: {threads}"
            spent = reading[title] = []
            runs[title] = lambda threads=threads, spent=spent: with_pyagrum(peer, csv, bif, threads, fitted, spent)
    medians = interleave(runs, repetitions)
    if peer is not None and pgmpy_repetitions:
        try:
            medians |= interleave({"pgmpy": lambda: with_pgmpy(peer, csv, net, fitted)}, pgmpy_repetitions)
        except PeerError as error:
            print(f"pgmpy, {name}: {error}")
    whole = {title: time + median(reading[title]) for title, time in medians.items() if title in reading}
    return [
        (
            name,
            f"{n_rows:,}",
            title,
            seconds(time),
            "-" if title == "pgm" else ratio(time, medians["pgm"]),
            seconds(whole.get(title)),
            "-" if title == "pgm" else ratio(whole.get(title), whole["pgm"]),
        )
        for title, time in medians.items()
    ]


def states_of(net: pgm.BayesianNetwork) -> dict[str, list[object]]:
    """Return the states of each variable."""
    return {variable.name: list(variable.states) for variable in net.variables}


def ours(net: pgm.BayesianNetwork, data: pgm.Dataset) -> float:
    """Return our time on fresh data."""
    fresh = pgm.Dataset.from_codes(data.variables, [data.codes(column) for column in data.names])
    return timed(lambda: pgm.fit_parameters(net.dag, fresh, pseudocount=1))


def with_pyagrum(
    peer: Peer, csv: Path, bif: Path, threads: int, fitted: pgm.BayesianNetwork, reading: list[float]
) -> float:
    """Return pyAgrum's time, that of reading the rows being noted apart."""
    reading.append(peer.ask("read_data", csv=str(csv), bif=str(bif), threads=threads))
    answer = peer.ask("fit", bif=str(bif))
    check_agreement(difference(answer["tables"], fitted))
    return float(answer["seconds"])


def with_pgmpy(peer: Peer, csv: Path, net: pgm.BayesianNetwork, fitted: pgm.BayesianNetwork) -> float:
    """Return pgmpy's time, without reading the rows."""
    answer = peer.ask("fit_with_pgmpy", csv=str(csv), states=states_of(net), edges=net.dag.edges)
    check_agreement(difference(answer["tables"], fitted))
    return float(answer["seconds"])


def difference(tables: dict[str, list[float]], fitted: pgm.BayesianNetwork) -> float:
    """Return the largest difference between two networks' sorted values: the order of axes is each library's own."""
    return max(
        float(np.abs(np.sort(tables[cpt.child.name]) - np.sort(cpt.values, axis=None)).max()) for cpt in fitted.cpts
    )


if __name__ == "__main__":
    main()
