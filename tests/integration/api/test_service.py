"""What every route of the HTTP API has in common: keys, scopes, limits, and one shape of errors."""

import http.client
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mangum import Mangum

from lexigraph import __version__
from lexigraph.api import limits
from lexigraph.api.access.keys import HEADER, context_of, digest
from lexigraph.api.access.rates import RateLimit
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.cli.serve import listening
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import ApiKey, DocumentRecord
from tests import patient
from tests.server import Api, laptop_api


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("api")) as served:
        yield served


def refused(reply: httpx.Response, status: int, error: str) -> dict[str, str]:
    """The one shape of errors, with nothing else in it."""
    assert reply.status_code == status, reply.text
    body: dict[str, str] = reply.json()
    assert set(body) - {"hint"} == {"error", "message", "request_id"}
    assert body["error"] == error
    assert body["request_id"] == reply.headers["x-request-id"]
    return body


@pytest.mark.requirement("E-01", "E-02", "E-74")
def test_health_needs_no_key_and_tells_the_version(api: Api) -> None:
    reply = patient.get(f"{api.url}/health")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok", "stores": "ok", "api_version": __version__})


@pytest.mark.requirement("H-27", "E-74")
@pytest.mark.parametrize("key", [None, "", "lxk_", "yourapitoken", "lxk_00000000_" + "x" * 43, "x" * 5_000])
def test_without_a_valid_key_nothing_is_answered(api: Api, key: str | None) -> None:
    reply = patient.get(f"{api.url}/diagnostics", headers={} if key is None else {HEADER: key})
    assert "X-API-Key" in refused(reply, 401, "unauthorized")["message"]
    assert reply.headers["www-authenticate"] == "ApiKey"


def test_a_key_that_was_revoked_opens_nothing_from_then_on(api: Api) -> None:
    secret = api.key("default", "read")
    client = api.with_headers({HEADER: secret})
    assert client.get("/nowhere").status_code == 404
    kept = api.stores.registry.key(digest(secret))
    assert kept is not None
    api.stores.registry.revoke_key(Tenant("default"), kept.id)
    refused(client.get("/nowhere"), 401, "unauthorized")


def test_a_route_that_does_not_exist_tells_a_stranger_no_more_than_one_that_does(api: Api) -> None:
    assert refused(patient.get(f"{api.url}/nowhere"), 401, "unauthorized")
    refused(api.client().get("/nowhere"), 404, "not_found")
    refused(api.client().delete("/health"), 405, "method_not_allowed")


def test_head_is_answered_as_get_without_the_body(api: Api) -> None:
    client = api.client()
    for path in ("/health", "/documents", "/docs", "/explorer/ask", "/documents/source:" + "0" * 32, "/nowhere"):
        got, head = client.get(path), client.head(path)
        told = [{k: v for k, v in reply.headers.items() if k not in ("date", "x-request-id")} for reply in (got, head)]
        assert (head.status_code, head.content, told[1]["content-type"]) == (got.status_code, b"", told[0]["content-type"])
        assert told[0].keys() == told[1].keys()
    assert patient.get(f"{api.url}/health").headers["content-length"] == client.head("/health").headers["content-length"]


def test_a_head_needs_the_rights_of_a_get_and_changes_nothing(api: Api) -> None:
    assert api.with_headers({}).head("/documents").status_code == 401
    assert api.client("default", "ingest").head("/documents").status_code == 403
    client, params = api.client(), {"path": "."}
    before = client.get("/jobs").json()
    assert client.head("/ingest/stream", params=params).status_code == 405
    assert client.get("/jobs").json() == before


