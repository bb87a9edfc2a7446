"""spaCy: the parser as a component of its pipelines, and our documents as its Docs.

    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> nlp.add_pipe("g2g_parser", config={"model": "en"})  # doctest: +SKIP
    >>> [(token.text, token.dep_, token.head.text) for token in nlp("The dog barks.")]  # doctest: +SKIP

spaCy's tokens are kept as they are. Where it has a convention of its own, it is followed: the root is its own head and its
label is ROOT, and white space that is a token of its own depends on the token before it.
"""

import os
import shutil
import tempfile
import warnings
import weakref
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.errors import DataError
from graph2graph.parser import catalogue
from graph2graph.parser.pipeline import Pipeline
from graph2graph.parser.vocabulary import TAG_COLUMNS
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from graph2graph.treebank.spacy_doc import ROOT, set_attributes

SPACE = "dep"  # the label of white space


class Portion(NamedTuple):
    """A sentence of a Doc: where its tokens are, and those of them that are words, which are what is parsed."""

    first: int
    end: int
    words: list[int]
    sentence: Sentence


class GraphParser(Pipe):
    """The component `g2g_parser`: sets head, dep and sentence starts.

    The model is loaded when it is first needed, so that a saved pipeline can be made before its files are read.
    """

    def __init__(self, name: str, model: str | os.PathLike[str], options: ParseOptions | None = None) -> None:
        self.name, self.model = name, model
        self.options = options or ParseOptions()
        self._pipeline: Pipeline | None = None
        self._has_warned = False

    @property
    def pipeline(self) -> Pipeline:
        """The parser and its text model."""
        if self._pipeline is None:
            self._pipeline = Pipeline.load(self.model)
        return self._pipeline

    def __call__(self, doc: Doc) -> Doc:
        """Parse one Doc."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of Docs, whose sentences are encoded together across them."""
        docs_left = iter(stream)
        while docs := list(islice(docs_left, batch_size)):
            try:
                self._parse(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def _parse(self, docs: Sequence[Doc]) -> None:
        portions = [self._portions(doc) for doc in docs]
        sentences = (portion.sentence for portion in chain.from_iterable(portions) if portion.words)
        trees = self.pipeline.parser.parse(sentences, self.options)
        for doc, parts in zip(docs, portions, strict=True):
            found = list(islice(trees, sum(bool(part.words) for part in parts)))
            _annotate(doc, parts, found)

    def _portions(self, doc: Doc) -> list[Portion]:
        """The sentences of a Doc: as it has them, or as the text model finds them; with its tags, or the text model's."""
        firsts = self._starts(doc)
        column = TAG_COLUMNS[self.pipeline.parser.config.data.tags]
        tags = None if column is None else _tags(doc, column)
        plan = self.pipeline.plan(self.options, has_tags=tags is not None)
        found = []
        for first, end in pairwise([*firsts, len(doc)]):
            words = [i for i in range(first, end) if not doc[i].is_space]
            sentence = Sentence.from_words([doc[i].text for i in words])
            if column is not None and tags is not None:
                sentence = sentence.with_columns({column: [tags[i] for i in words]})
            elif column is not None and words and plan.options.tags is TagSource.KEEP:
                [(_, sentence)] = self.pipeline.prepare([sentence], plan)
            found.append(Portion(first, end, words, sentence))
        return found

    def _starts(self, doc: Doc) -> list[int]:
        """The first token of each sentence."""
        if len(doc) == 0:
            return []
        if doc.has_annotation("SENT_START"):
            return [0, *(token.i for token in doc[1:] if token.is_sent_start)]
        if not self.pipeline.has_text_model:
            self._warn_of_one_sentence()
            return [0]
        words = [token.i for token in doc if not token.is_space]
        places = [doc[i].idx for i in words]
        sentences = self.pipeline.text_model.sentences(doc.text, ranges=True, tags=False)
        # A token that a border cuts stays with what is before it.
        borders = {bisect_left(places, sentence.start_char or 0) for sentence in sentences}
        return [0, *(words[i] for i in sorted(borders - {0, len(words)}))]

    def _warn_of_one_sentence(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self.pipeline.name} cannot find sentences, having no text model: each Doc is parsed as one; "
                "add spaCy's sentencizer before g2g_parser",
                stacklevel=2,
            )

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Copy the model, so that the saved pipeline works anywhere."""
        del exclude  # there is but one thing to save
        target = Path(path)
        target.mkdir(parents=True, exist_ok=True)
        for file in self._model_files():
            if not (target / file.name).exists() or not file.samefile(target / file.name):
                shutil.copyfile(file, target / file.name)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> "GraphParser":
        """Load the model that `to_disk` copied."""
        del exclude
        self.model = Path(path)
        self._pipeline = Pipeline.load(self.model)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The files of the model."""
        del exclude
        return bytes(srsly.msgpack_dumps({file.name: file.read_bytes() for file in self._model_files()}))

    def from_bytes(self, content: bytes, *, exclude: Iterable[str] = ()) -> "GraphParser":
        """Load the model from its files, which are put in a directory for as long as this component lives."""
        directory = Path(tempfile.mkdtemp(prefix="g2g-"))
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        for name, data in srsly.msgpack_loads(content).items():
            if name not in catalogue.FILES:
                raise DataError(f"{name!r} is no file of a model")
            (directory / name).write_bytes(data)
        return self.from_disk(directory, exclude=exclude)

    def _model_files(self) -> list[Path]:
        return catalogue.files(self.pipeline.directory or catalogue.find(self.model))


def _tags(doc: Doc, column: int) -> list[str] | None:
    """The tags of a Doc that belong in a column; None if it has none."""
    tags = ["" if token.is_space else token.pos_ if column == conllu.UPOS else token.tag_ for token in doc]
    return [tag or "_" for tag in tags] if any(tags) else None


def _annotate(doc: Doc, portions: Sequence[Portion], trees: Iterable[Sentence]) -> None:
    """Give a Doc its heads, labels and sentence starts."""
    if len(doc) == 0:
        return
    heads, deps = list(range(len(doc))), [SPACE] * len(doc)
    parsed = iter(trees)
    for first, end, words, _ in portions:
        if words:
            tree = next(parsed)
            for i, head, deprel in zip(words, tree.tree, tree.deprels, strict=True):
                heads[i] = words[head - 1] if head else i
                deps[i] = deprel if head else ROOT
        else:
            deps[first] = ROOT
        leading = words[0] if words else first  # white space before the first word depends on that
        for i in sorted(set(range(first, end)) - set(words) - {leading}):
            heads[i] = i - 1 if i > leading else leading
    labels = [doc.vocab.strings.add(dep) for dep in deps]
    set_attributes(doc, HEAD=[head - i for i, head in enumerate(heads)], DEP=labels)
    # spaCy has now set the starts by the tree, which it gets wrong where many arcs cross: they are set once more.
    firsts = {portion.first for portion in portions}
    set_attributes(doc, SENT_START=[1 if i in firsts else -1 for i in range(len(doc))])


def make(
    nlp: Language,
    name: str,
    model: str,
    batch_tokens: int | None,
    reencode: float | None,
    beam: int,
) -> GraphParser:
    """The factory of the component, which spaCy finds as `g2g_parser`."""
    del nlp
    return GraphParser(name, model, ParseOptions(batch_tokens=batch_tokens, reencode=reencode, beam=beam))


Language.factory(
    "g2g_parser",
    default_config={"model": catalogue.DEFAULT, "batch_tokens": None, "reencode": None, "beam": 1},
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    func=make,
)
