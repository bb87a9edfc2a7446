"""UDPipe's REST API, field by field, so that its clients work with this server unchanged.

The field `tokenizer`, even empty, says that the data are raw text; `tagger` asks for tags and `parser` for trees. Without
`tokenizer` the data are in the format of `input`. Only errors differ from UDPipe's: they are JSON.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast, get_args

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from ufal import udpipe

from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.server.forms import MULTIPART, URL_ENCODED, fields
from graph2graph.server.limits import RequestRefused
from graph2graph.server.reading import InputFormat, RequestData
from graph2graph.server.service import ServedModel, ServedModels, Service
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

PAPER = "Mohammadshahi and Henderson: Graph-to-Graph Transformer for Transition-based Dependency Parsing, 2020"
UDPIPE = "http://ufal.mff.cuni.cz/udpipe"
INPUTS = tuple(name for name in get_args(InputFormat) if name != "text")
OUTPUTS = ("conllu", "epe", "horizontal", "matxin", "plaintext", "vertical")
TOKENIZER_OPTIONS = ("presegmented", "ranges")

FIELDS = {
    "data": "The data to process, in UTF-8. Required.",
    "model": "A name from /models. Default: the first.",
    "tokenizer": "If present, even empty, the data are raw text. Options: presegmented; ranges.",
    "input": f"The format of the data if there is no tokenizer: {', '.join(INPUTS)}. Default: conllu.",
    "tagger": "If present, tags and lemmas are predicted; otherwise those in the data are kept.",
    "parser": "If present, trees are predicted; otherwise heads are kept.",
    "output": f"The format of the result: {', '.join(OUTPUTS)}. Default: conllu.",
}


class ProcessRequest(NamedTuple):
    """A request whose fields have been checked."""

    data: RequestData
    model: ServedModel
    tags: bool
    trees: bool
    output: str

    @classmethod
    def of(cls, given: dict[str, str], models: ServedModels) -> "ProcessRequest":
        """Check the fields of a request."""
        if "data" not in given:
            raise RequestRefused(400, "the field data is missing")
        input_format, options = _input(given)
        output = given.get("output") or "conllu"
        if output.partition("=")[0] not in OUTPUTS:
            raise RequestRefused(400, f"output: no format {output!a}; there are: {', '.join(OUTPUTS)}")
        tags, trees = (given.get(name, "none") != "none" for name in ("tagger", "parser"))
        data = RequestData(given["data"], input_format, **{name: name in options for name in TOKENIZER_OPTIONS})
        model = models.get(given.get("model"))
        if tags:
            model.require_text_model()
        return cls(data, model, tags, trees, output)

    @property
    def uses_udpipe(self) -> bool:
        """Whether UDPipe splits or tags the data."""
        return self.tags or self.data.format in ("text", "generic_tokenizer")

    def answer(self, sentences: Sequence[Sentence]) -> dict[str, Any]:
        """The answer, with UDPipe's keys."""
        return {
            "model": self.model.name,
            "acknowledgements": [PAPER] * self.trees + [UDPIPE] * self.uses_udpipe,
            "result": _write(sentences, self.output),
        }


def router(service: Service) -> APIRouter:
    """The routes of UDPipe's API."""
    routes = APIRouter(tags=["UDPipe"])

    @routes.get("/models", summary="The models and what they can do")
    @routes.post("/models", include_in_schema=False)
    async def models() -> JSONResponse:
        listed = {model.name: model.components for model in service.models.by_name.values()}
        return JSONResponse({"models": listed, "default_model": service.models.default})

    summary = "Process text, with UDPipe's fields"

    @routes.get("/process", openapi_extra={"parameters": _parameters()}, summary=summary)
    @routes.post("/process", openapi_extra={"requestBody": _body()}, summary=summary)
    async def process(http_request: Request) -> JSONResponse:
        query, content_type = http_request.scope["query_string"], http_request.headers.get("content-type", "")
        body = await http_request.body()
        size = len(query) + len(content_type) + len(body)
        given = await service.run(lambda: fields(query, content_type, body), size)
        request = ProcessRequest.of(given, service.models)
        n_characters, uses_udpipe = len(request.data.content), request.uses_udpipe
        options = ParseOptions(tags=None if request.tags else TagSource.KEEP)  # the tagger overwrites given tags
        plan = request.model.pipeline.plan(options, has_tags=not request.tags)
        prepared = await service.read(
            lambda: request.data.prepare(request.model, plan, service.limits), n_characters, uses_udpipe=uses_udpipe
        )
        sentences = [one.tagged for one in prepared]
        if request.trees:
            sentences = await service.batcher.parse(sentences, request.model.pipeline.parser, plan.options)
        return await service.run(lambda: JSONResponse(request.answer(sentences)), None if uses_udpipe else n_characters)

    return routes


def _input(given: dict[str, str]) -> tuple[InputFormat, frozenset[str]]:
    """The format of the data, and the options of the tokeniser."""
    if "tokenizer" in given and given["tokenizer"] != "none":
        return "text", _tokenizer_options(given["tokenizer"])
    name, _, options = (given.get("input") or "conllu").partition("=")
    if name not in INPUTS:
        expected = f"there are: {', '.join(INPUTS)}, and the field tokenizer for raw text"
        raise RequestRefused(400, f"input: no format {name!a}; {expected}")
    return cast(InputFormat, name), _tokenizer_options(options if name == "generic_tokenizer" else "")


def _tokenizer_options(text: str) -> frozenset[str]:
    options = frozenset(option.strip().removesuffix("=1") for option in text.split(";")) - {""}
    if unknown := options.difference(TOKENIZER_OPTIONS):
        raise RequestRefused(400, f"tokenizer: no option {min(unknown)!a}; there are: {', '.join(TOKENIZER_OPTIONS)}")
    return options


def _write(sentences: Sequence[Sentence], output: str) -> str:
    """CoNLL-U verbatim; any other format is written by UDPipe."""
    text = "".join(conllu.texts(sentences))
    if output.partition("=")[0] == "conllu":
        return text
    writer, reader = udpipe.OutputFormat.newOutputFormat(output), udpipe.InputFormat.newConlluInputFormat()
    if writer is None:
        raise RequestRefused(400, f"output: UDPipe knows no format {output!a}")
    sentence, error, parts = udpipe.Sentence(), udpipe.ProcessingError(), []
    reader.setText(text.replace("\0", "\ufffd"))
    while reader.nextSentence(sentence, error):
        parts.append(writer.writeSentence(sentence))
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
