"""The peer's side of weka.py: learns a TAN tree with pgmpy, and prints seconds and edges.

Run under the Python that has the peers: ``tan_peer.py FILE``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings

__all__: list[str] = []


def main() -> None:
    """Learn from a file that is read before the clock starts, and print the answer as JSON on the last line."""
    os.environ["TQDM_DISABLE"] = "1"
    warnings.simplefilter("ignore")
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    frame = pd.read_csv(sys.argv[1])
    start = time.perf_counter()
    graph = TreeSearch(frame, root_node="x0", n_jobs=1).estimate(
        estimator_type="tan", class_node="class", show_progress=False
    )
    spent = time.perf_counter() - start
    print(json.dumps({"seconds": spent, "edges": [list(edge) for edge in graph.edges]}))


if __name__ == "__main__":
    main()
