"""The parser: a model with its pieces, labels and tags. Load it, parse with it, save it.

A model on disk is a directory: config.json, labels.json, tokenizer.json, model.safetensors, README.md.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
import torch

from graph2graph.arrays import IntArray
from graph2graph.config import Config, DecodeConfig, EncoderConfig
from graph2graph.decoding import options
from graph2graph.decoding.beam import beam_search
from graph2graph.decoding.greedy import Given, Work, greedy
from graph2graph.encoder import pretrained
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.pieces import Pieces
from graph2graph.encoder.precision import Precision, to_int8
from graph2graph.errors import DataError
from graph2graph.models.features import Features, Featurizer
from graph2graph.models.inputs import state_length
from graph2graph.models.parser_model import ParserModel, encoder_config
from graph2graph.parser import allocation, model_directory
from graph2graph.parser.model_directory import Settings
from graph2graph.parser.vocabulary import TAG_COLUMNS, Vocabulary
from graph2graph.transition import constraints
from graph2graph.transition.state import NO_NODE, ROOT, Action
from graph2graph.treebank.conllu import Sentence

WINDOW = 1024  # sentences looked at ahead, so that those of like length are parsed together
TOGETHER = 4  # batches decoded in step

T = TypeVar("T")


class BeamOptions(TypedDict, total=False):
    """How to look for the best trees; see `Parser.nbest`."""

    batch_tokens: int | None
    reencode: float | None


class ParseOptions(BeamOptions, total=False):
    """How to parse; see `Parser.parse`."""

    beam: int
    keep_arcs: bool
    probabilities: bool


class Candidate(NamedTuple):
    """One of the trees found for a sentence."""

    sentence: Sentence
    score: float  # the log probability of the actions and labels that made it
    share: float  # of its probability in that of all trees found


class Parser:
    """A dependency parser.

    Examples:
        >>> parser = Parser.load("model")  # doctest: +SKIP
        >>> for sentence in parser.parse(conllu.read("text.conllu")):  # doctest: +SKIP
        ...     print(sentence.heads)
    """

    def __init__(self, config: Config, vocabulary: Vocabulary, pieces: Pieces, model: ParserModel) -> None:
        self.config, self.vocabulary, self.pieces, self.model = config, vocabulary, pieces, model.eval()
        self._n_untidied = 0  # sentences parsed since freed memory was given back
        self.label_ids = {label: number for number, label in enumerate(vocabulary.labels)}
        self.featurizer = Featurizer(
            pieces,
            vocabulary.tags,
            tag_column=TAG_COLUMNS[config.data.tags],
            max_positions=config.model.encoder.max_positions,
        )

    @classmethod
    def create(
        cls, config: Config, vocabulary: Vocabulary, *, encoder: Path | None = None, forms: Iterable[str] = ()
    ) -> "Parser":
        """An untrained parser: on a pretrained encoder (config.model.encoder.layers of it), or from nothing.

        With an encoder its shape replaces that in the config, but for the number of layers and the dropouts (and the first
        6 layers, or as many as it has, are taken unless the config says how many); without one, a vocabulary of pieces is
        learnt from the forms.
        """
        wanted = config.model.encoder
        if encoder is None:
            pieces = Pieces.train(forms, vocab_size=wanted.vocab_size, max_pieces=config.data.max_pieces)
            base = wanted.model_copy(update={"vocab_size": len(pieces)})
        else:
            pieces = Pieces.read(encoder, max_pieces=config.data.max_pieces)
            theirs = pretrained.read_config(encoder)
            layers = wanted.layers if "layers" in wanted.model_fields_set else min(wanted.layers, theirs.layers)
            base = theirs.model_copy(update=_own(wanted) | {"layers": layers})
        shape = encoder_config(config.model, base, len(vocabulary.labels))
        started = None if encoder is None else pretrained.load(encoder, shape)
        config = _with_encoder(config, shape)
        model = _model(config, vocabulary, pieces, started)
        model.start_root(pieces.mask)
        return cls(config, vocabulary, pieces, model)

    @classmethod
    def grown(cls, config: Config, other: "Parser") -> "Parser":
        """A parser with the words, labels, encoder and weights of another one; parts that the other lacks are new."""
        shape = other.config.model.encoder.model_copy(update=_own(config.model.encoder))
        config = _with_encoder(config, encoder_config(config.model, shape, len(other.vocabulary.labels)))
        model = _model(config, other.vocabulary, other.pieces)
        weights = model.state_dict()
        theirs = {
            name: weight
            for name, weight in other.model.state_dict().items()
            if name in weights and weights[name].shape == weight.shape
        }
        model.load_state_dict(weights | theirs)
        return cls(config, other.vocabulary, other.pieces, model)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, precision: Precision = "fp32") -> "Parser":
        """The parser in a directory; in int8 it is faster on a CPU and a little less exact."""
        config, vocabulary, pieces = model_directory.read_settings(directory)
        with torch.device("meta"):  # no time for starting values that are overwritten at once
            model = _model(config, vocabulary, pieces)
        model.load_state_dict(model_directory.read_weights(directory, model), assign=True)
        if precision == "int8":
            to_int8(model.encoder)
        allocation.retain_blocks()
        return cls(config, vocabulary, pieces, model)

    def save(self, directory: str | os.PathLike[str], *, half: bool = False) -> None:
        """Write the model directory, the weights in half precision on request."""
        self.save_settings(directory)
        model_directory.write_weights(directory, self.model, half=half)

    def save_settings(self, directory: str | os.PathLike[str]) -> None:
        """Write everything but the weights."""
        model_directory.write_settings(directory, Settings(self.config, self.vocabulary, self.pieces))

    def parse(
        self,
        sentences: Iterable[Sentence],
        *,
        tags: bool = True,
        batch_tokens: int | None = None,
        reencode: float | None = None,
        beam: int = 1,
        keep_arcs: bool = False,
        probabilities: bool = False,
        work: Work | None = None,
    ) -> Iterator[Sentence]:
        """The same sentences with their trees, in the order they came, as they come.

        tags: whether theirs are used. batch_tokens: pieces encoded at once. reencode: the threshold of adaptive decoding.
        beam: how many hypotheses are followed. keep_arcs: heads and labels that a sentence has stay. probabilities: those
        of each arc and its label go to MISC, as ArcP and LabelP. `work` is filled with what was done.
        """
        if beam > 1:
            if keep_arcs or probabilities:
                raise DataError("a beam goes with neither given arcs nor probabilities")
            for found in self.nbest(
                sentences, beam, tags=tags, batch_tokens=batch_tokens, reencode=reencode, work=work
            ):
                yield found[0].sentence
            return

        def decoded(some: list[Sentence], features: list[Features], decode: DecodeConfig) -> Iterator[Sentence]:
            given = [self._given(sentence) for sentence in some] if keep_arcs else None
            done = Work(decisions=[] if probabilities else None, watch=work.watch if work else None)
            states = greedy(self.model, features, decode, given=given, work=done)
            if work is not None:
                work.add(done)
            trees = self._with_trees(some, states.heads, states.labels, keep_labels=keep_arcs)
            return _with_probabilities(trees, done) if probabilities else trees

        yield from self._in_windows(sentences, decoded, self._options(reencode, batch_tokens), tags=tags)

    def nbest(
        self,
        sentences: Iterable[Sentence],
        beam: int,
        *,
        tags: bool = True,
        batch_tokens: int | None = None,
        reencode: float | None = None,
        work: Work | None = None,
    ) -> Iterator[list[Candidate]]:
        """The best trees of each sentence that a beam of this width finds, the best first, in the order they came."""

        def decoded(some: list[Sentence], features: list[Features], decode: DecodeConfig) -> Iterator[list[Candidate]]:
            for sentence, found in zip(some, beam_search(self.model, features, beam, decode, work=work), strict=True):
                heads, labels = [one.heads for one in found], [one.labels for one in found]
                trees = self._with_trees([sentence] * len(found), heads, labels)
                yield [Candidate(tree, one.score, one.share) for tree, one in zip(trees, found, strict=True)]

        yield from self._in_windows(sentences, decoded, self._options(reencode, batch_tokens), tags=tags, each=beam)

    def _options(self, reencode: float | None, batch_tokens: int | None) -> DecodeConfig:
        return options.ParseOptions(reencode=reencode, batch_tokens=batch_tokens or None).resolve(self.config.decode)

    def _in_windows(
        self,
        sentences: Iterable[Sentence],
        decoded: Callable[[list[Sentence], list[Features], DecodeConfig], Iterable[T]],
        decode: DecodeConfig,
        *,
        tags: bool,
        each: int = 1,
    ) -> Iterator[T]:
        """What is decoded of a stream of sentences, in their order; those of like length in a window are decoded together.

        A sentence model holds many sentences and encodes some at a time; a state model encodes all it holds.
        each: the room that one sentence takes, in sentences.
        """
        room = decode.batch_tokens * (1 if self.config.model.input == "state" else TOGETHER) // each
        stream = iter(sentences)
        was_full = False  # whether any window was; then the memory of the last one is given back too, full or not
        while window := list(islice(stream, WINDOW)):
            features = [self.featurizer(sentence) for sentence in window]
            if not tags:
                features = [feature.without_tags() for feature in features]
            for sentence, feature in zip(window, features, strict=True):
                if self._is_long(feature):
                    _warn_long(sentence, self.config.model.encoder)
            results: dict[int, T] = {}
            for batch in _batches(features, room):
                found = decoded([window[n] for n in batch], [features[n] for n in batch], decode)
                results |= zip(batch, found, strict=True)
            self._n_untidied += len(window)
            was_full |= len(window) == WINDOW
            if was_full or self._n_untidied >= WINDOW:
                self._n_untidied = 0
                allocation.return_freed()
            yield from (results[number] for number in range(len(window)))

    def _given(self, sentence: Sentence) -> Given:
        """The heads and labels that a sentence has."""
        heads = [NO_NODE]
        for head, label in zip(sentence.heads, sentence.deprels, strict=True):
            by_label = (
                NO_NODE if label == "_" else ROOT if label == self.vocabulary.root_label else constraints.NOT_ROOT
            )
            heads.append(by_label if head is None else head)
        try:
            constraints.check(heads)
        except DataError as error:
            raise DataError(f"sentence {sentence.sent_id or sentence.text}: no tree has these arcs: {error}") from error
        labels = [NO_NODE, *(self.label_ids.get(label, NO_NODE) for label in sentence.deprels)]
        return Given(np.array(heads), np.array(labels))

    def _with_trees(
        self,
        sentences: Sequence[Sentence],
        heads: Iterable[IntArray],
        labels: Iterable[IntArray],
        *,
        keep_labels: bool = False,
    ) -> Iterator[Sentence]:
        """The sentences with these trees: head and label of nodes 0..n each, and whatever follows."""
        for sentence, tree, numbers in zip(sentences, heads, labels, strict=True):
            nodes = slice(1, len(sentence) + 1)
            names = [self.vocabulary.labels[label] for label in numbers[nodes].tolist()]
            if keep_labels:  # one that the model does not know stays as it is
                names = [new if old == "_" else old for new, old in zip(names, sentence.deprels, strict=True)]
            yield sentence.with_tree(tree[nodes].tolist(), names)

    def _is_long(self, feature: Features) -> bool:
        """Whether the encoder is too short for a sentence, so that it is seen in parts."""
        model = self.config.model
        if model.input == "sentence":
            return feature.is_long
        return state_length(feature.n_words, graph=model.graph_input) > model.encoder.max_positions


def _own(encoder: EncoderConfig) -> dict[str, float]:
    """What is not for a pretrained encoder to say."""
    return {name: getattr(encoder, name) for name in ("dropout", "attention_dropout")}


def _with_encoder(config: Config, encoder: EncoderConfig) -> Config:
    return config.model_copy(update={"model": config.model.model_copy(update={"encoder": encoder})})


def _model(config: Config, vocabulary: Vocabulary, pieces: Pieces, encoder: GraphEncoder | None = None) -> ParserModel:
    return ParserModel(
        config.model,
        n_labels=len(vocabulary.labels),
        n_tags=len(vocabulary.tags),
        root_label=vocabulary.root_id,
        cls_sep=(pieces.cls, pieces.sep),
        encoder=encoder,
    )


def _batches(features: Sequence[Features], budget: int) -> Iterator[list[int]]:
    """Numbers of sentences of like length, whose padded pieces keep to the budget."""
    batch: list[int] = []
    longest = 0
    for number in sorted(range(len(features)), key=lambda number: features[number].n_pieces):
        longest = max(longest, features[number].n_pieces)
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], features[number].n_pieces
        batch.append(number)
    if batch:
        yield batch


def _with_probabilities(sentences: Iterable[Sentence], work: Work) -> Iterator[Sentence]:
    """The sentences with ArcP and LabelP in MISC."""
    found: dict[tuple[int, int], dict[str, str]] = {}
    for decided in work.decisions or []:
        for place, (row, action) in enumerate(zip(decided.rows.tolist(), decided.actions.tolist(), strict=True)):
            if action in (Action.LEFT_ARC, Action.RIGHT_ARC):
                dependent = int(decided.focus[place, 0 if action == Action.LEFT_ARC else 1])
                arc_p, label_p = decided.action_p[place, action], decided.label_p[place]
                found[row, dependent] = {"ArcP": f"{arc_p:.4f}", "LabelP": f"{label_p:.4f}"}
    for row, sentence in enumerate(sentences):
        yield sentence.with_misc([found[row, word] for word in range(1, len(sentence) + 1)])


def _warn_long(sentence: Sentence, encoder: EncoderConfig) -> None:
    name = sentence.sent_id or sentence.text[:40]
    warnings.warn(f"sentence {name}: longer than the encoder's {encoder.max_positions} positions", stacklevel=3)
