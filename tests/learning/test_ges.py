"""Greedy equivalence search: true classes from exact distributions, local optimality, constraints, invariance."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import GraphError, MissingDataError, TableError, UnknownNameError
from pgm.graph import DAG, PDAG, shd
from pgm.learning import BIC, Constraints, SearchResult, hill_climb, score
from pgm.learning.scores.bayesian import BDeu
from pgm.learning.search.ges import GESResult, ges
from tests.data.bundled import TRUE_GRAPHS, table


def columns(seed: int, size: int, n_rows: int = 300) -> dict[str, list[int]]:
    """Rows of a random network with two or three states, in shuffled columns."""
    rng = np.random.default_rng(seed)
    names = [f"v{place}" for place in range(size)]
    made: dict[str, np.ndarray] = {}
    for place, name in enumerate(names):
        states = int(rng.integers(2, 4))
        parents = [parent for parent in names[:place] if rng.random() < 0.4][-3:]
        configuration = np.zeros(n_rows, int)
        for parent in parents:
            configuration = 3 * configuration + made[parent]
        cumulative = rng.dirichlet(np.full(states, 0.7), 3 ** len(parents)).cumsum(axis=1)[configuration]
        made[name] = (rng.random((n_rows, 1)) > cumulative[:, :-1]).sum(axis=1)
    return {names[place]: made[names[place]].tolist() for place in rng.permutation(size)}


def exact_distribution(dag: DAG, seed: int) -> Dataset:
    """All assignments of binary variables, weighted with their probabilities in a random network: endless data."""
    rng = np.random.default_rng(seed)
    worlds = np.array(list(product((0, 1), repeat=len(dag))))
    weights = np.full(len(worlds), 1e9)
    for node, parents in enumerate(dag.parent_indices):
        table = rng.uniform(0.1, 0.9, [2] * len(parents))
        share = table[tuple(worlds[:, parent] for parent in parents)]
        weights *= np.where(worlds[:, node] == 1, share, 1 - share)
    cells = {name: worlds[:, place].tolist() for place, name in enumerate(dag.nodes)}
    return Dataset(cells, weights=weights)


# ---------------------------------------------------------------------- what is found


@pytest.mark.parametrize("turning", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_the_true_class_from_the_exact_distribution(seed: int, turning: bool) -> None:
    """Chickering's theorem: in the limit the search ends at the class of the true graph."""
    rng = random.Random(seed)
    names = list("abcdef")[: rng.randint(3, 6)]
    share = rng.random()
    edges = [pair for pair in combinations(rng.sample(names, len(names)), 2) if rng.random() < share]
    true = DAG(edges, nodes=rng.sample(names, len(names)))
    result = ges(exact_distribution(true, seed), turning=turning)
    assert result.cpdag == true.cpdag()


def test_learning_test_and_asia() -> None:
    """The true class, and the class of the proven optimum, which lacks the weak edge from A to T."""
    true = DAG.from_string(TRUE_GRAPHS["learning.test"])
    result = ges(table("learning.test"))
    assert result.cpdag == true.cpdag()
    assert result.score == pytest.approx(-24006.734232, abs=1e-6)
    assert ges(table("learning.test"), BDeu(10)).cpdag == true.cpdag()
    asia = ges(table("asia"))
    assert asia.score == pytest.approx(-11107.293309, abs=1e-6)
    assert shd(asia.cpdag, DAG.from_string(TRUE_GRAPHS["asia"]), cpdag=True) == 1


def test_alarm_beyond_hill_climbing() -> None:
    result = ges(table("alarm"))
    assert result.score > hill_climb(table("alarm")).score
    assert result.score == pytest.approx(score(result.dag, table("alarm")), rel=1e-12)


@pytest.mark.parametrize("measure", ["bic", "aic", "bdeu", "qnml", "ebic"])
@pytest.mark.parametrize("seed", range(3))
def test_no_change_of_one_edge_in_any_member_gains(measure: str, seed: int) -> None:
    data = Dataset(columns(seed, 5))
    result = ges(data, measure)
    best = result.score
    for member in result.cpdag.members():
        assert score(member, data, measure) == pytest.approx(best, abs=1e-8)
        for x, y in product(member.nodes, repeat=2):
            try:
                if member.has_edge(x, y):
                    changed = [member.remove_edges([(x, y)]), member.reverse_edge(x, y)]
                elif x != y and not member.has_edge(y, x):
                    changed = [member.add_edges([(x, y)])]
                else:
                    continue
            except GraphError:  # a cycle
                continue
            assert all(score(graph, data, measure) < best + 1e-6 for graph in changed)


