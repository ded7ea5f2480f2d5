"""Train what is missing of a grid of runs, or of one of the book's studies: what `make reproduce` calls.

A run is finished where its record lies among the book's records or in runs/grid; it is not trained again. FRESH=1 looks
in runs/grid only. Runs that were killed go on from their checkpoints, whatever was killed. Runs that failed keep their
notebook, and the others go on. STUDY=name takes the list of `make records` instead of a grid: a search first, then what
waits for it, each record to its place.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import yaml

from grid import LOSSES, ROOT, RUNS, Grid, Plan, needs, plan, planned, set_aside, write
from icrlib import parsing
from icrlib.errors import choose, in_words
from icrlib.files import write_bytes
from icrlib.names import is_own
from icrlib.studies import Run, Unfinished, lists, studies
from icrlib.training import checkpoints
from job import HANDED

PROFILES = ROOT / "workflow" / "profiles"
# Options that a grid takes and a study does not, since it says these things itself.
OF_GRIDS = ("dataset", "methods", "losses", "seeds", "tuned", "photos", "images", "backbone", "settings")
OF_GRIDS += ("keep", "smoke", "fresh")
MOST = 1000  # runs at a time, cores of one
MAKE_ALONE = ("PYTHON", "PIP_EXTRA_INDEX", "WORKERS", "VENV")


def words(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """A list as make hands it over: "a,b"."""
    found = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    return found or None


def numbers(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    found = words(context, parameter, text)
    if found and not all(re.fullmatch("[0-9]{1,9}", word) for word in found):
        raise click.UsageError(f"{parameter.name.upper()}={text}: write whole numbers, such as 0,1,2")
    return tuple(map(int, found)) if found else None


def amount(name: str, units: dict[str, int], allowed: str) -> Callable:
    """A callback that reads a number with one of the ``units`` behind it."""

    def read(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
        if text is None:
            return None
        found = re.fullmatch("([0-9]{1,9})([A-Za-z]?)", text)
        if not found or found[2] not in units or not int(found[1]):
            raise click.UsageError(f"{name}={text}: write {allowed}")
        return int(found[1]) * units[found[2]]

    return read


@click.command(help=__doc__)
@click.option("--study", default="", help="One of the book's studies (make records lists them) instead of a grid.")
@click.option("--dataset", help="Default: scenes.")
@click.option("--methods", callback=words)
@click.option("--losses", callback=words)
@click.option("--seeds", callback=numbers)
@click.option("--tuned", callback=numbers, help="0: default settings; 1: those that a search chose; 0,1: both.")
@click.option("--features", help="Folder of features, for any data set but scenes.")
@click.option("--photos", help="Or a folder of photos.")
@click.option("--images", help="With photos: cached (features once) or published (fresh crops).")
@click.option("--backbone", help="With photos: the network that sees them.")
@click.option("--settings", default="", help="Settings of all runs: 'updates=600 drop_words=0.1'.")
@click.option("--keep", default="", help="Also keep each record in records/studies/KEEP when its run ends.")
@click.option("--smoke", is_flag=True, help="Tiny data and a few updates, to see that everything works.")
@click.option("--fresh", is_flag=True, help="Do not count the book's records as finished runs.")
@click.option("--plan", "only_plan", is_flag=True, help="Say how many runs are missing, and stop.")
@click.option("--profile", default="local", help="local, gpu, slurm, or a folder with a profile of your own.")
@click.option("--partition", default="", help="With a Slurm profile: where to.")
@click.option("--jobs", type=click.IntRange(1, MOST), help="Runs at a time, also on one GPU, which they then share.")
@click.option("--threads", type=click.IntRange(1, MOST), help="Cores of a run: 4 where it decodes photos, else 1.")
@click.option(
    "--mem",
    callback=amount("MEM", {"": 1, "M": 1, "G": 1000}, "MB, or 16G"),
    help="Memory of a run on a cluster, in MB or as 16G, instead of 8 GB.",
)
@click.option(
    "--runtime",
    callback=amount("RUNTIME", {"": 1, "m": 1, "h": 60, "d": 1440}, "minutes, or 36h, or 2d"),
    help="Time of a run on a cluster, in minutes or as 36h or 2d, instead of a day.",
)
@click.option("--runs", "place", type=click.Path(path_type=Path), help="Where the runs are kept.")
@click.option("--more", default="", help="Further flags for Snakemake.")
@click.option("--given", default="", help="The variables that make was called with, to notice a misspelled one.")
def main(study, only_plan, profile, partition, jobs, threads, mem, runtime, place, more, given, **asked) -> None:
    try:
        for name in given.split():
            if name not in (*MAKE, *MAKE_ALONE):  # make itself takes any name
                near = difflib.get_close_matches(name.upper(), MAKE, n=1)
                hint = f" Did you mean {near[0]}=?" if near else ""
                raise ValueError(f"make reproduce knows no {name}=; it takes {', '.join(MAKE)}.{hint}")
        for name in ("features", "photos"):
            if asked[name] and not Path(asked[name]).is_dir():
                raise FileNotFoundError(f"{name.upper()}={asked[name]}: no such folder")
        folder = _profile(profile)
        about = _settings(folder / "config.yaml")
        slurm, train = about.get("executor") == "slurm", about.get("set-resources", {}).get("train", {})
        own = _own(about, train, profile, mem_mb=mem, runtime=runtime)
        device = "cuda" if train.get("gpu") else None
        if partition or (slurm and not only_plan):
            _partition(partition, slurm, profile)
        place = (place or (ROOT / "runs" if study else RUNS)).resolve()
        dry = bool({"-n", "--dry-run", "--dryrun"} & set(more.split()))
        stages = _of_study(study, device, only_plan or dry, asked) if study else [_of_grid(device, asked)]
        for runs in stages:
            found = plan(runs, place, asked["fresh"])
            flags = _share(about, found, jobs, threads)
            click.echo(found.text())
            if only_plan:
                continue
            flags = [*([f"partition={partition}"] if partition else []), *flags, *more.split()]
            own |= {"threads": threads} if threads else {}
            if status := _train(found, place, folder, flags, own, dry) if found.missing else 0:
                sys.exit(status)
            if not dry:
                _kept(found)
    except (ValueError, OSError, ImportError) as err:
        raise click.ClickException(in_words(err)) from err


# What make takes: the same by the names of its variables, but for where this script is told of them.
MAKE = sorted({option[2:].upper() for parameter in main.params for option in parameter.opts} - {"RUNS", "GIVEN"})

# What make was called with comes through the environment, so that no shell reads it: MEM= as REPRODUCE_MEM.
for _parameter in main.params:
    _parameter.envvar = f"REPRODUCE_{_parameter.opts[0][2:].upper()}"


def _of_grid(device: str | None, asked: dict) -> list[Run]:
    """The runs of the grid that the axes span."""
    source = {"features": "features", "root": "photos", "images": "images", "backbone": "backbone"}
    grid = Grid(
        asked["dataset"] or "scenes",
        asked["methods"],
        asked["losses"] or LOSSES,
        (0, 1, 2) if asked["seeds"] is None else asked["seeds"],
        _tuned(asked["tuned"]),
        {name: asked[option] for name, option in source.items() if asked[option]},
        tuple(asked["settings"].split()),
        asked["smoke"],
        device,
        asked["keep"],
    )
    return planned(grid, tuned_settings)


def _of_study(name: str, device: str | None, look: bool, asked: dict) -> Iterator[list[Run]]:
    """What is missing of a study, a search before what waits for it; ``look``: only to say what that is."""
    try:
        choose(name, studies, "study")
    except ValueError as err:
        raise ValueError(f"{err} To keep the records of a grid in a folder of that name, give KEEP={name}") from err
    if beside := [f"{option.upper()}=" for option in OF_GRIDS if asked[option]]:
        raise ValueError(
            f"STUDY={name} is a list of runs, and says all about each; leave {', '.join(beside)} out, or leave STUDY= "
            "out for a grid"
        )
    features = asked["features"]
    try:
        for one, missing in studies[name].todo():
            if one.needs == "features" and not features and not look:
                raise ValueError(f"{one.name} is about photos: give FEATURES=folder with their features")
            click.echo(f"{one.name}, {one.question}")
            yield [run.on(features, device or "cpu") for run in missing]
    except Unfinished as err:
        if not look:
            raise
        click.echo(f"{name} has more runs, and which these are the search will say: {err}")


def _train(found: Plan, place: Path, folder: Path, flags: list[str], own: dict, dry: bool) -> int:
    """Let Snakemake train what is missing, and say what became of it; the exit status."""
    if not dry:
        set_aside(found.missing, place)
    listed = write(found.missing, place, own)
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "workflow" / "Snakefile"),
        "--directory",
        str(place),
        "--workflow-profile",
        str(folder),
        "--config",
        f"plan={listed}",
        *flags,
    ]
    # what this Python imports, its kernels and jobs import, too, wherever they run
    asked = {value for run in found.missing for value in run.parameters.values() if is_own(value)}
    handed = {"PYTHONPATH": _path(), HANDED: " ".join(sorted(asked))}
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | handed) as snakemake:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches Snakemake, too, which ends its jobs
        status = snakemake.wait()
    signal.signal(signal.SIGINT, before)
    return status if dry else report(found, status, place)


def _kept(found: Plan) -> None:
    """Records of finished runs that lie in the runs' own folders only, to where they are to be kept."""
    for run, path in found.there:
        if run.study and not run.smoke and not run.done and path.name == "record.json":
            write_bytes(run.path, path.read_bytes())


