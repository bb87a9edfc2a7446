"""The parser: a model with its pieces, labels and tags. Load it, parse with it, save it."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from graph2graph.config import Config, EncoderConfig, Precision
from graph2graph.decoding.beam import Hypothesis, beam_search
from graph2graph.decoding.greedy import Decisions, Given, Tree, Work, greedy, taken_arcs
from graph2graph.decoding.long_sentences import decode_long
from graph2graph.decoding.one_subject import OneSubject
from graph2graph.decoding.options import ParseOptions, TagSource
from graph2graph.encoder import pretrained
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.pieces import Pieces
from graph2graph.encoder.precision import prepare, resolve
from graph2graph.errors import DataError
from graph2graph.files import FilePath
from graph2graph.models.features import Features, Featurizer, Words
from graph2graph.models.parser_model import ParserModel, encoder_config
from graph2graph.models.rows import sentence_length, state_length
from graph2graph.parser import allocation, model_directory
from graph2graph.parser.annotation import given_arcs, with_given, with_probabilities, with_tree
from graph2graph.parser.model_directory import Settings
from graph2graph.parser.vocabulary import TAG_COLUMNS, Vocabulary
from graph2graph.parser.windows import DecodeBatch, Windows
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import variant_of

BATCHES_TOGETHER = 4  # batches of a sentence model that are decoded together
TRAINING_SETTINGS = {"dropout", "attention_dropout"}  # of an encoder; they do not come from a pretrained one

T = TypeVar("T")


class Candidate(NamedTuple):
    """One of the trees found for a sentence."""

    sentence: Sentence
    score: float  # the log probability of the actions and labels that built it
    share: float  # its share of the probability of all trees found


class Parser:
    """A dependency parser for sentences: `Parser.load("model").parse(conllu.read("text.conllu"))`."""

    precision: Precision = "fp32"  # of the encoder

    def __init__(self, config: Config, vocabulary: Vocabulary, pieces: Pieces, model: ParserModel) -> None:
        self.config, self.vocabulary, self.pieces, self.model = config, vocabulary, pieces, model.eval()
        tag_column, max_positions = TAG_COLUMNS[config.data.tags], config.model.encoder.max_positions
        self.featurizer = Featurizer(pieces, vocabulary.tags, tag_column=tag_column, max_positions=max_positions)
        self._windows = Windows()

    def __repr__(self) -> str:
        variant, encoder = variant_of(self.config.model), self.config.model.encoder
        shape = f"{encoder.layers} layers × {encoder.width}, {len(self.vocabulary.labels)} labels"
        return f"Parser({variant.title if variant else 'custom'}, {shape})"

    @classmethod
    def create(
        cls, config: Config, vocabulary: Vocabulary, *, encoder: Path | None = None, forms: Iterable[str] = ()
    ) -> "Parser":
        """An untrained parser, with a pretrained encoder or a new one.

        A pretrained encoder replaces the shape in the config, except for dropout and the number of layers. If the config
        leaves that number open, the first 6 layers are taken, or all if there are fewer. A new encoder's word pieces are
        learnt from the forms.
        """
        wanted = config.model.encoder
        if encoder is None:
            pieces = Pieces.train(forms, vocab_size=wanted.vocab_size, max_pieces=config.data.max_pieces)
            base = wanted.model_copy(update={"vocab_size": len(pieces)})
        else:
            pieces = Pieces.read(encoder, max_pieces=config.data.max_pieces)
            found = pretrained.read_config(encoder)
            layers = wanted.layers if "layers" in wanted.model_fields_set else min(wanted.layers, found.layers)
            base = found.model_copy(update=wanted.model_dump(include=TRAINING_SETTINGS) | {"layers": layers})
        config = _with_encoder(config, base, vocabulary)
        loaded = None if encoder is None else pretrained.load(encoder, config.model.encoder)
        model = _new_model(Settings(config, vocabulary, pieces), loaded)
        model.start_root(pieces.mask)
        return cls(config, vocabulary, pieces, model)

    @classmethod
    def start_from(cls, other: "Parser", config: Config) -> "Parser":
        """An untrained parser with the words, labels, encoder and weights of another one.

        Weights that the other parser lacks, or has in another shape, are newly initialised.
        """
        training = config.model.encoder.model_dump(include=TRAINING_SETTINGS)
        base = other.config.model.encoder.model_copy(update=training)
        config = _with_encoder(config, base, other.vocabulary)
        model = _new_model(Settings(config, other.vocabulary, other.pieces))
        weights = model.state_dict()
        shared = {
            name: weight
            for name, weight in other.model.state_dict().items()
            if name in weights and weights[name].shape == weight.shape
        }
        model.load_state_dict(weights | shared)
        return cls(config, other.vocabulary, other.pieces, model)

    @classmethod
    def load(cls, directory: FilePath, *, precision: Precision = "auto") -> "Parser":
        """Load the parser in a directory, to parse in this precision: by default in the one that suits the CPU best."""
        precision, settings = resolve(precision), model_directory.read_settings(directory)
        model_directory.check_size(directory, settings.config)
        with torch.device("meta"):  # initial weights would be overwritten at once
            model = _new_model(settings)
        model.load_state_dict(model_directory.read_weights(directory, model), assign=True)
        prepare(model.encoder, precision, model.exist, model.relation)
        allocation.retain_blocks()
        parser = cls(*settings, model)
        parser.precision = precision
        return parser

    def save(self, directory: FilePath, *, half: bool = False) -> None:
        """Write the model directory; with `half` the weights in half precision."""
        self.save_settings(directory)
        model_directory.write_weights(directory, self.model, half=half)

    def save_settings(self, directory: FilePath) -> None:
        """Write everything but the weights."""
        model_directory.write_settings(directory, Settings(self.config, self.vocabulary, self.pieces))

    def parse(
        self,
        sentences: Iterable[Sentence],
        options: ParseOptions | None = None,
        *,
        work: Work | None = None,
        **changes: Any,
    ) -> Iterator[Sentence]:
        """Yield the same sentences with their trees, in the order they came.

        Options can also be given by name: `parser.parse(sentences, beam=4)`. `work` counts what was encoded.
        """
        chosen = self._resolve(options, changes)
        if chosen.beam > 1:
            return (found[0].sentence for found in self.nbest(sentences, chosen.beam, chosen, work=work))

        def parse_batch(batch: list[Sentence], features: list[Features | Words]) -> Iterable[Sentence]:
            given = [given_arcs(sentence, self.vocabulary) for sentence in batch] if chosen.keep_arcs else None
            trees = self._decode(features, chosen, given, work)
            for sentence, tree in zip(batch, trees, strict=True):
                parsed = with_tree(sentence, tree.heads, tree.labels, self.vocabulary, keep_labels=chosen.keep_arcs)
                yield with_probabilities(parsed, tree.arcs) if chosen.probabilities else parsed

        return self._in_windows(sentences, parse_batch, chosen)

    def _decode(
        self,
        features: Sequence[Features | Words],
        options: ParseOptions,
        given: Sequence[Given] | None,
        work: Work | None,
    ) -> list[Tree]:
        """The trees of a batch, all of long sentences or none; with the probabilities of their arcs if the options say so."""
        decode, recorded = options.resolve(self.config.decode), options.probabilities
        one_subject = self._one_subject(features, given) if options.one_subject else None
        if long := [one for one in features if isinstance(one, Words)]:
            trees = decode_long(self.model, long, decode, work=work, one_subject=one_subject, is_recorded=recorded)
            return (
                trees
                if given is None
                else [with_given(*one, self.vocabulary) for one in zip(trees, given, strict=True)]
            )
        short = [one for one in features if isinstance(one, Features)]
        decisions: list[Decisions] = []
        states = greedy(
            self.model,
            short,
            decode,
            given=given,
            work=work,
            decisions=decisions if recorded else None,
            one_subject=one_subject,
        )
        trees = [Tree(*arrays) for arrays in zip(states.heads, states.labels, strict=True)]
        for arc in taken_arcs(decisions):
            trees[arc.row].arcs.append(arc)
        return trees

    def _one_subject(self, features: Sequence[Features | Words], given: Sequence[Given] | None = None) -> OneSubject:
        """The subjects and objects that the nodes of a batch have in the beginning: the given ones."""
        most_words = max(one.n_words for one in features)
        found = OneSubject(self.vocabulary.labels, len(features), most_words + 1)
        for row, one in enumerate(given or []):
            one.mark(found, row)
        return found

    def nbest(
        self,
        sentences: Iterable[Sentence],
        beam: int,
        options: ParseOptions | None = None,
        *,
        work: Work | None = None,
        **changes: Any,
    ) -> Iterator[list[Candidate]]:
        """Yield the trees that a beam of this width finds for each sentence, the best first; of a long one the greedy tree."""
        chosen = self._resolve(options, changes | {"beam": beam})
        decode = chosen.resolve(self.config.decode)

        def search_batch(batch: list[Sentence], features: list[Features | Words]) -> Iterator[list[Candidate]]:
            one_subject = self._one_subject(features) if chosen.one_subject else None
            if long := [one for one in features if isinstance(one, Words)]:
                trees = decode_long(self.model, long, decode, work=work, one_subject=one_subject, is_recorded=True)
                candidates = [[Hypothesis(tree.heads, tree.labels, tree.score, 1.0)] for tree in trees]
            else:
                short = [one for one in features if isinstance(one, Features)]
                candidates = beam_search(self.model, short, beam, decode, work=work, one_subject=one_subject)
            for sentence, found in zip(batch, candidates, strict=True):
                yield [
                    Candidate(with_tree(sentence, one.heads, one.labels, self.vocabulary), one.score, one.share)
                    for one in found
                ]

        return self._in_windows(sentences, search_batch, chosen)

    def _resolve(self, options: ParseOptions | None, changes: dict[str, Any]) -> ParseOptions:
        chosen = replace(options or ParseOptions(), **changes)
        if chosen.tags is TagSource.PREDICT:
            raise DataError("a parser has no tagger; graph2graph.load() gives a pipeline that predicts tags")
        return chosen

    def _in_windows(
        self, sentences: Iterable[Sentence], decode_batch: DecodeBatch[T], options: ParseOptions
    ) -> Iterator[T]:
        """Yield the result of each sentence, in order; a sentence model decodes several batches of its encoder together."""
        n_batches = 1 if self.config.model.input == "state" else BATCHES_TOGETHER
        batch_pieces = options.resolve(self.config.decode).batch_tokens * n_batches // options.beam
        featurize = partial(self._features, sees_tags=options.tags is not TagSource.NONE)
        return self._windows.decode(sentences, featurize, decode_batch, batch_pieces=batch_pieces)

    def fits(self, words: Words) -> bool:
        """Whether the encoder can read a sentence with these words at once."""
        model = self.config.model
        is_state = model.input == "state"
        length = state_length(words.n_words, graph=model.graph_input) if is_state else sentence_length(words)
        return length <= model.encoder.max_positions

    def _features(self, sentence: Sentence, *, sees_tags: bool) -> Features | Words:
        """The features of a sentence; if it is longer than the encoder, warn and return its words."""
        words, limit = self.featurizer.words(sentence), self.config.model.encoder.max_positions
        if not sees_tags:
            words = words.without_tags()
        if self.fits(words):
            return self.featurizer.features(words)
        name = sentence.sent_id or sentence.text[:40]
        warnings.warn(
            f"sentence {name}: longer than the encoder's {limit} positions; it is parsed in parts", stacklevel=3
        )
        return words


def _with_encoder(config: Config, base: EncoderConfig, vocabulary: Vocabulary) -> Config:
    encoder = encoder_config(config.model, base, len(vocabulary.labels))
    return config.model_copy(update={"model": config.model.model_copy(update={"encoder": encoder})})


def _new_model(settings: Settings, encoder: GraphEncoder | None = None) -> ParserModel:
    config, vocabulary, pieces = settings
    return ParserModel(
        config.model,
        n_labels=len(vocabulary.labels),
        n_tags=len(vocabulary.tags),
        root_label=vocabulary.label_ids[vocabulary.root_label],
        cls_sep=(pieces.cls, pieces.sep),
        encoder=encoder,
    )
