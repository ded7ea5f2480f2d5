"""The test on a real Slurm (`make test-slurm`): where it must not begin, and what it then says. No Slurm is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import slurm_on_loopback as script


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing of Slurm on it, whose configuration would be in ``tmp_path``."""
    monkeypatch.setattr(script, "CONF", tmp_path / "slurm.conf")
    monkeypatch.setattr(script, "OTHERS", (tmp_path / "old.conf",))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr(script.socket.socket, "connect_ex", lambda self, place: 111)
    return tmp_path


def test_it_refuses_where_a_slurm_is_configured(machine, monkeypatch):
    script.refuse()
    for path in (machine / "slurm.conf", machine / "old.conf", machine / "elsewhere.conf"):
        path.write_text("ClusterName=theirs\n")
        if path.name == "elsewhere.conf":
            monkeypatch.setenv("SLURM_CONF", str(path))
        with pytest.raises(script.Refused, match=f"{re.escape(str(path))} exists.*Nothing was done"):
            script.refuse()
        path.unlink()
    monkeypatch.delenv("SLURM_CONF")
    monkeypatch.setattr(script.socket.socket, "connect_ex", lambda self, place: 0)
    with pytest.raises(script.Refused, match="listens on 127.0.0.1:6817"):
        script.refuse()


def test_what_a_killed_test_left_is_known_from_others(machine):
    conf = machine / "slurm.conf"
    conf.write_text(script.TEMPLATE.read_text().replace("/RUNDIR", "/tmp/left"))
    with pytest.raises(script.Refused, match="--stop removes it"):
        script.refuse()
    assert str(script.leftover()) == "/tmp/left"
    conf.write_text("ClusterName=theirs\n")
    with pytest.raises(script.Refused, match="nothing of this test to stop"):
        script.leftover()


def test_stopping_leaves_a_foreign_configuration(machine, monkeypatch):
    monkeypatch.setattr(script, "told", lambda *command: "")
    monkeypatch.setattr(script.subprocess, "run", lambda *command, **kw: None)
    (machine / "slurm.conf").write_text("ClusterName=theirs\n")
    (machine / "run").mkdir()
    script.stop(machine / "run")
    assert (machine / "slurm.conf").exists() and not (machine / "run").exists()


@pytest.mark.process
def test_only_a_process_of_that_name_is_ended(tmp_path):
    """A number in an old file may be somebody else's by now."""
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as other:
        (tmp_path / "slurmd.pid").write_text(str(other.pid))
        script.end(tmp_path / "slurmd.pid", "slurmd")
        assert other.poll() is None
        other.kill()
    script.end(tmp_path / "none.pid", "slurmd")


def test_packages_are_installed_only_when_that_was_said(monkeypatch):
    asked = []
    monkeypatch.setattr(script.shutil, "which", lambda name: None)
    monkeypatch.setattr(script.subprocess, "run", lambda command, **kw: asked.append(command))
    with pytest.raises(script.Refused, match="apt-get install .*slurmctld slurmd slurm-client munge.*INSTALL=1"):
        script.install(False)
    assert not asked


def test_it_listens_on_this_machine_only():
    text = script.TEMPLATE.read_text()
    assert "SlurmctldHost=localhost(127.0.0.1)" in text and "NodeAddr=127.0.0.1" in text
    assert "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" in text


def test_elsewhere_it_says_why_it_is_skipped(monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(script.shutil, "which", lambda name: "/usr/bin/" + name)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "argv", ["slurm_on_loopback.py"])
    assert script.main() == 0 and "skipped, for it needs root" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["slurm_on_loopback.py", "--check"])
    assert script.main() == 1
    monkeypatch.setattr(script.shutil, "which", lambda name: None)
    assert script.main() == 1 and "it needs Debian or Ubuntu" in capsys.readouterr().out
