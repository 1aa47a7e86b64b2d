"""BIF files that are broken: each is refused with its line and its variable, and nothing else ever comes out."""

from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm.io
from pgm.errors import FormatError, PgmError, TooLargeError
from pgm.factors import Variable
from pgm.io import assembly, bif, bif_reader, bif_tokens
from pgm.io.bif_reader import TableReader, read_variable

FILES = Path(__file__).parent / "files"

SOUND = """network sound {
}
variable A {
  type discrete [ 2 ] { x, y };
}
variable B {
  type discrete [ 2 ] { p, q };
}
probability ( A ) {
  table 0.4, 0.6;
}
probability ( B | A ) {
  (x) 0.5, 0.5;
  (y) 0.1, 0.9;
}
"""

BROKEN = [
    # what is done to the sound file, the line at fault, what the message says (quantum-fog#10, pgmpy#2611)
    ("  (y) 0.1, 0.9;\n", "", 12, "the row A='y' of 'B' is missing, and there is no default"),
    ("(y) 0.1", "(w) 0.1", 14, "a row of 'B': 'A' has no state 'w'; its states are 'x', 'y'"),
    ("(y) 0.1", "(x) 0.1", 14, "the row A='x' of 'B' is given twice; the first is line 13"),
    ("B | A", "B | Z", 12, "'Z', a parent of 'B', is not declared; the variables are 'A', 'B'"),
    ("(x) 0.5", "(x) 0.2, 0.3", 13, "the row A='x' of 'B' needs 2 numbers, not 3"),
    ("(x) 0.5, 0.5", "(x) 0.5, 0.25, 0.25", 13, "the row A='x' of 'B' needs 2 numbers, not 3"),
    ("(x) 0.5, 0.5;\n  (y) 0.1, 0.9", "(x) 0.5, 0.5, 0.1;\n  (y) 0.9", 13, "needs 2 numbers, not 3"),
    ("probability ( B | A ) {\n  (x) 0.5, 0.5;\n  (y) 0.1, 0.9;\n}\n", "", 6, "'B' has no probability table"),
    ("discrete [ 2 ] { p, q }", "discrete [ 3 ] { p, q }", 7, "'B' announces 3 states but lists 2: 'p', 'q'"),
    ("( A )", "( A | B )", 10, "the table of 'A' needs 4 numbers, not 2"),
    ("  table 0.4, 0.6;\n}", "  table 0.4, 0.6;", 9, "the block 'probability A' is not closed"),
    ("  (y) 0.1, 0.9;\n}\n", "  (y) 0.1, 0.9;\n", 12, "the block 'probability B' is not closed"),
    # numbers
    ("0.1, 0.9", "0.1, 0.8", 14, "the row A='y' of 'B' sums to 0.9, not 1"),
    ("0.1, 0.9", "0.1, 0.9011", 14, "the row A='y' of 'B' sums to 1.0011, not 1"),
    ("0.1, 0.9", "-0.1, 1.1", 14, "the row A='y' of 'B' has a negative number: -0.1"),
    ("0.1, 0.9", "0.1, 9e400", 14, "the row A='y' of 'B' sums to inf, not 1"),
    ("0.1, 0.9", "nan, 0.9", 14, "expected a probability or ';', found 'nan'"),
    ("0.1, 0.9", "0.1, 0_9", 14, "found '0_9'"),
    ("0.1, 0.9", "0.1, 0.٩", 14, "'B': expected a probability or ';', found '0.٩'"),
    ("0.1, 0.9", "0.1, \"0.9\"", 14, "expected a probability or ';', found '\"0.9\"'"),
    ("0.1, 0.9", "0,1, 0,9", 14, "the row A='y' of 'B' needs 2 numbers, not 4"),
    ("table 0.4, 0.6", "table 0.4, 0.61", 10, "the table of 'A' sums to 1.01, not 1"),
    ("table 0.4, 0.6", "table 0.4", 10, "the table of 'A' needs 2 numbers, not 1"),
    ("table 0.4, 0.6", "default 0.4", 10, "the default of 'A' needs 2 numbers, not 1"),
    ("table 0.4, 0.6", "", 9, "the table of 'A' is missing"),
    # rows and tables
    ("(y)", "(y, z)", 14, "a row of 'B' needs one label for each of 'A'"),
    ("(y)", "()", 14, "a row of 'B' needs one label for each of 'A'"),
    ("(y) 0.1, 0.9;", "(y) 0.1, 0.9", 15, "expected a probability or ';', found '}'"),
    ("(y) 0.1", "y) 0.1", 14, "'B': expected '(', 'table', 'default', 'property' or '}', found 'y'"),
    ("(y) 0.1", "(y 0.1", 14, "expected a label of a parent of 'B', found ';'"),
    ("(y) 0.1, 0.9;", "table 0.5, 0.5, 0.5, 0.5;", 14, "'B' has a whole table and rows as well"),
    ("(y)", "default 0.5, 0.5; default", 14, "'B' has 'default' twice"),
    ("table", "table 1, 0; table", 10, "'A' has 'table' twice"),
    # blocks
    ("probability ( A )", "probability ( C )", 9, "'C' is not declared; the variables are"),
    ("probability ( B | A )", "probability ( A )", 13, "a row of 'A' needs one label for each of nothing, not 'x'"),
    ("probability ( B | A )", "probability ( B | A, A )", 12, "'B' names a variable twice"),
    ("probability ( B | A )", "probability ( B | B )", 12, "'B' names a variable twice"),
    ("probability ( B | A )", "probability ( B, A | A )", 12, "expected one child and its parents"),
    ("probability ( B | A )", "probability ( | A )", 12, "expected one child and its parents"),
    ("probability ( B | A )", "probability ( B | A", 12, "expected"),
    ("probability ( B | A )", "probability B | A", 12, "expected '(', found 'B'"),
    ("variable B", "variable A", 6, "'A' is declared a second time; the first is line 3"),
    ("variable B", "varaible B", 6, "expected 'network', 'variable' or 'probability', found 'varaible'"),
    ("variable B {", "variable {", 6, "expected the name of a variable, found '{'"),
    ("variable B {", 'variable "" {', 6, "a variable's name must be non-empty"),
    ("variable B {", "variable B", 8, "expected 'network', 'variable' or 'probability', found '}'"),
    ("{ p, q }", "{ p, p }", 6, "'B' has the state 'p' twice"),
    ("[ 2 ] { p, q }", "[ 0 ] { }", 6, "'B' needs at least one state"),
    ("[ 2 ] { p, q }", "[ 2 ] { not p, q }", 7, "'q'; a label with spaces or punctuation needs quotes"),
    ("[ 2 ] { p, q }", f"[ {'9' * 5000} ] {{ p, q }}", 7, "states but lists 2"),
    ("[ 2 ] { p, q }", "[ ٢ ] { p, q }", 7, "states but lists 2"),
    ("[ 2 ] { p, q }", "[ 2 ] ( p, q )", 7, "'B': expected '{' before the states, found '('"),
    ("type discrete [ 2 ] { p, q };", "", 6, "'B' has no 'type discrete' with its states"),
    ("type discrete [ 2 ] { p, q };", "type continuous;", 7, "'B': only discrete variables can be read"),
    ("{ p, q };", "{ p, q }; type discrete [ 1 ] { p };", 7, "'B': expected 'type', 'property' or '}', found 'type'"),
    ("{ p, q };", "{ p, q } property x;", 7, "expected ';', found 'property'"),
    ("{ p, q };", "{ p, q }; property x", 8, "expected ';', found '}'"),
    ("{ p, q };", '{ p, "q };', 7, "a quoted string starts here and never ends"),
    ("{ p, q };", '{ p, "q\\z" };', 7, "unknown escape \\z"),
    ("{ p, q };", "{ p, q /* };", 7, "a comment starts here and never ends"),
    ("network sound", "network sound {} network again", 1, "a second network; the first starts on line 1"),
    (" sound {\n}\n", " sound\n", 1, "the block 'network sound' is not closed"),
    ("( A ) {", "( A )", 10, "expected '{', found 'table'"),
    (SOUND, "", None, "the file declares no variable"),
    (SOUND, "network n {}", None, "the file declares no variable"),
    (SOUND, "network n", 1, "the block 'network n' is not closed"),
    ("network", "\x00network", 1, "found '\\x00network'"),
]  # fmt: skip


