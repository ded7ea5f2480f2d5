"""Search: photos by words, captions or photos by a photo, in a folder of features or in an album of any pictures."""

from icrlib.search.album import Album
from icrlib.search.encoders import Own, Trained
from icrlib.search.index import Hit, Index
from icrlib.search.page import write_page

__all__ = ["Album", "Hit", "Index", "Own", "Trained", "write_page"]
