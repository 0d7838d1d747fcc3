"""The image, its compose file and the manifests for Kubernetes fit their schemas, each other and the server."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import patient
from tests.imports import ROOT
from tests.server import laptop_api

CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8")
MANIFESTS = sorted((ROOT / "examples" / "kubernetes").glob("*.yaml"))
SUPPORTED = ("1.33", "1.37")


def manifests() -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))


def deployment() -> dict[str, Any]:
    (found,) = (one for one in manifests() if one["kind"] == "Deployment")
    return found["spec"]


def final_stage(instruction: str) -> list[str]:
    """Return what the last stage of the Containerfile says after an instruction."""
    stage = CONTAINERFILE.replace("\\\n", "").rpartition("\nFROM ")[2]
    return re.findall(rf"^{instruction} +(.*)$", stage, re.MULTILINE)


def test_the_linter_finds_nothing_in_the_containerfile() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("hadolint is installed by `make types`")
    done = subprocess.run(
        [linter, "--failure-threshold", "style", "Containerfile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", SUPPORTED)
def test_manifests_are_what_kubernetes_takes(version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="is installed by `make types`")
    found = list(manifests())
    assert sorted(one["kind"] for one in found) == ["Deployment", "PersistentVolumeClaim", "Secret", "Service"]
    for one in found:
        validator.validate(one, version, strict=True)
    with pytest.raises(validator.ValidationError):
        validator.validate({**found[0], "specs": {}}, version, strict=True)


def test_what_the_image_copies_is_there_and_reaches_the_builder() -> None:
    given = re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE, re.MULTILINE)
    sources = {name.rstrip("/") for line in given for name in line.split()}
    assert "layers/core" in sources
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert rules[0] == "*"
    allowed = [rule[1:] for rule in rules if rule.startswith("!")]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(source == one or one.startswith(f"{source}/") or source.startswith(f"{one}/") for one in allowed), source
    for one in allowed:
        assert list(ROOT.glob(one)), one


def test_the_image_installs_locks_that_are_there() -> None:
    extras = re.search(r'^ARG EXTRAS="(.*)"$', CONTAINERFILE, re.MULTILINE)
    assert extras
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert f"EXTRAS: ${{LEXIGRAPH_EXTRAS:-{extras[1]}}}" in compose
    for name in [*extras[1].split(), "aws", "uv", "build"]:
        assert (ROOT / "requirements" / f"{name}.lock").is_file()
    installs = re.findall(r"pip install (?:(?!&&|done).)*requirements/", CONTAINERFILE)
    assert len(installs) == 2
    assert all("--require-hashes" in one for one in installs)


def test_user_port_folder_and_arguments_are_the_same_everywhere() -> None:
    (user,), (volume,), (port,), (arguments,) = map(final_stage, ("USER", "VOLUME", "EXPOSE", "CMD"))
    pod = deployment()["template"]["spec"]
    (container,) = pod["containers"]
    security = pod["securityContext"]
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert security["fsGroup"] == security["runAsGroup"] != 0
    assert container["ports"][0]["containerPort"] == int(port)
    assert yaml.safe_load(arguments) == container["args"]
    server = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["server"]
    assert server["ports"][0].endswith(f":{port}")
    assert f"data:{volume}" in server["volumes"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {volume, *server["tmpfs"]}


def test_nothing_runs_with_more_rights_than_it_needs() -> None:
    pod = deployment()["template"]["spec"]
    security = pod["containers"][0]["securityContext"]
    assert (pod["securityContext"]["runAsNonRoot"], security["readOnlyRootFilesystem"]) == (True, True)
    assert security["capabilities"] == {"drop": ["ALL"]}
    server = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["server"]
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert server["ports"][0].startswith("${LEXIGRAPH_ADDRESS:-127.0.0.1:"), "listens on this machine unless told otherwise"


def test_two_servers_never_share_the_volume() -> None:
    spec = deployment()
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")


def test_the_health_check_tells_a_server_that_answers_from_one_that_does_not(tmp_path: Path) -> None:
    (check,) = final_stage("HEALTHCHECK")
    command = yaml.safe_load(check[check.index("[") :])
    assert shutil.which(command[0])
    with laptop_api(tmp_path) as api:
        port = api.url.rpartition(":")[2]
        asked = [sys.executable, *(part.replace("8010", port) for part in command[1:])]
        assert subprocess.run(asked, check=False, timeout=30).returncode == 0
        (container,) = deployment()["template"]["spec"]["containers"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert patient.get(api.url + container[probe]["httpGet"]["path"]).status_code == 200
    assert subprocess.run(asked, check=False, timeout=30, capture_output=True).returncode == 1
