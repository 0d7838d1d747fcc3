"""Debian's Chromium for the tests of the explorer: ``python -m tests.browser.install`` gets it where it can be had."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 900.0


def chromium() -> Path | None:
    """Return the browser of this machine, None where there is none."""
    return next((Path(found) for name in _NAMES if (found := shutil.which(name))), None)


def install() -> str:
    """Install the browser unless there is one; return in words how that ended."""
    if found := chromium():
        return f"browser tests use {found}"
    if not shutil.which("apt-get"):
        return "no Chromium, and no apt-get to install it by: browser tests are skipped"
    if os.geteuid() != 0:
        return "no Chromium: browser tests are skipped until somebody runs `apt-get install chromium`"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        command = ["apt-get", "-q", *arguments]
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            return f"no Chromium, `{' '.join(command)}` failed: {last}; browser tests are skipped"
    return f"browser tests use {chromium()}"


if __name__ == "__main__":
    print(install())
    sys.exit(0 if chromium() else 1)
