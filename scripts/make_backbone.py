"""Train the backbone of ``scenes`` and write its weights and a report beside icrlib/data/scenes/backbone.py.

The network learns as ImageNet networks do: through the mean of its last map, with one multi-label head over what is
in the picture. A second head reads the map under each object's box, so that regions know their object too. Both heads
are thrown away. About six minutes on two cores.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from tqdm import tqdm

from icrlib.data.scenes import backbone, graph, pictures
from icrlib.files import sha256_of, write_bytes

# Pairs of attributes that the pooled head names; each pair is one block of labels.
PAIRS = (("colour", "shape"), ("shape", "cell"), ("colour", "cell"), ("size", "shape"), ("fill", "shape"))
CODES = {**graph.VALUES, "cell": tuple(range(graph.GRID**2))}
BLOCKS = {f"{a} x {b}": len(CODES[a]) * len(CODES[b]) for a, b in PAIRS}
BLOCKS |= {"cell": len(CODES["cell"]), "count": 4, "background": len(graph.BACKGROUNDS)}
BOXES = 5


def draw(count: int, seed: int) -> dict[str, Tensor]:
    """Scenes as tensors: pictures, labels of the pooled head, boxes and attributes of every object (-1: none)."""
    rng = np.random.default_rng(seed)
    scenes: list[graph.Scene] = []
    while len(scenes) < count:
        scenes.append(graph.sample(rng))
        if rng.random() < 0.3 and len(scenes) < count:
            scenes.append(graph.twin(scenes[-1], rng)[0])
    drawn = np.stack([pictures.render(scene, rng) for scene in tqdm(scenes, "drawing")])
    labels = np.zeros((count, sum(BLOCKS.values())), np.float32)
    boxes, things = np.zeros((count, BOXES, 4), np.uint8), np.full((count, BOXES, 4), -1)
    boxes[:, :, 2:] = pictures.SIDE
    for i, scene in enumerate(scenes):
        labels[i, _labels(scene)] = 1
        for j, thing in enumerate(scene.things):
            boxes[i, j] = pictures.box(thing)
            things[i, j] = [CODES[name].index(getattr(thing, name)) for name in graph.VALUES]
    return {
        "pictures": torch.from_numpy(drawn),
        "labels": torch.from_numpy(labels),
        "boxes": torch.from_numpy(boxes),
        "things": torch.from_numpy(things),
    }


def folded(network: backbone.Backbone) -> backbone.Backbone:
    """The same function (in evaluation mode) without batch norm: its scale and shift move into the weights."""
    plain, layers = backbone.Backbone(), network.eval().layers
    for place, pair in enumerate(zip(layers[::3], layers[1::3], strict=True)):
        plain.layers[2 * place] = fuse_conv_bn_eval(*pair)
    return plain.eval()


def _labels(scene: graph.Scene) -> list[int]:
    on, start = [], 0
    for first, second in PAIRS:
        width = len(CODES[second])
        on += [
            start + CODES[first].index(getattr(t, first)) * width + CODES[second].index(getattr(t, second))
            for t in scene.things
        ]
        start += len(CODES[first]) * width
    on += [start + thing.cell for thing in scene.things]
    start += len(CODES["cell"])
    return [*on, start + len(scene.things) - 2, start + 4 + graph.BACKGROUNDS.index(scene.background)]


class Trainer(nn.Module):
    """Backbone with batch norm and the two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = backbone.Backbone(norm=True)
        self.pooled = nn.Linear(backbone.FEATURES, sum(BLOCKS.values()))
        self.region = nn.Linear(backbone.FEATURES, sum(len(v) for v in graph.VALUES.values()))

    def forward(self, pictures: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        maps = self.backbone(pictures)
        regions = torch.einsum("ndhw,nrhw->nrd", maps, backbone.box_weights(boxes))
        return self.pooled(maps.mean((2, 3))), self.region(regions)


def region_loss(logits: Tensor, things: Tensor) -> Tensor:
    """Mean cross-entropy of shape, colour, size and fill over all objects; padding (-1) is left out."""
    parts = logits.split([len(values) for values in graph.VALUES.values()], dim=-1)
    return sum(
        F.cross_entropy(part.flatten(0, 1), things[..., k].flatten(), ignore_index=-1) for k, part in enumerate(parts)
    )


@torch.no_grad()
def quality(trainer: Trainer, data: dict[str, Tensor]) -> dict:
    """Precision and recall of each block of the pooled head, and accuracy of the region head, on unseen scenes."""
    trainer.eval()
    out = [trainer(p, b) for p, b in zip(data["pictures"].split(250), data["boxes"].split(250), strict=True)]
    pooled, region = torch.cat([a for a, _ in out]) > 0, torch.cat([b for _, b in out])
    report: dict = {"pooled": {}, "region": {}}
    sizes = list(BLOCKS.values())
    for name, found, true in zip(BLOCKS, pooled.split(sizes, 1), data["labels"].bool().split(sizes, 1), strict=True):
        both = float((found & true).sum())
        shares = {"precision": both / max(1, int(found.sum())), "recall": both / int(true.sum())}
        report["pooled"][name] = {key: round(share, 3) for key, share in shares.items()}
    parts = region.split([len(values) for values in graph.VALUES.values()], dim=-1)
    for k, (name, part) in enumerate(zip(graph.VALUES, parts, strict=True)):
        there = data["things"][..., k] >= 0
        right = part.argmax(-1)[there] == data["things"][..., k][there]
        report["region"][name] = round(float(right.float().mean()), 4)
    return report


@click.command(help=__doc__)
@click.option("--scenes", default=16_000, show_default=True, help="Training scenes.")
@click.option("--unseen", default=2000, show_default=True, help="Scenes of the report's precision and recall.")
@click.option("--epochs", default=10, show_default=True)
@click.option("--batch", default=128, show_default=True)
@click.option("--lr", default=5e-3, show_default=True, help="Peak learning rate of the one-cycle schedule.")
@click.option("--seed", default=99, show_default=True, help="Seed of the scenes; the book's own data use others.")
@click.option("--threads", default=2, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=backbone.WEIGHTS, help="Where the weights go.")
def main(scenes: int, unseen: int, epochs: int, batch: int, lr: float, seed: int, threads: int, out: Path) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    data, new = draw(scenes, seed), draw(unseen, seed + 1)
    trainer = Trainer()
    optimiser = torch.optim.AdamW(trainer.parameters(), lr=lr, weight_decay=1e-3)
    steps = scenes // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, lr, total_steps=epochs * steps)
    began = time.perf_counter()
    for epoch in range(epochs):
        trainer.train()
        for rows in tqdm(torch.randperm(scenes)[: steps * batch].view(-1, batch), f"epoch {epoch + 1} of {epochs}"):
            pooled, region = trainer(data["pictures"][rows], data["boxes"][rows])
            loss = F.binary_cross_entropy_with_logits(pooled, data["labels"][rows], reduction="none").sum(1).mean()
            loss = loss + region_loss(region, data["things"][rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        click.echo(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    seconds = time.perf_counter() - began
    report = quality(trainer, new)
    trained = {name: value.half() for name, value in folded(trainer.backbone).state_dict().items()}
    write_bytes(out, save(trained))
    about = {
        "scenes": scenes,
        "epochs": epochs,
        "batch": batch,
        "lr": lr,
        "seed": seed,
        "torch": torch.__version__,
        "seconds": round(seconds),
        "bytes": out.stat().st_size,
        "sha256": sha256_of(out),
        **report,
    }
    write_bytes(out.with_suffix(".json"), (json.dumps(about, indent=1) + "\n").encode())
    click.echo(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
