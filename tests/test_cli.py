"""The command line: answers on standard output, errors in one line on standard error with exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pgm.io
from pgm import networks
from pgm.cli import main
from pgm.graph.dag import DAG

ROOT = Path(__file__).parents[1]

Run = pytest.CaptureFixture[str]


def ok(capsys: Run, *arguments: str) -> str:
    code = main(arguments)
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def error(capsys: Run, *arguments: str) -> str:
    code = main(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("pgm: error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err.removeprefix("pgm: error: ").strip()


# ---------------------------------------------------------------------- looking and asking


def test_info_says_how_large_a_network_is(capsys: Run) -> None:
    assert ok(capsys, "info", "alarm") == (
        "37 variables, 46 edges, 509 free parameters\n"
        "states of a variable: at most 4\n"
        "parents of a variable: at most 4\n"
        "largest table: 108 numbers (CATECHOL)\n"
    )
    listed = ok(capsys, "info", "asia", "--variables").splitlines()
    assert listed[4:8] == ["asia {yes, no}", "tub {yes, no} <- asia", "smoke {yes, no}", "lung {yes, no} <- smoke"]
    assert len(listed) == 12


def test_query_prints_the_posterior(capsys: Run) -> None:
    asia = networks.load("asia")
    assert ok(capsys, "query", "asia", "lung") == f"{asia.query('lung')}\n"
    given = {"xray": "yes", "smoke": "no"}
    expected = f"P(xray=yes, smoke=no) = {asia.probability(given):.6g}\n{asia.query(['lung', 'tub'], given)}\n"
    assert ok(capsys, "query", "asia", "lung", "tub", "--given", "xray=yes", "smoke=no") == expected
    assert ok(capsys, "query", "asia", "lung", "tub", "--given", "xray=yes", "--given", "smoke=no") == expected


def test_query_without_targets_prints_all_marginals(capsys: Run) -> None:
    out = ok(capsys, "query", "asia", "--given", "smoke=yes")
    head, tables = out.split("\n", 1)
    assert head == "P(smoke=yes) = 0.5"
    marginals = networks.load("asia").marginals({"smoke": "yes"})
    assert tables.rstrip("\n").split("\n\n") == [str(factor) for factor in marginals.values()]


def test_names_and_labels_may_hold_equals_signs(capsys: Run, tmp_path: Path) -> None:
    x = pgm.io.read_string(
        'variable "a=b" { type discrete [2] { c "d=e" }; } probability ("a=b") { table 0.25 0.75; }', "bif"
    )
    pgm.io.write(x, tmp_path / "x.bif")
    out = ok(capsys, "query", str(tmp_path / "x.bif"), "a=b", "--given", "a=b=d=e")
    assert out.startswith("P(a=b=d=e) = 0.75\n")


def test_separate_prints_the_explanation(capsys: Run, tmp_path: Path) -> None:
    dag = networks.load("asia").dag
    out = ok(capsys, "separate", "asia", "asia", "smoke", "--given", "dysp", "lung")
    assert out == f"{dag.explain_separation('asia', 'smoke', given=['dysp', 'lung'])}\n"
    assert "d-connected" in out
    (tmp_path / "g.dot").write_text("digraph { a -> b -> c }")
    assert "Yes, they are d-separated" in ok(capsys, "separate", str(tmp_path / "g.dot"), "a", "c", "--given", "b")


def test_dot_prints_or_writes_the_graph(capsys: Run, tmp_path: Path) -> None:
    net = networks.load("asia")
    assert ok(capsys, "dot", "asia") == net.to_dot()
    options = ["--highlight", "smoke", "bronc", "dysp", "--given", "dysp"]
    expected = net.to_dot(highlight=["smoke", "bronc", "dysp"], evidence=["dysp"])
    assert ok(capsys, "dot", "asia", *options) == expected
    target = tmp_path / "out.dot"
    assert ok(capsys, "dot", "asia", "-o", str(target)) == ""
    assert target.read_text() == net.to_dot()
    assert ok(capsys, "dot", str(target)) == net.to_dot()


def test_convert_writes_another_format(capsys: Run, tmp_path: Path) -> None:
    source, middle, target = (str(tmp_path / name) for name in ("a.bif", "b.txt", "c.bif.gz"))
    assert ok(capsys, "convert", "child", source) == ""
    assert ok(capsys, "convert", source, middle, "--to", "bif") == ""
    assert ok(capsys, "convert", middle, target, "--from", "bif") == ""
    assert pgm.io.read(target) == networks.load("child")
    assert ok(capsys, "convert", source, str(tmp_path / "d.dot")) == ""
    assert DAG.from_dot((tmp_path / "d.dot").read_text()) == networks.load("child").dag


def test_a_file_comes_before_a_bundled_network(capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("asia").write_text("variable x { type discrete [1] {a}; } probability(x) { table 1; }")
    assert "the suffix '' names no format" in error(capsys, "info", "asia")
    Path("asia").rename("elsewhere")
    assert ok(capsys, "info", "asia").startswith("8 variables")


# ---------------------------------------------------------------------- learning


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Data in which b copies a nine times in ten, c is a coin."""
    rows = [f"{a},{b},{c}" for a in "xy" for c in "01" for b in "xy" for _ in range(9 if a == b else 1)]
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n" + "\n".join(rows) + "\n")
    return path


