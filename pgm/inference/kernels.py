"""Kernels: the array operations that a step of a plan comes down to.

A step multiplies tables and removes variables by the addition of a *semiring*: by sums for probabilities, by maxima for
most probable explanations. A semiring here is a function that chooses a kernel from scopes and cardinalities alone, so
the choice is made once, when a plan is compiled.

Each semiring has a twin that works on logarithms, for products that leave the range of floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product as joint_states
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pgm.errors import TooLargeError
from pgm.factors.factor import FloatArray

try:  # the C function behind numpy.einsum, without a microsecond of argument handling
    from numpy._core.einsumfunc import c_einsum as _einsum  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    _einsum = np.einsum

__all__ = ["MaxProduct", "Semiring", "SumProduct", "add_logarithms", "contract_pair", "is_einsum", "subscripts"]

Kernel: TypeAlias = Callable[..., Any]
Axes: TypeAlias = tuple[int, ...]
Cells: TypeAlias = Callable[[Iterable[int]], int]
Multiply: TypeAlias = Callable[[Sequence[Axes], Axes], Kernel]

SMALL_CELLS = 4096
"""Up to this many cells of the joint scope one call is best, whatever it costs for each cell."""

BLOCK_CELLS = 1 << 18
"""Cells of a product that is formed at once before axes are removed (2 MB: it stays in the cache)."""

MATRIX_WORK = 64
"""Multiplications for each member of a batch from which on a matrix product beats einsum (measured)."""

BLAS_WORK = 1 << 17
"""Multiplications up to which BLAS is not tempted to start threads: they gain nothing here and cost much when the
machine is busy."""

FEW_CELLS = 8192
"""Up to this many cells of the joint scope a maximum is not worth rearranging the tables."""

PART_CELLS = 1 << 14
"""Cells of a product that is formed at once before maxima are taken (two such parts stay in the nearest caches)."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Semiring(NamedTuple):
    """What "multiply and sum out" means."""

    name: str
    kernel: Callable[[tuple[Axes, ...], Axes, Cells, int | None], Kernel]
    """Called with the axes of the operands and of the result, a function that tells sizes, and the axis of rows."""
    total: Callable[[FloatArray], float]
    """What remains when everything is summed out."""
    of_logarithms: Semiring | None = None
    """The same on tables given as logarithms: slow, but nothing underflows."""


def is_einsum(kernel: Kernel) -> bool:
    """Return whether a kernel is a single einsum, which needs no memory but its result."""
    return isinstance(kernel, partial)


def subscripts(operands: Sequence[Axes], out: Axes) -> str:
    """Return the einsum notation for a product of tables summed to some axes.

    >>> subscripts([(7, 3), (3, 9)], (7, 9))
    'ab,bc->ac'
    """
    joint = dict.fromkeys(axis for axes in operands for axis in axes)
    if len(joint) > len(LETTERS):
        raise TooLargeError(f"one step would join tables over {len(joint)} variables; at most {len(LETTERS)} can be")
    letters = dict(zip(joint, LETTERS, strict=False))
    inputs = ",".join("".join(letters[axis] for axis in axes) for axes in operands)
    return f"{inputs}->{''.join(letters[axis] for axis in out)}"


def contract_pair(left: Axes, right: Axes, out: Axes, cells: Cells, rows_axis: int | None = None) -> Kernel:
    """Return the kernel that multiplies two tables and sums to the axes ``out``.

    Notes
    -----
    Axes are of five kinds: in both and kept (*batch*), in both and summed (*inner*), kept of the left (*rows*) or of
    the right (*columns*) only, and summed of one only (*alone*). What is alone is summed first. With enough work for
    each member of the batch a matrix product is fastest; else einsum is, and always if both have an axis of rows,
    which is last and long.
    """
    lone_left = [axis for axis in left if axis not in right and axis not in out]
    lone_right = [axis for axis in right if axis not in left and axis not in out]
    if lone_left or lone_right:
        return _sum_first(left, right, out, {*lone_left, *lone_right}, cells, rows_axis)
    batch = tuple(axis for axis in out if axis in left and axis in right)
    inner = tuple(axis for axis in left if axis in right and axis not in out)
    rows = tuple(axis for axis in out if axis not in right)
    columns = tuple(axis for axis in out if axis not in left)
    work = cells(rows) * cells(columns) * cells(inner)
    if cells(inner) > 1 and rows and columns and work >= MATRIX_WORK and rows_axis not in batch:
        return _matrix_product(left, right, out, (batch, rows, columns, inner), cells)
    return partial(_einsum, subscripts((left, right), out))


