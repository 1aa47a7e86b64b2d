"""d-separation, explanations trail by trail, Markov blankets, minimal separators: against networkx and by hand."""

from __future__ import annotations

import copy
import pickle
import random
from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgm.errors import GraphError, UnknownNameError
from pgm.graph import DAG, Separation
from tests.graph.strategies import Question, dags, questions

SPRINKLER = DAG([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
ASIA = DAG.from_string(
    "[asia][tub|asia][smoke][lung|smoke][bronc|smoke][either|tub:lung][xray|either][dysp|either:bronc]"
)


# ---------------------------------------------------------------------- yes or no

# A graph after pgmpy#607, in which the descendants of a V-structure matter (third question: two steps down).
COLLIDERS = DAG(
    [("A", "C"), ("B", "C"), ("C", "D"), ("D", "E"), ("F", "A"), ("F", "G"), ("B", "H"), ("H", "G")],
    nodes=list("ABCDEFGHZ"),
)


@pytest.mark.parametrize(
    ("x", "y", "observed", "separated"),
    [
        ("A", "B", "", True),
        ("A", "B", "C", False),
        ("A", "B", "E", False),
        ("A", "B", "G", False),
        ("A", "B", "FG", True),
        ("F", "H", "", True),
        ("F", "H", "CA", True),
        ("F", "B", "C", False),
        ("E", "A", "D", True),
        ("E", "AB", "C", True),
        ("AF", "H", "B", True),
        ("A", "Z", "CG", True),
        ("G", "D", "AB", True),
        ("G", "D", "A", False),
    ],
)
def test_colliders_and_their_descendants(x: str, y: str, observed: str, separated: bool) -> None:
    assert COLLIDERS.is_d_separated(list(x), list(y), list(observed)) is separated
    assert COLLIDERS.is_d_separated(list(y), list(x), set(observed)) is separated
    assert COLLIDERS.explain_separation(list(x), list(y), list(observed)).is_separated is separated


@given(questions(max_nodes=8))
def test_d_separation_agrees_with_networkx(question: Question) -> None:
    dag, x, y, observed = question
    graph = dag.to_networkx()
    assert dag.is_d_separated(x, y, observed) == nx.is_d_separator(graph, set(x), set(y), set(observed))
    assert dag.is_d_separated(x, y, observed) == dag.is_d_separated(y, x, observed)
    others = [node for node in dag if node not in x and node not in observed]
    expected = [node for node in others if not nx.is_d_separator(graph, set(x), {node}, set(observed))]
    assert dag.d_connected(x, observed) == tuple(expected)


def test_a_single_name_is_a_set_of_one() -> None:
    assert SPRINKLER.is_d_separated("rain", "sprinkler") is True
    assert SPRINKLER.is_d_separated("rain", "sprinkler", "slippery") is False
    assert SPRINKLER.d_connected("rain", "wet") == ("sprinkler",)


@pytest.mark.parametrize(
    ("x", "y", "observed", "message"),
    [
        ("rain", "rain", (), "'rain' is in x and in y; these must not overlap"),
        ("rain", "wet", ["slippery", "rain"], "'rain' is in x and in given"),
        ("rain", ["wet", "sprinkler"], "wet", "'wet' is in y and in given"),
        ([], "wet", (), "x is empty"),
        ("rain", [], "wet", "y is empty"),
    ],
)
def test_senseless_questions_are_errors(x: list[str], y: list[str], observed: list[str], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        SPRINKLER.is_d_separated(x, y, observed)
    with pytest.raises(GraphError, match=message):
        SPRINKLER.explain_separation(x, y, observed)


def test_unknown_names_in_every_place() -> None:
    for x, y, observed in (("q", "wet", ()), ("rain", "q", ()), ("rain", "wet", ["q"])):
        with pytest.raises(UnknownNameError, match="'q' is not a node; the nodes are 'rain', 'wet'"):
            SPRINKLER.is_d_separated(x, y, observed)
    with pytest.raises(UnknownNameError):
        SPRINKLER.d_connected("rain", "q")
    with pytest.raises(GraphError, match="'rain' is in x and in given"):
        SPRINKLER.d_connected("rain", "rain")


# ---------------------------------------------------------------------- explanations


def naive_is_open(dag: DAG, left: str, middle: str, right: str, observed: list[str]) -> bool:
    graph = dag.to_networkx()
    if graph.has_edge(left, middle) and graph.has_edge(right, middle):
        return bool(({middle} | nx.descendants(graph, middle)) & set(observed))
    return middle not in observed


def naive_trails(dag: DAG, x: list[str], y: list[str], observed: list[str]) -> dict[tuple[str, ...], bool]:
    """Every trail between x and y that touches neither in between, and whether it is active, by the definition."""
    skeleton = dag.to_networkx().to_undirected()
    paths = (tuple(path) for one in x for other in y for path in nx.all_simple_paths(skeleton, one, other))
    return {
        path: all(naive_is_open(dag, path[i], path[i + 1], path[i + 2], observed) for i in range(len(path) - 2))
        for path in paths
        if not set(path[1:-1]) & {*x, *y}
    }


def check_record(dag: DAG, separation: Separation, expected: dict[tuple[str, ...], bool]) -> None:
    observed = list(separation.given)
    for trail in separation.trails:
        assert trail.is_active == expected[trail.nodes]
        assert trail.is_active == all(triple.is_open for triple in trail.triples)
        edges = [
            (u, v) if arrow == "->" else (v, u)
            for (u, v), arrow in zip(pairwise(trail.nodes), trail.arrows, strict=True)
        ]
        assert all(dag.has_edge(u, v) for u, v in edges)
        assert [(t.left, t.middle, t.right) for t in trail.triples] == list(
            zip(*(trail.nodes[i:] for i in range(3)), strict=False)
        )
        assert [t.arrows for t in trail.triples] == list(pairwise(trail.arrows))
        for triple in trail.triples:
            kinds = {("->", "<-"): "V-structure", ("<-", "->"): "common cause"}
            assert triple.kind == kinds.get(triple.arrows, "chain")
            assert triple.is_open == naive_is_open(dag, triple.left, triple.middle, triple.right, observed)
            check_reason(dag, triple.kind, triple.middle, triple.reason, observed)


def check_reason(dag: DAG, kind: str, middle: str, reason: str, observed: list[str]) -> None:
    below = [node for node in observed if node in nx.descendants(dag.to_networkx(), middle)]
    if middle in observed:
        assert reason == f"{middle} is observed"
    elif kind != "V-structure":
        assert reason == f"{middle} is not observed"
    elif below:
        assert reason in {f"its descendant {node} is observed" for node in below}
    else:
        assert reason == f"neither {middle} nor a descendant of it is observed"


@given(questions(max_nodes=6))
def test_explanations_agree_with_the_definition(question: Question) -> None:
    dag, x, y, observed = question
    expected = naive_trails(*question)
    separation = dag.explain_separation(x, y, observed, max_trails=10_000)
    assert separation.complete
    assert len(separation.trails) == len(expected)
    assert {trail.nodes for trail in separation.trails} == set(expected)
    lengths = [len(trail.nodes) for trail in separation.trails]
    assert lengths == sorted(lengths)
    check_record(dag, separation, expected)
    assert separation.is_separated == (not any(expected.values())) == dag.is_d_separated(x, y, observed)


@given(questions(max_nodes=7), st.integers(1, 4))
def test_a_bounded_list_says_so_and_keeps_an_active_trail(question: Question, bound: int) -> None:
    dag, x, y, observed = question
    expected = naive_trails(*question)
    separation = dag.explain_separation(x, y, observed, max_trails=bound)
    assert separation.complete == (len(expected) <= bound)
    assert len(separation.trails) == len({trail.nodes for trail in separation.trails}) == min(bound, len(expected))
    check_record(dag, separation, expected)
    assert any(trail.is_active for trail in separation.trails) == any(expected.values())
    shortest = sorted(map(len, expected))[:bound]
    listed = [len(trail.nodes) for trail in separation.trails]
    assert listed[:-1] == shortest[: len(listed)][:-1]  # the last place may have gone to an active trail
    if any(expected.values()):
        active = [len(trail.nodes) for trail in separation.trails if trail.is_active]
        assert min(active) == min(len(path) for path, is_active in expected.items() if is_active)
    if not separation.complete:
        assert f"There are more trails; the list stops at {bound}." in str(separation)


def test_the_explanation_reads_well() -> None:
    assert (
        str(ASIA.explain_separation("tub", "smoke", ["dysp", "lung"]))
        == """\
Are tub and smoke d-separated given {lung, dysp}?

1. tub -> either <- lung <- smoke   (blocked)
     tub -> either <- lung: V-structure, open: its descendant dysp is observed (explaining away)
     either <- lung <- smoke: chain, blocked: lung is observed

2. tub -> either -> dysp <- bronc <- smoke   (active)
     tub -> either -> dysp: chain, open: either is not observed
     either -> dysp <- bronc: V-structure, open: dysp is observed (explaining away)
     dysp <- bronc <- smoke: chain, open: bronc is not observed

No, they are d-connected: trail 2 is active."""
    )
    assert str(ASIA.explain_separation("bronc", "lung")).endswith("""
1. bronc <- smoke -> lung   (active)
     bronc <- smoke -> lung: common cause, open: smoke is not observed

2. bronc -> dysp <- either <- lung   (blocked)
     bronc -> dysp <- either: V-structure, blocked: neither dysp nor a descendant of it is observed
     dysp <- either <- lung: chain, open: either is not observed

No, they are d-connected: trail 1 is active.""")


def test_verdicts() -> None:
    apart = DAG(nodes=["a", "b"]).explain_separation("a", "b")
    assert apart.trails == ()
    assert str(apart).split("\n\n") == [
        "Are a and b d-separated given nothing?",
        "No trail joins them.",
        "Yes, they are d-separated: there is no trail.",
    ]
    edge = DAG([("b", "a")]).explain_separation("a", "b")
    assert [(str(trail), trail.triples, trail.is_active) for trail in edge.trails] == [("a <- b", (), True)]
    assert "an edge, with no node in between that could block it" in str(edge)
    blocked = ASIA.explain_separation("asia", "bronc", max_trails=1)
    assert str(blocked).endswith("Yes, they are d-separated: every trail is blocked, also those not listed.")
    assert str(SPRINKLER.explain_separation("rain", "sprinkler")).endswith("d-separated: every trail is blocked.")
    both = ASIA.explain_separation("asia", ["lung", "bronc"], "dysp")
    assert str(both).startswith("Are asia and {lung, bronc} d-separated given dysp?")
    assert "trails 1, 2 are active" in str(both)


def test_a_separation_is_a_value_without_a_truth_value() -> None:
    separation = SPRINKLER.explain_separation("rain", "sprinkler", "wet")
    assert repr(separation) == "<Separation: rain and sprinkler d-connected given wet; 1 trail>"
    assert separation == SPRINKLER.explain_separation("rain", "sprinkler", "wet")
    assert pickle.loads(pickle.dumps(separation)) == copy.deepcopy(separation) == separation
    assert hash(separation) == hash(copy.deepcopy(separation))
    with pytest.raises(AttributeError):
        separation.is_separated = True  # type: ignore[misc]
    with pytest.raises(TypeError, match="ask for its is_separated"):
        bool(separation)
    for word in ("True", "False", "None"):
        assert word not in str(separation)
    with pytest.raises(GraphError, match="max_trails must be at least 1, not 0"):
        SPRINKLER.explain_separation("rain", "wet", max_trails=0)


def test_large_networks_are_explained_at_once() -> None:
    rng = random.Random(724)
    names = [f"n{i}" for i in range(724)]
    near = [pair for pair in combinations(range(724), 2) if pair[1] - pair[0] < 40]
    dag = DAG([(names[i], names[j]) for i, j in rng.sample(near, 1125)], nodes=names)
    for observed in ([], rng.sample(names[1:-1], 20)):
        parts = [
            node
            for node in nx.node_connected_component(dag.to_networkx().to_undirected(), "n300")
            if node not in observed
        ]
        first, last = min(parts, key=dag.index), max(parts, key=dag.index)
        separation = dag.explain_separation(first, last, observed)
        assert len(separation.trails) == 50
        assert not separation.complete
        assert separation.is_separated == dag.is_d_separated(first, last, observed)
        assert any(trail.is_active for trail in separation.trails) != separation.is_separated
    ladder = [(f"{side}{i}", f"{side}{i + 1}") for i in range(400) for side in "ab"] + [
        (f"a{i}", f"b{i}") for i in range(400)
    ]
    separation = DAG(ladder).explain_separation("a0", "b400")
    assert [len(trail.nodes) for trail in separation.trails] == [402] * 50


def test_a_chain_of_3000_nodes() -> None:
    chain = DAG(pairwise([f"X{i}" for i in range(1, 3001)]))
    assert not chain.is_d_separated("X1", "X3000")
    assert chain.is_d_separated("X1", "X3000", "X1500")
    assert chain.d_connected("X1", "X3") == ("X2",)
    assert chain.minimal_d_separator("X1", "X3000") == ("X2",)
    blocked = chain.explain_separation("X1", "X3000", "X1500")
    assert blocked.is_separated
    assert [triple.middle for triple in blocked.trails[0].triples if not triple.is_open] == ["X1500"]
    text = str(blocked)
    assert "X1499 -> X1500 -> X1501: chain, blocked: X1500 is observed" in text
    assert "... 2987 more nodes ..." in text
    assert "... and 2997 more triples" in text
    assert len(text) < 1000


# ---------------------------------------------------------------------- blankets and separators


@given(dags(max_nodes=8))
def test_the_markov_blanket_is_the_smallest_set_that_separates_from_the_rest(dag: DAG) -> None:
    graph = dag.to_networkx()
    for node in dag:
        blanket = set(dag.markov_blanket(node))
        rest = set(dag.nodes) - blanket - {node}
        if rest:
            assert nx.is_d_separator(graph, {node}, rest, blanket)
        for one in blanket:
            assert not nx.is_d_separator(graph, {node}, rest | {one}, blanket - {one})


@given(dags(max_nodes=8), st.data())
def test_the_markov_blanket_of_several_nodes(dag: DAG, data: st.DataObject) -> None:
    inside = data.draw(st.sets(st.sampled_from(dag.nodes), min_size=1))
    expected = set().union(*(dag.markov_blanket(node) for node in inside)) - inside
    assert dag.markov_blanket(inside) == tuple(node for node in dag if node in expected)


@given(questions(max_nodes=8), st.data())
def test_minimal_separators_agree_with_networkx(question: Question, data: st.DataObject) -> None:
    dag, x, y, free = question
    graph = dag.to_networkx()
    free = [node for node in dag if node not in x and node not in y]
    included = data.draw(st.sets(st.sampled_from(free))) if free else set()
    restricted = included | data.draw(st.sets(st.sampled_from(free))) if free else set()
    found = dag.minimal_d_separator(x, y, included=included, restricted=restricted)
    some = [set(inside) for size in range(len(free) + 1) for inside in combinations(free, size)]
    exists = any(included <= z <= restricted and nx.is_d_separator(graph, set(x), set(y), z) for z in some)
    assert (found is not None) == exists
    if found is not None:
        assert found == tuple(node for node in dag if node in found)
        assert nx.is_minimal_d_separator(
            graph, set(x), set(y), set(found), included=included, restricted=restricted | set(found)
        )
        assert included <= set(found) <= restricted
    everything = dag.minimal_d_separator(x, y)
    assert (everything == ()) == dag.is_d_separated(x, y)


def test_minimal_separators_of_the_chest_clinic() -> None:
    assert ASIA.minimal_d_separator("asia", "smoke") == ()
    assert ASIA.minimal_d_separator("xray", "dysp") == ("either",)
    assert ASIA.minimal_d_separator("lung", "bronc") == ("smoke",)
    assert ASIA.minimal_d_separator("smoke", "dysp", included="xray") == ("lung", "bronc", "xray")
    assert ASIA.minimal_d_separator("tub", "either") is None
    assert ASIA.minimal_d_separator("smoke", "either", restricted=["tub", "bronc"]) is None
    assert ASIA.minimal_d_separator(["asia", "tub"], ["xray", "dysp"]) == ("lung", "either")


def test_senseless_separators_are_errors() -> None:
    with pytest.raises(GraphError, match="restricted, which leaves out 'bronc'"):
        ASIA.minimal_d_separator("smoke", "dysp", included="bronc", restricted=["lung"])
    with pytest.raises(GraphError, match="'smoke' is in x and in included"):
        ASIA.minimal_d_separator("smoke", "dysp", included="smoke")
    with pytest.raises(GraphError, match="y is empty"):
        ASIA.minimal_d_separator("smoke", [])
    with pytest.raises(UnknownNameError):
        ASIA.minimal_d_separator("smoke", "dysp", restricted=["q"])
