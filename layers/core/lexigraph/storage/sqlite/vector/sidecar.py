"""The vectors of a partition as one memory-mapped file beside the database: a cache that can be built anew at any time.

The file is a header and, in the order of their keys, a slot for every record: key, hashes of source and id, sum of the
vector's bits, vector. Slots are written once and never changed, so a file that is ahead of a reader does no harm. One
process at a time appends or builds, under a lock on the file; the header is written last, after the data has reached the
disk. A file that is missing, damaged, of another database or of an earlier epoch is replaced by a new one. What a search
finds here it reads, and scores again, from the database; vectors of known records are taken from here where their sums are
right. Beside it lie the same vectors as bytes, which are scanned where they are many.
"""

import fcntl
import logging
import mmap
import os
import secrets
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.common.folders import is_read_only
from lexigraph.storage.protocols import FloatArray
from lexigraph.storage.sqlite.vector.bytewise import checksum, write_at
from lexigraph.storage.sqlite.vector.partitions import Partition, all_partitions, holes_after, vector_of, vectors_from
from lexigraph.storage.sqlite.vector.rounded import Rounded, differs, rounded

logger = logging.getLogger(__name__)
_HEADER = struct.Struct("<8sIIQQQQQII")
_MAGIC, _FORMAT, _START = b"LEXIVECS", 3, 64
_SAMPLES = 16
_VIEWS = 200  # each keeps a file open
Slots = NDArray[Any]
Places = tuple[NDArray[np.int64], NDArray[np.intp]]


class Moved(Exception):
    """The file is ahead of the transaction: repeated, it sees what the file holds."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file holds: the records of an epoch with keys below ``next_key``, as they were after ``holes`` had gone.

    ``made`` is a number by which what is made of this file is told from what was made of one before it.
    """

    number: int
    dimension: int
    epoch: int
    next_key: int
    holes: int
    slots: int
    made: int

    @classmethod
    def read(cls, descriptor: int) -> "Header | None":
        """Return the header of an open file; None when there is no whole one, or the file is shorter than it says."""
        raw = os.pread(descriptor, _HEADER.size, 0)
        if len(raw) < _HEADER.size or raw[-4:] != checksum(raw[:-4]):
            return None
        magic, format_, dimension, *rest, _ = _HEADER.unpack(raw)
        header = cls(rest[0], dimension, *rest[1:])
        if (magic, format_) != (_MAGIC, _FORMAT) or os.fstat(descriptor).st_size < header.size:
            return None
        return header

    def pack(self) -> bytes:
        """Return the bytes that :meth:`read` takes."""
        numbers = (self.dimension, self.number, self.epoch, self.next_key, self.holes, self.slots, self.made, 0)
        body = _HEADER.pack(_MAGIC, _FORMAT, *numbers)[:-4]
        return body + checksum(body)

    @property
    def size(self) -> int:
        """Bytes of the file that count."""
        return _START + self.slots * _slot(self.dimension).itemsize

    def serves(self, partition: Partition) -> bool:
        """Tell whether the file is of this partition and epoch, and not ahead of it."""
        same = (self.number, self.dimension, self.epoch) == (partition.number, partition.dimension, partition.epoch)
        return same and self.next_key <= partition.next_key and self.holes <= partition.holes


