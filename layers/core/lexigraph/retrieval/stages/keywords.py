"""From a question to what is looked up: keywords, names and subqueries; by a language model, or from the question itself."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lexigraph.inference.protocols import LanguageModel, Prompt
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.normalise import entity_key
from lexigraph.retrieval.stages.prompts import (
    KEYWORDS_SCHEMA,
    KEYWORDS_SYSTEM,
    QUESTION,
    SUBQUERIES_SCHEMA,
    SUBQUERIES_SYSTEM,
)
from lexigraph.retrieval.stages.text import STOP_WORDS, unframed
from lexigraph.retrieval.stages.trace import Trace

MIN_COMPLEX_CHARS = 26  # G-28: only questions longer than 25 characters are broken up
_MAX_KEYWORD_CHARS = 120
_QUOTED = re.compile(r"[\"\u201c\u00ab\u201e]([^\"\u201c\u201d\u00ab\u00bb\u201e]{2,120})[\"\u201d\u00bb\u201c]")
_WORD = re.compile(r"[\w+#&.'\u2019-]+[^\w\s]*")
_POSSESSIVE = re.compile(r"(?:['\u2019]s|(?<=s)['\u2019])$")
_JOINING = frozenset("of the for de von van der la le &".split())


def question_keywords(text: str, limit: int) -> tuple[str, ...]:
    """Return up to ``limit`` keywords of a question: quoted strings, capitalised sequences, then its other content words."""
    quoted = [m.group(1).strip() for m in _QUOTED.finditer(text)]
    written = [m.group() for m in _WORD.finditer(unframed(_QUOTED.sub(" , ", text)))]
    runs = list(_capitalised(written))
    taken = {word for phrase in (*quoted, *runs) for word in entity_key(phrase).split()}
    plain = [key for word in written if len(key := _POSSESSIVE.sub("", entity_key(word))) > 2 and key not in taken]
    return _distinct((*quoted, *runs, *(w for w in plain if w not in STOP_WORDS)), limit)


def _capitalised(written: list[str]) -> Iterable[str]:
    """Yield runs of capitalised words, small words between them included: ``Bank of England``."""
    run: list[str] = []
    for at, word in enumerate([*written, ""]):
        bare = word.strip(".,:;!?()'\"\u2019") if word[-1:] in ',:;!?)"' else word
        capital = any(c.isupper() for c in word) or (bool(run) and word[:1].isdigit())
        if capital and not (not run and entity_key(bare) in STOP_WORDS):
            run.append(_POSSESSIVE.sub("", bare))
        follows = any(c.isupper() for c in "".join(written[at + 1 : at + 2]))
        if run and (not capital or bare != word or _POSSESSIVE.search(bare)):
            if word in _JOINING and follows:
                run.append(word)
                continue
            yield " ".join(run)
            run = []


def _distinct(phrases: Iterable[str], limit: int) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for phrase in phrases:
        key = entity_key(phrase)
        if key and len(phrase) <= _MAX_KEYWORD_CHARS:
            kept.setdefault(key, phrase)
    return tuple(kept.values())[:limit]


def keywords(llm: LanguageModel | None, text: str, limit: int, trace: Trace) -> tuple[str, ...]:
    """Return up to ``limit`` keywords: from the model when there is one, else or failing that from the question itself."""
    named = model_keywords(llm, text, limit, trace) if llm else ()
    return named or question_keywords(text, limit)


def model_keywords(llm: LanguageModel, text: str, limit: int, trace: Trace) -> tuple[str, ...]:
    """Return up to ``limit`` keywords from the model; empty with a warning when it fails or answers nonsense (G-25)."""
    reply = _ask(llm, KEYWORDS_SYSTEM.format(limit=limit), text, KEYWORDS_SCHEMA, "keywords", trace)
    given = reply.get("keywords") if reply else None
    if given is None:
        return ()
    found = _distinct((k.strip() for k in given if isinstance(k, str)), limit) if isinstance(given, list) else ()
    if not found:
        trace.warn("keywords_failed", "the language model returned no keywords; those of the question were used")
    return found


def subqueries(llm: LanguageModel | None, text: str, limit: int, trace: Trace) -> tuple[str, ...]:
    """Return up to ``limit`` simpler questions, or none when the question is short or needs one entity only (G-28, G-29)."""
    if llm is None:
        trace.warn("subqueries_need_llm", "derive_subqueries needs a language model; the question was searched unchanged")
        return ()
    if len(text) < MIN_COMPLEX_CHARS:
        return ()
    reply = _ask(llm, SUBQUERIES_SYSTEM.format(limit=limit), text, SUBQUERIES_SCHEMA, "subqueries", trace)
    if not reply or reply.get("several_entities") is False:
        return ()
    given = reply.get("subqueries")
    parts = [" ".join(q.split()) for q in given if isinstance(q, str)] if isinstance(given, list) else []
    simpler: dict[str, str] = {}
    for part in parts:
        simpler.setdefault(entity_key(part), part)
    kept = tuple(part for key, part in simpler.items() if key not in ("", entity_key(text)))[:limit]
    if reply.get("several_entities") is not True or not kept:
        trace.warn("subqueries_failed", "the language model returned no subqueries; the question was searched unchanged")
        return ()
    return kept


def _ask(
    llm: LanguageModel, system: str, text: str, schema: Mapping[str, Any], name: str, trace: Trace
) -> Mapping[str, Any] | None:
    prompt = Prompt(user=QUESTION.format(question=text), system=system, max_tokens=512)
    try:
        with trace.step(name):
            reply = llm.structured(prompt, schema, name)
    except ModelUnavailable as error:
        trace.warn(f"{name}_failed", f"the language model failed ({error}); the question was used as it is")
        return None
    if not isinstance(reply, Mapping):
        trace.warn(f"{name}_failed", "the language model did not return a JSON object; the question was used as it is")
        return None
    return reply
