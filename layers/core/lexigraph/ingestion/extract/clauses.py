"""Which clauses of a parsed sentence state what is so, and with which words: a clause is read only when it is accounted for.

What is said under a condition, wished, or by a verb that states nothing (``to do``, ``do!``), is no fact; nor is what holds
only in a scope that a fact does not carry (``By default, ...``).
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.words import FINITE, listed

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

SUBJECTS = frozenset(["nsubj", "nsubjpass"])
RELATIVE = frozenset(["who", "which", "that", "whom", "whose", "where"])

_AUXILIARIES = frozenset(["aux", "auxpass", "neg", "prt"])
_CONDITION = listed("if unless whether until provided assuming suppose lest once when whenever otherwise where")
_CONDITIONAL = re.compile(rf"\b(?:{'|'.join(_CONDITION)}|in case|such that)\b", re.IGNORECASE)
_CONDITIONS = listed("if unless whether until provided assuming though lest once")
_SUPPOSED = re.compile(
    r"\W*(?:\(?\w{1,2}\)|\d+\.)?\W*"
    r"(?:if|unless|suppose|assuming|in case|imagine|let|otherwise|in (?:this|that) case|then)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(r"\W*(?:should|had|were|did|do|does|is|are|was|can|could|will|would|may)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:;|[;,]\s*(?:and|or))$")  # an item of an enumeration that is one sentence
_LEAD = 12  # words before a colon that limit what follows: ``BIT STRING: the value is ...``
_ATTENTION = listed("note warning tip important caution example")  # these do not
_REASONS = listed("because since although though while whereas as and but so")
_HARMLESS = listed(
    """
    however therefore thus hence also then further furthermore moreover additionally first firstly second secondly third
    thirdly finally lastly next now unfortunately fortunately alas indeed similarly likewise consequently nevertheless
    nonetheless still meanwhile later today recently eventually subsequently historically actually really hereby accordingly
    so yet simply therein
    """
)
_PARTICLES = listed("up out off down in on over away back about around through along forth aside apart together ahead")
_SAID_ASIDE = listed("addition example instance result fact particular course contrast words summary general practice")
_BETWEEN = frozenset([",", ";", ":", "(", ")", "—", "–", "--", '"', "“", "”", "'", "‘", "’", "*", "•", "[", "]", "..."])
_QUOTES = frozenset("\"'“”‘’`")
_SHORT = {
    "'s": "is",
    "n't": "not",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
    "'m": "am",
    "ca": "can",
    "wo": "will",
}

Spans = Mapping[int, tuple[int, int]]


def speaks(sentence: "Span", spans: Spans) -> bool:
    """Tell whether a sentence can state anything: no question or supposition, no part of an enumeration, under no label."""
    text = sentence.text.rstrip()
    if text.endswith("?") or _INVERTED.match(text) or _SUPPOSED.match(text) or _GOES_ON.search(text):
        return False
    opening = sentence[:_LEAD]
    colon = next((at for at, t in enumerate(opening) if t.text == ":" and t.i not in spans), 0)
    return not colon or opening[0].text.casefold() in _ATTENTION or any(t.dep_ in SUBJECTS for t in opening[:colon])


def conditional(text: str) -> bool:
    """Tell whether a sentence may hold a condition."""
    return bool(_CONDITIONAL.search(text))


def finite(verb: "Token") -> bool:
    """Tell whether a verb or its auxiliary has a subject of its own in the grammar: not ``to do``, ``doing``."""
    return any(v.tag_ in FINITE for v in [verb, *children(verb, {"aux", "auxpass"})])


def impersonal(verb: "Token") -> bool:
    """Tell whether a verb has no subject but ``there``."""
    return any(c.dep_ == "expl" or c.tag_ == "EX" for c in verb.children)


def past(verb: "Token") -> bool:
    """Tell whether a verb tells what happened."""
    return any(v.tag_ == "VBD" for v in [verb, *children(verb, {"aux", "auxpass"})])


def stated(verb: "Token", spans: Spans) -> bool:
    """Tell whether the clause of a verb is said of itself: not wished, asked for, reported or limited to some case."""
    if impersonal(verb) or not finite(verb):
        return False
    marks = {c.text.casefold() for c in verb.children if c.dep_ == "mark"}
    if not marks <= _REASONS or (marks and verb.dep_ == "ROOT"):
        return False
    head = verb.head
    if verb.dep_ == "ROOT":
        free = True
    elif verb.dep_ in ("conj", "parataxis"):
        free = stated(head, spans)
    elif verb.dep_ == "advcl":
        free = bool(marks or (past(verb) and past(head))) and finite(head) and stated(head, spans)
    elif verb.dep_ == "ccomp":
        before = verb.doc[max(0, verb.left_edge.i - 1)]
        free = not marks and (verb.i < head.i or before.text in (";", ":")) and head.dep_ == "ROOT"
    else:
        free = False
    return free and _open(verb, spans)


def _open(verb: "Token", spans: Spans) -> bool:
    """Tell whether nothing before the subject limits what is said: ``In 1990`` does not, ``By default`` does."""
    subject = next(iter(children(verb, SUBJECTS)), verb)
    tells = past(verb) and not children(verb, {"neg"})
    return tells or all(_harmless(c, spans) for c in verb.lefts if c.i < subject.i and c.dep_ not in _AUXILIARIES)


def _harmless(opening: "Token", spans: Spans) -> bool:
    dep, word = opening.dep_, opening.text.casefold()
    if dep in ("punct", "cc", "mark", "intj", "nsubj", "nsubjpass", "meta", "ccomp", "parataxis") or word in _HARMLESS:
        return True
    if dep == "prep":
        objects = children(opening, {"pobj"})
        return any(o.text.casefold() in _SAID_ASIDE for o in objects) or (
            word in ("unlike", "despite", "besides")
            or (word in ("in", "on", "at", "since", "as", "by") and any(o.ent_type_ == "DATE" for o in objects))
        )
    if dep == "advcl":
        marks = {c.text.casefold() for c in opening.children if c.dep_ == "mark"}
        closed = opening.right_edge.nbor().text == ","
        return marks <= _REASONS and (bool(marks) or (closed and opening.tag_ in ("VBN", "VBG")))
    return dep == "npadvmod" and opening.i in spans


def under_condition(verb: "Token") -> bool:
    """Tell whether a verb stands in a clause with ``if`` or the like, or has such a clause below it."""
    at = verb
    while True:
        if at.text.casefold() in ("provided", "assuming", "suppose") and at is not verb:
            return True
        marks = {c.text.casefold() for c in at.children if c.dep_ in ("mark", "advmod") and c.i < at.i}
        if marks & _CONDITIONS or (marks & {"when", "whenever"} and at.tag_ != "VBD"):
            return True
        for child in at.children:
            below = {c.text.casefold() for c in child.children if c.dep_ in ("mark", "advmod") and c.i < child.i}
            if child.dep_ == "advcl" and (below & _CONDITIONS or (below & {"when", "whenever"} and at.tag_ != "VBD")):
                return True
        if at.dep_ == "ROOT":
            return False
        at = at.head


def same_form(verb: "Token", joined: "Token") -> bool:
    """Tell whether a verb joined to another by ``and`` takes its subject and auxiliaries: ``creates and returns``."""
    if joined.tag_ == verb.tag_:
        return True
    modal = any(a.tag_ == "MD" for a in verb.lefts)
    return not modal and finite(verb) and (finite(joined) or {joined.tag_, verb.tag_} == {"VBD", "VBN"})


def predicate(verb: "Token") -> str:
    """A verb with its auxiliaries, negation, particle and what qualifies it, in lower case: ``is easily configured``."""
    at = _begins(verb)
    words = [t for t in verb.doc[at : verb.i] if t.text.casefold() not in _HARMLESS and t.dep_ != "punct"] + [verb]
    for token in verb.doc[verb.i + 1 : verb.i + 3]:
        if not _qualifies(token, verb):
            break
        words += [token] if token.text.casefold() not in _HARMLESS else []
    return " ".join(_written_out(t, verb) for t in words)


def _begins(verb: "Token") -> int:
    """Return where a verb begins with its auxiliaries and adverbs."""
    subject = max([t.i for t in children(verb, SUBJECTS)], default=-1)
    own = [t.left_edge.i for t in verb.lefts if t.i > subject and (t.dep_ in _AUXILIARIES or t.dep_ == "advmod")]
    if subject < 0:  # the subject stands before another verb: only what is next to this one
        own = [i for i in own if all(t.head == verb or t.head.head == verb for t in verb.doc[i : verb.i])]
    begin: int = min([verb.i, *own])
    return begin


def _qualifies(token: "Token", verb: "Token") -> bool:
    """Tell whether a token after a verb is its particle or an adverb of it."""
    adverb = token.dep_ in ("neg", "advmod") and token.tag_[:2] == "RB"
    particle = token.dep_ in ("prt", "advmod") and token.text.casefold() in _PARTICLES
    return token.head == verb and (adverb or particle)


def follows_at_once(verb: "Token", token: "Token") -> bool:
    """Tell whether nothing but its own adverbs and particles stands between a verb and what it governs."""
    return all(_qualifies(t, verb) or t.text in _QUOTES for t in verb.doc[verb.i + 1 : token.i])


def whole_word(verb: "Token") -> bool:
    """Tell whether a verb is not a part of another word: ``built-in``, ``review/approve``."""
    around = [verb.doc[i].text for i in (verb.i - 1, verb.i + 1) if 0 <= i < len(verb.doc)]
    return not {"-", "/"}.intersection(around)


def accounted(subject: "Token", verb: "Token", sentence: "Span", spans: Spans) -> bool:
    """Tell whether a subject is whole and next to its verb, so that neither is likely to be another one."""
    doc = verb.doc
    start, end = spans.get(subject.i, (subject.left_edge.i, subject.i + 1))
    start = min([start, *(t.left_edge.i for t in subject.lefts)])
    if start > sentence.start:
        before = doc[start - 1]
        if before.dep_ == "cc":
            # pipe(2) and fork(2) should: the second is no subject by itself
            if before.head.tag_[:2] != "VB" and before.head.dep_ != "ROOT" and subject.dep_ != "conj":
                return False
        elif not (before.text in _BETWEEN or before.dep_ == "mark" or _of_opening(before, verb) or subject.dep_ == "conj"):
            return False
    ends = {spans.get(t.i, (0, t.i + 1))[1] for t in joined(subject)} | {end}
    ends |= {c.right_edge.i + 1 for c in subject.rights if c.text == "of" or (c.dep_ == "appos" and c.left_edge.i == end)}
    at = _begins(verb)
    gap = doc[at - 1]
    return at in ends or gap.text in _BETWEEN or gap.text.casefold() in ("both", "all", "each", *RELATIVE)


def _of_opening(token: "Token", verb: "Token") -> bool:
    """Tell whether a token belongs to what opens a clause: ``In 1990 he``."""
    while token.head != token and token.head != verb:
        token = token.head
    return token.head == verb and token.dep_ in ("prep", "advmod", "npadvmod", "advcl", "cc", "mark")


def children(token: "Token", deps: frozenset[str] | set[str]) -> list["Token"]:
    """The tokens that depend on another one in one of some ways."""
    return [c for c in token.children if c.dep_ in deps]


def joined(head: "Token", most: int = 24) -> list["Token"]:
    """The head of a noun phrase and the nouns joined to it; of a long list the first."""
    found, at = [head], 0
    while at < len(found) < most:
        found += [c for c in found[at].rights if c.dep_ == "conj" and c.tag_[:2] not in ("VB", "MD")]
        at += 1
    return found[:most]


def _written_out(token: "Token", verb: "Token") -> str:
    word: str = token.text.lower().replace("’", "'")
    if word == "'s" and token.dep_ == "aux" and verb.tag_ == "VBN":
        return "has"
    return _SHORT.get(word, word)
