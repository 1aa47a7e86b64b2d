"""The command ``pgm``: look at, ask, learn, draw and convert networks from a terminal.

Every command checks its arguments before it works, computes its whole answer, and prints it at the end. Whatever goes
wrong is one line on standard error, ``pgm: error: ...``, and exit code 2; with ``PGM_DEBUG=1`` in the environment it is
Python's traceback instead. An interrupt (Ctrl-C) is exit code 130.
"""

from __future__ import annotations

import argparse
import errno
import io
import math
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from pgm.errors import DataError, EvidenceError, FormatError, PgmError, UnknownNameError, listing

if TYPE_CHECKING:
    from pgm.factors.variable import Label, Variable
    from pgm.graph.dag import DAG
    from pgm.network import BayesianNetwork

__all__ = ["main"]

FILE_HELP = "a network file, or the name of a bundled network such as asia"
GIVEN_HELP = "observed states, as name=label; of continuous variables name=number"
CONTINUOUS_HELP = "columns of measurements, which become leaves: by structural EM, into .json or .dot"
DEBUG = "PGM_DEBUG"
INTERRUPTED = 130
"""The exit code that shells give to what Ctrl-C ends."""

SEARCHES = {
    "auto": "learn_structure",
    "hill-climbing": "hill_climb",
    "tabu": "tabu_search",
    "orders": "order_search",
    "exact": "exact_search",
}
"""What ``--search`` may be, and the function of `pgm.learning` that it stands for."""


