"""The TypeScript client says what the API says: its routes exist, and it repeats what Python's does."""

import json
import re
from pathlib import Path

from lexigraph.client.operations import OPERATIONS
from lexigraph.client.requests import ONCE

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "clients" / "typescript" / "src"
PATHS = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]


def routes(text: str) -> set[str]:
    return set(re.findall(r'"(/[a-z_0-9{}/.-]+)"', text))


def test_every_route_of_its_methods_is_one_of_the_api() -> None:
    called = routes((SOURCES / "index.ts").read_text("utf-8"))
    assert {"/query", "/retrieve/{retriever}", "/documents", "/jobs/{job_id}"} <= called <= PATHS.keys()


def test_it_repeats_nothing_that_the_python_client_does_not() -> None:
    (line,) = (one for one in (SOURCES / "transport.ts").read_text("utf-8").splitlines() if '"/keys"' in one)
    assert routes(line) == {OPERATIONS[name][1] for name in ONCE}
