"""`make bench`: its tables still run on the library as it is. Their figures are read by people, on an idle machine."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from benchmarks import timing
from benchmarks.__main__ import TABLES, main


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_each_table_runs_with_its_checks_of_equal_values(table, monkeypatch):
    monkeypatch.setattr(timing, "once", False)  # put back afterwards
    found = CliRunner().invoke(main, ["--once", "--device", "cpu", table], catch_exceptions=False)
    assert found.exit_code == 0 and " times " in found.output
