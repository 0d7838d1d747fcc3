"""A Lambda function of ours: a role of its own that may nothing yet, a log group that ends, tracing, our layers."""

import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration, RemovalPolicy, Size
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.layers import Layer
from infra.settings import Profile

_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}
# a function in a VPC makes its own network interfaces, whose ids nobody knows before
_INTERFACES = ("CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface", "DescribeSubnets")


@dataclass(frozen=True)
class Place:
    """Where functions run: inside the VPC or not."""

    vpc: ec2.IVpc
    group: ec2.ISecurityGroup


def retention(days: int) -> logs.RetentionDays:
    """Return a retention. Raise ``ValueError`` for one that CloudWatch does not know."""
    if days not in _DAYS:
        raise ValueError(f"log_days {days}: use one of {', '.join(map(str, _DAYS))}")
    return _DAYS[days]


def runtime(profile: Profile) -> lambda_.Runtime:
    """Return the Python runtime of a profile: the host's for the emulated one."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}" if profile.python == "host" else profile.python
    found: lambda_.Runtime = getattr(lambda_.Runtime, f"PYTHON_{version.replace('.', '_')}")
    return found


def layer_versions(scope: Construct, profile: Profile, built: Mapping[str, Layer]) -> dict[str, lambda_.ILayerVersion]:
    """Put layers into the stack whose functions have them, by their names; files are sent once all the same.

    A stack for all would have to export what changes with every release, which CloudFormation refuses while it is imported.
    """
    return {
        name: lambda_.LayerVersion(
            scope,
            name.title(),
            code=lambda_.Code.from_asset(str(layer.folder)),
            compatible_runtimes=[runtime(profile)],
        )
        for name, layer in built.items()
    }


def _of_host(profile: Profile) -> dict[str, str]:
    """Return what a function on the host needs: the packages installed here, which layers hold elsewhere, and no X-Ray."""
    if profile.machine != "host":
        return {}
    return {"PYTHONPATH": sysconfig.get_paths()["purelib"], "POWERTOOLS_TRACE_DISABLED": "true"}


class Function(lambda_.Function):
    """The function in ``functions/<job>/handler.py``.

    ``inside`` puts it into the VPC. ``most`` is how many environments it may have, and is sure to get; 0: as many as the
    account gives. ``snap_start`` asks for snapshots of its initialised environment where the profile has
    them; callers then use :attr:`target`.
    """

    def __init__(
        self,
        scope: Construct,
        job: str,
        *,
        profile: Profile,
        code: lambda_.Code,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        memory: int,
        seconds: int,
        inside: Place | None = None,
        snap_start: bool = False,
        handler: str = "",
        scratch: int = 512,
        most: int = 0,
    ) -> None:
        role = iam.Role(scope, f"{job.title()}Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group = logs.LogGroup(
            scope,
            f"{job.title()}Logs",
            log_group_name=f"/lexigraph/{profile.name}/{job}",
            retention=retention(profile.log_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        group.grant_write(role)
        if inside:
            actions = [f"ec2:{action}" for action in _INTERFACES]
            role.add_to_policy(iam.PolicyStatement(actions=actions, resources=["*"]))
        snaps = snap_start and profile.snap_start
        super().__init__(
            scope,
            job.title(),
            role=role,
            runtime=runtime(profile),
            architecture=lambda_.Architecture.ARM_64 if profile.machine == "arm64" else None,
            code=code,
            handler=handler or f"functions.{job}.handler.handler",
            layers=list(layers),
            environment={"POWERTOOLS_LOG_LEVEL": "INFO", **_of_host(profile), **environment},
            memory_size=memory,
            timeout=Duration.seconds(seconds),
            reserved_concurrent_executions=most or None,
            ephemeral_storage_size=Size.mebibytes(scratch) if scratch != 512 else None,
            log_group=group,
            tracing=lambda_.Tracing.ACTIVE if profile.aws else lambda_.Tracing.DISABLED,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snaps else None,
            vpc=inside.vpc if inside else None,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED) if inside else None,
            security_groups=[inside.group] if inside else None,
        )
        self.job, self.own_role, self.most = job, role, most
        self.target: lambda_.IFunction = (
            lambda_.Alias(self, "Live", alias_name="live", version=self.current_version) if snaps else self
        )
