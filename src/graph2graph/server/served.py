"""The models of a server, by name, and how what a request sends becomes sentences."""

import asyncio
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar

from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.server.limits import Limits, Refused
from graph2graph.text import udpipe as text
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

T = TypeVar("T")
Written = Literal["text", "generic_tokenizer", "horizontal", "vertical", "conllu"]

SMALL = 4_000


class Model:
    """A pipeline and the name that clients know it by."""

    def __init__(self, name: str, pipeline: Pipeline) -> None:
        self.name, self.pipeline = name, pipeline

    @property
    def components(self) -> list[str]:
        """What it can do, in UDPipe's words."""
        return ["tokenizer", "tagger", "parser"] if self.pipeline.has_text_model else ["parser"]

    @property
    def text_model(self) -> TextModel:
        """The text model, which must be there."""
        if not self.pipeline.has_text_model:
            raise Refused(400, f"model {self.name} has no tokenizer and no tagger; send words or CoNLL-U")
        return self.pipeline.text_model


class Models:
    """The models that are served; the first is the default."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.by_name = {model.name: model for model in models}
        self.default = models[0].name

    @classmethod
    def load(cls, wanted: Sequence[str]) -> "Models":
        """The models of these names or directories, each tried on a word, so that a broken one is found out at once.

        This is done in a thread that ends: every thread that runs a model keeps a team of others, and where there are more of
        them than cores, they go to sleep after each product instead of waiting for the next.
        """
        with ThreadPoolExecutor(1) as thread:
            return cls(thread.submit(cls._loaded, wanted).result())

    @staticmethod
    def _loaded(wanted: Sequence[str]) -> list[Model]:
        models: list[Model] = []
        for one in wanted:
            name = Path(catalogue.find(one)).resolve().name
            if any(name == model.name for model in models):
                raise DataError(f"{one}: two models of the name {name}; clients could not tell them apart")
            models.append(Model(name, Pipeline.load(one)))
            list(models[-1].pipeline.parse([Sentence.from_words(["word"])]))
        return models

    def get(self, name: str | None) -> Model:
        """The model of this name, or, as in UDPipe, the first whose name begins with it and a hyphen."""
        if not name:
            return self.by_name[self.default]
        found = self.by_name.get(name) or next(
            (model for known, model in self.by_name.items() if known.startswith(f"{name}-")), None
        )
        if found is None:
            raise Refused(404, f"no model {name!r}; there are: {', '.join(self.by_name)}")
        return found


class Desk:
    """Where requests are read and answers written, in threads beside the event loop.

    UDPipe and Python hold the interpreter while they work, so more threads would not be faster; with two, a long text does not
    keep a short one waiting.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="desk")

    async def do(self, work: Callable[[], T], size: int | None = None) -> T:
        """The result of some work; what is small, in characters, is done at once: to hand it over would take longer."""
        if size is not None and size <= SMALL:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def stop(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def checked(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """The sentences, as long as they keep to the limits."""
        kept: list[Sentence] = []
        n_words = 0
        for sentence in sentences:
            if len(sentence) > self.limits.sentence:
                raise Refused(413, f"a sentence of {len(sentence)} words; at most {self.limits.sentence} are taken")
            n_words += len(sentence)
            if n_words > self.limits.words:
                raise Refused(413, f"more than the {self.limits.words} words that are taken in one request")
            kept.append(sentence)
        return kept


class _Data(io.StringIO):
    name = "data"  # what errors call it, with the line


def read(
    data: str,
    written: Written,
    model: Model,
    *,
    tags: bool = False,
    presegmented: bool = False,
    ranges: bool = False,
    heads: bool = False,
) -> Iterator[Sentence]:
    """The sentences of a text, tagged on request; heads are looked at only if they matter."""
    _check_unicode(data)
    if written == "text":
        return model.text_model.sentences(data, presegmented=presegmented, ranges=ranges, tags=tags)
    if written == "generic_tokenizer":
        sentences = text.generic(data, presegmented=presegmented, ranges=ranges)
    elif written == "horizontal":
        sentences = text.horizontal(_Data(data))
    elif written == "vertical":
        sentences = text.vertical(_Data(data))
    else:
        sentences = conllu.read(_Data(data), check="forest" if heads else "columns")
    return model.text_model.tagged(sentences) if tags else sentences


def from_words(sentences: Sequence[Sequence[str]]) -> Iterator[Sentence]:
    """Sentences of given words."""
    for number, words in enumerate(sentences):
        if not words:
            raise DataError(f"words.{number}: a sentence without words")
        for place, word in enumerate(words):
            if not word.strip() or not set("\t\r\n").isdisjoint(word):
                raise DataError(
                    f"words.{number}.{place}: {word!a} is no word: it is blank, or has a tab or line end in it"
                )
            _check_unicode(word)
        yield Sentence.from_words(words)


def _check_unicode(data: str) -> None:
    try:
        data.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"invalid Unicode: half a surrogate pair at position {error.start + 1}") from error
