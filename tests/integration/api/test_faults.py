"""What a server says while a model or a store fails, hangs or talks nonsense: something clear, in time, and no more."""

import http.client
import json
import logging
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from lexigraph.answering.prompts import BROKEN_OFF
from lexigraph.api.app import create_app
from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import ModelUnavailable
from lexigraph.retrieval.catalogue import RETRIEVERS
from lexigraph.settings import Settings
from lexigraph.storage.sqlite import ledger
from tests import patient
from tests.disks import files_of_at_most, ordinary_user
from tests.integration.api.routes.test_ingest import events
from tests.laptop import laptop, open_laptop, write_pages
from tests.models import WordEmbedder
from tests.server import Api, LaptopService, serving
from tests.standins.llm_server import Reply, ScriptedLLMServer, refused
from tests.standins.loopback import LoopbackServer
from tests.waiting import eventually

PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.\n\nTidewater runs on Neptune since 2019.",
    "Heron Team": "The Heron Team is led by Ines Calloway.\n\nIt has 12000 members.",
    "Ines Calloway": "Ines Calloway came from a shipping insurer.",
}
QUESTION = "Who leads the Heron Team?"
DEADLINE = 20.0  # what hangs is given less where it is waited for
UNAVAILABLE = "store_unavailable"


class Embedder(WordEmbedder):
    """Asks ``before`` each question; that may fail, or not come back."""

    def __init__(self, before: Callable[[], object]) -> None:
        super().__init__()
        self._before = before

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        self._before()
        return super().embed_questions(texts)


class Murmuring(LoopbackServer):
    """A model's server that sends comments, and never an answer, until the block ends."""

    def __init__(self) -> None:
        super().__init__()
        self.over = Event()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        while not self.over.wait(0.5):
            request.wfile.write(b": one moment\n\n")
        request.close_connection = True

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.over.set()
        super().__exit__(kind, *rest)


@contextmanager
def served(folder: Path, *, embedder: WordEmbedder | None = None, model: str = "", **settings: Any) -> Iterator[Api]:
    """Serve the pages, with a language model at the address ``model``."""
    if model:
        settings |= {"llm": "openai:test", "llm_options": {"base_url": f"{model}/v1"}}
    data = folder / "data"
    made = Settings(
        **{"data": data, "ingest_roots": {"default": folder}, "api_rate": 0, "api_deadline": DEADLINE, **settings}
    )
    stores = open_laptop(data)
    assert not laptop(data, stores).ingest([write_pages(folder / "corpus", PAGES)]).failures
    service = LaptopService(made, stores=stores, embedder=embedder or WordEmbedder())
    with serving(create_app(made, service)) as url:
        api = Api(url, stores)
        yield api
        api.close()
    stores.close()