def _sum_first(left: Axes, right: Axes, out: Axes, alone: set[int], cells: Cells, rows_axis: int | None) -> Kernel:
    short_left = tuple(axis for axis in left if axis not in alone)
    short_right = tuple(axis for axis in right if axis not in alone)
    reduce_left = partial(_einsum, subscripts((left,), short_left))
    reduce_right = partial(_einsum, subscripts((right,), short_right))
    product = contract_pair(short_left, short_right, out, cells, rows_axis)

    def kernel(x: FloatArray, y: FloatArray) -> FloatArray:
        if short_left != left:
            x = reduce_left(x)
        if short_right != right:
            y = reduce_right(y)
        return product(x, y)  # type: ignore[no-any-return]

    return kernel


def _matrix_product(left: Axes, right: Axes, out: Axes, kinds: tuple[Axes, Axes, Axes, Axes], cells: Cells) -> Kernel:
    batch, rows, columns, inner = kinds
    to_left = tuple(left.index(a) for a in (*batch, *rows, *inner))
    to_right = tuple(right.index(a) for a in (*batch, *inner, *columns))
    made = (*batch, *rows, *columns)
    to_out = tuple(made.index(a) for a in out)
    many = (cells(batch),) if batch else ()
    shape_left = (*many, cells(rows), cells(inner))
    shape_right = (*many, cells(inner), cells(columns))
    shape_out = tuple(cells((a,)) for a in made)
    block = max(1, BLAS_WORK // (cells(inner) * cells(columns)))

    def kernel(x: FloatArray, y: FloatArray) -> FloatArray:
        x = x.transpose(to_left).reshape(shape_left)
        y = y.transpose(to_right).reshape(shape_right)
        product: FloatArray
        if block >= shape_left[-2]:
            product = np.matmul(x, y)
        else:
            product = np.empty((*shape_left[:-1], shape_right[-1]))
            for start in range(0, shape_left[-2], block):
                part = slice(start, start + block)
                np.matmul(x[..., part, :], y, out=product[..., part, :])
        return product.reshape(shape_out).transpose(to_out)

    return kernel


# ---------------------------------------------------------------------- sums


def _sum_kernel(operands: tuple[Axes, ...], out: Axes, cells: Cells, rows: int | None) -> Kernel:
    if len(operands) == 2 and cells({*operands[0], *operands[1]}) > SMALL_CELLS:
        return contract_pair(operands[0], operands[1], out, cells, rows)
    return partial(_einsum, subscripts(operands, out))


# ---------------------------------------------------------------------- maxima and logarithms


def _blockwise(
    operands: tuple[Axes, ...], out: Axes, cells: Cells, multiply: Multiply, reduce: Kernel, combine: Kernel
) -> Kernel:
    """Return the kernel that forms the product block by block and removes the other axes of each block.

    Parameters
    ----------
    operands, out, cells
        As for :class:`Semiring`.
    multiply
        Makes the kernel of a product from the axes of its operands and of its result.
    reduce
        Removes the first axes of an array; called with the array and their number.
    combine
        Joins the results of two blocks; called with both and where to put the result.
    """
    joint = dict.fromkeys(axis for axes in operands for axis in axes)
    gone = tuple(axis for axis in joint if axis not in out)
    looped: list[int] = []
    while cells(joint) > BLOCK_CELLS * cells(looped) and len(looped) < len(gone):
        looped.append(gone[len(looped)])
    inner = gone[len(looped) :]
    product = multiply([tuple(axis for axis in axes if axis not in looped) for axes in operands], (*inner, *out))
    if not gone:
        return product

    def block(*tables: FloatArray) -> FloatArray:
        made: FloatArray = product(*tables)
        return reduce(made, len(inner)) if inner else made

    return _over_states(block, operands, tuple(looped), cells, combine) if looped else block


def _over_states(block: Kernel, operands: tuple[Axes, ...], looped: Axes, cells: Cells, combine: Kernel) -> Kernel:
    """Return the kernel that runs a block at each joint state of some axes and combines the results."""

    def cut(axes: Axes, state: Sequence[int]) -> tuple[Any, ...]:
        fixed = dict(zip(looped, state, strict=True))
        return tuple(fixed.get(axis, slice(None)) for axis in axes)

    states = joint_states(*(range(cells((axis,))) for axis in looped))
    slices = [tuple(cut(axes, state) for axes in operands) for state in states]

    def kernel(*tables: FloatArray) -> FloatArray:
        result: FloatArray | None = None
        for places in slices:
            found = block(*(table[place] for table, place in zip(tables, places, strict=True)))
            result = np.asarray(found) if result is None else combine(result, found, out=result)
        assert result is not None
        return result

    return kernel


def _multiply(operands: Sequence[Axes], out: Axes) -> Kernel:
    return partial(_einsum, subscripts(operands, out), order="C")


def add_logarithms(operands: Sequence[Axes], out: Axes) -> Kernel:
    """Return the kernel of a product of tables given as logarithms: their sum, with axes ``out``.

    >>> add_logarithms([(0,), (1,)], (1, 0))(np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [[11.0, 12.0], [21.0, 22.0]]
    """
    orders = [tuple(axes.index(axis) for axis in out if axis in axes) for axes in operands]
    spread = [tuple(slice(None) if axis in axes else None for axis in out) for axes in operands]

    def kernel(*tables: FloatArray) -> FloatArray:
        aligned = (
            np.asarray(table).transpose(order)[place]
            for table, order, place in zip(tables, orders, spread, strict=True)
        )
        total = next(aligned) + np.zeros((1,) * len(out))
        for table in aligned:
            total = total + table
        return total

    return kernel


def _max_first(table: FloatArray, number: int) -> FloatArray:
    return np.maximum.reduce(table, axis=tuple(range(number)))  # type: ignore[no-any-return]


def _log_sum_first(table: FloatArray, number: int) -> FloatArray:
    flat = table.reshape(-1, *table.shape[number:])
    peak = np.maximum.reduce(flat, axis=0)
    shift = np.where(np.isneginf(peak), 0.0, peak)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(flat - shift).sum(axis=0)) + shift)


