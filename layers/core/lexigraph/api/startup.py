"""What is known of the API before it is loaded, which takes longer than the command line: whom it lets in, its page."""

from pathlib import Path
from typing import Literal

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
UNTIL_KEY: Literal["until_key"] = "until_key"
Openness = bool | Literal["until_key"]
PAGE = Path(__file__).parent / "page"  # of the explorer, as `make web` builds it
