"""What a route does not declare is refused beside JSON too: in the query, and in the form of an upload."""

from collections.abc import Iterator

import httpx
import pytest

from tests.server import Api, laptop_api

FILE = {"file": ("a.md", b"# Approval\n\nMira Holm signs.")}
UPLOADS = ["/documents", "/unstructured/upload_document/", "/unstructured/upload_document"]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("declared")) as served:
        yield served


def refusal(reply: httpx.Response) -> str:
    """Return the message of a 422 in the one shape."""
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input"), reply.text
    assert {"error", "message", "request_id"} == reply.json().keys()
    return str(reply.json()["message"])


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/documents?limt=1", "unknown parameter 'limt'; did you mean 'limit'? Known: after, find, limit, namespace"),
        ("GET", "/jobs?limit=1&limt=1", "unknown parameter 'limt'; did you mean 'limit'? Known: limit"),
        ("GET", "/jobs/0f6c?wiat=1", "unknown parameter 'wiat'. Known: none"),
        ("GET", "/jobs/0f6c/events?affter=1", "unknown parameter 'affter'; did you mean 'after'? Known: after"),
        ("GET", "/ingest/stream?path=a&bogus=2", "unknown parameter 'bogus'. Known: checkpoint, "),
        ("GET", "/ingest/stream?path=a&inc_rel_onyl=true", "'inc_rel_onyl'; did you mean 'inc_rel_only'?"),
        ("GET", "/graph/egonet?id=entity:a&node=entity:a", "unknown parameter 'node'. Known: depth, id, kinds, limit"),
        ("GET", "/diagnostics?verbose", "unknown parameter 'verbose'. Known: none"),
        ("GET", "/jobs?" + "x" * 5_000, "unknown parameter '" + "x" * 80 + "'. Known: limit"),
        ("GET", "/jobs?%ED%A0%80=1&limit=1", "unknown parameter '"),
        ("DELETE", "/documents/source:" + "0" * 32 + "?force=true", "unknown parameter 'force'. Known: "),
        ("POST", "/cache/clear?tenant=other", "unknown parameter 'tenant'. Known: none"),
    ],
)
def test_a_name_of_the_query_that_a_route_does_not_know_is_refused(api: Api, method: str, path: str, message: str) -> None:
    assert message in refusal(api.client().request(method, path))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/documents/handbook", "document_id: must be an id: source: and 32 hexadecimal digits"),
        ("/statements/source:1", "statement_id: must be an id: statement: and 32 hexadecimal digits"),
        ("/jobs/first", "job_id: must be an id: hexadecimal digits"),
        ("/graph/egonet?id=Mira", "id: must be the id of one of source, chunk, topic, statement, fact, entity, such as"),
        ("/graph/egonet?id=entity:0&kinds=edge", "kinds: must be some of source, chunk, topic, statement, fact, entity"),
        ("/documents?after=%20", "after: must be `next` of the previous page"),
    ],
)
def test_what_an_id_must_be_is_said_in_words(api: Api, path: str, message: str) -> None:
    assert refusal(api.client().get(path)).startswith(message)


@pytest.mark.parametrize("path", ["/documents?limit=1&limit=2", "/jobs?limit=1&limit=1", "/jobs?limit=2&limit="])
def test_a_name_that_the_query_holds_twice_is_refused(api: Api, path: str) -> None:
    assert refusal(api.client().get(path)) == "limit: is given 2 times; pass it once"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"question": "Who signs?", "question": "Who pays?"}', "question"),
        ('{"question": "Who signs?", "parameters": {"top_k": 1, "top_k": 1}}', "top_k"),
        ('{"question": "Who signs?", "\\ud800": 1, "\\ud800": 2}', "?"),
    ],
)
def test_a_name_that_an_object_of_a_body_holds_twice_is_refused(api: Api, body: str, name: str) -> None:
    reply = api.client().post("/query", content=body, headers={"Content-Type": "application/json"})
    assert refusal(reply) == f"{name}: is given 2 times; send it once"


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"Content-Encoding": "gzip"}, "content-encoding: must be omitted; send the body uncompressed"),
        ({"Content-Type": "application/json; charset=utf-16"}, "content-type: charset must be utf-8; send JSON in UTF-8"),
    ],
)
def test_a_body_that_is_compressed_or_in_another_charset_is_refused(api: Api, headers: dict[str, str], told: str) -> None:
    plain = {"Content-Type": 'application/json; Charset="UTF-8"', "Content-Encoding": "identity"}
    body = b'{"question": "Who signs?"}'
    assert api.client().post("/query", content=body, headers=plain).status_code == 200
    reply = api.client().post("/query", content=body, headers=plain | headers)
    assert (reply.status_code, reply.json()["error"]) == (415, "unsupported_media_type")
    assert reply.json()["message"] == told


