"""Which of the model's classes are to be believed: it was trained on news, and labels whatever else it meets at random."""

import re

from lexigraph.ingestion.extract.words import KINDS, LINKS, listed

# written as names are: capitalised words, initials, links
_PROPER = re.compile(r"[^\W\d_a-z][\w'’.-]*[^\W_]\.?|[^\W\d_a-z]\.?")
_NOT_PROPER = re.compile(r"\d|_|[^\W\d_][a-z]+[A-Z]{2}|^[A-Z]{2,}$|\.\w{2,}$")
# signs of writing about software, where names are those of functions, files and options
_TECHNICAL = re.compile(
    r"\w\(|_\w|\B--?[a-z]|[/\\]\w+[/\\.]|</?\w|[{}]|\w\.(?:js|py|c|h|md|html?|conf|txt|so|json)\b|::|->|\w="
)
_ORGANIZATION = listed(
    """
    university college institute company corporation corp inc ltd llc gmbh foundation association society committee council
    ministry department agency bank union league church army navy party museum orchestra commission federation bureau
    laboratory laboratories hospital school academy senate parliament court club team band group records studios press
    consortium
    """
)
_INITIALS = re.compile(r"(?:[A-Z]\.?){2,5}")
_SMALL = listed("the and a in on at for with")
_NO_PERSON = KINDS | listed("free software language manual guide reference list available api data file code test table")


def trusted(text: str) -> bool:
    """Tell whether a text is of the kind that the model was trained on: no sign of code in it."""
    return not _TECHNICAL.search(text)


def sure_class(name: str, class_: str, text: str, *, prose: bool) -> str:
    """Return the class of a name when its form supports it in ``text``, else an empty one.

    People have full names, organizations say what they are, and no word of either is used as a common one in the text.
    ``prose`` tells that the model is to be trusted: only then are other classes kept.
    """
    words = [w.strip("\"'(),:") for w in name.split() if w.casefold() not in LINKS and w.casefold() not in _SMALL]
    if not words or not class_ or not all(_PROPER.fullmatch(w) and not _NOT_PROPER.search(w) for w in words):
        return class_ if prose and class_ in ("Location", "Organization") and _INITIALS.fullmatch(name) else ""
    told = words[-1].casefold().rstrip(".") in _ORGANIZATION or words[0].casefold() in _ORGANIZATION
    if class_ == "Organization" and told and len(words) > 1:
        return class_
    if any(re.search(rf"\b{re.escape(w.casefold())}\b", text) for w in words):
        return ""
    full = 2 <= len(words) <= 5 and not any(w.casefold() in _NO_PERSON or w.endswith("ing") for w in words)
    if class_ == "Person" and not prose:
        return class_ if full else ""
    return class_ if prose and (class_ != "Person" or full) else ""
