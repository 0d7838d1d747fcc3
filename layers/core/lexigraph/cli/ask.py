"""``lexigraph query`` and ``lexigraph retrieve``: a question gets a cited answer, or the statements behind one."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexigraph.answering.query_engine import AnswerArgs
from lexigraph.cli.answers import (
    print_answer,
    print_doubt,
    print_results,
    print_sources,
    print_timings,
    print_unsupported,
    print_warnings,
)
from lexigraph.cli.invocation import current
from lexigraph.cli.options import ArgOption, JsonOption, assigned, with_options
from lexigraph.cli.output import print_json, printable
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import all_of, parse_expression
from lexigraph.model.question import Question
from lexigraph.retrieval.catalogue import RetrieverName, check_parameters
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.traversal.args import TraversalArgs

if TYPE_CHECKING:
    from lexigraph.answering.query_engine import LexicalGraphQueryEngine
    from lexigraph.settings import Settings
    from lexigraph.storage.protocols import Stores

_MOST_READ = 1_000_000  # bytes on stdin; fewer characters are allowed

QuestionArgument = Annotated[str, typer.Argument(help="The question, or - to read it from stdin.", show_default=False)]
RetrieverOption = Annotated[
    RetrieverName,
    typer.Option(
        help="traversal: chunk-based and entity-based search combined; chunk, entity: one of the two; "
        "topic: by topics, for long documents; "
        "semantic-guided: beam search over statements; "
        "hybrid: vectors, BM25 and relations, with explained scores; "
        "multihop: follows links hop by hop; multidoc: balances several documents; recall: a session's memory; "
        "vector, bm25, fused: baselines without the graph."
    ),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="'KEY OP VALUE'",
        help="Filter on metadata: 'year >= 2020', 'team in [a, b]'. Repeated filters must all match.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(metavar="N", help="Alias of --max-search-results.")]
LlmOption = Annotated[str | None, typer.Option(metavar="MODEL", help="Language model, or none. (LEXIGRAPH_LLM)")]


_OF_SETTINGS = ("prompts", "max_question_chars", "max_answer_tokens", "model_window", "complete_followups")


@with_options(TraversalArgs, SemanticArgs, AnswerArgs, leave_out=_OF_SETTINGS)
def query(
    context: typer.Context,
    question: QuestionArgument,
    retriever: RetrieverOption = "traversal",
    filters: FilterOption = None,
    limit: LimitOption = None,
    arg: ArgOption = None,
    llm: LlmOption = None,
    stream: Annotated[bool, typer.Option("--stream", help="Stream the answer as the model writes it.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Remove sentences that their citations do not support.")] = False,
    json_: JsonOption = False,
    **given: Any,
) -> None:
    """Answer a question from the documents, with citations.

    Without a language model the answer quotes the best statements.
    """
    if stream and json_:
        raise InvalidInput("--stream and --json cannot be used together")
    invocation = current(context)
    settings = invocation.settings(llm=llm)
    text, condition = asked(question, settings), all_of(*map(parse_expression, filters or ()))
    given = chosen(given, limit, retriever, arg)
    with invocation.stores(settings) as stores:
        engine = make_engine(stores, settings, retriever, given)
        response = engine.stream(text, filters=condition, strict=strict)
        if stream:
            for piece in response:
                sys.stdout.write(printable(piece))
                sys.stdout.flush()
            sys.stdout.write("\n")
        whole = response.complete()
        if not whole.results.results:
            invocation.tell_if_empty(stores, settings)
    if json_:
        print_json(whole.to_dict())
        return
    if not stream:
        print_answer(invocation.out, whole.response)
    print_sources(invocation.out, whole)
    print_unsupported(invocation.out, whole, left_out=strict)
    print_timings(invocation.out, whole.timings)
    print_warnings(invocation.err, whole.warnings)
    print_doubt(invocation.err, whole)


@with_options(TraversalArgs, SemanticArgs)
def retrieve(
    context: typer.Context,
    question: QuestionArgument,
    retriever: RetrieverOption = "traversal",
    filters: FilterOption = None,
    limit: LimitOption = None,
    arg: ArgOption = None,
    llm: LlmOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also show paths, score parts, facts and offsets.")] = False,
    json_: JsonOption = False,
    **given: Any,
) -> None:
    """Retrieve statements for a question, grouped by document and topic."""
    invocation = current(context)
    settings = invocation.settings(llm=llm)
    text, condition = asked(question, settings), all_of(*map(parse_expression, filters or ()))
    given = chosen(given, limit, retriever, arg)
    with invocation.stores(settings) as stores:
        found = make_engine(stores, settings, retriever, given).retrieve(text, filters=condition)
        if not found.results:
            invocation.tell_if_empty(stores, settings)
    if json_:
        print_json(found.to_dict())
        return
    print_results(invocation.out, found, explain=explain)
    print_warnings(invocation.err, found.warnings)


def asked(question: str, settings: "Settings") -> str:
    """Return the question, that on stdin for ``-``. Raise ``InvalidInput`` before anything is opened for it."""
    return Question.of(given_text(question), max_chars=settings.max_question_chars).text


def given_text(argument: str) -> str:
    """Return an argument as text that can be encoded; ``-`` stands for what comes on stdin."""
    if argument == "-":
        return sys.stdin.buffer.read(_MOST_READ).decode("utf-8", "replace").rstrip("\r\n")
    return os.fsencode(argument).decode("utf-8", "replace")


def chosen(
    given: Mapping[str, Any], limit: int | None, retriever: RetrieverName, pairs: Sequence[str] | None
) -> dict[str, Any]:
    """Return the parameters with those of ``--arg`` and ``--limit`` among them.

    Raise ``InvalidInput`` for one that is given twice, and for one of ``--arg`` that the retriever does not have.
    """
    args = assigned(pairs or ())
    check_parameters(retriever, args)
    if twice := sorted(given.keys() & args.keys()):
        raise InvalidInput(f"--arg {twice[0]} and --{twice[0].replace('_', '-')} are the same: use only one")
    merged = {**given, **args}
    if limit is None:
        return merged
    if "max_search_results" in merged:
        raise InvalidInput("--limit and --max-search-results are the same: use only one")
    return {**merged, "max_search_results": limit}


def make_engine(
    stores: "Stores", settings: "Settings", retriever: RetrieverName, given: dict[str, Any]
) -> "LexicalGraphQueryEngine":
    """Return an engine with the retriever of that name. Raise ``InvalidInput`` for a parameter without effect on it."""
    from lexigraph.answering.query_engine import LexicalGraphQueryEngine
    from lexigraph.retrieval.catalogue import parameters

    known = {*parameters(retriever), *(f.name for f in fields(AnswerArgs))}
    if foreign := [name for name in given if name not in known]:
        raise InvalidInput(f"--{foreign[0].replace('_', '-')} has no effect on --retriever {retriever}: omit it")
    return LexicalGraphQueryEngine.for_retriever(retriever, stores.graph, stores.vectors, settings=settings, **given)
