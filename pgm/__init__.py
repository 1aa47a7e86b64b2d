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
from pgm.factors import CPT, ConditionalGaussian, Factor, GaussianMixture, Variable
from pgm.graph import DAG, PDAG
from pgm.network import BayesianNetwork

if TYPE_CHECKING:
    from pgm import io, networks
    from pgm.classifiers import (
        A2DEClassifier,
        AODEClassifier,
        BernoulliNBClassifier,
        KDBClassifier,
        MDLPDiscretizer,
        MultinomialNBClassifier,
        NaiveBayesClassifier,
        SPODEClassifier,
        TANClassifier,
        bayes_decision,
        bayes_risk,
    )
    from pgm.data import Dataset, read_csv
    from pgm.data.statistics import SufficientStatistics
    from pgm.graph import UndirectedGraph
    from pgm.graph.distances import compare, sid, sid_bounds
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
        BDJ,
        BIC,
        EBIC,
        FNML,
        K2,
        QNML,
        BDeu,
        BDs,
        BootstrapResult,
        CrossValidation,
        EdgePrior,
        EMResult,
        ExactResult,
        FanInPrior,
        GESResult,
        IndependenceTest,
        LogLikelihood,
        NodeAverage,
        PCResult,
        SearchResult,
        StructuralEMResult,
        UnseenConfigurationWarning,
        bootstrap,
        chow_liu,
        cross_validate,
        edge_strengths,
        exact_search,
        fit_em,
        fit_parameters,
        ges,
        hill_climb,
        independence_test,
        learn_structure,
        missing_patterns,
        mmhc,
        mutual_information,
        order_search,
        pc,
        score,
        structural_em,
        sufficient_statistics,
        table_support,
        tabu_search,
        tree_augmented,
        update_statistics,
    )

__version__ = "0.1.0"

_HOMES = {
    "A2DEClassifier": "pgm.classifiers",
    "AIC": "pgm.learning",
    "AODEClassifier": "pgm.classifiers",
    "BDJ": "pgm.learning",
    "BDeu": "pgm.learning",
    "BDs": "pgm.learning",
    "BIC": "pgm.learning",
    "BernoulliNBClassifier": "pgm.classifiers",
    "BootstrapResult": "pgm.learning",
    "CrossValidation": "pgm.learning",
    "Dataset": "pgm.data",
    "EBIC": "pgm.learning",
    "EMResult": "pgm.learning",
    "EdgePrior": "pgm.learning",
    "ExactResult": "pgm.learning",
    "Explanation": "pgm.inference.explanation",
    "FNML": "pgm.learning",
    "FanInPrior": "pgm.learning",
    "GESResult": "pgm.learning",
    "GibbsSample": "pgm.inference.gibbs",
    "Impact": "pgm.inference.analysis",
    "IndependenceTest": "pgm.learning",
    "K2": "pgm.learning",
    "KDBClassifier": "pgm.classifiers",
    "LogLikelihood": "pgm.learning",
    "LoopyResult": "pgm.inference.loopy",
    "MDLPDiscretizer": "pgm.classifiers",
    "MultinomialNBClassifier": "pgm.classifiers",
    "NaiveBayesClassifier": "pgm.classifiers",
    "NodeAverage": "pgm.learning",
    "PCResult": "pgm.learning",
    "ParameterRange": "pgm.inference.analysis",
    "QNML": "pgm.learning",
    "QueryPlan": "pgm.inference.query_plan",
    "SPODEClassifier": "pgm.classifiers",
    "SampledPosterior": "pgm.inference.sampled_posterior",
    "SearchResult": "pgm.learning",
    "Sensitivity": "pgm.inference.analysis",
    "Separation": "pgm.graph.trails",
    "StructuralEMResult": "pgm.learning",
    "SufficientStatistics": "pgm.data.statistics",
    "TANClassifier": "pgm.classifiers",
    "UndirectedGraph": "pgm.graph",
    "UnseenConfigurationWarning": "pgm.learning",
    "WeightedSample": "pgm.inference.weighting",
    "bayes_decision": "pgm.classifiers",
    "bayes_risk": "pgm.classifiers",
    "bootstrap": "pgm.learning",
    "chow_liu": "pgm.learning",
    "compare": "pgm.graph.distances",
    "cross_validate": "pgm.learning",
    "edge_strengths": "pgm.learning",
    "exact_search": "pgm.learning",
    "fit_em": "pgm.learning",
    "fit_parameters": "pgm.learning",
    "ges": "pgm.learning",
    "hill_climb": "pgm.learning",
    "independence_test": "pgm.learning",
    "learn_structure": "pgm.learning",
    "missing_patterns": "pgm.learning",
    "mmhc": "pgm.learning",
    "mutual_information": "pgm.learning",
    "order_search": "pgm.learning",
    "pc": "pgm.learning",
    "read": "pgm.io",
    "read_csv": "pgm.data",
    "read_string": "pgm.io",
    "score": "pgm.learning",
    "shd": "pgm.graph.equivalence",
    "sid": "pgm.graph.distances",
    "sid_bounds": "pgm.graph.distances",
    "structural_em": "pgm.learning",
    "sufficient_statistics": "pgm.learning",
    "table_support": "pgm.learning",
    "tabu_search": "pgm.learning",
    "tree_augmented": "pgm.learning",
    "update_statistics": "pgm.learning",
    "write": "pgm.io",
}
"""Where the names live that are imported when first used, so that ``import pgm`` stays light."""

