"""The parser: a model with its pieces, labels and tags. Load it, parse with it, save it.

A model on disk is a directory: config.json, labels.json, tokenizer.json, model.safetensors, README.md.
"""

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import save

from graph2graph import conllu, pretrained
from graph2graph.config import Config, EncoderConfig, read_json
from graph2graph.conllu import Sentence
from graph2graph.decoding import constraints
from graph2graph.decoding.greedy import Given, Options, Work, greedy
from graph2graph.encoder import GraphEncoder
from graph2graph.errors import DataError
from graph2graph.models.features import Features, Featurizer
from graph2graph.models.inputs import state_length
from graph2graph.models.model import ParserModel, encoder_config
from graph2graph.pieces import Pieces
from graph2graph.transitions import NO_NODE, Action, States

WINDOW = 1024  # sentences looked at ahead, so that those of like length are parsed together
TOGETHER = 4  # batches decoded in step
TAG_COLUMNS = {"upos": conllu.UPOS, "xpos": conllu.XPOS, "none": None}


class Vocabulary(NamedTuple):
    """The labels and tags of a treebank, in the order of their numbers."""

    labels: list[str]
    tags: list[str]
    root_label: str

    @classmethod
    def of(cls, sentences: Iterable[Sentence], tags: str = "upos") -> "Vocabulary":
        """Those of a treebank; the label of arcs from ROOT must be one, and found on no other arc."""
        column = TAG_COLUMNS[tags]
        labels, found_tags, roots, others = set[str](), set[str](), set[str](), set[str]()
        for sentence in sentences:
            for row, head in zip(sentence.rows, sentence.heads, strict=True):
                labels.add(row[conllu.DEPREL])
                (roots if head == 0 else others).add(row[conllu.DEPREL])
                if column is not None and row[column] != "_":
                    found_tags.add(row[column])
        if len(roots) != 1 or roots & others:
            raise DataError(
                f"expected one label for arcs from ROOT and for no others, found {', '.join(sorted(roots)) or 'none'}"
                + (f", of which {', '.join(sorted(roots & others))} on other arcs too" if roots & others else "")
            )
        if not others:
            raise DataError("expected labels of arcs between words, found none: there are only sentences of one word")
        return cls(sorted(labels), sorted(found_tags), roots.pop())

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """The vocabulary in a model's labels.json."""
        values = read_json(path)
        try:
            labels, tags, root = values["labels"], values["tags"], values["root"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}: expected labels, tags and root") from error
        for name, value in (("labels", labels), ("tags", tags)):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise DataError(f"{path}: {name}: expected a list of strings")
        if root not in labels:
            raise DataError(f"{path}: root: expected one of the labels, found {root!r}")
        return cls(labels, tags, root)


