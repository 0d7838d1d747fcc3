"""A document as it is read over HTTP: text, outline, topics and statements, each where it stands."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.files import pdf
from tests.server import Api, laptop_api, send

HOSTILE = "\\<script>alert('x')\\</script> signs the ledger [S1] with Tove\u200cLund"
READ = HOSTILE.replace("\\", "")
# characters beyond 16 bits: offsets count characters, not the units of JavaScript
MARKDOWN = f"""# The flow 🎈

Tove Lund approves the ledger. Mira Holm signs the ledger.

## Payment

Agnes Lorwright pays from the ledger. 🎈🎈 Bruno Velmond keeps the seal.

### Hostile

{HOSTILE}.

## Empty

"""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("reading")) as served:
        yield served


@pytest.fixture(scope="module")
def client(api: Api) -> httpx.Client:
    return api.client()


@pytest.fixture(scope="module")
def flow(client: httpx.Client) -> str:
    return send(client, "flow.md", MARKDOWN)


@pytest.fixture(scope="module")
def long(client: httpx.Client) -> str:
    """A document of many sections, each with a few sentences."""
    sections = (f"## Part {n}\n\nTove Lund counts crate {n}. Mira Holm moves crate {n} away.\n" for n in range(120))
    return send(client, "crates.md", "# Crates\n\n" + "\n".join(sections))


def _whole(client: httpx.Client, document: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/documents/{document}/text", params={"limit": 200_000}).json()
    return found


def _every(client: httpx.Client, path: str, kind: str, **params: Any) -> list[dict[str, Any]]:
    """Return all that a paged route has, page by page."""
    found, cursor = list[dict[str, Any]](), ""
    while cursor is not None:
        page = client.get(path, params={**params, "cursor": cursor}).json()
        assert len(page[kind]) <= params.get("limit", 1_000)
        found += page[kind]
        cursor = page["next"]
    return found


def test_the_text_is_read_in_stretches_with_the_headings_in_them(client: httpx.Client, flow: str) -> None:
    whole = _whole(client, flow)
    text = whole["text"]
    assert whole["characters"] == whole["end"] == len(text)
    assert READ in text
    assert [(h["text"], h["level"]) for h in whole["headings"]] == [
        ("The flow 🎈", 1),
        ("Payment", 2),
        ("Hostile", 3),
        ("Empty", 2),
    ]
    assert all(text[h["start"] :].startswith(h["text"]) for h in whole["headings"])
    payment = whole["headings"][1]["start"]
    part = client.get(f"/documents/{flow}/text", params={"start": payment - 5, "limit": 20}).json()
    assert part["text"] == text[payment - 5 : payment + 15]
    assert part["headings"] == [whole["headings"][1]]
    hostile, empty = (h["start"] for h in whole["headings"][2:])
    sections = [client.get(f"/documents/{flow}/text", params={"start": at}).json()["section"] for at in (hostile + 9, empty)]
    assert sections == [["The flow 🎈", "Payment", "Hostile"], ["The flow 🎈", "Empty"]]
    beyond = client.get(f"/documents/{flow}/text", params={"start": 10**9}).json()
    assert (beyond["text"], beyond["start"], beyond["end"]) == ("", len(text), len(text))
    outline = client.get(f"/documents/{flow}/outline").json()
    assert outline == {name: whole[name] for name in outline}


def test_pages_are_told_where_they_begin_and_the_one_in_which_a_stretch_begins(client: httpx.Client) -> None:
    lines = ("Tove Lund opens the ledger.", "Mira Holm reads the ledger.", "Bruno Velmond closes the ledger.")
    reply = client.post("/documents", files={"file": ("pages.pdf", pdf([[line] for line in lines]))})
    document = reply.json()["document"]["id"]
    whole = _whole(client, document)
    assert [page["number"] for page in whole["pages"]] == [1, 2, 3]
    second = whole["pages"][1]["start"]
    assert whole["text"][second:].startswith("Mira Holm")
    part = client.get(f"/documents/{document}/text", params={"start": second + 5, "limit": 3}).json()
    assert part["pages"] == [whole["pages"][1]]


def test_code_and_tables_are_told_where_they_stand(client: httpx.Client) -> None:
    code, table = "if otter:\n    swim(river)", "| Otter | River |\n|---|---|\n| Mila | Oder |\n| Bo | Elbe |"
    file = f"# Otters\n\nThe script:\n\n```\n{code}\n```\n\n## Where\n\n{table}\n\nThey swim.\n"
    document = client.post("/documents", files={"file": ("otters.md", file)}).json()["document"]["id"]
    text, verbatim = (_whole(client, document)[name] for name in ("text", "verbatim"))
    said = {v["kind"]: text[v["start"] : v["end"]] for v in verbatim}
    assert [v["kind"] for v in verbatim] == ["code", "table"]
    assert said["code"] == code
    assert "Mila" in said["table"]
    assert said["table"].count("\n") == 1, "one table of two rows"
    part = client.get(f"/documents/{document}/text", params={"start": verbatim[1]["start"] + 1, "limit": 2}).json()
    assert part["verbatim"] == [verbatim[1]]


def test_statements_stand_where_they_say_in_reading_order(client: httpx.Client, flow: str) -> None:
    text = _whole(client, flow)["text"]
    found = client.get(f"/documents/{flow}/statements").json()
    assert found["next"] is None
    statements = found["statements"]
    assert [text[s["start"] : s["end"]] for s in statements] == [s["original"] or s["text"] for s in statements]
    assert [s["start"] for s in statements] == sorted(s["start"] for s in statements)
    assert "Agnes Lorwright pays from the ledger." in [s["text"] for s in statements]
    assert any(READ in s["text"] for s in statements)
    named = {e["name"]: e["id"] for s in statements for e in s["entities"]}
    assert {"Tove Lund", "Mira Holm"} <= named.keys()
    for fact in (fact for s in statements for fact in s["facts"]):
        assert fact["subject"]["id"] == named[fact["subject"]["name"]]


@pytest.mark.parametrize("end", [0, 99, 100])
def test_a_stretch_that_ends_where_it_begins_or_before_is_refused(client: httpx.Client, flow: str, end: int) -> None:
    reply = client.get(f"/documents/{flow}/statements", params={"start": 100, "end": end})
    assert reply.status_code == 422
    assert reply.json()["message"] == "end: must be greater than start, 100; omit it for the rest of the document"


def test_topics_span_their_statements(client: httpx.Client, long: str) -> None:
    found = client.get(f"/documents/{long}/topics").json()
    statements = client.get(f"/documents/{long}/statements", params={"limit": 500}).json()["statements"]
    assert found["total"] == len(found["topics"]) == len({s["topic"]["id"] for s in statements})
    for topic in found["topics"]:
        own = [s for s in statements if s["topic"] == {"id": topic["id"], "title": topic["title"]}]
        assert (topic["start"], topic["end"]) == (min(s["start"] for s in own), max(s["end"] for s in own))
        assert topic["statements"] == len(own)
    assert [t["start"] for t in found["topics"]] == sorted(t["start"] for t in found["topics"])


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 100, 500])
def test_pages_of_any_size_make_the_whole(client: httpx.Client, long: str, limit: int) -> None:
    every = _every(client, f"/documents/{long}/statements", "statements", limit=500)
    assert len(every) == 360
    paged = _every(client, f"/documents/{long}/statements", "statements", limit=limit)
    assert [s["id"] for s in paged] == [s["id"] for s in every]
    topics = _every(client, f"/documents/{long}/topics", "topics", limit=limit)
    assert [t["id"] for t in topics] == list(dict.fromkeys(s["topic"]["id"] for s in every))


def test_what_is_on_the_screen_is_asked_for_by_its_stretch(client: httpx.Client, long: str) -> None:
    every = _every(client, f"/documents/{long}/statements", "statements", limit=500)
    start, end = every[100]["start"] + 3, every[110]["start"] + 1
    asked = {"start": start, "end": end}
    assert client.get(f"/documents/{long}/statements", params=asked).json()["statements"] == every[100:111]
    assert _every(client, f"/documents/{long}/statements", "statements", limit=2, **asked) == every[100:111]
    nothing = client.get(f"/documents/{long}/statements", params={"start": 10**9}).json()
    assert nothing == {"statements": [], "next": None}


def test_a_link_to_a_citation_leads_to_its_place(client: httpx.Client, flow: str) -> None:
    sources = client.post("/query", json={"question": "Who keeps the seal?"}).json()["sources"]
    source = next(s for s in sources if "seal" in s["text"])
    place = client.get(f"/statements/{source['statement_id']}").json()
    assert (place["document"]["id"], place["start"], place["end"]) == (flow, source["start"], source["end"])
    assert _whole(client, flow)["text"][place["start"] : place["end"]] == source["text"]
    assert (place["document"]["title"], place["document"]["version"]) == ("The flow 🎈", 1)


def test_a_new_version_is_read_whole_and_links_to_what_it_no_longer_says_lead_nowhere(client: httpx.Client) -> None:
    document = send(client, "turn.md", "# Turn\n\nOdile Ferrand opens the gate. Odile Ferrand sings.\n")
    old = client.get(f"/documents/{document}/statements").json()["statements"]
    send(client, "turn.md", "# Turn\n\nOdile Ferrand opens the gate.\n")
    whole = _whole(client, document)
    assert (whole["version"], "sings" in whole["text"]) == (2, False)
    gone = next(s for s in old if "sings" in s["text"])
    reply = client.get(f"/statements/{gone['id']}")
    assert (reply.status_code, reply.json()["error"]) == (404, "not_found")


def test_what_has_not_changed_is_not_sent_again(client: httpx.Client, flow: str, long: str) -> None:
    for path in (f"/documents/{flow}/text", f"/documents/{flow}/outline", f"/documents/{flow}/statements"):
        first = client.get(path)
        tag = first.headers["etag"]
        for known in (tag, f'"other", W/{tag}', "*"):
            again = client.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(path, headers={"If-None-Match": '"other"'}).content == first.content
        assert first.headers["cache-control"] == "private, no-cache"
    assert client.get(f"/documents/{long}/text").headers["etag"] != client.get(f"/documents/{flow}/text").headers["etag"]


@pytest.mark.parametrize("route", ["text", "outline", "topics", "statements"])
def test_what_is_not_there_is_not_found(client: httpx.Client, api: Api, flow: str, route: str) -> None:
    assert client.get(f"/documents/source:{'0' * 32}/{route}").status_code == 404
    assert client.get(f"/documents/..%2f..%2fetc/{route}").status_code in (404, 422)
    assert api.client("other").get(f"/documents/{flow}/{route}").status_code == 404
    assert api.client("default", "ingest").get(f"/documents/{flow}/{route}").status_code == 403


@pytest.mark.parametrize("cursor", ["x", "1", "-1.0", "1.2.3", "9" * 30 + ".0", "<script>"])
def test_a_cursor_that_is_none_is_refused(client: httpx.Client, flow: str, cursor: str) -> None:
    reply = client.get(f"/documents/{flow}/statements", params={"cursor": cursor})
    assert (reply.status_code, reply.json()["message"][:7]) == (422, "cursor:")


def test_a_page_of_a_document_takes_as_many_store_calls_whatever_its_size(client: httpx.Client, api: Api, long: str) -> None:
    calls = []
    for name in ("chunk_ids", "evidence", "entities", "sources", "topics"):
        _count(api.stores.graph, name, calls)
    try:
        client.get(f"/documents/{long}/statements", params={"limit": 500})
        assert sorted(calls) == ["chunk_ids", "entities", "evidence"]
        calls.clear()
        client.get(f"/documents/{long}/topics", params={"limit": 500})
        assert calls == ["topics"]
    finally:
        for name in ("chunk_ids", "evidence", "entities", "sources", "topics"):
            delattr(api.stores.graph, name)


def _count(store: Any, name: str, calls: list[str]) -> None:
    method = getattr(store, name)

    def counted(*args: Any, **named: Any) -> Any:
        calls.append(name)
        return method(*args, **named)

    setattr(store, name, counted)