def _own(about: dict, train: dict, profile: str, **given: int | None) -> dict[str, int]:
    """What MEM= and RUNTIME= say; ``ValueError`` where nobody would look at it."""
    own = {name: value for name, value in given.items() if value}
    if own and "executor" not in about:
        raise ValueError(
            f"MEM= and RUNTIME= are what a cluster is asked for, and PROFILE={profile} runs everything "
            "here; PROFILE=slurm sends runs off, and JOBS= says how many run here at a time"
        )
    if twice := sorted(set(own) & set(train)):
        raise ValueError(
            f"PROFILE={profile} sets {', '.join(twice)} itself; take it out there, or leave MEM= and RUNTIME= out"
        )
    return own


def _share(about: dict, found: Plan, jobs: int | None, threads: int | None) -> list[str]:
    """Flags for Snakemake: how many jobs at a time, or how many cores, and who has the GPU."""
    usual = about.get("set-threads", {}).get("train")
    each = threads or usual or max([1, *(needs(run)["threads"] for run in found.missing)])
    flags = ["--set-threads", f"train={threads}"] if threads and usual else []
    if "executor" in about:
        return flags + (["--jobs", str(jobs)] if jobs else [])
    gpu = about.get("set-resources", {}).get("train", {}).get("gpu", 0)
    if jobs or threads:
        cores = max(about["cores"], each) if not jobs and isinstance(about.get("cores"), int) else (jobs or 1) * each
        flags += ["--cores", str(cores)]
    if jobs and gpu:
        flags += ["--resources", f"gpu={jobs * gpu}"]
    return flags


