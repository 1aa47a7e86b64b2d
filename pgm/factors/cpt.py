"""`CPT`: a conditional probability table P(child | parents), the child on the last axis.

A CPT is a :class:`~pgm.factors.factor.Factor` whose rows (all states of the child, one joint state of the parents)
sum to one. It can be built from an array, from rows named by label, from a function of the parents' labels, or
as a noisy-or.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import TableError, listing
from pgm.factors.factor import Factor, FloatArray, as_table
from pgm.factors.printing import format_table
from pgm.factors.size import MAX_AXES, check_size
from pgm.factors.variable import Label, Variable

__all__ = ["CPT"]

Row: TypeAlias = Sequence[float] | Mapping[Label, float]
"""The probabilities of one row: in declared order, or by label with 0 for labels not named."""

ROUNDING = 1e-6
"""How far a row may be from one: more is taken for an error, less for rounding, and divided out."""

EXACT = 1e-12
"""Rows this close to one are left exactly as they are."""


class CPT(Factor):
    """The conditional distribution P(child | parents) as a table.

    Parameters
    ----------
    child
        The variable described.
    values
        An array of shape ``(*parent cardinalities, child cardinality)``, or rows by label,
        ``{(parent labels): row}``; with one parent the label alone may stand for the tuple, and with none the rows
        are one row. A row is a sequence in declared order or ``{child label: probability}``.
    parents
        The parents, in the order of the axes.

    Raises
    ------
    TableError
        For a wrong shape, a number outside 0..1, or a row that does not sum to one; names the child and the row.
    UnknownStateError
        For a label in ``values`` that its variable does not have.
    TooLargeError
        Before a table beyond the memory budget is allocated.

    Notes
    -----
    A row within 1e-6 of one is divided by its sum. The array handed in is copied.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, section 5.1.

    Examples
    --------
    >>> rain = Variable("rain", ["no", "yes"])
    >>> wet = Variable("wet", ["no", "yes"])
    >>> cpt = CPT(wet, {"no": [0.9, 0.1], "yes": {"yes": 0.8, "no": 0.2}}, parents=[rain])
    >>> cpt["yes", "no"]
    0.2
    >>> print(cpt)
    P(wet | rain)
    rain |  no  yes
    -----+---------
    no   | 0.9  0.1
    yes  | 0.2  0.8
    """

    __slots__ = ()

    def __init__(
        self, child: Variable, values: ArrayLike | Mapping[Any, Any], parents: Iterable[Variable] = ()
    ) -> None:
        above = _checked_parents(child, parents)
        scope = (*above, child)
        names = [variable.name for variable in scope]
        if len(set(names)) != len(names):
            raise TableError(f"P({child.name} | ...) has a variable twice: {listing(names)}")
        if len(scope) > MAX_AXES:
            raise TableError(f"{child.name!r} has {len(above)} parents; a table can have {MAX_AXES - 1}")
        check_size([variable.cardinality for variable in scope], _title(child, above))
        table = _rows_by_label(child, above, values) if isinstance(values, Mapping) else _array(child, above, values)
        self._set(scope, _checked(child, above, table))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.variables, np.asarray(self.values))

    @property
    def child(self) -> Variable:
        """The variable described."""
        return self.variables[-1]

    @property
    def parents(self) -> tuple[Variable, ...]:
        """The parents, in the order of the axes."""
        return self.variables[:-1]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: a row of r numbers has r - 1."""
        return self.values.size // self.child.cardinality * (self.child.cardinality - 1)

    def __str__(self) -> str:
        return format_table(self.parents, self.values, column=self.child)

    def __repr__(self) -> str:
        return f"<CPT {_title(self.child, self.parents)}: {self.values.size} values>"

    # ------------------------------------------------------------------ builders

    @classmethod
    def from_function(cls, child: Variable, parents: Iterable[Variable], function: Callable[..., Row]) -> CPT:
        """Return the CPT whose row for each joint state of the parents is ``function(*parent labels)``.

        >>> dice, sum6 = Variable("dice", range(1, 7)), Variable("high", [False, True])
        >>> CPT.from_function(sum6, [dice], lambda n: [1 - n / 6, n / 6])[3, True]
        0.5
        """
        above = _checked_parents(child, parents)
        check_size([variable.cardinality for variable in (*above, child)], _title(child, above))
        return cls(
            child, {labels: function(*labels) for labels in _joint_labels(above)} if above else function(), above
        )

    @classmethod
    def deterministic(cls, child: Variable, parents: Iterable[Variable], function: Callable[..., Label]) -> CPT:
        """Return the CPT in which the child is a function of its parents: ``function(*parent labels)`` is its label.

        >>> a, b = Variable("a", [0, 1]), Variable("b", [0, 1])
        >>> CPT.deterministic(Variable("either", [False, True]), [a, b], lambda x, y: x + y > 0)[0, 1, True]
        1.0
        """
        return cls.from_function(child, parents, lambda *labels: {function(*labels): 1.0})

    @classmethod
    def noisy_or(
        cls,
        child: Variable,
        effect: Label,
        causes: Mapping[Variable, Mapping[Label, float]],
        *,
        leak: float = 0.0,
    ) -> CPT:
        """Return a noisy-or: each active cause brings about the effect by itself, independently of the others.

        P(no effect | parents) = (1 - leak) * product over parents of (1 - strength of the parent's state).

        Parameters
        ----------
        child
            A variable of two states.
        effect
            The child's state that the causes bring about.
        causes
            ``{parent: {label: strength}}``; labels not named have strength 0.
        leak
            Probability of the effect when no cause is active.

        References
        ----------
        Pearl (1988), *Probabilistic Reasoning in Intelligent Systems*, section 4.3.2.

        Examples
        --------
        >>> cold, flu = Variable("cold", ["no", "yes"]), Variable("flu", ["no", "yes"])
        >>> fever = Variable("fever", ["no", "yes"])
        >>> cpt = CPT.noisy_or(fever, "yes", {cold: {"yes": 0.4}, flu: {"yes": 0.8}}, leak=0.1)
        >>> round(cpt["yes", "yes", "yes"], 6)
        0.892
        """
        if not isinstance(causes, Mapping):
            raise TableError(f"the causes of {child.name!r} are {{parent: {{label: strength}}}}, not {causes!r}")
        if child.cardinality != 2:
            raise TableError(f"a noisy-or needs a child of two states; {child.name!r} has {child.cardinality}")
        parents = _checked_parents(child, causes)
        check_size([variable.cardinality for variable in (*parents, child)], _title(child, parents))
        absent = np.array(1.0 - _probability(leak, f"the leak of {child.name!r}"))
        for parent, strengths in causes.items():
            factor = np.ones(parent.cardinality)
            for label, strength in strengths.items():
                what = f"the strength of {parent.name}={label!r}"
                factor[parent.code(label)] = 1.0 - _probability(strength, what)
            absent = absent[..., None] * factor
        table = np.empty((*absent.shape, 2))
        code = child.code(effect)
        table[..., code] = 1.0 - absent
        table[..., 1 - code] = absent
        return cls(child, table, parents)

    @classmethod
    def uniform(cls, child: Variable, parents: Iterable[Variable] = ()) -> CPT:
        """Return the CPT whose rows are all uniform."""
        above = _checked_parents(child, parents)
        shape = [variable.cardinality for variable in (*above, child)]
        check_size(shape, _title(child, above))
        return cls(child, np.full(shape, 1.0 / child.cardinality), above)

    @classmethod
    def random(
        cls,
        child: Variable,
        parents: Iterable[Variable] = (),
        *,
        rng: np.random.Generator | int,
        concentration: float = 1.0,
    ) -> CPT:
        """Return a CPT whose rows are drawn from a symmetric Dirichlet distribution.

        Parameters
        ----------
        child, parents
            The variables.
        rng
            A NumPy generator, which is advanced, or a seed.
        concentration
            Dirichlet parameter of every state: 1 draws all distributions alike, less favours extreme rows.
        """
        if not concentration > 0:
            raise TableError(f"the concentration must be positive, not {concentration!r}")
        above = _checked_parents(child, parents)
        shape = [variable.cardinality for variable in (*above, child)]
        check_size(shape, _title(child, above))
        rows = np.random.default_rng(rng).dirichlet(np.full(child.cardinality, concentration), size=shape[:-1])
        return cls(child, rows, above)


