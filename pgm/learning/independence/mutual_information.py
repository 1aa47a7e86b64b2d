"""Mutual information of pairs of variables, of all pairs at once where wanted.

I(x; y) is what knowing y tells about x, on average, in nats: the sum over cells of p(x, y) ln(p(x, y) / (p(x) p(y))).
It is 0 if and only if the two are independent. I(x; y | z) is the same within the states of z, averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, count_source
from pgm.data.checks import family_cells, family_names
from pgm.factors.size import MEMORY_BUDGET
from pgm.graph.base import Names, names_of
from pgm.learning.independence.contingency import TABLE_COPIES, StratifiedTables

__all__ = ["mutual_information", "mutual_information_matrix"]


def mutual_information(data: object, x: str, y: str, given: Names = ()) -> float:
    """Return I(x; y | given) of the sample, in nats.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of; other columns are not looked at.
    x, y
        The two variables.
    given
        None, one or several other variables.

    Raises
    ------
    UnknownNameError, DataError
        For unknown and for repeated variables.
    MissingDataError
        If cells of these variables are missing.
    TooLargeError
        If the table and the work on it would exceed the memory budget.

    Notes
    -----
    One pass over the rows. This is the plug-in estimate; its mean exceeds the truth by about (r - 1)(s - 1) q / 2N.

    Examples
    --------
    >>> data = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 1, 0, 1]}
    >>> round(mutual_information(data, "x", "y"), 4), mutual_information(data, "x", "z")
    (0.6931, 0.0)
    """
    names = family_names(y, (*names_of(given), x), (x, y, *names_of(given)))
    source = count_source(data, names)
    _check_size(source, names)
    (counts,) = source.count([(y, names[:-1])])
    tables = StratifiedTables(counts.reshape(-1, *counts.shape[-2:]))
    total = float(tables.totals.sum())
    return float(tables.g_square()[0]) / (2 * total) if total > 0 else 0.0


def mutual_information_matrix(data: object, given: Names = ()) -> NDArray[np.float64]:
    """Return I(x; y | given) of the sample for all pairs of variables, in nats.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of.
    given
        None, one or several of the variables; their own rows and columns are 0.

    Returns
    -------
    ndarray
        Symmetric, in column order; the diagonal holds the entropies H(x | given), since a variable tells all about
        itself. Exactly 0 where counts are exactly as independence would have them.

    Raises
    ------
    UnknownNameError, DataError
        For unknown and for repeated variables.
    MissingDataError
        If cells are missing.
    TooLargeError
        If the tables of one variable with all others would exceed the memory budget.

    Notes
    -----
    One pass over the distinct rows for each variable.

    References
    ----------
    Cover and Thomas (2006), *Elements of Information Theory*, section 2.3.

    Examples
    --------
    >>> mutual_information_matrix({"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 1, 0, 1]}).round(4)
    array([[0.6931, 0.6931, 0.    ],
           [0.6931, 0.6931, 0.    ],
           [0.    , 0.    , 0.6931]])
    """
    source = count_source(data)
    names = [variable.name for variable in source.variables]
    starts = np.cumsum([0, *(variable.cardinality for variable in source.variables)]).tolist()
    strata = names_of(given)
    if strata:
        family_names(strata[-1], strata[:-1], names)  # raises if one is unknown or named twice
    total = source.total_weight
    matrix = np.zeros((len(names), len(names)))
    for position, name in enumerate(names):
        if name in strata or total <= 0:
            continue
        _check_size(source, (*strata, name), extended=True)
        counts = source.count_extensions(name, strata)[..., starts[position] :]  # the others have been compared before
        tables = StratifiedTables(
            counts.reshape(-1, *counts.shape[-2:]), [start - starts[position] for start in starts[position:-1]]
        )
        matrix[position, position:] = tables.g_square() / (2 * total)
    return np.asarray(np.triu(matrix) + np.triu(matrix, 1).T)


def _check_size(source: CountSource, names: tuple[str, ...], extended: bool = False) -> None:
    variables = {variable.name: variable for variable in source.variables}
    family_cells(
        [variables[name] for name in names],
        source.n_rows,
        extended_by=source.variables if extended else (),
        budget=MEMORY_BUDGET // TABLE_COPIES,
    )
