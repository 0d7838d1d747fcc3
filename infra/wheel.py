"""Installs the wheel into new environments and uses it as a new user would: `python -m infra.wheel WHEEL [PYTHON...]`.

Outside the checkout, with nothing of it importable: the smallest install asks an index; the laptop's runs the demo, ingests
a folder, answers questions about it and serves the explorer. ``--locked`` takes the locked versions instead of the newest.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
UV = ROOT / ".venv" / "bin" / "uv"
NOTES = "# Sable Ferry\n\nThe Sable Ferry is run by the Quill Line. It crosses the Nare twice a day.\n"
QUESTION = "Who runs the Sable Ferry?"
# what a client of MCP says to be told of the tools
TOOLS = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "lexigraph", "version": "0"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)
# what the smallest install can do with an index that another one made
ASK = f"""
from lexigraph import LexicalGraphQueryEngine
asked = LexicalGraphQueryEngine.for_retriever("bm25", "sqlite:///.lexigraph", "sqlite:///.lexigraph")
print(asked.query({QUESTION!r}).response)
"""
_SECONDS = 900.0


class Failed(Exception):
    """The wheel does not do what it should; the message says what was run and what came of it."""


def check(wheel: Path, python: str, *, locked: bool = False) -> str:
    """Use the wheel with one Python; return in a line what it took. Raise ``Failed``."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        began = time.monotonic()
        _install(home / "laptop", python, [f"{wheel}[laptop]"], "laptop" if locked else None)
        installed = time.monotonic() - began
        size = sum(file.stat().st_size for file in (home / "laptop").rglob("*") if file.is_file() and not file.is_symlink())
        command = [str(home / "laptop" / "bin" / "lexigraph")]
        _said(home, [*command, "--version"])
        _expect("Tidewater", _said(home, [*command, "demo"]))
        (home / "notes").mkdir()
        (home / "notes" / "ferry.md").write_text(NOTES, "utf-8")
        _said(home, [*command, "ingest", "notes", "--no-progress"])
        answer = json.loads(_said(home, [*command, "query", QUESTION, "--json"]))
        _expect("Quill Line", answer["answer"])
        bedrock = ["--data", "other", "--set", "embedding_model=bedrock:cohere.embed-v4:0"]
        _expect("lexigraph[bedrock]", _refused(home, [*command, *bedrock, "ingest", "notes"]))
        _serve(home, command)
        _expect("lexigraph[mcp]", _refused(home, [*command, "mcp"]))
        _install(home / "laptop", python, [f"{wheel}[laptop,mcp]"], "mcp" if locked else None)
        _expect("hm_recall", _said(home, [*command, "mcp"], TOOLS))
        _install(home / "smallest", python, [str(wheel)], None)
        _expect("Quill Line", _said(home, [str(home / "smallest" / "bin" / "python"), "-c", ASK]))
        _expect("lexigraph[cli]", _refused(home, [str(home / "smallest" / "bin" / "lexigraph")]))
    return f"{python}: installed in {installed:.0f} s, {size / 1e6:.0f} MB with all packages, everything works"


def _install(home: Path, python: str, what: list[str], lock: str | None) -> None:
    if not home.exists():
        _said(home.parent, [str(UV), "venv", "--quiet", "--no-python-downloads", "--python", python, str(home)])
    install = [str(UV), "pip", "install", "--quiet", "--python", str(home / "bin" / "python")]
    if lock:
        _said(home.parent, [*install, "--require-hashes", "-r", str(ROOT / "requirements" / f"{lock}.lock")])
        install.append("--no-deps")
    _said(home.parent, [*install, *what])


def _serve(home: Path, command: list[str]) -> None:
    """Serve the index, and look at the explorer and an answer."""
    environment = {**_environment(), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*command, "serve", "--port", "0"],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            told = next((line for line in server.stdout or () if "listening on" in line), "")
            address = told.partition("listening on ")[2].split(",")[0].strip()
            if not address:
                raise Failed("serve: did not say where it listens")
            with urllib.request.urlopen(f"{address}/explorer/", timeout=30) as reply:  # noqa: S310  # loopback
                _expect("<title>", reply.read().decode())
            body = json.dumps({"question": QUESTION}).encode()
            asked = urllib.request.Request(f"{address}/query", body, {"Content-Type": "application/json"})  # noqa: S310
            with urllib.request.urlopen(asked, timeout=60) as reply:  # noqa: S310
                _expect("Quill Line", reply.read().decode())
        finally:
            server.terminate()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV") and not k.startswith("LEXIGRAPH_")}


def _said(where: Path, command: list[str], told: str = "") -> str:
    done = subprocess.run(
        command, cwd=where, env=_environment(), input=told, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        raise Failed(f"{' '.join(command[:3])} ...: exit code {done.returncode}: {(done.stderr or done.stdout)[-600:]}")
    return done.stdout


def _refused(where: Path, command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=where, env=_environment(), capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if not done.returncode:
        raise Failed(f"{' '.join(command)}: was expected to fail, and did not")
    return done.stderr


def _expect(words: str, told: str) -> None:
    if words not in told:
        raise Failed(f"{words!r} was expected in: {told[:600]}")


def _runs(python: str) -> bool:
    """Whether there is such a Python; the shim of a version manager may be there without one."""
    found = shutil.which(python)
    if found is None:
        return False
    return subprocess.run([found, "-c", ""], capture_output=True, timeout=60, check=False).returncode == 0


def main() -> int:
    """Check the wheel with each Python; return 1 when it fails with one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("python", nargs="*", help="names or paths of Pythons; default: those of 3.11 to 3.14 that are found")
    parser.add_argument("--locked", action="store_true")
    given = parser.parse_args()
    versions = [f"python3.{minor}" for minor in range(11, 15)]
    pythons = given.python or [name for name in versions if _runs(name)] or [sys.executable]
    failed = 0
    for python in pythons:
        try:
            print(check(given.wheel.resolve(), python, locked=given.locked))  # noqa: T201
        except Failed as error:
            print(f"{python}: {error}", file=sys.stderr)  # noqa: T201
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
