"""Scores: how well a graph explains data, as a sum over families.

A score of a DAG is the sum of the local scores of its families, and a local score is a function of one contingency
table N(parents, child). Logarithms are natural and higher is better. By name:

============  ==========================================  ======================================
``"loglik"``  `LogLikelihood`: LL                         `pgm.learning.scores.information`
``"aic"``     `AIC`: LL - k                               k: number of free parameters
``"bic"``     `BIC`: LL - k/2 ln N                        N: number of rows
``"ebic"``    `EBIC`: BIC - 2 ln(n) for each edge         n: number of variables
``"bdeu"``    `BDeu` with equivalent sample size 1        `pgm.learning.scores.bayesian`
``"bds"``     `BDs`, the sparse form, with 1
``"bdj"``     `BDJ`: Jeffreys' prior
``"k2"``      `K2`: uniform prior
``"fnml"``    `FNML`: LL less regrets of the child        `pgm.learning.scores.normalized_likelihood`
``"qnml"``    `QNML`: a quotient of joint regrets
============  ==========================================  ======================================

Objects take parameters, ``BDeu(10)``, and every one a structure prior, ``BIC(structure_prior=EdgePrior(-1.0))``. A
score of one's own is a function of one table, or an object with a method `local`; `NodeAverage` scores incomplete data.

Cardinalities are the declared ones, so states and parent configurations that never occur count as parameters; N is the
total row weight, and data without any have LL = 0 and no penalty in BIC. Weights are taken as they are: if they add up
to less than 1, ln N is negative and BIC rewards parameters, so weights that only give shares should be scaled to add
up to the number of rows. To compare with tools that print -2 LL + k ln N: divide by -2.

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 18.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data import CountSource, Dataset, count_source
from pgm.errors import DataError, TableError, UnknownNameError, listing
from pgm.graph.dag import DAG, as_dag
from pgm.learning.families import count_families
from pgm.learning.parameters.gaussians import continuous_nodes, fit_gaussian, with_continuous_columns
from pgm.learning.scores.available_cases import AvailableCases, NodeAverage
from pgm.learning.scores.bayesian import BDJ, K2, BDeu, BDs
from pgm.learning.scores.decomposable import JointScore, Score
from pgm.learning.scores.information import AIC, BIC, EBIC, LogLikelihood, PenalizedLikelihood
from pgm.learning.scores.normalized_likelihood import FNML, QNML
from pgm.network import BayesianNetwork

__all__ = [
    "AIC",
    "BDJ",
    "BIC",
    "EBIC",
    "FNML",
    "K2",
    "QNML",
    "SCORING_COPIES",
    "AnyScore",
    "BDeu",
    "BDs",
    "FunctionScore",
    "JointScore",
    "LogLikelihood",
    "NodeAverage",
    "Score",
    "bound_score",
    "family_values",
    "get_score",
    "local_scores",
    "prior_of",
    "score",
    "scored_source",
]

SCORING_COPIES = 3
"""Arrays of the size of a table that exist at once while it is scored."""

AnyScore: TypeAlias = str | Score | Callable[[NDArray[Any]], float]
"""What names or is a score."""


@dataclass(frozen=True)
class FunctionScore:
    """A score of one's own: a function that takes the counts of one family and returns a number.

    Parameters
    ----------
    function
        Takes an array of shape ``(q, r)``, parent configurations times states of the child.

    Examples
    --------
    >>> FunctionScore(lambda counts: -counts.size).local(np.zeros((4, 3, 2)))
    array([-6., -6., -6., -6.])
    """

    function: Callable[[NDArray[Any]], float]
    is_score_equivalent: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def local(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the value of the function for each family."""
        tables = counts.reshape(-1, *counts.shape[-2:])
        values = [self._number(self.function(table)) for table in tables]
        return np.array(values, np.float64).reshape(counts.shape[:-2])

    def _number(self, value: object) -> float:
        try:
            if isinstance(value, np.complexfloating):  # NumPy would drop its imaginary part
                raise TypeError
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise TableError(f"score {self.name!r} must return a number, not {value!r}") from None


_BY_NAME: dict[str, Score] = {
    "aic": AIC(),
    "bdeu": BDeu(),
    "bdj": BDJ(),
    "bds": BDs(),
    "bic": BIC(),
    "ebic": EBIC(),
    "fnml": FNML(),
    "k2": K2(),
    "loglik": LogLikelihood(),
    "log_likelihood": LogLikelihood(),
    "qnml": QNML(),
}


def get_score(score: AnyScore) -> Score:
    """Return the score called ``score``; a score object is returned as it is, a function as a `FunctionScore`.

    Raises
    ------
    UnknownNameError
        If there is no such score, and for an object with ``local`` that lacks what else a `Score` has; the message
        lists what there is, or what is missing.

    Examples
    --------
    >>> get_score("bic")
    BIC()
    """
    if isinstance(score, str):
        found = _BY_NAME.get(score.lower())
        if found is not None:
            return found
    elif not isinstance(score, type):
        if isinstance(score, Score):
            return score
        if hasattr(score, "local"):
            missing = [attribute for attribute in ("name", "is_score_equivalent") if not hasattr(score, attribute)]
            raise UnknownNameError(f"no score {score!r}: it has a method local(), but also needs {listing(missing)}")
        if callable(score):
            return FunctionScore(score)
    own = "functions of a table of counts and objects with a method local(), a name and is_score_equivalent"
    raise UnknownNameError(f"no score {score!r}; there are {listing(_BY_NAME)}, and {own}")


