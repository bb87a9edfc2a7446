"""From the data of a request to sentences that are ready to be parsed."""

import io
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from graph2graph.errors import DataError
from graph2graph.parser.pipeline import ParsePlan, Prepared
from graph2graph.server.limits import Limits
from graph2graph.server.service import ServedModel
from graph2graph.text import udpipe as text
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

InputFormat = Literal["text", "generic_tokenizer", "horizontal", "vertical", "conllu"]


class RequestData(NamedTuple):
    """The data of a request, and how to read them."""

    content: str
    format: InputFormat
    presegmented: bool = False
    ranges: bool = False
    uses_heads: bool = False  # so invalid heads are an error

    def prepare(self, model: ServedModel, plan: ParsePlan, limits: Limits) -> list[Prepared]:
        """The sentences in the data, checked against the limits, and tagged if the plan says so."""
        _check_unicode(self.content)
        if self.format == "text" or plan.predicts_tags:
            model.require_text_model()
        if self.format != "text":
            return list(model.pipeline.prepare(limits.checked(self._sentences()), plan))
        prepared = model.pipeline.prepare_text(self.content, plan, presegmented=self.presegmented, ranges=self.ranges)
        return [Prepared(sentence, sentence) for sentence in limits.checked(one.given for one in prepared)]

    def _sentences(self) -> Iterator[Sentence]:
        if self.format == "generic_tokenizer":
            return text.generic(self.content, presegmented=self.presegmented, ranges=self.ranges)
        lines = _Lines(self.content)
        if self.format == "horizontal":
            return text.horizontal(lines)
        if self.format == "vertical":
            return text.vertical(lines)
        return conllu.read(lines, check="forest" if self.uses_heads else "columns")


class _Lines(io.StringIO):
    name = "data"  # stands for the file name in error messages


def prepare_words(
    words: Sequence[Sequence[str]], model: ServedModel, plan: ParsePlan, limits: Limits
) -> list[Prepared]:
    """Sentences of the given words, checked against the limits, and tagged if the plan says so."""
    if plan.predicts_tags:
        model.require_text_model()
    return list(model.pipeline.prepare(limits.checked(_from_words(words)), plan))


def _from_words(sentences: Sequence[Sequence[str]]) -> Iterator[Sentence]:
    for number, words in enumerate(sentences):
        if not words:
            raise DataError(f"words.{number}: a sentence without words")
        for index, word in enumerate(words):
            if not word.strip() or not set("\t\r\n").isdisjoint(word):
                place = f"words.{number}.{index}"
                raise DataError(f"{place}: {word!a} is not a word: it is blank, or contains a tab or line end")
            _check_unicode(word)
        yield Sentence.from_words(words)


def _check_unicode(data: str) -> None:
    """Refuse half surrogate pairs, which JSON can express and UTF-8 cannot."""
    try:
        data.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"invalid Unicode: half a surrogate pair at position {error.start + 1}") from error
