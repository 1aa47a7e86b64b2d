"""JSON: labels keep their types, numbers their bits, and whatever is not such a file is refused."""

from __future__ import annotations

import copy
import enum
import itertools
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgm.io
from pgm import networks
from pgm.errors import FormatError, UnknownStateError
from pgm.factors import CPT, Variable
from pgm.io import json as pgm_json
from pgm.network import BayesianNetwork
from tests.io.hostile import HOSTILE, same_bits, texts

DOSE, CURED = Variable("Dose", [0, 1, 2]), Variable("Cured", [False, True])
CURE = BayesianNetwork(
    [CPT(DOSE, [0.5, 0.3, 0.2]), CPT(CURED, [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], parents=[DOSE])]
)  # pgmpy#1552
TEXT = """{
  "format": "pgm-network",
  "version": 1,
  "variables": [
    {
      "name": "Dose",
      "states": [0, 1, 2],
      "parents": [],
      "table": [0.5, 0.3, 0.2]
    },
    {
      "name": "Cured",
      "states": [false, true],
      "parents": ["Dose"],
      "table": [[0.9, 0.1],
        [0.4, 0.6],
        [0.2, 0.8]]
    }
  ]
}
"""

# ---------------------------------------------------------------------- there and back


def test_numbers_and_booleans_are_still_such_after_the_file(tmp_path: Path) -> None:
    for name in ("cure.json", "cure.json.gz"):
        pgm.io.write(CURE, tmp_path / name)
        again = pgm.io.read(tmp_path / name)
        assert again.variable("Dose").states == (0, 1, 2)
        assert [type(label) for label in again.variable("Cured").states] == [bool, bool]
        posterior = again.query("Dose", {"Cured": True})
        joint = [0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.8]
        assert [posterior[dose] for dose in (0, 1, 2)] == pytest.approx([p / sum(joint) for p in joint])
        with pytest.raises(UnknownStateError, match="'Cured' has no state 'True'; its states are False, True"):
            again.query("Dose", {"Cured": "True"})


def test_the_text_is_the_documented_one() -> None:
    assert pgm_json.to_string(CURE) == TEXT
    assert same_bits(pgm_json.from_string(TEXT), CURE)
    assert same_bits(pgm.io.read_string(json.dumps(json.loads(TEXT)), "json"), CURE)
    documented = (pgm_json.__doc__ or "").split("::\n\n")[1].split("\n\n- ")[0]
    assert json.loads(documented) == json.loads(TEXT.replace("Dose", "dose").replace("Cured", "cured"))


