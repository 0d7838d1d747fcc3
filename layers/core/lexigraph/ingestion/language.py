"""Which language a text is in, as an ISO 639-1 code: of a document by a model, of a part of it by its script.

The model is that of py3langid: 4.6 MB, on one core, and the same answer every time. English is told by its function words
without the model, which takes fifty times as long; many a script tells its language by itself.
"""

import re
from functools import cache
from typing import Any

from lexigraph.model.graph import Metadata
from lexigraph.model.scripts import ENGLISH, in_other_script, latin_language

_LEAST_LETTERS = 40
_OF_AN_IDEOGRAPH = 3  # letters that one says as much as
_SAMPLE, _SAMPLE_OF_MODEL, _SLICES = 2_000, 600, 4  # characters of a text that are looked at, in so many places
_ENGLISH_WORDS, _ENGLISH_SHARE = 4, 0.15  # different function words, and their share of all words
_SURE = {"Latin": 0.7}  # below, the model's best guess is none: in Latin script it guesses among sixty languages
_SURE_OF_OTHERS = 0.5
_CERTAIN = 0.9  # from here on the text is believed, not what its file says
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9]+)*")
_CODES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
    nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
    sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)
# script, its letters, the languages of it, the most frequent first; all others are written in Latin script
_TABLE = """
    Cyrillic   \u0400-\u052f                                        ru uk bg sr mk be kk ky mn tg tt ba cv ce os
    Arabic     \u0620-\u064a\u066e-\u06d3\u0750-\u077f          ar fa ur ps ug ku sd
    Devanagari \u0900-\u0963\u0966-\u097f                         hi mr ne sa
    Bengali    \u0980-\u09ff                                        bn as
    Kana       \u3041-\u30ff                                        ja
    Han        \u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff          zh
    Hangul     \u1100-\u11ff\uac00-\ud7af                         ko
    Greek      \u0370-\u03ff\u1f00-\u1fff                         el
    Hebrew     \u05d0-\u05ea                                        he yi
    Thai       \u0e01-\u0e4e                                        th
    Lao        \u0e81-\u0edf                                        lo
    Khmer      \u1780-\u17d3                                        km
    Burmese    \u1000-\u109f                                        my
    Georgian   \u10a0-\u10ff                                        ka
    Armenian   \u0531-\u0587                                        hy
    Ethiopic   \u1200-\u137f                                        am ti
    Gurmukhi   \u0a00-\u0a7f                                        pa
    Gujarati   \u0a80-\u0aff                                        gu
    Odia       \u0b00-\u0b7f                                        or
    Tamil      \u0b80-\u0bff                                        ta
    Telugu     \u0c00-\u0c7f                                        te
    Kannada    \u0c80-\u0cff                                        kn
    Malayalam  \u0d00-\u0d7f                                        ml
    Sinhala    \u0d80-\u0dff                                        si
    Tibetan    \u0f40-\u0fbc                                        bo dz
"""
_ROWS = [line.split() for line in _TABLE.strip().splitlines()]
_LETTERS = {script: re.compile(f"[{letters}]") for script, letters, *_ in _ROWS}
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_LANGUAGES = {script: languages for script, _, *languages in _ROWS}
_IDEOGRAPHS = frozenset({"Kana", "Han", "Hangul"})
_KANA_SHARE = 0.1  # of Kana beside Han, from which a text is Japanese


def language_of(text: str, declared: str = "") -> str:
    """Return the language of a document, empty when it cannot be told: one of fewer than 40 letters, or of none mostly.

    ``declared`` is what its file says (``de``, ``de-AT``): it wins unless it is written in another script, or the text is
    certainly in another language, as many a page is whose author left the ``lang`` of a template.
    """
    script, letters = _script(_sliced(text, _SAMPLE))
    said = code_of(declared)
    said = said if said and _fits(said, script) else ""
    if letters < _LEAST_LETTERS:
        return said
    language, certainty = _told(text, script)
    if said and certainty < _CERTAIN:
        return said
    return language if certainty >= _SURE.get(script, _SURE_OF_OTHERS) else ""


