"""The study of stamped scenes: what its runs differ in."""

import icrlib
from icrlib.studies import studies


def test_the_list_differs_in_the_objective_alone():
    runs = studies["ltd_stamps"].runs()
    assert len(runs) == 4 * 3 * 2 and {run.method for run in runs} == {"ltd"} and {run.seed for run in runs} == {0, 1}
    assert {run.settings["tau"] for run in runs} == {0.1}
    assert [run.data["bits"] for run in runs[:12]] == [0] * 4 + [4] * 4 + [2] * 4
    data = icrlib.load_dataset("stamps", seed=0, bits=2, smoke=True, progress=False)
    assert data.name == "stamps" and "stamped" in data.test.others