def bound_score(score: AnyScore, source: CountSource, n_variables: int | None = None) -> Score:
    """Return the score ready for one data set.

    Most scores are functions of a family's counts alone. One that also depends on the number of variables or on the
    total weight of the rows has a method ``bind(n_variables, total_weight)``, which returns the score to use.

    Parameters
    ----------
    score
        A name, a score object or a function.
    source
        The data.
    n_variables
        Number of nodes; None for all columns of the data.

    Examples
    --------
    >>> from pgm.data import Dataset
    >>> bound_score("aic", Dataset({"a": [0, 1]}))
    AIC()
    """
    measure = get_score(score)
    bind = getattr(measure, "bind", None)
    if bind is None:
        return measure
    bound: Score = bind(len(source.variables) if n_variables is None else n_variables, source.total_weight)
    return bound


def scored_source(score: AnyScore, source: CountSource) -> CountSource:
    """Return what a score reads its counts from: for a `NodeAverage` the available cases, else the data as they are."""
    return AvailableCases(source) if isinstance(get_score(score), NodeAverage) else source


def prior_of(score: Score, n_parents: int, n_variables: int) -> float:
    """Return what a score adds to a family apart from its counts: ``log_prior``, 0 for a score without that method.

    >>> prior_of(EBIC(gamma=0), n_parents=2, n_variables=9), prior_of(FunctionScore(np.sum), 2, 1)
    (0.0, 0.0)
    """
    log_prior = getattr(score, "log_prior", None)
    return 0.0 if log_prior is None else float(log_prior(n_parents, n_variables))


def family_values(score: Score, tables: NDArray[Any]) -> NDArray[np.float64]:
    """Return the local scores of families, checked, without the structure prior.

    Parameters
    ----------
    score
        The score.
    tables
        Shape ``(..., q, r)``; see `Score.local`.

    Raises
    ------
    TableError
        If the score returns an array of another shape, or what is no finite real number.

    Examples
    --------
    >>> family_values(FunctionScore(lambda counts: float("nan")), np.ones((2, 2)))
    Traceback (most recent call last):
    ...
    pgm.errors.TableError: score '<lambda>' is nan for a table of shape (2, 2); local scores must be finite
    """
    values = np.asarray(score.local(tables))
    if values.dtype.kind not in "fiu":
        example = values.flat[0] if values.size else values
        raise TableError(f"score {score.name!r} returns {example!r} ({values.dtype}); local scores are real numbers")
    if values.shape != tables.shape[:-2]:
        shapes = f"{values.shape} for tables of shape {tables.shape}, not {tables.shape[:-2]}"
        raise TableError(f"score {score.name!r} returns an array of shape {shapes}")
    finite = np.isfinite(values)
    if not finite.all():
        value = values[~finite].flat[0]
        shape = tables.shape[-2:]
        raise TableError(f"score {score.name!r} is {value} for a table of shape {shape}; local scores must be finite")
    return values


def local_scores(dag: DAG | BayesianNetwork, data: object, score: AnyScore = "bic") -> dict[str, float]:
    """Return the local score of each node's family, in the order of the nodes.

    Parameters
    ----------
    dag
        The graph, or a network, of which only the graph is used. Its nodes must be columns of the data; further columns
        are ignored.
    data
        A `Dataset`, or anything one can be made of. Continuous columns must be leaves.
    score
        A name, a score object, or a function of one table. With continuous leaves loglik, aic, bic or ebic: the
        log-likelihood of a leaf is that of its maximum-likelihood estimate (`fit_parameters`), and it has two
        parameters for each parent configuration.

    Raises
    ------
    GraphError
        If ``dag`` is neither a graph nor a network.
    UnknownNameError
        If a node is no column, or the score is unknown.
    MissingDataError
        If cells of the nodes are missing, unless the score is a `NodeAverage`.
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
    graph = as_dag(dag)
    data = with_continuous_columns(dag, graph, data)
    leaves = continuous_nodes(graph, data)
    tables = graph.subgraph([node for node in graph.nodes if node not in leaves]) if leaves else graph
    source = scored_source(score, count_source(data, tables.nodes))
    measure = bound_score(score, source, len(graph.nodes))
    counts = count_families(tables, source, copies=SCORING_COPIES)
    scores = {}
    for node, table in zip(tables.nodes, counts.tables, strict=True):
        value = float(family_values(measure, table.reshape(-1, table.shape[-1])))
        scores[node] = value + prior_of(measure, table.ndim - 1, len(graph.nodes))
    for node in leaves:
        scores[node] = _leaf_score(graph, node, data, measure)
    return {node: scores[node] for node in graph.nodes}


def _leaf_score(dag: DAG, leaf: str, data: object, measure: Score) -> float:
    """Return the local score of a continuous leaf: its log-likelihood less the penalty for its parameters.

    Raises
    ------
    DataError
        For a score that is no penalised likelihood: it is a function of counts.
    """
    if not isinstance(measure, PenalizedLikelihood):
        raise DataError(f"{leaf!r} is continuous, and score {measure.name!r} only for counts: use loglik, aic or bic")
    assert isinstance(data, Dataset)
    found = fit_gaussian(dag, leaf, data)
    penalty = measure.constant(found.leaf.n_parameters, data.total_weight) - measure.constant(0, data.total_weight)
    return found.log_likelihood + float(penalty) + prior_of(measure, len(dag.parents(leaf)), len(dag.nodes))


def score(dag: DAG | BayesianNetwork, data: object, score: AnyScore = "bic") -> float:
    """Return the score of a graph: the sum of its local scores; see `local_scores`.

    Examples
    --------
    >>> data = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 0]}
    >>> round(score(DAG([("a", "b")]), data, "bic"), 4)
    -6.2383
    """
    return math.fsum(local_scores(dag, data, score).values())
