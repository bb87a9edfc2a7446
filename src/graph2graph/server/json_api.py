"""The server's own API: typed JSON in and out, and its routes."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.parser.pipeline import ParsePlan, Prepared
from graph2graph.parser.trace import trace
from graph2graph.server.limits import Limits
from graph2graph.server.reading import RequestData, prepare_words
from graph2graph.server.service import ServedModel, Service
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE
from graph2graph.treebank.sentence import Sentence


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Reencode = Annotated[
    Literal["exact", "adaptive"] | Annotated[float, Field(ge=0)] | None,
    Field(
        description="Graph models: encode again after every arc (exact), or when the best action is less probable than this "
        "number. Default: the model's setting."
    ),
]


class ParseRequest(_Strict):
    """A text, words or CoNLL-U, and how to parse them."""

    text: str | None = Field(None, description="Raw text; the model must have a tokenizer.")
    words: list[list[str]] | None = Field(None, description="Sentences, each a list of words.")
    conllu: str | None = Field(None, description="CoNLL-U; only HEAD and DEPREL will change.")
    model: str | None = Field(None, description="A name from /models. Default: the first.")
    tags: Literal["keep", "predict", "none"] | None = Field(
        None,
        description="Where the tags that the parser sees come from: the CoNLL-U (keep), the model's tagger (predict), or "
        "nowhere (none). Default: keep for CoNLL-U, otherwise what suits the model best.",
    )
    reencode: Reencode = None
    keep_arcs: bool = Field(False, description="Keep the heads and labels in the CoNLL-U.")
    one_subject: bool = Field(False, description="Give no head a second subject or object: take the next best label.")
    probabilities: bool = Field(False, description="Give the probability of each arc and of its label.")
    presegmented: bool = Field(False, description="The raw text has one sentence on each line.")

    @model_validator(mode="after")
    def _check_fields(self) -> "ParseRequest":
        if sum(given is not None for given in (self.text, self.words, self.conllu)) != 1:
            raise ValueError("give one of text, words and conllu")
        if self.tags == "keep" and self.conllu is None:
            raise ValueError("tags: only CoNLL-U has tags to keep; expected predict or none")
        return self

    @property
    def n_characters(self) -> int:
        """The size of the data."""
        words = (word for sentence in self.words or [] for word in sentence)
        return len(self.text or self.conllu or "") + sum(map(len, words))


class WordAnswer(BaseModel):
    """A word; `_` in CoNLL-U is null here."""

    id: int
    form: str
    lemma: str | None
    upos: str | None
    xpos: str | None
    feats: str | None
    head: int
    deprel: str
    deps: str | None
    misc: str | None
    start_char: int | None = Field(description="Its first character in the raw text, counted from 0.")
    end_char: int | None
    arc_p: float | None = Field(description="The probability of the action that made its arc, if asked for.")
    label_p: float | None


class SentenceAnswer(BaseModel):
    """A sentence and its tree; words are numbered from 1, and the root's head is 0."""

    sent_id: str | None
    text: str
    words: list[WordAnswer]


class ParseAnswer(BaseModel):
    """The parsed sentences, in the order of the request."""

    model: str
    sentences: list[SentenceAnswer]


class RequiredArc(_Strict):
    """An arc that must be in the tree."""

    sentence: int = Field(ge=0, description="Counted from 0.")
    word: int = Field(ge=1, description="Counted from 1.")
    head: int = Field(ge=0, description="0 is the root.")
    deprel: str | None = None


class TraceRequest(_Strict):
    """A text or CoNLL-U to parse step by step; heads in the CoNLL-U are ignored, only `arcs` are kept."""

    text: str | None = None
    conllu: str | None = None
    arcs: list[RequiredArc] = []
    model: str | None = None
    reencode: Reencode = None

    @model_validator(mode="after")
    def _check_fields(self) -> "TraceRequest":
        if (self.text is None) == (self.conllu is None):
            raise ValueError("give one of text and conllu")
        return self


class TraceAnswer(BaseModel):
    """The steps by which each sentence was parsed."""

    sentences: list[dict[str, Any]]


class ErrorAnswer(BaseModel):
    """Every error: one sentence that says what is wrong."""

    detail: str


STATUSES = (400, 404, 413, 422, 429, 503, 504)
ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": ErrorAnswer} for status in STATUSES}


def router(service: Service) -> APIRouter:
    """The routes that take JSON."""
    routes = APIRouter(tags=["JSON"], responses=ERRORS)

    @routes.post("/parse", response_model=ParseAnswer, summary="Parse text, words or CoNLL-U")
    async def parse(request: ParseRequest) -> JSONResponse:
        model = service.models.get(request.model)
        options = ParseOptions(
            tags=TagSource(request.tags) if request.tags else None,
            reencode=request.reencode,
            keep_arcs=request.keep_arcs,
            one_subject=request.one_subject,
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

    @routes.post("/trace", response_model=TraceAnswer, summary="Parse step by step, with required arcs")
    async def trace_steps(request: TraceRequest) -> JSONResponse:
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


def _prepare(request: ParseRequest, model: ServedModel, plan: ParsePlan, limits: Limits) -> list[Prepared]:
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
    return {"model": model.name, "sentences": [sentence_answer(sentence) for sentence in sentences]}


def sentence_answer(sentence: Sentence) -> dict[str, Any]:
    """A parsed sentence in the form of `SentenceAnswer`, not validated again because that takes time."""
    answer = sentence.to_json()
    probabilities = sentence.probabilities or [None] * len(sentence)
    for word, probability in zip(answer["words"], probabilities, strict=True):
        word["arc_p"], word["label_p"] = probability or (None, None)
        word.setdefault("start_char", None)
        word.setdefault("end_char", None)
    return answer


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
        for arc in arcs:
            if arc.sentence == number:
                heads[arc.word - 1], deprels[arc.word - 1] = arc.head, arc.deprel or "_"
        constraints.check([NO_NODE, *(NO_NODE if head is None else head for head in heads)])
        constrained.append(sentence.with_tree(heads, deprels))
    return constrained
