"""``scenes``: small pictures of coloured shapes whose captions are true or false, and known to be. See CARD.md."""

from icrlib.data.scenes.generate import load
from icrlib.data.scenes.grammar import truth

__all__ = ["load", "truth"]
