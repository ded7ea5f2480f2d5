"""Settings: what is refused and how, who comes before whom, and what a run's identity is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import icrlib
from icrlib.losses import TripletSH
from icrlib.losses.build import options_of as options_of_loss
from icrlib.names import LOSSES
from icrlib.training import config as configs
from icrlib.training.config import NEUTRAL, identity, resolve
from icrlib.training.settings import SETTINGS, checked


def made(data, method="vse++", loss="ntxent", **given):
    return resolve(data, method, loss, given=given)


@pytest.mark.parametrize(
    ("parts", "given", "word"),
    [
        ({"loss": "ntxnt"}, {}, "Did you mean 'ntxent'"),
        ({}, {"device": "gpu"}, "device"),
        ({}, {"precision": "float16", "device": "cpu"}, "GPU"),
        ({}, {"seed": -1}, "seed"),
        ({}, {"taw": 0.1}, "taw"),
        ({}, {"tau": -1.0}, "tau"),
        ({}, {"updates": 0}, "updates"),
        ({}, {"batches": "photos"}, "pairs"),
        ({}, {"lr": 0}, "lr"),
        ({}, {"lr": True}, "lr"),
        ({}, {"lr": float("inf")}, "lr"),
        ({}, {"drop_words": 1.5}, "drop_words"),
        ({}, {"embed_dim": "ten"}, "embed_dim"),
        ({"method": "ltd"}, {"head_norm": 1}, "head_norm"),
        ({}, {"learning_rate": 1e-3}, "Did you mean 'lr'"),
        ({}, {"learn_tau": 1}, "learn_tau"),
        ({"method": "bow"}, {"word_dim": 4}, "word_dim"),
        ({}, {"beta": 2.0}, "beta"),
        ({}, {"objective": "lagrange"}, "auxiliary"),
        ({}, {"objective": "lagrange", "auxiliary": "tests.own_parts:Bags"}, "eta"),
        ({}, {"schedule": "cosine", "lr_update": 3}, "lr_update"),
        ({"loss": "smoothap"}, {"positives": "image"}, "positives"),
        ({"loss": "triplet"}, {"learn_tau": True}, "learn_tau"),
        ({}, {"learn_tau": True, "tau": 0.005}, "0.01 or above"),
        ({}, {"learn_bias": True}, "learn_bias"),
        ({}, {"batch_norm": "eval"}, "batch_norm"),
        ({}, {"finetune_lr": 1e-4}, "finetune_lr"),
        ({"method": "sentence"}, {"drop_words": 0.1, "embed_dim": 384}, "drop_words"),
        ({"method": "ltd"}, {"target": "tokens", "auxiliary": "latent"}, "tokens"),
        ({}, {"updates": 3, "epochs": 3}, "not both"),
        ({}, {"negatives": "foils"}, "logical form"),
        ({"loss": "triplet_sh"}, {"updates": 50, "warmup": 50}, "warmup"),
        ({"loss": TripletSH(margin=0.3)}, {"loss_margin": 0.5}, "given twice"),
    ],
)
def test_refusals(tiny, tmp_path, parts, given, word):
    """Before a folder is made."""
    with pytest.raises(ValueError, match=word):
        icrlib.train(tiny, **parts, **given, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_split_in_which_nothing_can_be_searched(tiny):
    with pytest.raises(ValueError, match="'val' has 1 image"):
        icrlib.train(replace(tiny, val=tiny.val.images_only(torch.tensor([0]))), updates=4)


def test_a_default_given_explicitly_is_never_refused_and_is_the_same_run(tiny, tmp_path):
    """The same run with a default given explicitly was refused as another run."""
    given = {"lr": 0.01, "batch_size": 16, "positives": "diagonal", "grad_clip": 2.0, "beta": 1.0, "warmup": 0}
    given |= {"tau": 0.1, "average_times": 5, "updates": 40, "embed_dim": 8}
    assert made(tiny, **given).identity() == made(tiny).identity()
    icrlib.train(tiny, updates=4, out=tmp_path / "run", progress=False)
    again = icrlib.train(tiny, updates=4, lr=0.01, warmup=0, tau=0.1, out=tmp_path / "run", progress=False)
    assert again.record["config"]["updates"] == 4
    with pytest.raises(ValueError, match="lr: 0.01, now 0.02"):
        icrlib.train(tiny, updates=4, lr=0.02, out=tmp_path / "run", progress=False)


def test_what_changes_the_identity(tiny):
    """Every choice, and neither the machine nor the words in which it was asked for."""
    changes = ("lr", 0.02), ("updates", 41), ("tau", 0.2), ("embed_dim", 9), ("warmup", 1), ("optimiser", "adamw")
    flat, epoch = made(tiny).flat(), made(tiny).per_epoch
    assert len({identity(flat)} | {made(tiny, **{name: value}).identity() for name, value in changes}) == 7
    assert made(tiny, threads=2, device="cpu").identity() == identity(flat)
    assert identity(flat | {"asked": {"x": 1}, "epochs": 3}) == identity(flat)
    epochs, updates = made(tiny, epochs=3, evaluate_every=5), made(tiny, updates=3 * epoch, evaluate_every=5)
    assert epochs.identity() == updates.identity()


def test_every_setting_has_a_neutral_value():
    """Which may never change: by all of them records are found (test_resolve_records)."""
    others = {*configs.NO_PART, "batch_size", "batches", "updates", "lr", "evaluate_every"}
    assert set(SETTINGS) <= others | set(NEUTRAL), "give it a neutral value"


def test_a_start_that_the_data_dictates_is_a_share_of_the_run(tiny, monkeypatch):
    """250 of 1,500 updates are a sixth of any run; a number that is given stays what it is."""
    monkeypatch.setitem(tiny.defaults, "updates", 1500)
    monkeypatch.setitem(tiny.tuned, "vse++ triplet_sh", {"warmup": 250})
    for given, expected in [
        ({}, 250),
        ({"updates": 300}, 50),
        ({"updates": 3000}, 500),
        ({"warmup": 0}, 0),
        ({"updates": 300, "warmup": 250}, 250),
    ]:
        assert made(tiny, loss="triplet_sh", **given).warmup == expected
    assert made(tiny).warmup == 0  # dictated for this loss only
    short = resolve(tiny, "vse++", "triplet_sh", smoke=True, given={})
    assert 0 < short.warmup < short.updates / 5  # a smoke run shows the loss, too


def test_a_setting_added_later_changes_no_identity(tiny, monkeypatch):
    flat = made(tiny).flat()
    monkeypatch.setitem(NEUTRAL, "new_setting", 0.5)
    assert identity(flat | {"new_setting": 0.5}) == identity(flat) != identity(flat | {"new_setting": 0.7})


def test_who_comes_before_whom(tiny, monkeypatch):
    """Given, then what the data dictates (the more special word first), then the method's published, the default."""
    general, special = {"lr": 0.5, "grad_clip": 3.0, "weight_decay": 0.1}, {"grad_clip": 4.0}
    levels = {"*": general, "triplet": special, "scenes": {"weight_decay": 0.2}}
    monkeypatch.setattr(icrlib.models.VSE, "published", levels)
    monkeypatch.setattr(
        tiny, "tuned", {"ntxent": {"lr": 0.03, "warmup": 1}, "vse++": {"warmup": 2}, "vse++ ntxent": {"warmup": 3}}
    )
    found = made(tiny)
    assert (found.lr, found.warmup, found.grad_clip, found.weight_decay) == (0.03, 3, 3.0, 0.2)
    assert made(tiny, lr=0.4).lr == 0.4 and made(tiny, loss="triplet").warmup == 2
    assert made(tiny, loss="triplet").lr == 0.01  # what the data says to all
    assert (made(tiny, loss="triplet").grad_clip, made(tiny, loss="triplet").weight_decay) == (4.0, 0.2)
    assert made(tiny, method="bow").lr == 0.03 and made(tiny, method="bow").schedule == "step"


