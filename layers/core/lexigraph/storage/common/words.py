"""What of a text is indexed and looked up by words, in the same way in every store.

The stores cut a text at what is no letter and stem its words as English. Where that does not serve, words are added, alike
to what is indexed and to what is asked: pairs of letters where no blank parts words, stems of other languages, words with
vowel signs. Nothing is added to English.
"""

import re
from unicodedata import normalize

from lexigraph.model.scripts import (
    FUNCTION_WORDS,
    MARKS,
    PARTICLE,
    WORD,
    grams,
    in_other_script,
    is_unspaced,
    latin_language,
    pieces,
    stemmed,
    without_optional,
)

_WORD = re.compile(r"[^\W_]+")
_MARKED = re.compile(rf"[^\W_]*[{MARKS}](?:[^\W_]|[{MARKS}])*")
# the stores cut words at signs: they are indexed as letters, rare ideographs that nobody writes within such a word
_AS_LETTERS = {ord(mark): 0x20000 + ord(mark) for mark in MARKS}
_LOOKED_UP = 200  # words of a text, from its beginning

_STOP_TEXT = (
    "a about above after again against all also am an and any are as at be because been before being below "
    "between both but by can could d did do does doing done down during each either else ever few for from "
    "further had has have having he her here hers herself him himself his how however i if in into is it its "
    "itself just ll m me more most must my myself no nor not now of off on once only onto or other ought our ours "
    "ourselves out over own per re s same shall she should since so some such t than that the their theirs them "
    "themselves then there these they this those though through thus to too toward towards under until up upon ve "
    "very via was we were what when where whether which while who whom whose why with within without would yet "
    "you your yours yourself yourselves"
)
_STOP_WORDS = frozenset(_STOP_TEXT.split())


def further_words(text: str) -> list[str]:
    """Return what is indexed of a text beside the words that a store finds in it itself, in order; nothing of English."""
    words = _WORD.findall(text.lower())
    language = latin_language(words)
    if in_other_script(text):
        words = WORD.findall(normalize("NFKC", text).lower())
    elif not language:
        return []
    further: list[str] = []
    for word in words:
        if runs := [piece for piece in pieces(word) if is_unspaced(piece)]:
            further += (gram for run in runs for gram in grams(run))
        elif word not in FUNCTION_WORDS.get(language, ()):
            bare = without_optional(word)
            forms = dict.fromkeys((bare, stemmed(bare, language)))
            further += (form for form in forms if form and (form != word or _MARKED.search(form)))
    return [word.translate(_AS_LETTERS) for word in further]


def looked_up(text: str, prefix: bool) -> tuple[list[str], str]:
    """Return the words of a text, each once, without stop words unless there are only those.

    ``prefix``: the last one may be the beginning of a word, and comes apart.
    """
    words = [word.lower() for word in WORD.findall(text)[:_LOOKED_UP]]
    begun = without_optional(words.pop()).translate(_AS_LETTERS) if words and prefix else ""
    stop = _STOP_WORDS | FUNCTION_WORDS.get(latin_language(words), frozenset())
    further = further_words(" ".join(words))[:_LOOKED_UP]
    words = [word for word in words if not _MARKED.search(word)] + further
    telling = [word for word in words if word not in stop and not PARTICLE.fullmatch(word)]
    return list(dict.fromkeys(telling if telling or begun else words)), begun
