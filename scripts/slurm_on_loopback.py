"""A real Slurm of one node on this machine's loopback, for as long as one test takes: what ``make test-slurm`` calls.

A page gets the two runs that it lacks by ``icr train PAGE --profile``, with the profile that clusters use. It needs
root and Debian's packages, and refuses where a Slurm is configured already. All listens on 127.0.0.1 only, and what
was started is stopped afterwards, also after a failure, an interrupt or a timeout; after kill -9, ``--stop`` does it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONF = Path("/etc/slurm/slurm.conf")
MUNGE_KEY = Path("/etc/munge/munge.key")
TEMPLATE = Path(__file__).with_suffix(".conf")
MARK = TEMPLATE.read_text(encoding="utf-8").splitlines()[0]


class Refused(Exception):
    """This machine is not one to do it on, or the test failed."""


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `timeout` lets the cleaning up happen
    try:
        if "--stop" in sys.argv:
            stop(leftover())
        else:
            refuse()
            with cluster() as folder:
                missing_of_page(folder)
    except Refused as err:
        print(f"test-slurm: {err}", file=sys.stderr)
        return 2
    print("test-slurm: passed; Slurm is stopped and removed")
    return 0


def refuse() -> None:
    """Only where Slurm is installed and nobody uses it."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.geteuid() != 0 or not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch", "munged"))):
        raise Refused("it needs root, and on Debian: apt-get install slurmctld slurmd slurm-client munge")
    if CONF.exists():
        ours = CONF.read_text(encoding="utf-8", errors="replace").startswith(MARK)
        way = "an earlier test left it; --stop removes it" if ours else "this machine has a Slurm, so nothing was done"
        raise Refused(f"{CONF} exists: {way}")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 6817)) == 0:
            raise Refused("something listens on 127.0.0.1:6817, Slurm's port, so nothing was started")


@contextlib.contextmanager
def cluster() -> Iterator[Path]:
    """A running Slurm of one node; yields a folder that goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-on-loopback-"))
    try:
        for name in ("state", "spool", "log"):
            (folder / name).mkdir()
        CONF.write_text(TEMPLATE.read_text(encoding="utf-8").replace("/RUNDIR", str(folder)), encoding="utf-8")
        munge(folder)
        for command in (["slurmctld"], ["slurmd", "-N", "localhost"]):
            subprocess.run(command, check=True, timeout=60)
        for _ in range(120):
            if b"idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, timeout=30).stdout:
                break
            time.sleep(0.5)
        else:
            raise Refused("the node did not come up within a minute")
        yield folder
    except BaseException:
        for log in sorted((folder / "log").glob("*.log")):
            print(f"--- end of {log.name}\n{log.read_text()[-2000:]}", file=sys.stderr)
        raise
    finally:
        stop(folder)


def munge(folder: Path) -> None:
    """Slurm's signatures: use the daemon that runs, or start one, as user munge, and note that it is ours."""
    if subprocess.run(["munge", "-n"], capture_output=True).returncode == 0:
        return
    user = pwd.getpwnam("munge")
    for path, mode in ((Path("/run/munge"), 0o755), (Path("/var/log/munge"), 0o700)):
        path.mkdir(exist_ok=True)
        os.chown(path, user.pw_uid, user.pw_gid)
        path.chmod(mode)
    if not MUNGE_KEY.exists():
        MUNGE_KEY.touch(mode=0o400)
        MUNGE_KEY.write_bytes(os.urandom(1024))
        os.chown(MUNGE_KEY, user.pw_uid, user.pw_gid)
    (folder / "munged-is-ours").touch()
    subprocess.run(["munged"], user="munge", group="munge", extra_groups=[], check=True, timeout=60)


def missing_of_page(folder: Path) -> None:
    """A page that lacks two runs gets them by `icr train PAGE --profile`; the second time nothing is missing."""
    text = (ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text(encoding="utf-8")
    text = text.replace("gpu: 1", "gpu: 0\n    runtime: 30\n    mem_mb: 2000").replace("checks: 20", "checks: 5")
    new = int(time.time())  # nobody has trained these yet
    quick = "\nseconds-between-status-checks: 5\ndefault-resources: [slurm_partition=main]\n"
    (folder / "config.yaml").write_text(text + quick)
    size = "train=64, val=32, test=64, updates=6, evaluate_every=3, embed_dim=16"
    (page := folder / "page.py").write_text(
        f'# %%\nfrom icrlib import runs\nruns("scenes", method="bow", seed=[{new}, {new + 1}], {size})\n'
    )
    command = [sys.executable, "-m", "icrlib", "train", str(page), "--profile", str(folder)]
    for _ in range(2):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=1500)
        if ended.returncode or "no run is missing" not in ended.stdout:
            raise Refused(f"failed: a page's runs: {ended.stdout}{ended.stderr}")


def stop(folder: Path) -> None:
    """End the jobs, both daemons and our munged, and remove the configuration; what is gone already is no error."""
    for command in (["scancel", "--signal=KILL", "--user=root"], ["scontrol", "shutdown"]):
        with contextlib.suppress(subprocess.TimeoutExpired, FileNotFoundError):
            subprocess.run(command, capture_output=True, timeout=20)
    ours = [Path("/run/munge/munged.pid")] * (folder / "munged-is-ours").exists()
    for note in (folder / "slurmd.pid", folder / "slurmctld.pid", *ours):
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
            process = int(note.read_text())
            if Path(f"/proc/{process}/comm").read_text().strip() == note.stem:  # it may be another's number by now
                os.kill(process, signal.SIGTERM)
    if CONF.exists() and CONF.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        CONF.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def leftover() -> Path:
    """The folder of a test that was killed, out of the configuration that it left."""
    text = CONF.read_text(encoding="utf-8") if CONF.exists() else ""
    if not text.startswith(MARK):
        raise Refused(f"there is nothing of this test to stop: {CONF} is not there, or not from here")
    return Path(text.partition("StateSaveLocation=")[2].splitlines()[0]).parent


if __name__ == "__main__":
    sys.exit(main())
