"""Every function run from the payloads in ``events/``: over embedded stores, and over DynamoDB and S3."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pydantic import ValidationError

from functions import work
from functions.finish.handler import IngestFailed
from functions.payloads import ReembedJob
from lexigraph.api.access.keys import new_key
from lexigraph.api.jobs.handover import MAX_FETCHED_BYTES, Handover
from lexigraph.api.startup import PAGE
from lexigraph.ingestion.load import FileItem
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import InvalidInput
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Claim, DocumentRecord
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests import patient
from tests.functions import ALL, EVENTS, KEY, Deployed, deployed, event, inbox, invoke, message
from tests.laptop import content
from tests.models import SentenceExtractor

pytestmark = pytest.mark.slow

DEFAULT = Tenant("default")
HARBOUR = "# Harbour Office\n\nThe Harbour Office runs Lighthouse.\n\nTove Lund built Granite.\n"
FIRST, SECOND, THIRD = (f"0065A1B2C3D4E5F60{n}" for n in (1, 2, 3))
NOTHING_ASKED: dict[str, Any] = {"queryStringParameters": None, "multiValueQueryStringParameters": None}


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Deployed]:
    with deployed(tmp_path / "data") as made:
        yield made


def run_of(made: Deployed) -> dict[str, Any]:
    """Return what the first execution was told."""
    return made.started()[0]


def bring_in(asked: dict[str, Any]) -> None:
    """Do by hand what the state machine does."""
    invoke("parse", event("parse", run=asked["run"], object=asked["object"]))
    work = invoke("chunk", event("chunk", run=asked["run"]))
    for batch in range(work["batches"]):
        assert invoke("extract", event("extract", run=asked["run"], batch=batch)) is None
    for part in work["parts"]:
        invoke("build", event("build", run=asked["run"], part=part))
        invoke("finish", event("finish", run=asked["run"], part=part))
    invoke("finish", event("finish.close", run=asked["run"]))


@pytest.mark.nightly
@pytest.mark.parametrize("aws", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_file_put_into_the_bucket_is_brought_in_as_an_ingest_of_its_version_would_do(tmp_path: Path, aws: bool) -> None:
    with deployed(tmp_path / "data", aws=aws) as made:
        version = made.put(HARBOUR)
        assert invoke("start", message("start.created", version_id=version)) == {"batchItemFailures": []}
        made.put("# Harbour Office\n\nA later text.\n")
        asked = run_of(made)
        bring_in(asked)
        job = made.stores.registry.job(DEFAULT, asked["run"]["job_id"])
        found, uri = content(made.stores), f"s3://{inbox()}/{KEY}"

    path = tmp_path / "harbour.md"
    path.write_text(HARBOUR)
    with LexicalGraphIndex(extractor=SentenceExtractor(), settings=Settings(data=tmp_path / "whole")) as whole:
        report = whole.ingest([FileItem(path, uri, "md")])
        assert found == content(whole.stores)
    assert job.status == "SUCCEEDED"
    for name in ("documents_new", "chunks_new", "statements_created", "entities_created", "embedded", "failures"):
        assert job.result[name] == report.to_dict()[name], name


def test_events_in_any_order_and_twice_leave_the_newest_state(there: Deployed) -> None:
    first, second = there.put(HARBOUR), there.put(HARBOUR.replace("Granite", "Basalt"))
    newer = message("start.overwritten", version_id=second)

    for told in (newer, message("start.created", version_id=first), newer):
        assert invoke("start", told) == {"batchItemFailures": []}

    (asked,) = there.started()
    assert asked["object"]["version_id"] == second
    assert len(there.stores.registry.jobs(DEFAULT)) == 1


def test_a_deleted_file_is_taken_out_and_an_older_event_does_not_bring_it_back(there: Deployed) -> None:
    first = there.put(HARBOUR)
    invoke("start", message("start.created", version_id=first))
    bring_in(run_of(there))
    assert there.stores.graph.stats(DEFAULT)["sources"] == 1
    there.delete()

    invoke("start", message("start.deleted"))
    removal = there.started()[1]
    assert invoke("remove", event("remove", run=removal["run"])) == {"documents_removed": 1}
    assert invoke("remove", event("remove", run=removal["run"])) == {"documents_removed": 1}
    invoke("start", message("start.overwritten", version_id=first))

    assert len(there.started()) == 2
    assert there.stores.registry.documents(DEFAULT) == []
    assert there.stores.graph.stats(DEFAULT)["statements"] == 0


def test_a_message_that_cannot_be_read_comes_again_alone_and_files_of_no_known_type_are_passed_over(there: Deployed) -> None:
    good = message("start.created", version_id=there.put(HARBOUR))
    odd = message("start.overwritten", key="default/default/picture.tiff")
    bad = message("start.deleted")
    bad["Records"][0]["body"] = '{"detail-type": "Object Created"}'
    records = [told["Records"][0] for told in (good, odd, bad)]

    answer = invoke("start", {"Records": records})

    assert answer == {"batchItemFailures": [{"itemIdentifier": bad["Records"][0]["messageId"]}]}
    assert len(there.started()) == 1


def test_why_a_message_fails_stands_in_the_log_with_the_file_that_it_is_about(
    there: Deployed, caplog: pytest.LogCaptureFixture
) -> None:
    asked = message("start.created", version_id=there.put(HARBOUR))
    there.cloud.client("stepfunctions").delete_state_machine(stateMachineArn=there.arn)

    with caplog.at_level("ERROR", "lexigraph"):
        assert invoke("start", asked)["batchItemFailures"]

    (told,) = caplog.records
    assert (told.levelname, vars(told)["key"], vars(told)["error"]) == ("ERROR", KEY, "Refused")
    assert vars(told)["reason"].endswith("StateMachineDoesNotExist")


@pytest.mark.parametrize("key", ["default/co%E2%80%AEurt/harbour.md", "default/default/har\u200bbour.md"])
def test_a_file_under_a_name_that_cannot_be_seen_whole_is_passed_over(there: Deployed, key: str) -> None:
    assert invoke("start", message("start.created", version_id=there.put(HARBOUR), key=key)) == {"batchItemFailures": []}
    assert there.started() == []


@pytest.mark.slow
def test_an_event_told_twice_is_remembered_in_its_table(tmp_path: Path) -> None:
    with deployed(tmp_path, LEXIGRAPH_IDEMPOTENCY_TABLE="started") as made:
        table = made.cloud.client("dynamodb").create_table(
            TableName="started",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )["TableDescription"]["TableName"]
        told = message("start.created", version_id=made.put(HARBOUR))
        for _ in range(2):
            assert invoke("start", told) == {"batchItemFailures": []}
        assert len(made.cloud.items(table)) == len(made.started()) == 1
        made.cloud.client("dynamodb").delete_table(TableName=table)


def test_a_run_of_one_tenant_reads_no_file_of_another(there: Deployed) -> None:
    invoke("start", message("start.created", version_id=there.put(HARBOUR)))
    asked = run_of(there)
    with pytest.raises(InvalidInput, match="another tenant"):
        invoke("parse", event("parse", run={**asked["run"], "tenant": "thief"}, object=asked["object"]))


def test_a_failure_is_recorded_and_fails_the_execution_and_a_redrive_goes_on(there: Deployed) -> None:
    invoke("start", message("start.created", version_id=there.put(HARBOUR)))
    asked = run_of(there)
    invoke("parse", event("parse", run=asked["run"], object=asked["object"]))
    failed = event("finish.failed", run=asked["run"], object=asked["object"])

    with pytest.raises(IngestFailed, match="a model cannot be loaded or reached"):
        invoke("finish", failed)
    (record,) = there.stores.registry.documents(DEFAULT)
    assert (record.state, record.reason) == ("FAILED", "a model cannot be loaded or reached, or returned an unusable reply")

    invoke("finish", failed)  # what a redrive does first
    bring_in(asked)
    (record,) = there.stores.registry.documents(DEFAULT)
    assert (record.state, record.reason) == ("READY", "")


def test_an_execution_that_was_stopped_leaves_its_reason_in_the_job(there: Deployed) -> None:
    invoke("start", message("start.created", version_id=there.put(HARBOUR)))
    asked = run_of(there)
    told = event("finish.ended", input=json.dumps(asked))

    for _ in range(2):
        assert invoke("finish", told) is None

    job = there.stores.registry.job(DEFAULT, asked["run"]["job_id"])
    (record,) = there.stores.registry.documents(DEFAULT)
    assert (job.status, job.reason, record.state) == ("FAILED", "the execution ended: ABORTED", "FAILED")
    bring_in(asked)
    assert there.stores.registry.job(DEFAULT, asked["run"]["job_id"]).status == "SUCCEEDED"


def test_documents_are_removed_by_their_ids(there: Deployed) -> None:
    invoke("start", message("start.created", version_id=there.put(HARBOUR)))
    bring_in(run_of(there))
    (record,) = there.stores.registry.documents(DEFAULT)
    job = there.stores.registry.start_job(DEFAULT, "remove", {})

    told = event("remove.documents", job_id=job.id, source_ids=[record.source_id])

    assert invoke("remove", told) == {"documents_removed": 1}
    assert there.stores.registry.job(DEFAULT, job.id).status == "SUCCEEDED"


def test_a_schedule_has_remove_take_away_what_killed_writers_left(there: Deployed) -> None:
    assert invoke("remove", event("remove.tend")) == {"tenants": 0, "late_writers": 0}


def test_to_embed_by_the_model_in_use_is_refused_and_told_to_the_job(there: Deployed) -> None:
    with pytest.raises(InvalidInput, match="minilm-384: is already in use"):
        invoke("build", event("build.reembed", model=""))
    (job,) = there.stores.registry.jobs(DEFAULT)
    given = event("build.reembed")
    assert (job.id, job.kind, job.status) == (ReembedJob(**given["reembed"]).job_id, "reembed", "RUNNING")
    with pytest.raises(IngestFailed):
        invoke("finish", {**given, "error": {"Error": "InvalidInput", "Cause": ""}})
    assert there.stores.registry.job(DEFAULT, job.id).status == "FAILED"


def test_a_bulk_load_without_neptune_is_refused(there: Deployed) -> None:
    with pytest.raises(InvalidInput, match="bulk loading needs Neptune"):
        invoke("build", event("build.load"))


def test_what_a_comparison_hands_on_stays_small_and_counts_all(there: Deployed) -> None:
    halves = [
        DocumentRecord(f"source:{n:032x}", f"s3://{inbox()}/{n:03}{'木' * 450}", "default", "", "REMOVING")
        for n in range(90)
    ]
    there.stores.registry.save(DEFAULT, halves)
    told = invoke("remove", event("remove.check"))
    assert told["at"]["part"] == "done"
    assert told["problems"] == {"its removal was interrupted": 90}
    assert len(told["findings"]) == 40
    assert told["findings"][0] == {
        "source_id": halves[0].source_id,
        "uri": halves[0].uri[:300],
        "problem": "its removal was interrupted",
        "remedy": "remove it",
        "repaired": False,
    }
    assert len(json.dumps(told)) < 200_000
    # an execution of it that fails is nobody's job
    assert invoke("finish", event("finish.ended", input=json.dumps(event("remove.check")))) is None
    with pytest.raises(ValidationError, match="less than or equal to 600"):
        invoke("remove", {"action": "check", "check": {"seconds": 900}})


@pytest.mark.slow
def test_a_warm_up_touches_nothing(there: Deployed) -> None:
    for name in ("start", "parse", "build", "query"):
        assert invoke(name, event("warmup")) == {"warm": True}
    assert there.started() == []


# ------------------------------------------------------------ the API


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Deployed]:
    with deployed(tmp_path / "data", LEXIGRAPH_API_AUTH="gateway") as made:
        yield made


def called(name: str, payload: dict[str, Any]) -> tuple[int, Any]:
    reply = invoke(name, payload)
    return reply["statusCode"], json.loads(reply["body"])


def test_the_authorizer_lets_in_who_has_a_key_and_says_whose_it_is(tmp_path: Path) -> None:
    with deployed(tmp_path, LEXIGRAPH_USAGE_KEYS='{"*": "usage-key-of-everybody"}') as made:
        secret, key = new_key("team", ["read", "ingest"], databases=("maps",), rate=60)
        made.stores.registry.add_key(key)

        allowed = invoke("authorize", event("authorize", headers={"x-api-key": secret}))
        denied = invoke("authorize", event("authorize"))
        made.stores.registry.revoke_key(Tenant("team"), key.id)
        revoked = invoke("authorize", event("authorize", headers={"X-API-Key": secret}))

    stage = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/prod/*"
    said = {"tenant": "team", "scopes": "read ingest", "key_id": key.id, "databases": '["maps"]', "rate": 60}
    assert allowed["context"] == said
    assert allowed["usageIdentifierKey"] == "usage-key-of-everybody"
    assert allowed["policyDocument"]["Statement"] == [{"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": stage}]
    for reply in (denied, revoked):
        assert reply["policyDocument"]["Statement"][0]["Effect"] == "Deny"
        assert "context" not in reply


@pytest.mark.slow
def test_a_question_through_the_gateway_finds_what_the_bucket_brought(api: Deployed) -> None:
    invoke("start", message("start.created", version_id=api.put(HARBOUR)))
    bring_in(run_of(api))

    status, found = called("query", event("query.retrieve"))

    assert status == 200, found
    assert "Tove Lund built Granite." in json.dumps(found)
    assert called("query", event("query.health"))[0] == 200
    status, jobs = called("query", event("query.jobs"))
    assert (status, jobs["jobs"][0]["status"]) == (200, "SUCCEEDED")


def test_tools_are_called_through_the_gateway_and_nobody_waits_for_a_session(api: Deployed) -> None:
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Host": "a.example"}
    about = {"path": "/mcp", "resource": "/mcp", "headers": accept, "multiValueHeaders": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    for _ in range(2):
        status, told = called("query", event("query.retrieve", httpMethod="POST", body=body, **about))
        assert status == 200, told
        assert "hm_recall" in {tool["name"] for tool in told["result"]["tools"]}

    reply = invoke("query", event("query.retrieve", httpMethod="GET", body=None, **about))

    assert (reply["statusCode"], json.loads(reply["body"])["error"]) == (405, "method_not_allowed")
    told = {name.lower(): value for name, value in reply.get("headers", {}).items()}
    told |= {name.lower(): ", ".join(values) for name, values in reply.get("multiValueHeaders", {}).items()}
    assert told["allow"] == "POST"


def test_the_explorer_is_served_without_a_key_as_text_that_the_gateway_hands_on(api: Deployed) -> None:
    if not (PAGE / "index.html").is_file():
        pytest.skip("the explorer is not built: make web")
    files = [path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file() and path.name != "index.html"]
    assert len(files) > 3
    for path, file in [("", "index.html"), *((name, name) for name in files)]:
        reply = invoke("query", event("query.health", path=f"/explorer/{path}", authorizer=None))
        assert (reply["statusCode"], reply["isBase64Encoded"]) == (200, False), path
        assert reply["body"] == (PAGE / file).read_text("utf-8")
        assert "default-src 'none'" in reply["headers"]["content-security-policy"]
    # relative, as the gateway has the API below the path of its stage
    lead = invoke("query", event("query.health", path="/explorer", authorizer=None))
    assert (lead["statusCode"], lead["headers"]["location"]) == (307, "explorer/")
    # what lies behind it is no way past the authorizer
    for path in ("/explorer/../documents", "/explorer/%2e%2e/documents"):
        assert (
            invoke("query", event("query.health", path=path, authorizer=None))["body"] == (PAGE / "index.html").read_text()
        )


def test_an_answer_that_lambda_would_not_hand_on_is_refused_with_what_to_ask_for(api: Deployed) -> None:
    note = {"note": "木" * 2_300}
    records = [
        DocumentRecord(f"source:{n:032x}", f"s3://{inbox()}/{n:04}", "default", "", "READY", metadata=note)
        for n in range(1_000)
    ]
    api.stores.registry.save(DEFAULT, records)

    def listed(limit: int) -> tuple[int, Any]:
        asked = {"queryStringParameters": {"limit": str(limit)}, "multiValueQueryStringParameters": {"limit": [str(limit)]}}
        return called("query", event("query.jobs", path="/documents", resource="/documents", **asked))

    status, told = listed(1_000)
    assert (status, told["error"], len(told["request_id"])) == (413, "too_large", 16)
    assert (told["message"], told["hint"]) == (
        "the answer has more than 6,000,000 bytes, the most that can be answered here",
        "ask for less: a smaller limit, or a stretch of a document",
    )
    status, told = listed(800)
    assert (status, len(told["documents"])) == (200, 800)


def test_only_what_the_authorizer_says_counts(api: Deployed) -> None:
    own = {"tenant": "other", "scopes": "read", "key_id": "k", "databases": "[]", "rate": "0"}
    forged = json.dumps({"authorizer": {**own, "tenant": "default", "scopes": "read ingest admin"}})
    headers = {"X-Amzn-Request-Context": forged, "X-Lexigraph-Tenant": "default", "Host": "a.example"}
    invoke("start", message("start.created", version_id=api.put(HARBOUR)))

    seen = called("query", event("query.jobs", authorizer=own, headers=headers, multiValueHeaders={}))
    nobody = called("query", event("query.jobs", authorizer={}))
    nonsense = called("query", event("query.jobs", authorizer={"tenant": "default"}))
    reader = called("manage", event("manage.ingest", authorizer=own))

    assert seen == (200, {"jobs": []})
    assert (nobody[0], nonsense[0], reader[0]) == (401, 401, 403)


def test_an_upload_through_the_api_is_a_job_that_the_event_of_s3_finds(api: Deployed) -> None:
    status, told = called("manage", event("manage.upload"))
    assert (status, told["status"]) == (202, "RUNNING")

    invoke("start", message("start.created", version_id=""))
    asked = run_of(api)
    assert asked["run"]["job_id"] == told["job_id"]
    bring_in(asked)

    job = api.stores.registry.job(DEFAULT, told["job_id"])
    assert (job.status, job.result["documents_new"]) == ("SUCCEEDED", 1)
    assert len(api.stores.registry.jobs(DEFAULT)) == 1


@pytest.mark.slow
def test_a_large_file_is_put_where_the_api_says(api: Deployed) -> None:

    status, told = called("manage", event("manage.upload_url"))
    assert status == 200
    put = patient.put(told["url"], headers=told["headers"], content=HARBOUR.encode())
    assert put.status_code == 200

    invoke("start", message("start.created", version_id=""))
    asked = run_of(api)
    assert asked["run"]["job_id"] == told["job_id"]
    bring_in(asked)
    assert api.stores.registry.job(DEFAULT, told["job_id"]).status == "SUCCEEDED"


@pytest.mark.slow
def test_an_ingest_asked_for_runs_over_the_file_in_the_bucket_after_all_that_was_told(api: Deployed) -> None:
    version = api.put(HARBOUR)
    invoke("start", message("start.created", version_id=version))
    bring_in(run_of(api))

    anew = {"wait": "0", "refresh": "true"}
    lists = {name: [value] for name, value in anew.items()}
    asking = event("manage.ingest", queryStringParameters=anew, multiValueQueryStringParameters=lists)
    status, told = called("manage", asking)
    assert (status, told["status"]) == (202, "RUNNING")
    asked = api.started()[1]
    bring_in(asked)
    invoke("start", message("start.created", version_id=version))

    job = api.stores.registry.job(DEFAULT, told["job_id"])
    assert (job.status, job.result["documents_updated"], job.result["extracted"]) == ("SUCCEEDED", 1, 1)
    assert len(api.started()) == 2
    other = event("manage.ingest", body=json.dumps({"path": f"s3://{inbox()}/other/default/harbour.md"}))
    assert called("manage", other)[0] == 422


class Meeting(SqliteRegistry):
    """A registry whose first readers of a claim wait for each other: two handovers, each of which looks twice."""

    both, looks = Barrier(2), 4

    def claimed(self, tenant: Tenant, key: str) -> Claim | None:
        """Return the claim that is noted, once both have read it."""
        found = super().claimed(tenant, key)
        self.looks -= 1
        if self.looks >= 0:
            self.both.wait(30)
        return found


@pytest.mark.parametrize("refresh", [False, True])
def test_two_ingests_of_a_file_in_the_same_moment_leave_no_job_without_an_end(api: Deployed, refresh: bool) -> None:
    api.put(HARBOUR)
    registry = Meeting(f"sqlite:///{Path(os.environ['LEXIGRAPH_DATA'])}")
    handover = Handover(registry, work.inbox(), work.workflow())

    def ingest(incremental: bool) -> str:
        path = f"s3://{inbox()}/{KEY}"
        return handover.ingest(DEFAULT, "default", path, incremental=incremental, relations=True).id

    with ThreadPoolExecutor(2) as pool:
        told = [asked.result(60) for asked in (pool.submit(ingest, True), pool.submit(ingest, not refresh))]

    begun = [asked["run"]["job_id"] for asked in api.started()]
    jobs = {job.id: job for job in registry.jobs(DEFAULT)}
    lost = [job for job in jobs.values() if job.status == "FAILED"]
    assert len(lost) == 1
    assert lost[0].result["superseded_by"] in begun
    assert set(told) == set(begun), "what is told of is what is done"
    if not refresh:
        assert len(begun) == 1
    else:
        assert not jobs[told[1]].request["incremental"], "nobody's wish is lost"


def test_who_would_wait_longer_than_the_gateway_is_told_of_the_job_in_time(tmp_path: Path) -> None:
    wait = {"queryStringParameters": {"wait": "60"}, "multiValueQueryStringParameters": {"wait": ["60"]}}
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway", LEXIGRAPH_API_DEADLINE="3") as api:
        api.put(HARBOUR)
        status, told = called("manage", event("manage.ingest", **wait))
    assert (status, told["status"]) == (202, "RUNNING")


def test_an_ingest_asked_for_twice_is_one_job_until_the_file_changes_or_something_else_is_asked_for(api: Deployed) -> None:
    def asked(**query: str) -> str:
        given = {"wait": "0", **query}
        many = {name: [value] for name, value in given.items()}
        status, told = called(
            "manage", event("manage.ingest", queryStringParameters=given, multiValueQueryStringParameters=many)
        )
        assert (status, told["status"]) == (202, "RUNNING")
        return str(told["job_id"])

    api.put(HARBOUR)
    first = asked()
    assert asked() == first
    other = asked(incremental="true")
    api.put(HARBOUR.replace("Granite", "Basalt"))
    changed = asked(incremental="true")

    assert [run["run"]["job_id"] for run in api.started()] == [first, other, changed]
    assert len({first, other, changed}) == 3
    bring_in(api.started()[2])
    assert asked(incremental="true") != changed, "what is over is begun anew"


def test_who_follows_a_job_for_longer_than_the_function_lasts_is_told_where_to_go_on(tmp_path: Path) -> None:
    route = {"resource": "/ingest/stream", "path": "/ingest/stream", "httpMethod": "GET", "body": None}
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway", LEXIGRAPH_API_FOLLOW="0.5") as api:
        api.put(HARBOUR)
        path = f"s3://{inbox()}/{KEY}"
        query = {"queryStringParameters": {"path": path}, "multiValueQueryStringParameters": {"path": [path]}}
        reply = invoke("manage", event("manage.ingest", **route, **query))
        job = api.started()[0]["run"]["job_id"]

    assert reply["statusCode"] == 200
    assert {name.lower(): value for name, value in reply["headers"].items()}["x-job-id"] == job
    last = json.loads(reply["body"].strip().rpartition("data: ")[2])
    assert last == {
        "stage": "job_continues",
        "job_id": job,
        "status_url": f"/jobs/{job}",
        "events_url": f"/jobs/{job}/events?after=0",
    }


@pytest.mark.nightly
def test_an_estimate_reads_a_file_of_the_bucket_or_a_text(api: Deployed) -> None:
    def estimated(**body: Any) -> tuple[int, Any]:
        route = {"resource": "/estimate", "path": "/estimate", **NOTHING_ASKED}
        return called("manage", event("manage.ingest", **route, body=json.dumps(body)))

    api.put(HARBOUR)
    api.put("x" * (MAX_FETCHED_BYTES + 1), key="default/default/long.txt")
    status, told = estimated(path=f"s3://{inbox()}/{KEY}")
    assert (status, told["files"], told["documents"], told["characters"]) == (200, 1, 1, len(HARBOUR.strip()) - 2), (
        "without the mark of the heading"
    )
    assert estimated(text=HARBOUR) == (200, told)
    status, told = estimated(path=f"s3://{inbox()}/default/default/long.txt")
    assert (status, "send a part as text" in told["message"]) == (422, True)
    assert estimated(path=f"s3://{inbox()}/default/default/nothing.md")[0] == 404
    for elsewhere in ("/etc/passwd", "s3://other/default/default/harbour.md", f"s3://{inbox()}/other/default/harbour.md"):
        status, told = estimated(path=elsewhere)
        assert (status, told["message"].startswith("path must name a file in the inbox")) == (422, True)


@pytest.mark.nightly
@pytest.mark.parametrize("aws", [False, True])
def test_what_manage_is_told_to_forget_query_answers_anew(tmp_path: Path, aws: bool) -> None:
    with deployed(tmp_path, aws=aws, LEXIGRAPH_API_AUTH="gateway") as api:
        invoke("start", message("start.created", version_id=api.put(HARBOUR)))
        bring_in(run_of(api))
        asked = event("query.query", body=json.dumps({"question": "Who built Granite?"}))
        assert [called("query", asked)[1]["cached"] for _ in range(2)] == [False, True]

        cleared = called(
            "manage", event("manage.ingest", resource="/cache/clear", path="/cache/clear", body=None, **NOTHING_ASKED)
        )

        assert cleared == (200, {"cleared": True})
        assert [called("query", asked)[1]["cached"] for _ in range(2)] == [False, True]


@pytest.mark.nightly
@pytest.mark.parametrize("aws", [False, True])
def test_a_merge_by_curate_is_in_the_next_answer_of_query_and_is_undone(tmp_path: Path, aws: bool) -> None:
    with deployed(tmp_path, aws=aws, LEXIGRAPH_API_AUTH="gateway") as api:
        invoke("start", message("start.created", version_id=api.put(HARBOUR)))
        bring_in(run_of(api))
        asked = event("query.query", body=json.dumps({"question": "Who built Granite?"}))
        office = entity_id(DEFAULT, "Harbour Office")

        def remembered() -> list[bool]:
            return [called("query", asked)[1]["cached"] for _ in range(2)]

        def others() -> list[str]:
            told = called("query", event("query.jobs", path=f"/entities/{office}", **NOTHING_ASKED))[1]
            return [alias["name"] for alias in told["aliases"]]

        assert (others(), remembered()) == ([], [False, True])
        status, made = called("curate", event("curate.decide"))
        assert (status, made["others"], made["by"]) == (201, ["Tove Lund"], "lxk_00000000")
        assert (others(), remembered()) == (["Tove Lund"], [False, True])
        undo = event("curate.undo", path=f"/curation/decisions/{made['id']}")
        assert called("curate", undo)[0] == 200
        assert (others(), remembered()) == ([], [False, True])
        assert called("curate", undo)[0] == 409
        listed = called("query", event("query.jobs", path="/curation/decisions", **NOTHING_ASKED))[1]["decisions"]
        assert [bool(one["undone_at"]) for one in listed] == [True]


def test_curate_serves_two_operations_alone_and_no_other_function_serves_these(api: Deployed) -> None:
    described = json.loads((EVENTS.parent / "docs" / "openapi.json").read_text())["paths"]
    beside = [("get", path) for path in ("/openapi.json", "/docs", "/explorer/", "/static-offline-docs/favicon.png")]
    asked = [*((verb, path) for path, verbs in described.items() for verb in verbs), *beside, ("post", "/mcp")]
    made = event("curate.decide")
    served = set()
    for verb, path in asked:
        reply = called("curate", {**made, "httpMethod": verb.upper(), "path": path, "body": None})
        assert reply[0] in (404, 405, 422), (verb, path, reply)
        if reply[0] == 422:
            served.add((verb, path))
    assert served == {("post", "/curation/decisions"), ("delete", "/curation/decisions/{decision_id}")}
    for job in ("query", "manage"):
        assert called(job, made)[0] == called(job, event("curate.undo"))[0] == 403


def test_a_split_rebuilds_documents_and_is_refused_with_what_to_do_instead(api: Deployed) -> None:
    split = {"kind": "split", "name": "Tove Lund", "others": ["Tove Lund (ship)"], "documents": ["harbour.md"]}
    status, told = called("curate", event("curate.decide", body=json.dumps(split)))
    assert (status, told["error"], "upload them again" in told["hint"]) == (403, "forbidden", True)
    # no command does it either: none reaches the stores of a deployment
    assert "lexigraph entities" not in told["hint"]


def test_only_administrators_who_see_all_curate_and_each_their_own_tenant(api: Deployed) -> None:
    admin = {"tenant": "default", "scopes": "read ingest admin", "key_id": "k", "databases": "[]", "rate": "0"}
    filters = {"key": "group", "operator": "==", "value": "staff"}
    filtered = json.dumps({"filters": filters, "scopes": ["read", "ingest", "admin"]})
    for payload, nothing in (("curate.decide", 404), ("curate.undo", 404)):
        for who, status in (
            ({}, 401),
            ({**admin, "scopes": "read ingest"}, 403),
            ({**admin, "scopes": "", "filtered": filtered}, 403),
            ({**admin, "tenant": "other"}, nothing),
        ):
            told = called("curate", event(payload, authorizer=who))
            assert (told[0], {"error", "message", "request_id"} <= told[1].keys()) == (status, True), (payload, who, told)


def test_what_relates_new_chunks_is_begun_once_its_file_and_its_model_are_known(tmp_path: Path) -> None:
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway") as api:
        assert called("manage", event("manage.relate"))[0] == 422
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway", LEXIGRAPH_LLM="openai:test", LEXIGRAPH_RELATIONS="false") as api:
        status, told = called("manage", event("manage.relate"))
        assert (status, told["message"]) == (404, "path: no document was ingested from there")
        invoke("start", message("start.created", version_id=api.put(HARBOUR)))
        bring_in(run_of(api))
        (record,) = api.stores.registry.documents(DEFAULT)
        job = api.stores.registry.start_job(DEFAULT, "ingest", {})
        asked = event("build.relate", job_id=job.id, source_id=record.source_id)
        with pytest.raises(InvalidInput, match="new_count"):  # it has one chunk, and none of it is old
            invoke("build", asked)
        assert api.stores.registry.job(DEFAULT, job.id).status == "RUNNING", "others may try again"
        failure = {"Error": "InvalidInput", "Cause": json.dumps({"errorType": "InvalidInput", "errorMessage": "new_count"})}
        with pytest.raises(IngestFailed, match="new_count"):
            invoke("finish", {**asked, "error": failure})
        assert api.stores.registry.job(DEFAULT, job.id).reason == "new_count"
        assert invoke("finish", {**asked, "error": failure}) is None, "driven on again, the job is opened"
        told = {**event("finish.ended", input=json.dumps(asked))}
        assert invoke("finish", told) is None
        assert api.stores.registry.job(DEFAULT, job.id).reason == "the execution ended: ABORTED"


@pytest.mark.slow
def test_a_document_removed_through_the_api_leaves_bucket_and_graph(tmp_path: Path) -> None:
    # nobody carries the removal out while the request waits for it
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway", LEXIGRAPH_API_DEADLINE="6") as api:
        invoke("start", message("start.created", version_id=api.put(HARBOUR)))
        bring_in(run_of(api))
        (record,) = api.stores.registry.documents(DEFAULT)
        path = f"/documents/{record.source_id}"

        status, told = called("manage", event("manage.remove", path=path, pathParameters={"document_id": record.source_id}))
        assert (status, told["removed"]) == (202, 0)
        removal = api.started()[1]
        assert invoke("remove", removal) == {"documents_removed": 1}

        assert api.stores.registry.job(DEFAULT, told["job_id"]).status == "SUCCEEDED"
        assert api.steps.registry.documents(DEFAULT) == []
        assert "Contents" not in api.cloud.client("s3").list_objects_v2(Bucket=inbox())


def test_a_function_tries_what_it_depends_on_instead_of_its_work(tmp_path: Path) -> None:
    with deployed(tmp_path):
        told = [invoke(job, event("probe"))["results"] for job in ALL]
    assert all([r["name"], r["status"]] == ["registry.read", "ok"] for (r,) in told)


def test_nobody_outside_can_ask_for_probes(tmp_path: Path) -> None:
    forged = {"probe": {"groups": ["registry.refused"]}}
    with deployed(tmp_path, LEXIGRAPH_API_AUTH="gateway"):
        asked = event("query.query", body=json.dumps(forged), queryStringParameters={"probe": "registry.refused"})
        status, told = called("query", asked)
    assert (status, told["error"]) == (422, "invalid_input")


def test_every_payload_is_one_that_a_test_here_uses() -> None:
    here = Path(__file__).read_text()
    elsewhere = {"query.query", "query.signed", "stream.query"}
    assert {p.stem for p in EVENTS.glob("*.json") if f'"{p.stem}"' not in here} <= elsewhere
