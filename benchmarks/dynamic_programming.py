"""The optimal graph of 20 variables and 5,000 rows by dynamic programming, without a limit on parents: time and memory.

Three data sets: the first columns of samples of ALARM and INSURANCE, and independent fair coins, the worst case since
no two rows are equal and hardly any subset of the columns tells all rows apart. Each job has a process of its own.
Processor time is listed beside the time by the clock, because on a busy machine the two differ.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from harness import introduce, option_parser
from memory import answered_as_child, in_child, peak_memory
from report import megabytes, seconds, table

import pgm
from pgm.learning.exact.all_subsets import all_local_scores
from pgm.learning.exact.dynamic_programming import best_dag
from pgm.learning.scores.family_scores import FamilyScores

DATA = ("alarm", "insurance", "coins")
SCORES = ("bic", "bdeu")
GOAL = "60 s, 4 GB"


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=DATA)
    parser.add_argument("--variables", type=int, nargs="+", default=[16, 18, 20], metavar="N")
    parser.add_argument("--rows", type=int, default=5_000, metavar="N")
    parser.add_argument("--scores", nargs="+", default=SCORES, metavar="NAME")
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    options = parser.parse_args()
    if answered_as_child(options, measured):
        return
    introduce(None)
    rows = []
    for name in options.networks:
        for score in options.scores:
            for n in options.variables:
                job = in_child(__file__, name, score, n, options.rows, options.seed)
                rows.append(
                    (
                        name, score, n, f"{job['score']:.3f}", seconds(job["counting"]), seconds(job["searching"]),
                        seconds(job["processor"]), megabytes(job["peak"]), megabytes(job["before"]),
                    )
                )  # fmt: skip
    header = (
        "data", "score", "variables", "optimum", "scores of all families", "dynamic program", "processor, both",
        "peak memory", "before",
    )  # fmt: skip
    table(header, rows)
    print(f"goal for 20 variables and 5,000 rows: {GOAL}")


def measured(name: str, score: str, n_variables: str, n_rows: str, seed: str) -> dict[str, Any]:
    """Return the times and the peak memory of one job."""
    data = columns(name, int(n_variables), int(n_rows), int(seed))
    scores = FamilyScores(data, score)
    scores.family(0, [])  # imports what it needs
    before = peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    local = all_local_scores(scores, pgm.learning.Constraints(data.names))
    counted = time.perf_counter()
    best = best_dag(local, overwrite=True)
    done = time.perf_counter()
    return {
        "score": best.score,
        "counting": counted - start,
        "searching": done - counted,
        "processor": time.process_time() - processor,
        "before": before,
        "peak": peak_memory(),
    }


def columns(name: str, n_variables: int, n_rows: int, seed: int) -> pgm.Dataset:
    """Return the first columns of a sample."""
    if name == "coins":
        coins = np.random.default_rng(seed).integers(0, 2, (n_rows, n_variables))
        return pgm.Dataset(coins, names=[f"coin {number}" for number in range(n_variables)])
    data = pgm.networks.load(name).sample(n_rows, rng=seed)
    return data.select(data.names[:n_variables])


if __name__ == "__main__":
    main()
