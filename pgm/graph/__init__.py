"""Graphs of names: structure without numbers.

`DAG` is the structure of a Bayesian network; `UndirectedGraph` its skeleton or moral graph; `PDAG` the graph of an
equivalence class. What they mean is in `separation` (which independences hold), `trails` (and why), `equivalence`
(which graphs promise the same), `orientation` (which DAGs a PDAG stands for) and `elimination` (orders for inference).
"""

from pgm.graph.dag import DAG
from pgm.graph.equivalence import is_equivalent, shd
from pgm.graph.pdag import PDAG
from pgm.graph.trails import Separation, Trail, Triple
from pgm.graph.undirected import UndirectedGraph

__all__ = ["DAG", "PDAG", "Separation", "Trail", "Triple", "UndirectedGraph", "is_equivalent", "shd"]
