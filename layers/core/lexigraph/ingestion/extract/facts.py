"""Subject, predicate and object from a dependency parse (the labels of spaCy's English models).

What is said under a condition, or by a verb that states nothing (``to do``, ``do!``), is no fact.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.names import without_open_brackets
from lexigraph.model.extraction import ExtractedFact

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

MAX_FACTS = 24
MAX_PREDICATE_WORDS = 8
MAX_OBJECT_WORDS = 14

# how far each pattern is to be trusted
_SHORT_WORDS = 3  # an object of fewer words takes what follows it
DIRECT, AGENT, PREPOSITION, COPULA = 0.9, 0.9, 0.8, 0.9
APPOSITION, POSSESSIVE, NESTED, PLACE = 0.8, 0.8, 0.7, 0.7
STAND_IN = 0.85  # factor when the subject is not named but stood for

_OBJECTS = frozenset(["dobj", "attr", "oprd", "dative", "obj"])
_SUBJECTS = frozenset(["nsubj", "nsubjpass"])
_AUXILIARIES = frozenset(["aux", "auxpass", "neg", "prt"])
_NEGATIVE = frozenset(["never", "rarely", "seldom", "hardly", "barely", "scarcely", "only", "longer"])
_FINITE = frozenset(["VBZ", "VBP", "VBD", "MD"])
_CONDITIONS = frozenset(["if", "unless", "whether", "until", "provided", "assuming", "though", "lest", "once"])
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|whether|until|provided|assuming|when|whenever|once|otherwise|suppose|in case|where|such that)\b",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[=<>{}|\\;]|://|^\d{1,2}$")
_SUPPOSED = re.compile(
    r"\W*(?:\(?\w{1,2}\)|\d+\.)?\W*"
    r"(?:if|unless|suppose|assuming|in case|imagine|let|otherwise|in (?:this|that) case|then)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:either\s+)?(?:the|an?)\s+", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|no longer|cannot)\b")
_INVERTED = re.compile(r"\W*(?:should|had|were|did|do|does|is|are|was|can|could|will|would|may)\b", re.IGNORECASE)
# an object of which nothing can be asked
_EMPTY = frozenset(
    """
    what which who whom that this these those it them him her us you me one ones two three some any all none each both
    either neither such other others another following same way ways thing things lot case cases example anything something
    nothing everything anyone someone more less most much many few first second third latter former rest there here so
    hope addition order turn general particular fact practice use respect course effect account place part advantage detail
    parts kind kinds type types sort manner extent purpose purposes reason reasons way
    """.split()
)
_BEFORE_NOUN = frozenset(["amod", "compound", "nummod", "nmod", "quantmod", "poss", "advmod", "case", "punct", "npadvmod"])
_SOME = frozenset(["this", "that", "these", "those", "each", "every", "any", "no", "some", "such"])
_QUANTITIES = frozenset(["no", "all", "every", "each", "some", "any", "both", "either", "neither", "another"])
# verbs after which a clause says what is wished or supposed
_SUPPOSING = frozenset(
    """
    ensure ensures ensuring make makes making check checks checking verify assume assumes assuming believe believes think
    thinks hope hopes expect expects suppose supposes suggest suggests require requires recommend recommends imagine want
    wants sure ask asks claim claims deny denies doubt doubts see know tell tells prevent guarantee decide determine
    """.split()
)
_RELATIVE = frozenset(["who", "which", "that", "whom", "whose", "where"])
_THINGS = frozenset(["it", "its", "itself", "they", "them", "their", "theirs", "themselves"])
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


@dataclass(frozen=True, slots=True)
class Thing:
    """What a noun phrase refers to: an entity's name, or the words of the phrase; ``said`` when the name itself is there."""

    text: str
    entity: bool
    said: bool = True


@dataclass(frozen=True, slots=True)
class AnchoredFact:
    """A fact, the token that carries it, and whether its object is an entity."""

    at: int
    fact: ExtractedFact
    object_is_entity: bool


