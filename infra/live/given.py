"""What the commands are given: ``PROFILE``, ``REGION``, ``SET``, ``RESET`` and ``YES``, of make or of the environment.

Settings in the context of ``cdk.json`` hold, too, where ``SET`` does not name them.
"""

import argparse
import json
import os
import shlex
from dataclasses import dataclass
from typing import Any

from infra.layers import ROOT
from infra.settings import CHANGEABLE, PROFILES, Profile, profile_of

_QUALIFIER = "@aws-cdk/core:bootstrapQualifier"  # what the CDK calls the setting `qualifier`


@dataclass(frozen=True)
class Given:
    """A profile with what was changed of it (``context``), the region, and what was agreed to.

    ``yes``: nobody is asked before what cannot be undone. ``reset``: what ``context`` does not name goes back to default.
    """

    profile: Profile
    context: dict[str, str]
    region: str
    yes: bool
    json: bool
    reset: bool = False

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
    reset = os.environ.get("RESET") == "1"
    parser.add_argument("--reset", action="store_true", default=reset, help="settings not named go back to the profile")
    parser.add_argument("--json", action="store_true", help="print JSON")
    read = parser.parse_args(arguments)
    changes = dict(part.partition("=")[::2] for part in shlex.split(read.set))
    if unknown := changes.keys() - set(CHANGEABLE):
        parser.error(f"SET: {min(unknown)!r} is not known: use {', '.join(CHANGEABLE)}")
    if read.profile not in on_aws:
        parser.error(f"PROFILE: {read.profile!r} is not known: use {', '.join(on_aws)}")
    changes = {**_of_file(), **changes}
    context: dict[str, Any] = {"profile": read.profile, **changes}
    try:
        profile = profile_of(context)
    except ValueError as error:
        parser.error(f"SET: {error}")
    return Given(profile, changes, read.region, read.yes, read.json, read.reset)


def _of_file() -> dict[str, str]:
    """Return the settings in the context of ``cdk.json``, which the CDK reads by itself."""
    context = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    named = {name: str(context[name]) for name in CHANGEABLE if name in context}
    own = context.get(_QUALIFIER)
    return {"qualifier": str(own), **named} if own else named
