"""A question as the retrievers take it: checked once, at the edge."""

from dataclasses import dataclass
from unicodedata import normalize

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter

MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question and the filter on the sources it may draw on."""

    text: str
    filters: Filter | None = None

    @classmethod
    def of(
        cls, text: str, filters: Filter | None = None, *, max_chars: int = MAX_CHARS, name: str = "question"
    ) -> "Question":
        """Return a question, composed (NFC) as documents are. Raise ``InvalidInput`` if it has no letter or digit or is too
        long, in which it has the ``name`` of the field that holds it.
        """
        if not isinstance(text, str) or not any(c.isalnum() for c in text):
            raise InvalidInput(f"{name} must contain a letter or digit")
        if len(text) > max_chars:
            raise InvalidInput(f"{name} must have at most {max_chars:,} characters, got {len(text):,}")
        return cls(normalize("NFC", " ".join(text.replace("\x00", " ").split())), filters)
