"""`ConditionalGaussian`: a continuous leaf X whose mean and variance depend on the states of its discrete parents.

    p(x | parents = j) = N(x; mean(j), variance(j))

It stands beside :class:`~pgm.factors.cpt.CPT` in a network. Given its number it is a factor over its parents; asked
about, it is a :class:`~pgm.factors.mixture.GaussianMixture`. So inference among the discrete variables stays exact.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, sections 5.5 and 14.3. Lauritzen (1992), "Propagation of
probabilities, means and variances in mixed graphical association models".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgm.errors import EvidenceError, TableError, listing
from pgm.factors.factor import FloatArray, Names, as_names, as_table
from pgm.factors.printing import format_table
from pgm.factors.size import MAX_AXES, check_size
from pgm.factors.variable import Variable

__all__ = ["ConditionalGaussian", "as_numbers", "checked_parents", "log_normal_density"]

LOG_2_PI = math.log(2 * math.pi)


def as_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return values of a continuous variable as an array of floats.

    Raises
    ------
    EvidenceError
        If they are not numbers; names the variable.

    Examples
    --------
    >>> as_numbers("tall", "height")
    Traceback (most recent call last):
    ...
    pgm.errors.EvidenceError: the density of 'height' is asked for at numbers, not 'tall'
    """
    try:
        found = np.asarray(values)
        if found.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # longer floats may be beyond the range of these
            return np.asarray(found, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise EvidenceError(f"the density of {name!r} is asked for at numbers, not {values!r}") from None


def log_normal_density(values: ArrayLike, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return ln N(value; mean, variance), elementwise; minus infinity where it is beyond the range of floats.

    >>> log_normal_density(1.0, np.array([1.0, 3.0]), np.array([1.0, 4.0])).round(4).tolist()
    [-0.9189, -2.1121]
    """
    deviations = np.sqrt(variances)
    with np.errstate(over="ignore"):
        squares = ((np.asarray(values) - means) / deviations) ** 2
    return np.asarray(-0.5 * (LOG_2_PI + squares) - np.log(deviations))


class ConditionalGaussian:
    """The conditional distribution of a continuous variable: a mean and a variance for each joint state of its parents.

    Parameters
    ----------
    name
        Name of the continuous variable, non-empty text.
    means, variances
        Arrays of shape ``(*parent cardinalities)``, or numbers by label, ``{(parent labels): number}``; with one parent
        the label alone may stand for the tuple. A single number stands for all joint states.
    parents
        The parents, discrete, in the order of the axes.

    Raises
    ------
    TableError
        For a wrong shape, a mean that is not finite, or a variance that is not above 0 and finite; names the variable
        and the joint state.
    UnknownStateError
        For a label that its variable does not have.
    TooLargeError
        Before tables beyond the memory budget are allocated.

    Examples
    --------
    >>> sex = Variable("sex", ["f", "m"])
    >>> height = ConditionalGaussian("height", {"f": 166, "m": 179}, {"f": 36, "m": 49}, parents=[sex])
    >>> print(height)
    p(height | sex) = N(mean, variance)
    sex | mean  variance
    ----+---------------
    f   |  166        36
    m   |  179        49
    """

    __slots__ = ("means", "name", "parents", "variances")

    name: str
    parents: tuple[Variable, ...]
    means: FloatArray
    """Read-only, shape ``(*parent cardinalities)``."""
    variances: FloatArray
    """Read-only, of the same shape."""

    def __init__(
        self,
        name: str,
        means: ArrayLike | Mapping[Any, float],
        variances: ArrayLike | Mapping[Any, float],
        parents: Iterable[Variable] = (),
    ) -> None:
        if not isinstance(name, str) or not name:
            raise TableError(f"a continuous variable's name must be non-empty text, not {name!r}")
        above = checked_parents(name, parents)
        check_size([variable.cardinality for variable in above], f"the means of {name!r}")
        set_once = object.__setattr__
        set_once(self, "name", str(name))
        set_once(self, "parents", above)
        set_once(self, "means", self._checked(means, "mean"))
        set_once(self, "variances", self._checked(variances, "variance"))

    def _checked(self, given: Any, what: str) -> FloatArray:
        """Return means or variances as a read-only array, or raise naming the joint state at fault."""
        shape = tuple(variable.cardinality for variable in self.parents)
        if isinstance(given, Mapping):
            table = self._by_label(given, what)
        else:
            table = as_table(given, f"the {what}s of {self.name!r}")
            if table.ndim == 0:
                table = np.full(shape, float(table))
        if table.shape != shape:
            axes = ", ".join(f"{v.name}={v.cardinality}" for v in self.parents) or "no parents"
            raise TableError(f"the {what}s of {self.name!r} must have shape {shape} ({axes}), not {table.shape}")
        good = np.isfinite(table) if what == "mean" else np.isfinite(table) & (table > 0)
        if not good.all():
            position = np.argwhere(~good)[0].tolist()
            labels = [f"{v.name}={v.states[code]!r}" for v, code in zip(self.parents, position, strict=True)]
            where = f"{self.name!r} where {', '.join(labels)}" if labels else repr(self.name)
            number, wanted = table[tuple(position)], "finite" if what == "mean" else "above 0 and finite"
            raise TableError(f"the {what} of {where} must be {wanted}, not {number:g}")
        table.setflags(write=False)
        return table

    def _by_label(self, given: Mapping[Any, Any], what: str) -> FloatArray:
        table = np.full([variable.cardinality for variable in self.parents], np.nan)
        seen = np.zeros(table.shape, bool)
        for key, number in given.items():
            alone = len(self.parents) == 1 and (not isinstance(key, tuple) or key in self.parents[0])
            labels = (key,) if alone else key
            if not isinstance(labels, tuple) or len(labels) != len(self.parents):
                expected = listing(parent.name for parent in self.parents)
                raise TableError(f"a {what} of {self.name!r} is named by labels of {expected}, not {key!r}")
            position = tuple(parent.code(label) for parent, label in zip(self.parents, labels, strict=True))
            if seen[position]:
                raise TableError(f"{self.name!r} has the {what} for {labels!r} twice")
            seen[position] = True
            single = as_table(number, f"the {what} of {self.name!r} for {labels!r}")
            if single.ndim:
                raise TableError(f"the {what} of {self.name!r} for {labels!r} is one number, not {number!r}")
            table[position] = single
        if not seen.all():
            states = product(*(parent.states for parent in self.parents))
            absent = [labels for labels, there in zip(states, seen.flat, strict=True) if not there]
            raise TableError(f"{self.name!r} has no {what} for {listing(absent, limit=4)}")
        return table

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError("a ConditionalGaussian is immutable")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError("a ConditionalGaussian is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, np.asarray(self.means), np.asarray(self.variances), self.parents)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: a mean and a variance for each joint state of the parents."""
        return 2 * self.means.size

    def log_density(self, values: ArrayLike) -> FloatArray:
        """Return ln p(value | parents) for each joint state of the parents and each value.

        Returns
        -------
        ndarray
            Shape ``(*parent cardinalities, *shape of values)``; NaN where the value is.

        Raises
        ------
        EvidenceError
            If the values are not numbers.
        """
        numbers = as_numbers(values, self.name)
        shape = self.means.shape + (1,) * numbers.ndim
        return log_normal_density(numbers, self.means.reshape(shape), self.variances.reshape(shape))

    def reorder(self, names: Names) -> ConditionalGaussian:
        """Return the same distribution with its parents in the order of ``names``."""
        own, names = [parent.name for parent in self.parents], as_names(names)
        if sorted(own) != sorted(names, key=str):
            raise TableError(f"an order of {listing(own)} must name each once, not {listing(names)}")
        axes = [own.index(name) for name in names]
        parents = [self.parents[axis] for axis in axes]
        return ConditionalGaussian(self.name, self.means.transpose(axes), self.variances.transpose(axes), parents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalGaussian):
            return NotImplemented
        same = (self.name, self.parents) == (other.name, other.parents)
        return same and np.array_equal(self.means, other.means) and np.array_equal(self.variances, other.variances)

    def __hash__(self) -> int:
        return hash((self.name, self.parents))

    def __repr__(self) -> str:
        return f"<ConditionalGaussian {self._title}: {self.means.size} means and variances>"

    def __str__(self) -> str:
        numbers = np.stack([self.means, self.variances], axis=-1)
        return f"{self._title} = N(mean, variance)\n{format_table(self.parents, numbers, ('mean', 'variance'))}"

    @property
    def _title(self) -> str:
        given = ", ".join(parent.name for parent in self.parents)
        return f"p({self.name} | {given})" if given else f"p({self.name})"


def checked_parents(name: str, parents: Iterable[object]) -> tuple[Variable, ...]:
    """Return the parents of a continuous variable, one or several, or raise TableError for what cannot be one."""
    if isinstance(parents, (set, frozenset)):
        raise TableError(f"the parents of {name!r} must be in the order of the axes; a set has none")
    if not isinstance(parents, (Variable, ConditionalGaussian, Iterable)):
        raise TableError(f"the parents of {name!r} are a list of Variable objects, not {parents!r}")
    above: list[Variable] = []
    for parent in (parents,) if isinstance(parents, (str, Variable, ConditionalGaussian)) else parents:
        if isinstance(parent, ConditionalGaussian):
            raise TableError(
                f"{parent.name!r} is continuous and cannot be a parent, here of {name!r}: cut it into "
                f"intervals to make it discrete"
            )
        if not isinstance(parent, Variable):
            raise TableError(f"the parents of {name!r} are Variable objects, not {parent!r}")
        above.append(parent)
    names = [name, *(parent.name for parent in above)]
    if len(set(names)) < len(names):
        raise TableError(f"p({name} | ...) has a variable twice: {listing(names)}")
    if len(names) > MAX_AXES:
        raise TableError(f"{name!r} has {len(above)} parents; a table can have {MAX_AXES - 1}")
    return tuple(above)
