"""The server's own API: typed JSON in and out."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.parser.pipeline import grafted
from graph2graph.parser.trace import trace
from graph2graph.server.models import ServedModel
from graph2graph.server.reading import from_words, read
from graph2graph.server.schema import (
    ErrorAnswer,
    ParseAnswer,
    ParseRequest,
    RequiredArc,
    TraceAnswer,
    TraceRequest,
    sentence_answer,
)
from graph2graph.server.service import Service
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE
from graph2graph.treebank.conllu import Sentence

STATUSES = (400, 404, 413, 422, 429, 503, 504)
ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": ErrorAnswer} for status in STATUSES}


def router(service: Service) -> APIRouter:
    """The routes that take JSON."""
    routes = APIRouter(tags=["JSON"], responses=ERRORS)

    @routes.post("/parse", response_model=ParseAnswer, summary="Parse text, words or CoNLL-U")
    async def parse(request: ParseRequest) -> JSONResponse:
        model = service.models.get(request.model)
        uses_udpipe = request.text is not None or _predicts_tags(request, model)
        given, tagged = await service.read(
            lambda: _read(request, model, service), request.n_characters, uses_udpipe=uses_udpipe
        )
        trees = await service.batcher.parse(tagged, model.pipeline.parser, _options(request, model))
        return await service.run(lambda: JSONResponse(_answer(request, model, given, trees)))

    @routes.post("/trace", response_model=TraceAnswer, summary="Parse step by step, with required arcs")
    async def trace_steps(request: TraceRequest) -> JSONResponse:
        model = service.models.get(request.model)
        given = await service.run(lambda: service.limits.check(_read_for_trace(request, model)))
        parser, options = model.pipeline.parser, ParseOptions(reencode=request.reencode)
        sees_tags = model.pipeline.sees_predicted or request.text is None
        reencode = options.resolve(parser.config.decode).reencode
        traces = [
            await service.batcher.call(partial(trace, parser, sentence, tags=sees_tags, reencode=reencode))
            for sentence in _with_arcs(given, request.arcs)
        ]
        return await service.run(lambda: JSONResponse({"sentences": traces}))

    return routes


def _read(request: ParseRequest, model: ServedModel, service: Service) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences as they were sent, and with the tags that the parser sees."""
    tags = _predicts_tags(request, model)
    if request.conllu is not None:
        given = service.limits.check(read(request.conllu, "conllu", model, heads=request.keep_arcs))
        return given, list(model.text_model.tagged(given)) if tags else given
    if request.text is not None:
        sentences = read(request.text, "text", model, tags=tags, presegmented=request.presegmented, ranges=True)
        given = service.limits.check(sentences)
    else:
        given = service.limits.check(from_words(request.words or []))
        given = list(model.text_model.tagged(given)) if tags else given
    return given, given


def _predicts_tags(request: ParseRequest, model: ServedModel) -> bool:
    if request.tags is None:
        return request.conllu is None and model.pipeline.has_text_model
    return request.tags == "predict"


def _options(request: ParseRequest, model: ServedModel) -> ParseOptions:
    sees_tags = request.tags != "none"
    if request.tags is None and request.conllu is None:
        sees_tags = model.pipeline.sees_predicted
    return ParseOptions(
        tags=TagSource.KEEP if sees_tags else TagSource.NONE,
        reencode=request.reencode,
        keep_arcs=request.keep_arcs,
        probabilities=request.probabilities,
    )


def _answer(request: ParseRequest, model: ServedModel, given: list[Sentence], trees: list[Sentence]) -> dict[str, Any]:
    if request.conllu is not None:
        trees = [grafted(sentence, tree) for sentence, tree in zip(given, trees, strict=True)]
    return {"model": model.name, "sentences": [sentence_answer(tree) for tree in trees]}


def _read_for_trace(request: TraceRequest, model: ServedModel) -> Iterator[Sentence]:
    if request.text is not None:
        return read(request.text, "text", model, tags=True, ranges=True)
    return read(request.conllu or "", "conllu", model)


def _with_arcs(sentences: Sequence[Sentence], arcs: Sequence[RequiredArc]) -> list[Sentence]:
    """The sentences with the required arcs and no others."""
    for arc in arcs:
        if arc.sentence >= len(sentences):
            raise DataError(f"arcs: no sentence {arc.sentence}; there are {len(sentences)}, from 0")
        n_words = len(sentences[arc.sentence])
        if arc.word > n_words or arc.head > n_words or arc.word == arc.head:
            raise DataError(f"arcs: no arc from {arc.head} to {arc.word} in sentence {arc.sentence} of {n_words} words")
    constrained = []
    for number, sentence in enumerate(sentences):
        heads: list[int | None] = [None] * len(sentence)
        deprels = ["_"] * len(sentence)
        for arc in (arc for arc in arcs if arc.sentence == number):
            heads[arc.word - 1], deprels[arc.word - 1] = arc.head, arc.deprel or "_"
        constraints.check([NO_NODE, *(NO_NODE if head is None else head for head in heads)])
        constrained.append(sentence.with_tree(heads, deprels))
    return constrained
