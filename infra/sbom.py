"""What is shipped, as CycloneDX 1.6: `python -m infra.sbom` writes one bill of materials for each thing that ships.

Packages and digests are those of the locks, so that nothing has to be installed, and the same locks give the same bytes.
Licences are those of ``requirements/licences.json``, which people keep: a package without one is refused.
"""

import json
import re
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lexigraph import __version__

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "requirements"
BUILT = ROOT / ".build" / "sbom"
# the packages of the explorer, which the wheel brings built: those of its lock that its bundle is made of
PAGE_LOCK = ROOT / "web" / "package-lock.json"
PAGE_IN = ("laptop", "layer-core")
# what ships -> the locks of all that comes with it
SHIPPED = {
    "laptop": ("laptop", "mcp", "aws"),
    "layer-core": ("layer-core",),
    "layer-parsers": ("layer-parsers",),
}
# those that ask nothing of who uses the package unchanged but to keep its notices
ALLOWED = frozenset(
    "0BSD AFL-2.1 Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 CNRI-Python ISC MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0 "
    "Unlicense Zlib".split()
)
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Package:
    """A package of a lock: what may be installed of it, by digests, and where that is told of."""

    name: str
    version: str
    digests: tuple[str, ...]
    algorithm: str = "SHA-256"
    registry: str = "pypi"

    @property
    def url(self) -> str:
        """The package URL."""
        return f"pkg:{self.registry}/{quote(self.name)}@{quote(self.version)}"

    @property
    def source(self) -> str:
        """Where its files are."""
        if self.registry == "npm":
            return f"https://www.npmjs.com/package/{self.name}/v/{self.version}"
        return f"https://pypi.org/project/{self.name}/{self.version}/#files"


def packages(lock: Path) -> Iterator[Package]:
    """Yield the packages of a lock, in its order."""
    for entry in re.split(r"\n(?=\S)", lock.read_text("utf-8")):
        if found := _PINNED.match(entry):
            yield Package(found[1], found[2], tuple(_DIGEST.findall(entry)))


def page_packages() -> list[Package]:
    """Return the npm packages of the explorer, by name: not those that only build it, nor those for Node.js alone."""
    locked: dict[str, dict[str, Any]] = json.loads(PAGE_LOCK.read_text("utf-8"))["packages"]
    return [
        Package(path.removeprefix("node_modules/"), one["version"], (_hex(one["integrity"]),), "SHA-512", "npm")
        for path, one in sorted(locked.items())
        if path and not one.get("dev") and not one.get("optional")
    ]


def _hex(integrity: str) -> str:
    return b64decode(integrity.removeprefix("sha512-")).hex()


def shipped(locks: tuple[str, ...]) -> list[Package]:
    """Return the packages of some locks, each once, by name."""
    found = {package.url: package for name in locks for package in packages(LOCKS / f"{name}.lock")}
    return sorted(found.values(), key=lambda package: (package.name, package.version))


def licences() -> dict[str, str]:
    """Return the licence of each package that ships, as an SPDX expression."""
    found: dict[str, str] = json.loads((LOCKS / "licences.json").read_text("utf-8"))
    return found


def bill(name: str, licensed: Mapping[str, str]) -> dict[str, Any]:
    """Return the bill of materials of what ships under a name. Raise ``KeyError`` for a package without a licence."""
    own = {
        "type": "application",
        "bom-ref": "lexigraph",
        "name": "lexigraph",
        "version": __version__,
        "purl": f"pkg:pypi/lexigraph@{__version__}",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    found = [*shipped(SHIPPED[name]), *(page_packages() if name in PAGE_IN else ())]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own, "properties": [{"name": "lexigraph:shipped", "value": name}]},
        "components": [_component(package, licensed[package.name]) for package in found],
        "dependencies": [{"ref": "lexigraph", "dependsOn": [package.url for package in found]}],
    }


def _component(package: Package, licence: str) -> dict[str, Any]:
    digests = [{"alg": package.algorithm, "content": digest} for digest in package.digests]
    return {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
        "licenses": [{"expression": licence}],
        # of every file that may be installed, whatever the platform: of one of them, not of the package
        "externalReferences": [
            {
                "type": "distribution",
                "url": package.source,
                "hashes": digests,
            }
        ],
    }


def main() -> None:
    """Write the bills of materials, and say where."""
    BUILT.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        path = BUILT / f"{name}.cdx.json"
        made = bill(name, licences())
        path.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}: {len(made['components'])} packages\n")


if __name__ == "__main__":
    main()
