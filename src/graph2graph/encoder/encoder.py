"""A BERT-family encoder whose attention takes a graph (Eq. 4 and 5 of the paper).

Shapes: B rows of a batch, n positions of the longest row, N real tokens of all rows together, d width, h heads,
c = d / h width of a head, k types of relation, E entries of the graph, m width of the input embeddings.

Between the attentions the batch is packed: N real tokens one after another, no padding, so no work is wasted on it.
Only inside the attention is it spread out as rows of n.

The graph. Eq. 4 scores i against j by q_i·(k_j + W1[r_ij]) / √c, Eq. 5 sums a_ij (v_j + W2[r_ij]), where r_ij is the type
of the relation from i to j and type 0 is "none". Nothing of size n·n·c is ever built. Almost all pairs have no relation;
q_i·W1[0] is the same for all j and cancels in the softmax, and since Σ_j a_ij = 1 the pairs without relation contribute
W2[0] as a constant. So, writing D[r] = W[r] - W[0], what is left is sparse: q_i·D1[r_ij] is added to the score of each pair
that has a relation, and the value term is W2[0] + Σ_r mass_i[r]·D2[r], mass_i[r] being the attention that i pays along
relations of type r.

    >>> import torch
    >>> # A road map, not a parse: 4 towns, roads of two kinds (1 motorway, 2 ferry) between some of them.
    >>> config = EncoderConfig(vocab_size=10, width=24, layers=2, heads=2, inner_width=48, relations=3)
    >>> encoder = GraphEncoder(config).eval()
    >>> towns = torch.tensor([[5, 6, 7, 8]])
    >>> roads = torch.tensor([[[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]]])
    >>> encoder(towns, graph=roads).shape
    torch.Size([1, 4, 24])
    >>> arcs = Graph.from_dense(roads)  # or, without ever building n × n: Graph(rows, queries, keys, relations)
    >>> torch.equal(encoder(towns, graph=arcs), encoder(towns, graph=roads))
    True
    >>> torch.equal(encoder(towns, graph=arcs), encoder(towns))  # without roads the towns look different
    False
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from graph2graph.config import EncoderConfig
from graph2graph.encoder.dropout import Dropout

__all__ = ["EncoderConfig", "Graph", "GraphEncoder", "Layout", "attention_seen"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


_seen: ContextVar[list[Tensor] | None] = ContextVar("attention seen", default=None)


@contextmanager
def attention_seen() -> Iterator[list[Tensor]]:
    """A list to which every encoding made meanwhile adds the attention of its layers, [B·h, n, n] each, in their order.

    Only what is encoded in this thread counts: others may use the same encoder at the same time.
    """
    seen: list[Tensor] = []
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


@dataclass(frozen=True)
class Graph:
    """A labelled graph over the positions of each row, as its entries r_ij ≠ 0; at most one for each pair."""

    rows: Tensor  # [E]
    queries: Tensor  # [E] i
    keys: Tensor  # [E] j
    relations: Tensor  # [E] r_ij, from 1 to k - 1

    @classmethod
    def from_dense(cls, relations: Tensor) -> "Graph":
        """From a matrix of relation ids for each row, [B, n, n], 0 for none."""
        rows, queries, keys = relations.nonzero(as_tuple=True)
        return cls(rows, queries, keys, relations[rows, queries, keys])


class Layout:
    """Where the N real tokens of B rows stand when the rows are spread out to n positions each."""

    def __init__(self, lengths: Tensor, width: int | None = None) -> None:
        self.lengths = lengths  # [B]
        self.n_rows = len(lengths)
        self.width = int(lengths.max()) if width is None else width
        columns = torch.arange(self.width, device=lengths.device)
        self.is_real = columns < lengths[:, None]  # [B, n]
        self.places = self.is_real.flatten().nonzero().squeeze(1)  # [N] in B·n
        self.starts = lengths.cumsum(0) - lengths  # [B] first token of each row, in N

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.places)

    @property
    def columns(self) -> Tensor:
        """The column of each token, [N]."""
        return self.places % self.width

    def pack(self, padded: Tensor) -> Tensor:
        """[B, n, …] -> [N, …]."""
        return padded.flatten(0, 1)[self.places]

    def pad(self, packed: Tensor) -> Tensor:
        """[N, …] -> [B, n, …], zero where there is no token."""
        padded = packed.new_zeros(self.n_rows * self.width, *packed.shape[1:])
        padded = padded.index_copy(0, self.places, packed)
        return padded.view(self.n_rows, self.width, *packed.shape[1:])


class _Rearrange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, index: Tensor, inverse: Tensor, unused: Tensor | None) -> Tensor:
        ctx.save_for_backward(inverse, unused)
        return rows.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        inverse, unused = ctx.saved_tensors
        gradient = gradient.index_select(0, inverse)
        return gradient if unused is None else gradient.index_fill_(0, unused, 0), None, None, None


def _rearrange(rows: Tensor, index: Tensor, inverse: Tensor, unused: Tensor | None = None) -> Tensor:
    """Rows of a matrix put elsewhere: rows[index].

    Each row goes to one place that matters, `inverse`, so its gradient is a second look-up and not a sum. The rows named
    as unused go nowhere and have no gradient.
    """
    out: Tensor = _Rearrange.apply(rows, index, inverse, unused)  # type: ignore[no-untyped-call]
    return out


class _AddAt(torch.autograd.Function):
    """Add values at some places of a matrix, in place; left to itself, autograd would copy all of its gradient twice."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, places: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.mark_dirty(matrix)
        matrix.view(-1).index_add_(0, places, values)
        return matrix

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        (places,) = ctx.saved_tensors
        return gradient, None, gradient.flatten().index_select(0, places)