_MODULES = ("io", "networks")

__all__ = [
    "AIC",
    "BDJ",
    "BIC",
    "CPT",
    "DAG",
    "EBIC",
    "FNML",
    "K2",
    "PDAG",
    "QNML",
    "A2DEClassifier",
    "AODEClassifier",
    "BDeu",
    "BDs",
    "BayesianNetwork",
    "BernoulliNBClassifier",
    "BootstrapResult",
    "ConditionalGaussian",
    "CrossValidation",
    "DataError",
    "Dataset",
    "EMResult",
    "EdgePrior",
    "EvidenceError",
    "ExactResult",
    "Explanation",
    "Factor",
    "FanInPrior",
    "FormatError",
    "GESResult",
    "GaussianMixture",
    "GibbsSample",
    "GraphError",
    "Impact",
    "ImpossibleEvidenceError",
    "IndependenceTest",
    "KDBClassifier",
    "LogLikelihood",
    "LoopyResult",
    "MDLPDiscretizer",
    "MissingDataError",
    "MultinomialNBClassifier",
    "NaiveBayesClassifier",
    "NodeAverage",
    "PCResult",
    "ParameterRange",
    "PgmError",
    "QueryPlan",
    "SPODEClassifier",
    "SampledPosterior",
    "SearchResult",
    "Sensitivity",
    "Separation",
    "StructuralEMResult",
    "SufficientStatistics",
    "TANClassifier",
    "TableError",
    "TooLargeError",
    "UndirectedGraph",
    "UnknownNameError",
    "UnknownStateError",
    "UnseenConfigurationWarning",
    "Variable",
    "WeightedSample",
    "bayes_decision",
    "bayes_risk",
    "bootstrap",
    "chow_liu",
    "compare",
    "cross_validate",
    "edge_strengths",
    "exact_search",
    "fit_em",
    "fit_parameters",
    "ges",
    "hill_climb",
    "independence_test",
    "io",
    "learn_structure",
    "missing_patterns",
    "mmhc",
    "mutual_information",
    "networks",
    "order_search",
    "pc",
    "read",
    "read_csv",
    "read_string",
    "score",
    "shd",
    "sid",
    "sid_bounds",
    "structural_em",
    "sufficient_statistics",
    "table_support",
    "tabu_search",
    "tree_augmented",
    "update_statistics",
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
