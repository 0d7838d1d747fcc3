"""Known weaknesses of what ships: `python -m infra.audit PIP_AUDIT` asks PyPI's advisories, by the locks, where that can be
reached. Ends with 1 when a package has one; with 0, and says so, where nothing could be asked.

pip-audit itself counts a package that PyPI does not tell of as sound, so that behind a mirror all of them would be.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from infra.sbom import LOCKS, SHIPPED

_SECONDS = 300


@dataclass
class Audit:
    """What was asked and found: ``name version: ids, fixed in versions``."""

    asked: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    weak: set[str] = field(default_factory=set)

    def add(self, reply: str) -> None:
        """Take in a report of pip-audit in JSON."""
        for each in json.loads(reply)["dependencies"]:
            if "skip_reason" in each:
                self.unknown.add(each["name"])
                continue
            self.asked.add(each["name"])
            for flaw in each["vulns"]:
                fixed = ", ".join(flaw["fix_versions"]) or "no version"
                self.weak.add(f"{each['name']} {each['version']}: {flaw['id']}, fixed in {fixed}")

    def told(self) -> list[str]:
        """Return what to print."""
        if not self.asked:
            return ["not audited: no advisories can be reached from here"]
        unknown = f", {len(self.unknown)} without an answer" if self.unknown else ""
        return [*sorted(self.weak), f"{len(self.asked)} packages audited{unknown}, {len(self.weak)} weaknesses known"]


def report(pip_audit: str, lock: Path) -> str:
    """Return what pip-audit says of a lock; nothing where it cannot ask."""
    command = [pip_audit, "--disable-pip", "--require-hashes", "--progress-spinner=off", "-f", "json", "-r", str(lock)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, timeout=_SECONDS
    )
    return done.stdout or '{"dependencies": []}'


def main() -> None:
    """Audit all that ships."""
    audit = Audit()
    for name in sorted({name for names in SHIPPED.values() for name in names}):
        audit.add(report(sys.argv[1], LOCKS / f"{name}.lock"))
        if not audit.asked:
            break  # nor would the others be answered
    sys.stdout.write("\n".join(audit.told()) + "\n")
    sys.exit(1 if audit.weak else 0)


if __name__ == "__main__":
    main()
