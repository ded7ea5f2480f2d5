"""Linear probes: against a slow twin, and on encodings made to hold a fact, or all but it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import icrlib
from icrlib import probes
from icrlib.data.scenes import generate
from icrlib.data.scenes.facts import facts
from icrlib.data.scenes.graph import COLOURS, SHAPES, Scene
from icrlib.models.base import Sequences


def drawn(count: int, seed: int):
    made = generate.draw_split(count, np.random.default_rng(seed))
    return SimpleNamespace(graphs=[Scene.from_json(g) for g in made["graphs"]], forms=made["forms"])


@pytest.fixture(scope="module")
def splits():
    return {"train": drawn(300, 1), "val": drawn(60, 2), "test": drawn(150, 3)}


def bag(form: dict) -> torch.Tensor:
    """Which shapes and colours a caption names, and nothing of their order."""
    held = torch.zeros(16, dtype=torch.double)
    for thing in form["things"]:
        held[SHAPES.index(thing["shape"])] += 1
        if "colour" in thing:
            held[8 + COLOURS.index(thing["colour"])] += 1
    return held


def bound(form: dict) -> torch.Tensor:
    """Which shape has which colour, and nothing else."""
    held = torch.zeros(8, 9, dtype=torch.double)
    for thing in form["things"]:
        held[SHAPES.index(thing["shape"]), COLOURS.index(thing["colour"]) if "colour" in thing else 8] += 1
    return held.flatten()


def vectors_of(splits, of_caption):
    return {
        name: (torch.zeros(len(split.graphs), 2, dtype=torch.double), torch.stack([*map(of_caption, split.forms)]))
        for name, split in splits.items()
    }


def accuracies(splits, of_caption):
    return probes.read(vectors_of(splits, of_caption), splits).set_index(["of", "fact"])["accuracy"]


def slow_weights(x, y, penalty):
    """Ridge with a free constant, as a least-squares problem with extra rows."""
    scale = penalty * np.mean(np.sum((x - x.mean(0)) ** 2, 0)) + 1e-12
    design = np.vstack(
        [
            np.hstack([x, np.ones((len(x), 1))]),
            np.hstack([np.sqrt(scale) * np.eye(x.shape[1]), np.zeros((x.shape[1], 1))]),
        ]
    )
    return np.linalg.lstsq(design, np.vstack([y, np.zeros((x.shape[1], y.shape[1]))]), rcond=None)[0]


def test_a_probe_is_ridge_regression(splits):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(1500, 6, generator=generator, dtype=torch.double)
    for fact in facts(splits["train"], "caption"):
        if fact.name in ("colour of the first", "whose colour", "who is left"):
            weights = probes.fit(fact, vectors, 0.3)
            for group in set(fact.known[:, 1].tolist()):
                row, _, label = fact.known[fact.known[:, 1] == group].numpy().T
                twin = slow_weights(vectors.numpy()[row], np.eye(fact.answers)[label], 0.3)
                assert np.allclose(weights[group].numpy(), twin, atol=1e-8)


def test_accuracy_and_chance_case_by_case(splits):
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(750, 6, generator=generator, dtype=torch.double)
    for trained, fact in zip(facts(splits["train"], "caption"), facts(splits["test"], "caption"), strict=True):
        weights = torch.randn(8, 7, fact.answers, generator=generator, dtype=torch.double)
        right, lucky, answers = [], [], {}
        for _, group, label in trained.known.tolist():
            answers.setdefault(group, []).append(label)
        usual = {group: max(sorted(set(some)), key=some.count) for group, some in answers.items()}
        for row, group, label, other in fact.asked.tolist():
            values = (vectors[row] @ weights[group, :-1] + weights[group, -1]).tolist()
            right.append(values[label] > values[other] if other >= 0 else values[label] == max(values))
            lucky.append(usual[group] == label)
        assert probes.correct(fact, vectors, weights).tolist() == [float(x) for x in right]
        assert probes.chance(trained, fact) == pytest.approx(50 if fact.choice else 100 * np.mean(lucky))


def test_a_bag_knows_what_is_named_and_not_whose_it_is_and_what_is_bound_is_found(splits):
    found = accuracies(splits, bag)
    assert found["caption", "colours named"] == found["caption", "shapes named"] == 100
    assert 40 < found["caption", "whose colour"] < 60 and 40 < found["caption", "who is left"] < 60
    assert found["caption", "background"] < 50 and found["caption", "colour of the first"] < 75
    found = accuracies(splits, bound)
    assert found["caption", "whose colour"] > 99 and found["caption", "colours named"] == 100
    assert 35 < found["caption", "who is left"] < 65  # order was not kept


def test_the_penalty_is_chosen_on_val_and_never_on_test(splits):
    encoded = vectors_of(splits, bag)
    first = probes.read(encoded, splits)
    turned = encoded | {"test": (encoded["test"][0], -encoded["test"][1])}
    assert probes.read(turned, splits)["penalty"].equals(first["penalty"])
    assert not probes.read(turned, splits)["accuracy"].equals(first["accuracy"])
    rows = first[first["of"] == "caption"].itertuples()
    for row, trained, fact in zip(rows, *(facts(splits[name], "caption") for name in ("train", "test")), strict=True):
        weights = probes.fit(trained, encoded["train"][1], row.penalty)
        assert row.accuracy == pytest.approx(100 * probes.correct(fact, encoded["test"][1], weights).mean().item())


def test_a_trained_model_and_what_is_refused(tiny, splits):
    data = icrlib.load_dataset("scenes", smoke=True, progress=False)
    run = icrlib.train(data, "bow", "ntxent", smoke=True, progress=False)
    found = probes.probe(run.model, data)
    assert found.equals(probes.probe(run.model, data)) and found["accuracy"].between(0, 100).all()
    beside = probes.compared({"a": found, "b": found})
    assert list(beside.columns) == ["of", "fact", "n", "chance", "a", "b"] and beside["b"].equals(found["accuracy"])
    with pytest.raises(ValueError, match="'b'"):
        probes.compared({"a": found, "b": found.assign(n=1)})
    with pytest.raises(ValueError, match="need the data set 'scenes'"):
        probes.probe(None, tiny)
    lists = Sequences(torch.zeros(2, 3, 4), torch.ones(2))
    with pytest.raises(ValueError, match="sequences"):
        probes.read({name: (lists, lists) for name in splits}, splits)
