"""Scores: how well a graph explains data, as a sum over families.

A score of a DAG is the sum of the local scores of its families, and a local score is a function of one contingency
table N(parents, child). Logarithms are natural and higher is better. With N rows, ``q`` parent configurations and
``r`` states of the child, ``k = q (r - 1)`` free parameters, and ``LL = sum n(j, s) log(n(j, s) / n(j))``:

============  ==================================
``"loglik"``  LL
``"aic"``     LL - k
``"bic"``     LL - k/2 log N
============  ==================================

Cardinalities are the declared ones, so states and parent configurations that never occur count as parameters; N is the
total row weight, and data without any have LL = 0 and no penalty in BIC. Weights are taken as they are: if they add up
to less than 1, log N is negative and BIC rewards parameters, so weights that only give shares should be scaled to add
up to the number of rows. To compare with tools that print -2 LL + k log N: divide by -2.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 18.3. Akaike (1974), *IEEE Transactions on
Automatic Control* 19, 716-723. Schwarz (1978), *Annals of Statistics* 6, 461-464.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource
from pgm.errors import UnknownNameError, listing
from pgm.graph.dag import DAG
from pgm.learning.families import count_families
from pgm.network import BayesianNetwork

__all__ = [
    "AIC",
    "BIC",
    "SCORING_COPIES",
    "LogLikelihood",
    "Score",
    "bound_score",
    "get_score",
    "local_scores",
    "score",
]

SCORING_COPIES = 3
"""Arrays of the size of a table that exist at once while it is scored."""


@runtime_checkable
class Score(Protocol):
    """What a structure search needs of a score; any object of this shape will do."""

    @property
    def name(self) -> str:
        """What the score is called in results."""

    @property
    def is_score_equivalent(self) -> bool:
        """Whether Markov-equivalent DAGs always score the same."""

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of families from their counts.

        Parameters
        ----------
        counts
            Shape ``(..., q, r)``: parent configurations, then states of the child; leading axes are separate families.

        Returns
        -------
        ndarray
            Shape ``(...)``.
        """


@dataclass(frozen=True)
class LogLikelihood:
    """The maximised log-likelihood LL, which never falls when edges are added.

    Examples
    --------
    >>> round(float(LogLikelihood().local(np.array([[5, 1], [2, 6]]))), 6)
    -7.202048
    """

    name: ClassVar[str] = "loglik"
    is_score_equivalent: ClassVar[bool] = True

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return LL; a cell without rows adds 0."""
        return _log_likelihood(counts)


@dataclass(frozen=True)
class AIC:
    """Akaike's information criterion on the log-likelihood scale, LL - k.

    Examples
    --------
    >>> round(float(AIC().local(np.array([[5, 1], [2, 6]]))), 6)
    -9.202048
    """

    name: ClassVar[str] = "aic"
    is_score_equivalent: ClassVar[bool] = True

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return LL - k."""
        return _log_likelihood(counts) - _n_parameters(counts)


@dataclass(frozen=True)
class BIC:
    """The Bayesian information criterion on the log-likelihood scale, LL - k/2 log N.

    Examples
    --------
    >>> round(float(BIC().local(np.array([[5, 1], [2, 6]]))), 6)
    -9.841106
    """

    name: ClassVar[str] = "bic"
    is_score_equivalent: ClassVar[bool] = True

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return LL - k/2 log N, where N is the sum of the counts; 0 for data without rows or weight."""
        size = counts.sum(axis=(-2, -1))
        penalty: NDArray[np.float64] = 0.5 * _n_parameters(counts) * np.log(np.where(size > 0, size, 1))
        return _log_likelihood(counts) - penalty


def _log_likelihood(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return sum n(j, s) log(n(j, s) / n(j)) over the last two axes.

    As a quotient inside the logarithm: a difference of two sums n log n would lose digits where N is large.
    """
    totals = counts.sum(axis=-1, keepdims=True)
    terms = np.divide(counts, totals, out=np.ones(counts.shape), where=counts > 0)
    np.log(terms, out=terms)
    terms *= counts
    likelihood: NDArray[np.float64] = terms.sum(axis=(-2, -1))
    return likelihood


def _n_parameters(counts: NDArray[Any]) -> int:
    """Return the number k = q (r - 1) of free parameters."""
    return int(counts.shape[-2] * (counts.shape[-1] - 1))


_BY_NAME: dict[str, Score] = {
    "aic": AIC(),
    "bic": BIC(),
    "loglik": LogLikelihood(),
    "log_likelihood": LogLikelihood(),
}


def get_score(score: str | Score) -> Score:
    """Return the score called ``score``; a score object is returned as it is.

    Raises
    ------
    UnknownNameError
        If there is no such score; the message lists those there are.

    Examples
    --------
    >>> get_score("bic")
    BIC()
    """
    if isinstance(score, str):
        found = _BY_NAME.get(score.lower())
        if found is not None:
            return found
    elif not isinstance(score, type) and isinstance(score, Score):
        return score
    raise UnknownNameError(f"no score {score!r}; there are {listing(_BY_NAME)}, and objects with a local() method")


def bound_score(score: str | Score, source: CountSource) -> Score:
    """Return the score ready for one data set.

    Most scores are functions of a family's counts alone. One that also depends on the number of variables or on the
    total weight of the rows has a method ``bind(n_variables, total_weight)``, which returns the score to use.

    >>> from pgm.data import Dataset
    >>> bound_score("aic", Dataset({"a": [0, 1]}))
    AIC()
    """
    measure = get_score(score)
    bind = getattr(measure, "bind", None)
    if bind is None:
        return measure
    bound: Score = bind(len(source.variables), source.total_weight)
    return bound


def local_scores(dag: DAG | BayesianNetwork, data: object, score: str | Score = "bic") -> dict[str, float]:
    """Return the local score of each node's family, in the order of the nodes.

    Parameters
    ----------
    dag
        The graph, or a network, of which only the graph is used. Its nodes must be columns of the data; further columns
        are ignored.
    data
        A `Dataset`, or anything one can be made of.
    score
        A name, or a score object.

    Raises
    ------
    GraphError
        If ``dag`` is neither a graph nor a network.
    UnknownNameError
        If a node is no column, or the score is unknown.
    MissingDataError
        If cells of the nodes are missing.
    TooLargeError
        If a family's table and the work on it would exceed the memory budget; names the child.

    Notes
    -----
    One pass over the distinct rows for each node.

    Examples
    --------
    >>> data = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}
    >>> {node: round(value, 4) for node, value in local_scores(DAG([("a", "b")]), data, "aic").items()}
    {'a': -3.7726, 'b': -3.3863}
    """
    measure = get_score(score)
    counts = count_families(dag, data, copies=SCORING_COPIES)
    return {
        node: float(measure.local(table.reshape(-1, table.shape[-1])))
        for node, table in zip(counts.dag.nodes, counts.tables, strict=True)
    }


def score(dag: DAG | BayesianNetwork, data: object, score: str | Score = "bic") -> float:
    """Return the score of a graph: the sum of its local scores; see `local_scores`.

    Examples
    --------
    >>> data = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}
    >>> round(score(DAG([("a", "b")]), data, "bic"), 4)
    -6.2383
    """
    return math.fsum(local_scores(dag, data, score).values())
