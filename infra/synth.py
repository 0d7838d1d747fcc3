"""Synthesizes every profile, with no account and no network beyond packages, and checks the templates.

    python -m infra.synth [PROFILE ...]

The assemblies lie in ``cdk.out/PROFILE``. cdk-nag has its say while they are made, cfn-lint afterwards.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from infra.layers import ROOT
from infra.settings import PROFILES

OUT = ROOT / "cdk.out"
EMULATED_DATA = ROOT / ".emulated" / "data"


def synthesize(profile: str, out: Path, **context: str) -> Path:
    """Write the assembly of a profile to a folder and return it. Raise ``RuntimeError`` with what CDK says."""
    settings = json.loads((ROOT / "cdk.json").read_text("utf-8"))["context"]
    given = {"data": str(EMULATED_DATA)} if profile == "emulated" else {}
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps({**settings, **given, **context, "profile": profile}),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "infra.app"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"profile {profile}: {done.stderr}")
    return out


def lint(out: Path) -> str:
    """Return what cfn-lint has to say about the templates of an assembly; empty when nothing."""
    templates = sorted(map(str, out.glob("*.template.json")))
    program = Path(sys.executable).with_name("cfn-lint")
    done = subprocess.run([str(program), *templates], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


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
