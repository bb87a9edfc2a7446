"""From text or sentences to trees, for Python, the command line, the server and spaCy.

A pipeline decides where tags come from, prepares the sentences, parses them, and adds the trees to the sentences as they were
given. A call, `pipe`, `parse` and `nbest` do all of that. The command line, which parses several inputs together, calls each
step: `plan`, then `prepare` or `prepare_text`, then `parse_prepared`. So does the server, which has its own batches.
"""

import logging
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, repeat, tee
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

from graph2graph.config import Precision
from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.files import FilePath
from graph2graph.parser import catalogue, checksums
from graph2graph.parser.language import CommonWords, LanguageCheck
from graph2graph.parser.parser import Candidate, Parser
from graph2graph.parser.workers import parse_in_workers
from graph2graph.text import udpipe as text
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank.document import Document
from graph2graph.treebank.sentence import FEATS, LEMMA, UPOS, XPOS, Sentence

LOGGER = logging.getLogger("graph2graph")
TEXTS = 256  # that are parsed together by default, so that their sentences share batches

Words = Sequence[str]


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
        common_words: CommonWords | None = None,
    ) -> None:
        self.parser, self.directory = parser, directory
        self.name = "this model" if directory is None else str(directory)
        self._text_model, self._common_words = text_model, common_words

    def __repr__(self) -> str:
        text_model = "text model" if self.has_text_model else "no text model"
        return f"Pipeline({self.directory.name if self.directory else None!r}, {self.parser!r}, {text_model})"

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle stores: where the model is, from which it is loaded again."""
        if self.directory is None:
            raise DataError("a pipeline can only be pickled if it was loaded from a model directory")
        return _load_again, (self.directory, self.parser.precision, self._common_words is not None)

    @classmethod
    def load(
        cls,
        model: FilePath = catalogue.DEFAULT,
        *,
        precision: Precision = "auto",
        verify: bool = False,
        check_language: bool = True,
    ) -> "Pipeline":
        """Load the pipeline in a model directory, or a shipped or downloaded model by name; the network is not used.

        With `verify`, the files must agree with their checksums. With `check_language`, a text of another language than the
        model's gets a warning.
        """
        directory = catalogue.find(model)
        if verify:
            checksums.verify(directory)
        common_words = CommonWords.read(directory) if check_language else None
        file = directory / text.FILE_NAME
        began = time.perf_counter()
        text_model = TextModel.load(file) if file.exists() else None
        parser = Parser.load(directory, precision=precision)
        LOGGER.debug("%s: loaded in %.1f seconds: %r", directory, time.perf_counter() - began, parser)
        return cls(parser, text_model, directory=directory, common_words=common_words)

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
        self,
        given: str | Iterable[Sentence] | Iterable[Words],
        options: ParseOptions | None = None,
        *,
        ranges: bool = True,
        **changes: Any,
    ) -> Document:
        """Parse a text, `nlp("The dog barks.")`, words, `nlp([["The", "dog", "barks"]])`, or the sentences of a Document.

        Options can also be given by name: `nlp(text, beam=4)`. With `ranges`, each word of a text knows its character offsets.
        """
        if isinstance(given, str):
            return next(self.pipe([given], options, ranges=ranges, **changes))
        parsed = self.parse(given, options, **changes)
        return Document.of(given.text if isinstance(given, Document) else None, parsed)

    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str, Any]],
        options: ParseOptions | None = None,
        *,
        as_tuples: Literal[True],
        ranges: bool = True,
        batch_size: int = TEXTS,
        n_process: int = 1,
        progress: bool = False,
        **changes: Any,
    ) -> Iterator[tuple[Document, Any]]: ...

    @overload
    def pipe(
        self,
        texts: Iterable[str],
        options: ParseOptions | None = None,
        *,
        as_tuples: Literal[False] = False,
        ranges: bool = True,
        batch_size: int = TEXTS,
        n_process: int = 1,
        progress: bool = False,
        **changes: Any,
    ) -> Iterator[Document]: ...

    def pipe(
        self,
        texts: Iterable[Any],
        options: ParseOptions | None = None,
        *,
        as_tuples: bool = False,
        ranges: bool = True,
        batch_size: int = TEXTS,
        n_process: int = 1,
        progress: bool = False,
        **changes: Any,
    ) -> Iterator[Any]:
        """Parse texts as they come: `for document in nlp.pipe(texts): ...`.

        Args:
            texts: strings; with `as_tuples` pairs of a string and anything, which comes back beside the document
            options: how to parse; also by name, as in `nlp.pipe(texts, beam=4)`
            as_tuples: take pairs, and yield pairs
            ranges: each word knows its character offsets
            batch_size: texts that are read before the first is parsed, so that their sentences share batches
            n_process: processes of one thread each, which read ahead of what is yielded
            progress: show a progress bar on standard error
            changes: options by name
        """
        plan = self.plan(options, has_tags=False, **changes)
        given, keys = tee(texts) if as_tuples else (zip(texts, repeat(None)), iter(()))
        stream = (raw for raw, _ in given)
        windows = [stream] if n_process > 1 else iter(lambda: list(islice(stream, batch_size)), [])
        found = (self._documents(window, plan, ranges=ranges, workers=n_process) for window in windows)
        documents: Iterator[Any] = chain.from_iterable(found)
        if as_tuples:
            documents = zip(documents, (key for _, key in keys))
        return _with_progress(documents, texts) if progress else documents

    def _documents(self, texts: Iterable[str], plan: ParsePlan, *, ranges: bool, workers: int) -> Iterator[Document]:
        """Yield the document of each text."""
        waiting: deque[tuple[str, int]] = deque()  # texts that have been read, each with its number of sentences

        def read() -> Iterator[Prepared]:
            for raw in texts:
                if not isinstance(raw, str):
                    raise DataError(
                        f"pipe: expected texts, found {type(raw).__name__}; nlp.parse takes words and sentences"
                    )
                prepared = list(self.watched(self.prepare_text(raw, plan, ranges=ranges), ascii(raw[:40])))
                waiting.append((raw, len(prepared)))
                yield from prepared

        found: list[Sentence] = []
        for sentence in self.parse_prepared(read(), plan.options, workers=workers):
            while not waiting[0][1]:
                yield Document.of(waiting.popleft()[0], [])
            found.append(sentence)
            if len(found) == waiting[0][1]:
                yield Document.of(waiting.popleft()[0], found)
                found = []
        yield from (Document.of(raw, []) for raw, _ in waiting)

    def parse(
        self,
        sentences: Iterable[Sentence] | Iterable[Words],
        options: ParseOptions | None = None,
        *,
        workers: int = 1,
        **changes: Any,
    ) -> Iterator[Sentence]:
        """Yield the same sentences with their trees, in order; `workers` is the number of processes, of one thread each.

        A sentence can also be a list of words, `nlp.parse([["The", "dog", "barks"]])`; like text, words have no tags to keep.
        """
        stream, has_tags = _sentences(sentences)
        plan = self.plan(options, has_tags=has_tags, **changes)
        prepared = self.watched(self.prepare(stream, plan), "these sentences")
        return self.parse_prepared(prepared, plan.options, workers=workers)

    def nbest(
        self,
        sentences: Iterable[Sentence] | Iterable[Words],
        beam: int,
        options: ParseOptions | None = None,
        **changes: Any,
    ) -> Iterator[list[Candidate]]:
        """Yield the trees that a beam of this width finds for each sentence, the best first."""
        stream, has_tags = _sentences(sentences)
        plan = self.plan(options, has_tags=has_tags, **changes | {"beam": beam})
        return self.nbest_prepared(self.prepare(stream, plan), plan.options)

    def plan(self, options: ParseOptions | None = None, *, has_tags: bool, **changes: Any) -> ParsePlan:
        """Decide where tags come from, for sentences that have tags (CoNLL-U) or for text and words.

        By default CoNLL-U keeps its tags; text and words are tagged if there is a text model, and the parser sees these tags
        if it is better with them. Tags in the input are never overwritten in the output.
        """
        if not isinstance(options or ParseOptions(), ParseOptions):
            raise DataError(f"options: expected ParseOptions, or options by name, found {type(options).__name__}")
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

    def watched(self, prepared: Iterable[Prepared], name: str) -> Iterator[Prepared]:
        """Yield the sentences of an input; warn once if they seem to be in another language than the model's."""
        check = None if self._common_words is None else LanguageCheck(self._common_words)
        for one in prepared:
            if check is not None:
                check.add(one.given.forms)
                if check.is_done:
                    _warn(check, name)
                    check = None
            yield one
        if check is not None:
            _warn(check, name)

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


