"""Where the tokens of a batch stand: packed one after another, spread out as rows, and split into heads.

Between the attentions a batch is packed: its real tokens one after another, so that no work is spent on padding. Inside the
attention it is spread out as rows of equal length.

Shapes: B rows of a batch, n positions of the longest row, N real tokens of all rows together, d width, h heads,
c = d / h width of a head, k relation types ("none" included), E related pairs of the graph.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class Graph:
    """A labelled graph over the positions of each row, as its entries r_ij ≠ 0; at most one for each pair."""

    rows: Tensor  # [E]
    queries: Tensor  # [E] i
    keys: Tensor  # [E] j
    relations: Tensor  # [E] r_ij, from 1 to k - 1

    @classmethod
    def from_dense(cls, relations: Tensor) -> "Graph":
        """The graph of a matrix of relation ids for each row, [B, n, n], 0 for none."""
        rows, queries, keys = relations.nonzero(as_tuple=True)
        return cls(rows, queries, keys, relations[rows, queries, keys])

    def among(self, rows: Tensor, n_rows: int) -> "Graph":
        """The part in some of the rows, which are counted anew."""
        number = torch.full((n_rows,), -1, device=rows.device).index_copy_(
            0, rows, torch.arange(len(rows), device=rows.device)
        )
        renumbered = number[self.rows]
        kept = (renumbered >= 0).nonzero().squeeze(1)
        return Graph(renumbered[kept], self.queries[kept], self.keys[kept], self.relations[kept])


class Layout:
    """Where N real tokens stand in B rows of n positions."""

    def __init__(self, lengths: Tensor, width: int | None = None) -> None:
        self.lengths = lengths  # [B]
        self.n_rows = len(lengths)
        self.width = int(lengths.max()) if width is None else width  # n
        columns = torch.arange(self.width, device=lengths.device)
        self.is_real = columns < lengths[:, None]  # [B, n]
        self.positions = self.is_real.flatten().nonzero().squeeze(1)  # [N] of each token, in B·n

    @property
    def starts(self) -> Tensor:
        """The first token of each row, [B]."""
        return self.lengths.cumsum(0) - self.lengths

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.positions)

    @property
    def columns(self) -> Tensor:
        """The column of each token, [N]."""
        return self.positions % self.width

    def pack(self, padded: Tensor) -> Tensor:
        """[B, n, …] -> [N, …]."""
        return padded.flatten(0, 1)[self.positions]  # [B·n, …] -> [N, …]

    def pad(self, packed: Tensor) -> Tensor:
        """[N, …] -> [B, n, …], zero at padding."""
        padded = packed.new_zeros(self.n_rows * self.width, *packed.shape[1:])  # [B·n, …]
        padded = padded.index_copy(0, self.positions, packed)
        return padded.view(self.n_rows, self.width, *packed.shape[1:])  # [B, n, …]


class HeadLayout:
    """Spreads packed tokens out as a row for each head, and packs them again; made once and used by every layer.

    It can be limited to some rows of the batch, and be wider than the longest of them.
    """

    def __init__(self, layout: Layout, n_heads: int, rows: Tensor | None = None, width: int | None = None) -> None:
        device = layout.positions.device
        lengths, starts = layout.lengths, layout.starts
        if rows is not None:
            lengths, starts = lengths[rows], starts[rows]
        n = self.width = layout.width if width is None else width
        n_rows, self.n_heads = len(lengths), n_heads
        columns, heads = torch.arange(n, device=device), torch.arange(n_heads, device=device)
        parts = torch.arange(3, device=device)  # query, key, value
        self.is_real = columns < lengths[:, None]  # [B, n]
        self.is_full = bool(self.is_real.all())
        # the token at each position; padding takes token 0, whose copy is masked
        tokens = torch.where(self.is_real, starts[:, None] + columns, 0)  # [B, n]
        positions = self.is_real.flatten().nonzero()  # [N, 1] in B·n
        self.tokens = tokens.flatten()[positions[:, 0]]  # [N] that are spread out
        tokens = tokens.view(n_rows, 1, n)  # [B, 1, n]
        in_qkv = (tokens * 3 + parts[:, None, None, None]) * n_heads + heads[:, None]  # [3, B, h, n]
        self._qkv_from = in_qkv.flatten()  # [3·B·h·n] in N·3·h
        positions = (positions // n * n_heads + heads) * n + positions % n  # [N, h] in B·h·n
        self._context_to = positions.flatten()  # [N·h] in B·h·n
        self._qkv_to = self._context_from = self._padding = None  # for gradients only
        if torch.is_grad_enabled():
            self._qkv_to = (
                positions[:, None] + parts[:, None] * (n_rows * n_heads * n)
            ).flatten()  # [N·3·h] in 3·B·h·n
            self._context_from = (tokens * n_heads + heads[:, None]).flatten()  # [B·h·n] in N·h
            is_padding = ~self.is_real.repeat_interleave(n_heads, dim=0)  # [B·h, n]
            self._padding = is_padding.flatten().nonzero().squeeze(1)  # [padding] in B·h·n

    def spread(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[N, 3·d] -> query, key and value, each [B·h, n, c]."""
        c = qkv.shape[1] // (3 * self.n_heads)
        spread = rearrange(qkv.view(-1, c), self._qkv_from, self._qkv_to)  # [N·3·h, c] -> [3·B·h·n, c]
        query, key, value = spread.view(3, -1, self.width, c)  # each [B·h, n, c]
        return query, key, value

    def pack(self, context: Tensor) -> Tensor:
        """[B·h, n, c] -> [N, d]."""
        c = context.shape[2]
        packed = rearrange(context.view(-1, c), self._context_to, self._context_from, self._padding)  # [N·h, c]
        return packed.view(-1, self.n_heads * c)  # [N, d]


