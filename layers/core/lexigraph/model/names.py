r"""What may be a name that a client gives: of a namespace, a database, a session, a file, a text, a key. One rule for all.

A name is shown, compared, and part of ids and logs, so that what cannot be seen in it would make two names look alike,
turn a line round or break it.
"""

import re

from lexigraph.model.errors import InvalidInput
from lexigraph.model.secrets import holds_secret

LONGEST = 128
RULE = "must contain a visible character, and no control, bidirectional or zero-width characters"

# without the two joiners (U+200C, U+200D), which are part of words in many a language
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f"  # control
    r"\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # format, line ends, direction
    r"\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and joiners that take up room, or none, and show nothing
)
# part of words or signs in many a language, nothing alone: variation selectors, blank Braille
_BLANK = r" \u00a0\u1680\u180b-\u180d\u180f\u2000-\u200d\u202f\u205f\u2800\u3000\ufe00-\ufe0f"
# as JSON Schema, Python and Rust read it alike; what is left, lone surrogates and tags, :func:`visible` refuses
PATTERN = f"^[^{_UNSEEN}]*[^{_UNSEEN}{_BLANK}][^{_UNSEEN}]*$"
_NAME, _NEVER = re.compile(PATTERN), re.compile("[\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
_HIDDEN = re.compile(f"[{_UNSEEN}]|{_NEVER.pattern}")


def without_unseen(text: str) -> str:
    """Return a text that nobody gave as a name, such as that of a file on a disk, as one: on one line, all of it visible."""
    return " ".join(_HIDDEN.sub("", " ".join(text.split())).split())


def visible(name: str) -> str:
    """Return a name as it is. Raise ``ValueError`` with the rule that it breaks."""
    if not _NAME.fullmatch(name) or _NEVER.search(name):
        raise ValueError(RULE)
    if holds_secret(name):
        raise ValueError("must not contain an API key or private key, because names are shown to users")
    return name


def checked_name(field: str, name: object, longest: int = LONGEST) -> str:
    """Return a name as it is. Raise ``InvalidInput`` naming the ``field`` for one that breaks the rule."""
    if not isinstance(name, str) or not 1 <= len(name) <= longest:
        raise InvalidInput(f"{field} must have 1 to {longest} characters")
    try:
        return visible(name)
    except ValueError as error:
        raise InvalidInput(f"{field}: {error}") from None
