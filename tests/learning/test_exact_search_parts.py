"""The parts of the exact search, each against brute force on small problems."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pgm.learning.exact import linear_program
from pgm.learning.exact.branch_and_bound import BranchAndBound, propagate
from pgm.learning.exact.certificate import SparseRows, lagrangian_bound
from pgm.learning.exact.cluster_cuts import SIZES
from pgm.learning.exact.cuts import ClusterCut, Cut, LocalCut, NoGoodCut
from pgm.learning.exact.family_columns import FamilyColumns, family_columns
from pgm.learning.exact.incumbents import Incumbents, closure, is_acyclic
from pgm.learning.exact.linear_program import LinearProgram
from pgm.learning.exact.local_cuts import local_cuts
from pgm.learning.exact.relaxation import Relaxation
from pgm.learning.exact.separation import EFFORTS, edge_weights, violated_cuts
from pgm.learning.exact.subset_lattice import subset_lattice
from pgm.learning.search.orderings import OrderClimber
from pgm.learning.search.parent_sets import ParentSets


def random_sets(n: int, rng: np.random.Generator, keep_all: bool = False) -> ParentSets:
    """Return parent sets whose scores pull against each other: children of many parents gain, and so close cycles."""
    scores = []
    for child in range(n):
        of_child = {}
        for mask in range(1 << n):
            if not mask >> child & 1 and mask.bit_count() <= 3:
                of_child[mask] = float(rng.normal(scale=4) + 3 * math.sqrt(mask.bit_count()) - 50)
        scores.append(of_child)
    names = [f"v{number}" for number in range(n)]
    if not keep_all:
        return ParentSets.from_scores(names, scores)
    pairs = [sorted(found.items(), key=lambda pair: -pair[1]) for found in scores]
    masks = [[mask for mask, _ in some] for some in pairs]
    return ParentSets(tuple(names), masks, [np.array([score for _, score in some]) for some in pairs])


def columns_of(sets: ParentSets) -> FamilyColumns:
    return family_columns(sets.masks, sets.scores)


def all_graphs(families: FamilyColumns) -> list[tuple[int, ...]]:
    """Return all acyclic graphs as columns, by taking away nodes without children."""
    n = families.n_variables
    graphs = set()
    for order in permutations(range(n)):
        before = np.zeros(n, bool)
        choices: list[list[int]] = [[] for _ in range(n)]
        for node in order:
            fits = (families.child == node) & ~(families.parents & ~before).any(axis=1)
            choices[node] = np.flatnonzero(fits).tolist()
            before[node] = True
        graphs.update(product(*choices))
    return sorted(graphs)


def random_graph(families: FamilyColumns, rng: np.random.Generator) -> list[int]:
    before = np.zeros(families.n_variables, bool)
    columns = []
    for node in rng.permutation(families.n_variables):
        fits = np.flatnonzero((families.child == node) & ~(families.parents & ~before).any(axis=1))
        columns.append(int(rng.choice(fits)))
        before[node] = True
    return columns


def cuts_along_the_way(families: FamilyColumns, effort: int, rounds: int = 6) -> list[Cut]:
    """Return the cuts found while the relaxation is tightened."""
    relaxation = Relaxation(families, float(families.cost.max()))
    allowed = np.ones(len(families.cost), bool)
    found: list[Cut] = []
    for _ in range(rounds):
        solution = relaxation.solve(allowed)
        cuts = violated_cuts(families, solution.weights, allowed, effort)
        for cut in cuts:
            assert cut.coefficients(families) @ solution.weights > cut.bound
        relaxation.add(cuts)
        found += cuts
    return found


class TestCuts:
    @pytest.mark.parametrize("effort", range(len(EFFORTS)))
    def test_every_random_graph_satisfies_every_cut(self, effort: int) -> None:
        rng = np.random.default_rng(effort)
        families = columns_of(random_sets(9, rng))
        cuts = cuts_along_the_way(families, effort)
        rows = np.array([cut.coefficients(families) for cut in cuts])
        bounds = np.array([cut.bound for cut in cuts])
        assert {type(cut) for cut in cuts} == ({ClusterCut} if effort == 0 else {ClusterCut, LocalCut})
        for _ in range(300):
            assert (rows[:, random_graph(families, rng)].sum(axis=1) <= bounds).all()

    @pytest.mark.parametrize("seed", range(4))
    def test_local_cuts_hold_for_every_order_and_are_tight(self, seed: int) -> None:
        families = columns_of(random_sets(8, np.random.default_rng(seed)))
        cuts = [cut for cut in cuts_along_the_way(families, 1) if isinstance(cut, LocalCut)]
        assert cuts
        for cut in cuts[:12]:
            best = max(_value_of_order(cut, order) for order in permutations(range(len(cut.nodes))))
            assert best == cut.bound

    @given(st.integers(0, 10**6))
    @settings(max_examples=25, deadline=None)
    def test_cluster_cuts_hold_for_every_graph(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        families = columns_of(random_sets(6, rng))
        for size in SIZES:
            nodes = tuple(sorted(rng.choice(6, size=int(rng.integers(size + 1, 7)), replace=False).tolist()))
            cut = ClusterCut(nodes, size)
            for _ in range(20):
                graph = random_graph(families, rng)
                assert cut.coefficients(families)[graph].sum() <= cut.bound

    def test_a_mixture_of_graphs_has_no_cut(self) -> None:
        rng = np.random.default_rng(5)
        families = columns_of(random_sets(7, rng))
        weights = np.zeros(len(families.cost))
        for _ in range(5):
            weights[random_graph(families, rng)] += 0.2
        assert violated_cuts(families, weights, weights >= 0, 3) == []

    def test_half_of_each_node_with_both_others(self) -> None:
        families = family_columns([[6, 0], [5, 0], [3, 0]], [np.array([0.0, -1.0])] * 3)
        weights = np.full(6, 0.5)
        cuts = local_cuts(families, weights, np.array([[0, 1, 2]]), 0.01, families)
        assert len(cuts) == 1
        assert cuts[0].coefficients(families).tolist() == [1, 0, 1, 0, 1, 0]
        assert cuts[0].bound == 1

    def test_no_good_cut(self) -> None:
        families = family_columns([[2, 0], [1, 0]], [np.array([0.0, -1.0])] * 2)
        cut = NoGoodCut((0, 3))
        assert cut.bound == 1
        assert cut.coefficients(families).tolist() == [1, 0, 0, 1]


def _value_of_order(cut: LocalCut, order: tuple[int, ...]) -> int:
    """Return the most that a graph with this order counts: each node takes its best set among those before it."""
    total = 0
    for place, node in enumerate(order):
        before = order[:place]
        subsets = [some for size in range(len(before) + 1) for some in combinations(before, size)]
        total += max(cut.values[node][sum(1 << other for other in some)] for some in subsets)
    return total


class TestCertificate:
    @given(st.integers(0, 10**6), st.floats(0, 30))
    @settings(max_examples=40, deadline=None)
    def test_no_multipliers_prove_too_much(self, seed: int, scale: float) -> None:
        rng = np.random.default_rng(seed)
        families = columns_of(random_sets(4, rng))
        graphs = np.array(all_graphs(families))
        costs = families.cost[graphs].sum(axis=1)
        cuts = [ClusterCut(some, size) for size in (1, 2) for some in combinations(range(4), 3)]
        cuts += [ClusterCut(some) for some in combinations(range(4), 2)]
        rows = np.array([cut.coefficients(families) for cut in cuts])
        row, column = np.nonzero(rows)
        bounds = np.array([float(cut.bound) for cut in cuts])
        multipliers = rng.normal(size=len(cuts)) * scale
        sparse = SparseRows(row, column, rows[row, column])
        proof = lagrangian_bound(families.cost, families.starts, sparse, bounds, multipliers)
        assert proof.bound <= costs.min()
        for family in range(len(families.cost)):
            of_family = costs[(graphs == family).any(axis=1)]
            assert proof.with_family[family] <= of_family.min(initial=math.inf)

    def test_duals_reach_the_relaxation(self) -> None:
        families = columns_of(random_sets(8, np.random.default_rng(3)))
        relaxation = Relaxation(families, float(families.cost.max()))
        allowed = np.ones(len(families.cost), bool)
        bounds = []
        for _ in range(5):
            solution = relaxation.solve(allowed)
            assert solution.proof.bound == pytest.approx(families.cost @ solution.weights, abs=1e-6)
            bounds.append(solution.proof.bound)
            relaxation.drop_slack()
            relaxation.add(violated_cuts(families, solution.weights, allowed, 1))
        assert bounds == sorted(bounds)
        assert bounds[-1] > bounds[0]

    def test_a_solver_that_fails_costs_the_bound_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(LinearProgram, "solve", lambda _: None)
        families = columns_of(random_sets(4, np.random.default_rng(1)))
        solution = Relaxation(families, 1.0).solve(np.ones(len(families.cost), bool))
        assert solution.proof.bound == 0
        assert solution.weights @ families.cost == 0


class TestSubsetLattice:
    @given(st.integers(2, 5), st.integers(0, 10**6))
    @settings(max_examples=25, deadline=None)
    def test_against_all_orders(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        lattice = subset_lattice(n)
        values = rng.random((1, n, 1 << n))
        best = lattice.best_subset(values)
        before, after = lattice.before(best)[0], lattice.after(best)[0]

        def worth(placed: int, node: int) -> float:
            return max(float(values[0, node, mask]) for mask in range(1 << n) if mask & ~placed == 0)

        for subset in range(1 << n):
            nodes = [node for node in range(n) if subset >> node & 1]
            rest = [node for node in range(n) if not subset >> node & 1]
            assert before[subset] == pytest.approx(_best_order(nodes, 0, worth))
            assert after[subset] == pytest.approx(_best_order(rest, subset, worth))
            above = [mask for mask in range(1 << n) if subset & ~mask == 0]
            assert lattice.best_superset(values)[0, 0, subset] == values[0, 0, above].max()

    def test_last_node(self) -> None:
        lattice = subset_lattice(3)
        values = np.zeros((1, 3, 8))
        values[0, 1, 0b101] = 1.0  # node 1 with parents 0 and 2
        best = lattice.best_subset(values)
        last = lattice.last_node(best, lattice.before(best), np.array([0]), np.array([0b111]))
        assert last.tolist() == [1]


def _best_order(nodes: list[int], placed: int, worth: object) -> float:
    best = -math.inf
    for order in permutations(nodes):
        total, seen = 0.0, placed
        for node in order:
            total += worth(seen, node)  # type: ignore[operator]
            seen |= 1 << node
        best = max(best, total)
    return best


class TestLinearProgram:
    @pytest.mark.parametrize("seed", range(3))
    def test_engines_agree(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        warm = self._story(seed)
        monkeypatch.setattr(linear_program, "_ENGINES", ())
        cold = self._story(seed)
        assert warm == pytest.approx(cold, abs=1e-7)

    @staticmethod
    def _story(seed: int) -> list[float]:
        """Solve, delete slack rows and unused columns, fix columns, add rows; every optimum."""
        rng = np.random.default_rng(seed)
        program = LinearProgram(-rng.random(30), np.ones(30))
        program.add_rows(rng.integers(0, 3, (10, 30)).astype(float), np.full(10, -np.inf), np.full(10, 5.0))
        program.add_rows(np.ones((1, 30)), np.array([3.5]), np.array([3.5]))
        optima = []
        solution = program.solve()
        assert solution is not None
        assert solution.duals[:10].min() >= -1e-9
        optima.append(solution.objective)
        program.keep_rows(np.append(solution.duals[:10] > 1e-9, True))
        optima.append(_optimum(program))
        used = solution.primal > 1e-9
        used[:3] = True
        program.keep_columns(used)
        optima.append(_optimum(program))
        limits = np.ones(int(used.sum()))
        limits[np.flatnonzero(solution.primal[used] > 0.5)[0]] = 0.0
        program.set_limits(limits)
        program.add_rows(np.eye(len(limits))[:2], np.full(2, -np.inf), np.full(2, 0.25))
        return [*optima, _optimum(program)]

    def test_no_solution(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for engines in (linear_program._ENGINES, ()):
            monkeypatch.setattr(linear_program, "_ENGINES", engines)
            program = LinearProgram(np.ones(1), np.ones(1))
            program.add_rows(np.ones((1, 1)), np.array([2.0]), np.array([2.0]))
            assert program.solve() is None


def _optimum(program: LinearProgram) -> float:
    solution = program.solve()
    return math.nan if solution is None else solution.objective


class TestBranchAndBound:
    @pytest.mark.parametrize("seed", range(12))
    def test_against_all_graphs(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sets = random_sets(4 if seed < 6 else 5, rng)
        families = columns_of(sets)
        costs = families.cost[np.array(all_graphs(families))].sum(axis=1)
        incumbents, search = self._search(sets, 1)
        search.run()
        assert search.is_done
        assert incumbents.cost == pytest.approx(costs.min(), abs=1e-9)
        assert search.bound >= costs.min() - 2e-6

    @pytest.mark.parametrize("seed", range(6))
    def test_the_best_graphs_in_order(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sets = random_sets(4, rng, keep_all=True)
        families = columns_of(sets)
        costs = np.sort(families.cost[np.array(all_graphs(families))].sum(axis=1))
        for wanted in (2, 7):
            incumbents, search = self._search(sets, wanted)
            search.run()
            found = [cost for cost, _ in incumbents.graphs]
            assert found == pytest.approx(costs[:wanted].tolist(), abs=1e-9)
            assert len({columns for _, columns in incumbents.graphs}) == wanted

    @pytest.mark.parametrize("max_nodes", [0, 1, 2])
    def test_bounds_hold_when_stopped(self, max_nodes: int) -> None:
        for seed in range(4):
            sets = random_sets(5, np.random.default_rng(seed))
            families = columns_of(sets)
            optimum = families.cost[np.array(all_graphs(families))].sum(axis=1).min()
            _, search = self._search(sets, 1)
            search.run(max_nodes)
            assert search.bound <= optimum or search.is_done
            assert search.n_nodes <= max_nodes

    def test_propagation_keeps_every_graph(self) -> None:
        rng = np.random.default_rng(0)
        families = columns_of(random_sets(4, rng))
        graphs = all_graphs(families)
        for _ in range(40):
            given_families = rng.random(len(families.cost)) < 0.5
            allowed = given_families.copy()
            left = [graph for graph in graphs if given_families[list(graph)].all()]
            if propagate(families, allowed):
                assert not (allowed & ~given_families).any()
                assert all(allowed[list(graph)].all() for graph in left)
            else:
                assert not left

    @staticmethod
    def _search(sets: ParentSets, wanted: int) -> tuple[Incumbents, BranchAndBound]:
        """Return a search from a poor graph: the one without edges."""
        families = columns_of(sets)
        incumbents = Incumbents(sets, families, wanted, OrderClimber(sets, np.random.default_rng(0)))
        incumbents.offer(tuple(np.flatnonzero(~families.parents.any(axis=1)).tolist()))
        return incumbents, BranchAndBound(families, incumbents)


def test_incumbents_keep_the_best() -> None:
    sets = random_sets(4, np.random.default_rng(2))
    families = columns_of(sets)
    incumbents = Incumbents(sets, families, 3, OrderClimber(sets, np.random.default_rng(0)))
    assert incumbents.cutoff == math.inf
    graphs = all_graphs(families)
    for graph in graphs:
        incumbents.offer(graph)
    assert not incumbents.offer(incumbents.graphs[0][1])
    costs = sorted(math.fsum(families.cost[list(graph)]) for graph in graphs)
    assert [cost for cost, _ in incumbents.graphs] == costs[:3]
    assert incumbents.cutoff == costs[2]
    assert incumbents.holds(incumbents.graphs[1][1])


def test_closure_and_cycles() -> None:
    edges: NDArray[np.bool_] = np.zeros((4, 4), bool)
    edges[[0, 1, 2], [1, 2, 3]] = True
    assert closure(edges)[0].tolist() == [False, True, True, True]
    assert is_acyclic(edges)
    edges[3, 0] = True
    assert not is_acyclic(edges)


def test_edge_weights_point_from_parents_to_children() -> None:
    families = family_columns([[2, 0], [0]], [np.array([1.0, 0.0]), np.array([0.0])])
    assert edge_weights(families, np.array([0.25, 0.75, 1.0])).tolist() == [[0, 0], [0.25, 0]]
