r"""DOT, the language of Graphviz: graphs out as text that ``dot`` can draw, and digraphs in.

Writing needs no other package. Every name is quoted, so reserved words, ports (``a:b``) and numbers are just names.
Within quotes ``"`` and ``\`` are written ``\"`` and ``\\``, which Graphviz shows as ``"`` and ``\``.

Reading is done by pydot; a DAG keeps the nodes and the edges of what pydot finds. What would make the graph another one
than the text says, such as an undirected edge, is an error, never a guess.

The text goes to Graphviz (``dot -Tsvg``), or to pydot: ``pydot.graph_from_dot_data(text)[0].write_svg("net.svg")``.

References
----------
Gansner, Koutsofios and North, *Drawing graphs with dot*; graphviz.org/doc/info/lang.html for the grammar.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise, product
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from pgm.errors import FormatError, GraphError, UnknownNameError, listing
from pgm.factors.variable import Label
from pgm.graph.base import names_of
from pgm.graph.dag import DAG
from pgm.graph.trails import Trail

if TYPE_CHECKING:
    import pydot

    from pgm.network import BayesianNetwork

__all__ = ["read_dag", "to_dot", "to_string"]

ENTITY = re.compile(r"&(?=#?\w+;)")
HIGHLIGHTED = ' [color="crimson", penwidth=2]'
OBSERVED = 'style="filled", fillcolor="lightgray"'

ESCAPE = re.compile(r'\\(["\\])')
BACKSLASHES_AT_LINE_END = re.compile(r"(?<!\\)(?:\\\\)+(?=\r?\n)")
REFERENCE = re.compile(r'("(?:[^"\\]|\\.)*+"|<.*>|[^":<][^:]*)(?::.+)?', re.DOTALL)
RESERVED = ("node", "edge", "graph", "digraph", "subgraph", "strict")
PARSING = Lock()
"""pydot can parse only one text at a time."""

Group: TypeAlias = dict[str, Any]
"""What pydot knows of a graph or subgraph: its nodes, edges and subgraphs, each with its place in the sequence."""

Part: TypeAlias = str | tuple[str | Group, ...] | Group
"""The name of a node, the two ends of an edge, or a group."""


def to_dot(
    graph: DAG | BayesianNetwork,
    *,
    highlight: Trail | Iterable[str] = (),
    evidence: Mapping[str, Label] | Iterable[str] | None = None,
) -> str:
    """Return a graph as DOT text, nodes in declared order.

    Parameters
    ----------
    graph
        A DAG, or a network, whose DAG is drawn.
    highlight
        A trail: names of nodes of which each is joined to the next by an edge of either direction. Its edges are
        coloured.
    evidence
        Names of observed nodes, which are shaded; with ``{name: label}`` the label is shown as well.

    Raises
    ------
    UnknownNameError
        If ``highlight`` or ``evidence`` name no node of the graph.
    UnknownStateError
        If the graph is a network and a label of the evidence no state of its variable.
    GraphError
        If two successive nodes of ``highlight`` are not joined by an edge.
    FormatError
        For a name with a NUL character, which Graphviz cannot hold.

    Examples
    --------
    >>> print(to_dot(DAG([("rain", "wet"), ("sprinkler", "wet")]), highlight=["rain", "wet"], evidence={"wet": "yes"}))
    digraph {
      "rain";
      "wet" [label="wet = yes", style="filled", fillcolor="lightgray"];
      "sprinkler";
      "rain" -> "wet" [color="crimson", penwidth=2];
      "sprinkler" -> "wet";
    }
    <BLANKLINE>
    """
    dag = graph if isinstance(graph, DAG) else graph.dag
    coloured = _trail_edges(dag, highlight)
    observed = _observed(dag, evidence)
    if not isinstance(graph, DAG):
        for name, label in observed.items():
            if label is not None and name not in graph.gaussians:
                graph.variable(name).code(label)
    lines = [f"  {quoted(node)}{_node_style(node, observed)};" for node in dag.nodes]
    for parent, child in dag.edges:
        style = HIGHLIGHTED if (parent, child) in coloured else ""
        lines.append(f"  {quoted(parent)} -> {quoted(child)}{style};")
    return "\n".join(["digraph {", *lines, "}"]) + "\n"


def to_string(net: BayesianNetwork) -> str:
    """Return the graph of a network as DOT text, without the numbers."""
    return to_dot(net)


def quoted(text: str) -> str:
    r"""Return text as a DOT string.

    >>> print(quoted('say "hi"'), quoted("end\\"))
    "say \"hi\"" "end\\"
    """
    if "\0" in text:
        raise FormatError(f"DOT cannot hold the NUL character in {text!r}")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_split_at_line_ends(escaped)}"'


def _split_at_line_ends(text: str) -> str:
    r"""Return DOT text with each ``\\`` at a line end and the rest of its string apart, joined by ``+``.

    Graphviz reads the same either way; pydot would take one of the backslashes for the sign that a string goes on in
    the next line.
    """
    return BACKSLASHES_AT_LINE_END.sub(r'\g<0>" + "', text)


def _trail_edges(dag: DAG, highlight: Trail | Iterable[str]) -> set[tuple[str, str]]:
    """Return the edges along a trail, as the graph directs them."""
    nodes = highlight.nodes if isinstance(highlight, Trail) else names_of(highlight)
    for node in nodes:
        dag.index(node)  # raises if there is no such node
    edges = set()
    for one, other in pairwise(nodes):
        edge = (one, other) if dag.has_edge(one, other) else (other, one)
        if not dag.has_edge(*edge):
            raise GraphError(f"the trail to highlight goes from {one!r} to {other!r}, but no edge joins them")
        edges.add(edge)
    return edges


def _observed(dag: DAG, evidence: Mapping[str, Label] | Iterable[str] | None) -> dict[str, Label | None]:
    """Return the label of each observed node, None where only the name was given."""
    if evidence is None:
        return {}
    names = tuple(evidence) if isinstance(evidence, Mapping) else names_of(evidence)
    for name in names:
        if not isinstance(name, str) or name not in dag:
            raise UnknownNameError(f"{name!r} in the evidence is not a node; the nodes are {listing(dag.nodes)}")
    return dict(evidence) if isinstance(evidence, Mapping) else dict.fromkeys(names)


def _node_style(node: str, observed: Mapping[str, Label | None]) -> str:
    """Return the attributes of a node; its label only where it is not the name as Graphviz shows it."""
    label = observed.get(node)
    text = node if label is None else f"{node} = {label}"
    attributes = []
    if label is not None or ENTITY.search(node):
        attributes.append(f"label={quoted(ENTITY.sub('&amp;', text))}")  # &lt; would be shown as <
    if node in observed:
        attributes.append(OBSERVED)
    return f" [{', '.join(attributes)}]" if attributes else ""


# ---------------------------------------------------------------------- reading


def read_dag(source: str | pydot.Dot) -> DAG:
    r"""Return the DAG that a DOT digraph describes.

    Parameters
    ----------
    source
        DOT text, or a ``pydot.Dot`` object.

    Returns
    -------
    DAG
        Nodes in order of appearance. In quoted names ``\"`` and ``\\`` stand for ``"`` and ``\``; names like HTML
        (``<b>``) keep their brackets. Attributes and ports are dropped, and so are subgraphs, but not what is in them.

    Raises
    ------
    FormatError
        For what pydot cannot read, an undirected graph, more than one graph, a reserved word as a name without quotes,
        or an edge with ``dir`` other than forward; the message has the line where pydot tells it.
    GraphError
        For a cycle.

    Notes
    -----
    pydot reads some hundred statements per second. Of the grammar of Graphviz it lacks nodes separated by commas,
    attributes separated by semicolons, empty statements, unquoted negative numbers, ``subgraph name`` without braces
    and attributes called ``name``, ``src``, ``dst``, ``self`` or ``obj_dict``: all are errors here. Some 20 levels of
    braces may be open at a time.

    Examples
    --------
    >>> read_dag('digraph { rain -> {wet "slip pery"}; moon }').edges
    (('rain', 'wet'), ('rain', 'slip pery'))
    """
    graph = _parsed(source) if isinstance(source, str) else source
    if graph.get_type() != "digraph":
        raise FormatError("this graph is undirected; a DAG needs a digraph")
    nodes: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}
    named: dict[str, Group] = {}
    for part in _walk(graph.obj_dict):
        if isinstance(part, str):
            nodes[part] = None
        elif isinstance(part, tuple):
            tails, heads = (_members(end, named) for end in part)
            edges.update(dict.fromkeys(product(tails, heads)))
        elif part["type"] == "subgraph":
            named.setdefault(_unquoted(part["name"]), part)
    return DAG(edges, nodes=nodes)


def _parsed(text: str) -> pydot.Dot:
    """Return the one graph that a text describes."""
    text = _split_at_line_ends(text.removeprefix("\ufeff"))
    graphs = _graphs(text)
    if len(graphs) > 1:
        raise FormatError(f"expected one graph, found {len(graphs)}")
    if "--" in text:  # an edge like any other to pydot; in strings and comments it may be spoilt without harm
        try:
            _graphs(text.replace("--", "-?-"))
        except FormatError as error:
            message = "'--' joins nodes of undirected graphs; a DAG needs a digraph, with '->'"
            raise FormatError(message, error.line) from None
    return graphs[0]


def _graphs(text: str) -> list[pydot.Dot]:
    """Return all graphs of a text, by pydot's parser itself: `pydot.graph_from_dot_data` prints errors."""
    with PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydot calls pyparsing by names deprecated since
        from pydot.dot_parser import graphparser
        from pyparsing import ParseBaseException, ParserElement, testing

        with testing.reset_pyparsing_context():  # type: ignore[no-untyped-call]
            ParserElement.enable_packrat(force=True)  # or else the time doubles with every level of braces
            try:
                return list(graphparser.parse_string(text, parse_all=True))
            except ParseBaseException as error:
                what = str(error).partition("  (at char")[0]
                raise FormatError(f"pydot cannot read this: {what}", error.lineno) from None
            except RecursionError:
                raise FormatError("braces are nested too deeply for pydot") from None
            except TypeError as error:  # attributes become keyword arguments
                raise FormatError(f"pydot cannot hold an attribute of this name: {error}") from None


