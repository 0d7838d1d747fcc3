"""Where the integrations look: the index itself, and the server over it."""

import os
from typing import Any

import pytest

WHERE: list[dict[str, Any]] = [
    {"index": os.environ["FRAMEWORKS_INDEX"], "tenant": "default"},
    {"url": os.environ["FRAMEWORKS_URL"]},
]


@pytest.fixture(params=WHERE, ids=["local", "server"])
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)
