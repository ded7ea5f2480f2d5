"""VSE∞: sizes, both branches by hand, what padding and left-out regions do, published settings, from data to search."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import icrlib
from icrlib.models.vse_infty import VSEInfty


def made(**options) -> VSEInfty:
    torch.manual_seed(0)
    return VSEInfty(feature_dim=10, words=30, embed_dim=8, word_dim=6, **options).double()


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
    lengths, parameters = torch.tensor([5, 9, 3, 7, 3, 8]), list(model.parameters())
    result, expected = model(features, words, lengths), plain_form(model, features, words, lengths)
    torch.testing.assert_close(result, expected)
    both = [torch.autograd.grad((scores**2).sum(), parameters) for scores in (result, expected)]
    for one, other in zip(*both, strict=True):
        torch.testing.assert_close(one, other)


def test_left_out_regions():
    """About a fifth of them, at least one stays; those that stay are pooled as they are; none is left out later."""
    model, features = made(drop_regions=0.2).train(), torch.rand(200, 9, 10, dtype=torch.float64)
    kept, lengths = model.some(features)
    assert lengths.double().mean() == pytest.approx(0.8 * 9, rel=0.05) and kept.shape[1] == lengths.max()
    for row, several, regions in zip(kept, lengths.tolist(), features, strict=True):
        rows = [regions.tolist().index(one.tolist()) for one in row[:several]]
        assert rows == sorted(set(rows)) and not row[several:].any()
    assert not torch.equal(model.some(features)[0][:, :3], kept[:, :3]), "each batch has its own dice"
    assert torch.equal(made(drop_regions=0.2).train().some(features)[0], kept)
    assert torch.equal(model.eval().some(features)[0], features)
    assert made(drop_regions=0.99).train().some(features)[1].min() == 1
    true = torch.arange(200) % 9 + 1  # of images with unequally many regions only true ones are thrown for
    junk = features.masked_fill((torch.arange(9) >= true[:, None])[..., None], torch.nan)
    kept, lengths = made(drop_regions=0.9).train().some(junk, true)
    assert (lengths >= 1).all() and (lengths <= true).all() and not kept.isnan().any()


def test_what_is_refused(tiny):
    for option, value in (("pool", "sum"), ("drop_regions", 1.0), ("padding", "zeros")):
        with pytest.raises(ValueError, match=f"{option}.*{value}"):
            made(**{option: value})
    with pytest.raises(ValueError, match=r"\(images, regions, 12\)"):
        icrlib.train(tiny, "vse_infty", updates=2, progress=False)
    assert made().eval().encode_images(torch.zeros(1, 2, 10).double()).isfinite().all()
