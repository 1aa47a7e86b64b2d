"""Hidden parts: what a row leaves open falls into parts that can be summed out each by itself.

Two hidden variables of a row hang together if one table holds both, or through others that do. Given what the row
knows, parts that do not hang together are independent: each needs only the tables that hold a variable of it, and so
only the known cells in those tables. Most rows with scattered holes have parts of one or two variables, of which very
few are different (20,000 rows of ALARM with a tenth of all cells missing have 60,000 parts, of 700 shapes); and a part
with few joint states is summed out fastest by writing them all down.

:class:`Patterns` finds the parts of all patterns of holes at once, :class:`Enumeration` writes their completions down
once, as places in one long vector of all parameters. An E step of EM is then a handful of array operations, whatever
the network: look the parameters up, multiply them for each completion, add the products for each part, and add the
shares of the completions up by place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data.counts import FamilyCounter
from pgm.factors.factor import FloatArray
from pgm.inference.contraction import TINY

__all__ = ["Enumeration", "Layout", "Parts", "Patterns", "complete_cases", "distinct_rows"]

_BLOCK_CELLS = 1 << 22
"""Cells of (variables, rows) worked on at once while parts are told apart."""

_LARGE = 2.0**30
"""Numbers of states beyond this are not told apart; so many are never written down."""

_MARKED_CELLS = 1 << 16
"""Tables with holes as one more state of each variable are made up to this size."""


class Layout(NamedTuple):
    """The tables of a network side by side in one vector."""

    cardinalities: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    """By how many places a step along each axis of each table goes."""
    offsets: tuple[int, ...]
    """Where each table begins; then the length of the vector."""

    @classmethod
    def of(cls, cardinalities: Sequence[int], scopes: Sequence[Sequence[int]]) -> Layout:
        """Return the layout of tables with these scopes.

        >>> Layout.of([2, 3], [(0,), (0, 1)])
        Layout(cardinalities=(2, 3), scopes=((0,), (0, 1)), strides=((1,), (3, 1)), offsets=(0, 2, 8))
        """
        strides, offsets = [], [0]
        for scope in scopes:
            steps = [1]
            for variable in reversed(scope):
                steps.append(steps[-1] * cardinalities[variable])
            offsets.append(offsets[-1] + steps.pop())
            strides.append(tuple(reversed(steps)))
        return cls(tuple(cardinalities), tuple(map(tuple, scopes)), tuple(strides), tuple(offsets))

    def joined(self, values: Sequence[FloatArray]) -> FloatArray:
        """Return the tables as one vector."""
        return np.concatenate([table.ravel() for table in values])

    def split(self, vector: FloatArray) -> list[FloatArray]:
        """Return the tables of a vector."""
        return [
            vector[start:stop].reshape([self.cardinalities[variable] for variable in scope])
            for scope, start, stop in zip(self.scopes, self.offsets, self.offsets[1:], strict=False)
        ]


def distinct_rows(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of each kind of equal rows, and the kind of each row.

    >>> distinct_rows([np.array([1, 0, 1], np.uint8)])
    (array([1, 0]), array([1, 0, 1]))
    """
    if not columns:
        return np.zeros(1, np.intp), np.zeros(0, np.intp)
    rows = np.ascontiguousarray(np.stack(columns, axis=1))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind.ravel()


def complete_cases(counter: FamilyCounter, scope: Sequence[int]) -> FloatArray:
    """Return the counts of some variables over the rows that know them all.

    Parameters
    ----------
    counter
        Counts columns in which a missing cell is one more state, the last.
    scope
        The variables; axes in that order.

    Notes
    -----
    One state more for each variable makes a large table many times larger (3^k cells for 2^k): then the joint states
    that occur are listed instead.
    """
    marked = [counter.cardinalities[variable] for variable in scope]
    shape = [states - 1 for states in marked]
    if math.prod(marked) <= _MARKED_CELLS:
        return counter.count(scope)[tuple(map(slice, shape))].astype(np.float64)
    occupied, counts = counter.occupied(scope)
    known = np.flatnonzero((occupied < shape).all(axis=1))
    table = np.zeros(shape)
    table[tuple(occupied[known].T)] = counts[known]
    return table


