"""Dirichlet priors: what is believed about the tables of a network before any row is seen.

A Dirichlet distribution of a row is told by counts, one for each state of the child, that rows of an imaginary sample
would have left behind. So every prior answers one question, `DirichletPrior.pseudocounts`: which counts to add to those
of a family.

| prior | counts a(j, s) of parent configuration j and state s |
|---|---|
| `Pseudocount` | the same number in every cell |
| `EquivalentSampleSize` | a sample of that size, spread evenly over the cells of each family (BDeu) |
| `PseudocountTables` | as given for some children, by label; 0 for the others |
| `PriorNetwork` | weight times P(j, s) in another network |
| `HierarchicalPrior` | the child's marginal times a weight that the data choose (`pgm.learning.parameters.shrinkage`) |

References
----------
Koller and Friedman (2009), *Probabilistic Graphical Models*, section 17.4.3. Heckerman, Geiger and Chickering (1995),
*Machine Learning* 20, 197-243.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgm.errors import TableError, UnknownNameError, listing
from pgm.factors.factor import FloatArray
from pgm.factors.variable import Variable
from pgm.learning.parameters.estimation import PointEstimate, Pseudocounts, TableEstimator
from pgm.learning.parameters.labelled_counts import counts_by_label, in_order_of
from pgm.learning.parameters.shrinkage import hierarchical_pseudocounts
from pgm.network import BayesianNetwork

__all__ = [
    "DirichletPrior",
    "EquivalentSampleSize",
    "HierarchicalPrior",
    "PriorNetwork",
    "Pseudocount",
    "PseudocountTables",
    "dirichlet_prior",
]


class DirichletPrior(ABC):
    """Base of the priors: counts that are added to those of a family."""

    needs_counts: ClassVar[bool] = False
    """Whether the prior is made of the counts themselves, and so changes with them."""
    copies: ClassVar[int] = 0
    """Arrays of the size of a table that exist at once while `pseudocounts` makes one."""

    @abstractmethod
    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return the Dirichlet counts of a family, one number or an array of the shape of its table.

        Parameters
        ----------
        family
            The parents, then the child.
        counts
            N(parents, child); only a prior that ``needs_counts`` looks at it.
        """

    def check(self, families: Sequence[Sequence[Variable]]) -> None:
        """Raise if the prior does not fit a network with these families; called before anything is counted."""
        del families

    def estimator(self, families: Sequence[Sequence[Variable]], estimate: PointEstimate = "mean") -> TableEstimator:
        """Return what estimates the tables of these families from counts, as often as wanted.

        Raises
        ------
        TableError
            If the prior does not fit the families, or is made of the counts itself.
        """
        if self.needs_counts:
            raise TableError(f"{type(self).__name__} depends on the counts; it cannot be used where these change")
        self.check(families)
        return TableEstimator(families, [self.pseudocounts(family) for family in families], estimate)


@dataclass(frozen=True)
class Pseudocount(DirichletPrior):
    """The same Dirichlet count in every cell: 0 for none, 1 for Laplace's rule.

    Parameters
    ----------
    count
        The number.

    Raises
    ------
    TableError
        If it is no finite number from 0.

    Examples
    --------
    >>> Pseudocount(0.5).pseudocounts([Variable("x", ["no", "yes"])])
    0.5
    """

    count: float = 0.0

    def __post_init__(self) -> None:
        _check_number("pseudocount", self.count)

    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return the number."""
        del family, counts
        return float(self.count)


@dataclass(frozen=True)
class EquivalentSampleSize(DirichletPrior):
    """A sample of some size, spread evenly over the cells of each family: the prior of the BDeu score.

    Parameters
    ----------
    size
        Number of imaginary rows.

    Raises
    ------
    TableError
        If it is no finite number from 0.

    Examples
    --------
    >>> EquivalentSampleSize(10).pseudocounts([Variable("x", ["no", "yes"])])
    5.0
    """

    size: float

    def __post_init__(self) -> None:
        _check_number("equivalent_sample_size", self.size)

    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return the size divided by the number of cells."""
        del counts
        return float(self.size) / _n_cells(family)


