"""Separation of local cuts: the facets of small graphs, found by a linear program instead of looked up.

For a few nodes, take the part of a fractional solution that concerns them: the weight of every family of these nodes,
cut down to the parents among them. If it is no mixture of acyclic graphs on these nodes, some inequality says so, and
the one that says it most clearly is the solution of

    maximise  weight . value   subject to   value . D <= 1  for every acyclic graph D on these nodes,   0 <= value <= 1.

Its rows are added as they are needed: `SubsetLattice` finds the graphs worth most. The programs of many clusters are
solved as one, since they have no column in common. The values come out as fractions with small denominators; they are
turned into integers, and from there on all is exact: the bound is computed anew, and the families that the fractional
solution did not use get the largest value that keeps it.

References
----------
Boyd (1994), *Operations Research* 42, 240-252 (Fenchel cutting planes). Cussens, Jarvisalo, Korhonen and Bartlett
(2017), *JAIR* 58, 185-229 (facets of the polytope of acyclic graphs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.learning.exact.cuts import LocalCut
from pgm.learning.exact.family_columns import FamilyColumns
from pgm.learning.exact.linear_program import LinearProgram
from pgm.learning.exact.subset_lattice import SubsetLattice, subset_lattice

__all__ = ["local_cuts"]

_CLOSE = 1e-6
"""How much more than 1 a graph must be worth to become a row."""

_LARGEST_DENOMINATOR = 60
"""Of the values; those with a larger one make no cut."""

_ROUNDS = 60
"""How often graphs are looked for at most."""

TOGETHER = 24
"""Clusters whose programs are solved as one."""


class _Projection(NamedTuple):
    """The columns of the linear program: families cut down to clusters, and their weight in the solution."""

    cluster: NDArray[np.intp]
    node: NDArray[np.intp]
    parents: NDArray[np.intp]
    weight: NDArray[np.float64]


def local_cuts(
    families: FamilyColumns,
    weights: NDArray[np.float64],
    clusters: NDArray[np.intp],
    at_least: float,
    possible: FamilyColumns,
) -> list[LocalCut]:
    """Return violated cuts on clusters of equal size, at most one for each.

    Parameters
    ----------
    families, weights
        The families with positive weight in the fractional solution.
    clusters
        Shape (clusters, nodes).
    at_least
        Violation from which a cut is returned, for a bound of 1.
    possible
        All families that may still be chosen: those that a cut should count as highly as it may.
    """
    cuts: list[LocalCut] = []
    for first in range(0, len(clusters), TOGETHER):
        some = clusters[first : first + TOGETHER]
        projection = _project(families, weights, some)
        values = _separate(projection, len(some), subset_lattice(clusters.shape[1]), at_least)
        for number, nodes in enumerate(some):
            mine = projection.cluster == number
            if projection.weight[mine] @ values[mine] > 1 + at_least:
                cut = _whole_cut(nodes, projection, mine, values, at_least, possible)
                if cut is not None:
                    cuts.append(cut)
    return cuts


def _project(families: FamilyColumns, weights: NDArray[np.float64], clusters: NDArray[np.intp]) -> _Projection:
    """Return the families of each cluster's nodes with parents in it, equal ones added up."""
    n_clusters, n_nodes = clusters.shape
    place = np.full((n_clusters, families.n_variables), n_nodes)
    np.put_along_axis(place, clusters, np.arange(n_nodes)[None, :], axis=1)
    node = place[:, families.child]
    within = (families.parents[:, clusters].astype(np.intp) << np.arange(n_nodes)).sum(axis=-1).T
    cluster = np.repeat(np.arange(n_clusters), len(weights)).reshape(node.shape)
    counts = (node < n_nodes) & (within > 0)
    key = ((cluster * n_nodes + node) << n_nodes) + within
    total = np.bincount(key[counts], np.broadcast_to(weights, key.shape)[counts], n_clusters * n_nodes << n_nodes)
    found = np.flatnonzero(total)
    above = found >> n_nodes
    return _Projection(above // n_nodes, above % n_nodes, found & ((1 << n_nodes) - 1), total[found].astype(float))


def _separate(projection: _Projection, n_clusters: int, lattice: SubsetLattice, at_least: float) -> NDArray[np.float64]:
    """Return the values of the most violated inequality of each cluster."""
    n_columns = len(projection.weight)
    program = LinearProgram(-projection.weight, np.ones(n_columns))
    values = np.ones(n_columns)
    waiting = np.ones(n_clusters, bool)
    for _ in range(_ROUNDS):
        violation = np.bincount(projection.cluster, projection.weight * values, n_clusters)
        waiting &= violation > 1 + at_least
        if not waiting.any():
            return values
        graphs = _best_graphs(projection, values, waiting, lattice)
        if not graphs:
            return values
        rows = np.zeros((len(graphs), n_columns + 1))
        np.put_along_axis(rows, np.array(graphs), 1.0, axis=1)
        program.add_rows(rows[:, :-1], np.full(len(rows), -np.inf), np.ones(len(rows)))
        solution = program.solve()
        if solution is None:
            break
        values = solution.primal
    return np.zeros(n_columns)


def _best_graphs(
    projection: _Projection, values: NDArray[np.float64], waiting: NDArray[np.bool_], lattice: SubsetLattice
) -> list[tuple[int, ...]]:
    """Return graphs worth more than 1 as the columns of their families, for each cluster the best with each node last.

    A family without parents in the cluster is no column and counts as -1.
    """
    n_nodes, n_subsets = lattice.n_nodes, 1 << lattice.n_nodes
    which = np.flatnonzero(waiting)
    number = np.full(len(waiting), -1)
    number[which] = np.arange(len(which))
    mine = np.flatnonzero(waiting[projection.cluster])
    at = number[projection.cluster[mine]], projection.node[mine], projection.parents[mine]
    table = np.zeros((len(which), n_nodes, n_subsets))
    table[at] = values[mine] + 0.1 * _CLOSE * projection.weight[mine]  # of equal ones, those that weigh more
    column = np.full(table.shape, -1)
    column[at] = mine
    _spread(table, column, n_nodes)
    before = lattice.before(table)
    problem, node = np.divmod(np.arange(len(which) * n_nodes), n_nodes)
    subset = (n_subsets - 1) ^ (1 << node)
    chosen = np.empty((len(node), n_nodes), np.intp)
    for step in range(n_nodes):
        chosen[:, step] = column[problem, node, subset]
        if step < n_nodes - 1:
            node = lattice.last_node(table, before, problem, subset)
            subset = subset & ~(1 << node)
    worth = np.append(values, 0.0)[chosen].sum(axis=1)
    return list(dict.fromkeys(map(tuple, np.sort(chosen[worth > 1 + _CLOSE], axis=1).tolist())))


def _spread(table: NDArray[np.float64], column: NDArray[np.intp], n_nodes: int) -> None:
    """Give each set the largest value of its subsets, and the column that it comes from, in place."""
    for node in range(n_nodes):
        shape = (*table.shape[:-1], -1, 2, 1 << node)
        value, source = table.reshape(shape), column.reshape(shape)
        better = value[..., 0, :] > value[..., 1, :]
        value[..., 1, :][better] = value[..., 0, :][better]
        source[..., 1, :][better] = source[..., 0, :][better]


def _whole_cut(
    nodes: NDArray[np.intp],
    projection: _Projection,
    mine: NDArray[np.bool_],
    values: NDArray[np.float64],
    at_least: float,
    possible: FamilyColumns,
) -> LocalCut | None:
    """Return the inequality with whole numbers and its own bound, lifted, or None if it is no such cut."""
    multiples = values[mine] * np.arange(1, _LARGEST_DENOMINATOR + 1)[:, None]
    whole = np.abs(multiples - np.rint(multiples)).max(axis=1) < 1e-4
    if not whole.any():
        return None
    coefficients = np.rint(multiples[whole.argmax()])
    lattice = subset_lattice(len(nodes))
    table = np.zeros((len(nodes), 1 << len(nodes)))
    table[projection.node[mine], projection.parents[mine]] = coefficients
    bound = lattice.before(lattice.best_subset(table))[-1]
    if projection.weight[mine] @ coefficients <= bound * (1 + at_least):
        return None
    table = _lift(table, bound, _occurring(nodes, possible), lattice)
    return LocalCut(tuple(nodes.tolist()), tuple(tuple(row) for row in table.astype(int).tolist()), int(bound))


def _occurring(nodes: NDArray[np.intp], possible: FamilyColumns) -> NDArray[np.bool_]:
    """Return which families, cut down to the cluster, may be chosen at all, shape (nodes, subsets)."""
    place = np.full(possible.n_variables, len(nodes))
    place[nodes] = np.arange(len(nodes))
    occurring = np.zeros((len(nodes) + 1, 1 << len(nodes)), bool)
    occurring[place[possible.child], possible.parents[:, nodes] @ (1 << np.arange(len(nodes)))] = True
    return occurring[:-1]


def _lift(
    table: NDArray[np.float64], bound: float, occurring: NDArray[np.bool_], lattice: SubsetLattice
) -> NDArray[np.float64]:
    """Return the values raised one after the other, small parent sets first, as far as the bound allows.

    A family of node y with parents P may be worth what the bound leaves when y comes anywhere after P: the bound less
    the largest before(W) + after(W and y) over the sets W that hold P and not y.
    """
    nodes = np.arange(lattice.n_nodes)
    with_node = np.arange(1 << lattice.n_nodes) | (1 << nodes)[:, None]
    by_size = np.argsort(lattice.holds.sum(axis=0), kind="stable")
    table = lattice.best_subset(table)
    while True:
        others = lattice.before(table)[None, :] + lattice.after(table)[with_node]
        others[lattice.holds] = -np.inf
        room = bound - lattice.best_superset(others)
        raisable = (room > table) & occurring & ~lattice.holds
        if not raisable.any():
            return np.where(lattice.holds, 0.0, table)
        subset, node = np.argwhere(raisable.T[by_size])[0]
        table[node, by_size[subset]] = room[node, by_size[subset]]
        table = lattice.best_subset(table)
