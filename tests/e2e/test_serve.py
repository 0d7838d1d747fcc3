"""``lexigraph serve`` as a process: what it says, and what is left when it is killed in the middle of its work."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.e2e.commandline import LEXIGRAPH, begin, here
from tests.laptop import write_pages
from tests.standins.otlp_server import OtlpServer
from tests.waiting import eventually

SECONDS = 120.0
ALONE = (LEXIGRAPH,)
WITH_A_THREAD = (
    "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    "from lexigraph.cli import run; run()"
)
BESIDE_A_THREAD = (sys.executable, "-c", WITH_A_THREAD)  # where nothing can be forked safely, as on other systems
NAMES = ("Tove Lund", "Mira Holm", "Ines Calloway", "Agnes Lorwright", "Bruno Velmond")


class Server:
    """A running ``lexigraph serve``; ``url`` is where it listens."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stderr is not None
        self.greeting = process.stderr.readline()
        assert self.greeting.startswith("listening on "), self.greeting
        self.url = self.greeting.split()[2].rstrip(",")
        self.client = httpx.Client(base_url=self.url, timeout=SECONDS, verify=False)

    def kill(self) -> None:
        """End it as a loss of power would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)

    def until(self, job_id: str, *statuses: str) -> dict[str, Any]:
        """Return the job when it has one of these statuses."""
        return eventually(lambda: self.client.get(f"/jobs/{job_id}").json(), lambda job: job["status"] in statuses)


@contextmanager
def serving(folder: Path, workers: int = 2, program: Sequence[str | Path] = ALONE, **env: str) -> Iterator[Server]:
    """Serve the data in a folder, whose files may be ingested."""
    environment = {"LEXIGRAPH_DATA": str(folder / "data"), "LEXIGRAPH_API_RATE": "0", **env}
    arguments = "serve", "--port", "0", "--open", "--root", ".", "--workers", str(workers)
    with begin(*arguments, cwd=folder, env=environment, program=program) as process:
        server = Server(process)
        try:
            yield server
        finally:
            server.client.close()
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(SECONDS)


def corpus(folder: Path, pages: int) -> Path:
    texts = {
        f"Page {n}": f"{NAMES[n % 5]} met {NAMES[(n + 1) % 5]} on page {n}.\n\nThe town of Brackford {n} has {n} mills."
        for n in range(pages)
    }
    return write_pages(folder / "corpus", texts)


def is_running(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children(process_id: int) -> list[int]:
    """The processes that a process started."""
    try:
        threads = list(Path(f"/proc/{process_id}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def command(process_id: int) -> list[str]:
    return Path(f"/proc/{process_id}/cmdline").read_text().split("\0")


def own_megabytes(process_id: int) -> float:
    """What a process shares with no other."""
    told = Path(f"/proc/{process_id}/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB$", told, re.MULTILINE))) / 1024


def workers_of(server: Server) -> list[int]:
    """The processes that take documents in."""
    return [worker for process in children(server.process.pid) for worker in children(process)]


@contextmanager
def only(answers: int, processes: list[int]) -> Iterator[None]:
    """Let one of the server's processes answer all that is asked meanwhile."""
    for process in processes:
        os.kill(process, signal.SIGCONT if process == answers else signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def started(server: Server, number: int = 2) -> list[int]:
    """The processes of the server, when so many of them answer."""

    def answering() -> list[int]:
        found = []
        for process in (processes := children(server.process.pid)):
            with only(process, processes), suppress(httpx.TransportError):
                if httpx.get(f"{server.url}/health", timeout=1, verify=False).status_code == 200:
                    found.append(process)
        return found

    return eventually(answering, lambda found: len(found) == number)


def test_a_server_without_keys_listens_on_loopback_only(tmp_path: Path) -> None:
    refused = here("serve", "--open", "--host", "0.0.0.0", "--data", tmp_path / "data")
    assert refused.code == 2
    assert "loopback" in refused.err


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = here("serve", "--port", port, "--data", tmp_path / "data")
    assert refused.code == 2
    assert port in refused.err


def test_keys_are_made_listed_and_revoked(tmp_path: Path) -> None:
    made = here("keys", "create", "--name", "shop", "--scope", "read", "--data", tmp_path).out.strip()
    listed = here("keys", "list", "--json", "--data", tmp_path).json["keys"]
    assert [(k["name"], k["scopes"], k["revoked_at"]) for k in listed] == [("shop", ["read"], "")]
    assert made.startswith(listed[0]["id"])
    assert made not in str(listed), "the secret is not kept"
    assert here("keys", "revoke", made, "--data", tmp_path).code == 0
    assert here("keys", "list", "--json", "--data", tmp_path).json["keys"][0]["revoked_at"]
    assert here("keys", "revoke", "lxk_nothing", "--data", tmp_path).code == 3
    assert here("keys", "create", "--scope", "everything", "--data", tmp_path).code == 2
    for named in ("--name", "--database"):
        refused = here("keys", "create", named, "shop\u202e", "--data", tmp_path)
        assert (refused.code, "a visible character" in refused.err) == (2, True)


def test_a_key_is_told_as_json_as_it_is_listed(tmp_path: Path) -> None:
    made = here("keys", "create", "--name", "shop", "--json", "--data", tmp_path).json
    assert made["created_at"]
    assert [{**one, "key": made["key"]} for one in here("keys", "list", "--json", "--data", tmp_path).json["keys"]] == [made]


def test_a_key_is_made_with_filters_and_what_it_sees_is_told(tmp_path: Path) -> None:
    where = {"condition": "not", "filters": [{"key": "draft", "operator": "==", "value": True}]}
    made = here("keys", "create", "--filter", "groups in [staff, press]", "--filter", json.dumps(where), "--data", tmp_path)
    assert made.out.startswith("lxk_")
    assert '"staff", "press"' in made.err
    assert "nothing of any other" in made.err
    here("keys", "create", "--data", tmp_path)
    bound, free = here("keys", "list", "--json", "--data", tmp_path).json["keys"]
    groups = {"key": "groups", "operator": "in", "value": ["staff", "press"]}
    assert bound["filters"] == {"condition": "and", "filters": [groups, where]}
    assert free["filters"] is None
    for bad in ("groups", '{"key": 1}', "{", "groups in [" + ", ".join(f"group-{n}" for n in range(999)) + "]"):
        refused = here("keys", "create", "--filter", bad, "--data", tmp_path)
        assert (refused.code, refused.out) == (2, "")
        assert "filter" in refused.err
    assert len(here("keys", "list", "--json", "--data", tmp_path).json["keys"]) == 2


def test_whoever_binds_a_key_to_a_database_is_told_that_this_is_a_label(tmp_path: Path) -> None:
    bound = here("keys", "create", "--database", "court", "--data", tmp_path)
    assert "label" in bound.err
    assert "tenants" in bound.err
    assert bound.out.startswith("lxk_")
    assert here("keys", "create", "--data", tmp_path).err == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_server_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        first, second = started(server)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: children(server.process.pid), lambda found: len({*found} - {first}) == 2)
        assert second in (processes := started(server))
        assert first not in processes


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_processes_of_a_server_share_what_all_of_them_load(tmp_path: Path) -> None:
    assert here("ingest", corpus(tmp_path, 3), "--data", tmp_path / "data").code == 0
    with serving(tmp_path) as server:
        for process in (processes := started(server)):
            with only(process, processes):
                asked = {"question": "How many mills has Brackford 2?"}
                reply = httpx.post(f"{server.url}/retrieve/traversal", json=asked, timeout=SECONDS, verify=False)
                assert reply.json()["results"], "it has the embedding model, of 90 MB"
        assert max(map(own_megabytes, processes)) < 80


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize(("program", "forked"), [(ALONE, True), (BESIDE_A_THREAD, False)], ids=["forked", "started anew"])
def test_all_processes_of_a_server_end_with_it_and_leave_nothing(
    tmp_path: Path, program: tuple[str | Path, ...], forked: bool, number: signal.Signals
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    with serving(tmp_path, program=program, TMPDIR=str(temporary)) as server:
        processes = started(server)
        assert {"lexigraph.cli.served" in command(process) for process in processes} == {not forked}
        assert list(temporary.iterdir())
        server.process.send_signal(number)
        server.process.wait(SECONDS)
        for process in processes:
            eventually(lambda pid=process: is_running(pid), lambda running: not running)
        assert not list(temporary.iterdir())
        port = int(server.url.rsplit(":", 1)[1])
        socket.create_server(("127.0.0.1", port)).close()


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_one_process_does_the_others_know(tmp_path: Path) -> None:
    corpus(tmp_path, 10)
    secret = here("keys", "create", "--scope", "read", "--rate", "7", "--data", tmp_path / "data").out.strip()
    asked = {"question": "Who met Mira Holm?"}
    with serving(tmp_path) as server:
        first, second = processes = started(server)

        def tell(process: int, method: str, path: str, **given: Any) -> httpx.Response:
            with only(process, processes):
                return httpx.request(method, f"{server.url}{path}", timeout=SECONDS, verify=False, **given)

        job = tell(first, "POST", "/ingest", params={"wait": 0}, json={"path": "corpus"}).json()["job_id"]
        server.until(job, "SUCCEEDED", "FAILED")
        told = tell(second, "GET", f"/jobs/{job}").json()
        assert (told["status"], told["result"]["documents_new"]) == ("SUCCEEDED", 10)

        assert not tell(first, "POST", "/query", json=asked).json()["cached"]
        assert tell(second, "POST", "/query", json=asked).json()["cached"]
        assert tell(second, "GET", "/cache/stats").json()["answer_cache_size"] == 1
        assert tell(second, "POST", "/cache/clear").status_code == 200
        assert tell(first, "GET", "/cache/stats").json()["embedding_cache_size"] == 0
        assert not tell(first, "POST", "/query", json=asked).json()["cached"]

        key = {"headers": {"X-API-Key": secret}}
        statuses = [tell((first, second)[n % 2], "GET", "/nowhere", **key).status_code for n in range(8)]
        assert statuses == [404] * 7 + [429], "a key has one limit, whichever process answers"
        here("keys", "revoke", secret, "--data", tmp_path / "data")
        assert {tell(process, "GET", "/nowhere", **key).status_code for process in processes} == {401}


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_server_killed_while_it_takes_documents_in_goes_on_after_its_next_start(tmp_path: Path) -> None:
    corpus(tmp_path, 200)
    with serving(tmp_path) as server:
        job = server.client.post("/ingest", params={"wait": 0}, json={"path": "corpus"}).json()["job_id"]
        events = f"/jobs/{job}/events"
        stages = lambda: [e["stage"] for e in server.client.get(events).json()["events"]]  # noqa: E731
        eventually(stages, lambda seen: "documents" in seen)
        workers = workers_of(server)
        assert workers, "a process of its own takes documents in"
        server.kill()
        for worker in workers:
            eventually(lambda pid=worker: is_running(pid), lambda running: not running)

    with serving(tmp_path) as server:
        assert server.client.get(f"/jobs/{job}").json()["status"] in ("RUNNING", "SUCCEEDED")
        done = server.until(job, "SUCCEEDED", "FAILED")
        assert done["status"] == "SUCCEEDED", done
        assert done["result"]["documents_new"] + done["result"]["documents_unchanged"] == 200
        assert done["result"]["documents_unchanged"] > 0, "what was finished is not done again"
        documents = server.client.get("/documents", params={"limit": 1_000}).json()["documents"]
        assert len(documents) == 200
        assert {d["state"] for d in documents} == {"READY"}
        found = server.client.post("/retrieve/traversal", json={"question": "How many mills has Brackford 199?"}).json()
        assert found["results"]
    assert here("doctor", "--data", tmp_path / "data").code == 0


@pytest.mark.nightly
def test_an_ingest_that_is_cancelled_keeps_what_was_finished_and_leaves_nothing_half_built(tmp_path: Path) -> None:
    corpus(tmp_path, 300)
    with serving(tmp_path) as server:
        job = server.client.post("/ingest", params={"wait": 0}, json={"path": "corpus"}).json()["job_id"]
        stages = lambda: [e["stage"] for e in server.client.get(f"/jobs/{job}/events").json()["events"]]  # noqa: E731
        eventually(stages, lambda seen: "documents" in seen)
        assert server.client.post(f"/jobs/{job}/cancel").status_code == 202
        ended = server.until(job, "SUCCEEDED", "FAILED", "CANCELLED")
        assert ended["status"] == "CANCELLED", ended
        documents = server.client.get("/documents", params={"limit": 1_000}).json()["documents"]
        assert 0 < len(documents) < 300
        assert len(documents) == ended["result"]["documents_new"]
        assert {d["state"] for d in documents} == {"READY"}
        assert server.client.get("/overview").json()["jobs"]["CANCELLED"] == 1
    assert here("doctor", "--data", tmp_path / "data").code == 0


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_ingest_goes_on_after_all_processes_of_the_service_were_told_to_end(tmp_path: Path) -> None:
    corpus(tmp_path, 150)
    with serving(tmp_path) as server:
        job = server.client.post("/ingest", params={"wait": 0}, json={"path": "corpus"}).json()["job_id"]
        events = f"/jobs/{job}/events"
        eventually(lambda: server.client.get(events).json()["events"], lambda seen: len(seen) > 3)
        (worker,) = workers_of(server)
        # Ctrl-C reaches the group of the server, the end of a systemd service each of its processes
        assert os.getpgid(worker) != os.getpgid(server.process.pid)
        os.kill(worker, signal.SIGTERM)
        time.sleep(0.5)
        assert server.client.get(f"/jobs/{job}").json()["status"] == "RUNNING"
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(SECONDS)
        eventually(lambda: is_running(worker), lambda running: not running)

    with serving(tmp_path) as server:
        done = server.until(job, "SUCCEEDED", "FAILED")
        assert done["status"] == "SUCCEEDED", done
        assert "resumed" in [e["stage"] for e in server.client.get(events).json()["events"]]


@pytest.mark.nightly
def test_a_request_and_the_ingest_it_began_are_one_trace_that_no_end_of_a_process_cuts_short(tmp_path: Path) -> None:
    with OtlpServer() as receiver:

        def sent() -> dict[str, Span]:
            return {span.name: span for span in receiver.spans()}

        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
        with serving(tmp_path, workers=1, LEXIGRAPH_TELEMETRY="otlp", **told) as server:
            server.client.post("/ingest", json={"path": corpus(tmp_path, 1).name}).raise_for_status()
            eventually(lambda: {"ingest", "read"} <= sent().keys(), seconds=SECONDS)
        spans = sent()
    request, ingest = spans["POST /ingest"], spans["ingest"]
    assert ingest.parent_span_id == request.span_id
    assert {spans["read"].trace_id, ingest.trace_id} == {request.trace_id}


@pytest.mark.nightly
def test_an_upload_that_was_accepted_survives_a_kill_and_one_that_was_not_leaves_nothing(tmp_path: Path) -> None:
    text = "\n\n".join(f"{NAMES[n % 5]} met {NAMES[(n + 1) % 5]} in year {n}." for n in range(300)).encode()
    with serving(tmp_path) as server:
        sent = server.client.post("/documents", params={"wait": 0}, files={"file": ("a.txt", text)}).json()
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), SECONDS) as half:
            head = "POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            part = '--b\r\nContent-Disposition: form-data; name="file"; filename="half.txt"\r\n\r\nhalf of'
            half.sendall(f"{head}Content-Length: 100000\r\n\r\n{part}".encode())
            time.sleep(0.2)
            server.kill()

    with serving(tmp_path) as server:
        done = server.until(sent["job_id"], "SUCCEEDED", "FAILED")
        assert done["status"] == "SUCCEEDED", done
        uris = [d["uri"] for d in server.client.get("/documents").json()["documents"]]
        assert uris == ["upload://default/a.txt"]
        eventually(lambda: list((tmp_path / "data" / "uploads").iterdir()), lambda left: not left)


