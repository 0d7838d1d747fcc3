"""Rights inside a tenant: every route, asked by a key that may see half, answers as over a tenant that holds only that half.

Both servers have the same tenant, so that the same document has the same ids in both: replies are compared whole.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from lexigraph.model.filters import Filter, MetadataFilter
from lexigraph.retrieval.catalogue import RETRIEVERS
from tests import patient
from tests.server import Api, laptop_api

OURS: Filter = MetadataFilter("groups", "in", ("staff", "press"))
SECRET = "Zanzibar"
# of the reply, not of what is in the stores; ids of jobs are random
_PASSING = ("timings", "updated_at", "created_at", "elapsed_sec", "job_id", "status_url", "cached", "request_id")
_NAMES = ("Tove Lund", "Mira Holm", "Granite", "Silverbirch", "Basalt Team", "Bergen", "Odile Ferrand", "Lanternfish")
_HIDDEN = (SECRET, "Ivar Dahl", "Project Nettle", "Orkney", "Quarry Nine", "TOVE LUND", "MIRA HOLM", "Basalt team")
_VERBS = ("signs", "repairs", "keeps", "approves", "moved to", "is built on", "reports to", "was written by")
_THINGS = "the clock", "the crate", "the ledger", "the register", "the seal", "the archive", "the photograph", "the bell"


def _document(number: int, group: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Return the name and the text of a document of a group: sections of sentences that name things of all documents."""
    dice = random.Random(number)
    lines = ["---", f"groups: {group}", f"year: {2015 + number % 8}", "---", f"# {dice.choice(names)} {number}", ""]
    for section in range(4):
        lines += [f"## {dice.choice(_THINGS).removeprefix('the ').capitalize()} {section}", ""]
        for _ in range(9):
            who, whom = dice.sample(names, 2)
            lines.append(f"{who} {dice.choice(_VERBS)} {dice.choice(_THINGS)} with {whom}.")
        lines.append("")
    return f"note-{number:02}.md", "\n".join(lines)


def _documents() -> Iterator[tuple[str, str, bool]]:
    """Yield name, text, and whether the key sees it: hidden ones first and between, with other words and other spellings."""
    for number in range(24):
        if number % 2:
            yield *_document(number, ("staff", "press")[number % 4 == 1], _NAMES), True
        else:
            yield *_document(number, "board", _NAMES[:3] + _HIDDEN), False


def _fill(api: Api, *, whole: bool) -> httpx.Client:
    client = api.client()
    for name, text, ours in _documents():
        if whole or ours:
            assert client.post("/documents", files={"file": (name, text.encode())}).status_code == 200
    return client


class Halves:
    """Who may see half of a whole tenant, and who sees all of one that holds only that half."""

    def __init__(self, whole: Api, half: Api) -> None:
        self.owner = _fill(whole, whole=True)
        self.whole, self.half = whole, half
        self.other = _fill(half, whole=False)
        self.reader = whole.client(filters=OURS)

    def same(self, ask: Callable[[httpx.Client], httpx.Response]) -> Any:
        """Return what both were answered, which is the same."""
        mine, theirs = ask(self.reader), ask(self.other)
        assert mine.status_code == theirs.status_code, mine.text
        if not mine.headers["content-type"].startswith("application/json"):
            return mine.text
        told = _lasting(mine.json())
        assert told == _lasting(theirs.json())
        return told


def _lasting(reply: Any) -> Any:
    if isinstance(reply, dict):
        return {name: _lasting(value) for name, value in reply.items() if name not in _PASSING}
    return [_lasting(one) for one in reply] if isinstance(reply, list) else reply


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Halves]:
    whole, half = (tmp_path_factory.mktemp(name) for name in ("whole", "half"))
    with laptop_api(whole) as one, laptop_api(half) as other:
        yield Halves(one, other)


QUESTIONS = ("Who signs the ledger with Tove Lund?", f"What does {SECRET} keep?", "Basalt Team Bergen archive")


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_every_retriever_finds_what_it_finds_where_there_is_nothing_else(
    halves: Halves, retriever: str, question: str
) -> None:
    found = halves.same(lambda c: c.post(f"/retrieve/{retriever}", json={"question": question, "evidence": True}))
    assert found["results"] or SECRET in question


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_filters_of_a_question_only_narrow_what_the_key_sees(halves: Halves, retriever: str) -> None:
    for value in ("staff", "board"):
        narrow = {"key": "groups", "operator": "==", "value": value}
        body = {"question": QUESTIONS[0], "filters": narrow}
        found = halves.same(lambda c, body=body: c.post(f"/retrieve/{retriever}", json=body))
        assert bool(found["results"]) == (value == "staff")
    wide = {
        "condition": "or",
        "filters": [{"key": "groups", "value": "board"}, {"key": "year", "operator": ">", "value": 0}],
    }
    halves.same(lambda c: c.post(f"/retrieve/{retriever}", json={"question": QUESTIONS[0], "filters": wide}))


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_and_rankings_are_those_of_the_half(halves: Halves, question: str) -> None:
    for retriever in RETRIEVERS:
        halves.same(lambda c, r=retriever: c.post("/query", json={"question": question, "retriever": r, "evidence": True}))
    halves.same(lambda c: c.post("/ranking/preview", json={"question": question}))
    halves.same(lambda c: c.post("/query/multidoc", json={"question": question, "min_relevance": 0.0}))
    halves.same(lambda c: c.post("/unstructured/multihop_query/", json=_hops(question)))


