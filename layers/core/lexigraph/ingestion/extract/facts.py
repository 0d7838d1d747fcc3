"""Subject, predicate and object from a dependency parse (the labels of spaCy's English models).

No fact rather than a wrong one: an object is all its words up to the next break, or a name that nothing restricts.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.clauses import (
    SUBJECTS,
    accounted,
    children,
    conditional,
    finite,
    follows_at_once,
    impersonal,
    joined,
    past,
    predicate,
    same_form,
    speaks,
    stated,
    under_condition,
    whole_word,
)
from lexigraph.ingestion.extract.phrases import alternative, empty, first, phrase, signs
from lexigraph.ingestion.extract.things import Thing, Things
from lexigraph.ingestion.extract.words import listed
from lexigraph.model.extraction import ExtractedFact

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

MAX_FACTS = 24
MAX_PREDICATE_WORDS = 8

# how far each pattern is to be trusted
DIRECT, AGENT, PREPOSITION = 0.9, 0.9, 0.8
APPOSITION, POSSESSIVE, NESTED, PLACE = 0.8, 0.8, 0.7, 0.7
STAND_IN = 0.85  # factor when the subject is not named but stood for

_OBJECTS = frozenset(["dobj", "attr", "oprd", "dative", "obj"])
_LIMITING = listed("not never no nor cannot rarely seldom hardly barely scarcely only neither longer")
_DEFINING = listed("mean means refer refers denote denotes defined")  # what is defined is so with all of its definition
_EXCEPTING = listed("only except unless")
_HAVING = listed("have has had having be is are was were been being")  # will have decoding failures
_AMONG = listed("between among amongst")  # these need all that they govern
_SHARED = 4  # words of an object that may stand in a predicate: ``painted Ophelia in``
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(r"\d+(?:\.\d+)*\. ")  # a heading

# a subject, and what of it is spoken of: France, ``capital ``
Subject = tuple[Thing, str]


@dataclass(frozen=True, slots=True)
class AnchoredFact:
    """A fact, the token that carries it, and whether its object is an entity."""

    at: int
    fact: ExtractedFact
    object_is_entity: bool


@dataclass(slots=True)
class FactReader:
    """Reads the facts of one sentence, of whose nouns ``things`` tells what they refer to."""

    things: Things
    sentence: "Span"
    _supposed: bool = False
    _found: list[AnchoredFact] = field(default_factory=list)

    def read(self) -> list[AnchoredFact]:
        """Return the facts of the sentence in order, at most 24, none twice; a question states none."""
        if not speaks(self.sentence, self.things.spans):
            return []
        verbs = {t.head.i: t.head for t in self.sentence if t.dep_ in SUBJECTS}
        for verb in verbs.values():
            self.things.equate(verb)
        self._supposed = conditional(self.sentence.text)
        for token in self.sentence:
            if token.dep_ in ("appos", "poss", "relcl", "acl"):
                self._beside_noun(token)
            elif token.i in verbs and stated(token, self.things.spans):
                self._clause(token, self._subjects(token))
        unique = {(f.fact.subject, f.fact.predicate, f.fact.object): f for f in reversed(self._found)}
        return sorted(unique.values(), key=lambda f: f.at)[:MAX_FACTS]

    def _beside_noun(self, token: "Token") -> None:
        if token.dep_ == "appos":
            self._apposition(token)
        elif token.dep_ == "poss":
            self._possession(token)
        else:
            self._clause_of_noun(token)

    # ---- subjects

    def _subjects(self, verb: "Token") -> list[Subject]:
        """The entities that a verb has as subjects."""
        found: list[Subject] = []
        for subject in children(verb, SUBJECTS):
            if alternative(subject):
                continue
            for token in joined(subject):
                if accounted(token, verb, self.sentence, self.things.spans) and not self._in_place(token):
                    thing = self.things.named(token)
                    found += [(thing, "")] if thing else []
                    found += [] if self.things.of(token).entity else self.things.whole_of(token)
        return found

    def _in_place(self, token: "Token") -> bool:
        """Tell whether a name is the last of ``Turin, Italy``, which no clause is about."""
        start = self.things.spans.get(token.i, (token.i, 0))[0]
        names, before = self.things.names, token.doc[max(0, start - 2) : start]
        place = names.get(token.i, ("", ""))[1] == "Location"
        return place and len(before) == 2 and before[1].text == "," and names.get(before[0].i, ("", ""))[1] == "Location"

    def _clause_of_noun(self, verb: "Token") -> None:
        """``X, who wrote Y``; ``a film directed by Y`` and ``the song which Y wrote``, when it is known which."""
        head, own = verb.head, children(verb, SUBJECTS)
        personal = bool(own) and own[0].text.casefold() == "who"
        if personal and self.things.names.get(head.i, ("", ""))[1] == "Location":
            # a swimmer from Spain, who competed
            head = next((a for a in head.ancestors if a.i in self.things.equal), head)
        between = verb.doc[self.things.spans.get(head.i, (0, head.i + 1))[1] : verb.left_edge.i].text
        if head.i in self.things.names:
            place = personal and self.things.names[head.i][1] == "Location"
            sure = between == "," and not place and self._governed(head, verb)
        else:
            sure = head.i in self.things.equal and (not between or personal)
        if not sure or not (finite(verb) or (verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBG"))):
            return
        thing = self.things.of(head)
        if not own or own[0].tag_ in ("WDT", "WP"):
            self._clause(verb, [(thing, "")])
        elif not children(verb, _OBJECTS - {"dobj"}):
            for subject, owned in self._subjects(verb):
                self._add(verb, subject, f"{owned}{predicate(verb)}", thing, DIRECT)

    @staticmethod
    def _governed(head: "Token", verb: "Token") -> bool:
        """Tell whether a clause after a comma is likely to be said of the name before it, not of all before."""
        if verb.dep_ == "acl":
            return head.dep_ in SUBJECTS
        above = next((a for a in head.ancestors if a.tag_[:2] == "VB"), head)
        return finite(above) and not (verb.tag_ == "VBP" and joined(head) == [head])

    # ---- clauses

    def _clause(self, verb: "Token", subjects: list[Subject], before: str = "", depth: int = 0) -> None:
        joint = [c for c in verb.rights if c.dep_ == "conj" and c.tag_[:2] == "VB"]
        if not subjects or depth > 4 or not whole_word(verb) or (self._supposed and under_condition(verb)):
            return
        if any(t.tag_[0] == "W" and t.dep_ not in SUBJECTS for t in verb.lefts):
            return  # of which it is
        if joint and any(c.text in ("or", "nor") for c in verb.rights if c.dep_ == "cc"):
            return
        said = f"{before}{predicate(verb)}"
        self._objects(verb, subjects, said)
        for other in joint:
            if (
                not children(other, SUBJECTS)
                and not impersonal(other)
                and same_form(verb, other)
                and not children(verb, {"neg"})
            ):
                passive = other.tag_ == "VBN" and not children(other, {"aux", "auxpass"})
                helpers = [a.text.lower() for a in verb.lefts if a.dep_ in ("aux", "auxpass")] if passive else []
                helpers = helpers or [a.text.lower() for a in verb.lefts if other.tag_ == "VB" and a.dep_ == "aux"]
                alone = bool(children(other, {"aux", "auxpass"}))
                self._clause(other, subjects, before if alone else f"{before}{' '.join([*helpers, ''])}", depth + 1)
        for child in verb.rights:
            # works to do, begins doing; but not: welcomes pull requests, will have decoding failures
            to = child.tag_ == "VB" and any(t.tag_ == "TO" for t in child.lefts)
            doing = child.tag_ in ("VBG", "VBN") and verb.text.casefold() not in _HAVING
            goes_on = child.dep_ == "xcomp" and (to or doing)
            if goes_on and not children(child, {*SUBJECTS}) and not children(verb, _OBJECTS):
                self._clause(child, subjects, f"{said} ", depth + 1)
            free = child.dep_ == "advcl" and not children(child, {*SUBJECTS, "mark", "aux", "advmod"})
            if free and past(verb) and child.tag_ in ("VBG", "VBN") and child.doc[child.left_edge.i - 1].text == ",":
                self._clause(child, subjects, "", depth + 1)

    def _objects(self, verb: "Token", subjects: list[Subject], said: str) -> None:
        limited = bool(_LIMITING.intersection(said.split()) or _DEFINING.intersection(said.split()))
        limited = limited or any(t.text.casefold() in _EXCEPTING for t in verb.doc[verb.i : verb.right_edge.i + 1])
        heads = children(verb, _OBJECTS)
        if not heads:
            self._prepositions(verb, subjects, said, limited)
            for complement in children(verb, {"acomp"}):
                if complement.i not in self.things.names and follows_at_once(verb, complement.doc[complement.left_edge.i]):
                    self._prepositions(complement, subjects, f"{said} {_degree(complement)}", limited)
            return
        head = heads[0]
        start = head.doc[min(head.left_edge.i, self.things.spans.get(head.i, (head.i, 0))[0])]
        if len(heads) > 1 or head.i < verb.i or head.tag_[:2] not in ("NN", "PR", "CD") or not follows_at_once(verb, start):
            return
        if any(c.i > head.i and c.dep_ in ("xcomp", "ccomp") for c in verb.rights):
            return  # requires X to do something: not that it requires X
        if verb.tag_ == "VBG" and start.tag_ == "NNS" and finite(verb):
            return  # are monitoring tools
        for subject, owned in subjects:
            for token, thing in self._meant(head, limited):
                self._add(token, subject, f"{owned}{said}", thing, DIRECT)
            if not limited:
                self._nested(head, subject, f"{owned}{said}")
                self._circumstances(verb, head, subject, f"{owned}{said}")

    def _meant(self, head: "Token", limited: bool) -> list[tuple["Token", Thing]]:
        """An object as entities, when it names them; else its words. What is denied or limited is denied with all of it."""
        nouns = joined(head)
        named = [(t, thing) for t in nouns if (thing := self._other(t))]
        text = phrase(head, self.sentence, self.things.spans, entire=limited)
        if limited or alternative(head):
            same = len(named) == 1 and named[0][1].text == text
            return named if same else [(head, Thing(text, entity=False))]
        if len(named) == len(nouns):
            return named
        return [(head, Thing(text, entity=False)), *(named if head.dep_ != "attr" else [])]

    def _other(self, token: "Token") -> Thing | None:
        """The entity that an object names; it is not the subject that it is said to equal."""
        return None if token.i in self.things.equal else self.things.named(token)

    def _prepositions(self, head: "Token", subjects: list[Subject], said: str, limited: bool) -> None:
        """``moved to Berlin in 1990``: the first as it is, of the others only names and dates."""
        for preposition in children(head, {"prep", "agent"}):
            if any(c.text == "such" for c in preposition.children):
                continue
            next_to = preposition.i > head.i and follows_at_once(head, preposition)
            weight = AGENT if preposition.dep_ == "agent" else PREPOSITION
            for pobj in children(preposition, {"pobj"}):
                if not next_to and (limited or alternative(pobj) or preposition.text in _AMONG):
                    continue
                dated = pobj.i in self.things.spans and pobj.i not in self.things.names and not limited
                listed_whole = limited or preposition.text in _AMONG
                meant = self._meant(pobj, listed_whole) if next_to and not dated else self._told_of(pobj)
                for subject, owned in subjects:
                    for token, thing in meant:
                        self._add(token, subject, f"{owned}{said} {preposition.text.lower()}", thing, weight)
                    if next_to and not limited:
                        self._nested(pobj, subject, f"{owned}{said} {preposition.text.lower()}")

    def _told_of(self, pobj: "Token") -> list[tuple["Token", Thing]]:
        """The names and dates that an adjunct tells."""
        found = [(t, thing) for t in joined(pobj) if (thing := self._other(t))]
        if not found and pobj.i in self.things.spans and pobj.i not in self.things.names:
            return [(pobj, Thing(self.things.words(pobj), entity=False))]
        return found

    def _circumstances(self, verb: "Token", head: "Token", subject: Thing, said: str) -> None:
        """``painted Ophelia in`` London; but not: takes a lock for the duration."""
        if head.dep_ == "attr":
            return
        shared = first(head, self.things.spans)
        short = phrase(head, self.sentence, self.things.spans)
        for preposition in children(verb, {"prep"}):
            words = verb.doc[shared : preposition.i]
            if preposition.i > head.i:
                short = words.text if len(words) and words[-1] in head.subtree else ""
            if empty(short) or len(short.split()) > _SHARED:
                continue
            for pobj in children(preposition, {"pobj"}):
                for token, thing in self._told_of(pobj) if not alternative(pobj) else []:
                    self._add(token, subject, f"{said} {short} {preposition.text.lower()}", thing, NESTED)

    def _nested(self, noun: "Token", subject: Thing, said: str) -> None:
        """``is the capital of`` France, ``graduated from the college of`` Oxford."""
        if noun.i in self.things.names or alternative(noun):
            return
        for preposition in children(noun, {"prep"}):
            if preposition.i != noun.i + 1 or preposition.text in _AMONG:
                continue
            for pobj in children(preposition, {"pobj"}):
                for token in joined(pobj) if not alternative(pobj) else []:
                    thing = self._other(token)
                    if thing:
                        words = noun.doc[min([noun.i, *(t.i for t in noun.lefts)]) : noun.i + 1].text.split()
                        between = " ".join(words if len(words) < _SHARED else words[-1:])
                        self._add(token, subject, f"{said} {between} {preposition.text.lower()}", thing, NESTED)

    # ---- names beside nouns

    def _apposition(self, token: "Token") -> None:
        """``Paris, the capital of France``; two places in a row lie one in the other."""
        head, names, spans = token.head, self.things.names, self.things.spans
        start = min(token.left_edge.i, spans.get(token.i, (token.i, 0))[0])
        mark = token.doc[max(0, start - 1)].text
        if head.i not in names or spans[head.i][1] != start - 1 or joined(head) != [head]:
            return
        name, class_ = names[head.i]
        other = names.get(token.i)
        article = token.doc[start].text.casefold()
        # the licence, the notices and the list: no apposition
        single = article in ("a", "an", "one") or (article == "the" and joined(token) == [token])
        if self._supposed and under_condition(token):
            return
        if other is None and mark in (",", "–", "—") and single:
            thing = Thing(name, entity=True)
            self.things.equal.setdefault(token.i, thing)
            self._add(token, thing, "is", Thing(phrase(token, self.sentence, spans), entity=False), APPOSITION)
            self._nested(token, thing, "is")
        elif (
            other is not None
            and class_ == other[1] == "Location"
            and not _DIGIT.search(other[0])
            and mark == ","
            and joined(token) == [token]
        ):
            self._add(token, Thing(name, entity=True), "is in", Thing(other[0], entity=True), PLACE)

    def _possession(self, token: "Token") -> None:
        """``Millais's wife Effie Gray``: Millais, wife, Effie Gray."""
        owner, names = self.things.of(token), self.things.names
        head = token.head
        if not owner.entity:
            return
        if head.i in names:
            start = self.things.spans[head.i][0]
            between = [t for t in head.doc[token.i + 1 : start] if t.dep_ not in ("case", "punct")]
            if between and between[-1].tag_[:2] == "NN" and all(t.text.islower() for t in between):
                relation = " ".join(t.text for t in between)
                self._add(head, owner, relation, Thing(names[head.i][0], entity=True), POSSESSIVE)
        else:
            for other in children(head, {"appos"}):
                if other.i in names:
                    self._add(other, owner, head.text.lower(), Thing(names[other.i][0], entity=True), POSSESSIVE)

    def _add(self, at: "Token", subject: Thing, said: str, object_: Thing, weight: float) -> None:
        said = " ".join(said.split())
        if (
            subject.text == object_.text
            or subject.text.startswith(("These ", "Those ", "Such "))
            or signs(subject.text)
            or _NUMBERED.match(subject.text)
            or len(said.split()) > MAX_PREDICATE_WORDS
        ):
            return
        if empty(object_.text) or not any(c.isalnum() for c in object_.text) or (at.tag_ == "PRP" and not object_.entity):
            return
        confidence = round(weight * (1.0 if subject.said else STAND_IN), 3)
        fact = ExtractedFact(subject.text, said, object_.text, confidence)
        self._found.append(AnchoredFact(at.i, fact, object_.entity))


def _degree(adjective: "Token") -> str:
    """An adjective with what makes it more, less or the contrary: ``less prone``."""
    words = [t for t in adjective.lefts if t.dep_ in ("advmod", "neg", "npadvmod")]
    return " ".join(t.text.lower() for t in (*words, adjective))
