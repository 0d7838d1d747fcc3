"""What the functions of a deployment work with: the stacks that keep something, the layers, and the models."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Aws

from infra.layers import Layer
from infra.settings import Profile
from infra.stacks.data import DOCUMENTS, WORK, DataStack
from infra.stacks.graph import GraphStack
from infra.stacks.network import NetworkStack
from infra.stacks.vector import VectorStack

_REGIONAL = ("us", "eu", "apac", "jp", "au", "global")  # profiles of several regions begin so


@dataclass(frozen=True)
class Deployment:
    """A profile with its layers as built and its stores; where these are embedded there is no network either."""

    profile: Profile
    layers: Mapping[str, Layer]
    data: DataStack
    network: NetworkStack | None = None
    graph: GraphStack | None = None
    vectors: VectorStack | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The settings of every function."""
        data = self.data
        found = {
            "LEXIGRAPH_REGISTRY": f"dynamodb://{data.table.table_name}",
            "LEXIGRAPH_CACHE": f"dynamodb://{data.table.table_name}",
            "LEXIGRAPH_DOCUMENT_STORE": f"s3://{data.artefacts.bucket_name}/{DOCUMENTS}",
            "LEXIGRAPH_ARTEFACT_STORE": f"s3://{data.artefacts.bucket_name}/{WORK}",
            "LEXIGRAPH_INBOX": f"s3://{data.documents.bucket_name}",
            "LEXIGRAPH_EMBEDDING_MODEL": self.profile.embedding_model,
            "LEXIGRAPH_LLM": self.profile.llm,
            "LEXIGRAPH_RERANK_MODEL": self.profile.rerank_model,
            **({"LEXIGRAPH_TELEMETRY": "xray"} if self.profile.tracing else {}),
            "LEXIGRAPH_DATA": self.profile.data or "/tmp/lexigraph",  # noqa: S108  # the one folder a function may write
        }
        if self.graph:
            found["LEXIGRAPH_GRAPH_STORE"] = self.graph.connection
        if self.vectors:
            found["LEXIGRAPH_VECTOR_STORE"] = self.vectors.connection
        return found


def model_arns(spec: str) -> list[str]:
    """Return the ARNs that a role has to be allowed for a model, such as ``bedrock:amazon.nova-lite-v1:0``.

    A profile of several regions asks its model in any of these. What is no model of Bedrock has none.
    """
    kind, _, model = spec.partition(":")
    if kind != "bedrock":
        return []
    first, _, rest = model.partition(".")
    if first not in _REGIONAL:
        return [f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}::foundation-model/{model}"]
    profile = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}:inference-profile/{model}"
    # of a global profile the model also has an ARN without a region, in AWS's own examples of policies
    everywhere = [f"arn:{Aws.PARTITION}:bedrock:::foundation-model/{rest}"] if first == "global" else []
    return [profile, f"arn:{Aws.PARTITION}:bedrock:*::foundation-model/{rest}", *everywhere]
