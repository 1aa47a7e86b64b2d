"""What is written comes back: names, labels, order and every bit of every number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm.io
from pgm import networks
from pgm.factors import CPT, Variable
from pgm.io import bif, bif_tokens
from pgm.io.bif_reader import TableReader, read_variable
from pgm.network import BayesianNetwork
from tests.io.hostile import HOSTILE, same_bits, texts


@st.composite
def hostile_networks(draw: st.DrawFn) -> BayesianNetwork:
    names = draw(st.lists(texts.filter(bool), min_size=1, max_size=4, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made: list[Variable] = []
    tables = []
    for name in names:
        child = Variable(name, draw(st.lists(texts, min_size=1, max_size=4, unique=True)))
        parents = draw(st.permutations(made))[: draw(st.integers(0, 2))]
        shape = [variable.cardinality for variable in parents]
        tables.append(CPT(child, rng.dirichlet([0.3] * child.cardinality, size=shape), parents))
        made.append(child)
    return BayesianNetwork(draw(st.permutations(tables)))


@given(hostile_networks())
@settings(max_examples=300, deadline=None)
def test_hostile_names_come_back(net: BayesianNetwork) -> None:
    text = bif.to_string(net)
    again = bif.from_string(text)
    assert same_bits(net, again)
    assert bif.to_string(again) == text


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_each_hostile_name(name: str, tmp_path: Path) -> None:
    net = BayesianNetwork([CPT(Variable(name, [name, name + name, "x" + name]), [0.25, 0.25, 0.5])])
    pgm.io.write(net, tmp_path / "x.bif.gz")
    assert same_bits(net, pgm.io.read(tmp_path / "x.bif.gz"))


@pytest.mark.parametrize("name", ["asia", "child", "alarm", "hailfinder", "pathfinder"])
def test_published_networks_come_back(name: str) -> None:
    net = networks.load(name)
    assert same_bits(net, bif.from_string(bif.to_string(net)))


@pytest.mark.parametrize("name", ["child", "insurance", "munin1"])
def test_both_readers_agree_on_published_networks(name: str) -> None:
    text = bif.to_string(networks.load(name))
    blocks = list(bif_tokens.blocks(text))
    variables = {v.name: v for v in (read_variable(text, b) for b in blocks if b.keyword == "variable")}
    reader = TableReader(text, variables)
    tables = [block for block in blocks if block.keyword == "probability"]
    for block in tables:
        (child, quick), (same, careful) = reader.read_quickly(block), reader.read_carefully(block)
        assert child == same
        assert quick.parents == careful.parents
        assert np.array_equal(quick.values, careful.values)
    assert len(tables) == len(variables)