class Patterns:
    """The different patterns of holes of some rows, and the parts of each.

    Parameters
    ----------
    layout
        The tables.
    columns
        Codes by variable; a missing cell has the cardinality, and a variable without a column is missing throughout.
    n_rows
        Number of rows.
    """

    def __init__(self, layout: Layout, columns: Mapping[int, NDArray[Any]], n_rows: int) -> None:
        n_variables = len(layout.cardinalities)
        flags = np.ones((n_variables, n_rows), np.bool_)
        for variable, column in columns.items():
            np.equal(column, layout.cardinalities[variable], out=flags[variable])
        first, self.of_row = distinct_rows(list(np.packbits(flags, axis=0)))
        if not n_rows:
            first = first[:0]
        self.hidden: NDArray[np.bool_] = flags[:, first]
        """Which variables each pattern hides, shape (variables, patterns)."""
        self.layout = layout
        self.parts = self._parts()
        """The part to which each hidden variable belongs, numbered by its first variable; else their number."""
        scopes = layout.scopes
        self.of_table = np.stack([self.parts[list(scope)].min(axis=0) for scope in scopes]) if scopes else self.parts
        """The part to which each table belongs, shape (tables, patterns); all its hidden variables are of one part."""
        self._measure()

    @property
    def none(self) -> int:
        """What stands for no part: the number of variables."""
        return len(self.layout.cardinalities)

    def _parts(self) -> NDArray[Any]:
        n_variables, n_patterns = self.hidden.shape
        kind = np.min_scalar_type(n_variables)
        none = kind.type(n_variables)
        parts = np.where(self.hidden, np.arange(n_variables, dtype=kind)[:, None], none)
        tables = [list(scope) for scope in self.layout.scopes if len(scope) > 1]
        tables = [scope for scope in tables if n_patterns and self.hidden[scope].sum(axis=0).max() > 1]
        changed = True
        while changed:
            changed = False
            for scope in tables:
                lowest = np.where(self.hidden[scope], parts[scope].min(axis=0), none)
                if not np.array_equal(lowest, parts[scope]):
                    parts[scope] = lowest
                    changed = True
            tables.reverse()
        return parts

    def _measure(self) -> None:
        """Count the joint states of each part, and write each variable's radix in their numbers down."""
        n_variables, n_patterns = self.hidden.shape
        states = np.ones((n_variables + 1, n_patterns), np.float32)
        everyone = np.arange(n_patterns)
        self.radix = np.ones((n_variables, n_patterns), np.int32)
        for variable, cardinality in enumerate(self.layout.cardinalities):
            mine = everyone[self.hidden[variable]]
            part = self.parts[variable, mine]
            self.radix[variable, mine] = states[part, mine]
            states[part, mine] = np.minimum(states[part, mine] * cardinality, _LARGE)
        states[n_variables] = 0
        self.states = states
        """Joint states of each part, shape (variables + 1, patterns)."""
        self.factors = np.zeros((n_variables + 1, n_patterns), np.float32)
        """How many parameters are looked up when all completions of a part are written down."""
        for part in self.of_table:
            self.factors[part, everyone] += states[part, everyone]
        self.cost: FloatArray = self.factors.sum(axis=0, dtype=np.float64)
        """The same for all parts of a pattern."""


class Parts(NamedTuple):
    """Parts that are different, each with the first row that has it."""

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    weights: FloatArray

    def chosen(self, flags: NDArray[np.bool_]) -> Parts:
        """Return some of the parts."""
        return Parts(self.rows[flags], self.labels[flags], self.weights[flags])


