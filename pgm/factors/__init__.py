"""Variables, tables and Gaussian leaves, without a graph."""

from pgm.factors.cpt import CPT
from pgm.factors.factor import Factor
from pgm.factors.gaussian import ConditionalGaussian
from pgm.factors.mixture import GaussianMixture
from pgm.factors.variable import Variable

__all__ = ["CPT", "ConditionalGaussian", "Factor", "GaussianMixture", "Variable"]
