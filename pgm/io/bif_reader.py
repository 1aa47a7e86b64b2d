"""Reading BIF text: a quick reader for plain blocks and a careful one for the rest.

Most blocks of most files are plain: no quotes, no comments, every row written out. Those are split at their
punctuation and converted in bulk. Whatever the quick reader does not fully understand it declines, and the careful
reader, which looks at every token and knows its line, either reads the block or says what is wrong with it. So the
quick reader decides nothing by itself; it only saves time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from pgm.errors import FormatError, UnknownStateError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.size import MAX_AXES, MEMORY_BUDGET, check_size, format_bytes
from pgm.factors.variable import Variable
from pgm.io.assembly import Table, assemble, checked_rows, declared, row_name
from pgm.io.bif_tokens import Block, Token, Tokens, blocks, unquoted
from pgm.network import BayesianNetwork

__all__ = ["from_string"]

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WORD = re.compile(r"[^\s{}()\[\],;|\"]+")
COUNT = re.compile(r"[0-9]{1,9}")
PLAIN_VARIABLE = re.compile(
    r"variable\s+([^\s{}()\[\],;|]+)\s*\{\s*type\s+discrete\s*\[\s*([0-9]{1,9})\s*\]\s*\{([^{}()\[\];|]*)\}\s*;\s*\}"
)
PLAIN_HEAD = re.compile(r"probability\s*\(([^{}()\[\];|]*)(?:\|([^{}()\[\];|]*))?\)\s*\{")


class Row(NamedTuple):
    """One statement of a probability block: a row, the default, or a whole table."""

    labels: tuple[str, ...] | None
    numbers: list[float]
    line: int


class Scope(NamedTuple):
    """The variables of a probability block."""

    child: Variable
    parents: tuple[Variable, ...]

    @property
    def n_rows(self) -> int:
        """Number of joint states of the parents."""
        return math.prod(parent.cardinality for parent in self.parents)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cardinalities of the parents and the child."""
        return (*(parent.cardinality for parent in self.parents), self.child.cardinality)


def from_string(text: str) -> BayesianNetwork:
    """Return the network that a BIF text describes; see :mod:`pgm.io.bif`.

    Raises
    ------
    FormatError
        For anything that is not BIF or does not make a network; names the line and the variable.
    TooLargeError
        Before a table is allocated with which all tables together would exceed the memory budget: ``default`` can
        make a large table of a small file.

    Notes
    -----
    A table that ``default`` fills needs little more memory than its numbers; one that is written out needs that of its
    text several times over.
    """
    found = list(blocks(text))
    headers = [block for block in found if block.keyword == "network"]
    if len(headers) > 1:
        raise FormatError(f"a second network; the first starts on line {headers[0].line}", headers[1].line)
    lines: dict[Variable, int | None] = {}
    variables: dict[str, Variable] = {}
    for block in found:
        if block.keyword == "variable":
            variable = read_variable(text, block)
            if variable.name in variables:
                first = lines[variables[variable.name]]
                raise FormatError(f"{variable.name!r} is declared a second time; the first is line {first}", block.line)
            variables[variable.name] = variable
            lines[variable] = block.line
    reader = TableReader(text, variables)
    tables: dict[Variable, Table] = {}
    for block in found:
        if block.keyword == "probability":
            child, table = reader.read(block)
            if child in tables:
                first = tables[child].line
                raise FormatError(f"{child.name!r} has a second table; the first is line {first}", block.line)
            tables[child] = table
    return assemble(lines, tables)


def read_variable(text: str, block: Block) -> Variable:
    """Return the variable that a ``variable`` block declares."""
    plain = PLAIN_VARIABLE.fullmatch(text, block.start, block.end) if block.plain else None
    if plain:
        states = _words(plain[3])
        if len(states) == int(plain[2]):
            return declared(plain[1], states, block.line)
    tokens = Tokens(text, block.start, block.end, block.line)
    tokens.next()
    name = tokens.name("the name of a variable")
    tokens.expect("{")
    labels: list[str] | None = None
    while not (token := tokens.next()).is_mark("}"):
        if token.is_word("property"):
            tokens.skip_statement()
        elif token.is_word("type") and labels is None:
            labels = _read_states(tokens, name)
        elif not token.is_mark(";"):
            raise FormatError(f"{name!r}: expected 'type', 'property' or '}}', found {token}", token.line)
    if labels is None:
        raise FormatError(f"{name!r} has no 'type discrete' with its states", block.line)
    return declared(name, labels, block.line)


