"""Drawing rows from ALARM, against pyAgrum's BNDatabaseGenerator and pgmpy's simulate.

Twice: from the joint distribution, and given three observations of probability 0.005. Ours is exact in both; the peers
draw from the joint distribution and throw away what does not agree. pgmpy draws a tenth of the rows (``--pgmpy-rows``)
and is compared with ours on as many; no time is scaled up. pyAgrum's time is without turning its table into a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harness import Peer, PeerError, interleave, option_parser, set_up, timed
from memory import answered_as_child, in_child, measured_alone
from report import megabytes, ratio, seconds, table

import pgm
from pgm.factors.variable import Label
from pgm.inference.exact import ExactInference
from pgm.inference.sampling import sample

REPETITIONS = 3
EVIDENCE: dict[str, Label] = {"HRBP": "HIGH", "CVP": "LOW", "PAP": "HIGH"}
EVIDENCE_ROWS = 100
"""One row is drawn given evidence for so many without: the peers reject all but one in 200."""


class Row(NamedTuple):
    """One number of rows, against one peer."""

    what: str
    n_rows: int
    ours: float
    peer: str
    theirs: float | None

    def cells(self) -> list[str]:
        """Return the row as printed."""
        theirs = seconds(self.theirs)
        return [self.what, f"{self.n_rows:,}", self.peer, seconds(self.ours), theirs, ratio(self.theirs, self.ours)]


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pgmpy-rows", type=int, default=100_000)
    options = parser.parse_args()
    if answered_as_child(options, measure_alone):
        return
    net = pgm.networks.load("alarm")
    with set_up(options) as (peer, directory):
        file = directory / "alarm.bif"
        rows = []
        for evidence in ({}, EVIDENCE):
            share = EVIDENCE_ROWS if evidence else 1
            rows += measure(net, evidence, "pyAgrum", options.rows // share, peer, file)
            rows += measure(net, evidence, "pgmpy", options.pgmpy_rows // share, peer, file)
        table(("rows from ALARM", "rows", "peer", "ours", "theirs", "ratio"), [row.cells() for row in rows])
    found = in_child(__file__, options.rows)
    print(
        f"{options.rows:,} rows in a fresh process: {seconds(found['seconds'])}, peak memory {megabytes(found['peak'])}"
    )
    print(f"({megabytes(found['before'])} before)")


def measure(
    net: pgm.BayesianNetwork, evidence: dict[str, Label], name: str, n_rows: int, peer: Peer | None, file: Path
) -> list[Row]:
    """Return the medians of drawing that many rows, in turn."""
    engine = ExactInference(net.cpts)
    runs: dict[str, Callable[[], float]] = {"ours": lambda: timed(lambda: sample(engine, n_rows, 0, evidence=evidence))}
    if peer is not None:
        codes = {f"x{net.names.index(n)}": net.variable(n).code(label) for n, label in evidence.items()}
        if name == "pyAgrum":
            peer.give(net, file)
            runs["theirs"] = lambda: drawn(peer.ask("sample", rows=n_rows, evidence=codes), n_rows)
        else:
            labels = {variable: f"s{code}" for variable, code in codes.items()}
            try:
                peer.give(net, file, "read_with_pgmpy")
            except PeerError as error:
                print(f"pgmpy: {error}\n")
            else:
                runs["theirs"] = lambda: drawn(peer.ask("sample_with_pgmpy", rows=n_rows, evidence=labels), n_rows)
    medians = interleave(runs, REPETITIONS)
    what = f"given {len(evidence)} observations" if evidence else "joint distribution"
    return [Row(what, n_rows, medians["ours"], name, medians.get("theirs"))]


def drawn(answer: dict[str, float], n_rows: int) -> float:
    """Return the seconds that the peer took, once it is sure that it drew all rows."""
    if answer["rows"] != n_rows:
        print(f"WARNING: the peer drew {answer['rows']} of {n_rows} rows")
    return float(answer["seconds"])


def measure_alone(n_rows: str) -> dict[str, float]:
    """Return time and memory of drawing rows in a process that does nothing else."""
    engine = ExactInference(pgm.networks.load("alarm").cpts)
    sample(engine, 1, 0)
    return measured_alone(lambda: sample(engine, int(n_rows), 0))


if __name__ == "__main__":
    main()
