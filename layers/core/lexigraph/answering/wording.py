"""The words by which a question and what may answer it are compared: stems, with what means the same alike. Pure."""

import re

from lexigraph.retrieval.stages import text

# who wrote a thing is told as "AUTHORS", "written by" or the first field of an e-mail; bytes that are written, and an
# authority, have no author
_AUTHORSHIP = re.compile(r"\b(?:wrote|written by|authors?|authored)\b|^From:(?= [^\n]*@)", re.IGNORECASE)
# what was added or introduced is told as "New in version 3.11" or "Added in: v3.11"
_ADDITION = re.compile(r"\b(?:new|added) in:? (?=(?:version|release)\b|v?\d+\.\d)", re.IGNORECASE)
# founded is not found, but established
_FOUNDING = re.compile(r"\b(?:founded|founding|founders?)\b", re.IGNORECASE)

# with what each is read as, and what a text has that it may match
_ALIKE = (
    (_FOUNDING, "established", ("found",)),
    (_AUTHORSHIP, "authorship", ("author", "from:", "written", "wrote")),
    (_ADDITION, "added introduced version ", ("added", "new")),
)


def stems(words: str, language: str | None = None) -> list[str]:
    """Return the stems of the content words of a text in order, as :func:`lexigraph.retrieval.stages.text.stems` does."""
    folded = words.casefold()  # of a hundred statements hardly one has such a word, and looking for one costs less
    for pattern, said, signs in _ALIKE:
        if any(sign in folded for sign in signs):
            words = pattern.sub(said, words)
    return text.stems(words, language)
