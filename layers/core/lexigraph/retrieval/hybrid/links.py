"""What chunks that the graph leads to add to those that it leads from. Pure, no I/O.

Likeness to the question pushes down the second half of an answer, which names what the first half says and not what was
asked. So a chunk of another source gets a bonus for the words of the question that the one before it leaves open, and for
being titled by the name that led there; more where the one before it fits well.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lexigraph.model.graph import StatementRow
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.retrieval.hybrid.args import HybridWeights
from lexigraph.retrieval.hybrid.subgraph import Context
from lexigraph.retrieval.stages.ranking import WEIGHTS, Coverage


class Added(NamedTuple):
    """What a chunk adds to the one that a step leads from, from 0, and the names passed, its title last."""

    worth: float
    names: tuple[str, ...]


def added_by_links(
    question: str, contexts: Sequence[Context], rows: Sequence[StatementRow], fits: Mapping[str, float], w: HybridWeights
) -> dict[str, Added]:
    """Return what each chunk adds, where it does; ``rows`` tell the sources, ``fits`` are scores without it.

    The best step counts. What leads there over another step is worth its own score and what it adds itself.
    """
    source = {row.chunk_id: row.source for row in rows}
    told = [context for context in contexts if context.id in source]
    place = {context.id: at for at, context in enumerate(told)}
    steps = [
        (place[step.from_chunk], at, step.names)
        for at, context in enumerate(told)
        for _, step in context.arrivals
        if step.from_chunk in place and source[step.from_chunk].id != source[context.id].id
    ]
    top = max(fits.values(), default=0.0)
    if not steps or top <= 0:
        return {}
    title = [entity_key(without_brackets(source[context.id].title)) for context in told]
    starts, ends = (np.array([step[side] for step in steps], np.intp) for side in (0, 1))
    about = np.array([title[end] in map(entity_key, names) for _, end, names in steps])
    coverage = Coverage(question)
    held = coverage.held([f"{source[context.id].title}\n{context.text}" for context in told])
    coverage.weigh(held)
    answers = coverage.shares_each(held[ends], 1.0 - held[starts])
    worth = np.where(about, w.titled + answers, w.shared * answers)
    fit, added, best = np.array([fits[context.id] for context in told]), np.zeros(len(told)), dict[int, int]()
    for decay in (1.0, WEIGHTS.decay):
        start = np.clip((fit + added) / top, 0.0, 1.0) ** w.start_power
        for at, value in enumerate((decay * start[starts] * worth).tolist()):
            if value > added[ends[at]]:
                added[ends[at]], best[int(ends[at])] = value, at
    return {
        told[end].id: Added(float(added[end]), tuple(sorted(steps[at][2], key=lambda name: entity_key(name) == title[end])))
        for end, at in best.items()
    }
