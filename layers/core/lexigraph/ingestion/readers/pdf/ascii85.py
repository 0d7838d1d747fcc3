"""A limit for ASCII85, the one filter of PDF that pypdf gives none: a letter of it takes up to a hundred bytes to decode.

Filters follow each other, so that 70 MB of such letters fit into a file of 70 kB.
"""

import base64
from typing import Any

_MOST = 10_000_000  # letters; one that stands for four zeros counts five times
_ZEROS = b"z"


def limit_ascii85() -> None:
    """Let pypdf decode no more of a stream than is allowed. Its versions are pinned by the locks."""
    from pypdf import filters

    vars(filters)["a85decode"] = _decode


def _decode(data: bytes, **options: Any) -> bytes:
    from pypdf.errors import LimitReachedError

    if len(data) + 4 * data.count(_ZEROS) > _MOST:
        raise LimitReachedError(f"more than {_MOST:,} letters of ASCII85")
    return base64.a85decode(data, **options)
