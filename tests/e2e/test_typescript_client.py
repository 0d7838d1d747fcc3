"""The TypeScript client, compiled as it is published, in Node.js against a served laptop."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation import Block, blocks
from tests.imports import ROOT
from tests.laptop import write_pages
from tests.server import Api, laptop_api

CLIENT = ROOT / "clients" / "typescript"
TSC = ROOT / "web" / "node_modules" / ".bin" / "tsc"
# of Node.js, whose types are no part of the repository
PROCESS = "declare const process: { stdout: { write(text: string): void } };\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TSC.exists() or not shutil.which("node"), reason="needs Node.js and make web"),
]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Return what a command prints."""
    given = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project that has the client installed."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "node_modules" / "lexigraph-client"
    run(TSC, "-p", CLIENT, "--outDir", package / "dist", cwd=folder)
    shutil.copy(CLIENT / "package.json", package)
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    return folder


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    texts = {
        "Sable Ferry": "The Sable Ferry is run by the Quill Line.",
        "Heron Team": "The Heron Team is led by Ines Calloway.",
    }
    pages = write_pages(tmp_path / "pages", texts)
    with laptop_api(tmp_path) as served:
        served.client().post("/ingest", json={"path": pages.name}).raise_for_status()
        yield served


def test_the_typescript_client_works_in_node(project: Path, api: Api) -> None:
    given = {"LEXIGRAPH_URL": api.url, "LEXIGRAPH_API_KEY": api.key()}
    dist = project / "node_modules" / "lexigraph-client" / "dist"
    run("node", "--test", CLIENT / "test" / "client.test.mjs", cwd=project, CLIENT=str(dist), **given)


@pytest.mark.slow
@pytest.mark.parametrize("block", [*blocks("ts")], ids=str)
def test_samples_of_typescript_compile_and_run(block: Block, project: Path, api: Api) -> None:
    assert "http://127.0.0.1:8010" in block.text
    sample = block.text.replace("http://127.0.0.1:8010", api.url).replace("lxk_...", api.key())
    (project / "sample.ts").write_text(PROCESS + sample, "utf-8")
    options = ("--strict", "--noUnusedLocals", "--target", "ES2022", "--module", "ES2022", "--moduleResolution", "bundler")
    run(TSC, *options, "--lib", "ES2022,DOM,DOM.Iterable,DOM.AsyncIterable", "sample.ts", cwd=project)
    assert "Ines Calloway" in run("node", "sample.js", cwd=project)
    assert api.client().get("/documents", params={"find": "mill"}).json()["documents"] == []
