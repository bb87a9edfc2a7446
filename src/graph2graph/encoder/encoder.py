"""A BERT-family encoder whose attention takes a graph: embeddings, then layers of `GraphAttention` and feed-forward.

Shapes: B rows of a batch, n positions of the longest row, N real tokens of all rows together, W wanted ones, d width, h heads,
m width of the input embeddings.

    >>> import torch
    >>> # Any graph will do. Here the tokens are 4 towns, with roads of two kinds (1 motorway, 2 ferry) between some of them.
    >>> config = EncoderConfig(vocab_size=10, width=24, layers=2, heads=2, inner_width=48, relations=3)
    >>> encoder = GraphEncoder(config).eval()
    >>> towns = torch.tensor([[5, 6, 7, 8]])
    >>> roads = torch.tensor([[[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]]])
    >>> encoder(towns, graph=roads).shape
    torch.Size([1, 4, 24])
    >>> arcs = Graph.from_dense(roads)  # or, without ever building n × n: Graph(rows, queries, keys, relations)
    >>> torch.equal(encoder(towns, graph=arcs), encoder(towns, graph=roads))
    True
    >>> torch.equal(encoder(towns, graph=arcs), encoder(towns))  # without roads the vectors differ
    False
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.config import EncoderConfig
from graph2graph.encoder.dropout import Dropout
from graph2graph.encoder.graph_attention import GraphAttention
from graph2graph.encoder.layout import AttentionGroup, Graph, HeadLayout, Layout, RelatedPairs

WIDTH_STEP = 16  # the width of a row's attention, with fixed shapes, is a multiple of this
START_STD = 0.02  # of the initial values of all tables and matrices, as in BERT
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


class Layer(nn.Module):
    """Attention and feed-forward, each followed by a residual connection and LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = GraphAttention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.inner = nn.Linear(config.width, config.inner_width)
        self.outer = nn.Linear(config.inner_width, config.width)
        self.outer_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, groups: Sequence[AttentionGroup], wanted: Tensor | None) -> Tensor:
        """[N, d] -> [N, d], or [W, d] of the wanted tokens."""
        attended = self.attention(x, groups, wanted)
        x = x if wanted is None else x.index_select(0, wanted)
        x = self.attention_norm(x + self.dropout(attended))
        out: Tensor = self.outer_norm(x + self.dropout(self.outer(self.activation(self.inner(x)))))
        return out


