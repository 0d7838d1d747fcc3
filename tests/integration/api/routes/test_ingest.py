"""Taking documents in over HTTP: at once, as events, by upload; and what is there afterwards."""

import gzip
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexigraph.model.tenant import Tenant
from tests.laptop import write_pages
from tests.server import Api, laptop_api
from tests.waiting import eventually

FLOW = {
    "Flow": "The approval flow begins at the desk of Tove Lund.\n\nMira Holm signs what Tove Lund approves.",
    "Archive": "The archive keeps every form for ten years.",
}
APPEALS = b"# Appeals\n\nAppeals must be submitted in writing within 14 days.\n\nThe review board convenes monthly.\n"
STAGES = [
    *("scan_input", "hash_computed", "existing_scan", "entity_extraction", "embedding", "embedding_batch", "schema_index"),
    *("build", "relates_to", "relation_start", "relation_extraction_done", "result", "done"),
]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    write_pages(tmp_path / "corpus", FLOW)
    with laptop_api(tmp_path) as served:
        yield served


def events(reply: httpx.Response) -> list[tuple[str, Any]]:
    """The (name, data) of each event of a stream."""
    found = []
    for block in reply.text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


@pytest.mark.requirement("E-04", "E-08", "E-09")
def test_a_folder_is_taken_in_and_the_reply_says_what_was_done(api: Api) -> None:
    reply = api.client().post("/ingest", json={"path": "corpus"})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert told["status"] == "SUCCEEDED"
    assert told["files_processed"] == told["documents_new"] == 2
    assert told["chunks_new"] == told["chunks_total"] > 0
    assert told["entities_created"] > 0
    assert told["facts_created"] > 0
    assert told["relations_created"] == told["cooccur_edges"] + told["llm_rel_edges"]
    assert (told["chunks_failed"], told["pairs_failed"], told["warnings"]) == (0, 0, [])
    assert told["elapsed_sec"] > 0
    assert {"cooccur_edges", "llm_rel_edges", "chunks_skipped"} <= told.keys()
    assert told["incremental"] is False


