"""SCAN: the release's numbers, one pair at a time in loops, blocks, padding, LSE beyond 1, from data to search."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import icrlib
from icrlib import evaluation, models
from icrlib.models import scan
from icrlib.models.base import Sequences
from icrlib.models.counts import total
from icrlib.models.scan import SCAN
from icrlib.search import Index
from icrlib.training.config import resolve
from tests.planning.test_operations import watched

SMALL = dict(embed_dim=8, word_dim=6, batch_size=16, progress=False)
WORDS, LENGTHS = torch.randint(4, 30, (6, 9), generator=torch.Generator().manual_seed(0)), [5, 9, 3, 7, 3, 8]
FORMS = [{"attend": attend, "pool": pool} for attend in ("t-i", "i-t") for pool in ("avg", "lse")]


@pytest.fixture(scope="module")
def scenes():
    return icrlib.load_dataset("scenes", smoke=True, regions=True, progress=False)


def made(**options) -> SCAN:
    torch.manual_seed(0)
    return SCAN(12, 30, embed_dim=8, word_dim=6, **options).double()


def features(images: int = 4, regions: int = 7) -> torch.Tensor:
    return torch.randn(images, regions, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


# The released functions, FS S3.1.
GOLDEN = [
    ({"pool": "lse"}, [[1.0889574494, 1.0917608540], [1.0633065591, 0.9301865618]]),
    ({"pool": "avg"}, [[0.8109282307, 0.8944949482], [0.7238014046, 0.6933476087]]),
    ({"attend": "i-t", "pool": "lse"}, [[1.0665193369, 1.1186483834], [1.0580257448, 1.0358207362]]),
    ({"attend": "i-t", "pool": "lse", "lse_scale": 20}, [[0.9456210637, 0.9800141135], [0.9703694055, 0.9551475989]]),
    ({"attend": "i-t", "pool": "avg"}, [[0.8175932543, 0.8859084677], [0.7095329317, 0.7023468834]]),
]


@pytest.mark.parametrize(("options", "expected"), GOLDEN, ids=str)
def test_the_released_numbers(options, expected):
    i = torch.arange(24, dtype=torch.float64).view(2, 3, 4)
    j = torch.arange(32, dtype=torch.float64).view(2, 4, 4)
    images, captions = normalize(torch.sin(1.1 * i + 0.5), dim=2), normalize(torch.cos(0.9 * j + 0.1), dim=2)
    model = made(**options)
    found = model.similarity(Sequences(images, torch.tensor([3, 3])), Sequences(captions, torch.tensor([4, 3])))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), atol=2e-10, rtol=0)


def one_by_one(model: SCAN, images: torch.Tensor, words: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    """Every pair by itself and every context vector formed, with torch's own GRU."""
    packed = pack_padded_sequence(model.embed(words), torch.tensor(lengths), True, False)
    states = sum(pad_packed_sequence(model.gru(packed)[0], batch_first=True)[0].chunk(2, 2)) / 2
    rows = []
    for image in images:
        v = [r / r.norm() for r in model.project(image)]
        told = [[w / w.norm() for w in row[:n]] for row, n in zip(states, lengths, strict=True)]
        rows.append(torch.stack([score(model, v, e) for e in told]))
    return torch.stack(rows)


def score(model: SCAN, v: list, e: list) -> torch.Tensor:
    asking, seen = (e, v) if model.options["attend"] == "t-i" else (v, e)
    first, second = (9, 6) if model.options["attend"] == "t-i" else (4, 5)
    leaky = [[torch.where(q @ c > 0, q @ c, 0.1 * (q @ c)) for c in seen] for q in asking]
    norms = [torch.stack([row[c] ** 2 for row in leaky]).sum().sqrt() for c in range(len(seen))]
    fits = []
    for q, row in zip(asking, leaky, strict=True):
        raised = [(first * s / (n + 1e-8)).exp() for s, n in zip(row, norms, strict=True)]
        context = sum(r / sum(raised) * c for r, c in zip(raised, seen, strict=True))
        fits.append(q @ context / context.norm())
    if model.options["pool"] == "avg":
        return sum(fits) / len(fits)
    return sum((second * fit).exp() for fit in fits).log() / second


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("block", [1 << 24, 1, 700])
def test_scores_and_gradients_are_those_of_one_pair_at_a_time(options, block, monkeypatch):
    """In one block and in several, which are computed again on the way back."""
    monkeypatch.setattr(scan, "BLOCK", block)
    model, images, lengths = made(**options), features(), torch.tensor(LENGTHS)
    found, expected = model(images, WORDS, lengths), one_by_one(model, images, WORDS, LENGTHS)
    torch.testing.assert_close(found, expected)
    weights = torch.randn(found.shape, dtype=torch.float64)
    grads = [torch.autograd.grad((s * weights).sum(), list(model.parameters())) for s in (found, expected)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)
    pairs = model.similarity_of_pairs(model.encode_images(images), model.encode_captions(WORDS[:4], lengths[:4]))
    torch.testing.assert_close(pairs, found[:, :4].diagonal())


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_padding_is_neither_asked_nor_seen(options):
    model = made(**options)
    images, told = model.encode_images(features()), model.encode_captions(WORDS, torch.tensor(LENGTHS))
    wider = [
        Sequences(torch.cat([part.values, torch.full((len(part), 2, 8), 5.0).double()], 1), part.lengths)
        for part in (images, told)
    ]
    wider[1].values[0, 5:9] = 3.0  # behind a caption's own end
    torch.testing.assert_close(model.similarity(*wider), model.similarity(images, told))
    torch.testing.assert_close(
        model.similarity_of_pairs(wider[0], wider[1][:4]), model.similarity_of_pairs(images, told[:4])
    )