class Enumeration:
    """All completions of the hidden parts of some rows.

    Parameters
    ----------
    patterns
        The patterns of all rows.
    columns
        Codes by variable, as for :class:`Patterns`.
    rows
        The rows whose parts are to be written down.
    weights
        Weight of each of these rows.
    limit
        Parts with more factors than this are left out, and listed as ``large``.

    Notes
    -----
    Parts that are equal, with equal known cells around them, are written down once. They are recognised by a hash of 64
    bits; among a million different parts two are taken for one with odds of one in 30 million.
    """

    def __init__(
        self,
        patterns: Patterns,
        columns: Mapping[int, NDArray[Any]],
        rows: NDArray[np.intp],
        weights: FloatArray,
        limit: float = math.inf,
    ) -> None:
        self._patterns = patterns
        self._layout = patterns.layout
        self._columns = columns
        parts = self._distinct(rows, weights)
        large = patterns.factors[parts.labels, patterns.of_row[parts.rows]] > limit
        self.large = parts.chosen(large)
        """The parts that are not written down."""
        self._parts = parts.chosen(~large)
        self._kinds = patterns.of_row[self._parts.rows]
        self._sizes = patterns.states[self._parts.labels, self._kinds].astype(np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._places: NDArray[np.intp] | None = None

    @property
    def rows(self) -> NDArray[np.intp]:
        """The first row in which each part occurs."""
        return self._parts.rows

    @property
    def weights(self) -> FloatArray:
        """Weight of the rows in which each part occurs."""
        return self._parts.weights

    @property
    def n_factors(self) -> int:
        """How many parameters are looked up in all."""
        return int(self._patterns.factors[self._parts.labels, self._kinds].sum(dtype=np.float64))

    # ------------------------------------------------------------------ writing down

    def _distinct(self, rows: NDArray[np.intp], weights: FloatArray) -> Parts:
        none = self._patterns.none
        found: list[tuple[NDArray[Any], ...]] = []
        size = max(1, _BLOCK_CELLS // none)
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            kinds = self._patterns.of_row[block]
            labels, place = np.nonzero(self._patterns.parts[:, kinds] == np.arange(none)[:, None])
            numbers = np.empty((none, len(block)), np.intp)
            numbers[labels, place] = np.arange(len(labels))
            keys = np.zeros(len(labels), np.uint64)
            for table in range(len(self._layout.scopes)):
                part = self._patterns.of_table[table, kinds]
                touched = np.flatnonzero(part < none)
                if len(touched):
                    keys[numbers[part[touched], touched]] += self._hashes(table, block[touched])
            found.append((keys, block[place], labels, weights[start : start + size][place]))
        if not found:
            return Parts(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))
        keys, where, labels, weight = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        return Parts(where[first], labels[first], _added(kind.ravel(), weight, len(first)))

    def _hashes(self, table: int, rows: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return a hash of what each row shows of a table, holes included."""
        key = np.zeros(len(rows), np.uint64)
        for variable in self._layout.scopes[table]:
            cardinality = self._layout.cardinalities[variable]
            column = self._columns.get(variable)
            key *= np.uint64(cardinality + 1)
            key += np.uint64(cardinality) if column is None else column[rows].astype(np.uint64)
        key += np.uint64((table + 1) * 0x9E3779B97F4A7C15 % 2**64)  # splitmix64 (Steele, Lea and Flood 2014)
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return key ^ (key >> np.uint64(31))

    def _write_down(self) -> NDArray[np.intp]:
        """Return the places of all factors, those of a completion one after another."""
        tables = np.rint(self._patterns.factors[self._parts.labels, self._kinds] / self._sizes).astype(np.intp)
        self._factors = np.repeat(tables, self._sizes)
        self._first_factor = np.cumsum(self._factors) - self._factors
        places = np.empty(int(self._factors.sum()), np.intp)
        free = self._first_factor.copy()  # where the next factor of each completion goes
        for completion, place in self._factors_by_table():
            places[free[completion]] = place
            free[completion] += 1
        return places

    def _factors_by_table(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield for each table the completions that have a factor of it, and the places of the parameters."""
        parts, kinds = self._parts, self._kinds
        for table, (scope, strides) in enumerate(zip(self._layout.scopes, self._layout.strides, strict=True)):
            mine = np.flatnonzero(self._patterns.of_table[table, kinds] == parts.labels)
            if not len(mine):
                continue
            rows, kind, sizes = parts.rows[mine], kinds[mine], self._sizes[mine]
            ends = np.cumsum(sizes)
            number = np.arange(ends[-1], dtype=np.int32)  # of the completion within its part
            number -= np.repeat((ends - sizes).astype(np.int32), sizes)
            base = np.full(len(mine), self._layout.offsets[table], np.intp)
            shifts = []
            for variable, stride in zip(scope, strides, strict=True):
                hidden = self._patterns.hidden[variable, kind]
                if not hidden.all():
                    base += np.where(hidden, 0, stride * self._columns[variable][rows].astype(np.intp))
                if hidden.any():
                    digit = number // np.repeat(self._patterns.radix[variable, kind], sizes)
                    digit %= self._layout.cardinalities[variable]
                    digit *= np.repeat((hidden * stride).astype(np.int32), sizes)
                    shifts.append(digit)
            place = np.repeat(base, sizes)
            for shift in shifts:
                place += shift
            yield np.repeat(self._starts[mine], sizes) + number, place

    # ------------------------------------------------------------------ looking up

    def expect(self, parameters: FloatArray, *, best: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return the expected counts by place, and ln P of each part with its known cells, minus infinity for zero.

        Parameters
        ----------
        parameters
            All tables as one vector; see :meth:`Layout.joined`.
        best
            Count the most probable completion of each part only (of equal ones the first), and return its ln P.

        Notes
        -----
        About 10 ns for each factor of each completion of each different part.
        """
        if not len(self.weights):
            return np.zeros(len(parameters)), np.zeros(0)
        if self._places is None:
            self._places = self._write_down()
        joint = np.multiply.reduceat(parameters[self._places], self._first_factor)
        total = np.add.reduceat(joint, self._starts)
        if total.min() < TINY:
            joint, scale = self._rescaled(parameters, self._places)
            total = np.add.reduceat(joint, self._starts)
        else:
            scale = np.zeros(len(total))
        if best:
            joint = self._best(joint)
            total = np.add.reduceat(joint, self._starts)
        share = np.divide(self.weights, total, out=np.zeros(len(total)), where=total > 0)
        joint *= np.repeat(share, self._sizes)
        counts = _added(self._places, np.repeat(joint, self._factors), len(parameters))
        with np.errstate(divide="ignore"):
            return counts, np.log(total) + scale

    def _rescaled(self, parameters: FloatArray, places: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the probability of each completion over the largest of its part, and the log of that."""
        with np.errstate(divide="ignore"):
            logs = np.add.reduceat(np.log(parameters)[places], self._first_factor)
        scale = np.maximum.reduceat(logs, self._starts)
        scale[np.isneginf(scale)] = 0.0
        return np.exp(logs - np.repeat(scale, self._sizes)), scale

    def _best(self, joint: FloatArray) -> FloatArray:
        """Return the numbers with all but the first largest of each part set to zero."""
        largest = joint == np.repeat(np.maximum.reduceat(joint, self._starts), self._sizes)
        places = np.flatnonzero(largest)
        part = np.repeat(np.arange(len(self._sizes)), self._sizes)[places]
        chosen = places[np.unique(part, return_index=True)[1]]
        kept = np.zeros(len(joint))
        kept[chosen] = joint[chosen]
        return kept


def _added(places: NDArray[Any], weights: FloatArray, size: int) -> FloatArray:
    """Return the sums of the weights at each place."""
    return np.bincount(places, weights, size).astype(np.float64, copy=False)
