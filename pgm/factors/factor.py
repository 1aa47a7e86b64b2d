"""`Factor`: a table of numbers over a scope of variables, and the algebra of such tables.

The operations carry their textbook names (Koller and Friedman 2009, sections 4.2 and 9.2): product, marginalize,
maximize, reduce, normalize. A factor never knows an edge; which factors to multiply, and when to sum, is decided in
:mod:`pgm.inference`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgm.errors import TableError, UnknownNameError, listing
from pgm.factors.printing import format_table
from pgm.factors.size import check_size
from pgm.factors.variable import Label, Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Factor", "as_names", "as_table"]

SHOWN_STATES = 6
"""Factors over one variable with up to so many states show their numbers in one line."""

FloatArray: TypeAlias = NDArray[np.float64]
Names: TypeAlias = str | Iterable[str]
"""One name, or several."""


def as_names(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple, so that ``"a"`` means the variable a and not its letters.

    A set has no order of its own, and would have another one in each process; it is sorted.

    Raises
    ------
    UnknownNameError
        For what is neither.

    Examples
    --------
    >>> as_names("rain"), as_names(["rain", "wet"])
    (('rain',), ('rain', 'wet'))
    """
    if isinstance(names, str):
        return (names,)
    try:
        return tuple(sorted(names, key=str) if isinstance(names, (set, frozenset)) else names)
    except TypeError:
        raise UnknownNameError(f"expected a name, or a list of names, not {names!r}") from None


