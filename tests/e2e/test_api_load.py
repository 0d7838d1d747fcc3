"""``bench/api_load.py``: many clients at once get answers, every one of them, and the server's memory stays as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def load(folder: Path, *arguments: str, seconds: float) -> Any:
    """Return what a run printed; its exit code says that nothing was wrong."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEXIGRAPH_")}
    done = subprocess.run(
        [sys.executable, "-m", "bench.api_load", "--folder", folder, "--json", *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


@pytest.mark.nightly
def test_clients_that_ask_every_retriever_at_once_are_all_answered(tmp_path: Path) -> None:
    told = load(tmp_path, "--statements", "500", "--clients", "8", "--seconds", "2", seconds=120)
    rows = {row["retriever"]: row for row in told["rows"]}
    assert rows.keys() == {
        *("traversal", "semantic-guided", "hybrid", "multihop", "multidoc", "recall", "fused", "bm25", "vector"),
        *("query", "all"),
    }
    assert told["errors"] == {}
    for row in rows.values():
        assert row["answers"] > 0
        assert row["p50_ms"] <= row["p95_ms"]
    if sys.platform == "linux":
        assert told["memory"]["private_end"] > 0


@pytest.mark.soak
def test_fifty_clients_for_a_minute_beside_an_ingest(tmp_path: Path) -> None:
    arguments = ("--statements", "100000", "--clients", "50", "--warm", "60", "--seconds", "60", "--ingest")
    told = load(tmp_path, *arguments, seconds=1_800)
    assert told["errors"] == {}
    assert told["documents_taken_in"] > 0
    assert told["readers_kept"] > 0.5
