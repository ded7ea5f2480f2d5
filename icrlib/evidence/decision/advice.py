"""What the decision page prints of an answer: its line, what is as good, and how much stayed undecided."""

from __future__ import annotations

from icrlib.evidence.decision.plan import KINDS, name_of
from icrlib.evidence.decision.rule import Answer, Decision, System, narrow, steps_up
from icrlib.paper.cells import span


def _minutes(decision: Decision, situation: str, system: System) -> str:
    seconds = decision.seconds(situation, system)
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def in_short(decision: Decision, situation: str) -> dict[str, str]:
    """Where to start on one kind of data, what is as good, and what the other models reach."""
    found = decision.answer(situation)
    near = [f"{name_of(s)} ({_minutes(decision, situation, s)})" for s in alike(found)]
    ahead = decision.mean(situation, found.system)
    ends = [rungs[-1][0] for m, rungs in found.losses.items() if m != found.system[0]]
    others = [
        f"{name_of(s)} ({_minutes(decision, situation, s)}): {decision.mean(situation, s) - ahead:+.0f} rsum"
        for s in ends
    ]
    numbers = [v.n for v in found.models[0][1].values()] or [decision.place[situation, *found.system].wanted]
    return {
        "your data": KINDS[situation],
        "start with": f"<b>{name_of(found.system)}</b>",
        "a training takes": _minutes(decision, situation, found.system),
        "as good, for all we know": "; ".join(near) or "nothing",
        "other models": "; ".join(others) or "–",
        "runs": span(numbers),
    }


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


def undecided_share(decision: Decision) -> tuple[int, int]:
    """How many of the comparisons of the last steps could not be told apart, and how many there are."""
    ends = [rungs[-1][1] for s in KINDS if (a := decision.answer(s)) for rungs in (*a.losses.values(), a.models)]
    last = [v for tests in ends for v in tests.values()]
    return sum(v.word in ("undecided", "equivalent") for v in last), len(last)
