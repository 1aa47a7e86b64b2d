"""Scores of sets of variables, from which every local score of a score-equivalent score is a difference.

If Markov-equivalent graphs always score the same, the local score of a family is ``J(P + y) - J(P)`` for a function J
of the joint table of a set of variables: for BIC the sum of ``n log n`` over its cells less ``log(N) / 2`` for each
cell, for BDeu a sum of log-gammas. So a set of four variables, counted once, serves four families, and all sets of up
to four variables are counted by matrix products (`pgm.data.subsets`). Terms of counts come from look-up tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource
from pgm.data.checks import family_cells
from pgm.learning.scores.decomposable import JointScore, Score
from pgm.learning.scores.family_scores import FamilyScores

__all__ = ["JointScores", "is_joint", "joint_scores"]

_TABULATED = 1 << 16
"""Counts up to this have their terms looked up; there are few larger ones."""


def is_joint(measure: Score) -> bool:
    """Return whether local scores are differences of joint scores."""
    return isinstance(measure, JointScore)


def joint_scores(scores: FamilyScores) -> JointScores:
    """Return the joint scores of the data behind some local scores."""
    measure = scores.measure
    assert isinstance(measure, JointScore)
    return JointScores(scores.source, measure)


class JointScores:
    """Joint scores J(S) of sets of variables of one data set; variables are numbers.

    Parameters
    ----------
    source
        Where counts come from; it has no missing cells.
    measure
        A score bound to the data.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> from pgm.learning.scores.scoring import LogLikelihood
    >>> joint = JointScores(Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}), LogLikelihood())
    >>> (joint.pairs[0, 1] - joint.singles[0]).round(4)  # log-likelihood of b given a
    np.float64(-1.3863)
    """

    def __init__(self, source: CountSource, measure: JointScore) -> None:
        self._source = source
        self._measure = measure
        self._total = source.total_weight
        self.names = tuple(variable.name for variable in source.variables)
        self.cardinalities = tuple(variable.cardinality for variable in source.variables)
        self.offsets = np.concatenate([[0], np.cumsum(self.cardinalities)])
        self._owner = np.repeat(np.arange(len(self.names)), self.cardinalities)
        self._limit = int(min(self._total, _TABULATED)) + 1
        (first,) = source.count([(self.names[0], [])])
        self._integral = first.dtype.kind == "i"
        self._tables: dict[int, NDArray[np.float64]] = {}
        self._triples: NDArray[np.float64] | None = None
        self._extended: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.empty = float(measure.cell(np.array([self._total]), 1)[0] + measure.constant(1, self._total))
        """J of no variables."""
        self.singles, self.pairs = self._singles_and_pairs()

    def _table(self, n_cells: int) -> NDArray[np.float64]:
        """Return the terms of the counts from 0 on; one and the same array if the size makes no difference."""
        if n_cells not in self._tables:
            table = np.asarray(self._measure.cell(np.arange(self._limit), n_cells))
            first = next(iter(self._tables.values()), table)
            self._tables[n_cells] = first if np.array_equal(first, table) else table
        return self._tables[n_cells]

    # ------------------------------------------------------------------ sums over cells

    def _terms(self, counts: NDArray[Any], n_cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the terms of counts; ``n_cells`` is the size of the table that each belongs to, and broadcasts."""
        if not self._integral:
            return self._by_size(counts, n_cells, self._measure.cell)
        whole = counts.astype(np.intp)
        if counts.size and int(whole.max()) >= self._limit:
            return self._by_size(counts, n_cells, self._looked_up)
        sizes, places = np.unique(n_cells, return_inverse=True)
        tables = [self._table(int(size)) for size in sizes]
        if all(table is tables[0] for table in tables):
            return np.asarray(tables[0][whole])
        terms = np.empty(whole.shape)
        spread = np.broadcast_to(places.reshape(n_cells.shape), whole.shape)
        for place, table in enumerate(tables):
            chosen = spread == place
            terms[chosen] = table[whole[chosen]]
        return terms

    def _by_size(self, counts: NDArray[Any], n_cells: NDArray[np.int64], cell: Any) -> NDArray[np.float64]:
        terms = np.empty(counts.shape)
        spread = np.broadcast_to(n_cells, counts.shape)
        for size in np.unique(n_cells):
            chosen = spread == size
            terms[chosen] = cell(counts[chosen], int(size))
        return terms

    def _looked_up(self, counts: NDArray[Any], n_cells: int) -> NDArray[np.float64]:
        small = counts < self._limit
        terms = self._table(n_cells)[np.where(small, counts, 0).astype(np.intp)]
        terms[~small] = self._measure.cell(counts[~small], n_cells)
        return terms

    def _constants(self, n_cells: NDArray[np.int64]) -> NDArray[np.float64]:
        sizes, places = np.unique(n_cells, return_inverse=True)
        constants = np.array([self._measure.constant(int(size), self._total) for size in sizes])
        return constants[places].reshape(n_cells.shape)

    def _singles_and_pairs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = self._source.count_pairs([], 0)[0]
        cardinalities = np.array(self.cardinalities)
        terms = self._terms(np.diagonal(counts), cardinalities[self._owner])
        singles = np.add.reduceat(terms, self.offsets[:-1]) + self._constants(cardinalities)
        return singles, self._by_pair(counts[None], 1, 0)

    def _by_pair(self, counts: NDArray[Any], states: int, first: int) -> NDArray[np.float64]:
        """Return J(scope + u + v) for all pairs from ``first`` on; entries u = v mean nothing."""
        owner = self._owner[self.offsets[first] :]
        cardinalities = np.array(self.cardinalities)
        sizes = states * np.outer(cardinalities, cardinalities)
        terms = self._terms(counts, sizes[np.ix_(owner, owner)]).sum(axis=0)
        starts = self.offsets[first:-1] - self.offsets[first]
        sums = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)
        return np.asarray(sums + self._constants(sizes[first:, first:]))

    # ------------------------------------------------------------------ sets of variables

    def triples(self) -> NDArray[np.float64]:
        """Return J of all sets of three, shape (n, n, n), symmetric; entries with equal indices mean nothing."""
        if self._triples is None:
            self._triples = self._all_triples()
        return self._triples

    def _all_triples(self) -> NDArray[np.float64]:
        n = len(self.names)
        triples = np.zeros((n, n, n))
        for lowest in range(n - 2):
            counts = self._source.count_pairs([self.names[lowest]], lowest + 1)
            block = self._by_pair(counts, self.cardinalities[lowest], lowest + 1)
            triples[lowest, lowest + 1 :, lowest + 1 :] = block
            triples[lowest + 1 :, lowest, lowest + 1 :] = block
            triples[lowest + 1 :, lowest + 1 :, lowest] = block
        return triples

    def quadruples(self) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """Iterate over pairs a < b and J of all sets {a, b, c, d} with c, d > b, shape (n - b - 1, n - b - 1)."""
        for a, b in combinations(range(len(self.names) - 2), 2):
            counts = self._source.count_pairs([self.names[a], self.names[b]], b + 1)
            yield a, b, self._by_pair(counts, self.cardinalities[a] * self.cardinalities[b], b + 1)

    def extended(self, scope: Sequence[int]) -> NDArray[np.float64]:
        """Return J(scope + v) for every variable v, shape (n,); J(scope) for those of the scope itself.

        Raises
        ------
        TooLargeError
            If the tables would exceed the memory budget.
        """
        key = tuple(sorted(scope))
        if key not in self._extended:
            self._extended[key] = self._extend(key)
            self._extended[key].setflags(write=False)
        return self._extended[key]

    def of(self, scope: Sequence[int]) -> float:
        """Return J of a set."""
        return float(self.extended(scope)[scope[0]]) if scope else self.empty

    def _extend(self, scope: tuple[int, ...]) -> NDArray[np.float64]:
        if not scope:
            return self.singles
        extended: NDArray[np.float64]
        if len(scope) == 1:
            extended = self.pairs[scope[0]].copy()
            extended[scope[0]] = self.singles[scope[0]]
            return extended
        if len(scope) == 2 and self._triples is not None:
            extended = self._triples[scope].copy()
            extended[list(scope)] = self.pairs[scope]
            return extended
        family = [self._source.variables[position] for position in scope]
        family_cells(family, self._source.n_rows, extended_by=self._source.variables, copies=3)
        *above, last = (self.names[position] for position in scope)
        counts = self._source.count_extensions(last, above)
        counts = counts.reshape(-1, counts.shape[-1])
        sizes = len(counts) * np.array(self.cardinalities)
        inside = list(scope)
        sizes[inside] = len(counts)
        terms = self._terms(counts, sizes[self._owner]).sum(axis=0)
        return np.asarray(np.add.reduceat(terms, self.offsets[:-1]) + self._constants(sizes))
