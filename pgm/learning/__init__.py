"""Learning networks from data: parameters, scores, and searches for the graph."""

from pgm.learning.constraints import Constraints
from pgm.learning.hill_climbing import hill_climb
from pgm.learning.parameters import UnseenConfigurationWarning, fit_parameters
from pgm.learning.result import Move, SearchResult
from pgm.learning.scores import AIC, BIC, LogLikelihood, Score, get_score, local_scores, score

__all__ = [
    "AIC",
    "BIC",
    "Constraints",
    "LogLikelihood",
    "Move",
    "Score",
    "SearchResult",
    "UnseenConfigurationWarning",
    "fit_parameters",
    "get_score",
    "hill_climb",
    "local_scores",
    "score",
]
