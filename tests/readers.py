"""Every place where the product opens a file or takes text from outside: found in the code, and the table of them.

A place is ``file:function``. :data:`TABLE` says of each what it reads, and whose that is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("icrlib", "scripts", "workflow")
# What reads, by the name that its imports give it: the readers of others, and this library's own gates.
OPENER = re.compile(
    r"(?:open|os\.open|io\.open|.*\.(?:open|read_text|read_bytes|fromfile|from_file|query_arguments|unpack_archive)"
    r"|os\.environ|os\.getenv|sys\.stdin|mmap\.mmap|numpy\.(?:load|memmap|loadtxt|genfromtxt)|json\.loads?|tomllib\.\w+"
    r"|yaml\.\w*load\w*|pickle\.loads?|marshal\.loads?|sqlite3\.connect|torch\.load|safetensors\.\w*\.?(?:load\w*|safe_open)"
    r"|zipfile\.ZipFile|tarfile\.\w+|(?:gzip|bz2|lzma)\.\w+|csv\.\w*[rR]eader|pandas\.read_\w+|nbformat\.reads?"
    r"|jupytext\.reads?|icrlib\.parsing\.(?:text|lines|of_json|json_lines|parsed|opened)|icrlib\.data\.cache\.(?:array_of|"
    r"arrays_of|read_arrays)|icrlib\.files\.read_sealed)"
)
NO_READERS = re.compile(
    r"icrlib\.names\.from_file|(?:gzip|lzma|bz2)\.\w*(?:compress|Error)\w*|tarfile\.\w*Error|\.from_file"
)


def found() -> set[str]:
    """The places in today's code."""
    places = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            place = path.relative_to(ROOT).as_posix()
            if path.suffix == ".py":
                places |= {f"{place}:{function}" for function in functions(path.read_text(encoding="utf-8"))}
            elif path.name == "Snakefile" and re.search(r"\bopen\(", path.read_text(encoding="utf-8")):
                places.add(f"{place}:")
    return places


