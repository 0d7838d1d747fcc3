"""Entities over HTTP: found while a name is typed, with what is said of them, page by page."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server import Api, laptop_api

HOSTILE = "Zed\u202egnp"  # turns the direction of writing: a document may say it, no file may be called so
NAMES = [f"Quillmark{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("entities")) as served:
        client = served.client()
        for number in range(12):
            lines = [f"in {number} Tove Lund opens gate {number} {part}." for part in range(9)]
            lines.append(f"then Agnès Lorwright meets Tove Lund {'near Bergen ' * (number == 3)}in {number}.")
            _send(client, f"note-{number:02}.txt", "\n\n".join(lines))
        _send(
            client, "one.txt", f"A note: Tove Lundgren and {HOSTILE} meet. Ada <script>alert(1)</script> Byron signs [S1]."
        )
        _send(client, "names.txt", "\n\n".join(f"today {name} waits." for name in NAMES))
        yield served


@pytest.fixture(scope="module")
def client(api: Api) -> httpx.Client:
    return api.client()


def _send(client: httpx.Client, name: str, text: str) -> None:
    assert client.post("/documents", files={"file": (name, text.encode())}).status_code == 200


def _found(client: httpx.Client, q: str, **params: Any) -> list[str]:
    return [e["name"] for e in client.get("/entities", params={"q": q, **params}).json()["entities"]]


def _id(client: httpx.Client, name: str) -> str:
    return str(client.get("/entities", params={"q": name}).json()["entities"][0]["id"])


@pytest.mark.slow
@pytest.mark.parametrize("q", ["Tove Lund", "tove lund", "TOVE  LUND", "Tove Lu", "tove", "tov"])
def test_a_name_is_found_while_it_is_typed(client: httpx.Client, q: str) -> None:
    assert _found(client, q)[:2] == ["Tove Lund", "Tove Lundgren"]


@pytest.mark.parametrize("q", ["agnes lorwright", "Agnès Lorwright", "AGNE\u0300S", "lorwright", "lor"])
def test_case_and_accents_do_not_matter_and_any_word_will_do(client: httpx.Client, q: str) -> None:
    assert "Agnès Lorwright" in _found(client, q)[:2]


def test_what_most_documents_name_comes_first_with_its_counts(client: httpx.Client) -> None:
    (first, *_) = client.get("/entities", params={"q": "t"}).json()["entities"]
    assert (first["name"], first["documents"], first["facts"] > 0) == ("Tove Lund", 12, True)


def test_entities_come_page_by_page(client: httpx.Client) -> None:
    found, cursor = [], ""
    while cursor is not None:
        page = client.get("/entities", params={"q": "quill", "limit": 7, "cursor": cursor}).json()
        found += [e["name"] for e in page["entities"]]
        cursor = page["next"]
    assert found == NAMES


@pytest.mark.parametrize("q", ["'); DROP TABLE entity;--", '"', "*", "\u202e", "<script>", "[S1]", "a" * 200, "\U0001f388"])
def test_any_text_is_harmless(client: httpx.Client, q: str) -> None:
    assert client.get("/entities", params={"q": q}).status_code == 200


def test_without_a_name_come_those_that_most_documents_name(client: httpx.Client) -> None:
    pages = [client.get("/entities", params={"limit": 2, "cursor": cursor}).json() for cursor in ("", "2")]
    named = [(e["name"], e["documents"]) for page in pages for e in page["entities"]]
    assert named[:2] == [("Tove Lund", 12), ("Agnès Lorwright", 12)] or named[:2] == [
        ("Agnès Lorwright", 12),
        ("Tove Lund", 12),
    ]
    assert len(set(named)) == 4
    assert client.get("/entities", params={"q": ""}).json() == client.get("/entities").json()


def test_what_only_titles_a_document_is_not_listed(client: httpx.Client) -> None:
    _send(client, "yarrowmere.md", "# Yarrowmere Handbook\n\nVera Quarn waits there today.\n")
    assert _found(client, "Yarrowmere") == []
    _send(client, "yarrow-note.txt", "Vera Quarn reads Yarrowmere Handbook today.")
    assert _found(client, "Yarrowmere")


def test_a_name_has_bounds(client: httpx.Client) -> None:
    for params in ({"q": "a" * 201}, {"q": "a", "cursor": "x"}, {"q": "a", "limit": 101}):
        assert client.get("/entities", params=params).status_code == 422


def test_an_entity_is_shown_with_how_it_is_written_and_how_often(client: httpx.Client) -> None:
    entity = client.get(f"/entities/{_id(client, 'Tove Lund')}").json()
    assert (entity["name"], entity["documents"], entity["statements"]) == ("Tove Lund", 12, 120)
    assert entity["names"] == [{"name": "Tove Lund", "count": 120}]
    beside = client.get(f"/entities/{entity['id']}/neighbours", params={"limit": 200}).json()
    assert entity["neighbours"] == beside["total"] == len(beside["neighbours"])


@pytest.mark.parametrize("limit", [1, 13, 50, 200])
def test_statements_come_page_by_page_each_once_by_document(client: httpx.Client, limit: int) -> None:
    entity, pages, cursor = _id(client, "Tove Lund"), [], ""
    while cursor is not None:
        page = client.get(f"/entities/{entity}/statements", params={"limit": limit, "cursor": cursor}).json()
        assert sum(len(source["statements"]) for source in page["sources"]) <= limit
        pages += [(source["document"]["id"], s) for source in page["sources"] for s in source["statements"]]
        cursor = page["next"]
    assert len(pages) == len({s["id"] for _, s in pages}) == 120
    documents = [document for document, _ in pages]
    assert documents == sorted(documents)
    assert all(entity in {e["id"] for e in s["entities"]} for _, s in pages)
    of_each = {d: [s["start"] for document, s in pages if document == d] for d in documents}
    assert all(starts == sorted(starts) for starts in of_each.values())


def test_statements_of_one_document_only(client: httpx.Client) -> None:
    entity = _id(client, "Tove Lund")
    document = client.get("/documents").json()["documents"][2]["id"]
    page = client.get(f"/entities/{entity}/statements", params={"document": document}).json()
    assert [(s["document"]["id"], len(s["statements"])) for s in page["sources"]] == [(document, 10)]


def test_neighbours_are_those_named_most_often_in_the_same_statements(client: httpx.Client) -> None:
    entity = _id(client, "Agnès Lorwright")
    page = client.get(f"/entities/{entity}/neighbours", params={"limit": 1}).json()
    (first,) = page["neighbours"]
    assert (first["name"], first["together"], first["documents"]) == ("Tove Lund", 12, 12)
    assert page["total"] == 2
    second = client.get(f"/entities/{entity}/neighbours", params={"limit": 1, "cursor": page["next"]}).json()
    assert second["neighbours"][0]["id"] != first["id"]
    back = client.get(f"/entities/{first['id']}/neighbours", params={"limit": 200}).json()["neighbours"]
    assert {r["direction"] for n in (first, *back) for r in n["relations"]} == {"in", "out"}


def test_hostile_texts_come_back_as_they_are(client: httpx.Client) -> None:
    entity = _id(client, "Tove Lundgren")
    reply = client.get(f"/entities/{entity}/statements")
    assert reply.headers["content-type"] == "application/json"
    assert HOSTILE in reply.json()["sources"][0]["statements"][0]["text"]


def test_what_is_not_there_is_not_found(client: httpx.Client, api: Api) -> None:
    entity = _id(client, "Tove Lund")
    for path in ("", "/statements", "/neighbours"):
        assert client.get(f"/entities/entity:{'0' * 32}{path}").status_code == 404
        assert client.get(f"/entities/entity:..{path}").status_code == 422
        assert api.client("other").get(f"/entities/{entity}{path}").status_code == 404
        assert api.client("default", "ingest").get(f"/entities/{entity}{path}").status_code == 403
    assert api.client("other").get("/entities", params={"q": "tove"}).json() == {"entities": [], "next": None}


def test_what_has_not_changed_is_not_sent_again(client: httpx.Client) -> None:
    entity = _id(client, "Tove Lund")
    for path in (f"/entities/{entity}", f"/entities/{entity}/statements", f"/entities/{entity}/neighbours", "/entities?q=t"):
        tag = client.get(path).headers["etag"]
        assert client.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_what_is_around_a_node_comes_in_parts_with_what_is_known_of_each(client: httpx.Client) -> None:
    entity = _id(client, "Tove Lund")
    asked: dict[str, Any] = {"id": entity, "limit": 50}
    parts, offset = list[dict[str, Any]](), 0
    while offset is not None:
        part = client.get("/graph/egonet", params={**asked, "offset": offset}).json()
        assert len(part["nodes"]) <= 50
        parts.append(part)
        offset = part["next_offset"]
    nodes = {node["id"]: node for part in parts for node in part["nodes"]}
    assert {(p["totals"]["nodes"], p["totals"]["complete"]) for p in parts} == {(len(nodes), True)}
    assert len(nodes) > 120
    assert nodes[entity]["properties"]["documents"] == 12
    statement = next(node for node in nodes.values() if node["type"] == "statement")
    place = client.get(f"/statements/{statement['id']}").json()
    told = statement["properties"]
    assert (told["start"], told["end"], told["document_id"]) == (place["start"], place["end"], place["document"]["id"])
    beyond = client.get("/graph/egonet", params={**asked, "offset": 100_000}).json()
    assert [node["id"] for node in beyond["nodes"]] == [entity]


def test_what_is_around_a_node_is_narrowed_to_kinds(client: httpx.Client) -> None:
    asked = {"id": _id(client, "Tove Lund"), "kinds": "statement,source", "limit": 500}
    around = client.get("/graph/egonet", params=asked).json()
    assert {node["type"] for node in around["nodes"]} == {"entity", "statement"}
    assert around["totals"] == {"nodes": 121, "edges": 120, "complete": True}
    relations = [r for node in around["nodes"] for r in node["properties"].get("relations", [])]
    assert asked["id"] in {end for r in relations for end in (r["subject"], r["object"])}
    for kinds in ("statements", "statement,", ",", "statement source"):
        assert client.get("/graph/egonet", params={**asked, "kinds": kinds}).status_code == 422
