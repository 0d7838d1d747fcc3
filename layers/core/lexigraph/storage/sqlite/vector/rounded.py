"""The vectors of a mapped file once more, rounded to bytes: scanned in a fifth of the time, to find which may be nearest.

Each vector is bytes times a scale. How far a product with these can be from the exact one is known, so that a search which
scores all that may be among its best again, exactly, finds what a scan of the vectors themselves would. The file is written
under the lock of the file it is made of, and made anew when it is missing, damaged, or of another file than that.
"""

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.protocols import FloatArray
from lexigraph.storage.sqlite.vector.bytewise import checksum, write_at

LEAST = 4_096  # vectors: fewer are scanned as soon as they are
_HEADER = struct.Struct("<8sIIQQddI")
_MAGIC, _FORMAT, _START = b"LEXIBYTE", 1, 64
_SAMPLES = 16
_PART = 8_192  # vectors rounded at a time
_BLOCK = 4_096  # vectors that stay in a core's cache while each query is multiplied by them
_MOST = 127


@dataclass(frozen=True)
class Rounded:
    """Vectors as bytes, shape ``(vectors, dimension)``, times their ``scales``.

    No rounded vector is further than ``off`` from its own, or longer than ``longest``.
    """

    bytes_: NDArray[np.int8]
    scales: NDArray[np.float32]
    off: float
    longest: float

    def products(self, queries: FloatArray) -> tuple[FloatArray, list[float]]:
        """Return about the product of each query with each vector, (queries, vectors), and how far a query's are off."""
        dot = _dot()
        if dot is None:
            raise RuntimeError("simsimd is not installed")
        asked, scales, rests, _ = _round(queries)
        out = np.empty((len(queries), len(self.bytes_)), np.float32)
        for start in range(0, len(self.bytes_), _BLOCK):
            block = self.bytes_[start : start + _BLOCK]
            for query, row in zip(asked, out, strict=True):
                row[start : start + len(block)] = dot(block, query)
        out *= self.scales
        out *= scales[:, np.newaxis]
        lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
        return out, (lengths * self.off + rests * self.longest).tolist()


@dataclass(frozen=True, slots=True)
class _Header:
    of: int  # the number of the file that it is made of
    dimension: int
    vectors: int
    off: float
    longest: float

    @classmethod
    def read(cls, descriptor: int) -> "_Header | None":
        raw = os.pread(descriptor, _HEADER.size, 0)
        if len(raw) < _HEADER.size or raw[-4:] != checksum(raw[:-4]):
            return None
        magic, format_, dimension, of, vectors, off, longest, _ = _HEADER.unpack(raw)
        header = cls(of, dimension, vectors, off, longest)
        whole = os.fstat(descriptor).st_size >= _START + vectors * _row(dimension).itemsize
        return header if (magic, format_) == (_MAGIC, _FORMAT) and whole else None

    def pack(self) -> bytes:
        numbers = self.dimension, self.of, self.vectors, self.off, self.longest, 0
        body = _HEADER.pack(_MAGIC, _FORMAT, *numbers)[:-4]
        return body + checksum(body)


def rounded(path: Path, vectors: FloatArray, made: int, known: Rounded | None = None, *, write: bool) -> Rounded | None:
    """Return the vectors of the file that was ``made``, from the file at ``path``; None where that would gain nothing.

    ``known`` are the first of them, whose scales are not read again. With ``write`` the file is brought up to date, or made,
    first. Raise ``OSError`` where it cannot be.
    """
    if len(vectors) < LEAST or _dot() is None:
        return None
    with suppress(FileNotFoundError), path.open("r+b" if write else "rb") as file:
        header = _Header.read(file.fileno())
        if header and _is_of(file.fileno(), header, vectors, made):
            if write and header.vectors < len(vectors):
                header = _append(file.fileno(), header, vectors)
            if header.vectors >= len(vectors):
                return _mapped(file.fileno(), header, len(vectors), known)
    return _made(path, vectors, made) if write else None


