"""A bulk load in a deployment: the state machine has `build` start Neptune's loader, and look until it is over."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from functions import runtime, work
from functions.payloads import BuildEvent
from infra.state_machine import FUNCTIONS, LOOK_SECONDS, definition
from lexigraph.model.graph import ChunkGraph, Placement, Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.load_files import GraphFiles
from lexigraph.storage.neptune.store import NeptuneGraphStore
from tests.functions import event, inbox
from tests.functions import invoke as invoked
from tests.graph_dump import dump_graph
from tests.integration.functions.test_reembed import call
from tests.standins.aws_server import ACCOUNT, REGION, AwsServer
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_loader import BadFile, Loader
from tests.standins.states import Execution

pytestmark = pytest.mark.slow
OWNER = Tenant("default")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/load"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NeptuneStandIn]:
    """A cluster with its loader, the environment of `build`, and a chunk without statements in S3."""
    with AwsServer() as aws, NeptuneStandIn() as opened:
        bucket = f"loads-{aws.port}"
        aws.s3(bucket)
        opened.loader = Loader(aws.client("s3"), ROLE, REGION, lambda: opened.graph)
        files = GraphFiles(tmp_path, 0)
        place = {"chunk:0": Placement(0, 0, 1, "body", "")}
        files.add(OWNER, Source("source:0", "file:///x", "default", "", {}, 1), place, [ChunkGraph("chunk:0")])
        for path in files.close():
            aws.client("s3").upload_file(str(path), bucket, f"bulk/graph-1/{path.relative_to(tmp_path)}")
        aws.client("s3").put_object(Bucket=bucket, Key="bulk/graph-1/graph/rooms.csv", Body=b":ID,:LABEL\r\na,Room\r\n")
        monkeypatch.setenv("LEXIGRAPH_GRAPH_STORE", opened.connection)
        monkeypatch.setenv("AWS_REGION", REGION)
        monkeypatch.setenv("LEXIGRAPH_INBOX", f"s3://{bucket}")
        monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "CRITICAL")
        for made in (runtime.settings, work.inbox):
            made.cache_clear()
        yield opened
        for made in (runtime.settings, work.inbox):
            made.cache_clear()


def execution(waited: list[float], **more: Any) -> Execution:
    given = event("build.load", source=f"s3://{inbox()}/bulk/graph-1/", role=ROLE)
    given["load"] |= more
    machine = definition({job: job for job in FUNCTIONS})
    return Execution(machine, given, invoke=call, read=lambda *_: [], wait=waited.append)


def test_an_execution_starts_the_loader_and_looks_until_it_is_over(cluster: NeptuneStandIn) -> None:
    waited: list[float] = []
    assert execution(waited).run() == "SUCCEEDED"
    assert set(waited) == {LOOK_SECONDS} and len(waited) >= 3
    assert cluster.loader is not None and len(cluster.loader.jobs) == 2
    with closing(NeptuneGraphStore(cluster.connection)) as store:
        assert [row[0] for row in dump_graph(store, OWNER)["chunk"]] == ["chunk:0"]


def test_a_load_that_fails_fails_the_execution_at_once_and_another_goes_on(cluster: NeptuneStandIn) -> None:
    assert cluster.loader is not None

    def broken(key: str) -> None:
        raise BadFile("FROM_OR_TO_VERTEX_ARE_MISSING", "told so")

    cluster.loader.before = broken
    run = execution([])
    assert (run.run(), run.error) == ("FAILED", "LoadFailed")
    cluster.loader.before = lambda _: None
    assert execution([], anew=True).run() == "SUCCEEDED"


def test_a_load_is_asked_for_by_its_place_in_s3(cluster: NeptuneStandIn) -> None:
    with pytest.raises(ValidationError, match="source"):
        BuildEvent.model_validate({"load": {"source": "bulk/graph-1", "role": ROLE}})
    started = invoked("build", event("build.load", source=f"s3://{inbox()}/bulk/graph-1/", role=ROLE))
    assert started["at"] == {"part": "loading"} and len(started["load_ids"]) == 2
