"""UDPipe's REST API, field by field, so that its clients work with this server as they are.

`tokenizer` (even empty) means raw text, `tagger` that tags are predicted, `parser` that trees are; what is absent is not done.
Without `tokenizer` the data are in the format of `input`. Errors differ: ours are JSON.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast, get_args

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from ufal import udpipe

from graph2graph.errors import DataError
from graph2graph.server.batching import How
from graph2graph.server.forms import MULTIPART, URL_ENCODED, fields
from graph2graph.server.limits import Refused
from graph2graph.server.served import Model, Models, Written, read
from graph2graph.server.service import Service
from graph2graph.treebank.conllu import Sentence

OURS = "Mohammadshahi and Henderson: Graph-to-Graph Transformer for Transition-based Dependency Parsing, 2020"
UDPIPE = "http://ufal.mff.cuni.cz/udpipe"
INPUTS = tuple(name for name in get_args(Written) if name != "text")
OUTPUTS = ("conllu", "epe", "horizontal", "matxin", "plaintext", "vertical")
TOKENIZER_OPTIONS = ("presegmented", "ranges")

FIELDS = {
    "data": "What to process, in UTF-8. Required.",
    "model": "A name that /models lists; default: the first.",
    "tokenizer": "If there, even empty, the data are raw text. Options: presegmented; ranges.",
    "input": f"Without tokenizer, how the data are written: {', '.join(INPUTS)}; default: conllu.",
    "tagger": "If there, tags and lemmas are predicted; else those of the data stay.",
    "parser": "If there, trees are predicted; else heads stay as they are.",
    "output": f"How to write the result: {', '.join(OUTPUTS)}; default: conllu.",
}


class Asked(NamedTuple):
    """What a client of UDPipe asks for."""

    data: str
    model: Model
    written: Written
    tokenizer: frozenset[str]  # options
    tags: bool
    trees: bool
    output: str

    @classmethod
    def of(cls, given: dict[str, str], models: Models) -> "Asked":
        """What these fields ask for."""
        if "data" not in given:
            raise Refused(400, "the field data is missing")
        written, options = _input(given)
        output = given.get("output") or "conllu"
        if output.partition("=")[0] not in OUTPUTS:
            raise Refused(400, f"output: no format {output!a}; there are: {', '.join(OUTPUTS)}")
        tags, trees = (given.get(name, "none") != "none" for name in ("tagger", "parser"))
        return cls(given["data"], models.get(given.get("model")), written, options, tags, trees, output)

    @property
    def how(self) -> How:
        """How the parser is to go about it."""
        return How(self.model.pipeline.parser, tags=self.model.pipeline.sees_predicted or not self.tags)

    @property
    def uses_udpipe(self) -> bool:
        """Whether UDPipe splits or tags the data."""
        return self.tags or self.written in ("text", "generic_tokenizer")

    def sentences(self) -> Iterator[Sentence]:
        """The sentences of the data."""
        how = {option: option in self.tokenizer for option in TOKENIZER_OPTIONS}
        return read(self.data, self.written, self.model, tags=self.tags, **how)

    def answer(self, sentences: Sequence[Sentence]) -> dict[str, Any]:
        """The answer, as UDPipe words it."""
        return {
            "model": self.model.name,
            "acknowledgements": [OURS] * self.trees + [UDPIPE] * self.uses_udpipe,
            "result": _written(sentences, self.output),
        }


def router(service: Service) -> APIRouter:
    """The paths of UDPipe's API."""
    routes = APIRouter(tags=["UDPipe"])

    @routes.get("/models", summary="The models and what they can do")
    @routes.post("/models", include_in_schema=False)
    async def models() -> JSONResponse:
        known = service.models
        listed = {model.name: model.components for model in known.by_name.values()}
        return JSONResponse({"models": listed, "default_model": known.default})

    summary = "Process text, with UDPipe's fields"

    @routes.get("/process", openapi_extra={"parameters": _parameters()}, summary=summary)
    @routes.post("/process", openapi_extra={"requestBody": _body()}, summary=summary)
    async def process(request: Request) -> JSONResponse:
        given = fields(request.scope["query_string"], request.headers.get("content-type"), await request.body())
        asked = Asked.of(given, service.models)
        size, by_udpipe = len(asked.data), asked.uses_udpipe
        sentences = await service.read(lambda: service.desk.checked(asked.sentences()), size, by_udpipe=by_udpipe)
        if asked.trees:
            sentences = await service.batcher.parse(sentences, asked.how)
        return await service.desk.do(lambda: JSONResponse(asked.answer(sentences)), None if by_udpipe else size)

    return routes


def _input(given: dict[str, str]) -> tuple[Written, frozenset[str]]:
    """How the data are written, and the options of the tokeniser."""
    if "tokenizer" in given and given["tokenizer"] != "none":
        return "text", _tokenizer_options(given["tokenizer"])
    name, _, options = (given.get("input") or "conllu").partition("=")
    if name not in INPUTS:
        raise Refused(
            400, f"input: no format {name!a}; there are: {', '.join(INPUTS)}, and the field tokenizer for raw text"
        )
    return cast(Written, name), _tokenizer_options(options if name == "generic_tokenizer" else "")


def _tokenizer_options(text: str) -> frozenset[str]:
    options = frozenset(option.strip().removesuffix("=1") for option in text.split(";")) - {""}
    if unknown := options.difference(TOKENIZER_OPTIONS):
        raise Refused(400, f"tokenizer: no option {min(unknown)!a}; there are: {', '.join(TOKENIZER_OPTIONS)}")
    return options


def _written(sentences: Sequence[Sentence], output: str) -> str:
    """CoNLL-U as it is; other formats are written by UDPipe."""
    text = "".join(line for sentence in sentences for line in sentence.lines)
    if output.partition("=")[0] == "conllu":
        return text
    writer, reader = udpipe.OutputFormat.newOutputFormat(output), udpipe.InputFormat.newConlluInputFormat()
    if writer is None:
        raise Refused(400, f"output: UDPipe knows no format {output!a}")
    found, error, parts = udpipe.Sentence(), udpipe.ProcessingError(), []
    reader.setText(text.replace("\0", "\ufffd"))
    while reader.nextSentence(found, error):
        parts.append(writer.writeSentence(found))
    if error.occurred():
        raise DataError(f"output: UDPipe cannot write this as {output}: {error.message.strip()}")
    return "".join([*parts, writer.finishDocument()])


def _parameters() -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "query", "required": name == "data", "description": about, "schema": {"type": "string"}}
        for name, about in FIELDS.items()
    ]


def _body() -> dict[str, Any]:
    properties = {name: {"type": "string", "description": about} for name, about in FIELDS.items()}
    schema = {"type": "object", "required": ["data"], "properties": properties}
    return {"required": True, "content": {kind: {"schema": schema} for kind in (MULTIPART, URL_ENCODED)}}
