"""Linear programs that are solved again and again: rows come and go, columns are fixed, and each solve starts warm.

The work is done by HiGHS: through its own package ``highspy`` where that is installed, else through the object that
SciPy carries inside, else through SciPy's public ``linprog``, which cannot start warm and so takes several times as
long in all. All three take the dual simplex method on one thread and give the same optimum up to rounding; which
optimal solution they give may differ.

References
----------
Huangfu and Hall (2018), *Mathematical Programming Computation* 10, 119-142 (HiGHS).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearProgram", "LinearSolution"]

_ENGINES = (("highspy._core", "_Highs"), ("scipy.optimize._highspy._core", "_Highs"))
"""Where a HiGHS object may be found: module and class, best first."""

_DUAL_TOLERANCE = 1e-9
"""How wrong a reduced cost may be; smaller than usual, since bounds are made of the duals."""


class LinearSolution(NamedTuple):
    """An optimal solution, as far as the solver's tolerances go."""

    primal: NDArray[np.float64]
    """Values of the columns."""
    duals: NDArray[np.float64]
    """Price of each row: how much the optimum falls when its upper bound grows by one."""
    objective: float
    """The optimum."""


class LinearProgram:
    """Minimise costs . x subject to lower <= A x <= upper, row by row, and 0 <= x <= limits.

    Parameters
    ----------
    costs
        One for each column.
    limits
        Upper bounds of the columns.

    Examples
    --------
    >>> program = LinearProgram(np.array([-2.0, -1.0]), np.ones(2))
    >>> program.add_rows(np.array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.0]))
    >>> program.solve().objective
    -2.0
    """

    def __init__(self, costs: NDArray[np.float64], limits: NDArray[np.float64]) -> None:
        found = _find_engine(_ENGINES)
        self._engine: _Warm | _Cold = _Cold(costs, limits) if found is None else _Warm(found, costs, limits)
        self.n_rows = 0
        """Number of rows."""

    def add_rows(self, rows: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        """Add rows, shape (new rows, columns), with their bounds."""
        if len(rows):
            self._engine.add_rows(rows, lower, upper)
            self.n_rows += len(rows)

    def keep_rows(self, keep: NDArray[np.bool_]) -> None:
        """Delete all other rows."""
        self._engine.keep_rows(keep)
        self.n_rows = int(keep.sum())

    def keep_columns(self, keep: NDArray[np.bool_]) -> None:
        """Delete all other columns."""
        self._engine.keep_columns(keep)

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        """Set the upper bounds of all columns."""
        self._engine.set_limits(limits)

    def solve(self) -> LinearSolution | None:
        """Return an optimal solution, or None if the solver finds none."""
        return self._engine.solve()


@cache
def _find_engine(places: tuple[tuple[str, str], ...]) -> tuple[Any, Any] | None:
    """Return the module and the class of a HiGHS object that keeps its basis, or None."""
    for module_name, class_name in places:
        try:
            module = import_module(module_name)
            return module, getattr(module, class_name)
        except (ImportError, AttributeError):  # not installed, or moved: both places are private
            continue
    return None


class _Warm:
    """A HiGHS object, which starts from the basis it ended with."""

    def __init__(self, engine: tuple[Any, Any], costs: NDArray[np.float64], limits: NDArray[np.float64]) -> None:
        self._module, make = engine
        self._highs = make()
        self._n_columns = len(costs)
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("simplex_strategy", 1),  # dual, serial: the same steps each time
            ("parallel", "off"),
            ("dual_feasibility_tolerance", _DUAL_TOLERANCE),
        ):
            self._highs.setOptionValue(option, value)
        nothing = np.zeros(len(costs), np.int32)
        self._highs.addCols(
            len(costs), costs, np.zeros(len(costs)), limits, 0, nothing, np.empty(0, np.int32), np.empty(0)
        )

    def add_rows(self, rows: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        which, columns = np.nonzero(rows)
        starts = np.searchsorted(which, np.arange(len(rows))).astype(np.int32)
        self._highs.addRows(
            len(rows), lower, upper, len(columns), starts, columns.astype(np.int32), rows[which, columns]
        )

    def keep_rows(self, keep: NDArray[np.bool_]) -> None:
        basis = self._highs.getBasis()
        status = [state for state, kept in zip(basis.row_status, keep, strict=True) if kept]
        self._delete(self._highs.deleteRows, keep)
        self._restore(list(basis.col_status), status)

    def keep_columns(self, keep: NDArray[np.bool_]) -> None:
        basis = self._highs.getBasis()
        status = [state for state, kept in zip(basis.col_status, keep, strict=True) if kept]
        self._delete(self._highs.deleteCols, keep)
        self._n_columns = int(keep.sum())
        self._restore(status, list(basis.row_status))

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        columns = np.arange(self._n_columns, dtype=np.int32)
        self._highs.changeColsBounds(self._n_columns, columns, np.zeros(self._n_columns), limits)

    def solve(self) -> LinearSolution | None:
        self._highs.run()
        if self._highs.getModelStatus() != self._module.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        objective = float(self._highs.getInfo().objective_function_value)
        return LinearSolution(np.array(solution.col_value), -np.array(solution.row_dual), objective)

    @staticmethod
    def _delete(delete: Any, keep: NDArray[np.bool_]) -> None:
        gone = np.flatnonzero(~keep).astype(np.int32)
        if len(gone):
            delete(len(gone), gone)

    def _restore(self, columns: list[Any], rows: list[Any]) -> None:
        """Go on from a basis, if what was deleted left one."""
        basic = self._module.HighsBasisStatus.kBasic
        if sum(state == basic for state in columns) + sum(state == basic for state in rows) != len(rows):
            return
        basis = self._module.HighsBasis()
        basis.col_status, basis.row_status = columns, rows
        basis.valid = True
        self._highs.setBasis(basis)


class _Cold:
    """SciPy's public interface to HiGHS, which starts afresh each time."""

    def __init__(self, costs: NDArray[np.float64], limits: NDArray[np.float64]) -> None:
        self._costs, self._limits = costs, limits
        self._rows = np.empty((0, len(costs)))
        self._lower, self._upper = np.empty(0), np.empty(0)

    def add_rows(self, rows: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
        self._rows = np.concatenate([self._rows, rows])
        self._lower, self._upper = np.concatenate([self._lower, lower]), np.concatenate([self._upper, upper])

    def keep_rows(self, keep: NDArray[np.bool_]) -> None:
        self._rows, self._lower, self._upper = self._rows[keep], self._lower[keep], self._upper[keep]

    def keep_columns(self, keep: NDArray[np.bool_]) -> None:
        self._costs, self._limits, self._rows = self._costs[keep], self._limits[keep], self._rows[:, keep]

    def set_limits(self, limits: NDArray[np.float64]) -> None:
        self._limits = limits

    def solve(self) -> LinearSolution | None:
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        equal = self._lower == self._upper
        found = linprog(
            self._costs,
            A_ub=csr_array(self._rows[~equal]),
            b_ub=self._upper[~equal],
            A_eq=csr_array(self._rows[equal]),
            b_eq=self._upper[equal],
            bounds=np.column_stack([np.zeros(len(self._costs)), self._limits]),
            method="highs-ds",
            options={"dual_feasibility_tolerance": _DUAL_TOLERANCE},
        )
        if found.status != 0:
            return None
        duals = np.empty(len(self._rows))
        duals[equal], duals[~equal] = -found.eqlin.marginals, -found.ineqlin.marginals
        return LinearSolution(found.x, duals, float(found.fun))
