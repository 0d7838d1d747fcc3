"""What is not as it should be: a 4xx that names field and limit, in time, in the one shape, and nothing leaks."""

import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from jsonschema import Draft202012Validator

from lexigraph.retrieval.catalogue import RETRIEVERS
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.factory import VectorStoreFactory
from tests import patient
from tests.laptop import open_laptop, write_pages
from tests.server import Api, laptop_api

SECONDS = 30.0
MARK = "Zanzibarquince"
DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text("utf-8"))
BODIES = {
    path: next(iter(methods["post"]["requestBody"]["content"].values()))["schema"]
    for path, methods in DOCUMENT["paths"].items()
    if "application/json" in methods.get("post", {}).get("requestBody", {}).get("content", {})
}
UPLOADS = ["/documents", "/unstructured/upload_document/"]
VALID = {
    "/query": {"question": "Who signs?"},
    "/ranking/preview": {"question": "Who signs?"},
    "/query/multidoc": {"question": "Who signs?"},
    "/retrieve/{retriever}": {"question": "Who signs?"},
    "/api/v1/memory/recall": {"query": "Who signs?"},
    "/unstructured/multihop_query/": {"query": "Who signs?", "db_name": "fractal_db", "namespace": "default"},
    "/ingest": {"path": "corpus"},
    "/estimate": {"path": "corpus"},
    "/keys": {},
    "/curation/decisions": {"kind": "alias", "name": "Tove Lund", "others": ["T. Lund"]},
}
WRONG = [None, MARK, "", 5, -1, 1.5, 10**400, True, [], [[]], {}, {"key": MARK}, [None], [{MARK: 1}]]
GENTLE = [
    "a\x00b",
    "\u202eright to left\u202c of it",
    "e\u0301" * 50,
    "\u200b" * 100 + "x",
    "🜁" * 50,
    "\ufeffword",
    "' OR 1=1 --",
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Path]]:
    folder = tmp_path_factory.mktemp("fuzz")
    pages = {"Approval": "Mira Holm signs what Tove Lund approves. Tove Lund leads the Harbour Team."}
    with laptop_api(folder, pages=pages, max_file_bytes=2_000_000) as api:
        yield api, folder


@pytest.fixture
def client(served: tuple[Api, Path], caplog: pytest.LogCaptureFixture) -> Iterator[httpx.Client]:
    """A client of every scope; afterwards the log holds nothing of what was sent, nor where the data lies."""
    api, folder = served
    caplog.set_level(logging.DEBUG, logger="lexigraph")
    yield api.client()
    assert MARK not in caplog.text
    assert str(folder) not in caplog.text
    assert "Traceback" not in caplog.text


def at(path: str) -> str:
    return path.replace("{retriever}", "hybrid")


def refused(reply: httpx.Response, *statuses: int, field: str = "") -> dict[str, str]:
    assert reply.status_code in (statuses or (422,)), reply.text
    body: dict[str, str] = reply.json()
    assert set(body) - {"hint"} == {"error", "message", "request_id"}
    assert field in body["message"]
    harmless(reply)
    return body


def harmless(reply: httpx.Response) -> None:
    assert reply.status_code < 500, reply.text
    assert reply.elapsed.total_seconds() < SECONDS
    if reply.status_code >= 400:
        for leak in (MARK, "/tmp/", "Traceback", ".py", "sqlite", "pydantic"):
            assert leak not in reply.text


