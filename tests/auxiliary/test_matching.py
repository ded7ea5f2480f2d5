"""Hard pairs for a matching head: the released chances, the value in loops, who is never drawn, how often the rest."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

import icrlib
from icrlib.auxiliary.base import Step
from icrlib.auxiliary.matching import Matching, drawn
from icrlib.sampling import Batch, Sampler
from tests.losses.slow import S3

SMALL = {"embed_dim": 8, "word_dim": 6, "batch_size": 16}
OWN = torch.eye(3, dtype=torch.bool)


class Head(torch.nn.Module):
    """Logits that are a linear map of both vectors."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layer = torch.nn.Linear(8, 2).double()

    def match(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.cat([images, captions], 1))


def ready(image_of: list[int], seed: int = 5, model: torch.nn.Module | None = None) -> Matching:
    """Of data whose captions have these images, in a run of that seed."""
    model = model or Head()
    torch.manual_seed(seed)
    state, made = torch.get_rng_state(), Matching()
    made.prepare(SimpleNamespace(train=SimpleNamespace(image_of=torch.tensor(image_of))), model)
    assert torch.equal(torch.get_rng_state(), state)
    return made


def step(images, captions, positives, scores=None, update=0, **more) -> Step:
    dice = torch.Generator().manual_seed(4)
    vectors = [torch.randn(len(rows), 4, generator=dice, dtype=torch.float64) for rows in (images, captions)]
    scores = vectors[0] @ vectors[1].T / 4 if scores is None else scores
    batch = Batch(torch.tensor(images), torch.tensor(captions), positives)
    return Step(update, batch, None, None, *vectors, scores, positives, **more)


def test_chances_are_the_released_ones():
    """FS S4: three pairs at a temperature of 0.07, texts for each image and images for each caption."""
    made = ready([0, 1, 2])
    texts = [[0, 0.9932137669, 0.0067862331], [0.0543393977, 0, 0.9456606023], [0.0003011458, 0.9996988542, 0]]
    images = [[0, 0.9719767048, 0.0280232952], [0.0810309809, 0, 0.9189690191], [0.0032999683, 0.9967000317, 0]]
    for scores, expected in ((S3, texts), (S3.T, images)):
        torch.testing.assert_close(made.chances(scores, OWN), torch.tensor(expected).double(), atol=1e-9, rtol=1e-7)


def test_a_learned_temperature_comes_before_the_released_one():
    learned = torch.tensor(0.5)
    chances = ((S3 / learned).softmax(1) + 1e-5).masked_fill(OWN, 0)
    torch.testing.assert_close(ready([0, 1, 2]).chances(S3, OWN, learned), chances / chances.sum(1, keepdim=True))


def by_hand(made: Matching, head: Head, given: Step, image_of: list[int]) -> float:
    """The value in loops: chances, dice and cross-entropies one by one, in double precision."""
    images, captions = given.batch.images.tolist(), given.batch.captions.tolist()
    b, m, s = len(images), len(captions), given.scores.double().tolist()
    dice, tau = made.dice(given), 0.07
    pairs = [(j if b == m else images.index(image_of[captions[j]]), j, 1) for j in range(m)]

    def pick(values: list[float], same: list[bool], throw: float) -> int:
        total = sum(math.exp(v / tau) for v in values)
        chances = [0.0 if out else math.exp(v / tau) / total + 1e-5 for v, out in zip(values, same, strict=True)]
        limit, reached = throw * sum(chances), 0.0
        for place, chance in enumerate(chances):
            reached += chance
            if reached > limit:
                return place
        raise AssertionError

    belongs = [[images[i] == image_of[captions[j]] for j in range(m)] for i in range(b)]
    throws = dice.random(m)
    for j in range(m):
        column = [s[i][j] for i in range(b)]
        pairs.append((pick(column, [belongs[i][j] for i in range(b)], throws[j]), j, 0))
    throws = dice.random(b)
    for i in range(b):
        pairs.append((i, pick(s[i], belongs[i], throws[i]), 0))
    costs = []
    for i, j, right in pairs:
        no, yes = head.match(given.images[i : i + 1], given.captions[j : j + 1])[0].tolist()
        costs.append(math.log(math.exp(no) + math.exp(yes)) - (yes if right else no))
    return sum(costs) / len(costs)


