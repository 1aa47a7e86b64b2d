"""AODE and TAN against Weka, and the tree of TAN against pgmpy, on random categories.

Ours is timed in this process, on rows in memory. Weka is a whole process less one that reads the same files with ZeroR,
so that neither the start of the virtual machine nor the reading of ARFF files is in its figures. Both numbers of rows
that are classified rightly must be the same for AODE.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from classifiers import CLASSES, STATES, draw
from harness import HERE, interleave, introduce, option_parser, peer_python, timed, working_directory
from memory import answered_as_child, in_child, measured_alone
from report import megabytes, ratio, seconds, table

from pgm import AODEClassifier, TANClassifier

JARS = ("/usr/share/java/weka.jar", "/usr/local/share/java/weka.jar")
"""Where packages put Weka."""

AODE = ("weka.classifiers.bayes.AODE",)
TAN = ("weka.classifiers.bayes.BayesNet", "-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN")
NOTHING = ("weka.classifiers.rules.ZeroR",)

GOALS = {"AODE": 2.0, "TAN": 20.0}
"""How many times as long Weka should take at least."""

MEMORY = 1e9
"""Bytes that AODE should take at most."""


def main() -> None:
    """Measure and print."""
    parser = option_parser(__doc__ or "", networks=[])
    parser.add_argument("--weka", metavar="JAR", help=f"the jar of Weka (default: the first of {', '.join(JARS)})")
    parser.add_argument("--aode-rows", type=int, default=100_000, metavar="N")
    parser.add_argument("--tan-rows", type=int, default=50_000, metavar="N")
    parser.add_argument("--pgmpy-rows", type=int, default=1_000, metavar="N")
    parser.add_argument("--features", type=int, default=36, metavar="N")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N")
    options = parser.parse_args()
    if answered_as_child(options, measure_alone):
        return
    peer, weka = peer_python(options.peers), weka_jar(options.weka)
    introduce(None)
    with working_directory() as directory:
        rows = [compare_aode(options, weka, directory), compare_tan(options, weka, directory)]
        if peer is not None:
            rows.append(compare_pgmpy(options, peer, directory))
    table(("task", "peer", "rows", "ours", "theirs", "ratio"), rows)
    print("goals: " + ", ".join(f"{name} at least {goal:g} times as fast as Weka" for name, goal in GOALS.items()))
    found = in_child(__file__, options.aode_rows, options.features)
    print(
        f"memory of AODE, fit and predict: {megabytes(found['peak'])} at most, of which {megabytes(found['before'])} "
        f"Python and the rows (goal: under {megabytes(MEMORY)})"
    )


def weka_jar(given: str | None) -> Path | None:
    """Return the jar of Weka, or None after saying that it cannot be run."""
    found = [Path(jar) for jar in ([given] if given else JARS) if Path(jar).exists()]
    if found and shutil.which("java"):
        return found[0]
    if given:
        sys.exit(f"no Java on the path, or no file {given}")
    print("Weka cannot be run, for want of Java or of its jar (Debian: apt-get install weka): ours alone.\n")
    return None


# The tasks, each a line of the table.


def compare_aode(options: argparse.Namespace, weka: Path | None, directory: Path) -> tuple[object, ...]:
    """Fit and predict the same rows."""
    X, y = draw(options.aode_rows, options.features)
    right = []

    def ours() -> None:
        right.append(int((AODEClassifier().fit(X, y).predict(X) == y).sum()))

    spent = measured(ours, weka, AODE, [write_arff(directory / "aode.arff", X, y)] * 2, options.repetitions, right)
    return ("AODE, fit and predict", "Weka", f"{len(y):,}", *shown(spent))


def compare_tan(options: argparse.Namespace, weka: Path | None, directory: Path) -> tuple[object, ...]:
    """Fit; Weka tests on a single row."""
    X, y = draw(options.tan_rows, options.features)
    files = [write_arff(directory / "tan.arff", X, y), write_arff(directory / "one.arff", X[:1], y[:1])]
    spent = measured(lambda: TANClassifier().fit(X, y), weka, TAN, files, options.repetitions)
    return ("TAN, fit", "Weka", f"{len(y):,}", *shown(spent))


def compare_pgmpy(options: argparse.Namespace, peer: Path, directory: Path) -> tuple[object, ...]:
    """Learn the tree alone, as pgmpy does; ours fits the tables too."""
    X, y = draw(options.pgmpy_rows, options.features)
    path = directory / "rows.csv"
    names = ",".join([*(f"x{number}" for number in range(X.shape[1])), "class"])
    np.savetxt(path, np.column_stack([X, y]), fmt="%d", delimiter=",", header=names, comments="")
    done = subprocess.run([str(peer), str(HERE / "tan_peer.py"), str(path)], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.splitlines()[-1])
    model = TANClassifier()
    spent = {"ours": interleave({"ours": lambda: timed(lambda: model.fit(X, y))}, options.repetitions)["ours"]}
    edges = {frozenset(edge) for edge in theirs["edges"] if "class" not in edge}
    joined = len({frozenset(edge) for edge in model.tree_} & edges)
    print(f"trees: {joined} of our {len(model.tree_)} edges are pgmpy's too")
    return ("TAN, tree", "pgmpy", f"{len(y):,}", *shown(spent | {"theirs": theirs["seconds"]}))


def measured(
    ours: Callable[[], object],
    weka: Path | None,
    classifier: Sequence[str],
    files: Sequence[Path],
    repetitions: int,
    right: Sequence[int] = (),
) -> dict[str, float]:
    """Return the median seconds of ours and of Weka less ZeroR, measured in turn."""
    outputs: list[str] = []
    runs = {"ours": lambda: timed(ours)}
    if weka is not None:
        runs["whole"] = lambda: timed(lambda: outputs.append(run_weka(weka, classifier, files)))
        runs["nothing"] = lambda: timed(lambda: run_weka(weka, NOTHING, files))
    spent = interleave(runs, repetitions)
    if weka is None:
        return spent
    if right:
        found = re.search(r"Correctly Classified Instances\s+(\d+)", outputs[-1])
        if found is None or int(found[1]) != right[-1]:
            print(f"WARNING: {right[-1]} rows are right with ours, {found and found[1]} with Weka")
    return {"ours": spent["ours"], "theirs": spent["whole"] - spent["nothing"]}


def shown(spent: dict[str, float]) -> tuple[str, str, str]:
    """Return times and their ratio for the table."""
    theirs = spent.get("theirs")
    return seconds(spent["ours"]), seconds(theirs), ratio(theirs, spent["ours"])


def run_weka(jar: Path, classifier: Sequence[str], files: Sequence[Path]) -> str:
    """Return what Weka prints when it learns from one file and tests on another."""
    name, *arguments = classifier
    command = ["java", "-Xmx3g", "-cp", str(jar), name, "-t", str(files[0]), "-T", str(files[1]), "-v", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write_arff(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    """Write rows as Weka reads them."""
    states = ",".join(map(str, range(STATES)))
    header = [f"@attribute x{number} {{{states}}}" for number in range(X.shape[1])]
    header = ["@relation rows", *header, f"@attribute class {{{','.join(map(str, range(CLASSES)))}}}", "@data"]
    np.savetxt(path, np.column_stack([X, y]), fmt="%d", delimiter=",", header="\n".join(header), comments="")
    return path


def measure_alone(rows: str, features: str) -> dict[str, float]:
    """Return seconds and memory of AODE in a process of its own."""
    X, y = draw(int(rows), int(features))
    return measured_alone(lambda: AODEClassifier().fit(X, y).predict(X))


if __name__ == "__main__":
    main()