def _checked_parents(child: Variable, parents: Iterable[Variable]) -> tuple[Variable, ...]:
    if isinstance(parents, (set, frozenset)):
        raise TableError(f"the parents of {child.name!r} must be in the order of the axes; a set has none")
    if not isinstance(parents, (Variable, Iterable)):
        raise TableError(f"the parents of {child.name!r} are a list of Variable objects, not {parents!r}")
    above = (parents,) if isinstance(parents, Variable) else tuple(parents)
    for variable in (child, *above):
        if not isinstance(variable, Variable):
            raise TableError(f"a CPT is built of Variable objects, not {variable!r}")
    return above


def _restore(kind: type[CPT], variables: tuple[Variable, ...], values: FloatArray) -> CPT:
    """Rebuild a pickled CPT exactly as it was."""
    cpt = kind.__new__(kind)
    cpt._set(variables, values)
    return cpt


def _title(child: Variable, parents: Sequence[Variable]) -> str:
    if not parents:
        return f"P({child.name})"
    if len(parents) > 8:
        return f"P({child.name} | {len(parents)} parents)"
    return f"P({child.name} | {', '.join(parent.name for parent in parents)})"


def _probability(number: float, what: str) -> float:
    if not 0.0 <= number <= 1.0:
        raise TableError(f"{what} must be between 0 and 1, not {number!r}")
    return float(number)


