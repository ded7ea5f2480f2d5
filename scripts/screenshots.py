"""Pictures of the built pages for people to look at: desktop (1280 px) and phone (390 px), light or dark."""

from __future__ import annotations

from pathlib import Path

import click

import browser

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--site", type=click.Path(path_type=Path, exists=True), default=ROOT / "_build" / "html")
@click.option("--output", type=click.Path(path_type=Path), default=ROOT / "_build" / "screenshots")
@click.option("--dark", is_flag=True, help="The dark theme.")
@click.option("--part", is_flag=True, help="Only the first screen of each page.")
def main(names: tuple[str, ...], site: Path, output: Path, dark: bool, part: bool) -> None:
    site = site.resolve()
    pages = browser.pages(site)
    found = {str(p.relative_to(site).with_suffix("")): p for p in pages}
    if unknown := [n for n in names if n not in found]:
        raise click.ClickException(f"no such page: {', '.join(unknown)}. There are: {', '.join(found)}")
    output.mkdir(parents=True, exist_ok=True)
    with browser.launch() as chrome:
        for name in names or found:
            for device, (width, height) in WIDTHS.items():
                page = chrome.new_page(
                    viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
                )
                page.goto(found[name].as_uri())
                page.wait_for_timeout(1200)  # MathJax
                picture = output / f"{name.replace('/', '-')}-{device}{'-dark' if dark else ''}.png"
                page.screenshot(path=picture, full_page=not part)
                page.close()
                click.echo(picture)


if __name__ == "__main__":
    main()
