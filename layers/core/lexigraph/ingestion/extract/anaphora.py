"""What a sentence leaves to the sentences before it: pronouns, ``this function``, ``However``; and what they mean there.

A pointer is replaced only by the subject of the sentence before, where number and kind agree and nothing rivals it; all
else is told to hang on that sentence.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.clauses import SUBJECTS, finite
from lexigraph.ingestion.extract.words import MANY, PERSON, THING, listed

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_DEMONSTRATIVE = listed("this these that those")
_POSSESSIVE = listed("its their his her")

_GATE = re.compile(
    r"\b(?:its?|itself|they|them|theirs?|themselves|s?he|him|his|hers?|this|that|these|those|such|former|latter|both|neither|"
    r"either|another|others?|ones?|same|above|some|each|none|most|many|the|a)\b",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"""\W*(?:(?:
    and|but|or|nor|yet|so|then|thus|therefore|hence|however|otherwise|instead(?!\ of)|consequently|accordingly|
    nevertheless|nonetheless|conversely|unfortunately|fortunately|additionally|in\ addition(?!\ to)|
    secondly|thirdly|similarly|likewise|alternatively|rather(?!\ than)|still|else|besides|afterwards?|
    thereafter|meanwhile|again|also|here|too|same|worse|better|either\ way|even\ so|until\ then|that\ is|e\.g\.|i\.e\.|
    for\ (?:example|instance|this|that|these)|in\ (?:this|that|such|these|those|either|both|other|contrast|turn)|
    on\ the\ (?:other|contrary)|as\ (?:a\ (?:result|consequence)|such|with|above)|
    (?:at|by|of|from|with|after)\ (?:this|that)|
    (?:if|when)\ (?:so|not|this|that|it|they)|because\ of\ (?:this|that)|
    to\ (?:do|avoid|prevent|achieve|fix|solve)\ (?:so|this|that|it)|
    the\ (?:former|latter|same|rest|above|first|second|third|other|others|latest|remaining|
    resulting|returned|corresponding)|in\ which\ case|which|whose|where|whereas|after\ all|that\ said|previously|
    (?:on\ |an?)?other|(?:please\ )?see|for\ (?:more\ )?(?:details|information)|
    (?:valid|possible|allowed|the)\ values?|a\ value\ of|if\ (?:omitted|unspecified|set|given|enabled|specified)|
    note(?:\ that|:|,?\ however)|(?:warning|caution):|typical\ \w+|examples?\ (?:are|is|include|of\ this)|
    in\ the\ (?:example|above|previous|following\ example)
    )\b)(?!\s+(?:of\s+the|far)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_LINK = re.compile(
    r"\W*(?:in (?:particular|turn)|also|here (?:is|are)|"
    r"the (?:first|second|third|other|latest) (?:\w+ ){1,2}(?:of|to|in))\b",
    re.IGNORECASE,
)
# what a clause is said to be by an "it" that stands for nothing
_JUDGED = (
    "possible|impossible|necessary|unnecessary|recommended|important|easy|easier|hard|harder|difficult|useful|likely|unlikely|"
    "common|advisable|best|better|good|bad|safe|unsafe|sufficient|enough|clear|unclear|true|false|required|allowed|permitted|"
    "forbidden|legal|illegal|worth|helpful|desirable|preferable|convenient|customary|intended|planned|expected|assumed|known|"
    "understood|believed|said|reported|estimated|thought|suggested|noted|hoped|acceptable|appropriate|reasonable|tempting|"
    "courteous|essential|crucial|vital|natural|normal|usual|typical|rare|obvious|wise|fine|ok|okay|nice|time"
)
_EMPTY_IT = re.compile(
    rf"""\bit(?:
    (?:['’]s|\s+(?:is|was|be|has\ been|seems|becomes|
    (?:may|might|can|could|will|would|should|must)(?:\s+not)?\s+(?:also\s+)?be))\s+
    (?:(?:\w+ly|also|not|often|very|more|most|only|always|still|far|quite|even|then|therefore)\s+)*(?:{_JUDGED})(?=,|\s+(?:[\w-]+\s+){{0,2}}(?:to|that|for|if|whether|when|what|how|why)\b)
    |(?:['’]s|\s+(?:is|was))\s+(?:the|an?|your|our)\s+(?:[\w'’]+\s+){{1,5}}(?:to|that)
    |\s+(?:may\s+|might\s+|can\s+|also\s+)?(?:seems?|appears?|takes?|took|turns?\ out|follows|happens?|depends|helps|
    makes?\ sense|goes|rains?|costs?)
    |\s+(?:{_JUDGED})\s+(?:to|that|for)
    )\b|\b(?:as|than)\s+it\s+(?:is|was)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# a noun after "this" that speaks of the text itself, or of the moment: the sentence stands alone with it
_OF_THE_TEXT = listed(
    """
    document documentation manual page chapter section guide tutorial article book license licence paper specification
    faq howto readme text year month week day morning evening century time release agreement notice site website
    """
)
# "the command" as a subject stands for the thing that the section is about
_STAND_INS = listed(
    """
    function method command option options call module class tool utility script argument parameter value property attribute
    callback operator statement variable field macro structure flag switch routine program feature event signal constant
    keyword setting result output input string number size field object instance type format api interface test
    procedure process system directory name list key code code
    """
)
# what is always that of something: "the default" is that of the option just described
_OF_SOMETHING = listed(
    """
    default defaults implementation difference differences reason problem issue solution effect idea purpose goal rest
    advantage disadvantage drawback aim restriction exception exceptions translation assertion consequence
    """
)
_ONE_OR_MANY = frozenset(["conj", "nsubj", "nsubjpass"])
_ANY_SUBJECT = frozenset(["nsubj", "nsubjpass", "expl", "csubj", "csubjpass"])
_NOUNS = frozenset(["NN", "NNS", "NNP", "NNPS"])
_ONE = frozenset(["NN", "NNP"])
_LEFT = frozenset(["det", "amod", "compound", "nummod", "nmod", "quantmod", "poss", "advmod", "case", "punct"])
_MAX_MENTION_WORDS = 8
_IDENTIFIER = re.compile(r"[\w.:-]+\(\w*\)|\w*[a-z][A-Z]\w*|\w+_\w*|_\w+|--?\w[\w-]*|\w+\.\w+\S*")


@dataclass(frozen=True, slots=True)
class Mention:
    """What a noun phrase speaks of: its ``text`` as it may stand in a sentence, ``many`` for a plural."""

    text: str
    noun: str
    many: bool
    name: bool = False
    person: bool = False

    @property
    def definite(self) -> str:
        """The phrase as something known: ``the pipe`` for ``a pipe``."""
        first, _, rest = self.text.partition(" ")
        if self.name or not rest:
            return self.text
        return f"the {rest}" if first.casefold() in ("a", "an", "the", "this", "each", "every", "any") else self.text


@dataclass(frozen=True, slots=True)
class Pointer:
    """A word, or ``this`` and its noun, that points out of a sentence: tokens ``start`` to ``end`` of the parsed text."""

    start: int
    end: int
    word: str
    noun: str = ""
    subject: bool = False


@dataclass(slots=True)
class Discourse:
    """What the last sentence spoke of; ``topic`` are words for what the section is about."""

    topic: str = ""
    subject: Mention | None = None
    others: list[Mention] = field(default_factory=list)
    nouns: frozenset[str] = frozenset()

    def forget(self) -> None:
        """Begin another section."""
        self.subject, self.others, self.nouns = None, [], frozenset()

    def hear(self, sentence: "Span", subject: Mention | None) -> None:
        """Take note of a sentence and of what its subject means."""
        self.subject = subject
        self.nouns = frozenset(t.text.casefold().removesuffix("s") for t in sentence if t.tag_ in _NOUNS)
        heads = [t for t in sentence if t.dep_ in ("dobj", "pobj", "nsubj", "nsubjpass") and t.tag_ in _NOUNS]
        self.others = [m for t in heads for m in [mention(t)] if m and (not subject or m.noun != subject.noun)]

    def goes_on(self, sentence: "Span") -> bool:
        """Tell whether a sentence begins with ``the pipe`` after one that spoke of a pipe: which one was said there."""
        the, noun = sentence[0], sentence[1] if len(sentence) > 1 else sentence[0]
        if the.text != "The" or noun.tag_ not in ("NN", "NNS") or noun.dep_ not in SUBJECTS:
            return False
        if any(t.dep_ in ("prep", "relcl", "acl", "appos", "conj") for t in noun.rights):
            return False
        word = noun.text.casefold()
        return word in _OF_SOMETHING or word.removesuffix("s") in self.nouns

    def meaning(self, pointer: Pointer) -> Mention | None:
        """Return what a pointer means, None when that is not certain."""
        if pointer.noun:
            return self._named(pointer)
        many = pointer.word in MANY
        one = self.subject
        if pointer.word in PERSON or pointer.word in _DEMONSTRATIVE or not one or one.many != many or one.person:
            return None
        rivals = [m for m in self.others if m.many == many and (not one.name or m.text[:2] in ("a ", "an"))]
        return None if rivals or not pointer.subject else one

    def _named(self, pointer: Pointer) -> Mention | None:
        """Take ``this function`` for the one of that noun of which the sentence before spoke."""
        noun = pointer.noun.casefold()
        same = [m for m in [self.subject, *self.others] if m and m.noun == noun and len(m.text.split()) > 2]
        if len(same) == 1:
            return same[0]
        if noun in _STAND_INS and self.subject and self.subject.name and _IDENTIFIER.search(self.subject.text):
            return Mention(f"the {self.subject.text} {pointer.noun}", noun, False)
        return None


def hangs(text: str) -> bool:
    """Tell whether the first words of a sentence refer to the sentence before: ``However``, ``In this case``."""
    return bool(_LINK.match(text)) and not _NO_LINK.match(text)


def pointer(sentence: "Span", text: str) -> Pointer | None:
    """Return the first word of a sentence that points to something outside it, None when there is none."""
    if not _GATE.search(text):
        return None
    empty = [m.start() for m in _EMPTY_IT.finditer(text)]
    base = sentence.start_char
    for token in sentence:
        word = token.text.casefold()
        if word in ("it", "its", "itself") and (token.idx - base in empty or token.dep_ == "expl"):
            continue
        if word in THING or word in MANY or word in PERSON:
            if token.tag_ in ("PRP", "PRP$") and not _told_inside(token, sentence, word):
                return Pointer(token.i, token.i + 1, word, subject=_opens(token, sentence))
        elif word in _DEMONSTRATIVE:
            found = _demonstrative(token, sentence, word)
            if found:
                return found
        elif word == "such" and token.i - sentence.start > 1:
            if (found := _such(token, sentence)) is not None:
                return found
        elif word in ("such", "both", "neither", "another", "some", "others", "none", "each", "most", "many", "one"):
            if _bare_quantity(token, sentence, word):
                return Pointer(token.i, token.i + 1, word)
        elif word == "above" and token.tag_ in ("JJ", "NN", "NNP") and sentence.doc[token.i - 1].text.casefold() == "the":
            return Pointer(token.i, token.i + 1, word)
        elif word == "the" and token.i == sentence.start:
            head = token.head
            known = head.text.casefold() in _STAND_INS and head.i == token.i + 1 and head.dep_ in SUBJECTS
            if known and not any(c.dep_ in ("prep", "relcl", "acl", "appos") for c in head.rights):
                return Pointer(token.i, head.i + 1, word, head.text, subject=True)
    return None


def _opens(token: "Token", sentence: "Span") -> bool:
    """Tell whether a pronoun is the subject of the sentence's first clause, or its owner."""
    head = token.head if token.dep_ != "poss" else token.head.head
    return token.i - sentence.start < 3 or (head.dep_ == "ROOT" and token.dep_ in SUBJECTS)


def _told_inside(token: "Token", sentence: "Span", word: str) -> bool:
    """Tell whether a noun earlier in the sentence agrees with a pronoun."""
    tags = _ONE if word in THING else {"NNS", "NNPS"} if word in MANY else _NOUNS
    earlier = [t for t in sentence.doc[sentence.start : token.i] if t.tag_ in tags]
    if word in MANY:
        # a contributor may find that they ...: one is many
        earlier += [t for t in sentence.doc[sentence.start : token.i] if t.dep_ in _ONE_OR_MANY and t.tag_ in _NOUNS]
        earlier += [
            t for t in sentence.doc[sentence.start : token.i] if t.text.casefold() in ("everyone", "anyone", "someone")
        ]
    if token.dep_ in SUBJECTS and token.head.dep_ == "ROOT":
        # In 1990 it closed: what stands in a phrase before the subject is not meant
        earlier = [t for t in earlier if t.dep_ in (*SUBJECTS, "dobj")]
    if not earlier and word in PERSON:
        return any(t.text.casefold() in PERSON for t in sentence.doc[sentence.start : token.i])
    return bool(earlier) or any(t.text.casefold() == "it" for t in sentence.doc[sentence.start : token.i] if word in THING)


def _demonstrative(token: "Token", sentence: "Span", word: str) -> Pointer | None:
    if token.tag_ not in ("DT", "PDT"):
        return None
    head = token.head
    if token.dep_ == "det" and head.i > token.i:
        if _completed(word, token, head):
            return None
        noun = head.text.casefold()
        defined = head.text[:1].isupper() and head.i > sentence.start
        told = any(t.text.casefold() == noun for t in sentence.doc[sentence.start : token.i])
        if told or defined or noun in _OF_THE_TEXT:
            return None
        return Pointer(token.i, head.i + 1, word, head.text if head.i == token.i + 1 else "", subject=head.dep_ in SUBJECTS)
    if _completed(word, token, token):
        return None
    told = any(t.dep_ in SUBJECTS and t.head.i < token.i for t in sentence.doc[sentence.start : token.i])
    return None if told else Pointer(token.i, token.i + 1, word)


def _such(token: "Token", sentence: "Span") -> Pointer | None:
    """``such problems`` late in a sentence, when it did not tell of problems before."""
    head = token.head
    if token.dep_ not in ("amod", "det", "predet") or head.i <= token.i or head.tag_ not in _NOUNS:
        return None
    if sentence.doc[token.i + 1].text.casefold() in ("a", "an", "as", "that") or _completed("those", token, head):
        return None
    told = any(t.tag_ in ("NNS", "NNP", "NNPS") for t in sentence.doc[sentence.start : token.i])
    return None if told else Pointer(token.i, head.i + 1, "such", head.text)


def _completed(word: str, token: "Token", head: "Token") -> bool:
    """``those that match``, ``that of France``: what follows says which."""
    after = token.doc[token.i + 1].text.casefold() if token.i + 1 < len(token.doc) else ""
    known = any(c.dep_ in ("relcl", "prep", "acl") for c in head.rights)
    return word in ("that", "those") and (known or after in ("that", "which", "who", "whose", "of", "in", "with", "not"))


def _bare_quantity(token: "Token", sentence: "Span", word: str) -> bool:
    """``Both are required``, ``Such files``: a quantity of what was named before."""
    if token.i - sentence.start > 1:
        return False
    after = sentence.doc[token.i + 1].text.casefold() if token.i + 1 < sentence.end else ""
    if word == "such":
        return after != "as"
    return token.dep_ in SUBJECTS and after != "of"


def mention(head: "Token") -> Mention | None:
    """The noun phrase of a head without the clauses after it; None when it would lose what makes it definite."""
    if head.tag_ not in _NOUNS:
        return None
    lefts = [t for t in head.lefts if t.dep_ in _LEFT]
    start = min([head.i, *(t.left_edge.i for t in lefts)])
    end = head.i + 1
    for child in head.rights:
        if child.dep_ == "prep" and child.i == end and child.right_edge.i < head.i + _MAX_MENTION_WORDS:
            end = child.right_edge.i + 1
        elif child.dep_ == "conj" or (child.dep_ in ("relcl", "acl") and head.doc[child.left_edge.i - 1].text != ","):
            return None
    while end < len(head.doc) and "(" in head.doc[end].text and not head.doc[end - 1].whitespace_:
        end = next((t.i + 1 for t in head.doc[end : end + 3] if ")" in t.text), end)  # pipe()
        break
    words = head.doc[start:end]
    text = " ".join(words.text.split())
    if len(words) > _MAX_MENTION_WORDS or any(t.tag_[:2] == "VB" and t.dep_ != "amod" for t in words[1:]):
        return None
    first = words[0].text.casefold()
    if first in _DEMONSTRATIVE or first in _POSSESSIVE or first in ("no", "other", "another", "such"):
        return None
    if any(t.tag_ == "PRP" for t in words):  # some part of it
        return None
    return Mention(
        text, head.text.casefold(), head.tag_ in ("NNS", "NNPS"), head.tag_ in ("NNP", "NNPS") and len(words) == 1
    )


def main_subject(sentence: "Span") -> "Token | None":
    """The token that is the subject of a sentence's main clause."""
    root = sentence.root
    return next((t for t in root.children if t.dep_ in SUBJECTS), None)


def says_something(sentence: "Span") -> bool:
    """Tell whether a sentence has a verb in a finite form with a subject."""
    root = sentence.root
    verbs = [root]
    if root.tag_[:2] not in ("VB", "MD"):  # a number or a name before the clause
        verbs += [
            t for t in root.children if t.tag_[:2] in ("VB", "MD") and t.dep_ not in ("relcl", "acl", "advcl", "csubj")
        ]
    return any(finite(verb) and any(t.dep_ in _ANY_SUBJECT for t in verb.children) for verb in verbs)


def replaced(sentence: "Span", text: str, where: Pointer, meant: Mention) -> str:
    """Return the text of a sentence with a pointer written out."""
    phrase = meant.definite
    if where.word in _POSSESSIVE and not where.noun:
        phrase += "'" if phrase.endswith("s") and meant.many else "'s"
    base = sentence.start_char
    start = sentence.doc[where.start].idx - base
    last = sentence.doc[where.end - 1]
    end = last.idx + len(last) - base
    opens = not any(c.isalnum() for c in text[:start])
    if opens and not meant.name and not _IDENTIFIER.match(phrase):
        phrase = phrase[0].upper() + phrase[1:]
    elif not opens and not meant.name and phrase.split(" ", 1)[0] in ("The", "A", "An", "Each", "All"):
        phrase = phrase[0].lower() + phrase[1:]
    return text[:start] + phrase + text[end:]
