"""The parser as a component of spaCy pipelines.

    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> nlp.add_pipe("g2g_parser", config={"model": "en"})  # doctest: +SKIP
    >>> [(token.text, token.dep_, token.head.text) for token in nlp("The dog barks.")]  # doctest: +SKIP

The component keeps spaCy's tokens and follows its conventions: the root is its own head with the label ROOT, and a token of
white space depends on the token before it.
"""

import os
import shutil
import tempfile
import warnings
import weakref
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from graph2graph.config import Precision
from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.files import write_bytes
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.parser.vocabulary import TAG_COLUMNS
from graph2graph.treebank.sentence import UPOS, Sentence
from graph2graph.treebank.spacy_doc import ROOT, noun_chunks, set_attributes

SPACE = "dep"  # the label of white space


class DocSentence(NamedTuple):
    """A sentence of a Doc, and the same sentence without tokens of white space, to be parsed."""

    start: int
    end: int
    words: list[int]  # the indices of the tokens that are not white space
    sentence: Sentence  # of these words


class GraphParser(Pipe):
    """The component `g2g_parser`: sets head, dep and sentence starts."""

    def __init__(
        self,
        name: str,
        model: str | os.PathLike[str],
        options: ParseOptions | None = None,
        precision: Precision = "auto",
    ) -> None:
        self.name, self.model, self.precision = name, model, precision
        self.options = options or ParseOptions()

    @cached_property
    def pipeline(self) -> Pipeline:
        """The parser and its text model; loaded at first use, since spaCy creates components before it reads their files."""
        return Pipeline.load(self.model, precision=self.precision)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the component can assign; none before its model is there, which spaCy may read later."""
        try:
            vocabulary = self.pipeline.parser.vocabulary
        except DataError:
            return ()
        return (*(label for label in vocabulary.labels if label != vocabulary.root_label), ROOT, SPACE)

    def __call__(self, doc: Doc) -> Doc:
        """Parse one Doc."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of Docs; sentences of different Docs share batches."""
        remaining = iter(stream)
        while docs := list(islice(remaining, batch_size)):
            try:
                self._parse(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def _parse(self, docs: Sequence[Doc]) -> None:
        split = [self._sentences(doc) for doc in docs]
        sentences = (part.sentence for part in chain.from_iterable(split) if part.words)
        trees = self.pipeline.parser.parse(sentences, self.options)
        for doc, parts in zip(docs, split, strict=True):
            _annotate(doc, [(part, next(trees) if part.words else None) for part in parts])

    def _sentences(self, doc: Doc) -> list[DocSentence]:
        """The sentences of a Doc with the tags that the parser sees: the Doc's, or else predicted tags."""
        column = TAG_COLUMNS[self.pipeline.parser.config.data.tags]
        tags = None if column is None else _tags(doc, column)
        plan = self.pipeline.plan(self.options, has_tags=tags is not None)
        found = []
        for start, end in pairwise([*self._starts(doc), len(doc)]):
            words = [i for i in range(start, end) if not doc[i].is_space]
            sentence = Sentence.from_words([" ".join(doc[i].text.split()) for i in words])
            if column is not None and tags is not None:
                sentence = sentence.with_columns({column: [tags[i] for i in words]})
            elif column is not None and words and plan.options.tags is TagSource.KEEP:
                [(_, sentence)] = self.pipeline.prepare([sentence], plan)
            found.append(DocSentence(start, end, words, sentence))
        return found

    def _starts(self, doc: Doc) -> list[int]:
        """The index of each sentence's first token, from the Doc or else from the text model."""
        if len(doc) == 0:
            return []
        if doc.has_annotation("SENT_START"):
            return [0, *(token.i for token in doc[1:] if token.is_sent_start)]
        if not self.pipeline.has_text_model:
            warnings.warn(
                f"{self.pipeline.name} has no text model to find sentences: each Doc is parsed as one; "
                "add spaCy's sentencizer before g2g_parser",
                stacklevel=2,
            )
            return [0]
        words = [token.i for token in doc if not token.is_space]
        offsets = [doc[i].idx for i in words]
        sentences = self.pipeline.text_model.sentences(doc.text, ranges=True, tags=False)
        # A token that spans a sentence boundary belongs to the sentence before it.
        starts = {bisect_left(offsets, sentence.start_char or 0) for sentence in sentences}
        return [0, *(words[i] for i in sorted(starts - {0, len(words)}))]

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Copy the model, so that the saved pipeline works anywhere."""
        del exclude  # part of spaCy's interface; there is only the model to save
        target = Path(path)
        target.mkdir(parents=True, exist_ok=True)
        for file in self._model_files():
            if not (target / file.name).exists() or not file.samefile(target / file.name):
                shutil.copyfile(file, target / file.name)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> "GraphParser":
        """Load the model that `to_disk` copied."""
        del exclude
        self.model = Path(path)
        self.pipeline = Pipeline.load(self.model, precision=self.precision)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The files of the model, packed."""
        del exclude
        return bytes(srsly.msgpack_dumps({file.name: file.read_bytes() for file in self._model_files()}))

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> "GraphParser":
        """Load the model from packed files; they are unpacked to a directory that is deleted with this component."""
        directory = Path(tempfile.mkdtemp(prefix="g2g-"))
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        for name, data in srsly.msgpack_loads(content).items():
            if name not in catalogue.FILES:
                raise DataError(f"{name!r} is not a file of a model")
            write_bytes(directory / name, data)
        return self.from_disk(directory, exclude=exclude)

    def _model_files(self) -> list[Path]:
        return catalogue.files(self.pipeline.directory or catalogue.find(self.model))


def _tags(doc: Doc, column: int) -> list[str] | None:
    """The tags of a Doc for a column of CoNLL-U; None if the Doc has none."""
    tags = ["" if token.is_space else token.pos_ if column == UPOS else token.tag_ for token in doc]
    return [tag or "_" for tag in tags] if any(tags) else None


def _annotate(doc: Doc, parts: Sequence[tuple[DocSentence, Sentence | None]]) -> None:
    """Set the heads, labels and sentence starts of a Doc; a sentence of white space has no tree."""
    if len(doc) == 0:
        return
    heads, labels = list(range(len(doc))), [SPACE] * len(doc)
    for (start, end, words, _), tree in parts:
        if tree is None:
            labels[start] = ROOT
        else:
            for i, head, deprel in zip(words, tree.tree, tree.deprels, strict=True):
                heads[i] = words[head - 1] if head else i
                labels[i] = deprel if head else ROOT
        first_word = words[0] if words else start  # white space before it depends on it
        for i in sorted(set(range(start, end)) - set(words) - {first_word}):
            heads[i] = i - 1 if i > first_word else first_word
    label_ids = [doc.vocab.strings.add(label) for label in labels]
    set_attributes(doc, HEAD=[head - i for i, head in enumerate(heads)], DEP=label_ids)
    # spaCy has derived the starts from the heads, wrongly where many arcs cross, so they are set again.
    starts = {part.start for part, _ in parts}
    set_attributes(doc, SENT_START=[1 if i in starts else -1 for i in range(len(doc))])
    doc.noun_chunks_iterator = noun_chunks  # type: ignore[attr-defined]


def make(
    nlp: Language,
    name: str,
    model: str,
    batch_tokens: int | None,
    reencode: float | None,
    beam: int,
    one_subject: bool,
    precision: Precision,
) -> GraphParser:
    """Create the component; spaCy finds this factory under the name `g2g_parser`."""
    del nlp
    options = ParseOptions(batch_tokens=batch_tokens, reencode=reencode, beam=beam, one_subject=one_subject)
    return GraphParser(name, model, options, precision)


Language.factory(
    "g2g_parser",
    default_config={
        "model": catalogue.DEFAULT,
        "batch_tokens": None,
        "reencode": None,
        "beam": 1,
        "one_subject": False,
        "precision": "auto",
    },
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    func=make,
)
