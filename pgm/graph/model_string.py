"""Model strings: a DAG in one line of text, ``[A][C][B|A][D|A:C]``, as the R package bnlearn writes it.

Every node has one pair of brackets, with its parents after a bar. A name may hold anything but the four signs
``[ ] | :``; the order of the nodes is free, and white space between brackets is skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgm.errors import FormatError, GraphError, listing
from pgm.graph.base import Edge

if TYPE_CHECKING:
    from pgm.graph.dag import DAG

__all__ = ["compose", "parse", "text_of"]

_SIGNS = re.compile(r"[\[\]|:]")
_FAMILY = re.compile(r"\s*\[([^\[\]|:]+)(?:\|([^\[\]|]*))?\]")


def parse(text: str) -> tuple[list[str], list[Edge]]:
    """Return the nodes and the edges of a model string, each in the order written.

    >>> parse("[B|A] [A]")
    (['B', 'A'], [('A', 'B')])

    Raises
    ------
    FormatError
        Where the text is not a family in brackets, and for a parent that has no brackets of its own.
    """
    nodes: list[str] = []
    edges: list[Edge] = []
    text = text.rstrip()
    position = 0
    while position < len(text):
        family = _FAMILY.match(text, position)
        if family is None:
            rest = text[position : position + 40]
            raise FormatError(f"expected [node] or [node|parent:parent] at position {position}, not {rest!r}")
        node, parents = family.groups()
        nodes.append(node)
        for parent in parents.split(":") if parents is not None else ():
            if not parent:
                raise FormatError(f"a parent of {node!r} has no name, at position {family.start(2)}")
            edges.append((parent, node))
        position = family.end()
    known = set(nodes)
    for parent, node in edges:
        if parent not in known:
            raise FormatError(f"{node!r} has the parent {parent!r}, but the nodes are {listing(nodes)}")
    return nodes, edges


def compose(dag: DAG) -> str:
    """Return the model string of a DAG, nodes in declared order, parents in the order of their edges.

    >>> from pgm.graph import DAG
    >>> compose(DAG([("A", "B"), ("C", "B")], nodes=["A", "B", "C"]))
    '[A][B|A:C][C]'

    Raises
    ------
    GraphError
        If a name holds one of the four signs that structure the string.
    """
    for node in dag.nodes:
        if _SIGNS.search(node):
            raise GraphError(f"the name {node!r} cannot stand in a model string: it holds one of [ ] | :")
    return text_of(dag)


def text_of(dag: DAG) -> str:
    """Return the model string for reading only, whatever the names hold.

    >>> from pgm.graph import DAG
    >>> text_of(DAG(nodes=["a:b"]))
    '[a:b]'
    """
    families = ((node, ":".join(dag.parents(node))) for node in dag.nodes)
    return "".join(f"[{node}|{parents}]" if parents else f"[{node}]" for node, parents in families)
