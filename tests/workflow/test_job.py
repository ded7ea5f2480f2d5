"""One job of a grid, and the command that starts them: who waits, who tries again, what is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import job
import reproduce
from grid import Planned, plan

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "parameters.json").write_text(json.dumps({"parameters": {"seed": 1}, "record": str(tmp_path / "kept")}))
    return tmp_path


def ending(folder: Path, monkeypatch, status: int, said: str = "", record: bool = False) -> list[dict]:
    """The notebook ends with ``status``; what it was asked for is listed."""
    asked = []

    def execute(parameters, output, handle):
        asked.append(parameters)
        if record:
            (folder / "record.json").write_text(json.dumps({"schema": 2, "config": {}, "sources": {}}))
        return status, said

    monkeypatch.setattr(job, "execute", execute)
    return asked


def test_a_finished_run_keeps_its_record_twice_and_never_over_another(folder, monkeypatch):
    asked = ending(folder, monkeypatch, 0, record=True)
    assert job.main(folder) == 0 and asked == [{"seed": 1, "out": str(folder)}]
    assert (folder / "kept").read_bytes() == (folder / "record.json").read_bytes()
    (folder / "kept").write_text("an older one")
    assert job.main(folder) == 0 and (folder / "kept").read_text() == "an older one"


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


def test_a_job_waits_for_one_that_outlived_its_snakemake(folder):
    """The lock ends with its process, though that is killed."""
    script = ("import pathlib, sys, time, job\nwith job.alone(pathlib.Path(sys.argv[1])):\n"
              "    pathlib.Path(sys.argv[2]).touch(); time.sleep(600)")  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    first, second = folder / "first", folder / "second"

    def start(mark: Path) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", script, str(folder), str(mark)], env=environment,
                                stdout=subprocess.PIPE, text=True)  # fmt: skip

    def wait(mark: Path) -> None:
        for _ in range(600):
            if mark.exists():
                return
            time.sleep(0.1)
        raise AssertionError(f"{mark.name} did not get in")

    outlived = start(first)
    wait(first)
    with outlived, start(second) as waiting:
        try:
            assert "another process is at this run" in waiting.stdout.readline()
            time.sleep(1)
            assert not second.exists()
            outlived.kill()
            wait(second)
        finally:
            outlived.kill()
            waiting.kill()


def test_icr_says_killed_with_the_same_number():
    from icrlib.cli.runs import Killed

    assert Killed.exit_code == job.KILLED == 75


def test_the_command_of_a_job_is_what_a_reader_types(tmp_path, monkeypatch):
    seen = {}

    class Popen:
        returncode, stdout = 0, iter(["executed\n"])

        def __init__(self, command, **kw):
            seen.update(kw, command=command)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    monkeypatch.setattr(subprocess, "Popen", Popen)
    given = {"loss": "goal:cir x lin", "lr": 0.003, "regions": True, "out": "here"}
    assert job.execute(given, tmp_path / "run.ipynb", 7) == (0, "executed\n")
    assert seen["command"][1:4] == ["-m", "icrlib", "run"] and seen["pass_fds"] == (7,)
    words = ["-p", "loss=goal:cir x lin", "-p", "lr=0.003", "-p", "regions=true", "-p", "out=here"]
    assert seen["command"][6:] == words


def asked(*words: str):
    return CliRunner().invoke(reproduce.main, list(words))


@pytest.mark.parametrize(("words", "message"), [
    (("--given", "DATASET LOSES"), "make reproduce knows no LOSES=.*Did you mean LOSSES="),
    (("--losses", "ntxnt", "--plan"), "unknown loss 'ntxnt'.*Did you mean 'ntxent'"),
    (("--methods", "vsrnn", "--plan"), "unknown method 'vsrnn'.*Did you mean 'vsrn'"),
    (("--dataset", "coco", "--plan"), "make reproduce DATASET=coco FEATURES=FOLDER"),
    (("--seeds", "0,one"), "SEEDS=0,one: write whole numbers"),
    (("--tuned", "2"), "TUNED= takes 0"),
    (("--profile", "slrum"), "unknown profile 'slrum'.*Did you mean 'slurm'"),
    (("--partition", "main"), "PROFILE=local does not send jobs there; PROFILE=slurm does"),
    (("--profile", "slurm"), "no Slurm on this machine.*PROFILE=local"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_the_way_out(words, message, monkeypatch):
    import re

    monkeypatch.setattr(reproduce.shutil, "which", lambda name: None)
    result = asked(*words)
    assert result.exit_code == 2 and re.search(message, " ".join(result.output.split())), result.output


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


def test_tuning_that_was_not_done_is_named(monkeypatch):
    with pytest.raises(ValueError, match="nothing is tuned for vse.. with ntxent on coco.*make records STUDY=NAME"):
        reproduce.tuned_settings("coco", "vse++", "ntxent")
    with pytest.raises(ValueError, match="nothing is tuned for vsrn with ntxent on scenes"):
        reproduce.tuned_settings("scenes", "vsrn", "ntxent")
    import click

    import studies

    def incomplete(study):
        raise click.ClickException("3 runs of the search are missing; make records STUDY=tuning first")

    monkeypatch.setattr(studies, "complete", incomplete)
    with pytest.raises(ValueError, match="TUNED=1 for scenes rests on the search 'tuning'.*make records STUDY=tuning"):
        reproduce.tuned_settings("scenes", "vse++", "ntxent")


def test_the_report_names_what_is_left(tmp_path, capsys):
    runs = [Planned("scenes", "bow", "ntxent", seed, False, f"{seed}" * 10, {}, 10, 8) for seed in range(2)]
    found = plan(runs, True, tmp_path, [])
    found.write(folder=tmp_path)
    (tmp_path / runs[0].folder / "failed.txt").write_text("line\ncell 5: Diverged: nan\nAll of it: run.ipynb\n")
    assert reproduce.report(found, 0, tmp_path) == 1
    said = capsys.readouterr().out
    assert "failed    bow ntxent seed 0: cell 5: Diverged: nan" in said and "run.ipynb" in said
    assert "did not begin: bow ntxent seed 1" in said and "0 of 2 trained; the same make reproduce goes on" in said


def test_make_hands_every_variable_on():
    """Each name that reproduce.py takes for one of make's is one of its options, and the other way round."""
    names = {name: f"x{k}" for k, name in enumerate(reproduce.MAKE)}
    given = [f"{name}={value}" for name, value in names.items()]
    said = subprocess.run(["make", "-n", "-o", ".venv/.installed", "reproduce", *given], cwd=ROOT, text=True,
                          capture_output=True).stdout.replace("\\\n", " ")  # fmt: skip
    line = next(line for line in said.splitlines() if "workflow/reproduce.py" in line)
    switches = ("SMOKE", "FRESH", "PLAN")
    for name, value in names.items():
        option = f"--{name.lower()}"
        assert (option in line.split()) if name in switches else (value in line and option in line), name
    told = line.rpartition("--given '")[2].rstrip("'").split()
    assert set(told) == set(names)
    options = {option for parameter in reproduce.main.params for option in parameter.opts}
    assert options == {f"--{name.lower()}" for name in names} | {"--given", "--runs"}
