"""What `lexigraph bulk` needs of an account: a place for batches, Bedrock's role there, and a policy for who starts them.

Nobody has the policy until an administrator attaches it, and an unused role costs nothing.
"""

from collections.abc import Sequence

from aws_cdk import Aws, CfnOutput
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.deployment import model_arns
from infra.registry_rights import rights
from infra.stacks.data import BULK, DataStack


class BatchInference(Construct):
    """Batch inference of one model, by files below ``bulk/`` in the bucket of artefacts."""

    def __init__(self, scope: Construct, id_: str, *, model: str, data: DataStack) -> None:
        super().__init__(scope, id_)
        self._data, self._models = data, model_arns(model)
        jobs = f"arn:{Aws.PARTITION}:bedrock:{Aws.REGION}:{Aws.ACCOUNT_ID}:model-invocation-job/*"
        self.role = self._role(jobs)
        self.policy = self._policy(jobs)
        CfnOutput(scope, "BulkRole", value=self.role.role_arn)
        CfnOutput(scope, "BulkPolicy", value=self.policy.managed_policy_arn)

    def _role(self, jobs: str) -> iam.Role:
        """Make the role that Bedrock takes for jobs of this account: files in and out, and the model of the profile."""
        role = iam.Role(
            self,
            "Role",
            description="Bedrock reads and writes batches of lexigraph bulk",
            assumed_by=iam.ServicePrincipal(
                "bedrock.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}, "ArnLike": {"aws:SourceArn": jobs}},
            ),
        )
        role.add_to_policy(_may(["bedrock:InvokeModel"], self._models))
        for statement in self._files():
            role.add_to_policy(statement)
        return role

    def _policy(self, jobs: str) -> iam.ManagedPolicy:
        """Make the policy of whoever runs `lexigraph bulk`: to put files there, start jobs, and fill the cache."""
        pass_role = _may(["iam:PassRole"], [self.role.role_arn])
        pass_role.add_condition("StringEquals", {"iam:PassedToService": "bedrock.amazonaws.com"})
        return iam.ManagedPolicy(
            self,
            "Policy",
            description="Lets somebody run lexigraph bulk",
            statements=[
                _may(["bedrock:CreateModelInvocationJob"], [*self._models, jobs]),
                _may(["bedrock:GetModelInvocationJob"], [jobs]),
                pass_role,
                *self._files(),
                *(self._data.registry_statement(right) for right in rights("bulk")),
                *self._data.key_statements("dynamodb"),
            ],
        )

    def _files(self) -> list[iam.PolicyStatement]:
        bucket = self._data.artefacts
        found = [
            # without it S3 says of an object that is not there that it is forbidden
            _may(["s3:ListBucket"], [bucket.bucket_arn]),
            _may(["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"], [bucket.arn_for_objects(f"{BULK}/*")]),
        ]
        return [*found, *self._data.key_statements("s3")]


def _may(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))
