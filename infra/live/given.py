"""What the commands are given: ``PROFILE``, ``REGION``, ``SET`` and ``YES``, of make or of the environment."""

import argparse
import os
import shlex
from dataclasses import dataclass
from typing import Any

from infra.settings import CHANGEABLE, PROFILES, Profile, profile_of


@dataclass(frozen=True)
class Given:
    """A profile with what was changed of it (``context``), the region, and whether to ask before what cannot be undone."""

    profile: Profile
    context: dict[str, str]
    region: str
    yes: bool
    json: bool

    @property
    def name(self) -> str:
        """What the deployment is called: the beginning of the names of its stacks."""
        return self.profile.prefix


def given(about: str, arguments: list[str] | None = None) -> Given:
    """Read the arguments of a command; what is not among them comes from the environment. Exit with 2 when it is wrong."""
    parser = argparse.ArgumentParser(description=about)
    on_aws = [name for name, profile in PROFILES.items() if profile.aws]
    parser.add_argument("--profile", default=os.environ.get("PROFILE") or "dev", help=f"one of {', '.join(on_aws)}")
    parser.add_argument("--region", default=os.environ.get("REGION") or "", help="else that of the AWS configuration")
    said = os.environ.get("SET") or ""
    parser.add_argument("--set", default=said, help="changes of the profile, as 'alarm_email=a@b.org neptune_max=8'")
    parser.add_argument("--yes", action="store_true", default=os.environ.get("YES") == "1", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON")
    read = parser.parse_args(arguments)
    changes = dict(part.partition("=")[::2] for part in shlex.split(read.set))
    if unknown := changes.keys() - set(CHANGEABLE):
        parser.error(f"SET: {min(unknown)!r} is not known: use {', '.join(CHANGEABLE)}")
    if read.profile not in on_aws:
        parser.error(f"PROFILE: {read.profile!r} is not known: use {', '.join(on_aws)}")
    context: dict[str, Any] = {"profile": read.profile, **changes}
    try:
        profile = profile_of(context)
    except ValueError as error:
        parser.error(f"SET: {error}")
    return Given(profile, changes, read.region, read.yes, read.json)
