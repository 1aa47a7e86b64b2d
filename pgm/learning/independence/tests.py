"""Are two variables independent, perhaps given others? Tests that say how surprising the data would be if they were.

A test looks at the table of the two variables in every *stratum*, that is for every joint state of the variables given.
Its p-value is the probability of tables at least as uneven as these, were the two independent in every stratum. A small
p-value refutes independence. A large one proves nothing: there may be no dependence, or not enough rows to see it. So
every result also tells how strong the dependence looks, and warns where the approximation behind the p-value is poor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pgm.data import CountTable, count_source
from pgm.data.checks import counted, family_cells, family_names
from pgm.errors import DataError, UnknownNameError, listing
from pgm.factors.size import MEMORY_BUDGET
from pgm.graph.base import Names, names_of
from pgm.learning.constraints import checked_generator
from pgm.learning.independence.contingency import (
    TABLE_COPIES,
    StratifiedTables,
    chi_square_tail,
    random_tables,
    shrunken,
)

__all__ = ["METHODS", "IndependenceTest", "Method", "checked_alpha", "get_method", "independence_test"]

_BLOCK = 1 << 20
"""Cells of permuted tables that exist at a time."""

_ROUNDING = 1e-9
"""Statistics that differ by less than this share count as equal."""


class Method(NamedTuple):
    """A way to test: what is computed, and what it is compared with."""

    statistic: str
    """What the statistic is called in print."""
    uses_g_square: bool
    """Whether the statistic is G2, or the mutual information that is proportional to it; else it is Pearson's."""
    adjusted: bool = False
    """Whether states that do not occur in a stratum give no degrees of freedom."""
    shrinks: bool = False
    """Whether the counts are drawn towards equal cells first."""
    permutes: bool = False
    """Whether the p-value comes from random permutations instead of the chi-square distribution."""


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "g2": Method("G2", True),
        "g2-adjusted": Method("G2", True, adjusted=True),
        "chi2": Method("chi-square", False),
        "chi2-adjusted": Method("chi-square", False, adjusted=True),
        "mi": Method("mutual information", True),
        "mi-shrinkage": Method("mutual information", True, shrinks=True),
        "g2-permutation": Method("G2", True, permutes=True),
        "chi2-permutation": Method("chi-square", False, permutes=True),
    }
)
"""The tests by name."""


@dataclass(frozen=True, repr=False)
class IndependenceTest:
    """What a test of independence found; printing it shows everything.

    Examples
    --------
    >>> print(independence_test({"dose": [0, 1] * 40, "cured": [0, 1, 0, 1, 0, 1, 1, 0] * 10}, "dose", "cured"))
    test of dose and cured
      G2 = 20.93, 1 degree of freedom, p = 4.764e-06
      effect: mutual information 0.1308 nats, Cramer's V 0.5
      sample: 80 in 1 stratum
    """

    x: str
    y: str
    given: tuple[str, ...]
    method: str
    """Name of the method."""
    statistic: float
    """G2, Pearson's chi-square, or mutual information in nats, by the method."""
    degrees_of_freedom: int | None
    """Of the chi-square distribution; None if the p-value comes from permutations."""
    p_value: float
    """Probability of a statistic at least as large, were x and y independent given the others."""
    mutual_information: float
    """I(x; y | given) of the sample, in nats."""
    cramers_v: float
    """Strength of the dependence between 0 and 1; over strata, the root of the mean square weighted by their rows."""
    sample_size: float
    """Total weight of the rows."""
    n_strata: int
    """Number of joint states of the variables given that occur."""
    permutations: int | None
    """How many permutations were drawn, if any."""
    warning: str | None
    """Why the p-value may be off, or None."""

    def is_independent(self, alpha: float = 0.05) -> bool:
        """Return whether independence is *not* refuted at level ``alpha``: whether the p-value is above it."""
        return self.p_value > checked_alpha(alpha)

    def __repr__(self) -> str:
        subject = f"{self.x}, {self.y}" + (f" | {', '.join(self.given)}" if self.given else "")
        return f"<IndependenceTest ({self.method}): {subject}, p = {self.p_value:.4g}>"

    def __str__(self) -> str:
        given = f" given {', '.join(self.given)}" if self.given else ""
        if self.permutations is not None:
            compared = counted(self.permutations, "permutation")
        elif self.degrees_of_freedom == 1:
            compared = "1 degree of freedom"
        else:
            compared = f"{self.degrees_of_freedom} degrees of freedom"
        strata = "1 stratum" if self.n_strata == 1 else f"{self.n_strata} strata"
        lines = [
            f"test of {self.x} and {self.y}{given}",
            f"{METHODS[self.method].statistic} = {self.statistic:.4g}, {compared}, p = {self.p_value:.4g}",
            f"effect: mutual information {self.mutual_information:.4g} nats, Cramer's V {self.cramers_v:.4g}",
            f"sample: {self.sample_size:g} in {strata}",
        ]
        return "\n  ".join(lines if self.warning is None else [*lines, f"warning: {self.warning}"])


