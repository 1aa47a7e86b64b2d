"""The M step: from expected counts to tables, some of which may be fixed and some shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.variable import Variable
from pgm.learning.em.acceleration import as_tables
from pgm.learning.parameters.estimation import TableEstimator

__all__ = ["Maximization", "Tables", "check_fixed", "expected_log_likelihood", "owners_of", "prior_exponents"]

Tables = list[FloatArray]


def owners_of(
    families: Sequence[Sequence[Variable]], shared: Iterable[Iterable[str]], leaves: Sequence[str] = ()
) -> list[int]:
    """Return for each family the first one that has the same table; mostly that is itself.

    Parameters
    ----------
    families
        The parents, then the child.
    shared
        Groups of children whose tables are one and the same.
    leaves
        Continuous leaves, which have no tables.

    Raises
    ------
    UnknownNameError
        For a name that is no child.
    DataError
        If a name is in two groups or is that of a leaf, or the tables of a group have different shapes or other states,
        or the same states in another order: cells are matched by position.

    Examples
    --------
    >>> x, y = Variable("x", ["heads", "tails"]), Variable("y", ["heads", "tails"])
    >>> owners_of([[x], [y]], [["x", "y"]])
    [0, 0]
    """
    place = {family[-1].name: number for number, family in enumerate(families)}
    owners = list(range(len(families)))
    seen: set[str] = set()
    for group in shared:
        if isinstance(group, str):
            raise DataError(f"shared is a list of groups of names, such as [['x', 'y']], not {group!r} alone")
        names = list(group)
        for name in names:
            _check_has_table(name, leaves, "shared")
            if name not in place:
                raise UnknownNameError(f"shared names no node {name!r}; the nodes are {listing(place)}")
            if name in seen:
                raise DataError(f"{name!r} is in two groups of shared, or twice in one")
            seen.add(name)
        for name in names:
            _check_alike(families[place[names[0]]], families[place[name]])
            owners[place[name]] = min(place[other] for other in names)
    return owners


def _check_alike(family: Sequence[Variable], other: Sequence[Variable]) -> None:
    """Raise unless the tables of two families have the same shape, with the same labels along each axis."""
    what = f"{family[-1].name!r} and {other[-1].name!r} cannot share a table"
    shapes = [tuple(variable.cardinality for variable in variables) for variables in (family, other)]
    if shapes[0] != shapes[1]:
        raise DataError(f"{what}: the shapes are {shapes[0]} and {shapes[1]}")
    for one, two in zip(family, other, strict=True):
        if Variable(one.name, two.states) != one:
            hint = ": declare them in the same order" if set(one.states) == set(two.states) else ""
            states = f"{one.name!r} has the states {listing(one.states)}, {two.name!r} {listing(two.states)}"
            raise DataError(f"{what}: {states}{hint}")


def check_fixed(fixed: Iterable[str], nodes: Sequence[str], leaves: Sequence[str] = ()) -> list[str]:
    """Return the names of tables that are not learned, checked.

    Raises
    ------
    UnknownNameError
        For a name that is no node.
    DataError
        For a continuous leaf.
    """
    names = [fixed] if isinstance(fixed, str) else list(fixed)
    for name in names:
        _check_has_table(name, leaves, "fixed")
        if name not in nodes:
            raise UnknownNameError(f"fixed names no node {name!r}; the nodes are {listing(nodes)}")
    return names


def _check_has_table(name: str, leaves: Sequence[str], option: str) -> None:
    if name in leaves:
        raise DataError(f"{option} is for tables: {name!r} is continuous, its means and variances are always learned")


def prior_exponents(estimator: TableEstimator) -> Tables:
    """Return for each table the exponents of the density whose mode the estimate is: a for means, a - 1 for modes.

    >>> x = Variable("x", ["no", "yes"])
    >>> prior_exponents(TableEstimator([[x]], [2.0], "mode"))
    [array([1., 1.])]
    """
    less = 0.0 if estimator.estimate == "mean" else 1.0
    made = []
    for family, pseudocounts in zip(estimator.families, estimator.pseudocounts, strict=True):
        shape = [variable.cardinality for variable in family]
        made.append(np.broadcast_to(np.subtract(pseudocounts, less), shape).astype(np.float64))
    return made


class Maximization(NamedTuple):
    """Tables of highest expected log-likelihood plus log prior, given expected counts.

    Shared tables are estimated from the counts of all their families together, with one prior.
    """

    estimator: TableEstimator
    """Of the families that are learned."""
    learned: tuple[int, ...]
    """Their numbers."""
    exponents: Tables
    """Those of the prior's density, for each table that is learned."""
    owners: tuple[int, ...]
    """For each family the one whose table it has."""
    fixed: dict[int, FloatArray]
    """The tables that are not learned."""

    def tables(self, counts: Sequence[FloatArray]) -> Tables:
        """Return the tables of all families."""
        return self._spread(self.estimator.tables(self.joined(counts)))

    def joined(self, counts: Sequence[FloatArray]) -> Tables:
        """Return the counts of the tables that are learned."""
        total: dict[int, FloatArray] = {}
        for number, table in enumerate(counts):
            owner = self.owners[number]
            total[owner] = total[owner] + table if owner in total else table
        return [total[number] for number in self.learned]

    def _spread(self, tables: Sequence[FloatArray]) -> Tables:
        made = {**self.fixed, **dict(zip(self.learned, tables, strict=True))}
        return [made[owner] if number not in self.fixed else made[number] for number, owner in enumerate(self.owners)]

    def chosen(self, tables: Sequence[FloatArray]) -> Tables:
        """Return those of all tables that are learned, shared ones once."""
        return [tables[number] for number in self.learned]

    def log_prior(self, tables: Sequence[FloatArray]) -> float:
        """Return the log density of the tables under the prior, up to a constant.

        It is `TableEstimator.log_prior`, all tables at once.
        """
        return expected_log_likelihood(self.chosen(tables), self.exponents)

    def expected_log_likelihood(self, tables: Sequence[FloatArray], counts: Sequence[FloatArray]) -> float:
        """Return the expected log-likelihood of completed rows; see the function of that name."""
        return expected_log_likelihood(tables, counts)

    def with_learned(self, tables: Sequence[FloatArray]) -> Tables:
        """Return all tables, given those that are learned."""
        return self._spread(tables)

    def coordinates(self, tables: Sequence[FloatArray]) -> Tables:
        """Return what is learned in the coordinates of extrapolations: the tables as they are."""
        return self.chosen(tables)

    def from_coordinates(self, points: Sequence[FloatArray], near: Sequence[FloatArray]) -> Tables:
        """Return all tables for an extrapolated point, no entry much less than in the tables nearby."""
        return self._spread(as_tables(points, self.chosen(near)))


def expected_log_likelihood(tables: Sequence[FloatArray], counts: Sequence[FloatArray]) -> float:
    """Return the sum of n ln theta, 0 where n is 0: the log-likelihood of rows with these expected counts.

    >>> round(expected_log_likelihood([np.array([0.5, 0.5, 0.0])], [np.array([1.5, 0.5, 0.0])]), 4)
    -1.3863
    """
    if not tables:
        return 0.0
    number = np.concatenate([count.ravel() for count in counts])
    seen = number != 0
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate([table.ravel() for table in tables])[seen])
    return float(number[seen] @ logs)
