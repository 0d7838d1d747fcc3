"""An environment for each system, made with uv of pinned versions below ``.build/``, and kept for the next time."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".build" / "peers"


class Unavailable(Exception):
    """A system cannot be had, or a step of it failed; the message says why."""


@dataclass(frozen=True, slots=True)
class System:
    """A system: its module here, its distribution (empty: this repository), its requirements, how it is asked."""

    name: str
    module: str
    package: str
    requirements: Path
    retrievers: tuple[str, ...]
    more: tuple[str, ...] = ()  # only when asked for


_HERE = Path(__file__).parent / "requirements"
SYSTEMS = (
    System("Lexigraph", "ours", "", ROOT / "requirements" / "laptop.lock", ("traversal", "semantic-guided")),
    System(
        "graphrag-lexical-graph",
        "toolkit",
        "graphrag-lexical-graph",
        _HERE / "toolkit.lock",
        ("traversal",),
        ("semantic-guided",),
    ),
    System("LightRAG", "lightrag", "lightrag-hku", _HERE / "lightrag.lock", ("mix", "mix, chunks first")),
)


def environment(system: System) -> Path:
    """Return the Python of a system's environment, which is made unless it is there. Raise ``Unavailable``."""
    known = hashlib.sha256(system.requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = FOLDER / f"{system.module}-{known}"
    python, done = folder / "bin" / "python", folder / "complete"
    if not done.exists():
        uv = _uv()
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
        into = ["--quiet", "--python", str(python)]
        _run([uv, "pip", "install", *into, "--require-hashes", "-r", str(system.requirements)])
        done.touch()
    return python


def variables() -> dict[str, str]:
    """Return the environment variables of a driver: ours to import, and nobody's settings of Lexigraph or LightRAG."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LEXIGRAPH_", "PYTHON"))}
    path = os.pathsep.join((str(ROOT), str(ROOT / "layers" / "core")))
    # one thread, as `lexigraph serve` has it: a second one spins between small products
    return {"OPENBLAS_NUM_THREADS": "1", **kept, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise Unavailable("uv is not installed: make setup")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"its environment cannot be made: {last_lines(done.stderr)}")


def last_lines(text: str) -> str:
    """Return the last lines of what a process said, in one."""
    return " / ".join(line.strip() for line in text.strip().splitlines()[-3:])[-600:] or "it said nothing"