@pytest.mark.parametrize(("attend", "queries", "scale"), [("t-i", 13, 6), ("i-t", 36, 5)])
def test_scores_of_lse_are_no_cosines(attend, queries, scale):
    """Everything alike: 1 + ln(n)/λ2, and more for a longer caption; a mean stays at 1."""
    one = torch.eye(8, dtype=torch.float64)[:1]
    images, captions = (
        Sequences(one.expand(1, 36, 8), torch.tensor([36])),
        Sequences(one.expand(2, 13, 8), torch.tensor([13, 5])),
    )
    long, short = made(attend=attend, pool="lse").similarity(images, captions)[0].tolist()
    assert long == pytest.approx(1 + math.log(queries) / scale) and long > 1.4
    assert short == pytest.approx(1 + math.log(5 if attend == "t-i" else 36) / scale)
    torch.testing.assert_close(made(attend=attend).similarity(images, captions), torch.ones(1, 2).double())


@pytest.mark.parametrize("attend", ["t-i", "i-t"])
def test_its_products_are_those_that_torch_counts(attend, monkeypatch):
    size = {"feature_dim": 24, "embed_dim": 16, "word_dim": 11, "attend": attend}
    monkeypatch.setattr("icrlib.models.scan.word_states", lambda gru, e, n, _: sum(gru(e(n))[0].chunk(2, 2)))
    monkeypatch.setattr(SCAN, "similarity", SCAN._block)
    with torch.device("meta"):
        model = models.build("scan", words=50, **size)
        images, numbers = torch.empty(32, 9, 24), torch.zeros(40, 5, dtype=torch.long)
        monkeypatch.setattr("icrlib.models.scan.int", lambda _: 5, raising=False)  # a length without a number
        with watched(model) as found:
            model(images, numbers, torch.full((40,), 5)).sum().backward()
    assert total(SCAN.operations(32, 40, 5, regions=9, **size)) == found["operations"]
    assert 4 * SCAN.kept(32, 40, 5, regions=9, **size) == pytest.approx(found["kept"], rel=0.2)


def test_published_settings(tiny, monkeypatch):
    for name, lr, epochs in (("flickr30k", 2e-4, 30), ("coco", 5e-4, 20)):
        monkeypatch.setattr(tiny, "name", name)
        monkeypatch.setattr(tiny, "defaults", {})
        config = resolve(tiny, "scan", "triplet_sh", given={})
        assert (config.lr, config.updates, config.grad_clip) == (lr, epochs * config.per_epoch, 2.0)
        assert config.drops == [epochs // 2 * config.per_epoch]
    model = models.build("scan", feature_dim=2048, words=100)
    assert sum(p.numel() for p in model.parameters()) == 2_098_176 + 8_146_944 + 30_000


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_it_goes_the_whole_way(scenes, tmp_path, options):
    run = icrlib.train(scenes, "scan", "triplet_sh", updates=3, **options, **SMALL)
    loaded = icrlib.load_model(run.save(tmp_path / "model"))
    found = evaluation.scores(run.model, scenes.test)
    assert torch.equal(evaluation.scores(loaded, scenes.test), found)
    index = Index.of_split(loaded, scenes.test)
    hits = index.by_text(scenes.test.captions[7], top=3)
    assert [hit.file for hit in hits] == [scenes.test.image_ids[row] for row in found[:, 7].topk(3).indices]
    assert icrlib.evaluate(loaded, scenes.test)["rsum"] == pytest.approx(run.record["test"]["rsum"], abs=1e-3)
    assert run.record["test"]["twins"]["swap_n"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attend": "words"}, "unknown attend 'words'; allowed: 't-i', 'i-t'"),
        ({"pool": "max"}, "unknown pool 'max'; allowed: 'avg', 'lse'"),
        ({"attention_scale": 0}, "attention_scale= is a positive number; got 0"),
        ({"lse_scale": 6}, "lse_scale= has no effect with pool='avg'"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        made(**options)
