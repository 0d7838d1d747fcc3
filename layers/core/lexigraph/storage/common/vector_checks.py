"""What every vector store refuses: unknown indexes, records and vectors that do not fit."""

from typing import get_args

import numpy as np

from lexigraph.model.errors import InvalidInput
from lexigraph.storage.protocols import VECTOR_INDEXES, FloatArray, IndexName, VectorRecord

INDEXES: tuple[IndexName, ...] = get_args(IndexName)


def check_embedding(label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for an embedding without a name, or whose vectors have no numbers."""
    if not label or dimension < 1:
        raise InvalidInput(f"embedding {label!r} of dimension {dimension}: expected a name and a positive number")


def check_index(index: str) -> None:
    """Raise ``InvalidInput`` for an index that does not exist."""
    if index not in INDEXES:
        raise InvalidInput(f"index {index!r} is unknown: use one of {', '.join(INDEXES)}")


def check_record(index: IndexName, record: VectorRecord, label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for a record without an id, or with the wrong vector, or none, for its index."""
    if not record.id:
        raise InvalidInput(f"record in {index}: the id is empty")
    if record.vector is not None:
        check_vector(f"record {record.id!r} in {index}", index, record.vector, label, dimension)
    elif index in VECTOR_INDEXES:
        raise InvalidInput(f"record {record.id!r} in {index}: a vector of {dimension} numbers is missing")


def check_vector(what: str, index: IndexName, vector: FloatArray, label: str, dimension: int) -> None:
    """Raise ``InvalidInput`` for a vector of another dimension, with numbers that are not finite, or where none belongs."""
    if index not in VECTOR_INDEXES:
        raise InvalidInput(f"{what}: has a vector, but the index is of text only; use {', '.join(VECTOR_INDEXES)}")
    shape = np.shape(vector)
    if shape != (dimension,):
        raise InvalidInput(f"{what}: vector of shape {shape}, but {label} has dimension {dimension}")
    if not np.isfinite(vector).all():
        raise InvalidInput(f"{what}: the vector holds numbers that are not finite")
