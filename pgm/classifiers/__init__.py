"""Bayes classifiers in scikit-learn's manners, and Bayes decisions.

A Bayes classifier is a network with a class among its nodes, asked for P(class | features). They differ in the
dependences between features that they allow: none (naive Bayes), one other feature each (SPODE, TAN, and AODE, which
averages), or several (KDB).
"""

from pgm.classifiers.a2de import A2DEClassifier
from pgm.classifiers.aode import AODEClassifier
from pgm.classifiers.decision import bayes_decision, bayes_risk
from pgm.classifiers.event_models import BernoulliNBClassifier, MultinomialNBClassifier
from pgm.classifiers.kdb import KDBClassifier
from pgm.classifiers.mdlp import MDLPDiscretizer
from pgm.classifiers.naive_bayes import NaiveBayesClassifier
from pgm.classifiers.one_dependence import SPODEClassifier, TANClassifier

__all__ = [
    "A2DEClassifier",
    "AODEClassifier",
    "BernoulliNBClassifier",
    "KDBClassifier",
    "MDLPDiscretizer",
    "MultinomialNBClassifier",
    "NaiveBayesClassifier",
    "SPODEClassifier",
    "TANClassifier",
    "bayes_decision",
    "bayes_risk",
]
