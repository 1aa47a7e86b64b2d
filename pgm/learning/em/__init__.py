"""EM: parameters and structure from data with missing cells and latent variables.

Read in this order: ``incomplete`` (what the rows know, and which states the hidden have), ``maximization`` (the M
step), ``starts``, ``iteration`` (the loop and when it stops), ``acceleration`` (SQUAREM), ``fitting`` (`fit_em`); then
``completed`` (expected counts of any family), ``leaf_families`` and ``graph_search`` (better graphs for them) and
``structural`` (`structural_em`). Continuous leaves are in ``leaves``. The E step is
:mod:`pgm.inference.expected_counts`.
"""

from pgm.learning.em.fitting import fit_em
from pgm.learning.em.result import EMResult, StructuralEMResult, StructuralStep
from pgm.learning.em.structural import structural_em

__all__ = ["EMResult", "StructuralEMResult", "StructuralStep", "fit_em", "structural_em"]
