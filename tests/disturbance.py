"""A deployment on stand-ins whose requests can be counted and disturbed, and ways of documents through its functions.

Neptune, OpenSearch Serverless, DynamoDB, S3 and Step Functions; each call of a function is a process of its own. The state
machine is walked as it is deployed, with its retries and redrives.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

from fastapi.testclient import TestClient

from functions import work
from functions.start import once
from infra.state_machine import FUNCTIONS, definition
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel, Settings, load_settings
from lexigraph.storage.dynamodb.cache import DynamoDBContentCache
from lexigraph.storage.factory import (
    CacheFactory,
    DocumentStoreFactory,
    GraphStoreFactory,
    RegistryFactory,
    VectorStoreFactory,
)
from lexigraph.storage.protocols import VECTOR_INDEXES, EvidenceRequest, Stores
from tests.laptop import content
from tests.models import SentenceExtractor, WordEmbedder
from tests.standins.aws_server import ENVIRONMENT, REGION, Saved
from tests.standins.cloud import Cloud
from tests.standins.forked_functions import ForkedFunctions
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_falkor import copy_of
from tests.standins.opensearch import OpenSearchServer
from tests.standins.opensearch_index import Index
from tests.standins.script import Script
from tests.standins.states import Execution, TaskFailed

OWNER = Tenant("default")
LEASES_OUT = 120.0  # seconds after which nobody holds a lease that nobody renews
_STUCK_SECONDS, _ENDS_SECONDS = 2.0, 120.0
_DELIVERIES = 5  # of a message, before it is a dead letter
_INBOX = "inbox"


def open_all(settings: Settings) -> Stores:
    """Open the stores of the settings for the light embedder of the tests."""
    at = settings.connections
    return Stores(
        GraphStoreFactory.for_graph_store(at["graph"]),
        VectorStoreFactory.for_vector_store(at["vector"], embedding=EmbeddingModel("words", WordEmbedder.dimension)),
        DocumentStoreFactory.for_document_store(at["documents"]),
        RegistryFactory.for_registry(at["registry"]),
        CacheFactory.for_cache(at["cache"]),
    )


def prepared_steps() -> Steps:
    """Return the steps over the stores of the environment."""
    settings = load_settings()
    return Steps(settings, stores=open_all(settings), embedder=WordEmbedder(), extractor=SentenceExtractor())


def warm() -> None:
    """Load what the clients of AWS load when they are first used, as a snapshot of the function would hold it."""
    stores = open_all(load_settings())
    stores.registry.claimed(OWNER, "nothing")
    stores.graph.source_ids(OWNER)
    stores.vectors.stats(OWNER)
    stores.documents.sources(OWNER)
    stores.close()


@dataclass(frozen=True)
class Snapshot:
    """All that the stores held, and how that looked where somebody looked."""

    graph: str
    vectors: dict[str, Index]
    aws: Saved
    content: Mapping[str, Any]
    seen: Any


class World:
    """The deployment. ``script`` counts and disturbs what its functions ask."""

    def __init__(self, cloud: Cloud, neptune: NeptuneStandIn, collection: OpenSearchServer, arn: str) -> None:
        self.cloud, self.neptune, self.collection, self.arn = cloud, neptune, collection, arn
        self.script, self.recording = Script(), False
        self.at_failure = 0, ""  # the request and the fault that it meets when a failure is recorded
        cloud.script = neptune.script = collection.script = self.script
        self.stores = open_all(load_settings())
        self.service = Service(load_settings(), stores=self.stores, embedder=WordEmbedder())
        self.api = TestClient(create_app(load_settings(), self.service, open_=True), base_url="http://127.0.0.1")

    # ------------------------------------------------------------ what there is

    def save(self, *, look: bool = True) -> Snapshot:
        """Keep the present state of all stores; ``look`` at it, too."""
        aws = self.cloud.saved(f"lexigraph-{self.cloud.port}", f"artefacts-{self.cloud.port}")
        kept = copy_of(self.neptune.graph), self.collection.saved(), aws
        return Snapshot(*kept, self.content() if look else {}, self.seen() if look else None)

    def restore(self, there: Snapshot) -> None:
        """Make all stores as they were."""
        self.neptune.restore(there.graph)
        self.collection.restore(there.vectors)
        self.cloud.restore(there.aws)
        self.cloud.forget_executions()
        self.neptune.forget()
        self.collection.requests.clear()
        self.collection.headers.clear()

    def content(self) -> dict[str, Any]:
        """All that the stores hold, without versions and times."""
        self.collection.show_all()
        return content(self.stores)

    def seen(self) -> Any:
        """What readers see now: titles, the statements of chunks that searches find and the graph lets pass, and whether
        searches find these, too, and their topics.
        """
        found = {index: set(self.stores.vectors.ids(OWNER, index)) for index in VECTOR_INDEXES}
        rows = self.stores.graph.evidence(OWNER, EvidenceRequest(chunks=tuple(sorted(found["chunk"])), neighbours=False))
        return sorted(
            (r.source.uri, r.source.title, r.chunk_id, r.value, r.id in found["statement"], r.topic_id in found["topic"])
            for r in rows
        )

    def put(self, key: str, text: str) -> str:
        """Put a file into the inbox; return its version."""
        told = self.cloud.client("s3").put_object(Bucket=work.inbox().place.name, Key=key, Body=text.encode())
        return str(told["VersionId"])

    def delete(self, key: str) -> None:
        """Delete a file from the inbox."""
        self.cloud.client("s3").delete_object(Bucket=work.inbox().place.name, Key=key)

    # ------------------------------------------------------------ what happens

    def deliver(self, functions: ForkedFunctions, told: dict[str, Any]) -> bool:
        """Hand a message to `start` as the queue does, until it is taken; return False when it becomes a dead letter."""
        for _ in range(_DELIVERIES):
            try:
                if functions.invoke("start", told) == {"batchItemFailures": []}:
                    return True
            except TaskFailed:
                pass
        return False

    def execution(self, functions: ForkedFunctions, given: dict[str, Any], *, times: int = 1, **options: Any) -> Execution:
        """Return an execution that calls each function so many ``times``; ``options`` as of :class:`Execution`."""

        def invoke(name: str, asked: Any) -> Any:
            if "error" in asked and not self.recording:
                self.recording = True
                self.script.begin(*self.at_failure)  # what was out of order is not any more when the failure is recorded
            return [functions.invoke(name, asked) for _ in range(times)][-1]

        machine = definition({n: n for n in FUNCTIONS})
        return Execution(machine, given, invoke=invoke, read=self._read, wait=self.wait, **options)

    def _read(self, bucket: str, key: str) -> list[Any]:
        found: list[Any] = json.loads(self.cloud.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
        return found

    def wait(self, seconds: float) -> None:
        """Let time pass for leases. That of the collector runs out: who wants it waits in a function, in real time."""
        client, table = self.cloud.client("dynamodb"), f"lexigraph-{self.cloud.port}"
        for item in self.cloud.items(table):
            if item["sk"]["S"] == "lease" and "holder" in item:
                gone = LEASES_OUT if item["pk"]["S"].endswith("#collector") else seconds
                until = float(item["until"]["N"]) - gone
                client.put_item(TableName=table, Item={**item, "until": {"N": repr(until)}})

    def job(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what the API says of the job of an execution."""
        run = FileRun.of(given["run"])
        answer = self.api.get(f"/jobs/{run.job_id}")
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told


