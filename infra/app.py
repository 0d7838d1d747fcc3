"""The application: `cdk synth -c profile=dev`, `prod`, or `emulated`."""

import cdk_nag
from aws_cdk import App, Aws, Stack, Tags, Validations
from aws_cdk import aws_iam as iam

from infra.acknowledged import acknowledge
from infra.deployment import Deployment
from infra.layers import layers
from infra.settings import CHANGEABLE, Profile, profile_of
from infra.stacks.api import ApiStack
from infra.stacks.data import DataStack
from infra.stacks.graph import GraphStack
from infra.stacks.ingestion import IngestionStack
from infra.stacks.network import NetworkStack
from infra.stacks.observability import ObservabilityStack
from infra.stacks.vector import VectorStack


def build(app: App) -> Profile:
    """Put the stacks of the profile that the context names into the application; return the profile.

    Raise ``ValueError`` for a context that makes no sense.
    """
    context = {name: app.node.try_get_context(name) for name in ("profile", *CHANGEABLE)}
    profile = profile_of({name: value for name, value in context.items() if value is not None})
    if profile.qualifier:
        app.node.set_context("@aws-cdk/core:bootstrapQualifier", profile.qualifier)
    for key, value in (("lexigraph", profile.id), *(pair.split("=", 1) for pair in profile.tags.split(",") if pair)):
        # CloudFormation changes no tag of a collection: it would make another, and cannot, as the name is taken
        Tags.of(app).add(key, value, exclude_resource_types=["AWS::OpenSearchServerless::Collection"])
    data = DataStack(app, profile.stack("data"), profile)
    network, graph, vectors = None, None, None
    if data.key:  # for AWS, not for an emulator
        network = NetworkStack(app, profile.stack("network"), profile)
        graph = GraphStack(app, profile.stack("graph"), profile, network, data, data.key)
        vectors = VectorStack(app, profile.stack("vector"), profile, network, data.key)
    deployment = Deployment(profile, layers(profile), data, network, graph, vectors)
    ingestion = IngestionStack(app, profile.stack("ingestion"), deployment)
    api = ApiStack(app, profile.stack("api"), deployment, ingestion)
    ObservabilityStack(app, profile.stack("observability"), deployment, ingestion, api)
    for stack in (child for child in app.node.children if isinstance(child, Stack)):
        stack.termination_protection = profile.protect
        if profile.boundary:
            _bound(stack, profile.boundary)
    return profile


def _bound(stack: Stack, boundary: str) -> None:
    """Give all roles of a stack the policy beyond which they may nothing, also those that CDK makes for itself."""
    arn = boundary if boundary.startswith("arn:") else f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:policy/{boundary}"
    iam.PermissionsBoundary.of(stack).apply(iam.ManagedPolicy.from_managed_policy_arn(stack, "Boundary", arn))


def main() -> None:
    """Synthesize, with the rules of AwsSolutions checked where it is for AWS."""
    app = App()
    profile = build(app)
    if profile.aws:
        acknowledge(app, profile)
        Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
