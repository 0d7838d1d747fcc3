"""The templates of every profile, synthesized once for all processes that test them."""

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.hours import EXAMPLE
from infra.settings import PROFILES
from lexigraph.settings import DEFAULT_RERANK_MODEL
from tests.infra.templates import Templates
from tests.once import once

PROFILE_NAMES = tuple(PROFILES)
ON_AWS = tuple(name for name, profile in PROFILES.items() if profile.aws)
# what a deployment may have beside its profile, all of it; a synthesis of its own
CHOSEN = {
    "neptune_hours": EXAMPLE,
    "rerank_model": DEFAULT_RERANK_MODEL,
    "endpoint_zones": "2",
    "snap_start": "true",
    "tracing": "true",
    "extraction_file": str(Path(__file__).with_name("extraction.yaml")),
    "tags": "team=search,cost-centre=4711",
    "iam": "true",
    "api_endpoints": "vpce-0a1b2c3d4e5f60718,vpce-0b1b2c3d4e5f60718",
}
SUBNETS = ("subnet-0a1b2c3d4e5f60718", "subnet-0b1b2c3d4e5f60718")
# dev as a platform team gives it a place: beside others in the account, in a network and bounds that are there already
PLACED = {
    "name": "team-a",
    "boundary": "limits/workloads",
    "qualifier": "platform",
    "protect": "true",
    "iam": "true",
    "iam_accounts": "111122223333,444455556666",
    "domain": "graph.example.org",
    "certificate": "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d-0000-4000-8000-0a1b2c3d4e5f",
    "vpc": "vpc-0a1b2c3d4e5f60718",
    "subnets": ",".join(SUBNETS),
    "route_tables": "rtb-0a1b2c3d4e5f60718",
}
_OTHERWISE = {"chosen": CHOSEN, "placed": PLACED}


@pytest.fixture(scope="session", autouse=True)
def services_described_once() -> Iterator[None]:
    """Let botocore's sessions, of which each test has its own, share what they read of the services: half of their time."""
    from botocore import session  # type: ignore[import-untyped]  # has no types

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "create_loader", cache(session.create_loader))
        yield


@pytest.fixture(scope="session")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what gives the assembly of a profile, ``chosen`` or ``placed``; the first process that asks makes it."""
    if find_spec("aws_cdk") is None or shutil.which("node") is None:
        pytest.skip("needs the CDK: make synth installs it, and Node has to be there")
    from infra.synth import synthesize

    def of(profile: str) -> Path:
        name, context = ("dev", _OTHERWISE[profile]) if profile in _OTHERWISE else (profile, {})
        return once(tmp_path_factory, f"assemblies/{profile}", lambda out: synthesize(name, out, **context))

    return of


@pytest.fixture(scope="session")
def templates(synthesized: Callable[[str], Path]) -> Callable[[str], Templates]:
    """Return what gives the templates of a profile."""
    read: dict[str, Templates] = {}

    def of(profile: str) -> Templates:
        if profile not in read:
            read[profile] = Templates(synthesized(profile))
        return read[profile]

    return of