@dataclass(frozen=True, eq=False)
class PseudocountTables(DirichletPrior):
    """Dirichlet counts by label for some children, 0 for the others.

    Parameters
    ----------
    tables
        ``{child: counts}``: one number for all cells; rows by label, ``{(parent labels): row}``, with one
        parent the label alone, with none the row itself; a `Factor` over the family; or an array of the shape of the
        table. A row is a sequence in declared order or ``{child label: count}``. What is not named has 0.

    Raises
    ------
    TableError
        If ``tables`` is no dict; by ``check``, for counts that are negative or infinite, or of a wrong shape.
    UnknownNameError
        By ``check``, for a child that is no node.
    UnknownStateError
        By ``check``, for a label that a variable does not have.

    Examples
    --------
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> prior = PseudocountTables({"wet": {"yes": {"yes": 8, "no": 2}}})
    >>> prior.pseudocounts([rain, wet]), prior.pseudocounts([rain])
    (array([[0., 0.],
           [2., 8.]]), 0.0)
    """

    tables: Mapping[str, Any]
    copies: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Mapping):
            raise TableError(f"pseudocounts by label are {{child: counts}}, not {self.tables!r}")

    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return the counts given for the child."""
        del counts
        child = family[-1].name
        return counts_by_label(family, self.tables[child]) if child in self.tables else 0.0

    def check(self, families: Sequence[Sequence[Variable]]) -> None:
        """Raise if a child is no node, or its counts do not fit its family."""
        by_child = {family[-1].name: family for family in families}
        unknown = [name for name in self.tables if name not in by_child]
        if unknown:
            raise UnknownNameError(f"pseudocounts for {listing(unknown)}; the nodes are {listing(by_child)}")
        for name in self.tables:
            self.pseudocounts(by_child[name])


@dataclass(frozen=True, eq=False)
class PriorNetwork(DirichletPrior):
    """What a sample of some size from another network would show, on average.

    Parameters
    ----------
    network
        The network. Its edges may be others. Variables that it does not have are taken to be uniform and independent
        of all others, so that a network without any would be `EquivalentSampleSize`; variables of its own do no harm.
    weight
        Number of imaginary rows.

    Raises
    ------
    TableError
        If the weight is no finite number from 0; by ``check``, if a variable has other states.

    Notes
    -----
    One query of the network for each family.

    References
    ----------
    Heckerman, Geiger and Chickering (1995), *Machine Learning* 20, 197-243, section 6.

    Examples
    --------
    >>> from pgm.factors.cpt import CPT
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> PriorNetwork(BayesianNetwork([CPT(rain, [0.8, 0.2])]), 10).pseudocounts([rain, wet])
    array([[4., 4.],
           [1., 1.]])
    """

    network: BayesianNetwork
    weight: float
    copies: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not isinstance(self.network, BayesianNetwork):
            raise TableError(f"a prior network must be a BayesianNetwork, not {type(self.network).__name__}")
        _check_number("prior_weight", self.weight)

    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return weight times P(family) in the network."""
        del counts
        weight = float(self.weight)
        known = [variable.name for variable in family if variable.name in self.network]
        share = math.prod(variable.cardinality for variable in family if variable.name not in self.network)
        if not known:
            return weight / share
        table: FloatArray = in_order_of(family, self.network.query(known)) * (weight / share)
        return np.broadcast_to(table, [variable.cardinality for variable in family])

    def check(self, families: Sequence[Sequence[Variable]]) -> None:
        """Raise if a variable has other states than in the prior network."""
        for *_, child in families:
            if child.name in self.network and set(map(_typed, child.states)) != set(
                map(_typed, self.network.variable(child.name).states)
            ):
                own, other = listing(child.states), listing(self.network.variable(child.name).states)
                raise TableError(f"{child.name!r} has the states {own}, but in the prior network {other}")