def test_the_sound_file_is_sound() -> None:
    assert bif.from_string(SOUND).cpt("B").values.tolist() == [[0.5, 0.5], [0.1, 0.9]]


@pytest.mark.parametrize(("old", "new", "line", "message"), BROKEN, ids=range(len(BROKEN)))
def test_broken_files_are_refused_with_line_and_variable(old: str, new: str, line: int | None, message: str) -> None:
    assert SOUND.count(old) == 1
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        bif.from_string(SOUND.replace(old, new))
    assert caught.value.line == line
    assert line is None or str(caught.value).startswith(f"line {line}: ")


def test_a_directed_cycle_is_spelled_out() -> None:
    text = SOUND.replace("( A ) {\n  table 0.4, 0.6;", "( A | B ) {\n  (p) 0.4, 0.6; (q) 0.7, 0.3;")
    with pytest.raises(FormatError, match=r"the tables form a directed cycle: (A -> B -> A|B -> A -> B)") as caught:
        bif.from_string(text)
    assert caught.value.line in (9, 12)


def test_a_variable_has_one_table() -> None:
    with pytest.raises(FormatError, match="'A' has a second table; the first is line 9") as caught:
        bif.from_string(SOUND + "probability ( A ) {\n  table 0.4, 0.6;\n}\n")
    assert caught.value.line == 16


