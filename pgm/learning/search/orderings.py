"""Order-based search: find the order of the nodes in which each, taking its best parents before it, scores best.

Given an order, the best graph that fits it is found node by node, without any cycle to fear (Teyssier and Koller 2005).
So the search walks over orders. Its move takes one node out and inserts it elsewhere (Alonso-Barba, de la Ossa, Gamez
and Puerta 2013; Scanagatta, de Campos, Corani and Zaffalon 2015); all n (n - 1) such moves are evaluated together: the
node moved takes its best parents at the new place, and of the nodes passed over, those behind it before may gain
something from it and those in front of it must do without it.

From the local optimum that these moves reach, the search goes on with a *perturbation*: a random topological order of
the present graph, which costs nothing, then a few random insertions of neighbouring nodes, and a climb. The
result is taken if it is not worse.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.learning.search.parent_sets import ParentSets, members

__all__ = ["OrderClimber", "Ordering"]

TOLERANCE = 1e-8
"""A move must gain more than this."""

MOST_AT_ONCE = 100
"""Insertions looked at to find those that can be done at once."""

MOST_MOVED = 6
"""Nodes that a perturbation inserts at random places, at most."""


class Ordering(NamedTuple):
    """An order of the nodes and the best graph that fits it."""

    order: NDArray[np.intp]
    """The nodes, first to last."""
    score: float
    """Score of the graph."""


class OrderClimber:
    """A search over orders, for given candidate parent sets.

    Parameters
    ----------
    sets
        The candidates. Each node must have one that fits every order allowed; the empty set does.
    rng
        Source of the perturbations.

    Examples
    --------
    >>> sets = ParentSets.from_scores(["a", "b"], [{0: -3.0, 0b10: -1.0}, {0: -3.0, 0b01: -2.0}])
    >>> found = OrderClimber(sets, np.random.default_rng(0)).climb(np.array([0, 1]))
    >>> found.order.tolist(), found.score
    ([1, 0], -4.0)
    """

    def __init__(self, sets: ParentSets, rng: np.random.Generator) -> None:
        self._n = n = len(sets.names)
        self._rng = rng
        self.n_climbs = 0
        """Climbs so far."""
        sizes = np.array([len(masks) for masks in sets.masks])
        parents = [members(mask) for masks in sets.masks for mask in masks]
        score = np.concatenate(sets.scores)
        child = np.repeat(np.arange(n), sizes)
        rising = np.lexsort((-np.concatenate([np.arange(size) for size in sizes]), score))
        width = max(map(len, parents), default=0) or 1
        padded = np.full((len(parents), width), n)  # n stands for no parent
        for row, some in enumerate(parents):
            padded[row, : len(some)] = some
        # Sets by rising score, so that of several values written to one place the best one stays.
        self._members = np.ascontiguousarray(padded[rising].T)
        self._score = score[rising]
        self._child = child[rising]

    # ------------------------------------------------------------------ one neighbourhood

    def _best_sets(self, position: NDArray[np.int16]) -> NDArray[np.intp]:
        """Return for each node the number of its best set before it, -1 if none fits."""
        latest = position[self._members].max(axis=0)
        fitting = np.flatnonzero(latest < position[self._child])
        best = np.full(self._n, -1)
        best[self._child[fitting]] = fitting
        return best

    def evaluate(self, order: NDArray[np.intp]) -> Ordering:
        """Return the best graph that fits an order."""
        position = self._positions(order)
        best = self._best_sets(position)
        score = float(self._score[best].sum()) if best.min() >= 0 else -np.inf
        return Ordering(order, score)

    def _positions(self, order: NDArray[np.intp]) -> NDArray[np.int16]:
        position = np.empty(self._n + 1, np.int16)  # small, for the passes over all sets
        position[order] = np.arange(self._n)
        position[self._n] = -1
        return position

    def _gains(self, order: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return what each insertion gains: entry [t, p] for moving the node at place p to place t."""
        n = self._n
        position = self._positions(order)
        where = position[self._child]
        latest = position[self._members[0]]  # of the parents, and the second latest
        second = np.full_like(latest, -1)
        for parents in self._members[1:]:
            at = position[parents]
            np.maximum(second, np.minimum(latest, at), out=second)
            np.maximum(latest, at, out=latest)
        fits = latest < where
        fitting = np.flatnonzero(fits)
        best = np.full(n, -1)
        best[where[fitting]] = fitting  # by place from here on
        score = np.where(best >= 0, self._score[best], -np.inf)

        # What the node at place i loses without the node at place j before it, or gains with that of j after it.
        change = np.zeros((n, n))
        nearly = np.flatnonzero(~fits & (second < where))
        change[where[nearly], latest[nearly]] = self._score[nearly] - score[where[nearly]]
        np.maximum(change, 0.0, out=change)
        self._add_losses(change, position, best, score, fitting, where[fitting])
        np.fill_diagonal(change, 0.0)

        # What the node moved has at its new place: the places behind it move up by one.
        moved = latest - (latest > where)
        own = np.full((n + 1, n), -np.inf)
        own[moved + 1, where] = self._score
        own = np.maximum.accumulate(own[:n], axis=0) - score

        passed = np.cumsum(change, axis=0)  # moving the node of column p over the rows
        here = np.diagonal(passed)
        short_of = np.vstack([np.zeros((1, n)), passed[:-1]])
        rows, places = np.indices((n, n), sparse=True)
        return np.asarray(own + np.where(rows >= places, passed - here, here - short_of))

    def _add_losses(
        self,
        change: NDArray[np.float64],
        position: NDArray[np.int16],
        best: NDArray[np.intp],
        score: NDArray[np.float64],
        fitting: NDArray[np.intp],
        where: NDArray[np.int16],
    ) -> None:
        """Write into ``change`` what each node loses without one of its parents: the step to its next best set."""
        before = position[self._members[:, fitting]]
        for row in position[self._members[:, best]]:
            users = np.flatnonzero(row >= 0)
            if not len(users):
                break  # the rows that follow are padding, too
            lacking = row[where]
            lacks = before[0] != lacking
            for parents in before[1:]:
                lacks &= parents != lacking
            without = np.flatnonzero(lacks)
            fallback = np.full(self._n, -np.inf)
            fallback[where[without]] = self._score[fitting[without]]
            change[users, row[users]] = fallback[users] - score[users]

    # ------------------------------------------------------------------ searching

    def climb(self, order: NDArray[np.intp]) -> Ordering:
        """Return the local optimum reached from an order by the best insertions at every step.

        Insertions between other places do not meet, so as many of the best as have no place in common are done at once.
        """
        self.n_climbs += 1
        order = np.array(order)
        while True:
            gains = self._gains(order)
            better = np.flatnonzero(gains > TOLERANCE)
            if not len(better):
                return self.evaluate(order)
            best = better[np.argsort(-gains.flat[better], kind="stable")[:MOST_AT_ONCE]]
            done: list[tuple[int, int]] = []
            for target, place in zip(*(some.tolist() for some in np.divmod(best, self._n)), strict=True):
                first, last = min(target, place), max(target, place)
                if all(last < start or stop < first for start, stop in done):
                    order = _inserted(order, place, target)
                    done.append((first, last))

    def improve(self, start: Ordering, patience: int) -> Ordering:
        """Return the best found by perturbing and climbing, until so many perturbations in turn gained nothing."""
        present = best = start
        fruitless = 0
        while fruitless < patience:
            found = self.climb(self._perturbed(present))
            if found.score > best.score + TOLERANCE:
                best, fruitless = found, 0
            else:
                fruitless += 1
            if found.score >= present.score - TOLERANCE:
                present = found
        return best

    def _perturbed(self, present: Ordering) -> NDArray[np.intp]:
        """Return a random topological order of the present graph, a node and some neighbours moved at random."""
        parents = self.parents(present)
        order = self.random_topological_order(parents)
        node = int(self._rng.integers(self._n))
        near = [node, *parents[node], *(child for child in range(self._n) if node in parents[child])]
        number = min(len(near), int(self._rng.integers(2, MOST_MOVED + 1)))
        position = self._positions(order)
        shaken = order
        for one in self._rng.choice(near, number, replace=False):
            target = int(self._rng.integers(self._n))
            shaken = _inserted(shaken, int(position[one]), target)
            position = self._positions(shaken)
        return shaken if self._best_sets(position).min() >= 0 else order

    def parents(self, ordering: Ordering) -> list[list[int]]:
        """Return the parents of each node in the graph of an ordering."""
        best = self._best_sets(self._positions(ordering.order))
        return [[parent for parent in row if parent < self._n] for row in self._members[:, best].T.tolist()]

    def random_topological_order(self, parents: Sequence[Sequence[int]]) -> NDArray[np.intp]:
        """Return a random order in which parents come before children."""
        children: list[list[int]] = [[] for _ in parents]
        missing = [len(some) for some in parents]
        for child, some in enumerate(parents):
            for parent in some:
                children[parent].append(child)
        key = self._rng.random(self._n).tolist()
        ready = [(key[node], node) for node in range(self._n) if not missing[node]]
        heapq.heapify(ready)
        order = []
        while ready:
            _, node = heapq.heappop(ready)
            order.append(node)
            for child in children[node]:
                missing[child] -= 1
                if not missing[child]:
                    heapq.heappush(ready, (key[child], child))
        return np.array(order)


def _inserted(order: NDArray[np.intp], place: int, target: int) -> NDArray[np.intp]:
    """Return the order with the node at ``place`` moved to ``target``.

    >>> _inserted(np.array([5, 6, 7, 8]), 0, 2).tolist()
    [6, 7, 5, 8]
    """
    rest = np.delete(order, place)
    return np.insert(rest, target, order[place])