@dataclass(slots=True)
class FactReader:
    """Reads the facts of one sentence.

    ``names`` gives the entity that covers a token and its class, ``spans`` the ends of names and dates by token.
    ``told`` are the names that pronouns are known to mean, by token.
    ``refer`` returns the name for which a word stands, empty if none: as a ``pronoun``, as a ``kind`` (``the film``), as a
    ``described kind`` (``the silent film``), or as the ``whole`` of which it is a part (``the editor``).
    """

    names: dict[int, tuple[str, str]]
    spans: dict[int, tuple[int, int]]
    refer: Callable[[str, str], str]
    told: dict[int, str] = field(default_factory=dict)
    _own: int = -1
    _conditional: bool = False
    _shadowed: bool = False
    _equal: dict[int, list[Thing]] = field(default_factory=dict)
    _found: list[AnchoredFact] = field(default_factory=list)

    def read(self, sentence: "Span") -> list[AnchoredFact]:
        """Return the facts of a parsed sentence in order, at most 24, none twice; a question states none."""
        text = sentence.text
        if text.endswith("?") or _INVERTED.match(text) or _SUPPOSED.match(text):
            return []
        self._conditional = bool(_CONDITIONAL.search(text))
        for token in sentence:
            if token.dep_ in _SUBJECTS or token.dep_ == "ROOT":
                verb = token.head if token.dep_ in _SUBJECTS else token
                self._equate(verb)
        for token in sentence:
            self._read_token(token)
        unique = {(f.fact.subject, f.fact.predicate, f.fact.object): f for f in reversed(self._found)}
        return sorted(unique.values(), key=lambda f: f.at)[:MAX_FACTS]

    def subject_of(self, sentence: Sequence["Token"]) -> Thing | None:
        """Return what the main clause of a sentence is about, when that is an entity."""
        subjects = [s for root in sentence if root.dep_ == "ROOT" for s in _children(root, _SUBJECTS)]
        found = next((thing for s in subjects for thing in self._things(s) if thing.entity), None)
        self._own = subjects[0].i if found else -1
        # an object has a key, and it lives in a bucket: the pronoun is the object, whatever was spoken of before
        self._shadowed = not found and any(s.tag_ in ("NN", "NNS") and _indefinite(s) for s in subjects)
        return found

    # ---- noun phrases

    def _things(self, head: "Token") -> list[Thing]:
        """What a noun and those joined to it by ``and`` refer to."""
        return [self._thing(t) for t in _with_conjuncts(head)]

    def _thing(self, head: "Token") -> Thing:
        if head.i in self.names and head.text.isupper() and any(t.text.casefold() in _SOME for t in head.lefts):
            return Thing("", entity=False)  # this API, each CPU
        if head.i in self.names:
            return Thing(self._with_modifier(head) or self.names[head.i][0], entity=True)
        word = head.text.casefold()
        if head.i in self.told:
            return Thing(self.told[head.i], entity=True, said=False)
        if head.tag_ in ("PRP", "PRP$"):
            # it is what its own sentence speaks of, if anything
            known = word not in _THINGS or (0 <= self._own < head.i and not self._shadowed)
            name = self.refer("pronoun", word) if known else ""
            return Thing(name or head.text, entity=bool(name), said=False)
        if head.tag_ in ("WDT", "WP", "WP$") and word in _RELATIVE:
            clause = next((a for a in head.ancestors if a.dep_ == "relcl"), None)
            if clause is None or clause.head == head:
                return Thing("", entity=False)
            what = self._thing(clause.head)
            return what if what.entity else Thing(self._phrase(clause.head, whole=False), entity=False)
        if head.i in self._equal:
            return self._equal[head.i][0]
        for other in _children(head, {"appos"}):
            # the architect Hugo Dahl
            if other.i in self.names and self.spans[other.i][0] == head.i + 1 and head.tag_ not in ("NNP", "NNPS"):
                return Thing(self.names[other.i][0], entity=True)
        lefts = [t.text for t in head.lefts if t.dep_ != "punct"]
        named = any(c.i in self.names for c in head.rights)  # the class AsyncHook
        if (
            lefts
            and not named
            and lefts[0].casefold() in ("the", "this")
            and not _of(head)
            and all(w.islower() for w in lefts[1:])
        ):
            # the film; the old stone church
            name = self.refer("kind" if len(lefts) == 1 else "described kind", word)
            if name:
                return Thing(name, entity=True, said=False)
        for other in _children(head, {"appos"}):
            if self.names.get(other.i, ("", ""))[1] == "Person" and head.tag_ not in ("NNP", "NNPS"):
                return Thing(self.names[other.i][0], entity=True)
        return Thing(self._phrase(head), entity=False)

    def _with_modifier(self, head: "Token") -> str:
        """``inotify API`` rather than any ``API``."""
        start, end = self.spans.get(head.i, (head.i, head.i + 1))
        before = head.doc[start - 1] if start else head
        plain = end - start == 1 and head.text.isupper() and len(head.text) < 5
        return f"{before.text} {head.text}" if plain and before.dep_ == "compound" and before.head == head else ""

    def _equate(self, verb: "Token") -> None:
        """In ``X is a film directed by Y`` the film is X; likewise in ``X, a film directed by Y``."""
        subjects = [t for s in _children(verb, _SUBJECTS) for t in self._things(s) if t.entity]
        for attribute in _children(verb, {"attr"}):
            if subjects and attribute.i not in self.names:
                for token in _with_conjuncts(attribute):
                    self._equal[token.i] = subjects

    def _phrase(self, head: "Token", *, whole: bool = True) -> str:
        """The words of a noun phrase without its article, clauses and most of what follows the noun."""
        if head.i in self.spans:
            start, end = self.spans[head.i]
        else:
            start, end = head.i, head.i + 1
            for left in head.lefts:
                if left.dep_ in _BEFORE_NOUN or left.text.casefold() in _QUANTITIES:
                    start = min(start, left.left_edge.i)
            number = head.doc[end : end + 1]
            numbered = len(number) and (number[0].tag_ == "CD" and number[0].head == head)
            if numbered or (len(number) and number.text[0].isdigit() and head.text.islower() and number.text.isalnum()):
                end += 1
            of = _of(head)
            if of is not None:
                inner = next(iter(_children(of, {"pobj"})), None)
                if inner is not None:
                    end = max(end, self.spans.get(inner.i, (0, inner.i + 1))[1])
        if whole and head.i not in self.spans and end - start < _SHORT_WORDS:
            end = _completed(head, end)
        words = head.doc[start:end] if end else ()
        text = " ".join(words.text.split()).strip(" ,;:'\"`") if words and words[-1].tag_ not in ("IN", "TO", "CC") else ""
        return without_open_brackets(text) if 0 < len(words) <= MAX_OBJECT_WORDS else ""

    # ---- clauses

    def _read_token(self, token: "Token") -> None:
        dep = token.dep_
        if dep == "appos":
            self._apposition(token)
        elif dep == "poss":
            self._possession(token)
        elif dep in ("relcl", "acl"):
            if self._stated(token, dep == "acl"):
                self._clause(token, self._clause_subjects(token), "")
        elif (token.tag_[:2] == "VB" or dep == "ROOT") and _children(token, _SUBJECTS) and self._stated(token):
            self._clause(token, self._subjects(token), "")

    def _stated(self, verb: "Token", participle: bool = False) -> bool:
        """Tell whether a verb states what is so, in a finite form and under no condition."""
        verbs = [verb, *_children(verb, {"aux", "auxpass"})]
        if not any(v.tag_ in _FINITE for v in verbs) and not (participle and verb.tag_ in ("VBN", "VBG")):
            return False
        doc = verb.doc
        if any(0 <= i < len(doc) and doc[i].text in ("-", "/") for i in (verb.i - 1, verb.i + 1)):
            return False  # the built-in modules
        if verb.dep_ in ("relcl", "acl"):
            between = doc[verb.head.i + 1 : verb.i]
            # URLs written in capitals: some of them; and a clause may belong to a nearer noun
            if (verb.head.i in self.names and "," not in between.text) or (
                participle and any(t.tag_[:2] == "NN" for t in between)
            ):
                return False
        if verb.dep_ == "ccomp" and verb.head.text.casefold() in _SUPPOSING:
            return False
        return not (self._conditional and _under_condition(verb))

    def _clause_subjects(self, verb: "Token") -> list[tuple[Thing, str]]:
        own = _children(verb, _SUBJECTS)
        if own and own[0].text.casefold() not in _RELATIVE:
            # the song which X wrote
            head = self._thing(verb.head)
            subjects = self._subjects(verb)
            if head.entity and not _children(verb, {"dobj", "obj"} - {"dobj"}):
                for subject, before in subjects:
                    self._add(verb, subject, f"{before}{_phrase_of(verb)}", head, DIRECT)
            return subjects
        thing = self._thing(verb.head)
        return [(thing, "")] if thing.entity else []

    def _subjects(self, verb: "Token") -> list[tuple[Thing, str]]:
        """The entities that a verb has as subjects, with words to put before the predicate: ``(France, "capital ")``."""
        found = []
        for subject in _children(verb, _SUBJECTS):
            for token in _with_conjuncts(subject):
                thing = self._thing(token)
                if thing.entity:
                    found.append((thing, ""))
                else:
                    found += self._owners(token)
        return found

    def _owners(self, head: "Token") -> list[tuple[Thing, str]]:
        """For ``the capital of France`` and ``France's capital``: France, and ``capital``."""
        if head.tag_[:2] != "NN":
            return []
        of = _of(head)
        owners = _children(head, {"poss"}) + (_children(of, {"pobj"}) if of is not None else [])
        relation = f"{self._phrase(head).split(' of ')[0] if not _children(head, {'poss'}) else head.text} ".lower()
        if not owners and any(t.text.casefold() == "the" for t in head.lefts) and self._names_someone(head.head):
            # The editor is Jan Solovej, in a document on a journal
            whole = self.refer("whole", head.text.casefold())
            return [(Thing(whole, entity=True, said=False), relation)] if whole else []
        return [(thing, relation) for o in owners for thing in [self._thing(o)] if thing.entity]

    def _names_someone(self, verb: "Token") -> bool:
        return any(a.i in self.names for a in _children(verb, {"attr"}))

    def _clause(self, verb: "Token", subjects: list[tuple[Thing, str]], before: str, depth: int = 0) -> None:
        if depth > 4:
            return
        phrase = f"{before}{_phrase_of(verb)}"
        if subjects:
            self._objects(verb, subjects, phrase)
        for child in verb.rights:
            joined = child.dep_ == "conj" and child.tag_[:2] == "VB" and (child.tag_ != "VBG" or verb.tag_ == "VBG")
            if joined and not _children(child, _SUBJECTS):
                passive = child.tag_ == "VBN" and not _children(child, {"aux", "auxpass"})
                helper = next((a.text.lower() for a in _children(verb, {"auxpass"})), "") if passive else ""
                if _children(verb, {"neg"}):
                    continue  # is not fulfilled or rejected
                if child.tag_ == "VB" and any(a.tag_ == "TO" for a in _children(verb, {"aux"})):
                    helper = "to"
                self._clause(child, subjects, f"{before}{helper} ".lstrip() if helper else before, depth + 1)
            elif child.dep_ in ("xcomp", "ccomp") and not _children(child, _SUBJECTS) and not _children(verb, {"dobj"}):
                self._clause(child, subjects, f"{phrase} ", depth + 1)
        for child in verb.children:
            free = child.dep_ == "advcl" and not _children(child, {*_SUBJECTS, "mark", "aux", "advmod"})
            if free and child.tag_ in ("VBG", "VBN") and child.doc[child.left_edge.i - 1].text == ",":
                self._clause(child, subjects, "", depth + 1)

    def _objects(self, verb: "Token", subjects: list[tuple[Thing, str]], phrase: str) -> None:
        direct = [t for o in _children(verb, _OBJECTS) for t in _together(o)]
        if direct and any(c.i > direct[0].i and c.dep_ in ("xcomp", "ccomp") for c in verb.rights):
            direct = []  # requires X to do something: not that it requires X
        for subject, owned in subjects:
            predicate = f"{owned}{phrase}"
            for token in direct:
                thing = self._object(token)
                if _NOT.search(phrase):
                    thing = _whole(token, verb, thing)
                weight = COPULA if token.dep_ == "attr" else DIRECT
                self._add(token, subject, predicate, thing, weight)
                if not thing.entity:
                    self._nested(token, subject, predicate)
            short = self._phrase(direct[0]) if len(direct) == 1 and direct[0].tag_ != "PRP" else ""
            if direct and (not short or len(short.split()) > 4 or direct[0].dep_ == "attr" or _empty(short)):
                continue
            self._prepositions(verb, subject, f"{predicate} {short}".rstrip(), AGENT if not direct else NESTED)
            for complement in _children(verb, {"acomp"}):
                self._prepositions(complement, subject, f"{predicate} {_degree(complement)}", PREPOSITION)

    def _object(self, token: "Token") -> Thing:
        """An object is itself, not the subject that it is said to equal; of ``X or Y`` neither is said, but both."""
        if token.dep_ == "attr" and token.i in self.names and _of(token) is not None:
            return Thing("", entity=False)  # the id of something, not the id
        if _alternative(token):
            words = token.doc[token.left_edge.i : token.right_edge.i + 1]
            text = without_open_brackets(_ARTICLE.sub("", " ".join(words.text.split())))
            return Thing(text if len(words) <= MAX_OBJECT_WORDS else "", entity=False)
        return Thing(self._phrase(token), entity=False) if token.i in self._equal else self._thing(token)

    def _prepositions(self, head: "Token", subject: Thing, phrase: str, weight: float) -> None:
        for preposition in _children(head, {"prep", "agent"}):
            if any(c.text == "such" for c in preposition.children):
                continue
            for pobj in _children(preposition, {"pobj"}):
                for token in _together(pobj):
                    thing = self._object(token)
                    if preposition.i < head.i and token.i not in self.spans:
                        continue  # in 1990 it moved, but not: in practical terms it moves
                    predicate = f"{phrase} {preposition.text.lower()}"
                    if weight == NESTED and not thing.entity and token.i not in self.spans:
                        continue  # painted Ophelia in London, but not: takes a lock for the duration
                    self._add(
                        token, subject, predicate, thing, weight if preposition.dep_ == "agent" else min(weight, PREPOSITION)
                    )
                    if not thing.entity:
                        self._nested(token, subject, predicate)

    def _nested(self, noun: "Token", subject: Thing, predicate: str) -> None:
        """``is the capital of`` France, ``graduated from the college of`` Oxford."""
        for preposition in _children(noun, {"prep"}):
            for pobj in _children(preposition, {"pobj"}):
                for token in _with_conjuncts(pobj):
                    thing = self._object(token)
                    if thing.entity:
                        words = noun.doc[min([noun.i, *(t.i for t in noun.lefts)]) : noun.i + 1].text.split()
                        between = " ".join(words if len(words) < 4 else words[-1:])
                        self._add(token, subject, f"{predicate} {between} {preposition.text.lower()}", thing, NESTED)

    def _apposition(self, token: "Token") -> None:
        """``Paris, the capital of France``; two places in a row lie one in the other."""
        head = token.head
        mark = token.doc[max(0, token.left_edge.i - 1)]
        # Canada–US border is no apposition
        if head.i not in self.names or not (mark.text in ",–—" or (mark.text == "(" and token.i in self.names)):
            return
        name, class_ = self.names[head.i]
        other = self.names.get(token.i)
        if other is None and not token.text[0].isdigit() and token.i not in self.spans:
            thing = Thing(name, entity=True)
            self._equal.setdefault(token.i, [thing])
            self._add(token, thing, "is", Thing(self._phrase(token), entity=False), APPOSITION)
            self._nested(token, thing, "is")
        elif other is not None and class_ == other[1] == "Location":
            self._add(token, Thing(name, entity=True), "is in", Thing(other[0], entity=True), PLACE)

    def _possession(self, token: "Token") -> None:
        """``Millais's wife Effie Gray``: Millais, wife, Effie Gray."""
        owner = self._thing(token)
        head = token.head
        if not owner.entity:
            return
        if head.i in self.names:
            start = self.spans[head.i][0]
            between = [t for t in head.doc[token.i + 1 : start] if t.dep_ not in ("case", "punct")]
            if between and between[-1].tag_[:2] == "NN" and all(t.text.islower() for t in between):
                relation = " ".join(t.text for t in between)
                self._add(head, owner, relation, Thing(self.names[head.i][0], entity=True), POSSESSIVE)
        else:
            for other in _children(head, {"appos"}):
                if other.i in self.names:
                    self._add(other, owner, head.text.lower(), Thing(self.names[other.i][0], entity=True), POSSESSIVE)

    def _add(self, at: "Token", subject: Thing, predicate: str, object_: Thing, weight: float) -> None:
        predicate = " ".join(predicate.split())
        if not (subject.entity and predicate and any(c.isalnum() for c in object_.text)) or subject.text == object_.text:
            return
        if (
            len(predicate.split()) > MAX_PREDICATE_WORDS
            or object_.text.casefold() in _RELATIVE
            or _empty(object_.text)
            or _SIGNS.search(object_.text)
            or (at.tag_ == "PRP" and not object_.entity)
        ):
            return
        confidence = round(weight * (1.0 if subject.said else STAND_IN), 3)
        fact = ExtractedFact(subject.text, predicate, object_.text, confidence)
        self._found.append(AnchoredFact(at.i, fact, object_.entity))