@pytest.mark.parametrize("method", list(icrlib.models.METHODS))
def test_published_settings_are_settings(method):
    kind = icrlib.models.METHODS[method]
    options = icrlib.models.options_of(method)
    for key, level in kind.published.items():
        of_loss = options_of_loss(key) if key in LOSSES else []
        assert set(level) <= {*SETTINGS, *options, *of_loss}
        settings = {name: value for name, value in level.items() if name not in (*options, *of_loss)}
        assert all(checked(name, value) == value for name, value in settings.items())


def test_data_by_name_and_its_seed(tiny):
    with pytest.raises(ValueError, match="data_seed"):
        icrlib.train(tiny, data_seed=3, progress=False)
    drawn = [icrlib.train("scenes", seed=1, data_seed=s, smoke=True, progress=False).record for s in (None, 1, 2)]
    assert [r["config"]["data_seed"] for r in drawn] == [1, 1, 2]
    assert drawn[0]["identity"] == drawn[1]["identity"] != drawn[2]["identity"]


def test_ltd_as_published(tiny):
    """InfoNCE at 0.05 without batch norms, Triplet-SH with; held below 0.2; another weighing forgets the bound."""
    infonce, hardest = made(tiny, method="ltd"), made(tiny, method="ltd", loss="triplet_sh", objective="dual")
    assert infonce.loss_options["tau"] == 0.05 and not infonce.model_options.get("head_norm")
    assert (infonce.objective, infonce.eta, infonce.auxiliary) == ("lagrange", 0.2, "latent")
    assert hardest.model_options["head_norm"] and (hardest.objective, hardest.eta, hardest.beta) == ("dual", None, 1.0)
    plain = made(tiny, method="ltd", objective="con")
    assert (plain.auxiliary, plain.eta, plain.beta, plain.multiplier) == (None, None, 1.0, "published")
    assert plain.identity() != infonce.identity()
    with pytest.raises(ValueError, match="eta"):
        made(tiny, method="ltd", objective="con", eta=0.3)


