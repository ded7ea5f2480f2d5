"""One job of a grid, and the command that starts them: who waits, who tries again, what is said."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import psutil
import pytest
import yaml
from click.testing import CliRunner

import job
import reproduce
from grid import write
from icrlib.cli.runs import Killed
from icrlib.planning.missing import Plan
from icrlib.studies import Run, Study, Unfinished
from tests.killing import ROOT, gone, until


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(job, "RECORDS", tmp_path / "kept")
    record = str(tmp_path / "kept" / "a.json")
    (tmp_path / "parameters.json").write_text(json.dumps({"parameters": {"seed": 1}, "record": record}))
    return tmp_path


def ending(folder: Path, monkeypatch, status: int, said: str = "", record: bool = False) -> list[dict]:
    """The notebook ends with ``status``; what it was asked for is listed."""
    asked = []

    def execute(parameters, output, handle):
        asked.append(parameters)
        if record:
            (folder / "record.json").write_text(json.dumps({"schema": 2, "config": {}}))
        return status, said

    monkeypatch.setattr(job, "execute", execute)
    return asked


def test_a_finished_run_keeps_its_record_twice_and_never_over_another(folder, monkeypatch):
    asked = ending(folder, monkeypatch, 0, record=True)
    assert job.main(folder) == 0 and asked == [{"seed": 1, "out": str(folder)}]
    assert (folder / "kept" / "a.json").read_bytes() == (folder / "record.json").read_bytes()
    (folder / "kept" / "a.json").write_text("an older one")
    assert job.main(folder) == 0 and (folder / "kept" / "a.json").read_text() == "an older one"


def test_a_failed_run_is_not_tried_again_and_says_why(folder, monkeypatch, capsys):
    asked = ending(folder, monkeypatch, 1, "cell 5: Diverged: the loss is nan\n")
    assert job.main(folder) == 1 and "Diverged" in (folder / "failed.txt").read_text()
    assert job.main(folder) == 1 and len(asked) == 1
    assert "would fail again" in capsys.readouterr().err


@pytest.mark.parametrize("status", [job.KILLED, -9, -15])
def test_a_killed_run_may_be_tried_again(folder, monkeypatch, status):
    asked = ending(folder, monkeypatch, status)
    assert job.main(folder) == job.main(folder) == 75 and len(asked) == 2
    assert not (folder / "failed.txt").exists()


def test_a_node_without_the_data_says_so(folder, monkeypatch):
    asked = ending(folder, monkeypatch, 0)
    (folder / "parameters.json").write_text(json.dumps({"parameters": {"features": "/nowhere/f8k"}, "record": None}))
    assert job.main(folder) == 1 and not asked
    said = (folder / "failed.txt").read_text()
    assert "/nowhere/f8k is not there" in said and "FEATURES=" in said and "make reproduce" in said


def test_a_run_that_ends_without_a_whole_record_has_not_ended_well(folder, monkeypatch):
    ending(folder, monkeypatch, 0)
    with pytest.raises(FileNotFoundError):
        job.main(folder)


@pytest.mark.process
def test_a_job_waits_for_one_that_outlived_its_snakemake(folder):
    """The lock ends with its process, though that is killed."""
    script = (
        "import pathlib, signal, sys, job\nwith job.alone(pathlib.Path(sys.argv[1])):\n"
        "    pathlib.Path(sys.argv[2]).touch(); signal.pause()"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    first, second = folder / "first", folder / "second"

    def start(mark: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", script, str(folder), str(mark)], env=environment, stdout=subprocess.PIPE, text=True
        )

    outlived = start(first)
    until(first.exists, outlived)
    with outlived, start(second) as waiting:
        try:
            assert "another process is at this run" in waiting.stdout.readline()
            until(lambda: psutil.Process(waiting.pid).status() == psutil.STATUS_SLEEPING, waiting)
            assert not second.exists()
            outlived.kill()
            until(second.exists, waiting)
        finally:
            outlived.kill()
            waiting.kill()


def test_icr_says_killed_with_the_same_number():
    assert Killed.exit_code == job.KILLED == 75


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


def asked(*words: str):
    return CliRunner().invoke(reproduce.main, list(words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--given", "DATASET LOSES"), "make reproduce knows no LOSES=.*Did you mean LOSSES="),
        (("--losses", "ntxnt", "--plan"), "unknown loss 'ntxnt'.*Did you mean 'ntxent'"),
        (("--methods", "vsrnn", "--plan"), "unknown method 'vsrnn'.*Did you mean 'vsrn'"),
        (("--dataset", "coco", "--plan"), "make reproduce DATASET=coco FEATURES=FOLDER"),
        (("--seeds", "0,one"), "SEEDS=0,one: write whole numbers"),
        (("--seeds", "²"), "SEEDS=²: write whole numbers"),
        (("--seeds", "9" * 50), "write whole numbers"),
        (("--mem", "٣G"), "MEM=٣G: write MB"),
        (("--jobs", "9" * 50), "not in the range"),
        (("--keep", "../../.."), "KEEP=../../..: the name of a folder in records/studies"),
        (("--keep", "/tmp/x"), "KEEP=/tmp/x: the name of a folder"),
        (("--study", "../../.."), "unknown study '../../..'"),
        (("--dataset", "flickr8k", "--features", "nowhere", "--plan"), "FEATURES=nowhere: no such folder"),
        (("--study", "ecir", "--features", "nowhere", "--plan"), "FEATURES=nowhere: no such folder"),
        (("--photos", "nowhere", "--plan"), "PHOTOS=nowhere: no such folder"),
        (("--tuned", "2"), "TUNED= takes 0"),
        (("--profile", "slrum"), "unknown profile 'slrum'.*Did you mean 'slurm'"),
        (("--mem", "lots"), "MEM=lots: write MB, or 16G"),
        (("--mem", "0"), "MEM=0: write MB"),
        (("--runtime", "2w", "--profile", "slurm"), "RUNTIME=2w: write minutes, or 36h, or 2d"),
        (("--runtime", "2d"), "PROFILE=local runs everything here; PROFILE=slurm sends runs off"),
        (("--mem", "16G", "--profile", "gpu"), "PROFILE=gpu runs everything here"),
        (("--partition", "main"), "PROFILE=local does not send jobs there; PROFILE=slurm does"),
        (("--profile", "slurm"), "no Slurm on this machine.*PROFILE=local"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(words, message, monkeypatch):
    monkeypatch.setattr(reproduce.shutil, "which", lambda name: None)
    result = asked(*words)
    assert result.exit_code in (1, 2) and re.search(message, " ".join(result.output.split())), result.output


@pytest.mark.process
def test_a_partition_that_does_not_exist(tmp_path, monkeypatch):
    """Refused before a job is sent, with those that exist; sinfo is a stand-in."""
    (tmp_path / "sinfo").write_text("#!/bin/sh\nprintf 'main\\ngpu-long\\n'\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    said = " ".join(asked("--profile", "slurm", "--partition", "gpu-lnog").output.split())
    assert "unknown Slurm partition 'gpu-lnog'; allowed: 'main', 'gpu-long'. Did you mean 'gpu-long'?" in said
    assert "PARTITION=main" in said
    reproduce._partition("gpu-long", True, "slurm")
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    with pytest.raises(ValueError, match="Slurm does not answer: Unable to contact"):
        reproduce._partition("", True, "slurm")


def profile(name: str) -> dict:
    return yaml.safe_load((reproduce.PROFILES / name / "config.yaml").read_text(encoding="utf-8"))


def missing(**parameters) -> Plan:
    run = Run("", "scenes", "bow", "ntxent", 0, data=parameters, resolved=({"identity": "0" * 10}, {}))
    return Plan([], [(run, None)], [])


@pytest.mark.parametrize(
    ("name", "asked", "pictures", "at_once", "flags"),
    [
        ("local", {}, False, 2, ""),
        ("local", {"jobs": 4}, False, 4, "--cores 4"),
        ("local", {"jobs": 4, "threads": 2}, False, 4, "--cores 8"),
        ("local", {}, True, 1, ""),  # four threads each, two cores
        ("local", {"threads": 4}, False, 1, "--cores 4"),
        ("gpu", {}, True, 1, ""),
        ("gpu", {"jobs": 3}, False, 3, "--cores 3 --resources gpu=3"),
        ("gpu", {"jobs": 3}, True, 3, "--cores 12 --resources gpu=3"),
        ("slurm", {}, False, 20, ""),
        ("slurm", {"jobs": 7, "threads": 4}, False, 7, "--jobs 7"),
    ],
)
def test_jobs_are_runs_at_a_time_whatever_the_profile(name, asked, pictures, at_once, flags):
    found = missing(**{"images": "published"} if pictures else {})
    told = reproduce._share(profile(name), found, asked.get("jobs"), asked.get("threads"))
    assert told == (at_once, flags.split())


def test_a_profile_of_ones_own_is_not_overruled_in_silence():
    own = profile("slurm") | {"set-threads": {"train": 2}}
    assert reproduce._share(own, missing(), None, 6)[1] == ["--set-threads", "train=6"]
    with pytest.raises(ValueError, match="PROFILE=mine sets mem_mb itself; take it out there, or leave MEM="):
        reproduce._own(own, {"mem_mb": 500}, "mine", mem_mb=1000, runtime=None)
    assert reproduce._own(own, {"gpu": 1}, "mine", mem_mb=16000, runtime=None) == {"mem_mb": 16000}


@pytest.fixture
def started(tmp_path, monkeypatch):
    """``make reproduce`` of one planned run, down to the command for Snakemake, which is not started."""
    run = Run("", "scenes", "bow", "ntxent", 0, resolved=({"identity": "0" * 10}, {}))
    process = MagicMock()
    process.return_value.__enter__.return_value.wait.return_value = 0
    monkeypatch.setattr(reproduce, "planned", lambda grid, tuning: [run])
    monkeypatch.setattr(reproduce, "plan", lambda runs, place, fresh: Plan([], [(run, None)], []))
    monkeypatch.setattr(reproduce.signal, "signal", lambda *how: None)
    monkeypatch.setattr(reproduce.subprocess, "Popen", process)
    folder = tmp_path / run.folder
    folder.mkdir(parents=True)
    (folder / "failed.txt").write_text("an earlier failure")

    def start(*words: str):
        result = asked("--runs", str(tmp_path), *words)
        (command,) = process.call_args.args
        listed = next(word for word in command if word.startswith("plan=")).removeprefix("plan=")
        return result, command, json.loads(Path(listed).read_text())[run.folder]

    start.folder = folder
    return start


def test_a_dry_run_changes_nothing_and_is_no_failure(started):
    result, command, _ = started("--more=-n")
    assert result.exit_code == 0 and command[-1] == "-n" and (started.folder / "failed.txt").exists()
    assert "did not begin" not in result.output
    result, _, _ = started()
    assert result.exit_code == 1 and not (started.folder / "failed.txt").exists() and "did not begin" in result.output


def test_what_a_cluster_is_asked_for_reaches_each_run(started, tmp_path):
    """A profile of one's own, for another scheduler than Slurm."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.yaml").write_text("executor: other\njobs: 5\n")
    own = ("--profile", str(tmp_path / "mine"))
    _, command, needed = started(*own, "--mem", "16G", "--runtime", "2d", "--threads", "4", "--jobs", "3")
    assert needed == {"threads": 4, "mem_mb": 16000, "runtime": 2880, "grows": False}
    assert command[command.index("--jobs") + 1] == "3" and "--cores" not in command
    assert started(*own)[2] == {"threads": 1, "mem_mb": 8000, "runtime": 1440, "grows": True}


