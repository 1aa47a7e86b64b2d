"""Scores of graphs: what they are, and how local scores of families are computed, once each and many at a time.

Read in this order: ``decomposable`` (what a score is), ``information``, ``bayesian``, ``normalized_likelihood`` (the
scores), ``structure_priors``, ``available_cases`` (missing cells), ``scoring`` (scores by name, and of a graph),
``family_scores`` and ``joint_scores`` (what searches work on).
"""

from pgm.learning.scores.available_cases import NodeAverage
from pgm.learning.scores.bayesian import BDJ, K2, BDeu, BDs
from pgm.learning.scores.decomposable import JointScore, Score
from pgm.learning.scores.information import AIC, BIC, EBIC, LogLikelihood, PenalizedLikelihood
from pgm.learning.scores.normalized_likelihood import FNML, QNML
from pgm.learning.scores.scoring import AnyScore, FunctionScore, get_score, local_scores, score
from pgm.learning.scores.structure_priors import EdgePrior, FanInPrior

__all__ = [
    "AIC",
    "BDJ",
    "BIC",
    "EBIC",
    "FNML",
    "K2",
    "QNML",
    "AnyScore",
    "BDeu",
    "BDs",
    "EdgePrior",
    "FanInPrior",
    "FunctionScore",
    "JointScore",
    "LogLikelihood",
    "NodeAverage",
    "PenalizedLikelihood",
    "Score",
    "get_score",
    "local_scores",
    "score",
]
