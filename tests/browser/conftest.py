"""One server over the demo corpus, and one browser, for each file of tests; a window for each test."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: make .venv/browser")

from tests.browser.explorer import Explorer, Serve, Server, Window, demo_data, missing, running_browser
from tests.standins.llm_server import ScriptedLLMServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all of these tests slow, and skip them with a reason where there is no browser or no page."""
    why = missing()
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if why:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with running_browser() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[Server]:
    """An open server over the demo corpus."""
    folder = tmp_path_factory.mktemp("served")
    demo_data(folder, shared)
    served = Server(folder, 0, "--open")
    # the first answer waits for the model, on a new machine for long
    served.client.post("/query", json={"question": "Is the server warm?"}, timeout=120.0).raise_for_status()
    yield served
    served.close()


@pytest.fixture
def serve(tmp_path: Path, shared: Path) -> Iterator[Serve]:
    """Start a server over a folder of its own, with a model where ``says`` tells what that replies.

    Asked for before the window, so that this is closed first.
    """
    with ExitStack() as running:

        def start(*options: str, demo: bool = True, says: Any = None, **env: str) -> Server:
            if demo:
                demo_data(tmp_path, shared)
            if says:
                model = running.enter_context(ScriptedLLMServer(says))
                base = json.dumps({"base_url": model.base_url})
                env = {"LEXIGRAPH_LLM": "openai:any", "LEXIGRAPH_LLM_OPTIONS": base, **env}
            return running.enter_context(closing(Server(tmp_path, 0, *options, **env)))

        yield start


@pytest.fixture
def window(browser: "Browser", server: Server) -> Iterator[Window]:
    """Open a window on the server of the file; closed, and checked, when the test ends."""
    opened: list[Explorer] = []

    def new(**options: Any) -> Explorer:
        opened.append(Explorer(browser, options.pop("server", server), **options))
        return opened[-1]

    yield new
    for one in opened:
        one.__exit__(None, None, None)