def _walk(graph: Group) -> Iterator[Part]:
    """Yield names, edges and groups in order of appearance: a group before what is in it, an edge after its ends."""
    stack: list[Part] = [graph]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, dict):
            stack.extend(reversed(list(_contents(part))))


def _contents(graph: Group) -> Iterator[Part]:
    """Yield the names, edges and groups that stand directly in a graph, in order of appearance."""
    same = chain(graph["nodes"].values(), graph["edges"].values(), graph["subgraphs"].values())
    for part in sorted(chain.from_iterable(same), key=itemgetter("sequence")):
        if part["type"] == "node":
            if part["name"] in ("node", "edge", "graph") and part["attributes"] and not part["port"]:
                _check_direction(part["attributes"])  # a statement about the nodes or edges to follow
            else:
                yield _name(f"{part['name']}{part['port'] or ''}")
        elif part["type"] == "edge":
            _check_direction(part["attributes"])
            ends = tuple(end if isinstance(end, dict) else _name(str(end)) for end in part["points"])
            yield from ends
            yield ends
        else:
            yield part


def _members(end: str | Group, named: Mapping[str, Group]) -> Iterable[str]:
    """Return the nodes at an end of an edge."""
    if isinstance(end, str):
        return (end,)
    name = _unquoted(end["name"])
    if name and named[name] is not end:  # Graphviz collects the nodes, but which depends on where they stand
        raise FormatError(f"an edge joins the subgraph {name!r}, which stands in the text more than once")
    return dict.fromkeys(part for part in _walk(end) if isinstance(part, str))


def _check_direction(attributes: Mapping[str, Any]) -> None:
    """Raise if edges are not drawn from their tail to their head."""
    for attribute, value in attributes.items():
        if _unquoted(attribute) == "dir" and value is not None and _unquoted(str(value)) != "forward":
            raise FormatError(f"an edge with dir={value} does not point from its tail to its head")


def _name(reference: str) -> str:
    """Return the name of a node from the way pydot refers to it, perhaps with a port."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise FormatError(f"{reference!r} names no node")
    if match[1].lower() in RESERVED:
        raise FormatError(f"{match[1]!r} is a reserved word: a name needs quotes, and a statement attributes")
    return _unquoted(match[1])


def _unquoted(text: str) -> str:
    """Return what a DOT identifier stands for, undoing :func:`quoted`."""
    return ESCAPE.sub(r"\1", text[1:-1]) if text.startswith('"') else text
