"""DOT out and in. Two readers that share nothing with ours see the same graph: a small lexer below, and pydot."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from itertools import pairwise

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
@settings(max_examples=300, deadline=None)
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

    nodes = [name for name in HOSTILE if name != "\\\n"]  # pydot loses a backslash before a line end
    dag = DAG(list(pairwise(nodes)), nodes=[*nodes, "alone"])

    def name(text: object) -> str:
        return re.sub(r'\\(["\\])', r"\1", str(text)[1:-1])

    (graph,) = pydot.graph_from_dot_data(to_dot(dag, highlight=nodes[:3], evidence=["alone"])) or []
    assert [name(node.get_name()) for node in graph.get_nodes()] == list(dag.nodes)
    assert {(name(edge.get_source()), name(edge.get_destination())) for edge in graph.get_edges()} == set(dag.edges)
    again = read_dag(graph)  # a pydot graph is read like text
    assert set(again.nodes) == set(dag.nodes)
    assert set(again.edges) == set(dag.edges)


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


@pytest.mark.parametrize(
    ("text", "nodes", "edges"),
    [
        ("digraph{a->b}", "ab", "ab"),
        ("strict digraph G { a -> b -> c; a -> b }", "abc", "ab bc"),
        ("DiGraph G { Node [shape=box]; EDGE [color=red] a; b }", "ab", ""),
        ('digraph "a graph" { rankdir=LR; graph [label="x -> y"]; "a" -> b [label="a -> z", weight=2]; }', "ab", "ab"),
        ("digraph { a:port:n -> b:s; c:w }", "abc", "ab"),
        ("digraph { a -> {b c} -> d }", "abcd", "ab ac bd cd"),
        ("digraph { {a b} -> c }", "abc", "ac bc"),
        ("digraph { subgraph cluster_x { label=inner; a -> b; { c } } -> d; e }", "abcde", "ab ad bd cd"),
        ("digraph { subgraph s { a b } c -> subgraph s }", "abc", "ca cb"),
        ("digraph { a /* b -> c */ -> // x\n b\n# preprocessor -> line\n}", "ab", "ab"),
        ('digraph { "a" -> "b" + /* joined */ "" ; }', "ab", "ab"),
        ("digraph { a b c, d; ; e }", "abcde", ""),
        ("digraph { a -> b [dir=forward] [style=dashed]; [] }", "ab", "ab"),
        ('digraph { a [name=x, src=y, label=<<b>bold &amp; "loud</b>>]; a->b; x=y }', "ab", "ab"),
        ("\ufeffdigraph {\r\n\ta -> b\r\n}\r\n", "ab", "ab"),
        ("digraph {}", "", ""),
        ("digraph { a -> b; a -> {} }", "ab", "ab"),
    ],
)
def test_the_whole_grammar_is_read(text: str, nodes: str, edges: str) -> None:
    dag = read_dag(text)
    assert dag.nodes == tuple(nodes)
    assert set(dag.edges) == {(edge[0], edge[1]) for edge in edges.split()}


def test_unquoted_names_keep_their_spelling() -> None:
    dag = read_dag("digraph { größe -> _x1; -.5 -> 12.; 0 -> Node_; }")
    assert dag.nodes == ("größe", "_x1", "-.5", "12.", "0", "Node_")
    assert read_dag('digraph { "a\\\nb" }').nodes == ("ab",)  # a backslash at a line end continues the string


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("graph { a -- b }", 1, "this graph is undirected"),
        ("digraph {\n a -- b }", 2, "'--' joins nodes of undirected graphs"),
        ("digraph { a -> b }\ndigraph { c }", 2, "expected the end of the graph, found 'digraph'"),
        ("digraph {\n\na -> b", 3, "found the end of the text"),
        ("digraph {\n a -> ; }", 2, "an edge needs a node after '->', found ';'"),
        ("digraph {\n a -> }", 2, "an edge needs a node after '->', found '}'"),
        ("digraph {\n -> a }", 2, "an edge needs a node before '->'"),
        ("digraph {\n a -> -> b }", 2, "an edge needs a node before '->'"),
        ("digraph { a -> b [dir=back] }", 1, "an edge with dir=back does not point from its tail to its head"),
        ("digraph {\n edge [dir=none]\n a -> b }", 2, "dir=none"),
        ('digraph {\n a [label="x }', 2, "a string starts here and never ends"),
        ("digraph {\n a [label=<x }", 2, "'<' starts here and never ends"),
        ("digraph {\n a [label=] }", 2, "expected a value of 'label', found ']'"),
        ("digraph {\n a [=x] }", 2, "expected an attribute or ']', found '='"),
        ("digraph { a ? b }", 1, "unexpected '?'"),
        ("digraph a b { }", 1, "expected '{', found 'b'"),
        ('digraph { a = "x" + y }', 1, "expected a quoted string after '+', found 'y'"),
        ("nonsense", 1, "expected 'digraph', found 'nonsense'"),
        ("", 1, "expected 'digraph', found the end of the text"),
    ],
)
def test_broken_text_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read_dag(text)
    assert caught.value.line == line


def test_a_cycle_is_no_dag() -> None:
    with pytest.raises(GraphError, match="a -> b -> a"):
        read_dag("digraph { a -> b -> a }")


SPLINTERS = [*'{}[];,:=+"<>\\#', "->", "--", "/*", "subgraph", "node", "x"]


@given(st.lists(st.one_of(st.sampled_from(SPLINTERS), st.sampled_from(["a", "b", " ", "\n"])), max_size=30))
@settings(max_examples=500, deadline=None)
def test_nothing_but_our_errors_comes_out(parts: list[str]) -> None:
    text = "digraph {" + "".join(parts) + "}"
    try:
        dag = read_dag(text)
    except (FormatError, GraphError):
        return
    assert read_dag(to_dot(dag)) == dag


def test_deep_nesting_and_long_text_are_no_trouble() -> None:
    assert read_dag("digraph " + "{" * 5000 + "a" + "}" * 5000).nodes == ("a",)
    chain = " -> ".join(f"v{i}" for i in range(3000))
    assert len(read_dag(f"digraph {{ {chain} }}").edges) == 2999
    with pytest.raises(FormatError):
        read_dag("digraph { " + " " * 10**6 + '"')
