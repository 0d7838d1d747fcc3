"""``lexigraph serve`` as an attacker meets it: whose files it reads, whom it lets in, what it writes to its log."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.commandline import Command, apart, begin, here
from tests.laptop import write_pages

SECONDS = 60.0


@dataclass
class Server:
    """A running server, what it said at its start, and clients of it."""

    process: Command
    url: str
    said: str

    def ask(
        self, method: str, path: str, key: str = "", headers: dict[str, str] | None = None, **given: Any
    ) -> httpx.Response:
        sent = {**({"X-API-Key": key} if key else {}), **(headers or {})}
        return httpx.request(method, f"{self.url}{path}", headers=sent, timeout=SECONDS, verify=False, **given)


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    """Run ``lexigraph serve`` in a folder, as somebody who reads the documentation does."""
    with begin("serve", "--port", "0", *arguments, cwd=folder) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert first.startswith("listening on http://127.0.0.1:"), first
        try:
            yield Server(process, first.split()[2].rstrip(","), first + process.stderr.readline())
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS)


def make_key(folder: Path, tenant: str, *scopes: str) -> str:
    asked = [part for scope in scopes for part in ("--scope", scope)]
    return here("keys", "create", "--tenant", tenant, *asked, cwd=folder).out.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "roots",
    [
        [],
        pytest.param(["--root", "."], marks=pytest.mark.nightly),
        pytest.param(["--root", "default=.", "--root", "mallory=."], marks=pytest.mark.nightly),
    ],
)
def test_no_tenant_reads_the_key_that_lies_in_the_folder_of_the_server(tmp_path: Path, roots: list[str]) -> None:
    write_pages(tmp_path / "docs", {"Tidewater": "Tidewater is owned by the Heron Team."})
    admin, mallory = (
        make_key(tmp_path, "default", "admin", "ingest", "read"),
        make_key(tmp_path, "mallory", "ingest", "read"),
    )
    (tmp_path / "key.txt").write_text(admin + "\n")
    (tmp_path / ".hidden.md").write_text("The launch code is 4711.")
    (tmp_path / "seen.md").symlink_to(".hidden.md")
    with serving(tmp_path, *roots) as server:
        mine = server.ask("POST", "/documents", admin, files={"file": ("plan.md", b"The code of Zanzibar is 4711.")}).json()
        assert mine["status"] == "SUCCEEDED"
        texts = [path for path in (tmp_path / ".lexigraph" / "documents").rglob("*") if path.is_file()]
        assert texts
        secrets = ["key.txt", ".hidden.md", "seen.md", *(str(path.relative_to(tmp_path)) for path in texts)]
        for path in (*secrets, ".lexigraph", ".lexigraph/registry.sqlite"):
            for key in (admin, mallory):
                reply = server.ask("POST", "/ingest", key, json={"path": path})
                assert reply.status_code == 422, (path, reply.text)
                assert server.ask("POST", "/estimate", key, json={"path": path}).json().get("characters", 0) == 0
        taken = server.ask("POST", "/ingest", mallory, json={"path": "."})
        for name in ("documents", "jobs"):
            assert "lxk_" not in server.ask("GET", f"/{name}", mallory).text
        assert (taken.status_code, taken.json().get("documents_new")) == ((200, 1) if len(roots) == 4 else (422, None))
        for question in ("What is the key?", "What is the launch code?", "What is the code of Zanzibar?"):
            found = json.dumps(
                server.ask("POST", "/retrieve/vector", mallory, json={"question": question}).json()["results"]
            )
            assert "lxk_" not in found
            assert "4711" not in found


@pytest.mark.nightly
def test_a_root_is_named_by_its_tenant(tmp_path: Path) -> None:
    for tenant in ("default", "acme"):
        write_pages(tmp_path / tenant, {tenant: "Mira Holm signs."})
    keys = {tenant: make_key(tmp_path, tenant, "ingest", "read") for tenant in ("default", "acme")}
    with serving(tmp_path, "--root", "default", "--root", "acme=acme") as server:
        for tenant, key in keys.items():
            reply = server.ask("POST", "/ingest", key, json={"path": "."}).json()
            assert reply["documents_new"] == 1, reply
            (document,) = server.ask("GET", "/documents", key).json()["documents"]
            assert document["uri"].endswith(f"/{tenant}/{tenant}.md")


@pytest.mark.parametrize(
    ("roots", "told"),
    [
        (["nowhere"], "is not an existing folder"),
        (["data"], "is inside a folder of the stores"),
        (["a", "default=b"], "tenant default has two"),
    ],
)
def test_a_root_that_cannot_be_one_is_told_at_the_start(tmp_path: Path, roots: list[str], told: str) -> None:
    for name in ("a", "b", "data"):
        (tmp_path / name).mkdir()
    given = [part for root in roots for part in ("--root", root)]
    refused = here("serve", "--port", "0", *given, "--data", "data", cwd=tmp_path)
    assert refused.code == 2
    assert told in refused.err


# ---------------------------------------------------------------- whom it lets in


@pytest.mark.slow
@pytest.mark.parametrize("state", ["never", "revoked", "another tenant's", "another tenant's, revoked"])
def test_a_server_is_open_only_where_no_key_was_ever_made(tmp_path: Path, state: str) -> None:
    if state != "never":
        tenant = "default" if state == "revoked" else "other"
        key = make_key(tmp_path, tenant, "read")
        if "revoked" in state:
            assert here("keys", "revoke", "--tenant", tenant, key, cwd=tmp_path).code == 0
    with serving(tmp_path) as server:
        expected = (200, "no key is required until the first") if state == "never" else (401, "requests need a key")
        assert server.ask("GET", "/documents").status_code == expected[0]
        assert expected[1] in server.said


@pytest.mark.slow
def test_a_server_whose_keys_were_lost_to_damage_stays_closed(tmp_path: Path) -> None:
    write_pages(tmp_path / "docs", {"Tidewater": "Tidewater is owned by the Heron Team."})
    here("ingest", "docs", cwd=tmp_path)
    make_key(tmp_path, "default", "read")
    (tmp_path / ".lexigraph" / "registry.sqlite").write_bytes(b"overwritten")
    assert "makes new keys, which servers now ask for" in here("doctor", "--repair", cwd=tmp_path).out
    with serving(tmp_path) as server:
        assert server.ask("GET", "/documents").status_code == 401
        key = make_key(tmp_path, "default", "read")
        assert len(server.ask("GET", "/documents", key).json()["documents"]) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_first_key_closes_a_server_that_runs(tmp_path: Path, workers: str) -> None:
    with serving(tmp_path, "--workers", workers) as server:
        assert {server.ask("GET", "/documents").status_code for _ in range(8)} == {200}
        key = make_key(tmp_path, "other", "read")
        assert {server.ask("GET", "/documents").status_code for _ in range(8)} == {401}
        assert server.ask("GET", "/documents", key).status_code == 200


@pytest.mark.slow
def test_a_server_that_was_asked_to_be_open_stays_open(tmp_path: Path) -> None:
    key = make_key(tmp_path, "other", "read")
    with serving(tmp_path, "--open") as server:
        assert server.ask("GET", "/documents").status_code == 200
        assert server.ask("GET", "/documents", key).status_code == 200
        assert server.ask("GET", "/documents", "lxk_00000000_none").status_code == 401


@pytest.mark.slow
def test_the_trial_of_the_documentation_needs_no_key_and_no_root(tmp_path: Path) -> None:
    write_pages(tmp_path / "docs", {"Tidewater": "Tidewater is owned by the Heron Team."})
    assert here("ingest", "docs", cwd=tmp_path).code == 0
    with serving(tmp_path) as server:
        told = server.ask("POST", "/query", json={"question": "Who owns Tidewater?"}).json()
        assert "Heron Team" in told["answer"]


PROGRAMS = ("uvicorn", "mcp", "fastapi", "numpy", "pydantic", "multiprocessing", "pickle", "onnxruntime", "spacy", "yaml")


def hostile(folder: Path) -> None:
    """Lay files in a folder that are named as what we import, and leave a mark there when they are run."""
    for name in PROGRAMS:
        (folder / f"{name}.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")


@pytest.mark.nightly
def test_no_command_runs_a_file_of_the_current_folder_as_a_part_of_the_program(tmp_path: Path) -> None:
    hostile(tmp_path)
    # so many that extraction starts workers
    write_pages(tmp_path / "corpus", {f"Page {n}": f"Tove Lund met Mira Holm on page {n}." for n in range(150)})
    with serving(tmp_path, "--open", "--root", ".") as server:
        assert server.ask("POST", "/estimate", json={"text": "Mira Holm signs."}).status_code == 200
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        told = server.ask("POST", "/mcp", json=listing, headers={"Accept": "application/json, text/event-stream"})
        assert told.json()["result"]["tools"]
        done = server.ask("POST", "/ingest", params={"wait": 50}, json={"path": "corpus"}).json()
        assert done["status"] == "SUCCEEDED", done
    assert apart("bench", "speed", "--statements", "200", "--questions", "1", cwd=tmp_path).code == 0
    assert [*tmp_path.glob("*.ran")] == []
