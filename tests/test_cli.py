"""The command line: answers on standard output, errors in one line on standard error with exit code 2."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
import zlib
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


def test_the_version_and_the_bundled_networks(capsys: Run) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr() == (f"pgm {pgm.__version__}\n", "")
    assert ok(capsys, "networks").split() == list(networks.names())


def test_query_prints_the_posterior(capsys: Run) -> None:
    asia = networks.load("asia")
    assert ok(capsys, "query", "asia", "lung") == f"{asia.query('lung')}\n"
    given = {"xray": "yes", "smoke": "no"}
    expected = f"P(xray=yes, smoke=no) = {asia.probability(given):.6g}\n{asia.query(['lung', 'tub'], given)}\n"
    assert ok(capsys, "query", "asia", "lung", "tub", "--given", "xray=yes", "smoke=no") == expected
    assert ok(capsys, "query", "asia", "lung", "tub", "--given", "xray=yes", "--given", "smoke=no") == expected
    for words in (
        ["--given", "xray=yes", "smoke=no", "lung", "tub"],
        ["lung", "--given", "xray=yes", "smoke=no", "tub"],
        ["--given", "xray=yes", "lung", "--given", "smoke=no", "tub"],
        ["--given", "xray=yes", "lung", "tub", "smoke=no"],
    ):
        assert ok(capsys, "query", "asia", *words) == expected


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


@pytest.mark.parametrize("name", ["q.bif", "q.json", "q.bif.gz", "q.svg", "q.png"])
def test_dot_is_not_written_under_the_name_of_another_format(
    capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    suffix = name.removeprefix("q").removesuffix(".gz")
    message = f"{name}: the suffix '{suffix}' does not mean DOT; allowed are '.dot', '.gv'"
    assert error(capsys, "dot", "asia", "-o", name) == message
    assert list(tmp_path.iterdir()) == []


def test_labels_that_are_numbers_are_written_as_they_print(capsys: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    dose, cured = pgm.Variable("Dose", [0, 1.5, "2"]), pgm.Variable("Cured", [False, True])
    table = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
    net = pgm.BayesianNetwork([pgm.CPT(dose, [0.5, 0.3, 0.2]), pgm.CPT(cured, table, parents=[dose])])
    pgm.io.write(net, path)
    for text, label in (("0", 0), ("1.5", 1.5), ("2", "2")):
        expected = f"P(Dose={text}) = {net.probability({'Dose': label}):.6g}\n{net.query('Cured', {'Dose': label})}\n"
        assert ok(capsys, "query", path, "Cured", "--given", f"Dose={text}") == expected
    assert ok(capsys, "query", path, "Dose", "--given", "Cured=True").startswith("P(Cured=True) = 0.39\n")
    assert "'Cured' has no state 'true'; its states are False, True" in error(
        capsys, "query", path, "Dose", "--given", "Cured=true"
    )
    twins = pgm.Variable("x", [1, "1", True])
    pgm.io.write(pgm.BayesianNetwork([pgm.CPT(twins, [0.5, 0.25, 0.25])]), path)
    assert error(capsys, "query", path, "--given", "x=1") == "1 may be any of the states 1, '1' of 'x'"
    assert ok(capsys, "query", path, "x", "--given", "x=True").startswith("P(x=True) = 0.25")


def test_convert_writes_another_format(capsys: Run, tmp_path: Path) -> None:
    source, middle, target = (str(tmp_path / name) for name in ("a.bif", "b.txt", "c.bif.gz"))
    assert ok(capsys, "convert", "child", source) == ""
    assert ok(capsys, "convert", source, middle, "--to", "bif") == ""
    assert ok(capsys, "convert", middle, target, "--from", "bif") == ""
    assert pgm.io.read(target) == networks.load("child")
    assert ok(capsys, "convert", source, str(tmp_path / "d.dot")) == ""
    assert DAG.from_dot((tmp_path / "d.dot").read_text()) == networks.load("child").dag
    assert ok(capsys, "convert", source, str(tmp_path / "e.json")) == ""
    assert pgm.io.read(tmp_path / "e.json") == networks.load("child")


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


@pytest.mark.parametrize(("search", "method"), [
    ("auto", "dynamic programming"),
    ("hill-climbing", "hill climbing"),
    ("tabu", "tabu search"),
    ("orders", "order search"),
    ("exact", "dynamic programming"),
])  # fmt: skip
def test_learn_by_other_searches(capsys: Run, tmp_path: Path, chain: Path, search: str, method: str) -> None:
    target = tmp_path / "net.dot"
    out = ok(capsys, "learn", str(chain), "-o", str(target), "--search", search, "--max-parents", "1")
    assert f"by {method}" in out
    assert len(DAG.from_dot(target.read_text()).edges) == 1
    ok(capsys, "learn", str(chain), "-o", str(target), "--search", search, "--max-parents", "0")
    assert DAG.from_dot(target.read_text()).edges == ()


def test_learn_passes_warnings_on_in_one_line(capsys: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n0,0,0\n0,1,1\n1,0,1\n")
    target = str(tmp_path / "net.bif")
    assert main(["learn", str(path), "-o", target, "--required", "a->c", "b->c"]) == 0
    out, err = capsys.readouterr()
    assert "2 edges" in out
    assert err.startswith("pgm: warning: no rows for 1 parent configuration")
    assert err.count("\n") == 1
    assert pgm.io.read(target).cpt("c")["1", "1", "0"] == 0.5


def test_learn_with_columns_of_measurements(capsys: Run, tmp_path: Path) -> None:
    sex = pgm.Variable("sex", ["f", "m"])
    height = pgm.ConditionalGaussian("height", [166, 179], 25, [sex])
    coin = pgm.CPT.uniform(pgm.Variable("coin", ["h", "t"]))
    rows = pgm.BayesianNetwork([pgm.CPT(sex, [0.4, 0.6]), coin, height]).sample(300, rng=0)
    path, target = tmp_path / "people.csv", tmp_path / "net.json"
    cells = [",".join(map(str, row)) for row in zip(*rows.to_dict().values(), strict=True)]
    path.write_text("\n".join(["sex,coin,height", *cells]) + "\n")
    out = ok(capsys, "learn", str(path), "--continuous", "height", "-o", str(target))
    net = pgm.fit_parameters(pgm.DAG([("sex", "height")], nodes=["sex", "coin", "height"]), rows)
    found = pgm.read(target)
    assert found.dag == net.dag
    assert found.gaussians["height"].means.tolist() == pytest.approx(net.gaussians["height"].means.tolist())
    assert found.gaussians["height"].variances.tolist() == pytest.approx(net.gaussians["height"].variances.tolist())
    assert found.cpt("sex").allclose(net.cpt("sex"))
    assert out == f"bic {pgm.score(net.dag, rows):.6f} by structural EM with learn_structure, 1 edges: 'sex->height'\n"
    graph = tmp_path / "net.dot"
    options = ["--search", "exact", "--score", "aic", "--forbidden", "sex->height", "--max-parents", "1"]
    ok(capsys, "learn", str(path), "-o", str(graph), "--continuous", "height", *options)
    assert not DAG.from_dot(graph.read_text()).has_edge("sex", "height")
    for output in [str(tmp_path / "net.bif"), str(tmp_path / "net.bif.gz")]:
        message = error(capsys, "learn", str(path), "-o", output, "--continuous", "height")
        assert message == f"{output}: BIF holds discrete variables only; with --continuous use .json"
    assert "cut it into intervals first, declare its states, or declare it as --continuous ['height']" in error(
        capsys, "learn", str(path), "-o", str(target)
    )
    assert "no column 'weight'" in error(capsys, "learn", str(path), "-o", str(target), "--continuous", "weight")
    assert "column 'sex', row 0 (counting from 0): 'm' is no number" in error(
        capsys, "learn", str(path), "-o", str(target), "--continuous", "height", "sex"
    )
    assert "'bdeu' only for counts" in error(
        capsys, "learn", str(path), "-o", str(target), "--continuous", "height", "--score", "bdeu"
    )


def test_learn_refuses_what_it_cannot_do(capsys: Run, tmp_path: Path, chain: Path) -> None:
    target = str(tmp_path / "net.bif")
    message = error(capsys, "learn", str(chain), "-o", target, "--required", "ab")
    assert message == "expected an edge like 'a->b', found 'ab'"
    assert "names no format" in error(capsys, "learn", str(chain), "-o", str(tmp_path / "net.xyz"))
    assert "'z'" in error(capsys, "learn", str(chain), "-o", target, "--required", "a->z")
    assert "nosuch" in error(capsys, "learn", str(chain), "-o", target, "--score", "nosuch")
    assert "No such file" in error(capsys, "learn", str(tmp_path / "none.csv"), "-o", target)
    assert not Path(target).exists()


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "1e999", "much", ""])
@pytest.mark.parametrize("target", ["x.dot", "x.bif"])
def test_learn_refuses_pseudocounts_before_it_reads(
    capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    message = error(capsys, "learn", "no such file.csv", "-o", target, f"--pseudocount={number}")
    expected = f"argument --pseudocount: it must be a finite number from 0, not {number!r}; see pgm learn --help"
    assert message == expected


def test_learn_finds_out_before_the_search_that_it_cannot_write(
    capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chain: Path
) -> None:
    def search(*arguments: object, **options: object) -> None:
        raise AssertionError("the search was started")

    monkeypatch.setattr("pgm.learning.learn_structure", search)
    (tmp_path / "folder.bif").mkdir()
    for name, message in {"missing/x.bif": "No such file or directory", "folder.bif": "Is a directory"}.items():
        target = str(tmp_path / name)
        assert error(capsys, "learn", str(chain), "-o", target) == f"{target}: {message}"


BAD_DATA = {
    "nothing": b"",
    "half a row": b"a,b\n0,1\n1\n",
    "an open quote": b'a,b\n"0,1\n',
    "not UTF-8": b"a,b\n\xff,1\n",
    "UTF-16": "a,b\n0,1\n".encode("utf-16"),
    "NUL": b"a,b\n\0,1\n0",
    "a name twice": b"a,a\n0,1\n",
    "only missing": b"a,b\n,\n,\n",
    "a huge cell": b"a,b\n0," + b"9" * 200_000 + b"\n0,1,2\n",
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_one_line(capsys: Run, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(BAD_DATA[kind])
    assert "did not foresee" not in error(capsys, "learn", str(path), "-o", str(tmp_path / "x.json"))
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("cut", [0, 3, 12, -9, -1])
def test_damaged_gzip_data_is_one_line(capsys: Run, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "data.csv.gz"
    whole = gzip.compress(b"a,b\n" + b"0,1\n1,0\n" * 999)
    path.write_bytes(whole[:cut] if cut else whole[:20] + b"\xff" * 9 + whole[29:])
    assert "did not foresee" not in error(capsys, "learn", str(path), "-o", str(tmp_path / "x.json"))


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
        (["convert", "asia", "", "--to", "bif"], "'': No such file or directory"),
        (["convert", "asia", "a\0b.bif"], r"'a\x00b.bif': the name of a file cannot hold a NUL character"),
        (["info", "a\0b.bif"], r"'a\x00b.bif': the name of a file cannot hold a NUL character"),
        (["info", "x" * 300], "File name too long"),
        (["convert", "asia", "/dev/full", "--to", "bif"], "/dev/full: No space left on device"),
        (["convert", "asia", "x.bif", "--to", "word"], "unknown format 'word'; the formats are 'bif'"),
    ],
)
def test_errors_are_one_line_and_code_two(
    capsys: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


FAILURES = [
    (OSError(errno.EIO, "Input/output error", "x.bif"), "x.bif: Input/output error"),
    (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    (MemoryError(), "not enough memory"),
    (MemoryError("Unable to allocate 4.00 GiB"), "not enough memory; Unable to allocate 4.00 GiB"),
    *(
        (failure, f"{type(failure).__name__}: {failure}; pgm did not foresee this, and PGM_DEBUG=1 shows where")
        for failure in (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            EOFError("Compressed file ended"),
            zlib.error("Error -3"),
            RecursionError("maximum recursion depth exceeded"),
            ValueError("two\nlines"),
            OSError("without a number"),
        )
    ),
]


@pytest.mark.parametrize(("failure", "message"), FAILURES)
def test_whatever_goes_wrong_is_one_line(
    capsys: Run, monkeypatch: pytest.MonkeyPatch, failure: Exception, message: str
) -> None:
    def fail(name: str) -> None:
        raise failure

    monkeypatch.setattr(networks, "load", fail)
    monkeypatch.delenv("PGM_DEBUG", raising=False)
    assert error(capsys, "info", "asia").startswith(message.replace("\n", " "))
    monkeypatch.setenv("PGM_DEBUG", "1")
    with pytest.raises(type(failure)) as caught:
        main(["info", "asia"])
    assert caught.value is failure


def test_an_interrupt_is_one_line(capsys: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(networks, "load", interrupt)
    assert main(["info", "asia"]) == 130
    assert capsys.readouterr() == ("", "pgm: interrupted\n")


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


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command in which ``pgm`` is this package, and ``$?`` is echoed after it on standard error."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    script = f'pgm() {{ "{sys.executable}" -m pgm "$@"; echo "code $?" >&3; }}; {command}'
    command = f"exec 3>&2; {script}"
    return subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False, env=buffered)


def test_a_reader_that_stops_reading_is_no_error() -> None:
    done = shell("pgm info munin --variables | head -1")
    assert done.stdout == b"1041 variables, 1397 edges, 80592 free parameters\n"
    assert done.stderr == b"code 0\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("pgm info asia > /dev/full", "pgm: error: standard output: No space left on device\ncode 2\n"),
        ("pgm --help > /dev/full", "pgm: error: standard output: No space left on device\ncode 2\n"),
        ("pgm info asia >&-", "pgm: error: standard output: Bad file descriptor\ncode 2\n"),
        ("pgm info nothing 2>&-", "code 2\n"),
        ("pgm info nothing 2>/dev/full", "code 2\n"),
        ("pgm convert munin /dev/stdout --to bif | head -0", "code 0\n"),
    ],
)
def test_a_terminal_that_takes_nothing(command: str, message: str) -> None:
    done = shell(command)
    assert (done.stdout.decode(), done.stderr.decode()) == ("", message)


def test_standard_output_as_a_file(tmp_path: Path) -> None:
    bif = networks.load("cancer").to_string("bif").encode()
    assert shell("pgm convert cancer /dev/stdout --to bif | cat").stdout == bif
    assert shell("pgm convert cancer /dev/fd/1 --to bif").stdout == bif
    assert shell("pgm dot cancer -o /dev/stdout | cat").stdout == networks.load("cancer").to_dot().encode()
    log = tmp_path / "log"
    shell(f'(echo first; pgm convert cancer /dev/stdout --to bif; echo last) > "{log}"')
    assert log.read_bytes() == b"first\n" + bif + b"last\n"