@pytest.mark.parametrize(
    ("method", "path", "status", "hint", "allow"),
    [
        ("PUT", "/documents", 405, "use GET or POST", "GET, POST, HEAD"),
        ("DELETE", "/explorer/ask", 405, "use GET", "GET, HEAD"),
        ("GET", "/query", 405, "use POST", "POST"),
        ("GET", "/documents/", 404, "use /documents", None),
        ("PUT", "/documents//", 404, "use /documents", None),
        ("GET", "/nowhere", 404, "GET /docs shows all routes", None),
    ],
)
def test_where_there_is_no_route_it_is_told_which_may_be_meant(
    api: Api, method: str, path: str, status: int, hint: str, allow: str | None
) -> None:
    reply = api.client().request(method, path)
    told = refused(reply, status, "not_found" if status == 404 else "method_not_allowed")
    assert told["message"] == ("there is no such route" if status == 404 else "this route takes other methods")
    assert (told["hint"], reply.headers.get("allow")) == (hint, allow)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "the body: must be an object"),
        ({}, "question: is required"),
        ({"question": 5}, "question: must be a string"),
        ({"stream": "yes"}, "stream: must be true or false"),
        ({"evidence_limit": 1.5}, "evidence_limit: must be a whole number"),
        ({"evidence_limit": 0}, "evidence_limit: must be greater than or equal to 1"),
        ({"parameters": []}, "parameters: must be an object"),
        ({"parameters": {"top_k": {}}}, "parameters.top_k: must be one of boolean, number, string"),
        ({"parameters": {"top_k": "5"}}, "top_k must be a whole number from 1 to 100 or null, got '5'"),
        ({"parameters": {"include_facts": None}}, "include_facts must be true or false, got null"),
        ({"context": "x"}, "context: must be an array"),
        ({"context": [5]}, "context.0: must be one of object, string"),
        ({"history": [{"role": "x", "content": "x"}]}, "history.0.role: must be 'user' or 'assistant'"),
        ({"filters": {"filters": []}}, "filters.filters: must have at least 1 item"),
        ({"filters": {"key": "", "value": 1}}, "filters.key: must not be blank"),
        ({"filters": {"key": "a", "value": None}}, "filters.value: must be one of boolean, number, string"),
    ],
)
def test_what_is_wrong_in_a_body_is_told_in_the_words_of_json(api: Api, given: Any, told: str) -> None:
    body = {"question": "Who?", **given} if given else given
    assert refused(api.client().post("/query", json=body), 422, "invalid_input")["message"] == told


def test_what_is_wrong_in_a_query_is_told_without_a_pattern_where_nobody_writes_it(api: Api) -> None:
    told = refused(api.client().get("/documents", params={"after": "!"}), 422, "invalid_input")
    assert told["message"] == "after: must be `next` of the previous page"


@pytest.mark.parametrize("path", ["/query", "/ranking/preview", "/retrieve/bm25"])
def test_parameters_that_are_null_are_as_if_not_given(api: Api, path: str) -> None:
    reply = api.client().post(path, json={"question": "Who signs?", "parameters": None})
    assert reply.status_code == 200, reply.text


