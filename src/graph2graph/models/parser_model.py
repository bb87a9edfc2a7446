"""The parser model: encoder, inputs, composition, history and classifiers, put together as the config says.

Two verbs: `encode` turns parser states into vectors for their words, `decide` turns the vectors of s2, s1 and b1 into
scores. Decoding alternates between them; training calls each once for all states of a batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.arrays import BoolArray, IntArray
from graph2graph.config import EncoderConfig, ModelConfig
from graph2graph.encoder.encoder import GraphEncoder
from graph2graph.encoder.layout import Graph, Layout
from graph2graph.errors import DataError
from graph2graph.models import relations
from graph2graph.models.classifiers import Classifier, Exist, Relation
from graph2graph.models.composition import Composition
from graph2graph.models.features import Features
from graph2graph.models.history import History
from graph2graph.models.inputs import CLS, DELETED, StateInput, sentence_input, state_input
from graph2graph.models.relations import Entries
from graph2graph.transition.state import NO_NODE, ROOT
from graph2graph.transition.states import States

N_STATE_SEGMENTS = 3


@dataclass
class Encodings:
    """Encoded states: rows of vectors, and which of them stands for each node of each state."""

    vectors: Tensor  # [V, w] the last one is that of an empty slot
    places: Tensor  # [B, m + 1] in V; the last column is the empty slot, so that NO_NODE, -1, finds it
    cls_places: Tensor  # [B] in V
    n_tokens: int = 0  # that were encoded, read or not
    exist: list[Tensor] | None = None  # the classifiers' first layers, where they have been applied to all vectors
    relation: list[Tensor] | None = None


def encoder_config(model: ModelConfig, base: EncoderConfig, n_labels: int) -> EncoderConfig:
    """The encoder that a model needs: as the base, with relations for its graph and segments for its states."""
    k = relations.n_relations(n_labels, labelled=model.labelled_relations) if model.graph_input else 0
    segments = max(base.n_segments, N_STATE_SEGMENTS) if model.input == "state" else base.n_segments
    return base.model_copy(update={"relations": k, "n_segments": segments})


class ParserModel(nn.Module):
    """Every parser of the paper; `config.encoder` must be complete (see `encoder_config`)."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        n_labels: int,
        n_tags: int,
        root_label: int,
        cls_sep: tuple[int, int],
        encoder: GraphEncoder | None = None,
    ) -> None:
        super().__init__()
        if config.input == "sentence" and (config.history or config.composition or config.output == "cls"):
            raise DataError("model: history, composition and output cls belong to state models, not to input sentence")
        self.config, self.n_labels, self.root_label, self.cls_sep = config, n_labels, root_label, cls_sep
        self.encoder = encoder or GraphEncoder(config.encoder)
        width, input_width = config.encoder.width, config.encoder.input_width
        self.root = nn.Parameter(torch.randn(input_width) * 0.02)
        self.tags = nn.Embedding(n_tags + 1, input_width, padding_idx=0)  # 0: no tag
        nn.init.normal_(self.tags.weight[1:], std=0.02)
        self.empty = nn.Parameter(torch.zeros(width))  # an empty slot
        self.labels = None
        if config.graph_input:
            self.labels = nn.Embedding(n_labels + 2, input_width, padding_idx=0)  # none, labels, further pieces
            nn.init.normal_(self.labels.weight[1:], std=0.02)
        self.composition = self.history = None
        if config.composition:
            hidden = config.composition_hidden or input_width
            self.composition = Composition(input_width, hidden, n_labels, skip=config.composition_skip)
        history_width = (config.history_width or width) if config.history else 0
        if config.history:
            self.history = History(history_width, config.history_layers, n_labels)
        cls, dropout = config.output == "cls", config.classifier_dropout
        # each word tells its tag, or CLS those of s2, s1 and b1
        self.tagger = nn.Linear(width, (3 if cls else 1) * (n_tags + 1)) if config.tagger else None
        self.exist = Exist(width, history_width, hidden=config.exist_hidden, dropout=dropout, cls=cls)
        self.relation = Relation(
            width, history_width, hidden=config.relation_hidden, n_labels=n_labels, dropout=dropout, cls=cls
        )

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.root.device

    def start_root(self, mask_piece: int) -> None:
        """Let ROOT start from the encoder's vector for the mask token."""
        with torch.no_grad():
            self.root.copy_(self.encoder.words.weight[mask_piece])

    def tensor(self, array: IntArray | BoolArray) -> Tensor:
        """An index array on the model's device."""
        return torch.from_numpy(array).to(self.device)

    # ------------------------------------------------------------------ encode

    def node_vectors(self, features: Sequence[Features]) -> Tensor:
        """What the state models read for each node, T of the paper: [S, m, w]; all sentences as wide as the widest."""
        width = max(len(feature.pieces) for feature in features)
        pieces = np.zeros((len(features), width), dtype=np.int64)
        tags = np.zeros((len(features), width), dtype=np.int64)
        for row, feature in enumerate(features):
            pieces[row, : len(feature.pieces)] = feature.pieces
            tags[row, : len(feature.tags)] = feature.tags
        vectors = self.encoder.words(self.tensor(pieces)) + self.tags(self.tensor(tags))
        return torch.cat([self.root.expand(len(features), 1, -1), vectors[:, 1:]], dim=1)

    def encode(
        self,
        states: States,
        features: Sequence[Features],
        *,
        vectors: Tensor | None = None,
        owners: IntArray | None = None,
        looks_ahead: bool = False,
        read: BoolArray | None = None,
    ) -> Encodings:
        """Encode parser states.

        A sentence model reads the features of each state's sentence, and gives the vectors of all words, or of those to be
        read, [B, m]. A state model reads the vectors of its nodes, [S, m, w],
        where state i belongs to sentence owners[i]: those of `node_vectors`, or the composed ones; and gives the vectors that
        the next decision asks for, or, if it looks ahead, those that any later one does.
        """
        if self.config.input == "sentence":
            return self._encode_sentences(states, features, read)
        assert vectors is not None
        owners = np.arange(len(states)) if owners is None else owners
        return self._encode_states(states, vectors, owners, looks_ahead=looks_ahead)

    def _encode_sentences(self, states: States, features: Sequence[Features], read: BoolArray | None) -> Encodings:
        given = sentence_input(
            features,
            states,
            graph=self.config.graph_input,
            n_labels=self.n_labels,
            labelled=self.config.labelled_relations,
        )
        x = self.encoder.words(self.tensor(given.tokens)) + self.tags(self.tensor(given.tags))
        if self.labels is not None:
            x = x + self.labels(self.tensor(given.labels))
        is_root = torch.zeros(len(x), 1, dtype=torch.bool, device=self.device)
        is_root[self.tensor(given.roots)] = True
        x = torch.where(is_root, self.root, x)
        layout, graph = Layout(self.tensor(given.lengths)), self._graph(given.graph)
        if read is None:
            x = self.encoder.encode(x, layout, graph=graph)
            return self._encodings(x, given.places, given.cls_places, len(given.tokens))
        wanted = given.places[read]
        x = self.encoder.encode(x, layout, graph=graph, wanted=self.tensor(wanted))
        places = np.zeros_like(given.places)
        places[read] = np.arange(len(wanted))
        return self._encodings(x, places, np.zeros_like(given.cls_places), len(given.tokens))

    def _encode_states(
        self, states: States, vectors: Tensor, owners: IntArray, *, looks_ahead: bool = False
    ) -> Encodings:
        given = self.state_input(states)
        n_sentences, width = vectors.shape[:2]
        special = self.encoder.words.weight[list(self.cls_sep)]
        table = torch.cat([vectors.flatten(0, 1), special])  # [S·m + 2, w]
        in_table = np.where(given.nodes == CLS, n_sentences * width, n_sentences * width + 1)
        in_table = np.where(given.nodes >= 0, owners[given.owners] * width + given.nodes, in_table)
        x = F.embedding(self.tensor(in_table), table)
        if self.labels is not None:
            x = x + self.labels(self.tensor(given.labels))
        read = self._read(states, given, looks_ahead=looks_ahead)
        x = self.encoder.encode(
            x,
            Layout(self.tensor(given.lengths)),
            positions=self.tensor(given.positions),
            segments=self.tensor(given.segments),
            graph=self._graph(given.graph),
            wanted=self.tensor(read),
        )
        in_read = np.zeros(len(given.nodes), dtype=np.int64)
        in_read[read] = np.arange(len(read))
        return self._encodings(x, in_read[given.places], in_read[given.cls_places], len(in_read))

    def state_input(self, states: States) -> StateInput:
        """The rows in which a state model reads these states."""
        return state_input(
            states,
            graph=self.config.graph_input,
            max_positions=self.config.encoder.max_positions,
            separate_positions=self.config.separate_positions,
            labelled=self.config.labelled_relations,
        )

    def _read(self, states: States, given: StateInput, *, looks_ahead: bool) -> IntArray:
        """Where the tokens stand whose vectors are read: CLS; s2, s1 and b1, or all of stack and buffer; with a tagger all."""
        if self.config.output == "cls":
            return given.cls_places
        if self.tagger is not None:
            return np.arange(len(given.nodes))
        if looks_ahead:
            live: IntArray = ((given.nodes >= 0) & (given.segments != DELETED)).nonzero()[0]
            return live
        focus = states.focus
        rows, slots = (focus != NO_NODE).nonzero()
        places: IntArray = given.places[rows, focus[rows, slots]]
        return places

    def _graph(self, entries: Entries | None) -> Graph | None:
        return None if entries is None else Graph(*(self.tensor(array) for array in entries))

    def _encodings(self, x: Tensor, places: IntArray, cls_places: IntArray, n_tokens: int) -> Encodings:
        """The output vectors with that of the empty slot behind them."""
        vectors = torch.cat([x, self.empty[None]])
        empty = np.full((len(places), 1), len(x))
        all_places = np.concatenate([places, empty], axis=1)
        return Encodings(vectors, self.tensor(all_places), self.tensor(cls_places), n_tokens)

    # ------------------------------------------------------------------ decide

    def project(self, encodings: Encodings) -> Encodings:
        """Apply the classifiers' first layers to every node once; worth it when each takes part in many decisions."""
        if self.config.output == "cls":
            return encodings
        n_states, width = encodings.places.shape
        nodes = F.embedding(encodings.places.flatten(), encodings.vectors)
        places = torch.arange(n_states * width, device=self.device).view(n_states, width)
        return Encodings(
            nodes,
            places,
            encodings.cls_places,
            exist=self.exist.project(nodes),
            relation=self.relation.project(nodes),
        )

    def action_scores(
        self, encodings: Encodings, rows: Tensor, focus: Tensor, legal: Tensor, past: Tensor | None = None
    ) -> Tensor:
        """Scores of the actions in D decisions, [D, 4]; minus infinity where an action is not legal.

        rows: the encoded state of each; focus: its s2, s1 and b1, [D, 3]; past: its history.
        """
        hidden = self._hidden(self.exist, encodings.exist, encodings, rows, focus, past)
        scores: Tensor = self.exist(hidden)
        return scores.masked_fill(~legal, -math.inf)

    def label_scores(
        self, encodings: Encodings, rows: Tensor, focus: Tensor, is_right: Tensor, past: Tensor | None = None
    ) -> Tensor:
        """Scores of the labels of D arcs, [D, L]: the root label for an arc from ROOT, and for no other."""
        hidden = self._hidden(self.relation, encodings.relation, encodings, rows, focus, past)
        scores: Tensor = self.relation(self.relation.directed(hidden, is_right))
        is_root_label = torch.arange(self.n_labels, device=scores.device) == self.root_label
        from_root = (focus[:, 0] == ROOT) & is_right
        return scores.masked_fill(from_root[:, None] != is_root_label, -math.inf)

    def _hidden(
        self,
        classifier: Classifier,
        projected: list[Tensor] | None,
        encodings: Encodings,
        rows: Tensor,
        focus: Tensor,
        past: Tensor | None,
    ) -> Tensor:
        """A classifier's first layer: looked up where it has been applied to all nodes, else applied to those in question."""
        if self.config.output == "cls":
            return classifier.hidden(
                classifier.project(F.embedding(encodings.cls_places[rows], encodings.vectors)), past
            )
        places = [encodings.places[rows, focus[:, slot]] for slot in range(len(classifier.slots))]
        if projected is not None:
            slots = [F.embedding(place, table) for place, table in zip(places, projected, strict=True)]
        else:
            vectors = (F.embedding(place, encodings.vectors) for place in places)
            slots = [slot(vector) for slot, vector in zip(classifier.slots, vectors, strict=True)]
        return classifier.hidden(slots, past)