def differs(path: Path, vectors: FloatArray, made: int) -> bool:
    """Tell whether there is a file that would be used, and holds anything else than the vectors rounded."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        header = _Header.read(file.fileno())
        if header is None or (header.of, header.dimension) != (made, vectors.shape[1]):
            return False
        off, longest, at = 0.0, 0.0, 0
        for rows, rests, lengths in _rows(vectors[: header.vectors]):
            if os.pread(file.fileno(), rows.nbytes, _START + at * rows.itemsize) != rows.tobytes():
                return True
            off, longest, at = max(off, rests.max()), max(longest, lengths.max()), at + len(rows)
        return header.off < off or header.longest < longest
    return False


def _is_of(descriptor: int, header: _Header, vectors: FloatArray, made: int) -> bool:
    """Compare some vectors, the first and the last among them, with those of the file."""
    if (header.of, header.dimension) != (made, vectors.shape[1]) or header.vectors == 0:
        return False
    size, last = _row(header.dimension).itemsize, min(header.vectors, len(vectors)) - 1
    chosen = np.linspace(0, last, _SAMPLES).astype(int)
    (rows, _, _), *_ = _rows(vectors[chosen])
    return all(
        os.pread(descriptor, size, _START + at * size) == row.tobytes()
        for at, row in zip(chosen.tolist(), rows, strict=True)
    )


def _made(path: Path, vectors: FloatArray, made: int) -> Rounded:
    """Write the file anew, and put it in the place of the old one."""
    new = path.with_suffix(".i8-new")
    try:
        with os.fdopen(os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "r+b") as file:
            header = _append(file.fileno(), _Header(made, vectors.shape[1], 0, 0.0, 0.0), vectors)
            new.replace(path)
            return _mapped(file.fileno(), header, len(vectors))
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _append(descriptor: int, header: _Header, vectors: FloatArray) -> _Header:
    off, longest, at = header.off, header.longest, header.vectors
    for rows, rests, lengths in _rows(vectors[at:]):
        write_at(descriptor, rows.tobytes(), _START + at * rows.itemsize)
        off, longest, at = max(off, float(rests.max())), max(longest, float(lengths.max())), at + len(rows)
    os.fsync(descriptor)  # the header must never tell of rows that a loss of power could take
    header = _Header(header.of, header.dimension, at, off, longest)
    write_at(descriptor, header.pack(), 0)
    return header


def _mapped(descriptor: int, header: _Header, count: int, known: Rounded | None = None) -> Rounded:
    row = _row(header.dimension)
    mapped = mmap.mmap(descriptor, _START + count * row.itemsize, access=mmap.ACCESS_READ)
    rows = np.frombuffer(mapped, row, count, _START)
    # far apart in the file: after each write all of them would be read for a few new ones
    before = known.scales[:count] if known else np.zeros(0, np.float32)
    scales = np.concatenate([before, rows["scale"][len(before) :]])
    return Rounded(rows["bytes"], scales, header.off, header.longest)


def _rows(vectors: FloatArray) -> Iterator[tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield rows of the file, how far each is from its vector, and how long it is, for some vectors at a time."""
    for start in range(0, len(vectors), _PART):
        part = vectors[start : start + _PART]
        rows = np.empty(len(part), _row(part.shape[1]))
        rows["bytes"], rows["scale"], rests, lengths = _round(part)
        yield rows, rests, lengths


def _round(vectors: FloatArray) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
    """Return vectors as bytes, their scales, how far they are then from what they were, and how long they are."""
    scales = np.abs(vectors).max(axis=1).astype(np.float32) / np.float32(_MOST)
    scales[scales == 0.0] = 1.0
    bytes_ = np.clip(np.rint(vectors / scales[:, np.newaxis]), -_MOST, _MOST).astype(np.int8)
    back = bytes_ * scales[:, np.newaxis].astype(np.float64)
    return bytes_, scales, np.linalg.norm(vectors - back, axis=1), np.linalg.norm(back, axis=1)


def _row(dimension: int) -> np.dtype[Any]:
    return np.dtype([("scale", "<f4"), ("bytes", "i1", (dimension,))])


@cache
def _dot() -> Callable[[NDArray[np.int8], NDArray[np.int8]], Any] | None:
    """Return what multiplies rows of bytes by a query; None where its package is not installed."""
    try:
        from simsimd import dot
    except ImportError:
        return None
    product: Callable[[NDArray[np.int8], NDArray[np.int8]], Any] = dot
    return product
