"""The bootstrap: against resampled rows, recounted edges, and a threshold found by trying all."""

from __future__ import annotations

import pickle
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, MissingDataError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.graph.pdag import PDAG
from pgm.learning import hill_climb
from pgm.learning.independence.pc import pc
from pgm.learning.trees import chow_liu
from pgm.learning.validation.bootstrap import BootstrapResult, bootstrap
from tests.data.bundled import table

NO_EDGES = DAG(nodes=["Species"])


def asia(rows=500):
    return table("asia").head(rows)


def result_of(*graphs, names="abcd"):
    return BootstrapResult(tuple(names), 100, tuple(graphs))


def pdag(*edges, nodes="abcd"):
    """A graph from edges such as "a>b" and "a-b"."""
    directed = [(edge[0], edge[2]) for edge in edges if edge[1] == ">"]
    return PDAG(directed, [(edge[0], edge[2]) for edge in edges if edge[1] == "-"], list(nodes))


# ---------------------------------------------------------------- replicates


def test_a_replicate_is_rows_drawn_with_replacement():
    data, seen = table("lizards"), []

    def search(replicate):
        seen.append(replicate)
        return NO_EDGES

    bootstrap(data, search, replicates=400)
    originals = set(zip(*data.to_dict().values(), strict=True))
    counts = []
    for replicate in seen:
        columns = replicate.to_dict()
        rows = list(zip(*(columns[name] for name in data.names), strict=True))
        assert len(set(rows)) == len(rows)
        assert originals.issuperset(rows)
        weights = dict(zip(rows, replicate.weights, strict=True))
        assert sum(weights.values()) == data.n_rows
        counts.append([weights.get(row, 0) for row in sorted(originals)])
    rows = list(zip(*data.to_dict().values(), strict=True))
    shares = np.array([rows.count(row) for row in sorted(originals)]) / data.n_rows
    mean, variance = data.n_rows * shares, data.n_rows * shares * (1 - shares)
    assert np.mean(counts, axis=0) == pytest.approx(mean, abs=4 * np.sqrt(variance.max() / 400))
    assert np.var(counts, axis=0) == pytest.approx(variance, rel=0.3)


def test_weights_are_as_good_as_copies_of_rows():
    def search(replicate):
        whole = np.repeat(np.arange(replicate.n_rows), replicate.weights.astype(int))
        rows = Dataset.from_codes(replicate.variables, [replicate.codes(name)[whole] for name in replicate.names])
        assert rows.n_rows == 500
        return hill_climb(rows)

    weighted, copied = bootstrap(asia(), hill_climb, replicates=10), bootstrap(asia(), search, replicates=10)
    assert weighted.graphs == copied.graphs


def test_the_same_as_a_plain_bootstrap():
    data, rng, replicates = table("lizards"), np.random.default_rng(5), 300
    counts = np.zeros((3, 3))
    for _ in range(replicates):
        for parent, child in hill_climb(data.take(rng.integers(data.n_rows, size=data.n_rows))).dag.edges:
            ends = data.names.index(parent), data.names.index(child)
            counts[ends] += 1
            counts[ends[::-1]] += 1
    found = bootstrap(data, hill_climb, replicates=replicates)
    assert 0.05 < counts[1, 2] / replicates < 0.95  # else this would show little
    assert found.strength == pytest.approx(counts / replicates, abs=4 * np.sqrt(0.5 / replicates))


def test_size():
    sizes = []
    result = bootstrap(
        asia(), lambda data: (sizes.append(data.total_weight), NO_EDGES_ON_ASIA)[1], replicates=3, size=77
    )
    assert sizes == [77, 77, 77]
    assert result.size == 77


NO_EDGES_ON_ASIA = DAG(nodes=["A"])


# ---------------------------------------------------------------- invariances


def test_repeatable_and_the_first_do_not_depend_on_how_many_follow():
    first, again, more = (bootstrap(asia(), hill_climb, replicates=n, rng=3) for n in (5, 5, 8))
    assert first.graphs == again.graphs == more.graphs[:5]
    assert first.graphs != bootstrap(asia(), hill_climb, replicates=5, rng=4).graphs
    generator = np.random.default_rng(3)
    assert bootstrap(asia(), hill_climb, replicates=5, rng=generator).graphs == first.graphs
    assert bootstrap(asia(), hill_climb, replicates=5, rng=generator).graphs != first.graphs


