"""What every vector store refuses: unknown indexes, records and vectors that do not fit."""

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np

from lexigraph.model.errors import InvalidInput
from lexigraph.storage.protocols import VECTOR_INDEXES, FloatArray, IndexName, SearchRequest, VectorRecord

INDEXES: tuple[IndexName, ...] = get_args(IndexName)


def check_embedding(label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for an embedding without a name, or whose vectors have no numbers."""
    if not label or dimension < 1:
        raise InvalidInput(f"embedding {label!r} of dimension {dimension}: expected a name and a positive number")


def check_index(index: str) -> None:
    """Raise ``InvalidInput`` for an index that does not exist."""
    if index not in INDEXES:
        raise InvalidInput(f"index {index!r} is unknown: use one of {', '.join(INDEXES)}")


def check_records(records: Mapping[IndexName, Sequence[VectorRecord]], label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for an unknown index, a record without an id, or whose vector does not fit or is missing."""
    for index, rows in records.items():
        check_index(index)
        for record in rows:
            if not record.id:
                raise InvalidInput(f"record in {index}: the id is empty")
            if record.vector is not None:
                _check_vector(f"record {record.id!r} in {index}", index, record.vector, label, dimension)
            elif index in VECTOR_INDEXES:
                raise InvalidInput(f"record {record.id!r} in {index}: the vector of {dimension} numbers is missing")


def check_requests(requests: Sequence[SearchRequest], label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for a search in an unknown index, or for a vector that does not fit."""
    for request in requests:
        check_index(request.index)
        if request.vector is not None:
            _check_vector(f"search in {request.index}", request.index, request.vector, label, dimension)


def _check_vector(what: str, index: IndexName, vector: FloatArray, label: str, dimension: int) -> None:
    if index not in VECTOR_INDEXES:
        raise InvalidInput(f"{what}: has a vector, but the index is of text only; use {', '.join(VECTOR_INDEXES)}")
    shape = np.shape(vector)
    if shape != (dimension,):
        raise InvalidInput(f"{what}: vector of shape {shape}, but {label} has dimension {dimension}")
    if not np.isfinite(vector).all():
        raise InvalidInput(f"{what}: the vector holds numbers that are not finite")
