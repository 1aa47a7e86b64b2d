"""Learning networks from data: parameters, scores, searches for the graph, and how far to trust them."""

from pgm.learning.constraints import Constraints
from pgm.learning.exact.exact_search import ExactResult, exact_search
from pgm.learning.independence.mmhc import mmhc, mmpc
from pgm.learning.independence.mutual_information import mutual_information, mutual_information_matrix
from pgm.learning.independence.pc import ColliderConflict, PCResult, pc
from pgm.learning.independence.tests import IndependenceTest, independence_test
from pgm.learning.parameters import UnseenConfigurationWarning, fit_parameters
from pgm.learning.result import Move, SearchResult, Stage
from pgm.learning.scores import (
    AIC,
    BDJ,
    BIC,
    EBIC,
    FNML,
    K2,
    QNML,
    AnyScore,
    BDeu,
    BDs,
    EdgePrior,
    FanInPrior,
    FunctionScore,
    JointScore,
    LogLikelihood,
    NodeAverage,
    PenalizedLikelihood,
    Score,
    get_score,
    local_scores,
    score,
)
from pgm.learning.search.ges import GESResult, ges
from pgm.learning.search.hill_climbing import hill_climb
from pgm.learning.search.learn_structure import learn_structure
from pgm.learning.search.order_search import order_search
from pgm.learning.search.tabu import tabu_search
from pgm.learning.trees import chow_liu, maximum_spanning_tree, tree_augmented
from pgm.learning.validation.bootstrap import AveragedNetwork, BootstrapResult, EdgeConfidence, bootstrap
from pgm.learning.validation.cross_validation import (
    CrossValidation,
    Estimate,
    Fold,
    ImpossibleRowsWarning,
    cross_validate,
)
from pgm.learning.validation.edge_strength import EdgeStrength, EdgeStrengths, edge_strengths

__all__ = [
    "AIC",
    "BDJ",
    "BIC",
    "EBIC",
    "FNML",
    "K2",
    "QNML",
    "AnyScore",
    "AveragedNetwork",
    "BDeu",
    "BDs",
    "BootstrapResult",
    "ColliderConflict",
    "Constraints",
    "CrossValidation",
    "EdgeConfidence",
    "EdgePrior",
    "EdgeStrength",
    "EdgeStrengths",
    "Estimate",
    "ExactResult",
    "FanInPrior",
    "Fold",
    "FunctionScore",
    "GESResult",
    "ImpossibleRowsWarning",
    "IndependenceTest",
    "JointScore",
    "LogLikelihood",
    "Move",
    "NodeAverage",
    "PCResult",
    "PenalizedLikelihood",
    "Score",
    "SearchResult",
    "Stage",
    "UnseenConfigurationWarning",
    "bootstrap",
    "chow_liu",
    "cross_validate",
    "edge_strengths",
    "exact_search",
    "fit_parameters",
    "ges",
    "get_score",
    "hill_climb",
    "independence_test",
    "learn_structure",
    "local_scores",
    "maximum_spanning_tree",
    "mmhc",
    "mmpc",
    "mutual_information",
    "mutual_information_matrix",
    "order_search",
    "pc",
    "score",
    "tabu_search",
    "tree_augmented",
]
