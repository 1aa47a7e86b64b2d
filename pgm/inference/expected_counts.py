"""Expected family counts: what an E step of EM computes, prepared once for a network's graph and a table of rows.

For every family, the sum over rows of the weight times P(family state | known cells), and the log-likelihood of what is
known. Three kinds of work are told apart, once, since none of it depends on the parameters:

- A family of which a row knows everything is counted there and then.
- What a row leaves open falls into parts that are independent given what it knows. Parts of few joint states are
  written down, equal ones only once (:mod:`pgm.inference.hidden_parts`).
- Rows with a part of too many joint states run through a compiled contraction, forward and backward
  (:mod:`pgm.inference.row_counts`): those with the same holes by themselves if there are many of them, the others
  together with likelihood vectors. Where the network is so large that this costs more, such a part gets a contraction
  of its own.

References
----------
Dempster, Laird and Rubin (1977), *Journal of the Royal Statistical Society* B 39, 1-38. Lauritzen (1995),
*Computational Statistics and Data Analysis* 19, 191-201. Koller and Friedman (2009), section 19.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgm.data.counts import FamilyCounter
from pgm.errors import ImpossibleEvidenceError, TooLargeError
from pgm.factors.cpt import CPT
from pgm.factors.factor import FloatArray
from pgm.factors.size import MEMORY_BUDGET
from pgm.factors.variable import Variable
from pgm.inference.evidence import Evidence
from pgm.inference.hidden_parts import Enumeration, Layout, Parts, Patterns, complete_cases, distinct_rows
from pgm.inference.row_counts import OPERATION_NS, RowCounts
from pgm.inference.row_groups import Table

if TYPE_CHECKING:
    from pgm.inference.exact import ExactInference

__all__ = ["Expectation", "ExpectedCounts"]

_FACTOR_NS = 10.0
"""Nanoseconds for each parameter looked up in an enumeration (measured)."""

_CHEAP_FACTORS = 512
"""Rows of at most so many are enumerated without asking what a contraction would cost."""

_FEW_FACTORS = 300_000
"""So many in all are enumerated since compiling a contraction takes longer."""

_PART_NS, _CELL_NS = 400_000.0, 8.0
"""Nanoseconds of a contraction for the part of one row, and more for each cell of the tables (measured); parts that
cost less are written down."""

_LEAST_LIMIT = 64
"""Parts of so many factors are written down however many there are."""

_MOST_FACTORS = 1 << 23
"""No more than these are written down (32 to 128 MB)."""

_OWN_PROGRAM_ROWS = 256
"""So many different rows with the same holes get a contraction of their own."""


class Expectation(NamedTuple):
    """What an E step finds."""

    tables: list[FloatArray]
    """Expected counts of each family, axes as the tables of the network: parents, then the child."""
    log_likelihood: float
    """Sum over rows of weight times ln P(known cells)."""


class _Block(NamedTuple):
    """Rows that run through one contraction."""

    members: NDArray[np.intp]
    """Rows in which the families that the contraction counts are not to be counted otherwise."""
    rows: NDArray[np.intp]
    """The first of each kind of equal ones."""
    weights: FloatArray
    counts: RowCounts


class ExpectedCounts:
    """Expected counts of every family, for any parameters of one graph and one table of rows.

    Parameters
    ----------
    variables
        In declared order.
    scopes
        Of each table, as variable numbers: parents, then the child; one table for each variable, in order. There may be
        further tables, of ones, over any variables: their counts are then expected as well.
    table
        The rows. Variables without a column are hidden in every row.
    weights
        One for each row, or None where each counts once. Rows of weight 0 are not looked at.
    memory_budget
        Bytes that the tables of a contraction may take.

    Raises
    ------
    TooLargeError
        If a single row would exceed the memory budget.

    Notes
    -----
    Preparation is linear in the cells; measured on ALARM with a tenth of all cells missing, it takes some 5
    microseconds a row, and an E step then less than one.

    Examples
    --------
    >>> x, y = Variable("x", ["no", "yes"]), Variable("y", ["no", "yes"])
    >>> rows = Table({0: np.array([0, 1, 1], np.uint8), 1: np.array([0, 1, 2], np.uint8)}, 3)
    >>> tables, log_likelihood = ExpectedCounts([x, y], [(0,), (0, 1)], rows).of(
    ...     [np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]])]
    ... )
    >>> tables[1].tolist(), round(log_likelihood, 4)
    ([[1.0, 0.0], [0.25, 1.75]], -2.6548)
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        scopes: Sequence[tuple[int, ...]],
        table: Table,
        weights: FloatArray | None = None,
        *,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        self._variables = tuple(variables)
        self._table = table
        self._memory_budget = memory_budget
        self._weights = np.ones(table.n_rows) if weights is None else np.asarray(weights, np.float64)
        self.layout = Layout.of([variable.cardinality for variable in variables], scopes)
        self._patterns = Patterns(self.layout, table.columns, table.n_rows)
        self._enumeration, self._blocks = self._shared_out()
        self._known = self._counted()
        """What is known of every family whatever the parameters, as one vector."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._table.n_rows

    # ------------------------------------------------------------------ preparing

    def _shared_out(self) -> tuple[Enumeration, list[_Block]]:
        """Return the parts that are written down, and the contractions for the others."""
        patterns = self._patterns
        rows = np.flatnonzero((self._weights > 0) & (patterns.cost[patterns.of_row] > 0))
        kinds = patterns.of_row[rows]
        cost = patterns.cost[kinds]
        if cost.sum() <= _FEW_FACTORS:
            return self._written(rows), []
        part_ns = _PART_NS + _CELL_NS * self.layout.offsets[-1]
        large = patterns.factors > part_ns / _FACTOR_NS
        small = np.where(large, 0, patterns.factors).sum(axis=0, dtype=np.float64)
        in_parts = small[kinds] * _FACTOR_NS + large.sum(axis=0)[kinds] * part_ns
        cheap = max(_CHEAP_FACTORS, int(self.layout.offsets[-1] * OPERATION_NS / _FACTOR_NS))
        whole, blocks = self._whole_rows(rows, cost > cheap, in_parts)
        limit = part_ns / _FACTOR_NS
        written = self._written(rows[~whole], limit)
        while written.n_factors > _MOST_FACTORS and limit > _LEAST_LIMIT:
            limit /= 4
            written = self._written(rows[~whole], limit)
        return written, [*blocks, *self._part_blocks(written.large)]

    def _whole_rows(
        self, rows: NDArray[np.intp], heavy: NDArray[np.bool_], in_parts: FloatArray
    ) -> tuple[NDArray[np.bool_], list[_Block]]:
        """Return which rows had better run through a contraction as a whole, and these contractions.

        Parameters
        ----------
        rows
            All that hide anything.
        heavy
            Which of them to consider.
        in_parts
            What each would cost if its parts are summed out one by one, in nanoseconds.
        """
        whole = np.zeros(len(rows), np.bool_)
        blocks = []
        for kinds in self._groups(rows[heavy]):
            mine = heavy & np.isin(self._patterns.of_row[rows], kinds)
            try:
                block = self._block(rows[mine], kinds)
            except TooLargeError:
                continue  # perhaps the parts are not
            worth = mine & (in_parts > block.counts.row_ns)
            if worth.any():
                whole |= worth
                blocks.append(block if np.array_equal(worth, mine) else self._block(rows[worth], kinds))
        return whole, blocks

    def _written(self, rows: NDArray[np.intp], limit: float = math.inf) -> Enumeration:
        return Enumeration(self._patterns, self._table.columns, rows, self._weights[rows], limit)

    def _part_blocks(self, parts: Parts) -> list[_Block]:
        """Return a contraction for each set of hidden variables that is a part of some rows."""
        patterns = self._patterns
        groups: dict[frozenset[int], list[int]] = {}
        for place, (row, label) in enumerate(zip(parts.rows.tolist(), parts.labels.tolist(), strict=True)):
            hidden = frozenset(np.flatnonzero(patterns.parts[:, patterns.of_row[row]] == label).tolist())
            groups.setdefault(hidden, []).append(place)
        blocks = []
        for hidden, places in groups.items():
            rows, weights = parts.rows[places], parts.weights[places]
            near = {v for scope in self.layout.scopes if not hidden.isdisjoint(scope) for v in scope} - hidden
            columns = {variable: self._table.columns[variable][rows] for variable in sorted(near)}
            counts = RowCounts(self.layout, columns, weights, hidden, frozenset(), self._memory_budget)
            blocks.append(_Block(rows[:0], rows, weights, counts))
        return blocks

    def _groups(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the patterns that share a contraction."""
        kinds, frequency = np.unique(self._patterns.of_row[rows], return_counts=True)
        often = kinds[frequency >= _OWN_PROGRAM_ROWS]
        seldom = kinds[frequency < _OWN_PROGRAM_ROWS]
        return [*often.reshape(-1, 1), *([seldom] if len(seldom) else [])]

    def _block(self, rows: NDArray[np.intp], kinds: NDArray[np.intp]) -> _Block:
        flags = self._patterns.hidden[:, kinds]
        hidden = frozenset(np.flatnonzero(flags.all(axis=1)).tolist())
        soft = frozenset(np.flatnonzero(flags.any(axis=1)).tolist()) - hidden
        columns = {v: column[rows] for v, column in self._table.columns.items() if v not in hidden}
        first, kind = distinct_rows(list(columns.values()))
        own = self._weights[rows]
        weights = np.bincount(kind, own, len(first)).astype(np.float64) if columns else own.sum(keepdims=True)
        short = {variable: column[first] for variable, column in columns.items()}
        counts = RowCounts(self.layout, short, weights, hidden, soft, self._memory_budget)
        return _Block(rows, rows[first], weights, counts)

    def _counted(self) -> FloatArray:
        """Return the counts of families that are known whole, except where a contraction counts them."""
        layout = self.layout
        columns = [
            np.array(self._table.columns[variable])
            if variable in self._table.columns
            else np.full(self.n_rows, cardinality, np.min_scalar_type(cardinality))
            for variable, cardinality in enumerate(layout.cardinalities)
        ]
        for block in self._blocks:
            for variable in block.counts.open:
                columns[variable][block.members] = layout.cardinalities[variable]
        counter = FamilyCounter(columns, [r + 1 for r in layout.cardinalities], self._weights)
        return layout.joined([complete_cases(counter, scope) for scope in layout.scopes])

    # ------------------------------------------------------------------ running

    def of(self, values: Sequence[FloatArray]) -> Expectation:
        """Return the expected counts and the log-likelihood under the tables ``values``.

        Raises
        ------
        ImpossibleEvidenceError
            If a row has probability zero; names the first such row found and what is impossible about it.
        """
        return self._expectation(values, best=False)

    def of_best(self, values: Sequence[FloatArray]) -> Expectation:
        """Return the counts of the most probable completion of each row, and the log-likelihood of the completed rows.

        Raises
        ------
        ImpossibleEvidenceError
            As :meth:`of`.
        """
        return self._expectation(values, best=True)

    def _expectation(self, values: Sequence[FloatArray], *, best: bool) -> Expectation:
        parameters = self.layout.joined(values)
        seen = np.flatnonzero(self._known > 0)
        if not parameters[seen].all():
            raise self._impossible(values, self._row_at(int(seen[parameters[seen] == 0][0])))
        total = float(self._known[seen] @ np.log(parameters[seen]))
        counts, logs = self._enumeration.expect(parameters, best=best)
        if np.isneginf(logs).any():
            raise self._impossible(values, int(self._enumeration.rows[np.isneginf(logs)].min()))
        total += float(self._enumeration.weights @ logs)
        tables = [known + more for known, more in zip(*map(self.layout.split, (self._known, counts)), strict=True)]
        for block in self._blocks:
            total += self._add_best(tables, block, values) if best else self._add(tables, block, values)
        return Expectation(tables, total)

    def _add(self, tables: list[FloatArray], block: _Block, values: Sequence[FloatArray]) -> float:
        """Add the expected counts of the rows of a block to the tables; return their part of the log-likelihood."""
        counts, logs = block.counts.expect(values)
        for table, count in counts.items():
            tables[table] += count
        doubtful = np.flatnonzero(np.isnan(logs))
        if len(doubtful):
            from pgm.inference.analysis import derivatives

            engine = self._engine(values)
            for place in doubtful.tolist():
                row, weight = int(block.rows[place]), block.weights[place]
                cells = self._filled(engine, row, block)
                found, whole = derivatives(engine, Evidence(cells, {}, 0.0), self._memory_budget)
                if whole == -math.inf:
                    raise self._impossible(values, row)
                for table in block.counts.touched:
                    own = table < len(self._variables)
                    tables[table] += weight * (
                        values[table] * found[table] if own else self._joint(engine, table, cells)
                    )
                logs[place] = whole - self._elsewhere(cells, block, values)
        return float(block.weights @ logs)

    def _filled(self, engine: ExactInference, row: int, block: _Block) -> dict[int, int]:
        """Return the known cells of a row, and a possible state for what is hidden and in no table of the block."""
        cells = self._cells(row)
        if len(cells) + len(block.counts.open.difference(cells)) < len(self._variables):
            states = engine.row_completion(cells, memory_budget=self._memory_budget) or {}
            cells = {v: code for v, code in {**states, **cells}.items() if v in cells or v not in block.counts.open}
        return cells

    def _joint(self, engine: ExactInference, table: int, cells: dict[int, int]) -> FloatArray:
        """Return P(scope of a table | known cells)."""
        names = [self._variables[variable].name for variable in self.layout.scopes[table]]
        known = {self._variables[v].name: self._variables[v].states[code] for v, code in cells.items()}
        return engine.posterior(names, known, memory_budget=self._memory_budget).values

    def _elsewhere(self, cells: dict[int, int], block: _Block, values: Sequence[FloatArray]) -> float:
        """Return ln of the product of the entries of a row in the tables which its block does not touch."""
        others = set(range(len(values))).difference(block.counts.touched)
        entries = [values[table][tuple(cells[v] for v in self.layout.scopes[table])] for table in sorted(others)]
        return math.fsum(map(math.log, entries))

    def _add_best(self, tables: list[FloatArray], block: _Block, values: Sequence[FloatArray]) -> float:
        """Do the same for the most probable completions."""
        from pgm.inference import batch

        engine = self._engine(values)

        def single(codes: dict[int, int]) -> dict[int, int] | None:
            return engine.row_completion(codes, memory_budget=self._memory_budget)

        table = self._table.take(block.rows)
        columns, impossible = batch.completions(
            engine, table, single, memory_budget=self._memory_budget, progress=False
        )
        if impossible:
            raise self._impossible(values, int(block.rows[impossible[0]]))
        layout, total = self.layout, 0.0
        for number in block.counts.touched:
            place: Any = 0
            for variable, stride in zip(layout.scopes[number], layout.strides[number], strict=True):
                place = place + stride * columns[variable].astype(np.intp)
            tables[number] += np.bincount(place, block.weights, tables[number].size).reshape(tables[number].shape)
            total += float(block.weights @ np.log(values[number].ravel()[place]))
        return total

    # ------------------------------------------------------------------ single rows

    def _cells(self, row: int) -> dict[int, int]:
        cells = {variable: int(column[row]) for variable, column in self._table.columns.items()}
        return {variable: code for variable, code in cells.items() if code < self.layout.cardinalities[variable]}

    def _engine(self, values: Sequence[FloatArray]) -> ExactInference:
        from pgm.inference.exact import ExactInference

        return ExactInference(
            [
                CPT(self._variables[scope[-1]], table, [self._variables[parent] for parent in scope[:-1]])
                for scope, table, _ in zip(self.layout.scopes, values, self._variables, strict=False)
            ]
        )

    def _row_at(self, place: int) -> int:
        """Return the first row that knows a whole family and shows its entry at a place of the parameter vector."""
        table = int(np.searchsorted(self.layout.offsets, place, side="right")) - 1
        rest = place - self.layout.offsets[table]
        matching = self._weights > 0
        for variable, stride in zip(self.layout.scopes[table], self.layout.strides[table], strict=True):
            code, rest = divmod(rest, stride)
            matching &= self._table.columns[variable] == code
        return int(np.flatnonzero(matching)[0])

    def _impossible(self, values: Sequence[FloatArray], row: int) -> ImpossibleEvidenceError:
        reason = self._engine(values).impossible(Evidence(self._cells(row), {}, 0.0))
        return ImpossibleEvidenceError(f"row {row} is impossible: {reason}")
