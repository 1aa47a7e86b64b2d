"""DOT out and in. What we write is read by a small lexer below and by Graphviz; what we read, Graphviz reads alike."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm import networks
from pgm.errors import FormatError, GraphError, UnknownNameError, UnknownStateError
from pgm.graph.dag import DAG
from pgm.io.dot import read_dag, to_dot

HOSTILE = (
    "node", "graph", "SubGraph", "a:b", "x->y", 'quo"te', "two\nlines", "back\\slash", "end\\", "naïve", "1.5", "-",
    "\\N", "\\n", "\\\n", '\\"', "&lt;", "&amp;amp;", "<b>", " ", "//", "/* */", "# no", "a;b", "温度", "😀", "[x];",
)  # fmt: skip


def lexed(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Read what to_dot writes, and only that: quoted names, edges, attributes to drop."""
    text = re.sub(r'((?:\\\\)+)" \+ "(?=\r?\n)', r"\1", text)  # a string written in two parts
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|->|\[.*?\](?=;)|[{};]|digraph', text, re.DOTALL)
    assert tokens[:2] == ["digraph", "{"]
    assert tokens[-1] == "}"
    nodes, edges = [], []
    for statement in " \0 ".join(tokens[2:-1]).split(" \0 ;"):
        names = [t for t in statement.split(" \0 ") if t.startswith('"')]
        decoded = [re.sub(r"\\(.)", r"\1", name[1:-1], flags=re.DOTALL) for name in names]
        if len(decoded) == 2:
            edges.append((decoded[0], decoded[1]))
        else:
            nodes += decoded
    return nodes, edges


names = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=5).filter(lambda name: "\0" not in name))