def _completed(head: "Token", end: int) -> int:
    """Return where what follows a noun ends that says which one it is, 0 when that is too long: ``work that uses ...``."""
    rights = [c for c in head.rights if c.dep_ in ("prep", "acl", "relcl")]
    following = [c for c in rights if c.left_edge.i == end]
    if rights and not following and end - head.left_edge.i < _SHORT_WORDS:
        return 0  # calls to, and replacements for, some symbols
    until = following[0].right_edge.i + 1 if following else end
    if until - head.left_edge.i <= MAX_OBJECT_WORDS:
        return until
    return 0 if following and following[0].dep_ != "prep" else end


def _whole(token: "Token", verb: "Token", thing: Thing) -> Thing:
    """The object of a negated verb with what follows it, which is what is denied: ``files in the cache``; else none."""
    end = token.right_edge.i + 1
    after = [c for c in verb.rights if c.left_edge.i >= end and c.dep_ in ("prep", "advmod", "xcomp", "npadvmod")]
    if not after:
        return thing
    text = " ".join(token.doc[token.i : after[0].right_edge.i + 1].text.split())
    fits = not thing.entity and after[0].left_edge.i == end and len(text.split()) < MAX_OBJECT_WORDS
    return Thing(thing.text + text[len(token.text) :] if fits else "", entity=False)


