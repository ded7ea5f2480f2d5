"""The rows of the decision page's tables, as dictionaries from column to text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from icrlib.evidence.decision.commands import missing
from icrlib.evidence.decision.plan import KINDS, LOSSES, MODELS, TITLES, name_of
from icrlib.evidence.decision.rule import Answer, Decision, System, narrow
from icrlib.evidence.decision.words import alike, because
from icrlib.names import label
from icrlib.paper.cells import span

SHORT = 120  # seconds of one core
TIMES = {"short": SHORT, "no hurry": math.inf}


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


def steps(decision: Decision, found: Answer) -> Iterator[dict[str, str]]:
    """The steps of the losses of each model, and of the models."""
    questions = {f"loss for {MODELS[m]}": rungs for m, rungs in found.losses.items()} | {"model": found.models}
    for question, rungs in questions.items():
        for here, tests in (rung for rung in rungs if rung[1] or len(rungs) == 1):
            ahead = [name_of(s) + " (narrowly)" * narrow(v) for s, v in tests.items() if v.word == "holds"]
            unclear = sum(v.word in ("undecided", "equivalent") for v in tests.values())
            yield {
                "question": question,
                "stand at": f"{name_of(here)}, {decision.seconds(found.situation, here):.0f} s",
                "compared": f"{len(tests)}",
                "decidedly ahead": ", ".join(ahead) or "none",
                "not told apart": f"{unclear}",
            }


def by_model(decision: Decision, situation: str, among: tuple[str, ...] = LOSSES) -> dict[str, str]:
    """The loss that the rule ends at for each model, and the model that it ends at."""
    found = decision.answer(situation, among=among)
    return (
        {"trained on": TITLES[situation]}
        | {MODELS[m]: label(found.losses[m][-1][0][1]) if found and m in found.losses else "–" for m in MODELS}
        | {
            "the rule ends at": "not run yet"
            if not found
            else name_of(found.system) + ("" if len(found.losses) > 1 else " (no other model is complete)")
        }
    )


def _evidence(decision: Decision, found: Answer) -> str:
    """How many runs the comparisons of an answer rest on, and where they are."""
    situation, last = found.situation, [found.losses[found.system[0]][-1][1], found.models[-1][1]]
    numbers = [v.n for tests in last for v in tests.values()] or [len(decision.runs[situation][found.system])]
    systems = {found.system, *(s for tests in last for s in tests)}
    studies = sorted({decision.place[situation, *s].study for s in systems})
    return f"{span(numbers)} {'draws' if situation.startswith('scenes') else 'seeds'}; {', '.join(studies)}"


def advice(decision: Decision, situation: str) -> list[dict[str, str]]:
    """The lines of the table about one kind of data: one for each budget, or one for both where they agree."""
    answers = {time: decision.answer(situation, limit) for time, limit in TIMES.items()}
    if not any(answers.values()):
        makes = "; ".join(", then ".join(f"<code>{c}</code>" for c in typed) for typed in missing(decision, situation))
        return [
            {
                "data": KINDS[situation],
                "time": "any",
                "start here": "not run yet",
                "because": f"To run: {makes}",
                "evidence": "none",
            }
        ]
    rows: list[dict[str, str]] = []
    for time, found in answers.items():
        if found is None:
            rows.append(
                {"time": time, "start here": "–", "because": "Nothing that was run is so short.", "evidence": "–"}
            )
            continue
        start = f"<b>{name_of(found.system)}</b>"
        row = {
            "time": time,
            "start here": start,
            "because": because(decision, found),
            "evidence": _evidence(decision, found),
        }
        if rows and rows[-1]["start here"] == start:
            rows[-1] = row | {"time": "any"}
        else:
            rows.append(row)
    return [{"data": KINDS[situation]} | row for row in rows]