def _read_states(tokens: Tokens, name: str) -> list[str]:
    """Read ``discrete [ n ] { label, label };`` after the word ``type``."""
    kind = tokens.next()
    if not kind.is_word("discrete"):
        raise FormatError(f"{name!r}: only discrete variables can be read, not {kind}", kind.line)
    tokens.expect("[")
    count = tokens.next()
    tokens.expect("]")
    brace = tokens.next()
    if brace.is_word("="):
        brace = tokens.next()
    if not brace.is_mark("{"):
        raise FormatError(f"{name!r}: expected '{{' before the states, found {brace}", brace.line)
    labels = tokens.names("}", f"a state of {name!r}")
    if not COUNT.fullmatch(count.text) or int(count.text) != len(labels):
        listed = f"{name!r} announces {count.text[:9]} states but lists {len(labels)}: {listing(labels)}"
        raise FormatError(f"{listed}; a label with spaces or punctuation needs quotes", count.line)
    tokens.expect(";")
    return labels


class TableReader:
    """Reads the probability blocks of a text, all variables being known.

    Parameters
    ----------
    text
        The whole file.
    variables
        The declared variables by name.
    """

    def __init__(self, text: str, variables: Mapping[str, Variable]) -> None:
        self._text = text
        self._variables = variables
        self._bytes = 0
        self._plain_labels: dict[str, list[str]] = {}
        for name, variable in variables.items():
            labels = [str(label) for label in variable.states]
            if all(map(WORD.fullmatch, labels)):
                self._plain_labels[name] = labels

    def read(self, block: Block) -> tuple[Variable, Table]:
        """Return the child and the table of a ``probability`` block."""
        found = None
        if block.plain:
            with suppress(KeyError, ValueError):  # declined: the careful reader knows what it is or what is wrong
                found = self.read_quickly(block)
        child, table = found or self.read_carefully(block)
        self._bytes += table.values.nbytes
        return child, table

    # ------------------------------------------------------------------ quick

    def read_quickly(self, block: Block) -> tuple[Variable, Table]:
        """Return what :meth:`read_carefully` would, or raise KeyError or ValueError to decline."""
        head = PLAIN_HEAD.match(self._text, block.start)
        if head is None:
            raise ValueError("not a plain block")
        (child,) = _words(head[1])
        parents = _words(head[2] or "")
        scope = self._scope(child, parents, block.line)
        *statements, rest = self._text[head.end() : block.end - 1].split(";")
        if rest.strip() or not statements:
            raise ValueError("not a plain block")
        if parents:
            numbers = self._rows_in_order(scope, statements)
        else:
            keyword, *numbers = statements[0].split(None, 1)
            if keyword != "table" or len(statements) > 1:
                raise ValueError("not a plain block")
        values = checked_rows(*scope, _floats(numbers, scope.child.cardinality), lambda row: None)
        return scope.child, Table(scope.parents, values.reshape(scope.shape), block.line)

    def _rows_in_order(self, scope: Scope, statements: Sequence[str]) -> list[str]:
        """Return the numbers of each row in table order; KeyError or ValueError if a row is missing, twice or odd."""
        if len(statements) != scope.n_rows:
            raise ValueError("rows are missing")
        joint_labels = product(*(self._plain_labels[parent.name] for parent in scope.parents))
        place = {f"({', '.join(labels)}": row for row, labels in enumerate(joint_labels)}
        numbers = [""] * scope.n_rows
        for statement in statements:
            head, _, tail = statement.partition(")")
            numbers[place.pop(head.strip())] = tail
        return numbers

    # ------------------------------------------------------------------ careful

    def read_carefully(self, block: Block) -> tuple[Variable, Table]:
        """Return the child and the table of a block, token by token."""
        tokens = Tokens(self._text, block.start, block.end, block.line)
        tokens.next()
        scope = self._read_head(tokens, block.line)
        rows: dict[int, Row] = {}
        whole: dict[str, Row] = {}
        while not (token := tokens.next()).is_mark("}"):
            if token.is_word("property"):
                tokens.skip_statement()
            elif token.is_word("table", "default"):
                if token.text in whole:
                    raise FormatError(f"{scope.child.name!r} has {token} twice", token.line)
                whole[token.text] = Row(None, _read_numbers(tokens, scope.child.name), token.line)
            elif token.is_mark("("):
                self._read_row(tokens, token, scope, rows)
            elif not token.is_mark(";"):
                expected = "expected '(', 'table', 'default', 'property' or '}'"
                raise FormatError(f"{scope.child.name!r}: {expected}, found {token}", token.line)
        table = whole.get("table")
        if table is None:
            values = _fill(scope, rows, whole.get("default"), block.line, self._bytes)
        elif rows or "default" in whole:
            raise FormatError(f"{scope.child.name!r} has a whole table and rows as well", table.line)
        else:
            values = _whole_table(scope, table)
        return scope.child, Table(scope.parents, values.reshape(scope.shape), block.line)

    def _read_head(self, tokens: Tokens, line: int) -> Scope:
        """Read ``( child | parents ) {``; without the bar the first name is the child, as in BIF 0.15."""
        tokens.expect("(")
        names: list[str] = []
        bar: int | None = None
        while not (token := tokens.next()).is_mark(")"):
            if token.is_mark("|") and bar is None:
                bar = len(names)
            else:
                names.append(unquoted(token, "the name of a variable"))
        tokens.expect("{")
        if not names or bar not in (None, 1):
            raise FormatError(f"expected one child and its parents, found {listing(names)}", line)
        return self._scope(names[0], names[1:], line)

    def _scope(self, child: str, parents: Sequence[str], line: int) -> Scope:
        for name in (child, *parents):
            if name not in self._variables:
                role = "" if name == child else f", a parent of {child!r},"
                known = listing(self._variables)
                raise FormatError(f"{name!r}{role} is not declared; the variables are {known}", line)
        if len({child, *parents}) <= len(parents):
            raise FormatError(f"{child!r} names a variable twice: {listing([child, *parents])}", line)
        if len(parents) >= MAX_AXES:
            raise FormatError(f"{child!r} has {len(parents)} parents; a table can have {MAX_AXES - 1}", line)
        return Scope(self._variables[child], tuple(self._variables[name] for name in parents))

    def _read_row(self, tokens: Tokens, start: Token, scope: Scope, rows: dict[int, Row]) -> None:
        """Read ``(label, label) number, number;`` after its first mark, into its place in ``rows``."""
        child = scope.child.name
        labels = tuple(tokens.names(")", f"a label of a parent of {child!r}"))
        if len(labels) != len(scope.parents):
            expected = listing(parent.name for parent in scope.parents)
            given = listing(labels)
            raise FormatError(f"a row of {child!r} needs one label for each of {expected}, not {given}", start.line)
        place = 0
        for parent, label in zip(scope.parents, labels, strict=True):
            try:
                place = place * parent.cardinality + parent.code(label)
            except UnknownStateError as error:
                raise FormatError(f"a row of {child!r}: {error}", start.line) from None
        if place in rows:
            first = rows[place].line
            raise FormatError(f"{row_name(*scope, place)} is given twice; the first is line {first}", start.line)
        row = Row(labels, _read_numbers(tokens, child), start.line)
        _check_count(row, scope.child.cardinality, row_name(*scope, place))
        rows[place] = row


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _floats(rows: Sequence[str], width: int) -> FloatArray:
    """Return rows of ``width`` numbers each as an array; ValueError if they are not that."""
    text = "".join(rows)
    if not text.isascii() or "_" in text:  # float() would take "1_0" and digits of other scripts
        raise ValueError("not plain numbers")
    numbers = [_words(row) for row in rows]
    if any(len(row) != width for row in numbers):
        raise ValueError("not that many numbers")
    flat = np.fromiter(map(float, chain.from_iterable(numbers)), dtype=np.float64, count=len(rows) * width)
    return flat.reshape(len(rows), width)