def _add_at(matrix: Tensor, places: Tensor, values: Tensor) -> Tensor:
    out: Tensor = _AddAt.apply(matrix, places, values)  # type: ignore[no-untyped-call]
    return out


class _Pairs(NamedTuple):
    """The pairs of positions that have a relation, once for each head: [E·h] each."""

    in_scores: Tensor  # where they stand in [B·h, n, n]
    in_relations: Tensor  # where query and type of relation stand in [B·h, n, k]


class _Plan:
    """What the attention of every layer needs to know of a batch: index tensors, computed once."""

    def __init__(self, layout: Layout, n_heads: int, graph: Graph | None, n_relations: int) -> None:
        n_rows, width, device = layout.n_rows, layout.width, layout.places.device
        self.width = width
        self.seen = _seen.get()  # where the attention is wanted, if it is
        heads, parts = torch.arange(n_heads, device=device), torch.arange(3, device=device)  # parts: query, key, value
        # which token stands at each position, [B, 1, n]; padding takes the first of all, and nothing looks at it there
        tokens = torch.zeros(n_rows * width, dtype=torch.long, device=device)
        tokens[layout.places] = torch.arange(layout.n_tokens, device=device)
        tokens = tokens.view(n_rows, 1, width)
        rows, columns = layout.places[:, None] // width, layout.places[:, None] % width  # [N, 1]
        in_qkv = (tokens * 3 + parts[:, None, None, None]) * n_heads + heads[:, None]  # [3, B, h, n]
        self.spread = in_qkv.flatten()  # [3·B·h·n] in N·3·h
        self.spread_context = (tokens * n_heads + heads[:, None]).flatten()  # [B·h·n] in N·h
        packed = (rows * n_heads + heads) * width + columns  # [N, h] in B·h·n
        self.packed = (packed[:, None] + parts[:, None] * (n_rows * n_heads * width)).flatten()  # [N·3·h] in 3·B·h·n
        self.packed_context = packed.flatten()
        is_padding = ~layout.is_real.repeat_interleave(n_heads, dim=0)  # [B·h, n]
        self.padding = is_padding.flatten().nonzero().squeeze(1)  # in B·h·n
        self.pairs = None
        if graph is not None:
            queries = (graph.rows[:, None] * n_heads + heads) * width + graph.queries[:, None]  # [E, h] in B·h·n
            self.pairs = _Pairs(
                in_scores=(queries * width + graph.keys[:, None]).flatten(),
                in_relations=(queries * n_relations + graph.relations[:, None]).flatten(),
            )