def independence_test(
    data: object,
    x: str,
    y: str,
    given: Names = (),
    *,
    method: str = "g2",
    permutations: int = 5000,
    rng: np.random.Generator | int | None = None,
) -> IndependenceTest:
    """Return a test of whether ``x`` and ``y`` are independent, given the variables ``given``.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; other columns are not looked at.
    x, y
        The two variables.
    given
        None, one or several other variables.
    method
        ====================  =========================================================================================
        ``"g2"``              likelihood ratio G2 = 2 N I(x; y | given); (r - 1)(s - 1) q degrees of freedom for r, s, q
                              declared states of x, of y, and of the others jointly
        ``"g2-adjusted"``     the same, but in each stratum only the states that occur there count; for sparse tables
        ``"chi2"``            Pearson's chi-square, degrees of freedom as for ``"g2"``
        ``"chi2-adjusted"``   Pearson's chi-square, degrees of freedom as for ``"g2-adjusted"``
        ``"mi"``              the mutual information I(x; y | given) in nats; the p-value is that of ``"g2"``
        ``"mi-shrinkage"``    mutual information of frequencies that are drawn towards uniform ones, the more so the
                              smaller the sample (James-Stein); for small samples, and conservative
        ``"g2-permutation"``  G2 against tables in which the values of y have changed places within each stratum; needs
                              no approximation
        ``"chi2-permutation"``  Pearson's chi-square in the same way
        ====================  =========================================================================================
    permutations
        How many permutations to draw, for the last two; the p-value is (1 + exceeding) / (1 + permutations).
    rng
        Random generator or seed of the permutations.

    Raises
    ------
    UnknownNameError
        For an unknown variable or method.
    DataError
        If a variable is named twice, for permutations of rows whose weights are not whole numbers, and for an ``rng``
        that is neither a seed nor a generator.
    MissingDataError
        If cells of these variables are missing.
    TooLargeError
        If the table and the work on it would exceed the memory budget.

    Notes
    -----
    One pass over the rows. A row of weight w counts as w equal rows; so weights that are no numbers of rows must add up
    to the number of independent observations, or the p-values mean nothing.

    References
    ----------
    Agresti (2013), *Categorical Data Analysis*, sections 3.2 and 10.1. Koller and Friedman (2009), section 18.2.2.
    Hausser and Strimmer (2009), *Journal of Machine Learning Research* 10, 1469-1484. Phipson and Smyth (2010),
    *Statistical Applications in Genetics and Molecular Biology* 9(1), on p-values of permutations.

    Examples
    --------
    Two effects of one cause depend on each other until the cause is given.

    >>> data = {"cause": [0] * 20 + [1] * 20, "x": [0, 0, 0, 0, 1] * 4 + [0, 1, 1, 1, 1] * 4}
    >>> data["y"] = [0] * 16 + [1] * 8 + [1] * 16
    >>> independence_test(data, "x", "y").is_independent(), independence_test(data, "x", "y", "cause").is_independent()
    (False, True)
    """
    names = family_names(y, (*names_of(given), x), (x, y, *names_of(given)))
    chosen = get_method(method, METHODS)
    source = count_source(data, names)
    variables = {variable.name: variable for variable in source.variables}
    family_cells([variables[name] for name in names], source.n_rows, budget=MEMORY_BUDGET // TABLE_COPIES)
    (counts,) = source.count([(y, names[:-1])])
    counts = counts.reshape(-1, *counts.shape[-2:])
    tables = StratifiedTables(counts)
    total = float(tables.totals.sum())
    information = _per_row(_statistic(tables, g_square=True), 2 * total)
    statistic = _statistic(StratifiedTables(shrunken(counts)) if chosen.shrinks else tables, chosen.uses_g_square)
    degrees = int(tables.degrees_of_freedom(chosen.adjusted)[0])
    if chosen.permutes:
        p_value = _permutation_p_value(counts, statistic, chosen.uses_g_square, permutations, rng)
    else:
        p_value = float(chi_square_tail(np.array([statistic]), np.array([degrees]))[0])
    return IndependenceTest(
        x=x,
        y=y,
        given=names[:-2],
        method=method,
        statistic=_per_row(statistic, 2 * total) if chosen.statistic == "mutual information" else statistic,
        degrees_of_freedom=None if chosen.permutes else degrees,
        p_value=p_value,
        mutual_information=information,
        cramers_v=_cramers_v(tables, total),
        sample_size=total,
        n_strata=int(np.count_nonzero(tables.totals)),
        permutations=permutations if chosen.permutes else None,
        warning=None if chosen.permutes else _warning(tables),
    )


def get_method(name: str, methods: Mapping[str, Method]) -> Method:
    """Return the method called ``name``.

    Raises
    ------
    UnknownNameError
        If it is not among ``methods``.

    Examples
    --------
    >>> get_method("chi2", METHODS).statistic
    'chi-square'
    """
    if not isinstance(name, str) or name not in methods:
        raise UnknownNameError(f"no test is called {name!r}; there are {listing(methods)}")
    return methods[name]


def checked_alpha(alpha: float) -> float:
    """Return a level of significance as a float.

    Raises
    ------
    DataError
        If it does not lie between 0 and 1.

    Examples
    --------
    >>> checked_alpha(5)
    Traceback (most recent call last):
    ...
    pgm.errors.DataError: alpha, the level of significance, lies between 0 and 1, as 0.05 does; not 5
    """
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.number)) or not 0 < alpha < 1:
        raise DataError(f"alpha, the level of significance, lies between 0 and 1, as 0.05 does; not {alpha!r}")
    return float(alpha)


