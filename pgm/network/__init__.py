"""`BayesianNetwork`: a DAG and one conditional probability table for each of its nodes.

P(X1, ..., Xn) = product over i of P(Xi | parents(Xi)). The package joins the two; what can be asked of it is computed
in :mod:`pgm.inference`, one call a method. The methods stand in one module for each kind of question:

- :mod:`~pgm.network.core`: construction, looking at the parts, comparing;
- :mod:`~pgm.network.asking`: posteriors, probabilities, most probable states, interventions, plans;
- :mod:`~pgm.network.too_large`: what there is when an exact answer is too large;
- :mod:`~pgm.network.understanding`: sensitivity, information, impact and conflict of evidence;
- :mod:`~pgm.network.rows`: the same questions for whole tables of cases;
- :mod:`~pgm.network.sampling`: random rows, and answers estimated from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgm.network.asking import Asking
from pgm.network.rows import Rows
from pgm.network.sampling import Sampling
from pgm.network.too_large import WhenTooLarge
from pgm.network.understanding import Understanding

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["BayesianNetwork"]


class BayesianNetwork(Asking, WhenTooLarge, Understanding, Rows, Sampling):
    """A Bayesian network: one CPT for each variable, and the DAG that their parents draw.

    Parameters
    ----------
    cpts
        One :class:`~pgm.factors.cpt.CPT` for each discrete variable, and a
        :class:`~pgm.factors.gaussian.ConditionalGaussian` for each continuous one, in any order, which becomes the
        declared order. Continuous variables are leaves, and at least one variable is discrete.
    dag
        Optional: a DAG that the tables must agree with. It then gives the declared order.

    Raises
    ------
    TableError
        If a variable has two tables or none, two tables disagree about its states, or a continuous variable has a
        child.
    GraphError
        If the parents form a cycle, or the tables do not agree with ``dag``.

    Notes
    -----
    A network is a value: it never changes, and learning returns a new one. It may be used by many threads at once.

    References
    ----------
    Koller and Friedman (2009), *Probabilistic Graphical Models*, chapter 3.

    Examples
    --------
    >>> from pgm import CPT, Variable
    >>> rain = Variable("rain", ["no", "yes"])
    >>> wet = Variable("wet", ["no", "yes"])
    >>> net = BayesianNetwork([CPT(rain, [0.8, 0.2]), CPT(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain])])
    >>> print(net.query("rain", {"wet": "yes"}))
    rain |    value
    -----+---------
    no   | 0.333333
    yes  | 0.666667
    """

    __slots__ = ()

    def to_string(self, format: str = "bif") -> str:
        """Return the network as text in one of the file formats, see :func:`pgm.read`."""
        from pgm import io

        return io.to_string(self, format)

    def write(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the network to a file, whole or not at all; the suffix tells the format (``.gz`` compresses)."""
        from pgm import io

        io.write(self, path, format)

    def to_dot(self, **options: Any) -> str:
        """Return the network's graph as DOT text, see :func:`pgm.io.dot.to_dot`."""
        from pgm.io import dot

        return dot.to_dot(self, **options)
