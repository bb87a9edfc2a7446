"""Raw text -> sentences, words, tags and lemmas, by a UDPipe model; and how such a model is learnt from a treebank.

    >>> model = TextModel.load("model/text.udpipe")  # doctest: +SKIP
    >>> [sentence.forms for sentence in model.sentences("I don't know. Do you?")]  # doctest: +SKIP
    [['I', 'do', "n't", 'know', '.'], ['Do', 'you', '?']]

UDPipe sees one paragraph at a time, so text of any length goes through it in little memory, and what it makes of a
paragraph does not depend on the others.
"""

import io
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ufal import udpipe

from graph2graph.errors import DataError
from graph2graph.files import SENTENCE, errors_naming, write_bytes, write_text, writing
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import FEATS, LEMMA, UPOS, XPOS, Sentence

Source = str | os.PathLike[str]

FILE_NAME = "text.udpipe"  # in a model directory
LIMIT = 100_000  # characters; a longer paragraph is cut at the end of a line, a longer line at white space

_UNFIT = re.compile("[\0\ud800-\udfff]")  # what UDPipe's C strings cannot hold
_SPACES = re.compile(r"[^\S\u00a0]+")  # but for the no-break space
_SENT_ID = re.compile(r"^# sent_id = .*$", re.MULTILINE)


class TextModel:
    """A UDPipe model: tokeniser, sentence splitter, tagger and lemmatiser."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name

    @classmethod
    def load(cls, path: Source) -> "TextModel":
        """The model in a file: one of `g2g train-text`, or any other of UDPipe 1."""
        with errors_naming(path), open(path, "rb"):
            pass  # UDPipe does not say why it cannot read a file
        model = udpipe.Model.load(os.fspath(path))
        if model is None:
            raise DataError(f"{path}: not a UDPipe model, or a broken one; g2g train-text makes a new one")
        return cls(model, os.fspath(path))

    def sentences(
        self,
        text: str | Iterable[str],
        *,
        presegmented: bool = False,
        ranges: bool = False,
        tags: bool = True,
        ids: Iterator[int] | None = None,
    ) -> Iterator[Sentence]:
        """The sentences of a text, which is a string or the lines of one (long lines may come in parts).

        White space between words is in MISC as UDPipe writes it (SpaceAfter, SpacesAfter, SpacesBefore). `presegmented` text
        has a sentence a line; `ranges` adds TokenRange=start:end, characters counted from 0 at the start of the text; without
        `tags` there are words only. Sentences are numbered from 1, or by `ids`.
        """
        tokenizer = self.model.newTokenizer(_options(presegmented, ranges))
        if tokenizer is None:
            raise DataError(f"{self.name}: this UDPipe model has no tokeniser")
        writer = udpipe.OutputFormat.newConlluOutputFormat()
        for found in _split(tokenizer, text, self.name):
            if tags:
                self._tag(found)
            written = writer.writeSentence(found)
            if ids is not None:
                written = _SENT_ID.sub(f"# sent_id = {next(ids)}", written, count=1)
            yield from conllu.read(io.StringIO(written), check="columns")

    def tagged(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The same sentences with UPOS, XPOS, FEATS and LEMMA as this model has them, whatever they were before."""
        for sentence in sentences:
            found = udpipe.Sentence()
            for form in sentence.forms:
                found.addWord(_UNFIT.sub("\ufffd", form))
            self._tag(found)
            words = list(found.words)[1:]  # the first is the root
            yield sentence.with_columns(
                {
                    LEMMA: [word.lemma or "_" for word in words],
                    UPOS: [word.upostag or "_" for word in words],
                    XPOS: [word.xpostag or "_" for word in words],
                    FEATS: [word.feats or "_" for word in words],
                }
            )

    def _tag(self, sentence: Any) -> None:
        error = udpipe.ProcessingError()
        if not self.model.tag(sentence, udpipe.Model.DEFAULT, error):
            raise DataError(f"{self.name}: {error.message}")