# ---------------------------------------------------------------------- parts of a test


def _statistic(tables: StratifiedTables, g_square: bool) -> float:
    return float((tables.g_square() if g_square else tables.chi_square())[0])


def _per_row(statistic: float, total: float) -> float:
    return statistic / total if total > 0 else 0.0


def _cramers_v(tables: StratifiedTables, total: float) -> float:
    """Return the root of chi-square over its largest possible value, given the states that occur at all."""
    states = [np.count_nonzero(margin.sum(axis=0)) for margin in (tables.x_counts, tables.y_counts)]
    largest = total * (min(states) - 1)
    return float(np.sqrt(_statistic(tables, g_square=False) / largest)) if largest > 0 else 0.0


def _permutation_p_value(
    counts: CountTable, observed: float, g_square: bool, permutations: int, rng: np.random.Generator | int | None
) -> float:
    """Return the share of random tables, the observed one among them, whose statistic is at least as large."""
    if isinstance(permutations, bool) or not isinstance(permutations, (int, np.integer)) or permutations < 1:
        raise DataError(f"permutations must be a whole number from 1, not {permutations!r}")
    whole = counts.astype(np.int64)
    if not np.array_equal(whole, counts):
        raise DataError("permutations need rows to permute: the weights must be whole numbers")
    generator = checked_generator(rng)
    step = max(1, _BLOCK // counts.size)
    exceeding = 0
    for start in range(0, permutations, step):
        number = min(step, permutations - start)
        tables = StratifiedTables(random_tables(whole.sum(axis=2), whole.sum(axis=1), number, generator))
        drawn = (tables.g_square() if g_square else tables.chi_square())[:, 0]
        exceeding += int(np.count_nonzero(drawn >= observed * (1 - _ROUNDING)))
    return (1 + exceeding) / (1 + permutations)


def _warning(tables: StratifiedTables) -> str | None:
    """Return a warning by Cochran's rule: no expected count below 1, and at most a fifth of them below 5."""
    expected = tables.expected()
    n_cells = int(np.count_nonzero(expected))
    if n_cells == 0:
        return "there are no rows"
    smallest = float(expected[expected > 0].min())
    n_small = int(np.count_nonzero(expected < 5)) - (expected.size - n_cells)
    if smallest >= 1 and 5 * n_small <= n_cells:
        return None
    small = f"{n_small} of {n_cells} expected counts are below 5, the smallest is {smallest:.2g}"
    return f"{small}: the chi-square approximation is poor, a permutation test is not"
