"""What holds for all tests: a failure is explained within limits, wherever they run."""

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare() -> Generator[None, object, object]:
    """Keep to ``truncation_limit_*`` on CI too, where pytest lifts them: two long texts are then compared for hours."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("CI", "BUILD_NUMBER"):
            environment.delenv(name, raising=False)
        return (yield)
