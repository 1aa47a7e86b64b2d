"""BIF: what real files look like. Expected numbers were found by enumerating the joint outside this package."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pgm.io
from pgm.errors import FormatError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.io import bif
from pgm.network import BayesianNetwork
from tests.oracles import posterior

FILES = Path(__file__).parent / "files"

PREFIX = """
variable A { type discrete [ 2 ] { x, y }; }
variable B { type discrete [ 3 ] { p, q, r }; }
probability ( A ) { table 0.4, 0.6; }
"""


def table(body: str, head: str = "probability ( B | A )") -> list[list[float]]:
    """Read a block of the child B and its parent A."""
    net = bif.from_string(f"{PREFIX}{head} {{ {body} }}")
    values: list[list[float]] = net.cpt("B").values.tolist()
    return values


ROWS = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]


# ---------------------------------------------------------------------- rows by label


def test_rows_are_placed_by_their_labels() -> None:  # pgmpy#1053, pgmpy#1073
    net = bif.from_string("""
        network garden {}
        variable Bed { type discrete [ 3 ] { sandy, loam, clay }; }
        variable Tap { type discrete [ 2 ] { open, shut }; }
        variable Bulb { type discrete [ 2 ] { rot, sound }; }
        probability ( Bed ) { table 0.2, 0.5, 0.3; }
        probability ( Tap ) { table 0.6, 0.4; }
        probability ( Bulb | Bed, Tap ) {
          (clay, shut) 0.30, 0.70;
          (sandy, open) 0.05, 0.95;
          (loam, shut) 0.02, 0.98;
          (clay, open) 0.80, 0.20;
          (sandy, shut) 0.01, 0.99;
          (loam, open) 0.25, 0.75;
        }""")
    assert net.query("Bulb").values == pytest.approx([0.2658, 0.7342], abs=1e-12)
    expected = [0.02558314522197141, 0.29721595184349137, 0.6772009029345373]
    assert net.query("Bed", {"Bulb": "rot"}).values == pytest.approx(expected, abs=1e-12)
    assert net.cpt("Bulb")["clay", "open", "rot"] == 0.8
    assert net.cpt("Bulb")["loam", "shut", "sound"] == 0.98


def test_states_keep_their_declared_order_and_their_text() -> None:  # pgmpy#1022, pgmpy#885
    net = bif.from_string("""
        variable Tide { type discrete [ 3 ] { mid, low, high }; }
        variable Lock { type discrete [ 2 ] { True, False }; }
        probability ( Tide ) { table 0.5, 0.2, 0.3; }
        probability ( Lock | Tide ) { (mid) 0.10, 0.90; (low) 0.01, 0.99; (high) 0.95, 0.05; }""")
    assert net.variable("Tide").states == ("mid", "low", "high")
    assert net.variable("Lock").states == ("True", "False")
    assert net.query("Lock").values == pytest.approx([0.337, 0.663], abs=1e-12)
    expected = [0.1483679525222552, 0.005934718100890209, 0.8456973293768546]
    assert net.query("Tide", {"Lock": "True"}).values == pytest.approx(expected, abs=1e-12)
    with pytest.raises(UnknownStateError, match="'True', 'False'"):
        net.query("Tide", {"Lock": True})


@pytest.mark.parametrize(
    "body",
    [
        "(x) 0.5, 0.3, 0.2; (y) 0.1, 0.1, 0.8;",
        "(y) 0.1, 0.1, 0.8; (x) 0.5, 0.3, 0.2;",
        "( x )0.5 0.3 0.2 ;\n\n(y)\t0.1\n0.1\n0.8\n;",
        "(x) .5, 3E-1, 2e-01; (y) 1.0e-1, 0.1, 8E-001;",
        "(x) 0.5, 0.3, 0.2,; (y) +0.1, 0.1, 0.8,;;",
        "(x,) 0.5, 0.3, 0.2; (y,) 0.1, 0.1, 0.8;",
        '("x") 0.5, 0.3, 0.2; ("y") 0.1, 0.1, 0.8;',
        "(x) 0.5, 0.3, 0.2; // comment } ; ( \n (y) 0.1, 0.1, 0.8;",
        "(x) 0.5, /* 0.9, */ 0.3, 0.2; (y) 0.1, 0.1, 0.8; /* } */",
        "property weight = 3 ; (x) 0.5, 0.3, 0.2; property a ( b ) ; (y) 0.1, 0.1, 0.8; property ;",
        'property "quoted ; semicolon }" ; (x) 0.5, 0.3, 0.2; (y) 0.1, 0.1, 0.8;',
        "(x) 0.5, 0.3, 0.2; default 0.1, 0.1, 0.8;",
        "default 0.1, 0.1, 0.8; (x) 0.5, 0.3, 0.2;",
        "default 0.9, 0.1, 0.0; (x) 0.5, 0.3, 0.2; (y) 0.1, 0.1, 0.8;",
        "table 0.5, 0.1, 0.3, 0.1, 0.2, 0.8;",
        "table 0.5 0.1 0.3 0.1 0.2 0.8 ;",
    ],
)
def test_one_table_in_many_spellings(body: str) -> None:
    assert table(body) == ROWS


@pytest.mark.parametrize(
    "head",
    [
        "probability(B|A)",
        "probability ( B A )",
        "probability ( B, A )",
        'probability ( "B" | "A" )',
        "probability\n(B |A\n)",
    ],
)
def test_one_head_in_many_spellings(head: str) -> None:
    assert table("(x) 0.5, 0.3, 0.2; (y) 0.1, 0.1, 0.8;", head) == ROWS


@pytest.mark.parametrize(
    "block",
    [
        "variable A { type discrete [ 2 ] { x, y }; }",
        "variable A{type discrete[2]{x,y};}",
        'variable "A" { type discrete[2] { "x" "y" }; };',
        "variable A { property p = q ; type discrete [ 2 ] = { x y } ; property r ; }",
        "variable A { // comment {\n type discrete [2] { x, /* z, */ y }; }",
        "variable\n\tA\n{\n\ttype\n\tdiscrete\n[\n2\n]\n{\nx\n,\ny,\n}\n;\n}",
    ],
)
def test_one_variable_in_many_spellings(block: str) -> None:
    net = bif.from_string(block + "probability ( A ) { table 0.4, 0.6; }")
    assert net.variables == (Variable("A", ["x", "y"]),)


@pytest.mark.parametrize("header", ["", "network n {}", 'network "two words" { }', "network a b { property x y ; }"])
def test_the_header_may_be_missing(header: str) -> None:
    assert bif.from_string(header + PREFIX + "probability(B){table 0.2,0.3,0.5;}").names == ("A", "B")


def test_the_default_stands_for_every_row_not_given() -> None:  # pgmpy#1633
    net = bif.from_string("""
        variable Sun { type discrete [ 3 ] { dim, part, full }; }
        variable Feed { type discrete [ 2 ] { poor, rich }; }
        variable Bloom { type discrete [ 2 ] { bare, flower }; }
        variable Bee { type discrete [ 2 ] { away, here }; }
        probability ( Sun ) { default 0.2, 0.3, 0.5; }
        probability ( Feed ) { table 0.6, 0.4; }
        probability ( Bloom | Sun, Feed ) {
          default 0.9, 0.1;
          (full, rich) 0.2, 0.8;
          (part, rich) 0.55, 0.45;
        }
        probability ( Bee | Bloom ) {
          (flower) 0.3, 0.7;
          default 0.95, 0.05;
        }""")
    flower = {(s, f): net.cpt("Bloom")[s, f, "flower"] for s in ("dim", "part", "full") for f in ("poor", "rich")}
    assert flower == {
        ("dim", "poor"): 0.1, ("dim", "rich"): 0.1, ("part", "poor"): 0.1,
        ("part", "rich"): 0.45, ("full", "poor"): 0.1, ("full", "rich"): 0.8,
    }  # fmt: skip
    expected = [0.09858551221603086, 0.2648949849978568, 0.6365195027861122]
    assert net.query("Sun", {"Bee": "here"}).values == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------------- dialects


def test_javabayes_writes_quotes_no_commas_no_bar_and_whole_tables() -> None:
    net = pgm.io.read(FILES / "javabayes.bif")
    assert net.names == ("light-on", "bowel-problem", "dog-out", "hear-bark", "family-out")
    assert set(net.dag.edges) == {
        ("family-out", "light-on"), ("bowel-problem", "dog-out"), ("family-out", "dog-out"), ("dog-out", "hear-bark"),
    }  # fmt: skip
    dog = net.cpt("dog-out")  # Charniak (1991): the dog is out more often if it is ill, or the family out
    assert [parent.name for parent in dog.parents] == ["bowel-problem", "family-out"]
    assert dog["true", "true", "true"] == 0.99
    assert dog["true", "false", "true"] == 0.97
    assert dog["false", "true", "true"] == 0.9
    assert dog["false", "false", "true"] == 0.3
    assert net.cpt("hear-bark").values.tolist() == [[0.7, 0.3], [0.01, 0.99]]
    assert net.cpt("light-on").values.tolist() == [[0.6, 0.4], [0.05, 0.95]]
    # Charniak (1991), "Bayesian networks without tears", AI Magazine 12(4): about a half
    assert net.query("family-out", {"light-on": "true", "hear-bark": "false"}).values[0] == pytest.approx(0.5, abs=5e-3)


def test_agrum_writes_defaults_for_roots_and_no_commas() -> None:
    net = pgm.io.read(FILES / "agrum.bif")
    assert net.cpt("grade").values.tolist() == [0.2, 0.5, 0.3]
    assert net.cpt("pass").values.tolist() == [[0.9, 0.1], [0.25, 0.75], [0.05, 0.95]]


def check_odd_names(net: BayesianNetwork) -> None:
    assert net.variable("Ø-level.2").states == ("<5", "5-10", ">=10", "n/a")
    assert net.variable("3rd_dose").states == ("0", "1.5")
    assert net.variable("größe").states == ("klein", "groß")
    assert net.variable("温度").states == ("低", "高")
    answer = net.query("Ø-level.2", {"温度": "高", "3rd_dose": "1.5"})
    expected = [0.0899532710280374, 0.19392523364485983, 0.31892523364485975, 0.39719626168224303]
    assert answer.values == pytest.approx(expected, abs=1e-12)


def test_odd_names_and_line_ends(tmp_path: Path) -> None:  # pgmpy#1560, pgmpy#1663
    net = pgm.io.read(FILES / "odd_names_crlf.bif")
    check_odd_names(net)
    pgm.io.write(net, tmp_path / "again.bif")
    check_odd_names(pgm.io.read(tmp_path / "again.bif"))
    text = (FILES / "odd_names_crlf.bif").read_bytes().decode()
    check_odd_names(bif.from_string(text.replace("\r\n", "\r")))
    check_odd_names(bif.from_string(text.replace("\r\n", "\n")))


def test_utf8_whatever_the_locale(tmp_path: Path) -> None:
    code = (
        "import sys, locale, pgm.io; assert sys.flags.utf8_mode == 0; "
        "net = pgm.io.read(sys.argv[1]); pgm.io.write(net, sys.argv[2]); "
        "assert net == pgm.io.read(sys.argv[2])"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    target = tmp_path / "again.bif"
    command = [sys.executable, "-c", code, str(FILES / "odd_names_crlf.bif"), str(target)]
    subprocess.run(command, env=environment, check=True, cwd=Path(__file__).parents[2])
    check_odd_names(pgm.io.read(target))


def test_numbers_in_all_their_spellings() -> None:  # tetrad#1698
    net = bif.from_string("""
        variable A { type discrete [ 2 ] { a, b }; }
        variable B { type discrete [ 2 ] { u, v }; }
        variable C { type discrete [ 3 ] { r, s, t }; }
        probability ( A ) { table .25, 7.5E-1; }
        probability ( B | A ) { (a) 1e-05, 9.9999E-1; (b) 1., 0; }
        probability ( C | B ) { (u) 1.0e+0, 0e0, 0.0; (v) 2.5e-1, 5E-001, .25; }""")
    assert net.cpt("A").values.tolist() == [0.25, 0.75]
    assert net.cpt("B").values.tolist() == [[1e-5, 0.99999], [1.0, 0.0]]
    assert net.cpt("C").values.tolist() == [[1.0, 0.0, 0.0], [0.25, 0.5, 0.25]]
    expected = [3.3333222222592593e-06, 0.9999966666777778]
    assert net.query("A", {"B": "u", "C": "r"}).values == pytest.approx(expected, abs=1e-15)
    assert net.probability({"B": "u", "C": "r"}) == pytest.approx(0.7500025, abs=1e-15)


def test_rows_of_rounded_figures_are_divided_by_their_sum() -> None:  # pgmpy#1068
    net = bif.from_string("""
        variable A { type discrete [ 3 ] { x, y, z }; }
        variable B { type discrete [ 4 ] { p, q, r, s }; }
        probability ( A ) { table 0.3333, 0.3333, 0.3333; }
        probability ( B | A ) {
          (x) 0.04, 0.04, 0.82, 0.10;
          (y) 0.143, 0.143, 0.143, 0.572;
          (z) 0.25, 0.25, 0.25, 0.25;
        }""")
    assert net.cpt("A").values == pytest.approx([1 / 3] * 3, abs=1e-15)
    assert net.cpt("B").values[0].tolist() == [0.04, 0.04, 0.82, 0.1]  # as written: off by the last bit only
    assert net.cpt("B").values[1] == pytest.approx(np.array([0.143, 0.143, 0.143, 0.572]) / 1.001, abs=1e-15)
    expected = [0.1442857142857143, 0.1442857142857143, 0.4042857142857143, 0.30714285714285716]
    assert net.query("B").values == pytest.approx(expected, abs=1e-12)


def test_variables_without_edges_and_with_one_state_stay() -> None:  # pgmpy#936, pgmpy#2270
    net = bif.from_string("""
        variable Skin { type discrete [ 1 ] { all }; }
        variable Lone { type discrete [ 3 ] { i, j, k }; }
        variable A { type discrete [ 2 ] { a0, a1 }; }
        variable B { type discrete [ 2 ] { b0, b1 }; }
        probability ( B | A ) { (a0) 0.9, 0.1; (a1) 0.3, 0.7; }
        probability ( A ) { table 0.4, 0.6; }
        probability ( Lone ) { table 0.2, 0.3, 0.5; }
        probability ( Skin ) { table 1.0; }""")
    assert net.names == ("Skin", "Lone", "A", "B")  # the order of the variables, not of the tables
    assert net.query("Lone", {"B": "b1"}).values == pytest.approx([0.2, 0.3, 0.5], abs=1e-12)
    assert net.query("A", {"B": "b1"}).values == pytest.approx([0.08695652173913046, 0.9130434782608696], abs=1e-12)
    assert net.query("Skin")["all"] == 1.0


def test_joint_answers_have_their_axes_in_the_order_asked() -> None:  # bnlearn#40, pgmpy#945
    net = bif.from_string("""
        variable A { type discrete [ 2 ] { a0, a1 }; }
        variable B { type discrete [ 3 ] { b0, b1, b2 }; }
        variable C { type discrete [ 2 ] { c0, c1 }; }
        probability ( A | C ) { (c0) 0.9, 0.1; (c1) 0.4, 0.6; }
        probability ( B | A, C ) {
          (a0, c0) 0.2, 0.3, 0.5; (a1, c0) 0.1, 0.1, 0.8; (a0, c1) 0.6, 0.3, 0.1; (a1, c1) 0.25, 0.25, 0.5;
        }
        probability ( C ) { table 0.35, 0.65; }""")
    joint = net.query(["C", "A", "B"])
    assert joint.values.shape == (2, 2, 3)
    expected = [0.063, 0.0945, 0.1575, 0.0035, 0.0035, 0.028, 0.156, 0.078, 0.026, 0.0975, 0.0975, 0.195]
    assert joint.values.ravel() == pytest.approx(expected, abs=1e-12)
    assert net.query(["B", "C", "A"]).values.ravel() == pytest.approx(posterior(net, ["B", "C", "A"], {}), abs=1e-12)


# ---------------------------------------------------------------------- writing


def test_the_text_written() -> None:
    rain, wet = Variable("rain", ["no", "yes, a lot"]), Variable("wet ground", ["<5", "n/a"])
    net = BayesianNetwork([CPT(wet, [[1 / 3, 2 / 3], [1e-300, 1]], [rain]), CPT(rain, [0.1, 0.9])])
    expected = """network unknown {
}
variable "wet ground" {
  type discrete [ 2 ] { <5, n/a };
}
variable rain {
  type discrete [ 2 ] { no, "yes, a lot" };
}
probability ( "wet ground" | rain ) {
  (no) 0.3333333333333333, 0.6666666666666666;
  ("yes, a lot") 1e-300, 1.0;
}
probability ( rain ) {
  table 0.1, 0.9;
}
"""
    assert bif.to_string(net) == expected


def test_labels_that_are_not_text_come_back_as_text() -> None:  # pgmpy#1552
    dose, cured = Variable("Dose", [0, 1, 2]), Variable("Cured", [False, True])
    net = BayesianNetwork([CPT(dose, [0.5, 0.3, 0.2]), CPT(cured, [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], [dose])])
    again = bif.from_string(bif.to_string(net))
    assert again.variable("Dose").states == ("0", "1", "2")
    assert again.variable("Cured").states == ("False", "True")
    expected = [0.12820512820512822, 0.4615384615384615, 0.4102564102564103]
    assert again.query("Dose", {"Cured": "True"}).values == pytest.approx(expected, abs=1e-12)
    with pytest.raises(UnknownStateError, match="'False', 'True'"):
        again.query("Dose", {"Cured": True})


def test_integer_labels_are_no_positions_after_a_file_either() -> None:  # pgmpy#1715, pgmpy#698
    dose, cured = Variable("Dose", [1, 2, 3]), Variable("Cured", [1, 0])
    net = BayesianNetwork([CPT(dose, [0.5, 0.3, 0.2]), CPT(cured, [[0.1, 0.9], [0.6, 0.4], [0.8, 0.2]], [dose])])
    again = bif.from_string(bif.to_string(net))
    assert again.query("Cured", {"Dose": "1"}).values == pytest.approx([0.1, 0.9], abs=1e-12)
    expected = [0.7377049180327869, 0.19672131147540983, 0.06557377049180328]
    assert again.query("Dose", {"Cured": "0"}).values == pytest.approx(expected, abs=1e-12)
    with pytest.raises(UnknownStateError):
        again.query("Cured", {"Dose": "0"})


def test_labels_that_would_be_the_same_text_are_refused(tmp_path: Path) -> None:
    net = BayesianNetwork([CPT(Variable("x", [1, "a", "1"]), [0.2, 0.3, 0.5])])
    with pytest.raises(FormatError, match="'x' has labels that a text file cannot tell apart: 1, '1'"):
        pgm.io.write(net, tmp_path / "x.bif")
    assert list(tmp_path.iterdir()) == []


def test_every_number_comes_back_as_it_was() -> None:
    rng = np.random.default_rng(7)
    variables = [Variable(f"v{i}", [str(j) for j in range(5)]) for i in range(3)]
    net = BayesianNetwork(
        [CPT(variables[0], rng.dirichlet([0.01] * 5)), *(
            CPT(variables[i], rng.dirichlet([0.05] * 5, size=(5,) * i), variables[:i]) for i in (1, 2)
        )]
    )  # fmt: skip
    again = bif.from_string(bif.to_string(net))
    for cpt in net.cpts:
        assert np.array_equal(cpt.values, again.cpt(cpt.child.name).values)
    assert math.isclose(net.query("v0").values.sum(), 1.0)
