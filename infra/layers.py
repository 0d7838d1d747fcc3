"""Builds the layers of the functions with uv, without Docker: `python -m infra.layers` prints their sizes.

``core`` holds the package and all that a question needs, ``parsers`` what only reading and cutting files needs. A layer is
built once for what goes into it: locked versions, what is pruned, and our sources. Those that it replaces are removed.

Functions cannot keep what they compile, and compiling is most of a cold start. So the core layer brings compiled modules,
where this machine has the Python of the functions: any processor's will do.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from infra import elf
from infra.settings import PROFILES, Profile

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "layers" / "core" / "lexigraph"
BUILT = ROOT / ".build" / "layers"
PYTHON = "3.13"  # of the functions
PLATFORM = "aarch64-manylinux_2_28"  # Lambda's Amazon Linux 2023 has glibc 2.34
MAX_CORE_MB = 110
_KEPT_SECONDS = 3_600  # after its last use, a layer that is out of date
MAX_FUNCTION_MB = 250  # Lambda's own limit for a function with its layers, unzipped

# parts of the package that no function loads
_OF_PEOPLE = ("__main__.py", "cli", "client", "evaluation", "exchange", "integrations")
# services that the functions call; botocore brings the descriptions of four hundred
_SERVICES = (
    "bedrock-agent-runtime bedrock-runtime bedrock cloudwatch dynamodb events kms neptunedata opensearchserverless s3 "
    "secretsmanager sqs ssm sso sso-oidc stepfunctions sts xray"
).split()
# what no function loads: gRPC transport of opensearch-py, random numbers, tests, pages for browsers, type stubs, sources and
# notes of compiled packages
_PACKAGES = (
    "grpc",
    "grpcio-*",
    "google/protobuf",
    "protobuf-*",
    "opensearch",
    "opensearch_protobufs*",
    "bin",
    "setuptools*",
    "*.dist-info/RECORD",  # tells what was installed, digests of scripts with paths of this machine among it
    "numpy/random",
    "numpy/f2py",
    "numpy/_core/*_tests.*.so",
    "multidict/_testcapi.*.so",
    "aenum/test*.py",
    "aws_lambda_powertools/event_handler/openapi/swagger_ui",
    "fastapi_offline/static/redoc*",  # of the two pages of documentation the one that is not shown
    "boto3/data",  # of resources: what is ours asks by clients
)
_FOLDERS = ("tests", "test", "__pycache__", "testing", "benchmarks")
# what is loaded later than a first answer, if ever, and stays as it is: MCP, and parts of large packages
_NOT_COMPILED = (
    "mcp*",
    "httpx2",
    "httpcore2",
    "cryptography",
    "cffi",
    "pycparser",
    "jwt",
    "jsonschema*",
    "referencing",
    "opensearchpy/_async/client",
    "opensearchpy/_async/plugins",
    "numpy/ma",
    "numpy/polynomial",
    "aws_lambda_powertools/event_handler",
    "aws_lambda_powertools/utilities/auth_alpha",
    "aws_lambda_powertools/utilities/data_classes",
)
_AT = "/opt/python"  # where Lambda puts a layer, as tracebacks have it
_FILES = (".pyi", ".pxd", ".pyx", ".c", ".h", ".a", ".pyc", ".md", ".rst")


@dataclass(frozen=True)
class Layer:
    """A layer as built: the folder that holds ``python/``, its size, and the Python that compiled it, if any."""

    folder: Path
    compiled: str = ""

    @property
    def megabytes(self) -> float:
        """Size unzipped, in units of 2**20 bytes."""
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file()) / 2**20

    def lacks(self) -> Iterator[str]:
        """Yield what the core layer has to do without, and why."""
        if not (self.folder / "python" / "lexigraph" / "api" / "page" / "index.html").is_file():
            yield "no explorer in core: `make web` builds it (needs Node.js)"
        if not self.compiled:
            yield f"no Python {PYTHON} here compiles core: functions without a snapshot start 2 s later"


def layers(profile: Profile) -> dict[str, Layer]:
    """Return the layers of a profile, built where they are not yet.

    The emulated one runs with the packages of the host, so its only layer is the package itself. Raise ``RuntimeError``
    when uv cannot install a layer.
    """
    if not profile.aws:
        return {"core": _build("core", "host", None)}
    core = _pins(ROOT / "requirements" / "layer-core.lock")
    parsers = {n: pin for n, pin in _pins(ROOT / "requirements" / "layer-parsers.lock").items() if n not in core}
    return {"core": _build("core", PYTHON, core), "parsers": _build("parsers", PYTHON, parsers)}


def core_of_host(built: Path = BUILT) -> Layer:
    """Return the core layer for the Python and the processor of this machine, to try what is left after pruning.

    The packages are those of the core layer, in the versions that the project is developed with. ``built`` is where layers
    are kept. Raise as :func:`layers`.
    """
    wanted = _pins(ROOT / "requirements" / "layer-core.lock")
    locks = [ROOT / "requirements" / f"{name}.lock" for name in ("laptop", "mcp", "aws")]
    locked = {name: pin for lock in locks for name, pin in _pins(lock).items()}
    pins = {name: locked[name] for name in wanted if name in locked}
    return _build("core", f"{sys.version_info.major}.{sys.version_info.minor}", pins, platform="", built=built)


def _build(name: str, version: str, pins: dict[str, str] | None, *, platform: str = PLATFORM, built: Path = BUILT) -> Layer:
    requirements = "".join(pins.values()) if pins else ""
    sources = [f for f in _sources() if name == "core"]
    python, compiled = _interpreter(version) if pins and name == "core" else ("", "")
    kind = f"{name}-{version}" if platform == PLATFORM else f"{name}-here-{version}"
    folder = built / f"{kind}-{_digest(requirements, sources, compiled)}"
    built.mkdir(parents=True, exist_ok=True)
    with _alone(built):
        if not folder.exists():
            partial = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            _fill(partial / "python", requirements, sources, version, platform)
            if compiled:
                _compile(partial / "python", python)
            partial.rename(folder)  # a build that was interrupted is not taken for whole
    os.utime(folder)  # it is in use
    _remove_older(folder, kind)
    return Layer(folder, compiled)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for other processes that build: tests and a synthesis may want the same layer at the same time."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _remove_older(folder: Path, kind: str) -> None:
    """Remove layers of a kind that another took the place of, unless somebody may still be reading them."""
    for older in folder.parent.glob(f"{kind}-*"):
        with suppress(FileNotFoundError):  # another process may do the same
            if older != folder and older.stat().st_mtime < time.time() - _KEPT_SECONDS:
                shutil.rmtree(older, ignore_errors=True)


def _fill(target: Path, requirements: str, sources: list[Path], version: str, platform: str) -> None:
    target.mkdir(parents=True)
    if requirements:
        _install(requirements, target, version, platform)
        _prune(target)
    for source in sources:
        to = target / "lexigraph" / source.relative_to(PACKAGE)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)


def _interpreter(version: str) -> tuple[str, str]:
    """Return a Python of the version on this machine, and its whole version; empty where there is none."""
    tells = "import platform, sys; print(platform.python_version(), sys.executable)"
    for found in filter(None, (sys.executable, shutil.which(f"python{version}"))):
        chosen = {**os.environ, "PYENV_VERSION": version}  # what stands for all Pythons of pyenv runs this one
        done = subprocess.run([found, "-c", tells], capture_output=True, text=True, check=False, env=chosen)
        exact, _, path = done.stdout.strip().partition(" ")
        if exact.startswith(f"{version}."):
            return path, exact
    return "", ""


def _compile(target: Path, python: str) -> None:
    """Compile what a function loads until its first answer. Python takes it unseen: times of files change on the way.

    The same sources give the same bytes: one process, in order of names, without random hashes.
    """
    modes = ["--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", _AT, "-qq"]
    command = [python, "-P", "-S", "-m", "compileall", *modes, str(target)]
    same = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=same)
    # 1 is for modules that are no Python 3, which nobody loads
    if done.returncode > 1:
        raise RuntimeError(f"layer: cannot be compiled: {done.stderr.strip()}")
    for pattern in _NOT_COMPILED:
        for later in target.glob(pattern):
            for compiled in later.rglob("*.pyc"):
                compiled.unlink()


def _sources() -> Iterator[Path]:
    for file in sorted(PACKAGE.rglob("*")):
        parts = file.relative_to(PACKAGE).parts
        if file.is_file() and "__pycache__" not in parts and parts[0] not in _OF_PEOPLE:
            yield file


def _digest(requirements: str, sources: list[Path], compiled: str) -> str:
    digest = hashlib.sha256(f"{requirements}\n{compiled}".encode())
    for builder in (__file__, elf.__file__):
        digest.update(Path(builder).read_bytes())
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
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target), "--python-version", version]
    command += ["--python-platform", platform] if platform else []
    command += ["--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(listed)]
    command += ["--link-mode", "copy"]  # what is pruned is not to change what uv keeps for others
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed.unlink()
    if done.returncode:
        raise RuntimeError(f"layer: uv cannot install it: {done.stderr.strip()}")


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
        elif found.is_file() and ".so" in found.suffixes:
            found.write_bytes(elf.without_symbols(found.read_bytes()))


def main() -> int:
    """Print the sizes of the layers on AWS; return 1 when one is too large."""
    built = layers(PROFILES["prod"])
    sizes = {name: layer.megabytes for name, layer in built.items()}
    total = sum(sizes.values())
    for name, size in sizes.items():
        how = f", compiled by Python {built[name].compiled}" if built[name].compiled else ""
        print(f"{name:8} {size:6.1f} MB{how}")  # noqa: T201  what the command is for
    print(f"all      {total:6.1f} MB (core at most {MAX_CORE_MB}, all at most {MAX_FUNCTION_MB})")  # noqa: T201
    for lacking in built["core"].lacks():
        print(lacking)  # noqa: T201
    return int(sizes["core"] > MAX_CORE_MB or total > MAX_FUNCTION_MB)


if __name__ == "__main__":
    sys.exit(main())