@dataclass(frozen=True)
class View:
    """The vectors of a partition at one moment, by slot in the order of keys; slots at ``dead`` do not count.

    ``rounded`` are the same, where they are many.
    """

    partition: Partition
    slots: Slots
    dead: NDArray[np.intp]
    inode: int = 0
    rounded: Rounded | None = None
    sorted_before: Places = (np.zeros(0, np.int64), np.zeros(0, np.intp))

    @property
    def vectors(self) -> FloatArray:
        """Shape ``(slots, dimension)``."""
        return self.slots["vector"]

    @property
    def keys(self) -> NDArray[np.int64]:
        """Key by slot, increasing."""
        return self.slots["key"]

    @cached_property
    def _sources(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        return np.unique(self.slots["source"], return_inverse=True)

    @cached_property
    def places(self) -> Places:
        """Hashes of ids in order and their slots, dead ones too; what an earlier view has sorted is not sorted again."""
        hashes, slots = self.sorted_before
        new = np.arange(len(slots), len(self.slots))
        added = self.slots["id"][new]
        order = np.argsort(added, kind="stable")
        at = np.searchsorted(hashes, added[order])
        return np.insert(hashes, at, added[order]), np.insert(slots, at, new[order])

    @cached_property
    def _live(self) -> NDArray[np.bool_]:
        live = np.ones(len(self.slots), np.bool_)
        live[self.dead] = False
        return live

    def known(self, ids: Sequence[str]) -> tuple[list[str], FloatArray, list[str]]:
        """Return those of the records that are here, whole, with their vectors; and the other ids."""
        hashes, slots = self.places
        wanted = np.fromiter(map(_hash, ids), np.int64, len(ids))
        first, end = np.searchsorted(hashes, wanted), np.searchsorted(hashes, wanted, "right")
        slot, alone = np.full(len(ids), -1), np.flatnonzero(end - first == 1)
        slot[alone] = slots[first[alone]]
        for at in np.flatnonzero(end - first > 1).tolist():
            alike = slots[first[at] : end[at]]
            alike = alike[self._live[alike]]
            # a record that was replaced has left a dead slot; a hash that two records have tells nothing
            slot[at] = alike[0] if len(alike) == 1 else -1
        found = np.flatnonzero(slot >= 0)
        chosen = slot[found]
        vectors: FloatArray = self.vectors[chosen]
        whole = self._live[chosen] & (_sums(vectors) == self.slots["sum"][chosen])
        here = np.zeros(len(ids), np.bool_)
        here[found[whole]] = True
        if here.all():
            return list(ids), vectors, []
        return list(compress(ids, here)), vectors[whole], list(compress(ids, ~here))

    def of_sources(self, sources: Iterable[str]) -> NDArray[np.bool_]:
        """Tell for each slot whether its record is of one of the sources (or, once in ages, of one with its hash)."""
        known, which = self._sources
        return np.isin(known, np.fromiter(map(_hash, sources), np.int64))[which]


class Sidecars:
    """The files of one database, ``vectors-NUMBER.f32`` after their partitions and ``.i8`` beside them, and what this
    process sees of them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._views: dict[int, View] = {}
        self._ahead: dict[int, Header | None] = {}

    def view(self, connection: sqlite3.Connection, partition: Partition, *, patient: bool = True) -> View:
        """Return the vectors as the transaction of ``connection`` sees them.

        Raise ``Moved`` to have the transaction repeated; unless ``patient``, do without the file instead.
        """
        have = self._views.get(partition.number)
        if have is not None and have.partition == partition and (patient or not have.inode):
            return have
        if not patient:
            return _in_memory(connection, partition)
        if have is not None and have.partition.epoch == partition.epoch and _later(have.partition, partition):
            raise Moved
        try:
            view = self._as_it_is(connection, partition) or self._mapped(connection, partition, have)
        except OSError as error:
            if have is None or have.inode:
                logger.warning("%s: %s; vectors are kept in memory", self._path(partition.number), error.strerror)
            view = _in_memory(connection, partition)
        self._views[partition.number] = view
        if len(self._views) > _VIEWS:
            oldest, *_ = tuple(self._views)  # copied in one step: other threads add to them
            self._views.pop(oldest, None)
        return view

    def mapped(self, partition: Partition) -> View | None:
        """Return the vectors of a partition where an earlier search has mapped them as they are now; None elsewhere."""
        have = self._views.get(partition.number)
        return have if have is not None and have.partition == partition else None

    def distrust(self, partition: Partition) -> None:
        """Throw away the file of a partition that was found to differ from the database."""
        self._views.pop(partition.number, None)
        if not is_read_only(path := self._path(partition.number)):
            _rounded_at(path).unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    def sweep(self, numbers: Callable[[], Iterable[int]]) -> None:
        """Remove the files of partitions that are gone; ``numbers`` asks which there are, after the files were listed."""
        paths = [path for kind in ("f32", "i8") for path in self._folder.glob(f"vectors-*.{kind}*")]
        found = {path: path.stem.removeprefix("vectors-") for path in paths}
        kept = {str(number) for number in numbers()} if found else set()
        for path, number in found.items():
            if number not in kept and not is_read_only(path):
                path.unlink(missing_ok=True)

    def differing(self, connection: sqlite3.Connection) -> Iterator[Path]:
        """Yield the files that would be used and hold anything else than the database, slot by slot."""
        for partition in all_partitions(connection):
            path = self._path(partition.number)
            if not partition.dimension or not path.is_file():
                continue
            with path.open("rb") as file:
                header = Header.read(file.fileno())
                if not header or not header.serves(partition):
                    continue
                if not _equal(file.fileno(), header, connection, partition):
                    yield path
                elif differs(_rounded_at(path), _slots(file.fileno(), header)["vector"], header.made):
                    yield _rounded_at(path)

    def close(self) -> None:
        """Let go of the mapped files; each closes when the last search in it ends."""
        self._views.clear()

    def _path(self, number: int) -> Path:
        return self._folder / f"vectors-{number}.f32"

    def _as_it_is(self, connection: sqlite3.Connection, partition: Partition) -> View | None:
        """Return what is in a folder that cannot be written; None of one that can."""
        path = self._path(partition.number)
        if not is_read_only(path):
            return None
        if path.is_file():
            with path.open("rb") as file:
                header = Header.read(file.fileno())
                complete = header and header.serves(partition) and header.next_key == partition.next_key
                if header and complete and _agrees(file.fileno(), header, connection, partition):
                    return _view(path, file.fileno(), header, connection, partition, None)
        return _in_memory(connection, partition)

    def _mapped(self, connection: sqlite3.Connection, partition: Partition, have: View | None) -> View:
        """Map the file, bringing it up to date or building it first where it lacks something."""
        path = self._path(partition.number)
        with _locked(path) as descriptor:
            header = Header.read(descriptor)
            known = have is not None and have.inode == os.fstat(descriptor).st_ino
            if header and header.serves(partition) and (known or _agrees(descriptor, header, connection, partition)):
                if header.next_key < partition.next_key:
                    header = _append(descriptor, header, connection, partition)
                return _view(path, descriptor, header, connection, partition, have if known else None)
            # the file may come from a later moment than this transaction: then the next one sees that moment, too
            if header and not header.serves(partition) and self._ahead.get(partition.number) != header:
                self._ahead[partition.number] = header
                raise Moved
            descriptor, header = _build(path, connection, partition)
            try:
                return _view(path, descriptor, header, connection, partition, None)
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the file, created when missing, once no other process appends to it or replaces it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _inode_at(path) == os.fstat(descriptor).st_ino:
                yield descriptor
                return
        finally:
            # closing is not enough: a mapping keeps a duplicate of the descriptor, and the lock with it
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _inode_at(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _rounded_at(path: Path) -> Path:
    return path.with_suffix(".i8")


def _slots(descriptor: int, header: Header) -> Slots:
    mapped = mmap.mmap(descriptor, header.size, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, _slot(header.dimension), header.slots, _START)


def _view(
    path: Path,
    descriptor: int,
    header: Header,
    connection: sqlite3.Connection,
    partition: Partition,
    have: View | None,
) -> View:
    """Map what the header covers; ``have`` is an earlier view of the same file."""
    slots = _slots(descriptor, header)
    dead = _slots_of(slots, holes_after(connection, partition, have.partition.holes if have else 0))
    inode = os.fstat(descriptor).st_ino
    small, known = None, have.rounded if have else None
    with suppress(OSError):  # the vectors themselves say the same
        small = rounded(_rounded_at(path), slots["vector"], header.made, known, write=not is_read_only(path))
    if have is None:
        return View(partition, slots, dead, inode, small)
    # sorting all ids again after each write would cost a question more than it saves
    before = vars(have).get("places", have.sorted_before)
    return View(partition, slots, np.concatenate([have.dead, dead]), inode, small, before)


def _slots_of(slots: Slots, keys: list[int]) -> NDArray[np.intp]:
    """Return where the keys are; a record that came and went between two looks at the database is nowhere."""
    if not keys or not len(slots):
        return np.zeros(0, np.intp)
    at: NDArray[np.intp] = np.minimum(np.searchsorted(slots["key"], keys), len(slots) - 1)
    there: NDArray[np.bool_] = slots["key"][at] == keys
    return at[there]


def _in_memory(connection: sqlite3.Connection, partition: Partition) -> View:
    blocks = [_block(rows, partition.dimension) for rows in vectors_from(connection, partition, 0)]
    return View(partition, np.concatenate(blocks), np.zeros(0, np.intp))


def _agrees(descriptor: int, header: Header, connection: sqlite3.Connection, partition: Partition) -> bool:
    """Compare some slots, the first and the last among them, with the database."""
    slot = _slot(header.dimension)
    for at in np.linspace(0, header.slots - 1, _SAMPLES).astype(int):
        raw = os.pread(descriptor, slot.itemsize, _START + int(at) * slot.itemsize)
        found = np.frombuffer(raw, slot)[0]
        vector = vector_of(connection, partition, int(found["key"]))
        if vector is not None and vector != found["vector"].tobytes():
            return False
    return True


def _equal(descriptor: int, header: Header, connection: sqlite3.Connection, partition: Partition) -> bool:
    """Compare every slot with the database; those of records that went since do not count."""
    slots = _slots(descriptor, header)
    gone, at = set(holes_after(connection, partition, 0)), 0
    for rows in vectors_from(connection, partition, 0):
        block = _block([row for row in rows if row[0] < header.next_key], header.dimension)
        for slot in block:
            while at < len(slots) and int(slots[at]["key"]) in gone:
                at += 1
            if at == len(slots) or slots[at].tobytes() != slot.tobytes():
                return False
            at += 1
    return {int(key) for key in slots["key"][at:]} <= gone


def _append(descriptor: int, header: Header, connection: sqlite3.Connection, partition: Partition) -> Header:
    at = header.slots
    for rows in vectors_from(connection, partition, header.next_key):
        write_at(descriptor, _block(rows, header.dimension).tobytes(), _START + at * _slot(header.dimension).itemsize)
        at += len(rows)
    os.fsync(descriptor)  # the header must never tell of slots that a loss of power could take
    p = partition
    header = Header(p.number, p.dimension, p.epoch, p.next_key, p.holes, at, header.made)
    write_at(descriptor, header.pack(), 0)
    return header


def _build(path: Path, connection: sqlite3.Connection, partition: Partition) -> tuple[int, Header]:
    """Write a file anew, put it in the place of the old one, and return it open and locked."""
    new = path.with_suffix(".f32-new")
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # what is made of it is not there yet when others find it
        nothing = Header(partition.number, partition.dimension, partition.epoch, 0, 0, 0, secrets.randbits(32))
        header = _append(descriptor, nothing, connection, partition)
        new.replace(path)
    except BaseException:
        os.close(descriptor)
        new.unlink(missing_ok=True)
        raise
    return descriptor, header


def _block(rows: list[tuple[int, str, str, bytes]], dimension: int) -> Slots:
    block = np.empty(len(rows), _slot(dimension))
    block["key"] = [row[0] for row in rows]
    block["source"] = [_hash(row[1]) for row in rows]
    block["id"] = [_hash(row[2]) for row in rows]
    block["vector"] = np.frombuffer(b"".join(row[3] for row in rows), "<f4").reshape(-1, dimension)
    block["sum"] = _sums(block["vector"])
    return block


def _slot(dimension: int) -> np.dtype[Any]:
    return np.dtype([("key", "<i8"), ("source", "<i8"), ("id", "<i8"), ("sum", "<i8"), ("vector", "<f4", (dimension,))])


def _sums(vectors: FloatArray) -> NDArray[np.int64]:
    """Return the sum of the bits of each vector, by which damage shows."""
    sums: NDArray[np.int64] = np.ascontiguousarray(vectors).view("<u4").sum(axis=1, dtype=np.int64)
    return sums


@lru_cache(maxsize=65_536)
def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)


def _later(a: Partition, b: Partition) -> bool:
    return a.next_key > b.next_key or a.holes > b.holes
