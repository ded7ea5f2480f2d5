"""The test on a real Slurm (`make test-slurm`): where it must not begin, and what it removes. No Slurm is started."""

from __future__ import annotations

import pytest

import slurm_on_loopback as script


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine that has Slurm's programs and does not use them; its configuration would be in ``tmp_path``."""
    monkeypatch.setattr(script, "CONF", tmp_path / "slurm.conf")
    monkeypatch.setattr(script.os, "geteuid", lambda: 0)
    monkeypatch.setattr(script.shutil, "which", lambda program: program)
    monkeypatch.setattr(script.socket.socket, "connect_ex", lambda self, place: 111)
    return tmp_path


def test_it_begins_only_where_nobody_has_a_slurm(machine, monkeypatch):
    script.refuse()
    for text, word in (("ClusterName=theirs\n", "nothing was done"), (script.MARK, "--stop")):
        script.CONF.write_text(text)
        with pytest.raises(script.Refused, match=word):
            script.refuse()
    script.CONF.unlink()
    monkeypatch.setattr(script.socket.socket, "connect_ex", lambda self, place: 0)
    with pytest.raises(script.Refused, match="listens"):
        script.refuse()


def test_what_a_killed_test_left_is_known_from_others(machine, monkeypatch):
    """It may be stopped; a foreign configuration stays where it is."""
    script.CONF.write_text(script.TEMPLATE.read_text().replace("/RUNDIR", "/tmp/left"))
    assert str(script.leftover()) == "/tmp/left"
    script.CONF.write_text("ClusterName=theirs\n")
    with pytest.raises(script.Refused, match="nothing of this test"):
        script.leftover()
    monkeypatch.setattr(script.subprocess, "run", lambda *command, **kw: None)
    (machine / "run").mkdir()
    script.stop(machine / "run")
    assert script.CONF.exists() and not (machine / "run").exists()
