"""The peer's side: runs under the Python that has pyAgrum, reads one JSON command a line, answers one JSON line.

Every command times itself, so that neither the pipe nor JSON is in any number.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyagrum as gum

__all__: list[str] = []

Evidence = dict[str, int]


def peak_memory() -> int | None:
    """Return the most bytes this process has held, where Linux tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


class Worker:
    """The commands, and what they leave for the next: one network, one engine, one learner."""

    bn: Any = None
    engine: Any = None
    learner: Any = None

    def versions(self) -> dict[str, str]:
        """Return the versions of the peer libraries."""
        found = {"Python": sys.version.split()[0]}
        for package in ("pyagrum", "pgmpy"):
            try:
                found[package] = version(package)
            except ImportError:
                continue
        return found

    def memory(self) -> int | None:
        """Return the peak memory of this process."""
        return peak_memory()

    def read(self, path: str) -> float:
        """Read a BIF file."""
        start = time.perf_counter()
        self.bn = gum.loadBN(path)
        return time.perf_counter() - start

    def marginals(self, evidence: Evidence, threads: int) -> float:
        """Make an engine, enter the evidence, ask every marginal."""
        asked = [node for node in self.bn.nodes() if self.bn.variable(node).name() not in evidence]
        start = time.perf_counter()
        engine = gum.LazyPropagation(self.bn)
        engine.setNumberOfThreads(threads)
        engine.setEvidence(evidence)
        engine.makeInference()
        for node in asked:
            engine.posterior(node)
        spent = time.perf_counter() - start
        self.engine = engine
        return spent

    def again(self, evidence: Evidence) -> float:
        """Change the values of the evidence in the engine there is, ask every marginal."""
        asked = [node for node in self.bn.nodes() if self.bn.variable(node).name() not in evidence]
        start = time.perf_counter()
        for name, state in evidence.items():
            self.engine.chgEvidence(name, state)
        self.engine.makeInference()
        for node in asked:
            self.engine.posterior(node)
        return time.perf_counter() - start

    def answers(self) -> dict[str, list[float]]:
        """Return the marginals of the engine there is."""
        return {
            self.bn.variable(node).name(): self.engine.posterior(node).toarray().tolist() for node in self.bn.nodes()
        }

    def read_data(self, csv: str, bif: str, threads: int) -> float:
        """Make a learner that reads a CSV file, the states being those of a network."""
        template = gum.loadBN(bif)
        start = time.perf_counter()
        self.learner = gum.BNLearner(csv, template)
        spent = time.perf_counter() - start
        self.learner.useGreedyHillClimbing()
        self.learner.useScoreBIC()
        self.learner.useNoPrior()
        self.learner.setNumberOfThreads(threads)
        return spent

    def hill_climb(self) -> dict[str, Any]:
        """Learn a graph with the learner there is; no tables are fitted."""
        start = time.perf_counter()
        dag = self.learner.learnDAG()
        spent = time.perf_counter() - start
        names = self.learner.names()
        return {"seconds": spent, "edges": [[names[parent], names[child]] for parent, child in dag.arcs()]}


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the library prints must not get between the answers
    worker = Worker()
    for line in sys.stdin:
        command, arguments = json.loads(line)
        try:
            reply = {"answer": getattr(worker, command)(**arguments)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
