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

import numpy as np
import pyagrum as gum

__all__: list[str] = []

Evidence = dict[str, int]


def peak_memory() -> int | None:
    """Return the most bytes this process has held, where Linux tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


def coded_rows(bn: Any, data: str, n_rows: int) -> tuple[int, list[Evidence]]:
    """Return how many rows a file has, at most those wanted, and the known cells of each.

    The file has codes of shape (variables, rows), the variables being x0, x1, ...; a missing cell has the cardinality.
    """
    codes = np.load(data)[:, :n_rows]
    cardinalities = [bn.variable(f"x{number}").domainSize() for number in range(len(codes))]
    known = [
        {f"x{number}": code for number, code in enumerate(row) if code < cardinalities[number]}
        for row in codes.T.tolist()
    ]
    return len(known), known


class Worker:
    """The commands, and what they leave for the next: one network, one engine, one learner, one pgmpy model."""

    bn: Any = None
    engine: Any = None
    learner: Any = None
    model: Any = None

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

    def row_posteriors(self, data: str, answers: str, n_rows: int, threads: int, targets: list[str]) -> float:
        """Ask the posteriors of the targets that each row leaves unknown, one row after another, and write them.

        The answers have one line a row, the states of the targets one after another; a known cell is left as NaN.
        """
        rows, known = coded_rows(self.bn, data, n_rows)
        hidden = [[name for name in targets if name not in evidence] for evidence in known]
        found: list[list[Any]] = []
        start = time.perf_counter()
        engine = gum.LazyPropagation(self.bn)
        engine.setNumberOfThreads(threads)
        engine.setTargets(set(targets))
        for number, (evidence, asked) in enumerate(zip(known, hidden, strict=True)):
            if number and evidence.keys() == known[number - 1].keys():
                engine.updateEvidence(evidence)  # of the ways to enter it the fastest
            else:
                engine.setEvidence(evidence)
            engine.makeInference()
            found.append([engine.posterior(name) for name in asked])
        spent = time.perf_counter() - start
        table = [np.full((rows, self.bn.variable(name).domainSize()), np.nan) for name in targets]
        for row, (asked, factors) in enumerate(zip(hidden, found, strict=True)):
            for name, factor in zip(asked, factors, strict=True):
                table[targets.index(name)][row] = factor.toarray()
        np.save(answers, np.concatenate(table, axis=1))
        return spent

    def row_likelihoods(self, data: str, answers: str, n_rows: int, threads: int) -> float:
        """Ask the log-likelihood of complete rows, one after another, and write them; there is nothing to thread."""
        del threads
        rows, known = coded_rows(self.bn, data, n_rows)
        found = np.empty((rows, 1))
        start = time.perf_counter()
        row = gum.Instantiation()
        for name in self.bn.names():
            row.add(self.bn.variable(name))
        for number, evidence in enumerate(known):
            row.fromdict(evidence)
            found[number] = self.bn.log2JointProbability(row)
        spent = time.perf_counter() - start
        np.save(answers, found * np.log(2))
        return spent

    def query(self, target: str, evidence: Evidence, threads: int, times: int) -> float:
        """Make an engine with one target, enter the evidence, ask the target; some times, and return the mean."""
        start = time.perf_counter()
        for _ in range(times):
            engine = gum.LazyPropagation(self.bn)
            engine.setNumberOfThreads(threads)
            engine.setTargets({target})
            engine.setEvidence(evidence)
            engine.makeInference()
            engine.posterior(target)
        spent = time.perf_counter() - start
        self.engine = engine
        return spent / times

    def query_again(self, target: str, evidences: list[Evidence], times: int) -> float:
        """Change the values of the evidence in the engine there is, in turn, and ask the target; return the mean."""
        start = time.perf_counter()
        for number in range(times):
            for name, state in evidences[number % len(evidences)].items():
                self.engine.chgEvidence(name, state)
            self.engine.makeInference()
            self.engine.posterior(target)
        return (time.perf_counter() - start) / times

    def posterior(self, target: str) -> list[float]:
        """Return the posterior of one target of the engine there is."""
        return list(self.engine.posterior(target).toarray().tolist())

    def explain(self, evidence: Evidence, threads: int) -> dict[str, float]:
        """Make an engine, enter the evidence, ask the most probable explanation."""
        start = time.perf_counter()
        engine = gum.LazyPropagation(self.bn)
        engine.setNumberOfThreads(threads)
        engine.setEvidence(evidence)
        engine.mpe()
        spent = time.perf_counter() - start
        return {"seconds": spent, "log_probability": engine.mpeLog2Posterior()[1] * np.log(2)}

    def read_with_pgmpy(self, path: str) -> float:
        """Read a BIF file, with pgmpy."""
        from pgmpy.readwrite import BIFReader  # takes seconds

        start = time.perf_counter()
        self.model = BIFReader(path).get_model()
        return time.perf_counter() - start

    def query_with_pgmpy(self, target: str, evidence: Evidence) -> dict[str, Any]:
        """Ask one target by variable elimination, with pgmpy."""
        from pgmpy.inference import VariableElimination

        labels = {name: f"s{code}" for name, code in evidence.items()}
        engine = VariableElimination(self.model)
        start = time.perf_counter()
        factor = engine.query([target], labels, show_progress=False)
        spent = time.perf_counter() - start
        states = factor.state_names[target]
        values = dict(zip(states, factor.values.tolist(), strict=True))
        return {"seconds": spent, "values": [values[f"s{code}"] for code in range(len(states))]}

    def predict(self, data: str, answers: str, n_rows: int, threads: int, target: str) -> float:
        """Predict one column of rows that know all others, with pgmpy, and write its codes."""
        import pandas as pd

        _, known = coded_rows(self.bn, data, n_rows)
        frame = pd.DataFrame([{name: f"s{code}" for name, code in evidence.items()} for evidence in known])
        start = time.perf_counter()
        predicted = self.model.predict(frame, n_jobs=threads)
        spent = time.perf_counter() - start
        np.save(answers, np.array([int(label[1:]) for label in predicted[target]]))
        return spent

    def read_data(self, csv: str, bif: str, threads: int, method: str = "greedy") -> float:
        """Make a learner, greedy or with a tabu list, that reads a CSV file; the states are those of a network."""
        template = gum.loadBN(bif)
        start = time.perf_counter()
        self.learner = gum.BNLearner(csv, template)
        spent = time.perf_counter() - start
        if method == "tabu":
            self.learner.useLocalSearchWithTabuList()
        else:
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

    def fit(self, bif: str) -> dict[str, Any]:
        """Learn the tables of a network's graph with the learner there is and Laplace's rule; one list a table."""
        template = gum.loadBN(bif)
        self.learner.useSmoothingPrior(1)
        start = time.perf_counter()
        bn = self.learner.learnParameters(template.dag(), False)
        spent = time.perf_counter() - start
        return {"seconds": spent, "tables": {name: bn.cpt(name).toarray().ravel().tolist() for name in bn.names()}}

    def fit_with_pgmpy(self, csv: str, states: dict[str, list[str]], edges: list[list[str]]) -> dict[str, Any]:
        """Learn the tables of a graph with pgmpy and Laplace's rule; the frame is read before."""
        import pandas as pd
        from pgmpy.models import DiscreteBayesianNetwork
        from pgmpy.parameter_estimator import DiscreteBayesianEstimator

        frame = pd.read_csv(csv, dtype="category")
        model = DiscreteBayesianNetwork([tuple(edge) for edge in edges])
        model.add_nodes_from(list(states))
        estimator = DiscreteBayesianEstimator(state_names=states, prior_type="K2")
        start = time.perf_counter()
        fitted = model.fit(frame, estimator=estimator)
        spent = time.perf_counter() - start
        return {"seconds": spent, "tables": {cpd.variable: cpd.values.ravel().tolist() for cpd in fitted.get_cpds()}}

    def fit_em(self, csv: str, bif: str, iterations: int, threads: int) -> dict[str, Any]:
        """Learn the tables of a network's graph from rows with holes ("?"), by so many iterations of EM."""
        template = gum.loadBN(bif)
        learner = gum.BNLearner(csv, template, ["?"])
        learner.useSmoothingPrior(1)
        learner.useEM(1e-12, 0.0)
        learner.EMsetMaxIter(iterations)
        learner.setNumberOfThreads(threads)
        start = time.perf_counter()
        bn = learner.learnParameters(template.dag(), False)
        spent = time.perf_counter() - start
        tables = {name: [list(bn.cpt(name).names), bn.cpt(name).toarray().tolist()] for name in bn.names()}
        return {"seconds": spent, "iterations": learner.EMnbrIterations(), "tables": tables}

    def sample(self, rows: int, evidence: Evidence) -> dict[str, Any]:
        """Draw rows with pyAgrum, which throws away those that do not agree with the evidence."""
        start = time.perf_counter()
        generator = gum.BNDatabaseGenerator(self.bn)
        if evidence:
            generator.drawSamples(rows, evidence)
        else:
            generator.drawSamples(rows)
        spent = time.perf_counter() - start
        return {"seconds": spent, "rows": generator.samplesNbRows()}

    def sample_with_pgmpy(self, rows: int, evidence: dict[str, str]) -> dict[str, Any]:
        """Draw rows with pgmpy, which throws away those that do not agree with the evidence."""
        start = time.perf_counter()
        frame = self.model.simulate(rows, evidence=evidence or None, show_progress=False)
        return {"seconds": time.perf_counter() - start, "rows": len(frame)}


def main() -> None:
    """Answer until the input ends."""
    os.environ["TQDM_DISABLE"] = "1"  # no progress bars in the times of pgmpy
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
