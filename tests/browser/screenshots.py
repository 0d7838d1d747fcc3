"""``make screenshots``: the pictures of docs/explorer.md and README.md, taken of the demo corpus."""

import sys
import tempfile
from pathlib import Path

from tests.browser.explorer import ROOT, Explorer, Server, demo_data, missing, running_browser

QUESTION = "Who leads the team that owns Tidewater?"
IMAGES = ROOT / "docs/images"
MOST_BYTES = 200_000


def take(folder: Path) -> None:
    """Walk through one question, and keep what each step shows."""
    served = Server(folder, 0, "--open")
    try:
        with running_browser() as browser, Explorer(browser, served, width=1280, height=760) as one:
            page = one.open().page
            one.ask(QUESTION)
            _keep(one, "explorer-ask")
            source = page.locator(".source").first
            source.get_by_text("Why it was found").click()
            source.get_by_text("How it was ranked").click()
            page.get_by_role("button", name="Source S1").first.click()
            source.scroll_into_view_if_needed()
            _keep(one, "explorer-why")
            source.locator("a.title").click()
            page.locator("mark").first.wait_for()
            page.locator(".statement.lit").first.wait_for()
            _keep(one, "explorer-document")
            page.go_back()
            one.answered()
            page.set_viewport_size({"width": 1280, "height": 690})
            page.get_by_role("main").get_by_role("link", name="Evidence graph").click()
            page.locator("canvas").first.wait_for()
            page.get_by_role("region", name="Statements").get_by_role("button").first.click()
            page.wait_for_timeout(500)
            _keep(one, "explorer-graph")
            page.get_by_role("region", name="Entities").get_by_role("button", name="Heron Team").first.click()
            page.get_by_role("region", name="Selected").get_by_role("link", name="Open").click()
            page.locator(".said-source").first.wait_for()
            page.locator(".neighbours li").first.wait_for()
            _keep(one, "explorer-entity")
    finally:
        served.close()


def _keep(one: Explorer, name: str) -> None:
    one.page.wait_for_load_state("networkidle")
    path = IMAGES / f"{name}.png"
    one.page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size:,} bytes")
    assert size < MOST_BYTES, f"{name}: at most {MOST_BYTES:,} bytes"


if __name__ == "__main__":
    if why := missing():
        sys.exit(why)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        demo_data(Path(made), Path(made) / "shared")
        take(Path(made))
