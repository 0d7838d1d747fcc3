"""One server over the demo corpus, and one browser, for each file of tests; a window for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: make .venv/browser")

from tests.browser.explorer import Explorer, Server, demo_data, missing, running_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Window = Callable[..., Explorer]


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
    yield served
    served.close()


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
