"""Models: encoders of images and captions, and their similarity. Nothing here knows about data or training."""

from icrlib.models.base import RetrievalModel, Sequences
from icrlib.models.bow import BagOfWords
from icrlib.models.build import build, options_of
from icrlib.models.on_pictures import MODES, OnPictures
from icrlib.models.vse import VSE
from icrlib.names import METHODS

__all__ = ["METHODS", "MODES", "BagOfWords", "OnPictures", "RetrievalModel", "Sequences", "VSE", "build", "options_of"]