def report(found: Plan, status: int, place: Path) -> int:
    """Say what became of the missing runs; 0 where all of them ended well."""
    left = 0
    for run in found.missing:
        folder = place / run.folder
        if (folder / "record.json").exists():
            click.echo(f"  finished  {run}: {checkpoints.state_of(folder).removeprefix('finished, ')}")
            continue
        left += 1
        failed = folder / "failed.txt"
        if failed.exists():
            last = failed.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-2:]
            click.echo(f"  failed    {run}: {' '.join(last)}\n            its notebook: {folder / 'run.ipynb'}")
        else:
            state = checkpoints.state_of(folder) if (folder / "config.json").exists() else "did not begin"
            click.echo(f"  {state}: {run}; see {folder / 'run.log'}")
    click.echo(
        f"{len(found.missing) - left} of {len(found.missing)} trained"
        + ("; the same make reproduce goes on with the others" if left else "")
    )
    return status or int(left > 0)


def tuned_settings(dataset: str, method: str, loss: str) -> dict:
    """What a search of scripts/studies/ chose on draws of its own; ``ValueError`` where there was none."""
    found = lists().search_of(dataset, method, loss)
    if found is None:
        raise ValueError(
            f"nothing is tuned for {method} with {loss} on {dataset}: no search was made there. Leave "
            "TUNED= out, or list a search in scripts/studies/ and train it with make records STUDY=NAME"
        )
    search, study = found
    try:
        studies[search].ready()
    except Unfinished as err:
        raise ValueError(f"TUNED=1 for {dataset} rests on the search {search!r}: {err}") from err
    return lists().chosen(study, method, loss)