def _hops(question: str) -> dict[str, str]:
    return {"query": question, "db_name": "fractal_db", "namespace": "default"}


@pytest.mark.parametrize("query", [*QUESTIONS, "T[oO].+L", "^Project"])
def test_what_is_recalled_and_what_a_session_saw_is_of_the_half(halves: Halves, query: str) -> None:
    for regex in (False, True):
        body = {"query": query, "session_id": f"{query} {regex}", "force_regex": regex}
        halves.same(lambda c, body=body: c.post("/api/v1/memory/recall", json=body))
        mine, theirs = (c.post("/api/v1/memory/recall", json=body).json() for c in (halves.reader, halves.other))
        # scores of nodes seen before fall with every millisecond
        assert {node["key"] for node in mine["nodes"]} == {node["key"] for node in theirs["nodes"]}
        assert mine["metadata"]["session"] == theirs["metadata"]["session"]


def test_a_session_of_somebody_who_sees_more_is_another_one(halves: Halves) -> None:
    body = {"query": SECRET, "session_id": "shared"}
    seen = halves.owner.post("/api/v1/memory/recall", json=body).json()
    assert seen["nodes"]
    assert halves.same(lambda c: c.post("/api/v1/memory/recall", json=body))["metadata"]["session"]["recalls"] == 0


def test_documents_are_listed_as_if_there_were_no_others(halves: Halves) -> None:
    all_of_them = halves.same(lambda c: c.get("/documents"))["documents"]
    assert {d["metadata"]["groups"] for d in all_of_them} == {"staff", "press"}
    first = halves.same(lambda c: c.get("/documents", params={"limit": 5}))
    rest = halves.same(lambda c: c.get("/documents", params={"limit": 500, "after": first["next"]}))
    assert [d["id"] for d in first["documents"] + rest["documents"]] == [d["id"] for d in all_of_them]
    for document in halves.owner.get("/documents").json()["documents"]:
        halves.same(lambda c, d=document: c.get(f"/documents/{d['id']}"))
    after = ""
    while after is not None:  # from the place of each, be it hidden
        halves.same(lambda c, after=after: c.get("/documents", params={"after": after}))
        after = halves.owner.get("/documents", params={"limit": 1, "after": after}).json()["next"]


@pytest.mark.slow
def test_the_surroundings_of_every_node_are_those_of_the_half(halves: Halves) -> None:
    nodes = {d["id"] for d in halves.owner.get("/documents").json()["documents"]}
    for name in (*_NAMES, *_HIDDEN):
        recalled = halves.owner.post("/api/v1/memory/recall", json={"query": name, "max_results": 5}).json()
        nodes |= {node["key"] for node in recalled["nodes"]}
    for around in [halves.owner.get("/graph/egonet", params={"id": node}).json() for node in sorted(nodes)[::3]]:
        nodes |= {next(node["id"] for node in around["nodes"] if node["type"] == kind) for kind in _kinds(around)}
    statuses = set()
    for at, node in enumerate(sorted(nodes)):
        asked = {"id": node, "depth": 1 if at % 9 else 2, "limit": 60}
        statuses.add(halves.reader.get("/graph/egonet", params=asked).status_code)
        halves.same(lambda c, asked=asked: c.get("/graph/egonet", params=asked))
    assert statuses == {200, 404}


def _kinds(around: Any) -> set[str]:
    return {node["type"] for node in around["nodes"]}


@pytest.mark.slow
def test_documents_are_read_and_statements_found_only_where_the_key_sees_them(halves: Halves) -> None:
    hidden = 0
    for document in halves.owner.get("/documents").json()["documents"]:
        for part in ("text", "outline", "topics", "statements"):
            halves.same(lambda c, path=f"/documents/{document['id']}/{part}": c.get(path))
        statements = halves.owner.get(f"/documents/{document['id']}/statements").json()["statements"]
        for statement in statements[::7]:
            halves.same(lambda c, path=f"/statements/{statement['id']}": c.get(path))
        hidden += halves.reader.get(f"/documents/{document['id']}/statements").status_code == 404
    assert hidden == 12
    text = f"/documents/{halves.other.get('/documents').json()['documents'][0]['id']}/text"
    # of what is said: another's change does not show in it
    assert halves.reader.get(text).headers["etag"] == halves.other.get(text).headers["etag"]


