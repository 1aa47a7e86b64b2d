"""Drawing states: from tables and uniform random numbers to codes, many rows at once.

Every sampler of this package repeats one step: some variables are drawn from a product of tables, cut at the states
that their neighbours already have in that row. A :class:`Draw` is such a step. For ancestral sampling the product is
one conditional probability table, for sampling given evidence it is what one step of variable elimination joined, and
for Gibbs sampling it is a Markov blanket.

States are found by inversion: a uniform number u in [0, 1) gives the first state whose cumulative probability exceeds
u. With 53 random bits a probability is right to about 2**-53. A state of probability zero has the cumulative
probability of the state before it, so no u leads to it; and that of the last possible state is the total over itself,
exactly 1, so that rounding can lead nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.errors import EvidenceError
from pgm.factors.factor import FloatArray

__all__ = ["Columns", "Draw", "as_generator", "draw_rows", "joint_codes", "row_blocks", "thresholds"]

TABLE_CELLS = 1 << 18
"""Cells up to which the conditional probabilities of a step are tabulated for every state of what is given (2 MB)."""

COUNTED_STATES = 4
"""Up to so many states, counting the thresholds that a number has reached beats bisection (measured)."""

BLOCK_ROWS = 8192
"""Rows drawn at a time: their numbers stay in the cache."""

TINY = 1e-250
"""Products of which a row has none larger are computed by logarithms."""

BLOCK_CELLS = 1 << 21
"""Numbers that such a block may need at once."""

Columns: TypeAlias = Mapping[int, NDArray[Any]]
"""Codes by variable number, one for each row."""


def as_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return the generator itself, or a new one: from a seed, or from fresh entropy for None.

    Raises
    ------
    EvidenceError
        For anything else.

    Examples
    --------
    >>> int(as_generator(7).integers(100)) == int(as_generator(7).integers(100))
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    if rng is not None and not seed:
        raise EvidenceError(f"rng is a numpy.random.Generator, a whole number from 0 as a seed, or None, not {rng!r}")
    return np.random.default_rng(rng)


# ---------------------------------------------------------------------- inversion


def thresholds(weights: FloatArray) -> FloatArray:
    """Return the cumulative probabilities of each row of weights, padded with ones to a power of two.

    Rows that are all zero stand for what never happens; they come out as ones.

    >>> thresholds(np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])).tolist()
    [[0.5, 0.5, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]]
    """
    n_rows, n_states = weights.shape
    table = np.ones((n_rows, 1 << (n_states - 1).bit_length()))
    sums = np.cumsum(weights, axis=1)
    np.divide(sums, sums[:, -1:], out=table[:, :n_states], where=sums[:, -1:] > 0)
    return table


def _invert(table: FloatArray, rows: NDArray[np.intp], uniforms: FloatArray) -> NDArray[Any]:
    """Return the state that each uniform number leads to: how many thresholds of its row it has reached.

    Few thresholds are compared one by one, many by bisection.
    """
    width = table.shape[1]
    flat = table.ravel()
    place: NDArray[np.intp] = rows * width
    if width <= COUNTED_STATES:
        states = np.zeros(len(rows), np.uint8)
        for threshold in range(width - 1):
            states += uniforms >= flat[threshold:].take(place)
        return states
    half = width >> 1
    while half:
        place += (uniforms >= flat[half - 1 :].take(place)) * half
        half >>= 1
    place &= width - 1
    return place


def joint_codes(
    columns: Columns, variables: Sequence[int], cardinalities: Sequence[int], n_rows: int
) -> NDArray[np.intp]:
    """Return the joint state of some variables in each row as one number, the last variable fastest.

    >>> joint_codes({4: np.array([0, 1]), 2: np.array([2, 1])}, [4, 2], [2, 3], 2).tolist()
    [2, 4]
    """
    if not variables:
        return np.zeros(n_rows, np.intp)
    number = columns[variables[0]].astype(np.intp)
    for variable, cardinality in zip(variables[1:], cardinalities[1:], strict=True):
        number *= cardinality
        number += columns[variable]
    return number


# ---------------------------------------------------------------------- one step


class _Operand(NamedTuple):
    """One table of the product, the axes of what is given first."""

    table: FloatArray
    given: tuple[int, ...]
    shape: tuple[int, ...]
    """For each variable drawn its cardinality, or 1 if the table does not depend on it."""


class Draw:
    """Variables drawn together, given variables drawn before: P(variables | given), up to a factor for each row.

    Parameters
    ----------
    variables
        What is drawn.
    given
        What the tables depend on otherwise.
    factors
        Pairs (scope, table) whose product is proportional to the conditional distribution.
    cardinalities
        Number of states by variable.
    n_rows
        How many rows will be drawn, in all. If there are no more joint states of what is given, the conditional
        probabilities are computed once for each of these; else row by row.
    logarithms
        Whether the tables hold logarithms.
    """

    def __init__(
        self,
        variables: Sequence[int],
        given: Sequence[int],
        factors: Sequence[tuple[Sequence[int], FloatArray]],
        cardinalities: Sequence[int],
        n_rows: int,
        *,
        logarithms: bool = False,
    ) -> None:
        self.variables = tuple(variables)
        self.given = tuple(given)
        self._radices = tuple(cardinalities[variable] for variable in given)
        self._shape = shape = tuple(cardinalities[variable] for variable in variables)
        self.n_states = math.prod(shape)
        self._split = np.indices(shape).reshape(len(shape), -1) if len(shape) > 1 else None
        self._logarithms = logarithms
        self._operands = [_operand(scope, table, self.variables) for scope, table in factors]
        self._table: FloatArray | None = None
        states = math.prod(self._radices)
        if states <= n_rows and states * self.n_states <= TABLE_CELLS:
            everything = np.indices(self._radices).reshape(len(self._radices), states)
            self._table = thresholds(self.weights(dict(zip(self.given, everything, strict=True)), states))
            self._operands = []

    @property
    def cells_per_row(self) -> int:
        """Numbers needed for each row while it is drawn, beside its uniform number."""
        return 1 if self._table is not None else 3 * self.n_states

    def weights(self, columns: Columns, n_rows: int) -> FloatArray:
        """Return the product of the tables for each row; shape (rows, joint states of the variables)."""
        parts = [
            table[tuple([columns[variable] for variable in given])].reshape(-1, *shape)
            for table, given, shape in self._operands
        ]
        if not self._logarithms:
            product = self._joined(parts, np.multiply, n_rows)
            if len(parts) == 1 or product.max(axis=1, initial=0.0).min(initial=1.0) >= TINY:
                return product
            with np.errstate(divide="ignore"):
                parts = [np.log(part) for part in parts]
        logs = self._joined(parts, np.add, n_rows)
        peak = logs.max(axis=1, keepdims=True)
        return np.exp(logs - np.where(np.isneginf(peak), 0.0, peak))

    def _joined(self, parts: Sequence[FloatArray], join: np.ufunc, n_rows: int) -> FloatArray:
        """Return the parts joined, shape (rows, joint states of the variables)."""
        shape = (n_rows, *self._shape)
        return np.broadcast_to(reduce(join, parts), shape).reshape(n_rows, self.n_states)

    def into(self, columns: Columns, uniforms: FloatArray) -> None:
        """Draw the variables in every row of ``columns``, one uniform number for each row."""
        n_rows = len(uniforms)
        if self._table is None:
            states = _invert(thresholds(self.weights(columns, n_rows)), np.arange(n_rows), uniforms)
        else:
            states = _invert(self._table, joint_codes(columns, self.given, self._radices, n_rows), uniforms)
        for place, variable in enumerate(self.variables):
            columns[variable][:] = states if self._split is None else self._split[place].take(states)


def _operand(scope: Sequence[int], table: FloatArray, drawn: tuple[int, ...]) -> _Operand:
    given = tuple(variable for variable in scope if variable not in drawn)
    own = [variable for variable in drawn if variable in scope]
    sizes = dict(zip(scope, table.shape, strict=True))
    order = [scope.index(variable) for variable in (*given, *own)]
    return _Operand(table.transpose(order), given, tuple(sizes.get(variable, 1) for variable in drawn))


# ---------------------------------------------------------------------- many rows


def row_blocks(n_rows: int, cells_per_row: int) -> Iterator[slice]:
    """Yield slices that cover all rows, each small enough for the cache and for memory."""
    size = max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(1, cells_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def draw_rows(draws: Sequence[Draw], columns: Columns, n_rows: int, generator: np.random.Generator) -> None:
    """Fill the columns: the draws one after another in every row.

    Notes
    -----
    The uniform numbers are taken row by row, one for each draw, so that the rows do not depend on how many are drawn at
    a time, and a short sample is the beginning of a long one.
    """
    if not draws or not n_rows:
        return
    blocks = list(row_blocks(n_rows, max(len(draws), *(draw.cells_per_row for draw in draws))))
    by_row = np.empty((blocks[0].stop, len(draws)))  # memory that is used again costs less than memory that is new
    by_draw = np.empty((len(draws), blocks[0].stop))
    for block in blocks:
        size = block.stop - block.start
        by_draw[:, :size] = generator.random(out=by_row[:size]).T
        part = {variable: column[block] for variable, column in columns.items()}
        for draw, uniforms in zip(draws, by_draw[:, :size], strict=True):
            draw.into(part, uniforms)
