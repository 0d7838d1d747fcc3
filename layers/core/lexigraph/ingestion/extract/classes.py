"""Which of the model's classes are to be believed: it was trained on news, and labels whatever else it meets at random."""

import re

from lexigraph.ingestion.extract.words import KINDS, LINKS, listed

# written as names are: capitalised words, initials
_PROPER = re.compile(r"[^\W\d_a-z][\w'’.-]*[^\W_]\.?|[^\W\d_a-z]\.?")
_NOT_PROPER = re.compile(r"\d|_|[^\W\d_][a-z]+[A-Z]{2}|^[A-Z]{2,}$|\.\w{2,}$")
# signs of writing about software, where names are those of functions, files and options
_TECHNICAL = re.compile(
    r"\w\(|_\w|\B--?[a-z]|[/\\]\w+[/\\.]|</?\w|[{}]|\w\.(?:js|py|c|h|md|html?|conf|txt|so|json)\b|::|->|\w="
)
_OF_PEOPLE = re.compile(r"\b(?:he|she|his|her|him|born|married)\b", re.IGNORECASE)
_ORGANIZATION = listed(
    """
    university college institute company corporation corp inc ltd llc gmbh foundation association society committee council
    ministry department agency bank union league church army navy party museum orchestra commission federation bureau
    laboratory laboratories hospital school academy senate parliament court club team band group records studios press
    consortium organization organisation
    """
)
_EVENT = listed(
    "war battle cup games olympics election elections championship championships festival conference award prize race act"
)
_NO_PERSON = KINDS | listed("free software language manual guide reference list available api data file code test table")
_SMALL = listed("the and a in on at for with")


def trusted(text: str) -> bool:
    """Tell whether a text is of the kind that the model was trained on: no sign of code in it."""
    return not _TECHNICAL.search(text)


def sure_class(name: str, class_: str, text: str, *, prose: bool) -> str:
    """Return the class of a name when its form and ``text`` support it, else an empty one.

    People have full names and are spoken of as people, organizations and events say what they are, one is in a place; and
    no word of the name is a common one in the text. ``prose`` tells that the model is to be trusted with places.
    """
    words = [w.strip("\"'(),:") for w in name.split() if w.casefold() not in LINKS and w.casefold() not in _SMALL]
    if not words or not all(_PROPER.fullmatch(w) and not _NOT_PROPER.search(w) for w in words):
        return ""
    last = words[-1].casefold().rstrip(".")
    if class_ == "Organization":
        return class_ if len(words) > 1 and _ORGANIZATION.intersection((words[0].casefold(), last)) else ""
    if any(re.search(rf"\b{re.escape(w.casefold())}\b", text) for w in words):
        return ""
    if class_ == "Person":
        full = 2 <= len(words) <= 5 and not any(w.casefold() in _NO_PERSON or w.endswith("ing") for w in words)
        return class_ if full and _is_person(name, text) else ""
    if class_ == "Location":
        return class_ if prose and re.search(rf"\b(?:in|at|near|from|to|of)\s+(?:the\s+)?{re.escape(name)}\b", text) else ""
    return class_ if class_ == "Event" and (last in _EVENT or words[0].casefold() in _EVENT) else ""


def _is_person(name: str, text: str) -> bool:
    said = re.escape(name)
    named = rf"\b(?:by|Dr|Mr|Mrs|Ms|Prof|[Aa]uthors?|with)\W+{said}|{said}\W*(?:<\S+@|\(born|, (?:an?|the)\s)"
    return bool(_OF_PEOPLE.search(text) or re.search(named, text))
