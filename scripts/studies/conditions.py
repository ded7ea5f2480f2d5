"""Under which conditions losses are compared: which studies hold the runs of which model, with which change."""

from __future__ import annotations

from icrlib.evidence.conditions import Condition

_VSE, _PHOTO = "vse++", "flickr8k"
_OWN = {"triplet": ("tuned",), "triplet_sh": ("tuned",), "smoothap": ("tuned",)}  # NT-Xent's best is the published one
ON_VSE = (
    Condition("published constants", _VSE, ("ecir",)),
    Condition("half the updates", _VSE, ("half",)),
    Condition("twice the updates", _VSE, ("twice",)),
    Condition("not clipped", _VSE, ("clipping",)),
    Condition("own constants", _VSE, ("ecir",), instead=_OWN),
    Condition(
        "own constants, half the updates",
        _VSE,
        ("half",),
        instead={"triplet_sh": ("half_own",)},
        losses=("triplet_sh", "ntxent"),
    ),
    Condition("own constants, 6,000 pictures", _VSE, ("sizes", "sizes_more"), train=6000),
    Condition("own constants, 400 pictures", _VSE, ("sizes",), train=400),
)
ELSEWHERE = (
    Condition("bag of words", "bow", ("ecir",)),
    Condition("bag of words, half the updates", "bow", ("half",)),
    Condition("bag of words, own constants", "bow", ("ecir",), instead=_OWN),
    Condition("VSRN", "vsrn", ("vsrn",)),
    Condition("VSRN, own constants", "vsrn", ("vsrn_sizes",), train=1500),
    Condition(
        "maxima of states", "vse_infty", ("quick",), constants={"ntxent": {"tau": 0.1}, "smoothap": {"tau": 0.01}}
    ),
    Condition(
        "maxima of states, own constants",
        "vse_infty",
        ("quick",),
        constants={"ntxent": {"tau": 0.05}, "smoothap": {"tau": 0.03}},
    ),
    Condition("photos, VSE++", _VSE, ("photo_runs",), _PHOTO, instead={"triplet_sh": ("photo_runs", "photo_tied")}),
    Condition("photos, VSE++, own constants", _VSE, ("photo_runs",), _PHOTO, instead={"triplet_sh": ("photo_own",)}),
    Condition(
        "photos, bag of words, own constants",
        "bow",
        ("photo_runs",),
        _PHOTO,
        instead={"triplet_sh": ("photo_own",), "smoothap": ("photo_own",)},
    ),
)
