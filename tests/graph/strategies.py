"""Hypothesis strategies for graphs: small random DAGs, and questions about d-separation in them."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from hypothesis import strategies as st

from pgm.graph import DAG

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]


class Question(NamedTuple):
    """Disjoint sets of nodes: is x separated from y given the rest?"""

    dag: DAG
    x: list[str]
    y: list[str]
    given: list[str]


@st.composite
def dags(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 7) -> DAG:
    """DAGs whose declared order, causal order and order of edges are unrelated."""
    names = draw(st.permutations(NAMES[: draw(st.integers(min_nodes, max_nodes))]))
    pairs = list(combinations(names, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return DAG(chosen, nodes=draw(st.permutations(names)))


@st.composite
def questions(draw: st.DrawFn, max_nodes: int = 7) -> Question:
    """A DAG of at least two nodes with disjoint x, y and given; x and y are not empty."""
    dag = draw(dags(min_nodes=2, max_nodes=max_nodes))
    one, other, *rest = draw(st.permutations(dag.nodes))
    roles = draw(st.lists(st.sampled_from("xyg----g"), min_size=len(rest), max_size=len(rest)))
    chosen: dict[str, list[str]] = {"x": [one], "y": [other], "g": [], "-": []}
    for node, role in zip(rest, roles, strict=True):
        chosen[role].append(node)
    return Question(dag, chosen["x"], chosen["y"], chosen["g"])
