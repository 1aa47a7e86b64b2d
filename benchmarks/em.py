"""Parameters and structure from rows with missing cells: EM of ours, against pyAgrum's where it has one.

Rows are sampled from ALARM, and cells made missing at random. Ours starts from a `Dataset` in memory, pyAgrum from its
learner, which has read the rows; both have Laplace's rule in the M step. They do not start from the same tables, so
after a few iterations what is compared is the log-likelihood of what the rows know, both worked out by ours. Structural
EM runs on the 5000 rows of learning.test with a tenth of all cells missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Peer, interleave, option_parser, plain_copy, set_up, timed
from report import ratio, seconds, table

import pgm
from pgm.inference.expected_counts import ExpectedCounts
from pgm.inference.row_groups import Table
from pgm.learning.em import fit_em, structural_em

ITERATIONS = 3
LEARNING_TEST = Path(__file__).parent.parent / "tests" / "data" / "tables" / "learning.test.csv.gz"
TRUE_GRAPH = "[A][C][F][B|A][D|A:C][E|B:F]"


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000, help="of the run to convergence")
    parser.add_argument("--seed", type=int, default=20240611)
    options = parser.parse_args()
    net = plain_copy(pgm.networks.load("alarm"))
    with set_up(options) as (peer, directory):
        against_the_peer(net, peer, directory, options.seed, options.repetitions)
        e_steps(net, options.seed, options.repetitions)
        to_convergence(net, options.rows, options.seed)
        acceleration(net, options.seed)
        structure(options.seed)


def against_the_peer(net: pgm.BayesianNetwork, peer: Peer | None, directory: Path, seed: int, repetitions: int) -> None:
    """Print the time of a few iterations on few rows."""
    data = net.sample(500, rng=seed, missing=0.1)
    found: dict[str, float] = {}

    def ours() -> float:
        start = time.perf_counter()
        result = fit_em(net, data.take(slice(None)), pseudocount=1, max_iter=ITERATIONS, tol=None, progress=False)
        spent = time.perf_counter() - start
        found["pgm"] = result.log_likelihood
        return spent

    runs: dict[str, Callable[[], float]] = {"pgm": ours}
    if peer is not None:
        csv, bif = directory / "holes.csv", directory / "alarm.bif"
        data.to_pandas().to_csv(csv, index=False, na_rep="?")
        net.write(bif)
        for threads in (1, 2):
            name = f"pyAgrum, threads: {threads}"
            runs[name] = lambda threads=threads, name=name: theirs(peer, csv, bif, threads, net, data, found, name)
    times = interleave(runs, repetitions)
    print(f"ALARM, {data.n_rows} rows, 10 % of cells missing, {ITERATIONS} iterations (goal: 200 times as fast)\n")
    table(
        ("", "time", "theirs / ours", "log-likelihood"),
        [(name, seconds(spent), ratio(spent, times["pgm"]), f"{found[name]:.3f}") for name, spent in times.items()],
    )


def theirs(
    peer: Peer,
    csv: Path,
    bif: Path,
    threads: int,
    net: pgm.BayesianNetwork,
    data: pgm.Dataset,
    found: dict[str, float],
    name: str,
) -> float:
    """Return pyAgrum's seconds, and put the log-likelihood of its network down."""
    answer: dict[str, Any] = peer.ask("fit_em", csv=str(csv), bif=str(bif), iterations=ITERATIONS, threads=threads)
    cpts = []
    for cpt in net.cpts:
        names, values = answer["tables"][cpt.child.name]
        array = np.asarray(values)
        order = [list(reversed(names)).index(wanted) for wanted in cpt.names]  # its first variable runs fastest
        if array.shape != tuple(reversed([net.variable(other).cardinality for other in names])):
            order = [names.index(wanted) for wanted in cpt.names]
        table_of = array.transpose(order)
        cpts.append(pgm.CPT(cpt.child, table_of / table_of.sum(axis=-1, keepdims=True), cpt.parents))
    found[name] = float(pgm.BayesianNetwork(cpts).log_likelihood(data, progress=False).sum())
    return float(answer["seconds"])


def e_steps(net: pgm.BayesianNetwork, seed: int, repetitions: int) -> None:
    """Print what preparation and one E step cost for each row."""
    rows = []
    number = {name: place for place, name in enumerate(net.names)}
    scopes = [tuple(number[name] for name in cpt.names) for cpt in net.cpts]
    values = [cpt.values for cpt in net.cpts]
    for n_rows, missing in ((20_000, 0.1), (20_000, 0.3), (20_000, 0.5)):
        data = net.sample(n_rows, rng=seed, missing=missing)
        codes = Table({number[name]: data.codes(name) for name in data.names}, n_rows)
        start = time.perf_counter()
        step = ExpectedCounts(net.variables, scopes, codes)
        prepared = time.perf_counter() - start
        (spent,) = interleave({"": lambda step=step: timed(lambda: step.of(values))}, repetitions).values()
        rows.append((f"{n_rows:,}", missing, seconds(prepared / n_rows), seconds(spent / n_rows)))
    print("E step of ALARM (goal: 5 us a row with a tenth missing)\n")
    table(("rows", "missing", "preparation, a row", "E step, a row"), rows)


def to_convergence(net: pgm.BayesianNetwork, n_rows: int, seed: int) -> None:
    """Print the time until the log-likelihood rises by less than 1e-6."""
    data = net.sample(n_rows, rng=seed, missing=0.1)
    rows = []
    for name, option in (("EM", None), ("SQUAREM", "squarem")):
        start = time.perf_counter()
        result = fit_em(net, data, pseudocount=1, tol=1e-6, acceleration=option, progress=False)
        rows.append((name, seconds(time.perf_counter() - start), result.iterations, f"{result.objectives[-1]:.6f}"))
    print(f"ALARM, {n_rows:,} rows, 10 % of cells missing, to convergence 1e-6 (goal: 60 s)\n")
    table(("", "time", "iterations", "objective"), rows)


def acceleration(net: pgm.BayesianNetwork, seed: int) -> None:
    """Print what SQUAREM saves where EM is slow."""
    data = net.sample(2_000, rng=seed, missing=0.5)
    rows = []
    for name, option in (("EM", None), ("SQUAREM", "squarem")):
        start = time.perf_counter()
        result = fit_em(net, data, pseudocount=1, tol=1e-6, acceleration=option, progress=False)
        rows.append((name, seconds(time.perf_counter() - start), result.iterations, f"{result.objectives[-1]:.6f}"))
    print("ALARM, 2,000 rows, half of all cells missing, to convergence 1e-6\n")
    table(("", "time", "iterations", "objective"), rows)


def structure(seed: int) -> None:
    """Print the time of structural EM, and whether it finds the true graph."""
    full = pgm.read_csv(LEARNING_TEST)
    rng = np.random.default_rng(seed)
    codes = [np.where(rng.random(len(full)) < 0.1, v.cardinality, full.codes(v.name)) for v in full.variables]
    data = pgm.Dataset.from_codes(full.variables, codes)
    start = time.perf_counter()
    result = structural_em(data, progress=False)
    spent = time.perf_counter() - start
    found = result.dag.cpdag() == pgm.DAG.from_string(TRUE_GRAPH).cpdag()
    print("Structural EM, learning.test with 10 % of cells missing (goal: 10 s and the true structure)\n")
    table(("time", "searches", "true structure found"), [(seconds(spent), len(result.trace), "yes" if found else "no")])


if __name__ == "__main__":
    main()
