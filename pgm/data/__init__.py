"""Data sets of discrete observations, and the counting of what occurs in them."""

from pgm.data.counts import CountTable
from pgm.data.csv_file import read_csv
from pgm.data.dataset import Dataset
from pgm.data.source import CountSource, count_source

__all__ = ["CountSource", "CountTable", "Dataset", "count_source", "read_csv"]
