"""Joint scores of all subsets of some twenty variables, and from them the local scores of all families.

The local score of a family is ``J(P + y) - J(P)`` for most scores, where J is a function of the joint table of a set of
variables (`pgm.learning.scores.decomposable`). So the n 2^(n-1) families take 2^n tables. They are found by one walk
through the variables, in which each is first taken and then left out. Three things keep it short:

- *Distinct rows.* Once a variable is left out, rows that differ in nothing else are one row with their added weight.
- *Rows alone.* A row that shares its joint state of the variables taken with no other is a cell of every table still to
  come, so it is set aside. No table is ever written down with its empty cells, which add nothing.
- *Blocks.* Where rows times subsets still to come are few enough, all those subsets are counted together, one
  variable after the other, in a matrix (subsets, rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource
from pgm.learning.constraints import Constraints
from pgm.learning.exact.dynamic_programming import check_n_variables, place_of, scatter
from pgm.learning.exact.pruning import largest_useful_table, pruned_parent_sets
from pgm.learning.scores.decomposable import JointScore
from pgm.learning.scores.family_scores import FamilyScores
from pgm.progress import Progress

__all__ = ["all_local_scores", "subset_scores", "subset_sizes"]

_BLOCK = 1 << 16
"""Rows, and weights set aside, times subsets that are counted together."""

_TABLE = 1 << 22
"""Terms that are looked up, in all."""

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]


def subset_sizes(cardinalities: list[int]) -> Floats:
    """Return the number of cells of the joint table of every subset, indexed by bit mask, shape (2^n,).

    Floats, since twenty variables of many states have more cells than an integer of 64 bits can tell.

    >>> subset_sizes([2, 3])
    array([1., 2., 3., 6.])
    """
    sizes = np.ones(1)
    for cardinality in cardinalities:
        sizes = np.concatenate([sizes, sizes * cardinality])
    return sizes


def all_local_scores(scores: FamilyScores, constraints: Constraints, *, progress: bool = False) -> Floats:
    """Return the local scores of all families that an optimal graph may have.

    Parameters
    ----------
    scores
        The local scores of the data.
    constraints
        What is required and forbidden.
    progress
        Show a bar while it lasts, on a terminal or in a notebook.

    Returns
    -------
    ndarray
        Shape (n, 2^(n-1)), as `pgm.learning.exact.dynamic_programming` wants it; -inf for families that are not allowed
        or beaten by one with fewer parents, as far as that was seen without counting them.

    Raises
    ------
    TooLargeError
        If the array and the work on it would exceed the memory budget; for a score that is no function of joint
        tables, if too many families would have to be scored one by one.

    Notes
    -----
    For a score with joint scores, 2^n tables; see the module. Otherwise one pass over the rows for each family that the
    bounds of `pgm.learning.exact.pruning` leave.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> scores = FamilyScores(Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}), "loglik")
    >>> all_local_scores(scores, Constraints(["a", "b"])).round(4)
    array([[-2.7726, -1.9095],
           [-2.2493, -1.3863]])
    """
    check_n_variables(len(scores.names))
    if not isinstance(scores.measure, JointScore):
        sets = pruned_parent_sets(scores, constraints)
        return scatter(sets.masks, sets.scores)
    n = len(scores.names)
    sizes = np.bitwise_count(np.arange(1 << n, dtype=np.int32))
    limit = n if constraints.max_parents is None else constraints.max_parents
    cells = subset_sizes([variable.cardinality for variable in scores.variables])
    wanted = (sizes <= limit + 1) & (cells <= largest_useful_table(scores, constraints))
    del cells
    joint = subset_scores(scores.source, scores.measure, wanted, progress=progress)
    local = np.empty((n, 1 << n - 1))
    for child in range(n):
        halves = joint.reshape(-1, 2, 1 << child)  # without the child, and with it
        np.subtract(halves[:, 1], halves[:, 0], out=local[child].reshape(-1, 1 << child))
    np.copyto(local, -np.inf, where=np.isnan(local))
    _constrain(local, scores, constraints, limit)
    return local


def _constrain(local: Floats, scores: FamilyScores, constraints: Constraints, limit: int) -> None:
    """Add the structure prior, and take out the families that are not allowed."""
    n = len(local)
    places = np.arange(local.shape[1], dtype=np.int32)
    sizes = np.bitwise_count(places)
    priors = np.array([scores.log_prior(size) for size in range(n)])
    position = {name: number for number, name in enumerate(constraints.names)}
    for child in range(n):
        forbidden = sum(1 << parent for parent in range(n) if not constraints.allowed[parent, child])
        required = sum(1 << position[parent] for parent, other in constraints.required if position[other] == child)
        forbidden, required = place_of(forbidden, child), place_of(required, child)
        if priors.any():
            local[child] += priors[sizes]
        local[child, (places & forbidden != 0) | (places & required != required) | (sizes > limit)] = -np.inf


def subset_scores(
    source: CountSource, measure: JointScore, wanted: NDArray[np.bool_], *, progress: bool = False
) -> Floats:
    """Return the joint score J(S) of every wanted subset S of the variables.

    Parameters
    ----------
    source
        Where counts come from; it has no missing cells.
    measure
        A score bound to the data.
    wanted
        Which subsets are wanted, indexed by bit mask: bit v stands for variable v. With a set, all its subsets must be.
    progress
        Show a bar while it lasts, on a terminal or in a notebook.

    Returns
    -------
    ndarray
        Shape (2^n,), NaN where not wanted.

    Notes
    -----
    O(2^n * distinct rows) at worst; less where subsets have few joint states or rows are alone.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> from pgm.learning.scores.scoring import LogLikelihood
    >>> data = Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]})
    >>> (subset_scores(data, LogLikelihood(), np.ones(4, bool)) - 4 * np.log(4)).round(4)
    array([ 0.    , -2.7726, -2.2493, -4.1589])
    """
    sizes = subset_sizes([variable.cardinality for variable in source.variables])
    cells = source.count_occupied([variable.name for variable in source.variables])
    terms = _Terms(measure, sizes, cells.counts, wanted)
    scores = np.full(len(sizes), np.nan)
    walk = _Walk(cells.states, cells.counts, [variable.cardinality for variable in source.variables], wanted)
    with Progress("counting sets of variables", int(np.count_nonzero(wanted)), show=progress) as bar:
        for block in walk.blocks():
            bar.step(_score_block(block, walk, terms, scores))
    scores[wanted] += terms.constants(source.total_weight)[terms.kinds[wanted]]
    return scores


class _Node(NamedTuple):
    """What is left of the rows where some variables have been taken, some left out, and others are to come."""

    taken: int
    depth: int
    """How many variables have been decided on."""
    rows: Integers
    """Rows that show the joint states of the variables taken and to come, each once."""
    groups: Integers
    """Which joint state of the variables taken each of them has."""
    weights: Floats
    alone: Floats
    """The different weights of cells set aside."""
    times: Floats
    """How many cells of each such weight there are."""


class _Walk:
    """The walk through the variables: those that tell rows apart best come first."""

    def __init__(self, states: NDArray[Any], counts: NDArray[Any], cardinalities: list[int], wanted: NDArray[np.bool_]):
        n = len(cardinalities)
        columns = [states[:, variable].astype(np.intp) for variable in range(n)]
        entropy = [_entropy(np.bincount(column, counts)) for column in columns]
        self.order = sorted(range(n), key=lambda variable: (-entropy[variable], variable))
        self.columns = [columns[variable] for variable in self.order]
        self.cardinalities = [cardinalities[variable] for variable in self.order]
        self.wanted = wanted
        self._counts = counts.astype(np.float64)
        self._suffixes = [np.zeros(len(states), np.intp)]  # joint states of the last variables, as ranks
        for column, cardinality in zip(reversed(self.columns), reversed(self.cardinalities), strict=True):
            ranks = np.unique(self._suffixes[0] * cardinality + column, return_inverse=True)[1]
            self._suffixes.insert(0, ranks)

    def blocks(self) -> Iterator[_Node]:
        """Iterate over nodes from where on all subsets are counted together."""
        n_rows = len(self._counts)
        start = _Node(0, 0, np.arange(n_rows), np.zeros(n_rows, np.intp), self._counts, np.empty(0), np.empty(0))
        waiting = [_set_aside(start)]
        while waiting:
            node = waiting.pop()
            to_come = len(self.order) - node.depth
            if len(node.rows) + len(node.alone) << to_come <= _BLOCK or to_come == 0:
                yield node
                continue
            waiting.append(self._left_out(node))
            if self.wanted[node.taken | 1 << self.order[node.depth]]:
                waiting.append(self._taken(node))

    def subsets(self, node: _Node) -> Integers:
        """Return all wanted subsets that take the node's variables and any of those to come."""
        masks = np.array([node.taken])
        for variable in self.order[node.depth :]:
            more = masks | 1 << variable
            masks = np.concatenate([masks, more[self.wanted[more]]])
        return masks

    def _taken(self, node: _Node) -> _Node:
        groups = node.groups * self.cardinalities[node.depth] + self.columns[node.depth][node.rows]
        taken = node.taken | 1 << self.order[node.depth]
        return _set_aside(node._replace(taken=taken, depth=node.depth + 1, groups=groups))

    def _left_out(self, node: _Node) -> _Node:
        if not len(node.rows):
            return node._replace(depth=node.depth + 1)
        suffix = self._suffixes[node.depth + 1]
        keys = node.groups * (int(suffix.max()) + 1) + suffix[node.rows]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        if len(first) == len(keys):
            return node._replace(depth=node.depth + 1)
        chosen = order[first]
        weights = np.add.reduceat(node.weights[order], first)
        merged = node._replace(
            depth=node.depth + 1, rows=node.rows[chosen], groups=node.groups[chosen], weights=weights
        )
        return _set_aside(merged)


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _set_aside(node: _Node) -> _Node:
    """Return the node without rows that are alone in their group, and with groups numbered from 0."""
    sizes = np.bincount(node.groups)
    numbers = np.cumsum(sizes > 1) - 1
    together = sizes[node.groups] > 1
    groups = numbers[node.groups[together]]
    if len(groups) == len(node.groups):
        return node._replace(groups=groups)
    alone, places = np.unique(np.concatenate([node.alone, node.weights[~together]]), return_inverse=True)
    times = np.concatenate([node.times, np.ones(len(places) - len(node.times))])
    return node._replace(
        rows=node.rows[together],
        groups=groups,
        weights=node.weights[together],
        alone=alone,
        times=np.bincount(places, times).astype(np.float64),
    )


