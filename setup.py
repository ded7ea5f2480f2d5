"""What pyproject.toml cannot say: the wheel carries records/ as the package icrlib._records."""

from pathlib import Path

from setuptools import find_packages, setup

packages, package_dir = find_packages(include=["icrlib", "icrlib.*"]), {}
if Path("records").is_dir():
    packages.append("icrlib._records")
    package_dir["icrlib._records"] = "records"

DATA = ["**/*.json", "**/*.jsonl", "**/*.csv", "**/*.md", "**/*.safetensors", "**/*.pt", "**/*.npz", "**/backbone.*"]
setup(packages=packages, package_dir=package_dir, package_data={"icrlib": DATA, "icrlib._records": DATA})
