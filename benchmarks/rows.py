"""Posteriors and likelihoods of whole tables of rows sampled from ALARM, against a loop over the rows with the peers.

Three questions: every unknown cell where each cell is unknown with probability one half; one column that no row knows;
and the likelihood of complete rows. pyAgrum keeps one `LazyPropagation` for all rows, and its evidence is coded
beforehand, outside its time; pgmpy's `predict` gives the most probable state only, and runs once, after the others. The
peers take a part of the rows, since all would take them minutes: times are compared **per row**. The answers to those
rows are compared as well. Our plans are made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import Peer, check_agreement, interleave, option_parser, set_up, timed
from memory import answered_as_child, in_child, measured_alone
from numpy.typing import NDArray
from report import megabytes, ratio, seconds, table
from search import Codes, sample

import pgm

NETWORK = "alarm"
TARGET = "HYPOVOLEMIA"
THREE_TARGETS = (TARGET, "LVFAILURE", "KINKEDTUBE")
UNKNOWN = 0.5
"""Probability that a cell is unknown, where cells are unknown at random."""
ONCE = "pgmpy"
"""The peer that takes many seconds and runs once, after the others."""

FloatArray = NDArray[np.float64]


class Case(NamedTuple):
    """One question to a table of rows, and what each peer is asked of it."""

    title: str
    goal: str
    data: pgm.Dataset
    ours: Callable[[], object]
    values: Callable[[], FloatArray]
    """Our answer as one array, rows first."""
    peers: dict[str, tuple[int, Callable[[int], float]]]
    """For each peer how many rows it takes, and its seconds for a number of threads."""
    answers: dict[str, Path]
    """Where each peer writes what it found."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--repetitions", type=int, default=5, help="of ours and pyAgrum's")
    parser.add_argument("--million", type=int, default=1_000_000, metavar="N", help="rows whose memory is measured")
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    options = parser.parse_args()
    if answered_as_child(options, answer_alone):
        return
    net = pgm.networks.load(NETWORK)
    rng = np.random.default_rng(options.seed)
    with set_up(options) as (peer, directory):
        if peer is not None:
            peer.give(net, directory / "network.bif", "read", "read_with_pgmpy")
        for make in (half_unknown, one_unknown, complete):
            show(make(net, rng, peer, directory), options.repetitions)
        show_memory(net, rng, directory, options.million)


# The rows.


def cells_hidden(net: pgm.BayesianNetwork, codes: Codes, rng: np.random.Generator) -> Codes:
    """Return the codes with each cell unknown with probability one half; an unknown cell has the cardinality."""
    cardinalities = np.array([variable.cardinality for variable in net.variables], np.uint8)
    return np.where(rng.random(codes.shape, np.float32) < UNKNOWN, cardinalities[:, None], codes)


def column_hidden(net: pgm.BayesianNetwork, codes: Codes) -> Codes:
    """Return the codes with the target unknown in every row."""
    codes = codes.copy()
    codes[net.names.index(TARGET)] = net.variable(TARGET).cardinality
    return codes


def dataset(net: pgm.BayesianNetwork, codes: Codes) -> pgm.Dataset:
    """Return the rows as a data set."""
    return pgm.Dataset.from_codes(net.variables, list(codes))


# The questions.


def half_unknown(net: pgm.BayesianNetwork, rng: np.random.Generator, peer: Peer | None, directory: Path) -> Case:
    """Return the question for every unknown cell of rows that know half of theirs."""
    codes = cells_hidden(net, sample(net, 10_000, rng), rng)
    data = dataset(net, codes)
    files = directory / "half.npy", directory / "half-answers.npy"
    np.save(files[0], codes)
    names = [f"x{number}" for number in range(len(net))]

    def values() -> FloatArray:
        return np.concatenate(list(net.posterior(data, net.names, progress=False).values()), axis=1)

    return Case(
        f"{data.n_rows:,} rows, each cell unknown with probability {UNKNOWN}, the posteriors of all unknown cells",
        "at least 300 times as fast as pyAgrum",
        data,
        lambda: net.posterior(data, progress=False),
        values,
        {"pyAgrum": (200, asking(peer, "row_posteriors", files, 200, targets=names))} if peer is not None else {},
        {"pyAgrum": files[1]},
    )


def one_unknown(net: pgm.BayesianNetwork, rng: np.random.Generator, peer: Peer | None, directory: Path) -> Case:
    """Return the question for one column that is unknown in every row."""
    codes = column_hidden(net, sample(net, 100_000, rng))
    data = dataset(net, codes)
    files = directory / "one.npy", directory / "one-answers.npy"
    predicted = directory / "one-predicted.npy"
    np.save(files[0], codes)
    target = f"x{net.names.index(TARGET)}"
    peers = {}
    if peer is not None:
        peers["pyAgrum"] = (2_000, asking(peer, "row_posteriors", files, 2_000, targets=[target]))
        peers["pgmpy"] = (500, asking(peer, "predict", (files[0], predicted), 500, target=target))
    return Case(
        f"{data.n_rows:,} rows, {TARGET} unknown in all of them, its posteriors",
        "less than 2 us a row",
        data,
        lambda: net.posterior(data, TARGET, progress=False),
        lambda: net.posterior(data, TARGET, progress=False),
        peers,
        {"pyAgrum": files[1], "pgmpy": predicted},
    )


