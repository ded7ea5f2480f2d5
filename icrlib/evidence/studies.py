"""Stands for :mod:`icrlib.studies` until that is there: what places and rows need to know of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Study:
    """The part of ``icrlib.studies.Study`` that is used here."""

    name: str
    search: tuple[str, ...] = ()
    wanted: int = 0
    needs: str = ""
    apart: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def command(self, losses: Iterable[str] = (), method: str = "", search: bool = True) -> tuple[str, ...]:
        losses = set(losses)
        own = {loss: name for (model, loss), name in self.apart.items() if model == method and loss in losses}
        typed = dict.fromkeys((*(self.search if search else ()), self.name) if losses - set(own) or not losses else ())
        features = " FEATURES=folder" if self.needs == "features" else ""
        found = dict.fromkeys(f"make records STUDY={name}{features}" for name in typed)
        for name in dict.fromkeys(own[loss] for loss in sorted(own)):
            found |= dict.fromkeys(studies[name].command(search=search))
        return tuple(found)


_PHOTOS = {"needs": "features", "wanted": 3}
studies = {
    one.name: one
    for one in (
        *map(Study, ("tuning", "half_tuning", "size_tuning", "vsrn_size_tuning", "few_tuning", "batch_tuning")),
        *map(Study, ("vsrn_tuning", "ltd_stamps", "beyond", "beyond_tuning", "clipping")),
        *(
            Study(f"photo_{name}tuning", needs="features")
            for name in ("", "smoothap_", "vsrn_", "ltd_", "few_sentences_")
        ),
        *(Study(f"photo_{name}", needs="features") for name in ("constants", "short", "small_edges", "ltd_more")),
        Study("ecir", (), 10),
        Study("tuned", ("tuning",), 10),
        Study("misprint", ("tuning",), 10),
        Study("half", ("half_tuning",), 5),
        Study("twice", (), 5),
        Study("sizes", ("size_tuning",), 3),
        Study("vsrn_sizes", ("vsrn_size_tuning",), 3),
        Study("few", ("few_tuning",), 3),
        Study("batches", ("batch_tuning",), 3),
        Study("false_negatives", ("size_tuning",), 3),
        Study("vsrn", ("vsrn_tuning",), 10),
        Study("photo_runs", ("photo_tuning",), apart={("vse++", "smoothap"): "photo_smoothap"}, **_PHOTOS),
        Study("photo_smoothap", ("photo_smoothap_tuning",), needs="features"),
        Study("photo_vsrn", **_PHOTOS),
        Study("photo_misprint", ("photo_tuning",), **_PHOTOS),
        Study("photo_own", ("photo_constants",), **_PHOTOS),
        Study("photo_length", ("photo_short",), **_PHOTOS),
        Study("photo_small_own", ("photo_small_edges",), **_PHOTOS),
        Study("photo_few_sentences", ("photo_few_sentences_tuning",), **_PHOTOS),
        Study("photo_ltd", ("photo_ltd_tuning",), **_PHOTOS),
        Study("ltd", ("ltd_tuning",), 5),
        Study("ltd_eta", ("ltd_tuning",), 5),
        Study("ltd_triplet", ("ltd_triplet_tuning",), 5),
    )
}