class GraphEncoder(nn.Module):
    """Embeddings of words, positions and segments, then layers that take the graph."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.has_fixed_shapes = (
            False  # set for parsing: then a row's vectors do not depend on its batch (see precision.py)
        )
        self.words = nn.Embedding(config.vocab_size, config.input_width)
        self.positions = nn.Embedding(config.max_positions, config.input_width)
        self.segments = nn.Embedding(config.n_segments, config.input_width) if config.n_segments else None
        self.norm = nn.LayerNorm(config.input_width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)
        widen = config.input_width != config.width
        self.widen = nn.Linear(config.input_width, config.width) if widen else nn.Identity()
        self.position_bias = nn.Embedding(config.position_buckets, config.heads) if config.position_buckets else None
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.apply(_start)
        for name, parameter in self.named_parameters():
            if ".relation_" in name:
                nn.init.normal_(parameter, std=START_STD)

    def forward(
        self,
        tokens: Tensor,
        *,
        lengths: Tensor | None = None,
        segments: Tensor | None = None,
        graph: Tensor | Graph | None = None,
    ) -> Tensor:
        """Encode rows of token ids, [B, n] -> [B, n, d]; what is past the length of a row is ignored.

        The graph is a `Graph` or a matrix of relation ids, [B, n, n]; without one, no two tokens are related.
        """
        if lengths is None:
            lengths = torch.full(tokens.shape[:1], tokens.shape[1], device=tokens.device)
        if (longest := int(lengths.max())) > self.config.max_positions:
            raise ValueError(f"a row of {longest} tokens: the encoder has {self.config.max_positions} positions")
        if isinstance(graph, Tensor):
            graph = Graph.from_dense(graph)
        if graph is not None and bool((graph.relations >= self.config.relations).any()):
            raise ValueError(f"a relation id of {int(graph.relations.max())}: the encoder has {self.config.relations}")
        layout = Layout(lengths, tokens.shape[1])
        packed_segments = None if segments is None else layout.pack(segments)
        x = self.embed(self.words(layout.pack(tokens)), layout.columns, packed_segments)
        return layout.pad(self.encode(x, layout, graph=graph))

    def embed(self, vectors: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
        """Token vectors plus position and segment embeddings, [N, m]; without segments, all tokens are in the first."""
        x: Tensor = vectors + self.positions(positions)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        return x

    def encode(self, x: Tensor, layout: Layout, *, graph: Graph | None = None, wanted: Tensor | None = None) -> Tensor:
        """Encode packed input embeddings, [N, m] -> [N, d].

        With `wanted`, [W] of the N tokens, the last layer attends to all of them but computes only these, -> [W, d].
        """
        x = self.widen(self.dropout(self.norm(x)))  # [N, d]
        graph = graph or Graph(*torch.zeros(4, 0, dtype=torch.long, device=x.device))  # without relations
        groups = self._groups(layout, graph)
        for number, layer in enumerate(self.layers, start=1):
            x = layer(x, groups, wanted if number == len(self.layers) else None)
        return x

    def _groups(self, layout: Layout, graph: Graph) -> list[AttentionGroup]:
        """The rows, in groups whose attention is computed together: all, or with fixed shapes those of like length."""
        if not self.has_fixed_shapes:
            return [self._group(HeadLayout(layout, self.config.heads), graph)]
        groups = []
        widths = -(-layout.lengths // WIDTH_STEP) * WIDTH_STEP  # [B]
        for width in sorted(set(widths.tolist())):
            rows = (widths == width).nonzero().squeeze(1)
            is_all = len(rows) == layout.n_rows
            part = graph if is_all else graph.among(rows, layout.n_rows)
            groups.append(self._group(HeadLayout(layout, self.config.heads, None if is_all else rows, width), part))
        return groups

    def _group(self, heads: HeadLayout, graph: Graph) -> AttentionGroup:
        relations = self.config.relations
        pairs = RelatedPairs.of(graph, heads, relations) if relations else None
        return AttentionGroup(heads, pairs, self._bias(heads))

    def _bias(self, heads: HeadLayout) -> Tensor | None:
        """The bias of the scores, [B·h, 1 or n, n]: -∞ at padding, plus MPNet's bias by distance; None if there is neither."""
        bias: Tensor | None = None
        if not heads.is_full:
            hidden = ~heads.is_real.repeat_interleave(self.config.heads, dim=0)[:, None]  # [B·h, 1, n]
            bias = torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, -math.inf)
        if self.position_bias is not None:
            offsets = torch.arange(heads.width, device=heads.is_real.device)
            buckets = position_bucket(offsets - offsets[:, None], self.config.position_buckets)  # [n, n]
            of_distance = self.position_bias(buckets).permute(2, 0, 1).repeat(len(heads.is_real), 1, 1)  # [B·h, n, n]
            bias = of_distance if bias is None else of_distance + bias
        return bias


def position_bucket(distance: Tensor, n_buckets: int, furthest: int = 128) -> Tensor:
    """The bucket of a signed distance, as in T5 and MPNet: half for each sign, exact when near, then logarithmic."""
    per_side = n_buckets // 2
    exact = per_side // 2
    size = distance.abs()
    far = torch.log(size.clamp(min=1).float() / exact) / math.log(furthest / exact) * (per_side - exact)
    bucket = torch.where(size < exact, size, (exact + far.long()).clamp(max=per_side - 1))
    return bucket + (distance > 0) * per_side


def _start(module: nn.Module) -> None:
    """Initialise as BERT does."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=START_STD)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=START_STD)
