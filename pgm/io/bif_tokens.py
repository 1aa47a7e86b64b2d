"""The words of BIF: tokens with their line numbers, and the blocks that a file consists of.

Outside quotes, white space and commas separate words, ``//`` and ``/* */`` are comments, and any other run of
characters up to one of ``{ } ( ) [ ] ; |`` is a word, so that labels such as ``<5``, ``n/a`` or ``1.5`` need no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pgm.errors import FormatError

__all__ = ["KEYWORDS", "Block", "Token", "Tokens", "blocks", "newline_of"]

KEYWORDS = ("network", "variable", "probability")
BRACES = {"variable": 2, "probability": 1}
"""How many pairs of braces a block usually has: the list of states stands in a pair of its own."""

TOKEN = re.compile(
    r"""(?: [\s,]+ | //[^\r\n]* | /\*(?s:.*?)\*/ )*+
        (?: (?P<string> "(?:[^"\\\r\n]|\\.)*+" )
          | (?P<mark> [{}()\[\];|] )
          | (?P<word> (?: [^\s{}()\[\],;|"/] | /(?![/*]) )+ )
          | (?P<end> \Z )
          | (?P<open> . ) )""",
    re.VERBOSE,
)
BRACE = re.compile(r"""[{}] | "(?:[^"\\\r\n]|\\.)*+" | //[^\r\n]* | /\*(?s:.*?)\*/ | (?P<open>"|/\*)""", re.VERBOSE)
NUMBERS = re.compile(r"([0-9eE.+\-,\s]*);")
ESCAPE = re.compile(r"\\(.)")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class Token(NamedTuple):
    """One word, quoted string or punctuation mark, or the end of the text."""

    kind: str
    text: str
    line: int
    end: int

    def is_mark(self, mark: str) -> bool:
        """Return whether this is that punctuation mark."""
        return self.kind == "mark" and self.text == mark

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of those words, unquoted."""
        return self.kind == "word" and self.text in words

    def __str__(self) -> str:
        return "the end of the file" if self.kind == "end" else repr(self.text)


class Block(NamedTuple):
    """The place of one ``network``, ``variable`` or ``probability`` block in the text."""

    keyword: str
    start: int
    end: int
    line: int
    plain: bool
    """Whether it has neither quotes nor comments."""


def newline_of(text: str) -> str:
    """Return the character that ends lines."""
    return "\n" if "\n" in text or "\r" not in text else "\r"


class Tokens:
    """The tokens of a text from ``start`` up to ``end``, taken one at a time.

    Parameters
    ----------
    text
        The whole file.
    start, end
        The part to read.
    line
        The number of the line where it starts.
    """

    def __init__(self, text: str, start: int = 0, end: int | None = None, line: int = 1) -> None:
        self._text = text
        self._position = start
        self._end = len(text) if end is None else end
        self._line = line
        self._newline = newline_of(text)

    def next(self) -> Token:
        """Return the next token and move past it."""
        match = TOKEN.match(self._text, self._position, self._end)
        assert match is not None  # one of the alternatives always matches
        kind = str(match.lastgroup)
        start = match.start(kind)
        self._line += self._text.count(self._newline, self._position, start)
        self._position = match.end()
        if kind == "open":
            raise _unclosed(match[kind], self._line)
        return Token(kind, match[kind], self._line, match.end())

    def expect(self, mark: str) -> Token:
        """Return the next token, which must be that punctuation mark."""
        token = self.next()
        if not token.is_mark(mark):
            raise FormatError(f"expected {mark!r}, found {token}", token.line)
        return token

    def name(self, what: str) -> str:
        """Return the next token as a name, quotes and escapes removed."""
        return unquoted(self.next(), what)

    def names(self, close: str, what: str) -> list[str]:
        """Return the names up to the mark ``close``, and move past it."""
        found = []
        while not (token := self.next()).is_mark(close):
            found.append(unquoted(token, what))
        return found

    def numbers(self) -> list[float] | None:
        """Return the numbers up to the semicolon and move past it; None, without moving, if not all are numbers."""
        match = NUMBERS.match(self._text, self._position, self._end)
        if match is None:
            return None
        try:
            found = [float(word) for word in match[1].replace(",", " ").split()]
        except ValueError:
            return None
        self._line += self._text.count(self._newline, self._position, match.end())
        self._position = match.end()
        return found

    def skip_statement(self) -> None:
        """Move past the next semicolon."""
        while not (token := self.next()).is_mark(";"):
            if token.kind == "end" or token.is_mark("}"):
                raise FormatError(f"expected ';', found {token}", token.line)


def _unclosed(mark: str, line: int) -> FormatError:
    what = "quoted string" if mark == '"' else "comment"
    return FormatError(f"a {what} starts here and never ends", line)


def unquoted(token: Token, what: str) -> str:
    """Return the name that a token stands for."""
    if token.kind == "word":
        return token.text
    if token.kind != "string":
        raise FormatError(f"expected {what}, found {token}", token.line)

    def character(escape: re.Match[str]) -> str:
        if escape[1] not in ESCAPED:
            raise FormatError(f"unknown escape {escape[0]} in {token}; a backslash is written \\\\", token.line)
        return ESCAPED[escape[1]]

    return ESCAPE.sub(character, token.text[1:-1])


def blocks(text: str) -> Iterator[Block]:
    """Return the blocks of a file, in order.

    Raises
    ------
    FormatError
        For text outside blocks, or a block that is not closed.
    """
    newline = newline_of(text)
    position, line = 0, 1
    while (token := _keyword(text, position, line)).kind != "end":
        start = token.end - len(token.text)
        quick = _plain_end(text, start, BRACES.get(token.text, 0))
        end = quick or _block_end(text, token)
        yield Block(token.text, start, end, token.line, quick > 0)
        line = token.line + text.count(newline, start, end)
        position = end


def _keyword(text: str, position: int, line: int) -> Token:
    """Return the word that starts the next block, or the end; stray semicolons are skipped."""
    tokens = Tokens(text, position, line=line)
    while (token := tokens.next()).is_mark(";"):
        pass
    if token.kind != "end" and not token.is_word(*KEYWORDS):
        raise FormatError(f"expected 'network', 'variable' or 'probability', found {token}", token.line)
    return token


def _block_end(text: str, keyword: Token) -> int:
    """Return the position after the brace that closes the block, braces in quotes and comments not counting."""
    tokens = Tokens(text, keyword.end, line=keyword.line)
    title = [keyword.text]
    while not (token := tokens.next()).is_mark("{"):
        if token.is_mark("}"):
            return token.end  # too early, as the reader of the block will find
        if token.kind == "end" or token.is_word(*KEYWORDS):
            raise FormatError(f"the block '{' '.join(title[:2])}' is not closed", keyword.line)
        if token.kind != "mark":
            title.append(token.text)
    depth = 1
    for match in BRACE.finditer(text, token.end):
        if match["open"]:
            line = token.line + text.count(newline_of(text), token.end, match.start())
            raise _unclosed(match["open"], line)
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return match.end()
    raise FormatError(f"the block '{' '.join(title[:2])}' is not closed", keyword.line)


def _plain_end(text: str, start: int, braces: int) -> int:
    """Return the end of a block with that many pairs of braces, no quotes and no comments; 0 if it is not like that."""
    if not braces:
        return 0
    end = start
    for _ in range(braces):
        end = text.find("}", end) + 1
        if not end:
            return 0
    odd = any(text.find(mark, start, end) >= 0 for mark in ('"', "//", "/*"))
    return 0 if odd or text.count("{", start, end) != braces else end
