"""VSRN's image branch once more, number by number: lists and loops, without torch's layers and without the library's.

It reads weights by name, and the layout of the weights is all that it shares with the model. Images are lists of
regions, regions are lists of numbers.
"""

from __future__ import annotations

import math


def linear(weight, bias, vector):
    return [sum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in zip(weight, bias, strict=True)]


def batch_norm(rows, state, name, training):
    """Each feature minus its mean, by its deviation over the rows (divided by their number), or by the stored ones."""
    out = [list(row) for row in rows]
    for k in range(len(rows[0])):
        if training:
            mean = sum(row[k] for row in rows) / len(rows)
            variance = sum((row[k] - mean) ** 2 for row in rows) / len(rows)
        else:
            mean, variance = state[f"{name}.running_mean"][k], state[f"{name}.running_var"][k]
        scale, shift = state[f"{name}.weight"][k], state[f"{name}.bias"][k]
        for row in out:
            row[k] = (row[k] - mean) / math.sqrt(variance + 1e-5) * scale + shift
    return out


def block(images, state, name, training):
    """Conv1d of kernel 1 is a linear map of each region; weights of theta, phi and g lie below one another."""
    size = len(images[0][0])
    weight, bias = state[f"{name}relate.weight"], state[f"{name}relate.bias"]
    maps = [(weight[k * size : (k + 1) * size], bias[k * size : (k + 1) * size]) for k in range(3)]
    mixed = []
    for regions in images:
        theta, phi, g = ([linear(*one, region) for region in regions] for one in maps)
        for i in range(len(regions)):
            gathered = [0.0] * size
            for j in range(len(regions)):
                affinity = sum(a * b for a, b in zip(theta[i], phi[j], strict=True)) / len(regions)
                gathered = [t + affinity * x for t, x in zip(gathered, g[j], strict=True)]
            mixed.append(linear(state[f"{name}mix.weight"], state[f"{name}mix.bias"], gathered))
    added = iter(batch_norm(mixed, state, f"{name}norm", training))
    return [[[a + b for a, b in zip(region, next(added), strict=True)] for region in regions] for regions in images]


def normed(regions, over):
    """One image. "regions": each feature by its length over the regions; "features": each region by its own length."""
    if over == "none":
        return regions
    if over == "features":
        return [unit(region) for region in regions]
    columns = [unit(column) for column in zip(*regions, strict=True)]
    return [list(region) for region in zip(*columns, strict=True)]


def unit(vector):
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def gru(regions, state, name):
    """The state after the last region."""
    size = len(state[f"{name}.weight_hh_l0"][0])
    h = [0.0] * size
    for region in regions:
        i = linear(state[f"{name}.weight_ih_l0"], state[f"{name}.bias_ih_l0"], region)
        f = linear(state[f"{name}.weight_hh_l0"], state[f"{name}.bias_hh_l0"], h)
        now = []
        for k in range(size):
            reset = 1 / (1 + math.exp(-i[k] - f[k]))
            update = 1 / (1 + math.exp(-i[size + k] - f[size + k]))
            fresh = math.tanh(i[2 * size + k] + reset * f[2 * size + k])
            now.append((1 - update) * fresh + update * h[k])
        h = now
    return h


def encode(images, state, options, training):
    """Images (lists) to unit vectors, in the order of the release."""
    project = state["project.weight"], state["project.bias"]
    images = [normed([linear(*project, region) for region in regions], options["linear_norm"]) for regions in images]
    for number in range(options["blocks"]):
        images = block(images, state, f"graph.{number}.", training)
    last = [gru(normed(regions, options["graph_norm"]), state, "reader") for regions in images]
    if options["final_norm"]:
        last = batch_norm(last, state, "final", training)
    return [unit(vector) for vector in last]


def fill(module):
    """Set every weight and buffer of a torch module to numbers that follow from its place alone."""
    for number, (name, value) in enumerate(module.state_dict().items()):
        if value.is_floating_point():
            flat = [math.sin(1.7 * k + number) for k in range(value.numel())]
            low = name.endswith("running_var") or name.endswith("norm.weight") or name == "final.weight"
            flat = [1 + 0.4 * x for x in flat] if low else [0.6 * x for x in flat]
            value.copy_(value.new_tensor(flat).view_as(value))


def numbers(shape, start=0.0):
    """Features (B, N, D) that follow from their place, as lists."""
    images, regions, size = shape
    return [
        [
            [0.5 + 0.5 * math.sin(2.3 * ((i * regions + j) * size + k) + start) for k in range(size)]
            for j in range(regions)
        ]
        for i in range(images)
    ]
