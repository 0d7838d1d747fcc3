"""A release, up to the tag: `make release VERSION=1.2.3`; with `DRY=1` before it, it changes nothing.

Checks what has to hold, builds wheel and sdist into dist/, tests the wheel in new environments, writes the bills of
materials and keeps the templates of this release for the upgrade gate. It does not tag or publish: it says how.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lexigraph import __version__

ROOT = Path(__file__).parent.parent
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


def problems(version: str, root: Path = ROOT) -> Iterator[str]:
    """Yield what stands in the way of releasing this version, each with what to do."""
    if not _VERSION.fullmatch(version):
        yield f"VERSION={version!r}: give a version such as 1.2.3 or 1.2.3rc1"
        return
    if version != __version__:
        yield f"the package is version {__version__}: set __version__ in layers/core/lexigraph/__init__.py"
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    section = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    if not section:
        yield f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD': rename [Unreleased], and begin a new one"
    elif not section[1].strip():
        yield f"CHANGELOG.md says nothing about {version}"
    if _git(root, "tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists: choose another version"
    if changed := _git(root, "status", "--porcelain", "--untracked-files=no"):
        yield f"the working tree has changes ({changed.splitlines()[0].strip()}, ...): commit them first"


def outdated_locks() -> list[str]:
    """Return the locks that ``make lock`` changes; it leaves the tree as it was."""
    before = {path: path.read_bytes() for path in (ROOT / "requirements").glob("*.lock")}
    subprocess.run(["make", "--no-print-directory", "lock"], cwd=ROOT, check=True, timeout=900)
    changed = [path.name for path, text in before.items() if path.read_bytes() != text]
    for path, text in before.items():
        path.write_bytes(text)
    return sorted(changed)


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def _step(name: str, *command: str) -> None:
    print(f"== {name}", flush=True)  # noqa: T201
    if subprocess.run(command, cwd=ROOT, check=False, timeout=3_600).returncode:
        sys.exit(f"release: {name}: failed, see above; nothing was released")


def main() -> None:
    """Carry out all steps, and stop at the first that fails."""
    if len(sys.argv) != 2:
        sys.exit("release: make release VERSION=1.2.3")
    version, dry = sys.argv[1], bool(os.environ.get("DRY"))
    found = list(problems(version))
    if found:
        print("\n".join(f"release: {one}" for one in found), file=sys.stderr)  # noqa: T201
        if not dry:
            sys.exit(1)
    if changed := outdated_locks():
        sys.exit(f"release: {', '.join(changed)} is out of date: run `make lock`, test, and commit")
    _step("upgrade gate", sys.executable, "-m", "infra.gate")
    _step("wheel and sdist", "make", "--no-print-directory", "dist")
    (wheel,) = (ROOT / "dist").glob(f"lexigraph-{__version__}-*.whl")
    _step("wheel in new environments", sys.executable, "-m", "infra.wheel", str(wheel))
    _step("bills of materials", "make", "--no-print-directory", "sbom")
    if dry:
        print("dry run: nothing was kept")  # noqa: T201
        return
    _step("templates of this release", sys.executable, "-m", "infra.gate", "--release")
    print(  # noqa: T201
        f"\nReady. Next:\n  git commit -am 'Release {version}'\n  git tag -s v{version} -m 'Lexigraph {version}'\n"
        f"  git push origin main v{version}      # the tag publishes to PyPI"
    )


if __name__ == "__main__":
    main()