def _max_kernel(operands: tuple[Axes, ...], out: Axes, cells: Cells, rows: int | None) -> Kernel:
    if len(operands) == 1:
        return _max_alone(operands[0], out, cells)
    joint = dict.fromkeys(axis for axes in operands for axis in axes)
    if cells(joint) <= FEW_CELLS:
        return _max_of_few(operands, out, tuple(axis for axis in joint if axis not in out), cells)
    if len(operands) == 2:
        return _max_of_pair(operands[0], operands[1], out, cells)
    return _blockwise(operands, out, cells, _multiply, _max_first, np.maximum)


def _max_alone(axes: Axes, out: Axes, cells: Cells) -> Kernel:
    gone = tuple(position for position, axis in enumerate(axes) if axis not in out)
    if not out:
        return lambda table: np.maximum.reduce(table, axis=None)
    order = (*gone, *(axes.index(axis) for axis in out))
    shape = (cells(axes[position] for position in gone), *(cells((axis,)) for axis in out))
    # a maximum along the last axis takes ten times as long where that is short; copying is cheap
    return lambda table: np.maximum.reduce(np.ascontiguousarray(table.transpose(order)).reshape(shape))


def _max_of_few(operands: tuple[Axes, ...], out: Axes, gone: Axes, cells: Cells) -> Kernel:
    if not gone:
        return _multiply(operands, out)
    if not out:
        product = _multiply(operands, gone)
        return lambda *tables: np.maximum.reduce(product(*tables), axis=None)
    product = _multiply(operands, (*gone, *out))
    if len(gone) == 1:
        return lambda *tables: np.maximum.reduce(product(*tables))
    shape = (cells(gone), *(cells((axis,)) for axis in out))
    return lambda *tables: np.maximum.reduce(product(*tables).reshape(shape))


