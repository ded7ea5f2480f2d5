"""The test on a real Slurm (`make test-slurm`): where it must not begin, and what it then says. No Slurm is started."""

from __future__ import annotations

import re

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


def test_it_refuses_where_a_slurm_is_configured_or_listens(machine, monkeypatch):
    script.refuse()
    for path in (machine / "slurm.conf", machine / "old.conf"):
        path.write_text("ClusterName=theirs\n")
        with pytest.raises(script.Refused, match=f"{re.escape(str(path))} exists"):
            script.refuse()
        path.unlink()
    monkeypatch.setattr(script.socket.socket, "connect_ex", lambda self, place: 0)
    with pytest.raises(script.Refused, match="listens"):
        script.refuse()


def test_what_a_killed_test_left_is_known_from_others(machine, monkeypatch):
    """It may be stopped; a foreign configuration stays where it is."""
    conf = machine / "slurm.conf"
    conf.write_text(script.TEMPLATE.read_text().replace("/RUNDIR", "/tmp/left"))
    with pytest.raises(script.Refused, match="--stop"):
        script.refuse()
    assert str(script.leftover()) == "/tmp/left"
    conf.write_text("ClusterName=theirs\n")
    with pytest.raises(script.Refused, match="nothing of this test"):
        script.leftover()
    monkeypatch.setattr(script, "told", lambda *command: "")
    monkeypatch.setattr(script.subprocess, "run", lambda *command, **kw: None)
    (machine / "run").mkdir()
    script.stop(machine / "run")
    assert conf.exists() and not (machine / "run").exists()
