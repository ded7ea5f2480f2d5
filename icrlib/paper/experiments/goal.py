"""What GOAL's paper says of the settings of its rows, which is too little to run a row as it was."""

from __future__ import annotations

# Of the paper's figures; which values were trained with, it does not say.
OPTIONS = {"margin": 0.2, "tau": 10.0, "alpha": 2.0, "beta": 10.0, "lam": 0.5}
