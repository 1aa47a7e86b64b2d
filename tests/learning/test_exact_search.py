"""Exact search against published optima, the enumeration of all graphs, and dynamic programming."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from pgm.data import Dataset
from pgm.errors import GraphError, TooLargeError, UnknownNameError
from pgm.graph.dag import DAG
from pgm.learning import Constraints, score
from pgm.learning.exact import branch_and_bound, linear_program
from pgm.learning.exact import exact_search as module
from pgm.learning.exact.exact_search import ExactResult, exact_search
from pgm.learning.scores.bayesian import K2, BDeu
from tests.data.bundled import table

OPTIMA = [
    ("learning.test", "bic", None, -24006.73423249817),
    ("learning.test", "bic", 1, -24922.522070108647),
    ("learning.test", BDeu(1), None, -24028.0947783535),
    ("learning.test", BDeu(1), 1, -24933.77702265212),
    ("learning.test", "aic", None, -23873.131772),
    ("asia", "bic", None, -11107.293309),
    ("asia", "aic", None, -11047.753206),
    ("asia", BDeu(1), None, -11095.788513),
    ("asia", BDeu(10), 3, -11132.146560),
    ("asia", K2(), None, -11106.628136),
    ("lizards", "bic", None, -817.247197),
    ("lizards", BDeu(1), None, -818.873181),
    ("asia_10000", BDeu(1), None, -22466.396546),
    ("asia_10000", "bic", None, -22481.351914),
]

LARGE = [
    ("hailfinder", "bic", -990162.8050400699, 66),
    ("alarm", "bic", -218632.31567964845, 47),
    ("alarm_10000", BDeu(1), -105226.51191678, 44),
]


@pytest.fixture
def no_dynamic_programming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DYNAMIC_PROGRAMMING", 0)


@cache
def all_dags(n: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the edges of every DAG on so many nodes."""
    pairs = [(u, v) for u in range(n) for v in range(u)]
    graphs = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        edges = [pair if way == 1 else pair[::-1] for pair, way in zip(pairs, choice, strict=True) if way]
        left = set(range(n))
        while roots := {v for v in left if not any(b == v and a in left for a, b in edges)}:
            left -= roots
        if not left:
            graphs.append(tuple(edges))
    return tuple(graphs)


def random_data(n: int, seed: int, rows: int = 60) -> Dataset:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (n, rows))
    for child in range(1, n):
        noise = rng.random(rows) < 0.2
        first, second = rng.integers(0, child, 2)
        clean = columns[first] ^ columns[second] if child % 2 else columns[first]
        columns[child] = np.where(noise, columns[child], clean)
    return Dataset({f"v{number}": column.tolist() for number, column in enumerate(columns)})


def scores_of_all(data: Dataset, measure: str, constraints: Constraints | None = None) -> list[float]:
    """Return the scores of all DAGs that keep to the constraints, best first."""
    names = data.names
    found = []
    families: dict[tuple[str, frozenset[str]], float] = {}
    for edges in all_dags(len(names)):
        dag = DAG([(names[u], names[v]) for u, v in edges], names)
        if constraints is not None:
            try:
                constraints.check(dag)
            except GraphError:
                continue
        total = 0.0
        for node in names:
            key = node, frozenset(dag.parents(node))
            if key not in families:
                alone = DAG([(parent, node) for parent in dag.parents(node)])
                families[key] = module.FamilyScores(data, measure).family(
                    names.index(node), [names.index(parent) for parent in alone.nodes if parent != node]
                )
            total += families[key]
        found.append(total)
    return sorted(found, reverse=True)


def check(result: ExactResult, data: object, measure: object = "bic") -> None:
    """What holds of every result."""
    assert result.score == pytest.approx(score(result.dag, data, measure), abs=1e-8)  # type: ignore[arg-type]
    assert result.best[0] == (result.dag, result.score)
    assert result.bound >= result.score
    assert result.gap == result.bound - result.score
    assert not result.proven or result.gap < 2e-6


