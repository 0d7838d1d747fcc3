"""The explorer in a real browser: a live ``lexigraph serve``, Chromium, and what has to hold on every view."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.browser.install import chromium
from tests.e2e.commandline import apart, begin

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "layers/core/lexigraph/api/page/index.html"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
SECONDS = 20.0
_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync "
    # the pages behind its own address bar, made anew with every window, cost four times what the explorer does
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"
).split()
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# what the browser itself logs of a request that fails, which some tests are about
_OF_THE_NETWORK = "Failed to load resource"


def missing() -> str:
    """Return why the explorer cannot be tried in a browser here, empty when it can."""
    if chromium() is None:
        return "no Chromium: python -m tests.browser.install"
    if not PAGE.is_file() or not AXE.is_file():
        return "the explorer is not built: make web"
    return ""


@cache
def _demo(folder: Path) -> Path:
    done = apart("--data", folder / "data", "ingest", ROOT / "examples/corpus", cwd=folder)
    assert done.code == 0, done.err
    return folder / "data"


def demo_data(folder: Path, shared: Path) -> Path:
    """Return a copy of the demo corpus, taken in, in a folder; it is ingested once in ``shared``."""
    shared.mkdir(parents=True, exist_ok=True)
    shutil.copytree(_demo(shared), folder / "data")
    return folder / "data"


class Server:
    """``lexigraph serve`` over a folder's data; it can be killed, and started again where it was."""

    def __init__(self, folder: Path, port: int = 0, *options: str, **env: str) -> None:
        self.folder, self.options, self.env = folder, options, env
        self._start(port)
        self.client = httpx.Client(base_url=self.url, timeout=SECONDS, verify=False)

    def _start(self, port: int) -> None:
        env = {"LEXIGRAPH_DATA": str(self.folder / "data"), "LEXIGRAPH_API_RATE": "0", **self.env}
        self.process = begin("serve", "--port", str(port), *self.options, cwd=self.folder, env=env)
        assert self.process.stderr is not None
        greeting = self.process.stderr.readline()
        assert greeting.startswith("listening on "), greeting
        self.url = greeting.split()[2].rstrip(",")

    def kill(self) -> None:
        """End it as a loss of power would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)

    def again(self) -> None:
        """Start it again on the same port."""
        self._start(int(self.url.rsplit(":", 1)[1]))

    def get(self, path: str, key: str = "", **params: str | int) -> Any:
        """Ask the API beside the page."""
        reply = self.client.get(path, params=params, headers={"X-API-Key": key} if key else {})
        assert reply.is_success, reply.text
        return reply.json()

    def close(self) -> None:
        """End it."""
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start Chromium for the time of a block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=_FLAGS)
        expect.set_options(timeout=1000 * SECONDS)
        yield browser
        browser.close()


class Explorer:
    """A window with the explorer. What leaves the block without an accessible page, or with an error, fails."""

    def __init__(
        self, browser: Browser, server: Server, *, width: int = 1280, height: int = 900, dark: bool = False, key: str = ""
    ) -> None:
        self.server = server
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(1000 * SECONDS)
        self.errors: list[str] = []
        self.expected: Sequence[str] = ()
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        if key:
            self.page.add_init_script(f"sessionStorage.setItem('lexigraph-key', {json.dumps(key)})")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self.check()
        finally:
            self.context.close()

    def expect_failed_requests(self) -> None:
        """Let the browser tell of requests that fail: this test makes them."""
        self.expected = (_OF_THE_NETWORK,)

    def open(self, address: str = "") -> "Explorer":
        """Go to an address of the page, such as ``#/overview``."""
        self.page.goto(f"{self.server.url}/explorer/{address}")
        return self

    def check(self) -> None:
        """Fail for anything that axe finds, for text wider than the window, and for errors in the console."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        asked = {"runOnly": _RULES, "resultTypes": ["violations"]}
        found = self.page.evaluate("asked => axe.run(document, asked)", asked)["violations"]
        told = [f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}" for v in found]
        assert told == [], "\n".join([self.page.url, *told])
        assert self.page.evaluate("document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth")
        beyond = "(({scrollHeight: h, scrollWidth: w}) => h > innerHeight || w > innerWidth)(document.documentElement)"
        assert not self.page.evaluate(beyond), "the window itself does not scroll"
        unexpected = [e for e in self.errors if not e.startswith(tuple(self.expected) or "\0")]
        assert unexpected == [], "\n".join(unexpected)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def text(self, words: str) -> Locator:
        return self.page.get_by_text(words)

    def ask(self, question: str) -> None:
        """Type a question, send it, and wait for the end of the answer."""
        box = self.page.get_by_label("Question", exact=True)
        box.fill(question)
        box.press("Enter")
        self.answered()

    def answered(self) -> None:
        """Wait for the end of every answer."""
        self.page.wait_for_function(
            "() => { const all = [...document.querySelectorAll('.answer')];"
            " return all.length && all.every(a => a.getAttribute('aria-busy') === 'false') }"
        )
        self.page.locator(".source, .notice").first.wait_for()


Window = Callable[..., Explorer]
Serve = Callable[..., Server]
