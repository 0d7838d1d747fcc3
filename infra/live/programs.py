"""Programs that commands run: what they print, or why they failed."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from infra.layers import ROOT
from infra.live.told import Failed

_SHOWN = 4_000  # characters of what a program said


def run(*command: str, environment: Mapping[str, str], seconds: float, cwd: Path = ROOT) -> str:
    """Run a program; return what it printed. Raise :class:`Failed` with its words."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        said = (error.stderr or b"")[-_SHOWN:]
        raise Failed(f"{Path(command[0]).name} took longer than {seconds:.0f} s: {said!r}") from None
    if done.returncode:
        raise Failed(f"{Path(command[0]).name} {command[1]}: {(done.stdout + done.stderr)[-_SHOWN:]}")
    return done.stdout


def shown(*command: str, environment: Mapping[str, str], cwd: Path = ROOT) -> None:
    """Run a program that tells on the screen how far it is. Raise :class:`Failed` when it fails."""
    done = subprocess.run(command, cwd=cwd, env=dict(environment), check=False)
    if done.returncode:
        raise Failed(f"{Path(command[0]).name} {command[1]} failed: see its last output")
