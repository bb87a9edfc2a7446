"""From text to trees: a text model that finds the words, and a parser.

>>> import graph2graph
>>> nlp = graph2graph.load()  # doctest: +SKIP
>>> print(nlp("The dog barks. It is loud.").to_conllu())  # doctest: +SKIP
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice, tee
from pathlib import Path
from typing import Literal, Unpack

from graph2graph.encoder.precision import Precision
from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.parser import BeamOptions, Candidate, ParseOptions, Parser
from graph2graph.text import udpipe as text
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from graph2graph.treebank.document import Document

# Which tags the parser sees: those of the sentences, those of the text model, or none.
Tags = Literal["keep", "predict", "none"]
TEXTS = 256  # looked at together, so that sentences of like length are parsed together


class Pipeline:
    """A parser and, if there is one, the text model that goes before it."""

    def __init__(
        self,
        parser: Parser,
        text_model: TextModel | None = None,
        *,
        directory: Path | None = None,
        precision: Precision = "fp32",
    ) -> None:
        self.parser, self.directory, self.precision = parser, directory, precision
        self.name = "this model" if directory is None else str(directory)
        self._text_model = text_model

    @classmethod
    def load(cls, model: str | os.PathLike[str] = catalogue.DEFAULT, *, precision: Precision = "fp32") -> "Pipeline":
        """The pipeline in a model directory, or the shipped or downloaded one of that name; the network is not touched."""
        directory = catalogue.find(model)
        file = directory / text.FILE_NAME
        text_model = TextModel.load(file) if file.exists() else None
        parser = Parser.load(directory, precision=precision)
        return cls(parser, text_model, directory=directory, precision=precision)

    @property
    def has_text_model(self) -> bool:
        """Whether raw text can be parsed and tags predicted."""
        return self._text_model is not None

    @property
    def sees_predicted(self) -> bool:
        """Whether the parser, unless told otherwise, sees the tags of the text model or does better without."""
        return self.parser.config.decode.predicted_tags

    @property
    def text_model(self) -> TextModel:
        """The text model, which must be there."""
        if self._text_model is None:
            raise DataError(
                f"{self.name}: no {text.FILE_NAME}, which raw text and predicted tags need; "
                f"make it with g2g train-text TRAIN DEV --output {self.name}"
            )
        return self._text_model

    def __call__(self, raw: str, *, ranges: bool = True, **how: Unpack[ParseOptions]) -> Document:
        """Parse a text: `nlp("The dog barks.")`.

        `ranges` writes to MISC where in the text each token is, which is how words know their place in it; how to parse is
        said as in `Parser.parse`.
        """
        return next(self.pipe([raw], ranges=ranges, **how))

    def pipe(self, texts: Iterable[str], *, ranges: bool = True, **how: Unpack[ParseOptions]) -> Iterator[Document]:
        """Parse texts, in the order they came, as they come: `for document in nlp.pipe(texts, batch_tokens=2000): …`."""
        stream = iter(texts)
        while window := list(islice(stream, TEXTS)):
            split = [list(self.text_model.sentences(raw, ranges=ranges)) for raw in window]
            tags: Tags = "keep" if self.sees_predicted else "none"
            parsed = self.parse(chain.from_iterable(split), tags=tags, **how)
            for raw, sentences in zip(window, split, strict=True):
                yield Document.of(raw, islice(parsed, len(sentences)))

    def parse(
        self, sentences: Iterable[Sentence], *, tags: Tags = "keep", workers: int = 1, **how: Unpack[ParseOptions]
    ) -> Iterator[Sentence]:
        """The same sentences with their trees: HEAD and DEPREL change and nothing else, whichever tags the parser sees.

        With probabilities, MISC changes too. Several workers are processes of one thread each.
        """
        if tags != "predict":
            yield from self._parsed(sentences, tags == "keep", workers, how)
            return
        given, seen = tee(sentences)
        for tree, sentence in zip(self._parsed(self.text_model.tagged(seen), True, workers, how), given, strict=True):
            yield grafted(sentence, tree)

    def nbest(
        self, sentences: Iterable[Sentence], beam: int, *, tags: Tags = "keep", **how: Unpack[BeamOptions]
    ) -> Iterator[list[Candidate]]:
        """The best trees of each sentence that a beam of this width finds, the best first."""
        given, seen = tee(sentences)
        tagged = self.text_model.tagged(seen) if tags == "predict" else seen
        found = self.parser.nbest(tagged, beam, tags=tags != "none", **how)
        for candidates, sentence in zip(found, given, strict=True):
            yield [
                one._replace(sentence=sentence.with_tree(one.sentence.heads, one.sentence.deprels))
                for one in candidates
            ]

    def _parsed(self, sentences: Iterable[Sentence], tags: bool, workers: int, how: ParseOptions) -> Iterator[Sentence]:
        if workers == 1:
            return self.parser.parse(sentences, tags=tags, **how)
        if self.directory is None:
            raise DataError("workers need a model in a directory, since each loads it for itself")
        from graph2graph.parser.workers import parse

        return parse(self.directory, sentences, workers, tags=tags, how=how, precision=self.precision)


def grafted(sentence: Sentence, tree: Sentence) -> Sentence:
    """A sentence with the tree and MISC of another that has the same words, and its own tags."""
    return sentence.with_tree(tree.heads, tree.deprels).with_columns({conllu.MISC: tree.column(conllu.MISC)})
