"""What ships is listed: every package of the locks, its digests, and a licence that may be passed on."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest

from infra.audit import Audit
from infra.sbom import ALLOWED, PAGE_IN, SHIPPED, bill, licences, packages, page_packages, shipped

PAGE = Path("layers/core/lexigraph/api/page/licences.md")
PYTHON = {package.name for locks in SHIPPED.values() for package in shipped(locks)}
EVERY = PYTHON | {package.name for package in page_packages()}


def identifiers(expression: str) -> set[str]:
    return set(re.split(r" AND | OR |[()]", expression)) - {""}


def test_every_package_that_ships_has_a_licence_and_no_other_is_listed() -> None:
    assert licences().keys() == EVERY


@pytest.mark.parametrize("package", sorted(PYTHON))
def test_a_licence_may_be_passed_on_and_is_the_one_that_the_package_states(package: str) -> None:
    listed = licences()[package]
    assert identifiers(listed) <= ALLOWED
    try:
        about = metadata(package)
    except PackageNotFoundError:
        pytest.skip("is of another platform")
    if stated := about.get("License-Expression"):
        assert listed == stated
        return
    classified = " ".join(name for name in about.get_all("Classifier") or () if name.startswith("License"))
    said = f"{about.get('License') or ''} {classified}".replace("Python Software Foundation", "PSF")
    assert any(name.partition("-")[0].lower() in said.lower() for name in identifiers(listed)), said


@pytest.mark.parametrize("name", SHIPPED)
def test_a_bill_lists_every_package_of_its_locks_with_version_digests_and_licence(name: str) -> None:
    made = bill(name, licences())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    listed = {c["purl"]: c for c in made["components"]}
    assert set(made["dependencies"][0]["dependsOn"]) == listed.keys()
    for lock in SHIPPED[name]:
        entries = re.findall(r"^(\S+)==([^\s;\\]+)", Path(f"requirements/{lock}.lock").read_text(), re.MULTILINE)
        assert len(entries) > 15
        for package, version in entries:
            component = listed[f"pkg:pypi/{package}@{version}"]
            assert component["licenses"] == [{"expression": licences()[package]}]
            assert component["externalReferences"][0]["hashes"]
    assert json.dumps(made) == json.dumps(bill(name, licences())), "the same locks give the same bytes"


def test_the_packages_of_the_page_are_listed_where_it_ships() -> None:
    locked = json.loads(Path("web/package-lock.json").read_text())["packages"]
    for name in SHIPPED:
        listed = {c["name"]: c for c in bill(name, licences())["components"] if c["purl"].startswith("pkg:npm/")}
        assert listed.keys() == ({p.name for p in page_packages()} if name in PAGE_IN else set())
        for package, component in listed.items():
            entry = locked[f"node_modules/{package}"]
            assert licences()[package] == entry["license"]
            assert licences()[package] in ALLOWED
            assert component["version"] == entry["version"]
            assert len(component["externalReferences"][0]["hashes"][0]["content"]) == 128
    named = set(json.loads(Path("web/package.json").read_text())["dependencies"])
    assert named <= {p.name for p in page_packages()}


@pytest.mark.skipif(not PAGE.is_file(), reason="the explorer is not built: make web")
def test_the_packages_of_the_page_are_those_that_its_bundle_was_made_of() -> None:
    bundled = re.findall(r"^## (\S+) - (\S+) \((\S+)\)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(bundled) == [(p.name, p.version, licences()[p.name]) for p in page_packages()]


def test_a_package_without_a_licence_is_refused() -> None:
    known = licences()
    del known["numpy"]
    with pytest.raises(KeyError, match="numpy"):
        bill("laptop", known)


def test_the_command_writes_the_bills(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "infra.sbom"], capture_output=True, text=True, check=True, timeout=60)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [f".build/sbom/{n}.cdx.json" for n in SHIPPED]
    for name in SHIPPED:
        assert json.loads(Path(f".build/sbom/{name}.cdx.json").read_text()) == bill(name, licences())


def test_an_entry_of_a_lock_is_read_with_its_marker_and_all_its_digests(tmp_path: Path) -> None:
    digests = "".join(f" \\\n    --hash=sha256:{n * 64}" for n in "ab")
    (tmp_path / "x.lock").write_text(f"pywin32==312 ; sys_platform == 'win32'{digests}\nrich==14.1\n")
    found = list(packages(tmp_path / "x.lock"))
    assert [(p.name, p.version, len(p.digests)) for p in found] == [("pywin32", "312", 2), ("rich", "14.1", 0)]


def test_an_audit_tells_weak_packages_and_never_calls_sound_what_nobody_answered_for() -> None:
    nobody = Audit()
    nobody.add(json.dumps({"dependencies": [{"name": "numpy", "skip_reason": "not found on PyPI"}]}))
    assert nobody.told() == ["not audited: no advisories can be reached from here"]
    some = Audit()
    weak = {"id": "PYSEC-2026-1", "fix_versions": ["2.0"], "aliases": [], "description": ""}
    found = [{"name": "rich", "version": "1.0", "vulns": [weak]}, {"name": "typer", "version": "1.0", "vulns": []}]
    some.add(json.dumps({"dependencies": [*found, {"name": "numpy", "skip_reason": "x"}]}))
    assert some.told() == [
        "rich 1.0: PYSEC-2026-1, fixed in 2.0",
        "2 packages audited, 1 without an answer, 1 weaknesses known",
    ]