def generic(text: str, *, presegmented: bool = False, ranges: bool = False) -> Iterator[Sentence]:
    """The sentences of a text as UDPipe's own rules split it, which need no model and know no contractions."""
    tokenizer = udpipe.InputFormat.newGenericTokenizerInputFormat(_options(presegmented, ranges))
    writer = udpipe.OutputFormat.newConlluOutputFormat()
    for found in _split(tokenizer, text, "generic_tokenizer"):
        yield from conllu.read(io.StringIO(writer.writeSentence(found)), check="columns")


def horizontal(lines: Iterable[str]) -> Iterator[Sentence]:
    """A sentence a line, its words between spaces; a no-break space is a space within a word, as in UDPipe.

    >>> [sentence.forms for sentence in horizontal(["The dog barks .\\n", "\\n", "10\\u00a0000 dogs\\n"])]
    [['The', 'dog', 'barks', '.'], ['10 000', 'dogs']]
    """
    for line in lines:
        words = [word.replace("\u00a0", " ").strip() for word in _SPACES.split(line)]
        if words := [word for word in words if word]:
            yield Sentence.from_words(words, text=line.strip())


def vertical(lines: Iterable[str], *, name: str = "<text>") -> Iterator[Sentence]:
    """A word a line, sentences between blank lines; errors call the file by its name."""
    limit, number = SENTENCE.value(), 1
    for is_blank, block in groupby(lines, key=lambda line: not line.strip()):
        if is_blank:
            number += sum(1 for _ in block)
            continue
        words, size = [], 0
        for line in block:
            size += len(line)
            if size > limit:
                raise DataError(f"{name}:{number}: {SENTENCE.error(number)}")
            words.append(line.strip().replace("\t", " "))
        number += len(words)
        yield Sentence.from_words(words)


def _options(presegmented: bool, ranges: bool) -> str:
    return ";".join(name for name, wanted in (("presegmented", presegmented), ("ranges", ranges)) if wanted)


def _split(tokenizer: Any, text: str | Iterable[str], name: str) -> Iterator[Any]:
    """The sentences that a UDPipe tokeniser finds; each is overwritten by the next."""
    tokenizer.resetDocument("")
    found, error = udpipe.Sentence(), udpipe.ProcessingError()
    if isinstance(text, str):
        stream = io.StringIO(text, newline="\n")
        text = iter(lambda: stream.readline(LIMIT), "")
    for paragraph in paragraphs(text):
        tokenizer.setText(_UNFIT.sub("\ufffd", paragraph))
        while tokenizer.nextSentence(found, error):
            yield found
        if error.occurred():
            raise DataError(f"{name}: {error.message}")


def paragraphs(lines: Iterable[str], *, limit: int = LIMIT) -> Iterator[str]:
    r"""The text cut behind its blank lines, and at other places where there are none for long.

    >>> list(paragraphs(["One.\n", "Two.\n", "\n", "\n", "Three."]))
    ['One.\nTwo.\n\n\n', 'Three.']
    """
    held, ended = "", False
    for line in lines:
        is_blank = line.isspace()
        if ended and not is_blank:
            yield held
            held, ended = "", False
        elif held and len(held) + len(line) > limit:
            cut = held.rfind("\n") + 1 or max(held.rfind(" "), held.rfind("\t")) + 1 or len(held)
            yield held[:cut]
            held = held[cut:]
        ended = ended or (is_blank and bool(held) and not held.isspace())
        held += line
    if held:
        yield held


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How a text model is learnt.

    The defaults and what is fixed are as in UDPipe's own models for English-EWT, but for the width of the tokeniser: that was
    64, which takes seven times as long.
    """

    dimension: int = 24  # of the tokeniser's characters and its GRU: 16, 24 or 64
    segment_size: int = 200  # characters the tokeniser sees at once
    epochs: int = 100  # of the tokeniser, each of 10,000 segments
    iterations: int = 20  # of the tagger and of the lemmatiser

    def tokenizer(self) -> str:
        """The tokeniser's part, as UDPipe wants it."""
        return (
            f"dimension={self.dimension};segment_size={self.segment_size};epochs={self.epochs};batch_size=50;"
            "learning_rate=0.01;learning_rate_final=0.001;initialization_range=0.2;dropout=0.1"
        )

    def tagger(self) -> str:
        """The part of the two taggers: the first gives UPOS, XPOS and FEATS, the second LEMMA.

        Suffix rules guess the tags of an unknown word by its ending; the enriched dictionary has further ones of a known word.
        """
        return (
            f"models=2;iterations={self.iterations};guesser_enrich_dictionary=6;"
            "templates_1=tagger;guesser_suffix_rules_1=12;guesser_prefixes_max_1=0;"
            "use_lemma_1=1;use_xpostag_1=1;use_feats_1=1;provide_lemma_1=0;provide_xpostag_1=1;provide_feats_1=1;"
            "templates_2=lemmatizer;guesser_suffix_rules_2=6;guesser_prefixes_max_2=4;"
            "use_lemma_2=1;use_xpostag_2=0;use_feats_2=0;provide_lemma_2=1;provide_xpostag_2=0;provide_feats_2=0"
        )


