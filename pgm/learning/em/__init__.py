"""EM: parameters and structure from data with missing cells and latent variables.

Read in this order: ``incomplete`` (what the rows know, and which states the hidden have), ``maximization`` (the M
step), ``starts``, ``iteration`` (the loop and when it stops), ``acceleration`` (SQUAREM), ``fitting`` (`fit_em`); then
``completed`` (expected counts of any family), ``leaf_families`` and ``graph_search`` (better graphs for them) and
``structural`` (`structural_em`). The E step is :mod:`pgm.inference.expected_counts`.

Continuous leaves: ``leaves`` (what they are to EM, and the M step), ``leaf_rows``, ``leaf_blocks`` and
``expected_leaves`` (the E step), ``leaf_starts``.
"""

from pgm.learning.em.fitting import fit_em
from pgm.learning.em.result import EMResult, StructuralEMResult, StructuralStep
from pgm.learning.em.structural import structural_em

__all__ = ["EMResult", "StructuralEMResult", "StructuralStep", "fit_em", "structural_em"]