class TestOptima:
    @pytest.mark.parametrize(("name", "measure", "limit", "optimum"), OPTIMA)
    def test_dynamic_programming(self, name: str, measure: object, limit: int | None, optimum: float) -> None:
        result = exact_search(table(name), measure, max_parents=limit)  # type: ignore[arg-type]
        check(result, table(name), measure)
        assert result.proven
        assert result.score == pytest.approx(optimum, abs=1e-6)

    @pytest.mark.parametrize(("name", "measure", "limit", "optimum"), OPTIMA)
    @pytest.mark.usefixtures("no_dynamic_programming")
    def test_branch_and_bound(self, name: str, measure: object, limit: int | None, optimum: float) -> None:
        result = exact_search(table(name), measure, max_parents=limit)  # type: ignore[arg-type]
        check(result, table(name), measure)
        assert result.proven
        assert "branch and bound" in result.method
        assert result.score == pytest.approx(optimum, abs=1e-6)

    def test_insurance(self) -> None:
        result = exact_search(table("insurance"), max_parents=3)
        check(result, table("insurance"))
        assert result.proven
        assert result.score == pytest.approx(-264708.85975077713, abs=1e-6)
        assert len(result.dag.edges) == 48

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "measure", "optimum", "edges"), LARGE)
    def test_large(self, name: str, measure: object, optimum: float, edges: int) -> None:
        result = exact_search(table(name), measure, max_parents=3)  # type: ignore[arg-type]
        check(result, table(name), measure)
        assert result.proven
        assert result.score == pytest.approx(optimum, abs=1e-6)
        assert len(result.dag.edges) == edges


@pytest.mark.usefixtures("no_dynamic_programming")
class TestAgainstAllGraphs:
    @pytest.mark.parametrize("measure", ["bic", "aic", "bdeu"])
    @pytest.mark.parametrize("seed", range(3))
    def test_four_variables(self, measure: str, seed: int) -> None:
        data = random_data(4, seed)
        result = exact_search(data, measure)
        check(result, data, measure)
        assert result.score == pytest.approx(scores_of_all(data, measure)[0], abs=1e-8)

    def test_five_variables(self) -> None:
        data = random_data(5, 11)
        result = exact_search(data, "aic")
        assert result.score == pytest.approx(scores_of_all(data, "aic")[0], abs=1e-8)
        assert result.proven

    @pytest.mark.parametrize("measure", ["bic", "aic"])
    @pytest.mark.parametrize("wanted", [2, 9, 40])
    def test_several_best(self, measure: str, wanted: int) -> None:
        data = random_data(4, 5)
        result = exact_search(data, measure, k_best=wanted)
        check(result, data, measure)
        found = [value for _, value in result.best]
        assert found == pytest.approx(scores_of_all(data, measure)[:wanted], abs=1e-8)
        assert len({frozenset(dag.edges) for dag, _ in result.best}) == wanted
        assert result.proven

    def test_all_graphs_there_are(self) -> None:
        result = exact_search(random_data(3, 1), k_best=30)
        assert len(result.best) == 25
        assert result.proven

    @pytest.mark.parametrize("wanted", [1, 3])
    @pytest.mark.parametrize(
        "known",
        [
            {"required": [("v3", "v0")]},
            {"required": [("v3", "v0"), ("v2", "v0")], "max_parents": 2},
            {"forbidden": [("v0", "v1"), ("v1", "v0"), ("v2", "v3")]},
            {"tiers": [["v3"], ["v1", "v2"]]},
            {"tiers": [["v3", "v2"], ["v0"]], "required": [("v1", "v3")], "max_parents": 1},
        ],
    )
    def test_constraints(self, known: dict[str, object], wanted: int) -> None:
        data = random_data(4, 3)
        constraints = Constraints(data.names, **known)  # type: ignore[arg-type]
        result = exact_search(data, "aic", k_best=wanted, **known)  # type: ignore[arg-type]
        found = [value for _, value in result.best]
        assert found == pytest.approx(scores_of_all(data, "aic", constraints)[:wanted], abs=1e-8)
        for dag, _ in result.best:
            constraints.check(dag)
        assert result.proven


