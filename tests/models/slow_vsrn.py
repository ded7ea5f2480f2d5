"""VSRN's image branch once more, image by image and pair by pair: without torch's layers and without the library's.

It reads weights by name, and the layout of the weights is all that it shares with the model.
"""

from __future__ import annotations

import torch
from torch import Tensor


def linear(rows: Tensor, state: dict, name: str) -> Tensor:
    return rows @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def batch_norm(rows: Tensor, state: dict, name: str, training: bool) -> Tensor:
    """Each feature minus its mean, by its deviation over the rows (divided by their number), or by the stored ones."""
    mean, variance = state[f"{name}.running_mean"], state[f"{name}.running_var"]
    if training:
        mean = rows.sum(0) / len(rows)
        variance = ((rows - mean) ** 2).sum(0) / len(rows)
    return (rows - mean) / (variance + 1e-5).sqrt() * state[f"{name}.weight"] + state[f"{name}.bias"]


def block(images: Tensor, state: dict, name: str, training: bool) -> Tensor:
    """Conv1d of kernel 1 is a linear map of each region; weights of theta, phi and g lie below one another."""
    mixed = []
    for regions in images:
        theta, phi, g = linear(regions, state, f"{name}.relate").chunk(3, 1)
        for i in range(len(regions)):
            gathered = sum((theta[i] @ phi[j]) / len(regions) * g[j] for j in range(len(regions)))
            mixed.append(linear(gathered, state, f"{name}.mix"))
    return images + batch_norm(torch.stack(mixed), state, f"{name}.norm", training).view_as(images)


def unit(vector: Tensor) -> Tensor:
    return vector / (vector**2).sum().sqrt()


def normed(regions: Tensor, over: str) -> Tensor:
    """One image. "regions": each feature by its length over the regions; "features": each region by its own length."""
    if over == "none":
        return regions
    return torch.stack([*map(unit, regions)]) if over == "features" else torch.stack([*map(unit, regions.T)]).T


def gru(regions: Tensor, state: dict, name: str) -> Tensor:
    """The state after the last region."""
    h = torch.zeros(state[f"{name}.weight_hh_l0"].shape[1], dtype=regions.dtype)
    for region in regions:
        i = (state[f"{name}.weight_ih_l0"] @ region + state[f"{name}.bias_ih_l0"]).chunk(3)
        f = (state[f"{name}.weight_hh_l0"] @ h + state[f"{name}.bias_hh_l0"]).chunk(3)
        reset, update = (1 / (1 + torch.exp(-i[k] - f[k])) for k in (0, 1))
        h = (1 - update) * torch.tanh(i[2] + reset * f[2]) + update * h
    return h


def encode(images: Tensor, state: dict, options: dict, training: bool) -> Tensor:
    """Images (B, N, D) to unit vectors, in the order of the release."""
    images = torch.stack([normed(linear(regions, state, "project"), options["linear_norm"]) for regions in images])
    for number in range(options["blocks"]):
        images = block(images, state, f"graph.{number}", training)
    last = torch.stack([gru(normed(regions, options["graph_norm"]), state, "reader") for regions in images])
    return torch.stack([*map(unit, batch_norm(last, state, "final", training) if options["final_norm"] else last)])


def fill(module: torch.nn.Module) -> None:
    """Set every weight and buffer of a torch module to numbers that follow from its place alone."""
    for number, (name, value) in enumerate(module.state_dict().items()):
        if value.is_floating_point():
            waves = torch.sin(1.7 * torch.arange(value.numel(), dtype=value.dtype) + number).view_as(value)
            positive = name.endswith(("running_var", "norm.weight")) or name == "final.weight"
            value.copy_(1 + 0.4 * waves if positive else 0.6 * waves)


def numbers(shape: tuple[int, int, int], start: float = 0.0) -> Tensor:
    """Features (B, N, D), float64, that follow from their place."""
    count = torch.Size(shape).numel()
    return (0.5 + 0.5 * torch.sin(2.3 * torch.arange(count, dtype=torch.float64) + start)).view(shape)