def complete(net: pgm.BayesianNetwork, rng: np.random.Generator, peer: Peer | None, directory: Path) -> Case:
    """Return the question for the log-likelihood of complete rows."""
    codes = sample(net, 100_000, rng)
    data = dataset(net, codes)
    files = directory / "complete.npy", directory / "complete-answers.npy"
    np.save(files[0], codes)
    return Case(
        f"{data.n_rows:,} complete rows, the log-likelihood of each",
        "none",
        data,
        lambda: net.log_likelihood(data),
        lambda: net.log_likelihood(data)[:, None],
        {"pyAgrum": (10_000, asking(peer, "row_likelihoods", files, 10_000))} if peer is not None else {},
        {"pyAgrum": files[1]},
    )


def asking(peer: Peer, command: str, files: tuple[Path, Path], n_rows: int, **arguments: Any) -> Callable[[int], float]:
    """Return a run of the peer, which takes the rows of the first file and writes its answers into the second."""
    data, answers = map(str, files)
    return lambda threads: float(
        peer.ask(command, data=data, answers=answers, n_rows=n_rows, threads=threads, **arguments)
    )


# Time.


def show(case: Case, repetitions: int) -> None:
    """Print the times of one question, and how far the answers are apart."""
    case.ours()  # makes the plans
    runs: dict[str, Callable[[], float]] = {"ours": lambda: timed(case.ours)}
    threads: dict[str, int] = {}
    for name, (_, run) in case.peers.items():
        if name == ONCE:
            continue
        trials = {count: run(count) for count in (1, 2)}
        threads[name] = min(trials, key=lambda count: trials[count])
        runs[name] = partial(run, threads[name])
    times = interleave(runs, repetitions)
    if ONCE in case.peers:
        threads[ONCE] = 2
        times[ONCE] = case.peers[ONCE][1](threads[ONCE])
    rows = []
    for name, time in times.items():
        taken = case.peers[name][0] if name in case.peers else case.data.n_rows
        own = times["ours"] / case.data.n_rows
        compared = "-" if name == "ours" else ratio(time / taken, own)
        cells = (name, threads.get(name, "-"), f"{taken:,}", seconds(time), seconds(time / taken), compared)
        rows.append((*cells, difference(case, name)))
    print(f"{case.title} (goal: {case.goal}); repetitions, in turn: {repetitions}.\n")
    table(("", "threads", "rows taken", "time", "per row", "ratio per row", "difference"), rows)


def difference(case: Case, name: str) -> str:
    """Return the largest difference between our answer and a peer's."""
    if name not in case.peers:
        return "-"
    theirs = np.load(case.answers[name])
    ours = case.values()[: len(theirs)]
    if name == "pgmpy":  # it gives states, which must be the most probable ones
        found = float((ours.max(axis=1) - ours[np.arange(len(ours)), theirs]).max())
    else:
        found = float(np.nanmax(abs(ours - theirs)))
    check_agreement(found)
    return f"{found:.0e}"


# Memory.


def answer_alone(task: str, path: str) -> dict[str, float]:
    """Return time and memory of one question in a process that does nothing else."""
    net = pgm.networks.load(NETWORK)
    targets = {"one": (TARGET,), "half": THREE_TARGETS}[task]
    data = dataset(net, np.load(path))
    answer: dict[str, FloatArray] = {}
    found = measured_alone(lambda: answer.update(net.posterior(data, targets, progress=False)))
    return {**found, "output": sum(array.nbytes for array in answer.values()), "rows": data.n_rows}


def show_memory(net: pgm.BayesianNetwork, rng: np.random.Generator, directory: Path, n_rows: int) -> None:
    """Print time and peak memory of very many rows, each question in a process of its own."""
    codes = sample(net, n_rows, rng)
    rows = []
    for task, hidden, title in (
        ("one", column_hidden(net, codes), f"{TARGET} unknown"),
        ("half", cells_hidden(net, codes, rng), f"half of all cells unknown, {len(THREE_TARGETS)} targets"),
    ):
        path = directory / f"memory-{task}.npy"
        np.save(path, hidden)
        found = in_child(__file__, task, path)
        over = found["peak"] - found["output"]
        sizes = map(megabytes, (found["before"], found["output"], found["peak"], over))
        rows.append((title, seconds(found["seconds"]), seconds(found["seconds"] / found["rows"]), *sizes))
    print(f"Ours, {n_rows:,} rows, each in a fresh process (goal: the answer and 500 MB).\n")
    table(("", "time", "per row", "before it", "answer", "peak of the process", "peak less answer"), rows)


if __name__ == "__main__":
    main()
