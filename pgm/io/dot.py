r"""DOT, the language of Graphviz: graphs out as text that ``dot`` can draw, and digraphs in.

Writing needs no other package, and neither does reading (:mod:`pgm.io.dot_reader`). Every name is quoted, so reserved
words, ports (``a:b``) and numbers are just names. Within quotes ``"`` and ``\`` are written ``\"`` and ``\\``, which
Graphviz shows as ``"`` and ``\``.

The text goes to Graphviz (``dot -Tsvg``), or to pydot: ``pydot.graph_from_dot_data(text)[0].write_svg("net.svg")``.

References
----------
Gansner, Koutsofios and North, *Drawing graphs with dot*; graphviz.org/doc/info/lang.html for the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from pgm.errors import FormatError, GraphError, UnknownNameError, listing
from pgm.factors.variable import Label
from pgm.graph.base import names_of
from pgm.graph.dag import DAG
from pgm.graph.trails import Trail
from pgm.io.dot_reader import read_dag

if TYPE_CHECKING:
    from pgm.network import BayesianNetwork

__all__ = ["read_dag", "to_dot", "to_string"]

ENTITY = re.compile(r"&(?=#?\w+;)")
HIGHLIGHTED = ' [color="crimson", penwidth=2]'
OBSERVED = 'style="filled", fillcolor="lightgray"'


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
            if label is not None:
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
    return f'"{escaped}"'


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
    observed = dict(evidence) if isinstance(evidence, Mapping) else dict.fromkeys(names_of(evidence))
    for name in observed:
        if name not in dag:
            raise UnknownNameError(f"{name!r} in the evidence is not a node; the nodes are {listing(dag.nodes)}")
    return observed


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