def _tuned(given: tuple[int, ...] | None) -> tuple[bool, ...]:
    if any(value > 1 for value in given or ()):
        raise ValueError("TUNED= takes 0 (default settings), 1 (what a search chose), or 0,1 for both")
    return tuple(map(bool, given or (0,)))


def _profile(name: str) -> Path:
    folder = Path(name) if Path(name, "config.yaml").is_file() else PROFILES / name
    if not (folder / "config.yaml").is_file():
        choose(name, sorted(path.name for path in PROFILES.iterdir()), "profile", more=["a folder with config.yaml"])
    return folder.resolve()


FORM = {"executor": str, "set-resources": dict, "set-threads": dict}


def _settings(path: Path) -> dict:
    """What a profile says; ``ValueError`` where that is no list of names and values, or one of them of another kind."""
    try:
        about = yaml.safe_load(parsing.text(path))  # tags that name Python's own objects are no YAML here
    except yaml.YAMLError as err:
        raise ValueError(f"{path}: not a profile in YAML ({' '.join(str(err).split())})") from err
    if not isinstance(about, dict) or not all(isinstance(name, str) for name in about):
        raise ValueError(f"{path}: wanted settings of Snakemake, name: value; got {type(about).__name__}")
    wrong = [name for name, kind in FORM.items() if name in about and not isinstance(about[name], kind)]
    wrong += ["train" for part in ("set-resources",) if not isinstance(about.get(part, {}).get("train", {}), dict)]
    if wrong:
        raise ValueError(f"{path}: {wrong[0]} is of another kind than Snakemake wants; see {PROFILES / 'local'}")
    return about


def _partition(wanted: str, slurm: bool, profile: str) -> None:
    """Refuse a partition that the cluster does not have, before a job asks for it."""
    if not slurm:
        raise ValueError(f"PARTITION= is for Slurm, and PROFILE={profile} does not send jobs there; PROFILE=slurm does")
    if shutil.which("sinfo") is None:
        raise FileNotFoundError(
            "there is no Slurm on this machine (sinfo was not found): start this on the cluster's "
            "login node, or train here with PROFILE=local"
        )
    told = subprocess.run(["sinfo", "-h", "-o", "%R"], capture_output=True, text=True, timeout=60)
    if told.returncode:
        raise ValueError(f"Slurm does not answer: {told.stderr.strip()}. `sinfo` must work before jobs can be sent")
    there = list(dict.fromkeys(told.stdout.split()))
    if wanted:
        try:
            choose(wanted, there, "Slurm partition")
        except ValueError as err:
            way = f"make reproduce … PARTITION={there[0]}" if there else "ask whoever runs the cluster for one"
            raise ValueError(f"{err} `sinfo` lists them; {way}") from err


def _path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


if __name__ == "__main__":
    main()
