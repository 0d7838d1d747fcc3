"""What of a text is looked up by words, in the same way in every store."""

import re

_WORD = re.compile(r"[^\W_]+")
_LOOKED_UP = 200  # words of a text, from its beginning

_STOP_TEXT = (
    "a about above after again against all also am an and any are as at be because been before being below "
    "between both but by can could d did do does doing done down during each either else ever few for from "
    "further had has have having he her here hers herself him himself his how however i if in into is it its "
    "itself just ll m me more most must my myself no nor not now of off on once only onto or other ought our ours "
    "ourselves out over own per re s same shall she should since so some such t than that the their theirs them "
    "themselves then there these they this those though through thus to too toward towards under until up upon ve "
    "very via was we were what when where whether which while who whom whose why with within without would yet "
    "you your yours yourself yourselves"
)
_STOP_WORDS = frozenset(_STOP_TEXT.split())


def looked_up(text: str, prefix: bool) -> tuple[list[str], str]:
    """Return the words of a text, each once, without stop words unless there are only those.

    ``prefix``: the last one may be the beginning of a word, and comes apart.
    """
    words = [word.lower() for word in _WORD.findall(text)[:_LOOKED_UP]]
    begun = words.pop() if words and prefix else ""
    telling = [word for word in words if word not in _STOP_WORDS]
    return list(dict.fromkeys(telling if telling or begun else words)), begun