def test_the_error_of_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.bif"
    path.write_text(SOUND.replace("(y)", "(w)"))
    with pytest.raises(FormatError, match=r"broken\.bif: line 14: a row of 'B'") as caught:
        pgm.io.read(path)
    assert caught.value.line == 14


def test_an_absurd_table_is_refused_before_it_is_allocated() -> None:
    names = [f"v{i}" for i in range(40)]
    blocks = [f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}" for name in names]
    blocks += [f"probability ( {name} ) {{ table 0.5, 0.5; }}" for name in names[1:]]
    head = f"probability ( v0 | {', '.join(names[1:])} ) "
    with pytest.raises(TooLargeError, match="v0"):
        bif.from_string("\n".join([*blocks, head + "{ default 0.5, 0.5; }"]))
    with pytest.raises(FormatError, match="of 'v0' is missing"):
        bif.from_string("\n".join([*blocks, head + "{ }"]))
    many = [f"variable w{i} {{ type discrete [ 1 ] {{ a }}; }}" for i in range(70)]
    head = f"probability ( v0 | {', '.join(f'w{i}' for i in range(70))} ) {{ default 0.5, 0.5; }}"
    with pytest.raises(FormatError, match="'v0' has 70 parents; a table can have 63"):
        bif.from_string("\n".join([*blocks, *many, head]))


def wide(n_parents: int) -> str:
    """A small text whose v0 has a table of two to the power of n_parents + 1 numbers."""
    names = [f"v{i}" for i in range(n_parents + 1)]
    blocks = [f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}" for name in names]
    blocks += [f"probability ( {name} ) {{ table 0.5, 0.5; }}" for name in names[1:]]
    return "\n".join([*blocks, f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.3, 0.7; }}"])


def test_a_table_of_defaults_needs_the_memory_of_the_table_alone() -> None:
    text = wide(18)
    bif.from_string(text)  # so that what is loaded on first use is not counted
    tracemalloc.start()
    try:
        net = bif.from_string(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    table = net.cpt("v0").values
    assert table.nbytes == 2**19 * 8
    assert table.nbytes < peak < 1.4 * table.nbytes  # a copy would make it 2; the checks work on half a megabyte
    assert np.array_equal(table.reshape(-1, 2), np.tile([0.3, 0.7], (2**18, 1)))


def test_all_tables_of_a_file_share_the_memory_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    one = wide(10)
    small = 10 * 2 * 8
    monkeypatch.setattr(bif_reader, "MEMORY_BUDGET", 2**11 * 8 + small)
    assert len(bif.from_string(one)) == 11
    two = one + "\nvariable w { type discrete [ 2 ] { a, b }; }\n"
    two += one.splitlines()[-1].replace("v0", "w", 1)
    message = re.escape("P(w | ...), beside tables of 16.5 kB, would have 2,048 cells (16.4 kB); the limit is 0 bytes")
    with pytest.raises(TooLargeError, match=message):
        bif.from_string(two)
    monkeypatch.setattr(bif_reader, "MEMORY_BUDGET", 2**11 * 8 + small - 1)
    with pytest.raises(TooLargeError, match=r"P\(v0"):
        bif.from_string(one)


def test_faults_and_rounding_are_found_in_every_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "PORTION", 6)
    x, y = Variable("x", range(8)), Variable("y", ["p", "q"])
    for bad in range(8):
        rows = np.full((8, 2), 0.5)
        rows[bad] = 0.4, 0.5
        with pytest.raises(FormatError, match=f"line {bad}: the row x={bad} of 'y' sums to 0.9, not 1"):
            assembly.checked_rows(y, [x], rows, lambda row: row)
        rows[bad] = 0.4995, 0.5
        checked = assembly.checked_rows(y, [x], rows, lambda row: row)
        assert checked is rows
        assert rows[bad].tolist() == [0.4995 / 0.9995, 0.5 / 0.9995]
        assert (np.delete(rows, bad, axis=0) == 0.5).all()