def _score_block(node: _Node, walk: _Walk, terms: _Terms, scores: Floats) -> int:
    """Fill in the sums of all wanted subsets that take the node's variables and any of those to come; return how many.

    Row i of ``groups`` says for the subset ``masks[i]`` which joint state each of the node's rows shows.
    """
    subsets = walk.subsets(node)
    alone = terms.of(np.tile(node.alone, len(subsets)), subsets, len(node.alone))
    scores[subsets] = alone.reshape(len(subsets), -1) @ node.times
    if not len(node.rows):
        return len(subsets)
    masks, n_groups = np.array([node.taken]), node.groups.max(keepdims=True) + 1
    scores[masks] += terms.of(np.bincount(node.groups, node.weights), masks, n_groups).sum()
    weights = np.tile(node.weights, len(subsets))
    groups = np.empty((len(subsets), len(node.rows)), np.intp)
    groups[0] = node.groups
    for place in range(node.depth, len(walk.order)):
        more = masks | 1 << walk.order[place]
        chosen = walk.wanted[more]
        if not chosen.any():
            continue
        more = more[chosen]
        finer = (groups[: len(masks)] if chosen.all() else groups[: len(masks)][chosen]) * walk.cardinalities[place]
        finer += walk.columns[place][node.rows]
        widths = n_groups[chosen] * walk.cardinalities[place]
        starts = np.cumsum(widths) - widths  # their tables stand side by side
        finer += starts[:, None]
        counts = np.bincount(finer.ravel(), weights[: finer.size], int(widths.sum()))
        scores[more] += np.add.reduceat(terms.of(counts, more, widths), starts)
        if place + 1 < len(walk.order):
            occupied = counts > 0
            n_finer = np.add.reduceat(occupied, starts, dtype=np.intp)
            added = groups[len(masks) : len(masks) + len(more)]
            np.take(np.cumsum(occupied), finer, out=added, mode="clip")
            added -= (np.cumsum(n_finer) - n_finer + 1)[:, None]
            masks, n_groups = np.concatenate([masks, more]), np.concatenate([n_groups, n_finer])
    return len(subsets)