def test_the_order_of_rows_and_columns_does_not_matter():
    data = asia()
    shuffled = data.take(np.random.default_rng(0).permutation(data.n_rows)).select(data.names[::-1])
    one, other = (bootstrap(some, hill_climb, replicates=10, cpdag=False) for some in (data, shuffled))
    assert one.graphs == other.graphs
    assert np.array_equal(one.strength, other.strength[::-1, ::-1])
    assert {edge[2:] for edge in one.edges} == {edge[2:] for edge in other.edges}


def test_permuted_columns_keep_ties_from_deciding_directions():
    x = [0, 1] * 50
    data = {"x": x, "y": [*x[:-6], 0, 0, 0, 1, 1, 1]}
    fixed = bootstrap(data, hill_climb, replicates=60, permute_columns=False, cpdag=False)
    assert fixed.direction[0, 1] == 1
    permuted = bootstrap(data, hill_climb, replicates=60, cpdag=False)
    assert 0.3 < permuted.direction[0, 1] < 0.7
    assert bootstrap(data, hill_climb, replicates=60).direction[0, 1] == 0.5
    orders = []
    bootstrap(data, lambda replicate: (orders.append(replicate.names), DAG(nodes=["x", "y"]))[1], replicates=20)
    assert set(orders) == {("x", "y"), ("y", "x")}


def test_weights_count_as_rows():
    data = asia()
    states, counts = data.count_occupied(data.names)
    weighted = Dataset.from_codes(data.variables, states, counts)
    assert bootstrap(weighted, hill_climb, replicates=5).graphs == bootstrap(data, hill_climb, replicates=5).graphs
    halves = Dataset.from_codes(data.variables, states, counts / 2)
    with pytest.raises(DataError, match="fractions"):
        bootstrap(halves, hill_climb, replicates=5)
    same = bootstrap(halves, hill_climb, replicates=5, size=500)
    assert same.graphs == bootstrap(data, hill_climb, replicates=5).graphs


# ---------------------------------------------------------------- strengths


def test_strengths_against_a_recount():
    result = bootstrap(asia(), hill_climb, replicates=30, rng=2)
    names = result.names
    for (i, left), (j, right) in combinations(enumerate(names), 2):
        forward = sum((left, right) in graph.directed for graph in result.graphs)
        backward = sum((right, left) in graph.directed for graph in result.graphs)
        either = sum((left, right) in graph.undirected for graph in result.graphs)
        joined = forward + backward + either
        assert result.strength[i, j] == result.strength[j, i] == joined / 30
        assert result.direction[i, j] == pytest.approx((forward + either / 2) / joined if joined else 0)
        listed = [edge for edge in result.edges if {edge.parent, edge.child} == {left, right}]
        assert len(listed) == (joined > 0)
        for edge in listed:
            assert edge.strength == joined / 30
            assert edge.direction == pytest.approx(max(forward + either / 2, backward + either / 2) / joined)
    assert sum(bool(graph.undirected) for graph in result.graphs) > 0
    strengths = [edge.strength for edge in result.edges]
    assert strengths == sorted(strengths, reverse=True)
    assert not result.strength.flags.writeable
    assert not result.direction.flags.writeable


def test_classes_by_default_unless_the_score_tells_directions():
    def search(data, score="bic"):
        return DAG([("a", "b")])

    data = {"a": [0, 1], "b": [0, 1]}
    direction = {
        score: bootstrap(data, search, replicates=2, score=score).direction[0, 1] for score in ("bic", "bdeu", "k2")
    }
    assert direction == {"bic": 0.5, "bdeu": 0.5, "k2": 1.0}
    assert bootstrap(data, search, replicates=2).direction[0, 1] == 0.5
    assert bootstrap(data, search, replicates=2, cpdag=False).direction[0, 1] == 1
    assert bootstrap(data, search, replicates=2, score="k2", cpdag=True).direction[0, 1] == 0.5


def test_classes_keep_what_constraints_say():
    def search(data, required=(), forbidden=(), tiers=None):
        return DAG.from_string("[a][b|a][c|b][d]")

    def only(**constraints):
        (graph,) = bootstrap({name: [0, 1] for name in "abcd"}, search, replicates=1, **constraints).graphs
        return graph

    assert only() == pdag("a-b", "b-c")
    assert only(required=[("a", "b")]) == pdag("a>b", "b>c")  # no new collider at b
    assert only(forbidden=iter([("c", "b")])) == pdag("a-b", "b>c")
    assert only(tiers=[["a"], ["b", "c"]]) == pdag("a>b", "b>c")
    with pytest.raises(UnknownNameError, match="'e'"):
        only(required=[("a", "e")])


