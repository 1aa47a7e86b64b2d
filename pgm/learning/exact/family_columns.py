"""The families of a search as the columns of an integer program.

Every graph chooses one family for each child. A family costs what it lacks of the child's best one, so the costs are
at least zero, the cheapest graph is the best one, and a graph without cycles costs more than zero only because the
best families of all children together would close cycles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FamilyColumns", "family_columns"]


class FamilyColumns(NamedTuple):
    """Families as columns, child by child, the best first."""

    child: NDArray[np.intp]
    """Shape (families,)."""
    parents: NDArray[np.bool_]
    """Shape (families, variables)."""
    cost: NDArray[np.float64]
    """How much worse each is than the best of its child."""
    score: NDArray[np.float64]
    """The local scores themselves."""

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.parents.shape[1])

    @property
    def starts(self) -> NDArray[np.intp]:
        """Position of each child's first family."""
        return np.searchsorted(self.child, np.arange(self.n_variables))

    @property
    def best(self) -> float:
        """Sum of the best scores of all children: what a graph scores that costs nothing."""
        return math.fsum(self.score[self.starts])

    def keep(self, columns: NDArray[np.bool_] | NDArray[np.intp]) -> FamilyColumns:
        """Return some of the families, at the costs they have."""
        return FamilyColumns(self.child[columns], self.parents[columns], self.cost[columns], self.score[columns])


def family_columns(masks: Sequence[Sequence[int]], scores: Sequence[NDArray[np.float64]]) -> FamilyColumns:
    """Return lists of parent sets as columns.

    Parameters
    ----------
    masks
        For each child the parent sets, bit p set where variable p is a parent; the best first.
    scores
        Their local scores.

    Examples
    --------
    >>> families = family_columns([[2, 0], [0]], [np.array([-1.0, -3.0]), np.array([-2.0])])
    >>> families.cost
    array([0., 2., 0.])
    """
    n_variables = len(masks)
    width = (n_variables + 7) // 8
    packed = b"".join(mask.to_bytes(width, "little") for of_child in masks for mask in of_child)
    lengths = [len(of_child) for of_child in masks]
    bits = np.frombuffer(packed, np.uint8).reshape(sum(lengths), width)
    parents = np.unpackbits(bits, axis=1, count=n_variables, bitorder="little").astype(bool)
    child = np.repeat(np.arange(n_variables), lengths)
    cost = np.concatenate([of_child[0] - of_child for of_child in scores])
    return FamilyColumns(child, parents, cost, np.concatenate(scores))