@contextmanager
def silent() -> Iterator[str]:
    """Give the address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def unavailable(reply: httpx.Response, error: str) -> None:
    """A 503 in the one shape that says when to come again, and nothing of this machine."""
    assert (reply.status_code, reply.json()["error"]) == (503, error), reply.text
    assert set(reply.json()) == {"error", "message", "request_id", "hint"}
    assert int(reply.headers["retry-after"]) > 0
    assert "/" not in reply.json()["message"]
    assert "Heron" not in reply.text


def turned_away(harm: Callable[[Path], None], reply: httpx.Response) -> None:
    """A store that is lost may come back: try again. One that is damaged does not mend itself."""
    if harm is lose:
        unavailable(reply, UNAVAILABLE)
        return
    assert (reply.status_code, reply.json()["error"]) == (503, "store_damaged"), reply.text
    assert "retry-after" not in reply.headers
    assert "lexigraph doctor" in reply.json()["hint"]
    assert "/" not in reply.json()["message"]


def warned(told: Any) -> set[str]:
    return {w["type"] for w in told["warnings"]}


# ------------------------------------------------------------ language models


HALF = b'data: {"choices": [{"delta": {"content": "The Heron Team \\ud800"}, "finish_reason": "stop"}]}\n\n'


def test_half_a_character_of_a_model_does_not_break_a_stream_off(tmp_path: Path) -> None:
    with ScriptedLLMServer(Reply(raw=HALF)) as model, served(tmp_path, model=model.url) as api:
        told = events(api.client().post("/query", json={"question": QUESTION, "stream": True}))
        assert told[-1][0] == "done"
        assert told[-1][1]["answer"] == "The Heron Team \ufffd"


@pytest.mark.parametrize(
    "script",
    [
        refused(500),
        Reply(raw=b'data: {"choices": [{"delta": {"content": 1}}]}\n\n'),
        Reply(raw=b"data: NaN\n\n"),
        Reply(raw=b"<html>busy</html>"),
        Reply(raw=b'{"choices": 7}'),
        Reply(""),
        Reply(hang_up_after=0),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_fails_or_talks_nonsense_gives_way_to_quotes(tmp_path: Path, script: Reply, stream: bool) -> None:
    with ScriptedLLMServer(script) as model, served(tmp_path, model=model.url, model_attempts=1) as api:
        reply = api.client().post("/query", json={"question": QUESTION, "stream": stream})
        told = events(reply)[-1][1] if stream else reply.json()
        assert told["extractive"] is True
        assert "Ines Calloway" in told["answer"]
        assert "model_unavailable" in warned(told)
        assert api.client().get("/diagnostics").json()["llm"]["llm_api"] is False


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_hangs_is_given_up_before_the_deadline(tmp_path: Path, stream: bool) -> None:
    with silent() as model, served(tmp_path, model=model, api_deadline=8.0) as api:
        reply = api.client().post("/query", json={"question": QUESTION, "stream": stream})
        told = events(reply)[-1][1] if stream else reply.json()
        assert (reply.status_code, told["extractive"]) == (200, True)
        assert "model_unavailable" in warned(told)


def test_an_answer_that_breaks_off_says_so(tmp_path: Path) -> None:
    script = Reply("The Heron Team is led by Ines Calloway [S1].", hang_up_after=4)
    with ScriptedLLMServer(script) as model, served(tmp_path, model=model.url) as api:
        told = events(api.client().post("/query", json={"question": QUESTION, "stream": True}))
        assert [name for name, _ in told[-2:]] == ["sources", "done"]
        assert told[-1][1]["answer"].startswith("The Heron Team is")
        assert BROKEN_OFF in told[-1][1]["answer"]
        assert "model_unavailable" in warned(told[-1][1])


class Endless(LoopbackServer):
    """A model's server that writes until nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.left = Event()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        piece = json.dumps({"choices": [{"index": 0, "delta": {"content": "on and "}}]}).encode()
        try:
            for _ in range(3_000):
                request.wfile.write(b"data: %s\n\n" % piece)
                time.sleep(0.01)
        except OSError:
            self.left.set()
        request.close_connection = True


@pytest.mark.slow
def test_a_client_that_leaves_a_stream_stops_the_model(tmp_path: Path) -> None:
    with Endless() as model, served(tmp_path, model=model.url) as api:
        with api.client().stream("POST", "/query", json={"question": QUESTION, "stream": True}) as reply:
            next(reply.iter_raw())
            assert not model.left.is_set()
        assert model.left.wait(30)
        assert api.client().get("/diagnostics").json()["llm"]["llm_api"] is not False, "the model did nothing wrong"


class Dripping(Endless):
    """A model's server that writes a whole reply so slowly that it never ends."""

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        request.send_response(200)
        request.end_headers()
        request.close_connection = True
        try:
            for _ in range(300):
                request.wfile.write(b": one moment\n\n")
                time.sleep(0.1)
        except OSError:
            self.left.set()


@pytest.mark.slow
def test_a_model_that_never_ends_is_left_at_the_deadline(tmp_path: Path) -> None:
    with Dripping() as model, served(tmp_path, model=model.url, api_deadline=3.0) as api:
        unavailable(api.client().post("/query", json={"question": QUESTION}), "deadline_exceeded")
        assert model.left.wait(30)


