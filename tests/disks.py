"""Disks that refuse: real permissions, real limits."""

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder to work in, as somebody for whom permissions count: root is nobody meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name), os.geteuid() == 0
        if root:
            os.chown(folder, _NOBODY, _NOBODY)
            os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            for parent, _, files in os.walk(folder):
                Path(parent).chmod(0o755)
                for file in files:
                    (Path(parent) / file).chmod(0o644)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A quota: writing beyond ``size`` bytes of any file fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
