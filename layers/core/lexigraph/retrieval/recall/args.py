"""Parameters of a recall, and its query."""

from dataclasses import dataclass
from typing import Annotated
from unicodedata import normalize

from lexigraph.model.errors import InvalidInput
from lexigraph.model.names import checked_name
from lexigraph.model.question import MAX_CHARS
from lexigraph.retrieval.recall.sessions import DEFAULT
from lexigraph.retrieval.stages.args import Args, Range


@dataclass(frozen=True, slots=True)
class RecallArgs(Args):
    """Parameters of one recall (M-03 to M-05).

    | parameter | meaning | default |
    |---|---|---|
    | ``session_id`` | session whose earlier recalls are taken into account; ``default`` is private to the caller | default |
    | ``max_results`` | maximum nodes, 1 to 50, without those added as context | 10 |
    | ``force_regex`` | treat the query as a regular expression (RE2) | False |
    """

    session_id: str = DEFAULT
    max_results: Annotated[int, Range(1, 50)] = 10
    force_regex: bool = False

    def __post_init__(self) -> None:
        Args.__post_init__(self)
        checked_name("session_id", self.session_id)


def recall_query(text: str, *, force_regex: bool = False) -> str:
    """Return the query, composed (NFC) as documents are, with NUL and lone surrogates replaced.

    Raise ``InvalidInput`` if it is empty or too long (M-02).
    """
    if not isinstance(text, str) or not text.strip() or not (force_regex or any(c.isalnum() for c in text)):
        raise InvalidInput("query must contain a letter or digit, or be a regular expression with force_regex")
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"query must have at most {MAX_CHARS:,} characters, got {len(text):,}")
    clean = normalize("NFC", text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8"))
    return clean if force_regex else clean.strip()
