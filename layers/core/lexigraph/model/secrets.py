"""What a key looks like: those of the HTTP API, and private keys. Text that holds one is ingested by nobody.

A reader who may only ask would otherwise be quoted the key of an administrator.
"""

import re

from lexigraph.model.errors import InvalidInput

KEY_PREFIX = "lxk_"
# names of options and variables whose values are not shown
SECRET_NAME = re.compile(r"key|token|secret|passw|credential|authorization|bearer", re.IGNORECASE)
_SECRETS = (
    rf"{KEY_PREFIX}[0-9a-f]{{8}}_[A-Za-z0-9_-]{{43}}|"
    # the head alone stands in many a manual; line ends may be written out, as in JSON, and an encrypted key says how it is
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:\s|\\[rn]){1,8}"
    r"(?:(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,-]{1,80}(?:\s|\\[rn]){1,8}){0,2}[A-Za-z0-9+/=]{40}"
)
_IN_TEXT, _IN_BYTES = re.compile(_SECRETS), re.compile(_SECRETS.encode())


def holds_secret(given: str | bytes) -> bool:
    """Whether a text, or the bytes of a file, hold a whole key of the HTTP API or a private key (PEM)."""
    return bool(_IN_TEXT.search(given) if isinstance(given, str) else _IN_BYTES.search(given))


def sent_key(name: str, key: str) -> str:
    """Return a key as a header takes it, without the line end that a file of secrets leaves.

    Raise ``InvalidInput`` naming where it is from, and never the key, as what HTTP refuses it quotes.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"{name}: the key holds a line end or a character that is not ASCII: copy it again")
    return key
