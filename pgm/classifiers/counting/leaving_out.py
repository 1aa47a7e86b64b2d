"""Tables without a row: probabilities of each row by the counts of all others, which are the counts less the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgm.classifiers.common.reading import Codes
from pgm.classifiers.counting.class_counts import FloatArray
from pgm.classifiers.counting.estimates import Family, joint_codes, logarithm, look_up, subtracted

__all__ = ["INCOMPLETE", "held_out", "own_weights"]

INCOMPLETE = "leaving rows out needs complete features wherever another feature depends on them"


def own_weights(labels: NDArray[np.intp], classes: int, weights: FloatArray | None) -> FloatArray:
    """Return what each row adds to counts in each class, shape (rows, classes)."""
    own = np.zeros((len(labels), classes))
    own[np.arange(len(labels)), labels] = 1.0 if weights is None else weights
    return own


def held_out(
    family: Family, codes: Codes, cardinalities: tuple[int, ...], own: FloatArray, pseudocount: float
) -> FloatArray:
    """Return ln P(child | c, parents) in each row, without what the row itself adds; 0 where the child is missing."""
    child, parents, counts = family
    states = counts.shape[-1]
    cells = look_up(counts, 0.0)[joint_codes(codes, (*parents, child), cardinalities)]
    totals = look_up(counts.sum(axis=-1), 0.0)[joint_codes(codes, parents, cardinalities)]
    above = subtracted(cells, own) + pseudocount
    below = subtracted(totals, own) + pseudocount * states
    logs = logarithm(np.divide(above, below, out=np.full_like(above, 1 / states), where=below > 0))
    logs[codes[child] == states] = 0.0
    return logs
