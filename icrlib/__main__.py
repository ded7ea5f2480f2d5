"""``python -m icrlib``: the command line."""

from icrlib.cli.main import main

if __name__ == "__main__":
    main(prog_name="icr")