def raw(api: Api, data: bytes) -> str:
    """What the server answers to bytes that no client would send."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        connection.sendall(data)
        with suppress(OSError):  # it may have hung up already
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode("utf-8", "replace")


def test_every_route_that_takes_json_is_tried_here() -> None:
    assert VALID.keys() == BODIES.keys()


@pytest.mark.parametrize("path", BODIES)
def test_a_wrong_type_in_any_field_is_refused_by_its_name(client: httpx.Client, path: str) -> None:
    schema = BODIES[path]
    fields = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    tried = 0
    for name, its in fields.items():
        check = Draft202012Validator({**its, "components": DOCUMENT["components"]})
        for value in WRONG:
            if check.is_valid(value):
                continue
            sent = json.dumps({**VALID[path], name: value})
            reply = client.post(at(path), content=sent, headers={"Content-Type": "application/json"})
            refused(reply, 400, 422, field=name if "0" * 300 not in sent else "")
            tried += 1
    assert tried >= 5 * len(fields)


@pytest.mark.parametrize("path", BODIES)
def test_a_null_in_every_optional_field_is_as_if_none_were_sent(client: httpx.Client, path: str) -> None:
    fields = DOCUMENT["components"]["schemas"][BODIES[path]["$ref"].rpartition("/")[2]]["properties"]
    sent = client.post(at(path), json={**dict.fromkeys(fields), **VALID[path]})
    assert sent.is_success, sent.text


@pytest.mark.parametrize("path", BODIES)
def test_a_field_that_nobody_knows_is_refused(client: httpx.Client, path: str) -> None:
    reply = client.post(at(path), json={**VALID[path], "nobody": MARK})
    refused(reply, field="nobody")


@pytest.mark.parametrize(
    "value", ["x", "", " 5", "0x10", "1e999", "nan", "inf", "1_000", "５", "5.5", "-1", "9" * 5_000, MARK]
)
def test_a_parameter_that_is_no_number_or_out_of_its_limits_is_refused_by_its_name(client: httpx.Client, value: str) -> None:
    for path, name in (("/jobs", "limit"), ("/documents", "limit"), ("/graph/egonet", "depth")):
        refused(client.get(path, params={"id": "entity:0", name: value}), field=name)
    refused(client.post("/ingest", json={"path": "corpus"}, params={"incremental": value}), field="incremental")
    if value != "5.5":
        refused(client.post("/ingest", json={"path": "corpus"}, params={"wait": value}), field="wait")


@pytest.mark.parametrize("path", [*BODIES, *UPLOADS, "/cache/clear", "/nowhere"])
@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes_are_refused_before_they_have_arrived(client: httpx.Client, path: str, chunked: bool) -> None:
    body = b'{"question": "' + b"x" * 10_000_000 + b'"}'
    parts = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
    reply = client.post(at(path), content=parts if chunked else body, headers={"Content-Type": "application/json"})
    if chunked and path not in BODIES:  # nobody reads the body
        harmless(reply)
    else:
        assert "1,000,000 bytes" in refused(reply, 413)["message"]


@pytest.mark.parametrize("path", UPLOADS)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_file_over_the_limit_is_refused(client: httpx.Client, path: str, chunked: bool) -> None:
    made = httpx.Request("POST", client.base_url, files={"file": ("big.md", b"x" * 10_000_000)})
    body = made.read()
    parts = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
    headers = {"Content-Type": made.headers["content-type"]}
    told = refused(client.post(path, content=parts if chunked else body, headers=headers), 413)
    assert "bytes" in told["message"]


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        "[" * 400_000 + "]" * 400_000,
        '{"a":' * 100_000,
        '{"question": ' * 2_000 + "1" + "}" * 2_000,
        '{"question": "x", "filters": ' + '{"filters": [' * 30 + '{"key": "a", "value": 1}' + "]}" * 30 + "}",
        '{"question": [' + "1," * 100_000 + "1]}",
        '{"question": ' + "9" * 5_000 + "}",
        '{"question": "\\ud800"}',
        '{"question": "x", "\\udfff": 1}',
        '{"question": NaN}',
        '{"question": 1e999}',
        '{"question": "' + MARK + "\x01",
        '\ufeff{"nobody": 1}',  # what is no field of any; nothing at all makes a key
        "",
        "null",
        '"' + MARK + '"',
        f"{{{MARK}: 1}}",
    ],
    ids=lambda body: body[:20] or "empty",
)
def test_a_body_that_is_no_object_of_ours_is_refused(client: httpx.Client, path: str, body: str) -> None:
    reply = client.post(at(path), content=body.encode("utf-8"), headers={"Content-Type": "application/json"})
    refused(reply, 400, 422)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/unstructured/multihop_query/", "hop_decay"),
        ("/unstructured/multihop_query/", "num_hops"),
        ("/query/multidoc", "min_relevance"),
        ("/api/v1/memory/recall", "max_results"),
        ("/estimate", "usd_per_million_input"),
    ],
)
def test_a_number_that_is_none_or_huge_is_refused(client: httpx.Client, path: str, field: str, value: str) -> None:
    body = f'{json.dumps(VALID[path])[:-1]}, "{field}": {value}}}'
    refused(client.post(path, content=body, headers={"Content-Type": "application/json"}), 422, field=field)


@pytest.mark.parametrize("text", GENTLE)
def test_strange_text_is_text(client: httpx.Client, text: str) -> None:
    for path in ("/query", "/ranking/preview", "/query/multidoc", "/retrieve/{retriever}"):
        harmless(client.post(at(path), json={"question": f"Who {text} signs?"}))
    reply = client.post("/api/v1/memory/recall", json={"query": text + " Holm", "session_id": "s" + text[:20]})
    harmless(reply)
    for name in ("namespace", "db_name"):
        harmless(client.post("/unstructured/multihop_query/", json={**VALID["/unstructured/multihop_query/"], name: text}))
    harmless(client.post("/retrieve/bm25", json={"question": "x", "filters": {"key": text, "value": text}}))
    harmless(client.get("/documents", params={"namespace": text}))
    harmless(client.get("/graph/egonet", params={"id": f"entity:{text}"[:100]}))


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*$",
        "(a|aa)+$",
        "(.*)*x",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(x+x+)+y",
        "((a{1,30}){1,30}){1,30}",
        "a{1000}{1000}",
        ".*" * 100,
        "(" * 100,
        "[",
        "*",
        "(?P<x",
        "(?<=a)b",
        r"\1",
        r"\C",
        "a{0,999999999}",
        "|" * 200,
        "(?i)" + "k" * 190,
        "\x00+",
        "[\U00010000-\U0010ffff]+",
        "x" * 4_000,
    ],
)
def test_no_pattern_takes_long(client: httpx.Client, pattern: str) -> None:
    reply = client.post("/api/v1/memory/recall", json={"query": pattern, "force_regex": True})
    harmless(reply)
    if reply.status_code != 200:
        refused(reply, field="query")


def test_no_path_leads_out_of_the_folders(client: httpx.Client, served: tuple[Api, Path]) -> None:
    paths = [
        "../../../etc/passwd",
        "/etc/passwd",
        "corpus/../../..",
        "~root",
        "//etc",
        "..%2f..%2fetc",
        "corpus/\x00",
        "\\\\host\\x",
    ]
    for path in [
        *paths,
        "x" * 4_096,
        "/proc/self/environ",
        "file:///etc/passwd",
        "corpus/" + "../" * 500,
        str(served[1].parent),
    ]:
        for reply in (
            client.post("/ingest", json={"path": path}),
            client.get("/ingest/stream", params={"path": path}),
            client.post("/estimate", json={"path": path}),
        ):
            refused(reply, 404, 422, field="path")


@pytest.mark.parametrize(
    "name",
    [
        "../../../escaped.md",
        "..\\..\\escaped.md",
        "/escaped.md",
        "C:\\escaped.md",
        "a/../../escaped.md",
        "%2e%2e%2fescaped.md",
    ],
)
def test_a_file_name_with_a_path_in_it_stays_a_name(client: httpx.Client, served: tuple[Api, Path], name: str) -> None:
    told = client.post("/documents", files={"file": (name, b"# Escaped\n\nIt is here.")})
    harmless(told)
    if told.status_code == 200:
        assert told.json()["document"]["uri"].startswith("upload://default/")
        assert "escaped.md" in told.json()["document"]["uri"]
    around = [served[1].parent, served[1], served[1] / "data", served[1] / "corpus"]
    assert not [p for folder in around for p in folder.glob("*escaped*")]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "...", ".md", "x" * 300 + ".md", "\x00", "a.exe", "md", "notes.md/", MARK + ".bin"]
)
def test_a_file_name_that_cannot_be_is_refused(client: httpx.Client, name: str) -> None:
    disposition = f'form-data; name="file"; filename="{name}"'.encode()
    body = b"--b\r\nContent-Disposition: " + disposition + b"\r\n\r\n\r\n--b--\r\n"
    reply = client.post("/documents", content=body, headers={"Content-Type": "multipart/form-data; boundary=b"})
    refused(reply, 400, 422)


UNSEEN = ["\u202eabc", "a\nb", "a\x00b", "a\u200bb", "a\u2066b", "\ufeff", "   ", "a\U000e0041b", "a\n"]
FILE = {"file": ("flow.md", b"Mira Holm signs.")}
NAMED: dict[tuple[str, str, str], dict[str, Any]] = {
    ("POST", "/ingest", "namespace"): {"json": {"path": "corpus"}},
    ("GET", "/ingest/stream", "namespace"): {"params": {"path": "corpus"}},
    ("POST", "/ingest/stream", "namespace"): {"params": {"path": "corpus"}},
    ("GET", "/documents", "namespace"): {"params": {}},
    ("POST", "/documents", "namespace"): {"data": {}, "files": FILE},
    ("POST", "/unstructured/upload_document/", "db_name"): {"data": {}, "files": FILE},
    ("POST", "/unstructured/multihop_query/", "db_name"): {"json": VALID["/unstructured/multihop_query/"]},
    ("POST", "/unstructured/multihop_query/", "namespace"): {"json": VALID["/unstructured/multihop_query/"]},
    ("POST", "/api/v1/memory/recall", "session_id"): {"json": {"query": "Who signs?"}},
    ("POST", "/estimate", "name"): {"json": {"text": "Mira Holm signs."}},
}


@pytest.mark.parametrize("place", NAMED, ids=" ".join)
@pytest.mark.parametrize("name", UNSEEN)
def test_a_name_that_cannot_be_seen_whole_is_refused_before_there_is_a_job(
    client: httpx.Client, place: tuple[str, str, str], name: str
) -> None:
    method, path, field = place
    before = client.get("/jobs").json()
    how, *more = NAMED[place]
    sent = {how: {**NAMED[place][how], field: name}} | {kind: NAMED[place][kind] for kind in more}
    told = refused(client.request(method, path, **sent), field=field)
    assert "a visible character" in told["message"]
    assert client.get("/jobs").json() == before


def test_the_id_of_a_text_is_a_name_too(client: httpx.Client) -> None:
    body = {"question": "Who signs?", "context": [{"id": "a\u202eb", "text": "Mira Holm signs."}]}
    refused(client.post("/query", json=body), field="context.0")


@pytest.mark.parametrize("path", UPLOADS)
def test_a_file_whose_name_turns_a_line_round_is_refused(client: httpx.Client, path: str) -> None:
    refused(client.post(path, files={"file": ("flow\u202efdp.md", b"Mira Holm signs.")}), field="file: its name")
    taken = client.post(path, files={"file": ("می\u200cخواهم 審判 a\u00a0b.md", b"Mira Holm signs.")})
    assert taken.status_code == 200, taken.text


@pytest.mark.parametrize("path", UPLOADS)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\ncut off',
            "multipart/form-data; boundary=b",
        ),
        (b'--b\r\nContent-Disposition: form-data; name="fi', "multipart/form-data; boundary=b"),
        (b"--other\r\n\r\nx\r\n--other--\r\n", "multipart/form-data; boundary=b"),
        (b"--b--\r\n", "multipart/form-data; boundary=b"),
        (b"", "multipart/form-data; boundary=b"),
        (b"--b\r\nx\r\n--b--\r\n", "multipart/form-data"),
        (b"--b\r\n" + b"X: y\r\n" * 10_000 + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"),
        (
            b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' * 2_000 + b"--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + MARK.encode() + b"\r\n--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
        (b"\xff" * 1_000, "multipart/form-data; boundary=" + "b" * 5_000),
    ],
)
def test_a_form_that_is_broken_is_refused(client: httpx.Client, path: str, body: bytes, kind: str) -> None:
    refused(client.post(path, content=body, headers={"Content-Type": kind}), 400, 415, 422)


@pytest.mark.parametrize("path", [*BODIES, *UPLOADS])
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "x", "application/octet-stream"]
)
def test_another_content_type_is_refused_with_the_right_one(client: httpx.Client, path: str, kind: str) -> None:
    told = refused(client.post(at(path), content=b'{"question": "x"}', headers={"Content-Type": kind}), 415)
    assert ("multipart/form-data" if path in UPLOADS else "application/json") in told["message"]


def test_headers_that_claim_another_tenant_change_nothing(served: tuple[Api, Path]) -> None:
    api, _ = served
    stranger = api.client("stranger", "read")
    for name in ("X-Lexigraph-Tenant", "X-Tenant", "X-Amzn-Request-Context", "X-Amzn-Lambda-Context", "X-Forwarded-User"):
        for value in ("default", '{"authorizer": {"lambda": {"tenant": "default", "scopes": "read ingest admin"}}}'):
            headers = {name: value}
            assert stranger.get("/documents", headers=headers).json()["documents"] == []
            refused(stranger.post("/cache/clear", headers=headers), 403)
            refused(patient.get(f"{api.url}/documents", headers=headers), 401)


@pytest.mark.parametrize(
    "path",
    [
        "/documents/..%2f..%2fetc%2fpasswd",
        "/documents/source:" + "0" * 33,
        "/jobs/" + "f" * 65,
        f"/jobs/{MARK}",
        f"/{MARK}",
        "/retrieve/" + quote("\x00"),
        "/static-offline-docs/..%2f..%2f__init__.py",
        "/jobs/%ff",
        "/%00",
        "/%2Fdocuments",
    ],
)
def test_a_path_that_is_none_of_ours_is_refused(client: httpx.Client, path: str) -> None:
    refused(client.request("POST" if "retrieve" in path else "GET", path), 404, 405, 422)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-Bomb: " + b"x" * 1_000_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
        b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n{}",
        b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n{}",
        b"POST /query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\x00" * 200,
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n\r\n",
    ],
)
def test_what_is_no_http_of_ours_ends_with_4xx_or_nothing_and_the_server_goes_on(
    served: tuple[Api, Path], client: httpx.Client, sent: bytes
) -> None:
    began = time.monotonic()
    try:
        said = raw(served[0], sent)
    except (ConnectionResetError, BrokenPipeError):
        said = ""
    assert time.monotonic() - began < SECONDS
    assert said == "" or said.startswith("HTTP/1.1 4"), said[:100]
    assert client.get("/health").status_code == 200


@pytest.mark.nightly
def test_a_store_that_fails_is_told_without_the_path_of_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_pages(tmp_path / "corpus", {"Approval": "Mira Holm signs what Tove Lund approves."})
    stores = open_laptop(tmp_path / "data")
    with laptop_api(tmp_path, stores=stores) as api:
        client = api.client()
        assert client.post("/ingest", json={"path": "corpus"}).status_code == 200
        stores.vectors.close()
        for part in (tmp_path / "data").glob("vector*"):
            if part.is_file():
                part.write_bytes(b"this is no database" * 1_000)
        seen = set()
        for path, body in VALID.items():
            for name in RETRIEVERS if "{retriever}" in path else [""]:
                reply = client.post(path.replace("{retriever}", name), json=body)
                seen.add(reply.status_code)
                # a job that failed is told with its number
                assert reply.status_code in (200, 201, 503) or (path, reply.status_code) == ("/ingest", 500), reply.text
                assert str(tmp_path) not in reply.text.replace(f"file://{tmp_path}", "")
                assert "sqlite" not in reply.text
                assert "database" not in reply.text.replace('"databases"', "")  # a field of keys
                # what is damaged is no better in a while
                again = reply.status_code == 503 and reply.json()["error"] != "store_damaged"
                assert again == ("retry-after" in reply.headers)
        job = client.get("/jobs").json()["jobs"][0]
        assert str(tmp_path) not in job["reason"]
    stores.close()
    assert {200, 503} <= seen
    assert str(tmp_path) in caplog.text, "who runs it finds the file in the log"


def test_a_wrong_setting_of_a_model_is_for_the_log_and_no_fault_of_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pages(tmp_path / "corpus", {"Approval": "Mira Holm signs what Tove Lund approves."})
    monkeypatch.setenv("LEXIGRAPH_LLM", "openai:any")
    with laptop_api(tmp_path, llm_options={"base_url": "inside:11434"}) as api:
        reply = api.client().post("/query", json=VALID["/query"])
        taken = api.client().post("/ingest", json={"path": "corpus"})
    assert "inside" not in taken.text
    assert (reply.status_code, reply.json()["error"]) == (503, "misconfigured")
    assert "inside" not in reply.text
    assert "inside:11434" in caplog.text


def test_a_store_of_another_model_is_told_without_its_path_and_as_no_fault_of_the_caller(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_pages(tmp_path / "corpus", {"Approval": "Mira Holm signs what Tove Lund approves."})
    with laptop_api(tmp_path) as api:
        assert api.client().post("/ingest", json={"path": "corpus"}).status_code == 200
    opened = open_laptop(tmp_path / "data")
    other = VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path / 'data'}", embedding=EmbeddingModel("other", 64))
    with laptop_api(tmp_path, stores=replace(opened, vectors=other)) as api:
        reply = api.client().post("/query", json=VALID["/query"])
        taken = api.client().post("/ingest", json={"path": "corpus"})
    other.close()
    opened.close()
    assert (reply.status_code, reply.json()["error"]) == (503, "misconfigured")
    assert taken.status_code == 500
    for told in (reply.text, taken.text):
        assert str(tmp_path) not in told
        assert "sqlite" not in told
    assert "LEXIGRAPH_EMBEDDING_MODEL" in caplog.text, "who runs it finds the remedy in the log"
