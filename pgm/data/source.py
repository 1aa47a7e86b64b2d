"""`CountSource`: the seam between learning and data.

Learning asks data for counts and nothing else. So data may live anywhere, as long as something answers these few
questions; a `Dataset` does for data in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self, runtime_checkable

from pgm.data.checks import chosen_columns
from pgm.data.counts import CountTable, Family
from pgm.data.dataset import Dataset
from pgm.factors.factor import Names
from pgm.factors.variable import Variable

__all__ = ["CountSource", "count_source"]


@runtime_checkable
class CountSource(Protocol):
    """What learning may ask of data: all of `pgm.learning` goes through these names.

    `Dataset` is the implementation for data in memory. Counts are additive over rows, so a frame that lives in
    partitions can implement the same names by adding up the counts of its partitions.
    """

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in column order."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def total_weight(self) -> float:
        """Sum of the row weights, the sample size N of every score."""

    def count(self, families: Iterable[Family]) -> list[CountTable]:
        """Return N(parents, child) of each family, shape ``(*parent cardinalities, child cardinality)``."""

    def count_extensions(self, child: str, parents: Sequence[str]) -> CountTable:
        """Return N(parents, child, v) for every variable v, side by side on the last axis."""

    def chunks(self, size: int) -> Iterator[Self]:
        """Iterate over consecutive rows, ``size`` at a time."""


def count_source(data: object, columns: Names | None = None) -> CountSource:
    """Return what learning reads from: ``data`` itself if it can count, else a `Dataset` of it.

    Parameters
    ----------
    data
        Whatever the user has.
    columns
        The columns that will be needed; others of a frame are then not even looked at. Default: all.

    Raises
    ------
    UnknownNameError
        If one of ``columns`` does not exist.
    """
    if not isinstance(data, CountSource):
        return Dataset(data, columns=columns)
    chosen_columns(columns, [variable.name for variable in data.variables])
    return data
