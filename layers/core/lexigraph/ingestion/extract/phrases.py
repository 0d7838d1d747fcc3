"""How far the words of an object reach: all that says which one is meant, up to the next break in the sentence."""

import re
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.clauses import RELATIVE, Spans, children, finite, joined
from lexigraph.ingestion.extract.names import without_open_brackets
from lexigraph.ingestion.extract.words import FINITE, listed

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

MAX_WORDS = 14

_BREAKS = frozenset([";", "(", "[", "—", "–", "--", "...", "…", "*"])
_AFTER_OBJECT = frozenset(["prep", "agent", "advmod", "npadvmod", "advcl", "prt", "dative", "punct", "acl", "relcl"])
# prepositions that tell when or where something happened, without which it is as true
CIRCUMSTANCES = listed("in on at from since during by until near after before")
_ARTICLES = listed("the a an either both")
_POINTING = listed("this that these those such said following above below aforementioned")
_SIGNS = re.compile(r"[=<>{}|\\;]|://")
_QUOTES = "\"'`“”‘’ ,;:"
# of which nothing can be asked
_EMPTY = listed(
    """
    what which who whom that this these those it them him her us you me one ones two three some any all none each both
    either neither such other others another following same way ways thing things lot case cases example anything something
    nothing everything anyone someone more less most much many few first second third latter former rest there here so
    hope addition order turn general particular fact practice use respect course effect account place part advantage detail
    parts kind kinds type types sort manner extent purpose purposes reason reasons way
    """
)


def phrase(head: "Token", sentence: "Span", spans: Spans, *, entire: bool = False) -> str:
    """Return an object as the text has it without its article; empty when it is too long, points elsewhere or is in doubt.

    With ``entire`` it must be all that is said.
    """
    start, end = first(head, spans), reach(head, sentence, spans)
    after = head.doc[end] if end < sentence.end else None
    if not end or (entire and after is not None and after.text not in (".", ";", "!", ")")):
        return ""
    words = head.doc[start:end]
    if not entire and not alternative(head) and not _fits(words):
        words = head.doc[start : _first_members(head, start, end)]
    if not len(words) or not _fits(words) or _open_ended(words, head):
        return ""
    noun_only = len(words) == 1 and words[0].text.islower()
    return "" if noun_only and after is not None and after.text == "(" else tidy(words.text)


def _fits(words: "Span") -> bool:
    return len(words.text.split()) <= MAX_WORDS


def _first_members(head: "Token", start: int, end: int) -> int:
    """Return where the first members of a list end that are short enough together."""
    members = joined(head)
    ends = [t.right_edge.i + 1 for t in members] + [c.i for t in members for c in t.rights if c.dep_ in ("cc", "punct")]
    return max((e for e in ends if start < e < end and _fits(head.doc[start:e])), default=start)


def _open_ended(words: "Span", head: "Token") -> bool:
    """Tell whether a phrase points elsewhere or lacks its end: ``these files``, ``bounds checking on global``."""
    last = words[-1]
    adjective = last.tag_ == "JJ" and last.head.i >= words.end
    if any(t.text.casefold() == "either" for t in head.lefts) and not any(t.text.casefold() == "or" for t in words):
        return True
    points = any(t.text.casefold() in ("following", "these", "those") and t.dep_ in ("det", "amod") for t in words)
    lacks = last.tag_ in ("IN", "TO", "CC", "DT", "WDT") or last.text[-1] in "/_-"
    return points or lacks or adjective or words[0].text.casefold() in _POINTING or not words.start <= head.i < words.end


def tidy(text: str) -> str:
    """Return words on one line without the quotes and commas around them and without an open bracket."""
    text = " ".join(text.split()).strip(" ,;:")
    if sum(c in "\"'`“”‘’" for c in (text[:1], text[-1:])) != 1:
        text = text.strip(_QUOTES)
    return without_open_brackets(text)


def first(head: "Token", spans: Spans) -> int:
    """Return where a noun phrase starts, after its article."""
    start: int = min([spans.get(head.i, (head.i, 0))[0], *(t.left_edge.i for t in head.lefts)])
    while start < head.i and (head.doc[start].text.casefold() in _ARTICLES or head.doc[start].dep_ == "punct"):
        start += 1
    return start


def reach(head: "Token", sentence: "Span", spans: Spans) -> int:
    """Return where an object ends, 0 when what follows is in doubt.

    It goes on with all that is said of it, and of its verb, to the next comma that joins no list, bracket, dash, clause or
    circumstance (``in 1990``).
    """
    doc, own = head.doc, {t.i for t in head.subtree}
    at: int = spans.get(head.i, (0, head.i + 1))[1]
    while at < sentence.end:
        token = doc[at]
        if _breaks(token, head, own, spans):
            return 0 if _restricts(token, own) else at
        if token.text == ":":
            return 0 if at + 1 >= sentence.end else at
        if not _belongs(token, head, own):
            return 0
        at += 1
    return at


