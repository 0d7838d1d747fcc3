"""What a release checks before it builds, and that the wheel works alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from infra.release import problems
from infra.wheel import check
from lexigraph import __version__
from tests.imports import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that is ready to be released."""
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{__version__}] - 2026-11-27\n\n- All.\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@y.z", "commit", "-qm", "All"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, timeout=60)
    return tmp_path


def test_a_tree_with_a_changelog_and_no_such_tag_can_be_released(tree: Path) -> None:
    assert list(problems(__version__, tree)) == []


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3-beta", "9.9.9"])
def test_a_version_that_is_no_version_or_not_that_of_the_package_is_refused(tree: Path, version: str) -> None:
    assert [one for one in problems(version, tree) if "version" in one]


def test_a_missing_section_a_tag_that_exists_and_changes_are_each_named(tree: Path) -> None:
    subprocess.run(["git", "tag", f"v{__version__}"], cwd=tree, check=True, timeout=60)
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    told = "\n".join(problems(__version__, tree))
    assert f"no section '## [{__version__}] - YYYY-MM-DD'" in told
    assert f"the tag v{__version__} exists" in told
    assert "the working tree has changes (M CHANGELOG.md" in told


@pytest.mark.slow
@pytest.mark.soak  # the workflows of GitHub do the same in a job of its own
def test_the_wheel_works_in_a_new_environment_outside_of_the_checkout(tmp_path: Path) -> None:
    build = [str(ROOT / ".venv" / "bin" / "uv"), "build", "--quiet", "--no-build-isolation", "--out-dir", str(tmp_path), "."]
    subprocess.run(build, cwd=ROOT, check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    assert "everything works" in check(wheel, sys.executable, locked=True)
