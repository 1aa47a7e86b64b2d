"""Cross-validation: how well what is learned speaks about rows that it has not seen.

The rows are dealt into folds. For each fold a structure and its parameters are learned from all others, and judged by
the fold: by the log-likelihood of its rows, or by how well one variable is predicted from the rest. So the figures tell
whole procedures apart, search and score and prior together, and more edges do not make them better by themselves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgm.data import Dataset
from pgm.errors import DataError, GraphError, UnknownNameError, listing
from pgm.factors.size import check_size
from pgm.graph.dag import DAG, as_dag
from pgm.graph.pdag import PDAG
from pgm.learning.constraints import checked_generator
from pgm.learning.parameters import fit_parameters
from pgm.learning.search.learn_structure import learn_structure
from pgm.learning.validation.resampling import DistinctRows, Search, learned_graph, quiet, whole_number
from pgm.network import BayesianNetwork
from pgm.progress import Progress

__all__ = ["CrossValidation", "Estimate", "Fold", "ImpossibleRowsWarning", "cross_validate", "deal"]

Loss: TypeAlias = Literal["log_likelihood"] | tuple[Literal["prediction"], str]

_SHOWN = 20
"""Folds that a printed result lists."""


class ImpossibleRowsWarning(UserWarning):
    """Held-out rows that have probability zero under what was learned without them."""


class Estimate(NamedTuple):
    """A mean over rows, and its standard error."""

    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:.6g}, standard error {self.standard_error:.2g}"


class Fold(NamedTuple):
    """What was learned without one fold, and how it does on it."""

    repeat: int
    """Number of the deal, from 0."""
    number: int
    """Number of the fold, from 0."""
    dag: DAG
    """The graph learned from the other folds."""
    n_rows: int
    """Rows held out."""
    impossible: int
    """How many of them have probability zero."""
    log_likelihood: float
    """Sum over the *other* rows held out of ln P(row), or for a prediction of ln P(target | rest of the row)."""
    errors: int | None
    """Rows whose target is not the most probable one, if that was asked for."""

    @property
    def log_likelihood_per_row(self) -> float:
        """The mean over all rows held out; minus infinity if some are impossible."""
        return -math.inf if self.impossible else self.log_likelihood / self.n_rows

    @property
    def error_rate(self) -> float | None:
        """Share of wrong predictions, if that was asked for."""
        return None if self.errors is None else self.errors / self.n_rows


@dataclass(frozen=True, repr=False)
class CrossValidation:
    """What held-out rows say; printing it shows the means and every fold."""

    target: str | None
    """The variable predicted, or None where whole rows were judged."""
    n_folds: int
    n_repeats: int
    folds: tuple[Fold, ...]
    """The folds of the first deal, then of the second, ..."""

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return sum(fold.n_rows for fold in self.folds) // self.n_repeats

    @property
    def impossible(self) -> int:
        """Number of rows held out, over all repeats, that have probability zero."""
        return sum(fold.impossible for fold in self.folds)

    @property
    def log_likelihood(self) -> Estimate:
        """Mean of ln P(row), or ln P(target | rest), over the rows held out: minus infinity if one is impossible.

        With a target this is the log-loss with the sign changed.
        """
        if self.impossible:
            return Estimate(-math.inf, math.inf)
        return self._estimate([fold.log_likelihood / fold.n_rows for fold in self.folds])

    @property
    def total_log_likelihood(self) -> float:
        """Sum over all rows, each held out once; with repeats the mean of such sums."""
        return self.log_likelihood.mean * self.n_rows

    @property
    def error_rate(self) -> Estimate | None:
        """Share of the rows whose target is not the most probable one; None without a target."""
        errors = [fold.errors / fold.n_rows for fold in self.folds if fold.errors is not None]
        return self._estimate(errors) if errors else None

    def _estimate(self, values: Sequence[float]) -> Estimate:
        """Return the mean over rows of means over folds; the standard error is that of a single deal."""
        sizes = [fold.n_rows for fold in self.folds]
        mean = math.fsum(value * size for value, size in zip(values, sizes, strict=True)) / sum(sizes)
        spread = np.reshape(values, (self.n_repeats, self.n_folds)).var(axis=1, ddof=1).mean()
        return Estimate(mean, math.sqrt(spread / self.n_folds))

    def __repr__(self) -> str:
        repeats = "" if self.n_repeats == 1 else f" x {self.n_repeats} repeats"
        return f"<CrossValidation: {self.n_folds} folds{repeats}, {self.n_rows} rows, {self._what()} {self._shown()}>"

    def _what(self) -> str:
        return "log-likelihood" if self.target is None else f"log-likelihood of {self.target}"

    def _shown(self) -> str:
        return f"{self.log_likelihood.mean:.6g} per row"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        if self.impossible:
            possible = sum(fold.n_rows for fold in self.folds) - self.impossible
            rest = math.fsum(fold.log_likelihood for fold in self.folds) / max(possible, 1)
            lines.append(f"  impossible: {self.impossible} of {possible + self.impossible} rows; the others {rest:.6g}")
        else:
            lines.append(f"  {self._what()}: {self.log_likelihood}; total {self.total_log_likelihood:.8g}")
        if self.error_rate is not None:
            lines.append(f"  error rate: {self.error_rate}")
        lines.append("  fold    rows  edges      per row" + ("" if self.target is None else "  error rate"))
        for fold in self.folds[:_SHOWN]:
            number = f"{fold.number + 1}" if self.n_repeats == 1 else f"{fold.repeat + 1}.{fold.number + 1}"
            numbers = f"{fold.n_rows:6}  {len(fold.dag.edges):5}  {fold.log_likelihood_per_row:11.5g}"
            error = "" if fold.error_rate is None else f"  {fold.error_rate:10.4g}"
            lines.append(f"  {number:>4}  {numbers}{error}")
        if len(self.folds) > _SHOWN:
            lines.append(f"  ... {len(self.folds) - _SHOWN} more")
        return "\n".join(lines)


def cross_validate(
    data: object,
    search: Search | DAG | BayesianNetwork = learn_structure,
    *,
    folds: int = 10,
    loss: Loss = "log_likelihood",
    pseudocount: float | None = None,
    equivalent_sample_size: float | None = None,
    stratify: str | None = None,
    repeats: int = 1,
    rng: np.random.Generator | int | None = 0,
    progress: bool = True,
    **options: Any,
) -> CrossValidation:
    """Return how well structures and parameters learned from some rows do on the others.

    Parameters
    ----------
    data
        A `Dataset`, or anything one can be made of, without missing cells.
    search
        Takes data and ``options``, and returns a graph or a result that has one; or a graph, of which only the
        parameters are then learned. Where a search returns an equivalence class, one of its members is taken.
    folds
        In how many parts the rows are dealt, from 2; as many as rows leave out one row at a time.
    loss
        ``"log_likelihood"`` judges by ln P(row); ``("prediction", name)`` by the posterior of that variable given all
        others: its logarithm at the true state, and whether the most probable state is the true one.
    pseudocount, equivalent_sample_size
        Priors, as in `fit_parameters`; by default a pseudocount of 1, with which no row is impossible.
    stratify
        A variable whose states are spread evenly over the folds.
    repeats
        How many times to deal.
    rng
        A seed, or a NumPy generator, which is advanced. The same seed deals the same rows of the same columns, whatever
        the search: so the folds of two results can be compared one by one.
    progress
        Whether to show a progress bar if it lasts over two seconds on a terminal.
    **options
        Passed on to the search.

    Raises
    ------
    DataError
        For numbers out of range, an ``rng`` that is neither a seed nor a generator, more folds than rows, fractional
        weights, and an unknown loss.
    GraphError
        If the search returns no graph, and for options without a search.
    MissingDataError
        If cells are missing.
    UnknownNameError
        If the variable to predict, or to stratify by, is no column, or is no node.

    Warns
    -----
    ImpossibleRowsWarning
        If rows held out have probability zero, which only happens without a prior: says how many. The mean is then
        minus infinity; a row for which the rest of it is already impossible counts as a wrong prediction, too.

    Notes
    -----
    The standard error is that of the mean of the folds of one deal; folds share training rows, so it is a rough guide,
    and more repeats do not make it smaller. A row of weight w counts as w rows.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), *The Elements of Statistical Learning*, section 7.10.

    Examples
    --------
    >>> data = {"rain": [0] * 20 + [1] * 20, "wet": [0] * 18 + [1] * 20 + [0] * 2, "moon": [0, 1] * 20}
    >>> result = cross_validate(data, folds=5, loss=("prediction", "wet"))
    >>> round(result.error_rate.mean, 3)
    0.1
    """
    columns = None if callable(search) else as_dag(search).nodes
    if options and not callable(search):
        raise GraphError(f"{listing(options)} are options for a search, but the graph is given")
    rows = DistinctRows.of(data, columns)
    counts, n_folds = rows.whole_counts(), whole_number("folds", folds, least=2)
    if n_folds > counts.sum():
        raise DataError(f"{n_folds} folds need as many rows; there are {counts.sum()}")
    target = _checked_target(loss, rows.names)
    if stratify is not None and stratify not in rows.names:
        raise UnknownNameError(f"no column {stratify!r} to stratify by; the columns are {listing(rows.names)}")
    strata = None if stratify is None else rows.codes(stratify)
    if pseudocount is None:
        pseudocount = 1.0 if equivalent_sample_size is None else 0.0
    prior = {"pseudocount": pseudocount, "equivalent_sample_size": equivalent_sample_size}
    generator, n_repeats = checked_generator(rng), whole_number("repeats", repeats, least=1)
    options = quiet(search, options) if callable(search) else {}
    found = []
    with Progress("cross-validation", total=n_repeats * n_folds, show=progress) as bar:
        for repeat in range(n_repeats):
            for number, held_out in enumerate(deal(counts, n_folds, generator, strata)):
                training = rows.weighted(counts - held_out)
                dag = _structure(search, training, options)
                net = fit_parameters(dag, training, **prior)  # type: ignore[arg-type]
                found.append(Fold(repeat, number, dag, *_judged(net, rows.weighted(held_out), target)))
                bar.step()
    result = CrossValidation(target, n_folds, n_repeats, tuple(found))
    if result.impossible:
        where = listing((fold.number + 1 for fold in found if fold.impossible), limit=10)
        share = f"{result.impossible} of {n_repeats * result.n_rows} rows held out"
        message = f"{share} have probability zero, in folds {where}; a pseudocount avoids that"
        warnings.warn(message, ImpossibleRowsWarning, stacklevel=2)
    return result


def deal(
    counts: NDArray[np.int64], folds: int, rng: np.random.Generator, strata: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """Return how many of each distinct row every fold gets, shape (folds, distinct rows).

    The rows are shuffled and dealt like cards, so that the sizes of the folds differ by 1 at most. With ``strata``, a
    number for each distinct row, rows of equal number are dealt one after another.

    Examples
    --------
    >>> deal(np.array([3, 3]), 3, np.random.default_rng(0), strata=np.array([0, 1])).tolist()
    [[1, 1], [1, 1], [1, 1]]
    """
    check_size([2, int(counts.sum())], "the rows to deal")
    cards = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    if strata is not None:
        cards = cards[np.argsort(strata[cards], kind="stable")]
    return np.stack([np.bincount(cards[fold::folds], minlength=len(counts)) for fold in range(folds)])


def _checked_target(loss: object, names: Sequence[str]) -> str | None:
    """Return the variable to predict, or None."""
    if loss == "log_likelihood":
        return None
    if not isinstance(loss, tuple) or len(loss) != 2 or loss[0] != "prediction":
        raise DataError(f'loss must be "log_likelihood" or ("prediction", name of a variable), not {loss!r}')
    target = loss[1]
    if not isinstance(target, str) or target not in names:
        raise UnknownNameError(f"no column {target!r} to predict; the columns are {listing(names)}")
    if len(names) == 1:
        raise DataError(f"nothing to predict {target!r} from: it is the only column")
    return target


def _structure(search: Search | DAG | BayesianNetwork, training: Dataset, options: dict[str, Any]) -> DAG:
    if not callable(search):
        return as_dag(search)
    graph = learned_graph(search(training, **options), training.names)
    return graph.consistent_extension() if isinstance(graph, PDAG) else graph


def _judged(net: BayesianNetwork, test: Dataset, target: str | None) -> tuple[int, int, float, int | None]:
    """Return the numbers of rows and of impossible rows, the log-likelihood of the others, and wrong predictions."""
    weights = np.ones(test.n_rows) if test.weights is None else test.weights
    errors = None
    if target is None:
        logarithms = net.log_likelihood(test, progress=False)
    else:
        features = test.select([name for name in test.names if name != target])
        posterior = net.posterior(features, target, impossible="nan", progress=False)
        truth = test.codes(target)
        probability = np.nan_to_num(posterior[np.arange(test.n_rows), truth], nan=0.0)
        with np.errstate(divide="ignore"):
            logarithms = np.log(probability)
        wrong = (posterior.argmax(axis=1) != truth) | np.isnan(posterior[:, 0])
        errors = round(float(weights[wrong].sum()))
    possible = logarithms > -math.inf
    impossible = round(float(weights[~possible].sum()))
    total = math.fsum((weights[possible] * logarithms[possible]).tolist())
    return round(float(weights.sum())), impossible, total, errors
