"""Builds the layers of the functions with uv, without Docker: `python -m infra.layers` prints their sizes.

``core`` holds the package and all that a question needs, ``parsers`` what only reading and cutting files needs. A layer is
built once for what goes into it: locked versions, what is pruned, and our sources.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infra.settings import PROFILES, Profile

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "layers" / "core" / "lexigraph"
BUILT = ROOT / ".build" / "layers"
PLATFORM = "aarch64-manylinux_2_28"  # Lambda's Amazon Linux 2023 has glibc 2.34
MAX_CORE_MB = 120
MAX_FUNCTION_MB = 250  # Lambda's own limit for a function with its layers, unzipped

# services that the functions call; botocore brings the descriptions of four hundred
_SERVICES = (
    "bedrock-agent-runtime bedrock-runtime bedrock cloudwatch dynamodb events kms neptunedata opensearchserverless s3 "
    "secretsmanager sqs ssm sso sso-oidc stepfunctions sts xray"
).split()
# what no function loads: gRPC transport of opensearch-py, tests, type stubs, sources and notes of compiled packages
_PACKAGES = (
    "grpc",
    "grpcio-*",
    "google/protobuf",
    "protobuf-*",
    "opensearch",
    "opensearch_protobufs*",
    "bin",
    "setuptools*",
)
_FOLDERS = ("tests", "test", "__pycache__", "testing", "benchmarks")
_FILES = (".pyi", ".pxd", ".pyx", ".c", ".h", ".a", ".pyc", ".md", ".rst")


@dataclass(frozen=True)
class Layer:
    """A layer as built: the folder that holds ``python/``, and its size."""

    name: str
    folder: Path

    @property
    def megabytes(self) -> float:
        """Size unzipped, in units of 2**20 bytes."""
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file()) / 2**20


def layers(profile: Profile) -> dict[str, Layer]:
    """Return the layers of a profile, built where they are not yet.

    The emulated one runs with the packages of the host, so its only layer is the package itself. Raise ``RuntimeError``
    when uv cannot install a layer.
    """
    if profile.machine == "host":
        return {"core": _build("core", "host", None)}
    version = profile.python
    core = _pins(ROOT / "requirements" / "layer-core.lock")
    parsers = {n: pin for n, pin in _pins(ROOT / "requirements" / "layer-parsers.lock").items() if n not in core}
    return {"core": _build("core", version, core), "parsers": _build("parsers", version, parsers)}


def core_of_host() -> Layer:
    """Return the core layer for the Python and the processor of this machine, to try what is left after pruning.

    The packages are those of the core layer, in the versions that the project is developed with. Raise as :func:`layers`.
    """
    wanted = _pins(ROOT / "requirements" / "layer-core.lock")
    locked = {**_pins(ROOT / "requirements" / "laptop.lock"), **_pins(ROOT / "requirements" / "aws.lock")}
    pins = {name: locked[name] for name in wanted if name in locked}
    return _build("core", f"{sys.version_info.major}.{sys.version_info.minor}", pins, platform="")


def _build(name: str, version: str, pins: dict[str, str] | None, platform: str = PLATFORM) -> Layer:
    requirements = "".join(pins.values()) if pins else ""
    sources = [f for f in _sources() if name == "core"]
    folder = BUILT / f"{name}-{version}-{_digest(requirements, sources)}"
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        target = partial / "python"
        target.mkdir(parents=True)
        if requirements:
            _install(requirements, target, version, platform)
            _prune(target)
        for source in sources:
            to = target / "lexigraph" / source.relative_to(PACKAGE)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)
        partial.rename(folder)  # a build that was interrupted is not taken for whole
    return Layer(name, folder)


def _sources() -> Iterator[Path]:
    yield from (f for f in sorted(PACKAGE.rglob("*")) if f.is_file() and "__pycache__" not in f.parts)


def _digest(requirements: str, sources: list[Path]) -> str:
    digest = hashlib.sha256(requirements.encode())
    digest.update(repr((_SERVICES, _PACKAGES, _FOLDERS, _FILES)).encode())
    for source in sources:
        digest.update(source.relative_to(PACKAGE).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _pins(lock: Path) -> dict[str, str]:
    """Return the entries of a lock file, with their hashes, by the name of the package."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", lock.read_text("utf-8").strip()):
        name = re.split(r"[=\[ ;]", entry, maxsplit=1)[0]
        found[name] = f"{found.get(name, '')}{entry}\n"  # a lock for several Pythons may hold several versions
    return found


def _install(requirements: str, target: Path, version: str, platform: str) -> None:
    listed = target.parent / "requirements.txt"
    listed.write_text(requirements, "utf-8")
    command = [_uv(), "pip", "install", "--quiet", "--target", str(target), "--python-version", version]
    command += ["--python-platform", platform] if platform else []
    command += ["--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed.unlink()
    if done.returncode:
        raise RuntimeError(f"layer: uv cannot install it: {done.stderr.strip()}")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


def _prune(target: Path) -> None:
    for pattern in _PACKAGES:
        for found in target.glob(pattern):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    data = target / "botocore" / "data"
    for service in data.iterdir() if data.exists() else ():
        if service.is_dir() and service.name not in _SERVICES:
            shutil.rmtree(service)
    for found in sorted(target.rglob("*"), reverse=True):
        if found.is_dir() and found.name in _FOLDERS and found.parent != target:
            shutil.rmtree(found)
        elif found.is_file() and found.suffix in _FILES:
            found.unlink()


def main() -> int:
    """Print the size of each layer for dev and prod; return 1 when one is too large."""
    failed = False
    for name in ("dev", "prod"):
        built = layers(PROFILES[name])
        sizes = {layer.name: layer.megabytes for layer in built.values()}
        for layer, size in sizes.items():
            print(f"{name:5} {layer:8} {size:6.1f} MB")  # noqa: T201  what the command is for
        total = sum(sizes.values())
        print(f"{name:5} {'all':8} {total:6.1f} MB (core at most {MAX_CORE_MB}, all at most {MAX_FUNCTION_MB})")  # noqa: T201
        failed |= sizes["core"] > MAX_CORE_MB or total > MAX_FUNCTION_MB
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
