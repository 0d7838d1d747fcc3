"""Bytes of the files beside the database: written whole, and known by their sum."""

import os
import zlib


def write_at(descriptor: int, data: bytes, at: int) -> None:
    """Write all of the data at a place of an open file, however many bytes the system takes at once."""
    while data:
        written = os.pwrite(descriptor, data, at)
        data, at = data[written:], at + written


def checksum(data: bytes) -> bytes:
    """Return the four bytes by which damage of a header shows."""
    return zlib.crc32(data).to_bytes(4, "little")
