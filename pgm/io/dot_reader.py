r"""Reading DOT: the whole grammar of Graphviz, of which a DAG keeps the nodes and the edges.

Subgraphs, chains (``a -> b -> c``), groups (``a -> {b c}``), ports and attributes are understood; attributes are
dropped. What says that an edge is not directed from its tail to its head is an error, never a guess. There is no
recursion, and the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple, Protocol

from pgm.errors import FormatError
from pgm.graph.dag import DAG

__all__ = ["read_dag"]

TOKEN = re.compile(
    r"""(?: [ \t\r\n\f\v\ufeff]+ | //[^\n]* | /\*(?s:.*?)\*/ | ^\#[^\n]* )*+
        (?: (?P<quoted> "(?:[^"\\]|\\(?s:.))*+" )
          | (?P<mark> -> | -- | [{}\[\];,:=+] )
          | (?P<bare> [A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]* | -?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?) )
          | (?P<html> < )
          | (?P<end> \Z )
          | (?P<other> . ) )""",
    re.VERBOSE | re.MULTILINE,
)
ANGLE = re.compile("[<>]")
ESCAPE = re.compile(r'\\(["\\]|\r?\n)')


class Dotted(Protocol):
    """A graph that can write itself as DOT, such as ``pydot.Dot``."""

    def to_string(self) -> str:
        """Return the graph as DOT text."""


class Token(NamedTuple):
    """A mark, a name, or the end of the text."""

    kind: str
    text: str
    line: int

    def is_mark(self, mark: str) -> bool:
        """Return whether this is that punctuation mark."""
        return self.kind == "mark" and self.text == mark

    def is_keyword(self, *words: str) -> bool:
        """Return whether this is one of those reserved words, which DOT knows in either case, unquoted."""
        return self.kind == "bare" and self.text.lower() in words

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else repr(self.text)


def read_dag(text: str | Dotted) -> DAG:
    r"""Return the DAG that a DOT digraph describes.

    Parameters
    ----------
    text
        DOT text, or a ``pydot.Dot`` object.

    Returns
    -------
    DAG
        Nodes in order of appearance. In quoted names ``\"`` and ``\\`` stand for ``"`` and ``\``.

    Raises
    ------
    FormatError
        For what is not DOT, an undirected graph, more than one graph, or an edge with ``dir`` other than forward;
        the message has the line.
    GraphError
        For a cycle.

    Examples
    --------
    >>> read_dag('digraph { rain -> {wet "slip pery"}; moon }').edges
    (('rain', 'wet'), ('rain', 'slip pery'))
    """
    return Parser(text if isinstance(text, str) else text.to_string()).parse()


class Parser:
    """Parser of one digraph.

    Parameters
    ----------
    text
        The DOT text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._line = 1
        self._ahead: Token | None = None
        self._nodes: dict[str, None] = {}
        self._edges: dict[tuple[str, str], None] = {}

    def parse(self) -> DAG:
        """Return the DAG."""
        token = self._next()
        if token.is_keyword("strict"):
            token = self._next()
        if token.is_keyword("graph"):
            raise FormatError("this graph is undirected; a DAG needs a digraph", token.line)
        if not token.is_keyword("digraph"):
            raise FormatError(f"expected 'digraph', found {token}", token.line)
        if not self._peek().is_mark("{"):
            self._name("the name of the graph")
        self._expect("{")
        self._read_statements()
        token = self._next()
        if token.kind != "end":
            raise FormatError(f"expected the end of the graph, found {token}", token.line)
        return DAG(self._edges, nodes=self._nodes)

    # ------------------------------------------------------------------ statements

    def _read_statements(self) -> None:
        """Read up to the brace that closes the graph, one subgraph on the stack for each open brace."""
        stack = [Subgraph()]
        subgraphs: dict[str, tuple[str, ...]] = {}
        while True:
            here = stack[-1]
            token = self._next()
            if token.is_mark("}"):
                here.check_complete(token)
                group = tuple(stack.pop().members)
                if not stack:
                    return
                subgraphs[here.name] = group
                self._join(stack[-1], group)
            elif token.is_mark("{"):
                stack.append(Subgraph())
            elif token.is_keyword("subgraph"):
                name = "" if self._peek().is_mark("{") else self._name("the name of a subgraph")
                if self._peek().is_mark("{"):
                    self._next()
                    stack.append(Subgraph(name))
                else:
                    self._join(here, subgraphs.get(name, ()))
            elif token.is_mark("->"):
                here.expect_head(token)
            elif token.is_mark("["):
                here.check_complete(token)
                self._read_attributes()
            elif token.is_mark(";") or token.is_mark(",") or token.is_keyword("node", "edge", "graph"):
                here.end_statement(token)
            else:
                self._read_operand(here, token)

    def _read_operand(self, here: Subgraph, token: Token) -> None:
        """Read a node with its port, or an assignment ``name = value``."""
        name = self._name_of(token, "a node, an edge or '}'")
        if self._peek().is_mark("="):
            here.end_statement(token)
            self._next()
            self._name("a value")
            return
        while self._peek().is_mark(":"):
            self._next()
            self._name("a port")
        self._nodes.setdefault(name)
        self._join(here, (name,))

    def _join(self, here: Subgraph, group: Iterable[str]) -> None:
        """Add nodes to a subgraph, and edges from the tail if an arrow was read."""
        heads = tuple(group)
        here.members.update(dict.fromkeys(heads))
        if here.arrow:
            self._edges.update(dict.fromkeys(product(here.tail or (), heads)))
        here.tail, here.arrow = heads, False

    def _read_attributes(self) -> None:
        """Read ``name = value, ...]``, of which only the direction of edges matters."""
        while not (token := self._next()).is_mark("]"):
            if token.is_mark(",") or token.is_mark(";"):
                continue
            attribute = self._name_of(token, "an attribute or ']'")
            if self._peek().is_mark("="):
                self._next()
                value = self._name(f"a value of {attribute!r}")
                if attribute == "dir" and value != "forward":
                    raise FormatError(f"an edge with dir={value} does not point from its tail to its head", token.line)

    # ------------------------------------------------------------------ tokens

    def _next(self) -> Token:
        if self._ahead is not None:
            token, self._ahead = self._ahead, None
            return token
        match = TOKEN.match(self._text, self._position)
        assert match is not None  # one of the alternatives always matches
        kind = str(match.lastgroup)
        start, end = match.span(kind)
        self._line += self._text.count("\n", self._position, start)
        line = self._line
        if kind == "html":
            end = self._html_end(start)
        if kind == "other":
            what = "a string starts here and never ends" if match[kind] == '"' else f"unexpected {match[kind]!r}"
            raise FormatError(what, line)
        self._line += self._text.count("\n", start, end)
        self._position = end
        text = self._text[start:end]
        if text == "--":
            raise FormatError("'--' joins nodes of undirected graphs; a DAG needs '->'", line)
        return Token(kind, text, line)

    def _html_end(self, start: int) -> int:
        """Return the end of ``<...>``, in which the brackets are balanced."""
        depth = 0
        for bracket in ANGLE.finditer(self._text, start):
            depth += 1 if bracket[0] == "<" else -1
            if depth == 0:
                return bracket.end()
        raise FormatError("'<' starts here and never ends", self._line)

    def _peek(self) -> Token:
        if self._ahead is None:
            self._ahead = self._next()
        return self._ahead

    def _expect(self, mark: str) -> None:
        token = self._next()
        if not token.is_mark(mark):
            raise FormatError(f"expected {mark!r}, found {token}", token.line)

    def _name(self, what: str) -> str:
        return self._name_of(self._next(), what)

    def _name_of(self, token: Token, what: str) -> str:
        """Return the name that a token stands for; quoted strings may be joined by ``+``."""
        if token.kind in ("bare", "html"):
            return token.text
        if token.kind != "quoted":
            raise FormatError(f"expected {what}, found {token}", token.line)
        parts = [token.text[1:-1]]
        while self._peek().is_mark("+"):
            self._next()
            more = self._next()
            if more.kind != "quoted":
                raise FormatError(f"expected a quoted string after '+', found {more}", more.line)
            parts.append(more.text[1:-1])
        return ESCAPE.sub(lambda escape: escape[1].strip("\r\n"), "".join(parts))


class Subgraph:
    """A graph or subgraph while it is read, and the edge statement that is open in it.

    Parameters
    ----------
    name
        Its name, if it has one.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.members: dict[str, None] = {}
        self.tail: tuple[str, ...] | None = None
        """Nodes from which an arrow would start; None at the start of a statement."""
        self.arrow = False
        """Whether an arrow waits for its head."""

    def expect_head(self, token: Token) -> None:
        """Note an arrow, which needs a tail before it."""
        if self.tail is None or self.arrow:
            raise FormatError("an edge needs a node before '->'", token.line)
        self.arrow = True

    def check_complete(self, token: Token) -> None:
        """Raise if an arrow still waits for its head."""
        if self.arrow:
            raise FormatError(f"an edge needs a node after '->', found {token}", token.line)

    def end_statement(self, token: Token) -> None:
        """Start a new statement."""
        self.check_complete(token)
        self.tail = None
