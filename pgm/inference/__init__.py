"""Plans and engines over graph and factors."""

from pgm.inference.exact import ExactInference
from pgm.inference.query_plan import QueryPlan

__all__ = ["ExactInference", "QueryPlan"]
