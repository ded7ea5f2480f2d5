"""What the rule found, in words: every sentence is made of verdicts and costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from icrlib.evidence.decision.plan import KINDS, name_of
from icrlib.evidence.decision.rule import Answer, Decision, Rungs, System, dearer, narrow, steps_up
from icrlib.evidence.verdicts import Difference, Verdict
from icrlib.names import label

Name = Callable[[System], str]


def bare(difference: Difference) -> str:
    """A difference without its unit, where the unit has just been said."""
    return str(difference).removesuffix(" rsum")


def by_loss(system: System) -> str:
    """The name of a system among those of one model: its loss's."""
    return label(system[1])


def not_apart(
    decision: Decision, situation: str, here: System, climbed: bool, tests: dict[System, Verdict], name: Name
) -> list[str]:
    """What could not be told apart from the place where the rule ends, by what it costs."""
    cost = {s: decision.seconds(situation, s) for s, v in tests.items() if v.word != "fails"}
    mine = decision.seconds(situation, here)
    whys = {
        "dearer": f"take the cheaper, {name(here)} ({mine:.0f} s)",
        "alike": "the cost decides nothing" + ("" if climbed else f", {name(here)} had the higher validation rsum"),
        "cheaper": "cheaper, but not ahead of where this began",
    }
    groups: dict[str, list[str]] = {kind: [] for kind in whys}
    for s, value in cost.items():
        kind = "dearer" if dearer(value, mine) else "cheaper" if dearer(mine, value) else "alike"
        small = "too small to matter, " if tests[s].word == "equivalent" else ""
        groups[kind].append(f"{name(s)} ({bare(tests[s].difference)}, {small}{value:.0f} s)")
    return [f"no measured difference to {', '.join(groups[kind])}: {why}" for kind, why in whys.items() if groups[kind]]


def explain(decision: Decision, situation: str, rungs: Rungs, name: Name = name_of) -> str:
    """Why the last rung: whom it passed, whom it left behind, and from whom it could not be told apart."""
    here, last = rungs[-1]
    said = [
        f"{'narrowly ' * narrow(v)}ahead of {name(below)} by {bare(v.difference)}" for below, _, v in steps_up(rungs)
    ]
    behind = {s: v.difference for s, v in last.items() if v.word == "fails"}
    if behind:
        near = max(behind, key=lambda s: behind[s].mean)
        said.append(
            "behind it "
            + ", ".join(name(s) + " (narrowly)" * narrow(last[s]) for s in behind)
            + (", nearest " + name(near) if len(behind) > 1 else "")
            + f" ({bare(behind[near])})"
        )
    said += not_apart(decision, situation, here, len(rungs) > 1, last, name)
    return "; ".join(said) or "nothing else to compare it with has been run"


def because(decision: Decision, found: Answer) -> str:
    """Why this loss, and why this model."""
    where, models = found.situation, "no other model is complete within this time"
    if len(found.losses) > 1:
        models = explain(decision, where, found.models)
    return f"Loss: {explain(decision, where, found.losses[found.system[0]], by_loss)}. Model: {models}."


def sentence(decision: Decision, situation: str, limit: float = math.inf) -> str:
    """The answer of a situation in one sentence, in Markdown."""
    found = decision.answer(situation, limit)
    if found is None:
        return "not run yet"
    loss = explain(decision, situation, found.losses[found.system[0]], by_loss)
    return f"**{name_of(found.system)}**. Its loss: {loss}. The model: {explain(decision, situation, found.models)}."


def alike(found: Answer) -> list[System]:
    """What could not be told apart from the end of the rule, or was passed only narrowly."""
    own_loss = found.losses[found.system[0]]
    near = [below for rungs in (own_loss, found.models) for below, _, v in steps_up(rungs) if narrow(v)]
    near += [
        s
        for tests in (own_loss[-1][1], found.models[-1][1])
        for s, v in tests.items()
        if v.word in ("undecided", "equivalent") or narrow(v)
    ]
    return list(dict.fromkeys(near))


def narrow_steps(decision: Decision) -> Iterator[str]:
    """The narrow steps of all kinds of data, as sentences without their full stop."""
    for where, kind in KINDS.items():
        found = decision.answer(where)
        for rungs in (*found.losses.values(), found.models) if found else ():
            for below, there, v in steps_up(rungs):
                if narrow(v):
                    alone = (
                        f" (beside one question less clear it would be {min(1, 2 * v.p):.3f} or more: undecided)"
                        if 2 * v.p > 0.05
                        else ""
                    )
                    yield (
                        f"On {kind} {name_of(there)} is narrowly ahead of {name_of(below)}: {v.difference}, corrected "
                        f"p = {v.adjusted:.3f}, n = {v.n}{alone}. Take either: for you they are the same until more "
                        "runs say otherwise"
                    )


def undecided_share(decision: Decision) -> tuple[int, int]:
    """How many of the comparisons of the last steps could not be told apart, and how many there are."""
    ends = [rungs[-1][1] for s in KINDS if (a := decision.answer(s)) for rungs in (*a.losses.values(), a.models)]
    last = [v for tests in ends for v in tests.values()]
    return sum(v.word in ("undecided", "equivalent") for v in last), len(last)
