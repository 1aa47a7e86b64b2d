"""The bundled networks: all there, unharmed, and answering as published."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from pgm import networks
from pgm.errors import UnknownNameError

SIZES = {
    # name: variables, edges, free parameters, most states (https://www.bnlearn.com/bnrepository)
    "alarm": (37, 46, 509, 4), "andes": (223, 338, 1157, 2), "asia": (8, 8, 18, 2), "cancer": (5, 4, 10, 2),
    "child": (20, 25, 230, 6), "diabetes": (413, 602, 429409, 21), "earthquake": (5, 4, 10, 2),
    "hailfinder": (56, 66, 2656, 11), "insurance": (27, 52, 1008, 5), "link": (724, 1125, 14211, 4),
    "mildew": (35, 46, 540150, 100), "munin": (1041, 1397, 80592, 21), "munin1": (186, 273, 15622, 21),
    "munin2": (1003, 1244, 69431, 21), "munin4": (1038, 1388, 80352, 21), "pathfinder": (109, 195, 72079, 63),
    "pigs": (441, 592, 5618, 3), "sachs": (11, 17, 178, 3), "survey": (6, 6, 21, 3),
}  # fmt: skip

FINGERPRINTS = {
    # found from the repository's own files by a reader of twenty lines that shares nothing with this package:
    # the sum over all rows of hash(child, parent labels) times the mean state number, and a hash of names and states
    "alarm": (251.02791379257803, 2656473022), "andes": (756.5436884046321, 1071279470),
    "asia": (15.29097487691557, 3897519931), "cancer": (9.64754380143364, 3991616240),
    "child": (110.02039565191376, 2920348390), "diabetes": (105216.40432430603, 2772458055),
    "earthquake": (10.44349972266471, 4074126112), "hailfinder": (1114.4514662352556, 309042997),
    "insurance": (424.43431261681184, 4282154839), "link": (6836.084513747124, 2541281461),
    "mildew": (160223.35300398333, 2961514806), "munin": (29713.514857143236, 2111832987),
    "munin1": (5625.425065781281, 4036770690), "munin2": (25703.964123828227, 2647173197),
    "munin4": (29545.293882187536, 2252997879), "pathfinder": (21569.354467120513, 3828914166),
    "pigs": (2798.758948389441, 147042530), "sachs": (74.93573126954122, 1851723113),
    "survey": (10.999258382183035, 975618344),
}  # fmt: skip


def test_all_networks_are_listed() -> None:
    assert networks.names() == tuple(sorted(SIZES))
    assert set(FINGERPRINTS) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_each_network_is_that_of_the_repository(name: str) -> None:
    net = networks.load(name)
    cards = [variable.cardinality for variable in net.variables]
    assert (len(net.names), len(net.dag.edges), net.n_parameters, max(cards)) == SIZES[name]
    declared = "\n".join(f"{variable.name}:{','.join(map(str, variable.states))}" for variable in net.variables)
    total = 0.0
    for cpt in net.cpts:
        means = cpt.values @ np.arange(1, cpt.child.cardinality + 1)
        for place in np.ndindex(means.shape):
            given = sorted((p.name, str(p.states[code])) for p, code in zip(cpt.parents, place, strict=True))
            key = "|".join([cpt.child.name, *(f"{parent}={label}" for parent, label in given)])
            total += zlib.crc32(key.encode()) / 2**32 * float(means[place])
    fingerprint, names_hash = FINGERPRINTS[name]
    assert zlib.crc32(declared.encode()) == names_hash
    assert total == pytest.approx(fingerprint, rel=1e-11)


def test_asia_is_that_of_lauritzen_and_spiegelhalter() -> None:
    asia = networks.load("asia")
    assert asia.names == ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    assert asia.cpt("dysp")["yes", "no", "yes"] == 0.8  # parents bronc, either
    assert asia.query("tub").values[0] == pytest.approx(0.0104, abs=1e-12)
    assert asia.query("lung").values[0] == pytest.approx(0.055, abs=1e-12)
    evidence = {"asia": "yes", "dysp": "yes"}
    assert asia.probability(evidence) == pytest.approx(0.004501, abs=5e-7)
    assert asia.query("bronc", evidence).values[0] == pytest.approx(0.81140, abs=5e-6)


def test_unknown_names_list_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"no bundled network 'Alarm'; did you mean 'alarm'.*'survey'"):
        networks.load("Alarm")
    with pytest.raises(UnknownNameError, match=r"no bundled network '\.\./asia'"):
        networks.load("../asia")
    with pytest.raises(UnknownNameError, match=r"no bundled network 'xyzzy'; the networks are 'alarm', .* 'survey'$"):
        networks.load("xyzzy")


def test_every_network_has_its_source() -> None:
    text = (Path(networks.__file__).parent / "SOURCES.md").read_text(encoding="utf-8")
    first_cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    assert {name.strip() for cell in first_cells for name in cell.split(",")} == {*SIZES, "name"}
