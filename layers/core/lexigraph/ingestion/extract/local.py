"""Extraction without a language model: sentences become statements, spaCy gives names and the facts between them."""

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.aliases import find_aliases
from lexigraph.ingestion.extract.facts import AnchoredFact, FactReader
from lexigraph.ingestion.extract.mentions import Name, find_names
from lexigraph.ingestion.extract.names import clean_name
from lexigraph.ingestion.extract.segments import Segment, pieces, segments
from lexigraph.ingestion.extract.sentences import mark_boundaries
from lexigraph.ingestion.extract.subjects import Subjects, opening_reference
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.normalise import entity_key

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

# raise when the same chunk would give another extraction
VERSION = 1
_BATCH = 32
