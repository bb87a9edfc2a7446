"""Our own API: typed JSON in and out."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from graph2graph.errors import DataError
from graph2graph.parser.pipeline import grafted
from graph2graph.parser.trace import trace
from graph2graph.server.batching import How
from graph2graph.server.schema import Arc, ParseAnswer, ParseRequest, Problem, TraceAnswer, TraceRequest, as_json
from graph2graph.server.served import Model, from_words, read
from graph2graph.server.service import Service
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE
from graph2graph.treebank.conllu import Sentence

ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (400, 404, 413, 422, 429, 503, 504)}


def router(service: Service) -> APIRouter:
    """The paths that take JSON."""
    routes = APIRouter(tags=["JSON"], responses=ERRORS)
    desk, batcher, models = service.desk, service.batcher, service.models

    @routes.post("/parse", response_model=ParseAnswer, summary="Parse text, words or CoNLL-U")
    async def parse(asked: ParseRequest) -> JSONResponse:
        model = models.get(asked.model)
        size = len(asked.text or asked.conllu or "") + sum(len(word) for words in asked.words or [] for word in words)
        by_udpipe = asked.text is not None or _tags(asked, model)
        given, seen = await service.read(lambda: _read(asked, model, service), size, by_udpipe=by_udpipe)
        trees = await batcher.parse(seen, _how(asked, model))
        return await desk.do(lambda: JSONResponse(_answer(asked, model, given, trees)))

    @routes.post("/trace", response_model=TraceAnswer, summary="Parse step by step, with given arcs")
    async def steps(asked: TraceRequest) -> JSONResponse:
        model = models.get(asked.model)
        sentences = await desk.do(lambda: desk.checked(_to_trace(asked, model)))
        constrained = _with_arcs(sentences, asked.arcs)
        tags = model.pipeline.sees_predicted or asked.text is None
        told = partial(trace, model.pipeline.parser, tags=tags, reencode=_threshold(asked.reencode, model))
        traces = [await batcher.call(partial(told, sentence)) for sentence in constrained]
        return await desk.do(lambda: JSONResponse({"sentences": traces}))

    return routes


def _read(asked: ParseRequest, model: Model, service: Service) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences as they are given, and with the tags that the parser sees."""
    tags = _tags(asked, model)
    if asked.conllu is not None:
        given = service.desk.checked(read(asked.conllu, "conllu", model, heads=asked.keep_arcs))
        return given, list(model.text_model.tagged(given)) if tags else given
    if asked.text is not None:
        how = {"presegmented": asked.presegmented, "ranges": True}
        given = service.desk.checked(read(asked.text, "text", model, tags=tags, **how))
    else:
        given = service.desk.checked(from_words(asked.words or []))
        given = list(model.text_model.tagged(given)) if tags else given
    return given, given


def _tags(asked: ParseRequest, model: Model) -> bool:
    """Whether tags are predicted."""
    if asked.tags is None:
        return asked.conllu is None and model.pipeline.has_text_model
    return asked.tags == "predict"


def _how(asked: ParseRequest, model: Model) -> How:
    parser, reencode = model.pipeline.parser, _threshold(asked.reencode, model)
    tags = model.pipeline.sees_predicted or asked.conllu is not None if asked.tags is None else asked.tags != "none"
    return How(parser, reencode, asked.keep_arcs, asked.probabilities, tags=tags)


def _threshold(reencode: float | str | None, model: Model) -> float | None:
    named = {"exact": math.inf, "adaptive": model.pipeline.parser.config.decode.adaptive}
    return named[reencode] if isinstance(reencode, str) else reencode


def _answer(asked: ParseRequest, model: Model, given: list[Sentence], trees: list[Sentence]) -> dict[str, Any]:
    if asked.conllu is not None:
        trees = [grafted(sentence, tree) for sentence, tree in zip(given, trees, strict=True)]
    return {"model": model.name, "sentences": [as_json(tree) for tree in trees]}


def _to_trace(asked: TraceRequest, model: Model) -> Iterable[Sentence]:
    if asked.text is not None:
        return read(asked.text, "text", model, tags=True, ranges=True)
    return read(asked.conllu or "", "conllu", model)


def _with_arcs(sentences: Sequence[Sentence], arcs: Sequence[Arc]) -> Iterator[Sentence]:
    """The sentences with these arcs and no others."""
    for arc in arcs:
        if arc.sentence >= len(sentences):
            raise DataError(f"arcs: no sentence {arc.sentence}; there are {len(sentences)}, from 0")
        n_words = len(sentences[arc.sentence])
        if arc.word > n_words or arc.head > n_words or arc.word == arc.head:
            raise DataError(f"arcs: no arc from {arc.head} to {arc.word} in sentence {arc.sentence} of {n_words} words")
    blank = []
    for number, sentence in enumerate(sentences):
        heads: list[int | None] = [None] * len(sentence)
        deprels = ["_"] * len(sentence)
        for arc in (arc for arc in arcs if arc.sentence == number):
            heads[arc.word - 1], deprels[arc.word - 1] = arc.head, arc.deprel or "_"
        constraints.check([NO_NODE, *(NO_NODE if head is None else head for head in heads)])
        blank.append(sentence.with_tree(heads, deprels))
    return iter(blank)