class GraphAttention(nn.Module):
    """Multi-head self-attention with relation embeddings on the keys and the values, shared by the heads."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_heads, self.head_width = config.heads, config.width // config.heads
        self.scale = 1 / math.sqrt(self.head_width)
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.dropout = Dropout(config.attention_dropout)
        if config.relations:
            self.relation_keys = nn.Parameter(torch.zeros(config.relations, self.head_width))  # W1
            self.relation_values = nn.Parameter(torch.zeros(config.relations, self.head_width))  # W2

    def forward(self, x: Tensor, plan: _Plan, bias: Tensor | None, wanted: Tensor | None = None) -> Tensor:
        """[N, d] -> [N, d], or [W, d] of the wanted tokens; the bias is added to the scores, [B·h, 1 or n, n]."""
        c = self.head_width
        qkv = _rearrange(self.qkv(x).view(-1, c), plan.spread, plan.packed)  # [N·3·h, c] -> [3·B·h·n, c]
        query, key, value = qkv.view(3, -1, plan.width, c)  # each [B·h, n, c]
        query = query * self.scale
        scores = torch.bmm(query, key.transpose(1, 2))  # [B·h, n, n]
        if plan.pairs is not None:
            scores = self._relate_keys(scores, query, plan.pairs)
        if bias is not None:
            scores += bias
        attention = scores.softmax(-1)  # [B·h, n, n]
        if plan.seen is not None:
            plan.seen.append(attention)
        context = torch.bmm(self.dropout(attention), value)  # [B·h, n, c]
        if plan.pairs is not None:
            context += self._related_values(attention, plan.pairs)
        context = _rearrange(context.view(-1, c), plan.packed_context, plan.spread_context, plan.padding)  # [N·h, c]
        out: Tensor = self.output(_chosen(context.view(-1, self.n_heads * c), wanted))
        return out

    def _relate_keys(self, scores: Tensor, query: Tensor, pairs: _Pairs) -> Tensor:
        """Add q_i·D1[r_ij] to the scores of the pairs that have a relation."""
        by_relation = query @ (self.relation_keys - self.relation_keys[:1]).T  # [B·h, n, k]
        of_pairs = by_relation.flatten().index_select(0, pairs.in_relations)  # [E·h]
        return _add_at(scores, pairs.in_scores, of_pairs)

    def _related_values(self, attention: Tensor, pairs: _Pairs) -> Tensor:
        """W2[0] + Σ_r mass_i[r]·D2[r] for each position i, [B·h, n, c]; of the whole attention, before dropout."""
        none, n_relations = self.relation_values[:1], len(self.relation_values)
        mass = attention.new_zeros(*attention.shape[:2], n_relations)  # [B·h, n, k]
        mass[..., 0] = 1
        of_pairs = attention.flatten().index_select(0, pairs.in_scores)  # [E·h]
        mass = mass.flatten().index_add(0, pairs.in_relations, of_pairs).view(mass.shape)
        return mass @ torch.cat([none, self.relation_values[1:] - none])


def _chosen(rows: Tensor, wanted: Tensor | None) -> Tensor:
    return rows if wanted is None else rows.index_select(0, wanted)


class Layer(nn.Module):
    """Attention and feed-forward, each with a residual and LayerNorm after it."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = GraphAttention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.inner = nn.Linear(config.width, config.inner_width)
        self.outer = nn.Linear(config.inner_width, config.width)
        self.outer_norm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, plan: _Plan, bias: Tensor | None, wanted: Tensor | None = None) -> Tensor:
        """[N, d] -> [N, d], or [W, d] of the wanted tokens."""
        x = self.attention_norm(_chosen(x, wanted) + self.dropout(self.attention(x, plan, bias, wanted)))
        out: Tensor = self.outer_norm(x + self.dropout(self.outer(self.activation(self.inner(x)))))
        return out


