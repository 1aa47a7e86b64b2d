"""Where EM starts for continuous leaves: what rows that know the family say, or rows that are far from each other.

Classes that start with the same means stay alike, and so do classes of which none is near some cluster of rows. So the
means of hidden configurations are the numbers of rows drawn one after another, each with probability proportional to
the squared distance from the nearest that was drawn before: distinct and distant ones, as in k-means++.

Numbers are measured from the mean of the row's configuration of the parents that are observed, in standard deviations
of what remains; the distance of two rows is the mean over the columns that both know. What a drawn row does not know is
taken from the nearest row that does.

References
----------
Arthur and Vassilvitskii (2007), *Proc. 18th ACM-SIAM Symposium on Discrete Algorithms*, 1027-1035.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data import Dataset
from pgm.factors.factor import FloatArray
from pgm.learning.em.leaf_rows import LeafGroup, leaf_groups
from pgm.learning.em.leaves import Leaf
from pgm.learning.em.maximization import Tables
from pgm.learning.parameters.gaussians import gaussian_of
from pgm.learning.parameters.moments import Moments
from pgm.network import BayesianNetwork

__all__ = ["LeafStarts", "distant_rows"]

MOST_DIFFERENCES = 1 << 24
"""Differences of numbers that are worked out for one start; of more rows than that allows some are drawn first."""

FEWEST_ROWS, FEWEST_DRAWN = 1000, 8
"""So many rows are looked at in any case, and never more than if so many were to be drawn."""

UNRELATED = 2.0
"""The mean squared difference of two random numbers of a column: what stands for the distance of rows that know no
column in common."""


class LeafStarts:
    """Parameters of leaves to start from.

    Parameters
    ----------
    data
        The rows; those of weight 0 do not matter.
    leaves
        The leaves.
    hidden
        The variables that are never observed.
    start
        What was asked for.
    """

    def __init__(self, data: Dataset, leaves: Sequence[Leaf], hidden: frozenset[str], start: object) -> None:
        self._leaves, self._hidden, self._start = tuple(leaves), hidden, start
        weights = np.ones(data.n_rows) if data.weights is None else np.asarray(data.weights, np.float64)
        self._weights = weights
        self._rows = np.flatnonzero(weights > 0)
        self._groups = leaf_groups(
            [(leaf.name, leaf.parents) for leaf in leaves],
            {leaf.name: data.numbers(leaf.name) for leaf in leaves},
            {name: data.codes(name) for name in data.names},
        )

    def signs(self) -> Iterator[tuple[Sequence[str], FloatArray]]:
        """Yield the parents of each leaf, and its parameters in a given network in the unit of its column."""
        for leaf, array in zip(self._leaves, self._given(), strict=False):
            names = [parent.name for parent in leaf.parents]
            means, variances = (array[..., 0] - leaf.middle) / leaf.scale, array[..., 1] / leaf.scale**2
            yield names, np.stack([means, variances], axis=-1)

    def _given(self) -> Tables:
        """Return the parameters of each leaf in a given network; nothing without one."""
        if not isinstance(self._start, BayesianNetwork):
            return []
        found = []
        for leaf in self._leaves:
            gaussian = self._start.gaussians[leaf.name].reorder([parent.name for parent in leaf.parents])
            found.append(np.stack([gaussian.means, np.maximum(gaussian.variances, leaf.floor)], axis=-1))
        return found

    def draw(
        self, rng: np.random.Generator, number: int, alike: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})
    ) -> Tables:
        """Return the means and variances of every leaf for one run.

        Those of a given network for the first run, but for states of a latent parent that it does not tell apart. Else,
        for leaves all of whose parents have known cells, what the rows that know the family suggest; otherwise the
        numbers of distant rows as means.

        Parameters
        ----------
        rng
            Draws the rows.
        number
            Of the run, from 0.
        alike
            As `pgm.learning.em.starts.states_alike` returned it.
        """
        given = self._given() if number == 0 else []
        made: dict[int, FloatArray] = {}
        for group in self._groups:
            kept = _told_apart(group, alike)
            if given and kept.all():
                made |= {leaf: given[leaf] for leaf in group.leaves}
                continue
            drawn = self._drawn(group, rng)
            made |= {leaf: np.where(kept, given[leaf], drawn[leaf]) if given else drawn[leaf] for leaf in group.leaves}
        return [made[leaf] for leaf in range(len(self._leaves))]

    def _drawn(self, group: LeafGroup, rng: np.random.Generator) -> dict[int, FloatArray]:
        """Return parameters for leaves with the same parents."""
        rows, shown, unseen = self._sides(group)
        place, size = group.configurations(rows, shown), group.size(shown)
        bases = [
            self._by_configuration(leaf, column[rows], self._weights[rows], place, size)
            for leaf, column in zip(group.leaves, group.numbers, strict=True)
        ]
        shifts = np.zeros((len(bases), 1))
        if unseen:
            shifts = self._shifts(group, bases, rows, place, group.size(unseen), rng)
        order = np.argsort([*shown, *unseen])
        shape = [group.parents[axis].cardinality for axis in (*shown, *unseen)]
        made = {}
        for leaf, base, shift in zip(group.leaves, bases, shifts, strict=True):
            floor, limits = self._leaves[leaf].floor, self._leaves[leaf].limits
            means = np.clip(base.means[:, None] + shift, *limits)
            variances = np.broadcast_to(base.variances[:, None], means.shape)
            if unseen:
                variances = np.full(means.shape, max(base.remaining, floor))
            made[leaf] = np.stack([array.reshape(shape).transpose(order) for array in (means, variances)], axis=-1)
        return made

    def _sides(self, group: LeafGroup) -> tuple[NDArray[np.intp], list[int], list[int]]:
        """Return the rows to look at, the parents that they know, and those whose states are to be told apart."""
        axes = range(len(group.parents))
        unseen = [axis for axis in axes if group.parents[axis].name in self._hidden]
        shown = [axis for axis in axes if axis not in unseen]
        rows = self._rows[group.shows(self._rows)]
        known = rows[~group.holes(rows)[shown].any(axis=0)]
        at_random = self._start == "random" or (not unseen and isinstance(self._start, BayesianNetwork))
        return (rows, [], list(axes)) if at_random or not len(known) else (known, shown, unseen)

    def _by_configuration(
        self, leaf: int, values: FloatArray, weights: FloatArray, place: NDArray[np.intp], size: int
    ) -> _Base:
        """Return what the rows that know some parents say about a leaf, by the configuration of these."""
        own, known = self._leaves[leaf], ~np.isnan(values)
        moments = Moments.grouped(values[known], weights[known], place[known], size)
        means, variances = gaussian_of(moments, own.middle, own.variance, own.floor)
        total = moments.weights.sum()
        return _Base(means, variances, float(moments.squares.sum() / total) if total > 0 else own.variance)

    def _shifts(
        self,
        group: LeafGroup,
        bases: Sequence[_Base],
        rows: NDArray[np.intp],
        place: NDArray[np.intp],
        size: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return how far the means of hidden configurations are from those of the observed, shape (leaves, size)."""
        limit = max(FEWEST_ROWS, MOST_DIFFERENCES // (max(size, FEWEST_DRAWN) * len(bases)))
        if len(rows) > limit:
            some = np.sort(rng.choice(len(rows), limit, replace=False))
            rows, place = rows[some], place[some]
        units = np.array([math.sqrt(base.remaining) or 1.0 for base in bases])
        points = np.empty((len(rows), len(bases)))
        for number, (column, base) in enumerate(zip(group.numbers, bases, strict=True)):
            points[:, number] = (column[rows] - base.means[place]) / units[number]
        drawn = distant_rows(points, self._weights[rows], size, rng)
        shifts: FloatArray = (drawn * units).T
        return shifts


def _told_apart(group: LeafGroup, alike: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return which configurations of the parents have no state that is like another, an axis of length one added."""
    flags = np.ones(group.shape, np.bool_)
    for axis, parent in enumerate(group.parents):
        if parent.name in alike:
            flags &= ~alike[parent.name].reshape([-1 if other == axis else 1 for other in range(len(group.shape))])
    return flags[..., None]


class _Base(NamedTuple):
    """A leaf by the configuration of its observed parents."""

    means: FloatArray
    variances: FloatArray
    remaining: float
    """The variance within configurations."""


def distant_rows(points: FloatArray, weights: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Return some rows of an array that are distinct and distant, without holes.

    Parameters
    ----------
    points
        Rows, each of which knows some coordinate; NaN for those that it does not know.
    weights
        What each counts.
    size
        How many to draw; if there are not so many distinct ones, some are drawn again.
    rng
        Draws them.

    Examples
    --------
    >>> points = np.array([[0.0]] * 99 + [[5.0]])
    >>> sorted(distant_rows(points, np.ones(100), 2, np.random.default_rng(0)).ravel().tolist())
    [0.0, 5.0]
    """
    nearest = np.full(len(points), np.inf)
    made = np.empty((size, points.shape[1]))
    for number in range(size):
        chances = weights * nearest if number else weights
        if not chances.sum() > 0:
            chances = weights
        cumulated = np.cumsum(chances)
        drawn = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        drawn = min(drawn, int(np.flatnonzero(chances)[-1]))
        differences = (points - points[drawn]) ** 2
        common = ~np.isnan(differences)
        shared = common.sum(axis=1)
        distances = np.where(common, differences, 0.0).sum(axis=1) / np.maximum(shared, 1)
        made[number] = _completed(points, drawn, np.where(shared > 0, distances, np.inf))
        nearest = np.minimum(nearest, np.where(shared > 0, distances, UNRELATED))
    return made


def _completed(points: FloatArray, drawn: int, distances: FloatArray) -> FloatArray:
    """Return a row with what it does not know from the nearest row that does; 0, the mean, where there is none."""
    row: FloatArray = points[drawn].copy()
    for place in np.flatnonzero(np.isnan(row)).tolist():
        far = np.where(np.isnan(points[:, place]), np.inf, distances)
        nearest = int(far.argmin())
        row[place] = points[nearest, place] if far[nearest] < np.inf else 0.0
    return row