def test_epochs_until_the_network_learns():
    pictures = icrlib.load_dataset("rendered", smoke=True)
    found, epoch = made(pictures, finetune_epochs=2, restart_lr=1e-3), made(pictures).per_epoch
    assert found.finetune_after == 2 * epoch and found.finetune_lr == found.lr / 10
    assert found.identity() == made(pictures, finetune_after=2 * epoch, restart_lr=1e-3).identity()
    with pytest.raises(ValueError, match="not both"):
        made(pictures, finetune_epochs=2, finetune_after=3, restart_lr=1e-3)


def test_what_a_method_averaged_is_left_out_of_a_smoke_run(tiny, monkeypatch):
    monkeypatch.setattr(icrlib.models.VSE, "published", {"*": {"average": "swa"}})
    assert resolve(tiny, "vse++", "ntxent", smoke=True, given={}).average == "none"
    with pytest.raises(ValueError, match="smoke"):
        resolve(tiny, "vse++", "ntxent", smoke=True, given={"average": "swa"})


def test_targets_by_name_and_of_ones_own(tiny):
    """The words are a decoder of their own; an object with ``encode`` is known by its answers."""
    words = made(tiny, method="ltd", target="tokens", eta=6.0)
    assert (words.auxiliary, words.auxiliary_options, words.eta) == ("tokens", {}, 6.0)
    assert words.identity() == made(tiny, method="ltd", auxiliary="tokens", eta=6.0).identity()

    class Lengths:
        def encode(self, captions):
            return [[len(caption), caption.count("a") + 1.0, len(set(caption))] for caption in captions]

    mine = made(tiny, method="ltd", target=Lengths())
    assert mine.auxiliary_options["target"].startswith("own-")
    assert mine.identity() == made(tiny, method="ltd", target=Lengths()).identity()
    with pytest.raises(ValueError, match="encode"):
        made(tiny, method="ltd", target=3)
