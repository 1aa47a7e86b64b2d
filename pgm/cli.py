"""The command ``pgm``: look at, ask, learn, draw and convert networks from a terminal.

Every command computes its whole answer first and prints it at the end. What goes wrong is one line on standard error,
``pgm: error: ...``, and exit code 2.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pgm.errors import EvidenceError, PgmError, UnknownNameError, listing

if TYPE_CHECKING:
    from pgm.graph.dag import DAG
    from pgm.network import BayesianNetwork

__all__ = ["main"]

FILE_HELP = "a network file, or the name of a bundled network such as asia"
GIVEN_HELP = "observed states, as name=label"


class UsageError(PgmError):
    """A command line that argparse does not understand."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are raised, so that they are reported like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, or 2 after an error.

    Parameters
    ----------
    argv
        The arguments; by default those of the process.

    Examples
    --------
    >>> main(["query", "asia", "lung", "--given", "smoke=yes"])
    P(smoke=yes) = 0.5
    lung | value
    -----+------
    yes  |   0.1
    no   |   0.9
    0
    """
    try:
        args = _parser().parse_args(argv)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default", UserWarning)
            text = args.command(args)
    except PgmError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            print(f"pgm: warning: {_one_line(str(warning.message))}", file=sys.stderr)
    return _print(text)


def _fail(message: str) -> int:
    print(f"pgm: error: {_one_line(message)}", file=sys.stderr)
    return 2


def _one_line(message: str) -> str:
    return " ".join(message.splitlines())


def _print(text: str) -> int:
    """Print in UTF-8, whatever the locale; a reader that stops reading is no error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        print(text, end="" if text.endswith("\n") or not text else "\n", flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes at exit
    return 0


def _parser() -> Parser:
    parser = Parser(prog="pgm", description="Bayesian networks: look, ask, learn, draw, convert.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    info = commands.add_parser("info", help="say how large a network is")
    info.add_argument("file", metavar="FILE", help=FILE_HELP)
    info.add_argument("--variables", action="store_true", help="list the variables with their states and parents")
    info.set_defaults(command=_info)

    query = commands.add_parser("query", help="print a posterior")
    query.add_argument("file", metavar="FILE", help=FILE_HELP)
    query.add_argument("targets", metavar="TARGET", nargs="*", help="for their joint posterior; none for all")
    query.add_argument("--given", metavar="NAME=LABEL", nargs="+", action="extend", default=[], help=GIVEN_HELP)
    query.set_defaults(command=_query)

    separate = commands.add_parser("separate", help="explain whether two variables are d-separated")
    separate.add_argument("file", metavar="FILE", help=f"{FILE_HELP}, or a graph in DOT")
    separate.add_argument("x", metavar="X")
    separate.add_argument("y", metavar="Y")
    separate.add_argument("--given", metavar="NAME", nargs="+", action="extend", default=[], help="observed variables")
    separate.set_defaults(command=_separate)

    learn = commands.add_parser("learn", help="learn a network from data by hill climbing")
    learn.add_argument("data", metavar="DATA", help="a CSV file with a header; every column is discrete")
    learn.add_argument("-o", "--output", metavar="OUT", required=True, help="the network; with .dot the graph alone")
    learn.add_argument("--score", default="bic", help="the score to climb (default: bic)")
    for name in ("required", "forbidden"):
        learn.add_argument(f"--{name}", metavar="A->B", nargs="+", action="extend", default=[], help=f"{name} edges")
    learn.add_argument("--pseudocount", type=float, default=0.0, help="added to every count (default: 0)")
    learn.set_defaults(command=_learn)

    dot = commands.add_parser("dot", help="write the graph in DOT")
    dot.add_argument("file", metavar="FILE", help=f"{FILE_HELP}, or a graph in DOT")
    dot.add_argument("-o", "--output", metavar="OUT", help="a file (default: print)")
    dot.add_argument("--highlight", metavar="NAME", nargs="+", default=[], help="a trail to colour, node by node")
    dot.add_argument("--given", metavar="NAME", nargs="+", action="extend", default=[], help="observed, shaded")
    dot.set_defaults(command=_dot)

    convert = commands.add_parser("convert", help="write a network in another format")
    convert.add_argument("file", metavar="IN", help=FILE_HELP)
    convert.add_argument("output", metavar="OUT")
    convert.add_argument("--from", dest="source", metavar="FORMAT", help="format of IN (default: by suffix)")
    convert.add_argument("--to", dest="target", metavar="FORMAT", help="format of OUT (default: by suffix)")
    convert.set_defaults(command=_convert)
    return parser


def _network(file: str, format: str | None = None) -> BayesianNetwork:
    """Return the network in a file, or else the bundled network of that name."""
    from pgm import io, networks

    if format or Path(file).exists() or not file.isidentifier():
        return io.read(file, format)
    try:
        return networks.load(file)
    except UnknownNameError as error:
        raise UnknownNameError(f"no file {file!r}, and {error}") from None


def _dag(file: str) -> DAG:
    from pgm.io import FORMATS
    from pgm.io.dot import read_dag
    from pgm.io.files import read_text, suffix

    if suffix(file) in FORMATS["dot"].suffixes:
        return read_dag(read_text(file))
    return _network(file).dag


def _evidence(net: BayesianNetwork, given: Sequence[str]) -> dict[str, str]:
    """Return ``name=label`` pairs as evidence; a name may hold an equals sign itself."""
    evidence: dict[str, str] = {}
    for pair in given:
        splits = [index for index, character in enumerate(pair) if character == "="]
        if not splits:
            raise EvidenceError(f"expected name=label, found {pair!r}")
        index = next((index for index in splits if pair[:index] in net), splits[0])
        name, label = pair[:index], pair[index + 1 :]
        if name in evidence:
            raise EvidenceError(f"{name!r} is given twice")
        evidence[name] = label
    return evidence


def _edges(texts: Sequence[str]) -> list[tuple[str, str]]:
    edges = []
    for text in texts:
        parent, arrow, child = text.partition("->")
        if not (parent and arrow and child):
            raise UsageError(f"expected an edge like 'a->b', found {text!r}")
        edges.append((parent.strip(), child.strip()))
    return edges


# ---------------------------------------------------------------------- commands


def _info(args: argparse.Namespace) -> str:
    net = _network(args.file)
    tables = [net.cpt(name) for name in net.names]
    largest = max(tables, key=lambda cpt: cpt.values.size)
    lines = [
        f"{len(net.names)} variables, {len(net.dag.edges)} edges, {net.n_parameters} free parameters",
        f"states of a variable: at most {max(cpt.child.cardinality for cpt in tables)}",
        f"parents of a variable: at most {max(len(cpt.parents) for cpt in tables)}",
        f"largest table: {largest.values.size} numbers ({largest.child.name})",
    ]
    if args.variables:
        for cpt in tables:
            states = ", ".join(map(str, cpt.child.states))
            parents = ", ".join(parent.name for parent in cpt.parents)
            lines.append(f"{cpt.child.name} {{{states}}}" + (f" <- {parents}" if parents else ""))
    return "\n".join(lines)


def _query(args: argparse.Namespace) -> str:
    net = _network(args.file)
    evidence = _evidence(net, args.given)
    answers = [net.query(args.targets, evidence)] if args.targets else list(net.marginals(evidence).values())
    given = ", ".join(f"{name}={label}" for name, label in evidence.items())
    head = [f"P({given}) = {net.probability(evidence):.6g}"] if evidence else []
    return "\n".join([*head, "\n\n".join(map(str, answers))])


def _separate(args: argparse.Namespace) -> str:
    return str(_dag(args.file).explain_separation(args.x, args.y, given=args.given))


def _learn(args: argparse.Namespace) -> str:
    from pgm import io
    from pgm.data import read_csv
    from pgm.io.files import write_text
    from pgm.learning import fit_parameters, hill_climb

    required, forbidden = _edges(args.required), _edges(args.forbidden)
    format = io.format_of(args.output)  # better known before the search than after it
    data = read_csv(args.data)
    found = hill_climb(data, score=args.score, required=required, forbidden=forbidden)
    if format == "dot":
        write_text(args.output, found.dag.to_dot())
    else:
        io.write(fit_parameters(found.dag, data, pseudocount=args.pseudocount), args.output)
    edges = listing((f"{parent}->{child}" for parent, child in found.dag.edges), limit=1000)
    return f"{args.score} {found.score:.6f}, {len(found.dag.edges)} edges: {edges}"


def _dot(args: argparse.Namespace) -> str:
    from pgm.io.dot import to_dot
    from pgm.io.files import write_text

    text = to_dot(_dag(args.file), highlight=args.highlight, evidence=args.given)
    if args.output is None:
        return text
    write_text(args.output, text)
    return ""


def _convert(args: argparse.Namespace) -> str:
    from pgm import io

    io.write(_network(args.file, args.source), args.output, args.target)
    return ""
