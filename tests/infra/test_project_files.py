"""Workflows, issue forms and hooks are valid, and call targets that the Makefile has."""

import json
import re
import subprocess
import sys

import pytest
import yaml

from tests.imports import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.dependabot", [ROOT / ".github" / "dependabot.yml"]),
        ("vendor.compose-spec", [ROOT / "compose.yaml"]),
    ],
)
def test_each_file_is_what_its_schema_says(schema: str, paths: list) -> None:
    assert paths
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_hooks_and_container_call_targets_that_the_makefile_has() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    commands = [hook["entry"] for hook in hooks] + [container["postCreateCommand"]]
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            commands += [step["run"] for step in job["steps"] if "run" in step]
    called = {word for command in commands for words in re.findall(r"\bmake ([^\n&|;]+)", command) for word in words.split()}
    targets = {word for word in called if re.fullmatch(r"[a-z-]+", word)}
    assert {"ci", "docs", "lint", "setup", "test"} <= targets
    assert targets - TARGETS == set()


def test_workflows_have_no_more_rights_than_a_job_needs() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout")]
            assert all(step["with"]["persist-credentials"] is False for step in checkouts), (path.name, name)