class RelatedPairs(NamedTuple):
    """The pairs of positions that have a relation, once for each head."""

    in_scores: Tensor  # [E·h] of query and key, in [B·h, n, n]
    in_relations: Tensor  # [E·h] of query and relation, in [B·h, n, k]
    no_mass: Tensor  # [B·h·n·k] the mass of each relation if no two tokens are related: 1 for relation 0, the weight of W2[0]

    @classmethod
    def of(cls, graph: Graph, heads: HeadLayout, n_relations: int) -> "RelatedPairs":
        """The pairs of a graph with k relations."""
        head = torch.arange(heads.n_heads, device=graph.rows.device)
        no_mass = torch.zeros(heads.is_real.numel() * heads.n_heads, n_relations, device=head.device)
        no_mass[:, 0] = 1
        queries = (graph.rows[:, None] * heads.n_heads + head) * heads.width + graph.queries[:, None]  # [E, h] in B·h·n
        return cls(
            in_scores=(queries * heads.width + graph.keys[:, None]).flatten(),  # [E·h]
            in_relations=(queries * n_relations + graph.relations[:, None]).flatten(),  # [E·h]
            no_mass=no_mass.flatten(),
        )


class AttentionGroup(NamedTuple):
    """Rows whose attention is computed together."""

    heads: HeadLayout
    pairs: RelatedPairs | None
    bias: Tensor | None  # of the scores, [B·h, 1 or n, n]


# Two operations with a cheaper gradient than autograd's.


def rearrange(rows: Tensor, index: Tensor, inverse: Tensor | None, unused: Tensor | None = None) -> Tensor:
    """rows[index]. A row may be copied several times, but only its copy at inverse[i] is used; `unused` rows have none.

    So the gradient of a row is that of one copy: a look-up in place of a sum. Without `inverse` there is no gradient.
    """
    if inverse is None:
        return rows.index_select(0, index)
    out: Tensor = _Rearrange.apply(rows, index, inverse, unused)  # type: ignore[no-untyped-call]
    return out


def add_at(matrix: Tensor, positions: Tensor, values: Tensor) -> Tensor:
    """Add values at some positions of a flattened matrix, in place."""
    if not torch.is_grad_enabled():
        matrix.view(-1).index_add_(0, positions, values)
        return matrix
    out: Tensor = _AddAt.apply(matrix, positions, values)  # type: ignore[no-untyped-call]
    return out


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


class _AddAt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, positions: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(positions)
        ctx.mark_dirty(matrix)
        matrix.view(-1).index_add_(0, positions, values)
        return matrix

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        (positions,) = ctx.saved_tensors
        return gradient, None, gradient.flatten().index_select(0, positions)
