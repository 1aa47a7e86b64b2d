r"""BIF, the Bayesian Interchange Format, version 0.15: the text format of most published networks.

A file has one block per variable and one per table, in any order; variables keep the order of their blocks::

    network unknown {
    }
    variable rain {
      type discrete [ 2 ] { no, yes };
    }
    variable wet {
      type discrete [ 2 ] { no, yes };
    }
    probability ( rain ) {
      table 0.8, 0.2;
    }
    probability ( wet | rain ) {
      (yes) 0.1, 0.9;
      default 1, 0;
    }

- A *row* is placed by its parent labels, never by its position; ``default``, anywhere in its block, stands for every
  row not given.
- ``table`` lists a whole table with the **child slowest and the last parent fastest**. So the format's author has
  it in the examples of JavaBayes (``dog-out | bowel-problem family-out`` starts ``0.99 0.97 0.9 0.3``, four
  probabilities of the first state of ``dog-out``), and so aGrUM and pgmpy read it. (XMLBIF has the child fastest.)
- Names and labels are text. They need quotes if they hold white space, quotes, backslashes or one of
  ``{ } ( ) [ ] , ; |`` or start a comment; within quotes ``\"``, ``\\``, ``\n``, ``\r`` and ``\t`` are escapes.
- Commas are white space, the bar after the child may be missing, ``network`` is optional, comments (``//``,
  ``/* */``) and ``property`` lines are skipped.
- Rows off from one by up to 0.001 are rounded figures and divided by their sum; anything worse is an error.

Labels that are not text (``1``, ``True``) are written as their text, and so come back as text.

References
----------
Cozman (1996), *The Interchange Format for Bayesian Networks*, version 0.15, and the grammar of JavaBayes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from pgm.errors import FormatError, listing
from pgm.io.assembly import text_labels
from pgm.io.bif_reader import from_string

if TYPE_CHECKING:
    from pgm.factors.cpt import CPT
    from pgm.network import BayesianNetwork

__all__ = ["from_string", "to_string"]

BARE = re.compile(r'[^\s{}()\[\],;|"\\]+')
RESERVED = frozenset({"network", "variable", "probability", "property", "type", "discrete", "default", "table", "="})
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def to_string(net: BayesianNetwork) -> str:
    """Return a network as BIF text, every number in the fewest digits that read back as the same number.

    Raises
    ------
    FormatError
        If two labels of a variable would be the same text, such as ``1`` and ``"1"``, or a variable is continuous.

    Examples
    --------
    >>> import pgm
    >>> rain = pgm.Variable("rain", ["no", "yes, a lot"])
    >>> print(to_string(pgm.BayesianNetwork([pgm.CPT(rain, [0.8, 0.2])])))
    network unknown {
    }
    variable rain {
      type discrete [ 2 ] { no, "yes, a lot" };
    }
    probability ( rain ) {
      table 0.8, 0.2;
    }
    <BLANKLINE>
    """
    if net.gaussians:
        raise FormatError(f"BIF holds discrete variables only, and not {listing(net.gaussians)}; JSON does")
    labels = {variable.name: [quoted(label) for label in text_labels(variable)] for variable in net.variables}
    lines = ["network unknown {", "}"]
    for variable in net.variables:
        states = labels[variable.name]
        type_line = f"  type discrete [ {len(states)} ] {{ {', '.join(states)} }};"
        lines += [f"variable {quoted(variable.name)} {{", type_line, "}"]
    for variable in net.variables:
        lines += _table(net.cpt(variable.name), labels)
    return "\n".join(lines) + "\n"


def _table(cpt: CPT, labels: dict[str, list[str]]) -> Iterator[str]:
    """Return the lines of a probability block."""
    parents = [parent.name for parent in cpt.parents]
    bar = f" | {', '.join(map(quoted, parents))}" if parents else ""
    yield f"probability ( {quoted(cpt.child.name)}{bar} ) {{"
    rows = cpt.values.reshape(-1, cpt.child.cardinality).tolist()
    for joint, row in zip(product(*(labels[parent] for parent in parents)), rows, strict=True):
        head = f"({', '.join(joint)})" if parents else "table"
        yield f"  {head} {', '.join(map(repr, row))};"
    yield "}"


def quoted(name: str) -> str:
    r"""Return a name as BIF writes it, in quotes only where it needs them.

    >>> print(quoted("Asy/Patch"), quoted("<5"), quoted("5 or more"), quoted('say "hi"'))
    Asy/Patch <5 "5 or more" "say \"hi\""
    """
    plain = BARE.fullmatch(name) and name not in RESERVED
    return name if plain and "//" not in name and "/*" not in name else f'"{name.translate(ESCAPES)}"'
