"""Names that have broken file formats, and when two networks are the same bit by bit."""

from __future__ import annotations

from hypothesis import strategies as st

from pgm.network import BayesianNetwork

HOSTILE = [
    "", " ", "a b", 'quo"te', "back\\slash", "end\\", '\\"', "two\nlines", "cr\r\nlf", "tab\t", "{", "}", "(a)",
    "[1, 2)", "a,b", ";", "|", "//", "/* no comment */", "a//b", "a/b", "table", "default", "type", "property",
    "network", "=", "<5", "5-12", "12+", "0.5", "1e-5", "nan", "ünï", "温度", "\u2028", "\xa0", "\ufeff", "\0", "😀",
    "-", "'", "\\n", "*", "null", "true", "\\u0041", "\x7f",
]  # fmt: skip
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=6))


def same_bits(net: BayesianNetwork, other: BayesianNetwork) -> bool:
    """Return whether order, labels with their types, and every bit of every number agree."""
    return _content(net) == _content(other)


def _content(net: BayesianNetwork) -> object:
    labels = [(variable.name, [(type(label), repr(label)) for label in variable.states]) for variable in net.variables]
    return labels, [(cpt.names, cpt.values.shape, cpt.values.tobytes()) for cpt in net.cpts]
