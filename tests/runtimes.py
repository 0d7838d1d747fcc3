"""Lambda Web Adapter for the tests that stream: ``make runtimes`` builds it once, for this machine, from crates.io.

It is the release of the layer that the `Api` stack names. Its sources are compared with a checksum, what it is built from
with the lock file that comes with it. AWS publishes it as a layer and an image only, and the Lambda Runtime Interface
Emulator on GitHub only: its module is not on the Go module proxy, so :mod:`tests.standins.streaming_runtime` stands for it.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.servers import Unavailable

CRATE, VERSION = "lambda_web_adapter", "0.9.1"
CHECKSUM = "93ef06e3cfac461e882db7e9f1c3b793df076f2ac8ca8da9384acd9b259b413b"
_BUILD_SECONDS, _FETCH_SECONDS = 3_600.0, 300.0


def adapter_path() -> Path:
    """Return where the adapter is, outside the repository; it may not be there yet."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "lexigraph" / f"{CRATE}-{VERSION}-{CHECKSUM[:12]}" / "lambda-adapter"


def build_adapter() -> Path:
    """Build the adapter unless it is there, and return its path. Raise ``Unavailable``."""
    found = adapter_path()
    if found.exists():
        return found
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Unavailable("Lambda Web Adapter is built by Cargo, which is not installed (apt install cargo)")
    found.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=found.parent) as made:
        _run([cargo, "info", f"{CRATE}@{VERSION}"], _FETCH_SECONDS, cwd=made)  # fetches the sources, builds nothing
        _compare()
        # not optimised: it hands on bytes, and builds in a fraction of the time
        install = [cargo, "install", f"{CRATE}@{VERSION}", "--locked", "--debug", "--quiet", "--root", made]
        _run(["nice", *install], _BUILD_SECONDS, cwd=made, CARGO_TARGET_DIR=f"{made}/target")
        (Path(made) / "bin" / "lambda-adapter").rename(found)
    return found


def _compare() -> None:
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    crates = list(home.glob(f"registry/cache/*/{CRATE}-{VERSION}.crate"))
    if not crates or any(hashlib.sha256(crate.read_bytes()).hexdigest() != CHECKSUM for crate in crates):
        raise Unavailable(f"the sources of {CRATE} {VERSION} are not those that were tested")


def _run(command: list[str], seconds: float, *, cwd: str, **environment: str) -> None:
    env = {**os.environ, **environment}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=cwd, env=env)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Lambda Web Adapter was not built within {seconds:.0f} s") from None
    if done.returncode:
        raise Unavailable(f"Cargo could not build Lambda Web Adapter: {done.stderr.strip()[-300:]}")


@pytest.fixture(scope="session")
def web_adapter() -> Path:
    """The adapter; what needs it is skipped where ``make runtimes`` did not build it."""
    found = adapter_path()
    if not found.exists():
        pytest.skip("Lambda Web Adapter is not here: run make runtimes")
    return found


def main() -> None:
    """Build what is missing, and say how that went; what cannot be had is no failure, its tests are skipped."""
    begin = time.monotonic()
    try:
        print(f"Lambda Web Adapter {VERSION}: {build_adapter()}, {time.monotonic() - begin:.0f} s")
    except Unavailable as error:
        print(f"Lambda Web Adapter: not available, its tests are skipped: {error}")


if __name__ == "__main__":
    main()
