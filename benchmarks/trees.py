"""Statistics of all pairs of variables, and trees made of them, on rows sampled from ALARM.

Each repetition starts from a new data set, since a data set remembers what it has counted; collapsing equal rows is
therefore in every time. networkx makes the same tree of the same weights, to see whether the totals agree.
"""

from __future__ import annotations

import math

import networkx
import numpy as np
from harness import interleave, introduce, option_parser, repetitions_within, timed
from report import seconds, table

import pgm
from pgm.learning.independence.mutual_information import mutual_information_matrix
from pgm.learning.trees import chow_liu, tree_augmented

BUDGET = 5.0
"""Seconds for the repetitions of one number of rows."""
GOAL = 2.0
"""Seconds for the pairs of a million rows of ALARM."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=["alarm"])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--seed", type=int, default=20240611, help="of the sampled rows")
    options = parser.parse_args()
    introduce(None)
    rows = [line for name in options.networks for line in measure(name, options.rows, options.seed)]
    header = ("network", "variables", "rows", "all pairs", "Chow-Liu", "BIC forest", "TAN", "repetitions")
    table(header, rows)
    print(f"goal: all pairs of 1,000,000 rows of alarm within {seconds(GOAL)}")


def measure(name: str, sizes: list[int], seed: int) -> list[tuple[object, ...]]:
    """Return a line for each number of rows, the last with the exponents of growth."""
    net = pgm.networks.load(name)
    lines: list[tuple[object, ...]] = []
    times: list[dict[str, float]] = []
    for size in sizes:
        data = net.sample(size, rng=seed)
        target = data.names[0]
        tasks = {
            "pairs": mutual_information_matrix,
            "tree": chow_liu,
            "forest": lambda fresh: chow_liu(fresh, score="bic"),
            "tan": lambda fresh, target=target: tree_augmented(fresh, target),
        }
        check(data)
        runs = {what: (lambda task=task, data=data: timed_afresh(task, data)) for what, task in tasks.items()}
        repetitions = repetitions_within(BUDGET / len(tasks), runs["pairs"]())
        times.append(interleave(runs, repetitions))
        lines.append((name, len(net), f"{size:,}", *map(seconds, times[-1].values()), repetitions))
    if len(sizes) > 1:
        span = math.log(sizes[-1] / sizes[0])
        growth = [f"{math.log(times[-1][what] / times[0][what]) / span:.2f}" for what in times[0]]
        lines.append((name, len(net), "exponent", *growth, ""))
    return lines


def timed_afresh(task: object, data: pgm.Dataset) -> float:
    """Return the seconds that a task takes on a data set that remembers nothing."""
    fresh = pgm.Dataset.from_codes(data.variables, [data.codes(name) for name in data.names])
    assert callable(task)
    return timed(lambda: task(fresh))


def check(data: pgm.Dataset) -> None:
    """Print a warning if networkx finds a better tree."""
    weights = mutual_information_matrix(data)
    graph = networkx.from_numpy_array(np.maximum(weights, 1e-300))
    best = networkx.maximum_spanning_tree(graph).size("weight") - sum(
        weights[loop] for loop in networkx.selfloop_edges(networkx.maximum_spanning_tree(graph))
    )
    ours = sum(weights[data.names.index(u), data.names.index(v)] for u, v in chow_liu(data).edges)
    if not math.isclose(ours, best, rel_tol=1e-9):
        print(f"WARNING: our tree has {ours} nats, networkx's {best}")


if __name__ == "__main__":
    main()
