"""What a reader moves: sliders over figures, and the score table. With a kernel and without one."""

from icrlib.widgets.frames import frames_slider, live
from icrlib.widgets.loop import loop_explorer
from icrlib.widgets.score_table import explorer, explorer_on_circle

__all__ = ["explorer", "explorer_on_circle", "frames_slider", "live", "loop_explorer"]
