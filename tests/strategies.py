"""Hypothesis strategies: small random networks with zeros in their tables, evidence, and questions."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from pgm.factors import CPT, Variable
from pgm.network import BayesianNetwork

LABELS: list[Any] = ["no", "yes", 1, 0, True, False, "1", 2.5, "low", "high"]


@st.composite
def variables(draw: st.DrawFn, name: str, max_states: int = 4) -> Variable:
    states = draw(st.lists(st.sampled_from(range(len(LABELS))), min_size=1, max_size=max_states, unique=True))
    return Variable(name, [LABELS[i] for i in states])


@st.composite
def cpts(draw: st.DrawFn, child: Variable, parents: list[Variable], zeros: bool = True) -> CPT:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = [variable.cardinality for variable in (*parents, child)]
    table = rng.random(shape) + 0.01
    if zeros:
        table[rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = 0.0
    empty = table.sum(axis=-1) == 0
    table[empty, rng.integers(child.cardinality)] = 1.0
    return CPT(child, table / table.sum(axis=-1, keepdims=True), parents)


@st.composite
def networks(draw: st.DrawFn, max_variables: int = 6, max_parents: int = 3, zeros: bool = True) -> BayesianNetwork:
    names = draw(st.permutations([f"v{i}" for i in range(draw(st.integers(1, max_variables)))]))
    made: list[Variable] = []
    tables = []
    for name in names:
        child = draw(variables(name))
        above = draw(st.lists(st.sampled_from(made), max_size=max_parents, unique=True)) if made else []
        tables.append(draw(cpts(child, above, zeros)))
        made.append(child)
    return BayesianNetwork(draw(st.permutations(tables)))


@st.composite
def evidence_on(draw: st.DrawFn, net: BayesianNetwork, max_size: int = 4) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(net.names), max_size=max_size, unique=True))
    return {name: draw(st.sampled_from(net.variable(name).states)) for name in names}


@st.composite
def questions(draw: st.DrawFn, zeros: bool = True) -> tuple[BayesianNetwork, list[str], dict[str, Any]]:
    """A network, targets and evidence; they may overlap and the evidence may be impossible."""
    net = draw(networks(zeros=zeros))
    targets = draw(st.lists(st.sampled_from(net.names), min_size=1, max_size=3, unique=True))
    return net, targets, draw(evidence_on(net))
