"""Prints what functions need against what they may: ``make rights``. Exit code 1 when a right is missing or unexplained.

python -m tests.rights
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from infra.settings import PROFILES
from infra.synth import synthesize
from tests.infra.templates import Templates
from tests.rights.evaluation import evaluate, known
from tests.rights.recording import record


def main() -> int:
    """Record once, by the templates of dev, and hold that against those of each profile for AWS."""
    with tempfile.TemporaryDirectory(prefix="lexigraph-rights-") as scratch:
        folder = Path(scratch)
        found = {name: Templates(synthesize(name, folder / name)) for name, p in PROFILES.items() if p.aws}
        calls = record(found["dev"], folder)
        wrong = 0
        for name, templates in found.items():
            report = evaluate(templates, calls, known())
            roles = Counter(need.role for need in report.needs)
            told = (
                f"{report.rights} rights, {len(report.needs)} needs of {len(roles)} roles, {len(report.missing)} missing, "
                f"{len(report.unused)} unexplained, {report.explained} explained"
            )
            print(f"{name}: {told}")
            by_role = {(n.role, n.action): n for n in report.needs}
            for role, times in sorted(roles.items()):
                actions = sorted({action for who, action in by_role if who == role})
                print(f"  {role:14} {times:4}  {', '.join(actions)}")
            print("\n".join(report.findings))
            wrong += len(report.findings)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
