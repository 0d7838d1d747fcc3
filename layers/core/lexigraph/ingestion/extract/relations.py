"""Relations between neighbouring chunks by a language model (E-65, E-69): a call a pair, every item of a reply checked."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any

from lexigraph.inference.protocols import LanguageModel, Prompt
from lexigraph.ingestion.extract.asking import alive, asked, in_order
from lexigraph.ingestion.extract.evidence import holds
from lexigraph.ingestion.extract.prompts import RELATE, RELATE_FINGERPRINT, RELATE_REPAIR, fenced_pair
from lexigraph.ingestion.extract.reply import UnusableReply, one_line
from lexigraph.ingestion.extract.schema import RELATIONS
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.relations import MAX_EVIDENCE_CHARS, MAX_TYPE_CHARS, ChunkRelation, PairObservation

# to be raised when the same reply would give other relations than before
VERSION = 1
MAX_RELATIONS = 5  # of one pair
LONG_CHARS = 200  # neighbours of this length that are not related otherwise follow each other
NEXT_CONFIDENCE = 0.3
_UNSURE = 0.5  # a model that gives no confidence
_MAX_TOKENS = 1_024
_NO_WORD = re.compile(r"\W+")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two chunks of a document, ``first`` before ``second`` and ``apart`` places from it, with their texts."""

    first: str
    second: str
    first_text: str
    second_text: str
    apart: int = 1
    title: str = ""


class RelationExtractor:
    """Asks ``model`` once a pair how two chunks are related.

    Each chunk is cut to ``truncate`` characters; ``concurrency`` pairs are asked for at the same time. ``observer`` (prompt
    version and model) is whose observation a reply is, ``how`` what else shaped it. Bad items of a reply are dropped, a
    reply of the wrong shape is asked for once more; after that the pair has failed.
    """

    def __init__(self, model: LanguageModel, *, truncate: int = 400, temperature: float = 0.0, concurrency: int = 4) -> None:
        self._model, self._truncate, self._temperature, self._concurrency = model, truncate, temperature, concurrency
        self.observer = f"rel-{VERSION}-{RELATE_FINGERPRINT}:{model.name}"
        self.how = f"{truncate}:{temperature:g}"

    def observe(self, pairs: Sequence[Pair]) -> Iterator[PairObservation]:
        """Yield one observation a pair, in order. When the model answers nothing at all, the rest has failed unasked."""
        return in_order(partial(self._one, gone=Event()), pairs, self._concurrency)

    def _one(self, pair: Pair, *, gone: Event) -> PairObservation:
        observation = PairObservation(pair.first, pair.second, self.observer, self.how)
        if not all(any(c.isalnum() for c in text) for text in (pair.first_text, pair.second_text)):
            return observation
        if gone.is_set():
            return replace(observation, failed="the language model does not respond")
        try:
            return replace(observation, relations=self._relations(pair))
        except (UnusableReply, ModelUnavailable) as error:
            if isinstance(error, ModelUnavailable) and not alive(self._model, _MAX_TOKENS):
                gone.set()
            _logger.warning("two chunks could not be related by %s", self._model.name)
            return replace(observation, failed=str(error))

    def _relations(self, pair: Pair) -> tuple[ChunkRelation, ...]:
        shown = replace(pair, first_text=pair.first_text[: self._truncate], second_text=pair.second_text[: self._truncate])
        fenced = fenced_pair(pair.title, shown.first_text, shown.second_text)
        prompt = Prompt(fenced, RELATE, max_tokens=_MAX_TOKENS, temperature=self._temperature)
        found = asked(self._model, prompt, RELATIONS, "relations", RELATE_REPAIR, lambda reply: read_relations(reply, shown))
        long = min(len(pair.first_text), len(pair.second_text)) >= LONG_CHARS
        if not found and pair.apart == 1 and long:
            return (ChunkRelation(pair.first, pair.second, "STEP_NEXT", NEXT_CONFIDENCE),)
        return found


def read_relations(reply: Any, pair: Pair) -> tuple[ChunkRelation, ...]:
    """Return what can be used of a reply, one relation for equal ends and type, with the mean confidence.

    Raise ``UnusableReply`` for the wrong shape.
    """
    listed = reply.get("relations") if isinstance(reply, Mapping) else None
    if not isinstance(listed, list):
        raise UnusableReply("it must be a JSON object with the list 'relations'")
    found: dict[tuple[str, str, str], list[ChunkRelation]] = {}
    for raw in listed[:MAX_RELATIONS]:
        if isinstance(raw, Mapping) and (relation := _relation(raw, pair)):
            found.setdefault((relation.src, relation.dst, relation.type), []).append(relation)
    return tuple(
        replace(same[0], confidence=round(sum(r.confidence for r in same) / len(same), 4)) for same in found.values()
    )


def _relation(raw: Mapping[str, Any], pair: Pair) -> ChunkRelation | None:
    type_ = _NO_WORD.sub("_", one_line(raw.get("type"))).strip("_").upper()[:MAX_TYPE_CHARS].rstrip("_")
    if not type_:
        return None
    backward = one_line(raw.get("direction")).lower() == "backward"
    src, dst = (pair.second, pair.first) if backward else (pair.first, pair.second)
    confidence = _confidence(raw.get("confidence"))
    evidence = one_line(raw.get("evidence"))[:MAX_EVIDENCE_CHARS].rstrip()
    quoted = holds(pair.first_text, evidence) or holds(pair.second_text, evidence)
    return ChunkRelation(src, dst, type_, confidence, evidence if quoted else "")


def _confidence(given: Any) -> float:
    if not isinstance(given, (int, float)) or isinstance(given, bool) or given != given:  # no number equals NaN
        return _UNSURE
    return round(float(min(max(given, 0), 1)), 4)
