"""Parameters of the published sizes, by part: the counts of the releases at 2,048 numbers an image or a region."""

from __future__ import annotations

import pytest
import torch

from icrlib import models

LTD_GRU = 3 * 512 * (300 + 512 + 2)
PARTS = {
    # ECIR's release: GRU 300 → 1024, linear 2048 → 1024, 300 numbers a word
    "vse++": {"project": 2_098_176, "embed": 300, "gru": 4_073_472},
    # and no decoder of captions
    "vsrn": {
        "project": 4_196_352,
        "graph": 4 * 16_789_504,
        "reader": 25_178_112,
        "final": 4_096,
        "embed": 300,
        "gru": 14_438_400,
    },
    # FS S1.2: the layer of regions, the MLP, the GRUs, and a GPO each side
    "vse_infty": {
        "project": 2_098_176,
        "mlp": 1_575_424,
        "pool_regions": 12_704,
        "embed": 300,
        "gru": 8_146_944,
        "pool_words": 12_704,
    },
    "ltd": {
        "image_head": 2048 * 2048 + 2048 * 1024,
        "embed": 300,
        "forwards": LTD_GRU,
        "backwards": LTD_GRU,
        "caption_head": 2 * 1024 * 1024,
    },
}


@pytest.mark.parametrize("method", PARTS)
def test_published_sizes(method):
    with torch.device("meta"):
        model = models.build(method, feature_dim=2048, words=100)
    sizes = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    assert sizes == PARTS[method] | {"embed": 300 * 100}
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == sum(sizes.values())