@pytest.mark.slow
def test_entities_are_those_of_the_half(halves: Halves) -> None:
    asked = [name[:length] for name in (*_NAMES, *_HIDDEN) for length in (1, 3, 20)]
    for q in asked:
        halves.same(lambda c, q=q: c.get("/entities", params={"q": q, "limit": 100}))
    found = {e["id"] for q in asked for e in halves.owner.get("/entities", params={"q": q}).json()["entities"]}
    statuses = set()
    for entity in found:
        shown = halves.reader.get(f"/entities/{entity}")
        statuses.add(shown.status_code)
        for part in ("", "/statements", "/neighbours"):
            halves.same(lambda c, path=f"/entities/{entity}{part}": c.get(path))
        for document in halves.owner.get("/documents").json()["documents"][:4]:
            path = f"/entities/{entity}/statements?document={document['id']}"
            halves.same(lambda c, path=path: c.get(path))
    assert statuses == {200, 404}


def test_counts_are_those_of_the_half(halves: Halves) -> None:
    mine, glance = (
        {name: value for name, value in c.get("/overview").json().items() if name not in ("counted_at", "jobs")}
        for c in (halves.reader, halves.other)
    )
    assert mine == glance
    assert glance["counts"]["documents"] == glance["documents"]["READY"] == 12
    assert halves.reader.get("/overview").json()["jobs"] == {"RUNNING": 0, "SUCCEEDED": 0, "FAILED": 0, "CANCELLED": 0}
    told = halves.same(lambda c: c.get("/diagnostics"))
    assert told["graph"]["detail"]["sources"] == 12


def test_jobs_of_others_are_not_there(halves: Halves) -> None:
    theirs = halves.owner.get("/jobs").json()["jobs"]
    assert theirs
    assert halves.reader.get("/jobs").json() == {"jobs": []}
    for job in theirs:
        assert halves.reader.get(f"/jobs/{job['id']}").status_code == 404
        assert halves.reader.get(f"/jobs/{job['id']}/events").status_code == 404


def test_what_somebody_else_was_answered_is_not_remembered_for_the_key(halves: Halves) -> None:
    body = {"question": f"Who reports to {SECRET}?"}
    assert SECRET in halves.owner.post("/query", json=body).text
    told = halves.reader.post("/query", json=body).json()
    assert (told["cached"], told["entities"]) == (False, halves.other.post("/query", json=body).json()["entities"])
    assert halves.reader.post("/query", json=body).json()["cached"] is True
    assert halves.owner.post("/query", json=body).json()["cached"] is True


def test_tools_of_mcp_are_bound_as_the_routes_are(halves: Halves) -> None:
    for name, argument in (("traversal", "question"), ("hybrid", "question"), ("query", "question"), ("hm_recall", "query")):
        call = {"name": name, "arguments": {argument: QUESTIONS[0]}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"Accept": "application/json, text/event-stream"}
        mine, theirs = (
            c.post("/mcp", json=message, headers=headers).json()["result"] for c in (halves.reader, halves.other)
        )
        told = [_lasting(json.loads(reply["content"][0]["text"])) for reply in (mine, theirs)]
        told = [{name: value for name, value in one.items() if name != "metadata"} for one in told]
        assert told[0] == told[1]
        assert not mine.get("isError")


def test_names_are_curated_by_nobody_who_sees_half(halves: Halves) -> None:
    path = "/curation/decisions"
    sees_half = halves.reader
    for reply in (
        sees_half.get(path),
        sees_half.get("/curation/proposals"),
        sees_half.post(path, json={"name": "Tove Lund", "others": [SECRET]}),
        sees_half.delete(f"{path}/2026-11-27T145719-e7b2"),
    ):
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")


def test_every_route_is_asked_by_somebody_who_sees_half(halves: Halves) -> None:
    """A new route has to be thought of: it is listed once a test here, or in ``test_rights_to_write``, asks it."""
    asked = {
        "/health", "/diagnostics", "/query", "/ranking/preview", "/query/multidoc", "/retrieve/{retriever}",
        "/api/v1/memory/recall", "/unstructured/upload_document/", "/unstructured/multihop_query/", "/ingest",
        "/ingest/stream", "/estimate", "/documents", "/documents/{document_id}", "/jobs", "/jobs/{job_id}",
        "/documents/{document_id}/text", "/documents/{document_id}/outline", "/documents/{document_id}/topics",
        "/documents/{document_id}/statements", "/statements/{statement_id}", "/entities", "/entities/{entity_id}",
        "/entities/{entity_id}/statements", "/entities/{entity_id}/neighbours",
        "/jobs/{job_id}/events",
        "/jobs/{job_id}/cancel", "/graph/egonet", "/cache/stats", "/cache/clear", "/keys", "/keys/{key_id}", "/overview",
        "/curation/decisions", "/curation/decisions/{decision_id}", "/curation/proposals",
    }  # fmt: skip
    assert set(patient.get(f"{halves.whole.url}/openapi.json").json()["paths"]) == asked


def test_answers_that_stream_are_those_of_the_half(halves: Halves) -> None:
    def told(client: httpx.Client) -> list[str]:
        body = {"question": QUESTIONS[0], "stream": True, "retriever": "traversal"}
        lines = client.post("/query", json=body).text.splitlines()
        return [line for line in lines if line.startswith("data: ") and "timings" not in line]

    assert told(halves.reader) == told(halves.other) != []
