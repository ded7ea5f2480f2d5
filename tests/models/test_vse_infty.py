"""VSE∞: sizes, both branches by hand, what padding and left-out regions do, published settings, from data to search."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import icrlib
from icrlib import evaluation, models
from icrlib.models.vse_infty import VSEInfty
from icrlib.names import label
from icrlib.search import Index
from icrlib.training.config import resolve
from tests.training.test_resume import same_run

SMALL = dict(embed_dim=8, word_dim=6, batch_size=16, progress=False)


@pytest.fixture(scope="module")
def scenes():
    return icrlib.load_dataset("scenes", smoke=True, regions=True, progress=False)


def made(**options) -> VSEInfty:
    torch.manual_seed(0)
    return VSEInfty(feature_dim=10, words=30, embed_dim=8, word_dim=6, **options).double()


def count(module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_published_sizes():
    """FS S1.2: the layer of regions, the MLP, the GRUs, and a GPO each side."""
    model = models.build("vse_infty", feature_dim=2048, words=100)
    assert count(model.project) == 2_098_176 and count(model.mlp) == 1_575_424
    assert count(model.gru) == 8_146_944 and count(model.embed) == 300 * 100
    assert count(model.pool_regions) == count(model.pool_words) == 12_704
    assert count(model) == 2_098_176 + 1_575_424 + 8_146_944 + 30_000 + 2 * 12_704


def plain_form(model: VSEInfty, features, words, lengths):
    """The released steps with torch's layers alone: one image at a time, packed captions, each feature by itself."""
    model.eval()
    images = []
    for regions in features:
        rows = model.project(regions) + model.mlp(regions)
        images.append(pooled(model.pool_regions, model.options["pool"], rows))
    packed = pack_padded_sequence(model.embed(words), lengths, batch_first=True, enforce_sorted=False)
    states = sum(pad_packed_sequence(model.gru(packed)[0], batch_first=True)[0].chunk(2, 2)) / 2
    captions = [
        pooled(model.pool_words, model.options["pool"], row[:n]) for row, n in zip(states, lengths, strict=True)
    ]
    return normalize(torch.stack(images), dim=1) @ normalize(torch.stack(captions), dim=1).T


def pooled(module, name, rows):
    if name == "max":
        return rows.amax(0)
    if name == "mean":
        return rows.mean(0)
    weights = module.weights(torch.tensor([len(rows)]))[0]
    return torch.stack([(weights * column.sort(descending=True).values).sum() for column in rows.T])


