"""Print the speed tables: ``make bench``."""

from __future__ import annotations

import importlib
import os

import click
import torch

TABLES = ("losses", "cocos", "evaluation", "training")


@click.command(help="Measure speed as ratios, each pair in one run. TABLE: " + ", ".join(TABLES) + "; default: all.")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", type=click.Choice(TABLES))
@click.option("--threads", default=1, show_default=True, help="CPU threads.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--once", is_flag=True, help="Call everything once: does it run? The ratios mean nothing then.")
def main(tables: tuple[str, ...], threads: int, device: str, once: bool) -> None:
    from benchmarks import timing
    from icrlib import devices

    timing.once = once
    devices.keep_freed()  # as the command line and the notebooks do
    device = devices.device(device)
    torch.set_num_threads(threads)
    name = torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"
    load = os.getloadavg()[0]
    busy = f", load {load:.1f} (figures are good on an idle machine only)" if load > 1 else ""
    click.echo(f"torch {torch.__version__}, {name}, {threads} thread{'s' * (threads > 1)}{busy}")
    for table in tables or TABLES:
        importlib.import_module(f"benchmarks.{table}").main(device)


if __name__ == "__main__":
    main()
