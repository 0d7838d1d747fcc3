"""The TypeScript client, compiled as it is published, in Node.js against a served laptop."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.imports import ROOT
from tests.laptop import write_pages
from tests.server import laptop_api

CLIENT = ROOT / "clients" / "typescript"
TSC = ROOT / "web" / "node_modules" / ".bin" / "tsc"


@pytest.mark.slow
@pytest.mark.skipif(not TSC.exists() or not shutil.which("node"), reason="needs Node.js and make web")
def test_the_typescript_client_works_in_node(tmp_path: Path) -> None:
    built = tmp_path / "dist"
    done = subprocess.run([TSC, "-p", CLIENT, "--outDir", built], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    assert (built / "index.d.ts").is_file()
    pages = write_pages(tmp_path / "pages", {"Sable Ferry": "The Sable Ferry is run by the Quill Line."})
    with laptop_api(tmp_path, ingest_in="thread") as api:
        with api.client() as client:
            client.post("/ingest", json={"path": pages.name}).raise_for_status()
        given = {**os.environ, "CLIENT": str(built), "LEXIGRAPH_URL": api.url, "LEXIGRAPH_API_KEY": api.key()}
        node = ["node", "--test", CLIENT / "test" / "client.test.mjs"]
        done = subprocess.run(node, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