PAIRS = ([0, 1, 1, 2, 0], [0, 2, 3, 4, 1])  # two captions of images 0 and 1 each, and image 1 twice
IMAGE_OF = [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("update", range(4))
def test_the_value_is_that_of_loops(update):
    """Batches of pairs, whatever the loss counts as positive, and of images with all their captions."""
    images = torch.tensor(PAIRS[0])
    masks = [torch.eye(5, dtype=torch.bool), images[:, None] == images]
    cases = [(*PAIRS, mask) for mask in masks]
    images = torch.tensor([1, 2, 0])[:, None] == torch.tensor([1, 1, 2, 2, 0, 0])
    cases.append(([1, 2, 0], [2, 3, 4, 5, 0, 1], images))
    for rows, columns, mask in cases:
        head = Head()
        made, given = ready(IMAGE_OF, model=head), step(rows, columns, mask, update=update)
        assert float(made(given).detach()) == pytest.approx(by_hand(made, head, given, IMAGE_OF), rel=1e-6)
        assert len(made.pairs(given)[2]) == 2 * len(columns) + len(rows)


@pytest.mark.parametrize(("batches", "positives"), [("pairs", "diagonal"), ("pairs", "image"), ("images", "diagonal")])
def test_pairs_of_one_image_are_never_drawn(scenes, batches, positives):
    """Also where they score highest by far, and where the loss counts them as negatives; over two epochs."""
    image_of = scenes.train.image_of
    made = ready(image_of.tolist())
    sampler, together = Sampler(scenes.train, 0, 16, batches, positives), 0
    for number in range(2 * sampler.per_epoch):
        batch = sampler[number]
        same = batch.images[:, None] == image_of[batch.captions]
        scores = torch.where(same, 1.0, -1.0)
        given = Step(number, batch, None, None, None, None, scores, batch.positives)
        rows, columns, right = made.pairs(given)
        assert torch.equal(batch.images[rows] == image_of[batch.captions[columns]], right == 1)
        assert right.sum() == len(batch.captions)
        if batches == "pairs":
            assert torch.equal(rows[: len(batch.images)], columns[: len(batch.images)]), "each with its own picture"
            together += int(same.sum()) - len(same)
    assert batches == "images" or together > 20


def test_equal_texts_are_never_drawn_either():
    """Positives that the loss knows of, beyond the images' own."""
    mask = torch.tensor([[1, 0, 1], [0, 1, 0], [1, 0, 1]]).bool()
    made = ready([0, 1, 2])
    for update in range(50):
        rows, columns, right = made.pairs(step([0, 1, 2], [0, 1, 2], mask, update=update))
        assert not mask[rows, columns][right == 0].any()


def test_who_has_no_other_is_left_out():
    """A batch of one image has no wrong pair; one caption that all images have has none for them."""
    made = ready([0, 0, 1])
    rows, columns, right = made.pairs(step([0, 0], [0, 1], torch.eye(2, dtype=torch.bool)))
    assert right.tolist() == [1, 1] and rows.tolist() == columns.tolist() == [0, 1]
    assert drawn(torch.tensor([[0.0, 0.0], [0.0, 1.0]]), made.dice(step([0], [0], OWN[:1, :1]))).tolist() == [-1, 1]


def test_its_dice_are_its_own():
    """From seed, update and rows alone: never torch's generator, and not what was drawn before."""
    mask = torch.eye(5, dtype=torch.bool)
    made, scores = ready(IMAGE_OF), torch.zeros(5, 5)

    def pairs(one, update=0, columns=PAIRS[1]):
        return [part.tolist() for part in one.pairs(step(PAIRS[0], columns, mask, scores, update))]

    state, first = torch.get_rng_state(), pairs(made)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    assert pairs(made) == first == pairs(ready(IMAGE_OF))
    assert pairs(made, 1) != first and pairs(ready(IMAGE_OF, seed=6)) != first
    assert pairs(made, 0, [1, 3, 2, 5, 0]) != first


def test_no_gradient_passes_through_the_draws():
    """The similarities are asked for nothing; both encodings and the head learn."""
    head = Head()
    made, given = ready(IMAGE_OF, model=head), step(*PAIRS, torch.eye(5, dtype=torch.bool))
    for part in (given.images, given.captions):
        part.requires_grad_(True)
    scores = (given.images @ given.captions.T).detach().requires_grad_(True)
    made(Step(0, given.batch, None, None, given.images, given.captions, scores, given.positives)).backward()
    assert scores.grad is None
    assert all(part.grad.abs().sum(1).all() for part in (given.images, given.captions))
    assert head.layer.weight.grad.abs().sum() > 0


def test_the_criterion_hands_on_what_it_has_learned(scenes, monkeypatch):
    seen = []
    monkeypatch.setattr(Matching, "forward", lambda self, step: seen.append(step.tau) or step.scores.sum() * 0)
    settings = {**SMALL, "updates": 3, "lr": 0.05, "evaluate_every": 3, "progress": False}
    icrlib.train(scenes, "matching", **settings)
    assert float(seen[0]) == pytest.approx(0.07) and len({float(tau) for tau in seen}) == 3
    assert not seen[0].requires_grad
    seen.clear()
    icrlib.train(scenes, "matching", "goal:con x con", **settings)
    assert seen == [None] * 3