labels = st.one_of(
    st.sampled_from([1, True, "1", 1.5, 0, False, "true", 2.0, -0.0, 10**30, 5e-324, 1e308]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
states = st.lists(labels, min_size=1, max_size=5, unique_by=lambda label: (isinstance(label, bool), label))


@st.composite
def typed_networks(draw: st.DrawFn) -> BayesianNetwork:
    names = draw(st.lists(texts.filter(bool), min_size=1, max_size=4, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made: list[Variable] = []
    tables = []
    for name in names:
        child = Variable(name, draw(states))
        parents = draw(st.permutations(made))[: draw(st.integers(0, 3))]
        shape = [variable.cardinality for variable in parents]
        tables.append(CPT(child, rng.dirichlet([0.1] * child.cardinality, size=shape), parents))
        made.append(child)
    return BayesianNetwork(draw(st.permutations(tables)))


@given(typed_networks())
@settings(max_examples=300, deadline=None)
def test_hostile_networks_come_back(net: BayesianNetwork) -> None:
    text = pgm_json.to_string(net)
    again = pgm_json.from_string(text)
    assert same_bits(net, again)
    assert pgm_json.to_string(again) == text


@given(typed_networks())
@settings(max_examples=100, deadline=None)
def test_any_json_reader_finds_what_is_documented(net: BayesianNetwork) -> None:
    content = json.loads(pgm_json.to_string(net))
    assert [entry["name"] for entry in content["variables"]] == list(net.names)
    for entry, cpt in zip(content["variables"], net.cpts, strict=True):
        assert [repr(label) for label in entry["states"]] == [repr(label) for label in cpt.child.states]
        assert [*entry["parents"], entry["name"]] == list(cpt.names)
        assert np.array_equal(np.array(entry["table"]), cpt.values)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_each_hostile_name_in_a_file(name: str, tmp_path: Path) -> None:
    net = BayesianNetwork([CPT(Variable(name, [name, name + name, 1, True]), [0.25, 0.25, 0.25, 0.25])])
    pgm.io.write(net, tmp_path / "x.json")
    assert same_bits(net, pgm.io.read(tmp_path / "x.json"))


@pytest.mark.parametrize("name", ["asia", "child", "alarm", "pathfinder", "munin1"])
def test_published_networks_come_back(name: str) -> None:
    net = networks.load(name)
    assert same_bits(net, pgm_json.from_string(pgm_json.to_string(net)))


def test_labels_of_numpy_are_the_numbers_they_stand_for() -> None:
    x = Variable("x", np.array([3, 1, 2]))
    again = pgm_json.from_string(pgm_json.to_string(BayesianNetwork([CPT(x, [0.5, 0.25, 0.25])])))
    assert again.variable("x").states == (3, 1, 2)


def test_a_table_as_deep_as_tables_can_be() -> None:
    above = [Variable(f"v{i}", ["only"]) for i in range(63)]
    net = BayesianNetwork(
        [*(CPT(v, [1.0]) for v in above), CPT(Variable("x", [0, 1]), np.full([1] * 63 + [2], 0.5), above)]
    )
    assert same_bits(net, pgm_json.from_string(pgm_json.to_string(net)))


# ---------------------------------------------------------------------- what cannot be written


class Size(enum.IntEnum):
    SMALL = 1


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ((1, 2), "a label of 'x', (1, 2), is of type tuple; JSON keeps text, numbers and booleans"),
        (Decimal("1.5"), "a label of 'x', Decimal('1.5'), is of type Decimal"),
        (Size.SMALL, "is of type Size"),
        (b"a", "is of type bytes"),
        (1j, "is of type complex"),
        (float("inf"), "a label of 'x' is infinite, which JSON cannot hold"),
        (-float("inf"), "a label of 'x' is infinite"),
        (10**5000, "a label of 'x' has too many digits"),
        ("half \ud800", r"a label of 'x', 'half \ud800', has half of a surrogate pair"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_labels_that_would_not_come_back_are_not_written(label: Any, message: str, tmp_path: Path) -> None:
    net = BayesianNetwork([CPT(Variable("x", [label, "other"]), [0.5, 0.5])])
    with pytest.raises(FormatError, match=re.escape(message)):
        pgm.io.write(net, tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- what cannot be read

GONE = object()

BROKEN_FILES = [
    # a key of the file, what it is changed to, what the message says
    ("format", "pgm", 'this is not a network: the file must be an object with "format": "pgm-network"'),
    ("format", GONE, "this is not a network"),
    ("version", 2, "this is version 2 of pgm-network; only version 1 can be read"),
    ("version", True, "this is version True of pgm-network"),
    ("version", "1", "this is version '1' of pgm-network"),
    ("version", GONE, "this is no version of pgm-network"),
    ("variables", GONE, "the file has no 'variables'; its keys are 'format', 'version'"),
    ("comment", "", "the file has the unknown key 'comment'; allowed are 'format', 'version'"),
    ("variables", {}, "the variables must be a list, not {}"),
    ("variables", [], "the file declares no variable"),
    ("variables", [[]], "variable 1 must be an object, not []"),
    ("variables", [{"name": "a", "states": [1], "parents": [], "table": [1]}] * 2, "'a' is declared twice"),
    ("variables", [{"name": "a", "states": [1], "parents": ["b"], "table": [[1]]}], "'b', a parent of 'a', is none of"),
]

LISTS = "must be a list of 3, one for each state of 'Dose', not"
NUMBERS = "must be a list of 2, one for each state of 'Cured', not"
BROKEN_VARIABLES = [
    # a key of the variable Cured, what it is changed to, what the message says
    ("table", GONE, "variable 2, 'Cured', has no 'table'; its keys are 'name', 'states'"),
    ("Table", [], "variable 2, 'Cured', has the unknown key 'Table'; allowed are 'name'"),
    ("name", GONE, "variable 2 has no 'name'"),
    ("name", 1, "the name of variable 2 must be text, not 1"),
    ("name", "", "a variable's name must be non-empty text"),
    ("name", "\ud800", "the name of variable 2, '\\ud800', has half of a surrogate pair"),
    ("states", "ab", "the states of 'Cured' must be a list, not 'ab'"),
    ("states", [], "'Cured' needs at least one state"),
    ("states", [1, 1.0], "'Cured' has the state 1.0 twice"),
    ("states", [1, None], "a label of 'Cured', None, is of type NoneType"),
    ("states", [[1], {}], "a label of 'Cured', [1], is of type list"),
    ("parents", "Dose", "the parents of 'Cured' must be a list, not 'Dose'"),
    ("parents", ["dose"], "'dose', a parent of 'Cured', is none of the variables 'Dose', 'Cured'"),
    ("parents", [["Dose"]], "['Dose'], a parent of 'Cured', is none of the variables"),
    ("parents", ["Dose", "Dose"], "'Cured' and its parents name a variable twice: 'Cured', 'Dose', 'Dose'"),
    ("parents", ["Cured"], "name a variable twice: 'Cured', 'Cured'"),
    ("table", 0.5, f"the table of 'Cured' {LISTS} 0.5"),
    ("table", [[0.9, 0.1]] * 2, f"the table of 'Cured' {LISTS} a list of 2"),
    ("table", [[0.9, 0.1]] * 4, f"the table of 'Cured' {LISTS} a list of 4"),
    ("table", [[0.9, 0.1], [0.9, 0.1, 0], [1, 0]], f"the row Dose=1 of 'Cured' {NUMBERS} a list of 3"),
    ("table", [0.9, 0.1, 0], f"the row Dose=0 of 'Cured' {NUMBERS} 0.9"),
    ("table", [[1, 0], [1, 0], [0.5, [0.5]]], "the row Dose=2 of 'Cured' has [0.5] where a number is expected"),
    ("table", [[1, 0], ["1", 0], [1, 0]], "the row Dose=1 of 'Cured' has '1' where a number is expected"),
    ("table", [[1, 0], [1, None], [1, 0]], "the row Dose=1 of 'Cured' has None where a number is expected"),
    ("table", [[True, False]] * 3, "the row Dose=0 of 'Cured' has True where a number is expected"),
    ("table", [[1, 0], [1, 0], [0.5, 0.4]], "the row Dose=2 of 'Cured' sums to 0.9, not 1"),
    ("table", [[1, 0], [1, 0], [2, -1]], "the row Dose=2 of 'Cured' has a negative number: -1"),
    ("table", [[1, 0], [1, 0], [10**400, 0]], "the table of 'Cured' has a number that is too large"),
]


def changed(content: object, part: dict[str, Any], key: str, value: object) -> str:
    """Return the content as text after a change to one of its parts."""
    if value is GONE:
        del part[key]
    else:
        part[key] = value
    return json.dumps(content)


def refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        pgm_json.from_string(text)


@pytest.mark.parametrize(("key", "value", "message"), BROKEN_FILES, ids=[message for *_, message in BROKEN_FILES])
def test_broken_files_are_refused(key: str, value: object, message: str) -> None:
    content = json.loads(TEXT)
    refused(changed(content, content, key, value), message)


@pytest.mark.parametrize(
    ("key", "value", "message"), BROKEN_VARIABLES, ids=[message for *_, message in BROKEN_VARIABLES]
)
def test_broken_variables_are_refused(key: str, value: object, message: str) -> None:
    content = json.loads(TEXT)
    refused(changed(content, content["variables"][1], key, value), message)


def test_a_directed_cycle_is_refused() -> None:
    content = json.loads(TEXT)
    content["variables"][0].update(parents=["Cured"], table=[[1, 0, 0]] * 2)
    refused(json.dumps(content), "the tables form a directed cycle: ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version": 1,', '"version": 1, "version": 1,', "an object has the key 'version' twice"),
        ('"name": "Dose"', '"name": "Dose", "name": "Cured"', "an object has the key 'name' twice"),
        ("0.9", "NaN", "NaN is not a number"),
        ("0.9", "Infinity", "Infinity is not a number"),
        ("[0, 1, 2]", "[0, 1, -Infinity]", "-Infinity is not a number"),
        ("[0, 1, 2]", "[0, 1, 1e999]", "a label of 'Dose' is infinite"),
        ("0.9", "1e999", "the row Dose=0 of 'Cured' sums to inf, not 1"),
        ("[0, 1, 2]", f"[0, 1, {'9' * 5000}]", "a whole number has too many digits"),
        ('"Dose"', '"\\ud800"', "has half of a surrogate pair"),
        ("[0, 1, 2]", "[0, 1, " + "[" * 100_000, "brackets are nested too deeply"),
        ('"states": [0, 1, 2],', '"states": [0, 1, 2],,', "line 7: not JSON: "),
        ("    }\n  ]\n}\n", "", "not JSON: "),
        (TEXT, "", "line 1: not JSON: "),
        (TEXT, "[]", "this is not a network"),
        (TEXT, "null", "this is not a network"),
    ],
    ids=itertools.count(),
)
def test_broken_text_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TEXT
    with pytest.raises(FormatError, match=re.escape(message)):
        pgm_json.from_string(TEXT.replace(old, new, 1))
    path = tmp_path / "x.json"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(FormatError, match=f"{re.escape(str(path))}: .*{re.escape(message)}"):
        pgm.io.read(path)


def test_too_many_parents_are_refused() -> None:
    content = json.loads(TEXT)
    content["variables"] += [{"name": f"v{i}", "states": [1], "parents": [], "table": [1]} for i in range(64)]
    content["variables"][1]["parents"] = [f"v{i}" for i in range(64)]
    with pytest.raises(FormatError, match="'Cured' has 64 parents; a table can have 63"):
        pgm_json.from_string(json.dumps(content))


def test_rounded_rows_are_divided_by_their_sum_and_whole_numbers_are_numbers() -> None:
    net = pgm_json.from_string(TEXT.replace("[0.5, 0.3, 0.2]", "[0.333, 0.333, 0.333]").replace("[0.9, 0.1]", "[1, 0]"))
    assert net.cpt("Dose").values.tolist() == [0.333 / (3 * 0.333)] * 3
    assert net.cpt("Cured")[0, False] == 1.0


def test_a_parent_may_stand_after_its_child() -> None:
    content = json.loads(TEXT)
    content["variables"].reverse()
    net = pgm_json.from_string(json.dumps(content))
    assert net.names == ("Cured", "Dose")
    assert net == CURE


SPLINTERS: list[Any] = [None, True, 0, -1, 1.5, "", "Dose", [], {}, [[]], [0.5, 0.5], 10**400, 2, {"name": "Dose"}]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    content = json.loads(TEXT)
    for _ in range(draw(st.integers(1, 3))):
        place: Any = content
        while isinstance(place, dict | list) and place:
            keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or draw(st.integers(0, 3)) == 0:
                place[key] = copy.deepcopy(draw(st.sampled_from(SPLINTERS)))
                break
            place = place[key]
    return json.dumps(content)


@given(
    st.one_of(mutated(), st.text(max_size=20), st.recursive(st.none() | st.text(max_size=3), st.lists).map(json.dumps))
)
@settings(max_examples=200, deadline=None)
def test_nothing_but_format_errors_comes_out(text: str) -> None:
    try:
        net = pgm_json.from_string(text)
    except FormatError:
        return
    assert same_bits(net, pgm_json.from_string(pgm_json.to_string(net)))
