"""pgm: Bayesian networks defined, queried, explained, learned from data and exported.

A model is a DAG plus conditional probability tables, and every answer is either a count or a contraction.

>>> import pgm
>>> net = pgm.networks.load("asia")
>>> print(net.query("lung", {"smoke": "yes"}))
lung | value
-----+------
yes  |   0.1
no   |   0.9
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgm.errors import (
    DataError,
    EvidenceError,
    FormatError,
    GraphError,
    ImpossibleEvidenceError,
    MissingDataError,
    PgmError,
    TableError,
    TooLargeError,
    UnknownNameError,
    UnknownStateError,
)
from pgm.factors import CPT, Factor, Variable
from pgm.graph import DAG, PDAG
from pgm.network import BayesianNetwork

if TYPE_CHECKING:
    from pgm import io, networks
    from pgm.data import Dataset, read_csv
    from pgm.graph import UndirectedGraph
    from pgm.graph.equivalence import shd
    from pgm.graph.trails import Separation
    from pgm.inference.analysis import Impact, ParameterRange, Sensitivity
    from pgm.inference.explanation import Explanation
    from pgm.inference.gibbs import GibbsSample
    from pgm.inference.loopy import LoopyResult
    from pgm.inference.query_plan import QueryPlan
    from pgm.inference.sampled_posterior import SampledPosterior
    from pgm.inference.weighting import WeightedSample
    from pgm.io import read, read_string, write
    from pgm.learning import (
        AIC,
        BIC,
        LogLikelihood,
        SearchResult,
        UnseenConfigurationWarning,
        fit_parameters,
        hill_climb,
        score,
    )

__version__ = "0.1.0"

_HOMES = {
    "AIC": "pgm.learning",
    "BIC": "pgm.learning",
    "Dataset": "pgm.data",
    "Explanation": "pgm.inference.explanation",
    "GibbsSample": "pgm.inference.gibbs",
    "Impact": "pgm.inference.analysis",
    "LogLikelihood": "pgm.learning",
    "LoopyResult": "pgm.inference.loopy",
    "ParameterRange": "pgm.inference.analysis",
    "QueryPlan": "pgm.inference.query_plan",
    "SampledPosterior": "pgm.inference.sampled_posterior",
    "SearchResult": "pgm.learning",
    "Sensitivity": "pgm.inference.analysis",
    "Separation": "pgm.graph.trails",
    "UndirectedGraph": "pgm.graph",
    "UnseenConfigurationWarning": "pgm.learning",
    "WeightedSample": "pgm.inference.weighting",
    "fit_parameters": "pgm.learning",
    "hill_climb": "pgm.learning",
    "read": "pgm.io",
    "read_csv": "pgm.data",
    "read_string": "pgm.io",
    "score": "pgm.learning",
    "shd": "pgm.graph.equivalence",
    "write": "pgm.io",
}
"""Where the names live that are imported when first used, so that ``import pgm`` stays light."""

_MODULES = ("io", "networks")

__all__ = [
    "AIC",
    "BIC",
    "CPT",
    "DAG",
    "PDAG",
    "BayesianNetwork",
    "DataError",
    "Dataset",
    "EvidenceError",
    "Explanation",
    "Factor",
    "FormatError",
    "GibbsSample",
    "GraphError",
    "Impact",
    "ImpossibleEvidenceError",
    "LogLikelihood",
    "LoopyResult",
    "MissingDataError",
    "ParameterRange",
    "PgmError",
    "QueryPlan",
    "SampledPosterior",
    "SearchResult",
    "Sensitivity",
    "Separation",
    "TableError",
    "TooLargeError",
    "UndirectedGraph",
    "UnknownNameError",
    "UnknownStateError",
    "UnseenConfigurationWarning",
    "Variable",
    "WeightedSample",
    "fit_parameters",
    "hill_climb",
    "io",
    "networks",
    "read",
    "read_csv",
    "read_string",
    "score",
    "shd",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        found = import_module(f"pgm.{name}")
    else:
        raise AttributeError(f"module 'pgm' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
