"""Data: the bucket that documents are dropped into, the bucket of what is made of them, the registry, and the key."""

import json
from collections.abc import Sequence
from typing import cast

from aws_cdk import Aws, CfnOutput, CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.logs import LogGroup
from infra.registry_rights import RegistryRight
from infra.settings import Profile, settings_of
from lexigraph.storage.dynamodb import table as layout

# in the bucket of artefacts: texts and tables to keep, what steps hand on, and batches for Bedrock
DOCUMENTS, WORK, BULK = "documents", "work", "bulk"
WORK_DAYS = 14
# what a service does with our key in the name of who asks it; of DynamoDB the least that its usage notes list
_OF_KEY = {
    "s3": ("Decrypt", "GenerateDataKey"),
    "sqs": ("Decrypt", "GenerateDataKey"),
    "dynamodb": (
        "Decrypt",
        "DescribeKey",
        "Encrypt",
        "GenerateDataKey",
        "GenerateDataKeyWithoutPlaintext",
        "ReEncryptFrom",
        "ReEncryptTo",
    ),
}


class DataStack(Stack):
    """All that is kept outside graph and vectors. Nothing of it is public, and nothing is served without TLS."""

    def __init__(self, scope: Construct, id_: str, profile: Profile) -> None:
        super().__init__(scope, id_)
        self.removal = RemovalPolicy.RETAIN if profile.keep_data else RemovalPolicy.DESTROY
        self.key: kms.IKey | None = None
        if profile.aws:
            self.key = kms.Key(
                self,
                "Key",
                description="Documents, registry, graph and vectors of Lexigraph",
                enable_key_rotation=True,
                removal_policy=self.removal,
            )
        self.access_logs = self._bucket("AccessLogs", profile, logged=False, days=profile.log_days)
        self.documents = self._bucket("Documents", profile, event_bridge=True, old_days=30)
        self._end_logs_of_cdk(profile)
        self.artefacts = self._bucket("Artefacts", profile, old_days=7)
        for prefix in (WORK, BULK):
            self.artefacts.add_lifecycle_rule(prefix=f"{prefix}/", expiration=Duration.days(WORK_DAYS))
        self.table, self.started = self._registry(profile), self._begun(profile)
        # the next deployment looks here whether it would change anything that nobody asked it to: infra/live/preflight.py
        CfnOutput(self, "Settings", value=json.dumps(settings_of(profile)))
        CfnOutput(self, "DocumentsBucket", value=self.documents.bucket_name)
        CfnOutput(self, "RegistryTable", value=self.table.table_name)
        CfnOutput(self, "BulkPlace", value=f"s3://{self.artefacts.bucket_name}/{BULK}?region={Aws.REGION}")

    def _registry(self, profile: Profile) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            "Registry",
            partition_key=_attribute(layout.PARTITION_KEY),
            sort_key=_attribute(layout.SORT_KEY),
            time_to_live_attribute=layout.TTL_ATTRIBUTE,
            billing_mode=dynamodb.BillingMode(layout.BILLING_MODE),
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if self.key else dynamodb.TableEncryption.AWS_MANAGED,
            encryption_key=self.key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=profile.keep_data,
            removal_policy=self.removal,
        )

    def _begun(self, profile: Profile) -> dynamodb.Table:
        """Make the table of events that were begun: digests, for a day."""
        return dynamodb.Table(
            self,
            "Started",
            partition_key=_attribute("id"),
            time_to_live_attribute="expiration",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=profile.aws
            ),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _bucket(
        self,
        id_: str,
        profile: Profile,
        *,
        logged: bool = True,
        event_bridge: bool = False,
        days: int = 0,
        old_days: int = 0,
    ) -> s3.Bucket:
        """Make a bucket; ``days`` after which objects go, ``old_days`` after which overwritten and deleted ones do."""
        rule = s3.LifecycleRule(
            abort_incomplete_multipart_upload_after=Duration.days(2),
            expiration=Duration.days(days) if days else None,
            noncurrent_version_expiration=Duration.days(old_days) if old_days else None,
        )
        encrypted = self.key is not None and logged  # S3 cannot write access logs with a key of ours
        return s3.Bucket(
            self,
            id_,
            encryption=s3.BucketEncryption.KMS if encrypted else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self.key if encrypted else None,
            bucket_key_enabled=encrypted or None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=(
                s3.ObjectOwnership.BUCKET_OWNER_ENFORCED if logged else s3.ObjectOwnership.BUCKET_OWNER_PREFERRED
            ),
            enforce_ssl=profile.aws,
            versioned=logged,
            event_bridge_enabled=event_bridge,
            server_access_logs_bucket=self.access_logs if logged and profile.aws else None,
            server_access_logs_prefix=f"{id_.lower()}/" if logged and profile.aws else None,
            lifecycle_rules=[rule],
            removal_policy=self.removal,
        )

    def _end_logs_of_cdk(self, profile: Profile) -> None:
        """Give CDK's function that turns the events of a bucket on a log group that ends; Lambda's own would not.

        Without a fixed name: the function may make a group, so that a late line could leave one to the next deployment.
        """
        group = LogGroup(self, "NotificationLogs", days=profile.log_days)
        (handler,) = (made for made in self.node.children if made.node.id.startswith("BucketNotificationsHandler"))
        function = cast(CfnResource, handler.node.default_child)
        function.add_property_override("LoggingConfig.LogGroup", group.log_group_name)

    def registry_statement(self, right: RegistryRight) -> iam.PolicyStatement:
        """Return the statement that lets somebody do something with items of the registry."""
        return iam.PolicyStatement(
            actions=[f"dynamodb:{action}" for action in right.actions],
            resources=[self.table.table_arn],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(right.keys)}},
        )

    def grant_registry(self, role: iam.IRole, rights: Sequence[RegistryRight]) -> None:
        """Let a role do something with items of the registry."""
        for right in rights:
            role.add_to_principal_policy(self.registry_statement(right))
        for statement in self.key_statements("dynamodb"):
            role.add_to_principal_policy(statement)

    def grant_started(self, role: iam.IRole) -> None:
        """Let a role note what it has begun."""
        self._allow(role, "dynamodb", ("GetItem", "PutItem", "UpdateItem", "DeleteItem"), [self.started.table_arn])

    def grant_objects(self, role: iam.IRole, bucket: s3.IBucket, *, write: bool, below: str = "") -> None:
        """Let a role read what lies in a bucket, or ``below`` a prefix there, or also write and delete it.

        Of documents any version may be read; none is ever deleted. Listing is what tells a missing object from a forbidden.
        """
        self._allow(role, "s3", ("ListBucket",), [bucket.bucket_arn])
        versions = ("GetObjectVersion",) if bucket is self.documents else ()
        actions = ("GetObject", *versions, *(("PutObject", "DeleteObject") if write else ()))
        self._allow(role, "s3", actions, [bucket.arn_for_objects(f"{below}/*" if below else "*")])
        for statement in self.key_statements("s3"):
            role.add_to_principal_policy(statement)

    def _allow(self, role: iam.IRole, service: str, actions: Sequence[str], resources: list[str]) -> None:
        named = [f"{service}:{action}" for action in actions]
        role.add_to_principal_policy(iam.PolicyStatement(actions=named, resources=resources))

    def key_statements(self, service: str) -> list[iam.PolicyStatement]:
        """Return what lets somebody use our key, if there is one, by way of this service and by no other."""
        if self.key is None:
            return []
        return [
            iam.PolicyStatement(
                actions=[f"kms:{action}" for action in _OF_KEY[service]],
                resources=[self.key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}"}},
            )
        ]


def _attribute(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