def as_table(values: ArrayLike, what: str) -> FloatArray:
    """Return a new array of the values; what carries labels of its own is refused, for they would be ignored.

    Raises
    ------
    TableError
        If they are not numbers, or a pandas object.
    """
    if type(values).__module__.partition(".")[0] == "pandas":
        kind = type(values).__name__
        raise TableError(f"{what} is a pandas {kind}: give rows by label, or .to_numpy() to go by position")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TableError(f"{what} has masked numbers")
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "biufO":
            raise TypeError(f"found {found.dtype}")
        with np.errstate(over="ignore"):  # of longer floats; who calls this finds the infinite numbers
            return np.array(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TableError(f"{what} is not made of numbers: {error}") from None


class Factor:
    """A table over the joint states of its variables.

    Parameters
    ----------
    variables
        The scope, in the order of the axes. All different.
    values
        Numbers of shape ``tuple(v.cardinality for v in variables)``. They are copied.

    Raises
    ------
    TableError
        For a repeated variable, a wrong shape, or a number that is not finite.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> wet = Variable("wet", ["no", "yes"])
    >>> joint = Factor([rain, wet], [[0.7, 0.1], [0.02, 0.18]])
    >>> joint["yes", "no"]
    0.02
    >>> print(joint.marginalize("wet"))
    rain | value
    -----+------
    no   |   0.8
    yes  |   0.2
    """

    __slots__ = ("_axes", "values", "variables")

    variables: tuple[Variable, ...]
    values: FloatArray
    _axes: dict[str, int]

    def __init__(self, variables: Iterable[Variable], values: ArrayLike) -> None:
        if isinstance(variables, (set, frozenset)):
            raise TableError("a factor's variables must be in the order of the axes; a set has none")
        if not isinstance(variables, Iterable):
            raise TableError(f"a factor's variables are a list of Variable objects, not {variables!r}")
        scope = tuple(variables)
        for variable in scope:
            if not isinstance(variable, Variable):
                raise TableError(f"a factor is built over Variable objects, not {variable!r}")
        names = [variable.name for variable in scope]
        if len(set(names)) != len(names):
            raise TableError(f"a factor's variables must be all different, not {listing(names)}")
        table = as_table(values, f"the table over {listing(names)}")
        shape = tuple(variable.cardinality for variable in scope)
        if table.shape != shape:
            raise TableError(f"a table over {listing(names)} has shape {shape}, not {table.shape}")
        if not np.isfinite(table).all():
            raise TableError(f"the table over {listing(names)} contains NaN or an infinite number")
        self._set(scope, table)

    @classmethod
    def _of(cls, scope: tuple[Variable, ...], table: FloatArray) -> Factor:
        """Wrap an array that is known to be right and not shared, without copying."""
        factor = cls.__new__(cls)
        factor._set(scope, table)
        return factor

    def _set(self, scope: tuple[Variable, ...], table: FloatArray) -> None:
        table.flags.writeable = False
        set_once = object.__setattr__
        set_once(self, "variables", scope)
        set_once(self, "values", table)

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "_axes":  # the only attribute made on first use
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        axes = {variable.name: axis for axis, variable in enumerate(self.variables)}
        object.__setattr__(self, "_axes", axes)
        return axes

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.variables, np.asarray(self.values))

    # ------------------------------------------------------------------ looking

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the axes."""
        return tuple(variable.name for variable in self.variables)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cardinalities of the variables."""
        return self.values.shape

    def variable(self, name: str) -> Variable:
        """Return the variable of that name in the scope."""
        return self.variables[self._axis(name)]

    def _axis(self, name: str) -> int:
        try:
            return self._axes[name]
        except (KeyError, TypeError):
            raise UnknownNameError(f"no variable {name!r} in a table over {listing(self.names)}") from None

    def __getitem__(self, key: Label | tuple[Label, ...] | Mapping[str, Label]) -> float:
        """Return the number at one joint state, given by label.

        ``factor["yes"]`` for one variable, ``factor["yes", "no"]`` in the order of the axes or
        ``factor[{"rain": "yes", "wet": "no"}]`` by name for several.
        """
        if isinstance(key, Mapping):
            position = self._position(key)
        elif len(self.variables) == 1 and not (
            isinstance(key, tuple) and len(key) == 1 and key not in self.variables[0]
        ):
            position = (self.variables[0].code(key),)
        else:
            labels = key if isinstance(key, tuple) else (key,)
            if len(labels) != len(self.variables):
                raise TableError(f"a table over {listing(self.names)} takes {len(self.variables)} labels, not {key!r}")
            position = tuple(variable.code(label) for variable, label in zip(self.variables, labels, strict=True))
        return float(self.values[position])

    def _position(self, states: Mapping[str, Label]) -> tuple[int, ...]:
        for name in states:
            self._axis(name)
        absent = [name for name in self.names if name not in states]
        if absent:
            raise TableError(f"no state given for {listing(absent)}; reduce() takes states of some variables")
        return tuple(variable.code(states[variable.name]) for variable in self.variables)

    def to_dict(self) -> dict[Any, float]:
        """Return ``{label: number}`` for one variable, ``{(label, ...): number}`` for several or none.

        Raises
        ------
        TableError
            If a variable has both 1 and True, or 0 and False, which are one key of a Python dict; see
            :meth:`to_frame`.
        """
        for variable in self.variables:
            if len(set(variable.states)) < variable.cardinality:
                raise TableError(
                    f"a dict cannot tell apart the states of {variable.name!r}, {listing(variable.states)}"
                )
        if len(self.variables) == 1:
            return dict(zip(self.variables[0].states, self.values.tolist(), strict=True))
        return {
            tuple(variable.states[code] for variable, code in zip(self.variables, position, strict=True)): float(number)
            for position, number in np.ndenumerate(self.values)
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: one column of labels a variable, one row a joint state, and a column ``value``."""
        import pandas as pd

        positions = np.indices(self.shape).reshape(len(self.variables), -1)
        columns: dict[str, Any] = {}
        for variable, codes in zip(self.variables, positions, strict=True):
            columns[variable.name] = [variable.states[code] for code in codes]
        name = "value"
        while name in columns:
            name += "_"
        return pd.DataFrame({**columns, name: self.values.ravel()})

    def __str__(self) -> str:
        return format_table(self.variables, self.values, column="value")

    def __repr__(self) -> str:
        if len(self.variables) == 1 and self.values.size <= SHOWN_STATES:
            numbers = zip(self.variables[0].states, self.values.tolist(), strict=True)
            states = ", ".join(f"{label!r} {number:.6g}" for label, number in numbers)
            return f"<{type(self).__name__} over {self.variables[0].name!r}: {states}>"
        return f"<{type(self).__name__} over {listing(self.names)}: {self.values.size} values>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    # ------------------------------------------------------------------ algebra

    def product(self, other: Factor | float) -> Factor:
        """Return the product; its scope is this factor's, then what the other adds.

        Raises
        ------
        TableError
            If the two disagree about the states of a shared variable.
        """
        if not isinstance(other, Factor):
            return Factor(self.variables, self.values * _number(other))
        scope, left, right = _aligned(self, other)
        check_size([variable.cardinality for variable in scope], "the product")
        return Factor._of(scope, np.asarray(left * right))

    def divide(self, other: Factor | float) -> Factor:
        """Return the quotient, with 0/0 = 0 (Koller and Friedman, definition 10.7).

        Raises
        ------
        TableError
            If a number other than 0 would be divided by 0.
        """
        if not isinstance(other, Factor):
            other = Factor((), _number(other))
        scope, left, right = _aligned(self, other)
        check_size([variable.cardinality for variable in scope], "the quotient")
        left, right = np.broadcast_arrays(left, right)
        if np.any((right == 0) & (left != 0)):
            raise TableError(f"a number other than 0 over {listing(self.names)} would be divided by 0")
        quotient = np.zeros(left.shape)
        np.divide(left, right, out=quotient, where=right != 0)
        return Factor._of(scope, quotient)

    def marginalize(self, names: Names) -> Factor:
        """Return the factor with the named variables summed out."""
        axes, scope = self._without(names)
        return Factor._of(scope, np.asarray(self.values.sum(axis=axes)))

    def maximize(self, names: Names) -> Factor:
        """Return the factor with the named variables maximised out."""
        axes, scope = self._without(names)
        return Factor._of(scope, np.asarray(self.values.max(axis=axes)))

    def _without(self, names: Names) -> tuple[tuple[int, ...], tuple[Variable, ...]]:
        gone = {self._axis(name) for name in as_names(names)}
        scope = tuple(variable for axis, variable in enumerate(self.variables) if axis not in gone)
        return tuple(sorted(gone)), scope

    def reduce(self, evidence: Mapping[str, Label]) -> Factor:
        """Return the slice that agrees with the evidence; observed variables leave the scope."""
        position: list[int | slice] = [slice(None)] * len(self.variables)
        for name, label in evidence.items():
            axis = self._axis(name)
            position[axis] = self.variables[axis].code(label)
        scope = tuple(variable for variable in self.variables if variable.name not in evidence)
        return Factor._of(scope, np.array(self.values[tuple(position)]))

    def normalize(self) -> Factor:
        """Return the factor divided by the sum of its values.

        Raises
        ------
        TableError
            If the values sum to zero.
        """
        total = self.values.sum()
        if not 0 < total < math.inf:
            raise TableError(f"the table over {listing(self.names)} sums to {total} and cannot be normalised")
        return Factor._of(self.variables, np.asarray(self.values / total))

    def reorder(self, names: Sequence[str]) -> Factor:
        """Return the same table with its axes in the order of ``names``."""
        axes = [self._axis(name) for name in as_names(names)]
        if sorted(axes) != list(range(len(self.variables))):
            raise TableError(f"an order of {listing(self.names)} must name each once, not {listing(names)}")
        return Factor._of(tuple(self.variables[axis] for axis in axes), self.values.transpose(axes).copy())

    def argmax(self) -> dict[str, Label]:
        """Return the joint state with the largest value, as ``{name: label}``; of several, the first in axis order."""
        position = np.unravel_index(int(self.values.argmax()), self.shape)
        return {v.name: v.states[int(code)] for v, code in zip(self.variables, position, strict=True)}

    def allclose(self, other: Factor, *, rtol: float = 1e-9, atol: float = 1e-12) -> bool:
        """Return whether the other factor has the same variables, in any order, and nearly the same values."""
        if sorted(self.names) != sorted(other.names):
            return False
        twin = other.reorder(self.names)
        return twin.variables == self.variables and np.allclose(self.values, twin.values, rtol=rtol, atol=atol)

    def __mul__(self, other: Factor | float) -> Factor:
        return self.product(other)

    __rmul__ = __mul__
    __iter__ = None  # indexing by label must not make a factor look like a sequence of positions
    __contains__ = None

    def __truediv__(self, other: Factor | float) -> Factor:
        return self.divide(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factor):
            return NotImplemented
        return self.variables == other.variables and bool(np.array_equal(self.values, other.values))

    def __hash__(self) -> int:
        return hash((self.variables, (self.values + 0.0).tobytes()))  # -0.0 equals 0.0 and must hash alike


def _number(value: object) -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise TableError(f"a factor is multiplied or divided by a factor or a number, not {value!r}")


def _aligned(left: Factor, right: Factor) -> tuple[tuple[Variable, ...], FloatArray, FloatArray]:
    """Return the joint scope and both tables with axes that broadcast over it."""
    for variable in right.variables:
        if variable.name in left._axes and left.variable(variable.name) != variable:
            raise TableError(f"two factors disagree about the states of {variable.name!r}")
    added = tuple(variable for variable in right.variables if variable.name not in left._axes)
    scope = left.variables + added
    axes = [right._axes[variable.name] for variable in scope if variable.name in right._axes]
    shape = [variable.cardinality if variable.name in right._axes else 1 for variable in scope]
    return scope, left.values.reshape(left.shape + (1,) * len(added)), right.values.transpose(axes).reshape(shape)