def test_infinite_numbers_are_refused() -> None:
    for numbers in ("1e999, 0.5", "-1e999, 1e999", "1e308, 1e308"):
        with pytest.raises(FormatError, match="the row A='x' of 'B'"):
            bif.from_string(SOUND.replace("0.5, 0.5", numbers))


def test_unquoted_labels_are_never_pieced_together() -> None:
    text = SOUND.replace("{ x, y }", '{ "x, z", y }')
    assert bif.from_string(text.replace("(x)", '("x, z")')).cpt("B")["x, z", "p"] == 0.5
    with pytest.raises(FormatError, match="line 13: a row of 'B' needs one label for each of 'A', not 'x', 'z'"):
        bif.from_string(text.replace("(x)", "(x, z)"))


def test_very_many_braces_and_long_chains_do_not_recurse() -> None:
    with pytest.raises(FormatError, match="not closed"):
        bif.from_string("network n " + "{" * 100_000)
    names = [f"v{i}" for i in range(3000)]
    blocks = [f"variable {name} {{ type discrete [ 1 ] {{ a }}; }}" for name in names]
    blocks += [f"probability ( {y} | {x} ) {{ (a) 1; }}" for x, y in pairwise(names)]
    assert len(bif.from_string("\n".join([*blocks, "probability (v0) { table 1; }"])).dag.edges) == 2999
    with pytest.raises(FormatError, match="directed cycle"):
        bif.from_string("\n".join([*blocks, "probability (v0 | v2999) { (a) 1; }"]))


def test_time_is_linear_in_hostile_text() -> None:
    for text in (" " * 10**6 + '"', "/*" * 10**5, "//" * 10**6, '"' * 10**5, ", " * 10**6 + "/*", "x/" * 10**5):
        with pytest.raises(FormatError):
            bif.from_string("variable A { " + text)


# ---------------------------------------------------------------------- mutated files

TEXTS = [
    SOUND,
    (FILES / "javabayes.bif").read_text(),
    (FILES / "agrum.bif").read_text(),
    (FILES / "odd_names_crlf.bif").read_bytes().decode(),
    SOUND.replace("(x) 0.5, 0.5;", "default 0.5, 0.5;").replace("table", 'property "a;" ; // }\n table'),
]
SPLINTERS = [
    "{", "}", "(", ")", "[", "]", ",", ";", "|", '"', "\\", "//", "/*", "*/", " ", "\n", "\r", "\0", "=", "nan", "inf",
    "1e999", "-1", "0.5", "99999999999", "table", "default", "property", "type", "discrete", "network", "variable",
    "probability", "probability ( A ) { table 0.5, 0.5; }", "A", "B", "x", "y", "é", "\u2028", "_", "٣",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 5, 30])))
        other = draw(st.integers(0, len(text)))
        new = draw(st.sampled_from([*SPLINTERS, text[other : other + 10], text[start:end] * 2]))
        text = text[:start] + new + text[end:]
    return text


@given(mutated())
@settings(max_examples=600, deadline=None)
def test_nothing_but_our_errors_comes_out(text: str) -> None:
    try:
        net = bif.from_string(text)
    except PgmError:
        return
    for cpt in net.cpts:
        assert np.allclose(cpt.values.sum(axis=-1), 1.0, atol=1e-12)
    assert bif.from_string(bif.to_string(net)) == net


@given(mutated())
@settings(max_examples=600, deadline=None)
def test_the_quick_reader_reads_what_the_careful_one_reads(text: str) -> None:
    try:
        blocks = list(bif_tokens.blocks(text))
        variables = {v.name: v for v in (read_variable(text, b) for b in blocks if b.keyword == "variable")}
    except PgmError:
        return
    reader = TableReader(text, variables)
    for block in blocks:
        if block.keyword == "probability" and block.plain:
            try:
                child, table = reader.read_quickly(block)
            except (KeyError, ValueError):
                continue
            careful_child, careful = reader.read_carefully(block)
            assert (child, table.parents, table.line) == (careful_child, careful.parents, careful.line)
            assert np.array_equal(table.values, careful.values)


@given(mutated())
@settings(max_examples=300, deadline=None)
def test_plain_files_mean_the_same_without_the_quick_reader(text: str) -> None:
    def outcome() -> object:
        try:
            net = bif.from_string(text)
        except PgmError as error:
            return type(error)
        return net.variables, [(cpt.names, cpt.values.tolist()) for cpt in net.cpts]

    quick = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bif_tokens, "_plain_end", lambda *where: 0)
        assert outcome() == quick
