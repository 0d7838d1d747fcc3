"""Probes of the functions over stand-ins of every service, and what they say when one of them is not as it has to be."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest

from functions.invoke import invoke
from functions.probes.sample import TENANT, sample
from lexigraph.model.errors import InvalidInput
from lexigraph.storage.common.aws import AwsClient
from lexigraph.storage.factory import RegistryFactory
from tests.functions import forget
from tests.models import WordEmbedder
from tests.standins.aws_server import ENVIRONMENT, REGION, AwsServer
from tests.standins.aws_server import Fault as AwsFault
from tests.standins.bedrock_server import BedrockServer, Fault, message, streamed, tool_use
from tests.standins.neptune import Fault as NeptuneFault
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_falkor import falkor
from tests.standins.opensearch import Fault as VectorFault
from tests.standins.opensearch import OpenSearchServer

pytestmark = pytest.mark.slow
DIMENSION = 1_024  # of Titan
EVERYTHING = {
    "build": (
        "registry.read registry.write objects.documents graph.status graph.write graph.read vectors.write "
        "vectors.large models.embed models.converse"
    ),
    "query": "registry.session graph.status graph.read vectors.read models.embed models.stream models.rerank",
    "extract": "registry.read registry.cache objects.artefacts models.embed models.converse",
    "remove": "graph.remove vectors.remove registry.owners",
}


@dataclass
class Services:
    """The stand-ins; ``model`` are the faults of Bedrock by operation."""

    neptune: NeptuneStandIn
    vectors: OpenSearchServer
    aws: AwsServer
    bedrock: BedrockServer
    registry: str
    stack: ExitStack
    model: dict[str, Any] = field(default_factory=dict)

    def probe(self, job: str, groups: str, **more: Any) -> list[dict[str, Any]]:
        """Return the results of groups of probes."""
        found: list[dict[str, Any]] = invoke(job, {"probe": {"groups": groups.split(), **more}})["results"]
        return found


@pytest.fixture
def services() -> Iterator[Services]:
    made: list[Services] = []

    def model(operation: str, _: str, asked: dict[str, Any]) -> Any:
        if operation in made[0].model:
            return made[0].model[operation]
        if operation == "invoke":
            words = WordEmbedder().embed_passages([asked["inputText"]])[0].tolist()
            return {"embedding": words + [0.0] * (DIMENSION - len(words)), "inputTextTokenCount": 1}
        if operation == "rerank":
            return {"results": [{"index": 0, "relevanceScore": 0.9}, {"index": 1, "relevanceScore": 0.1}]}
        return tool_use("reply", {"word": "harbour"}) if operation == "converse" else streamed(["har", "bour"])

    with ExitStack() as stack:
        neptune = stack.enter_context(NeptuneStandIn())
        vectors, aws = stack.enter_context(OpenSearchServer()), stack.enter_context(AwsServer())
        bedrock = stack.enter_context(BedrockServer(model))
        stores = aws.stores()
        made.append(Services(neptune, vectors, aws, bedrock, stores["LEXIGRAPH_REGISTRY"], stack))
        environment = {
            **ENVIRONMENT,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
            "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": bedrock.url,
            "POWERTOOLS_LOG_LEVEL": "CRITICAL",
            "LEXIGRAPH_GRAPH_STORE": neptune.connection,
            "LEXIGRAPH_VECTOR_STORE": vectors.connection,
            **stores,
            "LEXIGRAPH_EMBEDDING_MODEL": "bedrock:amazon.titan-embed-text-v2:0",
            "LEXIGRAPH_LLM": "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0",
            "LEXIGRAPH_RERANKER": "bedrock",
        }
        stack.enter_context(patch.dict(os.environ, environment))
        stack.callback(forget)
        forget()
        yield made[0]


@pytest.mark.nightly
def test_every_probe_holds_over_services_that_work_and_leaves_nothing(services: Services) -> None:
    services.vectors.delay = 2
    found = [r for job, groups in EVERYTHING.items() for r in services.probe(job, groups, least_engine="1.4.8.0")]
    assert [r for r in found if r["status"] != "ok" and r["name"] != "graph.walks"] == []
    assert {r["name"] for r in found} >= {"graph.queries", "graph.write.explain", "vectors.update", "registry.transaction"}
    explained = [q for r in found if r["name"].endswith(".explain") for q in r["detail"]["queries"]]
    assert len(explained) > 40, "queries of writers and readers"
    assert all(len(q["plan"].strip().splitlines()) > 3 for q in explained)
    table = services.registry.partition("//")[2].partition("?")[0]
    left = {item["pk"]["S"].removeprefix("t#lexigraph-probe#").partition("#")[0] for item in services.aws.items(table)}
    assert left == {"meta", "session", "lease"}, "a number, and what goes by itself"
    listed = services.aws.client("s3").list_objects_v2(Bucket=f"artefacts-{services.aws.port}")
    assert "Contents" not in listed
    assert not any(index.live for index in services.vectors.indexes.values())
    assert "probe" not in json.dumps([c.query for c in services.neptune.calls]), "texts travel as parameters"


def _gone(setting: str, to: str) -> Callable[[Services, pytest.MonkeyPatch], None]:
    def fault(_: Services, patch: pytest.MonkeyPatch) -> None:
        patch.setenv(setting, to)
        forget()

    return fault


def _aws(operation: str, kind: str, status: int = 400, times: int = 1_000) -> Callable[[Services, pytest.MonkeyPatch], None]:
    return lambda services, _: services.aws._faults.append(AwsFault(operation, kind, times, status))


def _neptune(code: str, kind: str = "", **more: Any) -> Callable[[Services, pytest.MonkeyPatch], None]:
    return lambda services, _: services.neptune.faults.append(NeptuneFault(code, kind, 1_000, **more))


def _model(operation: str, reply: Any) -> Callable[[Services, pytest.MonkeyPatch], None]:
    return lambda services, _: services.model.update({operation: reply})


def _vectors(path: str, status: int) -> Callable[[Services, pytest.MonkeyPatch], None]:
    return lambda services, _: services.vectors.faults.extend([VectorFault(path, status)] * 1_000)


def _set(part: str, name: str, value: Any) -> Callable[[Services, pytest.MonkeyPatch], None]:
    return lambda services, _: setattr(getattr(services, part), name, value)


def _lost_node(services: Services, _: pytest.MonkeyPatch) -> None:
    assert not [r for r in services.probe("build", "graph.write") if r["status"] == "failed"]
    falkor().select_graph(services.neptune.graph).query("MATCH (f:Fact) WITH f LIMIT 1 DETACH DELETE f")


def _small(_: Services, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("tests.standins.opensearch.MOST_OF_A_REQUEST", 4 * 2**20)


def _unshown(services: Services, patch: pytest.MonkeyPatch) -> None:
    services.vectors.delay = 10_000
    patch.setattr("functions.probes.vectors._SHOWN_SECONDS", 2.0)


def _leased(services: Services, _: pytest.MonkeyPatch) -> None:
    registry = RegistryFactory.for_registry(services.registry)
    services.stack.enter_context(registry.lease(TENANT, [sample(1).sources[0].id]))


@dataclass(frozen=True)
class Case:
    """What is taken away; function, group and the probe in it that has to fail then; words of its error and remedy."""

    what: str
    fault: Callable[[Services, pytest.MonkeyPatch], None]
    tried: str
    error: str
    remedy: str


_NOBODY = "http://127.0.0.1:9"
_403 = Fault(403, "AccessDeniedException", "User: arn:aws:sts::1:x is not authorized: SECRET-OF-THE-SERVICE")
_429 = Fault(429, "ThrottlingException", "Too many tokens")
_FORM = Fault(404, "ResourceNotFoundException", "Model use case details have not been submitted for this account")
CASES = [
    Case(
        "right to read the registry",
        _aws("Query", "AccessDeniedException"),
        "build registry.read registry.read",
        "AccessDenied",
        "dynamodb: and kms: rights",
    ),
    Case(
        "registry's table",
        _aws("Query", "ResourceNotFoundException"),
        "build registry.read registry.read",
        "ResourceNotFound",
        "deploy the data stack",
    ),
    Case(
        "room in the registry",
        _aws("Query", "ProvisionedThroughputExceededException"),
        "build registry.read registry.read",
        "ProvisionedThroughput",
        "wait a minute",
    ),
    Case(
        "way to DynamoDB",
        _gone("LEXIGRAPH_REGISTRY", f"dynamodb://x-y-z?region={REGION}&endpoint={_NOBODY}"),
        "query registry.session registry.session",
        "cannot be reached",
        "gateway endpoint of DynamoDB",
    ),
    Case(
        "right to transactions",
        _aws("TransactWriteItems", "AccessDeniedException"),
        "build registry.write registry.transaction",
        "AccessDenied",
        "dynamodb: and kms: rights",
    ),
    Case(
        "lease held elsewhere", _leased, "build registry.write registry.transaction", "held by another", "another smoke test"
    ),
    Case(
        "right to the cache's entries",
        _aws("BatchWriteItem", "AccessDeniedException"),
        "extract registry.cache registry.cache",
        "AccessDenied",
        "dynamodb: and kms: rights",
    ),
    Case(
        "IAM that refuses keys",
        lambda *_: None,
        "build registry.refused registry.refused",
        "IAM let a function",
        "take the deployment down",
    ),
    Case(
        "right to put objects, or the key's",
        _aws("S3 PUT", "AccessDenied", 403),
        "extract objects.artefacts objects.artefacts",
        "AccessDenied",
        "kms:Decrypt",
    ),
    Case(
        "right to list objects",
        _aws("S3 GET list", "AccessDenied", 403),
        "build objects.documents objects.artefacts",
        "AccessDenied",
        "ListBucket",
    ),
    Case(
        "bucket",
        _aws("S3 PUT", "NoSuchBucket", 404),
        "extract objects.artefacts objects.artefacts",
        "NoSuchBucket",
        "deploy the data stack",
    ),
    Case(
        "room at S3",
        _aws("S3 PUT", "SlowDown", 503),
        "extract objects.artefacts objects.artefacts",
        "SlowDown",
        "wait a minute",
    ),
    Case(
        "right to the engine's status",
        _set("neptune", "denied", {"status"}),
        "build graph.status graph.status",
        "AccessDenied",
        "GetEngineStatus",
    ),
    Case(
        "engine's version",
        _set("neptune", "engine", "1.3.2.1"),
        "build graph.status graph.status",
        "older than 1.4.8.0",
        "modify-db-cluster",
    ),
    Case(
        "engine's health",
        _set("neptune", "health", "recovery"),
        "build graph.status graph.status",
        "recovery",
        "until the cluster is available",
    ),
    Case(
        "cluster (stopped)",
        _gone("LEXIGRAPH_GRAPH_STORE", f"neptune-db://127.0.0.1:9?region={REGION}&gremlin=off&tls=off"),
        "build graph.status graph.status",
        "EndpointConnectionError",
        "start-db-cluster",
    ),
    Case(
        "right to write the graph",
        _neptune("AccessDeniedException", "write"),
        "build graph.write graph.write",
        "AccessDenied",
        "WriteDataViaQuery",
    ),
    Case(
        "memory of the graph",
        _neptune("MemoryLimitExceededException", "write"),
        "build graph.write graph.write",
        "MemoryLimit",
        "raise neptune_max",
    ),
    Case(
        "right to explain",
        _set("neptune", "denied", {"explain"}),
        "build graph.write graph.write.explain",
        "AccessDenied",
        "ReadDataViaQuery",
    ),
    Case(
        "a form of openCypher",
        _neptune("MalformedQueryException", "read"),
        "query graph.read graph.queries",
        "MalformedQuery",
        "compare engine_version",
    ),
    Case(
        "room in the graph's queue",
        _neptune("TooManyRequestsException", "read"),
        "query graph.read graph.queries",
        "TooManyRequests",
        "raise neptune_max",
    ),
    Case(
        "a node, as if an engine answered otherwise",
        _lost_node,
        "query graph.read graph.queries",
        "answered otherwise",
        "report it",
    ),
    Case(
        "web sockets",
        _gone("LEXIGRAPH_GRAPH_STORE", "SOCKETS"),
        "query graph.read graph.walks",
        "NoWebSocket",
        "go by openCypher meanwhile",
    ),
    Case(
        "ids of ours (a Classic collection)",
        _set("vectors", "generation", "classic"),
        "build vectors.write vectors.ids",
        "Classic",
        "NEXTGEN",
    ),
    Case("right to write vectors", _vectors("/_bulk", 403), "build vectors.write vectors.ids", "403", "data access policy"),
    Case(
        "right to describe indexes",
        _vectors("/_mapping", 403),
        "build vectors.write vectors.wake",
        "403",
        "aoss:APIAccessAll",
    ),
    Case("multi-search", _vectors("/_msearch", 404), "build vectors.write vectors.wake", "404", "network and vector stacks"),
    Case(
        "way to the collection",
        _gone("LEXIGRAPH_VECTOR_STORE", f"aoss://{_NOBODY}?region={REGION}"),
        "query vectors.read vectors.search",
        "OpenSearch",
        "endpoint aoss-data",
    ),
    Case("room in the collection", _vectors("/_bulk", 429), "build vectors.write vectors.ids", "429", "raise vector_units"),
    Case(
        "visibility of what was written",
        _unshown,
        "build vectors.write vectors.visible",
        "not shown after",
        "raise vector_units",
    ),
    Case(
        "vector after a partial update",
        _set("vectors", "loses_vectors", True),
        "build vectors.write vectors.update",
        "after a partial update",
        "take no documents in",
    ),
    Case("requests of 8 MiB", _small, "build vectors.large vectors.large", "413", "report the probe"),
    Case("right to embed", _model("invoke", _403), "extract models.embed models.embed", "AccessDenied", "Bedrock console"),
    Case(
        "quota of embeddings",
        _model("invoke", _429),
        "extract models.embed models.embed",
        "Throttling",
        "higher Bedrock quota",
    ),
    Case(
        "dimension",
        _model("invoke", {"embedding": [1.0, 0.0], "inputTextTokenCount": 1}),
        "build models.embed models.embed",
        "1024 were expected",
        "name another",
    ),
    Case(
        "right to converse",
        _model("converse", _403),
        "extract models.converse models.converse",
        "AccessDenied",
        "Bedrock console",
    ),
    Case(
        "form of Anthropic's",
        _model("converse", _FORM),
        "extract models.converse models.converse",
        "ResourceNotFound",
        "playground",
    ),
    Case(
        "schema of tools",
        _model("converse", message("no")),
        "extract models.converse models.converse",
        "MalformedReply",
        "name another",
    ),
    Case(
        "way to Bedrock",
        _model("converse", Fault(0)),
        "extract models.converse models.converse",
        "Connection",
        "endpoint bedrock-runtime",
    ),
    Case(
        "right to stream",
        _model("converse-stream", _403),
        "query models.stream models.stream",
        "AccessDenied",
        "Bedrock console",
    ),
    Case("right to rerank", _model("rerank", _403), "query models.rerank models.rerank", "AccessDenied", "Bedrock console"),
]


def cases() -> Iterator[Any]:
    """Yield the cases: the first of each probe in every run, the others with the full counts."""
    seen: set[str] = set()
    for case in CASES:
        probe = case.tried.split()[2]
        yield pytest.param(case, id=case.what, marks=[pytest.mark.soak] if probe in seen else [])
        seen.add(probe)


@pytest.mark.parametrize("case", [*cases()])
def test_a_probe_fails_when_what_it_tries_is_taken_away(
    services: Services, case: Case, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    # patience is for services that wake; here nothing gets better
    monkeypatch.setitem(AwsClient.__init__.__kwdefaults__, "seconds", 1.0)
    for name in ("vectors._PATIENCE", "vectors._READING", "graph._SECONDS"):
        monkeypatch.setattr(f"functions.probes.{name}", 2.0)
    job, group, probe = case.tried.split()
    if group in ("graph.read", "vectors.read") and case.fault is not _lost_node:
        services.probe("build", group.replace("read", "write"))
    case.fault(services, monkeypatch)
    if os.environ["LEXIGRAPH_GRAPH_STORE"] == "SOCKETS":  # openCypher goes on, web sockets are refused
        monkeypatch.setenv("LEXIGRAPH_GRAPH_STORE", services.neptune.connection.replace("&gremlin=off", ""))
        forget()
    found = services.probe(job, group, least_engine="1.4.8.0")
    (failed,) = [r for r in found if r["status"] == "failed"][:1]
    assert failed["name"] == probe
    assert case.error in failed["error"]
    assert case.remedy in failed["remedy"]
    assert "SECRET-OF-THE-SERVICE" not in json.dumps(found)
    record_property("row", f"| {case.what} | `{failed['name']}` | {failed['error']} | {failed['remedy']} |")


def test_iam_that_refuses_the_key_of_a_transaction_is_what_the_probe_wants(services: Services) -> None:
    services.aws._faults.append(AwsFault("TransactWriteItems", "AccessDeniedException", 1, 400))
    (found,) = services.probe("build", "registry.refused")
    assert found["status"] == "ok"


def test_what_iam_let_through_is_removed(services: Services) -> None:
    table = services.registry.partition("//")[2].partition("?")[0]
    (found,) = services.probe("build", "registry.refused")
    assert (found["status"], services.aws.items(table)) == ("failed", [])


def test_an_unknown_group_is_refused(services: Services) -> None:
    with pytest.raises(InvalidInput, match=r"probe.groups: 'graph.drop' is unknown: use one of .*graph.read"):
        services.probe("build", "graph.drop")
