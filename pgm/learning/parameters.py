"""Parameters: the tables of a network whose graph is given, estimated from complete data."""

from __future__ import annotations

import math
import warnings
from numbers import Real

import numpy as np

from pgm.data import CountTable
from pgm.data.checks import counted
from pgm.errors import TableError, listing
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.graph.dag import DAG
from pgm.learning.families import count_families
from pgm.network import BayesianNetwork

__all__ = ["UnseenConfigurationWarning", "fit_parameters"]

_COPIES = 4
"""Arrays of the size of a table that exist at once while a CPT is made of counts and checked."""


class UnseenConfigurationWarning(UserWarning):
    """Rows of a table that no data speak about, set to uniform."""


def fit_parameters(
    dag: DAG | BayesianNetwork,
    data: object,
    *,
    pseudocount: float = 0.0,
    equivalent_sample_size: float | None = None,
) -> BayesianNetwork:
    """Return the network on ``dag`` with the tables that the data suggest.

    P(child = s | parents = j) = (n(j, s) + a) / (n(j) + r a), where n counts rows by their weight and r is the number
    of states of the child. Without options a = 0, which is the maximum-likelihood estimate.

    Parameters
    ----------
    dag
        The graph, or a network, of which only the graph is used. Its nodes must be columns of the data; further columns
        are ignored.
    data
        A `Dataset`, or anything one can be made of; declared states are kept, also where they never occur.
    pseudocount
        a, added to every cell; 1 is Laplace's rule.
    equivalent_sample_size
        Total weight of the prior of each family, spread evenly: a = equivalent_sample_size / (q r) with q the number of
        parent configurations, the prior of the BDeu score. Not together with ``pseudocount``.

    Raises
    ------
    UnknownNameError
        If a node is no column of the data.
    MissingDataError
        If cells of the nodes are missing.
    TableError
        For a prior that is no finite number from 0, or for two priors.
    GraphError
        If ``dag`` is neither a graph nor a network.
    TooLargeError
        If a table and the work on it would exceed the memory budget, before anything is counted; names the child.

    Warns
    -----
    UnseenConfigurationWarning
        Once, if parent configurations occur in no row and there is no prior: their rows are uniform, which is a
        convention and not an estimate. The message names the children.

    Notes
    -----
    One pass over the distinct rows for each node, and four times the memory of its table. The axes of a table are
    ``dag.parents(child)``, then the child.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, sections 17.2 and 17.4.

    Examples
    --------
    >>> data = {"rain": ["no", "no", "no", "yes"], "wet": ["no", "no", "yes", "yes"]}
    >>> print(fit_parameters(DAG([("rain", "wet")]), data, pseudocount=1).cpt("wet"))
    P(wet | rain)
    rain |       no       yes
    -----+-------------------
    no   |      0.6       0.4
    yes  | 0.333333  0.666667
    """
    _check_prior("pseudocount", pseudocount)
    if equivalent_sample_size is not None:
        _check_prior("equivalent_sample_size", equivalent_sample_size)
        if pseudocount:
            raise TableError("give pseudocount or equivalent_sample_size, not both")
    _, families, tables = count_families(dag, data, copies=_COPIES)
    tables.reverse()  # the first one last, to be let go when its CPT is made
    cpts, unseen = [], {}
    for *parents, child in families:
        prior = pseudocount if equivalent_sample_size is None else equivalent_sample_size / tables[-1].size
        values, empty = _estimate(tables.pop(), prior)
        cpts.append(CPT(child, values, parents))
        if empty:
            unseen[child.name] = empty
    if unseen:
        children = listing(f"{child} ({count})" for child, count in unseen.items())
        message = f"no rows for {counted(sum(unseen.values()), 'parent configuration')}, set to uniform; of {children}"
        warnings.warn(message, UnseenConfigurationWarning, stacklevel=2)
    return BayesianNetwork(cpts)


def _check_prior(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise TableError(f"{name} must be a finite number from 0, not {value!r}")


def _estimate(counts: CountTable, prior: float) -> tuple[FloatArray, int]:
    """Return the table of one family, and how many of its rows are uniform for want of data."""
    values = np.array(counts, np.float64)
    del counts  # there need not be room for both
    values += float(prior)
    totals = values.sum(axis=-1, keepdims=True)
    empty = totals == 0
    n_empty = int(np.count_nonzero(empty))
    if n_empty:
        np.copyto(values, 1.0 / values.shape[-1], where=empty)
        totals[empty] = 1.0
    values /= totals
    return values, n_empty