class Parser:
    """A dependency parser.

    >>> parser = Parser.load("model")  # doctest: +SKIP
    >>> for sentence in parser.parse(conllu.read("text.conllu")):  # doctest: +SKIP
    ...     print(sentence.heads)
    """

    def __init__(self, config: Config, vocabulary: Vocabulary, pieces: Pieces, model: ParserModel) -> None:
        self.config, self.vocabulary, self.pieces, self.model = config, vocabulary, pieces, model.eval()
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
            kept = {name: getattr(wanted, name) for name in ("dropout", "attention_dropout", "relation_std")}
            layers = wanted.layers if "layers" in wanted.model_fields_set else min(wanted.layers, theirs.layers)
            base = theirs.model_copy(update=kept | {"layers": layers})
        shape = encoder_config(config.model, base, len(vocabulary.labels))
        started = None if encoder is None else pretrained.load(encoder, shape)
        config = _with_encoder(config, shape)
        model = _model(config, vocabulary, pieces, started)
        model.start_root(pieces.mask)
        return cls(config, vocabulary, pieces, model)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> "Parser":
        """The parser in a directory."""
        path = Path(directory)
        if not path.is_dir():
            raise DataError(f"{path}: no such model directory")
        config = Config.read(path / "config.json")
        vocabulary = Vocabulary.read(path / "labels.json")
        pieces = Pieces.read(path, max_pieces=config.data.max_pieces)
        if len(pieces) > config.model.encoder.vocab_size:
            known = config.model.encoder.vocab_size
            raise DataError(f"{path / 'tokenizer.json'}: {len(pieces)} pieces, of which the model knows only {known}")
        with torch.device("meta"):  # no time for starting values that are overwritten at once
            model = _model(config, vocabulary, pieces)
        _load_weights(model, path / "model.safetensors")
        return cls(config, vocabulary, pieces, model)

    def save(self, directory: str | os.PathLike[str], *, half: bool = False) -> None:
        """Write the model directory, the weights in half precision if asked; each file appears when it is complete."""
        self.save_settings(directory)
        weights = {name: weight.half() if half else weight for name, weight in self.model.state_dict().items()}
        content = save({name: weight.detach().cpu().contiguous() for name, weight in weights.items()})
        _write(Path(directory) / "model.safetensors", content)

    def save_settings(self, directory: str | os.PathLike[str]) -> None:
        """Write everything but the weights."""
        path = Path(directory)
        labels = {"labels": self.vocabulary.labels, "tags": self.vocabulary.tags, "root": self.vocabulary.root_label}
        _write(path / "config.json", (self.config.model_dump_json(indent=2) + "\n").encode())
        _write(path / "labels.json", (json.dumps(labels, ensure_ascii=False, indent=2) + "\n").encode())
        _write(path / "tokenizer.json", self.pieces.tokenizer.to_str().encode())

    def parse(
        self,
        sentences: Iterable[Sentence],
        *,
        tags: bool = True,
        batch_tokens: int | None = None,
        reencode: float | None = None,
        keep_arcs: bool = False,
        probabilities: bool = False,
        work: Work | None = None,
    ) -> Iterator[Sentence]:
        """The same sentences with their trees, in the order they came, as they come.

        tags: whether theirs are used. batch_tokens: pieces encoded at once. reencode: the threshold of adaptive decoding.
        keep_arcs: heads and labels that a sentence has stay. probabilities: those of each arc and its label go to MISC, as
        ArcP and LabelP. `work` is filled with what was done.
        """
        decode = self.config.decode
        options = Options(decode.reencode if reencode is None else reencode, batch_tokens or decode.batch_tokens)
        # a sentence model holds many sentences and encodes some at a time; a state model encodes all it holds
        room = options.batch_tokens * (1 if self.config.model.input == "state" else TOGETHER)
        stream = iter(sentences)
        while window := list(islice(stream, WINDOW)):
            features = [self.featurizer(sentence) for sentence in window]
            if not tags:
                features = [feature.without_tags() for feature in features]
            for sentence, feature in zip(window, features, strict=True):
                if self._is_long(feature):
                    _warn_long(sentence, self.config.model.encoder)
            parsed: dict[int, Sentence] = {}
            for batch in _batches(features, room):
                some = [window[number] for number in batch]
                given = [self._given(sentence) for sentence in some] if keep_arcs else None
                done = Work(decisions=[] if probabilities else None)
                states = greedy(self.model, [features[n] for n in batch], options, given=given, work=done)
                trees = self._with_trees(some, states, keep_labels=keep_arcs)
                parsed |= zip(batch, _with_probabilities(trees, done) if probabilities else trees, strict=True)
                if work is not None:
                    work.add(done)
            yield from (parsed[number] for number in range(len(window)))

    def _given(self, sentence: Sentence) -> Given:
        """The heads and labels that a sentence has."""
        heads = [NO_NODE, *(NO_NODE if head is None else head for head in sentence.heads)]
        try:
            constraints.check(heads)
        except DataError as error:
            raise DataError(f"sentence {sentence.sent_id or sentence.text}: no tree has these arcs: {error}") from error
        labels = [NO_NODE, *(self.label_ids.get(label, NO_NODE) for label in sentence.deprels)]
        return Given(np.array(heads), np.array(labels))

    def _with_trees(self, sentences: Sequence[Sentence], states: States, *, keep_labels: bool) -> Iterator[Sentence]:
        """The sentences with the trees of these states."""
        names = self.vocabulary.labels
        for row, sentence in enumerate(sentences):
            nodes = slice(1, len(sentence) + 1)
            labels = [names[label] for label in states.labels[row, nodes].tolist()]
            if keep_labels:  # one that the model does not know stays as it is
                labels = [new if old == "_" else old for new, old in zip(labels, sentence.deprels, strict=True)]
            yield sentence.with_tree(states.heads[row, nodes].tolist(), labels)

    def _is_long(self, feature: Features) -> bool:
        """Whether the encoder is too short for a sentence, so that it is seen in parts."""
        model = self.config.model
        if model.input == "sentence":
            return feature.is_long
        return state_length(feature.n_words, graph=model.graph_input) > model.encoder.max_positions


def _load_weights(model: ParserModel, path: Path) -> None:
    """Give a model the weights in a file, which must be all of its own and no others."""
    weights, expected = pretrained.read_safetensors(path), model.state_dict()
    for name, parameter in expected.items():
        if name not in weights:
            raise DataError(f"{path}: {name} is missing")
        if weights[name].shape != parameter.shape:
            raise DataError(f"{path}: {name} has shape {list(weights[name].shape)}; expected {list(parameter.shape)}")
    if unknown := sorted(weights.keys() - expected.keys()):
        raise DataError(f"{path}: {unknown[0]} is not a weight of this model; config.json describes another one")
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DataError(f"{path}: {error.strerror}") from error


def _with_encoder(config: Config, encoder: EncoderConfig) -> Config:
    return config.model_copy(update={"model": config.model.model_copy(update={"encoder": encoder})})


def _model(config: Config, vocabulary: Vocabulary, pieces: Pieces, encoder: GraphEncoder | None = None) -> ParserModel:
    return ParserModel(
        config.model,
        n_labels=len(vocabulary.labels),
        n_tags=len(vocabulary.tags),
        root_label=vocabulary.labels.index(vocabulary.root_label),
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
