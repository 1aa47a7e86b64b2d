"""The peers' side of constraint_based.py: learns once with the PC of pyAgrum or pgmpy, and prints seconds and edges.

Run under the Python that has the peers: ``pc_peer.py LIBRARY FILE ALPHA MAX_CONDITION THREADS``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

__all__: list[str] = []


def with_pyagrum(path: str, alpha: float, max_condition: int, threads: int) -> dict[str, Any]:
    """Learn with pyAgrum (PC-stable, G2) from a file that is read before the clock starts."""
    import pyagrum as gum

    learner = gum.BNLearner(path)
    learner.setNumberOfThreads(threads)
    learner.usePC()
    learner.useG2Test()
    learner.setPCAlpha(alpha)
    learner.setPCMaxCondSetSize(max_condition)
    start, work = time.perf_counter(), time.process_time()
    graph = learner.learnPDAG()
    spent, work = time.perf_counter() - start, time.process_time() - work
    names = learner.names()
    return {
        "seconds": spent,
        "processor": work,
        "directed": [[names[u], names[v]] for u, v in graph.arcs()],
        "undirected": [[names[u], names[v]] for u, v in graph.edges()],
    }


def with_pgmpy(path: str, alpha: float, max_condition: int, threads: int) -> dict[str, Any]:
    """Learn with pgmpy (PC-stable, G2) from a frame in memory."""
    import pandas as pd
    from pgmpy.estimators import PC

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    start, work = time.perf_counter(), time.process_time()
    graph = PC(frame).estimate(
        variant="stable", ci_test="g_sq", significance_level=alpha, max_cond_vars=max_condition, n_jobs=threads,
        show_progress=False,
    )  # fmt: skip
    spent, work = time.perf_counter() - start, time.process_time() - work
    return {
        "seconds": spent,
        "processor": work,
        "directed": [list(edge) for edge in graph.directed_edges],
        "undirected": [list(edge) for edge in graph.undirected_edges],
    }


def main() -> None:
    """Learn, and print the answer as JSON on the last line."""
    os.environ["TQDM_DISABLE"] = "1"
    warnings.simplefilter("ignore")
    library, path, alpha, max_condition, threads = sys.argv[1:]
    learn = {"pyagrum": with_pyagrum, "pgmpy": with_pgmpy}[library]
    print(json.dumps(learn(path, float(alpha), int(max_condition), int(threads))))


if __name__ == "__main__":
    main()