def _max_of_pair(left: Axes, right: Axes, out: Axes, cells: Cells) -> Kernel:
    """Return the kernel that multiplies two tables and takes maxima over what is not in ``out``.

    Notes
    -----
    As in :func:`contract_pair` axes are in both tables, in the left or in the right only, or maximised over. What is
    maximised over and of one table only goes first. Then each table gets three axes and the maximised ones in front,
    so that a product of any number of variables is a regular one, its longest axis last.
    """
    short_left = tuple(axis for axis in left if axis in right or axis in out)
    short_right = tuple(axis for axis in right if axis in left or axis in out)
    inner = tuple(axis for axis in left if axis in right and axis not in out)
    kinds = [
        tuple(axis for axis in out if axis in left and axis in right),
        tuple(axis for axis in out if axis not in right),
        tuple(axis for axis in out if axis not in left),
    ]
    kinds.sort(key=cells)
    made = tuple(axis for kind in kinds for axis in kind)
    if cells(made) < min(cells(inner), FEW_CELLS // 64):  # so short are columns slower than rows
        return _blockwise((left, right), out, cells, _multiply, _max_first, np.maximum)

    def arrangement(axes: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
        order = tuple(axes.index(axis) for axis in (*inner, *made) if axis in axes)
        return order, (cells(inner), *(cells(kind) if {*kind} <= {*axes} else 1 for kind in kinds))

    reduce_left, reduce_right = _max_alone(left, short_left, cells), _max_alone(right, short_right, cells)
    (order_left, shape_left), (order_right, shape_right) = arrangement(short_left), arrangement(short_right)
    shape = tuple(cells((axis,)) for axis in made)
    to_out = tuple(made.index(axis) for axis in out)

    def kernel(x: FloatArray, y: FloatArray) -> FloatArray:
        x = x if short_left == left else reduce_left(x)
        y = y if short_right == right else reduce_right(y)
        x = np.ascontiguousarray(x.transpose(order_left)).reshape(shape_left)
        y = np.ascontiguousarray(y.transpose(order_right)).reshape(shape_right)
        found = _max_product(x, y)
        return found.reshape(shape).transpose(to_out)

    return kernel


def _max_product(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the maximum over the first of four axes of the product of two tables that broadcast."""
    _, planes, rows, columns = map(max, x.shape, y.shape)
    height = max(1, min(planes, PART_CELLS // (rows * columns)))
    width = rows if height > 1 else max(1, min(rows, PART_CELLS // columns))
    result = np.empty((planes, rows, columns))
    for top in range(0, planes, height):
        for start in range(0, rows, width):
            here = (slice(top, top + height), slice(start, start + width))
            _max_of_part(_part(x, here), _part(y, here), result[here])
    return result


def _part(table: FloatArray, here: tuple[slice, slice]) -> FloatArray:
    """Return the part of a table of four axes; an axis of length 1 is left as it is."""
    first, second = (place if n > 1 else slice(None) for place, n in zip(here, table.shape[1:3], strict=True))
    return table[:, first, second]


def _max_of_part(x: FloatArray, y: FloatArray, result: FloatArray) -> None:
    """Write to ``result`` the maximum over the first axis of the product, formed for so few states at once as fit."""
    states = len(x)
    depth = max(1, min(states, PART_CELLS // result.size))
    buffer = np.empty((depth, *result.shape))
    for start in range(0, states, depth):
        product = result[None] if start == 0 and depth == 1 else buffer[: states - start]
        _einsum("abcd,abcd->abcd", x[start : start + depth], y[start : start + depth], out=product)
        if start == 0 and depth > 1:
            np.maximum.reduce(product, axis=0, out=result)
        elif start:
            np.maximum(result, np.maximum.reduce(product) if depth > 1 else product[0], out=result)


def _log_sum_kernel(operands: tuple[Axes, ...], out: Axes, cells: Cells, rows: int | None) -> Kernel:
    return _blockwise(operands, out, cells, add_logarithms, _log_sum_first, np.logaddexp)


def _log_max_kernel(operands: tuple[Axes, ...], out: Axes, cells: Cells, rows: int | None) -> Kernel:
    return _blockwise(operands, out, cells, add_logarithms, _max_first, np.maximum)


SumProduct = Semiring("sum-product", _sum_kernel, np.sum, Semiring("log sum-product", _log_sum_kernel, np.sum))
"""Multiply and add: probabilities."""

MaxProduct = Semiring("max-product", _max_kernel, np.max, Semiring("log max-product", _log_max_kernel, np.max))
"""Multiply and take the maximum: most probable explanations."""