def test_amounts_are_read_with_their_units():
    read = reproduce.amount("MEM", {"": 1, "M": 1, "G": 1000}, "MB, or 16G")
    assert [read(None, None, text) for text in (None, "500", "500M", "16G")] == [None, 500, 500, 16000]


@pytest.mark.process
def test_a_run_ends_with_the_snakemake_that_called_it(folder):
    """kill -9 of the caller: within seconds neither the job nor what it started is there."""
    script = (
        "import job, signal, subprocess, sys, types\nreal = job.time.sleep\n"
        "job.time = types.SimpleNamespace(sleep=lambda s: (print('all well', flush=True), real(s)))\n"
        "child = subprocess.Popen(['sleep', 'infinity'], start_new_session=True)\n"
        "print(child.pid, flush=True)\njob.end_with(int(sys.argv[1]))\nsignal.pause()"
    )
    with (
        subprocess.Popen(["sleep", "infinity"]) as caller,
        subprocess.Popen(
            [sys.executable, "-c", script, str(caller.pid)],
            env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as own,
    ):
        try:
            child = psutil.Process(int(own.stdout.readline()))
            assert [own.stdout.readline() for _ in range(2)] == ["all well\n"] * 2 and child.is_running()
            caller.kill()
            assert own.wait() == job.KILLED
            until(lambda: gone(child))
            assert f"Snakemake that called this ({caller.pid}) is gone" in own.stderr.read()
        finally:
            caller.kill()
            with contextlib.suppress(psutil.NoSuchProcess, UnboundLocalError):
                child.kill()
            own.kill()


def test_tuning_that_was_not_done_is_named(monkeypatch):
    with pytest.raises(ValueError, match="nothing is tuned for vse.. with ntxent on coco.*make records STUDY=NAME"):
        reproduce.tuned_settings("coco", "vse++", "ntxent")
    with pytest.raises(ValueError, match="nothing is tuned for vsrn with ntxent on scenes"):
        reproduce.tuned_settings("scenes", "vsrn", "ntxent")
    incomplete = Unfinished("3 runs of the search are missing; make records STUDY=tuning first")
    monkeypatch.setattr(Study, "ready", MagicMock(side_effect=incomplete))
    with pytest.raises(ValueError, match="TUNED=1 for scenes rests on the search 'tuning'.*make records STUDY=tuning"):
        reproduce.tuned_settings("scenes", "vse++", "ntxent")


def test_the_report_names_what_is_left(tmp_path, capsys):
    runs = [Run("", "scenes", "bow", "ntxent", seed, resolved=({"identity": f"{seed}" * 10}, {})) for seed in range(2)]
    found = Plan([], [(run, None) for run in runs], [])
    write(found.missing, tmp_path)
    (tmp_path / runs[0].folder / "failed.txt").write_text("line\ncell 5: Diverged: nan\nAll of it: run.ipynb\n")
    assert reproduce.report(found, 0, tmp_path) == 1
    said = capsys.readouterr().out
    assert "failed    bow ntxent seed 0: cell 5: Diverged: nan" in said and "run.ipynb" in said
    assert "did not begin: bow ntxent seed 1" in said and "0 of 2 trained; the same make reproduce goes on" in said


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ("[]", "not as make reproduce writes it"),
        ("{", "not as make reproduce writes it"),
        ('{"parameters": [], "record": null}', "no names and values"),
        ('{"parameters": {}, "record": 3}', "its record is no path"),
        ('{"parameters": {}, "record": "/tmp/elsewhere.json"}', "which is no file of"),
        ('{"parameters": {}, "record": "RECORDS/../elsewhere.json"}', "which is no file of"),
        ('{"parameters": {}, "record": "RECORDS/link/elsewhere.json"}', "which is no file of"),
        ('{"parameters": {}, "record": "RECORDS/a.py"}', "which is no file of"),
    ],
)
def test_a_file_says_nothing_that_no_plan_wrote(folder, monkeypatch, capsys, about, told):
    """Above all not where a record is written."""
    runs = ending(folder, monkeypatch, 0, record=True)
    (folder / "kept").mkdir()
    (folder / "kept" / "link").symlink_to(folder)
    (folder / "parameters.json").write_text(about.replace("RECORDS", str(folder / "kept")))
    assert job.main(folder) == 1 and not runs and not (folder / "failed.txt").exists()
    said = capsys.readouterr().err
    assert said.startswith(f"{folder / 'parameters.json'}: ") and told in said and len(said.splitlines()) == 1
