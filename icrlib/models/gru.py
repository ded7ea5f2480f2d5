"""The former place of :mod:`icrlib.models.parts.gru`."""

from icrlib.models.parts.gru import Recurrence, last_states

__all__ = ["Recurrence", "last_states"]
