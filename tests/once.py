"""What costs much is made once for all processes of a run of tests, by the first one that asks."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the file or folder ``name``, which ``make`` makes where it is told to unless it is there.

    What has the same folder in its name is made one after the other, as a machine has few cores.
    """
    base = factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared" / name
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            partial = made.with_name(f"{made.name}.partial")
            make(partial)
            partial.rename(made)
    return made
