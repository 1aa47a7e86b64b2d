"""What rows show of continuous leaves whose parents they leave open: densities going in, moments coming out.

Leaves with the same parents are one group. In some rows a parent is known and in some it is not; only those that some
row leaves open are axes of what is worked out here, and the others say which means and variances a row is measured by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.factors.factor import FloatArray
from pgm.factors.gaussian import ConditionalGaussian, log_normal_density
from pgm.factors.variable import Variable
from pgm.learning.parameters.moments import Moments

__all__ = ["LeafGroup", "OpenRows", "leaf_groups"]


class LeafGroup(NamedTuple):
    """Leaves with the same parents, and their columns."""

    parents: tuple[Variable, ...]
    leaves: tuple[int, ...]
    """The leaves, by number."""
    names: tuple[str, ...]
    codes: tuple[NDArray[Any] | None, ...]
    """Columns of the parents; None for one without a column."""
    numbers: tuple[FloatArray, ...]
    """Columns of the leaves."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many states each parent has."""
        return tuple(parent.cardinality for parent in self.parents)

    def size(self, axes: Sequence[int]) -> int:
        """Return how many configurations some parents have."""
        return math.prod(self.shape[axis] for axis in axes)

    def holes(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which parents are missing in some rows, shape (parents, rows)."""
        flags = np.ones((len(self.parents), len(rows)), np.bool_)
        for flag, parent, column in zip(flags, self.parents, self.codes, strict=True):
            if column is not None:
                np.equal(column[rows], parent.cardinality, out=flag)
        return flags

    def shows(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of some rows know the number of a leaf."""
        flags: NDArray[np.bool_] = np.logical_or.reduce([~np.isnan(column[rows]) for column in self.numbers])
        return flags

    def configurations(self, rows: NDArray[np.intp], axes: Sequence[int]) -> NDArray[np.intp]:
        """Return the joint state of some parents that all these rows know."""
        place = np.zeros(len(rows), np.intp)
        for axis in axes:
            column = self.codes[axis]
            if column is not None:  # or there are no such rows
                place *= self.parents[axis].cardinality
                place += column[rows]
        return place

    def known_moments(self, rows: NDArray[np.intp], weights: FloatArray) -> Iterator[Moments]:
        """Yield the moments of each leaf in rows that know all parents, by configuration."""
        place = self.configurations(rows, range(len(self.parents)))
        for column in self.numbers:
            values = column[rows]
            known = ~np.isnan(values)
            found = Moments.grouped(values[known], weights[rows[known]], place[known], math.prod(self.shape))
            yield found.arranged(self.shape, tuple(range(len(self.shape))))


def leaf_groups(
    leaves: Iterable[tuple[str, tuple[Variable, ...]]],
    numbers: Mapping[str, FloatArray],
    codes: Mapping[str, NDArray[Any]],
) -> tuple[LeafGroup, ...]:
    """Return the leaves, each with its parents, in groups with the same parents in the same order.

    Parameters
    ----------
    leaves
        Name and parents of each.
    numbers, codes
        The columns of the leaves and of the discrete variables.

    Examples
    --------
    >>> k = Variable("k", [0, 1])
    >>> groups = leaf_groups([("x", (k,)), ("y", (k,)), ("z", ())], dict.fromkeys("xyz", np.zeros(1)), {})
    >>> [group.names for group in groups]
    [('x', 'y'), ('z',)]
    """
    found: dict[tuple[Variable, ...], list[tuple[int, str]]] = {}
    for number, (name, parents) in enumerate(leaves):
        found.setdefault(parents, []).append((number, name))
    return tuple(
        LeafGroup(
            parents,
            tuple(number for number, _ in members),
            tuple(name for _, name in members),
            tuple(codes.get(parent.name) for parent in parents),
            tuple(numbers[name] for _, name in members),
        )
        for parents, members in found.items()
    )


class _Column(NamedTuple):
    """The numbers of one leaf, where they are known."""

    leaf: int
    where: NDArray[np.intp] | slice
    values: FloatArray


class OpenRows:
    """Those among some rows that know the number of a leaf of a group, but not all its parents.

    Parameters
    ----------
    group
        The leaves.
    rows
        Among which rows.
    """

    def __init__(self, group: LeafGroup, rows: NDArray[np.intp]) -> None:
        holes = group.holes(rows)
        self.group = group
        self.members = np.flatnonzero(holes.any(axis=0) & group.shows(rows))
        """Their places among the rows."""
        rows, holes = rows[self.members], holes[:, self.members]
        axes = range(len(group.parents))
        self.open = tuple(axis for axis in axes if holes[axis].any())
        """The parents that some row leaves open, by number."""
        closed = tuple(axis for axis in axes if axis not in self.open)
        self._order = (*self.open, *closed)
        self.n_open, self._n_closed = group.size(self.open), group.size(closed)
        self._closed = group.configurations(rows, closed)
        self.possible = self._possible(rows, holes)
        """Which configurations of the open parents the known cells allow, shape (configurations, rows)."""
        self._columns = list(self._known_numbers(rows))

    @property
    def parents(self) -> tuple[Variable, ...]:
        """The parents that some row leaves open."""
        return tuple(self.group.parents[axis] for axis in self.open)

    def _possible(self, rows: NDArray[np.intp], holes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        shape = [self.group.shape[axis] for axis in self.open]
        possible = np.ones((*shape, len(rows)), np.bool_)
        for place, axis in enumerate(self.open):
            column = self.group.codes[axis]
            if column is not None:
                allowed = (np.arange(shape[place])[:, None] == column[rows]) | holes[axis]
                possible &= allowed.reshape([-1 if other == place else 1 for other in range(len(shape))] + [len(rows)])
        return possible.reshape(self.n_open, len(rows))

    def _known_numbers(self, rows: NDArray[np.intp]) -> Iterator[_Column]:
        for leaf, column in zip(self.group.leaves, self.group.numbers, strict=True):
            values = column[rows]
            where = np.flatnonzero(~np.isnan(values))
            yield _Column(leaf, slice(None) if len(where) == len(rows) else where, values[where])

    def log_densities(self, gaussians: Sequence[ConditionalGaussian]) -> FloatArray:
        """Return the log density of what each row shows, by the configuration of the open parents.

        Parameters
        ----------
        gaussians
            Those of all leaves, by number.
        """
        total = np.zeros(self.possible.shape)
        for leaf, where, values in self._columns:
            means, variances = (
                array.transpose(self._order).reshape(self.n_open, -1)
                for array in (gaussians[leaf].means, gaussians[leaf].variances)
            )
            if self._n_closed > 1:
                means, variances = means[:, self._closed[where]], variances[:, self._closed[where]]
            total[:, where] += log_normal_density(values, means, variances)
        return total

    def moments(self, shares: FloatArray) -> Iterator[tuple[int, Moments]]:
        """Yield the moments of each leaf, by number, given how likely each row is in which configuration."""
        shape = tuple(self.group.shape[axis] for axis in self._order)
        axes = tuple(np.argsort(self._order))
        for leaf, where, values in self._columns:
            weights = shares[:, where]
            if self._n_closed == 1:
                yield leaf, Moments.shared(values, weights).arranged(shape, axes)
                continue
            place = np.arange(self.n_open)[:, None] * self._n_closed + self._closed[where]
            everywhere = np.broadcast_to(values, weights.shape).ravel()
            found = Moments.grouped(everywhere, weights.ravel(), place.ravel(), self.n_open * self._n_closed)
            yield leaf, found.arranged(shape, axes)
