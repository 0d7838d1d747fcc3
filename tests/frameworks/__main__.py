"""Runs the tests of each framework in an environment of its own, over one index and server: `python -m tests.frameworks`.

The index and the server come from this environment; in that of a framework are the package, its client and the framework.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.imports import ROOT

HERE = Path(__file__).parent
UV = Path(sys.executable).with_name("uv")
FRAMEWORKS = ("haystack", "langchain", "llama-index")
_COMMAND = [str(Path(sys.executable).with_name("lexigraph")), "--data"]


def environment(framework: str) -> Path:
    """Return the Python of a framework's environment, which is made or renewed when its lock has changed."""
    home, lock = ROOT / ".build" / "frameworks" / framework, ROOT / "requirements" / f"{framework}.lock"
    python, done = home / "bin" / "python", home / "lock"
    if not done.is_file() or done.read_bytes() != lock.read_bytes():
        for command in (
            ["venv", "--quiet", "--clear", "--python", sys.executable, str(home)],
            ["pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", str(lock)],
            ["pip", "install", "--quiet", "--python", str(python), "--no-deps", "-e", str(ROOT)],
        ):
            subprocess.run([UV, *command], check=True, timeout=600)
        done.write_bytes(lock.read_bytes())
    return python


def main() -> int:
    """Return 1 when a test of a framework fails."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        index = [*_COMMAND, folder]
        subprocess.run([*index, "ingest", str(ROOT / "examples" / "corpus"), "--no-progress"], check=True, timeout=300)
        with subprocess.Popen(
            [*index, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as server:
            try:
                line = next(line for line in server.stdout or () if "listening on" in line)
                url = line.partition("listening on ")[2].split(",")[0].strip()
                given = {**os.environ, "FRAMEWORKS_INDEX": folder, "FRAMEWORKS_URL": url}
                for framework in FRAMEWORKS:
                    test = HERE / f"check_{framework.replace('-', '_')}.py"
                    pytest = [environment(framework), "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", HERE]
                    pytest += ["-p", "no:cacheprovider", test]
                    print(framework, flush=True)
                    failed |= subprocess.run(
                        [*pytest, "-p", "no:cacheprovider"], env=given, timeout=600, check=False
                    ).returncode
            finally:
                server.terminate()
    return failed


if __name__ == "__main__":
    sys.exit(main())
