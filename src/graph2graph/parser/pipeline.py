"""From text or sentences to trees, for Python, the command line, the server and spaCy.

A pipeline decides where tags come from, prepares the sentences, parses them, and adds the trees to the sentences as they were
given. A call, `pipe`, `parse` and `nbest` do all of that. The command line, which parses several inputs together, calls each
step: `plan`, then `prepare` or `prepare_text`, then `parse_prepared`. So does the server, which has its own batches.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NamedTuple

from graph2graph.config import Precision
from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.files import FilePath
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Candidate, Parser
from graph2graph.parser.workers import parse_in_workers
from graph2graph.text import udpipe as text
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank.document import Document
from graph2graph.treebank.sentence import FEATS, LEMMA, UPOS, XPOS, Sentence

TEXTS = 256  # that are parsed together, so that their sentences share batches


class ParsePlan(NamedTuple):
    """How to parse some sentences, with the decision where their tags come from."""

    options: ParseOptions  # for the parser: its tags are KEEP (given or predicted ones) or NONE
    predicts_tags: bool
    writes_tags: bool  # whether the output has the predicted tags


class Prepared(NamedTuple):
    """A sentence that is ready to be parsed."""

    given: Sentence  # the output is this sentence with a tree
    tagged: Sentence  # the parser gets this one

    def finish(self, tree: Sentence) -> Sentence:
        """The given sentence with its tree: the parsed sentence with the lemmas, tags and features of the given one."""
        if self.given is self.tagged:
            return tree
        columns = (LEMMA, UPOS, XPOS, FEATS)
        return tree.with_columns({column: self.given.column(column) for column in columns})


class Pipeline:
    """A parser with the text model, if there is one, that splits raw text into words and tags them."""

    def __init__(
        self,
        parser: Parser,
        text_model: TextModel | None = None,
        *,
        directory: Path | None = None,
    ) -> None:
        self.parser, self.directory = parser, directory
        self.name = "this model" if directory is None else str(directory)
        self._text_model = text_model

    @classmethod
    def load(cls, model: FilePath = catalogue.DEFAULT, *, precision: Precision = "auto") -> "Pipeline":
        """Load the pipeline in a model directory, or a shipped or downloaded model by name; the network is not used."""
        directory = catalogue.find(model)
        file = directory / text.FILE_NAME
        text_model = TextModel.load(file) if file.exists() else None
        parser = Parser.load(directory, precision=precision)
        return cls(parser, text_model, directory=directory)

    @property
    def has_text_model(self) -> bool:
        """Whether the pipeline can parse raw text and predict tags."""
        return self._text_model is not None

    @property
    def text_model(self) -> TextModel:
        """The text model; if there is none, an error that says how to make one."""
        if self._text_model is None:
            raise DataError(
                f"{self.name}: no {text.FILE_NAME}, which raw text and predicted tags need; "
                f"make it with g2g train-text TRAIN DEV --output {self.name}"
            )
        return self._text_model

    def __call__(
        self, raw: str, options: ParseOptions | None = None, *, ranges: bool = True, **changes: Any
    ) -> Document:
        """Parse a text: `nlp("The dog barks.")`. Options can also be given by name: `nlp(raw, beam=4)`.

        With `ranges`, each word knows its character offsets in the text.
        """
        return next(self.pipe([raw], options, ranges=ranges, **changes))

    def pipe(
        self, texts: Iterable[str], options: ParseOptions | None = None, *, ranges: bool = True, **changes: Any
    ) -> Iterator[Document]:
        """Parse texts as they come: `for document in nlp.pipe(texts, batch_tokens=2000): ...`."""
        plan = self.plan(options, has_tags=False, **changes)
        stream = iter(texts)
        while window := list(islice(stream, TEXTS)):
            prepared = [list(self.prepare_text(raw, plan, ranges=ranges)) for raw in window]
            parsed = self.parse_prepared(chain.from_iterable(prepared), plan.options)
            for raw, sentences in zip(window, prepared, strict=True):
                yield Document.of(raw, islice(parsed, len(sentences)))

    def parse(
        self, sentences: Iterable[Sentence], options: ParseOptions | None = None, *, workers: int = 1, **changes: Any
    ) -> Iterator[Sentence]:
        """Yield the same sentences with their trees, in order; `workers` is the number of processes, of one thread each."""
        plan = self.plan(options, has_tags=True, **changes)
        return self.parse_prepared(self.prepare(sentences, plan), plan.options, workers=workers)

    def nbest(
        self, sentences: Iterable[Sentence], beam: int, options: ParseOptions | None = None, **changes: Any
    ) -> Iterator[list[Candidate]]:
        """Yield the trees that a beam of this width finds for each sentence, the best first."""
        plan = self.plan(options, has_tags=True, **changes | {"beam": beam})
        return self.nbest_prepared(self.prepare(sentences, plan), plan.options)

    def plan(self, options: ParseOptions | None = None, *, has_tags: bool, **changes: Any) -> ParsePlan:
        """Decide where tags come from, for sentences that have tags (CoNLL-U) or for text and words.

        By default CoNLL-U keeps its tags; text and words are tagged if there is a text model, and the parser sees these tags
        if it is better with them. Tags in the input are never overwritten in the output.
        """
        options = replace(options or ParseOptions(), **changes)
        source = options.tags
        if source is None:
            predict = TagSource.PREDICT if self.has_text_model else TagSource.NONE
            source = TagSource.KEEP if has_tags else predict
        predicts = source is TagSource.PREDICT
        is_better_without = not self.parser.config.decode.predicted_tags
        is_blind = source is TagSource.NONE or (predicts and options.tags is None and is_better_without)
        options = replace(options, tags=TagSource.NONE if is_blind else TagSource.KEEP)
        return ParsePlan(options, predicts_tags=predicts, writes_tags=predicts and not has_tags)

    def prepare(self, sentences: Iterable[Sentence], plan: ParsePlan) -> Iterator[Prepared]:
        """Yield sentences ready to be parsed, tagged if the plan says so."""
        if not plan.predicts_tags:
            yield from (Prepared(sentence, sentence) for sentence in sentences)
            return
        given, copies = tee(sentences)
        for sentence, tagged in zip(given, self.text_model.tagged(copies), strict=True):
            yield Prepared(tagged if plan.writes_tags else sentence, tagged)

    def prepare_text(
        self,
        raw: str | Iterable[str],
        plan: ParsePlan,
        *,
        presegmented: bool = False,
        ranges: bool = False,
        ids: Iterator[int] | None = None,
    ) -> Iterator[Prepared]:
        """Yield the sentences of a text, given as a string or as lines; the options are those of `TextModel.sentences`."""
        tags = plan.predicts_tags
        found = self.text_model.sentences(raw, presegmented=presegmented, ranges=ranges, tags=tags, ids=ids)
        return (Prepared(sentence, sentence) for sentence in found)

    def parse_prepared(
        self, prepared: Iterable[Prepared], options: ParseOptions, *, workers: int = 1
    ) -> Iterator[Sentence]:
        """Yield the given sentences with their trees; `options` are those of the plan."""
        waiting, copies = tee(prepared)
        tagged = (one.tagged for one in copies)
        if workers == 1:
            trees = self.parser.parse(tagged, options)
        elif self.directory is None:
            raise DataError("workers need a model in a directory, since each loads it for itself")
        else:
            trees = parse_in_workers(self.directory, tagged, workers, options=options, precision=self.parser.precision)
        return (one.finish(tree) for one, tree in zip(waiting, trees, strict=True))

    def nbest_prepared(self, prepared: Iterable[Prepared], options: ParseOptions) -> Iterator[list[Candidate]]:
        """Yield the best trees of each given sentence; `options` are those of the plan."""
        waiting, copies = tee(prepared)
        found = self.parser.nbest((one.tagged for one in copies), options.beam, options)
        for one, candidates in zip(waiting, found, strict=True):
            yield [candidate._replace(sentence=one.finish(candidate.sentence)) for candidate in candidates]


def load(model: FilePath = catalogue.DEFAULT, *, precision: Precision = "auto") -> Pipeline:
    """Load the pipeline in a model directory, or a shipped or downloaded model by name: `load()("The dog barks.")`."""
    return Pipeline.load(model, precision=precision)
