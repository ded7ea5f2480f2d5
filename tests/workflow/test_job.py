"""One job of a grid, and the command that starts them: who waits, who tries again, what is said."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import yaml
from click.testing import CliRunner

import job
import reproduce
from grid import Plan
from icrlib.cli.runs import Killed
from icrlib.studies import Run
from tests.killing import until


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(job, "RECORDS", tmp_path / "kept")
    record = str(tmp_path / "kept" / "a.json")
    (tmp_path / "parameters.json").write_text(json.dumps({"parameters": {"seed": 1}, "record": record}))
    return tmp_path


def ending(folder: Path, monkeypatch, status: int, text: str = "", record: bool = False) -> list[dict]:
    """The notebook ends with ``status``; what it was started with is listed."""
    runs = []

    def execute(parameters, output, handle):
        runs.append(parameters)
        if record:
            (folder / "record.json").write_text(json.dumps({"schema": 2, "config": {}}))
        return status, text

    monkeypatch.setattr(job, "execute", execute)
    return runs


def test_a_finished_run_keeps_its_record_twice_and_never_over_another(folder, monkeypatch):
    runs = ending(folder, monkeypatch, 0, record=True)
    assert job.main(folder) == 0 and runs == [{"seed": 1, "out": str(folder)}]
    assert (folder / "kept" / "a.json").read_bytes() == (folder / "record.json").read_bytes()
    (folder / "kept" / "a.json").write_text("an older one")
    assert job.main(folder) == 0 and (folder / "kept" / "a.json").read_text() == "an older one"
    (folder / "record.json").unlink()
    ending(folder, monkeypatch, 0)
    with pytest.raises(FileNotFoundError):  # without a whole record it has not ended well
        job.main(folder)


def test_a_failed_run_is_not_tried_again_and_says_why(folder, monkeypatch, capsys):
    runs = ending(folder, monkeypatch, 1, "cell 5: Diverged: the loss is nan\n")
    assert job.main(folder) == job.main(folder) == 1 and len(runs) == 1
    assert "Diverged" in (folder / "failed.txt").read_text() and "Diverged" in capsys.readouterr().err
    (folder / "failed.txt").unlink()  # a machine without the data says so
    (folder / "parameters.json").write_text(json.dumps({"parameters": {"features": "/nowhere/f8k"}, "record": None}))
    assert job.main(folder) == 1 and len(runs) == 1 and "/nowhere/f8k" in (folder / "failed.txt").read_text()


@pytest.mark.parametrize("status", [Killed.exit_code, -9, -15])
def test_a_killed_run_may_be_tried_again(folder, monkeypatch, status):
    runs = ending(folder, monkeypatch, status)
    assert job.main(folder) == job.main(folder) == 75 and len(runs) == 2
    assert not (folder / "failed.txt").exists()


def test_a_job_waits_for_one_that_outlived_its_snakemake(folder, capsys):
    entered = threading.Event()

    def second():
        with job.alone(folder):
            entered.set()

    waiting = threading.Thread(target=second)
    with job.alone(folder):
        waiting.start()
        until(lambda: "another process is at this run" in capsys.readouterr().out)
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()


def test_the_command_of_a_job_is_what_a_reader_types(tmp_path, monkeypatch):
    started = MagicMock()
    running = started.return_value.__enter__.return_value
    running.returncode, running.stdout = 0, iter(["executed\n"])
    monkeypatch.setattr(subprocess, "Popen", started)
    given = {"loss": "goal:cir x lin", "lr": 0.003, "regions": True, "out": "here"}
    assert job.execute(given, tmp_path / "run.ipynb", 7) == (0, "executed\n")
    (command,) = started.call_args.args
    assert command[1:4] == ["-m", "icrlib", "run"] and started.call_args.kwargs["pass_fds"] == (7,)
    words = ["-p", "loss=goal:cir x lin", "-p", "lr=0.003", "-p", "regions=true", "-p", "out=here"]
    assert command[6:] == ["--force", *words]  # the run's folder is its own


def invoke(*words: str):
    return CliRunner().invoke(reproduce.main, list(words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--given", "DATASET LOSES"), "Did you mean LOSSES="),
        (("--losses", "ntxnt", "--plan"), "Did you mean 'ntxent'"),
        (("--seeds", "0,one"), "SEEDS=0,one"),
        (("--keep", "../../.."), "KEEP="),
        (("--study", "../../.."), "unknown study"),
        (("--study", "ecir", "--features", "nowhere", "--plan"), "FEATURES=nowhere"),
        (("--profile", "slrum"), "Did you mean 'slurm'"),
        (("--runtime", "2w", "--profile", "slurm"), "RUNTIME=2w"),
        (("--mem", "16G", "--profile", "gpu"), "PROFILE=gpu"),
        (("--profile", "slurm"), "no Slurm on this machine"),
        (
            ("--methods", "vsrn", "--losses", "ntxent", "--tuned", "1", "--seeds", "0", "--plan"),
            "vsrn with ntxent on scenes",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(words, message, monkeypatch):
    monkeypatch.setattr(reproduce.shutil, "which", lambda name: None)
    result = invoke(*words)
    assert result.exit_code in (1, 2) and message in " ".join(result.output.split()), result.output


@pytest.mark.parametrize(
    ("name", "given", "images", "flags"),
    [
        ("local", {"jobs": 4, "threads": 2}, "cached", "--cores 8"),
        ("local", {}, "published", ""),  # four threads each, two cores
        ("gpu", {"jobs": 3}, "published", "--cores 12 --resources gpu=3"),
        ("slurm", {"jobs": 7, "threads": 4}, "cached", "--jobs 7"),
    ],
)
def test_jobs_are_runs_at_a_time_whatever_the_profile(name, given, images, flags):
    run = Run("", "scenes", "bow", "ntxent", 0, data={"images": images}, resolved={"identity": "0" * 10})
    about = yaml.safe_load((reproduce.PROFILES / name / "config.yaml").read_text(encoding="utf-8"))
    actual = reproduce._share(about, Plan([], [run], []), given.get("jobs"), given.get("threads"))
    assert actual == flags.split()


@pytest.fixture
def started(tmp_path, monkeypatch):
    """``make reproduce`` of one planned run, down to the command for Snakemake, which is not started."""
    run = Run("", "scenes", "bow", "ntxent", 0, resolved={"identity": "0" * 10})
    process = MagicMock()
    process.return_value.__enter__.return_value.wait.return_value = 0
    monkeypatch.setattr(reproduce, "planned", lambda grid, tuning: [run])
    monkeypatch.setattr(reproduce, "plan", lambda runs, place, fresh: Plan([], [run], []))
    monkeypatch.setattr(reproduce.signal, "signal", lambda *how: None)
    monkeypatch.setattr(reproduce.subprocess, "Popen", process)

    def start(*words: str):
        result = invoke("--runs", str(tmp_path), *words)
        (command,) = process.call_args.args
        listed = next(word for word in command if word.startswith("plan=")).removeprefix("plan=")
        return result, command, json.loads(Path(listed).read_text())[run.folder]

    start.mark = tmp_path / run.folder / "failed.txt"
    start.mark.parent.mkdir(parents=True)
    start.mark.write_text("an earlier failure")
    return start


def test_a_dry_run_changes_nothing_and_the_report_names_what_is_left(started, tmp_path):
    result, command, _ = started("--more=-n")
    assert result.exit_code == 0 and command[-1] == "-n" and started.mark.exists()
    result, _, _ = started()
    assert result.exit_code == 1 and not started.mark.exists()
    assert "did not begin: bow ntxent seed 0" in result.output and "0 of 1 trained" in result.output


def test_what_a_cluster_is_asked_for_reaches_each_run(started, tmp_path):
    """A profile of one's own, for another scheduler than Slurm; what it sets itself is not overruled in silence."""
    (tmp_path / "mine").mkdir()
    config = tmp_path / "mine" / "config.yaml"
    config.write_text("executor: other\njobs: 5\n")
    own = ("--profile", str(tmp_path / "mine"))
    _, command, needed = started(*own, "--mem", "16G", "--runtime", "2d", "--threads", "4", "--jobs", "3")
    assert needed == {"threads": 4, "mem_mb": 16000, "runtime": 2880, "grows": False}
    assert command[command.index("--jobs") + 1] == "3" and "--cores" not in command
    assert started(*own)[2] == {"threads": 1, "mem_mb": 8000, "runtime": 1440, "grows": True}
    config.write_text("executor: other\nset-threads: {train: 2}\nset-resources: {train: {mem_mb: 500}}\n")
    assert "train=6" in started(*own, "--threads", "6")[1]
    assert "mem_mb" in started(*own, "--mem", "500")[0].output


@pytest.mark.parametrize("record", [3, "/tmp/elsewhere.json", "{kept}/link/elsewhere.json", "{kept}/a.py"])
def test_a_file_says_nothing_that_no_plan_wrote(folder, monkeypatch, capsys, record):
    """Above all not where a record is written; one line names the file."""
    runs = ending(folder, monkeypatch, 0, record=True)
    (folder / "kept").mkdir()
    (folder / "kept" / "link").symlink_to(folder)
    place = record.format(kept=folder / "kept") if isinstance(record, str) else record
    (folder / "parameters.json").write_text(json.dumps({"parameters": {}, "record": place}))
    assert job.main(folder) == 1 and not runs and not (folder / "failed.txt").exists()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{folder / 'parameters.json'}: ")