@pytest.mark.slow
def test_a_model_is_left_when_the_client_of_a_whole_answer_is_gone(tmp_path: Path) -> None:
    with Dripping() as model, served(tmp_path, model=model.url, api_deadline=60) as api:
        with pytest.raises(httpx.ReadTimeout):
            api.client().post("/query", json={"question": QUESTION}, timeout=1)
        assert model.left.wait(30)
        assert api.client().get("/diagnostics").json()["llm"]["llm_api"] is not False, "the model did nothing wrong"


@pytest.mark.slow
def test_a_reply_of_many_megabytes_is_cut_before_it_fills_the_memory(tmp_path: Path) -> None:
    script = "Ines Calloway leads it [S1]. " + "blah " * 300_000
    with ScriptedLLMServer(script) as model, served(tmp_path, model=model.url) as api:
        reply = api.client().post("/query", json={"question": QUESTION, "stream": True})
        told = events(reply)[-1][1]
        assert told["answer"].startswith("Ines Calloway leads it [S1]. blah")
        assert len(told["answer"]) < 17_000
        assert "answer_cut" in warned(told)


class Waiting(LoopbackServer):
    """A model's server that takes a question and says nothing, or ``begins`` to, until the asker hangs up."""

    def __init__(self, begins: bytes = b"") -> None:
        super().__init__()
        self.begins, self.asked, self.left = begins, Event(), Event()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        self.record(request, {})
        if self.begins:
            request.send_response(200)
            request.send_header("Content-Type", "text/event-stream")
            request.end_headers()
            request.wfile.write(self.begins)
        self.asked.set()
        request.connection.settimeout(60)
        if not request.connection.recv(1):
            self.left.set()
        request.close_connection = True


@pytest.mark.slow
@pytest.mark.parametrize(
    "begins", [b"", b': thinking\n\ndata: {"choices": [{"index": 0, "delta": {"role": "assistant"}}]}\n\n']
)
def test_a_client_that_leaves_stops_a_model_that_has_said_nothing_yet(tmp_path: Path, begins: bytes) -> None:
    patient = {"api_deadline": 300.0, "model_timeout": 100.0}
    with Waiting(begins) as model, served(tmp_path, model=model.url, **patient) as api:
        with api.client().stream("POST", "/query", json={"question": QUESTION, "stream": True}):
            assert model.asked.wait(30)
            assert not model.left.is_set()
        assert model.left.wait(30)
        assert len(model.requests) == 1, "and is not asked again"
        assert api.client().get("/diagnostics").json()["llm"]["llm_api"] is not False, "the model did nothing wrong"


@pytest.mark.nightly
def test_a_model_that_never_comes_to_the_point_ends_in_an_error_at_the_deadline(tmp_path: Path) -> None:
    with Murmuring() as model, served(tmp_path, model=model.url, api_deadline=2.0) as api:
        unavailable(api.client().post("/query", json={"question": QUESTION}), "deadline_exceeded")
        name, told = events(api.client().post("/query", json={"question": QUESTION, "stream": True}))[-1]
        assert (name, told["error"]) == ("error", "deadline_exceeded")


@pytest.mark.slow
def test_streams_that_wait_keep_no_other_request_waiting(tmp_path: Path) -> None:
    with Murmuring() as model, served(tmp_path, model=model.url, api_deadline=20.0) as api, ExitStack() as opened:
        client = api.client()
        for _ in range(45):
            asked = {"question": QUESTION, "stream": True}
            opened.enter_context(client.stream("POST", "/query", json=asked))
        assert api.client().post("/retrieve/bm25", json={"question": QUESTION}, timeout=15).json()["results"]


# ------------------------------------------------------------ embedding models