@dataclass(frozen=True)
class HierarchicalPrior(DirichletPrior):
    """Shrinkage: every parent configuration is drawn towards the child's marginal, as far as the data suggest.

    Examples
    --------
    >>> dose, cured = Variable("dose", ["low", "high"]), Variable("cured", ["no", "yes"])
    >>> HierarchicalPrior().pseudocounts([dose, cured], np.array([[90, 10], [10, 90]])).round(2)
    array([[0.65, 0.65],
           [0.65, 0.65]])
    """

    needs_counts: ClassVar[bool] = True
    copies: ClassVar[int] = 3

    def pseudocounts(self, family: Sequence[Variable], counts: NDArray[Any] | None = None) -> Pseudocounts:
        """Return the child's marginal times the weight under which the counts are most probable."""
        if counts is None:
            raise TableError(f"the hierarchical prior of {family[-1].name!r} is made of its counts")
        return hierarchical_pseudocounts(counts)


def dirichlet_prior(
    pseudocount: float | Mapping[str, Any] = 0.0,
    equivalent_sample_size: float | None = None,
    prior: DirichletPrior | BayesianNetwork | str | None = None,
    prior_weight: float | None = None,
) -> DirichletPrior:
    """Return the prior that options describe, as `fit_parameters` and `fit_em` take them.

    Raises
    ------
    TableError
        For more than one prior, a network without a weight, or a weight without a network.
    UnknownNameError
        For text that names no prior.

    Examples
    --------
    >>> dirichlet_prior(1), dirichlet_prior(equivalent_sample_size=10)
    (Pseudocount(count=1), EquivalentSampleSize(size=10))
    """
    given = PseudocountTables(pseudocount) if isinstance(pseudocount, Mapping) else Pseudocount(pseudocount)
    others = {"equivalent_sample_size": equivalent_sample_size, "prior": prior}
    named = [name for name, value in others.items() if value is not None]
    has_counts = isinstance(pseudocount, Mapping) or pseudocount != 0
    if prior_weight is not None and not isinstance(prior, BayesianNetwork):
        raise TableError("prior_weight is the weight of a prior network: give prior=, a BayesianNetwork")
    if equivalent_sample_size is not None:
        chosen: DirichletPrior = EquivalentSampleSize(equivalent_sample_size)
    elif prior is not None:
        chosen = _named_prior(prior, prior_weight)
    else:
        chosen = given
    if len(named) + has_counts > 1:
        raise TableError(f"give {_alternatives(['pseudocount'] * has_counts + named)}")
    return chosen


def _alternatives(names: Sequence[str]) -> str:
    return f"{' or '.join(names)}, not {'both' if len(names) == len(('one', 'other')) else 'all of them'}"


def _named_prior(prior: object, weight: float | None) -> DirichletPrior:
    if isinstance(prior, DirichletPrior):
        return prior
    if isinstance(prior, str):
        if prior != "hierarchical":
            raise UnknownNameError(f"no prior {prior!r}; there is 'hierarchical'")
        return HierarchicalPrior()
    if not isinstance(prior, BayesianNetwork):
        kinds = "a BayesianNetwork, 'hierarchical' or a DirichletPrior"
        raise TableError(f"prior must be {kinds}, not {type(prior).__name__}; counts by label are pseudocount=")
    if weight is None:
        raise TableError("a prior network needs prior_weight, the number of rows that it stands for")
    return PriorNetwork(prior, weight)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise TableError(f"{name} must be a finite number from 0, not {value!r}")


def _n_cells(family: Iterable[Variable]) -> int:
    return math.prod(variable.cardinality for variable in family)


def _typed(label: object) -> tuple[bool, object]:
    return isinstance(label, bool), label
