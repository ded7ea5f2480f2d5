"""Every chapter runs at smoke scale, and cells tagged `nbval-check-output` give the committed output.

Meanwhile it is noted which runs each page compares: at smoke scale, too, those are the book's records. And every
check of a sentence says which damage to its records it would not notice (icrlib.evidence.sentences.survived).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from chapters import Book
from icrlib import records
from icrlib.evidence.record_settings import question, seed
from icrlib.studies import lists

pytestmark = pytest.mark.process

BOOK = Book(Path(__file__).resolve().parents[2])
# How fast a machine is decides over no chapter. One of nbval's limits, 5 s for an output, is no option.
WATCHED = Path(__file__).with_name("watched.py")
COMPARED: dict[str, list[dict]] = {}  # by chapter
# Comparisons that are about fewer runs on purpose.
FEWER = {
    ("gradients/fifteen", "a − b"): "three draws, those that the objectives as released have",
}
LIMITS = ("--nbval-cell-timeout=3600", "--nbval-kernel-startup-timeout=3600")
PATIENT = "from nbval.plugin import IPyNbFile\nIPyNbFile.output_timeout = property(lambda _: 3600, lambda *_: None)\n"


def nbval(path, tmp_path):
    """Run nbval on a copy in an empty folder: a chapter must not depend on where it is run, nor write beside itself."""
    copy = tmp_path / "run" / path.name
    copy.parent.mkdir()
    shutil.copyfile(path, copy)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(PATIENT)
    env = {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")}
    env |= {"ICR_SMOKE": "1", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    env |= {"PYTHONSTARTUP": str(WATCHED), "ICR_COMPARED": str(tmp_path / "compared.jsonl")}
    env["ICR_PERTURBED"] = str(tmp_path / "perturbed.jsonl")
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the others start more slowly than many a chapter runs
    command = [sys.executable, "-m", "pytest", "-q", "-p", "nbval.plugin", "-p", "no:cacheprovider"]
    command += ["--nbval-lax", "--nbval-current-env", *LIMITS, copy.name]
    done = subprocess.run(command, cwd=copy.parent, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", BOOK.chapters())
def test_chapter_at_smoke_scale(name, tmp_path):
    path = BOOK.path(name, ".ipynb")
    before = path.read_bytes()
    code, text = nbval(path, tmp_path)
    assert code == 0, text[-6000:]
    assert path.read_bytes() == before
    COMPARED[name] = noted(tmp_path / "compared.jsonl")
    survived = {line["sentence"]: line["survives"] for line in noted(tmp_path / "perturbed.jsonl") if line["survives"]}
    assert survived == {}, "these sentences do not notice that their records were damaged"


def noted(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def faults(compared: dict[str, list[dict]], known: dict[str, set[int]]) -> list[str]:
    """Comparisons that leave out runs of the same question, and pages that say different numbers of the same pair."""
    found, said = [], {}
    for page, lines in compared.items():
        for line in lines:
            ours, other = (json.dumps(side) for side in line["sides"])
            both = known.get(ours, set()) & known.get(other, set())
            if (page, line["claim"]) in FEWER:
                continue
            if left := sorted(both - set(line["seeds"])):
                found.append(f"{page}: {line['claim']}: runs with seeds {left} answer the same question")
            turn = 1 if ours <= other else -1
            key, number = (line["measure"], *sorted((ours, other))), round(turn * line["mean"], 6)
            first = said.setdefault(key, (number, page, line["claim"]))
            if first[0] != number:
                found.append(f"{page}: {line['claim']}: {number}, and {first[1]}: {first[2]}: {first[0]}")
    return found


@pytest.mark.slow
def test_no_page_leaves_out_runs_and_no_two_say_different_things_of_a_pair():
    """All that is known is asked: of each comparison on a page, every run of the same settings and data."""
    if set(COMPARED) != set(BOOK.chapters()):
        pytest.skip("all chapters have to run before, in this process")
    known: dict[str, set[int]] = {}
    for record in records.find(study="*"):
        key = json.dumps(sorted([name, repr(value)] for name, value in question(record)))
        known.setdefault(key, set()).add(seed(record))
    chosen_on = lists("situations").CHOSEN_ON
    assert sum(map(len, COMPARED.values())) > 200
    assert faults(COMPARED, {key: seeds - chosen_on for key, seeds in known.items()}) == []


def test_a_contradiction_is_found():
    known = {json.dumps(side): {0, 1, 2, 3} for side in (["a"], ["b"])}
    line = {"claim": "a beats b", "measure": "test.rsum", "sides": [["a"], ["b"]], "mean": 1.5, "seeds": [0, 1, 2, 3]}
    turned = line | {"claim": "b beats a", "sides": [["b"], ["a"]], "mean": -1.5}
    assert faults({"one": [line], "two": [turned]}, known) == []
    (said,) = faults({"one": [line], "two": [turned | {"mean": -1.0}]}, known)
    assert "two: b beats a: 1.0, and one: a beats b: 1.5" in said
    (said,) = faults({"one": [line | {"seeds": [0, 1, 2]}]}, known)
    assert "runs with seeds [3]" in said


def notebook(path, source, output, tags=()):
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}, execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=output)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), path)
    return path


CASES = {
    "sound": (("print(1)", "1\n"), 0),
    "scale may change an untagged output": (("print(2)", "1\n"), 0),
    "a self-check that fails": (("assert 1 + 1 == 3", ""), 1),
    "a tagged output that changed": (("print(2)", "1\n", ["nbval-check-output"]), 1),
    "a tagged output that is the same": (("print(1)", "1\n", ["nbval-check-output"]), 0),
    "smoke scale is announced": (("import os; assert os.environ['ICR_SMOKE'] == '1'", ""), 0),
    "nothing is lying beside it": (
        ("import os; assert set(os.listdir()) <= {'case.ipynb'}, os.listdir()", ""),
        0,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nbval_itself(case, tmp_path):
    arguments, expected = CASES[case]
    code, text = nbval(notebook(tmp_path / "case.ipynb", *arguments), tmp_path)
    assert code == expected, text
