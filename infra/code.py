"""The code of the functions, staged so that an asset holds nothing else."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from infra.layers import ROOT

SOURCES = ROOT / "functions"
STAGED = ROOT / ".build" / "functions"


def function_code() -> Path:
    """Return a folder that holds ``functions/`` and nothing else, one for each content: several may synthesize at once."""
    files = [f for f in sorted(SOURCES.rglob("*")) if f.is_file() and "__pycache__" not in f.parts]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(SOURCES).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    folder = STAGED / digest.hexdigest()[:16]
    if not folder.exists():
        STAGED.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=STAGED))
        for file in files:
            to = partial / "functions" / file.relative_to(SOURCES)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)
        partial.chmod(0o755)
        try:
            partial.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(partial)
    return folder