@pytest.mark.slow
def test_files_of_no_known_type_are_told_by_the_ingest_its_job_and_the_estimate(api: Api, tmp_path: Path) -> None:
    (tmp_path / "corpus" / "old.doc").write_bytes(b"x")
    client = api.client()
    skipped = [{"ending": ".doc", "files": 1, "reason": "save it as .docx"}]
    told = client.post("/ingest", json={"path": "corpus"}).json()
    assert told["skipped"] == skipped
    assert client.get(told["status_url"]).json()["result"]["skipped"] == skipped
    notes = client.post("/estimate", json={"path": "corpus"}).json()["notes"]
    assert notes == ["skipped 1 file: 1 .doc (save it as .docx)"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flow.md.gz", "flow.MD.GZ", "flow.pdf", "flow.docx"])
def test_a_text_is_estimated_as_text_whatever_its_name(api: Api, name: str) -> None:
    told = api.client().post("/estimate", json={"text": "# Flow\n\nMira Holm signs.", "name": name}).json()
    assert (told["documents"], told["chunks"], told["notes"]) == (1, 1, [])


def test_a_name_of_a_text_that_cannot_be_is_told_by_its_field(api: Api) -> None:
    for name in ("flow.zip", ".md"):
        reply = api.client().post("/estimate", json={"text": "Mira Holm signs.", "name": name})
        assert (reply.status_code, reply.json()["message"].startswith("name")) == (422, True)


def test_an_upload_that_cannot_be_read_is_told_by_its_uri_and_not_by_where_it_lies(api: Api, tmp_path: Path) -> None:
    client = api.client()
    file = {"file": ("flow.md.gz", b"not packed")}
    assert client.post("/documents", files=file, data={"namespace": "court"}).status_code == 422
    job = client.get("/jobs").json()["jobs"][0]
    told = {"uri": "upload://court/flow.md.gz", "reason": "is damaged and cannot be decompressed"}
    assert job["result"]["failures"] == [told]
    assert (job["status"], job["result"]["error"]) == ("FAILED", "invalid_input")
    assert str(tmp_path) not in client.get(f"/jobs/{job['id']}/events").text


@pytest.mark.requirement("E-05", "E-67")
def test_an_incremental_ingest_skips_what_has_not_changed(api: Api) -> None:
    client = api.client()
    client.post("/ingest", json={"path": "corpus"})
    again = client.post("/ingest", params={"incremental": True}, json={"path": "corpus"}).json()
    assert (again["documents_unchanged"], again["chunks_embedded"], again["incremental"]) == (2, 0, True)
    anew = client.post("/ingest", params={"incremental": True, "refresh": True}, json={"path": "corpus"}).json()
    assert (anew["documents_updated"], anew["incremental"]) == (2, False)


@pytest.mark.requirement("E-11", "E-12", "E-13", "E-14", "E-15", "E-16", "E-18")
def test_the_stream_tells_start_then_the_stages_then_result_and_done(api: Api) -> None:
    reply = api.client().get("/ingest/stream", params={"path": "corpus", "checkpoint": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    told = events(reply)
    assert told[0] == ("start", {})
    assert told[-1] == ("", {"stage": "done"})
    name, last = told[-2]
    assert (name, last["stage"]) == ("result", "result")
    assert last["result"]["chunks_total"] == last["result"]["chunks_embedded"] > 0
    seen = [data["stage"] for _, data in told[1:]]
    assert [stage for stage in dict.fromkeys(seen) if stage in STAGES] == STAGES


@pytest.mark.requirement("E-14")
def test_no_step_is_told_to_be_some_of_none(api: Api) -> None:
    told = [data for _, data in events(api.client().get("/ingest/stream", params={"path": "corpus"}))]
    assert [data for data in told if "total" in data and data["total"] < data["current"]] == []


@pytest.mark.requirement("E-17")
def test_a_job_that_fails_ends_the_stream_with_an_error_event(api: Api, tmp_path: Path) -> None:
    (tmp_path / "data" / "documents").mkdir()
    (tmp_path / "data" / "documents" / "default").write_text("where the folder of the texts belongs")
    told = events(api.client().get("/ingest/stream", params={"path": "corpus"}))
    assert told[-1][1]["stage"] == "error"
    assert "store" in told[-1][1]["error"]
    assert [name for name, _ in told].count("result") == 0


@pytest.mark.requirement("E-17")
def test_a_stream_that_can_take_in_nothing_ends_as_the_ingest_does(api: Api, tmp_path: Path) -> None:
    (tmp_path / "torn.pdf").write_bytes(b"no pdf")
    client = api.client()
    told = events(client.get("/ingest/stream", params={"path": "torn.pdf"}))
    refused = client.post("/ingest", json={"path": "torn.pdf"}).json()["message"]
    assert told[-1] == ("", {"stage": "error", "error": refused})
    assert [name for name, _ in told].count("result") == 0


def test_a_client_that_goes_away_stops_nothing(api: Api) -> None:
    client = api.client()
    with client.stream("GET", "/ingest/stream", params={"path": "corpus"}) as reply:
        next(reply.iter_raw())
    eventually(lambda: client.get("/jobs").json()["jobs"][0]["status"], lambda status: status != "RUNNING")
    assert len(client.get("/documents").json()["documents"]) == 2


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "/etc", "corpus/../../..", "~root", "//etc/passwd", "corpus/\x00", "x" * 4_000]
)
def test_a_path_outside_the_roots_is_refused_in_the_same_words_there_or_not(api: Api, path: str) -> None:
    client = api.client()
    for reply in (
        client.post("/ingest", json={"path": path}),
        client.get("/ingest/stream", params={"path": path}),
    ):
        assert reply.status_code in (404, 422), reply.text
        assert "path" in reply.json()["message"]
        assert path not in reply.text
    assert client.get("/documents").json()["documents"] == []


def test_files_that_others_sent_and_that_wait_are_not_taken_in_nor_named(tmp_path: Path) -> None:
    write_pages(tmp_path / "corpus", FLOW)
    waiting = tmp_path / "data" / "uploads" / "0f6c" / "secret.txt"
    with laptop_api(tmp_path, ingest_roots={"other": tmp_path}) as api:
        client = api.client("other")
        waiting.parent.mkdir(parents=True)
        waiting.write_text("Mira Holm signs.")
        for path in ("data/uploads", "data/uploads/0f6c/secret.txt", str(waiting.parent)):
            reply = client.post("/ingest", json={"path": path})
            assert (reply.status_code, "ingest_roots" in reply.text) == (422, True)
            assert client.post("/estimate", json={"path": path}).status_code == 422
        told = client.post("/ingest", json={"path": "."}).json()
        assert (told["documents_new"], told["failures"]) == (2, [])


@pytest.mark.parametrize("roots", [{}, {"other": "corpus"}])
def test_a_tenant_without_a_root_takes_in_no_path_and_is_told_what_to_do(tmp_path: Path, roots: dict[str, str]) -> None:
    write_pages(tmp_path / "corpus", FLOW)
    with laptop_api(tmp_path, ingest_roots={tenant: tmp_path / name for tenant, name in roots.items()}) as api:
        client = api.client()
        for path in (str(tmp_path / "corpus"), "corpus", ".", "Flow.md"):
            for reply in (
                client.post("/ingest", json={"path": path}),
                client.get("/ingest/stream", params={"path": path}),
                client.post("/estimate", json={"path": path}),
            ):
                assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
                assert "POST /documents" in reply.json()["message"]
        assert client.get("/jobs").json()["jobs"] == []


def test_links_that_lead_outside_the_roots_are_not_followed(api: Api, tmp_path: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("# Secret\n\nThe password is in here.")
    (tmp_path / "corpus" / "link.md").symlink_to(outside)
    told = api.client().post("/ingest", json={"path": "corpus"}).json()
    assert told["documents_new"] == 2
    assert [f["uri"] for f in told["failures"]] == ["link.md"]
    assert "ingest_roots" in told["failures"][0]["reason"]
    assert api.client().post("/ingest", json={"path": "corpus/link.md"}).status_code == 422


@pytest.mark.requirement("H-26")
@pytest.mark.parametrize("path", ["/unstructured/upload_document/", "/unstructured/upload_document"])
def test_an_uploaded_document_gets_a_namespace_of_its_own(api: Api, path: str, tmp_path: Path) -> None:
    client = api.client()
    reply = client.post(path, files={"file": ("appeals.md", APPEALS)})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert told["status"] == "success"
    assert told["namespace"].startswith("document_upload_")
    assert told["db_name"] == "fractal_db"
    assert told["total_cells"] > 0
    documents = client.get("/documents", params={"namespace": told["namespace"]}).json()["documents"]
    assert [d["title"] for d in documents] == ["Appeals"]
    other = client.post(path, files={"file": ("appeals.md", APPEALS)}).json()
    assert other["namespace"] != told["namespace"]
    eventually(lambda: list((tmp_path / "data" / "uploads").iterdir()), lambda left: not left)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("notes.xyz", b"x", "unsupported type"),
        ("empty.md", b"", "empty"),
        (".md", b"x", "full stop"),
        ("broken.pdf", b"no pdf", "file: "),
    ],
)
def test_a_file_that_cannot_be_taken_in_is_refused_with_the_reason(
    api: Api, name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    reply = api.client().post("/unstructured/upload_document/", files={"file": (name, data)})
    assert reply.status_code == 422, reply.text
    assert reply.json()["error"] == "invalid_input"
    assert message in reply.json()["message"]
    assert not list((tmp_path / "data" / "uploads").rglob("*.*"))


def test_a_document_over_the_limit_is_refused(tmp_path: Path) -> None:
    with laptop_api(tmp_path, max_file_bytes=1_000) as api:
        reply = api.client().post("/documents", files={"file": ("a.txt", b"x" * 2_000)})
        assert (reply.status_code, reply.json()["error"]) == (413, "too_large")
        assert "1,000" in reply.json()["message"]
        # refused while it arrives, by the same limit
        told = api.client().post("/documents", files={"file": ("a.txt", b"x" * 300_000)})
        assert (told.status_code, told.json()["message"]) == (413, "file: has more than 1,000 bytes")
        assert "multipart" not in told.json()["hint"]


def test_a_document_is_sent_shown_replaced_and_removed(api: Api) -> None:
    client = api.client()
    sent = client.post("/documents", files={"file": ("../appeals.md", APPEALS)}, data={"namespace": "court"}).json()
    assert sent["document"]["uri"] == "upload://court/appeals.md"
    path = f"/documents/{sent['document']['id']}"
    assert client.get(path).json() == sent["document"]
    again = client.post("/documents", files={"file": ("appeals.md", APPEALS + b"\nMore.")}, data={"namespace": "court"})
    assert again.json()["document"]["id"] == sent["document"]["id"]
    assert again.json()["document"]["version"] == 2
    assert client.delete(path).json() == {"removed": 1}
    assert client.get(path).status_code == client.delete(path).status_code == 404
    assert client.get("/documents").json() == {"documents": [], "next": None}


def test_files_of_one_name_in_two_folders_are_two_documents(api: Api) -> None:
    client = api.client()
    names = ["guide/index.md", "api/./index.md", "/home/ann/index.md", "guide\\index.md"]
    sent = [client.post("/documents", files={"file": (name, f"# {name}\n\nIt is so.".encode())}).json() for name in names]
    assert [one["document"]["uri"] for one in sent] == [
        "upload://default/guide/index.md",
        "upload://default/api/index.md",
        "upload://default/index.md",
        "upload://default/guide/index.md",
    ]
    refused = [
        client.post("/documents", files={"file": (name, b"x")}) for name in (".git/a.md", "a/..", f"{'a/' * 300}b.md")
    ]
    assert [(reply.status_code, reply.json()["message"][:15]) for reply in refused] == [(422, "file: its name ")] * 3


def test_a_name_is_the_same_however_its_accents_are_encoded(api: Api) -> None:
    for name in ("Zürich.md", "Zu\u0308rich.md"):
        sent = api.client().post("/documents", files={"file": (name, b"# Mill\n\nThe Mill grinds rye.")}).json()
        assert sent["document"]["uri"] == "upload://default/Z%C3%BCrich.md"
    assert len(api.client().get("/documents").json()["documents"]) == 1


def test_a_packed_document_is_taken_in_as_what_it_packs(api: Api) -> None:
    file = ("appeals.md.gz", gzip.compress(APPEALS))
    sent = api.client().post("/documents", files={"file": file}, data={"namespace": "packed"}).json()
    assert (sent["document"]["metadata"]["file_type"], sent["document"]["metadata"]["file_name"]) == ("md", "appeals.md.gz")


def test_documents_come_in_pages(api: Api, tmp_path: Path) -> None:
    write_pages(tmp_path / "many", {f"Page {n}": f"Text number {n}." for n in range(5)})
    client = api.client()
    client.post("/ingest", json={"path": "many"})
    titles: list[str] = []
    after = ""
    for _ in range(5):
        page = client.get("/documents", params={"limit": 2, "after": after}).json()
        titles += [d["title"] for d in page["documents"]]
        after = page["next"]
        if after is None:
            break
    assert titles == [f"Page {n}" for n in range(5)]


@pytest.mark.parametrize("find", ["", "page"])
def test_a_page_begins_where_the_one_before_ended_though_its_documents_are_deleted(
    api: Api, tmp_path: Path, find: str
) -> None:
    write_pages(tmp_path / "many", {f"Page {n}": f"Text number {n}." for n in range(5)})
    client = api.client()
    client.post("/ingest", json={"path": "many"})
    titles: list[str] = []
    after = ""
    while after is not None:
        page = client.get("/documents", params={"limit": 2, "after": after, "find": find}).raise_for_status().json()
        for document in page["documents"]:
            titles.append(document["title"])
            assert client.delete(f"/documents/{document['id']}").json() == {"removed": 1}
        after = page["next"]
    assert titles == [f"Page {n}" for n in range(5)]
    assert client.get("/documents").json() == {"documents": [], "next": None}


def test_a_document_that_many_delete_at_once_is_removed_by_one(api: Api) -> None:
    client = api.client()
    sent = client.post("/documents", files={"file": ("appeals.md", APPEALS)}).json()["document"]
    held = api.stores.registry.lease(Tenant("default"), [sent["id"]])
    with ThreadPoolExecutor() as pool:
        with held as mine:
            assert mine
            replies = [pool.submit(client.delete, f"/documents/{sent['id']}") for _ in range(4)]
            time.sleep(0.5)
        told = sorted((r.result(timeout=30) for r in replies), key=lambda r: r.status_code)
    assert [r.status_code for r in told] == [200, 404, 404, 404]
    assert told[0].json() == {"removed": 1}
    assert (told[1].json()["message"], told[1].json()["hint"][:14]) == ("no such document", "GET /documents")


@pytest.mark.parametrize("after", ["source:" + "0" * 32, "0", "_w"])
def test_what_is_no_end_of_a_page_is_refused(api: Api, after: str) -> None:
    reply = api.client().get("/documents", params={"after": after})
    assert (reply.status_code, reply.json()["message"].split(":")[0]) == (422, "after")


def test_a_job_and_its_events_can_be_asked_for_afterwards(api: Api) -> None:
    client = api.client()
    job_id = client.post("/ingest", json={"path": "corpus"}).json()["job_id"]
    job = client.get(f"/jobs/{job_id}").json()
    assert (job["status"], job["result"]["documents_new"], job["uri"]) == ("SUCCEEDED", 2, "")
    sent = client.post("/documents", files={"file": ("a note.md", b"Ada keeps the log.")}).json()["job_id"]
    assert client.get(f"/jobs/{sent}").json()["uri"] == "upload://default/a%20note.md"
    told = client.get(f"/jobs/{job_id}/events").json()["events"]
    assert [e["seq"] for e in told] == list(range(1, len(told) + 1))
    assert told[-1]["stage"] == "done"
    rest = client.get(f"/jobs/{job_id}/events", params={"after": told[-2]["seq"]}).json()["events"]
    assert rest == told[-1:]
    assert client.get("/jobs/" + "0" * 32).status_code == client.get(f"/jobs/{'0' * 32}/events").status_code == 404


def test_an_ingest_that_takes_longer_than_one_waits_answers_202_and_a_job(api: Api) -> None:
    client = api.client()
    reply = client.post("/ingest", params={"wait": 0}, json={"path": "corpus"})
    assert reply.status_code in (200, 202)
    told = reply.json()
    assert told["status_url"] == f"/jobs/{told['job_id']}"
    status = eventually(lambda: client.get(told["status_url"]).json()["status"], lambda status: status != "RUNNING")
    assert status == "SUCCEEDED"


def test_taking_in_needs_the_scope_for_it(api: Api) -> None:
    reader = api.client("default", "read")
    for reply in (
        reader.post("/ingest", json={"path": "corpus"}),
        reader.get("/ingest/stream", params={"path": "corpus"}),
        reader.post("/documents", files={"file": ("a.md", APPEALS)}),
        reader.post("/unstructured/upload_document/", files={"file": ("a.md", APPEALS)}),
        reader.delete("/documents/source:" + "0" * 32),
    ):
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")
        assert "ingest" in reply.json()["message"]


def test_a_file_of_several_documents_is_taken_in_though_no_one_of_them_is_the_reply(api: Api) -> None:
    lines = b'{"id": "a", "text": "Mira Holm signs."}\n{"id": "b", "text": "Tove Lund approves."}\n'
    client = api.client()
    told = client.post("/documents", files={"file": ("team.jsonl", lines)}, data={"namespace": "team"}).json()
    assert (told["status"], told["namespace"], told["document"]) == ("SUCCEEDED", "team", None)
    found = client.get("/documents", params={"namespace": "team"}).json()["documents"]
    assert [d["uri"] for d in found] == ["upload://team/team.jsonl#a", "upload://team/team.jsonl#b"]


def test_who_may_take_in_may_see_what_became_of_it(api: Api) -> None:
    writer = api.client("default", "ingest")
    told = writer.post("/ingest", json={"path": "corpus"}).json()
    assert writer.get(told["status_url"]).json()["status"] == "SUCCEEDED"
    assert writer.get(f"{told['status_url']}/events").json()["events"]
    assert writer.get("/documents").status_code == 403
    assert api.client("default", "admin").get(told["status_url"]).status_code == 403


@pytest.mark.parametrize("path", ["/documents", "/unstructured/upload_document/"])
@pytest.mark.parametrize("twice", ["file", "field"])
def test_a_field_that_is_sent_twice_is_refused_by_its_name(api: Api, path: str, twice: str) -> None:
    client, field = api.client(), "namespace" if path == "/documents" else "db_name"
    files = [("file", ("a.md", APPEALS)), *([("file", ("b.md", APPEALS))] if twice == "file" else [])]
    reply = client.post(path, files=files, data={field: ["one", "two"] if twice == "field" else ["one"]})
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
    assert reply.json()["message"].startswith(f"{'file' if twice == 'file' else field}: sent 2 times")
    assert client.get("/documents").json()["documents"] == []


def test_an_ingest_that_can_take_in_nothing_is_refused_with_the_reasons(api: Api, tmp_path: Path) -> None:
    client = api.client()
    (tmp_path / "broken.pdf").write_bytes(b"no pdf")
    reply = client.post("/ingest", json={"path": "broken.pdf"})
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
    assert reply.json()["message"].startswith("path: nothing could be ingested: broken.pdf: ")
    assert str(tmp_path) not in reply.text
    job = client.get(reply.json()["hint"].split()[1]).json()
    assert job["status"] == "FAILED"
    assert [f["uri"].rpartition("/")[2] for f in job["result"]["failures"]] == ["broken.pdf"]
    for n in range(5):
        (tmp_path / "broken" / str(n)).mkdir(parents=True)
        (tmp_path / "broken" / str(n) / f"{n}.docx").write_bytes(b"no docx")
    assert "; and 2 more" in client.post("/ingest", json={"path": "broken"}).json()["message"]


def test_an_ingest_that_can_take_in_something_says_what_it_could_not(api: Api, tmp_path: Path) -> None:
    client = api.client()
    (tmp_path / "corpus" / "broken.pdf").write_bytes(b"no pdf")
    for incremental in (False, True):
        reply = client.post("/ingest", params={"incremental": incremental}, json={"path": "corpus"})
        assert (reply.status_code, len(reply.json()["failures"])) == (200, 1)
    (tmp_path / "nothing").mkdir()
    assert client.post("/ingest", json={"path": "nothing"}).status_code == 200


def test_records_that_a_newer_upload_does_not_hold_leave(api: Api) -> None:
    client = api.client()
    lines = [b'{"id": "a", "text": "Mira Holm signs."}', b'{"id": "b", "text": "Tove Lund approves."}']
    for content in (b"\n".join(lines), lines[1]):
        client.post("/documents", files={"file": ("team.jsonl", content)}, data={"namespace": "team"})
    found = client.get("/documents", params={"namespace": "team"}).json()["documents"]
    assert [d["uri"] for d in found] == ["upload://team/team.jsonl#b"]