def _joint_labels(parents: Sequence[Variable]) -> Iterator[tuple[Label, ...]]:
    return product(*(parent.states for parent in parents))


def _array(child: Variable, parents: Sequence[Variable], values: ArrayLike) -> FloatArray:
    shape = tuple(variable.cardinality for variable in (*parents, child))
    table = as_table(values, _title(child, parents))
    if table.shape != shape:
        axes = ", ".join(f"{v.name}={v.cardinality}" for v in (*parents, child))
        raise TableError(f"{_title(child, parents)} must have shape {shape} ({axes}), not {table.shape}")
    return table


def _rows_by_label(child: Variable, parents: Sequence[Variable], rows: Mapping[Any, Any]) -> FloatArray:
    if not parents:
        return _row(child, (), rows)
    table = np.full([variable.cardinality for variable in (*parents, child)], np.nan)
    for key, row in rows.items():
        labels = key if isinstance(key, tuple) and not (len(parents) == 1 and key in parents[0]) else (key,)
        if len(labels) != len(parents):
            expected = listing(parent.name for parent in parents)
            raise TableError(f"a row of {_title(child, parents)} is named by labels of {expected}, not {key!r}")
        position = tuple(parent.code(label) for parent, label in zip(parents, labels, strict=True))
        if not np.isnan(table[position][0]):
            raise TableError(f"{_title(child, parents)} has the row {labels!r} twice")
        table[position] = _row(child, labels, row)
    filled = ~np.isnan(table[..., 0])
    if not filled.all():
        absent = [labels for labels, there in zip(_joint_labels(parents), filled.flat, strict=True) if not there]
        raise TableError(f"{_title(child, parents)} has no row for {listing(absent, limit=4)}")
    return table


def _row(child: Variable, labels: tuple[Label, ...], row: Any) -> FloatArray:
    where = f"the row {labels!r} of {child.name!r}" if labels else f"P({child.name})"
    numbers = np.zeros(child.cardinality)
    try:
        if isinstance(row, Mapping):
            for label, number in row.items():
                numbers[child.code(label)] = number
        else:
            given = as_table(row, where)
            if given.shape != numbers.shape:
                raise TableError(f"{where} must have {child.cardinality} numbers, not {row!r}")
            numbers = given
    except (TypeError, ValueError) as error:
        raise (
            error if isinstance(error, TableError) else TableError(f"{where} is not made of numbers: {row!r}")
        ) from None
    if not np.isfinite(numbers).all():
        raise TableError(f"{where} {_fault(numbers)}: {listing(numbers.tolist(), limit=6)}")
    return numbers


def _checked(child: Variable, parents: Sequence[Variable], table: FloatArray) -> FloatArray:
    """Return the table with rounding divided out, or raise naming the row at fault."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinities and huge numbers are reported below
        sums = table.sum(axis=-1)
        error = np.abs(sums - 1.0)
    bad = ~(error <= ROUNDING) | (table < 0).any(axis=-1)  # not (NaN <= ...) is bad, too
    if bad.any():
        position = tuple(int(code) for code in np.argwhere(bad)[0])
        labels = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in zip(parents, position, strict=True))
        where = f"the row {labels} of P({child.name} | ...)" if parents else f"P({child.name})"
        raise TableError(f"{where} {_fault(table[position])}: {listing(table[position].tolist(), limit=6)}")
    if (error > EXACT).any():
        table = table / sums[..., None]
    return table


def _fault(row: FloatArray) -> str:
    if not np.isfinite(row).all():
        return "contains NaN" if np.isnan(row).any() else "contains an infinite number"
    if (row < 0).any():
        return "has a negative number"
    return f"sums to {sum(row.tolist()):.10g}, not 1"