class _Terms:
    """The terms of counts in tables of all the sizes there are, looked up where counts are small whole numbers."""

    def __init__(self, measure: JointScore, sizes: Floats, counts: NDArray[Any], wanted: NDArray[np.bool_]) -> None:
        self._measure = measure
        distinct, places = np.unique(sizes[wanted], return_inverse=True)
        self.kinds = np.zeros(len(sizes), np.int32)
        """For each subset which of the sizes its table has."""
        self.kinds[wanted] = places
        self._sizes = [int(size) for size in distinct]
        total = float(counts.sum())
        whole = counts.dtype.kind == "i"
        self._limit = min(int(total) + 1, max(_TABLE // len(distinct), 8)) if whole else 1
        self._all_tabulated = whole and total < self._limit
        self._rows, tables = self._tabulated(total)
        self._n_tables = len(tables)
        self._table = np.concatenate(tables)

    def _tabulated(self, total: float) -> tuple[Integers, list[Floats]]:
        """Return which table of terms each size uses, and these tables: one for all sizes where terms ignore them.

        The last entry of a table stands for all larger counts, and is never used.
        """
        probe = np.concatenate([np.arange(self._limit), np.linspace(0.0, total, 9)])
        known: dict[bytes, int] = {}
        rows: list[int] = []
        tables: list[Floats] = []
        for size in self._sizes:
            found = np.asarray(self._measure.cell(probe, size), np.float64)
            row = known.setdefault(found.tobytes(), len(known))
            if row == len(tables):
                tables.append(found[: self._limit + 1])
            rows.append(row)
        return np.array(rows), tables

    def of(self, counts: NDArray[Any], masks: Integers, widths: Integers | int) -> Floats:
        """Return the terms of the counts of some subsets, whose tables stand side by side with these widths."""
        rows = self._rows[self.kinds[masks]]
        if self._all_tabulated:
            places = counts.astype(np.intp)
            if self._n_tables > 1:
                places += np.repeat(rows * (self._limit + 1), widths)
            terms: Floats = self._table.take(places)
            return terms
        places = np.minimum(np.ceil(counts), self._limit).astype(np.intp)
        spread = np.repeat(rows, widths)
        terms = self._table.take(places + spread * (self._limit + 1))
        self._compute(np.flatnonzero(places == self._limit), counts, spread, terms)
        return terms

    def _compute(self, large: Integers, counts: NDArray[Any], rows: Integers, terms: Floats) -> None:
        """Fill in the terms of large or fractional counts, table by table."""
        for row in np.unique(rows[large]):
            chosen = large[rows[large] == row]
            size = self._sizes[int(np.argmax(self._rows == row))]
            terms[chosen] = self._measure.cell(counts[chosen], size)

    def constants(self, total: float) -> Floats:
        """Return the constant of each size."""
        return np.array([self._measure.constant(size, total) for size in self._sizes])
