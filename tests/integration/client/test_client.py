"""The Python client against a served laptop, and against a server in front of it that is busy, breaks off or is none."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.client import ApiFailure, AsyncClient, Client
from lexigraph.client.failures import Forbidden, RateLimited, Unauthorized, Unreachable
from lexigraph.client.operations import OPERATIONS
from lexigraph.client.requests import LARGE_BYTES
from lexigraph.client.streams import Event, Parser
from lexigraph.model.errors import Conflict, InvalidInput, LexigraphError, ModelUnavailable, NotFound, StoreUnavailable
from lexigraph.model.filters import MetadataFilter
from tests.client_code import CLIENT, code
from tests.laptop import write_pages
from tests.server import Api, laptop_api

QUESTION = "Who runs the Sable Ferry?"
FERRY = "The Sable Ferry is run by the Quill Line. It crosses the Nare twice a day."
LARGE = bytes(LARGE_BYTES + 1)
# operations that no method calls, and why
UNCALLED = {"ingest_stream": "the GET of ingest_and_stream, for browsers"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("served")
    pages = {f"Room {n}": f"Room {n} has Oak boards. The Quill Line owns room {n}." for n in range(5)}
    write_pages(folder / "pages", {"Sable Ferry": FERRY, **pages})
    with laptop_api(folder) as served:
        with Client(served.url, served.key()) as client:
            assert client.ingest("pages")["documents_new"] == 6
        yield served


@pytest.fixture
def client(api: Api) -> Iterator[Client]:
    with Client(api.url, api.key()) as made:
        yield made


def test_what_is_made_of_the_description_of_the_api_is_up_to_date() -> None:
    outdated = [path.name for path, text in code().items() if path.read_text(encoding="utf-8") != text]
    assert outdated == [], "run python -m tests.client_code"


def test_every_operation_has_a_method() -> None:
    text = (CLIENT / "asynchronous.py").read_text(encoding="utf-8")
    called = set(re.findall(r'\._(?:call|events|pages)\(\s*"(\w+)"', text))
    assert called | UNCALLED.keys() == OPERATIONS.keys()
    assert called & UNCALLED.keys() == set()


def test_a_question_gets_a_cited_answer_and_statements(client: Client) -> None:
    answer = client.query(QUESTION)
    assert "Quill Line" in answer["answer"]
    assert answer["references"][0]["label"] == "S1"
    found = client.retrieve(QUESTION, "bm25", parameters={"max_search_results": 1})
    assert ["Quill Line" in text for text in found["results"][0]["statements"][:1]] == [True]
    statement = client.statement(found["results"][0]["details"][0]["id"])
    assert statement["document"]["title"] == "Sable Ferry"
    assert client.preview(QUESTION)["items"]
    assert client.multidoc(QUESTION, num_docs=2)["num_articles"] <= 2
    assert client.recall("Sable Ferry", session_id="s")["nodes"]


def test_an_answer_streams_and_ends_with_what_a_whole_one_has(client: Client) -> None:
    with client.stream(QUESTION) as answer:
        pieces = list(answer)
    whole = client.query(QUESTION)
    assert pieces
    assert "".join(pieces) == answer.text == whole["answer"]
    assert answer.result is not None
    assert {**answer.result, "timings": 0, "cached": 0} == {**whole, "timings": 0, "cached": 0}


def test_a_stream_that_is_left_is_closed_and_the_client_goes_on(client: Client) -> None:
    with client.stream(QUESTION) as answer:
        first = next(iter(answer))
    assert (answer.text, answer.result) == (first, None)
    assert client.health()["status"] == "ok"


def test_a_file_is_uploaded_followed_found_and_deleted(client: Client, tmp_path: Path) -> None:
    (tmp_path / "harbour.md").write_text("# Harbour\n\nThe Harbour Office keeps the lamps.\n", "utf-8")
    events: list[str] = []
    job = client.upload(tmp_path / "harbour.md", namespace="court", on_event=lambda event: events.append(event["stage"]))
    assert job["status"] == "SUCCEEDED"
    assert "scan_input" in events
    (document,) = client.documents(namespace="court")
    assert client.document(document["id"])["title"] == "Harbour"
    assert "keeps the lamps" in client.document_text(document["id"])["text"]
    assert client.document_outline(document["id"])["headings"]
    assert [one["text"] for one in client.document_statements(document["id"])] == ["The Harbour Office keeps the lamps."]
    assert len(list(client.document_topics(document["id"]))) == 1
    assert client.job_events(job["id"], after=1)[0]["seq"] == 2
    assert job["id"] in {one["id"] for one in client.jobs()}
    assert client.delete_document(document["id"])["removed"] == 1
    assert list(client.documents(namespace="court")) == []


@pytest.mark.nightly
def test_all_documents_of_a_namespace_are_deleted_while_they_are_listed(client: Client, tmp_path: Path) -> None:
    write_pages(tmp_path / "yard", {f"Yard {n}": f"Yard {n} is empty." for n in range(5)})
    list(client.upload_folder(tmp_path / "yard", namespace="yard"))
    listed = client._pages("list_documents", "documents", query={"limit": "2", "namespace": "yard"}, by="after")
    assert sum(client.delete_document(document["id"])["removed"] for document in listed) == 5
    assert list(client.documents(namespace="yard")) == []


def test_a_large_file_goes_to_a_server_that_offers_no_upload_url(client: Client) -> None:
    with pytest.raises(InvalidInput, match="unsupported type"):
        client.upload(("mill.unknown", LARGE))


def test_a_large_file_is_put_where_a_deployment_says_but_for_one_with_metadata() -> None:
    done = replying({"id": "7", "status": "SUCCEEDED"})
    with scripted((200, {"Content-Length": "0"}, b"")) as (bucket, put):
        offer = replying({"job_id": "7", "url": f"{bucket}/mill.md", "headers": {}})
        with scripted(offer, done) as (url, asked), Client(url) as client:
            assert client.upload(("mill.md", LARGE))["status"] == "SUCCEEDED"
        with scripted(replying({"job_id": "7"}), done) as (url, sent), Client(url) as client:
            client.upload(("mill.md", LARGE), metadata={"year": 1920})
    assert (put, asked) == (["/mill.md"], ["/documents/upload-url", "/jobs/7"])
    assert sent == ["/documents?wait=0", "/jobs/7"]


def test_a_folder_is_uploaded_file_by_file_and_what_is_refused_stops_nothing(client: Client, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write_pages(docs / "mill", {"Index": "The Mill grinds rye."})
    write_pages(docs / "inn", {"Index": "The Inn serves soup."})
    for name, data in ((".hidden.md", b"# Hidden"), ("broken.pdf", b"no pdf"), ("a.bin", b"x"), ("empty.md", b"")):
        (docs / name).write_bytes(data)
    done = {str(path.relative_to(docs)): job for path, job in client.upload_folder(docs, namespace="folder")}
    assert {name: (job["status"], re.split(r"; | \(", job["reason"])[0]) for name, job in done.items()} == {
        "a.bin": ("FAILED", "file: unsupported type"),
        "broken.pdf": ("FAILED", "nothing could be ingested: broken.pdf: is damaged, or not of type pdf"),
        "empty.md": ("FAILED", "file: is empty"),
        "inn/Index.md": ("SUCCEEDED", ""),
        "mill/Index.md": ("SUCCEEDED", ""),
    }
    assert len(list(client.documents(namespace="folder"))) == 2
    with pytest.raises(InvalidInput, match="no such folder"):
        next(iter(client.upload_folder(tmp_path / "none")))


def test_pages_follow_each_other(client: Client) -> None:
    found = list(client._pages("list_documents", "documents", query={"limit": "2", "namespace": "default"}, by="after"))
    assert len(found) == 6
    assert len({one["id"] for one in found}) == 6
    named = next(one for one in client.entities("Quill Line"))
    told = client.entity(named["id"])
    listed = sum(len(source["statements"]) for source in client.entity_statements(named["id"]))
    assert (told["name"], told["statements"] > 0) == (named["name"], True)
    assert listed == told["statements"]
    assert list(client.entity_neighbours(named["id"]))
    assert client.egonet(named["id"], kinds=["statement"])["nodes"]


@pytest.mark.slow
def test_an_operator_sees_and_does_what_the_api_offers(client: Client, api: Api) -> None:
    made = client.create_key(name="reader", scopes=["read"])
    with Client(api.url, made["key"]) as reader, pytest.raises(Forbidden, match="scope"):
        reader.keys()
    assert client.revoke_key(made["id"])["revoked_at"]
    decided = client.decide(kind="alias", name="Quill Line", others=["QL"])
    assert client.undo_decision(decided["id"])["undone_at"]
    assert [one["id"] for one in client.decisions()] == [decided["id"]]
    assert isinstance(client.proposals("Quill Line", limit=5), list)
    assert made["id"] in {key["id"] for key in client.keys()}  # noqa: SIM118
    assert client.overview()["counts"]["documents"] >= 6
    assert client.diagnostics()["graph"]["graph"] is True
    assert client.estimate(text="# Lamp\n\nThe lamp is lit.")["chunks"] == 1
    assert client.cache_stats()["answer_cache_size"] >= 0
    client.clear_cache()


def test_multihop_asks_in_the_namespace_of_an_upload(client: Client) -> None:
    job = client.upload_document(("appeals.md", b"# Appeals\n\nAppeals must be in writing. The board reads appeals."))
    reply = client.multihop("What must appeals be?", db_name=job["db_name"], namespace=job["namespace"], num_hops=1)
    assert "in writing" in reply["final_results"][0]["value"]


def test_a_key_that_sees_a_part_uploads_folders_and_into_its_database(api: Api, tmp_path: Path) -> None:
    write_pages(tmp_path / "press", {"Gazette": "The Gazette appears at noon."})
    told, staff = {"groups": "press"}, MetadataFilter("groups", "==", "press")
    with Client(api.url, api.key(databases=("news",), filters=staff)) as press:
        jobs = [job["status"] for _, job in press.upload_folder(tmp_path / "press", namespace="press", metadata=told)]
        assert press.upload_document(("a.md", b"# A\n\nAda reads."), db_name="news", metadata=told)["db_name"] == "news"
        assert (jobs, len(list(press.documents()))) == (["SUCCEEDED"], 2)
        for document in press.documents():
            press.delete_document(document["id"])


def test_an_ingest_tells_its_events(client: Client) -> None:
    names = [event.name or event.data["stage"] for event in client.ingest_stream("pages")]
    assert (names[0], names[-1]) == ("start", "done")
    with pytest.raises(Conflict, match="already ended"):
        client.cancel_job(client.jobs()[0]["id"])


@pytest.mark.parametrize(
    ("call", "kinds", "message"),
    [
        (lambda c: c.query(""), (InvalidInput, ApiFailure), "question"),
        (lambda c: c.retrieve("x y", "nowhere"), (InvalidInput,), "retriever: must be"),
        (lambda c: c.document("source:" + "0" * 32), (NotFound, ApiFailure), "no such document"),
        (lambda c: c.upload(("x.xyz", b"what")), (InvalidInput,), "type"),
        (lambda c: c.upload(Path("/nowhere/at.md")), (InvalidInput,), "no such file"),
        (lambda c: c.query("x" * 5_000), (InvalidInput,), "4,?000"),
    ],
)
def test_errors_are_ours_and_say_what_the_server_said(client: Client, call: Any, kinds: Any, message: str) -> None:
    for kind in kinds:
        with pytest.raises(kind, match=message) as raised:
            call(client)
    if isinstance(raised.value, ApiFailure):
        assert raised.value.status in (404, 415, 422)
        assert re.fullmatch(r"[0-9a-f]{16}", raised.value.request_id)


@pytest.mark.parametrize("given", ["../keys/{}", "..%2Fkeys%2F{}", "%2e%2e/keys/{}", "x?/../../keys/{}", "#{}"])
def test_an_id_never_leads_to_another_route(client: Client, given: str) -> None:
    made = client.create_key(name="kept", scopes=["read"])
    with pytest.raises((NotFound, InvalidInput)):
        client.delete_document(given.format(made["id"]))
    assert next(key for key in client.keys() if key["id"] == made["id"])["revoked_at"] == ""  # noqa: SIM118


@pytest.mark.parametrize("given", ["", ".", ".."])
def test_what_an_address_takes_for_a_step_is_no_id(client: Client, given: str) -> None:
    with pytest.raises(InvalidInput, match="document_id must be the id"):
        client.delete_document(given)


def test_a_wrong_key_a_wrong_address_and_no_server_are_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(api.url, "lxk_wrong") as client, pytest.raises(Unauthorized, match="X-API-Key"):
        client.query(QUESTION)
    with pytest.raises(InvalidInput, match="must start with http"):
        Client("localhost:8010")
    with Client("http://127.0.0.1:9", attempts=2) as client, pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
        client.health()
    monkeypatch.setenv("LEXIGRAPH_URL", api.url)
    monkeypatch.setenv("LEXIGRAPH_API_KEY", f"{api.key()}\n")
    with Client() as client:
        assert client.documents(), "without the line end that a file of secrets leaves"
    for key in ("lxk_s3cret\nmore", "lxk_s3cr\u00e9t"):
        with pytest.raises(InvalidInput, match="api_key: the key holds") as refused:
            Client(api.url, key)
        assert "s3cr" not in str(refused.value)


def test_the_asynchronous_client_does_the_same(api: Api) -> None:
    async def ask() -> tuple[str, str, list[str], Any]:
        async with AsyncClient(api.url, api.key()) as client:
            answers = await asyncio.gather(*(client.query(QUESTION) for _ in range(4)))
            assert len({one["answer"] for one in answers}) == 1
            async with client.stream(QUESTION) as answer:
                pieces = [piece async for piece in answer]
            titles = [one["title"] async for one in client.documents(namespace="default")]
            return answers[0]["answer"], "".join(pieces), titles, answer.result

    whole, streamed, titles, result = asyncio.run(ask())
    assert whole == streamed
    assert "Sable Ferry" in titles
    assert result["answerable"] is True


# ------------------------------------------------------------ servers that are busy or break off


@contextmanager
def scripted(*replies: tuple[int, dict[str, str], bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serve replies in their order, the last one again and again; the value is the address, and the paths asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = replies[min(len(asked), len(replies) - 1)]
            asked.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _reply  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join(10)


def failing(status: int, code: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    body = json.dumps({"error": code, "message": "not now", "request_id": "0" * 16}).encode()
    return status, {"Content-Length": str(len(body)), **headers}, body


def replying(told: Any) -> tuple[int, dict[str, str], bytes]:
    body = json.dumps(told).encode()
    return 200, {"Content-Length": str(len(body)), "Content-Type": "application/json"}, body


SOON = {"Retry-After": "0"}


def test_a_busy_server_is_asked_again_as_it_says() -> None:
    with (
        scripted(failing(503, "unavailable", **SOON), failing(429, "rate_limited", **SOON), replying({"answer": "x"})) as (
            url,
            asked,
        ),
        Client(url) as client,
    ):
        assert client.query(QUESTION)["answer"] == "x"
    assert asked == ["/query"] * 3


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failing(503, "model_unavailable", **SOON), ModelUnavailable),
        (failing(503, "store_unavailable", **SOON), StoreUnavailable),
        (failing(429, "rate_limited", **SOON), RateLimited),
        ((502, SOON, b"<html>Bad gateway</html>"), ApiFailure),
    ],
)
def test_after_all_tries_the_error_is_that_of_the_last_one(reply: Any, kind: type[LexigraphError]) -> None:
    with scripted(reply) as (url, asked), Client(url, attempts=3) as client, pytest.raises(kind):
        client.query(QUESTION)
    assert len(asked) == 3


def test_what_may_have_been_done_is_not_done_twice() -> None:
    with scripted(failing(503, "unavailable", **SOON)) as (url, asked), Client(url) as client, pytest.raises(ApiFailure):
        client.create_key(name="x")
    assert len(asked) == 1


def test_a_stream_that_breaks_off_is_an_error_and_what_came_is_kept() -> None:
    told = b'event: token\ndata: {"text":"The Quill"}\n\n'
    headers = {"Content-Type": "text/event-stream", "Content-Length": "1000"}
    with scripted((200, headers, told)) as (url, asked), Client(url) as client:
        answer = client.stream(QUESTION)
        with pytest.raises(Unreachable, match="closed before the stream ended"):
            list(answer)
    assert (answer.text, answer.result, len(asked)) == ("The Quill", None, 1)


def test_an_error_in_a_stream_is_raised_as_outside_of_it() -> None:
    told = b'event: error\ndata: {"error":"model_unavailable","message":"the model is down","request_id":"1"}\n\n'
    with (
        scripted((200, {"Content-Type": "text/event-stream"}, told)) as (url, _),
        Client(url) as client,
        pytest.raises(ModelUnavailable, match="the model is down"),
    ):
        list(client.stream(QUESTION))


STREAM = {"Content-Type": "text/event-stream"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_ends_of_lines_end_the_lines_of_a_stream(end: str) -> None:
    text = "a\u2028b\u2029c\x85d\x0ce"
    told = end.join(["event: token", json.dumps({"text": text}, ensure_ascii=False), "", ": ping", "", ""])
    told = told.replace("{", "data: {")
    with scripted((200, STREAM, told.encode())) as (url, _), Client(url) as client:
        assert list(client.stream(QUESTION)) == [text]


@settings(max_examples=50)
@given(st.sampled_from(["\r\n", "\n", "\r"]), st.data())
def test_events_are_the_same_however_their_stream_is_cut(end: str, data: st.DataObject) -> None:
    lines = ["event: token", "data: [1,", "data: 2]", "", ": ping", "id: 3", "data: 4", ""]
    text = "".join(line + end for line in (*lines, ""))
    cuts = sorted([0, *data.draw(st.lists(st.integers(0, len(text)))), len(text)])
    parser = Parser()
    found = [event for start, stop in pairwise(cuts) for event in parser.feed(text[start:stop])]
    assert found == [Event("token", [1, 2]), Event("", 4, "3")]


def test_what_is_no_json_is_told_as_such() -> None:
    page = b"<html>Log in first</html>"
    with scripted((200, {"Content-Length": str(len(page))}, page)) as (url, asked), Client(url) as client:
        with pytest.raises(ApiFailure, match="not valid JSON: b'<html>Log in") as raised:
            client.health()
        assert (raised.value.code, len(asked)) == ("unexpected", 1)
    with scripted((200, STREAM, b'data: {"text":\n\n')) as (url, asked), Client(url) as client:
        with pytest.raises(ApiFailure, match="not valid JSON") as raised:
            list(client.stream(QUESTION))
        assert (raised.value.code, len(asked)) == ("unexpected", 1)


def test_fields_of_a_newer_server_are_passed_on() -> None:
    with scripted(replying({"status": "ok", "colour": "green"})) as (url, _), Client(url) as client:
        assert dict(client.health()) == {"status": "ok", "colour": "green"}


def test_the_transport_is_httpx_s() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"path": request.url.path}))
    with Client("http://x", transport=transport) as client:
        assert dict(client.health()) == {"path": "/health"}