def test_dynamic_programming_keeps_to_constraints() -> None:
    data = random_data(4, 3)
    for known in ({"required": [("v3", "v0")]}, {"tiers": [["v3"], ["v1", "v2"]], "max_parents": 2}):
        constraints = Constraints(data.names, **known)  # type: ignore[arg-type]
        result = exact_search(data, "aic", **known)  # type: ignore[arg-type]
        constraints.check(result.dag)
        assert result.score == pytest.approx(scores_of_all(data, "aic", constraints)[0], abs=1e-8)
        assert result.method == "dynamic programming"


@pytest.mark.usefixtures("no_dynamic_programming")
class TestSearch:
    def test_public_linprog_proves_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linear_program, "_ENGINES", ())
        result = exact_search(table("asia"), "bic", max_parents=3)
        check(result, table("asia"))
        assert result.proven
        assert result.score == pytest.approx(-11107.293309, abs=1e-6)

    def test_the_same_each_time(self) -> None:
        first, second = (exact_search(table("asia"), "aic", max_parents=3) for _ in range(2))
        assert first == second
        assert len(first.trace) > 2

    def test_column_order_does_not_matter(self) -> None:
        data = table("asia")
        turned = exact_search(data.select(data.names[::-1]), "aic", max_parents=3)
        assert turned.score == pytest.approx(-11047.753206, abs=1e-6)

    @pytest.mark.parametrize("max_nodes", [0, 1])
    def test_stopped_early(self, max_nodes: int) -> None:
        data = random_data(9, 2, rows=200)
        optimum = exact_search(data, "aic", max_parents=3).score
        result = exact_search(data, "aic", max_parents=3, max_nodes=max_nodes)
        check(result, data, "aic")
        assert result.bound >= optimum - 1e-8
        if max_nodes == 0:
            assert not result.proven
            assert "below the best" in repr(result)

    @pytest.mark.parametrize("calls", [1, 3])
    def test_interrupted(self, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
        optimum = exact_search(table("asia"), "aic").score
        count = iter(range(calls))
        real = branch_and_bound.violated_cuts

        def interrupted(*arguments: object) -> object:
            if next(count, None) is None:
                raise KeyboardInterrupt
            return real(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(branch_and_bound, "violated_cuts", interrupted)
        result = exact_search(table("asia"), "aic")
        check(result, table("asia"), "aic")
        assert not result.proven
        assert result.bound >= optimum

    def test_start(self) -> None:
        start = DAG.from_string("[A][S][T|A][L|S][B|S][D|B:E][E|T:L][X|E]")
        result = exact_search(table("asia"), start=start, max_nodes=0)
        assert result.score >= score(start, table("asia"))

    def test_prints(self) -> None:
        result = exact_search(table("asia"), max_parents=2)
        assert repr(result).startswith("<ExactResult: bic -11107.2933, proved best, 8 nodes, 7 edges, branch")
        assert "order search over" in str(result)


class TestErrors:
    def test_cycle_of_required_edges(self) -> None:
        with pytest.raises(GraphError, match="required"):
            exact_search(table("asia"), required=[("A", "S"), ("S", "A")])

    def test_start_that_breaks_a_constraint(self) -> None:
        with pytest.raises(GraphError, match="forbidden"):
            exact_search(table("asia"), start=DAG([("A", "S")]), forbidden=[("A", "S")])

    @pytest.mark.parametrize("wanted", [0, -1, 1.5, True])
    def test_number_of_graphs(self, wanted: object) -> None:
        with pytest.raises(GraphError, match="k_best must be a whole number from 1"):
            exact_search(table("asia"), k_best=wanted)  # type: ignore[arg-type]

    def test_unknown_score(self) -> None:
        with pytest.raises(UnknownNameError, match="no score"):
            exact_search(table("asia"), "best")

    def test_too_many_families(self) -> None:
        with pytest.raises(TooLargeError, match="max_parents"):
            exact_search(table("alarm"), k_best=2)
