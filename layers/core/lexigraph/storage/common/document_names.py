"""What a document store may be asked for: ids of sources and names of files. Checked before they become paths or keys."""

import re

from lexigraph.model.errors import InvalidInput

MAX_NAME_BYTES = 200
_SOURCE_ID = re.compile(r"source:([0-9a-f]{32})")
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f]|^\.")


def source_digits(source_id: str) -> str:
    """Return the 32 hexadecimal digits of a source id. Raise ``InvalidInput`` for anything else."""
    match = _SOURCE_ID.fullmatch(source_id)
    if not match:
        raise InvalidInput(f"source id {source_id[:80]!r} is not 'source:' and 32 hexadecimal digits")
    return match[1]


def is_source_id(text: str) -> bool:
    """Whether a text is the id of a source."""
    return _SOURCE_ID.fullmatch(text) is not None


def checked_name(name: str) -> str:
    """Return a name of a file that is allowed: 1 to 200 bytes of UTF-8 without slash, backslash and control characters,
    not starting with a full stop. Raise ``InvalidInput``.
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= MAX_NAME_BYTES or _FORBIDDEN.search(name):
        raise InvalidInput(
            f"file name {name[:80]!r} is not allowed: use 1 to {MAX_NAME_BYTES} bytes of UTF-8 without slash, backslash and "
            "control characters, not starting with a full stop"
        )
    return name
