"""Published networks that come with the package, by name: ``load("asia")``.

They are the usual test cases of the literature, from the Bayesian network repository of bnlearn; ``SOURCES.md`` beside
this file says who described each.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files

from pgm.errors import UnknownNameError, listing
from pgm.network import BayesianNetwork

__all__ = ["load", "names"]

SUFFIX = ".bif.gz"


def names() -> tuple[str, ...]:
    """Return the names of the networks, in alphabetical order.

    >>> names()[:5]
    ('alarm', 'andes', 'asia', 'cancer', 'child')
    """
    entries = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(entry.removesuffix(SUFFIX) for entry in entries if entry.endswith(SUFFIX)))


def load(name: str) -> BayesianNetwork:
    """Return a published network.

    Parameters
    ----------
    name
        One of :func:`names`.

    Raises
    ------
    UnknownNameError
        If there is no such network; lists those there are.

    Notes
    -----
    The file is read at each call: milliseconds for most, 0.2 s for the largest (diabetes, mildew, munin).

    References
    ----------
    Scutari, *Bayesian Network Repository*, https://www.bnlearn.com/bnrepository/

    Examples
    --------
    >>> load("asia")
    <BayesianNetwork: 8 variables, 8 edges, 18 free parameters>
    """
    from pgm.io.bif import from_string  # of the same layer, so not at module level
    from pgm.io.files import decode

    known = names()
    if name not in known:
        near = get_close_matches(str(name).lower(), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise UnknownNameError(f"no bundled network {name!r}{hint} the networks are {listing(known, limit=len(known))}")
    return from_string(decode(files(__name__).joinpath(name + SUFFIX).read_bytes()))
