"""The server's own API: typed JSON in and out."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.parser.pipeline import ParsePlan, Prepared
from graph2graph.parser.trace import trace
from graph2graph.server import schema
from graph2graph.server.limits import Limits
from graph2graph.server.models import ServedModel
from graph2graph.server.reading import RequestData, prepare_words
from graph2graph.server.service import Service
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE
from graph2graph.treebank.sentence import Sentence

STATUSES = (400, 404, 413, 422, 429, 503, 504)
ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": schema.ErrorAnswer} for status in STATUSES}


def router(service: Service) -> APIRouter:
    """The routes that take JSON."""
    routes = APIRouter(tags=["JSON"], responses=ERRORS)

    @routes.post("/parse", response_model=schema.ParseAnswer, summary="Parse text, words or CoNLL-U")
    async def parse(request: schema.ParseRequest) -> JSONResponse:
        model = service.models.get(request.model)
        options = ParseOptions(
            tags=TagSource(request.tags) if request.tags else None,
            reencode=request.reencode,
            keep_arcs=request.keep_arcs,
            probabilities=request.probabilities,
        )
        plan = model.pipeline.plan(options, has_tags=request.conllu is not None)
        prepared = await service.read(
            lambda: _prepare(request, model, plan, service.limits),
            request.n_characters,
            uses_udpipe=request.text is not None or plan.predicts_tags,
        )
        trees = await service.batcher.parse([one.tagged for one in prepared], model.pipeline.parser, plan.options)
        return await service.run(lambda: JSONResponse(_answer(model, prepared, trees)))

    @routes.post("/trace", response_model=schema.TraceAnswer, summary="Parse step by step, with required arcs")
    async def trace_steps(request: schema.TraceRequest) -> JSONResponse:
        model = service.models.get(request.model)
        plan = model.pipeline.plan(ParseOptions(reencode=request.reencode), has_tags=request.conllu is not None)
        data = RequestData(
            request.text or request.conllu or "", "conllu" if request.text is None else "text", ranges=True
        )
        prepared = await service.run(lambda: data.prepare(model, plan, service.limits))
        sentences = _with_arcs([one.tagged for one in prepared], request.arcs)
        tags, reencode = plan.options.tags is TagSource.KEEP, plan.options.reencode
        trace_one = partial(trace, model.pipeline.parser, tags=tags, reencode=reencode)
        traces = [await service.batcher.call(partial(trace_one, sentence)) for sentence in sentences]
        return await service.run(lambda: JSONResponse({"sentences": traces}))

    return routes


def _prepare(request: schema.ParseRequest, model: ServedModel, plan: ParsePlan, limits: Limits) -> list[Prepared]:
    """The sentences of a request, ready to be parsed."""
    if request.words is not None:
        return prepare_words(request.words, model, plan, limits)
    if request.text is not None:
        data = RequestData(request.text, "text", presegmented=request.presegmented, ranges=True)
    else:
        data = RequestData(request.conllu or "", "conllu", uses_heads=request.keep_arcs)
    return data.prepare(model, plan, limits)


def _answer(model: ServedModel, prepared: list[Prepared], trees: list[Sentence]) -> dict[str, Any]:
    sentences = [one.finish(tree) for one, tree in zip(prepared, trees, strict=True)]
    return {"model": model.name, "sentences": [schema.sentence_answer(sentence) for sentence in sentences]}


def _with_arcs(sentences: Sequence[Sentence], arcs: Sequence[schema.RequiredArc]) -> list[Sentence]:
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
        for arc in arcs:
            if arc.sentence == number:
                heads[arc.word - 1], deprels[arc.word - 1] = arc.head, arc.deprel or "_"
        constraints.check([NO_NODE, *(NO_NODE if head is None else head for head in heads)])
        constrained.append(sentence.with_tree(heads, deprels))
    return constrained