class UsageError(PgmError):
    """A command line that argparse does not understand."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are raised, so that they are reported like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def print_help(self, file: object = None) -> None:
        """Print as the answers are printed, so that a failure is reported like all others."""
        _print(self.format_help())


class Version(argparse.Action):
    """Prints the version as the answers are printed."""

    def __call__(self, parser: argparse.ArgumentParser, *others: Any) -> NoReturn:
        """Print and leave."""
        import pgm

        _print(f"pgm {pgm.__version__}")
        parser.exit()


class Given(argparse.Action):
    """Takes the observations after ``--given``, and leaves the words that follow them to the targets."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: object = None
    ) -> None:
        """Sort the words: the first must be an observation, and so are those with an equals sign."""
        first, *rest = values
        namespace.given = [*namespace.given, first, *(word for word in rest if "=" in word)]
        namespace.more_targets = [*namespace.more_targets, *(word for word in rest if "=" not in word)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 2 after an error, or 130 after an interrupt.

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
        for warning in caught:
            if issubclass(warning.category, UserWarning):
                _complain(f"warning: {warning.message}")
        _print(text)
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return 0  # a reader that stops reading has all it wanted
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        _complain(f"error: {_message(error)}")
        return 2
    return 0


def _message(error: Exception) -> str:
    """Return what is wrong, and where, for the user."""
    if isinstance(error, PgmError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return error.strerror
        name = str(error.filename)
        return f"{name if name and name.isprintable() else repr(name)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory; {error}" if str(error) else "not enough memory"
    return f"{type(error).__name__}: {error}; pgm did not foresee this, and {DEBUG}=1 shows where it happened"


def _complain(message: str) -> None:
    """Print one line on standard error, if there is one."""
    if sys.stderr is not None:
        try:
            print(f"pgm: {' '.join(message.splitlines())}", file=sys.stderr, flush=True)
        except OSError:
            _abandon(sys.stderr)


def _print(text: str) -> None:
    """Print in UTF-8, whatever the locale."""
    if not text:
        return
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        print(text, end="" if text.endswith("\n") else "\n", flush=True)
    except OSError as error:
        _abandon(sys.stdout)
        raise OSError(error.errno, error.strerror, "standard output") from None


def _abandon(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere; else Python tries to write it at exit, and complains."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _parser() -> Parser:
    after = f"Errors are one line and exit code 2; {DEBUG}=1 in the environment shows where they come from."
    parser = Parser(prog="pgm", description="Bayesian networks: look, ask, learn, draw, convert.", epilog=after)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    bundled = commands.add_parser("networks", help="list the bundled networks")
    bundled.set_defaults(command=_networks)

    info = commands.add_parser("info", help="say how large a network is")
    info.add_argument("file", metavar="FILE", help=FILE_HELP)
    info.add_argument("--variables", action="store_true", help="list the variables with their states and parents")
    info.set_defaults(command=_info)

    query = commands.add_parser("query", help="print a posterior")
    query.add_argument("file", metavar="FILE", help=FILE_HELP)
    query.add_argument("targets", metavar="TARGET", nargs="*", help="for their joint posterior; none for all")
    query.add_argument("--given", metavar="NAME=LABEL", nargs="+", action=Given, default=[], help=GIVEN_HELP)
    query.set_defaults(command=_query, more_targets=[])

    separate = commands.add_parser("separate", help="explain whether two variables are d-separated")
    separate.add_argument("file", metavar="FILE", help=f"{FILE_HELP}, or a graph in DOT")
    separate.add_argument("x", metavar="X")
    separate.add_argument("y", metavar="Y")
    separate.add_argument("--given", metavar="NAME", nargs="+", action="extend", default=[], help="observed variables")
    separate.set_defaults(command=_separate)

    learn = commands.add_parser("learn", help="learn a network from data")
    learn.add_argument("data", metavar="DATA", help="a CSV file with a header; columns are discrete")
    learn.add_argument("-o", "--output", metavar="OUT", required=True, help="the network; with .dot the graph alone")
    learn.add_argument("--score", default="bic", help="the score of a graph (default: bic)")
    learn.add_argument("--search", choices=SEARCHES, default="auto", help="how to look for it (default: auto, by size)")
    learn.add_argument("--max-parents", type=int, metavar="N", help="largest number of parents of a node")
    for name in ("required", "forbidden"):
        learn.add_argument(f"--{name}", metavar="A->B", nargs="+", action="extend", default=[], help=f"{name} edges")
    learn.add_argument("--continuous", metavar="NAME", nargs="+", action="extend", default=[], help=CONTINUOUS_HELP)
    learn.add_argument("--pseudocount", type=_pseudocount, default=0.0, help="added to every count (default: 0)")
    learn.set_defaults(command=_learn)

    dot = commands.add_parser("dot", help="write the graph in DOT")
    dot.add_argument("file", metavar="FILE", help=f"{FILE_HELP}, or a graph in DOT")
    dot.add_argument("-o", "--output", metavar="OUT", help="a .dot or .gv file (default: print)")
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


def _evidence(net: BayesianNetwork, given: Sequence[str]) -> dict[str, Label]:
    """Return ``name=label`` pairs as evidence; a name may hold an equals sign itself."""
    evidence: dict[str, Label] = {}
    for pair in given:
        splits = [index for index, character in enumerate(pair) if character == "="]
        if not splits:
            raise EvidenceError(f"expected name=label, found {pair!r}")
        index = next((index for index in splits if pair[:index] in net), splits[0])
        name, text = pair[:index], pair[index + 1 :]
        if name in evidence:
            raise EvidenceError(f"{name!r} is given twice")
        evidence[name] = _measurement(name, text) if name in net.gaussians else _label(net.variable(name), text)
    return evidence


def _measurement(name: str, text: str) -> float:
    """Return the number observed at a continuous variable."""
    try:
        return float(text)
    except ValueError:
        raise EvidenceError(f"{name!r} is continuous: its evidence is a number, not {text!r}") from None


def _label(variable: Variable, text: str) -> Label:
    """Return the label that prints as this text: on a command line ``1`` may be a number as well as text."""
    meant = [label for label in variable.states if str(label) == text]
    if len(meant) > 1:
        raise EvidenceError(f"{text} may be any of the states {listing(meant)} of {variable.name!r}")
    return meant[0] if meant else text


def _pseudocount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"it must be a finite number from 0, not {text!r}")
    return number


def _edges(texts: Sequence[str]) -> list[tuple[str, str]]:
    edges = []
    for text in texts:
        parent, arrow, child = text.partition("->")
        if not (parent and arrow and child):
            raise UsageError(f"expected an edge like 'a->b', found {text!r}")
        edges.append((parent.strip(), child.strip()))
    return edges


# ---------------------------------------------------------------------- commands


def _networks(args: argparse.Namespace) -> str:
    from pgm import networks

    return "\n".join(networks.names())


def _info(args: argparse.Namespace) -> str:
    net = _network(args.file)
    tables = net.cpts
    largest = max(tables, key=lambda cpt: cpt.values.size)
    kinds = f" ({len(net.gaussians)} continuous)" if net.gaussians else ""
    lines = [
        f"{len(net.names)} variables{kinds}, {len(net.dag.edges)} edges, {net.n_parameters} free parameters",
        f"states of a variable: at most {max(cpt.child.cardinality for cpt in tables)}",
        f"parents of a variable: at most {max(len(cpd.parents) for cpd in net.cpds)}",
        f"largest table: {largest.values.size} numbers ({largest.child.name})",
    ]
    if args.variables:
        for cpt in tables:
            states = ", ".join(map(str, cpt.child.states))
            parents = ", ".join(parent.name for parent in cpt.parents)
            lines.append(f"{cpt.child.name} {{{states}}}" + (f" <- {parents}" if parents else ""))
        for name, leaf in net.gaussians.items():
            parents = ", ".join(parent.name for parent in leaf.parents)
            lines.append(f"{name} (continuous)" + (f" <- {parents}" if parents else ""))
    return "\n".join(lines)


def _query(args: argparse.Namespace) -> str:
    net = _network(args.file)
    evidence = _evidence(net, args.given)
    targets = [*args.targets, *args.more_targets]
    answers = [net.query(targets, evidence)] if targets else list(net.marginals(evidence).values())
    given = ", ".join(f"{name}={label}" for name, label in evidence.items())
    head = []
    if not net.gaussians.keys().isdisjoint(evidence):  # a density may be beyond the range of floats
        head = [f"ln p({given}) = {net.log_probability(evidence):.6g}"]
    elif evidence:
        head = [f"P({given}) = {net.probability(evidence):.6g}"]
    return "\n".join([*head, "\n\n".join(map(str, answers))])


def _separate(args: argparse.Namespace) -> str:
    return str(_dag(args.file).explain_separation(args.x, args.y, given=args.given))


def _learn(args: argparse.Namespace) -> str:
    from pgm import io, learning
    from pgm.data import read_csv
    from pgm.io.files import check_writable, write_text

    required, forbidden = _edges(args.required), _edges(args.forbidden)
    format = io.format_of(args.output)
    check_writable(args.output)  # better known before the search than after it
    if args.continuous and format not in ("json", "dot"):
        raise FormatError(f"{args.output}: {format.upper()} holds discrete variables only; with --continuous use .json")
    try:
        data = read_csv(args.data, continuous=args.continuous)
    except DataError as error:  # which says what to do in Python
        raise DataError(str(error).replace("continuous=[", "--continuous [")) from None
    constraints = {"required": required, "forbidden": forbidden, "max_parents": args.max_parents}
    search, fitting = SEARCHES[args.search], {"pseudocount": args.pseudocount}
    if args.continuous:
        found: Any = learning.structural_em(data, args.score, search=search, em_options=fitting, **constraints)
        net, method = found.network, f"structural EM with {search}"
    else:
        found = getattr(learning, search)(data, args.score, **constraints)
        net, method = None, found.method
    if format == "dot":
        write_text(args.output, found.dag.to_dot())
    else:
        io.write(net or learning.fit_parameters(found.dag, data, **fitting), args.output)
    edges = listing((f"{parent}->{child}" for parent, child in found.dag.edges), limit=1000)
    return f"{args.score} {found.score:.6f} by {method}, {len(found.dag.edges)} edges: {edges}"


def _dot(args: argparse.Namespace) -> str:
    from pgm.io import FORMATS
    from pgm.io.dot import to_dot
    from pgm.io.files import suffix, write_text

    if args.output is not None and suffix(args.output) not in ("", *FORMATS["dot"].suffixes):
        allowed = listing(FORMATS["dot"].suffixes)
        raise UsageError(f"{args.output}: the suffix {suffix(args.output)!r} does not mean DOT; allowed are {allowed}")
    text = to_dot(_dag(args.file), highlight=args.highlight, evidence=args.given)
    if args.output is None:
        return text
    write_text(args.output, text)
    return ""


def _convert(args: argparse.Namespace) -> str:
    from pgm import io

    io.write(_network(args.file, args.source), args.output, args.target)
    return ""
