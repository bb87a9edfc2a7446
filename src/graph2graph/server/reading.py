"""From the data of a request to sentences."""

import io
from collections.abc import Iterator, Sequence
from typing import Literal

from graph2graph.errors import DataError
from graph2graph.server.models import ServedModel
from graph2graph.text import udpipe as text
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

InputFormat = Literal["text", "generic_tokenizer", "horizontal", "vertical", "conllu"]


class _Data(io.StringIO):
    name = "data"  # stands for the file name in error messages


def read(
    data: str,
    given: InputFormat,
    model: ServedModel,
    *,
    tags: bool = False,
    presegmented: bool = False,
    ranges: bool = False,
    heads: bool = False,
) -> Iterator[Sentence]:
    """The sentences in the data of a request, tagged if asked; heads are checked only where they will be used."""
    check_unicode(data)
    if given == "text":
        return model.text_model.sentences(data, presegmented=presegmented, ranges=ranges, tags=tags)
    if given == "generic_tokenizer":
        sentences = text.generic(data, presegmented=presegmented, ranges=ranges)
    elif given == "horizontal":
        sentences = text.horizontal(_Data(data))
    elif given == "vertical":
        sentences = text.vertical(_Data(data))
    else:
        sentences = conllu.read(_Data(data), check="forest" if heads else "columns")
    return model.text_model.tagged(sentences) if tags else sentences


def from_words(sentences: Sequence[Sequence[str]]) -> Iterator[Sentence]:
    """Sentences made of lists of words."""
    for number, words in enumerate(sentences):
        if not words:
            raise DataError(f"words.{number}: a sentence without words")
        for index, word in enumerate(words):
            if not word.strip() or not set("\t\r\n").isdisjoint(word):
                raise DataError(
                    f"words.{number}.{index}: {word!a} is no word: it is blank, or has a tab or line end in it"
                )
            check_unicode(word)
        yield Sentence.from_words(words)


def check_unicode(data: str) -> None:
    """Refuse half surrogate pairs, which JSON can express and UTF-8 cannot."""
    try:
        data.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"invalid Unicode: half a surrogate pair at position {error.start + 1}") from error