class GraphEncoder(nn.Module):
    """The encoder: embeddings of words, positions and segments, then layers that see the graph."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
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
                nn.init.normal_(parameter, std=config.relation_std)

    def forward(
        self,
        tokens: Tensor,
        *,
        lengths: Tensor | None = None,
        segments: Tensor | None = None,
        graph: Tensor | Graph | None = None,
    ) -> Tensor:
        """Encode rows of token ids, [B, n] -> [B, n, d]; what stands past a row's length is not looked at.

        The graph is a matrix of relation ids [B, n, n] or a `Graph`; without one, no two tokens are related.
        """
        if lengths is None:
            lengths = torch.full(tokens.shape[:1], tokens.shape[1], device=tokens.device)
        if int(lengths.max()) > self.config.max_positions:
            raise ValueError(
                f"rows of {int(lengths.max())} tokens: the encoder has {self.config.max_positions} positions"
            )
        if isinstance(graph, Tensor):
            graph = Graph.from_dense(graph)
        if graph is not None and bool((graph.relations >= self.config.relations).any()):
            raise ValueError(f"a relation id of {int(graph.relations.max())}: the encoder has {self.config.relations}")
        layout = Layout(lengths, tokens.shape[1])
        flat_segments = None if segments is None else layout.pack(segments)
        vectors = self.words(layout.pack(tokens))
        return layout.pad(self.encode(vectors, layout, segments=flat_segments, graph=graph))

    def encode(
        self,
        vectors: Tensor,
        layout: Layout,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        graph: Graph | None = None,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """Encode packed input vectors, [N, m] -> [N, d]; segment and position are added here.

        Where only some tokens are wanted, [W] of N, the last layer looks at all but works on these alone: -> [W, d].
        """
        x: Tensor = vectors + self.positions(layout.columns if positions is None else positions)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        x = self.widen(self.dropout(self.norm(x)))
        if self.config.relations and graph is None:
            nothing = torch.zeros(0, dtype=torch.long, device=x.device)
            graph = Graph(nothing, nothing, nothing, nothing)
        plan = _Plan(layout, self.config.heads, graph if self.config.relations else None, self.config.relations)
        bias = self._bias(layout)
        for number, layer in enumerate(self.layers, start=1):
            x = layer(x, plan, bias, wanted if number == len(self.layers) else None)
        return x

    def _bias(self, layout: Layout) -> Tensor | None:
        """What is added to the scores whatever the tokens are: -∞ for padding, and MPNet's value of a distance."""
        bias: Tensor | None = None
        if layout.n_tokens < layout.n_rows * layout.width:
            hidden = ~layout.is_real.repeat_interleave(self.config.heads, dim=0)[:, None]  # [B·h, 1, n]
            bias = torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, -math.inf)
        if self.position_bias is not None:
            offsets = torch.arange(layout.width, device=layout.places.device)
            buckets = position_bucket(offsets - offsets[:, None], self.config.position_buckets)  # [n, n]
            of_distance = self.position_bias(buckets).permute(2, 0, 1).repeat(layout.n_rows, 1, 1)  # [B·h, n, n]
            bias = of_distance if bias is None else of_distance + bias
        return bias


def position_bucket(distance: Tensor, n_buckets: int, furthest: int = 128) -> Tensor:
    """The bucket of a signed distance: half for each side, exact when near, logarithmic up to `furthest` (T5, MPNet)."""
    per_side = n_buckets // 2
    exact = per_side // 2
    size = distance.abs()
    far = torch.log(size.clamp(min=1).float() / exact) / math.log(furthest / exact) * (per_side - exact)
    bucket = torch.where(size < exact, size, (exact + far.long()).clamp(max=per_side - 1))
    return bucket + (distance > 0) * per_side


def _start(module: nn.Module) -> None:
    """BERT's own starting values."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
