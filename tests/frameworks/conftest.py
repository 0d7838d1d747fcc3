"""Where the integrations look: the index itself, and the server over it."""

import os
from typing import Any

import pytest


@pytest.fixture(params=["local", "server"])
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "local":
        return {"index": os.environ["FRAMEWORKS_INDEX"], "tenant": "default"}
    return {"url": os.environ["FRAMEWORKS_URL"]}