def _read_numbers(tokens: Tokens, child: str) -> list[float]:
    """Return the numbers up to the semicolon, and move past it."""
    plain = tokens.numbers()
    if plain is not None:
        return plain
    numbers = []
    while not (token := tokens.next()).is_mark(";"):
        if token.kind != "word" or not NUMBER.fullmatch(token.text):
            raise FormatError(f"{child!r}: expected a probability or ';', found {token}", token.line)
        numbers.append(float(token.text))
    return numbers


def _check_count(row: Row, expected: int, name: str) -> None:
    if len(row.numbers) != expected:
        raise FormatError(f"{name} needs {expected} numbers, not {len(row.numbers)}", row.line)


def _fill(scope: Scope, rows: Mapping[int, Row], default: Row | None, line: int, used: int) -> FloatArray:
    """Return the rows in table order, the default standing in for those not given; other tables ``used`` memory."""
    name = f"P({scope.child.name} | ...)"
    if default is None and len(rows) < scope.n_rows:
        absent = next(place for place in range(scope.n_rows) if place not in rows)
        raise FormatError(f"{row_name(*scope, absent)} is missing, and there is no default", line)
    beside = f", beside tables of {format_bytes(used)}," if used else ""
    check_size(scope.shape, name + beside, MEMORY_BUDGET - used)
    table = np.empty((scope.n_rows, scope.child.cardinality))
    if default is not None:
        _check_count(default, scope.child.cardinality, f"the default of {scope.child.name!r}")
        table[:] = default.numbers
    for place, row in rows.items():
        table[place] = row.numbers
    return checked_rows(*scope, table, lambda place: rows.get(place, default or Row(None, [], line)).line)


def _whole_table(scope: Scope, table: Row) -> FloatArray:
    """Return the rows of ``table``: its numbers run over the child slowest and the last parent fastest."""
    n_rows, width = scope.n_rows, scope.child.cardinality
    _check_count(table, n_rows * width, f"the table of {scope.child.name!r}")
    rows = np.array(table.numbers).reshape(width, n_rows).T.copy()
    return checked_rows(*scope, rows, lambda row: table.line)
