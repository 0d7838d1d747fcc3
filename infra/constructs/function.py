"""A Lambda function of ours: its code and layers, a role of its own that may nothing yet, a log group, tracing."""

import sys
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Literal

from aws_cdk import Duration, IgnoreMode, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.constructs.logs import LogGroup
from infra.deployment import Deployment, model_arns
from infra.layers import PYTHON, ROOT
from infra.registry_rights import rights
from infra.settings import Profile
from infra.stacks.data import DOCUMENTS

Rights = Literal["read", "write", ""]
Inside = Literal["stores", "files", ""]
# a function in a VPC makes its own network interfaces, whose ids nobody knows before
_INTERFACES = ("CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface", "DescribeSubnets")

# what of the repository is not the code of the functions
_NOT_CODE = ["*", "!functions", "!functions/**", "__pycache__"]
# on the host layers do not bring the packages, those installed here do; and there is nobody to send traces to
_OF_HOST = {"PYTHONPATH": sysconfig.get_paths()["purelib"], "POWERTOOLS_TRACE_DISABLED": "true"}


def _runtime(profile: Profile) -> lambda_.Runtime:
    """Return the Python runtime of a profile: the host's for the emulated one."""
    version = PYTHON if profile.aws else f"{sys.version_info.major}.{sys.version_info.minor}"
    found: lambda_.Runtime = getattr(lambda_.Runtime, f"PYTHON_{version.replace('.', '_')}")
    return found


def _layer(stack: Stack, deployment: Deployment, name: str) -> lambda_.LayerVersion:
    """Return a layer, made when first asked for in a stack; its files are sent once all the same.

    A stack for all would have to export what changes with every release, which CloudFormation refuses while it is imported.
    """
    made = stack.node.try_find_child(name.title())
    if isinstance(made, lambda_.LayerVersion):
        return made
    code = lambda_.Code.from_asset(str(deployment.layers[name].folder))
    return lambda_.LayerVersion(stack, name.title(), code=code, compatible_runtimes=[_runtime(deployment.profile)])


class Function(lambda_.Function):
    """The function in ``functions/<job>/handler.py``, with the settings of the deployment and those in ``environment``.

    ``inside`` puts it into the VPC, where there is one: where it reaches all that the VPC leads to (``stores``), or S3 and
    DynamoDB alone (``files``). ``files`` gives it the layer that reads files, too. ``most`` is how
    many environments it may have, and is sure to get; 0: as many as the account gives. ``snap_start`` asks for snapshots of
    its initialised environment where the profile takes any; callers then use :attr:`target`.
    """

    def __init__(
        self,
        scope: Construct,
        job: str,
        deployment: Deployment,
        *,
        memory: int,
        seconds: int,
        environment: Mapping[str, str] | None = None,
        inside: Inside = "",
        files: bool = False,
        snap_start: bool = False,
        handler: str = "",
        layers: Sequence[lambda_.ILayerVersion] = (),
        scratch: int = 512,
        most: int = 0,
    ) -> None:
        profile, network = deployment.profile, deployment.network if inside else None
        role = iam.Role(scope, f"{job.title()}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group = LogGroup(scope, f"{job.title()}Logs", days=profile.log_days, name=f"/lexigraph/{profile.id}/{job}")
        group.grant_write(role)
        if network:
            actions = [f"ec2:{action}" for action in _INTERFACES]
            role.add_to_policy(iam.PolicyStatement(actions=actions, resources=["*"]))
            # Lambda needs them, and the code of the function never: only its requests say of which function they are
            of_code = {"Null": {"lambda:SourceFunctionArn": "false"}}
            denied = iam.PolicyStatement(effect=iam.Effect.DENY, actions=actions, resources=["*"], conditions=of_code)
            role.add_to_policy(denied)
        snaps = snap_start and profile.snap_start and profile.aws
        ours = [name for name in deployment.layers if files or name == "core"]
        super().__init__(
            scope,
            job.title(),
            role=role,
            runtime=_runtime(profile),
            architecture=lambda_.Architecture.ARM_64 if profile.aws else None,
            code=lambda_.Code.from_asset(str(ROOT), exclude=_NOT_CODE, ignore_mode=IgnoreMode.GIT),
            handler=handler or f"functions.{job}.handler.handler",
            layers=[*(_layer(Stack.of(scope), deployment, name) for name in ours), *layers],
            environment={
                "POWERTOOLS_LOG_LEVEL": "INFO",
                "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",  # hosts that a gateway endpoint is not said to lead to
                **({} if profile.aws else _OF_HOST),
                **deployment.environment,
                **(environment or {}),
            },
            memory_size=memory,
            timeout=Duration.seconds(seconds),
            reserved_concurrent_executions=most or None,
            ephemeral_storage_size=Size.mebibytes(scratch) if scratch != 512 else None,
            log_group=group,
            tracing=lambda_.Tracing.ACTIVE if profile.aws else lambda_.Tracing.DISABLED,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snaps else None,
            vpc=network.vpc if network else None,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED) if network else None,
            security_groups=[network.functions if inside == "stores" else network.files] if network else None,
        )
        self.job, self.own_role, self.most = job, role, most
        self._deployment = deployment
        self.target: lambda_.IFunction = (
            lambda_.Alias(self, "Live", alias_name="live", version=self.current_version) if snaps else self
        )

    def may(self, *, graph: Rights = "", artefacts: Rights = "", models: bool = False) -> None:
        """Give it the rights that it needs and no other; those on the registry are in :mod:`infra.registry_rights`.

        ``graph`` is that on graph and vectors; who reads the graph may with ``models`` also rerank. Who may read
        ``artefacts`` reads what is kept of documents there, and nothing of what steps hand on.
        """
        made, role = self._deployment, self.own_role
        if graph and made.graph:
            made.graph.grant(role, write=graph == "write", job=self.job)
        if graph and made.vectors:
            made.vectors.grant(role, write=graph == "write", name=self.job)
        made.data.grant_registry(role, rights(self.job, signed=made.profile.iam))
        if artefacts:
            kept = "" if artefacts == "write" else DOCUMENTS
            made.data.grant_objects(role, made.data.artefacts, write=artefacts == "write", below=kept)
        if models and made.profile.aws:
            reranker = (f"bedrock:{made.profile.rerank_model}",) if graph == "read" and made.profile.reranks else ()
            asked = [arn for model in (*made.profile.models(self.job), *reranker) for arn in model_arns(model)]
            # who answers questions streams; extraction and embedding never do
            invoke = ["bedrock:InvokeModel", *(["bedrock:InvokeModelWithResponseStream"] if graph == "read" else [])]
            role.add_to_policy(iam.PolicyStatement(actions=invoke, resources=asked))
            if reranker:
                role.add_to_policy(iam.PolicyStatement(actions=["bedrock:Rerank"], resources=["*"]))