@dataclass(frozen=True)
class Stage:
    """A place on a way from which it can be gone again: the first of its calls to stores is number ``first``."""

    first: int
    there: Snapshot
    state: str
    given: dict[str, Any]


@dataclass(frozen=True)
class Way:
    """What one message sets going, undisturbed: its ``stages``, the ``names`` of its requests, and where it ends."""

    told: dict[str, Any]
    stages: list[Stage]
    names: list[str]
    end: Snapshot

    @property
    def calls(self) -> int:
        """How many requests it takes."""
        return len(self.names)

    @property
    def begin(self) -> Snapshot:
        """The state of the stores before."""
        return self.stages[0].there


def recorded(world: World, functions: ForkedFunctions, told: dict[str, Any]) -> Way:
    """Go a way undisturbed from where the stores are."""
    stages = [Stage(1, world.save(), "", {})]

    def enter(state: str, given: dict[str, Any]) -> None:
        if state not in ("Which", "Batches"):
            stages.append(Stage(len(world.script.calls) + 1, world.save(look=False), state, given))

    world.script.begin()
    assert world.deliver(functions, told)
    execution = world.execution(functions, world.cloud.started(world.arn)[-1], enter=enter)
    assert execution.run() == "SUCCEEDED", execution.error
    names = world.script.calls
    return Way(told, stages, names, world.save())


