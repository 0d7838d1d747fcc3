"""The application: `cdk synth -c profile=dev`, `prod`, or `emulated`."""

import cdk_nag
from aws_cdk import App, Tags, Validations
from aws_cdk import aws_lambda as lambda_

from infra.acknowledged import acknowledge
from infra.code import function_code
from infra.constructs.function import Place
from infra.layers import layers
from infra.settings import CHANGEABLE, Profile, profile_of
from infra.stacks.api import ApiStack
from infra.stacks.data import DataStack
from infra.stacks.graph import GraphStack
from infra.stacks.ingestion import IngestionStack
from infra.stacks.network import NetworkStack
from infra.stacks.observability import ObservabilityStack
from infra.stacks.vector import VectorStack
from infra.stores import Stores


def build(app: App) -> Profile:
    """Put the stacks of the profile that the context names into the application; return the profile.

    Raise ``ValueError`` for a context that makes no sense.
    """
    context = {name: app.node.try_get_context(name) for name in ("profile", *CHANGEABLE)}
    profile = profile_of({name: value for name, value in context.items() if value is not None})
    name = f"lexigraph-{profile.name}"
    Tags.of(app).add("lexigraph", profile.name)
    data = DataStack(app, f"{name}-data", profile=profile)
    inside, graph, vectors = None, None, None
    if profile.graph == "neptune" and data.key:
        network = NetworkStack(app, f"{name}-network", profile=profile)
        inside = Place(network.vpc, network.functions)
        graph = GraphStack(app, f"{name}-graph", profile=profile, network=network, key=data.key)
        vectors = VectorStack(app, f"{name}-vector", profile=profile, network=network, key=data.key)
    stores = Stores(profile, data, graph, vectors)
    staged, built = str(function_code()), layers(profile)
    ingestion = IngestionStack(
        app,
        f"{name}-ingestion",
        profile=profile,
        stores=stores,
        code=_code(staged),
        layers=built,
        inside=inside,
    )
    api = ApiStack(
        app,
        f"{name}-api",
        profile=profile,
        stores=stores,
        ingestion=ingestion,
        code=_code(staged),
        layers=built,
        inside=inside,
    )
    ObservabilityStack(
        app,
        f"{name}-observability",
        profile=profile,
        ingestion=ingestion,
        api=api,
        graph=graph,
        vectors=vectors,
        key=data.key,
    )
    return profile


def _code(folder: str) -> lambda_.Code:
    return lambda_.Code.from_asset(folder)  # a stack takes no code of another


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
