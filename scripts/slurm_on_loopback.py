"""Set up a Slurm of one node on this machine's loopback, send a small grid through it, and stop all of it again.

`make test-slurm`. What is tested: a partition that does not exist is refused by name; a grid of two smoke runs goes
through Snakemake's Slurm executor with the profile that clusters use; one of its jobs is killed with scancel while it
runs; the grid finishes all the same; and a page gets the runs that it lacks. It needs root and Debian's packages
(elsewhere it says so and tests nothing), and refuses where a Slurm is configured already. All listens on 127.0.0.1
only, and everything that was started is stopped afterwards, also after a failure, an interrupt or a timeout; after
kill -9 of this script, ``--stop`` does it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
PROGRAMS = ("slurmctld", "slurmd", "sinfo", "sbatch", "scancel", "munged")
CONF, OTHERS = Path("/etc/slurm/slurm.conf"), (Path("/etc/slurm-llnl/slurm.conf"),)
MUNGE_KEY, MUNGE_PID = Path("/etc/munge/munge.key"), Path("/run/munge/munged.pid")
TEMPLATE = Path(__file__).with_suffix(".conf")
MARK = TEMPLATE.read_text(encoding="utf-8").splitlines()[0]
GRID_SECONDS = 1500


class Refused(Exception):
    """This machine is not one to do it on."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--install", action="store_true", help="install missing Debian packages (done if CI=true)")
    options.add_argument("--stop", action="store_true", help="only stop and remove what a killed test left")
    options.add_argument("--check", action="store_true", help="only say whether this machine is one to do it on")
    asked = options.parse_args()
    if why := unfit():
        print(f"test-slurm: skipped, for {why}")
        return int(asked.check)
    if asked.check:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `timeout` lets the cleaning up happen
    try:
        if asked.stop:
            stop(leftover())
            return 0
        refuse()
        install(asked.install or os.environ.get("CI") == "true")
        with cluster() as folder:
            smoke_grid(folder / "grid")
            missing_of_page(folder)
    except Refused as err:
        print(f"test-slurm: {err}", file=sys.stderr)
        return 2
    print("test-slurm: passed; Slurm is stopped and removed again")
    return 0


def unfit() -> str:
    """Why this machine cannot do it at all; "" where it can."""
    if not sys.platform.startswith("linux") or shutil.which("apt-get") is None:
        return "it needs Debian or Ubuntu"
    return "" if os.geteuid() == 0 else "it needs root"


def refuse() -> None:
    """Never touch a Slurm that somebody uses."""
    if CONF.exists() and CONF.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        raise Refused("an earlier test was killed and left its Slurm; scripts/slurm_on_loopback.py --stop removes it")
    for path in (CONF, *OTHERS, *([Path(os.environ["SLURM_CONF"])] if os.environ.get("SLURM_CONF") else [])):
        if path.exists():
            raise Refused(
                f"{path} exists: this machine has a Slurm already, and this test would be in its way. "
                "Nothing was done. On a cluster: make reproduce SMOKE=1 PROFILE=slurm"
            )
    for port in (6817, 6818):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                raise Refused(f"something listens on 127.0.0.1:{port}, Slurm's port, so nothing was started")


