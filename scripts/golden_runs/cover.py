"""Which golden runs there are to be: each kind of run that records hold, and once each value of its settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from golden_runs.measure import LOOK, UPDATES
from icrlib.planning import operations
from icrlib.training.settings import NEUTRAL

TINY = {"train": 200, "val": 40, "test": 20, "seed": 7}
KIND = ("dataset", "method", "loss", "auxiliary")
# What the fast lane repeats: one of each kind of loss, model, data and switch, and quick.
FEW = (
    "flickr8k/bow/ntxent",
    "scenes/bow/dcl",
    "scenes/bow/ntxent",
    "scenes/bow/smoothap",
    "scenes/ltd/ntxent/latent",
    "scenes/ltd/triplet_sh",
    "scenes/vse++/goal:cir x sig",
    "scenes/vse++/ntxent",
    "scenes/vse++/siglip",
    "scenes/vse++/triplet",
    "scenes/vse++/triplet_sh",
    "unused/averaging",
)
SHORTENED = ("updates", "evaluate_every", "epochs", "lr_update")
PLACE = ("seed", "data_seed", "device", "threads", "asked", "data_hash")
NO_FACTS = (*SHORTENED, *PLACE, "drops", "per_epoch", "finetune_lr", "restart_lr", "smoke", "behaviour")
SIZES = ("train", "val", "test", "seed", "rounds", "smoke")


def facts(config: Mapping) -> set[str]:
    """What of a configuration a golden run is to have somewhere: ``name=value``, settings and options alike."""
    kind = " ".join(str(config[name]) for name in KIND)
    after = config["finetune_after"]
    found = {
        f"kind={kind}",
        f"warmup={bool(config['warmup'])}",
        f"finetune_after={after if after is None else min(after, 1)}",
        f"restart={config['restart_lr'] is not None}",
    }
    for name, value in config.items():
        if name in NO_FACTS:
            continue
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}={json.dumps(item)}" for key, item in value.items() if key not in SIZES}
        elif name not in (*KIND, "warmup", "finetune_after"):
            found.add(f"{name}={json.dumps(value)}")
    return found


def covered(known: Iterable[Mapping]) -> set[str]:
    """What the goldens have, each in the configuration that it came to."""
    return {fact for golden in known for fact in facts(NEUTRAL | golden["config"])}


def missing(records: Iterable[Mapping], known: Iterable[Mapping]) -> list[dict]:
    """Requests (``name``, ``asked``) for what ``records`` hold and no golden of ``known`` covers: the fewest that a
    greedy choice finds, kinds first; and for every part and switch that no record has used yet."""
    known = list(known)
    have, names, found = covered(known), {golden["name"] for golden in known}, []
    waiting = [(facts(record["config"]), record["config"]) for record in records]
    for kinds_only in (True, False):
        while open_ := [(own - have, config) for own, config in waiting if _wanted(own - have, kinds_only)]:
            gain, config = max(open_, key=lambda one: len(one[0]))  # the first of equals: records come sorted
            found.append({"name": _name(config, gain, names), "asked": request(config)})
            have |= facts(config)
    return found + [{"name": name, "asked": asked} for name, asked in UNUSED.items() if name not in names]


def _wanted(new: set[str], kinds_only: bool) -> bool:
    return any(fact.startswith("kind=") for fact in new) if kinds_only else bool(new)


def _name(config: Mapping, gain: set[str], names: set[str]) -> str:
    """A name that says what the run is there for."""
    name = "/".join(str(config[part]) for part in KIND if config[part] is not None)
    if not any(fact.startswith("kind=") for fact in gain):
        name += "/" + ",".join(sorted(re.sub(r"^\w+_options\.", "", fact) for fact in gain)).replace('"', "")
    while name in names:
        name += "'"
    names.add(name)
    return name


def request(config: Mapping) -> dict:
    """What a run of records was asked for, on tiny data, with everything moved into its few updates."""
    settings = {name: value for name, value in config["asked"].items() if name not in (*SHORTENED, *PLACE)}
    share = UPDATES / config["updates"]
    for name in ("warmup", "finetune_after"):
        if settings.get(name):
            settings[name] = max(1, round(settings[name] * share))
    data = {name: value for name, value in config["data_options"].items() if name not in (*SIZES, "backbone")}
    if config["dataset"] in ("scenes", "rendered", "stamps"):
        data |= TINY
    elif operations.takes(config["method"]) == "regions":
        data["regions"] = True
    if "rounds" in config["data_options"]:
        data["rounds"] = 1
    if config["backbone"] is not None:  # a network runs in each update
        settings.setdefault("batch_size", 32)
    if not data.get("regions"):
        data.pop("regions", None)
    return _asked(config["dataset"], data, config["method"], config["loss"], settings)


def _asked(dataset: str, data: dict, method: str, loss: str, settings: dict) -> dict:
    settings = settings | {"updates": UPDATES, "evaluate_every": LOOK}
    return {"dataset": dataset, "data": data, "method": method, "loss": loss, "seed": 3, "settings": settings}


def _unused(method: str, loss: str, **settings: object) -> dict:
    phrasing = {"phrasing": settings.pop("phrasing")} if "phrasing" in settings else {}
    boxes = {"regions": True} if operations.takes(method) == "regions" else {}
    return _asked("scenes", TINY | boxes | phrasing, method, loss, settings)


# What no record of the book has used yet and readers may.
UNUSED = {
    **{
        f"unused/{loss}": _unused("bow", loss)
        for loss in ("ntxent_hard", "circle", "binomial_deviance", "multi_similarity", "alignment")
    },
    "unused/averaging": _unused(
        "vse++",
        "ntxent",
        average="swa",
        average_from=0.3,
        average_times=2,
        accumulate=2,
        batch_size=50,
        optimiser="adamw",
        weight_decay=1.0,
        lr_warmup=20,
        schedule="cosine",
    ),
    "unused/bfloat16": _unused("vse++", "triplet", precision="bfloat16", delete_words=0.2),
    "unused/vsrn": _unused("vsrn", "ntxent", graph_norm="features", linear_norm="features", final_norm=False),
    "unused/phrasing": _unused("vse++", "ntxent", phrasing="apart", pool="max"),
    "unused/texts": _unused("bow", "ntxent", phrasing="label", positives="text", relevance="text"),
    "unused/means": _unused("vse++", "triplet", pool="mean"),
    "unused/vse_infty": _unused("vse_infty", "ntxent"),
    "unused/vse_infty-max": _unused("vse_infty", "triplet", pool="max", padding="masked", optimiser="adam"),
    "unused/cmn": _unused("cmn", "ntxent", embed_dim=32, mentions=3),
    "unused/cmn-parts": _unused("cmn", "triplet_sh", embed_dim=32, relation="places", find="mean"),
    "unused/foils": _unused("vse++", "ntxent", phrasing="apart", negatives="foils", drop_words=0.1),
    "unused/foils-pairs": _unused("bow", "triplet", negatives="foils", ngrams=2),
    "unused/scan": _unused("scan", "ntxent", embed_dim=32, word_dim=16),
    "unused/scan-regions": _unused("scan", "triplet_sh", embed_dim=32, word_dim=16, attend="i-t", pool="lse"),
    "unused/xvlm": _unused("xvlm", "ntxent", embed_dim=32, word_dim=16, rerank=10),
    "unused/xvlm-goal": _unused("xvlm", "goal:con x con", embed_dim=32, word_dim=16, blocks=1, temperature=0.2),
    "unused/soft-labels": _unused("bow", "ntxent", denominator="candidates", positives="image", learn_tau=True),
    "unused/projected": _unused("ltd", "ntxent", multiplier="projected", eta=0.05, target="lsa"),
}
