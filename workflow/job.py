"""One run of a grid: what the Snakefile's rule calls, on whatever machine the run ended up.

    python workflow/job.py scenes/vsepp/ntxent/seed0-ff0b1f5a54 [PID of the Snakemake that called it]

When that Snakemake is gone, however it ended, the run ends, too: nobody waits for it, and it would go on training
beside whatever is started next. Its checkpoint stays.

The folder holds parameters.json, which the plan wrote. The run goes through ``icr run``, so a parameter that the
notebook does not know is refused. A run that was killed leaves its checkpoint and may be started again. A run that
failed leaves its notebook and failed.txt, and is not tried again by the same ``make reproduce``.

It waits beside the notebook for as long as that runs, so it does without icrlib, which would bring torch along.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from filelock import FileLock

KILLED = os.EX_TEMPFAIL  # as `icr run` ends where its notebook was killed from outside
DATA = ("features", "root")  # parameters that name folders
HANDED = "ICR_HANDED_OVER"  # code of somebody's own that `make reproduce` was asked for, as its command says it
ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "book" / "reproduce" / "run.ipynb"
RECORDS = ROOT / "records"


def main(folder: Path) -> int:
    """Train what ``folder`` asks for; 0, or the exit status that tells Snakemake to try again or not."""
    try:
        asked, record = planned(folder / "parameters.json")
    except ValueError as err:
        print(err, file=sys.stderr)
        return 1
    mark = folder / "failed.txt"
    if mark.exists():  # Snakemake starts a job again whatever it died of
        why = mark.read_text(encoding="utf-8", errors="replace")
        print(f"not tried again, it would fail again:\n{why}", file=sys.stderr)
        return 1
    with alone(folder) as handle:
        parameters = asked | {"out": str(folder)}
        status, said = missing(parameters)
        if not status:
            status, said = foreign(parameters)
        if not status:
            # The child holds the lock, too: it ends with the last of the two, however that ends.
            status, said = execute(parameters, folder / "run.ipynb", handle)
    if status == KILLED or status < 0:
        print("killed; it goes on from its checkpoint when it is started again", file=sys.stderr)
        return KILLED
    if status:
        mark.write_text(said, encoding="utf-8")
        return 1
    keep(folder / "record.json", record)
    return 0


def planned(path: Path) -> tuple[dict, str | None]:
    """The parameters of the run, and where its record is kept, too; ``ValueError`` where no plan wrote this.

    A file says where something is written only within the book's records.
    """
    try:
        if not path.is_file():
            raise ValueError("no plain file")
        about = json.loads(path.read_text(encoding="utf-8"))
        parameters, record = about["parameters"], about["record"]
        if not isinstance(parameters, dict) or not isinstance(record, (str, type(None))):
            raise ValueError("its parameters are no names and values, or its record is no path")
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as err:
        raise ValueError(
            f"{path}: not as make reproduce writes it ({err or type(err).__name__}); delete it, and the same make "
            "reproduce writes it again"
        ) from err
    if record and not (record.endswith(".json") and Path(os.path.realpath(record)).is_relative_to(RECORDS.resolve())):
        raise ValueError(
            f"{path}: names {record!r} to keep the record, which is no file of {RECORDS}; delete {path.name}, and the "
            "same make reproduce writes it again"
        )
    return parameters, record


def keep(record: Path, place: str | None) -> None:
    """See that the record is there and whole, and copy it to its ``place`` in one step, unless one is there already."""
    content = record.read_bytes()
    json.loads(content)
    if place and not Path(place).exists():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        part = Path(f"{place}.{os.getpid()}.part")
        part.write_bytes(content)
        os.replace(part, place)


def execute(parameters: dict, output: Path, handle: int) -> tuple[int, str]:
    """Run the notebook; its exit status, negative for a signal, and the end of what it said."""
    given = [
        word
        for name, value in parameters.items()
        for word in ("-p", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    ]
    command = [sys.executable, "-m", "icrlib", "run", str(NOTEBOOK), str(output), "--force", *given]
    said = []
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=(handle,)
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            said = [*said[-20:], line]
    return process.returncode, "".join(said)


def missing(parameters: dict) -> tuple[int, str]:
    """Whether this machine lacks the data that the plan was made with."""
    for name in DATA:
        folder = parameters.get(name)
        if folder and not Path(folder).is_dir():
            said = (
                f"{platform.node()}: {folder} is not there. It is where the plan was made, but this machine does "
                "not see it: copy it to the same place here, or put it where all machines see it and give that "
                "with FEATURES= or PHOTOS=; then the same make reproduce goes on.\n"
            )
            print(said, end="", file=sys.stderr)
            return 1, said
    return 0, ""


def foreign(parameters: dict) -> tuple[int, str]:
    """Whether they name code that whoever started this did not: a file alone never makes anything run."""
    allowed = os.environ.get(HANDED, "").split()
    for name, value in parameters.items():
        if name not in DATA and isinstance(value, str) and own_code(value) and value not in allowed:
            said = (
                f"parameters.json names code, {name}={value!r}, that this make reproduce was not asked for. Code never "
                f"runs because a file says so: if you trust it, name it there, or hand it over, {HANDED}={value}\n"
            )
            print(said, end="", file=sys.stderr)
            return 1, said
    return 0, ""


def own_code(value: str) -> bool:
    """Whether a text has the form package.module:Name."""
    return re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", value) is not None


def end_with(caller: int) -> None:
    """From now on look every second whether process ``caller`` is there; once it is gone, end this one and all below.

    By kill, for nothing may be left that goes on: what counts was saved at the last evaluation.
    """

    def watch() -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(caller)
            while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(1)
        print(
            f"the Snakemake that called this ({caller}) is gone, so the run ends here; it goes on from its "
            "checkpoint when it is started again",
            file=sys.stderr,
            flush=True,
        )
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        os._exit(KILLED)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[int]:
    """Wait until nobody else is at this run; yield the lock. On a cluster a job outlives the Snakemake that sent it."""
    with open(folder / ".job.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another process is at this run, perhaps left by a Snakemake that was killed; waiting", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        with FileLock(folder / ".lock"):  # a kernel may outlive its job for a second; training itself takes this lock
            pass
        yield file.fileno()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        end_with(int(sys.argv[2]))
    sys.exit(main(Path(sys.argv[1]).resolve()))
