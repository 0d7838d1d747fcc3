"""Shared libraries without what only debuggers read: wheels of several packages bring more symbols than code."""

import struct

_MAGIC = b"\x7fELF\x02\x01"  # of 64 bits, little-endian: what Lambda's processors run
_SEGMENT = 56  # bytes of a program header


def without_symbols(data: bytes) -> bytes:
    """Return a library cut after its last segment, without its table of sections; what is none is returned as it is.

    A loader reads segments only. The tables of symbols and of lines that stand behind them, and the sections, are for
    linkers and debuggers; the names that a process looks up (``.dynsym``) are part of a segment.
    """
    if not data.startswith(_MAGIC):
        return data
    (at,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    ends = [at + count * _SEGMENT]
    for header in range(at, at + count * _SEGMENT, _SEGMENT):
        offset, _, _, size = struct.unpack_from("<4Q", data, header + 8)
        ends.append(offset + size)
    cut = bytearray(data[: max(ends)])
    struct.pack_into("<Q", cut, 40, 0)  # where sections are listed
    struct.pack_into("<HHH", cut, 58, 0, 0, 0)  # size of an entry, how many, which holds their names
    return bytes(cut)