def _degree(adjective: "Token") -> str:
    """An adjective with what makes it more, less or the contrary: ``less prone``."""
    words = [t for t in adjective.lefts if t.text.casefold() in ("less", "least", "more", "most", "not", "too", "no")]
    return " ".join(t.text.lower() for t in (*words, adjective))


def _empty(text: str) -> bool:
    """Tell whether a phrase names nothing: ``the following``, ``one``."""
    words = text.casefold().split()
    return not words or words[-1] in _EMPTY or (words[0] in _EMPTY and len(words) < 3)


def _under_condition(verb: "Token") -> bool:
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


def _children(token: "Token", deps: frozenset[str] | set[str]) -> list["Token"]:
    return [c for c in token.children if c.dep_ in deps]


def _indefinite(noun: "Token") -> bool:
    """Tell whether a noun brings something new into the text: ``an object``, ``data``."""
    return not any(t.text.casefold() not in ("a", "an", "some") for t in noun.lefts if t.dep_ in ("det", "poss"))


def _with_conjuncts(head: "Token") -> list["Token"]:
    """The head of a noun phrase and the nouns joined to it; of a long list the first 24."""
    found, at = [head], 0
    while at < len(found) < MAX_FACTS:
        found += [c for c in found[at].rights if c.dep_ == "conj" and c.tag_[:2] not in ("VB", "MD")]
        at += 1
    return found[:MAX_FACTS]


