"""The code of the functions, staged so that an asset holds nothing else."""

import shutil
from pathlib import Path

from infra.layers import ROOT

STAGED = ROOT / ".build" / "functions"


def function_code() -> Path:
    """Return a folder that holds ``functions/`` and nothing else."""
    target = STAGED / "functions"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "functions", target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    return STAGED
