"""Rows of published tables as settings of a run: what was run, which is not always what was printed.

One file a paper; :mod:`icrlib.paper.experiments.rows` finds the file of a row.
"""
