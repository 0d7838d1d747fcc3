"""Which rights a call needs: the actions that AWS asks its policies about, on which resource, with what a condition may ask.

After AWS's Service Authorization Reference and the guides of the services (S3: "Required permissions for Amazon S3 API
operations"; DynamoDB: "IAM policy to prevent ...", usage notes on KMS; OpenSearch Serverless: "Supported operations";
Neptune: "Query actions"; Bedrock: "Prerequisites for inference profiles"). Resources are written as
:mod:`tests.infra.templates` writes references.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.infra.templates import Templates
from tests.rights.calls import Call

REGION, ACCOUNT = "REGION", "ACCOUNT"
_ITEM = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
# what DynamoDB does with a key of ours in the name of who asks it: its usage notes on KMS
_KEY_OF_TABLE = (
    *("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "GenerateDataKeyWithoutPlaintext"),
    *("ReEncryptFrom", "ReEncryptTo"),
)
_REGIONAL = re.compile(r"(us|eu|apac|jp|au|global)\.(.+)")
# the clauses of openCypher, by the user guide's "Using query actions": a property that is set replaces another
_CLAUSES = {"CREATE": {"Write"}, "MERGE": {"Write"}, "SET": {"Write", "Delete"}, "DELETE": {"Delete"}, "REMOVE": {"Delete"}}
_NEPTUNE = {
    "GetEngineStatus": "GetEngineStatus",
    "StartLoaderJob": "StartLoaderJob",
    "GetLoaderJobStatus": "GetLoaderJobStatus",
    "ListLoaderJobs": "ListLoaderJobs",
    "CancelLoaderJob": "CancelLoaderJob",
    "CancelOpenCypherQuery": "CancelQuery",
    "CancelGremlinQuery": "CancelQuery",
    "GetOpenCypherQueryStatus": "GetQueryStatus",
    "ListOpenCypherQueries": "GetQueryStatus",
    "GetPropertygraphSummary": "GetGraphSummary",
}
_VECTORS = {
    "GET /INDEX/_mapping": ("DescribeIndex",),
    "GET /INDEX": ("DescribeIndex",),
    "HEAD /INDEX": ("DescribeIndex",),
    # a collection of the next generation asks for both, too, when an index is made
    "PUT /INDEX": ("CreateIndex", "CreateCollectionItems", "DescribeCollectionItems"),
    "PUT /INDEX/_mapping": ("UpdateIndex",),
    "PUT /INDEX/_settings": ("UpdateIndex",),
    "DELETE /INDEX": ("DeleteIndex",),
    "POST /_bulk": ("WriteDocument",),
    "POST /INDEX/_bulk": ("WriteDocument",),
    "POST /_msearch": ("ReadDocument",),
    "POST /INDEX/_search": ("ReadDocument",),
    "POST /INDEX/_count": ("ReadDocument",),
    "GET /INDEX/_doc/ID": ("ReadDocument",),
    "POST /INDEX/_mget": ("ReadDocument",),
}


@dataclass(frozen=True)
class Need:
    """An action that a role has to be allowed, on a resource; ``context`` is what conditions may ask about.

    ``why`` is the operation that asks for it, ``through`` the endpoint that it goes through, empty: none of the caller's own
    (AWS asks in the caller's name). ``key`` is the partition key of a table's item.
    """

    role: str
    action: str
    resource: str
    why: str
    through: str = ""
    context: tuple[tuple[str, str], ...] = field(default=())

    @property
    def key(self) -> str:
        return dict(self.context).get("dynamodb:LeadingKeys", "")

    def __str__(self) -> str:
        said = ", ".join(f"{name} = {value}" for name, value in self.context if not name.startswith("aws:"))
        return f"{self.role}: {self.action} on {self.resource}{f' ({said})' if said else ''}, for {self.why}"


class Unknown(Exception):
    """A call that this module knows no rights for: look them up in AWS's Service Authorization Reference."""


class Needs:
    """The needs of calls in one deployment, whose templates say what is encrypted by our key."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self.encrypted = {
            f"<{r.stack}/{r.name}>": key for r in templates.resources if (key := _key_of(r.kind, r.properties))
        }
        clusters = [r for r in templates.resources if r.kind == "AWS::Neptune::DBCluster"]
        self._graph = next((_graph_arn(f"<{r.stack}/{r.name}.ClusterResourceId>") for r in clusters), "")
        vectors = [r for r in templates.resources if r.kind == "AWS::OpenSearchServerless::Collection"]
        self._vectors = next(((f"<{r.stack}/{r.name}>", r.properties["Name"]) for r in vectors), ("", ""))

    def of(self, call: Call) -> Iterator[Need]:
        """Yield what a call needs. Raise ``Unknown``."""
        known: Mapping[str, Callable[[Call], Iterator[tuple[str, str, dict[str, str]]]]] = {
            "dynamodb": self._dynamodb,
            "s3": self._s3,
            "neptunedata": self._neptune,
            "aoss": self._aoss,
            "bedrock-runtime": self._models,
            "bedrock-agent-runtime": self._rerank,
            "bedrock": self._control,
            "stepfunctions": self._states,
        }
        service, said = call["service"], f"{call['service']} {call['operation']}"
        if service not in known:
            raise Unknown(said)
        through = {"neptunedata": "neptune", "stepfunctions": "states"}.get(service, service)
        for action, resource, context in known[service](call):
            own = "" if action.startswith(("kms:", "iam:")) else through
            given = tuple(sorted({**_of_caller(resource), **context}.items()))
            yield Need(call["function"], action, resource, said, own, given)

    def _dynamodb(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        action = _ITEM[call["item"]] if "item" in call else call["operation"]
        yield f"dynamodb:{action}", call["table"], {"dynamodb:LeadingKeys": call["key"]}
        yield from self._key(call["table"], "dynamodb", _KEY_OF_TABLE)

    def _s3(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        bucket, operation = call["bucket"], call["operation"]
        at, version = f"{bucket}/{call['key']}", "Version" if call.get("version") else ""
        if operation in ("GetObject", "HeadObject") or call.get("source"):
            yield f"s3:GetObject{version}", at, {}
            yield "s3:ListBucket", bucket, {}  # or what is not there is said to be forbidden
            if operation != "HeadObject":
                yield from self._key(bucket, "s3", ("Decrypt",))
        elif operation in ("ListObjectsV2", "ListObjects"):
            yield "s3:ListBucket", bucket, {"s3:prefix": call["prefix"]}
        elif operation == "ListObjectVersions":
            yield "s3:ListBucketVersions", bucket, {"s3:prefix": call["prefix"]}
        elif operation in ("PutObject", "CopyObject"):
            yield "s3:PutObject", at, {}
            yield from self._key(bucket, "s3", ("GenerateDataKey",))
        elif operation in ("CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"):
            yield "s3:PutObject", at, {}
            yield from self._key(bucket, "s3", ("GenerateDataKey", "Decrypt"))
        elif operation in ("DeleteObject", "DeleteObjects"):
            yield f"s3:DeleteObject{version}", at, {}
        elif operation == "AbortMultipartUpload":
            yield "s3:AbortMultipartUpload", at, {}
        else:
            raise Unknown(f"s3 {operation}")

    def _neptune(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        operation = call["operation"]
        language = {"neptune-db:QueryLanguage": "Gremlin" if operation.endswith("Gremlin") else "OpenCypher"}
        if operation in ("ExecuteOpenCypherQuery", "ExecuteOpenCypherExplainQuery", "Gremlin"):
            wanted = {"Read"}.union(*(_CLAUSES[clause] for clause in call["clauses"]))
            yield from ((f"neptune-db:{what}DataViaQuery", self._graph, language) for what in sorted(wanted))
        elif operation in _NEPTUNE:
            # a loader's role was passed when it was attached to the cluster: AWS asks for no iam:PassRole here
            yield f"neptune-db:{_NEPTUNE[operation]}", self._graph, {}
        else:
            raise Unknown(f"neptunedata {operation}")

    def _aoss(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        arn, name = self._vectors
        if call["operation"] not in _VECTORS:
            raise Unknown(f"aoss {call['operation']}")
        yield "aoss:APIAccessAll", arn, {}
        for action in _VECTORS[call["operation"]]:
            whole = action.endswith("CollectionItems")
            yield f"aoss:{action}", f"collection/{name}" if whole else f"index/{name}/{call['index']}", {}

    def _models(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        streamed = "WithResponseStream" if "Stream" in call["operation"] else ""
        for arn in _arns(call["model"]):
            yield f"bedrock:InvokeModel{streamed}", arn, {}

    def _rerank(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        yield "bedrock:Rerank", "*", {}
        model = call["model"].rpartition("/")[2]
        yield from (("bedrock:InvokeModel", arn, {}) for arn in _arns(model))

    def _control(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        job = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:model-invocation-job/1"
        operation = call["operation"]
        if operation == "CreateModelInvocationJob":
            yield from ((f"bedrock:{operation}", arn, {}) for arn in (*_arns(call["model"]), job))
            yield "iam:PassRole", call["role"], {"iam:PassedToService": "bedrock.amazonaws.com"}
        elif operation == "GetModelInvocationJob":
            yield f"bedrock:{operation}", job, {}
        elif operation in ("GetInferenceProfile", "GetFoundationModel"):
            yield f"bedrock:{operation}", _arns(call["model"])[0], {}
        else:
            raise Unknown(f"bedrock {operation}")

    def _states(self, call: Call) -> Iterator[tuple[str, str, dict[str, str]]]:
        if call["operation"] != "StartExecution":
            raise Unknown(f"stepfunctions {call['operation']}")
        yield "states:StartExecution", call["machine"], {}

    def _key(self, place: str, service: str, actions: tuple[str, ...]) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield what a service does with our key, where a place is encrypted by it."""
        if key := self.encrypted.get(place):
            via = {"kms:ViaService": f"{service}.{REGION}.amazonaws.com"}
            yield from ((f"kms:{action}", key, via) for action in actions)


def _of_caller(resource: str) -> dict[str, str]:
    """Return what AWS adds to every request of ours: models are AWS's, all else is of our account."""
    of_account = {} if ":foundation-model/" in resource else {"aws:ResourceAccount": ACCOUNT}
    return {"aws:SecureTransport": "true", "aws:PrincipalAccount": ACCOUNT, **of_account}


def _arns(model: str) -> list[str]:
    """Return what asking a model needs: itself, or a profile and its model wherever that may lead."""
    if model.startswith("arn:"):
        return [model]
    found = _REGIONAL.fullmatch(model)
    if not found:
        return [f"arn:aws:bedrock:{REGION}::foundation-model/{model}"]
    places = (REGION, "other-region-1", *([""] if found[1] == "global" else []))
    of_model = [f"arn:aws:bedrock:{place}::foundation-model/{found[2]}" for place in places]
    return [f"arn:aws:bedrock:{REGION}:{ACCOUNT}:inference-profile/{model}", *of_model]


def _graph_arn(cluster: str) -> str:
    return f"arn:aws:neptune-db:{REGION}:{ACCOUNT}:{cluster}/database"


def _key_of(kind: str, properties: Mapping[str, Any]) -> str:
    """Return the key of ours that a resource is encrypted by, empty: none."""
    if kind == "AWS::DynamoDB::Table":
        return str(properties.get("SSESpecification", {}).get("KMSMasterKeyId", ""))
    if kind == "AWS::S3::Bucket":
        rules = properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", ())
        return next((str(r["ServerSideEncryptionByDefault"].get("KMSMasterKeyID", "")) for r in rules), "")
    if kind == "AWS::SQS::Queue":
        return str(properties.get("KmsMasterKeyId", ""))
    return ""
