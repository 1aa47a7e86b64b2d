"""Whole tables of cases: posteriors, likelihoods, predictions and completions of every row at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from pgm.errors import DataError, EvidenceError, ImpossibleEvidenceError, listing
from pgm.factors.factor import FloatArray, Names
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Label, Variable
from pgm.inference import batch, hybrid_rows
from pgm.inference.evidence import Evidence, code_targets
from pgm.inference.options import check_budget
from pgm.inference.ties import first_of_best
from pgm.network.core import Core

if TYPE_CHECKING:
    from pgm.data.dataset import Dataset
    from pgm.data.statistics import SufficientStatistics

__all__ = ["Rows"]

Numbers: TypeAlias = Mapping[str, FloatArray]
"""Continuous columns by name, NaN where a cell is missing."""


class Rows(Core):
    """The questions of :class:`~pgm.network.BayesianNetwork` about every row of a table."""

    __slots__ = ()

    def posterior(
        self,
        data: object,
        targets: Names | None = None,
        *,
        impossible: Literal["raise", "nan"] = "raise",
        memory_budget: int = MEMORY_BUDGET,
        progress: bool = True,
    ) -> Any:
        """Return the posterior of one or several variables for every row of a table.

        Parameters
        ----------
        data
            A frame, a dict of columns, or a :class:`~pgm.data.dataset.Dataset`. Columns are matched by name; those that
            are no variables of the network are not looked at. Missing cells, and variables without a column, are
            summed out.
        targets
            One name, or several; by default all variables with a missing cell or without a column.
        impossible
            What to do with a row that has no posterior: raise, or give NaN for that row. That is a row of probability
            zero, and one with continuous cells so improbable that even the logarithm of it is beyond what floats hold.
        memory_budget
            Bytes that the tables on the way may take at once; the answer comes on top.
        progress
            Whether to show a progress bar if it lasts over two seconds on a terminal.

        Returns
        -------
        ndarray or dict of ndarray
            Shape (rows, states in declared order) for one name; ``{name: array}`` for several. Where the target itself
            is observed its posterior is one on the state observed.

        Raises
        ------
        ImpossibleEvidenceError
            For a row of probability zero; names the first such row and the conflict in it.
        EvidenceError
            For a row whose density is beyond the range of floats, if it comes first; names it and the numbers.
        UnknownNameError, DataError
            For unknown targets, and for cells that are no state of their variable.
        TooLargeError
            If the tables for a single row would exceed the memory budget.

        Notes
        -----
        Exact. Rows run through one plan a few hundred at a time, so a row costs microseconds; memory is that of the
        answer and of one chunk.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> asia.posterior({"smoke": ["yes", "no"], "xray": ["yes", None]}, "lung").round(4).tolist()
        [[0.646, 0.354], [0.01, 0.99]]
        """
        _check_impossible(impossible)
        targets = self._discrete(targets)
        table, numbers = self._table(data)
        asked = self._hidden(table) if targets is None else code_targets(self._index, targets)
        answer, zero = self._posteriors(table, numbers, asked, memory_budget, progress)
        if zero and impossible == "raise":
            raise self._unanswered(table, numbers, zero, memory_budget)
        for array in answer.values():
            array[zero] = math.nan
        if isinstance(targets, str):
            return answer[asked[0]]
        return {self.variables[target].name: answer[target] for target in asked}

    def _posteriors(
        self, table: batch.Table, numbers: Numbers, targets: Sequence[int], memory_budget: int, progress: bool
    ) -> tuple[dict[int, FloatArray], list[int]]:
        """Return the posterior of each target in every row, and the impossible rows."""
        if numbers:
            hybrid = self._hybrid(table, numbers)
            return hybrid_rows.posteriors(hybrid, targets, memory_budget=memory_budget, progress=progress)
        single = partial(self._engine.row_posteriors, memory_budget=memory_budget)
        return batch.posteriors(self._engine, table, targets, single, memory_budget=memory_budget, progress=progress)

    def _hybrid(self, table: batch.Table, numbers: Numbers) -> hybrid_rows.HybridTable:
        leaves = [leaf for name, leaf in self._leaves.items() if name in numbers]
        return hybrid_rows.HybridTable(self._cpts, leaves, table, numbers)

    def log_likelihood(self, data: object, *, memory_budget: int = MEMORY_BUDGET, progress: bool = True) -> FloatArray:
        """Return ln P(row) for every row of a table, missing cells summed out; shape (rows,).

        A row of probability zero has minus infinity; a row without any known cell has 0. With continuous cells it is
        the logarithm of a density; a row whose is beyond the range of floats is refused, and named. Data, columns and
        options as in :meth:`posterior`.
        """
        table, numbers = self._table(data)
        if numbers:
            hybrid = self._hybrid(table, numbers)
            return hybrid_rows.likelihoods(hybrid, memory_budget=memory_budget, progress=progress)
        engine = self._engine
        return batch.likelihoods(
            engine,
            table,
            lambda codes: engine.coded_log_probability(Evidence(codes, {}, 0.0), memory_budget),
            memory_budget=memory_budget,
            progress=progress,
        )

    def posterior_chunks(
        self,
        chunks: Iterable[object],
        targets: Names | None = None,
        *,
        impossible: Literal["raise", "nan"] = "raise",
        memory_budget: int = MEMORY_BUDGET,
    ) -> Iterator[Any]:
        """Return an iterator over :meth:`posterior` of one table after another: for data that do not fit into memory.

        Parameters
        ----------
        chunks
            Tables, each as :meth:`posterior` takes it: a list of them, a generator, or what reads a file in parts.
        targets, impossible, memory_budget
            As in :meth:`posterior`; they are checked at once, the tables as they come.
        """
        _check_impossible(impossible)
        check_budget(memory_budget)
        wanted = targets
        if targets is not None:
            targets = self._discrete(targets)
            numbers = code_targets(self._index, targets)
            wanted = targets if isinstance(targets, str) else [self.variables[number].name for number in numbers]
        tables = _tables(chunks)
        return (
            self.posterior(chunk, wanted, impossible=impossible, memory_budget=memory_budget, progress=False)
            for chunk in tables
        )

    def impute(
        self,
        data: object,
        *,
        method: Literal["joint", "marginal"] = "joint",
        memory_budget: int = MEMORY_BUDGET,
        progress: bool = True,
    ) -> Dataset:
        """Return the rows with every missing cell filled in, a column for each variable of the network.

        Parameters
        ----------
        data
            As in :meth:`posterior`. Variables without a column are filled in as well.
        method
            ``"joint"``: the most probable joint state of all that a row leaves open, as :meth:`mpe` gives it.
            ``"marginal"``: for each cell on its own its most probable state; together they may be improbable. Either
            way a continuous cell gets its mean given the states of its parents, known or filled in.
        memory_budget, progress
            As in :meth:`posterior`.

        Raises
        ------
        ImpossibleEvidenceError, EvidenceError
            For a row that has no posterior, as :meth:`posterior` says.
        TooLargeError
            If the tables for a single row would exceed the memory budget.
        """
        from pgm.data.dataset import Dataset

        if method not in ("joint", "marginal"):
            raise EvidenceError(f"method is 'joint' or 'marginal', not {method!r}")
        (table, numbers), weights = self._table(data), data.weights if isinstance(data, Dataset) else None
        engine, everything = self._engine, range(len(self.variables))
        if method == "marginal":
            found, zero = self._posteriors(table, numbers, everything, memory_budget, progress)
            columns: Mapping[int, Any] = {number: first_of_best(found[number]) for number in everything}
        elif numbers:
            hybrid = self._hybrid(table, numbers)
            columns, zero = hybrid_rows.completions(hybrid, memory_budget=memory_budget, progress=progress)
        else:
            complete = partial(engine.row_completion, memory_budget=memory_budget)
            columns, zero = batch.completions(engine, table, complete, memory_budget=memory_budget, progress=progress)
        if zero:
            raise self._unanswered(table, numbers, zero, memory_budget)
        codes = [columns[number] for number in everything]
        return Dataset.from_codes(self.variables, codes, weights, self._filled(codes, numbers))

    def _filled(self, codes: Sequence[Any], numbers: Numbers) -> Numbers:
        """Return the continuous columns with missing cells at their mean given the states of all variables."""
        filled = {}
        for name, leaf in self._leaves.items():
            means = leaf.means[tuple(codes[self._index[parent.name]] for parent in leaf.parents)]
            known = numbers.get(name, np.full(len(codes[0]), math.nan))
            filled[name] = np.where(np.isnan(known), means, known)
        return filled

    def expected_counts(self, data: object, *, memory_budget: int = MEMORY_BUDGET) -> SufficientStatistics:
        """Return how often every state of every family is to be expected in rows with missing cells: an E step.

        N(parents, child) is the sum over rows of P(parents, child | what the row knows), times the weight of the row.
        With no cell missing that is counting. Like counts, expected ones can be added up over parts of the data, kept,
        and given to `fit_parameters`, which then is the M step.

        Parameters
        ----------
        data
            As in :meth:`posterior`. Rows may have weights.
        memory_budget
            Bytes that the tables on the way may take at once.

        Raises
        ------
        ImpossibleEvidenceError
            For a row of probability zero.
        EvidenceError
            For continuous columns: leave them out. Gaussian leaves have no counts; `fit_em` learns them.
        TooLargeError
            If the tables for a single row would exceed the memory budget.

        Notes
        -----
        Exact. Some microseconds a row, most of them to find out what the rows leave open.

        References
        ----------
        Koller and Friedman (2009), *Probabilistic Graphical Models*, section 19.2.2.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> found = asia.expected_counts({"smoke": ["yes", "yes", None], "lung": ["no", None, "yes"]})
        >>> print(found.counts("lung"))
        smoke  lung |     value
        ------------+----------
        yes    yes  |   1.00909
        yes    no   |       1.9
        no     yes  | 0.0909091
        no     no   |         0
        """
        from pgm.data.dataset import Dataset
        from pgm.data.statistics import SufficientStatistics
        from pgm.inference.expected_counts import ExpectedCounts

        check_budget(memory_budget)
        (table, numbers), weights = self._table(data), data.weights if isinstance(data, Dataset) else None
        if numbers:
            raise EvidenceError(f"{listing(numbers)}: a continuous column has no counts; leave it out")
        scopes = [tuple(self._index[name] for name in cpt.names) for cpt in self._cpts]
        step = ExpectedCounts(self.variables, scopes, table, weights, memory_budget=memory_budget)
        tables = [np.maximum(counts, 0.0) for counts in step.of([cpt.values for cpt in self._cpts]).tables]
        graph = self.dag.subgraph(list(self._index)) if self._leaves else self.dag
        total = None if weights is None else float(weights.sum())
        return SufficientStatistics(graph, self.variables, tables, table.n_rows, total)

    def predict(
        self, data: object, targets: Names | None = None, *, memory_budget: int = MEMORY_BUDGET, progress: bool = True
    ) -> Any:
        """Return the most probable state of one or several variables for every row; of equal ones (1e-11) the first.

        Data and options as in :meth:`posterior`; raises as it does.

        Returns
        -------
        list or dict of list
            Labels, one for each row, for one name; ``{name: labels}`` for several. Several are predicted each by
            itself; for the most probable joint state see :meth:`impute`.

        Examples
        --------
        >>> import pgm
        >>> asia = pgm.networks.load("asia")
        >>> asia.predict({"xray": ["yes", "no"], "smoke": ["yes", "no"]}, ["lung", "bronc"])
        {'lung': ['yes', 'no'], 'bronc': ['yes', 'no']}
        """
        found = self.posterior(data, targets, memory_budget=memory_budget, progress=progress)
        if isinstance(targets, str):
            return self._most_probable(targets, found)
        return {name: self._most_probable(name, array) for name, array in found.items()}

    def _most_probable(self, name: str, posterior: FloatArray) -> list[Label]:
        states = self.variable(name).states
        return [states[code] for code in first_of_best(posterior)]

    def _table(self, data: object) -> tuple[batch.Table, Numbers]:
        """Return the columns of the data that are variables: codes, and numbers of the continuous ones."""
        from pgm.data.dataset import Dataset
        from pgm.data.frames import chosen_columns, read_columns

        if not isinstance(data, Dataset):
            data = chosen_columns(data, self.__contains__)
        names = (*data.names, *data.continuous) if isinstance(data, Dataset) else tuple(read_columns(data))
        shared = [name for name in names if name in self._index]
        continuous = [name for name in names if name in self._leaves]
        if not shared and not continuous:
            raise DataError(f"no column of the data is a variable of the network; those are {listing(self.names)}")
        own = [self.variable(name) for name in shared]
        if isinstance(data, Dataset) and self._is_coded(data, own, continuous):
            coded = data  # the codes are those of the network already
        else:
            coded = Dataset(data, columns=[*shared, *continuous], variables=own, continuous=continuous)
        table = batch.Table({self._index[name]: coded.codes(name) for name in shared}, coded.n_rows)
        return table, {name: coded.numbers(name) for name in continuous}

    @staticmethod
    def _is_coded(data: Dataset, own: Sequence[Variable], continuous: Sequence[str]) -> bool:
        measured = set(data.continuous)
        return measured.issuperset(continuous) and all(
            variable.name not in measured and data.variable(variable.name) == variable for variable in own
        )

    def _hidden(self, table: batch.Table) -> tuple[int, ...]:
        """Return the variables that some row does not know."""
        full = {v for v, column in table.columns.items() if (column < self._engine.cardinalities[v]).all()}
        return tuple(number for number in range(len(self.variables)) if number not in full)

    def _unanswered(
        self, table: batch.Table, numbers: Numbers, rows: Sequence[int], memory_budget: int
    ) -> ImpossibleEvidenceError:
        """Return the error for rows that have no answer: of the first one, why."""
        row, count = rows[0], len(rows)
        if numbers:
            self._hybrid(table, numbers).engine(row, memory_budget)  # raises if the numbers are the reason
        known = {v: int(c[row]) for v, c in table.columns.items() if c[row] < self._engine.cardinalities[v]}
        reason = self._engine.impossible(Evidence(known, {}, 0.0), memory_budget)
        return ImpossibleEvidenceError(f"row {row}: {reason} ({count} such rows)")


def _check_impossible(impossible: str) -> None:
    if impossible not in ("raise", "nan"):
        raise EvidenceError(f"impossible is 'raise' or 'nan', not {impossible!r}")


def _tables(chunks: Any) -> Iterator[object]:
    """Return an iterator over tables; what is a single table, or none, is refused."""
    from pgm.data.dataset import Dataset

    is_one_table = isinstance(chunks, (Mapping, Dataset)) or hasattr(type(chunks), "columns")
    if is_one_table or isinstance(chunks, (str, bytes)) or not isinstance(chunks, Iterable):
        hint = "; for a single table there is posterior()" if is_one_table else ""
        raise DataError(
            f"chunks is an iterable of tables, such as a list of frames, not a {type(chunks).__name__}{hint}"
        )
    return iter(chunks)