def test_required_edges_are_certain():
    result = bootstrap(asia(), hill_climb, replicates=5, required=iter([("A", "S")]), forbidden=[("L", "E")])
    assert result.strength[0, 1] == result.direction[0, 1] == 1
    assert not any(("L", "E") in graph.directed + graph.undirected for graph in result.graphs)


@pytest.mark.parametrize("search", [pc, chow_liu, partial(hill_climb, max_parents=1)])
def test_other_searches(search):
    result = bootstrap(asia(), search, replicates=3)
    assert len(result.graphs) == 3
    assert result.edges[0].strength == 1


def test_the_default_search_finds_the_true_class():
    found = bootstrap(table("learning.test"), replicates=10).averaged_network()
    assert found.graph == pdag("A>D", "C>D", "B>E", "F>E", "A-B", nodes="ABCDEF")
    assert found.dag == DAG.from_string("[A][C][F][B|A][D|A:C][E|B:F]")
    assert found.dropped == ()


# ---------------------------------------------------------------- the threshold


def by_trying_all(counts, replicates):
    """The threshold by its definition: of all shares t with the least L1 distance the largest, and its quantile."""
    strengths = sorted(Fraction(count, replicates) for count in counts)

    def share(x):
        return Fraction(sum(strength <= x for strength in strengths), len(strengths))

    knots = sorted({Fraction(0), *strengths, Fraction(1)})

    def distance(t):
        return sum(abs(share(left) - t) * (right - left) for left, right in pairwise(knots))

    shares = {share(knot) for knot in knots} | {Fraction(number, 97) for number in range(98)} | {Fraction(0)}
    least = min(map(distance, shares))
    t = max(share for share in shares if distance(share) == least)
    return float(min((x for x in knots if share(x) >= t), default=0))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20).flatmap(lambda r: st.tuples(st.just(r), st.lists(st.integers(0, r), min_size=6, max_size=6))))
def test_the_threshold_against_its_definition(drawn):
    replicates, counts = drawn
    pairs = list(combinations("abcd", 2))
    graphs = [
        PDAG([], [pair for pair, count in zip(pairs, counts, strict=True) if number < count], list("abcd"))
        for number in range(replicates)
    ]
    result = result_of(*graphs)
    expected = by_trying_all(counts, replicates)
    kept = {pair for pair, count in zip(pairs, counts, strict=True) if count / replicates > expected}
    found = result.averaged_network()
    assert set(found.graph.undirected) == kept
    assert result.threshold == found.threshold == expected
    assert kept == {pair for pair, count in zip(pairs, counts, strict=True) if 2 * count > replicates}


def test_a_threshold_of_ones_own():
    result = result_of(*[pdag("a>b", "c>d")] * 6, *[pdag("a>b")] * 3, pdag())
    assert result.threshold == 0
    assert result.averaged_network().graph == pdag("a>b", "c>d")
    assert result.averaged_network(0.6).graph == pdag("a>b")  # strength must exceed it
    assert result.averaged_network(0.9).graph == pdag()
    for wrong in (-0.1, 1, float("nan"), True, "0.5"):
        with pytest.raises(GraphError, match="threshold"):
            result.averaged_network(wrong)


# ---------------------------------------------------------------- the averaged network


def test_the_weakest_edge_of_a_cycle_is_dropped():
    graphs = [pdag("a>b", "b>c")] * 4 + [pdag("b>c", "c>a")] * 3 + [pdag("c>a", "a>b")] * 2
    result = result_of(*graphs)  # b>c 7, a>b 6, c>a 5 of 9
    found = result.averaged_network()
    assert found.graph == pdag("a>b", "b>c")
    assert [edge[:3] for edge in found.dropped] == [("c", "a", pytest.approx(5 / 9))]
    assert "dropped, since it closes a cycle: c -> a" in str(found)


