"""What of a text depends on its script and language: words where no blanks part them, marks that are no accents, stems.

Pure, and the same for what is indexed and for what is asked. A language is told here only as far as that changes how words
are cut and stemmed: by the script of each word, and in Latin script by the function words of a text. So a question of five
words is read like the text that answers it. Which language a document is in, a model tells at ingestion.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from lexigraph.model.stemmers import snowball

# Han with marks of repetition, Hiragana, Katakana, and Hangul, whose words take endings that no blank parts
_IDEOGRAPHS = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# Thai, Lao, Burmese, Khmer
_ALPHABETS = "\u0e01-\u0e2e\u0e30-\u0e45\u0e47-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"
UNSPACED = _IDEOGRAPHS + "\uf900-\ufaff\U00020000-\U0003134f" + _ALPHABETS
# Signs that belong to the letter before them, as the vowels of Hindi: neither ``\w`` nor the tokenizers of the stores take
# them for part of a word. The accents of Latin, Greek and Cyrillic, below U+0370, are none of them.
MARKS = "".join(chr(at) for at in range(0x591, 0x1800) if unicodedata.category(chr(at)) in ("Mn", "Mc"))
# Hebrew points, Arabic vowels, and the stroke that stretches Arabic words: most texts do without
_OPTIONAL = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")

_LATIN_WORD = re.compile(r"[^\W_]+")
WORD = re.compile(rf"[^\W_](?:[^\W_]|[{MARKS}])*")
# what only other scripts need is compiled when they come: its many ranges take milliseconds of every start
_LETTER = rf".[{MARKS}]*"
_RUN = f"[{UNSPACED}]+"
_PIECE = f"[{UNSPACED}]+|[^{UNSPACED}]+"
_IDEOGRAPH = f"[{_IDEOGRAPHS}]"
# of Hiragana alone: mostly endings and particles of Japanese, which say as little as stop words
PARTICLE = re.compile("[\u3041-\u309f]+")
OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u3005-\U0003134f]")

# which algorithm of Snowball stems a word of these letters alone
_BY_SCRIPT = [
    ("[а-яё]+", "russian"),
    ("[\u0621-\u063a\u0641-\u064a]+", "arabic"),
    ("[\u0900-\u0963\u0966-\u097f]+", "hindi"),
    ("[\u0370-\u03ff\u1f00-\u1fff]+", "greek"),
    ("[\u0561-\u0587]+", "armenian"),
    ("[\u0b80-\u0bff]+", "tamil"),
]
# The most frequent words of languages in Latin script for which there is a stemmer, but those of one
# letter. With and without accents, since questions are often typed without.
_FUNCTION_WORDS = {
    "en": (
        "about after an and are as at be been but by can could did do does for from had has have he her his how if in "
        "into is it its more not of on or other our she should some that the their them there these they this those to "
        "under was we were what when where which while who whom whose why will with would you your"
    ),
    "de": (
        "alle als am auch auf aus bei beim bis dann das dass dem den der des die diese dieser doch dort durch ein eine "
        "einem einen einer eines fuer für gegen haben hat hier ihr ihre ihren im in ins ist kann können mit nach nicht "
        "noch nur oder ohne sein seine seit sich sie sind ueber und vom von vor wann war warum was welche welchem welchen "
        "welcher welches wem wen wenn wer werden wessen wie wir wird wo woher wohin wurde wurden zu zum zur über"
    ),
    "fr": (
        "au aux avec ce ces cette combien comment dans de des du elle elles en est et était etait étaient il ils la le les "
        "leur leurs mais ont où ou par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi sa se ses son sont "
        "sur un une"
    ),
    "es": (
        "al como cómo con cual cuál cuales cuáles cuando cuándo cuánta cuántas cuánto cuántos de del donde dónde el en "
        "entre era es está esta este fue fueron la las lo los más no para pero por porque que qué quien quién quienes "
        "quiénes se ser su sus un una"
    ),
    "it": (
        "al alla anche che chi come con cosa da dal dalla degli dei del della delle di dove è era fu gli ha il in la le "
        "lo ma nel nella non per perché perche più piu quale quando si sono stata stato sua sul sulla suo un una"
    ),
    "pt": (
        "ao aos as com como da das de do dos é em entre era foi mas mais na nas no nos não nao onde os ou para pela pelo "
        "por porque qual quando que quem se ser sua são sao suas um uma"
    ),
    "nl": (
        "aan als bij dat de deze die dit door een en er het hij hoe hun in is maar met naar niet of om ook op te tot uit "
        "van voor waar wanneer waarom was wat welk welke werd werden wie wordt zich zijn"
    ),
    "sv": (
        "att av blev de den det detta där efter eller en ett från för ha har hur inte med men när och om på sig som till "
        "var vad varför vem vid vilka vilken är"
    ),
    "da": (
        "af at blev de den der det efter eller en er et for fra har hvad hvem hvilken hvor hvordan hvorfor hvornår ikke "
        "med men og om på sig som til var ved"
    ),
    "no": (
        "av at ble de den der det eller en er et etter for fra har hva hvem hvilken hvor hvordan hvorfor når ikke med men "
        "og om på seg som til var ved"
    ),
    "fi": "että hän ja joka jossa kanssa kuin kuka kun miksi mikä missä mitä milloin mutta myös oli olivat on ovat se tai",
    "pl": "co czy dla do gdzie go jak jest kiedy kto która które który ma na nie od oraz po przez są się to za że był była",
    "cs": "aby byl byla bylo co do ho jak jako je jeho jsou kde kdo kdy která které který na nebo od po pro se že",
    "hu": "az és egy hogy hol is ki kik meg mi mikor mint miért nem ő vagy volt voltak",
    "ro": "au care ce cine cu cum când de din după este fost în la mai nu pe pentru prin sau se și sunt un unde",
    "tr": "ama bir bu çok da daha de gibi hangi için ile kadar kim mi nasıl ne neden nerede olan olarak sonra ve veya",
    "id": (
        "ada adalah apa atau bagaimana dalam dan dari dengan di dimana ini itu kapan karena ke mana oleh pada siapa untuk "
        "yang"
    ),
    "ca": "al als amb com de del dels el els en era es és fou la les més on per però quan que què qui són un una va",
}
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
ENGLISH = FUNCTION_WORDS["en"]
_NOT_ENGLISH = frozenset().union(*FUNCTION_WORDS.values()) - ENGLISH
# with these a question begins, and no text in English
_ASK = frozenset(
    "wann warum welche welchem welchen welcher welches wem wen wer wessen wie wo woher wohin combien pourquoi quand quel "
    "quelle quelles quels qui cómo cuál cuáles cuándo cuánta cuántas cuánto cuántos dónde qué quién quiénes perché quale "
    "qual quem onde waar waarom wanneer welk welke hvad hvem hvilken hvor hvordan hvorfor hvornår varför vilken".split()
)
_ALGORITHMS = {
    "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch", "sv": "swedish",
    "da": "danish", "no": "norwegian", "fi": "finnish", "pl": "polish", "cs": "czech", "hu": "hungarian", "ro": "romanian",
    "tr": "turkish", "id": "indonesian", "ca": "catalan",
}  # fmt: skip


def latin_language(words: Sequence[str]) -> str:
    """Return the language of lower-case words by the function words among them; empty for English, and when in doubt.

    They tell when two or more are of one language and not of English, more than twice as many as are of English and not
    of this language: a name such as *Der Spiegel* or *La Paz*, or one in an English sentence, tells nothing. A word that
    asks, at the beginning, counts as two: *Welche Frist gilt?*
    """
    distinct, asks = frozenset(words), _ASK.intersection(words[:1])
    if len(distinct & _NOT_ENGLISH) + len(asks) < 2:
        return ""
    counts = {of: len(distinct & known) + len(asks & known) for of, known in FUNCTION_WORDS.items() if of != "en"}
    best = max(counts, key=counts.__getitem__)  # of those that tie the first, for what is indexed and what is asked
    known = FUNCTION_WORDS[best]
    own = len(distinct & known - ENGLISH) + len(asks & known)
    return best if own >= 2 and own > 2 * len(distinct & ENGLISH - known) else ""


def told_language(text: str) -> str:
    """Return the language that the function words of a text tell, as :func:`latin_language` does."""
    return latin_language(_LATIN_WORD.findall(text.lower()))


def has_unspaced(text: str) -> bool:
    """Tell whether a text has letters of a script that has no blanks between words."""
    return not text.isascii() and re.search(_RUN, text) is not None


def pieces(word: str) -> list[str]:
    """Return the parts of a word that are written without blanks, and those that are not, in order."""
    return re.findall(_PIECE, word) if has_unspaced(word) else [word]


def is_unspaced(piece: str) -> bool:
    """Tell whether a piece of a word is in a script that has no blanks between words."""
    return not piece.isascii() and re.match(_RUN, piece) is not None


def grams(run: str) -> list[str]:
    """Return the overlapping pairs of a run of letters that no blank parts, threes of an alphabet; a short run is itself.

    Finds what a dictionary would cut, and what is in none, with no dictionary to agree on. Lucene does the same to Chinese,
    Japanese and Korean.
    """
    letters = re.findall(_LETTER, run)
    size = 2 if re.match(_IDEOGRAPH, run) else 3
    if len(letters) <= size:
        return [run]
    return ["".join(letters[at : at + size]) for at in range(len(letters) - size + 1)]


def without_optional(text: str) -> str:
    """Return a text without the vowel signs of Arabic and Hebrew, which are written or not."""
    return text if text.isascii() else _OPTIONAL.sub("", text)


def in_other_script(text: str) -> bool:
    """Tell whether a text has letters of another script than the Latin one."""
    return not text.isascii() and OTHER_SCRIPT.search(text) is not None


_stem = lru_cache(maxsize=65_536)(snowball)


def stemmed(word: str, language: str = "") -> str:
    """Return the stem of a lower-case word of a language other than English, or the word, where no stemmer knows it.

    Outside Latin script, the letters of the word tell the stemmer; in it, ``language`` does.
    """
    if not in_other_script(word):
        return _stem(word, _ALGORITHMS[language]) if language in _ALGORITHMS else word
    return next((_stem(word, algorithm) for letters, algorithm in _BY_SCRIPT if re.fullmatch(letters, word)), word)
