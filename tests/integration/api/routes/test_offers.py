"""A file that a client is to put into the inbox itself, and does not."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

import pytest

from lexigraph.api.jobs.outcome import UPLOAD_GRACE_SECONDS, standing
from lexigraph.ingestion.workflow.aws import Inbox
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.protocols import Registry
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests.server import Api, laptop_api
from tests.standins.aws_server import ENVIRONMENT, REGION, AwsServer

TENANT = Tenant("default")
WORKFLOW = f"arn:aws:states:{REGION}:123456789012:stateMachine:lexigraph"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A server that hands files over; an address in S3 is made without asking S3."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    inbox = f"s3://lexigraph-inbox?region={REGION}&endpoint=http://127.0.0.1:9"
    with laptop_api(tmp_path, workflow=WORKFLOW, inbox=inbox) as served:
        yield served


def check_a_job_whose_file_does_not_come(api: Api, registry: Registry) -> None:
    client = api.client()
    told = client.post("/documents/upload-url", json={"name": "flow.md"}).json()
    assert client.get(told["status_url"]).json()["status"] == "RUNNING"
    offered = api.stores.registry.job(TENANT, told["job_id"])
    upload = offered.request["upload"]
    assert upload["until"] == pytest.approx(time.time() + told["expires_sec"], abs=30)
    assert standing(offered, upload["until"] + UPLOAD_GRACE_SECONDS - 1).status == "RUNNING"

    late = {**offered.request, "upload": {**upload, "until": time.time() - UPLOAD_GRACE_SECONDS - 1}}
    job = registry.start_job(TENANT, "ingest", late)

    over = standing(registry.job(TENANT, job.id))
    assert (over.status, over.reason.split(":")[0]) == ("FAILED", "the upload did not arrive within 30 minutes")
    assert [standing(j).status for j in registry.jobs(TENANT) if j.id == job.id] == ["FAILED"]
    assert registry.job(TENANT, job.id).status == "RUNNING", "who reads writes nothing"
    registry.add_events(TENANT, job.id, [("scan_input", {"files": 1})])
    assert standing(registry.job(TENANT, job.id)).status == "RUNNING", "it came all the same"
    registry.finish_job(TENANT, job.id, "SUCCEEDED", {"documents_new": 1})
    assert standing(registry.job(TENANT, job.id)).result == {"documents_new": 1}


def test_the_job_of_an_upload_that_never_comes_fails_when_its_address_is_no_longer_good(api: Api, tmp_path: Path) -> None:
    registry = SqliteRegistry(f"sqlite:///{tmp_path / 'data'}")
    check_a_job_whose_file_does_not_come(api, registry)
    registry.close()


@pytest.mark.parametrize("namespace", [".", "..", "../other", "a/../..", "%2e%2e", "é?#"])
def test_an_address_for_an_upload_leads_below_the_tenant_whatever_the_namespace(api: Api, namespace: str) -> None:
    asked = {"name": "other/default/flow.md", "namespace": namespace}
    url = api.client().post("/documents/upload-url", json=asked).json()["url"]
    inbox = Inbox(f"s3://lexigraph-inbox?region={REGION}")

    # clients of HTTP resolve steps before they send
    path = unquote(urlsplit(urljoin("http://host/", urlsplit(url).path)).path).removeprefix("/lexigraph-inbox/")

    at = inbox.located("lexigraph-inbox", path)
    assert (at.tenant, at.namespace, at.name) == (TENANT, namespace, "flow.md")
    assert path == inbox.key(TENANT, namespace, "other/default/flow.md") == inbox.key_of(at.uri)


def test_where_files_are_handed_over_a_key_with_filters_reads_only(api: Api) -> None:
    staff, files = api.client(filters=MetadataFilter("groups", "==", "staff")), {"file": ("flow.md", b"# Flow")}
    for reply in (
        staff.post("/documents", files=files),
        staff.post("/unstructured/upload_document/", files=files),
        staff.post("/documents/upload-url", json={"name": "flow.md"}),
        staff.delete(f"/documents/source:{'0' * 32}"),
        staff.post("/ingest", json={"path": "s3://lexigraph-inbox/default/default/flow.md"}),
        staff.post("/estimate", json={"path": "s3://lexigraph-inbox/default/default/flow.md"}),
    ):
        assert (reply.status_code, reply.json()["error"]) == (403, "forbidden"), reply.text
    assert staff.get("/documents").status_code == 200
    assert api.client().get("/jobs").json() == {"jobs": []}


def test_where_files_are_handed_over_metadata_are_those_of_the_file(api: Api) -> None:
    reply = api.client().post("/documents", files={"file": ("flow.md", b"# Flow")}, data={"metadata": '{"year": 2024}'})
    assert (reply.status_code, reply.json()["message"][:9]) == (422, "metadata:")


@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-central-1"])
def test_an_offer_of_s3_is_made_and_signed_for_the_region_of_the_bucket(
    monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    for name, value in {**ENVIRONMENT, "AWS_REGION": region, "AWS_DEFAULT_REGION": region}.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)

    offer = Inbox("s3://lexigraph-inbox").offer("default/default/flow.md", "7")

    address = urlsplit(offer.url)
    asked = {name: value for name, (value,) in parse_qs(address.query).items()}
    regional = "" if region == "us-east-1" else f".{region}"
    assert address.netloc == f"lexigraph-inbox.s3{regional}.amazonaws.com"
    assert asked["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert f"/{region}/s3/aws4_request" in asked["X-Amz-Credential"]
    assert set(asked["X-Amz-SignedHeaders"].split(";")) == {"host", *offer.headers}


@pytest.mark.slow
def test_it_fails_in_a_table_too(api: Api) -> None:
    with AwsServer() as aws:
        registry = DynamoDBRegistry(aws.dynamodb(f"lexigraph-{aws.port}"))
        check_a_job_whose_file_does_not_come(api, registry)
        registry.close()


def test_the_api_tells_of_it(api: Api) -> None:
    client = api.client()
    told = client.post("/documents/upload-url", json={"name": "flow.md", "namespace": "court"}).json()
    asked = api.stores.registry.job(TENANT, told["job_id"]).request
    gone = {**asked, "upload": {**asked["upload"], "until": time.time() - 2 * UPLOAD_GRACE_SECONDS}}
    job = api.stores.registry.start_job(TENANT, "ingest", gone)

    one = client.get(f"/jobs/{job.id}").json()
    assert (one["status"], one["result"], one["namespace"]) == ("FAILED", {"error": "not_found"}, "court")
    assert "did not arrive" in one["reason"]
    listed = {j["id"]: j["status"] for j in client.get("/jobs").json()["jobs"]}
    assert listed == {job.id: "FAILED", told["job_id"]: "RUNNING"}
