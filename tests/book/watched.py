"""What a kernel of a chapter is started with: every comparison of runs is noted in the file ICR_COMPARED names."""

import importlib.machinery
import json
import os
import sys
import traceback


class Watch:
    """Imports ``icrlib.evidence.verdicts`` with a comparison that notes what it was asked."""

    def find_spec(self, name, path=None, target=None):
        if name != "icrlib.evidence.verdicts":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module._of_records = noted(module._of_records, module.runs)

        spec.loader.exec_module = exec_module
        return spec


def noted(compare, runs):
    def compared(claim, ours, other, factor, measure, tuning):
        found = compare(claim, ours, other, factor, measure, tuning)
        of_records = not isinstance(other, (int, float)) and found is not None and isinstance(measure, str)
        if of_records and not tried():
            ours, other = list(ours), list(other)
            sides = [sorted([name, repr(value)] for name, value in runs.question(side[0])) for side in (ours, other)]
            line = {"claim": claim, "measure": measure, "sides": sides, "mean": found.mean}
            with open(os.environ["ICR_COMPARED"], "a", encoding="utf-8") as file:
                file.write(json.dumps(line | {"seeds": sorted(map(runs.seed, ours))}) + "\n")
        return found

    return compared


def tried() -> bool:
    """Whether a sentence is being tried on damaged records (sentences.unnoticed), which no page says."""
    return any(frame.f_code.co_name == "unnoticed" for frame, _ in traceback.walk_stack(None))


if os.environ.get("ICR_COMPARED"):
    sys.meta_path.insert(0, Watch())
