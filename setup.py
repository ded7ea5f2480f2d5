"""What pyproject.toml cannot say: the wheel carries records/ and the book's scripts.

As icrlib._records and ._static. The records of a data set, a model and a loss, a file each in the repository, are one
compressed file there, each record whole (icrlib.records.archive reads it).
"""

import json
import lzma
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# Of what xz offers, the best for text: no place counts more than another, the byte before says most.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]
CARRIED = {"icrlib._records": "records", "icrlib._static": "book/_static"}
packages, package_dir = find_packages(include=["icrlib", "icrlib.*"]), {}
for package, folder in CARRIED.items():
    if Path(folder).is_dir():
        packages.append(package)
        package_dir[package] = folder


class BuildWithRecords(build_py):
    """Copies everything as usual, and packs the records of each folder records/DATASET/METHOD/LOSS."""

    def run(self):
        super().run()
        for folder in sorted({path.parent for path in Path("records").glob("*/*/*/*.json")}):
            target = Path(self.build_lib, "icrlib", "_records", f"{folder.relative_to('records')}.jsonl.xz")
            target.parent.mkdir(parents=True, exist_ok=True)
            with lzma.open(target, "wt", encoding="utf-8", filters=FILTERS) as file:
                for path in sorted(folder.glob("*.json")):
                    line = {"path": path.name, "record": json.loads(path.read_text(encoding="utf-8"))}
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")


DATA = ["**/*.json", "**/*.jsonl", "**/*.csv", "**/*.md", "**/*.safetensors", "**/*.pt", "**/*.npz", "**/backbone.*"]
setup(
    packages=packages,
    package_dir=package_dir,
    cmdclass={"build_py": BuildWithRecords},
    package_data={
        "icrlib": DATA,
        "icrlib._records": ["*.json", "*.jsonl"],
        "icrlib._static": ["*.js", "*.css"],
    },
)
