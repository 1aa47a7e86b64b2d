"""Networks with Gaussian leaves in files: JSON keeps them, DOT draws them, BIF refuses them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pgm
from pgm import cli
from pgm.errors import FormatError

SEX, AGE = pgm.Variable("sex", ["f", "m"]), pgm.Variable("age", [0, 1, 2])


def network() -> pgm.BayesianNetwork:
    rng = np.random.default_rng(0)
    return pgm.BayesianNetwork(
        [
            pgm.ConditionalGaussian("alone", 0.1, 1e-300),
            pgm.CPT(SEX, [0.5, 0.5]),
            pgm.ConditionalGaussian("height", rng.normal(size=(3, 2)), rng.uniform(size=(3, 2)), [AGE, SEX]),
            pgm.CPT.random(AGE, [SEX], rng=0),
        ]
    )


def test_json_brings_it_back_bit_by_bit(tmp_path):
    net = network()
    back = pgm.read_string(net.to_string("json"), "json")
    assert back == net and back.names == net.names
    assert back.gaussians["height"].means.tobytes() == net.gaussians["height"].means.tobytes()
    assert back.gaussians["alone"].variances == 1e-300
    net.write(tmp_path / "net.json.gz")
    assert pgm.read(tmp_path / "net.json.gz") == net


def changed(**keys):
    content = json.loads(network().to_string("json"))
    entry = content["variables"][2]
    entry.update(keys)
    content["variables"][2] = {key: value for key, value in entry.items() if value != "gone"}
    return json.dumps(content)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"variances": "gone"}, "variable 3, 'height', which is continuous, has no 'variances'"),
        ({"means": "gone"}, "has no 'means'"),
        ({"parents": "gone"}, "has no 'parents'"),
        ({"table": []}, "unknown key 'table'"),
        ({"name": ""}, "the name of variable 3 must be non-empty text"),
        ({"name": "sex"}, "'sex' is declared twice"),
        ({"parents": ["alone"]}, "'alone', a parent of 'height', is none of the variables 'sex', 'age' with states"),
        ({"parents": ["sex", "sex"]}, "name a variable twice"),
        ({"parents": 3}, "the parents of 'height' must be a list"),
        ({"means": [[1, 2], [3, 4]]}, "a number for each state of 'age'"),
        ({"means": [[1, 2], [3, 4], [5]]}, "a number for each state of 'sex'"),
        ({"means": [[1, 2], [3, 4], [5, "six"]]}, "where numbers are expected"),
        ({"means": [[1, 2], [3, 4], [5, True]]}, "where numbers are expected"),
        ({"means": [[1, 2], [3, 4], [5, 10**400]]}, "too large"),
        ({"variances": [[1, 2], [3, 4], [5, 0]]}, "the variance of 'height' where age=2, sex='m' must be above 0"),
        ({"variances": 1.0}, "a number for each state of 'age'"),
    ],
)
def test_broken_leaves_are_refused(keys, message):
    with pytest.raises(FormatError, match=message):
        pgm.read_string(changed(**keys), "json")


def test_other_formats():
    with pytest.raises(FormatError, match="BIF holds discrete variables only, and not 'alone', 'height'; JSON does"):
        network().to_string("bif")
    text = network().to_dot(evidence={"height": 1.7})
    assert '"age" -> "height"' in text and "height = 1.7" in text


def test_the_command_line(tmp_path, capsys):
    path = str(tmp_path / "net.json")
    network().write(path)
    assert cli.main(["query", path, "sex", "--given", "height=0.5"]) == 0
    assert f"ln p(height=0.5) = {network().log_probability({'height': 0.5}):.6g}\n" in capsys.readouterr().out
    assert cli.main(["query", path, "height"]) == 0
    assert "height: mean" in capsys.readouterr().out
    assert cli.main(["query", path, "sex", "--given", "height=tall"]) != 0
    assert "'height' is continuous" in capsys.readouterr().err
    assert cli.main(["info", path, "--variables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "height (continuous) <- age, sex" in lines
    assert lines[0].startswith(f"{len(network())} variables (2 continuous), ")
    assert lines[2] == "parents of a variable: at most 2"
    assert cli.main(["query", path, "sex", "--given", "height=1e400"]) == 2
    assert "'height' is continuous: its evidence is a finite number, not inf" in capsys.readouterr().err


def test_the_command_line_where_densities_are_no_floats(tmp_path, capsys):
    sex = pgm.Variable("sex", ["f", "m"])
    leaves = [pgm.ConditionalGaussian(f"x{i}", [0.0, 1.0], 1e-300, [sex]) for i in range(5)]
    path = str(tmp_path / "net.json")
    pgm.BayesianNetwork([pgm.CPT.uniform(sex), *leaves]).write(path)
    assert cli.main(["query", path, "sex", "--given", *(f"x{i}=0" for i in range(5))]) == 0
    assert "ln p(x0=0.0, x1=0.0, x2=0.0, x3=0.0, x4=0.0) = 1721.65\n" in capsys.readouterr().out