def functions(source: str) -> set[str]:
    """The functions of a module that name a reader, called or handed on; "" for the module itself."""
    tree = ast.parse(source)
    names = dict(_imported(tree))
    return {
        function for name, function in _named(tree, names, "") if OPENER.fullmatch(name) and not NO_READERS.match(name)
    }


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What a module calls things, and what they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (one.asname or one.name.partition(".")[0], one.asname and one.name or one.name.partition(".")[0])
                for one in node.names
            )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _named(node: ast.AST, names: dict[str, str], function: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        if isinstance(child, (ast.Name, ast.Attribute)):
            first, *rest = ast.unparse(child).split(".") if not isinstance(child, ast.Attribute) else _parts(child)
            yield ".".join([names.get(first, first), *rest]), inside
        yield from _named(child, names, inside)


def _parts(node: ast.Attribute) -> list[str]:
    """The names of ``a.b.c``; what an expression gives is no name, "()"."""
    inner = node.value
    before = (
        _parts(inner) if isinstance(inner, ast.Attribute) else [inner.id] if isinstance(inner, ast.Name) else ["()"]
    )
    return [*before, node.attr]


# kind of file -> the places that read it. A stranger's: a person hands it over, and may have it from anybody; each has
# its case in tests/test_damage.py. Text: what is typed, sent or set in the environment.
STRANGERS = {
    "model": "icrlib/training/saved.py:load_model",
    "notes of a run": "icrlib/training/checkpoints.py:_claim icrlib/training/checkpoints.py:_ours "
    "icrlib/training/checkpoints.py:_state icrlib/planning/missing.py:_foreign",
    "checkpoint": "icrlib/training/checkpoints.py:_state icrlib/training/checkpoints.py:resume",
    "record": "icrlib/records/files.py:load",
    "archive of records": "icrlib/records/archive.py:read",
    "notes of features": "icrlib/data/feature_folder.py:noted icrlib/data/precomputed.py:finished",
    "vocabulary": "icrlib/data/text.py:load",
    "features": "icrlib/data/precomputed.py:_read icrlib/data/cache.py:array_of icrlib/data/cache.py:_holds_objects",
    "numbers of regions": "icrlib/data/precomputed.py:read_lengths",
    "parts of features": "icrlib/data/features.py:_parts",
    "captions": "icrlib/data/precomputed.py:read_split icrlib/data/fewer.py:fewer",
    "names of pictures": "icrlib/data/feature_folder.py:_part icrlib/cli/albums.py:index",
    "annotations": "icrlib/data/karpathy.py:_entries",
    "captions to make a data set of": "icrlib/data/making.py:_beside icrlib/data/making.py:_annotations "
    "icrlib/data/making.py:_table icrlib/data/making.py:_several icrlib/data/making.py:_rows",
    "judgements": "icrlib/data/cxc.py:_rows icrlib/data/eccv.py:_lists",
    "word vectors": "icrlib/data/glove.py:_lines icrlib/data/glove.py:load",
    "vectors of pictures": "icrlib/cli/albums.py:index",
    "pictures": "icrlib/data/pictures.py:open_picture icrlib/data/pictures.py:taken",
    "album": "icrlib/search/database.py:opened icrlib/search/album.py:_same",
    "notebook": "icrlib/cli/parameters.py:declared icrlib/cli/runs.py:_takes_settings icrlib/cli/runs.py:_readable",
    "earlier product": "icrlib/cli/products.py:_holds icrlib/cli/products.py:executed",
    "sentence encoder": "icrlib/data/targets/encoder.py:_config icrlib/data/targets/encoder.py:_load "
    "icrlib/data/targets/encoder.py:_tokenizer icrlib/data/targets/encoder.py:sha256_of_file",
    "profile": "workflow/reproduce.py:_settings",
    "parameters of a job": "workflow/job.py:planned",
    "list of a plan": "workflow/Snakefile:",
}
GATES = """  the ways by which the others read, and what hashes whole files
icrlib/parsing.py:opened icrlib/parsing.py:parsed icrlib/parsing.py:_compiled icrlib/files.py:read_sealed
icrlib/files.py:sha256_of icrlib/data/cache.py:arrays_of icrlib/data/cache.py:array_of"""
OWN = """  committed, or in an installed package whose hash is checked
icrlib/data/backbones.py:_efficientnet icrlib/data/scenes/backbone.py:load_backbone icrlib/data/scenes/generate.py:
icrlib/data/targets/measured.py:recorded icrlib/data/targets/mpnet.py:_extract icrlib/data/targets/mpnet.py:unpack
icrlib/paper/claims.py:claims icrlib/search/imagenet_words.py:class_names icrlib/paper/ltd_curves.py:_held
icrlib/paper/tables.py:contents icrlib/records/foretold.py:lines icrlib/records/goldens.py:read
icrlib/records/probed.py:lines icrlib/records/zero_shot.py:ladder icrlib/widgets/score_table.py:static
scripts/bookstats.py:of_page scripts/bookstats.py:of_source scripts/browser.py:pages
scripts/build_book.py:make_notebooks scripts/chapters.py:config
scripts/chapters.py:in_step scripts/chapters.py:load scripts/chapters.py:pages scripts/chapters.py:surroundings
scripts/chapters.py:write_if_new scripts/chapters.py:write_setup_cells scripts/choose_defaults.py:main
scripts/imagenet_names.py:main scripts/imagenet_names.py:synsets
scripts/measure_teachers.py:main scripts/pdf.py:front_matter scripts/pdf.py:parts scripts/pdf.py:title_of
scripts/slurm_on_loopback.py: scripts/slurm_on_loopback.py:cluster"""
CACHES = """  written by the process that reads it, or by one like it, for itself
icrlib/data/scenes/generate.py:_split icrlib/data/scenes/generate.py:load icrlib/data/targets/store.py:_fits
icrlib/data/targets/store.py:_part icrlib/files.py:_sweep icrlib/files.py:atomic_path icrlib/records/index.py:_parsed
icrlib/planning/operations.py:run_on_meta icrlib/cli/products.py:_mark scripts/chapters.py:run
scripts/golden_runs/measure.py: scripts/goldens.py:measured_with scripts/soak.py:_fresh scripts/soak.py:_prepare
scripts/soak.py:result scripts/slurm_on_loopback.py:end scripts/slurm_on_loopback.py:leftover
scripts/slurm_on_loopback.py:refuse scripts/slurm_on_loopback.py:stop workflow/job.py:alone workflow/job.py:keep
workflow/job.py:main workflow/reproduce.py:_kept workflow/reproduce.py:report"""
TEXT = """  typed, sent by a browser, or set in the environment: each checked where it is used
icrlib/cli/settings.py:read_value icrlib/search/clip.py:__init__ icrlib/search/serve.py:asked icrlib/chapter.py:start
icrlib/evidence/sentences.py:check icrlib/cli/runs.py:run
icrlib/data/targets/encoder.py:__init__ icrlib/files.py:cache_dir icrlib/progress.py:__init__ icrlib/progress.py:bar
icrlib/widgets/frames.py:watched scripts/browser.py:ensure scripts/browser.py:find scripts/build_book.py:make_notebooks
scripts/chapters.py:execute scripts/chapters.py:surroundings scripts/golden_runs/measure.py:__init__
scripts/golden_runs/measure.py:measured scripts/golden_runs/measure.py:one_thread scripts/goldens.py:measured_with
scripts/slurm_on_loopback.py:cluster scripts/slurm_on_loopback.py:install scripts/slurm_on_loopback.py:main
scripts/slurm_on_loopback.py:refuse scripts/slurm_on_loopback.py:smoke_grid scripts/soak.py: workflow/job.py:foreign
workflow/reproduce.py:_path workflow/reproduce.py:_train"""
MACHINE = """  what the system says of itself
icrlib/devices.py:_cpu"""
TABLE = STRANGERS | {"gate": GATES, "own": OWN, "cache": CACHES, "text": TEXT, "machine": MACHINE}


def listed() -> dict[str, set[str]]:
    """The kinds of each place of the table."""
    kinds: dict[str, set[str]] = {}
    for kind, places in TABLE.items():
        for place in re.findall(r"\S+:\S*(?=\s|$)", places):
            if "/" in place:
                kinds.setdefault(place, set()).add(kind)
    return kinds
