"""Where sentences begin: rules for what is certain, the parser for the rest."""

from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.words import listed

if TYPE_CHECKING:
    from spacy.tokens import Doc

# a full stop after these does not end a sentence
_TITLES = listed(
    """
    mr. mrs. ms. dr. st. prof. gen. col. lt. sgt. capt. cmdr. adm. maj. cpl. rev. hon. sen. rep. gov. pres. no. nos. vs.
    v. e.g. i.e. cf. fig. figs. eq. sec. ch. vol. pp. p. ed. eds. approx. ca. c. mt. ft. messrs. mme. mlle. fr. sr. op.
    al. ave. blvd. rd. est. incl. lit. née. b. d. r.
    """
)
_NEVER_LAST = frozenset(["e.g.", "i.e.", "vs.", "cf.", "v.", "mr.", "mrs.", "ms.", "dr."])
# words that begin a sentence even after an abbreviation, or where the space was lost
_STARTERS = listed(
    """
    The A An It He She They We You I This That These Those There In On At As But And His Her Its Their After Before
    During Since When While However Although For From By With To Also One Some Many Most All Both Each If Other Another
    Under Despite Because Today Then Later Through Until
    """
)
# before a Roman numeral, so that the full stop of World War I. ends a sentence
_NUMBERED = frozenset(["War", "Part", "Act", "Volume", "Chapter", "Type", "Phase", "Mark"])
_ENDS = frozenset([".", "!", "?", "…", "?!", "!?", "!!", "??", "!!!", "???", "...", "....", "。"])
_CLOSERS = frozenset(["'", '"', "''", "’", "”", "»", ")", "]"])
_MAX_BRACKET_TOKENS = 40


def mark_boundaries(doc: "Doc") -> "Doc":
    """Fix, before parsing, where a sentence begins and where none can; only doubtful places are left to the parser."""
    depth = opened = 0
    words = [t.text for t in doc]
    spaced = [bool(t.whitespace_) or w.isspace() for t, w in zip(doc, words, strict=True)]
    for i, token in enumerate(doc):
        if i:
            start = _starts(words, spaced, i) if not depth or i - opened > _MAX_BRACKET_TOKENS else False
            if start is not None:
                token.is_sent_start = start
            depth = 0 if start else depth
        inside = sum((c in "([") - (c in ")]") for c in words[i])
        opened = i if inside > 0 else opened
        depth = max(0, depth + inside)
    return doc


def _starts(words: list[str], spaced: list[bool], i: int) -> bool | None:
    """Return whether a sentence starts at token ``i``; None when only the parser can tell."""
    last = _before_closers(words, spaced, i - 1)
    end, word = words[last], words[i]
    if not end.endswith((".", "!", "?", "…", "。")) or word.isspace() or word in _ENDS:
        return False
    if word in _CLOSERS and not (spaced[i - 1] and not spaced[i]):
        return False
    if not any(spaced[last:i]):
        return _after_lost_space(words, last, i)
    opening = not word[0].isalpha()
    if not (opening or word[0].isupper()):
        return None if not word.islower() else False
    if end in _ENDS:
        return _after_stop(words, last, word)
    numbered = end in ("I.", "V.", "X.") and last > 0 and words[last - 1] in _NUMBERED
    return numbered or _after_abbreviation(end, word, opening)


def _before_closers(words: list[str], spaced: list[bool], last: int) -> int:
    """Step back over spaces, closing quotes and brackets, and reference marks such as ``[3]``."""
    while last > 0:
        if words[last] == "]" and last > 2 and words[last - 2] == "[" and words[last - 3] in _ENDS:
            last -= 3
        elif words[last].isspace() or (words[last] in _CLOSERS and not spaced[last - 1]):
            last -= 1
        else:
            break
    return last


def _after_lost_space(words: list[str], last: int, i: int) -> bool | None:
    if words[last] not in _ENDS or (i == last + 1 and words[i] in _CLOSERS):
        return False
    if words[i] in _STARTERS:
        return True
    return None if words[i].istitle() and (words[last - 1].islower() or words[last - 1] in _CLOSERS) else False


def _after_stop(words: list[str], last: int, word: str) -> bool | None:
    before = words[last - 1] if last else ""
    if words[last] == "." and (last == 0 or (before + ".").casefold() in _TITLES or (last == 1 and before.isdigit())):
        return False
    return True if words[last] in ".。" or word in _STARTERS else None


def _after_abbreviation(end: str, word: str, opening: bool) -> bool | None:
    folded = end.casefold()
    if word in _STARTERS and folded not in _NEVER_LAST:
        return True
    if folded in _TITLES or opening:
        return False
    return False if len(end) == 2 and end[0].isupper() else None
