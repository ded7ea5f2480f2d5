"""What a latent target decoder reconstructs: vectors of captions, from teachers that are known by name."""

from icrlib.data.targets.base import vectors
from icrlib.data.targets.order_sensitivity import floor
from icrlib.data.targets.teachers import for_dataset, hold, teacher

__all__ = ["floor", "for_dataset", "hold", "teacher", "vectors"]
