"""What pyproject.toml cannot say: the wheel carries records/ and the book's scripts as icrlib._records and ._static."""

from pathlib import Path

from setuptools import find_packages, setup

CARRIED = {"icrlib._records": "records", "icrlib._static": "book/_static"}
packages, package_dir = find_packages(include=["icrlib", "icrlib.*"]), {}
for package, folder in CARRIED.items():
    if Path(folder).is_dir():
        packages.append(package)
        package_dir[package] = folder

DATA = ["**/*.json", "**/*.jsonl", "**/*.csv", "**/*.md", "**/*.safetensors", "**/*.pt", "**/*.npz", "**/backbone.*"]
setup(packages=packages, package_dir=package_dir,
      package_data={"icrlib": DATA, "icrlib._records": DATA, "icrlib._static": ["*.js", "*.css"]})  # fmt: skip