def install(allowed: bool) -> None:
    """Debian's packages, where they are missing and installing is allowed. Their services are not started."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    os.environ["PATH"] = path
    if all(shutil.which(program) for program in PROGRAMS):
        return
    command = f"apt-get install --no-install-recommends {' '.join(PACKAGES)}"
    if not allowed:
        raise Refused(f"Slurm's programs are missing: {command}, or make test-slurm INSTALL=1, which does it")
    guard = Path("/usr/sbin/policy-rc.d")  # Debian's way to say: install, but start no service
    ours = not guard.exists()
    if ours:
        guard.write_text("#!/bin/sh\nexit 101\n")
        guard.chmod(0o755)
    try:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
        subprocess.run([*apt, "update"], env=environment, check=True)
        subprocess.run([*apt, "install", "-y", "--no-install-recommends", *PACKAGES], env=environment, check=True)
    finally:
        if ours:
            guard.unlink()


@contextlib.contextmanager
def cluster() -> Iterator[Path]:
    """A running Slurm of one node; yields a folder that goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-on-loopback-"))
    try:
        for name in ("state", "spool", "log"):
            (folder / name).mkdir()
        CONF.parent.mkdir(exist_ok=True)
        text = TEMPLATE.read_text(encoding="utf-8").replace("/RUNDIR", str(folder))
        megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
        text = text.replace("MEMORY", str(min(8000, megabytes * 8 // 10)))
        CONF.write_text(text.replace("CORES", str(min(2, os.cpu_count() or 1))), encoding="utf-8")
        munge(folder)
        for command in (["slurmctld"], ["slurmd", "-N", "localhost"]):
            subprocess.run(command, check=True, timeout=60)
        until(lambda: "idle" in told("sinfo", "-h", "-o", "%T"), 60, "the node did not come up")
        print(f"test-slurm: one node on loopback is up\n{told('sinfo')}", flush=True)
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


def smoke_grid(runs: Path) -> None:
    """Two runs through Slurm, one of them killed on the way."""
    reproduce = [
        sys.executable,
        str(ROOT / "workflow" / "reproduce.py"),
        *shlex.split(
            "--profile slurm --smoke --fresh --dataset scenes --methods bow --losses ntxent,triplet --seeds 0"
        ),
        # No GPU here, though the profile has one, and of a GPU no record tells what a run takes.
        *shlex.split("--mem 2G --runtime 30"),
        # Nor is there a need to wait long before asking how a job is.
        "--more=--set-resources train:gpu=0 --slurm-init-seconds-before-status-checks 5 "
        "--seconds-between-status-checks 5",
        "--runs",
        str(runs),
    ]
    environment = os.environ | {"TQDM_DISABLE": "1"}
    wrong = subprocess.run([*reproduce, "--partition", "mian"], env=environment, capture_output=True, text=True)
    expect(
        wrong.returncode == 1 and "unknown Slurm partition 'mian'" in wrong.stderr and "'main'" in wrong.stderr,
        f"a partition that does not exist must be refused by name: {wrong.returncode}, {wrong.stderr}",
    )
    with subprocess.Popen([*reproduce, "--partition", "main"], env=environment, start_new_session=True) as grid:
        try:
            until(lambda: grid.poll() is not None or started(runs), GRID_SECONDS, "no job began")
            victim = (started(runs) or ["none"])[0]
            expect(grid.poll() is None and victim != "none", "the grid ended before a job could be killed")
            subprocess.run(["scancel", victim], check=True)
            until(
                lambda: told("squeue", "-h", "-j", victim, "--states=all", "-o", "%T") == "CANCELLED",
                90,
                f"job {victim} was not cancelled",
            )
            print(f"test-slurm: job {victim} killed with scancel while it ran", flush=True)
            status = grid.wait(GRID_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(grid.pid, signal.SIGKILL)
    states = told("squeue", "-h", "--states=all", "-o", "%i %T").split("\n")
    print("test-slurm: jobs: " + ", ".join(sorted(states)), flush=True)
    records = sorted(runs.rglob("record.json"))
    expect(status == 0 and len(records) == 2, f"the grid ended with {status} and {len(records)} of 2 records")
    expect(f"{victim} CANCELLED" in states, f"job {victim} came back")
    expect(sum("COMPLETED" in state for state in states) == 2, "two jobs should have completed")


def missing_of_page(folder: Path) -> None:
    """A page that lacks two runs gets them by `icr train PAGE --profile`; the second time nothing is missing."""
    profile = folder / "profile"
    profile.mkdir()
    text = (ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text(encoding="utf-8")
    quick = "\nseconds-between-status-checks: 5\ndefault-resources: [slurm_partition=main]\n"
    text = text.replace("gpu: 1", "gpu: 0\n    runtime: 30\n    mem_mb: 2000").replace("checks: 20", "checks: 5")
    (profile / "config.yaml").write_text(text + quick)
    page, size = folder / "page.py", "train=64, val=32, test=64, updates=6, evaluate_every=3, embed_dim=16"
    page.write_text(f'# %%\nfrom icrlib import runs\nruns("scenes", method="bow", seed=[1000, 1001], {size})\n')
    command = [sys.executable, "-m", "icrlib", "train", str(page), "--profile", str(profile)]
    for _ in range(2):
        ended = subprocess.run(command, capture_output=True, text=True, timeout=GRID_SECONDS)
        expect(
            ended.returncode == 0 and "no run is missing" in ended.stdout,
            f"a page's runs: {ended.stdout}{ended.stderr}",
        )
    print("test-slurm: a page got the two runs that it lacked", flush=True)


def started(runs: Path) -> list[str]:
    """Jobs that run and have begun with their notebook."""
    running = [line.split("|") for line in told("squeue", "-h", "-t", "RUNNING", "-o", "%i|%k").splitlines()]
    names = {path.parent.relative_to(runs).as_posix().replace("/", "_"): path.parent for path in runs.rglob("run.log")}
    return [
        job
        for job, about in running
        if any(
            name in about.replace("/", "_") and folder.joinpath("run.log").stat().st_size
            for name, folder in names.items()
        )
    ]


def stop(folder: Path) -> None:
    """End the jobs, both daemons and our munged, and remove the configuration; what is gone already is no error."""

    def quietly(*command: str) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired, FileNotFoundError):
            subprocess.run(command, capture_output=True, timeout=20)

    quietly("scancel", "--signal=KILL", "--user=root")
    quietly("scancel", "--user=root")
    with contextlib.suppress(Refused):
        until(lambda: not told("squeue", "-h"), 20, "jobs remain")
    quietly("scontrol", "shutdown")
    for name in ("slurmd", "slurmctld"):
        end(folder / f"{name}.pid", name)
    if (folder / "munged-is-ours").exists():
        end(MUNGE_PID, "munged")
    if CONF.exists() and CONF.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        CONF.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def leftover() -> Path:
    """The folder of a test that was killed, out of the configuration that it left."""
    if not CONF.exists() or not CONF.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        raise Refused(f"there is nothing of this test to stop: {CONF} is not there, or not from here")
    (line,) = [line for line in CONF.read_text(encoding="utf-8").splitlines() if line.startswith("StateSaveLocation=")]
    return Path(line.partition("=")[2]).parent


def end(note: Path, name: str) -> None:
    """Wait for the process whose id is in ``note``, then kill it; only if it still has that name."""
    for patience, number in ((10, 0), (10, signal.SIGTERM), (5, signal.SIGKILL)):
        try:
            process = int(note.read_text())
            if Path(f"/proc/{process}/comm").read_text().strip() != name:
                return
            os.kill(process, number)
            until(lambda process=process: not Path(f"/proc/{process}").exists(), patience, name)
            return
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return
        except Refused:
            continue


def told(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()


def until(done: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Look every half second; :class:`Refused` after so many ``seconds``."""
    for _ in range(int(seconds * 2)):
        if done():
            return
        time.sleep(0.5)
    raise Refused(f"{otherwise} within {seconds} seconds")


def expect(true: bool, otherwise: str) -> None:
    if not true:
        raise Refused(f"failed: {otherwise}")


if __name__ == "__main__":
    sys.exit(main())