def load(
    model: FilePath = catalogue.DEFAULT,
    *,
    precision: Precision = "auto",
    verify: bool = False,
    check_language: bool = True,
) -> Pipeline:
    """Load the pipeline in a model directory, or a shipped or downloaded model by name: `load()("The dog barks.")`.

    With `verify`, the files must agree with their checksums. With `check_language`, a text of another language than the model's
    gets a warning.
    """
    return Pipeline.load(model, precision=precision, verify=verify, check_language=check_language)


def _load_again(directory: Path, precision: Precision, check_language: bool) -> Pipeline:
    """The pipeline that was pickled."""
    return load(directory, precision=precision, check_language=check_language)


def _sentences(given: Iterable[Sentence] | Iterable[Words]) -> tuple[Iterator[Sentence], bool]:
    """The sentences, and whether they are in CoNLL-U, which has tags to keep; words become sentences."""
    if isinstance(given, str):
        raise DataError("parse: expected sentences or lists of words, found a string; nlp(text) parses a text")
    stream: Iterator[Any] = iter(given)
    first = next(stream, None)
    everything = chain([] if first is None else [first], stream)
    return map(_sentence, everything), first is None or isinstance(first, Sentence)


def _sentence(given: Any) -> Sentence:
    if isinstance(given, Sentence):
        return given
    if isinstance(given, str):
        raise DataError(f"expected a list of words, found {given[:40]!r}; nlp.pipe(texts) parses several texts")
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(word, str) for word in given):
        raise DataError(f"expected a sentence or a list of words, found {ascii(given)[:60]}")
    return Sentence.from_words(given)


def _warn(check: LanguageCheck, name: str) -> None:
    if problem := check.problem():
        warnings.warn(f"{name}: {problem}", stacklevel=4)


def _with_progress(documents: Iterable[Any], texts: Iterable[Any]) -> Iterator[Any]:
    """Yield the documents and show on standard error how many they are."""
    from rich.console import Console
    from rich.progress import track

    total = len(texts) if isinstance(texts, Sequence) else None
    return iter(track(documents, "parsing", total=total, console=Console(stderr=True), transient=True))
