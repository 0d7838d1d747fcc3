"""Graph: Neptune Serverless, with a writer endpoint, a reader endpoint, and hours off if wanted."""

from aws_cdk import Aws, CfnOutput, CfnTag, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_neptune as neptune
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.logs import LogGroup
from infra.hours import Hours
from infra.settings import Profile
from infra.stacks.data import BULK, DataStack
from infra.stacks.network import NetworkStack

PORT = 8182
READ = ("neptune-db:ReadDataViaQuery",)
WRITE = (*READ, "neptune-db:WriteDataViaQuery", "neptune-db:DeleteDataViaQuery")
_PROBING = ("build", "query")  # who says how the engine is when a deployment is tried: infra/live/probing.py
LOAD = ("neptune-db:StartLoaderJob", "neptune-db:GetLoaderJobStatus", "neptune-db:ListLoaderJobs")
QUERY_TIMEOUT_MS = 120_000


class GraphStack(Stack):
    """The graph store. Only functions in the VPC reach it, and only with a signature of theirs."""

    def __init__(
        self, scope: Construct, id_: str, profile: Profile, network: NetworkStack, data: DataStack, key: kms.IKey
    ) -> None:
        super().__init__(scope, id_)
        self.load_role = self._load_role(data)
        name = profile.prefix
        # Neptune writes its audit log into a group of this name, which it would make itself and keep for ever: it has to be
        # there before the cluster, whose name is therefore fixed
        audit = LogGroup(self, "Audit", days=30, name=f"/aws/neptune/{name}/audit")
        self.cluster = self._cluster(name, profile, network, key)
        self.cluster.node.add_dependency(audit)
        self._instances(1 + profile.neptune_readers)
        # a fixed name, by which its alarm knows it: an export could not go with the hours while that imports it
        self.missed = f"{name}-missed" if profile.neptune_hours else ""
        if profile.neptune_hours:
            self._run_in(Hours.of(profile.neptune_hours), data, key)
        host, port = self.cluster.attr_endpoint, self.cluster.attr_port
        self.connection = f"neptune-db://{host}:{port}?region={Aws.REGION}&read={self.cluster.attr_read_endpoint}"
        self.arn = f"arn:{Aws.PARTITION}:neptune-db:{Aws.REGION}:{Aws.ACCOUNT_ID}:{self.cluster.attr_cluster_resource_id}/*"
        CfnOutput(self, "ClusterId", value=self.cluster.ref)
        CfnOutput(self, "LoadRole", value=self.load_role.role_arn)

    def grant(self, grantee: iam.IGrantable, *, write: bool, job: str) -> None:
        """Let a function's role read the graph, or also write it. A cluster's data has no finer resources than itself."""
        status = ["neptune-db:GetEngineStatus"] if job in _PROBING else []
        actions = [*(WRITE if write else READ), *status]
        grantee.grant_principal.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=[self.arn]))

    def grant_load(self, grantee: iam.IGrantable) -> None:
        """Let a role start the bulk loader and look how far it is."""
        grantee.grant_principal.add_to_principal_policy(iam.PolicyStatement(actions=list(LOAD), resources=[self.arn]))

    def _load_role(self, data: DataStack) -> iam.Role:
        """Make the role with which the cluster's bulk loader reads what `lexigraph bulk load` wrote, and nothing else.

        Nobody uses it but by way of a cluster to which it is attached.
        """
        bucket = data.artefacts
        listing = iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn])
        listing.add_condition("StringLike", {"s3:prefix": f"{BULK}/*"})
        reading = iam.PolicyStatement(actions=["s3:GetObject"], resources=[bucket.arn_for_objects(f"{BULK}/*")])
        key = [iam.PolicyStatement(actions=["kms:Decrypt"], resources=[data.key.key_arn])] if data.key else []
        for statement in key:
            statement.add_condition("StringEquals", {"kms:ViaService": f"s3.{Aws.REGION}.{Aws.URL_SUFFIX}"})
        may = iam.PolicyDocument(statements=[listing, reading, *key])
        return iam.Role(
            self,
            "Loader",
            description="Neptune reads files of lexigraph bulk load",
            assumed_by=iam.ServicePrincipal("rds.amazonaws.com"),  # Neptune's, too
            inline_policies={"files": may},
        )

    def _cluster(self, name: str, profile: Profile, network: NetworkStack, key: kms.IKey) -> neptune.CfnDBCluster:
        subnets = neptune.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description="Lexigraph",
            subnet_ids=network.vpc.select_subnets(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED).subnet_ids,
        )
        parameters = neptune.CfnDBClusterParameterGroup(
            self,
            "Parameters",
            description="Lexigraph",
            family=f"neptune{'.'.join(profile.neptune_version.split('.')[:2])}",
            parameters={"neptune_enable_audit_log": 1, "neptune_query_timeout": QUERY_TIMEOUT_MS},
        )
        cluster = neptune.CfnDBCluster(
            self,
            "Cluster",
            db_cluster_identifier=name,
            engine_version=profile.neptune_version,
            db_subnet_group_name=subnets.ref,
            db_cluster_parameter_group_name=parameters.ref,
            vpc_security_group_ids=[network.graph.security_group_id],
            db_port=PORT,
            iam_auth_enabled=True,
            associated_roles=[neptune.CfnDBCluster.DBClusterRoleProperty(role_arn=self.load_role.role_arn)],
            storage_encrypted=True,
            kms_key_id=key.key_arn,
            backup_retention_period=profile.backup_days,
            copy_tags_to_snapshot=True,
            deletion_protection=profile.keep_data,
            enable_cloudwatch_logs_exports=["audit"],
            serverless_scaling_configuration=neptune.CfnDBCluster.ServerlessScalingConfigurationProperty(
                min_capacity=profile.neptune_min, max_capacity=profile.neptune_max
            ),
            tags=[CfnTag(key="lexigraph", value=profile.id)],
        )
        cluster.apply_removal_policy(RemovalPolicy.SNAPSHOT if profile.keep_data else RemovalPolicy.DESTROY)
        return cluster

    def _instances(self, count: int) -> None:
        """Make the writer, and readers beside it."""
        for number in range(count):
            instance = neptune.CfnDBInstance(
                self,
                "Writer" if number == 0 else f"Reader{number}",
                db_instance_class="db.serverless",
                db_cluster_identifier=self.cluster.ref,
                auto_minor_version_upgrade=True,
                publicly_accessible=False,
            )
            instance.apply_removal_policy(RemovalPolicy.DESTROY)  # holds no data: the cluster does

    def _run_in(self, hours: Hours, data: DataStack, key: kms.IKey) -> None:
        """Start and stop the cluster, readers and all, at these times; what could not be done goes into a queue.

        On days without hours it is stopped by now, which AWS refuses to stop again: that is no news to anybody.
        """
        cluster = f"arn:{Aws.PARTITION}:rds:{Aws.REGION}:{Aws.ACCOUNT_ID}:cluster:{self.cluster.ref}"
        missed = sqs.Queue(
            self,
            "Missed",
            queue_name=self.missed,
            retention_period=Duration.days(14),
            encryption=sqs.QueueEncryption.KMS,
            encryption_master_key=key,
            enforce_ssl=True,
        )
        may = [
            iam.PolicyStatement(actions=["rds:StartDBCluster", "rds:StopDBCluster"], resources=[cluster]),
            iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[missed.queue_arn]),
            *data.key_statements("sqs"),
        ]
        role = iam.Role(
            self,
            "HoursRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
            inline_policies={"hours": iam.PolicyDocument(statements=may)},
        )
        letters = scheduler.CfnSchedule.DeadLetterConfigProperty(arn=missed.queue_arn)
        for name, does, when in (
            ("Start", "start", hours.starts),
            ("Stop", "stop", hours.stops),
            ("Rest", "stop", hours.rests),
        ):
            if not when:
                continue
            scheduler.CfnSchedule(
                self,
                name,
                description=f"{does.title()}s the graph",
                schedule_expression=when,
                schedule_expression_timezone=hours.zone,
                flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
                target=scheduler.CfnSchedule.TargetProperty(
                    arn=f"arn:{Aws.PARTITION}:scheduler:::aws-sdk:neptune:{does}DBCluster",
                    role_arn=role.role_arn,
                    input=f'{{"DbClusterIdentifier":"{self.cluster.ref}"}}',
                    retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=2),
                    dead_letter_config=None if name == "Rest" else letters,
                ),
            )
