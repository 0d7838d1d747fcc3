"""The stores of a deployment as its functions see them: the settings that name them, and the rights of a role."""

from dataclasses import dataclass
from typing import Literal

from aws_cdk import aws_iam as iam

from infra.constructs.function import Function
from infra.models import model_arns
from infra.registry_rights import rights
from infra.settings import Profile
from infra.stacks.data import DOCUMENTS, WORK, DataStack
from infra.stacks.graph import GraphStack
from infra.stacks.vector import VectorStack
from lexigraph.settings import DEFAULT_RERANK_MODEL

Rights = Literal["read", "write", ""]


@dataclass(frozen=True)
class Stores:
    """The stacks that keep something; graph and vectors are None where they are embedded."""

    profile: Profile
    data: DataStack
    graph: GraphStack | None
    vectors: VectorStack | None

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
            "LEXIGRAPH_DATA": self.profile.data or "/tmp/lexigraph",  # noqa: S108  # the one folder a function may write
        }
        if self.graph:
            found["LEXIGRAPH_GRAPH_STORE"] = self.graph.connection
        if self.vectors:
            found["LEXIGRAPH_VECTOR_STORE"] = self.vectors.connection
        return found

    def grant(self, function: Function, *, graph: Rights = "", artefacts: Rights = "", models: bool = False) -> None:
        """Give a function the rights that it needs and no other; those on the registry are in :mod:`infra.registry_rights`.

        ``graph`` is that on graph and vectors; who reads the graph may with ``models`` also rerank.
        """
        role = function.own_role
        if graph and self.graph:
            self.graph.grant(role, write=graph == "write")
        if graph and self.vectors:
            self.vectors.grant(role, write=graph == "write", name=function.job)
        self.data.grant_registry(role, rights(function.job))
        if artefacts:
            self.data.grant_objects(role, self.data.artefacts, write=artefacts == "write")
        if models and self.profile.aws:
            role.add_to_principal_policy(self._models(function.job, reranks=graph == "read"))
            if graph == "read":
                role.add_to_principal_policy(iam.PolicyStatement(actions=["bedrock:Rerank"], resources=["*"]))

    def _models(self, job: str, *, reranks: bool) -> iam.PolicyStatement:
        """Return the right to ask the models of the profile that are for a function."""
        reranker = (f"bedrock:{DEFAULT_RERANK_MODEL}",) if reranks else ()
        specs = (*self.profile.models(job), *reranker)
        resources = [arn for spec in specs for arn in model_arns(spec)]
        return iam.PolicyStatement(
            actions=["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"], resources=resources
        )