@pytest.mark.parametrize("seed", range(12))
def test_every_step_gains_what_it_says(seed: int) -> None:
    data = Dataset(columns(seed, 8))
    result = ges(data)
    scores = [score(DAG(nodes=data.names), data), *(move.score for move in result.trace)]
    assert all(later > earlier for earlier, later in pairwise(scores))
    assert scores[-1] == pytest.approx(result.score, abs=1e-8)
    assert result.score == pytest.approx(score(result.dag, data), abs=1e-9)
    assert result.dag.cpdag() == result.cpdag
    assert result.dag.nodes == result.cpdag.nodes == data.names


def test_turning_finds_better_classes() -> None:
    """Of 60 samples turning helps some, and the trace tells; it never ends at a worse class here."""
    helped = 0
    for seed in range(60):
        data = Dataset(columns(seed, 3 + seed % 6))
        with_turns, without = ges(data), ges(data, turning=False)
        assert with_turns.score >= without.score - 1e-8
        assert not any(move.kind == "reverse" for move in without.trace)
        if with_turns.score > without.score + 1e-6:
            helped += 1
            turned = [move for move in with_turns.trace if move.kind == "reverse"]
            assert turned
    assert helped >= 1


@pytest.mark.parametrize("seed", range(20))
def test_the_score_depends_on_neither_order_nor_names_of_columns(seed: int) -> None:
    cells = columns(seed, 7)
    result = ges(cells, "bdeu")
    for shuffle in range(3):
        names = random.Random(shuffle).sample(list(cells), len(cells))
        new = {name: f"{9 - place}{name}" for place, name in enumerate(names)}
        other = ges({new[name]: cells[name] for name in names}, "bdeu")
        assert other.score == pytest.approx(result.score, abs=1e-7)
        renamed = PDAG(
            [(new[u], new[v]) for u, v in result.cpdag.directed],
            [(new[u], new[v]) for u, v in result.cpdag.undirected],
            [new[name] for name in names],
        )
        assert other.cpdag == renamed


@pytest.mark.parametrize("name", ["insurance", "alarm"])
def test_steps_that_are_not_scored_again_have_not_changed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    result = ges(table(name))
    monkeypatch.setattr("pgm.learning.search.ges._affected", lambda before, after, kind: range(len(after.parents)))
    assert ges(table(name)).trace == result.trace


def test_alarm_in_another_order_of_columns() -> None:
    data = table("alarm")
    assert ges(data.select(data.names[::-1])).score == pytest.approx(ges(data).score, abs=1e-6)


# ---------------------------------------------------------------------- constraints


@pytest.mark.parametrize("seed", range(60))
def test_constraints_are_kept_by_the_graph_and_by_every_member(seed: int) -> None:
    rng = random.Random(seed)
    cells = columns(100 + seed, 3 + seed % 5)
    order = rng.sample(list(cells), len(cells))
    pairs = list(combinations(order, 2))
    required = rng.sample(pairs, rng.randint(0, 2))
    ways = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    forbidden = [way for way in ways if rng.random() < 0.3 and way not in required]
    tiers = [order[:2], order[2:]] if rng.random() < 0.5 else None
    max_parents = rng.choice([None, 1, 2])
    if max_parents == 1 and len({child for _, child in required}) < len(required):
        max_parents = 2
    result = ges(cells, required=required, forbidden=forbidden, tiers=tiers, max_parents=max_parents)
    constraints = Constraints(tuple(cells), required, forbidden, tiers, max_parents)
    constraints.check(result.dag)
    members = result.cpdag.members()
    assert result.dag in members
    for member in members:
        constraints.check(member)
        assert member.cpdag() == result.dag.cpdag()
        assert score(member, cells) == pytest.approx(result.score, abs=1e-8)
    kept = [member for member in result.dag.cpdag().members(limit=5000) if keeps(constraints, member)]
    assert set(kept) == set(members)


def keeps(constraints: Constraints, dag: DAG) -> bool:
    try:
        constraints.check(dag)
    except GraphError:
        return False
    return True


def test_background_knowledge_directs_what_data_cannot() -> None:
    data = table("learning.test")
    assert ("A", "B") in ges(data).cpdag.undirected
    assert ("B", "A") in ges(data, forbidden=[("A", "B")]).cpdag.directed
    assert ("A", "B") in ges(data, tiers=[["A"], ["B", "D"]]).cpdag.directed
    with_edge = ges(data, required=[("A", "F")])
    assert with_edge.dag.has_edge("A", "F")
    assert with_edge.score == pytest.approx(-24014.601014, abs=1e-6)
    one = ges(data, max_parents=1)
    assert max(map(len, one.dag.parent_indices)) == 1
    assert one.score >= -24922.522070 - 1e-6  # what hill climbing reaches


