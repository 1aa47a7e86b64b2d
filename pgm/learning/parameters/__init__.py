"""Parameters: the tables of a network whose graph is given, estimated from data."""

from pgm.learning.parameters.counting import sufficient_statistics, update_statistics
from pgm.learning.parameters.dirichlet_priors import (
    DirichletPrior,
    EquivalentSampleSize,
    HierarchicalPrior,
    PriorNetwork,
    Pseudocount,
    PseudocountTables,
    dirichlet_prior,
)
from pgm.learning.parameters.estimation import TableEstimator, estimate_table, log_prior
from pgm.learning.parameters.fitting import UnseenConfigurationWarning, fit_parameters
from pgm.learning.parameters.support import MissingPatterns, TableSupport, missing_patterns, table_support

__all__ = [
    "DirichletPrior",
    "EquivalentSampleSize",
    "HierarchicalPrior",
    "MissingPatterns",
    "PriorNetwork",
    "Pseudocount",
    "PseudocountTables",
    "TableEstimator",
    "TableSupport",
    "UnseenConfigurationWarning",
    "dirichlet_prior",
    "estimate_table",
    "fit_parameters",
    "log_prior",
    "missing_patterns",
    "sufficient_statistics",
    "table_support",
    "update_statistics",
]