def train(train: Source, dev: Source | None, target: Source, *, options: TextOptions | None = None) -> None:
    """Learn a text model from the words, tags and spaces of a treebank, stopping early on dev; trees are not looked at.

    Tokeniser and tagger are learnt at the same time, by a process each. UDPipe reports each epoch on standard error. The file
    appears when it is complete.
    """
    chosen, none = options or TextOptions(), udpipe.Trainer.NONE
    with errors_naming(target):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
    # opened now: if we may not write there, it is known before the long wait
    with writing(target) as file, TemporaryDirectory() as directory:
        tokenizer, tagger = Path(directory) / "tokenizer", Path(directory) / "tagger"
        jobs = (chosen.tokenizer(), none, tokenizer), (none, chosen.tagger(), tagger)
        _at_once([partial(_learn_apart, train, dev, *job) for job in jobs])
        if not (tokenizer.exists() and tagger.exists()):
            told = [text for problem in Path(directory).glob("*.error") if (text := problem.read_text())]
            raise DataError(told[0] if told else "a learning process ended before its time, perhaps for lack of memory")
        file.write(_learn(train, None, f"from_model=file:{tokenizer}", f"from_model=file:{tagger}"))


def _at_once(jobs: Sequence[Callable[[], None]]) -> None:
    """Run each in a process of its own, until all are done or one has failed; then nothing of them is left."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=job) for job in jobs]
    try:
        for process in processes:
            process.start()
        while running := [process.sentinel for process in processes if process.exitcode is None]:
            if any(process.exitcode for process in processes):
                break
            wait(running)
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _learn_apart(train: Source, dev: Source | None, tokenizer: str, tagger: str, target: Path) -> None:
    """Learn in a process of its own, into a file; if that fails, another one says why."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would not see Ctrl-C until UDPipe comes back
    try:
        write_bytes(target, _learn(train, dev, tokenizer, tagger))
    except DataError as error:
        write_text(target.with_suffix(".error"), str(error))
        sys.exit(1)


def _learn(train: Source, dev: Source | None, tokenizer: str, tagger: str) -> bytes:
    """A UDPipe model with a tokeniser and a tagger as these options say."""
    learnt, heldout = _udpipe_sentences(train), _udpipe_sentences(dev) if dev else udpipe.Sentences()
    error = udpipe.ProcessingError()
    content: bytes = udpipe.Trainer.train(
        "morphodita_parsito", learnt, heldout, tokenizer, tagger, udpipe.Trainer.NONE, error
    )
    if error.occurred():
        raise DataError(f"{train}: UDPipe cannot learn from this: {error.message.strip()}")
    return content


def _udpipe_sentences(path: Source) -> Any:
    """The sentences of a treebank as UDPipe has them, without their trees."""
    sentences, sentence = udpipe.Sentences(), udpipe.Sentence()
    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    has_tags = False
    for given in conllu.read(path, check="columns"):
        reader.setText("".join(given.with_tree([None] * len(given), ["_"] * len(given)).lines))
        if not reader.nextSentence(sentence, error):
            raise DataError(f"{path}: sentence {given.sent_id or given.text!r}: {error.message.strip()}")
        sentences.append(sentence)
        has_tags = has_tags or given.rows[0][UPOS] != "_"
    if not has_tags:
        raise DataError(f"{path}: no tags to learn from; expected UPOS in a treebank")
    return sentences
