"""Synthesizes every profile, with no account and no network beyond packages, and checks the templates.

    python -m infra.synth [PROFILE ...]

The assemblies lie in ``cdk.out/PROFILE``. cdk-nag has its say while they are made, cfn-lint afterwards, in six regions.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.layers import ROOT
from infra.settings import PROFILES
from infra.state_machine import FUNCTIONS, definition

OUT = ROOT / "cdk.out"
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1", "ap-southeast-2")
EMULATED_DATA = ROOT / ".emulated" / "data"


def synthesize(profile: str, out: Path, **context: str) -> Path:
    """Write the assembly of a profile to a folder and return it. Raise ``RuntimeError`` with what CDK says."""
    settings = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    given = {"data": str(EMULATED_DATA)} if profile == "emulated" else {}
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps({**settings, **given, **context, "profile": profile}),
        "CDK_VALIDATION": "false",  # its own only warns, and takes half of the time; cfn-lint looks at all
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "infra.app"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"profile {profile}: {done.stderr}")
    return out


def lint(out: Path) -> str:
    """Return what cfn-lint has to say about the templates of an assembly, in all of REGIONS; empty when nothing.

    References inside a state machine keep it from being read there: it is looked at once more as the plain JSON that a
    deployment makes of it.
    """
    with tempfile.TemporaryDirectory(prefix="lexigraph-lint-") as folder:
        plain = Path(folder) / "state-machine.json"
        arns = {job: f"arn:aws:lambda:us-east-1:123456789012:function:{job}" for job in FUNCTIONS}
        plain.write_text(json.dumps(plain_machine(definition(arns))), "utf-8")
        templates = [*sorted(map(str, out.glob("*.template.json"))), str(plain)]
        program = Path(sys.executable).with_name("cfn-lint")
        command = [str(program), "-r", *REGIONS, "--", *templates]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def plain_machine(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template of a state machine alone, without any reference."""
    role = "arn:aws:iam::123456789012:role/workflow"
    properties = {"RoleArn": role, "Definition": machine}
    return {"Resources": {"Workflow": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}}


def main() -> int:
    """Synthesize and check; return 1 when anything is wrong."""
    for profile in sys.argv[1:] or PROFILES:
        for older in (OUT / profile).glob("*.template.json"):  # of stacks that there may be no more
            older.unlink()
        out = synthesize(profile, OUT / profile)
        if said := lint(out):
            print(said)  # noqa: T201  # what the command is for
            return 1
        names = [path.name.removesuffix(".template.json") for path in sorted(out.glob("*.template.json"))]
        print(f"{profile}: {len(names)} stacks, cdk-nag and cfn-lint clean: {', '.join(names)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