def test_a_file_that_is_sent_as_text_is_told_so(api: Api) -> None:
    reply = api.client().post("/documents", files={"file": (None, "a.md")})
    assert refusal(reply) == "file: must be a file with a name"


def test_a_field_of_the_body_is_not_taken_from_the_query(api: Api) -> None:
    reply = api.client().post("/query?stream=true", json={"question": "Who signs?"})
    assert refusal(reply) == "unknown parameter 'stream'. Known: none"


@pytest.mark.parametrize("path", UPLOADS)
@pytest.mark.parametrize(
    ("field", "told"),
    [("namspace", "unknown parameter 'namspace'"), ("wait", "wait: is of the query"), ("seed", "unknown parameter 'seed'")],
)
def test_a_field_of_a_form_that_a_route_does_not_know_is_refused(api: Api, path: str, field: str, told: str) -> None:
    client = api.client(f"form-{field}")
    assert refusal(client.post(path, files=FILE, data={field: "court"})).startswith(told)
    assert client.get("/documents").json()["documents"] == []


@pytest.mark.parametrize(("path", "field"), [(UPLOADS[0], "namespace"), (UPLOADS[1], "db_name")])
def test_a_name_in_a_form_is_not_empty(api: Api, path: str, field: str) -> None:
    client = api.client(f"empty-{field}")
    assert refusal(client.post(path, files=FILE, data={field: ""})).startswith(f"{field}: is empty")
    assert client.get("/documents").json()["documents"] == []
    assert client.post(path, files=FILE, data={"metadata": ""}).status_code == 200


def test_a_field_of_a_form_is_told_from_one_of_the_query(api: Api) -> None:
    reply = api.client().post("/documents?namespace=court", files=FILE)
    assert refusal(reply) == "namespace: is a field of the form, not of the query: send it there"


@pytest.mark.parametrize("path", UPLOADS)
def test_a_misspelt_file_is_told_by_the_nearest_name(api: Api, path: str) -> None:
    assert "'fiel'; did you mean 'file'?" in refusal(api.client().post(path, files={"fiel": FILE["file"]}))


@pytest.mark.parametrize("path", UPLOADS)
def test_a_form_has_few_and_small_fields_besides_its_file(api: Api, path: str) -> None:
    client = api.client("crowded")
    for data in ({"metadata": "x" * 200_000}, {f"field-{n}": "x" for n in range(1_000)}):
        assert client.post(path, files=FILE, data=data).status_code == 400


@pytest.mark.parametrize("path", UPLOADS)
def test_a_form_of_a_key_that_may_send_no_file_is_not_read(api: Api, path: str) -> None:
    reply = api.client("default", "read").post(path, files=FILE, data={"namspace": "x"})
    assert (reply.status_code, reply.json()["message"]) == (403, "the key lacks the scope 'ingest'")


@pytest.mark.parametrize("path", ["/query", "/estimate", "/mcp", "/jobs/0f6c/cancel"])
def test_only_a_route_that_takes_a_file_takes_a_body_as_long_as_one(api: Api, path: str) -> None:
    reply = api.client().post(path, files={"file": ("a.md", b"x" * 1_100_000)})
    assert (reply.status_code, reply.json()["message"]) == (413, "the body has more than 1,000,000 bytes")


def test_a_wrong_content_type_stays_one(api: Api) -> None:
    assert api.client().post("/documents", json={"file": "x"}).status_code == 415
    assert api.client().post("/documents", data={"namspace": "x"}).status_code == 415


def test_a_retriever_tells_of_a_parameter_that_another_switches_off(api: Api) -> None:
    body = {"question": "Who signs?", "parameters": {"graph_rank": "none", "graph_rank_weight": 5.0}}
    told = "graph_rank_weight has no effect with graph_rank='none': omit it or change the other"
    assert refusal(api.client().post("/retrieve/hybrid", json=body)) == told


@pytest.mark.requirement("H-05", "H-28")
def test_a_role_that_no_chunk_can_have_is_refused(api: Api) -> None:
    body = {"query": "Who signs?", "db_name": "fractal_db", "namespace": "n", "role": "nope"}
    told = "role must be one of paragraph, list, table, code, row, heading, sentence, or null"
    assert refusal(api.client().post("/unstructured/multihop_query/", json=body)) == told
    assert api.client().post("/unstructured/multihop_query/", json={**body, "role": "sentence"}).status_code == 404
