"""The rules of the house, enforced: import layers, public names, documentation."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import pgm

ROOT = Path(pgm.__file__).parent

LAYERS = [
    {"errors", "progress"},
    {"graph", "factors"},
    {"data"},
    {"inference"},
    {"network"},
    {"learning", "io"},
    {"networks"},
    {"classifiers", "viz"},
    {"cli", "__main__", "__init__"},
]
"""Lowest first. A module imports from its own package and from lower layers."""

SEPARATE = {
    ("graph", "factors"),
    ("factors", "graph"),
    ("io", "learning"),
    ("io", "classifiers"),
}
"""Neighbours that must not know each other."""

DOORS = {
    ("graph.dag", "io"): "DAG.to_dot and DAG.from_dot",
    ("network", "io"): "BayesianNetwork.write, to_string and to_dot",
}
"""Methods that reach up, importing inside the function, because users look for them there."""

HEAVY = {"networkx", "scipy", "pandas", "polars", "pyarrow", "narwhals", "pydot", "sklearn", "tqdm", "argparse", "csv"}
"""Modules that no module reached by ``import pgm`` may load by itself."""


def modules() -> list[str]:
    found = [info.name for info in pkgutil.walk_packages([str(ROOT)], prefix="pgm.")]
    return ["pgm", *sorted(name for name in found if not name.endswith("__main__"))]


def layer_of(package: str) -> int:
    for number, packages in enumerate(LAYERS):
        if package in packages:
            return number
    raise AssertionError(f"pgm/{package} stands in no layer: add it to LAYERS")


def package_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(module: str) -> list[tuple[str, bool]]:
    """Return the pgm modules that a module imports, and whether at run time on import."""
    tree = ast.parse(Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8"))
    inside = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING")
        for node in ast.walk(outer)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively; write the whole name"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "pgm" else [node.module]
            found += [(name, id(node) not in inside) for name in names]
    return found


@pytest.mark.parametrize("module", modules())
def test_imports_go_down_the_layers(module):
    own = package_of(module)
    if own == "__init__":
        return
    for target, eager in imports(module):
        if not target.startswith("pgm."):
            continue
        other = package_of(target)
        if other == own:
            continue
        assert (own, other) not in SEPARATE, f"{module} must not import {target}"
        if layer_of(other) < layer_of(own):
            continue
        assert not eager, f"{module} imports {target}, which is not below it"
        is_type_only = other in {"network", "inference", "graph", "factors", "data"}
        assert is_type_only or (module.removeprefix("pgm."), other) in DOORS, f"{module} reaches up to {target}"


@pytest.mark.parametrize("module", modules())
def test_public_names_exist_and_are_documented(module):
    loaded = importlib.import_module(module)
    assert loaded.__doc__, f"{module} does not say what it is"
    assert hasattr(loaded, "__all__"), f"{module} has no __all__"
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    for name in loaded.__all__:
        thing = getattr(loaded, name)
        if inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{module}.{name} has no docstring"
        elif inspect.isclass(thing):
            assert inspect.getdoc(thing), f"{module}.{name} has no docstring"
            for attribute, member in vars(thing).items():
                if not attribute.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    assert inspect.getdoc(member), f"{module}.{name}.{attribute} has no docstring"


def test_top_level_names_are_listed_and_lead_home():
    assert sorted(pgm.__all__, key=str.lower) == sorted(set(pgm.__all__), key=str.lower)
    for name in pgm.__all__:
        assert getattr(pgm, name) is not None
        assert name in dir(pgm)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pgm.nothing  # noqa: B018


def test_importing_pgm_loads_nothing_heavy():
    code = "import sys, pgm; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    base = "import sys, numpy; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    numpy_loads = subprocess.run(
        [sys.executable, "-c", base], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not HEAVY & (set(loaded) - set(numpy_loads))


def test_reading_a_file_loads_no_learning():
    code = (
        "import sys, pgm; pgm.networks.load('asia'); print(*[m for m in sys.modules if m.startswith('pgm.learning')])"
    )
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_random_state_of_others_is_never_touched():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "np.random.seed" not in text, path
        assert "import random" not in text, path
