"""Who holds a lease: a locked file, whose lock ends with the process, however that ends.

Process ids are not asked: they come back. A forked child closes what it inherits, so that a lock ends with its parent.
"""

import os
import secrets
import threading
import weakref
from contextlib import suppress
from pathlib import Path

from lexigraph.storage.sqlite.database import lock_now


class Holder:
    """A file in ``folder``, named by chance, that is locked from :meth:`open` to :meth:`close`.

    Files appear and are judged by :meth:`living` inside the database's write transaction only: nobody sees one that is
    about to be locked.
    """

    def __init__(self, folder: Path) -> None:
        self.token = secrets.token_hex(16)
        self._folder = folder
        self._descriptor = -1

    @property
    def is_open(self) -> bool:
        """False before :meth:`open`, after :meth:`close`, and in a forked child."""
        return self._descriptor >= 0

    def open(self) -> None:
        """Create and lock the file."""
        self._folder.mkdir(0o700, exist_ok=True)
        with _FORKING:
            self._descriptor = os.open(self._folder / self.token, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600)
            _OPEN.add(self)
            lock_now(self._descriptor)

    def living(self) -> list[str]:
        """Return the tokens of all holders that are alive, this one too; remove the files of the others."""
        return [path.name for path in self._folder.iterdir() if path.name == self.token or _is_locked(path)]

    def close(self) -> None:
        """Remove the file and give the lock back."""
        if self.is_open:
            with suppress(OSError):
                (self._folder / self.token).unlink()
            self._drop()

    def _drop(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # another user's: nothing is known, so it counts as alive
    try:
        if not lock_now(descriptor):
            return True
        with suppress(OSError):
            path.unlink()
        return False
    finally:
        os.close(descriptor)


_FORKING = threading.Lock()
_OPEN: weakref.WeakSet[Holder] = weakref.WeakSet()


def _forget_inherited() -> None:
    for holder in list(_OPEN):
        holder._drop()
    _OPEN.clear()
    _FORKING.release()


os.register_at_fork(before=_FORKING.acquire, after_in_parent=_FORKING.release, after_in_child=_forget_inherited)
