"""What probes report: what was tried, for how long, which error it met, and what to do about it.

Messages are those of our own errors, which name neither secrets nor texts; of other errors only the kind is told.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lexigraph.aws import code_of
from lexigraph.model.errors import LexigraphError

Status = Literal["ok", "failed", "skipped"]
Kind = Literal["denied", "busy", "unreached", "missing", "other"]
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("denied", r"AccessDenied|UnauthorizedAccess|NotAuthorized|Forbidden|\b401\b|\b403\b|allow the role"),
    ("busy", r"Throttl|TooMany|SlowDown|ThroughputExceeded|LimitExceeded|RequestLimit|\b429\b"),
    ("missing", r"ResourceNotFound|NoSuchBucket|does not exist|\b404\b|NotFound"),
    ("unreached", r"Timeout|TimeLimit|Connect|cannot be reached|no answer|NoWebSocket|\b50[0234]\b|unreadable reply"),
)
# by the first part of a probe's name, then by the kind of error
_REMEDIES: dict[str, dict[Kind, str]] = {
    "registry": {
        "denied": "deploy again, so that the role has its dynamodb: and kms: rights; then look for a policy of the "
        "organisation or a permissions boundary that denies them",
        "busy": "wait a minute and try again; when it stays, look at the table's throttled requests in CloudWatch",
        "missing": "the table is gone: deploy the data stack again",
        "unreached": "look at the gateway endpoint of DynamoDB and the routes of the functions' subnets",
        "other": "report it with the log of the function",
    },
    "objects": {
        "denied": "deploy again, so that the role may use bucket and key (s3:GetObject, PutObject, DeleteObject, "
        "ListBucket, kms:Decrypt, GenerateDataKey); then look at the policies of the bucket, the key and the organisation",
        "busy": "wait a minute and try again",
        "missing": "the bucket is gone: deploy the data stack again",
        "unreached": "look at the gateway endpoint of S3 and the routes of the functions' subnets",
        "other": "report it with the log of the function",
    },
    "graph": {
        "denied": "deploy again: the role needs neptune-db:ReadDataViaQuery and GetEngineStatus, of writers also "
        "WriteDataViaQuery and DeleteDataViaQuery, on the id of the cluster's resource, not its name",
        "busy": "wait a minute; when it stays, raise neptune_max",
        "missing": "the cluster is gone: deploy the graph stack again",
        "unreached": "start the cluster if it is stopped (aws neptune start-db-cluster); else look at the security groups "
        "Functions and Graph (port 8182) and at the zones of the subnets",
        "other": "the engine does not take this query: compare engine_version of the cluster with the profile's, and report "
        "the probe's JSON",
    },
    "vectors": {
        "denied": "wait a minute, as a new data access policy takes that long; then deploy again: policy and role "
        "(aoss:APIAccessAll) belong together, and the network policy has to name the endpoint aoss-data of this VPC",
        "busy": "wait a minute; when it stays, raise vector_units",
        "missing": "the collection or its endpoint's private name is gone: deploy the network and vector stacks again",
        "unreached": "look at the endpoint aoss-data (private names on, security group Endpoints, port 443); a collection "
        "that slept takes 30 s to wake, so try once more",
        "other": "the collection does not take this: it has to be a VECTORSEARCH collection in a NEXTGEN group; report the "
        "probe's JSON",
    },
    "models": {
        "denied": "open the model for this account in the Bedrock console of this region, and look for a policy of the "
        "organisation that denies it: inference profiles ask in several regions",
        "busy": "wait a minute; when it stays, ask for a higher Bedrock quota, or take another inference profile with llm=",
        "missing": "this region does not offer the model, or the account has not sent Anthropic's form of its use case: "
        "open the model in the Bedrock playground, or name another with llm= or embedding_model=",
        "unreached": "look at the endpoint bedrock-runtime (private names on, security group Endpoints, port 443)",
        "other": "the model does not take this request: name another with llm= or embedding_model=, or report the JSON",
    },
}


class ProbeFailed(Exception):
    """Something was answered, but not as it has to be; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass
class Result:
    """What a probe found; ``detail`` is for the JSON, ``ms`` how long it took."""

    name: str
    what: str
    status: Status = "ok"
    ms: int = 0
    error: str = ""
    remedy: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


class Report:
    """Collects the results of one call."""

    def __init__(self) -> None:
        self.results: list[Result] = []

    @contextmanager
    def part(self, name: str, what: str) -> Iterator[dict[str, Any]]:
        """Try something; the value takes details. What goes wrong is noted, and later parts go on."""
        result, began = Result(name, what), time.monotonic()
        try:
            yield result.detail
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what was found
            result.status, result.error, result.remedy = "failed", told(error), remedy_of(name, error)
        result.ms = round((time.monotonic() - began) * 1_000)
        self.results.append(result)

    def skip(self, name: str, what: str, why: str) -> None:
        """Note what was not tried, and why."""
        self.results.append(Result(name, what, "skipped", error=why))

    def plain(self) -> dict[str, Any]:
        """Return all as JSON data."""
        return {"results": [asdict(result) for result in self.results]}


def told(error: BaseException) -> str:
    """Return what may be told of an error."""
    if isinstance(error, (LexigraphError, ProbeFailed)):
        return f"{type(error).__name__}: {error}"[:400]
    return ": ".join(filter(None, (type(error).__name__, code_of(error))))


def remedy_of(name: str, error: BaseException) -> str:
    """Return what to do about an error that a probe met."""
    if isinstance(error, ProbeFailed):
        return error.remedy
    chain, at = [], error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__  # type: ignore[assignment]  # the end of the chain
    said = " ".join(f"{told(one)} {code_of(one)}" for one in chain)
    kind: Kind = next((kind for kind, pattern in _KINDS if re.search(pattern, said)), "other")
    return _REMEDIES[name.partition(".")[0]][kind]