def _alternative(head: "Token") -> bool:
    return any(c.dep_ == "cc" and c.text in ("or", "nor", "and/or") for t in _with_conjuncts(head) for c in t.rights)


def _together(head: "Token") -> list["Token"]:
    """The nouns joined to the head of an object by ``and``; the head alone for ``X or Y``."""
    return [head] if _alternative(head) else _with_conjuncts(head)


def _of(head: "Token") -> "Token | None":
    return next((c for c in head.rights if c.dep_ == "prep" and c.text == "of"), None)


def _phrase_of(verb: "Token") -> str:
    """A verb with its auxiliaries, negation and particle, in lower case."""
    parts = [t for t in verb.children if t.dep_ in _AUXILIARIES and (t.i < verb.i or t.dep_ in ("prt", "neg"))]
    for adverb in _children(verb, {"advmod"}):
        if adverb.text.casefold() in _NEGATIVE:
            parts += [*_children(adverb, {"neg", "det"}), adverb]
    return " ".join(_written_out(t, verb) for t in sorted([*parts, verb], key=lambda t: t.i))


def _written_out(token: "Token", verb: "Token") -> str:
    word: str = token.text.lower().replace("’", "'")
    if word == "'s" and token.dep_ == "aux" and verb.tag_ == "VBN":
        return "has"
    return _SHORT.get(word, word)
