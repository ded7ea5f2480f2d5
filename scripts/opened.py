"""What the kernel of a chapter is started with (PYTHONSTARTUP): when it ends, the files that it imported, opened or
listed stand in the file that ICR_OPENED names, so that `make book` knows what its outputs depend on."""


def _note():
    import atexit
    import os
    import sys

    opened = set()

    def hear(event, about):
        if event in ("open", "os.listdir", "os.scandir") and isinstance(about[0], (str, os.PathLike)):
            opened.add(os.path.abspath(about[0]))

    def write():
        imported = {module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
        with open(os.environ["ICR_OPENED"], "w", encoding="utf-8") as file:
            file.write("\n".join(sorted(imported | opened)))

    sys.addaudithook(hear)
    atexit.register(write)


_note()
del _note
