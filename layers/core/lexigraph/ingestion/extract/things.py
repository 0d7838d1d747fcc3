"""What the nouns of a parsed sentence refer to: named things, things that pronouns and kinds stand for, or just words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.clauses import RELATIVE, SUBJECTS, children, joined
from lexigraph.ingestion.extract.phrases import alternative, first, qualified, restricted, tidy
from lexigraph.ingestion.extract.words import listed

if TYPE_CHECKING:
    from spacy.tokens import Token

_SOME = listed("this that these those each every any no some such")
_NOT_BESIDE = frozenset(["CD", "UH", "JJ", "SYM", "FW", "TO", "WDT"])  # tags of what goes on after a name
_OTHERS = listed("following above below same other next previous first second last new current")  # the other file
_THINGS = listed("it its itself they them their theirs themselves")


@dataclass(frozen=True, slots=True)
class Thing:
    """What a noun phrase refers to: an entity's name, or the words of the phrase; ``said`` when the name itself is there."""

    text: str
    entity: bool
    said: bool = True


NOTHING = Thing("", entity=False)


@dataclass(slots=True)
class Things:
    """What nouns refer to.

    ``names`` gives the entity that covers a token and its class, ``spans`` the ends of names and dates by token.
    ``told`` are the names that pronouns are known to mean, by token.
    ``refer`` returns the name for which a word stands, empty if none: as a ``pronoun``, as a ``kind`` (``the film``), as a
    ``described kind`` (``the silent film``), or as the ``whole`` of which it is a part (``the editor``).
    """

    names: dict[int, tuple[str, str]]
    spans: dict[int, tuple[int, int]]
    refer: Callable[[str, str], str]
    told: dict[int, str] = field(default_factory=dict)
    equal: dict[int, Thing] = field(default_factory=dict)
    _own: int = -1
    _shadowed: bool = False

    def subject_of(self, sentence: Sequence["Token"]) -> Thing | None:
        """Return what the main clause of a sentence is about, when that is an entity."""
        subjects = [s for root in sentence if root.dep_ == "ROOT" for s in children(root, SUBJECTS)]
        found = next((thing for s in subjects for t in joined(s) if (thing := self.of(t)).entity), None)
        self._own = subjects[0].i if found else -1
        # an object has a key, and it lives in a bucket: the pronoun is the object, whatever was spoken of before
        self._shadowed = not found and any(s.tag_ in ("NN", "NNS") and _indefinite(s) for s in subjects)
        return found

    def of(self, head: "Token") -> Thing:
        """Return the entity to which a noun refers, else its words."""
        if head.i in self.names and head.text.isupper() and any(t.text.casefold() in _SOME for t in head.lefts):
            return NOTHING  # this API, each CPU
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
        if head.tag_ in ("WDT", "WP", "WP$") and word in RELATIVE:
            clause = next((a for a in head.ancestors if a.dep_ == "relcl"), None)
            return self.of(clause.head) if clause is not None and clause.head != head else NOTHING
        if head.i in self.equal:
            return self.equal[head.i]
        return self._of_kind(head) or self._in_apposition(head) or Thing(self.words(head), entity=False)

    def named(self, head: "Token") -> Thing | None:
        """Return the entity that a noun phrase names and nothing more: not ``some PRs``, not ``software in source form``."""
        thing = self.of(head)
        if not thing.entity or restricted(head, self.spans):
            return None
        if head.i not in self.spans:
            return thing
        after = head.doc[self.spans[head.i][1] :][:1]
        before = head.doc[: self.spans[head.i][0]][-1:]
        cut = any(t.tag_ in _NOT_BESIDE or t.tag_[:2] == "NN" or t.text in ("_", "/", "-", "that") for t in after)
        cut = cut or any(t.text in ("_", "/", "-") for t in before)
        person = self.names.get(head.i, ("", ""))[1] == "Person"
        cut = cut or (_short(head) and thing.text == head.text and bool(children(head, {"compound", "nmod"})))
        return None if cut or qualified(head, self.spans, person=person) else thing

    def whole_of(self, head: "Token") -> list[tuple[Thing, str]]:
        """For ``the capital of France`` and ``France's capital``: France, and ``capital``."""
        definite = any(t.text.casefold() == "the" for t in head.lefts)
        of, rights = _of(head), [c for c in head.rights if c.dep_ in ("prep", "acl", "relcl")]
        owners = children(head, {"poss"})
        relation = f"{self.words(head)} ".lower()
        if head.tag_[:2] != "NN" or rights not in ([], [of]) or alternative(head):
            return []
        if of is not None and definite:
            owners = children(of, {"pobj"})
        elif not owners and definite and any(a.i in self.names for a in children(head.head, {"attr"})):
            # The editor is Jan Solovej, in a document on a journal
            whole = self.refer("whole", head.text.casefold())
            return [(Thing(whole, entity=True, said=False), relation)] if whole else []
        return [(thing, relation) for o in owners if (thing := self.named(o))]

    def equate(self, verb: "Token") -> None:
        """In ``X is a film directed by Y`` the film is X."""
        subject = next((t for s in children(verb, SUBJECTS) if (t := self.named(s))), None)
        if subject and not children(verb, {"neg"}):
            for attribute in children(verb, {"attr"}):
                if attribute.i not in self.names and not alternative(attribute):
                    self.equal.update({token.i: subject for token in joined(attribute)})

    def words(self, head: "Token") -> str:
        """The words of a noun phrase up to its noun, without article and owner."""
        if head.i in self.spans:
            return tidy(head.doc[slice(*self.spans[head.i])].text)
        start = max([first(head, self.spans), *(o.right_edge.i + 1 for o in children(head, {"poss"}))])
        return tidy(head.doc[start : head.i + 1].text)

    def _of_kind(self, head: "Token") -> Thing | None:
        """``the film``; ``the old stone church``."""
        lefts = [t.text for t in head.lefts if t.dep_ != "punct"]
        named = any(c.i in self.names for c in head.rights)  # the class AsyncHook
        if not lefts or named or lefts[0].casefold() not in ("the", "this") or _of(head):
            return None
        if not all(w.islower() and w not in _OTHERS for w in lefts[1:]):
            return None
        name = self.refer("kind" if len(lefts) == 1 else "described kind", head.text.casefold())
        return Thing(name, entity=True, said=False) if name else None

    def _in_apposition(self, head: "Token") -> Thing | None:
        """``the architect Hugo Dahl``; ``the architect, Hugo Dahl,``."""
        for other in children(head, {"appos"}):
            beside = other.i in self.names and self.spans[other.i][0] == head.i + 1
            person = self.names.get(other.i, ("", ""))[1] == "Person"
            if (beside or person) and head.tag_ not in ("NNP", "NNPS"):
                return Thing(self.names[other.i][0], entity=True)
        return None

    def _with_modifier(self, head: "Token") -> str:
        """``inotify API`` rather than any ``API``; ``FIONREAD ioctl(2)``."""
        start, end = self.spans.get(head.i, (head.i, head.i + 1))
        before = head.doc[start - 1] if start else head
        if end - start > 1 or not _short(head) or before.dep_ != "compound" or before.head != head:
            return ""
        return str(head.doc[before.left_edge.i : end].text)


def _short(noun: "Token") -> bool:
    """Tell whether a noun is an abbreviation that many a thing is called: ``API``."""
    return noun.text.isupper() and len(noun.text) < 5


def _indefinite(noun: "Token") -> bool:
    """Tell whether a noun brings something new into the text: ``an object``, ``data``."""
    return not any(t.text.casefold() not in ("a", "an", "some") for t in noun.lefts if t.dep_ in ("det", "poss"))


def _of(head: "Token") -> "Token | None":
    return next((c for c in head.rights if c.dep_ == "prep" and c.text == "of"), None)