def go_disturbed(
    world: World, functions: ForkedFunctions, way: Way, at: int, kind: str, at_failure: tuple[int, str] = (0, "")
) -> str:
    """Go a way whose request number ``at`` meets a fault, as Step Functions and the queue drive it on.

    ``at_failure``: a further fault when a failure is recorded. Return what was wrong: empty when it ended as the undisturbed
    way, any failure was told, and nothing half was seen.
    """
    world.at_failure = at_failure
    execution = _set_out(world, functions, way, at, kind)
    if execution.run() == "FAILED":
        job = world.job(execution.given)
        if (job["status"], bool(job["reason"])) != ("FAILED", True):
            return f"the execution failed, the job says {job}"
        if world.seen() not in (way.begin.seen, way.end.seen):
            return "after a failure readers see a half"
        if kind != "denied":
            return f"a fault that passes failed the run: {execution.error}"
        if execution.run() != "SUCCEEDED":
            return f"driven on, it failed again: {execution.error}"
    return _differs(world, way.end)


def go_meanwhile(
    world: World,
    functions: ForkedFunctions,
    others: ForkedFunctions,
    way: Way,
    at: int,
    other: Way,
    end: Snapshot,
    frozen: bool,
) -> str:
    """Go a way; before its request number ``at`` is carried out, another way is gone by ``others``.

    When that waits for a lease, the first goes on meanwhile; ``frozen``: it was at rest for so long that its leases ran
    out. Return what was wrong: empty when all ends as in ``end``.
    """
    went: list[str] = []

    def go() -> None:
        assert world.deliver(others, other.told)
        went.append(world.execution(others, world.cloud.started(world.arn)[-1]).run())

    thread = Thread(target=go)

    def meanwhile() -> None:
        if frozen:
            world.wait(LEASES_OUT)
        thread.start()
        thread.join(_STUCK_SECONDS)

    world.script.meanwhile = meanwhile
    status = _set_out(world, functions, way, at, "wait").run()
    thread.join(_ENDS_SECONDS)
    if (status, went) != ("SUCCEEDED", ["SUCCEEDED"]):
        return f"one failed: {status}, {went}"
    # results of models that the overtaken run has put wait for an owner for a week
    with closing(DynamoDBContentCache(os.environ["LEXIGRAPH_CACHE"], unowned_seconds=0.0)) as cache:
        cache.disown(OWNER, ["nobody"])
    return _differs(world, end)


def _set_out(world: World, functions: ForkedFunctions, way: Way, at: int, kind: str) -> Execution:
    """Restore what was before request number ``at`` of a way, and return the execution that makes it."""
    stage = [s for s in way.stages if s.first <= at][-1]
    world.recording = False
    world.restore(stage.there)
    world.script.begin(at - stage.first + 1, kind)
    if stage.state:
        return world.execution(functions, stage.given, at=stage.state)
    if not world.deliver(functions, way.told):
        world.script.mend()
        assert world.deliver(functions, way.told)  # a dead letter that is sent again
    return world.execution(functions, world.cloud.started(world.arn)[-1])


def _differs(world: World, end: Snapshot) -> str:
    """Return what differs from a state of the stores; empty for nothing."""
    if running := [job["id"] for job in world.api.get("/jobs").json()["jobs"] if job["status"] == "RUNNING"]:
        return f"{len(running)} jobs are still running"
    found = world.content()
    different = [name for name in end.content if found[name] != end.content[name]]
    return ", ".join(different) or ("" if world.seen() == end.seen else "what readers see")


@contextmanager
def disturbed_world(folder: Path, *, delay: int = 1) -> Iterator[World]:
    """Deploy on stand-ins; a write shows in searches after ``delay`` more."""
    with ExitStack() as stack:
        neptune = stack.enter_context(NeptuneStandIn())
        collection = stack.enter_context(OpenSearchServer(delay=delay))
        cloud = stack.enter_context(Cloud({}))
        inbox = f"{_INBOX}-{cloud.port}"
        at = cloud.s3(inbox)
        cloud.client("s3").put_bucket_versioning(Bucket=inbox, VersioningConfiguration={"Status": "Enabled"})
        arn = stack.enter_context(cloud.state_machine(definition({n: n for n in FUNCTIONS}), carried_out=False))
        environment = {
            **ENVIRONMENT,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": cloud.url,
            "POWERTOOLS_LOG_LEVEL": "CRITICAL",
            "POWERTOOLS_TRACE_DISABLED": "true",
            "LEXIGRAPH_DATA": str(folder),
            "LEXIGRAPH_INBOX": at,
            **cloud.stores(),
            "LEXIGRAPH_GRAPH_STORE": neptune.connection,
            "LEXIGRAPH_VECTOR_STORE": collection.connection,
            "LEXIGRAPH_WORKFLOW": arn,
        }
        stack.callback(_forget)
        stack.enter_context(patch.dict(os.environ, environment))
        _forget()
        world = World(cloud, neptune, collection, arn)
        yield world
        world.stores.close()


def _forget() -> None:
    from functions import runtime

    for made in (runtime.settings, runtime.registry, work.inbox, work.workflow, once._kept):
        made.cache_clear()