@st.composite
def dags(draw: st.DrawFn) -> DAG:
    nodes = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    pairs = [(nodes[i], nodes[j]) for j in range(len(nodes)) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return DAG(edges, nodes=draw(st.permutations(nodes)))


@given(dags())
@settings(max_examples=150, deadline=None)
def test_any_graph_comes_back(dag: DAG) -> None:
    text = to_dot(dag)
    again = read_dag(text)
    assert again.nodes == dag.nodes
    assert again.edges == dag.edges
    assert lexed(text) == (list(dag.nodes), list(dag.edges))


def test_reserved_words_ports_quotes_and_backslashes() -> None:  # pydot#111, igraph#959, networkx#5203, graphviz#105
    nodes = HOSTILE[:12]
    dag = DAG(list(pairwise(nodes)))
    expected = r"""digraph {
  "node";
  "graph";
  "SubGraph";
  "a:b";
  "x->y";
  "quo\"te";
  "two
lines";
  "back\\slash";
  "end\\";
  "naïve";
  "1.5";
  "-";
  "node" -> "graph";
  "graph" -> "SubGraph";
  "SubGraph" -> "a:b";
  "a:b" -> "x->y";
  "x->y" -> "quo\"te";
  "quo\"te" -> "two
lines";
  "two
lines" -> "back\\slash";
  "back\\slash" -> "end\\";
  "end\\" -> "naïve";
  "naïve" -> "1.5";
  "1.5" -> "-";
}
"""
    assert to_dot(dag) == expected


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pydot with a newer pyparsing
def test_pydot_sees_the_same_graph() -> None:
    import pydot

    dag = DAG(list(pairwise(HOSTILE)), nodes=[*HOSTILE, "alone"])

    def name(text: object) -> str:
        return re.sub(r'\\(["\\])', r"\1", str(text)[1:-1])

    (graph,) = pydot.graph_from_dot_data(to_dot(dag, highlight=HOSTILE[:3], evidence=["alone"])) or []
    assert [name(node.get_name()) for node in graph.get_nodes()] == list(dag.nodes)
    assert {(name(edge.get_source()), name(edge.get_destination())) for edge in graph.get_edges()} == set(dag.edges)
    again = read_dag(graph)  # a pydot graph is read like text
    assert again.nodes == dag.nodes
    assert again.edges == dag.edges


def test_a_backslash_before_a_line_end_is_kept_from_pydot() -> None:
    assert to_dot(DAG(nodes=["a\\\nb"])) == 'digraph {\n  "a\\\\" + "\nb";\n}\n'
    for name in ("\\\n", "\\\\\n", "a\\\r\nb", "\\\r", "\n\\", "\\\n\\\n\\"):
        assert read_dag(to_dot(DAG(nodes=[name]))).nodes == (name,)
        as_others_write_it = 'digraph { "' + name.replace("\\", "\\\\") + '" }'
        assert read_dag(as_others_write_it).nodes == (name,)
    assert read_dag('digraph { // \\\\\n a; /* "\\\\\n */ b }').nodes == ("a", "b")
    assert read_dag('digraph { "a\\\\\\\nb" }').nodes == ("a\\b",)  # the third backslash continues the string


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_shows_the_names_themselves() -> None:
    nodes = [name for name in HOSTILE if name.strip()]
    dag = DAG(list(pairwise(nodes)), nodes=[*nodes, "seen"])
    text = to_dot(dag, highlight=nodes[1:4], evidence={"seen": 'a\\b "&gt;"'})
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    shown = [html.unescape(found) for found in re.findall(r"<text[^>]*>(.*?)</text>", done.stdout.decode())]
    lines = [line.strip() for name in [*nodes, 'seen = a\\b "&gt;"'] for line in name.split("\n") if line.strip()]
    assert [line.strip() for line in shown if line.strip()] == lines
    assert done.stdout.count(b'class="edge"') == len(dag.edges)


def test_isolated_nodes_and_declared_order_stay() -> None:
    dag = DAG([("b", "a")], nodes=["c", "b", "a"])
    assert lexed(to_dot(dag)) == (["c", "b", "a"], [("b", "a")])


def test_networks_are_drawn_as_their_graph() -> None:
    net = networks.load("asia")
    assert to_dot(net) == to_dot(net.dag) == net.to_dot() == net.dag.to_dot()
    assert DAG.from_dot(net.to_dot()) == net.dag


# ---------------------------------------------------------------------- highlight and evidence

DIAMOND = DAG([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


def lines_with(text: str, word: str) -> list[str]:
    return [line.split(" [")[0].strip() for line in text.splitlines() if word in line]


def test_a_trail_is_coloured_in_either_direction() -> None:
    text = to_dot(DIAMOND, highlight=["b", "a", "c", "d"])
    assert lines_with(text, "color=") == ['"a" -> "b"', '"a" -> "c"', '"c" -> "d"']
    assert lines_with(to_dot(DIAMOND, highlight=["b"]), "color=") == []
    assert lines_with(to_dot(DIAMOND), "color=") == []


def test_a_trail_of_an_explanation_can_be_highlighted() -> None:
    trails = DIAMOND.explain_separation("b", "c", given=["d"]).trails
    for trail in trails:
        inner = trail.nodes[1]
        expected = [f'"{inner}" -> "{n}"' if inner == "a" else f'"{n}" -> "{inner}"' for n in ("b", "c")]
        assert lines_with(to_dot(DIAMOND, highlight=trail), "color=") == expected
    assert len(trails) == 2


def test_evidence_is_shaded_and_its_label_shown() -> None:
    text = to_dot(DIAMOND, evidence=["a", "d"])
    assert lines_with(text, 'style="filled"') == ['"a"', '"d"']
    assert "label" not in text
    assert lines_with(to_dot(DIAMOND, evidence="b"), "filled") == ['"b"']
    assert '"c" [label="c = x\\"y", style="filled"' in to_dot(DIAMOND, evidence={"c": 'x"y'})
    assert '"c" [label="c = False", style="filled"' in to_dot(DIAMOND, evidence={"c": False})


def test_wrong_names_states_and_trails_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="'z' is not a node; the nodes are 'a', 'b', 'c', 'd'"):
        to_dot(DIAMOND, highlight=["a", "z"])
    with pytest.raises(UnknownNameError, match="'z' in the evidence is not a node"):
        to_dot(DIAMOND, evidence={"z": 1})
    with pytest.raises(GraphError, match="goes from 'a' to 'd', but no edge joins them"):
        to_dot(DIAMOND, highlight=["a", "d"])
    with pytest.raises(UnknownStateError, match="'smoke' has no state 'maybe'"):
        to_dot(networks.load("asia"), evidence={"smoke": "maybe"})
    with pytest.raises(FormatError, match="NUL"):
        to_dot(DAG([("a", "b\0")]))


# ---------------------------------------------------------------------- reading other people's files


READABLE = [
    ("digraph{a->b}", "ab", "ab"),
    ("strict digraph G { a -> b -> c; a -> b }", "abc", "ab bc"),
    ("DiGraph G { Node [shape=box]; EDGE [color=red] a; b }", "ab", ""),
    ('digraph "a graph" { rankdir=LR; graph [label="x -> y"]; "a" -> b [label="a -> z", weight=2]; }', "ab", "ab"),
    ('digraph { b [label="a -- z"]; /* a -- z */ a [label=<<!-- x -->y>] // --\n a -> b }', "ba", "ab"),
    ('digraph { a:port:n -> b:s; c:w; d:"e:f" }', "abcd", "ab"),
    ("digraph { a -> {b c} -> d }", "abcd", "ab ac bd cd"),
    ("digraph { {a b} -> c }", "abc", "ac bc"),
    ("digraph { {{d} a -> {b; c} e} -> f; {a} -> {e} }", "dabcef", "ab ac df af bf cf ef ae"),
    ("digraph { subgraph cluster_x { label=inner; a -> b; { c } } -> d; e }", "abcde", "ab ad bd cd"),
    (
        "digraph { subgraph s { node [shape=box]; a } subgraph s { b } subgraph { c } subgraph t { d } -> a }",
        "abcd",
        "da",
    ),
    ("digraph s { a; subgraph s { b } -> c }", "abc", "bc"),
    ("digraph { c; subgraph { b -> c; subgraph { a } } a -> d; b }", "cbad", "bc ad"),
    ("digraph { a /* b -> c */ -> // x\n b\n# preprocessor -> line\n}", "ab", "ab"),
    ('digraph { "a" -> "b" + /* joined */ "" ; }', "ab", "ab"),
    ("digraph { a b c; d e }", "abcde", ""),
    ('digraph { a -> b [dir=forward] [style=dashed]; edge ["dir"="forward"] }', "ab", "ab"),
    ('digraph { a [id=x, label=<<b>bold &amp; "loud</b>>]; a->b; x=y }', "ab", "ab"),
    ("\ufeffdigraph {\r\n\ta -> b\r\n}\r\n// the end", "ab", "ab"),
    ("digraph {}", "", ""),
    ("digraph { a -> b; a -> {} }", "ab", "ab"),
]


@pytest.mark.parametrize(("text", "nodes", "edges"), READABLE)
def test_the_grammar_is_read(text: str, nodes: str, edges: str) -> None:
    dag = read_dag(text)
    assert dag.nodes == tuple(nodes)
    assert set(dag.edges) == {(edge[0], edge[1]) for edge in edges.split()}


@pytest.mark.skipif(shutil.which("gvpr") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_same() -> None:
    program = r'BEG_G { printf("\n:") } N { printf(" %s", $.name) } E { printf(" %s%s", $.tail.name, $.head.name) }'
    texts = "\n".join(text.removeprefix("\ufeff") for text, _, _ in READABLE)
    done = subprocess.run(["gvpr", program], input=texts.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    found = [set(line[1:].split()) for line in done.stdout.decode().splitlines()[1:]]
    assert found == [{*nodes, *edges.split()} for _, nodes, edges in READABLE]


def test_unquoted_names_keep_their_spelling() -> None:
    dag = read_dag("digraph { größe -> _x1; .5 -> 12.; 0 -> Node_; nodes [x=y]; 温度 }")
    assert dag.nodes == ("größe", "_x1", ".5", "12.", "0", "Node_", "nodes", "温度")
    assert read_dag('digraph { "a\\\nb" }').nodes == ("ab",)  # a backslash at a line end continues the string


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("graph { a; b }", None, "this graph is undirected; a DAG needs a digraph"),
        ("graph {\n a -- b }", 2, "'--' joins nodes of undirected graphs"),
        ('digraph { "--" // --\n a -> b\n b -- c }', 3, "'--' joins nodes of undirected graphs"),
        ("digraph { a -> b }\ndigraph { c }", None, "expected one graph, found 2"),
        ("digraph { a -> b }\n}", 2, "Expected end of text, found '}'"),
        ("digraph { a -> b }\ndigraph {", 2, "Expected end of text, found 'digraph'"),
        ("digraph {\n\na -> b", 3, "found end of text"),
        ("digraph {\n a -> ; }", 2, "found '-'"),
        ("digraph {\n a -> }", 2, "found '-'"),
        ("digraph {\n -> a }", 2, "found '-'"),
        ("digraph {\n a -> -> b }", 2, "found '-'"),
        ("digraph { a -> b [dir=back] }", None, "an edge with dir=back does not point from its tail to its head"),
        ('digraph { {a -> b ["dir"="both"]} -> c }', None, 'dir="both"'),
        ("digraph {\n edge [dir=none]\n a -> b }", None, "dir=none"),
        ('digraph {\n a [label="x }', 2, "found '['"),
        ("digraph {\n a [label=<x }", 2, "found '['"),
        ("digraph {\n a [label=] }", 2, "found '['"),
        ("digraph {\n a [=x] }", 2, "found '['"),
        ("digraph { a ? b }", 1, "found '?'"),
        ("digraph a b { }", 1, "found 'b'"),
        ('digraph { a = "x" + y }', 1, "found '+'"),
        ("nonsense", 1, "found 'nonsense'"),
        ("", 1, "pydot cannot read this"),
    ],
)
def test_broken_text_is_refused_with_its_line(
    text: str, line: int | None, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read_dag(text)
    assert caught.value.line == line
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { node -> a }", "'node' is a reserved word: a name needs quotes"),
        ("digraph { Graph; a }", "'Graph' is a reserved word"),
        ("digraph { node:p [x=y]; a }", "'node' is a reserved word"),
        ("digraph { edge [] }", "'edge' is a reserved word: a name needs quotes, and a statement attributes"),
        ("digraph { subgraph s { a b } c -> subgraph s }", "'subgraph' is a reserved word"),
        ("digraph { subgraph s { a } -> b; subgraph s { c } -> d }", "the subgraph 's', which stands in the text more"),
        ("digraph { a, b -> c }", "found ','"),
        ("digraph { a [x=y; z=w] }", "found '['"),
        ("digraph { a -> b;; c }", "found ';'"),
        ("digraph { -.5 -> a }", "found '-'"),
        ("digraph { a [name=x] }", "pydot cannot hold an attribute of this name"),
        ("digraph { a -> b [src=x] }", "pydot cannot hold an attribute of this name"),
        ("digraph { a [obj_dict=x] }", "pydot cannot hold an attribute of this name"),
    ],
)
def test_what_pydot_would_misread_is_refused(text: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        read_dag(text)
    assert capfd.readouterr() == ("", "")


def pydot_graph(build: Callable[[Any, Any], None], kind: str = "digraph") -> Any:
    import pydot

    graph = pydot.Dot(graph_type=kind)
    build(pydot, graph)
    return graph


def test_graphs_built_with_pydot() -> None:
    def build(pydot: Any, graph: Any) -> None:
        inner = pydot.Cluster("inner", label="x")
        inner.add_edge(pydot.Edge("two words", '"quo\\"te"'))
        graph.set_node_defaults(shape="box")
        graph.add_node(pydot.Node("back\\slash", color="red"))
        graph.add_subgraph(inner)
        graph.add_edge(pydot.Edge(pydot.Node("two\nlines"), pydot.Node(7)))
        graph.add_edge(pydot.Edge("a:port", 7))
        graph.add_node(pydot.Node('"node"'))

    dag = read_dag(pydot_graph(build))
    assert dag.nodes == ("back\\slash", "two words", 'quo"te', "two\nlines", "7", "a", "node")
    assert dag.edges == (("two words", 'quo"te'), ("two\nlines", "7"), ("a", "7"))


@pytest.mark.parametrize("name", ["", '"a" and "b"', '"open', "<open", "a:"])
def test_graphs_built_with_pydot_on_bad_names(name: str) -> None:
    graph = pydot_graph(lambda pydot, graph: graph.add_edge(pydot.Edge("a", name)))
    with pytest.raises(FormatError, match="names no node"):
        read_dag(graph)
    with pytest.raises(FormatError, match="undirected"):
        read_dag(pydot_graph(lambda pydot, graph: None, "graph"))


def test_a_cycle_is_no_dag() -> None:
    with pytest.raises(GraphError, match="a -> b -> a"):
        read_dag("digraph { a -> b -> a }")
    with pytest.raises(GraphError, match="a -> a joins a node to itself"):
        read_dag("digraph { a:head -> a:tail }")
    with pytest.raises(GraphError):
        read_dag('digraph { "" }')


SPLINTERS = [*'{}[];,:=+"<>\\#', "->", "--", "/*", "subgraph", "node", "x"]


@given(st.lists(st.one_of(st.sampled_from(SPLINTERS), st.sampled_from(["a", "b", " ", "\n"])), max_size=30))
@settings(max_examples=300, deadline=None)
def test_nothing_but_our_errors_comes_out(parts: list[str]) -> None:
    text = "digraph {" + "".join(parts) + "}"
    try:
        dag = read_dag(text)
    except (FormatError, GraphError):
        return
    assert read_dag(to_dot(dag)) == dag


def test_nesting_costs_no_time_up_to_a_limit() -> None:
    body = " ".join(f"a{i} -> b{i};" for i in range(20))  # without a memory pydot would need 2 ** 15 readings
    assert len(read_dag("digraph " + "{" * 15 + body + "}" * 15).edges) == 20
    with pytest.raises(FormatError, match="nested too deeply"):
        read_dag("digraph " + "{" * 5000 + "a" + "}" * 5000)
    assert read_dag("digraph { a }").nodes == ("a",)


def test_deep_graphs_are_read() -> None:
    chain = " -> ".join(f"v{i}" for i in range(1500))
    assert len(read_dag(f"digraph {{ {chain} }}").edges) == 1499


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pyparsing's own use of its old names
def test_pyparsing_is_left_as_it_was() -> None:  # matplotlib parses with it, too
    from pyparsing import ParserElement, testing

    with testing.reset_pyparsing_context():  # type: ignore[no-untyped-call]
        ParserElement.disable_memoization()
        for text in ("digraph { a }", "digraph { a"):
            with suppress(FormatError):
                read_dag(text)
            assert ParserElement._parse == ParserElement._parseNoCache
        ParserElement.enable_packrat(7)
        assert read_dag("digraph { a }").nodes == ("a",)
        assert ParserElement._parse == ParserElement._parseCache
        assert ParserElement.packrat_cache.size == 7  # type: ignore[attr-defined]


def test_threads_may_read_at_the_same_time() -> None:
    from pyparsing import ParserElement

    before = ParserElement._parse
    texts = [to_dot(DAG([(f"a{i}", f"b{i}"), (f"b{i}", f"c{i}")])) for i in range(24)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            dags = list(pool.map(read_dag, texts))
    finally:
        sys.setswitchinterval(interval)
    assert [dag.nodes for dag in dags] == [(f"a{i}", f"b{i}", f"c{i}") for i in range(24)]
    assert ParserElement._parse is before