def _restricts(token: "Token", own: set[int]) -> bool:
    """Tell whether what follows a break still says which one is meant: ``, but which is not ...``, ``(6 km) south of``."""
    if token.text == "(":
        after = next((t.i + 1 for t in token.doc[token.i :] if t.text == ")"), len(token.doc))
        return after in own and not (token.doc[after].is_punct or token.doc[after].dep_ in ("cc", "conj", "relcl"))
    if token.text == "," and token.i + 2 < len(token.doc):
        return token.nbor().text == "but" and token.nbor(2).tag_ in ("WDT", "WP", "RB", "IN")
    return token.dep_ == "mark" and token.text.casefold() == "as" and not finite(token.head)


def _breaks(token: "Token", head: "Token", own: set[int], spans: Spans) -> bool:
    if token.text in _BREAKS and token.nbor(-1).whitespace_:
        return True
    if token.text == ",":
        return not (token.i in spans and spans[token.i][0] < token.i) and not _lists(token, head)
    if token.text in (".", ")", "!") and token.dep_ == "punct":
        return True
    if token.i in own:
        return False
    above = {a.i for a in head.ancestors}
    if token.dep_ == "cc":
        return token.head.i in above
    if token.dep_ == "mark" or token.tag_ == "WRB":
        return True
    return circumstance(token, spans) or (token.dep_ in ("npadvmod", "advmod") and token.i in spans)


def circumstance(token: "Token", spans: Spans) -> bool:
    """Tell whether a token opens ``in 1990`` or ``at Oxford``."""
    return (
        token.dep_ in ("prep", "agent")
        and token.text.casefold() in CIRCUMSTANCES
        and any(o.i in spans for o in children(token, {"pobj"}))
    )


def _lists(comma: "Token", head: "Token") -> bool:
    """Tell whether a list goes on after a comma."""
    following = comma.nbor() if comma.i + 1 < len(comma.doc) else comma
    if following.dep_ == "cc" and following.i + 1 < len(comma.doc):
        following = following.nbor()
    at, above = following, {a.i for a in head.ancestors}
    while at.head.i not in above and at.head != at and at != head:
        if at.dep_ in ("conj", "amod") and at.left_edge.i == following.i:
            return True
        at = at.head
    return False


def _belongs(token: "Token", head: "Token", own: set[int]) -> bool:
    """Tell whether a token after an object is a part of it or says more of what its verb tells; others are misread."""
    if token.i in own:
        if token.tag_ not in FINITE:
            return True
        clause = next((a for a in [token, *token.ancestors] if a.dep_ in ("relcl", "ccomp", "advcl") or a == head), head)
        return bool(clause != head)
    above, at = {a.i for a in head.ancestors}, token
    while at.head.i not in above and at.head != at:
        at = at.head
    return bool(at.head != at and at.dep_ in _AFTER_OBJECT and token.tag_ not in FINITE)


def restricted(head: "Token", spans: Spans) -> bool:
    """Tell whether words right after a noun say which is meant: ``software in source form``; a place or date does not."""
    end = spans.get(head.i, (0, head.i + 1))[1]
    for child in head.rights:
        next_to = child.left_edge.i == end and not child.left_edge.is_punct
        if child.dep_ in ("prep", "acl", "relcl") and next_to and not circumstance(child, spans):
            return True
    return False


def qualified(head: "Token", spans: Spans, *, person: bool) -> bool:
    """Tell whether words before a name say which one, or how many, are meant: ``some PRs``, ``the initial contributor``."""
    start = spans.get(head.i, (head.i, 0))[0]
    for left in head.lefts:
        word = left.text.casefold()
        if left.i >= start or left.dep_ in ("punct", "cc", "preconj", "case", "poss"):
            continue
        if left.dep_ in ("det", "predet"):
            if word not in ("the", "a", "an", "this", "each", "every", "both"):
                return True
        elif not (
            person
            or (left.dep_ in ("compound", "nmod", "appos") and left.text.islower() and left.tag_[:2] == "NN")
            or left.ent_type_ == "NORP"
        ):
            return True
    return False


def empty(text: str) -> bool:
    """Tell whether a phrase names nothing: ``the following``, ``one``; or is no phrase but signs."""
    words = text.casefold().split()
    return (
        not words
        or words[-1] in _EMPTY
        or (words[0] in _EMPTY and len(words) < 3)
        or text.casefold() in RELATIVE
        or signs(text)
        or (text.isdigit() and len(text) < 3)
    )


def signs(text: str) -> bool:
    """Tell whether a text is code rather than words."""
    return bool(_SIGNS.search(text))


def alternative(head: "Token") -> bool:
    """Tell whether nouns are joined by ``or``: of these neither is said."""
    return any(c.dep_ == "cc" and c.text.casefold() in ("or", "nor", "and/or") for t in joined(head) for c in t.rights)
