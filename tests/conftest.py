"""What holds for all tests: a failure is explained within limits, and Ctrl-C interrupts, wherever they run."""

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# how long an example takes says how busy the machine is
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell lets what it starts in the background ignore it, and so would every process that a test starts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests, so that no core waits at the end for one that was begun last."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Look for garbage as a server does: not among what was loaded, which nine thousand tests are, and less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare() -> Generator[None, object, object]:
    """Keep to ``truncation_limit_*`` on CI too, where pytest lifts them: two long texts are then compared for hours."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("CI", "BUILD_NUMBER"):
            environment.delenv(name, raising=False)
        return (yield)


@pytest.fixture(autouse=True)
def same_folder() -> Iterator[None]:
    """Fail a test that leaves the process in another folder, rather than one after it."""
    before = Path.cwd()
    yield
    assert Path.cwd() == before