def language_within(text: str, language: str) -> str:
    """Return the language of a part of a document in ``language``: the same, unless the part is in another script.

    So the Japanese paragraph of an English document is Japanese, however short; a German one is taken for English.
    """
    if not in_other_script(text) and _fits(language, "Latin"):
        return language
    script, letters = _script(_sliced(text, _SAMPLE))
    if not letters or (language and _fits(language, script)):
        return language
    known = _LANGUAGES.get(script)
    if not known:
        return language_of(text) or "en"
    guess, certainty = _told(text, script)
    return guess if guess in known and certainty >= _SURE_OF_OTHERS else known[0]


def script_of(language: str) -> str:
    """Return the script that a language is mostly written in."""
    return next((script for script, languages in _LANGUAGES.items() if language in languages), "Latin")


def code_of(declared: object) -> str:
    """Return the ISO 639-1 code of what a file says its language is; empty when it says none: ``de`` of ``de-AT``."""
    found = _CODE.fullmatch(declared.strip()) if isinstance(declared, str) else None
    code = found[1].lower() if found else ""
    return code if code in _CODES else ""


def with_language(metadata: Metadata, text: str) -> Metadata:
    """Return metadata with the ``language`` of the document, where it can be told.

    What a user keeps there that is no code of a language stays as it is.
    """
    declared = metadata.get("language", "")
    language = language_of(text, code_of(declared))
    return {**metadata, "language": language} if language and (not declared or code_of(declared)) else metadata


# ---------------------------------------------------------------- private


def _sliced(text: str, size: int) -> str:
    """Return a text, or parts of one that is longer from its beginning, middle and end."""
    if len(text) <= size:
        return text
    part = size // _SLICES
    step = (len(text) - part) // (_SLICES - 1)
    return "\n".join(text[at * step : at * step + part] for at in range(_SLICES))


def _script(sample: str) -> tuple[str, int]:
    """Return the script that most of a text is in, and how many letters of Latin script it is worth."""
    counts = {"Latin": len(_LATIN.findall(sample))}
    if in_other_script(sample):
        for script, letters in _LETTERS.items():
            counts[script] = len(letters.findall(sample)) * (_OF_AN_IDEOGRAPH if script in _IDEOGRAPHS else 1)
        if counts["Kana"] > _KANA_SHARE * (both := counts["Kana"] + counts["Han"]):
            counts["Kana"], counts["Han"] = both, 0
    script = max(counts, key=counts.__getitem__)
    return script, counts[script]


def _fits(language: str, script: str) -> bool:
    """Tell whether a language is written in a script; Serbian, Uzbek and some others in Latin script, too."""
    if script == "Latin":
        return all(language not in languages or language in _TWO_SCRIPTS for languages in _LANGUAGES.values())
    return language in _LANGUAGES[script] or (language == "ja" and script == "Han")


_TWO_SCRIPTS = frozenset("sr kk tg tt ku ug yi".split())


def _told(text: str, script: str) -> tuple[str, float]:
    """Return the most likely language of a text, and how likely it is, 0 to 1."""
    if len(known := _LANGUAGES.get(script, [])) == 1:
        return known[0], 1.0
    if script == "Latin" and _is_english(_sliced(text, _SAMPLE)):
        return "en", 1.0
    language, certainty = _model().classify(_sliced(text, _SAMPLE_OF_MODEL)) if _model() else ("", 0.0)
    return language, float(certainty)


def _is_english(sample: str) -> bool:
    words = [word.lower() for word in _WORD.findall(sample)]
    function = [word for word in words if word in ENGLISH]
    enough = len(set(function)) >= _ENGLISH_WORDS and len(function) >= _ENGLISH_SHARE * len(words)
    return enough and not latin_language(words)


@cache
def _model() -> Any:
    """Return the identifier; None where py3langid is not installed: then languages that need it are not told."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([label for label in identifier.labels if label in _CODES])
    return identifier
