"""Variables and tables, without a graph."""

from pgm.factors.cpt import CPT
from pgm.factors.factor import Factor
from pgm.factors.variable import Variable

__all__ = ["CPT", "Factor", "Variable"]
