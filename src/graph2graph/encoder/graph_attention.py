"""Self-attention that takes a graph as input: Eq. 1 to 4.

    Eq. 1   z_i = Σ_j α_ij v_j,  with α_ij = softmax_j(e_ij)
    Eq. 2   e_ij = q_i · k_j / √c
    Eq. 3   e_ij = q_i · (k_j + W1[r_ij]) / √c     Eq. 2 with a graph
    Eq. 4   z_i = Σ_j α_ij (v_j + W2[r_ij])        Eq. 1 with a graph

r_ij is the type of the relation from i to j, 0 if there is none. Word for word, Eq. 3 and 4 need tensors of size n·n·c. Here
nothing that large is built, because almost all pairs have no relation:

- q_i · W1[0] is the same for all j, so it cancels in the softmax. What is left of Eq. 3 is to add q_i · D1[r_ij] / √c to the
  scores of the related pairs, with D1[r] = W1[r] - W1[0].
- Let mass_i[r] be the sum of α_ij over the tokens j with r_ij = r, and D2[r] = W2[r] - W2[0]. The α_ij of a query sum to 1, so
  Eq. 4 is Σ_j α_ij v_j + W2[0] + Σ_r mass_i[r] · D2[r].

Shapes: B rows of a batch, n positions of the longest row, N real tokens of all rows together, d width, h heads,
c = d / h width of a head (the paper's d), k relation types ("none" included), E related pairs of the graph.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from graph2graph.config import EncoderConfig
from graph2graph.encoder.dropout import Dropout
from graph2graph.encoder.layout import AttentionGroup, HeadLayout, RelatedPairs, add_at


class GraphAttention(nn.Module):
    """Multi-head self-attention; the heads share the relation embeddings W1 and W2."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_heads, self.head_width = config.heads, config.width // config.heads
        self.scale = 1 / math.sqrt(self.head_width)
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.dropout = Dropout(config.attention_dropout)
        if config.relations:
            self.relation_keys = nn.Parameter(torch.zeros(config.relations, self.head_width))  # W1, [k, c]
            self.relation_values = nn.Parameter(torch.zeros(config.relations, self.head_width))  # W2, [k, c]
        self.fixed: tuple[Tensor, Tensor] | None = None  # what `differences` returns, if the model will not be trained

    def differences(self) -> tuple[Tensor, Tensor]:
        """D1, and D2 with W2[0] in place of its first row, which is zero; [k, c] each."""
        keys, values, none = self.relation_keys, self.relation_values, self.relation_values[:1]
        return keys - keys[:1], torch.cat([none, values[1:] - none])

    def forward(self, x: Tensor, groups: Sequence[AttentionGroup], wanted: Tensor | None) -> Tensor:
        """[N, d] -> [N, d], or [W, d] of the wanted tokens; each token is in one group."""
        qkv = self.qkv(x)  # [N, 3·d]
        if len(groups) == 1:
            packed = self._attend(qkv, *groups[0])  # [N, d]
        else:
            packed = torch.empty_like(x)
            for group in groups:
                packed.index_copy_(0, group.heads.tokens, self._attend(qkv, *group))
        out: Tensor = self.output(packed if wanted is None else packed.index_select(0, wanted))
        return out

    def _attend(self, qkv: Tensor, heads: HeadLayout, pairs: RelatedPairs | None, bias: Tensor | None) -> Tensor:
        """Eq. 1 to 4 in the rows of a group, [N, d] of its tokens; the bias of the scores is [B·h, 1 or n, n]."""
        query, key, value = heads.spread(qkv)  # each [B·h, n, c]
        query = query * self.scale
        scores = torch.bmm(query, key.transpose(1, 2))  # Eq. 2, [B·h, n, n]
        if pairs is not None:
            key_differences, value_differences = self.fixed or self.differences()
            by_relation = query @ key_differences.T  # q_i · D1[r] / √c, [B·h, n, k]
            scores = add_at(scores, pairs.in_scores, by_relation.flatten().index_select(0, pairs.in_relations))  # Eq. 3
        if bias is not None:
            scores += bias
        attention = scores.softmax(-1)  # α, [B·h, n, n]
        if (recorded := _recorded.get()) is not None:
            recorded.append(attention)
        context = torch.bmm(self.dropout(attention), value)  # Eq. 1, [B·h, n, c]
        if pairs is not None:
            of_pairs = attention.flatten().index_select(0, pairs.in_scores)  # before dropout, [E·h]
            mass = pairs.no_mass.to(attention.dtype).index_add(0, pairs.in_relations, of_pairs)  # [B·h·n·k]
            context += mass.view(by_relation.shape) @ value_differences  # Eq. 4, [B·h, n, k] @ [k, c]
        return heads.pack(context)


_recorded: ContextVar[list[Tensor] | None] = ContextVar("recorded attention", default=None)


@contextmanager
def record_attention() -> Iterator[list[Tensor]]:
    """A list to which every encoding in this thread adds the attention of its layers, in their order, [B·h, n, n] each."""
    recorded: list[Tensor] = []
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)
