"""Rows of published tables as settings of a run: what was run, which is not always what was printed.

One file a paper; :mod:`icrlib.paper.experiments.rows` finds the file of a row.
"""

from icrlib.paper.experiments.rows import experiment, experiments

__all__ = ["experiment", "experiments"]
