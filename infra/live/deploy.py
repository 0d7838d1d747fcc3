"""Deploys a profile into an account: ``make deploy [PROFILE=dev] [REGION=us-west-2] [SET="alarm_email=a@example.org"]``.

The account is looked at first (:mod:`infra.live.preflight`), and an error stops here; one is a setting that would change
though nobody named it, unless ``RESET=1``. The CDK is bootstrapped where it is not yet. Then the templates are synthesized
and deployed; what CloudFormation says of them is on the screen.
"""

import signal
import sys

from infra.layers import ROOT
from infra.live import preflight
from infra.live.account import Account
from infra.live.given import Given, given
from infra.live.programs import shown
from infra.live.told import Failed, say, step
from infra.synth import OUT, synthesize

CDK = str(ROOT / "node_modules" / ".bin" / "cdk")
_QUIET = ("--no-notices", "--progress", "events")


def deploy(asked: Given, account: Account, *, bootstrapped: bool) -> None:
    """Bootstrap, synthesize and deploy. Raise :class:`Failed` when one of them fails, ``RuntimeError`` for a bad profile."""
    if not bootstrapped:
        with step("cdk bootstrap"):
            place = f"aws://{account.number}/{account.region}"
            options = preflight.bootstrap_options(asked.profile)
            shown(CDK, "bootstrap", place, *options, *_QUIET, environment=account.environment)
    with step("synthesize, with the layers of the functions"):
        assembly = synthesize(asked.profile.name, OUT / asked.profile.name, **asked.context)
    how = ("--all", "--require-approval", "never", "--concurrency", "3")
    with step("cdk deploy"):
        shown(CDK, "deploy", "--app", str(assembly), *how, *_QUIET, environment=account.environment)


def main() -> int:
    """Return 0 when it is deployed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    asked = given("Deploys a profile into an account.")
    findings = preflight.looked_at(asked)
    preflight.show(findings)
    if any(finding.level == "error" for finding in findings):
        sys.stderr.write("deploy: nothing was made; mend the errors above first\n")
        return 1
    account = Account(asked.region)
    try:
        deploy(asked, account, bootstrapped=not any(f.name == "bootstrap" and f.level != "ok" for f in findings))
    except (Failed, RuntimeError, OSError) as error:
        sys.stderr.write(f"deploy: {error}\n")
        return 1
    outputs = account.outputs(asked.name)
    say(f"\n{asked.name} in {account.region}: {outputs.get('Url', '')}\nexplorer: {outputs.get('Explorer', '')}")
    say(f"next: make smoke PROFILE={asked.profile.name} REGION={account.region}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
