"""What a key with filters may take in and remove: documents that it sees, and no others."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lexigraph.model.filters import MetadataFilter
from tests.server import Api, laptop_api

STAFF, BOARD = (MetadataFilter("groups", "in", (group,)) for group in ("staff", "board"))
TEXT = "# {0}\n\nThe {0} is kept by Tove Lund of the Quarry.\n"


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("rights")) as served:
        yield served


def send(client: httpx.Client, name: str, text: str, namespace: str = "default", **metadata: Any) -> httpx.Response:
    data = {"namespace": namespace} | ({"metadata": json.dumps(metadata)} if metadata else {})
    return client.post("/documents", files={"file": (name, text.encode())}, data=data)


def listed(client: httpx.Client) -> dict[str, int]:
    return {d["uri"].rpartition("/")[2]: d["version"] for d in client.get("/documents").json()["documents"]}


def test_what_is_sent_has_to_pass_the_filters_of_the_key(api: Api) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)
    for metadata in ({}, {"groups": "board"}, {"groups": True}, {"group": "staff"}):
        refused = send(staff, "ledger.md", TEXT.format("ledger"), **metadata)
        assert refused.status_code == 422
        assert "metadata does not match the filters of the API key" in refused.json()["message"]
    assert listed(owner) == {}
    assert (
        send(staff, "ledger.md", TEXT.format("ledger"), groups="staff").json()["document"]["metadata"]["groups"] == "staff"
    )
    of_itself = f"---\ngroups: staff\n---\n{TEXT.format('clock')}"
    assert send(staff, "clock.md", of_itself).status_code == 200
    assert listed(owner) == listed(staff) == {"clock.md": 1, "ledger.md": 1}
    assert listed(api.client(filters=BOARD)) == {}
    # what the form says goes before what the file says
    assert send(staff, "bell.md", of_itself, groups="board").status_code == 422


def test_metadata_of_a_form_are_filtered_by_and_another_make_another_version(api: Api) -> None:
    owner = api.client()
    assert send(owner, "ledger.md", TEXT.format("ledger"), groups="staff", year=2024, draft=False).status_code == 200
    for key, value in (("groups", "staff"), ("year", 2024), ("draft", False)):
        body = {"question": "Who keeps the ledger?", "filters": {"key": key, "value": value}}
        assert owner.post("/retrieve/traversal", json=body).json()["results"]
    assert (
        send(owner, "ledger.md", TEXT.format("ledger"), groups="staff", year=2024, draft=False).json()["document"]["version"]
        == 1
    )
    assert send(owner, "ledger.md", TEXT.format("ledger"), groups="board").json()["document"]["version"] == 2
    wrong = ("[1]", "{", '{"a": [1]}', '{"a": null}', '"a"', '{"a": 1, "a": 2}')
    for bad in (*wrong, json.dumps({"k" * 201: 1}), json.dumps({"a": 2**63})):
        files, data = {"file": ("a.md", b"# A\n")}, {"metadata": bad}
        reply = owner.post("/documents", files=files, data=data)
        assert (reply.status_code, reply.json()["message"][:8]) == (422, "metadata")


def test_a_title_of_a_form_is_the_document_s_and_filtered_by(api: Api) -> None:
    owner = api.client()
    sent = send(owner, "ledger.md", TEXT.format("ledger"), title="Book of 1920", year=1920)
    document = sent.json()["document"]
    assert (document["title"], document["metadata"]["year"]) == ("Book of 1920", 1920)
    assert "title" not in document["metadata"]
    for title, found in (("Book of 1920", True), ("ledger", False)):
        body = {"question": "Who keeps the ledger?", "filters": {"key": "title", "value": title}}
        assert bool(owner.post("/retrieve/traversal", json=body).json()["results"]) is found
    assert send(owner, "ledger.md", TEXT.format("ledger")).json()["document"]["title"] == "ledger"


@pytest.mark.parametrize("same", [True, False])
def test_a_document_that_the_key_does_not_see_is_not_replaced(api: Api, same: bool) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)
    send(owner, "plan.md", TEXT.format("plan"), groups="board")
    refused = send(staff, "plan.md", TEXT.format("plan") if same else TEXT.format("other"), groups="staff")
    assert refused.status_code == 422
    assert "already exists" in refused.json()["message"]
    assert send(staff, "plan.md", TEXT.format("other"), "staff", groups="staff").status_code == 200
    (kept,) = owner.get("/documents", params={"namespace": "default"}).json()["documents"]
    assert (kept["version"], kept["metadata"]["groups"]) == (1, "board")


def test_a_document_cannot_be_put_out_of_one_s_own_sight(api: Api) -> None:
    staff = api.client(filters=STAFF)
    send(staff, "ledger.md", TEXT.format("ledger"), groups="staff")
    assert send(staff, "ledger.md", TEXT.format("new ledger"), groups="board").status_code == 422
    assert listed(staff) == {"ledger.md": 1}


def test_only_what_is_seen_can_be_removed(api: Api) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)
    hidden = send(owner, "plan.md", TEXT.format("plan"), groups="board").json()["document"]["id"]
    seen = send(owner, "ledger.md", TEXT.format("ledger"), groups="staff").json()["document"]["id"]
    nothing = "source:" + 32 * "0"
    told = [staff.delete(f"/documents/{i}") for i in (hidden, nothing)]
    assert [t.status_code for t in told] == [404, 404]
    assert told[0].json()["message"].replace(hidden, nothing) == told[1].json()["message"]
    assert staff.delete(f"/documents/{seen}").json() == {"removed": 1}
    assert listed(owner) == {"plan.md": 1}


def test_records_that_a_file_holds_no_more_go_only_where_they_are_seen(api: Api) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)

    def lines(**groups: str) -> str:
        return "\n".join(json.dumps({"id": i, "text": f"Record {i} of Tove Lund.", "groups": g}) for i, g in groups.items())

    assert send(owner, "all.jsonl", lines(a="staff", b="staff", c="board")).status_code == 200
    assert send(staff, "all.jsonl", lines(a="staff", d="staff")).status_code == 200
    assert set(listed(owner)) == {"all.jsonl#a", "all.jsonl#c", "all.jsonl#d"}
    assert set(listed(staff)) == {"all.jsonl#a", "all.jsonl#d"}


def test_a_job_tells_of_what_it_took_in_and_only_whoever_may_see_that(api: Api) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)
    send(owner, "plan.md", TEXT.format("plan"), groups="board")
    job = send(staff, "ledger.md", TEXT.format("ledger"), groups="staff").json()["job_id"]
    alike, unlike = api.client(filters=STAFF), api.client(filters=BOARD)
    assert [j["id"] for j in alike.get("/jobs").json()["jobs"]] == [job]
    assert unlike.get("/jobs").json() == {"jobs": []}
    assert unlike.get(f"/jobs/{job}").status_code == unlike.get(f"/jobs/{job}/events").status_code == 404
    assert unlike.post(f"/jobs/{job}/cancel").status_code == 404
    assert alike.post(f"/jobs/{job}/cancel").json()["message"] == "the job has already ended"
    # an entity or fact that is new, and a text that no model was asked for again, tell what others have
    telling = {"entities_created", "facts_created", "relations_created", "cooccur_edges"}
    telling |= {"extracted", "embedded", "chunks_embedded", "model_calls"}
    told = staff.get(f"/jobs/{job}").json()["result"]
    assert told["documents_new"] == 1
    assert telling.isdisjoint(told)
    events = staff.get(f"/jobs/{job}/events").json()["events"]
    assert events[-1]["stage"] == "done"
    assert all(telling.isdisjoint(event["data"]) for event in events)
    assert {"entity_extraction", "embedding_progress"}.isdisjoint(event["stage"] for event in events)
    assert telling <= owner.get(f"/jobs/{job}").json()["result"].keys()


def test_a_file_in_a_namespace_of_its_own_has_to_pass_too(api: Api) -> None:
    staff, files = api.client(filters=STAFF), {"file": ("ledger.md", TEXT.format("ledger").encode())}
    assert staff.post("/unstructured/upload_document/", files=files).status_code == 422
    sent = staff.post("/unstructured/upload_document/", files=files, data={"metadata": '{"groups": "staff"}'}).json()
    asked = {"query": "Who keeps the ledger?", "db_name": "fractal_db", "namespace": sent["namespace"]}
    assert staff.post("/unstructured/multihop_query/", json=asked).json()["final_results"]
    assert api.client(filters=BOARD).post("/unstructured/multihop_query/", json=asked).status_code == 404


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        (r'{"groups": "staff", "year": "\ud800"}', "metadata.year: text must not c"),
        (r'{"groups": "staff", "title": "x\ud800"}', "metadata.title: text must not c"),
        (r'{"groups": "staff", "\ud800": 1}', "metadata: a key"),
        ('{"groups": "staff", "": 1}', "metadata: a key"),
        ('{"groups": "staff", "year": 1e999}', "metadata.year: must be a finite number"),
        ('{"groups": "staff", "year": NaN}', "metadata.year: must be a finite number"),
        ('{"groups": "staff", "namespace": "court"}', "metadata.namespace: is no metadata; send it as the field"),
        ('{"groups": "staff", "uri": "x"}', "metadata.uri: is no metadata"),
        ('{"groups": ["staff"]}', "metadata: must be a JSON object of strings"),
    ],
)
def test_metadata_that_no_store_takes_are_refused_and_the_list_of_documents_stays(
    api: Api, metadata: str, field: str
) -> None:
    staff = api.client(filters=STAFF)
    for place in ("/documents", "/unstructured/upload_document/"):
        reply = staff.post(place, files={"file": ("ledger.md", b"Tove Lund.")}, data={"metadata": metadata})
        assert (reply.status_code, reply.json()["message"][: len(field)]) == (422, field), reply.text
    for client in (staff, api.client()):
        assert client.get("/documents").json()["documents"] == []


@pytest.mark.slow
def test_a_key_with_filters_takes_in_nothing_of_the_server_s_folders(api: Api) -> None:
    staff = api.client(filters=STAFF)
    for reply in (
        staff.post("/ingest", json={"path": "."}),
        staff.get("/ingest/stream", params={"path": "."}),
        staff.post("/estimate", json={"path": "."}),
    ):
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")
        assert "filters" in reply.json()["message"]
    assert staff.post("/estimate", json={"text": "Tove Lund keeps the ledger."}).status_code == 200


def test_clearing_caches_and_seeing_what_is_remembered_stay_within_the_key(api: Api) -> None:
    owner, staff = api.client(), api.client(filters=STAFF)
    send(owner, "plan.md", TEXT.format("plan"), groups="board")
    for _ in range(2):
        owner.post("/query", json={"question": "Who keeps the plan?"})
    assert staff.get("/cache/stats").json()["answer_cache_size"] == 0
    staff.post("/query", json={"question": "Who keeps the ledger?"})
    assert staff.get("/cache/stats").json()["answer_cache_size"] == 1
    assert staff.post("/cache/clear").json() == {"cleared": True}
    assert staff.get("/cache/stats").json()["answer_cache_size"] == 0
