"""schemathesis asks the served API what its OpenAPI document allows, and what it does not; all checks.

No status 5xx and none that is not documented, replies that fit their schemas, invalid data refused and valid data taken,
keys asked for. tests/schemathesis.toml says, with reasons, what the document cannot.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import laptop_api

CONFIG = Path(__file__).parents[3] / "schemathesis.toml"
PAGES = {
    "flow.md": "# Approval\n\nMira Holm signs what Tove Lund approves. Tove Lund leads the Harbour Team.\n",
    "trade.md": "# Trade\n\nThe Harbour Team sells salt. Olaf Brandt keeps the ledger of salt.\n",
}


def run(folder: Path, phases: str, examples: int, *more: str, seconds: int) -> int:
    """Run schemathesis against a laptop; return how many cases it tried. Its report is shown when a check fails."""
    corpus = folder / "corpus"  # what the examples of the document name is there
    corpus.mkdir()
    for name, text in PAGES.items():
        (corpus / name).write_text(text)
    with laptop_api(folder) as api:
        for namespace in ("default", "document_upload_3f9a1c2e"):
            taken = api.client().post("/ingest", json={"path": "corpus", "namespace": namespace})
            assert taken.json()["documents_new"] == len(PAGES)
        command = [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)),
            *("run", f"{api.url}/openapi.json", "--header", f"X-API-Key: {api.key()}"),
            *("--checks", "all", "--phases", phases, "--max-examples", str(examples)),
            *("--continue-on-failure", "--no-color", "--generation-database", "none", *more),
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    tried = re.search(r"(\d+) generated", done.stdout)
    assert tried, done.stdout
    return int(tried[1])


@pytest.mark.nightly
def test_150_cases_find_no_fault(tmp_path: Path) -> None:
    assert run(tmp_path, "examples,fuzzing,stateful", 3, "--seed", "1", seconds=280) >= 150


@pytest.mark.soak
def test_20000_cases_find_no_fault(tmp_path: Path) -> None:
    assert run(tmp_path, "examples,coverage,fuzzing,stateful", 700, seconds=7_000) >= 20_000