@pytest.mark.parametrize("pool", ["gpo", "max", "mean"])
def test_scores_and_gradients_are_those_of_the_plain_form(pool):
    model = made(pool=pool).eval()
    features, words = torch.rand(4, 5, 10, dtype=torch.float64), torch.randint(4, 30, (6, 9))
    lengths = torch.tensor([5, 9, 3, 7, 3, 8])
    found, expected = model(features, words, lengths), plain_form(model, features, words, lengths)
    torch.testing.assert_close(found, expected)
    own, theirs = (
        torch.autograd.grad((scores**2).sum(), [p for p in model.parameters()]) for scores in (found, expected)
    )
    for one, other in zip(own, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_regions_are_not_normalised_and_their_order_does_not_matter():
    model, features = made().eval(), torch.rand(3, 5, 10, dtype=torch.float64)
    torch.testing.assert_close(model.encode_images(features[:, [3, 1, 0, 4, 2]]), model.encode_images(features))
    assert (model.encode_images(3 * features) - model.encode_images(features)).abs().max() > 1e-3


def test_left_out_regions():
    """About a fifth of them, at least one stays; those that stay are pooled as they are; none is left out later."""
    model, features = made(drop_regions=0.2).train(), torch.rand(200, 9, 10, dtype=torch.float64)
    kept, lengths = model.some(features)
    assert lengths.double().mean() == pytest.approx(0.8 * 9, rel=0.05) and kept.shape[1] == lengths.max()
    for row, several, whole in zip(kept, lengths.tolist(), features, strict=True):
        rows = [whole.tolist().index(one.tolist()) for one in row[:several]]
        assert rows == sorted(set(rows)) and not row[several:].any()
    again, _ = model.some(features)
    assert not torch.equal(again[:, :3], kept[:, :3]), "each batch has its own dice"
    twin = made(drop_regions=0.2).train()
    assert torch.equal(twin.some(features)[0], kept)
    assert torch.equal(model.eval().some(features)[0], features)
    lonely = made(drop_regions=0.99).train().some(features)[1]
    assert lonely.min() == 1


def test_what_padding_is_to_the_batch_norm():
    """Released: rows of zeros are counted with the others; masked: the batch norm sees real regions alone."""
    features, lengths = torch.rand(6, 5, 10, dtype=torch.float64), torch.tensor([5, 2, 3, 4, 1, 2])
    features = features * (torch.arange(5) < lengths[:, None])[..., None]
    rows = {
        "released": features.flatten(0, 1),
        "masked": torch.cat([f[:n] for f, n in zip(features, lengths, strict=True)]),
    }
    for padding, counted in rows.items():
        model = made(padding=padding).train()
        found = model.of_regions(features, lengths)
        hidden = model.mlp[0](counted)
        mean, deviation = hidden.mean(0), hidden.var(0, unbiased=False)
        norm = (model.mlp[0](features[2, :3]) - mean) / (deviation + 1e-5).sqrt()
        expected = model.project(features[2, :3]) + model.mlp[3](norm.relu())
        torch.testing.assert_close(found[2, :3], expected)
    assert len(rows["masked"]) == 17 and len(rows["released"]) == 30


@pytest.mark.parametrize(
    ("data", "loss", "warmup"), [("flickr30k", "triplet_sh", 1132), ("coco", "triplet_sh", 4425), ("coco", "ntxent", 0)]
)
def test_published_settings(tiny, monkeypatch, data, loss, warmup):
    monkeypatch.setattr(tiny, "name", data)
    monkeypatch.setattr(tiny, "defaults", {})
    config = resolve(tiny, "vse_infty", loss, given={"updates": 5000})
    assert (config.lr, config.weight_decay, config.optimiser, config.batch_size) == (5e-4, 1e-2, "adamw", 128)
    assert (config.drop_words, config.delete_words, config.warmup, config.grad_clip) == (0.1, 0.08, warmup, 2.0)
    assert config.model_options["drop_regions"] == 0.2 and config.model_options["padding"] == "released"
    whole = resolve(tiny, "vse_infty", "ntxent", given={})
    assert whole.updates == 25 * whole.per_epoch and whole.drops == [15 * whole.per_epoch]


def test_it_goes_the_whole_way(scenes, tmp_path):
    run = icrlib.train(scenes, "vse_infty", "ntxent", updates=3, **SMALL)
    assert run.record["config"]["model_options"]["pool"] == "gpo"
    loaded = icrlib.load_model(run.save(tmp_path / "model"))
    found = evaluation.scores(run.model, scenes.test)
    assert torch.equal(evaluation.scores(loaded, scenes.test), found)
    hits = Index.of_split(loaded, scenes.test).by_text(scenes.test.captions[7], top=3)
    assert [hit.file for hit in hits] == [scenes.test.image_ids[row] for row in found[:, 7].topk(3).indices]
    assert icrlib.evaluate(loaded, scenes.test)["rsum"] == pytest.approx(run.record["test"]["rsum"], abs=1e-3)


def test_a_run_that_went_on_throws_the_same_dice(scenes, tmp_path, monkeypatch):
    """Regions are left out by default; broken off in the middle it ends as the whole run did."""
    options = dict(updates=8, evaluate_every=4, lr=1e-2, **SMALL)
    whole = icrlib.train(scenes, "vse_infty", "triplet", out=tmp_path / "whole", **options)
    look, calls = icrlib.training.loop.look, []

    def once(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return look(*args)

    monkeypatch.setattr(icrlib.training.loop, "look", once)
    with pytest.raises(KeyboardInterrupt):
        icrlib.train(scenes, "vse_infty", "triplet", out=tmp_path / "again", **options)
    same_run(whole, icrlib.train(scenes, "vse_infty", "triplet", out=tmp_path / "again", **options))


def test_what_is_refused(tiny):
    for options, said in (
        ({"pool": "sum"}, "unknown pool 'sum'; allowed: 'gpo', 'max', 'mean'"),
        ({"drop_regions": 1.0}, "drop_regions= is a share from 0 to below 1; got 1.0"),
        ({"padding": "zeros"}, "unknown padding 'zeros'"),
    ):
        with pytest.raises(ValueError, match=said):
            made(**options)
    with pytest.raises(ValueError, match=r"this model takes \(images, regions, 12\)"):
        icrlib.train(tiny, "vse_infty", updates=2, progress=False)
    assert made().eval().encode_images(torch.zeros(1, 2, 10).double()).isfinite().all()


def test_its_names():
    assert label("vse_infty") == "VSE∞" and label("vse_infty", pool="max") == "maxima of states"
