"""``icrlib.train``: one run from its settings to its record, in a folder that survives being killed."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from icrlib.data.load import DRAWN, load_dataset
from icrlib.data.splits import Dataset
from icrlib.errors import true_or_false
from icrlib.evaluation import evaluate, rerank, two_stages
from icrlib.files import claim_path
from icrlib.losses.base import Loss
from icrlib.models.base import RetrievalModel
from icrlib.names import LOSSES, METHODS
from icrlib.records.files import READ, load, write
from icrlib.records.folder import commit_of_code
from icrlib.training import checkpoints, loop, parts, record_of_run
from icrlib.training.config import Config, resolve
from icrlib.training.saved import load_model, save_model
from icrlib.training.settings import SETTINGS


@dataclass(repr=False)
class Run:
    """A finished run: its ``record`` (plain JSON), the best ``model``, and the ``folder`` it was trained in."""

    record: dict
    model: RetrievalModel
    folder: Path | None = None

    def __repr__(self) -> str:
        config, test = self.record["config"], self.record["test"]
        where = f", in {self.folder}" if self.folder else ""
        more = f"; {two_stages(test['reranked'])}" if "reranked" in test else ""
        return (
            f"Run({config['method']} with {config['loss']} on {config['dataset']}, seed {config['seed']}, "
            f"{config['updates']:,} updates: test rsum {test['rsum']:.1f}, R@1 {test['i2t']['r1']:.1f} of images and "
            f"{test['t2i']['r1']:.1f} of captions; chosen at update {self.record['chosen']['update']:,}{where}{more})"
        )

    @property
    def history(self) -> list[dict]:
        """One entry an evaluation: update, loss, lr, gradient norm, validation measures, twins, COCOS, diagnosis."""
        return self.record["history"]

    def save(self, folder: str | Path) -> Path:
        """Write the model with its vocabulary to ``folder``; :func:`icrlib.load_model` reads it."""
        if (there := Path(folder) / "record.json").exists() and load(there)["identity"] != self.record["identity"]:
            raise ValueError(f"{there} is of another run; choose another folder")
        return save_model(self.model, self.record["config"]["method"], folder)


def train(
    data: Dataset | str,
    method: str | type | RetrievalModel = METHODS.usual,
    loss: str | type | Loss = LOSSES.usual,
    *,
    seed: int = 0,
    data_seed: int | None = None,
    out: str | Path | None = None,
    record: str | Path | None = None,
    smoke: bool = False,
    progress: bool = True,
    **settings,
) -> Run:
    """Train ``method`` on ``data.train`` with ``loss``, choose the best evaluation on ``data.val``, test it once.

    ``data``: a dataset, or the name of one that is drawn ("scenes", "rendered", "stamps"), whose draw is then
    ``data_seed``, by default the ``seed``: so each run has its own data. ``method``, ``loss`` and ``auxiliary=``:
    names, ``"package.module:Name"`` of your own among them, classes, or objects,
    ``loss=icrlib.losses.TripletSH(margin=.3)``, whose options become the run's. A model's weights are drawn anew, by
    the seed.

    ``settings``: those that ``icr settings`` lists, and the options of the method, the loss and the auxiliary by their
    names (``embed_dim=``, ``margin=``, ``tau=``, …). What is left as None takes what the data set dictates, else what
    the method was published with, else the default. A setting that would have no effect is refused.

    ``start_from``: the ``out`` of a finished run of the same model on the same data, or on features of the same
    pictures. This run is its second stage, as GOAL §4.2 trains: from its best weights, all parameters, at a tenth of
    its rate; optimiser, auxiliary and learned scalars begin anew. What that run was is a part of what this one is.

    ``out``: a folder for checkpoints. A run that was killed goes on from the last one, and ends as it would have
    without the break, bit for bit; a finished one is returned as it is. ``record``: where to write the run's JSON
    record; never written by a ``smoke`` run (a few updates, to see that things work).

    Raises ``ValueError`` for unknown names and bad values, :class:`icrlib.training.Diverged` if the loss stops being
    finite.
    """
    for name, value in (("smoke", smoke), ("progress", progress)):
        true_or_false(name, value)
    if isinstance(data, str):
        drawn = {"seed": seed if data_seed is None else data_seed} if data in DRAWN else {}
        data = load_dataset(data, smoke=smoke, **drawn)
    elif data_seed not in (None, data.options.get("seed")):
        drawn = data.options.get("seed")
        raise ValueError(
            f"data_seed={data_seed!r}, but this data was drawn with seed {drawn!r}; load it with that "
            "seed, or give its name and leave the loading to train"
        )
    for split in (data.val, data.test):
        if len(split) < 2:
            raise ValueError(f"the split {split.name!r} has {len(split)} image; a search needs two or more")
    method, loss, settings = parts.named(method, loss, settings)
    config = resolve(data, method, loss, seed=seed, smoke=smoke, given=settings)
    folder = None if out is None else Path(out)
    if folder and record is not None and Path(record).resolve() == (folder / "record.json").resolve():
        record = None  # which is written there anyway
    if record is not None:
        claim_path(record)
    with checkpoints.claimed(folder, config), _threads(config.threads):
        if folder and (folder / "record.json").exists():
            return _finished(folder, config, record)
        model, criterion = loop.prepare(data, config)
        if config.start_from is not None:
            _go_on(model, settings["start_from"], config)
        commit = commit_of_code()  # as it is now, before the run
        state = loop.fit(model, criterion, data, config, folder, progress)
        model.load_state_dict(state["best"]["model"])
        tested = loop.test(model, data, config.relevance)
        if config.rerank is not None:
            val, test = (rerank(model, s, top=config.rerank, relevance=config.relevance) for s in (data.val, data.test))
            tested["reranked"], state["best"]["reranked"] = test, val["rsum"]
        for name, other in getattr(data.test, "others", {}).items():  # the same split in other forms, such as "stamped"
            tested[name] = evaluate(model, other, config.relevance)
        made = record_of_run.record(config, data, state, tested, model, criterion, commit)
        run = Run(made, model.eval(), folder)
        if folder:
            run.save(folder)
            write(made, folder / "record.json")
    if record is not None and not config.smoke:
        write(made, record)
    return run


def _finished(folder: Path, config: Config, record: str | Path | None) -> Run:
    """The run that ``folder`` holds, whose record is written where it was asked for now and is not there yet."""
    run = Run(load(folder / "record.json"), _saved(folder, config), folder)
    if record is not None and not config.smoke:
        write({name: value for name, value in run.record.items() if name not in READ}, record)
    return run


def _saved(folder: str | Path, config: Config) -> RetrievalModel:
    """The model in a run's folder, made by the caller's names and never by the file's."""
    teacher = config.model_options.get("teacher")
    return load_model(folder, method=config.method, backbone=config.backbone, teacher=teacher)


def _go_on(model: RetrievalModel, folder: str | Path, config: Config) -> None:
    """Load the best weights of a first stage; one on finished features has none for the network that makes them."""
    first = _saved(folder, config)
    same = model if config.start_from.get("backbone") == config.backbone else model.inner
    theirs, ours = ((one.vocabulary.words, one.options | {"batch_norm": None}) for one in (first, same))
    if theirs != ours:
        raise ValueError(f"start_from={folder}: that model has another vocabulary or size of features than this data")
    same.load_state_dict(first.state_dict())


def _signature() -> inspect.Signature:
    """All settings by name, so that help and completion know them."""
    *named, rest = (plain := inspect.signature(train)).parameters.values()
    listed = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{field.type}")
        for name, field in SETTINGS.items()
    ]
    return plain.replace(parameters=[*named, *listed, rest.replace(name="options")])


train.__signature__ = _signature()


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