def test_two_demands_that_would_make_a_collider_are_not_both_met_in_one_class() -> None:
    """v - x - w is a class without v -> x <- w; a class that holds both edges must be the collider's."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 500)
    v, w = (np.where(rng.random(500) < 0.8, x, 1 - x) for _ in range(2))
    cells = {"v": v.tolist(), "x": x.tolist(), "w": w.tolist()}
    result = ges(cells, required=[("v", "x")], forbidden=[("x", "w")])
    assert result.dag.has_edge("v", "x")
    assert not result.dag.has_edge("x", "w")
    assert result.dag.cpdag().consistent_extension().cpdag() == result.dag.cpdag()


# ---------------------------------------------------------------------- starts, odd data, errors


def test_a_start_is_kept_if_nothing_gains_and_left_if_it_is_bad() -> None:
    data = table("learning.test")
    optimum = ges(data)
    again = ges(data, start=optimum.dag)
    assert (again.trace, again.cpdag, again.score) == ((), optimum.cpdag, optimum.score)
    complete = DAG(combinations(["F", "D", "B", "A", "C"], 2), nodes=data.names)
    assert ges(data, start=complete).score == pytest.approx(optimum.score, abs=1e-6)
    with pytest.raises(GraphError, match="the starting graph: the edge A -> B is forbidden"):
        ges(data, start=DAG([("A", "B")]), forbidden=[("A", "B")])


@pytest.mark.parametrize("cells", [{"a": [0, 1, 1]}, {"a": [], "b": []}, {"a": [0, 0], "b": [1, 1]}])
def test_data_in_which_there_is_nothing_to_find(cells: dict[str, list[int]]) -> None:
    result = ges(Dataset(cells, states={name: [0, 1] for name in cells}))
    assert result.dag == DAG(nodes=list(cells))
    assert result.cpdag == PDAG(nodes=list(cells))
    assert result.trace == ()


def test_equal_columns() -> None:
    cells = columns(3, 4)
    cells["twin"] = cells["v0"]
    result = ges(cells)
    assert result.score == pytest.approx(score(result.dag, cells), abs=1e-9)
    assert frozenset(("twin", "v0")) in set(map(frozenset, result.dag.edges))


def test_scores_that_tell_equivalent_graphs_apart_are_refused() -> None:
    for measure in ("k2", "fnml", "bdj", lambda counts: -float(counts.size)):
        with pytest.raises(GraphError, match="may differ between equivalent graphs.*'bic'"):
            ges(columns(0, 3), measure)


def test_errors_name_the_offender() -> None:
    cells = columns(0, 3)
    with pytest.raises(UnknownNameError, match="'q'"):
        ges(cells, required=[("v0", "q")])
    with pytest.raises(UnknownNameError, match="no score 'nothing'"):
        ges(cells, "nothing")
    with pytest.raises(GraphError, match="cycle"):
        ges(cells, required=[("v0", "v1"), ("v1", "v0")])
    with pytest.raises(MissingDataError):
        ges({"a": [0, None, 1], "b": [0, 1, 1]})


def test_the_result_is_a_search_result_that_prints() -> None:
    result = ges(table("learning.test"), BIC())
    assert isinstance(result, SearchResult)
    assert repr(result).startswith(
        "<GESResult: bic -24006.7342, 6 nodes, 5 edges, greedy equivalence search, 5 moves, "
    )
    assert isinstance(result, GESResult)


def test_the_hash_seed_plays_no_part() -> None:
    code = (
        "from tests.learning.test_ges import columns, ges\n"
        "result = ges(columns(4, 7), tiers=[['v3', 'v1'], ['v0', 'v5']])\n"
        "print(result, result.cpdag, result.dag.edges)"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != ""


@pytest.mark.parametrize("seed", range(5))
def test_a_score_that_is_not_what_it_says_ends_in_an_error(seed):
    """One that differs between equivalent graphs would lead round in circles."""

    class Random:
        name, is_score_equivalent = "random", True

        def __init__(self):
            self.rng = np.random.default_rng(seed)

        def local(self, counts):
            return self.rng.normal(0, 100, counts.shape[:-2])

    data = Dataset({name: [0, 1] * 4 for name in "abcdef"})
    with pytest.raises(TableError, match="'random' is not equal for equivalent graphs, though it says so"):
        ges(data, Random())