@pytest.mark.nightly
def test_what_a_killed_server_left_of_an_upload_goes_at_the_next_start_although_no_job_is_unfinished(tmp_path: Path) -> None:
    left = tmp_path / "data" / "uploads" / "left"
    left.mkdir(parents=True)
    (left / "half.txt").write_text("half of")
    with serving(tmp_path):
        eventually(left.exists, lambda there: not there)


@pytest.mark.nightly
def test_a_server_killed_while_it_streams_answers_again_after_its_next_start(tmp_path: Path) -> None:
    corpus(tmp_path, 10)
    with serving(tmp_path) as server:
        job = server.client.post("/ingest", params={"wait": 100}, json={"path": "corpus"}).json()["job_id"]
        server.until(job, "SUCCEEDED")
        with (
            pytest.raises(httpx.TransportError),
            server.client.stream("POST", "/ingest/stream", params={"path": "corpus"}) as reply,
        ):
            for _ in reply.iter_raw():
                if server.process.poll() is None:
                    server.kill()
    with serving(tmp_path) as server:
        asked = {"question": "Who met Mira Holm?", "stream": True}
        with server.client.stream("POST", "/query", json=asked) as reply:
            next(reply.iter_raw())
            server.kill()
    with serving(tmp_path) as server:
        told = server.client.post("/query", json={"question": "Who met Mira Holm?"}).json()
        assert "Mira Holm" in told["answer"]
        # the run that was broken off goes on
        eventually(
            lambda: [job["status"] for job in server.client.get("/jobs").json()["jobs"]], lambda told: "RUNNING" not in told
        )
    assert here("doctor", "--data", tmp_path / "data").code == 0
