"""SQUAREM: two steps of EM tell where a third should go.

EM converges linearly, slowly where much is missing. Let r be the last step but one and v the change from it to the last
step. If steps shrink evenly, the limit lies on the curve

    theta(a) = theta - 2 a r + a^2 v,    a = -|r| / |v|,

and a = -1 is the two steps of EM themselves. The result is taken only if it is no worse than what EM has reached
(`pgm.learning.em.iteration`), so the objective never falls.

Tables are extrapolated as they are, and what comes out below zero is put right afterwards (`as_tables`). Means of
continuous leaves are measured in standard deviations of their column and variances by their logarithms, so that units
do not matter (`pgm.learning.em.leaves`).

References
----------
Varadhan and Roland (2008), *Scandinavian Journal of Statistics* 35, 335-353, scheme S3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pgm.factors.factor import FloatArray

__all__ = ["SHRINK", "as_tables", "distance", "extrapolated"]

SHRINK = 0.01
"""No probability and no variance becomes less than this share of what EM makes it: an extrapolation must not end at
zero or below."""


def distance(tables: Sequence[FloatArray], others: Sequence[FloatArray]) -> float:
    """Return the Euclidean norm of the difference of all tables.

    >>> distance([np.array([0.5, 0.5])], [np.array([0.2, 0.8])])  # doctest: +ELLIPSIS
    0.4242...
    """
    differences = [table - other for table, other in zip(tables, others, strict=True)]
    unit = max((float(np.abs(difference).max(initial=0.0)) for difference in differences), default=0.0)
    if unit == 0:
        return 0.0
    return unit * math.sqrt(sum(float(np.sum((difference / unit) ** 2)) for difference in differences))


def extrapolated(
    first: Sequence[FloatArray], second: Sequence[FloatArray], third: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return the point that three successive estimates of EM point to; it need not be one of tables.

    Parameters
    ----------
    first, second, third
        The parameters before, between and after two steps of EM, in coordinates that may have any value.

    Examples
    --------
    >>> steps = [[np.array([p, 1 - p])] for p in (0.1, 0.3, 0.4)]  # each step is half of the one before
    >>> extrapolated(*steps)[0].round(6).tolist()
    [0.5, 0.5]
    """
    steps = [after - before for before, after in zip(first, second, strict=True)]
    bends = [(after - between) - step for between, after, step in zip(second, third, steps, strict=True)]
    length = np.sqrt(sum(float(np.sum(step**2)) for step in steps))
    bend = np.sqrt(sum(float(np.sum(change**2)) for change in bends))
    if bend == 0 or length <= bend:
        return list(third)
    a = -length / bend
    return [start - 2 * a * step + a * a * change for start, step, change in zip(first, steps, bends, strict=True)]


def as_tables(points: Sequence[FloatArray], near: Sequence[FloatArray]) -> list[FloatArray]:
    """Return a point as tables: no entry much less than in tables nearby, and every row of sum one.

    >>> as_tables([np.array([1.2, -0.2])], [np.array([0.9, 0.1])])[0].round(4).tolist()
    [0.9992, 0.0008]
    """
    made = []
    for point, table in zip(points, near, strict=True):
        positive = np.maximum(point, SHRINK * table)
        made.append(positive / positive.sum(axis=-1, keepdims=True))
    return made
