"""Relations between chunks as values: what a language model observed of a pair, and steps from chunk to chunk.

A relation is owned by both of its chunks. Its confidence is the mean over what distinct observers (prompt version and
model) said of the pair, so that a repeat changes nothing (E-29, E-31).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_TYPE_CHARS = 30
MAX_EVIDENCE_CHARS = 200
RELATION_TYPES = ("STEP_NEXT", "REFERENCES", "FOLLOWS", "CAUSES", "SUPPORTS", "PART_OF", "SUBSTEP_OF", "CONTRASTS")
StepKind = Literal["entity", "relates", "cooccur", "llm_rel", "first"]


@dataclass(frozen=True, slots=True)
class ChunkRelation:
    """REL from a chunk to another as one observer saw it; ``confidence`` 0 to 1, ``evidence`` words of one of the two."""

    src: str
    dst: str
    type: str
    confidence: float
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class PairObservation:
    """What an observer said of a pair of chunks, ``first`` before ``second`` in the document.

    ``how`` holds what else shaped the reply (truncation, temperature); asked otherwise, a pair is asked anew. A pair that
    ``failed`` (the reason, without any text of documents) has no relations and is tried again.
    """

    first: str
    second: str
    observer: str
    how: str
    relations: tuple[ChunkRelation, ...] = ()
    failed: str = ""


class Step(NamedTuple):
    """A step from a chunk to another, both live: through what they share, or along a REL in either direction.

    ``weight`` is how many entities chunks share (``entity``, ``relates``), in how many chunks two entities stand together
    (``cooccur``), or a relation's confidence (``llm_rel``, with its ``type`` and ``evidence``). ``names`` are the entities
    passed. ``from_chunk`` is empty when a name of the question leads to the chunk, or nothing does (``first``).
    """

    from_chunk: str
    to_chunk: str
    kind: StepKind
    weight: float
    type: str = ""
    evidence: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationCounts:
    """How many relations readers can follow (E-52) and how many entities have other names (E-56).

    ``samples`` are the names of the five entities with most other names, each with these.
    """

    llm_rel: int = 0
    relates_to: int = 0
    co_occurs_with: int = 0
    entities: int = 0
    with_aliases: int = 0
    samples: tuple[tuple[str, tuple[str, ...]], ...] = ()


def count_together(group: Sequence[int] | NDArray[np.int64], member: Sequence[int] | NDArray[np.int64], least: int) -> int:
    """Return how many pairs of members stand together in at least ``least`` groups.

    ``group`` and ``member`` are the two columns of a relation without repeats, sorted by group, then by member.
    """
    groups, members = np.asarray(group, np.int64), np.asarray(member, np.int64)
    pairs: list[NDArray[np.int64]] = []
    for apart in range(1, len(groups)):
        same = groups[:-apart] == groups[apart:]
        if not same.any():
            break
        # the smaller key first, as members are sorted
        pairs.append((members[:-apart][same] << 32) | members[apart:][same])
    every = np.concatenate(pairs) if pairs else np.zeros(0, np.int64)
    pairs.clear()
    every.sort()
    new = np.ones(len(every), bool)
    new[1:] = every[1:] != every[:-1]
    # of a run of equal pairs that is long enough, the last of the first `least` equals its first
    last = every[least - 1 :]
    return int((new[: len(last)] & (every[: len(last)] == last)).sum())