def test_learn_writes_a_network(capsys: Run, tmp_path: Path, chain: Path) -> None:
    target = tmp_path / "net.bif"
    out = ok(capsys, "learn", str(chain), "-o", str(target), "--required", "a->b")
    assert "1 edges: 'a->b'" in out
    net = pgm.io.read(target)
    assert net.names == ("a", "b", "c")
    assert net.cpt("b")["x", "x"] == pytest.approx(0.9)
    ok(capsys, "learn", str(chain), "-o", str(target), "--required", "a->b", "--pseudocount", "1", "--score", "aic")
    assert pgm.io.read(target).cpt("b")["x", "x"] == pytest.approx(19 / 22)


def test_learn_writes_a_graph(capsys: Run, tmp_path: Path, chain: Path) -> None:
    target = tmp_path / "net.dot"
    ok(capsys, "learn", str(chain), "-o", str(target), "--forbidden", "a->b")
    assert DAG.from_dot(target.read_text()) == DAG([("b", "a")], nodes=["a", "b", "c"])


def test_learn_passes_warnings_on_in_one_line(capsys: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n0,0,0\n0,1,1\n1,0,1\n")
    target = str(tmp_path / "net.bif")
    assert main(["learn", str(path), "-o", target, "--required", "a->c", "b->c"]) == 0
    out, err = capsys.readouterr()
    assert "2 edges" in out
    assert err.startswith("pgm: warning: no rows for 1 parent configurations")
    assert err.count("\n") == 1
    assert pgm.io.read(target).cpt("c")["1", "1", "0"] == 0.5


def test_learn_refuses_what_it_cannot_do(capsys: Run, tmp_path: Path, chain: Path) -> None:
    target = str(tmp_path / "net.bif")
    message = error(capsys, "learn", str(chain), "-o", target, "--required", "ab")
    assert message == "expected an edge like 'a->b', found 'ab'"
    assert "names no format" in error(capsys, "learn", str(chain), "-o", str(tmp_path / "net.xyz"))
    assert "'z'" in error(capsys, "learn", str(chain), "-o", target, "--required", "a->z")
    assert "nosuch" in error(capsys, "learn", str(chain), "-o", target, "--score", "nosuch")
    assert "No such file" in error(capsys, "learn", str(tmp_path / "none.csv"), "-o", target)
    assert not Path(target).exists()


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND; see pgm --help"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["info"], "the following arguments are required: FILE; see pgm info --help"),
        (["info", "asia", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["info", "asja"], "no file 'asja', and no bundled network 'asja'; did you mean 'asia'"),
        (["info", "missing.bif"], "missing.bif: No such file or directory"),
        (["info", "missing.xyz"], "the suffix '.xyz' names no format"),
        (["query", "asia", "Lung"], "'Lung'"),
        (["query", "asia", "lung", "--given", "smoke=maybe"], "'smoke' has no state 'maybe'; its states are 'yes'"),
        (["query", "asia", "lung", "--given", "smoke"], "expected name=label, found 'smoke'"),
        (["query", "asia", "lung", "--given", "smoke=yes", "smoke=no"], "'smoke' is given twice"),
        (["query", "asia", "lung", "--given", "Smoke=yes"], "'Smoke'"),
        (["query", "asia", "lung", "--given", "either=no", "tub=yes"], "either"),
        (["separate", "asia", "asia", "nowhere"], "'nowhere'"),
        (["dot", "asia", "--highlight", "asia", "xray"], "no edge joins them"),
        (["dot", "asia", "-o", "no/such/directory/x.dot"], "no/such/directory/x.dot: No such file or directory"),
        (["convert", "asia", "x.xyz"], "the suffix '.xyz' names no format"),
        (["convert", "asia", "x.bif", "--to", "word"], "unknown format 'word'; the formats are 'bif'"),
    ],
)
def test_errors_are_one_line_and_code_two(
    capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_named_with_its_line(capsys: Run, tmp_path: Path) -> None:
    path = tmp_path / "broken.bif"
    path.write_text("variable x {\n type discrete [ 2 ] { a };\n}")
    assert error(capsys, "info", str(path)).startswith(f"{path}: line 2: 'x' announces 2 states but lists 1")


def test_help_is_printed(capsys: Run) -> None:
    for arguments in (["--help"], ["query", "--help"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert "usage: pgm" in capsys.readouterr().out


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "pgm", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_as_a_module_it_returns_the_exit_code() -> None:
    done = run("info", "nothing")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"pgm: error: no file 'nothing'")
    assert run("info", "asia").stdout.startswith(b"8 variables")


def test_output_is_utf8_in_any_locale(tmp_path: Path) -> None:
    path = tmp_path / "größe.dot"
    path.write_text('digraph { "größe" -> "温度" }', encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run("dot", str(path), env=environment)
    assert done.returncode == 0
    assert '"größe" -> "温度";' in done.stdout.decode()
    done = run("dot", str(tmp_path / "温度.dot"), env=environment)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m pgm info munin --variables | head -1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b"1041 variables, 1397 edges, 80592 free parameters\n"
    assert done.stderr == b""