def test_a_whole_number_may_be_written_as_json_may_write_it(api: Api) -> None:
    body = '{"question": "Who signs?", "parameters": {"top_k": 1e1}, "evidence_limit": 5.0}'
    reply = api.client().post("/query", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 200, reply.text


def test_a_body_over_the_limit_is_refused(api: Api) -> None:
    told = refused(api.client().post("/health", content=b"x" * 10_000_000), 413, "too_large")
    assert "1,000,000 bytes" in told["message"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_writes_all_before_it_reads_hears_that_it_is_too_much(api: Api, chunked: bool) -> None:
    secret = api.key()
    for _ in range(5):
        connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=30)
        parts = iter([b"x" * 100_000] * 200)
        body = parts if chunked else b"".join(parts)
        headers = {HEADER: secret, "Content-Type": "application/json"}
        connection.request("POST", "/query", body, headers, encode_chunked=chunked)
        reply = connection.getresponse()
        assert (reply.status, json.loads(reply.read())["error"]) == (413, "too_large")
        assert reply.getheader("connection") == "close"
        connection.close()


def test_a_body_without_end_is_not_read_for_ever(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_LINGER_BYTES", 3_000_000)
    with socket.create_connection(httpx.URL(api.url).netloc.decode().split(":"), timeout=20) as connection:
        head = f"POST /query HTTP/1.1\r\nHost: {httpx.URL(api.url).netloc.decode()}\r\nContent-Length: 900000000\r\n\r\n"
        connection.sendall(head.encode())
        sent = 0
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while sent < 900_000_000:
                connection.sendall(b"x" * 1_000_000)
                sent += 1_000_000
        assert sent < 100_000_000


def test_a_key_may_ask_so_often_a_minute(api: Api) -> None:
    client = api.client("default", "read", rate=3)
    assert [client.get("/nowhere").status_code for _ in range(4)] == [404, 404, 404, 429]
    reply = client.get("/nowhere")
    assert "3 requests per minute" in refused(reply, 429, "rate_limited")["message"]
    assert 1 <= int(reply.headers["retry-after"]) <= 21
    assert api.client("default", "read").get("/nowhere").status_code == 404, "other keys go on"


def test_a_limit_of_a_keys_own_holds_behind_a_gateway_too(tmp_path: Path) -> None:
    handler = Mangum(create_app(Settings(data=tmp_path, api_auth="gateway", api_rate=1)), lifespan="off")

    def asked(key_id: str, rate: str) -> int:
        event = json.loads((Path(__file__).parents[3] / "events" / "query.jobs.json").read_text("utf-8"))
        said = {"tenant": "team", "scopes": "read", "key_id": key_id, "databases": "[]", "rate": rate}
        event["requestContext"]["authorizer"] = said
        return int(handler(event, None)["statusCode"])  # type: ignore[arg-type]  # it asks nothing of the context

    assert [asked("few", "2") for _ in range(4)] == [200, 200, 429, 429]
    assert [asked("any", "0") for _ in range(4)] == [200] * 4, "the gateway counts these"


def test_filters_of_a_key_hold_behind_a_gateway_too(tmp_path: Path) -> None:
    documents = [
        DocumentRecord(f"source:{n:032}", f"file:///{n}", "default", "", "READY", metadata={"n": n}) for n in (1, 2)
    ]
    settings = Settings(data=tmp_path, api_auth="gateway")
    with closing(Service(settings)) as service:
        service.stores.registry.save(Tenant("team"), documents)
        handler = Mangum(create_app(settings, service), lifespan="off")

        def asked(**said: Any) -> tuple[int, int]:
            event = json.loads((Path(__file__).parents[3] / "events" / "query.jobs.json").read_text("utf-8"))
            event |= {"path": "/documents", "resource": "/documents"}
            event["requestContext"] |= {"authorizer": said, "path": "/prod/documents", "resourcePath": "/documents"}
            reply = handler(event, None)  # type: ignore[arg-type]  # it asks nothing of the context
            return reply["statusCode"], len(json.loads(reply["body"]).get("documents", ()))

        key = ApiKey("lxk_k", "ab" * 32, "team", ("read",))
        filtered = context_of(replace(key, filters=MetadataFilter("n", "==", 2)))
        assert asked(**context_of(key)) == (200, 2)
        assert asked(**filtered) == (200, 1)
        assert asked(**{name: value for name, value in filtered.items() if name != "filtered"})[0] == 403
        for nonsense in ("{", "{}", '{"filters": null, "scopes": ["read"]}', '{"filters": {"key": 1}, "scopes": ["read"]}'):
            assert asked(**{**filtered, "filtered": nonsense})[0] == 401


def test_tokens_come_back_with_time() -> None:
    now = [0.0]
    limit = RateLimit(lambda: now[0])
    assert [limit.wait("k", 60) for _ in range(61)][-2:] == [0.0, 1.0]
    now[0] = 1.5
    assert limit.wait("k", 60) == 0.0
    assert limit.wait("k", 60) == pytest.approx(0.5)
    assert limit.wait("k", 0) == limit.wait("other", 60) == 0.0


@pytest.mark.parametrize(
    "name", ["X-Lexigraph-Tenant", "X-Amzn-Request-Context", "x-amzn-lambda-context", "X-LEXIGRAPH-SCOPES"]
)
def test_headers_that_claim_to_come_from_a_gateway_are_dropped(api: Api, name: str) -> None:
    forged = json.dumps({"authorizer": {"tenant": "other", "scopes": "read ingest admin"}})
    reply = patient.get(f"{api.url}/diagnostics", headers={name: forged})
    refused(reply, 401, "unauthorized")


def test_an_open_server_asks_for_no_key_but_answers_this_machine_only(tmp_path: Path) -> None:
    with laptop_api(tmp_path, open_=True) as api:
        assert patient.get(f"{api.url}/nowhere").status_code == 404
        assert patient.get(f"{api.url}/nowhere", headers={HEADER: "yourapitoken"}).status_code == 404
        rebound = patient.get(f"{api.url}/health", headers={"Host": "attacker.example"})
        assert "this machine" in refused(rebound, 403, "forbidden")["message"]
        assert patient.get(f"{api.url}/health", headers={"Origin": api.url}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://attacker.example",
        "http://localhost:3000",
        "http://127.0.0.1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}0",
        "http://127.0.0.1:{port}.attacker.example",
        "null",
        "",
    ],
)
def test_an_open_server_answers_pages_of_its_own_origin_only(tmp_path: Path, origin: str) -> None:
    with laptop_api(tmp_path, open_=True) as api:
        foreign = {"Origin": origin.format(port=api.url.rsplit(":", 1)[1])}
        sent = {"file": ("flow.md", b"Mira Holm signs.")}
        refused(patient.post(f"{api.url}/documents", files=sent, headers=foreign), 403, "forbidden")
        refused(patient.get(f"{api.url}/documents", headers=foreign), 403, "forbidden")
        assert patient.get(f"{api.url}/documents").json()["documents"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "header",
    [
        *("X-Forwarded-For: 10.0.0.7", "X-Forwarded-Proto: http", "Forwarded: for=10.0.0.7", "Via: 1.1 proxy"),
        *("X-Real-IP: ::1", "CF-Connecting-IP: 10.0.0.7", "True-Client-IP: 10.0.0.7", "X-Client-IP: 10.0.0.7"),
        *("Fly-Client-IP: 10.0.0.7", "X-Envoy-External-Address: 10.0.0.7", "CDN-Loop: cloudflare"),
    ],
)
def test_an_open_server_answers_nothing_that_came_through_a_proxy(tmp_path: Path, header: str) -> None:
    with laptop_api(tmp_path, open_=True) as api:
        told = refused(patient.get(f"{api.url}/documents", headers=dict([header.split(": ")])), 403, "forbidden")
        assert "proxy" in told["message"]
        assert api.client().get("/documents", headers=dict([header.split(": ")])).status_code == 403
    with laptop_api(tmp_path) as api:
        assert api.client().get("/documents", headers=dict([header.split(": ")])).status_code == 200


def raw(api: Api, request: str) -> str:
    """What the server answers to a request as it is written, until it closes the connection."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request.replace("\n", "\r\n").encode())
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def test_an_open_server_refuses_http_1_0_by_which_a_proxy_without_headers_gives_itself_away(tmp_path: Path) -> None:
    asked = "GET /documents HTTP/1.0\nHost: 127.0.0.1\n"
    with laptop_api(tmp_path, open_=True) as api:
        assert raw(api, f"{asked}\n").startswith("HTTP/1.1 403")
    with laptop_api(tmp_path) as api:
        assert raw(api, f"{asked}{HEADER}: {api.key()}\n\n").startswith("HTTP/1.1 200")


def test_a_request_with_two_lengths_is_refused_and_ends_the_connection(api: Api) -> None:
    head = f"POST /retrieve/bm25 HTTP/1.1\nHost: here\n{HEADER}: {api.key()}\nContent-Type: application/json\n"
    told = raw(api, f"{head}Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\nGET /health HTTP/1.1\nHost: here\n\n")
    assert told.startswith("HTTP/1.1 400")
    assert "Content-Length or Transfer-Encoding" in told
    assert told.count("HTTP/1.1") == 1, "what follows is not answered"


@pytest.mark.parametrize("path", ["/documents/", "/jobs/", "/query/", "/health/"])
def test_a_slash_too_many_leads_nowhere(api: Api, path: str) -> None:
    forged = {"Host": "attacker.example", "X-Forwarded-Proto": "https"}
    reply = api.client().get(path, headers=forged)
    refused(reply, 404, "not_found")
    assert "location" not in reply.headers


def test_a_get_that_changes_something_needs_what_another_page_cannot_send(tmp_path: Path) -> None:
    (tmp_path / "flow.md").write_text("Mira Holm signs.")
    with laptop_api(tmp_path, open_=True) as api:
        at = f"{api.url}/ingest/stream?path=flow.md"
        told = refused(patient.get(at), 403, "forbidden")  # as an image of a page, in a browser that says no more
        assert "POST" in told["hint"]
        assert patient.get(f"{api.url}/jobs").json() == {"jobs": []}
        for reply in (
            patient.post(at),
            patient.get(at, headers={HEADER: "any"}),
            patient.get(at, headers={"Sec-Fetch-Site": "same-origin"}),  # its own page
        ):
            assert (reply.status_code, '"stage":"done"' in reply.text) == (200, True), reply.text
        refused(patient.post(at, headers={"Origin": "http://localhost:3000"}), 403, "forbidden")


@pytest.mark.parametrize("header", ["Host", "Origin"])
@pytest.mark.parametrize("value", ["[::1", "http://[", "localhost@attacker.example", "null"])
def test_an_open_server_refuses_a_host_or_origin_that_is_none(tmp_path: Path, header: str, value: str) -> None:
    with laptop_api(tmp_path, open_=True) as api:
        refused(patient.get(f"{api.url}/health", headers={header: value}), 403, "forbidden")


def test_a_server_that_is_open_until_a_key_is_made_is_closed_by_the_first_of_any_tenant(tmp_path: Path) -> None:
    with laptop_api(tmp_path, open_="until_key") as api:
        nobody = httpx.Client(base_url=api.url, timeout=patient.SECONDS)
        assert nobody.post("/documents", files={"file": ("flow.md", b"Mira Holm signs.")}).status_code == 200
        other = api.client("other")
        refused(nobody.get("/documents"), 401, "unauthorized")
        refused(nobody.post("/query", json={"question": "Who signs?"}), 401, "unauthorized")
        assert other.get("/documents").json()["documents"] == []
        key = api.stores.registry.keys(Tenant("other"))[0]
        api.stores.registry.revoke_key(Tenant("other"), key.id)
        refused(nobody.get("/documents"), 401, "unauthorized")
        assert nobody.get("/health").status_code == 200
        nobody.close()


def test_a_page_of_another_site_cannot_make_an_open_server_work_by_an_image_or_a_link(tmp_path: Path) -> None:
    # a browser sends no origin with these
    with laptop_api(tmp_path, open_=True) as api:
        foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        for site in (foreign, {**foreign, "Sec-Fetch-Site": "same-site"}):  # of another port of this machine
            refused(patient.get(f"{api.url}/documents", headers=site), 403, "forbidden")
            refused(patient.get(f"{api.url}/ingest/stream", params={"path": "."}, headers=site), 403, "forbidden")
        assert patient.get(f"{api.url}/jobs").json() == {"jobs": []}
        assert patient.get(f"{api.url}/docs", headers=foreign).status_code == 200


def test_who_sends_a_key_to_an_open_server_is_whom_it_stands_for(tmp_path: Path) -> None:
    with laptop_api(tmp_path, open_=True) as api:
        other = api.client("other")
        sent = other.post("/documents", files={"file": ("flow.md", b"Mira Holm signs.")})
        assert sent.status_code == 200, sent.text
        assert len(other.get("/documents").json()["documents"]) == 1
        assert patient.get(f"{api.url}/documents").json()["documents"] == []
        key = api.stores.registry.keys(Tenant("other"))[0]
        api.stores.registry.revoke_key(Tenant("other"), key.id)
        refused(other.get("/documents"), 401, "unauthorized")


def test_the_documentation_needs_neither_key_nor_network(api: Api) -> None:
    page = patient.get(f"{api.url}/docs")
    assert page.status_code == 200
    assert "http://" not in page.text.replace(api.url, "")
    assert "https://" not in page.text
    scripts = [part.split('"')[0] for part in page.text.split('src="')[1:]]
    assert scripts
    for script in scripts:
        assert patient.get(f"{api.url}{script}").status_code == 200
    assert patient.get(f"{api.url}/openapi.json").json()["info"]["version"] == __version__
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"  # nobody is led to click in it


def test_no_key_is_written_to_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        secret = api.key()
        api.with_headers({HEADER: secret}).get("/nowhere")
    assert secret not in caplog.text


def test_a_reply_is_sent_without_waiting_for_the_acknowledgement_of_its_head() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_address_alone_leads_to_the_documentation(api: Api) -> None:
    reply = patient.get(f"{api.url}/")
    assert (reply.status_code, reply.headers["location"]) == (307, "docs")


def test_the_folder_of_the_data_is_closed_to_other_users(tmp_path: Path) -> None:
    with laptop_api(tmp_path) as api:
        api.key()
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0


def test_what_is_written_to_a_folder_that_was_there_is_closed_to_other_users(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(0o755)
    with laptop_api(tmp_path, pages={"a.md": "# Approval\n\nMira Holm signs."}) as api:
        assert api.client().post("/query", json={"question": "Who signs?"}).status_code == 200
        written = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "data").iterdir()}
    assert {"registry.sqlite", "registry.sqlite-wal", "graph.sqlite", "vectors.sqlite", "documents"} <= written.keys()
    assert written == dict.fromkeys(written, 0)