def test_equal_strengths_are_ranked_by_direction_then_by_the_alphabet():
    graphs = [pdag("a>b", "b>c"), pdag("b>c", "c>a"), pdag("a>b", "c>a"), pdag("b>c", "c>a", "b>a")]
    found = result_of(*graphs).averaged_network()  # joined three times each, but once b>a
    assert [edge[:2] for edge in found.dropped] == [("a", "b")]
    symmetric = [pdag("a>b", "b>c"), pdag("b>c", "c>a"), pdag("a>b", "c>a")]
    for names in ("abcd", "dcba"):
        assert result_of(*symmetric, names=names).averaged_network().dropped[0][:2] == ("c", "a")


def test_edges_without_a_direction():
    undecided = result_of(pdag("a>b", "b-c"), pdag("b>a", "c-b")).averaged_network()
    assert undecided.graph == pdag("a-b", "b-c")
    assert undecided.dag == DAG.from_string("[a][b|a][c|b][d]")  # without a new collider
    square = result_of(pdag("a-b", "b-c", "c-d", "a-d")).averaged_network()
    assert square.graph.undirected == (("a", "b"), ("a", "d"), ("b", "c"), ("c", "d"))  # which no class has
    assert square.dag.edges == (("a", "b"), ("a", "d"), ("b", "c"), ("c", "d"))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_any_graphs_average_to_a_dag(seed):
    rng = np.random.default_rng(seed)
    names = list("abcde")
    graphs = []
    for _ in range(5):
        order = [names[number] for number in rng.permutation(5)]
        pairs = [pair for pair in combinations(order, 2) if rng.random() < 0.7]
        loose = [pair for pair in pairs if rng.random() < 0.3]
        graphs.append(PDAG([pair for pair in pairs if pair not in loose], loose, names))
    found = result_of(*graphs, names=names).averaged_network()
    joined = {frozenset(edge) for edge in found.graph.directed + found.graph.undirected}
    assert {frozenset(edge) for edge in found.dag.edges} == joined
    assert set(found.graph.directed) <= set(found.dag.edges)
    for edge in found.dropped:
        assert DAG(found.graph.directed, names).is_ancestor(edge.child, edge.parent)


def test_printing():
    result = result_of(*[pdag("a>b", "c-d")] * 3, pdag("b>a"))
    assert str(result) == (
        "BootstrapResult: 4 replicates of 100 rows, 4 nodes, 2 edges found\n"
        "  edge    strength  direction\n"
        "  a -> b     1.000      0.750\n"
        "  c -- d     0.750      0.500\n"
        "  averaged network: strength above 0"
    )
    assert repr(result.averaged_network()) == (
        "<AveragedNetwork: 4 nodes, 1 directed and 1 undirected edges, threshold 0>"
    )


def test_results_are_values():
    result = bootstrap(table("lizards"), hill_climb, replicates=5)
    assert result.strength.any()  # what is computed when asked for is no part of the value
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result == bootstrap(table("lizards"), hill_climb, replicates=5)
    assert hash(copy) == hash(result)
    assert copy != bootstrap(table("lizards"), hill_climb, replicates=5, rng=1)


# ---------------------------------------------------------------- errors


def test_errors():
    data = table("lizards")
    for wrong in (0, -1, 2.5, True, None):
        with pytest.raises(DataError, match="replicates must be a whole number from 1"):
            bootstrap(data, hill_climb, replicates=wrong)
    with pytest.raises(DataError, match="size must be a whole number from 1"):
        bootstrap(data, hill_climb, size=0)
    with pytest.raises(DataError, match="no rows"):
        bootstrap(data.head(0), hill_climb)
    with pytest.raises(MissingDataError):
        bootstrap({"a": [0, None], "b": [0, 1]}, hill_climb)
    for wrong in ("zero", -1, 1.5, True):
        with pytest.raises(DataError, match=r"rng is a numpy.random.Generator, a whole number"):
            bootstrap(data, hill_climb, rng=wrong)
    for wrong in ("hc", None, DAG(nodes=data.names)):
        with pytest.raises(GraphError, match=r"search must be a function, such as pgm.learn_structure.* not "):
            bootstrap(data, wrong)
    with pytest.raises(GraphError, match="not str"):
        bootstrap(data, lambda replicate: "a graph", replicates=1)
    with pytest.raises(GraphError, match="'Weight'"):
        bootstrap(data, lambda replicate: DAG(nodes=["Weight"]), replicates=1)
    with pytest.raises(UnknownNameError, match="no score"):
        bootstrap(data, hill_climb, score="best")