@pytest.fixture(scope="module")
def wordless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server whose embedding model fails."""

    def fail() -> None:
        raise ModelUnavailable("the model at /opt/models is gone")

    with served(tmp_path_factory.mktemp("wordless"), embedder=Embedder(fail)) as api:
        yield api.client()


@pytest.mark.parametrize("retriever", [*RETRIEVERS, "query"])
def test_without_vectors_the_search_goes_by_words_and_says_so(wordless: httpx.Client, retriever: str) -> None:
    reply = wordless.post("/query" if retriever == "query" else f"/retrieve/{retriever}", json={"question": QUESTION})
    if retriever == "vector":  # there is nothing else it could go by
        unavailable(reply, "model_unavailable")
        return
    told = reply.json()
    assert reply.status_code == 200, reply.text
    assert told.get("results") or told.get("sources")
    assert "/opt" not in reply.text
    assert retriever == "bm25" or warned(told) & {"embedding_failed", "strategy_failed"}, told["warnings"]


@pytest.mark.nightly
def test_an_embedding_model_that_hangs_is_told_at_the_deadline_and_holds_up_nobody_else(tmp_path: Path) -> None:
    over = Event()
    with served(tmp_path, embedder=Embedder(lambda: over.wait(60)), api_deadline=3.0) as api:
        client = api.client()
        unavailable(client.post("/retrieve/traversal", json={"question": QUESTION}), "deadline_exceeded")
        unavailable(client.post("/query", json={"question": QUESTION, "stream": True}), "deadline_exceeded")
        assert client.post("/retrieve/bm25", json={"question": QUESTION}).json()["results"]
        assert client.get("/health").status_code == 200
        over.set()
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]


def test_an_unknown_error_is_answered_in_the_one_shape_and_the_connection_goes_on(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError(QUESTION)

    with served(tmp_path, embedder=Embedder(fail)) as api:
        connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=30)
        headers = {"Content-Type": "application/json", "X-API-Key": api.key()}
        for _ in range(2):
            connection.request("POST", "/retrieve/fused", json.dumps({"question": QUESTION}), headers)
            reply = connection.getresponse()
            body = json.loads(reply.read())
            assert (reply.status, body["error"]) == (500, "internal_error")
            assert set(body) == {"error", "message", "request_id"}
        connection.close()


# ------------------------------------------------------------ stores


def lose(file: Path) -> None:
    """Take a database away, with all that belongs to it."""
    for part in parts_of(file):
        part.rename(f"{part}.away")


def bring_back(file: Path) -> None:
    for part in parts_of(Path(f"{file}.away")):
        part.rename(str(part).removesuffix(".away"))


def parts_of(file: Path) -> list[Path]:
    name = file.name.removesuffix(".away")
    away = file.name.removeprefix(name)
    return [path for end in ("", "-wal", "-shm") if (path := file.with_name(f"{name}{end}{away}")).exists()]


def spoil(file: Path) -> None:
    """Put something else in the place of a database."""
    lose(file)
    file.write_bytes(b"no database " * 1_000)


@pytest.mark.parametrize("harm", [lose, spoil])
@pytest.mark.parametrize(("file", "state"), [("graph.sqlite", "graph"), ("vectors.sqlite", "vector_index")])
def test_a_lost_store_is_told_and_used_again_when_it_is_back(
    tmp_path: Path, harm: Callable[[Path], None], file: str, state: str
) -> None:
    path = tmp_path / "data" / file
    with served(tmp_path) as api:
        client = api.client()
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]
        harm(path)
        for asked in ("traversal", "semantic-guided", "multihop", "multidoc", "bm25"):
            turned_away(harm, client.post(f"/retrieve/{asked}", json={"question": QUESTION}))
        turned_away(harm, client.post("/query", json={"question": QUESTION, "retriever": "traversal", "stream": True}))
        met = "ok" if harm is lose else "damaged"
        assert patient.get(f"{api.url}/health").json()["stores"] == met
        preview = client.post("/ranking/preview", json={"question": QUESTION})  # words do without the graph, and the reverse
        assert preview.status_code != 200 or preview.json()["degraded"] is True, preview.text
        told = client.get("/diagnostics")
        assert (told.status_code, told.json()[state][state]) == (200, False)
        kind = "vectors" if state == "vector_index" else state
        assert told.json()["stores"][kind] == ("unavailable" if harm is lose else "damaged")
        assert (not path.exists()) if harm is lose else path.read_bytes().startswith(b"no database"), "left as it is"
        bring_back(path)
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]
        assert client.get("/diagnostics").json()[state][state] is True
        assert patient.get(f"{api.url}/health").json()["stores"] == "ok"


@pytest.mark.parametrize("file", ["graph.sqlite", "vectors.sqlite"])
def test_a_job_that_fails_for_a_lost_store_is_told_like_any_other_request(tmp_path: Path, file: str) -> None:
    path, sent = tmp_path / "data" / file, {"file": ("a.txt", b"Mira Holm leads the Egret Team.")}
    with served(tmp_path, ingest_in="thread") as api:
        client = api.client()
        lose(path)
        for reply in (client.post("/ingest", json={"path": "corpus"}), client.post("/documents", files=sent)):
            unavailable(reply, UNAVAILABLE)
        bring_back(path)
        assert client.post("/ingest", json={"path": "corpus"}).status_code == 200


@pytest.mark.parametrize("harm", [lose, spoil])
def test_without_its_registry_a_server_lets_nobody_in_and_says_why(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    path = tmp_path / "data" / "registry.sqlite"
    with served(tmp_path) as api:
        client = api.client()
        assert client.get("/diagnostics").status_code == 200
        harm(path)
        turned_away(harm, client.get("/diagnostics"))
        assert client.get("/health").status_code == 200
        bring_back(path)
        assert client.get("/diagnostics").status_code == 200


LOCK = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN IMMEDIATE'); print(flush=True); input()"


@pytest.mark.nightly
def test_a_store_that_another_process_writes_to_for_long_hinders_writers_only(tmp_path: Path) -> None:
    database = str(tmp_path / "data" / "registry.sqlite")
    with served(tmp_path, api_deadline=4.0, ingest_in="thread") as api:
        client = api.client()
        with subprocess.Popen(
            [sys.executable, "-c", LOCK, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout
            writer.stdout.readline()
            unavailable(client.post("/ingest", json={"path": "corpus"}), "deadline_exceeded")
            assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]
            assert client.get("/documents").json()["documents"]
            writer.communicate(b"\n", timeout=30)
        eventually(lambda: client.post("/ingest", json={"path": "corpus"}).status_code, lambda code: code in (200, 202))


def test_a_folder_that_cannot_be_written_refuses_uploads_and_goes_on_answering() -> None:
    with ordinary_user() as folder, served(folder) as api:
        client = api.client()
        file = {"file": ("new.txt", b"Mira Holm leads the Egret Team.")}
        (folder / "data" / "uploads").mkdir()
        (folder / "data" / "uploads").chmod(0o555)
        refused = client.post("/documents", files=file)
        assert (refused.status_code, refused.json()["error"]) == (503, UNAVAILABLE)
        assert "log" in refused.json()["hint"]
        assert "Retry-After" not in refused.headers, "waiting gives no permission"
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]
        (folder / "data" / "uploads").chmod(0o755)
        assert client.post("/documents", files=file, params={"wait": 0}).status_code in (200, 202)


def test_a_full_disk_refuses_uploads_and_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path, ingest_in="thread") as api:
        client = api.client()
        with files_of_at_most(200_000):
            unavailable(client.post("/documents", files={"file": ("a.txt", b"word " * 60_000)}), UNAVAILABLE)
        assert list((tmp_path / "data" / "uploads").iterdir()) == []
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).json()["results"]


@pytest.mark.parametrize(
    ("file", "damage", "path"),
    [
        ("graph.sqlite", "UPDATE source SET uri = CAST(? AS TEXT)", "/retrieve/traversal"),
        ("registry.sqlite", "UPDATE documents SET record = CAST(? AS TEXT)", "/documents"),
        ("registry.sqlite", "UPDATE jobs SET request = CAST(? AS TEXT)", "/jobs"),
    ],
)
def test_a_damaged_row_is_told_without_what_stands_in_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, file: str, damage: str, path: str
) -> None:
    caplog.set_level(logging.DEBUG, "lexigraph")
    with served(tmp_path) as api:
        with sqlite3.connect(tmp_path / "data" / file) as database:
            ledger.suspend(database)
            database.execute(damage, (b"the password is 4711 \xff\xfe",))
        client = api.client()
        asked = client.post(path, json={"question": QUESTION}) if path.startswith("/retrieve") else client.get(path)
    assert (asked.status_code, asked.json()["error"]) == (503, "store_damaged"), asked.text
    assert "the file is damaged" in caplog.text
    for told in (asked.text, caplog.text):
        assert "4711" not in told
