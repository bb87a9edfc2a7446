"""The parser model: encoder, inputs, composition, history and classifiers, as the config combines them.

It does two things. `encode_sentences` and `encode_states` compute vectors for the words of parser states; `action_scores` and
`label_scores` score decisions from the vectors of s2, s1 and b1. Decoding alternates between the two; training does each once
for all states of a batch.

Shapes: B states, m nodes of the longest sentence, S sentences, N tokens, V vectors, D decisions, L labels, d width of the
encoder, w width of the input embeddings.
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
from graph2graph.models import inputs
from graph2graph.models.classifiers import Classifier, Exist, Relation
from graph2graph.models.composition import Composition
from graph2graph.models.features import Features
from graph2graph.models.history import History
from graph2graph.models.rows import DELETED, SentenceRows, StateRows, sentence_rows, state_rows
from graph2graph.transition.state import NO_NODE, ROOT
from graph2graph.transition.states import States

N_STATE_SEGMENTS = 3


@dataclass
class Encodings:
    """The output vectors of encoded states, and which of them represents each node."""

    vectors: Tensor  # [V, d] the last one is that of an empty slot
    node_index: Tensor  # [B, m + 1] in V; the last column is the empty slot, so that NO_NODE, -1, finds it
    cls_index: Tensor  # [B] in V
    n_tokens: int = 0  # that were encoded, whether read or not
    exist: list[Tensor] | None = None  # [V, hidden] for each slot, if the classifiers' first layers have been applied
    relation: list[Tensor] | None = None


def encoder_config(model: ModelConfig, base: EncoderConfig, n_labels: int) -> EncoderConfig:
    """The encoder that a model needs: the base, with relations for its graph and segments for its states."""
    k = inputs.n_relations(n_labels, labelled=model.labelled_relations) if model.graph_input else 0
    segments = max(base.n_segments, N_STATE_SEGMENTS) if model.input == "state" else base.n_segments
    return base.model_copy(update={"relations": k, "n_segments": segments})


def _table(n_rows: int, width: int) -> nn.Embedding:
    """An embedding table whose row 0 is zero and stays so."""
    table = nn.Embedding(n_rows, width, padding_idx=0)
    nn.init.normal_(table.weight[1:], std=0.02)
    return table


class ParserModel(nn.Module):
    """Any parser of the paper; `config.encoder` must come from `encoder_config`."""

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
        d, w = config.encoder.width, config.encoder.input_width
        self.root = nn.Parameter(torch.randn(w) * 0.02)
        self.tags = _table(n_tags + 1, w)  # 0: no tag
        self.empty = nn.Parameter(torch.zeros(d))  # an empty slot of the focus
        self.labels = _table(n_labels + 2, w) if config.graph_input else None  # none, labels, further pieces
        self.composition = self.history = None
        if config.composition:
            hidden = config.composition_hidden or w
            self.composition = Composition(w, hidden, n_labels, skip=config.composition_skip)
        history = (config.history_width or d) if config.history else 0
        if config.history:
            self.history = History(history, config.history_layers, n_labels)
        cls, dropout = config.output == "cls", config.classifier_dropout
        # the tagger predicts the tag of a word from its vector, or those of s2, s1 and b1 from CLS
        self.tagger = nn.Linear(d, (3 if cls else 1) * (n_tags + 1)) if config.tagger else None
        self.exist = Exist(d, history, hidden=config.exist_hidden, dropout=dropout, cls=cls)
        self.relation = Relation(d, history, hidden=config.relation_hidden, n_labels=n_labels, dropout=dropout, cls=cls)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.root.device

    def start_root(self, mask_piece: int) -> None:
        """Initialise ROOT with the vector of the mask piece."""
        with torch.no_grad():
            self.root.copy_(self.encoder.words.weight[mask_piece])

    def tensor(self, array: IntArray | BoolArray) -> Tensor:
        """An index array on the model's device."""
        return torch.from_numpy(array).to(self.device)

    @property
    def input_tables(self) -> inputs.InputTables:
        """The parameters of the input embeddings."""
        return inputs.InputTables(self.encoder, self.tags, self.labels, self.root, self.cls_sep)

    def node_vectors(self, features: Sequence[Features]) -> Tensor:
        """The token embeddings of all nodes (Eq. 6), [S, m, w]: what a state model reads until composition changes them."""
        return inputs.node_embeddings(self.input_tables, features)

    def encode_sentences(
        self, states: States, features: Sequence[Features], read: BoolArray | None = None
    ) -> Encodings:
        """Encode sentences with the partial trees of these states, one sentence for each state.

        The result has the vectors of all nodes, or of those to be read, [B, m].
        """
        config, rows = self.config, sentence_rows(features, states.heads.shape[1])
        graph = None
        if config.graph_input:
            graph = inputs.sentence_graph(states, rows, n_labels=self.n_labels, labelled=config.labelled_relations)
        x = inputs.sentence_input_embeddings(self.input_tables, rows, graph)
        return self._encode(x, rows, graph, None if read is None else rows.node_tokens[read])

    def encode_states(self, states: States, nodes: Tensor, owners: IntArray, *, looks_ahead: bool = False) -> Encodings:
        """Encode parser states, whose sentences have these node vectors, [S, m, w]; state i belongs to sentence owners[i].

        The result has the vectors of the focus; if it looks ahead, of all words on the stack and in the buffer.
        """
        rows, graph = state_rows(states, self.config), None
        if self.config.graph_input:
            graph = inputs.state_graph(states, rows, labelled=self.config.labelled_relations)
        x = inputs.state_input_embeddings(self.input_tables, nodes, owners, rows, graph)
        return self._encode(x, rows, graph, self._tokens_read(states, rows, looks_ahead=looks_ahead))

    def _tokens_read(self, states: States, rows: StateRows, *, looks_ahead: bool) -> IntArray:
        """The tokens whose vectors are read: CLS; or the focus, or all of stack and buffer; with a tagger all."""
        if self.config.output == "cls":
            return rows.cls_tokens
        if self.tagger is not None:
            return np.arange(len(rows.nodes))
        if looks_ahead:
            live: IntArray = ((rows.nodes >= 0) & (rows.segments != DELETED)).nonzero()[0]
            return live
        focus = states.focus
        row, slot = (focus != NO_NODE).nonzero()
        tokens: IntArray = rows.node_tokens[row, focus[row, slot]]
        return tokens

    def _encode(
        self, x: Tensor, rows: SentenceRows | StateRows, graph: inputs.GraphInput | None, wanted: IntArray | None
    ) -> Encodings:
        """Encode input embeddings, [N, w]; with `wanted`, only the output vectors of these tokens are computed."""
        layout = Layout(self.tensor(rows.lengths))
        relations = None if graph is None else Graph(*map(self.tensor, graph.related))
        index = np.arange(len(x))  # of each token in the output
        if wanted is not None:
            index[:] = 0
            index[wanted] = np.arange(len(wanted))
        chosen = None if wanted is None else self.tensor(wanted)
        vectors = self.encoder.encode(x, layout, graph=relations, wanted=chosen)  # [V, d]
        empty = np.full((len(rows.node_tokens), 1), len(vectors))
        node_index = np.concatenate([index[rows.node_tokens], empty], axis=1)  # [B, m + 1]
        vectors = torch.cat([vectors, self.empty[None]])  # [V + 1, d]
        return Encodings(vectors, self.tensor(node_index), self.tensor(index[rows.cls_tokens]), len(x))

    def project(self, encodings: Encodings) -> Encodings:
        """Encodings with the classifiers' first layers applied to every node: cheaper if many decisions read each node."""
        if self.config.output == "cls":
            return encodings
        n_states, width = encodings.node_index.shape
        nodes = F.embedding(encodings.node_index.flatten(), encodings.vectors)  # [B·(m + 1), d]
        node_index = torch.arange(n_states * width, device=self.device).view(n_states, width)  # [B, m + 1]
        exist, relation = self.exist.project(nodes), self.relation.project(nodes)
        return Encodings(nodes, node_index, encodings.cls_index, exist=exist, relation=relation)

    def action_scores(
        self, encodings: Encodings, rows: Tensor, focus: Tensor, legal: Tensor, past: Tensor | None = None
    ) -> Tensor:
        """The scores of the actions in D decisions, [D, 4]; -∞ for an illegal action.

        rows: [D] the encoded state of each; focus: [D, 3] s2, s1 and b1; legal: [D, 4]; past: [D, …] the history.
        """
        slots = self._slots(self.exist, encodings.exist, encodings, rows, focus)
        scores: Tensor = self.exist(self.exist.hidden(slots, past))
        return scores.masked_fill(~legal, -math.inf)

    def label_scores(
        self, encodings: Encodings, rows: Tensor, focus: Tensor, is_right: Tensor, past: Tensor | None = None
    ) -> Tensor:
        """The scores of the labels of D arcs, [D, L]; an arc from ROOT must have the root label, and no other arc may."""
        slots = self._slots(self.relation, encodings.relation, encodings, rows, focus)
        scores: Tensor = self.relation(self.relation.directed(self.relation.hidden(slots, past), is_right))
        is_root_label = torch.arange(self.n_labels, device=scores.device) == self.root_label
        from_root = (focus[:, 0] == ROOT) & is_right
        return scores.masked_fill(from_root[:, None] != is_root_label, -math.inf)

    def _slots(
        self, classifier: Classifier, projected: list[Tensor] | None, encodings: Encodings, rows: Tensor, focus: Tensor
    ) -> list[Tensor]:
        """The projected vector of each slot of D decisions, [D, hidden]: looked up if all nodes have been projected."""
        if self.config.output == "cls":
            return classifier.project(F.embedding(encodings.cls_index[rows], encodings.vectors))
        index = encodings.node_index[rows[:, None], focus[:, : len(classifier.slots)]].unbind(1)  # [D] for each slot
        if projected is not None:
            return [F.embedding(at, table) for at, table in zip(index, projected, strict=True)]
        vectors = [F.embedding(at, encodings.vectors) for at in index]
        return [slot(vector) for slot, vector in zip(classifier.slots, vectors, strict=True)]
